//! What a string, a hash, a set, ... is: verbs over a key in a transaction.

pub mod bits;
pub mod collection;
pub mod hash;
pub mod list;
pub mod set;
pub mod sort;
pub mod string;
pub mod strings;
pub mod zset;

use crate::encoding::meta::Body;
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Event, WriteCx};

/// Makes `to` hold what the live key `from` holds, its expiry included. To those who are told it is a new key even where it
/// takes the place of another.
pub fn replace_value(cx: &mut WriteCx<'_>, from: &Entry<'_>, to: &Entry<'_>) -> Result<()> {
    if to.exists() {
        cx.notify_in(to.db, Event::NEW, to.key);
    }
    copy_value(cx, from, to, from.expire_at_ms())
}

/// Makes `to` hold what the live key `from` holds, with this expiry (0: none). `from` stays as it is. The cost grows
/// with the value, so a big one is copied on a worker; memory does not.
pub fn copy_value(cx: &mut WriteCx<'_>, from: &Entry<'_>, to: &Entry<'_>, expire_at_ms: u64) -> Result<()> {
    let Some(meta) = from.live() else { return Err(Error::NoSuchKey) };
    match meta.header.body {
        Body::Inline => {
            let value = meta.rest;
            cx.lend(|cx, arena| string::set(cx, to, value.of(arena), expire_at_ms))
        }
        Body::Rows { .. } => collection::copy::copy(cx, from, to, expire_at_ms),
    }
}
