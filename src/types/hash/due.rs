//! Fields whose time has come: finding them by the index, and taking them out.
//!
//! `field-expire` has the fields of one hash, each at the time of its expiry or, where that was put off, at an earlier
//! one: putting off writes nothing there, and whoever comes to a place whose time has come looks at the field.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::KIND;
use crate::encoding::collection::{hash64, push_member};
use crate::encoding::hash::{self, Head};
use crate::encoding::rows::RowKey;
use crate::encoding::{DATA, FIELD_EXPIRE};
use crate::error::{Error, Result, Stop, Why};
use crate::keyspace::parts::{Parts, Taken};
use crate::keyspace::{Entry, Env, Event, Place as Thread, View, WriteCx};

/// Fields whose time has come that a write to their hash takes out as well.
pub const PER_WRITE: usize = 3;
/// Fields that are read together.
const PER_READ: usize = 32;

/// What the keyspace asks hashes for.
pub const PARTS: Parts = Parts { kind: KIND, are_gone, take_due, is_expired };

fn is_expired(row: &[u8], now_ms: u64) -> bool {
    Head::decode(row).is_ok_and(|(head, _)| head.is_expired(now_ms))
}

/// Of a hash whose every field expires, some of them perhaps by now.
fn are_gone(cx: &dyn View, prefix: &[u8], from_ms: u64) -> Result<bool> {
    let start = hash::due_position(prefix, cx.env().now_ms.saturating_add(1));
    let mut all_gone = true;
    cx.scan_each(FIELD_EXPIRE, &start, &hash::due_end(prefix), 1, &mut |_, _| {
        all_gone = false;
        ControlFlow::Break(())
    })?;
    if !all_gone {
        return Ok(false);
    }
    let limit = if cx.env().place == Thread::IoThread { Env::IO_THREAD_MAX_ROWS + 1 } else { usize::MAX };
    let shown = each_due(cx, prefix, from_ms, limit, &mut |is_expired| {
        if is_expired {
            return ControlFlow::Continue(());
        }
        all_gone = false;
        ControlFlow::Break(())
    })?;
    if all_gone && shown == limit { Err(Stop::Move(Why::Heavy)) } else { Ok(all_gone) }
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
    let seed = cx.env.keyspace.seed();
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
    let mut heads: SmallVec<[Result<Head>; PER_WRITE]> = SmallVec::new();
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
            let stored = stored.ok_or_else(|| Stop::from(Error::Damaged("an expiry without a field")));
            heads.push(stored.and_then(|stored| Ok(Head::decode(stored)?.0)));
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
                let (_, len) = Head::decode(cx.bytes(stored))?;
                let head = Head { indexed_ms: head.expire_at_ms, ..head };
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
    Ok(Taken { parts: gone.len() as u64, places: found.len() as u64, next_ms })
}

/// Shows whether each field at a place of the index that is due has expired, until `each` breaks. At most `limit` of
/// them. How many were shown.
pub fn each_due(
    cx: &(impl View + ?Sized),
    prefix: &[u8],
    from_ms: u64,
    limit: usize,
    each: &mut dyn FnMut(bool) -> ControlFlow<()>,
) -> Result<usize> {
    let (now_ms, seed) = (cx.env().now_ms, cx.env().keyspace.seed());
    let (start, end) =
        (hash::due_position(prefix, from_ms), hash::due_position(prefix, now_ms.saturating_add(1)));
    let mut field_row = RowKey::from_slice(prefix);
    let mut shown = 0;
    let mut failed: Option<Stop> = None;
    cx.scan_each(FIELD_EXPIRE, &start, &end, limit, &mut |row, _| {
        let is_expired = hash::read_due(row.get(prefix.len()..).unwrap_or_default())
            .map_err(Stop::from)
            .and_then(|(_, field)| {
                field_row.truncate(prefix.len());
                push_member(&mut field_row, hash64(seed, field), field);
                let mut is_expired = Ok(true);
                cx.get_each(DATA, &[&field_row], &mut |_, value| {
                    is_expired = value.map_or(Ok(true), |value| {
                        Head::decode(value).map(|(head, _)| head.is_expired(now_ms))
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
