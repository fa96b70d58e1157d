//! Stores, regions, peers.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct Store {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub address: String,
    /// 0 is up.
    #[prost(int32, tag = "3")]
    pub state: i32,
    #[prost(string, tag = "5")]
    pub version: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct RegionEpoch {
    /// Counts changes of the peers.
    #[prost(uint64, tag = "1")]
    pub conf_ver: u64,
    /// Counts changes of the range.
    #[prost(uint64, tag = "2")]
    pub version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Region {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub end_key: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub region_epoch: Option<RegionEpoch>,
    #[prost(message, repeated, tag = "5")]
    pub peers: Vec<Peer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Peer {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "2")]
    pub store_id: u64,
}
