//! What a start does with a log of several units.

use super::*;

/// Rows of a mebibyte that tell their unit, flushed.
fn put_unit(engine: &RocksEngine, unit: u8) {
    let mut tx = engine.begin_write(Wait::Allowed);
    for number in 0..=255 {
        tx.put(FIXED, &[b'u', unit, number], &[&[unit; 4096]]);
    }
    tx.put(FIXED, b"last", &[&[unit]]);
    tx.commit().unwrap();
    engine.flush().unwrap();
}

fn check(engine: &RocksEngine, units: u8) {
    for unit in 0..units {
        assert_eq!(get(engine, FIXED, &[b'u', unit, 7]), Some(vec![unit; 4096]));
        let read = engine.begin_read(Wait::Allowed);
        let rows = scan_from(&read, FIXED, &[b'u', unit], &[b'u', unit + 1], Direction::Forward, usize::MAX);
        assert_eq!(rows.len(), 256);
    }
    assert_eq!(get(engine, FIXED, b"last"), Some(vec![units - 1]));
}

#[test]
fn units_wait_for_write_back_as_far_as_they_fit() {
    let dir = tempfile::tempdir().unwrap();
    let refuse = |_: &'static str| Err(Error::Io("not now".to_owned()));
    let steps = Steps { hook: Some(Box::new(refuse)) };
    let engine = open::open(options(dir.path()), Arc::new(files::OsFiles), steps).unwrap();
    for unit in 0..6 {
        put_unit(&engine, unit);
        engine.inner.freeze().unwrap();
    }
    check(&engine, 6);
    engine.crash();
    // All in the tables; some of it in units that wait; more than may wait.
    for (again, dirty_bytes) in (0..).zip([64 << 20, 14 << 20, 4 << 20]) {
        let memory = MemoryBudget { dirty_bytes, ..BUDGET };
        let refuse = |_: &'static str| Err(Error::Io("not now".to_owned()));
        // What cannot wait is written while it opens; nothing keeps it from that in the last round.
        let steps = if again < 2 { Steps { hook: Some(Box::new(refuse)) } } else { Steps::default() };
        let options = OpenOptions { memory, ..options(dir.path()) };
        let engine = open::open(options, Arc::new(files::OsFiles), steps).unwrap();
        let queued = engine.inner.units.lock().queue.len();
        match again {
            0 => assert_eq!(queued, 0),
            1 => assert!(queued > 0),
            _ => assert!(engine.inner.store.applied().unwrap().lsn > 0),
        }
        check(&engine, 6 + again);
        put_unit(&engine, 6 + again);
        check(&engine, 7 + again);
        if again == 2 {
            engine.write_back_now();
            assert_eq!(engine.stats().dirty_rows, 0);
            check(&engine, 7 + again);
        }
        engine.crash();
    }
    check(&open(dir.path()), 9);
}
