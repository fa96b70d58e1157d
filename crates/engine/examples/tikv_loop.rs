//! The limit for anything on top of TiKV: the rows that commands need, read and written in a loop over the client library, with nothing in
//! between.
//!
//! `cargo run --release -p tarn-engine --features tikv --example tikv_loop -- 127.0.0.1:2379 [tasks [seconds]]`
//!
//! A line for each command and depth of pipeline: name, depth, commands per second, microseconds of CPU for each.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tikv_client::transaction::HeartbeatOption;
use tikv_client::{CheckLevel, TransactionClient, TransactionOptions};
use tokio::sync::Mutex;

const KEYS: u64 = 10_000;
const DEPTHS: [u64; 2] = [1, 16];

/// What a command does to rows.
#[derive(Clone, Copy)]
struct Rows {
    command: &'static str,
    /// Rows that it reads in one request, then in another: those of one key, and those of its elements.
    reads: [u64; 2],
    /// Rows that it writes, of so many bytes.
    writes: u64,
    bytes: usize,
    /// All commands are about the same key: its row is written by one at a time, and once for all that are sent together.
    one_key: bool,
}

const COMMANDS: [Rows; 7] = [
    Rows { command: "GET", reads: [1, 0], writes: 0, bytes: 3, one_key: false },
    Rows { command: "SET", reads: [1, 0], writes: 1, bytes: 100, one_key: false },
    Rows { command: "HSET", reads: [1, 1], writes: 2, bytes: 3, one_key: false },
    Rows { command: "SADD", reads: [1, 1], writes: 2, bytes: 0, one_key: true },
    Rows { command: "ZADD", reads: [1, 1], writes: 3, bytes: 8, one_key: true },
    Rows { command: "LPUSH", reads: [1, 0], writes: 2, bytes: 3, one_key: true },
    Rows { command: "MULTI", reads: [10, 0], writes: 10, bytes: 3, one_key: false },
];

fn key(number: u64) -> Vec<u8> {
    format!("tikv-loop:{:012}", number % KEYS).into_bytes()
}

/// Rows beside each other, from this one on.
fn keys(first: u64, count: u64) -> Vec<Vec<u8>> {
    (first..first + count).map(key).collect()
}

fn options() -> TransactionOptions {
    TransactionOptions::new_optimistic()
        .try_one_pc()
        .drop_check(CheckLevel::None)
        .heartbeat_option(HeartbeatOption::NoHeartbeat)
}

/// One snapshot for all that are sent together.
async fn read(client: &TransactionClient, first: u64, count: u64) {
    let at = client.current_timestamp().await.unwrap();
    let mut snapshot = client.snapshot(at, options());
    if count == 1 {
        snapshot.get(key(first)).await.unwrap();
    } else {
        snapshot.batch_get(keys(first, count)).await.unwrap().for_each(drop);
    }
}

/// One transaction with `times` the rows of a command.
async fn write(client: &TransactionClient, rows: Rows, first: u64, times: u64) {
    loop {
        let mut transaction = client.begin_with_options(options()).await.unwrap();
        let at = transaction.start_timestamp();
        let mut snapshot = client.snapshot(at, options());
        for count in rows.reads.into_iter().filter(|count| *count > 0) {
            // Of one key there is one row that tells of it.
            let count = if rows.one_key && count == rows.reads[0] { count } else { count * times };
            snapshot.batch_get(keys(first, count)).await.unwrap().for_each(drop);
        }
        for key in keys(first, rows.writes * times) {
            transaction.put(key, vec![b'x'; rows.bytes]).await.unwrap();
        }
        // Another task may have been faster.
        if transaction.commit().await.is_ok() {
            return;
        }
        let _ = transaction.rollback().await;
    }
}

async fn measure(client: &Arc<TransactionClient>, rows: Rows, depth: u64, tasks: u64, lasts: Duration) {
    let (done, held) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(())));
    let (began, before) = (Instant::now(), cpu());
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (client, done, held) = (Arc::clone(client), Arc::clone(&done), Arc::clone(&held));
            tokio::spawn(async move {
                let mut number = task * 7_919;
                while began.elapsed() < lasts {
                    if rows.writes == 0 {
                        read(&client, number, depth).await;
                    } else if rows.one_key {
                        let _held = held.lock().await;
                        write(&client, rows, number, depth).await;
                    } else {
                        for at in 0..depth {
                            write(&client, rows, number + at * rows.writes, 1).await;
                        }
                    }
                    number += depth * rows.writes.max(1);
                    done.fetch_add(depth, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in running {
        task.await.unwrap();
    }
    let done = done.load(Ordering::Relaxed) as f64;
    let (took, used) = (began.elapsed().as_secs_f64(), cpu() - before);
    println!("{} {depth} {:.0} {:.1}", rows.command, done / took, used * 1e6 / done);
}

/// Seconds of all threads.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the structure it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let mut words = std::env::args().skip(1);
    let address = words.next().unwrap_or_else(|| "127.0.0.1:2379".to_owned());
    let mut number = |default: u64| words.next().map_or(default, |word| word.parse().expect("a number"));
    let (tasks, lasts) = (number(50), Duration::from_secs(number(5)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Arc::new(TransactionClient::new(vec![address]).await.expect("a cluster"));
        let filling = Rows { command: "", reads: [0, 0], writes: 100, bytes: 3, one_key: false };
        for first in (0..KEYS).step_by(100) {
            write(&client, filling, first, 1).await;
        }
        for rows in COMMANDS {
            for depth in DEPTHS {
                measure(&client, rows, depth, tasks, lasts).await;
            }
        }
    });
}
