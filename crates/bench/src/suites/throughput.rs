//! redis-benchmark against Tarn and redis-server in turn: throughput, CPU per request, latency.
//!
//! The two servers run at the same time and are loaded alternately, the order changing from round to round, so that a
//! slow moment of the machine hits both. Throughput, its ratio and latency are medians over the rounds; CPU per request is the
//! servers' processor time over all rounds by the number of requests. Each workload has fresh servers.
//!
//! redis-benchmark runs with one thread. On two cores a second one costs 30 to 50 % more CPU per request (14 to 18 us at
//! pipeline 1, 1.0 to 1.5 us at 16, 0.4 to 0.6 us at 64), takes it from the server, and only looks every 250 ms whether
//! the run is over. What one thread can send (about 1 million requests a second at pipeline 16, 2.4 million at 64) is
//! above what redis-server answers, by 1.6 times and 3 times for GET; at pipeline 1 it costs more than any server, so
//! that ratios there stay near 1. Machines with more cores do better with `--threads`.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::args::Args;
use crate::load;
use crate::report::{Check, Table};
use crate::server::Server;
use crate::suites::workloads::{COLLECTIONS, Entries, STRINGS, Setup, TLS, UNITS, Workload};

/// A run of redis-benchmark that takes longer than this is an error.
const RUN_LIMIT: Duration = Duration::from_secs(300);
/// How often, and how long, the servers are looked at before a run until they are idle.
const SETTLE_LOOKS: usize = 75;
const SETTLE_LOOK: Duration = Duration::from_millis(200);

/// Rounds at pipeline 1, in those of others.
const SINGLE_ROUNDS: u32 = 9;
/// Requests of one run at pipeline 1 are this part of those at 16.
const SINGLE_REQUESTS: u64 = 24;

/// What one run of redis-benchmark told, and what it cost the server.
#[derive(Clone, Copy)]
pub struct Run {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub cpu: Duration,
}

/// The runs of one workload at one depth, by server.
#[derive(Default)]
pub struct Runs {
    pub runs: Vec<Run>,
}

impl Runs {
    pub fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        let mut values: Vec<f64> = self.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    }

    /// Its throughput in units of another's: the median over the rounds, in each of which both had the same moment of the
    /// machine.
    pub fn share_of(&self, other: &Runs) -> f64 {
        let pairs = self.runs.iter().zip(&other.runs);
        let mut shares: Vec<f64> = pairs.map(|(run, other)| run.per_second / other.per_second).collect();
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied().unwrap_or(0.0)
    }

    pub fn cpu_micros(&self, requests: u64) -> f64 {
        let total: f64 = self.runs.iter().map(|run| run.cpu.as_secs_f64() * 1e6).sum();
        total / (requests * self.runs.len() as u64).max(1) as f64
    }
}

/// Strings and counters.
pub fn strings(args: &Args) -> Result<Vec<Check>> {
    compare(args, STRINGS)
}

/// Hashes, sets, lists and sorted sets, one hot key and many.
pub fn collections(args: &Args) -> Result<Vec<Check>> {
    compare(args, COLLECTIONS)
}

/// Transactions, scripts and functions, clients that wait and clients that cache.
pub fn units(args: &Args) -> Result<Vec<Check>> {
    let mut checks = compare(args, UNITS)?;
    checks.extend(super::conversations::run(args)?);
    if wanted(args, "BLOCKED") {
        checks.extend(super::blocked::run(args)?);
    }
    if wanted(args, "SCRIPT") {
        checks.extend(super::slow_script::run(args)?);
    }
    Ok(checks)
}

/// Strings over TLS.
pub fn tls(args: &Args) -> Result<Vec<Check>> {
    compare(&Args { tls: true, ..args.clone() }, TLS)
}

fn compare(args: &Args, workloads: &[Workload]) -> Result<Vec<Check>> {
    let mut table = Table::new(&[
        "command", "pipeline", "Tarn/s", "Redis/s", "ratio", "CPU us", "Redis", "ratio", "p50 ms", "Redis",
        "p99 ms", "Redis",
    ]);
    let mut checks = Vec::new();
    for workload in workloads.iter().filter(|workload| wanted(args, workload.name)) {
        // Servers of its own: what one workload leaves to be tidied up is not counted as the next one's.
        let tarn = Server::under_test(args, &[])?;
        let redis = Server::redis(args)?;
        if lasts(workload) {
            prepare(&tarn, workload, 0)?;
            prepare(&redis, workload, 0)?;
        }
        for &pipeline in &args.pipelines {
            let requests = requests(args, workload, pipeline);
            let (ours, theirs) = measure(args, workload, pipeline, requests, &tarn, &redis)?;
            let ratio = ours.share_of(&theirs);
            let cpu = (ours.cpu_micros(requests), theirs.cpu_micros(requests));
            // The table comes last; who stops a long run has this.
            eprintln!("bench:     throughput {ratio:.2}, CPU {:.2}", cpu.0 / cpu.1);
            table.row([
                workload.name.to_owned(),
                pipeline.to_string(),
                thousands(ours.median(|run| run.per_second)),
                thousands(theirs.median(|run| run.per_second)),
                format!("{ratio:.2}"),
                format!("{:.2}", cpu.0),
                format!("{:.2}", cpu.1),
                format!("{:.2}", cpu.0 / cpu.1),
                format!("{:.2}", ours.median(|run| run.p50_ms)),
                format!("{:.2}", theirs.median(|run| run.p50_ms)),
                format!("{:.2}", ours.median(|run| run.p99_ms)),
                format!("{:.2}", theirs.median(|run| run.p99_ms)),
            ]);
            let name = format!("{} at pipeline {pipeline}", workload.name);
            if let Some((single, deep)) = workload.targets {
                let target = if pipeline >= 16 { deep } else { single };
                checks.push(Check::at_least(format!("{name}: throughput ratio"), ratio, target));
            }
            if workload.cpu_target {
                checks.push(Check::at_most(format!("{name}: CPU ratio"), cpu.0 / cpu.1, 1.0, ""));
            }
        }
    }
    println!("{}", table.render());
    println!(
        "\nredis-benchmark, {} clients, {} thread(s), {} rounds interleaved (at pipeline 1 {}), each run when both servers are idle; medians, also of the rounds' \
         ratios; values of 3 bytes unless said, keys and elements out of 100,000 unless said; Redis with appendonly yes, appendfsync everysec.",
        args.clients,
        args.threads,
        args.rounds,
        args.rounds * SINGLE_ROUNDS
    );
    Ok(checks)
}

fn measure(
    args: &Args,
    workload: &Workload,
    pipeline: u32,
    requests: u64,
    tarn: &Server,
    redis: &Server,
) -> Result<(Runs, Runs)> {
    eprintln!("bench:   {} at pipeline {pipeline}, {requests} requests a run", workload.name);
    let rounds = rounds(args, pipeline);
    for server in [tarn, redis] {
        if !workload.fresh.is_empty() {
            server.client()?.call(&[b"DEL", workload.fresh.as_bytes()])?;
        }
        if !lasts(workload) {
            prepare(server, workload, requests)?;
        }
    }
    let (mut ours, mut theirs) = (Runs::default(), Runs::default());
    // One short run of each first: connections, caches and tables are warm in the ones that count.
    for server in [tarn, redis] {
        settle(&[tarn, redis])?;
        benchmark(args, server, workload, pipeline, requests / 10 + 1)?;
    }
    for round in 0..rounds {
        let mut turns = [(tarn, &mut ours), (redis, &mut theirs)];
        if round % 2 == 1 {
            turns.reverse();
        }
        for (server, runs) in turns {
            // What was taken out is put back: a pop of nothing is another command.
            if lasts_for(workload, requests).is_some_and(|rounds| round % rounds == 0) {
                prepare(server, workload, requests)?;
            }
            settle(&[tarn, redis])?;
            runs.runs.push(benchmark(args, server, workload, pipeline, requests)?);
        }
    }
    Ok((ours, theirs))
}

/// Waits until neither server is busy with what came before, such as writing it to the disk: a run is measured for
/// itself, and not while the other server is at work.
pub fn settle(servers: &[&Server]) -> Result<()> {
    let busy = || -> Result<Duration> {
        servers.iter().try_fold(Duration::ZERO, |sum, server| Ok(sum + server.cpu_time()?))
    };
    let mut before = busy()?;
    for _ in 0..SETTLE_LOOKS {
        std::thread::sleep(SETTLE_LOOK);
        let now = busy()?;
        if now.saturating_sub(before) <= SETTLE_LOOK / 10 {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

/// Whether what is there before a workload is there after it, and need not be put there again.
fn lasts(workload: &Workload) -> bool {
    workload.fresh.is_empty() && lasts_for(workload, 1).is_none()
}

/// For how many rounds elements last that are taken out at random; None where none is.
fn lasts_for(workload: &Workload, requests: u64) -> Option<u32> {
    // A key may lose more than others: while a quarter is gone of all, hardly any has lost everything.
    let spare = match workload.setup {
        Setup::Elements { keys, .. } => keys * elements_of_each(keys, requests) / 4,
        Setup::Streams { keys, entries: Entries::Drawn(each), .. } => keys * each / 4,
        Setup::Streams { entries: Entries::Taken, .. } => return Some(1),
        _ => return None,
    };
    Some(u32::try_from(spare / requests.max(1)).unwrap_or(u32::MAX).max(1))
}

fn elements_of_each(keys: u64, requests: u64) -> u64 {
    requests.div_ceil(keys.max(1) * load::ELEMENTS) * load::ELEMENTS
}

/// Entries of a stream of which each request takes one: some more than its share, for chance favours some.
fn taken_of_each(keys: u64, requests: u64) -> u64 {
    if keys == 1 { requests } else { requests * 5 / 4 / keys + 50 }
}

/// Puts there what the workload needs.
pub fn prepare(server: &Server, workload: &Workload, requests: u64) -> Result<()> {
    let mut client = server.client()?;
    match workload.setup {
        Setup::Nothing => Ok(()),
        Setup::Strings(bytes) => load::fill(&mut client, workload.keyspace, 0, bytes),
        Setup::Scripts(commands) => {
            for words in commands {
                client.call(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())?;
            }
            load::fill(&mut client, workload.keyspace, 0, 3)
        }
        Setup::Each(template) => load::repeat(&mut client, template, workload.keyspace),
        Setup::Elements { template, keys } => {
            let each = elements_of_each(keys, requests);
            (0..each / load::ELEMENTS).try_for_each(|_| load::repeat(&mut client, template, keys))
        }
        Setup::Streams { key, keys, entries, create, each, last } => {
            let count = match entries {
                Entries::Kept(count) | Entries::Drawn(count) => count,
                Entries::Taken => taken_of_each(keys, requests),
            };
            for number in 0..keys {
                let key = if keys == 1 { key.to_owned() } else { format!("{key}:{number:012}") };
                client.call(&[b"DEL", key.as_bytes()])?;
                load::repeat(&mut client, &create.replace("{key}", &key), 1)?;
                load::repeat(&mut client, &each.replace("{key}", &key), count)?;
                if !last.is_empty() {
                    load::repeat(&mut client, &last.replace("{key}", &key), 1)?;
                }
            }
            Ok(())
        }
    }
}

pub fn benchmark(
    args: &Args,
    server: &Server,
    workload: &Workload,
    pipeline: u32,
    requests: u64,
) -> Result<Run> {
    let mut command = Command::new("timeout");
    command.arg(RUN_LIMIT.as_secs().to_string()).arg("redis-benchmark");
    command.args(["--csv", "-h", "127.0.0.1"]).args(server.benchmark_options());
    command.args(["-c", &args.clients.to_string(), "-P", &pipeline.to_string(), "-n", &requests.to_string()]);
    command.args(["-r", &workload.keyspace.to_string()]);
    if !workload.user.is_empty() {
        command.args(["--user", workload.user, "-a", "any"]);
    }
    if args.threads > 1 {
        command.args(["--threads", &args.threads.to_string()]);
    }
    command.args(workload.command.split_whitespace().map(expand)).stdin(Stdio::null()).stderr(Stdio::null());
    let cpu_before = server.cpu_time()?;
    let output = command.output()?;
    let cpu = server.cpu_time()?.saturating_sub(cpu_before);
    let text = std::str::from_utf8(&output.stdout)?;
    if !output.status.success() {
        return Err(format!("redis-benchmark against {} failed: {text}", server.name()).into());
    }
    parse(text, cpu).ok_or_else(|| format!("redis-benchmark said something unknown: {text}").into())
}

/// `"name","rps","avg","min","p50","p95","p99","max"`, the last line of the output.
fn parse(text: &str, cpu: Duration) -> Option<Run> {
    let line = text.trim_end().lines().last()?;
    let mut fields = line.rsplit(',').map(|field| field.trim_matches('"').parse::<f64>().ok());
    let _max = fields.next()??;
    let p99_ms = fields.next()??;
    let _p95 = fields.next()??;
    let p50_ms = fields.next()??;
    let per_second = fields.nth(2)??;
    Some(Run { per_second, p50_ms, p99_ms, cpu })
}

/// `{value:N}` becomes N bytes.
fn expand(word: &str) -> String {
    let size = word.strip_prefix("{value:").and_then(|rest| rest.strip_suffix('}'));
    match size.and_then(|digits| digits.parse::<usize>().ok()) {
        Some(size) => "x".repeat(size),
        None => word.to_owned(),
    }
}

/// At pipeline 1 the one thread of redis-benchmark is the limit, and the ratio is near 1 whatever a server does: many short
/// runs in turn tell it from noise.
fn rounds(args: &Args, pipeline: u32) -> u32 {
    if pipeline == 1 { args.rounds * SINGLE_ROUNDS } else { args.rounds }
}

/// Runs of about the same time at 16 and 64, and half of it at 1.
pub fn requests(args: &Args, workload: &Workload, pipeline: u32) -> u64 {
    let at_depth = match pipeline {
        0..=3 => args.requests / SINGLE_REQUESTS,
        4..=31 => args.requests,
        _ => args.requests * 2,
    };
    at_depth / workload.cost
}

pub fn wanted(args: &Args, name: &str) -> bool {
    let first = name.split([' ', ',']).next().unwrap_or(name);
    args.only.is_empty() || args.only.iter().any(|only| only == first || only.eq_ignore_ascii_case(name))
}

pub fn thousands(per_second: f64) -> String {
    format!("{:.0} k", per_second / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_csv_of_redis_benchmark_is_read_from_the_end() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\
                    \"p99_latency_ms\",\"max_latency_ms\"\n\
                    \"SET a,b __rand_int__\",\"144927.55\",\"4.805\",\"0.296\",\"3.839\",\"8.911\",\"12.535\",\"12.703\"\n";
        let run = parse(text, Duration::ZERO).unwrap();
        assert_eq!((run.per_second, run.p50_ms, run.p99_ms), (144_927.55, 3.839, 12.535));
        assert!(parse("", Duration::ZERO).is_none());
        assert!(parse("\"ERROR: x\"", Duration::ZERO).is_none());
    }

    #[test]
    fn values_are_expanded() {
        assert_eq!(expand("{value:64}").len(), 64);
        assert_eq!(expand("key:__rand_int__"), "key:__rand_int__");
    }

    #[test]
    fn what_is_taken_out_is_put_back_in_time() {
        let workload = |keys| Workload {
            setup: Setup::Elements { template: "", keys },
            ..STRINGS.iter().find(|workload| workload.name == "SET").copied().unwrap()
        };
        assert_eq!(lasts_for(&workload(1), 30_000), Some(1));
        // 20 elements of 100,000 keys.
        assert_eq!(lasts_for(&workload(100_000), 37_500), Some(13));
        assert_eq!(lasts_for(&workload(100_000), 600_000), Some(1));
        assert_eq!(lasts_for(STRINGS.first().unwrap(), 1), None);
        let stream = |name| COLLECTIONS.iter().find(|workload| workload.name == name).unwrap();
        assert_eq!(lasts_for(stream("XREADGROUP"), 1_000), Some(1));
        assert_eq!(lasts_for(stream("XACK"), 20_000), Some(12));
        assert!(lasts(stream("XRANGE_100")) && !lasts(stream("XACK one key")));
        assert_eq!((taken_of_each(1, 1_000), taken_of_each(1_000, 100_000)), (1_000, 175));
    }

    #[test]
    fn the_middle_run_counts() {
        let run = |per_second| Run { per_second, p50_ms: 0.0, p99_ms: 0.0, cpu: Duration::from_micros(10) };
        let runs = Runs { runs: vec![run(9.0), run(1.0), run(5.0)] };
        assert_eq!(runs.median(|run| run.per_second), 5.0);
        assert_eq!(runs.share_of(&runs), 1.0);
        assert_eq!(runs.cpu_micros(2), 5.0);
    }
}
