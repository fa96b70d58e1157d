//! Reads of cached groups. Rows are copied out under the shard's lock and shown without it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::super::Inner;
use super::super::hash::GroupId;
use super::super::ordered::{CopiedRows, Ordered, Part};
use super::super::scan::{MAX_BYTES, MAX_ROWS, Request, group};
use super::scans::Load;
use super::{Lookup, SMALL_BYTES};
use crate::{Direction, Groups, Range, Ranked, Result, Space, Wait};

/// A larger buffer is not kept for the next read.
const KEPT_BYTES: usize = 64 << 10;

thread_local! {
    /// A scan within a scan finds an empty buffer and makes its own.
    static COPIED: RefCell<CopiedRows> = RefCell::default();
}

/// Gives the thread's buffer for copied rows.
pub fn with_copied<T>(read: impl FnOnce(&mut CopiedRows) -> T) -> T {
    let mut copied = COPIED.take();
    let outcome = read(&mut copied);
    if copied.capacity() <= KEPT_BYTES {
        COPIED.set(copied);
    }
    outcome
}

/// How far a read goes to have a group follow commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    None,
    /// It is loaded in the background if it is read often.
    Background,
    /// A small group is loaded now, waiting for the disk or not.
    Load(Wait),
}

impl Inner {
    /// The group of all keys of a range, if it is one and its space has cached groups.
    fn group_of<'a>(&self, space: Space, range: Range<'a>) -> Result<Option<GroupId<'a>>> {
        let def = self.def(space)?;
        let is_cached = def.groups == Groups::Kept;
        let name = is_cached.then(|| group::single(def, range.start, range.end)).flatten();
        Ok(name.map(|name| self.hasher.group_id(space, name)))
    }

    /// Reads a group that follows commits; None where it does not.
    fn read_group<T>(
        &self,
        id: GroupId<'_>,
        effort: Effort,
        read: impl FnOnce(&Ordered) -> T,
    ) -> Result<Option<T>> {
        let load = {
            let shard = self.shards.read(id.shard())?;
            match shard.groups.lookup(id) {
                Lookup::Following(rows) => {
                    shard.cache_hits.fetch_add(1, Ordering::Relaxed);
                    return Ok(Some(read(rows)));
                }
                _ if effort == Effort::None => return Ok(None),
                Lookup::Lagging => None,
                Lookup::Absent => Some(shard.groups.scans.count(id.hash)),
            }
        };
        let is_following = match (load, effort) {
            (None, _) => {
                let is_following = self.shards.write(id.shard())?.catch_up(id, &self.shards.budget);
                self.shards.evict();
                is_following
            }
            (Some(Load::Now(max_rows)), Effort::Load(wait)) => {
                self.load(id, wait, max_rows, SMALL_BYTES).is_some()
            }
            (Some(Load::InBackground), _) => {
                self.loader.add(id);
                false
            }
            _ => false,
        };
        if !is_following {
            return Ok(None);
        }
        match self.shards.read(id.shard())?.groups.lookup(id) {
            Lookup::Following(rows) => Ok(Some(read(rows))),
            _ => Ok(None),
        }
    }

    /// Copies rows that a scan wants; whether these are all of them. None where the group does not follow commits.
    pub(in super::super) fn copy_from_group(
        &self,
        request: &Request<'_>,
        wait: Wait,
        out: &mut CopiedRows,
    ) -> Result<Option<bool>> {
        let Request { space, range, direction, limit } = *request;
        let Some(id) = self.group_of(space, range)? else { return Ok(None) };
        let part = Part {
            start: range.start.get(id.name.len()..).unwrap_or_default(),
            end: range.end.strip_prefix(id.name),
            direction,
            max_rows: limit.min(MAX_ROWS),
            max_bytes: MAX_BYTES,
        };
        self.read_group(id, Effort::Load(wait), |rows| {
            out.begin(id.name);
            rows.copy(&part, out)
        })
    }

    /// Shows the rows of ranges within one group, as [`crate::Read::scan_ranges`] does; None where it is not one, or does not follow
    /// commits.
    #[allow(clippy::type_complexity)] // spelt out: it says what is called
    pub(in super::super) fn show_ranges(
        &self,
        space: Space,
        ranges: &[Range<'_>],
        limit: usize,
        wait: Wait,
        copied: &mut CopiedRows,
        each: &mut dyn FnMut(usize, &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<bool>> {
        let Some(first) = ranges.first() else { return Ok(Some(true)) };
        let Some(id) = self.group_of(space, *first)? else { return Ok(None) };
        let parts: SmallVec<[(&[u8], &[u8]); 9]> = ranges
            .iter()
            .map_while(|range| Some((range.start.strip_prefix(id.name)?, range.end.strip_prefix(id.name)?)))
            .collect();
        if parts.len() < ranges.len() {
            return Ok(None);
        }
        // How many rows there are up to the end of each range.
        let mut ends: SmallVec<[usize; 9]> = SmallVec::new();
        let is_all = self.read_group(id, Effort::Load(wait), |rows| {
            copied.begin(id.name);
            parts.iter().all(|(start, end)| {
                let max_rows = limit.min(MAX_ROWS).saturating_sub(copied.len());
                let (direction, max_bytes) = (Direction::Forward, MAX_BYTES);
                let part = Part { start, end: Some(end), direction, max_rows, max_bytes };
                let is_all = rows.copy(&part, copied);
                ends.push(copied.len());
                is_all
            })
        })?;
        let Some(is_all) = is_all else { return Ok(None) };
        let (mut number, mut shown) = (0, 0);
        let flow = copied.for_each(&mut |key, value| {
            while ends.get(number).is_some_and(|end| shown >= *end) {
                number += 1;
            }
            shown += 1;
            each(number, key, value)
        });
        Ok(Some(is_all && flow.is_continue()))
    }

    /// As [`crate::Read::nth_at_once`].
    pub(in super::super) fn nth_of_group(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        effort: Effort,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Ranked> {
        self.check_open()?;
        let Some(id) = self.group_of(space, range)? else { return Ok(Ranked::Unknown) };
        let start = range.start.get(id.name.len()..).unwrap_or_default();
        with_copied(|copied| {
            let counted = self.read_group(id, effort, |rows| {
                copied.begin(id.name);
                rows.copy_nth(start, range.end.strip_prefix(id.name), rank, copied)
            })?;
            match counted {
                None => return Ok(Ranked::Unknown),
                Some(Some(rows)) => return Ok(Ranked::Only(rows)),
                Some(None) => copied.show(show),
            }
            Ok(Ranked::Shown)
        })
    }

    /// As [`crate::Read::pick`].
    pub(in super::super) fn pick(
        &self,
        space: Space,
        group: &[u8],
        draw: &mut dyn FnMut() -> u64,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<bool> {
        self.check_open()?;
        with_copied(|copied| {
            let is_picked = self.read_group(self.hasher.group_id(space, group), Effort::None, |rows| {
                copied.begin(group);
                rows.copy_any(draw, copied)
            })?;
            if is_picked == Some(true) {
                copied.show(show);
            }
            Ok(is_picked == Some(true))
        })
    }
}
