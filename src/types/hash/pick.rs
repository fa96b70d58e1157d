//! Picking fields at random, each that has not expired with the same chance.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::read::{Field, Fields, Visit, live_size};
use crate::error::Result;
use crate::keyspace::{Env, View, draws};
use crate::types::collection::{Collection, Element, random};

/// Draws that meet a field whose time has come before all fields are walked instead.
const MAX_DRAWS: usize = 32;

/// How fields are picked at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    One,
    /// So many different ones, or all.
    Distinct(u64),
    /// So many, each from all.
    Repeated(u64),
}

/// Shows fields picked at random.
pub fn pick(cx: &impl View, all: &Collection<'_>, how: Pick, visit: Visit<'_>) -> Result<()> {
    let mut random = draws(cx.env().random);
    let live = live_size(cx, all)?;
    if live < all.size() {
        return among_due(cx, all, live, how, &mut random, visit);
    }
    let mut fields = Fields::new(cx, visit);
    let see = &mut |element: Element<'_>| {
        fields.see(element);
    };
    match how {
        Pick::One => random::one(cx, all, &mut random, see)?,
        Pick::Distinct(count) => random::distinct(cx, all, count, &mut random, see)?,
        Pick::Repeated(count) => random::repeated(cx, all, count, &mut random, see)?,
    }
    fields.end()
}

/// The same where some fields have expired and are still there: `live` is how many have not.
fn among_due(
    cx: &impl View,
    all: &Collection<'_>,
    live: u64,
    how: Pick,
    random: &mut impl Iterator<Item = u64>,
    visit: Visit<'_>,
) -> Result<()> {
    let count = match how {
        Pick::One => 1,
        Pick::Distinct(count) => count.min(live),
        Pick::Repeated(count) => count,
    };
    let rows = count.saturating_mul(MAX_DRAWS as u64);
    cx.env().move_if_heavy(usize::try_from(rows).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
    if let Pick::Distinct(_) = how
        && rows >= all.size()
    {
        return distinct(cx, all, (count, live), random, visit);
    }
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut shown = 0;
    while shown < count {
        one(cx, all, live, random, &mut |field| {
            if !matches!(how, Pick::Distinct(_)) || seen.insert(field.name.to_vec()) {
                shown += 1;
                visit(field);
            }
        })?;
    }
    Ok(())
}

fn one(
    cx: &impl View,
    all: &Collection<'_>,
    live: u64,
    random: &mut impl Iterator<Item = u64>,
    visit: Visit<'_>,
) -> Result<()> {
    let mut fields = Fields::new(cx, &mut *visit);
    let mut found = false;
    for _ in 0..MAX_DRAWS {
        random::one(cx, all, random, &mut |element| found = fields.see(element))?;
        if found {
            break;
        }
    }
    fields.end()?;
    if found {
        return Ok(());
    }
    distinct(cx, all, (1, live), random, visit)
}

/// Walks all fields; each is taken with the chance that as many as are wanted come from as many as are left.
fn distinct(
    cx: &impl View,
    all: &Collection<'_>,
    (mut wanted, mut left): (u64, u64),
    random: &mut impl Iterator<Item = u64>,
    visit: Visit<'_>,
) -> Result<()> {
    all.light(cx.env())?;
    let mut take = |field: Field<'_>| {
        let draw = random.next().unwrap_or_default();
        let below = ((u128::from(draw) * u128::from(left.max(1))) >> 64) as u64;
        if wanted >= left || below < wanted {
            wanted = wanted.saturating_sub(1);
            visit(field);
        }
        left = left.saturating_sub(1);
    };
    let mut fields = Fields::new(cx, &mut take);
    all.each(cx, &mut |element| {
        fields.see(element);
        ControlFlow::Continue(())
    })?;
    fields.end()
}
