//! Iterators that the scans of a snapshot leave for the next one. Who walks a large collection asks for a few rows at a
//! time; making an iterator costs more than reading them, and one that goes on has the block it stands in at hand.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rust_rocksdb::DBRawIterator;

use super::Request;
use crate::{Direction, Range, Space};

/// Walks at a time that find theirs again.
const MOST: usize = 32;

struct Left {
    iterator: DBRawIterator<'static>,
    space: Space,
    direction: Direction,
    start: Box<[u8]>,
    end: Box<[u8]>,
    fills_cache: bool,
}

impl Left {
    /// Whether the iterator's bounds, which cannot be changed, do for another range: the bound from which rows are told is
    /// sought anyway, the other one must be the same.
    fn serves(&self, request: &Request<'_>, fills_cache: bool) -> bool {
        let Range { start, end } = request.range;
        let does = match request.direction {
            Direction::Forward => *self.end == *end && *self.start <= *start,
            Direction::Backward => *self.start == *start && *self.end >= *end,
        };
        does && self.space == request.space
            && self.direction == request.direction
            && self.fills_cache == fills_cache
    }
}

/// Must be dropped before the database that its iterators read.
#[derive(Default)]
pub struct Kept {
    /// The one left last comes last.
    list: Mutex<Vec<Left>>,
    /// What the scans have told so far.
    bytes: AtomicUsize,
}

impl Kept {
    pub fn told(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn add_told(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn take(&self, request: &Request<'_>, fills_cache: bool) -> Option<DBRawIterator<'_>> {
        let mut list = self.list.lock();
        let at = list.iter().rposition(|left| left.serves(request, fills_cache))?;
        Some(list.remove(at).iterator)
    }

    /// Keeps an iterator that was opened for this request, or for one that it [serves](Left::serves).
    pub fn leave(&self, iterator: DBRawIterator<'_>, request: &Request<'_>, fills_cache: bool) {
        // SAFETY: the lifetime is that of the database, which outlives this by the contract of the type. Iterators are
        // given out again for no longer than the borrow of this.
        let iterator = unsafe { std::mem::transmute::<DBRawIterator<'_>, DBRawIterator<'static>>(iterator) };
        let Request { space, range, direction, .. } = *request;
        let mut list = self.list.lock();
        if list.len() >= MOST {
            list.remove(0);
        }
        list.push(Left {
            iterator,
            space,
            direction,
            start: range.start.into(),
            end: range.end.into(),
            fills_cache,
        });
    }
}
