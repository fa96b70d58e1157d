//! Getting the log onto the device.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::Log;
use crate::{Durability, Result, failpoint};

const TICK: Duration = Duration::from_secs(1);
/// How often a full disk is looked at.
const FULL_TICK: Duration = Duration::from_millis(100);

impl Log {
    pub(super) fn wake_sync_thread(&self) {
        if !self.sync_wanted.swap(true, Ordering::AcqRel)
            && let Some(thread) = self.sync_thread.get()
        {
            thread.unpark();
        }
    }

    /// Held while no sync shall begin.
    pub fn between_syncs(&self) -> MutexGuard<'_, ()> {
        self.round.lock()
    }

    /// Everything that is committed now goes to the device; returns when it is there.
    pub fn sync_round(&self) -> Result<()> {
        let _round = self.round.lock();
        // Where the sync thread alone writes, it may sync the live file; elsewhere writers would stall behind it.
        let leave = self.durability() != Durability::Always;
        if leave
            && let Err(error) = self.prepare_segment()
            && !self.room.is_full()
        {
            tracing::warn!(%error, "cannot prepare a log segment");
        }
        let started = Instant::now();
        let (closed, live, position, lsn) = {
            let mut writer = self.writer.lock();
            self.write_pending(&mut writer)?;
            if leave && writer.next.is_some() {
                self.leave_segment(&mut writer);
            }
            let live = writer.current.clone().filter(|current| !current.is_empty());
            (writer.unsynced.clone(), live, self.written.load(Ordering::Acquire), writer.next_lsn - 1)
        };
        if self.synced_lsn.load(Ordering::Acquire) < lsn {
            let outcome =
                closed.iter().try_for_each(|segment| segment.sync_closed()).and_then(|()| match &live {
                    Some(live) => live.sync(),
                    None => Ok(()),
                });
            if let Err(error) = outcome {
                // After a failed sync the operating system may have dropped the pages: trying again proves nothing.
                self.stop(error.clone());
                return Err(error);
            }
            self.syncs.fetch_add(1, Ordering::Relaxed);
            self.last_sync_micros.store(started.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        self.writer
            .lock()
            .unsynced
            .retain(|segment| closed.iter().all(|done| done.sequence != segment.sequence));
        self.synced_lsn.store(lsn, Ordering::Release);
        self.synced.store(position, Ordering::Release);
        self.tell();
        Ok(())
    }

    /// The sync thread. A round that fails has stopped the log and told everyone; the thread stays, idle.
    pub fn run_sync_thread(&self) {
        let _ = self.sync_thread.set(std::thread::current());
        let mut next_tick = Instant::now() + TICK;
        while !self.closing.load(Ordering::Acquire) {
            failpoint::reach("sync");
            self.sync_wanted.store(false, Ordering::SeqCst);
            let is_full = self.room.is_full();
            if is_full {
                self.tend_room();
            }
            let behind = self.synced.load(Ordering::Acquire) < self.last.load(Ordering::SeqCst);
            let due = match self.durability() {
                Durability::Always => behind,
                Durability::EverySecond => behind && Instant::now() >= next_tick,
                Durability::Os => false,
            };
            if due && !self.is_stopped() {
                let _told = self.sync_round();
                next_tick = Instant::now() + TICK;
                continue;
            }
            self.room.measure();
            if !self.is_stopped()
                && let Err(error) = self.prepare_segment()
                && !self.room.is_full()
            {
                tracing::warn!(%error, "cannot prepare a log segment");
            }
            let wait = next_tick.saturating_duration_since(Instant::now());
            let wait = if wait.is_zero() { TICK } else { wait };
            std::thread::park_timeout(if is_full { wait.min(FULL_TICK) } else { wait });
        }
    }

    pub fn end_sync_thread(&self) {
        self.closing.store(true, Ordering::Release);
        if let Some(thread) = self.sync_thread.get() {
            thread.unpark();
        }
    }
}
