//! When keys expire: EXPIRE and its kin, TTL and its kin, PERSIST.

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, KeyFlags, Keys, Spec, WriteFn, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Event, ReadCx, View as _, WriteCx, entry};
use crate::number;
use crate::reply::Reply;

const CHANGE: Keys = Keys::at(1, KeyFlags::RW.or(KeyFlags::UPDATE));
const READ: Keys = Keys::at(1, KeyFlags::RO.or(KeyFlags::ACCESS));

const fn expiring(name: &'static str, run: WriteFn) -> Spec {
    write(name, Arity::AtLeast(3), CHANGE, run).fast().acl(&["keyspace"]).complexity("O(1)")
}

pub const COMMANDS: &[Spec] = &[
    expiring("expire", expire).since("1.0.0").summary("Sets when a key expires, in seconds from now."),
    expiring("pexpire", pexpire).since("2.6.0").summary("Sets when a key expires, in milliseconds from now."),
    expiring("expireat", expireat)
        .since("1.2.0")
        .summary("Sets when a key expires, as a Unix time in seconds."),
    expiring("pexpireat", pexpireat)
        .since("2.6.0")
        .summary("Sets when a key expires, as a Unix time in milliseconds."),
    write("persist", Arity::Exactly(2), CHANGE, persist)
        .fast()
        .acl(&["keyspace"])
        .since("2.2.0")
        .complexity("O(1)")
        .summary("Makes a key last until it is deleted."),
    read("ttl", Arity::Exactly(2), READ, ttl)
        .fast()
        .acl(&["keyspace"])
        .tips(&["nondeterministic_output"])
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Tells in how many seconds a key expires."),
    read("pttl", Arity::Exactly(2), READ, pttl)
        .fast()
        .acl(&["keyspace"])
        .tips(&["nondeterministic_output"])
        .since("2.6.0")
        .complexity("O(1)")
        .summary("Tells in how many milliseconds a key expires."),
    read("expiretime", Arity::Exactly(2), READ, expiretime)
        .fast()
        .acl(&["keyspace"])
        .since("7.0.0")
        .complexity("O(1)")
        .summary("Tells the Unix time in seconds at which a key expires."),
    read("pexpiretime", Arity::Exactly(2), READ, pexpiretime)
        .fast()
        .acl(&["keyspace"])
        .since("7.0.0")
        .complexity("O(1)")
        .summary("Tells the Unix time in milliseconds at which a key expires."),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Millis,
}

/// Where a given time counts from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Now,
    Epoch,
}

fn expire(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire_at(cx, args, "expire", Unit::Seconds, Base::Now)
}

fn pexpire(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire_at(cx, args, "pexpire", Unit::Millis, Base::Now)
}

fn expireat(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire_at(cx, args, "expireat", Unit::Seconds, Base::Epoch)
}

fn pexpireat(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire_at(cx, args, "pexpireat", Unit::Millis, Base::Epoch)
}

fn expire_at(
    cx: &mut WriteCx<'_>,
    mut args: Args<'_>,
    name: &'static str,
    unit: Unit,
    base: Base,
) -> Result<Reply> {
    let (key, time) = (args.key()?, args.next()?);
    let when = Conditions::parse(args)?;
    let at_ms = absolute_ms(time, name, unit, base, cx.env.now_ms)?;
    let found = entry::find(cx, key)?;
    if !found.exists() || !when.allow(found.expire_at_ms(), at_ms) {
        return Ok(Reply::Integer(0));
    }
    match u64::try_from(at_ms) {
        Ok(at_ms) if at_ms > cx.env.now_ms => {
            entry::set_expiry(cx, &found, at_ms)?;
            cx.notify(Event::EXPIRE, key);
        }
        _ => entry::remove(cx, &found)?,
    }
    Ok(Reply::Integer(1))
}

/// Negative times are allowed: they are in the past. What does not fit is not.
fn absolute_ms(time: &[u8], name: &'static str, unit: Unit, base: Base, now_ms: u64) -> Result<i64> {
    let time = number::parse_i64(time).ok_or(Error::NotInteger)?;
    let ms = match unit {
        Unit::Seconds => time.checked_mul(1000),
        Unit::Millis => Some(time),
    };
    let at_ms = match base {
        Base::Now => ms.and_then(|ms| ms.checked_add_unsigned(now_ms)),
        Base::Epoch => ms,
    };
    at_ms.ok_or_else(|| Error::InvalidExpire(name).into())
}

/// NX, XX, GT and LT.
#[derive(Clone, Copy, Default)]
struct Conditions {
    only_new: bool,
    only_existing: bool,
    only_later: bool,
    only_sooner: bool,
}

impl Conditions {
    fn parse(mut args: Args<'_>) -> Result<Conditions> {
        let mut it = Conditions::default();
        while let Some(word) = args.peek() {
            if args.keyword("nx") {
                it.only_new = true;
            } else if args.keyword("xx") {
                it.only_existing = true;
            } else if args.keyword("gt") {
                it.only_later = true;
            } else if args.keyword("lt") {
                it.only_sooner = true;
            } else {
                let word: String = word.iter().map(|byte| char::from(*byte)).collect();
                return Err(Error::reply(format!("ERR Unsupported option {word}")).into());
            }
        }
        if it.only_new && (it.only_existing || it.only_later || it.only_sooner) {
            let words = "ERR NX and XX, GT or LT options at the same time are not compatible";
            return Err(Error::reply(words).into());
        }
        if it.only_later && it.only_sooner {
            return Err(Error::reply("ERR GT and LT options at the same time are not compatible").into());
        }
        Ok(it)
    }

    /// `current_ms` 0 is never, which is later than any time.
    fn allow(self, current_ms: u64, at_ms: i64) -> bool {
        let expires = current_ms != 0;
        let current_ms = i64::try_from(current_ms).unwrap_or(i64::MAX);
        !(self.only_new && expires
            || self.only_existing && !expires
            || self.only_later && (!expires || at_ms <= current_ms)
            || self.only_sooner && expires && at_ms >= current_ms)
    }
}

fn persist(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = entry::find(cx, args.key()?)?;
    if found.expire_at_ms() == 0 {
        return Ok(Reply::Integer(0));
    }
    entry::set_expiry(cx, &found, 0)?;
    cx.notify(Event::PERSIST, found.key);
    Ok(Reply::Integer(1))
}

fn ttl(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, Base::Now, Unit::Seconds)
}

fn pttl(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, Base::Now, Unit::Millis)
}

fn expiretime(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, Base::Epoch, Unit::Seconds)
}

fn pexpiretime(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    expiry(cx, args, Base::Epoch, Unit::Millis)
}

/// -2 without a key, -1 without an expiry; seconds are rounded.
fn expiry(cx: &mut ReadCx<'_>, mut args: Args<'_>, base: Base, unit: Unit) -> Result<Reply> {
    let found = entry::find_counted(cx, args.key()?)?;
    if !found.exists() {
        return Ok(Reply::Integer(-2));
    }
    let at_ms = found.expire_at_ms();
    if at_ms == 0 {
        return Ok(Reply::Integer(-1));
    }
    let ms = match base {
        Base::Now => at_ms.saturating_sub(cx.env().now_ms),
        Base::Epoch => at_ms,
    };
    let shown = match unit {
        Unit::Seconds => ms.saturating_add(500) / 1000,
        Unit::Millis => ms,
    };
    Ok(Reply::Integer(i64::try_from(shown).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests;
