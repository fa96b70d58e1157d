//! Keys by slot: how many there are, walking them with cursors that cluster clients can route, and removing them.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use super::{check_enabled, valid_slot};
use crate::commands::scan::{Wanted, gather};
use crate::commands::subcommand_syntax;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx, read_rows, write_key};
use crate::encoding::slot::{self, SLOTS};
use crate::error::{Error, Result};
use crate::keyspace::{Env, ReadCx, entry, scan};
use crate::node::Node;
use crate::number::{parse_digits, parse_i64};
use crate::reply::Reply;

/// Keys that one commit removes.
const BATCH: usize = 500;

const DEFAULT_COUNT: usize = 10;

fn slot(word: &[u8]) -> Result<u16> {
    let slot = parse_i64(word).and_then(valid_slot);
    slot.ok_or_else(|| Error::reply("ERR Invalid or out of range slot").into())
}

fn range(args: &mut Args<'_>) -> Result<RangeInclusive<u16>> {
    let (first, last) = (slot(args.next()?)?, slot(args.next()?)?);
    if first > last {
        let words = format!("ERR Start slot number {first} is greater than end slot number {last}");
        return Err(Error::reply(words).into());
    }
    Ok(first..=last)
}

/// What CLUSTER SLOT-STATS is asked.
struct Stats {
    slots: RangeInclusive<u16>,
    /// By their keys; most or fewest first.
    order: Option<Order>,
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Descending,
    Ascending,
}

pub fn slot_stats(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let stats = Stats::parse(args)?;
    Ok(Answer::reading(0, move |cx| {
        let mut counts: Vec<(u16, u64)> = stats.slots.clone().map(|slot| (slot, 0)).collect();
        let first = *stats.slots.start();
        scan::count_by_slot(cx, stats.slots.clone(), &mut |slot| {
            if let Some((_, count)) = counts.get_mut(usize::from(slot - first)) {
                *count += 1;
            }
        })?;
        match stats.order {
            None => {}
            Some(Order::Ascending) => counts.sort_by_key(|(_, count)| *count),
            Some(Order::Descending) => counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count)),
        }
        counts.truncate(stats.limit);
        let shown = counts.into_iter().map(|(slot, count)| {
            let stats = vec![(Reply::text("key-count"), Reply::Integer(count as i64))];
            Reply::Array(vec![Reply::Integer(slot.into()), Reply::Map(stats)])
        });
        Ok(Reply::Array(shown.collect()))
    }))
}

impl Stats {
    fn parse(mut args: Args<'_>) -> Result<Stats> {
        let refused = subcommand_syntax("CLUSTER", args);
        let all = usize::from(SLOTS);
        if args.left() == 3 && args.keyword("slotsrange") {
            return Ok(Stats { slots: range(&mut args)?, order: None, limit: all });
        }
        if args.left() < 2 || !args.keyword("orderby") {
            return Err(refused.into());
        }
        if !args.keyword("key-count") {
            return Err(Error::reply("ERR Unrecognized sort metric for ORDERBY.").into());
        }
        let (mut limit, mut order) = (None, None);
        while !args.is_empty() {
            let is_new = if args.left() > 1 && args.keyword("limit") {
                let given = parse_i64(args.next()?).and_then(|limit| usize::try_from(limit).ok());
                let given = given.filter(|limit| (1..=all).contains(limit));
                let given = given.ok_or_else(|| {
                    Error::reply("ERR Limit has to lie in between 1 and 16384 (maximum number of slots).")
                })?;
                limit.replace(given).is_none()
            } else if args.keyword("asc") {
                order.replace(Order::Ascending).is_none()
            } else if args.keyword("desc") {
                order.replace(Order::Descending).is_none()
            } else {
                return Err(Error::Syntax.into());
            };
            if !is_new {
                return Err(Error::reply("ERR Multiple filters of the same type are disallowed.").into());
            }
        }
        let order = Some(order.unwrap_or(Order::Descending));
        Ok(Stats { slots: 0..=SLOTS - 1, order, limit: limit.unwrap_or(all) })
    }
}

/// `SYNC` or `ASYNC`, which are the same here: nobody waits but who asked.
fn take_mode(args: &mut Args<'_>) -> Result<()> {
    if !args.keyword("sync") {
        args.keyword("async");
    }
    args.end()
}

pub fn flush_slot(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let slot = slot(args.next()?)?;
    take_mode(&mut args)?;
    Ok(Answer::Worker(Box::new(move |node| {
        remove_slots(node, slot..=slot)?;
        node.engine.flush()?;
        Ok(Reply::OK)
    })))
}

pub fn sflush(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    check_enabled(cx)?;
    let mut ranges = Vec::new();
    let mut seen = vec![false; usize::from(SLOTS)];
    while args.left() > 1 {
        let range = range(&mut args)?;
        for slot in range.clone() {
            let seen = seen.get_mut(usize::from(slot)).ok_or(Error::Syntax)?;
            if std::mem::replace(seen, true) {
                return Err(Error::reply(format!("ERR Slot {slot} specified multiple times")).into());
            }
        }
        ranges.push(range);
    }
    take_mode(&mut args)?;
    ranges.sort_unstable_by_key(|range| *range.start());
    Ok(Answer::Worker(Box::new(move |node| {
        for range in &ranges {
            remove_slots(node, range.clone())?;
        }
        node.engine.flush()?;
        let ends = |range: &RangeInclusive<u16>| {
            Reply::Array([range.start(), range.end()].map(|slot| Reply::Integer((*slot).into())).to_vec())
        };
        Ok(Reply::Array(ranges.iter().map(ends).collect()))
    })))
}

/// Removes the keys that are there when their turn comes, some with each commit.
fn remove_slots(node: &Arc<Node>, slots: RangeInclusive<u16>) -> Result<()> {
    for slot in slots {
        loop {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            read_rows(node, 0, |cx| scan::slot_keys(cx, slot, BATCH, &mut |key| keys.push(key.to_vec())))?;
            let Some(first) = keys.first() else { break };
            write_key(node, 0, first, |cx| {
                keys.iter().try_for_each(|key| {
                    let found = entry::find(cx, key)?;
                    entry::remove(cx, &found)
                })
            })?;
        }
    }
    Ok(())
}

/// Where CLUSTERSCAN goes on: a number that is always 0, a hash tag of the slot, and a cursor as SCAN's.
struct Place {
    slot: u16,
    cursor: u64,
}

impl Place {
    fn parse(word: &[u8]) -> Option<Place> {
        let mut parts = word.splitn(3, |byte| *byte == b'-');
        parse_digits(parts.next()?)?;
        let tag = parts.next()?.strip_prefix(b"{")?.strip_suffix(b"}")?;
        let cursor = parse_digits(parts.next()?)?;
        Some(Place { slot: slot::of(tag), cursor })
    }

    fn shown(&self) -> String {
        format!("0-{{{}}}-{}", tag_of(self.slot), self.cursor)
    }
}

/// A hash tag whose keys are in this slot.
fn tag_of(slot: u16) -> &'static str {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    static TAGS: OnceLock<Vec<String>> = OnceLock::new();
    let tags = TAGS.get_or_init(|| {
        let mut tags = vec![String::new(); usize::from(SLOTS)];
        let letters = || LETTERS.iter().map(|letter| char::from(*letter));
        for (a, b) in letters().flat_map(|a| letters().map(move |b| (a, b))) {
            for (c, d) in letters().flat_map(|c| letters().map(move |d| (c, d))) {
                let tag = String::from_iter([a, b, c, d]);
                if let Some(place) = tags.get_mut(usize::from(slot::of(tag.as_bytes()))) {
                    *place = tag;
                }
            }
        }
        tags
    });
    tags.get(usize::from(slot)).map_or("", String::as_str)
}

pub fn cluster_scan(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    if !cx.env.cluster_enabled {
        return Err(Error::reply("ERR This instance has cluster support disabled").into());
    }
    let word = args.next()?;
    let place = match word {
        b"0" => None,
        _ => Some(Place::parse(word).ok_or_else(|| Error::reply("ERR Invalid cursor"))?),
    };
    let (mut wanted, mut count, mut only) = (Wanted::default(), DEFAULT_COUNT, None);
    while !args.is_empty() {
        let has_value = args.left() > 1;
        if has_value && args.keyword("count") {
            count = usize::try_from(args.int()?).ok().filter(|count| *count > 0).ok_or(Error::Syntax)?;
        } else if has_value && args.keyword("match") {
            wanted.pattern = Some(args.next()?);
        } else if has_value && args.keyword("type") {
            wanted.kind = Some(args.next()?);
        } else if has_value && args.keyword("slot") {
            only = Some(slot(args.next()?)?);
        } else {
            return Err(Error::Syntax.into());
        }
    }
    let Some(place) = place else {
        // Nothing yet, but where to ask.
        let first = Place { slot: only.unwrap_or(0), cursor: 0 };
        return Ok(Reply::Array(vec![Reply::bulk(first.shown()), Reply::Array(Vec::new())]));
    };
    if only.is_some_and(|only| only != place.slot) {
        return Err(Error::reply("ERR Cursor slot mismatch with SLOT argument").into());
    }
    cx.env.move_if_heavy(count, Env::IO_THREAD_MAX_ROWS)?;
    let last = only.unwrap_or(SLOTS - 1);
    let (next, names) = gather(cx, |cx, names| {
        let from = scan::in_slot(place.slot, place.cursor);
        scan::page_until(cx, from, last, count, &mut |found| names.add_if(&wanted, found))
    })?;
    let next = match next {
        0 => "0".to_owned(),
        cursor => Place { slot: scan::slot_of(cursor), cursor }.shown(),
    };
    Ok(Reply::Array(vec![Reply::bulk(next), names]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_tag() {
        for slot in 0..SLOTS {
            let tag = tag_of(slot);
            assert!(!tag.is_empty() && slot::of(tag.as_bytes()) == slot, "{slot}");
        }
    }

    #[test]
    fn places_are_read_back() {
        let place = Place::parse(Place { slot: 77, cursor: 5 }.shown().as_bytes()).unwrap();
        assert_eq!((place.slot, place.cursor), (77, 5));
        for wrong in ["", "0-", "0-{a}", "0-a-0", "x-{a}-0", "0-{a}-x", "0-{a-0", "0-0"] {
            assert!(Place::parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
