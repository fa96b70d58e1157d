//! The wall clock. Everything that judges time asks here, so that tests own the time.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Milliseconds and microseconds since 1970. Never goes back while the process runs, so that a backward step of the
/// machine's clock does not revive what has expired.
#[derive(Debug, Default)]
pub struct Clock {
    latest_us: AtomicU64,
    offset_ms: AtomicI64,
}

impl Clock {
    /// A clock that never shows less than `floor_ms`: the latest time known from before a restart.
    pub fn not_before(floor_ms: u64) -> Clock {
        Clock { latest_us: AtomicU64::new(floor_ms.saturating_mul(1000)), offset_ms: AtomicI64::new(0) }
    }

    pub fn now_us(&self) -> u64 {
        #[allow(clippy::disallowed_methods, reason = "this is the clock")]
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let offset_us = self.offset_ms.load(Ordering::Relaxed).saturating_mul(1000);
        let wall = (since_epoch.as_micros() as u64).saturating_add_signed(offset_us);
        // Only ever raised; a lost race leaves a value that is as late as somebody else's now.
        let latest = self.latest_us.load(Ordering::Relaxed);
        if wall > latest {
            self.latest_us.store(wall, Ordering::Relaxed);
            wall
        } else {
            latest
        }
    }

    pub fn now_ms(&self) -> u64 {
        self.now_us() / 1000
    }

    /// Puts the clock at least so far ahead of the machine's, for tests.
    pub fn set_offset_ms(&self, ms: i64) {
        self.offset_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// Moves the clock forward, for tests.
    pub fn advance_ms(&self, ms: i64) {
        self.offset_ms.fetch_add(ms.max(0), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_holds_and_steps_add_up() {
        let far = 1 << 45;
        let clock = Clock::not_before(far);
        assert_eq!(clock.now_ms(), far);
        let clock = Clock::default();
        let before = clock.now_ms();
        clock.advance_ms(5_000);
        clock.advance_ms(-9_000);
        assert!(clock.now_ms() >= before + 5_000);
    }
}
