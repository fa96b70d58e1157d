//! Gathering a group's rows, and scans of groups that are whole.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::super::Inner;
use super::super::hash::shard_of;
use super::super::ordered::{CopiedRows, Ordered, Part};
use super::super::scan::{MAX_BYTES, MAX_ROWS, Request, group};
use super::super::shard::Shard;
use super::super::table::rows::Rows;
use super::{LARGEST_SHARE, Later, MAX_LATER, SMALL_BYTES, Worth};
use crate::{Direction, Groups, Range, Ranked, Result, Space, Wait};

/// Groups that wait to be gathered; more are not taken.
const MAX_WAITING: usize = 64;
/// Gathering a large group may take a core for a second: it steps back behind requests.
const NICE: i32 = 2;
/// Rows that are gathered between two looks at what was written meanwhile.
const TAKE_IN_AFTER: usize = 4096;
const LOOK_ROUND: Duration = Duration::from_millis(200);

/// The thread that gathers large groups, and what it is to do.
#[derive(Default)]
pub struct Gatherer {
    thread: OnceLock<Thread>,
    waiting: Mutex<VecDeque<(Space, Box<[u8]>)>>,
}

impl Gatherer {
    pub fn set_thread(&self, thread: Thread) {
        let _first = self.thread.set(thread);
    }

    pub fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn want(&self, space: Space, group: &[u8]) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < MAX_WAITING && !waiting.iter().any(|(at, other)| *at == space && **other == *group)
        {
            waiting.push_back((space, group.into()));
            drop(waiting);
            self.wake();
        }
    }
}

/// What became of the attempt to take rows from a group that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// All that the request asks for.
    All,
    /// As many rows as fit.
    Some,
    /// The group is not whole.
    None,
}

impl Inner {
    /// Copies rows out of a group that is whole. Where it is worth it, the group is made whole first.
    pub(in super::super) fn copy_whole(
        &self,
        request: &Request<'_>,
        wait: Wait,
        out: &mut CopiedRows,
    ) -> Result<Copied> {
        let Request { space, range, .. } = *request;
        let def = self.def(space)?;
        if def.groups != Groups::Kept {
            return Ok(Copied::None);
        }
        let Some(group) = group::single(def, range.start, range.end) else { return Ok(Copied::None) };
        let hash = self.hasher.group(space, group);
        if let Some(copied) = self.copy_known(request, group, hash, out)? {
            return Ok(copied);
        }
        if self.make_whole(space, group, hash, wait)?
            && let Some(copied) = self.copy_known(request, group, hash, out)?
        {
            return Ok(copied);
        }
        Ok(Copied::None)
    }

    /// As [`Inner::nth_of_whole`], with the row copied out.
    pub(in super::super) fn take_nth(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        gather: Option<Wait>,
        out: &mut CopiedRows,
    ) -> Result<Ranked> {
        let def = self.def(space)?;
        if def.groups != Groups::Kept {
            return Ok(Ranked::Unknown);
        }
        let Some(group) = group::single(def, range.start, range.end) else { return Ok(Ranked::Unknown) };
        let hash = self.hasher.group(space, group);
        let mut shard = self.shards.read(shard_of(hash))?;
        if shard.wholes.find(hash, space.0, group).is_none() {
            drop(shard);
            let is_whole = match gather {
                Some(wait) => self.make_whole(space, group, hash, wait)?,
                None => self.make_whole_aside(space, group, hash)?,
            };
            if !is_whole {
                return Ok(Ranked::Unknown);
            }
            shard = self.shards.read(shard_of(hash))?;
        }
        let Some(rows) = shard.wholes.find(hash, space.0, group) else { return Ok(Ranked::Unknown) };
        let start = range.start.get(group.len()..).unwrap_or_default();
        out.begin(group);
        let only = rows.copy_nth(start, range.end.strip_prefix(group), rank, out);
        Ok(only.map_or(Ranked::Shown, Ranked::Only))
    }

    /// As [`crate::Read::pick`], with the row copied out; false where the group is not whole.
    pub(in super::super) fn any_of_whole(
        &self,
        space: Space,
        group: &[u8],
        draw: &mut dyn FnMut() -> u64,
        out: &mut CopiedRows,
    ) -> Result<bool> {
        let hash = self.hasher.group(space, group);
        let shard = self.shards.read(shard_of(hash))?;
        let rows = shard.wholes.find(hash, space.0, group);
        out.begin(group);
        Ok(rows.is_some_and(|rows| rows.copy_any(draw, out)))
    }

    /// To be asked for a scan of a group that is not whole: counts it, and makes the group whole where that is worth it.
    fn make_whole(&self, space: Space, group: &[u8], hash: u64, wait: Wait) -> Result<bool> {
        let worth = self.count_scan(hash)?;
        if self.wake(space, group, hash)? {
            return Ok(true);
        }
        match worth {
            Worth::Nothing => Ok(false),
            Worth::Here(rows) => Ok(self.gather(space, group, hash, wait, rows, SMALL_BYTES).is_some()),
            Worth::Aside => {
                self.gatherer.want(space, group);
                Ok(false)
            }
        }
    }

    /// The same for who will not wait at all: a group that is asked for again and again is gathered by the thread aside.
    fn make_whole_aside(&self, space: Space, group: &[u8], hash: u64) -> Result<bool> {
        if self.count_scan(hash)? == Worth::Aside {
            self.gatherer.want(space, group);
        }
        Ok(false)
    }

    fn count_scan(&self, hash: u64) -> Result<Worth> {
        let shard = self.shards.read(shard_of(hash))?;
        if shard.wholes.counts() {
            return Ok(shard.wholes.count_scan(hash));
        }
        drop(shard);
        let mut shard = self.shards.write(shard_of(hash))?;
        shard.wholes.begin_counting();
        Ok(shard.wholes.count_scan(hash))
    }

    /// Brings a group that rests up to date; whether it is whole now.
    fn wake(&self, space: Space, group: &[u8], hash: u64) -> Result<bool> {
        if !self.shards.read(shard_of(hash))?.wholes.resting.has(hash, space.0, group) {
            return Ok(false);
        }
        let is_whole = self.shards.write(shard_of(hash))?.wake(space, group, hash, &self.shards.budget);
        self.shards.evict();
        Ok(is_whole)
    }

    /// None where the group is not whole.
    fn copy_known(
        &self,
        request: &Request<'_>,
        group: &[u8],
        hash: u64,
        out: &mut CopiedRows,
    ) -> Result<Option<Copied>> {
        let Request { space, range, direction, limit } = *request;
        let shard = self.shards.read(shard_of(hash))?;
        let Some(rows) = shard.wholes.find(hash, space.0, group) else { return Ok(None) };
        let part = Part {
            start: range.start.get(group.len()..).unwrap_or_default(),
            end: range.end.strip_prefix(group),
            direction,
            max_rows: limit.min(MAX_ROWS),
            max_bytes: MAX_BYTES,
        };
        out.begin(group);
        Ok(Some(if rows.copy(&part, out) { Copied::All } else { Copied::Some }))
    }

    /// Makes a group whole, if it has no more rows and bytes than these; its number if it is.
    fn gather(
        &self,
        space: Space,
        group: &[u8],
        hash: u64,
        wait: Wait,
        max_rows: usize,
        max_bytes: usize,
    ) -> Option<u64> {
        let end = group::successor(group)?;
        let mut shard = self.shards.write(shard_of(hash)).ok()?;
        let number = shard.wholes.begin(hash, space.0, group, &self.shards.budget)?;
        drop(shard);
        let mut rows = Ordered::with_room();
        let request = Request {
            space,
            range: Range { start: group, end: &end },
            direction: Direction::Forward,
            limit: usize::MAX,
        };
        let mut later = Later::default();
        let (mut is_too_large, mut is_for_nothing, mut gathered) = (false, false, 0_usize);
        let outcome = self.scan_sources(request, wait, &Rows::default(), &mut |key, value| {
            let key = key.get(group.len()..).unwrap_or_default();
            rows.push_last(key, value);
            gathered += 1;
            is_too_large = rows.len() > max_rows || rows.bytes() > max_bytes;
            is_for_nothing = is_too_large || self.background.is_ending.load(Ordering::Relaxed);
            if gathered % TAKE_IN_AFTER == 0 {
                let shard = self.shards.write(shard_of(hash)).ok();
                match shard.and_then(|mut shard| shard.wholes.take_meanwhile(hash, space.0, group, number)) {
                    Some(written) => later.take_in(written, &mut rows, key),
                    None => is_for_nothing = true,
                }
                is_for_nothing |= later.rows.len() > MAX_LATER;
            }
            if is_for_nothing { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let rows = (outcome.is_ok() && !is_for_nothing).then(|| {
            later.end(&mut rows);
            rows.shrink_to_fit();
            rows
        });
        let is_whole = rows.is_some();
        if let Ok(mut shard) = self.shards.write(shard_of(hash)) {
            shard.wholes.end(hash, space.0, group, number, rows, &self.shards.budget);
            if is_too_large && max_rows == usize::MAX {
                shard.wholes.give_up(hash);
            }
        }
        self.shards.evict();
        is_whole.then_some(number)
    }

    /// Forgets what else is kept of a group that has become whole: the order of its dirty rows, which every commit would
    /// go on to maintain, and its clean rows.
    fn forget_else(&self, space: Space, group: &[u8], hash: u64, number: u64) {
        self.forget_rows(space, group, hash, &|shard, _| {
            shard.wholes.set_alone(hash, space.0, group, number);
        });
    }

    /// Forgets all that is kept of a group in memory but its dirty rows.
    pub(in super::super) fn forget_kept(&self, space: Space, group: &[u8]) {
        let hash = self.hasher.group(space, group);
        self.forget_rows(space, group, hash, &|shard, range| {
            shard.wholes.forget(space.0, range, &self.shards.budget);
        });
    }

    fn forget_rows(&self, space: Space, group: &[u8], hash: u64, end: &dyn Fn(&mut Shard, Range<'_>)) {
        let Some(successor) = group::successor(group) else { return };
        let range = Range { start: group, end: &successor };
        let index = shard_of(hash);
        let Ok(mut shard) = self.shards.write(index) else { return };
        let (order, bytes) = shard.active.take_order(space.0, group, hash);
        let _before = self
            .active_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |active| Some(active.saturating_sub(bytes)));
        drop(shard);
        drop(order);
        self.shards.forget_group(index, space, range, &|shard| end(shard, range));
    }

    /// The thread's work: large groups, and the memory of those that have left.
    pub(in super::super) fn run_gatherer(&self) {
        // Refused only where it is not wanted, as in a container with priorities of its own.
        let _ = rustix::process::nice(NICE);
        while !self.background.is_ending.load(Ordering::Acquire) {
            crate::failpoint::reach("gather");
            self.shards.free_gone();
            let next = self.gatherer.waiting.lock().front().cloned();
            let Some((space, group)) = next else {
                std::thread::park_timeout(LOOK_ROUND);
                continue;
            };
            let hash = self.hasher.group(space, &group);
            let max_bytes = self.shards.budget.limit() / LARGEST_SHARE;
            let number = self.gather(space, &group, hash, Wait::Allowed, usize::MAX, max_bytes);
            if let Some(number) = number {
                self.forget_else(space, &group, hash, number);
            }
            self.gatherer.waiting.lock().pop_front();
        }
        self.shards.free_gone();
    }
}
