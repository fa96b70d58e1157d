//! Taking members out at random.

use super::{KIND, Visit, each, note_kind};
use crate::encoding::collection::HASH_LEN;
use crate::encoding::rows::RowKey;
use crate::error::Result;
use crate::keyspace::{Event, View as _, WriteCx, draws, entry};
use crate::reply::Span;
use crate::types::collection::{Collection, random};

/// What stays is written anew where so many times as much goes: that is less to write than to remove the rest. Redis
/// does so too, and with it the set may come back to its compact form.
const FEW_STAY: u64 = 5;

/// Takes one member out, into the arena.
pub fn pop_one(cx: &mut WriteCx<'_>, key: &[u8]) -> Result<Option<Span>> {
    let Some(mut all) = Collection::open(cx, key, KIND)? else { return Ok(None) };
    let mut picked = RowKey::new();
    random::one(cx, &all, &mut draws(cx.env.random), &mut |element| {
        picked.extend_from_slice(element.member())
    })?;
    all.delete_known(cx, &picked);
    all.save(cx)?;
    cx.notify(Event::SPOP, key);
    Ok(Some(cx.keep(&picked)))
}

/// Takes `count` members out, or all there are, and shows them.
pub fn pop(cx: &mut WriteCx<'_>, key: &[u8], count: u64, visit: Visit<'_>) -> Result<()> {
    let Some(mut all) = Collection::open(cx, key, KIND)? else { return Ok(()) };
    if count == 0 {
        return Ok(());
    }
    take(cx, &mut all, count, visit)?;
    cx.notify(Event::SPOP, key);
    Ok(())
}

fn take(cx: &mut WriteCx<'_>, all: &mut Collection<'_>, count: u64, visit: Visit<'_>) -> Result<()> {
    if count >= all.size() {
        each(cx, all, visit)?;
        return entry::remove(cx, &all.entry);
    }
    let stay = all.size() - count;
    if stay.saturating_mul(FEW_STAY) <= count {
        return keep(cx, all, stay, visit);
    }
    let picked = Picked::draw(cx, all, count)?;
    for sub in picked.iter() {
        let member = sub.get(HASH_LEN..).unwrap_or_default();
        all.delete_known(cx, member);
        visit(member);
    }
    all.save(cx)
}

/// Shows all members but a few, which become the whole set.
fn keep(cx: &mut WriteCx<'_>, all: &Collection<'_>, count: u64, visit: Visit<'_>) -> Result<()> {
    all.light(&cx.env)?;
    let mut kept = Picked::draw(cx, all, count)?;
    kept.sort();
    let mut left = kept.iter().peekable();
    all.each(cx, &mut |element| {
        if left.next_if_eq(&element.sub).is_none() {
            visit(element.member());
        }
        std::ops::ControlFlow::Continue(())
    })?;
    let mut few = Collection::create(cx, all.entry.clone(), KIND)?;
    for sub in kept.iter() {
        let member = sub.get(HASH_LEN..).unwrap_or_default();
        few.put_known(cx, member, &[], true);
        note_kind(&mut few, member);
    }
    few.save(cx)
}

/// Sub-keys, one behind the other.
struct Picked {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Picked {
    fn draw(cx: &WriteCx<'_>, all: &Collection<'_>, count: u64) -> Result<Picked> {
        let mut picked = Picked { bytes: Vec::new(), places: Vec::new() };
        random::distinct(cx, all, count, &mut draws(cx.env.random), &mut |element| {
            let start = picked.bytes.len();
            picked.bytes.extend_from_slice(element.sub);
            picked.places.push((start, picked.bytes.len()));
        })?;
        Ok(picked)
    }

    fn sort(&mut self) {
        let Picked { bytes, places } = self;
        places.sort_unstable_by_key(|(start, end)| bytes.get(*start..*end).unwrap_or_default());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|(start, end)| self.bytes.get(*start..*end).unwrap_or_default())
    }
}
