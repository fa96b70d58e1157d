//! What the group cache costs and saves, by the size of a group: `cargo run --release -p tarn-engine --example group_cache`.
//!
//! Prints microseconds of CPU time of the calling thread. The constants of `rocksdb/groups` follow from these figures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a tool, not the product

use std::ops::ControlFlow;

use tarn_engine::rocksdb::{OpenOptions, RocksEngine};
use tarn_engine::{
    Direction, Durability, Engine, Groups, LocalStore, MemoryBudget, Range, Read, Space, SpaceDef, Wait,
    Write,
};

const CACHED: Space = Space(0);
const PLAIN: Space = Space(1);
/// In all groups of a line together.
const ROWS: u64 = 200_000;
const VALUE: [u8; 16] = [7; 16];

static SPACES: [SpaceDef; 2] = [
    SpaceDef { name: "cached", group_len: |key| key.len().min(8), queue_like: false, groups: Groups::Kept },
    SpaceDef { name: "plain", group_len: |key| key.len().min(8), queue_like: false, groups: Groups::Plain },
];

fn main() {
    let dir = std::env::temp_dir().join(format!("tarn-group-cache-{}", std::process::id()));
    let memory =
        MemoryBudget { dirty_bytes: 1 << 30, row_cache_bytes: 512 << 20, block_cache_bytes: 256 << 20 };
    let engine = RocksEngine::open(OpenOptions {
        dir: dir.clone(),
        spaces: &SPACES,
        durability: Durability::EverySecond,
        memory,
        filter: None,
        truncate_damaged_log: false,
    })
    .unwrap();

    println!("dirty rows         scan of 10, by number of scans so far            scan of 10");
    println!("     rows        1st      2nd      3rd      4th      5th     not cached");
    let mut first = 0;
    for rows in [8, 16, 32, 64, 128, 256, 512, 1024, 2048] {
        let groups = first..first + ROWS / rows;
        first = groups.end;
        for space in [CACHED, PLAIN] {
            groups.clone().for_each(|group| put(&engine, space, group, 0..rows));
        }
        let scans = [(); 5].map(|()| per_group(&groups, |group| scan(&engine, CACHED, group)));
        let plain = per_group(&groups, |group| scan(&engine, PLAIN, group));
        print!("{rows:9}  ");
        scans.iter().for_each(|micros| print!("{micros:9.2}"));
        println!("{plain:15.2}");
    }

    println!("\n         a write while       catching up with so many dirty rows     next scan");
    println!("     rows  following  lagging        1       16       64      256       of 10");
    for rows in [8, 32, 128] {
        let groups = first..first + ROWS / rows;
        first = groups.end;
        groups.clone().for_each(|group| put(&engine, CACHED, group, 0..rows));
        // Written back, they are lagging. The first scan has them follow.
        engine.checkpoint(&dir.with_extension("copy")).unwrap();
        std::fs::remove_dir_all(dir.with_extension("copy")).unwrap();
        let mut lines = Vec::new();
        for (number, dirty) in (0..).zip([1, 16, 64, 256]) {
            let part = groups.start + number * 300..groups.start + number * 300 + 300;
            let lagging = per_group(&part, |group| put(&engine, CACHED, group, rows..rows + dirty));
            let catch_up = per_group(&part, |group| scan(&engine, CACHED, group));
            let next = per_group(&part, |group| scan(&engine, CACHED, group));
            let following = per_group(&part, |group| put(&engine, CACHED, group, 0..8));
            lines.push((lagging / dirty as f64, catch_up, next, following / 8.0));
        }
        print!("{rows:9}  {:9.2}{:9.2}", lines[0].3, lines[1].0);
        lines.iter().for_each(|line| print!("{:9.2}", line.1));
        println!("{:12.2}", lines[0].2);
    }
    drop(engine);
    std::fs::remove_dir_all(&dir).unwrap();
}

fn key(group: u64, row: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&group.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&row.wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes());
    key
}

/// One commit.
fn put(engine: &RocksEngine, space: Space, group: u64, rows: std::ops::Range<u64>) {
    let mut tx = engine.begin_write(Wait::Never);
    rows.for_each(|row| tx.put(space, &key(group, row), &[&VALUE]));
    tx.commit().unwrap();
}

fn scan(engine: &RocksEngine, space: Space, group: u64) {
    let (start, mut end) = (&key(group, 0)[..8], key(group, 0));
    end[8..].fill(0xff);
    let mut seen = 0;
    let mut each = |_: &[u8], _: &[u8]| {
        seen += 1;
        ControlFlow::Continue(())
    };
    let range = Range { start, end: &end };
    engine.begin_read(Wait::Allowed).scan(space, range, Direction::Forward, 10, &mut each).unwrap();
    assert!(seen >= 8);
}

fn per_group(groups: &std::ops::Range<u64>, each: impl FnMut(u64)) -> f64 {
    let before = thread_micros();
    groups.clone().for_each(each);
    (thread_micros() - before) / (groups.end - groups.start) as f64
}

fn thread_micros() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the structure it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
