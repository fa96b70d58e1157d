//! Pipelines where rows are elsewhere: commands that came together go to a worker together, which fetches what they read with few
//! requests. One by one each would wait for its own.

use std::time::Instant;

use super::batch::may_batch;
use super::connection::Connection;
use super::io_thread::IoThread;
use super::workers::Work;
use crate::clients::Client;
use crate::dispatch::caller::Caller;
use crate::dispatch::executor::{Executor, On};
use crate::dispatch::gate;
use crate::dispatch::lookahead::{Lookahead, MAX_WRITTEN_KEYS};
use crate::dispatch::multi::Queued;
use crate::dispatch::spec::{Batch, Flags, Run};
use crate::dispatch::stats::{self, Ended, Notable};
use crate::dispatch::unit::{Atomic, Call, Outcome, Unit, Waits, Why};
use crate::dispatch::watches::Watching;
use crate::keyspace::Limits;

/// Bytes of the words of writes that share a transaction, but for those of one key: the cluster commits up to 16 KiB in one phase.
pub(super) const MAX_BYTES: usize = 8 * 1024;

impl IoThread {
    /// Hands the commands from this one on to a worker, as far as they work on keys and nothing may come between them; how many.
    /// Fewer than two are left to the ordinary way.
    pub(super) fn submit_together(
        &mut self,
        connection: &mut Connection,
        place: usize,
        lookahead: &Lookahead,
        (first, bytes): (usize, &[u8]),
    ) -> usize {
        if !may_batch(connection, &self.node)
            || self.node.clients.monitors() > 0
            || self.node.pause.holds(true, self.pipeline.now_ms).is_some()
        {
            return 0;
        }
        let db = connection.session.db;
        let (node, config, login) = (&*self.node, &*self.config, &mut connection.session.login);
        // A call that is refused ends them: it is told why by itself.
        let may_join = |call: &Call<'_>| {
            let spec = call.command.spec;
            matches!(spec.run_of(call.words), Run::Read(_) | Run::Write(_))
                && !spec.flags.has(Flags::BLOCKING)
                && !spec.takes_fieldset
                && gate::admit(call, login, node, config).is_ok()
                && (login.is_free(&node.acl) || gate::permit_patterns(call, login.user(), node).is_ok())
        };
        let calls: Vec<Queued> = (first..)
            .map_while(|index| lookahead.call(index, db, bytes))
            .take_while(may_join)
            .map(|call| call.to_queued())
            .collect();
        let count = calls.len();
        let Some(queued) = calls.first().filter(|_| count > 1) else { return 0 };
        self.pipeline.executor.counters.offloaded.add(count as u64);
        let (command, words) = (queued.command, queued.words.clone());
        for call in &calls {
            connection.session.client.ran(call.command.id, self.pipeline.now_ms);
        }
        self.submit(connection, place, command, words.view(), Work::Together { calls, limits: self.limits });
        count
    }
}

/// Runs commands that came together: those that only read on one snapshot, those that write few keys in one transaction. Whether
/// anything was written.
pub(super) fn run(
    executor: &mut Executor,
    (caller, client): (Caller, &Client),
    calls: &[Queued],
    limits: &Limits,
    out: &mut Vec<u8>,
) -> bool {
    let (mut rest, mut wrote) = (calls, false);
    while let Some(count) = unit_len(rest) {
        let begun = Instant::now();
        let now_ms = executor.node.clock.now_ms();
        let (together, behind) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        let unit = Unit {
            caller,
            calls: together.iter().map(Queued::call),
            atomic: Atomic::No,
            watching: Watching::No,
            waits: Waits::No,
            now_ms,
            limits,
        };
        let mut begin = out.len();
        let outcome = loop {
            match executor.run(&unit, On::Worker(Why::Cold), out) {
                // Replies of those before it are there already, so that it waits here.
                Outcome::Move(_) => executor.wait_for_wanted(),
                outcome => break outcome,
            }
        };
        wrote |= matches!(outcome, Outcome::Replied { wrote: true });
        // A unit may end before a call that is much work.
        let ran = executor.steps.len().clamp(1, together.len());
        let nanos = begun.elapsed().as_nanos() as u64 / ran as u64;
        let config = executor.node.config.current();
        let notable = Notable::of(&config);
        for (place, queued) in together.iter().take(ran).enumerate() {
            let end = executor.steps.get(place).map_or(out.len(), |step| step.end);
            let reply_len = end.saturating_sub(begin);
            begin = end;
            let (command, words) = (queued.command, queued.words.view());
            let ended = Ended { command, words, client, now_ms, nanos, reply_len };
            stats::note(&executor.node, &config, &notable, &executor.counters, &ended);
        }
        rest = if ran < together.len() { rest.get(ran..).unwrap_or_default() } else { behind };
    }
    wrote
}

fn reads(queued: &Queued) -> bool {
    matches!(queued.command.spec.run_of(queued.words.view()), Run::Read(_))
}

/// How many of them, from the first on, are one unit; none where there are none.
fn unit_len(calls: &[Queued]) -> Option<usize> {
    let first = calls.first()?;
    if reads(first) {
        return Some(calls.iter().take_while(|queued| reads(queued)).count());
    }
    let (mut keys, mut bytes, mut count) = (Vec::new(), 0, 0);
    for queued in calls.iter().take_while(|queued| queued.db == first.db) {
        let Some(key) = written_key(queued) else { break };
        if !keys.contains(&key) {
            keys.push(key);
        }
        bytes += queued.words.view().bytes();
        if keys.len() > MAX_WRITTEN_KEYS || (bytes > MAX_BYTES && keys.len() > 1) {
            break;
        }
        count += 1;
    }
    Some(count.max(1))
}

/// The only key of a call that may write in one unit with others.
fn written_key(queued: &Queued) -> Option<&[u8]> {
    let words = queued.words.view();
    let at = queued.command.spec.keys.single_of(words)?;
    words.get(at).filter(|_| queued.command.batch == Batch::Writes)
}
