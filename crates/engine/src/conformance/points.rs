//! Single rows.

use super::{GROUPED, Harness, PLAIN, QUEUE, all, committed, delete, get, owned, put};
use crate::{Engine, Error, Read, Wait, Write};

/// Runs the check on rows as they were written, and again when they have moved into an older layer.
fn twice<H: Harness>(harness: &H, engine: &H::Engine, check: impl Fn()) {
    check();
    harness.move_rows_down(engine);
    check();
}

pub fn rows_are_found_as_written(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("apple", "red"), ("pear", "green")]);
    twice(harness, &engine, || {
        assert_eq!(committed(&engine, PLAIN, "apple"), Some(b"red".to_vec()));
        assert_eq!(committed(&engine, PLAIN, "pear"), Some(b"green".to_vec()));
        assert_eq!(committed(&engine, PLAIN, "plum"), None);
    });
    put(&engine, PLAIN, [("apple", "yellow")]);
    delete(&engine, PLAIN, ["pear"]);
    twice(harness, &engine, || {
        assert_eq!(committed(&engine, PLAIN, "apple"), Some(b"yellow".to_vec()));
        assert_eq!(committed(&engine, PLAIN, "pear"), None);
    });
}

pub fn values_are_joined_from_parts(harness: &impl Harness) {
    let engine = harness.open();
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"three", &[b"one", b"", b"two", b"three"]);
    write.put(PLAIN, b"none", &[]);
    assert_eq!(get(&write, PLAIN, "three"), Some(b"onetwothree".to_vec()));
    assert_eq!(get(&write, PLAIN, "none"), Some(Vec::new()));
    write.commit().unwrap();
    twice(harness, &engine, || {
        assert_eq!(committed(&engine, PLAIN, "three"), Some(b"onetwothree".to_vec()));
        assert_eq!(committed(&engine, PLAIN, "none"), Some(Vec::new()));
    });
}

pub fn get_appends_to_what_is_there(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("k", "value")]);
    twice(harness, &engine, || {
        let mut out = b"head:".to_vec();
        let mut write = engine.begin_write(Wait::Allowed);
        write.put(PLAIN, b"own", &[b"mine"]);
        assert!(write.get(PLAIN, b"k", &mut out).unwrap());
        assert!(!write.get(PLAIN, b"missing", &mut out).unwrap());
        assert!(write.get(PLAIN, b"own", &mut out).unwrap());
        assert!(engine.begin_read(Wait::Allowed).get(PLAIN, b"k", &mut out).unwrap());
        assert!(!engine.begin_read(Wait::Allowed).get(PLAIN, b"missing", &mut out).unwrap());
        assert!(engine.snapshot().unwrap().get(PLAIN, b"k", &mut out).unwrap());
        assert!(!engine.snapshot().unwrap().get(PLAIN, b"missing", &mut out).unwrap());
        assert_eq!(out, b"head:valueminevaluevalue");
        write.rollback();
    });
}

pub fn empty_and_binary_rows(harness: &impl Harness) {
    let engine = harness.open();
    let every_byte: Vec<u8> = (0..=255).collect();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = vec![
        (b"".to_vec(), b"value of the empty key".to_vec()),
        (b"\0".to_vec(), b"".to_vec()),
        (b"\0\0".to_vec(), b"\0".to_vec()),
        (b"\r\n".to_vec(), b"\xff".to_vec()),
        (b"\xff".to_vec(), b"\xff\xff".to_vec()),
        (vec![0xff; 9], every_byte.clone()),
        (every_byte, b"".to_vec()),
    ];
    for space in [PLAIN, GROUPED, QUEUE] {
        put(&engine, space, rows.clone());
    }
    let mut sorted = rows.clone();
    sorted.sort();
    twice(harness, &engine, || {
        for space in [PLAIN, GROUPED, QUEUE] {
            for (key, value) in &rows {
                assert_eq!(committed(&engine, space, key).as_ref(), Some(value), "{key:?}");
            }
            assert_eq!(all(&engine.begin_read(Wait::Allowed), space), sorted);
        }
    });
    for space in [PLAIN, GROUPED, QUEUE] {
        delete(&engine, space, [b""]);
    }
    twice(harness, &engine, || {
        for space in [PLAIN, GROUPED, QUEUE] {
            assert_eq!(committed(&engine, space, ""), None);
            assert_eq!(all(&engine.begin_read(Wait::Allowed), space), sorted[1..]);
        }
    });
}

pub fn keys_that_are_prefixes_of_each_other(harness: &impl Harness) {
    let engine = harness.open();
    let rows = owned([
        (&b"a"[..], "1"),
        (b"a\0", "2"),
        (b"a\0\0", "3"),
        (b"a\xff", "4"),
        (b"a\xff\xff", "5"),
        (b"b", "6"),
    ]);
    put(&engine, PLAIN, rows.clone());
    twice(harness, &engine, || {
        for (key, value) in &rows {
            assert_eq!(committed(&engine, PLAIN, key).as_ref(), Some(value), "{key:?}");
        }
        assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), rows);
    });
    delete(&engine, PLAIN, [&b"a"[..], b"a\xff"]);
    twice(harness, &engine, || {
        assert_eq!(committed(&engine, PLAIN, "a"), None);
        assert_eq!(committed(&engine, PLAIN, b"a\0"), Some(b"2".to_vec()));
        let left: Vec<_> = [1, 2, 4, 5].map(|index| rows[index].clone()).to_vec();
        assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), left);
    });
}

pub fn spaces_are_apart(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("k", "plain")]);
    put(&engine, QUEUE, [("k", "queue")]);
    twice(harness, &engine, || {
        assert_eq!(committed(&engine, PLAIN, "k"), Some(b"plain".to_vec()));
        assert_eq!(committed(&engine, QUEUE, "k"), Some(b"queue".to_vec()));
        assert_eq!(committed(&engine, GROUPED, "k"), None);
    });
    delete(&engine, PLAIN, ["k"]);
    twice(harness, &engine, || {
        let read = engine.begin_read(Wait::Allowed);
        assert_eq!(all(&read, PLAIN), []);
        assert_eq!(all(&read, QUEUE), owned([("k", "queue")]));
    });
}

pub fn get_many_keeps_order_duplicates_and_gaps(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1"), ("b", "2"), ("gone", "x"), ("empty", "")]);
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, [("b", "22"), ("c", "3")]);
    delete(&engine, PLAIN, ["gone"]);
    let keys: [&[u8]; 9] = [b"c", b"a", b"none", b"b", b"a", b"gone", b"empty", b"", b"c"];
    let expected = [Some("3"), Some("1"), None, Some("22"), Some("1"), None, Some(""), None, Some("3")];
    let check = |read: &dyn Read| {
        let mut seen = Vec::new();
        read.get_many(PLAIN, &keys, &mut |index, value| seen.push((index, value.map(<[u8]>::to_vec))))
            .unwrap();
        let expected: Vec<_> =
            expected.iter().map(|value| value.map(|v| v.as_bytes().to_vec())).enumerate().collect();
        assert_eq!(seen, expected);
    };
    twice(harness, &engine, || {
        check(&engine.begin_read(Wait::Allowed));
        check(&engine.snapshot().unwrap());
        check(&engine.begin_write(Wait::Allowed));
    });
    // A write's own rows count here too.
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"none", &[b"now"]);
    write.delete(PLAIN, b"a");
    let mut seen = Vec::new();
    write
        .get_many(PLAIN, &[b"a", b"none", b"b"], &mut |_, value| seen.push(value.map(<[u8]>::to_vec)))
        .unwrap();
    assert_eq!(seen, [None, Some(b"now".to_vec()), Some(b"22".to_vec())]);
    engine.begin_read(Wait::Allowed).get_many(PLAIN, &[], &mut |_, _| panic!("there are no keys")).unwrap();
}

pub fn parts_of_values(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("old", "0123456789"), ("empty", "")]);
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, [("new", "abcdef")]);
    let check = |read: &dyn Read| {
        for (key, at, len, expected) in [
            ("old", 0, 10, Some("0123456789")),
            ("old", 3, 2, Some("34")),
            ("old", 3, 0, Some("")),
            ("old", 8, 4, Some("89..")),
            ("old", 10, 2, Some("..")),
            ("old", usize::MAX, 1, Some(".")),
            ("new", 1, 1, Some("b")),
            ("new", 2, 9, Some("cdef.....")),
            ("empty", 0, 4, Some("....")),
            ("none", 0, 4, None),
        ] {
            let mut out = vec![b'.'; len];
            let is_there = read.get_part(PLAIN, key.as_bytes(), at, &mut out).unwrap();
            assert_eq!(is_there, expected.is_some(), "{key} {at} {len}");
            assert_eq!(out, expected.unwrap_or("....").as_bytes(), "{key} {at} {len}");
        }
    };
    twice(harness, &engine, || {
        check(&engine.begin_read(Wait::Allowed));
        check(&engine.snapshot().unwrap());
        check(&engine.begin_write(Wait::Allowed));
    });
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"new", &[b"own row"]);
    write.delete(PLAIN, b"old");
    let mut out = [0; 2];
    assert!(write.get_part(PLAIN, b"new", 4, &mut out).unwrap());
    assert!(!write.get_part(PLAIN, b"old", 0, &mut out).unwrap());
    assert_eq!(&out, b"ro");
}

pub fn get_many_of_many(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("key-{index:04}").into_bytes();
    for round in 0..3 {
        put(&engine, PLAIN, (round..600).step_by(3).map(|index| (key(index), index.to_string())));
        harness.move_rows_down(&engine);
    }
    delete(&engine, PLAIN, (0..600).step_by(7).map(key));
    let keys: Vec<_> = (0..700).rev().map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut next = 0;
    engine
        .begin_read(Wait::Allowed)
        .get_many(PLAIN, &keys, &mut |index, value| {
            assert_eq!(index, next);
            next += 1;
            let number = 699 - index;
            let expected =
                (number < 600 && !number.is_multiple_of(7)).then(|| number.to_string().into_bytes());
            assert_eq!(value, expected.as_deref(), "row {number}");
        })
        .unwrap();
    assert_eq!(next, 700);
}

pub fn values_of_a_mebibyte(harness: &impl Harness) {
    let engine = harness.open();
    let value = |seed: u8| (0..1 << 20).map(|i: u32| (i >> 8) as u8 ^ i as u8 ^ seed).collect::<Vec<u8>>();
    put(&engine, PLAIN, [("small", b"s".to_vec()), ("zero", value(0)), ("one", value(1))]);
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, [("one", value(7)), ("two", value(2))]);
    twice(harness, &engine, || {
        for (key, seed) in [("zero", 0), ("one", 7), ("two", 2)] {
            assert!(committed(&engine, PLAIN, key) == Some(value(seed)), "the value of {key}");
        }
        let rows = all(&engine.snapshot().unwrap(), PLAIN);
        let lengths: Vec<_> = rows.iter().map(|row| row.1.len()).collect();
        assert_eq!(lengths, [1 << 20, 1, 1 << 20, 1 << 20]);
        assert!(rows[0].1 == value(7));
    });
}

pub fn not_waiting_answers_rightly_or_not_at_all(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("{index:05}").into_bytes();
    put(&engine, PLAIN, (0..500).map(|index| (key(index), "old")));
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, (0..500).step_by(2).map(|index| (key(index), "new")));
    let read = engine.begin_read(Wait::Never);
    let expected = |index: usize| if index.is_multiple_of(2) { &b"new"[..] } else { b"old" };
    for index in 0..500 {
        let mut out = b"as it was".to_vec();
        match read.get(PLAIN, &key(index), &mut out) {
            Ok(found) => {
                assert!(found);
                assert_eq!(&out[9..], expected(index));
            }
            Err(Error::NotResident) => assert_eq!(out, b"as it was"),
            Err(error) => panic!("{error}"),
        }
    }
    let keys: Vec<_> = (0..500).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut calls = 0;
    let result = read.get_many(PLAIN, &keys, &mut |index, value| {
        calls += 1;
        assert_eq!(value, Some(expected(index)));
    });
    match result {
        Ok(()) => assert_eq!(calls, 500),
        Err(Error::NotResident) => assert_eq!(calls, 0, "called before it failed"),
        Err(error) => panic!("{error}"),
    }
    // Whatever did not answer answers where waiting is allowed.
    for index in 0..500 {
        assert_eq!(committed(&engine, PLAIN, key(index)).as_deref(), Some(expected(index)));
    }
}
