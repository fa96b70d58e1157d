//! The group cache: all rows of a group in memory, in order. A cached group is in one of three states:
//!
//! - *loading*: its rows are being read. Commits note what they write to it.
//! - *following*: it holds all rows, and every commit updates it. Scans, ranks, random picks and reads of single rows, absent ones
//!   included, are answered from it alone.
//! - *lagging*: it holds what the sorted data holds; newer rows are in the dirty tables only. Commits do not touch it, and
//!   write-back updates it. It answers reads of single rows that are not dirty.
//!
//! A group begins to load when it is scanned ([`scans`]), and follows commits when it is loaded. One that is written to and not
//! scanned lags if it is small, and leaves the cache if it is large. The next scan adds the dirty rows to a lagging group,
//! which follows again. A small group whose rows a unit of write-back writes for the first time is cached as lagging ([`complete`]).
//!
//! Cached groups share the budget of the row cache and leave by the same clock.

mod complete;
mod load;
mod read;
mod scans;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;
use smallvec::SmallVec;

pub use self::load::Loader;
pub use self::read::{Effort, with_copied};
use self::scans::ScanCounts;
use super::cache::CacheBudget;
use super::hash::{GroupId, RowHash, prefetch_line, within_shard};
use super::ordered::Ordered;
use super::table::arena::Row;
use crate::Range;

// Figures of `examples/group_cache.rs` are of CPU time; docs/decisions/0006-group-cache.md has all of them.

/// A small group is in one buffer ([`super::ordered`]), is loaded by its first scan ([`scans`]) and may lag. A write to a following
/// group of 128 rows costs 0.9 us, to a lagging one 0.2 us: the rows behind it are shifted.
const SMALL_ROWS: usize = 128;
/// A limit, not measured: a group of more bytes is not loaded by a scan, does not lag, and is freed without the lock.
const SMALL_BYTES: usize = 128 << 10;
/// A limit, not measured: a lagging group that has grown beyond this leaves the cache.
const MAX_LAGGING_ROWS: usize = 512;
/// A group with more dirty rows leaves the cache instead of being caught up: the shard is locked for 30 to 50 us with as many.
const MAX_CATCH_UP_ROWS: usize = 256;
/// A following group of many rows leaves the cache after so many writes without a scan, and so many times its rows. Set by SPOP and
/// SADD that empty and fill one set in turn: with half its rows as the limit it was loaded anew each time.
const MAX_WRITES: usize = 64;
const MAX_WRITES_PER_ROW: usize = 4;
/// A small one lags after so many writes and once its rows: as many writes to it cost about what catching up with them does
/// (11 us with 16 dirty rows and 128 in all).
const MAX_WRITES_SMALL: usize = 16;
/// A limit, not measured: rows that commits may write to a group between two looks of its load, about 8 MiB. With more the load
/// does not keep up.
const MAX_WRITTEN_ROWS: usize = 1 << 16;
/// A limit, not measured: groups that leave at a time, while the shard is locked.
const EVICT_GROUPS: usize = 256;
/// An entry with its share of the table: 120 bytes at a fill of 0.8.
const OVERHEAD_BYTES: usize = 150;

/// A row written while its group was loading: the key without the group, and the value.
type Written = (Box<[u8]>, Option<Box<[u8]>>);

enum State {
    Loading(Box<Loading>),
    Following {
        /// Of its load.
        number: u64,
        /// Since the last scan.
        writes: AtomicU32,
        /// None of its rows is in the row cache as well.
        is_only_copy: bool,
    },
    Lagging {
        /// The unit of write-back that wrote all its rows; 0 where it was not one.
        unit: u64,
    },
}

impl State {
    fn following(number: u64) -> State {
        State::Following { number, writes: AtomicU32::new(0), is_only_copy: false }
    }
}

struct Loading {
    /// Tells one load, and the group that comes of it, from another.
    number: u64,
    written: Vec<Written>,
}

struct CachedGroup {
    hash: u64,
    /// Most of them have room inside.
    name: SmallVec<[u8; 40]>,
    /// Empty while it is loading.
    rows: Ordered,
    state: State,
    space: u8,
    used: AtomicBool,
}

impl CachedGroup {
    fn new(id: GroupId<'_>, rows: Ordered, state: State) -> CachedGroup {
        let (name, used) = (SmallVec::from_slice(id.name), AtomicBool::new(true));
        CachedGroup { hash: id.hash, name, rows, state, space: id.space, used }
    }

    fn table_hash(&self) -> u64 {
        if self.is_lagging() { lagging_hash(self.hash) } else { within_shard(self.hash) }
    }

    #[inline]
    fn is(&self, id: GroupId<'_>) -> bool {
        self.hash == id.hash && self.space == id.space && *self.name == *id.name
    }

    fn size(&self) -> usize {
        OVERHEAD_BYTES + self.name.len() + self.rows.bytes()
    }

    fn is_loading(&self) -> bool {
        matches!(self.state, State::Loading(_))
    }

    fn is_lagging(&self) -> bool {
        matches!(self.state, State::Lagging { .. })
    }

    /// Whether its keys begin within a range, or the range within its keys.
    fn overlaps(&self, space: u8, range: Range<'_>) -> bool {
        let name = &*self.name;
        self.space == space && name < range.end && (name >= range.start || range.start.starts_with(name))
    }
}

/// A lagging group has another tag in the hash table than one that commits must find, and the same place: a commit does not read
/// its entry, and a reader finds both tags in one cache line. (LPUSH of lists of which few are read: 2.3 us of CPU, 2.6 without.)
#[inline]
fn lagging_hash(hash: u64) -> u64 {
    within_shard(hash) ^ 1 << 63
}

/// What a scan finds.
pub enum Lookup<'a> {
    Following(&'a Ordered),
    Lagging,
    /// Or loading.
    Absent,
}

/// What became of a row that was written back.
pub enum WrittenBack {
    /// Its group is cached and has the row.
    Cached,
    NotCached,
    /// Its group was lagging and has grown too large. These are its rows.
    Outgrown(Ordered),
}

/// The cached groups of one shard.
#[derive(Default)]
pub struct GroupCache {
    groups: HashTable<CachedGroup>,
    /// Those that are not lagging. While there are none, commits need not look.
    followers: usize,
    last_number: u64,
    scans: ScanCounts,
    /// Large ones that have left, to be freed without the lock.
    pub dropped: Vec<Ordered>,
}

impl GroupCache {
    /// Whether commits have to be told of.
    #[inline]
    pub fn has_followers(&self) -> bool {
        self.followers > 0
    }

    #[inline]
    fn find_follower(&self, id: GroupId<'_>) -> Option<&CachedGroup> {
        self.groups.find(within_shard(id.hash), |group| group.is(id))
    }

    #[inline]
    fn find(&self, id: GroupId<'_>) -> Option<&CachedGroup> {
        self.find_follower(id).or_else(|| self.groups.find(lagging_hash(id.hash), |group| group.is(id)))
    }

    #[inline]
    pub fn lookup(&self, id: GroupId<'_>) -> Lookup<'_> {
        match self.find(id) {
            Some(CachedGroup { rows, used, state: State::Following { writes, .. }, .. }) => {
                used.store(true, Ordering::Relaxed);
                writes.store(0, Ordering::Relaxed);
                Lookup::Following(rows)
            }
            Some(group) if group.is_lagging() => Lookup::Lagging,
            _ => Lookup::Absent,
        }
    }

    /// Prefetches the entry at which a search for this hash begins.
    #[inline]
    pub fn prefetch_slot(&self, hash: u64) {
        for table_hash in [within_shard(hash), lagging_hash(hash)] {
            let _none = self.groups.find(table_hash, |group| {
                prefetch_line(group);
                false
            });
        }
    }

    /// Prefetches the rows of the group of this hash; false where there seems to be none.
    #[inline]
    pub fn prefetch_rows(&self, hash: u64) -> bool {
        let find = |table_hash| {
            self.groups.find(table_hash, |group: &CachedGroup| group.hash == hash && !group.is_loading())
        };
        let found = find(within_shard(hash)).or_else(|| find(lagging_hash(hash)));
        found.inspect(|group| group.rows.prefetch()).is_some()
    }

    /// A row that is not dirty. Some(None): its group is cached, and has no such row.
    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        if self.groups.is_empty() {
            return None;
        }
        let (id, suffix) = GroupId::of_row(space, key, hash)?;
        let group = self.find(id).filter(|group| !group.is_loading())?;
        // A store each time would take the cache line from other readers.
        if !group.used.load(Ordering::Relaxed) {
            group.used.store(true, Ordering::Relaxed);
        }
        Some(group.rows.get(suffix))
    }

    /// Whether the row cache need not hold a row as well.
    pub fn holds(&self, space: u8, key: &[u8], hash: &RowHash) -> bool {
        let found = GroupId::of_row(space, key, hash).and_then(|(id, _)| self.find(id));
        found.is_some_and(|group| !group.is_loading())
    }

    /// Whether a row is not in the row cache, since none of its group is.
    pub fn is_only_copy(&self, space: u8, key: &[u8], hash: &RowHash) -> bool {
        let found = GroupId::of_row(space, key, hash).and_then(|(id, _)| self.find_follower(id));
        found.is_some_and(|group| matches!(group.state, State::Following { is_only_copy: true, .. }))
    }

    /// The row cache has forgotten the group's rows since this load. A group of another load may have some there again.
    pub fn set_only_copy(&mut self, id: GroupId<'_>, load: u64) {
        if let Some(group) = self.groups.find_mut(within_shard(id.hash), |group| group.is(id))
            && let State::Following { number, is_only_copy, .. } = &mut group.state
            && *number == load
        {
            *is_only_copy = true;
        }
    }

    /// A row was committed.
    #[inline]
    pub fn commit(
        &mut self,
        space: u8,
        key: &[u8],
        hash: &RowHash,
        value: Option<&[u8]>,
        budget: &CacheBudget,
    ) {
        let Some((id, suffix)) = GroupId::of_row(space, key, hash) else { return };
        let found = self.groups.find_entry(within_shard(id.hash), |group| group.is(id));
        let Ok(mut found) = found else { return };
        let group = found.get_mut();
        match &mut group.state {
            State::Lagging { .. } => return,
            State::Loading(loading) => {
                loading.written.push((suffix.into(), value.map(Box::from)));
                if loading.written.len() <= MAX_WRITTEN_ROWS {
                    return;
                }
            }
            State::Following { writes, .. } => {
                let before = group.rows.bytes();
                group.rows.set(suffix, value);
                budget.change(before, group.rows.bytes());
                let writes = writes.get_mut();
                *writes = writes.saturating_add(1);
                let max_writes = match group.rows.len() {
                    0..=SMALL_ROWS => MAX_WRITES_SMALL + group.rows.len(),
                    many => MAX_WRITES + many * MAX_WRITES_PER_ROW,
                };
                if *writes as usize <= max_writes {
                    return;
                }
            }
        }
        let (mut group, _) = found.remove();
        if group.is_loading() || group.rows.len() > SMALL_ROWS || group.rows.bytes() > SMALL_BYTES {
            return self.release(group, budget);
        }
        group.state = State::Lagging { unit: 0 };
        *group.used.get_mut() = true;
        self.followers -= 1;
        self.groups.insert_unique(group.table_hash(), group, CachedGroup::table_hash);
    }

    /// A unit has written a row, or its tombstone, to the sorted data.
    pub fn written_back(
        &mut self,
        row: &Row<'_>,
        hash: &RowHash,
        by_unit: u64,
        budget: &CacheBudget,
    ) -> WrittenBack {
        let Some((id, suffix)) = GroupId::of_row(row.space, row.key, hash) else {
            return WrittenBack::NotCached;
        };
        if let Some(group) = self.find_follower(id) {
            return if group.is_loading() { WrittenBack::NotCached } else { WrittenBack::Cached };
        }
        let found = self.groups.find_entry(lagging_hash(id.hash), |group| group.is(id));
        let Ok(mut found) = found else { return WrittenBack::NotCached };
        let CachedGroup { rows, state, .. } = found.get_mut();
        if matches!(state, State::Lagging { unit } if *unit == by_unit) {
            return WrittenBack::Cached;
        }
        let before = rows.bytes();
        rows.set(suffix, row.value);
        budget.change(before, rows.bytes());
        if rows.len() <= MAX_LAGGING_ROWS && rows.bytes() <= SMALL_BYTES {
            return WrittenBack::Cached;
        }
        let (group, _) = found.remove();
        budget.change(group.size(), 0);
        WrittenBack::Outgrown(group.rows)
    }

    /// Caches all rows that the sorted data has of a group, and that this unit has written there.
    fn insert_lagging(&mut self, id: GroupId<'_>, rows: Ordered, unit: u64, budget: &CacheBudget) {
        if self.find(id).is_none() {
            self.insert(CachedGroup::new(id, rows, State::Lagging { unit }), budget);
        }
    }

    fn insert(&mut self, group: CachedGroup, budget: &CacheBudget) {
        budget.change(0, group.size());
        self.followers += usize::from(!group.is_lagging());
        self.groups.insert_unique(group.table_hash(), group, CachedGroup::table_hash);
    }

    /// A group has been taken out of the table.
    fn release(&mut self, group: CachedGroup, budget: &CacheBudget) {
        budget.change(group.size(), 0);
        self.followers -= usize::from(!group.is_lagging());
        // A load that has failed stays counted, so that it is not tried again at once.
        if !group.is_loading() {
            self.scans.reset(group.hash);
        }
        if group.rows.bytes() > SMALL_BYTES {
            self.dropped.push(group.rows);
        }
    }

    /// Adds the dirty rows to a lagging group; whether it is following now.
    pub fn catch_up<'r>(
        &mut self,
        id: GroupId<'_>,
        mut dirty: impl Iterator<Item = Row<'r>>,
        budget: &CacheBudget,
    ) -> bool {
        let found = self.groups.find_entry(lagging_hash(id.hash), |group| group.is(id));
        let Ok(found) = found else { return matches!(self.lookup(id), Lookup::Following(_)) };
        let (mut group, _) = found.remove();
        let before = group.size();
        for row in dirty.by_ref().take(MAX_CATCH_UP_ROWS) {
            group.rows.set(row.key.get(id.name.len()..).unwrap_or_default(), row.value);
        }
        budget.change(before, group.size());
        if dirty.next().is_some() {
            self.release(group, budget);
            return false;
        }
        self.last_number += 1;
        self.followers += 1;
        group.state = State::following(self.last_number);
        *group.used.get_mut() = true;
        self.groups.insert_unique(group.table_hash(), group, CachedGroup::table_hash);
        true
    }

    /// From now on what is written to the group is noted. The number of the load; None where the group is cached already.
    fn begin_load(&mut self, id: GroupId<'_>, budget: &CacheBudget) -> Option<u64> {
        if self.find(id).is_some() {
            return None;
        }
        self.last_number += 1;
        let number = self.last_number;
        let state = State::Loading(Box::new(Loading { number, written: Vec::new() }));
        self.insert(CachedGroup::new(id, Ordered::default(), state), budget);
        Some(number)
    }

    fn find_load(&mut self, id: GroupId<'_>, number: u64) -> Option<OccupiedEntry<'_, CachedGroup>> {
        let is_it = |group: &CachedGroup| {
            group.is(id) && matches!(&group.state, State::Loading(loading) if loading.number == number)
        };
        self.groups.find_entry(within_shard(id.hash), is_it).ok()
    }

    /// What was written to a loading group since this was last asked; None where the load has been dropped.
    fn take_written(&mut self, id: GroupId<'_>, number: u64) -> Option<Vec<Written>> {
        match &mut self.find_load(id, number)?.get_mut().state {
            State::Loading(loading) => Some(std::mem::take(&mut loading.written)),
            _ => None,
        }
    }

    /// Ends a load: with the group's rows, or without.
    fn end_load(&mut self, id: GroupId<'_>, number: u64, rows: Option<Ordered>, budget: &CacheBudget) {
        let Some(mut found) = self.find_load(id, number) else { return };
        let group = found.get_mut();
        let (Some(mut rows), State::Loading(loading)) = (rows, &mut group.state) else {
            let (group, _) = found.remove();
            return self.release(group, budget);
        };
        for (suffix, value) in loading.written.drain(..) {
            rows.set(&suffix, value.as_deref());
        }
        budget.change(0, rows.bytes());
        group.rows = rows;
        group.state = State::following(number);
    }

    /// One round of the clock: groups that were not used since the last one leave.
    pub fn evict(&mut self, budget: &CacheBudget) {
        let is_unused =
            |group: &mut CachedGroup| !group.is_loading() && !std::mem::replace(group.used.get_mut(), false);
        let unused: Vec<_> = self.groups.extract_if(is_unused).take(EVICT_GROUPS).collect();
        unused.into_iter().for_each(|group| self.release(group, budget));
    }

    /// Forgets the groups that have rows in a range, those that are loading too.
    pub fn forget(&mut self, space: u8, range: Range<'_>, budget: &CacheBudget) {
        let forgotten: Vec<_> = self.groups.extract_if(|group| group.overlaps(space, range)).collect();
        forgotten.into_iter().for_each(|group| self.release(group, budget));
    }

    #[cfg(test)]
    pub fn clear(&mut self, budget: &CacheBudget) {
        std::mem::take(&mut self.groups).into_iter().for_each(|group| self.release(group, budget));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: RowHash = RowHash { group: 7, key: 8, group_len: 1, groups: crate::Groups::Kept };
    const ID: GroupId<'static> = GroupId { hash: 7, space: 0, name: b"g" };

    fn load(cache: &mut GroupCache, rows: Ordered, budget: &CacheBudget) -> u64 {
        let number = cache.begin_load(ID, budget).unwrap();
        cache.end_load(ID, number, Some(rows), budget);
        number
    }

    #[test]
    fn an_entry_is_as_large_as_it_is_counted() {
        assert!(size_of::<CachedGroup>() <= OVERHEAD_BYTES * 4 / 5, "{}", size_of::<CachedGroup>());
    }

    #[test]
    fn only_what_was_cached_all_the_time_is_the_only_copy() {
        let (budget, mut cache) = (CacheBudget::default(), GroupCache::default());
        let first = load(&mut cache, Ordered::default(), &budget);
        assert!(cache.holds(0, b"gk", &HASH) && !cache.is_only_copy(0, b"gk", &HASH));
        // It leaves, clean rows come, and it is loaded again.
        cache.forget(0, Range { start: b"g", end: b"h" }, &budget);
        let second = load(&mut cache, Ordered::default(), &budget);
        cache.set_only_copy(ID, first);
        assert!(!cache.is_only_copy(0, b"gk", &HASH));
        cache.set_only_copy(ID, second);
        assert!(cache.is_only_copy(0, b"gk", &HASH));
    }

    #[test]
    fn what_is_only_written_to_lags_if_it_is_small() {
        for (value_len, lags) in [(100, true), (SMALL_BYTES, false)] {
            let (budget, mut cache) = (CacheBudget::default(), GroupCache::default());
            let mut rows = Ordered::default();
            rows.push_last(b"k", &vec![1; value_len]);
            load(&mut cache, rows, &budget);
            assert!(cache.has_followers());
            for number in 0..100 {
                cache.commit(0, b"gl", &HASH, Some(&[number]), &budget);
            }
            assert!(!cache.has_followers());
            assert_eq!(cache.find(ID).is_some_and(CachedGroup::is_lagging), lags);
            assert_eq!(cache.dropped.len(), usize::from(!lags), "it is freed without a lock");
            cache.clear(&budget);
            assert_eq!((budget.used(), cache.followers), (0, 0));
        }
    }

    #[test]
    fn followers_are_counted_through_every_change_of_state() {
        let (budget, mut cache) = (CacheBudget::default(), GroupCache::default());
        let number = cache.begin_load(ID, &budget).unwrap();
        assert!(cache.has_followers() && cache.begin_load(ID, &budget).is_none());
        cache.end_load(ID, number, None, &budget);
        assert_eq!((cache.followers, budget.used()), (0, 0));
        cache.insert_lagging(ID, Ordered::default(), 1, &budget);
        assert!(!cache.has_followers());
        assert!(cache.catch_up(ID, std::iter::empty(), &budget) && cache.has_followers());
        // The first round of the clock only clears the mark of use.
        for left in [1, 0] {
            cache.evict(&budget);
            assert_eq!(cache.followers, left);
        }
        // Nothing comes of a load whose group was forgotten, whatever has begun since.
        let number = cache.begin_load(ID, &budget).unwrap();
        cache.forget(0, Range { start: b"g", end: b"h" }, &budget);
        let other = cache.begin_load(ID, &budget).unwrap();
        assert!(cache.take_written(ID, number).is_none());
        cache.end_load(ID, number, Some(Ordered::default()), &budget);
        assert!(cache.take_written(ID, other).is_some() && cache.followers == 1);
        // Neither does one that commits outrun.
        for _ in 0..=MAX_WRITTEN_ROWS {
            cache.commit(0, b"gk", &HASH, None, &budget);
        }
        assert_eq!((cache.followers, budget.used()), (0, 0));
    }
}
