//! EVAL and its kin, SCRIPT.

mod answers;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::check::{check, check2_with, check3, tarn_only, tarn_only3};
use crate::harness::{ENGINES, Options, Program, Server, eventually};
use crate::value::{Value, quote};

#[test]
fn scripts_answer_as_in_redis() {
    for (script, resp2, resp3) in answers::ALIKE {
        let line = format!("SET str x | SET k v | EVAL {} 0", quote(script.as_bytes()));
        check3(&line, &format!("+OK | +OK | {resp2}"), &format!("+OK | +OK | {resp3}"));
    }
    for (script, resp2, resp3) in answers::NEWER {
        let line = format!("SET str x | SET k v | EVAL {} 0", quote(script.as_bytes()));
        tarn_only3(&line, &format!("+OK | +OK | {resp2}"), &format!("+OK | +OK | {resp3}"));
    }
}

#[test]
fn keys_and_arguments_are_tables() {
    check(r#"EVAL "return {KEYS[1],KEYS[2],ARGV[1],#KEYS,#ARGV}" 2 a b c d"#, r#"["a" "b" "c" :2 :2]"#);
    check(r#"EVAL "return {#KEYS,#ARGV,ARGV[1]}" 0 """#, r#"[:0 :1 ""]"#);
    check(r#"EVAL "return ARGV[1]" 0 "\x00\xff\r\n""#, r#""\x00\xff\r\n""#);
    check(
        "EVAL \"return 1\" | EVAL \"return 1\" x | EVAL \"return 1\" -1 | EVAL \"return 1\" 3 a | EVALSHA abc | EVALSHA abc 0",
        "-ERR wrong number of arguments for 'eval' command | -ERR value is not an integer or out of range | \
         -ERR Number of keys can't be negative | -ERR Number of keys can't be greater than number of args | \
         -ERR wrong number of arguments for 'evalsha' command | -NOSCRIPT No matching script. Please use EVAL.",
    );
}

#[test]
fn scripts_are_known_by_their_sha() {
    const SHA: &str = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    check(
        &format!(
            "SCRIPT FLUSH | EVALSHA {SHA} 0 | EVAL \"return 1\" 0 | EVALSHA {SHA} 0 | SCRIPT EXISTS {SHA} x | \
             SCRIPT FLUSH SYNC | SCRIPT EXISTS {SHA} | SCRIPT LOAD \"return 1\" | EVALSHA {} 0 | EVALSHA_RO {SHA} 0",
            SHA.to_uppercase()
        ),
        &format!(
            "+OK | -NOSCRIPT No matching script. Please use EVAL. | :1 | :1 | [:1 :0] | +OK | [:0] | \"{SHA}\" | :1 | :1"
        ),
    );
    check(
        "SCRIPT LOAD \"return 1 +\" | SCRIPT FLUSH BAD | SCRIPT FLUSH SYNC x | SCRIPT KILL | SCRIPT NOSUCH | SCRIPT LOAD | SCRIPT EXISTS",
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>' | \
         -ERR SCRIPT FLUSH only support SYNC|ASYNC option | -ERR SCRIPT FLUSH only support SYNC|ASYNC option | \
         -NOTBUSY No scripts in execution right now. | -ERR unknown subcommand 'NOSUCH'. Try SCRIPT HELP. | \
         -ERR wrong number of arguments for 'script|load' command | -ERR wrong number of arguments for 'script|exists' command",
    );
    tarn_only(
        &format!(
            "SCRIPT LOAD \"return 1\" | SCRIPT SHOW {SHA} | SCRIPT SHOW x | SCRIPT DEBUG YES | SCRIPT HELP"
        ),
        &format!(
            "\"{SHA}\" | \"return 1\" | -NOSCRIPT No matching script. | -ERR SCRIPT DEBUG is not supported | ..."
        ),
    );
}

#[test]
fn read_only_scripts_do_not_write() {
    check(
        "EVAL_RO \"return redis.call('set',KEYS[1],1)\" 1 k | EXISTS k | SET k 5 | EVAL_RO \"return redis.call('get',KEYS[1])\" 1 k",
        "-ERR Write commands are not allowed from read-only scripts. script: ..., on @user_script:1. | :0 | +OK | \"5\"",
    );
    check(
        "EVAL \"#!lua flags=no-writes\\nreturn redis.call('set','a',1)\" 0 | EVAL \"#!lua\\nreturn redis.call('set','a',1)\" 0 | EVAL_RO \"#!lua\\nreturn 1\" 0",
        "-ERR Write commands are not allowed from read-only scripts. script: 36dfcf40eac5d9221c568698818560e04c0903bd, on @user_script:2. | +OK | \
         -ERR Can not execute a script with write flag using *_ro command.",
    );
    check(
        "EVAL \"#!lua\" 0 | EVAL \"#!lua flags=bad\\nreturn 1\" 0 | EVAL \"#!py\\nreturn 1\" 0 | EVAL \"#!lua name=x\\nreturn 1\" 0 | EVAL \"#!lua flags=no-writes,allow-oom\\nreturn 2\" 0",
        "-ERR Invalid script shebang | -ERR Unexpected flag in script shebang: bad | -ERR Unexpected engine in script shebang: #!py | \
         -ERR Unknown lua shebang option: name=x | :2",
    );
}

#[test]
fn messages_are_writes_to_read_only_scripts() {
    let refusal = "ERR Write commands are not allowed from read-only scripts.";
    check(
        "EVAL_RO \"return redis.call('publish','a','b')\" 0 | EVAL_RO \"return redis.call('spublish','a','b')\" 0 | \
         EVAL \"#!lua flags=no-writes\\nreturn redis.call('publish','a','b')\" 0 | EVAL_RO \"return redis.pcall('publish','a','b')\" 0 | \
         EVAL_RO \"return redis.call('pfcount','pf')\" 0 | EVAL \"return redis.call('publish','a','b')\" 0 | \
         EVAL_RO \"return redis.call('publish','a')\" 0 | EVAL_RO \"return redis.call('pubsub','numpat')\" 0",
        &format!(
            "-{refusal} script: 4790605679cf073cb561805eb6c83112ff57d189, on @user_script:1. | \
             -{refusal} script: 5482eafdc8d89b2e3eda46023a23532654bf58fc, on @user_script:1. | \
             -{refusal} script: 95c0e5b3e3ddc1a03319f1ee24c5e5afa8fd10b2, on @user_script:2. | -{refusal} | \
             -{refusal} script: d81807ad971fb20f1b86dd588f1e13819ce4c7a1, on @user_script:1. | :0 | \
             -ERR Wrong number of args calling Redis command from script ... | :0"
        ),
    );
    check(
        "FUNCTION FLUSH | FUNCTION LOAD \"#!lua name=l\\nredis.register_function{function_name='pp', callback=function() \
         return redis.call('publish','a','b') end, flags={'no-writes'}}\" | FCALL pp 0 | FCALL_RO pp 0",
        &format!(
            "+OK | \"l\" | -{refusal} script: pp, on @user_function:2. | -{refusal} script: pp, on @user_function:2."
        ),
    );
}

#[test]
fn the_first_line_of_a_script_is_quoted_like_a_command() {
    let refusal = "-ERR Write commands are not allowed from read-only scripts. script: ...";
    for (line, reply) in [
        (r#"#!lua flags=\"no-writes\""#, refusal),
        (r#"#!\"lua\" 'flags=allow-oom,no-writes'"#, refusal),
        (r"#!lua\tflags=no-writes\r", refusal),
        (r#"#!lua flags=\"\""#, "+OK"),
        (r#"#!lua \"\""#, "-\"ERR Unknown lua shebang option: \""),
        (r#"#!lua \"x y\""#, "-ERR Unknown lua shebang option: x y"),
        (r#"#!lua flags=\"bad flag\""#, "-ERR Unexpected flag in script shebang: bad flag"),
        (r#"#!\"py x\""#, "-ERR Unexpected engine in script shebang: #!py x"),
        (r#"#!lua flags=\"no-writes"#, "-ERR Invalid engine in script shebang"),
        (r#"#!lua \"flags=no-writes\"x"#, "-ERR Invalid engine in script shebang"),
        ("#!lua'", "-ERR Invalid engine in script shebang"),
        (r"#!lua\x00", "-ERR Invalid script shebang"),
    ] {
        check(&format!(r#"EVAL "{line}\nreturn redis.call('set','x',1)" 0"#), reply);
    }
}

/// All that Lua's stack takes, and no more.
#[test]
fn as_much_is_unpacked_as_in_redis() {
    let unpack = |bounds: &str| format!("EVAL \"return select('#', unpack({bounds}))\" 0");
    let too_many = "-ERR user_script:1: too many results to unpack script: ..., on @user_script:1.";
    for (bounds, reply) in [
        ("{}, 1, 7997", ":7997"),
        ("{}, 1, 7998", too_many),
        ("{}, 0, 2147483647", too_many),
        ("{}, -2147483648, 2147483647", too_many),
        ("{}, 2147483647, 2147483647", ":1"),
        ("{}, 2147483646, 2147483648", ":0"),
        ("{}, 1, 2^32 + 1", ":1"),
        ("{1,2,3}, 1.5, '2'", ":2"),
        ("{1,2,3}, 2", ":2"),
        ("{1,2,3}, 5, 1", ":0"),
        ("", "-ERR user_script:1: bad argument #1 to 'unpack' (table expected, got no value) ..."),
        ("{}, {}", "-ERR user_script:1: bad argument #2 to 'unpack' (number expected, got table) ..."),
    ] {
        check(&unpack(bounds), reply);
    }
    let largest = |count: u32| {
        format!("EVAL \"local t = {{}} for i = 1, {count} do t[i] = i end return math.max(unpack(t))\" 0")
    };
    check(&format!("{} | {}", largest(7_999), largest(8_000)), &format!(":7999 | {too_many}"));
}

#[test]
fn what_a_script_wrote_before_it_failed_stays() {
    check("EVAL \"redis.call('set','a',1) error('x')\" 0 | GET a", "-ERR user_script:1: x ... | \"1\"");
    check(
        "EVAL \"redis.call('set','a',1) redis.pcall('lpush','a',1) redis.call('incr','a') return redis.call('get','a')\" 0",
        "\"2\"",
    );
}

#[test]
fn scripts_in_transactions_and_watched_keys() {
    check(
        "MULTI | EVAL \"return redis.call('incr','n')\" 0 | INCR n | EVAL \"return redis.call('get','n')\" 0 | EVAL \"error('x')\" 0 | EXEC",
        "+OK | +QUEUED | +QUEUED | +QUEUED | +QUEUED | [:1 :2 \"2\" -\"ERR user_script:1: x ...\"]",
    );
    check(
        "WATCH k | @b EVAL \"redis.call('set',KEYS[1],1)\" 1 k | MULTI | GET k | EXEC",
        "+OK | nil | +OK | +QUEUED | nil[]",
    );
    check(
        "WATCH k | @b EVAL \"return redis.call('get',KEYS[1])\" 1 k | MULTI | GET k | EXEC",
        "+OK | nil | +OK | +QUEUED | [nil]",
    );
}

#[test]
fn a_script_chooses_a_database_for_itself_only() {
    check(
        "EVAL \"redis.call('select',1) redis.call('set','k','x') return redis.call('get','k')\" 0 | GET k | SELECT 1 | GET k",
        "\"x\" | nil | +OK | \"x\"",
    );
}

#[test]
fn who_waits_is_served_behind_the_script() {
    check(
        "@b BLPOP l 0 | EVAL \"redis.call('rpush','l','a','b') return redis.call('llen','l')\" 0 | @b !recv | LRANGE l 0 -1",
        "none | :2 | [\"l\" \"a\"] | [\"b\"]",
    );
}

#[test]
fn streams_in_scripts() {
    check(
        "EVAL \"redis.call('xgroup','create','s','g','$','mkstream') redis.call('xadd','s','1-1','f','v') \
         return redis.call('xreadgroup','group','g','c','block',0,'streams','s','>')\" 0 | \
         EVAL \"return redis.call('xreadgroup','group','g','d','block',0,'streams','s','>')\" 0 | XINFO CONSUMERS s g",
        "[[\"s\" [[\"1-1\" [\"f\" \"v\"]]]]] | ... | ...",
    );
}

#[test]
fn messages_of_a_script_are_heard_once_it_is_committed() {
    check3(
        "@b SUBSCRIBE c | EVAL \"redis.call('set','k',1) return redis.call('publish','c','m')\" 0 | @b !recv",
        "[\"subscribe\" \"c\" :1] | :1 | [\"message\" \"c\" \"m\"]",
        ">[\"subscribe\" \"c\" :1] | :1 | >[\"message\" \"c\" \"m\"]",
    );
}

/// Money moves between accounts that no script declares: the sum is the same at every moment.
#[test]
fn keys_that_nobody_declared_are_as_atomic() {
    const ACCOUNTS: usize = 8;
    const MOVES: usize = 400;
    const MOVE: &str = "local from, to = 'a' .. ARGV[1], 'a' .. ARGV[2] \
        redis.call('decr', from) redis.call('incr', to) return 1";
    const SUM: &str =
        "local sum = 0 for i = 0, 7 do sum = sum + (redis.call('get', 'a' .. i) or 0) end return sum";
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        let eval = |conn: &mut crate::conn::Conn, script: &str, args: &[String]| {
            let mut words = vec!["EVAL".to_owned(), script.to_owned(), "0".to_owned()];
            words.extend_from_slice(args);
            conn.call(&words.into_iter().map(String::into_bytes).collect::<Vec<_>>())
        };
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let server = &server;
                scope.spawn(move || {
                    let mut conn = server.conn();
                    for step in 0..MOVES {
                        let (from, to) = ((thread * 3 + step) % ACCOUNTS, (thread + step * 5) % ACCOUNTS);
                        let moved = eval(&mut conn, MOVE, &[from.to_string(), to.to_string()]);
                        assert_eq!(moved, Value::Int(1), "{}", program.name());
                        assert_eq!(eval(&mut conn, SUM, &[]), Value::Int(0), "{}", program.name());
                    }
                });
            }
        });
    }
}

/// A script that writes reads no key as it was before the script had its lock, on an engine that reads a snapshot either.
#[test]
fn keys_that_nobody_declared_are_read_as_they_are() {
    // It waits for a subscriber before it asks for its first key.
    const SCRIPT: &str = "while redis.call('pubsub', 'numsub', 'go')[2] == 0 do end \
        local seen = redis.call('get', 'a') redis.call('set', 'b', 'written') return seen";
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        let (mut conn, mut runner, mut listener) = (server.conn(), server.conn(), server.conn());
        runner.send(&["EVAL", SCRIPT, "0"]);
        eventually("the script runs", || {
            let stats = conn.call(&["FUNCTION", "STATS"]);
            !stats.items().expect("pairs")[1].is_nil()
        });
        // What is answered now comes before what the script writes, so that it has to see it.
        assert_eq!(conn.call(&["SET", "a", "1"]), Value::ok());
        assert_eq!(conn.call(&["GET", "b"]), Value::NilBulk);
        listener.send(&["SUBSCRIBE", "go"]);
        assert_eq!(runner.recv(), Value::bulk("1"), "{}", program.name());
        assert_eq!(conn.call(&["GET", "b"]), Value::bulk("written"));
    }
}

/// A script that never ends costs one worker, and those who want its keys an answer.
#[test]
fn a_script_that_never_ends_can_be_stopped() {
    for program in ENGINES {
        let server = Server::start(Options::new(program).with("busy-reply-threshold", "50"));
        let mut runner = server.conn();
        let words = |line: &str| crate::check::split_words(line);
        runner.send(&words(
            "EVAL \"redis.call('set',KEYS[1],1) redis.call('set','other',1) while true do pcall(function() while true do end end) end\" 1 k",
        ));
        let mut conn = server.conn();
        assert_eq!(conn.call(&words("SET free 1")), Value::Simple(b"OK".to_vec()));
        let busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
        loop {
            match conn.call(&words("GET k")) {
                Value::Error(error) => break assert_eq!(error, busy.as_bytes()),
                other => assert_eq!(other, Value::NilBulk),
            }
        }
        assert_eq!(conn.call(&words("GET free")), Value::bulk("1"));
        assert_eq!(conn.call(&words("SCRIPT KILL")), Value::Simple(b"OK".to_vec()));
        let Value::Error(killed) = runner.recv() else { panic!("a killed script answers with an error") };
        assert!(killed.starts_with(b"ERR Script killed by user with SCRIPT KILL... script: "));
        assert_eq!(
            conn.call(&words("MGET k other free")).to_string(),
            "[nil nil \"1\"]",
            "{}",
            program.name()
        );
    }
}

/// Those who want the keys of a script that runs on and on leave the threads to others.
#[test]
fn who_waits_for_a_script_holds_no_thread() {
    const WAITING: usize = 24;
    let words = |line: &str| crate::check::split_words(line);
    for program in ENGINES {
        let options = Options::new(program).with("worker-threads", "2").with("busy-reply-threshold", "0");
        let server = Server::start(options);
        let (mut conn, mut runner) = (server.conn(), server.conn());
        let library = "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function(keys) \
            redis.call('set', keys[1], 100) redis.call('set', 'other', 1) while true do end end)\"";
        assert_eq!(conn.call(&words(library)), Value::bulk("lib"));
        runner.send(&words("FCALL f 1 k"));
        eventually("the function runs", || {
            let stats = conn.call(&words("FUNCTION STATS"));
            !stats.items().expect("pairs")[1].is_nil()
        });
        let lines = [
            "GET k",
            "INCR k",
            "EVAL \"return redis.call('get', 'k')\" 0",
            "BLPOP k 0",
            "MGET free k",
            "DEL other",
        ];
        let mut waiting: Vec<_> = (0..WAITING)
            .map(|n| {
                let mut conn = server.conn();
                conn.send(&words(lines[n % lines.len()]));
                conn
            })
            .collect();
        for n in 0..100 {
            assert_eq!(conn.call(&words(&format!("SET free {n}"))), Value::ok(), "{}", program.name());
            assert_eq!(conn.call(&words("GET free")), Value::bulk(n.to_string()));
        }
        assert_eq!(conn.call(&words("FUNCTION KILL")), Value::ok());
        assert!(runner.recv().is_error());
        for (n, conn) in waiting.iter_mut().enumerate() {
            match lines[n % lines.len()] {
                // It waits for a list, or meets a number.
                "BLPOP k 0" => {}
                line => assert!(!conn.recv().is_error(), "{line}"),
            }
        }
        let increments = (WAITING / lines.len()).to_string();
        assert_eq!(conn.call(&words("GET k")), Value::bulk(increments));
        assert_eq!(conn.call(&words("EXISTS other")), Value::Int(0));
    }
}

#[test]
fn monitors_see_what_scripts_call() {
    check2_with(
        &[],
        "@m MONITOR | EVAL \"redis.call('set', 'k', ARGV[1]) redis.pcall('lpush', 'k', 'x') redis.pcall('nosuch') redis.call('select', 3) redis.call('get', 'k')\" 1 k v | @m !recv | @m !recv | @m !recv | @m !recv | @m !recv",
        "+OK | nil | +...\"EVAL\" ... | +... [0 lua] \"set\" \"k\" \"v\" | +... [0 lua] \"lpush\" \"k\" \"x\" | +... [3 lua] \"select\" \"3\" | +... [3 lua] \"get\" \"k\"",
    );
}

#[test]
fn a_script_has_limits() {
    tarn_only(
        "EVAL \"return #string.rep('x', 300 * 1024 * 1024)\" 0 | EVAL \"local t = {} for i = 1, 1e9 do t[i] = i end\" 0 | EVAL \"return 1\" 0",
        "-ERR not enough memory | -ERR not enough memory | :1",
    );
    tarn_only(
        "EVAL \"for i = 1, 1000001 do redis.call('incr', 'n') end\" 0 | GET n",
        "-ERR the script changes more than 1000000 rows | nil",
    );
    check("EVAL \"return redis.call('echo', string.rep('x', 1000000)) == string.rep('x', 1000000)\" 0", ":1");
}

#[test]
fn a_result_may_be_nested_deeply_but_not_for_ever() {
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        // Read as bytes: what reads replies would have to be nested as deeply.
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("the server accepts");
        let script = crate::check::split_words("EVAL \"local t = {} t[1] = t return t\" 0");
        stream.write_all(&crate::conn::encode(&script)).expect("the server reads");
        let expected = ["*1\r\n".repeat(7_995), "-ERR reached lua stack limit\r\n".to_owned()].concat();
        let mut reply = vec![0; expected.len()];
        stream.read_exact(&mut reply).expect("a reply");
        assert!(reply == expected.as_bytes(), "{}", program.name());
    }
}

#[test]
fn all_of_a_script_or_nothing_survives_a_crash() {
    const SCRIPT: &str = "redis.call('set', 'a', ARGV[1]) redis.call('set', 'b', ARGV[1]) \
        redis.call('hset', 'c', 'f', ARGV[1]) return redis.call('rpush', 'l', ARGV[1])";
    let mut server = Server::start(Options::new(Program::Rocksdb).with("appendfsync", "everysec"));
    for round in 0..5 {
        let mut conn = server.conn();
        (0..200).for_each(|n| conn.send(&["EVAL", SCRIPT, "0", &format!("{round}-{n}")]));
        // Some are answered, and then it dies in the middle of the others.
        let answered = 20 + round * 30;
        (0..answered).for_each(|_| assert!(matches!(conn.recv(), Value::Int(_))));
        server.kill();
        server.restart();
        let mut conn = server.conn();
        let values = [
            conn.call(&["GET", "a"]),
            conn.call(&["GET", "b"]),
            conn.call(&["HGET", "c", "f"]),
            conn.call(&["LINDEX", "l", "-1"]),
        ];
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
        let Value::Bulk(last) = &values[0] else { panic!("{values:?}") };
        let last: usize = std::str::from_utf8(last).unwrap().split('-').nth(1).unwrap().parse().unwrap();
        assert!(last + 1 >= answered, "what was answered is there: {last}");
    }
}
