//! Far more data than memory: everything reads back, memory stays within the budget, and who waits for the disk does
//! not make others wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, show};
use crate::load::{self, Latencies, Random, key, value};
use crate::report::{Check, Table, mebibytes, millis, seconds};
use crate::server::{Kind, Server};

const VALUE_BYTES: usize = 500;
const BUDGET: &str = "256mb";
const RSS_TARGET_MIB: f64 = 400.0;
const PING_TARGET: f64 = 3.0;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    // A redis-server cannot hold more than its memory: it is only good for trying this suite out.
    let options: &[&str] = if is_redis(args) { &[] } else { &["--maxmemory", BUDGET] };
    let server = Server::under_test(args, options)?;
    let mut client = server.client()?;
    let ping_time = Duration::from_secs(if args.quick { 3 } else { 10 });

    let began = Instant::now();
    load::fill(&mut client, args.keys, 0, VALUE_BYTES)?;
    let load_time = began.elapsed();
    let began = Instant::now();
    load::verify(&mut client, args.keys, 0, VALUE_BYTES)?;
    let verify_time = began.elapsed();

    std::thread::sleep(Duration::from_secs(2));
    let mut pinger = server.client()?;
    let idle = load::ping_for(&mut pinger, ping_time, &AtomicBool::new(false))?;
    let (busy, cold) = while_reading(&server, &mut pinger, args.keys, ping_time)?;

    let memory = server.memory()?;
    let mut table = Table::new(&["cold data", ""]);
    table.row(["keys", &args.keys.to_string()]);
    table.row(["load", &format!("{} ({:.0} k/s)", seconds(load_time), rate(args.keys, load_time))]);
    table.row([
        "read all back, verified",
        &format!("{} ({:.0} k/s)", seconds(verify_time), rate(args.keys, verify_time)),
    ]);
    table.row(["on disk", &format!("{:.0} MiB", mebibytes(server.disk_usage()))]);
    table.row(["peak RSS", &format!("{:.0} MiB", mebibytes(memory.peak))]);
    table.row([
        "cold GET p50 / p99",
        &format!("{} / {}", millis(cold.percentile(50.0)), millis(cold.percentile(99.0))),
    ]);
    table.row(["cold GETs", &format!("{:.0}/s", cold.len() as f64 / ping_time.as_secs_f64())]);
    for (name, latencies) in [("PING while idle", &idle), ("PING beside cold reads", &busy)] {
        let (p50, p99) = (latencies.percentile(50.0), latencies.percentile(99.0));
        table.row([
            &format!("{name}: p50 / p99 / max"),
            &format!("{} / {} / {}", millis(p50), millis(p99), millis(latencies.max())),
        ]);
    }
    println!("{}", table.render());

    let ratio = busy.percentile(99.0).as_secs_f64() / idle.percentile(99.0).as_secs_f64().max(1e-9);
    let mut checks = vec![Check::at_most("PING p99 beside cold reads, times idle", ratio, PING_TARGET, "")];
    if server.kind() == Kind::Tarn {
        checks.push(Check::at_most(
            format!("peak RSS with maxmemory {BUDGET}"),
            mebibytes(memory.peak),
            RSS_TARGET_MIB,
            "MiB",
        ));
    }
    Ok(checks)
}

/// One client reads keys at random, one request at a time, while `pinger` measures.
fn while_reading(
    server: &Server,
    pinger: &mut Client,
    keys: u64,
    time: Duration,
) -> Result<(Latencies, Latencies)> {
    let stop = AtomicBool::new(false);
    let mut reader = server.client()?;
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| read_at_random(&mut reader, keys, &stop));
        let pings = load::ping_for(pinger, time, &stop);
        stop.store(true, Ordering::Relaxed);
        let reads = reading.join().map_err(|_| "the reading client panicked")?;
        Ok((pings?, reads?))
    })
}

fn read_at_random(client: &mut Client, keys: u64, stop: &AtomicBool) -> Result<Latencies> {
    let mut random = Random::new(0x5EED);
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let index = random.below(keys);
        let sent = Instant::now();
        let reply = client.call(&[b"GET", &key(index)])?;
        samples.push(sent.elapsed());
        if reply != Reply::Bulk(Some(value(index, 0, VALUE_BYTES))) {
            return Err(format!("key {index} reads back wrong: {}", show(&reply)).into());
        }
    }
    Ok(Latencies::new(samples))
}

fn rate(keys: u64, time: Duration) -> f64 {
    keys as f64 / time.as_secs_f64() / 1e3
}

fn is_redis(args: &Args) -> bool {
    args.server.as_ref().is_some_and(|path| Kind::of(path) == Kind::Redis)
}
