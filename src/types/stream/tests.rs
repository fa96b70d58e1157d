//! Random commands against maps: which entries there are, who has what pending, and that every row is accounted for.

use std::collections::BTreeMap;

use super::*;
use crate::dispatch::locks::StripeSet;
use crate::encoding::rows::RowKey;
use crate::encoding::rows::collection_end;
use crate::encoding::stream::{GROUPS, read_delivered};
use crate::keyspace::{Env, ReadCx, draws};
use crate::testkit::Kit;
use crate::types::collection::Walk;

/// A kit whose commands run at the time of the server's own work.
fn open() -> Kit {
    let mut kit = Kit::new();
    kit.now_ms = kit.node.clock.now_ms();
    kit
}

#[derive(Debug, Clone, Default)]
struct GroupModel {
    last: u64,
    /// Who has which entry.
    pending: BTreeMap<u64, String>,
    consumers: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Model {
    /// Ids are `n-0`.
    entries: BTreeMap<u64, String>,
    last: u64,
    groups: BTreeMap<String, GroupModel>,
}

fn rows_of(cx: &ReadCx<'_>, space: tarn_engine::Space, prefix: &RowKey) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut walk =
        Walk::over(space, prefix.len(), prefix.clone(), collection_end(prefix), Direction::Forward);
    let mut rows = Vec::new();
    while let Some(element) = walk.next(cx).unwrap() {
        rows.push((element.sub.to_vec(), element.value.to_vec()));
    }
    rows
}

/// Every row of the stream is what the model says, and there is no other.
fn check(kit: &mut Kit, key: &str, model: Option<&Model>) {
    let looked = kit.executor.look(0, |cx| {
        let Some(stream) = Stream::find(cx, key.as_bytes())? else {
            assert!(model.is_none(), "{key}");
            return Ok(());
        };
        let model = model.expect("a stream");
        let prefix = RowKey::from_slice(stream.rows.prefix());
        let entries: Vec<(u64, String)> = rows_of(cx, DATA, &prefix)
            .iter()
            .map(|(sub, value)| {
                let strings: Vec<&[u8]> = Strings::of(value).unwrap().collect();
                (Id::decode(sub).unwrap().ms, String::from_utf8(strings[1].to_vec()).unwrap())
            })
            .collect();
        assert_eq!(entries, model.entries.clone().into_iter().collect::<Vec<_>>(), "{key}");
        assert_eq!(stream.len(), entries.len() as u64);
        assert_eq!(stream.state.first.ms, model.entries.keys().next().copied().unwrap_or(0));
        assert_eq!(stream.state.groups, model.groups.len() as u64);
        assert_eq!(rows_of(cx, GROUPS, &prefix).len(), 2 * model.groups.len(), "groups and their owners");
        let groups = stream.groups(cx)?;
        let names: Vec<&[u8]> = groups.iter().map(|(name, _)| name.as_slice()).collect();
        assert_eq!(names, model.groups.keys().map(String::as_bytes).collect::<Vec<_>>());
        for ((name, state), expected) in groups.iter().zip(model.groups.values()) {
            check_group(cx, &mut stream.open_group(name, *state), expected);
            let owned = entry_prefix(&stream, state.version);
            let rows = rows_of(cx, GROUPS, &owned).len() as u64;
            assert_eq!(rows, 3 * state.pending + 2 * state.consumers, "nothing else");
        }
        Ok(())
    });
    looked.unwrap();
}

fn entry_prefix(stream: &Stream<'_>, version: u64) -> RowKey {
    crate::keyspace::entry::element_prefix(&stream.rows.entry, version)
}

fn check_group(cx: &mut ReadCx<'_>, group: &mut Group<'_>, expected: &GroupModel) {
    assert_eq!(group.state.last.ms, expected.last);
    let mut consumers = expected.consumers.clone();
    consumers.sort();
    let mut found = BTreeMap::new();
    for number in group.numbers(cx).unwrap() {
        let consumer = group.consumer(cx, number).unwrap().clone();
        let name = String::from_utf8(consumer.name.to_vec()).unwrap();
        assert_eq!(Some(&name), consumers.get(found.len()));
        let mut walk = group.owned(number, Id::MIN, Id::MAX);
        let mut count = 0;
        while let Some(element) = walk.next(cx).unwrap() {
            let id = Id::decode(element.sub).unwrap();
            assert_eq!(group.pending(cx, id).unwrap().map(|pending| pending.consumer), Some(number));
            count += 1;
        }
        assert_eq!(count, consumer.state.pending);
        found.insert(number, name);
    }
    assert_eq!((found.len(), group.state.consumers), (consumers.len(), consumers.len() as u64));
    let mut pending = BTreeMap::new();
    let mut walk = group.walk_pending(Id::MIN, Id::MAX);
    while let Some(element) = walk.next(cx).unwrap() {
        let owner = Pending::decode(element.value).unwrap().consumer;
        pending.insert(Id::decode(element.sub).unwrap().ms, found[&owner].clone());
    }
    assert_eq!(pending, expected.pending);
    let mut walk = group.walk_delivered(u64::MAX);
    let mut by_time = 0;
    while let Some(element) = walk.next(cx).unwrap() {
        let (delivered_ms, id) = read_delivered(element.sub).unwrap();
        assert_eq!(group.pending(cx, id).unwrap().map(|pending| pending.delivered_ms), Some(delivered_ms));
        by_time += 1;
    }
    assert_eq!(by_time, pending.len());
    assert_eq!(group.state.pending, pending.len() as u64);
    let ends = pending.keys().next().zip(pending.keys().next_back()).map(|(a, b)| (*a, *b));
    assert_eq!(group.pending_ends(cx).unwrap().map(|(a, b)| (a.ms, b.ms)), ends);
}

struct Random<I>(I);

impl<I: Iterator<Item = u64>> Random<I> {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next().unwrap() % n
    }

    fn one_of(&mut self, names: &[&str]) -> String {
        names[self.below(names.len() as u64) as usize].to_owned()
    }
}

fn meet(group: &mut GroupModel, consumer: &str) {
    if !group.consumers.iter().any(|name| name == consumer) {
        group.consumers.push(consumer.to_owned());
    }
}

/// One command, and what it does to the model.
fn step(random: &mut Random<impl Iterator<Item = u64>>, models: &mut BTreeMap<String, Model>) -> String {
    let key = random.one_of(&["a", "b"]);
    let (name, consumer) = (random.one_of(&["g", "h"]), random.one_of(&["x", "y", "z"]));
    let number = random.below(60);
    let add = |models: &mut BTreeMap<String, Model>, id: u64| {
        let model = models.entry(key.clone()).or_default();
        model.entries.insert(id, id.to_string());
        model.last = id;
        format!("XADD {key} {id}-0 f {id}")
    };
    let kind = random.below(14);
    if kind < 4 || !models.contains_key(&key) {
        let id = models.get(&key).map_or(0, |model| model.last) + 1 + number;
        return add(models, id);
    }
    let has_copy = models.contains_key("c");
    let model = models.get_mut(&key).unwrap();
    let some_id =
        model.entries.keys().nth(number as usize % model.entries.len().max(1)).copied().unwrap_or(1);
    let exists = model.groups.contains_key(&name);
    match kind {
        4 => {
            model.entries.remove(&some_id);
            format!("XDEL {key} {some_id}-0")
        }
        5 => {
            while model.entries.len() as u64 > number {
                model.entries.pop_first();
            }
            format!("XTRIM {key} MAXLEN {number}")
        }
        6 => {
            model.entries.retain(|id, _| *id >= some_id);
            format!("XTRIM {key} MINID {some_id}")
        }
        7 if !exists || number < 3 => {
            if exists {
                model.groups.remove(&name);
                format!("XGROUP DESTROY {key} {name}")
            } else {
                model.groups.insert(name.clone(), GroupModel::default());
                format!("XGROUP CREATE {key} {name} 0")
            }
        }
        8 if number < 20 => {
            let copy = model.clone();
            models.insert("c".to_owned(), copy);
            format!("COPY {key} c REPLACE")
        }
        9 if number < 5 && has_copy => {
            let copy = models.remove("c").unwrap();
            models.insert(key.clone(), copy);
            format!("RENAME c {key}")
        }
        _ if !exists => format!("XLEN {key}"),
        10 => {
            let group = model.groups.get_mut(&name).unwrap();
            meet(group, &consumer);
            let claimed: Vec<u64> = group.pending.keys().copied().collect();
            for id in claimed {
                if model.entries.contains_key(&id) {
                    group.pending.insert(id, consumer.clone());
                } else {
                    group.pending.remove(&id);
                }
            }
            format!("XAUTOCLAIM {key} {name} {consumer} 0 0 COUNT 1000")
        }
        11 => {
            let group = model.groups.get_mut(&name).unwrap();
            meet(group, &consumer);
            if model.entries.contains_key(&some_id) {
                group.pending.insert(some_id, consumer.clone());
            }
            format!("XCLAIM {key} {name} {consumer} 0 {some_id}-0 FORCE")
        }
        12 if number < 6 => {
            let group = model.groups.get_mut(&name).unwrap();
            group.consumers.retain(|known| *known != consumer);
            group.pending.retain(|_, owner| *owner != consumer);
            format!("XGROUP DELCONSUMER {key} {name} {consumer}")
        }
        13 => {
            let group = model.groups.get_mut(&name).unwrap();
            let acknowledged: Vec<u64> = group.pending.keys().copied().take(3).collect();
            acknowledged.iter().for_each(|id| drop(group.pending.remove(id)));
            let ids: Vec<String> = acknowledged.iter().map(|id| format!("{id}-0")).collect();
            format!("XACK {key} {name} 1-1 {}", ids.join(" ")).trim_end().to_owned()
        }
        _ => {
            let group = model.groups.get_mut(&name).unwrap();
            meet(group, &consumer);
            for id in model.entries.keys().filter(|id| **id > group.last).take(2).copied().collect::<Vec<_>>()
            {
                group.pending.insert(id, consumer.clone());
                group.last = id;
            }
            format!("XREADGROUP GROUP {name} {consumer} COUNT 2 STREAMS {key} >")
        }
    }
}

#[test]
fn random_commands_do_what_maps_do() {
    for seed in 0..8 {
        let mut kit = open();
        let mut random = Random(draws(seed));
        let mut models = BTreeMap::new();
        for _ in 0..500 {
            let line = step(&mut random, &mut models);
            let reply = kit.run(&line);
            assert!(!reply.starts_with('-'), "seed {seed}: {line}: {reply}");
            for key in ["a", "b", "c"] {
                check(&mut kit, key, models.get(key));
            }
        }
    }
}

/// A stream of entries `1-0` and so on.
fn fill(kit: &mut Kit, key: &[u8], count: u64) -> Model {
    for from in (0..count).step_by(5_000) {
        let filled = kit.executor.transact(&StripeSet::ALL, 0, |cx| {
            let mut stream = Stream::open_or_create(cx, key)?;
            for n in from + 1..=count.min(from + 5_000) {
                let text = n.to_string();
                stream.add(cx, Id::new(n, 0), [&b"f"[..], text.as_bytes()].into_iter());
            }
            stream.save(cx)
        });
        filled.unwrap();
    }
    Model { entries: (1..=count).map(|n| (n, n.to_string())).collect(), ..Model::default() }
}

#[test]
fn many_entries_are_trimmed_by_writing_the_others_anew() {
    let max = trim::MAX_DELETED;
    let (few, many) = (max + 10, max + 1_000);
    // The first that stay are looked for from either end.
    for (len, line, left) in [
        (few, format!("XTRIM s MAXLEN {}", few - max), few - max),
        (few, format!("XTRIM s MAXLEN {}", few - max - 1), few - max - 1),
        (2 * max + 5, format!("XTRIM s MAXLEN {}", max + 3), max + 3),
        (many, format!("XTRIM s MINID {}", max + 2), many - max - 1),
        (few, "XTRIM s MAXLEN 0".to_owned(), 0),
        (few, format!("XTRIM s MAXLEN ~ 0 LIMIT {few}"), 0),
    ] {
        let mut kit = open();
        let mut model = fill(&mut kit, b"s", len);
        assert_eq!(
            kit.run("XGROUP CREATE s g 0 | XREADGROUP GROUP g x COUNT 1 STREAMS s > | EXPIRE s 100"),
            "+OK | [[\"s\" [[\"1-0\" [\"f\" \"1\"]]]]] | :1"
        );
        assert_eq!(kit.run(&line), format!(":{}", len - left), "{line}");
        assert!(kit.moved);
        while model.entries.len() as u64 > left {
            model.entries.pop_first();
        }
        let mut group = GroupModel { last: 1, ..GroupModel::default() };
        meet(&mut group, "x");
        group.pending.insert(1, "x".to_owned());
        model.groups.insert("g".to_owned(), group);
        check(&mut kit, "s", Some(&model));
        assert_eq!(kit.run("TTL s"), ":100");
        assert_eq!(
            kit.run(&format!("XADD s {}-1 f v | XLEN s", len)),
            format!("\"{len}-1\" | :{}", left + 1)
        );
    }
}

#[test]
fn about_as_many_are_whole_nodes() {
    let mut kit = open();
    for (len, options, removed) in [
        (250, "MAXLEN ~ 10", 200),
        (250, "MAXLEN ~ 150", 100),
        (250, "MAXLEN ~ 151", 0),
        (250, "MAXLEN ~ 0", 250),
        (250, "MAXLEN ~ 0 LIMIT 249", 200),
        (250, "MAXLEN ~ 0 LIMIT 99", 0),
        (250, "MAXLEN ~ 0 LIMIT 0", 250),
        (250, "MINID ~ 101", 100),
        (250, "MINID ~ 100", 0),
        (250, "MINID ~ 1000", 250),
        (250, "MINID ~ 1000 LIMIT 200", 200),
        (250, "MINID ~ 250", 200),
        (12_000, "MAXLEN ~ 0", 10_000),
        (12_000, "MINID ~ 12001", 10_000),
        (12_000, "MINID ~ 12001 LIMIT 0", 12_000),
    ] {
        kit.run("DEL s");
        fill(&mut kit, b"s", len);
        assert_eq!(kit.run(&format!("XTRIM s {options}")), format!(":{removed}"), "{len} {options}");
        assert_eq!(kit.run("XLEN s"), format!(":{}", len - removed), "{len} {options}");
    }
    let mut kit = Kit::with(&[("stream-node-max-entries", "0")]);
    kit.now_ms = kit.node.clock.now_ms();
    fill(&mut kit, b"s", 12_000);
    assert_eq!(kit.run("XTRIM s MAXLEN ~ 10 | XTRIM s MAXLEN ~ 0 LIMIT 0"), ":0 | :12000");
}

#[test]
fn a_consumer_with_much_pending_goes_at_once() {
    for extra in [0, 1] {
        let mut kit = open();
        let owned = group::MAX_DELETED + extra;
        let mut model = fill(&mut kit, b"s", owned + 2);
        assert_eq!(kit.run("XGROUP CREATE s g 0"), "+OK");
        kit.run(&format!("XREADGROUP GROUP g x COUNT {owned} STREAMS s >"));
        kit.run("XREADGROUP GROUP g y STREAMS s >");
        assert_eq!(kit.run("XGROUP DELCONSUMER s g x"), format!(":{owned}"));
        assert!(kit.moved);
        let mut group = GroupModel { last: owned + 2, ..GroupModel::default() };
        meet(&mut group, "y");
        group.pending.extend([owned + 1, owned + 2].map(|id| (id, "y".to_owned())));
        model.groups.insert("g".to_owned(), group);
        check(&mut kit, "s", Some(&model));
        let dead = kit.node.keyspace.garbage.take();
        assert_eq!(dead.len() as u64, extra, "the group's old version");
        assert_eq!(
            kit.run("XGROUP DESTROY s g | XINFO GROUPS s | XGROUP CREATE s g 0 | XPENDING s g"),
            ":1 | [] | +OK | [:0 nil nil nil-array]"
        );
    }
}

#[test]
fn a_big_group_is_garbage_when_it_is_destroyed() {
    let mut kit = open();
    fill(&mut kit, b"s", 30_000);
    kit.run("XGROUP CREATE s g 0");
    kit.run("XREADGROUP GROUP g x STREAMS s >");
    assert_eq!(kit.run("XGROUP DESTROY s g"), ":1");
    assert!(!kit.moved);
    let dead = kit.node.keyspace.garbage.take();
    let ranges: Vec<_> = dead.iter().flat_map(|dead| dead.ranges().collect::<Vec<_>>()).collect();
    assert_eq!(ranges.iter().map(|doomed| doomed.space).collect::<Vec<_>>(), [GROUPS]);
}

#[test]
fn long_reads_are_work_for_a_worker() {
    let mut kit = open();
    let most = Env::IO_THREAD_MAX_ROWS as u64;
    fill(&mut kit, b"s", most + 1);
    kit.run("XGROUP CREATE s g 0");
    for (line, moves) in [
        (format!("XRANGE s - + COUNT {most}"), false),
        ("XRANGE s - +".to_owned(), true),
        ("XRANGE s 2 +".to_owned(), false),
        ("XRANGE s 1 +".to_owned(), true),
        ("XREAD STREAMS s 1".to_owned(), false),
        ("XREAD STREAMS s 0".to_owned(), true),
        (format!("XREADGROUP GROUP g x COUNT {most} STREAMS s >"), false),
        ("XGROUP SETID s g 0".to_owned(), false),
        ("XREADGROUP GROUP g x STREAMS s >".to_owned(), true),
        ("XPENDING s g - + 1000".to_owned(), false),
        ("XPENDING s g - + 1001".to_owned(), true),
        ("XAUTOCLAIM s g y 100000 0".to_owned(), false),
        ("XAUTOCLAIM s g y 0 0 COUNT 1001".to_owned(), true),
        ("XTRIM s MAXLEN 1".to_owned(), false),
    ] {
        kit.run(&line);
        assert_eq!(kit.moved, moves, "{line}");
    }
}
