//! SCAN's promise: what exists from the start of an iteration to its end is returned, whatever else happens.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Program, Server, StopOnDrop};
use crate::rng::Rng;
use crate::value::Value;

/// `TARN_SCAN_KEYS` sets another number.
const DEFAULT_KEYS: usize = 50_000;

fn key_count() -> usize {
    std::env::var("TARN_SCAN_KEYS").map_or(DEFAULT_KEYS, |n| n.parse().expect("TARN_SCAN_KEYS is a number"))
}

/// With so little memory that most keys are on the disk alone. Redis would drop them instead.
fn options(program: Program) -> Options {
    let options = Options::new(program);
    if program == Program::Redis { options } else { options.with("maxmemory", "32mb") }
}

fn load(conn: &mut Conn, keys: usize) {
    for from in (0..keys).step_by(1000) {
        let mut args = vec!["MSET".to_owned()];
        for i in from..keys.min(from + 1000) {
            args.extend([format!("stable:{i}"), format!("{i:0100}")]);
        }
        assert_eq!(conn.call(&args), Value::ok());
    }
}

/// Adds, overwrites, expires and deletes until told to stop or until the server is gone. The stable keys stay.
fn disturb(port: u16, keys: usize, stop: &AtomicBool) {
    let mut rng = Rng::new(7);
    let Ok(mut conn) = Conn::connect(port) else { return };
    while !stop.load(Ordering::Relaxed) {
        let stable = format!("stable:{}", rng.below(keys));
        let other = format!("other:{}", rng.below(keys));
        let reply = match rng.below(5) {
            0 => conn.try_call(&["SET", &stable, "again"]),
            1 => conn.try_call(&["SET", &other, "v"]),
            2 => conn.try_call(&["DEL", &other]),
            3 => conn.try_call(&["SET", &other, "v", "PX", "1"]),
            _ => conn.try_call(&["APPEND", &stable, &"x".repeat(rng.below(3000))]),
        };
        if reply.is_err() {
            return;
        }
    }
}

fn scan_page(conn: &mut Conn, cursor: &str, found: &mut HashSet<Vec<u8>>) -> String {
    let reply = conn.call(&["SCAN", cursor, "COUNT", "200", "MATCH", "stable:*"]);
    let [Value::Bulk(next), Value::Array(page)] = reply.items().unwrap_or(&[]) else {
        panic!("SCAN answered {reply}");
    };
    found.extend(page.iter().map(|key| key.bytes().unwrap().to_vec()));
    String::from_utf8(next.clone()).unwrap()
}

#[track_caller]
fn assert_all(found: &HashSet<Vec<u8>>, keys: usize) {
    let missing: Vec<usize> =
        (0..keys).filter(|i| !found.contains(format!("stable:{i}").as_bytes())).collect();
    assert!(missing.is_empty(), "{} keys were not returned, as stable:{}", missing.len(), missing[0]);
    assert_eq!(found.len(), keys);
}

#[test]
fn every_stable_key_is_returned_under_writes() {
    let programs: &[Program] =
        if std::env::var("TARN_CHECK_AGAINST").is_ok() { &[Program::Redis] } else { &ENGINES };
    for program in programs {
        let keys = key_count();
        let server = Server::start(options(*program));
        let mut conn = server.conn();
        load(&mut conn, keys);
        let stop = AtomicBool::new(false);
        let mut found = HashSet::new();
        std::thread::scope(|scope| {
            let _stopper = StopOnDrop(&stop);
            scope.spawn(|| disturb(server.port(), keys, &stop));
            let mut cursor = scan_page(&mut conn, "0", &mut found);
            while cursor != "0" {
                cursor = scan_page(&mut conn, &cursor, &mut found);
            }
        });
        assert_all(&found, keys);
    }
}

/// The cursor says all that is needed to go on, even to a server that has just been killed and started again.
#[test]
fn a_cursor_outlives_the_server() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        println!("redis-server makes no such promise");
        return;
    }
    let keys = key_count();
    let mut server = Server::start(options(Program::Rocksdb));
    load(&mut server.conn(), keys);
    let mut found = HashSet::new();
    let mut cursor = "0".to_owned();
    for round in 0.. {
        let stop = AtomicBool::new(false);
        let port = server.port();
        let mut conn = server.conn();
        std::thread::scope(|scope| {
            let _stopper = StopOnDrop(&stop);
            scope.spawn(|| disturb(port, keys, &stop));
            // Three servers read a part of the keys each, the last one what is left.
            let pages = if round < 3 { keys / 800 } else { usize::MAX };
            for _ in 0..pages {
                cursor = scan_page(&mut conn, &cursor, &mut found);
                if cursor == "0" {
                    break;
                }
            }
        });
        if cursor == "0" {
            break;
        }
        server.restart();
    }
    assert_all(&found, keys);
}
