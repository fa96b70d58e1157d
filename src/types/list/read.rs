//! Elements in order, in steps of bounded memory.

use std::ops::{ControlFlow, Range};

use tarn_engine::Direction;

use super::{End, List, MISSING};
use crate::encoding::DATA;
use crate::encoding::list::{INDEX_LEN, push_index, read_index};
use crate::encoding::rows::RowKey;
use crate::error::{Result, Stop, Why};
use crate::keyspace::{Env, Place, View};
use crate::types::collection::{MAX_STEP_BYTES, MAX_STEP_ROWS};
use crate::types::strings::Strings;

/// Elements of the first step; each further one is four times as long. Who finds soon what he looks for has read little.
const FIRST_STEP: u64 = 128;
const MAX_STEP: u64 = 1024;
/// So few elements are read one by one, which asks nothing of the order of rows.
const SINGLE_READS: u64 = 8;
/// What may be read on the I/O thread. A list with more elements is read in steps where rows are written between them.
const SHORT: u64 = Env::IO_THREAD_MAX_ROWS as u64;

/// An element with its place.
pub type Visit<'v> = &'v mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>;

impl List<'_> {
    /// Visits the elements at these places, from one end of them or from the other, until `visit` breaks. Many of them leave the I/O
    /// thread.
    pub fn each(&self, cx: &impl View, places: Range<u64>, from: End, visit: Visit<'_>) -> Result<()> {
        let (mut left, mut step) = (places, FIRST_STEP);
        let (mut read, mut bytes) = (0, 0);
        while !left.is_empty() {
            let mut count = step.min(left.end - left.start);
            if read < SHORT {
                // What may be read on the I/O thread is read to its end there.
                count = count.min(SHORT - read);
            }
            let part = match from {
                End::Left => left.start..left.start + count,
                End::Right => left.end - count..left.end,
            };
            light(cx.env(), read + count, bytes)?;
            let mut broken = false;
            let mut watched = |place: u64, value: &[u8]| {
                bytes += value.len();
                let flow = visit(place, value);
                broken = flow.is_break();
                flow
            };
            if count <= SINGLE_READS {
                self.read_single(cx, part.clone(), from, &mut watched)?;
            } else {
                self.scan(cx, part.clone(), from, &mut watched)?;
            }
            if broken {
                return Ok(());
            }
            match from {
                End::Left => left.start = part.end,
                End::Right => left.end = part.start,
            }
            read += count;
            step = (step * 4).min(MAX_STEP);
        }
        Ok(())
    }

    /// Row by row.
    fn read_single(&self, cx: &impl View, places: Range<u64>, from: End, visit: Visit<'_>) -> Result<()> {
        let count = (places.end - places.start) as usize;
        let row_len = self.rows.prefix().len() + INDEX_LEN;
        let mut bytes = Vec::with_capacity(count * row_len);
        for n in 0..count as u64 {
            bytes.extend_from_slice(self.rows.prefix());
            bytes.extend_from_slice(&self.index(nth(&places, from, n))?.to_be_bytes());
        }
        let rows: Vec<&[u8]> = bytes.chunks_exact(row_len).collect();
        let (mut broken, mut whole) = (false, true);
        cx.get_each(DATA, &rows, &mut |n, value| match value {
            _ if broken => {}
            Some(value) => broken = visit(nth(&places, from, n as u64), value).is_break(),
            None => whole = false,
        })?;
        if whole { Ok(()) } else { Err(MISSING.into()) }
    }

    /// The range of rows, which has no gap and so no traces of what was deleted.
    pub(super) fn scan(&self, cx: &impl View, places: Range<u64>, from: End, visit: Visit<'_>) -> Result<()> {
        let (start, end) = (self.row_at(places.start)?, self.row_at(places.end)?);
        let range = tarn_engine::Range { start: &start, end: &end };
        let direction = match from {
            End::Left => Direction::Forward,
            End::Right => Direction::Backward,
        };
        let prefix_len = self.rows.prefix().len();
        let mut seen = 0;
        let (mut broken, mut wrong) = (false, None);
        cx.scan_with(DATA, range, direction, usize::MAX, &mut |row, value| {
            let place = nth(&places, from, seen);
            match read_index(row.get(prefix_len..).unwrap_or_default()) {
                Ok(index) if index.wrapping_sub(self.head) == place => {
                    seen += 1;
                    let flow = visit(place, value);
                    broken = flow.is_break();
                    flow
                }
                Ok(_) => ControlFlow::Break(()),
                Err(error) => {
                    wrong = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        match wrong {
            Some(error) => Err(error.into()),
            None if broken || seen == places.end - places.start => Ok(()),
            None => Err(MISSING.into()),
        }
    }

    /// Moves the next elements of these places, from one end of them or from the other, to `step`: for who writes between steps.
    pub fn read_step(
        &self,
        cx: &impl View,
        left: &mut Range<u64>,
        from: End,
        step: &mut Strings,
    ) -> Result<()> {
        let mut gather = |_, value: &[u8]| {
            step.push(value);
            let full = step.len() == MAX_STEP_ROWS || step.bytes() >= MAX_STEP_BYTES;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if self.len() > SHORT {
            self.scan(cx, left.clone(), from, &mut gather)?;
        } else {
            self.each(cx, left.clone(), from, &mut gather)?;
        }
        match from {
            End::Left => left.start += step.len() as u64,
            End::Right => left.end -= step.len() as u64,
        }
        Ok(())
    }

    fn row_at(&self, place: u64) -> Result<RowKey> {
        let mut row = RowKey::from_slice(self.rows.prefix());
        push_index(&mut row, self.index(place)?);
        Ok(row)
    }

    /// The first place, from the left, of an element.
    pub fn find_value(&self, cx: &impl View, wanted: &[u8]) -> Result<Option<u64>> {
        let mut found = None;
        self.each(cx, 0..self.len(), End::Left, &mut |place, value| {
            if value != wanted {
                return ControlFlow::Continue(());
            }
            found = Some(place);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// To be asked where the number of elements is known before they are read: many of them leave the I/O thread.
    pub fn light(&self, env: &Env<'_>, places: &Range<u64>) -> Result<()> {
        light(env, places.end.saturating_sub(places.start), 0)
    }
}

fn light(env: &Env<'_>, rows: u64, bytes: usize) -> Result<()> {
    if env.place == Place::IoThread
        && (rows > Env::IO_THREAD_MAX_ROWS as u64 || bytes > Env::IO_THREAD_MAX_BYTES)
    {
        return Err(Stop::Move(Why::Heavy));
    }
    Ok(())
}

/// The n-th of some places, from either end.
fn nth(places: &Range<u64>, from: End, n: u64) -> u64 {
    match from {
        End::Left => places.start + n,
        End::Right => (places.end - 1).saturating_sub(n),
    }
}
