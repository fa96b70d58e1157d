//! Every word a client may see when something is refused, and why a run ends without a reply.

use std::borrow::Cow;

pub type Result<T, E = Stop> = std::result::Result<T, E>;

/// Why a run ends without a reply. Not an error by itself: of [`Stop::Move`] no client ever hears. Two words long, since every
/// result on the way of a call has room for it.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The client is told.
    Refuse(Box<Error>),
    /// Nothing has happened; the same run is to begin again on a worker.
    Move(Why),
    /// Nothing has happened; the client waits for its keys.
    Park(Box<Park>),
}

const _: () = assert!(size_of::<Result<()>>() == 2 * size_of::<usize>());

/// A blocking command found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Park {
    /// 0 is for ever.
    pub timeout_ms: u64,
    /// Which nil it answers where it cannot wait.
    pub is_array: bool,
    /// Words that stand for something that has changed by the time it runs anew: their numbers, and what is in their
    /// place then.
    pub words: Vec<(usize, Box<[u8]>)>,
    /// What the run has written is committed all the same.
    pub keeps: bool,
    /// When to look again though no key has changed, by the clock of the contexts.
    pub again_at_ms: Option<u64>,
}

impl Park {
    /// With the words it has.
    pub const fn new(timeout_ms: u64, is_array: bool) -> Park {
        Park { timeout_ms, is_array, words: Vec::new(), keeps: false, again_at_ms: None }
    }

    pub fn again_at(self, again_at_ms: Option<u64>) -> Park {
        Park { again_at_ms, ..self }
    }

    pub fn keeping(self, keeps: bool) -> Park {
        Park { keeps, ..self }
    }
}

/// Why a run has to move to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A row is not in memory.
    Cold,
    /// It is much work.
    Heavy,
    /// Somebody holds a lock for long.
    Contended,
    /// Its reply has to wait until others are sent.
    Room,
}

impl From<Error> for Stop {
    #[cold]
    fn from(error: Error) -> Stop {
        Stop::Refuse(Box::new(error))
    }
}

impl From<tarn_engine::Error> for Stop {
    #[cold]
    fn from(error: tarn_engine::Error) -> Stop {
        match error {
            tarn_engine::Error::NotResident => Stop::Move(Why::Cold),
            other => Error::Engine(other).into(),
        }
    }
}

impl From<crate::encoding::Malformed> for Stop {
    fn from(malformed: crate::encoding::Malformed) -> Stop {
        Error::from(malformed).into()
    }
}

impl Stop {
    pub fn park(timeout_ms: u64, is_array: bool) -> Stop {
        Stop::Park(Box::new(Park::new(timeout_ms, is_array)))
    }

    /// The words of the refusal, if it is one.
    pub fn refusal(&self) -> Option<&Error> {
        if let Stop::Refuse(error) = self { Some(error) } else { None }
    }

    /// Another transaction won.
    pub fn is_conflict(&self) -> bool {
        matches!(self.refusal(), Some(Error::Engine(tarn_engine::Error::Conflict)))
    }

    /// For who cannot move: it runs where waiting is allowed already.
    pub fn into_error(self) -> Error {
        match self {
            Stop::Refuse(error) => *error,
            Stop::Move(_) | Stop::Park(_) => Error::Engine(tarn_engine::Error::NotResident),
        }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.clone().into_error().fmt(f)
    }
}

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
    /// [`tarn_engine::MAX_KEY_BYTES`] is that, and what a row has beside them.
    #[error("ERR a name is too long: a key and a field or member of it may have 65536 bytes together")]
    NameTooLong,
    #[error("OOM command not allowed when used memory > 'maxmemory'.")]
    OutOfMemory,
    #[error("OOM the reply takes more memory than 'maxmemory' leaves for replies, read it in parts")]
    ReplyTooLong,
    #[error("OOM too many long replies wait to be read by their clients, try again later")]
    NoRoomForReply,
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(Cow<'static, str>),
    #[error("ERR invalid expire time in '{0}' command")]
    InvalidExpire(&'static str),
    #[error("CROSSSLOT Keys in request don't hash to the same slot")]
    CrossSlot,
    #[error("OOM command not allowed when used disk > 'maxdisk'.")]
    OverMaxdisk,
    /// A complete error reply, code included, that belongs to one command only.
    #[error("{0}")]
    Reply(Cow<'static, str>),
    /// The engine failed. What the client sees of it: [`engine_words`].
    #[error("{}", engine_words(.0))]
    Engine(#[from] tarn_engine::Error),
    /// A stored row does not read as it should.
    #[error("ERR stored data is damaged: {0}")]
    Damaged(&'static str),
}

impl Error {
    pub const EXEC_ABORTED: Error =
        Error::Reply(Cow::Borrowed("EXECABORT Transaction discarded because of previous errors."));

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
        E::Full(why) => format!(
            "MISCONF The disk is full: writes are refused until there is room; reads and deletes go on. {why}"
        ),
        E::TooLarge(why) => format!("ERR {why}"),
        E::Io(why) => format!("MISCONF Errors writing to the log: {why}"),
    }
}
