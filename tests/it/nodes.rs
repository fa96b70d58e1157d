//! Several nodes serve the same data: whatever was acknowledged by one is seen by all, FLUSHALL and SWAPDB count everywhere at once, WATCH
//! notices what others change, and what expires goes once. [`held`] has the same where requests are held up on their way.

mod held;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tikv_double::{Double, Options as DoubleOptions};

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, StopOnDrop, eventually};
use crate::value::Value;

fn double() -> Double {
    Double::start(DoubleOptions::default()).unwrap()
}

fn options(double: &Double) -> Options {
    Options::new(Program::Tikv).with("tikv-pd-addresses", &double.pd_address()).with("tikv-prefix", "test")
}

fn start(double: &Double, count: usize) -> Vec<Server> {
    let servers: Vec<Server> = (0..count).map(|_| Server::start(options(double))).collect();
    for server in &servers {
        let mut conn = server.conn();
        eventually("all know each other", || {
            let report = conn.call(&["INFO", "tikv"]);
            let report = String::from_utf8_lossy(report.bytes().unwrap()).into_owned();
            report.contains(&format!("tikv_nodes:{count}\r\n"))
                && report.contains(&format!("tikv_links_to:{}\r\n", count - 1))
        });
    }
    servers
}

fn call(conn: &mut Conn, line: &str) -> Value {
    let words: Vec<&str> = line.split(' ').collect();
    conn.call(&words)
}

fn ok(conn: &mut Conn, line: &str) -> Value {
    let reply = call(conn, line);
    assert!(!reply.is_error(), "{line}: {reply}");
    reply
}

#[test]
fn what_one_acknowledges_all_see() {
    let double = double();
    let servers = start(&double, 3);
    let mut conns: Vec<Conn> = servers.iter().map(Server::conn).collect();
    for round in 0..20 {
        for at in 0..3 {
            ok(&mut conns[at], &format!("SET string {round}-{at}"));
            ok(&mut conns[(at + 1) % 3], &format!("RPUSH list {round}-{at}"));
            ok(&mut conns[(at + 2) % 3], &format!("HSET hash {round} {at}"));
            for conn in &mut conns {
                assert_eq!(call(conn, "GET string"), Value::bulk(format!("{round}-{at}")));
                assert_eq!(call(conn, "LINDEX list -1"), Value::bulk(format!("{round}-{at}")));
                assert_eq!(call(conn, &format!("HGET hash {round}")), Value::bulk(at.to_string()));
            }
        }
    }
    // Keys that one makes and another removes are counted right by all.
    for n in 0..30 {
        ok(&mut conns[n % 3], &format!("SET n:{n} v EX 1000"));
        ok(&mut conns[(n + 1) % 3], &format!("DEL n:{}", n.saturating_sub(5)));
    }
    for conn in &mut conns {
        assert_eq!(call(conn, "DBSIZE"), Value::Int(3 + 5));
        let report = call(conn, "INFO keyspace").to_string();
        assert!(report.contains("keys=8,expires=5"), "{report}");
    }
}

/// Everybody adds to the same number and moves along the same lists: nothing is lost or done twice.
#[test]
fn nodes_meet_at_the_same_keys() {
    const EACH: i64 = 60;
    let double = double();
    let servers = start(&double, 3);
    ok(&mut servers[0].conn(), "RPUSH from 1 2 3 4 5 6 7 8 9 10");
    std::thread::scope(|threads| {
        for server in &servers {
            for _ in 0..2 {
                threads.spawn(|| {
                    let mut conn = server.conn();
                    for n in 0..EACH {
                        ok(&mut conn, "INCR number");
                        ok(&mut conn, &format!("HINCRBY hash field{} 1", n % 3));
                        ok(&mut conn, "LMOVE from to LEFT RIGHT");
                        ok(&mut conn, "LMOVE to from LEFT RIGHT");
                        // Reads one key and writes another.
                        ok(&mut conn, "EVAL return(redis.call('set','copy',redis.call('get','number'))) 0");
                    }
                });
            }
        }
    });
    let mut conn = servers[1].conn();
    assert_eq!(call(&mut conn, "GET number"), Value::bulk((6 * EACH).to_string()));
    assert_eq!(call(&mut conn, "GET copy"), Value::bulk((6 * EACH).to_string()));
    let fields: Vec<Value> = (0..3).map(|n| call(&mut conn, &format!("HGET hash field{n}"))).collect();
    assert_eq!(fields, vec![Value::bulk((2 * EACH).to_string()); 3]);
    assert_eq!(call(&mut conn, "LLEN from"), Value::Int(10));
    assert_eq!(call(&mut conn, "LLEN to"), Value::Int(0));
    assert_eq!(call(&mut conn, "DBSIZE"), Value::Int(4));
}

/// Two keys of which one may be set while the other is not: nobody sees both.
#[test]
fn nobody_writes_by_what_is_no_longer_true() {
    let double = double();
    let servers = start(&double, 2);
    let script = "if redis.call('exists',KEYS[1])==0 then redis.call('set',KEYS[2],'x') end return 0";
    for round in 0..40 {
        std::thread::scope(|threads| {
            for (at, server) in servers.iter().enumerate() {
                threads.spawn(move || {
                    let (one, two) = (format!("{round}:{at}"), format!("{round}:{}", 1 - at));
                    let mut conn = server.conn();
                    let reply = conn.call(&["EVAL", script, "2", &one, &two]);
                    assert!(!reply.is_error(), "{reply}");
                });
            }
        });
        let both = call(&mut servers[0].conn(), &format!("EXISTS {round}:0 {round}:1"));
        assert_eq!(both, Value::Int(1), "round {round}");
    }
}

/// A write that is acknowledged behind FLUSHALL is there, one that was acknowledged before it is not, whichever node it was on.
#[test]
fn flushing_counts_on_all_nodes_at_once() {
    let double = double();
    let servers = start(&double, 3);
    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let (written, flushed) = std::thread::scope(|threads| {
        let writers: Vec<_> = servers
            .iter()
            .enumerate()
            .map(|(at, server)| {
                let is_over = &is_over;
                threads.spawn(move || {
                    let (mut conn, mut written, mut n) = (server.conn(), Vec::new(), 0);
                    while !is_over.load(Ordering::Relaxed) {
                        let (key, from) = (format!("{at}:{n}"), began.elapsed());
                        ok(&mut conn, &format!("SET {key} v"));
                        written.push((key, from, began.elapsed()));
                        n += 1;
                    }
                    written
                })
            })
            .collect();
        let _stop = StopOnDrop(&is_over);
        let mut conn = servers[0].conn();
        let mut other = servers[1].conn();
        let mut flushed = (Duration::ZERO, Duration::ZERO);
        for round in 0..6 {
            std::thread::sleep(Duration::from_millis(100));
            let (from, line) = (began.elapsed(), if round % 2 == 0 { "FLUSHALL" } else { "FLUSHDB" });
            ok(if round % 3 == 0 { &mut other } else { &mut conn }, line);
            flushed = (from, began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(100));
        is_over.store(true, Ordering::Relaxed);
        let written: Vec<_> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        (written, flushed)
    });
    let mut conn = servers[2].conn();
    let (mut there, mut gone) = (0, 0);
    for (key, from, to) in &written {
        let exists = call(&mut conn, &format!("EXISTS {key}")) == Value::Int(1);
        if *to < flushed.0 {
            assert!(!exists, "{key} was acknowledged before the database was flushed");
            gone += 1;
        } else if *from > flushed.1 {
            assert!(exists, "{key} was acknowledged behind the flush");
            there += 1;
        }
    }
    assert!(gone > 0 && there > 0, "{gone} before, {there} behind");
    let count =
        written.iter().filter(|(key, ..)| call(&mut conn, &format!("EXISTS {key}")) == Value::Int(1)).count();
    assert_eq!(call(&mut conn, "DBSIZE"), Value::Int(count as i64));
}

/// What is in a database goes with it: a counter in one of two databases that are exchanged all the time never loses anything.
#[test]
fn swapping_counts_on_all_nodes_at_once() {
    let double = double();
    let servers = start(&double, 3);
    let is_over = AtomicBool::new(false);
    let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
    std::thread::scope(|threads| {
        let (counts, is_over) = (&counts, &is_over);
        for (at, server) in servers.iter().enumerate() {
            threads.spawn(move || {
                let mut conn = server.conn();
                let db = at % 2;
                ok(&mut conn, &format!("SELECT {db}"));
                while !is_over.load(Ordering::Relaxed) {
                    ok(&mut conn, "INCR n");
                    counts[db].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _stop = StopOnDrop(is_over);
        let mut conn = servers[0].conn();
        let mut other = servers[1].conn();
        for round in 0..8 {
            std::thread::sleep(Duration::from_millis(60));
            ok(&mut conn, &format!("SET mark {round}"));
            ok(if round % 2 == 0 { &mut conn } else { &mut other }, "SWAPDB 0 1");
            // At once, on a node that did not do it.
            let mut third = servers[2].conn();
            ok(&mut third, "SELECT 1");
            assert_eq!(call(&mut third, "GET mark"), Value::bulk(round.to_string()));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let mut conn = servers[0].conn();
    let mut sum = 0;
    for db in 0..2 {
        ok(&mut conn, &format!("SELECT {db}"));
        sum += String::from_utf8_lossy(call(&mut conn, "GET n").bytes().unwrap()).parse::<usize>().unwrap();
    }
    assert_eq!(sum, counts.iter().map(|count| count.load(Ordering::Relaxed)).sum());
}

#[test]
fn watches_notice_what_other_nodes_change() {
    let double = double();
    let servers = start(&double, 2);
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    let both_nil = [
        ("SET k 1", "SET k 2"),
        ("SET k 1", "SET k 1"),
        ("SET k 1", "DEL k"),
        ("DEL k", "SET k 1|DEL k"),
        ("SET k 1", "DEL k|SET k 1"),
        ("HSET k f 1", "HSET k f 2"),
        ("HSET k f 1", "HSET k f 2|HSET k f 1"),
        ("SADD k a b", "SREM k a|SADD k a"),
        ("ZADD k 1 a", "ZADD k 2 a"),
        ("RPUSH k a", "LSET k 0 b"),
        ("XADD k 1-1 f v", "XADD k 2-1 f v"),
        ("SET k 1", "PEXPIRE k 100000"),
        ("SET k 1", "RENAME k other"),
        ("SET k 1", "FLUSHALL"),
        ("SET k 1", "SWAPDB 0 1"),
        ("SET k 1", "MULTI|SET k 2|EXEC"),
        ("SET k 1", "EVAL return(redis.call('incr','k')) 0"),
    ];
    for (before, change) in both_nil {
        ok(&mut here, "FLUSHALL");
        ok(&mut here, before);
        for calls in ["GET unrelated", "SET mark x"] {
            ok(&mut here, "WATCH k");
            ok(&mut here, "MULTI");
            ok(&mut here, calls);
            change.split('|').for_each(|line| {
                ok(&mut there, line);
            });
            assert_eq!(call(&mut here, "EXEC"), Value::NilArray, "{before}, {change}, {calls}");
            assert!(call(&mut here, "GET mark").is_nil(), "{before}, {change}, {calls}");
            // What was changed back is to be changed again.
            call(&mut there, "DEL k");
            ok(&mut here, before);
        }
        // What others do with other keys is no matter.
        ok(&mut here, "WATCH k");
        ok(&mut there, "SET elsewhere 1");
        ok(&mut here, "MULTI");
        ok(&mut here, "SET mark x");
        assert_eq!(call(&mut here, "EXEC"), Value::Array(vec![Value::ok()]), "{before}");
    }
}

/// Transfers by WATCH from all nodes: the sum stays.
#[test]
fn transfers_with_watch_from_all_nodes_keep_their_sum() {
    let double = double();
    let servers = start(&double, 3);
    ok(&mut servers[0].conn(), "MSET a 100 b 100");
    let (done, aborted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for server in &servers {
            threads.spawn(|| {
                let mut conn = server.conn();
                let number =
                    |value: Value| String::from_utf8_lossy(value.bytes().unwrap()).parse::<i64>().unwrap();
                for _ in 0..40 {
                    ok(&mut conn, "WATCH a b");
                    let (a, b) = (number(ok(&mut conn, "GET a")), number(ok(&mut conn, "GET b")));
                    ok(&mut conn, "MULTI");
                    ok(&mut conn, &format!("SET a {}", a - 1));
                    ok(&mut conn, &format!("SET b {}", b + 1));
                    match ok(&mut conn, "EXEC") {
                        Value::NilArray => aborted.fetch_add(1, Ordering::Relaxed),
                        _ => done.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
    });
    let done = done.load(Ordering::Relaxed) as i64;
    let mut conn = servers[2].conn();
    assert_eq!(call(&mut conn, "GET a"), Value::bulk((100 - done).to_string()));
    assert_eq!(call(&mut conn, "GET b"), Value::bulk((100 + done).to_string()));
    assert!(done > 0, "{} were refused", aborted.load(Ordering::Relaxed));
}

/// Keys and fields go once, also if whose turn it is dies.
#[test]
fn what_expires_goes_once() {
    const KEYS: usize = 120;
    let double = double();
    let with_events = || options(&double).with("notify-keyspace-events", "KEA");
    let mut servers: Vec<Server> = (0..3).map(|_| Server::start(with_events())).collect();
    let mut heard = servers[0].conn();
    call(&mut heard, "SUBSCRIBE __keyevent@0__:expired __keyevent@0__:hexpired");
    heard.recv();
    let mut conns: Vec<Conn> = servers.iter().map(Server::conn).collect();
    // Events of other nodes come once these know that somebody hears.
    for at in [1, 2] {
        eventually("events of other nodes are heard", || {
            ok(&mut conns[at], "SET probe v PX 1");
            std::thread::sleep(Duration::from_millis(20));
            call(&mut conns[at], "GET probe");
            std::iter::from_fn(|| heard.try_recv_ready().unwrap()).count() > 0
        });
    }
    call(&mut conns[0], "DEL probe");
    // The last never comes to its share, and is killed.
    ok(&mut conns[2], "DEBUG SET-ACTIVE-EXPIRE 0");
    let reaped = |conns: &mut [Conn]| {
        let mut of = |name: &str| -> usize {
            let counts = conns.iter_mut().map(|conn| field(&call(conn, "INFO stats"), name));
            counts.map(|count| count.parse::<usize>().unwrap()).sum()
        };
        (of("expired_keys:"), of("expired_subkeys:"))
    };
    let before = reaped(&mut conns[..2]);
    for n in 0..KEYS {
        let conn = &mut conns[n % 3];
        ok(conn, &format!("SET key:{n} v PX {}", 500 + 5 * n));
        ok(conn, &format!("HSET hash:{n} gone 1 stays 2"));
        ok(conn, &format!("HPEXPIRE hash:{n} {} FIELDS 1 gone", 500 + 5 * n));
    }
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let mut hear = |least: usize| {
        eventually("they have expired", || {
            while let Some(message) = heard.try_recv_ready().unwrap() {
                let name = message.to_string();
                if name.contains("key:") || name.contains("hash:") {
                    *told.entry(name).or_default() += 1;
                }
            }
            told.len() >= least
        });
        told.clone()
    };
    assert!(hear(KEYS / 4).len() < 2 * KEYS, "some are the share of the third");
    drop(conns.pop());
    servers[2].kill();
    let told = hear(2 * KEYS);
    assert_eq!(told.len(), 2 * KEYS);
    assert!(told.values().all(|times| *times == 1), "{told:?}");
    assert_eq!(call(&mut conns[1], "DBSIZE"), Value::Int(KEYS as i64));
    for n in 0..KEYS {
        assert_eq!(call(&mut conns[1], &format!("HLEN hash:{n}")), Value::Int(1));
    }
    let after = reaped(&mut conns);
    assert_eq!((after.0 - before.0, after.1 - before.1), (KEYS, KEYS), "each by one of those that are left");
}

fn field(report: &Value, name: &str) -> String {
    let report = String::from_utf8_lossy(report.bytes().unwrap()).into_owned();
    report.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
}

#[test]
fn functions_of_one_node_are_those_of_all() {
    let double = double();
    let servers = start(&double, 2);
    let (mut here, mut there) = (servers[0].conn(), servers[1].conn());
    let code = |name: &str, result: i64| {
        format!("#!lua name={name}\nredis.register_function('{name}', function() return {result} end)")
    };
    assert_eq!(here.call(&["FUNCTION", "LOAD", &code("one", 1)]), Value::bulk("one"));
    eventually("the other node has it", || call(&mut there, "FCALL one 0") == Value::Int(1));
    // Whoever changes them knows what the others have, at once.
    assert_eq!(there.call(&["FUNCTION", "LOAD", &code("two", 2)]), Value::bulk("two"));
    let taken = here.call(&["FUNCTION", "LOAD", &code("two", 3)]);
    assert_eq!(taken.to_string(), "-ERR Library 'two' already exists");
    assert_eq!(call(&mut here, "FCALL two 0"), Value::Int(2));
    ok(&mut there, "FUNCTION DELETE one");
    eventually("it is gone on the other node", || call(&mut here, "FCALL one 0").is_error());
    let third = Server::start(options(&double));
    assert_eq!(call(&mut third.conn(), "FCALL two 0"), Value::Int(2));
}

/// A node that was killed is waited for no longer than its lease lasts, and nothing acknowledged is lost with it.
#[test]
fn a_node_that_was_killed_loses_nothing_and_stops_nobody() {
    let double = double();
    let hasty = || options(&double).with("tikv-timeout", "1000");
    let mut servers: Vec<Server> = (0..2).map(|_| Server::start(hasty())).collect();
    let mut conn = servers[1].conn();
    for n in 0..50 {
        ok(&mut conn, &format!("SET key:{n} {n}"));
        ok(&mut conn, &format!("HSET hash f{n} {n}"));
    }
    servers[1].kill();
    let mut conn = servers[0].conn();
    for n in 0..50 {
        assert_eq!(call(&mut conn, &format!("GET key:{n}")), Value::bulk(n.to_string()));
    }
    assert_eq!(call(&mut conn, "HLEN hash"), Value::Int(50));
    ok(&mut conn, "FLUSHALL");
    assert_eq!(call(&mut conn, "DBSIZE"), Value::Int(0));
    ok(&mut conn, "SET k v");
    let late = Server::start(options(&double));
    assert_eq!(call(&mut late.conn(), "GET k"), Value::bulk("v"));
}
