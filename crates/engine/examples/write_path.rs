//! CPU time per row on the engine's hot paths: `cargo run --release -p tarn-engine --example write_path [rows [only]]`.
//!
//! Prints nanoseconds of the calling thread, and of the whole process (log, write-back and compaction included).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a tool, not the product

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use tarn_engine::rocksdb::{OpenOptions, RocksEngine};
use tarn_engine::{
    Direction, Durability, Engine, Groups, LocalStore, MemoryBudget, Range, Read, Space, SpaceDef, Wait,
    Write,
};

const META: Space = Space(0);
const DATA: Space = Space(1);
const ROWS_PER_TICK: usize = 16;
const BUDGET: MemoryBudget =
    MemoryBudget { dirty_bytes: 512 << 20, row_cache_bytes: 256 << 20, block_cache_bytes: 256 << 20 };

static SPACES: [SpaceDef; 2] = [
    SpaceDef { name: "meta", group_len: |key| key.len().min(3), queue_like: false, groups: Groups::Plain },
    SpaceDef { name: "data", group_len: |key| key.len().min(11), queue_like: false, groups: Groups::Plain },
];

fn main() {
    let rows: usize =
        std::env::args().nth(1).map_or(1_000_000, |rows| rows.parse().expect("a number of rows"));
    let dir: PathBuf = std::env::temp_dir().join(format!("tarn-write-path-{}", std::process::id()));
    let engine = open(&dir);
    let value = [7_u8; 64];

    measure("put, distinct rows", rows, |row| put(&engine, row, &key(row as u64), &value));
    measure("put, one commit per tick", rows / ROWS_PER_TICK, |tick| {
        let mut tx = engine.begin_write(Wait::Never);
        for row in tick * ROWS_PER_TICK..(tick + 1) * ROWS_PER_TICK {
            tx.put(META, &key(row as u64), &[&value]);
        }
        tx.commit().unwrap();
        engine.flush().unwrap();
    });
    measure("put, 10 000 hot rows", rows, |row| put(&engine, row, &key(row as u64 % 10_000), &value));
    let mut out = Vec::new();
    measure("get, 10 000 hot dirty rows", rows, |row| get(&engine, &key(row as u64 % 10_000), &mut out));
    measure("get, random dirty or clean rows", rows / 4, |row| {
        get(&engine, &key(row as u64 * 7919 % rows as u64), &mut out);
    });
    engine.checkpoint(&dir.with_extension("copy")).unwrap();
    measure("get, 10 000 cached rows", rows, |row| get(&engine, &key(row as u64 % 10_000), &mut out));
    measure("get, absent cached row", rows, |_| {
        black_box(engine.begin_read(Wait::Never).get(META, b"no such row", &mut out).ok());
    });
    engine.set_memory(MemoryBudget { row_cache_bytes: 0, ..BUDGET });
    measure("get, RocksDB's block cache", rows / 10, |row| get(&engine, &key(row as u64 % 10_000), &mut out));
    engine.set_memory(BUDGET);

    for group in 0..1000_u64 {
        let mut tx = engine.begin_write(Wait::Never);
        for field in 0..10 {
            tx.put(DATA, &data_key(group, field), &[&value]);
        }
        tx.commit().unwrap();
    }
    measure("scan of 10 dirty rows", rows / 20, |row| {
        let group = row as u64 % 1000;
        let (start, end) = (data_key(group, 0), data_key(group, u64::MAX));
        let mut seen = 0;
        engine
            .begin_read(Wait::Allowed)
            .scan(DATA, Range { start: &start, end: &end }, Direction::Forward, 100, &mut |_, _| {
                seen += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, 10);
    });
    measure("snapshot after a write", 1000, |row| {
        put(&engine, row, &key(row as u64), &value);
        drop(engine.snapshot().unwrap());
    });
    println!("{:?}", engine.stats());
    drop(engine);
    let started = Instant::now();
    drop(open(&dir));
    println!("reopened in {} ms", started.elapsed().as_millis());
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::remove_dir_all(dir.with_extension("copy")).unwrap();
}

fn open(dir: &std::path::Path) -> RocksEngine {
    RocksEngine::open(OpenOptions {
        dir: dir.to_path_buf(),
        spaces: &SPACES,
        durability: Durability::EverySecond,
        memory: BUDGET,
        filter: None,
        truncate_damaged_log: false,
    })
    .unwrap()
}

/// Three bytes of group, as a database and a slot, then something well spread, then a name.
fn key(number: u64) -> [u8; 24] {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = *b"\0\0\0........ key:........";
    key[1..3].copy_from_slice(&((spread >> 50) as u16).to_be_bytes());
    key[3..11].copy_from_slice(&spread.to_be_bytes());
    key[16..24].copy_from_slice(&number.to_be_bytes());
    key
}

fn data_key(group: u64, field: u64) -> [u8; 19] {
    let mut key = [0; 19];
    key[3..11].copy_from_slice(&group.to_be_bytes());
    key[11..].copy_from_slice(&field.to_be_bytes());
    key
}

fn put(engine: &RocksEngine, row: usize, key: &[u8], value: &[u8]) {
    let mut tx = engine.begin_write(Wait::Never);
    tx.put(META, key, &[value]);
    tx.commit().unwrap();
    if row.is_multiple_of(ROWS_PER_TICK) {
        engine.flush().unwrap();
    }
}

fn get(engine: &RocksEngine, key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    assert!(engine.begin_read(Wait::Allowed).get(META, key, out).unwrap());
    black_box(&out);
}

fn measure(name: &str, count: usize, mut each: impl FnMut(usize)) {
    if std::env::args().nth(2).is_some_and(|only| !name.contains(&only)) {
        return;
    }
    let clock = || (Instant::now(), cpu(libc::CLOCK_THREAD_CPUTIME_ID), cpu(libc::CLOCK_PROCESS_CPUTIME_ID));
    let before = clock();
    for number in 0..count {
        each(number);
    }
    let after = clock();
    let wall = (after.0 - before.0).as_nanos() as f64;
    println!(
        "{name:32} {:8.0} ns thread {:8.0} ns process {:8.0} ns wall",
        (after.1 - before.1) / count as f64,
        (after.2 - before.2) / count as f64,
        wall / count as f64
    );
}

fn cpu(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the structure it is given.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
