//! Taking members off either end.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Event, View as _, WriteCx};
use crate::number::parse_i64;
use crate::reply::{Packer, Reply, Shape};
use crate::types::zset::{Direction, Kept, SortedSet};

pub fn zpopmin(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop(cx, args, Direction::Forward)
}

pub fn zpopmax(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop(cx, args, Direction::Backward)
}

fn pop(cx: &mut WriteCx<'_>, mut args: Args<'_>, from: Direction) -> Result<Reply> {
    let key = args.key()?;
    if args.left() > 1 {
        return Err(Error::Syntax.into());
    }
    let count = match args.peek() {
        None => None,
        Some(word) => {
            let count = parse_i64(word).and_then(|count| u64::try_from(count).ok());
            Some(count.ok_or(Error::reply("ERR value is out of range, must be positive"))?)
        }
    };
    let Some(set) = SortedSet::open(cx, key)? else { return Ok(Reply::Array(Vec::new())) };
    let popped = take(cx, key, set, from, count.unwrap_or(1))?;
    // One member alone is no list of pairs.
    Ok(listed(cx, &popped, if count.is_some() { Shape::Pairs } else { Shape::Array }))
}

fn take(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    mut set: SortedSet<'_>,
    from: Direction,
    count: u64,
) -> Result<Kept> {
    let popped = set.pop(cx, from, count)?;
    set.save(cx)?;
    if count > 0 {
        cx.notify(
            match from {
                Direction::Forward => Event::ZPOPMIN,
                Direction::Backward => Event::ZPOPMAX,
            },
            key,
        );
    }
    Ok(popped)
}

pub fn zmpop(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let positive = |word: &[u8], refusal: &'static str| {
        let number = parse_i64(word).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        number.ok_or(Error::reply(refusal))
    };
    let keys = positive(args.next()?, "ERR numkeys should be greater than 0")?;
    let keys = usize::try_from(keys).ok().filter(|keys| *keys < args.left()).ok_or(Error::Syntax)?;
    let named = args;
    for _ in 0..keys {
        args.next()?;
    }
    let from = if args.keyword("min") {
        Direction::Forward
    } else if args.keyword("max") {
        Direction::Backward
    } else {
        return Err(Error::Syntax.into());
    };
    let mut count = None;
    while !args.is_empty() {
        if count.is_some() || args.left() < 2 || !args.keyword("count") {
            return Err(Error::Syntax.into());
        }
        count = Some(positive(args.next()?, "ERR count should be greater than 0")?);
    }
    for key in named.rest().take(keys) {
        let Some(set) = SortedSet::open(cx, key)? else { continue };
        let popped = take(cx, key, set, from, count.unwrap_or(1))?;
        let members = listed(cx, &popped, Shape::Nested);
        return Ok(Reply::Array(vec![cx.bulk(key), members]));
    }
    Ok(Reply::NilArray)
}

fn listed(cx: &mut WriteCx<'_>, members: &Kept, shape: Shape) -> Reply {
    let mut packer = Packer::begin(cx.arena());
    for scored in members.iter() {
        packer.push(scored.member);
        packer.push_double(scored.score);
    }
    packer.finish(cx.arena(), shape)
}
