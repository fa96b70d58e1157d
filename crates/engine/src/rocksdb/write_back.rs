//! Write-back: a unit's rows go into the sorted data, oldest unit first.
//!
//! Each step leaves a state from which recovery goes on: the log still holds the rows until the applied lsn says that
//! the files do, and rows are absolute, so that what was ingested before a crash is only written again.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rust_rocksdb::WriteBatch;

use super::Inner;
use super::abandoned::Abandoned;
use super::freeze::Unit;
use super::log::record;
use super::log::replay::End;
use super::sorted::{Sorted, SortedRows};
use super::store::Store;
use crate::{Error, Result, Space, failpoint};

/// Below this a unit goes in as one batch: a file for each space would be mostly overhead.
const BATCH_BYTES: usize = 4 << 20;
/// Steps back behind requests, which slow down by themselves when it falls behind.
const NICE: i32 = 4;
const RETRY_AFTER: Duration = Duration::from_secs(1);
const STALL_ROUND: Duration = Duration::from_millis(10);
const IDLE_ROUND: Duration = Duration::from_secs(10);
/// What RocksDB needs for a few words about a unit.
const LEAST_FREE_BYTES: u64 = 256 << 10;
/// Data up to this size is compacted from the top as a whole. Of more, a compaction takes only a part.
const COMPACTED_AT_ONCE_BYTES: u64 = 1 << 30;
/// Files at the top of a space from which on that is done.
const COMPACTED_FROM_FILES: usize = 8;
/// How long a full disk waits for the next compaction, so that write-back and the log have their turn.
const COMPACT_SOON_AFTER: Duration = Duration::from_secs(2);
/// The same where nothing was written back since the last.
const COMPACT_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Places at which tests let the engine fail or stop.
#[derive(Default)]
pub struct Steps {
    #[cfg(test)]
    pub hook: Option<Box<dyn Fn(&'static str) -> Result<()> + Send + Sync>>,
}

impl Steps {
    #[allow(clippy::unused_self, clippy::unnecessary_wraps)] // outside of tests there is nothing to do
    pub fn reach(&self, _name: &'static str) -> Result<()> {
        #[cfg(test)]
        if let Some(hook) = &self.hook {
            return hook(_name);
        }
        Ok(())
    }
}

/// Where one compaction may need more room than there is, write-back has the room to itself, and compacts in between.
struct Turns {
    is_tight: bool,
    last_compaction: Option<Instant>,
    /// Something was written back since.
    is_behind: bool,
}

impl Inner {
    pub(super) fn run_write_back(&self) {
        // Refused only where it is not wanted, as in a container with priorities of its own.
        let _ = rustix::process::nice(NICE);
        let mut turns =
            Turns { is_tight: !self.store.compacts_at_open(), last_compaction: None, is_behind: true };
        while !self.background.is_ending.load(Ordering::Acquire) {
            failpoint::reach("write-back");
            if self.log.is_stopped() {
                if let Err(error) = self.renew_log() {
                    tracing::warn!(%error, "the log cannot be written anew yet");
                    self.pause(RETRY_AFTER);
                }
                continue;
            }
            if let Err(error) = self.store.step_around_damage() {
                tracing::warn!(%error, "cannot compact what is above damaged files");
            }
            let next = self.units.lock().queue.front().cloned();
            self.share_room(&mut turns, next.is_some());
            let Some(unit) = next else {
                std::thread::park_timeout(if turns.is_tight { RETRY_AFTER } else { IDLE_ROUND });
                continue;
            };
            self.wait_for_compaction();
            let written = self.write_back(&unit, turns.is_tight);
            self.write_back_bytes.store(0, Ordering::Relaxed);
            if let Err(error) = written {
                if self.background.is_ending.load(Ordering::Acquire) {
                    return;
                }
                let is_full = matches!(error, Error::Full(_));
                if is_full {
                    self.log.room().is_refused_to_write_back.store(true, Ordering::Relaxed);
                    self.log.begin_full(error.clone());
                } else {
                    tracing::error!(%error, "cannot write rows back; trying again");
                }
                self.units.lock().error = Some(error);
                self.is_stuck.store(self.fullness() >= 1.0, Ordering::Relaxed);
                self.unit_done.notify_all();
                self.pause(RETRY_AFTER);
                if is_full {
                    self.merge_units();
                }
                // RocksDB takes a try that fails for want of room again for the end.
                if !is_full || self.log.room().measure() >= self.log.room().sizes.reserve / 2 {
                    self.store.resume();
                }
            } else {
                turns.is_behind = true;
                self.log.room().is_refused_to_write_back.store(false, Ordering::Relaxed);
            }
        }
    }

    /// After a failed write or sync of the log: all that the sorted data does not have goes into a new segment, from memory.
    fn renew_log(&self) -> Result<()> {
        let mark = self.store.filter().given().map(|filter| filter.before_write_back());
        let _turn = self.write_back_turn.lock();
        let _between_syncs = self.log.between_syncs();
        let (sets, queued) = {
            let mut units = self.units.lock();
            let _blocked = self.barrier.block();
            self.seal(&mut units);
            let queued: Vec<_> = units.queue.iter().flat_map(|unit| unit.segments.clone()).collect();
            (units.sets().cloned().collect::<Vec<_>>(), queued)
        };
        // Commits are refused meanwhile. Only the newest row of each key: a start may find the old segments whole, and a part of
        // the new one behind them.
        let sorted = SortedRows::of(&sets, self.spaces.len(), &self.store, &Abandoned::default());
        let rows = sorted.spaces.iter().flatten().map(|row| sorted.row(row));
        let rows = rows.map(|row| record::Row { space: row.space, key: row.key, value: row.value });
        let renewed = self.log.rewrite(rows)?;
        drop(sorted);
        self.steps.reach("log written anew")?;
        self.store.set_applied(End { lsn: renewed.before_lsn, position: renewed.position })?;
        self.log.marks().applied(renewed.before_lsn, Some(renewed.segment.sequence - 1))?;
        self.steps.reach("new log begins")?;
        {
            let mut units = self.units.lock();
            units.last_number += 1;
            units.abandoned.unit_is_cut();
            units.error = None;
            let end = End { lsn: renewed.last_lsn, position: renewed.position };
            let segments = vec![renewed.segment.clone()];
            let number = units.last_number;
            // The same rows; small sets may have been joined meanwhile.
            let sets = units.sets().cloned().collect();
            units.sealed.clear();
            units.queue = VecDeque::from([Arc::new(Unit { number, sets, segments, end, mark })]);
        }
        self.is_stuck.store(false, Ordering::Relaxed);
        self.log.go_on(&renewed, &queued)
    }

    /// Whoever hands over units meanwhile does not wake it.
    fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.background.is_ending.load(Ordering::Acquire) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::park_timeout(left);
        }
    }

    /// RocksDB does not get over a flush that finds no room, but a file of ours that does not fit is only removed.
    fn way_when_tight(&self) -> Result<Way> {
        let (free, least) = (self.log.room().measure(), LEAST_FREE_BYTES);
        if free < least {
            self.log.room().give_up_all();
            return Err(Error::Full(format!(
                "{free} bytes are free, and {least} are needed to write rows back"
            )));
        }
        Ok(Way::Files)
    }

    /// What waits to be written back becomes one unit, with what was committed since: where rows have been deleted meanwhile, it
    /// needs less room than its parts.
    fn merge_units(&self) {
        // Not possible where there is no room for a segment. Then the deletions come with a later try.
        let _later = self.freeze();
        let mut units = self.units.lock();
        if let Some(last) = units.queue.back().cloned()
            && units.queue.len() > 1
        {
            let sets = units.queue.iter().flat_map(|unit| unit.sets.clone()).collect();
            let segments = units.queue.iter().flat_map(|unit| unit.segments.clone()).collect();
            let Unit { number, end, mark, .. } = *last;
            units.queue = VecDeque::from([Arc::new(Unit { number, sets, segments, end, mark })]);
        }
    }

    /// Where room is tight, RocksDB's own compactions would take what write-back needs, fail for want of the rest, and begin anew; and
    /// it does not get over a flush that finds no room. So they are turned off, and what is at the top is compacted in between: when
    /// it has become much, and on a full disk when deletions were written back, whose space is wanted now.
    fn share_room(&self, turns: &mut Turns, has_unit: bool) {
        let sizes = self.log.room().sizes;
        let (free, sorted) = (self.log.room().measure(), self.store.sorted_bytes());
        let is_full = self.log.room().is_full();
        let is_tight = sorted < COMPACTED_AT_ONCE_BYTES && (is_full || free < sorted + 2 * sizes.reserve);
        if turns.is_tight != is_tight {
            if let Err(error) = self.store.set_compactions(!is_tight) {
                tracing::warn!(%error, "cannot turn compactions on or off");
            }
            *turns = Turns { is_tight, last_compaction: None, is_behind: true };
        }
        let pause = if turns.is_behind { COMPACT_SOON_AFTER } else { COMPACT_AGAIN_AFTER };
        let is_due = turns.last_compaction.is_none_or(|last| last.elapsed() >= pause);
        if is_full && !is_tight && is_due {
            self.store.suggest_compactions();
            (turns.last_compaction, turns.is_behind) = (Some(Instant::now()), false);
        }
        let is_much = || self.store.files_at_top() >= COMPACTED_FROM_FILES && free > sorted + sizes.start;
        if is_tight && ((is_full && !has_unit && is_due) || (!is_full && is_much())) {
            self.store.compact_from_top();
            (turns.last_compaction, turns.is_behind) = (Some(Instant::now()), false);
        }
    }

    /// Ingested files are not held up by RocksDB however many have piled up at the top. Waiting here lets the pressure
    /// rise, so that clients slow down and compaction gets its share of the machine.
    fn wait_for_compaction(&self) {
        let may_wait = || !self.log.room().is_full() && !self.background.is_ending.load(Ordering::Acquire);
        while self.store.is_write_stopped() && may_wait() {
            std::thread::park_timeout(STALL_ROUND);
        }
    }

    fn write_back(&self, unit: &Unit, is_tight: bool) -> Result<()> {
        let abandoned = self.units.lock().abandoned.of_unit(unit.number);
        let (sorted, complete);
        {
            let _turn = self.write_back_turn.lock();
            sorted = SortedRows::of(&unit.sets, self.spaces.len(), &self.store, &abandoned);
            self.write_back_bytes.store(sorted.bytes() as u64, Ordering::Relaxed);
            for segment in &unit.segments {
                // A failed sync proves nothing about what it was to sync, and the next one proves no more.
                segment.sync_closed().inspect_err(|error| self.log.stop(error.clone()))?;
            }
            self.steps.reach("synced")?;
            let ingest_dir = super::open::ingest_dir(&self.dir);
            complete = self.complete_groups(&sorted);
            let way = if is_tight { self.way_when_tight()? } else { Way::BySize };
            write_unit(&self.store, &ingest_dir, &sorted, unit, way, &self.steps)?;
            self.log.marks().applied(unit.end.lsn, unit.last_segment())?;
            if let (Some(filter), Some(mark)) = (self.store.filter().given(), unit.mark) {
                filter.written_back(mark);
            }
            if let Err(error) = self.remove_abandoned(&abandoned) {
                tracing::warn!(%error, "what was abandoned is left to compaction");
            }
        }
        {
            let mut units = self.units.lock();
            units.queue.pop_front();
            units.abandoned.forget_unit(unit.number);
            units.error = None;
            // From here on a snapshot finds the rows in the sorted data alone.
            self.retirements.fetch_add(1, Ordering::SeqCst);
        }
        self.is_stuck.store(false, Ordering::Relaxed);
        self.keep_complete(complete, &sorted, unit.number);
        drop(sorted);
        self.shards.retire(&unit.sets, unit.number, &abandoned, &|space, key| self.rehash(space, key));
        let bytes: usize = unit.sets.iter().map(|set| set.bytes).sum();
        self.frozen_bytes.fetch_sub(bytes, Ordering::Relaxed);
        unit.sets.iter().for_each(|set| set.count_as_held(self.shards.budget.held()));
        self.write_backs.fetch_add(1, Ordering::Relaxed);
        self.steps.reach("retired")?;
        self.log.remove(&unit.segments);
        self.units.lock().done_number = unit.number;
        self.unit_done.notify_all();
        Ok(())
    }

    pub(super) fn stuck_error(&self) -> Error {
        let units = self.units.lock();
        match &units.error {
            Some(Error::Full(text)) => Error::Full(text.clone()),
            Some(error) => Error::Io(format!("rows cannot be written back: {error}")),
            None => Error::Unavailable("rows cannot be written back".to_owned()),
        }
    }
}

/// How a unit's rows come into the sorted data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Few of them as a batch, many as files.
    BySize,
    Files,
}

/// Brings a unit's rows into the sorted data, and then says so there.
pub fn write_unit(
    store: &Store,
    ingest_dir: &Path,
    sorted: &SortedRows<'_>,
    unit: &Unit,
    way: Way,
    steps: &Steps,
) -> Result<()> {
    let bytes: usize = unit.sets.iter().map(|set| set.bytes).sum();
    if bytes < BATCH_BYTES && way == Way::BySize {
        write_batch(store, sorted, steps)?;
    } else {
        write_files(store, ingest_dir, sorted, steps)?;
    }
    steps.reach("rows in the sorted data")?;
    store.set_applied(unit.end)?;
    steps.reach("applied lsn written")
}

/// Spaces in the order in which they are written: the first one, which tells of the others, last.
fn in_order<'s>(sorted: &'s SortedRows<'_>) -> impl Iterator<Item = (Space, &'s [Sorted])> {
    let spaces = sorted.spaces.iter().enumerate().map(|(index, rows)| (Space(index as u8), rows.as_slice()));
    spaces.rev().filter(|(_, rows)| !rows.is_empty())
}

fn write_batch(store: &Store, sorted: &SortedRows<'_>, steps: &Steps) -> Result<()> {
    let mut batch = WriteBatch::default();
    for (space, rows) in in_order(sorted) {
        let family = store.family_to_fill(space)?;
        for row in rows.iter().map(|row| sorted.row(row)) {
            match row.value {
                Some(value) => batch.put_cf(family, row.key, value),
                None => batch.delete_cf(family, row.key),
            }
        }
    }
    store.write_batch(&batch)?;
    steps.reach("batch written")?;
    for (space, _) in in_order(sorted) {
        store.flush(space)?;
        steps.reach("space flushed")?;
    }
    Ok(())
}

fn write_files(store: &Store, ingest_dir: &Path, sorted: &SortedRows<'_>, steps: &Steps) -> Result<()> {
    for (space, rows) in in_order(sorted) {
        let path = ingest_dir.join(format!("{}.sst", space.0));
        // A try before this one may have failed half-way.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(super::files::io_error("removing", &path, &error));
            }
            _ => {}
        }
        let mut file = store.file_writer(space, &path)?;
        for row in rows.iter().map(|row| sorted.row(row)) {
            let outcome = match row.value {
                Some(value) => file.put(row.key, value),
                None => file.delete(row.key),
            };
            outcome.map_err(|error| store.error(&error))?;
        }
        file.finish().map_err(|error| store.error(&error))?;
        drop(file);
        steps.reach("file written")?;
        store.ingest(space, &path)?;
        steps.reach("space ingested")?;
    }
    Ok(())
}
