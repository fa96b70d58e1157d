//! Background care of the keyspace, on a thread of its own so that no I/O thread spends time on it: reaping what has
//! expired, keeping the reserve of versions and the clock's floor on record.

mod fields;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use self::fields::FieldSweep;
use crate::dispatch::executor::Executor;
use crate::dispatch::locks::StripeSet;
use crate::dispatch::registry::registry;
use crate::encoding::rows::{EXPIRE_BUCKETS, ExpireKind};
use crate::encoding::{SYSTEM, system};
use crate::error::Result;
use crate::keyspace::parts::TURN_MS;
use crate::keyspace::shared::{self, Duty};
use crate::keyspace::{reap, stripe_of};
use crate::node::Node;

/// Time between two turns when nothing is due.
const TURN: Duration = Duration::from_millis(TURN_MS);
/// Longest a turn may reap before it lets others run.
const STEP: Duration = Duration::from_millis(5);
/// The same where most of it is waiting.
const REMOTE_STEP: Duration = Duration::from_millis(500);
/// Buckets looked at in a turn where that is a request each.
const REMOTE_LOOKS: u8 = EXPIRE_BUCKETS / 8;
/// Keys taken from a bucket at a time.
const BATCH: usize = 64;
/// Clocks are put on record this often.
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// A command that ran for long may commit an expiry below a mark; marks are forgotten this often to find it.
const MARKS_LAST: Duration = Duration::from_secs(60);

struct Sweeper {
    executor: Executor,
    /// Nothing is left to reap before this, per bucket. Spares the walk over the tombstones of what was.
    low_water_ms: Vec<u64>,
    next_bucket: u8,
    fields: FieldSweep,
    /// What this turn found due and did not finish.
    backlog: u64,
    /// When the marks were last forgotten.
    marks_since: Instant,
    clock_noted: Instant,
    clock_needed: bool,
}

/// Runs until `stop` is closed.
pub fn run(node: Arc<Node>, stop: &Receiver<()>) {
    let counters = node.metrics.register(registry().total());
    let mut sweeper = Sweeper {
        executor: Executor::new(node, counters),
        low_water_ms: vec![0; usize::from(EXPIRE_BUCKETS)],
        next_bucket: 0,
        fields: FieldSweep::default(),
        backlog: 0,
        marks_since: Instant::now(),
        clock_noted: Instant::now(),
        clock_needed: false,
    };
    let mut backlog = false;
    let mut last_error = String::new();
    loop {
        let pause = if backlog { Duration::from_millis(1) } else { TURN };
        match stop.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        tarn_engine::failpoint::reach("sweeper");
        backlog = match sweeper.turn() {
            Ok(backlog) => {
                last_error.clear();
                backlog
            }
            Err(error) => {
                // Ten times a second would be the same line.
                let words = error.to_string();
                if words != last_error {
                    tracing::warn!(%error, "background care of the keyspace failed; it is tried again");
                    last_error = words;
                }
                false
            }
        };
    }
    // A start behind a step of the machine's clock does not bring back what has expired.
    if let Err(error) = sweeper.record_clock() {
        tracing::warn!(%error, "the time is not on record");
    }
}

impl Sweeper {
    /// Whether something due was left for the next turn.
    fn turn(&mut self) -> Result<bool> {
        let node = Arc::clone(&self.executor.node);
        node.metrics.sample(Instant::now());
        // While clients may not write, nothing else changes either.
        if node.keyspace.ready().is_err() || node.pause.holds(true, node.clock.now_ms()).is_some() {
            return Ok(false);
        }
        let mut backlog = false;
        if self.marks_since.elapsed() >= MARKS_LAST {
            self.marks_since = Instant::now();
            self.low_water_ms.fill(0);
        }
        self.fields.follow(&mut self.executor)?;
        if node.active_expire.load(Relaxed) {
            let begun = Instant::now();
            let until = begun + if node.engine.is_shared() { REMOTE_STEP } else { STEP };
            node.keyspace.parts.reaper.lag_ms.store(0, Relaxed);
            // A look at a bucket is a request where rows are elsewhere: then each has its turn within a second.
            let looks = if node.engine.is_shared() { REMOTE_LOOKS } else { EXPIRE_BUCKETS };
            let mut quiet = 0;
            while quiet < looks {
                let bucket = self.next_bucket;
                self.next_bucket = (bucket + 1) % EXPIRE_BUCKETS;
                let owns = node.keyspace.shared.owns(Duty::Expiry(bucket));
                quiet = if owns && self.reap_bucket(bucket, until)? { 0 } else { quiet + 1 };
                if Instant::now() >= until {
                    backlog = quiet < looks;
                    break;
                }
            }
            let owns = node.keyspace.shared.owns(Duty::Parts);
            let soon = owns && self.fields.step(&mut self.executor, Instant::now() + STEP)?;
            self.note_turn(begun);
            backlog |= soon;
        }
        self.extend_versions()?;
        self.note_clock()?;
        node.engine.flush()?;
        node.deliver();
        Ok(backlog)
    }

    /// Whether a full batch was due, or a hash could not be finished, so that more is.
    fn reap_bucket(&mut self, bucket: u8, until: Instant) -> Result<bool> {
        let from_ms = self.low_water_ms.get(usize::from(bucket)).copied().unwrap_or(0);
        let now_ms = self.executor.node.clock.now_ms();
        let all = self.executor.look(0, |cx| reap::due(cx, bucket, from_ms, BATCH))?;
        // What was not finished is due from here on.
        let (mut left, mut left_ms) = (0, u64::MAX);
        for (done, due) in (1..).zip(&all) {
            self.clock_needed = true;
            if due.kind == ExpireKind::Parts {
                let hash = (due.db, due.slot, due.key.as_slice());
                let next_ms =
                    fields::reap_hash(&mut self.executor, hash, Some((&due.row, due.at_ms)), until)?;
                left += u64::from(next_ms.is_some());
                left_ms = left_ms.min(next_ms.unwrap_or(u64::MAX));
            } else {
                let mut stripes = StripeSet::default();
                stripes.insert(stripe_of(due.slot));
                self.executor.transact(&stripes, 0, |cx| reap::reap(cx, due))?;
            }
            if Instant::now() >= until {
                left += (all.len() - done) as u64;
                left_ms = left_ms.min(all.get(done).map_or(u64::MAX, |next| next.at_ms));
                break;
            }
        }
        self.backlog += left;
        let more = all.len() == BATCH;
        if let Some(mark) = self.low_water_ms.get_mut(usize::from(bucket)) {
            // A time that has passed deletes at once, so new expiries lie behind the clock of their command.
            let done_ms = if more {
                all.last().map_or(from_ms, |last| last.at_ms)
            } else {
                now_ms.saturating_sub(1_000)
            };
            *mark = done_ms.min(left_ms);
        }
        Ok(more || left_ms != u64::MAX)
    }

    fn note_turn(&mut self, begun: Instant) {
        let reaper = &self.executor.node.keyspace.parts.reaper;
        let took_ms = begun.elapsed().as_millis() as u64;
        reaper.last_turn_ms.store(took_ms, Relaxed);
        reaper.max_turn_ms.fetch_max(took_ms, Relaxed);
        reaper.total_turn_ms.fetch_add(took_ms, Relaxed);
        reaper.turns.fetch_add(1, Relaxed);
        reaper.backlog.store(std::mem::take(&mut self.backlog), Relaxed);
    }

    fn extend_versions(&mut self) -> Result<()> {
        let node = Arc::clone(&self.executor.node);
        let Some(limit) = node.keyspace.shared.wanted_reserve() else { return Ok(()) };
        self.executor.transact(&StripeSet::default(), 0, |cx| {
            shared::record_reserve(cx, limit);
            Ok(())
        })?;
        node.engine.flush()?;
        crate::keyspace::local::sync(&node.engine)?;
        node.keyspace.shared.reserved(limit);
        Ok(())
    }

    /// After a restart the clock shows no less than it did when something last expired.
    fn note_clock(&mut self) -> Result<()> {
        if self.clock_noted.elapsed() < CLOCK_EVERY {
            return Ok(());
        }
        self.record_clock()
    }

    fn record_clock(&mut self) -> Result<()> {
        if !self.clock_needed {
            return Ok(());
        }
        let now_ms = self.executor.node.clock.now_ms();
        self.executor.transact(&StripeSet::default(), 0, |cx| {
            cx.put(SYSTEM, &system::clock(), &[&now_ms.to_be_bytes()]);
            Ok(())
        })?;
        self.clock_noted = Instant::now();
        self.clock_needed = false;
        Ok(())
    }
}
