//! XGROUP and XACK: groups, their consumers, and what these are done with.

use super::{ids, no_group_of_key};
use crate::commands::help::help;
use crate::commands::subcommand_syntax;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group as Family, KeyFlags, Keys, Spec, WriteFn, session, write};
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, WriteCx};
use crate::reply::Reply;
use crate::types::stream::{Group, Id, Stream};

const INSERT: KeyFlags = KeyFlags::RW.or(KeyFlags::INSERT);

const fn about_group(name: &'static str, arity: Arity, flags: KeyFlags, run: WriteFn) -> Spec {
    write(name, arity, Keys::at(2, flags), run).group(Family::Stream).complexity("O(1)")
}

pub const SUBCOMMANDS: &[Spec] = &[
    about_group("create", Arity::AtLeast(5), INSERT, create)
        .denyoom()
        .since("5.0.0")
        .summary("Creates a consumer group."),
    about_group("createconsumer", Arity::Exactly(5), INSERT, create_consumer)
        .denyoom()
        .since("6.2.0")
        .summary("Creates a consumer in a group; replies with how many were created."),
    about_group("delconsumer", Arity::Exactly(5), super::DELETE, delete_consumer)
        .since("5.0.0")
        .complexity(
            "O(N) where N is the number of its pending entries, or of those of the group if they are many.",
        )
        .summary("Removes a consumer from a group; replies with how many entries it had pending."),
    about_group("destroy", Arity::Exactly(4), super::DELETE, destroy)
        .since("5.0.0")
        .summary("Removes a consumer group; replies with how many there were."),
    session("help", Arity::Exactly(2), help_text)
        .group(Family::Stream)
        .flags(Flags::LOADING.or(Flags::STALE))
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Describes the subcommands."),
    about_group("setid", Arity::AtLeast(5), super::UPDATE, set_id)
        .since("5.0.0")
        .summary("Sets the last ID that was delivered to a group."),
];

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "CREATE <key> <groupname> <id|$> [MKSTREAM] [ENTRIESREAD <entries-read>]",
            "    Creates a consumer group; MKSTREAM creates the stream, too.",
            "CREATECONSUMER <key> <groupname> <consumer>",
            "    Creates a consumer in a group.",
            "DELCONSUMER <key> <groupname> <consumer>",
            "    Removes a consumer from a group.",
            "DESTROY <key> <groupname>",
            "    Removes a group.",
            "SETID <key> <groupname> <id|$> [ENTRIESREAD <entries-read>]",
            "    Sets the last ID that was delivered to a group.",
        ],
    ))
}

fn no_key() -> Error {
    Error::reply(
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM \
         option to create an empty stream automatically.",
    )
}

/// The stream and a group of it that must be there.
fn open<'a>(cx: &mut WriteCx<'_>, key: &'a [u8], name: &'a [u8]) -> Result<(Stream<'a>, Group<'a>)> {
    let stream = Stream::open(cx, key)?.ok_or_else(no_key)?;
    let group = stream.group(cx, name)?.ok_or_else(|| no_group_of_key(name, key))?;
    Ok((stream, group))
}

/// What may follow the id.
#[derive(Default)]
struct Options {
    creates_stream: bool,
    read: Option<u64>,
}

impl Options {
    fn parse(mut args: Args<'_>, creates: bool) -> Result<Options> {
        let mut options = Options::default();
        while !args.is_empty() {
            if creates && args.keyword("MKSTREAM") {
                options.creates_stream = true;
            } else if args.left() > 1 && args.keyword("ENTRIESREAD") {
                let read = args.int()?;
                options.read = match u64::try_from(read) {
                    Ok(read) => Some(read),
                    Err(_) if read == -1 => None,
                    Err(_) => {
                        return Err(Error::reply("ERR value for ENTRIESREAD must be positive or -1").into());
                    }
                };
            } else {
                return Err(subcommand_syntax("XGROUP", args).into());
            }
        }
        Ok(options)
    }
}

fn create(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    /// All words, with every option once.
    const MAX_WORDS: usize = 8;
    let (key, name, word) = (args.key()?, args.next()?, args.next()?);
    let options = Options::parse(args, true)?;
    let mut stream = match (Stream::open(cx, key)?, options.creates_stream) {
        (Some(stream), _) => stream,
        (None, true) => Stream::open_or_create(cx, key)?,
        (None, false) => return Err(no_key().into()),
    };
    if args.words().len() > MAX_WORDS {
        return Err(subcommand_syntax("XGROUP", args).into());
    }
    let last = if word == b"$" { stream.state.last } else { ids::id(word, 0)? };
    if !stream.create_group(cx, name, last, options.read)? {
        return Err(Error::reply("BUSYGROUP Consumer Group name already exists").into());
    }
    stream.save(cx)?;
    cx.notify(Event::XGROUP_CREATE, key);
    Ok(Reply::OK)
}

fn set_id(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    /// All words, with the option.
    const MAX_WORDS: usize = 7;
    let (key, name, word) = (args.key()?, args.next()?, args.next()?);
    let options = Options::parse(args, false)?;
    let (stream, mut group) = open(cx, key, name)?;
    if args.words().len() > MAX_WORDS {
        return Err(subcommand_syntax("XGROUP", args).into());
    }
    group.state.last = if word == b"$" { stream.state.last } else { ids::open_id(word, 0)? };
    group.state.read = options.read;
    stream.save_group(cx, &mut group);
    cx.notify(Event::XGROUP_SETID, key);
    Ok(Reply::OK)
}

fn destroy(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name) = (args.key()?, args.next()?);
    let mut stream = Stream::open(cx, key)?.ok_or_else(no_key)?;
    let is_gone = stream.destroy_group(cx, name)?;
    if is_gone {
        stream.save(cx)?;
        cx.notify(Event::XGROUP_DESTROY, key);
    }
    Ok(Reply::flag(is_gone))
}

fn create_consumer(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name, consumer) = (args.key()?, args.next()?, args.next()?);
    let (stream, mut group) = open(cx, key, name)?;
    if group.find_consumer(cx, consumer)?.is_some() {
        return Ok(Reply::Integer(0));
    }
    group.create_consumer(cx, consumer);
    stream.save_group(cx, &mut group);
    cx.notify(Event::XGROUP_CREATECONSUMER, key);
    Ok(Reply::Integer(1))
}

fn delete_consumer(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name, consumer) = (args.key()?, args.next()?, args.next()?);
    let (stream, mut group) = open(cx, key, name)?;
    let Some(pending) = stream.delete_consumer(cx, &mut group, consumer)? else {
        return Ok(Reply::Integer(0));
    };
    stream.save_group(cx, &mut group);
    cx.notify(Event::XGROUP_DELCONSUMER, key);
    Ok(Reply::Integer(pending as i64))
}

pub fn xack(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name) = (args.key()?, args.next()?);
    let Some(stream) = Stream::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let Some(mut group) = stream.group(cx, name)? else { return Ok(Reply::Integer(0)) };
    let ids = args.rest().map(|word| ids::id(word, 0)).collect::<Result<Vec<Id>>>()?;
    cx.env.move_if_heavy(ids.len(), Env::IO_THREAD_MAX_ROWS)?;
    let mut acknowledged = 0;
    for id in ids {
        if let Some(pending) = group.pending(cx, id)? {
            group.release(cx, id, pending)?;
            acknowledged += 1;
        }
    }
    stream.save_group(cx, &mut group);
    Ok(Reply::Integer(acknowledged))
}
