//! The rows of a stream.
//!
//! ```text
//! own part of the metadata, behind the flags:
//!        last id | greatest deleted id | first id | entries added u64 | groups u64 | what [`producers`] says
//! data   prefix | id  =>  strings u32 | (length u32 | bytes) ...
//! score  prefix | 1 | name of a group  =>  version u64 | last delivered id | entries read u64
//!                                          | pending u64 | consumers u64 | last consumer u64 | greatest pending id
//!        prefix | 2 | version u64      =>  empty
//! and under that version, the group's own, in the same space:
//!        prefix | 1 | name of a consumer       =>  number u64
//!        prefix | 2 | number u64               =>  seen_ms u64 | active_ms u64 | pending u64 | name
//!        prefix | 3 | id                       =>  consumer u64 | delivered_ms u64 | deliveries u64
//!        prefix | 4 | number u64 | id          =>  empty
//!        prefix | 5 | delivered_ms u64 | id    =>  empty
//! ```
//!
//! An id is two u64, so that rows are in the order of their ids. A prefix is
//! `db u32 | slot u16 | key length u32 | key | version u64`.

use tarn_engine::Space;

use self::producers::Producers;
use super::rows::RowKey;
use super::{Cursor, Malformed, SCORE};

pub mod producers;

/// Where consumer groups and what belongs to them are.
pub const GROUPS: Space = SCORE;

/// Bytes of an id.
pub const ID_LEN: usize = 16;

/// What tells an entry from the others of its stream, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id {
    pub ms: u64,
    pub seq: u64,
}

impl Id {
    pub const MIN: Id = Id { ms: 0, seq: 0 };
    pub const MAX: Id = Id { ms: u64::MAX, seq: u64::MAX };

    pub const fn new(ms: u64, seq: u64) -> Id {
        Id { ms, seq }
    }

    #[inline]
    pub fn encode(self) -> [u8; ID_LEN] {
        (u128::from(self.ms) << 64 | u128::from(self.seq)).to_be_bytes()
    }

    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Id, Malformed> {
        let mut cursor = Cursor(bytes);
        let id = read_id(&mut cursor)?;
        if cursor.0.is_empty() { Ok(id) } else { Err(ID) }
    }

    /// The least id behind this one.
    pub fn next(self) -> Option<Id> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Id { ms: self.ms, seq }),
            None => self.ms.checked_add(1).map(|ms| Id { ms, seq: 0 }),
        }
    }

    /// The greatest id before this one.
    pub fn prev(self) -> Option<Id> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Id { ms: self.ms, seq }),
            None => self.ms.checked_sub(1).map(|ms| Id { ms, seq: u64::MAX }),
        }
    }
}

const ID: Malformed = Malformed("id of a stream");

fn read_id(cursor: &mut Cursor<'_>) -> Result<Id, Malformed> {
    Ok(Id { ms: cursor.u64(ID.0)?, seq: cursor.u64(ID.0)? })
}

/// What the metadata knows of a stream beside its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// No entry ever had a greater id, unless XSETID said so.
    pub last: Id,
    /// The greatest id that was deleted otherwise than by trimming.
    pub max_deleted: Id,
    /// Of the first entry there is; 0-0 where there is none.
    pub first: Id,
    /// Entries that were ever added.
    pub added: u64,
    /// Consumer groups.
    pub groups: u64,
}

/// Bytes of it.
pub const STATE_LEN: usize = 3 * ID_LEN + 2 * 8;

impl State {
    pub fn encode(&self) -> [u8; STATE_LEN] {
        let mut bytes = [0; STATE_LEN];
        let (ids, numbers) = bytes.split_at_mut(3 * ID_LEN);
        for (room, id) in ids.chunks_exact_mut(ID_LEN).zip([self.last, self.max_deleted, self.first]) {
            room.copy_from_slice(&id.encode());
        }
        for (room, number) in numbers.chunks_exact_mut(8).zip([self.added, self.groups]) {
            room.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// With what is known of producers, where there were any.
    pub fn decode(own: &[u8]) -> Result<(State, Option<Producers>), Malformed> {
        let mut cursor = Cursor(own);
        let state = State {
            last: read_id(&mut cursor)?,
            max_deleted: read_id(&mut cursor)?,
            first: read_id(&mut cursor)?,
            added: cursor.u64("entries of a stream")?,
            groups: cursor.u64("groups of a stream")?,
        };
        let producers = if cursor.0.is_empty() { None } else { Some(Producers::decode(cursor.0)?) };
        Ok((state, producers))
    }
}

/// The value of an entry's row, from its fields and values by turns.
pub fn encode_entry<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let len = strings.clone().map(|string| 4 + string.len()).sum::<usize>();
    let mut value = Vec::with_capacity(4 + len);
    value.extend_from_slice(&(strings.len() as u32).to_be_bytes());
    for string in strings {
        value.extend_from_slice(&(string.len() as u32).to_be_bytes());
        value.extend_from_slice(string);
    }
    value
}

const ENTRY: &str = "entry of a stream";

/// Fields and values of an entry, by turns.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a> {
    left: &'a [u8],
    count: usize,
}

impl<'a> Strings<'a> {
    /// Of a row's value, of which every length is checked.
    pub fn of(value: &'a [u8]) -> Result<Strings<'a>, Malformed> {
        let mut cursor = Cursor(value);
        let count = cursor.u32(ENTRY)? as usize;
        let strings = Strings { left: cursor.0, count };
        let mut rest = strings;
        for _ in 0..count {
            rest.next().ok_or(Malformed(ENTRY))?;
        }
        if rest.left.is_empty() { Ok(strings) } else { Err(Malformed(ENTRY)) }
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.count = self.count.checked_sub(1)?;
        let (len, rest) = self.left.split_first_chunk()?;
        let (string, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        self.left = rest;
        Some(string)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Strings<'_> {}

/// Rows of a stream in [`GROUPS`].
const GROUP: u8 = 1;
const OWNER: u8 = 2;
/// Rows of a group, under its own version.
const NAME: u8 = 1;
const CONSUMER: u8 = 2;
const PENDING: u8 = 3;
const OWNED: u8 = 4;
const DELIVERED: u8 = 5;

/// `prefix, tag, rest`
fn row(prefix: &[u8], tag: u8, rest: &[&[u8]]) -> RowKey {
    let mut row = RowKey::from_slice(prefix);
    row.push(tag);
    rest.iter().for_each(|part| row.extend_from_slice(part));
    row
}

/// The rows of groups: the first key, and the key behind the last. What follows the first key's bytes is the name.
pub fn groups(prefix: &[u8]) -> (RowKey, RowKey) {
    (row(prefix, GROUP, &[]), row(prefix, GROUP + 1, &[]))
}

pub fn group_row(prefix: &[u8], name: &[u8]) -> RowKey {
    row(prefix, GROUP, &[name])
}

/// The row that says that a version is one of the stream's groups. While it is there, rows of that version are not garbage.
pub fn owner_row(prefix: &[u8], version: u64) -> RowKey {
    row(prefix, OWNER, &[&version.to_be_bytes()])
}

/// What is known of a consumer group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupState {
    /// Of its rows.
    pub version: u64,
    pub last: Id,
    /// How many entries were read; None where that is not known.
    pub read: Option<u64>,
    pub pending: u64,
    pub consumers: u64,
    /// The greatest number that a consumer got.
    pub last_consumer: u64,
    /// No entry with a greater id was ever pending.
    pub greatest: Id,
}

/// In place of a number of entries that is not known.
const UNKNOWN: u64 = u64::MAX;
const GROUP_LEN: usize = 2 * ID_LEN + 5 * 8;

impl GroupState {
    pub fn encode(&self) -> [u8; GROUP_LEN] {
        let mut bytes = [0; GROUP_LEN];
        let parts = [
            self.version,
            self.last.ms,
            self.last.seq,
            self.read.unwrap_or(UNKNOWN),
            self.pending,
            self.consumers,
            self.last_consumer,
            self.greatest.ms,
            self.greatest.seq,
        ];
        for (room, number) in bytes.chunks_exact_mut(8).zip(parts) {
            room.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    pub fn decode(value: &[u8]) -> Result<GroupState, Malformed> {
        let mut cursor = Cursor(value);
        let mut number = || cursor.u64("consumer group");
        let (version, ms, seq, read) = (number()?, number()?, number()?, number()?);
        Ok(GroupState {
            version,
            last: Id { ms, seq },
            read: (read != UNKNOWN).then_some(read),
            pending: number()?,
            consumers: number()?,
            last_consumer: number()?,
            greatest: Id { ms: number()?, seq: number()? },
        })
    }
}

/// The rows of consumers by name, as [`groups`].
pub fn names(prefix: &[u8]) -> (RowKey, RowKey) {
    (row(prefix, NAME, &[]), row(prefix, NAME + 1, &[]))
}

pub fn name_row(prefix: &[u8], name: &[u8]) -> RowKey {
    row(prefix, NAME, &[name])
}

pub fn consumer_row(prefix: &[u8], number: u64) -> RowKey {
    row(prefix, CONSUMER, &[&number.to_be_bytes()])
}

/// What is known of a consumer, its name aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConsumerState {
    pub seen_ms: u64,
    /// 0: it was never given an entry.
    pub active_ms: u64,
    pub pending: u64,
}

const CONSUMER_LEN: usize = 3 * 8;

impl ConsumerState {
    /// The name follows it.
    pub fn encode(&self) -> [u8; CONSUMER_LEN] {
        let mut bytes = [0; CONSUMER_LEN];
        for (room, number) in bytes.chunks_exact_mut(8).zip([self.seen_ms, self.active_ms, self.pending]) {
            room.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// With the name.
    pub fn decode(value: &[u8]) -> Result<(ConsumerState, &[u8]), Malformed> {
        let mut cursor = Cursor(value);
        let mut number = || cursor.u64("consumer");
        let state = ConsumerState { seen_ms: number()?, active_ms: number()?, pending: number()? };
        Ok((state, cursor.0))
    }
}

/// The number of a consumer, from the row of its name.
pub fn read_number(value: &[u8]) -> Result<u64, Malformed> {
    Cursor(value).u64("number of a consumer")
}

/// An entry that was delivered and not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending {
    /// The number of the consumer that has it; 0: none has.
    pub consumer: u64,
    pub delivered_ms: u64,
    pub deliveries: u64,
}

const PENDING_LEN: usize = 3 * 8;

impl Pending {
    pub fn encode(&self) -> [u8; PENDING_LEN] {
        let mut bytes = [0; PENDING_LEN];
        let parts = [self.consumer, self.delivered_ms, self.deliveries];
        for (room, number) in bytes.chunks_exact_mut(8).zip(parts) {
            room.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    pub fn decode(value: &[u8]) -> Result<Pending, Malformed> {
        let mut cursor = Cursor(value);
        let mut number = || cursor.u64("pending entry");
        Ok(Pending { consumer: number()?, delivered_ms: number()?, deliveries: number()? })
    }
}

/// What the rows of pending entries begin with; their ids follow.
pub fn pending_prefix(prefix: &[u8]) -> RowKey {
    row(prefix, PENDING, &[])
}

/// As [`pending_prefix`], of one consumer.
pub fn owned_prefix(prefix: &[u8], number: u64) -> RowKey {
    row(prefix, OWNED, &[&number.to_be_bytes()])
}

pub fn pending_row(prefix: &[u8], id: Id) -> RowKey {
    row(prefix, PENDING, &[&id.encode()])
}

pub fn owned_row(prefix: &[u8], number: u64, id: Id) -> RowKey {
    row(prefix, OWNED, &[&number.to_be_bytes(), &id.encode()])
}

/// What the rows of pending entries by the time of their delivery begin with; times and ids follow.
pub fn delivered_prefix(prefix: &[u8]) -> RowKey {
    row(prefix, DELIVERED, &[])
}

pub fn delivered_row(prefix: &[u8], delivered_ms: u64, id: Id) -> RowKey {
    row(prefix, DELIVERED, &[&delivered_ms.to_be_bytes(), &id.encode()])
}

/// Time and id of such a row, of which the key behind that prefix is given.
pub fn read_delivered(sub: &[u8]) -> Result<(u64, Id), Malformed> {
    let mut cursor = Cursor(sub);
    let delivered_ms = cursor.u64("pending entry")?;
    Ok((delivered_ms, Id::decode(cursor.0)?))
}

#[cfg(test)]
mod tests;
