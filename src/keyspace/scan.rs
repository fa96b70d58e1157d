//! Walking the keys of a database: SCAN's stateless cursors, KEYS, slots, and random picks.
//!
//! A cursor is `slot << 48 | hash48`: the place before every key of that slot and hash. What exists through a whole
//! scan is returned, on any node and after any restart; keys with one hash are never split over two calls.
//!
//! Stripes without keys are known from their counters and passed over, so that an almost empty database costs no
//! walk over all slots. A key that exists throughout is counted throughout, so none is missed by that.

use std::ops::ControlFlow;

use super::context::{Db, Env, Place, View, draws};
use super::{databases, first_slot, stripe_of};
use crate::encoding::META;
use crate::encoding::meta::{Header, Kind};
use crate::encoding::rows::{self, HASH48_MAX, MetaRow, RowKey};
use crate::encoding::slot::SLOTS;
use crate::error::{Error, Result};

/// Among so few keys a random one is counted to; among more it is found by its hash.
const FEW_KEYS: u64 = 64;

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
    /// None for a number that no scan returns: it is behind everything.
    fn from_client(cursor: u64) -> Option<Cursor> {
        let slot = u16::try_from(cursor >> 48).ok().filter(|slot| *slot < SLOTS)?;
        Some(Cursor { slot, hash48: cursor & HASH48_MAX })
    }

    fn to_client(self) -> u64 {
        u64::from(self.slot) << 48 | self.hash48
    }

    /// Before the first key of a slot.
    fn slot(slot: u16) -> Cursor {
        Cursor { slot, hash48: 0 }
    }

    fn stripe(stripe: u16) -> Cursor {
        Cursor::slot(first_slot(stripe))
    }

    fn of(row: &MetaRow<'_>) -> Cursor {
        Cursor { slot: row.slot, hash48: row.hash48 }
    }

    fn row(self, db: Db) -> RowKey {
        rows::meta_position(db.physical, self.slot, self.hash48)
    }
}

/// Visits metadata rows from one place up to another, live or not, until `visit` breaks.
fn each_row(
    cx: &impl View,
    db: Db,
    from: Cursor,
    until: Cursor,
    visit: &mut dyn FnMut(&MetaRow<'_>, &Header) -> ControlFlow<()>,
) -> Result<()> {
    let mut malformed = None;
    cx.scan_each(META, &from.row(db), &until.row(db), usize::MAX, &mut |row, value| match (
        rows::read_meta(row),
        Header::decode(value),
    ) {
        (Ok(row), Ok((header, _))) => visit(&row, &header),
        (Err(bad), _) | (_, Err(bad)) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(()), |bad| Err(bad.into()))
}

fn is_live(header: &Header, now_ms: u64) -> bool {
    header.expire_at_ms == 0 || header.expire_at_ms > now_ms
}

/// Visits about `count` keys from the cursor on and returns the next cursor. `each` sees live keys only.
pub fn page(cx: &mut impl View, cursor: u64, count: usize, each: &mut dyn FnMut(Found<'_>)) -> Result<u64> {
    let (db, now_ms) = (cx.env().db, cx.env().now_ms);
    let Some(begin) = Cursor::from_client(cursor) else { return Ok(0) };
    let mut left = count;
    for (stripe, _) in databases::key_counts(cx, db)? {
        if stripe < stripe_of(begin.slot) {
            continue;
        }
        let from = if stripe == stripe_of(begin.slot) { begin } else { Cursor::stripe(stripe) };
        if left == 0 {
            return Ok(from.to_client());
        }
        let mut last = None;
        let mut stop = None;
        each_row(cx, db, from, Cursor::stripe(stripe + 1), &mut |row, header| {
            let here = Cursor::of(row);
            if left == 0 && last != Some(here) {
                stop = Some(here);
                return ControlFlow::Break(());
            }
            last = Some(here);
            left = left.saturating_sub(1);
            if is_live(header, now_ms) {
                each(Found { key: row.key, kind: header.kind, slot: row.slot });
            }
            ControlFlow::Continue(())
        })?;
        if let Some(next) = stop {
            return Ok(next.to_client());
        }
    }
    Ok(0)
}

/// Visits every live key of the database until `each` breaks.
pub fn every_key(cx: &mut impl View, each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> Result<()> {
    let (db, now_ms) = (cx.env().db, cx.env().now_ms);
    for (stripe, _) in databases::key_counts(cx, db)? {
        let mut flow = ControlFlow::Continue(());
        each_row(cx, db, Cursor::stripe(stripe), Cursor::stripe(stripe + 1), &mut |row, header| {
            if is_live(header, now_ms) {
                flow = each(Found { key: row.key, kind: header.kind, slot: row.slot });
            }
            flow
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// Visits up to `limit` live keys of one slot.
pub fn slot_keys(cx: &mut impl View, slot: u16, limit: usize, each: &mut dyn FnMut(&[u8])) -> Result<()> {
    let (db, now_ms) = (cx.env().db, cx.env().now_ms);
    let mut left = limit;
    if left == 0 {
        return Ok(());
    }
    each_row(cx, db, Cursor::slot(slot), Cursor::slot(slot + 1), &mut |row, header| {
        if is_live(header, now_ms) {
            each(row.key);
            left -= 1;
        }
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// Shows a live key picked at random to `keep`; false when there is none.
///
/// The stripe is weighted by its number of keys. Inside it the pick is even among few keys; among many it is as even
/// as their hashes are, unless only some of the stripe's slots hold any.
pub fn pick(cx: &mut impl View, keep: &mut dyn FnMut(&[u8])) -> Result<bool> {
    let db = cx.env().db;
    let mut random = draws(cx.env().random);
    let mut draw = move || random.next().unwrap_or_default();
    let counts = databases::key_counts(cx, db)?;
    let total: u64 = counts.iter().map(|(_, keys)| keys).sum();
    if total == 0 {
        return Ok(false);
    }
    let mut nth = draw() % total;
    let mut chosen = (0, 0);
    for (stripe, keys) in &counts {
        chosen = (*stripe, *keys);
        if nth < *keys {
            break;
        }
        nth -= keys;
    }
    let (stripe, keys) = chosen;
    let (first, end) = (Cursor::stripe(stripe), Cursor::stripe(stripe + 1));
    let mut seeker = Seeker { db, skip: 0, looked_at: 0, keep };
    if keys <= FEW_KEYS {
        seeker.skip = nth;
        if seeker.first_live(cx, first, end)? {
            return Ok(true);
        }
    } else {
        let slots = u64::from(end.slot - first.slot);
        let wanted = Cursor::slot(first.slot + (draw() % slots) as u16);
        let Some(slot) = slot_of_first_row(cx, db, wanted, end)?.or(slot_of_first_row(cx, db, first, end)?)
        else {
            return Ok(false);
        };
        let place = Cursor { slot, hash48: draw() & HASH48_MAX };
        if seeker.first_live(cx, place, Cursor::slot(slot + 1))?
            || seeker.first_live(cx, Cursor::slot(slot), place)?
        {
            return Ok(true);
        }
    }
    // Whatever is alive, wherever it is: the keys looked at so far had all expired.
    seeker.skip = 0;
    for (stripe, _) in counts {
        if seeker.first_live(cx, Cursor::stripe(stripe), Cursor::stripe(stripe + 1))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slot_of_first_row(cx: &impl View, db: Db, from: Cursor, until: Cursor) -> Result<Option<u16>> {
    let mut slot = None;
    each_row(cx, db, from, until, &mut |row, _| {
        slot = Some(row.slot);
        ControlFlow::Break(())
    })?;
    Ok(slot)
}

struct Seeker<'a> {
    db: Db,
    /// Rows to leave out before the first that may be taken.
    skip: u64,
    looked_at: usize,
    keep: &'a mut dyn FnMut(&[u8]),
}

impl Seeker<'_> {
    fn first_live(&mut self, cx: &impl View, from: Cursor, until: Cursor) -> Result<bool> {
        let (now_ms, may_be_long) = (cx.env().now_ms, cx.env().place == Place::Worker);
        let mut found = false;
        let mut too_long = false;
        each_row(cx, self.db, from, until, &mut |row, header| {
            self.looked_at += 1;
            if self.skip > 0 {
                self.skip -= 1;
            } else if is_live(header, now_ms) {
                (self.keep)(row.key);
                found = true;
            }
            too_long = !found && !may_be_long && self.looked_at > Env::LIGHT_ROWS;
            if found || too_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if too_long { Err(Error::Offload) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests;
