//! Damaged data directories under the real server: it refuses and names the file, or it serves what is right.
//!
//! `TARN_FLIPS` sets the number of random flips, `TARN_FLIP_KEYS` the size of the database, `TARN_FLIP_SEED` repeats them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Options, Program, Server, eventually};
use crate::rng::Rng;
use crate::value::Value;

const DEFAULT_KEYS: u64 = 2000;
const DEFAULT_FLIPS: u64 = 24;
/// Keys that are asked for at a time.
const PIPELINE: usize = 200;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Those up to [`sorted`] are in the sorted data, in three units; the others are in the log.
fn all() -> usize {
    number("TARN_FLIP_KEYS").unwrap_or(DEFAULT_KEYS) as usize
}

fn sorted() -> usize {
    all() / 4 * 3
}

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
    for number in 0..all() {
        assert_eq!(conn.call(&["SET", &format!("key-{number}"), &value(number)]), Value::ok());
        if (number + 1) % (sorted() / 3) == 0 && number < sorted() {
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
    let numbers: Vec<usize> = (0..all()).collect();
    for numbers in numbers.chunks(PIPELINE) {
        let commands: Vec<_> =
            numbers.iter().map(|number| ["GET".to_owned(), format!("key-{number}")]).collect();
        for (number, reply) in numbers.iter().zip(conn.call_all(&commands)) {
            match reply {
                Value::Error(_) => errors += 1,
                reply if reply.is_nil() => {}
                reply => {
                    assert_eq!(reply, Value::bulk(value(*number)));
                    found += 1;
                }
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
    assert_eq!(count(&server), (all(), 0));
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
        let least = if names.contains("went back") { sorted() * 2 / 3 } else { sorted() };
        assert!(found >= least, "{case}: {found}");
        eventually(case, || server.log().contains("as the operator asked"));
        assert_eq!(server.conn().call(&["SET", "after", "all"]), Value::ok());
        assert!(server.stop().success());
        server.restart();
        assert_eq!(count(&server), (found, 0), "{case}");
    }
}

/// A database, and what becomes of it when single bits of its files are flipped.
pub struct Flips {
    whole: Server,
    files: Vec<PathBuf>,
}

impl Flips {
    pub fn new() -> Flips {
        let whole = killed();
        let mut files = Vec::new();
        for folder in [whole.dir(), whole.dir().join("log"), whole.dir().join("sorted")] {
            files.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        }
        files.retain(|path| path.is_file() && fs::metadata(path).unwrap().len() > 0);
        files.sort();
        Flips { whole, files }
    }

    /// One of them in a copy. Whether the start was refused; if not, every key is there or an error.
    pub fn flip(&self, rng: &mut Rng) -> bool {
        let dir = tempfile::tempdir().unwrap();
        crate::harness::copy_files(&self.whole.dir(), dir.path());
        let file = self.files[rng.below(self.files.len())].strip_prefix(self.whole.dir()).unwrap().to_owned();
        let bit = rng.below(fs::metadata(dir.path().join(&file)).unwrap().len() as usize * 8);
        change(&dir.path().join(&file), |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        match Server::try_start_on_copy(options(), dir.path()) {
            Err((status, output)) => {
                assert_eq!(status.code(), Some(1), "{file:?} bit {bit}:\n{output}");
                assert!(
                    output.contains("could not open the data directory"),
                    "{file:?} bit {bit}:\n{output}"
                );
                true
            }
            Ok(server) => {
                let (found, errors) = count(&server);
                assert_eq!(found + errors, all(), "{file:?} bit {bit}: keys are missing:\n{}", server.log());
                // Whatever is damaged, writes go on.
                assert_eq!(server.conn().call(&["SET", "after", "all"]), Value::ok(), "{file:?} bit {bit}");
                false
            }
        }
    }
}

#[test]
fn no_flipped_bit_is_served_or_hangs() {
    let seed = number("TARN_FLIP_SEED").unwrap_or_else(Rng::fresh_seed);
    let flips = number("TARN_FLIPS").unwrap_or(DEFAULT_FLIPS);
    println!("TARN_FLIP_SEED={seed}");
    let mut rng = Rng::new(seed);
    let database = Flips::new();
    let refused = (0..flips).filter(|_| database.flip(&mut rng)).count() as u64;
    println!("{flips} flips: {refused} starts refused, {} served every key or an error", flips - refused);
}
