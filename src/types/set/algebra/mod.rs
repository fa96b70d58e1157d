//! Intersection, union and difference of sets, as streams.
//!
//! Members stand in the same order in every set, so the result is made by walking the sets side by side; memory holds a
//! step of each walk, whatever the sizes. Intersection and difference are a [`Sieve`]: the members of one set, which the
//! others let through or not, each asked in the way that is less work. A union is a [`Merge`].

mod merge;
mod sieve;

#[cfg(test)]
mod tests;

use self::merge::Merge;
use self::sieve::Sieve;
use super::KIND;
use crate::error::Result;
use crate::keyspace::{Env, View, entry};
use crate::types::collection::Collection;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Intersection,
    Union,
    /// What the first set has and no other.
    Difference,
}

/// What a read of one member costs, in rows of a walk. Measured with sets of 2 million members that are in RocksDB, in its
/// block cache: 4.8 us for a read, 0.47 us for a row of a walk.
const ROWS_PER_READ: u64 = 10;

/// The members of a result, in their order.
pub struct Members<'k> {
    source: Source<'k>,
    at_most: u64,
    /// Rows that are walked, and reads counted in rows, if the result is wanted to its end.
    work: u64,
}

enum Source<'k> {
    Nothing,
    Sieve(Box<Sieve<'k>>),
    Merge(Merge),
}

/// The result of an operation on the sets of these keys. A key that does not exist is an empty set.
pub fn open<'k>(
    cx: &mut impl View,
    operation: Operation,
    keys: impl ExactSizeIterator<Item = &'k [u8]> + Clone,
) -> Result<Members<'k>> {
    Ok(Members::of(operation, find(cx, keys)?, ROWS_PER_READ))
}

fn find<'k>(
    cx: &mut impl View,
    keys: impl ExactSizeIterator<Item = &'k [u8]> + Clone,
) -> Result<Vec<Option<Collection<'k>>>> {
    cx.env().move_if_heavy(keys.len(), Env::IO_THREAD_MAX_ROWS)?;
    let found = entry::find_each(cx, keys)?;
    let sets = found.into_iter().map(|mut found| {
        entry::meet(cx, &mut found)?;
        Collection::of(cx, found, KIND)
    });
    sets.collect()
}

/// Counts the members of a result, up to a limit. No more is read than that takes.
pub fn count<'k>(
    cx: &mut impl View,
    operation: Operation,
    keys: impl ExactSizeIterator<Item = &'k [u8]> + Clone,
    limit: u64,
) -> Result<u64> {
    let sets = find(cx, keys)?;
    if limit <= at_least(operation, &sets) {
        return Ok(limit);
    }
    if let Some(count) = count_by_overlap(cx, operation, &sets, limit)? {
        return Ok(count.min(limit));
    }
    count_members(cx, Members::of(operation, sets, ROWS_PER_READ), limit)
}

/// How many members there must be, by the sizes alone.
fn at_least(operation: Operation, sets: &[Option<Collection<'_>>]) -> u64 {
    let mut sizes = sets.iter().map(|set| set.as_ref().map_or(0, Collection::size));
    match operation {
        Operation::Intersection => 0,
        Operation::Union => sizes.max().unwrap_or(0),
        Operation::Difference => {
            let first = sizes.next().unwrap_or(0);
            sizes.fold(first, u64::saturating_sub)
        }
    }
}

/// Of two sets, one much smaller than the other, it is enough to count what they share.
fn count_by_overlap(
    cx: &impl View,
    operation: Operation,
    sets: &[Option<Collection<'_>>],
    limit: u64,
) -> Result<Option<u64>> {
    let [Some(a), Some(b)] = sets else { return Ok(None) };
    let (small, big) = (a.size().min(b.size()), a.size().max(b.size()));
    if operation == Operation::Intersection || small.saturating_mul(ROWS_PER_READ) > big.min(limit) {
        return Ok(None);
    }
    let both = Members::of(Operation::Intersection, sets.to_vec(), ROWS_PER_READ);
    let shared = count_members(cx, both, u64::MAX)?;
    let all = if operation == Operation::Union { a.size() + b.size() } else { a.size() };
    Ok(Some(all.saturating_sub(shared)))
}

fn count_members(cx: &impl View, mut members: Members<'_>, limit: u64) -> Result<u64> {
    if members.is_one_set() {
        return Ok(members.at_most.min(limit));
    }
    if limit >= members.at_most {
        members.light(cx.env())?;
    }
    let mut count = 0;
    while count < limit && members.next(cx)?.is_some() {
        count += 1;
    }
    Ok(count)
}

const NOTHING: Members<'_> = Members { source: Source::Nothing, at_most: 0, work: 0 };

/// The members of the smallest set that all others have.
fn intersection(sets: Vec<Option<Collection<'_>>>, rows_per_read: u64) -> Members<'_> {
    let Some(mut sets) = sets.into_iter().collect::<Option<Vec<_>>>() else { return NOTHING };
    each_once(&mut sets);
    let mut sets = sets.into_iter();
    let Some(first) = sets.next() else { return NOTHING };
    Members::sieved(Sieve::new(&first, sets.collect(), true, rows_per_read))
}

fn union(sets: Vec<Option<Collection<'_>>>) -> Members<'_> {
    let mut sets: Vec<Collection<'_>> = sets.into_iter().flatten().collect();
    each_once(&mut sets);
    let sum = sets.iter().fold(0_u64, |sum, set| sum.saturating_add(set.size()));
    Members { source: Source::Merge(Merge::new(&sets)), at_most: sum, work: sum }
}

fn difference(sets: Vec<Option<Collection<'_>>>, rows_per_read: u64) -> Members<'_> {
    let mut sets = sets.into_iter();
    let Some(first) = sets.next().flatten() else { return NOTHING };
    let mut others: Vec<Collection<'_>> = sets.flatten().collect();
    if others.iter().any(|other| other.entry.key == first.entry.key) {
        return NOTHING;
    }
    each_once(&mut others);
    // The biggest is likely to hold back the most, and what it holds back the others need not be asked.
    others.reverse();
    Members::sieved(Sieve::new(&first, others, false, rows_per_read))
}

/// Sorts by size, and leaves out what is named again.
fn each_once(sets: &mut Vec<Collection<'_>>) {
    sets.sort_by(|a, b| (a.size(), a.entry.key).cmp(&(b.size(), b.entry.key)));
    sets.dedup_by(|a, b| a.entry.key == b.entry.key);
}

impl<'k> Members<'k> {
    fn of(operation: Operation, sets: Vec<Option<Collection<'k>>>, rows_per_read: u64) -> Members<'k> {
        match operation {
            Operation::Intersection => intersection(sets, rows_per_read),
            Operation::Union => union(sets),
            Operation::Difference => difference(sets, rows_per_read),
        }
    }

    fn sieved(sieve: Sieve<'k>) -> Members<'k> {
        Members { at_most: sieve.at_most(), work: sieve.work(), source: Source::Sieve(Box::new(sieve)) }
    }

    /// How many members there may be.
    pub fn at_most(&self) -> u64 {
        self.at_most
    }

    /// Whether there are as many as there may be.
    fn is_one_set(&self) -> bool {
        self.work == self.at_most && !matches!(&self.source, Source::Merge(merge) if merge.is_of_many())
    }

    /// To be asked before the whole result is read: much work leaves the I/O thread.
    pub fn light(&self, env: &Env<'_>) -> Result<()> {
        env.move_if_heavy(usize::try_from(self.work).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)
    }

    /// The next member's sub-key. Leaves the I/O thread too where it has become much work to find it.
    pub fn next(&mut self, cx: &impl View) -> Result<Option<&[u8]>> {
        match &mut self.source {
            Source::Nothing => Ok(None),
            Source::Sieve(sieve) => sieve.next(cx),
            Source::Merge(merge) => merge.next(cx),
        }
    }
}
