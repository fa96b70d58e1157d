//! The first phase of a commit, or all of it in one phase.

use super::row::{Lock, LockKind, Record, Row, Write, WriteKind};
use super::{Error, MAX_ENCODED_KEY_LEN, Mvcc};
use crate::codec;
use crate::proto::kvrpcpb::{
    Assertion, AssertionLevel, ConflictReason, Mutation, Op, PessimisticAction, PrewriteRequest,
    PrewriteResponse,
};

/// What prewriting one key comes to.
enum Step {
    /// The key gets this lock. `min_commit_ts` is zero in a plain two-phase commit.
    Lock { lock: Box<Lock>, min_commit_ts: u64 },
    /// Nothing is to be written: it was, or the mutation only checks.
    Nothing { min_commit_ts: u64 },
}

impl Mvcc {
    /// `max_ts` is the newest timestamp at which the store was read: what commits without asking PD commits after it.
    pub fn prewrite(&mut self, request: &PrewriteRequest, max_ts: &mut u64) -> PrewriteResponse {
        match self.try_prewrite(request, max_ts) {
            Ok(response) => response,
            Err(errors) => PrewriteResponse {
                errors: errors.into_iter().map(Into::into).collect(),
                ..PrewriteResponse::default()
            },
        }
    }

    fn try_prewrite(
        &mut self,
        request: &PrewriteRequest,
        max_ts: &mut u64,
    ) -> Result<PrewriteResponse, Vec<Error>> {
        check_key_sizes(&request.mutations).map_err(|error| vec![error])?;
        let mut locks = Vec::with_capacity(request.mutations.len());
        let mut met = Vec::new();
        let mut assertion = None;
        // Whether the commit timestamp is found here, without PD.
        let mut computes = request.try_one_pc || request.use_async_commit;
        let mut newest = 0;
        for (index, mutation) in request.mutations.iter().enumerate() {
            let min_commit_ts = match self.prewrite_key(request, index, mutation, max_ts) {
                Ok(Step::Lock { lock, min_commit_ts }) => {
                    locks.push((mutation.key.as_slice(), *lock));
                    min_commit_ts
                }
                Ok(Step::Nothing { min_commit_ts }) => min_commit_ts,
                Err(Error::Locked(lock)) => {
                    met.push(Error::Locked(lock));
                    continue;
                }
                Err(Error::Assertion(failed)) => {
                    assertion.get_or_insert(Error::Assertion(failed));
                    continue;
                }
                Err(error) => return self.already_committed(request, mutation, error),
            };
            if min_commit_ts == 0 {
                computes = false;
            }
            newest = newest.max(min_commit_ts);
        }
        if !met.is_empty() {
            return Err(met);
        }
        if let Some(failed) = assertion {
            return Err(vec![failed]);
        }
        let mut response = PrewriteResponse::default();
        if computes && request.try_one_pc {
            response.one_pc_commit_ts = newest;
            for (key, lock) in locks {
                let row = self.row_mut(key);
                row.lock = None;
                row.put(lock.into_write(newest));
            }
            return Ok(response);
        }
        if computes {
            response.min_commit_ts = newest;
        }
        for (key, mut lock) in locks {
            if !computes {
                lock.async_commit = false;
                lock.secondaries.clear();
            }
            self.put_lock(key, lock);
        }
        Ok(response)
    }

    /// A request that is sent again after it was carried out meets its own commit, and has succeeded.
    fn already_committed(
        &self,
        request: &PrewriteRequest,
        mutation: &Mutation,
        error: Error,
    ) -> Result<PrewriteResponse, Vec<Error>> {
        let may_be_own = match &error {
            Error::Conflict(conflict) => conflict.conflict_commit_ts > request.start_version,
            Error::PessimisticLockNotFound { .. } => true,
            _ => false,
        };
        match self.record(&mutation.key, request.start_version) {
            Record::Committed { commit_ts } if may_be_own => Ok(PrewriteResponse {
                one_pc_commit_ts: if request.try_one_pc { commit_ts } else { 0 },
                min_commit_ts: if request.use_async_commit { commit_ts } else { 0 },
                ..PrewriteResponse::default()
            }),
            _ => Err(vec![error]),
        }
    }

    fn prewrite_key(
        &self,
        request: &PrewriteRequest,
        index: usize,
        mutation: &Mutation,
        max_ts: &mut u64,
    ) -> Result<Step, Error> {
        let start_ts = request.start_version;
        let pessimistic = request.for_update_ts != 0;
        let action = request.pessimistic_actions.get(index).copied().unwrap_or_default();
        let action = PessimisticAction::try_from(action).unwrap_or(PessimisticAction::Skip);
        let expects_lock = pessimistic && action == PessimisticAction::ExpectLock;
        let op = Op::try_from(mutation.op).unwrap_or(Op::Put);
        if pessimistic && op == Op::CheckNotExists {
            return Err(Error::abort("cannot handle checkNotExists in pessimistic prewrite".to_owned()));
        }
        if matches!(op, Op::Insert | Op::CheckNotExists) {
            // It tells the client something about the key, as a read does.
            *max_ts = (*max_ts).max(start_ts);
        }
        let key = mutation.key.as_slice();
        let row = self.row(key);
        let mut held = None;
        let mut amended = false;
        match row.and_then(|row| row.lock.as_ref()) {
            Some(lock) if lock.start_ts != start_ts => {
                if expects_lock {
                    return Err(Error::PessimisticLockNotFound { start_ts, key: key.to_vec() });
                }
                let mut info = lock.to_info(key);
                if pessimistic {
                    // The keys that matter are locked; what is met elsewhere is to be resolved at once.
                    info.lock_ttl = 0;
                }
                return Err(Error::Locked(Box::new(info)));
            }
            Some(lock) if lock.kind != LockKind::Pessimistic => {
                let min_commit_ts = if lock.async_commit { lock.min_commit_ts } else { 0 };
                return Ok(Step::Nothing { min_commit_ts });
            }
            Some(_) if !pessimistic => return Err(lock_kind_differs(start_ts, key, true)),
            Some(lock) => held = Some(lock),
            None if expects_lock => {
                // The lock was lost, which does no harm if nobody has written since the transaction began.
                if row.and_then(Row::latest).is_some_and(|write| write.commit_ts >= start_ts) {
                    return Err(Error::PessimisticLockNotFound { start_ts, key: key.to_vec() });
                }
                check_assertion(request, mutation, row)?;
                amended = true;
            }
            None => {}
        }
        let checks = if pessimistic {
            action == PessimisticAction::CheckConstraint
        } else {
            !request.skip_constraint_check
        };
        if checks {
            let reason =
                if pessimistic { ConflictReason::LazyUniquenessCheck } else { ConflictReason::Optimistic };
            check_newer(request, mutation, op, row, reason)?;
        }
        let strict = request.assertion_level == i32::from(AssertionLevel::Strict);
        if !amended && (checks || strict) {
            check_assertion(request, mutation, row)?;
        }
        let computes = request.try_one_pc || request.use_async_commit;
        if op == Op::CheckNotExists {
            let min_commit_ts = if computes { request.min_commit_ts.max(start_ts + 1) } else { 0 };
            return Ok(Step::Nothing { min_commit_ts });
        }
        let mut lock = new_lock(request, mutation, op);
        if let Some(held) = held {
            lock.ttl_ms = lock.ttl_ms.max(held.ttl_ms);
            lock.min_commit_ts = lock.min_commit_ts.max(held.min_commit_ts);
        }
        if !computes {
            return Ok(Step::Lock { lock: Box::new(lock), min_commit_ts: 0 });
        }
        let after = (*max_ts).max(start_ts).max(request.for_update_ts) + 1;
        let min_commit_ts = lock.min_commit_ts.max(after);
        if request.max_commit_ts != 0 && min_commit_ts > request.max_commit_ts {
            return Ok(Step::Lock { lock: Box::new(lock), min_commit_ts: 0 });
        }
        lock.min_commit_ts = min_commit_ts;
        Ok(Step::Lock { lock: Box::new(lock), min_commit_ts })
    }
}

/// Somebody has written since the transaction began, or has rolled it back, or the key may not exist and does.
fn check_newer(
    request: &PrewriteRequest,
    mutation: &Mutation,
    op: Op,
    row: Option<&Row>,
    reason: ConflictReason,
) -> Result<(), Error> {
    let start_ts = request.start_version;
    let Some(row) = row else { return Ok(()) };
    let Some(write) = row.latest() else { return Ok(()) };
    let conflict = |write: &Write, reason| {
        let other = (write.start_ts, write.commit_ts);
        Err(Error::conflict(start_ts, &mutation.key, &request.primary_lock, other, reason))
    };
    if write.commit_ts == start_ts && (write.kind == WriteKind::Rollback || write.overlapped_rollback) {
        return conflict(write, ConflictReason::SelfRolledBack);
    }
    if write.commit_ts > start_ts {
        return conflict(write, reason);
    }
    if matches!(op, Op::Insert | Op::CheckNotExists) && row.value(u64::MAX).is_some() {
        return Err(Error::already_exist(&mutation.key));
    }
    Ok(())
}

fn check_assertion(request: &PrewriteRequest, mutation: &Mutation, row: Option<&Row>) -> Result<(), Error> {
    if request.assertion_level == i32::from(AssertionLevel::Off) {
        return Ok(());
    }
    let existing = row.and_then(|row| row.data(u64::MAX));
    let assertion = Assertion::try_from(mutation.assertion).unwrap_or(Assertion::None);
    let holds = match assertion {
        Assertion::None => true,
        Assertion::Exist => existing.is_some_and(|write| write.kind == WriteKind::Put),
        Assertion::NotExist => existing.is_none_or(|write| write.kind != WriteKind::Put),
    };
    if holds {
        return Ok(());
    }
    let existing = existing.map_or((0, 0), |write| (write.start_ts, write.commit_ts));
    Err(Error::assertion_failed(request.start_version, &mutation.key, assertion, existing))
}

fn new_lock(request: &PrewriteRequest, mutation: &Mutation, op: Op) -> Lock {
    let (kind, value) = match op {
        Op::Put | Op::Insert => (LockKind::Put, mutation.value.clone()),
        Op::Del => (LockKind::Delete, Vec::new()),
        _ => (LockKind::Lock, Vec::new()),
    };
    let is_primary = mutation.key == request.primary_lock;
    Lock {
        kind,
        primary: request.primary_lock.clone(),
        start_ts: request.start_version,
        ttl_ms: request.lock_ttl,
        value,
        for_update_ts: request.for_update_ts,
        txn_size: request.txn_size,
        min_commit_ts: request.min_commit_ts,
        async_commit: request.use_async_commit,
        secondaries: if request.use_async_commit && is_primary {
            request.secondaries.clone()
        } else {
            Vec::new()
        },
        rollback_ts: Vec::new(),
    }
}

/// A pessimistic command met a lock of the other kind, or the other way round.
pub(super) fn lock_kind_differs(start_ts: u64, key: &[u8], pessimistic: bool) -> Error {
    Error::abort(format!(
        "LockTypeNotMatch {{ start_ts: {start_ts}, key: {key:?}, pessimistic: {pessimistic} }}"
    ))
}

pub(super) fn check_key_sizes(mutations: &[Mutation]) -> Result<(), Error> {
    let sizes = mutations.iter().map(|mutation| codec::encoded_len(mutation.key.len()));
    match sizes.max().filter(|&size| size > MAX_ENCODED_KEY_LEN) {
        Some(size) => Err(Error::abort(format!(
            "KeyTooLarge {{ size: {size}, limit: {MAX_ENCODED_KEY_LEN} }}: max key size exceeded"
        ))),
        None => Ok(()),
    }
}
