//! Why a command was refused, and how that is said on the wire.

use super::row::Lock;
use crate::proto::kvrpcpb::{
    AlreadyExist, Assertion, AssertionFailed, CommitTsExpired, ConflictReason, Deadlock, KeyError, LockInfo,
    PrimaryMismatch, TxnNotFound, WriteConflict,
};

/// Errors that commands look at have a variant; the others are ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    Locked(Box<LockInfo>),
    Conflict(Box<WriteConflict>),
    /// A pessimistic prewrite found that its lock is gone.
    PessimisticLockNotFound {
        start_ts: u64,
        key: Vec<u8>,
    },
    /// A rollback found a commit.
    Committed {
        start_ts: u64,
        commit_ts: u64,
        key: Vec<u8>,
    },
    Assertion(Box<AssertionFailed>),
    Other(Box<KeyError>),
}

impl Error {
    pub fn locked(lock: &Lock, key: &[u8]) -> Self {
        Self::Locked(Box::new(lock.to_info(key)))
    }

    pub fn conflict(
        start_ts: u64,
        key: &[u8],
        primary: &[u8],
        (conflict_ts, conflict_commit_ts): (u64, u64),
        reason: ConflictReason,
    ) -> Self {
        Self::Conflict(Box::new(WriteConflict {
            start_ts,
            conflict_ts,
            key: key.to_vec(),
            primary: primary.to_vec(),
            conflict_commit_ts,
            reason: reason.into(),
        }))
    }

    pub fn already_exist(key: &[u8]) -> Self {
        let exist = AlreadyExist { key: key.to_vec() };
        Self::Other(Box::new(KeyError { already_exist: Some(exist), ..KeyError::default() }))
    }

    pub fn lock_not_found(start_ts: u64, commit_ts: u64, key: &[u8]) -> Self {
        let retryable =
            format!("TxnLockNotFound {{ start_ts: {start_ts}, commit_ts: {commit_ts}, key: {key:?} }}");
        Self::Other(Box::new(KeyError { retryable, ..KeyError::default() }))
    }

    pub fn txn_not_found(start_ts: u64, primary_key: &[u8]) -> Self {
        let not_found = TxnNotFound { start_ts, primary_key: primary_key.to_vec() };
        Self::Other(Box::new(KeyError { txn_not_found: Some(not_found), ..KeyError::default() }))
    }

    pub fn commit_ts_expired(start_ts: u64, commit_ts: u64, key: &[u8], min_commit_ts: u64) -> Self {
        let expired =
            CommitTsExpired { start_ts, attempted_commit_ts: commit_ts, key: key.to_vec(), min_commit_ts };
        Self::Other(Box::new(KeyError { commit_ts_expired: Some(expired), ..KeyError::default() }))
    }

    pub fn assertion_failed(start_ts: u64, key: &[u8], assertion: Assertion, existing: (u64, u64)) -> Self {
        Self::Assertion(Box::new(AssertionFailed {
            start_ts,
            key: key.to_vec(),
            assertion: assertion.into(),
            existing_start_ts: existing.0,
            existing_commit_ts: existing.1,
        }))
    }

    pub fn primary_mismatch(lock: &Lock, key: &[u8]) -> Self {
        let mismatch = PrimaryMismatch { lock_info: Some(lock.to_info(key)) };
        Self::Other(Box::new(KeyError { primary_mismatch: Some(mismatch), ..KeyError::default() }))
    }

    pub fn deadlock(lock_ts: u64, lock_key: &[u8], deadlock_key_hash: u64) -> Self {
        let deadlock = Deadlock { lock_ts, lock_key: lock_key.to_vec(), deadlock_key_hash };
        Self::Other(Box::new(KeyError { deadlock: Some(deadlock), ..KeyError::default() }))
    }

    /// The client has to give the transaction up.
    pub fn abort(text: String) -> Self {
        Self::Other(Box::new(KeyError { abort: text, ..KeyError::default() }))
    }
}

impl From<Error> for KeyError {
    fn from(error: Error) -> Self {
        let abort = |text: String| Self { abort: text, ..Self::default() };
        match error {
            Error::Locked(lock) => Self { locked: Some(*lock), ..Self::default() },
            Error::Conflict(conflict) => {
                // Old clients read the text.
                let retryable = format!("{conflict:?}");
                Self { conflict: Some(*conflict), retryable, ..Self::default() }
            }
            Error::PessimisticLockNotFound { start_ts, key } => {
                abort(format!("PessimisticLockNotFound {{ start_ts: {start_ts}, key: {key:?} }}"))
            }
            Error::Committed { start_ts, commit_ts, key } => {
                abort(format!("Committed {{ start_ts: {start_ts}, commit_ts: {commit_ts}, key: {key:?} }}"))
            }
            Error::Assertion(failed) => Self { assertion_failed: Some(*failed), ..Self::default() },
            Error::Other(error) => *error,
        }
    }
}
