//! EXEC: what a connection has queued runs as one unit, here or on a worker; then come the calls about the connection and the
//! server, and the replies in the order in which the calls were queued.

use std::time::Instant;

use tarn_resp::{Protocol, encode};

use super::connection::Connection;
use super::io_thread::IoThread;
use super::pipeline::Flow;
use super::workers::Work;
use crate::clients::Client;
use crate::config::{Config, CrossSlot};
use crate::dispatch::executor::{Executor, On, write_error};
use crate::dispatch::multi::{Exec, Multi, Queued};
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Run, SessionFn};
use crate::dispatch::stats::{self, Ended, Notable};
use crate::dispatch::unit::{Atomic, Call, Outcome, Step, Unit, Waits, nil};
use crate::dispatch::watches::Watching;
use crate::encoding::slot;
use crate::error::Error;
use crate::number;
use crate::reply::Arena;

/// What is set aside for each reply of a unit; most are shorter.
const REPLY_BYTES: usize = 16;

impl IoThread {
    /// Runs everything that was queued. `call` is EXEC itself.
    pub(super) fn begin_exec(
        &mut self,
        connection: &mut Connection,
        place: usize,
        call: &Call<'_>,
        multi: Multi,
    ) -> Flow {
        let mut exec = Box::new(Exec::new(multi));
        if self.node.clients.monitors() > 0 {
            for queued in &exec.queue {
                self.feed_monitors(connection, queued.command, queued.words.view());
            }
            self.feed_monitors(connection, call.command, call.words);
        }
        if is_across_slots(&self.config, &exec.queue) {
            connection.session.unwatch(&self.node);
            write_error(
                &self.node,
                &self.pipeline.executor.counters,
                &Error::CrossSlot,
                &mut connection.output,
            );
            return Flow::Next;
        }
        self.choose_databases(connection.session.db, &mut exec.queue);
        self.permit_queued(connection, &mut exec.queue);
        let watching = match &connection.session.watch {
            Some(watch) => Watching::Check(watch.clone()),
            None => Watching::No,
        };
        let limits = self.limits;
        let (caller, now_ms) = (connection.session.caller(), self.pipeline.now_ms);
        let mut replies = Vec::with_capacity(REPLY_BYTES * exec.queue.len());
        let outcome = {
            let (calls, watching) = (exec.calls(), watching.clone());
            let unit = Unit {
                caller,
                calls,
                atomic: Atomic::Yes,
                watching,
                waits: Waits::No,
                now_ms,
                limits: &limits,
            };
            self.pipeline.executor.run(&unit, On::IoThread, &mut replies)
        };
        if let Outcome::Move(why) = outcome {
            self.pipeline.executor.counters.offloaded.add(1);
            let work = Work::Exec { exec, limits, why, watching };
            self.submit(connection, place, call.command, call.words, work);
            return Flow::Stop;
        }
        exec.replies = replies;
        exec.steps.clone_from(&self.pipeline.executor.steps);
        let outcome = without_waiting(&mut exec, outcome, connection.session.protocol);
        let nanos = self.pipeline.last.elapsed().as_nanos() as u64;
        let client = &connection.session.client;
        note_calls(&self.pipeline.executor, (&self.config, &self.notable), &exec, client, (now_ms, nanos));
        self.end_unit(connection, place, exec, outcome)
    }

    /// The unit has run.
    pub(super) fn end_unit(
        &mut self,
        connection: &mut Connection,
        place: usize,
        mut exec: Box<Exec>,
        outcome: Outcome,
    ) -> Flow {
        connection.session.unwatch(&self.node);
        match outcome {
            Outcome::Replied { wrote } => {
                exec.wrote = wrote;
                self.resume_exec(connection, place, exec)
            }
            Outcome::Aborted | Outcome::Move(_) | Outcome::Park(_) => {
                encode::null_array(&mut connection.output, connection.session.protocol);
                Flow::Next
            }
        }
    }

    /// Answers the calls in their order, from the next one on.
    pub(super) fn resume_exec(
        &mut self,
        connection: &mut Connection,
        place: usize,
        mut exec: Box<Exec>,
    ) -> Flow {
        if exec.out.is_empty() {
            exec.out.reserve(exec.replies.len());
        }
        while exec.next < exec.queue.len() {
            if exec.answer_next() {
                continue;
            }
            let Some(queued) = exec.queue.get(exec.next) else { break };
            exec.next += 1;
            if let Some(error) = &queued.refused {
                write_error(&self.node, &self.pipeline.executor.counters, error, &mut exec.out);
                continue;
            }
            let Run::Session(handler) = queued.command.spec.run else { continue };
            let begin = connection.output.len();
            let call = queued.call();
            let job = self.answer_queued(connection, place, &call, handler);
            let said = connection.output.split_off(begin.min(connection.output.len()));
            exec.out.extend_from_slice(&said);
            if let Some(job) = job {
                let (command, words) = (queued.command, queued.words.clone());
                self.hand_on_commit(&mut exec);
                connection.exec = Some(exec);
                self.submit(connection, place, command, words.view(), Work::Job(job));
                return Flow::Stop;
            }
        }
        encode::array_len(&mut connection.output, exec.queue.len());
        connection.output.extend_from_slice(&exec.out);
        if let Some(position) = exec.position {
            connection.hold(position);
        }
        self.pipeline.set_wrote(exec.wrote);
        Flow::Next
    }

    /// A call about the connection or the server; its reply is appended to the output, unless a worker has to make it.
    fn answer_queued(
        &mut self,
        connection: &mut Connection,
        place: usize,
        call: &Call<'_>,
        handler: SessionFn,
    ) -> Option<crate::dispatch::session::Job> {
        let protocol = connection.session.protocol;
        let before = connection.output.len();
        let now_ms = self.pipeline.now_ms;
        let begun = Instant::now();
        let mut job = None;
        let answer = if call.command.full_name == "monitor" {
            Err(Error::reply("ERR MONITOR isn't allowed for DENY BLOCKING client").into())
        } else {
            let mut cx = SessionCx { node: &self.node, session: &mut connection.session, now_ms };
            handler(&mut cx, call.args())
        };
        match answer {
            // Nothing waits inside of EXEC.
            Ok(Answer::Reply(reply) | Answer::After(_, reply)) => {
                reply.write(connection.session.protocol, &Arena::new(), &mut connection.output);
            }
            Ok(Answer::Subscriptions(change)) => {
                self.change_subscriptions(connection, place, change, call.words.skip(1));
            }
            Ok(Answer::Unsubscribed(reply)) => {
                self.end_subscriptions(connection, place);
                reply.write(protocol, &Arena::new(), &mut connection.output);
            }
            Ok(Answer::Worker(work)) => job = Some(work),
            // What it waits for would come too late: the calls behind it have run.
            Ok(Answer::Network(_)) => {
                let error = Error::reply("ERR Command not allowed inside a transaction");
                write_error(&self.node, &self.pipeline.executor.counters, &error, &mut connection.output);
            }
            // These are never queued.
            Ok(Answer::OnKeys | Answer::Exec(_)) => {}
            Err(stop) => {
                let counters = &self.pipeline.executor.counters;
                if let Some(counters) = counters.command(call.command.id) {
                    counters.failed.add(1);
                }
                write_error(&self.node, counters, &stop.into_error(), &mut connection.output);
            }
        }
        if job.is_none() {
            let nanos = begun.elapsed().as_nanos() as u64;
            let (command, words, client) = (call.command, call.words, &*connection.session.client);
            let reply_len = connection.output.len().saturating_sub(before);
            let ended = Ended { command, words, client, now_ms, nanos, reply_len };
            stats::note(&self.node, &self.config, &self.notable, &self.pipeline.executor.counters, &ended);
        }
        job
    }

    /// The replies of the unit wait for somebody else: its commit does not wait for the end of the round.
    fn hand_on_commit(&mut self, exec: &mut Exec) {
        if !std::mem::take(&mut exec.wrote) {
            return;
        }
        match self.node.engine.flush() {
            Ok(position) => exec.position = Some(position),
            Err(error) => {
                let error = Error::Engine(error);
                exec.out.clear();
                for _ in 0..exec.next {
                    write_error(&self.node, &self.pipeline.executor.counters, &error, &mut exec.out);
                }
            }
        }
    }

    /// SELECT inside of a transaction is for the calls behind it.
    fn choose_databases(&self, first: u16, queue: &mut [Queued]) {
        let mut db = first;
        for queued in queue {
            queued.db = db;
            if queued.command.full_name == "select" {
                let wanted = queued.words.view().get(1).and_then(number::parse_i64);
                let wanted = wanted.and_then(|wanted| u16::try_from(wanted).ok());
                let found = wanted.and_then(|wanted| self.node.keyspace.shared.database(wanted));
                db = found.map_or(db, |found| found.logical);
            }
        }
    }
}

/// Counts the calls of a unit that has run; each took the same part of the time.
pub(super) fn note_calls(
    executor: &Executor,
    (config, notable): (&Config, &Notable),
    exec: &Exec,
    client: &Client,
    (now_ms, nanos): (u64, u64),
) {
    let nanos = nanos / exec.steps.len().max(1) as u64;
    let mut begin = 0;
    for (call, step) in exec.calls().zip(&exec.steps) {
        let (command, words) = (call.command, call.words);
        let reply_len = step.end - begin;
        begin = step.end;
        let ended = Ended { command, words, client, now_ms, nanos, reply_len };
        stats::note(&executor.node, config, notable, &executor.counters, &ended);
    }
}

/// The only call of a unit may have found nothing: nothing waits here, so that is its reply.
pub(super) fn without_waiting(exec: &mut Exec, outcome: Outcome, protocol: Protocol) -> Outcome {
    let Outcome::Park(park) = outcome else { return outcome };
    exec.replies.clear();
    nil(&park).write(protocol, &Arena::new(), &mut exec.replies);
    exec.steps = vec![Step { end: exec.replies.len(), wrote: park.keeps, failed: false }];
    Outcome::Replied { wrote: park.keeps }
}

/// Whether the keys of all calls together are in more than one slot, where that is forbidden.
fn is_across_slots(config: &Config, queue: &[Queued]) -> bool {
    if !config.cluster_enabled || config.cluster_cross_slot != CrossSlot::Deny {
        return false;
    }
    let mut slots = queue.iter().flat_map(|queued| {
        let words = queued.words.view();
        queued.command.spec.keys.positions(words).filter_map(move |(at, _)| words.get(at)).map(slot::of)
    });
    let first = slots.next();
    slots.any(|slot| Some(slot) != first)
}
