//! A script that runs for ten seconds: what others notice, and how it is stopped.

use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, show};
use crate::load::{self, Latencies, Random};
use crate::report::{Check, Table, millis};
use crate::server::Server;

/// p99 of another client's GETs beside the script, in units of that without it.
const GET_TARGET: f64 = 2.0;
const KILL_TARGET_MS: f64 = 100.0;
const KEYS: u64 = 100_000;
const SCRIPT_TIME: Duration = Duration::from_secs(10);
/// How often each is looked at, in turn: the machine has slow moments of its own.
const ROUNDS: usize = 3;
/// Writes its key and one that it has not declared, then never ends.
const SCRIPT: &[u8] =
    b"redis.call('SET', KEYS[1], 'x') redis.call('SET', 'undeclared', 'x') while true do end";

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let server = Server::under_test(args, &[])?;
    let mut client = server.client()?;
    load::fill(&mut client, KEYS, 0, 3)?;
    let (mut idle, mut beside) = (Latencies::new(Vec::new()), Latencies::new(Vec::new()));
    let (mut slowest_kill, mut refused) = (Duration::ZERO, 0);
    for _ in 0..ROUNDS {
        idle = idle.with(gets_for(&server)?.0);
        let mut runner = server.client()?;
        runner.queue(&[b"EVAL", SCRIPT, b"1", b"scripted"]);
        runner.send()?;
        await_script(&mut client)?;
        let (times, busy) = gets_for(&server)?;
        (beside, refused) = (beside.with(times), refused + busy);
        slowest_kill = slowest_kill.max(kill(&mut client, &mut runner)?);
    }
    let (alone, with) = (idle.percentile(99.0), beside.percentile(99.0));
    let ratio = with.as_secs_f64() / alone.as_secs_f64();
    let mut table = Table::new(&["GET by another client", "p50", "p99", "requests"]);
    for (name, times) in [("nothing else runs", &idle), ("beside a script of 10 s", &beside)] {
        table.row([
            name.to_owned(),
            millis(times.percentile(50.0)),
            millis(times.percentile(99.0)),
            times.len().to_string(),
        ]);
    }
    println!("{}", table.render());
    println!(
        "\n{refused} of them wanted a key that shares a lock with one of the script's, and were answered BUSY."
    );
    println!(
        "SCRIPT KILL answered within {}; nothing of the script was there afterwards.",
        millis(slowest_kill)
    );
    Ok(vec![
        Check::at_most("GET beside a script of 10 s: p99 to idle p99", ratio, GET_TARGET, ""),
        Check::at_most("SCRIPT KILL", slowest_kill.as_secs_f64() * 1e3, KILL_TARGET_MS, "ms"),
    ])
}

/// Round-trip times of GETs of other keys, one at a time with a pause of a millisecond between them, and how many were refused because
/// of the script.
fn gets_for(server: &Server) -> Result<(Latencies, usize)> {
    let mut client = server.client()?;
    let (began, mut random, mut samples, mut refused) = (Instant::now(), Random::new(9), Vec::new(), 0);
    while began.elapsed() < SCRIPT_TIME {
        let key = load::key(random.below(KEYS));
        let sent = Instant::now();
        let reply = client.call(&[b"GET", &key])?;
        samples.push(sent.elapsed());
        match reply {
            Reply::Bulk(Some(value)) if value.len() == 3 => {}
            Reply::Error(words) if words.starts_with(b"BUSY ") => refused += 1,
            other => return Err(format!("GET: {}", show(&other)).into()),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok((Latencies::new(samples), refused))
}

/// Until the script runs.
fn await_script(client: &mut Client) -> Result<()> {
    for _ in 0..1_000 {
        let Reply::Array(stats) = client.call(&[b"FUNCTION", b"STATS"])? else {
            return Err("FUNCTION STATS is no map".into());
        };
        if !matches!(stats.get(1), Some(Reply::Bulk(None))) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err("the script does not run".into())
}

/// How long it took until SCRIPT KILL was answered and the script had ended. Nothing that the script wrote may be there.
fn kill(client: &mut Client, runner: &mut Client) -> Result<Duration> {
    let began = Instant::now();
    client.queue(&[b"SCRIPT", b"KILL"]);
    client.send()?;
    client.expect_ok()?;
    match runner.reply()? {
        Reply::Error(words) if words.starts_with(b"ERR Script killed by user") => {}
        other => return Err(format!("the script answered {}", show(&other)).into()),
    }
    let took = began.elapsed();
    match client.call(&[b"EXISTS", b"scripted", b"undeclared"])? {
        Reply::Integer(0) => Ok(took),
        other => Err(format!("EXISTS behind SCRIPT KILL: {}", show(&other)).into()),
    }
}
