//! Snapshots, and deleting what they see.

use super::{END, GROUPED, Harness, PLAIN, all, committed, delete, get, keys, local, owned, put, scan};
use crate::{Direction, Engine, Range, Read, Wait, Write};

pub fn a_snapshot_stays_as_it_was(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("changed", "1"), ("deleted", "1"), ("rewritten", "1")]);
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, [("rewritten", "2"), ("young", "1")]);
    let snapshot = engine.snapshot().unwrap();
    let expected = owned([("changed", "1"), ("deleted", "1"), ("rewritten", "2"), ("young", "1")]);
    let check = || {
        assert_eq!(all(&snapshot, PLAIN), expected);
        for (key, value) in &expected {
            assert_eq!(get(&snapshot, PLAIN, key).as_ref(), Some(value));
        }
        assert_eq!(get(&snapshot, PLAIN, "new"), None);
        let mut seen = Vec::new();
        snapshot
            .get_many(PLAIN, &[b"young", b"new", b"deleted"], &mut |_, value| {
                seen.push(value.map(<[u8]>::to_vec))
            })
            .unwrap();
        assert_eq!(seen, [Some(b"1".to_vec()), None, Some(b"1".to_vec())]);
    };
    check();
    put(&engine, PLAIN, [("changed", "3"), ("new", "3"), ("young", "3")]);
    delete(&engine, PLAIN, ["deleted"]);
    check();
    harness.move_rows_down(&engine);
    check();
    put(&engine, PLAIN, [("deleted", "4")]);
    delete(&engine, PLAIN, ["changed", "rewritten", "young"]);
    harness.move_rows_down(&engine);
    check();
    assert_eq!(all(&engine.snapshot().unwrap(), PLAIN), owned([("deleted", "4"), ("new", "3")]));
}

pub fn a_snapshot_outlives_many_commits(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("{index:03}").into_bytes();
    put(&engine, PLAIN, (0..100).map(|index| (key(index), "first")));
    let snapshot = engine.snapshot().unwrap();
    for round in 0..40 {
        for index in 0..100 {
            if (index + round) % 7 == 0 {
                delete(&engine, PLAIN, [key(index)]);
            } else {
                put(&engine, PLAIN, [(key(index), round.to_string())]);
            }
        }
        if round % 10 == 9 {
            harness.move_rows_down(&engine);
        }
        assert_eq!(scan(&snapshot, PLAIN, Range { start: b"0", end: b"1" }, Direction::Backward, 5).len(), 5);
    }
    assert_eq!(
        all(&snapshot, PLAIN),
        (0..100).map(|index| (key(index), b"first".to_vec())).collect::<Vec<_>>()
    );
    drop(snapshot);
    let live = (0..100).filter(|index| (index + 39) % 7 != 0);
    assert_eq!(
        all(&engine.begin_read(Wait::Allowed), PLAIN),
        live.map(|index| (key(index), b"39".to_vec())).collect::<Vec<_>>()
    );
}

pub fn several_snapshots_see_their_own_time(harness: &impl Harness) {
    let engine = harness.open();
    let mut snapshots = Vec::new();
    for time in 0..12_u8 {
        snapshots.push((time, engine.snapshot().unwrap()));
        put(&engine, PLAIN, [("same", [time]), ("own", [time])]);
        put(&engine, GROUPED, [([time], [time])]);
        if time % 4 == 3 {
            harness.move_rows_down(&engine);
        }
    }
    // Released out of order.
    for index in [5, 0, 8, 3, 3, 1, 5, 0, 0, 1, 1, 0] {
        for (time, snapshot) in &snapshots {
            let expected = time.checked_sub(1).map(|before| vec![before]);
            assert_eq!(get(snapshot, PLAIN, "same"), expected);
            assert_eq!(all(snapshot, GROUPED).len(), usize::from(*time));
        }
        drop(snapshots.remove(index));
        delete(&engine, PLAIN, ["own"]);
    }
    assert_eq!(all(&engine.snapshot().unwrap(), PLAIN), owned([(b"same", [11])]));
}

pub fn a_snapshot_does_not_see_an_open_write(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1")]);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"a", &[b"2"]);
    let before = engine.snapshot().unwrap();
    // Where commits take their time from reads, the first read is what a snapshot is of.
    assert_eq!(all(&before, PLAIN), owned([("a", "1")]));
    write.put(PLAIN, b"b", &[b"2"]);
    write.commit().unwrap();
    let after = engine.snapshot().unwrap();
    assert_eq!(all(&before, PLAIN), owned([("a", "1")]));
    assert_eq!(all(&after, PLAIN), owned([("a", "2"), ("b", "2")]));
}

pub fn a_snapshot_is_read_from_another_thread(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1")]);
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, [("b", "1")]);
    let snapshot = engine.snapshot().unwrap();
    put(&engine, PLAIN, [("a", "2")]);
    let rows = std::thread::spawn(move || all(&snapshot, PLAIN)).join().unwrap();
    assert_eq!(rows, owned([("a", "1"), ("b", "1")]));
}

pub fn deleting_a_range(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1"), ("b", "1"), ("bb", "1"), ("c", "1")]);
    put(&engine, GROUPED, [("b", "other space")]);
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, [("bc", "2"), ("d", "2")]);
    local(harness, &engine).delete_range(PLAIN, Range { start: b"b", end: b"c" }).unwrap();
    let left = owned([("a", "1"), ("c", "1"), ("d", "2")]);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), left);
    assert_eq!(committed(&engine, PLAIN, "bb"), None);
    assert_eq!(committed(&engine, PLAIN, "bc"), None);
    assert_eq!(committed(&engine, GROUPED, "b"), Some(b"other space".to_vec()));
    // What is written afterwards stays.
    put(&engine, PLAIN, [("bb", "3")]);
    harness.move_rows_down(&engine);
    assert_eq!(committed(&engine, PLAIN, "bb"), Some(b"3".to_vec()));
    // Nothing to delete, and bounds that hold nothing.
    local(harness, &engine).delete_range(PLAIN, Range { start: b"x", end: b"y" }).unwrap();
    local(harness, &engine).delete_range(PLAIN, Range { start: b"c", end: b"c" }).unwrap();
    local(harness, &engine).delete_range(PLAIN, Range { start: b"d", end: b"a" }).unwrap();
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN).len(), 4);
    local(harness, &engine).delete_range(PLAIN, Range { start: b"", end: END }).unwrap();
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), []);
    assert_eq!(committed(&engine, GROUPED, "b"), Some(b"other space".to_vec()));
}

pub fn deleting_a_range_of_many_rows(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("{index:05}").into_bytes();
    put(&engine, PLAIN, (0..5000).map(|index| (key(index), "old")));
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, (0..5000).step_by(3).map(|index| (key(index), "new")));
    local(harness, &engine).delete_range(PLAIN, Range { start: &key(10), end: &key(4990) }).unwrap();
    let read = engine.begin_read(Wait::Allowed);
    let left: Vec<_> = (0..10).chain(4990..5000).map(key).collect();
    assert_eq!(keys(&read, PLAIN, super::ALL, Direction::Forward, usize::MAX), left);
    harness.move_rows_down(&engine);
    assert_eq!(keys(&read, PLAIN, super::ALL, Direction::Backward, 11)[10], key(9));
}

pub fn a_snapshot_survives_the_deletion_of_its_range(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("{index:04}").into_bytes();
    put(&engine, PLAIN, (0..3000).step_by(2).map(|index| (key(index), "old")));
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, (1..3000).step_by(2).map(|index| (key(index), "new")));
    let snapshot = engine.snapshot().unwrap();
    let before = all(&snapshot, PLAIN);
    assert_eq!(before.len(), 3000);
    local(harness, &engine).delete_range(PLAIN, super::ALL).unwrap();
    assert!(all(&snapshot, PLAIN) == before);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), []);
    put(&engine, PLAIN, [(key(7), "again")]);
    harness.move_rows_down(&engine);
    assert!(all(&snapshot, PLAIN) == before);
    assert_eq!(get(&snapshot, PLAIN, key(7)), Some(b"new".to_vec()));
    assert_eq!(get(&snapshot, PLAIN, key(8)), Some(b"old".to_vec()));
    drop(snapshot);
    assert_eq!(all(&engine.snapshot().unwrap(), PLAIN), owned([(key(7), "again")]));
}
