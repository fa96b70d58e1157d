//! Regions: ranges of keys with a leader each. They split, merge and move their leaders.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::codec;
use crate::mvcc::Range;
use crate::proto::errorpb::{self, EpochNotMatch, KeyNotInRegion, NotLeader, RegionNotFound, StoreNotMatch};
use crate::proto::kvrpcpb::Context;
use crate::proto::metapb::{self, Peer, RegionEpoch};

#[derive(Clone, Debug)]
pub struct Region {
    pub id: u64,
    pub range: Range,
    pub epoch: RegionEpoch,
    pub peers: Vec<Peer>,
    /// The store of the leader.
    pub leader: u64,
}

impl Region {
    /// As PD and TiKV send it.
    pub fn to_meta(&self) -> metapb::Region {
        metapb::Region {
            id: self.id,
            start_key: codec::encode_bound(&self.range.start),
            end_key: codec::encode_bound(&self.range.end),
            region_epoch: Some(self.epoch),
            peers: self.peers.clone(),
        }
    }

    pub fn leader(&self) -> Option<Peer> {
        self.peers.iter().find(|peer| peer.store_id == self.leader).copied()
    }

    pub fn not_leader(&self, hint: bool) -> errorpb::Error {
        let leader = if hint { self.leader() } else { None };
        errorpb::Error {
            message: format!("peer is not leader for region {}", self.id),
            not_leader: Some(NotLeader { region_id: self.id, leader }),
            ..errorpb::Error::default()
        }
    }

    pub fn key_not_in_region(&self, key: &[u8]) -> errorpb::Error {
        errorpb::Error {
            message: format!("key is not in region {}", self.id),
            key_not_in_region: Some(KeyNotInRegion {
                key: codec::encode(key),
                region_id: self.id,
                start_key: codec::encode_bound(&self.range.start),
                end_key: codec::encode_bound(&self.range.end),
            }),
            ..errorpb::Error::default()
        }
    }
}

pub fn epoch_not_match(current_regions: Vec<metapb::Region>) -> errorpb::Error {
    errorpb::Error {
        message: "epoch not match".to_owned(),
        epoch_not_match: Some(EpochNotMatch { current_regions }),
        ..errorpb::Error::default()
    }
}

pub fn region_not_found(region_id: u64) -> errorpb::Error {
    errorpb::Error {
        message: format!("region {region_id} is missing"),
        region_not_found: Some(RegionNotFound { region_id }),
        ..errorpb::Error::default()
    }
}

pub struct Regions {
    /// By start key. Together they cover all keys.
    regions: BTreeMap<Vec<u8>, Region>,
    next_id: u64,
}

impl Regions {
    /// One region with a peer on every store.
    pub fn new(stores: &[u64]) -> Self {
        let mut regions = Self { regions: BTreeMap::new(), next_id: 1 };
        let leader = stores.first().copied().unwrap_or_default();
        let region = Region {
            id: regions.new_id(),
            range: Range { start: Vec::new(), end: Vec::new() },
            epoch: RegionEpoch { conf_ver: 1, version: 1 },
            peers: regions.new_peers(stores),
            leader,
        };
        regions.regions.insert(Vec::new(), region);
        regions
    }

    pub fn all(&self) -> impl Iterator<Item = &Region> {
        self.regions.values()
    }

    pub fn len(&self) -> usize {
        self.regions.len()
    }

    pub fn of_key(&self, key: &[u8]) -> Option<&Region> {
        self.regions
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()
            .map(|(_, region)| region)
    }

    /// The region that ends where the region of the key begins.
    pub fn before(&self, key: &[u8]) -> Option<&Region> {
        let start = self.of_key(key)?.range.start.as_slice();
        self.regions
            .range::<[u8], _>((Bound::Unbounded, Bound::Excluded(start)))
            .next_back()
            .map(|(_, region)| region)
    }

    pub fn by_id(&self, id: u64) -> Option<&Region> {
        self.regions.values().find(|region| region.id == id)
    }

    /// Splits a region in two. The left part is the new region, as with TiKV's default. `None` where a bound is already.
    pub fn split(&mut self, key: &[u8]) -> Option<(u64, u64)> {
        let old = self.of_key(key)?.clone();
        if old.range.start == key {
            return None;
        }
        let stores: Vec<u64> = old.peers.iter().map(|peer| peer.store_id).collect();
        let epoch = RegionEpoch { version: old.epoch.version + 1, ..old.epoch };
        let left = Region {
            id: self.new_id(),
            range: Range { start: old.range.start.clone(), end: key.to_vec() },
            epoch,
            peers: self.new_peers(&stores),
            leader: old.leader,
        };
        let ids = (left.id, old.id);
        let right = Region { range: Range { start: key.to_vec(), end: old.range.end.clone() }, epoch, ..old };
        self.regions.insert(left.range.start.clone(), left);
        self.regions.insert(key.to_vec(), right);
        Some(ids)
    }

    /// Merges the region of the key into the one on its left. False if there is none.
    pub fn merge(&mut self, key: &[u8]) -> bool {
        let (Some(source), Some(target)) = (self.of_key(key).cloned(), self.before(key).cloned()) else {
            return false;
        };
        self.regions.remove(&source.range.start);
        let version = source.epoch.version.max(target.epoch.version) + 1;
        let merged = Region {
            range: Range { start: target.range.start.clone(), end: source.range.end },
            epoch: RegionEpoch { version, ..target.epoch },
            ..target
        };
        self.regions.insert(merged.range.start.clone(), merged);
        true
    }

    /// False if the store has no peer of the region.
    pub fn move_leader(&mut self, id: u64, store: u64) -> bool {
        let Some(region) = self.regions.values_mut().find(|region| region.id == id) else { return false };
        let has_peer = region.peers.iter().any(|peer| peer.store_id == store);
        if has_peer {
            region.leader = store;
        }
        has_peer
    }

    /// The region that a request may use, or why it may not.
    pub fn check(&self, store: u64, context: Option<&Context>) -> Result<&Region, errorpb::Error> {
        let Some(context) = context else { return Err(region_not_found(0)) };
        let peer = context.peer.unwrap_or_default();
        if peer.store_id != store {
            return Err(errorpb::Error {
                message: "store not match".to_owned(),
                store_not_match: Some(StoreNotMatch {
                    request_store_id: peer.store_id,
                    actual_store_id: store,
                }),
                ..errorpb::Error::default()
            });
        }
        let region = self.by_id(context.region_id);
        let Some(region) = region.filter(|region| region.peers.iter().any(|peer| peer.store_id == store))
        else {
            return Err(region_not_found(context.region_id));
        };
        if region.leader != store {
            return Err(region.not_leader(true));
        }
        if let Some(own) = region.leader().filter(|own| own.id != peer.id) {
            return Err(errorpb::Error {
                message: format!("mismatch peer id {} != {}", peer.id, own.id),
                mismatch_peer_id: Some(errorpb::MismatchPeerId {
                    request_peer_id: peer.id,
                    store_peer_id: own.id,
                }),
                ..errorpb::Error::default()
            });
        }
        let epoch = context.region_epoch.unwrap_or_default();
        if epoch.version != region.epoch.version {
            // A split has left the other half on the left.
            let mut current = vec![region.to_meta()];
            current.extend(self.before(&region.range.start).map(Region::to_meta));
            return Err(epoch_not_match(current));
        }
        Ok(region)
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn new_peers(&mut self, stores: &[u64]) -> Vec<Peer> {
        stores.iter().map(|&store_id| Peer { id: self.new_id(), store_id }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(region: &Region, store: u64) -> Context {
        let peer = region.peers.iter().find(|peer| peer.store_id == store).copied();
        Context { region_id: region.id, region_epoch: Some(region.epoch), peer, resolved_locks: Vec::new() }
    }

    #[test]
    fn a_split_leaves_the_id_on_the_right_and_an_older_epoch_is_refused() {
        let mut regions = Regions::new(&[1, 2]);
        let old = regions.of_key(b"m").unwrap().clone();
        assert!(regions.split(b"m").is_some());
        assert!(regions.split(b"m").is_none(), "there is a bound already");
        assert_eq!(regions.of_key(b"m").unwrap().id, old.id);
        assert_ne!(regions.of_key(b"a").unwrap().id, old.id);
        let error = regions.check(1, Some(&context(&old, 1))).unwrap_err();
        let current = error.epoch_not_match.unwrap().current_regions;
        assert_eq!(current.len(), 2);
        assert_eq!(current[0].start_key, codec::encode(b"m"));
        assert_eq!(current[1].end_key, codec::encode(b"m"));
    }

    #[test]
    fn only_the_leader_answers_and_others_name_it() {
        let mut regions = Regions::new(&[1, 2]);
        let region = regions.of_key(b"").unwrap().clone();
        assert!(regions.check(1, Some(&context(&region, 1))).is_ok());
        assert!(regions.move_leader(region.id, 2));
        assert!(!regions.move_leader(region.id, 9));
        let not_leader = regions.check(1, Some(&context(&region, 1))).unwrap_err().not_leader.unwrap();
        assert_eq!(not_leader.leader.unwrap().store_id, 2);
        let wrong = regions.check(2, Some(&context(&region, 1))).unwrap_err();
        assert_eq!(wrong.store_not_match.unwrap().actual_store_id, 2);
    }

    #[test]
    fn a_merged_region_is_gone() {
        let mut regions = Regions::new(&[1]);
        regions.split(b"m");
        let (left, right) = (regions.of_key(b"a").unwrap().clone(), regions.of_key(b"z").unwrap().clone());
        assert!(regions.merge(b"z"));
        assert!(!regions.merge(b"a"), "there is nothing on the left");
        assert_eq!(regions.of_key(b"z").unwrap().id, left.id);
        let error = regions.check(1, Some(&context(&right, 1))).unwrap_err();
        assert_eq!(error.region_not_found.unwrap().region_id, right.id);
    }
}
