//! Going back to a savepoint, and rows that are locked.

use std::collections::BTreeMap;

use super::{ALL, Dice, GROUPED, Harness, PLAIN, QUEUE, Row, all, committed, get, owned, put};
use crate::{Engine, Error, Read, Wait, Write};

/// Asserts that every way to read a transaction tells these rows of a space, of which `absent` is none.
fn check(read: &impl Read, space: crate::Space, rows: &[Row], absent: &[Vec<u8>]) {
    assert_eq!(all(read, space), rows);
    let names: Vec<&[u8]> = rows.iter().map(|row| &*row.0).chain(absent.iter().map(Vec::as_slice)).collect();
    let mut found = Vec::new();
    read.get_many(space, &names, &mut |_, value| found.push(value.map(<[u8]>::to_vec))).unwrap();
    let mut expected: Vec<_> = rows.iter().map(|row| Some(row.1.clone())).collect();
    expected.resize(names.len(), None);
    assert_eq!(found, expected);
    for (name, expected) in names.iter().zip(expected) {
        assert_eq!(get(read, space, name), expected);
    }
    for rank in [0, rows.len() / 2, rows.len()] {
        let mut shown = None;
        let missed =
            read.nth(space, ALL, rank, &mut |key, value| shown = Some((key.to_vec(), value.to_vec())));
        assert_eq!(shown.as_ref(), rows.get(rank), "the row of rank {rank}");
        assert_eq!(missed.unwrap(), shown.is_none().then_some(rows.len()));
    }
}

pub fn what_was_set_since_is_undone(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("kept", "1"), ("changed", "1"), ("deleted", "1")]);
    harness.move_rows_down(&engine);
    let mut write = engine.begin_write(Wait::Allowed);
    let start = write.savepoint();
    for _ in 0..2 {
        write.put(PLAIN, b"changed", &[b"2"]);
        write.put(PLAIN, b"new", &[b"2"]);
        write.delete(PLAIN, b"deleted");
        write.put(QUEUE, b"q", &[b"2"]);
        assert_eq!(write.changes(), 4);
        check(&write, PLAIN, &owned([("changed", "2"), ("kept", "1"), ("new", "2")]), &["deleted".into()]);
        write.rollback_to(start);
        assert_eq!(write.changes(), 0);
        assert!(!write.is_dirty());
        check(&write, PLAIN, &owned([("changed", "1"), ("deleted", "1"), ("kept", "1")]), &["new".into()]);
        check(&write, QUEUE, &[], &["q".into()]);
        assert!(!write.get_own(PLAIN, b"new", &mut Vec::new()).unwrap());
    }
    write.put(PLAIN, b"later", &[b"3"]);
    write.commit().unwrap();
    let expected = owned([("changed", "1"), ("deleted", "1"), ("kept", "1"), ("later", "3")]);
    check(&engine.begin_read(Wait::Allowed), PLAIN, &expected, &["new".into()]);
    assert_eq!(committed(&engine, QUEUE, "q"), None);
}

/// Rows that the transaction had set itself before the savepoint.
pub fn rows_of_before_are_as_they_were(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("f", "0")]);
    let mut write = engine.begin_write(Wait::Allowed);
    for key in ["a", "b", "c", "d"] {
        write.put(PLAIN, key.as_bytes(), &[b"before"]);
    }
    write.delete(PLAIN, b"e");
    write.delete(PLAIN, b"f");
    let place = write.savepoint();
    write.put(PLAIN, b"a", &[b"as", b"long"]);
    write.put(PLAIN, b"b", &[b"another length"]);
    write.delete(PLAIN, b"c");
    write.put(PLAIN, b"e", &[b"there"]);
    write.put(PLAIN, b"f", &[b"there"]);
    // And again what was changed since.
    write.put(PLAIN, b"a", &[b"third!"]);
    write.put(PLAIN, b"b", &[b"more than that length"]);
    write.put(PLAIN, b"c", &[b""]);
    write.delete(PLAIN, b"e");
    write.rollback_to(place);
    let expected = owned([("a", "before"), ("b", "before"), ("c", "before"), ("d", "before")]);
    assert_eq!(write.changes(), 6);
    check(&write, PLAIN, &expected, &["e".into(), "f".into()]);
    write.commit().unwrap();
    check(&engine.begin_read(Wait::Allowed), PLAIN, &expected, &["e".into(), "f".into()]);
    engine.flush().unwrap();
    harness.move_rows_down(&engine);
    check(&engine.begin_read(Wait::Allowed), PLAIN, &expected, &["e".into(), "f".into()]);
}

pub fn nested_and_repeated(harness: &impl Harness) {
    let engine = harness.open();
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"a", &[b"1"]);
    let outer = write.savepoint();
    write.put(PLAIN, b"a", &[b"2"]);
    write.put(PLAIN, b"b", &[b"2"]);
    let inner = write.savepoint();
    for value in ["3", "of another length"] {
        write.put(PLAIN, b"a", &[value.as_bytes()]);
        write.put(PLAIN, b"b", &[value.as_bytes()]);
        write.put(PLAIN, b"c", &[value.as_bytes()]);
        write.rollback_to(inner);
        check(&write, PLAIN, &owned([("a", "2"), ("b", "2")]), &["c".into()]);
    }
    write.put(PLAIN, b"b", &[b"4"]);
    write.rollback_to(outer);
    check(&write, PLAIN, &owned([("a", "1")]), &["b".into(), "c".into()]);
    // A place taken after going back; the earlier one stays good.
    write.put(PLAIN, b"a", &[b"5"]);
    let again = write.savepoint();
    write.delete(PLAIN, b"a");
    write.rollback_to(again);
    check(&write, PLAIN, &owned([("a", "5")]), &[]);
    write.rollback_to(outer);
    write.rollback_to(outer);
    assert_eq!(write.changes(), 1);
    write.commit().unwrap();
    check(&engine.begin_read(Wait::Allowed), PLAIN, &owned([("a", "1")]), &["b".into(), "c".into()]);
}

/// An engine may keep the rows of a long transaction otherwise than those of a short one.
pub fn few_rows_and_many(harness: &impl Harness) {
    let engine = harness.open();
    let name = |number: usize| format!("{number:05}").into_bytes();
    for (before, since) in [(0, 3), (0, 40), (3, 3), (3, 12), (3, 13), (3, 40), (15, 2), (16, 1), (40, 2000)]
    {
        let mut write = engine.begin_write(Wait::Allowed);
        (0..before).for_each(|number| write.put(GROUPED, &name(number), &[b"first"]));
        let place = write.savepoint();
        for round in 0..3 {
            for number in 0..before + since {
                match (number + round) % 4 {
                    0 => write.put(GROUPED, &name(number), &[b"other"]),
                    1 => write.put(GROUPED, &name(number), &[b"longer", b" than that"]),
                    2 => write.delete(GROUPED, &name(number)),
                    _ => {}
                }
            }
            write.rollback_to(place);
            let expected = owned((0..before).map(|number| (name(number), "first")));
            let absent: Vec<_> = (before..before + since).map(name).collect();
            check(&write, GROUPED, &expected, &absent);
        }
        (0..before + since).for_each(|number| write.put(GROUPED, &name(number), &[b"last"]));
        let expected = owned((0..before + since).map(|number| (name(number), "last")));
        check(&write, GROUPED, &expected, &[]);
        write.rollback();
    }
}

pub fn random_rollbacks_match_copies_of_a_map(harness: &impl Harness) {
    const KEYS: usize = 150;
    let name = |number: usize| format!("{number:03}").into_bytes();
    for seed in 1..=12 {
        let mut dice = Dice(seed);
        let engine = harness.open();
        let mut truth = BTreeMap::new();
        for _transaction in 0..8 {
            let keys = 1 + dice.below(KEYS);
            let mut write = engine.begin_write(Wait::Allowed);
            let mut map = truth.clone();
            let mut places = Vec::new();
            let mut changes = 0;
            for _step in 0..dice.below(400) {
                let key = name(dice.below(keys));
                match dice.below(20) {
                    0 => places.push((write.savepoint(), map.clone(), changes)),
                    1 if !places.is_empty() => {
                        places.truncate(1 + dice.below(places.len()));
                        let (place, copy, then) = places.last().unwrap();
                        write.rollback_to(*place);
                        (map, changes) = (copy.clone(), *then);
                        let absent: Vec<_> =
                            (0..KEYS).map(name).filter(|key| !map.contains_key(key)).collect();
                        check(&write, PLAIN, &owned(&map), &absent);
                    }
                    2..=4 => {
                        write.delete(PLAIN, &key);
                        map.remove(&key);
                        changes += 1;
                    }
                    _ => {
                        let value = vec![dice.roll() as u8; dice.below(4)];
                        write.put(PLAIN, &key, &[&value]);
                        map.insert(key, value);
                        changes += 1;
                    }
                }
                assert_eq!(write.changes(), changes);
            }
            assert_eq!(all(&write, PLAIN), owned(&map), "seed {seed}");
            if dice.one_in(4) {
                write.rollback();
            } else {
                write.commit().unwrap();
                truth = map;
            }
            assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), owned(&truth), "seed {seed}");
            if dice.one_in(3) {
                harness.move_rows_down(&engine);
            }
        }
    }
}

pub fn locked_rows_are_as_they_were(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1")]);
    for key in ["a", "none"] {
        let mut locks = engine.begin_write(Wait::Allowed);
        locks.lock(PLAIN, key.as_bytes());
        assert_eq!(locks.changes(), 0);
        locks.put(QUEUE, key.as_bytes(), &[b"1"]);
        locks.commit().unwrap();
        let mut locks_only = engine.begin_write(Wait::Allowed);
        locks_only.lock(PLAIN, key.as_bytes());
        locks_only.commit().unwrap();
        assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), owned([("a", "1")]));
    }
    // A row that is locked and written has what was written.
    let mut write = engine.begin_write(Wait::Allowed);
    write.lock(PLAIN, b"a");
    write.put(PLAIN, b"a", &[b"2"]);
    write.lock(PLAIN, b"a");
    write.commit().unwrap();
    assert_eq!(committed(&engine, PLAIN, "a"), Some(b"2".to_vec()));
}

pub fn locked_rows_are_refused_to_others(harness: &impl Harness) {
    refuse_locked(harness, true);
}

pub fn rows_locked_blindly_are_refused_to_others(harness: &impl Harness) {
    refuse_locked(harness, false);
}

fn refuse_locked(harness: &impl Harness, reads: bool) {
    // Of a row that is there and of one that is not, with or without a write beside it.
    for (key, writes) in [("a", true), ("a", false), ("none", true), ("none", false)] {
        let engine = harness.open();
        put(&engine, PLAIN, [("a", "1")]);
        let begin = || {
            let write = engine.begin_write(Wait::Allowed);
            if reads {
                get(&write, PLAIN, key);
            }
            write
        };
        let lock = || {
            let mut locks = begin();
            locks.lock(PLAIN, key.as_bytes());
            locks
        };
        let (mut first, mut second) = (lock(), lock());
        second.put(QUEUE, b"second", &[b"1"]);
        let mut third = begin();
        third.put(PLAIN, key.as_bytes(), &[b"3"]);
        if writes {
            first.put(QUEUE, b"first", &[b"1"]);
        }
        first.commit().unwrap();
        assert!(matches!(second.commit(), Err(Error::Conflict)), "two locks of {key}");
        assert!(matches!(third.commit(), Err(Error::Conflict)), "a write of {key} that was locked");
        assert_eq!(committed(&engine, QUEUE, "second"), None);
        assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), owned([("a", "1")]));
        let locks = lock();
        put(&engine, PLAIN, [(key, "4")]);
        assert!(matches!(locks.commit(), Err(Error::Conflict)), "a lock of {key} that was written");
        lock().commit().unwrap();
    }
}
