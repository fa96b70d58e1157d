//! Active expiry: taking the due heads of the expire space, keys and parts of keys. The sweep itself (pace, locks,
//! commits) is the server's.

use std::ops::ControlFlow;

use super::context::{View, WriteCx};
use super::drop::Place;
use super::entry::{self, Entry};
use super::events::Event;
use super::parts::Taken;
use crate::encoding::EXPIRE;
use crate::encoding::collection::{Expiring, read_own};
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{self, ExpireKind};
use crate::error::{Error, Result};

/// A key whose time has come, or one that has such parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub row: Vec<u8>,
    pub at_ms: u64,
    pub kind: ExpireKind,
    pub db: u32,
    pub slot: u16,
    pub key: Vec<u8>,
}

/// Up to `limit` rows of a bucket that are due now, oldest first, from `from_ms` on (the low-water mark that spares
/// the walk over tombstones of what was reaped before).
pub fn due(cx: &mut impl View, bucket: u8, from_ms: u64, limit: usize) -> Result<Vec<Due>> {
    let start = rows::expire_position(bucket, from_ms);
    let end = rows::expire_position(bucket, cx.env().now_ms.saturating_add(1));
    let mut found = Vec::new();
    let mut malformed = None;
    cx.scan_each(EXPIRE, &start, &end, limit, &mut |row, _| match rows::read_expire(row) {
        Ok(rows::ExpireRow { at_ms, kind, db, slot, key }) => {
            found.push(Due { row: row.to_vec(), at_ms, kind, db, slot, key: key.to_vec() });
            ControlFlow::Continue(())
        }
        Err(bad) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(found), |bad| Err(bad.into()))
}

/// Removes the key if it is still the one that is due, and the row that announced it in any case.
/// Whether a key was removed.
pub fn reap(cx: &mut WriteCx<'_>, due: &Due) -> Result<bool> {
    let Some(db) = cx.env.keyspace.shared.owner(due.db) else {
        cx.delete(EXPIRE, &due.row);
        return Ok(false);
    };
    let found = entry::find_stored(cx, db, &due.key)?;
    let now_ms = cx.env.now_ms;
    let is_due = found.stored_expiry() == due.at_ms && due.at_ms <= now_ms;
    if is_due {
        entry::remove(cx, &found)?;
    } else {
        cx.delete(EXPIRE, &due.row);
    }
    Ok(is_due)
}

/// Removes a key that somebody met, if its time has come. Whether it had.
pub fn reap_met(cx: &mut WriteCx<'_>, key: &[u8]) -> Result<bool> {
    let before = cx.tally().expired;
    entry::find(cx, key)?;
    Ok(cx.tally().expired > before)
}

/// What [`reap_parts`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reaped {
    /// The logical database.
    pub db: u16,
    pub parts: u64,
    /// Places of the index that were looked at.
    pub places: u64,
    /// When the oldest of them was due, at the latest.
    pub oldest_ms: u64,
    /// When the next part is due; 0 where no other part expires.
    pub next_ms: u64,
}

/// Removes up to `limit` parts of a key whose time has come. The key is in the expire space afterwards at the time of
/// its next part, if there is one. `row`, where the key was found there, goes if it says something else.
pub fn reap_parts(
    cx: &mut WriteCx<'_>,
    (db, key): (u32, &[u8]),
    row: Option<(&[u8], u64)>,
    limit: usize,
) -> Result<Reaped> {
    let owner = cx.env.keyspace.shared.owner(db);
    let found = owner.map(|db| entry::find_with_due_parts(cx, db, key)).transpose()?;
    let stored = found.as_ref().and_then(|found| Some((found, Stored::of(cx, found)?)));
    if let Some((row, at_ms)) = row
        && stored.is_none_or(|(_, stored)| stored.expiring.earliest_ms != at_ms)
    {
        cx.delete(EXPIRE, row);
    }
    let Some((found, stored)) = stored else { return Ok(Reaped::default()) };
    let reaped = Reaped { db: found.db.logical, ..Reaped::default() };
    let (now_ms, oldest_ms) = (cx.env.now_ms, stored.expiring.earliest_ms);
    if !stored.expiring.may_be_due(now_ms) {
        return Ok(Reaped { next_ms: oldest_ms, ..reaped });
    }
    let prefix = entry::element_prefix(found, stored.version);
    let parts = cx.env.keyspace.parts.of(stored.header.kind)?;
    let taken = (parts.take_due)(cx, found, &prefix, (oldest_ms, now_ms), limit)?;
    stored.put(cx, found, &taken)?;
    let Taken { parts, places, next_ms } = taken;
    Ok(Reaped { parts, places, oldest_ms, next_ms, ..reaped })
}

/// The metadata of a key with parts that expire.
#[derive(Clone, Copy)]
struct Stored {
    header: Header,
    flags: u8,
    version: u64,
    size: u64,
    expiring: Expiring,
}

impl Stored {
    /// None where the key is something else, or its own time has come, which is not its parts' matter.
    fn of(cx: &impl View, found: &Entry<'_>) -> Option<Stored> {
        let meta = found.live()?;
        let Body::Rows { version, size } = meta.header.body else { return None };
        let is_meant = meta.expiring.parts != 0;
        let (flags, _) = read_own(cx.bytes(meta.rest)).ok().filter(|_| is_meant)?;
        Some(Stored { header: meta.header, flags, version, size, expiring: meta.expiring })
    }

    /// Puts the metadata without the parts that were taken. The key goes with its last element.
    fn put(&self, cx: &mut WriteCx<'_>, found: &Entry<'_>, taken: &Taken) -> Result<()> {
        let less = |number: u64| {
            number.checked_sub(taken.parts).ok_or(Error::Damaged("the number of a key's parts"))
        };
        let (size, parts) = (less(self.size)?, less(self.expiring.parts)?);
        if size == 0 && !self.header.kind.info().may_be_empty {
            entry::take_away(cx, found)?;
            cx.notify_in(found.db, Event::DEL, found.key);
            return Ok(());
        }
        let header = Header { body: Body::Rows { version: self.version, size }, ..self.header };
        let own = Expiring { parts, earliest_ms: taken.next_ms }.encode();
        let own: &[u8] = if parts == 0 { &[] } else { &own };
        entry::store(cx, found, &header, &[&[self.flags], own])
    }
}

/// Deletes what there is of parts among the next `limit` rows of a bucket of the expire space. The place to go on from;
/// None at the bucket's end.
pub fn drop_index(cx: &mut WriteCx<'_>, bucket: u8, from: &Place, limit: usize) -> Result<Option<Place>> {
    super::drop::among_expiries(cx, bucket, from, limit, &|row| row.kind == ExpireKind::Parts)
}

#[cfg(test)]
mod tests;
