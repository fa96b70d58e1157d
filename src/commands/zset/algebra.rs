//! Unions, intersections and differences.

use super::Listing;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, ReadCx, View, WriteCx};
use crate::number::{double, parse_i64};
use crate::reply::Reply;
use crate::types::zset::Kept;
use crate::types::zset::algebra::{self, Aggregate, Input, Members};
use crate::types::zset::store::Store;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// What is done with the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Reply,
    Store,
    Count,
}

struct Request<'k> {
    operation: Operation,
    inputs: Vec<Input<'k>>,
    aggregate: Aggregate,
    with_scores: bool,
    /// Members that are counted at most; 0 is no limit.
    limit: u64,
}

impl<'k> Request<'k> {
    /// Everything from the number of keys on. The keys are looked at before the options, as in Redis.
    fn parse(
        cx: &mut impl View,
        mut args: Args<'k>,
        operation: Operation,
        purpose: Purpose,
        name: &str,
    ) -> Result<Request<'k>> {
        let count = args.int()?;
        if count < 1 {
            return Err(
                Error::reply(format!("ERR at least 1 input key is needed for '{name}' command")).into()
            );
        }
        let count = usize::try_from(count).ok().filter(|count| *count <= args.left()).ok_or(Error::Syntax)?;
        let mut inputs = Vec::with_capacity(count);
        for _ in 0..count {
            inputs.push(Input::find(cx, args.key()?)?);
        }
        let mut request =
            Request { operation, inputs, aggregate: Aggregate::Sum, with_scores: false, limit: 0 };
        let weighs = operation != Operation::Difference && purpose != Purpose::Count;
        while !args.is_empty() {
            if weighs && args.left() > count && args.keyword("weights") {
                for input in &mut request.inputs {
                    let weight = double::parse(args.next()?);
                    input.weight = weight.ok_or_else(|| Error::reply("ERR weight value is not a float"))?;
                }
            } else if weighs && args.left() >= 2 && args.keyword("aggregate") {
                request.aggregate = if args.keyword("sum") {
                    Aggregate::Sum
                } else if args.keyword("min") {
                    Aggregate::Min
                } else if args.keyword("max") {
                    Aggregate::Max
                } else if args.keyword("count") {
                    Aggregate::Count
                } else {
                    return Err(Error::Syntax.into());
                };
            } else if purpose == Purpose::Reply && args.keyword("withscores") {
                request.with_scores = true;
            } else if purpose == Purpose::Count && args.left() >= 2 && args.keyword("limit") {
                let limit = parse_i64(args.next()?).and_then(|limit| u64::try_from(limit).ok());
                request.limit = limit.ok_or_else(|| Error::reply("ERR LIMIT can't be negative"))?;
            } else {
                return Err(Error::Syntax.into());
            }
        }
        Ok(request)
    }

    fn members(self, env: &Env<'_>) -> Result<Members<'k>> {
        match self.operation {
            Operation::Union => algebra::union(env, self.inputs, self.aggregate),
            Operation::Intersection => Ok(algebra::intersection(self.inputs, self.aggregate)),
            Operation::Difference => Ok(algebra::difference(self.inputs)),
        }
    }
}

fn reply(cx: &mut ReadCx<'_>, args: Args<'_>, operation: Operation, name: &str) -> Result<Reply> {
    let request = Request::parse(cx, args, operation, Purpose::Reply, name)?;
    let with_scores = request.with_scores;
    let mut members = request.members(&cx.env)?;
    let mut kept = Kept::default();
    while let Some(scored) = members.next(cx)? {
        kept.push(scored);
    }
    kept.sort();
    let mut members = Listing::begin(cx.arena(), with_scores);
    kept.iter().for_each(|scored| members.push(scored));
    Ok(members.finish(cx.arena()))
}

fn store(cx: &mut WriteCx<'_>, mut args: Args<'_>, operation: Operation, event: Event) -> Result<Reply> {
    let (to, name) = (args.key()?, event.name);
    let request = Request::parse(&mut cx.sources(), args, operation, Purpose::Store, name)?;
    let mut members = request.members(&cx.env)?;
    let mut store = Store::begin(cx, to)?;
    while let Some(scored) = members.next(&mut cx.sources())? {
        store.add(cx, scored)?;
    }
    let size = store.finish(cx)?;
    if size > 0 {
        cx.notify(event, to);
    }
    Ok(Reply::Integer(size as i64))
}

pub fn zunion(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    reply(cx, args, Operation::Union, "zunion")
}

pub fn zinter(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    reply(cx, args, Operation::Intersection, "zinter")
}

pub fn zdiff(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    reply(cx, args, Operation::Difference, "zdiff")
}

pub fn zunionstore(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    store(cx, args, Operation::Union, Event::ZUNIONSTORE)
}

pub fn zinterstore(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    store(cx, args, Operation::Intersection, Event::ZINTERSTORE)
}

pub fn zdiffstore(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    store(cx, args, Operation::Difference, Event::ZDIFFSTORE)
}

pub fn zintercard(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    let request = Request::parse(cx, args, Operation::Intersection, Purpose::Count, "zintercard")?;
    let limit = if request.limit == 0 { u64::MAX } else { request.limit };
    let mut members = request.members(&cx.env)?;
    let mut count = 0;
    while count < limit && members.next(cx)?.is_some() {
        count += 1;
    }
    Ok(Reply::Integer(count as i64))
}
