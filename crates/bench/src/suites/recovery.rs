//! How soon a server is back after kill -9, and that it comes back with everything.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::args::Args;
use crate::load;
use crate::process::Process;
use crate::report::{Check, Table, mebibytes, seconds};
use crate::server::Server;

/// Overwriting few keys many times makes a long log of few rows.
const LOG_KEYS: u64 = 40_000;
const LOG_VALUE_BYTES: usize = 500;
/// Just below the size at which the log is written back, so that all of it must be replayed.
const LOG_BYTES: u64 = 250 << 20;
const REPLAY_TARGET_S: f64 = 5.0;
const RESTART_TARGET_S: f64 = 6.0;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let mut table = Table::new(&["recovery after kill -9", "on disk", "until PING"]);

    let mut server = Server::under_test(args, &[])?;
    table.row(["empty server, started", "", &seconds(server.startup)]);
    let generations = LOG_BYTES / (LOG_KEYS * LOG_VALUE_BYTES as u64);
    for generation in 0..generations {
        load::fill(&mut server.client()?, LOG_KEYS, generation, LOG_VALUE_BYTES)?;
    }
    let on_disk = server.disk_usage();
    server.kill_and_restart()?;
    load::verify(&mut server.client()?, LOG_KEYS, generations - 1, LOG_VALUE_BYTES)?;
    let replay = server.startup;
    table.row([
        "log of 250 MiB, every key verified",
        &format!("{:.0} MiB", mebibytes(on_disk)),
        &seconds(replay),
    ]);
    drop(server);

    let mut server = Server::under_test(args, &[])?;
    let mut slowest = Duration::ZERO;
    let kills = if args.quick { 1 } else { 3 };
    for number in 1..=kills {
        let port = server.port().to_string();
        let mut load = Process::spawn(
            Command::new("redis-benchmark")
                .args(["-q", "-h", "127.0.0.1", "-p", &port, "-c", "50", "-P", "64", "-n", "2000000000"])
                .args(["-r", "2000000000", "-d", "64", "-t", "set"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        )?;
        // Each time at another distance from the last write-back.
        std::thread::sleep(Duration::from_secs(if args.quick { 5 } else { 7 + 2 * number }));
        server.kill();
        load.kill();
        let on_disk = server.disk_usage();
        server.restart()?;
        slowest = slowest.max(server.startup);
        table.row([
            format!("kill {number} under SETs of distinct keys"),
            format!("{:.0} MiB", mebibytes(on_disk)),
            seconds(server.startup),
        ]);
    }
    println!("{}", table.render());
    Ok(vec![
        Check::at_most("replay of a 250 MiB log", replay.as_secs_f64(), REPLAY_TARGET_S, "s"),
        Check::at_most("restart after kill -9 under full load", slowest.as_secs_f64(), RESTART_TARGET_S, "s"),
    ])
}
