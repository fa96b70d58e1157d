//! The server itself: CONFIG, INFO, SLOWLOG, DEBUG, MONITOR.

use crate::check::{check, check_with, check3, tarn_only, tarn_only_with};
use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Program, Server, eventually, free_port};
use crate::value::Value;

#[test]
fn wait_without_replicas() {
    check("WAIT 0 0", ":0");
    check("WAIT 0 abc", "-ERR timeout is not an integer or out of range");
    check("WAIT abc 0", "-ERR value is not an integer or out of range");
    check("WAIT 0 -1", "-ERR timeout is negative");
    check("WAIT 0", "-ERR wrong number of arguments for 'wait' command");
}

#[test]
fn config() {
    check3("CONFIG GET nosuch", "[]", "{}");
    check3("CONFIG GET maxclients", r#"["maxclients" "10000"]"#, r#"{"maxclients" "10000"}"#);
    check3("CONFIG GET MAXCLIENTS", r#"["MAXCLIENTS" "10000"]"#, r#"{"MAXCLIENTS" "10000"}"#);
    check3(
        "CONFIG GET maxclient* timeout",
        r#"~["timeout" "0" "maxclients" "10000"]"#,
        r#"~{"timeout" "0" "maxclients" "10000"}"#,
    );
    check3(
        "CONFIG GET timeout maxclients timeout",
        r#"~["timeout" "0" "maxclients" "10000"]"#,
        r#"~{"timeout" "0" "maxclients" "10000"}"#,
    );
    check("CONFIG GET", "-ERR wrong number of arguments for 'config|get' command");
    check("CONFIG SET", "-ERR wrong number of arguments for 'config|set' command");
    check("CONFIG SET timeout", "-ERR wrong number of arguments for 'config|set' command");
    check3(
        "CONFIG SET timeout 5 | CONFIG GET timeout | CONFIG SET timeout 0 | CONFIG GET timeout",
        r#"+OK | ["timeout" "5"] | +OK | ["timeout" "0"]"#,
        r#"+OK | {"timeout" "5"} | +OK | {"timeout" "0"}"#,
    );
    check(
        "CONFIG SET timeout abc",
        "-ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer",
    );
    check(
        "CONFIG SET timeout -1",
        "-ERR CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and 2147483647 inclusive",
    );
    check("CONFIG SET nosuch 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'");
    check3(
        "CONFIG SET timeout 5 nosuch 1 | CONFIG GET timeout",
        r#"-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch' | ["timeout" "0"]"#,
        r#"-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch' | {"timeout" "0"}"#,
    );
    check(
        "CONFIG SET timeout 5 timeout 6",
        "-ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter",
    );
    check3(
        "CONFIG SET timeout 7 maxclients abc | CONFIG GET timeout",
        r#"-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument couldn't be parsed into an integer | ["timeout" "0"]"#,
        r#"-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument couldn't be parsed into an integer | {"timeout" "0"}"#,
    );
    check(
        "CONFIG SET appendfsync sometimes",
        "-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always, no",
    );
    check(
        "CONFIG SET tcp-keepalive abc",
        "-ERR CONFIG SET failed (possibly related to argument 'tcp-keepalive') - argument couldn't be parsed into an integer",
    );
    check(
        "CONFIG SET databases 4",
        "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config",
    );
    check("CONFIG FOO", "-ERR unknown subcommand 'FOO'. Try CONFIG HELP.");
    check("CONFIG", "-ERR wrong number of arguments for 'config' command");
    check("CONFIG RESETSTAT", "+OK");
    check("CONFIG RESETSTAT x", "-ERR wrong number of arguments for 'config|resetstat' command");
    check("CONFIG REWRITE", "-ERR The server is running without a config file");
    check3("CONFIG GET appendfsync", r#"["appendfsync" "everysec"]"#, r#"{"appendfsync" "everysec"}"#);
    check3(
        "CONFIG SET slowlog-max-len 10 slowlog-log-slower-than 5000 | CONFIG GET slowlog-* | CONFIG SET slowlog-max-len 128 slowlog-log-slower-than 10000",
        r#"+OK | ~["slowlog-max-len" "10" "slowlog-log-slower-than" "5000"] | +OK"#,
        r#"+OK | ~{"slowlog-max-len" "10" "slowlog-log-slower-than" "5000"} | +OK"#,
    );
    check3(
        "CONFIG SET maxmemory 100mb | CONFIG GET maxmemory | CONFIG SET maxmemory 0",
        r#"+OK | ["maxmemory" "104857600"] | +OK"#,
        r#"+OK | {"maxmemory" "104857600"} | +OK"#,
    );
    check(
        "CONFIG SET maxmemory 100xb",
        "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value",
    );
    check(
        "CONFIG SET maxmemory -5",
        "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value",
    );
    check3(
        r#"CONFIG SET client-output-buffer-limit "normal 0 0 0" | CONFIG GET client-output-buffer-limit"#,
        r#"+OK | ["client-output-buffer-limit" "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"]"#,
        r#"+OK | {"client-output-buffer-limit" "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"}"#,
    );
    check(
        r#"CONFIG SET client-output-buffer-limit "normal 0 0""#,
        "-ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration.",
    );
    check(
        r#"CONFIG SET client-output-buffer-limit "foo 0 0 0""#,
        "-ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Invalid client class specified in buffer limit configuration.",
    );
}

#[test]
fn slowlog_latency_memory() {
    // On a busy machine anything may be slow, so here nothing counts as slow.
    check_with(
        &[("slowlog-log-slower-than", "-1")],
        "SLOWLOG RESET | SLOWLOG LEN | SLOWLOG GET | SLOWLOG GET -1 | SLOWLOG GET 10",
        "+OK | :0 | [] | [] | []",
    );
    check("SLOWLOG GET abc", "-ERR count should be greater than or equal to -1");
    check("SLOWLOG GET -2", "-ERR count should be greater than or equal to -1");
    check(
        "SLOWLOG GET 10 20",
        "-ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.",
    );
    check("SLOWLOG FOO", "-ERR unknown subcommand 'FOO'. Try SLOWLOG HELP.");
    check("SLOWLOG", "-ERR wrong number of arguments for 'slowlog' command");
    check("SLOWLOG LEN x", "-ERR wrong number of arguments for 'slowlog|len' command");
    check("LATENCY LATEST", "[]");
    check("LATENCY HISTORY nosuch", "[]");
    check("LATENCY RESET", ":0");
    check("LATENCY RESET nosuch", ":0");
    check("LATENCY FOO", "-ERR unknown subcommand 'FOO'. Try LATENCY HELP.");
    check("LATENCY", "-ERR wrong number of arguments for 'latency' command");
    check("LATENCY HISTORY", "-ERR wrong number of arguments for 'latency|history' command");
    check("LATENCY GRAPH nosuch", "-ERR No samples available for event 'nosuch'");
    check("MEMORY USAGE missing", "nil");
    check("MEMORY USAGE", "-ERR wrong number of arguments for 'memory|usage' command");
    check("MEMORY FOO", "-ERR unknown subcommand 'FOO'. Try MEMORY HELP.");
    check("MEMORY USAGE k SAMPLES", "-ERR syntax error");
    check("MEMORY USAGE k SAMPLES -1", "-ERR syntax error");
    check("MEMORY USAGE k FOO 1", "-ERR syntax error");
    check("MEMORY PURGE", "+OK");
    check("MEMORY", "-ERR wrong number of arguments for 'memory' command");
}

#[test]
fn debug() {
    check("DEBUG", "-ERR wrong number of arguments for 'debug' command");
    check("DEBUG FOO", "-ERR unknown subcommand or wrong number of arguments for 'FOO'. Try DEBUG HELP.");
    check("DEBUG SLEEP 0", "+OK");
    check("DEBUG SLEEP", "-ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP.");
    check("DEBUG SET-ACTIVE-EXPIRE 1", "+OK");
    check("DEBUG OBJECT missing", "-ERR no such key");
    check("DEBUG JMAP", "-ERR unknown subcommand or wrong number of arguments for 'JMAP'. Try DEBUG HELP.");
    check("SET k v EX 1000 | DEBUG RELOAD | GET k | TTL k", r#"+OK | +OK | "v" | :991..1000"#);
    check(r#"DEBUG ERROR "MYERR text""#, "-MYERR text");
    check("DEBUG PROTOCOL string", r#""Hello World""#);
    check("DEBUG PROTOCOL integer", ":12345");
    check3("DEBUG PROTOCOL double", r#""3.141""#, ",3.141");
    check("DEBUG PROTOCOL null", "nil");
    check("DEBUG PROTOCOL array", "[:0 :1 :2]");
    check3("DEBUG PROTOCOL set", "[:0 :1 :2]", "#{:0 :1 :2}");
    check3("DEBUG PROTOCOL map", "[:0 :0 :1 :1 :2 :0]", "{:0 #f :1 #t :2 #f}");
    check3(
        "DEBUG PROTOCOL bignum",
        r#""1234567999999999999999999999999999999""#,
        "(1234567999999999999999999999999999999",
    );
    check3("DEBUG PROTOCOL true", ":1", "#t");
    check3("DEBUG PROTOCOL false", ":0", "#f");
    check3(
        "DEBUG PROTOCOL verbatim",
        r#""This is a verbatim\nstring""#,
        r#"=txt:"This is a verbatim\nstring""#,
    );
    check(
        "DEBUG PROTOCOL foo",
        "-ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
    );
}

#[test]
fn time_lastsave() {
    check("TIME x", "-ERR wrong number of arguments for 'time' command");
    check("LASTSAVE x", "-ERR wrong number of arguments for 'lastsave' command");
    check("SAVE x", "-ERR wrong number of arguments for 'save' command");
    check("BGSAVE x", "-ERR syntax error");
    check("BGSAVE SCHEDULE x", "-ERR syntax error");
    check("SHUTDOWN FOO", "-ERR syntax error");
    check("SHUTDOWN SAVE NOSAVE", "-ERR syntax error");
    check("SHUTDOWN ABORT", "-ERR No shutdown in progress.");
    check("MONITOR x", "-ERR wrong number of arguments for 'monitor' command");
}

#[test]
fn monitor() {
    check(
        r#"@b PING | MONITOR | @b SET k v | !recv | @b GET "a\x00\"b" | !recv"#,
        r#"+PONG | +OK | +OK | +... [0 127.0.0.1:...] "SET" "k" "v" | nil | +... [0 127.0.0.1:...] "GET" "a\x00\"b""#,
    );
    check(
        "@b SELECT 2 | MONITOR | @b FOO x | @b ECHO y | !recv | RESET | PING",
        r#"+OK | +OK | -ERR unknown ... | "y" | +... [2 127.0.0.1:...] "ECHO" "y" | +RESET | +PONG"#,
    );
}

#[test]
fn info() {
    check(
        "INFO",
        r##"%"# Server\r\n...redis_version:...process_id:...tcp_port:...uptime_in_seconds:...# Clients...connected_clients:...# Memory...used_memory:...# Persistence...loading:0...# Stats...total_connections_received:...# Replication...role:master...# CPU...used_cpu_sys:...# Keyspace\r\n""##,
    );
    check("INFO keyspace", r##"%"# Keyspace\r\n""##);
    check(
        "SET k v | SET e v EX 100 | SELECT 2 | SET k v | INFO keyspace",
        r##"+OK | +OK | +OK | +OK | %"# Keyspace\r\ndb0:keys=2,expires=1,avg_ttl=...\r\ndb2:keys=1,expires=0,avg_ttl=0\r\n""##,
    );
    check("INFO KEYSPACE | INFO nosuch", r##"%"# Keyspace\r\n" | %"""##);
    check("INFO keyspace cluster", r##"%"# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n""##);
    check("INFO all", r##"%"# Server\r\n...# Commandstats\r\n...""##);
    check("INFO default", r##"%"# Server\r\n...# Keyspace\r\n...""##);
    check("INFO everything", r##"%"# Server\r\n...# Commandstats\r\n...""##);
}

#[test]
fn time_and_lastsave() {
    check("TIME", r#"[%"..." %"..."]"#);
    check("LASTSAVE", ":1..9999999999");
}

#[test]
fn config_words() {
    check("CONFIG SET timeout 1 hz", "-ERR syntax error");
    check("CONFIG HELP | PING", "... | +PONG");
    check("CONFIG HELP x", "-ERR wrong number of arguments for 'config|help' command");
}

#[test]
fn replication_of_one_server() {
    check("ROLE", r#"["master" :0 []]"#);
    check("ROLE x", "-ERR wrong number of arguments for 'role' command");
    check("REPLICAOF NO ONE | SLAVEOF no one | ROLE", r#"+OK | +OK | ["master" :0 []]"#);
    tarn_only(
        "REPLICAOF 127.0.0.1 6380 | SLAVEOF 127.0.0.1 6380",
        "-ERR this server cannot be a replica; only NO ONE is supported | -ERR this server cannot be a replica; only NO ONE is supported",
    );
    check("WAIT 1 1", ":0");
}

#[test]
fn wait_blocks_one_client_only() {
    check("@b WAIT 1 0 | PING | @b PING | PING", "none | +PONG | none | +PONG");
}

#[test]
fn version() {
    check3("LOLWUT VERSION 1", r#""Redis ver. 8.6.2\n""#, r#"=txt:"Redis ver. 8.6.2\n""#);
}

#[test]
fn help_of_containers() {
    check(
        "SLOWLOG HELP | LATENCY HELP | MEMORY HELP | COMMAND HELP | DEBUG HELP",
        "... | ... | ... | ... | ...",
    );
    check("SLOWLOG HELP x", "-ERR wrong number of arguments for 'slowlog|help' command");
    check("MEMORY HELP x", "-ERR wrong number of arguments for 'memory|help' command");
}

#[test]
fn reports() {
    check("MEMORY STATS", "...");
    check("MEMORY DOCTOR", r#"%"...""#);
    check("LATENCY DOCTOR", r#"%"...""#);
    check("MEMORY MALLOC-STATS", r#"%"...jemalloc...""#);
    check("MEMORY MALLOC-STATS x", "-ERR wrong number of arguments for 'memory|malloc-stats' command");
    check("MEMORY STATS x", "-ERR wrong number of arguments for 'memory|stats' command");
    check("SET k v | MEMORY USAGE k | MEMORY USAGE k SAMPLES 0", "+OK | :1..1000 | :1..1000");
    check("MEMORY USAGE k SAMPLES x", "-ERR value is not an integer or out of range");
}

#[test]
fn a_histogram_of_calls() {
    check3(
        "CONFIG RESETSTAT | ECHO a | ECHO b | LATENCY HISTOGRAM echo nosuch",
        r#"+OK | "a" | "b" | ["echo" ["calls" :2 "histogram_usec" ...]]"#,
        r#"+OK | "a" | "b" | {"echo" {"calls" :2 "histogram_usec" ...}}"#,
    );
    check3("CONFIG RESETSTAT | LATENCY HISTOGRAM lolwut", "+OK | []", "+OK | {}");
}

#[test]
fn slow_commands_are_logged_without_secrets() {
    check_with(
        &[("slowlog-log-slower-than", "0")],
        "SLOWLOG RESET | ECHO hello | SLOWLOG GET 2",
        r#"+OK | "hello" | [[... ... ... ["ECHO" "hello"] %"127.0.0.1:..." ""] [... ... ... ["SLOWLOG" "RESET"] %"127.0.0.1:..." ""]]"#,
    );
    check_with(
        &[("slowlog-log-slower-than", "0")],
        "AUTH default secret | CONFIG SET masterauth secret | SLOWLOG GET 2",
        r#"+OK | +OK | [[... ... ... ["CONFIG" "SET" "masterauth" "(redacted)"] ... ...] [... ... ... ["AUTH" "(redacted)" "(redacted)"] ... ...]]"#,
    );
    check_with(
        &[("slowlog-log-slower-than", "0")],
        "HELLO 3 SETNAME auth AUTH default secret | SLOWLOG GET 1",
        r#"... | [[... ... ... ["HELLO" "3" "SETNAME" "auth" "AUTH" "(redacted)" "(redacted)"] ... ...]]"#,
    );
}

#[test]
fn monitors_see_no_secrets() {
    check(
        "@b PING | MONITOR | @b AUTH default secret | !recv | @b CONFIG GET timeout | @b ECHO x | !recv",
        r#"+PONG | +OK | +OK | +... [0 127.0.0.1:...] "AUTH" "(redacted)" "(redacted)" | ... | "x" | +... [0 127.0.0.1:...] "ECHO" "x""#,
    );
    check(
        "@b PING | MONITOR | @b HELLO 2 SETNAME auth AUTH default secret | !recv",
        r#"+PONG | +OK | ... | +... [0 127.0.0.1:...] "HELLO" "2" "SETNAME" "auth" "AUTH" "(redacted)" "(redacted)""#,
    );
}

#[test]
fn command_statistics() {
    check(
        "CONFIG RESETSTAT | GET a | GET a | FOO | SET | INFO commandstats errorstats",
        r##"+OK | nil | nil | -... | -... | %"# Commandstats\r\n...cmdstat_get:calls=2,usec=...,usec_per_call=...,rejected_calls=0,failed_calls=0\r\n...\r\n# Errorstats\r\nerrorstat_ERR:count=2\r\n""##,
    );
    for (call, name) in [("SET k", "set"), ("OBJECT ENCODING", "object|encoding"), ("OBJECT", "object")] {
        check(
            &format!("CONFIG RESETSTAT | {call} | INFO commandstats"),
            &format!(
                r##"+OK | -ERR wrong number of arguments for '{name}' command | %"...cmdstat_{name}:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0\r\n...""##
            ),
        );
    }
    check(
        "CONFIG RESETSTAT | OBJECT NOPE | NOPE | INFO commandstats",
        r##"+OK | -... | -... | %"# Commandstats\r\ncmdstat_config|resetstat:calls=1,...failed_calls=0\r\n""##,
    );
    check(
        "CONFIG RESETSTAT | GET a | SET a b | GET a | INFO stats",
        r##"+OK | nil | +OK | "b" | %"# Stats\r\n...keyspace_hits:1\r\nkeyspace_misses:1\r\n...""##,
    );
}

/// Fields that Redis 7.0 has not.
#[test]
fn clients_that_listen_and_those_that_were_closed_are_counted() {
    tarn_only(
        "@b SUBSCRIBE a | INFO clients | @b SSUBSCRIBE s | INFO clients | @b UNSUBSCRIBE | @b SUNSUBSCRIBE | INFO clients",
        r#"... | %"...\r\npubsub_clients:1\r\n..." | ... | %"...\r\npubsub_clients:1\r\n..." | ... | ... | %"...\r\npubsub_clients:0\r\n...""#,
    );
    let server =
        Server::start(Options::new(Program::Memory).with("client-output-buffer-limit", "normal 1mb 0 0"));
    let (mut conn, mut deaf) = (server.conn(), server.conn());
    conn.call(&["SETRANGE", "k", "50000000", "x"]);
    deaf.send(&["GET", "k"]);
    eventually("the client is closed", || {
        let stats = conn.call(&["INFO", "stats"]).to_string();
        stats.contains(r"client_output_buffer_limit_disconnections:1\r\n")
            && stats.contains(r"client_query_buffer_limit_disconnections:0\r\n")
    });
}

#[test]
fn http_on_the_wrong_port_is_an_alarm() {
    let server = Server::start(Options::new(Program::Memory));
    for _ in 0..3 {
        let mut conn = server.conn();
        conn.send_raw(b"POST / HTTP/1.1\r\nHost: a\r\n\r\nSET k v\r\n");
        assert!(conn.closes());
    }
    assert_eq!(server.conn().call(&["EXISTS", "k"]), Value::Int(0));
    let is_alarm = |line: &&str| line.contains("Possible SECURITY ATTACK detected");
    // A thread of its own writes the lines.
    eventually("an alarm", || server.log().lines().any(|line| is_alarm(&line)));
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(is_alarm).collect();
    // Once a minute and thread.
    assert!((1..=2).contains(&lines.len()) && lines[0].contains("127.0.0.1:"), "{log}");
}

#[test]
fn metrics_over_http() {
    use std::io::{Read, Write};
    let port = free_port();
    let server = Server::start(Options::new(Program::Memory).with("metrics-port", &port.to_string()));
    assert_eq!(server.conn().call(&["SET", "k", "v"]), Value::ok());
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    for line in
        ["tarn_commands_total{command=\"set\"} 1", "tarn_db_keys{db=\"0\"} 1", "tarn_engine_writes_stopped 0"]
    {
        assert!(page.lines().any(|found| found == line), "{line}: {page}");
    }
}

#[test]
fn logs_and_modules() {
    check(
        "BGREWRITEAOF | BGREWRITEAOF x",
        "+Background append only file rewriting started | -ERR wrong number of arguments for 'bgrewriteaof' command",
    );
    tarn_only(
        "SET k v | WAITAOF 1 0 0 | WAITAOF 0 0 10 | WAITAOF 0 1 10 | MULTI | SET k w | WAITAOF 1 0 0 | EXEC",
        "+OK | [:1 :0] | [:1 :0] | [:0 :0] | +OK | +QUEUED | +QUEUED | [+OK [:1 :0]]",
    );
    tarn_only(
        "WAITAOF 2 0 0 | WAITAOF x 0 0 | WAITAOF 0 x 0 | WAITAOF 0 -1 0 | WAITAOF 0 0 x | WAITAOF 0 0 -1 | WAITAOF 0 0",
        "-ERR value is out of range, value must between 0 and 1 | -ERR value is not an integer or out of range | -ERR value is out of range, must be positive | -ERR value is out of range, must be positive | -ERR timeout is not an integer or out of range | -ERR timeout is negative | -ERR wrong number of arguments for 'waitaof' command",
    );
    check(
        "MODULE LIST | MODULE LIST x | MODULE FOO | MODULE",
        "[] | -ERR wrong number of arguments for 'module|list' command | -ERR unknown subcommand 'FOO'. Try MODULE HELP. | -ERR wrong number of arguments for 'module' command",
    );
    const REFUSED: &str = "-ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.";
    check("MODULE LOAD x | MODULE LOADEX x | MODULE UNLOAD x", &[REFUSED; 3].join(" | "));
    check("MODULE HELP | MODULE HELP x", "... | -ERR wrong number of arguments for 'module|help' command");
}

/// Of Redis 8.6 and Valkey 9.1.
#[test]
fn what_is_slow_large_or_hot() {
    let unknown = "-ERR type should be one of the following: slow, large-request, large-reply";
    tarn_only(
        "COMMANDLOG RESET large-request | COMMANDLOG LEN large-request | COMMANDLOG GET -1 Large-Reply | COMMANDLOG GET 1 foo | COMMANDLOG GET -2 slow | COMMANDLOG LEN foo | COMMANDLOG RESET foo | COMMANDLOG HELP | COMMANDLOG GET 1",
        &format!(
            "+OK | :0 | [] | {unknown} | -ERR count should be greater than or equal to -1 | {unknown} | {unknown} | ... | -ERR wrong number of arguments for 'commandlog|get' command"
        ),
    );
    tarn_only_with(
        &[("commandlog-request-larger-than", "60"), ("commandlog-reply-larger-than", "60")],
        "COMMANDLOG RESET large-reply | SET k \"x\"*60 | GET k | COMMANDLOG LEN large-request | COMMANDLOG LEN large-reply | CONFIG GET commandlog-execution-slower-than",
        r#"+OK | +OK | %"x..." | :1 | :1 | ..."#,
    );
    tarn_only_with(
        &[],
        "HOTKEYS GET | HOTKEYS STOP | HOTKEYS START | HOTKEYS START METRICS 1 NET COUNT 2 | HOTKEYS RESET | SET k v | HOTKEYS STOP | HOTKEYS RESET | HOTKEYS GET | HOTKEYS HELP",
        "nil | nil | -ERR METRICS parameter is required | +OK | -ERR hotkey tracking session in progress, stop tracking first | +OK | +OK | +OK | nil | ...",
    );
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let mut conn = server.conn();
        conn.call(&["HOTKEYS", "START", "METRICS", "2", "CPU", "NET"]);
        for _ in 0..100 {
            conn.call(&["SET", "hot", "value"]);
        }
        conn.call(&["SET", "cold", "value"]);
        let shown = conn.call(&["HOTKEYS", "GET"]).to_string();
        assert!(
            shown.contains(r#""by-net-bytes" ["hot" :"#) && shown.contains(r#""tracking-active" :1"#),
            "{shown}"
        );
    }
}

#[test]
fn there_is_no_replication() {
    let none = "-ERR this server has no replication";
    tarn_only(
        "FAILOVER | FAILOVER ABORT | PSYNC ? -1 | REPLCONF | SYNC",
        &format!(
            "-ERR FAILOVER requires connected replicas. | -ERR No failover in progress. | {none} | {none} | {none}"
        ),
    );
    tarn_only(
        "CLIENT IMPORT-SOURCE ON | CLIENT IMPORT-SOURCE | BGSAVE CANCEL | BGSAVE CANCEL x | CONFIG SET maxmemory-policy foo",
        "-ERR Server is not in import mode | -ERR wrong number of arguments for 'client|import-source' command | -ERR Background saving is currently not in progress or scheduled | -ERR syntax error | -ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, volatile-lrm, allkeys-lru, allkeys-lfu, allkeys-random, allkeys-lrm, noeviction",
    );
}

/// How many keys have how many elements, or bytes.
#[test]
fn sizes_of_keys() {
    tarn_only_with(
        &[],
        "SET a \"\" | SET b x | SET c \"x\"*1023 | SET d \"x\"*5000 | RPUSH l 1 2 3 | SADD s 1 | HSET h a 1 b 2 c 3 d 4 | INFO keysizes",
        r##"+OK | +OK | +OK | +OK | :3 | :1 | :4 | %"# Keysizes\r\ndb0_distrib_strings_sizes:0=1,1=1,512=1,4K=1\r\ndb0_distrib_lists_items:2=1\r\ndb0_distrib_sets_items:1=1\r\ndb0_distrib_hashes_items:4=1\r\n""##,
    );
}

#[test]
fn info_tells_how_long_keys_have_to_live() {
    let server = Server::start(Options::new(Program::Rocksdb));
    let mut conn = server.conn();
    let average = |conn: &mut Conn| {
        let reply = conn.call(&["INFO", "keyspace"]);
        let text = String::from_utf8_lossy(reply.bytes().unwrap()).into_owned();
        let (_, value) = text.trim_end().rsplit_once("avg_ttl=").unwrap_or_else(|| panic!("{text}"));
        value.parse::<u64>().unwrap()
    };
    assert_eq!(conn.call(&["SET", "for ever", "v"]), Value::ok());
    assert_eq!(average(&mut conn), 0);
    for (key, seconds) in [("a", "1000"), ("b", "1000"), ("c", "1000")] {
        assert_eq!(conn.call(&["SET", key, "v", "EX", seconds]), Value::ok());
    }
    let found = average(&mut conn);
    assert!((900_000..=1_000_000).contains(&found), "{found}");
}
