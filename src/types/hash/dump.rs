//! A hash as a payload.
//!
//! What an EXH* command has made is written as the module TairHash does, with the versions of its fields. Redis does not know these
//! of its own hashes, so they stay behind.

use super::KIND;
use super::write::note_lengths;
use crate::encoding::collection::{Expiring, TAIR};
use crate::encoding::hash::{self, Head, read_field};
use crate::encoding::{DATA, FIELD_EXPIRE};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, Env, ReadCx, WriteCx, entry};
use crate::rdb::{Payload, Shape, Writer, encode};
use crate::types::collection::Collection;
use crate::types::dump::{Checked, Dump, distinct_names, room};

pub const DUMP: Dump = Dump { kind: KIND, shape: Shape::Hash, dump, check, restore };

fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>, out: &mut Writer) -> Result<()> {
    let all = Collection::of(cx, found.clone(), KIND)?.ok_or(Error::NoSuchKey)?;
    all.light(&cx.env)?;
    if all.has_flag(TAIR) {
        return dump_tair(cx, &all, out);
    }
    let expiring = Expiring::decode(all.own())?;
    // None expires before the time at which the index has the first one.
    let times = (expiring.parts > 0).then(|| out.expiring_hash(expiring.earliest_ms));
    if times.is_none() {
        out.u8(encode::HASH);
    }
    let (place, mut count) = (out.place(), 0);
    let mut walk = all.walk().whole();
    while let Some(element) = walk.next(cx)? {
        let (head, value) = read_field(element.value)?;
        if head.is_expired(cx.env.now_ms) {
            continue;
        }
        let field = (element.member(), value);
        match times {
            Some(times) => out.field(times, field, head.expire_at_ms),
            None => {
                out.string(field.0);
                out.string(field.1);
            }
        }
        count += 1;
        room(&cx.env, out.len())?;
    }
    out.fill(place, count);
    Ok(())
}

fn dump_tair(cx: &mut ReadCx<'_>, all: &Collection<'_>, out: &mut Writer) -> Result<()> {
    let (place, mut count) = (out.tair_hash(all.entry.key), 0);
    let mut walk = all.walk().whole();
    while let Some(element) = walk.next(cx)? {
        let (head, value) = read_field(element.value)?;
        if !head.is_expired(cx.env.now_ms) {
            out.tair_field((element.member(), value), head.version, head.expire_at_ms);
            count += 1;
        }
        room(&cx.env, out.len())?;
    }
    out.fill(place, count);
    out.end_tair_hash();
    Ok(())
}

fn check(env: &Env<'_>, payload: &Payload<'_>) -> Result<u64> {
    distinct_names(env, |each| payload.fields(&mut |field| each(field.name)))
}

/// Fields whose time has come are left out; if there are no others, so is the key.
fn restore<'a>(cx: &mut WriteCx<'a>, to: &Entry<'_>, from: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    let mut build: Builder<'a> = Builder::begin(&cx.env, from.elements)?;
    let mut all = Collection::create(cx, to.clone(), KIND)?;
    all.set_flag(TAIR, from.payload.is_tair());
    let (mut size, mut expiring) = (0, Expiring::default());
    from.payload.fields(&mut |field| {
        let at_ms = field.expire_at_ms;
        let head = Head { expire_at_ms: at_ms, indexed_ms: at_ms, version: field.version };
        if head.is_expired(cx.env.now_ms) {
            return Ok(());
        }
        size += 1;
        note_lengths(&cx.env, &mut all, field.name, field.value);
        if at_ms != 0 {
            let earliest_ms = if expiring.parts == 0 { at_ms } else { expiring.earliest_ms.min(at_ms) };
            expiring = Expiring { parts: expiring.parts + 1, earliest_ms };
            build.put(cx, FIELD_EXPIRE, &hash::due(all.prefix(), at_ms, field.name), &[])?;
        }
        let row = all.member_row(&cx.env, field.name);
        build.put(cx, DATA, row, &[head.encode().as_slice(), field.value])
    })?;
    build.finish(cx)?;
    if size == 0 {
        return entry::remove(cx, to);
    }
    if expiring.parts > 0 {
        all.set_own(&expiring.encode());
    }
    all.resize(size);
    all.save_with_expiry(cx, expire_at_ms)
}
