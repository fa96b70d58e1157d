//! A hash table of dirty rows over an arena, with the rows of one group chained.
//!
//! An ordered table would cost more than the whole way of a write. So order is made when a scan asks for it: short
//! chains are sorted by the scan, long ones get an ordered index that later inserts maintain.

pub mod arena;
pub mod order;
pub mod rows;
pub mod set;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;

use self::arena::{Arena, NewRow, Row, RowAt};
use self::order::Orders;
use super::hash::RowHash;

/// Hash slots of a row and of its share of groups, at the usual fill.
const ROW_OVERHEAD_BYTES: usize = 28;

/// A row's address with 32 bits of its hash, so that growing and most misses do not touch the arena.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    at: RowAt,
}

#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[derive(Default)]
pub struct Table {
    arena: Arena,
    rows: HashTable<Slot>,
    /// The newest row of each chain. Groups whose hashes collide share a chain, so that an insert need not look at
    /// another row; whoever walks a chain looks at its rows anyway.
    groups: HashTable<Slot>,
    orders: Orders,
    /// Long groups that a scan had sorted after the table was sealed, by space and group.
    sorted: Mutex<HashMap<(u8, Box<[u8]>), Arc<[RowAt]>>>,
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
        self.bytes + self.orders.bytes()
    }

    #[inline]
    pub fn row(&self, at: RowAt) -> Row<'_> {
        self.arena.row(at)
    }

    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Row<'_>> {
        if self.rows.is_empty() {
            return None;
        }
        let hash = hash.key as u32;
        let slot = self
            .rows
            .find(spread(hash), |slot| slot.hash == hash && self.arena.is_row_of(slot.at, space, key))?;
        Some(self.arena.row(slot.at))
    }

    /// Sets a row; the bytes by which the table grew.
    #[inline]
    pub fn set(&mut self, space: u8, key: &[u8], hash: &RowHash, value: Option<&[u8]>) -> usize {
        let Table { arena, rows, groups, orders, bytes, .. } = self;
        let key_hash = hash.key as u32;
        let entry = rows.entry(
            spread(key_hash),
            |slot| slot.hash == key_hash && arena.is_row_of(slot.at, space, key),
            |slot| spread(slot.hash),
        );
        let mut new = NewRow { space, key, value, group_len: hash.group_len, slack: 0 };
        let mut grown = 0;
        let old = match &entry {
            Entry::Occupied(occupied) => {
                let at = occupied.get().at;
                if arena.replace_value(at, value) {
                    return 0;
                }
                // A value that grew will grow again.
                new.slack = value.map_or(0, |value| value.len() / 2);
                Some(at)
            }
            Entry::Vacant(_) => {
                grown += ROW_OVERHEAD_BYTES;
                None
            }
        };

        let group_hash = hash.group as u32;
        let group =
            groups.entry(spread(group_hash), |slot| slot.hash == group_hash, |slot| spread(slot.hash));
        let at = match group {
            Entry::Occupied(mut occupied) => {
                let (at, size) = arena.push(new, occupied.get().at);
                occupied.get_mut().at = at;
                grown += size;
                at
            }
            Entry::Vacant(vacant) => {
                let (at, size) = arena.push(new, RowAt::NONE);
                vacant.insert(Slot { hash: group_hash, at });
                grown += size;
                at
            }
        };
        match entry {
            Entry::Occupied(mut occupied) => occupied.get_mut().at = at,
            Entry::Vacant(vacant) => {
                vacant.insert(Slot { hash: key_hash, at });
            }
        }
        if let Some(old) = old {
            arena.mark_dead(old);
        }
        if !orders.is_empty() {
            orders.insert(space, key, hash, at);
        }
        *bytes += grown;
        grown
    }

    /// The newest row of the group's chain.
    pub fn head(&self, group_hash: u64) -> RowAt {
        let hash = group_hash as u32;
        self.groups.find(spread(hash), |slot| slot.hash == hash).map_or(RowAt::NONE, |slot| slot.at)
    }

    /// The group's rows, in no order.
    fn chain<'t>(
        &'t self,
        space: u8,
        group: &'t [u8],
        group_hash: u64,
    ) -> impl Iterator<Item = (RowAt, Row<'t>)> {
        let mut at = self.head(group_hash);
        std::iter::from_fn(move || {
            while at != RowAt::NONE {
                let (here, row) = (at, self.arena.row(at));
                at = row.next;
                if !row.is_dead && row.is_in(space, group) {
                    return Some((here, row));
                }
            }
            None
        })
    }

    /// All rows, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (RowAt, Row<'_>)> {
        self.rows.iter().map(|slot| (slot.at, self.arena.row(slot.at)))
    }
}
