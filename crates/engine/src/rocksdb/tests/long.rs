//! Long reads: what a snapshot's walks tell, what they leave in memory, what they hold.

use std::thread;
use std::time::{Duration, Instant};

use super::random::Random;
use super::*;

fn key(group: u8, number: u32) -> Vec<u8> {
    [&[b'g', group][..], &number.to_be_bytes()].concat()
}

fn put_many(engine: &RocksEngine, group: u8, numbers: std::ops::Range<u32>, value: &[u8]) {
    let mut tx = engine.begin_write(Wait::Allowed);
    numbers.for_each(|number| tx.put(FIXED, &key(group, number), &[value]));
    tx.commit().unwrap();
}

/// A place in a group that is read on from in steps of any length, as those who merge collections do.
struct Walk {
    group: u8,
    direction: Direction,
    start: Vec<u8>,
    end: Vec<u8>,
    told: Pairs,
}

impl Walk {
    fn new(group: u8, direction: Direction) -> Walk {
        Walk { group, direction, start: vec![b'g', group], end: vec![b'g', group + 1], told: Vec::new() }
    }

    fn step(&mut self, read: &impl Read, limit: usize) -> usize {
        let rows = scan_from(read, FIXED, &self.start, &self.end, self.direction, limit);
        if let Some((last, _)) = rows.last() {
            match self.direction {
                Direction::Forward => self.start = [&**last, &[0]].concat(),
                Direction::Backward => self.end.clone_from(last),
            }
        }
        let told = rows.len();
        self.told.extend(rows);
        told
    }

    fn is_over(&self, read: &impl Read) -> bool {
        scan_from(read, FIXED, &self.start, &self.end, self.direction, 1).is_empty()
    }
}

#[test]
fn walks_beside_each_other_tell_the_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for group in 0..3 {
        put_many(&engine, group, 0..2000, b"old");
    }
    engine.write_back_now();
    // Some of it is in tables when the snapshot is taken.
    put_many(&engine, 1, 500..1500, b"new");
    let snapshot = engine.snapshot().unwrap();
    let mut random = Random::new(11);
    let mut walks: Vec<Walk> = [Direction::Forward, Direction::Backward]
        .into_iter()
        .flat_map(|direction| (0..3).map(move |group| Walk::new(group, direction)))
        .collect();
    let mut ended = 0;
    let mut round = 0;
    while ended < walks.len() {
        let at = random.below(walks.len());
        let walk = &mut walks[at];
        if walk.start >= walk.end || walk.told.len() == 2000 {
            ended = walks.iter().filter(|walk| walk.told.len() == 2000).count();
            continue;
        }
        let told = walk.step(&snapshot, 1 + random.below(60));
        assert!(told > 0, "a walk ends early at {}", walk.told.len());
        round += 1;
        if round % 50 == 0 {
            put_many(&engine, random.below(3) as u8, 0..2000, b"later");
            engine.write_back_now();
        }
    }
    for walk in &walks {
        assert!(walk.is_over(&snapshot));
        let mut want: Vec<u32> = (0..2000).collect();
        if walk.direction == Direction::Backward {
            want.reverse();
        }
        for (number, (told, value)) in want.into_iter().zip(&walk.told) {
            assert_eq!(*told, key(walk.group, number));
            let is_new = walk.group == 1 && (500..1500).contains(&number);
            assert_eq!(value, if is_new { b"new" } else { b"old" });
        }
    }
}

#[test]
fn a_long_scan_leaves_the_block_cache_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryBudget { block_cache_bytes: 256 << 20, ..BUDGET };
    let engine = RocksEngine::open(OpenOptions { memory, ..options(dir.path()) }).unwrap();
    let mut random = Random::new(3);
    // Bytes that cannot be compressed.
    let value: Vec<u8> = (0..10_000).map(|_| random.below(256) as u8).collect();
    for number in 0..2000 {
        put_many(&engine, 7, number..number + 1, &value[number as usize..number as usize + 8000]);
    }
    engine.write_back_now();
    let before = engine.stats().block_cache_bytes;
    let snapshot = engine.snapshot().unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        assert_eq!(scan_from(&snapshot, FIXED, b"g\x07", b"g\x08", direction, usize::MAX).len(), 2000);
    }
    let grown = engine.stats().block_cache_bytes - before;
    assert!(grown > 1 << 20, "the beginning is kept: {grown}");
    assert!(grown < 8 << 20, "16 MB were read, and {grown} bytes are kept");
}

#[test]
fn tables_that_a_snapshot_holds_take_room_from_clean_rows() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let held = || engine.inner.shards.budget.held().load(Ordering::Relaxed);
    put_many(&engine, 1, 0..20_000, &[b'v'; 100]);
    let snapshot = engine.snapshot().unwrap();
    assert_eq!(held(), 0, "dirty rows are counted as dirty ones");
    // What is written back is held by the thread that wrote it for a moment longer.
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {} held", held());
            thread::sleep(Duration::from_millis(1));
        }
    };
    engine.write_back_now();
    let first = engine.inner.shards.budget.held().load(Ordering::Relaxed);
    assert!(first > 2_000_000, "{first}");
    put_many(&engine, 2, 0..20_000, &[b'v'; 100]);
    engine.write_back_now();
    wait_until("the second table is let go", &|| held() == first);
    let budget = &engine.inner.shards.budget;
    assert!(budget.used() + held() <= budget.limit() + (64 << 10));
    assert_eq!(get_from(&snapshot, FIXED, &key(1, 7)).unwrap(), [b'v'; 100]);
    drop(snapshot);
    wait_until("the first table is let go", &|| held() == 0);
}
