//! Taking elements from lists and putting them into others.

use super::{at_least, end, popped, pushed, take};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, View, WriteCx};
use crate::reply::Reply;
use crate::types::list::{End, List};

pub fn lmove(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to) = (args.key()?, args.key()?);
    let (from_end, to_end) = (end(&mut args)?, end(&mut args)?);
    transfer(cx, (from, from_end), (to, to_end))
}

pub fn rpoplpush(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to) = (args.key()?, args.key()?);
    transfer(cx, (from, End::Right), (to, End::Left))
}

pub fn transfer(cx: &mut WriteCx<'_>, from: (&[u8], End), to: (&[u8], End)) -> Result<Reply> {
    let Some(mut source) = List::open(cx, from.0)? else { return Ok(Reply::Nil) };
    if from.0 == to.0 {
        let Some(value) = source.pop(cx, from.1)? else { return Ok(Reply::Nil) };
        source.push_kept(cx, to.1, value)?;
        source.save(cx)?;
        cx.notify(pushed(to.1), to.0);
        cx.notify(popped(from.1), from.0);
        return Ok(Reply::span(value));
    }
    let mut target = List::open_or_create(cx, to.0)?;
    let Some(value) = source.pop(cx, from.1)? else { return Ok(Reply::Nil) };
    target.push_kept(cx, to.1, value)?;
    // The element is lent by the arena, which is as long as it was.
    target.save(cx)?;
    cx.notify(pushed(to.1), to.0);
    source.save(cx)?;
    cx.notify(popped(from.1), from.0);
    Ok(Reply::span(value))
}

pub fn lmovem(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to) = (args.key()?, args.key()?);
    let (from_end, to_end) = (end(&mut args)?, end(&mut args)?);
    let how_many = HowMany::read(args)?;
    let source = List::open(cx, from)?.filter(|list| how_many.are_in(list));
    source.map_or(Ok(Reply::NilArray), |source| how_many.transfer(cx, (source, from_end), (to, to_end)))
}

/// How many elements LMOVEM moves, and in which order they are then.
#[derive(Debug, Clone, Copy)]
pub struct HowMany {
    count: u64,
    /// Nothing is moved where there are fewer.
    exactly: bool,
    /// They stay in their order, as if they were moved together; otherwise one is moved after the other.
    together: bool,
}

impl HowMany {
    /// What follows everything else.
    pub fn read(mut args: Args<'_>) -> Result<HowMany> {
        if args.is_empty() {
            return Ok(HowMany { count: 1, exactly: false, together: true });
        }
        if args.left() != 3 {
            return Err(Error::Syntax.into());
        }
        let exactly = args.keyword("EXACTLY");
        if !exactly && !args.keyword("COUNT") {
            return Err(Error::Syntax.into());
        }
        let count = at_least(args.next()?, 1, "ERR count should be greater than 0")?;
        let together = args.keyword("BULK");
        if !together && !args.keyword("OBO") {
            return Err(Error::Syntax.into());
        }
        Ok(HowMany { count, exactly, together })
    }

    /// Whether a list has as many.
    pub fn are_in(&self, list: &List<'_>) -> bool {
        !self.exactly || list.len() >= self.count
    }

    /// The elements, in the order in which they are in the other list.
    pub fn transfer(
        self,
        cx: &mut WriteCx<'_>,
        (mut source, from_end): (List<'_>, End),
        (to, to_end): (&[u8], End),
    ) -> Result<Reply> {
        let from = source.key();
        let count = usize::try_from(self.count.min(source.len())).unwrap_or(usize::MAX);
        cx.env.move_if_heavy(count, Env::IO_THREAD_MAX_ROWS)?;
        let mut target = if from == to { None } else { Some(List::open_or_create(cx, to)?) };
        let mut moved = Vec::with_capacity(count);
        while moved.len() < count
            && let Some(value) = source.pop(cx, from_end)?
        {
            moved.push(value);
        }
        // From left to right, as they come to stand.
        let is_reversed = if self.together { from_end == End::Right } else { to_end == End::Left };
        if is_reversed {
            moved.reverse();
        }
        let list = target.as_mut().unwrap_or(&mut source);
        let in_turn: &mut dyn Iterator<Item = &crate::reply::Span> = match to_end {
            End::Left => &mut moved.iter().rev(),
            End::Right => &mut moved.iter(),
        };
        for value in in_turn {
            list.push_kept(cx, to_end, *value)?;
        }
        if let Some(target) = &mut target {
            target.save(cx)?;
            cx.notify(pushed(to_end), to);
            source.save(cx)?;
        } else {
            source.save(cx)?;
            cx.notify(pushed(to_end), to);
        }
        cx.notify(popped(from_end), from);
        Ok(Reply::Array(moved.into_iter().map(Reply::span).collect()))
    }
}

pub fn lmpop(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    let taken = MultiPop::read(args)?.run(cx, &mut |_, found| found)?;
    Ok(taken.unwrap_or(Reply::NilArray))
}

/// What LMPOP asks for.
pub struct MultiPop<'a> {
    keys: Args<'a>,
    number_of_keys: u64,
    end: End,
    count: u64,
}

impl<'a> MultiPop<'a> {
    pub fn read(mut args: Args<'a>) -> Result<MultiPop<'a>> {
        let number_of_keys = at_least(args.next()?, 1, "ERR numkeys should be greater than 0")?;
        let mut options = args;
        for _ in 0..number_of_keys.min(args.left() as u64) {
            options.next()?;
        }
        let end = end(&mut options)?;
        let mut count = None;
        while !options.is_empty() {
            if count.is_some() || options.left() < 2 || !options.keyword("COUNT") {
                return Err(Error::Syntax.into());
            }
            count = Some(at_least(options.next()?, 1, "ERR count should be greater than 0")?);
        }
        Ok(MultiPop { keys: args, number_of_keys, end, count: count.unwrap_or(1) })
    }

    /// None where there is no list. `judge` is shown what was found for each key.
    pub fn run(
        self,
        cx: &mut WriteCx<'_>,
        judge: &mut dyn FnMut(&mut WriteCx<'_>, Result<Option<List<'a>>>) -> Result<Option<List<'a>>>,
    ) -> Result<Option<Reply>> {
        for key in self.keys.rest().take(self.number_of_keys as usize) {
            cx.arena().clear();
            let found = List::open(cx, key);
            if let Some(list) = judge(cx, found)? {
                let taken = take(cx, list, self.end, self.count)?;
                return Ok(Some(Reply::Array(vec![Reply::bulk(key), taken])));
            }
        }
        Ok(None)
    }
}
