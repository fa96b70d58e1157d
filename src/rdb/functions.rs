//! Libraries of functions.
//!
//! ```text
//! payload:  (11110101 | code, a string) ... | version u16 | crc64 u64
//! ```

use std::borrow::Cow;

use super::{Reader, Writer};

const LIBRARY: u8 = 245;
/// What release candidates of Redis 7.0 wrote.
const LIBRARY_BEFORE_RELEASE: u8 = 246;

/// The payload of libraries, by their code.
pub fn dump<'c>(codes: impl Iterator<Item = &'c [u8]>, version: u16) -> Vec<u8> {
    let mut out = Writer::new(version);
    for code in codes {
        out.u8(LIBRARY);
        out.string(code);
    }
    out.finish()
}

/// The code of each library of a payload.
pub struct Codes<'a>(Reader<'a>);

/// Why it cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    BeforeRelease,
    NotAFunction,
    Bad,
}

impl Unfit {
    pub fn words(self) -> &'static str {
        match self {
            Unfit::BeforeRelease => "ERR Pre-GA function format not supported",
            Unfit::NotAFunction => "ERR given type is not a function",
            Unfit::Bad => "ERR Failed loading library payload",
        }
    }
}

impl<'a> Codes<'a> {
    /// `content` comes from [`super::open`].
    pub fn of(content: &'a [u8]) -> Codes<'a> {
        Codes(Reader::new(content, usize::MAX))
    }

    #[allow(clippy::should_implement_trait, reason = "it can fail")]
    pub fn next(&mut self) -> Result<Option<Cow<'a, [u8]>>, Unfit> {
        if self.0.is_empty() {
            return Ok(None);
        }
        match self.0.u8() {
            Ok(LIBRARY) => self.0.string().map(Some).map_err(|_| Unfit::Bad),
            Ok(LIBRARY_BEFORE_RELEASE) => Err(Unfit::BeforeRelease),
            _ => Err(Unfit::NotAFunction),
        }
    }
}
