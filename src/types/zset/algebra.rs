//! Unions, intersections and differences of sorted sets and sets.
//!
//! Elements of all collections are in the same order, that of their sub-keys, so the inputs are walked side by side:
//! memory is a step of rows for each. Where one is much smaller than another, its members are looked up there instead.
//! The results come in that order too, not by score. What stores them reads its inputs as [`crate::keyspace::WriteCx::sources`].

use super::{KIND, Scored};
use crate::encoding::collection::HASH_LEN;
use crate::encoding::meta::Kind;
use crate::encoding::zset::read_value;
use crate::error::{Error, Result};
use crate::keyspace::{Env, View, entry};
use crate::types::collection::{Collection, Element, Merge, Walk};
use crate::types::set;

/// From so many times the size of the walked input on, another one is asked for single members.
const PROBE_RATIO: u64 = 8;

/// What becomes of the scores that a member has in several inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
    /// How many inputs have it, whatever its scores there; weights count.
    Count,
}

impl Aggregate {
    /// What counts of a score.
    fn of(self, score: f64) -> f64 {
        if self == Aggregate::Count { 1.0 } else { score }
    }

    fn join(self, total: f64, score: f64) -> f64 {
        match self {
            // Infinities of both signs add up to nothing.
            Aggregate::Sum | Aggregate::Count => not_nan(total + score),
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
            Some(kind @ (set::KIND | KIND)) => Collection::of(cx, found, kind)?,
            Some(_) => return Err(Error::WrongType.into()),
        };
        Ok(Input { rows, weight: 1.0 })
    }

    fn size(&self) -> u64 {
        self.rows.as_ref().map_or(0, Collection::size)
    }
}

/// The score of an element; members of sets have 1.
fn score_of(kind: Kind, value: &[u8]) -> Result<f64> {
    if kind == set::KIND { Ok(1.0) } else { Ok(read_value(value)?) }
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

/// The members of a result, in the order of their sub-keys.
pub struct Members<'k> {
    source: Source<'k>,
    /// The sub-key of the member that is shown.
    sub: Vec<u8>,
    /// Rows walked and read.
    touched: usize,
}

enum Source<'k> {
    Nothing,
    Union(Union),
    Sieve(Box<Sieve<'k>>),
}

/// Members of any input.
struct Union {
    walks: Merge,
    /// Of each walk.
    kinds: Vec<(Kind, f64)>,
    aggregate: Aggregate,
}

/// Members of one input that all others have, or that none of them has.
struct Sieve<'k> {
    walk: Walk,
    kind: Kind,
    weight: f64,
    others: Vec<(Finder<'k>, f64)>,
    /// What becomes of the scores; None for a difference.
    aggregate: Option<Aggregate>,
}

/// Smallest first: the order in which scores are added counts where they are rounded, and this is Redis's.
fn by_size(inputs: &mut [Input<'_>]) {
    inputs.sort_by_key(Input::size);
}

/// Members of any input.
pub fn union<'k>(env: &Env<'_>, mut inputs: Vec<Input<'k>>, aggregate: Aggregate) -> Result<Members<'k>> {
    let rows = inputs.iter().map(Input::size).fold(0, u64::saturating_add);
    env.move_if_heavy(usize::try_from(rows).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
    by_size(&mut inputs);
    let (walks, kinds) = inputs
        .iter()
        .filter_map(|input| input.rows.as_ref().map(|rows| (rows.walk(), (rows.kind(), input.weight))))
        .unzip();
    Ok(Members::of(Source::Union(Union { walks: Merge::new(walks), kinds, aggregate })))
}

/// Members of every input.
pub fn intersection(mut inputs: Vec<Input<'_>>, aggregate: Aggregate) -> Members<'_> {
    by_size(&mut inputs);
    // The smallest comes first: nothing, if one of them is.
    sieve(inputs, Some(aggregate))
}

/// Members of the first input that are in no other.
pub fn difference(inputs: Vec<Input<'_>>) -> Members<'_> {
    sieve(inputs, None)
}

fn sieve(inputs: Vec<Input<'_>>, aggregate: Option<Aggregate>) -> Members<'_> {
    let mut inputs = inputs.into_iter();
    let Some((first, weight)) = inputs.next().and_then(|input| Some((input.rows?, input.weight))) else {
        return Members::of(Source::Nothing);
    };
    let beside = first.size();
    let others =
        inputs.filter_map(|input| input.rows.map(|rows| (Finder::new(rows, beside), input.weight))).collect();
    let sieve = Sieve { walk: first.walk(), kind: first.kind(), weight, others, aggregate };
    Members::of(Source::Sieve(Box::new(sieve)))
}

impl<'k> Members<'k> {
    fn of(source: Source<'k>) -> Members<'k> {
        Members { source, sub: Vec::new(), touched: 0 }
    }

    /// The next member. Leaves the I/O thread where it has become much work to find it.
    pub fn next(&mut self, cx: &mut impl View) -> Result<Option<Scored<'_>>> {
        let score = match &mut self.source {
            Source::Nothing => None,
            Source::Union(union) => union.next(cx, &mut self.sub)?,
            Source::Sieve(sieve) => sieve.next(cx, &mut self.sub, &mut self.touched)?,
        };
        Ok(score.map(|score| Scored { member: self.sub.get(HASH_LEN..).unwrap_or_default(), score }))
    }
}

impl Union {
    fn next(&mut self, cx: &impl View, sub: &mut Vec<u8>) -> Result<Option<f64>> {
        let Some((_, head)) = self.walks.peek(cx)? else { return Ok(None) };
        sub.clear();
        sub.extend_from_slice(head.sub);
        let mut total = None;
        while let Some((number, head)) = self.walks.peek(cx)?
            && head.sub == sub
        {
            let (kind, weight) = self.kinds.get(number).copied().unwrap_or((set::KIND, 1.0));
            let score = not_nan(weight * self.aggregate.of(score_of(kind, head.value)?));
            total = Some(total.map_or(score, |total| self.aggregate.join(total, score)));
            self.walks.skip(cx)?;
        }
        Ok(total)
    }
}

impl Sieve<'_> {
    fn next(&mut self, cx: &mut impl View, sub: &mut Vec<u8>, touched: &mut usize) -> Result<Option<f64>> {
        'members: while let Some(element) = self.walk.next(cx)? {
            sub.clear();
            sub.extend_from_slice(element.sub);
            let score = score_of(self.kind, element.value)?;
            // A difference leaves scores as they are.
            let weighed = |aggregate: Aggregate| not_nan(self.weight * aggregate.of(score));
            let mut total = self.aggregate.map_or(score, weighed);
            *touched += 1;
            cx.env().move_if_heavy(*touched, Env::IO_THREAD_MAX_ROWS)?;
            for (other, weight) in &mut self.others {
                *touched += 1;
                match (other.find(cx, sub)?, self.aggregate) {
                    (Found::Score(score), Some(aggregate)) => {
                        total = aggregate.join(total, *weight * aggregate.of(score));
                    }
                    (Found::Score(_), None) | (Found::Nothing, Some(_)) => continue 'members,
                    (Found::Nothing | Found::NothingBefore, None) => {}
                    (Found::NothingBefore, Some(_)) => {
                        // Nothing of this walk before the other's place can be in both.
                        let Finder::Walking(other, _) = other else { continue 'members };
                        let Some(head) = other.peek(cx)? else { return Ok(None) };
                        self.walk.seek(head.sub);
                        continue 'members;
                    }
                }
            }
            return Ok(Some(total));
        }
        Ok(None)
    }
}
