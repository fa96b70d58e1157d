//! A file system that is filled to the brim: no refused write is seen, deletes alone bring writes back, nothing is lost.
//!
//! `TARN_FULL_MIB` sets its size. `crates/engine/src/rocksdb/tests/full.rs` tries the same where no file system can be mounted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, StopOnDrop, eventually};
use crate::rng::Rng;
use crate::value::Value;

const DEFAULT_MIB: usize = 48;
const PIPELINE: usize = 32;
/// Refused for so long, the disk is full and no write-back or compaction makes room any more.
const BRIM: Duration = Duration::from_secs(3);

fn key(number: usize) -> String {
    format!("key-{number:08}")
}

/// Does not compress.
fn value(number: usize) -> Vec<u8> {
    let mut rng = Rng::new(number as u64 + 1);
    (0..125).flat_map(|_| rng.next().to_be_bytes()).collect()
}

fn is_full(reply: &Value) -> bool {
    matches!(reply, Value::Error(text) if text.starts_with(b"MISCONF The disk is full"))
}

/// Every number was tried once; which of them were acknowledged.
#[derive(Default)]
struct Written(Vec<bool>);

impl Written {
    /// Writes until nothing was taken for a while.
    fn fill(&mut self, conn: &mut Conn, tried: &AtomicUsize) {
        let mut last_taken = Instant::now();
        while last_taken.elapsed() < BRIM {
            let first = self.0.len();
            let commands: Vec<[Vec<u8>; 3]> = (first..first + PIPELINE)
                .map(|number| [b"SET".to_vec(), key(number).into_bytes(), value(number)])
                .collect();
            let replies = conn.call_all(&commands);
            for reply in &replies {
                assert!(*reply == Value::ok() || is_full(reply), "{reply:?}");
                self.0.push(*reply == Value::ok());
            }
            tried.store(self.0.len(), Ordering::Release);
            if replies.iter().any(|reply| *reply == Value::ok()) {
                last_taken = Instant::now();
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Acknowledged keys are there unless `is_gone`, refused ones are not.
    fn check(&self, conn: &mut Conn, is_gone: impl Fn(usize) -> bool) {
        for number in 0..self.0.len() {
            let reply = conn.call(&["GET", &key(number)]);
            if self.0[number] && !is_gone(number) {
                assert_eq!(reply, Value::bulk(value(number)), "acknowledged: {number}");
            } else {
                assert!(reply.is_nil(), "refused or deleted, and seen: {number}");
            }
        }
    }
}

fn info(conn: &mut Conn, field: &str) -> String {
    let Value::Bulk(text) = conn.call(&["INFO", "everything"]) else { panic!("INFO has no text") };
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_else(|| panic!("no {field}"));
    line.trim_start_matches(':').to_owned()
}

#[test]
fn a_full_file_system_passes_by_deletes_alone() {
    let mib = std::env::var("TARN_FULL_MIB").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_MIB);
    for appendfsync in ["everysec", "always"] {
        fill_and_free(appendfsync, mib);
    }
}

/// How many rows it took; none where no file system can be mounted.
pub fn fill_and_free(appendfsync: &str, mib: usize) -> Option<usize> {
    let options = Options::new(Program::Rocksdb).with("appendfsync", appendfsync);
    let mut server = Server::start_on_small_disk(options, mib)?;
    let mut conn = server.conn();
    let mut written = Written::default();
    let tried = AtomicUsize::new(0);
    let ends = AtomicBool::new(false);
    let mut seen = std::thread::scope(|scope| {
        let mut reader = server.conn();
        let (tried, ends) = (&tried, &ends);
        let reading = scope.spawn(move || {
            let mut seen = Vec::new();
            let mut rng = Rng::new(1);
            while !ends.load(Ordering::Relaxed) {
                // What is being written now.
                let number = tried.load(Ordering::Acquire) + rng.below(PIPELINE);
                if !reader.call(&["GET", &key(number)]).is_nil() {
                    seen.push(number);
                }
            }
            seen
        });
        let stop = StopOnDrop(ends);
        written.fill(&mut conn, tried);
        drop(stop);
        reading.join().unwrap()
    });
    seen.retain(|number| !written.0[*number]);
    assert!(seen.is_empty(), "{appendfsync}: refused, and seen: {seen:?}");
    let taken = written.0.iter().filter(|taken| **taken).count();
    println!("{appendfsync}: {mib} MiB took {taken} rows of 1000 bytes");
    assert!(taken * 1000 > mib << 18, "{appendfsync}: a quarter is not to the brim: {taken}");
    assert_eq!(info(&mut conn, "disk_full"), "1");
    assert!(info(&mut conn, "write_error").contains("full"));
    written.check(&mut conn, |_| false);

    // A restart on the full disk changes nothing, but for the little that it frees.
    server.kill();
    server.restart();
    let mut conn = server.conn();
    written.check(&mut conn, |_| false);
    written.fill(&mut conn, &tried);
    assert_eq!(info(&mut conn, "disk_full"), "1");

    let is_kept = |number: usize| number.is_multiple_of(10);
    for number in (0..written.0.len()).filter(|number| !is_kept(*number)) {
        let word = if number % 2 == 0 { "DEL" } else { "UNLINK" };
        let reply = conn.call(&[word, &key(number)]);
        assert_eq!(reply, Value::Int(i64::from(written.0[number])), "{number}");
    }
    eventually("writes come back", || conn.call(&["SET", "again", "1"]) == Value::ok());
    eventually("and stay", || info(&mut conn, "disk_full") == "0");
    written.check(&mut conn, |number| !is_kept(number));
    for line in ["the disk is full: writes are refused", "there is room on the disk again: writes go on"] {
        eventually(line, || server.log().contains(line));
    }
    server.kill();
    server.restart();
    written.check(&mut server.conn(), |number| !is_kept(number));

    // To the brim once more: FLUSHALL is enough.
    let mut conn = server.conn();
    let mut more = Written(vec![false; written.0.len()]);
    more.fill(&mut conn, &tried);
    assert_eq!(conn.call(&["FLUSHALL"]), Value::ok());
    eventually("writes come back", || conn.call(&["SET", "again", "2"]) == Value::ok());
    Some(taken)
}
