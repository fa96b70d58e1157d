//! A set as a payload.

use super::{KIND, note_kind};
use crate::encoding::DATA;
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, Env, ReadCx, WriteCx};
use crate::rdb::{Payload, Shape, Writer, encode};
use crate::types::collection::Collection;
use crate::types::dump::{Checked, Dump, distinct_names, room};

pub const DUMP: Dump = Dump { kind: KIND, shape: Shape::Set, dump, check, restore };

fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>, out: &mut Writer) -> Result<()> {
    let all = Collection::of(cx, found.clone(), KIND)?.ok_or(Error::NoSuchKey)?;
    all.light(&cx.env)?;
    out.u8(encode::SET);
    out.number(all.size());
    let mut walk = all.walk().whole();
    while let Some(element) = walk.next(cx)? {
        out.string(element.member());
        room(&cx.env, out.len())?;
    }
    Ok(())
}

fn check(env: &Env<'_>, payload: &Payload<'_>) -> Result<u64> {
    distinct_names(env, |each| payload.strings(each))
}

fn restore<'a>(cx: &mut WriteCx<'a>, to: &Entry<'_>, from: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    let mut build: Builder<'a> = Builder::begin(&cx.env, from.elements)?;
    let mut all = Collection::create(cx, to.clone(), KIND)?;
    from.payload.strings(&mut |member| {
        note_kind(&mut all, member);
        build.put(cx, DATA, all.member_row(&cx.env, member), &[])
    })?;
    build.finish(cx)?;
    all.resize(from.elements);
    all.save_with_expiry(cx, expire_at_ms)
}
