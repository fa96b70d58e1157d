//! XINFO: what is known of a stream, its groups and their consumers.

use std::ops::ControlFlow;

use super::{id_reply, no_group_of_key, push_entry};
use crate::commands::help::help;
use crate::commands::subcommand_syntax;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group as Family, Keys, ReadFn, Spec, read, session};
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View as _};
use crate::reply::{Packer, Reply, Shape};
use crate::types::stream::{Consumer, Direction, Group, GroupState, Id, Ids, Pending, Stream};

const fn about(name: &'static str, arity: Arity, run: ReadFn) -> Spec {
    read(name, arity, Keys::at(2, super::READ), run).group(Family::Stream).since("5.0.0")
}

pub const SUBCOMMANDS: &[Spec] = &[
    about("consumers", Arity::Exactly(4), consumers)
        .tips(super::VARIES)
        .complexity("O(N) where N is the number of consumers.")
        .summary("Lists the consumers of a group."),
    about("groups", Arity::Exactly(3), groups)
        .complexity("O(N) where N is the number of groups.")
        .summary("Lists the consumer groups of a stream."),
    session("help", Arity::Exactly(2), help_text)
        .group(Family::Stream)
        .flags(Flags::LOADING.or(Flags::STALE))
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Describes the subcommands."),
    about("stream", Arity::AtLeast(3), stream)
        .complexity("O(1); with FULL, O(N) where N is what is returned.")
        .summary("Tells what is known of a stream."),
];

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "CONSUMERS <key> <groupname>",
            "    Lists the consumers of a group.",
            "GROUPS <key>",
            "    Lists the groups of a stream.",
            "STREAM <key> [FULL [COUNT <count>]]",
            "    Tells what is known of a stream.",
        ],
    ))
}

/// Entries, and pending ones, that FULL shows of each where nothing else is said.
const DEFAULT_COUNT: u64 = 10;

fn number(name: &'static str, number: u64) -> (Reply, Reply) {
    (Reply::text(name), Reply::Integer(number as i64))
}

fn id(name: &'static str, id: Id) -> (Reply, Reply) {
    (Reply::text(name), id_reply(id))
}

fn maybe(name: &'static str, number: Option<i64>) -> (Reply, Reply) {
    (Reply::text(name), number.map_or(Reply::Nil, Reply::Integer))
}

fn find<'k>(cx: &mut ReadCx<'_>, key: &'k [u8]) -> Result<Stream<'k>> {
    Stream::find(cx, key)?.ok_or_else(|| Error::NoSuchKey.into())
}

fn stream(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let stream = find(cx, args.key()?)?;
    let refused = subcommand_syntax("XINFO", args);
    let full = match args.left() {
        0 => None,
        1 if args.keyword("FULL") => Some(DEFAULT_COUNT),
        3 if args.keyword("FULL") && args.keyword("COUNT") => {
            Some(u64::try_from(args.int()?).unwrap_or(DEFAULT_COUNT))
        }
        _ => return Err(refused.into()),
    };
    let state = stream.state;
    let (keys, nodes) = radix_tree(stream.len(), cx.env.limits.stream_node_entries as u64);
    let mut map = vec![
        number("length", stream.len()),
        number("radix-tree-keys", keys),
        number("radix-tree-nodes", nodes),
        id("last-generated-id", state.last),
        id("max-deleted-entry-id", state.max_deleted),
        number("entries-added", state.added),
        id("recorded-first-entry-id", state.first),
    ];
    let producers = stream.known_producers(&cx.env);
    map.extend([
        number("idmp-duration", producers.duration_s.into()),
        number("idmp-maxsize", producers.limit.into()),
        number("pids-tracked", producers.producers),
        number("iids-tracked", producers.records),
        number("iids-added", producers.added),
        number("iids-duplicates", producers.duplicates),
    ]);
    match full {
        None => {
            map.push(number("groups", state.groups));
            map.push((Reply::text("first-entry"), edge(cx, &stream, Direction::Forward)?));
            map.push((Reply::text("last-entry"), edge(cx, &stream, Direction::Backward)?));
        }
        Some(count) => {
            // 0 is all.
            let count = if count == 0 { u64::MAX } else { count };
            let mut packer = Packer::begin(cx.arena());
            stream.each(cx, ALL, Direction::Forward, count, &mut |id, strings| {
                push_entry(&mut packer, id, strings);
                ControlFlow::Continue(())
            })?;
            map.push((Reply::text("entries"), packer.finish(cx.arena(), Shape::Array)));
            let groups = stream.groups(cx)?;
            let groups = groups.iter().map(|(name, group)| full_group(cx, &stream, (name, *group), count));
            map.push((Reply::text("groups"), Reply::Array(groups.collect::<Result<_>>()?)));
        }
    }
    Ok(Reply::Map(map))
}

const ALL: Ids = Ids { first: Id::MIN, last: Id::MAX };

/// What Redis's tree would count for so many small entries, added one behind the other and never deleted.
fn radix_tree(entries: u64, node_entries: u64) -> (u64, u64) {
    let keys = if node_entries == 0 { entries.min(1) } else { entries.div_ceil(node_entries) };
    match keys {
        0 => (0, 1),
        1 => (1, 2),
        // What the keys have in common, where they part, and the rest of each.
        _ => (keys, 2 + 2 * keys),
    }
}

/// The first or the last entry.
fn edge(cx: &mut ReadCx<'_>, stream: &Stream<'_>, direction: Direction) -> Result<Reply> {
    let mut found = Reply::Nil;
    stream.each(cx, ALL, direction, 1, &mut |id, strings| {
        let strings = Reply::Array(strings.map(Reply::bulk).collect());
        found = Reply::Array(vec![id_reply(id), strings]);
        ControlFlow::Break(())
    })?;
    Ok(found)
}

fn full_group(
    cx: &mut ReadCx<'_>,
    stream: &Stream<'_>,
    (name, state): (&[u8], GroupState),
    count: u64,
) -> Result<Reply> {
    let mut group = stream.open_group(name, state);
    let mut pending = Vec::new();
    let mut walk = group.walk_pending(Id::MIN, Id::MAX);
    while (pending.len() as u64) < count
        && let Some(element) = walk.next(cx)?
    {
        let (id, entry) = (Id::decode(element.sub)?, Pending::decode(element.value)?);
        let owner = group.owner(cx, &entry)?;
        pending.push(Reply::Array(vec![
            id_reply(id),
            Reply::bulk(owner),
            Reply::Integer(entry.delivered_ms as i64),
            Reply::Integer(entry.deliveries as i64),
        ]));
    }
    let mut consumers = Vec::new();
    for number in group.numbers(cx)? {
        let consumer = group.consumer(cx, number)?.clone();
        consumers.push(full_consumer(cx, &group, number, &consumer, count)?);
    }
    Ok(Reply::Map(vec![
        (Reply::text("name"), Reply::bulk(name)),
        id("last-delivered-id", state.last),
        maybe("entries-read", state.read.map(|read| read as i64)),
        maybe("lag", stream.lag(&state)),
        number("pel-count", state.pending),
        (Reply::text("pending"), Reply::Array(pending)),
        (Reply::text("consumers"), Reply::Array(consumers)),
    ]))
}

fn full_consumer(
    cx: &mut ReadCx<'_>,
    group: &Group<'_>,
    consumer_number: u64,
    consumer: &Consumer,
    count: u64,
) -> Result<Reply> {
    let mut pending = Vec::new();
    let mut walk = group.owned(consumer_number, Id::MIN, Id::MAX);
    while (pending.len() as u64) < count
        && let Some(element) = walk.next(cx)?
    {
        let id = Id::decode(element.sub)?;
        let entry = group.pending(cx, id)?.ok_or(Error::Damaged("a pending entry"))?;
        pending.push(Reply::Array(vec![
            id_reply(id),
            Reply::Integer(entry.delivered_ms as i64),
            Reply::Integer(entry.deliveries as i64),
        ]));
    }
    Ok(Reply::Map(vec![
        (Reply::text("name"), Reply::bulk(&*consumer.name)),
        number("seen-time", consumer.state.seen_ms),
        (Reply::text("active-time"), Reply::Integer(active_ms(consumer).unwrap_or(-1))),
        number("pel-count", consumer.state.pending),
        (Reply::text("pending"), Reply::Array(pending)),
    ]))
}

/// When it was given something last.
fn active_ms(consumer: &Consumer) -> Option<i64> {
    Some(consumer.state.active_ms as i64).filter(|ms| *ms != 0)
}

fn groups(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let stream = find(cx, args.key()?)?;
    let groups = stream.groups(cx)?;
    let described = groups.iter().map(|(name, state)| {
        Reply::Map(vec![
            (Reply::text("name"), Reply::bulk(name.as_slice())),
            number("consumers", state.consumers),
            number("pending", state.pending),
            id("last-delivered-id", state.last),
            maybe("entries-read", state.read.map(|read| read as i64)),
            maybe("lag", stream.lag(state)),
        ])
    });
    Ok(Reply::Array(described.collect()))
}

fn consumers(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name) = (args.key()?, args.next()?);
    let stream = find(cx, key)?;
    let mut group = stream.group(cx, name)?.ok_or_else(|| no_group_of_key(name, key))?;
    let now_ms = cx.env.now_ms as i64;
    let mut described = Vec::new();
    for consumer_number in group.numbers(cx)? {
        let consumer = group.consumer(cx, consumer_number)?;
        let idle_ms = now_ms.wrapping_sub(consumer.state.seen_ms as i64).max(0);
        let inactive_ms = active_ms(consumer).map_or(-1, |ms| now_ms.wrapping_sub(ms));
        described.push(Reply::Map(vec![
            (Reply::text("name"), Reply::bulk(&*consumer.name)),
            number("pending", consumer.state.pending),
            (Reply::text("idle"), Reply::Integer(idle_ms)),
            (Reply::text("inactive"), Reply::Integer(inactive_ms)),
        ]));
    }
    Ok(Reply::Array(described))
}

#[cfg(test)]
mod tests {
    use super::radix_tree;

    #[test]
    fn a_tree_has_a_key_for_each_node_of_entries() {
        assert_eq!(
            [0, 1, 100, 101, 1_000].map(|n| radix_tree(n, 100)),
            [(0, 1), (1, 2), (1, 2), (2, 6), (10, 22)]
        );
        assert_eq!([0, 1, 1_000].map(|n| radix_tree(n, 0)), [(0, 1), (1, 2), (1, 2)]);
    }
}
