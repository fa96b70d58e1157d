//! Transactions that write.

use super::{GROUPED, Harness, PLAIN, QUEUE, all, committed, delete, get, owned, put, scan};
use crate::{Direction, Engine, Error, Position, Range, Wait, Write};

pub fn a_write_sees_its_own_rows(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("kept", "1"), ("changed", "1"), ("deleted", "1")]);
    harness.move_rows_down(&engine);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"changed", &[b"2"]);
    write.put(PLAIN, b"new", &[b"2"]);
    write.delete(PLAIN, b"deleted");
    assert_eq!(get(&write, PLAIN, "kept"), Some(b"1".to_vec()));
    assert_eq!(get(&write, PLAIN, "changed"), Some(b"2".to_vec()));
    assert_eq!(get(&write, PLAIN, "new"), Some(b"2".to_vec()));
    assert_eq!(get(&write, PLAIN, "deleted"), None);
    assert_eq!(get(&write, GROUPED, "new"), None);
    let own = |key: &str| {
        let mut value = b"before ".to_vec();
        let found = write.get_own(PLAIN, key.as_bytes(), &mut value).unwrap();
        (found, value)
    };
    assert_eq!(own("new"), (true, b"before 2".to_vec()));
    for other in ["kept", "deleted", "never"] {
        assert_eq!(own(other), (false, b"before ".to_vec()), "{other}");
    }
    write.commit().unwrap();
    assert_eq!(
        all(&engine.begin_read(Wait::Allowed), PLAIN),
        owned([("changed", "2"), ("kept", "1"), ("new", "2")])
    );
}

pub fn the_last_of_several_writes_to_a_row_counts(harness: &impl Harness) {
    let engine = harness.open();
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"put", &[b"first and longer"]);
    write.put(PLAIN, b"put", &[b"last"]);
    write.put(PLAIN, b"deleted", &[b"x"]);
    write.delete(PLAIN, b"deleted");
    write.delete(PLAIN, b"revived");
    write.put(PLAIN, b"revived", &[b"y"]);
    let expected = owned([("put", "last"), ("revived", "y")]);
    assert_eq!(all(&write, PLAIN), expected);
    write.commit().unwrap();
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), expected);
    harness.move_rows_down(&engine);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), expected);
}

pub fn rows_become_visible_together(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "old")]);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"a", &[b"new"]);
    write.put(GROUPED, b"b", &[b"new"]);
    write.put(QUEUE, b"c", &[b"new"]);
    assert_eq!(committed(&engine, PLAIN, "a"), Some(b"old".to_vec()));
    assert_eq!(committed(&engine, GROUPED, "b"), None);
    assert_eq!(all(&engine.snapshot().unwrap(), QUEUE), []);
    write.commit().unwrap();
    for (space, key) in [(PLAIN, "a"), (GROUPED, "b"), (QUEUE, "c")] {
        assert_eq!(committed(&engine, space, key), Some(b"new".to_vec()));
        assert_eq!(get(&engine.snapshot().unwrap(), space, key), Some(b"new".to_vec()));
    }
}

pub fn rollback_and_drop_leave_nothing(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1"), ("b", "1")]);
    for explicit in [true, false] {
        let mut write = engine.begin_write(Wait::Allowed);
        write.put(PLAIN, b"a", &[b"2"]);
        write.delete(PLAIN, b"b");
        write.put(QUEUE, b"c", &[b"2"]);
        if explicit {
            write.rollback();
        } else {
            drop(write);
        }
        let read = engine.begin_read(Wait::Allowed);
        assert_eq!(all(&read, PLAIN), owned([("a", "1"), ("b", "1")]));
        assert_eq!(all(&read, QUEUE), []);
    }
    put(&engine, PLAIN, [("a", "3")]);
    assert_eq!(committed(&engine, PLAIN, "a"), Some(b"3".to_vec()));
}

pub fn dirty_once_something_was_put_or_deleted(harness: &impl Harness) {
    let engine = harness.open();
    let mut write = engine.begin_write(Wait::Allowed);
    assert!(!write.is_dirty());
    get(&write, PLAIN, "a");
    assert!(!write.is_dirty());
    write.put(PLAIN, b"a", &[b"1"]);
    assert!(write.is_dirty());
    write.rollback();
    let mut write = engine.begin_write(Wait::Allowed);
    write.delete(PLAIN, b"a");
    assert!(write.is_dirty());
    // Each time counts, also where the row is the same.
    write.put(PLAIN, b"a", &[b"1"]);
    write.put(PLAIN, b"a", &[b"1"]);
    assert_eq!(write.changes(), 3);
    write.rollback();
    assert_eq!(engine.begin_write(Wait::Allowed).changes(), 0);
}

pub fn a_commit_of_nothing_is_allowed(harness: &impl Harness) {
    let engine = harness.open();
    assert_eq!(engine.begin_write(Wait::Allowed).commit().unwrap(), Position(0));
    let position = put(&engine, PLAIN, [("a", "1")]);
    assert!(engine.begin_write(Wait::Allowed).commit().unwrap() >= position);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), owned([("a", "1")]));
    // Deleting what is not there is a commit like any other.
    delete(&engine, PLAIN, ["none"]);
    harness.move_rows_down(&engine);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), owned([("a", "1")]));
}

pub fn a_read_sees_commits_made_while_it_is_open(harness: &impl Harness) {
    let engine = harness.open();
    let read = engine.begin_read(Wait::Allowed);
    assert_eq!(get(&read, PLAIN, "a"), None);
    put(&engine, PLAIN, [("a", "1")]);
    assert_eq!(get(&read, PLAIN, "a"), Some(b"1".to_vec()));
    harness.move_rows_down(&engine);
    assert_eq!(get(&read, PLAIN, "a"), Some(b"1".to_vec()));
    put(&engine, PLAIN, [("a", "2")]);
    assert_eq!(get(&read, PLAIN, "a"), Some(b"2".to_vec()));
    assert_eq!(all(&read, PLAIN), owned([("a", "2")]));
    delete(&engine, PLAIN, ["a"]);
    assert_eq!(get(&read, PLAIN, "a"), None);
    assert_eq!(all(&read, PLAIN), []);
}

pub fn positions_grow_with_each_commit(harness: &impl Harness) {
    let engine = harness.open();
    let mut last = Position(0);
    for index in 0..50 {
        let position = if index % 5 == 4 {
            delete(&engine, PLAIN, [format!("{}", index - 1)])
        } else {
            put(&engine, PLAIN, [(format!("{index}"), "v")])
        };
        assert!(position > last, "commit {index}: {position:?} after {last:?}");
        last = position;
        if index % 20 == 19 {
            harness.move_rows_down(&engine);
        }
    }
}

pub fn conflicting_writes_are_refused(harness: &impl Harness) {
    refuse_conflicting(harness, true);
}

pub fn conflicting_blind_writes_are_refused(harness: &impl Harness) {
    refuse_conflicting(harness, false);
}

fn refuse_conflicting(harness: &impl Harness, reads: bool) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "0")]);
    let begin = |key: &str| {
        let write = engine.begin_write(Wait::Allowed);
        if reads {
            get(&write, PLAIN, key);
        }
        write
    };
    let mut first = begin("a");
    let mut second = begin("a");
    let mut apart = begin("c");
    first.put(PLAIN, b"a", &[b"1"]);
    second.put(PLAIN, b"a", &[b"2"]);
    second.put(PLAIN, b"b", &[b"2"]);
    apart.put(PLAIN, b"c", &[b"3"]);
    second.commit().unwrap();
    assert!(matches!(first.commit(), Err(Error::Conflict)), "the first to commit wins");
    apart.commit().unwrap();
    let expected = owned([("a", "2"), ("b", "2"), ("c", "3")]);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), expected);

    // A delete collides as a put does.
    let mut first = begin("a");
    first.put(PLAIN, b"a", &[b"again"]);
    delete(&engine, PLAIN, ["a"]);
    assert!(matches!(first.commit(), Err(Error::Conflict)));
    assert_eq!(committed(&engine, PLAIN, "a"), None);
}

pub fn changed_reads_are_refused(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "0"), ("b", "0")]);
    // Each reads the other's row and writes its own: one of them must go.
    let mut first = engine.begin_write(Wait::Allowed);
    let mut second = engine.begin_write(Wait::Allowed);
    get(&first, PLAIN, "b");
    get(&second, PLAIN, "a");
    first.put(PLAIN, b"a", &[b"1"]);
    second.put(PLAIN, b"b", &[b"2"]);
    first.commit().unwrap();
    assert!(matches!(second.commit(), Err(Error::Conflict)));
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), owned([("a", "1"), ("b", "0")]));
    // So does a row that was not there.
    let mut write = engine.begin_write(Wait::Allowed);
    assert_eq!(get(&write, PLAIN, "new"), None);
    write.put(PLAIN, b"other", &[b"x"]);
    put(&engine, PLAIN, [("new", "y")]);
    assert!(matches!(write.commit(), Err(Error::Conflict)));
    // Reading alone never collides, and sees one state.
    let write = engine.begin_write(Wait::Allowed);
    assert_eq!(get(&write, PLAIN, "a"), Some(b"1".to_vec()));
    put(&engine, PLAIN, [("a", "2"), ("b", "2")]);
    assert_eq!(get(&write, PLAIN, "b"), Some(b"0".to_vec()));
    write.commit().unwrap();
}

pub fn changed_scans_are_refused(harness: &impl Harness) {
    let engine = harness.open();
    let range = Range { start: b"b", end: b"e" };
    for (direction, limit, change, refused) in [
        (Direction::Forward, usize::MAX, "a", false),
        (Direction::Forward, usize::MAX, "b", true),
        (Direction::Forward, usize::MAX, "cc", true),
        (Direction::Forward, usize::MAX, "e", false),
        // Behind the row at which the limit ended the scan nothing was seen.
        (Direction::Forward, 1, "cc", false),
        (Direction::Forward, 1, "c", true),
        (Direction::Forward, 1, "bb", true),
        (Direction::Backward, 1, "cc", false),
        (Direction::Backward, 1, "d", true),
        (Direction::Backward, 1, "dd", true),
        (Direction::Backward, usize::MAX, "b", true),
    ] {
        put(&engine, PLAIN, [("c", "0"), ("d", "0")]);
        delete(&engine, PLAIN, ["a", "b", "bb", "cc", "dd", "e"]);
        let mut write = engine.begin_write(Wait::Allowed);
        scan(&write, PLAIN, range, direction, limit);
        write.put(PLAIN, b"result", &[b"x"]);
        put(&engine, PLAIN, [(change, "1")]);
        let result = write.commit();
        assert_eq!(
            matches!(result, Err(Error::Conflict)),
            refused,
            "{direction:?} {limit} {change}: {result:?}"
        );
        assert_eq!(result.is_ok(), !refused);
    }
}

pub fn many_rows_with_settling_between(harness: &impl Harness) {
    const ROWS: usize = 20_000;
    let engine = harness.open();
    let key = |index: usize| format!("{:03}/{index:08}", index % 97).into_bytes();
    let mut expected = std::collections::BTreeMap::new();
    for round in 0..4 {
        for batch in 0..10 {
            let mut write = engine.begin_write(Wait::Allowed);
            for index in (batch * ROWS / 10)..((batch + 1) * ROWS / 10) {
                if index % 4 == round || index % 9 == 0 {
                    let value = format!("{round}-{index}").into_bytes();
                    write.put(PLAIN, &key(index), &[&value]);
                    expected.insert(key(index), value);
                } else if index % 11 == round {
                    write.delete(PLAIN, &key(index));
                    expected.remove(&key(index));
                }
            }
            write.commit().unwrap();
        }
        harness.move_rows_down(&engine);
    }
    let expected: Vec<_> = expected.into_iter().collect();
    assert!(all(&engine.begin_read(Wait::Allowed), PLAIN) == expected);
    assert!(all(&engine.snapshot().unwrap(), PLAIN) == expected);
    for (key, value) in expected.iter().step_by(17) {
        assert_eq!(committed(&engine, PLAIN, key).as_ref(), Some(value));
    }
}

pub fn rows_put_again_after_a_delete(harness: &impl Harness) {
    let engine = harness.open();
    for round in 0..4 {
        let value = round.to_string();
        put(&engine, PLAIN, [("k", &value)]);
        if round % 2 == 0 {
            harness.move_rows_down(&engine);
        }
        assert_eq!(committed(&engine, PLAIN, "k"), Some(value.into_bytes()));
        delete(&engine, PLAIN, ["k"]);
        if round > 1 {
            harness.move_rows_down(&engine);
        }
        assert_eq!(committed(&engine, PLAIN, "k"), None);
        assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), []);
    }
}
