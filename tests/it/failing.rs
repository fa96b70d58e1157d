//! Writes and syncs of the log that fail: no client waits for ever, and none is told OK.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, eventually, free_port};
use crate::value::Value;

fn server(appendfsync: &str) -> Server {
    Server::start(Options::new(Program::Rocksdb).with("appendfsync", appendfsync).with("io-threads", "2"))
}

fn is_refused(reply: &Value) -> bool {
    matches!(reply, Value::Error(text) if text.starts_with(b"MISCONF"))
}

/// While calls of the log fail: an error for whoever waited and for every later write; reads go on. Then writes come back.
fn check_stopped(server: &mut Server, waiting: &mut Conn) {
    let reply = waiting.try_recv().expect("nobody waits for a sync that failed");
    assert!(is_refused(&reply), "{reply:?}");
    let mut other = server.conn();
    for _ in 0..3 {
        let reply = other.call(&["SET", "late", "1"]);
        assert!(is_refused(&reply), "{reply:?}");
    }
    assert_eq!(other.call(&["GET", "before"]), Value::bulk("1"));
    assert_eq!(other.call(&["CONFIG", "SET", "appendfsync", "everysec"]), Value::ok());
    assert!(is_refused(&other.call(&["SET", "late", "1"])));
    assert_eq!(other.call(&["DEBUG", "FAIL", "nothing"]), Value::ok());
    eventually("writes come back", || other.call(&["SET", "after", "1"]) == Value::ok());
    eventually("the operator is told", || server.log().contains("the log was written anew: writes go on"));
    server.kill();
    server.restart();
    for key in ["before", "after"] {
        assert_eq!(server.conn().call(&["GET", key]), Value::bulk("1"));
    }
}

#[test]
fn a_failed_sync_or_write_under_always_is_told_to_who_waits() {
    for fault in ["log-syncs", "log-writes"] {
        // A command on its own, one that a worker runs, and those of a pipeline.
        for command in ["SET k v", "SUNIONSTORE d s s", "MSET a 1 b 2"] {
            let mut server = server("always");
            let mut conn = server.conn();
            assert_eq!(conn.call(&["SET", "before", "1"]), Value::ok());
            assert_eq!(conn.call(&["SADD", "s", "a", "b"]), Value::Int(2));
            assert_eq!(conn.call(&["DEBUG", "FAIL", fault]), Value::ok());
            let mut waiting = server.conn();
            waiting.send(&command.split(' ').collect::<Vec<_>>());
            check_stopped(&mut server, &mut waiting);
        }
    }
}

fn metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn nobody_is_shown_what_is_not_synced_under_always() {
    let port = free_port();
    let options = Options::new(Program::Rocksdb).with("appendfsync", "always").with("io-threads", "1");
    let server = Server::start(options.with("metrics-port", &port.to_string()));
    let ran = |line: &str| {
        let line = format!("tarn_commands_total{{command={line}");
        eventually("it ran", || metrics(port).lines().any(|found| found == line));
    };
    let (mut writer, mut reader, mut later) = (server.conn(), server.conn(), server.conn());
    assert_eq!(writer.call(&["SET", "k", "old"]), Value::ok());
    assert_eq!(server.conn().call(&["DEBUG", "FAIL", "log-sync-waits"]), Value::ok());
    writer.send(&["SET", "k", "new"]);
    ran("\"set\"} 2");
    reader.send(&["GET", "k"]);
    ran("\"get\"} 1");
    // Another round of the only I/O thread: what the one before it had to send has been sent.
    later.send(&["GET", "k"]);
    ran("\"get\"} 2");
    assert!(!reader.has_bytes() && !writer.has_bytes(), "the sync has not ended");
    let mut other = server.conn();
    other.send(&["DEBUG", "FAIL", "nothing"]);
    for (conn, reply) in [
        (&mut writer, Value::ok()),
        (&mut reader, Value::bulk("new")),
        (&mut later, Value::bulk("new")),
        (&mut other, Value::ok()),
    ] {
        assert_eq!(conn.recv(), reply);
    }
}

#[test]
fn replies_of_a_pipeline_stay_in_their_places() {
    let server = server("always");
    let mut conn = server.conn();
    assert_eq!(conn.call(&["SET", "before", "1"]), Value::ok());
    assert_eq!(conn.call(&["DEBUG", "FAIL", "log-syncs"]), Value::ok());
    let pipeline = [vec!["GET", "before"], vec!["SET", "k", "v"], vec!["PING"], vec!["INCR", "n"]];
    let replies = conn.call_all(&pipeline);
    assert_eq!(replies[0], Value::bulk("1"));
    assert!(is_refused(&replies[1]), "{replies:?}");
    assert_eq!(replies[2], Value::Simple(b"PONG".to_vec()));
    assert!(is_refused(&replies[3]), "{replies:?}");
}

#[test]
fn a_failed_sync_of_the_second_stops_later_writes() {
    let server = server("everysec");
    let mut conn = server.conn();
    assert_eq!(conn.call(&["DEBUG", "FAIL", "log-syncs"]), Value::ok());
    assert_eq!(conn.call(&["SET", "before", "1"]), Value::ok(), "the operating system has it, as promised");
    eventually("writes are refused", || is_refused(&conn.call(&["SET", "late", "1"])));
    assert_eq!(conn.call(&["GET", "before"]), Value::bulk("1"));
    assert_eq!(conn.call(&["DEBUG", "FAIL", "nothing"]), Value::ok());
    eventually("writes come back", || conn.call(&["SET", "late", "1"]) == Value::ok());
}

#[test]
fn only_calls_that_are_there_can_be_named() {
    let server = Server::start(Options::new(Program::Memory));
    let reply = server.conn().call(&["DEBUG", "FAIL", "everything"]);
    assert!(matches!(&reply, Value::Error(text) if text.starts_with(b"ERR there is no call")), "{reply:?}");
}

#[test]
fn a_transaction_whose_sync_failed_is_refused_as_a_whole() {
    let server = server("always");
    let mut conn = server.conn();
    assert_eq!(conn.call(&["SADD", "s", "a", "b"]), Value::Int(2));
    assert_eq!(conn.call(&["DEBUG", "FAIL", "log-sync"]), Value::ok());
    let pipeline = [vec!["MULTI"], vec!["SET", "a", "1"], vec!["SUNIONSTORE", "d", "s", "s"], vec!["EXEC"]];
    let replies = conn.call_all(&pipeline);
    assert!(is_refused(&replies[3]), "{replies:?}");
}
