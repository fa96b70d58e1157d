//! Units of write-back: freezing what was committed, the threads that do it, and the end of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use parking_lot::Mutex;

use super::Inner;
use super::abandoned::Waiting;
use super::hash::RowHash;
use super::log::replay::End;
use super::log::segment::Segment;
use super::table::Table;
use super::table::set::TableSet;
use crate::{Error, Groups, Result, failpoint};

/// Rows in the active tables at which these are frozen.
const FREEZE_AT_BYTES: usize = 384 << 20;
/// Log since the last freeze at which the next one is due, so that replaying it stays short.
const FREEZE_AT_LOG_BYTES: u64 = 768 << 20;
/// Log since the last freeze, as a part of what is free on the disk, at which the next one is due: it has to fit in there.
const LOG_SHARE_OF_FREE: u64 = 8;
/// Sealed sets of the current unit from which on they are joined; each costs a lookup on the way to a clean row.
const SETS_BEFORE_JOIN: usize = 4;
const LOOK_ROUND: Duration = Duration::from_millis(500);

/// When to freeze, given the budget for dirty rows: several units must fit into it.
pub fn freeze_at(dirty_bytes: usize) -> usize {
    FREEZE_AT_BYTES.min(dirty_bytes / 4).max(1)
}

/// Exactly the rows of a run of log segments.
pub struct Unit {
    pub number: u64,
    /// Oldest first. More than one where snapshots were taken meanwhile.
    pub sets: Vec<Arc<TableSet>>,
    pub segments: Vec<Arc<Segment>>,
    pub end: End,
    /// What the filter said before the unit was cut off.
    pub mark: Option<u64>,
}

impl Unit {
    pub fn last_segment(&self) -> Option<u64> {
        self.segments.iter().map(|segment| segment.sequence).max()
    }
}

#[derive(Default)]
pub struct Units {
    /// Sealed sets of the unit that is being filled, oldest first.
    pub sealed: Vec<Arc<TableSet>>,
    /// The last position that the sealed sets hold.
    pub sealed_to: u64,
    /// Units to be written back, oldest first.
    pub queue: VecDeque<Arc<Unit>>,
    pub last_number: u64,
    /// Units up to this one are in the sorted data.
    pub done_number: u64,
    pub error: Option<Error>,
    pub abandoned: Waiting,
}

impl Units {
    /// Every sealed set, oldest first.
    pub fn sets(&self) -> impl Iterator<Item = &Arc<TableSet>> {
        self.queue.iter().flat_map(|unit| &unit.sets).chain(&self.sealed)
    }
}

#[derive(Default)]
pub struct Background {
    freezer: OnceLock<Thread>,
    writer: OnceLock<Thread>,
    freeze_wanted: AtomicBool,
    pub is_ending: AtomicBool,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    #[inline]
    pub fn want_freeze(&self) {
        if !self.freeze_wanted.load(Ordering::Relaxed) && !self.freeze_wanted.swap(true, Ordering::AcqRel) {
            unpark(&self.freezer);
        }
    }

    pub fn wake_writer(&self) {
        unpark(&self.writer);
    }

    pub fn start(inner: &Arc<Inner>) -> Result<()> {
        let start = |name: &str, body: fn(&Inner)| {
            let inner = inner.clone();
            let handle = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || body(&inner))
                .map_err(|error| Error::Io(format!("starting a thread: {error}")))?;
            Ok::<_, Error>(handle)
        };
        let sync = start("tarn-sync", |inner| inner.log.run_sync_thread())?;
        let freezer = start("tarn-freeze", Inner::run_freezer)?;
        let _first = inner.background.freezer.set(freezer.thread().clone());
        let writer = start("tarn-write-back", Inner::run_write_back)?;
        let _first = inner.background.writer.set(writer.thread().clone());
        let loader = start("tarn-load", Inner::run_loader)?;
        inner.loader.set_thread(loader.thread().clone());
        inner.background.handles.lock().extend([sync, freezer, writer, loader]);
        Ok(())
    }
}

fn unpark(thread: &OnceLock<Thread>) {
    if let Some(thread) = thread.get() {
        thread.unpark();
    }
}

impl Inner {
    /// Turns what was committed so far into a unit and hands it to the write-back; the number to wait for.
    pub(super) fn freeze(&self) -> Result<u64> {
        self.log.prepare_segment()?;
        let mark = self.store.filter().given().map(|filter| filter.before_write_back());
        // A write to a file that is being synced waits for the sync, and with it all commits would.
        let _between_syncs = self.log.between_syncs();
        let mut units = self.units.lock();
        let blocked = self.barrier.block();
        let cut = self.log.cut()?;
        self.seal(&mut units);
        drop(blocked);
        let sets = std::mem::take(&mut units.sealed);
        if !sets.is_empty() || !cut.segments.is_empty() || units.abandoned.is_waiting() {
            units.last_number += 1;
            units.abandoned.unit_is_cut();
            let number = units.last_number;
            units.queue.push_back(Arc::new(Unit {
                number,
                sets,
                segments: cut.segments,
                end: End { lsn: cut.last_lsn, position: cut.position },
                mark,
            }));
        }
        let number = units.last_number;
        drop(units);
        self.background.wake_writer();
        Ok(number)
    }

    /// Seals the active tables. The caller has blocked the barrier.
    pub(super) fn seal(&self, units: &mut Units) {
        if let Some(set) = self.shards.seal() {
            self.active_bytes.store(0, Ordering::Relaxed);
            self.frozen_bytes.fetch_add(set.bytes, Ordering::Relaxed);
            units.sealed.push(set);
        }
        units.sealed_to = self.log.last().0;
    }

    /// Waits until everything up to a unit is in the sorted data.
    pub(super) fn wait_for_unit(&self, number: u64) -> Result<()> {
        let mut units = self.units.lock();
        while units.done_number < number {
            if self.background.is_ending.load(Ordering::Acquire) {
                return Err(Error::Unavailable("the engine is closing".to_owned()));
            }
            if let Some(error) = &units.error {
                return Err(error.clone());
            }
            self.unit_done.wait(&mut units);
        }
        Ok(())
    }

    fn run_freezer(&self) {
        while !self.background.is_ending.load(Ordering::Acquire) {
            failpoint::reach("freeze");
            self.background.freeze_wanted.store(false, Ordering::SeqCst);
            if self.log.is_stopped() {
                self.background.wake_writer();
            }
            if self.store.damage().take_no_room() {
                self.log.begin_full(Error::Full("a compaction finds no room".to_owned()));
            }
            let is_due = self.active_and_sealed_bytes() >= self.freeze_at_bytes.load(Ordering::Relaxed)
                || self.log.unit_bytes() >= FREEZE_AT_LOG_BYTES
                || self.units.lock().abandoned.is_overdue()
                || self.is_room_wanted();
            if is_due && !self.log.is_stopped() {
                match self.freeze() {
                    Ok(_) => continue,
                    Err(_) if self.log.room().is_full() => {}
                    Err(error) => tracing::warn!(%error, "cannot freeze the tables"),
                }
            }
            self.join_sealed();
            std::thread::park_timeout(LOOK_ROUND);
        }
    }

    /// Whether the log should be written back for the sake of its room, while it fits into what is free.
    fn is_room_wanted(&self) -> bool {
        let room = self.log.room();
        let log = self.log.unit_bytes();
        if room.is_full() {
            // Further deletions come with the unit that waits.
            return log > 0 && self.units.lock().queue.is_empty();
        }
        log > 0 && log >= room.free() / LOG_SHARE_OF_FREE
    }

    fn active_and_sealed_bytes(&self) -> usize {
        let sealed: usize = self.units.lock().sealed.iter().map(|set| set.bytes).sum();
        sealed + self.active_bytes.load(Ordering::Relaxed)
    }

    /// Joins small sealed sets into one, so that frequent snapshots do not leave a long way to clean rows. A set is
    /// joined with newer ones only when these together are half as large, so that each row is copied a few times.
    pub(super) fn join_sealed(&self) {
        let (old, from) = {
            let units = self.units.lock();
            if units.sealed.len() < SETS_BEFORE_JOIN {
                return;
            }
            let mut newer = 0;
            let mut from = units.sealed.len();
            for (index, set) in units.sealed.iter().enumerate().rev() {
                if newer > 0 && set.bytes > newer * 2 {
                    break;
                }
                newer += set.bytes;
                from = index;
            }
            (units.sealed.get(from..).unwrap_or_default().to_vec(), from)
        };
        if old.len() < 2 {
            return;
        }
        let joined = Arc::new(self.join(&old));

        let mut units = self.units.lock();
        let is_same = units.sealed.len() >= from + old.len()
            && units.sealed.iter().skip(from).zip(&old).all(|(now, then)| Arc::ptr_eq(now, then));
        if is_same {
            self.shards.exchange(&old, &joined);
            let before: usize = old.iter().map(|set| set.bytes).sum();
            self.frozen_bytes.fetch_add(joined.bytes, Ordering::Relaxed);
            self.frozen_bytes.fetch_sub(before, Ordering::Relaxed);
            old.iter().for_each(|set| set.count_as_held(self.shards.budget.held()));
            units.sealed.splice(from..from + old.len(), [joined]);
        }
    }

    fn join(&self, sets: &[Arc<TableSet>]) -> TableSet {
        let tables = (0..super::hash::SHARDS)
            .map(|shard| {
                let mut joined = Table::default();
                for table in sets.iter().filter_map(|set| set.table(shard)) {
                    for (_, row) in table.iter() {
                        joined.set(row.space, row.key, &self.rehash(row.space, row.key), row.value);
                    }
                }
                (!joined.is_empty()).then(|| Arc::new(joined))
            })
            .collect();
        TableSet::new(tables)
    }

    /// The hash of a row that is in a table, so of a space that exists.
    pub(super) fn rehash(&self, space: u8, key: &[u8]) -> RowHash {
        let space = crate::Space(space);
        match self.def(space) {
            Ok(def) => self.hasher.row(def, space, key),
            Err(_) => RowHash { group: 0, key: 0, group_len: 0, groups: Groups::Plain },
        }
    }

    pub(super) fn close(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        // Commits that passed the check before it was closed are complete once the barrier could be blocked.
        drop(self.barrier.block());
        let synced = if self.log.is_stopped() { Err(self.log.stop_reason()) } else { self.log.sync_round() };
        let synced = synced.and_then(|()| self.log.mark_synced());
        self.end_threads();
        self.store.close();
        synced
    }

    pub(super) fn end_threads(&self) {
        self.background.is_ending.store(true, Ordering::SeqCst);
        self.log.end_sync_thread();
        unpark(&self.background.freezer);
        unpark(&self.background.writer);
        self.loader.wake();
        self.unit_done.notify_all();
        for handle in std::mem::take(&mut *self.background.handles.lock()) {
            // A thread that panicked has been reported by the panic hook.
            let _ = handle.join();
        }
    }
}
