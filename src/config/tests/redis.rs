//! The same CONFIG commands to a real redis-server and to the table: replies must be equal to the letter.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use redis::{Client, Connection, Value};

use crate::config::{Config, Guard, Live};

/// A redis-server on a socket in a directory of its own; both go with it.
pub(crate) struct Server {
    process: Child,
    dir: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> (Self, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(&socket)
            .args(["--enable-protected-configs", "yes", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is needed for this test");
        let mut server = Self { process, dir };
        let connection = server.connect(&socket);
        (server, connection)
    }

    fn connect(&mut self, socket: &Path) -> Connection {
        let client = Client::open(format!("unix:{}", socket.display())).unwrap();
        loop {
            if let Ok(connection) = client.get_connection() {
                return connection;
            }
            assert_eq!(self.process.try_wait().unwrap(), None, "redis-server ended in {:?}", self.dir.path());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn theirs_set(redis: &mut Connection, words: &[&str]) -> Result<(), String> {
    match ::redis::cmd("CONFIG").arg("SET").arg(words).query::<Value>(redis) {
        Ok(Value::Okay) => Ok(()),
        Ok(other) => panic!("{words:?}: {other:?}"),
        Err(error) => Err(error.detail().unwrap_or_default().to_string()),
    }
}

fn ours_set(live: &Live, words: &[&str]) -> Result<(), String> {
    let pairs: Vec<(&[u8], &[u8])> =
        words.chunks_exact(2).map(|pair| (pair[0].as_bytes(), pair[1].as_bytes())).collect();
    live.set(&pairs, true).map(drop).map_err(|error| String::from_utf8(error.message()).unwrap())
}

fn theirs_get(redis: &mut Connection, pattern: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> =
        ::redis::cmd("CONFIG").arg("GET").arg(pattern).query(redis).unwrap();
    found.sort();
    found
}

fn ours_get(live: &Live, pattern: &str) -> Vec<(String, String)> {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let found = live.get(&[pattern.as_bytes()]);
    let mut found: Vec<_> = found.into_iter().map(|(name, value)| (text(name), text(value))).collect();
    found.sort();
    found
}

#[test]
fn config_set_and_get_answer_as_redis_does() {
    let (_server, mut redis) = Server::start();
    let config = Config { enable_protected_configs: Guard::Yes, ..Config::default() };
    let live = Live::new(config);
    for case in include_str!("redis_cases.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<String> = crate::config::words::split(case.as_bytes())
            .unwrap()
            .into_iter()
            .map(|word| String::from_utf8(word).unwrap())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = theirs_set(&mut redis, &words);
        assert_eq!(ours_set(&live, &words), answer, "CONFIG SET {case}");
        // What was never set may have another default here.
        if answer.is_err() {
            continue;
        }
        for name in words.iter().step_by(2) {
            assert_eq!(ours_get(&live, name), theirs_get(&mut redis, name), "CONFIG GET {name} after {case}");
        }
    }
}

#[test]
fn config_get_matches_as_redis_does() {
    let (_server, mut redis) = Server::start();
    let live = Live::new(Config::default());
    for pattern in [
        "maxclients",
        "MaxClients",
        "hash-max-*",
        "HASH-MAX-*",
        "z?et-max-*",
        "[hz]*-max-listpack-value",
        "nope",
        "nope*",
        "tcp-backlo[f-h]",
        "slowlog-*",
        "*-tracking-*",
        "proto-*",
    ] {
        assert_eq!(ours_get(&live, pattern), theirs_get(&mut redis, pattern), "{pattern}");
    }
}

/// Options that have another default or other values here, each on purpose.
const OTHER_DEFAULTS: [&str; 8] = [
    "io-threads",
    "appendonly",
    "dbfilename",
    "maxmemory-clients",
    "dir",
    "port",
    "unixsocket",
    "enable-protected-configs",
];

#[test]
fn defaults_are_those_of_redis() {
    let (_server, mut redis) = Server::start();
    let live = Live::new(Config::default());
    let theirs = theirs_get(&mut redis, "*");
    let mut compared = 0;
    for (name, value) in ours_get(&live, "*") {
        if OTHER_DEFAULTS.contains(&name.as_str()) {
            continue;
        }
        if let Some((_, expected)) = theirs.iter().find(|(known, _)| *known == name) {
            assert_eq!(value, *expected, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} options are Redis's");
}

#[test]
fn every_option_of_redis_is_known_or_refused_with_a_reason() {
    let (_server, mut redis) = Server::start();
    for (name, _) in theirs_get(&mut redis, "*") {
        let known = crate::config::table::find(name.as_bytes()).is_some();
        assert!(known || crate::config::table::reason_unsupported(name.as_bytes()).is_some(), "{name}");
    }
}
