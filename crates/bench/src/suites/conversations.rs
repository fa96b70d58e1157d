//! What redis-benchmark cannot ask: transactions, clients that wait, and clients that cache. Measured as it measures, with a
//! client of our own: fifty connections that all ask and then all listen.

use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, show};
use crate::load::{self, Latencies, Random};
use crate::report::{Check, Table};
use crate::server::Server;
use crate::suites::throughput::{Run, Runs, settle, thousands, wanted};

const KEYS: u64 = 100_000;
/// Commands of one transaction.
const SETS: usize = 10;
/// Clients in BRPOP, and those that push at a time.
const WAITING: usize = 50;
const PUSHING: usize = 25;

struct Conversation {
    name: &'static str,
    /// Opens its connections.
    open: fn(&Server, &Args) -> Result<Vec<Client>>,
    /// So many requests; how long each took.
    talk: fn(&mut [Client], u32, u64) -> Result<Vec<Duration>>,
    /// Cost of one request in units of a GET.
    cost: u64,
    /// Whether several requests can be sent at once.
    pipelines: bool,
}

const CONVERSATIONS: &[Conversation] = &[
    Conversation { name: "MULTI, 10 SETs, EXEC", open: plain, talk: transactions, cost: 10, pipelines: true },
    Conversation { name: "LPUSH to 50 in BRPOP", open: crowd, talk: pushes, cost: 8, pipelines: false },
    Conversation { name: "GET with tracking", open: caching, talk: reads, cost: 2, pipelines: true },
];

/// Least ratio of throughput at pipeline 1, and at 16 and above.
const TARGETS: (f64, f64) = (1.0, 1.2);

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let mut table = Table::new(&[
        "command", "pipeline", "Tarn/s", "Redis/s", "ratio", "CPU us", "Redis", "ratio", "p50 ms", "Redis",
        "p99 ms", "Redis",
    ]);
    let mut checks = Vec::new();
    for conversation in CONVERSATIONS.iter().filter(|conversation| wanted(args, conversation.name)) {
        let (tarn, redis) = (Server::under_test(args, &[])?, Server::redis(args)?);
        for server in [&tarn, &redis] {
            load::fill(&mut server.client()?, KEYS, 0, 3)?;
        }
        for &pipeline in args.pipelines.iter().filter(|pipeline| conversation.pipelines || **pipeline == 1) {
            let requests = args.requests / conversation.cost / if pipeline == 1 { 8 } else { 1 };
            eprintln!("bench:   {} at pipeline {pipeline}, {requests} requests a run", conversation.name);
            let (ours, theirs) = measure(args, conversation, pipeline, requests, [&tarn, &redis])?;
            let ratio = ours.share_of(&theirs);
            let cpu = (ours.cpu_micros(requests), theirs.cpu_micros(requests));
            table.row([
                conversation.name.to_owned(),
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
            let target = if pipeline >= 16 { TARGETS.1 } else { TARGETS.0 };
            let name = format!("{} at pipeline {pipeline}: throughput ratio", conversation.name);
            checks.push(Check::at_least(name, ratio, target));
        }
    }
    println!("{}", table.render());
    Ok(checks)
}

/// Transactions of ten SETs alone, on one server: one run behind a short one.
pub fn multi(args: &Args, server: &Server, pipeline: u32, requests: u64) -> Result<Run> {
    let mut clients = plain(server, args)?;
    transactions(&mut clients, pipeline, requests / 10 + 1)?;
    run_once(server, requests, || transactions(&mut clients, pipeline, requests))
}

fn run_once(server: &Server, requests: u64, talk: impl FnOnce() -> Result<Vec<Duration>>) -> Result<Run> {
    let (began, before) = (Instant::now(), server.cpu_time()?);
    let times = talk()?;
    let cpu = server.cpu_time()?.saturating_sub(before);
    let (took, times) = (began.elapsed(), Latencies::new(times));
    let millis = |percent| times.percentile(percent).as_secs_f64() * 1e3;
    let per_second = requests as f64 / took.as_secs_f64();
    Ok(Run { per_second, p50_ms: millis(50.0), p99_ms: millis(99.0), cpu })
}

fn measure(
    args: &Args,
    conversation: &Conversation,
    pipeline: u32,
    requests: u64,
    servers: [&Server; 2],
) -> Result<(Runs, Runs)> {
    let (mut ours, mut theirs) = (Runs::default(), Runs::default());
    for round in 0..args.rounds {
        let mut turns = [(servers[0], &mut ours), (servers[1], &mut theirs)];
        if round % 2 == 1 {
            turns.reverse();
        }
        for (server, runs) in turns {
            settle(&servers)?;
            let mut clients = (conversation.open)(server, args)?;
            (conversation.talk)(&mut clients, pipeline, requests / 10 + 1)?;
            let talk = || (conversation.talk)(&mut clients, pipeline, requests);
            runs.runs.push(run_once(server, requests, talk)?);
        }
    }
    Ok((ours, theirs))
}

fn plain(server: &Server, args: &Args) -> Result<Vec<Client>> {
    (0..args.clients).map(|_| server.client()).collect()
}

/// Clients that are told when what they have read is changed.
fn caching(server: &Server, args: &Args) -> Result<Vec<Client>> {
    let mut clients = plain(server, args)?;
    for client in &mut clients {
        client.call(&[b"HELLO", b"3"])?;
        client.queue(&[b"CLIENT", b"TRACKING", b"ON"]);
        client.send()?;
        client.expect_ok()?;
    }
    Ok(clients)
}

/// Those that wait first, then those that push.
fn crowd(server: &Server, _: &Args) -> Result<Vec<Client>> {
    let mut control = server.client()?;
    control.call(&[b"DEL", b"queue"])?;
    let mut clients: Vec<Client> = (0..WAITING + PUSHING).map(|_| server.client()).collect::<Result<_>>()?;
    for (count, client) in (1..).zip(clients.iter_mut().take(WAITING)) {
        wait(client)?;
        // One after the other: who has waited longest is served first.
        let waiting = format!("blocked_clients:{count}\r\n");
        let is_waiting = |reply: Reply| match reply {
            Reply::Bulk(Some(text)) => text.windows(waiting.len()).any(|part| part == waiting.as_bytes()),
            _ => false,
        };
        while !is_waiting(control.call(&[b"INFO", b"clients"])?) {}
    }
    Ok(clients)
}

fn wait(client: &mut Client) -> Result<()> {
    client.queue(&[b"BRPOP", b"queue", b"0"]);
    client.send()
}

/// All clients ask, then all listen, until there were so many requests.
fn exchange(
    clients: &mut [Client],
    (pipeline, requests): (u32, u64),
    mut ask: impl FnMut(&mut Client),
    replies: usize,
) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut done = 0;
    while done < requests {
        let sent = Instant::now();
        for client in clients.iter_mut() {
            (0..pipeline).for_each(|_| ask(client));
            client.send()?;
        }
        for client in clients.iter_mut() {
            for _ in 0..pipeline as usize * replies {
                if let Reply::Error(error) = client.reply()? {
                    return Err(format!("refused: {}", error.escape_ascii()).into());
                }
            }
            times.push(sent.elapsed());
        }
        done += clients.len() as u64 * u64::from(pipeline);
    }
    Ok(times)
}

fn transactions(clients: &mut [Client], pipeline: u32, requests: u64) -> Result<Vec<Duration>> {
    let mut random = Random::new(7);
    let ask = |client: &mut Client| {
        client.queue(&[b"MULTI"]);
        (0..SETS).for_each(|_| client.queue(&[b"SET", &load::key(random.below(KEYS)), b"xyz"]));
        client.queue(&[b"EXEC"]);
    };
    exchange(clients, (pipeline, requests), ask, SETS + 2)
}

fn reads(clients: &mut [Client], pipeline: u32, requests: u64) -> Result<Vec<Duration>> {
    let mut random = Random::new(8);
    let ask = |client: &mut Client| client.queue(&[b"GET", &load::key(random.below(KEYS))]);
    exchange(clients, (pipeline, requests), ask, 1)
}

/// Each push wakes one of those that wait, which waits again.
fn pushes(clients: &mut [Client], _: u32, requests: u64) -> Result<Vec<Duration>> {
    let (waiting, pushing) = clients.split_at_mut(WAITING);
    let (mut times, mut done) = (Vec::new(), 0);
    while done < requests {
        let sent = Instant::now();
        for client in pushing.iter_mut() {
            client.queue(&[b"LPUSH", b"queue", b"xyz"]);
            client.send()?;
        }
        for client in pushing.iter_mut() {
            client.reply()?;
        }
        let mut served = 0;
        while served < pushing.len() {
            for place in crate::client::ready(waiting)? {
                let Some(client) = waiting.get_mut(place) else { continue };
                match client.reply()? {
                    Reply::Array(pair) if pair.len() == 2 => {}
                    other => return Err(format!("BRPOP answered {}", show(&other)).into()),
                }
                times.push(sent.elapsed());
                wait(client)?;
                served += 1;
            }
        }
        done += pushing.len() as u64;
    }
    Ok(times)
}
