//! Entries in order.

use std::ops::ControlFlow;

use tarn_engine::{Direction, Range};

use super::Stream;
use crate::encoding::DATA;
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::stream::{Id, Strings};
use crate::error::{Error, Result, Stop, Why};
use crate::keyspace::{Env, Place, View};
use crate::types::collection::Walk;

/// Entries from one id to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    pub first: Id,
    pub last: Id,
}

impl Stream<'_> {
    /// Visits up to `limit` entries, until `visit` breaks. Much of it is work for a worker.
    pub fn each(
        &self,
        cx: &impl View,
        ids: Ids,
        direction: Direction,
        limit: u64,
        visit: &mut dyn FnMut(Id, Strings<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some((start, end)) = self.bounds(ids) else { return Ok(()) };
        let prefix_len = self.rows.prefix().len();
        let limit = usize::try_from(limit.min(self.len())).unwrap_or(usize::MAX);
        if limit > Env::IO_THREAD_MAX_ROWS && ids.first <= self.state.first && ids.last >= self.state.last {
            cx.env().move_if_heavy(limit, Env::IO_THREAD_MAX_ROWS)?;
        }
        let on_io_thread = cx.env().place == Place::IoThread;
        let (mut rows, mut bytes, mut stop) = (0, 0, None);
        cx.scan_with(DATA, Range { start: &start, end: &end }, direction, limit, &mut |row, value| {
            rows += 1;
            bytes += value.len();
            let is_much = rows > Env::IO_THREAD_MAX_ROWS || bytes > Env::IO_THREAD_MAX_BYTES;
            let read = || {
                Ok::<_, Error>((Id::decode(row.get(prefix_len..).unwrap_or_default())?, Strings::of(value)?))
            };
            match read() {
                _ if is_much && on_io_thread => stop = Some(Stop::Move(Why::Heavy)),
                Err(error) => stop = Some(error.into()),
                Ok((id, strings)) => return visit(id, strings),
            }
            ControlFlow::Break(())
        })?;
        stop.map_or(Ok(()), Err)
    }

    /// The first or the last entry of a range.
    pub fn edge(&self, cx: &impl View, ids: Ids, direction: Direction) -> Result<Option<Id>> {
        let mut found = None;
        self.each(cx, ids, direction, 1, &mut |id, _| {
            found = Some(id);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The last entry that there is.
    pub fn last_entry(&self, cx: &impl View) -> Result<Option<Id>> {
        self.edge(cx, Ids { first: Id::MIN, last: Id::MAX }, Direction::Backward)
    }

    /// In steps, between which the stream may be written. None where there is nothing.
    pub fn walk(&self, ids: Ids, direction: Direction) -> Option<Walk> {
        let (start, end) = self.bounds(ids)?;
        Some(Walk::over(DATA, self.rows.prefix().len(), start, end, direction))
    }

    /// Looks for the first entry where the one that was is gone. There is one.
    pub(super) fn find_first(&mut self, cx: &impl View) -> Result<()> {
        let behind = Ids { first: self.state.first, last: Id::MAX };
        let first = self.edge(cx, behind, Direction::Forward)?;
        self.state.first = first.ok_or(Error::Damaged("the first entry of a stream"))?;
        Ok(())
    }

    /// The rows of these entries, as far as there may be any: the first key and the key behind the last.
    fn bounds(&self, ids: Ids) -> Option<(RowKey, RowKey)> {
        // Not what trimming has left behind in front of the first one.
        let first = ids.first.max(self.state.first);
        if self.is_empty() || first > ids.last || first > self.state.last {
            return None;
        }
        let start = self.rows.place(&first.encode());
        let end = match ids.last.next() {
            Some(behind) if ids.last < self.state.last => self.rows.place(&behind.encode()),
            _ => collection_end(self.rows.prefix()),
        };
        Some((start, end))
    }
}
