//! COMMAND: what the tables say, for clients that want to know a command before they send it.

mod describe;
mod docs;
mod keys;

use super::help::help;
use crate::acl::Categories;
use crate::dispatch::args::Args;
use crate::dispatch::registry::{Registered, registry};
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, session};
use crate::error::{Error, Result};
use crate::glob;
use crate::reply::Reply;

const PLAIN: Flags = Flags::LOADING.or(Flags::STALE);
const UNORDERED: &[&str] = &["nondeterministic_output_order"];

pub const COMMANDS: &[Spec] = &[sub("command", Arity::AtLeast(1), all)
    .since("2.8.13")
    .tips(UNORDERED)
    .complexity("O(N) where N is the total number of Redis commands")
    .summary("Describes all commands.")
    .with_subcommands(SUBCOMMANDS)];

const fn sub(
    name: &'static str,
    arity: Arity,
    run: fn(&mut SessionCx<'_>, Args<'_>) -> Result<Answer>,
) -> Spec {
    session(name, arity, run).group(Group::Server).flags(PLAIN).acl(&["connection"])
}

const SUBCOMMANDS: &[Spec] = &[
    sub("count", Arity::Exactly(2), count)
        .since("2.8.13")
        .complexity("O(1)")
        .summary("Answers how many commands there are."),
    sub("info", Arity::AtLeast(2), info)
        .since("2.8.13")
        .tips(UNORDERED)
        .complexity("O(N) where N is the number of commands to look up")
        .summary("Describes the commands that are named, or all of them."),
    sub("docs", Arity::AtLeast(2), docs_command)
        .since("7.0.0")
        .tips(UNORDERED)
        .complexity("O(N) where N is the number of commands to look up")
        .summary("Documents the commands that are named, or all of them."),
    sub("list", Arity::AtLeast(2), list)
        .since("7.0.0")
        .tips(UNORDERED)
        .complexity("O(N) where N is the total number of Redis commands")
        .summary("Lists the names of commands, all or those of a category or pattern."),
    sub("getkeys", Arity::AtLeast(4), keys::get_keys)
        .since("2.8.13")
        .complexity("O(N) where N is the number of arguments to the command")
        .summary("Finds the keys in a whole command."),
    sub("getkeysandflags", Arity::AtLeast(4), keys::get_keys_and_flags)
        .since("7.0.0")
        .complexity("O(N) where N is the number of arguments to the command")
        .summary("Finds the keys in a whole command, and what it does to each."),
    sub("help", Arity::Exactly(2), help_text)
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

/// Reached without a subcommand, and with one that does not exist.
fn all(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if let Some(word) = args.peek() {
        return Err(Error::about("ERR unknown subcommand '", word, "'. Try COMMAND HELP.").into());
    }
    Ok(Reply::Array(registry().callable().map(describe::describe).collect()).into())
}

fn count(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Integer(registry().callable().count() as i64).into())
}

fn info(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if args.is_empty() {
        return all(cx, args);
    }
    let infos =
        args.rest().map(|name| registry().named_as_called(name).map_or(Reply::Nil, describe::describe));
    Ok(Reply::Array(infos.collect()).into())
}

fn docs_command(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let named: Vec<&Registered> = match args.is_empty() {
        true => registry().callable().collect(),
        false => args.rest().filter_map(|name| registry().named_as_called(name)).collect(),
    };
    Ok(docs::docs(named).into())
}

fn list(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let names = |keep: &dyn Fn(&Registered) -> bool| {
        let all =
            registry().callable().flat_map(|command| std::iter::once(command).chain(&command.subcommands));
        let kept = all.filter(|command| keep(command));
        Reply::Array(kept.map(|command| Reply::Bulk(command.full_name.as_str().into())).collect())
    };
    if args.is_empty() {
        return Ok(names(&|_| true).into());
    }
    if args.left() != 3 || !args.keyword("filterby") {
        return Err(Error::Syntax.into());
    }
    let (by, value) = (args.next()?.to_ascii_lowercase(), args.next()?);
    Ok(match by.as_slice() {
        // There are no modules.
        b"module" => names(&|_| false),
        b"aclcat" => {
            let wanted = Categories::named(value);
            names(&|command| wanted.is_some_and(|wanted| command.categories.has(wanted)))
        }
        b"pattern" => names(&|command| glob::matches(value, command.full_name.as_bytes(), true)),
        _ => return Err(Error::Syntax.into()),
    }
    .into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "(no subcommand)",
            "    Describes all commands.",
            "COUNT",
            "    How many commands there are.",
            "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
            "    Names of commands.",
            "INFO [<command> ...]",
            "    Describes commands, all if none is named.",
            "DOCS [<command> ...]",
            "    Documents commands, all if none is named.",
            "GETKEYS <whole command>",
            "    The keys in a command.",
            "GETKEYSANDFLAGS <whole command>",
            "    The keys in a command, and what it does to each.",
        ],
    ))
}

#[cfg(test)]
mod tests;
