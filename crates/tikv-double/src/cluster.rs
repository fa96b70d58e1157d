//! All that the stores and PD know, under one lock.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::counts::Counts;
use crate::faults::Faults;
use crate::mvcc::{Lock, LockKind, Mvcc, Range};
use crate::options::Options;
use crate::region::{Region, Regions};
use crate::waits::Waits;

/// How long the lock of a client that died lasts, in milliseconds: no longer than the present one.
const ABANDONED_TTL_MS: u64 = 1;

#[derive(Clone)]
pub struct Shared {
    cluster: Arc<Mutex<Cluster>>,
    /// Told whenever a lock may have gone.
    pub released: Arc<Notify>,
}

impl Shared {
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster: Arc::new(Mutex::new(cluster)), released: Arc::new(Notify::new()) }
    }

    pub fn lock(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock()
    }
}

pub struct Cluster {
    pub options: Options,
    pub id: u64,
    pub mvcc: Mvcc,
    pub regions: Regions,
    pub clock: Clock,
    pub counts: Counts,
    pub faults: Faults,
    pub waits: Waits,
    /// Requests that are still to be carried out although nobody waits for them.
    pub late: usize,
    pub pd_address: String,
    /// Address of each store, by its id.
    pub stores: Vec<(u64, String)>,
    /// The newest timestamp at which each store was read.
    max_ts: HashMap<u64, u64>,
    pub safe_point: u64,
    /// Safe point and end in milliseconds of each service.
    pub service_safe_points: HashMap<Vec<u8>, (u64, u64)>,
}

impl Cluster {
    pub fn new(options: Options, pd_address: String, stores: Vec<(u64, String)>) -> Self {
        let ids: Vec<u64> = stores.iter().map(|(id, _)| *id).collect();
        let mut regions = Regions::new(&ids);
        for key in &options.split_at {
            regions.split(key);
        }
        let faults = Faults::new(options.seed, options.rates.clone());
        let mut cluster = Self {
            id: options.cluster_id,
            options,
            mvcc: Mvcc::default(),
            regions,
            clock: Clock::new(),
            counts: Counts::default(),
            faults,
            waits: Waits::default(),
            late: 0,
            pd_address,
            stores,
            max_ts: HashMap::new(),
            safe_point: 0,
            service_safe_points: HashMap::new(),
        };
        cluster.spread_leaders();
        cluster
    }

    /// The rows, and the newest timestamp at which the store was read.
    pub fn access(&mut self, store: u64) -> (&mut Mvcc, &mut u64) {
        (&mut self.mvcc, self.max_ts.entry(store).or_default())
    }

    /// A read at `ts` by this store: what it commits without PD from now on is newer.
    pub fn note_read(&mut self, store: u64, ts: u64) {
        if ts != u64::MAX {
            let max_ts = self.max_ts.entry(store).or_default();
            *max_ts = (*max_ts).max(ts);
        }
    }

    /// Moves a leader. The new one may not commit below what the old one has answered.
    pub fn move_leader(&mut self, region: u64, store: u64) -> bool {
        let now = self.clock.take(1);
        self.note_read(store, now);
        self.regions.move_leader(region, store)
    }

    /// Moves the leader of the key's region to the next store.
    pub fn move_leader_on(&mut self, key: &[u8]) {
        let Some(Region { id, leader, peers, .. }) = self.regions.of_key(key).cloned() else { return };
        let at = peers.iter().position(|peer| peer.store_id == leader).unwrap_or_default();
        if let Some(next) = peers.iter().cycle().nth(at + 1) {
            self.move_leader(id, next.store_id);
        }
    }

    /// Merges the region of the key into the one on its left, whose leader may not commit below what the other has answered.
    pub fn merge(&mut self, key: &[u8]) -> bool {
        let now = self.clock.take(1);
        let merged = self.regions.merge(key);
        if let Some(leader) = self.regions.of_key(key).map(|region| region.leader) {
            self.note_read(leader, now);
        }
        merged
    }

    /// Gives the regions to the stores in turn.
    pub fn spread_leaders(&mut self) {
        let ids: Vec<u64> = self.regions.all().map(|region| region.id).collect();
        let stores: Vec<u64> = self.stores.iter().map(|(id, _)| *id).collect();
        for (region, store) in ids.into_iter().zip(stores.iter().cycle()) {
            self.move_leader(region, *store);
        }
    }

    /// Takes all regions away from a store.
    pub fn move_leaders_off(&mut self, store: u64) {
        let led: Vec<Vec<u8>> = self
            .regions
            .all()
            .filter(|region| region.leader == store)
            .map(|region| region.range.start.clone())
            .collect();
        for start in led {
            self.move_leader_on(&start);
        }
    }

    /// Splits the region if it has more keys than the options allow.
    pub fn split_if_large(&mut self, range: &Range) {
        let most = self.options.split_keys;
        if most == 0 || self.mvcc.count(range, most + 1) <= most {
            return;
        }
        let middle = self.mvcc.rows(range).nth(most / 2).map(|(key, _)| key.clone());
        if let Some(key) = middle
            && self.regions.split(&key).is_some()
        {
            self.move_leader_on(&range.start);
        }
    }

    /// Leaves the lock of a client that died. It had begun before `ts`. False if the key is held or nobody can have begun.
    pub fn abandon_lock(&mut self, key: &[u8], ts: u64) -> bool {
        if self.mvcc.lock(key).is_some() {
            return false;
        }
        let Some(start_ts) = self.clock.unused_below(ts) else { return false };
        // It would have met a conflict if somebody had written since it began.
        if self.mvcc.row(key).and_then(|row| row.latest()).is_some_and(|write| write.commit_ts >= start_ts) {
            return false;
        }
        let lock = Lock {
            kind: LockKind::Put,
            primary: key.to_vec(),
            start_ts,
            ttl_ms: ABANDONED_TTL_MS,
            value: b"never committed".to_vec(),
            for_update_ts: 0,
            txn_size: 1,
            min_commit_ts: 0,
            async_commit: false,
            secondaries: Vec::new(),
            rollback_ts: Vec::new(),
        };
        self.mvcc.put_lock(key, lock);
        true
    }

    /// Somebody began just now and was rolled back on this key.
    pub fn roll_somebody_back(&mut self, key: &[u8]) {
        let ts = self.clock.take(1);
        self.mvcc.put_rollback(key, ts);
    }

    /// The safe point up to which all services let data go.
    pub fn min_service_safe_point(&mut self, now_ms: u64) -> Option<(Vec<u8>, u64, u64)> {
        self.service_safe_points.retain(|_, (_, end_ms)| *end_ms > now_ms);
        let oldest = self.service_safe_points.iter().min_by_key(|(_, (safe_point, _))| *safe_point)?;
        Some((oldest.0.clone(), oldest.1.0, oldest.1.1))
    }

    /// Raises the safe point; garbage goes at once.
    pub fn raise_safe_point(&mut self, safe_point: u64) -> u64 {
        if safe_point > self.safe_point {
            self.safe_point = safe_point;
            self.mvcc.collect_garbage(&Range { start: Vec::new(), end: Vec::new() }, safe_point);
        }
        self.safe_point
    }
}
