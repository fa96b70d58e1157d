//! A unit's rows in the order in which the sorted data takes them.

// Numbers of tables are made here.
#![allow(clippy::indexing_slicing)]

use std::cmp::Ordering;
use std::sync::Arc;

use super::store::Store;
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
    rest: u64,
    /// Tables of newer sets have smaller numbers.
    table: u32,
    at: RowAt,
}

pub struct SortedRows<'a> {
    tables: Vec<&'a Table>,
    /// The newest row of each key.
    pub spaces: Vec<Vec<Sorted>>,
}

impl<'a> SortedRows<'a> {
    pub fn of(sets: &'a [Arc<TableSet>], spaces: usize) -> SortedRows<'a> {
        let tables = sets.iter().rev().flat_map(|set| set.tables()).map(|(_, table)| &**table).collect();
        let mut sorted = SortedRows { tables, spaces: (0..spaces).map(|_| Vec::new()).collect() };
        for (number, table) in (0..).zip(&sorted.tables) {
            for (at, row) in table.iter() {
                if let Some(rows) = sorted.spaces.get_mut(usize::from(row.space)) {
                    let (group, rest) = row.key.split_at_checked(row.group_len).unwrap_or((row.key, &[]));
                    let hash = rapidhash::v3::rapidhash_v3(group);
                    rows.push(Sorted {
                        prefix: first_bytes(row.key),
                        group: hash,
                        rest: first_bytes(rest),
                        table: number,
                        at,
                    });
                }
            }
        }
        let mut unsorted = std::mem::take(&mut sorted.spaces);
        for rows in &mut unsorted {
            rows.sort_unstable_by(|a, b| sorted.by_hash(a, b));
            // Hashes of two groups may be the same, by accident or on purpose.
            if !rows.is_sorted_by(|a, b| sorted.by_key(a, b) != Ordering::Greater) {
                rows.sort_unstable_by(|a, b| sorted.by_key(a, b));
            }
            if sets.len() > 1 {
                rows.dedup_by(|later, kept| {
                    later.rest == kept.rest && sorted.row(later).key == sorted.row(kept).key
                });
            }
        }
        sorted.spaces = unsorted;
        sorted
    }

    pub fn row(&self, sorted: &Sorted) -> Row<'a> {
        self.tables[sorted.table as usize].row(sorted.at)
    }

    fn by_hash(&self, a: &Sorted, b: &Sorted) -> Ordering {
        let first = a.prefix.cmp(&b.prefix);
        let first = if first == Ordering::Equal && a.group == b.group { a.rest.cmp(&b.rest) } else { first };
        first.then_with(|| self.by_key(a, b))
    }

    fn by_key(&self, a: &Sorted, b: &Sorted) -> Ordering {
        self.row(a).key.cmp(self.row(b).key).then(a.table.cmp(&b.table))
    }

    /// Forgets tombstones of groups that have no row in the sorted data, as of a list that was filled and emptied since the last
    /// unit. Older units are in the sorted data already, so nothing else can hold what they would delete.
    pub fn drop_needless(&mut self, store: &Store) {
        let mut spaces = std::mem::take(&mut self.spaces);
        for (space, rows) in (0..).map(Space).zip(&mut spaces) {
            let mut needless: Vec<std::ops::Range<usize>> = Vec::new();
            let mut from = 0;
            for run in rows.chunk_by(|a, b| a.group == b.group && a.prefix == b.prefix) {
                let group = from..from + run.len();
                from = group.end;
                let deleted = || run.iter().filter(|row| self.row(row).value.is_none()).take(WORTH_ASKING);
                let Some(first) = run.first().filter(|_| run.len() >= WORTH_ASKING) else { continue };
                if deleted().count() < WORTH_ASKING {
                    continue;
                }
                let first = self.row(first);
                let prefix = first.key.get(..first.group_len).unwrap_or_default();
                let is_one = run.iter().all(|row| self.row(row).is_in(space.0, prefix));
                if is_one && !store.may_hold(space, prefix) {
                    needless.push(group);
                }
            }
            let mut needless = needless.into_iter().peekable();
            let mut index = 0;
            rows.retain(|row| {
                needless.next_if(|group| group.end <= index);
                let is_needless = needless.peek().is_some_and(|group| group.contains(&index));
                index += 1;
                !is_needless || self.row(row).value.is_some()
            });
        }
        self.spaces = spaces;
    }
}

/// The first eight bytes as a number that sorts as they do.
fn first_bytes(key: &[u8]) -> u64 {
    let mut prefix = [0; 8];
    for (to, from) in prefix.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(prefix)
}
