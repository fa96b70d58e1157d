//! Removing the oldest entries.
//!
//! Redis keeps entries in nodes, and about (`~`) as many as asked for go with it: whole nodes only. Here a node is so many
//! entries as `stream-node-max-entries` says, counted from the first one.

use tarn_engine::Direction;

use super::range::Ids;
use super::refs::Refs;
use super::{KIND, Stream};
use crate::encoding::DATA;
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::stream::{GROUPS, Id};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Env, WriteCx};
use crate::types::collection::{Collection, Walk};

/// Entries whose rows are deleted in one commit, which is held in memory. If more of them go, those that stay are written
/// anew, in batches.
pub const MAX_DELETED: u64 = 100_000;

/// What is to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// So many of the newest entries.
    Len(u64),
    /// Those with this id or a greater one.
    From(Id),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trim {
    pub bound: Bound,
    /// Whole nodes only, and no more than so many entries.
    pub about: Option<u64>,
    pub refs: Refs,
}

impl Stream<'_> {
    /// Removes entries from the front; how many. The stream is to be saved.
    pub fn trim(&mut self, cx: &mut WriteCx<'_>, trim: Trim) -> Result<u64> {
        if trim.refs != Refs::Keep && self.state.groups > 0 {
            return self.trim_with_refs(cx, trim);
        }
        let count = match trim.bound {
            Bound::Len(len) => self.excess(&cx.env, len, trim.about),
            Bound::From(id) => self.count_before(cx, id, trim.about)?,
        };
        self.remove_first(cx, count)?;
        Ok(count)
    }

    /// As [`Stream::trim`], entry by entry.
    fn trim_with_refs(&mut self, cx: &mut WriteCx<'_>, trim: Trim) -> Result<u64> {
        let groups = self.groups_for(cx, trim.refs)?;
        let mut groups = self.open_groups(&groups);
        // What is kept for its references is stepped over, up to the same place.
        let most = match (trim.bound, trim.about) {
            (Bound::Len(len), about) => self.excess(&cx.env, len, about),
            (Bound::From(id), Some(limit)) => self.count_before(cx, id, Some(limit))?,
            (Bound::From(_), None) => u64::MAX,
        };
        let is_exact = trim.about.is_none();
        let mut seen = 0;
        let removed = self.remove_first_with(
            cx,
            &mut groups,
            &mut |removed, id| {
                seen += 1;
                match trim.bound {
                    Bound::Len(_) if is_exact => removed < most,
                    Bound::From(bound) if is_exact => id < bound,
                    _ => seen <= most,
                }
            },
            trim.refs,
        )?;
        self.save_groups(cx, &mut groups);
        Ok(removed)
    }

    /// How many entries are more than `len`.
    fn excess(&self, env: &Env<'_>, len: u64, about: Option<u64>) -> u64 {
        let excess = self.len().saturating_sub(len);
        match about {
            None => excess,
            // The last node may have few entries.
            Some(limit) if excess == self.len() && excess <= limit => excess,
            Some(limit) => whole_nodes(env, excess.min(limit)),
        }
    }

    /// How many entries are before an id.
    fn count_before(&self, cx: &WriteCx<'_>, id: Id, about: Option<u64>) -> Result<u64> {
        if self.is_empty() || id <= self.state.first {
            return Ok(0);
        }
        if id > self.state.last && about.is_none_or(|limit| limit >= self.len()) {
            return Ok(self.len());
        }
        let Some(last) = id.prev() else { return Ok(0) };
        let Some(mut walk) = self.walk(Ids { first: Id::MIN, last }, Direction::Forward) else {
            return Ok(0);
        };
        let mut count = 0;
        let limit = about.unwrap_or(u64::MAX);
        while count < limit && walk.next(cx)?.is_some() {
            count += 1;
            cx.env.move_if_heavy(usize::try_from(count).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
        }
        // The last node may have few entries.
        if about.is_none() || count == self.len() {
            return Ok(count);
        }
        Ok(whole_nodes(&cx.env, count))
    }

    fn remove_first(&mut self, cx: &mut WriteCx<'_>, count: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        cx.env.move_if_heavy(usize::try_from(count).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
        let left = self.len().saturating_sub(count);
        if count > MAX_DELETED {
            self.state.first = self.first_of_last(cx, left)?;
            return self.rebuild(cx, left);
        }
        let all = Ids { first: Id::MIN, last: Id::MAX };
        let Some(mut walk) = self.walk(all, Direction::Forward) else { return Ok(()) };
        for _ in 0..count {
            let Some(element) = walk.next(cx)? else { break };
            cx.delete(DATA, self.rows.sub_row(element.sub));
        }
        self.state.first = match walk.peek(cx)? {
            Some(element) if left > 0 => Id::decode(element.sub)?,
            _ => Id::MIN,
        };
        self.rows.resize(left);
        Ok(())
    }

    /// The first of the last `count` entries, looked for from the nearer end.
    fn first_of_last(&self, cx: &WriteCx<'_>, count: u64) -> Result<Id> {
        let before = self.len().saturating_sub(count);
        let (direction, skipped) = match count {
            0 => return Ok(Id::MIN),
            _ if count < before => (Direction::Backward, count - 1),
            _ => (Direction::Forward, before),
        };
        let all = Ids { first: Id::MIN, last: Id::MAX };
        let missing = Error::Damaged("an entry of a stream");
        let mut walk = self.walk(all, direction).ok_or(missing.clone())?.whole();
        for _ in 0..skipped {
            walk.next(cx)?;
        }
        let element = walk.next(cx)?.ok_or(missing)?;
        Ok(Id::decode(element.sub)?)
    }

    /// Puts what is left, from the first entry on, into a new version. The groups stay as they are.
    fn rebuild(&mut self, cx: &mut WriteCx<'_>, left: u64) -> Result<()> {
        let mut build = Builder::begin(&cx.env, left)?;
        let mut rows = Collection::create(cx, self.rows.entry.clone(), KIND)?;
        let mut row = RowKey::from_slice(rows.prefix());
        let prefix_len = row.len();
        let all = Ids { first: Id::MIN, last: Id::MAX };
        let entries = if left == 0 { None } else { self.walk(all, Direction::Forward).map(Walk::whole) };
        let old = RowKey::from_slice(self.rows.prefix());
        let end = collection_end(&old);
        let groups = Walk::over(GROUPS, prefix_len, old, end, Direction::Forward);
        for (space, mut walk) in entries.map(|walk| (DATA, walk)).into_iter().chain([(GROUPS, groups)]) {
            while let Some(element) = walk.next(cx)? {
                row.truncate(prefix_len);
                row.extend_from_slice(element.sub);
                build.put(cx, space, &row, &[element.value])?;
            }
        }
        build.finish(cx)?;
        rows.resize(left);
        self.rows = rows;
        Ok(())
    }
}

/// So many of these entries as are whole nodes.
fn whole_nodes(env: &Env<'_>, entries: u64) -> u64 {
    match env.limits.stream_node_entries as u64 {
        // Without a limit there is one node.
        0 => 0,
        node => entries - entries % node,
    }
}
