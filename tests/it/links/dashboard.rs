//! The dashboard for Grafana.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{double, options};
use crate::harness::{Options, Program, Server, free_port};

/// What a dashboard asks for and nobody has shows nothing, and nobody notices.
#[test]
fn every_metric_of_the_dashboard_exists() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/grafana/tarn.json"));
    let text = text.unwrap();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let mut asked: Vec<&str> =
        text.split(|c: char| !is_name(c)).filter(|word| word.starts_with("tarn_")).collect();
    asked.sort_unstable();
    asked.dedup();
    assert!(asked.len() > 40, "{asked:?}");
    let double = double();
    let mut there = String::new();
    for options in [Options::new(Program::Rocksdb), options(&double)] {
        let port = free_port();
        let server = Server::start(options.with("metrics-port", &port.to_string()));
        let mut conn = server.conn();
        conn.call(&["SET", "k", "v"]);
        conn.call(&["NOSUCH"]);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        stream.read_to_string(&mut there).unwrap();
    }
    let names: Vec<&str> = there.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let missing: Vec<&str> = asked.into_iter().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
