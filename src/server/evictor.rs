//! Keeps what is on the disk within `maxdisk`: evicts keys as `maxmemory-policy` says, or refuses writes where nothing may go.
//!
//! What is evicted gives its space back when the sorted data is compacted. Until then it counts as free: from its estimated size at
//! first, and once the deletions are in the sorted data from how many of them there are, which is what the cleaner goes by as well.
//! So a wrong estimate counts for a moment only, and what counts as free is what will be compacted.
//!
//! Keys are looked at in their order, round and round, and of each few the best go. As their order is that of their hashes, that is a
//! choice among keys drawn at random, as in Redis, at the price of a short walk.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use tarn_engine::Stats;

use super::cleaner;
use crate::commands::memory;
use crate::config::{Config, EvictionPolicy, Victim};
use crate::dispatch::executor::Executor;
use crate::dispatch::locks::StripeSet;
use crate::error::Result;
use crate::keyspace::clocks::{Noted, place_of};
use crate::keyspace::evict::{self, Candidate, Where};
use crate::keyspace::garbage::share::TIGHT_SHARE;
use crate::keyspace::{Db, local, scan};
use crate::node::Node;

/// Time between two looks.
const TURN: Duration = Duration::from_millis(100);
/// While there is more to evict.
const BUSY_TURN: Duration = Duration::from_millis(2);
/// Longest a turn may evict.
const STEP: Duration = Duration::from_millis(10);
/// Keys that are looked at together, and how many of them go.
const LOOKED_AT: usize = 64;
const CHOSEN: usize = 8;
/// Elements that the size of a key is reckoned from.
const SIZE_SAMPLES: u64 = 16;
/// Keys go until the data that lives is below the limit by one part of so many: as much as the cleaner leaves of garbage.
const KEPT_FREE: u64 = TIGHT_SHARE;
/// Above the limit by one part of so many, writes wait for eviction.
const SLACK: u64 = 10;
/// Above the limit by one part of so many, writes wait for compaction.
const MOST: u64 = 4;
/// Of what was evicted and is not in the sorted data yet, and of the log: more than one part of so many of the limit is written back, but
/// not less than so many bytes.
const WRITTEN_BACK: u64 = 16;
const WRITTEN_BACK_BYTES: u64 = 4 << 20;
/// Time between two estimates of the garbage.
const ESTIMATE: Duration = Duration::from_secs(1);

struct Evictor {
    executor: Executor,
    pending: Pending,
    /// Bytes that come back by compaction, and when that was estimated.
    garbage: u64,
    estimated: Option<Instant>,
    /// Where the walk goes on: the database and its cursor.
    at: (usize, u64),
}

/// Bytes of keys whose deletion may not be in the sorted data yet.
#[derive(Debug, Default)]
struct Pending {
    /// Since the last write-back ended, and before: the one that ends next may have begun before the keys were evicted.
    bytes: [u64; 2],
    write_backs: u64,
}

impl Pending {
    fn add(&mut self, bytes: u64) {
        self.bytes[0] += bytes;
    }

    fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// So many have ended since the start.
    fn ended(&mut self, write_backs: u64) {
        match write_backs.saturating_sub(self.write_backs) {
            0 => {}
            1 => self.bytes = [0, self.bytes[0]],
            _ => self.bytes = [0, 0],
        }
        self.write_backs = write_backs;
    }
}

/// Runs until `stop` is closed.
pub fn run(node: &Arc<Node>, stop: &Receiver<()>) {
    let mut evictor = Evictor {
        executor: Executor::uncounted(node),
        pending: Pending::default(),
        garbage: 0,
        estimated: None,
        at: (0, 0),
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
            node.eviction.set_tight(false);
            return Ok(false);
        }
        let disk_bytes = self.look(&node, limit)?;
        node.eviction.set_tight(disk_bytes > limit);
        if disk_bytes <= limit {
            node.eviction.refuse(false);
            return Ok(false);
        }
        if policy.victim() == Victim::None {
            node.eviction.refuse(true);
            return Ok(false);
        }
        let used = disk_bytes.saturating_sub(self.garbage + self.pending.bytes());
        let goal = limit - limit / KEPT_FREE;
        let (mut freed, mut is_exhausted) = (0, false);
        let until = Instant::now() + STEP;
        while used.saturating_sub(freed) > goal && Instant::now() < until && !is_exhausted {
            let wanted = used.saturating_sub(freed) - goal;
            let (bytes, found) = self.evict_some(&node, policy, wanted)?;
            freed += bytes;
            is_exhausted = !found;
        }
        if freed > 0 {
            node.engine.flush()?;
            node.deliver();
        }
        self.pending.add(freed);
        let used = used.saturating_sub(freed);
        let is_behind = used > limit + limit / SLACK || disk_bytes > limit + limit / MOST;
        node.eviction.refuse(is_behind || is_exhausted && used > limit);
        Ok(used > goal && !is_exhausted)
    }

    /// Bytes on the disk. Where they are too many, the log is written back and the garbage is estimated.
    fn look(&mut self, node: &Node, limit: u64) -> Result<u64> {
        let stats = node.engine.stats();
        self.pending.ended(stats.write_backs);
        let disk_bytes = |stats: &Stats| stats.sorted_bytes + stats.log_bytes;
        if disk_bytes(&stats) <= limit {
            return Ok(disk_bytes(&stats));
        }
        let most = (limit / WRITTEN_BACK).max(WRITTEN_BACK_BYTES);
        if stats.log_bytes.max(self.pending.bytes()) > most && stats.write_error.is_none() {
            local::write_back(&node.engine)?;
            self.pending.bytes = [0, 0];
            self.estimated = None;
        }
        if self.estimated.is_none_or(|at| at.elapsed() >= ESTIMATE) {
            self.garbage = cleaner::freed_bytes(node)?;
            self.estimated = Some(Instant::now());
        }
        Ok(disk_bytes(&node.engine.stats()))
    }

    /// Takes away the best of a few keys, until that has freed what is wanted. The bytes, and whether any key was found.
    fn evict_some(&mut self, node: &Arc<Node>, policy: EvictionPolicy, wanted: u64) -> Result<(u64, bool)> {
        let mut candidates = if policy.is_volatile() { self.expiring(policy)? } else { self.next(node)? };
        let now_ms = node.clock.now_ms();
        let rank = |candidate: &Candidate| match policy.victim() {
            Victim::SoonestToExpire => u64::MAX - candidate.expire_at_ms,
            _ => {
                let place = place_of(node.keyspace.seed(), candidate.db.logical, &candidate.key);
                node.keyspace.clocks.rank(place, now_ms)
            }
        };
        candidates.sort_by_cached_key(|candidate| Reverse(rank(candidate)));
        let chosen = candidates.len().div_ceil(LOOKED_AT / CHOSEN);
        let mut freed = 0;
        for candidate in candidates.iter().take(chosen) {
            if freed < wanted {
                freed += self.evict(node, candidate)?;
            }
        }
        Ok((freed, !candidates.is_empty()))
    }

    /// The bytes of a key that was evicted; none where it was gone already.
    fn evict(&mut self, node: &Node, candidate: &Candidate) -> Result<u64> {
        let db = candidate.db.logical;
        let bytes = self.executor.look(db, |cx| memory::estimate(cx, &candidate.key, SIZE_SAMPLES))?;
        let was_there =
            self.executor.transact(&StripeSet::of(&candidate.key), db, |cx| evict::evict(cx, candidate))?;
        if was_there {
            node.eviction.count();
        }
        Ok(if was_there { bytes.unwrap_or(0) } else { 0 })
    }

    /// The next few keys of all databases, in their order; none where there are none at all.
    fn next(&mut self, node: &Node) -> Result<Vec<Candidate>> {
        let databases: Vec<Db> = node.keyspace.shared.databases().collect();
        let mut found = Vec::new();
        // Once round: the database of the last walk comes again at the end, from its beginning.
        let mut ends = 0;
        while found.is_empty() && ends <= databases.len() {
            let (index, cursor) = self.at;
            let Some(db) = databases.get(index).copied() else {
                self.at = (0, 0);
                if databases.is_empty() {
                    break;
                }
                continue;
            };
            let next = self.executor.look(db.logical, |cx| {
                scan::page(cx, cursor, LOOKED_AT, &mut |key| {
                    found.push(Candidate { db, key: key.key.to_vec(), expire_at_ms: 0 });
                })
            })?;
            self.at = if next == 0 { (index + 1, 0) } else { (index, next) };
            ends += usize::from(next == 0);
        }
        Ok(found)
    }

    /// Some keys that expire.
    fn expiring(&mut self, policy: EvictionPolicy) -> Result<Vec<Candidate>> {
        let at = match policy.victim() {
            Victim::SoonestToExpire => Where::Soonest,
            _ => Where::Anywhere,
        };
        let found = self.executor.look(0, |cx| evict::expiring(cx, at, LOOKED_AT))?;
        if !found.is_empty() || at == Where::Anywhere {
            return Ok(found);
        }
        // Fields of hashes may come before all keys.
        self.executor.look(0, |cx| evict::expiring(cx, Where::Anywhere, LOOKED_AT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_evicted_is_pending_until_a_write_back_begun_later_has_ended() {
        let mut pending = Pending::default();
        pending.ended(7);
        pending.add(100);
        pending.ended(7);
        assert_eq!(pending.bytes(), 100);
        pending.ended(8);
        pending.add(10);
        assert_eq!(pending.bytes(), 110, "the one that has ended may have begun before");
        pending.ended(9);
        assert_eq!(pending.bytes(), 10);
        pending.add(1);
        pending.ended(11);
        assert_eq!(pending.bytes(), 0, "two have ended");
    }
}
