use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::edit::{MAX_EDIT_BYTES, ROW_BYTES};
use super::*;
use crate::dispatch::locks::StripeSet;
use crate::encoding::rows;
use crate::keyspace::{Env, ReadCx, draws};
use crate::testkit::Kit;

const KEY: &[u8] = b"key";

type Model = VecDeque<Vec<u8>>;

/// A kit whose commands run at the time of the server's own work.
fn open() -> Kit {
    let mut kit = Kit::new();
    kit.now_ms = kit.node.clock.now_ms();
    kit
}

fn write<T>(kit: &mut Kit, mut work: impl FnMut(&mut WriteCx<'_>) -> Result<T>) -> T {
    kit.executor.transact(&StripeSet::ALL, 0, &mut work).expect("a commit")
}

fn read<T>(kit: &mut Kit, work: impl FnOnce(&mut ReadCx<'_>) -> Result<T>) -> T {
    kit.executor.look(0, work).expect("a read")
}

fn number(n: u64) -> Vec<u8> {
    n.to_string().into_bytes()
}

/// A list of the numbers below `len`.
fn fill(kit: &mut Kit, len: u64) -> Model {
    write(kit, |cx| {
        let mut list = List::open_or_create(cx, KEY)?;
        for n in 0..len {
            list.push(cx, End::Right, &number(n))?;
        }
        list.save(cx)
    });
    (0..len).map(number).collect()
}

/// Everything that is stored of the list: its elements by their places and as rows, of which there are no others.
fn stored(kit: &mut Kit) -> Model {
    read(kit, |cx| {
        let Some(list) = List::find(cx, KEY)? else { return Ok(Model::new()) };
        let mut all = Model::new();
        list.each(cx, 0..list.len(), End::Left, &mut |place, value| {
            assert_eq!(place, all.len() as u64);
            all.push_back(value.to_vec());
            ControlFlow::Continue(())
        })?;
        let mut rows = Model::new();
        list.rows.each(cx, &mut |element| {
            rows.push_back(element.value.to_vec());
            ControlFlow::Continue(())
        })?;
        assert!(rows == all, "{} rows, {} elements", rows.len(), all.len());
        Ok(all)
    })
}

/// Whether the list has another version than before.
fn version(kit: &mut Kit) -> Option<u64> {
    read(kit, |cx| Ok(List::find(cx, KEY)?.map(|list| list.rows.version())))
}

/// A source of choices.
struct Choices<I>(I);

impl<I: Iterator<Item = u64>> Choices<I> {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next().expect("endless") % n.max(1)
    }

    fn end(&mut self) -> End {
        if self.below(2) == 0 { End::Left } else { End::Right }
    }
}

fn pop_model(model: &mut Model, end: End) -> Option<Vec<u8>> {
    match end {
        End::Left => model.pop_front(),
        End::Right => model.pop_back(),
    }
}

/// One command's worth of change to both.
fn change(kit: &mut Kit, model: &mut Model, choices: &mut Choices<impl Iterator<Item = u64>>) {
    let len = model.len() as u64;
    let end = choices.end();
    let place = choices.below(len);
    match choices.below(12) {
        0..=3 => {
            let count = if choices.below(20) == 0 { choices.below(900) } else { choices.below(5) };
            let from = choices.below(50);
            write(kit, |cx| {
                let mut list = List::open_or_create(cx, KEY)?;
                for n in from..from + count {
                    list.push(cx, end, &number(n))?;
                }
                list.save(cx)
            });
            for n in from..from + count {
                match end {
                    End::Left => model.push_front(number(n)),
                    End::Right => model.push_back(number(n)),
                }
            }
        }
        4..=5 => {
            let popped = write(kit, |cx| {
                let Some(mut list) = List::open(cx, KEY)? else { return Ok(None) };
                let popped = list.pop(cx, end)?.map(|span| cx.bytes(span).to_vec());
                list.save(cx).map(|()| popped)
            });
            assert_eq!(popped, pop_model(model, end));
        }
        6 => {
            let count = if choices.below(8) == 0 { choices.below(1_500) } else { choices.below(6) };
            let taken = write(kit, |cx| {
                let mut taken = Vec::new();
                if let Some(list) = List::open(cx, KEY)? {
                    list.take(cx, end, count, &mut |value| taken.push(value.to_vec()))?;
                }
                Ok(taken)
            });
            let want: Vec<_> = (0..count).map_while(|_| pop_model(model, end)).collect();
            assert_eq!(taken, want);
        }
        7 if len > 0 => {
            write(kit, |cx| List::open(cx, KEY)?.expect("a list").set(cx, place, b"set"));
            model[place as usize] = b"set".to_vec();
        }
        8..=9 if len > 0 => {
            let pivot = model[place as usize].clone();
            let side = if end == End::Left { Side::Before } else { Side::After };
            let found =
                write(kit, |cx| List::open(cx, KEY)?.expect("a list").insert(cx, side, &pivot, b"inserted"));
            assert_eq!(found, Some(len + 1));
            let at = model.iter().position(|value| *value == pivot).expect("the pivot");
            model.insert(at + usize::from(side == Side::After), b"inserted".to_vec());
        }
        10 if len > 0 => {
            let value = model[place as usize].clone();
            let most = if choices.below(2) == 0 { u64::MAX } else { 1 + choices.below(3) };
            let removed =
                write(kit, |cx| List::open(cx, KEY)?.expect("a list").remove(cx, &value, end, most));
            let mut doomed: Vec<usize> = (0..model.len()).filter(|at| model[*at] == value).collect();
            if end == End::Right {
                doomed.reverse();
            }
            doomed.truncate(usize::try_from(most).unwrap_or(usize::MAX));
            assert_eq!(removed, doomed.len() as u64);
            doomed.sort_unstable();
            doomed.iter().rev().for_each(|at| drop(model.remove(*at)));
        }
        11 if len > 0 => {
            // Mostly a little off both ends, now and then almost everything.
            let margin = if choices.below(10) == 0 { len } else { 8 };
            let (left, right) = (choices.below(margin), choices.below(margin));
            let kept = left.min(len)..len.saturating_sub(right).max(left.min(len));
            write(kit, |cx| List::open(cx, KEY)?.expect("a list").keep(cx, kept.clone()));
            *model = model.drain(kept.start as usize..kept.end as usize).collect();
        }
        _ => {}
    }
}

#[test]
fn a_list_is_what_a_deque_is() {
    for seed in 0..4 {
        let mut kit = open();
        let mut model = Model::new();
        let mut choices = Choices(draws(seed));
        for step in 0..1_500 {
            change(&mut kit, &mut model, &mut choices);
            if step % 8 == 0 || model.len() < 20 {
                assert_eq!(stored(&mut kit), model, "seed {seed}, step {step}");
            }
            if !model.is_empty() {
                let (a, b) = (choices.below(model.len() as u64 + 1), choices.below(model.len() as u64 + 1));
                let places = a.min(b)..a.max(b);
                let backwards = read(&mut kit, |cx| {
                    let mut list = List::find(cx, KEY)?.expect("a list");
                    assert_eq!(list.len(), model.len() as u64);
                    let last = list.get(cx, model.len() as u64 - 1)?;
                    assert_eq!(Some(cx.bytes(last)), model.back().map(Vec::as_slice));
                    let mut found = Vec::new();
                    list.each(cx, places.clone(), End::Right, &mut |_, value| {
                        found.push(value.to_vec());
                        ControlFlow::Continue(())
                    })?;
                    Ok(found)
                });
                let want: Vec<_> =
                    model.range(places.start as usize..places.end as usize).rev().cloned().collect();
                assert!(backwards == want, "seed {seed}, step {step}");
            }
        }
    }
}

#[test]
fn clients_count_from_both_ends() {
    let mut kit = open();
    fill(&mut kit, 5);
    read(&mut kit, |cx| {
        let list = List::find(cx, KEY)?.expect("a list");
        let places = [(0, Some(0)), (4, Some(4)), (5, None), (-1, Some(4)), (-5, Some(0)), (-6, None)];
        for (index, place) in places {
            assert_eq!(list.place(index), place, "{index}");
        }
        assert_eq!((list.place(i64::MIN), list.place(i64::MAX)), (None, None));
        let ranges = [
            ((0, -1), 0..5),
            ((-2, -1), 3..5),
            ((1, 1), 1..2),
            ((-9, 1), 0..2),
            ((3, 9), 3..5),
            ((3, 2), 0..0),
            ((5, 9), 0..0),
            ((0, -6), 0..0),
            ((i64::MIN, i64::MAX), 0..5),
            ((i64::MAX, i64::MAX), 0..0),
        ];
        for ((first, last), places) in ranges {
            assert_eq!(list.places(first, last), places, "{first} {last}");
        }
        Ok(())
    });
}

#[test]
fn the_shorter_side_moves() {
    let mut kit = open();
    fill(&mut kit, 1_000);
    let head = |kit: &mut Kit| read(kit, |cx| Ok(List::find(cx, KEY)?.expect("a list").head));
    let start = head(&mut kit);
    kit.run("LINSERT key BEFORE 10 x");
    assert_eq!(head(&mut kit), start - 1);
    kit.run("LINSERT key BEFORE 990 y");
    assert_eq!(head(&mut kit), start - 1);
    kit.run("LREM key 1 x");
    assert_eq!(head(&mut kit), start);
    kit.run("LREM key 1 y");
    assert_eq!(head(&mut kit), start);
    // The longest run of what stays keeps its place.
    kit.run("LREM key 1 3 | LREM key 1 997");
    assert_eq!(head(&mut kit), start + 1);
    assert_eq!(stored(&mut kit).len(), 998);
}

#[test]
fn big_edits_are_written_anew() {
    const COUNT: usize = 40;
    let big = |n: usize| vec![n as u8; MAX_EDIT_BYTES / 16];
    let mut kit = open();
    let mut model: Model = (0..COUNT).map(big).collect();
    for value in &model {
        kit.words([b"RPUSH", KEY, value]);
    }
    kit.run("PEXPIREAT key 9000000000000");
    let before = version(&mut kit);
    // Fifteen on the shorter side are what a transaction takes, sixteen and their keys are too much.
    for (at, is_new) in [(15, false), (16, true), (24, true), (25, false)] {
        let before = version(&mut kit);
        let reply = kit.words([b"LINSERT", KEY, b"BEFORE", &model[at], b"here"]);
        model.insert(at, b"here".to_vec());
        assert_eq!(reply, format!(":{}", model.len()));
        assert_eq!(version(&mut kit) != before, is_new, "{at}");
        assert!(stored(&mut kit) == model, "{at}");
        assert_eq!(kit.run("LREM key 0 here"), ":1");
        model.remove(at);
        assert!(stored(&mut kit) == model, "{at}");
    }
    assert_eq!(kit.run("PEXPIRETIME key | DBSIZE"), ":9000000000000 | :1");
    assert_ne!(version(&mut kit), before);
}

#[test]
fn trimming_writes_as_little_as_it_can() {
    let light = Env::IO_THREAD_MAX_ROWS as u64;
    let row_bytes = ROW_BYTES + rows::collection(0, 0, KEY, 1).len();
    let affordable = (MAX_EDIT_BYTES / row_bytes) as u64;
    let cases = [
        // Few are deleted one by one, whatever stays.
        (light + 1, light..light + 1, false, false),
        (light + 2, light + 1..light + 2, true, false),
        (5_000, 1_500..5_000, false, true),
        (5_000, 3_000..5_000, true, true),
        (200_000, affordable..200_000, false, true),
        (200_000, affordable + 1..200_000, true, true),
    ];
    for (len, kept, is_new, is_heavy) in cases {
        let mut kit = open();
        let mut model = fill(&mut kit, len);
        let before = version(&mut kit);
        let words = [b"LTRIM".to_vec(), KEY.to_vec(), number(kept.start), number(kept.end - 1)];
        assert_eq!(kit.words(words), "+OK");
        assert_eq!(kit.moved, is_heavy, "{len} {kept:?}");
        assert_eq!(version(&mut kit) != before, is_new, "{len} {kept:?}");
        model = model.drain(kept.start as usize..kept.end as usize).collect();
        assert!(stored(&mut kit) == model, "{len} {kept:?}");
    }
}

#[test]
fn much_leaves_the_io_thread() {
    let mut kit = open();
    let light = Env::IO_THREAD_MAX_ROWS as u64;
    fill(&mut kit, 3 * light);
    let last = 3 * light - 1;
    let lines = [
        ("LRANGE key 0 999".to_owned(), false),
        ("LRANGE key 0 1000".to_owned(), true),
        ("LRANGE key -1000 -1".to_owned(), false),
        ("LPOS key 999".to_owned(), false),
        ("LPOS key 1000".to_owned(), true),
        (format!("LPOS key {last}"), true),
        (format!("LPOS key {last} RANK -1"), false),
        ("LPOS key nosuch MAXLEN 1000".to_owned(), false),
        ("LPOS key nosuch".to_owned(), true),
        ("LREM key 1 5".to_owned(), false),
        (format!("LREM key -1 {last}"), false),
        ("LREM key 0 nosuch".to_owned(), true),
        ("LINSERT key AFTER 7 x".to_owned(), false),
        ("LINSERT key AFTER 2000 x".to_owned(), true),
        ("LPOP key 900".to_owned(), false),
        ("RPOP key 1001".to_owned(), true),
        ("LTRIM key 0 10".to_owned(), false),
    ];
    for (line, is_heavy) in lines {
        kit.run(&line);
        assert_eq!(kit.moved, is_heavy, "{line}");
    }
    let values: Vec<Vec<u8>> = vec![vec![0; Env::IO_THREAD_MAX_BYTES / 16]; 17];
    kit.words([b"RPUSH".to_vec(), KEY.to_vec()].into_iter().chain(values));
    assert!(kit.moved);
    kit.run("LRANGE key 0 -1");
    assert!(!kit.moved, "one step is read before its size is known");
}

/// Places of rows that a queue has left behind are never looked at, only those of its elements.
#[test]
fn a_queue_moves_on() {
    let mut kit = open();
    for n in 0..3_000 {
        let words = [b"RPUSH".to_vec(), KEY.to_vec(), number(n)];
        kit.words(words);
        if n >= 10 {
            assert_eq!(kit.run("LPOP key"), format!("\"{}\"", n - 10));
        }
    }
    let (head, len) = read(&mut kit, |cx| {
        let list = List::find(cx, KEY)?.expect("a list");
        Ok((list.head, list.len()))
    });
    assert_eq!((head, len), (MIDDLE + 2_990, 10));
    assert_eq!(kit.run("LINDEX key 0 | LINDEX key -1 | LLEN key"), "\"2990\" | \"2999\" | :10");
    assert_eq!(kit.run("COPY key copy | LRANGE copy 8 -1"), ":1 | [\"2998\" \"2999\"]");
    kit.run("LPOP key 10 | RPOP copy 9");
    assert_eq!(kit.run("EXISTS key | DBSIZE | LRANGE copy 0 -1"), ":0 | :1 | [\"2990\"]");
}
