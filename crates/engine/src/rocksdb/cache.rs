//! Clean rows: what the sorted data holds, known-absent rows included.
//!
//! Each shard holds its part; the budget is one for all. Rows leave by a clock that goes round all parts, so that a
//! shard with one big hot group may take what it needs. A hit only sets a bit, under the shard's read lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::hash::{RowHash, prefetch_line, prefetch_row};
use super::linear_hash::{LinearHashTable, Place};

/// A bucket at the usual fill, and what the allocator adds to the bytes.
const ENTRY_OVERHEAD_BYTES: usize = 88;
/// A row larger than this share of the budget is not kept.
const LARGEST_SHARE: usize = 64;
/// The share of the budget that is left for clean rows however much snapshots hold.
const MIN_SHARE: usize = 8;

struct Entry {
    hash: u64,
    space: u8,
    is_absent: bool,
    used: AtomicBool,
    key_len: u32,
    /// Key and value.
    bytes: Box<[u8]>,
}

impl Entry {
    fn key(&self) -> &[u8] {
        self.bytes.get(..self.key_len as usize).unwrap_or_default()
    }

    fn value(&self) -> Option<&[u8]> {
        if self.is_absent { None } else { self.bytes.get(self.key_len as usize..) }
    }

    fn size(&self) -> usize {
        self.bytes.len() + ENTRY_OVERHEAD_BYTES
    }

    fn is(&self, space: u8, key: &[u8], hash: u64) -> bool {
        self.hash == hash && self.space == space && self.key() == key
    }
}

/// One shard's clean rows: many, if a large group is among them. The clock goes over the table's buckets.
#[derive(Default)]
pub struct CachePart {
    entries: LinearHashTable<Entry>,
    hand: Place,
}

/// What all parts share.
#[derive(Default)]
pub struct CacheBudget {
    limit: AtomicUsize,
    used: AtomicUsize,
    /// Tables that have been written back, or joined with others, and that a snapshot still holds.
    held: Arc<AtomicUsize>,
    /// The shard at which the clock stands.
    pub shard: AtomicUsize,
}

impl CacheBudget {
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes of tables that are no longer dirty and that a snapshot holds.
    pub fn held(&self) -> &Arc<AtomicUsize> {
        &self.held
    }

    /// The size of something has changed.
    #[inline]
    pub fn change(&self, before: usize, after: usize) {
        if after > before {
            self.used.fetch_add(after - before, Ordering::Relaxed);
        } else if after < before {
            self.used.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    pub fn is_exceeded(&self) -> bool {
        let held = self.held.load(Ordering::Relaxed);
        let limit = self.limit();
        self.used() > limit.saturating_sub(held).max(limit / MIN_SHARE)
    }

    fn admits(&self, bytes: usize) -> bool {
        bytes <= self.limit.load(Ordering::Relaxed) / LARGEST_SHARE
    }
}

impl CachePart {
    /// Some(None) is a row known to be absent.
    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        let entry = self.entries.find(hash.key, |entry| entry.is(space, key, hash.key))?;
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        Some(entry.value())
    }

    /// Prefetches the entry at which a search for this hash begins.
    #[inline]
    pub fn prefetch_slot(&self, key_hash: u64) {
        let _none = self.entries.find(key_hash, |entry| {
            prefetch_line(entry);
            false
        });
    }

    /// Prefetches the row of this hash, if there seems to be one.
    #[inline]
    pub fn prefetch_row(&self, key_hash: u64) {
        if let Some(entry) = self.entries.find(key_hash, |entry| entry.hash == key_hash) {
            prefetch_row(&entry.bytes);
        }
    }

    /// Sets a row, or that it is absent.
    pub fn set(&mut self, space: u8, key: &[u8], hash: &RowHash, value: Option<&[u8]>, budget: &CacheBudget) {
        let was_used = self.remove(space, key, hash, budget);
        let len = key.len() + value.map_or(0, <[u8]>::len);
        if !budget.admits(len + ENTRY_OVERHEAD_BYTES) {
            return;
        }
        let mut bytes = Vec::with_capacity(len);
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.unwrap_or_default());
        let entry = Entry {
            hash: hash.key,
            space,
            is_absent: value.is_none(),
            used: AtomicBool::new(was_used),
            key_len: key.len() as u32,
            bytes: bytes.into_boxed_slice(),
        };
        budget.used.fetch_add(entry.size(), Ordering::Relaxed);
        self.entries.insert(hash.key, entry, |entry| entry.hash);
    }

    /// Forgets a row; whether it had been used.
    pub fn remove(&mut self, space: u8, key: &[u8], hash: &RowHash, budget: &CacheBudget) -> bool {
        let found = self.entries.remove(hash.key, |entry| entry.is(space, key, hash.key), |entry| entry.hash);
        let Some(entry) = found else { return false };
        budget.used.fetch_sub(entry.size(), Ordering::Relaxed);
        entry.used.into_inner()
    }

    /// Moves the clock over at most `steps` buckets while the budget is exceeded; true when it has come round.
    pub fn evict(&mut self, steps: usize, budget: &CacheBudget) -> bool {
        for _ in 0..steps {
            if !budget.is_exceeded() {
                return false;
            }
            let at = self.hand;
            let Some((found, next)) = self.entries.step(at) else {
                self.hand = Place::default();
                return true;
            };
            self.hand = next;
            if let Some(found) = found
                && !found.get().used.swap(false, Ordering::Relaxed)
            {
                budget.used.fetch_sub(found.remove().size(), Ordering::Relaxed);
            }
            if next.is_in_another_partition(at) {
                self.entries.shrink(at, |entry| entry.hash);
            }
        }
        false
    }

    /// Forgets rows of these spaces and keys, looking at so many places from `from` on; where to go on, None at the end.
    pub fn forget(
        &mut self,
        is_forgotten: impl Fn(u8, &[u8]) -> bool,
        from: Place,
        places: usize,
        budget: &CacheBudget,
    ) -> Option<Place> {
        let mut at = from;
        for _ in 0..places {
            let (found, next) = self.entries.step(at)?;
            let is_in = |entry: &Entry| is_forgotten(entry.space, entry.key());
            if let Some(found) = found.filter(|found| is_in(found.get())) {
                budget.change(found.remove().size(), 0);
            }
            if next.is_in_another_partition(at) {
                self.entries.shrink(at, |entry| entry.hash);
            }
            at = next;
        }
        Some(at)
    }

    #[cfg(test)]
    pub fn buckets(&self) -> usize {
        self.entries.buckets()
    }

    #[cfg(test)]
    pub fn clear(&mut self, budget: &CacheBudget) {
        let size: usize = self.entries.iter().map(Entry::size).sum();
        budget.used.fetch_sub(size, Ordering::Relaxed);
        *self = CachePart::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Range;
    use crate::rocksdb::hash::Hasher;
    use crate::{Groups, Space, SpaceDef};

    const SPACE: SpaceDef =
        SpaceDef { name: "s", group_len: |_| 0, queue_like: false, groups: Groups::Plain };

    fn hash(hasher: &Hasher, key: &[u8]) -> RowHash {
        hasher.row(&SPACE, Space(0), key)
    }

    #[test]
    fn a_range_that_is_forgotten_leaves_no_buckets() {
        let (hasher, budget, mut part) = (Hasher::new(), CacheBudget::default(), CachePart::default());
        budget.set_limit(1 << 30);
        for number in 0..50_000_u32 {
            let key = number.to_be_bytes();
            part.set(0, &key, &hash(&hasher, &key), Some(b"1"), &budget);
        }
        let before = part.buckets();
        let (start, end) = (100_u32.to_be_bytes(), 50_000_u32.to_be_bytes());
        let mut place = Some(Place::default());
        while let Some(from) = place {
            let is_in = |_: u8, key: &[u8]| (&start[..]..&end[..]).contains(&key);
            place = part.forget(is_in, from, 1000, &budget);
        }
        assert!(part.buckets() * 20 < before, "{} of {before}", part.buckets());
        let key = 99_u32.to_be_bytes();
        assert_eq!(part.get(0, &key, &hash(&hasher, &key)), Some(Some(&b"1"[..])));
    }

    #[test]
    fn remembers_values_and_absence_apart_from_ignorance() {
        let (hasher, budget, mut part) = (Hasher::new(), CacheBudget::default(), CachePart::default());
        budget.set_limit(1 << 20);
        part.set(0, b"a", &hash(&hasher, b"a"), Some(b"1"), &budget);
        part.set(0, b"b", &hash(&hasher, b"b"), None, &budget);
        part.set(0, b"e", &hash(&hasher, b"e"), Some(b""), &budget);
        assert_eq!(part.get(0, b"a", &hash(&hasher, b"a")), Some(Some(&b"1"[..])));
        assert_eq!(part.get(0, b"b", &hash(&hasher, b"b")), Some(None));
        assert_eq!(part.get(0, b"e", &hash(&hasher, b"e")), Some(Some(&b""[..])));
        assert_eq!(part.get(0, b"c", &hash(&hasher, b"c")), None);
        assert_eq!(part.get(1, b"a", &hash(&hasher, b"a")), None, "spaces are apart");
        part.set(0, b"a", &hash(&hasher, b"a"), Some(b"2"), &budget);
        assert_eq!(part.get(0, b"a", &hash(&hasher, b"a")), Some(Some(&b"2"[..])));
        for key in [b"a", b"b", b"e"] {
            part.remove(0, key, &hash(&hasher, key), &budget);
        }
        assert_eq!(part.get(0, b"a", &hash(&hasher, b"a")), None);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn stays_in_its_budget_and_keeps_what_is_used() {
        let (hasher, budget, mut part) = (Hasher::new(), CacheBudget::default(), CachePart::default());
        budget.set_limit(64 << 10);
        part.set(0, b"hot", &hash(&hasher, b"hot"), Some(b"value"), &budget);
        for number in 0..20_000_u32 {
            assert!(part.get(0, b"hot", &hash(&hasher, b"hot")).is_some(), "evicted after {number}");
            let key = number.to_be_bytes();
            part.set(0, &key, &hash(&hasher, &key), Some(b"some value"), &budget);
            while budget.is_exceeded() {
                part.evict(16, &budget);
            }
        }
        assert!(budget.used() > 60 << 10, "the budget is used: {}", budget.used());
        assert!(part.entries.buckets() <= 2048, "buckets are used again");
        part.clear(&budget);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_row_too_large_for_the_budget_is_forgotten_and_not_kept_stale() {
        let (hasher, budget, mut part) = (Hasher::new(), CacheBudget::default(), CachePart::default());
        budget.set_limit(64 << 10);
        let hash = hash(&hasher, b"k");
        let fits = vec![0; (1 << 10) - 1 - ENTRY_OVERHEAD_BYTES];
        part.set(0, b"k", &hash, Some(&fits), &budget);
        assert_eq!(part.get(0, b"k", &hash), Some(Some(&fits[..])));
        part.set(0, b"k", &hash, Some(&vec![0; fits.len() + 1]), &budget);
        assert_eq!(part.get(0, b"k", &hash), None);
    }

    #[test]
    fn rows_of_a_range_are_forgotten_in_steps_whatever_moves_meanwhile() {
        let (hasher, budget, mut part) = (Hasher::new(), CacheBudget::default(), CachePart::default());
        budget.set_limit(64 << 20);
        let row = |first: u8, number: u32| [&[first][..], &number.to_be_bytes()].concat();
        let range = Range { start: b"b", end: b"c" };
        let mut restarts = 0;
        for round in 0..10_u32 {
            for number in 0..5000 {
                let key = row(b'b', number);
                part.set(0, &key, &hash(&hasher, &key), Some(b"v"), &budget);
            }
            let mut next = Some(Place::default());
            let mut others = 0_u32;
            while let Some(from) = next {
                restarts += u32::from(from != Place::default() && part.entries.is_moved(from));
                next = part.forget(|_, key| range.start <= key && key < range.end, from, 8, &budget);
                // Others come, and go in every other round, so that partitions are split and reallocated.
                for _ in 0..if others < 9000 { 16 } else { 0 } {
                    let key = row(b'a', round * 10_000 + others);
                    part.set(0, &key, &hash(&hasher, &key), Some(b"v"), &budget);
                    if let Some(old) = others.checked_sub(40).filter(|_| round % 2 == 1) {
                        let key = row(b'a', round * 10_000 + old);
                        part.remove(0, &key, &hash(&hasher, &key), &budget);
                    }
                    others += 1;
                }
            }
            for number in 0..5000 {
                let key = row(b'b', number);
                assert_eq!(part.get(0, &key, &hash(&hasher, &key)), None, "row {number} of round {round}");
            }
        }
        assert!(restarts > 0, "nothing has moved");
    }
}
