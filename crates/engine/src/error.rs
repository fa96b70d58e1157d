//! What can go wrong below a transaction, sorted by who has to react.

use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors by meaning. Callers branch on the variant, never on the text.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Another transaction won. Nothing was written; running the transaction again is right.
    #[error("the transaction conflicts with another one")]
    Conflict,
    /// The row is not in memory and the transaction was begun with [`Wait::Never`](crate::Wait::Never).
    /// Nothing was written; run the transaction again where waiting for the disk is allowed.
    #[error("the row is not resident in memory")]
    NotResident,
    /// The engine cannot serve right now (closing, or a store is out of reach). Nothing was written.
    #[error("the storage engine is unavailable: {0}")]
    Unavailable(String),
    /// The commit was sent and its outcome is not known. Never retried blindly.
    #[error("the outcome of the commit is unknown: {0}")]
    OutcomeUnknown(String),
    /// Bytes on disk are not what was written. Names the file.
    #[error("corrupt data in {file}: {reason}")]
    Corrupt { file: PathBuf, reason: String },
    /// No space is left. Nothing was written; reads go on, and so does what frees something.
    #[error("the disk is full: {0}")]
    Full(String),
    /// More than the engine takes: a key, a row or a transaction. Nothing was written; it will be refused again.
    #[error("too large: {0}")]
    TooLarge(String),
    /// The operating system refused a read or a write. Writes have stopped; reads go on.
    #[error("input/output error: {0}")]
    Io(String),
}

impl Error {
    /// Whether running the same transaction again, as it is, may succeed and cannot apply it twice.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Conflict | Error::NotResident)
    }

    /// Whether a commit that was refused with it is certainly not made, now or later.
    pub fn wrote_nothing(&self) -> bool {
        match self {
            Error::Conflict
            | Error::NotResident
            | Error::Unavailable(_)
            | Error::Full(_)
            | Error::TooLarge(_) => true,
            Error::OutcomeUnknown(_) | Error::Corrupt { .. } | Error::Io(_) => false,
        }
    }
}
