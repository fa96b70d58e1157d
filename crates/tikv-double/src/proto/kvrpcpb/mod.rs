//! Transactions: requests to TiKV and its answers.

mod errors;
mod kinds;

use prost::Message;

pub use errors::*;
pub use kinds::*;

use super::errorpb;
use super::metapb::{Peer, RegionEpoch};

/// What every request says about the region it is meant for.
#[derive(Clone, PartialEq, Message)]
pub struct Context {
    #[prost(uint64, tag = "1")]
    pub region_id: u64,
    #[prost(message, optional, tag = "2")]
    pub region_epoch: Option<RegionEpoch>,
    #[prost(message, optional, tag = "3")]
    pub peer: Option<Peer>,
    #[prost(uint64, repeated, tag = "13")]
    pub resolved_locks: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KvPair {
    #[prost(message, optional, tag = "1")]
    pub error: Option<KeyError>,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Mutation {
    #[prost(enumeration = "Op", tag = "1")]
    pub op: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub value: Vec<u8>,
    #[prost(enumeration = "Assertion", tag = "4")]
    pub assertion: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TxnInfo {
    #[prost(uint64, tag = "1")]
    pub txn: u64,
    #[prost(uint64, tag = "2")]
    pub status: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(bytes = "vec", tag = "3")]
    pub value: Vec<u8>,
    #[prost(bool, tag = "4")]
    pub not_found: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchGetRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "3")]
    pub version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchGetResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub pairs: Vec<KvPair>,
    #[prost(message, optional, tag = "5")]
    pub error: Option<KeyError>,
}

/// Backwards the range is `[end_key, start_key)`.
#[derive(Clone, PartialEq, Message)]
pub struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(uint32, tag = "3")]
    pub limit: u32,
    #[prost(uint64, tag = "4")]
    pub version: u64,
    #[prost(bool, tag = "5")]
    pub key_only: bool,
    #[prost(bool, tag = "6")]
    pub reverse: bool,
    #[prost(bytes = "vec", tag = "7")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub pairs: Vec<KvPair>,
    #[prost(message, optional, tag = "3")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PrewriteRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(message, repeated, tag = "2")]
    pub mutations: Vec<Mutation>,
    #[prost(bytes = "vec", tag = "3")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub start_version: u64,
    #[prost(uint64, tag = "5")]
    pub lock_ttl: u64,
    #[prost(bool, tag = "6")]
    pub skip_constraint_check: bool,
    #[prost(enumeration = "PessimisticAction", repeated, tag = "7")]
    pub pessimistic_actions: Vec<i32>,
    #[prost(uint64, tag = "8")]
    pub txn_size: u64,
    #[prost(uint64, tag = "9")]
    pub for_update_ts: u64,
    #[prost(uint64, tag = "10")]
    pub min_commit_ts: u64,
    #[prost(bool, tag = "11")]
    pub use_async_commit: bool,
    #[prost(bytes = "vec", repeated, tag = "12")]
    pub secondaries: Vec<Vec<u8>>,
    #[prost(bool, tag = "13")]
    pub try_one_pc: bool,
    #[prost(uint64, tag = "14")]
    pub max_commit_ts: u64,
    #[prost(enumeration = "AssertionLevel", tag = "15")]
    pub assertion_level: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PrewriteResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<KeyError>,
    #[prost(uint64, tag = "3")]
    pub min_commit_ts: u64,
    #[prost(uint64, tag = "4")]
    pub one_pc_commit_ts: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CommitRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "4")]
    pub commit_version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CommitResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(uint64, tag = "3")]
    pub commit_version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchRollbackRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchRollbackResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CleanupRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub start_version: u64,
    #[prost(uint64, tag = "4")]
    pub current_ts: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CleanupResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(uint64, tag = "3")]
    pub commit_version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct PessimisticLockRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(message, repeated, tag = "2")]
    pub mutations: Vec<Mutation>,
    #[prost(bytes = "vec", tag = "3")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub start_version: u64,
    #[prost(uint64, tag = "5")]
    pub lock_ttl: u64,
    #[prost(uint64, tag = "6")]
    pub for_update_ts: u64,
    #[prost(bool, tag = "7")]
    pub is_first_lock: bool,
    #[prost(int64, tag = "8")]
    pub wait_timeout: i64,
    #[prost(bool, tag = "10")]
    pub return_values: bool,
    #[prost(uint64, tag = "11")]
    pub min_commit_ts: u64,
    #[prost(bool, tag = "12")]
    pub check_existence: bool,
    #[prost(bool, tag = "13")]
    pub lock_only_if_exists: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PessimisticLockResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<KeyError>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub values: Vec<Vec<u8>>,
    #[prost(bool, repeated, tag = "6")]
    pub not_founds: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PessimisticRollbackRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    #[prost(uint64, tag = "3")]
    pub for_update_ts: u64,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PessimisticRollbackResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, repeated, tag = "2")]
    pub errors: Vec<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TxnHeartBeatRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub start_version: u64,
    #[prost(uint64, tag = "4")]
    pub advise_lock_ttl: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct TxnHeartBeatResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(uint64, tag = "3")]
    pub lock_ttl: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CheckTxnStatusRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub primary_key: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub lock_ts: u64,
    #[prost(uint64, tag = "4")]
    pub caller_start_ts: u64,
    #[prost(uint64, tag = "5")]
    pub current_ts: u64,
    #[prost(bool, tag = "6")]
    pub rollback_if_not_exist: bool,
    #[prost(bool, tag = "7")]
    pub force_sync_commit: bool,
    #[prost(bool, tag = "8")]
    pub resolving_pessimistic_lock: bool,
    #[prost(bool, tag = "9")]
    pub verify_is_primary: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct CheckTxnStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(uint64, tag = "3")]
    pub lock_ttl: u64,
    #[prost(uint64, tag = "4")]
    pub commit_version: u64,
    #[prost(enumeration = "Action", tag = "5")]
    pub action: i32,
    #[prost(message, optional, tag = "6")]
    pub lock_info: Option<LockInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CheckSecondaryLocksRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "3")]
    pub start_version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CheckSecondaryLocksResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(message, repeated, tag = "3")]
    pub locks: Vec<LockInfo>,
    #[prost(uint64, tag = "4")]
    pub commit_ts: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanLockRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub max_version: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub start_key: Vec<u8>,
    #[prost(uint32, tag = "4")]
    pub limit: u32,
    #[prost(bytes = "vec", tag = "5")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanLockResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
    #[prost(message, repeated, tag = "3")]
    pub locks: Vec<LockInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResolveLockRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub start_version: u64,
    #[prost(uint64, tag = "3")]
    pub commit_version: u64,
    #[prost(message, repeated, tag = "4")]
    pub txn_infos: Vec<TxnInfo>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResolveLockResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GcRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GcResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeleteRangeRequest {
    #[prost(message, optional, tag = "1")]
    pub context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub end_key: Vec<u8>,
    #[prost(bool, tag = "4")]
    pub notify_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeleteRangeResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(string, tag = "2")]
    pub error: String,
}

/// Goes to a store, not to a region.
#[derive(Clone, PartialEq, Message)]
pub struct UnsafeDestroyRangeRequest {
    #[prost(bytes = "vec", tag = "2")]
    pub start_key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct UnsafeDestroyRangeResponse {
    #[prost(message, optional, tag = "1")]
    pub region_error: Option<errorpb::Error>,
    #[prost(string, tag = "2")]
    pub error: String,
}
