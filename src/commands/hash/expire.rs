//! Fields that expire: HEXPIRE, HTTL, HPERSIST, HGETEX, HSETEX, HGETDEL and their like.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, ReadCx, View as _, WriteCx};
use crate::number;
use crate::reply::Reply;
use crate::types::hash::{self, Check, Condition, Expiry, Hash, MAX_EXPIRE_MS, Maker, Ttl};

const NOT_POSITIVE: &str = "ERR Number of fields must be a positive integer";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Millis,
}

/// Where a given time counts from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Now,
    Epoch,
}

/// What a client gives as a time.
#[derive(Clone, Copy)]
struct Time {
    unit: Unit,
    base: Base,
}

const EX: Time = Time { unit: Unit::Seconds, base: Base::Now };
const PX: Time = Time { unit: Unit::Millis, base: Base::Now };
const EXAT: Time = Time { unit: Unit::Seconds, base: Base::Epoch };
const PXAT: Time = Time { unit: Unit::Millis, base: Base::Epoch };

/// The options that a time stands behind.
const TIMES: [(&str, Time); 4] = [("ex", EX), ("px", PX), ("exat", EXAT), ("pxat", PXAT)];

impl Time {
    /// Milliseconds since 1970. `name` is the command's.
    fn at_ms(self, word: &[u8], now_ms: u64, name: &'static str) -> Result<u64> {
        let time = number::parse_i64(word).ok_or(Error::NotInteger)?;
        let time = u64::try_from(time).map_err(|_| Error::reply("ERR invalid expire time, must be >= 0"))?;
        let ms = match self.unit {
            Unit::Seconds => time.checked_mul(1000),
            Unit::Millis => Some(time),
        };
        let at_ms = ms.and_then(|ms| match self.base {
            Base::Now => ms.checked_add(now_ms),
            Base::Epoch => Some(ms),
        });
        at_ms.filter(|at_ms| *at_ms <= MAX_EXPIRE_MS).ok_or_else(|| Error::InvalidExpire(name).into())
    }
}

/// `FIELDS n field ...`, up to the end. `no_count` is what is said to a number that is none.
fn fields<'a>(
    env: &Env<'_>,
    mut args: Args<'a>,
    no_count: &'static str,
) -> Result<impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a>> {
    if !args.keyword("fields") {
        return Err(
            Error::reply("ERR Mandatory argument FIELDS is missing or not at the right position").into()
        );
    }
    let count = args.next().ok().and_then(number::parse_i64).filter(|count| *count > 0);
    let count = count.ok_or_else(|| Error::reply(no_count))?;
    if usize::try_from(count) != Ok(args.left()) {
        return Err(Error::reply("ERR The `numfields` parameter must match the number of arguments").into());
    }
    env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    Ok(args.rest())
}

/// What was done to a field, as subscribers are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    Expires,
    Persists,
    Deleted,
}

impl From<Expiry> for Done {
    fn from(expiry: Expiry) -> Done {
        match expiry {
            Expiry::Changed => Done::Expires,
            Expiry::Deleted => Done::Deleted,
            Expiry::NoField | Expiry::Never | Expiry::Refused => Done::Nothing,
        }
    }
}

/// Does something with each field, looked up, and replies with what comes of it; `missing` where there is no key.
fn with_each<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    hash: Option<Hash<'_>>,
    fields: impl ExactSizeIterator<Item = &'a [u8]>,
    missing: &Reply,
    mut act: impl FnMut(&mut WriteCx<'_>, &mut Hash<'_>, &[u8], &hash::Old) -> (Reply, Done),
) -> Result<Reply> {
    let Some(mut hash) = hash else { return Ok(Reply::Array(vec![missing.clone(); fields.len()])) };
    let mut replies = Vec::with_capacity(fields.len());
    let are_told = cx.env.events.contains(Event::HDEL.class);
    let mut done_to: Vec<(Done, &[u8])> = Vec::new();
    for field in fields {
        let mark = cx.arena().len();
        let old = hash.look_up(cx, field)?;
        let (reply, done) = act(cx, &mut hash, field, &old);
        if !matches!(reply, Reply::Bulk(_)) {
            cx.arena().truncate(mark);
        }
        done_to.extend(are_told.then_some((done, field)));
        replies.push(reply);
    }
    hash.save(cx)?;
    tell(cx, key, &done_to);
    Ok(Reply::Array(replies))
}

/// One event for each kind of thing that was done.
fn tell(cx: &mut WriteCx<'_>, key: &[u8], done_to: &[(Done, &[u8])]) {
    for (done, event) in
        [(Done::Expires, Event::HEXPIRE), (Done::Persists, Event::HPERSIST), (Done::Deleted, Event::HDEL)]
    {
        let fields = done_to.iter().filter(|(what, _)| *what == done).map(|(_, field)| *field);
        if fields.clone().next().is_some() {
            cx.notify_fields(event, key, fields);
        }
    }
}

/// The number that stands for what became of an expiry.
fn code(expiry: Expiry) -> Reply {
    Reply::Integer(match expiry {
        Expiry::NoField => -2,
        Expiry::Never => -1,
        Expiry::Refused => 0,
        Expiry::Changed => 1,
        Expiry::Deleted => 2,
    })
}

pub fn hexpire(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "hexpire", EX)
}

pub fn hpexpire(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "hpexpire", PX)
}

pub fn hexpireat(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "hexpireat", EXAT)
}

pub fn hpexpireat(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "hpexpireat", PXAT)
}

fn expire(cx: &mut WriteCx<'_>, mut args: Args<'_>, name: &'static str, time: Time) -> Result<Reply> {
    let key = args.key()?;
    let hash = Hash::open(cx, key)?;
    let at_ms = time.at_ms(args.next()?, cx.env.now_ms, name)?;
    let conditions = [
        ("nx", Condition::None),
        ("xx", Condition::Some),
        ("gt", Condition::Later),
        ("lt", Condition::Sooner),
    ];
    let condition = conditions.into_iter().find(|(word, _)| args.keyword(word));
    let condition = condition.map_or(Condition::Always, |(_, condition)| condition);
    let fields = fields(&cx.env, args, "ERR Parameter `numFields` should be greater than 0")?;
    with_each(cx, key, hash, fields, &Reply::Integer(-2), |cx, hash, field, old| {
        let expiry = hash::set_expiry(cx, hash, (field, old), at_ms, condition);
        (code(expiry), expiry.into())
    })
}

pub fn hpersist(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let hash = Hash::open(cx, key)?;
    let fields = fields(&cx.env, args, NOT_POSITIVE)?;
    with_each(cx, key, hash, fields, &Reply::Integer(-2), |cx, hash, field, old| {
        let expiry = hash::persist(cx, hash, (field, old));
        (code(expiry), if expiry == Expiry::Changed { Done::Persists } else { Done::Nothing })
    })
}

pub fn httl(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, EX)
}

pub fn hpttl(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, PX)
}

pub fn hexpiretime(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, EXAT)
}

pub fn hpexpiretime(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, PXAT)
}

/// Seconds are rounded up.
fn expiry(cx: &mut ReadCx<'_>, mut args: Args<'_>, time: Time) -> Result<Reply> {
    let found = hash::find(cx, args.key()?)?;
    let fields = fields(&cx.env, args, NOT_POSITIVE)?;
    let Some(mut all) = found else { return Ok(Reply::Array(vec![Reply::Integer(-2); fields.len()])) };
    let base_ms = if time.base == Base::Now { cx.env.now_ms } else { 0 };
    let mark = cx.arena().len();
    let mut replies = Vec::with_capacity(fields.len());
    for field in fields {
        let shown = match hash::field(cx, &mut all, field)? {
            None => -2,
            Some((head, _)) if head.expire_at_ms == 0 => -1,
            Some((head, _)) => {
                let ms = head.expire_at_ms.saturating_sub(base_ms);
                let shown = if time.unit == Unit::Seconds { ms.div_ceil(1000) } else { ms };
                i64::try_from(shown).unwrap_or(i64::MAX)
            }
        };
        cx.arena().truncate(mark);
        replies.push(Reply::Integer(shown));
    }
    Ok(Reply::Array(replies))
}

fn value(old: &hash::Old) -> Reply {
    old.value().map_or(Reply::Nil, Reply::span)
}

pub fn hgetdel(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let hash = Hash::open(cx, key)?;
    let fields = fields(&cx.env, args, NOT_POSITIVE)?;
    with_each(cx, key, hash, fields, &Reply::Nil, |cx, hash, field, old| {
        let deleted = hash.delete(cx, field, old);
        (value(old), if deleted { Done::Deleted } else { Done::Nothing })
    })
}

/// What HGETEX does to a field besides showing it.
#[derive(Clone, Copy)]
enum Getex {
    Nothing,
    Expire(u64),
    Persist,
}

pub fn hgetex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let hash = Hash::open(cx, key)?;
    let time = TIMES.into_iter().find(|(word, _)| args.keyword(word));
    let change = match time {
        Some((_, time)) => {
            let at_ms = time.at_ms(args.next()?, cx.env.now_ms, "hgetex")?;
            // FIELDS and its number: without a time the table's arity sees to them.
            if args.left() < 2 {
                return Err(Error::Arity("hgetex".into()).into());
            }
            Getex::Expire(at_ms)
        }
        None if args.keyword("persist") => Getex::Persist,
        None => Getex::Nothing,
    };
    let fields = fields(&cx.env, args, NOT_POSITIVE)?;
    with_each(cx, key, hash, fields, &Reply::Nil, |cx, hash, field, old| {
        let done = match change {
            Getex::Nothing => Done::Nothing,
            Getex::Persist => match hash::persist(cx, hash, (field, old)) {
                Expiry::Changed => Done::Persists,
                _ => Done::Nothing,
            },
            Getex::Expire(at_ms) => hash::set_expiry(cx, hash, (field, old), at_ms, Condition::Always).into(),
        };
        (value(old), done)
    })
}

/// Which fields HSETEX wants to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    All,
    None,
}

struct Setex<'a> {
    /// Whether there has to be such a key.
    key: Option<bool>,
    wanted: Wanted,
    ttl: Ttl,
    /// From the first field on.
    pairs: Args<'a>,
}

impl<'a> Setex<'a> {
    fn parse(mut args: Args<'a>, now_ms: u64) -> Result<Setex<'a>> {
        let arity = || Error::Arity("hsetex".into());
        let (mut key, mut wanted, mut ttl) = (None, Wanted::Any, Ttl::Clear);
        while let Some(word) = args.peek() {
            let is_taken = ttl != Ttl::Clear;
            let twice =
                || Error::reply("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified");
            if args.keyword("fields") {
                if args.left() < 3 {
                    return Err(arity().into());
                }
                let count = args.next().ok().and_then(number::parse_i64).filter(|count| *count > 0);
                let count = count.filter(|count| i32::try_from(*count).is_ok());
                let count = count.ok_or_else(|| Error::reply("ERR invalid number of fields"))?;
                if count.checked_mul(2).and_then(|words| usize::try_from(words).ok()) != Some(args.left()) {
                    return Err(arity().into());
                }
                return Ok(Setex { key, wanted, ttl, pairs: args });
            } else if let Some((_, time)) = TIMES.into_iter().find(|(word, _)| args.keyword(word)) {
                if is_taken {
                    return Err(twice().into());
                }
                let word = args.next().map_err(|_| Error::reply("ERR missing expire time"))?;
                ttl = Ttl::At(time.at_ms(word, now_ms, "hsetex")?);
            } else if args.keyword("keepttl") {
                if is_taken {
                    return Err(twice().into());
                }
                ttl = Ttl::Keep;
            } else if let Some((_, when)) =
                [("fxx", Wanted::All), ("fnx", Wanted::None)].into_iter().find(|(word, _)| args.keyword(word))
            {
                if wanted != Wanted::Any {
                    return Err(Error::reply("ERR Only one of FXX or FNX arguments can be specified").into());
                }
                wanted = when;
            } else if let Some((_, when)) =
                [("xx", true), ("nx", false)].into_iter().find(|(word, _)| args.keyword(word))
            {
                if key.replace(when).is_some_and(|before| before != when) {
                    return Err(Error::Syntax.into());
                }
            } else {
                return Err(Error::about("ERR unknown argument: ", word, "").into());
            }
        }
        Err(arity().into())
    }
}

pub fn hsetex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let Setex { key: is_wanted, wanted, ttl, pairs } = Setex::parse(args, cx.env.now_ms)?;
    let pairs = pairs.rest_in_pairs().ok_or_else(|| Error::Arity("hsetex".into()))?;
    cx.env.move_if_heavy(pairs.len(), Env::IO_THREAD_MAX_ROWS)?;
    if let Some(is_wanted) = is_wanted
        && Hash::open(cx, key)?.is_some() != is_wanted
    {
        return Ok(Reply::Integer(0));
    }
    let mut hash = Hash::open_or_create(cx, key, Maker::Redis)?;
    let mark = cx.arena().len();
    if wanted != Wanted::Any {
        for (field, _) in pairs.clone() {
            let is_there = hash.look_up(cx, field)?.live().is_some();
            cx.arena().truncate(mark);
            if is_there != (wanted == Wanted::All) {
                return Ok(Reply::Integer(0));
            }
        }
    }
    let is_past = matches!(ttl, Ttl::At(at_ms) if at_ms <= cx.env.now_ms);
    for (field, value) in pairs.clone() {
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        if is_past {
            hash.delete(cx, field, &old);
        } else {
            hash.put(cx, (field, value), &old, ttl, Check::None);
        }
    }
    hash.save(cx)?;
    let fields = pairs.map(|(field, _)| field);
    cx.notify_fields(Event::HSET, key, fields.clone());
    if let Ttl::At(_) = ttl {
        cx.notify_fields(if is_past { Event::HDEL } else { Event::HEXPIRE }, key, fields);
    }
    Ok(Reply::Integer(1))
}
