//! Starting and stopping: what refuses to start and says why, and what an orderly stop keeps.

use std::fs;
use std::path::Path;

use crate::harness::{ENGINES, Options, Program, Server, eventually, free_port, run_to_end};
use crate::value::Value;

#[track_caller]
fn refuses(options: Options, port: u16, dir: &Path, words: &[&str]) {
    let (status, output) = run_to_end(&options, port, dir);
    assert_eq!(status.code(), Some(1), "the exit code; the output:\n{output}");
    for word in words {
        assert!(output.contains(word), "no {word:?} in the output:\n{output}");
    }
}

fn memory() -> Options {
    Options::new(Program::Memory)
}

fn rocksdb() -> Options {
    Options::new(Program::Rocksdb)
}

/// A stopped database with a key in it.
fn stopped_database() -> Server {
    let mut server = Server::start(rocksdb());
    assert_eq!(server.conn().call(&["SET", "k", "v"]), Value::ok());
    assert!(server.stop().success());
    server
}

fn files_under(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                files.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_bad_option_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let start = |name: &str, value: &str, words: &[&str]| {
        refuses(memory().with(name, value), free_port(), dir.path(), words);
    };
    start("maxclient", "10", &["maxclient"]);
    start("maxclients", "many", &["maxclients", "many"]);
    start("appendfsync", "sometimes", &["appendfsync", "everysec"]);
    start("engine", "paper", &["engine", "rocksdb", "memory"]);
    start("maxmemory", "12 parsecs", &["maxmemory"]);
    start("databases", "0", &["databases"]);
    start("dir", "/dev/null/nowhere", &["dir"]);
}

#[test]
fn a_port_in_use_stops_the_start_before_the_data_is_touched() {
    let server = Server::start(memory());
    let dir = tempfile::tempdir().unwrap();
    refuses(rocksdb(), server.port(), dir.path(), &["in use"]);
    assert_eq!(files_under(dir.path()), []);
}

#[test]
fn a_directory_in_use_is_refused() {
    let server = Server::start(rocksdb());
    let mut conn = server.conn();
    assert_eq!(conn.call(&["SET", "k", "v"]), Value::ok());
    refuses(rocksdb(), free_port(), &server.dir(), &["in use", server.dir().to_str().unwrap()]);
    assert_eq!(conn.call(&["GET", "k"]), Value::bulk("v"));
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let server = stopped_database();
    let format = server.dir().join("FORMAT");
    let text = fs::read_to_string(&format).unwrap();
    assert!(text.starts_with("tarn data format "), "{text:?}");
    fs::write(&format, "tarn data format 999999\n").unwrap();
    let before = files_under(&server.dir());
    refuses(rocksdb(), free_port(), &server.dir(), &["format 999999", "newer version"]);
    assert_eq!(files_under(&server.dir()), before);
    fs::write(&format, text).unwrap();
    let mut server = server;
    server.restart();
    assert_eq!(server.conn().call(&["GET", "k"]), Value::bulk("v"));
}

#[test]
fn a_damaged_format_file_is_refused() {
    let server = stopped_database();
    fs::write(server.dir().join("FORMAT"), "something else\n").unwrap();
    refuses(rocksdb(), free_port(), &server.dir(), &["FORMAT"]);
}

#[test]
fn a_directory_that_lost_its_format_file_is_refused() {
    let server = stopped_database();
    fs::remove_file(server.dir().join("FORMAT")).unwrap();
    refuses(rocksdb(), free_port(), &server.dir(), &["FORMAT", "missing"]);
}

/// A flipped byte inside the log is damage; only a torn end is what a crash leaves.
#[test]
fn a_damaged_log_is_refused_and_left_alone() {
    let mut server = Server::start(rocksdb());
    let mut conn = server.conn();
    for i in 0..1000 {
        assert_eq!(conn.call(&["SET".into(), format!("key:{i}"), "v".repeat(100)]), Value::ok());
    }
    server.kill();
    let mut segments: Vec<_> =
        fs::read_dir(server.dir().join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    let segment = segments.iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(segment, bytes).unwrap();
    let before = files_under(&server.dir().join("log"));
    refuses(rocksdb(), free_port(), &server.dir(), &[segment.file_name().unwrap().to_str().unwrap()]);
    assert_eq!(files_under(&server.dir().join("log")), before);
}

#[test]
fn lost_sorted_data_is_refused() {
    let server = stopped_database();
    let current = server.dir().join("sorted").join("CURRENT");
    assert!(current.exists());
    fs::write(&current, "MANIFEST-does-not-exist\n").unwrap();
    refuses(rocksdb(), free_port(), &server.dir(), &["could not open the data directory"]);
}

#[test]
fn sigterm_and_sigint_stop_in_order() {
    for program in ENGINES {
        for signal in [libc::SIGTERM, libc::SIGINT] {
            let mut server = Server::start(Options::new(program));
            let mut idle = server.conn();
            assert_eq!(server.conn().call(&["SET", "k", "v"]), Value::ok());
            server.signal(signal);
            assert_eq!(server.wait_exit().code(), Some(0), "{}", server.log());
            assert!(idle.closes());
        }
    }
}

/// Nothing of them is visible, so that nothing is lost by their end.
#[test]
fn scripts_that_never_end_take_no_worker_from_others_and_do_not_keep_the_server_from_stopping() {
    const SCRIPTS: usize = 6;
    for program in ENGINES {
        let mut server = Server::start(Options::new(program).with("worker-threads", "2"));
        let mut conn = server.conn();
        let library = "#!lua name=l\nredis.register_function('f', function(keys) redis.call('set', keys[1], 1) \
            while true do pcall(function() end) end end)";
        assert_eq!(conn.call(&["FUNCTION", "LOAD", library]), Value::bulk("l"));
        let _runners: Vec<_> = (0..SCRIPTS)
            .map(|n| {
                let mut runner = server.conn();
                runner.send(&["FCALL", "f", "1", &format!("key:{n}")]);
                runner
            })
            .collect();
        eventually("they run", || {
            let stats = conn.call(&["FUNCTION", "STATS"]);
            !stats.items().expect("pairs")[1].is_nil()
        });
        // A script that nobody knows yet runs on a worker.
        assert_eq!(conn.call(&["EVAL", "return 7", "0"]), Value::Int(7));
        assert_eq!(server.stop().code(), Some(0), "{}", server.log());
    }
}

#[test]
fn shutdown_stops_in_order() {
    for program in ENGINES {
        for words in [&["SHUTDOWN"][..], &["SHUTDOWN", "NOSAVE"], &["SHUTDOWN", "SAVE"]] {
            let mut server = Server::start(Options::new(program));
            let mut conn = server.conn();
            conn.send(words);
            assert!(conn.closes());
            assert_eq!(server.wait_exit().code(), Some(0), "{}", server.log());
        }
    }
}

#[test]
fn everything_is_there_after_a_restart() {
    let mut server = Server::start(rocksdb());
    let mut conn = server.conn();
    let big = "x".repeat(300_000);
    for db in 0..16 {
        let db = db.to_string();
        conn.call(&["SELECT", &db]);
        conn.call(&["SET", "number", &db]);
        conn.call(&["SET", "big", &big]);
        conn.call(&["SET", "kept", "v", "PXAT", "33177117420123"]);
        conn.call(&["SET", "gone", "v", "PXAT", "1"]);
        conn.call(&["SET", "deleted", "v"]);
        conn.call(&["DEL", "deleted"]);
    }
    conn.call(&["SWAPDB", "3", "4"]);
    conn.call(&["SELECT", "5"]);
    conn.call(&["FLUSHDB"]);
    for round in 0..3 {
        // In order, by a kill, in order.
        if round == 1 {
            server.kill();
        } else {
            assert!(server.stop().success());
        }
        server.restart();
        let mut conn = server.conn();
        for db in 0..16 {
            conn.call(&["SELECT".to_owned(), db.to_string()]);
            if db == 5 {
                assert_eq!(conn.call(&["DBSIZE"]), Value::Int(0));
                continue;
            }
            let number = match db {
                3 => 4,
                4 => 3,
                db => db,
            };
            assert_eq!(conn.call(&["GET", "number"]), Value::bulk(number.to_string()));
            assert_eq!(conn.call(&["GET", "big"]), Value::bulk(&big));
            assert_eq!(conn.call(&["PEXPIRETIME", "kept"]), Value::Int(33_177_117_420_123));
            assert!(conn.call(&["GET", "gone"]).is_nil());
            assert!(conn.call(&["GET", "deleted"]).is_nil());
            eventually("expired keys are not counted", || conn.call(&["DBSIZE"]) == Value::Int(3));
        }
    }
}
