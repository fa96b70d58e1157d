//! Keys of millions of elements: deleted in one write, read and combined beside others who do not notice, in bounded
//! memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, show};
use crate::load::{self, Latencies};
use crate::report::{Check, Table, mebibytes, millis};
use crate::server::{Kind, Server};

/// Elements of a big key.
const ELEMENTS: u64 = 2_000_000;
const BATCH: u64 = 100;
const DELETE_TARGET_MS: f64 = 1.0;
const SMALL_TARGET_MS: f64 = 1.0;
const PING_TARGET: f64 = 3.0;
const MEMORY_TARGET_MIB: f64 = 32.0;
const PICK_TARGET_MICROS: f64 = 50.0;
/// The first of them put the set in order in memory, which is a part of what each one costs.
const PICKS: u64 = 100_000;
/// Of a command that touches few rows; the median counts.
const SHORT_RUNS: usize = 9;
/// Members of the set that is picked from.
const PICKED: u64 = 1_000_000;
const SETTLE_LIMIT: Duration = Duration::from_secs(60);
const SETTLE_ROUND: Duration = Duration::from_millis(500);
/// For the results that are stored.
const BUDGET: &str = "256mb";
const BUDGET_MIB: f64 = 256.0;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let elements = if args.quick { ELEMENTS / 10 } else { ELEMENTS };
    let server = Server::under_test(args, &["--slowlog-log-slower-than", "0", "--slowlog-max-len", "50000"])?;
    let mut bench = Bench {
        client: server.client()?,
        server,
        idle: Latencies::new(Vec::new()),
        table: Table::new(&["command", "took", "PING p99", "memory beside the reply"]),
        checks: Vec::new(),
    };
    let mut pinger = bench.server.client()?;
    bench.idle = load::ping_for(&mut pinger, Duration::from_secs(5), &AtomicBool::new(false))?;
    bench.table.row(["idle", "", &millis(bench.idle.percentile(99.0)), ""]);

    bench.fill("HSET", "hash", 0..elements, Some("value"))?;
    bench.beside("HGETALL hash")?;
    for delete in ["DEL", "UNLINK"] {
        bench.beside(&format!("{delete} hash"))?;
        bench.deleted(delete)?;
        bench.fill("HSET", "hash", 0..elements / 4, Some("again"))?;
        bench.expect("HLEN hash", (elements / 4) as i64)?;
    }

    bench.fill("SADD", "a", 0..elements, None)?;
    bench.fill("SADD", "b", elements / 2..elements + elements / 2, None)?;
    bench.fill("SADD", "few", elements - 5..elements + 5, None)?;
    for command in ["SINTER a b", "SUNION a b", "SDIFF a b"] {
        bench.bounded(command)?;
    }
    bench.expect("SINTERCARD 2 a b LIMIT 10", 10)?;
    bench.short("SINTERCARD 2 a b LIMIT 10")?;
    bench.short("SINTER few a")?;
    bench.beside("SINTERSTORE stored a b")?;
    bench.expect("SCARD stored", (elements / 2) as i64)?;
    let picked = PICKED.min(elements);
    bench.fill("SADD", "picked", 0..picked, None)?;
    bench.picks("SRANDMEMBER picked")?;
    bench.picks("SPOP picked")?;
    bench.expect("SCARD picked", (picked - PICKS) as i64)?;
    bench.stored_in_little_memory(args, elements)?;
    println!("{}", bench.table.render());
    Ok(bench.checks)
}

struct Bench {
    server: Server,
    client: Client,
    idle: Latencies,
    table: Table,
    checks: Vec<Check>,
}

fn words(line: &str) -> Vec<&[u8]> {
    line.split(' ').map(str::as_bytes).collect()
}

impl Bench {
    /// Adds elements, each with a value where there is one.
    fn fill(
        &mut self,
        command: &str,
        key: &str,
        range: std::ops::Range<u64>,
        value: Option<&str>,
    ) -> Result<()> {
        let mut next = range.start;
        while next < range.end {
            let mut sent = 0;
            while sent < 100 && next < range.end {
                let end = range.end.min(next + BATCH);
                let members: Vec<String> =
                    (next..end).map(|number| format!("element:{number:012}")).collect();
                let mut words = vec![command.as_bytes(), key.as_bytes()];
                for member in &members {
                    words.push(member.as_bytes());
                    words.extend(value.map(str::as_bytes));
                }
                self.client.queue(&words);
                next = end;
                sent += 1;
            }
            self.client.send()?;
            for _ in 0..sent {
                if let Reply::Error(error) = self.client.reply()? {
                    return Err(format!("{command} {key}: {}", error.escape_ascii()).into());
                }
            }
        }
        Ok(())
    }

    fn expect(&mut self, line: &str, wanted: i64) -> Result<()> {
        match self.client.call(&words(line))? {
            Reply::Integer(number) if number == wanted => Ok(()),
            other => Err(format!("{line}: {} and not {wanted}", show(&other)).into()),
        }
    }

    /// Runs a command while another client measures its PINGs: at least a second of them, so that there are enough.
    fn beside(&mut self, line: &str) -> Result<()> {
        let stop = AtomicBool::new(false);
        let mut pinger = self.server.client()?;
        let began = Instant::now();
        let (pings, took) = std::thread::scope(|scope| {
            let pinging = scope.spawn(|| load::ping_for(&mut pinger, Duration::from_secs(120), &stop));
            let reply = self.client.call(&words(line));
            let took = began.elapsed();
            while began.elapsed() < Duration::from_secs(1) {
                std::thread::sleep(Duration::from_millis(10));
            }
            stop.store(true, Ordering::Relaxed);
            let pings = pinging.join().map_err(|_| "the pinging client panicked")?;
            match reply? {
                Reply::Error(error) => Err(format!("{line}: {}", error.escape_ascii()).into()),
                _ => pings.map(|pings| (pings, took)),
            }
        })?;
        let p99 = pings.percentile(99.0);
        self.table.row([line, &millis(took), &millis(p99), ""]);
        let ratio = p99.as_secs_f64() / self.idle.percentile(99.0).as_secs_f64().max(1e-9);
        self.checks.push(Check::at_most(
            format!("PING p99 beside {line}, times idle"),
            ratio,
            PING_TARGET,
            "",
        ));
        Ok(())
    }

    /// What the server itself needed for the last command of this name.
    fn server_micros(&mut self, name: &str) -> Result<f64> {
        let Reply::Array(entries) = self.client.call(&[b"SLOWLOG", b"GET", b"-1"])? else {
            return Err("SLOWLOG GET is not an array".into());
        };
        for entry in entries {
            let Reply::Array(fields) = entry else { continue };
            let (Some(Reply::Integer(micros)), Some(Reply::Array(words))) = (fields.get(2), fields.get(3))
            else {
                continue;
            };
            if words.first() == Some(&Reply::Bulk(Some(name.as_bytes().to_vec()))) {
                return Ok(*micros as f64);
            }
        }
        Err(format!("{name} is not in the slow log").into())
    }

    fn deleted(&mut self, name: &str) -> Result<()> {
        let took = self.server_micros(name)? / 1e3;
        self.checks.push(Check::at_most(
            format!("{name} of a big hash at the server"),
            took,
            DELETE_TARGET_MS,
            "ms",
        ));
        Ok(())
    }

    /// Runs a command that touches few rows of a big key.
    fn short(&mut self, line: &str) -> Result<()> {
        // Once for the cache.
        self.client.call(&words(line))?;
        let mut times = Vec::new();
        for _ in 0..SHORT_RUNS {
            self.client.call(&words(line))?;
            times.push(self.server_micros(line.split(' ').next().unwrap_or(line))? / 1e3);
        }
        times.sort_by(f64::total_cmp);
        let took = times.get(times.len() / 2).copied().unwrap_or_default();
        self.table.row([line, &format!("{took:.3} ms"), "", ""]);
        self.checks.push(Check::at_most(format!("{line} at the server"), took, SMALL_TARGET_MS, "ms"));
        Ok(())
    }

    /// Runs a command with a long reply, and looks how much memory the server needs beside it.
    fn bounded(&mut self, line: &str) -> Result<()> {
        self.settle()?;
        let before = self.server.memory()?.rss;
        let (stop, server) = (AtomicBool::new(false), &self.server);
        let client = &mut self.client;
        let (bytes, peak, took) = std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut peak = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    peak = peak.max(server.memory().map_or(0, |memory| memory.rss));
                    std::thread::sleep(Duration::from_millis(2));
                }
                peak
            });
            let began = Instant::now();
            let reply = client.call(&words(line));
            let took = began.elapsed();
            stop.store(true, Ordering::Relaxed);
            let peak = watching.join().map_err(|_| "the watching thread panicked")?;
            match reply? {
                Reply::Array(members) => {
                    let bytes: usize = members.iter().map(reply_bytes).sum();
                    Ok::<_, Box<dyn std::error::Error + Send + Sync>>((bytes as u64, peak, took))
                }
                other => Err(format!("{line}: {}", show(&other)).into()),
            }
        })?;
        let beside = mebibytes(peak.saturating_sub(before).saturating_sub(bytes));
        self.table.row([line, &millis(took), "", &format!("{beside:.0} MiB")]);
        self.checks.push(Check::at_most(
            format!("{line}: memory beside the reply"),
            beside,
            MEMORY_TARGET_MIB,
            "MiB",
        ));
        Ok(())
    }

    /// Stores the union of two sets on a server with little memory, and looks how much it takes.
    fn stored_in_little_memory(&mut self, args: &Args, elements: u64) -> Result<()> {
        self.server = Server::under_test(args, &["--maxmemory", BUDGET])?;
        self.client = self.server.client()?;
        self.fill("SADD", "a", 0..elements, None)?;
        self.fill("SADD", "b", elements..2 * elements, None)?;
        let began = Instant::now();
        self.expect("SUNIONSTORE stored a b", 2 * elements as i64)?;
        let took = began.elapsed();
        self.expect("SCARD stored", 2 * elements as i64)?;
        let peak = mebibytes(self.server.memory()?.peak);
        let line = format!("SUNIONSTORE with maxmemory {BUDGET}");
        self.table.row([&line, &millis(took), "", &format!("{peak:.0} MiB in all")]);
        if self.server.kind() == Kind::Tarn {
            self.checks.push(Check::at_most(format!("{line}: peak RSS"), peak, BUDGET_MIB, "MiB"));
        }
        Ok(())
    }

    /// Waits until the server has nothing left to do: what it writes back and compacts is not the next command's.
    fn settle(&self) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < SETTLE_LIMIT {
            let before = self.server.cpu_time()?;
            std::thread::sleep(SETTLE_ROUND);
            if self.server.cpu_time()?.saturating_sub(before) < SETTLE_ROUND / 20 {
                break;
            }
        }
        Ok(())
    }

    /// The processor time of random picks, sent in pipelines.
    fn picks(&mut self, line: &str) -> Result<()> {
        self.settle()?;
        let before = self.server.cpu_time()?;
        for _ in 0..PICKS / BATCH {
            for _ in 0..BATCH {
                self.client.queue(&words(line));
            }
            self.client.send()?;
            for _ in 0..BATCH {
                if !matches!(self.client.reply()?, Reply::Bulk(Some(_))) {
                    return Err(format!("{line} gave nothing").into());
                }
            }
        }
        let cpu = self.server.cpu_time()?.saturating_sub(before);
        let each = cpu.as_secs_f64() * 1e6 / PICKS as f64;
        self.table.row([line, &format!("{each:.1} us of CPU"), "", ""]);
        self.checks.push(Check::at_most(format!("{line}: CPU"), each, PICK_TARGET_MICROS, "us"));
        Ok(())
    }
}

/// Bytes of a bulk string on the wire.
fn reply_bytes(member: &Reply) -> usize {
    match member {
        Reply::Bulk(Some(bytes)) => bytes.len() + bytes.len().to_string().len() + 5,
        _ => 0,
    }
}
