//! Versions of collections: unique, and only growing, across restarts and clock steps.

use std::sync::atomic::{AtomicU64, Ordering};

/// A start reserves this many versions with one row; none of an earlier start's is given out again.
pub const RESERVE: u64 = 1 << 32;

#[derive(Debug)]
pub struct Versions {
    next: AtomicU64,
    limit: AtomicU64,
}

impl Versions {
    /// Versions from `first` up to, not including, `limit`, which must already be on record.
    pub fn reserved(first: u64, limit: u64) -> Versions {
        Versions { next: AtomicU64::new(first), limit: AtomicU64::new(limit) }
    }

    /// None when the reserve is used up before it was extended.
    pub fn allocate(&self) -> Option<u64> {
        let version = self.next.fetch_add(1, Ordering::Relaxed);
        (version < self.limit.load(Ordering::Acquire)).then_some(version)
    }

    /// No version at or above this has been given out.
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The limit to put on record when more than half of the reserve is used.
    pub fn wanted_limit(&self) -> Option<u64> {
        let limit = self.limit.load(Ordering::Acquire);
        (limit.saturating_sub(self.next()) < RESERVE / 2).then(|| limit.saturating_add(RESERVE))
    }

    /// The new limit is on record and durable.
    pub fn extend(&self, limit: u64) {
        self.limit.fetch_max(limit, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_a_hard_limit() {
        let versions = Versions::reserved(5, 7);
        assert_eq!(versions.allocate(), Some(5));
        assert_eq!(versions.allocate(), Some(6));
        assert_eq!(versions.allocate(), None);
        assert_eq!(versions.wanted_limit(), Some(7 + RESERVE));
        versions.extend(7 + RESERVE);
        assert_eq!(versions.wanted_limit(), None);
        assert!(versions.allocate().is_some_and(|v| v > 6));
    }
}
