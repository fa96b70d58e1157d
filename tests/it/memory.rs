//! What clients can make the server keep in memory: long replies, long commands, long names.
//!
//! Memory is the process's own, as the operating system counts it. Bounds are generous: what is tried here took many times as much before.

use std::collections::BTreeMap;

use crate::conn::{Conn, encode};
use crate::harness::{ENGINES, Options, Program, Server, eventually};
use crate::value::Value;

const MIB: usize = 1 << 20;
const TOO_LONG: &str =
    "OOM the reply takes more memory than 'maxmemory' leaves for replies, read it in parts";
const NO_ROOM: &str = "OOM too many long replies wait to be read by their clients, try again later";

fn server(options: &[(&str, &str)]) -> Server {
    let program = Program::Rocksdb;
    Server::start(options.iter().fold(Options::new(program), |o, (name, value)| o.with(name, value)))
}

/// The most that the process has ever had, or has had since [`forget_peak`].
fn peak_mib(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() / 1024
}

fn forget_peak(server: &Server) {
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
}

fn memory_of(conn: &mut Conn) -> BTreeMap<String, i64> {
    let reply = conn.call(&["INFO", "memory"]);
    let text = String::from_utf8_lossy(reply.bytes().unwrap()).into_owned();
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// A string of so many MiB, each of another letter.
fn make_string(conn: &mut Conn, key: &str, mib: usize) -> Vec<u8> {
    let mut whole = Vec::new();
    for part in 0..mib {
        let bytes = vec![b'a' + (part % 26) as u8; MIB];
        whole.extend_from_slice(&bytes);
        let reply = conn.call(&[b"APPEND", key.as_bytes(), &bytes]);
        assert_eq!(reply, Value::Int(whole.len() as i64));
    }
    whole
}

/// A list of so many MiB, in elements of a KiB.
fn make_list(conn: &mut Conn, key: &str, mib: usize) {
    for part in 0..mib {
        let elements: Vec<String> = (0..1024).map(|n| format!("{:>1024}", part * 1024 + n)).collect();
        let words: Vec<&str> =
            ["RPUSH", key].into_iter().chain(elements.iter().map(String::as_str)).collect();
        assert_eq!(conn.call(&words), Value::Int(((part + 1) * 1024) as i64));
    }
}

#[test]
fn long_replies_wait_for_each_other() {
    const MIB_EACH: usize = 20;
    const READERS: usize = 10;
    // A tenth of it is for replies: one of these at a time.
    let server = server(&[("maxmemory", "256mb")]);
    let mut control = server.conn();
    make_list(&mut control, "list", MIB_EACH);
    assert_eq!(control.call(&["SAVE"]), Value::ok());
    let before = peak_mib(&server);
    forget_peak(&server);
    let mut readers: Vec<Conn> = (0..READERS).map(|_| server.conn()).collect();
    for reader in &mut readers {
        reader.send(&["LRANGE", "list", "0", "-1"]);
        reader.send(&["ECHO", "behind"]);
    }
    eventually("one has its reply", || readers.iter().any(Conn::has_bytes));
    // Others are served meanwhile.
    assert_eq!(
        control.call(&["LINDEX", "list", "-1"]),
        Value::bulk(format!("{:>1024}", MIB_EACH * 1024 - 1))
    );
    while !readers.is_empty() {
        let mut next = None;
        eventually("another one has its reply", || {
            next = readers.iter().position(Conn::has_bytes);
            next.is_some()
        });
        let mut reader = readers.swap_remove(next.unwrap());
        let reply = reader.recv();
        if reply == Value::Error(NO_ROOM.into()) {
            // The others took too long, on a slow machine: it asks again.
            assert_eq!(reader.recv(), Value::bulk("behind"));
            reader.send(&["LRANGE", "list", "0", "-1"]);
            reader.send(&["ECHO", "behind"]);
            readers.push(reader);
            continue;
        }
        let items = reply.items().unwrap();
        assert_eq!(items.len(), MIB_EACH * 1024);
        let is_right = |(n, item): (usize, &Value)| *item == Value::bulk(format!("{n:>1024}"));
        assert!(items.iter().enumerate().all(is_right));
        assert_eq!(reader.recv(), Value::bulk("behind"));
    }
    let peak = peak_mib(&server);
    assert!(peak < before + 4 * MIB_EACH, "{peak} MiB, before it {before}");
}

#[test]
fn whoever_leaves_gives_its_room_back() {
    let server = server(&[("maxmemory", "256mb")]);
    let mut control = server.conn();
    make_list(&mut control, "list", 20);
    for _ in 0..5 {
        let mut leaving = [server.conn(), server.conn(), server.conn()];
        for conn in &mut leaving {
            conn.send(&["LRANGE", "list", "0", "-1"]);
        }
        eventually("one has its reply", || leaving.iter().any(Conn::has_bytes));
    }
    assert_eq!(control.call(&["LRANGE", "list", "0", "-1"]).items().unwrap().len(), 20 * 1024);
}

#[test]
fn a_reply_that_never_fits_is_refused_before_it_is_made() {
    // A quarter for one alone: 16 MiB.
    let server = server(&[("maxmemory", "64mb")]);
    let mut conn = server.conn();
    let whole = make_string(&mut conn, "string", 20);
    make_list(&mut conn, "list", 20);
    assert_eq!(conn.call(&["SAVE"]), Value::ok());
    forget_peak(&server);
    let before = peak_mib(&server);
    let too_long = Value::Error(TOO_LONG.into());
    for command in [
        &["GET", "string"][..],
        &["MGET", "string", "none", "string"],
        &["GETRANGE", "string", "0", "-1"],
        &["LRANGE", "list", "0", "-1"],
        &["GETDEL", "string"],
        &["LPOP", "list", "20480"],
    ] {
        assert_eq!(conn.call(command), too_long, "{command:?}");
    }
    // Nothing has changed.
    assert_eq!(conn.call(&["STRLEN", "string"]), Value::Int(20 << 20));
    assert_eq!(conn.call(&["LLEN", "list"]), Value::Int(20 * 1024));
    let peak = peak_mib(&server);
    assert!(peak < before + 64, "{peak} MiB, before it {before}");
    // In parts it can be read.
    for part in 0..4 {
        let (start, end) = (part * 5 * MIB, (part + 1) * 5 * MIB - 1);
        let reply = conn.call(&["GETRANGE", "string", &start.to_string(), &end.to_string()]);
        assert!(reply.bytes().unwrap() == &whole[start..=end]);
    }
    // What is refused in a transaction is refused alone.
    for command in [&["MULTI"][..], &["SET", "k", "v"], &["GET", "string"], &["GET", "k"]] {
        conn.call(command);
    }
    assert_eq!(conn.call(&["EXEC"]), Value::Array(vec![Value::ok(), too_long, Value::bulk("v")]));
}

#[test]
fn long_replies_are_right_whatever_they_are_made_of() {
    for fsync in ["everysec", "always"] {
        let server = server(&[("appendfsync", fsync)]);
        let (mut conn, mut conn3) = (server.conn(), server.conn3());
        let string = make_string(&mut conn, "{t}string", 3);
        let member = |n: usize| format!("{n:0>60}");
        for part in 0..40 {
            let numbers: Vec<usize> = (part * 1000..(part + 1) * 1000).collect();
            let mut zadd = vec!["ZADD".to_owned(), "{t}zset".to_owned()];
            zadd.extend(numbers.iter().flat_map(|n| [format!("{n}.5"), member(*n)]));
            let mut hset = vec!["HSET".to_owned(), "{t}hash".to_owned()];
            hset.extend(numbers.iter().flat_map(|n| [member(*n), n.to_string()]));
            assert_eq!(conn.call(&zadd), Value::Int(1000));
            assert_eq!(conn.call(&hset), Value::Int(1000));
        }
        let value = Value::bulk(string);
        for conn in [&mut conn, &mut conn3] {
            conn.send(&["PING"]);
            conn.send(&["GET", "{t}string"]);
            conn.send(&["ECHO", "between"]);
            conn.send(&["MGET", "{t}string", "{t}none", "{t}string", "{t}zset"]);
            assert_eq!(conn.recv(), Value::Simple(b"PONG".to_vec()));
            assert!(conn.recv() == value);
            assert_eq!(conn.recv(), Value::bulk("between"));
            let reply = conn.recv();
            let [first, none, second, other] = reply.items().unwrap() else { panic!("four") };
            assert!(*first == value && *second == value && none.is_nil() && other.is_nil());
        }
        let range = ["ZRANGE", "{t}zset", "0", "-1", "WITHSCORES"];
        let flat = conn.call(&range);
        let flat = flat.items().unwrap();
        assert_eq!(flat.len(), 80_000);
        for (n, pair) in flat.chunks(2).enumerate() {
            assert_eq!(pair, [Value::bulk(member(n)), Value::bulk(format!("{n}.5"))]);
        }
        let nested = conn3.call(&range);
        let nested = nested.items().unwrap();
        assert_eq!(nested.len(), 40_000);
        for (n, pair) in nested.iter().enumerate() {
            assert_eq!(
                pair.items().unwrap(),
                [Value::bulk(member(n)), Value::Double(format!("{n}.5").into_bytes())]
            );
        }
        let pairs = conn.call(&["HGETALL", "{t}hash"]);
        let mut seen: Vec<(Vec<u8>, Vec<u8>)> = pairs
            .items()
            .unwrap()
            .chunks(2)
            .map(|pair| (pair[0].bytes().unwrap().to_vec(), pair[1].bytes().unwrap().to_vec()))
            .collect();
        seen.sort();
        let want: Vec<_> =
            (0..40_000).map(|n| (member(n).into_bytes(), n.to_string().into_bytes())).collect();
        assert!(seen == want);
        // Several in one reply, and written ones.
        for command in
            [&["MULTI"][..], &["GET", "{t}string"], &["GETDEL", "{t}string"], &["EXISTS", "{t}string"]]
        {
            conn.call(command);
        }
        assert!(conn.call(&["EXEC"]) == Value::Array(vec![value.clone(), value, Value::Int(0)]));
        assert_eq!(conn.call(&["ZPOPMIN", "{t}zset", "40000"]).items().unwrap().len(), 80_000);
    }
}

#[test]
fn many_clients_that_do_not_read_share_the_room_for_replies() {
    const CLIENTS: usize = 100;
    let server = server(&[("maxmemory", "128mb")]);
    let mut control = server.conn();
    assert_eq!(control.call(&["SET", "k", &"x".repeat(50_000)]), Value::ok());
    let before = peak_mib(&server);
    let pipeline = encode(&["GET", "k"]).repeat(200);
    let mut clients: Vec<Conn> = (0..CLIENTS).map(|_| server.conn()).collect();
    clients.iter_mut().for_each(|client| client.send_raw(&pipeline));
    eventually("each has something", || clients.iter().all(Conn::has_bytes));
    let peak = peak_mib(&server);
    assert!(peak < before + 100, "{peak} MiB, before it {before}");
    for client in &mut clients {
        for _ in 0..200 {
            assert_eq!(client.recv().bytes().unwrap().len(), 50_000);
        }
    }
}

#[test]
fn long_strings_are_written_in_parts() {
    let server = server(&[("maxmemory", "128mb")]);
    let mut conn = server.conn();
    let whole = make_string(&mut conn, "{t}long", 60);
    assert_eq!(conn.call(&["SAVE"]), Value::ok());
    let before = peak_mib(&server);
    forget_peak(&server);
    assert_eq!(conn.call(&["BITOP", "NOT", "{t}not", "{t}long"]), Value::Int(60 << 20));
    assert_eq!(conn.call(&["BITOP", "NOT", "{t}again", "{t}not"]), Value::Int(60 << 20));
    let peak = peak_mib(&server);
    assert!(peak < before + 90, "{peak} MiB, before it {before}");
    for start in [0, 13 * MIB - 5, 60 * MIB - 100] {
        let (from, to) = (start.to_string(), (start + 99).to_string());
        let reply = conn.call(&["GETRANGE", "{t}again", &from, &to]);
        assert_eq!(reply.bytes().unwrap(), &whole[start..start + 100]);
        let inverted: Vec<u8> = whole[start..start + 100].iter().map(|byte| !byte).collect();
        assert_eq!(conn.call(&["GETRANGE", "{t}not", &from, &to]).bytes().unwrap(), inverted);
    }
}

/// It is as much a part of the query as what has not come whole.
#[test]
fn what_is_queued_for_exec_takes_the_room_of_long_commands() {
    let server = server(&[("maxmemory", "64mb")]);
    let mut conn = server.conn();
    let value = "x".repeat(MIB);
    let set = ["SET", "k", &value];
    assert_eq!(conn.call(&["MULTI"]), Value::ok());
    let replies: Vec<Value> = (0..64).map(|_| conn.call(&set)).collect();
    let queued = replies.iter().take_while(|reply| **reply == Value::Simple(b"QUEUED".to_vec())).count();
    let oom = Value::Error(b"OOM command not allowed when used memory > 'maxmemory'.".to_vec());
    assert!(queued > 0 && replies.get(queued) == Some(&oom), "{queued} were queued");
    eventually("it is seen", || {
        let list = server.conn().call(&["CLIENT", "LIST"]).to_string();
        list.contains(&format!(" multi={queued} "))
            && !list.contains(&format!(" multi={queued} watch=0 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 "))
    });
    let aborted = Value::Error(b"EXECABORT Transaction discarded because of previous errors.".to_vec());
    assert_eq!(conn.call(&["EXEC"]), aborted);
    // All of it is given back.
    for words in [&["MULTI"][..], &set, &["EXEC"]] {
        assert!(!conn.call(words).is_error());
    }
}

#[test]
fn names_have_a_limit() {
    const LIMIT: usize = 65_536;
    let too_long = || {
        let words = "ERR a name is too long: a key and a field or member of it may have 65536 bytes together";
        Value::Error(words.into())
    };
    for program in ENGINES.into_iter().filter(|program| matches!(program, Program::Rocksdb | Program::Memory))
    {
        let mut server = Server::start(Options::new(program));
        let mut conn = server.conn();
        let (key, longer) = ("k".repeat(LIMIT), "k".repeat(LIMIT + 100));
        let (name, longer_name) = ("n".repeat(LIMIT - 1), "n".repeat(LIMIT + 99));
        assert_eq!(conn.call(&["SET", &key, "v", "EX", "1000"]), Value::ok());
        assert_eq!(conn.call(&["GET", &key]), Value::bulk("v"));
        for command in [
            &["SET", &longer, "v"][..],
            &["RPUSH", &longer, "v"],
            &["XADD", &longer, "1-1", "f", "v"],
            &["RENAME", &key, &longer],
            &["COPY", &key, &longer],
            &["HSET", "h", "short", "1", &longer_name, "2"],
            &["SADD", "s", "short", &longer_name],
            &["ZADD", "z", "1", "short", "2", &longer_name],
            &["EVAL", "return redis.call('SADD', KEYS[1], ARGV[1])", "1", "s", &longer_name],
        ] {
            let reply = conn.call(command);
            let is_refused = reply == too_long()
                || matches!(&reply, Value::Error(text) if text.starts_with(b"ERR a name is too long") && command[0] == "EVAL");
            assert!(is_refused, "{program:?} {} {reply}", command[0]);
        }
        assert_eq!(conn.call(&["EXISTS", &longer, "h", "s", "z"]), Value::Int(0), "nothing has changed");
        assert_eq!(conn.call(&["GET", &longer]), Value::NilBulk);
        // In a transaction only that one is refused.
        for command in
            [&["MULTI"][..], &["SADD", "s", "a"], &["SADD", "s", &longer_name], &["SADD", "s", "b"]]
        {
            conn.call(command);
        }
        assert_eq!(conn.call(&["EXEC"]), Value::Array(vec![Value::Int(1), too_long(), Value::Int(1)]));
        assert_eq!(conn.call(&["HSET", "h", &name, "1"]), Value::Int(1));
        assert_eq!(conn.call(&["SADD", "s", &name]), Value::Int(1));
        assert_eq!(conn.call(&["ZADD", "z", "1", &name]), Value::Int(1));
        // Values, elements and what streams hold are no names.
        let long = "v".repeat(3 * LIMIT);
        assert_eq!(conn.call(&["RPUSH", "l", &long]), Value::Int(1));
        assert_eq!(conn.call(&["HSET", "h", "f", &long]), Value::Int(1));
        assert_eq!(conn.call(&["XADD", "x", "1-1", &long, &long]), Value::bulk("1-1"));
        if program == Program::Rocksdb {
            assert_eq!(conn.call(&["SAVE"]), Value::ok());
            server.restart();
            conn = server.conn();
        }
        assert_eq!(conn.call(&["GET", &key]), Value::bulk("v"));
        assert_eq!(conn.call(&["HGET", "h", &name]), Value::bulk("1"));
        assert_eq!(conn.call(&["SCARD", "s"]), Value::Int(3));
        assert_eq!(conn.call(&["ZSCORE", "z", &name]), Value::bulk("1"));
    }
}

/// Under writes and reads of all kinds, with write-back and compaction on their way.
#[test]
fn the_parts_of_the_memory_add_up() {
    let server = server(&[("maxmemory", "256mb")]);
    let mut conn = server.conn();
    let mut commands: Vec<Vec<String>> = Vec::new();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    for n in 0..60_000_u32 {
        let (key, name) = ((n % 500).to_string(), n.to_string());
        commands.push(words(&["SET", &format!("string:{n}"), &"x".repeat(n as usize % 1500)]));
        commands.push(words(&["HSET", &format!("hash:{key}"), &name, "a value of some length"]));
        commands.push(words(&["ZADD", &format!("zset:{key}"), &name, &name]));
        commands.push(words(&["RPUSH", &format!("list:{key}"), &name]));
        if n % 20 == 0 {
            commands.push(words(&["HGETALL", &format!("hash:{key}")]));
            commands.push(words(&["ZRANGE", &format!("zset:{key}"), "0", "-1"]));
            commands.push(words(&["GET", &format!("string:{}", n / 2)]));
        }
        if commands.len() >= 500 {
            conn.call_all(&commands);
            commands.clear();
        }
        if n % 20_000 == 19_999 {
            let memory = memory_of(&mut conn);
            let (rss, other) = (memory["used_memory_rss"], memory["mem_other"]);
            assert!(other.abs() * 10 <= rss, "{other} of {rss}: {memory:#?}");
            let known = memory.iter().filter(|(name, _)| name.starts_with("mem_") && !name.contains("frag"));
            let known: i64 = known.map(|(_, bytes)| bytes).sum::<i64>() + memory["used_memory_startup"];
            // The parts are read one after the other.
            assert!((known - rss).abs() * 50 <= rss, "{known} of {rss}: {memory:#?}");
        }
    }
}
