//! Writing: a hash that is open, and what commands do with it.

use smallvec::SmallVec;

use super::KIND;
use super::due::{PER_WRITE, announce, take_due};
use super::version::Check;
use crate::encoding::FIELD_EXPIRE;
use crate::encoding::collection::{Expiring, TAIR};
use crate::encoding::hash::{self, Head};
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, View as _, WriteCx, entry};
use crate::number;
use crate::number::extended::{self, Extended};
use crate::reply::Span;
use crate::types::collection::Collection;

/// Whose commands make a hash: TYPE tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    Redis,
    Tair,
}

/// What becomes of a field's expiry when its value is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ttl {
    Clear,
    Keep,
    /// Milliseconds since 1970, not 0.
    At(u64),
}

/// A hash that is being written. Nothing of it is seen before [`Hash::save`].
pub struct Hash<'k> {
    all: Collection<'k>,
    expiring: Expiring,
}

/// What is on record of a field.
#[derive(Debug, Clone, Copy)]
pub struct Old {
    /// Of its row, if there is one, whether its time has come or not.
    head: Option<Head>,
    value: Span,
    is_live: bool,
}

impl Old {
    /// What is known of a field that exists.
    pub fn live(&self) -> Option<Head> {
        self.head.filter(|_| self.is_live)
    }

    /// The value of a field that exists, in the arena.
    pub fn value(&self) -> Option<Span> {
        self.is_live.then_some(self.value)
    }
}

impl<'k> Hash<'k> {
    /// The hash that a key holds. None where it does not exist.
    pub fn open(cx: &mut WriteCx<'_>, key: &'k [u8]) -> Result<Option<Hash<'k>>> {
        Collection::open(cx, key, KIND)?.map(Hash::of).transpose()
    }

    /// An empty hash in place of the one that the key holds, if any. It exists once it is saved with a field in it.
    pub fn replace(cx: &mut WriteCx<'_>, key: &'k [u8]) -> Result<Hash<'k>> {
        let found = entry::find(cx, key)?;
        found.live_as(KIND)?;
        Hash::of(Collection::create(cx, found, KIND)?)
    }

    pub fn open_or_create(cx: &mut WriteCx<'_>, key: &'k [u8], maker: Maker) -> Result<Hash<'k>> {
        let found = entry::find(cx, key)?;
        if let Some(meta) = found.live_as(KIND)?.copied() {
            return Hash::of(Collection::with(cx, found, &meta)?);
        }
        // The fields of a hash that has faded stay until they are reaped one by one, so that each is announced.
        let mut all = match found.faded().copied() {
            Some(meta) => Collection::with(cx, found, &meta)?,
            None => Collection::create(cx, found, KIND)?,
        };
        all.set_flag(TAIR, maker == Maker::Tair);
        Hash::of(all)
    }

    fn of(all: Collection<'k>) -> Result<Hash<'k>> {
        let expiring = Expiring::decode(all.own())?;
        Ok(Hash { all, expiring })
    }

    /// What there is of a field. It may be put, restamped or deleted right after.
    #[inline]
    pub fn look_up(&mut self, cx: &mut WriteCx<'_>, field: &[u8]) -> Result<Old> {
        let Some(row) = self.all.look_up(cx, field)? else {
            return Ok(Old { head: None, value: Span::default(), is_live: false });
        };
        let (head, len) = Head::decode(cx.bytes(row))?;
        let is_live = !head.is_expired(cx.env.now_ms);
        Ok(Old { head: Some(head), value: row.behind(len), is_live })
    }

    /// Puts the field that was looked up.
    #[inline]
    pub fn put(
        &mut self,
        cx: &mut WriteCx<'_>,
        (field, value): (&[u8], &[u8]),
        old: &Old,
        ttl: Ttl,
        check: Check,
    ) {
        note_lengths(&cx.env, &mut self.all, field, value);
        let live = old.live();
        let expire_at_ms = match ttl {
            Ttl::Clear => 0,
            Ttl::Keep => live.map_or(0, |head| head.expire_at_ms),
            Ttl::At(at_ms) => at_ms,
        };
        let indexed_ms = self.index(cx, field, old, expire_at_ms);
        let head = Head { expire_at_ms, indexed_ms, version: check.next(live) };
        self.all.put_here(cx, &[head.encode().as_slice(), value], old.head.is_none());
    }

    /// Gives the field that was looked up, and exists, another expiry and version; its value stays.
    pub fn restamp(
        &mut self,
        cx: &mut WriteCx<'_>,
        field: &[u8],
        old: &Old,
        (expire_at_ms, version): (u64, u64),
    ) {
        let indexed_ms = self.index(cx, field, old, expire_at_ms);
        let head = Head { expire_at_ms, indexed_ms, version };
        let (all, value) = (&mut self.all, old.value);
        cx.lend(|cx, arena| all.put_here(cx, &[head.encode().as_slice(), value.of(arena)], false));
    }

    /// Deletes the field that was looked up; whether it existed.
    pub fn delete(&mut self, cx: &mut WriteCx<'_>, field: &[u8], old: &Old) -> bool {
        if old.head.is_some() {
            self.all.delete_here(cx);
            self.index(cx, field, old, 0);
        }
        old.is_live
    }

    /// Sees to the field's place in the index, and returns it. An expiry that is put off leaves it where it is: whoever
    /// comes there looks at the field. A row that was there although its time had come has gone by now.
    #[inline]
    fn index(&mut self, cx: &mut WriteCx<'_>, field: &[u8], old: &Old, expire_at_ms: u64) -> u64 {
        let before_ms = old.head.map_or(0, |head| head.indexed_ms);
        if before_ms == 0 && expire_at_ms == 0 {
            return 0;
        }
        if before_ms != 0 {
            if old.is_live && before_ms <= expire_at_ms {
                return before_ms;
            }
            cx.delete(FIELD_EXPIRE, &hash::due(self.all.prefix(), before_ms, field));
            self.expiring.parts = self.expiring.parts.saturating_sub(1);
            if !old.is_live {
                self.expired(cx, field);
            }
        }
        if expire_at_ms != 0 {
            cx.put(FIELD_EXPIRE, &hash::due(self.all.prefix(), expire_at_ms, field), &[]);
            let Expiring { parts, earliest_ms } = self.expiring;
            let earliest_ms = if parts == 0 { expire_at_ms } else { earliest_ms.min(expire_at_ms) };
            self.expiring = Expiring { parts: parts + 1, earliest_ms };
        }
        expire_at_ms
    }

    /// A field has been removed because its time had come.
    fn expired(&self, cx: &mut WriteCx<'_>, field: &[u8]) {
        cx.tally().expired_fields += 1;
        announce(cx, &self.all.entry, [field]);
    }

    /// As [`Hash::save`], of a hash none of whose fields expires; nor does the key.
    pub fn save_without_expiry(&mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        self.all.set_own(&[]);
        self.all.save_with_expiry(cx, 0)
    }

    /// Puts the metadata if it has changed; the key goes with its last field. A few other fields whose time has come
    /// go as well.
    pub fn save(&mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        // What is due at this very moment was perhaps put by this command.
        let until_ms = cx.env.now_ms.saturating_sub(1);
        if self.expiring.may_be_due(until_ms) {
            self.reap(cx, until_ms)?;
        }
        if self.expiring.parts == 0 {
            self.expiring = Expiring::default();
            self.all.set_own(&[]);
        } else {
            self.all.set_own(&self.expiring.encode());
        }
        self.all.save(cx)
    }

    #[cold]
    fn reap(&mut self, cx: &mut WriteCx<'_>, until_ms: u64) -> Result<()> {
        let Hash { all, expiring } = self;
        let span = (expiring.earliest_ms, until_ms);
        let taken = take_due(cx, &all.entry, all.prefix(), span, PER_WRITE)?;
        cx.tally().expired_fields += taken.parts as u32;
        expiring.parts = expiring.parts.saturating_sub(taken.parts);
        expiring.earliest_ms = taken.next_ms;
        all.resize(all.size().saturating_sub(taken.parts));
        Ok(())
    }
}

/// Redis leaves its compact form for a long field or value.
pub(super) fn note_lengths(env: &Env<'_>, all: &mut Collection<'_>, field: &[u8], value: &[u8]) {
    if field.len().max(value.len()) > env.limits.hash_value_len {
        all.grow();
    }
}

/// Sets fields and returns how many of them are new.
pub fn set<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    maker: Maker,
    ttl: Ttl,
    pairs: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<u64> {
    cx.env.move_if_heavy(pairs.len(), Env::IO_THREAD_MAX_ROWS)?;
    let mut hash = Hash::open_or_create(cx, key, maker)?;
    let mark = cx.arena().len();
    let mut new = 0;
    for (field, value) in pairs {
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        hash.put(cx, (field, value), &old, ttl, Check::None);
        new += u64::from(!old.is_live);
    }
    hash.save(cx)?;
    Ok(new)
}

/// Sets a field unless it is there; whether it was set.
pub fn set_new(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    maker: Maker,
    (field, value): (&[u8], &[u8]),
    check: Check,
) -> Result<bool> {
    let mut hash = Hash::open_or_create(cx, key, maker)?;
    let old = hash.look_up(cx, field)?;
    if old.is_live {
        return Ok(false);
    }
    hash.put(cx, (field, value), &old, Ttl::Clear, check);
    hash.save(cx)?;
    Ok(true)
}

/// Deletes fields, tells of them, and returns how many were there.
pub fn delete<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    fields: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Result<u64> {
    cx.env.move_if_heavy(fields.len(), Env::IO_THREAD_MAX_ROWS)?;
    let Some(mut hash) = Hash::open(cx, key)? else { return Ok(0) };
    let (mark, are_told) = (cx.arena().len(), cx.tells_fields(Event::HDEL));
    let (mut count, mut deleted) = (0, Vec::new());
    for field in fields {
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        if hash.delete(cx, field, &old) {
            count += 1;
            deleted.extend(are_told.then_some(field));
        }
        if hash.all.is_empty() {
            break;
        }
    }
    hash.save(cx)?;
    if count > 0 {
        cx.notify_fields(Event::HDEL, key, deleted);
    }
    Ok(count)
}

/// A value on its way into a row.
pub type Text = SmallVec<[u8; 24]>;

/// Sets a field of an open hash to what `compute` makes of it, saves the hash and returns what else `compute` makes.
pub fn update<T>(
    cx: &mut WriteCx<'_>,
    mut hash: Hash<'_>,
    field: &[u8],
    (ttl, check): (Ttl, Check),
    compute: impl FnOnce(Option<Head>, Option<&[u8]>) -> Result<(Text, T)>,
) -> Result<T> {
    let old = hash.look_up(cx, field)?;
    let (text, made) = compute(old.live(), old.value().map(|value| cx.bytes(value)))?;
    hash.put(cx, (field, &text), &old, ttl, check);
    hash.save(cx)?;
    Ok(made)
}

/// Adds to the number that a field spells and returns the sum.
pub fn increment(cx: &mut WriteCx<'_>, key: &[u8], field: &[u8], by: i64) -> Result<i64> {
    let hash = Hash::open_or_create(cx, key, Maker::Redis)?;
    update(cx, hash, field, (Ttl::Keep, Check::None), |_, old| {
        let before = old.map_or(Some(0), number::parse_i64);
        let before = before.ok_or_else(|| Error::reply("ERR hash value is not an integer"))?;
        let after = before
            .checked_add(by)
            .ok_or_else(|| Error::reply("ERR increment or decrement would overflow"))?;
        Ok((spelt(after), after))
    })
}

/// A number in decimal digits.
pub fn spelt(number: i64) -> Text {
    Text::from_slice(itoa::Buffer::new().format(number).as_bytes())
}

/// The floating point number that a field spells; 0 for a field that does not exist.
pub fn read_float(old: Option<&[u8]>) -> Option<Extended> {
    match old {
        None => Some(Extended::ZERO),
        Some(text) if text.len() <= extended::MAX_TEXT_LEN => Extended::parse(text),
        Some(_) => None,
    }
}

/// Adds to the floating point number that a field spells and returns the sum as it is spelt then.
pub fn increment_float(cx: &mut WriteCx<'_>, key: &[u8], field: &[u8], by: Extended) -> Result<Vec<u8>> {
    let hash = Hash::open_or_create(cx, key, Maker::Redis)?;
    update(cx, hash, field, (Ttl::Keep, Check::None), |_, old| {
        let before = read_float(old).ok_or_else(|| Error::reply("ERR hash value is not a float"))?;
        let sum = before.plus(by).map_err(|_| Error::reply("ERR increment would produce NaN or Infinity"))?;
        let text = sum.print();
        Ok((Text::from_slice(&text), text))
    })
}
