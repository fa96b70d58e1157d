//! ACL: users, and what they may do.

mod describe;

use std::sync::Arc;

use super::help::help;
use super::subcommand_syntax;
use crate::acl::{self, AtDatabase, Categories, Context, DEFAULT_NAME, Denied, Reason, Refused, Users, file};
use crate::clients::Client;
use crate::dispatch::args::Args;
use crate::dispatch::registry::registry;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, SessionFn, Spec, container, session};
use crate::error::{Error, Result, shown};
use crate::node::Node;
use crate::number;
use crate::reply::Reply;

/// Users whose rules an I/O thread writes itself; a longer list is made by a worker.
const LIGHT_USERS: usize = 256;
/// Entries of ACL LOG that are shown unless more are asked for.
const SHOWN_ENTRIES: usize = 10;
const GENPASS_BITS: i64 = 256;
const MAX_GENPASS_BITS: i64 = 4096;

const PLAIN: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);
const ADMIN: Flags = PLAIN.or(Flags::ADMIN);

pub const COMMANDS: &[Spec] = &[container("acl", Arity::AtLeast(2), SUBCOMMANDS)
    .group(Group::Server)
    .since("6.0.0")
    .complexity("Depends on subcommand.")
    .summary("Groups the commands about users.")];

const fn sub(name: &'static str, arity: Arity, run: SessionFn, flags: Flags) -> Spec {
    session(name, arity, run).group(Group::Server).flags(flags).since("6.0.0")
}

const SUBCOMMANDS: &[Spec] = &[
    sub("cat", Arity::AtLeast(2), cat, PLAIN)
        .complexity("O(1) since the categories and commands are a fixed set.")
        .summary("Lists the categories of commands, or the commands of one."),
    sub("deluser", Arity::AtLeast(3), deluser, ADMIN)
        .complexity("O(1) amortized time considering the typical user.")
        .summary("Deletes users and closes their connections."),
    sub("dryrun", Arity::AtLeast(4), dryrun, ADMIN)
        .since("7.0.0")
        .complexity("O(1).")
        .summary("Tells whether a user may run a command, without running it."),
    sub("genpass", Arity::AtLeast(2), genpass, PLAIN)
        .complexity("O(1)")
        .summary("Makes a password that nobody can guess."),
    sub("getuser", Arity::Exactly(3), getuser, ADMIN)
        .complexity("O(N). Where N is the number of password, command and pattern rules that the user has.")
        .summary("Shows the rules of a user."),
    sub("help", Arity::Exactly(2), help_text, Flags::LOADING.or(Flags::STALE))
        .complexity("O(1)")
        .summary("Lists the subcommands."),
    sub("list", Arity::Exactly(2), list, ADMIN)
        .complexity("O(N). Where N is the number of configured users.")
        .summary("Lists all users with their rules, as lines of an ACL file."),
    sub("load", Arity::Exactly(2), load, ADMIN)
        .complexity("O(N). Where N is the number of configured users.")
        .summary("Reads the users from the ACL file."),
    sub("log", Arity::AtLeast(2), log, ADMIN)
        .complexity("O(N) with N being the number of entries shown.")
        .summary("Shows what was refused to users lately, or forgets it."),
    sub("save", Arity::Exactly(2), save, ADMIN)
        .complexity("O(N). Where N is the number of configured users.")
        .summary("Writes the users into the ACL file."),
    sub("setuser", Arity::AtLeast(3), setuser, ADMIN)
        .complexity("O(N). Where N is the number of rules provided.")
        .summary("Creates a user or changes its rules."),
    sub("users", Arity::Exactly(2), users, ADMIN)
        .complexity("O(N). Where N is the number of configured users.")
        .summary("Lists the names of all users."),
    sub("whoami", Arity::Exactly(2), whoami, PLAIN)
        .complexity("O(1)")
        .summary("Answers the name of the connection's user."),
];

/// Notes a call that was refused to a user.
pub fn note_denied(node: &Node, client: &Client, now_ms: u64, context: Context, denied: &Denied) {
    note_refused(node, client, now_ms, context, denied.reason, (&denied.object, &denied.user));
}

/// Notes what was refused: the object, and whose it was to be.
pub fn note_refused(
    node: &Node,
    client: &Client,
    now_ms: u64,
    context: Context,
    reason: Reason,
    (object, user): (&[u8], &[u8]),
) {
    let mut text = Vec::new();
    super::client::describe(client, &super::client::command_names(), &node.acl.users().0, now_ms, &mut text);
    text.pop();
    let refused = Refused { reason, context, object: object.into(), user: user.into(), client: text };
    node.acl.log.add(now_ms, node.config.current().acllog_max_len, refused);
}

fn setuser(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let name = args.next()?;
    let defaults = cx.node.config.current().user_defaults();
    cx.node.acl.set_user(name, args.rest(), defaults)?;
    users_changed(cx.node);
    Ok(Reply::OK.into())
}

fn deluser(cx: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if args.rest().any(|name| name == DEFAULT_NAME) {
        return Err(Error::reply("ERR The 'default' user cannot be removed").into());
    }
    let gone = cx.node.acl.delete(args.rest());
    if gone.contains(&cx.session.login.id()) {
        // The reply is still sent.
        cx.session.closing = true;
    }
    users_changed(cx.node);
    Ok(Reply::Integer(gone.len() as i64).into())
}

/// Connections whose user is gone, or may not hear any more what they listen to, are closed by their threads.
fn users_changed(node: &Node) {
    if let Some(post) = node.post() {
        post.wake_all();
    }
}

fn getuser(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let (users, _) = cx.node.acl.users();
    Ok(users.get(args.next()?).map_or(Reply::Nil, |user| describe::user(user)).into())
}

fn list(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let (users, _) = cx.node.acl.users();
    let lines = |users: &Users| Reply::Array(users.iter().map(|user| Reply::bulk(user.line())).collect());
    if users.iter().len() <= LIGHT_USERS {
        return Ok(lines(&users).into());
    }
    Ok(Answer::Worker(Box::new(move |_| Ok(lines(&users)))))
}

fn users(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let (users, _) = cx.node.acl.users();
    Ok(Reply::Array(users.iter().map(|user| Reply::bulk(&*user.name)).collect()).into())
}

fn whoami(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(Reply::bulk(&*cx.session.login.user().name).into())
}

fn cat(_: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.left() > 1 {
        return Err(subcommand_syntax("ACL", args).into());
    }
    if args.is_empty() {
        return Ok(Reply::Array(Categories::names().map(Reply::text).collect()).into());
    }
    let name = args.next()?;
    let category =
        Categories::named(name).ok_or_else(|| Error::about("ERR Unknown category '", name, "'"))?;
    let commands = registry().all().filter(|command| command.categories.has(category));
    Ok(Reply::Array(commands.map(|command| Reply::Bulk(command.full_name.as_str().into())).collect()).into())
}

fn genpass(_: &mut SessionCx<'_>, args: Args<'_>) -> Result<Answer> {
    if args.left() > 1 {
        return Err(subcommand_syntax("ACL", args).into());
    }
    let bits = match args.peek() {
        None => GENPASS_BITS,
        Some(word) => number::parse_i64(word).ok_or(Error::NotInteger)?,
    };
    if !(1..=MAX_GENPASS_BITS).contains(&bits) {
        return Err(Error::reply(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to \
             {MAX_GENPASS_BITS}"
        ))
        .into());
    }
    let digits = (bits as usize).div_ceil(4);
    let mut bytes = vec![0; digits.div_ceil(2)];
    getrandom::fill(&mut bytes).map_err(|error| Error::reply(format!("ERR no random numbers: {error}")))?;
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    Ok(Reply::bulk(text).into())
}

fn dryrun(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let name = args.next()?;
    let (users, _) = cx.node.acl.users();
    let user =
        users.get(name).ok_or_else(|| Error::reply(format!("ERR User '{}' not found", shown(name))))?;
    let words = args.left_words();
    let command = registry().lookup(words).ok_or_else(|| {
        Error::reply(format!("ERR Command '{}' not found", shown(words.get(0).unwrap_or(&[]))))
    })?;
    if !command.spec.arity.admits(words.len()) {
        return Err(Error::Arity(command.full_name.as_str().into()).into());
    }
    let at = AtDatabase { current: cx.session.db, count: cx.node.keyspace.shared.database_count() };
    Ok(match acl::check(user, command, words, at) {
        Ok(()) => Reply::OK.into(),
        Err(denied) => Reply::bulk(denied.dry_run(words)).into(),
    })
}

fn log(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    if args.left() > 1 {
        return Err(subcommand_syntax("ACL", args).into());
    }
    let log = &cx.node.acl.log;
    if args.keyword("reset") {
        log.clear();
        return Ok(Reply::OK.into());
    }
    let count = match args.is_empty() {
        true => SHOWN_ENTRIES,
        false => usize::try_from(args.int()?).unwrap_or(0),
    };
    let now_ms = cx.now_ms;
    let entries = log.newest(count);
    Ok(Reply::Array(entries.iter().map(|entry| describe::entry(entry, now_ms)).collect()).into())
}

fn no_file() -> Error {
    Error::reply(
        "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER \
         command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store \
         users in the Redis configuration.",
    )
}

fn load(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let config = cx.node.config.current();
    let path = config.acl_path().ok_or_else(no_file)?;
    Ok(Answer::Worker(Box::new(move |node: &Arc<Node>| {
        let loaded = node.acl.load(&path, config.user_defaults());
        loaded.map_err(|errors| Error::reply(format!("ERR {errors}")))?;
        users_changed(node);
        Ok(Reply::OK)
    })))
}

fn save(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let path = cx.node.config.current().acl_path().ok_or_else(no_file)?;
    Ok(Answer::Worker(Box::new(move |node: &Arc<Node>| {
        file::save(&path, &node.acl.users().0).map_err(|error| {
            tracing::warn!(%error, path = %path.display(), "the ACL file could not be written");
            Error::reply(
                "ERR There was an error trying to save the ACLs. Please check the server logs for more information",
            )
        })?;
        Ok(Reply::OK)
    })))
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "CAT [<category>]",
            "    The categories of commands, or the commands of one.",
            "DELUSER <username> [<username> ...]",
            "    Deletes users and closes their connections.",
            "DRYRUN <username> <command> [<arg> ...]",
            "    Whether a user may run a command, without running it.",
            "GETUSER <username>",
            "    The rules of a user.",
            "GENPASS [<bits>]",
            "    A password that nobody can guess, of 256 bits unless said otherwise.",
            "LIST",
            "    All users with their rules, as lines of an ACL file.",
            "LOAD",
            "    Reads the users from the ACL file.",
            "LOG [<count> | RESET]",
            "    What was refused lately; RESET forgets it.",
            "SAVE",
            "    Writes the users into the ACL file.",
            "SETUSER <username> <rule> [<rule> ...]",
            "    Creates a user or changes its rules.",
            "USERS",
            "    The names of all users.",
            "WHOAMI",
            "    The name of this connection's user.",
        ],
    ))
}
