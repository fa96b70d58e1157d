//! Batches: calls of a pipeline that are run in one unit because they came together.

use std::time::Instant;

use super::connection::Connection;
use super::io_thread::IoThread;
use crate::dispatch::executor::On;
use crate::dispatch::gate;
use crate::dispatch::session::ReplyMode;
use crate::dispatch::stats::{self, Ended};
use crate::dispatch::unit::{Atomic, Calls, Outcome, Unit, Waits};
use crate::dispatch::watches::Watching;
use crate::node::Node;

impl IoThread {
    /// Runs calls of a pipeline that write few keys, or only read, in one unit; how many. None where the first of them is for
    /// [`IoThread::execute`]: it is refused, has to wait, or goes to a worker.
    pub(super) fn run_batch<'c>(
        &mut self,
        connection: &mut Connection,
        (writes, atomic): (bool, Atomic),
        calls: impl Calls<'c>,
    ) -> Option<usize> {
        let caller = connection.session.caller();
        let now_ms = self.pipeline.now_ms;
        if self.node.pause.holds(writes, now_ms).is_some() {
            return None;
        }
        let (node, config, login) = (&*self.node, &*self.config, &mut connection.session.login);
        let admitted = gate::admits(calls.clone(), login, node, config);
        let (calls, watching) = (calls.take(admitted), Watching::No);
        let unit = Unit { caller, calls, atomic, watching, waits: Waits::No, now_ms, limits: &self.limits };
        let mut begin = connection.output.len();
        let Outcome::Replied { wrote } =
            self.pipeline.executor.run(&unit, On::IoThread, &mut connection.output)
        else {
            return None;
        };
        self.pipeline.wrote |= wrote;
        let now = Instant::now();
        let steps = &self.pipeline.executor.steps;
        // What they have in common is a part of each of them.
        let nanos = now.duration_since(self.pipeline.last).as_nanos() as u64 / steps.len().max(1) as u64;
        self.pipeline.last = now;
        let feeds = self.node.clients.monitors() > 0;
        let client = &*connection.session.client;
        let mut last = None;
        for (call, step) in unit.calls.zip(steps) {
            last = Some(call.command);
            if step.wrote {
                connection.write_replies.push((begin, step.end));
            }
            let reply_len = step.end - begin;
            begin = step.end;
            if feeds {
                self.feed_monitors(connection, call.command, call.words);
            }
            let ended = Ended { command: call.command, words: call.words, client, now_ms, nanos, reply_len };
            stats::note(&self.node, &self.config, &self.notable, &self.pipeline.executor.counters, &ended);
        }
        if let Some(command) = last {
            client.ran(command.id, now_ms);
        }
        // None at all where nothing is admitted.
        (!steps.is_empty()).then_some(steps.len())
    }
}

/// Whether calls of this connection may be in one unit: messages come between the replies of a subscriber, and CLIENT REPLY
/// takes single ones away.
pub(super) fn may_batch(connection: &Connection, node: &Node) -> bool {
    let session = &connection.session;
    // Who waits for a key is served between two pushes.
    let waited = node.waiters.any();
    session.reply_mode == ReplyMode::On
        && session.tracking.is_none()
        && session.subscriptions.is_empty()
        && session.multi.is_none()
        && !waited
}
