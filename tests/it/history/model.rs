//! What the operations of a history do to a few keys, and what they answer: Redis in a hundred lines.
//!
//! Keys are numbers in the model and have names on the wire; values are numbers too, each used once, so that a value tells which
//! operation wrote it.

use std::fmt;

use crate::value::Value;

/// Numbers first, then lists.
pub const NUMBERS: usize = 3;
pub const LISTS: usize = 2;
pub const KEYS: usize = NUMBERS + LISTS;

pub type Key = usize;
pub type Client = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Side::Left => "LEFT",
            Side::Right => "RIGHT",
        }
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    Get(Key),
    MGet(Vec<Key>),
    Set(Key, i64),
    MSet(Vec<(Key, i64)>),
    IncrBy(Key, i64),
    Del(Vec<Key>),
    Push(Side, Key, Vec<i64>),
    Pop(Side, Key),
    Range(Key),
    Move(Key, Key, Side, Side),
    /// BLPOP, BRPOP. What waits has a time in milliseconds.
    BlockingPop(Side, Vec<Key>, u32),
    BlockingMove(Key, Key, Side, Side, u32),
    BlockingPopMany(Side, Vec<Key>, usize, u32),
}

/// What a client does as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Call(Call),
    Watch(Vec<Key>),
    /// MULTI, the calls, EXEC. Whether the client watches anything.
    Exec(Vec<Call>, bool),
    /// A script that makes these calls.
    Eval(Vec<Call>),
    /// A script: if a number is large enough, a part of it goes to another one.
    Transfer(Key, Key, i64),
}

/// Calls one command after the other; each stands in ARGV behind the number of its words.
const CALL_EACH: &str = "local out, at = {}, 1 \
    while at <= #ARGV do \
        local words = {} \
        for i = 1, ARGV[at] do words[i] = ARGV[at + i] end \
        out[#out + 1] = redis.call(unpack(words)) \
        at = at + #words + 1 \
    end \
    return out";

const TRANSFER: &str = "local have = tonumber(redis.call('GET', KEYS[1]) or 0) \
    if have < tonumber(ARGV[1]) then return -1 end \
    redis.call('INCRBY', KEYS[1], -ARGV[1]) \
    return redis.call('INCRBY', KEYS[2], ARGV[1])";

type Words = Vec<String>;

fn seconds(millis: u32) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

impl Call {
    /// As it is sent, with the names of the keys.
    pub fn words(&self, name: &dyn Fn(Key) -> String) -> Words {
        let line = |head: &str, keys: &[Key], tail: &[String]| -> Words {
            let keys = keys.iter().map(|key| name(*key));
            head.split(' ').map(str::to_owned).chain(keys).chain(tail.iter().cloned()).collect()
        };
        let sides = |from: &Side, to: &Side| [from.word().to_owned(), to.word().to_owned()];
        match self {
            Call::Get(key) => line("GET", &[*key], &[]),
            Call::MGet(keys) => line("MGET", keys, &[]),
            Call::Set(key, value) => line("SET", &[*key], &[value.to_string()]),
            Call::MSet(pairs) => {
                let pairs = pairs.iter().flat_map(|(key, value)| [name(*key), value.to_string()]);
                std::iter::once("MSET".to_owned()).chain(pairs).collect()
            }
            Call::IncrBy(key, by) => line("INCRBY", &[*key], &[by.to_string()]),
            Call::Del(keys) => line("DEL", keys, &[]),
            Call::Push(side, key, values) => {
                let values: Words = values.iter().map(i64::to_string).collect();
                line(if *side == Side::Left { "LPUSH" } else { "RPUSH" }, &[*key], &values)
            }
            Call::Pop(side, key) => line(if *side == Side::Left { "LPOP" } else { "RPOP" }, &[*key], &[]),
            Call::Range(key) => line("LRANGE", &[*key], &["0".into(), "-1".into()]),
            Call::Move(from, to, out, into) => line("LMOVE", &[*from, *to], &sides(out, into)),
            Call::BlockingPop(side, keys, millis) => {
                line(if *side == Side::Left { "BLPOP" } else { "BRPOP" }, keys, &[seconds(*millis)])
            }
            Call::BlockingMove(from, to, out, into, millis) => {
                let [out, into] = sides(out, into);
                line("BLMOVE", &[*from, *to], &[out, into, seconds(*millis)])
            }
            Call::BlockingPopMany(side, keys, count, millis) => {
                let head = format!("BLMPOP {} {}", seconds(*millis), keys.len());
                line(&head, keys, &[side.word().into(), "COUNT".into(), count.to_string()])
            }
        }
    }
}

impl Action {
    /// The commands that it is, of which the last one has its reply.
    pub fn commands(&self, name: &dyn Fn(Key) -> String) -> Vec<Words> {
        let word = |word: &str| vec![word.to_owned()];
        match self {
            Action::Call(call) => vec![call.words(name)],
            Action::Watch(keys) => {
                vec![std::iter::once("WATCH".to_owned()).chain(keys.iter().map(|key| name(*key))).collect()]
            }
            Action::Exec(calls, _) => {
                let calls = calls.iter().map(|call| call.words(name));
                [word("MULTI")].into_iter().chain(calls).chain([word("EXEC")]).collect()
            }
            Action::Eval(calls) => {
                let calls = calls.iter().map(|call| call.words(name));
                let words = calls.flat_map(|words| [vec![words.len().to_string()], words].concat());
                let head = ["EVAL", CALL_EACH, "0"].map(str::to_owned);
                vec![head.into_iter().chain(words).collect()]
            }
            Action::Transfer(from, to, by) => {
                vec![vec!["EVAL".into(), TRANSFER.into(), "2".into(), name(*from), name(*to), by.to_string()]]
            }
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |key: Key| if key < NUMBERS { format!("n{key}") } else { format!("l{}", key - NUMBERS) };
        let lines = |calls: &[Call]| -> Vec<String> {
            calls.iter().map(|call| call.words(&name).join(" ")).collect()
        };
        match self {
            Action::Eval(calls) => write!(f, "EVAL {{ {} }}", lines(calls).join(" | ")),
            Action::Exec(calls, _) => write!(f, "MULTI {{ {} }} EXEC", lines(calls).join(" | ")),
            Action::Transfer(from, to, by) => write!(f, "TRANSFER {} {} {by}", name(*from), name(*to)),
            other => f.write_str(&other.commands(&name).concat().join(" ")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
enum Content {
    #[default]
    Missing,
    Number(i64),
    List(Vec<i64>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Watch {
    client: Client,
    /// One bit for each.
    keys: u32,
    is_changed: bool,
}

/// All keys, and who watches which.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    keys: [Content; KEYS],
    /// In the order of the clients.
    watches: Vec<Watch>,
}

fn bulk(number: i64) -> Value {
    Value::bulk(number.to_string())
}

impl State {
    /// Does it; what it answers. `name` is what keys are called in replies.
    pub fn apply(&mut self, client: Client, action: &Action, name: &dyn Fn(Key) -> String) -> Value {
        match action {
            Action::Call(call) => self.call(call, name),
            Action::Eval(calls) => Value::Array(calls.iter().map(|call| self.call(call, name)).collect()),
            Action::Watch(keys) => {
                self.watches.retain(|watch| watch.client != client);
                let at = self.watches.partition_point(|watch| watch.client < client);
                let keys = keys.iter().fold(0, |keys, key| keys | 1 << key);
                self.watches.insert(at, Watch { client, keys, is_changed: false });
                Value::ok()
            }
            Action::Exec(calls, watches) => {
                let mut is_changed = false;
                self.watches.retain(|watch| {
                    is_changed |= watch.client == client && watch.is_changed;
                    watch.client != client
                });
                if is_changed && *watches {
                    return Value::NilArray;
                }
                Value::Array(calls.iter().map(|call| self.call(call, name)).collect())
            }
            Action::Transfer(from, to, by) => {
                if self.number(*from) < *by {
                    return Value::Int(-1);
                }
                self.add(*from, -by);
                Value::Int(self.add(*to, *by))
            }
        }
    }

    /// It is refused: nothing is done, but for EXEC, which always ends what its client watches.
    pub fn refuse(&mut self, client: Client, action: &Action) {
        if let Action::Exec(..) = action {
            self.watches.retain(|watch| watch.client != client);
        }
    }

    /// It is not done, and for those who watch its keys it is as if it were: nobody knew.
    pub fn alarm(&mut self, client: Client, action: &Action, name: &dyn Fn(Key) -> String) {
        let mut done = self.clone();
        done.apply(client, action, name);
        self.watches = done.watches;
    }

    fn call(&mut self, call: &Call, name: &dyn Fn(Key) -> String) -> Value {
        match call {
            Call::Get(key) => self.get(*key),
            Call::MGet(keys) => Value::Array(keys.iter().map(|key| self.get(*key)).collect()),
            Call::Set(key, value) => {
                self.put(*key, Content::Number(*value));
                Value::ok()
            }
            Call::MSet(pairs) => {
                pairs.iter().for_each(|(key, value)| self.put(*key, Content::Number(*value)));
                Value::ok()
            }
            Call::IncrBy(key, by) => Value::Int(self.add(*key, *by)),
            Call::Del(keys) => {
                let mut count = 0;
                for key in keys {
                    if self.keys[*key] != Content::Missing {
                        self.put(*key, Content::Missing);
                        count += 1;
                    }
                }
                Value::Int(count)
            }
            Call::Push(side, key, values) => {
                values.iter().for_each(|value| self.push(*side, *key, *value));
                Value::Int(self.list(*key).len() as i64)
            }
            Call::Pop(side, key) => self.pop(*side, *key).map_or(Value::NilBulk, bulk),
            Call::Range(key) => Value::Array(self.list(*key).iter().map(|value| bulk(*value)).collect()),
            Call::Move(from, to, out, into) | Call::BlockingMove(from, to, out, into, _) => {
                let Some(value) = self.pop(*out, *from) else {
                    return if let Call::Move(..) = call { Value::NilBulk } else { Value::NilArray };
                };
                self.push(*into, *to, value);
                bulk(value)
            }
            Call::BlockingPop(side, keys, _) => {
                let found = keys.iter().find_map(|key| Some((key, self.pop(*side, *key)?)));
                found.map_or(Value::NilArray, |(key, value)| {
                    Value::Array(vec![Value::bulk(name(*key)), bulk(value)])
                })
            }
            Call::BlockingPopMany(side, keys, count, _) => {
                let Some(key) = keys.iter().find(|key| !self.list(**key).is_empty()) else {
                    return Value::NilArray;
                };
                let values = std::iter::from_fn(|| self.pop(*side, *key)).take(*count).map(bulk).collect();
                Value::Array(vec![Value::bulk(name(*key)), Value::Array(values)])
            }
        }
    }

    fn put(&mut self, key: Key, content: Content) {
        self.keys[key] = content;
        for watch in &mut self.watches {
            watch.is_changed |= watch.keys & (1 << key) != 0;
        }
    }

    fn get(&self, key: Key) -> Value {
        match &self.keys[key] {
            Content::Number(number) => bulk(*number),
            _ => Value::NilBulk,
        }
    }

    fn number(&self, key: Key) -> i64 {
        if let Content::Number(number) = self.keys[key] { number } else { 0 }
    }

    fn add(&mut self, key: Key, by: i64) -> i64 {
        let sum = self.number(key) + by;
        self.put(key, Content::Number(sum));
        sum
    }

    fn list(&self, key: Key) -> &[i64] {
        if let Content::List(items) = &self.keys[key] { items } else { &[] }
    }

    fn push(&mut self, side: Side, key: Key, value: i64) {
        let mut items = self.list(key).to_vec();
        items.insert(if side == Side::Left { 0 } else { items.len() }, value);
        self.put(key, Content::List(items));
    }

    fn pop(&mut self, side: Side, key: Key) -> Option<i64> {
        let mut items = self.list(key).to_vec();
        let value =
            if side == Side::Left { (!items.is_empty()).then(|| items.remove(0)) } else { items.pop() }?;
        self.put(key, if items.is_empty() { Content::Missing } else { Content::List(items) });
        Some(value)
    }
}
