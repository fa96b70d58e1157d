//! A thread that panics ends the process at once, with a message and an exit code: half a server serves nobody.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;

use crate::certs::Files;
use crate::harness::{Options, Program, Server, free_port};
use crate::value::Value;

/// What brings each thread to the place where it was told to panic, besides time.
const TRIGGERS: &[(&str, &[&[&str]])] = &[
    ("worker", &[]),
    ("listener", &[]),
    ("handshake", &[]),
    ("metrics", &[]),
    ("sweeper", &[]),
    ("cleaner", &[]),
    ("log", &[&["DEBUG", "LOG", "a line"]]),
    ("bgsave", &[&["BGSAVE"]]),
    ("sync", &[]),
    ("freeze", &[]),
    ("write-back", &[&["SET", "k", "v"], &["SAVE"]]),
    ("load", &[]),
    // Each copy leaves a file at the top of the sorted data; a few of them are compacted.
    ("compaction", &[&["SET", "k", "v"], &["SAVE"]]),
];

#[test]
fn a_panic_in_any_thread_ends_the_process() {
    let files = Arc::new(Files::new());
    for (thread, triggers) in TRIGGERS {
        let metrics = free_port();
        let options =
            Options::new(Program::Rocksdb).with("metrics-port", &metrics.to_string()).with_tls(&files);
        let mut server = Server::start(options);
        let mut conn = server.conn();
        conn.try_call(&["SET", "before", "1"]).unwrap();
        // The reply may or may not leave before the end.
        let _ = conn.try_call(&["DEBUG", "PANIC", thread]);
        'ended: loop {
            let mut calls = triggers.iter().chain([&["PING"] as &[&str]].iter());
            if calls.any(|call| conn.try_call(call).is_err()) {
                break 'ended;
            }
            for port in [server.port(), server.tls_port()] {
                let _ = TcpStream::connect(("127.0.0.1", port));
            }
            let _ = TcpStream::connect(("127.0.0.1", metrics))
                .and_then(|mut stream| stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n"));
        }
        check_end(&mut server, thread);
        server.restart();
        assert_eq!(server.conn().try_call(&["GET", "before"]).unwrap(), Value::bulk("1"), "{thread}");
    }
}

#[test]
fn a_panic_in_an_io_thread_or_at_a_signal_ends_the_process() {
    for program in [Program::Rocksdb, Program::Memory] {
        let mut server = Server::start(Options::new(program));
        assert!(server.conn().try_call(&["DEBUG", "PANIC"]).is_err(), "nobody is left to answer");
        check_end(&mut server, "io-");
    }
    let mut server = Server::start(Options::new(Program::Memory));
    server.conn().try_call(&["DEBUG", "PANIC", "signals"]).unwrap();
    server.signal(libc::SIGTERM);
    check_end(&mut server, "signals");
}

#[test]
fn only_threads_that_are_there_can_be_named() {
    let server = Server::start(Options::new(Program::Memory));
    let reply = server.conn().try_call(&["DEBUG", "PANIC", "nobody"]).unwrap();
    assert!(matches!(&reply, Value::Error(text) if text.starts_with(b"ERR there is no thread")), "{reply:?}");
}

fn check_end(server: &mut Server, thread: &str) {
    let status = server.wait_exit();
    assert_eq!(status.code(), Some(101), "{thread}: {status}");
    let log = server.log();
    let told = log.lines().filter(|line| line.contains("panicked") && line.contains(thread)).count();
    assert!(told >= 1, "{thread} is named:\n{log}");
}
