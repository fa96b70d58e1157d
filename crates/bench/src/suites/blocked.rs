//! What a client costs that waits in BLPOP, and whom a push wakes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, append_command, show};
use crate::load::Latencies;
use crate::report::{Check, Table, millis};
use crate::server::Server;

/// The most that a client which waits may add to the process's memory, its connection included.
const TARGET_BYTES: f64 = 2048.0;
/// The most CPU that all of them together may cost while nothing happens, in milliseconds of a second, beyond what as many connections
/// cost that do not wait: the server looks at all of them now and then.
const TARGET_CPU_MS: f64 = 1.0;
/// Time for allocators to give back what was only needed for a moment.
const SETTLE: Duration = Duration::from_secs(3);
/// How long the server's idle CPU is looked at.
const IDLE: Duration = Duration::from_secs(10);
const PUSHES: usize = 200;
/// Connections that are made before the server is asked whether it has them.
const BATCH: usize = 500;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let limit = (args.connections + 100).to_string();
    let server = Server::under_test(args, &["--maxclients", &limit])?;
    let mut control = server.client()?;
    control.ping()?;
    std::thread::sleep(SETTLE);
    let (empty, before) = (idle_cpu_ms(&server)?, server.memory()?);
    let mut waiting = connect(&mut control, &server, args.connections as usize)?;
    std::thread::sleep(SETTLE);
    let silent = idle_cpu_ms(&server)?;
    block(&mut control, &mut waiting)?;
    std::thread::sleep(SETTLE);
    let (blocked, after) = (idle_cpu_ms(&server)?, server.memory()?);
    let times = push(&mut control, &mut waiting)?;

    let per = |after: u64, before: u64| after.saturating_sub(before) as f64 / args.connections as f64;
    let (rss, private) = (per(after.rss, before.rss), per(after.private, before.private));
    let mut table = Table::new(&[
        "clients in BLPOP",
        "resident bytes each",
        "private bytes each",
        "CPU, ms in a second",
        "of as many silent ones",
        "of none",
        "push to reply, p50",
        "p99",
    ]);
    table.row([
        args.connections.to_string(),
        format!("{rss:.0}"),
        format!("{private:.0}"),
        format!("{blocked:.2}"),
        format!("{silent:.2}"),
        format!("{empty:.2}"),
        millis(times.percentile(50.0)),
        millis(times.percentile(99.0)),
    ]);
    println!("{}", table.render());
    println!(
        "\n{PUSHES} pushes, one after the other: each woke the client that had waited longest, and no other."
    );
    Ok(vec![
        Check::at_most("client that waits in BLPOP", rss, TARGET_BYTES, "bytes"),
        Check::at_most(
            "clients that wait, beyond as many silent ones",
            (blocked - silent).max(0.0),
            TARGET_CPU_MS,
            "ms of CPU in a second",
        ),
    ])
}

/// So many connections, all of them accepted.
fn connect(control: &mut Client, server: &Server, count: usize) -> Result<Vec<TcpStream>> {
    let mut streams = Vec::with_capacity(count);
    while streams.len() < count {
        let stream = TcpStream::connect(("127.0.0.1", server.port()))
            .map_err(|error| format!("connection {}: {error}", streams.len()))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        streams.push(stream);
        if streams.len().is_multiple_of(BATCH) {
            control.ping()?;
        }
    }
    await_number(control, "connected_clients:", count + 1)?;
    Ok(streams)
}

/// Has all of them wait for one key.
fn block(control: &mut Client, streams: &mut [TcpStream]) -> Result<()> {
    let mut command = Vec::new();
    append_command(&mut command, &[b"BLPOP", b"queue", b"0"]);
    let count = streams.len();
    for (number, stream) in (1..).zip(streams) {
        stream.write_all(&command)?;
        // The first ones are known to have come first.
        if number <= PUSHES || number.is_multiple_of(BATCH) || number == count {
            await_number(control, "blocked_clients:", number)?;
        }
    }
    Ok(())
}

/// One element at a time; how long until the client that had waited longest had it.
fn push(control: &mut Client, waiting: &mut [TcpStream]) -> Result<Latencies> {
    let mut times = Vec::new();
    let all = waiting.len();
    for (turn, stream) in waiting.iter_mut().take(PUSHES).enumerate() {
        let value = format!("{turn:04}");
        let sent = Instant::now();
        control.queue(&[b"RPUSH", b"queue", value.as_bytes()]);
        control.send()?;
        let mut expected = Vec::new();
        append_command(&mut expected, &[b"queue", value.as_bytes()]);
        let mut reply = vec![0; expected.len()];
        stream.read_exact(&mut reply)?;
        times.push(sent.elapsed());
        if reply != expected {
            return Err(format!("BLPOP answered '{}'", reply.escape_ascii()).into());
        }
        match control.reply()? {
            Reply::Integer(1) => {}
            other => return Err(format!("RPUSH: {}", show(&other)).into()),
        }
        await_number(control, "blocked_clients:", all - turn - 1)?;
    }
    Ok(Latencies::new(times))
}

/// Milliseconds of CPU in a second in which nothing happens.
fn idle_cpu_ms(server: &Server) -> Result<f64> {
    let before = server.cpu_time()?;
    std::thread::sleep(IDLE);
    let spent = server.cpu_time()?.saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e3 / IDLE.as_secs_f64())
}

/// Until a line of INFO has a number.
fn await_number(control: &mut Client, name: &str, wanted: usize) -> Result<()> {
    let mut found = 0;
    for _ in 0..30_000 {
        let reply = control.call(&[b"INFO", b"clients"])?;
        let Reply::Bulk(Some(text)) = &reply else {
            return Err(format!("INFO clients: {}", show(&reply)).into());
        };
        found = std::str::from_utf8(text)?
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<usize>().ok())
            .unwrap_or(0);
        if found == wanted {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(format!("{name}{found}, and not {wanted}").into())
}
