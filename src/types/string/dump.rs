//! A string as a payload.

use super::{KIND, set, value};
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Env, ReadCx, View as _, WriteCx};
use crate::rdb::{Payload, Shape, Writer, encode};
use crate::types::dump::{Checked, Dump, room};

pub const DUMP: Dump = Dump { kind: KIND, shape: Shape::String, dump, check, restore };

fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>, out: &mut Writer) -> Result<()> {
    let string = value(found)?.ok_or(Error::NoSuchKey)?.read(cx)?;
    room(&cx.env, string.len)?;
    out.u8(encode::STRING);
    out.string(cx.bytes(string));
    Ok(())
}

fn check(_: &Env<'_>, payload: &Payload<'_>) -> Result<u64> {
    payload.string()?;
    Ok(1)
}

fn restore(cx: &mut WriteCx<'_>, to: &Entry<'_>, from: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    set(cx, to, &from.payload.string()?, expire_at_ms)
}
