//! Walking the keys of a database: SCAN's stateless cursors, KEYS, slots, and random picks.
//!
//! A cursor is `slot << 48 | hash48`: the place before every key of that slot and hash. What exists through a whole
//! scan is returned, on any node and after any restart; keys with one hash are never split over two calls.
//!
//! Stripes without keys are known from their counters and passed over, so that an almost empty database costs no
//! walk over all slots. A key that exists throughout is counted throughout, so none is missed by that.

use std::ops::ControlFlow;

use super::context::{Db, Env, Place, View, draws};
use super::{entry, first_slot, shared, stripe_of};
use crate::encoding::META;
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{self, HASH48_MAX, MetaRow, RowKey};
use crate::encoding::slot::SLOTS;
use crate::error::{Result, Stop, Why};

/// Among so few keys a random one is counted to; among more it is found by its hash.
const FEW_KEYS: u64 = 64;

/// What a walk shows of a live key.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    pub key: &'a [u8],
    /// The word TYPE answers.
    pub type_name: &'static str,
    pub slot: u16,
    /// Its elements, or bytes of a string.
    pub size: u64,
}

/// A metadata row taken apart.
struct Row<'a> {
    at: MetaRow<'a>,
    header: Header,
    rest: &'a [u8],
}

impl Row<'_> {
    fn is_live(&self, cx: &impl View) -> Result<bool> {
        entry::is_live(cx, &self.at, &self.header, self.rest)
    }

    fn shown(&self) -> Found<'_> {
        let type_name = entry::type_name(&self.header, self.rest);
        let size = match self.header.body {
            Body::Inline => self.rest.len() as u64,
            Body::Rows { size, .. } => size,
        };
        Found { key: self.at.key, type_name, slot: self.at.slot, size }
    }
}

/// A place in the order of keys, as an integer; 0 is the start and, returned, the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    visit: &mut dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut failed = None;
    cx.scan_each(META, &from.row(db), &until.row(db), usize::MAX, &mut |row, value| {
        let visited = match (rows::read_meta(row), Header::decode(value)) {
            (Ok(at), Ok((header, len))) => {
                visit(&Row { at, header, rest: value.get(len..).unwrap_or_default() })
            }
            (Err(bad), _) | (_, Err(bad)) => Err(bad.into()),
        };
        visited.unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(()), Err)
}

/// Visits about `count` keys from the cursor on and returns the next cursor. `each` sees live keys only.
pub fn page(cx: &mut impl View, cursor: u64, count: usize, each: &mut dyn FnMut(Found<'_>)) -> Result<u64> {
    page_until(cx, cursor, SLOTS - 1, count, each)
}

/// The cursor itself, or the first one of the slot where it is 0.
pub fn in_slot(slot: u16, cursor: u64) -> u64 {
    if cursor == 0 { Cursor::slot(slot).to_client() } else { cursor }
}

/// The slot that a cursor is in.
pub fn slot_of(cursor: u64) -> u16 {
    Cursor::from_client(cursor).map_or(SLOTS - 1, |cursor| cursor.slot)
}

/// As [`page`], up to a slot.
pub fn page_until(
    cx: &mut impl View,
    cursor: u64,
    last_slot: u16,
    count: usize,
    each: &mut dyn FnMut(Found<'_>),
) -> Result<u64> {
    let db = cx.env().db;
    let Some(begin) = Cursor::from_client(cursor) else { return Ok(0) };
    let mut left = count;
    for (stripe, _) in shared::key_counts(cx, db)? {
        if stripe < stripe_of(begin.slot) {
            continue;
        }
        let from = if stripe == stripe_of(begin.slot) { begin } else { Cursor::stripe(stripe) };
        if from.slot > last_slot {
            return Ok(0);
        }
        if left == 0 {
            return Ok(from.to_client());
        }
        let until = Cursor::stripe(stripe + 1).min(Cursor::slot(last_slot + 1));
        let mut last = None;
        let mut stop = None;
        each_row(cx, db, from, until, &mut |row| {
            let here = Cursor::of(&row.at);
            if left == 0 && last != Some(here) {
                stop = Some(here);
                return Ok(ControlFlow::Break(()));
            }
            last = Some(here);
            left = left.saturating_sub(1);
            if row.is_live(cx)? {
                each(row.shown());
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(next) = stop {
            return Ok(next.to_client());
        }
    }
    Ok(0)
}

/// Visits every live key of the database until `each` breaks.
pub fn every_key(cx: &mut impl View, each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> Result<()> {
    let db = cx.env().db;
    for (stripe, _) in shared::key_counts(cx, db)? {
        let mut flow = ControlFlow::Continue(());
        each_row(cx, db, Cursor::stripe(stripe), Cursor::stripe(stripe + 1), &mut |row| {
            if row.is_live(cx)? {
                flow = each(row.shown());
            }
            Ok(flow)
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// Shows the slot of every live key that is in one of these.
pub fn count_by_slot(
    cx: &mut impl View,
    slots: std::ops::RangeInclusive<u16>,
    each: &mut dyn FnMut(u16),
) -> Result<()> {
    let db = cx.env().db;
    let (first, end) = (Cursor::slot(*slots.start()), Cursor::slot(slots.end() + 1));
    for (stripe, _) in shared::key_counts(cx, db)? {
        let (from, until) = (Cursor::stripe(stripe).max(first), Cursor::stripe(stripe + 1).min(end));
        if from >= until {
            continue;
        }
        each_row(cx, db, from, until, &mut |row| {
            if row.is_live(cx)? {
                each(row.at.slot);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(())
}

/// Visits up to `limit` live keys of one slot.
pub fn slot_keys(cx: &mut impl View, slot: u16, limit: usize, each: &mut dyn FnMut(&[u8])) -> Result<()> {
    let db = cx.env().db;
    let mut left = limit;
    if left == 0 {
        return Ok(());
    }
    each_row(cx, db, Cursor::slot(slot), Cursor::slot(slot + 1), &mut |row| {
        if row.is_live(cx)? {
            each(row.at.key);
            left -= 1;
        }
        Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
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
    let counts = shared::key_counts(cx, db)?;
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

/// Looks at up to `limit` metadata rows of a stripe from the cursor on, and shows those of keys with parts that expire:
/// when the first part may be due. Where to go on; None at the stripe's end.
pub fn with_expiring_parts(
    cx: &impl View,
    db: Db,
    stripe: u16,
    from: Option<u64>,
    limit: usize,
    each: &mut dyn FnMut(&MetaRow<'_>, u64),
) -> Result<Option<u64>> {
    let begin = from.and_then(Cursor::from_client).unwrap_or(Cursor::stripe(stripe));
    let mut left = limit;
    let mut next = None;
    each_row(cx, db, begin, Cursor::stripe(stripe + 1), &mut |row| {
        let here = Cursor::of(&row.at);
        if left == 0 && here != begin {
            next = Some(here.to_client());
            return Ok(ControlFlow::Break(()));
        }
        left = left.saturating_sub(1);
        let earliest_ms = entry::earliest_part_ms(&row.header, row.rest)?;
        if earliest_ms != 0 {
            each(&row.at, earliest_ms);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(next)
}

fn slot_of_first_row(cx: &impl View, db: Db, from: Cursor, until: Cursor) -> Result<Option<u16>> {
    let mut slot = None;
    each_row(cx, db, from, until, &mut |row| {
        slot = Some(row.at.slot);
        Ok(ControlFlow::Break(()))
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
        let may_be_long = cx.env().place == Place::Worker;
        let mut found = false;
        let mut too_long = false;
        each_row(cx, self.db, from, until, &mut |row| {
            self.looked_at += 1;
            if self.skip > 0 {
                self.skip -= 1;
            } else if row.is_live(cx)? {
                (self.keep)(row.at.key);
                found = true;
            }
            too_long = !found && !may_be_long && self.looked_at > Env::IO_THREAD_MAX_ROWS;
            Ok(if found || too_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if too_long { Err(Stop::Move(Why::Heavy)) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests;
