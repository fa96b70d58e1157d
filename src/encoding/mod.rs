//! Bytes on disk and nothing else: no I/O, no clock. docs/on-disk-format.md shows every layout.

pub mod collection;
pub mod hash;
pub mod list;
pub mod meta;
mod row_key;
pub mod rows;
pub mod slot;
pub mod stream;
pub mod string;
pub mod system;
pub mod zset;

#[cfg(test)]
mod tests;

use tarn_engine::{Groups, Space, SpaceDef};

/// Keys: one row per key, and what is needed to answer TTL, TYPE and length without the value.
pub const META: Space = Space(0);
/// Elements of collections and pieces of long strings.
pub const DATA: Space = Space(1);
/// Sorted-set members by score.
pub const SCORE: Space = Space(2);
/// Keys (and hashes with field TTLs) by the time they are due.
pub const EXPIRE: Space = Space(3);
/// Fields of one hash by the time they are due.
pub const FIELD_EXPIRE: Space = Space(4);
/// The few rows that describe the database itself.
pub const SYSTEM: Space = Space(5);

/// The order is part of the format.
pub const SPACES: &[SpaceDef] = &[
    SpaceDef { name: "meta", group_len: rows::meta_group_len, queue_like: false, groups: Groups::Plain },
    SpaceDef { name: "data", group_len: rows::collection_group_len, queue_like: true, groups: Groups::Kept },
    SpaceDef { name: "score", group_len: rows::collection_group_len, queue_like: true, groups: Groups::Kept },
    SpaceDef { name: "expire", group_len: rows::expire_group_len, queue_like: true, groups: Groups::Ordered },
    SpaceDef {
        name: "field-expire",
        group_len: rows::collection_group_len,
        queue_like: true,
        groups: Groups::Ordered,
    },
    SpaceDef { name: "system", group_len: system::group_len, queue_like: false, groups: Groups::Plain },
];

/// A row that does not read as what its space says. The text names the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Reads fixed-width parts off the front of a row.
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(Malformed(what))?;
        self.0 = tail;
        Ok(*head)
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(what).map(|[b]| b)
    }

    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.array(what).map(u32::from_be_bytes)
    }

    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        self.array(what).map(u64::from_be_bytes)
    }
}
