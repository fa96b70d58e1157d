//! Scans: dirty rows, copied out in chunks, merged newest over oldest with an iterator of the sorted data.
//!
//! A chunk of dirty rows is copied before the iterator is made (or found to be still good), so that a row that moves
//! from the tables to the sorted data meanwhile is seen in one of the two.

mod dirty;
pub mod group;
mod iterator_pool;

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use rust_rocksdb::{DBRawIterator, ReadOptions, ReadTier};

use self::dirty::Chunk;
pub use self::dirty::{MAX_BYTES, MAX_ROWS, Tables};
pub use self::iterator_pool::IteratorPool;
use super::Inner;
use super::groups::{Effort, with_copied};
use super::hash::Hasher;
use super::ordered::CopiedRows;
use super::store::Store;
use super::table::rows::{Rows, ordered};
use super::transaction::TxBuffer;
use crate::{Direction, Error, Range, Ranked, Result, Space, SpaceDef, Wait, ranges_in_turn};

/// Deleted rows that a scan which may not wait passes over before it gives up.
const NO_WAIT_SKIPS: usize = 4096;
/// A scan stops filling the block cache after so many bytes: it would evict blocks that are read again for blocks that are not.
const CACHED_BYTES: usize = 4 << 20;
/// A larger buffer is not kept for the next scan.
const KEPT_BYTES: usize = 64 << 10;

thread_local! {
    /// Dirty rows that are to be merged. A scan within a scan finds an empty buffer and makes its own.
    static DIRTY: RefCell<Rows> = RefCell::default();
}

/// What a scan reads from.
pub struct View<'a> {
    pub def: &'static SpaceDef,
    pub hasher: &'a Hasher,
    pub tables: &'a dyn Tables,
    pub store: &'a Store,
    /// Options to begin with: a snapshot, where it is one.
    pub read_options: &'a dyn Fn() -> ReadOptions,
    pub wait: Wait,
    /// Iterators that earlier scans have left, where it is a snapshot.
    pub iterators: Option<&'a IteratorPool>,
}

#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub space: Space,
    pub range: Range<'a>,
    pub direction: Direction,
    pub limit: usize,
}

impl Inner {
    #[allow(clippy::too_many_arguments)] // the arguments of `Read::scan` and where it comes from
    pub(super) fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        wait: Wait,
        own: Option<&TxBuffer>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.check_open()?;
        let request = Request { space, range, direction, limit };
        if let Some(own) = own.filter(|own| own.has_in(space.0, range)) {
            return self.scan_under(own, request, wait, each);
        }
        with_copied(|copied| self.scan_group_first(request, wait, copied, each))
    }

    /// As [`crate::Read::scan_ranges`]. Ranges of a group that follows commits are read together.
    #[allow(clippy::type_complexity)] // spelt out: it says what is called
    pub(super) fn scan_ranges(
        &self,
        space: Space,
        ranges: &[Range<'_>],
        limit: usize,
        wait: Wait,
        own: Option<&TxBuffer>,
        each: &mut dyn FnMut(usize, &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.check_open()?;
        let has_own = |own: &TxBuffer| ranges.iter().any(|range| own.has_in(space.0, *range));
        if !own.is_some_and(has_own) {
            let is_all = with_copied(|copied| self.show_ranges(space, ranges, limit, wait, copied, each))?;
            if let Some(is_all) = is_all {
                return Ok(is_all);
            }
        }
        ranges_in_turn(ranges, limit, each, |range, limit, each| {
            self.scan(space, range, Direction::Forward, limit, wait, own, each)
        })
    }

    /// Merges with rows of a transaction, so many of them at a time.
    fn scan_under(
        &self,
        own: &TxBuffer,
        mut request: Request<'_>,
        wait: Wait,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let Request { space, range: Range { start, end }, direction, .. } = request;
        let mut behind: Option<Vec<u8>> = None;
        while request.limit > 0 {
            let left = remaining_range(Range { start, end }, direction, behind.as_deref());
            let (rows, is_all) = own.collect(space.0, left, direction, request.limit.min(MAX_ROWS));
            let last = rows.len().checked_sub(1).filter(|_| !is_all).and_then(|last| rows.key(last));
            let next = last.map(|key| from_behind(key, direction));
            let part = match (&next, direction) {
                (None, _) => left,
                (Some(next), Direction::Forward) => Range { start: left.start, end: next },
                (Some(next), Direction::Backward) => Range { start: next, end: left.end },
            };
            let (mut shown, mut is_over) = (0, false);
            self.scan_sources(Request { range: part, ..request }, wait, &rows, &mut |key, value| {
                shown += 1;
                let flow = each(key, value);
                is_over = flow.is_break();
                flow
            })?;
            if is_over || next.is_none() {
                break;
            }
            request.limit -= shown;
            behind = next;
        }
        Ok(())
    }

    pub(super) fn nth(
        &self,
        space: Space,
        range: Range<'_>,
        rank: usize,
        wait: Wait,
        own: Option<&TxBuffer>,
        show: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<usize>> {
        let has_own = own.is_some_and(|own| own.has_in(space.0, range));
        if !has_own {
            match self.nth_of_group(space, range, rank, Effort::Load(wait), show)? {
                Ranked::Shown => return Ok(None),
                Ranked::Only(rows) => return Ok(Some(rows)),
                Ranked::Unknown => {}
            }
        }
        let limit = rank.saturating_add(1);
        crate::nth_of(rank, show, |each| {
            if has_own {
                return self.scan(space, range, Direction::Forward, limit, wait, own, each);
            }
            let request = Request { space, range, direction: Direction::Forward, limit };
            self.scan_sources(request, wait, &Rows::default(), each)
        })
    }

    /// Takes rows from a group that follows commits, and where it does not, from the tables and the sorted data.
    fn scan_group_first(
        &self,
        request: Request<'_>,
        wait: Wait,
        copied: &mut CopiedRows,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut left = request.limit;
        // Where the rows that are still to be shown begin, in the scan's direction.
        let mut from: Option<Vec<u8>> = None;
        loop {
            let range = remaining_range(request.range, request.direction, from.as_deref());
            if range.start >= range.end || left == 0 {
                return Ok(());
            }
            let remaining = Request { range, limit: left, ..request };
            let Some(is_all) = self.copy_from_group(&remaining, wait, copied)? else {
                return self.scan_sources(remaining, wait, &Rows::default(), each);
            };
            if copied.for_each(each).is_break() || is_all {
                return Ok(());
            }
            left -= copied.len();
            from = Some(from_behind(copied.last_key(), request.direction));
        }
    }

    /// Takes rows from the tables and the sorted data.
    pub(super) fn scan_sources(
        &self,
        request: Request<'_>,
        wait: Wait,
        own: &Rows,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let view = View {
            def: self.def(request.space)?,
            hasher: &self.hasher,
            tables: self,
            store: &self.store,
            read_options: &ReadOptions::default,
            wait,
            iterators: None,
        };
        scan(&view, request, own, each)
    }
}

/// Where a scan goes on behind a key: forwards at the least key above it, backwards below it.
fn from_behind(key: &[u8], direction: Direction) -> Vec<u8> {
    match direction {
        Direction::Forward => [key, &[0]].concat(),
        Direction::Backward => key.to_vec(),
    }
}

/// What is left of a range once a scan has come to `from`.
fn remaining_range<'a>(
    Range { start, end }: Range<'a>,
    direction: Direction,
    from: Option<&'a [u8]>,
) -> Range<'a> {
    match (from, direction) {
        (None, _) => Range { start, end },
        (Some(start), Direction::Forward) => Range { start, end },
        (Some(end), Direction::Backward) => Range { start, end },
    }
}

/// The iterator of a scan.
struct Sorted<'a> {
    iterator: DBRawIterator<'a>,
    /// The count of retirements before it was made.
    made_at: u64,
    fills_cache: bool,
}

pub fn scan(
    view: &View<'_>,
    request: Request<'_>,
    own: &Rows,
    each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    if request.range.start >= request.range.end || request.limit == 0 {
        return Ok(());
    }
    let before = view.iterators.map_or(0, IteratorPool::bytes_read);
    let (mut sorted, mut bytes_read) = (None, before);
    let mut chunk = Chunk::new(view, request, DIRTY.take());
    let outcome = scan_chunks(view, request, own, each, &mut chunk, &mut sorted, &mut bytes_read);
    let rows = chunk.rows;
    if rows.capacity() <= KEPT_BYTES {
        DIRTY.set(rows);
    }
    if let (Some(iterators), Some(sorted), Ok(())) = (view.iterators, sorted, &outcome) {
        iterators.add_bytes_read(bytes_read - before);
        iterators.put(sorted.iterator, &request, sorted.fills_cache);
    }
    outcome
}

fn scan_chunks<'a>(
    view: &View<'a>,
    request: Request<'_>,
    own: &Rows,
    each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    chunk: &mut Chunk<'_>,
    sorted: &mut Option<Sorted<'a>>,
    bytes_read: &mut usize,
) -> Result<()> {
    let Request { direction, limit, .. } = request;
    let in_one_group = chunk.group.is_some();
    let mut own_at = 0;
    let mut left = limit;
    let mut skipped = 0;
    loop {
        chunk.fill(view)?;
        let retirements = view.tables.retirements();
        let is_stale = sorted.as_ref().is_none_or(|sorted| sorted.made_at != retirements);
        // Read after the tables were: a row that has left them since makes the answer yes.
        if is_stale && view.store.may_have(request.space) {
            // The count is read before the iterator is made: an iterator may only be newer than it says.
            let fills_cache = *bytes_read < CACHED_BYTES;
            let mut iterator = open_iterator(view, &request, in_one_group, fills_cache)?;
            match direction {
                Direction::Forward => iterator.seek(&chunk.from),
                Direction::Backward => seek_before(&mut iterator, &chunk.from),
            }
            check(view.store, &iterator)?;
            *sorted = Some(Sorted { iterator, made_at: retirements, fills_cache });
        }
        let mut merge = Merge {
            own,
            own_at,
            dirty: &chunk.rows,
            dirty_at: 0,
            sorted: sorted.as_mut(),
            bytes_read,
            direction,
            bound: chunk.to.as_deref(),
        };
        while left > 0 {
            if let Some(sorted) = &mut merge.sorted
                && sorted.fills_cache
                && *merge.bytes_read >= CACHED_BYTES
            {
                sorted.fills_cache = false;
                go_on_uncached(view, &request, in_one_group, &mut sorted.iterator)?;
            }
            match merge.step(view.store, each)? {
                Step::Shown(ControlFlow::Break(())) => return Ok(()),
                Step::Shown(ControlFlow::Continue(())) => left -= 1,
                Step::Skipped => {
                    skipped += 1;
                    if view.wait == Wait::Never && skipped > NO_WAIT_SKIPS {
                        return Err(Error::NotResident);
                    }
                }
                Step::End => break,
            }
        }
        own_at = merge.own_at;
        if left == 0 || !chunk.advance() {
            return Ok(());
        }
    }
}

/// Replaces an iterator that fills the block cache by one that does not.
#[cold]
fn go_on_uncached<'a>(
    view: &View<'a>,
    request: &Request<'_>,
    in_one_group: bool,
    iterator: &mut DBRawIterator<'a>,
) -> Result<()> {
    let Some(at) = iterator.key().map(<[u8]>::to_vec) else { return Ok(()) };
    let mut uncached = open_iterator(view, request, in_one_group, false)?;
    match request.direction {
        Direction::Forward => uncached.seek(&at),
        Direction::Backward => uncached.seek_for_prev(&at),
    }
    check(view.store, &uncached)?;
    *iterator = uncached;
    Ok(())
}

fn open_iterator<'a>(
    view: &View<'a>,
    request: &Request<'_>,
    in_one_group: bool,
    fills_cache: bool,
) -> Result<DBRawIterator<'a>> {
    if let Some(iterator) = view.iterators.and_then(|iterators| iterators.take(request, fills_cache)) {
        return Ok(iterator);
    }
    let Request { space, range, direction, .. } = *request;
    let mut options = (view.read_options)();
    options.fill_cache(fills_cache);
    options.set_iterate_lower_bound(range.start);
    options.set_iterate_upper_bound(range.end);
    // The prefix filter is asked for the key that is sought. Backwards this key may lie outside of the group.
    if in_one_group && direction == Direction::Forward {
        options.set_prefix_same_as_start(true);
    } else {
        options.set_total_order_seek(true);
    }
    if view.wait == Wait::Never {
        options.set_read_tier(ReadTier::BlockCache);
        options.set_max_skippable_internal_keys(NO_WAIT_SKIPS as u64);
    }
    Ok(view.store.db().raw_iterator_cf_opt(view.store.family(space)?, options))
}

/// An iterator that stands nowhere is at the end, or could not go on. Which of the two must be known before any further
/// row is shown: rows that the tables hold behind that place would be shown where rows before them were not read.
fn check(store: &Store, iterator: &DBRawIterator<'_>) -> Result<()> {
    if iterator.valid() { Ok(()) } else { iterator.status().map_err(|error| store.error(&error)) }
}

/// To the last row before `key`.
fn seek_before(iterator: &mut DBRawIterator<'_>, key: &[u8]) {
    iterator.seek_for_prev(key);
    if iterator.key() == Some(key) {
        iterator.prev();
    }
}

enum Step {
    Shown(ControlFlow<()>),
    Skipped,
    End,
}

struct Merge<'m, 'd> {
    own: &'m Rows,
    own_at: usize,
    dirty: &'m Rows,
    dirty_at: usize,
    /// None while there is nothing in the sorted data.
    sorted: Option<&'m mut Sorted<'d>>,
    bytes_read: &'m mut usize,
    direction: Direction,
    /// Up to where the dirty rows are known.
    bound: Option<&'m [u8]>,
}

impl Merge<'_, '_> {
    fn within(&self, key: &[u8]) -> bool {
        match (self.bound, self.direction) {
            (None, _) => true,
            (Some(bound), Direction::Forward) => key < bound,
            (Some(bound), Direction::Backward) => key >= bound,
        }
    }

    /// Shows or skips the next key.
    fn step(&mut self, store: &Store, each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<Step> {
        let own = self.own.key(self.own_at).filter(|key| self.within(key));
        let dirty = self.dirty.key(self.dirty_at);
        let iterator = self.sorted.as_ref().map(|sorted| &sorted.iterator);
        let sorted = iterator.and_then(DBRawIterator::key).filter(|key| self.within(key));
        let first = [own, dirty, sorted].into_iter().flatten().min_by(|a, b| ordered(a, b, self.direction));
        let Some(key) = first else { return Ok(Step::End) };
        let is_first = |other: Option<&[u8]>| {
            other.is_some_and(|other| ordered(other, key, self.direction) == Ordering::Equal)
        };
        let (in_own, in_dirty, in_sorted) = (is_first(own), is_first(dirty), is_first(sorted));
        let value = if in_own {
            self.own.value(self.own_at).flatten()
        } else if in_dirty {
            self.dirty.value(self.dirty_at).flatten()
        } else {
            iterator.and_then(DBRawIterator::value)
        };
        let step = match value {
            Some(value) => {
                *self.bytes_read += key.len() + value.len();
                Step::Shown(each(key, value))
            }
            None => Step::Skipped,
        };
        self.own_at += usize::from(in_own);
        self.dirty_at += usize::from(in_dirty);
        if let (true, Some(Sorted { iterator, .. })) = (in_sorted, &mut self.sorted) {
            match self.direction {
                Direction::Forward => iterator.next(),
                Direction::Backward => iterator.prev(),
            }
            check(store, iterator)?;
        }
        Ok(step)
    }
}
