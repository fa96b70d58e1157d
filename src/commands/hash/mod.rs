//! Hashes.

pub mod expire;
mod import;
pub mod random;

#[cfg(test)]
mod tests;

use crate::commands::scan::{cursor, elements};
use crate::dispatch::args::Args;
use crate::dispatch::spec::{
    Arity, ElementHint, Group, KeyFlags, Keys, ReadFn, Spec, WriteFn, container, read, write,
};
use crate::error::{Error, Result};
use crate::keyspace::{Event, ReadCx, View as _, WriteCx};
use crate::number::extended::Extended;
use crate::reply::{Packer, Reply, Shape};
use crate::types::hash::{self, Check, Field, Maker, Ttl};

const LOOK: KeyFlags = KeyFlags::RO;
const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
const CHANGE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
const INSERT: KeyFlags = KeyFlags::RW.or(KeyFlags::INSERT);
const REMOVE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);
const TAKE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);

const ANY_ORDER: &[&str] = &["nondeterministic_output_order"];
/// Where the first field stands behind `EX time FIELDS n`, as it mostly does: it is only asked for ahead.
const FIELD_BEHIND_TIME: u8 = 6;

const WHOLE: &str = "O(N) where N is the number of fields.";
const NAMED: &str = "O(N) where N is the number of fields that are named.";

pub const COMMANDS: &[Spec] = &[
    container("himport", Arity::AtLeast(2), import::SUBCOMMANDS)
        .group(Group::Hash)
        .since("8.10.0")
        .complexity("Depends on subcommand.")
        .summary("Sets hashes of the same fields without naming the fields each time."),
    write("hdel", Arity::AtLeast(3), Keys::at(1, REMOVE), hdel)
        .element_at(2)
        .group(Group::Hash)
        .fast()
        .since("2.0.0")
        .complexity(NAMED)
        .summary(
            "Deletes fields of a hash; replies with how many there were. The key goes with its last field.",
        ),
    read("hexists", Arity::Exactly(3), Keys::at(1, LOOK), hexists)
        .element_at(2)
        .group(Group::Hash)
        .fast()
        .since("2.0.0")
        .complexity("O(1)")
        .summary("Tells whether a hash has a field."),
    read("hget", Arity::Exactly(3), Keys::at(1, READ), hget)
        .element_at(2)
        .group(Group::Hash)
        .fast()
        .since("2.0.0")
        .complexity("O(1)")
        .summary("Returns the value of a field."),
    read("hgetall", Arity::Exactly(2), Keys::at(1, READ), hgetall)
        .hint(ElementHint::Any)
        .group(Group::Hash)
        .since("2.0.0")
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all fields and values of a hash, as of one moment."),
    write("hincrby", Arity::Exactly(4), Keys::at(1, CHANGE), hincrby)
        .element_at(2)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("2.0.0")
        .complexity("O(1)")
        .summary("Adds a number to the integer that a field spells."),
    write("hincrbyfloat", Arity::Exactly(4), Keys::at(1, CHANGE), hincrbyfloat)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("2.6.0")
        .complexity("O(1)")
        .summary("Adds a number to the floating point number that a field spells."),
    read("hkeys", Arity::Exactly(2), Keys::at(1, READ), hkeys)
        .hint(ElementHint::Any)
        .group(Group::Hash)
        .since("2.0.0")
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all fields of a hash, as of one moment."),
    read("hlen", Arity::Exactly(2), Keys::at(1, LOOK), hlen)
        .group(Group::Hash)
        .fast()
        .since("2.0.0")
        .complexity("O(1)")
        .summary("Counts the fields of a hash."),
    read("hmget", Arity::AtLeast(3), Keys::at(1, READ), hmget)
        .group(Group::Hash)
        .fast()
        .since("2.0.0")
        .complexity(NAMED)
        .summary("Returns the values of several fields."),
    write("hmset", Arity::AtLeast(4), Keys::at(1, UPDATE), hmset)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("2.0.0")
        .complexity(NAMED)
        .summary("Sets fields of a hash.")
        .replaced_by("4.0.0", "`HSET` with multiple field-value pairs"),
    read("hrandfield", Arity::AtLeast(2), Keys::at(1, READ), random::hrandfield)
        .hint(ElementHint::Any)
        .group(Group::Hash)
        .since("6.2.0")
        .tips(&["nondeterministic_output"])
        .complexity("O(N) where N is the number of fields that are returned, whatever the size of the hash.")
        .summary("Picks fields of a hash at random."),
    read("hscan", Arity::AtLeast(3), Keys::at(1, READ), hscan)
        .group(Group::Hash)
        .since("2.8.0")
        .tips(&["nondeterministic_output"])
        .complexity("O(1) for every call, O(N) for a walk over all N fields.")
        .summary("Walks the fields of a hash in steps; what is there throughout is returned."),
    write("hset", Arity::AtLeast(4), Keys::at(1, UPDATE), hset)
        .element_at(2)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("2.0.0")
        .complexity(NAMED)
        .summary("Sets fields of a hash; replies with how many are new."),
    write("hsetnx", Arity::Exactly(4), Keys::at(1, INSERT), hsetnx)
        .element_at(2)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("2.0.0")
        .complexity("O(1)")
        .summary("Sets a field of a hash unless it exists."),
    read("hstrlen", Arity::Exactly(3), Keys::at(1, LOOK), hstrlen)
        .element_at(2)
        .group(Group::Hash)
        .fast()
        .since("3.2.0")
        .complexity("O(1)")
        .summary("Tells the length of the value of a field."),
    read("hvals", Arity::Exactly(2), Keys::at(1, READ), hvals)
        .hint(ElementHint::Any)
        .group(Group::Hash)
        .since("2.0.0")
        .tips(ANY_ORDER)
        .complexity(WHOLE)
        .summary("Returns all values of a hash, as of one moment."),
    expires("hexpire", expire::hexpire)
        .summary("Lets fields expire after so many seconds; a time that has passed deletes them."),
    expires("hpexpire", expire::hpexpire)
        .summary("Lets fields expire after so many milliseconds; a time that has passed deletes them."),
    expires("hexpireat", expire::hexpireat)
        .summary("Lets fields expire at a time in seconds since 1970; one that has passed deletes them."),
    expires("hpexpireat", expire::hpexpireat).summary(
        "Lets fields expire at a time in milliseconds since 1970; one that has passed deletes them.",
    ),
    tells_expiry("httl", expire::httl)
        .tips(&["nondeterministic_output"])
        .summary("Tells in how many seconds fields expire."),
    tells_expiry("hpttl", expire::hpttl)
        .tips(&["nondeterministic_output"])
        .summary("Tells in how many milliseconds fields expire."),
    tells_expiry("hexpiretime", expire::hexpiretime)
        .summary("Tells when fields expire, in seconds since 1970."),
    tells_expiry("hpexpiretime", expire::hpexpiretime)
        .summary("Tells when fields expire, in milliseconds since 1970."),
    write("hpersist", Arity::AtLeast(5), Keys::at(1, UPDATE), expire::hpersist)
        .group(Group::Hash)
        .fast()
        .since("7.4.0")
        .complexity(NAMED)
        .summary("Removes the expiry of fields."),
    write("hgetex", Arity::AtLeast(5), Keys::at(1, CHANGE), expire::hgetex)
        .element_at(FIELD_BEHIND_TIME)
        .key_note("RW and UPDATE because it changes the TTL")
        .group(Group::Hash)
        .fast()
        .since("8.0.0")
        .complexity(NAMED)
        .summary("Returns the values of fields and sets or removes their expiry."),
    write("hsetex", Arity::AtLeast(6), Keys::at(1, UPDATE), expire::hsetex)
        .element_at(FIELD_BEHIND_TIME)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("8.0.0")
        .complexity(NAMED)
        .summary("Sets fields together with their expiry, all of them or none."),
    write("hgetdel", Arity::AtLeast(5), Keys::at(1, TAKE), expire::hgetdel)
        .group(Group::Hash)
        .fast()
        .since("8.0.0")
        .complexity(NAMED)
        .summary("Returns the values of fields and deletes them. The key goes with its last field."),
];

const fn expires(name: &'static str, run: WriteFn) -> Spec {
    write(name, Arity::AtLeast(6), Keys::at(1, UPDATE), run)
        .element_at(5)
        .group(Group::Hash)
        .denyoom()
        .fast()
        .since("7.4.0")
        .complexity(NAMED)
}

const fn tells_expiry(name: &'static str, run: ReadFn) -> Spec {
    read(name, Arity::AtLeast(5), Keys::at(1, READ), run)
        .element_at(4)
        .group(Group::Hash)
        .fast()
        .since("7.4.0")
        .complexity(NAMED)
}

fn hset(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    Ok(Reply::Integer(set(cx, args, "hset")?))
}

/// HSET with the reply of older clients.
fn hmset(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    set(cx, args, "hmset").map(|_| Reply::OK)
}

fn set(cx: &mut WriteCx<'_>, mut args: Args<'_>, name: &'static str) -> Result<i64> {
    let key = args.key()?;
    let pairs = args.rest_in_pairs().ok_or_else(|| Error::Arity(name.into()))?;
    let added = hash::set(cx, key, Maker::Redis, Ttl::Clear, pairs.clone())?;
    cx.notify_fields(Event::HSET, key, pairs.map(|(field, _)| field));
    Ok(added as i64)
}

fn hsetnx(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field, value) = (args.key()?, args.next()?, args.next()?);
    let added = hash::set_new(cx, key, Maker::Redis, (field, value), Check::None)?;
    if added {
        cx.notify_fields(Event::HSET, key, [field]);
    }
    Ok(Reply::flag(added))
}

fn hdel(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    Ok(Reply::Integer(hash::delete(cx, key, args.rest())? as i64))
}

fn hget(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    Ok(hash::get(cx, key, field)?.map_or(Reply::Nil, Reply::span))
}

fn hmget(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let mut values = Packer::begin(cx.arena());
    let done = hash::get_each(cx, key, args.rest(), &mut |value| match value {
        Some((_, value)) => values.push(value),
        None => values.push_nil(),
    });
    let reply = values.finish(cx.arena(), Shape::Array);
    done.map(|()| reply)
}

fn hexists(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    Ok(Reply::flag(hash::get(cx, key, field)?.is_some()))
}

fn hstrlen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    Ok(Reply::Integer(hash::get(cx, key, field)?.map_or(0, |value| value.len as i64)))
}

fn hlen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    Ok(Reply::Integer(hash::len(cx, args.key()?)? as i64))
}

fn hincrby(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field, by) = (args.key()?, args.next()?, args.int()?);
    let sum = hash::increment(cx, key, field, by)?;
    cx.notify_fields(Event::HINCRBY, key, [field]);
    Ok(Reply::Integer(sum))
}

fn hincrbyfloat(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    let by = Extended::parse(args.next()?).ok_or(Error::NotFloat)?;
    if by == Extended::Infinite {
        return Err(Error::reply("ERR value is NaN or Infinity").into());
    }
    let sum = hash::increment_float(cx, key, field, by)?;
    cx.notify_fields(Event::HINCRBYFLOAT, key, [field]);
    Ok(cx.bulk(&sum))
}

fn hgetall(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Map, |packer, field| {
        packer.push(field.name);
        packer.push(field.value);
    })
}

fn hkeys(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Array, |packer, field| packer.push(field.name))
}

fn hvals(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    all(cx, args, Shape::Array, |packer, field| packer.push(field.value))
}

/// Every field of a hash, as `pack` shows it.
pub fn all(
    cx: &mut ReadCx<'_>,
    mut args: Args<'_>,
    shape: Shape,
    pack: impl Fn(&mut Packer, Field<'_>),
) -> Result<Reply> {
    let found = hash::find(cx, args.key()?)?;
    let mut packer = Packer::begin(cx.arena());
    let done = found.map_or(Ok(()), |all| hash::each(cx, &all, &mut |field| pack(&mut packer, field)));
    let reply = packer.finish(cx.arena(), shape);
    done.map(|()| reply)
}

fn hscan(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let cursor = cursor(args.next()?)?;
    let Some(all) = hash::find(cx, key)? else { return Ok(elements::nothing()) };
    let options = elements::Options::parse(args, Some("novalues"))?;
    elements::reply(cx, |cx, packer| {
        hash::page(cx, &all, cursor, options.count, &mut |field| {
            if options.admit(field.name) {
                packer.push(field.name);
                if !options.no_values {
                    packer.push(field.value);
                }
            }
        })
    })
}
