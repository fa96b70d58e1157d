//! SETs of distinct keys as fast as redis-benchmark sends them, while another client watches for stalls.

use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Result;
use crate::args::Args;
use crate::client::{Reply, show};
use crate::load;
use crate::process::Process;
use crate::report::{Check, Table, mebibytes, millis};
use crate::server::{Kind, Server};

const BUDGET: &str = "1gb";
const BUDGET_MIB: f64 = 1024.0;
const STALL_TARGET_MS: f64 = 100.0;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let server = Server::under_test(args, &["--maxmemory", BUDGET])?;
    let mut pinger = server.client()?;
    let seconds = if args.quick { args.seconds.min(10) } else { args.seconds };
    let port = server.port().to_string();
    let mut load = Process::spawn(
        Command::new("redis-benchmark")
            .args(["-q", "-h", "127.0.0.1", "-p", &port, "-c", "50", "-P", "16", "-n", "2000000000"])
            .args(["-r", "2000000000", "-d", "64", "-t", "set"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )?;
    let pings = load::ping_for(&mut pinger, Duration::from_secs(seconds), &AtomicBool::new(false))?;
    if load.has_ended()? {
        return Err("redis-benchmark ended early: the server refused a SET".into());
    }
    load.kill();
    let reply = pinger.call(&[b"DBSIZE"])?;
    let Reply::Integer(keys) = reply else { return Err(format!("DBSIZE: {}", show(&reply)).into()) };
    let memory = server.memory()?;

    let mut table = Table::new(&[&format!("{seconds} s of SETs of distinct keys"), ""]);
    table.row(["SETs", &format!("{keys} ({:.0} k/s)", keys as f64 / seconds as f64 / 1e3)]);
    table.row(["PING beside it: p50", &millis(pings.percentile(50.0))]);
    table.row(["PING p99", &millis(pings.percentile(99.0))]);
    table.row(["PING p99.9", &millis(pings.percentile(99.9))]);
    table.row(["longest stall", &millis(pings.max())]);
    table.row(["peak RSS", &format!("{:.0} MiB (maxmemory {BUDGET})", mebibytes(memory.peak))]);
    table.row(["on disk", &format!("{:.0} MiB", mebibytes(server.disk_usage()))]);
    println!("{}", table.render());

    let mut checks = vec![Check::at_most(
        "longest stall under SETs",
        pings.max().as_secs_f64() * 1e3,
        STALL_TARGET_MS,
        "ms",
    )];
    if server.kind() == Kind::Tarn {
        checks.push(Check::at_most("peak RSS under SETs", mebibytes(memory.peak), BUDGET_MIB, "MiB"));
    }
    Ok(checks)
}
