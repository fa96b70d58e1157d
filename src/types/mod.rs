//! What a string, a hash, a set, ... is: verbs over a key in a transaction.

pub mod bits;
pub mod collection;
pub mod dump;
pub mod geo;
pub mod hash;
pub mod hyperloglog;
pub mod list;
pub mod set;
pub mod sort;
pub mod stream;
pub mod string;
pub mod strings;
pub mod zset;

use crate::encoding::meta::Body;
use crate::error::{Error, Result};
use crate::keyspace::parts::Parts;
use crate::keyspace::{Entry, Event, WriteCx};

/// Types whose parts expire: what the keyspace is opened with.
pub const PARTS: &[Parts] = &[hash::PARTS];

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
    let Some(meta) = from.live() else { return Err(Error::NoSuchKey.into()) };
    match meta.header.body {
        Body::Inline => {
            let value = meta.rest;
            cx.lend(|cx, arena| string::replace(cx, to, value.of(arena), expire_at_ms))
        }
        // What it owns gets versions of its own.
        Body::Rows { .. } if meta.header.kind.info().owns_versions => {
            stream::copy(cx, from, to, expire_at_ms)
        }
        Body::Rows { .. } => collection::copy::copy(cx, from, to, expire_at_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::meta::Kind;

    #[test]
    fn every_type_whose_parts_expire_says_what_it_does_with_them() {
        for kind in Kind::ALL {
            let given = PARTS.iter().filter(|parts| parts.kind == kind).count();
            assert_eq!(given, usize::from(kind.info().parts_expire), "{kind:?}");
        }
    }
}
