//! PD: timestamps, members, stores, regions, safe points.

use prost::Message;

use super::metapb::{Peer, Region, Store};

#[derive(Clone, PartialEq, Message)]
pub struct RequestHeader {
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    #[prost(message, optional, tag = "2")]
    pub error: Option<Error>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Error {
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

/// `Error::kind` of a failure without a kind of its own.
pub const ERROR_UNKNOWN: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub struct TsoRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint32, tag = "2")]
    pub count: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TsoResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(uint32, tag = "2")]
    pub count: u32,
    /// The last of `count` timestamps.
    #[prost(message, optional, tag = "3")]
    pub timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Timestamp {
    #[prost(int64, tag = "1")]
    pub physical: i64,
    #[prost(int64, tag = "2")]
    pub logical: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetMembersRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetMembersResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<Member>,
    #[prost(message, optional, tag = "3")]
    pub leader: Option<Member>,
    #[prost(message, optional, tag = "4")]
    pub etcd_leader: Option<Member>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Member {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
    #[prost(string, repeated, tag = "3")]
    pub peer_urls: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub client_urls: Vec<String>,
}

/// Of GetRegion and GetPrevRegion.
#[derive(Clone, PartialEq, Message)]
pub struct GetRegionRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub region_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetRegionByIdRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub region_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetRegionResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub region: Option<Region>,
    #[prost(message, optional, tag = "3")]
    pub leader: Option<Peer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanRegionsRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    /// 0 or less: no limit.
    #[prost(int32, tag = "3")]
    pub limit: i32,
    #[prost(bytes = "vec", tag = "4")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionAndLeader {
    #[prost(message, optional, tag = "1")]
    pub region: Option<Region>,
    #[prost(message, optional, tag = "2")]
    pub leader: Option<Peer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanRegionsResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub region_metas: Vec<Region>,
    #[prost(message, repeated, tag = "3")]
    pub leaders: Vec<Peer>,
    #[prost(message, repeated, tag = "4")]
    pub regions: Vec<RegionAndLeader>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetStoreRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub store_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetStoreResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub store: Option<Store>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetAllStoresRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetAllStoresResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub stores: Vec<Store>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetGcSafePointRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetGcSafePointResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(uint64, tag = "2")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpdateGcSafePointRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpdateGcSafePointResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(uint64, tag = "2")]
    pub new_safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpdateServiceGcSafePointRequest {
    #[prost(message, optional, tag = "1")]
    pub header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub service_id: Vec<u8>,
    /// In seconds; 0 or less removes the service's safe point.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
    #[prost(uint64, tag = "4")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpdateServiceGcSafePointResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bytes = "vec", tag = "2")]
    pub service_id: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub ttl: i64,
    #[prost(uint64, tag = "4")]
    pub min_safe_point: u64,
}
