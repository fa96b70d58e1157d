//! A set that is made of others.

use super::algebra::{self, Operation};
use super::{KIND, note_kind};
use crate::encoding::DATA;
use crate::encoding::collection::HASH_LEN;
use crate::error::Result;
use crate::keyspace::build::Builder;
use crate::keyspace::{WriteCx, entry};
use crate::types::collection::Collection;

/// Makes `to` hold what the operation makes of the sets, whatever it held before, and returns the number of members.
/// Nothing leaves no key. Memory holds a batch of rows, whatever the size.
pub fn store<'a, 'k>(
    cx: &mut WriteCx<'a>,
    to: &[u8],
    operation: Operation,
    keys: impl ExactSizeIterator<Item = &'k [u8]> + Clone,
) -> Result<u64> {
    let mut members = algebra::open(&mut cx.sources(), operation, keys)?;
    members.light(&cx.env)?;
    let to = entry::find(cx, to)?;
    let mut build: Builder<'a> = Builder::begin(&cx.env, members.at_most())?;
    let mut all = Collection::create(cx, to, KIND)?;
    let mut size = 0;
    while let Some(sub) = members.next(&cx.sources())? {
        build.put(cx, DATA, all.sub_row(sub), &[])?;
        note_kind(&mut all, sub.get(HASH_LEN..).unwrap_or_default());
        size += 1;
    }
    build.finish(cx)?;
    all.resize(size);
    all.save_with_expiry(cx, 0)?;
    Ok(size)
}
