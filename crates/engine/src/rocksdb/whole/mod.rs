//! Groups kept whole: all rows of a group, in order, in memory. A group that is scanned again and again is gathered
//! once; from then on commits keep it true, and scans of it (and reads of single rows, absent ones too) ask nobody else.
//!
//! They share the budget of the clean rows and leave by the same clock; one that is only written to leaves at once.

mod complete;
mod gather;
mod resting;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hashbrown::HashTable;
use smallvec::SmallVec;

pub use self::gather::{Copied, Gatherer};
use self::resting::Resting;
pub use self::resting::TakenIn;
use super::cache::CacheBudget;
use super::hash::{RowHash, prefetch_line};
use super::ordered::Ordered;
use crate::Range;

/// A scan gathers the group that it meets, if that is this small: finding the first row is most of the work.
const TINY_ROWS: usize = 128;
/// A group that has been scanned before may have more: after so many scans, so many rows.
const SMALL_ROWS: [(u32, usize); 2] = [(2, 256), (4, 1024)];
const SMALL_BYTES: usize = 128 << 10;
/// A larger one is gathered aside when it has been scanned this often, and again if that came to nothing.
const LARGE_SCANS: [u32; 2] = [8, 128];
/// Where counting goes on from there.
const MOST_SCANS: u32 = 0xfe;
const FEWER_SCANS: u32 = 9;
/// In the place of a count: the group is too large.
const GIVEN_UP: u32 = 0xff;
/// The largest, as a share of the budget.
const LARGEST_SHARE: usize = 4;
/// Rows written to a group while it is gathered, since they were last taken in or waiting to be; when there are more the gathering
/// is for nothing.
const MAX_MEANWHILE: usize = 1 << 16;
const MAX_LATER: usize = 1 << 20;
/// A group is not kept for writes alone: this many of them, and so many times its rows, without a scan between. One
/// that was worth gathering is filled and emptied in turn.
const IDLE_WRITES: usize = 64;
const IDLE_TIMES: usize = 4;
/// A small one rests sooner: it is soon awake again.
const TINY_IDLE_WRITES: usize = 16;
/// Groups whose scans a shard counts, about.
const COUNTED: usize = 1024;
/// A group with its share of the table.
const WHOLE_OVERHEAD_BYTES: usize = 200;

/// A row that was written while its group was gathered; the key is without the group.
struct Meanwhile {
    key: Box<[u8]>,
    value: Option<Box<[u8]>>,
}

/// What is written to a large group while it is gathered, taken in on the way.
#[derive(Default)]
struct Later {
    /// Behind the last row that was gathered. A scan has read ahead, and may have missed them.
    rows: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
}

impl Later {
    /// `rows` are gathered up to, and with, the key `last`.
    fn take_in(&mut self, written: Vec<Meanwhile>, rows: &mut Ordered, last: &[u8]) {
        for Meanwhile { key, value } in written {
            self.rows.insert(key, value);
        }
        while let Some(first) = self.rows.first_entry().filter(|first| &**first.key() <= last) {
            let (key, value) = first.remove_entry();
            rows.set(&key, value.as_deref());
        }
    }

    fn end(self, rows: &mut Ordered) {
        for (key, value) in self.rows {
            rows.set(&key, value.as_deref());
        }
    }
}

enum State {
    Gathering { meanwhile: Vec<Meanwhile> },
    Ready(Ordered),
}

/// Beside its whole, where most of them have room.
type Group = SmallVec<[u8; 40]>;

struct Whole {
    hash: u64,
    space: u8,
    group: Group,
    /// Tells one gathering, and what came of it, from another.
    number: u64,
    state: State,
    used: AtomicBool,
    /// Since the last scan.
    writes: AtomicU32,
    /// None of its rows is remembered as a clean one as well.
    is_alone: bool,
}

impl Whole {
    fn is(&self, hash: u64, space: u8, group: &[u8]) -> bool {
        self.hash == hash && self.space == space && *self.group == *group
    }

    fn size(&self) -> usize {
        match &self.state {
            State::Gathering { .. } => WHOLE_OVERHEAD_BYTES + self.group.len(),
            State::Ready(rows) => whole_size(&self.group, rows),
        }
    }

    fn is_idle(&self) -> bool {
        match &self.state {
            State::Gathering { .. } => false,
            State::Ready(rows) => {
                let writes = self.writes.load(Ordering::Relaxed) as usize;
                match rows.len() {
                    0..=TINY_ROWS => writes > TINY_IDLE_WRITES + rows.len(),
                    many => writes > IDLE_WRITES + many * IDLE_TIMES,
                }
            }
        }
    }
}

fn whole_size(group: &Group, rows: &Ordered) -> usize {
    WHOLE_OVERHEAD_BYTES + group.len() + rows.bytes()
}

/// Whether a group has keys in a range. They begin with it: the least is the group itself.
fn touches(group: &[u8], range: Range<'_>) -> bool {
    group < range.end && (group >= range.start || range.start.starts_with(group))
}

/// What is to be done about a group that is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    Nothing,
    /// Gathering it here, if it has no more rows than these.
    Here(usize),
    /// Gathering it aside.
    Aside,
}

/// One shard's groups.
#[derive(Default)]
pub struct Wholes {
    list: HashTable<Whole>,
    pub resting: Resting,
    /// How often groups that are not whole were scanned: the upper bits of a hash and a count.
    counted: Box<[AtomicU32]>,
    last_number: u64,
    /// Large ones that have left, to be freed without a lock.
    pub gone: Vec<Ordered>,
}

impl Wholes {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The rows of a group that is whole, for a scan.
    #[inline]
    pub fn find(&self, hash: u64, space: u8, group: &[u8]) -> Option<&Ordered> {
        let whole = self.list.find(hash, |whole| whole.is(hash, space, group))?;
        let State::Ready(rows) = &whole.state else { return None };
        whole.used.store(true, Ordering::Relaxed);
        whole.writes.store(0, Ordering::Relaxed);
        Some(rows)
    }

    /// Brings what a search for a group of this hash comes to first closer.
    #[inline]
    pub fn expect(&self, hash: u64) {
        let _none = self.list.find(hash, |whole| {
            prefetch_line(whole);
            false
        });
        self.resting.expect(hash);
    }

    /// Brings the rows of the group of this hash closer, if one seems to be here.
    #[inline]
    pub fn prefetch(&self, hash: u64) -> bool {
        let rows = match self.list.find(hash, |whole| whole.hash == hash) {
            Some(Whole { state: State::Ready(rows), .. }) => Some(rows),
            _ => self.resting.find_hash(hash),
        };
        if let Some(rows) = rows {
            rows.prefetch();
        }
        rows.is_some()
    }

    /// A row that is not dirty. Some(None): the group is in memory, and the row is not in it.
    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        self.get_awake(space, key, hash).or_else(|| self.resting.get(space, key, hash))
    }

    #[inline]
    fn get_awake(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        if self.list.is_empty() {
            return None;
        }
        let (group, rest) = key.split_at_checked(hash.group_len)?;
        let whole = self.list.find(hash.group, |whole| whole.is(hash.group, space, group))?;
        let State::Ready(rows) = &whole.state else { return None };
        if !whole.used.load(Ordering::Relaxed) {
            whole.used.store(true, Ordering::Relaxed);
        }
        Some(rows.get(rest))
    }

    /// Whether a row need not be remembered as a clean one.
    pub fn holds(&self, space: u8, key: &[u8], hash: &RowHash) -> bool {
        key.get(..hash.group_len).is_some_and(|group| {
            self.list
                .find(hash.group, |whole| whole.is(hash.group, space, group))
                .is_some_and(|whole| matches!(whole.state, State::Ready(_)))
                || self.resting.has(hash.group, space, group)
        })
    }

    /// Whether nothing at all is to be done about the clean row: none of the group's is remembered.
    pub fn holds_alone(&self, space: u8, key: &[u8], hash: &RowHash) -> bool {
        !self.list.is_empty()
            && key.get(..hash.group_len).is_some_and(|group| {
                self.list
                    .find(hash.group, |whole| whole.is(hash.group, space, group))
                    .is_some_and(|whole| whole.is_alone)
            })
    }

    /// The clean rows of a group have been forgotten since it became whole. If it was not all the time, some may have come
    /// meanwhile, and it has another number.
    fn set_alone(&mut self, hash: u64, space: u8, group: &[u8], number: u64) {
        let found = self.list.find_mut(hash, |whole| whole.number == number && whole.is(hash, space, group));
        if let Some(whole) = found {
            whole.is_alone = matches!(whole.state, State::Ready(_));
        }
    }

    /// Counts a scan of a group that is not whole.
    pub fn count_scan(&self, hash: u64) -> Worth {
        let Some(counter) = self.counted.get((hash >> 40) as usize % COUNTED) else {
            return Worth::Nothing;
        };
        let tag = (hash as u32) & !0xff;
        let before = counter.load(Ordering::Relaxed);
        let scans = match before & 0xff {
            _ if before & !0xff != tag => 1,
            GIVEN_UP => return Worth::Nothing,
            MOST_SCANS => FEWER_SCANS,
            scans => scans + 1,
        };
        // Scans at the same time may count as one.
        counter.store(tag | scans, Ordering::Relaxed);
        match scans {
            1 => Worth::Here(TINY_ROWS),
            scans if LARGE_SCANS.contains(&scans) => Worth::Aside,
            scans => {
                let small = SMALL_ROWS.iter().find(|(after, _)| *after == scans);
                small.map_or(Worth::Nothing, |(_, rows)| Worth::Here(*rows))
            }
        }
    }

    /// A group that turned out to be too large is not gathered again before long.
    fn give_up(&self, hash: u64) {
        if let Some(counter) = self.counted.get((hash >> 40) as usize % COUNTED) {
            counter.store(((hash as u32) & !0xff) | GIVEN_UP, Ordering::Relaxed);
        }
    }

    /// A group that could not be gathered stays counted; one that was whole begins anew.
    fn count_anew(&self, hash: u64) {
        if let Some(counter) = self.counted.get((hash >> 40) as usize % COUNTED) {
            counter.store(0, Ordering::Relaxed);
        }
    }

    /// Whether scans are counted yet; it takes a write to begin with it.
    pub fn counts(&self) -> bool {
        !self.counted.is_empty()
    }

    pub fn begin_counting(&mut self) {
        if self.counted.is_empty() {
            self.counted = (0..COUNTED).map(|_| AtomicU32::new(0)).collect();
        }
    }

    /// A committed row.
    #[inline]
    pub fn commit(
        &mut self,
        space: u8,
        key: &[u8],
        hash: &RowHash,
        value: Option<&[u8]>,
        budget: &CacheBudget,
    ) {
        let Some((group, rest)) = key.split_at_checked(hash.group_len) else { return };
        let Ok(mut found) = self.list.find_entry(hash.group, |whole| whole.is(hash.group, space, group))
        else {
            return;
        };
        let whole = found.get_mut();
        *whole.writes.get_mut() = whole.writes.get_mut().saturating_add(1);
        let is_for_nothing = match &mut whole.state {
            State::Gathering { meanwhile } => {
                meanwhile.push(Meanwhile { key: rest.into(), value: value.map(Box::from) });
                meanwhile.len() > MAX_MEANWHILE
            }
            State::Ready(rows) => {
                let before = rows.bytes();
                rows.set(rest, value);
                budget.change(before, rows.bytes());
                whole.is_idle()
            }
        };
        if is_for_nothing {
            let (whole, _) = found.remove();
            self.leave(whole, budget);
        }
    }

    /// A small group that is written to and not scanned stays, where it costs the writer nothing.
    fn leave(&mut self, whole: Whole, budget: &CacheBudget) {
        match whole.state {
            State::Ready(rows) if rows.len() <= TINY_ROWS && rows.bytes() <= SMALL_BYTES => {
                budget.change(whole_size(&whole.group, &rows), 0);
                self.resting.insert((whole.hash, whole.space, whole.group), rows, None, budget);
            }
            _ => self.let_go(whole, budget),
        }
    }

    fn let_go(&mut self, whole: Whole, budget: &CacheBudget) {
        budget.change(whole.size(), 0);
        self.count_anew(whole.hash);
        if let State::Ready(rows) = whole.state
            && rows.bytes() > SMALL_BYTES
        {
            self.gone.push(rows);
        }
    }

    /// All rows that the sorted data has of a group. If it is whole already, or being gathered, it stays so.
    fn rest(
        &mut self,
        (hash, space, group): (u64, u8, &[u8]),
        rows: Ordered,
        unit: u64,
        budget: &CacheBudget,
    ) {
        let is_known = self.list.find(hash, |whole| whole.is(hash, space, group)).is_some();
        if !is_known && !self.resting.has(hash, space, group) {
            self.resting.insert((hash, space, Group::from_slice(group)), rows, Some(unit), budget);
        }
    }

    /// All rows of a group that rested.
    pub fn wake(&mut self, hash: u64, space: u8, group: &[u8], rows: Ordered, budget: &CacheBudget) {
        if let Some(number) = self.begin(hash, space, group, budget) {
            self.end(hash, space, group, number, Some(rows), budget);
        }
    }

    /// From now on what is written to the group is noted; the number to end it with. None when somebody gathers it already.
    fn begin(&mut self, hash: u64, space: u8, group: &[u8], budget: &CacheBudget) -> Option<u64> {
        let is_known = self.list.find(hash, |whole| whole.is(hash, space, group)).is_some();
        if is_known || self.resting.has(hash, space, group) {
            return None;
        }
        self.last_number += 1;
        let number = self.last_number;
        let state = State::Gathering { meanwhile: Vec::new() };
        let (used, writes) = (AtomicBool::new(true), AtomicU32::new(0));
        let whole = Whole {
            hash,
            space,
            group: Group::from_slice(group),
            number,
            state,
            used,
            writes,
            is_alone: false,
        };
        budget.change(0, whole.size());
        self.list.insert_unique(hash, whole, |whole| whole.hash);
        Some(number)
    }

    /// What was written to a group since this was last asked; None where the gathering has come to nothing.
    fn take_meanwhile(&mut self, hash: u64, space: u8, group: &[u8], number: u64) -> Option<Vec<Meanwhile>> {
        let whole = self.list.find_mut(hash, |whole| whole.is(hash, space, group))?;
        match &mut whole.state {
            State::Gathering { meanwhile } if whole.number == number => Some(std::mem::take(meanwhile)),
            _ => None,
        }
    }

    /// Ends a gathering: with the group's rows, or without.
    fn end(
        &mut self,
        hash: u64,
        space: u8,
        group: &[u8],
        number: u64,
        rows: Option<Ordered>,
        budget: &CacheBudget,
    ) {
        let found = self.list.find_entry(hash, |whole| {
            let is_gathered = matches!(whole.state, State::Gathering { .. });
            is_gathered && whole.number == number && whole.is(hash, space, group)
        });
        let Ok(mut found) = found else { return };
        let Some(mut rows) = rows else {
            let (whole, _) = found.remove();
            budget.change(whole.size(), 0);
            return;
        };
        let whole = found.get_mut();
        let before = whole.size();
        if let State::Gathering { meanwhile } = &whole.state {
            for row in meanwhile {
                rows.set(&row.key, row.value.as_deref());
            }
        }
        whole.state = State::Ready(rows);
        budget.change(before, whole.size());
    }

    /// One round of the clock: those not used since the last one go.
    pub fn evict(&mut self, budget: &CacheBudget) {
        let unused = |whole: &mut Whole| {
            matches!(whole.state, State::Ready(_)) && !std::mem::replace(whole.used.get_mut(), false)
        };
        let unused: Vec<Whole> = self.list.extract_if(unused).collect();
        for whole in unused {
            self.let_go(whole, budget);
        }
        self.resting.evict(budget);
    }

    /// Forgets the groups that have rows in a range, those being gathered too.
    pub fn forget(&mut self, space: u8, range: Range<'_>, budget: &CacheBudget) {
        let touched = |whole: &mut Whole| whole.space == space && touches(&whole.group, range);
        let touched: Vec<Whole> = self.list.extract_if(touched).collect();
        for whole in touched {
            self.let_go(whole, budget);
        }
        self.resting.forget(space, range, budget);
    }

    #[cfg(test)]
    pub fn clear(&mut self, budget: &CacheBudget) {
        for whole in std::mem::take(&mut self.list) {
            self.let_go(whole, budget);
        }
        self.resting.clear(budget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_whole_all_the_time_is_alone() {
        let (budget, mut wholes) = (CacheBudget::default(), Wholes::default());
        let hash = RowHash { group: 7, key: 8, group_len: 1, groups: crate::Groups::Kept };
        let gather = |wholes: &mut Wholes| {
            let number = wholes.begin(hash.group, 0, b"g", &budget).unwrap();
            wholes.end(hash.group, 0, b"g", number, Some(Ordered::default()), &budget);
            number
        };
        let first = gather(&mut wholes);
        assert!(wholes.holds(0, b"gk", &hash) && !wholes.holds_alone(0, b"gk", &hash));
        // It leaves, clean rows come, and it is gathered again.
        wholes.forget(0, Range { start: b"g", end: b"h" }, &budget);
        let second = gather(&mut wholes);
        wholes.set_alone(hash.group, 0, b"g", first);
        assert!(!wholes.holds_alone(0, b"gk", &hash));
        wholes.set_alone(hash.group, 0, b"g", second);
        assert!(wholes.holds_alone(0, b"gk", &hash));
    }

    #[test]
    fn what_is_only_written_to_rests_if_it_is_small() {
        let hash = RowHash { group: 7, key: 8, group_len: 1, groups: crate::Groups::Kept };
        for (value_len, rests) in [(100, true), (SMALL_BYTES, false)] {
            let (budget, mut wholes) = (CacheBudget::default(), Wholes::default());
            let mut rows = Ordered::default();
            rows.push_last(b"k", &vec![1; value_len]);
            wholes.wake(hash.group, 0, b"g", rows, &budget);
            for number in 0..100 {
                wholes.commit(0, b"gl", &hash, Some(&[number]), &budget);
            }
            assert!(wholes.is_empty());
            assert_eq!(wholes.resting.has(hash.group, 0, b"g"), rests);
            assert_eq!(wholes.gone.len(), usize::from(!rests), "it is freed without a lock");
            wholes.clear(&budget);
            assert_eq!(budget.used(), 0);
        }
    }
}
