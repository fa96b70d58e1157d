//! Reading at a position, with a transaction's own rows on top.
//!
//! Rows are copied out in batches, so that no lock is held while a callback runs.

use std::cell::RefCell;
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};

use super::Shared;
use super::faults::Call;
use super::reads::ReadSet;
use super::store::{Rows, Version};
use crate::{Direction, Range, Read, Result, Space, Wait};

/// Rows of the first batch of a scan; later ones grow up to the largest.
const FIRST_BATCH_ROWS: usize = 32;
const LARGEST_BATCH_ROWS: usize = 512;
/// A batch that holds this much is full, whatever its rows.
const BATCH_BYTES: usize = 256 * 1024;
/// Rows that one hold of the lock looks at, the invisible ones included.
const BATCH_LOOKS: usize = 4096;
/// Point reads under one hold of the lock.
const GET_MANY_BATCH: usize = 64;

pub(super) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// The rows at a position, under those of a transaction.
pub(super) struct View<'a> {
    pub(super) shared: &'a Shared,
    pub(super) wait: Wait,
    pub(super) at: u64,
    pub(super) own: Option<&'a [Rows]>,
    /// Where a transaction notes what it has read.
    pub(super) reads: Option<&'a RefCell<ReadSet>>,
}

/// A row of the transaction's own, in the scan's order; none is a delete.
type OwnRow<'a> = (&'a [u8], Option<&'a [u8]>);
type OwnRows<'a> = Peekable<Box<dyn Iterator<Item = OwnRow<'a>> + 'a>>;

impl Read for View<'_> {
    #[inline]
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        self.admit_points(space, &[key])?;
        self.get_row(space, key, out)
    }

    fn get_many(
        &self,
        space: Space,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.admit_points(space, keys)?;
        self.get_batches(space, keys, each)
    }

    fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut Visit<'_>,
    ) -> Result<()> {
        self.shared.admit(Call::Read, self.wait)?;
        if limit > 0 {
            let stopped_at = self.scan_batches(space, range, direction, limit, each)?;
            if let Some(reads) = self.reads {
                reads.borrow_mut().add_range(space, range, direction, stopped_at);
            }
        }
        Ok(())
    }
}

impl<'a> View<'a> {
    /// What is committed at each call.
    pub(super) fn committed(shared: &'a Shared, wait: Wait) -> View<'a> {
        View { shared, wait, at: u64::MAX, own: None, reads: None }
    }

    fn admit_points(&self, space: Space, keys: &[&[u8]]) -> Result<()> {
        self.shared.admit(Call::Read, self.wait)?;
        if let Some(reads) = self.reads {
            let mut reads = reads.borrow_mut();
            keys.iter().for_each(|key| reads.add_point(space, key));
        }
        Ok(())
    }

    fn own_rows(&self, space: Space) -> Option<&'a Rows> {
        self.own?.get(usize::from(space.0)).filter(|rows| !rows.is_empty())
    }

    fn own_row(&self, space: Space, key: &[u8]) -> Option<Option<&'a [u8]>> {
        self.own_rows(space)?.get(key).map(Option::as_deref)
    }

    /// As the verb, without a fault.
    #[inline]
    pub(super) fn get_row(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        if let Some(value) = self.own_row(space, key) {
            value.inspect(|value| out.extend_from_slice(value));
            return Ok(value.is_some());
        }
        let store = self.shared.store.read();
        let value = store.get(space, key, self.at)?;
        value.inspect(|value| out.extend_from_slice(value));
        Ok(value.is_some())
    }

    fn get_batches(
        &self,
        space: Space,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(keys.len().min(GET_MANY_BATCH));
        let mut index = 0;
        for keys in keys.chunks(GET_MANY_BATCH) {
            bytes.clear();
            ends.clear();
            {
                let store = self.shared.store.read();
                for key in keys {
                    let value = match self.own_row(space, key) {
                        Some(value) => value,
                        None => store.get(space, key, self.at)?,
                    };
                    value.inspect(|value| bytes.extend_from_slice(value));
                    ends.push(value.is_some().then_some(bytes.len()));
                }
            }
            let mut start = 0;
            for end in &ends {
                each(index, end.and_then(|end| bytes.get(start..end)));
                start = end.unwrap_or(start);
                index += 1;
            }
        }
        Ok(())
    }

    /// Where the scan stopped before the end of its range; none when it has seen all of it.
    pub(super) fn scan_batches(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut Visit<'_>,
    ) -> Result<Option<Box<[u8]>>> {
        let mut own: OwnRows<'_> = own_range(self.own_rows(space), range, direction).peekable();
        let mut visitor = Visitor { left: limit, each };
        let mut batch = Batch::default();
        let mut rows = FIRST_BATCH_ROWS;
        loop {
            self.fill(&mut batch, space, range, direction, rows.min(visitor.left))?;
            for (key, value) in batch.iter() {
                while let Some((own_key, own_value)) = own.next_if(|own| precedes(own.0, key, direction)) {
                    if visitor.visit(own_key, own_value).is_break() {
                        return Ok(Some(own_key.into()));
                    }
                }
                let (key, value) = own.next_if(|own| own.0 == key).unwrap_or((key, Some(value)));
                if visitor.visit(key, value).is_break() {
                    return Ok(Some(key.into()));
                }
            }
            if batch.last {
                break;
            }
            rows = (rows * 2).min(LARGEST_BATCH_ROWS);
        }
        for (key, value) in own {
            if visitor.visit(key, value).is_break() {
                return Ok(Some(key.into()));
            }
        }
        Ok(None)
    }

    /// The next rows of the range behind where the batch ended.
    fn fill(
        &self,
        batch: &mut Batch,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        rows: usize,
    ) -> Result<()> {
        batch.bytes.clear();
        batch.ends.clear();
        let resume = batch.seen_to.take();
        let bounds = match (&resume, direction) {
            (None, _) => (Bound::Included(range.start), Bound::Excluded(range.end)),
            (Some(seen), Direction::Forward) => (Bound::Excluded(&**seen), Bound::Excluded(range.end)),
            (Some(seen), Direction::Backward) => (Bound::Included(range.start), Bound::Excluded(&**seen)),
        };
        let store = self.shared.store.read();
        let map = store.space(space)?;
        batch.last = true;
        if is_empty(bounds) {
            return Ok(());
        }
        let found = map.range::<[u8], _>(bounds);
        match direction {
            Direction::Forward => batch.take(found, self.at, rows),
            Direction::Backward => batch.take(found.rev(), self.at, rows),
        }
        Ok(())
    }
}

/// Counts the rows and stops at the limit.
struct Visitor<'a, 'b> {
    left: usize,
    each: &'a mut Visit<'b>,
}

impl Visitor<'_, '_> {
    fn visit(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        let Some(value) = value else { return ControlFlow::Continue(()) };
        self.left = self.left.saturating_sub(1);
        (self.each)(key, value)?;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Rows copied out of the store: keys and values end to end.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each key and its value end.
    ends: Vec<(usize, usize)>,
    /// The last key that was looked at, when there may be more behind it.
    seen_to: Option<Box<[u8]>>,
    /// Nothing of the range is left.
    last: bool,
}

impl Batch {
    fn take<'m>(&mut self, found: impl Iterator<Item = (&'m Box<[u8]>, &'m Version)>, at: u64, rows: usize) {
        for (looks, (key, row)) in found.enumerate() {
            if let Some(value) = row.value_at(at) {
                self.bytes.extend_from_slice(key);
                let key_end = self.bytes.len();
                self.bytes.extend_from_slice(value);
                self.ends.push((key_end, self.bytes.len()));
            }
            if self.ends.len() >= rows || self.bytes.len() >= BATCH_BYTES || looks + 1 >= BATCH_LOOKS {
                self.seen_to = Some(key.clone());
                self.last = false;
                return;
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().filter_map(move |&(key_end, end)| {
            let row = (self.bytes.get(start..key_end)?, self.bytes.get(key_end..end)?);
            start = end;
            Some(row)
        })
    }
}

fn own_range<'a>(
    rows: Option<&'a Rows>,
    range: Range<'_>,
    direction: Direction,
) -> Box<dyn Iterator<Item = OwnRow<'a>> + 'a> {
    let Some(rows) = rows else { return Box::new(std::iter::empty()) };
    if range.start >= range.end {
        return Box::new(std::iter::empty());
    }
    let bounds = (Bound::Included(range.start), Bound::Excluded(range.end));
    let found = rows.range::<[u8], _>(bounds).map(|(key, value)| (&**key, value.as_deref()));
    match direction {
        Direction::Forward => Box::new(found),
        Direction::Backward => Box::new(found.rev()),
    }
}

fn precedes(a: &[u8], b: &[u8], direction: Direction) -> bool {
    match direction {
        Direction::Forward => a < b,
        Direction::Backward => a > b,
    }
}

/// Whether nothing can lie between; an ordered map refuses such bounds by a panic.
fn is_empty(bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match bounds {
        (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end)) => start >= end,
        _ => false,
    }
}
