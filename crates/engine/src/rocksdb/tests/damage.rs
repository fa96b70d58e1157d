//! Damaged blocks of the sorted data: an error for who reads them, and for nobody else.

use std::fs;
use std::path::PathBuf;

use super::random::Random;
use super::*;

const ROWS: usize = 2000;
const EVERYTHING: Range<'static> = Range { start: b"", end: b"\xff" };

fn key(number: usize) -> Vec<u8> {
    format!("k{}{number:06}", number % 7).into_bytes()
}

/// Does not compress.
fn value(number: usize, round: usize) -> Vec<u8> {
    let mut random = Random::new((number * 1000 + round) as u64 + 1);
    (0..125).flat_map(|_| random.next().to_be_bytes()).collect()
}

fn largest_file(dir: &Path) -> PathBuf {
    let files = fs::read_dir(open::sorted_dir(dir)).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|end| end == "sst"));
    tables.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
}

/// A database whose lowest level has one damaged block. Returns the file.
fn damaged(dir: &Path) -> PathBuf {
    let engine = open(dir);
    for number in 0..ROWS {
        put(&engine, FIXED, &key(number), &value(number, 0));
    }
    engine.compact(FIXED, EVERYTHING).unwrap();
    drop(engine);
    let file = largest_file(dir);
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&file, bytes).unwrap();
    file
}

/// Reads rows that no round has written again. Returns how many are answered with an error, which names the file.
fn errors(engine: &RocksEngine, file: &Path) -> usize {
    let mut errors = 0;
    for number in (0..ROWS).filter(|number| number % 2 == 0) {
        let mut out = Vec::new();
        match engine.begin_read(Wait::Allowed).get(FIXED, &key(number), &mut out) {
            Ok(true) => assert_eq!(out, value(number, 0)),
            Ok(false) => panic!("row {number} is lost"),
            Err(Error::Corrupt { file: named, .. }) => {
                assert_eq!(named.file_name(), file.file_name());
                errors += 1;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    errors
}

#[test]
fn a_deleted_damaged_file_goes_even_if_a_compaction_had_it_when_it_was_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let file = damaged(dir.path());
    let engine = open(dir.path());
    assert!(errors(&engine, &file) > 0);
    // Files that a compaction has in its hands are not dropped.
    engine.inner.store.delete_range(FIXED, EVERYTHING, false).unwrap();
    engine.inner.store.note_files_left(FIXED, EVERYTHING).unwrap();
    engine.inner.store.damage().meet();
    engine.inner.store.step_around_damage().unwrap();
    assert!(!file.exists());
    engine.inner.store.step_around_damage().unwrap();
    assert_eq!(engine.parts(FIXED).unwrap().len(), 1, "the deletion itself");
}

#[test]
fn a_damaged_file_stays_where_another_range_was_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let file = damaged(dir.path());
    let engine = open(dir.path());
    let before = errors(&engine, &file);
    engine.inner.store.note_files_left(FIXED, Range { start: b"x", end: b"y" }).unwrap();
    engine.inner.store.damage().meet();
    engine.inner.store.step_around_damage().unwrap();
    assert!(file.exists(), "another range was deleted");
    assert_eq!(errors(&engine, &file), before);
}

#[test]
fn compaction_steps_around_a_damaged_block_and_writes_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let file = damaged(dir.path());
    let mut engine = open(dir.path());
    let before = errors(&engine, &file);
    assert!((1..10).contains(&before), "{before} rows of one block");
    assert_eq!(engine.stats().damaged_files, 1);
    for start in 0..2 {
        for round in 1..=20 {
            for number in (0..ROWS).filter(|number| number % 200 == 1) {
                put(&engine, FIXED, &key(number), &value(number, round));
            }
            engine.write_back_now();
            if round == 5 {
                engine.compact(FIXED, EVERYTHING).unwrap();
            }
        }
        assert_eq!(errors(&engine, &file), before, "start {start}");
        for number in (0..ROWS).filter(|number| number % 200 == 1) {
            assert_eq!(get(&engine, FIXED, &key(number)).unwrap(), value(number, 20));
        }
        let files = engine.parts(FIXED).unwrap().len();
        assert!(files < 16, "{files} files: those above the damaged one are put together");
        assert!(file.exists());
        assert_eq!(engine.stats().write_error, None);
        drop(engine);
        engine = open(dir.path());
    }
    // Once the damaged file is gone, compactions are RocksDB's own again.
    engine.delete_range(FIXED, EVERYTHING).unwrap();
    for round in 0..10 {
        put(&engine, FIXED, &key(round), &value(round, 0));
        engine.write_back_now();
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while file.exists() || engine.parts(FIXED).unwrap().len() > 8 {
        assert!(std::time::Instant::now() < deadline, "{:?}", engine.parts(FIXED));
        std::thread::yield_now();
    }
}
