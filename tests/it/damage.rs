//! Damaged data directories under the real server: it refuses and names the file, or it serves what is right.
//!
//! `TARN_FLIPS` sets the number of random flips, `TARN_FLIP_SEED` repeats them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Options, Program, Server};
use crate::rng::Rng;
use crate::value::Value;

/// Keys 0 to `SORTED` are in the sorted data, in three units; those up to `ALL` are in the log.
const SORTED: usize = 1500;
const ALL: usize = 2000;
const DEFAULT_FLIPS: usize = 24;

fn options() -> Options {
    Options::new(Program::Rocksdb).with("appendfsync", "everysec")
}

fn value(number: usize) -> String {
    format!("value-{number}-{}", "x".repeat(number % 97))
}

/// A database that was killed.
fn killed() -> Server {
    let mut server = Server::start(options());
    let mut conn = server.conn();
    for number in 0..ALL {
        assert_eq!(conn.call(&["SET", &format!("key-{number}"), &value(number)]), Value::ok());
        if (number + 1) % (SORTED / 3) == 0 && number < SORTED {
            assert_eq!(conn.call(&["SAVE"]), Value::ok());
        }
    }
    server.kill();
    fs::remove_dir_all(server.dir().join("backups")).unwrap();
    server
}

/// How many keys are there; none has a value that it never had. Errors are counted as well.
fn count(server: &Server) -> (usize, usize) {
    let mut conn = server.conn();
    let (mut found, mut errors) = (0, 0);
    for number in 0..ALL {
        match conn.call(&["GET", &format!("key-{number}")]) {
            Value::Error(_) => errors += 1,
            reply if reply.is_nil() => {}
            reply => {
                assert_eq!(reply, Value::bulk(value(number)));
                found += 1;
            }
        }
    }
    (found, errors)
}

fn last_segment(dir: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> =
        fs::read_dir(dir.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_file() && fs::metadata(path).unwrap().len() > 28);
    found.sort();
    found.pop().unwrap()
}

fn manifest(dir: &Path) -> PathBuf {
    let current = fs::read_to_string(dir.join("sorted/CURRENT")).unwrap();
    dir.join("sorted").join(current.trim_end())
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

type Damage = fn(&Path);

const DAMAGES: &[(&str, &str, Damage)] = &[
    ("a flipped bit in a header", "log-", |dir| change(&last_segment(dir), |bytes| bytes[17] ^= 8)),
    ("a zeroed first page", "log-", |dir| change(&last_segment(dir), |bytes| bytes[..4096].fill(0))),
    ("a missing log", "log", |dir| fs::remove_dir_all(dir.join("log")).unwrap()),
    ("a missing segment", "log-", |dir| fs::remove_file(last_segment(dir)).unwrap()),
    ("a cut MANIFEST", "went back in time", |dir| {
        change(&manifest(dir), |bytes| bytes.truncate(bytes.len() - 40));
    }),
    ("missing marks", "MARKS", |dir| fs::remove_file(dir.join("MARKS")).unwrap()),
];

#[test]
fn damage_is_refused_and_the_override_starts() {
    let whole = killed();
    let server = Server::start_on_copy(options(), &whole.dir());
    assert_eq!(count(&server), (ALL, 0));
    drop(server);
    for (case, names, damage) in DAMAGES {
        let dir = tempfile::tempdir().unwrap();
        crate::harness::copy_files(&whole.dir(), dir.path());
        damage(dir.path());
        let Err((status, output)) = Server::try_start_on_copy(options(), dir.path()) else {
            panic!("{case}: it started");
        };
        assert_eq!(status.code(), Some(1), "{case}");
        assert!(output.contains(names), "{case}:\n{output}");
        assert!(output.contains("--recover-truncate-log yes"), "{case}:\n{output}");
        let anyway = options().with("recover-truncate-log", "yes");
        let mut server = Server::start_on_copy(anyway, dir.path());
        let (found, errors) = count(&server);
        assert_eq!(errors, 0, "{case}");
        let least = if names.contains("went back") { SORTED * 2 / 3 } else { SORTED };
        assert!(found >= least, "{case}: {found}");
        assert!(server.log().contains("as the operator asked"), "{case}:\n{}", server.log());
        assert_eq!(server.conn().call(&["SET", "after", "all"]), Value::ok());
        assert!(server.stop().success());
        server.restart();
        assert_eq!(count(&server), (found, 0), "{case}");
    }
}

#[test]
fn no_flipped_bit_is_served_or_hangs() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("TARN_FLIP_SEED").unwrap_or_else(Rng::fresh_seed);
    let flips = number("TARN_FLIPS").unwrap_or(DEFAULT_FLIPS as u64);
    println!("TARN_FLIP_SEED={seed}");
    let mut rng = Rng::new(seed);
    let whole = killed();
    let mut files = Vec::new();
    for folder in [whole.dir(), whole.dir().join("log"), whole.dir().join("sorted")] {
        files.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.retain(|path| path.is_file() && fs::metadata(path).unwrap().len() > 0);
    files.sort();
    let (mut refused, mut served) = (0, 0);
    for _ in 0..flips {
        let dir = tempfile::tempdir().unwrap();
        crate::harness::copy_files(&whole.dir(), dir.path());
        let file = files[rng.below(files.len())].strip_prefix(whole.dir()).unwrap().to_owned();
        let bit = rng.below(fs::metadata(dir.path().join(&file)).unwrap().len() as usize * 8);
        change(&dir.path().join(&file), |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        match Server::try_start_on_copy(options(), dir.path()) {
            Err((status, output)) => {
                refused += 1;
                assert_eq!(status.code(), Some(1), "{file:?} bit {bit}:\n{output}");
                assert!(
                    output.contains("could not open the data directory"),
                    "{file:?} bit {bit}:\n{output}"
                );
            }
            Ok(server) => {
                served += 1;
                let (found, errors) = count(&server);
                assert_eq!(found + errors, ALL, "{file:?} bit {bit}: keys are missing:\n{}", server.log());
            }
        }
    }
    println!("{flips} flips: {refused} starts refused, {served} served every key or an error");
}
