//! Random values, dumped by one server and restored by the other: both must hold the same.
//!
//! A script is played to one server only. What each few of its commands have changed is dumped there and restored in the other one.

use std::collections::HashMap;

use super::compare;
use super::grammar::{self, Family};
use super::play::{self, Args, Step};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server};
use crate::rng::Rng;
use crate::value::{Value, quote};

/// Commands that are played at a time; then what they have changed is exchanged.
const CHUNK: usize = 10;

pub struct Pair {
    tarn: Server,
    redis: Server,
}

impl Pair {
    /// Of a server that writes this version, and the one that is compared with.
    pub fn start(program: Program, version: &str) -> Pair {
        let tarn = Server::start(Options::new(program).with("dump-rdb-version", version));
        Pair { tarn, redis: Server::start(Options::new(Program::Redis)) }
    }

    /// How many values were exchanged.
    pub fn run(&self, seed: u64, families: &[&Family], steps: usize) -> usize {
        let script = grammar::script(&mut Rng::new(seed), families, steps);
        let ways = [(&self.tarn, &self.redis), (&self.redis, &self.tarn)];
        ways.map(|(from, to)| exchange(seed, &script.steps, from, to)).into_iter().sum()
    }
}

fn exchange(seed: u64, steps: &[Step], from: &Server, to: &Server) -> usize {
    let mut exchange = Exchange {
        what: format!("from {} to {}, seed {seed}", from.program().name(), to.program().name()),
        source: from.conn(),
        target: to.conn(),
        known: HashMap::new(),
    };
    let mut player = from.conn();
    for conn in [&mut player, &mut exchange.target] {
        conn.call(&["FLUSHALL"]);
    }
    let commands: Vec<&Args> = steps
        .iter()
        .filter_map(|step| if let Step::Command(args) = step { Some(args) } else { None })
        .collect();
    let mut count = 0;
    for some in commands.chunks(CHUNK) {
        let _ = player.try_call_all(some);
        count += exchange.changed(0);
    }
    count += (1..play::DATABASES).map(|db| exchange.changed(db)).sum::<usize>();
    let mismatch = play::difference(from, to, steps.len());
    assert!(mismatch.is_none(), "{}:\n{}", exchange.what, mismatch.unwrap());
    count
}

struct Exchange {
    what: String,
    source: Conn,
    target: Conn,
    /// What each key was when it was last dumped.
    known: HashMap<(usize, Vec<u8>), (Vec<u8>, i64)>,
}

impl Exchange {
    /// Dumps every key of a database and restores those that have changed; how many.
    fn changed(&mut self, db: usize) -> usize {
        for conn in [&mut self.source, &mut self.target] {
            conn.call(&["SELECT", &db.to_string()]);
        }
        let keys = |conn: &mut Conn| -> Vec<Vec<u8>> {
            let keys = conn.call(&["KEYS", "*"]);
            keys.items().unwrap().iter().filter_map(Value::bytes).map(<[u8]>::to_vec).collect()
        };
        let names = keys(&mut self.source);
        // What is gone there goes here.
        for gone in keys(&mut self.target).into_iter().filter(|key| !names.contains(key)) {
            self.target.call(&[b"DEL".to_vec(), gone.clone()]);
            self.known.remove(&(db, gone));
        }
        let word = |name: &str, key: &[u8]| vec![name.as_bytes().to_vec(), key.to_vec()];
        let ask: Vec<Args> =
            names.iter().flat_map(|key| [word("DUMP", key), word("PEXPIRETIME", key)]).collect();
        let facts = self.source.call_all(&ask);
        let mut restored = Vec::new();
        let mut restores: Vec<Args> = Vec::new();
        for (key, fact) in names.into_iter().zip(facts.chunks(2)) {
            // Its time may have come.
            let (Value::Bulk(payload), Some(expiry)) = (&fact[0], fact[1].int()) else { continue };
            let now = (payload.clone(), expiry);
            if self.known.get(&(db, key.clone())) == Some(&now) {
                continue;
            }
            self.known.insert((db, key.clone()), now);
            let expiry = expiry.max(0).to_string().into_bytes();
            let options = [b"ABSTTL".to_vec(), b"REPLACE".to_vec()];
            restores.push(
                [vec![b"RESTORE".to_vec(), key.clone(), expiry, payload.clone()], options.to_vec()].concat(),
            );
            restored.push((key, payload.clone()));
        }
        let replies = self.target.call_all(&restores);
        for ((key, payload), reply) in restored.iter().zip(replies) {
            let about = || format!("{}: {} is {}", self.what, quote(key), quote(payload));
            assert_eq!(reply, Value::ok(), "{}", about());
            let [here, there] = [&mut self.source, &mut self.target].map(|conn| content(conn, key));
            // 17 digits and the shortest ones are the same number.
            assert!(compare::alike(&here, &there), "{}\n{here}\n{there}", about());
        }
        restored.len()
    }
}

/// What a key holds, and what goes with it.
fn content(conn: &mut Conn, key: &[u8]) -> Value {
    let kind = conn.call(&[b"TYPE", key]);
    if kind == Value::Simple(b"none".to_vec()) {
        return kind;
    }
    let held = play::in_order(&kind, &conn.call(&play::content(&kind, key)));
    Value::Array([vec![kind, held], stream(conn, key), times(conn, key)].concat())
}

/// When the fields of a hash expire, by their names; nothing where no field can, or none will.
fn times(conn: &mut Conn, key: &[u8]) -> Vec<Value> {
    if conn.call(&[b"TYPE", key]) != Value::Simple(b"hash".to_vec()) {
        return Vec::new();
    }
    let Value::Array(mut fields) = conn.call(&[b"HKEYS", key]) else { return Vec::new() };
    fields.sort();
    let count = fields.len().to_string();
    let mut ask = vec![&b"HPEXPIRETIME"[..], key, b"FIELDS", count.as_bytes()];
    ask.extend(fields.iter().filter_map(Value::bytes));
    match conn.call(&ask) {
        Value::Array(times) if times.iter().any(|time| *time != Value::Int(-1)) => [fields, times].concat(),
        _ => Vec::new(),
    }
}

/// What a stream has beside its entries, without times that pass.
fn stream(conn: &mut Conn, key: &[u8]) -> Vec<Value> {
    if conn.call(&[b"TYPE", key]) != Value::Simple(b"stream".to_vec()) {
        return Vec::new();
    }
    let mut found = vec![conn.call(&[&b"XRANGE"[..], key, b"-", b"+"])];
    let info = conn.call(&[&b"XINFO"[..], b"STREAM", key]);
    let told = [
        "length",
        "last-generated-id",
        "max-deleted-entry-id",
        "entries-added",
        "recorded-first-entry-id",
        "groups",
    ];
    let told = |pair: &&[Value]| told.iter().any(|name| pair[0] == Value::bulk(name));
    found.extend(info.items().unwrap().chunks(2).filter(told).flatten().cloned());
    let groups = conn.call(&[&b"XINFO"[..], b"GROUPS", key]);
    // How far a group is behind 7.0 reckons otherwise.
    for group in groups.items().unwrap() {
        let told = group.items().unwrap().chunks(2).filter(|pair| pair[0] != Value::bulk("lag"));
        found.extend(told.flatten().cloned());
    }
    for group in groups.items().unwrap() {
        let name = group.items().unwrap()[1].bytes().unwrap().to_vec();
        let pending = conn.call(&[&b"XPENDING"[..], key, &name, b"-", b"+", b"1000"]);
        for entry in pending.items().unwrap() {
            let parts = entry.items().unwrap();
            found.extend([&parts[0], &parts[1], &parts[3]].into_iter().cloned());
        }
        let consumers = conn.call(&[&b"XINFO"[..], b"CONSUMERS", key, &name]);
        for consumer in consumers.items().unwrap() {
            found.extend(consumer.items().unwrap()[..4].iter().cloned());
        }
    }
    found
}
