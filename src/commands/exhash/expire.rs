//! Expiries.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::options::{EX, EXAT, PX, PXAT, Time, Versioned};
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::encoding::hash::Head;
use crate::error::{Error, Result};
use crate::keyspace::{Event, ReadCx, WriteCx, entry, parts};
use crate::reply::Reply;
use crate::types::collection::Collection;
use crate::types::hash::{self, Check, Expiry, Hash};

/// Words of EXHEXPIRE and its like, beyond which their number is wrong.
const MAX_WORDS: usize = 7;

pub fn exhexpire(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "exhexpire", EX)
}

pub fn exhpexpire(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "exhpexpire", PX)
}

pub fn exhexpireat(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "exhexpireat", EXAT)
}

pub fn exhpexpireat(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    expire(cx, args, "exhpexpireat", PXAT)
}

fn expire(cx: &mut WriteCx<'_>, mut args: Args<'_>, name: &'static str, time: Time) -> Result<Reply> {
    if args.words().len() > MAX_WORDS {
        return Err(Error::Arity(name.into()).into());
    }
    let (key, field) = (args.key()?, args.next()?);
    let at_ms = time.at_ms(args.next()?, cx.env.now_ms)?;
    let check = match Versioned::next(&mut args) {
        Some(versioned) => versioned.check(args.next()?)?,
        None => Check::None,
    };
    args.end()?;
    let Some(mut hash) = Hash::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let old = hash.look_up(cx, field)?;
    let is_there = hash::set_expiry_checked(cx, &mut hash, (field, &old), at_ms, check)?;
    hash.save(cx)?;
    if is_there {
        cx.notify_fields(Event::HEXPIRE, key, [field]);
    }
    Ok(Reply::flag(is_there))
}

pub fn exhpersist(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    let Some(mut hash) = Hash::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let old = hash.look_up(cx, field)?;
    let expiry = hash::persist(cx, &mut hash, (field, &old));
    hash.save(cx)?;
    if expiry == Expiry::Changed {
        cx.notify_fields(Event::HPERSIST, key, [field]);
    }
    Ok(Reply::flag(expiry == Expiry::Changed))
}

pub fn exhttl(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    ttl(cx, args, |ms| ms.saturating_add(500) / 1000)
}

pub fn exhpttl(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    ttl(cx, args, |ms| ms)
}

/// -2 without a key, -3 without a field, -1 without an expiry.
fn ttl(cx: &mut ReadCx<'_>, mut args: Args<'_>, unit: impl Fn(u64) -> u64) -> Result<Reply> {
    let (key, field) = (args.key()?, args.next()?);
    of_field(cx, (key, field), (-2, -3), |cx, head| match head.expire_at_ms {
        0 => -1,
        at_ms => i64::try_from(unit(at_ms.saturating_sub(cx.env.now_ms))).unwrap_or(i64::MAX),
    })
}

/// A number of a field; others where there is no key, and where the key has no such field. A hash that has faded away
/// is said to lack the field until it is reaped.
pub fn of_field(
    cx: &mut ReadCx<'_>,
    (key, field): (&[u8], &[u8]),
    (no_key, no_field): (i64, i64),
    of: impl Fn(&ReadCx<'_>, Head) -> i64,
) -> Result<Reply> {
    let found = entry::find_counted(cx, key)?;
    let missing = if found.faded().is_some() { no_field } else { no_key };
    let Some(mut all) = Collection::of(cx, found, hash::KIND)? else { return Ok(Reply::Integer(missing)) };
    let found = hash::field(cx, &mut all, field)?;
    Ok(Reply::Integer(found.map_or(no_field, |(head, _)| of(cx, head))))
}

/// The words of TairHash, with the numbers of this server.
pub fn exhexpireinfo(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let node = cx.node;
    let reaper = &node.keyspace.parts.reaper;
    let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
    let turns = read(&reaper.turns).max(1);
    let mut text = String::from("\r\n# Active expire statistics\r\n");
    let lines = [
        ("enable_active_expire", u64::from(node.active_expire.load(Ordering::Relaxed))),
        ("tair_hash_active_expire_period", parts::TURN_MS),
        ("tair_hash_active_expire_keys_per_loop", parts::PER_STEP as u64),
        ("tair_hash_active_expire_dbs_per_loop", node.keyspace.shared.database_count() as u64),
        ("tair_hash_active_expire_last_time_msec", read(&reaper.last_turn_ms)),
        ("tair_hash_active_expire_max_time_msec", read(&reaper.max_turn_ms)),
        ("tair_hash_active_expire_avg_time_msec", read(&reaper.total_turn_ms) / turns),
        ("tair_hash_passive_expire_keys_per_loop", hash::PER_WRITE as u64),
    ];
    for (name, number) in lines {
        // Writing to a string does not fail.
        let _ = write!(text, "{name}:{number}\r\n");
    }
    text.push_str("\r\n# DB detail statistics\r\n");
    for (db, (actively, passively)) in node.keyspace.parts.expired().enumerate() {
        if actively + passively > 0 {
            let _ = write!(
                text,
                "db: {db}, active_expired_fields: {actively}, passive_expired_fields: {passively}\r\n"
            );
        }
    }
    Ok(Reply::bulk(text).into())
}
