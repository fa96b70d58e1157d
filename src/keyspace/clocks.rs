//! When keys were used last, or how often: kept in memory, and only while a policy of eviction asks for it.
//!
//! A table of fixed size holds a number for each hash of a key. Keys whose hashes meet share one, so that what it tells is an
//! estimate; that is all that a choice among a few keys needs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use parking_lot::RwLock;

use super::context::draws;
use crate::encoding::rows;

/// Numbers in the table, of four bytes.
const PLACES: usize = 1 << 21;

/// What a new key begins with, so that it is not the next one to go, and how the chance to count further falls.
const FIRST_COUNT: u32 = 5;
const COUNT_FACTOR: u64 = 10;
/// Minutes after which a count falls by one.
const DECAY_MINUTES: u64 = 1;
const MAX_COUNT: u32 = 255;

/// What is noted of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    Use,
    Change,
    Frequency,
}

#[derive(Debug, Default)]
pub struct Clocks {
    is_on: AtomicBool,
    table: RwLock<Option<Table>>,
}

#[derive(Debug)]
struct Table {
    noted: Noted,
    began_ms: u64,
    places: Box<[AtomicU32]>,
}

/// Which place a key has.
pub fn place_of(seed: u64, db: u16, key: &[u8]) -> u64 {
    rows::hash48(seed, key) ^ u64::from(db)
}

impl Clocks {
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Notes this from now on, or nothing.
    pub fn set(&self, noted: Option<Noted>, now_ms: u64) {
        if self.table.read().as_ref().map(|table| table.noted) == noted {
            return;
        }
        let table = noted.map(|noted| Table {
            noted,
            began_ms: now_ms,
            places: (0..PLACES).map(|_| AtomicU32::new(0)).collect(),
        });
        self.is_on.store(noted.is_some(), Relaxed);
        *self.table.write() = table;
    }

    /// A command has used a key, or changed it.
    #[cold]
    pub fn touch(&self, place: u64, is_change: bool, now_ms: u64) {
        if let Some(table) = &*self.table.read() {
            table.touch(place, is_change, now_ms);
        }
    }

    /// For how long a key was not used, or not changed. None where that is not noted.
    pub fn idle_ms(&self, place: u64, now_ms: u64) -> Option<u64> {
        let table = self.table.read();
        table.as_ref().filter(|table| table.noted != Noted::Frequency)?.idle_ms(place, now_ms)
    }

    /// How often a key is used, as a number up to 255 that grows with the logarithm. None where that is not noted.
    pub fn frequency(&self, place: u64, now_ms: u64) -> Option<u32> {
        let table = self.table.read();
        Some(table.as_ref().filter(|table| table.noted == Noted::Frequency)?.count(place, now_ms))
    }

    /// The greater, the sooner a key may go. 0 where nothing is noted.
    pub fn rank(&self, place: u64, now_ms: u64) -> u64 {
        match &*self.table.read() {
            None => 0,
            Some(table) if table.noted == Noted::Frequency => {
                u64::from(MAX_COUNT - table.count(place, now_ms))
            }
            Some(table) => table.idle_ms(place, now_ms).unwrap_or(0),
        }
    }
}

impl Table {
    fn place(&self, place: u64) -> Option<&AtomicU32> {
        self.places.get(place as usize % PLACES)
    }

    /// Seconds since the table was made, from 1 on: 0 is never.
    fn moment(&self, now_ms: u64) -> u32 {
        (now_ms.saturating_sub(self.began_ms) / 1_000) as u32 + 1
    }

    fn touch(&self, place: u64, is_change: bool, now_ms: u64) {
        let Some(noted) = self.place(place) else { return };
        match self.noted {
            Noted::Change if !is_change => {}
            Noted::Use | Noted::Change => noted.store(self.moment(now_ms), Relaxed),
            Noted::Frequency => {
                let before = noted.load(Relaxed);
                let count = if before == 0 { FIRST_COUNT } else { self.count(place, now_ms) };
                let above = u64::from(count.saturating_sub(FIRST_COUNT));
                let draw = draws(u64::from(before) ^ place ^ (now_ms << 20)).next().unwrap_or(0);
                let is_counted = draw.is_multiple_of(above * COUNT_FACTOR + 1);
                let count = (count + u32::from(is_counted && before != 0)).min(MAX_COUNT);
                noted.store(((self.moment(now_ms) / 60) << 8) | count, Relaxed);
            }
        }
    }

    fn idle_ms(&self, place: u64, now_ms: u64) -> Option<u64> {
        let at = self.place(place)?.load(Relaxed);
        Some(u64::from(self.moment(now_ms).saturating_sub(at.max(1))) * 1_000)
    }

    fn count(&self, place: u64, now_ms: u64) -> u32 {
        let noted = self.place(place).map_or(0, |noted| noted.load(Relaxed));
        let minutes = u64::from((self.moment(now_ms) / 60).saturating_sub(noted >> 8));
        (noted & MAX_COUNT).saturating_sub((minutes / DECAY_MINUTES).min(u64::from(MAX_COUNT)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_unless_asked_for() {
        let clocks = Clocks::default();
        clocks.touch(1, true, 5);
        assert!(!clocks.is_on() && clocks.idle_ms(1, 9).is_none() && clocks.frequency(1, 9).is_none());
        assert_eq!(clocks.rank(1, 9), 0);
        clocks.set(Some(Noted::Use), 0);
        assert!(clocks.is_on() && clocks.frequency(1, 9).is_none());
        clocks.set(None, 0);
        assert!(!clocks.is_on() && clocks.idle_ms(1, 9).is_none());
    }

    #[test]
    fn who_was_used_longest_ago_goes_first() {
        let clocks = Clocks::default();
        clocks.set(Some(Noted::Use), 1_000_000);
        clocks.touch(1, false, 1_010_000);
        clocks.touch(2, true, 1_020_000);
        let idle = |place| clocks.idle_ms(place, 1_030_000);
        assert_eq!((idle(1), idle(2), idle(3)), (Some(20_000), Some(10_000), Some(30_000)));
        assert!(clocks.rank(3, 1_030_000) > clocks.rank(1, 1_030_000));
        clocks.set(Some(Noted::Change), 1_000_000);
        clocks.touch(1, false, 1_010_000);
        clocks.touch(2, true, 1_020_000);
        assert_eq!((idle(1), idle(2)), (Some(30_000), Some(10_000)));
    }

    #[test]
    fn who_is_used_often_counts_more_and_forgets() {
        let clocks = Clocks::default();
        clocks.set(Some(Noted::Frequency), 0);
        clocks.touch(1, false, 1_000);
        (0..1_000).for_each(|n| clocks.touch(2, false, 1_000 + n));
        let count = |place, now_ms| clocks.frequency(place, now_ms).unwrap();
        assert_eq!((count(1, 2_000), count(3, 2_000)), (FIRST_COUNT, 0));
        assert!(count(2, 2_000) > 2 * FIRST_COUNT && count(2, 2_000) < 100, "{}", count(2, 2_000));
        assert!(
            clocks.rank(3, 2_000) > clocks.rank(1, 2_000) && clocks.rank(1, 2_000) > clocks.rank(2, 2_000)
        );
        assert_eq!(count(1, 62_000), FIRST_COUNT - 1);
        assert_eq!(count(2, 600 * 60_000), 0);
    }
}
