//! Rows on their way from the tables to the sorted data are always somewhere.

use std::thread;

use super::*;

#[test]
fn rows_are_never_missing_while_they_move() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let key = |number: u16| [&b"aa"[..], &number.to_be_bytes()].concat();
    let generation = AtomicU64::new(0);
    let write_all = |value: u64| {
        let mut tx = engine.begin_write(Wait::Allowed);
        for number in 0..400 {
            tx.put(FIXED, &key(number), &[&value.to_be_bytes()]);
        }
        tx.commit().unwrap();
        generation.store(value, Ordering::SeqCst);
    };
    write_all(1);
    let is_done = AtomicBool::new(false);
    let newest = |value: &[u8]| u64::from_be_bytes(value.try_into().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 2..40 {
                write_all(round);
                match round % 4 {
                    0 => engine.write_back_now(),
                    1 => drop(engine.inner.freeze().unwrap()),
                    2 => drop(engine.snapshot().unwrap()),
                    _ => engine.inner.join_sealed(),
                }
                if round % 5 == 0 {
                    engine.inner.shards.forget_clean();
                }
            }
            is_done.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            let mut number = 0;
            while !is_done.load(Ordering::SeqCst) {
                let before = generation.load(Ordering::SeqCst);
                let value = get(&engine, FIXED, &key(number)).expect("a row is missing");
                assert!(newest(&value) >= before, "a row went back in time");
                number = (number + 1) % 400;
            }
        });
        scope.spawn(|| {
            let mut direction = Direction::Forward;
            while !is_done.load(Ordering::SeqCst) {
                let before = generation.load(Ordering::SeqCst);
                let pairs =
                    scan_from(&engine.begin_read(Wait::Allowed), FIXED, b"aa", b"ab", direction, 1000);
                assert_eq!(pairs.len(), 400, "{direction:?}");
                assert!(pairs.iter().all(|(_, value)| newest(value) >= before), "a row went back in time");
                let snapshot = engine.snapshot().unwrap();
                let pairs = scan_from(&snapshot, FIXED, b"", b"zz", direction, 1000);
                assert_eq!(pairs.len(), 400);
                assert!(pairs.windows(2).all(|two| two[0].1 == two[1].1), "half of a commit");
                direction = match direction {
                    Direction::Forward => Direction::Backward,
                    Direction::Backward => Direction::Forward,
                };
            }
        });
    });
}

#[test]
fn a_commit_that_races_with_a_snapshot_is_in_it_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for value in 0..3000_u32 {
                let mut tx = engine.begin_write(Wait::Allowed);
                for group in 0..20_u8 {
                    tx.put(FIXED, &[group, group, 1], &[&value.to_be_bytes()]);
                }
                tx.commit().unwrap();
            }
            is_done.store(true, Ordering::SeqCst);
        });
        while !is_done.load(Ordering::SeqCst) {
            let snapshot = engine.snapshot().unwrap();
            let pairs = scan_from(&snapshot, FIXED, b"", &[0xff; 3], Direction::Forward, 100);
            assert!(pairs.is_empty() || pairs.len() == 20);
            assert!(pairs.windows(2).all(|two| two[0].1 == two[1].1), "half of a commit");
        }
    });
}

#[test]
fn frequent_snapshots_leave_few_tables() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for number in 0..200_u16 {
        put(&engine, FIXED, &number.to_be_bytes(), &number.to_be_bytes());
        drop(engine.snapshot().unwrap());
        drop(engine.snapshot().unwrap());
        if number % 10 == 0 {
            engine.inner.join_sealed();
        }
    }
    engine.inner.join_sealed();
    assert!(engine.stats().frozen_tables < 12, "{}", engine.stats().frozen_tables);
    for number in 0..200_u16 {
        assert_eq!(get(&engine, FIXED, &number.to_be_bytes()).unwrap(), number.to_be_bytes());
    }
}

#[test]
fn the_tables_are_frozen_and_written_back_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryBudget { dirty_bytes: 4 << 20, ..BUDGET };
    let engine = RocksEngine::open(OpenOptions { memory, ..options(dir.path()) }).unwrap();
    let mut number = 0_u32;
    while engine.stats().write_backs < 3 {
        put(&engine, FIXED, &number.to_be_bytes(), &[3; 500]);
        number += 1;
        if number.is_multiple_of(16) {
            engine.flush().unwrap();
        }
        while engine.pressure() > 1.0 {
            thread::yield_now();
        }
        assert!(number < 1_000_000, "nothing was written back");
    }
    let check = |engine: &RocksEngine| {
        let read = engine.begin_read(Wait::Allowed);
        let pairs = scan_from(&read, FIXED, b"", &[0xff; 5], Direction::Forward, usize::MAX);
        assert_eq!(pairs.len(), number as usize);
        assert!(pairs.iter().enumerate().all(|(at, (key, _))| *key == (at as u32).to_be_bytes()));
    };
    check(&engine);
    let budget = BUDGET.row_cache_bytes as u64;
    assert!(engine.stats().row_cache_bytes <= budget + (1 << 20), "{}", engine.stats().row_cache_bytes);
    drop(engine);
    check(&open(dir.path()));
}

#[test]
fn what_is_not_in_memory_is_not_waited_for_unless_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put(&engine, FIXED, b"aakey", b"value");
    engine.write_back_now();
    drop(engine);
    let engine = open(dir.path());
    let hurried = engine.begin_read(Wait::Never);
    let mut out = b"before".to_vec();
    let range = Range { start: b"aa", end: b"ab" };
    assert!(matches!(hurried.get(FIXED, b"aakey", &mut out), Err(Error::NotResident)));
    assert_eq!(out, b"before");
    let mut calls = 0;
    let many = hurried.get_many(FIXED, &[b"aakey"], &mut |_, _| calls += 1);
    assert!(matches!(many, Err(Error::NotResident)));
    let scan = hurried.scan(FIXED, range, Direction::Forward, 9, &mut |_, _| {
        calls += 1;
        ControlFlow::Continue(())
    });
    assert!(matches!(scan, Err(Error::NotResident)));
    assert_eq!(calls, 0);

    assert_eq!(get(&engine, FIXED, b"aakey").unwrap(), b"value");
    scan_from(&engine.begin_read(Wait::Allowed), FIXED, b"aa", b"ab", Direction::Forward, 9);
    assert!(hurried.get(FIXED, b"aakey", &mut out).unwrap());
    assert_eq!(out, b"beforevalue");
    let pairs = scan_from(&hurried, FIXED, b"aa", b"ab", Direction::Forward, 9);
    assert_eq!(pairs, [(b"aakey".to_vec(), b"value".to_vec())]);
}

#[test]
fn a_hurried_scan_tells_no_dirty_row_in_place_of_one_that_is_not_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    put(&engine, FIXED, b"aab", b"sorted");
    put(&engine, FIXED, b"aad", b"sorted");
    engine.write_back_now();
    drop(engine);
    let engine = open(dir.path());
    for key in [b"aaa", b"aac", b"aae"] {
        put(&engine, FIXED, key, b"dirty");
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let mut told = Vec::new();
        let hurried = engine.begin_read(Wait::Never);
        let range = Range { start: b"aa", end: b"ab" };
        let outcome = hurried.scan(FIXED, range, direction, 3, &mut |key, _| {
            told.push(key.to_vec());
            if told.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(outcome, Err(Error::NotResident)), "{direction:?}: {outcome:?}, {told:?}");
    }
    let patient = engine.begin_read(Wait::Allowed);
    assert_eq!(scan_from(&patient, FIXED, b"aa", b"ab", Direction::Forward, 9).len(), 5);
}

#[test]
fn a_hurried_scan_gives_up_where_a_patient_one_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    // More deleted rows at the head of a queue than are passed over in a hurry, in the tables and below.
    let mut tx = engine.begin_write(Wait::Allowed);
    for number in 0..5000_u16 {
        tx.put(QUEUE, &number.to_be_bytes(), &[b"x"]);
    }
    tx.put(QUEUE, b"\xffend", &[b"there"]);
    tx.commit().unwrap();
    engine.write_back_now();
    // Compaction may not remove what a snapshot still sees, so the deleted rows stay in the way.
    let snapshot = engine.snapshot().unwrap();
    let mut tx = engine.begin_write(Wait::Allowed);
    for number in 0..5000_u16 {
        tx.delete(QUEUE, &number.to_be_bytes());
    }
    tx.commit().unwrap();
    let want = [(b"\xffend".to_vec(), b"there".to_vec())];
    for _ in ["dirty", "sorted"] {
        let patient = engine.begin_read(Wait::Allowed);
        assert_eq!(scan_from(&patient, QUEUE, b"", b"\xff\xff", Direction::Forward, 1), want);
        let hurried = engine.begin_read(Wait::Never);
        let range = Range { start: b"", end: b"\xff\xff" };
        let outcome =
            hurried.scan(QUEUE, range, Direction::Forward, 1, &mut |_, _| ControlFlow::Continue(()));
        assert!(matches!(outcome, Err(Error::NotResident)), "{outcome:?}");
        // With a lower bound behind the deleted rows both find it. A compaction may move the row into a new file
        // in between; asking patiently brings it into memory again.
        let range = Range { start: b"\xff", ..range };
        let found = (0..100).any(|_| {
            assert_eq!(scan_from(&patient, QUEUE, range.start, range.end, Direction::Forward, 1), want);
            let mut rows = 0;
            let outcome = hurried.scan(QUEUE, range, Direction::Forward, 1, &mut |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            });
            outcome.is_ok() && rows == 1
        });
        assert!(found);
        engine.write_back_now();
    }
    drop(snapshot);
}

#[test]
fn commits_that_nobody_flushes_are_written_before_they_pile_up() {
    let dir = tempfile::tempdir().unwrap();
    // Without a tick that writes them.
    let engine =
        RocksEngine::open(OpenOptions { durability: Durability::Os, ..options(dir.path()) }).unwrap();
    let value = vec![0; log::PENDING_LIMIT_BYTES / 8 - 64];
    for number in 0..8 {
        put(&engine, FIXED, &[number], &value);
        assert_eq!(engine.durable(), Position(0), "after {number}");
    }
    put(&engine, FIXED, b"one more", &value);
    assert_eq!(engine.durable(), Position(9));
}
