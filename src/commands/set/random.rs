//! SPOP and SRANDMEMBER.

use crate::commands::hash::random::{MAX_REPEATS, picks};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View as _, WriteCx};
use crate::reply::{Packer, Reply, Shape};
use crate::types::set::{self, Pick};

pub fn spop(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if args.is_empty() {
        return Ok(set::pop_one(cx, key)?.map_or(Reply::Nil, Reply::span));
    }
    if args.left() > 1 {
        return Err(Error::Syntax.into());
    }
    let count = args.int().ok().and_then(|count| u64::try_from(count).ok());
    let count = count.ok_or_else(|| Error::reply("ERR value is out of range, must be positive"))?;
    let mut packer = Packer::begin(cx.arena());
    let done = set::pop(cx, key, count, &mut |member| packer.push(member));
    let reply = packer.finish(cx.arena(), Shape::Set);
    done.map(|()| reply)
}

pub fn srandmember(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if args.is_empty() {
        let Some(all) = set::find(cx, key)? else { return Ok(Reply::Nil) };
        let mut picked = None;
        set::pick(cx, &all, Pick::One, &mut |member| picked = Some(member.to_vec()))?;
        return Ok(picked.map_or(Reply::Nil, |member| cx.bulk(&member)));
    }
    if args.left() > 1 {
        return Err(Error::Syntax.into());
    }
    let count = picks(args.int()?)?;
    let found = set::find(cx, key)?;
    let how = match u64::try_from(count) {
        Ok(count) => Pick::Distinct(count),
        Err(_) if count.unsigned_abs() > MAX_REPEATS => return Err(Error::OutOfRange.into()),
        Err(_) => Pick::Repeated(count.unsigned_abs()),
    };
    let mut packer = Packer::begin(cx.arena());
    let done = match found {
        Some(all) if count != 0 => set::pick(cx, &all, how, &mut |member| packer.push(member)),
        _ => Ok(()),
    };
    let reply = packer.finish(cx.arena(), Shape::Array);
    done.map(|()| reply)
}
