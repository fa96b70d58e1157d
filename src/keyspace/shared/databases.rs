//! Logical databases and the physical numbers their rows carry. FLUSHDB and SWAPDB change this map and nothing else.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tarn_engine::{Direction, Range, Read, Write as _};

use crate::encoding::{SYSTEM, system};
use crate::error::{Error, Result};
use crate::keyspace::effects::Effect;
use crate::keyspace::{Db, View as _, WriteCx};

/// A logical database without a row of its own has its own number; numbers given out later start here.
pub const FIRST_FRESH_PHYSICAL: u64 = 1 << 16;

/// The map in memory, true while the caller holds a stripe lock: whoever changes it holds all of them. Where several nodes share the data
/// it is also true only within a lease: see [`super::lease`].
///
/// Clients may use the first `count`. More are on record where the server ran with more before: their keys are kept.
#[derive(Debug)]
pub struct Databases {
    /// Set once what is on record is known.
    physical: OnceLock<Vec<AtomicU32>>,
    count: usize,
}

impl Databases {
    /// Of which nothing is known yet; clients will be able to use `count`.
    pub fn waiting(count: usize) -> Databases {
        Databases { physical: OnceLock::new(), count }
    }

    /// The numbers of logical databases from 0 on, of which clients may use `count`.
    #[cfg(test)]
    pub fn new(physical: impl IntoIterator<Item = u32>, count: usize) -> Databases {
        let databases = Databases::waiting(count);
        databases.set(physical);
        databases
    }

    /// Those on record, or the numbers that they have by now.
    pub fn set(&self, numbers: impl IntoIterator<Item = u32>) {
        let numbers: Vec<u32> = numbers.into_iter().collect();
        let physical = self.physical.get_or_init(|| numbers.iter().copied().map(AtomicU32::new).collect());
        for (place, number) in physical.iter().zip(numbers) {
            place.store(number, Ordering::Release);
        }
    }

    #[inline]
    fn physical(&self) -> &[AtomicU32] {
        self.physical.get().map_or(&[], Vec::as_slice)
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn get(&self, logical: u16) -> Option<Db> {
        self.recorded(logical).filter(|_| usize::from(logical) < self.count)
    }

    pub fn iter(&self) -> impl Iterator<Item = Db> + '_ {
        (0..=u16::MAX).map_while(|logical| self.get(logical))
    }

    pub(super) fn recorded(&self, logical: u16) -> Option<Db> {
        let physical = match self.physical.get() {
            Some(physical) => physical.get(usize::from(logical))?.load(Ordering::Acquire),
            // Clients may choose one before anything is known of it; nothing is read or written yet.
            None => u32::from(logical),
        };
        Some(Db { logical, physical })
    }

    /// The logical database that has this number now. None is a number that was dropped.
    pub fn owner(&self, physical: u32) -> Option<Db> {
        let mut on_record = (0..=u16::MAX).map_while(|logical| self.recorded(logical));
        on_record.find(|db| db.physical == physical).or_else(|| {
            // Beyond the record every database has its own number.
            let logical = u16::try_from(physical).ok()?;
            (usize::from(logical) >= self.physical().len()).then_some(Db { logical, physical })
        })
    }

    /// After the commit that put the rows.
    pub fn apply(&self, changes: &[Db]) {
        for db in changes {
            if let Some(slot) = self.physical().get(usize::from(db.logical)) {
                slot.store(db.physical, Ordering::Release);
            }
        }
    }
}

/// Gives the database a fresh, empty number; its old rows are removed in the background.
/// The caller's command holds every stripe.
pub fn flush(cx: &mut WriteCx<'_>, db: Db) -> Result<()> {
    let row = cx.get(SYSTEM, &system::next_physical())?;
    let next = match row {
        Some(span) => system::read_u64(cx.bytes(span))?,
        None => FIRST_FRESH_PHYSICAL,
    };
    let physical = u32::try_from(next).map_err(|_| Error::Damaged("database numbers are used up"))?;
    cx.txn.put(SYSTEM, &system::next_physical(), &[&(next + 1).to_be_bytes()]);
    cx.txn.put(SYSTEM, &system::dropped(db.physical), &[]);
    remap(cx, Db { logical: db.logical, physical });
    Ok(())
}

/// Exchanges the contents of two databases.
pub fn swap(cx: &mut WriteCx<'_>, a: Db, b: Db) {
    remap(cx, Db { logical: a.logical, physical: b.physical });
    remap(cx, Db { logical: b.logical, physical: a.physical });
}

fn remap(cx: &mut WriteCx<'_>, db: Db) {
    let number = u64::from(db.physical);
    cx.txn.put(SYSTEM, &system::database(db.logical), &[&number.to_be_bytes()]);
    cx.effects.list.push(Effect::Renumber(db));
}

/// The numbers of all databases up to the last that is wanted or on record.
pub fn mapped(txn: &impl Read, databases: u16) -> Result<Vec<u32>> {
    let mut numbers: Vec<u32> = (0..databases).map(u32::from).collect();
    let mut malformed = None;
    let (start, end) = system::all_databases();
    let range = Range { start: &start, end: &end };
    txn.scan(SYSTEM, range, Direction::Forward, usize::MAX, &mut |row, value| match (
        system::read_database(row),
        system::read_physical(value),
    ) {
        (Ok(logical), Ok(number)) => {
            for own in numbers.len()..=usize::from(logical) {
                numbers.push(own as u32);
            }
            if let Some(place) = numbers.get_mut(usize::from(logical)) {
                *place = number;
            }
            ControlFlow::Continue(())
        }
        (Err(bad), _) | (_, Err(bad)) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(numbers), |bad| Err(bad.into()))
}

#[cfg(test)]
mod tests;
