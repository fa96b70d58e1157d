//! Rows copied out of tables, for a scan to merge without holding a lock.

// Spans are made here, for bytes that are only ever appended.
#![allow(clippy::indexing_slicing)]

use std::cmp::Ordering;

use crate::Direction;

#[derive(Clone, Copy)]
struct Span {
    key: usize,
    value: usize,
    end: usize,
    /// How many newer sources there are; the smallest wins.
    age: u16,
    is_tombstone: bool,
}

#[derive(Clone, Copy)]
pub struct Mark {
    bytes: usize,
    spans: usize,
}

/// Keys and values, in the order of a scan after [`Rows::sort_and_dedup`].
#[derive(Default)]
pub struct Rows {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Rows {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of memory it has.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }

    #[inline]
    pub fn push(&mut self, key: &[u8], value: Option<&[u8]>, age: u16) {
        let bytes = value.unwrap_or_default();
        let (key_at, value_at) = (self.bytes.len(), self.bytes.len() + key.len());
        let end = value_at + bytes.len();
        self.bytes.reserve(end - key_at);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(bytes);
        self.spans.push(Span { key: key_at, value: value_at, end, age, is_tombstone: value.is_none() });
    }

    pub fn key(&self, index: usize) -> Option<&[u8]> {
        self.spans.get(index).map(|span| &self.bytes[span.key..span.value])
    }

    /// None behind the last row; Some(None) for a tombstone.
    pub fn value(&self, index: usize) -> Option<Option<&[u8]>> {
        let span = self.spans.get(index)?;
        Some((!span.is_tombstone).then(|| &self.bytes[span.value..span.end]))
    }

    /// Sorts, and keeps the newest of each key.
    pub fn sort_and_dedup(&mut self, direction: Direction) {
        let Rows { bytes, spans } = self;
        let key = |span: &Span| &bytes[span.key..span.value];
        spans.sort_unstable_by(|a, b| ordered(key(a), key(b), direction).then(a.age.cmp(&b.age)));
        spans.dedup_by(|later, kept| key(later) == key(kept));
    }

    /// Drops the rows behind `bound`.
    pub fn cut(&mut self, bound: &[u8], direction: Direction) {
        let Rows { bytes, spans } = self;
        let keep = spans.partition_point(|span| {
            ordered(&bytes[span.key..span.value], bound, direction) != Ordering::Greater
        });
        spans.truncate(keep);
    }

    pub fn truncate(&mut self, rows: usize) {
        self.spans.truncate(rows);
    }

    /// Gives back the bytes of rows that were dropped.
    pub fn compact(&mut self) {
        let mut kept = Rows { bytes: Vec::with_capacity(self.bytes.len() / 2), spans: Vec::new() };
        for index in 0..self.spans.len() {
            if let (Some(key), Some(value), Some(span)) =
                (self.key(index), self.value(index), self.spans.get(index))
            {
                kept.push(key, value, span.age);
            }
        }
        *self = kept;
    }

    pub fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), spans: self.spans.len() }
    }

    /// Takes back what was pushed since the mark.
    pub fn rewind(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.spans.truncate(mark.spans);
    }
}

/// The order of two keys in a scan's direction.
#[inline]
pub fn ordered(a: &[u8], b: &[u8], direction: Direction) -> Ordering {
    match direction {
        Direction::Forward => a.cmp(b),
        Direction::Backward => b.cmp(a),
    }
}
