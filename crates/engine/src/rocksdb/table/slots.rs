//! A hash table of row addresses that only grows: nothing leaves a table of rows before the table goes as a whole.
//!
//! Our own, because a point read mostly waits for memory: a lookup touches one cache line here, two
//! in a general hash table, and the line can be prefetched.

// Places are taken modulo their number, which is a power of two.
#![allow(clippy::indexing_slicing)]

use super::super::hash::prefetch_line;
use super::arena::RowAt;
use super::huge::Huge;

/// The first places of a table, a cache line of them.
const FIRST_PLACES: usize = 8;

/// A row's address with 32 bits of its hash, so that growing and most misses do not touch the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub hash: u32,
    pub at: RowAt,
}

const FREE: Slot = Slot { hash: 0, at: RowAt::NONE };

/// Open addressing with linear probing, at most five eighths full.
#[derive(Default)]
pub struct Slots {
    places: Huge<Slot>,
    len: usize,
}

#[inline(always)]
fn first_of(places: usize, hash: u32) -> usize {
    // The high bits are the mixed ones.
    let mixed = hash.wrapping_mul(0x9e37_79b1);
    ((u64::from(mixed) * places as u64) >> 32) as usize
}

/// Where a search ended: at the slot, or at the place that it would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Taken(usize),
    Free(usize),
}

impl Slots {
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn allocated_bytes(&self) -> usize {
        self.places.len() * size_of::<Slot>()
    }

    /// The places must not be empty.
    #[inline(always)]
    fn first(&self, hash: u32) -> usize {
        first_of(self.places.len(), hash)
    }

    /// The address of the places, and their number.
    #[inline]
    pub fn places_at(&self) -> (usize, usize) {
        (self.places.as_ptr().addr(), self.places.len())
    }

    /// As [`Slots::prefetch`] where only this is known of them.
    #[inline]
    pub fn prefetch_at((start, places): (usize, usize), hash: u32) {
        let place = start + first_of(places, hash) * size_of::<Slot>();
        prefetch_line(std::ptr::without_provenance::<Slot>(place));
    }

    #[inline]
    pub fn find(&self, hash: u32, is_it: impl Fn(RowAt) -> bool) -> Option<RowAt> {
        if self.places.is_empty() {
            return None;
        }
        match self.search(hash, is_it) {
            Place::Taken(place) => Some(self.places[place].at),
            Place::Free(_) => None,
        }
    }

    /// Prefetches the place at which a search for this hash begins.
    #[inline]
    pub fn prefetch(&self, hash: u32) {
        if !self.places.is_empty() {
            prefetch_line(&self.places[self.first(hash)]);
        }
    }

    #[inline(always)]
    fn search(&self, hash: u32, is_it: impl Fn(RowAt) -> bool) -> Place {
        let mask = self.places.len() - 1;
        let mut place = self.first(hash);
        // Ends, since a part of the places is always free.
        loop {
            let slot = self.places[place & mask];
            if slot.at == RowAt::NONE {
                return Place::Free(place & mask);
            }
            if slot.hash == hash && is_it(slot.at) {
                return Place::Taken(place & mask);
            }
            place += 1;
        }
    }

    /// Finds the slot, or the place for a new one, which stays right until the next call.
    #[inline]
    pub fn entry(&mut self, hash: u32, is_it: impl Fn(RowAt) -> bool) -> Place {
        if (self.len + 1) * 8 > self.places.len() * 5 {
            self.grow();
        }
        self.search(hash, is_it)
    }

    #[inline]
    pub fn at(&self, place: usize) -> RowAt {
        self.places[place].at
    }

    #[inline]
    pub fn put(&mut self, place: Place, hash: u32, at: RowAt) {
        match place {
            Place::Taken(place) => self.places[place].at = at,
            Place::Free(place) => {
                self.places[place] = Slot { hash, at };
                self.len += 1;
            }
        }
    }

    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = RowAt> + '_ {
        self.places.iter().map(|slot| slot.at).filter(|at| *at != RowAt::NONE)
    }

    #[cold]
    fn grow(&mut self) {
        let places = Huge::filled(FREE, (self.places.len() * 2).max(FIRST_PLACES));
        let old = std::mem::replace(&mut self.places, places);
        for slot in old.iter().copied().filter(|slot| slot.at != RowAt::NONE) {
            if let Place::Free(place) = self.search(slot.hash, |_| false) {
                self.places[place] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(slots: &mut Slots, hash: u32, at: u32) {
        let place = slots.entry(hash, |other| other == RowAt(at));
        slots.put(place, hash, RowAt(at));
    }

    #[test]
    fn finds_what_was_put_through_all_growth() {
        let mut slots = Slots::default();
        assert_eq!(slots.find(7, |_| true), None);
        slots.prefetch(7);
        for at in 0..10_000 {
            // Few different hashes, so that many share a place.
            insert(&mut slots, at % 97 * 0x0101_0101, at);
            insert(&mut slots, at % 97 * 0x0101_0101, at);
        }
        assert_eq!(slots.len(), 10_000);
        for at in 0..10_000 {
            let hash = at % 97 * 0x0101_0101;
            assert_eq!(slots.find(hash, |other| other == RowAt(at)), Some(RowAt(at)));
            assert_eq!(slots.find(hash ^ 1, |other| other == RowAt(at)), None);
            slots.prefetch(hash);
        }
        let mut all: Vec<u32> = slots.iter().map(|at| at.0).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10_000));
    }

    #[test]
    fn a_slot_changes_its_row() {
        let mut slots = Slots::default();
        insert(&mut slots, u32::MAX, 1);
        let place = slots.entry(u32::MAX, |at| at == RowAt(1));
        let Place::Taken(index) = place else { panic!("{place:?}") };
        assert_eq!(slots.at(index), RowAt(1));
        slots.put(place, u32::MAX, RowAt(2));
        assert_eq!(slots.find(u32::MAX, |_| true), Some(RowAt(2)));
        assert_eq!((slots.len(), slots.is_empty()), (1, false));
    }

    #[test]
    fn part_of_the_places_is_always_free() {
        let mut slots = Slots::default();
        for at in 0..1000 {
            insert(&mut slots, 5, at);
            assert!(slots.len * 8 <= slots.places.len() * 5, "{} of {}", slots.len, slots.places.len());
        }
    }
}
