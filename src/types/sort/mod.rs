//! SORT: the elements of a list, set or sorted set in an order of their own, of the keys that they name, or of none.
//!
//! The keys that BY and GET lead to follow from the elements, so nobody can lock them before. They are read as they
//! were committed last at the moment of reading; where the command runs over a snapshot, as of that one moment.
//!
//! Memory holds the elements of the result, not those of the input.

mod chosen;
mod pattern;

#[cfg(test)]
mod tests;

use std::ops::Range;

use tarn_engine::Direction;

pub use pattern::Pattern;

use self::chosen::{Chosen, Weight};
use super::collection::{Collection, MAX_STEP_BYTES, MAX_STEP_ROWS, Walk};
use super::list::{self, End, List};
use super::strings::Strings;
use super::{set, zset};
use crate::encoding::SCORE;
use crate::encoding::collection::HASH_LEN;
use crate::error::{Error, Result};
use crate::keyspace::{Env, View, entry};
use crate::number::double;

/// What elements are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    Element,
    Pattern(Pattern<'a>),
    /// They stay in the order that they have: of places, of scores, of a set's rows.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub by: By<'a>,
    /// As texts, not as numbers.
    pub alpha: bool,
    pub descending: bool,
    /// How many of the result to leave out, and how many to take; a negative count takes all.
    pub offset: i64,
    pub count: i64,
    /// The result is to be stored: its order must not depend on how a set is kept.
    pub is_stored: bool,
}

impl Request<'_> {
    /// The ranks of the result among `len` elements.
    fn ranks(&self, len: u64) -> Range<u64> {
        let start = u64::try_from(self.offset).unwrap_or(0).min(len);
        let end = u64::try_from(self.count).map_or(len, |count| start.saturating_add(count).min(len));
        start..end
    }
}

/// The elements that the key holds, as requested. `values` is how many values each of them will be looked up for after this.
pub fn sort(cx: &mut impl View, key: &[u8], request: &Request<'_>, values: usize) -> Result<Strings> {
    let found = entry::find_counted(cx, key)?;
    let Some(meta) = found.live() else { return Ok(Strings::default()) };
    let kind = meta.header.kind;
    let mut request = *request;
    if kind == set::KIND && request.by == By::Nothing && request.is_stored {
        request.by = By::Element;
        request.alpha = true;
    }
    let (source, len) = match kind {
        list::KIND => {
            let list = List::of_entry(cx, found)?.ok_or(Error::NoSuchKey)?;
            let len = list.len();
            (Source::List { list, left: 0..len, from: End::Left }, len)
        }
        set::KIND | zset::KIND => {
            let all = Collection::of(cx, found, kind)?.ok_or(Error::NoSuchKey)?;
            (Source::Rows(rows(&all, &request)), all.size())
        }
        _ => return Err(Error::WrongType.into()),
    };
    let ranks = request.ranks(len);
    let reads = match request.by {
        By::Nothing => ranks.end,
        By::Element => len,
        By::Pattern(_) => len.saturating_mul(2),
    };
    let reads = reads.saturating_add((ranks.end - ranks.start).saturating_mul(values as u64));
    cx.env().move_if_heavy(usize::try_from(reads).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
    match request.by {
        By::Nothing => source.part(cx, ranks, request.descending),
        By::Element | By::Pattern(_) => sorted(cx, source, &request, ranks),
    }
}

/// The rows of a set or a sorted set, in the order that the request asks for if it is to be theirs.
fn rows(all: &Collection<'_>, request: &Request<'_>) -> Walk {
    if all.kind() != zset::KIND || request.by != By::Nothing {
        return all.walk().whole();
    }
    let (start, end) = all.bounds();
    let direction = if request.descending { Direction::Backward } else { Direction::Forward };
    Walk::over(SCORE, all.prefix().len(), start, end, direction).whole()
}

fn sorted(
    cx: &mut impl View,
    mut source: Source<'_>,
    request: &Request<'_>,
    ranks: Range<u64>,
) -> Result<Strings> {
    let wanted = usize::try_from(ranks.end).unwrap_or(usize::MAX);
    let wanted = if ranks.is_empty() { 0 } else { wanted };
    let mut chosen = Chosen::new(wanted, request.descending);
    let mut step = Strings::default();
    while source.read(cx, &mut step)? {
        match request.by {
            By::Pattern(pattern) => {
                let mut number = 0;
                pattern.look_up(cx, step.iter(), &mut |value| {
                    chosen.add(step.get(number), weight(value, request.alpha)?);
                    number += 1;
                    Ok(())
                })?;
            }
            By::Element | By::Nothing => {
                for element in step.iter() {
                    chosen.add(element, weight(Some(element), request.alpha)?);
                }
            }
        }
    }
    Ok(chosen.finish(ranks.start as usize))
}

/// What is not there weighs nothing, or stands before all texts.
fn weight(value: Option<&[u8]>, alpha: bool) -> Result<Weight<'_>> {
    match value {
        Some(text) if alpha => Ok(Weight::Text(text)),
        None if alpha => Ok(Weight::Missing),
        Some(text) => double::parse_weight(text)
            .map(Weight::Score)
            .ok_or_else(|| Error::reply("ERR One or more scores can't be converted into double").into()),
        None => Ok(Weight::Score(0.0)),
    }
}

/// How many elements' values are looked up at a time.
const STEP: usize = MAX_STEP_ROWS;

/// The elements in steps, for [`each_value`].
pub fn steps(elements: &Strings) -> impl Iterator<Item = Range<usize>> {
    let len = elements.len();
    (0..len).step_by(STEP).map(move |start| start..len.min(start + STEP))
}

/// Shows what the patterns lead to from each element of a step, element by element; each element itself where there are no
/// patterns.
pub fn each_value(
    cx: &mut impl View,
    elements: &Strings,
    step: Range<usize>,
    patterns: &[Pattern<'_>],
    show: &mut dyn FnMut(Option<&[u8]>),
) -> Result<()> {
    if patterns.is_empty() {
        step.for_each(|n| show(Some(elements.get(n))));
        return Ok(());
    }
    // By pattern: the values and whether there are any.
    let mut values: Vec<(Strings, Vec<bool>)> = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        let (mut found, mut there) = (Strings::default(), Vec::new());
        pattern.look_up(cx, step.clone().map(|n| elements.get(n)), &mut |value| {
            found.push(value.unwrap_or_default());
            there.push(value.is_some());
            Ok(())
        })?;
        values.push((found, there));
    }
    for n in 0..step.len() {
        for (found, there) in &values {
            show(there.get(n).is_some_and(|there| *there).then(|| found.get(n)));
        }
    }
    Ok(())
}

/// Where elements come from, a step at a time.
enum Source<'k> {
    List {
        list: List<'k>,
        left: Range<u64>,
        from: End,
    },
    /// Each behind its hash or its score, both of the same length.
    Rows(Walk),
}

impl Source<'_> {
    /// Reads the next elements; false when there are no more.
    fn read(&mut self, cx: &impl View, step: &mut Strings) -> Result<bool> {
        step.clear();
        match self {
            Source::List { list, left, from } => list.read_step(cx, left, *from, step)?,
            Source::Rows(walk) => {
                while step.len() < MAX_STEP_ROWS && step.bytes() < MAX_STEP_BYTES {
                    let Some(element) = walk.next(cx)? else { break };
                    step.push(element.sub.get(HASH_LEN..).unwrap_or_default());
                }
            }
        }
        Ok(!step.is_empty())
    }

    /// The elements of these ranks, in the order that they have.
    fn part(mut self, cx: &impl View, ranks: Range<u64>, descending: bool) -> Result<Strings> {
        let mut skipped = ranks.start;
        if let Source::List { left, from, .. } = &mut self {
            let len = left.end;
            // Backwards from the last one.
            (*left, *from) = match descending {
                false => (ranks.clone(), End::Left),
                true => (len - ranks.end..len - ranks.start, End::Right),
            };
            skipped = 0;
        }
        let wanted = (ranks.end - ranks.start) as usize;
        let (mut found, mut step) = (Strings::default(), Strings::default());
        while found.len() < wanted && self.read(cx, &mut step)? {
            for element in step.iter() {
                if skipped > 0 {
                    skipped -= 1;
                } else if found.len() < wanted {
                    found.push(element);
                }
            }
        }
        Ok(found)
    }
}
