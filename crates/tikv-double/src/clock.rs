//! Timestamps as PD gives them out: milliseconds in the upper bits, a counter in the lower 18.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bits of the counter.
pub const LOGICAL_BITS: u32 = 18;
/// How many timestamps that nobody was given are remembered.
const MOST_UNUSED: usize = 64;

pub fn compose(physical_ms: u64, logical: u64) -> u64 {
    (physical_ms << LOGICAL_BITS) + logical
}

/// The milliseconds of a timestamp.
pub fn physical(ts: u64) -> u64 {
    ts >> LOGICAL_BITS
}

pub struct Clock {
    physical_ms: u64,
    logical: u64,
    /// How far the tests have moved the clock.
    ahead_ms: u64,
    /// Timestamps below the current one that will never be given out: those of clients that nobody sees.
    unused: VecDeque<u64>,
}

impl Clock {
    pub fn new() -> Self {
        Self { physical_ms: wall_ms(), logical: 0, ahead_ms: 0, unused: VecDeque::new() }
    }

    /// The last of `count` new timestamps in a row.
    pub fn take(&mut self, count: u64) -> u64 {
        let now = wall_ms() + self.ahead_ms;
        if now > self.physical_ms {
            self.advance_to(now);
        }
        if self.logical + count >= 1 << LOGICAL_BITS {
            self.advance_to(self.physical_ms + 1);
        }
        self.logical += count;
        compose(self.physical_ms, self.logical)
    }

    /// Lets time pass, so that nobody has to wait until a lock expires.
    pub fn advance(&mut self, ms: u64) {
        self.ahead_ms += ms;
    }

    /// A timestamp at or below `ts` that nobody has or will have.
    pub fn unused_below(&mut self, ts: u64) -> Option<u64> {
        let at = self.unused.iter().rposition(|&unused| unused <= ts)?;
        self.unused.remove(at)
    }

    fn advance_to(&mut self, physical_ms: u64) {
        if self.unused.len() == MOST_UNUSED {
            self.unused.pop_front();
        }
        self.unused.push_back(compose(self.physical_ms, self.logical + 1));
        self.physical_ms = physical_ms;
        self.logical = 0;
    }
}

#[allow(clippy::disallowed_methods, reason = "this is the clock of the double's PD")]
fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_only_grow() {
        let mut clock = Clock::new();
        let mut last = 0;
        for count in [1, 64, 1, 200_000, 200_000, 1] {
            let ts = clock.take(count);
            assert!(ts - count >= last, "{ts} after {last}");
            last = ts;
        }
    }

    #[test]
    fn time_can_be_made_to_pass() {
        let mut clock = Clock::new();
        let before = clock.take(1);
        clock.advance(5_000);
        assert!(physical(clock.take(1)) >= physical(before) + 5_000);
    }

    #[test]
    fn an_unused_timestamp_is_given_once_and_to_nobody_else() {
        let mut clock = Clock::new();
        let before = clock.take(3);
        clock.advance(10);
        let after = clock.take(1);
        let unused = clock.unused_below(after).unwrap();
        assert!(before < unused && unused < after);
        assert!(clock.unused_below(unused).is_none_or(|older| older < unused));
    }
}
