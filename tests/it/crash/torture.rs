//! `make torture`: kills, failing logs and flipped bits at random, for as long as is asked.
//!
//! `TARN_TORTURE_MINUTES` says how long, `TARN_TORTURE_SEED` repeats a run as far as time allows. The engine's own part of it
//! (`crates/engine/src/rocksdb/tests/model.rs`) has the losses of power.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::{WRITERS, Writer, env_number, options};
use crate::damage::Flips;
use crate::harness::{Server, StopOnDrop, eventually};
use crate::rng::Rng;
use crate::value::Value;

/// In the ordinary tests.
const SHORT: Duration = Duration::from_secs(6);
/// The longest time between a start and a kill: write-back and compaction are met.
const LONGEST_RUN_MS: usize = 1500;
/// What comes before the next start with other settings.
const EVENTS_PER_LIFE: usize = 25;

#[derive(Default)]
struct Table {
    kills: u64,
    failures: u64,
    flips: u64,
    refused: u64,
    acknowledged: u64,
}

/// Writers at work until something happens to the server.
fn write_until(server: &mut Server, writers: &mut [Writer], what: impl FnOnce(&mut Server)) {
    let stop = AtomicBool::new(false);
    let port = server.port();
    std::thread::scope(|scope| {
        let _stopper = StopOnDrop(&stop);
        for writer in writers {
            scope.spawn(|| writer.write(port, &stop));
        }
        what(server);
    });
}

/// One directory, from its creation on.
fn live(rng: &mut Rng, deadline: Instant, table: &mut Table) {
    let appendfsync = *rng.pick(&["always", "everysec", "no"]);
    let mut options = options(appendfsync);
    if rng.percent(60) {
        options = options.with("maxmemory", "32mb").with("memory-dirty-percent", "1");
    }
    let seed = rng.next();
    let mut writers: Vec<Writer> = (0..WRITERS).map(|i| Writer::new(i, seed)).collect();
    let mut server = Server::start(options);
    for _ in 0..EVENTS_PER_LIFE {
        if Instant::now() >= deadline {
            break;
        }
        // Short runs more often than long ones.
        let longest = 1 + rng.below(LONGEST_RUN_MS);
        let run = Duration::from_millis(rng.below(longest) as u64);
        if rng.percent(75) {
            write_until(&mut server, &mut writers, |server| {
                std::thread::sleep(run);
                server.kill();
            });
            server.restart();
            table.kills += 1;
        } else {
            let fault = *rng.pick(&["log-syncs", "log-writes"]);
            let mut conn = server.conn();
            // No writer's.
            assert_eq!(conn.call(&["SELECT", "15"]), Value::ok());
            write_until(&mut server, &mut writers, |_| {
                std::thread::sleep(run);
                assert_eq!(conn.call(&["DEBUG", "FAIL", fault]), Value::ok());
                eventually("writes are refused", || conn.call(&["SET", "probe", "1"]) != Value::ok());
            });
            // What the writers have sent and not been answered is refused before anything is taken again.
            eventually("the writers are gone", || {
                let clients = conn.call(&["INFO", "clients"]);
                String::from_utf8_lossy(clients.bytes().unwrap()).contains("connected_clients:1\r\n")
            });
            assert_eq!(conn.call(&["DEBUG", "FAIL", "nothing"]), Value::ok());
            eventually("writes come back", || conn.call(&["SET", "probe", "2"]) == Value::ok());
            assert_eq!(conn.call(&["DEL", "probe"]), Value::Int(1));
            if rng.percent(50) {
                server.kill();
                server.restart();
                table.kills += 1;
            }
            table.failures += 1;
        }
        for writer in &mut writers {
            writer.verify(&server);
        }
    }
    table.acknowledged += writers.iter().map(|writer| writer.acknowledged).sum::<u64>();
}

#[test]
fn torture() {
    let minutes = env_number("TARN_TORTURE_MINUTES");
    let time = minutes.map_or(SHORT, |minutes| Duration::from_secs(minutes * 60));
    let seed = env_number("TARN_TORTURE_SEED").unwrap_or_else(Rng::fresh_seed);
    println!("torture of the server: {time:?}, TARN_TORTURE_SEED={seed}");
    let mut rng = Rng::new(seed);
    let deadline = Instant::now() + time;
    let mut table = Table::default();
    let flips = Flips::new();
    while Instant::now() < deadline {
        if rng.percent(70) {
            live(&mut rng, deadline, &mut table);
        } else {
            for _ in 0..EVENTS_PER_LIFE {
                if Instant::now() < deadline {
                    table.refused += u64::from(flips.flip(&mut rng));
                    table.flips += 1;
                }
            }
        }
    }
    println!("| what | how often | checked | lost | wrong | hung |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| kill -9 of the server under load | {} | {} acknowledged commands | 0 | 0 | 0 |",
        table.kills, table.acknowledged
    );
    println!(
        "| failing writes and syncs of the log, and the way back | {} | the same | 0 | 0 | 0 |",
        table.failures
    );
    println!("| flipped bits | {} ({} starts refused) | every key | 0 | 0 | 0 |", table.flips, table.refused);
}
