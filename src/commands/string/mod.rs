//! Strings: the table, and the commands over whole values and parts of them.

mod condition;
mod increx;
mod lcs;
mod number;
mod options;

#[cfg(test)]
mod tests;

use std::ops::Range;

use self::options::{Existing, Expiry, Since, Ttl, Unit};
use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Group, KeyFlags, Keys, Spec, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Env, Event, ReadCx, View, WriteCx, entry};
use crate::reply::{Packer, Reply, Shape};
use crate::types::string;

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const CHANGE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);
const INSERT: KeyFlags = KeyFlags::OW.or(KeyFlags::INSERT);

const RANGE_COST: &str = "O(N) where N is the length of the part that is returned.";

pub const COMMANDS: &[Spec] = &[
    write("append", Arity::Exactly(3), Keys::at(1, KeyFlags::RW.or(KeyFlags::INSERT)), append)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("2.0.0")
        .complexity("O(1) for a short tail, whatever the length of the string.")
        .summary("Appends to a string, which is created if need be."),
    write(
        "delex",
        Arity::AtLeast(2),
        Keys::at(1, KeyFlags::RW.or(KeyFlags::DELETE).or(KeyFlags::VARIABLE_FLAGS)),
        condition::delex,
    )
    .group(Group::String)
    .fast()
    .since("8.4.0")
    .complexity("O(1), or O(N) where N is the length of a string whose digest is compared.")
    .summary("Deletes a key if its value, or the digest of it, is or is not what is expected."),
    write("delifeq", Arity::Exactly(3), Keys::at(1, KeyFlags::RM.or(KeyFlags::DELETE)), condition::delifeq)
        .group(Group::String)
        .fast()
        .since("Valkey 9.0.0")
        .complexity("O(1)")
        .summary("Deletes a string if it has this value."),
    read("digest", Arity::Exactly(2), Keys::at(1, READ), condition::digest)
        .group(Group::String)
        .fast()
        .since("8.4.0")
        .complexity("O(N) where N is the length of the string.")
        .summary("Returns the XXH3 hash of a string as 16 hexadecimal digits."),
    write("increx", Arity::AtLeast(2), Keys::at(1, CHANGE), increx::increx)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("8.8.0")
        .complexity("O(1)")
        .summary("Adds to the number that a string spells, within bounds, and sets or removes its expiry."),
    write("decr", Arity::Exactly(2), Keys::at(1, CHANGE), number::decr)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Subtracts one from the integer that a string spells."),
    write("decrby", Arity::Exactly(3), Keys::at(1, CHANGE), number::decrby)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Subtracts a number from the integer that a string spells."),
    read("get", Arity::Exactly(2), Keys::at(1, READ), get)
        .group(Group::String)
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Returns the value of a string."),
    write(
        "getdel",
        Arity::Exactly(2),
        Keys::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
        getdel,
    )
    .group(Group::String)
    .fast()
    .since("6.2.0")
    .complexity("O(1)")
    .summary("Returns the value of a string and deletes the key."),
    write("getex", Arity::AtLeast(2), Keys::at(1, CHANGE), getex)
        .key_note("RW and UPDATE because it changes the TTL")
        .group(Group::String)
        .fast()
        .since("6.2.0")
        .complexity("O(1)")
        .summary("Returns the value of a string and sets or removes its expiry."),
    read("getrange", Arity::Exactly(4), Keys::at(1, READ), getrange)
        .group(Group::String)
        .since("2.4.0")
        .complexity(RANGE_COST)
        .summary("Returns a part of a string."),
    write("getset", Arity::Exactly(3), Keys::at(1, CHANGE), getset)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Sets a string and returns its old value.")
        .replaced_by("6.2.0", "`SET` with the `!GET` argument"),
    write("incr", Arity::Exactly(2), Keys::at(1, CHANGE), number::incr)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Adds one to the integer that a string spells."),
    write("incrby", Arity::Exactly(3), Keys::at(1, CHANGE), number::incrby)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Adds a number to the integer that a string spells."),
    write("incrbyfloat", Arity::Exactly(3), Keys::at(1, CHANGE), number::incrbyfloat)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("2.6.0")
        .complexity("O(1)")
        .summary("Adds a number to the floating point number that a string spells."),
    read("lcs", Arity::AtLeast(3), Keys::range(1, 2, 1, READ), lcs::lcs)
        .group(Group::String)
        .since("7.0.0")
        .complexity("O(N*M) where N and M are the lengths of the two strings.")
        .summary("Finds the longest common subsequence of two strings."),
    read("mget", Arity::AtLeast(2), Keys::range(1, -1, 1, READ), mget)
        .group(Group::String)
        .fast()
        .since("1.0.0")
        .tips(&["request_policy:multi_shard"])
        .complexity("O(N) where N is the number of keys.")
        .summary("Returns the values of several strings."),
    write("mset", Arity::AtLeast(3), Keys::range(1, -1, 2, OVERWRITE), mset)
        .group(Group::String)
        .denyoom()
        .since("1.0.1")
        .tips(&["request_policy:multi_shard", "response_policy:all_succeeded"])
        .complexity("O(N) where N is the number of keys.")
        .summary("Sets several strings at once."),
    write("msetex", Arity::AtLeast(4), Keys::counted_pairs(1, OVERWRITE), msetex)
        .group(Group::String)
        .denyoom()
        .since("8.4.0")
        .tips(&["request_policy:multi_shard", "response_policy:all_succeeded"])
        .complexity("O(N) where N is the number of keys.")
        .summary("Sets several strings at once, with one expiry, if none or all of the keys exist."),
    write("msetnx", Arity::AtLeast(3), Keys::range(1, -1, 2, INSERT), msetnx)
        .group(Group::String)
        .denyoom()
        .since("1.0.1")
        .tips(&["request_policy:multi_shard", "response_policy:agg_min"])
        .complexity("O(N) where N is the number of keys.")
        .summary("Sets several strings at once unless one of the keys exists."),
    write("psetex", Arity::Exactly(4), Keys::at(1, OVERWRITE), psetex)
        .group(Group::String)
        .batches_alone()
        .denyoom()
        .since("2.6.0")
        .complexity("O(1)")
        .summary("Sets a string that expires, in milliseconds."),
    write("set", Arity::AtLeast(3), Keys::at(1, CHANGE.or(KeyFlags::VARIABLE_FLAGS)), set)
        .key_note("RW and ACCESS due to the optional `GET` argument")
        .group(Group::String)
        .batches_alone()
        .denyoom()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Sets a string, whatever the key held before."),
    write("setex", Arity::Exactly(4), Keys::at(1, OVERWRITE), setex)
        .group(Group::String)
        .batches_alone()
        .denyoom()
        .since("2.0.0")
        .complexity("O(1)")
        .summary("Sets a string that expires, in seconds."),
    write("setnx", Arity::Exactly(3), Keys::at(1, INSERT), setnx)
        .group(Group::String)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Sets a string unless the key exists."),
    write("setrange", Arity::Exactly(4), Keys::at(1, KeyFlags::RW.or(KeyFlags::UPDATE)), setrange)
        .group(Group::String)
        .denyoom()
        .since("2.2.0")
        .complexity("O(N) where N is the length of the part that is written.")
        .summary("Overwrites a part of a string, which grows as needed."),
    read("strlen", Arity::Exactly(2), Keys::at(1, KeyFlags::RO), strlen)
        .group(Group::String)
        .fast()
        .since("2.2.0")
        .complexity("O(1)")
        .summary("Returns the length of a string."),
    read("substr", Arity::Exactly(4), Keys::at(1, READ), getrange)
        .group(Group::String)
        .since("1.0.0")
        .complexity(RANGE_COST)
        .summary("Returns a part of a string.")
        .replaced_by("2.0.0", "`GETRANGE`"),
];

fn get(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    bulk(cx, &found)
}

/// The whole value of a key that must be a string if it exists.
fn bulk(cx: &mut impl View, found: &Entry<'_>) -> Result<Reply> {
    match string::value(found)? {
        None => Ok(Reply::Nil),
        Some(value) => part(cx, &value, 0..value.len()),
    }
}

/// A part of a value. A long one goes into chunks as it is read.
fn part(cx: &mut impl View, value: &string::Value, range: Range<u64>) -> Result<Reply> {
    let range = range.start.min(value.len())..range.end.min(value.len());
    if range.end - range.start <= Env::IO_THREAD_MAX_BYTES as u64 {
        return Ok(Reply::span(value.read_range(cx, range)?));
    }
    cx.env().move_if_heavy(usize::MAX, Env::IO_THREAD_MAX_BYTES)?;
    let mut packer = Packer::beside(cx.arena());
    let packed = push_part(cx, &mut packer, value, range);
    let reply = packer.finish(cx.arena(), Shape::One);
    packed.map(|()| reply)
}

fn push_part(cx: &impl View, packer: &mut Packer, value: &string::Value, range: Range<u64>) -> Result<()> {
    packer.push_parts(range.end - range.start, |part, out| {
        value.read_into(cx, range.start + part.start..range.start + part.end, out)
    })
}

fn mget(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    let mut found = entry::find_each(cx, args.rest())?;
    found.iter_mut().try_for_each(|found| entry::meet(cx, found))?;
    // What is no string counts as absent.
    let values: Vec<_> = found.iter().map(|found| string::value(found).ok().flatten()).collect();
    let total: u64 = values.iter().flatten().map(string::Value::len).sum();
    cx.env.move_if_heavy(usize::try_from(total).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_BYTES)?;
    if total > Env::IO_THREAD_MAX_BYTES as u64 {
        let mut packer = Packer::beside(cx.arena());
        let packed = packer.ask(total).and_then(|()| {
            values.iter().try_for_each(|value| match value {
                Some(value) => push_part(cx, &mut packer, value, 0..value.len()),
                None => {
                    packer.push_nil();
                    Ok(())
                }
            })
        });
        let reply = packer.finish(cx.arena(), Shape::Array);
        return packed.map(|()| reply);
    }
    let replies = values.iter().map(|value| match value {
        None => Ok(Reply::Nil),
        Some(value) => value.read(cx).map(Reply::span),
    });
    replies.collect::<Result<_>>().map(Reply::Array)
}

fn set(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, value) = (args.key()?, args.next()?);
    if args.is_empty() {
        let found = entry::find(cx, key)?;
        string::replace(cx, &found, value, 0)?;
        cx.notify(Event::SET, key);
        return Ok(Reply::OK);
    }
    let options = options::of_set(&mut args)?;
    let expire_at_ms = match options.ttl {
        Ttl::At(expiry) => Some(expiry.at_ms(cx.env.now_ms, "set")?),
        _ => None,
    };
    let found = if options.get { entry::find_counted(cx, key)? } else { entry::find(cx, key)? };
    let old = if options.get { bulk(cx, &found)? } else { Reply::Nil };
    let admitted = match options.condition {
        None => options.existing.admits(&found),
        Some(condition) => {
            let value = string::value(&found)?;
            condition.holds(cx, value.as_ref())?
        }
    };
    if !admitted {
        return Ok(old);
    }
    match expire_at_ms {
        Some(expire_at_ms) => string::set_expiring(cx, &found, value, expire_at_ms)?,
        None => {
            let kept = if options.ttl == Ttl::Keep { found.expire_at_ms() } else { 0 };
            string::replace(cx, &found, value, kept)?;
            cx.notify(Event::SET, key);
        }
    }
    Ok(if options.get { old } else { Reply::OK })
}

fn setex(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    set_expiring(cx, args, Unit::Seconds, "setex")
}

fn psetex(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    set_expiring(cx, args, Unit::Millis, "psetex")
}

fn set_expiring(
    cx: &mut WriteCx<'_>,
    mut args: Args<'_>,
    unit: Unit,
    command: &'static str,
) -> Result<Reply> {
    let (key, text, value) = (args.key()?, args.next()?, args.next()?);
    let expire_at_ms = Expiry { text, unit, since: Since::Now }.at_ms(cx.env.now_ms, command)?;
    let found = entry::find(cx, key)?;
    string::set_expiring(cx, &found, value, expire_at_ms)?;
    Ok(Reply::OK)
}

fn setnx(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find(cx, args.key()?)?;
    let absent = !found.exists();
    if absent {
        string::replace(cx, &found, args.next()?, 0)?;
        cx.notify(Event::SET, found.key);
    }
    Ok(Reply::flag(absent))
}

fn mset(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    let pairs = args.rest_in_pairs().ok_or_else(|| Error::Arity("mset".into()))?;
    set_all(cx, args, pairs)?;
    Ok(Reply::OK)
}

fn msetnx(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    let pairs = args.rest_in_pairs().ok_or_else(|| Error::Arity("msetnx".into()))?;
    cx.env.move_if_heavy(pairs.len(), Env::IO_THREAD_MAX_ROWS)?;
    for (key, _) in pairs.clone() {
        if entry::find(cx, key)?.exists() {
            return Ok(Reply::flag(false));
        }
    }
    set_all(cx, args, pairs)?;
    Ok(Reply::flag(true))
}

fn msetex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let count = number_of_keys(args.next()?)?;
    let words = count.checked_mul(2).filter(|words| *words <= args.left()).ok_or(Error::Syntax)?;
    let (words, mut rest) = args.split_at(words);
    let (existing, ttl) = options::of_msetex(&mut rest)?;
    let expire_at_ms = match ttl {
        Ttl::At(expiry) => Some(expiry.at_ms(cx.env.now_ms, "msetex")?),
        _ => None,
    };
    cx.env.move_if_heavy(count, Env::IO_THREAD_MAX_ROWS)?;
    cx.env.move_if_heavy(args.words().bytes(), Env::IO_THREAD_MAX_BYTES)?;
    if existing != Existing::Either {
        for key in words.clone().step_by(2) {
            cx.arena().clear();
            if !existing.admits(&entry::find(cx, key)?) {
                return Ok(Reply::flag(false));
            }
        }
    }
    // One after the other: a key may be named twice.
    let values = words.clone().skip(1).step_by(2);
    for (key, value) in words.step_by(2).zip(values) {
        cx.arena().clear();
        let found = entry::find(cx, key)?;
        if let Some(at_ms) = expire_at_ms {
            string::set_expiring(cx, &found, value, at_ms)?;
            continue;
        }
        let kept_ms = if ttl == Ttl::Keep { found.expire_at_ms() } else { 0 };
        string::replace(cx, &found, value, kept_ms)?;
        cx.notify(Event::SET, key);
    }
    Ok(Reply::flag(true))
}

fn number_of_keys(word: &[u8]) -> Result<usize> {
    let count = crate::number::parse_i64(word).and_then(|count| i32::try_from(count).ok());
    let count = count.and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
    count.ok_or_else(|| Error::reply("ERR invalid numkeys value or out of range").into())
}

fn set_all<'a>(
    cx: &mut WriteCx<'_>,
    args: Args<'_>,
    pairs: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<()> {
    cx.env.move_if_heavy(pairs.len(), Env::IO_THREAD_MAX_ROWS)?;
    cx.env.move_if_heavy(args.words().bytes(), Env::IO_THREAD_MAX_BYTES)?;
    // One after the other: a key may be named twice.
    for (key, value) in pairs {
        cx.arena().clear();
        let found = entry::find(cx, key)?;
        string::replace(cx, &found, value, 0)?;
        cx.notify(Event::SET, key);
    }
    Ok(())
}

fn getset(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    let old = bulk(cx, &found)?;
    string::replace(cx, &found, args.next()?, 0)?;
    cx.notify(Event::SET, found.key);
    Ok(old)
}

fn getdel(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    let old = bulk(cx, &found)?;
    if found.exists() {
        entry::remove(cx, &found)?;
    }
    Ok(old)
}

fn getex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let ttl = options::of_getex(&mut args)?;
    let found = entry::find_counted(cx, key)?;
    let Some(value) = string::value(&found)? else { return Ok(Reply::Nil) };
    let expire_at_ms = match ttl {
        Ttl::At(expiry) => Some(expiry.at_ms(cx.env.now_ms, "getex")?),
        _ => None,
    };
    let reply = part(cx, &value, 0..value.len())?;
    match expire_at_ms {
        Some(at_ms) if at_ms <= cx.env.now_ms => entry::remove(cx, &found)?,
        Some(at_ms) => {
            entry::set_expiry(cx, &found, at_ms)?;
            cx.notify(Event::EXPIRE, key);
        }
        None if ttl == Ttl::Persist && found.expire_at_ms() != 0 => {
            entry::set_expiry(cx, &found, 0)?;
            cx.notify(Event::PERSIST, key);
        }
        None => {}
    }
    Ok(reply)
}

fn append(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, tail) = (args.key()?, args.next()?);
    let len = string::append(cx, key, tail)?;
    cx.notify(Event::APPEND, key);
    Ok(Reply::Integer(len as i64))
}

fn strlen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    let value = string::value(&found)?;
    Ok(Reply::Integer(value.map_or(0, |value| value.len() as i64)))
}

fn getrange(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, start, end) = (args.key()?, args.int()?, args.int()?);
    let found = entry::find_counted(cx, key)?;
    let Some(value) = string::value(&found)? else { return Ok(Reply::text("")) };
    let len = value.len() as i64;
    if start < 0 && end < 0 && start > end {
        return Ok(Reply::text(""));
    }
    // Negative places count from the end.
    let place = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at };
    let (start, end) = (place(start), place(end).min(len - 1));
    if start > end || len == 0 {
        return Ok(Reply::text(""));
    }
    part(cx, &value, start as u64..end as u64 + 1)
}

fn setrange(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, at, bytes) = (args.key()?, args.int()?, args.next()?);
    let at = u64::try_from(at).map_err(|_| Error::reply("ERR offset is out of range"))?;
    let len = string::overwrite(cx, key, at, bytes)?;
    if !bytes.is_empty() {
        cx.notify(Event::SETRANGE, key);
    }
    Ok(Reply::Integer(len as i64))
}
