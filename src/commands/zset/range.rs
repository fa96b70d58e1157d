//! Members in order: ZRANGE and the older commands that are parts of it.

use super::Listing;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, ReadCx, View as _, WriteCx};
use crate::number::{double, parse_i64};
use crate::reply::Reply;
use crate::types::zset::range::Ranks;
use crate::types::zset::store::Store;
use crate::types::zset::{Direction, LexBound, LexRange, ScoreRange, Scored, SortedSet};

/// What the ends of a range are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Lex,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Bounds<'a> {
    Ranks(i64, i64),
    Scores(ScoreRange),
    Names(LexRange<'a>),
}

#[derive(Debug, Clone, Copy)]
struct Request<'a> {
    bounds: Bounds<'a>,
    direction: Direction,
    /// Members of a range of scores or names that are skipped, and returned behind them.
    reach: (u64, u64),
    with_scores: bool,
}

pub(super) fn scores(min: &[u8], max: &[u8]) -> Result<ScoreRange> {
    let bound = |word: &[u8]| match word {
        [b'(', number @ ..] => double::parse_bound(number).map(|number| (number, true)),
        number => double::parse_bound(number).map(|number| (number, false)),
    };
    let (Some((min, above_min)), Some((max, below_max))) = (bound(min), bound(max)) else {
        return Err(Error::reply("ERR min or max is not a float").into());
    };
    Ok(ScoreRange { min, max, above_min, below_max })
}

pub(super) fn names<'a>(min: &'a [u8], max: &'a [u8]) -> Result<LexRange<'a>> {
    let bound = |word: &'a [u8]| match word {
        // A C string ends with its first zero byte.
        [b'-'] | [b'-', 0, ..] => Some(LexBound::First),
        [b'+'] | [b'+', 0, ..] => Some(LexBound::Last),
        [b'[', name @ ..] => Some(LexBound::Including(name)),
        [b'(', name @ ..] => Some(LexBound::Excluding(name)),
        _ => None,
    };
    let (Some(min), Some(max)) = (bound(min), bound(max)) else {
        return Err(Error::reply("ERR min or max not valid string range item").into());
    };
    Ok(LexRange { min, max })
}

pub(super) fn ranks(start: &[u8], end: &[u8]) -> Result<(i64, i64)> {
    match (parse_i64(start), parse_i64(end)) {
        (Some(start), Some(end)) => Ok((start, end)),
        _ => Err(Error::NotInteger.into()),
    }
}

impl<'a> Request<'a> {
    /// What follows the key. `by` and `direction` are None where options say them.
    fn parse(
        mut args: Args<'a>,
        mut by: Option<By>,
        mut direction: Option<Direction>,
        stores: bool,
    ) -> Result<Request<'a>> {
        let (first, second) = (args.next()?, args.next()?);
        let (mut with_scores, mut limit) = (false, None);
        while !args.is_empty() {
            if !stores && args.keyword("withscores") {
                with_scores = true;
            } else if args.left() >= 3 && args.keyword("limit") {
                limit = Some((args.int()?, args.int()?));
            } else if direction.is_none() && args.keyword("rev") {
                direction = Some(Direction::Backward);
            } else if by.is_none() && args.keyword("bylex") {
                by = Some(By::Lex);
            } else if by.is_none() && args.keyword("byscore") {
                by = Some(By::Score);
            } else {
                return Err(Error::Syntax.into());
            }
        }
        let by = by.unwrap_or(By::Rank);
        let direction = direction.unwrap_or(Direction::Forward);
        let (offset, count) = limit.unwrap_or((0, -1));
        if count != -1 && by == By::Rank {
            return Err(Error::reply(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            )
            .into());
        }
        if with_scores && by == By::Lex {
            return Err(
                Error::reply("ERR syntax error, WITHSCORES not supported in combination with BYLEX").into()
            );
        }
        let (min, max) = if direction == Direction::Forward { (first, second) } else { (second, first) };
        let bounds = match by {
            By::Rank => ranks(first, second).map(|(start, end)| Bounds::Ranks(start, end))?,
            By::Score => Bounds::Scores(scores(min, max)?),
            By::Lex => Bounds::Names(names(min, max)?),
        };
        // A negative offset is behind everything, a negative count is no limit; neither means a thing to ranks.
        let reach = match u64::try_from(offset) {
            _ if by == By::Rank => (0, u64::MAX),
            Ok(offset) => (offset, u64::try_from(count).unwrap_or(u64::MAX)),
            Err(_) => (0, 0),
        };
        Ok(Request { bounds, direction, reach, with_scores })
    }

    fn visit(&self, cx: &ReadCx<'_>, set: &SortedSet<'_>, visit: &mut dyn FnMut(Scored<'_>)) -> Result<()> {
        let interval = match &self.bounds {
            Bounds::Ranks(start, end) => {
                let Some(ranks) = Ranks::between(set.size(), *start, *end) else { return Ok(()) };
                return set.visit_ranks(cx, ranks, self.direction, visit);
            }
            Bounds::Scores(range) => set.by_score(range),
            Bounds::Names(range) => set.by_lex(cx, range, self.direction)?,
        };
        set.visit(cx, &interval, self.direction, self.reach, visit)
    }

    fn reply(&self, cx: &mut ReadCx<'_>, key: &[u8]) -> Result<Reply> {
        let Some(set) = SortedSet::find(cx, key)? else { return Ok(Reply::Array(Vec::new())) };
        let mut members = Listing::begin(cx.arena(), self.with_scores);
        self.visit(cx, &set, &mut |scored| members.push(scored))?;
        Ok(members.finish(cx.arena()))
    }
}

fn range(
    cx: &mut ReadCx<'_>,
    mut args: Args<'_>,
    by: Option<By>,
    direction: Option<Direction>,
) -> Result<Reply> {
    let key = args.key()?;
    Request::parse(args, by, direction, false)?.reply(cx, key)
}

pub fn zrange(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, None, None)
}

pub fn zrevrange(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Some(By::Rank), Some(Direction::Backward))
}

pub fn zrangebyscore(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Some(By::Score), Some(Direction::Forward))
}

pub fn zrevrangebyscore(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Some(By::Score), Some(Direction::Backward))
}

pub fn zrangebylex(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Some(By::Lex), Some(Direction::Forward))
}

pub fn zrevrangebylex(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Some(By::Lex), Some(Direction::Backward))
}

pub fn zrangestore(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (to, from) = (args.key()?, args.key()?);
    let request = Request::parse(args, None, None, true)?;
    let set = SortedSet::find(&mut cx.sources(), from)?;
    let ranks = match (&set, &request.bounds) {
        (Some(set), Bounds::Ranks(start, end)) => Ranks::between(set.size(), *start, *end),
        _ => None,
    };
    let mut store = Store::one_by_one(cx, to, ranks.map(|ranks| ranks.len))?;
    if let Some(set) = set {
        let (direction, (mut skip, mut left)) = (request.direction, request.reach);
        let interval = match &request.bounds {
            Bounds::Ranks(..) => match ranks {
                None => None,
                Some(ranks) => {
                    let other = ranks.mirrored(set.size());
                    let rows = ranks.first.min(other.first) + ranks.len;
                    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
                    cx.env.move_if_heavy(rows, Env::IO_THREAD_MAX_ROWS)?;
                    let forward = if direction == Direction::Forward { ranks } else { other };
                    Some(set.by_rank(&cx.sources(), forward)?)
                }
            },
            Bounds::Scores(range) => Some(set.by_score(range)),
            Bounds::Names(range) => Some(set.by_lex(&cx.sources(), range, direction)?),
        };
        let walk = interval.filter(|interval| !interval.is_empty());
        let mut walk = walk.map(|interval| set.walk(interval, direction));
        let mut touched = 0;
        while let Some(walk) = walk.as_mut().filter(|_| left > 0)
            && let Some(element) = walk.next(&cx.sources())?
        {
            touched += 1;
            cx.env.move_if_heavy(touched, Env::IO_THREAD_MAX_ROWS)?;
            if skip > 0 {
                skip -= 1;
                continue;
            }
            left -= 1;
            store.add(cx, Scored::of_row(element)?)?;
        }
    }
    let size = store.finish(cx)?;
    if size > 0 {
        cx.notify(Event::ZRANGESTORE, to);
    }
    Ok(Reply::Integer(size as i64))
}

pub fn zcount(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, min, max) = (args.key()?, args.next()?, args.next()?);
    let range = scores(min, max)?;
    let Some(set) = SortedSet::find(cx, key)? else { return Ok(Reply::Integer(0)) };
    Ok(Reply::Integer(set.count(cx, &set.by_score(&range))? as i64))
}

pub fn zlexcount(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, min, max) = (args.key()?, args.next()?, args.next()?);
    let range = names(min, max)?;
    let Some(set) = SortedSet::find(cx, key)? else { return Ok(Reply::Integer(0)) };
    let interval = set.by_lex(cx, &range, Direction::Forward)?;
    Ok(Reply::Integer(set.count(cx, &interval)? as i64))
}
