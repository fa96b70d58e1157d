//! Groups that nobody will read again.

use super::*;

fn key(group: u8, number: u32) -> Vec<u8> {
    [&[b'g', group][..], &number.to_be_bytes()].concat()
}

fn put_all(engine: &RocksEngine, group: u8, numbers: std::ops::Range<u32>) {
    let mut tx = engine.begin_write(Wait::Allowed);
    numbers.for_each(|number| tx.put(FIXED, &key(group, number), &[b"value"]));
    tx.commit().unwrap();
}

/// What the sorted data holds of a group.
fn sorted_rows(engine: &RocksEngine, group: u8) -> usize {
    let snapshot = engine.snapshot().unwrap();
    let (start, end) = ([b'g', group], [b'g', group + 1]);
    scan_from(&snapshot, FIXED, &start, &end, Direction::Forward, usize::MAX).len()
}

#[test]
fn what_is_dirty_is_not_written_back_and_what_is_sorted_goes() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 1, 0..100);
    put_all(&engine, 2, 0..100);
    engine.write_back_now();
    put_all(&engine, 1, 50..200);
    put_all(&engine, 2, 50..200);
    put_all(&engine, 3, 0..100);
    let before = engine.stats().write_backs;
    assert!(engine.abandon(FIXED, &[b'g', 1]).unwrap());
    assert!(engine.abandon(FIXED, &[b'g', 3]).unwrap());
    assert_eq!(engine.stats().write_backs, before, "nothing waits for them");
    engine.write_back_now();
    assert_eq!([1, 2, 3].map(|group| sorted_rows(&engine, group)), [0, 200, 0]);
    // Neither is in the cache of clean rows.
    assert_eq!(get(&engine, FIXED, &key(1, 199)), None);
    assert_eq!(get(&engine, FIXED, &key(3, 7)), None);
    assert_eq!(get(&engine, FIXED, &key(2, 199)).as_deref(), Some(&b"value"[..]));
    engine.crash();
    let engine = open(dir.path());
    assert_eq!([1, 2, 3].map(|group| sorted_rows(&engine, group)), [0, 200, 0]);
}

#[test]
fn a_unit_that_was_cut_before_is_written_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 1, 0..100);
    let turn = engine.inner.write_back_turn.lock();
    let number = engine.inner.freeze().unwrap();
    assert!(engine.abandon(FIXED, &[b'g', 1]).unwrap());
    drop(turn);
    engine.inner.wait_for_unit(number).unwrap();
    // The end of the group may be in the next unit, and that is not synced yet.
    assert_eq!(sorted_rows(&engine, 1), 100);
    engine.write_back_now();
    assert_eq!(sorted_rows(&engine, 1), 0);
}

#[test]
fn what_is_kept_of_them_in_memory_goes_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 1, 0..100);
    put_all(&engine, 2, 0..100);
    engine.write_back_now();
    let (start, end) = ([b'g', 1], [b'g', 3]);
    scan_from(&engine.begin_read(Wait::Allowed), FIXED, &start, &end, Direction::Forward, usize::MAX);
    let before = engine.stats().row_cache_bytes;
    assert!(engine.abandon(FIXED, &[b'g', 1]).unwrap());
    let after = engine.stats().row_cache_bytes;
    assert!(after < before * 6 / 10 && after > before * 4 / 10, "{after} of {before} bytes");
}

#[test]
fn snapshots_keep_them() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put_all(&engine, 1, 0..100);
    engine.write_back_now();
    put_all(&engine, 1, 100..200);
    let snapshot = engine.snapshot().unwrap();
    assert!(engine.abandon(FIXED, &[b'g', 1]).unwrap());
    engine.write_back_now();
    let rows = scan_from(&snapshot, FIXED, &[b'g', 1], &[b'g', 2], Direction::Forward, usize::MAX);
    assert_eq!(rows.len(), 200);
    assert_eq!(sorted_rows(&engine, 1), 0);
}

#[test]
fn only_groups_can_be_abandoned_and_not_any_number_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for part in [&b""[..], b"g", b"g\x01\x00"] {
        assert!(engine.abandon(FIXED, part).is_err(), "{part:?}");
    }
    let group = |number: u16| number.to_be_bytes();
    let taken = (0..u16::MAX).take_while(|number| engine.abandon(FIXED, &group(*number)).unwrap()).count();
    assert!((1000..10_000).contains(&taken), "{taken}");
    engine.write_back_now();
    assert!(engine.abandon(FIXED, b"g\x01").unwrap());
}
