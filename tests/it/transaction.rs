//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use crate::check::{check, check_local, check2_with, check3, tarn_only, tarn_only_with};
use crate::harness::{ENGINES, Options, Program, Server};
use crate::value::Value;

const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.";

#[test]
fn what_is_queued_runs_at_exec() {
    check("MULTI | SET k 1 | INCR k | GET k | EXEC", "+OK | +QUEUED | +QUEUED | +QUEUED | [+OK :2 \"2\"]");
    check("MULTI | EXEC", "+OK | []");
    check("MULTI | SET k 1 | @b GET k | EXEC | @b GET k", "+OK | +QUEUED | nil | [+OK] | \"1\"");
    check("MULTI | SET k 1 | DISCARD | GET k", "+OK | +QUEUED | +OK | nil");
    check("EXEC | DISCARD", "-ERR EXEC without MULTI | -ERR DISCARD without MULTI");
    check("MULTI | EXEC | EXEC", "+OK | [] | -ERR EXEC without MULTI");
    check("MULTI | MULTI | SET k 1 | EXEC", "+OK | -ERR MULTI calls can not be nested | +QUEUED | [+OK]");
    check("MULTI | SET k 1 | RESET | EXEC | GET k", "+OK | +QUEUED | +RESET | -ERR EXEC without MULTI | nil");
    check(
        "MULTI x | EXEC x | DISCARD x | UNWATCH x | WATCH",
        "-ERR wrong number of arguments for 'multi' command | \
         -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command | \
         -ERR wrong number of arguments for 'discard' command | \
         -ERR wrong number of arguments for 'unwatch' command | \
         -ERR wrong number of arguments for 'watch' command",
    );
}

#[test]
fn errors_of_single_calls_do_not_undo_the_others() {
    check(
        "MULTI | SET k 1 | LPUSH k x | INCR k | HGET k f | SET k 5 XX | EXEC | GET k",
        "+OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | \
         [+OK -\"WRONGTYPE Operation against a key holding the wrong kind of value\" :2 \
         -\"WRONGTYPE Operation against a key holding the wrong kind of value\" +OK] | \"5\"",
    );
    // A call that fails half-way leaves nothing.
    check(
        "SET s x | RPUSH l a | MULTI | RENAME nokey n | LSET l 5 x | MSETNX a 1 s 2 | INCRBY s 1 | LPUSH l z | EXEC | LRANGE l 0 -1 | EXISTS a",
        "+OK | :1 | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | \
         [-\"ERR no such key\" -\"ERR index out of range\" :0 -\"ERR value is not an integer or out of range\" :2] | [\"z\" \"a\"] | :0",
    );
}

#[test]
fn what_is_refused_while_queueing_aborts() {
    check(
        "MULTI | NOSUCH a | SET k 1 | EXEC | GET k",
        &format!(
            "+OK | -ERR unknown command 'NOSUCH', with args beginning with: 'a' ... | +QUEUED | {ABORTED} | nil"
        ),
    );
    check(
        "MULTI | SET k | EXEC | EXEC",
        &format!(
            "+OK | -ERR wrong number of arguments for 'set' command | {ABORTED} | -ERR EXEC without MULTI"
        ),
    );
    check(
        "MULTI | CLIENT NOSUCH | EXEC",
        &format!("+OK | -ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP. | {ABORTED}"),
    );
    check(
        "MULTI | SET k | DISCARD | MULTI | EXEC",
        "+OK | -ERR wrong number of arguments for 'set' command | +OK | +OK | []",
    );
    for command in ["SHUTDOWN", "SAVE"] {
        check(
            &format!("MULTI | {command} | SET k 1 | EXEC | GET k"),
            &format!("+OK | -ERR Command not allowed inside a transaction | +QUEUED | {ABORTED} | nil"),
        );
    }
    check(
        "MULTI | EXEC x | EXEC",
        "+OK | -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command | -ERR EXEC without MULTI",
    );
    // An aborted transaction watches nothing any more.
    check(
        "WATCH k | MULTI | SET k | EXEC | SET k 1 | MULTI | GET k | EXEC",
        &format!(
            "+OK | +OK | -ERR wrong number of arguments for 'set' command | {ABORTED} | +OK | +OK | +QUEUED | [\"1\"]"
        ),
    );
}

#[test]
fn a_watched_key_that_is_changed_lets_exec_do_nothing() {
    for (before, change) in [
        ("SET k 1", "SET k 2"),
        ("SET k 1", "SET k 1"),
        ("SET k 1", "DEL k"),
        ("SET k 1", "EXPIRE k 100"),
        ("SET k 1", "PEXPIREAT k 1"),
        ("SET k 1", "RENAME k other"),
        ("SET k 1", "SET other 2 | @b RENAME other k"),
        ("SET k 1", "MOVE k 1"),
        ("SET k 1", "FLUSHDB"),
        ("SET k 1", "FLUSHALL"),
        ("SET k 1", "SWAPDB 0 1"),
        ("SET k 1", "DEL k | @b SET k 1"),
        ("SET k 1", "APPEND k \"\" | @b SETRANGE k 0 x"),
        ("ECHO x", "SET k 1"),
        ("ECHO x", "SADD k m"),
        ("HSET k f v", "HSET k f v"),
        ("HSET k f v g w", "HDEL k f"),
        ("RPUSH k a b", "LPOP k"),
        ("RPUSH k a b", "LSET k 0 x"),
        ("SADD k a b", "SREM k a"),
        ("ZADD k 1 a", "ZADD k 2 a"),
        ("RPUSH k a", "LMOVE k d LEFT RIGHT"),
        ("SADD s a", "SUNIONSTORE k s"),
        ("SET x 1", "COPY x k"),
        ("ECHO x", "BITFIELD k SET i5 0 0"),
        ("SET k a", "BITFIELD k SET u8 80 0"),
        ("SET k a", "BITFIELD k SET u8 0 98 SET u8 0 97"),
    ] {
        let line = format!("{before} | WATCH k | @b {change} | MULTI | SET done 1 | EXEC | GET done");
        let replies = "... | ".repeat(change.matches(" | ").count() + 1);
        check(&line, &format!("... | +OK | {replies}+OK | +QUEUED | nil[] | nil"));
    }
}

#[test]
fn what_does_not_change_a_key_does_not_matter() {
    for (before, other) in [
        ("SET k 1", "GET k"),
        ("SET k 1", "SET other 2"),
        ("SET k 1", "SET k 2 NX"),
        ("SET k 1", "LPUSH k x"),
        ("SET k 1", "PERSIST k"),
        ("SADD k a", "SADD k a"),
        ("SADD k a", "SREM k b"),
        ("HSET k f v", "HDEL k g"),
        ("ZADD k 1 a", "ZADD k 1 a"),
        ("SET k a", "BITFIELD k SET u8 0 97"),
        ("SET k a", "BITFIELD k INCRBY u8 0 0 GET u8 0"),
        ("SETRANGE k 100000 a", "BITFIELD k SET u8 80 0 INCRBY u8 800000 0"),
        ("ECHO x", "BITFIELD k GET u8 0"),
        ("ECHO x", "DEL k"),
        ("ECHO x", "FLUSHALL"),
        ("ECHO x", "SWAPDB 0 1"),
        ("SET k 1", "SELECT 1 | @b SET k 2"),
        ("SET k 1", "SELECT 1 | @b FLUSHDB"),
    ] {
        let line = format!("{before} | WATCH k | @b {other} | MULTI | PING | EXEC");
        let replies = "... | ".repeat(other.matches(" | ").count() + 1);
        check(&line, &format!("... | +OK | {replies}+OK | +QUEUED | [+PONG]"));
    }
    // Between nodes what a write relies on counts as changed.
    check_local(
        "SET a 1 | WATCH k | @b DEL a k | MULTI | PING | EXEC",
        "+OK | +OK | :1 | +OK | +QUEUED | [+PONG]",
    );
}

#[test]
fn watching_ends() {
    check(
        "WATCH k | UNWATCH | @b SET k 1 | MULTI | PING | EXEC",
        "+OK | +OK | +OK | +OK | +QUEUED | [+PONG]",
    );
    check(
        "WATCH k | MULTI | DISCARD | @b SET k 1 | MULTI | PING | EXEC",
        "+OK | +OK | +OK | +OK | +OK | +QUEUED | [+PONG]",
    );
    check(
        "WATCH k | @b SET k 1 | MULTI | PING | EXEC | MULTI | PING | EXEC",
        "+OK | +OK | +OK | +QUEUED | nil[] | +OK | +QUEUED | [+PONG]",
    );
    // By EXEC, not by what is queued.
    check(
        "WATCH k | @b SET k 1 | MULTI | UNWATCH | PING | EXEC",
        "+OK | +OK | +OK | +QUEUED | +QUEUED | nil[]",
    );
    check("MULTI | UNWATCH | EXEC", "+OK | +QUEUED | [+OK]");
    check(
        "MULTI | WATCH k | PING | EXEC",
        "+OK | -ERR WATCH inside MULTI is not allowed | +QUEUED | [+PONG]",
    );
    // A change of one's own counts.
    check("WATCH k | SET k 1 | MULTI | PING | EXEC", "+OK | +OK | +OK | +QUEUED | nil[]");
    check(
        "WATCH k | MULTI | SET k 1 | EXEC | MULTI | PING | EXEC",
        "+OK | +OK | +QUEUED | [+OK] | +OK | +QUEUED | [+PONG]",
    );
    check(
        "WATCH a b | WATCH c a | @b SET c 1 | MULTI | PING | EXEC",
        "+OK | +OK | +OK | +OK | +QUEUED | nil[]",
    );
    check("WATCH k | @b SET k 1 | RESET | MULTI | PING | EXEC", "+OK | +OK | +RESET | +OK | +QUEUED | ...");
}

#[test]
fn a_watched_key_may_expire() {
    check(
        "SET k 1 PX 1000 | WATCH k | !time 1500 | MULTI | PING | EXEC",
        "+OK | +OK | none | +OK | +QUEUED | nil[]",
    );
    check("SET k 1 PX 100000 | WATCH k | MULTI | PING | EXEC", "+OK | +OK | +OK | +QUEUED | [+PONG]");
    check(
        "SET k 1 PX 1000 | !time 1500 | WATCH k | GET k | MULTI | PING | EXEC",
        "+OK | none | +OK | nil | +OK | +QUEUED | [+PONG]",
    );
    // What has expired before WATCH may be removed behind it, but not come back.
    let watch = "DEBUG SET-ACTIVE-EXPIRE 0 | SET k 1 PX 1000 | !time 1500 | WATCH k";
    for (change, reply, exec) in
        [("GET k", "nil", "[+PONG]"), ("DEL k", ":0", "[+PONG]"), ("SET k 2", "+OK", "nil[]")]
    {
        check(
            &format!("{watch} | @b {change} | MULTI | PING | EXEC | DEBUG SET-ACTIVE-EXPIRE 1"),
            &format!("+OK | +OK | none | +OK | {reply} | +OK | +QUEUED | {exec} | +OK"),
        );
    }
    check(
        &format!(
            "{watch} | @b DEL k | @b SET k 2 | @b DEL k | MULTI | PING | EXEC | DEBUG SET-ACTIVE-EXPIRE 1"
        ),
        "+OK | +OK | none | +OK | :0 | +OK | :1 | +OK | +QUEUED | nil[] | +OK",
    );
}

#[test]
fn calls_see_what_those_before_them_did() {
    check(
        "MULTI | SADD s a b | SPOP s 2 | SCARD s | RPUSH l x y | LREM l 1 x | LRANGE l 0 -1 | ZADD z 1 a 2 b | ZRANGE z 0 -1 | ZPOPMIN z | ZRANK z b | EXEC",
        "+OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | \
         [:2 ... :0 :2 :1 [\"y\"] :2 [\"a\" \"b\"] [\"a\" ...] :0]",
    );
    check(
        "SET old 1 | MULTI | FLUSHDB | DBSIZE | SET new 1 | DBSIZE | GET old | KEYS * | EXEC | GET new | DBSIZE",
        "+OK | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [+OK :0 +OK :1 nil [\"new\"]] | \"1\" | :1",
    );
    check(
        "SET a 1 | MULTI | FLUSHALL | SET b 2 | FLUSHALL | SET c 3 | SWAPDB 0 1 | EXEC | KEYS * | SELECT 1 | KEYS *",
        "+OK | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [+OK +OK +OK +OK +OK] | [] | +OK | [\"c\"]",
    );
    // A refused call behind it changes nothing of that.
    check(
        "SET a 1 | MULTI | GET a | SWAPDB 0 1 | SET b 2 | LPUSH b x | SET c 3 | EXEC | KEYS * | SELECT 1 | KEYS *",
        "+OK | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | \
         [\"1\" +OK +OK -\"WRONGTYPE Operation against a key holding the wrong kind of value\" +OK] | ~[\"b\" \"c\"] | +OK | [\"a\"]",
    );
    check(
        "MULTI | SET a 1 | SELECT 1 | SET a 2 | GET a | SELECT 99 | GET a | EXEC | GET a | SELECT 0 | GET a",
        "+OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | \
         [+OK +OK +OK \"2\" -\"ERR DB index is out of range\" \"2\"] | \"2\" | +OK | \"1\"",
    );
    check(
        "SET a 1 EX 100 | MULTI | RENAME a b | COPY b c | DEL b | TTL c | OBJECT ENCODING c | EXISTS a b c | EXEC",
        "+OK | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [+OK :1 :1 :91..100 \"int\" :1]",
    );
}

#[test]
fn commands_about_the_connection_are_queued_too() {
    check(
        "MULTI | PING | ECHO hi | CLIENT GETNAME | CLIENT SETNAME me | CLIENT GETNAME | EXEC",
        "+OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [+PONG \"hi\" nil +OK \"me\"]",
    );
    check(
        "MULTI | SET k 1 | INFO keyspace | SET k 2 | EXEC | GET k",
        "+OK | +QUEUED | +QUEUED | +QUEUED | [+OK %\"...\" +OK] | \"2\"",
    );
    check("MULTI | PUBLISH c m | WAIT 0 0 | EXEC", "+OK | +QUEUED | +QUEUED | [:0 :0]");
    check(
        "MULTI | MONITOR | EXEC",
        "+OK | +QUEUED | [-\"ERR MONITOR isn't allowed for DENY BLOCKING client\"]",
    );
    check(
        "MULTI | CLIENT NO-EVICT on | CONFIG GET maxmemory-samples | EXEC",
        "+OK | +QUEUED | +QUEUED | [+OK ...]",
    );
    check3(
        "MULTI | SUBSCRIBE c | EXEC | @b PUBLISH c hi | !recv",
        "+OK | +QUEUED | [[\"subscribe\" \"c\" :1]] | :1 | [\"message\" \"c\" \"hi\"]",
        "+OK | +QUEUED | [>[\"subscribe\" \"c\" :1]] | :1 | >[\"message\" \"c\" \"hi\"]",
    );
    check("MULTI | SET k 1 | QUIT | @b GET k", "+OK | +QUEUED | +OK | nil");
    check(
        "CLIENT SETNAME m | MULTI | PING | @b CLIENT LIST | EXEC | @b CLIENT LIST",
        "+OK | +OK | +QUEUED | %\"... name=m ... flags=x ... multi=1 ... cmd=ping ...\" | [+PONG] | %\"... name=m ... flags=N ... multi=-1 ...\"",
    );
    check(
        "WATCH k l | CLIENT INFO | @b SET l 1 | CLIENT INFO | UNWATCH | CLIENT INFO",
        "+OK | %\"... flags=N ...\" | +OK | %\"... flags=d ...\" | +OK | %\"... flags=N ...\"",
    );
    tarn_only(
        "WATCH k l | CLIENT INFO | @b INFO clients | @b SET l 1 | CLIENT INFO | UNWATCH | INFO clients",
        "+OK | %\"... multi=-1 watch=2 ...\" | %\"...watching_clients:1...total_watched_keys:2...\" | +OK | %\"... watch=0 ...\" | +OK | \
         %\"...watching_clients:0...total_watched_keys:0...\"",
    );
    check(
        "CLIENT TRACKING ON | CLIENT INFO | CLIENT TRACKING OFF | CLIENT INFO",
        "+OK | %\"... flags=t ... redir=0 ...\" | +OK | %\"... flags=N ... redir=-1 ...\"",
    );
}

#[test]
fn events_of_a_transaction_come_in_order() {
    check2_with(
        &[("notify-keyspace-events", "KA")],
        "@b PSUBSCRIBE * | MULTI | SET k 1 | DEL k | LPUSH k x | PUBLISH c m | EXEC | @b !recv | @b !recv | @b !recv | @b !recv",
        "... | +OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [+OK :1 :1 :1] | [\"pmessage\" \"*\" \"__keyspace@0__:k\" \"set\"] | \
         [\"pmessage\" \"*\" \"__keyspace@0__:k\" \"del\"] | [\"pmessage\" \"*\" \"__keyspace@0__:k\" \"lpush\"] | [\"pmessage\" \"*\" \"c\" \"m\"]",
    );
}

#[test]
fn monitors_see_exec_behind_what_it_runs() {
    check2_with(
        &[],
        "@m MONITOR | MULTI | SET a 1 | EXEC | @m !recv | @m !recv | @m !recv",
        "+OK | +OK | +QUEUED | [+OK] | +...\"MULTI\" | +...\"SET\" \"a\" \"1\" | +...\"EXEC\"",
    );
    check2_with(
        &[],
        "@m MONITOR | MULTI | SET a | EXEC | @m !recv | @m !recv",
        "+OK | +OK | -ERR wrong number of arguments for 'set' command | -EXECABORT Transaction discarded because of previous errors. | +...\"MULTI\" | +...\"EXEC\"",
    );
}

#[test]
fn a_transaction_over_many_slots_is_allowed_unless_it_is_denied() {
    let line = "MULTI | SET a 1 | SET b 2 | EXEC | GET a";
    tarn_only_with(&[("cluster-enabled", "yes")], line, "+OK | +QUEUED | +QUEUED | [+OK +OK] | \"1\"");
    tarn_only_with(
        &[("cluster-enabled", "yes"), ("cluster-cross-slot", "deny")],
        line,
        "+OK | +QUEUED | +QUEUED | -CROSSSLOT Keys in request don't hash to the same slot | nil",
    );
    tarn_only(
        "MULTI | CLIENT REPLY OFF | SET a 5 | EXEC | CLIENT REPLY ON | GET a",
        "+OK | +QUEUED | +QUEUED | none | +OK | \"5\"",
    );
}

#[test]
fn big_calls_run_on_a_worker_and_nothing_is_seen_before_its_time() {
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let (mut conn, mut other) = (server.conn(), server.conn());
        let members: Vec<String> = (0..5_000).map(|n| format!("m{n}")).collect();
        let mut words = vec!["SADD".to_owned(), "s".to_owned()];
        words.extend(members);
        assert_eq!(conn.call(&["MULTI"]), Value::Simple(b"OK".to_vec()));
        conn.call(&["SET", "k", "1"]);
        conn.call(&words);
        conn.call(&["SINTERSTORE", "d", "s", "s"]);
        conn.call(&["INCR", "k"]);
        assert_eq!(other.call(&["EXISTS", "k", "s", "d"]), Value::Int(0));
        let expected = [Value::Simple(b"OK".to_vec()), Value::Int(5_000), Value::Int(5_000), Value::Int(2)];
        assert_eq!(conn.call(&["EXEC"]), Value::Array(expected.to_vec()), "{}", engine.name());
        assert_eq!(other.call(&["SCARD", "d"]), Value::Int(5_000));
    }
}

/// Clients move amounts between accounts, with WATCH and without; the sum never changes, and nothing is seen half-done.
#[test]
fn transfers_keep_their_sum() {
    const ACCOUNTS: u64 = 4;
    const ROUNDS: u64 = 150;
    for engine in ENGINES {
        let server = Server::start(Options::new(engine).with("io-threads", "2"));
        let mut conn = server.conn();
        for account in 0..ACCOUNTS {
            conn.call(&["SET", &format!("a{account}"), "100"]);
        }
        std::thread::scope(|threads| {
            for client in 0..4_u64 {
                let server = &server;
                threads.spawn(move || {
                    let mut conn = server.conn();
                    let mut done = 0;
                    while done < ROUNDS {
                        let (from, to) = (
                            format!("a{}", (client + done) % ACCOUNTS),
                            format!("a{}", (client * 3 + done * 7 + 1) % ACCOUNTS),
                        );
                        if client % 2 == 0 {
                            conn.call(&["WATCH", &from, &to]);
                            let read = |reply: Value| match reply {
                                Value::Bulk(bytes) => {
                                    String::from_utf8(bytes).unwrap().parse::<i64>().unwrap()
                                }
                                other => panic!("{other:?}"),
                            };
                            let (have, has) =
                                (read(conn.call(&["GET", &from])), read(conn.call(&["GET", &to])));
                            conn.call(&["MULTI"]);
                            if from != to {
                                conn.call(&["SET", &from, &(have - 1).to_string()]);
                                conn.call(&["SET", &to, &(has + 1).to_string()]);
                            }
                            if matches!(conn.call(&["EXEC"]), Value::Array(_)) {
                                done += 1;
                            }
                        } else {
                            let replies = conn.call_all(&[
                                vec!["MULTI".to_owned()],
                                vec!["DECR".to_owned(), from.clone()],
                                vec!["MGET".to_owned(), "a0".into(), "a1".into(), "a2".into(), "a3".into()],
                                vec!["INCR".to_owned(), to.clone()],
                                vec!["MGET".to_owned(), "a0".into(), "a1".into(), "a2".into(), "a3".into()],
                                vec!["EXEC".to_owned()],
                            ]);
                            let Some(Value::Array(replies)) = replies.last() else { panic!("{replies:?}") };
                            assert_eq!(sum(&replies[1]), 399);
                            assert_eq!(sum(&replies[3]), 400);
                            done += 1;
                        }
                    }
                });
            }
        });
        assert_eq!(sum(&conn.call(&["MGET", "a0", "a1", "a2", "a3"])), 400, "{}", engine.name());
    }
}

fn sum(reply: &Value) -> i64 {
    let Value::Array(items) = reply else { panic!("{reply:?}") };
    let number = |item: &Value| match item {
        Value::Bulk(bytes) => std::str::from_utf8(bytes).unwrap().parse::<i64>().unwrap(),
        other => panic!("{other:?}"),
    };
    items.iter().map(number).sum()
}

/// By EXEC and by EVAL in turn.
#[test]
fn all_of_a_transaction_or_none_survives_a_crash() {
    const SCRIPT: &str = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('SET', KEYS[2], ARGV[1]) \
                          redis.call('HSET', KEYS[3], 'f', ARGV[1]) redis.call('RPUSH', KEYS[4], ARGV[1])";
    let mut server = Server::start(Options::new(Program::Rocksdb).with("appendfsync", "everysec"));
    for round in 0..6 {
        let mut conn = server.conn();
        let is_script = round % 2 == 1;
        for n in 0..200 {
            let value = format!("{round}-{n}");
            let lines = match is_script {
                true => format!("EVAL \"{SCRIPT}\" 4 a b c l {value}\r\n"),
                false => format!(
                    "MULTI\r\nSET a {value}\r\nSET b {value}\r\nHSET c f {value}\r\nRPUSH l {value}\r\nEXEC\r\n"
                ),
            };
            conn.send_raw(lines.as_bytes());
        }
        // Some are answered, and then it dies in the middle of the others.
        let replies_of_each = if is_script { 1 } else { 6 };
        for _ in 0..replies_of_each * (20 + round * 30) {
            let reply = conn.recv();
            assert!(!reply.is_error(), "{reply}");
        }
        server.kill();
        server.restart();
        let mut conn = server.conn();
        let values = [
            conn.call(&["GET", "a"]),
            conn.call(&["GET", "b"]),
            conn.call(&["HGET", "c", "f"]),
            conn.call(&["LINDEX", "l", "-1"]),
        ];
        assert!(matches!(values[0], Value::Bulk(_)), "{values:?}");
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
        let Value::Bulk(last) = &values[0] else { continue };
        let last: usize = std::str::from_utf8(last).unwrap().split('-').nth(1).unwrap().parse().unwrap();
        assert!(last + 1 >= 20 + round * 30, "what was answered is there: {last}");
    }
}

#[test]
fn what_is_queued_counts_as_a_query() {
    let server = Server::start(Options::new(ENGINES[0]).with("client-query-buffer-limit", "1mb"));
    let half = "x".repeat(500 * 1024);
    let queue = |count: usize| {
        let mut conn = server.conn();
        conn.call(&["MULTI"]);
        let queued = (0..count).all(|_| conn.try_call(&["SET", "k", &half]).is_ok());
        queued && matches!(conn.try_call(&["EXEC"]), Ok(Value::Array(_)))
    };
    assert!(queue(2));
    assert!(!queue(3));
    let stats = server.conn().call(&["INFO", "stats"]).to_string();
    assert!(stats.contains(r"client_query_buffer_limit_disconnections:1\r\n"), "{stats}");
    assert_eq!(server.conn().call(&["STRLEN", "k"]), Value::Int(500 * 1024));
}
