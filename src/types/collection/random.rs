//! Picking elements at random, without walking a big collection.
//!
//! Members are sorted by their hashes, which are spread evenly and which no client can choose. So a place is drawn among
//! the hashes, and a rank below a cap: the pick is the member of that rank from the place on, if it is no further away
//! than a range in which [`MEAN`] members are expected. If it is, both are drawn again. A member is found from every
//! place within a range before it, with the same chance, as long as no more members than the cap lie between.
//!
//! Up to [`EXACT`] members the cap is seven standard deviations above the mean: no range has so many members, and every
//! member has exactly the same chance. Beyond that it is two, which takes a third fewer scans: a member has less of a
//! chance where its neighbours crowd, of the root of the mean square by one percent, and no test of picks can tell.
//!
//! Where the engine has all elements in memory and in order, it picks one itself, and none of this is needed.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::{Collection, Element};
use crate::error::Result;
use crate::keyspace::{Env, View};

/// Up to so many elements are counted through.
pub const SMALL: u64 = 128;
/// Up to so many, all chances are exactly the same.
pub const EXACT: u64 = 4_096;
/// Members that a range of hashes has on average, and the ranks that are drawn.
const MEAN: u64 = 32;
const EXACT_CAP: u64 = 72;
const CAP: u64 = 44;
/// Draws after which the next member from the last place on is taken, so that no chance is bad enough to go on for ever.
const MAX_DRAWS: usize = 1_000;
/// Rows that are read for a pick, about. Picks of more than this share of a collection are made in one walk.
const ROWS_PER_PICK: u64 = 100;

/// A number below `n`, which is not 0, from the next random one.
fn below(random: &mut impl Iterator<Item = u64>, n: u64) -> u64 {
    ((u128::from(random.next().unwrap_or_default()) * u128::from(n)) >> 64) as u64
}

/// Shows one element. A collection that is not empty has one.
pub fn one(
    cx: &impl View,
    collection: &Collection<'_>,
    random: &mut impl Iterator<Item = u64>,
    visit: &mut dyn FnMut(Element<'_>),
) -> Result<()> {
    if collection.pick(cx, &mut || random.next().unwrap_or_default(), visit)? {
        return Ok(());
    }
    let size = collection.size();
    let (start, end) = collection.bounds();
    if size <= SMALL {
        let rank = below(random, size.max(1));
        return nth(cx, collection, (&start, &end), rank, visit).map(|_| ());
    }
    let cap = if size <= EXACT { EXACT_CAP } else { CAP };
    // Less than all hashes: there are more members than are expected in a range.
    let width = ((u128::from(MEAN) << 64) / u128::from(size)) as u64;
    let place = |hash: u64| collection.place(&hash.to_be_bytes());
    let mut from = 0;
    for _ in 0..MAX_DRAWS {
        from = random.next().unwrap_or_default();
        let rank = below(random, cap);
        let behind = match from.checked_add(width) {
            Some(to) => nth(cx, collection, (&place(from), &place(to)), rank, visit)?,
            // Behind the last hash comes the first.
            None => match nth(cx, collection, (&place(from), &end), rank, visit)? {
                Some(left) => nth(cx, collection, (&start, &place(from.wrapping_add(width))), left, visit)?,
                None => None,
            },
        };
        if behind.is_none() {
            return Ok(());
        }
    }
    if nth(cx, collection, (&place(from), &end), 0, visit)?.is_some() {
        nth(cx, collection, (&start, &end), 0, visit)?;
    }
    Ok(())
}

/// Shows the element with this rank among those from one place up to another. If there is none, its rank among those
/// that follow.
fn nth(
    cx: &impl View,
    collection: &Collection<'_>,
    (start, end): (&[u8], &[u8]),
    rank: u64,
    visit: &mut dyn FnMut(Element<'_>),
) -> Result<Option<u64>> {
    let passed = collection.nth(cx, start, end, rank as usize, visit)?;
    Ok(passed.map(|passed| rank - passed as u64))
}

/// Whether so many picks are better made in one walk; leaves the I/O thread if either way is long.
fn walks(env: &Env<'_>, collection: &Collection<'_>, count: u64) -> Result<bool> {
    let by_picks = count.saturating_mul(ROWS_PER_PICK);
    let walks = collection.size() <= SMALL || by_picks >= collection.size();
    let rows = if walks { collection.size().max(count) } else { by_picks };
    env.move_if_heavy(usize::try_from(rows).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
    Ok(walks)
}

/// Shows `count` elements, each drawn from all of them.
pub fn repeated(
    cx: &impl View,
    collection: &Collection<'_>,
    count: u64,
    random: &mut impl Iterator<Item = u64>,
    visit: &mut dyn FnMut(Element<'_>),
) -> Result<()> {
    if !walks(cx.env(), collection, count)? {
        for _ in 0..count {
            one(cx, collection, random, visit)?;
        }
        return Ok(());
    }
    // Which rank is to stand where, by rank.
    let mut wanted: Vec<(u64, u64)> =
        (0..count).map(|at| (below(random, collection.size().max(1)), at)).collect();
    wanted.sort_unstable();
    let mut bytes = Vec::new();
    // Of each element that is wanted: its bytes.
    let mut picked = Vec::new();
    let mut places = vec![0; wanted.len()];
    let mut wanted = wanted.into_iter().peekable();
    let mut rank = 0;
    collection.each(cx, &mut |element| {
        if wanted.peek().is_some_and(|(next, _)| *next == rank) {
            let start = bytes.len();
            bytes.extend_from_slice(element.sub);
            bytes.extend_from_slice(element.value);
            while let Some((_, at)) = wanted.next_if(|(next, _)| *next == rank) {
                if let Some(place) = places.get_mut(at as usize) {
                    *place = picked.len();
                }
            }
            picked.push((start, element.sub.len(), bytes.len()));
        }
        rank += 1;
        if wanted.peek().is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    for place in places {
        if let Some((start, sub_len, end)) = picked.get(place)
            && let Some((sub, value)) = bytes.get(*start..*end).and_then(|row| row.split_at_checked(*sub_len))
        {
            visit(Element { sub, value });
        }
    }
    Ok(())
}

/// Shows `count` different elements, or all there are.
pub fn distinct(
    cx: &impl View,
    collection: &Collection<'_>,
    count: u64,
    random: &mut impl Iterator<Item = u64>,
    visit: &mut dyn FnMut(Element<'_>),
) -> Result<()> {
    if walks(cx.env(), collection, count.min(collection.size()))? {
        // Each element is taken with the chance that as many as are wanted come from as many as are left.
        let (mut wanted, mut left) = (count, collection.size());
        return collection.each(cx, &mut |element| {
            if wanted >= left || below(random, left) < wanted {
                wanted = wanted.saturating_sub(1);
                visit(element);
            }
            left = left.saturating_sub(1);
            if wanted == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    let mut seen: HashSet<Vec<u8>> = HashSet::with_capacity(count as usize);
    while (seen.len() as u64) < count {
        one(cx, collection, random, &mut |element| {
            if !seen.contains(element.sub) {
                seen.insert(element.sub.to_vec());
                visit(element);
            }
        })?;
    }
    Ok(())
}
