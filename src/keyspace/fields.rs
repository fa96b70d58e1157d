//! Fields of hashes that expire, as far as they are the keyspace's: taking those out whose time has come, and what is
//! known of it.
//!
//! The index has two levels. Level two, in `field-expire`, has the fields of one hash, each at the time of its expiry or,
//! where that was put off, at an earlier one: putting off writes nothing there, and whoever comes to a place whose time
//! has come looks at the field. Level one, in `expire`, has the hashes by the earliest time in their metadata, which is never later than
//! that of any field and exact whenever something was taken out. Under `active-expire-mode scan` there is no level
//! one, and the hashes are found by walking the metadata.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use smallvec::SmallVec;

use super::context::{View, WriteCx};
use super::entry::Entry;
use super::events::Event;
use crate::encoding::collection::{hash64, push_member};
use crate::encoding::hash;
use crate::encoding::rows::RowKey;
use crate::encoding::system::{self, FieldIndex};
use crate::encoding::{DATA, FIELD_EXPIRE, SYSTEM};
use crate::error::{Error, Result};

/// Fields whose time has come that a write to their hash takes out as well.
pub const PER_WRITE: usize = 3;
/// Fields that the reaper takes out of one hash at a time.
pub const PER_STEP: usize = 256;
/// Fields that are read together.
const PER_READ: usize = 32;
/// Milliseconds between two turns of the reaper when nothing is due.
pub const TURN_MS: u64 = 100;

/// What [`take_due`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Fields that are gone.
    pub fields: u64,
    /// Places of the index that were looked at: those of fields that are gone, and of fields whose expiry was put off.
    pub places: u64,
    /// The next place of the index, now or later; 0 where no other field expires.
    pub next_ms: u64,
}

/// A place of the index whose time has come.
struct Place {
    indexed_ms: u64,
    /// Where the field's name ends among the others.
    end: usize,
}

/// Looks at up to `limit` places of the index that are due from one time up to, and at, another, oldest first: removes
/// the fields whose time has come, tells of them, and moves the others to where they belong. `prefix` is what the hash's
/// rows begin with. The metadata is the caller's to put.
pub fn take_due(
    cx: &mut WriteCx<'_>,
    of: &Entry<'_>,
    prefix: &[u8],
    (from_ms, until_ms): (u64, u64),
    limit: usize,
) -> Result<Taken> {
    let seed = cx.env.keyspace.seed;
    let mut names: SmallVec<[u8; 64]> = SmallVec::new();
    let mut found: SmallVec<[Place; PER_WRITE]> = SmallVec::new();
    let mut next_ms = 0;
    let mut malformed = None;
    let (start, end) = (hash::due_position(prefix, from_ms), hash::due_end(prefix));
    cx.scan_each(FIELD_EXPIRE, &start, &end, limit.saturating_add(1), &mut |row, _| match hash::read_due(
        row.get(prefix.len()..).unwrap_or_default(),
    ) {
        Ok((indexed_ms, field)) if indexed_ms <= until_ms && found.len() < limit => {
            names.extend_from_slice(field);
            found.push(Place { indexed_ms, end: names.len() });
            ControlFlow::Continue(())
        }
        Ok((indexed_ms, _)) => {
            next_ms = indexed_ms;
            ControlFlow::Break(())
        }
        Err(bad) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    if let Some(bad) = malformed {
        return Err(bad.into());
    }
    let mut begin = 0;
    let mark = cx.arena().len();
    let mut gone: SmallVec<[(usize, usize); PER_WRITE]> = SmallVec::new();
    let mut rows: SmallVec<[RowKey; PER_WRITE]> = SmallVec::new();
    let mut heads: SmallVec<[Result<hash::Head>; PER_WRITE]> = SmallVec::new();
    for places in found.chunks(PER_READ) {
        rows.clear();
        let mut name_begin = begin;
        for Place { end, .. } in places {
            let field = names.get(name_begin..*end).unwrap_or_default();
            let mut row = RowKey::from_slice(prefix);
            push_member(&mut row, hash64(seed, field), field);
            rows.push(row);
            name_begin = *end;
        }
        heads.clear();
        let wanted: SmallVec<[&[u8]; PER_WRITE]> = rows.iter().map(|row| &**row).collect();
        cx.get_each(DATA, &wanted, &mut |_, stored| {
            let stored = stored.ok_or(Error::Damaged("an expiry without a field"));
            heads.push(stored.and_then(|stored| Ok(hash::Head::decode(stored)?.0)));
        })?;
        for ((Place { indexed_ms, end }, row), head) in places.iter().zip(&rows).zip(heads.drain(..)) {
            let field = names.get(begin..*end).unwrap_or_default();
            let head = head?;
            cx.delete(FIELD_EXPIRE, &hash::due(prefix, *indexed_ms, field));
            if head.expire_at_ms <= until_ms {
                cx.delete(DATA, row);
                gone.push((begin, *end));
            } else {
                let stored = cx.get(DATA, row)?.ok_or(Error::Damaged("an expiry without a field"))?;
                let (_, len) = hash::Head::decode(cx.bytes(stored))?;
                let head = hash::Head { indexed_ms: head.expire_at_ms, ..head };
                let value = stored.behind(len);
                cx.lend(|cx, arena| cx.put(DATA, row, &[head.encode().as_slice(), value.of(arena)]));
                cx.put(FIELD_EXPIRE, &hash::due(prefix, head.expire_at_ms, field), &[]);
                next_ms = if next_ms == 0 { head.expire_at_ms } else { next_ms.min(head.expire_at_ms) };
                cx.arena().truncate(mark);
            }
            begin = *end;
        }
    }
    if !gone.is_empty() {
        let fields = gone.iter().map(|(begin, end)| names.get(*begin..*end).unwrap_or_default());
        announce(cx, of, fields);
    }
    Ok(Taken { fields: gone.len() as u64, places: found.len() as u64, next_ms })
}

/// Shows whether each field at a place of the index that is due has expired, until `each` breaks. At most `limit` of
/// them. How many were shown.
pub fn each_due(
    cx: &impl View,
    prefix: &[u8],
    from_ms: u64,
    limit: usize,
    each: &mut dyn FnMut(bool) -> ControlFlow<()>,
) -> Result<usize> {
    let (now_ms, seed) = (cx.env().now_ms, cx.env().keyspace.seed);
    let (start, end) =
        (hash::due_position(prefix, from_ms), hash::due_position(prefix, now_ms.saturating_add(1)));
    let mut field_row = RowKey::from_slice(prefix);
    let mut shown = 0;
    let mut failed: Option<Error> = None;
    cx.scan_each(FIELD_EXPIRE, &start, &end, limit, &mut |row, _| {
        let is_expired = hash::read_due(row.get(prefix.len()..).unwrap_or_default())
            .map_err(Error::from)
            .and_then(|(_, field)| {
                field_row.truncate(prefix.len());
                push_member(&mut field_row, hash64(seed, field), field);
                let mut is_expired = Ok(true);
                cx.get_each(DATA, &[&field_row], &mut |_, value| {
                    is_expired = value.map_or(Ok(true), |value| {
                        hash::Head::decode(value).map(|(head, _)| head.is_expired(now_ms))
                    });
                })?;
                Ok(is_expired?)
            });
        match is_expired {
            Ok(is_expired) => {
                shown += 1;
                each(is_expired)
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(shown), Err)
}

/// Tells of fields that were removed because their time had come: on TairHash's channel, and as an event.
pub fn announce<'f>(
    cx: &mut WriteCx<'_>,
    of: &Entry<'_>,
    fields: impl IntoIterator<Item = &'f [u8]> + Clone,
) {
    if cx.env.has_subscribers() {
        let db = itoa::Buffer::new().format(of.db.logical).to_owned();
        let channel = [b"tairhash@", db.as_bytes(), b"@", of.key, b"__:expired"].concat();
        fields.clone().into_iter().for_each(|field| cx.publish(&channel, field));
    }
    cx.notify_fields_in(of.db, Event::HEXPIRED, of.key, fields);
}

/// What the reaper and the commands share about fields that expire.
#[derive(Debug)]
pub struct Fields {
    sorts: AtomicBool,
    /// A [`FieldIndex`] on record.
    index: AtomicU8,
    expired: Vec<Expired>,
    pub reaper: Reaper,
}

/// Fields removed because their time had come, of one logical database.
#[derive(Debug, Default)]
struct Expired {
    actively: AtomicU64,
    passively: AtomicU64,
}

/// What the background work says of itself. Milliseconds.
#[derive(Debug, Default)]
pub struct Reaper {
    pub last_turn_ms: AtomicU64,
    pub max_turn_ms: AtomicU64,
    pub total_turn_ms: AtomicU64,
    pub turns: AtomicU64,
    /// Hashes that were due when the last turn ended, as far as it looked.
    pub backlog: AtomicU64,
    /// How long ago the oldest field that the last turn removed was due.
    pub lag_ms: AtomicU64,
    /// Hashes looked at by walking.
    pub walked: AtomicU64,
}

impl Fields {
    pub fn new(databases: usize, index: FieldIndex) -> Fields {
        Fields {
            sorts: AtomicBool::new(index == FieldIndex::Whole),
            index: AtomicU8::new(index as u8),
            expired: (0..databases).map(|_| Expired::default()).collect(),
            reaper: Reaper::default(),
        }
    }

    /// Whether commands keep level one of the index.
    pub fn sorts(&self) -> bool {
        self.sorts.load(Ordering::Acquire)
    }

    /// Commands that lock their keys after this follow it.
    pub fn set_sorts(&self, sorts: bool) {
        self.sorts.store(sorts, Ordering::Release);
    }

    pub fn index(&self) -> FieldIndex {
        match self.index.load(Ordering::Acquire) {
            0 => FieldIndex::Whole,
            number => FieldIndex::of(Some(u64::from(number))),
        }
    }

    /// Puts on record how far level one is. Seen once the transaction is committed: [`Fields::set_index`].
    pub fn record_index(cx: &mut WriteCx<'_>, index: FieldIndex) {
        match index {
            FieldIndex::Whole => cx.delete(SYSTEM, &system::field_index()),
            other => cx.put(SYSTEM, &system::field_index(), &[&(other as u64).to_be_bytes()]),
        }
    }

    pub fn set_index(&self, index: FieldIndex) {
        self.index.store(index as u8, Ordering::Release);
    }

    pub fn expired_actively(&self, db: u16, fields: u64) {
        if let Some(db) = self.expired.get(usize::from(db)) {
            db.actively.fetch_add(fields, Ordering::Relaxed);
        }
    }

    pub fn expired_passively(&self, db: u16, fields: u64) {
        if let Some(db) = self.expired.get(usize::from(db)) {
            db.passively.fetch_add(fields, Ordering::Relaxed);
        }
    }

    /// Of every database: fields removed by the reaper, and by commands that met them.
    pub fn expired(&self) -> impl Iterator<Item = (u64, u64)> {
        self.expired
            .iter()
            .map(|db| (db.actively.load(Ordering::Relaxed), db.passively.load(Ordering::Relaxed)))
    }

    /// CONFIG RESETSTAT.
    pub fn reset(&self) {
        let Reaper { last_turn_ms, max_turn_ms, total_turn_ms, turns, backlog: _, lag_ms: _, walked } =
            &self.reaper;
        let of_databases = self.expired.iter().flat_map(|db| [&db.actively, &db.passively]);
        for number in of_databases.chain([last_turn_ms, max_turn_ms, total_turn_ms, turns, walked]) {
            number.store(0, Ordering::Relaxed);
        }
    }
}
