//! The server as a whole: INFO, TIME, saving, stopping, replication's few answers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::connection::REDIS_VERSION;
use crate::backup;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, session};
use crate::error::{Error, Result};
use crate::metrics::info::{self, Sections};
use crate::node::Stop;
use crate::number;
use crate::reply::Reply;

const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT);
const ANYTIME: Flags = Flags::LOADING.or(Flags::STALE);

/// Longest that WAIT waits, and what "for ever" is: the time arithmetic of the machine ends somewhere.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

pub const COMMANDS: &[Spec] = &[
    session("info", Arity::AtLeast(1), info)
        .group(Group::Server)
        .flags(ANYTIME)
        .acl(&["dangerous"])
        .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])
        .complexity("O(1)")
        .summary("Reports on the server: all, or some, sections."),
    session("time", Arity::Exactly(1), time)
        .group(Group::Server)
        .since("2.6.0")
        .flags(ANYTIME)
        .fast()
        .tips(&["nondeterministic_output"])
        .complexity("O(1)")
        .summary("Answers the server's time in seconds and microseconds."),
    session("lastsave", Arity::Exactly(1), last_save)
        .group(Group::Server)
        .flags(ANYTIME)
        .fast()
        .acl(&["admin", "dangerous"])
        .tips(&["nondeterministic_output"])
        .complexity("O(1)")
        .summary("Answers when the last copy of the data was complete."),
    session("save", Arity::Exactly(1), save)
        .group(Group::Server)
        .flags(ADMIN.or(Flags::NO_ASYNC_LOADING).or(Flags::NO_MULTI))
        .complexity("O(N) where N is the total number of keys in all databases")
        .summary("Writes a copy of the data that opens as a database of its own, and waits for it."),
    session("bgsave", Arity::AtLeast(1), bgsave)
        .group(Group::Server)
        .flags(ADMIN.or(Flags::NO_ASYNC_LOADING))
        .complexity("O(1)")
        .summary("Writes a copy of the data in the background."),
    session("bgrewriteaof", Arity::Exactly(1), rewrite_aof)
        .group(Group::Server)
        .flags(ADMIN.or(Flags::NO_ASYNC_LOADING))
        .complexity("O(1)")
        .summary("Does nothing: the log is written anew by itself."),
    session("waitaof", Arity::Exactly(4), wait_aof)
        .group(Group::Generic)
        .since("7.2.0")
        .flags(Flags::BLOCKING)
        .acl(&["connection"])
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .complexity("O(1)")
        .summary("Waits until what was written before is on the device."),
    session("shutdown", Arity::AtLeast(1), shutdown)
        .group(Group::Server)
        .flags(ADMIN.or(ANYTIME).or(Flags::NO_MULTI).or(Flags::ALLOW_BUSY))
        .complexity(
            "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
        )
        .summary("Stops the server in good order."),
    session("monitor", Arity::Exactly(1), monitor)
        .group(Group::Server)
        .flags(ADMIN.or(ANYTIME))
        .summary("Sends this connection every command that the server runs."),
    session("role", Arity::Exactly(1), role)
        .group(Group::Server)
        .since("2.8.12")
        .flags(Flags::NOSCRIPT.or(ANYTIME))
        .fast()
        .acl(&["admin", "dangerous"])
        .complexity("O(1)")
        .summary("Answers the server's part in replication: a master without replicas."),
    session("replicaof", Arity::Exactly(3), replica_of)
        .group(Group::Server)
        .since("5.0.0")
        .flags(ADMIN.or(Flags::STALE).or(Flags::NO_ASYNC_LOADING))
        .complexity("O(1)")
        .summary("Makes the server a replica; only NO ONE is supported."),
    session("slaveof", Arity::Exactly(3), replica_of)
        .group(Group::Server)
        .flags(ADMIN.or(Flags::STALE).or(Flags::NO_ASYNC_LOADING))
        .complexity("O(1)")
        .replaced_by("5.0.0", "`REPLICAOF`")
        .summary("Makes the server a replica; only NO ONE is supported."),
    session("failover", Arity::AtLeast(1), failover)
        .group(Group::Server)
        .since("6.2.0")
        .flags(ADMIN.or(Flags::STALE))
        .complexity("O(1)")
        .summary("Is refused: there are no replicas."),
    session("psync", Arity::AtLeast(3), no_replicas)
        .group(Group::Server)
        .since("2.8.0")
        .flags(ADMIN.or(Flags::NO_ASYNC_LOADING).or(Flags::NO_MULTI))
        .summary("Is refused: there is no replication."),
    session("replconf", Arity::AtLeast(1), no_replicas)
        .group(Group::Server)
        .since("3.0.0")
        .flags(ADMIN.or(ANYTIME).or(Flags::ALLOW_BUSY))
        .complexity("O(1)")
        .internal()
        .summary("Is refused: there is no replication."),
    session("sync", Arity::Exactly(1), no_replicas)
        .group(Group::Server)
        .flags(ADMIN.or(Flags::NO_ASYNC_LOADING).or(Flags::NO_MULTI))
        .summary("Is refused: there is no replication."),
    session("wait", Arity::Exactly(3), wait)
        .group(Group::Generic)
        .since("3.0.0")
        .flags(Flags::BLOCKING)
        .acl(&["connection"])
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .complexity("O(1)")
        .summary("Waits for replicas; there are none, so it waits for its timeout."),
    session("lolwut", Arity::AtLeast(1), lolwut)
        .group(Group::Server)
        .since("5.0.0")
        .flags(Flags::READONLY)
        .fast()
        .summary("Answers the version of Redis that is followed."),
];

fn info(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let sections = Sections::parse(args.rest());
    Ok(Answer::Worker(Box::new(move |node| {
        Ok(Reply::Verbatim(b"txt", info::text(node, &sections)?.into_bytes()))
    })))
}

fn time(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let now_us = cx.node.clock.now_us();
    Ok(Reply::bulks([(now_us / 1_000_000).to_string(), (now_us % 1_000_000).to_string()]).into())
}

fn last_save(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Integer((cx.node.saves.last_ms.load(Ordering::Relaxed) / 1000) as i64).into())
}

fn save(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let save = backup::begin(cx.node)?;
    Ok(Answer::Worker(Box::new(move |_| save.run().map(|_| Reply::OK))))
}

fn bgsave(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.keyword("cancel") {
        args.end()?;
        return Err(match cx.node.saves.running.load(Ordering::Acquire) {
            // It links files, and is done before it could be stopped.
            true => Error::reply("ERR the background save is about to end and cannot be cancelled"),
            false => Error::reply("ERR Background saving is currently not in progress or scheduled"),
        }
        .into());
    }
    if args.keyword("schedule") || args.is_empty() {
        args.end()?;
    } else {
        return Err(Error::Syntax.into());
    }
    backup::begin(cx.node)?.run_in_background()?;
    Ok(Reply::Simple("Background saving started").into())
}

/// Every write is durable without a last copy, so SAVE, NOW and FORCE ask for nothing that is not done anyway.
/// SAFE and FAILOVER are about replicas, and there are none.
fn shutdown(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let (mut save, mut nosave, mut hurry, mut abort) = (false, false, false, false);
    while !args.is_empty() {
        if args.keyword("save") {
            save = true;
        } else if args.keyword("nosave") {
            nosave = true;
        } else if ["now", "force", "safe", "failover"].into_iter().any(|word| args.keyword(word)) {
            hurry = true;
        } else if args.keyword("abort") {
            abort = true;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    if save && nosave || abort && (save || nosave || hurry) {
        return Err(Error::Syntax.into());
    }
    if abort {
        // A stop takes no longer than what runs, so there is none that could be taken back.
        return Err(Error::reply("ERR No shutdown in progress.").into());
    }
    cx.node.request_stop(Stop::Command { nosave });
    cx.session.closing = true;
    Ok(Reply::Silent.into())
}

fn monitor(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.session.monitor(cx.node, true);
    Ok(Reply::OK.into())
}

fn role(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Array(vec![Reply::text("master"), Reply::Integer(0), Reply::Array(Vec::new())]).into())
}

fn replica_of(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.keyword("no") && args.keyword("one") {
        return Ok(Reply::OK.into());
    }
    Err(Error::reply("ERR this server cannot be a replica; only NO ONE is supported").into())
}

fn failover(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.keyword("abort") {
        args.end()?;
        return Err(Error::reply("ERR No failover in progress.").into());
    }
    Err(Error::reply("ERR FAILOVER requires connected replicas.").into())
}

fn no_replicas(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Err(Error::reply("ERR this server has no replication").into())
}

fn wait(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let replicas = args.int()?;
    let timeout_ms = super::timeout_ms(args.next()?)?;
    if replicas <= 0 {
        return Ok(Reply::Integer(0).into());
    }
    Ok(Answer::After(within(timeout_ms), Reply::Integer(0)))
}

/// The log needs no rewriting; those who ask for it are told that it is under way.
fn rewrite_aof(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Simple("Background append only file rewriting started").into())
}

/// There are no replicas to wait for, as in [`wait`].
fn wait_aof(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let local = args.int()?;
    if !(0..=1).contains(&local) {
        return Err(Error::reply("ERR value is out of range, value must between 0 and 1").into());
    }
    let replicas = number::parse_i64(args.next()?).filter(|replicas| *replicas >= 0);
    let replicas = replicas.ok_or_else(|| Error::reply("ERR value is out of range, must be positive"))?;
    let timeout_ms = super::timeout_ms(args.next()?)?;
    let answer = |synced: i64| Reply::Array(vec![Reply::Integer(synced), Reply::Integer(0)]);
    if replicas > 0 {
        return Ok(Answer::After(within(timeout_ms), answer(0)));
    }
    Ok(Answer::Worker(Box::new(move |node| {
        node.engine.flush()?;
        crate::keyspace::local::sync(&node.engine)?;
        Ok(answer(1))
    })))
}

/// A time to wait; 0 is for ever.
fn within(timeout_ms: u64) -> Duration {
    match timeout_ms {
        0 => FOR_EVER,
        ms => Duration::from_millis(ms).min(FOR_EVER),
    }
}

fn lolwut(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Verbatim(b"txt", format!("Redis ver. {REDIS_VERSION}\n").into_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn wait_answers_at_once_only_if_nothing_is_awaited() {
        let mut kit = Kit::new();
        assert_eq!(kit.run("WAIT 0 0 | WAIT -1 5"), ":0 | :0");
        let mut answer = |line: &str| {
            let words: tarn_resp::OwnedArgs = line.split(' ').collect();
            let mut cx = SessionCx { node: &kit.node, session: &mut kit.session, now_ms: kit.now_ms };
            match wait(&mut cx, Args::new(words.view(), 1)).unwrap() {
                Answer::After(after, _) => after,
                _ => panic!("{line} does not wait"),
            }
        };
        assert_eq!(answer("WAIT 1 250"), Duration::from_millis(250));
        assert_eq!(answer("WAIT 1 0"), FOR_EVER);
        assert_eq!(answer("WAIT 1 9223370000000000000"), FOR_EVER);
        assert!(std::time::Instant::now().checked_add(FOR_EVER).is_some());
    }

    #[test]
    fn shutdown_understands_its_words() {
        let mut kit = Kit::new();
        for wrong in ["FOO", "SAVE NOSAVE", "ABORT NOW", "NOSAVE ABORT", "SAVE FOO"] {
            assert_eq!(kit.run(&format!("SHUTDOWN {wrong}")), "-ERR syntax error", "{wrong}");
        }
        assert_eq!(kit.run("SHUTDOWN ABORT"), "-ERR No shutdown in progress.");
        assert_eq!(kit.node.stopping(), None);
        assert_eq!(kit.run("SHUTDOWN NOSAVE NOW FORCE"), "");
        assert_eq!(kit.node.stopping(), Some(Stop::Command { nosave: true }));
    }

    #[test]
    fn only_no_one_is_followed() {
        let mut kit = Kit::new();
        assert_eq!(kit.run("REPLICAOF no one | SLAVEOF NO ONE"), "+OK | +OK");
        assert!(kit.run("REPLICAOF localhost 6380").starts_with("-ERR this server cannot be a replica"));
        assert_eq!(kit.run("ROLE"), "[\"master\" :0 []]");
    }

    #[test]
    fn saving_without_a_disk_is_refused() {
        let mut kit = Kit::with(&[("engine", "memory")]);
        assert!(kit.run("SAVE").starts_with("-ERR the engine keeps nothing on disk"));
        assert!(kit.run("BGSAVE").starts_with("-ERR the engine keeps nothing on disk"));
        assert_eq!(kit.run("BGSAVE FOO | BGSAVE SCHEDULE x"), "-ERR syntax error | -ERR syntax error");
        let started = kit.node.started_ms / 1000;
        assert_eq!(kit.run("LASTSAVE"), format!(":{started}"));
    }
}
