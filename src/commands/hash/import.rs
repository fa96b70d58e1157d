//! HIMPORT: hashes of the same fields, of which only the values are sent.

use super::OVERWRITE;
use crate::dispatch::args::Args;
use crate::dispatch::fieldsets::{Expanded, Refused, expanded};
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, Keys, SessionFn, Spec, session, write};
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, View as _, WriteCx};
use crate::reply::Reply;
use crate::types::hash::{Check, Hash, Ttl};

const fn about(name: &'static str, arity: Arity, run: SessionFn) -> Spec {
    session(name, arity, run).group(Group::Hash).tips(&["request_policy:all_shards"]).since("8.10.0")
}

pub const SUBCOMMANDS: &[Spec] = &[
    about("discard", Arity::Exactly(3), discard)
        .complexity("O(1)")
        .summary("Forgets a list of fields; replies with whether there was one."),
    about("discardall", Arity::Exactly(2), discard_all)
        .complexity("O(N) where N is the number of lists.")
        .summary("Forgets all lists of fields; replies with how many there were."),
    about("prepare", Arity::AtLeast(4), prepare)
        .flags(Flags::DENYOOM)
        .complexity("O(N*log(N)) where N is the number of fields.")
        .summary("Keeps a list of fields under a name, for this connection."),
    write("set", Arity::AtLeast(5), Keys::at(2, OVERWRITE), set)
        .takes_fieldset()
        .group(Group::Hash)
        .denyoom()
        .since("8.10.0")
        .complexity("O(N) where N is the number of fields.")
        .summary("Sets a hash to the fields of a list with these values."),
];

fn prepare(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let name = args.next()?;
    let fieldsets = cx.session.fieldsets.get_or_insert_default();
    match fieldsets.prepare(name, args.rest()) {
        Ok(()) => Ok(Reply::OK.into()),
        Err(Refused::Duplicate) => Err(Error::reply("ERR duplicate field name in fieldset").into()),
        Err(Refused::TooLong) => Err(Error::reply("ERR too many fields are prepared").into()),
    }
}

fn discard(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let name = args.next()?;
    let was_there = cx.session.fieldsets.as_mut().is_some_and(|fieldsets| fieldsets.discard(name));
    Ok(Reply::flag(was_there).into())
}

fn discard_all(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let count = cx.session.fieldsets.take().map_or(0, |fieldsets| fieldsets.len());
    Ok(Reply::Integer(count as i64).into())
}

fn set(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let subcommand = args.words().get(1).unwrap_or_default();
    let key = args.key()?;
    args.next()?;
    match expanded(subcommand) {
        Expanded::Pairs => {}
        Expanded::Uneven => {
            return Err(
                Error::reply("ERR value count does not match the number of fields in fieldset").into()
            );
        }
        Expanded::No => return Err(Error::reply("ERR no such fieldset").into()),
    }
    let pairs = args.rest_in_pairs().ok_or(Error::Syntax)?;
    cx.env.move_if_heavy(pairs.len(), Env::IO_THREAD_MAX_ROWS)?;
    let mut hash = Hash::replace(cx, key)?;
    let mark = cx.arena().len();
    for (field, value) in pairs.clone() {
        let old = hash.look_up(cx, field)?;
        cx.arena().truncate(mark);
        hash.put(cx, (field, value), &old, Ttl::Clear, Check::None);
    }
    hash.save_without_expiry(cx)?;
    cx.notify_fields(Event::HSET, key, pairs.map(|(field, _)| field));
    Ok(Reply::OK)
}
