//! Every word a client may see when something is refused, and the few signals that never reach one.

use std::borrow::Cow;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One variant per thing a client can see, with its exact words. Commands with a word of their own use
/// [`Error::Reply`], the rest is shared.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR syntax error")]
    Syntax,
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    #[error("ERR value is not a valid float")]
    NotFloat,
    #[error("ERR value is out of range")]
    OutOfRange,
    #[error("ERR no such key")]
    NoSuchKey,
    #[error("ERR index out of range")]
    IndexOutOfRange,
    #[error("ERR DB index is out of range")]
    DbOutOfRange,
    #[error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")]
    StringTooLong,
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(Cow<'static, str>),
    #[error("ERR invalid expire time in '{0}' command")]
    InvalidExpire(&'static str),
    #[error("CROSSSLOT Keys in request don't hash to the same slot")]
    CrossSlot,
    /// A complete error reply, code included, that belongs to one command only.
    #[error("{0}")]
    Reply(Cow<'static, str>),
    /// The engine failed. What the client sees of it: [`engine_words`].
    #[error("{}", engine_words(.0))]
    Engine(#[from] tarn_engine::Error),
    /// A stored row does not read as it should.
    #[error("ERR stored data is damaged: {0}")]
    Damaged(&'static str),
    /// Never seen by a client: the command is to run again where it may take long.
    #[error("ERR the command has to run on a worker")]
    Offload,
}

impl Error {
    pub fn reply(words: impl Into<Cow<'static, str>>) -> Error {
        Error::Reply(words.into())
    }

    /// An error that repeats a client's word, cut off where it gets long.
    pub fn about(before: &str, word: &[u8], after: &str) -> Error {
        const MAX_ECHO: usize = 128;
        Error::reply(format!("{before}{}{after}", shown(word.get(..MAX_ECHO).unwrap_or(word))))
    }

    /// The words as bytes for a client: see [`shown`].
    pub fn wire(&self) -> Vec<u8> {
        self.to_string().chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
    }

    /// Whether the same command is to run again on a worker thread, where waiting is allowed.
    pub fn wants_worker(&self) -> bool {
        matches!(self, Error::Offload | Error::Engine(tarn_engine::Error::NotResident))
    }
}

impl From<crate::encoding::Malformed> for Error {
    fn from(malformed: crate::encoding::Malformed) -> Error {
        Error::Damaged(malformed.0)
    }
}

/// A client's word inside a text, up to a zero byte, as Redis shows it. Each byte is the character of its number, so that
/// [`Error::wire`] gives it back as it was.
pub fn shown(bytes: &[u8]) -> String {
    bytes.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
}

/// The words for an engine's error, with the code a Redis client knows how to treat.
fn engine_words(error: &tarn_engine::Error) -> String {
    use tarn_engine::Error as E;
    match error {
        E::Conflict => "TRYAGAIN the transaction met too many conflicts, try again".to_owned(),
        E::NotResident => "TRYAGAIN the data is being loaded, try again".to_owned(),
        E::Unavailable(why) => format!("CLUSTERDOWN the storage is unavailable: {why}"),
        E::OutcomeUnknown(why) => {
            format!("UNKNOWNOUTCOME the write may or may not have been applied: {why}")
        }
        E::Corrupt { .. } => format!("ERR {error}"),
        E::Full(why) | E::Io(why) => format!("MISCONF Errors writing to the log: {why}"),
    }
}
