//! XDEL, XDELEX and XACKDEL: deleting entries, whoever refers to them.

use super::ids;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, View as _, WriteCx};
use crate::number::parse_i64;
use crate::reply::{Packer, Reply, Shape};
use crate::types::stream::{Deleted, Id, Refs, Stream};

pub fn xdel(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let Some(mut stream) = Stream::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let ids = args.rest().map(|word| ids::id(word, 0)).collect::<Result<Vec<Id>>>()?;
    cx.env.move_if_heavy(ids.len(), Env::IO_THREAD_MAX_ROWS)?;
    let mut deleted = 0;
    for id in ids {
        deleted += i64::from(stream.delete_one(cx, id)?);
    }
    if deleted > 0 {
        stream.save(cx)?;
        cx.notify(Event::XDEL, key);
    }
    Ok(Reply::Integer(deleted))
}

/// Takes one of the words for [`Refs`].
pub fn take_refs(args: &mut Args<'_>) -> Option<Refs> {
    let words = [("KEEPREF", Refs::Keep), ("DELREF", Refs::Delete), ("ACKED", Refs::Acked)];
    words.into_iter().find(|(word, _)| args.keyword(word)).map(|(_, refs)| refs)
}

/// What follows the key, and the group where there is one.
struct Request {
    refs: Refs,
    ids: Vec<Id>,
}

impl Request {
    fn parse(mut args: Args<'_>) -> Result<Request> {
        let (mut refs, mut ids) = (None, None);
        while !args.is_empty() {
            if let Some(given) = take_refs(&mut args) {
                if refs.replace(given).is_some() {
                    return Err(Error::Syntax.into());
                }
            } else if args.left() > 1 && args.keyword("IDS") {
                ids = Some(numbered_ids(&mut args)?);
            } else {
                return Err(Error::Syntax.into());
            }
        }
        let ids = ids.ok_or_else(|| Error::reply("ERR IDS option is required"))?;
        Ok(Request { refs: refs.unwrap_or_default(), ids })
    }
}

/// A number and so many ids.
fn numbered_ids(args: &mut Args<'_>) -> Result<Vec<Id>> {
    let count = parse_i64(args.next()?).filter(|count| *count > 0);
    let count = count.ok_or_else(|| Error::reply("ERR Number of IDs must be a positive integer"))?;
    let count = usize::try_from(count).ok().filter(|count| *count <= args.left());
    let count =
        count.ok_or_else(|| Error::reply("ERR The `numids` parameter must match the number of arguments"))?;
    (0..count).map(|_| ids::id(args.next()?, 0)).collect()
}

fn code(deleted: Deleted) -> i64 {
    match deleted {
        Deleted::Missing => -1,
        Deleted::Gone => 1,
        Deleted::Kept => 2,
    }
}

fn none_of(ids: &[Id]) -> Reply {
    Reply::Array(ids.iter().map(|_| Reply::Integer(code(Deleted::Missing))).collect())
}

pub fn xdelex(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let Request { refs, ids } = Request::parse(args)?;
    let Some(mut stream) = Stream::open(cx, key)? else { return Ok(none_of(&ids)) };
    let groups = stream.groups_for(cx, refs)?;
    cx.env.move_if_heavy(ids.len() * (1 + groups.len()), Env::IO_THREAD_MAX_ROWS)?;
    let mut groups = stream.open_groups(&groups);
    let mut packer = Packer::begin(cx.arena());
    let mut is_changed = false;
    for id in ids {
        let deleted = stream.delete_with(cx, &mut groups, id, refs)?;
        is_changed |= deleted == Deleted::Gone;
        packer.push_integer(code(deleted));
    }
    stream.save_groups(cx, &mut groups);
    if is_changed {
        stream.save(cx)?;
        cx.notify(Event::XDEL, key);
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}

pub fn xackdel(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name) = (args.key()?, args.next()?);
    let Request { refs, ids } = Request::parse(args)?;
    let Some(mut stream) = Stream::open(cx, key)? else { return Ok(none_of(&ids)) };
    let Some(own) = stream.group(cx, name)? else { return Ok(none_of(&ids)) };
    // The group is one of all, where all of them matter.
    let all = match stream.groups_for(cx, refs)? {
        all if all.is_empty() => vec![(name.to_vec(), own.state)],
        all => all,
    };
    cx.env.move_if_heavy(ids.len() * (1 + all.len()), Env::IO_THREAD_MAX_ROWS)?;
    let place = all.iter().position(|(other, _)| other == name).ok_or(Error::Damaged("a consumer group"))?;
    let mut groups = stream.open_groups(&all);
    let mut packer = Packer::begin(cx.arena());
    let mut is_changed = false;
    for id in ids {
        let Some(group) = groups.get_mut(place) else { break };
        let Some(pending) = group.pending(cx, id)? else {
            packer.push_integer(code(Deleted::Missing));
            continue;
        };
        group.release(cx, id, pending)?;
        let deleted = stream.delete_with(cx, &mut groups, id, refs)?;
        is_changed |= deleted == Deleted::Gone;
        // What was pending of an entry that was deleted before is done with as well.
        packer.push_integer(code(if deleted == Deleted::Missing { Deleted::Gone } else { deleted }));
    }
    stream.save_groups(cx, &mut groups);
    if is_changed {
        stream.save(cx)?;
        cx.notify(Event::XDEL, key);
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}
