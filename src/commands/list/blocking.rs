//! Taking elements from lists, and waiting where there are none.

use super::transfer::{self, HowMany, MultiPop};
use super::{end, popped};
use crate::commands::seconds_ms;
use crate::dispatch::args::Args;
use crate::error::{Result, Stop};
use crate::keyspace::{Sourced, View as _, WriteCx};
use crate::reply::Reply;
use crate::types::list::{End, List};

pub fn blpop(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop(cx, args, End::Left)
}

pub fn brpop(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop(cx, args, End::Right)
}

fn pop(cx: &mut WriteCx<'_>, args: Args<'_>, end: End) -> Result<Reply> {
    let keys = args.left().saturating_sub(1);
    let timeout_ms = seconds_ms(args.peek_at(keys).unwrap_or_default())?;
    let mut sources = Sourced::default();
    for key in args.rest().take(keys) {
        cx.arena().clear();
        let found = List::open(cx, key);
        if let Some(mut list) = sources.take(cx, found)? {
            let value = list.pop(cx, end)?;
            list.save(cx)?;
            cx.notify(popped(end), key);
            return Ok(Reply::Array(vec![Reply::bulk(key), value.map_or(Reply::Nil, Reply::span)]));
        }
    }
    Err(Stop::park(timeout_ms, true))
}

pub fn blmove(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to) = (args.key()?, args.key()?);
    let (from_end, to_end) = (end(&mut args)?, end(&mut args)?);
    let timeout_ms = seconds_ms(args.next()?)?;
    transfer_or_park(cx, (from, from_end), (to, to_end), timeout_ms)
}

pub fn blmovem(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to) = (args.key()?, args.key()?);
    let (from_end, to_end) = (end(&mut args)?, end(&mut args)?);
    let timeout_ms = seconds_ms(args.next()?)?;
    let how_many = HowMany::read(args)?;
    let found = List::open(cx, from);
    match Sourced::default().look(cx, found)?.filter(|list| how_many.are_in(list)) {
        Some(source) => how_many.transfer(cx, (source, from_end), (to, to_end)),
        None => Err(Stop::park(timeout_ms, true)),
    }
}

pub fn brpoplpush(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to) = (args.key()?, args.key()?);
    let timeout_ms = seconds_ms(args.next()?)?;
    transfer_or_park(cx, (from, End::Right), (to, End::Left), timeout_ms)
}

fn transfer_or_park(
    cx: &mut WriteCx<'_>,
    from: (&[u8], End),
    to: (&[u8], End),
    timeout_ms: u64,
) -> Result<Reply> {
    let found = List::open(cx, from.0).map(|list| list.map(|_| ()));
    match Sourced::default().look(cx, found)? {
        Some(()) => transfer::transfer(cx, from, to),
        None => Err(Stop::park(timeout_ms, false)),
    }
}

pub fn blmpop(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let timeout_ms = seconds_ms(args.next()?)?;
    let request = MultiPop::read(args)?;
    let mut sources = Sourced::default();
    let taken = request.run(cx, &mut |cx, found| sources.take(cx, found))?;
    taken.ok_or_else(|| Stop::park(timeout_ms, true))
}
