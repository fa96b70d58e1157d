//! What a writer's databases must hold after any prefix of its commands.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::collections::{self, Change, Content};
use crate::rng::Rng;
use crate::value::Value;

pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub content: Content,
    /// When the key goes, in milliseconds: not before the first, and not after the second by more than a little.
    pub expires: Option<(u64, u64)>,
}

impl Entry {
    fn string(&mut self) -> &mut Vec<u8> {
        match &mut self.content {
            Content::String(value) => value,
            other => panic!("{other:?} is no string"),
        }
    }
}

pub type Keys = BTreeMap<Vec<u8>, Entry>;

/// A writer has two databases to itself: the one it works in, and one that SWAPDB exchanges with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    pub dbs: [Keys; 2],
}

#[derive(Debug, Clone)]
pub enum Op {
    Set(Vec<u8>, Vec<u8>),
    /// Lives long.
    SetEx(Vec<u8>, u64, Vec<u8>),
    /// Dies soon. Only into keys that nothing else is done with.
    SetPx(Vec<u8>, u64, Vec<u8>),
    Incr(Vec<u8>),
    Append(Vec<u8>, Vec<u8>),
    SetRange(Vec<u8>, usize, Vec<u8>),
    /// The same value into several keys.
    Mset(Vec<Vec<u8>>, Vec<u8>),
    Rename(Vec<u8>, Vec<u8>),
    Copy(Vec<u8>, Vec<u8>),
    Del(Vec<Vec<u8>>),
    Persist(Vec<u8>),
    Flush,
    Swap,
    Collection(Change),
}

fn key(rng: &mut Rng) -> Vec<u8> {
    format!("key:{}", rng.below(24)).into_bytes()
}

impl Op {
    /// `serial` makes every value unlike all others.
    pub fn random(rng: &mut Rng, serial: u64) -> Op {
        if rng.percent(40) {
            return Op::of_collections(rng, serial);
        }
        let value = || format!("value:{serial}").into_bytes();
        match rng.below(1000) {
            0..200 => Op::Set(key(rng), value()),
            // Long values live in pieces.
            200..230 => Op::Set(key(rng), value().repeat(1 + rng.below(6000))),
            230..280 => Op::SetEx(key(rng), 1_000 + rng.below(1_000_000) as u64, value()),
            280..330 => {
                Op::SetPx(format!("soon:{}", rng.below(4)).into_bytes(), 1 + rng.below(60) as u64, value())
            }
            330..530 => Op::Incr(format!("counter:{}", rng.below(4)).into_bytes()),
            530..630 => Op::Append(key(rng), value()),
            630..660 => Op::SetRange(key(rng), rng.below(9000), value()),
            660..800 => {
                let group = rng.below(3);
                let keys = (0..6).map(|i| format!("group:{group}:{i}").into_bytes()).collect();
                Op::Mset(keys, value())
            }
            800..860 => Op::Rename(key(rng), key(rng)),
            860..900 => Op::Copy(key(rng), key(rng)),
            900..980 => Op::Del(vec![key(rng), key(rng)]),
            980..994 => Op::Persist(key(rng)),
            994..997 => Op::Flush,
            _ => Op::Swap,
        }
    }

    fn of_collections(rng: &mut Rng, serial: u64) -> Op {
        let kind = *rng.pick(&["hash", "set", "list", "zset", "stream"]);
        let key = |rng: &mut Rng| collections::key(rng, kind);
        match rng.below(100) {
            0..3 => Op::Rename(key(rng), key(rng)),
            3..6 => Op::Copy(key(rng), key(rng)),
            6..10 => Op::Del(vec![key(rng)]),
            10..12 => Op::Persist(key(rng)),
            _ => Op::Collection(Change::random(rng, serial)),
        }
    }

    /// The command; `dbs` are the writer's two databases.
    pub fn args(&self, dbs: [usize; 2]) -> Vec<Vec<u8>> {
        let number = |n: u64| n.to_string().into_bytes();
        let words = |name: &str, rest: &[&Vec<u8>]| {
            let mut args = vec![name.as_bytes().to_vec()];
            args.extend(rest.iter().map(|arg| arg.to_vec()));
            args
        };
        match self {
            Op::Set(key, value) => words("SET", &[key, value]),
            Op::SetEx(key, seconds, value) => words("SETEX", &[key, &number(*seconds), value]),
            Op::SetPx(key, ms, value) => words("PSETEX", &[key, &number(*ms), value]),
            Op::Incr(key) => words("INCR", &[key]),
            Op::Append(key, value) => words("APPEND", &[key, value]),
            Op::SetRange(key, at, value) => words("SETRANGE", &[key, &number(*at as u64), value]),
            Op::Mset(keys, value) => words("MSET", &keys.iter().flat_map(|k| [k, value]).collect::<Vec<_>>()),
            Op::Rename(from, to) => words("RENAME", &[from, to]),
            Op::Copy(from, to) => words("COPY", &[from, to, &b"REPLACE".to_vec()]),
            Op::Del(keys) => words("DEL", &keys.iter().collect::<Vec<_>>()),
            Op::Persist(key) => words("PERSIST", &[key]),
            Op::Flush => words("FLUSHDB", &[]),
            Op::Swap => words("SWAPDB", &[&number(dbs[0] as u64), &number(dbs[1] as u64)]),
            Op::Collection(change) => change.args(),
        }
    }
}

impl Model {
    /// Applies a command that was sent in this span of time, and says what the server must answer.
    pub fn apply(&mut self, op: &Op, sent_ms: (u64, u64)) -> Value {
        let keys = &mut self.dbs[0];
        let plain = |value: &[u8]| Entry { content: Content::String(value.to_vec()), expires: None };
        let lives = |value: &[u8], ms: u64| Entry {
            content: Content::String(value.to_vec()),
            expires: Some((sent_ms.0 + ms, sent_ms.1 + ms)),
        };
        let int = |n: usize| Value::Int(n as i64);
        match op {
            Op::Set(key, value) => {
                keys.insert(key.clone(), plain(value));
            }
            Op::SetEx(key, seconds, value) => {
                keys.insert(key.clone(), lives(value, seconds * 1000));
            }
            Op::SetPx(key, ms, value) => {
                keys.insert(key.clone(), lives(value, *ms));
            }
            Op::Incr(key) => {
                let entry = keys.entry(key.clone()).or_insert_with(|| plain(b"0"));
                let value = entry.string();
                let n = std::str::from_utf8(value).unwrap().parse::<i64>().unwrap() + 1;
                *value = n.to_string().into_bytes();
                return Value::Int(n);
            }
            Op::Append(key, value) => {
                let entry = keys.entry(key.clone()).or_insert_with(|| plain(b""));
                entry.string().extend_from_slice(value);
                return int(entry.string().len());
            }
            Op::SetRange(key, at, value) => {
                let entry = keys.entry(key.clone()).or_insert_with(|| plain(b""));
                let (string, end) = (entry.string(), at + value.len());
                if string.len() < end {
                    string.resize(end, 0);
                }
                string[*at..end].copy_from_slice(value);
                return int(string.len());
            }
            Op::Mset(group, value) => {
                for key in group {
                    keys.insert(key.clone(), plain(value));
                }
            }
            Op::Rename(from, to) => match keys.remove(from) {
                Some(entry) => {
                    keys.insert(to.clone(), entry);
                }
                None => return Value::Error(b"ERR no such key".to_vec()),
            },
            Op::Copy(from, to) if from == to => {
                return Value::Error(b"ERR source and destination objects are the same".to_vec());
            }
            Op::Copy(from, to) => {
                let entry = keys.get(from).cloned();
                let found = usize::from(entry.is_some());
                if let Some(entry) = entry {
                    keys.insert(to.clone(), entry);
                }
                return int(found);
            }
            Op::Del(gone) => return int(gone.iter().filter(|key| keys.remove(*key).is_some()).count()),
            Op::Persist(key) => {
                let had = keys.get_mut(key).and_then(|entry| entry.expires.take());
                return int(usize::from(had.is_some()));
            }
            Op::Flush => keys.clear(),
            Op::Swap => self.dbs.swap(0, 1),
            Op::Collection(change) => return change.apply(keys, sent_ms),
        }
        Value::ok()
    }

    /// How the databases as they were read (and when) differ from this model, if they do.
    pub fn difference(&self, found: &Model, read_ms: u64) -> Option<String> {
        (0..2).find_map(|db| difference(&self.dbs[db], &found.dbs[db], read_ms))
    }
}

/// The clock of the reader and of the server are the same, but a time is cut to milliseconds and takes a moment to act on.
const SLACK_MS: u64 = 2;

pub fn difference(expected: &Keys, found: &Keys, read_ms: u64) -> Option<String> {
    let name = |key: &[u8]| crate::value::quote(key);
    for (key, entry) in found {
        match expected.get(key) {
            None => return Some(format!("{} exists", name(key))),
            Some(right) if right.content != entry.content => {
                let [wrong, right] = [entry, right].map(|entry| format!("{:?}", entry.content));
                return Some(format!("{} holds {wrong:.200} instead of {right:.200}", name(key)));
            }
            Some(right) => match (right.expires, entry.expires) {
                (None, None) => {}
                (Some((from, to)), Some((at, _))) if from <= at && at <= to + SLACK_MS => {}
                (right, wrong) => {
                    return Some(format!("{} expires at {wrong:?} instead of {right:?}", name(key)));
                }
            },
        }
    }
    for (key, entry) in expected {
        let may_be_gone = entry.expires.is_some_and(|(from, _)| from <= read_ms + SLACK_MS);
        if !found.contains_key(key) && !may_be_gone {
            return Some(format!("{} is missing", name(key)));
        }
    }
    None
}
