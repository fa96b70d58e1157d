//! Walking the keys of a database: SCAN's stateless cursors, KEYS, and random picks.
//!
//! A cursor is `slot << 48 | hash48`: the place before every key of that slot and hash. What exists through a whole
//! scan is returned, on any node and after any restart; keys with one hash are never split over two calls.

use std::ops::ControlFlow;

use super::context::{Db, View};
use super::{STRIPES, databases, first_slot, stripe_of};
use crate::encoding::META;
use crate::encoding::meta::{Header, Kind};
use crate::encoding::rows::{self, HASH48_MAX};
use crate::encoding::slot::SLOTS;
use crate::error::Result;

/// Rows read per engine call, so that no call is long.
const CHUNK_ROWS: usize = 1_024;

/// What a walk shows of a live key.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    pub key: &'a [u8],
    pub kind: Kind,
    pub slot: u16,
}

/// A place in the order of keys, as an integer; 0 is the start and, returned, the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    slot: u16,
    hash48: u64,
}

impl Cursor {
    fn from_client(cursor: u64) -> Option<Cursor> {
        let slot = u16::try_from(cursor >> 48).ok().filter(|slot| *slot < SLOTS)?;
        Some(Cursor { slot, hash48: cursor & HASH48_MAX })
    }

    fn to_client(self) -> u64 {
        u64::from(self.slot) << 48 | self.hash48
    }

    /// The place behind all keys of this slot and hash.
    fn after(self) -> Option<Cursor> {
        if self.hash48 < HASH48_MAX {
            return Some(Cursor { hash48: self.hash48 + 1, ..self });
        }
        (self.slot + 1 < SLOTS).then_some(Cursor { slot: self.slot + 1, hash48: 0 })
    }
}

/// Visits about `count` keys from the cursor on and returns the next cursor. `each` sees live keys only.
pub fn page(cx: &mut impl View, cursor: u64, count: usize, each: &mut dyn FnMut(Found<'_>)) -> Result<u64> {
    let db = cx.env().db;
    let Some(mut at) = Cursor::from_client(cursor) else { return Ok(0) };
    let counts = databases::key_counts(cx, db)?;
    let mut left = count.max(1);
    for (stripe, _) in counts {
        if stripe < stripe_of(at.slot) {
            continue;
        }
        if stripe > stripe_of(at.slot) {
            at = Cursor { slot: first_slot(stripe), hash48: 0 };
        }
        match stripe_page(cx, db, stripe, at, &mut left, each)? {
            Some(next) => return Ok(next.to_client()),
            None if left == 0 => {
                let next = usize::from(stripe) + 1;
                return Ok(if next < STRIPES {
                    Cursor { slot: first_slot(next as u16), hash48: 0 }.to_client()
                } else {
                    0
                });
            }
            None => {}
        }
    }
    Ok(0)
}

/// Visits keys of one stripe until `left` is used up; the place to go on from, or None at the stripe's end.
fn stripe_page(
    cx: &mut impl View,
    db: Db,
    stripe: u16,
    from: Cursor,
    left: &mut usize,
    each: &mut dyn FnMut(Found<'_>),
) -> Result<Option<Cursor>> {
    let now_ms = cx.env().now_ms;
    let end = rows::meta_position(db.physical, first_slot(stripe + 1), 0);
    let mut at = from;
    loop {
        let start = rows::meta_position(db.physical, at.slot, at.hash48);
        let mut seen = 0usize;
        let mut last: Option<Cursor> = None;
        let mut stop = None;
        let mut malformed = None;
        // Keys that share one hash (practically never more than two) must not be split over calls.
        cx.scan_each(META, &start, &end, CHUNK_ROWS, &mut |row, value| {
            seen += 1;
            let (meta, header) = match (rows::read_meta(row), Header::decode(value)) {
                (Ok(meta), Ok((header, _))) => (meta, header),
                (Err(bad), _) | (_, Err(bad)) => {
                    malformed = Some(bad);
                    return ControlFlow::Break(());
                }
            };
            let here = Cursor { slot: meta.slot, hash48: meta.hash48 };
            if *left == 0 && last != Some(here) {
                stop = Some(here);
                return ControlFlow::Break(());
            }
            last = Some(here);
            *left = left.saturating_sub(1);
            if header.expire_at_ms == 0 || header.expire_at_ms > now_ms {
                each(Found { key: meta.key, kind: header.kind, slot: meta.slot });
            }
            ControlFlow::Continue(())
        })?;
        if let Some(bad) = malformed {
            return Err(bad.into());
        }
        if stop.is_some() || seen < CHUNK_ROWS {
            return Ok(stop);
        }
        // A chunk may end inside a run of equal hashes only if the run is longer than a chunk.
        match last.and_then(Cursor::after) {
            Some(next) if next.slot < first_slot(stripe + 1) => at = next,
            _ => return Ok(None),
        }
    }
}

/// Visits every live key of the database until `each` breaks.
pub fn every_key(cx: &mut impl View, each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> Result<()> {
    let mut cursor = 0;
    let mut broken = false;
    loop {
        cursor = page(cx, cursor, CHUNK_ROWS, &mut |found| {
            if !broken && each(found).is_break() {
                broken = true;
            }
        })?;
        if broken || cursor == 0 {
            return Ok(());
        }
    }
}

/// Visits up to `limit` live keys of one slot.
pub fn slot_keys(cx: &mut impl View, slot: u16, limit: usize, each: &mut dyn FnMut(&[u8])) -> Result<()> {
    let (db, now_ms) = (cx.env().db, cx.env().now_ms);
    let start = rows::meta_position(db.physical, slot, 0);
    let end = rows::meta_position(db.physical, slot + 1, 0);
    let mut left = limit;
    let mut malformed = None;
    if left == 0 {
        return Ok(());
    }
    cx.scan_each(META, &start, &end, usize::MAX, &mut |row, value| {
        match (rows::read_meta(row), Header::decode(value)) {
            (Ok(meta), Ok((header, _))) => {
                if header.expire_at_ms == 0 || header.expire_at_ms > now_ms {
                    each(meta.key);
                    left -= 1;
                }
            }
            (Err(bad), _) | (_, Err(bad)) => malformed = Some(bad),
        }
        if left == 0 || malformed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    malformed.map_or(Ok(()), |bad| Err(bad.into()))
}

/// A live key near a random place, the stripe weighted by its number of keys. `random` are two random numbers,
/// given from outside so that handlers stay pure.
pub fn near(cx: &mut impl View, random: (u64, u64), keep: &mut dyn FnMut(&[u8])) -> Result<bool> {
    let db = cx.env().db;
    let counts = databases::key_counts(cx, db)?;
    let total: u64 = counts.iter().map(|(_, n)| n).sum();
    if total == 0 {
        return Ok(false);
    }
    let mut pick = random.0 % total;
    let mut chosen = 0;
    for (stripe, n) in &counts {
        if pick < *n {
            chosen = *stripe;
            break;
        }
        pick -= n;
    }
    // A random place in the stripe: its slots are equally likely, and so are the hashes of a slot.
    let first = first_slot(chosen);
    let slots = u64::from(first_slot(1));
    let from = Cursor { slot: first + (random.1 % slots) as u16, hash48: (random.1 >> 16) & HASH48_MAX };
    for at in [from, Cursor { slot: first, hash48: 0 }, Cursor { slot: 0, hash48: 0 }] {
        let mut found = false;
        let mut cursor = at.to_client();
        loop {
            cursor = page(cx, cursor, 1, &mut |live| {
                if !found {
                    found = true;
                    keep(live.key);
                }
            })?;
            if found {
                return Ok(true);
            }
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(false)
}
