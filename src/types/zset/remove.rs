//! Taking many members away.

use tarn_engine::Direction;

use super::range::Ranks;
use super::{Interval, KIND, Kept, Scored, SortedSet};
use crate::encoding::rows::RowKey;
use crate::encoding::zset::value;
use crate::encoding::{DATA, SCORE};
use crate::error::Result;
use crate::keyspace::build::Builder;
use crate::keyspace::{Env, WriteCx};
use crate::types::collection::Collection;

/// Members whose rows are deleted in one commit, which is held in memory. If more of them go, those that stay are written
/// anew, in batches.
pub const MAX_DELETED: u64 = 100_000;

impl<'k> SortedSet<'k> {
    /// Removes the members of an interval; how many there were. The set is to be saved.
    pub fn remove_interval(&mut self, cx: &mut WriteCx<'_>, interval: &Interval) -> Result<u64> {
        let mut few = Kept::default();
        let enough = Env::IO_THREAD_MAX_ROWS as u64;
        self.visit(cx, interval, Direction::Forward, (0, enough), &mut |scored| few.push(scored))?;
        if (few.len() as u64) < enough {
            self.remove_kept(cx, &few);
            return Ok(few.len() as u64);
        }
        let count = self.count(cx, interval)?;
        self.remove_counted(cx, interval, count)?;
        Ok(count)
    }

    /// Removes the members with these ranks, counted from the least score. The set is to be saved.
    pub fn remove_ranks(&mut self, cx: &mut WriteCx<'_>, ranks: Ranks) -> Result<()> {
        if ranks.len == self.size() {
            self.rows.resize(0);
            return Ok(());
        }
        if ranks.len < Env::IO_THREAD_MAX_ROWS as u64 {
            let mut few = Kept::default();
            self.visit_ranks(cx, ranks, Direction::Forward, &mut |scored| few.push(scored))?;
            self.remove_kept(cx, &few);
            return Ok(());
        }
        cx.env.move_if_heavy(usize::MAX, Env::IO_THREAD_MAX_ROWS)?;
        let interval = self.by_rank(cx, ranks)?;
        self.remove_counted(cx, &interval, ranks.len)
    }

    /// Removes up to `count` members from one end and returns them. The set is to be saved.
    pub fn pop(&mut self, cx: &mut WriteCx<'_>, from: Direction, count: u64) -> Result<Kept> {
        let ranks = Ranks { first: 0, len: count.min(self.size()) };
        let mut popped = Kept::default();
        self.visit_ranks(cx, ranks, from, &mut |scored| popped.push(scored))?;
        if ranks.len < Env::IO_THREAD_MAX_ROWS as u64 {
            self.remove_kept(cx, &popped);
        } else if from == Direction::Forward {
            self.remove_ranks(cx, ranks)?;
        } else {
            self.remove_ranks(cx, ranks.mirrored(self.size()))?;
        }
        Ok(popped)
    }

    /// Removes members that are known to be there.
    fn remove_kept(&mut self, cx: &mut WriteCx<'_>, kept: &Kept) {
        if kept.len() as u64 == self.size() {
            // The key goes, and its rows with it.
            self.rows.resize(0);
            return;
        }
        for scored in kept.iter() {
            self.remove_known(cx, scored);
        }
    }

    fn remove_counted(&mut self, cx: &mut WriteCx<'_>, interval: &Interval, count: u64) -> Result<()> {
        cx.env.move_if_heavy(usize::try_from(count).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
        if count == self.size() {
            self.rows.resize(0);
            return Ok(());
        }
        if count > MAX_DELETED {
            return self.rebuild_without(cx, interval, count);
        }
        let mut walk = self.walk(interval.clone(), Direction::Forward);
        while let Some(element) = walk.next(cx)? {
            self.remove_known(cx, Scored::of_row(element)?);
        }
        Ok(())
    }

    /// Puts what is left into a new version.
    fn rebuild_without(&mut self, cx: &mut WriteCx<'_>, gone: &Interval, count: u64) -> Result<()> {
        let whole = self.whole();
        let before = Interval { start: whole.start, end: gone.start.clone() };
        let behind = Interval { start: gone.end.clone(), end: whole.end };
        let left = self.size().saturating_sub(count);
        let mut build = Builder::begin(&cx.env, left)?;
        let mut rows = Collection::create(cx, self.rows.entry.clone(), KIND)?;
        let mut row = RowKey::from_slice(rows.prefix());
        let prefix_len = row.len();
        for interval in [before, behind].into_iter().filter(|interval| !interval.is_empty()) {
            let mut walk = self.walk(interval, Direction::Forward);
            while let Some(element) = walk.next(cx)? {
                let scored = Scored::of_row(element)?;
                row.truncate(prefix_len);
                row.extend_from_slice(element.sub);
                build.put(cx, SCORE, &row, &[element.value])?;
                let member = rows.member_row(&cx.env, scored.member);
                build.put(cx, DATA, member, &[&value(scored.score)])?;
            }
        }
        build.finish(cx)?;
        rows.resize(left);
        if self.rows.has_grown() {
            rows.grow();
        }
        self.rows = rows;
        Ok(())
    }
}
