//! Commands that wait for a key: BLPOP, BRPOP, BLMOVE, BRPOPLPUSH, BLMPOP, BZPOPMIN, BZPOPMAX, BZMPOP, and CLIENT UNBLOCK.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::check::{check, check3, tarn_only, tarn_only_with};
use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Server, eventually};
use crate::value::Value;

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn what_is_there_is_taken_at_once() {
    check(
        "RPUSH l 1 2 3 4 5 6 | BLPOP x l 0 | BRPOP l y 0 | BLMOVE l m LEFT RIGHT 0 | BRPOPLPUSH l m 0 | BLMPOP 0 2 x l LEFT COUNT 10 | LRANGE m 0 -1",
        r#":6 | ["l" "1"] | ["l" "6"] | "2" | "5" | ["l" ["3" "4"]] | ["5" "2"]"#,
    );
    check3(
        "ZADD z 1 a 2 b 3 c 4 d | BZPOPMIN x z 0 | BZPOPMAX z 0 | BZMPOP 0 2 x z MIN COUNT 5 | EXISTS z",
        r#":4 | ["z" "a" "1"] | ["z" "d" "4"] | ["z" [["b" "2"] ["c" "3"]]] | :0"#,
        r#":4 | ["z" "a" ,1] | ["z" "d" ,4] | ["z" [["b" ,2] ["c" ,3]]] | :0"#,
    );
    check("RPUSH l a b | BLMOVE l l LEFT RIGHT 0 | LRANGE l 0 -1", r#":2 | "a" | ["b" "a"]"#);
}

#[test]
fn what_is_wrong_is_refused_at_once() {
    check(
        "BLPOP | BLPOP a",
        "-ERR wrong number of arguments for 'blpop' command | -ERR wrong number of arguments for 'blpop' command",
    );
    for command in
        ["BLPOP a", "BRPOP a", "BLMOVE a b LEFT LEFT", "BRPOPLPUSH a b", "BZPOPMIN a", "BZPOPMAX a"]
    {
        check(&format!("{command} x"), "-ERR timeout is not a float or out of range");
        check(&format!("{command} -1"), "-ERR timeout is negative");
        for negative in ["-0.1", "-1e300", "-inf"] {
            check(&format!("{command} {negative}"), "-ERR timeout is negative");
        }
        check(&format!("{command} nan"), "-ERR timeout is not a float or out of range");
        // Redis 7.0 calls these negative.
        for long in ["0x7FFFFFFFFFFFFF", "1e17", "1e300", "inf", "9223372036854775.8"] {
            tarn_only(&format!("{command} {long}"), "-ERR timeout is out of range");
        }
    }
    tarn_only(
        "BLMPOP inf 1 a LEFT | BZMPOP 1e300 1 a MIN | XREAD BLOCK 9223372036854775807 STREAMS a $ | WAIT 1 9223372036854775807 | WAITAOF 0 0 9223372036854775807",
        &["-ERR timeout is out of range"; 5].join(" | "),
    );
    check(
        "BLMPOP x 1 a LEFT | BLMPOP -1 1 a LEFT",
        "-ERR timeout is not a float or out of range | -ERR timeout is negative",
    );
    check(
        "BLMPOP 0 0 a LEFT | BLMPOP 0 1 a X | BLMPOP 0 1 a LEFT COUNT 0",
        "-ERR numkeys should be greater than 0 | -ERR syntax error | -ERR count should be greater than 0",
    );
    check(
        "BZMPOP 0 0 a MIN | BZMPOP 0 1 a X | BZMPOP 0 1 a MIN COUNT 0",
        "-ERR numkeys should be greater than 0 | -ERR syntax error | -ERR count should be greater than 0",
    );
    check("BLMOVE a b LEFT X 0", "-ERR syntax error");
    check(
        "SET s x | BLPOP s 0 | BLPOP a s 0 | BLMOVE s b LEFT LEFT 0 | BZPOPMIN s 0 | BLMPOP 0 1 s LEFT",
        &format!("+OK | {WRONG} | {WRONG} | {WRONG} | {WRONG} | {WRONG}"),
    );
    check(
        "SET s x | RPUSH l a | BLMOVE l s LEFT LEFT 0 | LRANGE l 0 -1",
        &format!("+OK | :1 | {WRONG} | [\"a\"]"),
    );
}

/// Redis 8.10.
#[test]
fn blmovem() {
    tarn_only(
        "RPUSH s 1 2 3 | BLMOVEM s d LEFT RIGHT 0 COUNT 2 BULK | LRANGE d 0 -1 | BLMOVEM s d LEFT LEFT 0",
        r#":3 | ["1" "2"] | ["1" "2"] | ["3"]"#,
    );
    tarn_only(
        "@b BLMOVEM s d LEFT RIGHT 0 COUNT 5 BULK | RPUSH s a b | @b !recv | LRANGE d 0 -1 | EXISTS s",
        r#"none | :2 | ["a" "b"] | ["a" "b"] | :0"#,
    );
    tarn_only(
        "@b BLMOVEM s d LEFT RIGHT 0 EXACTLY 3 BULK | RPUSH s 1 2 | LRANGE s 0 -1 | EXISTS d | RPUSH s 3 | @b !recv | LRANGE d 0 -1 | EXISTS s",
        r#"none | :2 | ["1" "2"] | :0 | :3 | ["1" "2" "3"] | ["1" "2" "3"] | :0"#,
    );
    tarn_only(
        "RPUSH s 1 2 | @b BLMOVEM s d LEFT RIGHT 0 EXACTLY 3 BULK | LINSERT s BEFORE 1 0 | @b !recv | LRANGE d 0 -1",
        r#":2 | none | :3 | ["0" "1" "2"] | ["0" "1" "2"]"#,
    );
    tarn_only(
        "RPUSH s 1 2 | RPUSH f 9 | @b BLMOVEM s d LEFT RIGHT 0 EXACTLY 3 OBO | LMOVE f s LEFT RIGHT | @b !recv | LRANGE d 0 -1",
        r#":2 | :1 | none | "9" | ["1" "2" "9"] | ["1" "2" "9"]"#,
    );
    tarn_only(
        "RPUSH s 1 | RPUSH f 3 1 2 | @b BLMOVEM s d LEFT RIGHT 0 EXACTLY 3 BULK | SORT f STORE s | @b !recv | EXISTS s",
        r#":1 | :3 | none | :3 | ["1" "2" "3"] | :0"#,
    );
    tarn_only(
        "BLMOVEM s d LEFT RIGHT 0.01 EXACTLY 3 BULK | MULTI | EXISTS s | BLMOVEM s d LEFT RIGHT 0 | EXEC",
        "nil[] | +OK | +QUEUED | +QUEUED | [:0 nil[]]",
    );
    tarn_only(
        "BLMOVEM s d LEFT RIGHT x | BLMOVEM s d LEFT RIGHT -1 | BLMOVEM s d LEFT RIGHT 0 COUNT 0 OBO | BLMOVEM s d LEFT RIGHT 0 COUNT 1 | SET x v | BLMOVEM x d LEFT RIGHT 0",
        &format!(
            "-ERR timeout is not a float or out of range | -ERR timeout is negative | -ERR count should be greater than 0 | -ERR syntax error | +OK | {WRONG}"
        ),
    );
}

#[test]
fn time_passes() {
    for command in [
        "BLPOP a 0.01",
        "BRPOP a b 0.01",
        "BLMOVE a b LEFT LEFT 0.01",
        "BRPOPLPUSH a b 0.01",
        "BLMPOP 0.01 1 a LEFT",
        "BZPOPMIN a 0.01",
        "BZPOPMAX a 0.001",
        "BZMPOP 0.01 1 a MIN",
    ] {
        check(&format!("{command} | PING"), "nil[] | +PONG");
    }
    check("SET s x | BLMOVE a s LEFT LEFT 0.01", "+OK | nil[]");
}

#[test]
fn nothing_waits_inside_of_a_transaction() {
    check(
        "CONFIG RESETSTAT | MULTI | BLPOP a 0 | EXEC | INFO commandstats",
        &format!(
            r#"+OK | +OK | +QUEUED | [nil[]] | %"...{}...""#,
            counts("blpop", "rejected_calls=0,failed_calls=0")
        ),
    );
    check(
        "MULTI | BLPOP a 0 | BLMOVE a b LEFT LEFT 0 | BRPOPLPUSH a b 0 | BLMPOP 0 1 a LEFT | BZPOPMIN a 0 | BZMPOP 0 1 a MIN | RPUSH a x | BLPOP a 0 | EXEC",
        "+OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [nil[] nil nil nil[] nil[] nil[] :1 [\"a\" \"x\"]]",
    );
}

#[test]
fn whoever_waits_is_served() {
    for (wait, push, reply) in [
        ("BLPOP k 0", "RPUSH k a b", "[\"k\" \"a\"]"),
        ("BRPOP x k 0", "RPUSH k a b", "[\"k\" \"b\"]"),
        ("BLMOVE k d LEFT RIGHT 0", "LPUSH k a", "\"a\""),
        ("BRPOPLPUSH k d 0", "LPUSH k a", "\"a\""),
        ("BLMPOP 0 2 x k RIGHT COUNT 2", "RPUSH k a b c", "[\"k\" [\"c\" \"b\"]]"),
        ("BLPOP k 0", "SORT nothing STORE k | @c RPUSH k a", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "RPUSH other a | @c RENAME other k", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "RPUSH other a | @c COPY other k", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "RPUSH other a | @c LMOVE other k LEFT LEFT", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "SELECT 1 | @c RPUSH k a | @c MOVE k 0", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "SELECT 1 | @c RPUSH k a | @c SWAPDB 0 1", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "MULTI | @c RPUSH k a | @c LPUSH k b | @c EXEC", "[\"k\" \"b\"]"),
        ("BLPOP k 0", "SET k x | @c DEL k | @c RPUSH k a", "[\"k\" \"a\"]"),
        ("BLPOP k 0", "ZADD k 1 m | @c DEL k | @c RPUSH k a", "[\"k\" \"a\"]"),
    ] {
        let replies = "... | ".repeat(push.matches(" | ").count() + 1);
        check(
            &format!("@b {wait} | @c {push} | @b !recv | @b PING"),
            &format!("none | {replies}{reply} | +PONG"),
        );
    }
    check3(
        "@b BZPOPMIN k 0 | ZADD k 2 b 1 a | @b !recv",
        "none | :2 | [\"k\" \"a\" \"1\"]",
        "none | :2 | [\"k\" \"a\" ,1]",
    );
    check3(
        "@b BZMPOP 0 1 k MAX COUNT 2 | ZADD k 2 b 1 a | @b !recv",
        "none | :2 | [\"k\" [[\"b\" \"2\"] [\"a\" \"1\"]]]",
        "none | :2 | [\"k\" [[\"b\" ,2] [\"a\" ,1]]]",
    );
    check(
        "SET s x | @b BLMOVE k s LEFT LEFT 0 | RPUSH k a | @b !recv | LRANGE k 0 -1",
        &format!("+OK | none | :1 | {WRONG} | [\"a\"]"),
    );
}

/// Since Redis 7.2 who waited runs anew: a key of another type does not end a wait, but it stands before those behind it.
#[test]
fn a_key_of_another_type_stands_before_those_behind_it() {
    for (wait, push) in [
        ("BRPOP m l 0", "RPUSH l a"),
        ("BLMPOP 0 2 m l LEFT", "RPUSH l a"),
        ("BZPOPMIN m l 0", "ZADD l 1 a"),
        ("BZMPOP 0 2 m l MAX", "ZADD l 1 a"),
    ] {
        tarn_only(
            &format!("@b {wait} | SET m v | {push} | @b !recv | EXISTS l"),
            &format!("none | +OK | :1 | {WRONG} | :1"),
        );
    }
    tarn_only(
        "@b XREAD BLOCK 0 STREAMS m x 0 0 | SET m v | XADD x 1-1 f v | @b !recv",
        &format!("none | +OK | \"1-1\" | {WRONG}"),
    );
    check(
        "@b BRPOP l m 0 | SET m v | RPUSH l a | @b !recv | EXISTS l",
        "none | +OK | :1 | [\"l\" \"a\"] | :0",
    );
}

/// The counts of a command, from when they were reset.
fn counts(command: &str, counts: &str) -> String {
    format!("cmdstat_{command}:calls=1,usec=...,usec_per_call=...,{counts}\\r\\n")
}

#[test]
fn an_error_that_ends_a_wait_is_counted() {
    let failed = "rejected_calls=0,failed_calls=1";
    check(
        "SET s x | CONFIG RESETSTAT | @b BLMOVE k s LEFT LEFT 0 | RPUSH k a | @b !recv | INFO commandstats errorstats",
        &format!(
            r#"+OK | +OK | none | :1 | {WRONG} | %"...{}...errorstat_WRONGTYPE:count=1\r\n""#,
            counts("blmove", failed)
        ),
    );
    check(
        "CONFIG RESETSTAT | @b BLPOP k 0 | RPUSH k a | @b !recv | INFO stats",
        r#"+OK | none | :1 | ["k" "a"] | %"...\r\ntotal_error_replies:0\r\n...""#,
    );
    // Redis 7.0 has other words.
    tarn_only(
        "XGROUP CREATE s g $ MKSTREAM | CONFIG RESETSTAT | @b XREADGROUP GROUP g c BLOCK 0 STREAMS s > | XGROUP DESTROY s g | @b !recv | INFO stats | INFO commandstats errorstats",
        &format!(
            r#"+OK | +OK | none | :1 | -NOGROUP ... | %"...\r\ntotal_error_replies:1\r\n..." | %"...{}...errorstat_NOGROUP:count=1\r\n""#,
            counts("xreadgroup", failed)
        ),
    );
    // And lets a user go on that has lost its permission.
    tarn_only_with(
        &[],
        "ACL SETUSER bob on >bp +@all ~* | @b AUTH bob bp | CONFIG RESETSTAT | @b BLPOP q 0 | ACL SETUSER bob -blpop | RPUSH q 1 | @b !recv | INFO commandstats errorstats | LLEN q",
        &format!(
            r#"+OK | +OK | +OK | none | +OK | :1 | -NOPERM User bob has no permissions to run the 'blpop' command | %"...{}...errorstat_NOPERM:count=1\r\n" | :1"#,
            counts("blpop", "rejected_calls=1,failed_calls=0")
        ),
    );
}

/// Until so many clients wait.
fn wait_for_blocked(conn: &mut Conn, count: usize) {
    eventually("clients wait", || {
        let info = conn.call(&["INFO", "clients"]);
        let text = info.bytes().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).unwrap_or_default();
        text.contains(&format!("blocked_clients:{count}\r\n"))
    });
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

/// On a cluster who looks again by itself at that moment is overtaken: see docs/differences.md.
#[test]
fn who_has_waited_longest_is_served_first() {
    for engine in ENGINES.into_iter().filter(|engine| engine.name() != "tarn --engine tikv") {
        let server = Server::start(Options::new(engine).with("io-threads", "2"));
        let mut conn = server.conn();
        let mut waiting = Vec::new();
        for n in 0..5 {
            let mut waiter = server.conn();
            waiter.send(&["BLPOP", "k", "other", "0"]);
            wait_for_blocked(&mut conn, n + 1);
            waiting.push(waiter);
        }
        // One element for one, and those that came first first; a pop behind the push finds nothing.
        let replies =
            conn.call_all(&[vec!["RPUSH", "k", "a", "b"], vec!["LPOP", "k"], vec!["RPUSH", "other", "c"]]);
        assert_eq!(replies[..2], [Value::Int(2), Value::NilBulk], "{}", engine.name());
        for (waiter, (key, value)) in waiting.iter_mut().zip([("k", "a"), ("k", "b"), ("other", "c")]) {
            assert_eq!(waiter.recv(), Value::Array(vec![bulk(key), bulk(value)]));
        }
        wait_for_blocked(&mut conn, 2);
        // Who leaves takes nothing.
        let mut waiting = waiting.split_off(3);
        drop(waiting.remove(0));
        wait_for_blocked(&mut conn, 1);
        conn.call(&["LPUSH", "k", "d"]);
        assert_eq!(waiting[0].recv(), Value::Array(vec![bulk("k"), bulk("d")]));
        assert_eq!(conn.call(&["EXISTS", "k"]), Value::Int(0));
    }
}

/// Who is served later, by a worker, has something for the next one as well.
#[test]
fn what_a_worker_moves_wakes_others() {
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let (mut conn, mut runner, mut listener) = (server.conn(), server.conn(), server.conn());
        let mut waiting = [server.conn(), server.conn()];
        waiting[0].send(&["BLMOVE", "l", "m", "LEFT", "RIGHT", "0"]);
        wait_for_blocked(&mut conn, 1);
        waiting[1].send(&["BLPOP", "m", "0"]);
        wait_for_blocked(&mut conn, 2);
        // Somebody has the lock of the second key for long.
        let script = "while redis.call('pubsub', 'numsub', 'go')[2] == 0 do end";
        runner.send(&["EVAL", script, "1", "m"]);
        eventually("the script runs", || {
            let stats = conn.call(&["FUNCTION", "STATS"]);
            !stats.items().expect("pairs")[1].is_nil()
        });
        assert_eq!(conn.call(&["RPUSH", "l", "a"]), Value::Int(1));
        listener.send(&["SUBSCRIBE", "go"]);
        assert_eq!(runner.recv(), Value::NilBulk);
        assert_eq!(waiting[0].recv(), bulk("a"), "{}", engine.name());
        assert_eq!(waiting[1].recv(), Value::Array(vec![bulk("m"), bulk("a")]), "{}", engine.name());
    }
}

#[test]
fn commands_behind_a_blocking_one_wait_with_it() {
    let server = Server::start(Options::new(ENGINES[0]));
    let (mut conn, mut waiter) = (server.conn(), server.conn());
    waiter.send_raw(b"BLPOP k 0\r\nPING\r\nRPUSH l x\r\nBLPOP l 0\r\n");
    wait_for_blocked(&mut conn, 1);
    assert_eq!(conn.call(&["EXISTS", "l"]), Value::Int(0));
    conn.call(&["RPUSH", "k", "a"]);
    assert_eq!(waiter.recv(), Value::Array(vec![bulk("k"), bulk("a")]));
    assert_eq!(waiter.recv(), Value::Simple(b"PONG".to_vec()));
    assert_eq!(waiter.recv(), Value::Int(1));
    assert_eq!(waiter.recv(), Value::Array(vec![bulk("l"), bulk("x")]));
}

#[test]
fn a_wait_can_be_ended_from_outside() {
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let (mut conn, mut waiter) = (server.conn(), server.conn());
        let Value::Int(id) = waiter.call(&["CLIENT", "ID"]) else { panic!("an id") };
        let id = id.to_string();
        assert_eq!(conn.call(&["CLIENT", "UNBLOCK", &id]), Value::Int(0));
        for (reason, reply) in [
            (&[][..], Value::NilArray),
            (&["TIMEOUT"], Value::NilArray),
            (&["ERROR"], Value::Error(b"UNBLOCKED client unblocked via CLIENT UNBLOCK".to_vec())),
        ] {
            waiter.send(&["BZPOPMIN", "k", "0"]);
            wait_for_blocked(&mut conn, 1);
            let words: Vec<&str> =
                ["CLIENT", "UNBLOCK", &id].into_iter().chain(reason.iter().copied()).collect();
            assert_eq!(conn.call(&words), Value::Int(1));
            assert_eq!(waiter.recv(), reply);
            wait_for_blocked(&mut conn, 0);
        }
        assert_eq!(count_of(&mut conn, "total_error_replies"), 1);
        let stats = conn.call(&["INFO", "commandstats", "errorstats"]).to_string();
        let line = stats.split(r"\r\n").find(|line| line.starts_with("cmdstat_bzpopmin:calls=3,"));
        assert!(line.is_some_and(|line| line.ends_with(",rejected_calls=0,failed_calls=1")), "{stats}");
        assert!(stats.contains(r"errorstat_UNBLOCKED:count=1\r\n"), "{stats}");
        waiter.send(&["BLPOP", "k", "0"]);
        wait_for_blocked(&mut conn, 1);
        conn.call(&["CLIENT", "KILL", "ID", &id]);
        wait_for_blocked(&mut conn, 0);
    }
}

/// A number of INFO.
fn count_of(conn: &mut Conn, name: &str) -> u64 {
    let report = conn.call(&["INFO", "stats"]);
    let report = String::from_utf8_lossy(report.bytes().unwrap_or_default()).into_owned();
    let line = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} is missing in {report}")).trim().parse().unwrap()
}

/// Whoever leaves at whatever moment takes nothing with it.
#[test]
fn nothing_is_taken_for_who_has_left() {
    for engine in ENGINES {
        let server = Server::start(Options::new(engine).with("io-threads", "2"));
        let mut conn = server.conn();
        let came = count_of(&mut conn, "total_connections_received");
        for n in 0..300 {
            let mut waiter = server.conn();
            waiter.send(&["BLMOVE", "k", "taken", "LEFT", "LEFT", "0"]);
            // Sometimes it is looked at for the first time, sometimes because of a push that is for nobody.
            if n % 3 == 0 {
                conn.call(&["INFO", "clients"]);
            }
            if n % 3 == 1 {
                conn.call_all(&[vec!["MULTI"], vec!["RPUSH", "k", "a"], vec!["DEL", "k"], vec!["EXEC"]]);
            }
        }
        // What is sent before it is closed is run, so all of them must have been let in before there is something to take.
        eventually("all have come", || count_of(&mut conn, "total_connections_received") == came + 300);
        eventually("nobody waits", || {
            let info = conn.call(&["INFO", "clients"]);
            let text = String::from_utf8_lossy(info.bytes().unwrap_or_default()).into_owned();
            // Commands that a worker has are looked at first.
            text.contains("connected_clients:1\r\n")
                && text.contains("blocked_clients:0\r\n")
                && text.contains("total_blocking_keys:0\r\n")
        });
        conn.call(&["RPUSH", "k", "a"]);
        assert_eq!(
            conn.call(&["LRANGE", "k", "0", "-1"]),
            Value::Array(vec![bulk("a")]),
            "{}",
            engine.name()
        );
        assert_eq!(conn.call(&["EXISTS", "taken"]), Value::Int(0));
    }
}

/// Every element reaches exactly one of those who wait for it, whichever threads they are on.
#[test]
fn nothing_is_lost_or_taken_twice() {
    const ELEMENTS: usize = 1_200;
    for engine in ENGINES {
        // Where rows are on a cluster everybody who waits looks again each second.
        let clients = if engine.name() == "tarn --engine tikv" { 24 } else { 64 };
        let server = Server::start(Options::new(engine).with("io-threads", "2"));
        let left = AtomicUsize::new(ELEMENTS);
        let mut taken: Vec<String> = Vec::new();
        std::thread::scope(|threads| {
            let waiting: Vec<_> = (0..clients)
                .map(|client| {
                    let (server, left) = (&server, &left);
                    threads.spawn(move || {
                        let mut conn = server.conn();
                        let mut taken = Vec::new();
                        loop {
                            let words: &[&str] = match client % 3 {
                                0 => &["BLPOP", "a", "b", "0"],
                                1 => &["BRPOP", "b", "a", "0"],
                                _ => &["BLMPOP", "0", "2", "a", "b", "LEFT", "COUNT", "3"],
                            };
                            let Value::Array(items) = conn.call(words) else { panic!("an element") };
                            let values = match &items[1] {
                                Value::Array(values) => values.clone(),
                                value => vec![value.clone()],
                            };
                            for value in values {
                                let text = String::from_utf8(value.bytes().unwrap().to_vec()).unwrap();
                                if text == "end" {
                                    return taken;
                                }
                                left.fetch_sub(1, Ordering::Relaxed);
                                taken.push(text);
                            }
                        }
                    })
                })
                .collect();
            let pushing: Vec<_> = (0..3)
                .map(|pusher| {
                    let server = &server;
                    threads.spawn(move || {
                        let mut conn = server.conn();
                        for n in 0..ELEMENTS / 3 {
                            let (key, value) = (if n % 2 == 0 { "a" } else { "b" }, format!("{pusher}-{n}"));
                            match n % 5 {
                                0 => drop(conn.call_all(&[
                                    vec!["MULTI"],
                                    vec!["RPUSH", key, &value],
                                    vec!["EXEC"],
                                ])),
                                _ => drop(conn.call(&["RPUSH", key, &value])),
                            }
                        }
                    })
                })
                .collect();
            pushing.into_iter().for_each(|pusher| pusher.join().unwrap());
            eventually("everything is taken", || left.load(Ordering::Relaxed) == 0);
            let mut conn = server.conn();
            // One for each: BLMPOP takes up to three of them at a time.
            let mut waiting = waiting;
            while !waiting.is_empty() {
                conn.call(&["RPUSH", "a", "end"]);
                let (done, rest): (Vec<_>, Vec<_>) =
                    waiting.into_iter().partition(|thread| thread.is_finished());
                done.into_iter().for_each(|thread| taken.extend(thread.join().unwrap()));
                waiting = rest;
            }
        });
        let distinct: BTreeSet<&String> = taken.iter().collect();
        assert_eq!((taken.len(), distinct.len()), (ELEMENTS, ELEMENTS), "{}", engine.name());
    }
}
