//! How many members there are in an interval.
//!
//! Where the engine has the sorted set in memory and in order, it knows. Otherwise rows are counted, since they are not
//! numbered: those of the interval and those around it by turns, in steps that grow. Whichever count ends first gives the
//! answer, since the number of all is known. So a member near either end of a big sorted set is found at the price of its
//! distance from it.

use std::ops::ControlFlow;

use smallvec::SmallVec;
use tarn_engine::{Direction, Range, Ranked};

use super::{Interval, SortedSet};
use crate::encoding::SCORE;
use crate::error::Result;
use crate::keyspace::{Env, View};

/// Rows of the first step, and of the longest.
const FIRST_STEP: usize = 64;
const LAST_STEP: usize = 16_384;

/// Intervals whose rows are being counted.
struct Counting {
    left: SmallVec<[Interval; 2]>,
    rows: u64,
}

impl Counting {
    fn of(intervals: impl IntoIterator<Item = Interval>) -> Counting {
        Counting { left: intervals.into_iter().filter(|interval| !interval.is_empty()).collect(), rows: 0 }
    }

    fn has_ended(&self) -> bool {
        self.left.is_empty()
    }

    /// Counts up to so many rows more.
    fn step(&mut self, cx: &impl View, limit: usize) -> Result<()> {
        let Some(Interval { start, end }) = self.left.first_mut() else { return Ok(()) };
        let mut counted = 0;
        let mut next = start.clone();
        let range = Range { start: start.as_slice(), end: end.as_slice() };
        cx.scan_with(SCORE, range, Direction::Forward, limit, &mut |row, _| {
            counted += 1;
            if counted == limit {
                next.clear();
                next.extend_from_slice(row);
                next.push(0);
            }
            ControlFlow::Continue(())
        })?;
        self.rows += counted as u64;
        if counted < limit {
            self.left.remove(0);
        } else {
            *start = next;
        }
        Ok(())
    }
}

impl SortedSet<'_> {
    /// Number of members in an interval.
    pub fn count(&self, cx: &impl View, interval: &Interval) -> Result<u64> {
        if interval.is_empty() {
            return Ok(0);
        }
        if let Some(rows) = self.count_at_once(cx, interval)? {
            return Ok(rows);
        }
        let whole = self.whole();
        let before = Interval { start: whole.start, end: interval.start.clone() };
        let behind = Interval { start: interval.end.clone(), end: whole.end };
        let mut inside = Counting::of([interval.clone()]);
        let mut outside = Counting::of([before, behind]);
        let (mut step, mut touched) = (FIRST_STEP, 0);
        loop {
            if inside.has_ended() {
                return Ok(inside.rows);
            }
            if outside.has_ended() {
                return Ok(self.size().saturating_sub(outside.rows));
            }
            cx.env().move_if_heavy(touched, Env::IO_THREAD_MAX_ROWS)?;
            outside.step(cx, step)?;
            inside.step(cx, step)?;
            touched += 2 * step;
            step = (2 * step).min(LAST_STEP);
        }
    }

    /// The same where that is known without a walk, of a set that is not small.
    pub(super) fn count_at_once(
        &self,
        cx: &impl View,
        Interval { start, end }: &Interval,
    ) -> Result<Option<u64>> {
        if self.size() <= FIRST_STEP as u64 {
            return Ok(None);
        }
        match cx.nth_at_once(SCORE, Range { start, end }, usize::MAX, &mut |_, _| {})? {
            Ranked::Only(rows) => Ok(Some(rows as u64)),
            Ranked::Shown | Ranked::Unknown => Ok(None),
        }
    }

    /// How many members stand before this one, which has this score.
    pub fn rank(&self, cx: &impl View, member: &[u8], score: f64) -> Result<u64> {
        let Interval { start, .. } = self.whole();
        self.count(cx, &Interval { start, end: self.score_row(score, member) })
    }
}
