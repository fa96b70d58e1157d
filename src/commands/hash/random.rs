//! HRANDFIELD.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View as _};
use crate::reply::{Packer, Reply, Shape};
use crate::types::hash::{self, Pick};

/// Most fields that are picked with repeats at once: their number is the client's word alone.
pub const MAX_REPEATS: u64 = 10_000_000;

pub fn hrandfield(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if args.is_empty() {
        let Some(all) = hash::find(cx, key)? else { return Ok(Reply::Nil) };
        let mut picked = None;
        hash::pick(cx, &all, Pick::One, &mut |field| picked = Some(field.name.to_vec()))?;
        return Ok(picked.map_or(Reply::Nil, |field| cx.bulk(&field)));
    }
    let count = picks(args.int()?)?;
    let with_values = match args.left() {
        0 => false,
        1 if args.keyword("withvalues") => true,
        _ => return Err(Error::Syntax.into()),
    };
    if with_values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(Error::OutOfRange.into());
    }
    let found = hash::find(cx, key)?;
    let how = match u64::try_from(count) {
        Ok(count) => Pick::Distinct(count),
        Err(_) if count.unsigned_abs() > MAX_REPEATS => return Err(Error::OutOfRange.into()),
        Err(_) => Pick::Repeated(count.unsigned_abs()),
    };
    let mut packer = Packer::begin(cx.arena());
    let done = match found {
        Some(all) if count != 0 => hash::pick(cx, &all, how, &mut |field| {
            packer.push(field.name);
            if with_values {
                packer.push(field.value);
            }
        }),
        _ => Ok(()),
    };
    let reply = packer.finish(cx.arena(), if with_values { Shape::Pairs } else { Shape::Array });
    done.map(|()| reply)
}

/// How many are asked for; below zero with repeats. Redis wants to be able to turn the sign.
pub fn picks(count: i64) -> Result<i64> {
    if count == i64::MIN {
        return Err(Error::reply(format!(
            "ERR value is out of range, value must between {} and {}",
            -i64::MAX,
            i64::MAX
        ))
        .into());
    }
    Ok(count)
}
