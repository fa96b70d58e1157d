//! Several threads at once.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;

use super::{ALL, GROUPED, Harness, PLAIN, Promise, QUEUE, all, committed, get, keys, put, scan};
use crate::{Direction, Engine, Error, Position, Read, Wait, Write};

const THREADS: usize = 4;

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}

/// Runs a write until no other has come between.
fn until_committed<E: Engine>(
    engine: &E,
    mut work: impl FnMut(&mut E::Write<'_>) -> crate::Result<()>,
) -> Position {
    loop {
        let mut write = engine.begin_write(Wait::Allowed);
        match work(&mut write).and_then(|()| write.commit()) {
            Ok(position) => return position,
            Err(Error::Conflict) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Sets the flag when its thread is done, also when it panics, so that the others do not wait forever.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Each thread moves money among its own accounts. Whatever a snapshot sees, the sum is the same.
pub fn transfers_keep_their_sum(harness: &impl Harness) {
    const ACCOUNTS: usize = 8;
    const TRANSFERS: usize = 400;
    let engine = harness.open();
    let account = |thread: usize, index: usize| vec![thread as u8, index as u8];
    for thread in 0..THREADS {
        put(&engine, PLAIN, (0..ACCOUNTS).map(|index| (account(thread, index), 100_u64.to_be_bytes())));
    }
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                let _done = Done(done);
                let mut dice = super::Dice(thread as u64 + 1);
                for _ in 0..TRANSFERS {
                    let (from, to) = (dice.below(ACCOUNTS), dice.below(ACCOUNTS));
                    until_committed(engine, |write| {
                        let taken = number(&get(write, PLAIN, account(thread, from)).unwrap());
                        let amount = taken.min(7);
                        write.put(PLAIN, &account(thread, from), &[&(taken - amount).to_be_bytes()]);
                        let had = number(&get(write, PLAIN, account(thread, to)).unwrap());
                        write.put(PLAIN, &account(thread, to), &[&(had + amount).to_be_bytes()]);
                        Ok(())
                    });
                }
            });
        }
        let mut rounds = 0;
        while done.load(Ordering::SeqCst) < THREADS || rounds < 3 {
            let snapshot = engine.snapshot().unwrap();
            let sum = |rows: &[super::Row]| rows.iter().map(|row| number(&row.1)).sum::<u64>();
            let rows = all(&snapshot, PLAIN);
            assert_eq!(sum(&rows), (THREADS * ACCOUNTS * 100) as u64);
            if rounds % 16 == 8 {
                harness.move_rows_down(&engine);
            }
            assert_eq!(all(&snapshot, PLAIN), rows, "the snapshot has changed");
            rounds += 1;
        }
    });
}

/// Every commit writes the same number to a row of each space. A snapshot sees one number; a read, under its caller's
/// lock where the engine leaves locking to its caller, sees numbers that grow.
pub fn commits_are_seen_whole(harness: &impl Harness) {
    const COMMITS: u64 = 600;
    let engine = harness.open();
    let lock = RwLock::new(());
    let conflicts = harness.promises().contains(&Promise::Conflicts);
    let write_all = |count: u64| {
        let _guard = (!conflicts).then(|| lock.write().unwrap());
        until_committed(&engine, |write| {
            for space in [PLAIN, GROUPED, QUEUE] {
                write.put(space, b"row", &[&count.to_be_bytes()]);
                // Beside it one that exists in every other commit only.
                if count.is_multiple_of(2) {
                    write.put(space, b"even", &[&count.to_be_bytes()]);
                } else {
                    write.delete(space, b"even");
                }
            }
            Ok(())
        });
    };
    write_all(0);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&done);
            for count in 1..=COMMITS {
                write_all(count);
                if count % 150 == 0 {
                    harness.move_rows_down(&engine);
                }
            }
        });
        scope.spawn(|| {
            while done.load(Ordering::SeqCst) == 0 {
                let snapshot = engine.snapshot().unwrap();
                let count = get(&snapshot, PLAIN, "row").unwrap();
                for space in [PLAIN, GROUPED, QUEUE] {
                    let rows = all(&snapshot, space);
                    assert!(rows.iter().all(|row| row.1 == count), "a commit seen in part: {rows:?}");
                    assert_eq!(rows.len(), if number(&count).is_multiple_of(2) { 2 } else { 1 });
                }
            }
        });
        scope.spawn(|| {
            let mut last = 0;
            while done.load(Ordering::SeqCst) == 0 {
                // Each read may see a newer commit than the one before, never an older one.
                let _guard = (!conflicts).then(|| lock.read().unwrap());
                let read = engine.begin_read(Wait::Allowed);
                for space in [PLAIN, GROUPED, QUEUE, GROUPED, PLAIN] {
                    let count = number(&get(&read, space, "row").unwrap());
                    assert!(count >= last, "commit {count} seen after {last}");
                    last = count;
                }
            }
        });
    });
    assert_eq!(number(&committed(&engine, QUEUE, "row").unwrap()), COMMITS);
}

/// Everybody counts in the same row, under a lock where the engine leaves that to its caller.
pub fn a_shared_counter_loses_nothing(harness: &impl Harness) {
    const COUNTS: usize = 300;
    let engine = harness.open();
    put(&engine, PLAIN, [("counter", 0_u64.to_be_bytes())]);
    let lock = Mutex::new(());
    let conflicts = harness.promises().contains(&Promise::Conflicts);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..COUNTS {
                    let _guard = (!conflicts).then(|| lock.lock().unwrap());
                    until_committed(&engine, |write| {
                        let count = number(&get(write, PLAIN, "counter").unwrap());
                        write.put(PLAIN, b"counter", &[&(count + 1).to_be_bytes()]);
                        Ok(())
                    });
                }
            });
        }
    });
    assert_eq!(number(&committed(&engine, PLAIN, "counter").unwrap()), (THREADS * COUNTS) as u64);
}

pub fn positions_are_unique_and_flushes_reach_them(harness: &impl Harness) {
    const COMMITS: usize = 300;
    let engine = harness.open();
    let positions = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (engine, positions) = (&engine, &positions);
            scope.spawn(move || {
                let mut last = Position(0);
                for index in 0..COMMITS {
                    let position = put(engine, PLAIN, [(format!("{thread}/{index:04}"), "v")]);
                    assert!(position > last);
                    last = position;
                    assert!(positions.lock().unwrap().insert(position), "{position:?} was given twice");
                    if index % 10 == 0 {
                        assert!(engine.flush().unwrap() >= position);
                    }
                }
            });
        }
    });
    let newest = positions.into_inner().unwrap().into_iter().max().unwrap();
    assert!(engine.flush().unwrap() >= newest);
    assert_eq!(
        keys(&engine.snapshot().unwrap(), PLAIN, ALL, Direction::Forward, usize::MAX).len(),
        THREADS * COMMITS
    );
}

/// A lock that is held while a callback reads would sooner or later wait for itself behind a waiting commit.
pub fn callbacks_read_while_others_commit(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, (0..200_u8).map(|index| ([index, 0], [index])));
    harness.move_rows_down(&engine);
    put(&engine, PLAIN, (0..200_u8).map(|index| ([index, 1], [index])));
    let stop = AtomicBool::new(false);
    let started = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut count = 0_u64;
            while !stop.load(Ordering::SeqCst) {
                put(&engine, QUEUE, [("row", count.to_be_bytes())]);
                started.store(true, Ordering::SeqCst);
                count += 1;
            }
        });
        let stop_at_the_end = StopOnDrop(&stop);
        while !started.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        for _ in 0..5 {
            let read = engine.begin_read(Wait::Allowed);
            let snapshot = engine.snapshot().unwrap();
            let mut rows = 0;
            read.scan(PLAIN, ALL, Direction::Forward, usize::MAX, &mut |key, value| {
                rows += 1;
                assert_eq!(get(&read, PLAIN, key).as_deref(), Some(value));
                assert!(get(&read, QUEUE, "row").is_some());
                snapshot
                    .get_many(PLAIN, &[key], &mut |_, again| {
                        assert_eq!(again, Some(value));
                        assert_eq!(scan(&snapshot, PLAIN, ALL, Direction::Backward, 2).len(), 2);
                    })
                    .unwrap();
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(rows, 400);
        }
        drop(stop_at_the_end);
    });
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
