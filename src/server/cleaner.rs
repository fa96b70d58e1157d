//! Removes what flushed databases and dead collections left behind, on a thread of its own: a range delete waits for a
//! write-back, and so does a compaction.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use tarn_engine::{Range, Space, failpoint};

use crate::dispatch::executor::Executor;
use crate::dispatch::locks::StripeSet;
use crate::encoding::META;
use crate::encoding::rows::EXPIRE_BUCKETS;
use crate::error::Result;
use crate::keyspace::garbage::queue;
use crate::keyspace::garbage::share::{Cell, cells};
use crate::keyspace::kind::ELEMENT_SPACES;
use crate::keyspace::shared::{self, Duty};
use crate::keyspace::{View as _, drop, first_slot, local};
use crate::node::Node;

/// Time between two looks. Databases that are flushed within it are removed together.
const TURN: Duration = Duration::from_secs(1);
/// Expiries walked in one transaction.
const BATCH: usize = 256;
/// Turns after which it is looked for garbage even where no collection has died: deletions are garbage too.
const LOOK_TURNS: u32 = 30;
/// Turns after which the number of dead rows is put on record.
const NOTE_TURNS: u32 = 60;
/// Turns that are left out after a compaction that found little of what it looked for (a snapshot holds it), at most.
const LONGEST_WAIT: u32 = 64;
/// Longer than a commit takes that was begun by a node which is gone.
const OTHERS_END: Duration = Duration::from_secs(60);
/// How often the cluster is told which old versions of rows nobody will read.
const DROP_OLD_EVERY: Duration = Duration::from_secs(60);
/// Longer than anybody reads.
const LEAST_OLD: Duration = Duration::from_secs(600);
/// Versions that may be garbage, looked at in one turn.
const SUSPECTS: usize = 256;
/// Ranges that are removed together.
const RANGES: usize = 256;

/// Runs until `stop` is closed.
pub fn run(node: &Arc<Node>, stop: &Receiver<()>) {
    let mut executor = Executor::uncounted(node);
    let mut collector = Collector::default();
    let mut others = Others::default();
    let mut dropped_old = Instant::now();
    loop {
        match stop.recv_timeout(TURN) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                if node.keyspace.ready().is_ok() {
                    collector.note(&mut executor, 0);
                }
                return;
            }
        }
        failpoint::reach("cleaner");
        if node.keyspace.ready().is_err() {
            continue;
        }
        let duties = &node.keyspace.shared;
        if duties.owns(Duty::Dropped)
            && let Err(error) = clean(&mut executor, stop)
        {
            tracing::warn!(%error, "a flushed database could not be removed; it is tried again");
        }
        let old_after = Duration::from_secs(node.config.current().tikv_gc_seconds);
        if node.engine.is_shared()
            && !old_after.is_zero()
            && dropped_old.elapsed() >= DROP_OLD_EVERY
            && duties.owns(Duty::OldVersions)
        {
            dropped_old = Instant::now();
            if let Err(error) = node.engine.drop_old_versions(old_after.max(LEAST_OLD)) {
                tracing::warn!(%error, "old versions of rows stay for now");
            }
        }
        if node.keyspace.queues_garbage {
            if let Err(error) = empty_queue(&mut executor, stop, &mut others) {
                tracing::warn!(%error, "a dead collection is left for later");
            }
            continue;
        }
        if !duties.owns(Duty::Garbage) {
            continue;
        }
        if let Err(error) = bury(&mut executor, stop) {
            tracing::warn!(%error, "a dead collection is left to compaction");
        }
        if let Err(error) = collector.turn(node, stop) {
            tracing::warn!(%error, "garbage is left where it is");
        }
        collector.note(&mut executor, NOTE_TURNS);
    }
}

/// Compacts where there is much garbage.
#[derive(Default)]
struct Collector {
    /// Turns to leave out, and how many were left out last.
    waits: u32,
    waited: u32,
    /// Rows that were dead at the last look, and turns since then.
    known: u64,
    idle: u32,
    /// Those on record, and turns since they were put there.
    noted: u64,
    unnoted: u32,
}

impl Collector {
    /// Puts on record what is dead, if that was done so many turns ago and has changed: a restart goes on from it.
    fn note(&mut self, executor: &mut Executor, turns: u32) {
        self.unnoted += 1;
        let dead = executor.node.keyspace.garbage.rows.count();
        let owns = executor.node.keyspace.shared.owns(Duty::Garbage);
        if self.unnoted < turns || dead == self.noted || !owns {
            return;
        }
        (self.noted, self.unnoted) = (dead, 0);
        let node = Arc::clone(&executor.node);
        let put = executor.transact(&StripeSet::default(), 0, |cx| node.keyspace.garbage.rows.save(cx));
        if let Err(error) = put.and_then(|()| Ok(node.engine.flush()?)) {
            tracing::warn!(%error, "the number of dead rows is not on record");
        }
    }

    fn turn(&mut self, node: &Node, stop: &Receiver<()>) -> Result<()> {
        if let Some(left) = self.waits.checked_sub(1) {
            self.waits = left;
            return Ok(());
        }
        let known = node.keyspace.garbage.rows.count();
        let is_tight = node.eviction.is_tight();
        self.idle += 1;
        if known == self.known && self.idle < LOOK_TURNS && !is_tight {
            return Ok(());
        }
        (self.known, self.idle) = (known, 0);
        let due = look(node)?;
        if due.is_empty() {
            return Ok(());
        }
        for (space, cell) in &due {
            if ends(node, Duty::Garbage, stop) {
                return Ok(());
            }
            compact(node, *space, cell)?;
        }
        let bytes = |due: &[(Space, Cell)]| due.iter().map(|(_, cell)| cell.dead_bytes()).sum::<u64>();
        let left = bytes(&look(node)?);
        self.waited = if left > bytes(&due) / 2 { (self.waited * 2).clamp(1, LONGEST_WAIT) } else { 0 };
        self.waits = self.waited;
        Ok(())
    }
}

/// Estimates the garbage; the cells that hold too much of it.
fn look(node: &Node) -> Result<Vec<(Space, Cell)>> {
    let is_due = if node.eviction.is_tight() { Cell::is_due_soon } else { Cell::is_due };
    let cells = all_cells(node)?;
    node.keyspace.garbage.estimate(cells.iter().map(|(_, cell)| cell.dead_bytes()).sum());
    Ok(cells.into_iter().filter(|(_, cell)| is_due(cell)).collect())
}

/// Bytes of the sorted data that come back when it is compacted, about.
pub fn freed_bytes(node: &Node) -> Result<u64> {
    Ok(all_cells(node)?.iter().map(|(_, cell)| cell.freed_bytes()).sum())
}

fn all_cells(node: &Node) -> Result<Vec<(Space, Cell)>> {
    let mut databases: Vec<u32> = node.keyspace.shared.databases().map(|db| db.physical).collect();
    databases.sort_unstable();
    let mut all = Vec::new();
    for space in std::iter::once(META).chain(ELEMENT_SPACES) {
        let dead = node.keyspace.garbage.rows.of(space);
        let cells = cells(&local::parts(&node.engine, space)?, &databases, &dead);
        all.extend(cells.into_iter().map(|cell| (space, cell)));
    }
    Ok(all)
}

fn compact(node: &Node, space: Space, cell: &Cell) -> Result<()> {
    let rows = &node.keyspace.garbage.rows;
    let of_cell = || {
        let stripes = rows.of(space).remove(&cell.db).unwrap_or_default();
        stripes.get(cell.stripes.clone()).unwrap_or_default().to_vec()
    };
    let before = of_cell();
    let (start, end) = cell.range();
    local::compact(&node.engine, space, Range { start: &start, end: &end })?;
    // What was not found may be there later, or never was: half of it is believed on.
    for (stripe, (before, after)) in cell.stripes.clone().zip(before.into_iter().zip(of_cell())) {
        rows.take(space, cell.db, first_slot(stripe as u16), before.min(after).div_ceil(2));
    }
    tracing::debug!(space = space.0, bytes = cell.bytes, dead = cell.dead_bytes(), "compacted garbage");
    Ok(())
}

/// Whether a step is to be left out: the process ends, or the duty is somebody else's by now.
fn ends(node: &Node, duty: Duty, stop: &Receiver<()>) -> bool {
    !node.keyspace.shared.owns(duty) || stop.try_recv() != Err(crossbeam_channel::TryRecvError::Empty)
}

/// Has the rows of big collections that died removed.
fn bury(executor: &mut Executor, stop: &Receiver<()>) -> Result<()> {
    let mut by_range = Vec::new();
    for doomed in executor.node.keyspace.garbage.take().iter().flat_map(|dead| dead.ranges()) {
        if ends(&executor.node, Duty::Garbage, stop) {
            return Ok(());
        }
        if !local::abandon(&executor.node.engine, doomed.space, &doomed.start)? {
            by_range.push(doomed);
        }
    }
    remove_all(executor, &by_range, Duty::Garbage, stop).map(|_| ())
}

/// Many ranges are removed behind one write-back: who flushes or deletes again and again must not be faster than this for long. False
/// where the duty has ended before.
fn remove_all(
    executor: &mut Executor,
    doomed: &[drop::Doomed],
    duty: Duty,
    stop: &Receiver<()>,
) -> Result<bool> {
    for some in doomed.chunks(RANGES) {
        if ends(&executor.node, duty, stop) {
            return Ok(false);
        }
        remove(executor, some)?;
    }
    Ok(true)
}

/// The versions of those who share the data, and since when they are the same.
#[derive(Default)]
struct Others {
    firsts: Vec<u64>,
    since: Option<Instant>,
}

impl Others {
    /// The versions of nodes that are gone, once nothing of them can be on its way.
    fn gone(&mut self, node: &Node) -> Vec<std::ops::Range<u64>> {
        let mut firsts: Vec<u64> =
            node.nodes.members().iter().map(|member| member.row.first_version).collect();
        firsts.sort_unstable();
        if self.firsts != firsts {
            self.firsts = firsts;
            self.since = Some(Instant::now());
        }
        match self.since {
            Some(since) if since.elapsed() >= OTHERS_END => shared::versions_beside(&self.firsts),
            _ => Vec::new(),
        }
    }
}

/// Removes what is dead among the versions that were named as garbage: each node those of its own, and one of them those of nodes that are
/// gone. One that is there may be about to make its own live.
fn empty_queue(executor: &mut Executor, stop: &Receiver<()>, others: &mut Others) -> Result<()> {
    let node = Arc::clone(&executor.node);
    let own = node.keyspace.shared.first_version()..node.keyspace.shared.low_watermark();
    remove_dead(executor, stop, own.clone(), own.end)?;
    let gone = others.gone(&node);
    if node.keyspace.shared.owns(Duty::Garbage) {
        for versions in gone {
            remove_dead(executor, stop, versions, u64::MAX)?;
        }
    }
    Ok(())
}

/// Removes what is dead among these versions, the oldest first. None `below` could become live.
fn remove_dead(
    executor: &mut Executor,
    stop: &Receiver<()>,
    versions: std::ops::Range<u64>,
    below: u64,
) -> Result<()> {
    for suspect in executor.look(0, |cx| queue::oldest(cx, versions, SUSPECTS))? {
        for doomed in executor.look(0, |cx| suspect.doomed(cx, below))? {
            if stop.try_recv() != Err(crossbeam_channel::TryRecvError::Empty) {
                return Ok(());
            }
            remove(executor, &[doomed])?;
        }
        executor.transact(&StripeSet::default(), 0, |cx| {
            suspect.finish(cx);
            Ok(())
        })?;
    }
    Ok(())
}

/// Removes ranges that nobody writes to, those in which anything is.
fn remove(executor: &mut Executor, doomed: &[drop::Doomed]) -> Result<()> {
    let mut ranges = Vec::new();
    for drop::Doomed { space, start, end } in doomed {
        let mut is_empty = true;
        executor.look(0, |cx| {
            cx.scan_each(*space, start, end, 1, &mut |_, _| {
                is_empty = false;
                ControlFlow::Break(())
            })
        })?;
        if !is_empty {
            ranges.push((*space, Range { start, end }));
        }
    }
    local::delete_ranges(&executor.node.engine, &ranges)?;
    Ok(())
}

fn clean(executor: &mut Executor, stop: &Receiver<()>) -> Result<()> {
    let numbers = executor.look(0, |cx| drop::dropped(cx))?;
    if numbers.is_empty() {
        return Ok(());
    }
    let doomed: Vec<_> = numbers.iter().flat_map(|number| drop::ranges(*number)).collect();
    if !remove_all(executor, &doomed, Duty::Dropped, stop)? {
        return Ok(());
    }
    for bucket in 0..EXPIRE_BUCKETS {
        let mut place = Some(drop::Place::bucket(bucket));
        while let Some(from) = place {
            if !executor.node.keyspace.shared.owns(Duty::Dropped) {
                return Ok(());
            }
            place = executor.transact(&StripeSet::default(), 0, |cx| {
                drop::expiries(cx, &numbers, bucket, &from, BATCH)
            })?;
        }
    }
    for number in numbers {
        executor.node.keyspace.garbage.rows.forget(number);
        executor.transact(&StripeSet::default(), 0, |cx| {
            drop::finish(cx, number);
            Ok(())
        })?;
    }
    executor.node.engine.flush()?;
    Ok(())
}
