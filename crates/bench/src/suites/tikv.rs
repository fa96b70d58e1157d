//! Engine tikv: what a command costs the node, and how many requests it sends to the cluster.
//!
//! Without further options the cluster is the double that the tests use, on the same cores: throughput says little then, CPU and requests
//! per command do. `--server-args "--tikv-pd-addresses HOST:PORT"` measures on a real one. Beside each line stands what the example
//! `tikv_loop` of the engine's crate comes to, which reads and writes the same rows without a server in between: the limit.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Reply, show};
use crate::process::Process;
use crate::report::{Check, Table};
use crate::server::{Server, free_port};
use crate::suites::conversations::multi;
use crate::suites::throughput::{Run, benchmark, prepare, settle, wanted};
use crate::suites::workloads::TIKV;

/// Depths; deeper ones are cut into the same batches.
const PIPELINES: [u32; 2] = [1, 16];
/// A request to the cluster costs as much as so many commands of other engines.
const COST: u64 = 50;

/// Commands of a transaction in units of a command.
const MULTI_COST: u64 = 8;
/// Seconds for each line of the loop.
const LOOP_SECONDS: u64 = 4;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let given = args.server_args.iter().position(|word| word == "--tikv-pd-addresses");
    let given = given.and_then(|at| args.server_args.get(at + 1)).cloned();
    let double = if given.is_some() { None } else { Some(start_double()?) };
    let address = double.as_ref().map(|(_, address)| address.as_str());
    let options: Vec<&str> = ["--engine", "tikv"]
        .into_iter()
        .chain(address.into_iter().flat_map(|address| ["--tikv-pd-addresses", address]))
        .collect();
    let server = Server::under_test(args, &options)?;
    let mut lines = Vec::new();
    for pipeline in PIPELINES {
        for workload in TIKV.iter().filter(|workload| wanted(args, workload.name)) {
            let requests = requests(args, pipeline);
            prepare(&server, workload, requests)?;
            benchmark(args, &server, workload, pipeline, requests / 10 + 1)?;
            settle(&[&server])?;
            let measured = counted(&server, || benchmark(args, &server, workload, pipeline, requests))?;
            lines.push(Line { command: workload.name, pipeline, requests, measured });
        }
        if wanted(args, "MULTI") {
            let requests = requests(args, pipeline) / MULTI_COST;
            let measured = counted(&server, || multi(args, &server, pipeline, requests))?;
            lines.push(Line { command: "MULTI", pipeline, requests, measured });
        }
    }
    drop(server);
    let limits = limits(args, address.or(given.as_deref()).unwrap_or_default())?;
    let mut table = Table::new(&[
        "command",
        "pipeline",
        "per second",
        "loop",
        "ratio",
        "p50 ms",
        "p99 ms",
        "CPU us",
        "loop",
        "requests",
        "timestamps",
    ]);
    lines.iter().for_each(|line| table.row(line.cells(&limits)));
    println!("{}", table.render());
    let cluster =
        if double.is_some() { "the tests' double of a cluster, on the same cores" } else { "a real cluster" };
    println!(
        "\nredis-benchmark, {} clients, {cluster}; MULTI is a transaction of ten SETs. A commit counts as one request, in one phase or \
         two. loop: the same rows without a server in between, with as many tasks.",
        args.clients
    );
    Ok(Vec::new())
}

fn requests(args: &Args, pipeline: u32) -> u64 {
    args.requests / COST / if pipeline == 1 { 4 } else { 1 }
}

/// What was measured of one command.
struct Line {
    command: &'static str,
    pipeline: u32,
    requests: u64,
    /// The run; requests to stores and for timestamps that it took.
    measured: (Run, u64, u64),
}

impl Line {
    fn cells(&self, limits: &Limits) -> [String; 11] {
        let (run, stores, timestamps) = &self.measured;
        let each = |count: f64| count / self.requests.max(1) as f64;
        let limit = limits.get(&(self.command.to_owned(), self.pipeline));
        let of_limit = |show: &dyn Fn(&(f64, f64)) -> String| limit.map_or_else(|| "-".to_owned(), show);
        [
            self.command.to_owned(),
            self.pipeline.to_string(),
            format!("{:.0}", run.per_second),
            of_limit(&|(per_second, _)| format!("{per_second:.0}")),
            of_limit(&|(per_second, _)| format!("{:.2}", run.per_second / per_second)),
            format!("{:.2}", run.p50_ms),
            format!("{:.2}", run.p99_ms),
            format!("{:.0}", each(run.cpu.as_secs_f64() * 1e6)),
            of_limit(&|(_, cpu)| format!("{cpu:.0}")),
            format!("{:.2}", each(*stores as f64)),
            format!("{:.2}", each(*timestamps as f64)),
        ]
    }
}

/// A run, and the requests that it took.
fn counted(server: &Server, run: impl FnOnce() -> Result<Run>) -> Result<(Run, u64, u64)> {
    let before = calls(server)?;
    let run = run()?;
    let after = calls(server)?;
    Ok((run, after.0.saturating_sub(before.0), after.1.saturating_sub(before.1)))
}

/// Commands per second of the loop and its CPU for each in microseconds, by command and depth.
type Limits = BTreeMap<(String, u32), (f64, f64)>;

/// None where the program is not there: `make bench` builds it.
fn limits(args: &Args, address: &str) -> Result<Limits> {
    let program = std::env::current_exe()?.with_file_name("examples").join("tikv_loop");
    if !program.is_file() {
        eprintln!("bench:   no {}: nothing to compare with", program.display());
        return Ok(Limits::new());
    }
    let output = Command::new(program)
        .args([address, &args.clients.to_string(), &LOOP_SECONDS.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        return Err(format!("the loop over the client library failed: {text}").into());
    }
    text.lines().map(limit).collect::<Option<Limits>>().ok_or_else(|| format!("the loop said: {text}").into())
}

fn limit(line: &str) -> Option<((String, u32), (f64, f64))> {
    let mut words = line.split(' ');
    let command = words.next()?.to_owned();
    let pipeline = words.next()?.parse().ok()?;
    Some(((command, pipeline), (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loop_says_is_read() {
        assert_eq!(limit("GET 16 1234 5.6"), Some((("GET".to_owned(), 16), (1234.0, 5.6))));
        assert_eq!(limit("GET 16 1234"), None);
        assert_eq!(limit("GET x 1 2"), None);
    }
}
