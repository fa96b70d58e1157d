//! Engine tikv: what a command costs the node, and how many requests it sends to the cluster.
//!
//! Without further options the cluster is the double that the tests use, on the same cores: throughput says little then, CPU and requests
//! per command do. `--server-args "--tikv-pd-addresses HOST:PORT"` measures on a real one; beside it, the example `tikv_loop` of the
//! engine's crate sends the same rows without a server in between.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Reply, show};
use crate::process::Process;
use crate::report::{Check, Table};
use crate::server::{Server, free_port};
use crate::suites::throughput::{benchmark, prepare, settle, wanted};
use crate::suites::workloads::TIKV;

/// Depths; deeper ones are cut into the same batches.
const PIPELINES: [u32; 2] = [1, 16];
/// A request to the cluster costs as much as so many commands of other engines.
const COST: u64 = 50;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let is_given = args.server_args.iter().any(|word| word == "--tikv-pd-addresses");
    let double = if is_given { None } else { Some(start_double()?) };
    let address = double.as_ref().map(|(_, address)| address.as_str());
    let options: Vec<&str> = ["--engine", "tikv"]
        .into_iter()
        .chain(address.into_iter().flat_map(|address| ["--tikv-pd-addresses", address]))
        .collect();
    let server = Server::under_test(args, &options)?;
    let mut table = Table::new(&[
        "command",
        "pipeline",
        "per second",
        "p50 ms",
        "p99 ms",
        "CPU us",
        "requests",
        "timestamps",
    ]);
    for workload in TIKV.iter().filter(|workload| wanted(args, workload.name)) {
        for pipeline in PIPELINES {
            let requests = args.requests / COST / if pipeline == 1 { 4 } else { 1 };
            prepare(&server, workload, requests)?;
            benchmark(args, &server, workload, pipeline, requests / 10 + 1)?;
            settle(&[&server])?;
            let before = calls(&server)?;
            let run = benchmark(args, &server, workload, pipeline, requests)?;
            let after = calls(&server)?;
            let per_command = |after: u64, before: u64| {
                format!("{:.2}", after.saturating_sub(before) as f64 / requests.max(1) as f64)
            };
            table.row([
                workload.name.to_owned(),
                pipeline.to_string(),
                format!("{:.0}", run.per_second),
                format!("{:.2}", run.p50_ms),
                format!("{:.2}", run.p99_ms),
                format!("{:.1}", run.cpu.as_secs_f64() * 1e6 / requests.max(1) as f64),
                per_command(after.0, before.0),
                per_command(after.1, before.1),
            ]);
        }
    }
    println!("{}", table.render());
    let cluster =
        if double.is_some() { "the tests' double of a cluster, on the same cores" } else { "a real cluster" };
    println!(
        "\nredis-benchmark, {} clients, {cluster}; a commit counts as one request, in one phase or two.",
        args.clients
    );
    Ok(Vec::new())
}

fn start_double() -> Result<(Process, String)> {
    let program = std::env::current_exe()?.with_file_name("tikv-double");
    let port = free_port()?;
    let address = format!("127.0.0.1:{port}");
    let process = Process::spawn(
        Command::new(program)
            .args(["--listen", &address])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )?;
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if began.elapsed() > Duration::from_secs(10) {
            return Err("the double of the cluster does not answer".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok((process, address))
}

/// Requests to stores, and for timestamps, as the node counts them.
fn calls(server: &Server) -> Result<(u64, u64)> {
    let reply = server.client()?.call(&[b"INFO", b"tikv"])?;
    let Reply::Bulk(Some(text)) = reply else { return Err(format!("INFO: {}", show(&reply)).into()) };
    let text = std::str::from_utf8(&text)?;
    let (mut stores, mut timestamps) = (0, 0);
    for line in text.lines().filter_map(|line| line.strip_prefix("tikv_call_")) {
        let Some((kind, numbers)) = line.split_once(":calls=") else { continue };
        let calls: u64 = numbers.split(',').next().unwrap_or_default().parse()?;
        if kind == "timestamp" { timestamps += calls } else { stores += calls }
    }
    Ok((stores, timestamps))
}
