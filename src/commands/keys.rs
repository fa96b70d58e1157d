//! Keys, whatever they hold: removing, asking, renaming and copying.

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Databases, KeyFlags, Keys, Spec, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Db, Env, Event, Meta, ReadCx, View as _, WriteCx, entry};
use crate::reply::Reply;
use crate::types;

use super::databases;

const MULTI_SHARD: &[&str] = &["request_policy:multi_shard", "response_policy:agg_sum"];
const REMOVE: KeyFlags = KeyFlags::RM.or(KeyFlags::DELETE);
const TAKE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);
const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);
const INSERT: KeyFlags = KeyFlags::OW.or(KeyFlags::INSERT);

pub const COMMANDS: &[Spec] = &[
    write("del", Arity::AtLeast(2), Keys::range(1, -1, 1, REMOVE), del)
        .tips(MULTI_SHARD)
        .acl(&["keyspace"])
        .since("1.0.0")
        .complexity("O(N) where N is the number of keys, whatever they hold.")
        .summary("Deletes keys; replies with how many there were."),
    write("unlink", Arity::AtLeast(2), Keys::range(1, -1, 1, REMOVE), del)
        .fast()
        .tips(MULTI_SHARD)
        .acl(&["keyspace"])
        .since("4.0.0")
        .complexity("O(N) where N is the number of keys, whatever they hold.")
        .summary(
            "Deletes keys, as DEL does: the space of big values is reclaimed in the background either way.",
        ),
    read("exists", Arity::AtLeast(2), Keys::range(1, -1, 1, KeyFlags::RO), exists)
        .fast()
        .tips(MULTI_SHARD)
        .acl(&["keyspace"])
        .since("1.0.0")
        .complexity("O(N) where N is the number of keys.")
        .summary("Counts how many of the keys exist; a key that is named twice counts twice."),
    read("touch", Arity::AtLeast(2), Keys::range(1, -1, 1, KeyFlags::RO), exists)
        .fast()
        .tips(MULTI_SHARD)
        .acl(&["keyspace"])
        .since("3.2.1")
        .complexity("O(N) where N is the number of keys.")
        .summary("Reads keys for no other purpose; replies with how many exist."),
    read("type", Arity::Exactly(2), Keys::at(1, KeyFlags::RO), type_of)
        .fast()
        .acl(&["keyspace"])
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Names the type of what a key holds."),
    write("rename", Arity::Exactly(3), Keys::at(1, TAKE).and(Keys::at(2, OVERWRITE)), rename)
        .acl(&["keyspace"])
        .since("1.0.0")
        .complexity(
            "O(1) for small strings, O(N) for bigger values, whose rows are written anew under the new name.",
        )
        .summary("Renames a key; what the new name held is gone."),
    write("renamenx", Arity::Exactly(3), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), renamenx)
        .fast()
        .acl(&["keyspace"])
        .since("1.0.0")
        .complexity(
            "O(1) for small strings, O(N) for bigger values, whose rows are written anew under the new name.",
        )
        .summary("Renames a key unless the new name is taken."),
    write("copy", Arity::AtLeast(3), Keys::at(1, READ).and(Keys::at(2, OVERWRITE)), copy)
        .databases(Databases::OwnAndOption("DB", 3))
        .denyoom()
        .reads_sources()
        .acl(&["keyspace"])
        .since("6.2.0")
        .complexity("O(1) for small strings, O(N) for bigger values.")
        .summary("Copies what a key holds, and its expiry, to another key or database."),
];

/// Deleting is one metadata write per key, so DEL has nothing to do that UNLINK could put off.
fn del(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    let mut deleted = 0;
    for key in args.rest() {
        let found = entry::find(cx, key)?;
        deleted += i64::from(found.exists());
        entry::remove(cx, &found)?;
    }
    Ok(Reply::Integer(deleted))
}

fn exists(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    let mut count = 0;
    for key in args.rest() {
        count += i64::from(entry::find_counted(cx, key)?.exists());
        cx.arena().clear();
    }
    Ok(Reply::Integer(count))
}

fn type_of(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    let name = |meta: &Meta| entry::type_name(&meta.header, cx.bytes(meta.rest));
    Ok(Reply::Simple(found.live().map_or("none", name)))
}

fn rename(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    move_name(cx, args, true).map(|_| Reply::OK)
}

fn renamenx(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    move_name(cx, args, false).map(Reply::flag)
}

/// Whether the key has the new name now by this command's doing.
fn move_name(cx: &mut WriteCx<'_>, mut args: Args<'_>, replace: bool) -> Result<bool> {
    let (old, new) = (args.key()?, args.key()?);
    let from = entry::find(cx, old)?;
    if !from.exists() {
        return Err(Error::NoSuchKey.into());
    }
    if old == new {
        return Ok(false);
    }
    let to = entry::find(cx, new)?;
    if to.exists() && !replace {
        return Ok(false);
    }
    types::replace_value(cx, &from, &to)?;
    entry::take_away(cx, &from)?;
    cx.notify(Event::RENAME_FROM, old);
    cx.notify(Event::RENAME_TO, new);
    Ok(true)
}

fn copy(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (old, new) = (args.key()?, args.key()?);
    let Options { db, replace } = copy_options(cx, args)?;
    let source = cx.env.db;
    if cx.env.cluster_enabled && (source.logical != 0 || db.logical != 0) {
        return Err(Error::reply("ERR Copying to another database is not allowed in cluster mode").into());
    }
    if old == new && source.logical == db.logical {
        return Err(databases::same_object().into());
    }
    let from = entry::find_counted(&mut cx.sources(), old)?;
    if !from.exists() {
        return Ok(Reply::Integer(0));
    }
    let to = entry::find_in(cx, db, new)?;
    if to.exists() && !replace {
        return Ok(Reply::Integer(0));
    }
    types::replace_value(cx, &from, &to)?;
    cx.notify_in(db, Event::COPY_TO, new);
    Ok(Reply::Integer(1))
}

struct Options {
    db: Db,
    replace: bool,
}

fn copy_options(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Options> {
    let mut options = Options { db: cx.env.db, replace: false };
    while !args.is_empty() {
        if args.keyword("replace") {
            options.replace = true;
        } else if args.left() >= 2 && args.keyword("db") {
            options.db = databases::index(cx, args.next()?)?;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests;
