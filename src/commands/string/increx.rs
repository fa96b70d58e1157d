//! INCREX: adding to a number within bounds, with an expiry.

use super::options::{Expiry, expiry_word};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Event, View, WriteCx, entry};
use crate::number::extended::{self, Extended};
use crate::number::parse_i64;
use crate::reply::Reply;
use crate::types::string::{self, Value};

/// The options, each at most once.
#[derive(Debug, Default)]
struct Options<'a> {
    by_int: Option<&'a [u8]>,
    by_float: Option<&'a [u8]>,
    lower: Option<&'a [u8]>,
    upper: Option<&'a [u8]>,
    saturates: bool,
    expiry: Option<Expiry<'a>>,
    persists: bool,
    only_without_expiry: bool,
}

impl<'a> Options<'a> {
    fn parse(mut args: Args<'a>) -> Result<Options<'a>> {
        let mut options = Options::default();
        while !args.is_empty() {
            let has_more = args.left() >= 2;
            let timeless = options.expiry.is_none() && !options.persists;
            let increment = options.by_int.is_none() && options.by_float.is_none();
            if has_more && increment && args.keyword("BYINT") {
                options.by_int = Some(args.next()?);
            } else if has_more && increment && args.keyword("BYFLOAT") {
                options.by_float = Some(args.next()?);
            } else if has_more && options.lower.is_none() && args.keyword("LBOUND") {
                options.lower = Some(args.next()?);
            } else if has_more && options.upper.is_none() && args.keyword("UBOUND") {
                options.upper = Some(args.next()?);
            } else if !options.saturates && args.keyword("SATURATE") {
                options.saturates = true;
            } else if timeless && !options.only_without_expiry && args.keyword("PERSIST") {
                options.persists = true;
            } else if !options.only_without_expiry && !options.persists && args.keyword("ENX") {
                options.only_without_expiry = true;
            } else if timeless && let Some(expiry) = expiry_word(&mut args)? {
                options.expiry = Some(expiry);
            } else {
                return Err(Error::Syntax.into());
            }
        }
        if options.only_without_expiry && options.expiry.is_none() {
            return Err(Error::reply("ERR ENX flag requires an expiration").into());
        }
        Ok(options)
    }
}

pub fn increx(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let options = Options::parse(args)?;
    match options.by_float {
        None => add(cx, key, &options, &mut Integers::parse(&options)?),
        Some(by) => add(cx, key, &options, &mut Floats::parse(by, &options)?),
    }
}

/// What becomes of the number.
enum Sum {
    /// It stays as it is: the sum is out of bounds.
    Refused {
        shown: Reply,
        nothing: Reply,
    },
    New {
        text: Vec<u8>,
        shown: Reply,
        applied: Reply,
    },
}

/// How numbers of one kind are added.
trait Arithmetic {
    const EVENT: Event;
    fn add(&mut self, before: Option<&[u8]>, saturates: bool) -> Result<Sum>;
}

fn add<A: Arithmetic>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    options: &Options<'_>,
    numbers: &mut A,
) -> Result<Reply> {
    let expire_at_ms = match options.expiry {
        Some(expiry) => Some(expiry.at_ms(cx.env.now_ms, "increx")?),
        None => None,
    };
    let found = entry::find(cx, key)?;
    let before = match string::value(&found)? {
        None => None,
        Some(Value::Inline(span)) => Some(cx.bytes(span).to_vec()),
        // As INCRBYFLOAT: a sum may be long.
        Some(long) if long.len() <= extended::MAX_TEXT_LEN as u64 => {
            let span = long.read(cx)?;
            Some(cx.bytes(span).to_vec())
        }
        Some(_) => return Err(Error::NotFloat.into()),
    };
    match numbers.add(before.as_deref(), options.saturates)? {
        Sum::Refused { shown, nothing } => Ok(Reply::Array(vec![shown, nothing])),
        Sum::New { text, shown, applied } => {
            store(cx, &found, options, expire_at_ms, &text, A::EVENT)?;
            Ok(Reply::Array(vec![shown, applied]))
        }
    }
}

fn store(
    cx: &mut WriteCx<'_>,
    found: &Entry<'_>,
    options: &Options<'_>,
    expire_at_ms: Option<u64>,
    text: &[u8],
    event: Event,
) -> Result<()> {
    let kept_ms = found.expire_at_ms();
    let expire_at_ms = expire_at_ms.filter(|_| !(options.only_without_expiry && kept_ms != 0));
    if expire_at_ms.is_some_and(|at_ms| at_ms <= cx.env.now_ms) {
        return entry::remove(cx, found);
    }
    let after_ms = if options.persists { 0 } else { expire_at_ms.unwrap_or(kept_ms) };
    string::set(cx, found, text, after_ms)?;
    cx.notify(event, found.key);
    if expire_at_ms.is_some() {
        cx.notify(Event::EXPIRE, found.key);
    } else if options.persists && kept_ms != 0 {
        cx.notify(Event::PERSIST, found.key);
    }
    Ok(())
}

const CROSSED: Error = Error::Reply(std::borrow::Cow::Borrowed("ERR LBOUND can't be greater than UBOUND"));

struct Integers {
    by: i64,
    lower: i64,
    upper: i64,
}

impl Integers {
    fn parse(options: &Options<'_>) -> Result<Integers> {
        let number = |word: Option<&[u8]>, name: &str, unless: i64| match word {
            None => Ok(unless),
            Some(word) => parse_i64(word)
                .ok_or_else(|| Error::reply(format!("ERR {name} is not an integer or out of range"))),
        };
        let by = number(options.by_int, "Increment", 1)?;
        let lower = number(options.lower, "LBOUND", i64::MIN)?;
        let upper = number(options.upper, "UBOUND", i64::MAX)?;
        if lower > upper {
            return Err(CROSSED.into());
        }
        Ok(Integers { by, lower, upper })
    }
}

impl Arithmetic for Integers {
    const EVENT: Event = Event::INCRBY;

    fn add(&mut self, before: Option<&[u8]>, saturates: bool) -> Result<Sum> {
        let before = before.map_or(Some(0), parse_i64).ok_or(Error::NotInteger)?;
        let sum = i128::from(before) + i128::from(self.by);
        let bounded = sum.clamp(i128::from(self.lower), i128::from(self.upper));
        if bounded != sum && !saturates {
            return Ok(Sum::Refused { shown: Reply::Integer(before), nothing: Reply::Integer(0) });
        }
        let applied = i64::try_from(bounded - i128::from(before))
            .map_err(|_| Error::reply("ERR applied increment would overflow"))?;
        // The bounds are 64 bits wide.
        let after = bounded as i64;
        let text = itoa::Buffer::new().format(after).as_bytes().to_vec();
        Ok(Sum::New { text, shown: Reply::Integer(after), applied: Reply::Integer(applied) })
    }
}

/// A bound of floating point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Below,
    At(Extended),
    Above,
}

impl Bound {
    fn parse(word: &[u8], name: &str) -> Result<Bound> {
        Ok(match Extended::parse(word) {
            None => return Err(Error::reply(format!("ERR {name} is not a valid float")).into()),
            Some(Extended::Infinite) if word.starts_with(b"-") => Bound::Below,
            Some(Extended::Infinite) => Bound::Above,
            Some(finite) => Bound::At(finite),
        })
    }

    fn is_less(self, other: Bound) -> bool {
        match (self, other) {
            (Bound::At(one), Bound::At(other)) => one.is_less(other),
            (Bound::Below, other) => other != Bound::Below,
            (one, Bound::Above) => one != Bound::Above,
            _ => false,
        }
    }
}

struct Floats {
    by: Extended,
    lower: Bound,
    upper: Bound,
}

impl Floats {
    fn parse(by: &[u8], options: &Options<'_>) -> Result<Floats> {
        let by = Extended::parse(by).ok_or_else(|| Error::reply("ERR Increment is not a valid float"))?;
        if by == Extended::Infinite {
            return Err(Error::reply("ERR BYFLOAT increment cannot be Infinity").into());
        }
        let bound = |word: Option<&[u8]>, name: &str, unless: Extended| {
            word.map_or(Ok(Bound::At(unless)), |word| Bound::parse(word, name))
        };
        let lower = bound(options.lower, "LBOUND", Extended::MAX.negated())?;
        let upper = bound(options.upper, "UBOUND", Extended::MAX)?;
        if upper.is_less(lower) {
            return Err(CROSSED.into());
        }
        Ok(Floats { by, lower, upper })
    }

    /// The sum within the bounds, and whether it is the sum itself.
    fn bounded(&self, before: Extended) -> (Bound, bool) {
        let sum = match before.plus(self.by) {
            Ok(sum) => Bound::At(sum),
            // Only numbers of one sign add up to too much.
            Err(_) if self.by.is_less(Extended::ZERO) => Bound::Below,
            Err(_) => Bound::Above,
        };
        if sum.is_less(self.lower) {
            (self.lower, false)
        } else if self.upper.is_less(sum) {
            (self.upper, false)
        } else {
            (sum, true)
        }
    }
}

impl Arithmetic for Floats {
    const EVENT: Event = Event::INCRBYFLOAT;

    fn add(&mut self, before: Option<&[u8]>, saturates: bool) -> Result<Sum> {
        let before = before.map_or(Some(Extended::ZERO), Extended::parse).ok_or(Error::NotFloat)?;
        if before == Extended::Infinite {
            return Err(Error::reply("ERR value cannot be Infinity").into());
        }
        let (bounded, is_sum) = self.bounded(before);
        if !is_sum && !saturates {
            return Ok(Sum::Refused {
                shown: Reply::Number(before.print()),
                nothing: Reply::Number(b"0".to_vec()),
            });
        }
        let infinite = || Error::reply("ERR applied increment would be Infinity");
        let Bound::At(after) = bounded else { return Err(infinite().into()) };
        let applied = if is_sum { self.by } else { after.plus(before.negated()).map_err(|_| infinite())? };
        let text = after.print();
        Ok(Sum::New { shown: Reply::Number(text.clone()), text, applied: Reply::Number(applied.print()) })
    }
}
