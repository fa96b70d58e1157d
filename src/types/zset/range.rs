//! Members in order: by rank, by score, by name.

use std::ops::ControlFlow;

use tarn_engine::{Direction, Range, Ranked};

use super::{Kept, Scored, SortedSet};
use crate::encoding::SCORE;
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::zset::{ordered, read_score};
use crate::error::{Error, Result, Stop, Why};
use crate::keyspace::{Env, Place, View};
use crate::types::collection::{Element, Walk};

/// Members that are passed one by one, whatever is known of ranks.
const WALKED: u64 = 64;

/// Score rows from one place up to, not including, another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    pub start: RowKey,
    pub end: RowKey,
}

impl Interval {
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreRange {
    pub min: f64,
    pub max: f64,
    /// Whether the ends themselves are left out.
    pub above_min: bool,
    pub below_max: bool,
}

/// An end of a range of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexBound<'a> {
    /// Before every name.
    First,
    /// Behind every name.
    Last,
    Including(&'a [u8]),
    Excluding(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LexRange<'a> {
    pub min: LexBound<'a>,
    pub max: LexBound<'a>,
}

impl LexRange<'_> {
    fn is_above_min(&self, member: &[u8]) -> bool {
        match self.min {
            LexBound::First => true,
            LexBound::Last => false,
            LexBound::Including(least) => member >= least,
            LexBound::Excluding(before) => member > before,
        }
    }

    fn is_below_max(&self, member: &[u8]) -> bool {
        match self.max {
            LexBound::First => false,
            LexBound::Last => true,
            LexBound::Including(greatest) => member <= greatest,
            LexBound::Excluding(behind) => member < behind,
        }
    }
}

/// How many ranks, and from which on, counted from the least score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    pub first: u64,
    pub len: u64,
}

impl Ranks {
    /// From one index to another, both included, as Redis has them: negative ones count from the end. None is nothing.
    pub fn between(size: u64, start: i64, end: i64) -> Option<Ranks> {
        let from_start = |index: i64| {
            if index < 0 { size.checked_sub(index.unsigned_abs()) } else { Some(index.unsigned_abs()) }
        };
        let first = from_start(start).unwrap_or(0);
        let last = from_start(end)?.min(size.checked_sub(1)?);
        (first <= last).then(|| Ranks { first, len: last - first + 1 })
    }

    /// The same, counted from the other end.
    pub fn mirrored(self, size: u64) -> Ranks {
        Ranks { first: size.saturating_sub(self.first + self.len), ..self }
    }
}

impl<'a> Scored<'a> {
    /// The member of a score row.
    pub fn of_row(row: Element<'a>) -> Result<Scored<'a>> {
        let (score, member) = read_score(row.sub, row.value)?;
        Ok(Scored { member, score })
    }
}

impl SortedSet<'_> {
    pub fn whole(&self) -> Interval {
        let start = RowKey::from_slice(self.rows.prefix());
        let end = collection_end(&start);
        Interval { start, end }
    }

    /// A place among the score rows.
    fn score_place(&self, ordered: u64, member: &[&[u8]]) -> RowKey {
        let mut row = RowKey::from_slice(self.rows.prefix());
        row.extend_from_slice(&ordered.to_be_bytes());
        member.iter().for_each(|part| row.extend_from_slice(part));
        row
    }

    pub fn by_score(&self, range: &ScoreRange) -> Interval {
        // No number is greater than infinity, and behind it there is room for one more.
        let start = self.score_place(ordered(range.min) + u64::from(range.above_min), &[]);
        let end = self.score_place(ordered(range.max) + u64::from(!range.below_max), &[]);
        Interval { start, end }
    }

    /// The rows of a range of names. Names are sorted where all scores are the same, which is what such ranges are for:
    /// then the range is exact. Otherwise it is, as in Redis, what a walk from one end meets, beginning with the first
    /// name that is in the range and ending with the first that is not.
    pub fn by_lex(&self, cx: &impl View, range: &LexRange<'_>, direction: Direction) -> Result<Interval> {
        let whole = self.whole();
        let (Some(first), Some(last)) =
            (self.edge(cx, &whole, Direction::Forward)?, self.edge(cx, &whole, Direction::Backward)?)
        else {
            return Ok(Interval { end: whole.start.clone(), ..whole });
        };
        if first.0 != last.0 {
            if !range.is_above_min(&last.1) || !range.is_below_max(&first.1) {
                // Redis looks no further, whatever lies between.
                return Ok(Interval { end: whole.start.clone(), ..whole });
            }
            return self.by_lex_in_steps(cx, range, direction);
        }
        let place = |bound: LexBound<'_>, is_start: bool| match bound {
            LexBound::First => self.score_place(first.0, &[]),
            LexBound::Last => self.score_place(first.0 + 1, &[]),
            LexBound::Including(member) if is_start => self.score_place(first.0, &[member]),
            LexBound::Including(member) => self.score_place(first.0, &[member, &[0]]),
            LexBound::Excluding(member) if is_start => self.score_place(first.0, &[member, &[0]]),
            LexBound::Excluding(member) => self.score_place(first.0, &[member]),
        };
        Ok(Interval { start: place(range.min, true), end: place(range.max, false) })
    }

    /// The ordered score and the name of the member at one end.
    fn edge(
        &self,
        cx: &impl View,
        within: &Interval,
        direction: Direction,
    ) -> Result<Option<(u64, Vec<u8>)>> {
        let mut found = None;
        self.visit_rows(cx, within, direction, 1, &mut |scored, _| {
            found = Some((ordered(scored.score), scored.member.to_vec()));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    fn by_lex_in_steps(
        &self,
        cx: &impl View,
        range: &LexRange<'_>,
        direction: Direction,
    ) -> Result<Interval> {
        let whole = self.whole();
        let mut spent = Budget::new(cx.env());
        // The first row that is in the range and the last before one that is not.
        let (mut from, mut to): (Option<RowKey>, Option<RowKey>) = (None, None);
        self.visit_rows(cx, &whole, direction, usize::MAX, &mut |Scored { member, .. }, row| {
            if !spent.take() {
                return ControlFlow::Break(());
            }
            let (begun, goes_on) = match direction {
                Direction::Forward => (range.is_above_min(member), range.is_below_max(member)),
                Direction::Backward => (range.is_below_max(member), range.is_above_min(member)),
            };
            if from.is_none() && !begun {
                return ControlFlow::Continue(());
            }
            if !goes_on {
                return ControlFlow::Break(());
            }
            from.get_or_insert_with(|| RowKey::from_slice(row));
            match &mut to {
                Some(to) => {
                    to.clear();
                    to.extend_from_slice(row);
                }
                None => to = Some(RowKey::from_slice(row)),
            }
            ControlFlow::Continue(())
        })?;
        spent.finish()?;
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(Interval { end: whole.start.clone(), ..whole });
        };
        let (start, mut end) = if direction == Direction::Forward { (from, to) } else { (to, from) };
        end.push(0);
        Ok(Interval { start, end })
    }

    /// Shows the rows of an interval, with their whole keys.
    fn visit_rows(
        &self,
        cx: &impl View,
        Interval { start, end }: &Interval,
        direction: Direction,
        limit: usize,
        visit: &mut dyn FnMut(Scored<'_>, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        if start >= end {
            return Ok(());
        }
        let prefix_len = self.rows.prefix().len();
        let mut damage = Ok(());
        cx.scan_with(SCORE, Range { start, end }, direction, limit, &mut |row, value| match Scored::of_row(
            Element { sub: row.get(prefix_len..).unwrap_or_default(), value },
        ) {
            Ok(scored) => visit(scored, row),
            Err(error) => {
                damage = Err(error);
                ControlFlow::Break(())
            }
        })?;
        damage
    }

    /// Shows up to `limit` members of an interval behind the first `skip`. Many of them are work for a worker.
    pub fn visit(
        &self,
        cx: &impl View,
        interval: &Interval,
        direction: Direction,
        (skip, limit): (u64, u64),
        visit: &mut dyn FnMut(Scored<'_>),
    ) -> Result<()> {
        if limit == 0 {
            return Ok(());
        }
        match self.without_first(cx, interval, direction, skip)? {
            Some(rest) => self.walk_to(cx, &rest, direction, (0, limit), visit),
            None => self.walk_to(cx, interval, direction, (skip, limit), visit),
        }
    }

    /// What is left of an interval behind its first `skip` members, where that is known without a walk.
    fn without_first(
        &self,
        cx: &impl View,
        interval: &Interval,
        direction: Direction,
        skip: u64,
    ) -> Result<Option<Interval>> {
        if skip < WALKED || interval.is_empty() {
            return Ok(None);
        }
        let Interval { start, end } = interval;
        let nothing = Interval { start: end.clone(), end: end.clone() };
        let rank = match direction {
            Direction::Forward => skip,
            Direction::Backward => match self.count_at_once(cx, interval)? {
                Some(rows) if skip < rows => rows - skip - 1,
                Some(_) => return Ok(Some(nothing)),
                None => return Ok(None),
            },
        };
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        let mut row = RowKey::default();
        let show = &mut |key: &[u8], _: &[u8]| row.extend_from_slice(key);
        Ok(match (cx.nth_at_once(SCORE, Range { start, end }, rank, show)?, direction) {
            (Ranked::Unknown, _) => None,
            (Ranked::Only(_), _) => Some(nothing),
            (Ranked::Shown, Direction::Forward) => Some(Interval { start: row, end: end.clone() }),
            (Ranked::Shown, Direction::Backward) => {
                row.push(0);
                Some(Interval { start: start.clone(), end: row })
            }
        })
    }

    /// As [`SortedSet::visit`], step by step.
    fn walk_to(
        &self,
        cx: &impl View,
        interval: &Interval,
        direction: Direction,
        (skip, limit): (u64, u64),
        visit: &mut dyn FnMut(Scored<'_>),
    ) -> Result<()> {
        let mut spent = Budget::new(cx.env());
        let mut left = skip;
        let rows = usize::try_from(skip.saturating_add(limit)).unwrap_or(usize::MAX);
        self.visit_rows(cx, interval, direction, rows, &mut |scored, _| {
            if !spent.take() {
                return ControlFlow::Break(());
            }
            match left {
                0 => visit(scored),
                _ => left -= 1,
            }
            ControlFlow::Continue(())
        })?;
        spent.finish()
    }

    /// Shows the members with these ranks, from the least score on or from the greatest; `ranks` counts from where it
    /// begins. The walk begins at the nearer end.
    pub fn visit_ranks(
        &self,
        cx: &impl View,
        ranks: Ranks,
        direction: Direction,
        visit: &mut dyn FnMut(Scored<'_>),
    ) -> Result<()> {
        let whole = self.whole();
        let light = |rows: u64| {
            cx.env().move_if_heavy(usize::try_from(rows).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)
        };
        let other = ranks.mirrored(self.size());
        let nearer = ranks.first.min(other.first);
        if nearer >= WALKED
            && let Some(rest) = self.without_first(cx, &whole, direction, ranks.first)?
        {
            light(ranks.len)?;
            return self.walk_to(cx, &rest, direction, (0, ranks.len), visit);
        }
        light(nearer + ranks.len)?;
        if ranks.first <= other.first {
            return self.walk_to(cx, &whole, direction, (ranks.first, ranks.len), visit);
        }
        let mut kept = Kept::default();
        let reach = (other.first, ranks.len);
        self.walk_to(cx, &whole, opposite(direction), reach, &mut |scored| kept.push(scored))?;
        kept.iter().rev().for_each(visit);
        Ok(())
    }

    /// The rows with these ranks, counted from the least score.
    pub fn by_rank(&self, cx: &impl View, ranks: Ranks) -> Result<Interval> {
        let Interval { start, end } = self.whole();
        let behind = ranks.first + ranks.len;
        Ok(Interval {
            start: if ranks.first == 0 { start } else { self.place_of(cx, ranks.first)? },
            end: if behind >= self.size() { end } else { self.place_of(cx, behind)? },
        })
    }

    /// The row with this rank.
    fn place_of(&self, cx: &impl View, rank: u64) -> Result<RowKey> {
        let rest = self.without_first(cx, &self.whole(), Direction::Forward, rank)?;
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            return Ok(rest.start);
        }
        let from_end = self.size().saturating_sub(rank + 1);
        let (direction, skip) =
            if rank <= from_end { (Direction::Forward, rank) } else { (Direction::Backward, from_end) };
        let mut left = skip;
        let mut found = None;
        self.visit_rows(cx, &self.whole(), direction, usize::MAX, &mut |_, row| {
            if left == 0 {
                found = Some(RowKey::from_slice(row));
                return ControlFlow::Break(());
            }
            left -= 1;
            ControlFlow::Continue(())
        })?;
        found.ok_or_else(|| Error::Damaged("a sorted set has fewer members than its size").into())
    }

    /// The members of an interval in bounded steps.
    pub fn walk(&self, Interval { start, end }: Interval, direction: Direction) -> Walk {
        Walk::over(SCORE, self.rows.prefix().len(), start, end, direction).whole()
    }

    /// The members of several intervals, one after the other.
    pub fn walk_all(&self, intervals: impl Iterator<Item = Interval>) -> Walk {
        let ranges = intervals.map(|Interval { start, end }| (start, end)).collect();
        Walk::over_all(SCORE, self.rows.prefix().len(), ranges)
    }
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Backward,
        Direction::Backward => Direction::Forward,
    }
}

/// Rows that an I/O thread may touch for one command; a worker any number.
pub(super) struct Budget {
    left: usize,
    is_over: bool,
}

impl Budget {
    pub fn new(env: &Env<'_>) -> Budget {
        let left = if env.place == Place::IoThread { Env::IO_THREAD_MAX_ROWS } else { usize::MAX };
        Budget { left, is_over: false }
    }

    /// Whether one more row may be touched.
    pub fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.is_over = true,
        }
        !self.is_over
    }

    pub fn finish(&self) -> Result<()> {
        if self.is_over { Err(Stop::Move(Why::Heavy)) } else { Ok(()) }
    }
}
