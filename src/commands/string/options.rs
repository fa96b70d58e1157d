//! The options of SET and GETEX.

use super::condition::Condition;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::Entry;
use crate::number;

/// A time to live as given: parsed, but not yet read as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry<'a> {
    pub text: &'a [u8],
    pub unit: Unit,
    pub since: Since,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Now,
    Epoch,
}

impl Expiry<'_> {
    /// When that is, in milliseconds since 1970. `command` is named in the error.
    pub fn at_ms(&self, now_ms: u64, command: &'static str) -> Result<u64> {
        let given = number::parse_i64(self.text).ok_or(Error::NotInteger)?;
        let invalid = || Error::InvalidExpire(command);
        let millis = match self.unit {
            Unit::Seconds => given.checked_mul(1000).ok_or_else(invalid)?,
            Unit::Millis => given,
        };
        if millis <= 0 {
            return Err(invalid().into());
        }
        let base = match self.since {
            Since::Now => i64::try_from(now_ms).unwrap_or(i64::MAX),
            Since::Epoch => 0,
        };
        Ok(millis.checked_add(base).map(i64::unsigned_abs).ok_or_else(invalid)?)
    }
}

/// What becomes of a key's expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ttl<'a> {
    /// Nothing was said.
    #[default]
    Unsaid,
    Keep,
    Persist,
    At(Expiry<'a>),
}

/// Whether the key must, or must not, be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    #[default]
    Either,
    Absent,
    Present,
}

impl Existing {
    pub fn admits(self, found: &Entry<'_>) -> bool {
        match self {
            Existing::Either => true,
            Existing::Absent => !found.exists(),
            Existing::Present => found.exists(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetOptions<'a> {
    pub ttl: Ttl<'a>,
    pub existing: Existing,
    pub condition: Option<Condition<'a>>,
    /// Replies with the old value.
    pub get: bool,
}

/// Options of SET. The same one may be repeated, the last one counts; two that contradict each other are an error.
pub fn of_set<'a>(args: &mut Args<'a>) -> Result<SetOptions<'a>> {
    let mut options = SetOptions::default();
    while !args.is_empty() {
        let free = options.condition.is_none();
        if args.keyword("NX") {
            options.existing = agreed(free && options.existing != Existing::Present, Existing::Absent)?;
        } else if args.keyword("XX") {
            options.existing = agreed(free && options.existing != Existing::Absent, Existing::Present)?;
        } else if let Some(condition) = Condition::take(args)? {
            let free = free && options.existing == Existing::Either;
            options.condition = agreed(free, Some(condition))?;
        } else if args.keyword("GET") {
            options.get = true;
        } else if args.keyword("KEEPTTL") {
            options.ttl = agreed(matches!(options.ttl, Ttl::Unsaid | Ttl::Keep), Ttl::Keep)?;
        } else {
            options.ttl = Ttl::At(expiry(args, options.ttl)?);
        }
    }
    Ok(options)
}

/// Options of GETEX.
pub fn of_getex<'a>(args: &mut Args<'a>) -> Result<Ttl<'a>> {
    let mut ttl = Ttl::Unsaid;
    while !args.is_empty() {
        if args.keyword("PERSIST") {
            ttl = agreed(matches!(ttl, Ttl::Unsaid | Ttl::Persist), Ttl::Persist)?;
        } else {
            ttl = Ttl::At(expiry(args, ttl)?);
        }
    }
    Ok(ttl)
}

/// Options of MSETEX.
pub fn of_msetex<'a>(args: &mut Args<'a>) -> Result<(Existing, Ttl<'a>)> {
    let (mut existing, mut ttl) = (Existing::Either, Ttl::Unsaid);
    while !args.is_empty() {
        if args.keyword("NX") {
            existing = agreed(existing != Existing::Present, Existing::Absent)?;
        } else if args.keyword("XX") {
            existing = agreed(existing != Existing::Absent, Existing::Present)?;
        } else if args.keyword("KEEPTTL") {
            ttl = agreed(matches!(ttl, Ttl::Unsaid | Ttl::Keep), Ttl::Keep)?;
        } else {
            ttl = Ttl::At(expiry(args, ttl)?);
        }
    }
    Ok((existing, ttl))
}

/// EX, PX, EXAT or PXAT with its number, if it agrees with what was said before.
fn expiry<'a>(args: &mut Args<'a>, before: Ttl<'a>) -> Result<Expiry<'a>> {
    let given = expiry_word(args)?.ok_or(Error::Syntax)?;
    let agrees = match before {
        Ttl::Unsaid => true,
        Ttl::At(other) => (other.unit, other.since) == (given.unit, given.since),
        Ttl::Keep | Ttl::Persist => false,
    };
    agreed(agrees, given)
}

/// EX, PX, EXAT or PXAT with its number, if that is what comes next.
pub fn expiry_word<'a>(args: &mut Args<'a>) -> Result<Option<Expiry<'a>>> {
    const WORDS: [(&str, Unit, Since); 4] = [
        ("EX", Unit::Seconds, Since::Now),
        ("PX", Unit::Millis, Since::Now),
        ("EXAT", Unit::Seconds, Since::Epoch),
        ("PXAT", Unit::Millis, Since::Epoch),
    ];
    for (word, unit, since) in WORDS {
        if args.keyword(word) {
            return Ok(Some(Expiry { text: args.next()?, unit, since }));
        }
    }
    Ok(None)
}

/// The option, unless it contradicts an earlier one.
fn agreed<T>(agrees: bool, option: T) -> Result<T> {
    if agrees { Ok(option) } else { Err(Error::Syntax.into()) }
}
