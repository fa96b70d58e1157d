//! An hour of collections that come and go, in seconds: the clock is put ahead. Nobody asks for a compaction, and the
//! disk ends with little more than what lives.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::conn::{Conn, encode};
use crate::harness::{Options, Program, Server, eventually};
use crate::rng::Rng;
use crate::value::Value;

const MINUTES: u64 = 60;
/// Changes in a minute, and the keys they fall on.
const CHANGES: usize = 450;
const KEYS: usize = 5_000;
const ELEMENTS: usize = 40;
const VALUE_LEN: usize = 60;
/// Times at which keys expire are this far apart, and the churn ends between two of them.
const EXPIRY_SECS: u64 = 600;
/// Disk in hundredths of what a fresh server needs for the same data.
const LIMIT_PERCENT: u64 = 150;

/// One life of a key: everything follows from it.
#[derive(Debug, Clone, Copy)]
struct Life {
    seed: u64,
    /// Seconds since 1970; 0 is never.
    expire_at: u64,
}

impl Life {
    /// The commands that make it.
    fn commands(self, key: &str) -> Vec<Vec<Vec<u8>>> {
        let mut rng = Rng::new(self.seed);
        let (name, pairs) =
            *rng.pick(&[("HSET", true), ("SADD", false), ("RPUSH", false), ("ZADD", true), ("SET", false)]);
        let count = if name == "SET" { 1 } else { 1 + rng.below(ELEMENTS) };
        let mut args = vec![name.as_bytes().to_vec(), key.as_bytes().to_vec()];
        for number in 0..count {
            if pairs {
                args.push(number.to_string().into_bytes());
            }
            // Nothing that compresses.
            let len = if name == "SET" { rng.below(ELEMENTS * VALUE_LEN * 4) } else { rng.below(VALUE_LEN) };
            args.push((0..=len / 8).flat_map(|_| rng.next().to_be_bytes()).collect());
        }
        let mut commands = vec![args];
        if self.expire_at != 0 {
            let at = self.expire_at.to_string();
            commands.push(["EXPIREAT", key, &at].map(|word| word.as_bytes().to_vec()).to_vec());
        }
        commands
    }
}

fn play(conn: &mut Conn, commands: &[Vec<Vec<u8>>]) {
    for group in commands.chunks(200) {
        conn.send_raw(&group.iter().flat_map(|args| encode(args)).collect::<Vec<u8>>());
        for args in group {
            let reply = conn.recv();
            assert!(!reply.is_error(), "{} answered {reply}", args[0].escape_ascii());
        }
    }
}

fn words(line: &[&str]) -> Vec<Vec<u8>> {
    line.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Makes, renames, overwrites and deletes keys; what becomes of them.
fn change(rng: &mut Rng, keys: &mut BTreeMap<String, Life>, now: u64) -> Vec<Vec<Vec<u8>>> {
    let key = format!("key:{}", rng.below(KEYS));
    match rng.below(100) {
        0..70 => {
            let lives = [0, 1, 1, 2, 3][rng.below(5)];
            let expire_at = if lives == 0 { 0 } else { (now / EXPIRY_SECS + lives) * EXPIRY_SECS };
            let life = Life { seed: rng.next(), expire_at };
            keys.insert(key.clone(), life);
            let commands = life.commands(&key);
            // SET overwrites whatever is there.
            let overwrites = commands[0][0] == b"SET";
            let before = (!overwrites).then(|| words(&["DEL", &key]));
            before.into_iter().chain(commands).collect()
        }
        70..80 => match keys.remove(&key) {
            Some(life) => {
                let to = format!("key:{}", rng.below(KEYS));
                let command = words(&["RENAME", &key, &to]);
                keys.insert(to, life);
                vec![command]
            }
            None => Vec::new(),
        },
        _ => {
            keys.remove(&key);
            vec![words(&["DEL", &key])]
        }
    }
}

/// All files but those in which RocksDB tells what it does.
fn disk_bytes(dir: &Path) -> u64 {
    let entries: Vec<_> =
        std::fs::read_dir(dir).map(|entries| entries.filter_map(Result::ok).collect()).unwrap_or_default();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => disk_bytes(&entry.path()),
        Ok(about) if !entry.file_name().to_string_lossy().starts_with("LOG") => about.len(),
        // Gone by now, or not counted.
        _ => 0,
    };
    entries.into_iter().map(size).sum()
}

fn options() -> Options {
    // So that little is held in the log, and much in the sorted data.
    Options::new(Program::Rocksdb)
        .with("maxmemory", "64mb")
        .with("memory-dirty-percent", "2")
        .with("appendfsync", "no")
}

fn info(conn: &mut Conn, field: &str) -> u64 {
    let text = conn.call(&["INFO", "tarn"]);
    let text = String::from_utf8_lossy(text.bytes().unwrap()).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("INFO lacks {field}")).parse().unwrap()
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Makes it this time, in seconds, for the server. It goes on from there.
fn put_clock(conn: &mut Conn, now: u64) {
    let ahead_ms = (now * 1000).saturating_sub(now_ms()).to_string();
    assert_eq!(conn.call(&["DEBUG", "TIME-OFFSET", &ahead_ms]), Value::ok());
}

/// A server that holds what lives and never held anything else.
fn fresh(keys: &BTreeMap<String, Life>, now: u64) -> (Server, Value) {
    let server = Server::start(options());
    let mut conn = server.conn();
    for (key, life) in keys {
        play(&mut conn, &life.commands(key));
    }
    put_clock(&mut conn, now);
    let digest = conn.call(&["DEBUG", "DIGEST"]);
    (server, digest)
}

#[test]
fn churn_leaves_little_more_than_what_lives() {
    let seed = Rng::fresh_seed();
    println!("churn: seed {seed}");
    let mut rng = Rng::new(seed);
    let server = Server::start(options());
    let mut conn = server.conn();
    // The hour begins right behind a time at which keys expire.
    let first = (now_ms() / 1000 / EXPIRY_SECS + 1) * EXPIRY_SECS;
    let mut keys: BTreeMap<String, Life> = BTreeMap::new();
    let mut written = 0;
    for minute in 0..=MINUTES {
        let now = first + minute * 60;
        put_clock(&mut conn, now);
        keys.retain(|_, life| life.expire_at == 0 || life.expire_at > now);
        let commands: Vec<_> = (0..CHANGES).flat_map(|_| change(&mut rng, &mut keys, now)).collect();
        written += commands.iter().flatten().map(Vec::len).sum::<usize>() as u64;
        play(&mut conn, &commands);
    }
    let (twin, digest) = fresh(&keys, first + MINUTES * 60);
    assert_eq!(conn.call(&["DEBUG", "DIGEST"]), digest, "what lives is all there, and nothing else");
    let live = disk_bytes(&twin.dir());
    assert!(written > 3 * live, "{written} bytes were written, {live} live: too little has died");
    let mut most = 0;
    eventually("the disk holds little more than what lives", || {
        let disk = disk_bytes(&server.dir());
        most = most.max(disk);
        disk * 100 <= live * LIMIT_PERCENT
    });
    println!(
        "churn: {written} bytes written, {live} live, {} on disk, {most} at most",
        disk_bytes(&server.dir())
    );
    assert_eq!(conn.call(&["DEBUG", "DIGEST"]), digest, "compaction took nothing that lives");
    let (disk, dead, alive) = (
        info(&mut conn, "disk_bytes"),
        info(&mut conn, "dead_bytes_estimate"),
        info(&mut conn, "live_bytes_estimate"),
    );
    assert!(alive > 0 && dead < disk && alive <= disk, "{disk} on disk, {dead} dead, {alive} alive");
}

/// A big collection's rows leave with the next unit that is written back; SAVE writes one.
#[test]
fn the_space_of_a_big_collection_that_was_deleted_comes_back() {
    const FIELDS: usize = 60_000;
    let server = Server::start(options());
    let mut conn = server.conn();
    let value = "x".repeat(100);
    for from in (0..FIELDS).step_by(1000) {
        let fields = (from..from + 1000).flat_map(|field| [format!("field:{field}"), value.clone()]);
        let words: Vec<String> = ["HSET".to_owned(), "big".to_owned()].into_iter().chain(fields).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(conn.call(&words), Value::Int(1000));
    }
    assert_eq!(conn.call(&["SAVE"]), Value::ok());
    let before = info(&mut conn, "disk_bytes");
    assert_eq!(conn.call(&["DEL", "big"]), Value::Int(1));
    eventually("the space is back", || {
        assert_eq!(conn.call(&["SAVE"]), Value::ok());
        // Where the rows came slowly, the last file of them waits at the top for others to be compacted with.
        info(&mut conn, "disk_bytes") < before / 5
    });
    assert_eq!(conn.call(&["HSET", "big", "field:1", "y"]), Value::Int(1));
    assert_eq!(conn.call(&["HLEN", "big"]), Value::Int(1));
}
