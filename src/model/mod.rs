//! What the data types are, said as plainly as possible: a map in memory. Tests play the same commands to it and to the
//! server's own code and compare.

mod compaction;
mod fields;
mod play;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tarn_resp::decode::Value;

pub type Bytes = Vec<u8>;

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    String(Bytes),
    Hash(BTreeMap<Bytes, Bytes>),
    Set(BTreeSet<Bytes>),
    List(VecDeque<Bytes>),
    Sorted(BTreeMap<Bytes, i64>),
}

impl Data {
    fn is_empty(&self) -> bool {
        match self {
            Data::String(_) => false,
            Data::Hash(hash) => hash.is_empty(),
            Data::Set(set) => set.is_empty(),
            Data::List(list) => list.is_empty(),
            Data::Sorted(sorted) => sorted.is_empty(),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Data::String(_) => "string",
            Data::Hash(_) => "hash",
            Data::Set(_) => "set",
            Data::List(_) => "list",
            Data::Sorted(_) => "zset",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub data: Data,
    /// 0 is never.
    pub expire_at_ms: u64,
}

/// One database.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    pub keys: BTreeMap<Bytes, Key>,
    pub now_ms: u64,
}

/// Why a command changes nothing.
pub struct Refusal(&'static str);

type Outcome = Result<Value, Refusal>;

const WRONG_TYPE: Refusal = Refusal("WRONGTYPE Operation against a key holding the wrong kind of value");

fn int(number: usize) -> Value {
    Value::Integer(number as i64)
}

fn bulk(bytes: &[u8]) -> Value {
    Value::Bulk(bytes.to_vec())
}

fn maybe(bytes: Option<&Bytes>) -> Value {
    bytes.map_or(Value::NilBulk, |bytes| bulk(bytes))
}

fn number(word: &[u8]) -> i64 {
    std::str::from_utf8(word).unwrap().parse().unwrap()
}

/// A range of indexes that may count from the end, as one from the start.
fn range(len: usize, start: i64, end: i64) -> std::ops::Range<usize> {
    let place = |index: i64| if index < 0 { (len as i64 + index).max(0) } else { index };
    let (start, end) = (place(start), if end < 0 { len as i64 + end } else { end }.min(len as i64 - 1));
    if start > end { 0..0 } else { start as usize..end as usize + 1 }
}

/// By score, then by member.
fn ordered(sorted: &BTreeMap<Bytes, i64>) -> Vec<(i64, Bytes)> {
    let mut all: Vec<_> = sorted.iter().map(|(member, score)| (*score, member.clone())).collect();
    all.sort();
    all
}

macro_rules! as_kind {
    ($read:ident, $write:ident, $kind:ident, $of:ty) => {
        fn $read(&self, key: &[u8]) -> Result<$of, Refusal> {
            match self.keys.get(key).map(|key| &key.data) {
                None => Ok(<$of>::default()),
                Some(Data::$kind(data)) => Ok(data.clone()),
                Some(_) => Err(WRONG_TYPE),
            }
        }

        /// Changes a collection that may not be there yet and is gone when it is empty.
        fn $write<T>(&mut self, key: &[u8], work: impl FnOnce(&mut $of) -> T) -> Result<T, Refusal> {
            let mut data = self.$read(key)?;
            let done = work(&mut data);
            self.put_data(key, Data::$kind(data));
            Ok(done)
        }
    };
}

impl Model {
    as_kind!(hash, edit_hash, Hash, BTreeMap<Bytes, Bytes>);
    as_kind!(set, edit_set, Set, BTreeSet<Bytes>);
    as_kind!(list, edit_list, List, VecDeque<Bytes>);
    as_kind!(sorted, edit_sorted, Sorted, BTreeMap<Bytes, i64>);

    fn string(&self, key: &[u8]) -> Result<Option<Bytes>, Refusal> {
        match self.keys.get(key).map(|key| &key.data) {
            None => Ok(None),
            Some(Data::String(data)) => Ok(Some(data.clone())),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// Keeps the expiry.
    fn put_data(&mut self, key: &[u8], data: Data) {
        if data.is_empty() {
            self.keys.remove(key);
            return;
        }
        let expire_at_ms = self.keys.get(key).map_or(0, |key| key.expire_at_ms);
        self.keys.insert(key.to_vec(), Key { data, expire_at_ms });
    }

    /// In place of whatever is there, without an expiry.
    fn replace(&mut self, key: &[u8], data: Data) {
        self.keys.remove(key);
        self.put_data(key, data);
    }

    pub fn pass_ms(&mut self, ms: u64) {
        self.now_ms += ms;
        let now_ms = self.now_ms;
        self.keys.retain(|_, key| key.expire_at_ms == 0 || key.expire_at_ms > now_ms);
    }

    /// Runs a command; the reply, unordered ones in the order of their bytes.
    pub fn run(&mut self, words: &[Bytes]) -> Value {
        let name = std::str::from_utf8(&words[0]).unwrap().to_owned();
        let before = self.clone();
        let args: Vec<&[u8]> = words[1..].iter().map(Vec::as_slice).collect();
        match self.command(&name, &args) {
            Ok(value) => value,
            Err(Refusal(text)) => {
                *self = before;
                Value::Error(text.as_bytes().to_vec())
            }
        }
    }

    fn command(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        match name.as_bytes()[0] {
            b'H' => self.hash_command(name, args),
            b'L' | b'R' if name != "RENAME" => self.list_command(name, args),
            b'Z' => self.sorted_command(name, args),
            b'S' if name != "SET" => self.set_command(name, args),
            _ => self.key_command(name, args),
        }
    }

    fn key_command(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let key = args[0];
        let exists = self.keys.contains_key(key);
        Ok(match name {
            "SET" => {
                self.replace(key, Data::String(args[1].to_vec()));
                Value::Simple(b"OK".to_vec())
            }
            "GET" => maybe(self.string(key)?.as_ref()),
            "APPEND" => {
                let mut value = self.string(key)?.unwrap_or_default();
                value.extend_from_slice(args[1]);
                let len = value.len();
                self.put_data(key, Data::String(value));
                int(len)
            }
            "DEL" => int(args.iter().filter(|key| self.keys.remove(**key).is_some()).count()),
            "EXISTS" => int(usize::from(exists)),
            "TYPE" => {
                let name = self.keys.get(key).map_or("none", |key| key.data.name());
                Value::Simple(name.as_bytes().to_vec())
            }
            "PEXPIRE" => {
                let at = self.now_ms + number(args[1]) as u64;
                int(usize::from(self.keys.get_mut(key).map(|key| key.expire_at_ms = at).is_some()))
            }
            "PTTL" => match self.keys.get(key) {
                None => Value::Integer(-2),
                Some(Key { expire_at_ms: 0, .. }) => Value::Integer(-1),
                Some(key) => Value::Integer((key.expire_at_ms - self.now_ms) as i64),
            },
            "PERSIST" => {
                let key = self.keys.get_mut(key).filter(|key| key.expire_at_ms != 0);
                int(usize::from(key.map(|key| key.expire_at_ms = 0).is_some()))
            }
            "RENAME" if !exists => return Err(Refusal("ERR no such key")),
            "RENAME" => {
                let moved = self.keys.remove(key).unwrap();
                self.keys.insert(args[1].to_vec(), moved);
                Value::Simple(b"OK".to_vec())
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
            other => panic!("{other} is not in the model"),
        })
    }

    fn hash_command(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let key = args[0];
        Ok(match name {
            "HSET" => self.edit_hash(key, |hash| {
                let pairs = args[1..].chunks(2);
                int(pairs.filter(|pair| hash.insert(pair[0].to_vec(), pair[1].to_vec()).is_none()).count())
            })?,
            "HSETNX" => self.edit_hash(key, |hash| {
                let is_new = !hash.contains_key(args[1]);
                if is_new {
                    hash.insert(args[1].to_vec(), args[2].to_vec());
                }
                int(usize::from(is_new))
            })?,
            "HDEL" => self.edit_hash(key, |hash| {
                int(args[1..].iter().filter(|field| hash.remove(**field).is_some()).count())
            })?,
            "HINCRBY" => {
                let old = self.hash(key)?.get(args[1]).cloned().unwrap_or_else(|| b"0".to_vec());
                let Some(old) = std::str::from_utf8(&old).ok().and_then(|text| text.parse::<i64>().ok())
                else {
                    return Err(Refusal("ERR hash value is not an integer"));
                };
                let new = old + number(args[2]);
                self.edit_hash(key, |hash| hash.insert(args[1].to_vec(), new.to_string().into_bytes()))?;
                Value::Integer(new)
            }
            "HGET" => maybe(self.hash(key)?.get(args[1])),
            "HEXISTS" => int(usize::from(self.hash(key)?.contains_key(args[1]))),
            "HLEN" => int(self.hash(key)?.len()),
            "HGETALL" => {
                let hash = self.hash(key)?;
                Value::Array(hash.iter().flat_map(|(field, value)| [bulk(field), bulk(value)]).collect())
            }
            other => panic!("{other} is not in the model"),
        })
    }

    fn set_command(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let key = args[0];
        let members = |set: &BTreeSet<Bytes>| Value::Array(set.iter().map(|member| bulk(member)).collect());
        Ok(match name {
            "SADD" => self.edit_set(key, |set| {
                int(args[1..].iter().filter(|member| set.insert(member.to_vec())).count())
            })?,
            "SREM" => {
                self.edit_set(key, |set| int(args[1..].iter().filter(|member| set.remove(**member)).count()))?
            }
            "SCARD" => int(self.set(key)?.len()),
            "SISMEMBER" => int(usize::from(self.set(key)?.contains(args[1]))),
            "SMEMBERS" => members(&self.set(key)?),
            "SMOVE" => {
                // Redis looks at the destination's type only where there is a source.
                if !self.keys.contains_key(key) {
                    return Ok(int(0));
                }
                self.set(key)?;
                self.set(args[1])?;
                if !self.set(key)?.contains(args[2]) {
                    return Ok(int(0));
                }
                if key != args[1] {
                    self.edit_set(key, |set| set.remove(args[2]))?;
                    self.edit_set(args[1], |set| set.insert(args[2].to_vec()))?;
                }
                int(1)
            }
            "SINTER" | "SUNION" | "SDIFF" => members(&self.algebra(name, args)?),
            "SINTERSTORE" | "SUNIONSTORE" | "SDIFFSTORE" => {
                let result = self.algebra(name, &args[1..])?;
                let size = result.len();
                self.replace(key, Data::Set(result));
                int(size)
            }
            other => panic!("{other} is not in the model"),
        })
    }

    fn algebra(&self, name: &str, keys: &[&[u8]]) -> Result<BTreeSet<Bytes>, Refusal> {
        let mut sets = keys.iter().map(|key| self.set(key)).collect::<Result<Vec<_>, _>>()?.into_iter();
        let first = sets.next().unwrap();
        Ok(sets.fold(first, |left, right| match &name[..2] {
            "SI" => &left & &right,
            "SU" => &left | &right,
            _ => &left - &right,
        }))
    }

    fn list_command(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let key = args[0];
        Ok(match name {
            "LPUSH" | "RPUSH" => self.edit_list(key, |list| {
                for value in &args[1..] {
                    if name == "LPUSH" {
                        list.push_front(value.to_vec())
                    } else {
                        list.push_back(value.to_vec())
                    }
                }
                int(list.len())
            })?,
            "LPOP" => maybe(self.edit_list(key, VecDeque::pop_front)?.as_ref()),
            "RPOP" => maybe(self.edit_list(key, VecDeque::pop_back)?.as_ref()),
            "LLEN" => int(self.list(key)?.len()),
            "LINDEX" => {
                let list = self.list(key)?;
                let index = number(args[1]);
                let index = if index < 0 { index + list.len() as i64 } else { index };
                maybe(usize::try_from(index).ok().and_then(|index| list.get(index)))
            }
            "LRANGE" => {
                let list = self.list(key)?;
                let wanted = range(list.len(), number(args[1]), number(args[2]));
                Value::Array(list.range(wanted).map(|value| bulk(value)).collect())
            }
            "LTRIM" => {
                self.edit_list(key, |list| {
                    let kept = range(list.len(), number(args[1]), number(args[2]));
                    *list = list.range(kept).cloned().collect();
                })?;
                Value::Simple(b"OK".to_vec())
            }
            "LSET" => {
                let len = self.list(key)?.len();
                let index = number(args[1]);
                let index = if index < 0 { index + len as i64 } else { index };
                match usize::try_from(index).ok().filter(|index| *index < len) {
                    _ if len == 0 => return Err(Refusal("ERR no such key")),
                    None => return Err(Refusal("ERR index out of range")),
                    Some(index) => self.edit_list(key, |list| list[index] = args[2].to_vec())?,
                }
                Value::Simple(b"OK".to_vec())
            }
            "LINSERT" => self.edit_list(key, |list| {
                let Some(at) = list.iter().position(|value| value == args[2]) else {
                    return Value::Integer(if list.is_empty() { 0 } else { -1 });
                };
                list.insert(at + usize::from(args[1] == b"AFTER"), args[3].to_vec());
                int(list.len())
            })?,
            "LREM" => self.edit_list(key, |list| {
                let (count, before) = (number(args[1]), list.len());
                let mut left = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
                let mut keep = |value: &Bytes| {
                    let goes = value == args[2] && left > 0;
                    left -= usize::from(goes);
                    !goes
                };
                if count < 0 {
                    let kept: Vec<_> = list.iter().rev().filter(|value| keep(value)).cloned().collect();
                    *list = kept.into_iter().rev().collect();
                } else {
                    list.retain(keep);
                }
                int(before - list.len())
            })?,
            "LMOVE" => {
                let to = args[1];
                if !self.keys.contains_key(key) {
                    return Ok(Value::NilBulk);
                }
                self.list(key)?;
                self.list(to)?;
                // A list that only turns round keeps its expiry, also with one element.
                let expire_at_ms = self.keys[key].expire_at_ms;
                let value = self
                    .edit_list(
                        key,
                        |list| if args[2] == b"LEFT" { list.pop_front() } else { list.pop_back() },
                    )?
                    .unwrap();
                self.edit_list(to, |list| {
                    if args[3] == b"LEFT" {
                        list.push_front(value.clone())
                    } else {
                        list.push_back(value.clone())
                    }
                })?;
                if key == to
                    && let Some(key) = self.keys.get_mut(key)
                {
                    key.expire_at_ms = expire_at_ms;
                }
                bulk(&value)
            }
            other => panic!("{other} is not in the model"),
        })
    }

    fn sorted_command(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        let key = args[0];
        let text = |score: i64| Value::Bulk(score.to_string().into_bytes());
        let pairs = |all: Vec<(i64, Bytes)>| {
            Value::Array(
                all.into_iter().flat_map(|(score, member)| [Value::Bulk(member), text(score)]).collect(),
            )
        };
        Ok(match name {
            "ZADD" => self.edit_sorted(key, |sorted| {
                let pairs = args[1..].chunks(2);
                int(pairs.filter(|pair| sorted.insert(pair[1].to_vec(), number(pair[0])).is_none()).count())
            })?,
            "ZINCRBY" => self.edit_sorted(key, |sorted| {
                let score = sorted.entry(args[2].to_vec()).or_default();
                *score += number(args[1]);
                text(*score)
            })?,
            "ZREM" => self.edit_sorted(key, |sorted| {
                int(args[1..].iter().filter(|member| sorted.remove(**member).is_some()).count())
            })?,
            "ZCARD" => int(self.sorted(key)?.len()),
            "ZSCORE" => self.sorted(key)?.get(args[1]).map_or(Value::NilBulk, |score| text(*score)),
            "ZRANK" => {
                let all = ordered(&self.sorted(key)?);
                all.iter().position(|(_, member)| member == args[1]).map_or(Value::NilBulk, int)
            }
            "ZRANGE" => {
                let all = ordered(&self.sorted(key)?);
                let wanted = range(all.len(), number(args[1]), number(args[2]));
                pairs(all[wanted].to_vec())
            }
            "ZRANGEBYSCORE" => {
                let (least, most) = (number(args[1]), number(args[2]));
                let all = ordered(&self.sorted(key)?).into_iter();
                Value::Array(
                    all.filter(|(score, _)| (least..=most).contains(score))
                        .map(|(_, m)| Value::Bulk(m))
                        .collect(),
                )
            }
            "ZREMRANGEBYSCORE" => self.edit_sorted(key, |sorted| {
                let (least, most, before) = (number(args[1]), number(args[2]), sorted.len());
                sorted.retain(|_, score| !(least..=most).contains(score));
                int(before - sorted.len())
            })?,
            "ZPOPMIN" => self.edit_sorted(key, |sorted| {
                let first: Vec<_> = ordered(sorted).into_iter().take(1).collect();
                for (_, member) in &first {
                    sorted.remove(member);
                }
                pairs(first)
            })?,
            "ZUNIONSTORE" => {
                let mut sum = BTreeMap::<Bytes, i64>::new();
                for source in &args[2..] {
                    let scores = match self.keys.get(*source).map(|key| &key.data) {
                        Some(Data::Set(set)) => set.iter().map(|member| (member.clone(), 1)).collect(),
                        _ => self.sorted(source)?,
                    };
                    for (member, score) in scores {
                        *sum.entry(member).or_default() += score;
                    }
                }
                let size = sum.len();
                self.replace(key, Data::Sorted(sum));
                int(size)
            }
            other => panic!("{other} is not in the model"),
        })
    }
}
