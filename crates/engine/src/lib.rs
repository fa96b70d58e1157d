//! Ordered byte strings in a few named spaces, and transactions over them.
//!
//! # Isolation
//!
//! | | [`rocksdb`], embedded | [`memory`] | `tikv` |
//! |---|---|---|---|
//! | [`Read`] of [`Engine::begin_read`] | read committed: each call sees the newest commit | the same | a snapshot of its first call |
//! | [snapshot](Engine::snapshot) | exactly the commits that were complete when it was taken | the same | the same |
//! | [`Write`], its reads | its own rows over what is committed at each call | its own rows over a snapshot of when it began | the same |
//! | [`Write`], its commit | never refused: serial where the caller's locks keep others off the rows that it reads and writes | refused where a row it has written or locked was committed since it began (snapshot isolation), or one it has read (serialisable), as it was opened | refused where a row that it has read, and written or locked, was committed since it began; a row that it has read in a space that others rely on counts as locked |
//!
//! Whoever is written for every engine locks its rows itself, [`Write::lock`]s what it relies on without writing it, and runs
//! again after [`Error::Conflict`]. A [`Read`] that must not meet a commit half-way is made under the locks of its rows, or is
//! a snapshot.
//!
//! # The contract
//!
//! This crate has never heard of Redis. It is defined by what the layers above need, against unlike engines: [`rocksdb`] (a log
//! of our own and tables of dirty rows in front of RocksDB), `tikv` (a cluster; behind the feature of that name) and [`memory`] (the double of a distributed one: nothing need be
//! resident, and conflicts, unavailability and unknown outcomes are injected). What every engine does is [`Engine`]; what only
//! one with files of its own does is [`LocalStore`]. [`conformance`] is the contract as tests; each engine passes it and lists
//! what it does not promise. Layers above hold an [`AnyEngine`], so that the choice of engine is one enum and not a type
//! parameter in every signature.
//!
//! * A [`Write`]'s rows become visible together, at [`Write::commit`]; dropping it is a rollback. Its reads see them before,
//!   scans and ranks included. Commits are in order as the calls were made under the caller's locks.
//! * A commit is *in order* at once and *durable* later: [`Engine::flush`] hands every commit made so far to where it will last,
//!   [`Engine::durable`] tells how far that has come. After a crash the surviving commits are a prefix of the commits in order.
//! * Calls are synchronous. With [`Wait::Never`] no call waits for a disk or a network: what is not in memory is
//!   [`Error::NotResident`].

#[macro_use]
mod delegate;
pub mod any;
pub mod conformance;
pub mod error;
pub mod failpoint;
mod hint;
pub mod memory;
pub mod rocksdb;
#[cfg(feature = "tikv")]
pub mod tikv;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use any::{AnyEngine, AnyRead, AnySnapshot, AnyWrite};
pub use error::{Error, Result};
pub use hint::Hint;
#[cfg(feature = "tikv")]
pub use tikv::Witness;

/// No engine of this build needs one.
#[cfg(not(feature = "tikv"))]
#[derive(Debug)]
pub enum Witness {}

#[cfg(not(feature = "tikv"))]
impl Witness {
    /// Whether none of its rows was written or locked since it was made.
    pub fn is_unchanged(&self) -> Result<bool> {
        match *self {}
    }
}

/// A named, separately ordered set of rows: an index into the [`SpaceDef`] table the engine was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(pub u8);

/// What an engine is told of a space. Order, names and meaning are part of the format on disk.
#[derive(Clone, Copy)]
pub struct SpaceDef {
    pub name: &'static str,
    /// Length of the row's group: the leading bytes shared by rows that are scanned together (a collection, a slot).
    /// Must depend only on those leading bytes, and be at most `key.len()`.
    pub group_len: fn(key: &[u8]) -> usize,
    /// Rows of this space come and go at the head of a range, as in a queue: compaction watches its tombstones.
    pub queue_like: bool,
    pub groups: Groups,
}

/// How the groups of a space are read, which decides what is done for them ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// Row by row, or rarely.
    Plain,
    /// As a whole, again and again: they may be kept whole in memory.
    Kept,
    /// From their first row on, a few rows at a time: they are kept in order while they are written.
    Ordered,
}

/// May a call of this transaction wait for a disk or a network?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Only what is in memory and quickly found there; otherwise [`Error::NotResident`].
    Never,
    Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// `start` inclusive, `end` exclusive. An upper bound is not optional: an iterator without one may walk the
/// tombstones of everything behind it.
#[derive(Debug, Clone, Copy)]
pub struct Range<'a> {
    pub start: &'a [u8],
    pub end: &'a [u8],
}

/// A place in the order of commits. Zero is before the first; after a restart positions go on growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Position(pub u64);

/// When a commit counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the device has it (one sync serves every commit that waits).
    Always,
    /// When the operating system has it; the device follows within about a second.
    EverySecond,
    /// When the operating system has it.
    Os,
}

/// The part of the process's memory that the engine may use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryBudget {
    /// Rows that are not yet in the sorted data, active and frozen together.
    pub dirty_bytes: usize,
    /// Clean rows.
    pub row_cache_bytes: usize,
    /// Blocks of the sorted data, index and filter blocks included.
    pub block_cache_bytes: usize,
}

/// What compaction does with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Drop,
}

/// What a [`Filter`] may ask while it judges a row: committed rows, possibly older than the newest.
pub trait Probe {
    /// Appends the row's value to `out`; false when there is no such row.
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool>;
}

/// Decides which rows compaction drops. Given from above; keeps no state that a transaction can change half-way.
pub trait Filter: Send + Sync {
    /// Called for rows of the sorted data only, from compaction threads, never before recovery has ended.
    fn judge(&self, probe: &dyn Probe, space: Space, key: &[u8], value: &[u8]) -> Verdict;
    /// Whether the rows of one group of this space are judged alike, and a verdict holds for good: then one of them is asked for.
    fn judges_groups(&self, _space: Space) -> bool {
        false
    }
    /// Called before the commits of a write-back are cut off from those that follow. What it returns is handed to
    /// [`Filter::written_back`] once every commit made before this call is in the sorted data.
    fn before_write_back(&self) -> u64 {
        0
    }
    /// Every commit made before [`Filter::before_write_back`] returned `mark` is in the sorted data.
    fn written_back(&self, _mark: u64) {}
    /// This row of the sorted data was judged to be garbage, by every view that counts, and is gone.
    fn dropped(&self, _space: Space, _key: &[u8]) {}
}

/// What is known of a rank without a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// The row was shown.
    Shown,
    /// There is none: the range has only so many rows.
    Only(usize),
    /// It takes a walk.
    Unknown,
}

/// Reading. No engine lock is held while a callback runs, so callbacks may read too.
pub trait Read {
    /// Appends the row's value to `out`; false, and `out` as it was, when there is no such row.
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool>;

    /// Copies the bytes of the row's value from `at` on, as many as there is room for in `out`. What lies behind the value's end is
    /// left as it is, and so is all of it when there is no such row: false.
    fn get_part(&self, space: Space, key: &[u8], at: usize, out: &mut [u8]) -> Result<bool> {
        let mut value = Vec::new();
        let is_there = self.get(space, key, &mut value)?;
        copy_part(&value, at, out);
        Ok(is_there)
    }

    /// Calls `each` once per key, in the order of `keys`, with its index. With [`Wait::Never`] it fails before the first call of
    /// `each` when any row is not resident.
    fn get_many(
        &self,
        space: Space,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()>;

    /// Calls `each(key, value)` for at most `limit` rows of the range, in key order or backwards, until it breaks.
    #[allow(clippy::type_complexity)] // spelt out: it says what is called
    fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()>;

    /// As [`Read::scan`] in key order, of several ranges one after the other, with one limit for all of them. `each` is told the
    /// number of the range. Whether all rows of all ranges were shown; otherwise some were, if there are any.
    #[allow(clippy::type_complexity)] // spelt out: it says what is called
    fn scan_ranges(
        &self,
        space: Space,
        ranges: &[Range<'_>],
        limit: usize,
        each: &mut dyn FnMut(usize, &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        ranges_in_turn(ranges, limit, each, |range, limit, each| {
            self.scan(space, range, Direction::Forward, limit, each)
        })
    }

    /// Reads rows ahead that will be asked for one by one, together, where that spares waiting. Does nothing elsewhere.
    fn fetch(&self, _rows: &[(Space, &[u8])]) -> Result<()> {
        Ok(())
    }

    /// Shows the row of this rank among those of the range; 0 is the first. If there is none: how many the range has.
    fn nth(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<usize>> {
        nth_of(rank, show, |each| self.scan(space, range, Direction::Forward, rank.saturating_add(1), each))
    }

    /// As [`Read::nth`] of a range within one group, where that is little work whatever the rank.
    fn nth_at_once(
        &self,
        _space: Space,
        _range: Range<'_>,
        _rank: usize,
        _show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Ranked> {
        Ok(Ranked::Unknown)
    }

    /// Shows a row of a group, each with the same chance, where that is little work; false where it is not, and where there is
    /// none. `draw` gives random numbers.
    fn pick(
        &self,
        _space: Space,
        _group: &[u8],
        _draw: &mut dyn FnMut() -> u64,
        _show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<bool> {
        Ok(false)
    }
}

/// Copies what there is of a value from `at` on.
#[inline]
fn copy_part(value: &[u8], at: usize, out: &mut [u8]) {
    let part = value.get(at..).unwrap_or_default();
    let len = part.len().min(out.len());
    if let (Some(to), Some(from)) = (out.get_mut(..len), part.get(..len)) {
        to.copy_from_slice(from);
    }
}

/// [`Read::scan_ranges`] by a scan of each range.
#[allow(clippy::type_complexity)] // spelt out: it says what is called
fn ranges_in_turn(
    ranges: &[Range<'_>],
    limit: usize,
    each: &mut dyn FnMut(usize, &[u8], &[u8]) -> ControlFlow<()>,
    mut scan: impl FnMut(Range<'_>, usize, &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()>,
) -> Result<bool> {
    let (mut left, mut is_over) = (limit, limit == 0);
    for (number, range) in ranges.iter().enumerate() {
        if is_over {
            return Ok(false);
        }
        scan(*range, left, &mut |key, value| {
            left -= 1;
            let flow = each(number, key, value);
            is_over = flow.is_break() || left == 0;
            flow
        })?;
    }
    Ok(!is_over)
}

/// [`Read::nth`] by a scan of the range.
fn nth_of(
    rank: usize,
    show: &mut dyn FnMut(&[u8], &[u8]),
    scan: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()>,
) -> Result<Option<usize>> {
    let (mut passed, mut is_shown) = (0, false);
    scan(&mut |key, value| {
        if passed < rank {
            passed += 1;
            return ControlFlow::Continue(());
        }
        show(key, value);
        is_shown = true;
        ControlFlow::Break(())
    })?;
    Ok((!is_shown).then_some(passed))
}

/// A place among the changes of one transaction: see [`Write::savepoint`].
#[derive(Debug, Clone, Copy)]
pub struct Savepoint {
    // How long the lists were that an engine keeps of a transaction, as far as it has them.
    bytes: usize,
    rows: usize,
    undo: usize,
    changes: usize,
}

/// What the runs of a transaction before this one met.
#[derive(Debug, Default)]
pub struct Contended {
    /// How often it was refused with [`Error::Conflict`].
    pub conflicts: u32,
    /// The rows at which it can have met that: [`Write::each_relied`].
    pub rows: Vec<(Space, Box<[u8]>)>,
}

impl Contended {
    /// Takes in what a transaction is about to commit, for the case that it is refused.
    pub fn note(&mut self, write: &impl Write) {
        let rows = &mut self.rows;
        write.each_relied(&mut |space, key| rows.push((space, key.into())));
        rows.sort_unstable();
        rows.dedup();
    }
}

/// Writing: rows are gathered here and appear together at [`Write::commit`].
pub trait Write: Read {
    /// The value is given in parts so that callers need not join header and payload.
    fn put(&mut self, space: Space, key: &[u8], value: &[&[u8]]);
    fn delete(&mut self, space: Space, key: &[u8]);
    /// As [`Read::get`] of what this transaction itself has put, and of nothing else: for keys that cannot be there yet.
    fn get_own(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool>;
    /// How often something was put or deleted.
    fn changes(&self) -> usize;
    /// Calls `each` for every row that was put or deleted and will be committed, in any order.
    fn each_change(&self, each: &mut dyn FnMut(Space, &[u8]));
    fn is_dirty(&self) -> bool {
        self.changes() > 0
    }
    /// A place to go back to. It is valid until the transaction goes back to an earlier one.
    fn savepoint(&mut self) -> Savepoint;
    /// Undoes every put and delete since, for [`Write::changes`] too; any number of times for the same place. What was read
    /// and locked meanwhile stays so.
    fn rollback_to(&mut self, to: Savepoint);
    /// Locks a row, which need not be there, without writing it: of two concurrent transactions that lock or write the
    /// same row one is refused at its commit. Does nothing where the caller's own locks do that, and counts as no change.
    fn lock(&mut self, space: Space, key: &[u8]);
    /// Calls `each` for every row that was locked, or read and then put or deleted, where others may come between: those that
    /// [`Engine::begin_again`] holds.
    fn each_relied(&self, _each: &mut dyn FnMut(Space, &[u8])) {}
    /// What a commit would refuse because of something that was put ([`MAX_KEY_BYTES`]), so that it need not come to that.
    #[inline]
    fn refusal(&self) -> Option<Error> {
        None
    }
    /// Says that the transaction frees more than it takes, so that it may use the room that is kept for those where the disk
    /// is full.
    fn frees(&mut self) {}
    /// Makes the rows visible and returns their place in the order. Does not wait for durability. [`Error::Full`]: it was
    /// refused before it had a place, and nobody has seen anything of it.
    fn commit(self) -> Result<Position>;
    fn rollback(self);
}

/// The longest key that engines on this machine take. The sorted data keeps keys in the bounds of its files, in their indexes and in its
/// MANIFEST, all of which are in memory: long ones cost far more than their length.
pub const MAX_KEY_BYTES: usize = (64 << 10) + 64;

/// Refuses a key that is longer.
pub(crate) fn too_long(len: usize) -> Option<Error> {
    (len > MAX_KEY_BYTES)
        .then(|| Error::TooLarge(format!("a key of {len} bytes, where {MAX_KEY_BYTES} are the most")))
}

/// Numbers an operator wants to see; bytes unless the name says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    pub dirty_bytes: u64,
    pub dirty_rows: u64,
    /// What the tables of dirty rows take beyond `dirty_bytes`: room for rows that are to come.
    pub dirty_spare_bytes: u64,
    /// Tables that are written back and that a snapshot holds.
    pub held_bytes: u64,
    /// What write-back itself takes at the moment.
    pub write_back_bytes: u64,
    pub frozen_tables: u64,
    pub row_cache_bytes: u64,
    pub row_cache_hits: u64,
    pub row_cache_misses: u64,
    pub block_cache_bytes: u64,
    pub table_reader_bytes: u64,
    pub memtable_bytes: u64,
    pub log_bytes: u64,
    pub log_segments: u64,
    pub sorted_bytes: u64,
    pub write_backs: u64,
    pub write_back_pending: bool,
    pub compaction_pending_bytes: u64,
    pub syncs: u64,
    pub last_sync_micros: u64,
    /// Set while writes are refused: the reason, in words for the operator.
    pub write_error: Option<String>,
    /// Files of the sorted data in which something could not be read since the start.
    pub damaged_files: u64,
    /// Only what frees something is taken.
    pub disk_full: bool,
    pub disk_free_bytes: u64,
    /// Of an engine whose rows are elsewhere.
    pub remote: Option<RemoteStats>,
}

/// The traffic of an engine whose rows are elsewhere, since its start.
#[derive(Debug, Clone, Default)]
pub struct RemoteStats {
    /// Set while it is out of reach: the reason, in words for the operator.
    pub trouble: Option<String>,
    pub commits: u64,
    pub conflicts: u64,
    pub unknown_outcomes: u64,
    /// Commits that were sent again.
    pub retries: u64,
    /// Timestamps that served another read too.
    pub shared_timestamps: u64,
    /// Answers that rows are somewhere else by now, or not at the moment.
    pub region_errors: u64,
    pub lock_waits: u64,
    pub transport_errors: u64,
    pub calls: Vec<RemoteCall>,
}

/// How often something was asked for, and how long that took together.
#[derive(Debug, Clone, Default)]
pub struct RemoteCall {
    pub name: &'static str,
    pub count: u64,
    pub nanos: u64,
}

/// A run of rows of the sorted data that is stored, and rewritten, as one. Runs may overlap: a row's newest version
/// counts in one of them, what it replaced in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The first and the last key.
    pub first: Vec<u8>,
    pub last: Vec<u8>,
    /// On disk.
    pub bytes: u64,
    /// Deletions included, which are rows too until they have met what they delete.
    pub rows: u64,
    pub deletions: u64,
}

/// Called soon after [`Engine::durable`] has advanced or writes have stopped; must be quick and must not call the engine.
/// A [`Engine::flush`] that satisfies the durability setting by itself tells its caller by returning, and may leave
/// the others to be told within about a second.
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// What every engine does.
pub trait Engine: Send + Sync {
    type Read<'e>: Read
    where
        Self: 'e;
    type Write<'e>: Write
    where
        Self: 'e;
    type Snapshot: Read + Send + 'static;

    fn begin_read(&self, wait: Wait) -> Self::Read<'_>;
    fn begin_write(&self, wait: Wait) -> Self::Write<'_>;
    /// As [`Engine::begin_write`], for a run in the place of one that was refused with [`Error::Conflict`].
    fn begin_again(&self, wait: Wait, _contended: &Contended) -> Self::Write<'_> {
        self.begin_write(wait)
    }
    /// O(1) in the data. May be kept for long and read from any thread; always allowed to wait.
    fn snapshot(&self) -> Result<Self::Snapshot>;

    /// Whether what was read stays near, so that a transaction which was refused with [`Error::NotResident`] may be run again
    /// with [`Wait::Never`] once its rows have been read elsewhere. Where it is false that would never end.
    fn keeps_resident(&self) -> bool {
        true
    }
    /// Whether the caller may lock rows while a write is under way: what the write reads from then on is the newest commit, or its
    /// commit is refused where that was changed since it began. Where it is false, a write that has read what was locked later may
    /// have missed a commit, and is to be run again under these locks.
    fn locks_may_follow(&self) -> bool;
    /// A number that nobody who shares the data is ever given twice, greater than all that were given out before; None where nobody
    /// else does.
    fn timestamp(&self) -> Option<Result<u64>> {
        None
    }
    /// Who will be able to tell whether one of these rows was written or locked since, by anybody; none where nobody but the caller can
    /// reach the data, who then knows by itself.
    fn witness(&self, _rows: &[(Space, &[u8])]) -> Result<Option<Witness>> {
        Ok(None)
    }
    /// Sees to it that no commit of this engine that ended with [`Error::OutcomeUnknown`] before the call is made after it.
    fn settle(&self) -> Result<()> {
        Ok(())
    }
    /// Has whoever keeps old versions of rows for all who share the data drop those that were replaced so long ago. What reads for longer
    /// than that is refused. Nothing where nobody else keeps any.
    fn drop_old_versions(&self, _age: Duration) -> Result<()> {
        Ok(())
    }
    /// Says that this row will be read soon. Fetching it takes two steps, so that the waits of many rows overlap: this one
    /// begins the search, and [`Engine::prefetch`], called a little later with what this one returned, ends it. Neither ever
    /// waits; both may do nothing.
    fn hint_row(&self, _space: Space, _key: &[u8]) -> Hint {
        Hint::default()
    }
    /// As [`Engine::hint_row`], where some rows of a group will be scanned.
    fn hint_group(&self, _space: Space, _group: &[u8]) -> Hint {
        Hint::default()
    }
    /// Fetches what was hinted at, as far as that takes no waiting.
    fn prefetch(&self, _hints: &[Hint]) {}

    /// Hands every commit made before this call, by any thread, to where it will last (the operating system, or with
    /// [`Durability::Always`] the thread that syncs) and returns the position of the last one.
    /// An error means that those commits are not durable and will not be: writes have stopped.
    fn flush(&self) -> Result<Position>;
    /// Commits up to here are as durable as they are asked to be.
    fn durable(&self) -> Position;
    /// Registers a callback; any number may be registered, none is ever removed.
    fn notify_durable(&self, notify: Notify);

    fn stats(&self) -> Stats;
    /// Makes every commit durable and stops the engine's threads. Calls after it fail with [`Error::Unavailable`].
    fn close(&self) -> Result<()>;
}

/// What only an engine with files of its own on this machine does.
pub trait LocalStore: Send + Sync {
    fn set_durability(&self, durability: Durability);
    /// Makes every commit durable on the device, whatever the setting.
    fn sync(&self) -> Result<()>;
    fn set_memory(&self, budget: MemoryBudget);
    /// How full the dirty budget is, 0.0 to 1.0 and above. From one half on, callers slow down what feeds it, and stop where
    /// it is full. 0.0 where commits are refused.
    fn pressure(&self) -> f32;

    /// Removes every row of the range that was committed before the call. A barrier for big things (a database, a
    /// slot), never for small ones; waits. The caller sees to it that nobody writes into the range meanwhile.
    fn delete_range(&self, space: Space, range: Range<'_>) -> Result<()> {
        self.delete_ranges(&[(space, range)])
    }
    /// The same for several at the price of one barrier.
    fn delete_ranges(&self, ranges: &[(Space, Range<'_>)]) -> Result<()>;
    /// Nobody will read or write the rows of a group any more, but for snapshots that are there: they are removed when
    /// that costs little. The commits by which the group ended come before the call. False where that is refused for
    /// now; see [`LocalStore::delete_range`].
    fn abandon(&self, space: Space, group: &[u8]) -> Result<bool>;
    /// Brings everything that was committed before the call into the sorted data, so that the log is short. Waits.
    fn write_back(&self) -> Result<()>;
    /// Asks compaction to look at a range soon.
    fn suggest_compaction(&self, space: Space, range: Range<'_>);
    /// What the sorted data of a space consists of.
    fn parts(&self, space: Space) -> Result<Vec<Part>>;
    /// Rewrites what the sorted data holds of a range, once everything committed before the call is there: the filter is
    /// shown every row. Waits.
    fn compact(&self, space: Space, range: Range<'_>) -> Result<()>;
    /// Writes a consistent copy that opens as a database of its own into `path`, which must not exist.
    fn checkpoint(&self, path: &Path) -> Result<()>;
}
