//! Running a unit: locks, transaction, handler after handler, commit, effects, replies. The same code runs a unit on an I/O
//! thread and on a worker; what differs is how long it may wait.

mod long;
mod remote;
mod serving;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use tarn_engine::{Error as EngineError, Read, Wait};

pub use self::long::LongReply;
pub use self::serving::Served;
use super::ahead;
use super::caller::Caller;
use super::hints;
use super::locks::{Busy, Held, LockSet, Mode, Patience, StripeSet};
use super::script::busy_error;
use super::spec::{Flags, KeyFlags, Run};
use super::transaction::{Behind, Hold, Ready, Replies, Turn, next_random};
use super::unit::{Atomic, Call, Calls, Outcome, Step, Unit, Waits, Why};
use super::waiters::Waiter;
use super::watches::{Watch, WatchedKey, Watching};
use crate::client_memory::ClientBudget;
use crate::encoding::slot;
use crate::error::{Error, Park, Result, Stop};
use crate::keyspace::{
    Db, Env, Limits, Located, Place, ReadCx, Source, WriteCx, draws, entry, reap, stripe_of,
};
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::reply::{Arena, Chunks};

/// An arena larger than this is given back after the unit.
const ARENA_KEEP_BYTES: usize = 256 * 1024;

/// Times a script is begun again because of keys that it has not declared; the last time with every lock.
const MAX_SCRIPT_ATTEMPTS: u32 = 4;

/// What a thread needs to run units.
pub struct Executor {
    pub node: Arc<Node>,
    pub counters: Arc<ThreadCounters>,
    /// The calls of the last unit.
    pub steps: Vec<Step>,
    pub contention: Contention,
    /// Who waits in the last unit, if it is a blocking command that was to ([`Waits::As`]).
    pub parked: Option<Arc<Waiter>>,
    /// Keys that were changed and that somebody waits for.
    ready: Vec<Ready>,
    /// Stripes that the scripts of the unit need beyond those of its keys.
    missing: LockSet,
    /// What a unit wants that was moved although it ran on a worker: somebody has it for long.
    pub wanted: LockSet,
    arena: Arena,
    /// Where the worker wants a long reply of a single call; see [`crate::reply::Reply::write_out`].
    long: Option<Chunks>,
    /// Room for replies, and the configuration that says so.
    reply_budget: Option<(u64, ClientBudget)>,
    /// The random number of the unit that runs.
    random: u64,
}

/// How often units meet at their keys' locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contention {
    pub locked: u64,
    /// And had to wait for it.
    pub waited: u64,
}

/// Where a unit runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Never waits.
    IoThread,
    /// To its end. Why it was moved there.
    Worker(Why),
}

/// How long a run may wait.
#[derive(Clone, Copy)]
struct Allowed {
    patience: Patience,
    wait: Wait,
    place: Place,
}

impl Allowed {
    const ON_IO_THREAD: Allowed =
        Allowed { patience: Patience::Short, wait: Wait::Never, place: Place::IoThread };
    /// On a worker, as far as it is little work.
    const LITTLE_WORK: Allowed =
        Allowed { patience: Patience::UntilBusy, wait: Wait::Allowed, place: Place::IoThread };
    const ON_WORKER: Allowed =
        Allowed { patience: Patience::UntilBusy, wait: Wait::Allowed, place: Place::Worker };
}

impl Executor {
    pub fn new(node: Arc<Node>, counters: Arc<ThreadCounters>) -> Executor {
        let random = RandomState::new().hash_one(node.started_ms);
        Executor {
            node,
            counters,
            steps: Vec::new(),
            contention: Contention::default(),
            parked: None,
            ready: Vec::new(),
            missing: LockSet::default(),
            wanted: LockSet::default(),
            arena: Arena::new(),
            long: None,
            reply_budget: None,
            random,
        }
    }

    /// For an I/O thread: what gathers much goes to a worker.
    pub fn on_io_thread(node: Arc<Node>, counters: Arc<ThreadCounters>) -> Executor {
        Executor { arena: Arena::short(), ..Executor::new(node, counters) }
    }

    /// For work of the server that is not counted.
    pub fn uncounted(node: &Arc<Node>) -> Executor {
        Executor::new(Arc::clone(node), Arc::default())
    }

    /// Runs a unit. Replies are appended to `out`; [`Executor::steps`] says of which calls, from the first on.
    #[inline]
    pub fn run<'c>(&mut self, unit: &Unit<'_, impl Calls<'c>>, on: On, out: &mut Vec<u8>) -> Outcome {
        self.draw();
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        let begin = out.len();
        let mut long = self.long.take();
        let mut replies = Replies { out, chunks: long.as_mut(), begin, steps: &mut steps };
        let outcome = match on {
            // It would be refused with its first read.
            On::IoThread if !self.node.engine.keeps_resident() => Outcome::Move(Why::Cold),
            On::IoThread => self.attempt(unit, unit.single(), Allowed::ON_IO_THREAD, &mut replies),
            On::Worker(why) => self.run_to_end(unit, why, &mut replies),
        };
        if outcome == Outcome::Move(Why::Contended) {
            self.missing = LockSet::default();
        }
        if steps.iter().any(|step| step.failed) {
            self.count_errors(unit, &steps, begin, out);
        }
        if !self.ready.is_empty() {
            self.serve_ready(on);
        }
        self.steps = steps;
        self.long = long;
        self.arena.shrink(ARENA_KEEP_BYTES);
        outcome
    }

    /// Runs something of the server's own, not a client's call, in a transaction: under the stripes given, with commit
    /// and retry.
    pub fn transact<T>(
        &mut self,
        stripes: &StripeSet,
        db: u16,
        work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.transact_at(self.node.clock.now_ms(), stripes, db, work)
    }

    /// As [`Executor::transact`], reading only and without locks.
    pub fn look<T>(&mut self, db: u16, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> Result<T> {
        self.look_at(self.node.clock.now_ms(), db, work)
    }

    /// Begins to watch keys, each by a watch of its own, and reads as they are at that moment. Their locks are held until there is a
    /// snapshot. The watches are to be removed.
    pub fn look_watching<T>(
        &mut self,
        db: u16,
        keys: &[(&[u8], Arc<Watch>)],
        work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.draw();
        let Executor { node, arena, random, .. } = self;
        arena.clear();
        let mut stripes = StripeSet::default();
        keys.iter().for_each(|(key, _)| stripes.insert(stripe_of(slot::of(key))));
        let held = node.locks.many(&LockSet::of(stripes, Mode::Shared), Patience::Unlimited);
        let limits = node.config.current().limits();
        let env = node.env(db, node.clock.now_ms(), &limits, Place::Worker, *random)?;
        let snapshot = node.engine.snapshot()?;
        let mut cx = ReadCx::new(env, Source::Snapshot(&snapshot), arena);
        for (key, watch) in keys {
            let was = entry::find_stored(&mut cx, env.db, key)?.was();
            node.watches.add(watch, WatchedKey { db, key: (*key).into() }, was);
        }
        drop(held);
        work(&mut cx)
    }

    /// Tests own the time.
    pub(crate) fn transact_at<T>(
        &mut self,
        now_ms: u64,
        stripes: &StripeSet,
        db: u16,
        mut work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.draw();
        let Executor { node, counters, arena, random, .. } = self;
        node.wait_open()?;
        let wanted = LockSet::of(*stripes, Mode::Exclusive);
        let held = node.locks.many(&wanted, Patience::Unlimited);
        let behind = &mut Behind::default();
        let (value, wrote) = loop {
            let env = node.env(db, now_ms, &Limits::DEFAULT, Place::Worker, *random)?;
            let mut turn = Turn::of_server(node, counters, arena, Wait::Allowed, behind);
            match turn.write(env, || true, &mut work) {
                // The map of databases was changed meanwhile.
                Err(Stop::Move(Why::Contended)) => node.wait_open()?,
                written => break written?,
            }
        };
        counters.writes.add(u64::from(wrote));
        drop(held);
        // Who waits for what goes with a key is told that its time has come.
        self.ready.append(&mut behind.ready);
        if !self.ready.is_empty() {
            self.serve_ready(On::Worker(Why::Contended));
        }
        Ok(value)
    }

    pub(crate) fn look_at<T>(
        &mut self,
        now_ms: u64,
        db: u16,
        work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.draw();
        let Executor { node, arena, random, .. } = self;
        node.wait_open()?;
        arena.clear();
        let env = node.env(db, now_ms, &Limits::DEFAULT, Place::Worker, *random)?;
        work(&mut ReadCx::new(env, Source::Live(node.engine.begin_read(Wait::Allowed)), arena))
    }

    /// A new random number for the unit that runs next.
    #[inline]
    fn draw(&mut self) {
        self.random = draws(self.random).next().unwrap_or_default();
    }

    fn run_to_end<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        why: Why,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        if !self.node.engine.keeps_resident() {
            return self.run_remote(unit, replies);
        }
        // What is cold or contended may turn out to be much work as well: it is run as on an I/O thread first.
        let outcome = match why {
            _ if unit.has_script() => return self.run_script_to_end(unit, replies),
            Why::Heavy | Why::Room => Outcome::Move(Why::Heavy),
            Why::Cold => match self.load(unit) {
                Ok(()) => self.attempt(unit, unit.single(), Allowed::LITTLE_WORK, replies),
                Err(why) => Outcome::Move(why),
            },
            Why::Contended => self.attempt(unit, unit.single(), Allowed::LITTLE_WORK, replies),
        };
        let outcome = match (outcome, unit.single()) {
            (done @ (Outcome::Replied { .. } | Outcome::Aborted | Outcome::Park(_)), _) => done,
            (Outcome::Move(Why::Room), _) => Outcome::Move(Why::Room),
            (Outcome::Move(_), Some(call)) => self.run_heavy(unit, call, replies),
            (Outcome::Move(_), None) => self.attempt(unit, None, Allowed::ON_WORKER, replies),
        };
        self.refuse_moved(unit, outcome, replies)
    }

    /// Waits until nobody has for long what the last unit wants.
    pub fn wait_for_wanted(&self) {
        let (wake, woken) = std::sync::mpsc::channel();
        // Whoever wakes it has somebody to tell: it is waited for right here.
        self.node.locks.park(
            &self.wanted,
            Box::new(move || {
                let _ = wake.send(());
            }),
        );
        let _ = woken.recv();
    }

    /// There is no other place to run it at. Where somebody has its keys for long it stays moved, to be run again later.
    fn refuse_moved<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        outcome: Outcome,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        let Outcome::Move(why) = outcome else { return outcome };
        self.wanted = unit.locks().0.union(&self.missing);
        let error = match (why, self.node.locks.busy(&self.wanted)) {
            // By now they may be free.
            (Why::Contended, None | Some(Busy::Working)) => return outcome,
            (Why::Contended, Some(busy)) => busy_error(busy),
            (Why::Room, _) => return outcome,
            _ => Error::Engine(EngineError::NotResident),
        };
        unit.calls.clone().for_each(|_| replies.refuse(&error));
        Outcome::Replied { wrote: false }
    }

    /// A unit with a script among its calls. Where the script needs keys that it has not declared and that somebody else has, the run
    /// begins again with them, in the end with all that there are.
    fn run_script_to_end<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        self.missing = LockSet::default();
        let mut outcome = Outcome::Move(Why::Contended);
        for attempt in 0..MAX_SCRIPT_ATTEMPTS {
            let before = self.missing;
            outcome = self.attempt(unit, unit.single(), Allowed::ON_WORKER, replies);
            // Nothing more is missing: somebody has what it declares for too long.
            if outcome != Outcome::Move(Why::Contended) || self.missing == before {
                break;
            }
            if attempt + 2 >= MAX_SCRIPT_ATTEMPTS {
                self.missing = LockSet::of(StripeSet::ALL, Mode::Exclusive);
            }
        }
        let outcome = self.refuse_moved(unit, outcome, replies);
        self.missing = LockSet::default();
        outcome
    }

    /// Reads the rows a unit needs into memory without holding its locks, so that the run under the locks is short.
    /// Handlers are pure until commit, so running one for its reads alone changes nothing. What fails fails again under
    /// the locks, where it is reported.
    fn load<'c>(&mut self, unit: &Unit<'_, impl Calls<'c>>) -> Result<(), Why> {
        let Executor { node, arena, random, .. } = self;
        let Ok(env) = node.env(unit.first_db(), unit.now_ms, unit.limits, Place::IoThread, *random) else {
            return Ok(());
        };
        arena.begin_run();
        let txn = node.engine.begin_write(Wait::Allowed);
        let mut cx = WriteCx::new(env, txn, None, None, arena);
        let mut random = *random;
        for call in unit.calls.clone() {
            cx.begin_call(Located::default(), random);
            cx.select(call.db);
            random = next_random(random);
            if let Err(Stop::Move(why)) = call.write(&mut cx) {
                return Err(why);
            }
        }
        Ok(())
    }

    /// One run under the unit's locks.
    #[inline]
    fn attempt<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        single: Option<Call<'c>>,
        allowed: Allowed,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        let is_long = match (&single, unit.atomic) {
            (Some(call), _) => call.command.spec.long,
            (None, Atomic::Yes) => unit.is_long(),
            (None, Atomic::No | Atomic::OneKey) => false,
        };
        if is_long && allowed.place == Place::IoThread {
            return Outcome::Move(Why::Heavy);
        }
        let mut behind = Behind::default();
        let ran = self.run_locked(unit, single, allowed, replies, &mut behind);
        self.conclude(unit, ran, replies, behind, allowed)
    }

    #[inline]
    fn run_locked<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        single: Option<Call<'c>>,
        allowed: Allowed,
        replies: &mut Replies<'_>,
        behind: &mut Behind,
    ) -> Result<Ran> {
        let Executor { node, counters, arena, random, contention, missing, parked, .. } = self;
        let locked = node.lock(unit, single.as_ref(), allowed.patience, missing);
        contention.locked += 1;
        contention.waited += u64::from(locked.as_ref().is_none_or(|locked| locked.held.waited()));
        let Some(Locked { mut held, located, writes }) = locked else { return Ok(Ran::Contended) };
        if unit.caller.tracks {
            node.remember_reads(unit);
        }
        // Under the locks: whoever changes the databases' numbers holds all of them.
        let db = single.as_ref().map_or_else(|| unit.first_db(), |call| call.db);
        let db = node.mapped(db)?;
        let mut env = node.env_of(db, unit.now_ms, unit.limits, allowed.place, *random);
        env.woken = unit.waits == Waits::Woken;
        let is_shared = node.engine.is_shared();
        let mut checked = None;
        if let Watching::Check(watch) = &unit.watching {
            let source = Source::Live(node.engine.begin_read(allowed.wait));
            if watch.is_changed(&mut ReadCx::new(env, source, arena))? {
                return Ok(Ran::Aborted);
            }
            checked = Some(&**watch);
        }
        let witnesses = match &unit.watching {
            Watching::Begin(_) if is_shared => node.witnesses(unit)?,
            _ => Vec::new(),
        };
        // Where rows are elsewhere everything runs on workers, and most of it is little work.
        let is_long = allowed.place == Place::Worker && (node.engine.keeps_resident() || unit.has_script());
        if is_long {
            node.locks.mark(&held, Some(Busy::Working));
        }
        let (wait, locks) = (allowed.wait, Some(Hold { held: &mut held, missing }));
        let is_remote = allowed.wait == Wait::Allowed && !node.engine.keeps_resident();
        let ahead = |read: &dyn Read| ahead::fetch(node, read, unit, true);
        let mut turn = Turn {
            node,
            counters,
            arena,
            wait,
            snapshot: None,
            behind,
            locks,
            ahead: if is_remote { Some(&ahead) } else { None },
            client: unit.caller.client,
            watch: checked.filter(|_| is_shared),
            is_aborted: false,
        };
        let ran = if writes {
            turn.write_calls(env, unit, single, located, replies)
        } else {
            let source = Source::Live(node.engine.begin_read(allowed.wait));
            turn.read_calls(env, source, unit, located, replies)
        };
        let is_aborted = turn.is_aborted;
        if is_long {
            node.locks.mark(&held, None);
        }
        if is_aborted {
            replies.clear();
            return Ok(Ran::Aborted);
        }
        if is_shared && !writes && ran.is_ok() {
            node.check_read(env.map_epoch)?;
            let shared = &node.keyspace.shared;
            let read =
                checked.map(|watch| watch.is_confirmed(shared, &node.engine.begin_read(Wait::Allowed)));
            if !read.transpose()?.unwrap_or(true) {
                replies.clear();
                return Ok(Ran::Aborted);
            }
        }
        if let (Watching::Begin(watch), Ok(_)) = (&unit.watching, &ran) {
            watch.keep(witnesses);
        }
        if let Err(Stop::Park(park)) = &ran {
            *parked = node.add_waiter(unit, single, park);
        }
        ran.map(Ran::Wrote)
    }

    /// Much work of one call: on snapshots as far as that goes, so that locks are held for as short as can be.
    fn run_heavy<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        call: Call<'c>,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        let reads_sources = match call.run() {
            Run::Read(_) => false,
            Run::Write(_) if call.command.spec.reads_sources => true,
            _ => return self.attempt(unit, Some(call), Allowed::ON_WORKER, replies),
        };
        let mut behind = Behind::default();
        let ran = self.run_from_snapshot(unit, &call, reads_sources, replies, &mut behind);
        self.conclude(unit, ran, replies, behind, Allowed::ON_WORKER)
    }

    fn run_from_snapshot<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        call: &Call<'c>,
        reads_sources: bool,
        replies: &mut Replies<'_>,
        behind: &mut Behind,
    ) -> Result<Ran> {
        let Executor { node, counters, arena, random, .. } = self;
        let locked = node.lock(unit, Some(call), Patience::UntilBusy, &LockSet::default());
        let Some(Locked { mut held, located, .. }) = locked else { return Ok(Ran::Contended) };
        if unit.caller.tracks {
            node.remember_reads(unit);
        }
        let env = node.env(unit.first_db(), unit.now_ms, unit.limits, Place::Worker, *random)?;
        let snapshot = node.engine.snapshot()?;
        let wait = Wait::Allowed;
        let mut turn = Turn {
            node,
            counters,
            arena,
            wait,
            snapshot: Some(&snapshot),
            behind,
            locks: None,
            ahead: None,
            client: unit.caller.client,
            watch: None,
            is_aborted: false,
        };
        if reads_sources {
            // The locks of what it only reads are held until it has a snapshot of them.
            held.keep_only(&written_stripes(call));
            node.locks.mark(&held, Some(Busy::Working));
            let wrote = turn.write_calls(env, unit, Some(*call), located, replies);
            node.locks.mark(&held, None);
            return wrote.map(Ran::Wrote);
        }
        drop(held);
        turn.read_calls(env, Source::Snapshot(&snapshot), unit, located, replies).map(Ran::Wrote)
    }

    /// What became of a run: its replies are whole, or none of them is there.
    #[inline(always)]
    fn conclude<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        ran: Result<Ran>,
        replies: &mut Replies<'_>,
        behind: Behind,
        allowed: Allowed,
    ) -> Outcome {
        let wrote = match ran {
            Ok(Ran::Wrote(wrote)) => wrote,
            Ok(Ran::Contended) => return Outcome::Move(Why::Contended),
            Ok(Ran::Aborted) => return Outcome::Aborted,
            Err(Stop::Move(why)) => {
                replies.clear();
                return Outcome::Move(why);
            }
            Err(Stop::Park(park)) => {
                replies.clear();
                return Outcome::Park(park);
            }
            Err(Stop::Refuse(error)) => {
                replies.clear();
                // Of calls that only came together the first is refused.
                let refused = if unit.atomic == Atomic::Yes { usize::MAX } else { 1 };
                unit.calls.clone().take(refused).for_each(|_| replies.refuse(&error));
                false
            }
        };
        let more = !behind.is_empty() && self.do_behind(behind, allowed);
        Outcome::Replied { wrote: wrote | more }
    }

    /// What a run has left to do. Whether anything was written.
    #[cold]
    fn do_behind(&mut self, behind: Behind, allowed: Allowed) -> bool {
        let Behind { lapsed, ready } = behind;
        self.ready.extend(ready);
        !lapsed.is_empty() && self.reap(lapsed, allowed)
    }

    /// Removes keys that a unit met although their time had come. Whether anything was written.
    #[cold]
    fn reap(&mut self, lapsed: Vec<(u16, Box<[u8]>)>, allowed: Allowed) -> bool {
        let Executor { node, counters, arena, random, ready, .. } = self;
        let mut wrote = false;
        for (db, key) in lapsed {
            let wanted = LockSet::of(StripeSet::of(&key), Mode::Exclusive);
            let Some(_held) = node.locks.many(&wanted, allowed.patience) else { continue };
            let now_ms = node.clock.now_ms();
            let Ok(env) = node.env(db, now_ms, &Limits::DEFAULT, Place::Worker, *random) else { continue };
            // What fails here is the sweeper's.
            let behind = &mut Behind::default();
            let mut turn = Turn::of_server(node, counters, arena, allowed.wait, behind);
            let reaped = turn.write(env, || true, |cx| reap::reap_met(cx, &key));
            let reaped = reaped.is_ok_and(|(_, dirty)| dirty);
            counters.writes.add(u64::from(reaped));
            wrote |= reaped;
            ready.append(&mut behind.ready);
        }
        wrote
    }

    #[cold]
    fn count_errors<'c>(&self, unit: &Unit<'_, impl Calls<'c>>, steps: &[Step], begin: usize, out: &[u8]) {
        let mut start = begin;
        for (call, step) in unit.calls.clone().zip(steps) {
            if step.failed {
                if let Some(counters) = self.counters.command(call.command.id) {
                    counters.failed.add(1);
                }
                let words = out.get(start + 1..step.end).unwrap_or_default();
                count_error(&self.node, &self.counters, words);
            }
            start = step.end;
        }
    }
}

/// What a run under locks came to.
enum Ran {
    /// Whether anything was written.
    Wrote(bool),
    /// A lock could not be had.
    Contended,
    /// A watched key was changed.
    Aborted,
}

/// The locks of a unit.
struct Locked<'n> {
    held: Held<'n>,
    /// The key of its first call, if it has one key.
    located: Located,
    writes: bool,
}

impl Node {
    /// A blocking command has found nothing, and is known to wait from now on. Under its locks: nobody can have changed its keys
    /// since it looked.
    #[cold]
    fn add_waiter<'c>(
        &self,
        unit: &Unit<'_, impl Calls<'c>>,
        single: Option<Call<'c>>,
        park: &Park,
    ) -> Option<Arc<Waiter>> {
        let (Waits::As { thread, place }, Some(call)) = (unit.waits, single) else { return None };
        let waiter = Waiter::new(&call, park, unit.caller, *unit.limits, (thread, place));
        Some(self.waiters.add(waiter))
    }

    /// The caller caches the keys that it only reads. Under their locks.
    #[cold]
    fn remember_reads<'c>(&self, unit: &Unit<'_, impl Calls<'c>>) {
        for call in unit.calls.clone() {
            self.remember_call(&unit.caller, &call);
        }
    }

    #[cold]
    pub(super) fn remember_call(&self, caller: &Caller, call: &Call<'_>) {
        let spec = call.command.spec;
        if !spec.flags.has(Flags::READONLY) || matches!(spec.run, Run::Script(_)) {
            return;
        }
        let limit = self.config.current().tracking_table_max_keys;
        for (at, _) in spec.keys.positions(call.words) {
            let key = call.words.get(at).unwrap_or(&[]);
            self.tracking.remember(&self.clients, caller.client, key, limit);
        }
    }

    #[inline]
    fn env<'a>(
        &'a self,
        db: u16,
        now_ms: u64,
        limits: &'a Limits,
        place: Place,
        random: u64,
    ) -> Result<Env<'a>> {
        Ok(self.env_of(self.mapped(db)?, now_ms, limits, place, random))
    }

    /// A database, and the epoch of the map by which it was found.
    #[inline]
    fn mapped(&self, db: u16) -> Result<(Db, u64)> {
        // Before the map is looked at.
        let map_epoch = self.keyspace.shared.lease.epoch();
        let Some(db) = self.keyspace.shared.database(db) else { return Err(Error::DbOutOfRange.into()) };
        Ok((db, map_epoch))
    }

    /// As [`Node::env`]. What is made here is large, and not moved.
    #[inline(always)]
    fn env_of<'a>(
        &'a self,
        (db, map_epoch): (Db, u64),
        now_ms: u64,
        limits: &'a Limits,
        place: Place,
        random: u64,
    ) -> Env<'a> {
        Env {
            keyspace: &self.keyspace,
            map_epoch,
            db,
            now_ms,
            place,
            located: Located::default(),
            limits,
            random,
            woken: false,
            notes_order: self.waiters.any(),
            cluster_enabled: self.cluster_enabled,
            events: self.pubsub.to_note(),
            sorts_fields: self.keyspace.parts.sorts(),
        }
    }

    /// The only key of a call, if it has one.
    #[inline(always)]
    fn locate(&self, call: &Call<'_>) -> Option<Located> {
        if call.located.is_known() {
            return Some(call.located);
        }
        let at = call.command.spec.keys.single_of(call.words)?;
        Some(Located::new(self.keyspace.seed(), call.words.get(at).unwrap_or(&[])))
    }

    /// Locks the stripes of all keys of a unit at once; None when patience ends.
    #[inline(always)]
    fn lock<'c>(
        &self,
        unit: &Unit<'_, impl Calls<'c>>,
        single: Option<&Call<'c>>,
        patience: Patience,
        missing: &LockSet,
    ) -> Option<Locked<'_>> {
        let first = match (single, unit.atomic) {
            (Some(call), _) => Some(*call),
            (None, Atomic::OneKey) => unit.calls.clone().next(),
            (None, Atomic::Yes | Atomic::No) => None,
        };
        let is_script = |call: &Call<'_>| matches!(call.command.spec.run, Run::Script(_));
        if let Some(call) = first
            && !call.command.spec.locks_everything
            && let Some(located) = self.locate(&call)
            && (!is_script(&call) || *missing == LockSet::default())
        {
            let mode = call.mode();
            let held = self.locks.one(stripe_of(located.slot), mode, patience)?;
            let writes = mode == Mode::Exclusive || is_script(&call);
            return Some(Locked { held, located, writes });
        }
        let (wanted, writes) = unit.locks();
        let wanted = wanted.union(missing);
        let located = unit.calls.clone().next().map(|call| call.located).unwrap_or_default();
        // Those of a pipeline are prefetched when it is read.
        if writes && unit.atomic == Atomic::Yes {
            hints::prefetch_keys(self, unit.calls.clone());
        }
        let held = self.locks.many(&wanted, patience)?;
        Some(Locked { held, located, writes })
    }
}

/// The stripes of the keys that a call changes.
fn written_stripes(call: &Call<'_>) -> StripeSet {
    let mut written = StripeSet::default();
    for (at, spec) in call.command.spec.keys.positions(call.words) {
        if !spec.flags.has(KeyFlags::RO) {
            written.insert(stripe_of(slot::of(call.words.get(at).unwrap_or(&[]))));
        }
    }
    written
}

/// Counts an error reply by its first word.
fn count_error(node: &Node, counters: &ThreadCounters, words: &[u8]) {
    let code = words.split(|byte| matches!(byte, b' ' | b'\r')).next().unwrap_or_default();
    node.metrics.count_error(std::str::from_utf8(code).unwrap_or("ERR"));
    counters.error_replies.add(1);
}

/// Writes an error reply and counts it.
pub fn write_error(node: &Node, counters: &ThreadCounters, error: &Error, out: &mut Vec<u8>) {
    let words = error.wire();
    count_error(node, counters, &words);
    tarn_resp::encode::error_bytes(out, &words);
}
