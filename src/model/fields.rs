//! Hashes whose fields expire and have versions, said plainly, and random commands in both vocabularies against it: over
//! an engine that fails on purpose, on a clock that the test moves, with the reaper at work in between.

use std::collections::BTreeMap;

use tarn_engine::AnyEngine;
use tarn_engine::memory::{Faults, MemoryEngine, Rates};
use tarn_resp::OwnedArgs;
use tarn_resp::decode::{self, Value};

use crate::dispatch::locks::StripeSet;
use crate::encoding::SPACES;
use crate::encoding::rows::{EXPIRE_BUCKETS, ExpireKind};
use crate::keyspace::{draws, reap};
use crate::testkit::{Kit, START_MS};

type Bytes = Vec<u8>;

const COMMANDS: usize = 60_000;
const BETWEEN_LOOKS: usize = 300;
const KEYS: [&str; 5] = ["a", "b", "{t}c", "{t}d", "e"];

const RATES: Rates = Rates {
    conflict: 50_000,
    unavailable: 5_000,
    unknown_applied: 5_000,
    unknown_lost: 5_000,
    not_resident: 50_000,
};

/// `K` is a key, `F` a field, `V` a value, `N` a small number, `T` a time in ms, `A` a time since 1970 in ms.
const TEMPLATES: &[&str] = &[
    "HSET K F V",
    "HSET K F V F V",
    "HSETNX K F V",
    "HSETEX K PX T FIELDS 1 F V",
    "HSETEX K PX T FIELDS 2 F V F V",
    "HSETEX K FNX PX T FIELDS 2 F V F V",
    "HSETEX K FXX KEEPTTL FIELDS 2 F V F V",
    "HSETEX K FIELDS 1 F V",
    "HSETEX K PXAT A FIELDS 2 F V F V",
    "HDEL K F",
    "HDEL K F F F",
    "HINCRBY K F N",
    "HPEXPIRE K T FIELDS 1 F",
    "HPEXPIRE K T FIELDS 3 F F F",
    "HPEXPIRE K T NX FIELDS 2 F F",
    "HPEXPIRE K T XX FIELDS 2 F F",
    "HPEXPIRE K T GT FIELDS 2 F F",
    "HPEXPIRE K T LT FIELDS 2 F F",
    "HPEXPIREAT K A FIELDS 2 F F",
    "HPERSIST K FIELDS 2 F F",
    "HGETEX K PX T FIELDS 2 F F",
    "HGETEX K PERSIST FIELDS 1 F",
    "HGETEX K FIELDS 1 F",
    "HGETDEL K FIELDS 2 F F",
    "HPTTL K FIELDS 3 F F F",
    "HGET K F",
    "HLEN K",
    "HLEN K",
    "EXHSET K F V",
    "EXHSET K F V PX T",
    "EXHSET K F V PX T NX",
    "EXHSET K F V KEEPTTL XX",
    "EXHSET K F V VER N",
    "EXHSET K F V ABS N",
    "EXHSET K F V GT N PX T",
    "EXHSETNX K F V",
    "EXHMSET K F V F V",
    "EXHINCRBY K F N PX T",
    "EXHINCRBY K F N KEEPTTL",
    "EXHPEXPIRE K F T",
    "EXHPEXPIRE K F 0",
    "EXHPERSIST K F",
    "EXHPTTL K F",
    "EXHVER K F",
    "EXHSETVER K F N",
    "EXHDELWITHVER K F N F N",
    "EXHLEN K",
    "EXHGETALLWITHVER K",
    "EXHGETALLWITHVER K",
    "EXISTS K",
    "TYPE K",
    "DEL K",
    "SET K V",
    "RENAME K K",
    "COPY K K REPLACE",
    "PEXPIRE K T00",
    "PERSIST K",
    "PTTL K",
];

#[derive(Debug, Clone, PartialEq)]
struct Field {
    value: Bytes,
    /// 0 is never.
    expire_at_ms: u64,
    version: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Data {
    Text(Bytes),
    Hash { fields: BTreeMap<Bytes, Field>, tair: bool },
}

#[derive(Debug, Clone, PartialEq)]
struct Key {
    data: Data,
    expire_at_ms: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Model {
    keys: BTreeMap<Bytes, Key>,
    now_ms: u64,
    /// Keys whose last field has expired, and which may not have been reaped yet.
    faded: Vec<Bytes>,
}

struct Refusal(&'static str);
type Outcome = Result<Value, Refusal>;

const WRONG_TYPE: Refusal = Refusal("WRONGTYPE Operation against a key holding the wrong kind of value");
const STALE: Refusal = Refusal("ERR update version is stale");

fn int(number: i64) -> Value {
    Value::Integer(number)
}

fn number(word: &[u8]) -> i64 {
    std::str::from_utf8(word).unwrap().parse().unwrap()
}

fn maybe(value: Option<&Field>) -> Value {
    value.map_or(Value::NilBulk, |field| Value::Bulk(field.value.clone()))
}

/// What a write does to a field.
struct Write {
    ttl: Option<u64>,
    keep: bool,
    version: Option<u64>,
}

const PLAIN: Write = Write { ttl: None, keep: false, version: None };

fn put(fields: &mut BTreeMap<Bytes, Field>, name: &[u8], value: &[u8], how: &Write) -> bool {
    let old = fields.get(name);
    let version = how.version.unwrap_or_else(|| old.map_or(1, |old| old.version + 1));
    let kept = old.filter(|_| how.keep).map_or(0, |old| old.expire_at_ms);
    let expire_at_ms = how.ttl.unwrap_or(kept);
    fields.insert(name.to_vec(), Field { value: value.to_vec(), expire_at_ms, version }).is_none()
}

impl Model {
    /// Takes away what has expired by now.
    fn reap_all(&mut self) {
        let now_ms = self.now_ms;
        let is_live = |at_ms: u64| at_ms == 0 || at_ms > now_ms;
        self.keys.retain(|_, key| is_live(key.expire_at_ms));
        for (name, key) in &mut self.keys {
            if let Data::Hash { fields, .. } = &mut key.data {
                fields.retain(|_, field| is_live(field.expire_at_ms));
                if fields.is_empty() {
                    self.faded.push(name.clone());
                }
            }
        }
        self.keys.retain(|_, key| !matches!(&key.data, Data::Hash { fields, .. } if fields.is_empty()));
        let keys = &self.keys;
        self.faded.retain(|name| !keys.contains_key(name));
    }

    fn fields(&self, key: &[u8]) -> Result<BTreeMap<Bytes, Field>, Refusal> {
        match self.keys.get(key).map(|key| &key.data) {
            None => Ok(BTreeMap::new()),
            Some(Data::Hash { fields, .. }) => Ok(fields.clone()),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    fn edit<T>(
        &mut self,
        key: &[u8],
        tair: bool,
        work: impl FnOnce(&mut BTreeMap<Bytes, Field>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut fields = self.fields(key)?;
        let done = work(&mut fields)?;
        if fields.is_empty() {
            self.keys.remove(key);
        } else {
            let key = self.keys.entry(key.to_vec());
            let key =
                key.or_insert(Key { data: Data::Hash { fields: BTreeMap::new(), tair }, expire_at_ms: 0 });
            if let Data::Hash { fields: old, .. } = &mut key.data {
                *old = fields;
            }
        }
        Ok(done)
    }

    fn run(&mut self, words: &[Bytes]) -> Value {
        let name = std::str::from_utf8(&words[0]).unwrap().to_owned();
        let before = self.clone();
        let args: Vec<&[u8]> = words[1..].iter().map(Vec::as_slice).collect();
        let done = if name.starts_with("EXH") {
            self.tair(&name, &args)
        } else if name.starts_with('H') {
            self.redis(&name, &args)
        } else {
            self.key(&name, &args)
        };
        done.unwrap_or_else(|Refusal(text)| {
            *self = before;
            Value::Error(text.as_bytes().to_vec())
        })
    }

    fn key(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let key = args[0];
        let exists = self.keys.contains_key(key);
        let ok = Value::Simple(b"OK".to_vec());
        Ok(match name {
            "EXISTS" => int(i64::from(exists)),
            "TYPE" => Value::Simple(
                match self.keys.get(key).map(|key| &key.data) {
                    None => &b"none"[..],
                    Some(Data::Text(_)) => b"string",
                    Some(Data::Hash { tair: true, .. }) => b"tairhash-",
                    Some(Data::Hash { .. }) => b"hash",
                }
                .to_vec(),
            ),
            "DEL" => int(i64::from(self.keys.remove(key).is_some())),
            "SET" => {
                self.keys.insert(key.to_vec(), Key { data: Data::Text(args[1].to_vec()), expire_at_ms: 0 });
                ok
            }
            "RENAME" if !exists => return Err(Refusal("ERR no such key")),
            "RENAME" => {
                let moved = self.keys.remove(key).unwrap();
                self.keys.insert(args[1].to_vec(), moved);
                ok
            }
            "COPY" if args[0] == args[1] => {
                return Err(Refusal("ERR source and destination objects are the same"));
            }
            "COPY" => match self.keys.get(key).cloned() {
                Some(copy) => {
                    self.keys.insert(args[1].to_vec(), copy);
                    int(1)
                }
                None => int(0),
            },
            "PEXPIRE" => {
                let at = self.now_ms + number(args[1]) as u64;
                int(i64::from(self.keys.get_mut(key).map(|key| key.expire_at_ms = at).is_some()))
            }
            "PERSIST" => {
                let key = self.keys.get_mut(key).filter(|key| key.expire_at_ms != 0);
                int(i64::from(key.map(|key| key.expire_at_ms = 0).is_some()))
            }
            "PTTL" => match self.keys.get(key) {
                None => int(-2),
                Some(Key { expire_at_ms: 0, .. }) => int(-1),
                Some(key) => int((key.expire_at_ms - self.now_ms) as i64),
            },
            other => panic!("{other} is not in the model"),
        })
    }

    fn redis(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let (key, now_ms) = (args[0], self.now_ms);
        let at = args.iter().position(|word| *word == b"FIELDS");
        let named: Vec<&[u8]> = at.map_or(Vec::new(), |at| args[at + 2..].to_vec());
        let options: Vec<&[u8]> = args[1..at.unwrap_or(args.len())].to_vec();
        let has = |word: &[u8]| options.contains(&word);
        let time = options.iter().position(|word| matches!(*word, b"PX" | b"PXAT")).map(|at| {
            let ms = number(options[at + 1]) as u64;
            if options[at] == b"PX" { now_ms + ms } else { ms }
        });
        Ok(match name {
            "HSET" => self.edit(key, false, |fields| {
                let pairs = args[1..].chunks(2);
                Ok(int(pairs.filter(|pair| put(fields, pair[0], pair[1], &PLAIN)).count() as i64))
            })?,
            "HSETNX" => self.edit(key, false, |fields| {
                let is_new = !fields.contains_key(args[1]);
                if is_new {
                    put(fields, args[1], args[2], &PLAIN);
                }
                Ok(int(i64::from(is_new)))
            })?,
            "HSETEX" => self.edit(key, false, |fields| {
                let there = named.chunks(2).filter(|pair| fields.contains_key(pair[0])).count();
                if has(b"FNX") && there != 0 || has(b"FXX") && there * 2 != named.len() {
                    return Ok(int(0));
                }
                let how = Write { ttl: time, keep: has(b"KEEPTTL"), version: None };
                for pair in named.chunks(2) {
                    put(fields, pair[0], pair[1], &how);
                }
                fields.retain(|_, field| field.expire_at_ms == 0 || field.expire_at_ms > now_ms);
                Ok(int(1))
            })?,
            "HDEL" => self.edit(key, false, |fields| {
                Ok(int(args[1..].iter().filter(|name| fields.remove(**name).is_some()).count() as i64))
            })?,
            "HINCRBY" => self.edit(key, false, |fields| {
                let sum = add(fields, args[1], number(args[2]), "ERR hash value is not an integer")?;
                put(fields, args[1], sum.to_string().as_bytes(), &Write { keep: true, ..PLAIN });
                Ok(int(sum))
            })?,
            "HPEXPIRE" | "HPEXPIREAT" => self.edit(key, false, |fields| {
                let ms = number(args[1]) as u64;
                let at_ms = if name == "HPEXPIRE" { now_ms + ms } else { ms };
                let codes = named.iter().map(|name| {
                    let Some(field) = fields.get_mut(*name) else { return int(-2) };
                    let current = field.expire_at_ms;
                    if has(b"NX") && current != 0
                        || has(b"XX") && current == 0
                        || has(b"GT") && (current == 0 || at_ms <= current)
                        || has(b"LT") && current != 0 && at_ms >= current
                    {
                        return int(0);
                    }
                    if at_ms <= now_ms {
                        fields.remove(*name);
                        return int(2);
                    }
                    field.expire_at_ms = at_ms;
                    field.version += 1;
                    int(1)
                });
                Ok(Value::Array(codes.collect()))
            })?,
            "HPERSIST" => self.edit(key, false, |fields| {
                let codes = named.iter().map(|name| match fields.get_mut(*name) {
                    None => int(-2),
                    Some(Field { expire_at_ms: 0, .. }) => int(-1),
                    Some(field) => {
                        field.expire_at_ms = 0;
                        int(1)
                    }
                });
                Ok(Value::Array(codes.collect()))
            })?,
            "HGETEX" => self.edit(key, false, |fields| {
                let values = named.iter().map(|name| {
                    let value = maybe(fields.get(*name));
                    if let (Some(field), Some(at_ms)) = (fields.get_mut(*name), time) {
                        (field.expire_at_ms, field.version) = (at_ms, field.version + 1);
                    } else if let (Some(field), true) = (fields.get_mut(*name), has(b"PERSIST")) {
                        field.expire_at_ms = 0;
                    }
                    value
                });
                Ok(Value::Array(values.collect()))
            })?,
            "HGETDEL" => self.edit(key, false, |fields| {
                Ok(Value::Array(named.iter().map(|name| maybe(fields.remove(*name).as_ref())).collect()))
            })?,
            "HPTTL" => {
                let fields = self.fields(key)?;
                let times = named.iter().map(|name| match fields.get(*name) {
                    None => int(-2),
                    Some(Field { expire_at_ms: 0, .. }) => int(-1),
                    Some(field) => int((field.expire_at_ms - now_ms) as i64),
                });
                Value::Array(times.collect())
            }
            "HGET" => maybe(self.fields(key)?.get(args[1])),
            "HLEN" => int(self.fields(key)?.len() as i64),
            other => panic!("{other} is not in the model"),
        })
    }

    fn tair(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let (key, now_ms) = (args[0], self.now_ms);
        let option = |word: &[u8]| args.iter().position(|other| *other == word);
        let has = |word: &[u8]| option(word).is_some();
        let of = |word: &[u8]| option(word).map(|at| number(args[at + 1]) as u64);
        let how = Write {
            ttl: of(b"PX").map(|ms| now_ms + ms),
            keep: has(b"KEEPTTL"),
            version: of(b"ABS").or(of(b"GT")),
        };
        if of(b"ABS") == Some(0) || of(b"GT") == Some(0) {
            self.fields(key)?;
            return Err(Refusal("ERR syntax error"));
        }
        let faded = self.faded.iter().any(|name| name == key);
        Ok(match name {
            "EXHSET" => self.edit(key, true, |fields| {
                let old = fields.get(args[1]).map(|field| field.version);
                if has(b"NX") && old.is_some() || has(b"XX") && old.is_none() {
                    return Ok(int(-1));
                }
                let is_stale = |old: u64| {
                    of(b"VER").is_some_and(|ver| ver != 0 && old != 0 && ver != old)
                        || of(b"GT").is_some_and(|gt| gt <= old)
                };
                if old.is_some_and(is_stale) {
                    return Err(STALE);
                }
                Ok(int(i64::from(put(fields, args[1], args[2], &how))))
            })?,
            "EXHSETNX" => self.edit(key, true, |fields| {
                let is_new = !fields.contains_key(args[1]);
                if is_new {
                    put(fields, args[1], args[2], &Write { version: Some(0), ..PLAIN });
                }
                Ok(int(i64::from(is_new)))
            })?,
            "EXHMSET" => self.edit(key, true, |fields| {
                for pair in args[1..].chunks(2) {
                    put(fields, pair[0], pair[1], &Write { keep: true, ..PLAIN });
                }
                Ok(Value::Simple(b"OK".to_vec()))
            })?,
            "EXHINCRBY" => self.edit(key, true, |fields| {
                let sum = add(fields, args[1], number(args[2]), "ERR value is not an integer")?;
                put(fields, args[1], sum.to_string().as_bytes(), &how);
                Ok(int(sum))
            })?,
            "EXHPEXPIRE" => {
                let at_ms = now_ms + number(args[2]) as u64;
                let found = self.edit(key, true, |fields| {
                    let field = fields.get_mut(args[1]);
                    Ok(field
                        .map(|field| (field.expire_at_ms, field.version) = (at_ms, field.version + 1))
                        .is_some())
                })?;
                self.reap_all();
                int(i64::from(found))
            }
            "EXHPERSIST" => self.edit(key, true, |fields| {
                let field = fields.get_mut(args[1]).filter(|field| field.expire_at_ms != 0);
                Ok(int(i64::from(field.map(|field| field.expire_at_ms = 0).is_some())))
            })?,
            "EXHPTTL" => match self.fields(key)?.get(args[1]) {
                None if self.keys.contains_key(key) || faded => int(-3),
                None => int(-2),
                Some(Field { expire_at_ms: 0, .. }) => int(-1),
                Some(field) => int((field.expire_at_ms - now_ms) as i64),
            },
            "EXHVER" => match self.fields(key)?.get(args[1]) {
                None if self.keys.contains_key(key) || faded => int(-2),
                None => int(-1),
                Some(field) => int(field.version as i64),
            },
            "EXHSETVER" => {
                let version = number(args[2]) as u64;
                if version == 0 {
                    return Err(Refusal("ERR syntax error"));
                }
                self.edit(key, true, |fields| {
                    Ok(int(i64::from(fields.get_mut(args[1]).map(|field| field.version = version).is_some())))
                })?
            }
            "EXHDELWITHVER" => self.edit(key, true, |fields| {
                let mut deleted = 0;
                for pair in args[1..].chunks(2) {
                    let version = number(pair[1]) as u64;
                    if fields.get(pair[0]).is_some_and(|field| version == 0 || version == field.version) {
                        fields.remove(pair[0]);
                        deleted += 1;
                    }
                }
                Ok(int(deleted))
            })?,
            "EXHLEN" => int(self.fields(key)?.len() as i64),
            "EXHGETALLWITHVER" => {
                let fields = self.fields(key)?;
                let all = fields.into_iter().flat_map(|(name, field)| {
                    [Value::Bulk(name), Value::Bulk(field.value), int(field.version as i64)]
                });
                Value::Array(all.collect())
            }
            other => panic!("{other} is not in the model"),
        })
    }
}

fn add(fields: &BTreeMap<Bytes, Field>, name: &[u8], by: i64, refusal: &'static str) -> Result<i64, Refusal> {
    let old = fields.get(name).map_or(&b"0"[..], |field| &field.value);
    let old = std::str::from_utf8(old).ok().and_then(|text| text.parse::<i64>().ok());
    old.map(|old| old + by).ok_or(Refusal(refusal))
}

fn command(random: &mut impl Iterator<Item = u64>, now_ms: u64) -> Vec<Bytes> {
    let mut below = |limit: usize| random.next().unwrap() as usize % limit;
    let template = TEMPLATES[below(TEMPLATES.len())];
    let words = template.split(' ').map(|word| match word {
        "K" => KEYS[below(KEYS.len())].to_owned(),
        "F" => format!("f{}", below(10)),
        "V" => ["", "x", "17", "a longer value"][below(4)].to_owned(),
        "N" => below(6).to_string(),
        "T" => (1 + below(200)).to_string(),
        "T00" => format!("{}00", 1 + below(20)),
        "A" => (now_ms + below(300) as u64 - 100).to_string(),
        other => other.to_owned(),
    });
    words.map(String::into_bytes).collect()
}

/// Triples in one order.
fn settled(name: &[u8], reply: Value) -> Value {
    match (name, reply) {
        (b"EXHGETALLWITHVER", Value::Array(items)) => {
            let mut triples: Vec<&[Value]> = items.chunks(3).collect();
            triples.sort();
            Value::Array(triples.concat())
        }
        (_, other) => other,
    }
}

struct Play {
    kit: Kit,
    model: Model,
}

impl Play {
    fn new() -> Play {
        let kit = Kit::over(MemoryEngine::new(SPACES).into(), &[]);
        let model = Model { keys: BTreeMap::new(), now_ms: START_MS, faded: Vec::new() };
        Play { kit, model }
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

    fn line(&mut self, line: &str) -> Value {
        let words: Vec<Bytes> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        self.ask(&words)
    }

    /// Everything that a client can learn, said by the server's code and by the model.
    fn differs(&mut self, model: &Model) -> Option<String> {
        let mut model = model.clone();
        for key in KEYS {
            let kind = self.line(&format!("TYPE {key}"));
            let mut lines = vec![format!("TYPE {key}"), format!("EXISTS {key}"), format!("PTTL {key}")];
            if kind == Value::Simple(b"hash".to_vec()) || kind == Value::Simple(b"tairhash-".to_vec()) {
                let fields = (0..10).map(|n| format!("f{n}")).collect::<Vec<_>>().join(" ");
                lines.extend([
                    format!("HLEN {key}"),
                    format!("EXHGETALLWITHVER {key}"),
                    format!("HPTTL {key} FIELDS 10 {fields}"),
                ]);
            }
            for line in lines {
                let words: Vec<Bytes> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
                let (real, expected) = (self.ask(&words), model.run(&words));
                if real != expected {
                    return Some(format!("{line}: {real:?} instead of {expected:?}"));
                }
            }
        }
        None
    }

    fn step(&mut self, words: &[Bytes]) -> Option<&'static str> {
        let real = self.ask(words);
        let before = self.model.clone();
        let mut after = before.clone();
        let expected = after.run(words);
        after.reap_all();
        let line = words.join(&b' ').escape_ascii().to_string();
        if let Value::Error(text) = &real {
            if text.starts_with(b"CLUSTERDOWN") {
                return Some("unavailable");
            }
            if text.starts_with(b"UNKNOWNOUTCOME") {
                self.engine().set_faults(Faults::none());
                if let Some(why) = self.differs(&after) {
                    let other = self.differs(&before);
                    assert_eq!(other, None, "{line}: half of it is there: {why}");
                } else {
                    self.model = after;
                }
                return Some("unknown");
            }
        }
        // Whether a hash that has faded is still there depends on the reaper, and two commands tell.
        let tells = matches!(words[0].as_slice(), b"EXHPTTL" | b"EXHVER");
        if !tells || !before.faded.contains(&words[1]) {
            assert_eq!(real, expected, "{line}\nbefore: {:?}", before.keys);
        }
        self.model = after;
        None
    }

    /// A few steps of the reaper. What is unavailable is left for the next time.
    fn reap(&mut self, random: &mut impl Iterator<Item = u64>) {
        let (now_ms, limit) = (self.kit.now_ms, 1 + random.next().unwrap() as usize % 4);
        for bucket in 0..EXPIRE_BUCKETS {
            let Ok(due) = self.kit.executor.look_at(now_ms, 0, |cx| reap::due(cx, bucket, 0, 10)) else {
                continue;
            };
            for due in due {
                let _ = self.kit.executor.transact_at(now_ms, &StripeSet::ALL, 0, |cx| match due.kind {
                    ExpireKind::Key => reap::reap(cx, &due).map(|_| ()),
                    ExpireKind::Parts => {
                        let row = Some((due.row.as_slice(), due.at_ms));
                        reap::reap_parts(cx, (due.db, &due.key), row, limit).map(|_| ())
                    }
                });
            }
        }
    }
}

#[test]
fn fields_over_a_failing_engine_match_the_model() {
    let (mut unavailable, mut unknown) = (0, 0);
    for seed in 0..4_u64 {
        let mut play = Play::new();
        let mut random = draws(seed ^ 0xf1e1d5);
        play.engine().set_faults(Faults::random(seed, RATES));
        for count in 0..COMMANDS / 4 {
            let words = command(&mut random, play.model.now_ms);
            match play.step(&words) {
                Some("unavailable") => unavailable += 1,
                Some(_) => {
                    unknown += 1;
                    play.engine().set_faults(Faults::random(random.next().unwrap(), RATES));
                }
                None => {}
            }
            if random.next().unwrap().is_multiple_of(8) {
                let ms = random.next().unwrap() % 60;
                play.kit.pass_ms(ms);
                play.model.now_ms += ms;
                play.model.reap_all();
            }
            if random.next().unwrap().is_multiple_of(16) {
                play.reap(&mut random);
            }
            if count.is_multiple_of(BETWEEN_LOOKS) {
                play.engine().set_faults(Faults::none());
                let model = play.model.clone();
                assert_eq!(play.differs(&model), None);
                play.engine().set_faults(Faults::random(random.next().unwrap(), RATES));
            }
        }
        // In the end everything that expires goes, with nothing left behind.
        play.engine().set_faults(Faults::none());
        play.kit.pass_ms(10_000);
        (0..1_000).for_each(|_| play.reap(&mut random));
        play.model.now_ms += 10_000;
        play.model.reap_all();
        let model = play.model.clone();
        assert_eq!(play.differs(&model), None);
        assert_eq!(play.line("DBSIZE"), int(model.keys.len() as i64));
    }
    assert!(unavailable > 50 && unknown > 20, "{unavailable} {unknown}");
}
