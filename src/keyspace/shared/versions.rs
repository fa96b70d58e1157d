//! Versions of collections: unique, and only growing, across restarts and clock steps.
//!
//! Compaction drops element rows of versions that are not their key's live one. For a version whose metadata is not
//! to be seen it must know that none is on its way, so versions are registered from the moment they are given out
//! until the commit that makes them live, or until they are given up.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use smallvec::SmallVec;
use tarn_engine::{AnyWrite, Read as _, Write as _};

use crate::encoding::{SYSTEM, system};
use crate::error::Result;
use crate::keyspace::WriteCx;

/// A start reserves this many versions with one row; none of an earlier start's is given out again.
pub const RESERVE: u64 = 1 << 32;
/// The same where others reserve some too, so that a process has one range: it lasts for its life.
pub const SHARED_RESERVE: u64 = 1 << 40;

/// Threads that register versions at a time without touching each other's cache lines. More of them share.
const LANES: usize = 64;

static NEXT_LANE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LANE: Cell<usize> = Cell::new(NEXT_LANE.fetch_add(1, Ordering::Relaxed) % LANES);
}

type Lane = CachePadded<Mutex<SmallVec<[u64; 4]>>>;

#[derive(Debug)]
pub struct Versions {
    /// The first that this process may give out.
    first: AtomicU64,
    next: AtomicU64,
    limit: AtomicU64,
    being_built: Box<[Lane]>,
}

/// A version that is not live yet. Kept until after the commit of its metadata; dropping it before gives it up.
///
/// Whoever builds a version over several commits holds the key's lock throughout: a version that becomes live after
/// a greater one of the same key would lose its rows.
#[derive(Debug)]
pub struct Building<'v> {
    version: u64,
    lane: &'v Lane,
}

impl Building<'_> {
    pub fn version(&self) -> u64 {
        self.version
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        let mut versions = self.lane.lock();
        if let Some(at) = versions.iter().position(|version| *version == self.version) {
            versions.swap_remove(at);
        }
    }
}

/// Puts a reserve on record: see [`super::Shared::wanted_reserve`].
pub fn record_reserve(cx: &mut WriteCx<'_>, limit: u64) {
    cx.put(SYSTEM, &system::version_limit(), &[&limit.to_be_bytes()]);
}

/// The versions that are not among those of the processes with these first ones, sorted.
pub fn versions_beside(firsts: &[u64]) -> Vec<Range<u64>> {
    let mut from = 0;
    let mut beside = Vec::new();
    for first in firsts {
        beside.push(from..*first);
        from = first.saturating_add(SHARED_RESERVE);
    }
    beside.push(from..u64::MAX);
    beside.retain(|versions| versions.start < versions.end);
    beside
}

impl Versions {
    /// Reserves those behind all that were ever reserved.
    pub fn reserve(txn: &mut AnyWrite<'_>, is_alone: bool) -> Result<Range<u64>> {
        let mut value = Vec::new();
        let is_known = txn.get(SYSTEM, &system::version_limit(), &mut value)?;
        let first = if is_known { system::read_u64(&value)? } else { 1 };
        let limit = first.saturating_add(if is_alone { RESERVE } else { SHARED_RESERVE });
        txn.put(SYSTEM, &system::version_limit(), &[&limit.to_be_bytes()]);
        Ok(first..limit)
    }

    /// The reserve is on record and durable.
    pub fn set(&self, reserve: Range<u64>) {
        self.first.store(reserve.start, Ordering::Relaxed);
        self.next.store(reserve.start, Ordering::SeqCst);
        self.limit.store(reserve.end, Ordering::Release);
    }

    /// Versions from `first` up to, not including, `limit`, which must already be on record.
    pub fn reserved(first: u64, limit: u64) -> Versions {
        Versions {
            first: AtomicU64::new(first),
            next: AtomicU64::new(first),
            limit: AtomicU64::new(limit),
            being_built: (0..LANES).map(|_| Lane::default()).collect(),
        }
    }

    /// A new version, registered. Refused when the reserve is used up before it was extended.
    pub fn begin(&self) -> Result<Building<'_>> {
        self.registered().ok_or_else(|| {
            tarn_engine::Error::Unavailable("no collection version is left in the reserve".into()).into()
        })
    }

    #[inline]
    fn registered(&self) -> Option<Building<'_>> {
        let lane = self.being_built.get(LANE.get())?;
        // Given out and registered under the lane's lock, so that `low_watermark` sees neither or both.
        let mut versions = lane.lock();
        let version = self.next.fetch_add(1, Ordering::SeqCst);
        if version >= self.limit.load(Ordering::Acquire) {
            return None;
        }
        versions.push(version);
        drop(versions);
        Some(Building { version, lane })
    }

    /// Every version below this one is live, or was, or never will be: its last commit has been made.
    pub fn low_watermark(&self) -> u64 {
        let next = self.next.load(Ordering::SeqCst);
        let oldest = self.being_built.iter().filter_map(|lane| lane.lock().iter().min().copied()).min();
        oldest.map_or(next, |oldest| oldest.min(next))
    }

    pub fn first(&self) -> u64 {
        self.first.load(Ordering::Relaxed)
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
    fn what_is_nobodys_lies_between() {
        let all = |firsts: &[u64]| {
            versions_beside(firsts).into_iter().map(|beside| (beside.start, beside.end)).collect::<Vec<_>>()
        };
        assert_eq!(all(&[]), [(0, u64::MAX)]);
        let (one, two) = (1, 1 + 2 * SHARED_RESERVE);
        let beside = [(0, 1), (1 + SHARED_RESERVE, two), (two + SHARED_RESERVE, u64::MAX)];
        assert_eq!(all(&[one, two]), beside);
        assert_eq!(all(&[0, SHARED_RESERVE]), [(2 * SHARED_RESERVE, u64::MAX)]);
    }

    #[test]
    fn the_reserve_is_a_hard_limit() {
        let versions = Versions::reserved(5, 7);
        let begin = |versions: &Versions| versions.begin().ok().map(|building| building.version());
        assert_eq!(begin(&versions), Some(5));
        assert_eq!(begin(&versions), Some(6));
        assert_eq!(begin(&versions), None);
        assert_eq!(versions.wanted_limit(), Some(7 + RESERVE));
        versions.extend(7 + RESERVE);
        assert_eq!(versions.wanted_limit(), None);
        assert!(begin(&versions).is_some_and(|version| version > 6));
    }

    #[test]
    fn what_is_being_built_is_above_the_watermark() {
        let versions = Versions::reserved(1, 100);
        assert_eq!(versions.low_watermark(), 1);
        let (first, second) = (versions.begin().unwrap(), versions.begin().unwrap());
        assert_eq!(versions.low_watermark(), first.version());
        drop(first);
        assert_eq!(versions.low_watermark(), second.version());
        let elsewhere = std::thread::scope(|threads| {
            threads.spawn(|| versions.begin().ok().map(|b| b.version())).join().unwrap()
        });
        assert_eq!(elsewhere, Some(3));
        drop(second);
        assert_eq!(versions.low_watermark(), 4);
    }

    #[test]
    fn a_version_is_below_the_watermark_only_after_it_is_given_up() {
        let versions = Versions::reserved(1, u64::MAX);
        let done = AtomicU64::new(0);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..10_000 {
                        let building = versions.begin().unwrap();
                        assert!(versions.low_watermark() <= building.version());
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            let mut last = 0;
            while done.load(Ordering::SeqCst) < 2 {
                let watermark = versions.low_watermark();
                assert!(watermark >= last, "never goes back");
                last = watermark;
            }
        });
        assert_eq!(versions.low_watermark(), 20_001);
    }
}
