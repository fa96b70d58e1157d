//! CLIENT TRACKING: clients that cache are told which keys were changed.

use crate::check::{check, check3, split_words};
use crate::harness::{ENGINES, Options, Server};
use crate::value::Value;

/// Over RESP3, whatever the line begins with.
fn check_pushes(line: &str, expected: &str) {
    check(&format!("HELLO 3 | {line}"), &format!("... | {expected}"));
}

const TOLD: &str = ">[\"invalidate\" [\"k\"]]";

#[test]
fn what_was_read_is_told_of_once() {
    check_pushes(
        "CLIENT TRACKING ON | SET k 1 | GET k | @b SET k 2 | !recv | @b SET k 3 | PING | GET k | @b DEL k | !recv",
        &format!("+OK | +OK | \"1\" | +OK | {TOLD} | +OK | +PONG | \"3\" | :1 | {TOLD}"),
    );
    check_pushes(
        "CLIENT TRACKING ON | HGET k f | SMEMBERS other | @b HSET k f 1 | !recv | @b SADD other m | !recv",
        &format!("+OK | nil | #{{}} | :1 | {TOLD} | :1 | >[\"invalidate\" [\"other\"]]"),
    );
    // What is only written is not cached.
    check_pushes("CLIENT TRACKING ON | SET k 1 | @b SET k 2 | PING", "+OK | +OK | +OK | +PONG");
    check_pushes(
        "CLIENT TRACKING ON | GET k | CLIENT TRACKING OFF | @b SET k 2 | PING",
        "+OK | nil | +OK | +OK | +PONG",
    );
    check_pushes(
        "CLIENT TRACKING ON | GET k | RESET | @b SET k 2 | PING",
        "+OK | nil | +RESET | +OK | +PONG",
    );
}

#[test]
fn own_changes_come_behind_their_reply() {
    check_pushes(
        "CLIENT TRACKING ON | GET k | SET k 3 | !recv | GET k",
        &format!("+OK | nil | +OK | {TOLD} | \"3\""),
    );
    check_pushes(
        "CLIENT TRACKING ON NOLOOP | GET k | SET k 3 | PING | GET k | @b SET k 4 | !recv",
        &format!("+OK | nil | +OK | +PONG | \"3\" | +OK | {TOLD}"),
    );
    check_pushes(
        "CLIENT TRACKING ON | MULTI | GET k | SET k 5 | EXEC | !recv",
        &format!("+OK | +OK | +QUEUED | +QUEUED | [nil +OK] | {TOLD}"),
    );
}

#[test]
fn flushes_expiry_transactions_and_scripts_tell() {
    check_pushes(
        "CLIENT TRACKING ON | GET k | @b SET x 1 | @b FLUSHALL | !recv",
        "+OK | nil | +OK | +OK | >[\"invalidate\" nil]",
    );
    check_pushes(
        "CLIENT TRACKING ON | SET k 1 PX 50 | GET k | !time 100 | @b GET k | !recv",
        &format!("+OK | +OK | \"1\" | none | nil | {TOLD}"),
    );
    check_pushes(
        "CLIENT TRACKING ON | GET k | @b MULTI | @b SET x 1 | @b SET k 1 | @b EXEC | !recv",
        &format!("+OK | nil | +OK | +QUEUED | +QUEUED | [+OK +OK] | {TOLD}"),
    );
    check_pushes(
        "CLIENT TRACKING ON | EVAL \"return redis.call('get','k')\" 0 | @b EVAL \"return redis.call('set','k',1)\" 0 | !recv",
        &format!("+OK | nil | +OK | {TOLD}"),
    );
}

#[test]
fn clients_choose_what_is_remembered() {
    check_pushes(
        "CLIENT TRACKING ON OPTIN | GET x | CLIENT CACHING YES | GET k | GET y | @b MSET x 1 y 1 k 1 | !recv | PING",
        &format!("+OK | nil | +OK | nil | nil | +OK | {TOLD} | +PONG"),
    );
    check_pushes(
        "CLIENT TRACKING ON OPTOUT | CLIENT CACHING NO | GET x | GET k | @b MSET x 1 k 1 | !recv | PING",
        &format!("+OK | +OK | nil | nil | +OK | {TOLD} | +PONG"),
    );
    check_pushes(
        "CLIENT TRACKING ON BCAST PREFIX k PREFIX x | @b SET other 1 | @b SET k 1 | !recv | @b SET k 2 | !recv | @b DEL nokey | PING",
        &format!("+OK | +OK | +OK | {TOLD} | +OK | {TOLD} | :0 | +PONG"),
    );
    // A message for each prefix, both in order.
    check_pushes(
        "CLIENT TRACKING ON BCAST PREFIX x PREFIX k | @b MSET x2 1 k2 1 x1 1 k1 1 x2 2 | !recv | !recv | PING",
        r#"+OK | +OK | >["invalidate" ["k1" "k2"]] | >["invalidate" ["x1" "x2"]] | +PONG"#,
    );
}

#[test]
fn another_client_is_told() {
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        let [mut reader, mut listener, mut writer] = [server.conn(), server.conn(), server.conn()];
        let call = |conn: &mut crate::conn::Conn, line: &str| conn.call(&split_words(line)).to_string();
        let id = call(&mut listener, "CLIENT ID");
        let id = id.trim_start_matches(':');
        call(&mut listener, "SUBSCRIBE __redis__:invalidate");
        assert_eq!(call(&mut reader, &format!("CLIENT TRACKING ON REDIRECT {id}")), "+OK");
        assert_eq!(call(&mut reader, "CLIENT GETREDIR"), format!(":{id}"));
        call(&mut reader, "GET k");
        call(&mut writer, "SET k 1");
        assert_eq!(listener.recv().to_string(), "[\"message\" \"__redis__:invalidate\" [\"k\"]]");
        call(&mut writer, "FLUSHDB");
        assert_eq!(listener.recv().to_string(), "[\"message\" \"__redis__:invalidate\" nil]");
        drop(listener);
        while call(&mut writer, "CLIENT LIST").matches("sub=1").count() != 0 {}
        call(&mut reader, "GET k");
        call(&mut writer, "SET k 1");
        while !call(&mut reader, "CLIENT TRACKINGINFO").contains("broken_redirect") {}
    }
}

#[test]
fn modes_are_refused_where_they_do_not_fit() {
    let switched = "You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.";
    check(
        "CLIENT TRACKING ON | CLIENT TRACKING ON BCAST | CLIENT TRACKING ON OPTIN | CLIENT TRACKING ON OPTOUT | CLIENT TRACKING OFF",
        &format!(
            "+OK | -ERR {switched} | +OK | -ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode. | +OK"
        ),
    );
    check(
        "CLIENT TRACKING ON OPTIN OPTOUT | CLIENT TRACKING ON BCAST OPTIN | CLIENT TRACKING ON PREFIX a | CLIENT TRACKING ON REDIRECT 99999 | \
         CLIENT TRACKING ON REDIRECT | CLIENT TRACKING ON REDIRECT x | CLIENT TRACKING ON BAD | CLIENT TRACKING MAYBE | CLIENT CACHING YES",
        "-ERR You can't specify both OPTIN mode and OPTOUT mode | -ERR OPTIN and OPTOUT are not compatible with BCAST | \
         -ERR PREFIX option requires BCAST mode to be enabled | -ERR The client ID you want redirect to does not exist | -ERR syntax error | \
         -ERR value is not an integer or out of range | -ERR syntax error | -ERR syntax error | \
         -ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
    );
    check(
        "CLIENT TRACKING ON BCAST PREFIX a PREFIX b | CLIENT TRACKING ON BCAST PREFIX ab | CLIENT TRACKING ON BCAST PREFIX c PREFIX c | CLIENT CACHING YES",
        "+OK | -ERR Prefix 'ab' overlaps with an existing prefix 'a'. Prefixes for a single client must not overlap. | \
         -ERR Prefix 'c' overlaps with another provided prefix 'c'. Prefixes for a single client must not overlap. | \
         -ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
    );
    check3(
        "CLIENT TRACKINGINFO | CLIENT TRACKING ON OPTOUT NOLOOP | CLIENT CACHING NO | CLIENT TRACKINGINFO | CLIENT TRACKING OFF | CLIENT TRACKING ON BCAST | CLIENT TRACKINGINFO",
        "[\"flags\" [\"off\"] \"redirect\" :-1 \"prefixes\" []] | +OK | +OK | [\"flags\" [\"on\" \"optout\" \"caching-no\" \"noloop\"] \"redirect\" :0 \"prefixes\" []] | \
         +OK | +OK | [\"flags\" [\"on\" \"bcast\"] \"redirect\" :0 \"prefixes\" [\"\"]]",
        "{\"flags\" #{\"off\"} \"redirect\" :-1 \"prefixes\" []} | +OK | +OK | {\"flags\" #{\"on\" \"optout\" \"caching-no\" \"noloop\"} \"redirect\" :0 \"prefixes\" []} | \
         +OK | +OK | {\"flags\" #{\"on\" \"bcast\"} \"redirect\" :0 \"prefixes\" [\"\"]}",
    );
}

/// A client that keeps what it reads until it is told otherwise never keeps what is not there any more.
#[test]
fn a_cache_is_right_once_everything_was_told() {
    const KEYS: usize = 5;
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let mut conn = server.conn();
                    scope.spawn(move || {
                        for n in 0..400 {
                            conn.call(&[
                                "SET",
                                &format!("k{}", (n * 7 + writer) % KEYS),
                                &format!("{writer}-{n}"),
                            ]);
                        }
                    })
                })
                .collect();
            let mut conn = server.conn3();
            conn.call(&["CLIENT", "TRACKING", "ON"]);
            let mut cache: Vec<Option<Value>> = vec![None; KEYS];
            let mut at = 0;
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) || at % KEYS != 0 {
                read(&mut conn, &mut cache, at % KEYS);
                at += 1;
            }
            writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
            // Everything that was told before the first reply is sent before the second.
            conn.send(&["PING"]);
            conn.send(&["PING"]);
            let mut replies = 0;
            while replies < 2 {
                match conn.recv() {
                    Value::Push(items) => forget(&items, &mut cache),
                    _ => replies += 1,
                }
            }
            let mut other = server.conn();
            for (key, kept) in cache.iter().enumerate() {
                let truth = other.call(&["GET", &format!("k{key}")]);
                assert!(
                    kept.as_ref().is_none_or(|kept| *kept == truth),
                    "{}: {kept:?}, {truth:?}",
                    program.name()
                );
            }
        });
    }
}

/// Reads a key and keeps its value; what is told meanwhile is forgotten.
fn read(conn: &mut crate::conn::Conn, cache: &mut [Option<Value>], key: usize) {
    conn.send(&["GET", &format!("k{key}")]);
    loop {
        match conn.recv() {
            Value::Push(items) => forget(&items, cache),
            value => break cache[key] = Some(value),
        }
    }
}

fn forget(items: &[Value], cache: &mut [Option<Value>]) {
    let Some(Value::Array(keys)) = items.get(1) else { panic!("keys: {items:?}") };
    for key in keys {
        let Value::Bulk(name) = key else { panic!("a key: {key:?}") };
        cache[usize::from(name[1] - b'0')] = None;
    }
}
