//! A stream of millions of entries with a group that has many of them pending, in little memory.

use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, show};
use crate::load::Random;
use crate::report::{Check, Table, mebibytes, millis};
use crate::server::{Kind, Server};

const ENTRIES: u64 = 10_000_000;
const PENDING: u64 = 1_000_000;
const BUDGET: &str = "256mb";
const BUDGET_MIB: f64 = 256.0;
/// Requests of each command that is measured.
const REQUESTS: u64 = 50_000;
/// Requests under way at once.
const DEPTHS: [u64; 2] = [1, 16];
const CPU_TARGET_MICROS: f64 = 50.0;
/// Of DEL: what it adds to the log. A record has a header and the row of metadata.
const DELETE_TARGET_BYTES: f64 = 1_024.0;
const DELETE_TARGET_MS: f64 = 1.0;
/// Entries that trimming leaves, and the part of the disk that may still be in use behind it.
const KEPT: u64 = 1_000;
const DISK_TARGET: f64 = 0.1;
const DISK_LIMIT: Duration = Duration::from_secs(180);
/// Ids are told from the number of an entry.
const FIRST_MS: u64 = 1_700_000_000_000;
const BATCH: u64 = 1_000;
const SETTLE_ROUND: Duration = Duration::from_millis(500);
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let part = if args.quick { 10 } else { 1 };
    let (entries, pending) = (ENTRIES / part, PENDING / part);
    let server = Server::under_test(args, &["--maxmemory", BUDGET])?;
    let client = server.client()?;
    let mut bench = Bench {
        server,
        client,
        table: Table::new(&["what", "took", "RSS", "disk"]),
        checks: Vec::new(),
        next: 0,
    };
    bench.fill(entries, pending)?;
    bench.commands(pending)?;
    bench.within_the_budget("commands on it")?;
    bench.trim()?;
    bench.fill(entries, pending)?;
    bench.delete()?;
    bench.within_the_budget("all of it")?;
    println!("{}", bench.table.render());
    println!(
        "\n{entries} entries of one field of 6 bytes, {pending} of them pending, maxmemory {BUDGET}; CPU of the whole process, {REQUESTS} \
         requests of one client."
    );
    Ok(bench.checks)
}

struct Bench {
    server: Server,
    client: Client,
    table: Table,
    checks: Vec<Check>,
    /// The number of the next entry.
    next: u64,
}

fn id(number: u64) -> String {
    format!("{}-0", FIRST_MS + number)
}

impl Bench {
    fn fill(&mut self, entries: u64, pending: u64) -> Result<()> {
        let began = Instant::now();
        let first = self.next;
        while self.next < first + entries {
            self.add(BATCH)?;
        }
        self.note(&format!("{entries} XADD"), began.elapsed())?;
        let began = Instant::now();
        self.client.call(&[b"XGROUP", b"DESTROY", b"stream", b"workers"])?;
        let from = if first == 0 { "0".to_owned() } else { id(first - 1) };
        expect_ok(self.client.call(&[b"XGROUP", b"CREATE", b"stream", b"workers", from.as_bytes()])?)?;
        for turn in 0..pending / BATCH {
            let worker = format!("worker:{}", turn % 10);
            let group = [b"XREADGROUP", b"GROUP".as_slice(), b"workers", worker.as_bytes()];
            let count = BATCH.to_string();
            let rest = [b"COUNT".as_slice(), count.as_bytes(), b"STREAMS", b"stream", b">"];
            self.client.call(&[group.as_slice(), rest.as_slice()].concat())?;
        }
        self.note(&format!("{} XREADGROUP COUNT {BATCH}", pending / BATCH), began.elapsed())?;
        self.settle()
    }

    /// Adds so many entries in one pipeline.
    fn add(&mut self, count: u64) -> Result<()> {
        for number in self.next..self.next + count {
            let value = format!("{:06}", number % 1_000_000);
            self.client.queue(&[b"XADD", b"stream", id(number).as_bytes(), b"field", value.as_bytes()]);
        }
        self.next += count;
        self.client.send()?;
        for _ in 0..count {
            expect_some(self.client.reply()?)?;
        }
        Ok(())
    }

    fn commands(&mut self, pending: u64) -> Result<()> {
        let mut random = Random::new(7);
        for (place, depth) in DEPTHS.into_iter().enumerate() {
            self.measure("XADD", depth, |bench| bench.add(depth))?;
            self.measure("XREADGROUP", depth, |bench| {
                for _ in 0..depth {
                    let group = [b"XREADGROUP", b"GROUP".as_slice(), b"workers", b"reader"];
                    let rest = [b"COUNT".as_slice(), b"1", b"STREAMS", b"stream", b">"];
                    bench.client.queue(&[group.as_slice(), rest.as_slice()].concat());
                }
                bench.client.send()?;
                (0..depth).try_for_each(|_| expect_some(bench.client.reply()?))
            })?;
            let mut oldest = pending / DEPTHS.len() as u64 * place as u64;
            self.measure("XACK of the oldest", depth, |bench| {
                oldest += depth;
                bench.acknowledge((oldest - depth..oldest).collect())
            })?;
            self.measure("XACK of any", depth, |bench| {
                bench.acknowledge((0..depth).map(|_| random.below(pending)).collect())
            })?;
        }
        Ok(())
    }

    fn acknowledge(&mut self, numbers: Vec<u64>) -> Result<()> {
        for number in &numbers {
            self.client.queue(&[b"XACK", b"stream", b"workers", id(*number).as_bytes()]);
        }
        self.client.send()?;
        numbers.iter().try_for_each(|_| expect_some(self.client.reply()?))
    }

    fn measure(
        &mut self,
        name: &str,
        depth: u64,
        mut turn: impl FnMut(&mut Bench) -> Result<()>,
    ) -> Result<()> {
        self.settle()?;
        let before = self.server.cpu_time()?;
        for _ in 0..REQUESTS / depth {
            turn(self)?;
        }
        let cpu = self.server.cpu_time()?.saturating_sub(before);
        let each = cpu.as_secs_f64() * 1e6 / REQUESTS as f64;
        let name = format!("{name} at pipeline {depth}");
        self.table.row([&name, &format!("{each:.1} us of CPU"), "", ""]);
        self.checks.push(Check::at_most(format!("{name}: CPU"), each, CPU_TARGET_MICROS, "us"));
        Ok(())
    }

    fn trim(&mut self) -> Result<()> {
        self.settle()?;
        let full = self.disk()?;
        let began = Instant::now();
        let kept = KEPT.to_string();
        match self.client.call(&[b"XTRIM", b"stream", b"MAXLEN", kept.as_bytes()])? {
            Reply::Integer(removed) if removed.unsigned_abs() + KEPT == self.next => {}
            other => return Err(format!("XTRIM: {}", show(&other)).into()),
        }
        let line = format!("XTRIM to {KEPT}");
        self.note(&line, began.elapsed())?;
        let began = Instant::now();
        let part = loop {
            let part = self.disk()? as f64 / full as f64;
            if part <= DISK_TARGET || began.elapsed() > DISK_LIMIT {
                break part;
            }
            std::thread::sleep(SETTLE_ROUND);
        };
        self.note("and its space is back", began.elapsed())?;
        self.checks.push(Check::at_most(format!("{line}: disk in use, of before"), part, DISK_TARGET, ""));
        Ok(())
    }

    fn delete(&mut self) -> Result<()> {
        if self.server.kind() == Kind::Redis {
            return Ok(());
        }
        self.settle()?;
        let before = self.info("log_bytes")?;
        match self.client.call(&[b"DEL", b"stream"])? {
            Reply::Integer(1) => {}
            other => return Err(format!("DEL: {}", show(&other)).into()),
        }
        // At the server, which has run no other.
        let took = Duration::from_micros(self.info("cmdstat_del:calls=1,usec")?);
        let added = self.info("log_bytes")?.saturating_sub(before);
        self.table.row(["DEL", &millis(took), "", &format!("{added} bytes of log")]);
        self.checks.push(Check::at_most("DEL: log", added as f64, DELETE_TARGET_BYTES, "bytes"));
        self.checks.push(Check::at_most("DEL: time", took.as_secs_f64() * 1e3, DELETE_TARGET_MS, "ms"));
        Ok(())
    }

    /// Data and log, without what is set aside for a disk that is full.
    fn disk(&mut self) -> Result<u64> {
        match self.server.kind() {
            Kind::Tarn => self.info("disk_bytes"),
            Kind::Redis => Ok(self.server.disk_usage()),
        }
    }

    fn info(&mut self, field: &str) -> Result<u64> {
        let Reply::Bulk(Some(text)) = self.client.call(&[b"INFO", b"everything"])? else {
            return Err("INFO is no text".into());
        };
        let text = std::str::from_utf8(&text)?;
        let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix([':', '=']));
        let value = value.and_then(|value| value.split(',').next());
        Ok(value.ok_or_else(|| format!("INFO has no {field}"))?.trim().parse()?)
    }

    fn note(&mut self, what: &str, took: Duration) -> Result<()> {
        let memory = mebibytes(self.server.memory()?.rss);
        let disk = mebibytes(self.disk()?);
        eprintln!("bench:   {what}: {}", millis(took));
        self.table.row([what, &millis(took), &format!("{memory:.0} MiB"), &format!("{disk:.0} MiB")]);
        Ok(())
    }

    fn within_the_budget(&mut self, what: &str) -> Result<()> {
        let peak = mebibytes(self.server.memory()?.peak);
        if self.server.kind() == Kind::Tarn {
            self.checks.push(Check::at_most(
                format!("a big stream, {what}: peak RSS"),
                peak,
                BUDGET_MIB,
                "MiB",
            ));
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
}

fn expect_ok(reply: Reply) -> Result<()> {
    if matches!(reply, Reply::Simple(_)) { Ok(()) } else { Err(show(&reply).into()) }
}

/// Neither an error nor nothing.
fn expect_some(reply: Reply) -> Result<()> {
    match reply {
        Reply::Integer(_) | Reply::Bulk(Some(_)) => Ok(()),
        Reply::Array(items) if !items.is_empty() => Ok(()),
        other => Err(show(&other).into()),
    }
}
