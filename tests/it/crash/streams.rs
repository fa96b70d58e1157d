//! Writes to streams: entries that come and are trimmed, and a group that reads them.

use std::collections::{BTreeMap, BTreeSet};

use super::collections::Content;
use super::model::{Entry, Keys};
use crate::rng::Rng;
use crate::value::Value;

/// Entries by the first part of their ids; the second is 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    entries: BTreeMap<u64, Vec<u8>>,
    group: Option<Group>,
}

/// What the group `g` was given last, and what its one consumer has pending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    last: u64,
    pending: BTreeSet<u64>,
}

#[derive(Debug, Clone)]
pub enum Change {
    /// Trimmed to so many entries.
    Add {
        key: Vec<u8>,
        id: u64,
        value: Vec<u8>,
        most: usize,
    },
    Delete(Vec<u8>, u64),
    CreateGroup(Vec<u8>),
    DestroyGroup(Vec<u8>),
    Take(Vec<u8>, usize),
    /// So many of the last ids before this one.
    Acknowledge(Vec<u8>, u64),
}

/// Ids that one XACK names.
const ACKNOWLEDGED: u64 = 40;

impl Change {
    /// `serial` is greater than all before it.
    pub fn random(rng: &mut Rng, key: Vec<u8>, serial: u64) -> Change {
        match rng.below(20) {
            0..8 => {
                let value = format!("value:{serial}").into_bytes().repeat(1 + rng.below(20));
                Change::Add { key, id: serial, value, most: 1 + rng.below(200) }
            }
            8 => Change::Delete(key, serial.saturating_sub(rng.below(40) as u64)),
            9..11 => Change::CreateGroup(key),
            11 => Change::DestroyGroup(key),
            12..17 => Change::Take(key, 1 + rng.below(8)),
            _ => Change::Acknowledge(key, serial),
        }
    }

    pub fn args(&self) -> Vec<Vec<u8>> {
        let text = |words: String| words.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let with_key = |name: &str, key: &Vec<u8>, rest: String| {
            text(name.to_owned()).into_iter().chain([key.clone()]).chain(text(rest)).collect()
        };
        match self {
            Change::Add { key, id, value, most } => {
                let mut args: Vec<Vec<u8>> = with_key("XADD", key, format!("MAXLEN {most} {id}-1 f"));
                args.push(value.clone());
                args
            }
            Change::Delete(key, id) => with_key("XDEL", key, format!("{id}-1")),
            Change::CreateGroup(key) => with_key("XGROUP CREATE", key, "g 0 MKSTREAM".to_owned()),
            Change::DestroyGroup(key) => with_key("XGROUP DESTROY", key, "g".to_owned()),
            Change::Take(key, count) => {
                let name = format!("XREADGROUP GROUP g c COUNT {count} STREAMS");
                with_key(&name, key, ">".to_owned())
            }
            Change::Acknowledge(key, before) => {
                let ids = before.saturating_sub(ACKNOWLEDGED)..*before;
                let ids: Vec<String> = ids.chain([*before]).map(|id| format!("{id}-1")).collect();
                with_key("XACK", key, format!("g {}", ids.join(" ")))
            }
        }
    }

    /// Applies the command, and says what the server must answer.
    pub fn apply(&self, keys: &mut Keys) -> Value {
        let int = |n: usize| Value::Int(n as i64);
        let error = |text: &str| Value::Error(text.as_bytes().to_vec());
        let key = match self {
            Change::Add { key, .. }
            | Change::Delete(key, _)
            | Change::CreateGroup(key)
            | Change::DestroyGroup(key)
            | Change::Take(key, _)
            | Change::Acknowledge(key, _) => key,
        };
        let creates = matches!(self, Change::Add { .. } | Change::CreateGroup(_));
        if creates && !keys.contains_key(key) {
            keys.insert(key.clone(), Entry { content: Content::Stream(Stream::default()), expires: None });
        }
        let no_group = format!(
            "NOGROUP No such key '{}' or consumer group 'g' in XREADGROUP with GROUP option",
            key.escape_ascii()
        );
        let Some(stream) = keys.get_mut(key).map(|entry| match &mut entry.content {
            Content::Stream(stream) => stream,
            other => panic!("{other:?} is no stream"),
        }) else {
            return match self {
                Change::DestroyGroup(_) => error(
                    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the \
                     MKSTREAM option to create an empty stream automatically.",
                ),
                Change::Take(..) => error(&no_group),
                _ => int(0),
            };
        };
        match self {
            Change::Add { id, value, most, .. } => {
                stream.entries.insert(*id, value.clone());
                while stream.entries.len() > *most {
                    stream.entries.pop_first();
                }
                Value::Bulk(format!("{id}-1").into_bytes())
            }
            Change::Delete(_, id) => int(usize::from(stream.entries.remove(id).is_some())),
            Change::CreateGroup(_) if stream.group.is_some() => {
                error("BUSYGROUP Consumer Group name already exists")
            }
            Change::CreateGroup(_) => {
                stream.group = Some(Group::default());
                Value::ok()
            }
            Change::DestroyGroup(_) => int(usize::from(stream.group.take().is_some())),
            Change::Take(_, count) => {
                let Some(group) = &mut stream.group else { return error(&no_group) };
                let taken: Vec<Value> = stream
                    .entries
                    .range(group.last + 1..)
                    .take(*count)
                    .map(|(id, value)| {
                        group.last = *id;
                        group.pending.insert(*id);
                        let fields = Value::Array(vec![Value::bulk(b"f"), Value::Bulk(value.clone())]);
                        Value::Array(vec![Value::Bulk(format!("{id}-1").into_bytes()), fields])
                    })
                    .collect();
                if taken.is_empty() {
                    return Value::NilArray;
                }
                Value::Array(vec![Value::Array(vec![Value::Bulk(key.clone()), Value::Array(taken)])])
            }
            Change::Acknowledge(_, before) => {
                let Some(group) = &mut stream.group else { return int(0) };
                let had = group.pending.len();
                let named = before.saturating_sub(ACKNOWLEDGED)..=*before;
                group.pending.retain(|id| !named.contains(id));
                int(had - group.pending.len())
            }
        }
    }
}

/// How to ask for all of a stream.
pub fn questions(key: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let question = |before: &str, after: &str| {
        let words =
            |text: &str| text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        words(before).into_iter().chain([key.to_vec()]).chain(words(after)).collect()
    };
    vec![
        question("XRANGE", "- +"),
        question("XLEN", ""),
        question("XPENDING", "g - + 1000000"),
        question("XPENDING", "g"),
        question("XINFO GROUPS", ""),
    ]
}

/// What the answers to [`questions`] say. They must agree with each other.
pub fn content(key: &[u8], answers: &[Value]) -> Stream {
    let first = |id: &Value| {
        let text = String::from_utf8(id.bytes().expect("an id").to_vec()).unwrap();
        text.split('-').next().unwrap().parse::<u64>().unwrap()
    };
    let items = |value: &Value| value.items().expect("an array").to_vec();
    let entries: BTreeMap<u64, Vec<u8>> = items(&answers[0])
        .iter()
        .map(|entry| {
            let parts = items(entry);
            (first(&parts[0]), items(&parts[1])[1].bytes().expect("a value").to_vec())
        })
        .collect();
    let group = (!answers[2].is_error()).then(|| {
        let listed = items(&answers[2]);
        let pending: BTreeSet<u64> = listed.iter().map(|entry| first(&items(entry)[0])).collect();
        let summary = items(&answers[3]);
        assert_eq!(summary[0], Value::Int(pending.len() as i64), "what {} has pending", key.escape_ascii());
        // name, consumers, pending, last-delivered-id, each with its value
        let group = items(&items(&answers[4])[0]);
        assert_eq!(group[5], summary[0]);
        Group { last: first(&group[7]), pending }
    });
    Stream { entries, group }
}

impl Stream {
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
