//! Shards: what is in memory of rows. One lock covers the active table, the frozen ones, the cached groups and the clean rows of
//! a shard. All rows of a group are in one shard.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

use super::abandoned::Abandoned;
use super::cache::{CacheBudget, CachePart};
use super::groups::{GroupCache, WrittenBack};
use super::hash::{GroupId, RowHash, SHARDS, shard_of};
use super::linear_hash::Place;
use super::ranges::Ranges;
use super::table::Table;
use super::table::arena::Row;
use super::table::set::TableSet;
use crate::hint::{Hint, Hinted};
use crate::{Direction, Error, Groups, Range, Result, Space};

/// Rows that move into the cache at a time, while the shard is locked.
const ROWS_PER_STEP: usize = 16;
/// Places that the clock passes at a time, while the shard is locked.
const EVICT_STEPS: usize = 64;
/// Places that are searched for rows of a range at a time, while the shard is locked.
const FORGET_STEPS: usize = 4096;
/// As [`FORGET_STEPS`], where commands want the shard.
const FORGET_STEPS_OF_GROUP: usize = 128;
const SHRINK_TURNS: usize = 1 << 16;

#[derive(Default)]
pub struct Shard {
    pub active: Table,
    /// Newest first.
    pub frozen: SmallVec<[Arc<Table>; 4]>,
    pub cache: CachePart,
    pub groups: GroupCache,
    /// Grows when the sorted data may have changed. A row that was read from there before must not enter the cache after.
    pub generation: u64,
    /// How often the active table was sealed.
    pub seals: u64,
    pub cache_hits: AtomicU64,
}

pub enum Found<'a> {
    Value(&'a [u8]),
    Absent,
    Unknown,
}

impl Shard {
    #[inline]
    pub fn find(&self, space: u8, key: &[u8], hash: &RowHash) -> Found<'_> {
        let dirty = self
            .active
            .get(space, key, hash)
            .or_else(|| self.frozen.iter().find_map(|table| table.get(space, key, hash)));
        if let Some(row) = dirty {
            return row.value.map_or(Found::Absent, Found::Value);
        }
        let clean = self.find_in_group(space, key, hash).or_else(|| self.cache.get(space, key, hash));
        match clean {
            Some(value) => {
                self.cache_hits.fetch_add(1, Ordering::Relaxed);
                value.map_or(Found::Absent, Found::Value)
            }
            None => Found::Unknown,
        }
    }

    #[inline]
    fn find_in_group(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        if hash.groups == Groups::Kept { self.groups.get(space, key, hash) } else { None }
    }

    /// Prefetches a row if it is dirty or its group is cached; false where it seems to be neither.
    #[inline]
    fn prefetch_dirty_or_cached(&self, hash: &RowHash) -> bool {
        self.active.prefetch_row(hash.key)
            || self.frozen.iter().any(|table| table.prefetch_row(hash.key))
            || (hash.groups == Groups::Kept && self.groups.prefetch_rows(hash.group))
    }

    /// A unit has written a row to the sorted data: it is a clean one now.
    fn retire(
        &mut self,
        row: &Row<'_>,
        hash: &RowHash,
        unit: u64,
        budget: &CacheBudget,
        rehash: &Rehash<'_>,
    ) {
        let outcome = self.groups.written_back(row, hash, unit, budget);
        if let WrittenBack::Outgrown(rows) = &outcome {
            let mut key = row.key.get(..hash.group_len).unwrap_or_default().to_vec();
            rows.walk(&[], None, Direction::Forward, &mut |suffix, value| {
                key.truncate(hash.group_len);
                key.extend_from_slice(suffix);
                self.cache.set(row.space, &key, &rehash(row.space, &key), Some(value), budget);
                true
            });
        }
        // A deleted row is seldom read again.
        if row.value.is_none() || matches!(outcome, WrittenBack::Cached) {
            self.cache.remove(row.space, row.key, hash, budget);
        } else {
            self.cache.set(row.space, row.key, hash, row.value, budget);
        }
    }

    /// Has a lagging group follow commits again; false where there is none, or too much has been written to it.
    pub fn catch_up(&mut self, id: GroupId<'_>, budget: &CacheBudget) -> bool {
        let tables = self.frozen.iter().rev().map(|table| &**table).chain([&self.active]);
        let dirty = tables.flat_map(|table| table.rows_of(id));
        self.groups.catch_up(id, dirty, budget)
    }
}

pub type Rehash<'r> = dyn Fn(u8, &[u8]) -> RowHash + 'r;

/// A shard. What is read without its lock stands on the same cache line.
#[derive(Default)]
#[repr(C)]
struct Guarded {
    active: SlotsAddress,
    newest_frozen: SlotsAddress,
    lock: RwLock<Shard>,
}

/// Where the slots of a table are, or were a moment ago. It is only prefetched from, which needs no lock and may be out of date.
#[derive(Default)]
struct SlotsAddress {
    start: AtomicUsize,
    places: AtomicUsize,
}

impl SlotsAddress {
    #[inline]
    fn set(&self, table: Option<&Table>) {
        let (start, places) = table.map_or((0, 0), Table::slots_at);
        if self.start.load(Ordering::Relaxed) != start || self.places.load(Ordering::Relaxed) != places {
            self.start.store(start, Ordering::Relaxed);
            self.places.store(places, Ordering::Relaxed);
        }
    }

    #[inline]
    fn prefetch_slot(&self, key_hash: u64) {
        let (start, places) = (self.start.load(Ordering::Relaxed), self.places.load(Ordering::Relaxed));
        Table::prefetch_slot_at((start, places), key_hash);
    }
}

pub struct Shards {
    list: Box<[CachePadded<Guarded>]>,
    pub budget: CacheBudget,
}

impl Shards {
    pub fn new() -> Shards {
        Shards { list: (0..SHARDS).map(|_| CachePadded::default()).collect(), budget: CacheBudget::default() }
    }

    #[inline]
    fn lock(&self, shard: usize) -> Result<&RwLock<Shard>> {
        self.list
            .get(shard)
            .map(|guarded| &guarded.lock)
            .ok_or_else(|| Error::Io(format!("there is no shard {shard}")))
    }

    fn locks(&self) -> impl Iterator<Item = &RwLock<Shard>> {
        self.list.iter().map(|guarded| &guarded.lock)
    }

    #[inline]
    pub fn read(&self, shard: usize) -> Result<RwLockReadGuard<'_, Shard>> {
        Ok(self.lock(shard)?.read())
    }

    /// Prefetches the slots at which a search for a row begins. It takes no lock: an atomic instruction would wait until earlier
    /// prefetches are complete.
    #[inline]
    pub fn prefetch_slot(&self, group_hash: u64, key_hash: u64) {
        if let Some(guarded) = self.list.get(shard_of(group_hash)) {
            guarded.active.prefetch_slot(key_hash);
            guarded.newest_frozen.prefetch_slot(key_hash);
        }
    }

    /// To be called where the active table of a shard may have grown.
    #[inline]
    pub fn update_active_slots(&self, index: usize, shard: &Shard) {
        if let Some(guarded) = self.list.get(index) {
            guarded.active.set(Some(&shard.active));
        }
    }

    /// Prefetches a row if there seems to be one.
    #[inline]
    pub fn prefetch_row(&self, hash: &RowHash) {
        let lock = self.list.get(shard_of(hash.group));
        let Some(shard) = lock.and_then(|guarded| guarded.lock.try_read()) else { return };
        if !shard.prefetch_dirty_or_cached(hash) {
            shard.cache.prefetch_row(hash.key);
        }
    }

    /// The same for rows of one shard. The lock is taken once for all of them: each acquisition would wait until earlier prefetches
    /// are complete (RPOP of a long list that has been written back: 1.5 us of CPU instead of 2.3).
    pub fn prefetch_rows(&self, what: &[Hint]) {
        let index = what.first().and_then(|Hint(first)| first.shard());
        let guarded = index.and_then(|index| self.list.get(index));
        let Some(shard) = guarded.and_then(|guarded| guarded.lock.try_read()) else { return };
        for some in what.chunks(u64::BITS as usize) {
            // Those that only the row cache may hold.
            let mut clean = 0_u64;
            for (number, Hint(what)) in some.iter().enumerate() {
                match what {
                    Hinted::Nothing => {}
                    Hinted::Group(hash) => {
                        shard.groups.prefetch_rows(*hash);
                    }
                    Hinted::Row(hash) => {
                        if !shard.prefetch_dirty_or_cached(hash) {
                            shard.cache.prefetch_slot(hash.key);
                            clean |= 1 << number;
                        }
                    }
                }
            }
            for (number, Hint(what)) in some.iter().enumerate() {
                if let Hinted::Row(hash) = what
                    && clean & 1 << number != 0
                {
                    shard.cache.prefetch_row(hash.key);
                }
            }
        }
    }

    /// Prefetches the entry at which a search for a cached group begins.
    #[inline]
    pub fn prefetch_group_slot(&self, hash: u64) {
        let lock = self.list.get(shard_of(hash));
        if let Some(shard) = lock.and_then(|guarded| guarded.lock.try_read()) {
            shard.groups.prefetch_slot(hash);
        }
    }

    #[inline]
    pub fn write(&self, shard: usize) -> Result<RwLockWriteGuard<'_, Shard>> {
        Ok(self.lock(shard)?.write())
    }

    /// Turns the active tables into frozen ones; None when all were empty. The caller holds off commits.
    pub fn seal(&self) -> Option<Arc<TableSet>> {
        let tables: Vec<_> = self
            .list
            .iter()
            .map(|guarded| {
                let mut shard = guarded.lock.write();
                if shard.active.is_empty() {
                    return None;
                }
                shard.seals += 1;
                let table = Arc::new(std::mem::take(&mut shard.active));
                guarded.newest_frozen.set(Some(&table));
                shard.frozen.insert(0, table.clone());
                Some(table)
            })
            .collect();
        tables.iter().any(Option::is_some).then(|| Arc::new(TableSet::new(tables)))
    }

    /// Replaces neighbouring sets by one that holds their rows.
    pub fn exchange(&self, old: &[Arc<TableSet>], new: &TableSet) {
        for (index, lock) in self.locks().enumerate() {
            let mut shard = lock.write();
            let is_old = |table: &Arc<Table>| {
                old.iter().any(|set| set.table(index).is_some_and(|old| Arc::ptr_eq(old, table)))
            };
            let place = shard.frozen.iter().position(is_old);
            if let (Some(place), Some(table)) = (place, new.table(index)) {
                shard.frozen.retain(|table| !is_old(table));
                shard.frozen.insert(place, table.clone());
            }
        }
    }

    /// The sorted data holds these rows now: they become clean ones, in small steps, and the tables go.
    /// Rows of abandoned groups do not enter the cache.
    pub fn retire(&self, sets: &[Arc<TableSet>], unit: u64, abandoned: &Abandoned, rehash: &Rehash<'_>) {
        let mut step: Vec<(Row<'_>, RowHash)> = Vec::with_capacity(ROWS_PER_STEP);
        for (index, lock) in self.locks().enumerate() {
            if sets.iter().all(|set| set.table(index).is_none()) {
                continue;
            }
            lock.write().generation += 1;
            // Oldest first, so that the newest value is the one that stays.
            for table in sets.iter().filter_map(|set| set.table(index)) {
                let mut rows = table.iter().filter(|(_, row)| !abandoned.has(row));
                loop {
                    step.clear();
                    step.extend(
                        rows.by_ref().take(ROWS_PER_STEP).map(|(_, row)| (row, rehash(row.space, row.key))),
                    );
                    if step.is_empty() {
                        break;
                    }
                    {
                        let Shard { groups, .. } = &*lock.read();
                        if groups.has_followers() {
                            step.retain(|(row, hash)| !groups.is_only_copy(row.space, row.key, hash));
                        }
                    }
                    if step.is_empty() {
                        continue;
                    }
                    let mut shard = lock.write();
                    for (row, hash) in &step {
                        shard.retire(row, hash, unit, &self.budget, rehash);
                    }
                    drop(shard);
                    self.evict();
                }
            }
            let mut shard = lock.write();
            shard.frozen.retain(|table| {
                !sets.iter().any(|set| set.table(index).is_some_and(|gone| Arc::ptr_eq(gone, table)))
            });
        }
    }

    /// Brings the cache back into its budget.
    #[inline]
    pub fn evict(&self) {
        if self.budget.is_exceeded() {
            self.turn_clock();
        }
    }

    /// For a budget that has become smaller: goes on until the cache fits.
    pub fn shrink_to_budget(&self) {
        // The bound only guards against reads that fill the cache as fast.
        for _ in 0..SHRINK_TURNS {
            if !self.budget.is_exceeded() {
                return;
            }
            self.turn_clock();
        }
    }

    #[cold]
    fn turn_clock(&self) {
        // The second round finds rows to evict even if all were in use. What is still too much is left to the next caller.
        for _ in 0..2 * SHARDS {
            if !self.budget.is_exceeded() {
                return;
            }
            let hand = self.budget.shard.load(Ordering::Relaxed);
            let Ok(mut shard) = self.write(hand % SHARDS) else { return };
            let came_round = shard.cache.evict(EVICT_STEPS, &self.budget);
            if came_round {
                shard.groups.evict(&self.budget);
                self.budget.shard.store((hand + 1) % SHARDS, Ordering::Relaxed);
            }
        }
    }

    /// Forgets the clean rows of ranges, and any that are being fetched. All of them in one walk: it is over everything that is cached.
    pub fn forget_ranges<'r>(&self, ranges: impl Iterator<Item = (Space, Range<'r>)>) {
        let ranges = Ranges::of(ranges);
        for lock in self.locks() {
            for (space, range) in ranges.iter() {
                let mut shard = lock.write();
                shard.generation += 1;
                shard.groups.forget(space, range, &self.budget);
            }
            let mut next = Some(Place::default());
            while let Some(from) = next {
                let is_in = |space: u8, key: &[u8]| ranges.contain(space, key);
                next = lock.write().cache.forget(is_in, from, FORGET_STEPS, &self.budget);
            }
        }
    }

    /// Forgets the clean rows of a group, and does something under the lock under which the last of them was forgotten.
    pub fn forget_rows_of(&self, id: GroupId<'_>, range: Range<'_>, then: &dyn Fn(&mut Shard)) {
        let Ok(lock) = self.lock(id.shard()) else { return };
        let mut next = Place::default();
        loop {
            let mut shard = lock.write();
            let is_in = |space: u8, key: &[u8]| space == id.space && range.start <= key && key < range.end;
            match shard.cache.forget(is_in, next, FORGET_STEPS_OF_GROUP, &self.budget) {
                Some(from) => next = from,
                None => return then(&mut shard),
            }
        }
    }

    /// Forgets all clean rows, and those being fetched.
    #[cfg(test)]
    pub fn forget_clean(&self) {
        for lock in self.locks() {
            let mut shard = lock.write();
            shard.generation += 1;
            shard.cache.clear(&self.budget);
            shard.groups.clear(&self.budget);
        }
    }

    /// Frees large groups that have left the cache, which may take long, without a lock.
    pub fn free_dropped_groups(&self) {
        for lock in self.locks().filter(|lock| !lock.read().groups.dropped.is_empty()) {
            let dropped = std::mem::take(&mut lock.write().groups.dropped);
            drop(dropped);
        }
    }
}
