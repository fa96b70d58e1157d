//! What a string, a hash, a set, ... is: verbs over a key in a transaction.

pub mod bits;
pub mod string;

use crate::encoding::meta::Kind;
use crate::error::{Error, Result};
use crate::keyspace::{Entry, WriteCx};

/// Makes `to` hold what the live key `from` holds, with this expiry (0: none). `from` stays as it is. The cost grows
/// with the value, so a big one is copied on a worker.
pub fn copy_value(cx: &mut WriteCx<'_>, from: &Entry<'_>, to: &Entry<'_>, expire_at_ms: u64) -> Result<()> {
    let Some(meta) = from.live() else { return Err(Error::NoSuchKey) };
    match meta.header.kind {
        Kind::String => string::copy(cx, from, to, expire_at_ms),
        Kind::Hash | Kind::Set | Kind::List | Kind::SortedSet => {
            Err(Error::Damaged("a type that this version cannot hold"))
        }
    }
}
