//! Small groups whose rows are in memory and in order, and which nobody scans at the moment. Commits do not touch them: they
//! say what the sorted data says, the tables say what is newer. So they cost a writer nothing, and whoever reads a row
//! that is not dirty, or scans the group, finds it.

use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashTable;

use super::super::cache::CacheBudget;
use super::super::hash::{RowHash, prefetch_line};
use super::super::ordered::Ordered;
use super::super::table::arena::Row;
use super::{Group, SMALL_BYTES, touches};
use crate::Range;

/// One that has grown beyond this is no longer kept.
const MOST_ROWS: usize = 512;
/// Those that go at once, while the shard is locked.
const EVICTED: usize = 256;
/// A group with its share of the table.
const OVERHEAD_BYTES: usize = 150;

struct Rest {
    hash: u64,
    space: u8,
    group: Group,
    /// For every key that has no dirty row: what the sorted data holds.
    rows: Ordered,
    /// The unit of write-back that brought all of them.
    unit: Option<u64>,
    used: AtomicBool,
}

impl Rest {
    fn is(&self, hash: u64, space: u8, group: &[u8]) -> bool {
        self.hash == hash && self.space == space && *self.group == *group
    }

    fn size(&self) -> usize {
        OVERHEAD_BYTES + self.group.len() + self.rows.bytes()
    }
}

/// One shard's.
#[derive(Default)]
pub struct Resting {
    list: HashTable<Rest>,
}

/// What became of a row that was written back.
pub enum TakenIn {
    /// Its group rests, and holds it now.
    Yes,
    No,
    /// Its group rested, and is too large now. These are its rows.
    Outgrown(Ordered),
}

impl Resting {
    #[inline]
    fn find(&self, hash: u64, space: u8, group: &[u8]) -> Option<&Rest> {
        self.list.find(hash, |rest| rest.is(hash, space, group))
    }

    pub fn has(&self, hash: u64, space: u8, group: &[u8]) -> bool {
        self.find(hash, space, group).is_some()
    }

    #[inline]
    pub fn expect(&self, hash: u64) {
        let _none = self.list.find(hash, |rest| {
            prefetch_line(rest);
            false
        });
    }

    /// The rows of the group of this hash, if one seems to be here.
    #[inline]
    pub fn find_hash(&self, hash: u64) -> Option<&Ordered> {
        self.list.find(hash, |rest| rest.hash == hash).map(|rest| &rest.rows)
    }

    /// Some(None): the group is here, and the sorted data does not hold the row.
    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        if self.list.is_empty() {
            return None;
        }
        let (group, key) = key.split_at_checked(hash.group_len)?;
        let rest = self.find(hash.group, space, group)?;
        if !rest.used.load(Ordering::Relaxed) {
            rest.used.store(true, Ordering::Relaxed);
        }
        Some(rest.rows.get(key))
    }

    /// The group is not here yet.
    pub fn insert(
        &mut self,
        (hash, space, group): (u64, u8, Group),
        rows: Ordered,
        unit: Option<u64>,
        budget: &CacheBudget,
    ) {
        let rest = Rest { hash, space, group, rows, unit, used: AtomicBool::new(true) };
        budget.change(0, rest.size());
        self.list.insert_unique(hash, rest, |rest| rest.hash);
    }

    pub fn take(&mut self, hash: u64, space: u8, group: &[u8], budget: &CacheBudget) -> Option<Ordered> {
        let found = self.list.find_entry(hash, |rest| rest.is(hash, space, group)).ok()?;
        let (rest, _) = found.remove();
        budget.change(rest.size(), 0);
        Some(rest.rows)
    }

    /// A unit has brought a row to the sorted data, or taken it away there.
    pub fn take_in(&mut self, row: &Row<'_>, hash: &RowHash, unit: u64, budget: &CacheBudget) -> TakenIn {
        let Row { space, key, value, .. } = *row;
        if self.list.is_empty() {
            return TakenIn::No;
        }
        let Some((group, key)) = key.split_at_checked(hash.group_len) else { return TakenIn::No };
        let found = self.list.find_entry(hash.group, |rest| rest.is(hash.group, space, group));
        let Ok(mut found) = found else { return TakenIn::No };
        let rest = found.get_mut();
        if rest.unit == Some(unit) {
            return TakenIn::Yes;
        }
        let before = rest.size();
        rest.rows.set(key, value);
        budget.change(before, rest.size());
        if rest.rows.len() > MOST_ROWS || rest.rows.bytes() > SMALL_BYTES {
            let (rest, _) = found.remove();
            budget.change(rest.size(), 0);
            return TakenIn::Outgrown(rest.rows);
        }
        TakenIn::Yes
    }

    /// One round of the clock: some of those not used since the last one go.
    pub fn evict(&mut self, budget: &CacheBudget) {
        let unused = |rest: &mut Rest| !std::mem::replace(rest.used.get_mut(), false);
        self.list.extract_if(unused).take(EVICTED).for_each(|rest| budget.change(rest.size(), 0));
    }

    pub fn forget(&mut self, space: u8, range: Range<'_>, budget: &CacheBudget) {
        let touched = |rest: &mut Rest| rest.space == space && touches(&rest.group, range);
        self.list.extract_if(touched).for_each(|rest| budget.change(rest.size(), 0));
    }

    #[cfg(test)]
    pub fn clear(&mut self, budget: &CacheBudget) {
        std::mem::take(&mut self.list).into_iter().for_each(|rest| budget.change(rest.size(), 0));
    }
}
