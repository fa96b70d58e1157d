//! A hash table of dirty rows over an arena, with the rows of one group chained.
//!
//! An ordered table would cost more than all else that a write does. So order is made by scans: short
//! chains are sorted by each scan, long ones get an ordered index that later inserts maintain. Only groups that are
//! always read in order, such as queues, get the index from the writer.

pub mod arena;
mod huge;
pub mod order;
pub mod rows;
pub mod set;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use self::arena::{Arena, NewRow, Row, RowAt};
use self::order::{CHAIN_LIMIT, Orders};
use self::slots::{Place, Slots};
use super::hash::{GroupId, RowHash};
use crate::Groups;

/// Hash slots of a row and of its share of groups, at the usual fill.
const ROW_OVERHEAD_BYTES: usize = 32;

#[derive(Default)]
pub struct Table {
    arena: Arena,
    rows: Slots,
    /// The newest row of each chain. Groups whose hashes collide share a chain, so that an insert need not look at
    /// another row; whoever walks a chain looks at its rows anyway.
    groups: Slots,
    orders: Orders,
    /// Long groups that a scan had sorted after the table was sealed, by space and group.
    sorted: Mutex<HashMap<(u8, Box<[u8]>), Arc<[RowAt]>>>,
    has_sorted: AtomicBool,
    /// Held while one of them is sorted.
    sorting: Mutex<()>,
    bytes: usize,
}

impl Table {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it takes beyond [`Table::bytes`]: room for rows that are to come.
    pub fn spare_bytes(&self) -> usize {
        let allocated =
            self.arena.allocated_bytes() + self.rows.allocated_bytes() + self.groups.allocated_bytes();
        allocated.saturating_sub(self.bytes)
    }

    #[inline]
    pub fn row(&self, at: RowAt) -> Row<'_> {
        self.arena.row(at)
    }

    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Row<'_>> {
        let at = self.rows.find(hash.key as u32, |at| self.arena.is_row_of(at, space, key))?;
        Some(self.arena.row(at))
    }

    /// Prefetches the slot at which a search for this hash begins.
    #[inline]
    pub fn prefetch_slot(&self, key_hash: u64) {
        self.rows.prefetch(key_hash as u32);
    }

    /// Where its slots are, and how many places they have.
    #[inline]
    pub fn slots_at(&self) -> (usize, usize) {
        self.rows.places_at()
    }

    /// As [`Table::prefetch_slot`] for a table that has, or had, its slots there.
    #[inline]
    pub fn prefetch_slot_at(slots: (usize, usize), key_hash: u64) {
        Slots::prefetch_at(slots, key_hash as u32);
    }

    /// Prefetches the row of this hash; false where there seems to be none.
    #[inline]
    pub fn prefetch_row(&self, key_hash: u64) -> bool {
        let found = self.rows.find(key_hash as u32, |_| true);
        if let Some(at) = found {
            self.arena.prefetch(at);
        }
        found.is_some()
    }

    /// Sets a row; the bytes by which the table grew.
    #[inline]
    pub fn set(&mut self, space: u8, key: &[u8], hash: &RowHash, value: Option<&[u8]>) -> usize {
        let Table { arena, rows, groups, orders, bytes, .. } = self;
        let key_hash = hash.key as u32;
        let place = rows.entry(key_hash, |at| arena.is_row_of(at, space, key));
        let mut new = NewRow { space, key, value, group_len: hash.group_len, slack: 0, depth: 0 };
        let mut grown = 0;
        let old = match place {
            Place::Taken(taken) => {
                let at = rows.at(taken);
                if arena.replace_value(at, value) {
                    return 0;
                }
                // A value that grew will grow again.
                new.slack = value.map_or(0, |value| value.len() / 2);
                Some(at)
            }
            Place::Free(_) => {
                grown += ROW_OVERHEAD_BYTES;
                None
            }
        };

        let group_hash = hash.group as u32;
        let group = groups.entry(group_hash, |_| true);
        let next = match group {
            Place::Taken(taken) => groups.at(taken),
            Place::Free(_) => RowAt::NONE,
        };
        if hash.groups == Groups::Ordered && next != RowAt::NONE {
            new.depth = arena.depth(next).saturating_add(1);
        }
        let (at, size) = arena.push(new, next);
        grown += size;
        groups.put(group, group_hash, at);
        rows.put(place, key_hash, at);
        if let Some(old) = old {
            arena.mark_dead(old);
        }
        if !orders.is_empty() {
            grown += orders.insert(space, key, hash, at);
        }
        *bytes += grown;
        if usize::from(new.depth) == CHAIN_LIMIT
            && let Some((id, _)) = GroupId::of_row(space, key, hash)
        {
            grown += self.order_group(id);
        }
        grown
    }

    /// The newest row of the group's chain.
    pub fn head(&self, id: GroupId<'_>) -> RowAt {
        self.groups.find(id.hash as u32, |_| true).unwrap_or(RowAt::NONE)
    }

    /// The group's rows and where they are, in no order.
    fn chain<'t>(&'t self, id: GroupId<'t>) -> impl Iterator<Item = (RowAt, Row<'t>)> {
        let mut at = self.head(id);
        std::iter::from_fn(move || {
            while at != RowAt::NONE {
                let (here, row) = (at, self.arena.row(at));
                at = row.next;
                if !row.is_dead && row.is_in(id.space, id.name) {
                    return Some((here, row));
                }
            }
            None
        })
    }

    /// The group's rows, in no order.
    pub fn rows_of<'t>(&'t self, id: GroupId<'t>) -> impl Iterator<Item = Row<'t>> {
        self.chain(id).map(|(_, row)| row)
    }

    /// All rows, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (RowAt, Row<'_>)> {
        self.arena.iter()
    }
}
