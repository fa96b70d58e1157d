//! SAVE and BGSAVE: a copy of one moment, that opens as a database of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, StopOnDrop, eventually};
use crate::value::Value;

fn copies(server: &Server) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(server.dir().join("backups")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Counts up, and writes the number into six keys at once, until told to stop. `last` is the last acknowledged number.
fn count(server: &Server, stop: &AtomicBool, last: &AtomicI64) {
    let mut conn = server.conn();
    while !stop.load(Ordering::Relaxed) {
        let number = conn.call(&["INCR", "counter"]).int().unwrap();
        let mut args = vec!["MSET".to_owned()];
        args.extend((0..6).flat_map(|i| [format!("group:{i}"), number.to_string()]));
        assert_eq!(conn.call(&args), Value::ok());
        last.store(number, Ordering::SeqCst);
    }
}

fn number(conn: &mut Conn, key: &str) -> i64 {
    let value = conn.call(&["GET", key]);
    std::str::from_utf8(value.bytes().unwrap()).unwrap().parse().unwrap()
}

#[test]
fn a_copy_is_of_one_moment() {
    let server = Server::start(Options::new(Program::Rocksdb));
    let mut conn = server.conn();
    let big = "x".repeat(200_000);
    conn.call(&["SET", "big", &big]);
    conn.call(&["SET", "expiring", "v", "PXAT", "33177117420123"]);
    conn.call(&["SELECT", "3"]);
    conn.call(&["SET", "other", "database"]);
    let stop = AtomicBool::new(false);
    let last = AtomicI64::new(0);
    std::thread::scope(|scope| {
        let _stopper = StopOnDrop(&stop);
        scope.spawn(|| count(&server, &stop, &last));
        for round in 0..3 {
            eventually("the counter moves", || last.load(Ordering::SeqCst) > 100 * round);
            let before = last.load(Ordering::SeqCst);
            assert_eq!(conn.call(&["SAVE"]), Value::ok());
            let after = number(&mut server.conn(), "counter");
            let paths = copies(&server);
            assert_eq!(paths.len() as i64, round + 1);
            let copy = Server::start_on_copy(Options::new(Program::Rocksdb), paths.last().unwrap());
            let mut conn = copy.conn();
            let counted = number(&mut conn, "counter");
            assert!(before <= counted && counted <= after, "{before} <= {counted} <= {after}");
            let group = number(&mut conn, "group:0");
            assert!(group == counted || group == counted - 1, "{group} was written after {counted}");
            for i in 1..6 {
                assert_eq!(number(&mut conn, &format!("group:{i}")), group);
            }
            assert_eq!(conn.call(&["GET", "big"]), Value::bulk(&big));
            assert_eq!(conn.call(&["PEXPIRETIME", "expiring"]), Value::Int(33_177_117_420_123));
            assert_eq!(conn.call(&["DBSIZE"]), Value::Int(9));
            conn.call(&["SELECT", "3"]);
            assert_eq!(conn.call(&["GET", "other"]), Value::bulk("database"));
        }
    });
}

#[test]
fn a_copy_may_be_written_in_the_background() {
    let server = Server::start(Options::new(Program::Rocksdb));
    let mut conn = server.conn();
    assert_eq!(conn.call(&["SET", "k", "v"]), Value::ok());
    assert_eq!(conn.call(&["BGSAVE"]), Value::Simple(b"Background saving started".to_vec()));
    eventually("the copy is complete", || {
        let info = conn.call(&["INFO", "persistence"]);
        let info = String::from_utf8_lossy(info.bytes().unwrap()).into_owned();
        info.contains("rdb_bgsave_in_progress:0") && info.contains("rdb_last_bgsave_status:ok")
    });
    let paths = copies(&server);
    assert_eq!(paths.len(), 1);
    let copy = Server::start_on_copy(Options::new(Program::Rocksdb), &paths[0]);
    assert_eq!(copy.conn().call(&["GET", "k"]), Value::bulk("v"));
}

#[test]
fn what_is_only_in_memory_cannot_be_saved() {
    let server = Server::start(Options::new(Program::Memory));
    for command in ["SAVE", "BGSAVE"] {
        let reply = server.conn().call(&[command]);
        assert!(
            matches!(&reply, Value::Error(text) if text.starts_with(b"ERR ")),
            "{command} answered {reply}"
        );
    }
}
