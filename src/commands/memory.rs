//! MEMORY: where memory goes.

use std::ops::ControlFlow;

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, KeyFlags, Keys, Spec, container, read, session};
use crate::encoding::meta::Body;
use crate::error::{Error, Result};
use crate::keyspace::kind::Elements;
use crate::keyspace::{Env, ReadCx, entry};
use crate::metrics::process;
use crate::node::Node;
use crate::reply::Reply;
use crate::types::collection::Collection;

const SPECIAL: &[&str] = &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];

/// What a row costs in memory beyond its own bytes: its place in a table or cache.
const ROW_OVERHEAD_BYTES: usize = 48;

/// Elements of a collection that USAGE looks at unless told otherwise.
const DEFAULT_SAMPLES: u64 = 5;

pub const COMMANDS: &[Spec] = &[container("memory", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Server)
    .since("4.0.0")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands about memory.")];

const SUBCOMMANDS: &[Spec] = &[
    read("usage", Arity::AtLeast(3), Keys::at(2, KeyFlags::RO), usage)
        .group(Group::Server)
        .since("4.0.0")
        .complexity("O(N) where N is the number of samples.")
        .summary("Estimates the bytes that a key takes."),
    session("stats", Arity::Exactly(2), stats)
        .group(Group::Server)
        .since("4.0.0")
        .tips(SPECIAL)
        .complexity("O(1)")
        .summary("Shows how the memory of the process is used."),
    session("doctor", Arity::Exactly(2), doctor)
        .group(Group::Server)
        .since("4.0.0")
        .tips(SPECIAL)
        .complexity("O(1)")
        .summary("Reports on the use of memory in words."),
    session("malloc-stats", Arity::Exactly(2), malloc_stats)
        .group(Group::Server)
        .since("4.0.0")
        .tips(SPECIAL)
        .complexity("Depends on how much memory is allocated, could be slow")
        .summary("Shows what the allocator says about itself."),
    session("purge", Arity::Exactly(2), purge)
        .group(Group::Server)
        .since("4.0.0")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .complexity("Depends on how much memory is allocated, could be slow")
        .summary("Asks the allocator to give unused memory back."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Server)
        .since("4.0.0")
        .flags(Flags::LOADING.or(Flags::STALE))
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

fn usage(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let mut samples = DEFAULT_SAMPLES;
    while !args.is_empty() {
        if args.left() < 2 || !args.keyword("samples") {
            return Err(Error::Syntax.into());
        }
        samples = u64::try_from(args.int()?).map_err(|_| Error::Syntax)?;
    }
    Ok(estimate(cx, key, samples)?.map_or(Reply::Nil, |bytes| Reply::Integer(bytes as i64)))
}

/// What a key takes, reckoned from so many of its elements. None where there is no such key.
pub fn estimate(cx: &mut ReadCx<'_>, key: &[u8], samples: u64) -> Result<Option<u64>> {
    let found = entry::find(cx, key)?;
    let Some(meta) = found.live().copied() else { return Ok(None) };
    let kind = meta.header.kind;
    let rows = match (kind.info().elements, meta.header.body) {
        (_, Body::Inline) => 0,
        // The length of a string is on record: there is nothing to sample.
        (Elements::Bytes, Body::Rows { size, .. }) => size,
        (_, Body::Rows { .. }) => match Collection::of(cx, found, kind)? {
            Some(all) => elements(cx, &all, samples)?,
            None => 0,
        },
    };
    let own = ROW_OVERHEAD_BYTES + key.len() + meta.header.encode().as_slice().len() + meta.rest.len;
    Ok(Some(own as u64 + rows))
}

/// What the elements of a collection take, reckoned from the first few, or from all of them if `samples` is 0.
fn elements(cx: &ReadCx<'_>, all: &Collection<'_>, samples: u64) -> Result<u64> {
    let samples = if samples == 0 { all.size() } else { samples.min(all.size()) };
    let limit = usize::try_from(samples).unwrap_or(usize::MAX);
    cx.env.move_if_heavy(limit, Env::IO_THREAD_MAX_ROWS)?;
    let (start, end) = all.bounds();
    let (mut seen, mut bytes) = (0_u64, 0);
    all.each_between(cx, &start, &end, limit, &mut |element| {
        seen += 1;
        bytes += (ROW_OVERHEAD_BYTES + start.len() + element.sub.len() + element.value.len()) as u64;
        ControlFlow::Continue(())
    })?;
    Ok((u128::from(bytes) * u128::from(all.size()) / u128::from(seen.max(1))) as u64)
}

/// Numbers of Redis that have a meaning here, then those of the engine.
fn stats(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Worker(Box::new(|node| Ok(Reply::Map(stats_rows(node))))))
}

fn stats_rows(node: &Node) -> Vec<(Reply, Reply)> {
    node.metrics.sample(std::time::Instant::now());
    let (heap, rss, engine) = (process::allocator(), process::rss_bytes(), node.engine.stats());
    let peak = node.metrics.peak_allocated_bytes().max(heap.allocated_bytes);
    let buffers =
        node.clients.list().iter().map(|client| client.query_bytes() + client.reply_bytes()).sum::<usize>();
    let number = |name: &'static str, n: u64| (Reply::text(name), Reply::Integer(n as i64));
    let ratio =
        |name: &'static str, a: u64, b: u64| (Reply::text(name), Reply::Double(a as f64 / b.max(1) as f64));
    vec![
        number("peak.allocated", peak),
        number("total.allocated", heap.allocated_bytes),
        number("clients.normal", buffers as u64),
        number("maxmemory", node.config.current().memory().total_bytes),
        number("engine.dirty.bytes", engine.dirty_bytes),
        number("engine.row-cache.bytes", engine.row_cache_bytes),
        number("engine.block-cache.bytes", engine.block_cache_bytes),
        number("engine.table-readers.bytes", engine.table_reader_bytes),
        number("engine.memtables.bytes", engine.memtable_bytes),
        ratio("peak.percentage", heap.allocated_bytes * 100, peak),
        number("allocator.allocated", heap.allocated_bytes),
        number("allocator.active", heap.active_bytes),
        number("allocator.resident", heap.resident_bytes),
        ratio("allocator-fragmentation.ratio", heap.active_bytes, heap.allocated_bytes),
        number("allocator-fragmentation.bytes", heap.active_bytes.saturating_sub(heap.allocated_bytes)),
        ratio("allocator-rss.ratio", heap.resident_bytes, heap.active_bytes),
        number("allocator-rss.bytes", heap.resident_bytes.saturating_sub(heap.active_bytes)),
        ratio("fragmentation", rss, heap.allocated_bytes),
        number("fragmentation.bytes", rss.saturating_sub(heap.allocated_bytes)),
    ]
}

fn doctor(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Worker(Box::new(|node| {
        let (rss, budget) = (process::rss_bytes(), node.config.current().memory().total_bytes);
        let percent = rss.saturating_mul(100) / budget.max(1);
        let verdict = match percent {
            0..=100 => "That is within the budget.",
            _ => "That is more than the budget: lower maxmemory or give the process more memory.",
        };
        let text = format!("{rss} of {budget} bytes are in use ({percent} %). {verdict}\n");
        Ok(Reply::Verbatim(b"txt", text.into_bytes()))
    })))
}

fn malloc_stats(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Worker(Box::new(|_| Ok(Reply::Verbatim(b"txt", process::allocator_report())))))
}

fn purge(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Answer::Worker(Box::new(|_| match process::purge() {
        true => Ok(Reply::OK),
        false => Err(Error::reply("ERR Error purging dirty pages").into()),
    })))
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "DOCTOR",
            "    A report in words.",
            "MALLOC-STATS",
            "    What the allocator says about itself.",
            "PURGE",
            "    Gives unused memory back.",
            "STATS",
            "    How the memory of the process is used.",
            "USAGE <key> [SAMPLES <count>]",
            "    An estimate of the bytes that a key takes.",
        ],
    ))
}

#[cfg(test)]
mod tests {
    use crate::testkit::Kit;

    #[test]
    fn usage_reads_its_options_first() {
        let mut kit = Kit::new();
        assert_eq!(kit.run("MEMORY USAGE missing | MEMORY USAGE missing SAMPLES 0"), "nil | nil");
        for wrong in ["SAMPLES", "SAMPLES -1", "FOO 1", "SAMPLES 1 2"] {
            assert_eq!(kit.run(&format!("MEMORY USAGE k {wrong}")), "-ERR syntax error", "{wrong}");
        }
        assert_eq!(kit.run("MEMORY USAGE k SAMPLES x"), "-ERR value is not an integer or out of range");
    }

    #[test]
    fn reports_are_made_by_workers() {
        let mut kit = Kit::new();
        for (line, part) in [
            ("MEMORY STATS", "\"total.allocated\""),
            ("MEMORY DOCTOR", "bytes are in use"),
            ("MEMORY MALLOC-STATS", "jemalloc"),
            ("MEMORY PURGE", "+OK"),
        ] {
            let reply = kit.run(line);
            assert!(reply.contains(part), "{line}: {reply}");
            assert!(kit.moved, "{line}");
        }
    }
}
