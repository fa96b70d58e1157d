//! PUBLISH to many subscribers: messages that arrive in a second, and what one costs the server.
//!
//! One client publishes to one channel, a pipeline at a time; all subscribers are read by one thread, which counts bytes. A
//! run ends when everybody has got everything. The servers run at the same time and are loaded alternately.

use std::io::Read;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, append_command, show};
use crate::report::{Check, Table};
use crate::server::Server;

const SUBSCRIBERS: usize = 1_000;
const CHANNEL: &[u8] = b"channel";
const MESSAGE: &[u8] = b"a message of 32 bytes, no less.\n";
/// Messages of one run at pipeline 16; other depths in proportion.
const MESSAGES: u64 = 8_000;
const TARGET: f64 = 1.0;
/// A run that takes longer than this is an error.
const RUN_LIMIT: Duration = Duration::from_secs(120);
const EVENTS: usize = 256;

struct Run {
    per_second: f64,
    cpu: Duration,
}

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let tarn = Server::under_test(args, &[])?;
    let redis = Server::redis(args)?;
    let mut table = Table::new(&[
        "PUBLISH to",
        "pipeline",
        "Tarn msg/s",
        "Redis msg/s",
        "ratio",
        "CPU us",
        "Redis",
        "ratio",
    ]);
    let mut checks = Vec::new();
    for &pipeline in &args.pipelines {
        let messages = if args.quick { MESSAGES / 4 } else { MESSAGES };
        let messages = (messages * u64::from(pipeline).min(16) / 16).max(500);
        eprintln!("bench:   {messages} messages a run at pipeline {pipeline}");
        let mut runs = [Vec::new(), Vec::new()];
        for round in 0..args.rounds {
            let mut turn = [(0, &tarn), (1, &redis)];
            if round % 2 == 1 {
                turn.reverse();
            }
            for (place, server) in turn {
                let run = measure(server, pipeline, messages)?;
                runs.get_mut(place).ok_or("two servers")?.push(run);
            }
        }
        let deliveries = messages as f64 * SUBSCRIBERS as f64;
        let [ours, theirs] = runs.map(|runs| summary(&runs, deliveries));
        let ratio = ours.0 / theirs.0;
        table.row([
            format!("{SUBSCRIBERS}"),
            pipeline.to_string(),
            format!("{:.0}", ours.0),
            format!("{:.0}", theirs.0),
            format!("{ratio:.2}"),
            format!("{:.3}", ours.1),
            format!("{:.3}", theirs.1),
            format!("{:.2}", ours.1 / theirs.1),
        ]);
        if pipeline == 16 {
            let name = format!("PUBLISH to {SUBSCRIBERS} subscribers at pipeline 16: delivery ratio");
            checks.push(Check::at_least(name, ratio, TARGET));
        }
    }
    println!("{}", table.render());
    println!(
        "\nMessages of {} bytes delivered in a second, medians of {} rounds interleaved; CPU of the server for each of them.",
        MESSAGE.len(),
        args.rounds
    );
    Ok(checks)
}

/// The median of deliveries in a second, and microseconds of CPU for each.
fn summary(runs: &[Run], deliveries: f64) -> (f64, f64) {
    let mut rates: Vec<f64> = runs.iter().map(|run| run.per_second).collect();
    rates.sort_by(f64::total_cmp);
    let cpu: f64 = runs.iter().map(|run| run.cpu.as_secs_f64() * 1e6).sum();
    let median = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
    (median, cpu / (deliveries * runs.len() as f64))
}

fn measure(server: &Server, pipeline: u32, messages: u64) -> Result<Run> {
    let mut listeners = Listeners::connect(server.port())?;
    let mut publisher = server.client()?;
    await_subscribers(&mut publisher)?;
    let mut message_bytes = Vec::new();
    append_command(&mut message_bytes, &[b"message", CHANNEL, MESSAGE]);
    let wanted = messages * SUBSCRIBERS as u64 * message_bytes.len() as u64;
    let before = server.cpu_time()?;
    let began = Instant::now();
    let published = std::thread::scope(|scope| {
        let publishing = scope.spawn(|| publish(&mut publisher, pipeline, messages));
        let read = listeners.read(wanted, began + RUN_LIMIT);
        publishing.join().map_err(|_| "the publisher panicked")??;
        read
    });
    published?;
    let time = began.elapsed();
    let cpu = server.cpu_time()?.saturating_sub(before);
    Ok(Run { per_second: (messages * SUBSCRIBERS as u64) as f64 / time.as_secs_f64(), cpu })
}

/// Those of the run before are gone, too.
fn await_subscribers(client: &mut Client) -> Result<()> {
    let wanted = Reply::Array(vec![Reply::Bulk(Some(CHANNEL.to_vec())), Reply::Integer(SUBSCRIBERS as i64)]);
    for _ in 0..1_000 {
        if client.call(&[b"PUBSUB", b"NUMSUB", CHANNEL])? == wanted {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("the subscribers are not all there".into())
}

fn publish(client: &mut Client, pipeline: u32, messages: u64) -> Result<()> {
    let mut sent = 0;
    while sent < messages {
        let batch = u64::from(pipeline).min(messages - sent);
        for _ in 0..batch {
            client.queue(&[b"PUBLISH", CHANNEL, MESSAGE]);
        }
        client.send()?;
        for _ in 0..batch {
            match client.reply()? {
                Reply::Integer(reached) if reached == SUBSCRIBERS as i64 => {}
                other => return Err(format!("PUBLISH: {}", show(&other)).into()),
            }
        }
        sent += batch;
    }
    Ok(())
}

/// Connections that listen, read together.
struct Listeners {
    streams: Vec<TcpStream>,
    epoll: i32,
}

impl Listeners {
    fn connect(port: u16) -> Result<Listeners> {
        // SAFETY: no memory is passed.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        let mut listeners = Listeners { streams: Vec::new(), epoll };
        let mut command = Vec::new();
        append_command(&mut command, &[b"SUBSCRIBE", CHANNEL]);
        for place in 0..SUBSCRIBERS {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            std::io::Write::write_all(&mut stream, &command)?;
            let mut confirmed = [0; 64];
            let len = stream.read(&mut confirmed)?;
            let confirmed = confirmed.get(..len).unwrap_or(&[]);
            if !confirmed.ends_with(b":1\r\n") {
                return Err(format!("SUBSCRIBE: {}", confirmed.escape_ascii()).into());
            }
            stream.set_nonblocking(true)?;
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: place as u64 };
            // SAFETY: both descriptors are open and the event outlives the call.
            let added =
                unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &mut event) };
            if added != 0 {
                return Err(std::io::Error::last_os_error().into());
            }
            listeners.streams.push(stream);
        }
        Ok(listeners)
    }

    /// Until so many bytes have come.
    fn read(&mut self, wanted: u64, deadline: Instant) -> Result<()> {
        let mut scratch = vec![0; 64 << 10];
        let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let mut got = 0;
        while got < wanted {
            // SAFETY: the kernel writes at most as many events as there is room for.
            let ready = unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), EVENTS as i32, 1_000) };
            if Instant::now() > deadline {
                return Err(format!("{got} of {wanted} bytes came in time").into());
            }
            for event in events.iter().take(usize::try_from(ready).unwrap_or(0)) {
                let place = event.u64 as usize;
                let Some(stream) = self.streams.get_mut(place) else { continue };
                match stream.read(&mut scratch) {
                    Ok(0) => return Err("a subscriber was closed".into()),
                    Ok(n) => got += n as u64,
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this struct's own.
        unsafe { libc::close(self.epoll) };
    }
}
