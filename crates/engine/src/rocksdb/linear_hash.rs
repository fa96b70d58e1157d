//! A linear-hash table. It grows by splitting one partition at a time, so that an insertion moves a few thousand entries at
//! most, however many there are, and the table is never in memory twice.
//!
//! Partition `n` is split off from partition `n - 2^k`, where `2^k` is the largest power of two within `n`. Each partition is
//! an ordinary hash table.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

/// Average entries per partition above which the next one is split off. Measured with SUNIONSTORE of 4 million members under 256 MiB,
/// together with counting rows before they are sorted: up to 275 MiB with one table, 243 with partitions of this size.
const PARTITION_ENTRIES: usize = 4096;

/// Buckets per entry beyond which a partition is made smaller when an entry goes. It takes as many removals again, or insertions of
/// half as many, until it is reallocated once more.
const EMPTY_BUCKETS: usize = 8;
/// So many buckets may be empty.
const FEW_BUCKETS: usize = 64;

pub struct LinearHashTable<T> {
    partitions: Vec<Partition<T>>,
    len: usize,
}

struct Partition<T> {
    entries: HashTable<T>,
    /// Grows when entries may have moved within the partition or to a new one.
    moves: u32,
}

/// Where a walk over all entries stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    partition: usize,
    bucket: usize,
    moves: u32,
}

impl Place {
    pub fn is_in_another_partition(self, other: Place) -> bool {
        self.partition != other.partition
    }
}

impl<T> Default for LinearHashTable<T> {
    fn default() -> LinearHashTable<T> {
        LinearHashTable { partitions: Vec::new(), len: 0 }
    }
}

/// The partition of a hash, where there are so many.
#[inline(always)]
fn partition_of(hash: u64, partitions: usize) -> usize {
    // Bits that the tables themselves use last.
    let bits = (hash >> 32) as usize;
    let mask = usize::MAX.checked_shr((partitions.max(1) - 1).leading_zeros()).unwrap_or(0);
    let partition = bits & mask;
    if partition < partitions { partition } else { partition & (mask >> 1) }
}

impl<T> LinearHashTable<T> {
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        self.partitions.get(partition_of(hash, self.partitions.len()))?.entries.find(hash, is_it)
    }

    /// Memory of entries that were removed is given back soon: a large group may leave a table for good.
    pub fn remove(
        &mut self,
        hash: u64,
        is_it: impl FnMut(&T) -> bool,
        hash_of: impl Fn(&T) -> u64,
    ) -> Option<T> {
        let partition = partition_of(hash, self.partitions.len());
        let Partition { entries, moves } = self.partitions.get_mut(partition)?;
        let removed = entries.find_entry(hash, is_it).ok()?.remove().0;
        self.len -= 1;
        if entries.len() < entries.num_buckets() / EMPTY_BUCKETS && entries.num_buckets() > FEW_BUCKETS {
            entries.shrink_to(2 * entries.len(), hash_of);
            *moves = moves.wrapping_add(1);
        }
        Some(removed)
    }

    /// Nothing that is equal may be there.
    pub fn insert(&mut self, hash: u64, entry: T, hash_of: impl Fn(&T) -> u64) {
        if self.len >= self.partitions.len() * PARTITION_ENTRIES {
            self.split(&hash_of);
        }
        let partition = partition_of(hash, self.partitions.len());
        let Some(Partition { entries, moves }) = self.partitions.get_mut(partition) else { return };
        // A full table is reallocated, or rehashed in place where many entries have been removed.
        *moves = moves.wrapping_add(u32::from(entries.len() == entries.capacity()));
        entries.insert_unique(hash, entry, hash_of);
        self.len += 1;
    }

    fn split(&mut self, hash_of: &impl Fn(&T) -> u64) {
        let last = self.partitions.len();
        let mut new = Partition { entries: HashTable::new(), moves: 0 };
        if let Some(from) = last.checked_ilog2().and_then(|k| self.partitions.get_mut(last - (1 << k))) {
            let half = || HashTable::with_capacity(from.entries.len() / 2);
            let (kept, moved) = (half(), half());
            let old = std::mem::replace(&mut from.entries, kept);
            new.entries = moved;
            from.moves = from.moves.wrapping_add(1);
            for entry in old {
                let hash = hash_of(&entry);
                let to =
                    if partition_of(hash, last + 1) == last { &mut new.entries } else { &mut from.entries };
                to.insert_unique(hash, entry, hash_of);
            }
        }
        self.partitions.push(new);
    }
}

/// Walks. They visit every entry that is present throughout, whatever is inserted and removed meanwhile.
impl<T> LinearHashTable<T> {
    /// The entry at a place, if there is one, and the next place. None behind the last partition.
    #[inline]
    pub fn step(&mut self, place: Place) -> Option<(Option<Entry<'_, T>>, Place)> {
        let Place { partition, bucket, moves } = place;
        let Partition { entries, moves: now } = self.partitions.get_mut(partition)?;
        // Entries that were moved out are in a partition that the walk has not reached.
        let bucket = if moves == *now { bucket } else { 0 };
        let next = if bucket + 1 < entries.num_buckets() {
            Place { partition, bucket: bucket + 1, moves: *now }
        } else {
            let next = self.partitions.get(partition + 1).map_or(0, |next| next.moves);
            Place { partition: partition + 1, bucket: 0, moves: next }
        };
        let entries = &mut self.partitions.get_mut(partition)?.entries;
        let found = entries.get_bucket_entry(bucket).ok();
        Some((found.map(|found| Entry { found, len: &mut self.len }), next))
    }

    /// Frees memory of the partition of a place, if it once held many more entries.
    pub fn shrink(&mut self, at: Place, hash_of: impl Fn(&T) -> u64) {
        let Some(Partition { entries, moves }) = self.partitions.get_mut(at.partition) else { return };
        if entries.len() < entries.num_buckets() / 8 {
            entries.shrink_to_fit(hash_of);
            *moves = moves.wrapping_add(1);
        }
    }
}

#[cfg(test)]
impl<T> LinearHashTable<T> {
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.partitions.iter().flat_map(|partition| &partition.entries)
    }

    /// Whether a walk will visit the partition of its place again from the start.
    pub fn is_moved(&self, at: Place) -> bool {
        self.partitions.get(at.partition).is_some_and(|partition| partition.moves != at.moves)
    }

    pub fn buckets(&self) -> usize {
        self.partitions.iter().map(|partition| partition.entries.num_buckets()).sum()
    }
}

/// One entry, on a walk.
pub struct Entry<'t, T> {
    found: OccupiedEntry<'t, T>,
    len: &'t mut usize,
}

impl<T> Entry<'_, T> {
    pub fn get(&self) -> &T {
        self.found.get()
    }

    pub fn remove(self) -> T {
        *self.len -= 1;
        self.found.remove().0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// As good as random, and each number's own.
    fn mix(number: &u64) -> u64 {
        let mixed = (number ^ (number >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (mixed >> 32)
    }

    fn filled(numbers: u64) -> LinearHashTable<u64> {
        let mut table = LinearHashTable::default();
        (0..numbers).for_each(|number| table.insert(mix(&number), number, mix));
        table
    }

    fn has(table: &LinearHashTable<u64>, number: u64) -> bool {
        table.find(mix(&number), |found| *found == number).is_some()
    }

    #[test]
    fn partitions_are_split_one_by_one_and_stay_small() {
        for partitions in 1..100 {
            for number in 0..1000_u64 {
                let (before, after) =
                    (partition_of(mix(&number), partitions), partition_of(mix(&number), partitions + 1));
                assert!(before < partitions);
                let from = partitions - (1 << partitions.ilog2());
                assert!(
                    after == before || (before == from && after == partitions),
                    "{before} {after} of {partitions}"
                );
            }
        }
        let table = filled(100_000);
        assert_eq!(table.partitions.len(), 100_000_usize.div_ceil(PARTITION_ENTRIES));
        let largest = table.partitions.iter().map(|partition| partition.entries.len()).max().unwrap();
        assert!(largest < 3 * PARTITION_ENTRIES, "{largest}");
        assert!((0..100_000).all(|number| has(&table, number)));
        assert!(!has(&table, 100_000));
    }

    #[test]
    fn what_comes_and_goes_is_found_and_counted() {
        let (mut table, mut model) = (LinearHashTable::default(), BTreeSet::new());
        assert!(!has(&table, 0));
        for step in 0..200_000_u64 {
            let number = mix(&step) % 40_000;
            if model.insert(number) {
                table.insert(mix(&number), number, mix);
            } else {
                model.remove(&number);
                assert_eq!(table.remove(mix(&number), |found| *found == number, mix), Some(number));
                assert_eq!(table.remove(mix(&number), |found| *found == number, mix), None);
            }
        }
        assert_eq!(table.len, model.len());
        assert_eq!(table.iter().copied().collect::<BTreeSet<_>>(), model);
    }

    #[test]
    fn a_walk_meets_all_that_stay() {
        let mut table = filled(10_000);
        let (mut met, mut at, mut next) = (BTreeSet::new(), Place::default(), 10_000);
        while let Some((found, behind)) = table.step(at) {
            if let Some(found) = found {
                // What is new goes again, so that the walk ends.
                if *found.get() < 10_000 {
                    met.insert(*found.get())
                } else {
                    found.remove() > 0
                };
            }
            if behind.is_in_another_partition(at) {
                table.shrink(at, mix);
            }
            at = behind;
            // Partitions are split and reallocated before the walk, behind it and where it is.
            for _ in 0..if next < 60_000 { 2 } else { 0 } {
                table.insert(mix(&next), next, mix);
                next += 1;
            }
        }
        assert!(table.partitions.len() > 5, "nothing was split");
        assert_eq!(met, (0..10_000).collect());
    }

    #[test]
    fn buckets_are_given_back_as_entries_go() {
        let mut table = filled(50_000);
        let before = table.buckets();
        for number in 100..50_000_u64 {
            table.remove(mix(&number), |found| *found == number, mix);
        }
        assert!(table.buckets() * 20 < before, "{} of {before}", table.buckets());
        assert!((0..100).all(|number| has(&table, number)));
    }

    #[test]
    fn buckets_are_given_back_on_a_walk() {
        let mut table = filled(50_000);
        let before = table.buckets();
        let mut at = Place::default();
        while let Some((found, behind)) = table.step(at) {
            if let Some(found) = found
                && *found.get() >= 100
            {
                found.remove();
            }
            at = behind;
        }
        let mut at = Place::default();
        while let Some((_, behind)) = table.step(at) {
            if behind.is_in_another_partition(at) {
                table.shrink(at, mix);
            }
            at = behind;
        }
        assert!(table.buckets() * 20 < before, "{} of {before}", table.buckets());
        assert!((0..100).all(|number| has(&table, number)));
    }
}
