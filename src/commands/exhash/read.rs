//! Reading.

use crate::commands::hash::all;
use crate::commands::scan::{cursor, elements};
use crate::dispatch::args::Args;
use crate::encoding::hash::Head;
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View as _};
use crate::reply::{Packer, Reply, Shape};
use crate::types::hash;

/// Words of EXHSCAN with all of its options.
const SCAN_MAX_WORDS: usize = 7;

/// A version as clients see it.
pub fn shown(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

pub fn exhget(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    Ok(hash::get(cx, key, field)?.map_or(Reply::Nil, Reply::span))
}

pub fn exhgetwithver(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    let Some(mut found) = hash::find(cx, key)? else { return Ok(Reply::Nil) };
    Ok(hash::field(cx, &mut found, field)?.map_or(Reply::Nil, |(head, value)| {
        Reply::Array(vec![Reply::span(value), Reply::Integer(shown(head.version))])
    }))
}

pub fn exhmget(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    several(cx, args, |packer, _, value| packer.push(value))
}

pub fn exhmgetwithver(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    several(cx, args, |packer, head, value| packer.push_pair(value, shown(head.version)))
}

fn several(
    cx: &mut ReadCx<'_>,
    mut args: Args<'_>,
    pack: impl Fn(&mut Packer, Head, &[u8]),
) -> Result<Reply> {
    let key = args.key()?;
    let mut values = Packer::begin(cx.arena());
    let done = hash::get_each(cx, key, args.rest(), &mut |found| match found {
        Some((head, value)) => pack(&mut values, head, value),
        None => values.push_nil(),
    });
    let reply = values.finish(cx.arena(), Shape::Array);
    done.map(|()| reply)
}

/// What is expired does not count in either form.
pub fn exhlen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    if args.left() > 1 {
        return Err(Error::Arity("exhlen".into()).into());
    }
    if !args.is_empty() && !args.keyword("noexp") {
        return Err(Error::Syntax.into());
    }
    Ok(Reply::Integer(hash::len(cx, key)? as i64))
}

pub fn exhexists(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    Ok(Reply::flag(hash::get(cx, key, field)?.is_some()))
}

pub fn exhstrlen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    Ok(Reply::Integer(hash::get(cx, key, field)?.map_or(0, |value| value.len as i64)))
}

/// -1 without a key, -2 without a field.
pub fn exhver(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    super::expire::of_field(cx, (key, field), (-1, -2), |_, head| shown(head.version))
}

pub fn exhkeys(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Array, |packer, field| packer.push(field.name))
}

pub fn exhvals(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Array, |packer, field| packer.push(field.value))
}

pub fn exhgetall(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Array, |packer, field| {
        packer.push(field.name);
        packer.push(field.value);
    })
}

pub fn exhgetallwithver(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Array, |packer, field| {
        packer.push(field.name);
        packer.push(field.value);
        packer.push_integer(shown(field.version));
    })
}

pub fn exhscan(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    if args.words().len() > SCAN_MAX_WORDS {
        return Err(Error::Arity("exhscan".into()).into());
    }
    let found = hash::find(cx, args.key()?)?;
    let cursor = cursor(args.next()?).map_err(|_| Error::Syntax)?;
    let options = elements::Options::parse(args, None).map_err(|_| Error::Syntax)?;
    let Some(found) = found else { return Ok(elements::nothing()) };
    elements::reply(cx, |cx, packer| {
        hash::page(cx, &found, cursor, options.count, &mut |field| {
            if options.admit(field.name) {
                packer.push(field.name);
                packer.push(field.value);
            }
        })
    })
}
