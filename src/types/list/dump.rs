//! A list as a payload.

use std::ops::ControlFlow;

use super::{Draft, End, KIND, List};
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Env, ReadCx, WriteCx};
use crate::rdb::{Bad, Payload, Shape, Writer, encode};
use crate::types::dump::{Checked, Dump, room};

pub const DUMP: Dump = Dump { kind: KIND, shape: Shape::List, dump, check, restore };

fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>, out: &mut Writer) -> Result<()> {
    let list = List::of_entry(cx, found.clone())?.ok_or(Error::NoSuchKey)?;
    out.u8(encode::LIST);
    out.number(list.len());
    let mut fits = Ok(());
    list.each(cx, 0..list.len(), End::Left, &mut |_, value| {
        out.string(value);
        fits = room(&cx.env, out.len());
        if fits.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    fits
}

fn check(_: &Env<'_>, payload: &Payload<'_>) -> Result<u64> {
    let mut count = 0;
    payload.strings(&mut |_| {
        count += 1;
        Ok::<_, Bad>(())
    })?;
    if count == 0 { Err(Bad.into()) } else { Ok(count) }
}

fn restore<'a>(cx: &mut WriteCx<'a>, to: &Entry<'_>, from: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    let mut draft: Draft<'a, '_> = Draft::begin(cx, to.clone(), from.elements)?;
    from.payload.strings(&mut |value| draft.push(cx, value))?;
    draft.finish(cx, expire_at_ms)?;
    Ok(())
}
