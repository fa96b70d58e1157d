//! Ranges of rows.

use std::ops::ControlFlow;

use super::{ALL, Dice, GROUPED, Harness, PLAIN, QUEUE, all, delete, get, keys, owned, put, scan};
use crate::Direction::{Backward, Forward};
use crate::{Engine, Range, Ranked, Read, Wait, Write};

/// Rows 00 to 29, written in three layers.
fn thirty<H: Harness>(harness: &H) -> H::Engine {
    let engine = harness.open();
    for layer in 0..3 {
        if layer > 0 {
            harness.move_rows_down(&engine);
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
            harness.move_rows_down(&engine);
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

pub fn ranges_come_one_after_the_other(harness: &impl Harness) {
    let engine = harness.open();
    let key = |index: usize| format!("grp:{index:02}").into_bytes();
    for layer in 0..3 {
        put(&engine, PLAIN, (layer..30).step_by(3).map(|index| (key(index), "v")));
        harness.move_rows_down(&engine);
    }
    put(&engine, PLAIN, [("grq:", "of another group")]);
    let cases = [&[(5, 9), (20, 22), (1, 2)][..], &[(7, 7), (9, 4), (3, 4)], &[(0, 30)], &[]];
    each_reader(&engine, |read| {
        for case in cases {
            let bounds: Vec<_> = case.iter().map(|(from, to)| (key(*from), key(*to))).collect();
            let mut ranges: Vec<Range<'_>> = bounds.iter().map(|(start, end)| Range { start, end }).collect();
            let mut rows: Vec<(usize, Vec<u8>)> = Vec::new();
            for (number, (from, to)) in case.iter().enumerate() {
                rows.extend((*from..*to).map(|index| (number, key(index))));
            }
            // Within one group, and not.
            for is_one_group in [true, false] {
                if !is_one_group {
                    rows.push((ranges.len(), b"grq:".to_vec()));
                    ranges.push(Range { start: b"grq", end: b"grr" });
                }
                for limit in [0, 1, 4, 5, 7, 8, 100] {
                    for break_at in [2, usize::MAX] {
                        let mut seen = Vec::new();
                        let mut see = |number: usize, key: &[u8], _: &[u8]| {
                            seen.push((number, key.to_vec()));
                            if seen.len() == break_at {
                                ControlFlow::Break(())
                            } else {
                                ControlFlow::Continue(())
                            }
                        };
                        let is_all = read.scan_ranges(PLAIN, &ranges, limit, &mut see).unwrap();
                        let shown = rows.len().min(limit).min(break_at);
                        assert_eq!(seen, rows[..shown], "{case:?} {limit}");
                        assert!(!is_all || shown == rows.len(), "{case:?} {limit}");
                        assert!(is_all || limit <= rows.len() || break_at <= rows.len(), "{case:?} {limit}");
                    }
                }
            }
        }
    });
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"grp:055", &[b"own"]);
    write.delete(PLAIN, &key(20));
    let (ends, mut seen) = ([key(5), key(7), key(20), key(22)], Vec::new());
    let ranges = [Range { start: &ends[0], end: &ends[1] }, Range { start: &ends[2], end: &ends[3] }];
    let is_all = write.scan_ranges(PLAIN, &ranges, 100, &mut |number, key, _| {
        seen.push((number, key.to_vec()));
        ControlFlow::Continue(())
    });
    assert!(is_all.unwrap());
    assert_eq!(seen, [(0, key(5)), (0, b"grp:055".to_vec()), (0, key(6)), (1, key(21))]);
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
    harness.move_rows_down(&engine);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), expected);
}

/// More rows than an engine may want to look at or to copy for each scan.
pub fn of_a_write_with_many_rows(harness: &impl Harness) {
    const ROWS: usize = 6000;
    let engine = harness.open();
    let name = |index: usize| grouped("b", format!("{index:04}"));
    put(&engine, GROUPED, (0..ROWS).step_by(2).map(|index| (name(index), "committed")));
    put(&engine, GROUPED, [(grouped("a", "0"), "other"), (grouped("c", "0"), "other")]);
    harness.move_rows_down(&engine);
    let mut write = engine.begin_write(Wait::Allowed);
    // In an order of its own, a third of it deletes.
    for index in (0..ROWS).map(|index| index * 7 % ROWS) {
        match index % 3 {
            0 => write.delete(GROUPED, &name(index)),
            _ => write.put(GROUPED, &name(index), &[b"own"]),
        }
        if index % 10 == 0 {
            write.put(PLAIN, &name(index), &[b"elsewhere"]);
        }
    }
    let expected = owned((0..ROWS).filter(|index| index % 3 != 0).map(|index| (name(index), "own")));
    let (start, end) = (grouped("b", ""), grouped("b", ":"));
    let range = Range { start: &start, end: &end };
    for limit in [1, 10, 1023, 1024, 1025, 2500, usize::MAX] {
        let many = limit.min(expected.len());
        assert_eq!(scan(&write, GROUPED, range, Forward, limit), expected[..many]);
        let mut backward = scan(&write, GROUPED, range, Backward, limit);
        backward.reverse();
        assert_eq!(backward, expected[expected.len() - many..]);
    }
    for many in [1, 1024, 1500] {
        for direction in [Forward, Backward] {
            let mut told = 0;
            write
                .scan(GROUPED, range, direction, usize::MAX, &mut |_, _| {
                    told += 1;
                    if told == many { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
                .unwrap();
            assert_eq!(told, many);
        }
    }
    let (start, end) = (name(1000), name(1010));
    let inner = Range { start: &start, end: &end };
    assert_eq!(keys(&write, GROUPED, inner, Forward, usize::MAX).len(), 7);
    assert_eq!(keys(&write, GROUPED, Range { start: &end, end: &start }, Forward, usize::MAX).len(), 0);
    assert_eq!(all(&write, PLAIN).len(), ROWS / 10);
    assert_eq!(all(&write, GROUPED).len(), expected.len() + 2);
    assert_eq!(all(&write, QUEUE), []);
    write.commit().unwrap();
    assert_eq!(scan(&engine.begin_read(Wait::Allowed), GROUPED, range, Forward, usize::MAX), expected);
}

/// As a script does that adds to a collection and looks at it in turns.
pub fn between_the_puts_of_a_long_write(harness: &impl Harness) {
    const ROWS: usize = 20_000;
    let engine = harness.open();
    put(&engine, QUEUE, [("q-first", "0"), ("q99999", "0")]);
    let mut write = engine.begin_write(Wait::Allowed);
    for index in 0..ROWS {
        // Downwards, so that each is the first.
        let key = format!("q{:05}", ROWS - index);
        write.put(QUEUE, key.as_bytes(), &[b"1"]);
        let range = Range { start: b"q0", end: b"q9" };
        let first = scan(&write, QUEUE, range, Forward, 1);
        assert_eq!(first, owned([(key, "1")]));
        if index % 100 == 0 {
            let (last, mut shown) = (format!("q{ROWS:05}").into_bytes(), false);
            assert_eq!(keys(&write, QUEUE, range, Backward, 2)[0], last);
            let rank = index.min(50);
            assert_eq!(write.nth(QUEUE, range, rank, &mut |_, _| shown = true).unwrap(), None);
            assert!(shown);
        }
    }
    write.commit().unwrap();
    assert_eq!(all(&engine.begin_read(Wait::Allowed), QUEUE).len(), ROWS + 2);
}

/// Where an engine can tell them at once, they are of the rows that the write sees.
pub fn ranks_and_picks_of_a_write(harness: &impl Harness) {
    let engine = harness.open();
    let name = |index: usize| grouped("b", format!("{index:03}"));
    let (start, end) = (grouped("b", ""), grouped("b", ":"));
    let range = Range { start: &start, end: &end };
    put(&engine, GROUPED, (0..100).map(|index| (name(index), "v")));
    harness.move_rows_down(&engine);
    let mut dice = Dice(3);
    // An engine that remembers what it has scanned knows the group by then.
    (0..4).for_each(|_| drop(scan(&engine.begin_read(Wait::Allowed), GROUPED, range, Forward, usize::MAX)));
    for changes in 0..4 {
        let mut write = engine.begin_write(Wait::Allowed);
        for index in 0..90 {
            match changes {
                0 => {}
                1 => write.delete(GROUPED, &name(index)),
                2 => write.put(GROUPED, &name(index + 100), &[b"own"]),
                _ => write.put(GROUPED, &grouped("c", index.to_string()), &[b"elsewhere"]),
            }
            let rows = scan(&write, GROUPED, range, Forward, usize::MAX);
            let rank = dice.below(rows.len() + 2);
            let mut shown = None;
            let mut show = |key: &[u8], value: &[u8]| shown = Some((key.to_vec(), value.to_vec()));
            match write.nth_at_once(GROUPED, range, rank, &mut show).unwrap() {
                Ranked::Shown => assert_eq!(shown.as_ref(), rows.get(rank)),
                Ranked::Only(many) => assert_eq!((shown, many), (None, rows.len())),
                Ranked::Unknown => assert_eq!(shown, None),
            }
            let mut picked = None;
            let is_picked = write
                .pick(GROUPED, &grouped("b", ""), &mut || dice.roll(), &mut |key, value| {
                    picked = Some((key.to_vec(), value.to_vec()));
                })
                .unwrap();
            assert_eq!(picked.is_some(), is_picked);
            assert!(picked.is_none_or(|picked| rows.contains(&picked)));
        }
        // What was deleted and is there again may be picked again, and is never told as it was.
        if changes == 1 {
            (0..100).for_each(|index| write.put(GROUPED, &name(index), &[b"again"]));
            let mut shown = Vec::new();
            let mut show = |_: &[u8], value: &[u8]| shown.push(value.to_vec());
            let group = grouped("b", "");
            for _ in 0..50 {
                write.pick(GROUPED, &group, &mut || dice.roll(), &mut show).unwrap();
            }
            assert!(shown.iter().all(|value| value == b"again"));
        }
    }
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
            harness.move_rows_down(&engine);
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
    harness.move_rows_down(&engine);
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
    harness.move_rows_down(&engine);
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
            harness.move_rows_down(&engine);
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
            harness.move_rows_down(&engine);
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
            harness.move_rows_down(&engine);
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
    harness.move_rows_down(&engine);
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
