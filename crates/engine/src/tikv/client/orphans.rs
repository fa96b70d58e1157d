//! Locks of transactions that never came as far as the row that decides: the owner died, or its request was lost, while those of other
//! rows arrived. The library waits for such a lock and never ends it, because it does not find the answer "no such transaction" in the list
//! of errors that it is nested in. So it is ended here, once its owner cannot be waiting for it any more.
//!
//! It does no harm should the owner still be there: its transaction is rolled back on the row that decides, which has its commit refused.

use std::time::Duration;

use tikv_client::transaction::ResolveLocksOptions;
use tikv_client::{BoundRange, Error as ClientError, Key, Timestamp, TimestampExt as _};

use super::super::LOGICAL_BITS;
use super::Shared;
use super::answers::words;

/// How old such a lock is at least when it is ended. The library has locks live for three seconds.
const MIN_AGE: Duration = Duration::from_secs(5);
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

impl Shared {
    /// Ends the locks of a transaction in the span, if it began long enough ago. What fails is tried again by whoever meets them next.
    pub(super) async fn end_orphans(&self, owner: u64, span: &Span) {
        if let Err(error) = self.try_end_orphans(owner, span).await {
            tracing::debug!(error = words(&error), "a lock without an owner stays for now");
        }
    }

    async fn try_end_orphans(&self, owner: u64, (first, end): &Span) -> tikv_client::Result<()> {
        let Ok(client) = self.client() else { return Ok(()) };
        let now = client.current_timestamp().await?.version();
        let age_ms = (now >> LOGICAL_BITS).saturating_sub(owner >> LOGICAL_BITS);
        if u128::from(age_ms) < MIN_AGE.max(self.timeout).as_millis() {
            return Ok(());
        }
        let began = Timestamp::from_version(owner);
        let range = || BoundRange::from((Key::from(first.clone()), Key::from(end.clone())));
        for lock in client.scan_locks(&began, range(), LOCKS_AT_ONCE).await? {
            // Older ones may be somebody's.
            if lock.lock_version == owner {
                let behind = [lock.key.as_slice(), &[0]].concat();
                let only = BoundRange::from((Key::from(lock.key), Key::from(behind)));
                let options = ResolveLocksOptions { batch_size: 1, ..ResolveLocksOptions::default() };
                client.cleanup_locks(only, &began, options).await?;
            }
        }
        Ok(())
    }
}
