//! What a stream is: entries in the order of their ids, and consumer groups that read them.
//!
//! * [`Stream`]: opening, the last id, adding and deleting entries.
//! * [`range`]: entries in order. [`trim`]: removing the oldest ones. [`refs`]: what groups refer to. [`mod@copy`]: all of it
//!   under another name. [`mod@dump`]: all of it as a payload.
//! * [`group`]: consumer groups, their consumers and what these have pending. [`lag`]: how far they have read.
//! * [`producers`]: what was sent already, and by whom.
//!
//! An entry is a row, found by its id. The metadata knows the first and the last id, so that neither end is looked for
//! among the rows that were deleted there.

mod copy;
mod dump;
mod group;
mod lag;
mod producers;
mod range;
mod refs;
mod trim;

#[cfg(test)]
mod tests;

pub use copy::copy;
pub use dump::DUMP;
pub use group::{Consumer, Group, NOBODY};
pub use producers::Sent;
pub use range::Ids;
pub use refs::{Deleted, Refs};
pub use tarn_engine::Direction;
pub use trim::{Bound, Trim};

use crate::encoding::DATA;
use crate::encoding::meta::Kind;
use crate::encoding::stream::encode_entry;
use crate::encoding::stream::producers::Producers;
pub use crate::encoding::stream::producers::Retention;
pub use crate::encoding::stream::{ConsumerState, GroupState, Id, Pending, State, Strings, read_delivered};
use crate::error::Result;
use crate::keyspace::{Entry, View, WriteCx};
use crate::reply::Span;
use crate::types::collection::Collection;

pub const KIND: Kind = Kind::Stream;

/// A key that is, or is about to be, a stream.
#[derive(Debug, Clone)]
pub struct Stream<'k> {
    rows: Collection<'k>,
    pub state: State,
    producers: Option<Producers>,
    /// The first entry was deleted, and its successor is not known yet.
    first_is_gone: bool,
}

/// Opening.
impl<'k> Stream<'k> {
    /// For reading commands: counted as a hit or a miss. None where there is no such key.
    pub fn find(cx: &mut impl View, key: &'k [u8]) -> Result<Option<Stream<'k>>> {
        Collection::find(cx, key, KIND)?.map(Stream::of).transpose()
    }

    /// For writing commands. None where there is no such key.
    pub fn open(cx: &mut impl View, key: &'k [u8]) -> Result<Option<Stream<'k>>> {
        Collection::open(cx, key, KIND)?.map(Stream::of).transpose()
    }

    /// It exists once it is saved, with entries or without.
    pub fn open_or_create(cx: &mut WriteCx<'_>, key: &'k [u8]) -> Result<Stream<'k>> {
        Stream::of(Collection::open_or_create(cx, key, KIND)?)
    }

    /// The stream that a key holds. None where it does not exist.
    pub fn of_entry(cx: &impl View, found: Entry<'k>) -> Result<Option<Stream<'k>>> {
        Collection::of(cx, found, KIND)?.map(Stream::of).transpose()
    }

    fn of(rows: Collection<'k>) -> Result<Stream<'k>> {
        let (state, producers) =
            if rows.is_fresh() { (State::default(), None) } else { State::decode(rows.own())? };
        Ok(Stream { rows, state, producers, first_is_gone: false })
    }
}

/// What is known without reading entries.
impl<'k> Stream<'k> {
    pub fn key(&self) -> &'k [u8] {
        self.rows.entry.key
    }

    pub fn len(&self) -> u64 {
        self.rows.size()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The id of an entry that is added now without a name of its own; None where there is none left.
    pub fn next_id(&self, now_ms: u64) -> Option<Id> {
        if now_ms > self.state.last.ms { Some(Id::new(now_ms, 0)) } else { self.state.last.next() }
    }

    /// As [`Stream::next_id`] within a millisecond; None where that has passed.
    pub fn next_id_in(&self, ms: u64) -> Option<Id> {
        let last = self.state.last;
        match ms.cmp(&last.ms) {
            std::cmp::Ordering::Greater => Some(Id::new(ms, 0)),
            std::cmp::Ordering::Equal => last.seq.checked_add(1).map(|seq| Id::new(ms, seq)),
            std::cmp::Ordering::Less => None,
        }
    }
}

/// One entry.
impl Stream<'_> {
    /// Adds an entry behind the last one; its id is greater.
    pub fn add<'a>(
        &mut self,
        cx: &mut WriteCx<'_>,
        id: Id,
        strings: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) {
        let value = encode_entry(strings);
        cx.put(DATA, self.rows.sub_row(&id.encode()), &[&value]);
        if self.is_empty() {
            self.state.first = id;
        }
        self.state.last = id;
        self.state.added += 1;
        self.rows.resize(self.len() + 1);
    }

    /// The entry's row, in the arena.
    pub fn get(&mut self, cx: &mut impl View, id: Id) -> Result<Option<Span>> {
        if self.is_empty() || id < self.state.first || id > self.state.last {
            return Ok(None);
        }
        cx.get(DATA, self.rows.sub_row(&id.encode()))
    }

    pub fn has(&mut self, cx: &mut impl View, id: Id) -> Result<bool> {
        let mark = cx.arena().len();
        let found = self.get(cx, id)?.is_some();
        cx.arena().truncate(mark);
        Ok(found)
    }

    /// Deletes an entry; whether it was there. The stream is to be saved.
    pub fn delete_one(&mut self, cx: &mut WriteCx<'_>, id: Id) -> Result<bool> {
        let was_there = self.has(cx, id)?;
        if was_there {
            cx.delete(DATA, self.rows.sub_row(&id.encode()));
            self.rows.resize(self.len().saturating_sub(1));
            self.first_is_gone |= id == self.state.first;
            self.state.max_deleted = self.state.max_deleted.max(id);
        }
        Ok(was_there)
    }

    /// Puts the metadata if it has changed.
    pub fn save(&mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        if self.is_empty() {
            self.state.first = Id::MIN;
        } else if self.first_is_gone {
            self.find_first(cx)?;
        }
        self.first_is_gone = false;
        match self.producers {
            None => self.rows.set_own(&self.state.encode()),
            Some(producers) => self.rows.set_own(&[&self.state.encode()[..], &producers.encode()].concat()),
        }
        self.rows.save(cx)
    }
}
