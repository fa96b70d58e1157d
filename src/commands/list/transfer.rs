//! Taking elements from lists and putting them into others.

use super::{at_least, end, popped, pushed, take};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{View, WriteCx};
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

fn transfer(cx: &mut WriteCx<'_>, from: (&[u8], End), to: (&[u8], End)) -> Result<Reply> {
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

pub fn lmpop(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
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
    for key in args.rest().take(number_of_keys as usize) {
        cx.arena().clear();
        if let Some(list) = List::open(cx, key)? {
            let taken = take(cx, list, end, count.unwrap_or(1))?;
            return Ok(Reply::Array(vec![Reply::bulk(key), taken]));
        }
    }
    Ok(Reply::NilArray)
}
