//! A hash table in parts. It grows by cutting one of them in two, so that an insertion moves a few thousand entries at most,
//! however many there are, and no memory is needed for all of them twice.
//!
//! Linear hashing: part `n` is cut from part `n - 2^k`, the largest power of two within `n`. Each part is an ordinary table.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

/// Entries per part, on average, from which on the next one is cut.
const PART_ENTRIES: usize = 4096;

pub struct Parted<T> {
    parts: Vec<Part<T>>,
    len: usize,
}

struct Part<T> {
    entries: HashTable<T>,
    /// Grows when entries may have changed their places, or left for a part behind all others.
    moves: u32,
}

/// Where a walk over all entries stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    part: usize,
    bucket: usize,
    moves: u32,
}

impl Place {
    pub fn is_in_another_part(self, other: Place) -> bool {
        self.part != other.part
    }
}

impl<T> Default for Parted<T> {
    fn default() -> Parted<T> {
        Parted { parts: Vec::new(), len: 0 }
    }
}

/// The number of the part, of so many.
#[inline(always)]
fn part_of(hash: u64, parts: usize) -> usize {
    // Bits that the tables themselves do not look at first.
    let bits = (hash >> 32) as usize;
    let mask = usize::MAX.checked_shr((parts.max(1) - 1).leading_zeros()).unwrap_or(0);
    let part = bits & mask;
    if part < parts { part } else { part & (mask >> 1) }
}

impl<T> Parted<T> {
    #[inline]
    fn table(&self, hash: u64) -> Option<&HashTable<T>> {
        self.parts.get(part_of(hash, self.parts.len())).map(|part| &part.entries)
    }

    #[inline]
    pub fn find(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        self.table(hash)?.find(hash, is_it)
    }

    pub fn remove(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<T> {
        let part = part_of(hash, self.parts.len());
        let found = self.parts.get_mut(part)?.entries.find_entry(hash, is_it).ok()?;
        self.len -= 1;
        Some(found.remove().0)
    }

    /// Nothing that is equal may be there.
    pub fn insert(&mut self, hash: u64, entry: T, hash_of: impl Fn(&T) -> u64) {
        if self.len >= self.parts.len() * PART_ENTRIES {
            self.cut(&hash_of);
        }
        let part = part_of(hash, self.parts.len());
        let Some(Part { entries, moves }) = self.parts.get_mut(part) else { return };
        // A full table is made anew, larger or, where many entries have left, in its place.
        *moves = moves.wrapping_add(u32::from(entries.len() == entries.capacity()));
        entries.insert_unique(hash, entry, hash_of);
        self.len += 1;
    }

    fn cut(&mut self, hash_of: &impl Fn(&T) -> u64) {
        let last = self.parts.len();
        let mut new = Part { entries: HashTable::new(), moves: 0 };
        if let Some(from) = last.checked_ilog2().and_then(|k| self.parts.get_mut(last - (1 << k))) {
            let half = || HashTable::with_capacity(from.entries.len() / 2);
            let (kept, gone) = (half(), half());
            let old = std::mem::replace(&mut from.entries, kept);
            new.entries = gone;
            from.moves = from.moves.wrapping_add(1);
            for entry in old {
                let hash = hash_of(&entry);
                let to = if part_of(hash, last + 1) == last { &mut new.entries } else { &mut from.entries };
                to.insert_unique(hash, entry, hash_of);
            }
        }
        self.parts.push(new);
    }
}

/// Walks. They meet every entry that is there all the time, whatever comes and goes meanwhile.
impl<T> Parted<T> {
    /// Where to look, and the place behind it. None at the end, behind the last part.
    #[inline]
    pub fn step(&mut self, place: Place) -> Option<(Option<Entry<'_, T>>, Place)> {
        let Place { part, bucket, moves } = place;
        let Part { entries, moves: now } = self.parts.get_mut(part)?;
        // Entries that left it are in a part that is still to come.
        let bucket = if moves == *now { bucket } else { 0 };
        let next = if bucket + 1 < entries.num_buckets() {
            Place { part, bucket: bucket + 1, moves: *now }
        } else {
            let next = self.parts.get(part + 1).map_or(0, |next| next.moves);
            Place { part: part + 1, bucket: 0, moves: next }
        };
        let entries = &mut self.parts.get_mut(part)?.entries;
        let found = entries.get_bucket_entry(bucket).ok();
        Some((found.map(|found| Entry { found, len: &mut self.len }), next))
    }

    /// The part of a place, if it once held much more than it does now, gives its memory back.
    pub fn give_back(&mut self, at: Place, hash_of: impl Fn(&T) -> u64) {
        let Some(Part { entries, moves }) = self.parts.get_mut(at.part) else { return };
        if entries.len() < entries.num_buckets() / 8 {
            entries.shrink_to_fit(hash_of);
            *moves = moves.wrapping_add(1);
        }
    }
}

#[cfg(test)]
impl<T> Parted<T> {
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| &part.entries)
    }

    /// Whether a walk begins the part in which it stands anew.
    pub fn is_moved(&self, at: Place) -> bool {
        self.parts.get(at.part).is_some_and(|part| part.moves != at.moves)
    }

    pub fn buckets(&self) -> usize {
        self.parts.iter().map(|part| part.entries.num_buckets()).sum()
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

    fn filled(numbers: u64) -> Parted<u64> {
        let mut parted = Parted::default();
        (0..numbers).for_each(|number| parted.insert(mix(&number), number, mix));
        parted
    }

    fn has(parted: &Parted<u64>, number: u64) -> bool {
        parted.find(mix(&number), |found| *found == number).is_some()
    }

    #[test]
    fn parts_are_cut_one_by_one_and_stay_small() {
        for parts in 1..100 {
            for number in 0..1000_u64 {
                let (before, after) = (part_of(mix(&number), parts), part_of(mix(&number), parts + 1));
                assert!(before < parts);
                let from = parts - (1 << parts.ilog2());
                assert!(after == before || (before == from && after == parts), "{before} {after} of {parts}");
            }
        }
        let parted = filled(100_000);
        assert_eq!(parted.parts.len(), 100_000_usize.div_ceil(PART_ENTRIES));
        let largest = parted.parts.iter().map(|part| part.entries.len()).max().unwrap();
        assert!(largest < 3 * PART_ENTRIES, "{largest}");
        assert!((0..100_000).all(|number| has(&parted, number)));
        assert!(!has(&parted, 100_000));
    }

    #[test]
    fn what_comes_and_goes_is_found_and_counted() {
        let (mut parted, mut model) = (Parted::default(), BTreeSet::new());
        assert!(!has(&parted, 0));
        for step in 0..200_000_u64 {
            let number = mix(&step) % 40_000;
            if model.insert(number) {
                parted.insert(mix(&number), number, mix);
            } else {
                model.remove(&number);
                assert_eq!(parted.remove(mix(&number), |found| *found == number), Some(number));
                assert_eq!(parted.remove(mix(&number), |found| *found == number), None);
            }
        }
        assert_eq!(parted.len, model.len());
        assert_eq!(parted.iter().copied().collect::<BTreeSet<_>>(), model);
    }

    #[test]
    fn a_walk_meets_all_that_stay() {
        let mut parted = filled(10_000);
        let (mut met, mut at, mut next) = (BTreeSet::new(), Place::default(), 10_000);
        while let Some((found, behind)) = parted.step(at) {
            if let Some(found) = found {
                // What is new goes again, so that the walk ends.
                if *found.get() < 10_000 {
                    met.insert(*found.get())
                } else {
                    found.remove() > 0
                };
            }
            if behind.is_in_another_part(at) {
                parted.give_back(at, mix);
            }
            at = behind;
            // Parts are cut, and made anew, in front of the walk, behind it and where it is.
            for _ in 0..if next < 60_000 { 2 } else { 0 } {
                parted.insert(mix(&next), next, mix);
                next += 1;
            }
        }
        assert!(parted.parts.len() > 5, "nothing was cut");
        assert_eq!(met, (0..10_000).collect());
    }

    #[test]
    fn buckets_are_given_back() {
        let mut parted = filled(50_000);
        for number in 100..50_000_u64 {
            parted.remove(mix(&number), |found| *found == number);
        }
        let before = parted.buckets();
        let mut at = Place::default();
        while let Some((_, behind)) = parted.step(at) {
            if behind.is_in_another_part(at) {
                parted.give_back(at, mix);
            }
            at = behind;
        }
        assert!(parted.buckets() * 20 < before, "{} of {before}", parted.buckets());
        assert!((0..100).all(|number| has(&parted, number)));
    }
}
