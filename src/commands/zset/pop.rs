//! Taking members off either end.

use crate::commands::seconds_ms;
use crate::dispatch::args::Args;
use crate::error::{Error, Result, Stop};
use crate::keyspace::{Event, Sourced, View as _, WriteCx};
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
            Some(count.ok_or_else(|| Error::reply("ERR value is out of range, must be positive"))?)
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

pub fn zmpop(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    let taken = MultiPop::read(args)?.run(cx, &mut |_, found| found)?;
    Ok(taken.unwrap_or(Reply::NilArray))
}

pub fn bzmpop(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let timeout_ms = seconds_ms(args.next()?)?;
    let mut sources = Sourced::default();
    let taken = MultiPop::read(args)?.run(cx, &mut |cx, found| sources.take(cx, found))?;
    taken.ok_or_else(|| Stop::park(timeout_ms, true))
}

pub fn bzpopmin(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop_or_park(cx, args, Direction::Forward)
}

pub fn bzpopmax(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop_or_park(cx, args, Direction::Backward)
}

fn pop_or_park(cx: &mut WriteCx<'_>, args: Args<'_>, from: Direction) -> Result<Reply> {
    let keys = args.left().saturating_sub(1);
    let timeout_ms = seconds_ms(args.peek_at(keys).unwrap_or_default())?;
    let mut sources = Sourced::default();
    for key in args.rest().take(keys) {
        let found = SortedSet::open(cx, key);
        let Some(set) = sources.take(cx, found)? else { continue };
        let popped = take(cx, key, set, from, 1)?;
        let Some((member, score)) = popped.iter().next().map(|scored| (scored.member.to_vec(), scored.score))
        else {
            continue;
        };
        return Ok(Reply::Array(vec![cx.bulk(key), cx.bulk(&member), Reply::Double(score)]));
    }
    Err(Stop::park(timeout_ms, true))
}

/// What ZMPOP asks for.
struct MultiPop<'a> {
    keys: Args<'a>,
    number_of_keys: usize,
    from: Direction,
    count: u64,
}

impl<'a> MultiPop<'a> {
    fn read(mut args: Args<'a>) -> Result<MultiPop<'a>> {
        let positive = |word: &[u8], refusal: &'static str| {
            let number = parse_i64(word).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
            number.ok_or_else(|| Error::reply(refusal))
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
        Ok(MultiPop { keys: named, number_of_keys: keys, from, count: count.unwrap_or(1) })
    }

    /// None where there is no sorted set. `judge` is shown what was found for each key.
    fn run(
        self,
        cx: &mut WriteCx<'_>,
        judge: &mut dyn FnMut(
            &mut WriteCx<'_>,
            Result<Option<SortedSet<'a>>>,
        ) -> Result<Option<SortedSet<'a>>>,
    ) -> Result<Option<Reply>> {
        for key in self.keys.rest().take(self.number_of_keys) {
            let found = SortedSet::open(cx, key);
            let Some(set) = judge(cx, found)? else { continue };
            let popped = take(cx, key, set, self.from, self.count)?;
            let members = listed(cx, &popped, Shape::Nested);
            return Ok(Some(Reply::Array(vec![cx.bulk(key), members])));
        }
        Ok(None)
    }
}

fn listed(cx: &mut WriteCx<'_>, members: &Kept, shape: Shape) -> Reply {
    let mut packer = Packer::begin(cx.arena());
    for scored in members.iter() {
        packer.push(scored.member);
        packer.push_double(scored.score);
    }
    packer.finish(cx.arena(), shape)
}
