//! Hash fields with an expiry and a version: what they cost beside plain ones, and how they leave when their time comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::throughput::{Runs, benchmark, settle, thousands, wanted};
use super::workloads::{Setup, Workload};
use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply};
use crate::load::Latencies;
use crate::report::{Check, Table, millis};
use crate::server::Server;

const LINE: Workload = Workload {
    name: "",
    setup: Setup::Nothing,
    fresh: "",
    command: "",
    keyspace: 100_000,
    cost: 1,
    targets: None,
    cpu_target: false,
    user: "",
};

/// Each line, and the least share it may have of the throughput of the first of its group.
const GROUPS: &[&[(Workload, f64)]] = &[
    &[
        (Workload { name: "HSET", command: "HSET h0 field:__rand_int__ xyz", ..LINE }, 0.0),
        (Workload { name: "EXHSET", command: "EXHSET h1 field:__rand_int__ xyz", ..LINE }, 0.95),
        (Workload { name: "EXHSET EX", command: "EXHSET h2 field:__rand_int__ xyz EX 1000", ..LINE }, 0.85),
        (
            Workload { name: "HSETEX", command: "HSETEX h3 EX 1000 FIELDS 1 field:__rand_int__ xyz", ..LINE },
            0.85,
        ),
        (Workload { name: "HEXPIRE", command: "HEXPIRE h3 1000 FIELDS 1 field:__rand_int__", ..LINE }, 0.0),
    ],
    &[
        (Workload { name: "HGET", command: "HGET h0 field:__rand_int__", ..LINE }, 0.0),
        (Workload { name: "EXHGET", command: "EXHGET h1 field:__rand_int__", ..LINE }, 0.95),
        (Workload { name: "EXHGET of EX", command: "EXHGET h2 field:__rand_int__", ..LINE }, 0.85),
    ],
    &[
        (Workload { name: "HSET many keys", command: "HSET m0:__rand_int__ f xyz", ..LINE }, 0.0),
        (Workload { name: "EXHSET many keys", command: "EXHSET m1:__rand_int__ f xyz", ..LINE }, 0.95),
        (
            Workload { name: "EXHSET EX many keys", command: "EXHSET m2:__rand_int__ f xyz EX 1000", ..LINE },
            0.85,
        ),
        (
            Workload {
                name: "HSETEX many keys",
                command: "HSETEX m3:__rand_int__ EX 1000 FIELDS 1 f xyz",
                ..LINE
            },
            0.85,
        ),
    ],
];

const GONE_TARGET_SECS: f64 = 5.0;
const GET_TARGET: f64 = 3.0;
const COST_TARGET: f64 = 1.5;
const BATCH: u64 = 100;
const DUE_AFTER_MS: u64 = 10_000;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    if wanted(args, "COMMANDS") {
        throughput(args, &mut checks)?;
    }
    if wanted(args, "REAPING") {
        all_at_once(args, &mut checks)?;
        beside_others(args, &mut checks)?;
    }
    Ok(checks)
}

fn throughput(args: &Args, checks: &mut Vec<Check>) -> Result<()> {
    let server = Server::under_test(args, &[])?;
    let mut table = Table::new(&["command", "pipeline", "requests/s", "of the first", "CPU us", "p99 ms"]);
    for &pipeline in &args.pipelines {
        let requests = if pipeline < 4 { args.requests / 8 } else { args.requests };
        for group in GROUPS {
            let mut runs: Vec<Runs> = group.iter().map(|_| Runs::default()).collect();
            for (workload, _) in *group {
                eprintln!("bench:   {} at pipeline {pipeline}", workload.name);
                benchmark(args, &server, workload, pipeline, requests)?;
            }
            for round in 0..args.rounds as usize {
                // Each round begins with another one: what comes at a distance, as writing back does, must not always
                // meet the same command.
                for place in 0..group.len() {
                    let turn = (round + place) % group.len();
                    let (Some((workload, _)), Some(runs)) = (group.get(turn), runs.get_mut(turn)) else {
                        continue;
                    };
                    settle(&[&server])?;
                    runs.runs.push(benchmark(args, &server, workload, pipeline, requests)?);
                }
            }
            for ((workload, least), of_it) in group.iter().zip(&runs) {
                let per_second = of_it.median(|run| run.per_second);
                let share = runs.first().map_or(1.0, |first| of_it.share_of(first));
                table.row([
                    workload.name.to_owned(),
                    pipeline.to_string(),
                    thousands(per_second),
                    format!("{share:.2}"),
                    format!("{:.2}", of_it.cpu_micros(requests)),
                    format!("{:.2}", of_it.median(|run| run.p99_ms)),
                ]);
                if *least > 0.0 {
                    let name = format!("{} at pipeline {pipeline}: share of the first", workload.name);
                    checks.push(Check::at_least(name, share, *least));
                }
            }
        }
    }
    println!("{}", table.render());
    Ok(())
}

/// The server's clock is the machine's.
fn now_ms() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "times are given to the server")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Fills hashes with fields that expire at `at_ms` or up to `spread_ms` later.
fn fill(
    client: &mut Client,
    prefix: &str,
    (hashes, fields): (u64, u64),
    at_ms: u64,
    spread_ms: u64,
) -> Result<()> {
    for hash in 0..hashes {
        let key = format!("{prefix}:{hash}");
        let mut sent = 0;
        for from in (0..fields).step_by(BATCH as usize) {
            let names: Vec<String> = (from..fields.min(from + BATCH)).map(|n| format!("field:{n}")).collect();
            // Each batch at a time of its own.
            let at = (at_ms + (from / BATCH) * spread_ms / fields.div_ceil(BATCH)).to_string();
            let count = names.len().to_string();
            let mut words: Vec<&[u8]> =
                vec![b"HSETEX", key.as_bytes(), b"PXAT", at.as_bytes(), b"FIELDS", count.as_bytes()];
            for name in &names {
                words.extend([name.as_bytes(), b"value"]);
            }
            client.queue(&words);
            sent += 1;
        }
        client.send()?;
        for _ in 0..sent {
            match client.reply()? {
                Reply::Integer(1) => {}
                other => return Err(format!("HSETEX answered {}", crate::client::show(&other)).into()),
            }
        }
    }
    Ok(())
}

/// GETs one after the other until told to stop.
fn get_until(client: &mut Client, stop: &AtomicBool) -> Result<Latencies> {
    let mut taken = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        client.call(&[b"GET", b"hot"])?;
        taken.push(began.elapsed());
    }
    Ok(Latencies::new(taken))
}

fn get_for(client: &mut Client, time: Duration) -> Result<Latencies> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let measured = scope.spawn(|| get_until(client, &stop));
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        measured.join().map_err(|_| "the client that measures failed")?
    })
}

/// A million fields of a thousand hashes, all due within a second.
fn all_at_once(args: &Args, checks: &mut Vec<Check>) -> Result<()> {
    let (hashes, fields) = if args.quick { (200, 1_000) } else { (1_000, 1_000) };
    let server = Server::under_test(args, &[])?;
    let mut client = server.client()?;
    client.call(&[b"SET", b"hot", b"xyz"])?;
    let mut getter = server.client()?;
    let idle = get_for(&mut getter, Duration::from_secs(3))?;
    let due_ms = now_ms() + 10_000 + hashes * 25;
    fill(&mut client, "h", (hashes, fields), due_ms, 1_000)?;
    if now_ms() >= due_ms {
        return Err("filling took so long that fields were due before the end".into());
    }
    let mut listener = server.client()?;
    listener.call(&[b"PSUBSCRIBE", b"tairhash@*"])?;
    let stop = AtomicBool::new(false);
    let (loaded, announced_ms, gone_ms) = std::thread::scope(|scope| {
        while now_ms() < due_ms {
            std::thread::sleep(Duration::from_millis(1));
        }
        let measured = scope.spawn(|| get_until(&mut getter, &stop));
        let announced = scope.spawn(|| -> Result<u64> {
            for _ in 0..hashes * fields {
                listener.reply()?;
            }
            Ok(now_ms())
        });
        let gone = loop {
            if let Reply::Integer(1) = client.call(&[b"DBSIZE"])? {
                break now_ms();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let announced = announced.join().map_err(|_| "the client that listens failed")??;
        stop.store(true, Ordering::Relaxed);
        let measured = measured.join().map_err(|_| "the client that measures failed")??;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((measured, announced, gone))
    })?;
    // Before and after, since the machine has its moods.
    settle(&[&server])?;
    let idle = idle.with(get_for(&mut getter, Duration::from_secs(3))?);
    let late = |at_ms: u64| at_ms.saturating_sub(due_ms + 1_000) as f64 / 1e3;
    let (idle_p99, loaded_p99) = (idle.percentile(99.0), loaded.percentile(99.0));
    let mut table =
        Table::new(&["fields", "gone after", "announced after", "GET p99 idle", "GET p99 meanwhile"]);
    table.row([
        (hashes * fields).to_string(),
        format!("{:.2} s", late(gone_ms)),
        format!("{:.2} s", late(announced_ms)),
        millis(idle_p99),
        millis(loaded_p99),
    ]);
    println!("\n{}", table.render());
    checks.push(Check::at_most("due fields gone after", late(gone_ms), GONE_TARGET_SECS, "s"));
    checks.push(Check::at_most("due fields announced after", late(announced_ms), GONE_TARGET_SECS, "s"));
    let ratio = loaded_p99.as_secs_f64() / idle_p99.as_secs_f64().max(1e-9);
    checks.push(Check::at_most("GET p99 meanwhile, of the idle one", ratio, GET_TARGET, ""));
    Ok(())
}

/// What reaping costs beside few and beside many fields that are not due. The two servers take turns.
fn beside_others(args: &Args, checks: &mut Vec<Check>) -> Result<()> {
    let due = if args.quick { 20_000 } else { 100_000 };
    let others = [10_000, 1_000_000];
    let mut servers = Vec::new();
    for others in others {
        let server = Server::under_test(args, &[])?;
        fill(&mut server.client()?, "h", (100, others / 100), now_ms() + 3_600_000, 0)?;
        servers.push(server);
    }
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..args.rounds as usize {
        for turn in 0..servers.len() {
            let turn = (round + turn) % servers.len();
            let (Some(server), Some(costs)) = (servers.get(turn), costs.get_mut(turn)) else { continue };
            costs.push(cost_of_reaping(server, due, round as u64 + 1)?);
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let [few, many] = &costs;
    let ratio = median(few.iter().zip(many).map(|(few, many)| many / few.max(1e-9)).collect());
    let mut table = Table::new(&["fields not due", "reaped", "CPU us per field"]);
    for (others, costs) in others.into_iter().zip(costs) {
        table.row([others.to_string(), due.to_string(), format!("{:.2}", median(costs))]);
    }
    println!("\n{}", table.render());
    let name = "cost of reaping beside 1,000,000 fields that are not due, of that beside 10,000";
    checks.push(Check::at_most(name, ratio, COST_TARGET, ""));
    Ok(())
}

/// Microseconds of CPU for each of `due` fields, half of them in hashes that have other fields.
fn cost_of_reaping(server: &Server, due: u64, round: u64) -> Result<f64> {
    let mut client = server.client()?;
    // Long enough for the server to have come to rest.
    let due_ms = now_ms() + DUE_AFTER_MS;
    fill(&mut client, "g", (100, due / 200), due_ms, 0)?;
    fill_more(&mut client, (100, due / 200), due_ms)?;
    settle(&[server])?;
    if now_ms() >= due_ms {
        return Err("filling took so long that fields were due before the end".into());
    }
    while now_ms() < due_ms {
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = server.cpu_time()?;
    while reaped(&mut client)? < due * round {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(server.cpu_time()?.saturating_sub(before).as_secs_f64() * 1e6 / due as f64)
}

fn fill_more(client: &mut Client, (hashes, fields): (u64, u64), at_ms: u64) -> Result<()> {
    let at = at_ms.to_string();
    for hash in 0..hashes {
        let key = format!("h:{hash}");
        for n in 0..fields {
            let field = format!("due:{n}");
            client.queue(&[
                b"HSETEX",
                key.as_bytes(),
                b"PXAT",
                at.as_bytes(),
                b"FIELDS",
                b"1",
                field.as_bytes(),
                b"v",
            ]);
        }
        client.send()?;
        for _ in 0..fields {
            client.reply()?;
        }
    }
    Ok(())
}

fn reaped(client: &mut Client) -> Result<u64> {
    let Reply::Bulk(Some(text)) = client.call(&[b"INFO", b"fieldexpiry"])? else {
        return Err("INFO fieldexpiry is no text".into());
    };
    let text = String::from_utf8(text)?;
    let line = text.lines().find_map(|line| line.strip_prefix("field_expiry_reaped:"));
    Ok(line.ok_or("INFO does not tell what was reaped")?.trim().parse()?)
}
