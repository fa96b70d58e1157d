//! Changing a list between its ends.
//!
//! Rows are numbered without a gap, so whatever is inserted or removed moves others. As few as possible are moved, in
//! the one transaction of the command. Where even they are too many for one, the list is written anew under another
//! version, in batches: see [`Draft`].

use std::ops::{ControlFlow, Range};

use super::{Draft, End, List, MISSING};
use crate::error::Result;
use crate::keyspace::{Env, View, WriteCx};
use crate::types::strings::Strings;

/// What the rows that an edit puts and deletes may come to, in bytes. Memory holds them twice: in the hand and in the transaction.
pub const MAX_EDIT_BYTES: usize = 8 << 20;
/// What a row costs an edit beyond its own bytes, about.
pub(super) const ROW_BYTES: usize = 64;

/// Where to insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// The elements that are to be removed: where they are, and the longest run of places without any of them.
#[derive(Debug)]
struct Doomed {
    count: u64,
    /// From the first to behind the last of them.
    within: Range<u64>,
    run: Range<u64>,
}

impl List<'_> {
    /// Inserts beside the first element that equals `pivot`. None where there is no such element.
    pub fn insert(
        mut self,
        cx: &mut WriteCx<'_>,
        side: Side,
        pivot: &[u8],
        value: &[u8],
    ) -> Result<Option<u64>> {
        let Some(found) = self.find_value(cx, pivot)? else { return Ok(None) };
        let place = found + u64::from(side == Side::After);
        let len = self.len();
        // The shorter side makes room.
        let to_left = place < len - place;
        let moved = if to_left { 0..place } else { place..len };
        let mut budget = MAX_EDIT_BYTES;
        let Some(held) = self.hold(cx, moved.clone(), &mut budget, &|_, _| true)? else {
            self.rewrite(cx, 0..len, len + 1, &mut |draft, cx, at, element| {
                if at == place {
                    draft.push(cx, value)?;
                }
                draft.push(cx, element)
            })?;
            return Ok(Some(len + 1));
        };
        if to_left {
            self.head = self.head.checked_sub(1).ok_or(MISSING)?;
        }
        let start = self.index(if to_left { 0 } else { place + 1 })?;
        self.put_all(cx, start, &held);
        let index = self.index(place)?;
        self.put(cx, index, value);
        self.rows.resize(len + 1);
        self.save(cx)?;
        Ok(Some(len + 1))
    }

    /// Removes elements that equal `value`: the first `most` from one end. Returns how many there were.
    pub fn remove(mut self, cx: &mut WriteCx<'_>, value: &[u8], end: End, most: u64) -> Result<u64> {
        let len = self.len();
        let Doomed { count, within, run } = self.doomed(cx, value, end, most)?;
        if count == 0 || count == len {
            self.rows.resize(len - count);
            self.save_if(cx, count > 0)?;
            return Ok(count);
        }
        let stays = |place: u64, element: &[u8]| element != value || !within.contains(&place);
        let mut budget = MAX_EDIT_BYTES;
        let affordable = self.afford_deletes(&mut budget, count);
        let left = if affordable { self.hold(cx, 0..run.start, &mut budget, &stays)? } else { None };
        let right = if left.is_some() { self.hold(cx, run.end..len, &mut budget, &stays)? } else { None };
        let (Some(left), Some(right)) = (left, right) else {
            self.rewrite(cx, 0..len, len - count, &mut |draft, cx, place, element| {
                if stays(place, element) { draft.push(cx, element) } else { Ok(()) }
            })?;
            return Ok(count);
        };
        // Both sides close up to the run, which stays where it is.
        let new_start = run.start - left.len() as u64;
        let new_end = run.end + right.len() as u64;
        self.put_all(cx, self.index(new_start)?, &left);
        self.put_all(cx, self.index(run.end)?, &right);
        self.delete_all(cx, 0..new_start)?;
        self.delete_all(cx, new_end..len)?;
        self.head = self.index(new_start)?;
        self.rows.resize(new_end - new_start);
        self.save(cx)?;
        Ok(count)
    }

    /// Takes up to `count` elements from an end away; shows them in the order in which they go.
    pub fn take(self, cx: &mut WriteCx<'_>, end: End, count: u64, show: &mut dyn FnMut(&[u8])) -> Result<()> {
        let len = self.len();
        let count = count.min(len);
        let (taken, kept) = match end {
            End::Left => (0..count, count..len),
            End::Right => (len - count..len, 0..len - count),
        };
        self.light(&cx.env, &taken)?;
        self.each(cx, taken, end, &mut |_, value| {
            show(value);
            ControlFlow::Continue(())
        })?;
        self.keep(cx, kept)
    }

    /// Removes everything but the elements at these places.
    pub fn keep(mut self, cx: &mut WriteCx<'_>, kept: Range<u64>) -> Result<()> {
        let len = self.len();
        let new_len = kept.end.saturating_sub(kept.start);
        let removed = len - new_len;
        if new_len == 0 || removed == 0 {
            // All go with the key, or none goes.
            self.rows.resize(new_len);
            return self.save_if(cx, removed > 0);
        }
        // One by one if they are few; else whichever way writes fewer rows, as far as a transaction can hold them.
        let few = removed <= Env::IO_THREAD_MAX_ROWS as u64;
        if !few && (new_len <= removed || !self.afford_deletes(&mut { MAX_EDIT_BYTES }, removed)) {
            return self.rewrite(cx, kept, new_len, &mut |draft, cx, _, value| draft.push(cx, value));
        }
        self.light(&cx.env, &(0..removed))?;
        self.delete_all(cx, 0..kept.start)?;
        self.delete_all(cx, kept.end..len)?;
        self.head = self.index(kept.start)?;
        self.rows.resize(new_len);
        self.save(cx)
    }

    fn save_if(mut self, cx: &mut WriteCx<'_>, changed: bool) -> Result<()> {
        if changed { self.save(cx) } else { Ok(()) }
    }

    fn doomed(&self, cx: &impl View, value: &[u8], end: End, most: u64) -> Result<Doomed> {
        let len = self.len();
        let mut gap = match end {
            End::Left => 0,
            End::Right => len,
        };
        let mut doomed = Doomed { count: 0, within: len..0, run: 0..0 };
        let longer = |doomed: &mut Doomed, run: Range<u64>| {
            if run.end - run.start > doomed.run.end - doomed.run.start {
                doomed.run = run;
            }
        };
        self.each(cx, 0..len, end, &mut |place, element| {
            if element != value {
                return ControlFlow::Continue(());
            }
            doomed.count += 1;
            doomed.within = doomed.within.start.min(place)..doomed.within.end.max(place + 1);
            let (run, next_gap) = match end {
                End::Left => (gap..place, place + 1),
                End::Right => (place + 1..gap, place),
            };
            longer(&mut doomed, run);
            gap = next_gap;
            if doomed.count == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let rest = match end {
            End::Left => gap..len,
            End::Right => 0..gap,
        };
        longer(&mut doomed, rest);
        Ok(doomed)
    }

    /// What a row costs an edit, its value aside.
    fn row_cost(&self) -> usize {
        ROW_BYTES + self.rows.prefix().len()
    }

    fn afford_deletes(&self, budget: &mut usize, count: u64) -> bool {
        let cost = usize::try_from(count).ok().and_then(|count| count.checked_mul(self.row_cost()));
        let left = cost.and_then(|cost| budget.checked_sub(cost));
        *budget = left.unwrap_or(0);
        left.is_some()
    }

    /// The elements at these places that stay, unless they cost more than the budget has.
    fn hold(
        &self,
        cx: &impl View,
        places: Range<u64>,
        budget: &mut usize,
        stays: &dyn Fn(u64, &[u8]) -> bool,
    ) -> Result<Option<Strings>> {
        let mut held = Strings::default();
        let mut fits = true;
        self.each(cx, places, End::Left, &mut |place, value| {
            if !stays(place, value) {
                return ControlFlow::Continue(());
            }
            match budget.checked_sub(self.row_cost() + value.len()) {
                Some(left) => {
                    *budget = left;
                    held.push(value);
                    ControlFlow::Continue(())
                }
                None => {
                    fits = false;
                    ControlFlow::Break(())
                }
            }
        })?;
        Ok(fits.then_some(held))
    }

    /// Puts elements from a row on.
    fn put_all(&mut self, cx: &mut WriteCx<'_>, start: u64, held: &Strings) {
        for (index, value) in (start..).zip(held.iter()) {
            self.put(cx, index, value);
        }
    }

    fn delete_all(&mut self, cx: &mut WriteCx<'_>, places: Range<u64>) -> Result<()> {
        for place in places {
            let index = self.index(place)?;
            self.delete(cx, index);
        }
        Ok(())
    }

    /// Writes the elements at these places anew, each as `edit` will have it. `len` is how many there will be.
    fn rewrite<'a>(
        &self,
        cx: &mut WriteCx<'a>,
        places: Range<u64>,
        len: u64,
        edit: &mut dyn FnMut(&mut Draft<'a, '_>, &mut WriteCx<'a>, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let expire_at_ms = self.rows.entry.expire_at_ms();
        let mut draft = Draft::begin(cx, self.rows.entry.clone(), len)?;
        let mut held = Strings::default();
        let mut at = places.start;
        while at < places.end {
            held.clear();
            self.read_step(cx, &mut (at..places.end), End::Left, &mut held)?;
            for value in held.iter() {
                edit(&mut draft, cx, at, value)?;
                at += 1;
            }
        }
        draft.finish(cx, expire_at_ms).map(|_| ())
    }
}
