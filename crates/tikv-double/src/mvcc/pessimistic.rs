//! Locks that are taken before there is anything to write.

use super::prewrite::{check_key_sizes, lock_kind_differs};
use super::row::{Lock, LockKind, Record, Row};
use super::{Error, Mvcc};
use crate::proto::kvrpcpb::{Assertion, ConflictReason, Mutation, PessimisticLockRequest};

/// The value of each key, in the order of the request.
pub type Acquired = Vec<Option<Vec<u8>>>;

/// Whose lock keeps a request waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    pub key: Vec<u8>,
    pub lock_ts: u64,
}

impl Mvcc {
    /// Locks all keys, or none.
    pub fn pessimistic_lock(
        &mut self,
        request: &PessimisticLockRequest,
        max_ts: &mut u64,
    ) -> Result<Acquired, Error> {
        check_key_sizes(&request.mutations)?;
        let mut values = Vec::with_capacity(request.mutations.len());
        for mutation in &request.mutations {
            values.push(self.check_acquire(request, mutation, max_ts)?);
        }
        for (mutation, value) in request.mutations.iter().zip(&values) {
            if request.lock_only_if_exists && value.is_none() {
                continue;
            }
            let row = self.row_mut(&mutation.key);
            if row.lock.as_ref().is_none_or(|held| held.for_update_ts < request.for_update_ts) {
                row.lock = Some(new_lock(request));
            }
        }
        Ok(values)
    }

    fn check_acquire(
        &self,
        request: &PessimisticLockRequest,
        mutation: &Mutation,
        max_ts: &mut u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let start_ts = request.start_version;
        let key = mutation.key.as_slice();
        let must_not_exist = mutation.assertion == i32::from(Assertion::NotExist);
        if must_not_exist || request.return_values || request.check_existence {
            *max_ts = (*max_ts).max(request.for_update_ts);
        }
        let Some(row) = self.row(key) else { return Ok(None) };
        if let Some(lock) = &row.lock {
            if lock.start_ts != start_ts {
                return Err(Error::locked(lock, key));
            }
            if lock.kind != LockKind::Pessimistic {
                return Err(lock_kind_differs(start_ts, key, false));
            }
            return Ok(row.value(request.for_update_ts).map(<[u8]>::to_vec));
        }
        if let Some(write) = row.latest().filter(|write| write.commit_ts > request.for_update_ts) {
            let other = (write.start_ts, write.commit_ts);
            let reason = ConflictReason::PessimisticRetry;
            return Err(Error::conflict(start_ts, key, &request.primary_lock, other, reason));
        }
        if row.record(start_ts) == Record::RolledBack {
            return Err(Error::abort(format!(
                "PessimisticLockRolledBack {{ start_ts: {start_ts}, key: {key:?} }}"
            )));
        }
        let value = row.value(u64::MAX);
        if must_not_exist && value.is_some() {
            return Err(Error::already_exist(key));
        }
        Ok(value.map(<[u8]>::to_vec))
    }

    /// Gives pessimistic locks back. No record is left: the transaction goes on.
    pub fn pessimistic_rollback(&mut self, keys: &[Vec<u8>], start_ts: u64, for_update_ts: u64) {
        for key in keys {
            let Some(row) = self.rows.get_mut(key) else { continue };
            row.lock.take_if(|lock| {
                lock.kind == LockKind::Pessimistic
                    && lock.start_ts == start_ts
                    && lock.for_update_ts <= for_update_ts
            });
        }
    }

    /// What a request that waited for a lock is told once the lock is gone; `None` while it is there.
    pub fn released(&self, request: &PessimisticLockRequest, blocker: &Blocker) -> Option<Error> {
        if self.lock_of(&blocker.key, blocker.lock_ts).is_some() {
            return None;
        }
        let commit_ts = match self.row(&blocker.key).map(|row: &Row| row.record(blocker.lock_ts)) {
            Some(Record::Committed { commit_ts }) => commit_ts,
            _ => 0,
        };
        let other = (blocker.lock_ts, commit_ts);
        let reason = ConflictReason::PessimisticRetry;
        Some(Error::conflict(request.start_version, &blocker.key, &request.primary_lock, other, reason))
    }
}

fn new_lock(request: &PessimisticLockRequest) -> Lock {
    Lock {
        kind: LockKind::Pessimistic,
        primary: request.primary_lock.clone(),
        start_ts: request.start_version,
        ttl_ms: request.lock_ttl,
        value: Vec::new(),
        for_update_ts: request.for_update_ts,
        txn_size: 0,
        min_commit_ts: request.min_commit_ts,
        async_commit: false,
        secondaries: Vec::new(),
        rollback_ts: Vec::new(),
    }
}
