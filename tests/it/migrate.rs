//! MIGRATE: between Tarn and redis-server, and to a target that the test itself plays.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::check::{check, tarn_only};
use crate::conn::{Conn, encode};
use crate::harness::{ENGINES, Options, Program, Server, free_port};
use crate::value::Value;

fn call(conn: &mut Conn, line: &str) -> String {
    conn.call(&crate::check::split_words(line)).to_string()
}

/// `MIGRATE` to a port of this machine; what follows it.
fn migrate(conn: &mut Conn, port: u16, rest: &str) -> String {
    call(conn, &format!("MIGRATE 127.0.0.1 {port} {rest}"))
}

#[test]
fn words_that_do_not_fit() {
    check("MIGRATE h 1 k 0", "-ERR wrong number of arguments for 'migrate' command");
    check("MIGRATE 127.0.0.1 1 k 0 x", "-ERR value is not an integer or out of range");
    check("MIGRATE 127.0.0.1 1 k x 0", "-ERR value is not an integer or out of range");
    check("MIGRATE 127.0.0.1 1 k 0 0 FOO", "-ERR syntax error");
    check("MIGRATE 127.0.0.1 1 k 0 0 AUTH", "-ERR syntax error");
    check("MIGRATE 127.0.0.1 1 k 0 0 AUTH2 a", "-ERR syntax error");
    check(
        "MIGRATE 127.0.0.1 1 k 0 0 KEYS a",
        "-ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
    );
    check(
        "MIGRATE 127.0.0.1 1 missing 0 0 | MIGRATE 127.0.0.1 1 \"\" 0 0 KEYS a b | MIGRATE 127.0.0.1 1 \"\" 0 0 KEYS",
        "+NOKEY | +NOKEY | +NOKEY",
    );
    check(
        "SET k v | MIGRATE 127.0.0.1 1 k 0 1000 | GET k",
        "+OK | -IOERR error or timeout writing to target instance | \"v\"",
    );
    check("COMMAND GETKEYS MIGRATE h 1 k 0 1", r#"["k"]"#);
    check("COMMAND GETKEYS MIGRATE h 1 \"\" 0 1 COPY AUTH2 a keys KEYS a b", r#"["a" "b"]"#);
    check("COMMAND GETKEYS MIGRATE h 1 \"\" 0 1", r#"[""]"#);
    check("COMMAND GETKEYS RESTORE k 0 x", r#"["k"]"#);
}

/// What it waits for has no place in a transaction.
#[test]
fn it_runs_alone() {
    tarn_only(
        "SET k v | MULTI | MIGRATE 127.0.0.1 1 k 0 0 | GET k | EXEC | EVAL \"return redis.call('migrate','127.0.0.1',1,'k',0,0)\" 0",
        "+OK | +OK | +QUEUED | +QUEUED | [-\"ERR Command not allowed inside a transaction\" \"v\"] | \
         -ERR This Redis command is not allowed from script ...",
    );
}

#[test]
fn keys_go_to_redis_and_come_back() {
    let redis = Server::start(Options::new(Program::Redis));
    for program in ENGINES {
        let tarn = Server::start(Options::new(program).with("dump-rdb-version", "10"));
        let (mut here, mut there) = (tarn.conn(), redis.conn());
        call(&mut there, "FLUSHALL");
        for line in ["SET s v PX 100000", "RPUSH l a b", "HSET h f v", "XADD x 1-1 f v", "ZADD z 1.5 m"] {
            call(&mut here, line);
        }
        assert_eq!(migrate(&mut here, redis.port(), "s 0 1000"), "+OK");
        assert_eq!(call(&mut here, "EXISTS s"), ":0");
        assert_eq!(call(&mut there, "GET s"), "\"v\"");
        assert!((1..=100_000).contains(&there.call(&["PTTL", "s"]).int().unwrap()));
        // Copies stay; what is there is not overwritten unless it is asked for.
        assert_eq!(migrate(&mut here, redis.port(), "l 3 1000 COPY"), "+OK");
        let busy = "-ERR Target instance replied with error: BUSYKEY Target key name already exists.";
        assert_eq!(migrate(&mut here, redis.port(), "l 3 1000"), busy);
        assert_eq!(call(&mut here, "LRANGE l 0 -1"), "[\"a\" \"b\"]");
        assert_eq!(migrate(&mut here, redis.port(), "l 3 1000 COPY REPLACE"), "+OK");
        assert_eq!(
            migrate(&mut here, redis.port(), "l 99 1000"),
            "-ERR Target instance replied with error: ERR DB index is out of range"
        );
        // Several at once: those that are taken go, one that is not stays.
        call(&mut there, "SET h taken");
        assert_eq!(migrate(&mut here, redis.port(), "\"\" 0 1000 KEYS h missing x z"), busy);
        assert_eq!(call(&mut here, "EXISTS h x z"), ":1");
        assert_eq!(call(&mut here, "TYPE h"), "+hash");
        assert_eq!(call(&mut there, "XLEN x"), ":1");
        // And back.
        assert_eq!(migrate(&mut there, tarn.port(), "\"\" 0 1000 KEYS s x z"), "+OK");
        assert_eq!(call(&mut there, "EXISTS s x z"), ":0");
        assert_eq!(call(&mut here, "ZSCORE z m"), "\"1.5\"");
        assert!((1..=100_000).contains(&here.call(&["PTTL", "s"]).int().unwrap()));
    }
}

#[test]
fn the_target_may_ask_for_a_password() {
    let redis = Server::start(Options::new(Program::Redis));
    let mut there = redis.conn();
    call(&mut there, "ACL SETUSER mover on >secret ~* +@all");
    let tarn = Server::start(Options::new(Program::Memory).with("dump-rdb-version", "10"));
    let mut here = tarn.conn();
    call(&mut here, "SET a 1");
    call(&mut here, "SET b 2");
    let refused = "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled.";
    assert_eq!(migrate(&mut here, redis.port(), "a 0 1000 AUTH2 mover wrong"), refused);
    assert_eq!(call(&mut here, "EXISTS a"), ":1");
    assert_eq!(migrate(&mut here, redis.port(), "a 0 1000 AUTH2 mover secret"), "+OK");
    call(&mut there, "CONFIG SET requirepass pw");
    assert_eq!(
        migrate(&mut here, redis.port(), "b 0 1000"),
        "-ERR Target instance replied with error: NOAUTH Authentication required."
    );
    assert_eq!(migrate(&mut here, redis.port(), "b 0 1000 AUTH pw"), "+OK");
    assert_eq!(call(&mut there, "MGET a b"), "[\"1\" \"2\"]");
    // Passwords are not shown.
    let slow = call(&mut here, "SLOWLOG GET 100");
    assert!(!slow.contains("secret") && !slow.contains("pw"), "{slow}");
}

/// Many keys, in several batches.
#[test]
fn many_keys_at_once() {
    let redis = Server::start(Options::new(Program::Redis));
    let tarn = Server::start(Options::new(Program::Rocksdb).with("dump-rdb-version", "10"));
    let (mut here, mut there) = (tarn.conn(), redis.conn());
    let keys: Vec<String> = (0..500).map(|n| format!("key-{n}")).collect();
    let noise: String =
        (0..3_000u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    for key in &keys {
        here.call(&["SET", key, &format!("{noise}{key}")]);
    }
    let port = redis.port().to_string();
    let words = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"].map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(keys.iter().cloned()).collect();
    assert_eq!(here.call(&words), Value::ok());
    assert_eq!((call(&mut here, "DBSIZE").as_str(), call(&mut there, "DBSIZE").as_str()), (":0", ":500"));
    assert_eq!(there.call(&["GET", "key-499"]), Value::bulk(format!("{noise}key-499")));
}

/// A server that the test plays.
struct Fake {
    stream: BufReader<TcpStream>,
}

impl Fake {
    fn accept(listener: &TcpListener) -> Fake {
        Fake { stream: BufReader::new(listener.accept().unwrap().0) }
    }

    /// The next command.
    fn command(&mut self) -> Vec<Vec<u8>> {
        let mut number = |mark: char| {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            line.trim_end().strip_prefix(mark).unwrap().parse::<usize>().unwrap()
        };
        let words = number('*');
        let mut command = Vec::new();
        for _ in 0..words {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let len: usize = line.trim_end().strip_prefix('$').unwrap().parse().unwrap();
            let mut word = vec![0; len + 2];
            self.stream.read_exact(&mut word).unwrap();
            word.truncate(len);
            command.push(word);
        }
        command
    }

    fn answer(&mut self, line: &str) {
        self.stream.get_mut().write_all(line.as_bytes()).unwrap();
    }

    /// Takes commands up to RESTORE.
    fn up_to_restore(&mut self) -> Vec<Vec<u8>> {
        assert_eq!(self.command()[0], b"SELECT");
        self.answer("+OK\r\n");
        let restore = self.command();
        assert_eq!(restore[0], b"RESTORE");
        restore
    }
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A key that is changed while it is under way stays, with the change.
#[test]
fn a_change_on_the_way_is_not_lost() {
    for program in ENGINES {
        let tarn = Server::start(Options::new(program));
        let (mut client, mut other) = (tarn.conn(), tarn.conn());
        let (listener, port) = listen();
        for (change, left) in [
            ("SET k after", "\"after\""),
            // The same value again is a change, too.
            ("SET k v", "\"v\""),
            ("DEL k", "nil"),
            ("EXPIRE k 1000", "\"v\""),
            ("FLUSHALL", "nil"),
        ] {
            call(&mut other, "SET k v");
            client.send_raw(&encode(&["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "10000"]));
            let mut fake = Fake::accept(&listener);
            fake.up_to_restore();
            // Nobody waits meanwhile.
            assert_eq!(call(&mut other, "GET k"), "\"v\"");
            call(&mut other, change);
            fake.answer("+OK\r\n");
            assert_eq!(
                client.recv().to_string(),
                "-TRYAGAIN Key 'k' was changed while it was migrated: it stays, the target has an older one",
                "{change}"
            );
            assert_eq!(call(&mut other, "GET k"), left, "{change}");
        }
        // Reading it is no change, and neither is writing another key.
        call(&mut other, "SET k v");
        client.send_raw(&encode(&["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "10000"]));
        let mut fake = Fake::accept(&listener);
        fake.up_to_restore();
        call(&mut other, "GET k");
        call(&mut other, "SET k2 v");
        fake.answer("+OK\r\n");
        assert_eq!(client.recv().to_string(), "+OK");
        assert_eq!(call(&mut other, "EXISTS k k2"), ":1");
    }
}

#[test]
fn a_target_that_does_not_answer() {
    let tarn = Server::start(Options::new(Program::Memory));
    let mut conn = tarn.conn();
    call(&mut conn, "SET k v");
    let (listener, port) = listen();
    let reading = "-IOERR error or timeout reading to target instance";
    assert_eq!(migrate(&mut conn, port, "k 0 10"), reading);
    drop(listener.accept());
    // It hangs up in the middle.
    conn.send_raw(&encode(&["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "10000"]));
    let mut fake = Fake::accept(&listener);
    fake.up_to_restore();
    drop(fake);
    assert_eq!(conn.recv().to_string(), reading);
    assert_eq!(call(&mut conn, "GET k"), "\"v\"");
    let unused = free_port();
    assert_eq!(migrate(&mut conn, unused, "k 0 1000"), "-IOERR error or timeout writing to target instance");
    assert_eq!(migrate(&mut conn, unused, "k 0 1000 KEYS k").split(' ').next(), Some("-ERR"));
}

/// A target that is silent does not keep the process from ending.
#[test]
fn the_end_of_the_process_is_not_kept_waiting() {
    let mut tarn = Server::start(Options::new(Program::Rocksdb));
    let (listener, port) = listen();
    let mut conn = tarn.conn();
    call(&mut conn, "SET k v");
    conn.send_raw(&encode(&["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "6000000"]));
    let mut fake = Fake::accept(&listener);
    fake.up_to_restore();
    assert!(tarn.stop().success());
    tarn.restart();
    assert_eq!(call(&mut tarn.conn(), "GET k"), "\"v\"");
}

/// What waits for another server keeps no worker, and nobody else.
#[test]
fn others_go_on_meanwhile() {
    let tarn = Server::start(Options::new(Program::Rocksdb).with("worker-threads", "1"));
    let (listener, port) = listen();
    let mut other = tarn.conn();
    call(&mut other, "SET k v");
    let mut waiting: Vec<Conn> = (0..4).map(|_| tarn.conn()).collect();
    for conn in &mut waiting {
        conn.send_raw(&encode(&["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "60000", "COPY"]));
    }
    let mut fake = Fake::accept(&listener);
    fake.up_to_restore();
    // Work for a worker.
    let words: Vec<String> =
        ["SADD", "s"].map(str::to_owned).into_iter().chain((0..5_000).map(|n| n.to_string())).collect();
    assert_eq!(other.call(&words), Value::Int(5_000));
    assert_eq!(other.call(&["SMEMBERS", "s"]).items().unwrap().len(), 5_000);
    fake.answer("+OK\r\n");
    // The others get their turn.
    for _ in 0..3 {
        let mut fake = Fake::accept(&listener);
        fake.up_to_restore();
        fake.answer("+OK\r\n");
    }
    for conn in &mut waiting {
        assert_eq!(conn.recv(), Value::ok());
    }
}
