//! `maxdisk`: keys are evicted, or writes are refused.

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, eventually};
use crate::value::Value;

const LIMIT: u64 = 16 << 20;
const VALUE: usize = 256 << 10;

fn start(policy: &str) -> (Server, Conn) {
    let options = Options::new(Program::Rocksdb)
        .with("maxdisk", &LIMIT.to_string())
        .with("maxmemory-policy", policy)
        .with("notify-keyspace-events", "Ee");
    let server = Server::start(options);
    let conn = server.conn();
    (server, conn)
}

fn number(conn: &mut Conn, name: &str) -> u64 {
    let info = conn.call(&["INFO", "everything"]);
    let info = String::from_utf8(info.bytes().unwrap().to_vec()).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} in {info}")).parse().unwrap()
}

/// Bytes that do not get smaller when they are compressed.
fn value(n: u64) -> Vec<u8> {
    let mut rng = crate::rng::Rng::new(n);
    (0..VALUE).map(|_| rng.below(256) as u8).collect()
}

fn set(conn: &mut Conn, key: &str, n: u64, more: &[&[u8]]) -> Value {
    let value = value(n);
    let mut words: Vec<&[u8]> = vec![b"SET", key.as_bytes(), &value];
    words.extend(more);
    conn.call(&words)
}

fn is_refused(reply: &Value) -> bool {
    reply.to_string().starts_with("-OOM command not allowed when used disk > 'maxdisk'")
}

#[test]
fn without_a_policy_writes_are_refused_and_deletes_are_not() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    let (_server, mut conn) = start("noeviction");
    let mut n = 0;
    eventually("writes are refused", || {
        n += 1;
        is_refused(&set(&mut conn, &format!("k{n}"), n, &[]))
    });
    assert!(is_refused(&conn.call(&["RPUSH", "l", "a"])));
    assert_eq!(conn.call(&["EXISTS", "k1"]), Value::Int(1));
    assert_eq!(conn.call(&["DEL", "k1"]), Value::Int(1));
    assert_eq!(number(&mut conn, "evicted_keys"), 0);
    assert_eq!(conn.call(&["CONFIG", "SET", "maxdisk", "0"]).to_string(), "+OK");
    eventually("writes come back", || conn.call(&["RPUSH", "l", "a"]) == Value::Int(1));
}

#[test]
fn what_was_not_used_for_long_is_evicted() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-ttl", "volatile-lrm"] {
        let (server, mut conn) = start(policy);
        let mut listener = server.conn();
        listener.call(&["SUBSCRIBE", "__keyevent@0__:evicted"]);
        conn.call(&["SET", "stays", "x"]);
        let mut n = 0;
        eventually("keys are evicted", || {
            n += 1;
            let more: &[&[u8]] = if policy.starts_with("volatile") { &[b"EX", b"1000"] } else { &[] };
            let reply = set(&mut conn, &format!("k{n}"), n, more);
            assert!(!reply.is_error() || is_refused(&reply), "{reply}");
            number(&mut conn, "evicted_keys") >= 5
        });
        let told = listener.recv();
        // What has no expiry may go as well, where all keys may.
        let told = told.to_string();
        let is_of = |key: &str| told.starts_with(&format!(r#"["message" "__keyevent@0__:evicted" "{key}"#));
        assert!(is_of("k") || is_of("stays") && policy.starts_with("allkeys"), "{policy}: {told}");
        assert!(number(&mut conn, "maxdisk") == LIMIT);
        if policy.starts_with("volatile") {
            assert_eq!(conn.call(&["EXISTS", "stays"]), Value::Int(1));
        }
        if policy == "allkeys-lfu" {
            // The last one may have been refused, or be gone.
            let reply = conn.call(&["OBJECT", "FREQ", &format!("k{n}")]);
            assert!(matches!(reply, Value::Int(_)) || reply.is_nil(), "{reply}");
        }
    }
}

/// Keys that do not expire may not go where only others may.
#[test]
fn where_no_key_may_go_writes_are_refused() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    let (_server, mut conn) = start("volatile-lru");
    let mut n = 0;
    eventually("writes are refused", || {
        n += 1;
        is_refused(&set(&mut conn, &format!("k{n}"), n, &[]))
    });
    assert_eq!(number(&mut conn, "evicted_keys"), 0);
}
