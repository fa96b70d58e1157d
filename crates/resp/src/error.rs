//! What ends a connection: bytes that are not a command, in Redis's words.

use crate::encode;

/// A breach of the protocol. The server sends [`ProtocolError::encode`] and closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error("Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    #[error("Protocol error: too big mbulk count string")]
    TooBigMultibulkCount,
    #[error("Protocol error: too big bulk count string")]
    TooBigBulkCount,
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    ExpectedDollar(u8),
    #[error("Protocol error: invalid bulk length")]
    InvalidBulkLength,
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    #[error("Protocol error: too big inline request")]
    TooBigInline,
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
}

impl ProtocolError {
    /// Appends the error reply that Redis sends before it closes the connection.
    ///
    /// Not the same as encoding the `Display` text: a byte above 127 goes out as it came in.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::ExpectedDollar(byte) => {
                let mut text = b"ERR Protocol error: expected '$', got '".to_vec();
                text.push(*byte);
                text.push(b'\'');
                encode::error_bytes(out, &text);
            }
            other => encode::error(out, &format!("ERR {other}")),
        }
    }
}
