//! Engine tikv, on a double of the cluster: how many requests commands take, and what happens when the cluster goes away or
//! something is too large. [`crate::nodes`] has more than one node.

use std::ops::ControlFlow;
use std::time::Duration;

use tarn_engine::tikv::{Options as EngineOptions, TikvEngine};
use tarn_engine::{Direction, Engine as _, Range, Read as _, Space, Wait};
use tikv_double::{Call, Counts, Double, Fault, Options as DoubleOptions, Rates, Rule};

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, eventually};
use crate::value::Value;

fn double() -> Double {
    Double::start(DoubleOptions::default()).unwrap()
}

fn options(double: &Double) -> Options {
    Options::new(Program::Tikv).with("tikv-pd-addresses", &double.pd_address()).with("tikv-prefix", "test")
}

fn ok(conn: &mut Conn, line: &str) -> Value {
    let words: Vec<&str> = line.split(' ').collect();
    let reply = conn.call(&words);
    assert!(!reply.is_error(), "{line}: {reply}");
    reply
}

fn error(conn: &mut Conn, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match conn.call(&words) {
        Value::Error(text) => String::from_utf8_lossy(&text).into_owned(),
        other => panic!("{line}: {other}"),
    }
}

fn info(conn: &mut Conn, section: &str) -> String {
    String::from_utf8_lossy(conn.call(&["INFO", section]).bytes().unwrap()).into_owned()
}

fn counter(conn: &mut Conn, name: &str) -> u64 {
    let report = info(conn, "tikv");
    let value = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    value.trim().parse().unwrap()
}

/// The requests of the background come in between now and then: the fewest of a few runs are the command's own.
fn requests(double: &Double, mut work: impl FnMut(usize)) -> Counts {
    let counts = (0..20).map(|round| {
        let before = double.counts();
        work(round);
        double.counts() - &before
    });
    counts.min_by_key(|counts| (counts.tikv(), counts.get(Call::Tso))).unwrap()
}

/// Requests to stores; timestamps are counted apart: one for a read or a transaction, shared by those who ask together.
#[test]
fn commands_take_few_requests() {
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    ok(&mut conn, "DEBUG SET-ACTIVE-EXPIRE 0");
    ok(&mut conn, "SET warm 1");
    ok(&mut conn, "HSET hash f 1 g 2");
    let counts = requests(&double, |_| assert_eq!(conn.call(&["GET", "warm"]), Value::bulk("1")));
    assert_eq!((counts.tikv(), counts.get(Call::Get), counts.get(Call::Tso)), (1, 1, 1), "GET: {counts}");
    let counts = requests(&double, |round| {
        ok(&mut conn, &format!("SET new:{round} v"));
    });
    assert!(counts.tikv() <= 3 && counts.get(Call::Commit) == 0, "SET of a new key: {counts}");
    let counts = requests(&double, |round| {
        ok(&mut conn, &format!("SET warm {round}"));
    });
    assert!(counts.tikv() <= 2, "SET of a key that is there: {counts}");
    let counts = requests(&double, |round| {
        ok(&mut conn, &format!("HSET hash f {round}"));
    });
    assert!(counts.tikv() <= 3, "HSET of a hash that is there: {counts}");
    let gets: Vec<[String; 2]> = (0..16).map(|n| ["GET".to_owned(), format!("new:{n}")]).collect();
    let counts = requests(&double, |_| {
        assert!(conn.call_all(&gets).iter().all(|reply| *reply == Value::bulk("v")));
    });
    assert!(counts.tikv() + counts.get(Call::Tso) <= 3, "16 GETs: {counts}");
    let gets: Vec<[&str; 3]> =
        (0..16).map(|n| ["HGET", "hash", if n % 2 == 0 { "f" } else { "g" }]).collect();
    let counts = requests(&double, |_| {
        assert!(conn.call_all(&gets).iter().all(|reply| !reply.is_nil()));
    });
    assert!(counts.tikv() <= 2, "16 HGETs: {counts}");
    let sets: Vec<[String; 4]> =
        (0..16).map(|n| ["HSET".to_owned(), "hash".to_owned(), format!("{n}"), "v".to_owned()]).collect();
    conn.call_all(&sets);
    let counts = requests(&double, |_| {
        conn.call_all(&sets);
    });
    assert!(counts.tikv() <= 3, "16 HSETs of one key: {counts}");
    let sets: Vec<[String; 3]> =
        (0..16).map(|n| ["SET".to_owned(), format!("new:{n}"), "w".to_owned()]).collect();
    let counts = requests(&double, |_| {
        assert!(conn.call_all(&sets).iter().all(|reply| *reply == Value::ok()));
    });
    assert!(counts.tikv() <= 8, "16 SETs of as many keys, four in a transaction: {counts}");
    let keys: Vec<String> =
        std::iter::once("DEL".to_owned()).chain((0..100).map(|n| format!("none:{n}"))).collect();
    let counts = requests(&double, |_| assert_eq!(conn.call(&keys), Value::Int(0)));
    assert!(counts.tikv() <= 1, "DEL of 100 keys: {counts}");
}

#[test]
fn a_pipeline_is_answered_in_order_and_sees_its_own_writes() {
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    let lines = [
        "SET a 1",
        "GET a",
        "INCR a",
        "GET a",
        "GET b",
        "RPUSH l x",
        "RPUSH l y",
        "LRANGE l 0 -1",
        "PING",
        "DEL a l",
        "EXISTS a l",
        "LPUSH a 1",
        "GET a",
        "TYPE a",
        "SET k1 1",
        "INCR k1",
        "INCR a",
        "HSET k2 f 1",
        "SADD k2 m",
        "SET k3 3",
        "MGET k1 a k2 k3",
        "HGETALL k2",
    ];
    let commands: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    let replies: Vec<String> = conn.call_all(&commands).iter().map(ToString::to_string).collect();
    let expected = [
        "+OK",
        "\"1\"",
        ":2",
        "\"2\"",
        "nil",
        ":1",
        ":2",
        "[\"x\" \"y\"]",
        "+PONG",
        ":2",
        ":0",
        ":1",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
        "+list",
        "+OK",
        ":2",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
        ":1",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
        "+OK",
        "[\"2\" nil nil \"3\"]",
        "[\"f\" \"1\"]",
    ];
    assert_eq!(replies, expected);
}

#[test]
fn a_cluster_that_goes_away_is_missed_and_found_again() {
    let double = double();
    let server = Server::start(options(&double).with("tikv-timeout", "500"));
    let mut conn = server.conn();
    ok(&mut conn, "SET k v");
    double.stop_pd();
    double.store_ids().into_iter().for_each(|id| double.stop_store(id));
    for _ in 0..3 {
        for line in ["GET k", "SET k w", "DEL k", "DBSIZE"] {
            let words = error(&mut server.conn(), line);
            assert!(words.starts_with("CLUSTERDOWN "), "{line}: {words}");
        }
    }
    for line in ["PING", "CONFIG GET port", "CLIENT ID", "COMMAND COUNT", "ECHO x"] {
        ok(&mut conn, line);
    }
    let report = info(&mut conn, "everything");
    assert!(report.contains("tikv_reachable:0"), "{report}");
    assert!(report.contains("errorstat_CLUSTERDOWN:count="), "{report}");
    double.store_ids().into_iter().for_each(|id| double.start_store(id).unwrap());
    double.start_pd().unwrap();
    eventually("the node serves again", || conn.call(&["GET", "k"]) == Value::bulk("v"));
    ok(&mut conn, "SET k w");
    assert!(info(&mut conn, "tikv").contains("tikv_reachable:1"));
}

#[test]
fn a_node_starts_before_its_cluster() {
    let double = double();
    double.stop_pd();
    let server = Server::start(options(&double).with("tikv-timeout", "300"));
    let mut conn = server.conn();
    assert!(error(&mut conn, "SET k v").starts_with("CLUSTERDOWN "));
    assert!(error(&mut conn, "GET k").starts_with("CLUSTERDOWN "));
    assert!(error(&mut conn, "FUNCTION LOAD x").starts_with("ERR "));
    ok(&mut conn, "PING");
    assert!(info(&mut conn, "server").contains("redis_version"));
    double.start_pd().unwrap();
    eventually("the node serves", || !conn.call(&["SET", "k", "v"]).is_error());
    assert_eq!(conn.call(&["GET", "k"]), Value::bulk("v"));
}

#[test]
fn prefixes_share_a_cluster_and_know_nothing_of_each_other() {
    let double = double();
    let server = Server::start(options(&double));
    let other = Server::start(options(&double).with("tikv-prefix", "other"));
    ok(&mut server.conn(), "SET k v");
    assert!(other.conn().call(&["GET", "k"]).is_nil());
    ok(&mut other.conn(), "FLUSHALL");
    assert_eq!(server.conn().call(&["GET", "k"]), Value::bulk("v"));
    assert!(info(&mut other.conn(), "tikv").contains("tikv_nodes:1"));
}

#[test]
fn data_survives_restarts() {
    let double = double();
    let mut server = Server::start(options(&double));
    let mut conn = server.conn();
    ok(&mut conn, "SET s v");
    ok(&mut conn, "RPUSH l a b c");
    ok(&mut conn, "SWAPDB 0 3");
    ok(&mut conn, "SET here 1");
    assert_eq!(server.stop().code(), Some(0));
    server.restart();
    let mut conn = server.conn();
    assert_eq!(conn.call(&["GET", "here"]), Value::bulk("1"));
    assert_eq!(ok(&mut conn, "DBSIZE"), Value::Int(1));
    ok(&mut conn, "SELECT 3");
    assert_eq!(conn.call(&["LLEN", "l"]), Value::Int(3));
    assert_eq!(ok(&mut conn, "DBSIZE"), Value::Int(2));
}

#[test]
fn conflicts_never_reach_a_client_and_are_counted() {
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    for round in 1..=5 {
        double.inject(Rule::on(Call::Prewrite, Fault::Conflict).times(round));
        assert_eq!(conn.call(&["INCR", "n"]), Value::Int(round as i64));
    }
    assert!(counter(&mut conn, "tikv_runs_again") >= 5);
}

/// Each has its own reply, and a call that is refused leaves the others alone.
#[test]
fn writes_of_one_key_by_many_clients_share_transactions() {
    const CLIENTS: i64 = 16;
    const EACH: i64 = 100;
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    let before = counter(&mut conn, "tikv_commits");
    let mut counted: Vec<i64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut conn = server.conn();
                    let mut counted = Vec::new();
                    for _ in 0..EACH {
                        counted.push(conn.call(&["INCR", "n"]).int().unwrap());
                        assert!(error(&mut conn, "LPUSH n x").starts_with("WRONGTYPE "));
                    }
                    counted
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    counted.sort_unstable();
    assert_eq!(counted, (1..=CLIENTS * EACH).collect::<Vec<_>>());
    let commits = counter(&mut conn, "tikv_commits") - before;
    assert!(commits < (CLIENTS * EACH) as u64, "{commits} commits of {} commands", CLIENTS * EACH);
}

#[test]
fn an_unknown_outcome_is_told() {
    let double = double();
    let server = Server::start(options(&double).with("tikv-timeout", "500"));
    let mut conn = server.conn();
    ok(&mut conn, "SET k v");
    double.inject(Rule::on(Call::Prewrite, Fault::TimeoutAfter).with_prefix(b"test\x00").always());
    let words = error(&mut conn, "SET k w");
    assert!(words.starts_with("UNKNOWNOUTCOME "), "{words}");
    double.clear_faults();
    eventually("the node serves again", || conn.call(&["GET", "k"]) == Value::bulk("w"));
    assert!(info(&mut conn, "tikv").contains("tikv_unknown_outcomes:1"));
}

#[test]
fn what_is_too_large_is_refused_with_the_limit() {
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    let long = "k".repeat(8_000);
    for words in [["SET", &long, "v"], ["GET", &long, ""], ["HSET", "h", &long]] {
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let words = if words[0] == "HSET" { [&words[..], &["v"]].concat() } else { words };
        let reply = conn.call(&words);
        assert!(matches!(&reply, Value::Error(text) if text.ends_with(b"8192")), "{reply}");
    }
    assert_eq!(conn.call(&["EXISTS", "h"]), Value::Int(0));
    let fits = "k".repeat(7_000);
    assert_eq!(conn.call(&["SET", &fits, "v"]), Value::ok());
    assert_eq!(conn.call(&["GET", &fits]), Value::bulk("v"));
    // Strings are kept in pieces, elements are not.
    let mib = "x".repeat(8 << 20);
    assert_eq!(conn.call(&["SET", "large", &mib]), Value::ok());
    assert_eq!(conn.call(&["STRLEN", "large"]), Value::Int(8 << 20));
    let reply = conn.call(&["HSET", "h", "f", &mib]);
    assert!(matches!(&reply, Value::Error(text) if text.ends_with(b"6291456")), "{reply}");
    let reply = conn.call(&["SAVE"]);
    assert!(matches!(&reply, Value::Error(text) if text.windows(2).any(|two| two == b"BR")), "{reply}");
}

/// Rows of dead collections are removed, whatever their size, and those of one that lives are not.
#[test]
fn garbage_goes() {
    let double = double();
    let server = Server::start(options(&double));
    let mut conn = server.conn();
    let engine = TikvEngine::open(&EngineOptions {
        pd_addresses: vec![double.pd_address()],
        prefix: "test".to_owned(),
        timeout: Duration::from_secs(10),
        relied: Vec::new(),
    })
    .unwrap();
    engine.wait_connected().unwrap();
    let rows = |marker: &str| rows_with(&engine, marker.as_bytes());
    for key in ["a", "b", "c"] {
        ok(&mut conn, &format!("RPUSH {key} garbage garbage garbage"));
    }
    ok(&mut conn, "XADD s 1-1 f garbage");
    ok(&mut conn, "XGROUP CREATE s g 0");
    ok(&mut conn, "XREADGROUP GROUP g me STREAMS s >");
    assert!(rows("garbage") >= 10);
    ok(&mut conn, "DEL a s");
    ok(&mut conn, "SET b x");
    eventually("only the rows of c are left", || rows("garbage") == 3);
    assert_eq!(conn.call(&["LLEN", "c"]), Value::Int(3));
    ok(&mut conn, "FLUSHALL");
    eventually("nothing is left", || rows("garbage") == 0);
}

/// Rows of all spaces whose value ends so.
fn rows_with(engine: &TikvEngine, marker: &[u8]) -> usize {
    let mut rows = 0;
    let read = engine.begin_read(Wait::Allowed);
    let range = Range { start: b"", end: &[0xff; 64] };
    for space in (0..8).map(Space) {
        read.scan(space, range, Direction::Forward, usize::MAX, &mut |_, value| {
            rows += usize::from(value.ends_with(marker));
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    rows
}

/// Regions move and split, answers get lost, and the node is killed in between: what was acknowledged is there, once; what has an unknown
/// outcome is there once or not at all.
#[test]
fn acknowledged_writes_are_there_once_whatever_happens() {
    const CLIENTS: usize = 6;
    const ROUNDS: usize = 3;
    const COUNTS: usize = 60;
    let double = Double::start(DoubleOptions { seed: 11, ..DoubleOptions::default() }).unwrap();
    let options = options(&double).with("tikv-timeout", "2000");
    let mut server = Server::start(options);
    let (mut done, mut unknown) = (vec![0_i64; CLIENTS], vec![0_i64; CLIENTS]);
    for round in 0..ROUNDS {
        double.set_rates(Rates {
            region_error: 0.02,
            busy: 0.02,
            conflict: 0.02,
            abandoned_lock: 0.002,
            split: 0.002,
            move_leader: 0.01,
            unavailable: 0.01,
            unavailable_after: 0.01,
            ..Rates::default()
        });
        std::thread::scope(|threads| {
            for (client, (done, unknown)) in done.iter_mut().zip(&mut unknown).enumerate() {
                let server = &server;
                threads.spawn(move || {
                    // What was acknowledged is what counts here, not when.
                    let mut conn = Conn::connect_patient(server.port(), Duration::from_secs(60)).unwrap();
                    let key = format!("n:{client}");
                    for _ in 0..COUNTS {
                        // Its own key, and one that all share.
                        let replies = conn.call_all(&[vec!["INCR", &key], vec!["HINCRBY", "all", &key, "1"]]);
                        match &replies[0] {
                            Value::Int(_) => *done += 1,
                            Value::Error(text) if text.starts_with(b"UNKNOWNOUTCOME") => *unknown += 1,
                            other => panic!("{other}"),
                        }
                    }
                });
            }
        });
        double.clear_faults();
        if round + 1 < ROUNDS {
            server.restart();
            eventually("the node serves again", || !server.conn().call(&["EXISTS", "n:0"]).is_error());
        }
    }
    let mut conn = server.conn();
    for client in 0..CLIENTS {
        let reply = conn.call(&["GET", &format!("n:{client}")]);
        let counted: i64 = String::from_utf8_lossy(reply.bytes().unwrap()).parse().unwrap();
        let (done, unknown) = (done[client], unknown[client]);
        assert!((done..=done + unknown).contains(&counted), "{counted} of {done} and {unknown} unknown");
    }
    assert_eq!(conn.call(&["HLEN", "all"]), Value::Int(CLIENTS as i64));
    assert!(double.faults_struck() > 100);
}
