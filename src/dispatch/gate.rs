//! Whether a command may run at all, in the order Redis checks it.

use tarn_resp::Args as Words;

use super::registry::{Registered, registry};
use super::spec::{Flags, Run};
use super::unit::Call;
use crate::acl::{self, AtDatabase, Denied, Login, User};
use crate::config::{Config, CrossSlot};
use crate::encoding::slot;
use crate::error::{Error, Result, shown};
use crate::node::Node;

/// What a client that listens may send.
const LISTENING: [&str; 9] = [
    "subscribe",
    "unsubscribe",
    "psubscribe",
    "punsubscribe",
    "ssubscribe",
    "sunsubscribe",
    "ping",
    "quit",
    "reset",
];
/// Bytes of a client's words that an error repeats.
const MAX_ECHO: usize = 128;

/// Finds the command, or the subcommand, and checks the number of words. The number of words that name it follows.
pub fn find(words: Words<'_>) -> Result<(&'static Registered, usize), Error> {
    let (command, named) = called(words)?;
    if command.spec.arity.admits(words.len()) {
        Ok((command, named))
    } else {
        Err(Error::Arity(command.full_name.clone().into()))
    }
}

/// The command that is called, also with a wrong number of words: what [`find`] refuses is counted as its.
#[cold]
pub fn rejected(words: Words<'_>) -> Option<&'static Registered> {
    called(words).ok().map(|(command, _)| command)
}

/// What the first words name.
#[inline]
fn called(words: Words<'_>) -> Result<(&'static Registered, usize), Error> {
    let name = words.get(0).unwrap_or(&[]);
    let command = registry().called(name).ok_or_else(|| unknown_command(words))?;
    if command.spec.subcommands.is_empty() {
        return Ok((command, 1));
    }
    // A container has at least two words: without the second one it is called with too few.
    let Some(word) = words.get(1) else { return Ok((command, 1)) };
    match command.subcommand(word) {
        Some(sub) => Ok((sub, 2)),
        None if matches!(command.spec.run, Run::Container) => Err(unknown_subcommand(name, word)),
        None => Ok((command, 1)),
    }
}

/// Whether this is a line of an HTTP request: a browser was tricked into talking to this port. What follows may be
/// commands of an attacker, so the connection is closed without a word, as Redis does.
pub fn is_http(words: Words<'_>) -> bool {
    let name = words.get(0).unwrap_or(&[]);
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

/// Why a call may not run.
#[derive(Debug)]
pub enum Refusal {
    Error(Error),
    /// The user may not do it.
    Denied(Box<Denied>),
    /// There is no such user any more.
    Gone,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Error(error)
    }
}

/// Refuses a call that this connection may not make, or the configuration forbids. Each call of a unit comes here.
#[inline]
pub fn admit(call: &Call<'_>, login: &mut Login, node: &Node, config: &Config) -> Result<(), Refusal> {
    if !login.is_free(&node.acl) {
        judge(call, login, node)?;
    }
    Ok(admit_slots(call.command, config, call.words)?)
}

/// How many of these calls, from the first on, [`admit`] lets pass. Most callers may make any call, and are not asked about
/// each; what does not change between the calls of a pipeline is asked once.
#[inline]
pub fn admits<'c>(
    mut calls: impl Iterator<Item = Call<'c>>,
    login: &mut Login,
    node: &Node,
    config: &Config,
) -> usize {
    let is_free = login.is_free(&node.acl);
    if is_free && !judges_slots(config) {
        return usize::MAX;
    }
    let is_known = is_free || login.follow(&node.acl) && login.is_authenticated();
    if !is_known {
        return 0;
    }
    let user = login.user();
    let is_refused = |call: Call<'_>| {
        !acl::allows(user, call.command, call.words, at_database(&call, node))
            || admit_slots(call.command, config, call.words).is_err()
    };
    calls.position(is_refused).unwrap_or(usize::MAX)
}

/// What the user says to it.
fn judge(call: &Call<'_>, login: &mut Login, node: &Node) -> Result<(), Refusal> {
    if !login.follow(&node.acl) {
        return Err(Refusal::Gone);
    }
    if !login.is_authenticated() && !call.command.spec.flags.has(Flags::NO_AUTH) {
        return Err(Error::reply("NOAUTH Authentication required.").into());
    }
    permit(call, login.user(), node).map_err(|denied| Refusal::Denied(Box::new(denied)))
}

/// Whether a user may make this call.
pub fn permit(call: &Call<'_>, user: &User, node: &Node) -> Result<(), Denied> {
    acl::check(user, call.command, call.words, at_database(call, node))
}

/// Whether it may read what the call will read without naming it. Asked when the call is about to run.
pub fn permit_patterns(call: &Call<'_>, user: &User, node: &Node) -> Result<(), Error> {
    acl::check_patterns(user, call.command, call.words, at_database(call, node))
}

fn at_database(call: &Call<'_>, node: &Node) -> AtDatabase {
    AtDatabase { current: call.db, count: node.keyspace.shared.database_count() }
}

#[inline]
fn judges_slots(config: &Config) -> bool {
    config.cluster_enabled && config.cluster_cross_slot == CrossSlot::Deny
}

/// Keys of one call are in one slot, where that is asked for.
#[inline]
pub fn admit_slots(command: &Registered, config: &Config, words: Words<'_>) -> Result<(), Error> {
    if judges_slots(config) && !command.spec.keys.is_none() {
        one_slot(command, words)?;
    }
    Ok(())
}

/// Refuses what a connection may not send while messages come between its replies.
pub fn admit_listening(command: &Registered) -> Result<(), Error> {
    if LISTENING.contains(&command.full_name.as_str()) {
        return Ok(());
    }
    Err(Error::reply(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
         context",
        command.full_name
    )))
}

fn one_slot(command: &Registered, words: Words<'_>) -> Result<(), Error> {
    let mut slots = command.spec.keys.positions(words).filter_map(|(at, _)| words.get(at)).map(slot::of);
    let Some(first) = slots.next() else { return Ok(()) };
    if slots.all(|other| other == first) { Ok(()) } else { Err(Error::CrossSlot) }
}

fn unknown_command(words: Words<'_>) -> Error {
    let mut args = String::new();
    for i in 1..words.len() {
        if args.len() >= MAX_ECHO {
            break;
        }
        let room = MAX_ECHO - args.len();
        args.push_str(&format!("'{}' ", printable(words.get(i).unwrap_or(&[]), room)));
    }
    let name = printable(words.get(0).unwrap_or(&[]), MAX_ECHO);
    Error::reply(format!("ERR unknown command '{name}', with args beginning with: {args}"))
}

fn unknown_subcommand(container: &[u8], word: &[u8]) -> Error {
    let container = printable(&container.to_ascii_uppercase(), MAX_ECHO);
    Error::reply(format!("ERR unknown subcommand '{}'. Try {container} HELP.", printable(word, MAX_ECHO)))
}

/// The words of a client inside an error.
fn printable(word: &[u8], room: usize) -> String {
    shown(word.get(..room).unwrap_or(word))
}
