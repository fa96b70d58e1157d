//! HOTKEYS: which keys cost most.

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, SessionFn, Spec, container, session};
use crate::encoding::slot::SLOTS;
use crate::error::{Error, Result};
use crate::hotkeys::{Hot, State, Wanted};
use crate::metrics::process::{self, Whose};
use crate::reply::Reply;

const DEFAULT_COUNT: usize = 10;
const MAX_COUNT: i64 = 64;

const fn about(name: &'static str, arity: Arity, run: SessionFn) -> Spec {
    session(name, arity, run)
        .group(Group::Server)
        .flags(Flags::ADMIN.or(Flags::NOSCRIPT))
        .since("8.6.0")
        .complexity("O(1)")
}

pub const COMMANDS: &[Spec] = &[container("hotkeys", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Server)
    .since("8.6.0")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands that find the keys that cost most.")];

const SUBCOMMANDS: &[Spec] = &[
    about("get", Arity::Exactly(2), get)
        .tips(&["nondeterministic_output"])
        .complexity("O(K) where K is the number of keys that are shown.")
        .summary("Shows the keys that have cost most."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Server)
        .flags(Flags::LOADING.or(Flags::STALE))
        .since("8.6.1")
        .complexity("O(1)")
        .summary("Lists the subcommands."),
    about("reset", Arity::Exactly(2), reset).summary("Forgets what was found."),
    about("start", Arity::AtLeast(2), start).summary("Begins to sum up what keys cost."),
    about("stop", Arity::Exactly(2), stop).summary("Ends that; what was found is kept."),
];

/// What the process has used so far: user and system time in milliseconds, and bytes of the network.
fn used(cx: &SessionCx<'_>) -> (u64, u64, u64) {
    let ms = |secs: f64| (secs * 1_000.0) as u64;
    let cpu = process::cpu(Whose::Process);
    let bytes = cx.node.metrics.sum(|thread| thread.net_in_bytes.get() + thread.net_out_bytes.get());
    (ms(cpu.user_secs), ms(cpu.system_secs), bytes)
}

fn start(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let wanted = wanted(cx, args)?;
    let before = used(cx);
    match cx.node.hotkeys.start(wanted, cx.now_ms, before) {
        true => Ok(Reply::OK.into()),
        false => Err(Error::reply("ERR hotkey tracking session already in progress").into()),
    }
}

fn wanted(cx: &SessionCx<'_>, mut args: Args<'_>) -> Result<Wanted> {
    let refused = |words: &'static str| Error::reply(words);
    let mut wanted =
        Wanted { cpu: false, net: false, count: DEFAULT_COUNT, sample: 1, until_ms: None, slots: Vec::new() };
    if !args.keyword("METRICS") {
        return Err(refused("ERR METRICS parameter is required").into());
    }
    let metrics = usize::try_from(args.int()?).ok().filter(|count| (1..=2).contains(count));
    let metrics = metrics.ok_or_else(|| refused("ERR METRICS count must be between 1 and 2"))?;
    for _ in 0..metrics {
        let Ok(word) = args.next() else {
            return Err(refused("ERR METRICS count does not match number of metric types provided").into());
        };
        let (twice, asked) = match word.to_ascii_uppercase().as_slice() {
            b"CPU" => ("ERR METRICS CPU defined more than once", &mut wanted.cpu),
            b"NET" => ("ERR METRICS NET defined more than once", &mut wanted.net),
            // What is not known yet may be known to others.
            _ => continue,
        };
        if std::mem::replace(asked, true) {
            return Err(refused(twice).into());
        }
    }
    if !wanted.cpu && !wanted.net {
        return Err(refused("ERR METRICS no valid metrics passed (supported: CPU, NET)").into());
    }
    while !args.is_empty() {
        let has_value = args.left() > 1;
        if has_value && args.keyword("COUNT") {
            let count = Some(args.int()?).filter(|count| (1..=MAX_COUNT).contains(count));
            wanted.count = count.ok_or_else(|| refused("ERR COUNT must be between 1 and 64"))? as usize;
        } else if has_value && args.keyword("DURATION") {
            let secs = u64::try_from(args.int()?);
            let secs = secs.map_err(|_| refused("ERR DURATION must be a non-negative integer"))?;
            wanted.until_ms = (secs > 0).then(|| cx.now_ms.saturating_add(secs.saturating_mul(1_000)));
        } else if has_value && args.keyword("SAMPLE") {
            let ratio = u32::try_from(args.int()?).ok().filter(|ratio| *ratio > 0);
            wanted.sample = ratio.ok_or_else(|| refused("ERR SAMPLE ratio must be positive"))?;
        } else if has_value && args.keyword("SLOTS") {
            if !cx.node.cluster_enabled {
                return Err(refused("ERR SLOTS parameter cannot be used in non-cluster mode").into());
            }
            wanted.slots = slots(&mut args)?;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    Ok(wanted)
}

fn slots(args: &mut Args<'_>) -> Result<Vec<u16>> {
    let count = usize::try_from(args.int()?).ok().filter(|count| (1..=SLOTS as usize).contains(count));
    let count = count.ok_or_else(|| Error::reply("ERR SLOTS count must be between 1 and 16384"))?;
    let mut slots = Vec::new();
    for _ in 0..count.min(args.left()) {
        let slot = u16::try_from(args.int()?).ok().filter(|slot| *slot < SLOTS);
        slots.push(slot.ok_or_else(|| Error::reply("ERR Invalid or out of range slot"))?);
    }
    if slots.len() != count {
        return Err(Error::reply("ERR not enough slot numbers provided").into());
    }
    slots.sort_unstable();
    slots.dedup();
    Ok(slots)
}

fn stop(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let after = used(cx);
    Ok(if cx.node.hotkeys.stop(cx.now_ms, after) { Reply::OK } else { Reply::Nil }.into())
}

fn reset(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    match cx.node.hotkeys.reset(cx.now_ms) {
        true => Ok(Reply::OK.into()),
        false => Err(Error::reply("ERR hotkey tracking session in progress, stop tracking first").into()),
    }
}

fn get(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let Some(state) = cx.node.hotkeys.get() else { return Ok(Reply::Nil.into()) };
    let after = state.after.unwrap_or_else(|| used(cx));
    Ok(Reply::Array(vec![Reply::Map(shown(&state, cx.now_ms, after))]).into())
}

fn shown(state: &State, now_ms: u64, after: (u64, u64, u64)) -> Vec<(Reply, Reply)> {
    let number = |name: &'static str, number: u64| (Reply::text(name), Reply::Integer(number as i64));
    let wanted = &state.wanted;
    let is_sampled = wanted.sample > 1;
    let ranges = state.slot_ranges().into_iter().map(|(first, last)| {
        let ends = if first == last { vec![first] } else { vec![first, last] };
        Reply::Array(ends.into_iter().map(|slot| Reply::Integer(slot.into())).collect())
    });
    let mut map = vec![
        number("tracking-active", state.runs(now_ms).into()),
        number("sample-ratio", wanted.sample.into()),
        (Reply::text("selected-slots"), Reply::Array(ranges.collect())),
    ];
    if !wanted.slots.is_empty() {
        if is_sampled {
            map.push(number("sampled-commands-selected-slots-us", state.sampled().micros));
        }
        map.push(number("all-commands-selected-slots-us", state.selected().micros));
    }
    map.push(number("all-commands-all-slots-us", state.all().micros));
    if !wanted.slots.is_empty() {
        if is_sampled {
            map.push(number("net-bytes-sampled-commands-selected-slots", state.sampled().bytes));
        }
        map.push(number("net-bytes-all-commands-selected-slots", state.selected().bytes));
    }
    map.push(number("net-bytes-all-commands-all-slots", state.all().bytes));
    map.push(number("collection-start-time-unix-ms", state.started_ms));
    let duration_ms = state.end_ms(now_ms).saturating_sub(state.started_ms);
    map.push(number("collection-duration-ms", duration_ms));
    let hottest = |hot: Vec<Hot>| {
        let pairs = hot.into_iter().flat_map(|(key, cost)| [Reply::bulk(key), Reply::Integer(cost as i64)]);
        Reply::Array(pairs.collect())
    };
    let since = |of: fn(&(u64, u64, u64)) -> u64| of(&after).saturating_sub(of(&state.before));
    if wanted.cpu {
        map.push(number("total-cpu-time-user-ms", since(|used| used.0)));
        map.push(number("total-cpu-time-sys-ms", since(|used| used.1)));
    }
    if wanted.net {
        map.push(number("total-net-bytes", since(|used| used.2)));
    }
    if wanted.cpu {
        map.push((Reply::text("by-cpu-time-us"), hottest(state.hottest(|cost| cost.micros))));
    }
    if wanted.net {
        map.push((Reply::text("by-net-bytes"), hottest(state.hottest(|cost| cost.bytes))));
    }
    map
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "HOTKEYS <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "GET",
            "    The keys that have cost most, and what all have cost.",
            "RESET",
            "    Forgets them.",
            "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
            "    [SLOTS <count> <slot> [<slot> ...]]",
            "    Begins to sum up what keys cost in time, in bytes of the network, or both.",
            "STOP",
            "    Ends that.",
        ],
    ))
}

#[cfg(test)]
mod tests {
    use crate::testkit::Kit;

    #[test]
    fn what_is_wanted_is_checked() {
        let mut kit = Kit::new();
        for (words, refusal) in [
            ("", "METRICS parameter is required"),
            ("METRICS 0", "METRICS count must be between 1 and 2"),
            ("METRICS 3 CPU NET", "METRICS count must be between 1 and 2"),
            ("METRICS x CPU", "value is not an integer or out of range"),
            ("METRICS 2 CPU", "METRICS count does not match number of metric types provided"),
            ("METRICS 1 CPU NET", "syntax error"),
            ("METRICS 1 GPU", "METRICS no valid metrics passed (supported: CPU, NET)"),
            ("METRICS 2 CPU CPU", "METRICS CPU defined more than once"),
            ("METRICS 1 CPU COUNT 0", "COUNT must be between 1 and 64"),
            ("METRICS 1 CPU COUNT 65", "COUNT must be between 1 and 64"),
            ("METRICS 1 CPU SAMPLE 0", "SAMPLE ratio must be positive"),
            ("METRICS 1 CPU DURATION -1", "DURATION must be a non-negative integer"),
            ("METRICS 1 CPU SLOTS 2 0 5", "SLOTS parameter cannot be used in non-cluster mode"),
            ("METRICS 1 CPU COUNT", "syntax error"),
        ] {
            assert_eq!(kit.run(format!("HOTKEYS START {words}").trim_end()), format!("-ERR {refusal}"));
        }
        assert_eq!(kit.run("HOTKEYS GET | HOTKEYS STOP | HOTKEYS RESET"), "nil | nil | +OK");
        let running = "-ERR hotkey tracking session";
        assert_eq!(
            kit.run("HOTKEYS START METRICS 2 GPU cpu COUNT 64 SAMPLE 7 | HOTKEYS START METRICS 1 NET | HOTKEYS RESET"),
            format!("+OK | {running} already in progress | {running} in progress, stop tracking first")
        );
        assert_eq!(kit.run("HOTKEYS STOP | HOTKEYS STOP"), "+OK | +OK");
        let shown = kit.run("HOTKEYS GET");
        for field in
            ["\"tracking-active\" :0 \"sample-ratio\" :7 \"selected-slots\" [[:0 :16383]]", "by-cpu-time-us"]
        {
            assert!(shown.contains(field), "{shown}");
        }
        assert!(!shown.contains("by-net-bytes") && !shown.contains("selected-slots-us"), "{shown}");
        assert_eq!(kit.run("HOTKEYS RESET | HOTKEYS GET"), "+OK | nil");
    }
}
