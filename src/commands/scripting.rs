//! EVAL and its kin, SCRIPT. What runs a script is [`crate::dispatch::script`].

use std::time::Duration;

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::script::{ScriptCall, What};
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, KeyFlags, Keys, Spec, container, script, session};
use crate::error::{Error, Result};
use crate::reply::Reply;
use crate::scripting::Scripting;
use crate::scripting::running::Kind;
use crate::scripting::scripts::{self, Script};

pub(super) const RUNS: Flags =
    Flags::NOSCRIPT.or(Flags::STALE).or(Flags::SKIP_MONITOR).or(Flags::NO_MANDATORY_KEYS);
pub(super) const WRITES: Keys = Keys::counted(2, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE));
pub(super) const READS: Keys = Keys::counted(2, KeyFlags::RO.or(KeyFlags::ACCESS));
pub(super) const WORST_WRITES: &str =
    "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE";
pub(super) const WORST_READS: &str =
    "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS";
const DEPENDS: &str = "Depends on the script that is executed.";

pub const COMMANDS: &[Spec] = &[
    runs("eval", WRITES, eval)
        .key_note(WORST_WRITES)
        .since("2.6.0")
        .complexity(DEPENDS)
        .summary("Runs a Lua script."),
    runs("evalsha", WRITES, evalsha)
        .since("2.6.0")
        .complexity(DEPENDS)
        .summary("Runs a Lua script that is known by its SHA-1."),
    runs("eval_ro", READS, eval_ro)
        .flags(Flags::READONLY)
        .key_note(WORST_READS)
        .since("7.0.0")
        .complexity(DEPENDS)
        .summary("Runs a Lua script that may not write."),
    runs("evalsha_ro", READS, evalsha_ro)
        .flags(Flags::READONLY)
        .since("7.0.0")
        .complexity(DEPENDS)
        .summary("Runs a Lua script that is known by its SHA-1 and may not write."),
    container("script", Arity::AtLeast(2), SUBCOMMANDS)
        .group(Group::Scripting)
        .since("2.6.0")
        .complexity("Depends on subcommand.")
        .summary("Commands about the scripts that the server knows."),
];

const SUBCOMMANDS: &[Spec] = &[
    about("debug", Arity::Exactly(3), debug)
        .since("3.2.0")
        .complexity("O(1)")
        .summary("Refused: there is no debugger of scripts."),
    about("exists", Arity::AtLeast(3), exists)
        .tips(&["request_policy:all_shards", "response_policy:agg_logical_and"])
        .since("2.6.0")
        .complexity("O(N) with N being the number of scripts to check.")
        .summary("Whether scripts are known, by their SHA-1."),
    about("flush", Arity::AtLeast(2), flush)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .since("2.6.0")
        .complexity("O(N) with N being the number of scripts in cache")
        .summary("Forgets all scripts."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Scripting)
        .flags(Flags::LOADING.or(Flags::STALE))
        .acl(&["scripting"])
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Tells what SCRIPT can do."),
    about("kill", Arity::Exactly(2), kill)
        .flags(Flags::ALLOW_BUSY)
        .tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
        .since("2.6.0")
        .complexity("O(1)")
        .summary("Stops the script that runs; nothing of it stays."),
    about("load", Arity::Exactly(3), load)
        .flags(Flags::STALE)
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .since("2.6.0")
        .complexity("O(N) with N being the length in bytes of the script body.")
        .summary("Makes a script known; replies with its SHA-1."),
    about("show", Arity::Exactly(3), show)
        .since("Valkey 8.0.0")
        .complexity("O(1).")
        .summary("The text of a script, by its SHA-1."),
];

const fn runs(name: &'static str, keys: Keys, run: crate::dispatch::spec::ScriptFn) -> Spec {
    script(name, keys, run).group(Group::Scripting).flags(RUNS).acl(&["scripting"])
}

const fn about(name: &'static str, arity: Arity, run: crate::dispatch::spec::SessionFn) -> Spec {
    session(name, arity, run).group(Group::Scripting).flags(Flags::NOSCRIPT).acl(&["scripting"])
}

fn eval<'a>(known: &Scripting, args: Args<'a>) -> Result<ScriptCall<'a>> {
    by_body(known, args, false)
}

fn eval_ro<'a>(known: &Scripting, args: Args<'a>) -> Result<ScriptCall<'a>> {
    by_body(known, args, true)
}

fn evalsha<'a>(known: &Scripting, args: Args<'a>) -> Result<ScriptCall<'a>> {
    by_sha(known, args, false)
}

fn evalsha_ro<'a>(known: &Scripting, args: Args<'a>) -> Result<ScriptCall<'a>> {
    by_sha(known, args, true)
}

fn by_body<'a>(known: &Scripting, mut args: Args<'a>, read_only: bool) -> Result<ScriptCall<'a>> {
    let body = args.next()?;
    let (words, keys) = keys_of(&mut args)?;
    let script = known.scripts.of_body(body, false)?;
    Ok(ScriptCall { what: What::Script(script), words, keys, read_only })
}

fn by_sha<'a>(known: &Scripting, mut args: Args<'a>, read_only: bool) -> Result<ScriptCall<'a>> {
    let sha = args.next()?;
    let (words, keys) = keys_of(&mut args)?;
    let script = scripts::parse_sha(sha).and_then(|sha| known.scripts.find(&sha));
    let script = script.ok_or_else(|| Error::reply("NOSCRIPT No matching script. Please use EVAL."))?;
    Ok(ScriptCall { what: What::Script(script), words, keys, read_only })
}

/// The words behind the number of keys, and that number.
fn keys_of<'a>(args: &mut Args<'a>) -> Result<(tarn_resp::Args<'a>, usize)> {
    let count = args.int()?;
    counted(count, args)
}

/// The words that are left, so many of which are keys.
pub(super) fn counted<'a>(count: i64, args: &Args<'a>) -> Result<(tarn_resp::Args<'a>, usize)> {
    let keys = match usize::try_from(count) {
        Err(_) => return Err(Error::reply("ERR Number of keys can't be negative").into()),
        Ok(keys) if keys > args.left() => {
            return Err(Error::reply("ERR Number of keys can't be greater than number of args").into());
        }
        Ok(keys) => keys,
    };
    Ok((args.left_words(), keys))
}

fn load(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let script = cx.node.scripting.scripts.of_body(args.next()?, true)?;
    Ok(Reply::bulk(scripts::hex(&script.program.sha)).into())
}

fn exists(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let known = &cx.node.scripting.scripts;
    let is_known = |sha| scripts::parse_sha(sha).is_some_and(|sha| known.find(&sha).is_some());
    Ok(Reply::Array(args.rest().map(|sha| Reply::flag(is_known(sha))).collect()).into())
}

fn show(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let script = scripts::parse_sha(args.next()?).and_then(|sha| cx.node.scripting.scripts.find(&sha));
    let body = |script: std::sync::Arc<Script>| Reply::bulk(script.body.to_vec());
    let missing = || Error::reply("NOSCRIPT No matching script.");
    Ok(script.map(body).ok_or_else(missing)?.into())
}

fn flush(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let is_mode = |word: &[u8]| word.eq_ignore_ascii_case(b"sync") || word.eq_ignore_ascii_case(b"async");
    if args.left() > 1 || args.peek().is_some_and(|word| !is_mode(word)) {
        return Err(Error::reply("ERR SCRIPT FLUSH only support SYNC|ASYNC option").into());
    }
    cx.node.scripting.scripts.flush();
    Ok(Reply::OK.into())
}

fn kill(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let long = Duration::from_millis(cx.node.config.current().busy_reply_threshold_millis);
    if cx.node.scripting.running.kill(Kind::Script, long) {
        return Ok(Reply::OK.into());
    }
    Err(Error::reply("NOTBUSY No scripts in execution right now.").into())
}

fn debug(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Err(Error::reply("ERR SCRIPT DEBUG is not supported").into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "EXISTS <sha1> [<sha1> ...]",
            "    Whether scripts are known.",
            "FLUSH [ASYNC|SYNC]",
            "    Forgets all scripts.",
            "KILL",
            "    Stops the script that runs longest; nothing of it stays.",
            "LOAD <script>",
            "    Makes a script known without running it.",
            "SHOW <sha1>",
            "    The text of a script.",
        ],
    ))
}
