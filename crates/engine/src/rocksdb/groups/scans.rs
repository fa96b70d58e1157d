//! How often groups that are not cached were scanned, and whether it is time to load one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::SMALL_ROWS;

/// A limit, not measured: counters of a shard, 1 MiB in all shards. Groups whose hashes collide take a counter from each other, which
/// only delays loading.
const COUNTERS: usize = 1024;
/// After so many scans a group of so many rows is loaded by the scan itself. Ten rows of a group of 128 dirty ones: 9 us of CPU
/// without the cache, 18 with the load, 1 after it (`examples/group_cache.rs`), so that two scans pay for it. The load of 1024
/// rows takes 115 us, longer than which no scan should take by itself.
const LOAD_AT_SCANS: [(u32, usize); 3] = [(1, SMALL_ROWS), (2, 256), (4, 1024)];
/// Scans after which a group of any size is loaded in the background, and after which that is tried again if it failed. Ten rows of
/// a sorted set of 100,000: 14 us of CPU before, 3 after (docs/decisions/0006-group-cache.md).
const BACKGROUND_SCANS: [u32; 2] = [8, 128];
/// The count goes from its greatest value back to this one, between the two attempts.
const MAX_COUNT: u32 = 0xfe;
const COUNT_AFTER_MAX: u32 = 9;
/// In place of a count: the group is too large for the cache.
const TOO_LARGE: u32 = 0xff;

/// What to do about a group that is scanned and not cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    No,
    /// Now, if it has at most so many rows.
    Now(usize),
    InBackground,
}

/// The upper bits of a group's hash and a count.
#[derive(Default)]
pub struct ScanCounts(OnceLock<Box<[AtomicU32]>>);

impl ScanCounts {
    fn counter(&self, hash: u64) -> Option<(&AtomicU32, u32)> {
        let counters = self.0.get_or_init(|| (0..COUNTERS).map(|_| AtomicU32::new(0)).collect());
        Some((counters.get((hash >> 40) as usize % COUNTERS)?, (hash as u32) & !0xff))
    }

    /// Counts a scan of a group that is not cached.
    pub fn count(&self, hash: u64) -> Load {
        let Some((counter, tag)) = self.counter(hash) else { return Load::No };
        let before = counter.load(Ordering::Relaxed);
        let scans = match before & 0xff {
            _ if before & !0xff != tag => 1,
            TOO_LARGE => return Load::No,
            MAX_COUNT => COUNT_AFTER_MAX,
            scans => scans + 1,
        };
        // Scans at the same time may count as one.
        counter.store(tag | scans, Ordering::Relaxed);
        match LOAD_AT_SCANS.iter().find(|(at, _)| *at == scans) {
            Some((_, rows)) => Load::Now(*rows),
            None if BACKGROUND_SCANS.contains(&scans) => Load::InBackground,
            None => Load::No,
        }
    }

    /// The group is not loaded again until its counter is taken by another.
    pub fn set_too_large(&self, hash: u64) {
        if let Some((counter, tag)) = self.counter(hash) {
            counter.store(tag | TOO_LARGE, Ordering::Relaxed);
        }
    }

    /// The group has left the cache: its next scan is the first one.
    pub fn reset(&self, hash: u64) {
        if let Some((counter, tag)) = self.counter(hash) {
            counter.store(tag, Ordering::Relaxed);
        }
    }
}
