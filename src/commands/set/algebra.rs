//! Sets made of sets: the replies, the numbers and the stored results.

use crate::dispatch::args::Args;
use crate::encoding::collection::HASH_LEN;
use crate::error::{Error, Result};
use crate::keyspace::{Event, ReadCx, View as _, WriteCx};
use crate::number;
use crate::reply::{Packer, Reply, Shape};
use crate::types::set::algebra::{self, Operation};
use crate::types::set::store::store;

pub fn sinter(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    members(cx, args, Operation::Intersection)
}

pub fn sunion(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    members(cx, args, Operation::Union)
}

pub fn sdiff(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    members(cx, args, Operation::Difference)
}

fn members(cx: &mut ReadCx<'_>, args: Args<'_>, operation: Operation) -> Result<Reply> {
    let mut members = algebra::open(cx, operation, args.rest())?;
    members.light(&cx.env)?;
    let mut packer = Packer::begin(cx.arena());
    let done = loop {
        match members.next(cx) {
            Ok(Some(sub)) => packer.push(sub.get(HASH_LEN..).unwrap_or_default()),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let reply = packer.finish(cx.arena(), Shape::Set);
    done.map(|()| reply)
}

pub fn sintercard(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    count(cx, args, Operation::Intersection)
}

pub fn sunioncard(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    count(cx, args, Operation::Union)
}

pub fn sdiffcard(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    count(cx, args, Operation::Difference)
}

/// `numkeys key [key ...] [LIMIT limit]`; a limit of 0 is none. A union also takes `APPROX`, which allows an estimate;
/// the count is exact all the same, since the sets are merged in order and nothing need be remembered.
fn count(cx: &mut ReadCx<'_>, mut args: Args<'_>, operation: Operation) -> Result<Reply> {
    let keys = number::parse_i64(args.next()?).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    let keys = keys.ok_or_else(|| Error::reply("ERR numkeys should be greater than 0"))?;
    if keys > args.left() {
        return Err(Error::reply("ERR Number of keys can't be greater than number of args").into());
    }
    let (keys, mut options) = args.split_at(keys);
    let mut limit = 0;
    while !options.is_empty() {
        if matches!(operation, Operation::Union) && options.keyword("approx") {
            continue;
        }
        if options.left() < 2 || !options.keyword("limit") {
            return Err(Error::Syntax.into());
        }
        let number = number::parse_i64(options.next()?).and_then(|n| u64::try_from(n).ok());
        limit = number.ok_or_else(|| Error::reply("ERR LIMIT can't be negative"))?;
    }
    let limit = if limit == 0 { u64::MAX } else { limit };
    Ok(Reply::Integer(algebra::count(cx, operation, keys, limit)? as i64))
}

pub fn sinterstore(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    store_result(cx, args, Operation::Intersection, Event::SINTERSTORE)
}

pub fn sunionstore(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    store_result(cx, args, Operation::Union, Event::SUNIONSTORE)
}

pub fn sdiffstore(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    store_result(cx, args, Operation::Difference, Event::SDIFFSTORE)
}

fn store_result(
    cx: &mut WriteCx<'_>,
    mut args: Args<'_>,
    operation: Operation,
    event: Event,
) -> Result<Reply> {
    let to = args.key()?;
    let size = store(cx, to, operation, args.rest())?;
    if size > 0 {
        cx.notify(event, to);
    }
    Ok(Reply::Integer(size as i64))
}
