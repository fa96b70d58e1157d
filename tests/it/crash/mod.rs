//! Children killed with SIGKILL at random moments: what was acknowledged is there, and no command is there by half.
//!
//! Each writer has databases of its own and remembers what it sent and what was answered. After a restart its databases must hold
//! exactly what the acknowledged commands and the first so many of the unanswered ones make of them: commands of one
//! connection take effect in order and as a whole, so nothing else may be seen.
//!
//! `TARN_CRASH_KILLS` sets the number of kills of each test, `TARN_CRASH_SEED` repeats the scripts (not the moments).

mod clock;
mod collections;
mod fields;
mod model;
mod store;
mod streams;
mod torture;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::conn::{Conn, encode};
use crate::harness::{Options, Program, Server, StopOnDrop, eventually};
use crate::rng::Rng;
use crate::value::{Value, quote};
use model::{Entry, Keys, Model, Op, now_ms};

const DEFAULT_KILLS: u64 = 50;
const WRITERS: usize = 4;
/// The longest time between a start and a kill.
const LONGEST_RUN_MS: usize = 60;
const LONGEST_PIPELINE: usize = 16;

fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn options(appendfsync: &str) -> Options {
    if std::env::var("TARN_CHECK_AGAINST").is_err() {
        return Options::new(Program::Rocksdb).with("appendfsync", appendfsync);
    }
    // The test itself is tested on redis-server. There `everysec` may hold back acknowledged writes for up to two seconds
    // while an fsync is under way, and a kill loses them; `no` hands each to the operating system at once.
    let appendfsync = if appendfsync == "everysec" { "no" } else { appendfsync };
    Options::new(Program::Redis).with("appendonly", "yes").with("appendfsync", appendfsync)
}

struct Writer {
    dbs: [usize; 2],
    rng: Rng,
    serial: u64,
    /// After everything that was acknowledged.
    model: Model,
    /// Sent and not answered, with the span of time in which they were sent.
    in_flight: Vec<(Op, u64)>,
    acknowledged: u64,
}

impl Writer {
    fn new(number: usize, seed: u64) -> Writer {
        Writer {
            dbs: [number, number + WRITERS],
            rng: Rng::new(seed ^ (number as u64) << 48),
            serial: 0,
            model: Model::default(),
            in_flight: Vec::new(),
            acknowledged: 0,
        }
    }

    /// Writes until the server is gone.
    fn write(&mut self, port: u16, stop: &AtomicBool) {
        let Ok(mut conn) = Conn::connect(port) else { return };
        if conn.try_call(&["SELECT".to_owned(), self.dbs[0].to_string()]).is_err() {
            return;
        }
        while !stop.load(Ordering::Relaxed) {
            let mut bytes = Vec::new();
            for _ in 0..=self.rng.below(LONGEST_PIPELINE) {
                self.serial += 1;
                let op = Op::random(&mut self.rng, self.serial);
                bytes.extend(encode(&op.args(self.dbs)));
                self.in_flight.push((op, now_ms()));
            }
            // Even a write that failed may have brought some of the commands there.
            let sent = conn.try_send_raw(&bytes);
            if !self.take_replies(&mut conn) || sent.is_err() {
                return;
            }
        }
    }

    /// Acknowledges in order; false when the server is gone.
    fn take_replies(&mut self, conn: &mut Conn) -> bool {
        let mut answered = 0;
        for (op, sent_ms) in &self.in_flight {
            let Ok(reply) = conn.try_recv() else { break };
            // The log failed: it may be there or not, as if it had not been answered.
            if matches!(&reply, Value::Error(text) if text.starts_with(b"MISCONF")) {
                break;
            }
            let expected = self.model.apply(op, (*sent_ms, now_ms()));
            assert_eq!(reply, expected, "the reply to {op:?}");
            answered += 1;
        }
        self.acknowledged += answered as u64;
        self.in_flight.drain(..answered);
        self.in_flight.is_empty()
    }

    /// Compares what the restarted server holds with every state it may hold, and goes on from the one it does.
    fn verify(&mut self, server: &Server) {
        let mut conn = server.conn();
        let restarted_ms = now_ms();
        let found = Model { dbs: self.dbs.map(|db| read(&mut conn, db)) };
        let read_ms = now_ms();
        let mut candidate = self.model.clone();
        let mut reasons = Vec::new();
        let mut in_flight = self.in_flight.drain(..);
        loop {
            match candidate.difference(&found, read_ms) {
                None => break,
                Some(reason) => reasons.push(reason),
            }
            match in_flight.next() {
                Some((op, sent_ms)) => {
                    let words: Vec<String> = op.args(self.dbs).iter().map(|word| quote(word)).collect();
                    reasons.push(format!("... and with {:.300}:", words.join(" ")));
                    candidate.apply(&op, (sent_ms, restarted_ms));
                }
                None => panic!(
                    "databases {:?} hold none of the states that {} acknowledged commands and those in flight allow:\n  {}",
                    self.dbs,
                    self.acknowledged,
                    reasons.join("\n  "),
                ),
            }
        }
        drop(in_flight);
        // Expiry times as they really are, and without what has expired by now.
        candidate.dbs = found.dbs;
        self.model = candidate;
    }
}

/// All keys of a database. SCAN must find as many as DBSIZE counts, once what has expired is reaped.
fn read(conn: &mut Conn, db: usize) -> Keys {
    let reply = conn.call(&["SELECT".to_owned(), db.to_string()]);
    assert_eq!(reply, Value::ok(), "SELECT {db}");
    let deadline = Instant::now() + Duration::from_secs(10);
    let keys = loop {
        let keys = scan(conn);
        let size = conn.call(&["DBSIZE"]).int().unwrap();
        if size == keys.len() as i64 {
            break keys;
        }
        assert!(Instant::now() < deadline, "DBSIZE says {size}, SCAN finds {}", keys.len());
    };
    let mut found = Keys::new();
    for key in keys {
        let facts = conn.call_all(&["TYPE", "PEXPIRETIME"].map(|name| [name.as_bytes(), &key]));
        let (kind, at) = (facts[0].bytes().unwrap(), facts[1].int().unwrap());
        let expires = match at {
            // It has expired in between.
            -2 => continue,
            -1 => None,
            at => Some((at as u64, at as u64)),
        };
        let answers = conn.call_all(&collections::questions(kind, &key));
        if let Some(content) = collections::content(kind, &key, &answers) {
            found.insert(key, Entry { content, expires });
        }
    }
    found
}

fn scan(conn: &mut Conn) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = conn.call(&["SCAN", &cursor, "COUNT", "50"]);
        let [Value::Bulk(next), Value::Array(page)] = reply.items().unwrap_or(&[]) else {
            panic!("SCAN answered {reply}");
        };
        keys.extend(page.iter().map(|key| key.bytes().unwrap().to_vec()));
        cursor = String::from_utf8(next.clone()).unwrap();
        if cursor == "0" {
            keys.sort();
            keys.dedup();
            return keys;
        }
    }
}

/// Returns the server as the last restart left it.
fn crash(name: &str, options: Options) -> Server {
    let kills = env_number("TARN_CRASH_KILLS").unwrap_or(DEFAULT_KILLS);
    let seed = env_number("TARN_CRASH_SEED").unwrap_or_else(Rng::fresh_seed);
    println!("crash, {name}: {kills} kills, TARN_CRASH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|i| Writer::new(i, seed)).collect();
    let mut server = Server::start(options);
    for _ in 0..kills {
        let stop = AtomicBool::new(false);
        let port = server.port();
        let run = Duration::from_millis(rng.below(LONGEST_RUN_MS) as u64);
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
    println!("crash, {name}: {acknowledged} commands were acknowledged, none is missing");
    assert!(acknowledged > kills * 10, "the writers hardly wrote: {acknowledged} commands");
    server
}

#[test]
fn crash_appendfsync_always() {
    crash("appendfsync always", options("always"));
}

#[test]
fn crash_appendfsync_everysec() {
    crash("appendfsync everysec", options("everysec"));
}

/// With so little room for what is not yet in the sorted data, most kills meet a write-back.
#[test]
fn crash_during_write_back() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        println!("redis-server has no write-back");
        return;
    }
    let options = options("everysec").with("maxmemory", "32mb").with("memory-dirty-percent", "1");
    let server = crash("write-back", options);
    // About as much as the writers write between two kills.
    let mut conn = server.conn();
    for i in 0..10 {
        assert_eq!(conn.call(&["SET".into(), format!("big:{i}"), "x".repeat(30_000)]), Value::ok());
    }
    eventually("something was written back", || {
        let info = conn.call(&["INFO", "tarn"]);
        let info = String::from_utf8_lossy(info.bytes().unwrap()).into_owned();
        info.contains("write_backs:") && !info.contains("write_backs:0\r\n")
    });
}
