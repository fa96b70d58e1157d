//! Locks of transactions that never came as far as the row that decides: the owner died, or its request was lost, while those of other
//! rows arrived. The library waits for such a lock and never ends it, because it does not find the answer "no such transaction" in the list
//! of errors that it is nested in. So it is ended here, once its owner cannot be waiting for it any more.
//!
//! It does no harm should the owner still be there: its transaction is rolled back on the row that decides, which has its commit refused.

use std::sync::Arc;
use std::time::Duration;

use tikv_client::transaction::ResolveLocksOptions;
use tikv_client::{BoundRange, Error as ClientError, Key, ProtoLockInfo, Timestamp, TimestampExt as _};

use super::super::LOGICAL_BITS;
use super::answers::words;
use super::{RETRY_MS, Shared, pause};

/// How old such a lock is at least when it is ended: the requests of one commit are sent together.
const MIN_AGE: Duration = Duration::from_secs(1);
/// Tries to end the locks of a commit of which nobody knows whether it was made.
const MAX_OWN_TRIES: u32 = 10;
/// Locks that are looked at together.
const LOCKS_AT_ONCE: u32 = 1024;

/// Keys from the first one to below the second one.
pub(super) type Span = (Vec<u8>, Vec<u8>);

/// The span that holds all of the keys.
pub(super) fn span_of<'k>(keys: impl Iterator<Item = &'k Vec<u8>> + Clone) -> Span {
    let first = keys.clone().min().cloned().unwrap_or_default();
    let mut end = keys.max().cloned().unwrap_or_default();
    end.push(0);
    (first, end)
}

/// The transaction that an answer says is not on record where it would be decided, if it is another one than `own`.
pub(super) fn unknown_owner(error: &ClientError, own: u64) -> Option<u64> {
    let start = match error {
        ClientError::ExtractedErrors(all) | ClientError::MultipleKeyErrors(all) => {
            return all.iter().find_map(|error| unknown_owner(error, own));
        }
        ClientError::PessimisticLockError { inner, .. } => return unknown_owner(inner, own),
        ClientError::KeyError(error) => error.txn_not_found.as_ref()?.start_ts,
        ClientError::TxnNotFound(missing) => missing.start_ts,
        _ => return None,
    };
    (start != own).then_some(start)
}

/// Ends the locks of a transaction of this process whose outcome nobody has learned: by what the row that decides says, which is asked to
/// refuse it where it is not decided. Without that whoever meets them waits until they run out.
pub(super) async fn end_own(shared: Arc<Shared>, own: u64, span: Span) {
    let mut wait_ms = RETRY_MS;
    for _ in 0..MAX_OWN_TRIES {
        match shared.try_end(own, &span, Duration::ZERO).await {
            Ok(_) => return,
            Err(error) => tracing::debug!(error = words(&error), "locks of a lost commit stay for now"),
        }
        pause(&mut wait_ms).await;
    }
}

impl Shared {
    /// Ends the locks of a transaction in the span, if it began long enough ago. What fails is tried again by whoever meets them next.
    pub(super) async fn end_orphans(&self, owner: u64, span: &Span) {
        if let Err(error) = self.try_end(owner, span, MIN_AGE).await {
            tracing::debug!(error = words(&error), "a lock without an owner stays for now");
        }
    }

    /// Locks of a transaction in the span, and whether these are certainly all.
    pub(super) async fn locks_of(
        &self,
        owner: u64,
        span: &Span,
    ) -> tikv_client::Result<(Vec<ProtoLockInfo>, bool)> {
        let Ok(client) = self.client() else { return Err(ClientError::StringError("away".to_owned())) };
        let range = BoundRange::from((Key::from(span.0.clone()), Key::from(span.1.clone())));
        let mut locks = client.scan_locks(&Timestamp::from_version(owner), range, LOCKS_AT_ONCE).await?;
        let is_all = locks.len() < LOCKS_AT_ONCE as usize;
        // Older ones may be somebody's.
        locks.retain(|lock| lock.lock_version == owner);
        Ok((locks, is_all))
    }

    /// Ends the locks of a transaction, if it is old enough, by what the row that decides says. Whether these are certainly all in the span.
    pub(super) async fn try_end(
        &self,
        owner: u64,
        span: &Span,
        min_age: Duration,
    ) -> tikv_client::Result<bool> {
        let Ok(client) = self.client() else { return Ok(false) };
        let began = Timestamp::from_version(owner);
        if !min_age.is_zero() {
            let now = client.current_timestamp().await?.version();
            let age_ms = (now >> LOGICAL_BITS).saturating_sub(owner >> LOGICAL_BITS);
            if u128::from(age_ms) < min_age.as_millis() {
                return Ok(false);
            }
        }
        let (locks, is_all) = self.locks_of(owner, span).await?;
        for lock in locks {
            let behind = [lock.key.as_slice(), &[0]].concat();
            let only = BoundRange::from((Key::from(lock.key), Key::from(behind)));
            let options = ResolveLocksOptions { batch_size: 1, ..ResolveLocksOptions::default() };
            client.cleanup_locks(only, &began, options).await?;
        }
        Ok(is_all)
    }
}
