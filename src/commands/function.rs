//! FCALL and FUNCTION. Changes of libraries are made on a worker, on record first.

use std::sync::Arc;
use std::time::Duration;

use super::help::help;
use super::scripting::{READS, RUNS, WORST_READS, WORST_WRITES, WRITES, counted};
use super::subcommand_syntax;
use crate::dispatch::args::Args;
use crate::dispatch::script::{ScriptCall, What};
use crate::dispatch::session::{Answer, SessionCx, change_libraries};
use crate::dispatch::spec::{
    Arity, Flags, Group, Keys, ScriptFn, SessionFn, Spec, container, script, session,
};
use crate::error::{Error, Result, shown};
use crate::glob;
use crate::rdb::{self, functions};
use crate::reply::Reply;
use crate::scripting::Scripting;
use crate::scripting::functions::{Function, IfTaken, Library, Restore};
use crate::scripting::running::Kind;

const DEPENDS: &str = "Depends on the function that is executed.";
const CHANGES: Flags = Flags::WRITE;

pub const COMMANDS: &[Spec] = &[
    calls("fcall", WRITES, fcall)
        .key_note(WORST_WRITES)
        .since("7.0.0")
        .complexity(DEPENDS)
        .summary("Calls a function of a library."),
    calls("fcall_ro", READS, fcall_ro)
        .flags(Flags::READONLY)
        .key_note(WORST_READS)
        .since("7.0.0")
        .complexity(DEPENDS)
        .summary("Calls a function of a library that does not write."),
    container("function", Arity::AtLeast(2), SUBCOMMANDS)
        .group(Group::Scripting)
        .since("7.0.0")
        .complexity("Depends on subcommand.")
        .summary("Commands about libraries of functions."),
];

const SUBCOMMANDS: &[Spec] = &[
    about("delete", Arity::Exactly(3), delete)
        .flags(CHANGES)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .complexity("O(1)")
        .summary("Deletes a library and its functions."),
    about("dump", Arity::Exactly(2), dump)
        .complexity("O(N) where N is the number of functions")
        .summary("Serializes all libraries, as Redis does."),
    about("flush", Arity::AtLeast(2), flush)
        .flags(CHANGES)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .complexity("O(N) where N is the number of functions deleted")
        .summary("Deletes all libraries."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Scripting)
        .flags(Flags::LOADING.or(Flags::STALE))
        .acl(&["scripting"])
        .since("7.0.0")
        .complexity("O(1)")
        .summary("Tells what FUNCTION can do."),
    about("kill", Arity::Exactly(2), kill)
        .flags(Flags::ALLOW_BUSY)
        .tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
        .complexity("O(1)")
        .summary("Stops the function that runs; nothing of it stays."),
    about("list", Arity::AtLeast(2), list)
        .tips(&["nondeterministic_output_order"])
        .complexity("O(N) where N is the number of functions")
        .summary("The libraries and their functions."),
    about("load", Arity::AtLeast(3), load)
        .flags(CHANGES)
        .denyoom()
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .complexity("O(1) (considering compilation time is redundant)")
        .summary("Adds a library; replies with its name."),
    about("restore", Arity::AtLeast(3), restore)
        .flags(CHANGES)
        .denyoom()
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .complexity("O(N) where N is the number of functions on the payload")
        .summary("Adds the libraries that FUNCTION DUMP has serialized, here or in Redis."),
    about("stats", Arity::Exactly(2), stats)
        .flags(Flags::ALLOW_BUSY)
        .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])
        .complexity("O(1)")
        .summary("The function that runs, and how many there are."),
];

const fn calls(name: &'static str, keys: Keys, run: ScriptFn) -> Spec {
    script(name, keys, run).group(Group::Scripting).flags(RUNS).acl(&["scripting"])
}

const fn about(name: &'static str, arity: Arity, run: SessionFn) -> Spec {
    session(name, arity, run)
        .group(Group::Scripting)
        .flags(Flags::NOSCRIPT)
        .acl(&["scripting"])
        .since("7.0.0")
}

fn fcall<'a>(known: &Scripting, args: Args<'a>) -> Result<ScriptCall<'a>> {
    by_name(known, args, false)
}

fn fcall_ro<'a>(known: &Scripting, args: Args<'a>) -> Result<ScriptCall<'a>> {
    by_name(known, args, true)
}

fn by_name<'a>(known: &Scripting, mut args: Args<'a>, read_only: bool) -> Result<ScriptCall<'a>> {
    let name = args.next()?;
    let found = known.functions.find(name).ok_or_else(|| Error::reply("ERR Function not found"))?;
    let count = args.int().map_err(|_| Error::reply("ERR Bad number of keys provided"))?;
    let (words, keys) = counted(count, &args)?;
    Ok(ScriptCall { what: What::Function(found), words, keys, read_only })
}

fn load(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let mut if_taken = IfTaken::Refuse;
    while args.left() > 1 {
        let word = args.next()?;
        if !word.eq_ignore_ascii_case(b"replace") {
            return Err(Error::reply(format!("ERR Unknown option given: {}", shown(word))).into());
        }
        if_taken = IfTaken::Replace;
    }
    let code: Box<[u8]> = args.next()?.into();
    Ok(Answer::Worker(Box::new(move |node| {
        let library = Arc::new(Library::load(&code)?);
        let name = library.name.clone();
        let added = [library];
        change_libraries(node, |functions| functions.with_added(&added, if_taken, false))?;
        Ok(Reply::bulk(name))
    })))
}

fn delete(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let name = shown(args.next()?);
    Ok(Answer::Worker(Box::new(move |node| {
        change_libraries(node, |functions| {
            functions.without(&name).ok_or_else(|| Error::reply("ERR Library not found"))
        })?;
        Ok(Reply::OK)
    })))
}

fn flush(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let is_mode = |word: &[u8]| word.eq_ignore_ascii_case(b"sync") || word.eq_ignore_ascii_case(b"async");
    if args.left() > 1 {
        return Err(subcommand_syntax("FUNCTION", args).into());
    }
    if args.peek().is_some_and(|word| !is_mode(word)) {
        return Err(Error::reply("ERR FUNCTION FLUSH only supports SYNC|ASYNC option").into());
    }
    Ok(Answer::Worker(Box::new(|node| {
        change_libraries(node, |functions| functions.with_added(&[], IfTaken::Refuse, true))?;
        Ok(Reply::OK)
    })))
}

fn dump(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let libraries = cx.node.scripting.functions.libraries();
    let version = cx.node.config.current().limits().dump_version;
    let codes = libraries.iter().map(|library| &*library.code);
    Ok(Reply::bulk(functions::dump(codes, version)).into())
}

fn restore(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.left() > 2 {
        return Err(subcommand_syntax("FUNCTION", args).into());
    }
    let payload: Box<[u8]> = args.next()?.into();
    let restore = match args.next() {
        Err(_) => Restore::Append,
        Ok(word) if word.eq_ignore_ascii_case(b"append") => Restore::Append,
        Ok(word) if word.eq_ignore_ascii_case(b"replace") => Restore::Replace,
        Ok(word) if word.eq_ignore_ascii_case(b"flush") => Restore::Flush,
        Ok(_) => {
            return Err(Error::reply(
                "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            )
            .into());
        }
    };
    Ok(Answer::Worker(Box::new(move |node| {
        let (content, _) = rdb::open(&payload)
            .ok_or_else(|| Error::reply("ERR DUMP payload version or checksum are wrong"))?;
        let mut codes = functions::Codes::of(content);
        let mut libraries = Vec::new();
        while let Some(code) = codes.next().map_err(|unfit| Error::reply(unfit.words()))? {
            libraries.push(Arc::new(Library::load(&code)?));
        }
        change_libraries(node, |functions| functions.joined(&libraries, restore))?;
        Ok(Reply::OK)
    })))
}

fn list(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let (mut pattern, mut with_code) = (None, false);
    while !args.is_empty() {
        if !with_code && args.keyword("withcode") {
            with_code = true;
        } else if pattern.is_none() && args.keyword("libraryname") {
            let named = args.next().map_err(|_| Error::reply("ERR library name argument was not given"))?;
            pattern = Some(named);
        } else {
            return Err(Error::reply(format!("ERR Unknown argument {}", shown(args.next()?))).into());
        }
    }
    let libraries = cx.node.scripting.functions.libraries();
    let wanted = libraries.iter().filter(|library| {
        pattern.is_none_or(|pattern| glob::matches(pattern, library.name.as_bytes(), true))
    });
    Ok(Reply::Array(wanted.map(|library| describe(library, with_code)).collect()).into())
}

fn describe(library: &Library, with_code: bool) -> Reply {
    let functions = library.functions.iter().map(describe_function).collect();
    let mut fields = vec![
        (Reply::text("library_name"), Reply::bulk(library.name.as_str())),
        (Reply::text("engine"), Reply::text("LUA")),
        (Reply::text("functions"), Reply::Array(functions)),
    ];
    if with_code {
        fields.push((Reply::text("library_code"), Reply::bulk(library.code.to_vec())));
    }
    Reply::Map(fields)
}

fn describe_function(function: &Function) -> Reply {
    let description = function.description.as_ref();
    Reply::Map(vec![
        (Reply::text("name"), Reply::bulk(function.name.to_vec())),
        (Reply::text("description"), description.map_or(Reply::Nil, |text| Reply::bulk(text.to_vec()))),
        (Reply::text("flags"), Reply::Set(function.flags.words().map(Reply::Simple).collect())),
    ])
}

fn stats(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let scripting = &cx.node.scripting;
    let running =
        scripting.running.longest(Kind::Function).or_else(|| scripting.running.longest(Kind::Script));
    let running = running.map_or(Reply::Nil, |run| {
        Reply::Map(vec![
            (Reply::text("name"), Reply::bulk(run.name.as_str())),
            (Reply::text("command"), Reply::bulks(run.words.iter().map(|word| word.to_vec()))),
            (Reply::text("duration_ms"), Reply::Integer(run.begun.elapsed().as_millis() as i64)),
        ])
    });
    let (libraries, functions) = scripting.functions.totals();
    let counts = Reply::Map(vec![
        (Reply::text("libraries_count"), Reply::Integer(libraries as i64)),
        (Reply::text("functions_count"), Reply::Integer(functions as i64)),
    ]);
    Ok(Reply::Map(vec![
        (Reply::text("running_script"), running),
        (Reply::text("engines"), Reply::Map(vec![(Reply::text("LUA"), counts)])),
    ])
    .into())
}

fn kill(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let long = Duration::from_millis(cx.node.config.current().busy_reply_threshold_millis);
    if cx.node.scripting.running.kill(Kind::Function, long) {
        return Ok(Reply::OK.into());
    }
    Err(Error::reply("NOTBUSY No scripts in execution right now.").into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "DELETE <library-name>",
            "    Deletes a library.",
            "DUMP",
            "    Serializes all libraries.",
            "FLUSH [ASYNC|SYNC]",
            "    Deletes all libraries.",
            "KILL",
            "    Stops the function that runs longest; nothing of it stays.",
            "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
            "    The libraries, with their functions and, if asked for, their code.",
            "LOAD [REPLACE] <code>",
            "    Adds a library.",
            "RESTORE <payload> [APPEND|REPLACE|FLUSH]",
            "    Adds libraries that were serialized; what is there stays, goes where names are taken, or goes.",
            "STATS",
            "    The function that runs, and how many there are.",
        ],
    ))
}
