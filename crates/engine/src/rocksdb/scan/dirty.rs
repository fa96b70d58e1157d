//! The dirty rows of a range, a chunk at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::Inner;
use super::super::hash::SHARDS;
use super::super::table::Table;
use super::super::table::arena::RowAt;
use super::super::table::order::{Collected, GroupRows, Want};
use super::super::table::rows::{Rows, ordered};
use super::super::table::set::TableSet;
use super::group::{self, Counted};
use super::{Request, View, from_behind, remaining_range};
use crate::{Direction, Error, Range, Result, Wait};

const FIRST_ROWS: usize = 16;
pub const MAX_ROWS: usize = 1024;
/// The largest chunk where rows are selected from all dirty ones. Each chunk reads all of them, so that it is larger than
/// [`MAX_ROWS`].
const MAX_SELECTED_ROWS: usize = 16 << 10;
pub const MAX_BYTES: usize = 1 << 20;
/// Groups looked into for one chunk.
const MAX_GROUPS: u64 = 4096;
/// Counting through fewer groups than this is always cheaper than looking at all rows.
const FEW_GROUPS: u64 = 64;
/// A dirty row with its share of the table, about; to guess their number.
const ROW_BYTES_GUESS: usize = 128;

/// Rows that a scan which may not wait reads to find or make an order.
const NO_WAIT_ROWS: usize = 8192;

/// Up to which key, inclusive, the copied rows are complete.
pub type Bound = Option<Vec<u8>>;

/// Where dirty rows are.
pub trait Tables {
    /// Copies rows of one group out, unsorted.
    fn collect_group(&self, want: &Want<'_>, out: &mut Rows) -> Result<Bound>;
    /// Copies rows of a space out, whatever their groups, sorted.
    fn collect_space(&self, request: &Request<'_>, max_rows: usize, out: &mut Rows) -> Result<Bound>;
    /// About how many rows are dirty.
    fn rows_guess(&self) -> u64;
    /// Grows before rows leave the tables.
    fn retirements(&self) -> u64;
}

impl Tables for Inner {
    fn collect_group(&self, want: &Want<'_>, out: &mut Rows) -> Result<Bound> {
        let index = want.id.shard();
        let mark = out.mark();
        // Each round has ordered one more table.
        loop {
            out.rewind(mark);
            let shard = self.shards.read(index)?;
            let mut nearest = Nearest::new(want.direction);
            if !nearest.collect(&shard.active, want, 0, out) {
                check_no_wait(want.wait, shard.active.len())?;
                drop(shard);
                self.order_group(want)?;
                continue;
            }
            let unordered = shard
                .frozen
                .iter()
                .enumerate()
                .find(|(age, table)| !nearest.collect(table, want, *age as u16 + 1, out))
                .map(|(_, table)| table.clone());
            drop(shard);
            match unordered {
                Some(table) => {
                    check_no_wait(want.wait, table.len())?;
                    table.sort_group(want.id);
                }
                None => return Ok(nearest.bound),
            }
        }
    }

    fn collect_space(&self, request: &Request<'_>, max_rows: usize, out: &mut Rows) -> Result<Bound> {
        let mut first = FirstRows::new(request, max_rows, out);
        for index in 0..SHARDS {
            let shard = self.shards.read(index)?;
            first.take(&shard.active, 0);
            for (age, table) in shard.frozen.iter().enumerate() {
                first.take(table, age as u16 + 1);
            }
        }
        Ok(first.finish())
    }

    fn rows_guess(&self) -> u64 {
        let bytes = self.active_bytes.load(Ordering::Relaxed) + self.frozen_bytes.load(Ordering::Relaxed);
        (bytes / ROW_BYTES_GUESS) as u64
    }

    fn retirements(&self) -> u64 {
        self.retirements.load(Ordering::SeqCst)
    }
}

impl Inner {
    /// Orders a long group of the active table in steps: commits to the shard wait for one step at most. It is
    /// given up where the table is sealed meanwhile.
    fn order_group(&self, want: &Want<'_>) -> Result<()> {
        let index = want.id.shard();
        // Another scan may have ordered it meanwhile.
        let _turn = match want.wait {
            Wait::Allowed => self.ordering.lock(),
            Wait::Never => self.ordering.try_lock().ok_or(Error::NotResident)?,
        };
        let (head, seals) = {
            let shard = self.shards.read(index)?;
            if shard.active.is_ordered(want.id) {
                return Ok(());
            }
            (shard.active.head(want.id), shard.seals)
        };
        let mut found = GroupRows::default();
        let mut at = head;
        while at != RowAt::NONE {
            let shard = self.shards.read(index)?;
            if shard.seals != seals {
                return Ok(());
            }
            at = shard.active.walk_group(want.id, at, &mut found);
        }
        let rows = found.in_order();
        let mut shard = self.shards.write(index)?;
        if shard.seals == seals {
            let grown = shard.active.adopt_order(want.id, rows, head);
            self.active_bytes.fetch_add(grown, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A snapshot's sets, newest first.
impl Tables for Vec<Arc<TableSet>> {
    fn collect_group(&self, want: &Want<'_>, out: &mut Rows) -> Result<Bound> {
        let index = want.id.shard();
        let mut nearest = Nearest::new(want.direction);
        for (age, set) in self.iter().enumerate() {
            let Some(table) = set.table(index) else { continue };
            while !nearest.collect(table, want, age as u16, out) {
                table.sort_group(want.id);
            }
        }
        Ok(nearest.bound)
    }

    fn collect_space(&self, request: &Request<'_>, max_rows: usize, out: &mut Rows) -> Result<Bound> {
        let mut first = FirstRows::new(request, max_rows, out);
        for (age, set) in self.iter().enumerate() {
            for (_, table) in set.tables() {
                first.take(table, age as u16);
            }
        }
        Ok(first.finish())
    }

    fn rows_guess(&self) -> u64 {
        self.iter().map(|set| set.rows as u64).sum()
    }

    fn retirements(&self) -> u64 {
        0
    }
}

/// A scan that may not wait for a disk may not sort many rows either.
fn check_no_wait(wait: Wait, rows: usize) -> Result<()> {
    if wait == Wait::Never && rows > NO_WAIT_ROWS { Err(Error::NotResident) } else { Ok(()) }
}

/// The bound of several sources: where the first of them was cut off.
struct Nearest {
    bound: Bound,
    direction: Direction,
}

impl Nearest {
    fn new(direction: Direction) -> Nearest {
        Nearest { bound: None, direction }
    }

    /// False when the table must order the group first.
    fn collect(&mut self, table: &Table, want: &Want<'_>, age: u16, out: &mut Rows) -> bool {
        match table.collect(want, age, out) {
            Collected::All => {}
            Collected::NeedsOrder => return false,
            Collected::Some => {
                let last = out.len().checked_sub(1).and_then(|last| out.key(last)).unwrap_or_default();
                if self.bound.as_ref().is_none_or(|bound| ordered(last, bound, self.direction).is_lt()) {
                    self.bound = Some(last.to_vec());
                }
            }
        }
        true
    }
}

/// The first rows of a range, selected from tables in no order.
struct FirstRows<'p> {
    request: &'p Request<'p>,
    max_rows: usize,
    out: &'p mut Rows,
    bound: Bound,
}

impl<'p> FirstRows<'p> {
    fn new(request: &'p Request<'p>, max_rows: usize, out: &'p mut Rows) -> FirstRows<'p> {
        FirstRows { request, max_rows, out, bound: None }
    }

    fn take(&mut self, table: &Table, age: u16) {
        let Request { space, range, direction, .. } = *self.request;
        for (_, row) in table.iter() {
            if row.space != space.0 || row.key < range.start || row.key >= range.end {
                continue;
            }
            if self.bound.as_ref().is_some_and(|bound| ordered(row.key, bound, direction).is_gt()) {
                continue;
            }
            self.out.push(row.key, row.value, age);
            if self.out.len() >= 2 * self.max_rows || self.out.bytes() >= 4 * MAX_BYTES {
                self.prune();
            }
        }
    }

    /// Keeps the first rows only; what lies behind them is left to the next chunk.
    fn prune(&mut self) {
        let Request { direction, .. } = *self.request;
        self.out.sort_and_dedup(direction);
        let keep = self.max_rows.min(self.out.len().div_ceil(2));
        if let Some(key) = keep.checked_sub(1).and_then(|last| self.out.key(last)) {
            self.bound = Some(key.to_vec());
        }
        self.out.truncate(keep);
        self.out.compact();
    }

    fn finish(self) -> Bound {
        self.out.sort_and_dedup(self.request.direction);
        self.bound
    }
}

/// Walks a range in chunks of dirty rows.
pub struct Chunk<'r> {
    request: Request<'r>,
    /// The group of all keys of the range, if it is one.
    pub group: Option<&'r [u8]>,
    /// Forward: the least key not yet covered. Backward: the key above the greatest one not yet covered.
    pub from: Vec<u8>,
    pub rows: Rows,
    /// Where the chunk ends and the next one begins; None at the end of the range.
    pub to: Option<Vec<u8>>,
    max_rows: usize,
}

impl<'r> Chunk<'r> {
    /// `rows` is a buffer that may have been used before.
    pub fn new(view: &View<'_>, request: Request<'r>, rows: Rows) -> Chunk<'r> {
        let Range { start, end } = request.range;
        let from = match request.direction {
            Direction::Forward => start,
            Direction::Backward => end,
        };
        Chunk {
            request,
            group: group::single(view.def, start, end),
            from: from.to_vec(),
            rows,
            to: None,
            max_rows: request.limit.clamp(FIRST_ROWS, MAX_ROWS),
        }
    }

    /// Goes on to the next chunk; false behind the last.
    pub fn advance(&mut self) -> bool {
        let Some(to) = self.to.take() else { return false };
        self.from = to;
        self.max_rows = (self.max_rows * 2).min(MAX_ROWS);
        let range = self.range();
        range.start < range.end
    }

    /// What is left of the range.
    fn range(&self) -> Range<'_> {
        remaining_range(self.request.range, self.request.direction, Some(&self.from))
    }

    /// Copies the chunk's dirty rows out, in order.
    pub fn fill(&mut self, view: &View<'_>) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        let outcome = match self.group {
            Some(group) => self.fill_group(view, group, &mut rows),
            None => self.fill_groups(view, &mut rows),
        };
        self.rows = rows;
        self.to = outcome?;
        Ok(())
    }

    fn want<'w>(&'w self, view: &View<'_>, group: &'w [u8], max_rows: usize) -> Want<'w> {
        let Range { start, end } = self.range();
        Want {
            id: view.hasher.group_id(self.request.space, group),
            start,
            end,
            direction: self.request.direction,
            max_rows,
            max_bytes: MAX_BYTES,
            wait: view.wait,
        }
    }

    fn fill_group(&self, view: &View<'_>, group: &[u8], rows: &mut Rows) -> Result<Bound> {
        let bound = view.tables.collect_group(&self.want(view, group, self.max_rows), rows)?;
        rows.sort_and_dedup(self.request.direction);
        Ok(self.cut(bound, rows))
    }

    /// Drops rows behind the bound, and turns it into where the next chunk begins.
    fn cut(&self, bound: Bound, rows: &mut Rows) -> Option<Vec<u8>> {
        let bound = bound?;
        rows.cut(&bound, self.request.direction);
        Some(from_behind(&bound, self.request.direction))
    }

    fn fill_groups(&self, view: &View<'_>, rows: &mut Rows) -> Result<Option<Vec<u8>>> {
        let Range { start, end } = self.range();
        if let Some(counted) = group::counted(view.def, start, end)
            && counted.count() <= FEW_GROUPS.max(view.tables.rows_guess() / 4)
            && let Some(to) = self.count_groups(view, counted, rows)?
        {
            return Ok(to);
        }
        check_no_wait(view.wait, view.tables.rows_guess() as usize)?;
        rows.clear();
        let request = Request { range: self.range(), ..self.request };
        let max_rows = (self.max_rows * 16).min(MAX_SELECTED_ROWS);
        let bound = view.tables.collect_space(&request, max_rows, rows)?;
        Ok(self.cut(bound, rows))
    }

    /// Looks into one group after the other. None when their length is not the same everywhere.
    fn count_groups(
        &self,
        view: &View<'_>,
        counted: Counted,
        rows: &mut Rows,
    ) -> Result<Option<Option<Vec<u8>>>> {
        let direction = self.request.direction;
        for step in 0..counted.count() {
            let number = match direction {
                Direction::Forward => counted.first + step,
                Direction::Backward => counted.last - step,
            };
            let group = counted.group(number);
            let is_regular = group::padded_group_len(view.def, &group) == counted.len;
            if step > 0 && (!is_regular || rows.len() >= self.max_rows || step >= MAX_GROUPS) {
                let to = match direction {
                    Direction::Forward => counted.floor(number),
                    Direction::Backward => counted.floor(number + 1),
                };
                rows.sort_and_dedup(direction);
                return Ok(Some(Some(to.to_vec())));
            }
            if !is_regular {
                return Ok(None);
            }
            for group in counted.short_groups(number).chain([group]) {
                let want = self.want(view, &group, self.max_rows);
                if let Some(bound) = view.tables.collect_group(&want, rows)? {
                    // Short groups are single rows: only the group itself can be cut, and it is the last one.
                    rows.sort_and_dedup(direction);
                    return Ok(Some(self.cut(Some(bound), rows)));
                }
            }
        }
        rows.sort_and_dedup(direction);
        Ok(Some(None))
    }
}
