//! The machine's clock is off by another amount at each start: what has expired stays away, what has not is there until its time.

use std::collections::BTreeMap;
use std::time::Instant;

use super::options;
use crate::conn::Conn;
use crate::harness::{Server, eventually};
use crate::rng::Rng;
use crate::value::Value;

const STEPS: usize = 6;
const HOUR_MS: i64 = 3_600_000;

/// The server's own time, in milliseconds.
fn time_ms(conn: &mut Conn) -> u64 {
    let reply = conn.call(&["TIME"]);
    let parts: Vec<u64> = reply
        .items()
        .unwrap()
        .iter()
        .map(|part| std::str::from_utf8(part.bytes().unwrap()).unwrap().parse().unwrap())
        .collect();
    parts[0] * 1000 + parts[1] / 1000
}

/// What is there, with its time; checked against what was there before. `latest_ms` is when the server before this one ended, by its own time:
/// what had expired by then is gone for good.
fn check(conn: &mut Conn, keys: &mut BTreeMap<String, u64>, latest_ms: u64, what: &str) {
    // A key is gone from its time on, and not before.
    let names: Vec<String> = keys.keys().cloned().collect();
    for key in names {
        let at_ms = keys[&key];
        let before_ms = time_ms(conn);
        let found = conn.call(&["PEXPIRETIME", &key]).int().unwrap();
        let after_ms = time_ms(conn);
        assert!(before_ms <= after_ms, "{what}");
        if found == -2 {
            assert!(
                at_ms <= after_ms.max(latest_ms),
                "{what}: {key} is gone at {after_ms}, too early: {at_ms}"
            );
            keys.remove(&key);
        } else {
            assert_eq!(found as u64, at_ms, "{what}: {key}");
            assert!(at_ms > before_ms, "{what}: {key} is there at {before_ms}, too late: {at_ms}");
        }
    }
    let live = |conn: &mut Conn| conn.call(&["DBSIZE"]).int().unwrap() as usize;
    eventually("what has expired is removed", || {
        let now_ms = time_ms(conn);
        let due = keys.values().filter(|at_ms| **at_ms <= now_ms).count();
        live(conn) <= keys.len() && live(conn) + due >= keys.len()
    });
    assert!(live(conn) <= keys.len(), "{what}: something came back");
}

/// One directory over several starts; how many there were.
pub fn steps(rng: &mut Rng) -> u64 {
    let mut server = Server::start(options("everysec"));
    let (mut keys, mut latest_ms) = (BTreeMap::new(), 0);
    for step in 0..STEPS {
        let mut conn = server.conn();
        for number in 0..20 {
            let left_ms = match rng.below(3) {
                0 => 1 + rng.below(300) as u64,
                1 => 1 + rng.below(HOUR_MS as usize) as u64,
                _ => HOUR_MS as u64 * (2 + rng.below(100) as u64),
            };
            let (key, at_ms) = (format!("key-{step}-{number}"), time_ms(&mut conn) + left_ms);
            let reply = conn.call(&["SET", &key, "v", "PXAT", &at_ms.to_string()]);
            assert_eq!(reply, Value::ok());
            keys.insert(key, at_ms);
        }
        check(&mut conn, &mut keys, latest_ms, "before a step");
        let (begun, begun_ms) = (Instant::now(), time_ms(&mut conn));
        // Forward, back, or as it should be.
        let off_ms = match rng.below(3) {
            0 => rng.below(2 * HOUR_MS as usize) as i64,
            1 => -(rng.below(48 * HOUR_MS as usize) as i64),
            _ => 0,
        };
        if rng.percent(50) {
            assert!(server.stop().success());
        } else {
            server.kill();
        }
        latest_ms = latest_ms.max(begun_ms + begun.elapsed().as_millis() as u64 + 1);
        server.step_clock(off_ms);
        server.restart();
        check(&mut server.conn(), &mut keys, latest_ms, &format!("behind a step by {off_ms} ms"));
    }
    STEPS as u64
}

#[test]
fn steps_of_the_clock_over_restarts() {
    let seed = Rng::fresh_seed();
    println!("seed {seed}");
    steps(&mut Rng::new(seed));
}
