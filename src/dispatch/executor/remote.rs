//! Running a unit whose rows are elsewhere.

use std::time::Duration;

use tarn_engine::{AnySnapshot, Wait};

use super::{Allowed, Executor, Ran};
use crate::dispatch::ahead;
use crate::dispatch::locks::Mode;
use crate::dispatch::spec::Flags;
use crate::dispatch::transaction::{Behind, Replies, Turn};
use crate::dispatch::unit::{Calls, Outcome, Unit, Waits};
use crate::dispatch::watches::{KeyWitness, WatchedKey, Watching};
use crate::encoding::{META, rows, slot};
use crate::error::{Result, Stop, Why};
use crate::keyspace::{Located, Place, Source};
use crate::node::Node;

impl Node {
    /// Waits where others change the map of databases, or where it is not known yet. Refused where the cluster is away.
    pub(super) fn wait_open(&self) -> Result<()> {
        if self.keyspace.is_open() && !self.engine.is_away() {
            let patience = Duration::from_millis(self.config.current().tikv_timeout_millis);
            self.keyspace.shared.lease.wait_open(patience);
        }
        self.keyspace.ready()
    }

    /// Whether what was read by the map of this epoch counts; otherwise it is to be read again.
    pub(super) fn check_read(&self, map_epoch: u64) -> Result<()> {
        let lease = &self.keyspace.shared.lease;
        if lease.is_still(map_epoch) {
            return Ok(());
        }
        if lease.has_run_out() {
            self.keyspace.ready()?;
        }
        Err(Stop::Move(Why::Contended))
    }

    /// A snapshot that may be read by the map of this epoch: its rows are those of one moment, and so must be the map by which they are
    /// found.
    fn snapshot_by(&self, map_epoch: u64) -> Result<AnySnapshot> {
        let snapshot = self.engine.snapshot()?;
        self.check_read(map_epoch)?;
        Ok(snapshot)
    }

    /// Those who will tell whether the keys of a unit were changed by another node.
    pub(super) fn witnesses<'c>(&self, unit: &Unit<'_, impl Calls<'c>>) -> Result<Vec<KeyWitness>> {
        let mut all = Vec::new();
        for call in unit.calls.clone() {
            let Some(db) = self.keyspace.shared.database(call.db) else { continue };
            for (at, _) in call.command.spec.keys.positions(call.words) {
                let key = call.words.get(at).unwrap_or(&[]);
                let row =
                    rows::meta(db.physical, slot::of(key), rows::hash48(self.keyspace.seed(), key), key);
                if let Some(witness) = self.engine.witness(&[(META, &row)])? {
                    let key = WatchedKey { db: call.db, key: key.into() };
                    all.push(KeyWitness { key, db, row, witness });
                }
            }
        }
        Ok(all)
    }
}

impl Executor {
    /// Where rows are elsewhere everything is run here, and once: what was read for its own sake would have to be read again. What
    /// only reads has a snapshot, which no lock makes better.
    pub(super) fn run_remote<'c>(
        &mut self,
        unit: &Unit<'_, impl Calls<'c>>,
        replies: &mut Replies<'_>,
    ) -> Outcome {
        if let Err(stop) = self.node.wait_open() {
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
        env.woken = unit.waits == Waits::Woken;
        let snapshot = node.snapshot_by(env.map_epoch)?;
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
            watch: None,
            is_aborted: false,
        };
        let (source, located) = (Source::Snapshot(&snapshot), Located::default());
        turn.read_calls(env, source, unit, located, replies).map(Ran::Wrote)
    }
}

#[cfg(test)]
mod tests {
    use crate::error::{Stop, Why};
    use crate::testkit::Kit;

    #[test]
    fn no_snapshot_is_read_by_a_map_that_was_changed_before_it() {
        let kit = Kit::new();
        let node = &kit.node;
        let lease = &node.keyspace.shared.lease;
        let noted = lease.epoch();
        assert!(node.snapshot_by(noted).is_ok());
        let pause = lease.pause();
        assert!(matches!(node.snapshot_by(noted), Err(Stop::Move(Why::Contended))));
        drop(pause);
        assert!(matches!(node.snapshot_by(noted), Err(Stop::Move(Why::Contended))));
        assert!(node.snapshot_by(lease.epoch()).is_ok());
    }
}
