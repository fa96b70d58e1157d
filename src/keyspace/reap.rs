//! Active expiry: taking the due heads of the expire space, keys and hashes with fields. The sweep itself (pace, locks,
//! commits) is the server's.

use std::ops::ControlFlow;

use super::context::{View, WriteCx};
use super::drop::Place;
use super::entry::{self, Entry};
use super::events::Event;
use super::fields::{self, Taken};
use crate::encoding::EXPIRE;
use crate::encoding::collection::read_own;
use crate::encoding::hash::Expiring;
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::rows::{self, ExpireKind};
use crate::error::{Error, Result};

/// A key whose time has come, or a hash that has such fields.
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
    let Some(db) = cx.env.keyspace.databases.owner(due.db) else {
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

/// What [`reap_fields`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reaped {
    /// The logical database.
    pub db: u16,
    pub fields: u64,
    /// Places of the index that were looked at.
    pub places: u64,
    /// When the oldest of them was due, at the latest.
    pub oldest_ms: u64,
    /// When the next field is due; 0 where no other field expires.
    pub next_ms: u64,
}

/// Removes up to `limit` fields of a hash whose time has come. The hash is in the expire space afterwards at the time
/// of its next field, if there is one. `row`, where the hash was found there, goes if it says something else.
pub fn reap_fields(
    cx: &mut WriteCx<'_>,
    (db, key): (u32, &[u8]),
    row: Option<(&[u8], u64)>,
    limit: usize,
) -> Result<Reaped> {
    let owner = cx.env.keyspace.databases.owner(db);
    let found = owner.map(|db| entry::find_with_due_fields(cx, db, key)).transpose()?;
    let hash = found.as_ref().and_then(|found| Some((found, Stored::of(cx, found)?)));
    if let Some((row, at_ms)) = row
        && hash.is_none_or(|(_, hash)| hash.expiring.earliest_ms != at_ms)
    {
        cx.delete(EXPIRE, row);
    }
    let Some((found, hash)) = hash else { return Ok(Reaped::default()) };
    let reaped = Reaped { db: found.db.logical, ..Reaped::default() };
    let (now_ms, oldest_ms) = (cx.env.now_ms, hash.expiring.earliest_ms);
    if !hash.expiring.may_be_due(now_ms) {
        return Ok(Reaped { next_ms: oldest_ms, ..reaped });
    }
    let prefix = entry::element_prefix(found, hash.version);
    let taken = fields::take_due(cx, found, &prefix, (oldest_ms, now_ms), limit)?;
    hash.put(cx, found, &taken)?;
    let Taken { fields, places, next_ms } = taken;
    Ok(Reaped { fields, places, oldest_ms, next_ms, ..reaped })
}

/// The metadata of a hash with fields that expire.
#[derive(Clone, Copy)]
struct Stored {
    header: Header,
    flags: u8,
    version: u64,
    size: u64,
    expiring: Expiring,
}

impl Stored {
    /// None where the key is something else, or its own time has come, which is not the fields' matter.
    fn of(cx: &impl View, found: &Entry<'_>) -> Option<Stored> {
        let meta = found.live()?;
        let Body::Rows { version, size } = meta.header.body else { return None };
        let is_meant = meta.header.kind == Kind::Hash && meta.expiring.fields != 0;
        let (flags, _) = read_own(cx.bytes(meta.rest)).ok().filter(|_| is_meant)?;
        Some(Stored { header: meta.header, flags, version, size, expiring: meta.expiring })
    }

    /// Puts the metadata without the fields that were taken. The key goes with its last field.
    fn put(&self, cx: &mut WriteCx<'_>, found: &Entry<'_>, taken: &Taken) -> Result<()> {
        let less = |number: u64| {
            number.checked_sub(taken.fields).ok_or(Error::Damaged("the number of a hash's fields"))
        };
        let (size, fields) = (less(self.size)?, less(self.expiring.fields)?);
        if size == 0 {
            entry::take_away(cx, found)?;
            cx.notify_in(found.db, Event::DEL, found.key);
            return Ok(());
        }
        let header = Header { body: Body::Rows { version: self.version, size }, ..self.header };
        let own = Expiring { fields, earliest_ms: taken.next_ms }.encode();
        let own: &[u8] = if fields == 0 { &[] } else { &own };
        entry::store(cx, found, &header, &[&[self.flags], own])
    }
}

/// Deletes what there is of hashes among the next `limit` rows of a bucket of the expire space. The place to go on from;
/// None at the bucket's end.
pub fn drop_index(cx: &mut WriteCx<'_>, bucket: u8, from: &Place, limit: usize) -> Result<Option<Place>> {
    super::drop::among_expiries(cx, bucket, from, limit, &|row| row.kind == ExpireKind::HashFields)
}

#[cfg(test)]
mod tests;
