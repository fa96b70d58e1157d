//! Channels: what subscribers hear, what they may say, and what becomes of those that do not listen.

use std::collections::BTreeSet;

use crate::check::{check, check2_with, check3, tarn_only, tarn_only3};
use crate::conn::{Conn, encode};
use crate::harness::{Options, Program, Server, eventually};
use crate::rng::Rng;
use crate::value::Value;

/// `>[` is a push message, which RESP2 has as an array.
#[track_caller]
fn heard(line: &str, expected: &str) {
    check3(line, &expected.replace(">[", "["), expected);
}

#[test]
fn subscribing_and_publishing() {
    heard(
        "@s SUBSCRIBE a b a | PUBLISH a hi | @s !recv | PUBLISH b \"\" | @s !recv | PUBLISH c hi",
        r#">["subscribe" "a" :1] | :1 | >["subscribe" "b" :2] | :1 | >["subscribe" "a" :2] | :0"#,
    );
    heard(
        r#"@s SUBSCRIBE a | PUBLISH a "\x00\r\n\xff" | @s !recv | PUBLISH a "x"*70000 | @s !recv"#,
        r#">["subscribe" "a" :1] | :1 | >["message" "a" "\x00\r\n\xff"] | :1 | >["message" "a" "x"*70000]"#,
    );
    heard(
        r#"@s SUBSCRIBE "" | PUBLISH "" "" | @s !recv | PUBLISH " " x"#,
        r#">["subscribe" "" :1] | :1 | >["message" "" ""] | :0"#,
    );
    heard(
        "@s SUBSCRIBE a | @t SUBSCRIBE a | PUBLISH a 1 | @s !recv | @t !recv | @s UNSUBSCRIBE a | PUBLISH a 2 | @t !recv",
        r#">["subscribe" "a" :1] | >["subscribe" "a" :1] | :2 | >["message" "a" "1"] | >["message" "a" "1"] | >["unsubscribe" "a" :0] | :1 | >["message" "a" "2"]"#,
    );
    for command in ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "PUBLISH a", "SPUBLISH a", "PUBLISH a b c"] {
        let name = command.split(' ').next().unwrap().to_lowercase();
        check(command, &format!("-ERR wrong number of arguments for '{name}' command"));
    }
}

#[test]
fn patterns() {
    heard(
        "@s PSUBSCRIBE a* b? | @s !recv | PUBLISH abc 1 | @s !recv | PUBLISH b 2 | PUBLISH bc 3 | @s !recv | PUBLISH xa 4",
        r#">["psubscribe" "a*" :1] | >["psubscribe" "b?" :2] | :1 | >["pmessage" "a*" "abc" "1"] | :0 | :1 | >["pmessage" "b?" "bc" "3"] | :0"#,
    );
    // The channel first, then patterns; each subscription counts.
    heard(
        "@s SUBSCRIBE ab | @s PSUBSCRIBE a* | PUBLISH ab 1 | PUBLISH ab 2 | @s !recv | @s !recv | @s !recv | @s !recv",
        r#">["subscribe" "ab" :1] | >["psubscribe" "a*" :2] | :2 | :2 | >["message" "ab" "1"] | >["pmessage" "a*" "ab" "1"] | >["message" "ab" "2"] | >["pmessage" "a*" "ab" "2"]"#,
    );
    heard(
        "@s PSUBSCRIBE [ab]c | PUBLISH ac 1 | @s !recv | @s PUNSUBSCRIBE [ab]c nope | @s !recv | PUBLISH ac 2",
        r#">["psubscribe" "[ab]c" :1] | :1 | >["pmessage" "[ab]c" "ac" "1"] | >["punsubscribe" "[ab]c" :0] | >["punsubscribe" "nope" :0] | :0"#,
    );
}

#[test]
fn a_hostile_pattern_holds_up_nobody() {
    let server = Server::start(Options::new(Program::Memory));
    let channel = "a".repeat(40_000);
    let mut listener = server.conn();
    for pattern in [format!("*{channel}b"), format!("*?{channel}b"), format!("*[{channel}]?{channel}b")] {
        listener.call(&["PSUBSCRIBE", &pattern]);
    }
    let mut publisher = server.conn();
    for _ in 0..20 {
        assert_eq!(publisher.call(&["PUBLISH", &channel, "m"]), Value::Int(0));
    }
    listener.call(&["PSUBSCRIBE", &format!("*{}", &channel[..20_000])]);
    assert_eq!(publisher.call(&["PUBLISH", &channel, "m"]), Value::Int(1));
}

#[test]
fn channels_of_slots() {
    heard(
        "@s SSUBSCRIBE a b | @s !recv | @s SUBSCRIBE a | SPUBLISH a 1 | @s !recv | PUBLISH a 2 | @s !recv | @s SUNSUBSCRIBE a | SPUBLISH a 3",
        r#">["ssubscribe" "a" :1] | >["ssubscribe" "b" :2] | >["subscribe" "a" :1] | :1 | >["smessage" "a" "1"] | :1 | >["message" "a" "2"] | >["sunsubscribe" "a" :1] | :0"#,
    );
    heard("@s PSUBSCRIBE * | SPUBLISH a 1", r#">["psubscribe" "*" :1] | :0"#);
}

#[test]
fn unsubscribing() {
    heard("UNSUBSCRIBE", r#">["unsubscribe" nil :0]"#);
    heard("PUNSUBSCRIBE", r#">["punsubscribe" nil :0]"#);
    heard("SUNSUBSCRIBE", r#">["sunsubscribe" nil :0]"#);
    heard("UNSUBSCRIBE x y | !recv", r#">["unsubscribe" "x" :0] | >["unsubscribe" "y" :0]"#);
    heard(
        "SUBSCRIBE a | PSUBSCRIBE p | SSUBSCRIBE s | UNSUBSCRIBE | PUNSUBSCRIBE | SUNSUBSCRIBE | PING",
        r#">["subscribe" "a" :1] | >["psubscribe" "p" :2] | >["ssubscribe" "s" :1] | >["unsubscribe" "a" :1] | >["punsubscribe" "p" :0] | >["sunsubscribe" "s" :0] | +PONG"#,
    );
    // All of them, in any order: only the counts are sure.
    heard(
        "SUBSCRIBE a b | !recv | UNSUBSCRIBE | !recv | UNSUBSCRIBE",
        r#">["subscribe" "a" :1] | >["subscribe" "b" :2] | >["unsubscribe" ... :1] | >["unsubscribe" ... :0] | >["unsubscribe" nil :0]"#,
    );
}

#[test]
fn what_a_listener_may_say() {
    let refused = |name: &str| {
        format!(
            "-ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
        )
    };
    check3(
        "SUBSCRIBE a | GET k | PUBLISH a b | CLIENT LIST | HELLO 3 | PUBLISH a | NOSUCH",
        &[
            r#"["subscribe" "a" :1]"#,
            &refused("get"),
            &refused("publish"),
            &refused("client|list"),
            &refused("hello"),
            "-ERR wrong number of arguments for 'publish' command",
            "-ERR unknown command 'NOSUCH'...",
        ]
        .join(" | "),
        "",
    );
    check3(
        "SUBSCRIBE a | PING | PING hi | PING a b | UNSUBSCRIBE | PING",
        r#"["subscribe" "a" :1] | ["pong" ""] | ["pong" "hi"] | -ERR wrong number of arguments for 'ping' command | ["unsubscribe" "a" :0] | +PONG"#,
        r#">["subscribe" "a" :1] | +PONG | "hi" | -ERR wrong number of arguments for 'ping' command | >["unsubscribe" "a" :0] | +PONG"#,
    );
    check3(
        "SSUBSCRIBE a | GET k | RESET | GET k | @o PUBLISH a x | @o SPUBLISH a x",
        &format!(r#"["ssubscribe" "a" :1] | {} | +RESET | nil | :0 | :0"#, refused("get")),
        r#">["ssubscribe" "a" :1] | nil | +RESET | nil | :0 | :0"#,
    );
    heard("SUBSCRIBE a | QUIT | !recv", r#">["subscribe" "a" :1] | +OK | closed"#);
    // RESP3 tells messages from replies.
    check3("SUBSCRIBE a | SET k v | GET k", "", r#">["subscribe" "a" :1] | +OK | "v""#);
    check3(
        "SUBSCRIBE a | HELLO 2 | GET k | UNSUBSCRIBE | GET k",
        "",
        &format!(r#">["subscribe" "a" :1] | [...] | {} | ["unsubscribe" "a" :0] | nil"#, refused("get"))
            .replace("[...]", "..."),
    );
}

#[test]
fn a_publisher_hears_itself_behind_its_reply() {
    // So since Redis 7.2.
    tarn_only3(
        "SUBSCRIBE a | PUBLISH a 1 | !recv | PSUBSCRIBE a* | PUBLISH a 2 | !recv | !recv | SSUBSCRIBE a | SPUBLISH a 3 | !recv",
        "",
        r#">["subscribe" "a" :1] | :1 | >["message" "a" "1"] | >["psubscribe" "a*" :2] | :2 | >["message" "a" "2"] | >["pmessage" "a*" "a" "2"] | >["ssubscribe" "a" :1] | :1 | >["smessage" "a" "3"]"#,
    );
    // In one write, too.
    tarn_only3(
        r#"!raw "SUBSCRIBE a\r\nPUBLISH a 1\r\nUNSUBSCRIBE a\r\nPUBLISH a 2\r\n" | !recv | !recv | !recv | !recv"#,
        "",
        r#">["subscribe" "a" :1] | :1 | >["message" "a" "1"] | >["unsubscribe" "a" :0] | :0"#,
    );
    tarn_only3(
        r#"!raw "PUBLISH a 1\r\nSUBSCRIBE a\r\nPUBLISH a 2\r\nGET k\r\n" | !recv | !recv | !recv | !recv"#,
        "",
        r#":0 | >["subscribe" "a" :1] | :1 | >["message" "a" "2"] | nil"#,
    );
    // From a transaction and from a script, too.
    tarn_only3(
        "SUBSCRIBE a | MULTI | PUBLISH a 1 | SET k v | PUBLISH a 2 | EXEC | !recv | !recv",
        "",
        r#">["subscribe" "a" :1] | +OK | +QUEUED | +QUEUED | +QUEUED | [:1 +OK :1] | >["message" "a" "1"] | >["message" "a" "2"]"#,
    );
    tarn_only3(
        "SUBSCRIBE a | EVAL \"redis.call('set', KEYS[1], 'v') return redis.call('publish', 'a', 's')\" 1 k | !recv",
        "",
        r#">["subscribe" "a" :1] | :1 | >["message" "a" "s"]"#,
    );
}

#[test]
fn replies_switched_off() {
    heard(
        "CLIENT REPLY OFF | SUBSCRIBE a | @p PUBLISH a 1 | !recv | UNSUBSCRIBE a | CLIENT REPLY ON",
        r#"none | >["subscribe" "a" :1] | :1 | >["message" "a" "1"] | >["unsubscribe" "a" :0] | +OK"#,
    );
    check3(
        "CLIENT REPLY SKIP | SUBSCRIBE a b | !recv | PING",
        r#"none | ["subscribe" "a" :1] | ["subscribe" "b" :2] | ["pong" ""]"#,
        r#"none | >["subscribe" "a" :1] | >["subscribe" "b" :2] | +PONG"#,
    );
    tarn_only3(
        "PSUBSCRIBE z | CLIENT REPLY SKIP | PUBLISH z x | PUBLISH z y | !recv",
        "",
        r#">["psubscribe" "z" :1] | none | >["pmessage" "z" "z" "x"] | :1 | >["pmessage" "z" "z" "y"]"#,
    );
}

#[test]
fn asking_about_channels() {
    heard(
        "@s SUBSCRIBE a b | @t SUBSCRIBE a | @t PSUBSCRIBE p* | @u PSUBSCRIBE p* | PUBSUB NUMSUB a b c | PUBSUB NUMPAT | PUBSUB NUMSUB | PUBSUB CHANNELS b*",
        r#">["subscribe" "a" :1] | >["subscribe" "a" :1] | >["psubscribe" "p*" :2] | >["psubscribe" "p*" :1] | ["a" :2 "b" :1 "c" :0] | :1 | [] | ["b"]"#,
    );
    heard(
        "@s SUBSCRIBE a b | PUBSUB CHANNELS | PUBSUB CHANNELS [ab] | PUBSUB CHANNELS x | PUBSUB SHARDCHANNELS",
        r#">["subscribe" "a" :1] | ~["a" "b"] | ~["a" "b"] | [] | []"#,
    );
    heard(
        "@s SSUBSCRIBE a | PUBSUB SHARDCHANNELS | PUBSUB SHARDCHANNELS x* | PUBSUB SHARDNUMSUB a b | PUBSUB SHARDNUMSUB | PUBSUB CHANNELS | PUBSUB NUMSUB a",
        r#">["ssubscribe" "a" :1] | ["a"] | [] | ["a" :1 "b" :0] | [] | [] | ["a" :0]"#,
    );
    check(
        "PUBSUB | PUBSUB FOO | PUBSUB CHANNELS a b | PUBSUB NUMPAT a | PUBSUB SHARDCHANNELS a b",
        "-ERR wrong number of arguments for 'pubsub' command \
         | -ERR unknown subcommand 'FOO'. Try PUBSUB HELP. \
         | -ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP. \
         | -ERR wrong number of arguments for 'pubsub|numpat' command \
         | -ERR unknown subcommand or wrong number of arguments for 'SHARDCHANNELS'. Try PUBSUB HELP.",
    );
    tarn_only(
        "PUBSUB HELP",
        "[... +\"CHANNELS [<pattern>]\" ... +NUMPAT ... ... ... ... ... ... ... +HELP ...]",
    );
    heard(
        "@s SUBSCRIBE a b | @s PSUBSCRIBE p | @s SSUBSCRIBE s | INFO stats",
        r#">["subscribe" "a" :1] | >["subscribe" "b" :2] | >["psubscribe" "p" :3] | %"...pubsub_channels:2...pubsub_patterns:1...pubsubshard_channels:1...""#,
    );
}

#[test]
fn listeners_in_the_list_of_clients() {
    heard(
        "@s SUBSCRIBE a | @s PSUBSCRIBE b | @s PSUBSCRIBE c | @s SSUBSCRIBE d | CLIENT LIST TYPE pubsub | CLIENT LIST TYPE normal",
        r#">["subscribe" "a" :1] | >["psubscribe" "b" :2] | >["psubscribe" "c" :3] | >["ssubscribe" "d" :1] | %"id=... flags=P ... sub=1 psub=2 ssub=1 ...cmd=ssubscribe...\n" | %"id=... sub=0 psub=0 ssub=0 ...""#,
    );
    heard(
        "@s SUBSCRIBE a | @s UNSUBSCRIBE | CLIENT LIST TYPE pubsub | CLIENT KILL TYPE pubsub | @s SUBSCRIBE a | CLIENT KILL TYPE normal | CLIENT KILL TYPE pubsub | @s !recv | PUBLISH a x",
        r#">["subscribe" "a" :1] | >["unsubscribe" "a" :0] | %"" | :0 | >["subscribe" "a" :1] | :0..9 | :1 | closed | :0"#,
    );
}

#[test]
fn channels_are_of_no_database() {
    heard(
        "@s SELECT 3 | @s SUBSCRIBE a | PUBLISH a x | @s !recv | FLUSHALL | PUBLISH a y | @s !recv",
        r#"+OK | >["subscribe" "a" :1] | :1 | >["message" "a" "x"] | +OK | :1 | >["message" "a" "y"]"#,
    );
}

#[test]
fn a_password_comes_first() {
    check2_with(
        &[("requirepass", "sesame")],
        "PUBLISH a b | SUBSCRIBE a | AUTH sesame | PUBLISH a b | SUBSCRIBE a",
        r#"-NOAUTH Authentication required. | -NOAUTH Authentication required. | +OK | :0 | ["subscribe" "a" :1]"#,
    );
}

fn server(options: &[(&str, &str)]) -> Server {
    let program = if std::env::var("TARN_CHECK_AGAINST").is_ok() { Program::Redis } else { Program::Rocksdb };
    Server::start(options.iter().fold(Options::new(program), |o, (name, value)| o.with(name, value)))
}

fn subscribe(conn: &mut Conn, channel: &str) {
    let reply = conn.call(&["SUBSCRIBE", channel]);
    assert_eq!(reply.items().and_then(|items| items[2].int()), Some(1), "{reply}");
}

#[test]
fn a_listener_that_does_not_read_is_closed() {
    for limits in ["pubsub 1mb 0 0", "pubsub 0 512kb 1"] {
        let server = server(&[("client-output-buffer-limit", limits)]);
        let (mut slow, mut publisher, mut quick) = (server.conn(), server.conn(), server.conn());
        subscribe(&mut slow, "flood");
        subscribe(&mut quick, "other");
        let message = "x".repeat(256 * 1024);
        eventually("the slow listener is gone", || {
            publisher.call(&["PUBLISH", "flood", &message]).int() == Some(0)
        });
        assert_eq!(publisher.call(&["PUBLISH", "other", "still here"]), Value::Int(1));
        let reply = quick.recv();
        assert_eq!(reply.items().map(|items| items[2].clone()), Some(Value::bulk("still here")));
    }
}

/// Below the limit nobody is closed, and nothing is lost.
#[test]
fn a_listener_that_reads_late_gets_everything() {
    let server = server(&[("client-output-buffer-limit", "pubsub 64mb 0 0")]);
    let (mut late, mut publisher) = (server.conn(), server.conn());
    subscribe(&mut late, "c");
    let filler = "x".repeat(100_000);
    for i in 0..200 {
        assert_eq!(publisher.call(&["PUBLISH", "c", &format!("{i}:{filler}")]), Value::Int(1));
    }
    for i in 0..200 {
        let reply = late.recv();
        let text = reply.items().unwrap()[2].bytes().unwrap().to_vec();
        assert_eq!(text, format!("{i}:{filler}").as_bytes());
    }
}

#[test]
fn a_listener_that_leaves_is_forgotten() {
    let server = server(&[]);
    let mut publisher = server.conn();
    for _ in 0..20 {
        let mut leaving = server.conn();
        subscribe(&mut leaving, "c");
        leaving.send(&["PSUBSCRIBE", "c*"]);
        leaving.send(&["SSUBSCRIBE", "c"]);
    }
    eventually("nobody listens", || {
        let [channels, patterns, shards] = [
            publisher.call(&["PUBSUB", "CHANNELS"]),
            publisher.call(&["PUBSUB", "NUMPAT"]),
            publisher.call(&["PUBSUB", "SHARDCHANNELS"]),
        ];
        channels == Value::Array(vec![]) && patterns == Value::Int(0) && shards == Value::Array(vec![])
    });
    assert_eq!(publisher.call(&["PUBLISH", "c", "x"]), Value::Int(0));
}

#[test]
fn listeners_are_not_idle() {
    let server = server(&[("timeout", "1")]);
    let (mut listener, mut idle, mut publisher) = (server.conn(), server.conn(), server.conn());
    subscribe(&mut listener, "c");
    idle.call(&["PING"]);
    assert!(idle.closes(), "the limit works at all");
    drop(publisher);
    publisher = server.conn();
    assert_eq!(publisher.call(&["PUBLISH", "c", "x"]), Value::Int(1));
    listener.recv();
}

/// Publishers and listeners on several threads, some of which come and go: every listener gets every message of every
/// publisher once, in the order in which that publisher sent them.
#[test]
fn nothing_is_lost_doubled_or_out_of_order() {
    const PUBLISHERS: usize = 4;
    const LISTENERS: usize = 12;
    const MESSAGES: usize = 2_000;
    let server = server(&[("io-threads", "4"), ("client-output-buffer-limit", "pubsub 0 0 0")]);
    let mut listeners: Vec<Conn> =
        (0..LISTENERS).map(|i| if i % 2 == 0 { server.conn() } else { server.conn3() }).collect();
    for (i, listener) in listeners.iter_mut().enumerate() {
        match i % 3 {
            0 => subscribe(listener, "c"),
            1 => drop(listener.call(&["PSUBSCRIBE", "c*"])),
            _ => {
                subscribe(listener, "c");
                listener.call(&["PSUBSCRIBE", "?"]);
            }
        }
    }
    std::thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            let server = &server;
            scope.spawn(move || {
                let mut conn = server.conn();
                let mut rng = Rng::new(publisher as u64);
                let mut sent = 0;
                while sent < MESSAGES {
                    let batch = (1 + rng.below(40)).min(MESSAGES - sent);
                    let bytes: Vec<u8> = (sent..sent + batch)
                        .flat_map(|n| encode(&["PUBLISH", "c", &format!("{publisher} {n}")]))
                        .collect();
                    conn.send_raw(&bytes);
                    for _ in 0..batch {
                        let reached = conn.recv().int().unwrap();
                        assert!(reached >= LISTENERS as i64, "{reached}");
                    }
                    sent += batch;
                }
            });
        }
        // Others come and go meanwhile.
        let server = &server;
        scope.spawn(move || {
            for _ in 0..200 {
                let mut conn = server.conn();
                subscribe(&mut conn, "c");
                conn.send(&["UNSUBSCRIBE"]);
            }
        });
        for (i, mut listener) in listeners.into_iter().enumerate() {
            scope.spawn(move || {
                let copies = if i % 3 == 2 { 2 } else { 1 };
                let mut next = [[0; PUBLISHERS]; 2];
                for _ in 0..PUBLISHERS * MESSAGES * copies {
                    let reply = listener.recv();
                    let items = reply.items().unwrap();
                    let by_pattern = items[0] == Value::bulk("pmessage");
                    let text = String::from_utf8(items.last().unwrap().bytes().unwrap().to_vec()).unwrap();
                    let (publisher, number) = text.split_once(' ').unwrap();
                    let publisher: usize = publisher.parse().unwrap();
                    let next = &mut next[usize::from(by_pattern)][publisher];
                    assert_eq!(number.parse::<usize>().unwrap(), *next, "of publisher {publisher}");
                    *next += 1;
                }
                let heard: BTreeSet<usize> = next.iter().flatten().copied().filter(|n| *n > 0).collect();
                assert_eq!(heard, BTreeSet::from([MESSAGES]));
            });
        }
    });
}
