//! Configurations of others start the server unchanged: what does nothing here is named once in the log, and what would
//! promise something else is said.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::conn::Conn;
use crate::harness::{self, Options, Program, Server, eventually, free_port, run_to_end};
use crate::value::Value;

const STOCK: [(&str, &str); 3] = [
    ("redis-7.0", include_str!("redis-7.0.conf")),
    ("redis-8.0", include_str!("redis-8.0.conf")),
    ("valkey-9.1", include_str!("valkey-9.1.conf")),
];

/// Options of the stock files that are heeded. Everything else in them must be in the log.
const HEEDED: &[&str] = &[
    "include",
    "bind",
    "protected-mode",
    "port",
    "tcp-backlog",
    "timeout",
    "tcp-keepalive",
    "daemonize",
    "pidfile",
    "loglevel",
    "logfile",
    "databases",
    "acllog-max-len",
    "dir",
    "oom-score-adj",
    "oom-score-adj-values",
    "appendonly",
    "appendfsync",
    "slowlog-log-slower-than",
    "slowlog-max-len",
    "commandlog-execution-slower-than",
    "commandlog-slow-execution-max-len",
    "commandlog-request-larger-than",
    "commandlog-large-request-max-len",
    "commandlog-reply-larger-than",
    "commandlog-large-reply-max-len",
    "latency-monitor-threshold",
    "notify-keyspace-events",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "set-max-intset-entries",
    "zset-max-listpack-entries",
    "zset-max-listpack-value",
    "hll-sparse-max-bytes",
    "stream-node-max-entries",
    "client-output-buffer-limit",
];

const TARN: &str = env!("CARGO_BIN_EXE_tarn");

fn pong() -> Value {
    Value::Simple("PONG".into())
}

fn error(words: &str) -> Value {
    Value::Error(words.into())
}

fn array<const N: usize>(words: [&str; N]) -> Value {
    Value::Array(words.into_iter().map(Value::bulk).collect())
}

/// A folder with a configuration file in it, and a `data` folder.
struct Place {
    dir: tempfile::TempDir,
    port: u16,
}

impl Place {
    fn new(text: &str) -> Place {
        let dir = tempfile::Builder::new().prefix("tarn-it-").tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        let place = Place { port: free_port(), dir };
        fs::write(place.file("conf"), text.replace("@DIR@", place.dir.path().to_str().unwrap())).unwrap();
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// `tarn conf --port ... --dir ... more`.
    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(TARN);
        command.arg(self.file("conf")).args(["--port", &self.port.to_string(), "--dir"]);
        command.arg(self.file("data")).args(more).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn answers(&self) -> bool {
        Conn::connect(self.port)
            .is_ok_and(|mut conn| conn.try_call(&["PING"]).is_ok_and(|reply| reply == pong()))
    }
}

/// A process that is none of our children; it does not outlive the test.
struct Stranger(libc::pid_t);

impl Stranger {
    fn of(pidfile: &Path) -> Stranger {
        Stranger(fs::read_to_string(pidfile).unwrap().trim().parse().unwrap())
    }

    fn signal(&self, signal: i32) -> bool {
        // SAFETY: at worst there is no such process.
        unsafe { libc::kill(self.0, signal) == 0 }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
    }
}

fn names_in_log(log: &str) -> Vec<String> {
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("options without effect here: ")).collect();
    let [line] = lines[..] else { panic!("not one line:\n{log}") };
    let (_, names) = line.split_once("options without effect here: ").unwrap();
    names.split(", ").map(str::to_owned).collect()
}

#[test]
fn stock_files_start_the_server_and_what_is_ignored_is_in_the_log_once() {
    for (name, text) in STOCK {
        let place = Place::new(text);
        let status = place.command(&[]).status().unwrap();
        let log = || place.read("redis-server.log") + &place.read("valkey-server.log");
        assert!(status.success(), "{name}:\n{}", log());
        let pidfile = place.file(&format!("{}-server.pid", name.split('-').next().unwrap()));
        let server = Stranger::of(&pidfile);
        assert!(place.answers(), "{name}: the command ended before the server was ready");
        let mut conn = Conn::connect(place.port).unwrap();
        assert_eq!(conn.call(&["SET", "k", "v"]), Value::ok());
        assert_eq!(conn.call(&["CONFIG", "GET", "appendonly"]), array(["appendonly", "yes"]));
        assert!(server.signal(libc::SIGTERM));
        eventually("the pid file is gone", || !pidfile.exists());
        eventually("the server is gone", || log().contains("bye"));

        let log = log();
        let given: BTreeSet<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        let ignored: Vec<&str> = given.into_iter().filter(|name| !HEEDED.contains(name)).collect();
        assert_eq!(names_in_log(&log), ignored, "{name}");
        assert_eq!(log.matches("appendonly no: every write is logged").count(), 1, "{name}:\n{log}");
        assert_eq!(log.matches("maxmemory-policy").count(), 0, "{name}");
    }
}

#[test]
fn what_is_different_here_is_said_once() {
    let place = Place::new(
        "appendonly no\nsave \"\"\nmaxmemory 200mb\nmaxmemory-policy allkeys-lru\nlogfile @DIR@/log\nproc-title-template \"{title}\"",
    );
    let mut server = harness::spawn(place.command(&[])).unwrap();
    eventually("the server answers", || place.answers());
    let mut conn = Conn::connect(place.port).unwrap();
    assert_eq!(conn.call(&["SET", "kept", "v"]), Value::ok());
    // The last lines of the log are written at an orderly end.
    conn.send(&["SHUTDOWN"]);
    assert!(server.wait().unwrap().success());
    let log = place.read("log");
    assert_eq!(log.matches("appendonly no: every write is logged before it is answered").count(), 1, "{log}");
    assert_eq!(log.matches("maxmemory-policy allkeys-lru: nothing is evicted").count(), 1, "{log}");
    assert_eq!(names_in_log(&log), ["proc-title-template", "save"]);

    let mut server = harness::spawn(place.command(&[])).unwrap();
    eventually("the server answers", || place.answers());
    assert_eq!(Conn::connect(place.port).unwrap().call(&["GET", "kept"]), Value::bulk("v"));
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn what_cannot_be_done_stops_the_start_with_the_reason() {
    for (line, words) in [
        ("loadmodule /usr/lib/redisbloom.so", "not supported: Tarn loads no modules"),
        ("replicaof 127.0.0.1 6380", "not supported: Tarn does not replicate"),
        ("syslog-enabled yes", "Tarn does not write to syslog"),
        ("server-cpulist 0-1", "Tarn does not pin its threads"),
        ("supervised upstart", "argument(s) must be one of the following: no, systemd, auto"),
        ("oom-score-adj-values 1 2", "wrong number of arguments"),
        ("oom-score-adj-values 1 2 2001", "elements must be between -2000 and 2000."),
        ("rename-command nosuch x", "No such command in rename-command"),
        ("rename-command get set", "Target command name already exists"),
        ("rename-command get", "Bad directive or wrong number of arguments"),
        ("include @DIR@/missing.conf", "No such file or directory"),
        ("unixsocketgroup staff", "put it into a directory of that group"),
    ] {
        let place = Place::new(line);
        let output = place.command(&[]).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(said.contains(words), "{line}: {said}");
        assert_eq!(fs::read_dir(place.file("data")).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn a_pattern_of_files_may_match_nothing() {
    let place =
        Place::new("include @DIR@/missing.d/*.conf\ninclude @DIR@/*.none\ndatabases 3\ndir @DIR@/data");
    let server = Server::start(Options::new(Program::Memory).config(&place.file("conf")));
    assert_eq!(server.conn().call(&["CONFIG", "GET", "databases"]), array(["databases", "3"]));
}

#[test]
fn names_and_missing_addresses_can_be_bound() {
    let server = Server::start(Options::new(Program::Memory).with("bind", "localhost -::1 -192.0.2.1"));
    assert_eq!(server.conn().call(&["PING"]), pong());
    let dir = tempfile::tempdir().unwrap();
    for (bind, words) in [
        ("192.0.2.1", "could not listen on 192.0.2.1"),
        ("nosuchname.invalid", "'nosuchname.invalid' is not an address to bind to"),
        // Somebody else has it, which is no reason to do without.
        ("-127.0.0.1", "in use"),
    ] {
        let options = Options::new(Program::Memory).with("bind", bind);
        let (status, output) = run_to_end(&options, server.port(), dir.path());
        assert_eq!(status.code(), Some(1), "{bind}");
        assert!(output.contains(words), "{bind}: {output}");
    }
}

#[test]
fn a_server_that_nobody_can_reach_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let (status, output) = run_to_end(&Options::new(Program::Memory), 0, dir.path());
    assert_eq!(status.code(), Some(1));
    assert!(
        output.contains("Checking option 'port'") && output.contains("no client could connect"),
        "{output}"
    );

    let socket = dir.path().join("socket");
    let options = Options::new(Program::Memory).with("unixsocket", socket.to_str().unwrap());
    let log = fs::File::create(dir.path().join("log")).unwrap();
    let mut server = harness::spawn(harness::command(&options, 0, dir.path(), log)).unwrap();
    eventually("the socket answers", || {
        Conn::connect_unix(&socket)
            .is_ok_and(|mut conn| conn.try_call(&["PING"]).is_ok_and(|reply| reply == pong()))
    });
    // SAFETY: the child is ours and not yet waited for.
    unsafe { libc::kill(server.id() as libc::pid_t, libc::SIGTERM) };
    assert!(server.wait().unwrap().success());
    assert!(!socket.exists());
}

/// As redis-server 7.0 answers, but for the parts of COMMAND that list everything.
#[test]
fn commands_can_be_renamed_and_taken_away() {
    let place = Place::new(
        "rename-command CONFIG b840fc02d524045429941cc15f59e41cb7be6c52\nrename-command FLUSHALL \"\"\nrename-command object obj\n",
    );
    let server = Server::start(Options::new(Program::Memory).config(&place.file("conf")));
    let mut conn = server.conn();
    let mut is = |words: &[&str], reply: Value| assert_eq!(conn.call(words), reply, "{words:?}");
    is(
        &["CONFIG", "GET", "port"],
        error("ERR unknown command 'CONFIG', with args beginning with: 'GET' 'port' "),
    );
    is(&["FLUSHALL"], error("ERR unknown command 'FLUSHALL', with args beginning with: "));
    is(&["B840FC02D524045429941CC15F59E41CB7BE6C52", "GET", "databases"], array(["databases", "16"]));
    is(&["obj", "NOPE"], error("ERR unknown subcommand 'NOPE'. Try OBJ HELP."));
    is(&["MULTI"], Value::ok());
    is(&["FLUSHALL"], error("ERR unknown command 'FLUSHALL', with args beginning with: "));
    is(&["EXEC"], error("EXECABORT Transaction discarded because of previous errors."));
    is(&["COMMAND", "LIST", "FILTERBY", "PATTERN", "flushall"], Value::Array(Vec::new()));
    is(&["COMMAND", "LIST", "FILTERBY", "PATTERN", "config"], array(["config"]));
    let info = conn.call(&["COMMAND", "INFO", "flushall"]);
    assert!(info.items().unwrap()[0].is_nil(), "{info}");
    let called = conn.call(&["EVAL", "return redis.call('flushall')", "0"]);
    assert!(called.to_string().contains("Unknown Redis command called from script"), "{called}");
}

#[test]
fn a_start_in_the_background_tells_how_it_went() {
    let place = Place::new("daemonize yes\nlogfile @DIR@/log\npidfile @DIR@/pid\nengine memory");
    assert!(place.command(&[]).status().unwrap().success());
    let server = Stranger::of(&place.file("pid"));
    assert!(place.answers());
    // SAFETY: it only asks.
    let session = unsafe { libc::getsid(server.0) };
    assert_eq!(session, server.0, "a session of its own");

    let other = Place::new("daemonize yes\nlogfile @DIR@/log\nengine memory");
    let output = other.command(&["--port", &place.port.to_string()]).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("in use"), "{said}");

    server.signal(libc::SIGTERM);
    eventually("the server is gone", || !place.file("pid").exists());
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_stops() {
    let place = Place::new("supervised systemd\ndaemonize yes\nengine memory");
    let socket = UnixDatagram::bind(place.file("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut command = place.command(&[]);
    command.env("NOTIFY_SOCKET", place.file("notify"));
    let mut server = harness::spawn(command).unwrap();
    let heard = || {
        let mut words = [0; 200];
        let length = socket.recv(&mut words).unwrap();
        String::from_utf8(words[..length].to_vec()).unwrap()
    };
    assert_eq!(heard(), "STATUS=Loading the data");
    assert_eq!(heard(), "READY=1\nSTATUS=Ready to accept connections");
    let mut conn = Conn::connect(place.port).unwrap();
    let info = conn.call(&["INFO", "server"]).to_string();
    assert!(info.contains("process_supervised:systemd"), "{info}");
    // SAFETY: the child is ours and not yet waited for.
    unsafe { libc::kill(server.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(heard(), "STOPPING=1\nSTATUS=Stopping");
    assert!(server.wait().unwrap().success());
}

#[test]
fn the_kernel_is_told_how_readily_to_end_the_process() {
    let at_start: i32 = fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    let score = |server: &Server| -> i32 {
        let path = format!("/proc/{}/oom_score_adj", server.pid());
        fs::read_to_string(path).unwrap().trim().parse().unwrap()
    };
    let server = Server::start(
        Options::new(Program::Memory)
            .with("oom-score-adj", "relative")
            .with("oom-score-adj-values", "3 200 800"),
    );
    let mut conn = server.conn();
    assert_eq!(score(&server), (at_start + 3).min(1000));
    assert_eq!(conn.call(&["CONFIG", "SET", "oom-score-adj-values", "7 8 9"]), Value::ok());
    assert_eq!(score(&server), (at_start + 7).min(1000));
    assert_eq!(
        conn.call(&["CONFIG", "GET", "oom-score-adj*"]),
        array(["oom-score-adj", "relative", "oom-score-adj-values", "7 8 9"])
    );
    assert_eq!(conn.call(&["CONFIG", "SET", "oom-score-adj", "no"]), Value::ok());
    assert_eq!(score(&server), at_start);
}
