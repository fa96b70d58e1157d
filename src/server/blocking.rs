//! Connections that wait in a blocking command: how a wait begins, and the ways in which it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::{Connection, State};
use super::io_thread::IoThread;
use super::pipeline::{Flow, apply_reply_mode};
use crate::clients::flag;
use crate::dispatch::executor::{On, Served};
use crate::dispatch::multi::Queued;
use crate::dispatch::registry::Registered;
use crate::dispatch::unit::{Atomic, Outcome, Unit, Waits, Why};
use crate::dispatch::waiters::{Ending, Waiter};
use crate::dispatch::watches::Watching;
use crate::error::Park;
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::reply::{Arena, Reply};

/// How long a wait whose time is over is left to whoever runs its command at this moment.
const TAKEN: Duration = Duration::from_millis(1);
/// How the reply begins with which CLIENT UNBLOCK ends a wait: see [`Node::end_if_asked`].
const UNBLOCKED: &[u8] = b"-UNBLOCKED ";

impl IoThread {
    /// A blocking command found nothing, and is known to wait. Where other nodes could change its keys, a worker has looked: see
    /// [`IoThread::park`].
    pub(super) fn wait(&mut self, connection: &mut Connection, place: usize, park: &Park) -> Flow {
        let Some(waiter) = self.pipeline.executor.parked.take() else { return Flow::Next };
        self.pipeline.wrote |= park.keeps;
        if connection.hung_up {
            self.node.end_wait(&waiter, Ending::Gone);
            connection.session.closing = true;
            return Flow::Next;
        }
        if let Some(at_ms) = park.again_at_ms {
            self.look_again(place, waiter.caller.client, at_ms);
        }
        self.block(connection, place, waiter, park.timeout_ms)
    }

    /// A blocking command found nothing where it could not wait. It waits, after one more look: something may have come before it is
    /// known to.
    pub(super) fn park(
        &mut self,
        connection: &mut Connection,
        place: usize,
        queued: Queued,
        park: Park,
    ) -> Flow {
        let (caller, limits) = (connection.session.caller(), self.limits);
        let queued = queued.with_words(&park.words);
        self.pipeline.wrote |= park.keeps;
        if connection.hung_up {
            // It left while a worker looked.
            connection.session.closing = true;
            return Flow::Next;
        }
        let waiter = self.node.waiters.add(Waiter::taken(queued, caller, limits, (self.index, place)));
        self.node.nodes.want_anew();
        loop {
            // Its user may have lost the permission since it looked first.
            if let Some(refusal) = self.pipeline.executor.refuse_late(&caller, &waiter.queued.call()) {
                self.node.waiters.finish(&waiter);
                connection.output.extend_from_slice(&refusal);
                return Flow::Next;
            }
            let unit = Unit {
                caller,
                calls: std::iter::once(waiter.queued.call()),
                atomic: Atomic::Yes,
                watching: Watching::No,
                waits: Waits::Woken,
                now_ms: self.pipeline.now_ms,
                limits: &limits,
            };
            match self.pipeline.executor.run(&unit, On::IoThread, &mut connection.output) {
                Outcome::Park(park) => {
                    let again_at_ms = self.node.look_again_at(&park);
                    if waiter.set_again_at(again_at_ms) {
                        self.look_again(place, caller.client, again_at_ms.unwrap_or_default());
                    }
                    if waiter.release() {
                        self.node.end_if_asked(&waiter);
                        break;
                    }
                }
                Outcome::Move(why) => {
                    self.serve_on_worker(&waiter, why);
                    break;
                }
                Outcome::Replied { wrote } => {
                    self.node.waiters.finish(&waiter);
                    self.pipeline.set_wrote(wrote);
                    return Flow::Next;
                }
                Outcome::Aborted => return Flow::Next,
            }
        }
        self.block(connection, place, waiter, park.timeout_ms)
    }

    /// Nothing of the connection runs until the wait is over.
    fn block(
        &mut self,
        connection: &mut Connection,
        place: usize,
        waiter: Arc<Waiter>,
        timeout_ms: u64,
    ) -> Flow {
        let wait = (timeout_ms != 0).then(|| Duration::from_millis(timeout_ms));
        // What is too far away to be told is for ever.
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        connection.session.client.set_flag(flag::BLOCKED, true);
        if let Some(until) = until {
            self.connections.wake_at(until, place, connection.session.client.id);
        }
        connection.state = State::Blocked(until, waiter);
        Flow::Stop
    }

    /// Sets a time at which a client that waits looks again.
    pub(super) fn look_again(&mut self, place: usize, client: u64, at_ms: u64) {
        let wait = Duration::from_millis(at_ms.saturating_sub(self.node.clock.now_ms()));
        if let Some(at) = Instant::now().checked_add(wait) {
            self.connections.wake_at(at, place, client);
        }
    }

    /// A client that waits looks again if it is time to.
    pub(super) fn look_if_due(&mut self, place: usize, client: u64, waiter: &Arc<Waiter>) {
        let Some(at_ms) = waiter.again_at_ms() else { return };
        if at_ms > self.node.clock.now_ms() {
            // Timers are finer than the clock.
            self.look_again(place, client, at_ms);
        } else if waiter.take() {
            if let Served::Moved(why) = self.pipeline.executor.serve_alone(waiter, On::IoThread) {
                self.serve_on_worker(waiter, why);
            }
            self.pipeline.wrote = true;
        }
    }

    /// Runs the command of a waiter on a worker.
    pub(super) fn serve_on_worker(&mut self, waiter: &Arc<Waiter>, why: Why) {
        self.workers.serve(Arc::clone(waiter), why);
    }

    /// A client that waited has its reply.
    pub(super) fn end_wait(&mut self, place: usize, client: u64, reply: &[u8], wrote: bool) {
        let Some(connection) = self.connections.of_client(place, client) else { return };
        let State::Blocked(_, waiter) = &connection.state else { return };
        // Whoever runs a command counts its errors; this one comes from outside.
        if reply.starts_with(UNBLOCKED) {
            count_unblocked(&self.node, &self.pipeline.executor.counters, waiter.queued.command);
        }
        connection.state = State::Open;
        let before = connection.output.len();
        connection.output.extend_from_slice(reply);
        apply_reply_mode(connection, before);
        if wrote && connection.output.len() > before {
            connection.write_replies.push((before, connection.output.len()));
        }
        // The commit may be another thread's, which has not handed it on yet.
        self.pipeline.wrote |= wrote;
        self.connections.enqueue(place);
        self.connections.to_send.push(place);
    }

    /// The time of a client that waits is over.
    pub(super) fn time_out(&mut self, place: usize, client: u64, waiter: &Arc<Waiter>) {
        if !self.node.waiters.cancel(waiter) {
            // Its reply is on the way, or it will wait again.
            self.connections.wake_at(Instant::now() + TAKEN, place, client);
            return;
        }
        let mut nil = Vec::new();
        Reply::NilArray.write(waiter.caller.protocol, &Arena::new(), &mut nil);
        self.end_wait(place, client, &nil, false);
    }
}

/// The command of a client that waited has failed.
#[cold]
fn count_unblocked(node: &Node, counters: &ThreadCounters, command: &Registered) {
    node.metrics.count_error("UNBLOCKED");
    counters.error_replies.add(1);
    if let Some(counters) = counters.command(command.id) {
        counters.failed.add(1);
    }
}
