//! Random values, dumped by one server and restored by the other: both must hold the same.
//!
//! A script is played to one server only. Every key it has left is dumped there and restored in the other one.

use super::grammar::{self, Family};
use super::play::{self, Step};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server};
use crate::rng::Rng;
use crate::value::{Value, quote};

/// What redis-server 7.0 reads.
const VERSION: &str = "10";

pub struct Pair {
    tarn: Server,
    redis: Server,
}

impl Pair {
    pub fn start(program: Program) -> Pair {
        let tarn = Server::start(Options::new(program).with("dump-rdb-version", VERSION));
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
    let (mut source, mut target) = (from.conn(), to.conn());
    source.call(&["FLUSHALL"]);
    target.call(&["FLUSHALL"]);
    for step in steps {
        if let Step::Command(args) = step {
            let _ = source.try_call(args);
        }
    }
    let what = format!("from {} to {}, seed {seed}", from.program().name(), to.program().name());
    let mut source = from.conn();
    let mut count = 0;
    for db in 0..play::DATABASES {
        for conn in [&mut source, &mut target] {
            conn.call(&["SELECT", &db.to_string()]);
        }
        let keys = source.call(&["KEYS", "*"]);
        for key in keys.items().unwrap().iter().filter_map(Value::bytes) {
            let expiry = source.call(&[b"PEXPIRETIME", key]).int().unwrap();
            let Value::Bulk(payload) = source.call(&[b"DUMP", key]) else {
                // Its time has come.
                continue;
            };
            let expiry = expiry.max(0).to_string();
            let restore = [&b"RESTORE"[..], key, expiry.as_bytes(), &payload, b"ABSTTL"];
            let restored = target.call(&restore);
            assert_eq!(restored, Value::ok(), "{what}: {} is {}", quote(key), quote(&payload));
            let facts = [&mut source, &mut target].map(|conn| stream(conn, key));
            assert_eq!(facts[0], facts[1], "{what}: {} is {}", quote(key), quote(&payload));
            count += 1;
        }
    }
    let mismatch = play::difference(from, to, steps.len());
    assert!(mismatch.is_none(), "{what}:\n{}", mismatch.unwrap());
    count
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
    found.push(groups.clone());
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
