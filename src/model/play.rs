//! Random commands over an engine that fails on purpose, against the model.

use tarn_engine::AnyEngine;
use tarn_engine::memory::{Faults, MemoryEngine, Rates};
use tarn_resp::OwnedArgs;
use tarn_resp::decode::{self, Value};

use super::{Bytes, Data, Model};
use crate::dispatch::registry::registry;
use crate::dispatch::spec::Batch;
use crate::dispatch::unit::Atomic;
use crate::encoding::SPACES;
use crate::keyspace::draws;
use crate::testkit::{Kit, START_MS};

const COMMANDS: usize = 100_000;
/// Commands between two looks at everything.
const BETWEEN_LOOKS: usize = 500;
/// In the order of their bytes.
pub const KEYS: [&str; 8] = ["a", "b", "c", "d", "g", "h", "{t}e", "{t}f"];

/// Per million calls of the engine.
const RATES: Rates = Rates {
    conflict: 50_000,
    unavailable: 5_000,
    unknown_applied: 10_000,
    unknown_lost: 10_000,
    not_resident: 50_000,
};

/// Templates: `K` is a key, `M` a member, `V` a value, `N` a small number, `I` an index.
const TEMPLATES: &[&str] = &[
    "SET K V",
    "GET K",
    "APPEND K V",
    "DEL K",
    "DEL K",
    "DEL K K",
    "EXISTS K",
    "TYPE K",
    "PEXPIRE K N00",
    "PTTL K",
    "PERSIST K",
    "RENAME K K",
    "COPY K K REPLACE",
    "HSET K M V",
    "HSET K M V M V",
    "HSET K M N",
    "HSETNX K M V",
    "HDEL K M",
    "HDEL K M M",
    "HINCRBY K M N",
    "HGET K M",
    "HEXISTS K M",
    "HLEN K",
    "HGETALL K",
    "SADD K M",
    "SADD K M M M",
    "SREM K M",
    "SREM K M M",
    "SCARD K",
    "SISMEMBER K M",
    "SMEMBERS K",
    "SMOVE K K M",
    "SINTER K K",
    "SUNION K K K",
    "SDIFF K K K",
    "SINTERSTORE K K K",
    "SUNIONSTORE K K K",
    "SDIFFSTORE K K K",
    "LPUSH K V",
    "LPUSH K V V V",
    "RPUSH K M M",
    "LPOP K",
    "RPOP K",
    "LLEN K",
    "LINDEX K I",
    "LRANGE K I I",
    "LTRIM K I I",
    "LSET K I V",
    "LINSERT K BEFORE M V",
    "LINSERT K AFTER M V",
    "LREM K I M",
    "LMOVE K K LEFT RIGHT",
    "LMOVE K K RIGHT LEFT",
    "ZADD K N M",
    "ZADD K N M N M",
    "ZINCRBY K I M",
    "ZREM K M",
    "ZCARD K",
    "ZSCORE K M",
    "ZRANK K M",
    "ZRANGE K I I WITHSCORES",
    "ZRANGEBYSCORE K I N",
    "ZREMRANGEBYSCORE K I N",
    "ZPOPMIN K",
    "ZUNIONSTORE K 2 K K",
];

pub fn command(random: &mut impl Iterator<Item = u64>) -> Vec<Bytes> {
    let mut below = |limit: usize| random.next().unwrap() as usize % limit;
    let template = TEMPLATES[below(TEMPLATES.len())];
    let words = template.split(' ').map(|word| match word {
        "K" => KEYS[below(KEYS.len())].to_owned(),
        "M" => format!("m{}", below(12)),
        "V" => ["", "x", "17", "a longer value"][below(4)].to_owned(),
        "N" => below(20).to_string(),
        "N00" => format!("{}00", 1 + below(20)),
        "I" => (below(13) as i64 - 6).to_string(),
        other => other.to_owned(),
    });
    words.map(String::into_bytes).collect()
}

/// Some that may run in one transaction: on one key, or each on its own.
fn on_few_keys(random: &mut impl Iterator<Item = u64>) -> Vec<Vec<Bytes>> {
    let count = 2 + random.next().unwrap() as usize % 6;
    let one_key = random.next().unwrap().is_multiple_of(2);
    let mut commands: Vec<Vec<Bytes>> = Vec::new();
    while commands.len() < count {
        let mut words = command(random);
        if registry().find(&words[0]).unwrap().batch == Batch::Writes {
            let key = commands.first().map_or_else(|| words[1].clone(), |first| first[1].clone());
            if one_key {
                words[1] = key;
            }
            // Another type mostly is a refusal: seldom wanted.
            let alike = !one_key || commands.first().is_none_or(|first| first[0][0] == words[0][0]);
            if alike || random.next().unwrap().is_multiple_of(8) {
                commands.push(words);
            }
        }
    }
    commands
}

/// Replies whose order means nothing, sorted.
fn settled(name: &[u8], reply: Value) -> Value {
    match (name, reply) {
        (b"HGETALL", Value::Array(items)) => {
            let mut pairs: Vec<&[Value]> = items.chunks(2).collect();
            pairs.sort();
            Value::Array(pairs.concat())
        }
        (b"SMEMBERS" | b"SINTER" | b"SUNION" | b"SDIFF", Value::Array(mut items)) => {
            items.sort();
            Value::Array(items)
        }
        (_, other) => other,
    }
}

pub struct Play {
    pub kit: Kit,
    pub model: Model,
}

impl Play {
    fn new() -> Play {
        Play::over(Kit::over(MemoryEngine::new(SPACES).into(), &[]))
    }

    pub fn over(kit: Kit) -> Play {
        Play { kit, model: Model { now_ms: START_MS, ..Model::default() } }
    }

    fn engine(&self) -> &MemoryEngine {
        match &self.kit.node.engine {
            AnyEngine::Memory(engine) => engine,
            _ => panic!("the engine in memory"),
        }
    }

    fn ask(&mut self, words: &[Bytes]) -> Value {
        let owned: OwnedArgs = words.iter().collect();
        let bytes = self.kit.bytes(owned.view());
        let (mut replies, used) = decode::all(&bytes).unwrap();
        assert_eq!((replies.len(), used), (1, bytes.len()));
        settled(&words[0], replies.remove(0))
    }

    /// Everything that the server's code says of its keys.
    pub fn everything(&mut self) -> Vec<(Bytes, Value, Value, Value)> {
        let read = |play: &mut Play, line: String| {
            let words: Vec<Bytes> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            play.ask(&words)
        };
        KEYS.iter()
            .filter_map(|key| {
                let kind = read(self, format!("TYPE {key}"));
                let Value::Simple(name) = &kind else { panic!("{kind:?}") };
                let data = match name.as_slice() {
                    b"none" => return None,
                    b"string" => read(self, format!("GET {key}")),
                    b"hash" => read(self, format!("HGETALL {key}")),
                    b"set" => read(self, format!("SMEMBERS {key}")),
                    b"list" => read(self, format!("LRANGE {key} 0 -1")),
                    _ => read(self, format!("ZRANGE {key} 0 -1 WITHSCORES")),
                };
                let ttl = read(self, format!("PTTL {key}"));
                Some((key.as_bytes().to_vec(), kind, data, ttl))
            })
            .collect()
    }

    pub fn is(&mut self, model: &Model, real: &[(Bytes, Value, Value, Value)]) -> bool {
        let mut model = model.clone();
        let names: Vec<Bytes> = model.keys.keys().cloned().collect();
        let mut said = Vec::new();
        for name in names {
            let key = model.keys[&name].clone();
            let words: &[&[u8]] = match key.data {
                Data::String(_) => &[b"GET", &name],
                Data::Hash(_) => &[b"HGETALL", &name],
                Data::Set(_) => &[b"SMEMBERS", &name],
                Data::List(_) => &[b"LRANGE", &name, b"0", b"-1"],
                Data::Sorted(_) => &[b"ZRANGE", &name, b"0", b"-1", b"WITHSCORES"],
            };
            let words: Vec<Bytes> = words.iter().map(|word| word.to_vec()).collect();
            let data = model.run(&words);
            let ttl = model.run(&[b"PTTL".to_vec(), name.clone()]);
            said.push((name, Value::Simple(key.data.name().as_bytes().to_vec()), data, ttl));
        }
        said == real
    }

    /// Commands that each write one key, in one unit: how many of them it took, and which of the faults they were told of. None where
    /// a worker has to do it.
    fn batch(&mut self, commands: &[Vec<Bytes>]) -> Option<(usize, Option<&'static str>)> {
        let owned: Vec<OwnedArgs> = commands.iter().map(|words| words.iter().collect()).collect();
        let bytes = self.kit.unit(&owned, Atomic::No)?;
        let (replies, used) = decode::all(&bytes).unwrap();
        assert_eq!(used, bytes.len());
        let commands = &commands[..replies.len()];
        let before = self.model.clone();
        let mut after = before.clone();
        let expected: Vec<Value> = commands.iter().map(|words| after.run(words)).collect();
        let line = commands.iter().map(|words| words.join(&b' ').escape_ascii().to_string());
        let line = line.collect::<Vec<_>>().join(" | ");
        let told = self.told_of(&line, &replies[0], &before, &after);
        if told.is_some() {
            assert!(replies.iter().all(|reply| *reply == replies[0]), "{line}: {replies:?}");
        } else {
            assert_eq!(replies, expected, "{line}\nbefore: {:?}", before.keys);
            self.model = after;
        }
        Some((replies.len(), told))
    }

    /// One command. Which of the faults, if any, the client was told of.
    pub fn step(&mut self, words: &[Bytes]) -> Option<&'static str> {
        let real = self.ask(words);
        let before = self.model.clone();
        let mut after = before.clone();
        let expected = after.run(words);
        let line = words.join(&b' ').escape_ascii().to_string();
        let told = self.told_of(&line, &real, &before, &after);
        if told.is_none() {
            assert_eq!(real, expected, "{line}\nbefore: {:?}", before.keys);
            self.model = after;
        }
        told
    }

    /// Which of the faults a reply tells of; the model is then what the fault has left.
    fn told_of(&mut self, line: &str, real: &Value, before: &Model, after: &Model) -> Option<&'static str> {
        let Value::Error(text) = real else { return None };
        if text.starts_with(b"CLUSTERDOWN") {
            return Some("unavailable");
        }
        if !text.starts_with(b"UNKNOWNOUTCOME") {
            return None;
        }
        // Whichever it was, it was all of it.
        self.engine().set_faults(Faults::none());
        let now = self.everything();
        let applied = self.is(after, &now);
        assert!(applied || self.is(before, &now), "{line}: half of it is there: {now:?}\nbefore: {before:?}");
        if applied {
            self.model = after.clone();
        }
        Some("unknown")
    }
}

#[test]
fn random_commands_over_a_failing_engine_match_the_model() {
    let (mut unavailable, mut unknown, mut batched) = (0, 0, 0);
    for seed in 0..4_u64 {
        let mut play = Play::new();
        let mut random = draws(seed);
        play.engine().set_faults(Faults::random(seed, RATES));
        for number in 0..COMMANDS / 4 {
            let commands =
                if number.is_multiple_of(4) { on_few_keys(&mut random) } else { vec![command(&mut random)] };
            let batch = if commands.len() > 1 { play.batch(&commands) } else { None };
            batched += usize::from(batch.is_some());
            let (ran, told) = batch.unwrap_or_default();
            let mut told = vec![told];
            told.extend(commands.iter().skip(ran).map(|words| play.step(words)));
            for told in told.into_iter().flatten() {
                match told {
                    "unavailable" => unavailable += 1,
                    _ => {
                        unknown += 1;
                        play.engine().set_faults(Faults::random(random.next().unwrap(), RATES));
                    }
                }
            }
            if random.next().unwrap().is_multiple_of(16) {
                let ms = random.next().unwrap() % 300;
                play.kit.pass_ms(ms);
                play.model.pass_ms(ms);
            }
            if number.is_multiple_of(BETWEEN_LOOKS) {
                play.engine().set_faults(Faults::none());
                let (now, model) = (play.everything(), play.model.clone());
                assert!(play.is(&model, &now), "{now:?}\n{model:?}");
                play.engine().set_faults(Faults::random(random.next().unwrap(), RATES));
            }
        }
        assert!(play.engine().injected().conflicts > 100);
    }
    assert!(unavailable > 100 && unknown > 100, "{unavailable} {unknown}");
    assert!(batched > 1_000, "{batched}");
}
