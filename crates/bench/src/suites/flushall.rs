//! FLUSHALL of a big database: at once for the client, and the disk space comes back by itself.

use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Reply, show};
use crate::load;
use crate::report::{Check, Table, mebibytes, millis, seconds};
use crate::server::{Kind, Server};

const VALUE_BYTES: usize = 100;
const LATENCY_TARGET_MS: f64 = 50.0;
/// The disk counts as given back when no more than this part of the data is left, and a log's worth of slack.
const LEFT_OVER: f64 = 0.1;
const SLACK_MIB: f64 = 64.0;
const SPACE_LIMIT: Duration = Duration::from_secs(300);

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let server = Server::under_test(args, &[])?;
    let mut client = server.client()?;
    load::fill(&mut client, args.keys, 0, VALUE_BYTES)?;
    let full = mebibytes(server.disk_usage());

    let began = Instant::now();
    let reply = client.call(&[b"FLUSHALL"])?;
    let latency = began.elapsed();
    if reply != Reply::Simple(b"OK".to_vec()) {
        return Err(format!("FLUSHALL: {}", show(&reply)).into());
    }
    let reply = client.call(&[b"DBSIZE"])?;
    if reply != Reply::Integer(0) {
        return Err(format!("DBSIZE after FLUSHALL: {}", show(&reply)).into());
    }

    let wanted = full * LEFT_OVER + SLACK_MIB;
    let mut left = mebibytes(server.disk_usage());
    // redis-server keeps its log until the next rewrite; there is nothing to wait for.
    while server.kind() == Kind::Tarn && left > wanted && began.elapsed() < SPACE_LIMIT {
        std::thread::sleep(Duration::from_millis(100));
        left = mebibytes(server.disk_usage());
    }
    let space_time = began.elapsed();

    let mut table = Table::new(&["FLUSHALL", ""]);
    table.row(["keys", &args.keys.to_string()]);
    table.row(["on disk before", &format!("{full:.0} MiB")]);
    table.row(["answered after", &millis(latency)]);
    table.row(["on disk after", &format!("{left:.0} MiB, {}", seconds(space_time))]);
    println!("{}", table.render());
    Ok(vec![
        Check::at_most("FLUSHALL latency", latency.as_secs_f64() * 1e3, LATENCY_TARGET_MS, "ms"),
        Check::at_most(format!("MiB on disk {} s after FLUSHALL", space_time.as_secs()), left, wanted, "MiB"),
    ])
}
