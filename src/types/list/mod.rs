//! What a list is: elements in rows that are numbered without a gap, and the number of the first one in the metadata.
//!
//! Numbers begin in the middle of their range, so that a list grows at both ends for as long as anybody may wish. What
//! a command calls index 5 is the row `head + 5`: both ends, and any element by its index, are one read or write.
//!
//! * [`List`]: opening, one element, both ends.
//! * [`read`]: many elements in order. They are read by their numbers, for the rows that a queue has left behind lie
//!   beside them and are never to be walked.
//! * [`edit`]: what changes the numbers of elements: inserting, removing, trimming.
//! * [`Draft`]: a whole new list. [`mod@dump`]: a list as a payload.

mod draft;
mod dump;
mod edit;
mod read;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use draft::Draft;
pub use dump::DUMP;
pub use edit::Side;

use crate::encoding::DATA;
use crate::encoding::list::{MIDDLE, read_head};
use crate::encoding::meta::Kind;
use crate::error::{Error, Result};
use crate::keyspace::{Entry, View, WriteCx};
use crate::reply::Span;
use crate::types::collection::Collection;

pub const KIND: Kind = Kind::List;

const MISSING: Error = Error::Damaged("an element of a list");

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Left,
    Right,
}

/// A key that is, or is about to be, a list. Elements are named by their places, counted from the left.
#[derive(Debug, Clone)]
pub struct List<'k> {
    rows: Collection<'k>,
    head: u64,
}

/// Opening.
impl<'k> List<'k> {
    /// For reading commands: counted as a hit or a miss. None where there is no such key.
    pub fn find(cx: &mut impl View, key: &'k [u8]) -> Result<Option<List<'k>>> {
        Collection::find(cx, key, KIND)?.map(List::of).transpose()
    }

    /// For writing commands. None where there is no such key.
    #[inline(always)] // as its rows
    pub fn open(cx: &mut impl View, key: &'k [u8]) -> Result<Option<List<'k>>> {
        Collection::open(cx, key, KIND)?.map(List::of).transpose()
    }

    #[inline(always)] // as its rows
    pub fn open_or_create(cx: &mut WriteCx<'_>, key: &'k [u8]) -> Result<List<'k>> {
        List::of(Collection::open_or_create(cx, key, KIND)?)
    }

    /// The list that a key holds. None where it does not exist.
    pub fn of_entry(cx: &impl View, found: Entry<'k>) -> Result<Option<List<'k>>> {
        Collection::of(cx, found, KIND)?.map(List::of).transpose()
    }

    #[inline(always)] // as its rows
    fn of(rows: Collection<'k>) -> Result<List<'k>> {
        let head = if rows.is_fresh() { MIDDLE } else { read_head(rows.own())? };
        Ok(List { rows, head })
    }
}

/// What is known without reading elements.
impl<'k> List<'k> {
    pub fn key(&self) -> &'k [u8] {
        self.rows.entry.key
    }

    pub fn len(&self) -> u64 {
        self.rows.size()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The place that a client's index means, if there is one; -1 is the last.
    pub fn place(&self, index: i64) -> Option<u64> {
        let place = match u64::try_from(index) {
            Ok(place) => place,
            Err(_) => self.len().checked_sub(index.unsigned_abs())?,
        };
        (place < self.len()).then_some(place)
    }

    /// The places from one of a client's indexes to another, as far as there are any.
    pub fn places(&self, first: i64, last: i64) -> Range<u64> {
        let len = self.len();
        let from_left = |index: i64| match u64::try_from(index) {
            Ok(place) => Some(place),
            Err(_) => len.checked_sub(index.unsigned_abs()),
        };
        let start = from_left(first).unwrap_or(0);
        let end = from_left(last).map_or(0, |last| last.saturating_add(1).min(len));
        if start < end { start..end } else { 0..0 }
    }
}

/// One element.
impl List<'_> {
    /// The element at a place that there is, in the arena.
    pub fn get(&mut self, cx: &mut impl View, place: u64) -> Result<Span> {
        let index = self.index(place)?;
        cx.get(DATA, self.rows.sub_row(&index.to_be_bytes()))?.ok_or_else(|| MISSING.into())
    }

    /// Overwrites the element at a place that there is.
    pub fn set(&mut self, cx: &mut WriteCx<'_>, place: u64, value: &[u8]) -> Result<()> {
        let index = self.index(place)?;
        self.put(cx, index, value);
        Ok(())
    }

    pub fn push(&mut self, cx: &mut WriteCx<'_>, end: End, value: &[u8]) -> Result<()> {
        let index = match end {
            End::Left => {
                self.head = self.head.checked_sub(1).ok_or(MISSING)?;
                self.head
            }
            End::Right => self.index(self.len())?,
        };
        self.put(cx, index, value);
        self.rows.resize(self.len() + 1);
        Ok(())
    }

    /// As [`List::push`] for an element that is in the arena.
    pub fn push_kept(&mut self, cx: &mut WriteCx<'_>, end: End, value: Span) -> Result<()> {
        cx.lend(|cx, arena| self.push(cx, end, value.of(arena)))
    }

    /// Takes the element at an end away; it is in the arena. None where the list is empty.
    pub fn pop(&mut self, cx: &mut WriteCx<'_>, end: End) -> Result<Option<Span>> {
        let Some(last) = self.len().checked_sub(1) else { return Ok(None) };
        let place = match end {
            End::Left => 0,
            End::Right => last,
        };
        let value = self.get(cx, place)?;
        let index = self.index(place)?;
        self.delete(cx, index);
        if end == End::Left {
            self.head = self.index(1)?;
        }
        self.rows.resize(last);
        Ok(Some(value))
    }

    /// Puts the metadata. The key goes with its last element.
    pub fn save(&mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        self.rows.set_own(&self.head.to_be_bytes());
        self.rows.save(cx)
    }

    /// The number of the row at a place.
    fn index(&self, place: u64) -> Result<u64> {
        self.head.checked_add(place).ok_or_else(|| MISSING.into())
    }

    fn put(&mut self, cx: &mut WriteCx<'_>, index: u64, value: &[u8]) {
        cx.put(DATA, self.rows.sub_row(&index.to_be_bytes()), &[value]);
    }

    fn delete(&mut self, cx: &mut WriteCx<'_>, index: u64) {
        cx.delete(DATA, self.rows.sub_row(&index.to_be_bytes()));
    }
}
