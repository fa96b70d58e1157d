//! DUMP and RESTORE: values as payloads that Redis reads and writes.

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Flags, Group, KeyFlags, Keys, Spec, WriteFn, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Event, ReadCx, WriteCx, entry};
use crate::number;
use crate::reply::Reply;
use crate::types::dump as payload;

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);

pub const COMMANDS: &[Spec] = &[
    read("dump", Arity::Exactly(2), Keys::at(1, READ), dump)
        .acl(&["keyspace"])
        .tips(&["nondeterministic_output"])
        .since("2.6.0")
        .complexity("O(N) where N is the size of the value.")
        .summary("Serializes the value of a key, as Redis does."),
    restores("restore", restore)
        .since("2.6.0")
        .summary("Makes a key of a value that DUMP has serialized, here or in Redis."),
    restores("restore-asking", restore)
        .flags(Flags::ASKING)
        .group(Group::Server)
        .since("3.0.0")
        .internal()
        .summary("As RESTORE: what Redis Cluster sends when it moves keys."),
];

const fn restores(name: &'static str, run: WriteFn) -> Spec {
    write(name, Arity::AtLeast(4), Keys::at(1, OVERWRITE), run)
        .denyoom()
        .acl(&["keyspace", "dangerous"])
        .complexity("O(N) where N is the size of the value.")
}

fn dump(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    if !found.exists() {
        return Ok(Reply::Nil);
    }
    payload::dump(cx, &found).map(Reply::bulk)
}

fn restore(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, ttl, bytes) = (args.key()?, args.next()?, args.next()?);
    let Options { replace, absolute } = options(args)?;
    let found = entry::find(cx, key)?;
    if found.exists() && !replace {
        return Err(Error::reply("BUSYKEY Target key name already exists.").into());
    }
    let ttl = number::parse_i64(ttl).ok_or(Error::NotInteger)?;
    let ttl = u64::try_from(ttl).map_err(|_| Error::reply("ERR Invalid TTL value, must be >= 0"))?;
    let checked = payload::check(&cx.env, bytes)?;
    let expire_at_ms = match ttl {
        0 => 0,
        at_ms if absolute => at_ms,
        // Redis counts on in signed numbers.
        later => cx.env.now_ms.wrapping_add(later),
    };
    let has_come = expire_at_ms.cast_signed() < 0 || expire_at_ms != 0 && expire_at_ms <= cx.env.now_ms;
    if has_come {
        entry::remove(cx, &found)?;
        return Ok(Reply::OK);
    }
    if found.exists() {
        cx.notify(Event::NEW, key);
    }
    payload::restore(cx, &found, &checked, expire_at_ms)?;
    cx.notify(Event::RESTORE, key);
    Ok(Reply::OK)
}

struct Options {
    replace: bool,
    /// The time to live is a time.
    absolute: bool,
}

/// How often and when a key was used is not kept: what is said of it is checked only.
fn options(mut args: Args<'_>) -> Result<Options> {
    let mut options = Options { replace: false, absolute: false };
    let (mut idle, mut freq) = (false, false);
    while !args.is_empty() {
        if args.keyword("replace") {
            options.replace = true;
        } else if args.keyword("absttl") {
            options.absolute = true;
        } else if args.left() >= 2 && !freq && args.keyword("idletime") {
            if args.int()? < 0 {
                return Err(Error::reply("ERR Invalid IDLETIME value, must be >= 0").into());
            }
            idle = true;
        } else if args.left() >= 2 && !idle && args.keyword("freq") {
            if !(0..=255).contains(&args.int()?) {
                return Err(Error::reply("ERR Invalid FREQ value, must be >= 0 and <= 255").into());
            }
            freq = true;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests;
