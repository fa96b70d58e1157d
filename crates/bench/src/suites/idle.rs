//! What a connection costs that does nothing.

use std::time::Duration;

use crate::Result;
use crate::args::Args;
use crate::client::{Reply, append_command, show};
use crate::report::{Check, Table};
use crate::server::Server;

/// The most that one idle connection may add to the process's memory.
const TARGET_BYTES: f64 = 2048.0;
/// Time for allocators to give back what was only needed for a moment.
const SETTLE: Duration = Duration::from_secs(3);

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let limit = (args.connections + 100).to_string();
    let server = Server::under_test(args, &["--maxclients", &limit])?;
    let mut control = server.client()?;
    control.ping()?;
    std::thread::sleep(SETTLE);
    let before = server.memory()?;

    let mut connections = Vec::new();
    for number in 0..args.connections {
        let stream = std::net::TcpStream::connect(("127.0.0.1", server.port()))
            .map_err(|error| format!("connection {number}: {error}"))?;
        connections.push(stream);
        if number % 500 == 0 {
            // Accepted, not only queued by the kernel.
            control.ping()?;
        }
    }
    await_clients(&mut control, args.connections)?;
    std::thread::sleep(SETTLE);
    let silent = server.memory()?;

    for stream in &mut connections {
        talk(stream)?;
    }
    std::thread::sleep(SETTLE);
    let spoken = server.memory()?;
    control.ping()?;

    let per = |after: u64, before: u64| after.saturating_sub(before) as f64 / args.connections as f64;
    let mut table = Table::new(&["idle connections", "resident bytes each", "private bytes each"]);
    for (name, after) in [("after connecting", silent), ("after one SET and GET each", spoken)] {
        table.row([
            format!("{} {name}", args.connections),
            format!("{:.0}", per(after.rss, before.rss)),
            format!("{:.0}", per(after.private, before.private)),
        ]);
    }
    println!("{}", table.render());
    Ok(vec![
        Check::at_most(
            "idle connection that never spoke",
            per(silent.rss, before.rss),
            TARGET_BYTES,
            "bytes",
        ),
        Check::at_most("idle connection that has spoken", per(spoken.rss, before.rss), TARGET_BYTES, "bytes"),
    ])
}

/// One write and one read: whatever is allocated at the first command is there now.
fn talk(stream: &mut std::net::TcpStream) -> Result<()> {
    use std::io::{Read, Write};
    let mut out = Vec::new();
    append_command(&mut out, &[b"SET", b"idle", b"x"]);
    append_command(&mut out, &[b"GET", b"idle"]);
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(&out)?;
    let mut reply = [0; 12];
    stream.read_exact(&mut reply)?;
    if &reply != b"+OK\r\n$1\r\nx\r\n" {
        return Err(format!("an idle connection was told '{}'", reply.escape_ascii()).into());
    }
    Ok(())
}

fn await_clients(control: &mut crate::client::Client, connections: u64) -> Result<()> {
    for _ in 0..300 {
        let reply = control.call(&[b"INFO", b"clients"])?;
        let Reply::Bulk(Some(text)) = &reply else {
            return Err(format!("INFO clients: {}", show(&reply)).into());
        };
        let connected = std::str::from_utf8(text)?
            .lines()
            .find_map(|line| line.strip_prefix("connected_clients:")?.trim().parse::<u64>().ok())
            .unwrap_or(0);
        if connected > connections {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("the server did not accept all connections".into())
}
