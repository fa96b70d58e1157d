//! The rows of all regions, as TiKV keeps them for its transactions: a lock, and a history of writes.
//!
//! TiKV has three columns. Here the value that its default column holds stands in the lock, and after the commit in the
//! write: nobody can tell the difference over the wire. Every method is one command of TiKV and as atomic: either
//! all of it happens or nothing.

mod commit;
mod error;
mod garbage;
mod pessimistic;
mod prewrite;
#[cfg(test)]
mod random;
mod read;
mod resolve;
mod row;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;

pub use error::Error;
pub use pessimistic::Blocker;
pub use read::View;
pub use row::{Lock, LockKind, Record, Row, Write, WriteKind};

/// The size of an encoded key above which TiKV refuses to write it.
pub const MAX_ENCODED_KEY_LEN: usize = 8 * 1024;

/// A range of keys; an empty end means that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

impl Range {
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && (self.end.is_empty() || key < self.end.as_slice())
    }

    /// What both ranges have.
    pub fn and(&self, start: &[u8], end: &[u8]) -> Self {
        let later = self.start.as_slice().max(start);
        let earlier = match (self.end.is_empty(), end.is_empty()) {
            (true, _) => end,
            (_, true) => &self.end,
            _ => self.end.as_slice().min(end),
        };
        Self { start: later.to_vec(), end: earlier.to_vec() }
    }

    /// `None` for a range in which nothing can be.
    fn bounds(&self) -> Option<(Bound<&[u8]>, Bound<&[u8]>)> {
        if self.end.is_empty() {
            return Some((Bound::Included(&self.start), Bound::Unbounded));
        }
        (self.start < self.end).then_some((Bound::Included(&self.start), Bound::Excluded(&self.end)))
    }
}

#[derive(Default)]
pub struct Mvcc {
    rows: BTreeMap<Vec<u8>, Row>,
}

impl Mvcc {
    pub fn row(&self, key: &[u8]) -> Option<&Row> {
        self.rows.get(key)
    }

    pub fn rows(&self, range: &Range) -> impl DoubleEndedIterator<Item = (&Vec<u8>, &Row)> {
        range.bounds().map(|bounds| self.rows.range::<[u8], _>(bounds)).into_iter().flatten()
    }

    pub fn lock(&self, key: &[u8]) -> Option<&Lock> {
        self.rows.get(key)?.lock.as_ref()
    }

    /// The lock that this transaction has on the key.
    fn lock_of(&self, key: &[u8], start_ts: u64) -> Option<&Lock> {
        self.lock(key).filter(|lock| lock.start_ts == start_ts)
    }

    pub fn put_lock(&mut self, key: &[u8], lock: Lock) {
        self.row_mut(key).lock = Some(lock);
    }

    /// Records that a transaction was rolled back on the key. A commit at the same timestamp stays.
    pub fn put_rollback(&mut self, key: &[u8], start_ts: u64) {
        self.row_mut(key).put_rollback(start_ts, false);
    }

    fn row_mut(&mut self, key: &[u8]) -> &mut Row {
        self.rows.entry(key.to_vec()).or_default()
    }

    /// What became of the transaction on this key.
    fn record(&self, key: &[u8], start_ts: u64) -> Record {
        self.rows.get(key).map_or(Record::Missing { overlapped: false }, |row| row.record(start_ts))
    }

    /// How many keys the range holds, counted no further than `most`.
    pub fn count(&self, range: &Range, most: usize) -> usize {
        self.rows(range).take(most).count()
    }
}
