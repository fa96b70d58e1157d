//! Tombstones reach the sorted data only where it has something for them to delete.

use super::*;

fn key(number: u32) -> Vec<u8> {
    [&b"g\x01"[..], &number.to_be_bytes()].concat()
}

fn put_all(engine: &RocksEngine, count: u32) {
    let mut tx = engine.begin_write(Wait::Allowed);
    (0..count).for_each(|number| tx.put(FIXED, &key(number), &[b"value"]));
    tx.commit().unwrap();
}

fn delete_all(engine: &RocksEngine, count: u32) {
    let mut tx = engine.begin_write(Wait::Allowed);
    (0..count).for_each(|number| tx.delete(FIXED, &key(number)));
    tx.commit().unwrap();
}

fn rows(engine: &RocksEngine) -> usize {
    engine.inner.shards.forget_clean();
    scan_from(&engine.begin_read(Wait::Allowed), FIXED, b"g\x01", b"g\x02", Direction::Forward, usize::MAX)
        .len()
}

/// Tombstones in files.
fn deletions(engine: &RocksEngine) -> u64 {
    let name = SPACES[usize::from(FIXED.0)].name;
    let files = engine.inner.store.db().live_files().unwrap();
    files.iter().filter(|file| file.column_family_name == name).map(|file| file.num_deletions).sum()
}

#[test]
fn rows_that_were_never_written_back_need_none() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 100);
    delete_all(&engine, 100);
    // Something else of the space.
    put(&engine, FIXED, b"g\x03else", b"value");
    engine.write_back_now();
    assert_eq!((rows(&engine), deletions(&engine)), (0, 0));
    put_all(&engine, 3);
    assert_eq!(rows(&engine), 3);
}

#[test]
fn rows_in_the_sorted_data_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 100);
    engine.write_back_now();
    delete_all(&engine, 90);
    engine.write_back_now();
    assert_eq!((rows(&engine), deletions(&engine)), (10, 90));
    engine.crash();
    assert_eq!(rows(&open(dir.path())), 10);
}

#[test]
fn rows_of_an_older_set_of_the_same_unit_stay_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 100);
    // What was committed before a snapshot is sealed.
    let snapshot = engine.snapshot().unwrap();
    delete_all(&engine, 100);
    engine.write_back_now();
    assert_eq!(rows(&engine), 0);
    assert!(get_from(&snapshot, FIXED, &key(7)).is_some());
}
