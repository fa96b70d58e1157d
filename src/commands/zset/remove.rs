//! Removing the members of a range.

use super::range::{names, ranks, scores};
use crate::dispatch::args::Args;
use crate::error::Result;
use crate::keyspace::{Event, WriteCx};
use crate::reply::Reply;
use crate::types::zset::range::Ranks;
use crate::types::zset::{Direction, SortedSet};

pub fn zremrangebyrank(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, start, end) = (args.key()?, args.next()?, args.next()?);
    let (start, end) = ranks(start, end)?;
    let Some(mut set) = SortedSet::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let Some(ranks) = Ranks::between(set.size(), start, end) else { return Ok(Reply::Integer(0)) };
    set.remove_ranks(cx, ranks)?;
    set.save(cx)?;
    Ok(told(cx, Event::ZREMRANGEBYRANK, key, ranks.len))
}

pub fn zremrangebyscore(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, min, max) = (args.key()?, args.next()?, args.next()?);
    let range = scores(min, max)?;
    let Some(mut set) = SortedSet::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let interval = set.by_score(&range);
    let removed = set.remove_interval(cx, &interval)?;
    set.save(cx)?;
    Ok(told(cx, Event::ZREMRANGEBYSCORE, key, removed))
}

pub fn zremrangebylex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, min, max) = (args.key()?, args.next()?, args.next()?);
    let range = names(min, max)?;
    let Some(mut set) = SortedSet::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let interval = set.by_lex(cx, &range, Direction::Forward)?;
    let removed = set.remove_interval(cx, &interval)?;
    set.save(cx)?;
    Ok(told(cx, Event::ZREMRANGEBYLEX, key, removed))
}

fn told(cx: &mut WriteCx<'_>, event: Event, key: &[u8], removed: u64) -> Reply {
    if removed > 0 {
        cx.notify(event, key);
    }
    Reply::Integer(removed as i64)
}
