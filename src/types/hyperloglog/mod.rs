//! HyperLogLog: about how many different elements were added, in at most 12 KiB.
//!
//! The value is a string with the bytes that Redis gives it, so that GET, SET, DUMP and other tools see the same: a
//! header of [`HEADER_LEN`] bytes, then 16,384 registers, either [`sparse`] as runs or [`dense`] with six bits each.
//!
//! ```text
//! "HYLL" | form u8: 0 dense, 1 sparse | 3 unused | cached estimate, 8 bytes, the lowest first; the top bit: it is out of date
//! ```
//!
//! Clients can store any string under a key, so nothing in one is believed before it is checked.

mod dense;
mod estimate;
mod place;
pub mod selftest;
mod sketch;
mod sparse;

#[cfg(test)]
mod tests;

use self::estimate::Histogram;
use self::place::Place;
pub use self::sketch::Sketch;
use super::string::{self, Draft, Value};
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Env, Event, View, WriteCx, entry};

pub const REGISTERS: usize = 1 << place::INDEX_BITS;
pub const HEADER_LEN: usize = 16;
/// A dense value has exactly this length.
pub const DENSE_LEN: usize = HEADER_LEN + dense::LEN;
/// No sparse one is longer: each register takes two bytes at worst.
const SPARSE_MAX_LEN: usize = HEADER_LEN + 2 * REGISTERS;
const MAGIC: [u8; 4] = *b"HYLL";
/// Where the byte of the form stands, and the last byte of the cached estimate.
const FORM_AT: usize = 4;
const CACHE_AT: usize = 8;
const STALE_AT: usize = 15;
/// In the byte at [`STALE_AT`]: the cached estimate is out of date.
const STALE: u8 = 0x80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Dense,
    Sparse,
}

/// The registers are not what a HyperLogLog has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt;

impl From<Corrupt> for crate::error::Stop {
    fn from(_: Corrupt) -> crate::error::Stop {
        Error::reply("INVALIDOBJ Corrupted HLL object detected").into()
    }
}

/// What the first bytes of a value say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    form: Form,
    /// The estimate, unless it is out of date.
    cached: Option<u64>,
}

impl Header {
    /// None where the value is no HyperLogLog.
    fn decode(bytes: &[u8], value_len: u64) -> Option<Header> {
        let head: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        let [m0, m1, m2, m3, form, _, _, _, cached @ ..] = *head;
        let form = match form {
            0 if value_len == DENSE_LEN as u64 => Form::Dense,
            1 => Form::Sparse,
            _ => return None,
        };
        if [m0, m1, m2, m3] != MAGIC {
            return None;
        }
        let fresh = head.get(STALE_AT).is_some_and(|byte| byte & STALE == 0);
        // The lowest byte comes first.
        let cached = u64::from_be_bytes(cached).swap_bytes();
        Some(Header { form, cached: fresh.then_some(cached) })
    }
}

/// A key that holds a HyperLogLog.
struct Stored {
    value: Value,
    header: Header,
}

impl Stored {
    /// None where there is no key.
    fn of(cx: &impl View, found: &Entry<'_>) -> Result<Option<Stored>> {
        let Some(value) = string::value(found)? else { return Ok(None) };
        let head: [u8; HEADER_LEN] = value.few(cx, 0)?;
        let head = head.get(..value.len() as usize).unwrap_or(&head);
        let header = Header::decode(head, value.len())
            .ok_or_else(|| Error::reply("WRONGTYPE Key is not a valid HyperLogLog string value."))?;
        Ok(Some(Stored { value, header }))
    }

    /// All of it. What is too long to be a sparse one is not read.
    fn read(&self, cx: &impl View) -> Result<Sketch> {
        if self.value.len() > SPARSE_MAX_LEN as u64 {
            return Err(Corrupt.into());
        }
        let mut bytes = Vec::new();
        self.value.read_into(cx, 0..self.value.len(), &mut bytes)?;
        Ok(Sketch::from_parts(self.header.form, bytes))
    }
}

/// Adds elements. Whether anything has changed: a new key has, whatever is added to it.
pub fn add<'e>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    elements: impl ExactSizeIterator<Item = &'e [u8]>,
) -> Result<bool> {
    cx.env.move_if_heavy(elements.len(), Env::IO_THREAD_MAX_ROWS)?;
    let found = entry::find(cx, key)?;
    let places = elements.map(Place::of);
    let stored = Stored::of(cx, &found)?;
    let changed = match &stored {
        Some(Stored { value, header: Header { form: Form::Dense, cached } }) => {
            let lower = lower_than(cx, value, places)?;
            !lower.is_empty() && raise_in_place(cx, found, lower, cached.is_some())?
        }
        sparse => {
            let mut sketch = sparse.as_ref().map_or_else(|| Ok(Sketch::new()), |stored| stored.read(cx))?;
            let mut changed = sparse.is_none();
            for place in places {
                changed |= sketch.raise(place, cx.env.limits.hll_sparse_bytes)?;
            }
            if changed {
                sketch.forget_estimate();
                string::set(cx, &found, sketch.bytes(), found.expire_at_ms())?;
            }
            changed
        }
    };
    if changed {
        cx.notify(Event::PFADD, key);
    }
    Ok(changed)
}

/// Those places whose registers are lower. Most elements of a full value change nothing, and then no piece is copied.
fn lower_than(
    cx: &WriteCx<'_>,
    value: &Value,
    places: impl ExactSizeIterator<Item = Place>,
) -> Result<Vec<Place>> {
    let mut lower = Vec::new();
    for place in places {
        let pair = value.few(cx, (HEADER_LEN + dense::byte_of(place.register)) as u64)?;
        if dense::get_at(pair, place.register) < place.rank {
            lower.push(place);
        }
    }
    Ok(lower)
}

/// Raises registers of a dense value where it is stored: only the pieces that hold them are read and written.
fn raise_in_place(
    cx: &mut WriteCx<'_>,
    found: Entry<'_>,
    mut places: Vec<Place>,
    is_cached: bool,
) -> Result<bool> {
    // In order, so that each piece is read once.
    places.sort_unstable();
    let mut draft = Draft::open(cx, found, 0)?;
    let mut changed = false;
    for place in places {
        let (at, mut pair) = (HEADER_LEN + dense::byte_of(place.register), [0; 2]);
        draft.read(cx, at as u64, &mut pair)?;
        if dense::get_at(pair, place.register) >= place.rank {
            continue;
        }
        let pair = dense::set_at(pair, place.register, place.rank);
        let touched = pair.get(..dense::touched(place.register)).unwrap_or(&pair);
        draft.write(cx, at as u64, touched)?;
        changed = true;
    }
    if changed && is_cached {
        let mut last = [0];
        draft.read(cx, STALE_AT as u64, &mut last)?;
        draft.write(cx, STALE_AT as u64, &[last[0] | STALE])?;
    }
    draft.finish(cx)?;
    Ok(changed)
}

/// The estimate for one key. It is stored with the key, so that it is made once between changes.
pub fn count(cx: &mut WriteCx<'_>, key: &[u8]) -> Result<u64> {
    let found = entry::find_counted(cx, key)?;
    let Some(stored) = Stored::of(cx, &found)? else { return Ok(0) };
    if let Some(cached) = stored.header.cached {
        return Ok(cached);
    }
    let estimate = stored.read(cx)?.histogram()?.estimate();
    let mut draft = Draft::open(cx, found, 0)?;
    draft.write(cx, CACHE_AT as u64, &estimate.swap_bytes().to_be_bytes())?;
    draft.finish(cx)?;
    Ok(estimate)
}

/// The estimate for several keys together. Nothing is stored.
pub fn count_union<'k>(cx: &mut WriteCx<'_>, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Result<u64> {
    let mut union = Union::default();
    move_if_many(&cx.env, keys.len())?;
    for key in keys {
        union.join(cx, key)?;
    }
    let mut histogram = Histogram::default();
    union.registers.iter().for_each(|rank| histogram.note(*rank, 1));
    Ok(histogram.estimate())
}

/// Each key is as much to read as a long string.
fn move_if_many(env: &Env<'_>, keys: usize) -> Result<()> {
    env.move_if_heavy(keys.saturating_mul(DENSE_LEN), Env::IO_THREAD_MAX_BYTES)
}

/// The highest rank of each register of some keys.
struct Union {
    registers: Box<[u8; REGISTERS]>,
    has_dense: bool,
}

impl Default for Union {
    fn default() -> Union {
        Union { registers: Box::new([0; REGISTERS]), has_dense: false }
    }
}

impl Union {
    /// Takes a key in, if it is there.
    fn join(&mut self, cx: &mut WriteCx<'_>, key: &[u8]) -> Result<()> {
        let mark = cx.arena().len();
        let found = entry::find_counted(cx, key)?;
        if let Some(stored) = Stored::of(cx, &found)? {
            self.has_dense |= stored.header.form == Form::Dense;
            stored.read(cx)?.join_into(&mut self.registers)?;
        }
        cx.arena().truncate(mark);
        Ok(())
    }
}

/// Makes `to` the union of itself and other keys.
pub fn merge<'k>(
    cx: &mut WriteCx<'_>,
    to: &[u8],
    others: impl ExactSizeIterator<Item = &'k [u8]>,
) -> Result<()> {
    move_if_many(&cx.env, others.len() + 1)?;
    let mut union = Union::default();
    union.join(cx, to)?;
    for key in others {
        union.join(cx, key)?;
    }
    let found = entry::find(cx, to)?;
    let mut sketch = match Stored::of(cx, &found)? {
        Some(stored) => stored.read(cx)?,
        None => Sketch::new(),
    };
    if union.has_dense {
        sketch.make_dense()?;
    }
    sketch.raise_all(&union.registers, cx.env.limits.hll_sparse_bytes)?;
    sketch.forget_estimate();
    string::set(cx, &found, sketch.bytes(), found.expire_at_ms())?;
    cx.notify(Event::PFADD, to);
    Ok(())
}

/// The key as it is, for those who look inside; None where there is no key.
pub fn read(cx: &mut impl View, found: &Entry<'_>) -> Result<Option<Sketch>> {
    let stored = Stored::of(cx, found)?;
    stored.map(|stored| stored.read(cx)).transpose()
}

/// Stores what [`read`] gave, changed. Nobody is told: to clients the key is the same.
pub fn replace(cx: &mut WriteCx<'_>, found: &Entry<'_>, sketch: &Sketch) -> Result<()> {
    string::set(cx, found, sketch.bytes(), found.expire_at_ms())
}
