//! The embedded engine: a log of our own and tables of dirty rows in front of RocksDB.
//!
//! The way of a row: a transaction's buffer, the log's pending buffer and the active table of its shard (commit), the
//! log file (flush), a frozen table, the sorted data (write-back), the row cache.
//!
//! Locks are taken in this order: sync round, units, barrier, log writer, log pending; a shard's lock is the innermost.

mod abandoned;
mod barrier;
mod cache;
mod checkpoint;
mod field;
mod files;
mod freeze;
mod groups;
mod hash;
mod inspect;
mod linear_hash;
mod log;
mod open;
mod ordered;
mod ranges;
mod read;
mod scan;
mod shard;
mod snapshot;
mod sorted;
mod store;
mod table;
mod transaction;
mod write_back;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use self::barrier::Barrier;
use self::files::Files;
use self::freeze::{Background, Units};
use self::groups::{Effort, Loader};
use self::hash::Hasher;
pub use self::inspect::{Finding, Inspection, Met};
use self::log::{Log, PENDING_LIMIT_BYTES};
pub use self::open::{Progress, holds_database};
use self::shard::Shards;
pub use self::snapshot::RocksSnapshot;
use self::store::Store;
use self::transaction::TxBuffer;
use self::write_back::Steps;
use crate::hint::Hinted;
use crate::{
    Direction, Durability, Engine, Error, Filter, Groups, Hint, LocalStore, MemoryBudget, Notify, Part,
    Position, Range, Ranked, Read, Result, Savepoint, Space, SpaceDef, Stats, Wait, Write, copy_part,
};

/// Rows applied under one hold of a shard's lock.
const ROWS_PER_HOLD: usize = 64;
/// How many rows ahead a commit, or a read of many rows, prefetches.
const LOOK_AHEAD: usize = 16;
/// The most that a disk which fills up slows who writes. It never stops them: what does not fit is refused.
const SLOWED_BY_DISK: f32 = 0.95;
/// Random picks of a transaction that meet what it deleted itself. Few only when all but a hundredth of the group is deleted:
/// the way around them is a walk over the group.
const REDRAWS: usize = 128;

/// How a database is opened.
pub struct OpenOptions {
    pub dir: PathBuf,
    pub spaces: &'static [SpaceDef],
    pub durability: Durability,
    pub memory: MemoryBudget,
    pub filter: Option<Arc<dyn Filter>>,
    /// Where the log is damaged or the sorted data went back, set aside what follows instead of refusing to open.
    pub truncate_damaged_log: bool,
}

impl Hinted {
    #[inline]
    fn shard(&self) -> Option<usize> {
        match self {
            Hinted::Nothing => None,
            Hinted::Row(hash) => Some(hash.shard()),
            Hinted::Group(hash) => Some(hash::shard_of(*hash)),
        }
    }
}

/// One open database directory.
pub struct RocksEngine {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    files: Arc<dyn Files>,
    spaces: &'static [SpaceDef],
    hasher: Hasher,
    shards: Shards,
    barrier: Barrier,
    log: Log,
    store: Arc<Store>,
    units: Mutex<Units>,
    /// A unit has been written back, or could not be.
    unit_done: Condvar,
    /// Held while a unit goes into the sorted data: whoever else holds it sees whole units only.
    write_back_turn: Mutex<()>,
    /// What the list of rows takes that are being written back.
    write_back_bytes: AtomicU64,
    active_bytes: AtomicUsize,
    /// Held while a long group of dirty rows is put in order.
    ordering: Mutex<()>,
    frozen_bytes: AtomicUsize,
    dirty_limit: AtomicUsize,
    freeze_at_bytes: AtomicUsize,
    /// Grows before rows leave the tables for the sorted data: an iterator made before does not see them there.
    retirements: AtomicU64,
    cache_misses: AtomicU64,
    write_backs: AtomicU64,
    /// Rows cannot leave the tables and these are full: commits are refused until that is over.
    is_stuck: AtomicBool,
    is_closed: AtomicBool,
    background: Background,
    loader: Loader,
    steps: Steps,
    _lock: File,
}

impl RocksEngine {
    pub fn open(options: OpenOptions) -> Result<RocksEngine> {
        RocksEngine::open_telling(options, &Progress::default())
    }

    /// As [`RocksEngine::open`]; tells meanwhile how far it is.
    pub fn open_telling(options: OpenOptions, progress: &Progress) -> Result<RocksEngine> {
        open::open_telling(options, Arc::new(files::OsFiles), Steps::default(), progress)
    }
}

impl Inner {
    fn def(&self, space: Space) -> Result<&'static SpaceDef> {
        self.spaces
            .get(usize::from(space.0))
            .ok_or_else(|| Error::Unavailable(format!("there is no space {}", space.0)))
    }

    fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Error::Unavailable("the engine is closed".to_owned()));
        }
        Ok(())
    }

    fn commit(&self, buffer: &TxBuffer, frees: bool) -> Result<Position> {
        self.check_open()?;
        if buffer.rows.is_empty() {
            return Ok(self.log.last());
        }
        if let Some(refusal) = buffer.refusal() {
            return Err(refusal);
        }
        // Where the disk is full, what frees something is bounded by the room that is kept for it.
        if self.is_stuck.load(Ordering::Relaxed) && !(frees && self.log.room().is_full()) {
            return Err(self.stuck_error());
        }
        let mut grown = 0;
        let entered = self.barrier.enter();
        let (position, pending) = self.log.append(&buffer.bytes, frees)?;
        let mut rows = buffer.rows.as_slice();
        while let Some(first) = rows.first() {
            let index = first.hash.shard();
            let together =
                rows.iter().take(ROWS_PER_HOLD).take_while(|row| row.hash.shard() == index).count();
            let (these, others) = rows.split_at(together);
            rows = others;
            let mut shard = self.shards.write(index)?;
            if together > 1 {
                these.iter().take(LOOK_AHEAD).for_each(|row| shard.active.prefetch_slot(row.hash.key));
            }
            for (place, tx_row) in these.iter().enumerate() {
                // A later row is prefetched in two steps: the slot at which the search begins, then the row.
                if let Some(later) = these.get(place + LOOK_AHEAD) {
                    shard.active.prefetch_slot(later.hash.key);
                }
                if let Some(later) = these.get(place + LOOK_AHEAD / 2) {
                    shard.active.prefetch_row(later.hash.key);
                }
                if let Some(row) = buffer.row(tx_row) {
                    grown += shard.active.set(row.space, row.key, &tx_row.hash, row.value);
                    if tx_row.hash.groups == Groups::Kept && shard.groups.has_followers() {
                        shard.groups.commit(row.space, row.key, &tx_row.hash, row.value, &self.shards.budget);
                    }
                }
            }
            self.shards.update_active_slots(index, &shard);
        }
        if grown > 0 {
            let active = self.active_bytes.fetch_add(grown, Ordering::Relaxed) + grown;
            if active >= self.freeze_at_bytes.load(Ordering::Relaxed) {
                self.background.want_freeze();
            }
        }
        drop(entered);
        if pending > PENDING_LIMIT_BYTES {
            // The commit is in order; whoever waits for durability is told of a failure by the flush.
            let _told = self.log.flush();
        }
        Ok(position)
    }

    fn pressure(&self) -> f32 {
        if self.is_stuck.load(Ordering::Relaxed) || self.log.is_stopped() {
            // Commits are refused: nothing is won by slowing who makes them.
            return 0.0;
        }
        if self.log.room().is_full() {
            return 0.0;
        }
        self.fullness().max(self.log_share().min(SLOWED_BY_DISK))
    }

    /// How much the log holds of what the disk has room for: all of it has to be written back.
    fn log_share(&self) -> f32 {
        self.log.live().1 as f32 / self.log.room().free().max(1) as f32
    }

    /// How much of the dirty budget is taken.
    fn fullness(&self) -> f32 {
        let dirty = self.active_bytes.load(Ordering::Relaxed) + self.frozen_bytes.load(Ordering::Relaxed);
        dirty as f32 / self.dirty_limit.load(Ordering::Relaxed).max(1) as f32
    }

    fn set_memory(&self, budget: MemoryBudget) {
        self.dirty_limit.store(budget.dirty_bytes, Ordering::Relaxed);
        self.freeze_at_bytes.store(freeze::freeze_at(budget.dirty_bytes), Ordering::Relaxed);
        self.shards.budget.set_limit(budget.row_cache_bytes);
        self.shards.shrink_to_budget();
        self.store.set_block_cache(budget.block_cache_bytes);
    }

    fn stats(&self) -> Stats {
        let (log_segments, log_bytes) = self.log.live();
        let (syncs, last_sync_micros) = self.log.sync_counts();
        let (frozen_tables, frozen_rows, write_back_pending) = {
            let units = self.units.lock();
            (units.sets().count(), units.sets().map(|set| set.rows).sum::<usize>(), !units.queue.is_empty())
        };
        let (mut active_rows, mut cache_hits, mut spare_bytes) = (0, 0, 0);
        for shard in (0..hash::SHARDS).filter_map(|shard| self.shards.read(shard).ok()) {
            active_rows += shard.active.len();
            cache_hits += shard.cache_hits.load(Ordering::Relaxed);
            spare_bytes += shard.active.spare_bytes();
            spare_bytes += shard.frozen.iter().map(|table| table.spare_bytes()).sum::<usize>();
        }
        let dirty_bytes =
            self.active_bytes.load(Ordering::Relaxed) + self.frozen_bytes.load(Ordering::Relaxed);
        let write_error = self
            .log
            .write_error()
            .or_else(|| self.log.room().reason())
            .map(|error| error.to_string())
            .or_else(|| self.is_stuck.load(Ordering::Relaxed).then(|| self.stuck_error().to_string()));
        Stats {
            dirty_bytes: dirty_bytes as u64,
            dirty_rows: (active_rows + frozen_rows) as u64,
            dirty_spare_bytes: spare_bytes as u64,
            held_bytes: self.shards.budget.held().load(Ordering::Relaxed) as u64,
            write_back_bytes: self.write_back_bytes.load(Ordering::Relaxed),
            frozen_tables: frozen_tables as u64,
            row_cache_bytes: self.shards.budget.used() as u64,
            row_cache_hits: cache_hits,
            row_cache_misses: self.cache_misses.load(Ordering::Relaxed),
            block_cache_bytes: self.store.block_cache_bytes(),
            table_reader_bytes: self.store.property("rocksdb.estimate-table-readers-mem"),
            memtable_bytes: self.store.property("rocksdb.cur-size-all-mem-tables"),
            log_bytes,
            log_segments,
            sorted_bytes: self.store.sorted_bytes(),
            write_backs: self.write_backs.load(Ordering::Relaxed),
            write_back_pending,
            compaction_pending_bytes: self.store.property("rocksdb.estimate-pending-compaction-bytes"),
            syncs,
            last_sync_micros,
            write_error,
            damaged_files: self.store.damage().count(),
            disk_full: self.log.room().is_full(),
            disk_free_bytes: self.log.room().free(),
            remote: None,
        }
    }
}

impl Engine for RocksEngine {
    type Read<'e> = RocksRead<'e>;
    type Write<'e> = RocksWrite<'e>;
    type Snapshot = RocksSnapshot;

    fn begin_read(&self, wait: Wait) -> RocksRead<'_> {
        RocksRead { inner: &self.inner, wait, own: None }
    }

    fn begin_write(&self, wait: Wait) -> RocksWrite<'_> {
        RocksWrite { inner: &self.inner, wait, buffer: ManuallyDrop::new(TxBuffer::take()), frees: false }
    }

    #[inline]
    fn locks_may_follow(&self) -> bool {
        true
    }

    #[inline]
    fn hint_row(&self, space: Space, key: &[u8]) -> Hint {
        let Ok(def) = self.inner.def(space) else { return Hint::default() };
        let hash = self.inner.hasher.row(def, space, key);
        self.inner.shards.prefetch_slot(hash.group, hash.key);
        Hint(Hinted::Row(hash))
    }

    #[inline]
    fn hint_group(&self, space: Space, group: &[u8]) -> Hint {
        let hash = self.inner.hasher.group(space, group);
        self.inner.shards.prefetch_group_slot(hash);
        Hint(Hinted::Group(hash))
    }

    #[inline]
    fn prefetch(&self, hints: &[Hint]) {
        let mut left = hints;
        while let [Hint(first), others @ ..] = left {
            let shard = first.shard();
            let together = 1 + others.iter().take_while(|Hint(other)| other.shard() == shard).count();
            match first {
                Hinted::Row(hash) if together == 1 => self.inner.shards.prefetch_row(hash),
                _ => self.inner.shards.prefetch_rows(left.get(..together).unwrap_or(left)),
            }
            left = left.get(together..).unwrap_or_default();
        }
    }

    fn snapshot(&self) -> Result<RocksSnapshot> {
        self.inner.snapshot()
    }

    fn flush(&self) -> Result<Position> {
        self.inner.check_open()?;
        self.inner.log.flush()
    }

    fn durable(&self) -> Position {
        self.inner.log.durable()
    }

    fn notify_durable(&self, notify: Notify) {
        self.inner.log.add_notify(notify);
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl LocalStore for RocksEngine {
    fn set_durability(&self, durability: Durability) {
        self.inner.log.set_durability(durability);
    }

    fn set_memory(&self, budget: MemoryBudget) {
        self.inner.set_memory(budget);
    }

    fn pressure(&self) -> f32 {
        self.inner.pressure()
    }

    fn delete_ranges(&self, ranges: &[(Space, Range<'_>)]) -> Result<()> {
        self.inner.delete_ranges(ranges)
    }

    fn abandon(&self, space: Space, group: &[u8]) -> Result<bool> {
        self.inner.abandon(space, group)
    }

    fn write_back(&self) -> Result<()> {
        self.inner.write_back_all()
    }

    fn suggest_compaction(&self, space: Space, range: Range<'_>) {
        if let Err(error) = self.inner.store.suggest_compaction(space, range) {
            tracing::warn!(%error, "cannot suggest a compaction");
        }
    }

    fn parts(&self, space: Space) -> Result<Vec<Part>> {
        self.inner.check_open()?;
        self.inner.store.parts(space)
    }

    fn compact(&self, space: Space, range: Range<'_>) -> Result<()> {
        self.inner.compact(space, range)
    }

    fn checkpoint(&self, path: &Path) -> Result<()> {
        self.inner.checkpoint(path)
    }

    fn sync(&self) -> Result<()> {
        self.inner.check_open()?;
        self.inner.log.sync_round()
    }
}

impl Drop for RocksEngine {
    fn drop(&mut self) {
        if let Err(error) = self.inner.close() {
            tracing::error!(%error, "closing the engine");
        }
    }
}

/// A read transaction: read committed, under the rows of a write transaction where it is one's.
pub struct RocksRead<'e> {
    inner: &'e Inner,
    wait: Wait,
    own: Option<&'e TxBuffer>,
}

impl Read for RocksRead<'_> {
    #[inline]
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let hash = self.inner.hasher.row(self.inner.def(space)?, space, key);
        match self.own.and_then(|own| own.get(space.0, key, &hash)) {
            Some(value) => {
                out.extend_from_slice(value.unwrap_or_default());
                Ok(value.is_some())
            }
            None => self.inner.get(space, key, &hash, self.wait, out),
        }
    }

    fn get_part(&self, space: Space, key: &[u8], at: usize, out: &mut [u8]) -> Result<bool> {
        let hash = self.inner.hasher.row(self.inner.def(space)?, space, key);
        match self.own.and_then(|own| own.get(space.0, key, &hash)) {
            Some(value) => {
                copy_part(value.unwrap_or_default(), at, out);
                Ok(value.is_some())
            }
            None => self.inner.get_part(space, key, &hash, self.wait, at, out),
        }
    }

    fn get_many(
        &self,
        space: Space,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.inner.get_many(space, keys, self.wait, self.own, each)
    }

    fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.scan(space, range, direction, limit, self.wait, self.own, each)
    }

    fn scan_ranges(
        &self,
        space: Space,
        ranges: &[Range<'_>],
        limit: usize,
        each: &mut dyn FnMut(usize, &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.inner.scan_ranges(space, ranges, limit, self.wait, self.own, each)
    }

    fn nth(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<usize>> {
        self.inner.nth(space, range, rank, self.wait, self.own, show)
    }

    fn nth_at_once(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Ranked> {
        if self.own.is_some_and(|own| own.has_in(space.0, range)) {
            return Ok(Ranked::Unknown);
        }
        self.inner.nth_of_group(space, range, rank, Effort::Background, show)
    }

    fn pick(
        &self,
        space: Space,
        group: &[u8],
        draw: &mut dyn FnMut() -> u64,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<bool> {
        let Some(own) = self.own.filter(|own| !own.rows.is_empty()) else {
            return self.inner.pick(space, group, draw, show);
        };
        let def = self.inner.def(space)?;
        if own.puts_in(self.inner.hasher.group(space, group)) {
            return Ok(false);
        }
        // Of what it deleted itself it draws again, so that the others keep the same chance.
        for _ in 0..REDRAWS {
            let mut is_gone = false;
            let is_picked = self.inner.pick(space, group, draw, &mut |key, value| {
                let hash = self.inner.hasher.row(def, space, key);
                is_gone = own.get(space.0, key, &hash).is_some();
                if !is_gone {
                    show(key, value);
                }
            })?;
            if !is_gone {
                return Ok(is_picked);
            }
        }
        Ok(false)
    }
}

/// A write transaction: its own rows over what is committed.
pub struct RocksWrite<'e> {
    inner: &'e Inner,
    wait: Wait,
    /// Given back when it is dropped.
    buffer: ManuallyDrop<Box<TxBuffer>>,
    frees: bool,
}

impl Drop for RocksWrite<'_> {
    fn drop(&mut self) {
        // SAFETY: it is taken here only, and nothing is used behind its drop.
        unsafe { ManuallyDrop::take(&mut self.buffer) }.give_back();
    }
}

macro_rules! under_own_rows {
    ($this:expr, $read:ident => $call:expr) => {{
        let $read = RocksRead { inner: $this.inner, wait: $this.wait, own: Some(&**$this.buffer) };
        $call
    }};
}

read_through!(['e] RocksWrite<'e>, under_own_rows);

impl Write for RocksWrite<'_> {
    #[inline]
    fn put(&mut self, space: Space, key: &[u8], value: &[&[u8]]) {
        if let Ok(def) = self.inner.def(space) {
            let hash = self.inner.hasher.row(def, space, key);
            self.buffer.set(space.0, key, hash, Some(value));
        }
    }

    #[inline]
    fn delete(&mut self, space: Space, key: &[u8]) {
        if let Ok(def) = self.inner.def(space) {
            let hash = self.inner.hasher.row(def, space, key);
            // Of what is picked at random nobody could know before; the commit comes to it soon.
            self.inner.shards.prefetch_slot(hash.group, hash.key);
            self.buffer.set(space.0, key, hash, None);
        }
    }

    #[inline]
    fn refusal(&self) -> Option<Error> {
        self.buffer.refusal()
    }

    #[inline]
    fn get_own(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let hash = self.inner.hasher.row(self.inner.def(space)?, space, key);
        let own = self.buffer.get(space.0, key, &hash).flatten();
        out.extend_from_slice(own.unwrap_or_default());
        Ok(own.is_some())
    }

    #[inline]
    fn changes(&self) -> usize {
        self.buffer.changes
    }

    fn each_change(&self, each: &mut dyn FnMut(Space, &[u8])) {
        let rows = self.buffer.rows.iter().filter_map(|row| self.buffer.row(row));
        rows.for_each(|row| each(Space(row.space), row.key));
    }

    #[inline]
    fn savepoint(&mut self) -> Savepoint {
        self.buffer.savepoint()
    }

    fn rollback_to(&mut self, to: Savepoint) {
        self.buffer.rollback_to(to);
    }

    /// Callers keep others off by their own locks.
    #[inline]
    fn lock(&mut self, _space: Space, _key: &[u8]) {}

    fn frees(&mut self) {
        self.frees = true;
    }

    fn commit(self) -> Result<Position> {
        self.inner.commit(&self.buffer, self.frees)
    }

    fn rollback(self) {}
}
