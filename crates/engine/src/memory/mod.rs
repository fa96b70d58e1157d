//! An in-memory engine with snapshot isolation and injected faults.
//!
//! It serves two ends: running without a disk, and being the double on which the behaviour of a distributed engine is
//! tested. So it does what a distributed engine does and the embedded one does not: a write reads from a snapshot, a
//! commit may be refused with [`Error::Conflict`], and with [`Faults`] any call may fail.
//!
//! One ordered map of versions per space stands behind one lock ([`store`]). A commit is one short exclusive hold,
//! in which it checks that nothing it read or wrote has changed since it began, so that transactions are
//! serialisable; each read is one short shared hold. Old versions stay only while a transaction or snapshot that can
//! see them is open ([`active`]).

mod active;
mod faults;
mod reads;
mod scan;
mod store;
mod sweep;
mod transaction;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

pub use faults::{Call, Fault, Faults, Injected, Rates};
pub use transaction::{MemoryRead, MemorySnapshot, MemoryWrite};

use crate::{Engine, Error, Filter, Notify, Position, Range, Result, Space, SpaceDef, Stats, Wait};
use active::Active;
use faults::Injector;
use store::{Rows, Store};
use sweep::Sweeper;

/// Versions that one hold of the lock reclaims after a snapshot was dropped.
const RECLAIM_STEP_ROWS: usize = 1024;

/// Versions that a write which is dropped reclaims: it runs where nothing may take long.
const RECLAIM_AFTER_WRITE_ROWS: usize = 64;

/// What a commit checks besides the rows that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Nothing: two writes that each read what the other writes may both commit, as on many distributed engines.
    Snapshot,
    /// The rows and ranges that it has read.
    Serialisable,
}

pub struct MemoryEngine {
    shared: Arc<Shared>,
}

/// What transactions and snapshots hold on to.
struct Shared {
    /// Taken before `active` where both are held.
    store: RwLock<Store>,
    active: Mutex<Active>,
    /// The last commit whose rows are in the store.
    position: AtomicU64,
    /// From which oldest reader on there is something to reclaim; spares the lock where there is not.
    reclaimable_at: AtomicU64,
    sweeper: Sweeper,
    /// Whether a call must look further before it may go on: closed, or faults are set.
    guarded: AtomicBool,
    validates_reads: AtomicBool,
    closed: AtomicBool,
    injector: Injector,
    notified: AtomicU64,
    notify: RwLock<Vec<Notify>>,
}

impl MemoryEngine {
    pub fn new(spaces: &'static [SpaceDef]) -> MemoryEngine {
        MemoryEngine {
            shared: Arc::new(Shared {
                store: RwLock::new(Store::new(spaces.len())),
                active: Mutex::new(Active::default()),
                position: AtomicU64::new(0),
                reclaimable_at: AtomicU64::new(u64::MAX),
                sweeper: Sweeper::default(),
                guarded: AtomicBool::new(false),
                validates_reads: AtomicBool::new(true),
                closed: AtomicBool::new(false),
                injector: Injector::default(),
                notified: AtomicU64::new(0),
                notify: RwLock::new(Vec::new()),
            }),
        }
    }

    /// An engine whose calls fail as `faults` says.
    pub fn with_faults(spaces: &'static [SpaceDef], faults: Faults) -> MemoryEngine {
        let engine = MemoryEngine::new(spaces);
        engine.set_faults(faults);
        engine
    }

    /// Serialisable unless told otherwise. Counts for commits from now on.
    pub fn set_isolation(&self, isolation: Isolation) {
        self.shared.validates_reads.store(isolation == Isolation::Serialisable, Ordering::Release);
    }

    /// Lets a background thread drop the rows that `filter` judges to be garbage, as compaction does elsewhere.
    /// Once only; a second call changes nothing.
    pub fn set_filter(&self, filter: Arc<dyn Filter>) -> Result<()> {
        sweep::start(&self.shared, filter)
    }

    /// Replaces the faults; [`Faults::none`] ends them. What was injected so far stays counted.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.injector.set(faults);
        self.shared.guarded.store(true, Ordering::Release);
    }

    /// How many faults of each kind were injected.
    pub fn injected(&self) -> Injected {
        self.shared.injector.injected()
    }

    /// Asks the thread that drops garbage to look at a range soon.
    pub fn suggest_sweep(&self, space: Space, range: Range<'_>) {
        self.shared.sweeper.ask(space, range);
    }

    /// Writes whose row has older versions for open transactions and snapshots, or not reclaimed yet.
    pub fn superseded(&self) -> usize {
        self.shared.store.read().superseded_len()
    }
}

impl Drop for MemoryEngine {
    fn drop(&mut self) {
        self.shared.sweeper.stop();
    }
}

impl Shared {
    /// Every call that can fail passes here first.
    #[inline]
    fn admit(&self, call: Call, wait: Wait) -> Result<()> {
        if !self.guarded.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.fault(call, wait)? {
            Some(fault) => Err(fault.error()),
            None => Ok(()),
        }
    }

    /// The fault to inject into a call, for those that do not simply fail with it.
    fn fault(&self, call: Call, wait: Wait) -> Result<Option<Fault>> {
        if !self.guarded.load(Ordering::Acquire) {
            return Ok(None);
        }
        self.check_open()?;
        Ok(self.injector.draw(call, wait))
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Unavailable("the in-memory engine is closed".to_owned()));
        }
        Ok(())
    }

    /// Commits rows at the next position. Whoever calls holds both locks and has checked what there is to check.
    fn append(
        &self,
        store: &mut Store,
        mut active: MutexGuard<'_, Active>,
        rows: impl Iterator<Item = (Space, Rows)>,
        locked: Vec<(Space, Box<[u8]>)>,
    ) -> Position {
        let at = active.advance();
        let readers = active.readers();
        drop(active);
        for (space, rows) in rows {
            store.apply(at, space, rows, readers);
        }
        locked.into_iter().for_each(|(space, key)| store.touch(at, space, key, readers));
        self.position.store(at, Ordering::Release);
        self.reclaimable_at.store(store.reclaimable_at(), Ordering::Release);
        self.sweeper.wake_if_due(store);
        Position(at)
    }

    /// Reclaims versions that nobody can see any more, at most `limit` of them; whether some may be left.
    fn reclaim(&self, limit: usize) -> bool {
        if self.reclaimable_at.load(Ordering::Acquire) > self.active.lock().oldest() {
            return false;
        }
        let mut store = self.store.write();
        let oldest = self.active.lock().oldest();
        let more = store.reclaim(oldest, limit);
        self.reclaimable_at.store(store.reclaimable_at(), Ordering::Release);
        more
    }
}

impl Engine for MemoryEngine {
    type Read<'e> = MemoryRead<'e>;
    type Write<'e> = MemoryWrite<'e>;
    type Snapshot = MemorySnapshot;

    fn begin_read(&self, wait: Wait) -> MemoryRead<'_> {
        MemoryRead::new(&self.shared, wait)
    }

    fn begin_write(&self, wait: Wait) -> MemoryWrite<'_> {
        MemoryWrite::new(&self.shared, wait)
    }

    fn snapshot(&self) -> Result<MemorySnapshot> {
        self.shared.admit(Call::Other, Wait::Allowed)?;
        Ok(MemorySnapshot::new(&self.shared))
    }

    /// Not where every read that may not wait is refused, as if it were far away.
    fn keeps_resident(&self) -> bool {
        !self.shared.injector.refuses_all_reads()
    }

    fn locks_may_follow(&self) -> bool {
        self.shared.validates_reads.load(Ordering::Acquire)
    }

    /// There is nothing to hand over, so nothing can fail but a closed engine: tells only those who wait for durability how far it has come.
    fn flush(&self) -> Result<Position> {
        self.shared.check_open()?;
        let position = self.shared.position.load(Ordering::Acquire);
        if self.shared.notified.fetch_max(position, Ordering::AcqRel) < position {
            for notify in self.shared.notify.read().iter() {
                notify();
            }
        }
        Ok(Position(position))
    }

    /// As durable as it will ever be, at once.
    fn durable(&self) -> Position {
        Position(self.shared.position.load(Ordering::Acquire))
    }

    fn notify_durable(&self, notify: Notify) {
        self.shared.notify.write().push(notify);
    }

    fn stats(&self) -> Stats {
        Stats { memtable_bytes: self.shared.store.read().bytes(), ..Stats::default() }
    }

    fn close(&self) -> Result<()> {
        {
            // Under the lock, so that a commit either is complete when this returns or fails.
            let _store = self.shared.store.write();
            self.shared.closed.store(true, Ordering::Release);
            self.shared.guarded.store(true, Ordering::Release);
        }
        self.shared.sweeper.stop();
        Ok(())
    }
}
