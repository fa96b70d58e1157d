//! Strings as numbers.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Event, View as _, WriteCx};
use crate::reply::Reply;
use crate::types::string;

pub fn incr(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    add(cx, args.key()?, 1)
}

pub fn decr(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    add(cx, args.key()?, -1)
}

pub fn incrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by) = (args.key()?, args.int()?);
    add(cx, key, by)
}

pub fn decrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by) = (args.key()?, args.int()?);
    let by = by.checked_neg().ok_or_else(|| Error::reply("ERR decrement would overflow"))?;
    add(cx, key, by)
}

fn add(cx: &mut WriteCx<'_>, key: &[u8], by: i64) -> Result<Reply> {
    let sum = string::increment(cx, key, by)?;
    cx.notify(Event::INCRBY, key);
    Ok(Reply::Integer(sum))
}

pub fn incrbyfloat(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, by) = (args.key()?, args.next()?);
    let sum = string::increment_float(cx, key, by)?;
    cx.notify(Event::INCRBYFLOAT, key);
    Ok(cx.bulk(&sum))
}
