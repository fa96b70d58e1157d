//! How long a script takes, about: it decides where the next run begins.

use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
pub struct Pace(AtomicU32);

/// Before the first run.
const UNKNOWN: u32 = u32::MAX;
/// Up to this a script runs on I/O threads: to move it to a worker and back costs about as much, and nobody notices a pause of
/// this length.
pub const SHORT_MICROS: u32 = 200;

impl Default for Pace {
    fn default() -> Pace {
        Pace(AtomicU32::new(UNKNOWN))
    }
}

impl Pace {
    /// Whether it may be tried on an I/O thread.
    pub fn is_short(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= SHORT_MICROS
    }

    /// A run took so long. One long run makes it long; it takes several short ones to make it short again.
    pub fn took(&self, micros: u32) {
        let before = self.0.load(Ordering::Relaxed);
        let after = if before == UNKNOWN || micros > before {
            micros
        } else {
            before - (before - micros).div_ceil(4)
        };
        if after != before {
            self.0.store(after.min(UNKNOWN - 1), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_remembered_for_a_while() {
        let pace = Pace::default();
        assert!(!pace.is_short(), "nobody knows yet");
        pace.took(10);
        assert!(pace.is_short());
        pace.took(5_000);
        assert!(!pace.is_short());
        (0..100).for_each(|_| pace.took(10));
        assert!(pace.is_short());
    }
}
