//! XPENDING, XCLAIM and XAUTOCLAIM: what was delivered and not acknowledged, and who gets it instead.

use super::readgroup::meet;
use super::{ids, push_entry};
use crate::dispatch::args::Args;
use crate::error::{Error, Result, shown};
use crate::keyspace::{Env, ReadCx, View as _, WriteCx};
use crate::number::parse_i64;
use crate::reply::{Packer, Reply, Shape};
use crate::types::stream::{Group, Id, NOBODY, Pending, Stream, Strings};

pub fn no_group(key: &[u8], group: &[u8]) -> Error {
    Error::reply(format!("NOGROUP No such key '{}' or consumer group '{}'", shown(key), shown(group)))
}

/// What XPENDING is asked for beside the summary.
struct Request<'a> {
    min_idle_ms: i64,
    first: Id,
    last: Id,
    count: u64,
    consumer: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// None is the summary.
    fn parse(mut args: Args<'a>) -> Result<Option<Request<'a>>> {
        match args.left() {
            0 => return Ok(None),
            3..=6 => {}
            _ => return Err(Error::Syntax.into()),
        }
        let mut min_idle_ms = 0;
        if args.keyword("IDLE") {
            min_idle_ms = args.int()?;
            if args.left() < 3 {
                return Err(Error::Syntax.into());
            }
        }
        let (start, end) = (args.next()?, args.next()?);
        let count = u64::try_from(args.int()?).unwrap_or(0);
        let (first, last) = (ids::start(start)?, ids::end(end)?);
        Ok(Some(Request { min_idle_ms, first, last, count, consumer: args.peek() }))
    }
}

pub fn xpending(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name) = (args.key()?, args.next()?);
    let request = Request::parse(args)?;
    let found = Stream::find(cx, key)?;
    let group = found.map_or(Ok(None), |stream| stream.group(cx, name))?;
    let mut group = group.ok_or_else(|| no_group(key, name))?;
    match request {
        None => summary(cx, &mut group),
        Some(request) => list(cx, &mut group, &request),
    }
}

fn summary(cx: &mut ReadCx<'_>, group: &mut Group<'_>) -> Result<Reply> {
    let count = Reply::Integer(group.state.pending as i64);
    let Some((first, last)) = group.pending_ends(cx)? else {
        return Ok(Reply::Array(vec![count, Reply::Nil, Reply::Nil, Reply::NilArray]));
    };
    let mut consumers = Vec::new();
    for number in group.numbers(cx)? {
        let consumer = group.consumer(cx, number)?;
        if consumer.state.pending > 0 {
            let pending = Reply::bulk(consumer.state.pending.to_string());
            consumers.push(Reply::Array(vec![Reply::bulk(&*consumer.name), pending]));
        }
    }
    Ok(Reply::Array(vec![count, super::id_reply(first), super::id_reply(last), Reply::Array(consumers)]))
}

fn list(cx: &mut ReadCx<'_>, group: &mut Group<'_>, request: &Request<'_>) -> Result<Reply> {
    let number = match request.consumer {
        None => None,
        Some(name) => match group.find_consumer(cx, name)? {
            None => return Ok(Reply::Array(Vec::new())),
            found => found,
        },
    };
    let mut packer = Packer::begin(cx.arena());
    let mut walk = match number {
        None => group.walk_pending(request.first, request.last),
        Some(number) => group.owned(number, request.first, request.last),
    };
    let (now_ms, mut left, mut rows) = (cx.env.now_ms, request.count, 0);
    while left > 0
        && let Some(element) = walk.next(cx)?
    {
        rows += 1;
        cx.env.move_if_heavy(rows, Env::IO_THREAD_MAX_ROWS)?;
        let id = Id::decode(element.sub)?;
        let pending = match number {
            None => Pending::decode(element.value)?,
            Some(_) => group.pending(cx, id)?.ok_or(Error::Damaged("a pending entry"))?,
        };
        if idle_ms(now_ms, &pending) < request.min_idle_ms {
            continue;
        }
        left -= 1;
        let owner = group.owner(cx, &pending)?;
        // What was given back waits since never.
        let idle_ms = if pending.consumer == NOBODY { -1 } else { idle_ms(now_ms, &pending).max(0) };
        packer.push_array(4);
        packer.push(&ids::shown(id));
        packer.push(owner);
        packer.push_integer(idle_ms);
        packer.push_integer(pending.deliveries as i64);
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}

pub fn idle_ms(now_ms: u64, pending: &Pending) -> i64 {
    (now_ms as i64).wrapping_sub(pending.delivered_ms as i64)
}

/// An integer, or else what the command says of it.
fn int_or(word: &[u8], refusal: &'static str) -> Result<i64> {
    parse_i64(word).ok_or_else(|| Error::reply(refusal).into())
}

/// The options of XCLAIM.
#[derive(Default)]
struct Claim {
    delivered_ms: Option<i64>,
    deliveries: Option<i64>,
    last: Id,
    force: bool,
    just_id: bool,
}

impl Claim {
    fn parse(mut args: Args<'_>, now_ms: u64) -> Result<Claim> {
        let mut claim = Claim::default();
        while !args.is_empty() {
            let has_value = args.left() > 1;
            if args.keyword("FORCE") {
                claim.force = true;
            } else if args.keyword("JUSTID") {
                claim.just_id = true;
            } else if has_value && args.keyword("IDLE") {
                let idle_ms = int_or(args.next()?, "ERR Invalid IDLE option argument for XCLAIM")?;
                claim.delivered_ms = Some((now_ms as i64).wrapping_sub(idle_ms));
            } else if has_value && args.keyword("TIME") {
                claim.delivered_ms =
                    Some(int_or(args.next()?, "ERR Invalid TIME option argument for XCLAIM")?);
            } else if has_value && args.keyword("RETRYCOUNT") {
                let count = int_or(args.next()?, "ERR Invalid RETRYCOUNT option argument for XCLAIM")?;
                claim.deliveries = Some(count).filter(|count| *count >= 0);
            } else if has_value && args.keyword("LASTID") {
                claim.last = ids::id(args.next()?, 0)?;
            } else {
                let word = args.peek().unwrap_or_default();
                return Err(Error::about("ERR Unrecognized XCLAIM option '", word, "'").into());
            }
        }
        Ok(claim)
    }

    /// A time that is yet to come, or never was, is now.
    fn delivered_ms(&self, now_ms: u64) -> u64 {
        let given = self.delivered_ms.and_then(|ms| u64::try_from(ms).ok());
        given.filter(|ms| *ms <= now_ms).unwrap_or(now_ms)
    }
}

pub fn xclaim(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name, consumer) = (args.key()?, args.next()?, args.next()?);
    let found = Stream::open(cx, key)?;
    let group = found.as_ref().map_or(Ok(None), |stream| stream.group(cx, name))?;
    let (Some(mut stream), Some(mut group)) = (found, group) else { return Err(no_group(key, name).into()) };
    let min_idle_ms = int_or(args.next()?, "ERR Invalid min-idle-time argument for XCLAIM")?.max(0);
    let mut wanted = Vec::new();
    while let Some(id) = args.peek().and_then(|word| ids::parse(word, 0)) {
        args.next()?;
        wanted.push(id);
    }
    let now_ms = cx.env.now_ms;
    let claim = Claim::parse(args, now_ms)?;
    cx.env.move_if_heavy(wanted.len(), Env::IO_THREAD_MAX_ROWS)?;
    group.state.last = group.state.last.max(claim.last);
    let number = meet(cx, &stream, &mut group, consumer)?;
    let mut packer = Packer::begin(cx.arena());
    for id in wanted {
        let before = group.pending(cx, id)?;
        let mark = cx.arena().len();
        let Some(entry) = stream.get(cx, id)? else {
            // What is pending of an entry that is gone goes with it.
            if let Some(before) = before {
                group.release(cx, id, before)?;
            }
            continue;
        };
        let was_given = match before {
            Some(before) if min_idle_ms > 0 && idle_ms(now_ms, &before) < min_idle_ms => continue,
            Some(before) => before.deliveries,
            None if claim.force => 1,
            None => continue,
        };
        let deliveries = match claim.deliveries {
            Some(count) => count.unsigned_abs(),
            None => was_given.saturating_add(u64::from(!claim.just_id)),
        };
        if claim.just_id {
            packer.push(&ids::shown(id));
        } else {
            push_entry(&mut packer, id, Strings::of(cx.bytes(entry))?);
        }
        cx.arena().truncate(mark);
        let after = Pending { consumer: number, delivered_ms: claim.delivered_ms(now_ms), deliveries };
        group.assign(cx, id, before, after)?;
        group.consumer(cx, number)?.activate(now_ms);
    }
    stream.save_group(cx, &mut group);
    Ok(packer.finish(cx.arena(), Shape::Array))
}

/// Pending entries that XAUTOCLAIM looks at for each that it may claim.
const ATTEMPTS: u64 = 10;
/// Most that it may claim: what Redis can count.
const MAX_COUNT: i64 = i64::MAX / 16;

pub fn xautoclaim(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name, consumer) = (args.key()?, args.next()?, args.next()?);
    let min_idle_ms = int_or(args.next()?, "ERR Invalid min-idle-time argument for XAUTOCLAIM")?.max(0);
    let first = ids::start(args.next()?)?;
    let (mut count, mut just_id) = (100, false);
    while !args.is_empty() {
        if args.left() > 1 && args.keyword("COUNT") {
            let given = parse_i64(args.next()?).filter(|count| (1..=MAX_COUNT).contains(count));
            count = given.ok_or_else(|| Error::reply("ERR COUNT must be > 0"))?.unsigned_abs();
        } else if args.keyword("JUSTID") {
            just_id = true;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    let found = Stream::open(cx, key)?;
    let group = found.as_ref().map_or(Ok(None), |stream| stream.group(cx, name))?;
    let (Some(mut stream), Some(mut group)) = (found, group) else { return Err(no_group(key, name).into()) };
    let number = meet(cx, &stream, &mut group, consumer)?;
    let now_ms = cx.env.now_ms;
    let (mut attempts, mut rows) = (count.saturating_mul(ATTEMPTS), 0);
    let mut walk = group.walk_pending(first, Id::MAX);
    let mut gone = Vec::new();
    let mut packer = Packer::begin(cx.arena());
    while attempts > 0
        && count > 0
        && let Some(element) = walk.next(cx)?
    {
        attempts -= 1;
        rows += 1;
        cx.env.move_if_heavy(rows, Env::IO_THREAD_MAX_ROWS)?;
        let (id, before) = (Id::decode(element.sub)?, Pending::decode(element.value)?);
        let mark = cx.arena().len();
        let Some(entry) = stream.get(cx, id)? else {
            group.release(cx, id, before)?;
            gone.push(super::id_reply(id));
            count -= 1;
            continue;
        };
        if min_idle_ms > 0 && idle_ms(now_ms, &before) < min_idle_ms {
            cx.arena().truncate(mark);
            continue;
        }
        count -= 1;
        if just_id {
            packer.push(&ids::shown(id));
        } else {
            push_entry(&mut packer, id, Strings::of(cx.bytes(entry))?);
        }
        cx.arena().truncate(mark);
        let deliveries = before.deliveries.saturating_add(u64::from(!just_id));
        group.assign(cx, id, Some(before), Pending { consumer: number, delivered_ms: now_ms, deliveries })?;
        group.consumer(cx, number)?.activate(now_ms);
    }
    let next = walk.next(cx)?.map_or(Ok(Id::MIN), |element| Id::decode(element.sub))?;
    stream.save_group(cx, &mut group);
    let claimed = packer.finish(cx.arena(), Shape::Array);
    Ok(Reply::Array(vec![super::id_reply(next), claimed, Reply::Array(gone)]))
}
