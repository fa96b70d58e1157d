//! Keeps what is on the disk within `maxdisk`: evicts keys as `maxmemory-policy` says, or refuses writes where nothing may go.
//!
//! What is evicted gives its space back when the sorted data is compacted. Until then it counts as free, for a while; where the space has
//! not come by then, more goes. Keys are chosen among a few that are drawn at random, as Redis chooses them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::commands::memory;
use crate::config::{Config, EvictionPolicy, Victim};
use crate::dispatch::executor::Executor;
use crate::dispatch::locks::StripeSet;
use crate::error::Result;
use crate::keyspace::clocks::{Noted, place_of};
use crate::keyspace::evict::{self, Candidate, Where};
use crate::keyspace::shared::key_count;
use crate::keyspace::{draws, scan};
use crate::node::Node;

/// Time between two looks.
const TURN: Duration = Duration::from_millis(100);
/// While there is more to evict.
const BUSY_TURN: Duration = Duration::from_millis(2);
/// Longest a turn may evict.
const STEP: Duration = Duration::from_millis(10);
/// Keys among which one is chosen.
const SAMPLES: usize = 8;
/// Elements that the size of a key is reckoned from.
const SIZE_SAMPLES: u64 = 16;
/// How long what was evicted counts as free although its space has not come back.
const RECLAIM: Duration = Duration::from_secs(300);
/// Above the limit by one part of so many, writes wait for eviction.
const SLACK: u64 = 10;

struct Evictor {
    executor: Executor,
    /// Bytes that were evicted and may not have come back.
    outstanding: u64,
    /// As it was at the last look.
    disk_bytes: u64,
    looked: Instant,
    random: u64,
}

/// Runs until `stop` is closed.
pub fn run(node: &Arc<Node>, stop: &Receiver<()>) {
    let mut evictor = Evictor {
        executor: Executor::uncounted(node),
        outstanding: 0,
        disk_bytes: 0,
        looked: Instant::now(),
        random: node.started_ms,
    };
    let mut pause = TURN;
    loop {
        match stop.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        pause = match evictor.turn(&node.config.current()) {
            Ok(true) => BUSY_TURN,
            Ok(false) => TURN,
            Err(error) => {
                tracing::warn!(%error, "keys could not be evicted; it is tried again");
                TURN
            }
        };
    }
}

/// What is noted of keys for a policy.
fn noted(policy: EvictionPolicy) -> Option<Noted> {
    match policy.victim() {
        Victim::LeastRecentlyUsed => Some(Noted::Use),
        Victim::LeastRecentlyModified => Some(Noted::Change),
        Victim::LeastFrequentlyUsed => Some(Noted::Frequency),
        Victim::Any | Victim::SoonestToExpire | Victim::None => None,
    }
}

impl Evictor {
    /// Whether there is more to evict.
    fn turn(&mut self, config: &Config) -> Result<bool> {
        let node = Arc::clone(&self.executor.node);
        let (limit, policy) = (config.maxdisk, config.maxmemory_policy);
        let now_ms = node.clock.now_ms();
        node.keyspace.clocks.set(noted(policy).filter(|_| limit > 0), now_ms);
        if limit == 0 {
            node.eviction.refuse(false);
            self.outstanding = 0;
            return Ok(false);
        }
        let used = self.look(&node);
        if policy.victim() == Victim::None {
            node.eviction.refuse(used > limit);
            return Ok(false);
        }
        let (mut freed, mut is_exhausted) = (0, false);
        let until = Instant::now() + STEP;
        while used.saturating_sub(freed) > limit && Instant::now() < until {
            match self.evict_one(&node, policy)? {
                Some(bytes) => freed += bytes,
                None => {
                    is_exhausted = true;
                    break;
                }
            }
        }
        if freed > 0 {
            node.engine.flush()?;
            node.deliver();
        }
        self.outstanding += freed;
        let over = used.saturating_sub(freed).saturating_sub(limit);
        node.eviction.refuse(over > 0 && (is_exhausted || over > limit / SLACK));
        Ok(over > 0 && !is_exhausted)
    }

    /// Bytes on the disk, less what was evicted and will come back.
    fn look(&mut self, node: &Node) -> u64 {
        let stats = node.engine.stats();
        let disk_bytes = stats.sorted_bytes + stats.log_bytes;
        let passed = self.looked.elapsed();
        self.looked = Instant::now();
        let came_back = self.disk_bytes.saturating_sub(disk_bytes);
        let gave_up = (self.outstanding as f64 * passed.as_secs_f64() / RECLAIM.as_secs_f64()) as u64;
        self.outstanding = self.outstanding.saturating_sub(came_back.max(gave_up));
        self.disk_bytes = disk_bytes;
        disk_bytes.saturating_sub(self.outstanding)
    }

    /// The bytes of a key that was evicted; None where there is none that may go.
    fn evict_one(&mut self, node: &Arc<Node>, policy: EvictionPolicy) -> Result<Option<u64>> {
        let candidates = if policy.is_volatile() { self.expiring(policy)? } else { self.any(node)? };
        let now_ms = node.clock.now_ms();
        let rank = |candidate: &Candidate| match policy.victim() {
            Victim::SoonestToExpire => u64::MAX - candidate.expire_at_ms,
            _ => {
                let place = place_of(node.keyspace.seed(), candidate.db.logical, &candidate.key);
                node.keyspace.clocks.rank(place, now_ms)
            }
        };
        let Some(chosen) = candidates.into_iter().max_by_key(rank) else { return Ok(None) };
        let db = chosen.db.logical;
        let bytes = self.executor.look(db, |cx| memory::estimate(cx, &chosen.key, SIZE_SAMPLES))?;
        let was_there =
            self.executor.transact(&StripeSet::of(&chosen.key), db, |cx| evict::evict(cx, &chosen))?;
        if was_there {
            node.eviction.count();
        }
        // One that was gone already is progress as well.
        Ok(Some(if was_there { bytes.unwrap_or(0) } else { 0 }))
    }

    /// Keys of all databases.
    fn any(&mut self, node: &Node) -> Result<Vec<Candidate>> {
        let mut totals = Vec::new();
        for db in node.keyspace.shared.databases() {
            let keys = self.executor.look(db.logical, |cx| key_count(cx, db))?;
            if keys > 0 {
                totals.push((db, keys));
            }
        }
        let total: u64 = totals.iter().map(|(_, keys)| keys).sum();
        let mut found = Vec::new();
        for _ in 0..SAMPLES.min(usize::try_from(total).unwrap_or(usize::MAX)) {
            let mut nth = self.draw() % total;
            let chosen = totals.iter().find(|(_, keys)| {
                let is_here = nth < *keys;
                nth = nth.saturating_sub(*keys);
                is_here
            });
            let Some((db, _)) = chosen else { break };
            self.executor.look(db.logical, |cx| {
                scan::pick(cx, &mut |key| {
                    found.push(Candidate { db: *db, key: key.to_vec(), expire_at_ms: 0 });
                })
            })?;
        }
        Ok(found)
    }

    /// Keys that expire.
    fn expiring(&mut self, policy: EvictionPolicy) -> Result<Vec<Candidate>> {
        let at = match policy.victim() {
            Victim::SoonestToExpire => Where::Soonest,
            _ => Where::Anywhere,
        };
        let mut found = Vec::new();
        for _ in 0..SAMPLES / 2 {
            found.extend(self.executor.look(0, |cx| evict::expiring(cx, at, 2))?);
        }
        Ok(found)
    }

    fn draw(&mut self) -> u64 {
        self.random = draws(self.random).next().unwrap_or_default();
        self.random
    }
}
