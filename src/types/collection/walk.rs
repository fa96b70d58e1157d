//! Walking rows in bounded steps.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use smallvec::SmallVec;
use tarn_engine::{Direction, Range, Space};

use crate::encoding::collection::HASH_LEN;
use crate::encoding::rows::RowKey;
use crate::error::Result;
use crate::keyspace::View;

/// Rows of the first step and of the first one behind a seek. Each further step is four times as long: who seeks often
/// reads little in vain, who reads on asks seldom.
const FIRST_STEP: usize = 4;
/// The same of several ranges: one step reads what most searches want of all of them.
const FIRST_STEP_OF_RANGES: usize = 16;
/// Most rows, and bytes after which no further row is read, of one step.
pub const MAX_STEP_ROWS: usize = 256;
pub const MAX_STEP_BYTES: usize = 64 * 1024;

/// What a walk or a scan shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// The row's key behind the collection's prefix.
    pub sub: &'a [u8],
    pub value: &'a [u8],
}

impl<'a> Element<'a> {
    /// The member, where the sub-key is its hash and then itself.
    pub fn member(&self) -> &'a [u8] {
        self.sub.get(HASH_LEN..).unwrap_or_default()
    }

    /// The member's hash.
    pub fn hash(&self) -> u64 {
        self.sub.first_chunk().map_or(0, |hash| u64::from_be_bytes(*hash))
    }
}

/// A place in sorted rows, with the next few of them in memory.
///
/// No engine iterator is open between steps, so a walk may be kept while its transaction writes: it shows what was
/// there when it read each step. Over a snapshot it shows the snapshot. Memory is one step, whatever is walked.
#[derive(Debug)]
pub struct Walk {
    space: Space,
    prefix_len: usize,
    /// What is left to be read, and what comes behind it.
    start: RowKey,
    end: RowKey,
    others: VecDeque<(RowKey, RowKey)>,
    direction: Direction,
    step: usize,
    /// The rows of the step: keys without prefix and values, one behind the other.
    bytes: Vec<u8>,
    rows: Vec<Row>,
    at: usize,
    /// Nothing is behind the rows of the step.
    ended: bool,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    start: usize,
    sub_len: usize,
    end: usize,
}

impl Walk {
    /// Walks the rows from `start` up to, not including, `end`, or the other way round. All of them begin with the first
    /// `prefix_len` bytes of `start`.
    pub fn over(space: Space, prefix_len: usize, start: RowKey, end: RowKey, direction: Direction) -> Walk {
        Walk {
            space,
            prefix_len,
            start,
            end,
            others: VecDeque::new(),
            direction,
            step: FIRST_STEP,
            bytes: Vec::new(),
            rows: Vec::new(),
            at: 0,
            ended: false,
        }
    }

    /// Walks several ranges, one after the other, each forward.
    pub fn over_all(space: Space, prefix_len: usize, mut ranges: VecDeque<(RowKey, RowKey)>) -> Walk {
        let (start, end) = ranges.pop_front().unwrap_or_default();
        let walk = Walk::over(space, prefix_len, start, end, Direction::Forward);
        Walk { others: ranges, step: FIRST_STEP_OF_RANGES, ..walk }
    }

    /// A walk over all there is, that reads much at once.
    pub fn whole(mut self) -> Walk {
        self.step = MAX_STEP_ROWS;
        self
    }

    /// The element the walk stands before, if any.
    pub fn peek(&mut self, cx: &impl View) -> Result<Option<Element<'_>>> {
        if self.at >= self.rows.len() && !self.ended {
            self.read(cx)?;
        }
        Ok(self.rows.get(self.at).map(|row| self.element(row)))
    }

    /// The element the walk stands before, if it is in memory: what [`Walk::peek`] has shown.
    #[inline]
    pub fn head(&self) -> Option<Element<'_>> {
        self.rows.get(self.at).map(|row| self.element(row))
    }

    /// Steps over the element that was peeked at.
    pub fn skip(&mut self) {
        self.at += 1;
    }

    pub fn next(&mut self, cx: &impl View) -> Result<Option<Element<'_>>> {
        if self.at >= self.rows.len() && !self.ended {
            self.read(cx)?;
        }
        let at = self.at;
        self.at += 1;
        Ok(self.rows.get(at).map(|row| self.element(row)))
    }

    /// Goes on to the first element with this sub-key or a greater one; never back. Forward walks only.
    pub fn seek(&mut self, sub: &[u8]) {
        let rows = self.rows.get(self.at..).unwrap_or_default();
        let before = rows.partition_point(|row| self.element(row).sub < sub);
        let in_step = before < rows.len();
        self.at += before;
        if in_step || self.ended {
            return;
        }
        let mut place = RowKey::from_slice(self.start.get(..self.prefix_len).unwrap_or_default());
        place.extend_from_slice(sub);
        if place > self.start {
            if self.is_far(sub) {
                self.step = FIRST_STEP;
            }
            self.start = place;
        }
    }

    /// Whether a place behind the rows of the step is further away than they reach. Who seeks no further reads on.
    fn is_far(&self, sub: &[u8]) -> bool {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return false };
        let (first, last) = (self.element(first).hash(), self.element(last).hash());
        let place = Element { sub, value: &[] }.hash();
        place.saturating_sub(last) > last.saturating_sub(first)
    }

    fn element(&self, row: &Row) -> Element<'_> {
        let sub_end = row.start + row.sub_len;
        Element {
            sub: self.bytes.get(row.start..sub_end).unwrap_or_default(),
            value: self.bytes.get(sub_end..row.end).unwrap_or_default(),
        }
    }

    fn read(&mut self, cx: &impl View) -> Result<()> {
        let Walk { space, prefix_len, start, end, others, direction, step, bytes, rows, at, ended } = self;
        bytes.clear();
        rows.clear();
        *at = 0;
        let mut full = false;
        let mut take = |key: &[u8], value: &[u8]| {
            let begin = bytes.len();
            let sub = key.get(*prefix_len..).unwrap_or_default();
            bytes.extend_from_slice(sub);
            bytes.extend_from_slice(value);
            rows.push(Row { start: begin, sub_len: sub.len(), end: bytes.len() });
            full = rows.len() == *step || bytes.len() >= MAX_STEP_BYTES;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let range = Range { start: start.as_slice(), end: end.as_slice() };
        if others.is_empty() {
            cx.scan_with(*space, range, *direction, *step, &mut take)?;
            *ended = !full;
        } else {
            let behind = others.iter().map(|(start, end)| Range { start, end });
            let ranges: SmallVec<[Range<'_>; 9]> = std::iter::once(range).chain(behind).collect();
            let mut reached = 0;
            *ended = cx.rows().scan_ranges(*space, &ranges, *step, &mut |number, key, value| {
                reached = number;
                take(key, value)
            })?;
            drop(ranges);
            if let Some(last) = others.drain(..reached).next_back() {
                (*start, *end) = last;
            }
        }
        *step = (*step * 4).min(MAX_STEP_ROWS);
        let Some(last) = rows.last() else { return Ok(()) };
        let sub = bytes.get(last.start..last.start + last.sub_len).unwrap_or_default();
        match direction {
            Direction::Forward => {
                start.truncate(*prefix_len);
                start.extend_from_slice(sub);
                // The least key behind the last one.
                start.push(0);
            }
            Direction::Backward => {
                // Not its own first bytes: it may lie behind the collection.
                end.clear();
                end.extend_from_slice(start.get(..*prefix_len).unwrap_or_default());
                end.extend_from_slice(sub);
            }
        }
        Ok(())
    }
}
