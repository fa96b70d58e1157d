//! Strings as numbers.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{View as _, WriteCx};
use crate::reply::Reply;
use crate::types::string;

pub fn incr(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    Ok(Reply::Integer(string::increment(cx, args.key()?, 1)?))
}

pub fn decr(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    Ok(Reply::Integer(string::increment(cx, args.key()?, -1)?))
}

pub fn incrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by) = (args.key()?, args.int()?);
    Ok(Reply::Integer(string::increment(cx, key, by)?))
}

pub fn decrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by) = (args.key()?, args.int()?);
    let by = by.checked_neg().ok_or(Error::reply("ERR decrement would overflow"))?;
    Ok(Reply::Integer(string::increment(cx, key, by)?))
}

pub fn incrbyfloat(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by) = (args.key()?, args.next()?);
    let sum = string::increment_float(cx, key, by)?;
    Ok(cx.bulk(&sum))
}
