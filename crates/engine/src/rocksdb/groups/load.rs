//! Loading the rows of a group: small groups by the scan that wants them, large ones by a thread in the background.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::super::Inner;
use super::super::hash::GroupId;
use super::super::ordered::Ordered;
use super::super::scan::{Request, group};
use super::super::shard::Shard;
use super::super::table::rows::Rows;
use crate::{Direction, Range, Space, Wait};

/// A limit, not measured: groups that wait for the thread. More are not taken, and scanned again.
const MAX_QUEUED: usize = 64;
/// A load may take a core for a second: requests go first (docs/decisions/0009-background-priority.md).
const NICE: i32 = 2;
/// Rows that are loaded between two looks at what commits have written. Not measured: 0.4 ms of loading, so that the lock is taken
/// seldom and few rows are noted.
const ROWS_BETWEEN_LOOKS: usize = 4096;
/// A limit, not measured: rows written behind the place that the load has reached, about 100 MiB beside the group itself.
const MAX_ROWS_AHEAD: usize = 1 << 20;
/// A limit, not measured: the largest group, as a share of the cache's budget. Loading it must not evict most of what is there.
const LARGEST_SHARE: usize = 4;
/// A limit, not measured: the time within which the memory of groups that have left is freed.
const LOOK_ROUND: Duration = Duration::from_millis(200);

/// The thread that loads large groups, and its queue.
#[derive(Default)]
pub struct Loader {
    thread: OnceLock<Thread>,
    queue: Mutex<VecDeque<(Space, Box<[u8]>)>>,
}

impl Loader {
    pub fn set_thread(&self, thread: Thread) {
        let _first = self.thread.set(thread);
    }

    pub fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(super) fn add(&self, id: GroupId<'_>) {
        let space = Space(id.space);
        let mut queue = self.queue.lock();
        if queue.len() < MAX_QUEUED && !queue.iter().any(|(at, name)| *at == space && **name == *id.name) {
            queue.push_back((space, id.name.into()));
            drop(queue);
            self.wake();
        }
    }
}

impl Inner {
    /// Loads a group that has at most so many rows and bytes; the number of the load if it is following then.
    pub(super) fn load(&self, id: GroupId<'_>, wait: Wait, max_rows: usize, max_bytes: usize) -> Option<u64> {
        let end = group::successor(id.name)?;
        let lock = || self.shards.write(id.shard()).ok();
        let number = lock()?.groups.begin_load(id, &self.shards.budget)?;
        let request = Request {
            space: Space(id.space),
            range: Range { start: id.name, end: &end },
            direction: Direction::Forward,
            limit: usize::MAX,
        };
        let mut rows = Ordered::with_room();
        // What commits have written behind the last row that was loaded. The scan has read ahead and may have missed it.
        let mut ahead = BTreeMap::<Box<[u8]>, Option<Box<[u8]>>>::new();
        let (mut is_too_large, mut is_in_vain, mut loaded) = (false, false, 0_usize);
        let outcome = self.scan_sources(request, wait, &Rows::default(), &mut |key, value| {
            let suffix = key.get(id.name.len()..).unwrap_or_default();
            rows.push_last(suffix, value);
            loaded += 1;
            is_too_large = rows.len() > max_rows || rows.bytes() > max_bytes;
            is_in_vain = is_too_large || self.background.is_ending.load(Ordering::Relaxed);
            if loaded.is_multiple_of(ROWS_BETWEEN_LOOKS) {
                let written = lock().and_then(|mut shard| shard.groups.take_written(id, number));
                is_in_vain |= written.is_none();
                ahead.extend(written.into_iter().flatten());
                while let Some(first) = ahead.first_entry().filter(|first| **first.key() <= *suffix) {
                    let (key, value) = first.remove_entry();
                    rows.set(&key, value.as_deref());
                }
                is_in_vain |= ahead.len() > MAX_ROWS_AHEAD;
            }
            if is_in_vain { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let is_loaded = outcome.is_ok() && !is_in_vain;
        if is_loaded {
            ahead.iter().for_each(|(key, value)| rows.set(key, value.as_deref()));
            rows.shrink_to_fit();
        }
        if let Some(mut shard) = lock() {
            shard.groups.end_load(id, number, is_loaded.then_some(rows), &self.shards.budget);
            if is_too_large && max_rows == usize::MAX {
                shard.groups.scans.set_too_large(id.hash);
            }
        }
        self.shards.evict();
        is_loaded.then_some(number)
    }

    /// Forgets what is in memory of a group but its dirty rows.
    pub(in super::super) fn forget_group(&self, space: Space, name: &[u8]) {
        self.forget_rows(self.hasher.group_id(space, name), &|shard, range| {
            shard.groups.forget(space.0, range, &self.shards.budget);
        });
    }

    /// Forgets the order of a group's dirty rows, which every commit would maintain, and its rows in the row cache.
    fn forget_rows(&self, id: GroupId<'_>, then: &dyn Fn(&mut Shard, Range<'_>)) {
        let Some(end) = group::successor(id.name) else { return };
        let range = Range { start: id.name, end: &end };
        let Ok(mut shard) = self.shards.write(id.shard()) else { return };
        let (order, bytes) = shard.active.take_order(id);
        let _before = self
            .active_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |active| Some(active.saturating_sub(bytes)));
        drop(shard);
        drop(order);
        self.shards.forget_rows_of(id, range, &|shard| then(shard, range));
    }

    /// The thread: loads large groups, and frees the memory of those that have left.
    pub(in super::super) fn run_loader(&self) {
        // Refused only where it is not wanted, as in a container with priorities of its own.
        let _ = rustix::process::nice(NICE);
        while !self.background.is_ending.load(Ordering::Acquire) {
            crate::failpoint::reach("load");
            self.shards.free_dropped_groups();
            let next = self.loader.queue.lock().front().cloned();
            let Some((space, name)) = next else {
                std::thread::park_timeout(LOOK_ROUND);
                continue;
            };
            let id = self.hasher.group_id(space, &name);
            let max_bytes = self.shards.budget.limit() / LARGEST_SHARE;
            if let Some(number) = self.load(id, Wait::Allowed, usize::MAX, max_bytes) {
                self.forget_rows(id, &|shard, _| shard.groups.set_only_copy(id, number));
            }
            self.loader.queue.lock().pop_front();
        }
        self.shards.free_dropped_groups();
    }
}
