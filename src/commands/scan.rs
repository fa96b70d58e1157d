//! Walking the keyspace: KEYS, SCAN and RANDOMKEY.

pub mod elements;

use std::ops::ControlFlow;

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Keys, Spec, read};
use crate::error::{Error, Result};
use crate::glob;
use crate::keyspace::{Env, ReadCx, View as _, entry, scan as walk};
use crate::number;
use crate::reply::{Packer, Reply, Shape};

/// Keys that SCAN visits unless told otherwise.
const DEFAULT_COUNT: usize = 10;

pub const COMMANDS: &[Spec] = &[
    read("keys", Arity::Exactly(2), Keys::NONE, keys)
        .acl(&["keyspace", "dangerous"])
        .tips(&["request_policy:all_shards", "nondeterministic_output_order"])
        .since("1.0.0")
        .complexity(
            "O(N) where N is the number of keys of the database; O(1) for a pattern that is a plain name.",
        )
        .summary("Lists the keys that match a pattern, as of one moment."),
    read("scan", Arity::AtLeast(2), Keys::NONE, scan)
        .acl(&["keyspace"])
        .tips(&["nondeterministic_output", "request_policy:special"])
        .since("2.8.0")
        .complexity("O(1) for every call, O(N) for a walk over all N keys.")
        .summary("Walks the keys of the database in steps; what exists throughout is returned."),
    read("randomkey", Arity::Exactly(1), Keys::NONE, randomkey)
        .acl(&["keyspace"])
        .tips(&["request_policy:all_shards", "nondeterministic_output"])
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Picks a key at random."),
];

fn keys(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let pattern = args.next()?;
    if !glob::is_pattern(pattern) {
        let name = plain_name(pattern);
        let exists = entry::find(cx, &name)?.exists();
        return Ok(Reply::bulks(exists.then_some(name)));
    }
    // A walk over everything is for a worker and its snapshot.
    cx.env.move_if_heavy(usize::MAX, Env::IO_THREAD_MAX_ROWS)?;
    let wanted = Wanted { pattern: Some(pattern), kind: None };
    let (_, names) = gather(cx, |cx, names| {
        walk::every_key(cx, &mut |found| {
            names.add_if(&wanted, found);
            ControlFlow::Continue(())
        })
    })?;
    Ok(names)
}

/// A pattern without `*`, `?` and `[` matches one name: itself, escapes taken off.
fn plain_name(pattern: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        name.push(if byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte });
    }
    name
}

fn scan(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let cursor = cursor(args.next()?)?;
    let mut wanted = Wanted::default();
    let mut count = DEFAULT_COUNT;
    while !args.is_empty() {
        let has_value = args.left() >= 2;
        if has_value && args.keyword("count") {
            count = positive(args.int()?)?;
        } else if has_value && args.keyword("match") {
            wanted.pattern = Some(args.next()?);
        } else if has_value && args.keyword("type") {
            wanted.kind = Some(args.next()?);
        } else {
            return Err(Error::Syntax.into());
        }
    }
    cx.env.move_if_heavy(count, Env::IO_THREAD_MAX_ROWS)?;
    let (next, names) =
        gather(cx, |cx, names| walk::page(cx, cursor, count, &mut |found| names.add_if(&wanted, found)))?;
    Ok(Reply::Array(vec![Reply::bulk(next.to_string()), names]))
}

fn positive(count: i64) -> Result<usize> {
    usize::try_from(count).ok().filter(|count| *count > 0).ok_or_else(|| Error::Syntax.into())
}

/// As C's strtoul reads it: nothing is 0, a minus counts from the end, and a NUL ends the number.
pub fn cursor(word: &[u8]) -> Result<u64> {
    let invalid = || Error::reply("ERR invalid cursor");
    let text = word.split(|byte| *byte == 0).next().unwrap_or(&[]);
    if text.is_empty() {
        return Ok(0);
    }
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let cursor = number::parse_digits(digits).ok_or_else(invalid)?;
    Ok(if negative { cursor.wrapping_neg() } else { cursor })
}

fn randomkey(cx: &mut ReadCx<'_>, _: Args<'_>) -> Result<Reply> {
    let mut picked = None;
    walk::pick(cx, &mut |key| picked = Some(key.to_vec()))?;
    Ok(picked.map_or(Reply::Nil, Reply::bulk))
}

/// Which keys a walk is to return.
#[derive(Default)]
pub struct Wanted<'a> {
    pub pattern: Option<&'a [u8]>,
    /// The name of a type; one that does not exist is no error, nothing has it.
    pub kind: Option<&'a [u8]>,
}

impl Wanted<'_> {
    fn admits(&self, found: walk::Found<'_>) -> bool {
        self.pattern.is_none_or(|pattern| pattern == b"*" || glob::matches(pattern, found.key, false))
            && self.kind.is_none_or(|kind| kind.eq_ignore_ascii_case(found.type_name.as_bytes()))
    }
}

/// Names of keys on their way into a reply.
pub struct Names(Packer);

impl Names {
    pub fn add_if(&mut self, wanted: &Wanted<'_>, found: walk::Found<'_>) {
        if wanted.admits(found) {
            self.0.push(found.key);
        }
    }
}

/// Runs a walk that gathers names in the context's arena, which the walk itself does not use.
pub fn gather<'a, T>(
    cx: &mut ReadCx<'a>,
    walk: impl FnOnce(&mut ReadCx<'a>, &mut Names) -> Result<T>,
) -> Result<(T, Reply)> {
    let mut names = Names(Packer::begin(cx.arena()));
    let done = walk(cx, &mut names);
    let names = names.0.finish(cx.arena(), Shape::Array);
    done.map(|done| (done, names))
}

#[cfg(test)]
mod tests;
