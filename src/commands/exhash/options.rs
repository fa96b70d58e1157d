//! What EXHSET, EXHINCRBY and EXHINCRBYFLOAT have in common: options, in any order.
//!
//! An option that may not stand beside another, or that lacks its word, is a syntax error. A version may be given
//! again, the last one counts; a time may not.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::number;
use crate::types::hash::{Check, Ttl};

/// What a time counts, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    pub seconds: bool,
    pub from_now: bool,
}

pub const EX: Time = Time { seconds: true, from_now: true };
pub const PX: Time = Time { seconds: false, from_now: true };
pub const EXAT: Time = Time { seconds: true, from_now: false };
pub const PXAT: Time = Time { seconds: false, from_now: false };

impl Time {
    /// Milliseconds since 1970, not before now: a time that has passed is now.
    pub fn at_ms(self, word: &[u8], now_ms: u64) -> Result<u64> {
        let time = whole(word)?;
        let ms = if self.seconds { time.checked_mul(1000) } else { Some(time) };
        let at_ms = ms.and_then(|ms| ms.checked_add(if self.from_now { now_ms } else { 0 }));
        let at_ms = at_ms.filter(|at_ms| i64::try_from(*at_ms).is_ok()).ok_or(Error::Syntax)?;
        Ok(at_ms.max(now_ms))
    }
}

/// A number that is not below zero.
pub fn whole(word: &[u8]) -> Result<u64> {
    number::parse_i64(word).and_then(|n| u64::try_from(n).ok()).ok_or_else(|| Error::Syntax.into())
}

/// VER, ABS or GT, if one of them is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versioned {
    Ver,
    Abs,
    Gt,
}

impl Versioned {
    pub fn next(args: &mut Args<'_>) -> Option<Versioned> {
        [("ver", Versioned::Ver), ("abs", Versioned::Abs), ("gt", Versioned::Gt)]
            .into_iter()
            .find(|(word, _)| args.keyword(word))
            .map(|(_, versioned)| versioned)
    }

    pub fn check(self, word: &[u8]) -> Result<Check> {
        let version = whole(word)?;
        match self {
            Versioned::Ver => Ok(Check::Is(version)),
            _ if version == 0 => Err(Error::Syntax.into()),
            Versioned::Abs => Ok(Check::Set(version)),
            Versioned::Gt => Ok(Check::Above(version)),
        }
    }
}

/// Which options a command knows besides those of times and versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knows {
    /// NX and XX.
    Conditions,
    /// MIN and MAX.
    Bounds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options<'a> {
    pub ttl: Ttl,
    pub check: Check,
    /// NX: the field must not exist.
    pub only_new: bool,
    /// XX: it must.
    pub only_existing: bool,
    pub min: Option<&'a [u8]>,
    pub max: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    /// Nothing but options may be left.
    pub fn parse(mut args: Args<'a>, now_ms: u64, knows: Knows) -> Result<Options<'a>> {
        let mut options = Options {
            ttl: Ttl::Clear,
            check: Check::None,
            only_new: false,
            only_existing: false,
            min: None,
            max: None,
        };
        if args.is_empty() {
            return Ok(options);
        }
        let mut time = None;
        let mut version = None;
        while !args.is_empty() {
            if knows == Knows::Conditions && !options.only_existing && args.keyword("nx") {
                options.only_new = true;
            } else if knows == Knows::Conditions && !options.only_new && args.keyword("xx") {
                options.only_existing = true;
            } else if time.is_none() && args.keyword("keepttl") {
                options.ttl = Ttl::Keep;
            } else if args.left() < 2 {
                return Err(Error::Syntax.into());
            } else if let Some(unit) = next_time(&mut args) {
                if time.is_some() || options.ttl == Ttl::Keep {
                    return Err(Error::Syntax.into());
                }
                time = Some((unit, args.next()?));
            } else if let Some(versioned) = Versioned::next(&mut args) {
                if version.is_some_and(|(other, _)| other != versioned) {
                    return Err(Error::Syntax.into());
                }
                version = Some((versioned, args.next()?));
            } else if knows == Knows::Bounds && args.keyword("min") {
                options.min = Some(args.next()?);
            } else if knows == Knows::Bounds && args.keyword("max") {
                options.max = Some(args.next()?);
            } else {
                return Err(Error::Syntax.into());
            }
        }
        if let Some((unit, word)) = time {
            options.ttl = Ttl::At(unit.at_ms(word, now_ms)?);
        }
        if let Some((versioned, word)) = version {
            options.check = versioned.check(word)?;
        }
        Ok(options)
    }
}

fn next_time(args: &mut Args<'_>) -> Option<Time> {
    [("ex", EX), ("exat", EXAT), ("px", PX), ("pxat", PXAT)]
        .into_iter()
        .find(|(word, _)| args.keyword(word))
        .map(|(_, time)| time)
}
