//! The time. Everything that judges time asks here, so that tests own the time.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

/// Milliseconds and microseconds since 1970: the wall clock as it was at the start, and what has passed since by a clock that
/// nobody sets. Steps of the machine's clock change nothing while the process runs: they neither revive what has expired nor
/// let expire what is not due.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    wall_us: u64,
    floor_us: AtomicU64,
    offset_ms: AtomicI64,
}

/// How far the machine's clock is taken to be off, in milliseconds. For tests of starts behind a step of it.
const STEP_VARIABLE: &str = "TARN_TEST_CLOCK_STEP_MS";

fn step_us() -> i64 {
    let step_ms = std::env::var(STEP_VARIABLE).ok().and_then(|text| text.parse::<i64>().ok());
    step_ms.unwrap_or(0).saturating_mul(1000)
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::not_before(0)
    }
}

impl Clock {
    /// A clock that never shows less than `floor_ms`: the latest time known from before a restart.
    pub fn not_before(floor_ms: u64) -> Clock {
        #[allow(clippy::disallowed_methods, reason = "this is the clock")]
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Clock {
            started: Instant::now(),
            wall_us: (since_epoch.as_micros() as u64).saturating_add_signed(step_us()),
            floor_us: AtomicU64::new(floor_ms.saturating_mul(1000)),
            offset_ms: AtomicI64::new(0),
        }
    }

    /// The latest time known became known only now.
    pub fn raise_floor_ms(&self, floor_ms: u64) {
        self.floor_us.fetch_max(floor_ms.saturating_mul(1000), Ordering::Relaxed);
    }

    pub fn now_us(&self) -> u64 {
        let offset_us = self.offset_ms.load(Ordering::Relaxed).saturating_mul(1000);
        self.after_us(self.started.elapsed().as_micros() as u64).saturating_add_signed(offset_us)
    }

    /// What is shown so long after the start. Where the wall clock was behind the floor, time goes on from the floor at half its
    /// speed, until the wall clock would have caught up: it does not stand still, and it is not ahead for ever.
    fn after_us(&self, elapsed_us: u64) -> u64 {
        let floor_us = self.floor_us.load(Ordering::Relaxed);
        self.wall_us.saturating_add(elapsed_us).max(floor_us.saturating_add(elapsed_us / 2))
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
        assert!((far..far + 60_000).contains(&clock.now_ms()));
        let clock = Clock::default();
        let before = clock.now_ms();
        clock.advance_ms(5_000);
        clock.advance_ms(-9_000);
        assert!(clock.now_ms() >= before + 5_000);
    }

    #[test]
    fn time_goes_on_behind_a_floor_and_is_not_ahead_for_ever() {
        let clock = Clock { wall_us: 1_000_000, floor_us: AtomicU64::new(3_000_000), ..Clock::default() };
        let shown: Vec<u64> =
            [0, 2_000_000, 4_000_000, 10_000_000].iter().map(|after| clock.after_us(*after)).collect();
        // Two seconds behind: after four seconds it is caught up.
        assert_eq!(shown, [3_000_000, 4_000_000, 5_000_000, 11_000_000]);
        let on_time = Clock { wall_us: 3_000_000, floor_us: AtomicU64::new(1_000_000), ..Clock::default() };
        assert_eq!((on_time.after_us(0), on_time.after_us(5)), (3_000_000, 3_000_005));
    }
}
