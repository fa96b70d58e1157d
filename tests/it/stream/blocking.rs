//! XREAD and XREADGROUP that wait.

use crate::check::{check, check3, tarn_only};
use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Program, Server, eventually};
use crate::value::Value;

#[test]
fn what_is_there_is_read_at_once() {
    check3(
        "XADD s 1-1 a 1 | XREAD BLOCK 0 STREAMS s 0 | XREAD BLOCK 0 STREAMS nosuch s 0 0",
        r#""1-1" | [["s" [["1-1" ["a" "1"]]]]] | [["s" [["1-1" ["a" "1"]]]]]"#,
        r#""1-1" | {"s" [["1-1" ["a" "1"]]]} | {"s" [["1-1" ["a" "1"]]]}"#,
    );
    check3(
        "XADD s 1-1 a 1 | XGROUP CREATE s g 0 | XREADGROUP GROUP g c BLOCK 0 STREAMS s > | XREADGROUP GROUP g d BLOCK 0 STREAMS s 0",
        r#""1-1" | +OK | [["s" [["1-1" ["a" "1"]]]]] | [["s" []]]"#,
        r#""1-1" | +OK | {"s" [["1-1" ["a" "1"]]]} | {"s" []}"#,
    );
}

#[test]
fn time_passes() {
    check("XREAD BLOCK 10 STREAMS s $ | XREAD BLOCK 10 STREAMS s 0 | PING", "nil[] | nil[] | +PONG");
    check(
        "XADD s 1-1 a 1 | XGROUP CREATE s g $ | XREAD BLOCK 10 STREAMS s $ | XREAD BLOCK 10 STREAMS s 1-1 | XREADGROUP GROUP g c BLOCK 10 STREAMS s > | PING",
        r#""1-1" | +OK | nil[] | nil[] | nil[] | +PONG"#,
    );
}

#[test]
fn nothing_waits_inside_of_a_transaction() {
    check(
        "XGROUP CREATE s g $ MKSTREAM | MULTI | XREADGROUP GROUP g c BLOCK 0 STREAMS s > | EXEC | MULTI | XREAD BLOCK 0 STREAMS s 0 | XREADGROUP GROUP g c BLOCK 0 STREAMS s > | EXEC",
        "+OK | +OK | +QUEUED | [nil[]] | +OK | +QUEUED | +QUEUED | [nil[] nil[]]",
    );
    check("MULTI | XREAD BLOCK 0 STREAMS s $ | EXEC", "+OK | +QUEUED | [nil[]]");
    check("MULTI | BLPOP l 0 | EXEC", "+OK | +QUEUED | [nil[]]");
}

/// Until so many clients wait.
fn wait_for_blocked(conn: &mut Conn, count: usize) {
    eventually("clients wait", || {
        let info = conn.call(&["INFO", "clients"]);
        let text = info.bytes().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).unwrap_or_default();
        text.contains(&format!("blocked_clients:{count}\r\n"))
    });
}

fn programs() -> &'static [Program] {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() { &[Program::Redis] } else { &ENGINES }
}

fn call(conn: &mut Conn, command: &str) -> Value {
    conn.call(&command.split(' ').collect::<Vec<_>>())
}

/// Has clients wait one after the other, runs commands, and compares what the clients then hear, in this order. None waits on.
fn serve(programs: &[Program], before: &str, waits: &[&str], commands: &str, expected: &[&str]) {
    for &program in programs {
        let server = Server::start(Options::new(program).with("io-threads", "2"));
        let mut conn = server.conn();
        for command in before.split(" | ").filter(|command| !command.is_empty()) {
            let reply = call(&mut conn, command);
            assert!(!reply.is_error(), "{command}: {reply}");
        }
        let mut waiting: Vec<Conn> = Vec::new();
        for wait in waits {
            let mut waiter = server.conn();
            waiter.send(&wait.split(' ').collect::<Vec<_>>());
            waiting.push(waiter);
            wait_for_blocked(&mut conn, waiting.len());
        }
        for command in commands.split(" | ") {
            let reply = call(&mut conn, command);
            assert!(!reply.is_error(), "{command}: {reply}");
        }
        let heard: Vec<String> =
            waiting.iter_mut().zip(expected).map(|(waiter, _)| waiter.recv().to_string()).collect();
        assert_eq!(heard, expected, "{waits:?} {commands} on {}", program.name());
        wait_for_blocked(&mut conn, waits.len() - expected.len());
    }
}

#[test]
fn what_comes_is_read_by_all_who_wait() {
    let entry = r#"[["s" [["2-1" ["a" "1"]]]]]"#;
    let all = programs();
    serve(all, "XADD s 1-1 f v", &["XREAD BLOCK 0 STREAMS s $"; 3], "XADD s 2-1 a 1", &[entry; 3]);
    serve(
        all,
        "",
        &["XREAD BLOCK 0 STREAMS s $", "XREAD BLOCK 0 STREAMS x s 0 0"],
        "XADD s 2-1 a 1",
        &[entry; 2],
    );
    // An ID is the last one known, not the last one there is.
    let both = r#"[["s" [["1-2" ["b" "2"]] ["2-1" ["a" "1"]]]]]"#;
    serve(
        all,
        "XADD s 1-1 f v",
        &["XREAD BLOCK 0 STREAMS s 1-1", "XREAD BLOCK 0 STREAMS s $"],
        "MULTI | XADD s 1-2 b 2 | XADD s 2-1 a 1 | EXEC",
        &[both, both],
    );
    serve(
        all,
        "XADD s 1-1 f v",
        &["XREAD COUNT 1 BLOCK 0 STREAMS s $"],
        "MULTI | XADD s 1-2 b 2 | XADD s 2-1 a 1 | EXEC",
        &[r#"[["s" [["1-2" ["b" "2"]]]]]"#],
    );
    serve(all, "XADD t 2-1 a 1", &["XREAD BLOCK 0 STREAMS s $"], "RENAME t s", &[entry]);
    serve(all, "XADD t 2-1 a 1", &["XREAD BLOCK 0 STREAMS s 1"], "COPY t s", &[entry]);
}

/// Redis 7.0 answers with nothing.
#[test]
fn what_is_deleted_at_once_is_never_seen() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    serve(
        &ENGINES,
        "XADD s 1-1 f v",
        &["XREAD BLOCK 0 STREAMS s $"],
        "MULTI | XADD s 1-2 b 2 | XDEL s 1-2 | EXEC | XTRIM s MAXLEN 0 | XADD t 5-1 a 1 | DEL s | SET s x | DEL s | XGROUP CREATE s g $ MKSTREAM | XADD s 2-1 a 1",
        &[r#"[["s" [["2-1" ["a" "1"]]]]]"#],
    );
}

#[test]
fn the_last_entry_is_waited_for_where_there_is_none() {
    let entry = r#"[["s" [["2-1" ["a" "1"]]]]]"#;
    if std::env::var("TARN_CHECK_AGAINST").is_err() {
        serve(&ENGINES, "", &["XREAD BLOCK 0 STREAMS s +"], "XADD s 2-1 a 1", &[entry]);
    }
    tarn_only(
        "XADD s 1-1 a 1 | XREAD BLOCK 0 STREAMS s s + + | XDEL s 1-1 | XREAD BLOCK 10 STREAMS s +",
        r#""1-1" | ... | :1 | nil[]"#,
    );
}

#[test]
fn each_entry_goes_to_one_consumer_of_a_group() {
    let all = programs();
    // On a cluster who looks again by itself at that moment is overtaken: see docs/differences.md.
    let in_order: Vec<Program> =
        all.iter().copied().filter(|program| program.name() != "tarn --engine tikv").collect();
    serve(
        &in_order,
        "XGROUP CREATE s g $ MKSTREAM",
        &[
            "XREADGROUP GROUP g a COUNT 1 BLOCK 0 STREAMS s >",
            "XREADGROUP GROUP g b COUNT 1 BLOCK 0 STREAMS s >",
            "XREADGROUP GROUP g a COUNT 1 BLOCK 0 STREAMS s >",
        ],
        "MULTI | XADD s 1-1 f 1 | XADD s 1-2 f 2 | EXEC",
        &[r#"[["s" [["1-1" ["f" "1"]]]]]"#, r#"[["s" [["1-2" ["f" "2"]]]]]"#],
    );
    serve(
        all,
        "XGROUP CREATE s g $ MKSTREAM | XGROUP CREATE s h $",
        &[
            "XREADGROUP GROUP g a BLOCK 0 STREAMS s >",
            "XREADGROUP GROUP h a BLOCK 0 NOACK STREAMS s >",
            "XREAD BLOCK 0 STREAMS s $",
        ],
        "XADD s 1-1 f 1",
        &[r#"[["s" [["1-1" ["f" "1"]]]]]"#; 3],
    );
}

/// Redis looks again when the next entry comes.
#[test]
fn what_a_group_was_set_back_to_is_new_to_who_waits() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    serve(
        &ENGINES,
        "XADD s 1-1 f 1 | XGROUP CREATE s g $",
        &["XREADGROUP GROUP g a BLOCK 0 STREAMS s >"],
        "XGROUP SETID s g 0",
        &[r#"[["s" [["1-1" ["f" "1"]]]]]"#],
    );
}

/// As Redis 7.2 and later say it.
#[test]
fn who_waits_is_told_when_the_group_is_gone() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    let gone = "-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option";
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let wait = "XREADGROUP GROUP g a BLOCK 0 STREAMS s >";
    let create = "XGROUP CREATE s g $ MKSTREAM";
    for (command, told) in [
        ("DEL s", gone),
        ("XGROUP DESTROY s g", gone),
        ("RENAME s t", gone),
        ("FLUSHALL", gone),
        ("SET s x", wrong),
        ("EXPIRE s 0", gone),
        ("PEXPIRE s 1", gone),
    ] {
        serve(&ENGINES, create, &[wait, wait], command, &[told; 2]);
    }
    // Others wait on, also in front of it.
    serve(&ENGINES, create, &[wait, "XREAD BLOCK 0 STREAMS s $"], "DEL s", &[gone]);
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let (mut conn, mut reader, mut member) = (server.conn(), server.conn(), server.conn());
        call(&mut conn, create);
        reader.send(&["XREAD", "BLOCK", "0", "STREAMS", "s", "$"]);
        wait_for_blocked(&mut conn, 1);
        member.send(&wait.split(' ').collect::<Vec<_>>());
        wait_for_blocked(&mut conn, 2);
        assert_eq!(call(&mut conn, "DEL s"), Value::Int(1));
        assert_eq!(member.recv().to_string(), gone);
        call(&mut conn, "XADD s 1-1 f v");
        assert_eq!(reader.recv().to_string(), r#"[["s" [["1-1" ["f" "v"]]]]]"#);
    }
}

/// Who waits is known as a consumer from then on.
#[test]
fn a_consumer_is_made_when_it_begins_to_wait() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let (mut conn, mut waiter) = (server.conn(), server.conn());
        call(&mut conn, "XGROUP CREATE s g $ MKSTREAM");
        waiter.send(&["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"]);
        wait_for_blocked(&mut conn, 1);
        let consumers = call(&mut conn, "XINFO CONSUMERS s g").to_string();
        assert!(consumers.starts_with(r#"[["name" "c" "pending" :0 "idle" :"#), "{consumers}");
        assert!(consumers.ends_with(r#""inactive" :-1]]"#), "{consumers}");
        call(&mut conn, "XADD s 1-1 f v");
        assert_eq!(waiter.recv().to_string(), r#"[["s" [["1-1" ["f" "v"]]]]]"#);
        assert_eq!(call(&mut conn, "XPENDING s g").to_string(), r#"[:1 "1-1" "1-1" [["c" "1"]]]"#);
    }
}

/// Every entry reaches exactly one consumer of the group, whichever threads they are on.
#[test]
fn nothing_is_lost_or_delivered_twice() {
    const CLIENTS: usize = 12;
    const ENTRIES: usize = 600;
    for engine in ENGINES {
        let server = Server::start(Options::new(engine).with("io-threads", "2"));
        let mut conn = server.conn();
        call(&mut conn, "XGROUP CREATE s g $ MKSTREAM");
        let mut taken: Vec<String> = Vec::new();
        std::thread::scope(|threads| {
            let reading: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let server = &server;
                    threads.spawn(move || {
                        let (mut conn, name) = (server.conn(), format!("c{}", client % 5));
                        let mut taken = Vec::new();
                        loop {
                            let read = format!("XREADGROUP GROUP g {name} COUNT 2 BLOCK 0 STREAMS s >");
                            let Value::Array(streams) = call(&mut conn, &read) else { panic!("entries") };
                            let Value::Array(entries) = &streams[0].items().unwrap()[1] else {
                                panic!("entries")
                            };
                            for entry in entries {
                                let parts = entry.items().unwrap();
                                let text = |value: &Value| {
                                    String::from_utf8(value.bytes().unwrap().to_vec()).unwrap()
                                };
                                let (id, value) = (text(&parts[0]), text(&parts[1].items().unwrap()[1]));
                                assert_eq!(call(&mut conn, &format!("XACK s g {id}")), Value::Int(1));
                                if value == "end" {
                                    return taken;
                                }
                                taken.push(value);
                            }
                        }
                    })
                })
                .collect();
            let adding: Vec<_> = (0..3)
                .map(|adder| {
                    let server = &server;
                    threads.spawn(move || {
                        let mut conn = server.conn();
                        for n in 0..ENTRIES / 3 {
                            call(&mut conn, &format!("XADD s * f {adder}-{n}"));
                        }
                    })
                })
                .collect();
            adding.into_iter().for_each(|adder| adder.join().unwrap());
            let mut reading = reading;
            while !reading.is_empty() {
                call(&mut conn, "XADD s * f end");
                let (done, rest): (Vec<_>, Vec<_>) =
                    reading.into_iter().partition(|thread| thread.is_finished());
                done.into_iter().for_each(|thread| taken.extend(thread.join().unwrap()));
                reading = rest;
            }
        });
        let distinct: std::collections::BTreeSet<&String> = taken.iter().collect();
        assert_eq!((taken.len(), distinct.len()), (ENTRIES, ENTRIES), "{}", engine.name());
    }
}

/// Who waits with CLAIM is given what has been pending for long enough by then, whether that was pending before or not.
#[test]
fn what_becomes_idle_is_claimed_by_who_waits() {
    if std::env::var("TARN_CHECK_AGAINST").is_ok() {
        return;
    }
    for engine in ENGINES {
        let server = Server::start(Options::new(engine).with("io-threads", "2"));
        let (mut conn, mut first, mut second) = (server.conn(), server.conn(), server.conn());
        call(&mut conn, "XADD s 1-1 f v");
        call(&mut conn, "XADD s 2-1 f v");
        call(&mut conn, "XGROUP CREATE s g 1-1");
        call(&mut conn, "XREADGROUP GROUP g a STREAMS s >");
        first.send(&["XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "CLAIM", "150", "STREAMS", "s", ">"]);
        let claimed = first.recv().to_string();
        assert!(
            claimed.starts_with(r#"[["s" [["2-1" ["f" "v"] :"#) && claimed.ends_with(":1]]]]"),
            "{claimed}"
        );
        assert_eq!(call(&mut conn, "XACK s g 2-1"), Value::Int(1));
        second.send(&["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "CLAIM", "50", "STREAMS", "s", ">"]);
        wait_for_blocked(&mut conn, 1);
        call(&mut conn, "XCLAIM s g a 0 1-1 FORCE");
        let claimed = second.recv().to_string();
        assert!(claimed.starts_with(r#"[["s" [["1-1" ["f" "v"] :"#), "{claimed}");
        assert_eq!(call(&mut conn, "XPENDING s g").to_string(), r#"[:1 "1-1" "1-1" [["c" "1"]]]"#);
    }
}
