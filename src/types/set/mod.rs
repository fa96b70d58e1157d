//! What a set is: members, each in a row of its own that holds nothing else.

pub mod algebra;
mod dump;
mod pop;
pub mod store;

use std::ops::ControlFlow;

pub use dump::DUMP;
pub use pop::{pop, pop_one};

use super::collection::{self, Collection, random};
use crate::encoding::meta::Kind;
use crate::error::Result;
use crate::keyspace::{Env, Event, View, WriteCx, draws};
use crate::number;

pub const KIND: Kind = Kind::Set;

/// Shows a member.
pub type Visit<'v> = &'v mut dyn FnMut(&[u8]);

/// The set that a key holds, for reading.
pub fn find<'k>(cx: &mut impl View, key: &'k [u8]) -> Result<Option<Collection<'k>>> {
    Collection::find(cx, key, KIND)
}

/// Adds members and returns how many of them are new.
pub fn add<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    members: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Result<u64> {
    cx.env.move_if_heavy(members.len(), Env::IO_THREAD_MAX_ROWS)?;
    let mut all = Collection::open_or_create(cx, key, KIND)?;
    let before = all.size();
    for member in members {
        if all.insert(cx, member)? {
            note_kind(&mut all, member);
        }
    }
    all.save(cx)?;
    if all.size() > before {
        cx.notify(Event::SADD, key);
    }
    Ok(all.size() - before)
}

/// Redis's compact form holds integers only.
#[inline]
fn note_kind(all: &mut Collection<'_>, member: &[u8]) {
    if !all.has_grown() && number::parse_i64(member).is_none() {
        all.grow();
    }
}

/// Removes members and returns how many were there.
pub fn remove<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    members: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Result<u64> {
    let count = collection::delete_each(cx, key, KIND, members, &mut |_| {})?;
    if count > 0 {
        cx.notify(Event::SREM, key);
    }
    Ok(count)
}

/// Moves a member from one set to another; whether it was there.
pub fn move_member(cx: &mut WriteCx<'_>, from: &[u8], to: &[u8], member: &[u8]) -> Result<bool> {
    let Some(mut source) = Collection::open(cx, from, KIND)? else { return Ok(false) };
    if from == to {
        return source.has(cx, member);
    }
    let mut target = Collection::open_or_create(cx, to, KIND)?;
    if !source.delete(cx, member)? {
        return Ok(false);
    }
    source.save(cx)?;
    cx.notify(Event::SREM, from);
    if target.insert(cx, member)? {
        note_kind(&mut target, member);
        target.save(cx)?;
        cx.notify(Event::SADD, to);
    }
    Ok(true)
}

pub fn has(cx: &mut impl View, key: &[u8], member: &[u8]) -> Result<bool> {
    find(cx, key)?.map_or(Ok(false), |mut all| all.has(cx, member))
}

/// Tells of each member whether it is there, in order.
pub fn has_each<'a>(
    cx: &mut impl View,
    key: &[u8],
    members: impl ExactSizeIterator<Item = &'a [u8]>,
    each: &mut dyn FnMut(bool),
) -> Result<()> {
    cx.env().move_if_heavy(members.len(), Env::IO_THREAD_MAX_ROWS)?;
    match find(cx, key)? {
        Some(mut all) => all.get_each(cx, members, &mut |found| each(found.is_some())),
        None => {
            members.for_each(|_| each(false));
            Ok(())
        }
    }
}

pub fn len(cx: &mut impl View, key: &[u8]) -> Result<u64> {
    Ok(find(cx, key)?.map_or(0, |all| all.size()))
}

/// Shows every member.
pub fn each(cx: &impl View, all: &Collection<'_>, visit: Visit<'_>) -> Result<()> {
    all.light(cx.env())?;
    all.each(cx, &mut |element| {
        visit(element.member());
        ControlFlow::Continue(())
    })
}

/// How members are picked at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    One,
    /// So many different ones, or all.
    Distinct(u64),
    /// So many, each from all.
    Repeated(u64),
}

/// Shows members picked at random.
pub fn pick(cx: &impl View, all: &Collection<'_>, how: Pick, visit: Visit<'_>) -> Result<()> {
    let mut random = draws(cx.env().random);
    match how {
        Pick::One => random::one(cx, all, &mut random, &mut |element| visit(element.member())),
        Pick::Distinct(count) => {
            random::distinct(cx, all, count, &mut random, &mut |element| visit(element.member()))
        }
        Pick::Repeated(count) => {
            random::repeated(cx, all, count, &mut random, &mut |element| visit(element.member()))
        }
    }
}
