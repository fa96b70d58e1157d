//! MODULE: there are none, and none can be loaded.

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, container, session};
use crate::error::{Error, Result};
use crate::reply::Reply;

const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT);
const LOADS: Flags = ADMIN.or(Flags::NO_ASYNC_LOADING);

pub const COMMANDS: &[Spec] = &[container("module", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Server)
    .since("4.0.0")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands about modules.")];

const SUBCOMMANDS: &[Spec] = &[
    session("list", Arity::Exactly(2), list)
        .group(Group::Server)
        .flags(ADMIN)
        .since("4.0.0")
        .tips(&["nondeterministic_output_order"])
        .complexity("O(1)")
        .summary("Lists the modules that are loaded: none."),
    session("load", Arity::AtLeast(3), refuse)
        .group(Group::Server)
        .flags(LOADS)
        .since("4.0.0")
        .complexity("O(1)")
        .summary("Refused: there are no modules."),
    session("loadex", Arity::AtLeast(3), refuse)
        .group(Group::Server)
        .flags(LOADS)
        .since("7.0.0")
        .complexity("O(1)")
        .summary("Refused: there are no modules."),
    session("unload", Arity::Exactly(3), refuse)
        .group(Group::Server)
        .flags(LOADS)
        .since("4.0.0")
        .complexity("O(1)")
        .summary("Refused: there are no modules."),
    session("help", Arity::Exactly(2), help_text)
        .group(Group::Server)
        .flags(Flags::LOADING.or(Flags::STALE))
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Lists the subcommands."),
];

fn list(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Array(Vec::new()).into())
}

fn refuse(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Err(Error::reply(
        "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you can run it from \
         a local connection, otherwise you need to set this option in the configuration file, and then restart the \
         server.",
    )
    .into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "LIST",
            "    The modules that are loaded: none.",
            "LOAD <path> [<arg> ...]",
            "    Refused.",
            "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
            "    Refused.",
            "UNLOAD <name>",
            "    Refused.",
        ],
    ))
}
