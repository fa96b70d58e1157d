//! Write-back: a unit's rows go into the sorted data, oldest unit first.
//!
//! Each step leaves a state from which recovery goes on: the log still holds the rows until the applied lsn says that
//! the files do, and rows are absolute, so that what was ingested before a crash is only written again.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rust_rocksdb::WriteBatch;

use super::Inner;
use super::freeze::Unit;
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

impl Inner {
    pub(super) fn run_write_back(&self) {
        // Refused only where it is not wanted, as in a container with priorities of its own.
        let _ = rustix::process::nice(NICE);
        while !self.background.is_ending.load(Ordering::Acquire) {
            failpoint::reach("write-back");
            let next = self.units.lock().queue.front().cloned();
            let Some(unit) = next else {
                std::thread::park_timeout(IDLE_ROUND);
                continue;
            };
            self.wait_for_compaction();
            if let Err(error) = self.write_back(&unit) {
                if self.background.is_ending.load(Ordering::Acquire) {
                    return;
                }
                tracing::error!(%error, "cannot write rows back; trying again");
                self.units.lock().error = Some(error);
                self.is_stuck.store(self.fullness() >= 1.0, Ordering::Relaxed);
                self.unit_done.notify_all();
                std::thread::park_timeout(RETRY_AFTER);
                self.store.resume();
            }
        }
    }

    /// Ingested files are not held up by RocksDB however many have piled up at the top. Waiting here lets the pressure
    /// rise, so that clients slow down and compaction gets its share of the machine.
    fn wait_for_compaction(&self) {
        while self.store.is_write_stopped() && !self.background.is_ending.load(Ordering::Acquire) {
            std::thread::park_timeout(STALL_ROUND);
        }
    }

    fn write_back(&self, unit: &Unit) -> Result<()> {
        let abandoned = self.units.lock().abandoned.of_unit(unit.number);
        let (sorted, complete);
        {
            let _turn = self.write_back_turn.lock();
            sorted = SortedRows::of(&unit.sets, self.spaces.len(), &self.store, &abandoned);
            for segment in &unit.segments {
                // A failed sync proves nothing about what it was to sync, and the next one proves no more.
                segment.sync_closed().inspect_err(|error| self.log.stop(error.clone()))?;
            }
            self.steps.reach("synced")?;
            let ingest_dir = super::open::ingest_dir(&self.dir);
            complete = self.complete_groups(&sorted);
            write_unit(&self.store, &ingest_dir, &sorted, unit, &self.steps)?;
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

/// Brings a unit's rows into the sorted data, and then says so there.
pub fn write_unit(
    store: &Store,
    ingest_dir: &Path,
    sorted: &SortedRows<'_>,
    unit: &Unit,
    steps: &Steps,
) -> Result<()> {
    let bytes: usize = unit.sets.iter().map(|set| set.bytes).sum();
    if bytes < BATCH_BYTES {
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
