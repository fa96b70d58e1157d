//! What has become of a transaction: asked by those who meet its locks.

use super::commit::{expired, mark_rollback};
use super::row::{LockKind, Record};
use super::{Error, Mvcc};
use crate::proto::kvrpcpb::{
    Action, CheckSecondaryLocksResponse, CheckTxnStatusRequest, CheckTxnStatusResponse,
};

impl Mvcc {
    pub fn check_txn_status(
        &mut self,
        request: &CheckTxnStatusRequest,
        max_ts: &mut u64,
    ) -> Result<CheckTxnStatusResponse, Error> {
        // A commit that is computed later must not fall on or below what the caller has been told.
        for ts in [request.lock_ts, request.current_ts, request.caller_start_ts] {
            if ts != u64::MAX {
                *max_ts = (*max_ts).max(ts);
            }
        }
        let key = request.primary_key.as_slice();
        if self.lock_of(key, request.lock_ts).is_some() {
            self.status_of_locked(key, request)
        } else {
            self.status_without_lock(key, request)
        }
    }

    fn status_of_locked(
        &mut self,
        key: &[u8],
        request: &CheckTxnStatusRequest,
    ) -> Result<CheckTxnStatusResponse, Error> {
        let Some(row) = self.rows.get_mut(key) else { return Ok(status(Action::Nothing)) };
        let Some(lock) = &mut row.lock else { return Ok(status(Action::Nothing)) };
        if request.verify_is_primary && lock.primary != key {
            return Err(Error::primary_mismatch(lock, key));
        }
        // Nobody but the secondaries can tell whether it is committed.
        if lock.async_commit && !request.force_sync_commit {
            return Ok(CheckTxnStatusResponse {
                lock_ttl: lock.ttl_ms,
                lock_info: Some(lock.to_info(key)),
                ..status(Action::Nothing)
            });
        }
        if expired(lock, request.current_ts) {
            if request.resolving_pessimistic_lock && lock.kind == LockKind::Pessimistic {
                row.lock = None;
                return Ok(status(Action::TtlExpirePessimisticRollback));
            }
            self.roll_back_key(key, request.lock_ts, false);
            return Ok(status(Action::TtlExpireRollback));
        }
        let caller = request.caller_start_ts;
        if lock.min_commit_ts != 0 && caller != u64::MAX && caller >= lock.min_commit_ts {
            lock.min_commit_ts = (caller + 1).max(request.current_ts);
        }
        let pushed = caller == u64::MAX || (caller != 0 && lock.min_commit_ts > caller);
        Ok(CheckTxnStatusResponse {
            lock_ttl: lock.ttl_ms,
            lock_info: Some(lock.to_info(key)),
            ..status(if pushed { Action::MinCommitTsPushed } else { Action::Nothing })
        })
    }

    fn status_without_lock(
        &mut self,
        key: &[u8],
        request: &CheckTxnStatusRequest,
    ) -> Result<CheckTxnStatusResponse, Error> {
        match self.record(key, request.lock_ts) {
            Record::Committed { commit_ts } => {
                Ok(CheckTxnStatusResponse { commit_version: commit_ts, ..status(Action::Nothing) })
            }
            Record::RolledBack => Ok(status(Action::Nothing)),
            Record::Missing { .. } if !request.rollback_if_not_exist => {
                Err(Error::txn_not_found(request.lock_ts, key))
            }
            Record::Missing { .. } if request.resolving_pessimistic_lock => {
                Ok(status(Action::LockNotExistDoNothing))
            }
            Record::Missing { .. } => {
                self.roll_back_key(key, request.lock_ts, true);
                Ok(status(Action::LockNotExistRollback))
            }
        }
    }

    /// Whether all of these keys are locked by a transaction that commits once they are.
    pub fn check_secondary_locks(
        &mut self,
        keys: &[Vec<u8>],
        start_ts: u64,
        max_ts: &mut u64,
    ) -> CheckSecondaryLocksResponse {
        *max_ts = (*max_ts).max(start_ts);
        let mut response = CheckSecondaryLocksResponse::default();
        for key in keys {
            match self.lock_of(key, start_ts) {
                Some(lock) if lock.kind != LockKind::Pessimistic => {
                    response.locks.push(lock.to_info(key));
                    continue;
                }
                _ => {}
            }
            // One key decides for all of them.
            response.locks.clear();
            if let Record::Committed { commit_ts } = self.record(key, start_ts) {
                response.commit_ts = commit_ts;
            } else {
                self.keep_from_committing(key, start_ts);
            }
            break;
        }
        response
    }

    fn keep_from_committing(&mut self, key: &[u8], start_ts: u64) {
        let row = self.row_mut(key);
        row.lock.take_if(|lock| lock.start_ts == start_ts);
        if let Some(lock) = &mut row.lock {
            mark_rollback(lock, start_ts, true);
        }
        if !matches!(row.record(start_ts), Record::RolledBack) {
            row.collapse_rollback_before(start_ts);
            row.put_rollback(start_ts, true);
        }
    }

    /// Makes the lock last longer. Answers how long it lasts.
    pub fn heart_beat(&mut self, primary: &[u8], start_ts: u64, advised_ms: u64) -> Result<u64, Error> {
        let lock = self.rows.get_mut(primary).and_then(|row| row.lock.as_mut());
        match lock.filter(|lock| lock.start_ts == start_ts) {
            Some(lock) => {
                lock.ttl_ms = lock.ttl_ms.max(advised_ms);
                Ok(lock.ttl_ms)
            }
            None => Err(Error::txn_not_found(start_ts, primary)),
        }
    }
}

fn status(action: Action) -> CheckTxnStatusResponse {
    CheckTxnStatusResponse { action: action.into(), ..CheckTxnStatusResponse::default() }
}
