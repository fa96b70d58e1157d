//! Background care of the keyspace, on a thread of its own so that no I/O thread spends time on it: reaping what has
//! expired, keeping the reserve of versions and the clock's floor on record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::dispatch::execute::Lane;
use crate::dispatch::locks::StripeSet;
use crate::dispatch::registry::registry;
use crate::encoding::rows::EXPIRE_BUCKETS;
use crate::encoding::{SYSTEM, system};
use crate::error::Result;
use crate::keyspace::{reap, stripe_of};
use crate::node::Node;

/// Time between two turns when nothing is due.
const TURN: Duration = Duration::from_millis(100);
/// Longest a turn may reap before it lets others run.
const STEP: Duration = Duration::from_millis(5);
/// Keys taken from a bucket at a time.
const BATCH: usize = 64;
/// Clocks are put on record this often.
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// A command that ran for long may commit an expiry below a mark; marks are forgotten this often to find it.
const MARKS_LAST: Duration = Duration::from_secs(60);

struct Sweeper {
    lane: Lane,
    /// Nothing is left to reap before this, per bucket. Spares the walk over the tombstones of what was.
    low_water_ms: Vec<u64>,
    next_bucket: u8,
    /// When the marks were last forgotten.
    marks_since: Instant,
    clock_noted: Instant,
    clock_needed: bool,
}

/// Runs until `stop` is closed.
pub fn run(node: Arc<Node>, stop: &Receiver<()>) {
    let counters = node.metrics.register(registry().total());
    let mut sweeper = Sweeper {
        lane: Lane::new(node, counters),
        low_water_ms: vec![0; usize::from(EXPIRE_BUCKETS)],
        next_bucket: 0,
        marks_since: Instant::now(),
        clock_noted: Instant::now(),
        clock_needed: false,
    };
    let mut backlog = false;
    loop {
        let pause = if backlog { Duration::from_millis(1) } else { TURN };
        match stop.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        backlog = match sweeper.turn() {
            Ok(backlog) => backlog,
            Err(error) => {
                tracing::warn!(%error, "background care of the keyspace failed; it is tried again");
                false
            }
        };
    }
}

impl Sweeper {
    /// Whether something due was left for the next turn.
    fn turn(&mut self) -> Result<bool> {
        let node = Arc::clone(&self.lane.node);
        node.metrics.sample(Instant::now());
        let mut backlog = false;
        if self.marks_since.elapsed() >= MARKS_LAST {
            self.marks_since = Instant::now();
            self.low_water_ms.fill(0);
        }
        if node.active_expire.load(std::sync::atomic::Ordering::Relaxed) {
            let until = Instant::now() + STEP;
            let mut quiet = 0;
            while quiet < EXPIRE_BUCKETS {
                let bucket = self.next_bucket;
                self.next_bucket = (bucket + 1) % EXPIRE_BUCKETS;
                quiet = if self.reap_bucket(bucket)? { 0 } else { quiet + 1 };
                if Instant::now() >= until {
                    backlog = quiet < EXPIRE_BUCKETS;
                    break;
                }
            }
        }
        self.extend_versions()?;
        self.note_clock()?;
        node.engine.flush()?;
        node.deliver();
        Ok(backlog)
    }

    /// Whether a full batch was due, so that more may be.
    fn reap_bucket(&mut self, bucket: u8) -> Result<bool> {
        let from_ms = self.low_water_ms.get(usize::from(bucket)).copied().unwrap_or(0);
        let now_ms = self.lane.node.clock.now_ms();
        let due = self.lane.look(0, |cx| reap::due(cx, bucket, from_ms, BATCH))?;
        for key in &due {
            let mut stripes = StripeSet::default();
            stripes.insert(stripe_of(key.slot));
            self.lane.transact(&stripes, 0, |cx| reap::reap(cx, key))?;
            self.clock_needed = true;
        }
        let more = due.len() == BATCH;
        if let Some(mark) = self.low_water_ms.get_mut(usize::from(bucket)) {
            // A time that has passed deletes at once, so new expiries lie behind the clock of their command.
            *mark = if more {
                due.last().map_or(from_ms, |last| last.at_ms)
            } else {
                now_ms.saturating_sub(1_000)
            };
        }
        Ok(more)
    }

    fn extend_versions(&mut self) -> Result<()> {
        let node = Arc::clone(&self.lane.node);
        let Some(limit) = node.keyspace.versions.wanted_limit() else { return Ok(()) };
        self.put_system(&system::version_limit(), limit)?;
        node.engine.flush()?;
        node.engine.sync()?;
        node.keyspace.versions.extend(limit);
        Ok(())
    }

    /// After a restart the clock shows no less than it did when something last expired.
    fn note_clock(&mut self) -> Result<()> {
        if !self.clock_needed || self.clock_noted.elapsed() < CLOCK_EVERY {
            return Ok(());
        }
        let now_ms = self.lane.node.clock.now_ms();
        self.put_system(&system::clock(), now_ms)?;
        self.clock_noted = Instant::now();
        self.clock_needed = false;
        Ok(())
    }

    fn put_system(&mut self, key: &[u8], number: u64) -> Result<()> {
        self.lane.transact(&StripeSet::default(), 0, |cx| {
            cx.put(SYSTEM, key, &[&number.to_be_bytes()]);
            Ok(())
        })
    }
}
