//! Why a key could not be read or written.

use prost::Message;

use super::kinds::{Assertion, ConflictReason, Op};

#[derive(Clone, PartialEq, Message)]
pub struct LockInfo {
    #[prost(bytes = "vec", tag = "1")]
    pub primary_lock: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub lock_version: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub lock_ttl: u64,
    #[prost(uint64, tag = "5")]
    pub txn_size: u64,
    #[prost(enumeration = "Op", tag = "6")]
    pub lock_type: i32,
    #[prost(uint64, tag = "7")]
    pub lock_for_update_ts: u64,
    #[prost(bool, tag = "8")]
    pub use_async_commit: bool,
    #[prost(uint64, tag = "9")]
    pub min_commit_ts: u64,
    #[prost(bytes = "vec", repeated, tag = "10")]
    pub secondaries: Vec<Vec<u8>>,
}

/// One field is set: why a key could not be read or written.
#[derive(Clone, PartialEq, Message)]
pub struct KeyError {
    #[prost(message, optional, tag = "1")]
    pub locked: Option<LockInfo>,
    #[prost(string, tag = "2")]
    pub retryable: String,
    #[prost(string, tag = "3")]
    pub abort: String,
    #[prost(message, optional, tag = "4")]
    pub conflict: Option<WriteConflict>,
    #[prost(message, optional, tag = "5")]
    pub already_exist: Option<AlreadyExist>,
    #[prost(message, optional, tag = "6")]
    pub deadlock: Option<Deadlock>,
    #[prost(message, optional, tag = "7")]
    pub commit_ts_expired: Option<CommitTsExpired>,
    #[prost(message, optional, tag = "8")]
    pub txn_not_found: Option<TxnNotFound>,
    #[prost(message, optional, tag = "10")]
    pub assertion_failed: Option<AssertionFailed>,
    #[prost(message, optional, tag = "11")]
    pub primary_mismatch: Option<PrimaryMismatch>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteConflict {
    #[prost(uint64, tag = "1")]
    pub start_ts: u64,
    #[prost(uint64, tag = "2")]
    pub conflict_ts: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub primary: Vec<u8>,
    #[prost(uint64, tag = "5")]
    pub conflict_commit_ts: u64,
    #[prost(enumeration = "ConflictReason", tag = "6")]
    pub reason: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct AlreadyExist {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Deadlock {
    #[prost(uint64, tag = "1")]
    pub lock_ts: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub lock_key: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub deadlock_key_hash: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct CommitTsExpired {
    #[prost(uint64, tag = "1")]
    pub start_ts: u64,
    #[prost(uint64, tag = "2")]
    pub attempted_commit_ts: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub min_commit_ts: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct TxnNotFound {
    #[prost(uint64, tag = "1")]
    pub start_ts: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub primary_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AssertionFailed {
    #[prost(uint64, tag = "1")]
    pub start_ts: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(enumeration = "Assertion", tag = "3")]
    pub assertion: i32,
    #[prost(uint64, tag = "4")]
    pub existing_start_ts: u64,
    #[prost(uint64, tag = "5")]
    pub existing_commit_ts: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct PrimaryMismatch {
    #[prost(message, optional, tag = "1")]
    pub lock_info: Option<LockInfo>,
}
