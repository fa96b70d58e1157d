//! Ranges of rows.

use std::ops::ControlFlow;

use super::{ALL, GROUPED, Harness, PLAIN, QUEUE, all, delete, get, keys, owned, put, scan};
use crate::Direction::{Backward, Forward};
use crate::{Engine, Range, Read, Wait, Write};

/// Rows 00 to 29, written in three layers.
fn thirty<H: Harness>(harness: &H) -> H::Engine {
    let engine = harness.open();
    for layer in 0..3 {
        if layer > 0 {
            harness.settle(&engine);
        }
        put(&engine, PLAIN, (layer..30).step_by(3).map(|index| (format!("{index:02}"), format!("v{index}"))));
    }
    engine
}

fn numbers(rows: impl Iterator<Item = usize>) -> Vec<Vec<u8>> {
    rows.map(|index| format!("{index:02}").into_bytes()).collect()
}

/// What a scan finds must not depend on who scans. The write has rows of its own elsewhere.
fn each_reader(engine: &impl Engine, check: impl Fn(&dyn Read)) {
    check(&engine.begin_read(Wait::Allowed));
    check(&engine.snapshot().unwrap());
    let mut write = engine.begin_write(Wait::Allowed);
    check(&write);
    write.put(PLAIN, b"\xf0elsewhere", &[b"x"]);
    check(&write);
}

struct Dyn<'a>(&'a dyn Read);

impl Read for Dyn<'_> {
    fn get(&self, space: crate::Space, key: &[u8], out: &mut Vec<u8>) -> crate::Result<bool> {
        self.0.get(space, key, out)
    }

    fn get_many(
        &self,
        space: crate::Space,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> crate::Result<()> {
        self.0.get_many(space, keys, each)
    }

    fn scan(
        &self,
        space: crate::Space,
        range: Range<'_>,
        direction: crate::Direction,
        limit: usize,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> crate::Result<()> {
        self.0.scan(space, range, direction, limit, each)
    }
}

pub fn bounds_are_inclusive_below_and_exclusive_above(harness: &impl Harness) {
    let engine = thirty(harness);
    each_reader(&engine, |read| {
        let read = Dyn(read);
        let range = Range { start: b"05", end: b"09" };
        assert_eq!(keys(&read, PLAIN, range, Forward, usize::MAX), numbers(5..9));
        assert_eq!(keys(&read, PLAIN, range, Backward, usize::MAX), numbers((5..9).rev()));
        let range = Range { start: b"", end: b"00" };
        assert_eq!(keys(&read, PLAIN, range, Forward, usize::MAX), numbers(0..0));
        let range = Range { start: b"", end: b"00\0" };
        assert_eq!(keys(&read, PLAIN, range, Backward, usize::MAX), numbers(0..1));
        let range = Range { start: b"29", end: b"a" };
        assert_eq!(keys(&read, PLAIN, range, Forward, usize::MAX), numbers(29..30));
        let range = Range { start: b"055", end: b"065" };
        assert_eq!(keys(&read, PLAIN, range, Forward, usize::MAX), numbers(6..7));
    });
}

pub fn bounds_that_hold_nothing(harness: &impl Harness) {
    let engine = thirty(harness);
    each_reader(&engine, |read| {
        for (start, end) in [("05", "05"), ("09", "05"), ("", ""), ("30", "31"), ("050", "051"), ("3", "")] {
            for direction in [Forward, Backward] {
                let range = Range { start: start.as_bytes(), end: end.as_bytes() };
                assert_eq!(keys(&Dyn(read), PLAIN, range, direction, 5), numbers(0..0), "{start} to {end}");
            }
        }
        assert_eq!(keys(&Dyn(read), QUEUE, ALL, Forward, 5), numbers(0..0));
    });
}

pub fn bounds_between_prefixes(harness: &impl Harness) {
    let engine = harness.open();
    let rows: [&[u8]; 6] = [b"a", b"a\0", b"a\0\xff", b"a\xff", b"a\xff\xff", b"b"];
    for (index, key) in rows.iter().enumerate() {
        put(&engine, PLAIN, [(key, "v")]);
        if index % 2 == 1 {
            harness.settle(&engine);
        }
    }
    let read = engine.begin_read(Wait::Allowed);
    for (from, start) in rows.iter().enumerate() {
        for (to, end) in rows.iter().enumerate() {
            let expected: Vec<&[u8]> = rows.get(from..to).unwrap_or_default().to_vec();
            let range = Range { start, end };
            assert_eq!(keys(&read, PLAIN, range, Forward, 10), expected);
            let mut backward = keys(&read, PLAIN, range, Backward, 10);
            backward.reverse();
            assert_eq!(backward, expected);
        }
    }
}

pub fn limits(harness: &impl Harness) {
    let engine = thirty(harness);
    each_reader(&engine, |read| {
        let range = Range { start: b"10", end: b"20" };
        for limit in [0, 1, 2, 9, 10, 11, usize::MAX] {
            let expected = limit.min(10);
            assert_eq!(keys(&Dyn(read), PLAIN, range, Forward, limit), numbers(10..10 + expected));
            assert_eq!(keys(&Dyn(read), PLAIN, range, Backward, limit), numbers((20 - expected..20).rev()));
        }
    });
}

pub fn a_break_ends_the_scan(harness: &impl Harness) {
    let engine = thirty(harness);
    each_reader(&engine, |read| {
        for (direction, expected) in [(Forward, numbers(0..4)), (Backward, numbers((26..30).rev()))] {
            let mut seen = Vec::new();
            read.scan(PLAIN, Range { start: b"", end: b"3" }, direction, 20, &mut |key, _| {
                seen.push(key.to_vec());
                if seen.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
            assert_eq!(seen, expected);
        }
    });
}

pub fn own_rows_and_deletes_are_merged_in(harness: &impl Harness) {
    let engine = thirty(harness);
    let mut write = engine.begin_write(Wait::Allowed);
    // Every third deleted, every fifth changed, one between every tenth, one before all and one after.
    for index in (0..30).step_by(3) {
        write.delete(PLAIN, format!("{index:02}").as_bytes());
    }
    for index in (0..30).step_by(5) {
        write.put(PLAIN, format!("{index:02}").as_bytes(), &[b"changed"]);
    }
    for index in (0..30).step_by(10) {
        write.put(PLAIN, format!("{index:02}+").as_bytes(), &[b"between"]);
    }
    write.put(PLAIN, b" ", &[b"first"]);
    write.put(PLAIN, b"\xff", &[b"last"]);
    write.put(PLAIN, b"15+", &[b"x"]);
    write.delete(PLAIN, b"15+");
    let mut expected = owned([(&b" "[..], "first")]);
    for index in 0..30 {
        let key = format!("{index:02}");
        if index % 5 == 0 {
            expected.extend(owned([(&key, "changed")]));
        } else if index % 3 != 0 {
            expected.extend(owned([(&key, format!("v{index}"))]));
        }
        if index % 10 == 0 {
            expected.extend(owned([(format!("{key}+"), "between")]));
        }
    }
    expected.extend(owned([(&b"\xff"[..], "last")]));
    assert_eq!(all(&write, PLAIN), expected);
    for limit in 0..=expected.len() {
        assert_eq!(scan(&write, PLAIN, ALL, Forward, limit), expected[..limit]);
        let mut backward = scan(&write, PLAIN, ALL, Backward, limit);
        backward.reverse();
        assert_eq!(backward, expected[expected.len() - limit..]);
    }
    let inner = Range { start: b"10", end: b"20+" };
    let within: Vec<_> =
        expected.iter().filter(|row| *row.0 >= *inner.start && *row.0 < *inner.end).cloned().collect();
    assert_eq!(scan(&write, PLAIN, inner, Forward, usize::MAX), within);
    write.commit().unwrap();
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), expected);
    harness.settle(&engine);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), expected);
}

pub fn newer_layers_hide_older_ones(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("group{:02}/{index:03}", index / 20).into_bytes();
    for layer in 0..4_usize {
        put(
            &engine,
            PLAIN,
            (layer * 10..100 - layer * 10).map(|index| (key(index), format!("layer {layer}"))),
        );
        if layer < 3 {
            harness.settle(&engine);
        }
        let expected: Vec<_> = (0..100)
            .map(|index: usize| {
                let newest = (index / 10).min((99 - index) / 10).min(layer);
                (key(index), format!("layer {newest}").into_bytes())
            })
            .collect();
        each_reader(&engine, |read| {
            let end = Range { start: b"", end: b"h" };
            assert_eq!(scan(&Dyn(read), PLAIN, end, Forward, usize::MAX), expected);
            let mut backward = scan(&Dyn(read), PLAIN, end, Backward, usize::MAX);
            backward.reverse();
            assert_eq!(backward, expected);
        });
    }
}

pub fn deletes_hide_rows_of_older_layers(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("{index:04}").into_bytes();
    put(&engine, PLAIN, (0..1000).map(|index| (key(index), "v")));
    harness.settle(&engine);
    delete(&engine, PLAIN, (0..1000).filter(|index| index % 100 != 50).map(key));
    let check = || {
        let expected: Vec<_> = (50..1000).step_by(100).map(key).collect();
        each_reader(&engine, |read| {
            let range = Range { start: b"", end: b"1" };
            assert_eq!(keys(&Dyn(read), PLAIN, range, Forward, usize::MAX), expected);
            assert_eq!(keys(&Dyn(read), PLAIN, range, Forward, 1), expected[..1]);
            assert_eq!(
                keys(&Dyn(read), PLAIN, range, Backward, 2),
                [expected[9].clone(), expected[8].clone()]
            );
            assert_eq!(
                keys(&Dyn(read), PLAIN, Range { start: b"0051", end: b"0150" }, Forward, 3),
                numbers(0..0)
            );
        });
    };
    check();
    harness.settle(&engine);
    check();
    put(&engine, PLAIN, [(key(51), "back")]);
    let read = engine.begin_read(Wait::Allowed);
    assert_eq!(keys(&read, PLAIN, Range { start: b"0051", end: b"0150" }, Forward, 3), [key(51)]);
}

/// A key of a group: length, name, rest.
fn grouped(name: &str, rest: impl AsRef<[u8]>) -> Vec<u8> {
    [&[name.len() as u8], name.as_bytes(), rest.as_ref()].concat()
}

pub fn across_groups(harness: &impl Harness) {
    let engine = harness.open();
    let mut expected = Vec::new();
    for (layer, name) in ["a", "b", "aa", "ab", "b0", "long name", "longer name"].iter().enumerate() {
        for row in 0..5_u8 {
            put(&engine, GROUPED, [(grouped(name, [row]), "v")]);
            expected.push(grouped(name, [row]));
        }
        // The group itself as a row: nothing behind its name.
        put(&engine, GROUPED, [(grouped(name, ""), "v")]);
        expected.push(grouped(name, ""));
        if layer % 2 == 0 {
            harness.settle(&engine);
        }
    }
    expected.sort();
    each_reader(&engine, |read| {
        assert_eq!(keys(&Dyn(read), GROUPED, ALL, Forward, usize::MAX), expected);
        let range = Range { start: &grouped("a", [3]), end: &grouped("ab", [1]) };
        let within: Vec<_> =
            expected.iter().filter(|key| ***key >= *range.start && ***key < *range.end).cloned().collect();
        assert_eq!(within.len(), 16);
        assert_eq!(keys(&Dyn(read), GROUPED, range, Forward, usize::MAX), within);
        let mut backward = keys(&Dyn(read), GROUPED, range, Backward, usize::MAX);
        backward.reverse();
        assert_eq!(backward, within);
        assert_eq!(keys(&Dyn(read), GROUPED, range, Forward, 7), within[..7]);
    });
}

pub fn within_a_group_among_many(harness: &impl Harness) {
    let engine = harness.open();
    let name = |group: usize| format!("g{group:03}");
    for layer in 0..3_u8 {
        for group in 0..100 {
            put(&engine, GROUPED, (0..4).map(|row| (grouped(&name(group), [row * 3 + layer]), [layer])));
        }
        if layer < 2 {
            harness.settle(&engine);
        }
    }
    delete(&engine, GROUPED, [grouped(&name(42), [5])]);
    for group in [0, 41, 42, 43, 99] {
        let start = grouped(&name(group), "");
        let end = grouped(&name(group), [0xff]);
        let expected: Vec<_> =
            (0..12).filter(|row| (group, *row) != (42, 5)).map(|row| grouped(&name(group), [row])).collect();
        each_reader(&engine, |read| {
            let range = Range { start: &start, end: &end };
            assert_eq!(keys(&Dyn(read), GROUPED, range, Forward, usize::MAX), expected);
            assert_eq!(keys(&Dyn(read), GROUPED, range, Backward, 1), expected[expected.len() - 1..]);
        });
    }
}

pub fn the_head_of_a_queue(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: u32| [&b"q"[..], &index.to_be_bytes()].concat();
    let range = Range { start: b"q", end: b"r" };
    let mut head = 0;
    for tail in (100..=1000).step_by(100) {
        put(&engine, QUEUE, (tail - 100..tail).map(|index| (key(index), "job")));
        for _ in 0..8 {
            let mut write = engine.begin_write(Wait::Allowed);
            let taken = keys(&write, QUEUE, range, Forward, 10);
            assert_eq!(taken, (head..head + 10).map(key).collect::<Vec<_>>());
            taken.iter().for_each(|key| write.delete(QUEUE, key));
            write.commit().unwrap();
            head += 10;
        }
        if tail % 300 == 0 {
            harness.settle(&engine);
        }
    }
    let left = keys(&engine.begin_read(Wait::Allowed), QUEUE, range, Forward, usize::MAX);
    assert_eq!(left, (head..1000).map(key).collect::<Vec<_>>());
}

/// A row by its rank is the one that a scan comes to.
pub fn ranks_follow_the_scan(harness: &impl Harness) {
    let engine = harness.open();
    let rows = || (0..200).map(|number: u32| (grouped("b", format!("{number:04}")), "value"));
    put(&engine, GROUPED, rows().step_by(2));
    put(&engine, GROUPED, [(grouped("a", "0"), "other"), (grouped("c", "0"), "other")]);
    harness.settle(&engine);
    put(&engine, GROUPED, rows().skip(1).step_by(4));
    delete(&engine, GROUPED, rows().skip(40).step_by(8).map(|(key, _)| key));
    let check = |read: &dyn Read| {
        for (from, to) in [("", ":"), ("0010", "0150"), ("0011", "0012"), ("0012", "0012"), ("0190", ":")] {
            let (start, end) = (grouped("b", from), grouped("b", to));
            let range = Range { start: &start, end: &end };
            let all = scan(&Dyn(read), GROUPED, range, Forward, usize::MAX);
            for rank in (0..all.len() + 2).step_by(3) {
                let mut shown = None;
                let missing = read
                    .nth(GROUPED, range, rank, &mut |key, value| shown = Some((key.to_vec(), value.to_vec())))
                    .unwrap();
                assert_eq!(shown, all.get(rank).cloned());
                assert_eq!(missing, (rank >= all.len()).then_some(all.len()));
            }
        }
    };
    // Often enough for an engine that remembers what it has scanned.
    for _ in 0..4 {
        each_reader(&engine, check);
    }
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(GROUPED, &grouped("b", "0100+"), &[b"own"]);
    write.delete(GROUPED, &grouped("b", "0102"));
    check(&write);
}

pub fn callbacks_may_read(harness: &impl Harness) {
    let engine = thirty(harness);
    each_reader(&engine, |read| {
        let mut rows = 0;
        read.scan(PLAIN, Range { start: b"", end: b"3" }, Forward, usize::MAX, &mut |key, value| {
            assert_eq!(get(&Dyn(read), PLAIN, key).as_deref(), Some(value));
            let from_here = Range { start: key, end: b"3" };
            assert_eq!(scan(&Dyn(read), PLAIN, from_here, Backward, usize::MAX).len(), 30 - rows);
            assert_eq!(get(&engine.begin_read(Wait::Allowed), PLAIN, key).as_deref(), Some(value));
            read.get_many(PLAIN, &[key, key], &mut |_, again| {
                assert_eq!(again, Some(value));
                assert_eq!(get(&Dyn(read), PLAIN, key).as_deref(), Some(value));
            })
            .unwrap();
            rows += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(rows, 30);
    });
}
