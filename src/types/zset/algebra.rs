//! Unions, intersections and differences of sorted sets and sets.
//!
//! Elements of all collections are in the same order, that of their sub-keys, so the inputs are walked side by side:
//! memory is a step of rows for each. Where one is much smaller than another, its members are looked up there instead.
//! The results come in that order too, not by score.

use std::ops::ControlFlow;

use super::Scored;
use crate::encoding::collection::HASH_LEN;
use crate::encoding::meta::Kind;
use crate::encoding::zset::read_value;
use crate::error::{Error, Result};
use crate::keyspace::{Env, View, entry};
use crate::types::collection::{Collection, Element, Walk};

/// From so many times the size of the walked input on, another one is asked for single members.
const PROBE_RATIO: u64 = 8;

/// What becomes of the scores that a member has in several inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn join(self, total: f64, score: f64) -> f64 {
        match self {
            // Infinities of both signs add up to nothing.
            Aggregate::Sum => not_nan(total + score),
            Aggregate::Min if score < total => score,
            Aggregate::Max if score > total => score,
            Aggregate::Min | Aggregate::Max => total,
        }
    }
}

fn not_nan(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// One of the keys that are combined.
#[derive(Debug, Clone)]
pub struct Input<'k> {
    rows: Option<Collection<'k>>,
    pub weight: f64,
}

impl<'k> Input<'k> {
    /// A sorted set, a set, or nothing.
    pub fn find(cx: &mut impl View, key: &'k [u8]) -> Result<Input<'k>> {
        let found = entry::find_counted(cx, key)?;
        let rows = match found.live().map(|meta| meta.header.kind) {
            None => None,
            Some(kind @ (Kind::Set | Kind::SortedSet)) => Collection::of(cx, found, kind)?,
            Some(_) => return Err(Error::WrongType),
        };
        Ok(Input { rows, weight: 1.0 })
    }

    fn size(&self) -> u64 {
        self.rows.as_ref().map_or(0, Collection::size)
    }
}

/// The score of an element; members of sets have 1.
fn score_of(kind: Kind, value: &[u8]) -> Result<f64> {
    if kind == Kind::Set { Ok(1.0) } else { Ok(read_value(value)?) }
}

/// How members are looked for in an input.
enum Finder<'k> {
    Walking(Walk, Kind),
    Probing(Collection<'k>),
}

/// What a finder knows of a sub-key.
enum Found {
    Score(f64),
    Nothing,
    /// Nothing, nor anything before the place where the walk stands now.
    NothingBefore,
}

impl<'k> Finder<'k> {
    fn new(rows: Collection<'k>, beside: u64) -> Finder<'k> {
        if rows.size() / PROBE_RATIO > beside {
            Finder::Probing(rows)
        } else {
            Finder::Walking(rows.walk(), rows.kind())
        }
    }

    fn find(&mut self, cx: &mut impl View, sub: &[u8]) -> Result<Found> {
        match self {
            Finder::Walking(walk, kind) => {
                walk.seek(sub);
                match walk.peek(cx)? {
                    Some(Element { sub: at, value }) if at == sub => {
                        Ok(Found::Score(score_of(*kind, value)?))
                    }
                    _ => Ok(Found::NothingBefore),
                }
            }
            Finder::Probing(rows) => {
                let mark = cx.arena().len();
                let kind = rows.kind();
                let member = sub.get(HASH_LEN..).unwrap_or_default();
                let Some(value) = rows.get(cx, member)? else { return Ok(Found::Nothing) };
                let score = score_of(kind, cx.bytes(value))?;
                cx.arena().truncate(mark);
                Ok(Found::Score(score))
            }
        }
    }
}

/// Is given each member of a result, with the context, and may break.
pub type Each<'e, C> = &'e mut dyn FnMut(&mut C, Scored<'_>) -> Result<ControlFlow<()>>;

/// Smallest first: the order in which scores are added counts where they are rounded, and this is Redis's.
fn by_size(inputs: &mut [Input<'_>]) {
    inputs.sort_by_key(Input::size);
}

/// Members of any input.
pub fn union<C: View>(
    cx: &mut C,
    mut inputs: Vec<Input<'_>>,
    aggregate: Aggregate,
    each: Each<'_, C>,
) -> Result<()> {
    let rows = inputs.iter().map(Input::size).fold(0, u64::saturating_add);
    cx.env().light_or_offload(usize::try_from(rows).unwrap_or(usize::MAX), Env::LIGHT_ROWS)?;
    by_size(&mut inputs);
    let mut walks: Vec<(Walk, Kind, f64)> = inputs
        .iter()
        .filter_map(|input| input.rows.as_ref().map(|rows| (rows.walk(), rows.kind(), input.weight)))
        .collect();
    let mut least: Vec<u8> = Vec::new();
    loop {
        let mut some = false;
        for (walk, ..) in &mut walks {
            if let Some(head) = walk.peek(cx)?
                && (!some || head.sub < least.as_slice())
            {
                some = true;
                least.clear();
                least.extend_from_slice(head.sub);
            }
        }
        if !some {
            return Ok(());
        }
        let mut total = None;
        for (walk, kind, weight) in &mut walks {
            let Some(head) = walk.peek(cx)?.filter(|head| head.sub == least) else { continue };
            let score = not_nan(*weight * score_of(*kind, head.value)?);
            total = Some(total.map_or(score, |total| aggregate.join(total, score)));
            walk.skip();
        }
        let member = least.get(HASH_LEN..).unwrap_or_default();
        if each(cx, Scored { member, score: total.unwrap_or_default() })?.is_break() {
            return Ok(());
        }
    }
}

/// Members of every input.
pub fn intersection<C: View>(
    cx: &mut C,
    mut inputs: Vec<Input<'_>>,
    aggregate: Aggregate,
    each: Each<'_, C>,
) -> Result<()> {
    by_size(&mut inputs);
    let mut inputs = inputs.into_iter();
    let Some((smallest, weight)) = inputs.next().and_then(|input| Some((input.rows?, input.weight))) else {
        return Ok(());
    };
    let beside = smallest.size();
    let mut others: Vec<(Finder<'_>, f64)> =
        inputs.filter_map(|input| input.rows.map(|rows| (Finder::new(rows, beside), input.weight))).collect();
    let (mut walk, kind) = (smallest.walk(), smallest.kind());
    let mut touched = 0;
    let mut sub: Vec<u8> = Vec::new();
    'members: while let Some(element) = walk.next(cx)? {
        sub.clear();
        sub.extend_from_slice(element.sub);
        let mut total = not_nan(weight * score_of(kind, element.value)?);
        touched += 1;
        for (other, weight) in &mut others {
            touched += 1;
            cx.env().light_or_offload(touched, Env::LIGHT_ROWS)?;
            match other.find(cx, &sub)? {
                Found::Score(score) => total = aggregate.join(total, *weight * score),
                Found::Nothing => continue 'members,
                Found::NothingBefore => {
                    // Nothing of this walk before the other's place can be in both.
                    let Finder::Walking(other, _) = other else { continue 'members };
                    let Some(head) = other.peek(cx)? else { return Ok(()) };
                    walk.seek(head.sub);
                    continue 'members;
                }
            }
        }
        let member = sub.get(HASH_LEN..).unwrap_or_default();
        if each(cx, Scored { member, score: total })?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Members of the first input that are in no other.
pub fn difference<C: View>(cx: &mut C, inputs: Vec<Input<'_>>, each: Each<'_, C>) -> Result<()> {
    let mut inputs = inputs.into_iter();
    let Some(first) = inputs.next().and_then(|input| input.rows) else { return Ok(()) };
    let beside = first.size();
    let mut others: Vec<Finder<'_>> =
        inputs.filter_map(|input| input.rows).map(|rows| Finder::new(rows, beside)).collect();
    let (mut walk, kind) = (first.walk(), first.kind());
    let mut touched = 0;
    let mut sub: Vec<u8> = Vec::new();
    'members: while let Some(element) = walk.next(cx)? {
        sub.clear();
        sub.extend_from_slice(element.sub);
        let score = score_of(kind, element.value)?;
        touched += 1 + others.len();
        cx.env().light_or_offload(touched, Env::LIGHT_ROWS)?;
        for other in &mut others {
            if let Found::Score(_) = other.find(cx, &sub)? {
                continue 'members;
            }
        }
        let member = sub.get(HASH_LEN..).unwrap_or_default();
        if each(cx, Scored { member, score })?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}
