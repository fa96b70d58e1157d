//! The limit for anything on top of TiKV: gets and puts in a loop over the client library, with nothing in between.
//!
//! `cargo run --release -p tarn-engine --features tikv --example tikv_loop -- 127.0.0.1:2379 [tasks]`
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tikv_client::transaction::HeartbeatOption;
use tikv_client::{CheckLevel, TransactionClient, TransactionOptions};

const SECONDS: Duration = Duration::from_secs(5);
const KEYS: u64 = 10_000;

fn key(number: u64) -> Vec<u8> {
    format!("tikv-loop:{:06}", number % KEYS).into_bytes()
}

fn options() -> TransactionOptions {
    TransactionOptions::new_optimistic()
        .try_one_pc()
        .drop_check(CheckLevel::None)
        .heartbeat_option(HeartbeatOption::NoHeartbeat)
}

async fn put(client: Arc<TransactionClient>, number: u64) {
    let mut transaction = client.begin_with_options(options()).await.unwrap();
    transaction.put(key(number), vec![b'x'; 100]).await.unwrap();
    // Another task may have been faster.
    let _ = transaction.commit().await;
}

async fn get(client: Arc<TransactionClient>, number: u64) {
    let at = client.current_timestamp().await.unwrap();
    let mut snapshot = client.snapshot(at, options());
    snapshot.get(key(number)).await.unwrap();
}

async fn get_and_put(client: Arc<TransactionClient>, number: u64) {
    let mut transaction = client.begin_with_options(options()).await.unwrap();
    transaction.get(key(number)).await.unwrap();
    transaction.put(key(number), vec![b'x'; 100]).await.unwrap();
    let _ = transaction.commit().await;
}

async fn measure<F: Future<Output = ()> + Send + 'static>(
    name: &str,
    client: &Arc<TransactionClient>,
    tasks: u64,
    step: fn(Arc<TransactionClient>, u64) -> F,
) {
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (client, done) = (Arc::clone(client), Arc::clone(&done));
            tokio::spawn(async move {
                let mut number = task * 7_919;
                while began.elapsed() < SECONDS {
                    step(Arc::clone(&client), number).await;
                    number += 1;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in running {
        task.await.unwrap();
    }
    let per_second = done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    println!("{name:24} {per_second:10.0} per second");
}

fn main() {
    let mut words = std::env::args().skip(1);
    let address = words.next().unwrap_or_else(|| "127.0.0.1:2379".to_owned());
    let tasks = words.next().and_then(|word| word.parse().ok()).unwrap_or(50);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Arc::new(TransactionClient::new(vec![address]).await.expect("a cluster"));
        for number in 0..KEYS {
            put(Arc::clone(&client), number).await;
        }
        measure("timestamp and get", &client, tasks, get).await;
        measure("put", &client, tasks, put).await;
        measure("get and put", &client, tasks, get_and_put).await;
    });
}
