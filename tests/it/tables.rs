//! The tables of commands against redis-server's own: what COMMAND INFO and COMMAND DOCS say of every command that both
//! have, in both protocols.

use std::collections::BTreeMap;

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, pool};
use crate::value::Value;

/// Of another time or place than redis-server 7.0: only here.
const ONLY_HERE: &[&str] = &[
    "client|no-touch",
    "client|setinfo",
    "blmovem",
    "client|capa",
    "client|import-source",
    "cluster|cancelslotmigrations",
    "cluster|flushslot",
    "cluster|getslotmigrations",
    "cluster|migrateslots",
    "cluster|migration",
    "cluster|slot-stats",
    "cluster|syncslots",
    "clusterscan",
    "commandlog",
    "commandlog|get",
    "commandlog|help",
    "commandlog|len",
    "commandlog|reset",
    "himport",
    "himport|discard",
    "himport|discardall",
    "himport|prepare",
    "himport|set",
    "hotkeys",
    "hotkeys|get",
    "hotkeys|help",
    "hotkeys|reset",
    "hotkeys|start",
    "hotkeys|stop",
    "sflush",
    "xcfgset",
    "xidmprecord",
    "cluster|myshardid",
    "waitaof",
    "delex",
    "delifeq",
    "digest",
    "increx",
    "lmovem",
    "msetex",
    "script|show",
    "sdiffcard",
    "sunioncard",
    "xackdel",
    "xdelex",
    "xnack",
    "hexpire",
    "hpexpire",
    "hexpireat",
    "hpexpireat",
    "httl",
    "hpttl",
    "hexpiretime",
    "hpexpiretime",
    "hpersist",
    "hgetex",
    "hsetex",
    "hgetdel",
];

/// With an option of a later version, and so with any number of words.
const WIDER: &[&str] = &["zrank", "zrevrank"];

/// Scripts may call them since 7.2.
const FOR_SCRIPTS: &[&str] = &["blmove", "blpop", "brpop", "brpoplpush", "bzpopmax", "bzpopmin", "wait"];

/// Fields of COMMAND DOCS that are the same on both servers; summaries and complexities are in other words,
/// arguments are left out.
const SAME_DOCS: &[&str] = &["since", "group", "doc_flags", "deprecated_since", "replaced_by"];

fn text(value: &Value) -> String {
    value.bytes().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).unwrap_or_default()
}

/// The same value with every set (and array of words, which RESP2 sends for one) in one order.
fn settled(value: &Value) -> Value {
    let sorted = |items: &[Value]| {
        let mut items: Vec<Value> = items.iter().map(settled).collect();
        if items.iter().all(|item| matches!(item, Value::Simple(_) | Value::Bulk(_))) && items.len() != 2 {
            items.sort();
        }
        items
    };
    match value {
        Value::Array(items) => Value::Array(sorted(items)),
        Value::Set(items) => {
            let mut items = sorted(items);
            items.sort();
            Value::Set(items)
        }
        Value::Map(pairs) => Value::Map(pairs.iter().map(|(k, v)| (settled(k), settled(v))).collect()),
        other => other.clone(),
    }
}

/// COMMAND INFO of everything, subcommands by their full names. The last part of an entry, its subcommands, is taken off.
fn infos(conn: &mut Conn) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut left = match conn.call(&["COMMAND"]) {
        Value::Array(entries) => entries,
        other => panic!("COMMAND answered {other}"),
    };
    while let Some(Value::Array(mut entry)) = left.pop() {
        let subcommands = entry.pop().expect("ten parts");
        left.extend(subcommands.items().expect("subcommands").to_vec());
        found.insert(text(&entry[0]), settled(&Value::Array(entry)));
    }
    found
}

/// COMMAND DOCS of everything, subcommands included, as far as it is to be the same.
fn docs(conn: &mut Conn) -> BTreeMap<String, BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    let mut left = pairs(&conn.call(&["COMMAND", "DOCS"]));
    while let Some((name, doc)) = left.pop() {
        let fields = pairs(&doc);
        if let Some((_, subcommands)) = fields.iter().find(|(field, _)| field == "subcommands") {
            left.extend(pairs(subcommands));
        }
        let kept = fields.into_iter().filter(|(field, _)| SAME_DOCS.contains(&field.as_str()));
        found.insert(name, kept.map(|(field, value)| (field, settled(&value))).collect());
    }
    found
}

fn pairs(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Map(pairs) => pairs.iter().map(|(k, v)| (text(k), v.clone())).collect(),
        Value::Array(flat) => flat.chunks(2).map(|pair| (text(&pair[0]), pair[1].clone())).collect(),
        other => panic!("{other} is no map"),
    }
}

fn compare<T: PartialEq + std::fmt::Debug>(
    what: &str,
    tarn: &BTreeMap<String, T>,
    redis: &BTreeMap<String, T>,
    show: impl Fn(&T) -> String,
) {
    let mut wrong = Vec::new();
    for (name, ours) in tarn {
        match redis.get(name) {
            Some(theirs) if ours == theirs => {}
            Some(_) if [WIDER, FOR_SCRIPTS].iter().any(|list| list.contains(&name.as_str())) => {}
            Some(theirs) => {
                wrong.push(format!("{name}\n    tarn:  {}\n    redis: {}", show(ours), show(theirs)))
            }
            None if ONLY_HERE.contains(&name.as_str()) || name.starts_with("exh") => {}
            None => wrong.push(format!("{name} is unknown to redis-server")),
        }
    }
    assert!(wrong.is_empty(), "{what} differs for {} commands:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_tables_say_what_redis_says() {
    let tarn = pool::take(Program::Memory);
    let redis = Server::start(Options::new(Program::Redis));
    let connections = [(tarn.server.conn(), redis.conn()), (tarn.server.conn3(), redis.conn3())];
    for (mut tarn, mut redis) in connections {
        compare("COMMAND INFO", &infos(&mut tarn), &infos(&mut redis), ToString::to_string);
        compare("COMMAND DOCS", &docs(&mut tarn), &docs(&mut redis), |doc| format!("{doc:?}"));
    }
}

/// The commands of Redis 8.10 and Valkey 9.1 with the versions that brought them: each is in docs/commands.md, since the same version, or in
/// docs/differences.md.
#[test]
fn every_command_of_today_is_here_or_named_as_missing() {
    const ALL: &str = include_str!("commands.txt");
    const COMMANDS: &str = include_str!("../../docs/commands.md");
    const DIFFERENCES: &str = include_str!("../../docs/differences.md");
    let here: BTreeMap<&str, &str> = COMMANDS
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, rest)| (name, rest.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default()))
        .collect();
    let mut wrong = Vec::new();
    for line in ALL.lines() {
        let (name, since) = line.strip_suffix(')').and_then(|line| line.split_once(" (")).unwrap();
        match here.get(name) {
            Some(here) if *here == since => {}
            Some(here) => wrong.push(format!("{name}: since {here}, and not {since}")),
            None if DIFFERENCES.contains(&format!("`{name}`")) => {}
            None => wrong.push(format!("{name} ({since}) is nowhere")),
        }
    }
    assert_eq!(ALL.lines().count(), 446);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
