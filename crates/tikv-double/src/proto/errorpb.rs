//! Region errors: the request came to the wrong place, or at the wrong time.

use prost::Message;

use super::metapb::{Peer, Region};

#[derive(Clone, PartialEq, Message)]
pub struct Error {
    #[prost(string, tag = "1")]
    pub message: String,
    #[prost(message, optional, tag = "2")]
    pub not_leader: Option<NotLeader>,
    #[prost(message, optional, tag = "3")]
    pub region_not_found: Option<RegionNotFound>,
    #[prost(message, optional, tag = "4")]
    pub key_not_in_region: Option<KeyNotInRegion>,
    #[prost(message, optional, tag = "5")]
    pub epoch_not_match: Option<EpochNotMatch>,
    #[prost(message, optional, tag = "6")]
    pub server_is_busy: Option<ServerIsBusy>,
    #[prost(message, optional, tag = "7")]
    pub stale_command: Option<StaleCommand>,
    #[prost(message, optional, tag = "8")]
    pub store_not_match: Option<StoreNotMatch>,
    #[prost(message, optional, tag = "9")]
    pub raft_entry_too_large: Option<RaftEntryTooLarge>,
    #[prost(message, optional, tag = "10")]
    pub max_timestamp_not_synced: Option<MaxTimestampNotSynced>,
    #[prost(message, optional, tag = "20")]
    pub mismatch_peer_id: Option<MismatchPeerId>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NotLeader {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
    /// Absent while the peers elect one.
    #[prost(message, optional, tag = "2")]
    pub leader: Option<Peer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionNotFound {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyNotInRegion {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub region_id: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub start_key: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EpochNotMatch {
    #[prost(message, repeated, tag = "1")]
    pub current_regions: Vec<Region>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServerIsBusy {
    #[prost(string, tag = "1")]
    pub reason: String,
    #[prost(uint64, tag = "2")]
    pub backoff_ms: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct StaleCommand {}

#[derive(Clone, PartialEq, Message)]
pub struct StoreNotMatch {
    #[prost(uint64, tag = "1")]
    pub request_store_id: u64,
    #[prost(uint64, tag = "2")]
    pub actual_store_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct RaftEntryTooLarge {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
    #[prost(uint64, tag = "2")]
    pub entry_size: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct MaxTimestampNotSynced {}

#[derive(Clone, PartialEq, Message)]
pub struct MismatchPeerId {
    #[prost(uint64, tag = "1")]
    pub request_peer_id: u64,
    #[prost(uint64, tag = "2")]
    pub store_peer_id: u64,
}
