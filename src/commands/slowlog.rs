//! SLOWLOG: commands that took long. COMMANDLOG: those, and large ones.

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, container, session};
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::metrics::slowlog::{Slow, Slowlog};
use crate::number;
use crate::reply::Reply;

/// Entries that GET shows unless told otherwise.
const DEFAULT_COUNT: usize = 10;

const ANYTIME: Flags = Flags::LOADING.or(Flags::STALE);
const ADMIN: Flags = ANYTIME.or(Flags::ADMIN);

pub const COMMANDS: &[Spec] = &[
    container("slowlog", Arity::AtLeast(2), SUBCOMMANDS)
        .group(Group::Server)
        .since("2.2.12")
        .complexity("Depends on subcommand.")
        .summary("Groups the commands about the log of slow commands."),
    container("commandlog", Arity::AtLeast(2), BY_TYPE)
        .group(Group::Server)
        .since("Valkey 8.1.0")
        .complexity("Depends on subcommand.")
        .summary("Groups the commands about the logs of slow and of large commands."),
];

const SUBCOMMANDS: &[Spec] = &[
    session("get", Arity::AtLeast(2), get)
        .group(Group::Server)
        .since("2.2.12")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "nondeterministic_output"])
        .complexity("O(N) where N is the number of entries returned")
        .summary("Shows the latest entries of the log of slow commands."),
    session("len", Arity::Exactly(2), len)
        .group(Group::Server)
        .since("2.2.12")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"])
        .complexity("O(1)")
        .summary("Answers how many entries the log of slow commands has."),
    session("reset", Arity::Exactly(2), reset)
        .group(Group::Server)
        .since("2.2.12")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .complexity("O(N) where N is the number of entries in the slowlog")
        .summary("Empties the log of slow commands."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Server)
        .since("6.2.0")
        .flags(ANYTIME)
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

const BY_TYPE: &[Spec] = &[
    session("get", Arity::Exactly(4), get_of)
        .group(Group::Server)
        .since("Valkey 8.1.0")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "nondeterministic_output"])
        .complexity("O(N) where N is the number of entries returned")
        .summary("Shows the latest entries of a log."),
    session("len", Arity::Exactly(3), len_of)
        .group(Group::Server)
        .since("Valkey 8.1.0")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"])
        .complexity("O(1)")
        .summary("Answers how many entries a log has."),
    session("reset", Arity::Exactly(3), reset_of)
        .group(Group::Server)
        .since("Valkey 8.1.0")
        .flags(ADMIN)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .complexity("O(N) where N is the number of entries in the log")
        .summary("Empties a log."),
    session("help", Arity::Exactly(2), help_of_types)
        .group(Group::Server)
        .since("Valkey 8.1.0")
        .flags(ANYTIME)
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

fn get(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let count = match args.left() {
        0 => DEFAULT_COUNT,
        1 => count(args.next()?)?,
        _ => return Err(super::subcommand_syntax("SLOWLOG", args).into()),
    };
    Ok(newest(&cx.node.metrics.slowlog, count))
}

/// -1 is all.
fn count(word: &[u8]) -> Result<usize> {
    match number::parse_i64(word) {
        Some(-1) => Ok(usize::MAX),
        Some(n) if n >= 0 => Ok(n as usize),
        _ => Err(Error::reply("ERR count should be greater than or equal to -1").into()),
    }
}

fn newest(log: &Slowlog, count: usize) -> Answer {
    Reply::Array(log.newest(count).into_iter().map(entry).collect()).into()
}

/// The log that COMMANDLOG is about.
fn named<'a>(metrics: &'a Metrics, word: &[u8]) -> Result<&'a Slowlog> {
    let logs = [
        ("slow", &metrics.slowlog),
        ("large-request", &metrics.large_requests),
        ("large-reply", &metrics.large_replies),
    ];
    let found = logs.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    let refused = Error::reply("ERR type should be one of the following: slow, large-request, large-reply");
    Ok(found.ok_or(refused)?.1)
}

fn get_of(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let count = count(args.next()?)?;
    Ok(newest(named(&cx.node.metrics, args.next()?)?, count))
}

fn len_of(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    Ok(Reply::Integer(named(&cx.node.metrics, args.next()?)?.len() as i64).into())
}

fn reset_of(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    named(&cx.node.metrics, args.next()?)?.clear();
    Ok(Reply::OK.into())
}

fn help_of_types(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "COMMANDLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "GET <count> <type>",
            "    The latest entries (-1 is all), each of id, time, microseconds or bytes,",
            "    arguments, address and name of the client.",
            "LEN <type>",
            "    How many entries there are.",
            "RESET <type>",
            "    Empties the log.",
            "Types are slow, large-request and large-reply.",
        ],
    ))
}

fn entry(slow: Slow) -> Reply {
    Reply::Array(vec![
        Reply::Integer(slow.id as i64),
        Reply::Integer(slow.at_secs as i64),
        Reply::Integer(slow.amount as i64),
        Reply::bulks(slow.args),
        Reply::bulk(slow.addr),
        Reply::bulk(slow.name),
    ])
}

fn len(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Integer(cx.node.metrics.slowlog.len() as i64).into())
}

fn reset(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.node.metrics.slowlog.clear();
    Ok(Reply::OK.into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "GET [<count>]",
            "    The latest entries (default: 10, -1 is all), each of",
            "    id, time, microseconds, arguments, address and name of the client.",
            "LEN",
            "    How many entries there are.",
            "RESET",
            "    Empties the log.",
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    fn slow(n: u64) -> Slow {
        let args = vec![b"GET".to_vec(), n.to_string().into_bytes()];
        Slow { id: 0, at_secs: 7, amount: n, args, addr: "1.2.3.4:5".into(), name: b"bob".to_vec() }
    }

    #[test]
    fn the_newest_come_first_and_old_ones_go() {
        let mut kit = Kit::new();
        for n in 0..20 {
            kit.node.metrics.slowlog.push(slow(n), 15);
        }
        assert_eq!(kit.run("SLOWLOG LEN"), ":15");
        assert_eq!(kit.run("SLOWLOG GET 1"), "[[:19 :7 :19 [\"GET\" \"19\"] \"1.2.3.4:5\" \"bob\"]]");
        assert_eq!(kit.run("SLOWLOG GET").matches("1.2.3.4:5").count(), DEFAULT_COUNT);
        assert_eq!(kit.run("SLOWLOG GET -1").matches("1.2.3.4:5").count(), 15);
        assert_eq!(kit.run("SLOWLOG GET 0"), "[]");
        assert_eq!(kit.run("SLOWLOG RESET | SLOWLOG LEN"), "+OK | :0");
    }

    #[test]
    fn counts_are_checked() {
        let mut kit = Kit::new();
        let refused = "-ERR count should be greater than or equal to -1";
        assert_eq!(kit.run("SLOWLOG GET -2 | SLOWLOG GET x"), format!("{refused} | {refused}"));
        assert_eq!(
            kit.run("SLOWLOG GET 1 2"),
            "-ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP."
        );
    }
}
