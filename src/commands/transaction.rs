//! MULTI, EXEC, DISCARD, WATCH, UNWATCH. The connection queues what comes behind MULTI; EXEC runs it as one unit.

use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, KeyFlags, Keys, Spec, session};
use crate::error::{Error, Result};
use crate::keyspace::{Effect, ReadCx, View as _, entry};
use crate::reply::Reply;

const ANYTIME: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);

pub const COMMANDS: &[Spec] = &[
    session("multi", Arity::Exactly(1), multi)
        .group(Group::Transactions)
        .flags(ANYTIME.or(Flags::ALLOW_BUSY))
        .fast()
        .acl(&["transaction"])
        .not_queued()
        .since("1.2.0")
        .complexity("O(1)")
        .summary("Begins a transaction: what follows is queued until EXEC."),
    session("exec", Arity::Exactly(1), exec)
        .group(Group::Transactions)
        .flags(ANYTIME.or(Flags::SKIP_SLOWLOG))
        .acl(&["transaction"])
        .not_queued()
        .since("1.2.0")
        .complexity("Depends on commands in the transaction")
        .summary("Runs everything that was queued since MULTI, all at once."),
    session("discard", Arity::Exactly(1), discard)
        .group(Group::Transactions)
        .flags(ANYTIME.or(Flags::ALLOW_BUSY))
        .fast()
        .acl(&["transaction"])
        .not_queued()
        .since("2.0.0")
        .complexity("O(N), when N is the number of queued commands")
        .summary("Forgets what was queued since MULTI."),
    session("watch", Arity::AtLeast(2), watch)
        .keys(Keys::range(1, -1, 1, KeyFlags::RO))
        .read_only(watch_keys)
        .group(Group::Transactions)
        .flags(ANYTIME.or(Flags::ALLOW_BUSY))
        .fast()
        .acl(&["transaction"])
        .not_queued()
        .since("2.2.0")
        .complexity("O(1) for every key.")
        .summary("Makes the next EXEC do nothing if one of these keys is changed before."),
    session("unwatch", Arity::Exactly(1), unwatch)
        .group(Group::Transactions)
        .flags(ANYTIME.or(Flags::ALLOW_BUSY))
        .fast()
        .acl(&["transaction"])
        .since("2.2.0")
        .complexity("O(1)")
        .summary("Forgets the keys that are watched."),
];

fn multi(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    if cx.session.multi.is_some() {
        return Err(Error::reply("ERR MULTI calls can not be nested").into());
    }
    cx.session.multi = Some(Box::default());
    cx.session.client.set_queued(Some(0));
    Ok(Reply::OK.into())
}

fn exec(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let Some(multi) = cx.session.end_multi() else {
        return Err(Error::reply("ERR EXEC without MULTI").into());
    };
    if multi.aborted {
        cx.session.unwatch(cx.node);
        return Err(Error::EXEC_ABORTED.into());
    }
    Ok(Answer::Exec(multi))
}

fn discard(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    if cx.session.end_multi().is_none() {
        return Err(Error::reply("ERR DISCARD without MULTI").into());
    }
    cx.session.unwatch(cx.node);
    Ok(Reply::OK.into())
}

fn watch(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    match cx.session.multi {
        Some(_) => Err(Error::reply("ERR WATCH inside MULTI is not allowed").into()),
        None => Ok(Answer::OnKeys),
    }
}

/// The other half of WATCH, under the locks of its keys.
fn watch_keys(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let db = cx.env.db;
    while !args.is_empty() {
        let key = args.key()?;
        let was = entry::find_stored(cx, db, key)?.was();
        cx.effects().list.push(Effect::Watch { db: db.logical, key: key.into(), was });
    }
    Ok(Reply::OK)
}

fn unwatch(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    cx.session.unwatch(cx.node);
    Ok(Reply::OK.into())
}
