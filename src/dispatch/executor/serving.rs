//! Serving those who wait in blocking commands: their commands are run anew when their keys were changed.

use std::collections::VecDeque;
use std::sync::Arc;

use tarn_engine::Wait;

use super::{Allowed, Executor, On, write_error};
use crate::acl::{Context, Denied};
use crate::commands::acl::note_denied;
use crate::dispatch::caller::Caller;
use crate::dispatch::gate;
use crate::dispatch::transaction::{Ready, Replies};
use crate::dispatch::unit::{Atomic, Call, Outcome, Unit, Waits, Why};
use crate::dispatch::waiters::Waiter;
use crate::dispatch::watches::{WatchedKey, Watching};
use crate::keyspace::{Limits, Place, ReadCx, Source, entry};

/// What became of a client that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Served {
    Replied,
    /// There was nothing for it.
    Waits,
    /// Its command has to run elsewhere, or later.
    Moved(Why),
}

impl Executor {
    /// Serves those who wait for keys that were changed, the longest waiting first, as long as there is something for them.
    #[cold]
    pub(super) fn serve_ready(&mut self, on: On) {
        let mut keys: VecDeque<Ready> = std::mem::take(&mut self.ready).into();
        while let Some(Ready { key, may_be_gone }) = keys.pop_front() {
            let (mut behind, mut is_gone) = (None, may_be_gone && !self.exists(&key));
            while let Some((number, waiter)) = self.node.waiters.next(&key, behind, is_gone) {
                behind = Some(number);
                if !waiter.take() {
                    continue;
                }
                let served = self.serve(&waiter, on);
                if let (Served::Moved(why), Some(post)) = (served, self.node.post()) {
                    post.serve_on_worker(Arc::clone(&waiter), why);
                }
                // Who waits behind it is not run to find that there is nothing left.
                let is_emptied = self.ready.iter().any(|ready| ready.may_be_gone && ready.key == key);
                is_gone |= is_emptied || !self.exists(&key);
                // What its own commit has made ready comes behind.
                keys.extend(self.ready.drain(..));
            }
        }
    }

    /// Serves those who wait for keys that were changed elsewhere, and may be gone.
    pub fn serve_changed(&mut self, keys: Vec<(WatchedKey, bool)>) {
        self.ready = keys.into_iter().map(|(key, may_be_gone)| Ready { key, may_be_gone }).collect();
        self.serve_ready(On::Worker(Why::Cold));
    }

    /// Runs the command of a waiter that was taken, and those of others whom its commit has something for.
    pub fn serve_alone(&mut self, waiter: &Arc<Waiter>, on: On) -> Served {
        let served = self.serve(waiter, on);
        if !self.ready.is_empty() {
            self.serve_ready(on);
        }
        served
    }

    /// Runs the command of a waiter that was taken. What its commit has made ready is left to the caller.
    fn serve(&mut self, waiter: &Arc<Waiter>, on: On) -> Served {
        let node = Arc::clone(&self.node);
        let Some(post) = node.post() else { return Served::Waits };
        if let Some(refusal) = self.refuse_late(&waiter.caller, &waiter.queued.call()) {
            node.waiters.finish(waiter);
            post.served(waiter, refusal);
            return Served::Replied;
        }
        loop {
            if waiter.is_gone() {
                node.waiters.finish(waiter);
                return Served::Waits;
            }
            let unit = Unit {
                caller: waiter.caller,
                calls: std::iter::once(waiter.queued.call()),
                atomic: Atomic::Yes,
                watching: Watching::No,
                waits: Waits::Woken,
                now_ms: node.clock.now_ms(),
                limits: &waiter.limits,
            };
            let (mut reply, mut steps) = (Vec::new(), Vec::new());
            self.draw();
            let mut replies = Replies { out: &mut reply, chunks: None, begin: 0, steps: &mut steps };
            let outcome = match on {
                On::IoThread if !node.engine.keeps_resident() => Outcome::Move(Why::Cold),
                On::IoThread => self.attempt(&unit, unit.single(), Allowed::ON_IO_THREAD, &mut replies),
                On::Worker(why) => self.run_to_end(&unit, why, &mut replies),
            };
            match outcome {
                Outcome::Park(park) => {
                    if waiter.set_again_at(node.look_again_at(&park)) {
                        post.look_again(waiter);
                    }
                    if waiter.release() {
                        node.end_if_asked(waiter);
                        return Served::Waits;
                    }
                    // A key was changed meanwhile.
                }
                Outcome::Move(why) => return Served::Moved(why),
                Outcome::Replied { .. } | Outcome::Aborted => {
                    if steps.iter().any(|step| step.failed) {
                        self.count_errors(&unit, &steps, 0, &reply);
                    }
                    node.waiters.finish(waiter);
                    post.served(waiter, reply);
                    return Served::Replied;
                }
            }
        }
    }

    /// What a client hears whose user may not make a call any more that was let pass before it had to wait.
    pub fn refuse_late(&mut self, caller: &Caller, call: &Call<'_>) -> Option<Vec<u8>> {
        let denied = self.denied_late(caller, call)?;
        let node = &self.node;
        if let Some(client) = node.clients.get(caller.client) {
            note_denied(node, &client, node.clock.now_ms(), Context::TopLevel, &denied);
        }
        if let Some(counters) = self.counters.command(call.command.id) {
            counters.rejected.add(1);
        }
        let mut reply = Vec::new();
        write_error(node, &self.counters, &denied.error(), &mut reply);
        Some(reply)
    }

    /// Whether it would hear nothing of the kind.
    pub fn may_late(&self, caller: &Caller, call: &Call<'_>) -> bool {
        self.denied_late(caller, call).is_none()
    }

    fn denied_late(&self, caller: &Caller, call: &Call<'_>) -> Option<Denied> {
        let node = &self.node;
        let user = if caller.is_free(&node.acl) { None } else { node.acl.restricted(caller.user) }?;
        gate::permit(call, &user, node).err()
    }

    /// Whether there is such a key. What is not in memory counts as there.
    fn exists(&mut self, key: &WatchedKey) -> bool {
        let Executor { node, arena, random, .. } = self;
        let now_ms = node.clock.now_ms();
        let Ok(env) = node.env(key.db, now_ms, &Limits::DEFAULT, Place::IoThread, *random) else {
            return false;
        };
        let mut cx = ReadCx::new(env, Source::Live(node.engine.begin_read(Wait::Never)), arena);
        entry::find_stored(&mut cx, env.db, &key.key).map_or(true, |found| found.exists())
    }
}
