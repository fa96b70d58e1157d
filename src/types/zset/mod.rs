//! Sorted sets: members with a score each, in the order of their scores.
//!
//! A member has two rows, which are put and deleted together: its score by its name, among the elements of the
//! [`Collection`], and its name by its score, in a space of its own. The second is what every range is read from: a range
//! of scores, of names or of ranks is an [`Interval`] of these rows.
//!
//! * this file: one member by its name;
//! * [`range`]: members in order;
//! * [`count`]: how many there are up to a place;
//! * [`remove`]: taking many away;
//! * [`store`]: a whole sorted set in place of what a key holds; [`mod@dump`]: one as a payload;
//! * [`algebra`]: unions, intersections and differences.

pub mod algebra;
pub mod count;
mod dump;
mod kept;
pub mod range;
pub mod remove;
pub mod store;

#[cfg(test)]
mod tests;

pub use dump::DUMP;
pub use kept::Kept;
pub use range::{Interval, LexBound, LexRange, ScoreRange};
pub use tarn_engine::Direction;

use super::collection::Collection;
use crate::encoding::meta::Kind;
use crate::encoding::rows::RowKey;
use crate::encoding::zset::{push_score, read_value, sign, value};
use crate::encoding::{DATA, SCORE};
use crate::error::{Error, Result};
use crate::keyspace::{Env, View, WriteCx};

pub const KIND: Kind = Kind::SortedSet;

/// A member and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<'a> {
    pub member: &'a [u8],
    pub score: f64,
}

/// A key that is, or is about to be, a sorted set.
#[derive(Debug, Clone)]
pub struct SortedSet<'k> {
    pub rows: Collection<'k>,
}

/// When a score is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rule {
    /// Only of a member that is not there.
    pub if_absent: bool,
    /// Only of a member that is there.
    pub if_present: bool,
    /// Of a member that is there only if the score gets greater, or less.
    pub if_greater: bool,
    pub if_less: bool,
    /// The score is added to the one the member has.
    pub adds: bool,
}

/// What became of a member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Added {
    /// The rule did not allow it.
    Refused,
    New(f64),
    Changed(f64),
    /// It had this score before.
    Same(f64),
}

impl<'k> SortedSet<'k> {
    /// For reading commands: counted as a hit or a miss.
    pub fn find(cx: &mut impl View, key: &'k [u8]) -> Result<Option<SortedSet<'k>>> {
        Ok(Collection::find(cx, key, KIND)?.map(|rows| SortedSet { rows }))
    }

    /// For writing commands.
    pub fn open(cx: &mut impl View, key: &'k [u8]) -> Result<Option<SortedSet<'k>>> {
        Ok(Collection::open(cx, key, KIND)?.map(|rows| SortedSet { rows }))
    }

    pub fn open_or_create(cx: &mut WriteCx<'_>, key: &'k [u8]) -> Result<SortedSet<'k>> {
        Ok(SortedSet { rows: Collection::open_or_create(cx, key, KIND)? })
    }
}

impl SortedSet<'_> {
    pub fn size(&self) -> u64 {
        self.rows.size()
    }

    /// Puts the metadata if it has changed.
    pub fn save(&mut self, cx: &mut WriteCx<'_>) -> Result<()> {
        self.rows.save(cx)
    }

    /// The row that finds a member by its score.
    fn score_row(&self, score: f64, member: &[u8]) -> RowKey {
        let mut row = RowKey::from_slice(self.rows.prefix());
        push_score(&mut row, score, member);
        row
    }

    pub fn score(&mut self, cx: &mut impl View, member: &[u8]) -> Result<Option<f64>> {
        let mark = cx.arena().len();
        let Some(found) = self.rows.get(cx, member)? else { return Ok(None) };
        let score = read_value(cx.bytes(found))?;
        cx.arena().truncate(mark);
        Ok(Some(score))
    }

    /// Gives a member a score, or adds it to the one it has, as the rule allows.
    pub fn add(&mut self, cx: &mut WriteCx<'_>, member: &[u8], score: f64, rule: Rule) -> Result<Added> {
        let Some(before) = self.score(cx, member)? else {
            if rule.if_present {
                return Ok(Added::Refused);
            }
            self.put_new(cx, member, score);
            return Ok(Added::New(score));
        };
        if rule.if_absent {
            return Ok(Added::Refused);
        }
        let after = if rule.adds { before + score } else { score };
        if after.is_nan() {
            return Err(Error::reply("ERR resulting score is not a number (NaN)").into());
        }
        if rule.if_less && after >= before || rule.if_greater && after <= before {
            return Ok(Added::Refused);
        }
        if after == before {
            return Ok(Added::Same(after));
        }
        cx.delete(SCORE, &self.score_row(before, member));
        self.put_rows(cx, member, after, false);
        Ok(Added::Changed(after))
    }

    /// Puts a member that is known not to be there.
    fn put_new(&mut self, cx: &mut WriteCx<'_>, member: &[u8], score: f64) {
        if !is_compact(&cx.env, self.size() + 1, member) {
            self.rows.grow();
        }
        self.put_rows(cx, member, score, true);
    }

    fn put_rows(&mut self, cx: &mut WriteCx<'_>, member: &[u8], score: f64, is_new: bool) {
        let score = kept_score(score, self.rows.has_grown());
        cx.put(SCORE, &self.score_row(score, member), &[sign(score)]);
        self.rows.put_known(cx, member, &[&value(score)], is_new);
    }

    /// Removes a member; whether it was there.
    pub fn remove(&mut self, cx: &mut WriteCx<'_>, member: &[u8]) -> Result<bool> {
        let Some(score) = self.score(cx, member)? else { return Ok(false) };
        self.remove_known(cx, Scored { member, score });
        Ok(true)
    }

    /// Removes a member that is known to be there with this score.
    fn remove_known(&mut self, cx: &mut WriteCx<'_>, Scored { member, score }: Scored<'_>) {
        cx.delete(SCORE, &self.score_row(score, member));
        cx.delete(DATA, self.rows.member_row(&cx.env, member));
        self.rows.resize(self.size().saturating_sub(1));
    }
}

/// Whether Redis would keep a sorted set of this size in its compact form when it gets this member.
fn is_compact(env: &Env<'_>, size: u64, member: &[u8]) -> bool {
    size <= env.limits.zset_entries as u64 && member.len() <= env.limits.zset_value_len
}

/// The score that is stored: in its compact form Redis keeps whole numbers as integers, which have no minus zero.
fn kept_score(score: f64, grown: bool) -> f64 {
    if grown { score } else { score + 0.0 }
}
