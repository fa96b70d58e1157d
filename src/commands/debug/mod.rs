//! DEBUG: what test suites need. Closed unless `enable-debug-command` opens it.

mod data;

use std::sync::atomic::Ordering;
use std::time::Duration;

use tarn_resp::Protocol;

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, session};
use crate::error::{Error, Result};
use crate::fatal;
use crate::glob;
use crate::number;
use crate::reply::Reply;

/// Longest sleep: beyond it, the arithmetic of time ends somewhere.
const MAX_SLEEP: Duration = Duration::from_secs(365 * 24 * 3600);

pub const COMMANDS: &[Spec] = &[session("debug", Arity::AtLeast(2), debug)
    .group(Group::Server)
    .flags(Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::LOADING).or(Flags::STALE))
    .complexity("Depends on subcommand.")
    .internal()
    .summary("Groups what tests need to look at and to disturb.")];

type Run = fn(&mut SessionCx<'_>, Args<'_>) -> Result<Answer>;

/// Subcommands, the number of words that may follow them, and what they do.
const SUBCOMMANDS: &[(&str, std::ops::RangeInclusive<usize>, Run)] = &[
    ("aof-flush-sleep", 1..=1, done),
    ("assert", 0..=0, panic),
    ("change-repl-id", 0..=0, done),
    ("close-cluster-link-on-packet-drop", 1..=1, done),
    ("dict-resizing", 1..=1, done),
    ("digest", 0..=0, data::digest),
    ("digest-value", 0..=usize::MAX, data::digest_value),
    ("drop-cluster-packet-filter", 1..=1, done),
    ("error", 1..=1, error),
    ("fail", 1..=1, fail),
    ("help", 0..=0, help_text),
    ("loadaof", 0..=0, reload),
    ("log", 1..=1, log),
    ("object", 1..=1, data::object),
    ("panic", 0..=1, panic),
    ("pause-cron", 1..=1, done),
    ("populate", 1..=3, data::populate),
    ("protocol", 1..=1, protocol),
    ("quicklist-packed-threshold", 1..=1, done),
    ("reload", 0..=3, reload),
    ("replybuffer", 2..=2, done),
    ("segfault", 0..=0, panic),
    ("set-active-expire", 1..=1, set_active_expire),
    ("set-disable-deny-scripts", 1..=1, done),
    ("set-skip-checksum-validation", 1..=1, done),
    ("sleep", 1..=1, sleep),
    ("stringmatch-len", 2..=2, string_match_len),
    ("time-offset", 1..=1, time_offset),
];

fn debug(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let guard = cx.node.config.current().enable_debug_command;
    if !guard.allows(cx.session.client.is_local()) {
        return Err(Error::reply(
            "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a \
             local connection, otherwise you need to set this option in the configuration file, and then restart the server.",
        ).into());
    }
    let word = args.next()?;
    let left = args.left();
    let found = SUBCOMMANDS
        .iter()
        .find(|(name, words, _)| word.eq_ignore_ascii_case(name.as_bytes()) && words.contains(&left));
    match found {
        Some((.., run)) => run(cx, args),
        None => Err(Error::about(
            "ERR unknown subcommand or wrong number of arguments for '",
            word,
            "'. Try DEBUG HELP.",
        )
        .into()),
    }
}

/// For switches of Redis that have nothing to switch here.
fn done(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::OK.into())
}

/// Only this client waits.
fn sleep(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let word = args.next()?;
    let secs = std::str::from_utf8(word).ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let wait = Duration::try_from_secs_f64(secs.max(0.0)).unwrap_or(MAX_SLEEP).min(MAX_SLEEP);
    Ok(Answer::After(wait, Reply::OK))
}

fn set_active_expire(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let on = number::parse_i64(args.next()?).is_some_and(|n| n != 0);
    cx.node.active_expire.store(on, Ordering::Relaxed);
    Ok(Reply::OK.into())
}

/// What is committed is what a restart would read: there is nothing to load again, but it is made durable.
fn reload(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    while !args.is_empty() {
        if !args.keyword("merge") && !args.keyword("noflush") && !args.keyword("nosave") {
            return Err(Error::reply(
                "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
            )
            .into());
        }
    }
    Ok(Answer::Worker(Box::new(|node| {
        node.engine.flush()?;
        crate::keyspace::local::sync(&node.engine)?;
        Ok(Reply::OK)
    })))
}

/// Puts the clock so far ahead of the machine's, for tests that cannot wait. It never goes back.
fn time_offset(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    cx.node.clock.set_offset_ms(args.int()?);
    Ok(Reply::OK.into())
}

/// Ends the process by a panic, in the thread that reads this client or in another one.
fn panic(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.is_empty() {
        fatal::panic_here();
    }
    let thread = args.next()?;
    if thread.eq_ignore_ascii_case(b"worker") {
        return Ok(Answer::Worker(Box::new(|_| fatal::panic_here())));
    }
    if !std::str::from_utf8(thread).is_ok_and(fatal::inject_panic) {
        return Err(Error::about("ERR there is no thread '", thread, "' that could panic").into());
    }
    Ok(Reply::OK.into())
}

/// A call to the log's files fails, once or until further notice.
fn fail(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let call = args.next()?;
    if !std::str::from_utf8(call).is_ok_and(fatal::inject_fault) {
        return Err(Error::about("ERR there is no call '", call, "' that could fail").into());
    }
    Ok(Reply::OK.into())
}

fn error(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    Err(Error::about("", args.next()?, "").into())
}

fn log(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    tracing::warn!("DEBUG LOG: {}", args.next()?.escape_ascii());
    Ok(Reply::OK.into())
}

/// Whether a pattern matches a string of so many bytes.
fn string_match_len(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    const MAX_LEN: i64 = 1 << 20;
    let len = args.int()?;
    if !(0..=MAX_LEN).contains(&len) {
        return Err(Error::OutOfRange.into());
    }
    let text = vec![b'a'; len as usize];
    Ok(Reply::flag(glob::matches(args.next()?, &text, false)).into())
}

/// A reply of each type there is.
fn protocol(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let number = |n: i64| Reply::Integer(n);
    Ok(match args.next()?.to_ascii_lowercase().as_slice() {
        b"string" => Reply::text("Hello World"),
        b"integer" => number(12345),
        b"double" => {
            #[allow(clippy::approx_constant, reason = "what Redis answers, not pi")]
            let value = 3.141;
            Reply::Double(value)
        }
        b"null" => Reply::Nil,
        b"array" => Reply::Array((0..3).map(number).collect()),
        b"set" => Reply::Set((0..3).map(number).collect()),
        b"map" => Reply::Map((0..3).map(|n| (number(n), Reply::Boolean(n == 1))).collect()),
        // What follows an attribute; the attribute itself may always be left out.
        b"attrib" => Reply::text("Some real reply following the attribute"),
        b"push" if cx.session.protocol == Protocol::Resp2 => {
            return Err(Error::reply("ERR RESP2 is not supported by this command").into());
        }
        b"push" => Reply::Push(vec![Reply::text("server-cpu-usage"), number(42)]),
        b"verbatim" => Reply::Verbatim(b"txt", b"This is a verbatim\nstring".to_vec()),
        b"true" => Reply::Boolean(true),
        b"false" => Reply::Boolean(false),
        b"bignum" => Reply::BigNumber("1234567999999999999999999999999999999"),
        _ => {
            return Err(Error::reply(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            )
            .into());
        }
    }
    .into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "AOF-FLUSH-SLEEP <us>, CHANGE-REPL-ID, CLOSE-CLUSTER-LINK-ON-PACKET-DROP <0|1>, DICT-RESIZING <0|1>,",
            "DROP-CLUSTER-PACKET-FILTER <type>, PAUSE-CRON <0|1>, QUICKLIST-PACKED-THRESHOLD <size>,",
            "REPLYBUFFER <option> <value>, SET-DISABLE-DENY-SCRIPTS <0|1>, SET-SKIP-CHECKSUM-VALIDATION <0|1>",
            "    Accepted; there is nothing to switch.",
            "ASSERT, SEGFAULT",
            "    End the process by a panic, as PANIC does.",
            "DIGEST, DIGEST-VALUE <key> [<key> ...]",
            "    A signature of all data, or of the values of keys.",
            "ERROR <string>",
            "    Answers with this error.",
            "FAIL <log-write|log-sync|log-writes|log-syncs|log-sync-waits|nothing>",
            "    The next such call fails, or all of them fail or wait until another word is given.",
            "LOADAOF, RELOAD [MERGE] [NOFLUSH] [NOSAVE]",
            "    Makes everything durable on the device.",
            "LOG <message>",
            "    Writes into the log.",
            "OBJECT <key>",
            "    What is known of a value.",
            "PANIC [<thread>]",
            "    Ends the process by a panic, in this client's thread or in another one.",
            "POPULATE <count> [<prefix>] [<size>]",
            "    Makes keys <prefix>:<number> that do not exist yet.",
            "PROTOCOL <type>",
            "    Answers with a value of that type: string, integer, double, bignum, null, array, set,",
            "    map, attrib, push, verbatim, true, false.",
            "SET-ACTIVE-EXPIRE <0|1>",
            "    Switches the reaping of expired keys that nobody reads.",
            "SLEEP <seconds>",
            "    Answers after a time. Other clients are served meanwhile.",
            "STRINGMATCH-LEN <length> <pattern>",
            "    Whether the pattern matches that many letters a.",
            "TIME-OFFSET <milliseconds>",
            "    Puts the clock ahead of the machine's.",
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    fn open() -> Kit {
        Kit::with(&[("enable-debug-command", "yes")])
    }

    #[test]
    fn it_is_closed_unless_opened() {
        assert!(Kit::new().run("DEBUG SLEEP 0").starts_with("-ERR DEBUG command not allowed."));
        assert_eq!(Kit::with(&[("enable-debug-command", "local")]).run("DEBUG SLEEP 0"), "+OK");
        assert_eq!(open().run("DEBUG SLEEP 0"), "+OK");
    }

    #[test]
    fn subcommands_take_the_words_they_take() {
        let mut kit = open();
        let unknown = |word: &str| {
            format!("-ERR unknown subcommand or wrong number of arguments for '{word}'. Try DEBUG HELP.")
        };
        assert_eq!(kit.run("DEBUG FOO"), unknown("FOO"));
        assert_eq!(kit.run("DEBUG SLEEP"), unknown("SLEEP"));
        assert_eq!(kit.run("DEBUG SLEEP 0 0"), unknown("SLEEP"));
        assert_eq!(
            kit.run("DEBUG RELOAD | DEBUG RELOAD NOSAVE NOFLUSH MERGE | DEBUG LOADAOF"),
            "+OK | +OK | +OK"
        );
        assert!(kit.run("DEBUG RELOAD FOO").starts_with("-ERR DEBUG RELOAD only supports"));
        assert_eq!(kit.run("DEBUG STRINGMATCH-LEN 10 a*a | DEBUG STRINGMATCH-LEN 10 b*"), ":1 | :0");
    }

    #[test]
    fn sleeps_are_bounded() {
        let mut kit = open();
        let mut slept = |secs: &str| {
            let words: tarn_resp::OwnedArgs = ["DEBUG", "SLEEP", secs].iter().collect();
            let mut cx = SessionCx { node: &kit.node, session: &mut kit.session, now_ms: 0 };
            match debug(&mut cx, Args::new(words.view(), 1)).unwrap() {
                Answer::After(wait, _) => wait,
                _ => panic!("no sleep"),
            }
        };
        assert_eq!(slept("0.25"), Duration::from_millis(250));
        assert_eq!((slept("-1"), slept("abc")), (Duration::ZERO, Duration::ZERO));
        assert_eq!((slept("1e300"), slept("inf")), (MAX_SLEEP, MAX_SLEEP));
    }

    #[test]
    fn the_clock_is_put_ahead() {
        let mut kit = open();
        let before = kit.node.clock.now_ms();
        assert_eq!(kit.run("DEBUG TIME-OFFSET 60000 | DEBUG TIME-OFFSET 50000"), "+OK | +OK");
        let ahead = kit.node.clock.now_ms() - before;
        assert!(ahead >= 60_000, "{ahead}");
        assert_eq!(kit.run("DEBUG SET-ACTIVE-EXPIRE 0"), "+OK");
        assert!(!kit.node.active_expire.load(Ordering::Relaxed));
    }
}
