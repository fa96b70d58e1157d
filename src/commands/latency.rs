//! LATENCY: spikes, and how long each command takes.

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::registry::{Registered, registry};
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, container, session};
use crate::error::{Error, Result};
use crate::metrics::CommandTotals;
use crate::metrics::latency::Sample;
use crate::reply::Reply;

const ANYTIME: Flags = Flags::LOADING.or(Flags::STALE);
const ADMIN: Flags = ANYTIME.or(Flags::ADMIN).or(Flags::NOSCRIPT);
const SPECIAL: &[&str] = &["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"];

/// Rows and columns of GRAPH.
const GRAPH_ROWS: usize = 4;
const GRAPH_COLUMNS: usize = 80;

pub const COMMANDS: &[Spec] = &[container("latency", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Server)
    .since("2.8.13")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands about latency.")];

const fn sub(
    name: &'static str,
    arity: Arity,
    run: fn(&mut SessionCx<'_>, Args<'_>) -> Result<Answer>,
) -> Spec {
    session(name, arity, run)
        .group(Group::Server)
        .since("2.8.13")
        .flags(ADMIN)
        .complexity("O(1)")
        .tips(SPECIAL)
}

const SUBCOMMANDS: &[Spec] = &[
    sub("latest", Arity::Exactly(2), latest).summary("Shows the latest spike of each event."),
    sub("history", Arity::Exactly(3), history).summary("Shows the spikes of one event."),
    sub("reset", Arity::AtLeast(2), reset)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .summary("Forgets the spikes of some events, or of all."),
    sub("graph", Arity::Exactly(3), graph).summary("Draws the spikes of one event."),
    sub("doctor", Arity::Exactly(2), doctor).summary("Reports on the spikes in words."),
    sub("histogram", Arity::AtLeast(2), histogram)
        .since("7.0.0")
        .complexity("O(N) where N is the number of commands with latency information being retrieved.")
        .summary("Shows how long commands took, as a cumulative distribution."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Server)
        .since("2.8.13")
        .flags(ANYTIME)
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

fn latest(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let entries = cx.node.metrics.spikes.latest().into_iter().map(|latest| {
        Reply::Array(vec![
            Reply::text(latest.event),
            Reply::Integer(latest.sample.at_secs as i64),
            Reply::Integer(latest.sample.millis as i64),
            Reply::Integer(latest.max_ms as i64),
        ])
    });
    Ok(Reply::Array(entries.collect()).into())
}

fn history(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let samples = cx.node.metrics.spikes.history(args.next()?).into_iter().map(|sample| {
        Reply::Array(vec![Reply::Integer(sample.at_secs as i64), Reply::Integer(sample.millis as i64)])
    });
    Ok(Reply::Array(samples.collect()).into())
}

fn reset(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let spikes = &cx.node.metrics.spikes;
    let forgotten = match args.is_empty() {
        true => spikes.forget_all(),
        false => args.rest().filter(|event| spikes.forget(event)).count(),
    };
    Ok(Reply::Integer(forgotten as i64).into())
}

fn graph(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let event = args.next()?;
    let samples = cx.node.metrics.spikes.history(event);
    if samples.is_empty() {
        return Err(Error::about("ERR No samples available for event '", event, "'").into());
    }
    let name = crate::error::shown(event);
    Ok(Reply::Verbatim(b"txt", draw(&name, &samples, cx.now_ms / 1000).into_bytes()).into())
}

/// A column per spike, and below it how long ago it was.
fn draw(event: &str, samples: &[Sample], now_secs: u64) -> String {
    let shown = samples.get(samples.len().saturating_sub(GRAPH_COLUMNS)..).unwrap_or(samples);
    let (low, high) =
        shown.iter().fold((u64::MAX, 0), |(low, high), s| (low.min(s.millis), high.max(s.millis)));
    let mut text = format!("{event} - high {high} ms, low {low} ms\n{}\n", "-".repeat(GRAPH_COLUMNS));
    let height = |sample: &Sample| match high - low {
        0 => GRAPH_ROWS - 1,
        span => ((sample.millis - low) as usize * (GRAPH_ROWS - 1)) / span as usize,
    };
    for row in (0..GRAPH_ROWS).rev() {
        let marks = shown.iter().map(|sample| match height(sample) {
            top if top == row => '#',
            top if top > row => '|',
            _ => {
                if row == 0 {
                    '_'
                } else {
                    ' '
                }
            }
        });
        text.extend(marks);
        text.push('\n');
    }
    let ages: Vec<String> = shown.iter().map(|sample| age(now_secs.saturating_sub(sample.at_secs))).collect();
    for line in 0..ages.iter().map(String::len).max().unwrap_or(0) {
        text.push('\n');
        text.extend(ages.iter().map(|age| age.chars().nth(line).unwrap_or(' ')));
    }
    text.push('\n');
    text
}

fn age(secs: u64) -> String {
    match secs {
        0..60 => format!("{secs}s"),
        60..3_600 => format!("{}m", secs / 60),
        3_600..86_400 => format!("{}h", secs / 3_600),
        _ => format!("{}d", secs / 86_400),
    }
}

fn doctor(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let threshold = cx.node.config.current().latency_monitor_threshold_millis;
    let latest = cx.node.metrics.spikes.latest();
    let mut text = String::new();
    if threshold == 0 && latest.is_empty() {
        text.push_str(
            "Latency is not watched: CONFIG SET latency-monitor-threshold <milliseconds> makes the server note what takes \
             longer.\n",
        );
    } else if latest.is_empty() {
        text.push_str(&format!("Nothing took longer than {threshold} ms.\n"));
    }
    for event in latest {
        let samples = cx.node.metrics.spikes.history(event.event.as_bytes());
        let average = samples.iter().map(|sample| sample.millis).sum::<u64>() / samples.len().max(1) as u64;
        text.push_str(&format!(
            "{}: {} spikes, {average} ms on average, {} ms at worst. SLOWLOG GET shows single commands.\n",
            event.event,
            samples.len(),
            event.max_ms
        ));
    }
    Ok(Reply::Verbatim(b"txt", text.into_bytes()).into())
}

fn histogram(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let totals = cx.node.metrics.commands();
    let named: Vec<&'static Registered> = match args.is_empty() {
        true => registry().all().collect(),
        false => args.rest().flat_map(with_subcommands).collect(),
    };
    let rows = named.into_iter().filter_map(|command| {
        let totals = totals.get(command.id).filter(|totals| totals.calls > 0)?;
        Some((Reply::Bulk(command.full_name.as_str().into()), distribution(totals)))
    });
    Ok(Reply::Map(rows.collect()).into())
}

/// A container stands for its subcommands.
fn with_subcommands(name: &[u8]) -> Vec<&'static Registered> {
    let command = registry().named(name);
    command.into_iter().flat_map(|command| std::iter::once(command).chain(&command.subcommands)).collect()
}

/// Calls that took less than each power of two of a microsecond, from the first to the last that had any.
fn distribution(totals: &CommandTotals) -> Reply {
    let mut sum = 0;
    let mut rows = Vec::new();
    for (bucket, count) in totals.latency.iter().enumerate() {
        if *count > 0 {
            sum += count;
            rows.push((Reply::Integer(1 << bucket), Reply::Integer(sum as i64)));
        }
    }
    Reply::Map(vec![
        (Reply::text("calls"), Reply::Integer(totals.calls as i64)),
        (Reply::text("histogram_usec"), Reply::Map(rows)),
    ])
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "DOCTOR",
            "    A report in words.",
            "GRAPH <event>",
            "    A drawing of an event's spikes.",
            "HISTORY <event>",
            "    An event's spikes: times and milliseconds.",
            "LATEST",
            "    The latest spike of each event.",
            "RESET [<event> ...]",
            "    Forgets events, all if none is named.",
            "HISTOGRAM [<command> ...]",
            "    How long commands took, all if none is named.",
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn spikes_are_shown_and_forgotten() {
        let mut kit = Kit::new();
        assert_eq!(kit.run("LATENCY LATEST | LATENCY HISTORY command"), "[] | []");
        kit.node.metrics.spikes.add("command", 100, 7);
        kit.node.metrics.spikes.add("command", 101, 3);
        assert_eq!(kit.run("LATENCY LATEST"), "[[\"command\" :101 :3 :7]]");
        assert_eq!(kit.run("LATENCY HISTORY command"), "[[:100 :7] [:101 :3]]");
        assert!(kit.run("LATENCY DOCTOR").contains("command: 2 spikes, 5 ms on average, 7 ms at worst."));
        assert_eq!(kit.run("LATENCY RESET nosuch command command | LATENCY RESET"), ":1 | :0");
        assert_eq!(kit.run("LATENCY GRAPH command"), "-ERR No samples available for event 'command'");
    }

    #[test]
    fn a_graph_has_a_column_per_spike() {
        let samples: Vec<Sample> =
            (0..3).map(|i| Sample { at_secs: 1_000 - 50 * i, millis: 10 * i }).collect();
        let drawn = draw("command", &samples, 1_000);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "command - high 20 ms, low 0 ms");
        assert_eq!(lines[2..6], ["  #", "  |", " #|", "#||"]);
        assert_eq!(lines[7..9], ["051", "s0m"]);
    }

    #[test]
    fn a_histogram_adds_up() {
        let mut kit = Kit::new();
        let echo = registry().find(b"echo").unwrap().id;
        let counters = kit.executor.counters.command(echo).unwrap();
        for micros in [0, 1, 5, 6, 1_000] {
            counters.took(micros * 1_000);
        }
        assert_eq!(
            kit.run("LATENCY HISTOGRAM echo nosuch time"),
            "[\"echo\" [\"calls\" :5 \"histogram_usec\" [:1 :1 :2 :2 :8 :4 :1024 :5]]]"
        );
    }
}
