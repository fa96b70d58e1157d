//! Writes of many clients where rows are elsewhere. A commit takes milliseconds there, and those of one stripe come one after the other.
//! What comes to a stripe meanwhile waits in a line, without a thread, and is run together in one transaction: a key that many clients
//! write is not bound to one commit for each.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::Mutex;

use super::mailbox::{Mailboxes, Message};
use super::together::MAX_BYTES;
use super::workers::{Task, Work, hand_on};
use crate::dispatch::executor::{Executor, On, write_error};
use crate::dispatch::spec::Batch;
use crate::dispatch::stats::{self, Ended, Notable};
use crate::dispatch::unit::{Atomic, Call, Outcome, Unit, Waits, Why};
use crate::dispatch::watches::Watching;
use crate::encoding::slot;
use crate::keyspace::{Located, STRIPES, stripe_of};

/// Tasks that are run together at most.
const MAX_TASKS: usize = 32;

/// The lines of all stripes.
pub struct Lines(Vec<Mutex<Line>>);

#[derive(Default)]
struct Line {
    /// Somebody runs a task of this stripe, and takes those along that wait.
    is_served: bool,
    waiting: VecDeque<Task>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines((0..STRIPES).map(|_| Mutex::default()).collect())
    }
}

impl Lines {
    /// The task, to be run now, and its stripe if it is one with a line. None: whoever serves that line will run it.
    pub fn enter(&self, task: Task) -> Option<(Task, Option<u16>)> {
        let Some((stripe, line)) = stripe(&task).and_then(|stripe| Some((stripe, self.line(stripe)?))) else {
            return Some((task, None));
        };
        let mut line = line.lock();
        if line.is_served {
            line.waiting.push_back(task);
            return None;
        }
        line.is_served = true;
        Some((task, Some(stripe)))
    }

    /// Those who have waited longest and may be run together. None where nobody waits: the line is served no longer.
    pub fn next(&self, stripe: u16) -> Option<Vec<Task>> {
        let mut line = self.line(stripe)?.lock();
        let Some(first) = line.waiting.pop_front() else {
            line.is_served = false;
            return None;
        };
        let (caller, mut bytes) = (first.caller, first.words.view().bytes());
        let mut tasks = vec![first];
        let joining = line.waiting.iter().take(MAX_TASKS - 1).take_while(|task| {
            bytes += task.words.view().bytes();
            let is_alike = (task.caller.db, task.caller.protocol) == (caller.db, caller.protocol);
            is_alike && bytes <= MAX_BYTES
        });
        let joining = joining.count();
        tasks.extend(line.waiting.drain(..joining));
        Some(tasks)
    }

    fn line(&self, stripe: u16) -> Option<&Mutex<Line>> {
        self.0.get(usize::from(stripe))
    }
}

/// The stripe of a write of one key that may be in one unit with others. A client that caches is told of all changes but its own.
fn stripe(task: &Task) -> Option<u16> {
    let Work::Keys { watching: Watching::No, .. } = task.work else { return None };
    if task.command.batch != Batch::Writes || task.caller.tracks {
        return None;
    }
    let words = task.words.view();
    let key = words.get(task.command.spec.keys.single_of(words)?)?;
    Some(stripe_of(slot::of(key)))
}

fn call(task: &Task) -> Call<'_> {
    let named = if let Work::Keys { named, .. } = task.work { named } else { 1 };
    let (command, words, db) = (task.command, task.words.view(), task.caller.db);
    Call { command, named, words, db, located: Located::default() }
}

/// Runs tasks of one stripe in one transaction; how many of them, from the first on. The others are to be run by themselves.
pub fn run(executor: &mut Executor, mailboxes: &Mailboxes, tasks: &[Task]) -> usize {
    let Some(Task { caller, work: Work::Keys { limits, .. }, .. }) = tasks.first() else {
        return 0;
    };
    // Who waits for a key is served between two writes of it. Who may not do it any more is told so by itself.
    let may = |task: &Task| executor.may_late(&task.caller, &call(task));
    if tasks.len() < 2 || executor.node.waiters.any() || !tasks.iter().all(may) {
        return 0;
    }
    let begun = Instant::now();
    let now_ms = executor.node.clock.now_ms();
    let mut out = Vec::new();
    // The first caller stands for all: database and protocol are the same, each was asked about by itself, and none of them caches.
    let unit = Unit {
        caller: *caller,
        calls: tasks.iter().map(call),
        atomic: Atomic::No,
        watching: Watching::No,
        waits: Waits::No,
        now_ms,
        limits,
    };
    executor.begin_long(false, false);
    let outcome = executor.run(&unit, On::Worker(Why::Cold), &mut out);
    let mut long = executor.end_long();
    let Outcome::Replied { wrote } = outcome else { return 0 };
    let wrote = hand_on(executor, wrote);
    executor.node.deliver();
    let config = executor.node.config.current();
    let notable = Notable::of(&config);
    let nanos = begun.elapsed().as_nanos() as u64 / executor.steps.len().max(1) as u64;
    let mut begin = 0;
    for (task, step) in tasks.iter().zip(&executor.steps) {
        let mut reply = out.get(begin..step.end).unwrap_or_default().to_vec();
        begin = step.end;
        let (command, words, client) = (task.command, task.words.view(), &*task.client);
        let ended = Ended { command, words, client, now_ms, nanos, reply_len: reply.len() };
        stats::note(&executor.node, &config, &notable, &executor.counters, &ended);
        let wrote = match &wrote {
            Ok(position) => *position,
            Err(error) => {
                reply.clear();
                write_error(&executor.node, &executor.counters, error, &mut reply);
                None
            }
        };
        mailboxes.send(
            task.connection.thread,
            Message::Completed {
                connection: task.connection,
                reply,
                // The room for all replies is free again once the first of them is sent.
                long: Box::new(std::mem::take(&mut long)),
                wrote,
                exec: None,
                parked: None,
            },
        );
    }
    executor.steps.len()
}
