//! `make torture`: kills, panics, failing logs, full file systems, steps of the clock and flipped bits at random, for as long as is asked.
//!
//! `TARN_TORTURE_MINUTES` says how long, `TARN_TORTURE_SEED` repeats a run as far as time allows. The engine's own part of it
//! (`crates/engine/src/rocksdb/tests/model.rs`) has the losses of power.

use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::{WRITERS, Writer, clock, env_number, options};
use crate::damage::Flips;
use crate::full::fill_and_free;
use crate::harness::{Server, StopOnDrop, eventually};
use crate::rng::Rng;
use crate::value::Value;

/// In the ordinary tests.
const SHORT: Duration = Duration::from_secs(6);
/// The longest time between a start and a kill: write-back and compaction are met.
const LONGEST_RUN_MS: usize = 1500;
/// Threads that come to the place where they panic by themselves, or by what is done below.
const PANICKING: [&str; 6] = ["worker", "listener", "sweeper", "cleaner", "freeze", "bgsave"];
/// A file system that is filled to the brim.
const FULL_MIB: usize = 48;
/// What comes before the next start with other settings.
const EVENTS_PER_LIFE: usize = 25;

#[derive(Default)]
struct Table {
    kills: u64,
    failures: u64,
    panics: u64,
    clock_steps: u64,
    fills: u64,
    filled_rows: u64,
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
        if rng.percent(10) {
            let thread = *rng.pick(&PANICKING);
            let mut conn = server.conn();
            write_until(&mut server, &mut writers, |server| {
                std::thread::sleep(run);
                // The reply may or may not leave before the end.
                let _ = conn.try_call(&["DEBUG", "PANIC", thread]);
                while conn.try_call(&["PING"]).is_ok() {
                    let _ = TcpStream::connect(("127.0.0.1", server.port()));
                    if thread == "bgsave" {
                        let _ = conn.try_call(&["BGSAVE"]);
                    }
                }
                assert_eq!(server.wait_exit().code(), Some(101), "a panic in {thread}");
            });
            server.restart();
            table.panics += 1;
        } else if rng.percent(75) {
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
        let is_long = time > SHORT;
        if is_long && (rng.percent(3) || table.fills == 0) {
            let appendfsync = *rng.pick(&["always", "everysec"]);
            table.filled_rows += fill_and_free(appendfsync, FULL_MIB).unwrap_or(0) as u64;
            table.fills += 1;
        } else if rng.percent(10) || table.clock_steps == 0 {
            table.clock_steps += clock::steps(&mut rng);
        } else if rng.percent(70) {
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
    println!("| panics of a thread under load | {} | the same | 0 | 0 | 0 |", table.panics);
    println!("| steps of the clock over restarts | {} | every key | 0 | 0 | 0 |", table.clock_steps);
    println!(
        "| a file system of {FULL_MIB} MiB filled to the brim and freed | {} | {} rows | 0 | 0 | 0 |",
        table.fills, table.filled_rows
    );
    println!("| flipped bits | {} ({} starts refused) | every key | 0 | 0 | 0 |", table.flips, table.refused);
}
