//! A unit's rows in the order in which the sorted data takes them.

// Numbers of tables are made here.
#![allow(clippy::indexing_slicing)]

use std::cmp::Ordering;
use std::sync::Arc;

use rapidhash::RapidHashMap;

use super::abandoned::Abandoned;
use super::ordered::head_of;
use super::store::{Holder, Store};
use super::table::Table;
use super::table::arena::{Row, RowAt};
use super::table::set::TableSet;
use crate::Space;

/// Tombstones of one group from which on it is worth asking whether there is anything to delete.
const WORTH_ASKING: usize = 4;

/// One row, with what decides most comparisons so that they need not look at it: rows of one group have a long
/// beginning in common, rows of different ones seldom.
pub struct Sorted {
    /// The key's first bytes.
    prefix: u64,
    /// A hash of the group.
    group: u64,
    /// The first bytes behind the group.
    suffix: u64,
    /// Tables of newer sets have smaller numbers.
    table: u32,
    at: RowAt,
}

impl Sorted {
    /// Whether the next row seems to be of the same group.
    pub fn is_beside(&self, next: &Sorted) -> bool {
        self.group == next.group
    }
}

pub struct SortedRows<'a> {
    tables: Vec<&'a Table>,
    /// The newest row of each key.
    pub spaces: Vec<Vec<Sorted>>,
}

/// The tombstones of one group, or of several that have the same hash.
struct Deleted<'a> {
    group: &'a [u8],
    rows: usize,
    is_one: bool,
}

impl Deleted<'_> {
    /// Whether nothing of the group is in the sorted data, as of a list that was filled and emptied since the last unit.
    /// Older units are in the sorted data already, so nothing else can hold what the tombstones would delete.
    fn is_needless(&self, holder: Option<&mut Holder<'_>>) -> bool {
        self.is_one && self.rows >= WORTH_ASKING && holder.is_some_and(|holder| !holder.may_hold(self.group))
    }
}

impl<'a> SortedRows<'a> {
    /// What the list takes.
    pub fn bytes(&self) -> usize {
        self.spaces.iter().map(|rows| rows.capacity() * size_of::<Sorted>()).sum()
    }

    /// The rows of these sets, without tombstones for which there is nothing in the sorted data, and without what is
    /// abandoned.
    pub fn of(
        sets: &'a [Arc<TableSet>],
        spaces: usize,
        store: &Store,
        abandoned: &Abandoned,
    ) -> SortedRows<'a> {
        let tables: Vec<&Table> =
            sets.iter().rev().flat_map(|set| set.tables()).map(|(_, table)| &**table).collect();
        // Counted first: a list that grows as it is filled would take up to three times its room.
        let mut counts = vec![0; spaces];
        for (_, row) in tables.iter().flat_map(|table| table.iter()) {
            counts.get_mut(usize::from(row.space)).into_iter().for_each(|count| *count += 1);
        }
        let mut sorted = SortedRows { tables, spaces: counts.into_iter().map(Vec::with_capacity).collect() };
        let mut deleted: Vec<RapidHashMap<u64, Deleted<'_>>> =
            (0..spaces).map(|_| RapidHashMap::default()).collect();
        // The tombstones of one set may hide rows of an older one: then they are needed.
        let may_drop = sets.len() == 1;
        for (number, table) in (0..).zip(&sorted.tables) {
            for (at, row) in table.iter() {
                let index = usize::from(row.space);
                let (Some(rows), Some(deleted)) = (sorted.spaces.get_mut(index), deleted.get_mut(index))
                else {
                    continue;
                };
                if abandoned.has(&row) {
                    continue;
                }
                let (group, suffix) = row.key.split_at_checked(row.group_len).unwrap_or((row.key, &[]));
                let hash = rapidhash::v3::rapidhash_v3(group);
                if may_drop && row.value.is_none() {
                    let deleted = deleted.entry(hash).or_insert(Deleted { group, rows: 0, is_one: true });
                    deleted.rows += 1;
                    deleted.is_one &= deleted.group == group;
                }
                let (prefix, suffix) = (head_of(row.key), head_of(suffix));
                rows.push(Sorted { prefix, group: hash, suffix, table: number, at });
            }
        }
        let mut spaces = std::mem::take(&mut sorted.spaces);
        for ((space, rows), mut deleted) in (0..).map(Space).zip(&mut spaces).zip(deleted) {
            if !deleted.is_empty() {
                let mut holder = store.holder(space).ok();
                deleted.retain(|_, deleted| deleted.is_needless(holder.as_mut()));
            }
            if !deleted.is_empty() {
                rows.retain(|row| !deleted.contains_key(&row.group) || sorted.row(row).value.is_some());
            }
            sorted.sort(rows, sets.len() > 1);
        }
        sorted.spaces = spaces;
        sorted
    }

    pub fn row(&self, sorted: &Sorted) -> Row<'a> {
        self.tables[sorted.table as usize].row(sorted.at)
    }

    /// The group of neighbouring rows, if it is one.
    pub fn group_of(&self, run: &[Sorted]) -> Option<&'a [u8]> {
        let (first, last) = (self.row(run.first()?), self.row(run.last()?));
        let group = first.key.get(..first.group_len)?;
        // Between two of its rows there are no others.
        last.is_in(first.space, group).then_some(group)
    }

    fn sort(&self, rows: &mut Vec<Sorted>, has_older: bool) {
        rows.sort_unstable_by(|a, b| {
            let first = a.prefix.cmp(&b.prefix);
            let is_decided = first != Ordering::Equal || a.group != b.group;
            let first = if is_decided { first } else { a.suffix.cmp(&b.suffix) };
            first.then_with(|| self.by_key(a, b))
        });
        // Two groups may have the same hash, by accident or on purpose.
        if !rows.is_sorted_by(|a, b| self.by_key(a, b) != Ordering::Greater) {
            rows.sort_unstable_by(|a, b| self.by_key(a, b));
        }
        if has_older {
            rows.dedup_by(|later, kept| {
                later.suffix == kept.suffix && self.row(later).key == self.row(kept).key
            });
        }
    }

    fn by_key(&self, a: &Sorted, b: &Sorted) -> Ordering {
        self.row(a).key.cmp(self.row(b).key).then(a.table.cmp(&b.table))
    }
}
