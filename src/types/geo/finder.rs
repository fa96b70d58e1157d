//! Walking the members of an area.

use super::area::Area;
use super::cover;
use super::grid::Position;
use super::points::Point;
use crate::error::Result;
use crate::keyspace::{Env, View};
use crate::types::collection::Walk;
use crate::types::zset::{ScoreRange, Scored, SortedSet};

/// Shows the members in an area, cell after cell, in each by their scores. Memory holds a step of rows.
pub struct Finder<'a> {
    area: &'a Area,
    walk: Option<Walk>,
    /// The walk stands before what was shown last.
    shown: bool,
    touched: usize,
}

impl<'a> Finder<'a> {
    pub fn new(area: &'a Area) -> Finder<'a> {
        Finder { area, walk: None, shown: false, touched: 0 }
    }

    /// The next member. Leaves the I/O thread where it has become much work to find it.
    pub fn next(&mut self, cx: &impl View, set: &SortedSet<'_>) -> Result<Option<Point<'_>>> {
        let Some((score, position, distance_m)) = self.seek(cx, set)? else { return Ok(None) };
        let member = match self.walk.as_ref().and_then(Walk::head) {
            Some(row) => Scored::of_row(row)?.member,
            None => &[],
        };
        Ok(Some(Point { member, score, position, distance_m }))
    }

    /// Goes on to the next member inside.
    fn seek(&mut self, cx: &impl View, set: &SortedSet<'_>) -> Result<Option<(f64, Position, f64)>> {
        let walk = self.walk.get_or_insert_with(|| {
            set.walk_all(cover::cells(self.area).iter().map(|cell| {
                let (min, max) = cell.scores();
                set.by_score(&ScoreRange { min, max, above_min: false, below_max: true })
            }))
        });
        loop {
            if std::mem::take(&mut self.shown) {
                walk.skip();
            }
            let Some(row) = walk.peek(cx)? else { return Ok(None) };
            self.touched += 1;
            cx.env().move_if_heavy(self.touched, Env::IO_THREAD_MAX_ROWS)?;
            let score = Scored::of_row(row)?.score;
            let position = Position::of_score(score);
            self.shown = true;
            if let Some(distance_m) = self.area.distance_m(position) {
                return Ok(Some((score, position, distance_m)));
            }
        }
    }
}
