//! Running one command: locks, transaction, handler, commit, reply. The same code runs a command on an I/O thread and
//! on a worker; what differs is how long it may wait.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use tarn_engine::{AnySnapshot, Error as EngineError, Wait, Write as _};
use tarn_resp::{Args as Words, Protocol};

use super::args::Args;
use super::locks::{Held, Mode, Patience, StripeSet};
use super::registry::Registered;
use super::spec::{KeyFlags, ReadFn, Run, WriteFn};
use crate::encoding::slot;
use crate::error::{Error, Result};
use crate::keyspace::{
    Db, Effects, Env, Limits, Located, Notes, Place, ReadCx, Source, Tally, View as _, WriteCx, draws, reap,
    stripe_of,
};
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::reply::Reply;

/// Times a command is run again because of conflicts before the client is told.
const MAX_CONFLICTS: u32 = 64;
/// An arena larger than this is given back after the command.
const ARENA_KEEP_BYTES: usize = 256 * 1024;

/// What a thread needs to run commands.
pub struct Lane {
    pub node: Arc<Node>,
    pub counters: Arc<ThreadCounters>,
    pub(super) arena: Vec<u8>,
    /// The random number of the command that runs.
    pub(super) random: u64,
    /// What it noted that is not told with its commit.
    pub(super) notes: Notes,
    pub crowding: Crowding,
}

/// How often commands meet at their keys' locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crowding {
    pub locked: u64,
    /// And had to wait for it.
    pub waited: u64,
}

/// A command on its way: what it is, its words, and whose it is.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub command: &'static Registered,
    /// How many of the words name the command.
    pub named: usize,
    pub words: Words<'a>,
    pub db: u16,
    pub protocol: Protocol,
    pub now_ms: u64,
    pub limits: &'a Limits,
    /// Its key, where that was looked at before.
    pub located: Located,
}

impl Call<'_> {
    fn run(&self) -> Run {
        self.command.spec.run_of(self.words)
    }
}

/// Why a command has to go to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A row is not in memory.
    Cold,
    /// It is known to be much work.
    Heavy,
    /// Somebody holds a lock for long.
    Busy,
}

/// What became of a call on an I/O thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// Its reply is in the buffer.
    Replied { wrote: bool },
    /// Nothing has happened; a worker must do it.
    Offload(Why),
}

impl Lane {
    pub fn new(node: Arc<Node>, counters: Arc<ThreadCounters>) -> Lane {
        let random = RandomState::new().hash_one(node.started_ms);
        Lane {
            node,
            counters,
            arena: Vec::new(),
            random,
            notes: Notes::default(),
            crowding: Crowding::default(),
        }
    }

    /// A new random number for the command that runs next.
    fn draw(&mut self) {
        self.random = draws(self.random).next().unwrap_or_default();
    }

    /// For work of the server that is not counted.
    pub fn aside(node: &Arc<Node>) -> Lane {
        Lane::new(Arc::clone(node), Arc::default())
    }

    /// Runs a command that works on keys, on an I/O thread: never waits.
    pub fn run(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Ran {
        if call.command.spec.long {
            return Ran::Offload(Why::Heavy);
        }
        self.draw();
        let done = self.attempt(&call, Patience::Short, Wait::Never, Place::IoThread);
        match done {
            Err(Error::Offload) => Ran::Offload(Why::Heavy),
            Err(error) if error.wants_worker() => Ran::Offload(Why::Cold),
            Ok(None) => Ran::Offload(Why::Busy),
            Ok(Some((reply, wrote))) => {
                self.answer(call, Ok(&reply), out);
                Ran::Replied { wrote: wrote | self.settle(Patience::Short, Wait::Never) }
            }
            Err(error) => {
                self.answer(call, Err(&error), out);
                Ran::Replied { wrote: self.settle(Patience::Short, Wait::Never) }
            }
        }
    }

    /// Runs the same on a worker, to its end. Whether it wrote.
    pub fn run_on_worker(&mut self, call: Call<'_>, why: Why, out: &mut Vec<u8>) -> bool {
        self.draw();
        // What is cold or busy may turn out to be much work as well: it is run as on an I/O thread first.
        let light = match why {
            Why::Heavy => Err(Error::Offload),
            Why::Cold => self
                .warm(call)
                .and_then(|()| self.attempt(&call, Patience::Unlimited, Wait::Allowed, Place::IoThread)),
            Why::Busy => self.attempt(&call, Patience::Unlimited, Wait::Allowed, Place::IoThread),
        };
        let done = match light {
            Err(Error::Offload) => self.run_heavy(call),
            other => other.and_then(|done| done.ok_or(Error::Offload)),
        };
        match done {
            Ok((reply, wrote)) => {
                self.answer(call, Ok(&reply), out);
                wrote | self.settle(Patience::Unlimited, Wait::Allowed)
            }
            Err(error) => {
                self.answer(call, Err(&error), out);
                self.settle(Patience::Unlimited, Wait::Allowed)
            }
        }
    }

    /// What a command noted beside its commit: keys it met whose time had come are removed, and keys it missed are told of.
    /// Whether anything was written.
    #[inline]
    pub(super) fn settle(&mut self, patience: Patience, wait: Wait) -> bool {
        !self.notes.is_empty() && self.settle_notes(patience, wait)
    }

    #[cold]
    fn settle_notes(&mut self, patience: Patience, wait: Wait) -> bool {
        let Notes { told, expired } = std::mem::take(&mut self.notes);
        let Lane { node, counters, arena, random, .. } = self;
        let mut wrote = false;
        for (db, key) in expired {
            let stripes = StripeSet::of(&key);
            let Some(_held) = node.locks.many(&stripes, Mode::Exclusive, patience) else { continue };
            let Ok(env) = node.own_env(db, node.clock.now_ms(), *random) else { continue };
            let how = (wait, None, &mut Notes::default());
            // What fails here is the sweeper's.
            let reaped = write(node, counters, arena, env, how, |cx| reap::reap_met(cx, &key));
            wrote |= reaped.is_ok_and(|(_, dirty)| dirty);
        }
        if !told.is_empty() {
            node.pubsub.tell(node.pubsub.to_note(), &told);
        }
        wrote
    }

    /// Much work: on snapshots as far as that goes, so that locks are held for as short as can be.
    fn run_heavy(&mut self, call: Call<'_>) -> Result<(Reply, bool)> {
        match call.run() {
            Run::Read(handler) => self.read_snapshot(call, handler).map(|reply| (reply, false)),
            Run::Write(handler) if call.command.spec.reads_sources => self.write_from_snapshot(call, handler),
            _ => {
                let done = self.attempt(&call, Patience::Unlimited, Wait::Allowed, Place::Worker)?;
                done.ok_or(Error::Offload)
            }
        }
    }

    fn answer(&mut self, call: Call<'_>, reply: Result<&Reply, &Error>, out: &mut Vec<u8>) {
        match reply {
            Ok(reply) => reply.write_out(call.protocol, &mut self.arena, out),
            Err(error) => {
                if let Some(counters) = self.counters.command(call.command.id) {
                    counters.failed.add(1);
                }
                write_error(&self.node, &self.counters, error, out);
            }
        }
        self.rest();
    }

    /// Gives back what one command needed and the next hardly will.
    #[inline]
    pub(super) fn rest(&mut self) {
        if self.arena.capacity() > ARENA_KEEP_BYTES {
            self.arena = Vec::new();
        }
    }

    /// Brings the rows a command needs into memory without holding its locks, so that the run under the locks is
    /// short. Handlers are pure until commit, so running one for its reads alone changes nothing.
    /// [`Error::Offload`] when it is much work.
    fn warm(&mut self, call: Call<'_>) -> Result<()> {
        let env = self.node.env(&call, Place::IoThread, self.random, Located::default());
        let env = env.ok_or(Error::DbOutOfRange)?;
        let args = Args::new(call.words, call.named);
        self.arena.clear();
        let reply = match call.run() {
            Run::Read(handler) => {
                let source = Source::Live(self.node.engine.begin_read(Wait::Allowed));
                handler(&mut ReadCx::new(env, source, &mut self.arena), args)
            }
            Run::Write(handler) => {
                let txn = self.node.engine.begin_write(Wait::Allowed);
                handler(&mut WriteCx::new(env, txn, None, None, &mut self.arena), args)
            }
            Run::Session(_) | Run::Container => return Ok(()),
        };
        match reply {
            Err(Error::Offload) => Err(Error::Offload),
            // What fails otherwise fails again under the locks, where it is reported.
            _ => Ok(()),
        }
    }

    /// None when a lock could not be had with this patience.
    fn attempt(
        &mut self,
        call: &Call<'_>,
        patience: Patience,
        wait: Wait,
        place: Place,
    ) -> Result<Option<(Reply, bool)>> {
        let Lane { node, counters, arena, random, notes, crowding } = self;
        notes.clear();
        let mode = if matches!(call.run(), Run::Write(_)) { Mode::Exclusive } else { Mode::Shared };
        let locked = lock(node, call, mode, patience);
        crowding.locked += 1;
        crowding.waited += u64::from(locked.as_ref().is_none_or(|(held, _)| held.waited()));
        let Some((_held, located)) = locked else { return Ok(None) };
        // Under the locks: whoever changes the databases' numbers holds all of them.
        let env = node.env(call, place, *random, located).ok_or(Error::DbOutOfRange)?;
        let args = Args::new(call.words, call.named);
        match call.run() {
            Run::Read(handler) => {
                let source = Source::Live(node.engine.begin_read(wait));
                let cx = ReadCx::new(env, source, arena);
                read(counters, cx, handler, args, notes).map(|reply| Some((reply, false)))
            }
            Run::Write(handler) => {
                let how = (wait, None, notes);
                write(node, counters, arena, env, how, |cx| handler(cx, args)).map(Some)
            }
            Run::Session(_) | Run::Container => Err(Error::Damaged("a command without a handler")),
        }
    }

    /// A long read holds its locks only until it has a snapshot.
    fn read_snapshot(&mut self, call: Call<'_>, handler: ReadFn) -> Result<Reply> {
        let Lane { node, counters, arena, random, notes, .. } = self;
        let (snapshot, env) = {
            let held = lock(node, &call, Mode::Shared, Patience::Unlimited);
            let (_held, located) = held.ok_or(Error::Offload)?;
            let env = node.env(&call, Place::Worker, *random, located).ok_or(Error::DbOutOfRange)?;
            (node.engine.snapshot()?, env)
        };
        let args = Args::new(call.words, call.named);
        let cx = ReadCx::new(env, Source::Snapshot(&snapshot), arena);
        read(counters, cx, handler, args, notes)
    }

    /// A long write holds the locks of what it only reads until it has a snapshot of them.
    fn write_from_snapshot(&mut self, call: Call<'_>, handler: WriteFn) -> Result<(Reply, bool)> {
        let Lane { node, counters, arena, random, notes, .. } = self;
        let held = lock(node, &call, Mode::Exclusive, Patience::Unlimited);
        let (mut held, located) = held.ok_or(Error::Offload)?;
        let env = node.env(&call, Place::Worker, *random, located).ok_or(Error::DbOutOfRange)?;
        let snapshot = node.engine.snapshot()?;
        let mut written = StripeSet::default();
        for (at, spec) in call.command.spec.keys.positions(call.words) {
            if !spec.flags.has(KeyFlags::RO) {
                written.insert(stripe_of(slot::of(call.words.get(at).unwrap_or(&[]))));
            }
        }
        held.keep_only(&written);
        let args = Args::new(call.words, call.named);
        let how = (Wait::Allowed, Some(&snapshot), notes);
        write(node, counters, arena, env, how, |cx| handler(cx, args))
    }

    /// Runs something of the server's own, not a client's command, in a transaction: under the stripes given, with
    /// commit and retry.
    pub fn transact<T>(
        &mut self,
        stripes: &StripeSet,
        db: u16,
        work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
    ) -> Result<T> {
        let now_ms = self.node.clock.now_ms();
        self.transact_at(now_ms, stripes, db, work)
    }

    /// As [`Lane::transact`], at a moment that is given.
    pub fn transact_at<T>(
        &mut self,
        now_ms: u64,
        stripes: &StripeSet,
        db: u16,
        work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.draw();
        let Lane { node, counters, arena, random, .. } = self;
        let _held = node.locks.many(stripes, Mode::Exclusive, Patience::Unlimited);
        let env = node.own_env(db, now_ms, *random)?;
        let how = (Wait::Allowed, None, &mut Notes::default());
        write(node, counters, arena, env, how, work).map(|(value, _)| value)
    }

    /// As [`Lane::transact`], reading only and without locks.
    pub fn look<T>(&mut self, db: u16, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> Result<T> {
        let now_ms = self.node.clock.now_ms();
        self.look_at(now_ms, db, work)
    }

    /// As [`Lane::look`], at a moment that is given.
    pub fn look_at<T>(
        &mut self,
        now_ms: u64,
        db: u16,
        work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.draw();
        let Lane { node, arena, random, .. } = self;
        arena.clear();
        let source = Source::Live(node.engine.begin_read(Wait::Allowed));
        work(&mut ReadCx::new(node.own_env(db, now_ms, *random)?, source, arena))
    }
}

impl Node {
    #[inline]
    pub(super) fn env<'a>(
        &'a self,
        call: &Call<'a>,
        place: Place,
        random: u64,
        located: Located,
    ) -> Option<Env<'a>> {
        Some(Env {
            keyspace: &self.keyspace,
            db: self.keyspace.databases.get(call.db)?,
            now_ms: call.now_ms,
            place,
            located,
            limits: call.limits,
            random,
            joined: false,
            cluster_enabled: self.cluster_enabled,
            events: self.pubsub.to_note(),
            sorts_fields: self.keyspace.fields.sorts(),
        })
    }

    /// For the server's own work.
    fn own_env(&self, db: u16, now_ms: u64, random: u64) -> Result<Env<'_>> {
        Ok(Env {
            keyspace: &self.keyspace,
            db: self.keyspace.databases.get(db).ok_or(Error::DbOutOfRange)?,
            now_ms,
            place: Place::Worker,
            located: Located::default(),
            limits: &Limits::DEFAULT,
            random,
            joined: false,
            cluster_enabled: self.cluster_enabled,
            events: self.pubsub.to_note(),
            sorts_fields: self.keyspace.fields.sorts(),
        })
    }
}

fn read(
    counters: &ThreadCounters,
    mut cx: ReadCx<'_>,
    handler: ReadFn,
    args: Args<'_>,
    notes: &mut Notes,
) -> Result<Reply> {
    cx.arena().clear();
    let reply = handler(&mut cx, args);
    let (tally, noted) = cx.finish();
    *notes = noted;
    if reply.is_ok() {
        count(counters, tally);
    }
    reply
}

/// Whether to wait, where sources are read from if not from the transaction, and where to put what is not told with the
/// commit.
type How<'h> = (Wait, Option<&'h AnySnapshot>, &'h mut Notes);

/// Runs `work` and commits what it wrote, again if it met a conflict. Whether anything was written.
fn write<T>(
    node: &Node,
    counters: &ThreadCounters,
    arena: &mut Vec<u8>,
    env: Env<'_>,
    (wait, snapshot, notes): How<'_>,
    mut work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
) -> Result<(T, bool)> {
    let mut conflicts = 0;
    loop {
        arena.clear();
        let txn = node.engine.begin_write(wait);
        let mut cx = WriteCx::new(env, txn, Some(&node.engine), snapshot, arena);
        let worked = work(&mut cx);
        let (txn, mut effects, tally) = cx.finish();
        let done = match worked {
            Ok(value) => {
                let dirty = txn.is_dirty();
                let told = if dirty { std::mem::take(&mut effects.notes.told) } else { Vec::new() };
                let committed = match dirty {
                    false => Ok(()),
                    true if told.is_empty() => txn.commit().map(|_| ()),
                    true => node.pubsub.commit(env.events, &told, || txn.commit()).map(|_| ()),
                };
                committed.map(|()| (value, dirty)).map_err(Error::from)
            }
            Err(error) => {
                effects.notes = effects.notes.of_refusal();
                Err(error)
            }
        };
        match done {
            Ok((value, dirty)) => {
                conclude(node, counters, env.db, (effects, tally), notes);
                counters.writes.add(u64::from(dirty));
                return Ok((value, dirty));
            }
            Err(Error::Engine(EngineError::Conflict)) if conflicts < MAX_CONFLICTS => conflicts += 1,
            Err(error) => {
                *notes = effects.notes;
                return Err(error);
            }
        }
    }
}

/// What must happen once a transaction is committed.
#[inline]
pub(super) fn conclude(
    node: &Node,
    counters: &ThreadCounters,
    db: Db,
    (effects, tally): (Effects<'_>, Tally),
    notes: &mut Notes,
) {
    *notes = effects.notes;
    if !effects.remapped.is_empty() {
        node.keyspace.databases.apply(&effects.remapped);
    }
    if !effects.dead.is_empty() {
        node.keyspace.garbage.add(effects.dead);
    }
    count(counters, tally);
    if tally.expired_fields != 0 {
        node.keyspace.fields.expired_passively(db.logical, u64::from(tally.expired_fields));
    }
}

fn count(counters: &ThreadCounters, tally: Tally) {
    if tally != Tally::default() {
        counters.hits.add(u64::from(tally.hits));
        counters.misses.add(u64::from(tally.misses));
        counters.expired.add(u64::from(tally.expired));
    }
}

/// Locks the stripes of the command's keys.
pub(super) fn lock<'a>(
    node: &'a Node,
    call: &Call<'_>,
    mode: Mode,
    patience: Patience,
) -> Option<(Held<'a>, Located)> {
    let spec = call.command.spec;
    let nowhere = Located::default();
    if spec.locks_everything {
        let held = node.locks.many(&StripeSet::ALL, mode, patience)?;
        return Some((held, nowhere));
    }
    if let Some(at) = spec.keys.single() {
        let key = call.words.get(at).unwrap_or(&[]);
        let known = call.located.is(key);
        let located = if known { call.located } else { Located::new(node.keyspace.seed, key) };
        let held = node.locks.one(stripe_of(located.slot), mode, patience)?;
        return Some((held, located));
    }
    let mut stripes = StripeSet::default();
    for (at, _) in spec.keys.positions(call.words) {
        stripes.insert(stripe_of(slot::of(call.words.get(at).unwrap_or(&[]))));
    }
    node.locks.many(&stripes, mode, patience).map(|held| (held, nowhere))
}

/// Writes an error reply and counts it by its first word.
pub fn write_error(node: &Node, counters: &ThreadCounters, error: &Error, out: &mut Vec<u8>) {
    let words = error.to_string();
    node.metrics.count_error(words.split(' ').next().unwrap_or("ERR"));
    counters.error_replies.add(1);
    tarn_resp::encode::error_bytes(out, &error.wire());
}
