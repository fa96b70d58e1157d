//! A bounded cache on disk: constant writes of new keys under `maxdisk` with allkeys-lru. What is on the disk stays within the limit, and
//! what is read stays there.

use std::time::{Duration, Instant};

use crate::Result;
use crate::args::Args;
use crate::client::{Client, Reply, show};
use crate::load;
use crate::report::{Check, Table, mebibytes};
use crate::server::Server;

const LIMIT: &str = "512mb";
const LIMIT_MIB: f64 = 512.0;
/// Files of a compaction exist twice for a moment, and writes wait a tenth above the limit.
const DISK_TARGET: f64 = 1.25;
const VALUE_BYTES: usize = 1_000;
/// Keys that are read all the time.
const HOT: u64 = 1_000;
/// The least part of them that must be there at the end.
const HOT_TARGET: f64 = 0.9;
/// Writes of one pipeline; behind each, some hot keys are read.
const BATCH: u64 = 200;
const READS: u64 = 20;
const LOOK: Duration = Duration::from_millis(500);
/// Rows of the table.
const ROWS: u32 = 12;

pub fn run(args: &Args) -> Result<Vec<Check>> {
    let seconds = if args.quick { args.seconds.min(20) } else { args.seconds };
    let time = Duration::from_secs(seconds);
    let options = ["--maxdisk", LIMIT, "--maxmemory-policy", "allkeys-lru", "--maxmemory", "256mb"];
    let server = Server::under_test(args, &options)?;
    let mut client = server.client()?;
    load::fill(&mut client, HOT, 0, VALUE_BYTES)?;
    let mut table = Table::new(&["after", "written", "on the disk", "RSS", "keys", "evicted"]);
    let (mut next, mut refused, mut peak) = (HOT, 0_u64, 0_u64);
    let began = Instant::now();
    let (mut looked, mut row) = (began, began);
    while began.elapsed() < time {
        refused += turn(&mut client, next)?;
        next += BATCH;
        if looked.elapsed() > LOOK {
            looked = Instant::now();
            peak = peak.max(info(&mut client, "disk_bytes")?);
        }
        if row.elapsed() > time / ROWS {
            row = Instant::now();
            let written = (next - HOT - refused) * VALUE_BYTES as u64;
            table.row([
                format!("{} s", began.elapsed().as_secs()),
                format!("{:.0} MiB", mebibytes(written)),
                format!("{:.0} MiB", mebibytes(info(&mut client, "disk_bytes")?)),
                format!("{:.0} MiB", mebibytes(server.memory()?.rss)),
                number(&mut client, "DBSIZE")?.to_string(),
                info(&mut client, "evicted_keys")?.to_string(),
            ]);
        }
    }
    println!("{}", table.render());
    println!(
        "\nValues of {VALUE_BYTES} bytes that do not compress, maxdisk {LIMIT}, allkeys-lru, one client for {seconds} s; {refused} of {} writes were \
         refused for the moment.",
        next - HOT
    );
    let kept = kept(&mut client)?;
    let name = "a cache on disk";
    Ok(vec![
        Check::at_most(
            format!("{name}: peak of the disk, of its limit"),
            mebibytes(peak) / LIMIT_MIB,
            DISK_TARGET,
            "",
        ),
        Check::at_least(
            format!("{name}: written, of its limit"),
            mebibytes((next - refused) * 1_000) / LIMIT_MIB,
            1.5,
        ),
        Check::at_least(format!("{name}: part of the keys in use that are there"), kept, HOT_TARGET),
    ])
}

/// Writes new keys and reads hot ones. How many writes were refused.
fn turn(client: &mut Client, next: u64) -> Result<u64> {
    for index in next..next + BATCH {
        client.queue(&[b"SET", &load::key(index), &load::value(index, 0, VALUE_BYTES)]);
    }
    let first = next / BATCH * READS;
    for index in first..first + READS {
        client.queue(&[b"GET", &load::key(index % HOT)]);
    }
    client.send()?;
    let mut refused = 0;
    for _ in 0..BATCH {
        match client.reply()? {
            Reply::Simple(_) => {}
            Reply::Error(words) if words.starts_with(b"OOM") => refused += 1,
            other => return Err(show(&other).into()),
        }
    }
    (0..READS).try_for_each(|_| client.reply().map(drop))?;
    if refused > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(refused)
}

fn kept(client: &mut Client) -> Result<f64> {
    let mut there = 0_u32;
    for index in 0..HOT {
        there += u32::from(matches!(client.call(&[b"GET", &load::key(index)])?, Reply::Bulk(Some(_))));
    }
    Ok(f64::from(there) / HOT as f64)
}

fn number(client: &mut Client, command: &str) -> Result<i64> {
    match client.call(&[command.as_bytes()])? {
        Reply::Integer(number) => Ok(number),
        other => Err(show(&other).into()),
    }
}

fn info(client: &mut Client, field: &str) -> Result<u64> {
    let Reply::Bulk(Some(text)) = client.call(&[b"INFO", b"everything"])? else {
        return Err("INFO is no text".into());
    };
    let text = std::str::from_utf8(&text)?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.ok_or_else(|| format!("INFO has no {field}"))?.trim().parse()?)
}
