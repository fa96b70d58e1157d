//! Running a unit whose rows are elsewhere.

use tarn_engine::Wait;

use super::{Allowed, Executor, Ran};
use crate::dispatch::ahead;
use crate::dispatch::locks::Mode;
use crate::dispatch::spec::Flags;
use crate::dispatch::transaction::{Behind, Replies, Turn};
use crate::dispatch::unit::{Calls, Outcome, Unit};
use crate::dispatch::watches::Watching;
use crate::error::Result;
use crate::keyspace::{Located, Place, Source};

impl Executor {
    /// Where rows are elsewhere everything is run here, and once: what was read for its own sake would have to be read again. What
    /// only reads has a snapshot, which no lock makes better.
    pub(super) fn run_remote<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        if let Err(stop) = self.node.keyspace.ready() {
            let error = stop.into_error();
            unit.calls.clone().for_each(|_| replies.refuse(&error));
            return Outcome::Replied { wrote: false };
        }
        if unit.has_script() {
            return self.run_script_to_end(unit, replies);
        }
        // Who may have to wait looks under the locks, so that no change comes between the look and the wait.
        let reads = unit
            .calls
            .clone()
            .all(|call| call.mode() == Mode::Shared && !call.command.spec.flags.has(Flags::BLOCKING));
        // Who wants the keys of a script that runs for long is told so, as everywhere.
        let is_busy = || unit.single().is_some() && self.node.locks.busy(&unit.locks().0).is_some();
        if reads && !unit.caller.tracks && matches!(unit.watching, Watching::No) && !is_busy() {
            let mut behind = Behind::default();
            let ran = self.read_remote(unit, replies, &mut behind);
            return self.conclude(unit, ran, replies, behind, Allowed::ON_WORKER);
        }
        let outcome = self.attempt(unit, unit.single(), Allowed::ON_WORKER, replies);
        self.refuse_moved(unit, outcome, replies)
    }

    fn read_remote<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        replies: &mut Replies<'_>,
        behind: &mut Behind,
    ) -> Result<Ran> {
        let Executor { node, counters, arena, random, .. } = self;
        let mut env = node.env(unit.first_db(), unit.now_ms, unit.limits, Place::Worker, *random)?;
        env.woken = unit.woken;
        let snapshot = node.engine.snapshot()?;
        ahead::fetch(node, &snapshot, unit, false);
        let mut turn = Turn {
            node,
            counters,
            arena,
            wait: Wait::Allowed,
            snapshot: None,
            behind,
            locks: None,
            ahead: None,
            client: unit.caller.client,
        };
        let (source, located) = (Source::Snapshot(&snapshot), Located::default());
        turn.read_calls(env, source, unit, located, replies).map(Ran::Wrote)
    }
}
