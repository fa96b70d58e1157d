//! The transaction of a unit: handler after handler, commit, effects. Run again from the start where it met a conflict.

use std::sync::Arc;
use std::time::Duration;

use tarn_engine::{AnySnapshot, AnyWrite, Contended, Error as EngineError, Read, Wait, Write as _};
use tarn_resp::Protocol;

use super::locks::{Held, LockSet};
use super::script::{self, Scene};
use super::spec::Run;
use super::unit::{Atomic, Call, Calls, Step, Unit, nil};
use super::watches::{Changed, Watch, WatchedKey, Watching, changed_keys};
use crate::config::Events;
use crate::error::{Error, Result, Stop, Why};
use crate::keyspace::garbage::queue;
use crate::keyspace::shared::lease::Committing;
use crate::keyspace::{Effect, Effects, Env, Located, ReadCx, Source, Tally, View as _, WriteCx, draws};
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::nodes::remap::Remap;
use crate::reply::{Arena, Chunks, Reply};

/// Times a unit is run again because of conflicts before the client is told.
const MAX_CONFLICTS: u32 = 64;
/// Rows put and deleted from which on no further call of a pipeline joins: a lock is not held for long.
pub(super) const MAX_BATCH_CHANGES: usize = 512;

/// Bytes of replies from which on no further read of a pipeline joins: it is looked again whether the client takes more.
pub(super) const MAX_BATCH_REPLY_BYTES: usize = 32 * 1024;

/// What a run is given beside its context.
pub(super) struct Turn<'t, 'n> {
    pub(super) node: &'n Arc<Node>,
    pub(super) counters: &'t ThreadCounters,
    pub(super) arena: &'t mut Arena,
    pub(super) wait: Wait,
    /// Where sources are read from, if not from the transaction.
    pub(super) snapshot: Option<&'t AnySnapshot>,
    /// Keys to be removed behind it.
    pub(super) behind: &'t mut Behind,
    /// Whose run it is; 0 is the server's own.
    pub(super) client: u64,
    /// What scripts among the calls may add to.
    pub(super) locks: Option<Hold<'t, 'n>>,
    /// Fetches the rows that will be read, where they are elsewhere.
    pub(super) ahead: Option<&'t dyn Fn(&dyn Read)>,
    /// EXEC, where other nodes may have changed what it watches.
    pub(super) watch: Option<&'t Watch>,
    /// They have: nothing was done.
    pub(super) is_aborted: bool,
}

/// The locks of a run.
pub(super) struct Hold<'t, 'n> {
    pub(super) held: &'t mut Held<'n>,
    /// What could not be had at once: see [`Scene::missing`].
    pub(super) missing: &'t mut LockSet,
}

/// What is left to do behind a run, once its locks are released.
#[derive(Default)]
pub(super) struct Behind {
    /// Keys whose time had come, by database: to be removed.
    pub(super) lapsed: Vec<(u16, Box<[u8]>)>,
    /// Keys that were changed and that somebody waits for.
    pub(super) ready: Vec<Ready>,
}

/// A key that was changed and that somebody waits for.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) key: WatchedKey,
    /// Whether it is there has to be looked at.
    pub(super) may_be_gone: bool,
}

impl Behind {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lapsed.is_empty() && self.ready.is_empty()
    }
}

/// Where replies go, and what is noted of each.
pub(super) struct Replies<'r> {
    pub(super) out: &'r mut Vec<u8>,
    /// Where a long one of a single call may be left.
    pub(super) chunks: Option<&'r mut Chunks>,
    pub(super) begin: usize,
    pub(super) steps: &'r mut Vec<Step>,
}

impl Replies<'_> {
    pub(super) fn clear(&mut self) {
        self.out.truncate(self.begin);
        self.steps.clear();
        if let Some(chunks) = &mut self.chunks {
            chunks.clear();
        }
    }

    /// Of a call that ended half-way.
    fn drop_unfinished(&mut self) {
        self.out.truncate(self.steps.last().map_or(self.begin, |step| step.end));
    }

    /// Writes the reply of a call. What is more than there is room for is not written.
    #[inline]
    fn write(&mut self, reply: &Reply, protocol: Protocol, arena: &mut Arena) -> Result<()> {
        arena.admit()?;
        reply.write_out(protocol, arena, self.out, self.chunks.as_deref_mut());
        arena.admit_unit(self.out.len() - self.begin)
    }

    #[inline]
    fn done(&mut self, wrote: bool, failed: bool) {
        self.steps.push(Step { end: self.out.len(), wrote, failed });
    }

    pub(super) fn refuse(&mut self, error: &Error) {
        tarn_resp::encode::error_bytes(self.out, &error.wire());
        self.steps.push(Step { end: self.out.len(), wrote: false, failed: true });
    }
}

pub(super) fn next_random(random: u64) -> u64 {
    draws(random).next().unwrap_or_default()
}

impl<'t, 'n> Turn<'t, 'n> {
    /// A run of the server's own.
    pub(super) fn of_server(
        node: &'n Arc<Node>,
        counters: &'t ThreadCounters,
        arena: &'t mut Arena,
        wait: Wait,
        behind: &'t mut Behind,
    ) -> Turn<'t, 'n> {
        Turn {
            node,
            counters,
            arena,
            wait,
            snapshot: None,
            behind,
            client: 0,
            locks: None,
            ahead: None,
            watch: None,
            is_aborted: false,
        }
    }

    /// The calls of a unit of which none writes.
    #[inline(always)]
    pub(super) fn read_calls<'c>(
        &mut self,
        env: Env<'_>,
        source: Source<'_>,
        unit: &Unit<'_, impl Calls<'c>>,
        located: Located,
        replies: &mut Replies<'_>,
    ) -> Result<bool> {
        self.arena.begin_run();
        let mut cx = ReadCx::new(env, source, self.arena);
        let mut random = env.random;
        for (place, call) in unit.calls.clone().enumerate() {
            cx.begin_call(if place == 0 { located } else { call.located }, random);
            cx.select(call.db);
            random = next_random(random);
            let (before, noted) = (*cx.tally(), cx.effects().list.len());
            let answer = call.read(&mut cx);
            let written = answer.and_then(|reply| replies.write(&reply, unit.caller.protocol, cx.arena()));
            match written {
                Ok(()) => {
                    replies.done(false, false);
                    if unit.atomic != Atomic::Yes
                        && replies.out.len() - replies.begin >= MAX_BATCH_REPLY_BYTES
                    {
                        break;
                    }
                }
                // Nothing waits in a unit of several calls.
                Err(Stop::Park(park)) if unit.single().is_none() => {
                    nil(&park).write(unit.caller.protocol, &Arena::new(), replies.out);
                    replies.done(false, false);
                }
                // It ends the unit before it.
                Err(Stop::Move(_)) if unit.atomic != Atomic::Yes && place > 0 => {
                    *cx.tally() = before;
                    cx.effects().list.truncate(noted);
                    replies.drop_unfinished();
                    break;
                }
                Err(stop @ (Stop::Move(_) | Stop::Park(_))) => return Err(stop),
                // Not the call's own fault: all of them get that error.
                Err(stop) if unit.atomic == Atomic::Yes && is_engine_error(&stop) => return Err(stop),
                Err(Stop::Refuse(error)) => {
                    *cx.tally() = before;
                    // A WATCH that fails at its second key watches none.
                    cx.effects().refuse_from(noted);
                    replies.refuse(&error);
                }
            }
        }
        let (tally, mut effects) = cx.finish();
        if let Watching::Begin(watch) = &unit.watching {
            begin_watch(self.node, watch, &mut effects);
        }
        finish(self.node, self.counters, env, effects, tally, self.behind);
        Ok(false)
    }

    /// The calls of a unit that writes. Whether anything was written.
    #[inline]
    pub(super) fn write_calls<'c>(
        &mut self,
        env: Env<'_>,
        unit: &Unit<'_, impl Calls<'c>>,
        single: Option<Call<'c>>,
        located: Located,
        replies: &mut Replies<'_>,
    ) -> Result<bool> {
        let protocol = unit.caller.protocol;
        let (node, counters, caller) = (self.node, self.counters, unit.caller);
        let mut scene = self.locks.take().map(|Hold { held, missing }| Scene {
            node,
            counters,
            caller,
            held,
            missing,
            locked_late: false,
        });
        if let Some(call) = single {
            let written = self.write(
                env,
                || call.frees(),
                |cx| {
                    cx.begin_call(located, env.random);
                    replies.clear();
                    let reply = run_call(cx, &call, &mut scene)?;
                    check_locks(cx, &mut scene)?;
                    cx.admit()?;
                    replies.write(&reply, protocol, cx.arena())?;
                    Ok(reply.is_error())
                },
            );
            let (failed, wrote) = written?;
            replies.done(wrote, failed);
            self.counters.writes.add(u64::from(wrote));
            return Ok(wrote);
        }
        let frees = || unit.calls.clone().all(|call| call.frees());
        let written = self.write(env, frees, |cx| {
            // A savepoint at the beginning costs nothing. One before each call does, so that is done only if one of them is refused.
            let begin = cx.mark();
            if run_calls(cx, unit, Marks::None, env.random, replies, &mut scene)? == Ran::Refused {
                cx.rewind(begin);
                run_calls(cx, unit, Marks::EachCall, env.random, replies, &mut scene)?;
            }
            check_locks(cx, &mut scene)
        });
        match written {
            Ok(((), wrote)) => {
                self.counters.writes.add(replies.steps.iter().filter(|step| step.wrote).count() as u64);
                Ok(wrote)
            }
            Err(stop @ (Stop::Move(_) | Stop::Park(_))) => Err(stop),
            // There may be room for some of them: each is tried by itself.
            Err(Stop::Refuse(error))
                if unit.atomic != Atomic::Yes
                    && self.wait == Wait::Never
                    && matches!(*error, Error::Engine(EngineError::Full(_)) | Error::OverMaxdisk) =>
            {
                Err(Stop::Move(Why::Contended))
            }
            // It may have been committed all the same, so that nothing may run again.
            Err(Stop::Refuse(error)) => {
                let ran = match unit.atomic {
                    Atomic::Yes => unit.calls.clone().count(),
                    Atomic::No | Atomic::OneKey => replies.steps.len().max(1),
                };
                replies.clear();
                (0..ran).for_each(|_| replies.refuse(&error));
                Ok(false)
            }
        }
    }

    /// Runs `work` and commits what it wrote, again if it met a conflict. Whether anything was written. On a full disk `frees`
    /// is asked whether it frees something.
    #[inline]
    pub(super) fn write<T>(
        &mut self,
        env: Env<'_>,
        frees: impl Fn() -> bool,
        mut work: impl FnMut(&mut WriteCx<'_>) -> Result<T>,
    ) -> Result<(T, bool)> {
        let mut contended = Contended::default();
        let mut is_freeing = false;
        let is_shared = self.node.engine.is_shared();
        let mut remap = None;
        loop {
            self.arena.begin_run();
            let mut txn = match contended.conflicts {
                0 => self.node.engine.begin_write(self.wait),
                _ => self.node.engine.begin_again(self.wait, &contended),
            };
            if is_freeing {
                txn.frees();
            }
            if let Some(ahead) = self.ahead {
                ahead(&txn);
            }
            let mut cx = WriteCx::new(env, txn, Some(&self.node.engine), self.snapshot, self.arena);
            let worked = work(&mut cx);
            // Versions are not live before the commit, so they are kept until after it.
            let (mut txn, mut effects, _building, tally) = cx.finish();
            let value = match worked {
                Ok(value) => Ok(value),
                Err(Stop::Park(park)) if park.keeps => Err(Stop::Park(park)),
                // What is built aside commits too.
                Err(stop) if stop.is_conflict() && contended.conflicts < MAX_CONFLICTS => {
                    // Whatever it holds is given back before it waits.
                    drop(txn);
                    after_conflict(self.node, self.counters, &mut contended);
                    continue;
                }
                // It will run again.
                Err(stop @ (Stop::Move(_) | Stop::Park(_))) => return Err(stop),
                Err(error) => {
                    effects.refuse_from(0);
                    finish(self.node, self.counters, env, effects, Tally::default(), self.behind);
                    return Err(error);
                }
            };
            if env.keyspace.queues_garbage {
                queue::note(&mut txn, effects.dead());
            }
            let dirty = txn.is_dirty();
            let mut committing = None;
            if is_shared {
                match may_commit(self.node, self.watch, env, &mut txn, &effects, &mut remap)? {
                    Admitted::Yes(admitted) => committing = admitted,
                    // With a transaction that begins behind the announcement.
                    Admitted::Announced => continue,
                    Admitted::Aborted => {
                        self.is_aborted = true;
                        return Err(Stop::Move(Why::Contended));
                    }
                }
            }
            if contended.conflicts > 0 {
                contended.note(&txn);
            }
            let is_asked = dirty && self.node.asks_for_changes();
            let changed = if is_asked { changed(self.node, &txn, &effects) } else { Vec::new() };
            if dirty && self.node.eviction.refuses() && !frees() {
                return Err(Error::OverMaxdisk.into());
            }
            let committed = match dirty {
                false => Ok(()),
                true if !effects.tells() => txn.commit().map(|_| ()),
                true => {
                    let list = std::mem::take(&mut effects.list);
                    let left = self.node.commit_and_tell(env.events, list, || txn.commit());
                    left.map(|left| effects.list = left)
                }
            };
            drop(committing);
            match committed {
                Ok(()) => {
                    if is_asked {
                        tell_changed(self.node, changed, self.client, self.behind);
                    }
                    finish(self.node, self.counters, env, effects, tally, self.behind);
                    if let Some(remap) = remap {
                        remap.made();
                    }
                    return value.map(|value| (value, dirty));
                }
                Err(EngineError::Conflict) if contended.conflicts < MAX_CONFLICTS => {
                    after_conflict(self.node, self.counters, &mut contended);
                }
                Err(EngineError::Full(_)) if !is_freeing && frees() => is_freeing = true,
                Err(error) => {
                    // Where it may have been made all the same it counts as a change.
                    if !error.wrote_nothing() {
                        tell_changed(self.node, changed, self.client, self.behind);
                    }
                    return Err(error.into());
                }
            }
        }
    }
}

/// Whether a run may commit where others share the data.
enum Admitted<'n> {
    /// While this is kept.
    Yes(Option<Committing<'n>>),
    /// It changes the map of databases, and all others have let go of it by now.
    Announced,
    /// A watched key was changed.
    Aborted,
}

/// Whether what a run has read by the map of databases counts, and what it has written may be committed; a change of the map itself is
/// announced first.
fn may_commit<'n>(
    node: &'n Node,
    watch: Option<&Watch>,
    env: Env<'_>,
    txn: &mut AnyWrite<'_>,
    effects: &Effects,
    remap: &mut Option<Remap<'n>>,
) -> Result<Admitted<'n>> {
    let lease = &node.keyspace.shared.lease;
    let again = || Stop::Move(Why::Contended);
    if remap.is_none() && lease.has_run_out() {
        // What ran for long may have lost the cluster meanwhile.
        node.keyspace.ready()?;
    }
    if let Some(watch) = watch
        && !watch.is_confirmed(&node.keyspace.shared, txn)?
    {
        return Ok(Admitted::Aborted);
    }
    match remap {
        _ if !txn.is_dirty() && lease.is_still(env.map_epoch) => Ok(Admitted::Yes(None)),
        _ if !txn.is_dirty() => Err(again()),
        Some(remap) => match remap.join(txn)? {
            true => Ok(Admitted::Yes(None)),
            false => Err(again()),
        },
        None if effects.renumbers_any() => {
            *remap = Some(Remap::begin(node, env.map_epoch)?.ok_or_else(again)?);
            Ok(Admitted::Announced)
        }
        None => lease.begin_commit(env.map_epoch).map(|made| Admitted::Yes(Some(made))).ok_or_else(again),
    }
}

/// Whoever a run collided with is given time to end: longer each time, and not all as long.
#[cold]
fn after_conflict(node: &Node, counters: &ThreadCounters, contended: &mut Contended) {
    contended.conflicts += 1;
    counters.conflicts.add(1);
    if node.engine.is_shared() {
        let most_us = 500_u64 << contended.conflicts.min(7);
        let random = next_random(u64::from(contended.conflicts) ^ node.clock.now_us());
        std::thread::sleep(Duration::from_micros(random % most_us));
    }
}

/// Where a unit can be rolled back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    None,
    EachCall,
}

/// What became of the calls of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ran {
    Done,
    /// One of them was refused and could not be undone alone.
    Refused,
}

fn is_engine_error(stop: &Stop) -> bool {
    matches!(stop.refusal(), Some(Error::Engine(_)))
}

/// Whether scripts among the calls had their locks in time.
#[inline]
fn check_locks(cx: &WriteCx<'_>, scene: &mut Option<Scene<'_, '_>>) -> Result<()> {
    scene.as_mut().map_or(Ok(()), |scene| scene.check_locks(cx))
}

/// Runs one call.
#[inline]
fn run_call(cx: &mut WriteCx<'_>, call: &Call<'_>, scene: &mut Option<Scene<'_, '_>>) -> Result<Reply> {
    match (call.command.spec.run, scene) {
        (Run::Script(_), Some(scene)) => script::run(cx, call, scene),
        _ => call.write(cx),
    }
}

/// Runs the calls of a unit one after the other.
#[inline]
fn run_calls<'c>(
    cx: &mut WriteCx<'_>,
    unit: &Unit<'_, impl Calls<'c>>,
    marks: Marks,
    first_random: u64,
    replies: &mut Replies<'_>,
    scene: &mut Option<Scene<'_, '_>>,
) -> Result<Ran> {
    replies.clear();
    let protocol = unit.caller.protocol;
    let (mut random, mut changes) = (first_random, 0);
    for call in unit.calls.clone() {
        let mark = (marks == Marks::EachCall).then(|| cx.mark());
        cx.begin_call(call.located, random);
        cx.select(call.db);
        random = next_random(random);
        let answer = run_call(cx, &call, scene);
        let written = answer.and_then(|reply| {
            cx.admit()?;
            replies.write(&reply, protocol, cx.arena())?;
            Ok(reply.is_error())
        });
        let stop = match written {
            Ok(is_error) => {
                let before = std::mem::replace(&mut changes, cx.changes());
                replies.done(changes > before, is_error);
                if changes >= MAX_BATCH_CHANGES && unit.atomic != Atomic::Yes {
                    break;
                }
                continue;
            }
            // Nothing waits in a unit of several calls.
            Err(Stop::Park(park)) if park.keeps => {
                nil(&park).write(protocol, &Arena::new(), replies.out);
                replies.done(cx.changes() > changes, false);
                changes = cx.changes();
                continue;
            }
            Err(stop) => stop,
        };
        // Not the call's own fault.
        let ends_unit = matches!(stop, Stop::Move(_)) || is_engine_error(&stop);
        if ends_unit && (unit.atomic == Atomic::Yes || replies.steps.is_empty()) {
            return Err(stop);
        }
        let Some(mark) = mark else { return Ok(Ran::Refused) };
        cx.undo(mark);
        match stop {
            _ if ends_unit => break,
            Stop::Park(park) => {
                nil(&park).write(protocol, &Arena::new(), replies.out);
                replies.done(false, false);
            }
            Stop::Refuse(error) => replies.refuse(&error),
            Stop::Move(_) => break,
        }
    }
    Ok(Ran::Done)
}

impl Node {
    /// Whether anybody wants to know which keys are changed.
    #[inline]
    fn asks_for_changes(&self) -> bool {
        self.watches.any() || self.waiters.any() || self.tracking.any() || self.nodes.any()
    }
}

/// The keys that a transaction changes and that somebody watches or waits for.
#[cold]
fn changed(node: &Node, txn: &AnyWrite<'_>, effects: &Effects) -> Vec<Changed> {
    // What others want to hear of is known best behind the commit.
    let is_asked_for = |key: &WatchedKey| {
        node.nodes.any()
            || node.watches.is_watched(key)
            || node.waiters.is_awaited(key)
            || node.tracking.is_tracked(&key.key)
    };
    changed_keys(txn, effects, &node.keyspace.shared, &is_asked_for)
}

#[cold]
fn tell_changed(node: &Node, changed: Vec<Changed>, by: u64, behind: &mut Behind) {
    node.watches.tell(&changed);
    if node.nodes.any() {
        node.nodes
            .tell_changed(changed.iter().map(|Changed { key, is_gone, .. }| (key.db, &*key.key, *is_gone)));
    }
    if node.tracking.any() {
        node.tracking.tell(&node.clients, changed.iter().map(|changed| &*changed.key.key), by);
        node.deliver();
    }
    let awaited = changed.into_iter().filter(|changed| node.waiters.is_awaited(&changed.key));
    behind.ready.extend(awaited.map(|Changed { key, is_gone, .. }| Ready { key, may_be_gone: is_gone }));
}

/// What must happen once a transaction is committed, under its locks.
#[inline(always)]
fn finish(
    node: &Node,
    counters: &ThreadCounters,
    env: Env<'_>,
    effects: Effects,
    tally: Tally,
    behind: &mut Behind,
) {
    if !effects.is_empty() {
        carry_out(node, env.events, effects, behind);
    }
    if tally.hits != 0 {
        counters.hits.add(u64::from(tally.hits));
    }
    if tally.misses != 0 {
        counters.misses.add(u64::from(tally.misses));
    }
    if tally.expired | tally.expired_fields != 0 {
        count_expired(node, counters, env, tally);
    }
}

#[cold]
fn count_expired(node: &Node, counters: &ThreadCounters, env: Env<'_>, tally: Tally) {
    counters.expired.add(u64::from(tally.expired));
    if tally.expired_fields != 0 {
        node.keyspace.parts.expired_passively(env.db.logical, u64::from(tally.expired_fields));
    }
}

/// WATCH, under the locks of its keys.
fn begin_watch(node: &Node, watch: &Arc<Watch>, effects: &mut Effects) {
    for effect in std::mem::take(&mut effects.list) {
        match effect {
            Effect::Watch { db, key, was } => node.watches.add(watch, WatchedKey { db, key }, was),
            other => effects.list.push(other),
        }
    }
}

/// The effects that are not told with the commit.
#[cold]
fn carry_out(node: &Node, events: Events, effects: Effects, behind: &mut Behind) {
    behind.lapsed = effects.lapsed;
    let mut told = Vec::new();
    for effect in effects.list {
        match effect {
            Effect::Renumber(db) => {
                node.keyspace.shared.remapped(&[db]);
                node.watches.tell_database(db.logical);
                node.nodes.tell_database(db.logical);
                if node.tracking.any() {
                    node.tracking.tell_all(&node.clients);
                    node.deliver();
                }
                if node.waiters.any() {
                    let keys = node.waiters.keys_of(db.logical).into_iter();
                    behind.ready.extend(keys.map(|key| Ready { key, may_be_gone: true }));
                }
            }
            // Where it is on record it is not counted.
            Effect::Dead(_) if node.keyspace.queues_garbage => {}
            Effect::Dead(dead) => node.keyspace.garbage.add([dead]),
            Effect::Monitor(line) => {
                if let Some(post) = node.post() {
                    let threads = node.clients.monitor_threads().into_iter();
                    threads.for_each(|thread| post.feed_monitors(thread, Arc::clone(&line)));
                }
            }
            Effect::Tell(_) => told.push(effect),
            // Of a unit that is no WATCH: a run for its reads alone.
            Effect::Watch { .. } => {}
        }
    }
    if !told.is_empty() {
        node.tell_without_commit(events, told);
    }
}
