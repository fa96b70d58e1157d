//! Iterators that the scans of a snapshot leave for the next scan. A client that walks a large collection asks for a few rows at
//! a time. Making an iterator costs more than reading them, and one that goes on still holds its block.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rust_rocksdb::DBRawIterator;

use super::Request;
use crate::{Direction, Range, Space};

/// Walks of one snapshot that can each find their iterator again.
const MAX_ITERATORS: usize = 32;

struct Pooled {
    iterator: DBRawIterator<'static>,
    space: Space,
    direction: Direction,
    start: Box<[u8]>,
    end: Box<[u8]>,
    fills_cache: bool,
}

impl Pooled {
    /// Whether the iterator can serve another range. Its bounds cannot be changed. The scan seeks to where it begins, so only
    /// the bound at which it ends must be the same.
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
pub struct IteratorPool {
    /// The newest comes last.
    list: Mutex<Vec<Pooled>>,
    /// Bytes that the scans have read so far.
    bytes_read: AtomicUsize,
}

impl IteratorPool {
    pub fn bytes_read(&self) -> usize {
        self.bytes_read.load(Ordering::Relaxed)
    }

    pub fn add_bytes_read(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn take(&self, request: &Request<'_>, fills_cache: bool) -> Option<DBRawIterator<'_>> {
        let mut list = self.list.lock();
        let at = list.iter().rposition(|pooled| pooled.serves(request, fills_cache))?;
        Some(list.remove(at).iterator)
    }

    /// Keeps an iterator that was opened for this request, or for one that it [serves](Pooled::serves).
    pub fn put(&self, iterator: DBRawIterator<'_>, request: &Request<'_>, fills_cache: bool) {
        // SAFETY: the lifetime is that of the database, which outlives this by the contract of the type. Iterators are
        // given out again for no longer than the borrow of this.
        let iterator = unsafe { std::mem::transmute::<DBRawIterator<'_>, DBRawIterator<'static>>(iterator) };
        let Request { space, range, direction, .. } = *request;
        let mut list = self.list.lock();
        if list.len() >= MAX_ITERATORS {
            list.remove(0);
        }
        list.push(Pooled {
            iterator,
            space,
            direction,
            start: range.start.into(),
            end: range.end.into(),
            fills_cache,
        });
    }
}
