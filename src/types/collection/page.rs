//! HSCAN, SSCAN and ZSCAN: walking the elements of a collection over many calls, without any state in between.
//!
//! A cursor is the upper 53 bits of a hash: the place before every member whose hash is not less. So it is valid after
//! a restart and on any node, what is there throughout the walk is returned once, and it is an integer that clients
//! which keep numbers as doubles do not round. Members whose hashes share these bits are never split over two calls.

use std::ops::ControlFlow;

use super::{Collection, Element};
use crate::error::Result;
use crate::keyspace::{Env, View};

/// Bits of a hash that are not in the cursor.
const SHIFT: u32 = 64 - 53;

/// Visits about `count` elements from the cursor on and returns the next cursor; 0 is the start and, returned, the end.
/// A collection that Redis would keep in its compact form is shown whole, whatever the cursor and the count.
pub fn page(
    cx: &impl View,
    collection: &Collection<'_>,
    cursor: u64,
    count: usize,
    visit: &mut dyn FnMut(Element<'_>),
) -> Result<u64> {
    if !collection.has_grown() {
        collection.light(cx.env())?;
        collection.each(cx, &mut |element| {
            visit(element);
            ControlFlow::Continue(())
        })?;
        return Ok(0);
    }
    let size = usize::try_from(collection.size()).unwrap_or(usize::MAX);
    cx.env().move_if_heavy(count.min(size), Env::IO_THREAD_MAX_ROWS)?;
    // A number that no walk returns is behind everything.
    let Some(from) = cursor.checked_mul(1 << SHIFT) else { return Ok(0) };
    let (mut start, end) = (collection.place(&from.to_be_bytes()), collection.bounds().1);
    let mut left = count.max(1);
    let mut last = None;
    let mut next = 0;
    loop {
        // One more than wanted tells where to go on; what shares a cursor with the last one takes a further round.
        let limit = left.saturating_add(1);
        let mut seen = 0;
        let mut place = start.clone();
        collection.each_between(cx, &start, &end, limit, &mut |element| {
            let here = element.hash() >> SHIFT;
            if left == 0 && last != Some(here) {
                next = here;
                return ControlFlow::Break(());
            }
            seen += 1;
            last = Some(here);
            left = left.saturating_sub(1);
            visit(element);
            place.truncate(collection.prefix().len());
            place.extend_from_slice(element.sub);
            ControlFlow::Continue(())
        })?;
        if next != 0 || seen < limit {
            return Ok(next);
        }
        place.push(0);
        start = place;
    }
}
