//! A key's value as a payload ([`crate::rdb`]), and the other way round. What a type does with it, its own `dump` says.
//!
//! A payload is read twice: first all of it is checked, then its elements are written. So what is refused has changed
//! nothing, and it is known how much there is to write.

use std::collections::BTreeSet;

use super::{hash, list, set, stream, string, zset};
use crate::encoding::collection::hash64;
use crate::encoding::meta::Kind;
use crate::error::{Error, Result, Stop};
use crate::keyspace::{Entry, Env, ReadCx, WriteCx};
use crate::rdb::{self, Bad, Payload, Shape, Writer};

/// What a type does with payloads.
pub struct Dump {
    pub kind: Kind,
    pub shape: Shape,
    /// Writes the value of a live key.
    pub dump: fn(&mut ReadCx<'_>, &Entry<'_>, &mut Writer) -> Result<()>,
    /// Checks all of a payload; how many elements it has.
    pub check: fn(&Env<'_>, &Payload<'_>) -> Result<u64>,
    /// Makes a key hold what was checked.
    pub restore: for<'a> fn(&mut WriteCx<'a>, &Entry<'_>, &Checked<'_>, u64) -> Result<()>,
}

const DUMPS: &[Dump] = &[string::DUMP, list::DUMP, set::DUMP, zset::DUMP, hash::DUMP, stream::DUMP];

/// A payload that holds what it promises.
pub struct Checked<'p> {
    pub payload: Payload<'p>,
    pub elements: u64,
    by: &'static Dump,
}

/// Longest payload that is looked at on an I/O thread: what is compressed is up to 88 times as long.
const IO_THREAD_MAX_PAYLOAD: usize = 32 * 1024;

/// The payload of a live key. One that no client could send back is refused.
pub fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>) -> Result<Vec<u8>> {
    let Some(meta) = found.live() else { return Err(Error::NoSuchKey.into()) };
    let kind = meta.header.kind;
    let by = DUMPS.iter().find(|by| by.kind == kind).ok_or(Error::Damaged("a type that is not dumped"))?;
    let mut out = Writer::new(cx.env.limits.dump_version);
    (by.dump)(cx, found, &mut out)?;
    Ok(out.finish())
}

/// To be asked while a payload grows.
pub fn room(env: &Env<'_>, len: usize) -> Result<()> {
    env.move_if_heavy(len, Env::IO_THREAD_MAX_BYTES)?;
    if len > env.limits.max_string_len { Err(Error::StringTooLong.into()) } else { Ok(()) }
}

/// Checks a payload. Much of it is work for a worker.
pub fn check<'p>(env: &Env<'_>, payload: &'p [u8]) -> Result<Checked<'p>> {
    env.move_if_heavy(payload.len(), IO_THREAD_MAX_PAYLOAD)?;
    let (content, version) =
        rdb::open(payload).ok_or_else(|| Error::reply("ERR DUMP payload version or checksum are wrong"))?;
    let payload = Payload::of(content, version, env.limits.max_string_len)?;
    let by = DUMPS.iter().find(|by| by.shape == payload.shape).ok_or(Bad)?;
    let elements = (by.check)(env, &payload)?;
    Ok(Checked { payload, elements, by })
}

/// Makes a key hold what was checked, whatever it held, with this expiry (0: none).
pub fn restore(cx: &mut WriteCx<'_>, to: &Entry<'_>, checked: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    (checked.by.restore)(cx, to, checked, expire_at_ms)
}

/// Counts names, of which there must be one, and none twice. `each` shows all of them and is called again if that must be. Memory is
/// taken for their hashes.
pub fn distinct_names(
    env: &Env<'_>,
    each: impl Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
) -> Result<u64> {
    let hash_of = |name: &[u8]| hash64(env.keyspace.seed(), name);
    let mut hashes = Vec::new();
    each(&mut |name| {
        hashes.push(hash_of(name));
        Ok(())
    })?;
    let count = hashes.len() as u64;
    hashes.sort_unstable();
    let twice: BTreeSet<u64> =
        hashes.iter().zip(hashes.iter().skip(1)).filter(|(a, b)| a == b).map(|(hash, _)| *hash).collect();
    if !twice.is_empty() {
        // Hardly ever two names have one hash.
        let mut seen = BTreeSet::new();
        each(&mut |name| {
            let is_new = !twice.contains(&hash_of(name)) || seen.insert(name.to_vec());
            if is_new { Ok(()) } else { Err(Bad.into()) }
        })?;
    }
    if count == 0 { Err(Bad.into()) } else { Ok(count) }
}

impl From<Bad> for Stop {
    fn from(_: Bad) -> Stop {
        Error::reply("ERR Bad data format").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_dumped_and_every_shape_restored() {
        for kind in Kind::ALL {
            assert_eq!(DUMPS.iter().filter(|by| by.kind == kind).count(), 1, "{kind:?}");
        }
        for shape in [Shape::String, Shape::List, Shape::Set, Shape::SortedSet, Shape::Hash, Shape::Stream] {
            assert_eq!(DUMPS.iter().filter(|by| by.shape == shape).count(), 1, "{shape:?}");
        }
    }
}
