//! What the library's errors mean: for a commit, for a check, for whoever asks again.

use tikv_client::{Error as ClientError, ProtoKeyError, ProtoRegionError};

use crate::Error;

/// What an answer says about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another transaction won. Nothing was written.
    Conflict,
    /// Never.
    TooLarge,
    Full,
    /// Not this time: the region has moved, the store is busy.
    Later,
    /// Nobody knows.
    Unclear,
}

impl Refusal {
    /// The strongest that an error, with all that are nested in it, says.
    pub(super) fn of(error: &ClientError) -> Option<Refusal> {
        match error {
            ClientError::ExtractedErrors(all) | ClientError::MultipleKeyErrors(all) => {
                let found: Vec<Refusal> = all.iter().filter_map(Refusal::of).collect();
                let any = |refusal| found.contains(&refusal).then_some(refusal);
                any(Refusal::Unclear)
                    .or(any(Refusal::TooLarge))
                    .or(any(Refusal::Conflict))
                    .or(any(Refusal::Full))
                    .or(found.first().copied())
            }
            ClientError::PessimisticLockError { inner, .. } => Refusal::of(inner),
            ClientError::KeyError(error) => Some(if error.abort.is_empty() || is_conflict(error) {
                Refusal::Conflict
            } else {
                Refusal::Unclear
            }),
            ClientError::TxnNotFound(_)
            | ClientError::OnePcFailure
            | ClientError::ResolveLockError(_)
            | ClientError::DuplicateKeyInsertion => Some(Refusal::Conflict),
            ClientError::RegionError(error) => Some(Refusal::of_region(error)),
            // Nothing was sent.
            ClientError::LeaderNotFound { .. }
            | ClientError::RegionForKeyNotFound { .. }
            | ClientError::RegionForRangeNotFound { .. }
            | ClientError::RegionNotFoundInResponse { .. }
            | ClientError::EntryNotFoundInRegionCache
            | ClientError::NoCurrentRegions => Some(Refusal::Later),
            _ => Some(Refusal::Unclear),
        }
    }

    fn of_region(error: &ProtoRegionError) -> Refusal {
        if error.raft_entry_too_large.is_some() {
            return Refusal::TooLarge;
        }
        if error.disk_full.is_some() {
            return Refusal::Full;
        }
        Refusal::Later
    }

    pub(super) fn error(self, error: &ClientError) -> Error {
        match self {
            Refusal::Conflict => Error::Conflict,
            Refusal::TooLarge => Error::TooLarge("TiKV takes no row of this size".to_owned()),
            Refusal::Full => Error::Full("TiKV has no space left".to_owned()),
            Refusal::Later => Error::Unavailable(words(error)),
            Refusal::Unclear => Error::OutcomeUnknown(words(error)),
        }
    }
}

/// What the answer to a check that a row is not there says about its changes; none where it says nothing.
pub(super) fn unchanged(error: &ClientError) -> Option<bool> {
    match error {
        ClientError::ExtractedErrors(all) | ClientError::MultipleKeyErrors(all) => {
            all.iter().find_map(unchanged)
        }
        ClientError::KeyError(error) if error.conflict.is_some() => Some(false),
        // The client has resolved what it could.
        ClientError::KeyError(error) if error.locked.is_some() => None,
        // It is there and nobody has written it; or it is not, and what follows finds no lock, since nothing was written.
        ClientError::KeyError(_) | ClientError::TxnNotFound(_) | ClientError::OnePcFailure => Some(true),
        _ => None,
    }
}

/// The words by which a store says that a lock was taken away meanwhile.
fn is_conflict(error: &ProtoKeyError) -> bool {
    error.conflict.is_some() || error.locked.is_some() || error.deadlock.is_some()
}

/// Whether another transaction has committed a row since this one began: a store that has committed this one says so instead.
pub(super) fn is_write_conflict(error: &ClientError) -> bool {
    match error {
        ClientError::ExtractedErrors(all) | ClientError::MultipleKeyErrors(all) => {
            all.iter().any(is_write_conflict)
        }
        ClientError::KeyError(error) => error.conflict.is_some(),
        _ => false,
    }
}

/// What an answer says about the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tikv) enum Met {
    Region,
    Lock,
    Transport,
    Conflict,
    /// Asking again changes nothing.
    Fatal,
}

impl Met {
    pub(super) fn of(error: &ClientError) -> Met {
        match error {
            ClientError::ExtractedErrors(all) | ClientError::MultipleKeyErrors(all) => {
                all.first().map_or(Met::Transport, Met::of)
            }
            ClientError::RegionError(_) | ClientError::LeaderNotFound { .. } => Met::Region,
            ClientError::ResolveLockError(_) => Met::Lock,
            // The lock of a transaction whose deciding row is not there yet, or never will be: its time runs out.
            ClientError::KeyError(error) if error.locked.is_some() || error.txn_not_found.is_some() => {
                Met::Lock
            }
            ClientError::KeyError(error) if error.conflict.is_some() => Met::Conflict,
            ClientError::KeyError(_) | ClientError::Unimplemented | ClientError::KvError { .. } => Met::Fatal,
            _ => Met::Transport,
        }
    }
}

/// An error in words for whoever reads the log, of a length that fits there.
pub(super) fn words(error: &ClientError) -> String {
    const MAX_CHARS: usize = 300;
    error.to_string().replace(['\r', '\n'], " ").chars().take(MAX_CHARS).collect()
}
