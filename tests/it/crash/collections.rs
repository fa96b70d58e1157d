//! Writes to collections: many rows by one command, results stored of others, keys that come and go with their elements.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::model::{Entry, Keys};
use super::streams::{self, Stream};
use crate::rng::Rng;
use crate::value::Value;

type Hash = BTreeMap<Vec<u8>, Vec<u8>>;
type Set = BTreeSet<Vec<u8>>;
type List = VecDeque<Vec<u8>>;
/// Whole numbers as scores: their text is easy to read.
type Sorted = BTreeMap<Vec<u8>, i64>;

/// What a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    String(Vec<u8>),
    Hash(Hash),
    Set(Set),
    List(List),
    Sorted(Sorted),
    Stream(Stream),
}

/// Keys of each type that commands meet on.
const KEYS: usize = 3;
/// Different members. Unions of sets exceed what a command writes on an I/O thread.
const MEMBERS: usize = 1_600;
/// Most members of one command.
const LONGEST_COMMAND: usize = 700;
/// A list longer than this is cut.
const LONGEST_LIST: usize = 1_500;

#[derive(Debug, Clone)]
pub enum Change {
    HashSet(Vec<u8>, Vec<Vec<u8>>, Vec<u8>),
    HashDelete(Vec<u8>, Vec<Vec<u8>>),
    SetAdd(Vec<u8>, Vec<Vec<u8>>),
    SetRemove(Vec<u8>, Vec<Vec<u8>>),
    SetMove(Vec<u8>, Vec<u8>, Vec<u8>),
    SetStore(Combine, Vec<u8>, [Vec<u8>; 2]),
    Push {
        key: Vec<u8>,
        left: bool,
        values: Vec<Vec<u8>>,
    },
    Pop {
        key: Vec<u8>,
        left: bool,
        count: usize,
    },
    /// From the end of one to the head of another.
    ListMove(Vec<u8>, Vec<u8>),
    Trim(Vec<u8>, usize),
    /// The same score for all.
    SortedAdd(Vec<u8>, i64, Vec<Vec<u8>>),
    SortedRemove(Vec<u8>, Vec<Vec<u8>>),
    /// The members with the lowest scores.
    SortedCut(Vec<u8>, usize),
    SortedStore(Combine, Vec<u8>, [Vec<u8>; 2]),
    RangeStore(Vec<u8>, Vec<u8>, usize),
    Expire(Vec<u8>, u64),
    Stream(streams::Change),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    Union,
    Intersection,
    Difference,
}

impl Combine {
    fn random(rng: &mut Rng) -> Combine {
        *rng.pick(&[Combine::Union, Combine::Union, Combine::Intersection, Combine::Difference])
    }

    fn word(self) -> &'static str {
        match self {
            Combine::Union => "UNIONSTORE",
            Combine::Intersection => "INTERSTORE",
            Combine::Difference => "DIFFSTORE",
        }
    }
}

/// A key of a collection of this name.
pub fn key(rng: &mut Rng, kind: &str) -> Vec<u8> {
    format!("{kind}:{}", rng.below(KEYS)).into_bytes()
}

/// Neighbouring members: few most of the time, sometimes many.
fn members(rng: &mut Rng) -> Vec<Vec<u8>> {
    let most = if rng.percent(15) { LONGEST_COMMAND } else { 12 };
    let (from, count) = (rng.below(MEMBERS), 1 + rng.below(most));
    (from..(from + count).min(MEMBERS)).map(|n| format!("member:{n}").into_bytes()).collect()
}

impl Change {
    /// `serial` makes every value unlike all others.
    pub fn random(rng: &mut Rng, serial: u64) -> Change {
        let value = |n: usize| format!("value:{serial}:{n}").into_bytes();
        match rng.below(120) {
            100.. => {
                let key = key(rng, "stream");
                Change::Stream(streams::Change::random(rng, key, serial))
            }
            0..12 => Change::HashSet(key(rng, "hash"), members(rng), value(0)),
            12..20 => Change::HashDelete(key(rng, "hash"), members(rng)),
            20..32 => Change::SetAdd(key(rng, "set"), members(rng)),
            32..38 => Change::SetRemove(key(rng, "set"), members(rng)),
            38..42 => Change::SetMove(key(rng, "set"), key(rng, "set"), members(rng).remove(0)),
            42..48 => {
                let sources = [key(rng, "set"), key(rng, "set")];
                Change::SetStore(Combine::random(rng), key(rng, "set"), sources)
            }
            48..58 => {
                let values = (0..members(rng).len()).map(value).collect();
                Change::Push { key: key(rng, "list"), left: rng.percent(50), values }
            }
            58..63 => Change::Pop { key: key(rng, "list"), left: rng.percent(50), count: 1 + rng.below(40) },
            63..68 => Change::ListMove(key(rng, "list"), key(rng, "list")),
            68..71 => Change::Trim(key(rng, "list"), 1 + rng.below(LONGEST_LIST)),
            71..82 => Change::SortedAdd(key(rng, "zset"), rng.between(-50, 50), members(rng)),
            82..87 => Change::SortedRemove(key(rng, "zset"), members(rng)),
            87..89 => Change::SortedCut(key(rng, "zset"), 1 + rng.below(100)),
            89..94 => {
                let sources = [key(rng, "zset"), key(rng, "zset")];
                Change::SortedStore(Combine::random(rng), key(rng, "zset"), sources)
            }
            94..96 => Change::RangeStore(key(rng, "zset"), key(rng, "zset"), rng.below(MEMBERS)),
            _ => {
                let kind = *rng.pick(&["hash", "set", "list", "zset", "stream"]);
                Change::Expire(key(rng, kind), 1_000 + rng.below(1_000_000) as u64)
            }
        }
    }

    pub fn args(&self) -> Vec<Vec<u8>> {
        let number = |n: usize| n.to_string().into_bytes();
        let words = |name: &str, first: &[&[u8]], rest: &[Vec<u8>]| {
            let first = first.iter().map(|word| word.to_vec());
            std::iter::once(name.as_bytes().to_vec()).chain(first).chain(rest.iter().cloned()).collect()
        };
        match self {
            Change::HashSet(key, fields, value) => {
                let pairs: Vec<_> = fields.iter().flat_map(|field| [field.clone(), value.clone()]).collect();
                words("HSET", &[key], &pairs)
            }
            Change::HashDelete(key, fields) => words("HDEL", &[key], fields),
            Change::SetAdd(key, members) => words("SADD", &[key], members),
            Change::SetRemove(key, members) => words("SREM", &[key], members),
            Change::SetMove(from, to, member) => words("SMOVE", &[from, to, member], &[]),
            Change::SetStore(combine, to, sources) => words(&format!("S{}", combine.word()), &[to], sources),
            Change::Push { key, left, values } => {
                words(if *left { "LPUSH" } else { "RPUSH" }, &[key], values)
            }
            Change::Pop { key, left, count } => {
                words(if *left { "LPOP" } else { "RPOP" }, &[key, &number(*count)], &[])
            }
            Change::ListMove(from, to) => words("LMOVE", &[from, to, b"RIGHT", b"LEFT"], &[]),
            Change::Trim(key, len) => words("LTRIM", &[key, b"0", &number(len - 1)], &[]),
            Change::SortedAdd(key, score, members) => {
                let score = score.to_string().into_bytes();
                let pairs: Vec<_> =
                    members.iter().flat_map(|member| [score.clone(), member.clone()]).collect();
                words("ZADD", &[key], &pairs)
            }
            Change::SortedRemove(key, members) => words("ZREM", &[key], members),
            Change::SortedCut(key, count) => words("ZREMRANGEBYRANK", &[key, b"0", &number(count - 1)], &[]),
            Change::SortedStore(combine, to, [a, b]) => {
                // Not the sum, which would grow for ever.
                let aggregate: &[&[u8]] =
                    if *combine == Combine::Difference { &[] } else { &[b"AGGREGATE", b"MAX"] };
                let mut rest: Vec<&[u8]> = vec![to, b"2", a, b];
                rest.extend(aggregate);
                words(&format!("Z{}", combine.word()), &rest, &[])
            }
            Change::RangeStore(to, from, last) => {
                words("ZRANGESTORE", &[to, from, b"0", &number(*last)], &[])
            }
            Change::Stream(change) => change.args(),
            Change::Expire(key, seconds) => words("EXPIRE", &[key, seconds.to_string().as_bytes()], &[]),
        }
    }

    /// Applies the command, sent in this span of time, and says what the server must answer.
    pub fn apply(&self, keys: &mut Keys, sent_ms: (u64, u64)) -> Value {
        let int = |n: usize| Value::Int(n as i64);
        match self {
            Change::HashSet(key, fields, value) => change(keys, key, |hash: &mut Hash| {
                int(fields
                    .iter()
                    .filter(|field| hash.insert(field.to_vec(), value.clone()).is_none())
                    .count())
            }),
            Change::HashDelete(key, fields) => change(keys, key, |hash: &mut Hash| {
                int(fields.iter().filter(|field| hash.remove(*field).is_some()).count())
            }),
            Change::SetAdd(key, members) => change(keys, key, |set: &mut Set| {
                int(members.iter().filter(|member| set.insert(member.to_vec())).count())
            }),
            Change::SetRemove(key, members) => change(keys, key, |set: &mut Set| {
                int(members.iter().filter(|member| set.remove(*member)).count())
            }),
            Change::SetMove(from, to, member) => {
                let there = peek::<Set>(keys, from).contains(member);
                if there && from != to {
                    change(keys, from, |set: &mut Set| set.remove(member));
                    change(keys, to, |set: &mut Set| set.insert(member.clone()));
                }
                int(usize::from(there))
            }
            Change::SetStore(combine, to, sources) => {
                let [a, b] = sources.each_ref().map(|key| peek::<Set>(keys, key));
                let result = match combine {
                    Combine::Union => &a | &b,
                    Combine::Intersection => &a & &b,
                    Combine::Difference => &a - &b,
                };
                store(keys, to, result)
            }
            Change::Push { key, left, values } => change(keys, key, |list: &mut List| {
                for value in values.iter().cloned() {
                    if *left { list.push_front(value) } else { list.push_back(value) }
                }
                int(list.len())
            }),
            Change::Pop { key, left, count } => {
                let popped: Vec<Value> = change(keys, key, |list: &mut List| {
                    let mut pop = || if *left { list.pop_front() } else { list.pop_back() };
                    (0..*count).map_while(|_| pop()).map(Value::Bulk).collect()
                });
                if popped.is_empty() { Value::NilArray } else { Value::Array(popped) }
            }
            Change::ListMove(from, to) if from == to => change(keys, from, |list: &mut List| {
                list.rotate_right(usize::from(!list.is_empty()));
                list.front().map_or(Value::NilBulk, Value::bulk)
            }),
            Change::ListMove(from, to) => {
                let last = change(keys, from, |list: &mut List| list.pop_back());
                let Some(last) = last else { return Value::NilBulk };
                change(keys, to, |list: &mut List| list.push_front(last.clone()));
                Value::Bulk(last)
            }
            Change::Trim(key, len) => {
                change(keys, key, |list: &mut List| list.truncate(*len));
                Value::ok()
            }
            Change::SortedAdd(key, score, members) => change(keys, key, |sorted: &mut Sorted| {
                int(members.iter().filter(|member| sorted.insert(member.to_vec(), *score).is_none()).count())
            }),
            Change::SortedRemove(key, members) => change(keys, key, |sorted: &mut Sorted| {
                int(members.iter().filter(|member| sorted.remove(*member).is_some()).count())
            }),
            Change::SortedCut(key, count) => change(keys, key, |sorted: &mut Sorted| {
                let gone: Vec<Vec<u8>> = by_score(sorted).take(*count).collect();
                sorted.retain(|member, _| !gone.contains(member));
                int(gone.len())
            }),
            Change::SortedStore(combine, to, sources) => {
                let [a, b] = sources.each_ref().map(|key| peek::<Sorted>(keys, key));
                let mut result = a.clone();
                match combine {
                    Combine::Union => b.into_iter().for_each(|(member, score)| {
                        result.entry(member).and_modify(|most| *most = score.max(*most)).or_insert(score);
                    }),
                    Combine::Intersection => {
                        result.retain(|member, _| b.contains_key(member));
                        result.iter_mut().for_each(|(member, score)| *score = b[member].max(*score));
                    }
                    Combine::Difference => result.retain(|member, _| !b.contains_key(member)),
                }
                store(keys, to, result)
            }
            Change::RangeStore(to, from, last) => {
                let all = peek::<Sorted>(keys, from);
                let result: Sorted = by_score(&all).take(last + 1).map(|m| (m.clone(), all[&m])).collect();
                store(keys, to, result)
            }
            Change::Stream(change) => change.apply(keys),
            Change::Expire(key, seconds) => {
                let ms = seconds * 1000;
                let entry = keys.get_mut(key);
                let found = entry.is_some();
                if let Some(entry) = entry {
                    entry.expires = Some((sent_ms.0 + ms, sent_ms.1 + ms));
                }
                int(usize::from(found))
            }
        }
    }
}

/// Members in the order of their scores.
fn by_score(sorted: &Sorted) -> impl Iterator<Item = Vec<u8>> {
    let mut order: Vec<(i64, &Vec<u8>)> = sorted.iter().map(|(member, score)| (*score, member)).collect();
    order.sort();
    order.into_iter().map(|(_, member)| member.clone()).collect::<Vec<_>>().into_iter()
}

/// One of the types that a [`Content`] may be.
trait Elements: Default + Clone {
    fn of(content: &mut Content) -> Option<&mut Self>;
    fn into_content(self) -> Content;
    fn count(&self) -> usize;
}

macro_rules! elements {
    ($type:ty, $variant:ident) => {
        impl Elements for $type {
            fn of(content: &mut Content) -> Option<&mut Self> {
                match content {
                    Content::$variant(elements) => Some(elements),
                    _ => None,
                }
            }
            fn into_content(self) -> Content {
                Content::$variant(self)
            }
            fn count(&self) -> usize {
                self.len()
            }
        }
    };
}

elements!(Hash, Hash);
elements!(Set, Set);
elements!(List, List);
elements!(Sorted, Sorted);

/// Changes what a key holds; nothing leaves no key, and the expiry stays.
fn change<E: Elements, T>(keys: &mut Keys, key: &[u8], change: impl FnOnce(&mut E) -> T) -> T {
    let entry = keys
        .entry(key.to_vec())
        .or_insert_with(|| Entry { content: E::default().into_content(), expires: None });
    let elements = E::of(&mut entry.content).expect("a key of this type");
    let done = change(elements);
    if elements.count() == 0 {
        keys.remove(key);
    }
    done
}

fn peek<E: Elements>(keys: &mut Keys, key: &[u8]) -> E {
    keys.get_mut(key)
        .map(|entry| E::of(&mut entry.content).expect("a key of this type").clone())
        .unwrap_or_default()
}

/// Puts a result in place of what a key holds; the number of elements.
fn store<E: Elements>(keys: &mut Keys, to: &[u8], result: E) -> Value {
    let count = result.count();
    if count == 0 {
        keys.remove(to);
    } else {
        keys.insert(to.to_vec(), Entry { content: result.into_content(), expires: None });
    }
    Value::Int(count as i64)
}

/// How to ask for what a key of this type holds, and for its size.
pub fn questions(kind: &[u8], key: &[u8]) -> Vec<Vec<Vec<u8>>> {
    if kind == b"stream" {
        return streams::questions(key);
    }
    let lines: &[&[&str]] = match kind {
        b"hash" => &[&["HGETALL"], &["HLEN"]],
        b"set" => &[&["SMEMBERS"], &["SCARD"]],
        b"list" => &[&["LRANGE", "0", "-1"], &["LLEN"]],
        // By score, and by name: a member has a row of each.
        b"zset" => &[&["ZRANGE", "0", "-1", "WITHSCORES"], &["ZCARD"], &["ZSCAN", "0", "COUNT", "100000"]],
        b"string" => &[&["GET"], &["STRLEN"]],
        other => panic!("TYPE answered {}", other.escape_ascii()),
    };
    let question = |line: &&[&str]| {
        let rest = line[1..].iter().map(|word| word.as_bytes().to_vec());
        [line[0].as_bytes().to_vec(), key.to_vec()].into_iter().chain(rest).collect()
    };
    lines.iter().map(question).collect()
}

/// What the answers to [`questions`] say. They must agree with each other. None where the key is gone.
pub fn content(kind: &[u8], key: &[u8], answers: &[Value]) -> Option<Content> {
    if kind == b"stream" {
        let stream = streams::content(key, answers);
        assert_eq!(answers[1], Value::Int(stream.len() as i64), "the length of {}", key.escape_ascii());
        return Some(Content::Stream(stream));
    }
    let bytes = |value: &Value| value.bytes().expect("a string").to_vec();
    let items = answers[0].items().unwrap_or(&[]);
    let pairs = |items: &[Value]| -> Vec<(Vec<u8>, Vec<u8>)> {
        items.chunks(2).map(|pair| (bytes(&pair[0]), bytes(&pair[1]))).collect()
    };
    let scored = |items: &[Value]| -> Sorted {
        let score = |text: Vec<u8>| std::str::from_utf8(&text).unwrap().parse().expect("a whole score");
        pairs(items).into_iter().map(|(member, text)| (member, score(text))).collect()
    };
    let (content, elements) = match kind {
        b"string" => match &answers[0] {
            Value::Bulk(value) => (Content::String(value.clone()), value.len()),
            _ => return None,
        },
        b"hash" => (Content::Hash(pairs(items).into_iter().collect()), items.len() / 2),
        b"set" => (Content::Set(items.iter().map(bytes).collect()), items.len()),
        b"list" => (Content::List(items.iter().map(bytes).collect()), items.len()),
        _ => {
            let by_score = scored(items);
            let by_name = scored(answers[2].items().and_then(|page| page[1].items()).unwrap_or(&[]));
            assert_eq!(by_score, by_name, "{}: by score and by name", key.escape_ascii());
            (Content::Sorted(by_score), items.len() / 2)
        }
    };
    let size = answers[1].int().expect("a size");
    assert_eq!(size, elements as i64, "the size of {} and its elements", key.escape_ascii());
    (elements > 0 || matches!(content, Content::String(_))).then_some(content)
}
