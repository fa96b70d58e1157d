//! CLIENT: who is connected, and what a connection may say about itself.

mod describe;
mod filter;
mod kill;
mod tracking;

use std::sync::Arc;

use super::help::help;
use crate::clients::{Client, flag};
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, Ending, ReplyMode, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Spec, container, session};
use crate::error::{Error, Result};
use crate::node::{Node, PauseMode};
use crate::number;
use crate::reply::Reply;

pub use describe::{command_names, describe};
use filter::Filter;

/// Clients whose description an I/O thread makes itself; a longer list is made by a worker.
const LIGHT_CLIENTS: usize = 256;

const PLAIN: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);
const ADMIN: Flags = PLAIN.or(Flags::ADMIN);

pub const COMMANDS: &[Spec] = &[container("client", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Connection)
    .since("2.4.0")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands about client connections.")];

const fn sub(
    name: &'static str,
    arity: Arity,
    run: fn(&mut SessionCx<'_>, Args<'_>) -> Result<Answer>,
    flags: Flags,
) -> Spec {
    session(name, arity, run).group(Group::Connection).flags(flags).complexity("O(1)")
}

const SUBCOMMANDS: &[Spec] = &[
    sub("id", Arity::Exactly(2), id, PLAIN).since("5.0.0").summary("Answers the number of the connection."),
    sub("info", Arity::Exactly(2), info, PLAIN)
        .since("6.2.0")
        .tips(&["nondeterministic_output"])
        .summary("Describes the connection."),
    sub("list", Arity::AtLeast(2), list, ADMIN)
        .since("2.4.0")
        .tips(&["nondeterministic_output"])
        .complexity("O(N) where N is the number of client connections")
        .summary("Describes all connections, or those that filters match."),
    sub("kill", Arity::AtLeast(3), kill::kill, ADMIN)
        .since("2.4.0")
        .complexity("O(N) where N is the number of client connections")
        .summary("Closes the connection from an address, or those that filters match."),
    sub("capa", Arity::AtLeast(3), capa, PLAIN.or(Flags::ALLOW_BUSY))
        .since("Valkey 8.0.0")
        .summary("Notes what the client understands."),
    sub("getname", Arity::Exactly(2), get_name, PLAIN)
        .since("2.6.9")
        .summary("Answers the name of the connection."),
    sub("setname", Arity::Exactly(3), set_name_command, PLAIN)
        .since("2.6.9")
        .summary("Names the connection."),
    sub("setinfo", Arity::Exactly(4), set_info, PLAIN)
        .since("7.2.0")
        .summary("Notes the name or version of the client's library."),
    sub("pause", Arity::AtLeast(3), pause, ADMIN)
        .since("2.9.50")
        .summary("Holds back the commands, or the writes, of all clients for a time."),
    sub("unpause", Arity::Exactly(2), unpause, ADMIN)
        .since("6.2.0")
        .complexity("O(N) Where N is the number of paused clients")
        .summary("Ends a pause."),
    sub("reply", Arity::Exactly(3), reply, PLAIN)
        .since("3.2.0")
        .summary("Switches the replies to this connection off and on."),
    sub("no-evict", Arity::Exactly(3), no_evict, ADMIN)
        .since("7.0.0")
        .summary("Protects the connection from being closed when client buffers take too much memory."),
    sub("no-touch", Arity::Exactly(3), no_touch, PLAIN)
        .since("7.2.0")
        .summary("Leaves the access times of keys as they are when this connection reads them."),
    sub("import-source", Arity::Exactly(3), import_source, ADMIN)
        .since("Valkey 8.1.0")
        .summary("Is refused: the server is never in import mode."),
    sub("unblock", Arity::AtLeast(3), unblock, ADMIN)
        .since("5.0.0")
        .complexity("O(log N) where N is the number of client connections")
        .summary("Ends the wait of a client that is blocked in a command."),
    sub("tracking", Arity::AtLeast(3), tracking::tracking, PLAIN)
        .since("6.0.0")
        .complexity("O(1). Some options may introduce additional complexity.")
        .summary("Begins or ends messages about changes of keys that the client caches."),
    sub("trackinginfo", Arity::Exactly(2), tracking::info, PLAIN)
        .since("6.2.0")
        .summary("Tells what the client tracks, and how."),
    sub("getredir", Arity::Exactly(2), tracking::get_redir, PLAIN)
        .since("6.0.0")
        .summary("Answers the client that gets this connection's invalidation messages."),
    sub("caching", Arity::Exactly(3), tracking::caching, PLAIN)
        .since("6.0.0")
        .summary("Whether the keys of the next command are tracked."),
    sub("help", Arity::Exactly(2), help_text, Flags::LOADING.or(Flags::STALE))
        .since("5.0.0")
        .summary("Lists the subcommands."),
];

fn id(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::Integer(cx.session.client.id as i64).into())
}

fn info(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let mut text = Vec::new();
    let users = cx.node.acl.users().0;
    describe(&cx.session.client, &command_names(), &users, cx.now_ms, &mut text);
    Ok(Reply::Verbatim(b"txt", text).into())
}

/// Classes of clients. There are no replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Normal,
    Replica,
    Pubsub,
    Master,
}

impl Class {
    fn of(client: &Client) -> Class {
        if client.has(flag::PUBSUB) { Class::Pubsub } else { Class::Normal }
    }

    fn parse(word: &[u8]) -> Result<Class> {
        Ok(match word.to_ascii_lowercase().as_slice() {
            b"normal" => Class::Normal,
            b"slave" | b"replica" => Class::Replica,
            b"pubsub" => Class::Pubsub,
            b"master" | b"primary" => Class::Master,
            _ => return Err(Error::about("ERR Unknown client type '", word, "'").into()),
        })
    }
}

fn list(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    let filter = Filter::parse(cx, args, true)?;
    let asking = cx.session.client.id;
    let now_ms = cx.now_ms;
    let named = filter.only_ids().map(<[u64]>::len);
    if named.unwrap_or_else(|| cx.node.clients.connected()) <= LIGHT_CLIENTS {
        return Ok(list_text(cx.node, &filter, asking, now_ms).into());
    }
    Ok(Answer::Worker(Box::new(move |node| Ok(list_text(node, &filter, asking, now_ms)))))
}

fn list_text(node: &Node, filter: &Filter, asking: u64, now_ms: u64) -> Reply {
    let clients: Vec<Arc<Client>> = match filter.only_ids() {
        None => node.clients.list(),
        Some(ids) => ids.iter().filter_map(|id| node.clients.get(*id)).collect(),
    };
    let (names, users) = (command_names(), node.acl.users().0);
    let mut text = Vec::new();
    for client in clients {
        let is_spared = filter.spares_self == Some(true) && client.id == asking;
        if !is_spared && filter.matches(&client, now_ms) {
            describe(&client, &names, &users, now_ms, &mut text);
        }
    }
    Reply::Verbatim(b"txt", text)
}

/// What the client understands, in words of which most are for later. `redirect`: it follows a redirection to another node.
fn capa(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if args.rest().any(|word| word.eq_ignore_ascii_case(b"redirect")) {
        cx.session.client.set_flag(flag::FOLLOWS_REDIRECTS, true);
    }
    Ok(Reply::OK.into())
}

fn get_name(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let name = cx.session.client.labels().name;
    Ok(if name.is_empty() { Reply::Nil } else { Reply::bulk(name) }.into())
}

fn set_name_command(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    set_name(cx, args.next()?)?;
    Ok(Reply::OK.into())
}

/// An empty name is none.
pub(super) fn set_name(cx: &mut SessionCx<'_>, name: &[u8]) -> Result<()> {
    if !is_plain(name) {
        return Err(
            Error::reply("ERR Client names cannot contain spaces, newlines or special characters.").into()
        );
    }
    cx.session.client.set_labels(|labels| labels.name = name.to_vec());
    Ok(())
}

fn set_info(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let (option, value) = (args.next()?, args.next()?);
    let of_name = option.eq_ignore_ascii_case(b"lib-name");
    if !of_name && !option.eq_ignore_ascii_case(b"lib-ver") {
        return Err(Error::about("ERR Unrecognized option '", option, "'").into());
    }
    if !is_plain(value) {
        let end = " cannot contain spaces, newlines or special characters.";
        return Err(Error::about("ERR ", option, end).into());
    }
    cx.session.client.set_labels(|labels| {
        let label = if of_name { &mut labels.lib_name } else { &mut labels.lib_ver };
        *label = value.to_vec();
    });
    Ok(Reply::OK.into())
}

/// CLIENT LIST is a line of words per client, so what is shown there has neither spaces nor line ends.
fn is_plain(label: &[u8]) -> bool {
    label.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

fn pause(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let timeout = args.next()?;
    let mode = match args.left() {
        0 => PauseMode::All,
        1 if args.keyword("write") => PauseMode::Writes,
        1 if args.keyword("all") => PauseMode::All,
        1 => return Err(Error::reply("ERR CLIENT PAUSE mode must be WRITE or ALL").into()),
        _ => return Err(super::subcommand_syntax("CLIENT", args).into()),
    };
    let timeout_ms = super::timeout_ms(timeout)?;
    cx.node.pause.until(cx.now_ms.saturating_add(timeout_ms), mode);
    Ok(Reply::OK.into())
}

fn unpause(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.node.pause.end();
    if let Some(post) = cx.node.post() {
        post.wake_all();
    }
    Ok(Reply::OK.into())
}

fn reply(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.keyword("on") {
        cx.session.reply_mode = ReplyMode::On;
        return Ok(Reply::OK.into());
    }
    if args.keyword("off") {
        cx.session.reply_mode = ReplyMode::Off;
    } else if args.keyword("skip") {
        if cx.session.reply_mode != ReplyMode::Off {
            cx.session.reply_mode = ReplyMode::SkipNext;
        }
    } else {
        return Err(Error::Syntax.into());
    }
    Ok(Reply::Silent.into())
}

fn no_evict(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    cx.session.client.set_flag(flag::NO_EVICT, on_or_off(&mut args)?);
    Ok(Reply::OK.into())
}

fn no_touch(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let on = on_or_off(&mut args)?;
    cx.session.no_touch = on;
    cx.session.client.set_flag(flag::NO_TOUCH, on);
    Ok(Reply::OK.into())
}

fn on_or_off(args: &mut Args<'_>) -> Result<bool> {
    if args.keyword("on") {
        Ok(true)
    } else if args.keyword("off") {
        Ok(false)
    } else {
        Err(Error::Syntax.into())
    }
}

fn unblock(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.left() > 2 {
        return Err(super::subcommand_syntax("CLIENT", args).into());
    }
    let id = args.next()?;
    let ending = match args.is_empty() {
        true => Ending::Timeout,
        false if args.keyword("timeout") => Ending::Timeout,
        false if args.keyword("error") => Ending::Error,
        false => return Err(Error::reply("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR").into()),
    };
    let id = number::parse_i64(id).ok_or(Error::NotInteger)?;
    let is_unblocked = u64::try_from(id).is_ok_and(|id| cx.node.unblock(id, ending));
    Ok(Reply::Integer(i64::from(is_unblocked)).into())
}

/// Where keys are imported from another server; Valkey answers so unless its `import-mode` is on.
fn import_source(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Err(Error::reply("ERR Server is not in import mode").into())
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "CAPA <word> [<word> ...]",
            "    Notes what the client understands.",
            "CACHING (YES|NO)",
            "    Whether the keys of the next command are tracked (OPTIN, OPTOUT).",
            "GETNAME",
            "    The name of this connection.",
            "GETREDIR",
            "    The client that gets invalidation messages; 0 is this one, -1 none.",
            "ID",
            "    The number of this connection.",
            "IMPORT-SOURCE (ON|OFF)",
            "    Refused.",
            "INFO",
            "    A description of this connection.",
            "KILL <ip:port>",
            "    Closes the connection from that address.",
            "KILL <option> <value> [<option> <value> [...]]",
            "    Closes the connections that all options apply to:",
            "    * ADDR (<ip:port>|<unixsocket>:0), the address it came from; IP <ip>",
            "    * LADDR (<ip:port>|<unixsocket>:0), the address it came to",
            "    * ID <number> [<number> ...]",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "    * USER, NAME, LIB-NAME or LIB-VER <name>; DB <number>",
            "    * FLAGS or CAPA <letters>, all of which it has",
            "    * MAXAGE or IDLE <seconds>, for at least so long",
            "    * the opposite of these, but MAXAGE and IDLE, with NOT- in front",
            "    * SKIPME (YES|NO), whether this connection is spared (default: yes)",
            "LIST [<option> <value> [<option> <value> [...]]]",
            "    A line per connection that describes it. Options are those of KILL.",
            "NO-EVICT (ON|OFF)",
            "    Protects this connection when client buffers take too much memory.",
            "NO-TOUCH (ON|OFF)",
            "    Leaves the access times of keys alone.",
            "PAUSE <milliseconds> [WRITE|ALL]",
            "    Holds back writes, or all commands, for a time.",
            "REPLY (ON|OFF|SKIP)",
            "    Switches replies to this connection.",
            "SETINFO (LIB-NAME|LIB-VER) <value>",
            "    Notes the client's library.",
            "SETNAME <name>",
            "    Names this connection.",
            "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]",
            "    Messages about changes of keys that the client caches.",
            "TRACKINGINFO",
            "    What is tracked, and how.",
            "UNBLOCK <number> [TIMEOUT|ERROR]",
            "    Ends the wait of a blocked client.",
            "UNPAUSE",
            "    Ends a pause.",
        ],
    ))
}

#[cfg(test)]
mod tests;
