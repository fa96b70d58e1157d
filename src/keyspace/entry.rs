//! A key's metadata row: finding it, judging whether it is alive, storing and removing it with everything that must
//! change in the same commit (its counter and its place in the expire space).

use super::context::{Db, Env, View, WriteCx};
use super::effects::{Effect, Was};
use super::events::{Event, missed};
use super::garbage::Dead;
use super::shared;
use crate::config::Events;
use crate::encoding::collection::{Expiring, read_own};
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::rows::{self, ExpireKind, RowKey};
use crate::encoding::{EXPIRE, META, Malformed};
use crate::error::{Error, Result};
use crate::reply::Span;

/// A key's metadata as stored, with the place of what follows the header: an inline value, or the type's own part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    pub header: Header,
    pub rest: Span,
    /// Of a type whose parts expire: what is known of these.
    pub expiring: Expiring,
}

impl Meta {
    fn decode(row: &[u8], at: Span) -> Result<Meta, Malformed> {
        let (header, len) = Header::decode(row)?;
        let expiring = expiring_of(&header, row.get(len..).unwrap_or_default())?;
        Ok(Meta { header, rest: at.behind(len), expiring })
    }

    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.header.expire_at_ms != 0 && self.header.expire_at_ms <= now_ms
    }
}

/// What the metadata of a key says of parts that expire; `rest` follows the header.
#[inline]
fn expiring_of(header: &Header, rest: &[u8]) -> Result<Expiring, Malformed> {
    if header.kind.parts_expire() && rest.len() > 1 {
        Expiring::decode(read_own(rest)?.1)
    } else {
        Ok(Expiring::default())
    }
}

/// The word TYPE answers and SCAN's TYPE option takes.
pub fn type_name(header: &Header, rest: &[u8]) -> &'static str {
    let info = header.kind.info();
    rest.first().and_then(|flags| info.guise(*flags)).map_or(info.name, |guise| guise.name)
}

/// What has become of a key that is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Live,
    /// Its own time has come.
    Expired,
    /// The time of its last part has come.
    Faded,
}

/// `db`, `slot` and `key` say where the rows of the key are.
#[inline]
fn life(cx: &impl View, (db, slot, key): (u32, u16, &[u8]), header: &Header, of: &Expiring) -> Result<Life> {
    let now_ms = cx.env().now_ms;
    if header.is_expired(now_ms) {
        return Ok(Life::Expired);
    }
    match header.body {
        Body::Rows { version, size } if of.may_be_due(now_ms) && size <= of.parts => {
            parts_life(cx, header.kind, &rows::collection(db, slot, key, version), of.earliest_ms)
        }
        _ => Ok(Life::Live),
    }
}

/// Of a key whose every part expires, some of them perhaps by now.
#[cold]
fn parts_life(cx: &impl View, kind: Kind, prefix: &[u8], from_ms: u64) -> Result<Life> {
    if kind.info().may_be_empty {
        return Ok(Life::Live);
    }
    let parts = cx.env().keyspace.parts.of(kind)?;
    Ok(if (parts.are_gone)(cx, prefix, from_ms)? { Life::Faded } else { Life::Live })
}

/// When the first part of a key may be due, from its metadata row taken apart; 0 where none expires.
pub fn earliest_part_ms(header: &Header, rest: &[u8]) -> Result<u64> {
    Ok(expiring_of(header, rest)?.earliest_ms)
}

/// Whether a key is alive, from its metadata row taken apart. `rest` follows the header.
pub fn is_live(cx: &impl View, row: &rows::MetaRow<'_>, header: &Header, rest: &[u8]) -> Result<bool> {
    let expiring = expiring_of(header, rest)?;
    Ok(life(cx, (row.db, row.slot, row.key), header, &expiring)? == Life::Live)
}

/// A key of one database, and what its row held when it was looked up.
#[derive(Debug, Clone)]
pub struct Entry<'k> {
    pub key: &'k [u8],
    pub db: Db,
    pub slot: u16,
    /// Its place among the keys of the slot.
    hash48: u64,
    stored: Option<Meta>,
    live: bool,
    faded: bool,
}

impl<'k> Entry<'k> {
    /// A key of which nothing is known yet.
    #[inline]
    fn of(env: &Env<'_>, db: Db, key: &'k [u8]) -> Entry<'k> {
        let (slot, hash48) = (env.slot_of(key), env.hash48_of(key));
        Entry { key, db, slot, hash48, stored: None, live: false, faded: false }
    }

    /// The key of the metadata row. Made when it is needed: entries are handed on, and it is most of their bytes.
    #[inline]
    fn row(&self) -> RowKey {
        rows::meta(self.db.physical, self.slot, self.hash48, self.key)
    }

    /// The metadata as it is on record.
    #[inline]
    fn read(&self, cx: &mut impl View) -> Result<Option<Meta>> {
        let Some(span) = cx.get(META, &self.row())? else { return Ok(None) };
        Ok(Some(Meta::decode(cx.bytes(span), span)?))
    }

    /// The metadata of a key whose last part has expired: it does not exist, but for its rows.
    pub fn faded(&self) -> Option<&Meta> {
        self.stored.as_ref().filter(|_| self.faded)
    }

    /// The metadata, unless the key is absent or its time has come.
    pub fn live(&self) -> Option<&Meta> {
        self.stored.as_ref().filter(|_| self.live)
    }

    pub fn exists(&self) -> bool {
        self.live
    }

    /// The metadata of a key that must be of this type if it exists.
    pub fn live_as(&self, kind: Kind) -> Result<Option<&Meta>> {
        match self.live() {
            Some(meta) if meta.header.kind != kind => Err(Error::WrongType.into()),
            other => Ok(other),
        }
    }

    /// The expiry on record, also of a key whose time has come; 0 is none.
    pub fn stored_expiry(&self) -> u64 {
        self.stored.map_or(0, |meta| meta.header.expire_at_ms)
    }

    /// Is on record, although its time has come, or that of its last part.
    pub fn has_expired(&self) -> bool {
        self.stored.is_some() && !self.live
    }

    /// What it is to who begins to watch it.
    pub fn was(&self) -> Was {
        match self.exists() {
            true => Was::There,
            false if self.has_expired() => Was::Expired,
            false => Was::Missing,
        }
    }

    /// Is on record, and its own time has come.
    fn has_lapsed(&self) -> bool {
        self.stored.is_some() && !self.live && !self.faded
    }

    /// When the live key expires; 0 is never.
    pub fn expire_at_ms(&self) -> u64 {
        self.live().map_or(0, |meta| meta.header.expire_at_ms)
    }
}

/// Looks a key up in the context's database.
#[inline]
pub fn find<'k>(cx: &mut impl View, key: &'k [u8]) -> Result<Entry<'k>> {
    let db = cx.env().db;
    find_in(cx, db, key)
}

/// Looks a key up in any database.
#[inline]
pub fn find_in<'k>(cx: &mut impl View, db: Db, key: &'k [u8]) -> Result<Entry<'k>> {
    let mut found = find_stored(cx, db, key)?;
    if found.has_lapsed() {
        cx.lapse(&mut found)?;
    }
    Ok(found)
}

/// Looks a key up as it is on record, whether its time has come or not.
#[inline]
pub fn find_stored<'k>(cx: &mut impl View, db: Db, key: &'k [u8]) -> Result<Entry<'k>> {
    let mut entry = Entry::of(cx.env(), db, key);
    if let Some(meta) = entry.read(cx)? {
        entry.judge(cx, meta)?;
    }
    Ok(entry)
}

/// As [`find_in`], for whoever takes out parts whose time has come: a key counts as live although it may have no
/// other ones.
pub fn find_with_due_parts<'k>(cx: &mut impl View, db: Db, key: &'k [u8]) -> Result<Entry<'k>> {
    let mut found = Entry::of(cx.env(), db, key);
    if let Some(meta) = found.read(cx)? {
        found.live = !meta.header.is_expired(cx.env().now_ms);
        found.stored = Some(meta);
    }
    if found.has_lapsed() {
        cx.lapse(&mut found)?;
    }
    Ok(found)
}

impl Entry<'_> {
    /// Takes in what is on record of the key.
    #[inline]
    fn judge(&mut self, cx: &impl View, meta: Meta) -> Result<()> {
        let life = life(cx, (self.db.physical, self.slot, self.key), &meta.header, &meta.expiring)?;
        (self.live, self.faded) = (life == Life::Live, life == Life::Faded);
        self.stored = Some(meta);
        Ok(())
    }
}

/// Looks many keys up at once, each counted as a hit or a miss. The caller calls [`meet`] when it comes
/// to them.
pub fn find_each<'k>(
    cx: &mut impl View,
    keys: impl Iterator<Item = &'k [u8]> + Clone,
) -> Result<Vec<Entry<'k>>> {
    let db = cx.env().db;
    let mut found: Vec<Entry<'k>> = keys.map(|key| Entry::of(cx.env(), db, key)).collect();
    let mut values: Vec<Option<Span>> = vec![None; found.len()];
    let mut arena = std::mem::take(cx.arena());
    let read = {
        let rows: Vec<RowKey> = found.iter().map(Entry::row).collect();
        let rows: Vec<&[u8]> = rows.iter().map(RowKey::as_slice).collect();
        cx.get_each(META, &rows, &mut |i, value| {
            if let (Some(bytes), Some(place)) = (value, values.get_mut(i)) {
                *place = Some(Span { start: arena.len(), len: bytes.len() });
                arena.extend_from_slice(bytes);
            }
        })
    };
    *cx.arena() = arena;
    read?;
    for (entry, span) in found.iter_mut().zip(values) {
        if let Some(span) = span {
            entry.judge(cx, Meta::decode(cx.bytes(span), span)?)?;
        }
        count_find(cx, entry);
    }
    Ok(found)
}

/// As [`find`], counted as a hit or a miss: what GET-like commands use.
#[inline]
pub fn find_counted<'k>(cx: &mut impl View, key: &'k [u8]) -> Result<Entry<'k>> {
    let entry = find(cx, key)?;
    count_find(cx, &entry);
    tell_miss(cx, &entry);
    Ok(entry)
}

/// As [`find_counted`], but nobody is told of a miss: for those who ask about a key, not for what it holds.
pub fn find_aside<'k>(cx: &mut impl View, key: &'k [u8]) -> Result<Entry<'k>> {
    let entry = find(cx, key)?;
    count_find(cx, &entry);
    Ok(entry)
}

/// One of many keys that were looked up together has its turn: what has expired is removed, and a miss is told.
pub fn meet(cx: &mut impl View, entry: &mut Entry<'_>) -> Result<()> {
    if entry.has_lapsed() {
        // Again by itself: it may be named twice, and be gone by now.
        *entry = find_in(cx, entry.db, entry.key)?;
    }
    tell_miss(cx, entry);
    Ok(())
}

#[inline]
fn tell_miss(cx: &mut impl View, entry: &Entry<'_>) {
    if !entry.live {
        missed(cx, entry.key);
    }
}

#[inline]
fn count_find(cx: &mut impl View, entry: &Entry<'_>) {
    let tally = cx.tally();
    if entry.live {
        tally.hits += 1;
    } else {
        tally.misses += 1;
    }
}

/// Puts the metadata row, whatever was there before. `rest` follows the header. The entry was looked up by this context,
/// which has removed what had expired.
pub fn store(cx: &mut WriteCx<'_>, entry: &Entry<'_>, header: &Header, rest: &[&[u8]]) -> Result<()> {
    let (row, head) = (entry.row(), header.encode());
    if cx.env.notes_order {
        cx.effects.note_stored(&row);
    }
    match rest {
        [] => cx.put(META, &row, &[head.as_slice()]),
        [only] => cx.put(META, &row, &[head.as_slice(), only]),
        [first, second] => cx.put(META, &row, &[head.as_slice(), first, second]),
        many => {
            let parts: smallvec::SmallVec<[&[u8]; 8]> =
                std::iter::once(head.as_slice()).chain(many.iter().copied()).collect();
            cx.put(META, &row, &parts);
        }
    }
    if entry.stored.is_none() {
        cx.notify_in(entry.db, Event::NEW, entry.key);
    } else if cx.env.events.intersects(Events::REPLACED) && replaces(entry, header) {
        tell_overwritten(cx, entry, header.kind);
    }
    if let Some(stored) = &entry.stored {
        let next_version = match header.body {
            Body::Inline => None,
            Body::Rows { version, .. } => Some(version),
        };
        cx.effects.list.extend(Dead::of(&cx.env, entry, stored, next_version).map(Effect::Dead));
    }
    let before_ms = entry.stored_expiry();
    let expiring = i64::from(header.expire_at_ms != 0) - i64::from(before_ms != 0);
    shared::count(cx, entry.db, entry.slot, i64::from(entry.stored.is_none()), expiring)?;
    move_expiry(cx, entry, ExpireKind::Key, before_ms, header.expire_at_ms);
    let parts_before_ms = entry.stored.map_or(0, |stored| stored.expiring.earliest_ms);
    let parts_ms = match rest {
        [_, own] if header.kind.parts_expire() => Expiring::decode(own)?.earliest_ms,
        [rest] => expiring_of(header, rest)?.earliest_ms,
        _ => 0,
    };
    if cx.env.sorts_fields {
        move_expiry(cx, entry, ExpireKind::Parts, parts_before_ms, parts_ms);
    }
    Ok(())
}

/// Whether a collection takes the place of what the key holds. Strings cannot be told from it: a string that is changed is
/// stored anew.
fn replaces(entry: &Entry<'_>, header: &Header) -> bool {
    let before = entry.stored.map(|stored| (stored.header.kind, stored.header.body));
    match (before, header.body) {
        (Some((kind, Body::Rows { version: before, .. })), Body::Rows { version, .. }) => {
            header.kind.has_elements() && (kind != header.kind || version != before)
        }
        _ => header.kind.has_elements(),
    }
}

/// Something else takes the place of what the key holds, if it holds something.
#[inline]
pub fn tell_overwritten(cx: &mut WriteCx<'_>, entry: &Entry<'_>, kind: Kind) {
    if cx.env.events.intersects(Events::REPLACED)
        && let Some(before) = entry.live().map(|meta| meta.header.kind)
    {
        cx.notify_in(entry.db, Event::OVERWRITTEN, entry.key);
        if before != kind {
            cx.notify_in(entry.db, Event::TYPE_CHANGED, entry.key);
        }
    }
}

/// Removes the key. Its element rows, if any, become garbage by losing their metadata.
pub fn remove(cx: &mut WriteCx<'_>, entry: &Entry<'_>) -> Result<()> {
    if entry.live {
        cx.notify_in(entry.db, Event::DEL, entry.key);
    }
    take_away(cx, entry)
}

/// As [`remove`], of a key that is not deleted in the eyes of those who are told: it has another name now, or its time has
/// come.
pub fn take_away(cx: &mut WriteCx<'_>, entry: &Entry<'_>) -> Result<()> {
    let Some(stored) = &entry.stored else { return Ok(()) };
    cx.delete(META, &entry.row());
    cx.effects.list.extend(Dead::of(&cx.env, entry, stored, None).map(Effect::Dead));
    shared::count(cx, entry.db, entry.slot, -1, -i64::from(stored.header.expire_at_ms != 0))?;
    if entry.has_lapsed() {
        cx.tally().expired += 1;
        cx.notify_in(entry.db, Event::EXPIRED, entry.key);
    }
    move_expiry(cx, entry, ExpireKind::Key, stored.header.expire_at_ms, 0);
    if cx.env.sorts_fields {
        move_expiry(cx, entry, ExpireKind::Parts, stored.expiring.earliest_ms, 0);
    }
    Ok(())
}

/// Removes a key whose time has come before anything else is done with it.
#[cold]
pub(super) fn expire(cx: &mut WriteCx<'_>, found: &mut Entry<'_>) -> Result<()> {
    take_away(cx, found)?;
    found.stored = None;
    Ok(())
}

/// Gives the live key another expiry (0: none) and leaves everything else as it is.
pub fn set_expiry(cx: &mut WriteCx<'_>, entry: &Entry<'_>, expire_at_ms: u64) -> Result<()> {
    let Some(meta) = entry.live() else { return Ok(()) };
    let header = Header { expire_at_ms, ..meta.header };
    let rest = meta.rest;
    cx.lend(|cx, arena| store(cx, entry, &header, &[rest.of(arena)]))
}

/// Puts the key into the expire space, at the time of its earliest part, if it is not there yet.
pub fn index_parts(cx: &mut WriteCx<'_>, entry: &Entry<'_>) {
    let earliest_ms = entry.stored.map_or(0, |stored| stored.expiring.earliest_ms);
    move_expiry(cx, entry, ExpireKind::Parts, 0, earliest_ms);
}

/// What an element row of this version of the key begins with.
#[inline]
pub fn element_prefix(entry: &Entry<'_>, version: u64) -> RowKey {
    rows::collection(entry.db.physical, entry.slot, entry.key, version)
}

/// The version of a key whose elements live in rows.
pub fn version(meta: &Meta) -> Option<u64> {
    match meta.header.body {
        Body::Inline => None,
        Body::Rows { version, .. } => Some(version),
    }
}

fn move_expiry(cx: &mut WriteCx<'_>, entry: &Entry<'_>, kind: ExpireKind, before_ms: u64, after_ms: u64) {
    if before_ms == after_ms {
        return;
    }
    let row = |at_ms| rows::expire(at_ms, kind, entry.db.physical, entry.slot, entry.key);
    if before_ms != 0 {
        cx.delete(EXPIRE, &row(before_ms));
    }
    if after_ms != 0 {
        cx.put(EXPIRE, &row(after_ms), &[]);
    }
}
