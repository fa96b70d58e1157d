//! Databases: counting, flushing, swapping, and moving a key from one to another. SELECT is the connection's.

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Databases, Group, KeyFlags, Keys, Spec, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Db, Event, ReadCx, View, WriteCx, entry, shared};
use crate::number;
use crate::reply::Reply;
use crate::types;

const MOVED: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
const ALL_SUCCEED: &[&str] = &["request_policy:all_shards", "response_policy:all_succeeded"];

pub const COMMANDS: &[Spec] = &[
    write("move", Arity::Exactly(3), Keys::at(1, MOVED), move_key)
        .databases(Databases::OwnAndWords(&[2]))
        .fast()
        .acl(&["keyspace"])
        .since("1.0.0")
        .complexity("O(1) for small strings, O(N) for bigger values.")
        .summary("Moves a key to another database unless the key exists there."),
    write("swapdb", Arity::Exactly(3), Keys::NONE, swapdb)
        .databases(Databases::Words(&[1, 2]))
        .locks_everything()
        .group(Group::Server)
        .fast()
        .acl(&["keyspace", "dangerous"])
        .since("4.0.0")
        .complexity("O(1)")
        .summary("Exchanges the contents of two databases."),
    write("flushdb", Arity::AtLeast(1), Keys::NONE, flushdb)
        .locks_everything()
        .group(Group::Server)
        .acl(&["keyspace", "dangerous"])
        .tips(ALL_SUCCEED)
        .since("1.0.0")
        .complexity("O(1); the space is reclaimed in the background.")
        .summary("Removes every key of the selected database."),
    write("flushall", Arity::AtLeast(1), Keys::NONE, flushall)
        .databases(Databases::Every)
        .locks_everything()
        .group(Group::Server)
        .acl(&["keyspace", "dangerous"])
        .tips(ALL_SUCCEED)
        .since("1.0.0")
        .complexity("O(N) where N is the number of databases; the space is reclaimed in the background.")
        .summary("Removes every key of every database."),
    read("dbsize", Arity::Exactly(1), Keys::NONE, dbsize)
        .locks_everything()
        .group(Group::Server)
        .fast()
        .acl(&["keyspace"])
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"])
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Counts the keys of the selected database."),
];

fn move_key(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    if cx.env.cluster_enabled {
        return Err(Error::reply("ERR MOVE is not allowed in cluster mode").into());
    }
    let key = args.key()?;
    let db = index(cx, args.next()?)?;
    if db.logical == cx.env.db.logical {
        return Err(same_object().into());
    }
    let from = entry::find(cx, key)?;
    if !from.exists() {
        return Ok(Reply::Integer(0));
    }
    let to = entry::find_in(cx, db, key)?;
    if to.exists() {
        return Ok(Reply::Integer(0));
    }
    types::copy_value(cx, &from, &to, from.expire_at_ms())?;
    entry::take_away(cx, &from)?;
    cx.notify(Event::MOVE_FROM, key);
    cx.notify_in(db, Event::MOVE_TO, key);
    Ok(Reply::Integer(1))
}

fn swapdb(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    if cx.env.cluster_enabled {
        return Err(Error::reply("ERR SWAPDB is not allowed in cluster mode").into());
    }
    let mut next = |refusal: &'static str| -> Result<i64> {
        small_int(args.next()?).map_err(|_| Error::reply(refusal).into())
    };
    let first = next("ERR invalid first DB index")?;
    let second = next("ERR invalid second DB index")?;
    let first = cx.database(first).ok_or(Error::DbOutOfRange)?;
    let second = cx.database(second).ok_or(Error::DbOutOfRange)?;
    if first.logical != second.logical {
        shared::swap(cx, first, second);
    }
    Ok(Reply::OK)
}

fn flushdb(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    check_mode(args)?;
    let db = cx.env.db;
    flush(cx, db)
}

fn flushall(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    check_mode(args)?;
    let keyspace = cx.env.keyspace;
    for db in keyspace.shared.databases() {
        let db = cx.database(i64::from(db.logical)).unwrap_or(db);
        flush(cx, db)?;
    }
    Ok(Reply::OK)
}

/// SYNC and ASYNC ask for the same here: all that is done at once is to give the database a new number.
fn check_mode(mut args: Args<'_>) -> Result<()> {
    if args.left() == 1 && (args.keyword("sync") || args.keyword("async")) { Ok(()) } else { args.end() }
}

/// Nothing is written for a database that is empty.
fn flush(cx: &mut WriteCx<'_>, db: Db) -> Result<Reply> {
    if shared::key_count(cx, db)? != 0 {
        shared::flush(cx, db)?;
    }
    Ok(Reply::OK)
}

fn dbsize(cx: &mut ReadCx<'_>, _: Args<'_>) -> Result<Reply> {
    let db = cx.env.db;
    Ok(Reply::Integer(shared::key_count(cx, db)? as i64))
}

/// A database by the number a client gave.
pub fn index(cx: &mut impl View, word: &[u8]) -> Result<Db> {
    cx.database(small_int(word)?).ok_or_else(|| Error::DbOutOfRange.into())
}

/// What Redis reads as a C int.
fn small_int(word: &[u8]) -> Result<i64> {
    let n = number::parse_i64(word).ok_or(Error::NotInteger)?;
    if i32::try_from(n).is_err() {
        return Err(
            Error::reply("ERR value is out of range, value must between -2147483648 and 2147483647").into()
        );
    }
    Ok(n)
}

pub fn same_object() -> Error {
    Error::reply("ERR source and destination objects are the same")
}

#[cfg(test)]
mod tests;
