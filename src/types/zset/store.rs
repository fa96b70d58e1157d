//! A whole sorted set in place of what a key holds, made of members that come in any order, each once. Memory holds a
//! batch of rows, whatever the size.

use super::{KIND, Kept, Scored, is_compact, kept_score};
use crate::encoding::rows::RowKey;
use crate::encoding::zset::{push_score, sign, value};
use crate::encoding::{DATA, SCORE};
use crate::error::Result;
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, WriteCx, entry};
use crate::types::collection::Collection;

pub struct Store<'a, 'k> {
    rows: Collection<'k>,
    build: Builder<'a>,
    score_row: RowKey,
    prefix_len: usize,
    /// The members as long as they fit the compact form of Redis, which is known at the end only.
    compact: Option<Kept>,
    /// What Redis puts into the compact form one by one loses the sign of minus zero at once, not at the end.
    one_by_one: bool,
    size: u64,
}

impl<'a, 'k> Store<'a, 'k> {
    pub fn begin(cx: &mut WriteCx<'a>, key: &'k [u8]) -> Result<Store<'a, 'k>> {
        let found = entry::find(cx, key)?;
        Store::in_place_of(cx, found, 0)
    }

    /// As [`Store::begin`], of a key that was looked up. `members` is how many there will be, about.
    pub fn in_place_of(cx: &mut WriteCx<'a>, found: Entry<'k>, members: u64) -> Result<Store<'a, 'k>> {
        let build = Builder::begin(&cx.env, members.saturating_mul(2))?;
        let rows = Collection::create(cx, found, KIND)?;
        let score_row = RowKey::from_slice(rows.prefix());
        let prefix_len = score_row.len();
        let compact = Some(Kept::default());
        Ok(Store { rows, build, score_row, prefix_len, compact, one_by_one: false, size: 0 })
    }

    /// As [`Store::begin`] for members that Redis adds one by one, in their order. `len` is how many there will be, where
    /// that is known.
    pub fn one_by_one(cx: &mut WriteCx<'a>, key: &'k [u8], len: Option<u64>) -> Result<Store<'a, 'k>> {
        let mut store = Store::begin(cx, key)?;
        store.one_by_one = true;
        if len.is_some_and(|len| !is_compact(&cx.env, len, b"")) {
            store.put_compact(cx, true)?;
        }
        Ok(store)
    }

    pub fn add(&mut self, cx: &mut WriteCx<'a>, scored: Scored<'_>) -> Result<()> {
        self.size += 1;
        match &mut self.compact {
            Some(kept) if is_compact(&cx.env, self.size, scored.member) => {
                let score = kept_score(scored.score, !self.one_by_one);
                kept.push(Scored { score, ..scored });
            }
            Some(_) => {
                self.put_compact(cx, true)?;
                self.put(cx, scored, true)?;
            }
            None => self.put(cx, scored, true)?,
        }
        Ok(())
    }

    /// Makes it what the key holds, for ever. An empty one leaves no key. How many members there are.
    pub fn finish(self, cx: &mut WriteCx<'a>) -> Result<u64> {
        self.finish_with_expiry(cx, 0)
    }

    /// As [`Store::finish`], with this expiry (0: none).
    pub fn finish_with_expiry(mut self, cx: &mut WriteCx<'a>, expire_at_ms: u64) -> Result<u64> {
        self.put_compact(cx, false)?;
        self.build.finish(cx)?;
        self.rows.resize(self.size);
        self.rows.save_with_expiry(cx, expire_at_ms)?;
        Ok(self.size)
    }

    fn put_compact(&mut self, cx: &mut WriteCx<'a>, grown: bool) -> Result<()> {
        let Some(kept) = self.compact.take() else { return Ok(()) };
        if grown {
            self.rows.grow();
        }
        kept.iter().try_for_each(|scored| self.put(cx, scored, grown))
    }

    fn put(&mut self, cx: &mut WriteCx<'a>, Scored { member, score }: Scored<'_>, grown: bool) -> Result<()> {
        let score = kept_score(score, grown);
        self.score_row.truncate(self.prefix_len);
        push_score(&mut self.score_row, score, member);
        self.build.put(cx, SCORE, &self.score_row, &[sign(score)])?;
        let row = self.rows.member_row(&cx.env, member);
        self.build.put(cx, DATA, row, &[&value(score)])
    }
}
