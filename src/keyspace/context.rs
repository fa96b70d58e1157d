//! What a handler is given: a transaction, the moment, the database, and room for bytes.
//!
//! [`ReadCx`] and [`WriteCx`] are different types, so that the read-only flag clients see cannot lie. What both can do
//! is [`View`].

use std::ops::ControlFlow;

use smallvec::SmallVec;
use tarn_engine::{
    AnyEngine, AnyRead, AnySnapshot, AnyWrite, Direction, Range, Ranked, Read, Savepoint, Space, Write as _,
};

use super::Keyspace;
use super::effects::Effects;
use super::entry::{self, Entry};
use super::events::remember_lapsed;
use super::shared::Building;
use crate::config::Events;
use crate::encoding::stream::producers::Retention;
use crate::encoding::{rows, slot};
use crate::error::{Error, Result, Stop, Why};
use crate::reply::{Arena, Reply, Span};

/// A logical database and the number its rows carry at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Db {
    pub logical: u16,
    pub physical: u32,
}

/// Where the handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On an I/O thread: nothing may take long.
    IoThread,
    /// On a worker: only this client waits.
    Worker,
}

/// Slot and hash of one key of the command, told apart by where its bytes stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Located {
    at: usize,
    len: usize,
    pub slot: u16,
    pub hash48: u64,
}

impl Located {
    pub fn new(seed: u64, key: &[u8]) -> Located {
        let hash48 = rows::hash48(seed, key);
        Located { at: key.as_ptr().addr(), len: key.len(), slot: slot::of(key), hash48 }
    }

    /// Whether it is one.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.at != 0
    }

    /// The same key at another place.
    #[inline]
    pub fn again(self, key: &[u8]) -> Located {
        Located { at: key.as_ptr().addr(), len: key.len(), ..self }
    }

    #[inline]
    pub fn is(&self, key: &[u8]) -> bool {
        self.at == key.as_ptr().addr() && self.len == key.len()
    }
}

/// Sizes that the configuration sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest string a command may make (`proto-max-bulk-len`).
    pub max_string_len: usize,
    /// Up to these sizes Redis keeps a collection in its compact form; what is
    /// remembered of it: [`crate::encoding::collection::GROWN`].
    pub hash_entries: usize,
    pub hash_value_len: usize,
    pub set_ints: usize,
    pub zset_entries: usize,
    pub zset_value_len: usize,
    /// Up to this many bytes a HyperLogLog keeps its registers as runs (`hll-sparse-max-bytes`).
    pub hll_sparse_bytes: usize,
    /// Entries of a stream that Redis keeps together: where about as many as asked for are removed, these go as one. 0: no limit.
    pub stream_node_entries: usize,
    /// The version of RDB in which values are dumped.
    pub dump_version: u16,
    /// What is kept of a stream's producers that nobody has told otherwise.
    pub stream_records: Retention,
}

impl Limits {
    /// Only the compact forms' limits as Redis has them by default; strings of any length.
    pub const DEFAULT: Limits = Limits {
        max_string_len: usize::MAX,
        hash_entries: 512,
        hash_value_len: 64,
        set_ints: 512,
        zset_entries: 128,
        zset_value_len: 64,
        hll_sparse_bytes: 3_000,
        stream_node_entries: 100,
        dump_version: 11,
        stream_records: Retention { duration_s: 100, limit: 100 },
    };
}

/// What every context knows.
#[derive(Debug, Clone, Copy)]
pub struct Env<'a> {
    pub keyspace: &'a Keyspace,
    pub db: Db,
    /// Of the map of databases by which `db` was found.
    pub map_epoch: u64,
    pub now_ms: u64,
    pub place: Place,
    /// The key the command was locked by, if it is one.
    pub located: Located,
    pub limits: &'a Limits,
    /// Drawn once per command: the same when the command runs again, so that a second run finds warm what the first
    /// one read. [`draws`] makes more of it.
    pub random: u64,
    /// The call has waited, and runs anew because one of its keys was changed.
    pub woken: bool,
    /// There is one database, and keys know their slots.
    pub cluster_enabled: bool,
    /// Somebody waits for keys: those that come first are served first.
    pub notes_order: bool,
    /// What is to be noted, of events and messages: nothing while nobody subscribes.
    pub events: Events,
    /// Hashes with fields that expire have a row in the expire space, at the time of the earliest.
    pub sorts_fields: bool,
}

/// As many random numbers as are wanted, from one (splitmix64).
pub fn draws(random: u64) -> impl Iterator<Item = u64> {
    let mut state = random;
    std::iter::from_fn(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ mixed >> 31)
    })
}

impl Env<'_> {
    /// Work above this, in bytes or rows touched, leaves the I/O thread.
    pub const IO_THREAD_MAX_BYTES: usize = 256 * 1024;
    pub const IO_THREAD_MAX_ROWS: usize = 1_000;

    /// To be asked before work whose size is known only now.
    pub fn move_if_heavy(&self, size: usize, limit: usize) -> Result<()> {
        if size > limit && self.place == Place::IoThread { Err(Stop::Move(Why::Heavy)) } else { Ok(()) }
    }

    /// The key's slot; known already for the key that the command was locked by.
    pub fn slot_of(&self, key: &[u8]) -> u16 {
        if self.located.is(key) { self.located.slot } else { slot::of(key) }
    }

    /// The key's place in the metadata of its slot, known in the same cases.
    pub fn hash48_of(&self, key: &[u8]) -> u64 {
        if self.located.is(key) { self.located.hash48 } else { rows::hash48(self.keyspace.seed(), key) }
    }

    pub fn database(&self, logical: i64) -> Option<Db> {
        u16::try_from(logical).ok().and_then(|n| self.keyspace.shared.database(n))
    }
}

/// What a command found, for the statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub hits: u32,
    pub misses: u32,
    /// Keys removed because their time had come.
    pub expired: u32,
    /// Fields of hashes removed for the same reason.
    pub expired_fields: u32,
}

/// Reading, whichever context it is.
pub trait View {
    fn env(&self) -> &Env<'_>;
    fn arena(&mut self) -> &mut Arena;
    fn bytes(&self, span: Span) -> &[u8];
    fn tally(&mut self) -> &mut Tally;
    fn effects(&mut self) -> &mut Effects;
    /// Told of a key that was found although its time has come. Who may write removes it; others leave it to whoever may.
    fn lapse(&mut self, found: &mut Entry<'_>) -> Result<()>;
    /// Copies the row's value into the arena.
    fn get(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>>;
    /// As [`View::get`] for a row of a version that is as new as this command: only what it has put itself is there.
    fn get_new(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>>;
    /// Where rows are read from. [`View::get`] does not ask for it: it is called once or twice by every command.
    fn rows(&self) -> &dyn Read;

    /// Calls `each` per row key, in order, with the value.
    fn get_each(
        &self,
        space: Space,
        rows: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        Ok(self.rows().get_many(space, rows, each)?)
    }

    fn scan_with(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        Ok(self.rows().scan(space, range, direction, limit, each)?)
    }

    /// As [`Read::nth`].
    fn nth_with(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<usize>> {
        Ok(self.rows().nth(space, range, rank, show)?)
    }

    /// As [`Read::nth_at_once`].
    fn nth_at_once(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Ranked> {
        Ok(self.rows().nth_at_once(space, range, rank, show)?)
    }

    /// As [`Read::pick`].
    fn pick_with(
        &self,
        space: Space,
        group: &[u8],
        draw: &mut dyn FnMut() -> u64,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<bool> {
        Ok(self.rows().pick(space, group, draw, show)?)
    }

    fn scan_each(
        &self,
        space: Space,
        start: &[u8],
        end: &[u8],
        limit: usize,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan_with(space, Range { start, end }, Direction::Forward, limit, each)
    }

    /// A logical database as the transaction has left it.
    fn database(&mut self, logical: i64) -> Option<Db> {
        let db = self.env().database(logical)?;
        Some(self.effects().renumbered(db.logical).unwrap_or(db))
    }

    /// Copies bytes into the arena.
    fn keep(&mut self, bytes: &[u8]) -> Span {
        let arena = self.arena();
        let start = arena.len();
        arena.extend_from_slice(bytes);
        Span { start, len: bytes.len() }
    }

    /// A bulk reply with these bytes.
    fn bulk(&mut self, bytes: &[u8]) -> Reply {
        Reply::span(self.keep(bytes))
    }
}

/// Where a read-only command reads from.
pub enum Source<'a> {
    Live(AnyRead<'a>),
    Snapshot(&'a AnySnapshot),
    /// Calls that write share a transaction with it: it sees what they have put.
    Transaction(&'a AnyWrite<'a>),
}

impl Source<'_> {
    #[inline]
    fn get(&self, space: Space, row: &[u8], out: &mut Vec<u8>) -> tarn_engine::Result<bool> {
        match self {
            Source::Live(read) => read.get(space, row, out),
            Source::Snapshot(snapshot) => snapshot.get(space, row, out),
            Source::Transaction(txn) => txn.get(space, row, out),
        }
    }
}

pub struct ReadCx<'a> {
    pub env: Env<'a>,
    source: Source<'a>,
    arena: &'a mut Arena,
    tally: Tally,
    effects: Effects,
}

impl<'a> ReadCx<'a> {
    pub fn new(env: Env<'a>, source: Source<'a>, arena: &'a mut Arena) -> ReadCx<'a> {
        ReadCx { env, source, arena, tally: Tally::default(), effects: Effects::default() }
    }

    /// Looks at this database from now on.
    #[inline]
    pub fn select(&mut self, logical: u16) {
        if self.env.db.logical != logical {
            self.env.db = self.env.keyspace.shared.database(logical).unwrap_or(self.env.db);
        }
    }

    /// For the next call.
    #[inline]
    pub fn begin_call(&mut self, located: Located, random: u64) {
        self.arena.clear();
        self.effects.begin_call();
        self.env.located = located;
        self.env.random = random;
    }

    /// What it found, and what is to be told of it.
    pub fn finish(self) -> (Tally, Effects) {
        (self.tally, self.effects)
    }
}

pub struct WriteCx<'a> {
    pub env: Env<'a>,
    pub(super) txn: AnyWrite<'a>,
    /// Where versions are built; None where the handler runs for its reads alone.
    pub(super) engine: Option<&'a AnyEngine>,
    /// Where sources are read from, if not from the transaction.
    snapshot: Option<&'a AnySnapshot>,
    pub effects: Effects,
    /// Versions that become live with the commit: to be dropped after it.
    building: SmallVec<[Building<'a>; 1]>,
    arena: &'a mut Arena,
    tally: Tally,
}

/// A place in a transaction that a call can be undone to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    savepoint: Savepoint,
    effects: usize,
    lapsed: usize,
    tally: Tally,
    /// Calls before may have renumbered it.
    db: Db,
}

impl<'a> WriteCx<'a> {
    /// Where there is a snapshot, [`WriteCx::sources`] are its.
    #[inline]
    pub fn new(
        env: Env<'a>,
        txn: AnyWrite<'a>,
        engine: Option<&'a AnyEngine>,
        snapshot: Option<&'a AnySnapshot>,
        arena: &'a mut Arena,
    ) -> WriteCx<'a> {
        let (effects, building, tally) = (Effects::default(), SmallVec::new(), Tally::default());
        WriteCx { env, txn, engine, snapshot, arena, effects, building, tally }
    }

    /// For the next call in the same transaction.
    #[inline]
    pub fn begin_call(&mut self, located: Located, random: u64) {
        self.arena.clear();
        self.effects.begin_call();
        self.env.located = located;
        self.env.random = random;
    }

    /// Works on this database from now on, as calls before have left it.
    #[inline]
    pub fn select(&mut self, logical: u16) {
        if self.env.db.logical != logical || !self.effects.list.is_empty() {
            let db = self.env.keyspace.shared.database(logical).unwrap_or(self.env.db);
            self.env.db = self.effects.renumbered(logical).unwrap_or(db);
        }
    }

    #[inline]
    pub fn mark(&mut self) -> Mark {
        let (effects, lapsed) = (self.effects.list.len(), self.effects.lapsed.len());
        Mark { savepoint: self.txn.savepoint(), effects, lapsed, tally: self.tally, db: self.env.db }
    }

    /// Undoes the call that began at the mark: it was refused.
    pub fn undo(&mut self, mark: Mark) {
        self.txn.rollback_to(mark.savepoint);
        self.effects.refuse_from(mark.effects);
        self.tally = mark.tally;
        self.env.db = mark.db;
    }

    /// Forgets everything since the mark: the same calls will run again.
    pub fn rewind(&mut self, mark: Mark) {
        self.effects.list.truncate(mark.effects);
        self.effects.lapsed.truncate(mark.lapsed);
        self.undo(mark);
    }

    /// Runs a call that only reads. It sees what calls before it have put.
    pub fn reading<T>(&mut self, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> Result<T> {
        let mut cx = ReadCx {
            env: self.env,
            source: Source::Transaction(&self.txn),
            arena: self.arena,
            tally: self.tally,
            effects: std::mem::take(&mut self.effects),
        };
        let done = work(&mut cx);
        (self.tally, self.effects) = cx.finish();
        done
    }

    /// The keys that a command reads in order to write others. Where much is read they are those of a snapshot, and
    /// their locks are not held: what is read otherwise may have changed since.
    pub fn sources(&mut self) -> Sources<'_, 'a> {
        let are_locked = self.snapshot.is_none();
        Sources(self, are_locked)
    }

    /// As [`WriteCx::sources`], with keys that nobody locked among them.
    pub fn unlocked_sources(&mut self) -> Sources<'_, 'a> {
        Sources(self, false)
    }

    /// Puts an element row. Metadata rows go through [`super::entry`].
    pub fn put(&mut self, space: Space, row: &[u8], value: &[&[u8]]) {
        tarn_engine::Write::put(&mut self.txn, space, row, value);
    }

    pub fn delete(&mut self, space: Space, row: &[u8]) {
        tarn_engine::Write::delete(&mut self.txn, space, row);
    }

    /// Runs `work` with the arena's bytes at hand, so that they can be written without a copy of their own. What it
    /// adds to the context's arena meanwhile is gone afterwards.
    pub fn lend<T>(&mut self, work: impl FnOnce(&mut WriteCx<'a>, &[u8]) -> T) -> T {
        let bytes = std::mem::take(self.arena);
        let done = work(self, &bytes);
        *self.arena = bytes;
        done
    }

    /// Whether what the call has put can be committed. To be asked behind each call, so that only that one is refused.
    #[inline]
    pub fn admit(&self) -> Result<()> {
        match self.txn.refusal() {
            None => Ok(()),
            Some(_) => Err(Error::NameTooLong.into()),
        }
    }

    /// A version that no collection ever had.
    pub fn new_version(&mut self) -> Result<u64> {
        let building = self.env.keyspace.shared.new_version()?;
        let version = building.version();
        self.building.push(building);
        Ok(version)
    }

    /// How often the transaction has put or deleted a row.
    #[inline]
    pub fn changes(&self) -> usize {
        self.txn.changes()
    }

    /// The transaction, what must happen once it is committed, and what it found. The versions stay with the caller until then.
    #[inline]
    pub fn finish(self) -> (AnyWrite<'a>, Effects, SmallVec<[Building<'a>; 1]>, Tally) {
        (self.txn, self.effects, self.building, self.tally)
    }
}

/// What a blocking command finds of the keys that it takes from, one after the other. A key of another type is refused at once, but
/// does not end a wait that has begun by itself. Once a key behind it has something the command runs anew, and is refused then.
#[derive(Debug, Default)]
pub struct Sourced {
    refused: Option<Stop>,
}

impl Sourced {
    /// A key that counts as missing if it is of another type.
    pub fn look<T>(&mut self, cx: &impl View, found: Result<Option<T>>) -> Result<Option<T>> {
        match found {
            Err(stop) if cx.env().woken && matches!(stop.refusal(), Some(Error::WrongType)) => {
                self.refused.get_or_insert(stop);
                Ok(None)
            }
            other => other,
        }
    }

    /// There is something to take.
    pub fn found(self) -> Result<()> {
        self.refused.map_or(Ok(()), Err)
    }

    /// As [`Sourced::look`], where there is something in whatever is there.
    pub fn take<T>(&mut self, cx: &impl View, found: Result<Option<T>>) -> Result<Option<T>> {
        let found = self.look(cx, found)?;
        if found.is_some() {
            std::mem::take(self).found()?;
        }
        Ok(found)
    }
}

/// Reads a row into the arena.
#[inline]
fn get_into(
    arena: &mut Arena,
    get: impl FnOnce(&mut Vec<u8>) -> tarn_engine::Result<bool>,
) -> Result<Option<Span>> {
    let start = arena.len();
    let found = get(arena)?;
    Ok(found.then(|| Span { start, len: arena.len() - start }))
}

impl View for ReadCx<'_> {
    fn env(&self) -> &Env<'_> {
        &self.env
    }

    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    fn bytes(&self, span: Span) -> &[u8] {
        span.of(self.arena)
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    fn lapse(&mut self, found: &mut Entry<'_>) -> Result<()> {
        remember_lapsed(self, found.db, found.key);
        Ok(())
    }

    #[inline]
    fn get(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>> {
        get_into(self.arena, |out| self.source.get(space, row, out))
    }

    /// Who only reads has put nothing.
    fn get_new(&mut self, _space: Space, _row: &[u8]) -> Result<Option<Span>> {
        Ok(None)
    }

    fn rows(&self) -> &dyn Read {
        match &self.source {
            Source::Live(read) => read,
            Source::Snapshot(snapshot) => *snapshot,
            Source::Transaction(txn) => *txn,
        }
    }
}

impl View for WriteCx<'_> {
    fn env(&self) -> &Env<'_> {
        &self.env
    }

    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    fn bytes(&self, span: Span) -> &[u8] {
        span.of(self.arena)
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    fn lapse(&mut self, found: &mut Entry<'_>) -> Result<()> {
        entry::expire(self, found)
    }

    #[inline]
    fn get(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>> {
        get_into(self.arena, |out| self.txn.get(space, row, out))
    }

    #[inline]
    fn get_new(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>> {
        get_into(self.arena, |out| self.txn.get_own(space, row, out))
    }

    fn rows(&self) -> &dyn Read {
        &self.txn
    }
}

/// See [`WriteCx::sources`]. Whether the locks of all of them are held.
pub struct Sources<'c, 'a>(&'c mut WriteCx<'a>, bool);

impl View for Sources<'_, '_> {
    fn env(&self) -> &Env<'_> {
        &self.0.env
    }

    fn arena(&mut self) -> &mut Arena {
        self.0.arena
    }

    fn bytes(&self, span: Span) -> &[u8] {
        self.0.bytes(span)
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.0.tally
    }

    fn effects(&mut self) -> &mut Effects {
        &mut self.0.effects
    }

    fn lapse(&mut self, found: &mut Entry<'_>) -> Result<()> {
        if self.1 {
            return entry::expire(self.0, found);
        }
        remember_lapsed(self, found.db, found.key);
        Ok(())
    }

    fn get(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>> {
        match self.0.snapshot {
            Some(snapshot) => get_into(self.0.arena, |out| snapshot.get(space, row, out)),
            None => self.0.get(space, row),
        }
    }

    fn get_new(&mut self, space: Space, row: &[u8]) -> Result<Option<Span>> {
        self.get(space, row)
    }

    fn rows(&self) -> &dyn Read {
        match self.0.snapshot {
            Some(snapshot) => snapshot,
            None => &self.0.txn,
        }
    }
}
