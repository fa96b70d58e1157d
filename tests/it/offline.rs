//! `tarn check` and `tarn salvage` on whole and on damaged data directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, copy_files};
use crate::rng::Rng;
use crate::value::Value;

const KEYS: usize = 400;
const ELEMENTS: usize = 1500;

/// Does not compress much, so that many blocks are filled.
fn text(number: usize) -> String {
    let mut rng = Rng::new(number as u64 + 1);
    (0..4).map(|_| format!("{:016x}", rng.next())).collect()
}

fn options() -> Options {
    Options::new(Program::Rocksdb)
}

/// Every type, in the sorted data and in the log, that was killed.
fn killed() -> Server {
    let mut server = Server::start(options());
    let mut conn = server.conn();
    for round in 0..2 {
        for number in (0..KEYS).filter(|number| number % 2 == round) {
            assert_eq!(conn.call(&["SET", &format!("s{number}"), &text(number)]), Value::ok());
        }
        for number in (0..ELEMENTS).filter(|number| number % 2 == round) {
            let (name, value) = (format!("e{number}"), text(number));
            assert_eq!(conn.call(&["HSET", "hash", &name, &value]), Value::Int(1));
            assert_eq!(conn.call(&["SADD", "set", &value]), Value::Int(1));
            assert_eq!(conn.call(&["ZADD", "zset", &number.to_string(), &value]), Value::Int(1));
            conn.call(&["RPUSH", "list", &value]);
            conn.call(&["APPEND", "long", &value]);
            conn.call(&["XADD", "stream", &format!("{}-1", number + round * ELEMENTS + 1), "f", &value]);
        }
        assert_eq!(conn.call(&["SETEX", "due", "1000", "x"]), Value::ok());
        assert_eq!(conn.call(&["HSET", "fields", "a", "1", "b", "2"]), Value::Int(i64::from(round == 0) * 2));
        conn.call(&["HEXPIRE", "fields", "1000", "FIELDS", "1", "a"]);
        conn.call(&["XGROUP", "CREATE", "stream", &format!("group{round}"), "0"]);
        conn.call(&[
            "XREADGROUP",
            "GROUP",
            &format!("group{round}"),
            "me",
            "COUNT",
            "100",
            "STREAMS",
            "stream",
            ">",
        ]);
        if round == 0 {
            assert_eq!(conn.call(&["SELECT", "3"]), Value::ok());
            assert_eq!(conn.call(&["SET", "elsewhere", "1"]), Value::ok());
            assert_eq!(conn.call(&["FLUSHDB"]), Value::ok());
            assert_eq!(conn.call(&["SET", "elsewhere", "2"]), Value::ok());
            assert_eq!(conn.call(&["SELECT", "0"]), Value::ok());
            assert_eq!(conn.call(&["SAVE"]), Value::ok());
        }
    }
    server.kill();
    fs::remove_dir_all(server.dir().join("backups")).unwrap();
    server
}

/// Whether it was well, and what it said.
fn tarn(words: &[&Path]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tarn")).args(words).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

fn check(dir: &Path) -> (bool, String) {
    tarn(&[Path::new("check"), dir])
}

fn files(dir: &Path, of: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_file() && of(path.file_name().unwrap().to_str().unwrap()));
    found.sort_by_key(|path| fs::metadata(path).unwrap().len());
    found
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// What is there has the value that it had. Returns how many strings there are.
fn served(conn: &mut Conn) -> usize {
    let mut found = 0;
    for number in 0..KEYS {
        let reply = conn.call(&["GET", &format!("s{number}")]);
        if !reply.is_nil() {
            assert_eq!(reply, Value::bulk(text(number)));
            found += 1;
        }
    }
    for number in 0..ELEMENTS {
        let reply = conn.call(&["HGET", "hash", &format!("e{number}")]);
        assert!(reply.is_nil() || reply == Value::bulk(text(number)), "{reply:?}");
    }
    found
}

#[test]
fn a_whole_directory_is_found_whole_and_salvaged_as_it_is() {
    let whole = killed();
    let (is_good, said) = check(&whole.dir());
    assert!(is_good && said.contains("nothing is damaged"), "{said}");
    assert!(said.contains(&format!("{} keys and", KEYS + 9)), "{said}");
    let new = tempfile::tempdir().unwrap().path().join("new");
    let (is_good, said) = tarn(&[Path::new("salvage"), &whole.dir(), &new]);
    assert!(is_good && said.contains(&format!("{} keys were written", KEYS + 9)), "{said}");
    assert!(check(&new).0);
    let (is_good, said) = tarn(&[Path::new("salvage"), &whole.dir(), &new]);
    assert!(!is_good && said.contains("exists already"), "{said}");

    // Both serve the same.
    let before = Server::start_on_copy(options(), &whole.dir());
    let after = Server::start_on_copy(options(), &new);
    assert_eq!(served(&mut after.conn()), KEYS);
    for command in [
        "DBSIZE",
        "HLEN hash",
        "SCARD set",
        "ZRANGE zset 0 -1 WITHSCORES",
        "LRANGE list 0 -1",
        "GET long",
        "XRANGE stream - +",
        "XPENDING stream group0",
        "XPENDING stream group1",
        "XLEN stream",
        "HTTL fields FIELDS 2 a b",
        "TTL due",
        "SELECT 3",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let (mut one, mut other) = (before.conn(), after.conn());
        let (one, other) = (one.call(&words), other.call(&words));
        match (&one, &other) {
            (Value::Int(one), Value::Int(other)) if command.starts_with("TTL") => assert!(one - other < 60),
            (Value::Array(_), Value::Array(_)) if command.starts_with("HTTL") => {}
            _ => assert_eq!(one, other, "{command}"),
        }
    }
    let mut conn = after.conn();
    conn.call(&["SELECT", "3"]);
    assert_eq!(conn.call(&["GET", "elsewhere"]), Value::bulk("2"));
    std::fs::remove_dir_all(new.parent().unwrap()).unwrap();
}

#[test]
fn damage_is_named_and_the_rest_is_salvaged() {
    let whole = killed();
    let mut rng = Rng::new(Rng::fresh_seed());
    let sst = |dir: &Path| files(&dir.join("sorted"), |name| name.ends_with(".sst"));
    let log = |dir: &Path| files(&dir.join("log"), |name| name.starts_with("log-"));
    for round in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        copy_files(&whole.dir(), dir.path());
        let file = match round {
            0 => log(dir.path()).pop().unwrap(),
            1 => dir.path().join("MARKS"),
            // The largest have the elements.
            _ => {
                let mut files = sst(dir.path());
                let place = files.len() - 1 - rng.below(2);
                files.swap_remove(place)
            }
        };
        let len = fs::metadata(&file).unwrap().len() as usize;
        let at = if round < 2 { len / 2 } else { rng.below(len) };
        flip(&file, at);
        let (is_good, said) = check(dir.path());
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(!is_good && said.contains(name), "{name} at {at} of {len}:\n{said}");

        let new = dir.path().join("new");
        let (is_good, said) = tarn(&[Path::new("salvage"), dir.path(), &new]);
        let is_written = said.contains("keys were written to");
        if !is_written {
            assert!(!is_good, "{said}");
            continue;
        }
        let (is_good, said) = check(&new);
        assert!(is_good, "what was salvaged from {name} at {at} is not whole:\n{said}");
        let server = Server::start_on_copy(options(), &new);
        let found = served(&mut server.conn());
        // A block has 8 KiB, and what is behind damage in the log is lost.
        assert!(found > KEYS / 4, "{name} at {at}: {found} strings are left");
        assert_eq!(server.conn().call(&["SET", "after", "1"]), Value::ok());
    }
}

#[test]
fn what_is_no_data_directory_or_is_in_use_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert!(!check(empty.path()).0);
    let (is_good, said) = check(&empty.path().join("nothing"));
    assert!(!is_good && said.contains("is not a directory"), "{said}");
    let server = Server::start(options());
    let (is_good, said) = check(&server.dir());
    assert!(!is_good && said.contains("in use"), "{said}");
}
