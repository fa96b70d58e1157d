//! Before the data is there: clients are told LOADING, INFO says how far it is, and a stop is an orderly one. The server is
//! held up by a FORMAT file that is a pipe: it waits for somebody to write into it.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::Child;

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, command, eventually, free_port, spawn};
use crate::value::Value;

struct Held {
    dir: PathBuf,
    socket: PathBuf,
    pidfile: PathBuf,
    format: String,
    port: u16,
    child: Child,
    _server: Server,
}

/// A server on a database with a key in it, which does not get beyond the first look at it.
fn held(options: Options) -> Held {
    let mut server = Server::start(Options::new(Program::Rocksdb));
    assert_eq!(server.conn().call(&["SET", "k", "v"]), Value::ok());
    assert!(server.stop().success());
    let dir = server.dir();
    let file = dir.join("FORMAT");
    let format = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let path = CString::new(file.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is a string that ends.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let (socket, pidfile) = (dir.join("socket"), dir.join("pid"));
    let options = options
        .with("unixsocket", socket.to_str().unwrap())
        .with("pidfile", pidfile.to_str().unwrap())
        .with("logfile", dir.join("log.txt").to_str().unwrap());
    let port = free_port();
    let output = fs::File::create(dir.join("output.txt")).unwrap();
    let child = spawn(command(&options, port, &dir, output)).unwrap();
    let held = Held { dir, socket, pidfile, format, port, child, _server: server };
    // While nobody listens a connection may meet itself, and hears what it says.
    let answers = |mut conn: Conn| matches!(conn.try_call(&["x"]), Ok(Value::Error(_)));
    eventually("the port is open", || Conn::connect(port).is_ok_and(answers));
    held
}

impl Held {
    fn release(&self) {
        fs::write(self.dir.join("FORMAT"), &self.format).unwrap();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log.txt")).unwrap()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and not yet waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rocksdb() -> Options {
    Options::new(Program::Rocksdb)
}

fn error(words: &str) -> Value {
    Value::Error(words.into())
}

fn loading() -> Value {
    error("LOADING Redis is loading the dataset in memory")
}

#[test]
fn clients_that_come_early_are_told_so_and_served_later() {
    let held = held(rocksdb());
    let mut conn = Conn::connect(held.port).unwrap();
    let mut local = Conn::connect_unix(&held.socket).unwrap();
    for words in
        [&["PING"][..], &["GET", "k"], &["SET", "k", "w"], &["HELLO", "3"], &["CONFIG", "GET", "port"]]
    {
        assert_eq!(conn.call(words), loading(), "{words:?}");
        assert_eq!(local.call(words), loading(), "{words:?}");
    }
    assert_eq!(conn.call(&["NOSUCH"]), error("ERR unknown command 'NOSUCH', with args beginning with: "));
    assert_eq!(conn.call(&["GET"]), error("ERR wrong number of arguments for 'get' command"));
    let info = conn.call(&["INFO"]).to_string();
    for field in ["redis_version:", "connected_clients:", "loading:1", "loading_loaded_perc:0.00"] {
        assert!(info.contains(field), "no {field} in {info}");
    }
    assert!(!conn.call(&["INFO", "clients"]).to_string().contains("loading:1"));
    // Half a command before, the other half after.
    conn.send_raw(b"*2\r\n$3\r\nGET\r\n$1\r");
    held.release();
    let mut late = Conn::connect(held.port).unwrap();
    eventually("the server is ready", || late.call(&["PING"]) == Value::Simple("PONG".into()));
    conn.send_raw(b"\nk\r\n");
    assert_eq!(conn.recv(), Value::bulk("v"));
    assert_eq!(local.call(&["GET", "k"]), Value::bulk("v"));
    let info = local.call(&["INFO", "persistence"]).to_string();
    assert!(info.contains("loading:0"), "{info}");
    // A thread of its own writes the lines.
    eventually("the log tells", || held.log().contains("the data was loaded in "));
}

#[test]
fn a_password_is_asked_for_and_stays_given() {
    let held = held(rocksdb().with("requirepass", "sesame"));
    let mut conn = Conn::connect(held.port).unwrap();
    let noauth = || error("NOAUTH Authentication required.");
    assert_eq!(conn.call(&["PING"]), noauth());
    assert_eq!(conn.call(&["INFO"]), noauth());
    assert_eq!(
        conn.call(&["AUTH", "wrong"]),
        error("WRONGPASS invalid username-password pair or user is disabled.")
    );
    assert_eq!(conn.call(&["AUTH", "sesame"]), Value::ok());
    assert_eq!(conn.call(&["PING"]), loading());
    let mut other = Conn::connect(held.port).unwrap();
    assert_eq!(other.call(&["PING"]), noauth());
    held.release();
    eventually("the server is ready", || conn.call(&["GET", "k"]) == Value::bulk("v"));
    assert_eq!(other.call(&["PING"]), noauth());
}

#[test]
fn quit_closes_and_too_many_are_turned_away() {
    let held = held(rocksdb().with("maxclients", "2"));
    let mut conns = Vec::new();
    eventually("two clients are in", || {
        conns.push(Conn::connect(held.port).unwrap());
        conns.retain_mut(|conn| conn.try_call(&["PING"]).is_ok_and(|reply| reply == loading()));
        conns.len() == 2
    });
    let mut third = Conn::connect(held.port).unwrap();
    assert_eq!(third.recv(), error("ERR max number of clients reached"));
    assert!(third.closes());
    let mut first = conns.remove(0);
    assert_eq!(first.call(&["QUIT"]), Value::ok());
    assert!(first.closes());
    let mut second = conns.remove(0);
    second.send_raw(b"*1\r\n$x\r\n");
    assert_eq!(second.recv(), error("ERR Protocol error: invalid bulk length"));
    assert!(second.closes());
}

#[test]
fn a_stop_while_loading_is_in_order() {
    for by_command in [false, true] {
        let mut held = held(rocksdb());
        assert!(held.pidfile.exists() && held.socket.exists());
        let mut idle = Conn::connect(held.port).unwrap();
        assert_eq!(idle.call(&["PING"]), loading());
        if by_command {
            let mut conn = Conn::connect(held.port).unwrap();
            conn.send(&["SHUTDOWN"]);
            assert!(conn.closes());
        } else {
            held.signal(libc::SIGTERM);
        }
        assert_eq!(held.child.wait().unwrap().code(), Some(0), "{}", held.log());
        assert!(idle.closes());
        assert!(!held.pidfile.exists() && !held.socket.exists());
        assert!(held.log().contains("stopping before the data is loaded"), "{}", held.log());

        // The data is as it was.
        fs::remove_file(held.dir.join("FORMAT")).unwrap();
        fs::write(held.dir.join("FORMAT"), &held.format).unwrap();
        let again = Server::start_on_copy(rocksdb(), &held.dir);
        assert_eq!(again.conn().call(&["GET", "k"]), Value::bulk("v"));
    }
}
