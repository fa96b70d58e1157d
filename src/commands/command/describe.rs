//! A command as COMMAND INFO shows it.

use crate::dispatch::registry::Registered;
use crate::dispatch::spec::{Find, Flags, KeySpec, Keys};
use crate::reply::Reply;

pub fn describe(command: &'static Registered) -> Reply {
    let spec = command.spec;
    let mut flags = spec.flags;
    if spec.keys.specs().any(|keys| !matches!(keys.find, Find::Range { .. })) {
        flags = flags.or(Flags::MOVABLE_KEYS);
    }
    let (first, last, step) = legacy_range(&spec.keys);
    Reply::Array(vec![
        Reply::Bulk(command.full_name.as_str().into()),
        Reply::Integer(spec.arity.number()),
        Reply::Set(flags.words().map(Reply::Simple).collect()),
        Reply::Integer(first),
        Reply::Integer(last),
        Reply::Integer(step),
        Reply::Set(command.categories.marked().map(Reply::Simple).collect()),
        Reply::Set(spec.tips.iter().map(|tip| Reply::text(tip)).collect()),
        Reply::Set(spec.keys.specs().map(key_spec).collect()),
        Reply::Set(command.subcommands.iter().map(describe).collect()),
    ])
}

/// First key, last key and step, for clients from before key specs. Zeros where a range cannot say it.
fn legacy_range(keys: &Keys) -> (i64, i64, i64) {
    let ranges: Vec<(i64, i64, i64)> = keys
        .specs()
        .filter_map(|spec| match spec.find {
            Find::Range { last, step } => Some((i64::from(spec.first), i64::from(last), i64::from(step))),
            Find::Unless(_) => Some((i64::from(spec.first), i64::from(spec.first), 1)),
            Find::Counted { .. } | Find::Behind(_) | Find::HalfBehind(_) | Find::List(_) | Find::Unknown => {
                None
            }
        })
        .collect();
    match ranges.as_slice() {
        [] => (0, 0, 0),
        [only] => *only,
        [(first, ..), .., (_, last, _)] => {
            let joined = ranges.windows(2).all(|pair| match pair {
                [(_, last, _), (next, ..)] => last + 1 == *next,
                _ => false,
            });
            let dense = ranges.iter().all(|(.., step)| *step == 1);
            if joined && dense { (*first, *last, 1) } else { (0, 0, 0) }
        }
    }
}

fn key_spec(spec: &KeySpec) -> Reply {
    let named = |name: &'static str, value: Reply| (Reply::text(name), value);
    let typed = |kind: &'static str, of: Vec<(Reply, Reply)>| {
        Reply::Map(vec![named("type", Reply::text(kind)), named("spec", Reply::Map(of))])
    };
    let number = |name: &'static str, n: i64| named(name, Reply::Integer(n));
    let unknown = || typed("unknown", Vec::new());
    let begin = match spec.find {
        Find::Behind(option) if option.is_shown => typed(
            "keyword",
            vec![named("keyword", Reply::text(option.word)), number("startfrom", i64::from(spec.first))],
        ),
        Find::Behind(_) | Find::Unknown => unknown(),
        Find::HalfBehind(word) => typed(
            "keyword",
            vec![named("keyword", Reply::text(word)), number("startfrom", i64::from(spec.first))],
        ),
        // Looked for from the end on, in Redis.
        Find::List(list) => {
            typed("keyword", vec![named("keyword", Reply::text(list.word)), number("startfrom", -2)])
        }
        Find::Range { .. } | Find::Counted { .. } | Find::Unless(_) => {
            typed("index", vec![number("index", i64::from(spec.first))])
        }
    };
    let find = match spec.find {
        Find::List(_) => {
            typed("range", vec![number("lastkey", -1), number("keystep", 1), number("limit", 0)])
        }
        Find::Unless(_) => {
            typed("range", vec![number("lastkey", 0), number("keystep", 1), number("limit", 0)])
        }
        Find::Behind(option) if option.is_shown => {
            typed("range", vec![number("lastkey", 0), number("keystep", 1), number("limit", 0)])
        }
        Find::Range { last, step } => {
            let (first, last) = (i64::from(spec.first), i64::from(last));
            // Counted from the first key, unless from the end.
            let last = if last < 0 { last } else { last - first };
            typed(
                "range",
                vec![number("lastkey", last), number("keystep", i64::from(step)), number("limit", 0)],
            )
        }
        Find::Counted { step } => typed(
            "keynum",
            vec![number("keynumidx", 0), number("firstkey", 1), number("keystep", i64::from(step))],
        ),
        Find::HalfBehind(_) => {
            typed("range", vec![number("lastkey", -1), number("keystep", 1), number("limit", 2)])
        }
        // Redis has no words for it either.
        Find::Behind(_) | Find::Unknown => unknown(),
    };
    let mut map = Vec::with_capacity(4);
    if !spec.note.is_empty() {
        map.push(named("notes", Reply::text(spec.note)));
    }
    map.push(named("flags", Reply::Set(spec.flags.words().map(Reply::Simple).collect())));
    map.push(named("begin_search", begin));
    map.push(named("find_keys", find));
    Reply::Map(map)
}
