//! Writing.

use super::options::{EX, Knows, Options, whole};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, View as _, WriteCx};
use crate::number;
use crate::number::extended::Extended;
use crate::reply::Reply;
use crate::types::hash::{self, Check, Hash, Maker, Text, Ttl};

/// What H* commands tell in the same case.
fn tell(cx: &mut WriteCx<'_>, event: Event, (key, field): (&[u8], &[u8]), ttl: Ttl) {
    cx.notify_fields(event, key, [field]);
    if let Ttl::At(_) = ttl {
        cx.notify_fields(Event::HEXPIRE, key, [field]);
    }
}

/// 1 for a new field, 0 for one that was there, -1 where a condition is not met.
pub fn exhset(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field, value) = (args.key()?, args.next()?, args.next()?);
    // A key of another type is reported first.
    let mut hash = Hash::open_or_create(cx, key, Maker::Tair)?;
    let options = Options::parse(args, cx.env.now_ms, Knows::Conditions)?;
    let old = hash.look_up(cx, field)?;
    let live = old.live();
    if live.is_some() && options.only_new || live.is_none() && options.only_existing {
        return Ok(Reply::Integer(-1));
    }
    options.check.admit(live)?;
    hash.put(cx, (field, value), &old, options.ttl, options.check);
    hash.save(cx)?;
    tell(cx, Event::HSET, (key, field), options.ttl);
    Ok(Reply::flag(live.is_none()))
}

/// A field that did not exist gets the version 0, which every VER matches.
pub fn exhsetnx(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field, value) = (args.key()?, args.next()?, args.next()?);
    let added = hash::set_new(cx, key, Maker::Tair, (field, value), Check::Set(0))?;
    if added {
        tell(cx, Event::HSET, (key, field), Ttl::Clear);
    }
    Ok(Reply::flag(added))
}

/// Without fields nothing is done, and no key is made.
pub fn exhmset(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let pairs = args.rest_in_pairs().ok_or_else(|| Error::Arity("exhmset".into()))?;
    hash::set(cx, key, Maker::Tair, Ttl::Keep, pairs.clone())?;
    if pairs.len() != 0 {
        cx.notify_fields(Event::HSET, key, pairs.map(|(field, _)| field));
    }
    Ok(Reply::OK)
}

/// `field value version seconds`, any number of times.
pub fn exhmsetwithopts(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if !args.left().is_multiple_of(4) {
        return Err(Error::Arity("exhmsetwithopts".into()).into());
    }
    cx.env.move_if_heavy(args.left() / 4, Env::IO_THREAD_MAX_ROWS)?;
    let mut hash = Hash::open_or_create(cx, key, Maker::Tair)?;
    let mark = cx.arena().len();
    let mut checked = args;
    while !checked.is_empty() {
        let (field, _, version, time) = (checked.next()?, checked.next()?, checked.next()?, checked.next()?);
        EX.at_ms(time, cx.env.now_ms)?;
        let check = Check::Is(whole(version)?);
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        check.admit(old.live())?;
    }
    let all = args;
    let fields = (0..all.left() / 4).filter_map(move |n| all.peek_at(4 * n));
    while !args.is_empty() {
        let (field, value, _, time) = (args.next()?, args.next()?, args.next()?, args.next()?);
        let ttl = Ttl::At(EX.at_ms(time, cx.env.now_ms)?);
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        hash.put(cx, (field, value), &old, ttl, Check::None);
    }
    hash.save(cx)?;
    if fields.clone().next().is_some() {
        cx.notify_fields(Event::HSET, key, fields.clone());
        cx.notify_fields(Event::HEXPIRE, key, fields);
    }
    Ok(Reply::OK)
}

pub fn exhsetver(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    let version = whole(args.next()?)?;
    if version == 0 {
        return Err(Error::Syntax.into());
    }
    let Some(mut hash) = Hash::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let old = hash.look_up(cx, field)?;
    let live = old.live();
    if let Some(head) = live {
        hash.restamp(cx, field, &old, (head.expire_at_ms, version));
    }
    hash.save(cx)?;
    Ok(Reply::flag(live.is_some()))
}

pub fn exhdel(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    Ok(Reply::Integer(hash::delete(cx, key, args.rest())? as i64))
}

/// `field version`, any number of times; version 0 is any.
pub fn exhdelwithver(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let pairs = args.rest_in_pairs().ok_or_else(|| Error::Arity("exhdelwithver".into()))?;
    cx.env.move_if_heavy(pairs.len(), Env::IO_THREAD_MAX_ROWS)?;
    let Some(mut hash) = Hash::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let mark = cx.arena().len();
    let (mut count, mut deleted) = (0, Vec::new());
    for (field, version) in pairs {
        let version = number::parse_i64(version).ok_or(Error::Syntax)?;
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        let Some(head) = old.live() else { continue };
        if version == 0 || u64::try_from(version) == Ok(head.version) {
            hash.delete(cx, field, &old);
            count += 1;
            deleted.push(field);
        }
    }
    hash.save(cx)?;
    if count > 0 {
        cx.notify_fields(Event::HDEL, key, deleted);
    }
    Ok(Reply::Integer(count))
}

const OVERFLOW: &str = "ERR increment or decrement would overflow";
const UPSIDE_DOWN: &str = "ERR min value is bigger than max value";

pub fn exhincrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    let hash = Hash::open_or_create(cx, key, Maker::Tair)?;
    let not_integer = || Error::reply("ERR value is not an integer");
    let by = number::parse_i64(args.next()?).ok_or_else(not_integer)?;
    let options = Options::parse(args, cx.env.now_ms, Knows::Bounds)?;
    let bound = |word: Option<&[u8]>, none: i64| {
        let refusal = Error::reply("ERR min or max is specified, but value is not an integer");
        word.map_or(Ok(none), |word| number::parse_i64(word).ok_or(refusal))
    };
    let (min, max) = (bound(options.min, i64::MIN)?, bound(options.max, i64::MAX)?);
    if min > max {
        return Err(Error::reply(UPSIDE_DOWN).into());
    }
    let sum = hash::update(cx, hash, field, (options.ttl, options.check), |head, old| {
        let before = old.map_or(Some(0), number::parse_i64).ok_or_else(not_integer)?;
        options.check.admit(head)?;
        let sum = before.checked_add(by).filter(|sum| (min..=max).contains(sum));
        let sum = sum.ok_or_else(|| Error::reply(OVERFLOW))?;
        Ok((hash::spelt(sum), sum))
    })?;
    tell(cx, Event::HINCRBY, (key, field), options.ttl);
    Ok(Reply::Integer(sum))
}

pub fn exhincrbyfloat(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    let hash = Hash::open_or_create(cx, key, Maker::Tair)?;
    let not_float = || Error::reply("ERR value is not an float");
    let by = Extended::parse(args.next()?).ok_or_else(not_float)?;
    let options = Options::parse(args, cx.env.now_ms, Knows::Bounds)?;
    let bound = |word: Option<&[u8]>| {
        let refusal = Error::reply("ERR min or max is specified, but value is not a float");
        word.map(|word| Extended::parse(word).ok_or(refusal)).transpose()
    };
    let (min, max) = (bound(options.min)?, bound(options.max)?);
    if let (Some(min), Some(max)) = (min, max)
        && max.is_less(min)
    {
        return Err(Error::reply(UPSIDE_DOWN).into());
    }
    let sum = hash::update(cx, hash, field, (options.ttl, options.check), |head, old| {
        let before = hash::read_float(old).ok_or_else(not_float)?;
        options.check.admit(head)?;
        let sum = before.plus(by).map_err(|_| Error::reply(OVERFLOW))?;
        if min.is_some_and(|min| sum.is_less(min)) || max.is_some_and(|max| max.is_less(sum)) {
            return Err(Error::reply(OVERFLOW).into());
        }
        let text = sum.print();
        Ok((Text::from_slice(&text), text))
    })?;
    tell(cx, Event::HINCRBYFLOAT, (key, field), options.ttl);
    Ok(cx.bulk(&sum))
}
