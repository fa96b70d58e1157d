//! Fields that expire while the server is killed: none outlives its time after a restart, none goes early, and the
//! number of fields is that of the rows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::collections::Content;
use super::model::{Entry, Keys, difference, now_ms};
use super::{DEFAULT_KILLS, LONGEST_PIPELINE, LONGEST_RUN_MS, env_number};
use crate::conn::{Conn, encode};
use crate::harness::{Options, Program, Server, StopOnDrop, eventually};
use crate::rng::Rng;
use crate::value::{Value, quote};

const WRITERS: usize = 3;
const HASHES: usize = 6;
/// Those whose fields may die soon, and the fields that may.
const SOON_HASHES: usize = 4;
const FIELDS: usize = 12;
const SOON_FIELDS: usize = 7;
/// What is read has expired when it is older than this: a reply takes a moment.
const SLACK_MS: u64 = 2;

#[derive(Debug, Clone)]
enum Op {
    /// Fields that live on.
    Set(usize, Vec<usize>, u64),
    /// Fields that die soon, or much later.
    SetEx(usize, Vec<usize>, u64, u64),
    Expire(usize, usize, u64),
    Persist(usize, usize),
    Del(usize, Vec<usize>),
    /// All of the hash.
    Drop(usize),
    /// The second becomes what the first was.
    Rename(usize, usize),
}

impl Op {
    fn random(rng: &mut Rng, serial: u64) -> Op {
        let hash = rng.below(HASHES);
        // Some hashes are renamed, and some fields are given other times: these do not die meanwhile, so that it is
        // certain what must be there.
        let steady = hash >= SOON_HASHES;
        let mut fields = |from: usize, to: usize| {
            (0..=rng.below(4)).map(|_| from + rng.below(to - from)).collect::<Vec<_>>()
        };
        let (any, lasting) = (fields(0, FIELDS), fields(SOON_FIELDS, FIELDS));
        let soon = fields(0, if steady { FIELDS } else { SOON_FIELDS });
        let soon_ms = if steady { 1_000_000 } else { 1 + rng.below(150) as u64 };
        let field = lasting[0];
        match rng.below(100) {
            0..25 => Op::Set(hash, any, serial),
            25..60 => Op::SetEx(hash, soon, soon_ms, serial),
            60..70 => Op::SetEx(hash, lasting, 1_000_000, serial),
            70..80 => Op::Expire(hash, field, 500_000),
            80..85 => Op::Persist(hash, field),
            85..94 => Op::Del(hash, any),
            94..97 => Op::Drop(hash),
            _ => Op::Rename(
                SOON_HASHES + rng.below(HASHES - SOON_HASHES),
                SOON_HASHES + rng.below(HASHES - SOON_HASHES),
            ),
        }
    }

    fn words(&self, writer: usize) -> Vec<String> {
        let key = |hash: &usize| format!("{{w{writer}}}:{hash}");
        let line = match self {
            Op::Set(hash, fields, serial) => {
                let pairs: Vec<String> = fields.iter().map(|field| format!("f{field} v{serial}")).collect();
                format!("HSET {} {}", key(hash), pairs.join(" "))
            }
            Op::SetEx(hash, fields, ms, serial) => {
                let pairs: Vec<String> = fields.iter().map(|field| format!("f{field} v{serial}")).collect();
                format!("HSETEX {} PX {ms} FIELDS {} {}", key(hash), fields.len(), pairs.join(" "))
            }
            Op::Expire(hash, field, ms) => format!("EXHPEXPIRE {} f{field} {ms}", key(hash)),
            Op::Persist(hash, field) => format!("HPERSIST {} FIELDS 1 f{field}", key(hash)),
            Op::Del(hash, fields) => {
                let names: Vec<String> = fields.iter().map(|field| format!("f{field}")).collect();
                format!("HDEL {} {}", key(hash), names.join(" "))
            }
            Op::Drop(hash) => format!("DEL {}", key(hash)),
            Op::Rename(from, to) => format!("RENAME {} {}", key(from), key(to)),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// What comes of it.
    fn apply(&self, fields: &mut Keys, sent_ms: (u64, u64)) {
        let name = |hash: &usize, field: &usize| format!("{hash}/f{field}").into_bytes();
        let lives = |ms: u64| Some((sent_ms.0 + ms, sent_ms.1 + ms));
        let of = |hash: &usize| format!("{hash}/").into_bytes();
        match self {
            Op::Set(hash, names, serial) => {
                for field in names {
                    let value = format!("v{serial}").into_bytes();
                    fields
                        .insert(name(hash, field), Entry { content: Content::String(value), expires: None });
                }
            }
            Op::SetEx(hash, names, ms, serial) => {
                for field in names {
                    let value = format!("v{serial}").into_bytes();
                    fields.insert(
                        name(hash, field),
                        Entry { content: Content::String(value), expires: lives(*ms) },
                    );
                }
            }
            Op::Expire(hash, field, ms) => {
                if let Some(entry) = fields.get_mut(&name(hash, field)) {
                    entry.expires = lives(*ms);
                }
            }
            Op::Persist(hash, field) => {
                if let Some(entry) = fields.get_mut(&name(hash, field)) {
                    entry.expires = None;
                }
            }
            Op::Del(hash, names) => {
                for field in names {
                    fields.remove(&name(hash, field));
                }
            }
            Op::Drop(hash) => fields.retain(|name, _| !name.starts_with(&of(hash))),
            Op::Rename(from, to) if from == to => {}
            Op::Rename(from, to) => {
                if !fields.keys().any(|name| name.starts_with(&of(from))) {
                    return;
                }
                fields.retain(|name, _| !name.starts_with(&of(to)));
                let moved: Vec<(Vec<u8>, Entry)> = fields
                    .iter()
                    .filter(|(name, _)| name.starts_with(&of(from)))
                    .map(|(name, entry)| ([&of(to), &name[of(from).len()..]].concat(), entry.clone()))
                    .collect();
                fields.retain(|name, _| !name.starts_with(&of(from)));
                fields.extend(moved);
            }
        }
    }
}

struct Writer {
    number: usize,
    rng: Rng,
    serial: u64,
    fields: Keys,
    in_flight: Vec<(Op, u64)>,
    acknowledged: u64,
}

impl Writer {
    fn write(&mut self, port: u16, stop: &AtomicBool) {
        let Ok(mut conn) = Conn::connect(port) else { return };
        while !stop.load(Ordering::Relaxed) {
            let mut bytes = Vec::new();
            for _ in 0..=self.rng.below(LONGEST_PIPELINE) {
                self.serial += 1;
                let op = Op::random(&mut self.rng, self.serial);
                bytes.extend(encode(&op.words(self.number)));
                self.in_flight.push((op, now_ms()));
            }
            let sent = conn.try_send_raw(&bytes);
            if !self.take_replies(&mut conn) || sent.is_err() {
                return;
            }
        }
    }

    fn take_replies(&mut self, conn: &mut Conn) -> bool {
        let mut answered = 0;
        for (op, sent_ms) in &self.in_flight {
            let Ok(reply) = conn.try_recv() else { break };
            let no_key = Value::Error(b"ERR no such key".to_vec());
            assert!(!reply.is_error() || reply == no_key, "{op:?} was answered {reply}");
            op.apply(&mut self.fields, (*sent_ms, now_ms()));
            answered += 1;
        }
        self.acknowledged += answered as u64;
        self.in_flight.drain(..answered);
        self.in_flight.is_empty()
    }

    fn verify(&mut self, server: &Server) {
        let mut conn = server.conn();
        let restarted_ms = now_ms();
        let found = self.read(&mut conn);
        let read_ms = now_ms();
        let mut reasons = Vec::new();
        let mut in_flight = std::mem::take(&mut self.in_flight).into_iter();
        while let Some(reason) = difference(&self.fields, &found, read_ms) {
            reasons.push(reason);
            match in_flight.next() {
                Some((op, sent_ms)) => {
                    reasons.push(format!("... and with {op:?}:"));
                    op.apply(&mut self.fields, (sent_ms, restarted_ms));
                }
                None => panic!("writer {}: no state fits:\n  {}", self.number, reasons.join("\n  ")),
            }
        }
        self.fields = found;
    }

    /// All fields. HLEN must say how many there are, and what has expired by now must not be among them.
    fn read(&self, conn: &mut Conn) -> Keys {
        let mut found = Keys::new();
        for hash in 0..HASHES {
            let key = format!("{{w{}}}:{hash}", self.number);
            // What goes in between is looked at again.
            let fields = loop {
                let before = conn.call(&["HLEN", &key]).int().unwrap();
                let asked_ms = now_ms();
                let all = conn.call(&["HGETALL", &key]);
                let after = conn.call(&["HLEN", &key]).int().unwrap();
                let items = all.items().unwrap().to_vec();
                assert!(
                    items.len() as i64 / 2 <= before && items.len() as i64 / 2 >= after,
                    "{key}: {before} {all} {after}"
                );
                if before == after {
                    break (asked_ms, items);
                }
            };
            let (asked_ms, items) = fields;
            for pair in items.chunks(2) {
                let [Value::Bulk(field), Value::Bulk(value)] = pair else { panic!("{pair:?}") };
                let words = [b"HPEXPIRETIME", key.as_bytes(), b"FIELDS", b"1", field.as_slice()];
                let at = conn.call(&words).items().unwrap()[0].int().unwrap();
                let expires = match at {
                    -2 => continue,
                    -1 => None,
                    at => {
                        assert!(
                            at as u64 + SLACK_MS >= asked_ms,
                            "{} of {key} has outlived its time",
                            quote(field)
                        );
                        Some((at as u64, at as u64))
                    }
                };
                let name = [format!("{hash}/").as_bytes(), field].concat();
                found.insert(name, Entry { content: Content::String(value.clone()), expires });
            }
        }
        found
    }
}

fn crash(name: &str, options: Options) {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        println!("redis-server 7.0 has no fields that expire");
        return;
    }
    let kills = env_number("TARN_CRASH_KILLS").unwrap_or(DEFAULT_KILLS);
    let seed = env_number("TARN_CRASH_SEED").unwrap_or_else(Rng::fresh_seed);
    println!("crash, {name}: {kills} kills, TARN_CRASH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|number| Writer {
            number,
            rng: Rng::new(seed ^ (number as u64) << 40),
            serial: 0,
            fields: Keys::new(),
            in_flight: Vec::new(),
            acknowledged: 0,
        })
        .collect();
    let mut server = Server::start(options);
    for _ in 0..kills {
        let stop = AtomicBool::new(false);
        let port = server.port();
        let run = Duration::from_millis(20 + rng.below(2 * LONGEST_RUN_MS) as u64);
        std::thread::scope(|scope| {
            let _stopper = StopOnDrop(&stop);
            for writer in &mut writers {
                scope.spawn(|| writer.write(port, &stop));
            }
            std::thread::sleep(run);
            server.kill();
        });
        server.restart();
        for writer in &mut writers {
            writer.verify(&server);
        }
    }
    let acknowledged: u64 = writers.iter().map(|writer| writer.acknowledged).sum();
    assert!(acknowledged > kills * 10, "the writers hardly wrote: {acknowledged} commands");
    // The index is whole: what is left of what expires is reaped by itself.
    let mut conn = server.conn();
    let keys = |conn: &mut Conn| conn.call(&["KEYS", "*"]).items().unwrap().len() as i64;
    eventually("DBSIZE is the number of hashes", || conn.call(&["DBSIZE"]).int().unwrap() == keys(&mut conn));
}

#[test]
fn crash_while_fields_expire() {
    crash("fields, sort", Options::new(Program::Rocksdb));
}

#[test]
fn crash_while_fields_expire_without_an_index() {
    crash("fields, scan", Options::new(Program::Rocksdb).with("active-expire-mode", "scan"));
}
