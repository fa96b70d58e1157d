//! What hashes, sets, lists and sorted sets have in common: elements in rows of one version, and their number in the
//! metadata.
//!
//! A command opens a key as a kind of collection, works on elements, and saves it:
//!
//! ```text
//! let mut set = Collection::open_or_create(cx, key, set::KIND)?;      // one metadata read, the type checked
//! for member in members { added += u64::from(set.insert(cx, member)?); }     // one read each; what is new is written
//! set.save(cx)?;           // the metadata, if it has changed: the key goes with its last element
//! ```
//!
//! * [`Collection`]: one element by its name, or by its sub-key where the type numbers its elements.
//! * [`Collection::each`]: all elements in one scan, for reads whose size was asked for with [`Collection::light`].
//! * [`Walk`]: the same in bounded steps, between which the collection may be written; it can seek. [`Merge`]: several of
//!   them at once.
//! * [`page`]: SCAN's cursors. [`random`]: picks that do not walk. [`copy`]: a whole collection under another name.
//!
//! Elements are sorted by sub-key: `hash64(member), member` where they have names. The order is the same in every
//! collection of a data directory, so sub-keys of different sets can be compared.
//!
//! Invariants: the size in the metadata is exact in every commit; no collection is empty but of a type
//! that may be; element writes keep the
//! expiry; rows of a version are only ever written under the key's lock or before the version is live.

pub mod copy;
mod merge;
pub mod page;
pub mod random;
mod walk;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use smallvec::SmallVec;
use tarn_engine::{Direction, Range};

pub use merge::Merge;
pub use walk::{Element, MAX_STEP_BYTES, MAX_STEP_ROWS, Walk};

use crate::encoding::DATA;
use crate::encoding::collection::{GROWN, hash64, push_member, read_own};
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::rows::{RowKey, collection_end};
use crate::error::{Error, Result};
use crate::keyspace::kind::Encoding;
use crate::keyspace::{Entry, Env, Meta, View, WriteCx, entry};
use crate::reply::Span;

/// Up to so many elements are read one by one, more of them together: the first costs no memory, the second asks the
/// disk once.
const FEW_READS: usize = 16;
/// Elements that are read together.
const READS_PER_STEP: usize = 256;

/// The type's own part of the metadata.
pub type Own = SmallVec<[u8; 16]>;

/// A key that is, or is about to be, a collection.
#[derive(Debug, Clone)]
pub struct Collection<'k> {
    pub entry: Entry<'k>,
    kind: Kind,
    version: u64,
    size: u64,
    flags: u8,
    own: Own,
    /// The prefix of every row, and behind it the sub-key that was used last.
    row: RowKey,
    prefix_len: usize,
    /// No row of this version is older than the command.
    fresh: bool,
    /// The metadata must be put.
    changed: bool,
}

/// Opening.
impl<'k> Collection<'k> {
    /// For reading commands: counted as a hit or a miss. None where there is no such key.
    #[inline(always)] // so that it is made where it stays
    pub fn find(cx: &mut impl View, key: &'k [u8], kind: Kind) -> Result<Option<Collection<'k>>> {
        let found = entry::find_counted(cx, key)?;
        Collection::of(cx, found, kind)
    }

    /// For writing commands. None where there is no such key.
    #[inline(always)] // so that it is made where it stays
    pub fn open(cx: &mut impl View, key: &'k [u8], kind: Kind) -> Result<Option<Collection<'k>>> {
        let found = entry::find(cx, key)?;
        Collection::of(cx, found, kind)
    }

    #[inline(always)] // so that it is made where it stays
    pub fn open_or_create(cx: &mut WriteCx<'_>, key: &'k [u8], kind: Kind) -> Result<Collection<'k>> {
        let found = entry::find(cx, key)?;
        if found.exists() {
            Collection::of(cx, found, kind)?.ok_or_else(|| Error::NoSuchKey.into())
        } else {
            Collection::create(cx, found, kind)
        }
    }

    /// The collection that a key holds. None where it does not exist.
    #[inline(always)] // so that it is made where it stays
    pub fn of(cx: &impl View, found: Entry<'k>, kind: Kind) -> Result<Option<Collection<'k>>> {
        let Some(meta) = found.live_as(kind)?.copied() else { return Ok(None) };
        Collection::with(cx, found, &meta).map(Some)
    }

    /// The collection of this metadata.
    #[inline(always)] // so that it is made where it stays
    pub fn with(cx: &impl View, found: Entry<'k>, meta: &Meta) -> Result<Collection<'k>> {
        let kind = meta.header.kind;
        let Body::Rows { version, size } = meta.header.body else {
            return Err(Error::Damaged("a collection without rows").into());
        };
        let (flags, own) = read_own(cx.bytes(meta.rest))?;
        let own = Own::from_slice(own);
        let row = entry::element_prefix(&found, version);
        let prefix_len = row.len();
        let (fresh, changed) = (false, false);
        Ok(Collection { entry: found, kind, version, size, flags, own, row, prefix_len, fresh, changed })
    }

    /// An empty collection in place of whatever the key holds, with a version of its own. It exists, and what was there
    /// is gone, once it is saved with an element in it.
    #[inline]
    pub fn create(cx: &mut WriteCx<'_>, found: Entry<'k>, kind: Kind) -> Result<Collection<'k>> {
        let version = cx.new_version()?;
        let row = entry::element_prefix(&found, version);
        let prefix_len = row.len();
        let (flags, own) = (0, Own::new());
        let (fresh, changed) = (true, true);
        Ok(Collection { entry: found, kind, version, size: 0, flags, own, row, prefix_len, fresh, changed })
    }
}

/// Deletes elements of a collection that may not be there, shows those that were and returns how many.
pub fn delete_each<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    kind: Kind,
    members: impl ExactSizeIterator<Item = &'a [u8]>,
    gone: &mut dyn FnMut(&'a [u8]),
) -> Result<u64> {
    cx.env.move_if_heavy(members.len(), Env::IO_THREAD_MAX_ROWS)?;
    let Some(mut all) = Collection::open(cx, key, kind)? else { return Ok(0) };
    let before = all.size();
    for member in members {
        if all.delete(cx, member)? {
            gone(member);
        }
        if all.is_empty() {
            break;
        }
    }
    all.save(cx)?;
    Ok(before - all.size())
}

/// What is known without reading elements.
impl Collection<'_> {
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Number of elements.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Whether the collection was made by this command.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether Redis would have left its compact form for good.
    pub fn has_grown(&self) -> bool {
        self.flags & GROWN != 0
    }

    pub fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The type's own part of the metadata.
    pub fn own(&self) -> &[u8] {
        &self.own
    }

    /// What every row of the collection begins with.
    pub fn prefix(&self) -> &[u8] {
        self.row.get(..self.prefix_len).unwrap_or(&self.row)
    }

    /// To be asked before all elements are read: many of them leave the I/O thread.
    pub fn light(&self, env: &Env<'_>) -> Result<()> {
        env.move_if_heavy(usize::try_from(self.size).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)
    }
}

/// Elements by their names.
impl Collection<'_> {
    /// The row of a member, until the next one is asked for.
    #[inline]
    pub fn member_row(&mut self, env: &Env<'_>, member: &[u8]) -> &RowKey {
        self.row.truncate(self.prefix_len);
        push_member(&mut self.row, hash64(env.keyspace.seed(), member), member);
        &self.row
    }

    /// The row of a sub-key, until the next one is asked for.
    #[inline]
    pub fn sub_row(&mut self, sub: &[u8]) -> &RowKey {
        self.row.truncate(self.prefix_len);
        self.row.extend_from_slice(sub);
        &self.row
    }

    /// The member's value, in the arena.
    #[inline]
    pub fn get(&mut self, cx: &mut impl View, member: &[u8]) -> Result<Option<Span>> {
        if self.holds_nothing() {
            return Ok(None);
        }
        self.member_row(cx.env(), member);
        cx.get(DATA, &self.row)
    }

    #[inline]
    pub fn has(&mut self, cx: &mut impl View, member: &[u8]) -> Result<bool> {
        if self.holds_nothing() {
            return Ok(false);
        }
        self.member_row(cx.env(), member);
        self.has_row(cx)
    }

    /// As [`Collection::get`]; the member may be put or deleted right after it without being looked for again.
    #[inline]
    pub fn look_up(&mut self, cx: &mut impl View, member: &[u8]) -> Result<Option<Span>> {
        let knows_none = self.holds_nothing();
        self.member_row(cx.env(), member);
        if knows_none { Ok(None) } else { self.get_row(cx) }
    }

    /// Shows the value of each member, or that there is none, in order.
    pub fn get_each<'m>(
        &mut self,
        cx: &mut impl View,
        members: impl ExactSizeIterator<Item = &'m [u8]>,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let mark = cx.arena().len();
        if members.len() <= FEW_READS {
            for member in members {
                let found = self.get(cx, member)?;
                each(found.map(|span| cx.bytes(span)));
                cx.arena().truncate(mark);
            }
            return Ok(());
        }
        let mut members = members.peekable();
        let mut rows: Vec<RowKey> = Vec::with_capacity(READS_PER_STEP.min(members.len()));
        while members.peek().is_some() {
            rows.clear();
            for member in members.by_ref().take(READS_PER_STEP) {
                rows.push(self.member_row(cx.env(), member).clone());
            }
            let keys: Vec<&[u8]> = rows.iter().map(|row| row.as_slice()).collect();
            cx.get_each(DATA, &keys, &mut |_, value| each(value))?;
        }
        Ok(())
    }

    /// Puts the member, whether it is there or not; whether it is new. Types look at what was there and put it themselves.
    #[cfg(test)]
    pub fn put(&mut self, cx: &mut WriteCx<'_>, member: &[u8], value: &[&[u8]]) -> Result<bool> {
        let knows_none = self.holds_nothing();
        self.member_row(&cx.env, member);
        let is_new = knows_none || !self.has_row(cx)?;
        self.put_here(cx, value, is_new);
        Ok(is_new)
    }

    /// Puts a member that has no value, unless it is there; whether it is new.
    #[inline]
    pub fn insert(&mut self, cx: &mut WriteCx<'_>, member: &[u8]) -> Result<bool> {
        let knows_none = self.holds_nothing();
        self.member_row(&cx.env, member);
        let is_new = knows_none || !self.has_row(cx)?;
        if is_new {
            self.put_here(cx, &[], true);
        }
        Ok(is_new)
    }

    /// Puts a member of which it is known whether it is there.
    #[inline]
    pub fn put_known(&mut self, cx: &mut WriteCx<'_>, member: &[u8], value: &[&[u8]], is_new: bool) {
        self.member_row(&cx.env, member);
        self.put_here(cx, value, is_new);
    }

    /// Puts the member whose row was asked for last.
    #[inline]
    pub fn put_here(&mut self, cx: &mut WriteCx<'_>, value: &[&[u8]], is_new: bool) {
        cx.put(DATA, &self.row, value);
        if is_new {
            self.resize(self.size + 1);
        }
    }

    /// Deletes the member; whether it was there.
    pub fn delete(&mut self, cx: &mut WriteCx<'_>, member: &[u8]) -> Result<bool> {
        let was_there = self.has(cx, member)?;
        if was_there {
            cx.delete(DATA, &self.row);
            self.resize(self.size.saturating_sub(1));
        }
        Ok(was_there)
    }

    /// Deletes the member that was looked up last, and is there.
    pub fn delete_here(&mut self, cx: &mut WriteCx<'_>) {
        cx.delete(DATA, &self.row);
        self.resize(self.size.saturating_sub(1));
    }

    /// Deletes a member that is known to be there.
    pub fn delete_known(&mut self, cx: &mut WriteCx<'_>, member: &[u8]) {
        self.member_row(&cx.env, member);
        cx.delete(DATA, &self.row);
        self.resize(self.size.saturating_sub(1));
    }

    /// Whether a read can be spared: nothing was put into a version that is as new as the command.
    #[inline]
    fn holds_nothing(&self) -> bool {
        self.fresh && self.size == 0
    }

    #[inline]
    fn get_row(&self, cx: &mut impl View) -> Result<Option<Span>> {
        if self.fresh { cx.get_new(DATA, &self.row) } else { cx.get(DATA, &self.row) }
    }

    #[inline]
    fn has_row(&self, cx: &mut impl View) -> Result<bool> {
        let mark = cx.arena().len();
        let found = self.get_row(cx)?.is_some();
        cx.arena().truncate(mark);
        Ok(found)
    }
}

/// The metadata.
impl Collection<'_> {
    /// For types that put and delete rows by themselves: how many elements there are now.
    pub fn resize(&mut self, size: u64) {
        self.size = size;
        self.changed = true;
    }

    /// An element is too big for Redis's compact form.
    #[inline]
    pub fn grow(&mut self) {
        if !self.has_grown() {
            self.flags |= GROWN;
            self.changed = true;
        }
    }

    /// Sets or clears a flag of the metadata.
    pub fn set_flag(&mut self, flag: u8, on: bool) {
        let flags = if on { self.flags | flag } else { self.flags & !flag };
        self.changed |= flags != self.flags;
        self.flags = flags;
    }

    pub fn set_own(&mut self, own: &[u8]) {
        if self.own.as_slice() != own {
            self.own = Own::from_slice(own);
            self.changed = true;
        }
    }

    /// Puts the metadata if it has changed. The key goes with its last element, unless its type may be empty; its expiry
    /// stays.
    pub fn save(&mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        let expire_at_ms = self.entry.expire_at_ms();
        self.save_with_expiry(cx, expire_at_ms)
    }

    /// As [`Collection::save`] for a collection that replaces what the key held, its expiry included (0: none).
    pub fn save_with_expiry(&mut self, cx: &mut WriteCx<'_>, expire_at_ms: u64) -> Result<()> {
        if !self.changed && expire_at_ms == self.entry.expire_at_ms() {
            return Ok(());
        }
        self.changed = false;
        if self.size == 0 && !self.kind.info().may_be_empty {
            return entry::remove(cx, &self.entry);
        }
        if self.size > compact_limit(&cx.env, self.kind) {
            self.flags |= GROWN;
        }
        let body = Body::Rows { version: self.version, size: self.size };
        let header = Header { kind: self.kind, expire_at_ms, body };
        entry::store(cx, &self.entry, &header, &[&[self.flags], &self.own])
    }
}

/// Elements up to which Redis keeps a collection of this kind in its compact form.
fn compact_limit(env: &Env<'_>, kind: Kind) -> u64 {
    match kind.info().encoding {
        Encoding::Compact { up_to, .. } => env.limits.size(up_to) as u64,
        Encoding::Only(_) | Encoding::Text => u64::MAX,
    }
}

/// All elements.
impl Collection<'_> {
    /// The first key of the collection's rows and the key behind the last.
    pub fn bounds(&self) -> (RowKey, RowKey) {
        (RowKey::from_slice(self.prefix()), collection_end(self.prefix()))
    }

    /// The place of a sub-key.
    pub fn place(&self, sub: &[u8]) -> RowKey {
        let mut row = RowKey::from_slice(self.prefix());
        row.extend_from_slice(sub);
        row
    }

    /// Visits the elements in order until `visit` breaks.
    pub fn each(&self, cx: &impl View, visit: &mut dyn FnMut(Element<'_>) -> ControlFlow<()>) -> Result<()> {
        let (start, end) = self.bounds();
        self.each_between(cx, &start, &end, usize::MAX, visit)
    }

    /// Visits up to `limit` elements from one place up to another.
    pub fn each_between(
        &self,
        cx: &impl View,
        start: &[u8],
        end: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(Element<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let prefix_len = self.prefix_len;
        cx.scan_with(DATA, Range { start, end }, Direction::Forward, limit, &mut |row, value| {
            visit(Element { sub: row.get(prefix_len..).unwrap_or_default(), value })
        })
    }

    /// Shows the element of this rank among those from one place up to another. If there is none: how many there are.
    pub fn nth(
        &self,
        cx: &impl View,
        start: &[u8],
        end: &[u8],
        rank: usize,
        visit: &mut dyn FnMut(Element<'_>),
    ) -> Result<Option<usize>> {
        let prefix_len = self.prefix_len;
        cx.nth_with(DATA, Range { start, end }, rank, &mut |row, value| {
            visit(Element { sub: row.get(prefix_len..).unwrap_or_default(), value });
        })
    }

    /// Shows an element, each with the same chance, where that is little work; false where it is not.
    pub fn pick(
        &self,
        cx: &impl View,
        draw: &mut dyn FnMut() -> u64,
        visit: &mut dyn FnMut(Element<'_>),
    ) -> Result<bool> {
        let prefix_len = self.prefix_len;
        cx.pick_with(DATA, self.prefix(), draw, &mut |row, value| {
            visit(Element { sub: row.get(prefix_len..).unwrap_or_default(), value });
        })
    }

    /// The elements in bounded steps.
    pub fn walk(&self) -> Walk {
        let (start, end) = self.bounds();
        Walk::over(DATA, self.prefix_len, start, end, Direction::Forward)
    }
}
