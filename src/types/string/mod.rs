//! What a string is: up to [`INLINE_MAX`] bytes in its metadata row, above that in pieces.

pub mod compare;
mod draft;
mod dump;
pub mod lcs;
mod pieces;

#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};

pub use draft::Draft;
pub use dump::DUMP;
pub use pieces::Pieces;

use crate::encoding::DATA;
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::string::{INLINE_MAX, PIECE_LEN};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, Env, Event, View, WriteCx, entry};
use crate::number;
use crate::number::extended::{self, Extended};
use crate::reply::Span;

pub const KIND: Kind = Kind::String;

/// The value of a live key, not yet read when it is long.
#[derive(Debug, Clone)]
pub enum Value {
    /// In the arena.
    Inline(Span),
    Pieces(Pieces),
}

/// The value of a key that must be a string if it exists.
#[inline]
pub fn value(found: &Entry<'_>) -> Result<Option<Value>> {
    let Some(meta) = found.live_as(KIND)? else { return Ok(None) };
    Ok(Some(match meta.header.body {
        Body::Inline => Value::Inline(meta.rest),
        Body::Rows { version, size } => Value::Pieces(Pieces::new(found, version, size)),
    }))
}

impl Value {
    pub fn len(&self) -> u64 {
        match self {
            Value::Inline(span) => span.len as u64,
            Value::Pieces(pieces) => pieces.len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole value, in the arena.
    pub fn read(&self, cx: &mut impl View) -> Result<Span> {
        self.read_range(cx, 0..self.len())
    }

    /// The part of the value that lies in the range, in the arena.
    pub fn read_range(&self, cx: &mut impl View, range: Range<u64>) -> Result<Span> {
        let range = range.start.min(self.len())..range.end.min(self.len());
        match self {
            Value::Inline(span) => {
                let len = range.end.saturating_sub(range.start) as usize;
                Ok(Span { start: span.start + range.start as usize, len })
            }
            Value::Pieces(pieces) => {
                cx.env().move_if_heavy(
                    (range.end.saturating_sub(range.start)) as usize,
                    Env::IO_THREAD_MAX_BYTES,
                )?;
                cx.arena().ask(range.end.saturating_sub(range.start) as usize)?;
                let mut arena = std::mem::take(cx.arena());
                let start = arena.len();
                let read = pieces.read_into(cx, range, &mut arena);
                let len = arena.len() - start;
                *cx.arena() = arena;
                read.map(|()| Span { start, len })
            }
        }
    }

    /// A few bytes of the value from `at` on, with zeros behind its end.
    pub fn few<const N: usize>(&self, cx: &impl View, at: u64) -> Result<[u8; N]> {
        let mut few = [0; N];
        let end = self.len().min(at + N as u64);
        let out = few.get_mut(..end.saturating_sub(at) as usize).unwrap_or_default();
        match self {
            Value::Inline(span) => {
                let part = cx.bytes(*span).get(at as usize..end as usize);
                out.copy_from_slice(part.unwrap_or(&[]));
            }
            Value::Pieces(pieces) => pieces.fill(cx, at, out)?,
        }
        Ok(few)
    }

    /// Appends the part of the value that lies in the range to `out`.
    pub fn read_into(&self, cx: &impl View, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let range = range.start.min(self.len())..range.end.min(self.len());
        match self {
            Value::Inline(span) => {
                let part = cx.bytes(*span).get(range.start as usize..range.end as usize);
                out.extend_from_slice(part.unwrap_or(&[]));
                Ok(())
            }
            Value::Pieces(pieces) => pieces.read_into(cx, range, out),
        }
    }

    /// Shows the bytes of the range as [`Pieces::each`] does: runs with their offsets, zeros between them.
    pub fn each(
        &self,
        cx: &impl View,
        range: Range<u64>,
        visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Value::Inline(span) => {
                let part = cx.bytes(*span).get(range.start as usize..range.end as usize);
                if let Some(part) = part.filter(|part| !part.is_empty()) {
                    let _ = visit(range.start, part);
                }
                Ok(())
            }
            Value::Pieces(pieces) => pieces.each(cx, range, visit),
        }
    }
}

/// Makes the key this string, whatever it was. The time has not come yet; see [`set_expiring`].
pub fn set(cx: &mut WriteCx<'_>, found: &Entry<'_>, value: &[u8], expire_at_ms: u64) -> Result<()> {
    if value.len() <= INLINE_MAX {
        let header = Header { kind: KIND, expire_at_ms, body: Body::Inline };
        return entry::store(cx, found, &header, &[value]);
    }
    cx.env.move_if_heavy(value.len(), Env::IO_THREAD_MAX_BYTES)?;
    let pieces = Pieces::new(found, cx.new_version()?, value.len() as u64);
    let mut build = Builder::begin(&cx.env, (value.len() / PIECE_LEN) as u64)?;
    for (number, bytes) in (0..).zip(value.chunks(PIECE_LEN)) {
        build.put(cx, DATA, &pieces.row(number), &[bytes])?;
    }
    build.finish(cx)?;
    store_pieces(cx, found, &pieces, expire_at_ms)
}

/// As [`set`], of a value that takes the place of another one rather than being made from it.
pub fn replace(cx: &mut WriteCx<'_>, found: &Entry<'_>, value: &[u8], expire_at_ms: u64) -> Result<()> {
    entry::tell_overwritten(cx, found, KIND);
    set(cx, found, value, expire_at_ms)
}

/// As [`replace`], and tells so. A time that has come already leaves no key.
pub fn set_expiring(cx: &mut WriteCx<'_>, found: &Entry<'_>, value: &[u8], expire_at_ms: u64) -> Result<()> {
    let passed = expire_at_ms <= cx.env.now_ms;
    if !passed {
        replace(cx, found, value, expire_at_ms)?;
    } else if found.exists() {
        entry::take_away(cx, found)?;
    } else {
        cx.notify(Event::NEW, found.key);
    }
    cx.notify(Event::SET, found.key);
    cx.notify(Event::EXPIRE, found.key);
    if passed {
        cx.notify(Event::EXPIRED, found.key);
    }
    Ok(())
}

/// Puts the metadata of a string whose pieces are written.
pub fn store_pieces(
    cx: &mut WriteCx<'_>,
    found: &Entry<'_>,
    pieces: &Pieces,
    expire_at_ms: u64,
) -> Result<()> {
    let body = Body::Rows { version: pieces.version, size: pieces.len };
    entry::store(cx, found, &Header { kind: KIND, expire_at_ms, body }, &[])
}

/// Appends to the string and returns its new length.
pub fn append(cx: &mut WriteCx<'_>, key: &[u8], tail: &[u8]) -> Result<u64> {
    let found = entry::find(cx, key)?;
    let len = value(&found)?.map_or(0, |value| value.len());
    let new_len = admitted_len(&cx.env, len, tail.len())?;
    let mut draft = Draft::open(cx, found, new_len)?;
    draft.write(cx, len, tail)?;
    draft.finish(cx)?;
    Ok(new_len)
}

/// Overwrites a part of the string, which grows as needed, and returns its new length. Nothing to write makes no key.
pub fn overwrite(cx: &mut WriteCx<'_>, key: &[u8], at: u64, bytes: &[u8]) -> Result<u64> {
    let found = entry::find(cx, key)?;
    let len = value(&found)?.map_or(0, |value| value.len());
    if bytes.is_empty() {
        return Ok(len);
    }
    let end = admitted_len(&cx.env, at, bytes.len())?;
    let mut draft = Draft::open(cx, found, end)?;
    draft.write(cx, at, bytes)?;
    draft.finish(cx)?;
    Ok(len.max(end))
}

/// `len + more`, unless a string may not be that long.
fn admitted_len(env: &Env<'_>, len: u64, more: usize) -> Result<u64> {
    len.checked_add(more as u64)
        .filter(|total| *total <= env.limits.max_string_len as u64)
        .ok_or_else(|| Error::StringTooLong.into())
}

/// Adds to the number that the string spells and returns the sum.
pub fn increment(cx: &mut WriteCx<'_>, key: &[u8], by: i64) -> Result<i64> {
    let found = entry::find(cx, key)?;
    let before = match value(&found)? {
        None => 0,
        Some(Value::Inline(span)) => number::parse_i64(cx.bytes(span)).ok_or(Error::NotInteger)?,
        Some(Value::Pieces(_)) => return Err(Error::NotInteger.into()),
    };
    let after =
        before.checked_add(by).ok_or_else(|| Error::reply("ERR increment or decrement would overflow"))?;
    set(cx, &found, itoa::Buffer::new().format(after).as_bytes(), found.expire_at_ms())?;
    Ok(after)
}

/// Adds to the floating point number that the string spells and returns the sum as it is spelt then.
pub fn increment_float(cx: &mut WriteCx<'_>, key: &[u8], by: &[u8]) -> Result<Vec<u8>> {
    let found = entry::find(cx, key)?;
    let before = match value(&found)? {
        None => Extended::ZERO,
        Some(value) if value.len() <= extended::MAX_TEXT_LEN as u64 => {
            let span = value.read(cx)?;
            Extended::parse(cx.bytes(span)).ok_or(Error::NotFloat)?
        }
        Some(_) => return Err(Error::NotFloat.into()),
    };
    let by = Extended::parse(by).ok_or(Error::NotFloat)?;
    let sum = before.plus(by).map_err(|_| Error::reply("ERR increment would produce NaN or Infinity"))?;
    let text = sum.print();
    set(cx, &found, &text, found.expire_at_ms())?;
    Ok(text)
}
