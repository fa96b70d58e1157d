//! A few rows in one buffer, one behind the other:
//!
//! ```text
//! key length 2 | value length 2 | key | value
//! ```
//!
//! Most collections are small, and reading one mostly waits for memory: one buffer is read instead of the nodes of a tree.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::super::hash::prefetch_row;
use super::{Part, head_of};
use crate::Direction;

/// More rows or bytes are kept in [`super::leaves`]. Searching beyond this is slower than there.
const MAX_ROWS: usize = 128;
const MAX_BYTES: usize = 4 << 10;
const LENGTHS: usize = 4;

#[derive(Default)]
pub struct Few {
    bytes: Vec<u8>,
    rows: usize,
}

/// Where a row stands, or would.
struct Place {
    start: usize,
    /// Where its value begins and ends, if it is there.
    value: Option<(usize, usize)>,
}

/// The rows of a buffer.
#[derive(Clone)]
pub struct Iter<'f> {
    bytes: &'f [u8],
}

impl<'f> Iter<'f> {
    pub fn over(bytes: &'f [u8]) -> Iter<'f> {
        Iter { bytes }
    }
}

impl<'f> Iterator for Iter<'f> {
    type Item = (&'f [u8], &'f [u8]);

    #[inline]
    fn next(&mut self) -> Option<(&'f [u8], &'f [u8])> {
        let (lengths, rest) = self.bytes.split_first_chunk::<LENGTHS>()?;
        let [a, b, c, d] = *lengths;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([a, b])))?;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([c, d])))?;
        self.bytes = rest;
        Some((key, value))
    }
}

impl Few {
    pub fn with_room() -> Few {
        Few { bytes: Vec::with_capacity(MAX_BYTES), rows: 0 }
    }

    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether a row, new or in the place of an older one, may be set.
    pub fn has_room(&self, key: &[u8], value: &[u8]) -> bool {
        self.rows < MAX_ROWS && self.bytes.len() + LENGTHS + key.len() + value.len() <= MAX_BYTES
    }

    #[inline]
    pub fn prefetch(&self) {
        prefetch_row(&self.bytes);
    }

    pub fn rows(&self) -> Iter<'_> {
        Iter::over(&self.bytes)
    }

    fn find(&self, key: &[u8]) -> Place {
        let mut start = 0;
        for (other, value) in self.rows() {
            if other >= key {
                let begin = start + LENGTHS + other.len();
                let value = (other == key).then_some((begin, begin + value.len()));
                return Place { start, value };
            }
            start += LENGTHS + other.len() + value.len();
        }
        Place { start, value: None }
    }

    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let (begin, end) = self.find(key).value?;
        self.bytes.get(begin..end)
    }

    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        let Place { start, value: old } = self.find(key);
        let old = old.map_or(start..start, |(_, end)| start..end);
        self.rows -= usize::from(!old.is_empty());
        let Some(value) = value else {
            self.bytes.drain(old);
            return;
        };
        self.rows += 1;
        let size = LENGTHS + key.len() + value.len();
        let (end, length) = (old.end, self.bytes.len());
        if size > old.len() {
            self.bytes.resize(length + size - old.len(), 0);
        }
        self.bytes.copy_within(end..length, start + size);
        self.bytes.truncate(length + size - old.len());
        if let Some(row) = self.bytes.get_mut(start..start + size) {
            let (head, rest) = row.split_at_mut(LENGTHS);
            let (to_key, to_value) = rest.split_at_mut(key.len());
            head.copy_from_slice(&lengths(key, value));
            to_key.copy_from_slice(key);
            to_value.copy_from_slice(value);
        }
    }

    /// Sets a row behind all others.
    pub fn push_last(&mut self, key: &[u8], value: &[u8]) {
        self.rows += 1;
        self.bytes.extend_from_slice(&lengths(key, value));
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    /// Shows the row of this rank; if there is none before the end, how many there are.
    pub fn show_nth(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Option<usize> {
        let mut seen = 0;
        for (key, value) in self.part(start, end) {
            if seen == rank {
                show(key, value);
                return None;
            }
            seen += 1;
        }
        Some(seen)
    }

    fn part<'f>(&'f self, start: &[u8], end: Option<&[u8]>) -> impl Iterator<Item = (&'f [u8], &'f [u8])> {
        self.rows()
            .skip_while(move |(key, _)| *key < start)
            .take_while(move |(key, _)| end.is_none_or(|end| *key < end))
    }

    /// Copies rows as they stand; how many, and whether that is all of the part.
    pub fn copy(&self, part: &Part<'_>, out: &mut Vec<u8>) -> (usize, bool) {
        let at = |rows: &Iter<'_>| self.bytes.len() - rows.bytes.len();
        let mut rows = self.rows();
        let mut begin = 0;
        while rows.next().is_some_and(|(key, _)| is_before(key, part.start)) {
            begin = at(&rows);
        }
        let mut rows = Iter::over(self.bytes.get(begin..).unwrap_or_default());
        let (mut end, mut taken, mut bytes, mut is_all) = (begin, 0, 0, true);
        while let Some((key, value)) = rows.next() {
            if part.end.is_some_and(|end| !is_before(key, end)) {
                break;
            }
            is_all = taken < part.max_rows && bytes < part.max_bytes;
            if !is_all {
                break;
            }
            taken += 1;
            bytes += key.len() + value.len();
            end = at(&rows);
        }
        out.extend_from_slice(self.bytes.get(begin..end).unwrap_or_default());
        (taken, is_all)
    }

    /// Shows rows until that is refused; true when all of the part were shown.
    pub fn walk(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        direction: Direction,
        show: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> bool {
        match direction {
            Direction::Forward => self.part(start, end).all(|(key, value)| show(key, value)),
            Direction::Backward => {
                let rows: SmallVec<[_; MAX_ROWS]> = self.part(start, end).collect();
                rows.iter().rev().all(|(key, value)| show(key, value))
            }
        }
    }
}

/// As `<`. Most keys differ in their first bytes, which are compared without a call.
#[inline]
fn is_before(key: &[u8], other: &[u8]) -> bool {
    match head_of(key).cmp(&head_of(other)) {
        Ordering::Equal => key < other,
        order => order.is_lt(),
    }
}

/// [`Few::has_room`] keeps them short.
fn lengths(key: &[u8], value: &[u8]) -> [u8; LENGTHS] {
    let ([a, b], [c, d]) = ((key.len() as u16).to_be_bytes(), (value.len() as u16).to_be_bytes());
    [a, b, c, d]
}
