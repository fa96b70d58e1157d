//! Lists: the table, and the commands on both ends and on elements by their indexes.

mod blocking;
mod search;
mod transfer;

use std::ops::ControlFlow;

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, ElementHint, Flags, Group, KeyFlags, Keys, Spec, WriteFn, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, ReadCx, View, WriteCx};
use crate::number;
use crate::reply::{Packer, Reply, Shape};
use crate::types::list::{End, List, Side};

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const INSERT: KeyFlags = KeyFlags::RW.or(KeyFlags::INSERT);
const UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
const DELETE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);
const TAKE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);

const PUSH_COST: &str = "O(N) where N is the number of elements that are added.";
const POP_COST: &str = "O(N) where N is the number of elements that are returned.";

const fn blocks(name: &'static str, arity: Arity, keys: Keys, run: WriteFn) -> Spec {
    write(name, arity, keys, run).group(Group::List).flags(Flags::BLOCKING)
}

pub const COMMANDS: &[Spec] = &[
    blocks("blmove", Arity::Exactly(6), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), blocking::blmove)
        .denyoom()
        .since("6.2.0")
        .complexity("O(1)")
        .summary("As LMOVE; waits for an element where there is none."),
    blocks("blmovem", Arity::AtLeast(6), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), blocking::blmovem)
        .denyoom()
        .since("8.10.0")
        .complexity("O(N) where N is the number of elements moved.")
        .summary("As LMOVEM; waits for elements where there are too few."),
    blocks("blmpop", Arity::AtLeast(5), Keys::counted(2, TAKE), blocking::blmpop)
        .since("7.0.0")
        .complexity("O(N+M) where N is the number of keys and M the number of elements that are returned.")
        .summary("As LMPOP; waits for a list where there is none."),
    blocks("blpop", Arity::AtLeast(3), Keys::range(1, -2, 1, TAKE), blocking::blpop)
        .since("2.0.0")
        .complexity("O(N) where N is the number of keys.")
        .summary("Takes the first element of the first list that there is; waits where there is none."),
    blocks("brpop", Arity::AtLeast(3), Keys::range(1, -2, 1, TAKE), blocking::brpop)
        .since("2.0.0")
        .complexity("O(N) where N is the number of keys.")
        .summary("Takes the last element of the first list that there is; waits where there is none."),
    blocks("brpoplpush", Arity::Exactly(4), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), blocking::brpoplpush)
        .denyoom()
        .since("2.2.0")
        .replaced_by("6.2.0", "`BLMOVE` with the `RIGHT` and `LEFT` arguments")
        .complexity("O(1)")
        .summary("As RPOPLPUSH; waits for an element where there is none."),
    read("lindex", Arity::Exactly(3), Keys::at(1, READ), lindex)
        .group(Group::List)
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Returns the element at an index of a list."),
    write("linsert", Arity::Exactly(5), Keys::at(1, INSERT), linsert)
        .group(Group::List)
        .denyoom()
        .since("2.2.0")
        .complexity(
            "O(N+M) where N is the number of elements before the pivot and M the number on the shorter side of it.",
        )
        .summary("Inserts an element before or after another one; replies with the length of the list."),
    read("llen", Arity::Exactly(2), Keys::at(1, KeyFlags::RO), llen)
        .group(Group::List)
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Returns the length of a list."),
    write("lmove", Arity::Exactly(5), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), transfer::lmove)
        .group(Group::List)
        .denyoom()
        .since("6.2.0")
        .complexity("O(1)")
        .summary("Takes an element from an end of a list, puts it at an end of another one and returns it."),
    write("lmovem", Arity::AtLeast(5), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), transfer::lmovem)
        .group(Group::List)
        .denyoom()
        .since("8.10.0")
        .complexity("O(N) where N is the number of elements moved.")
        .summary("Takes elements from an end of a list, puts them at an end of another one and returns them."),
    write("lmpop", Arity::AtLeast(4), Keys::counted(1, TAKE), transfer::lmpop)
        .group(Group::List)
        .since("7.0.0")
        .complexity("O(N+M) where N is the number of keys and M the number of elements that are returned.")
        .summary("Takes elements from an end of the first list that there is."),
    write("lpop", Arity::AtLeast(2), Keys::at(1, TAKE), lpop)
        .hint(ElementHint::First)
        .group(Group::List)
        .fast()
        .since("1.0.0")
        .complexity(POP_COST)
        .summary("Takes elements from the left end of a list."),
    read("lpos", Arity::AtLeast(3), Keys::at(1, READ), search::lpos)
        .group(Group::List)
        .since("6.0.6")
        .complexity("O(N) where N is the number of elements that are looked at.")
        .summary("Finds the indexes of elements that equal a value."),
    write("lpush", Arity::AtLeast(3), Keys::at(1, INSERT), lpush)
        .hint(ElementHint::BeforeFirst)
        .group(Group::List)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity(PUSH_COST)
        .summary("Adds elements at the left end of a list, which is created if need be."),
    write("lpushx", Arity::AtLeast(3), Keys::at(1, INSERT), lpushx)
        .hint(ElementHint::BeforeFirst)
        .group(Group::List)
        .denyoom()
        .fast()
        .since("2.2.0")
        .complexity(PUSH_COST)
        .summary("Adds elements at the left end of a list that exists."),
    read("lrange", Arity::Exactly(4), Keys::at(1, READ), lrange)
        .group(Group::List)
        .since("1.0.0")
        .complexity("O(N) where N is the number of elements that are returned.")
        .summary("Returns the elements from one index of a list to another."),
    write("lrem", Arity::Exactly(4), Keys::at(1, DELETE), lrem)
        .group(Group::List)
        .since("1.0.0")
        .complexity("O(N) where N is the length of the list.")
        .summary("Removes elements that equal a value; replies with their number."),
    write("lset", Arity::Exactly(4), Keys::at(1, UPDATE), lset)
        .group(Group::List)
        .denyoom()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Overwrites the element at an index of a list."),
    write("ltrim", Arity::Exactly(4), Keys::at(1, DELETE), ltrim)
        .group(Group::List)
        .since("1.0.0")
        .complexity("O(N) where N is the number of elements that are removed, or of those that stay if they are fewer.")
        .summary("Removes all elements of a list but those from one index to another."),
    write("rpop", Arity::AtLeast(2), Keys::at(1, TAKE), rpop)
        .hint(ElementHint::Last)
        .group(Group::List)
        .fast()
        .since("1.0.0")
        .complexity(POP_COST)
        .summary("Takes elements from the right end of a list."),
    write("rpoplpush", Arity::Exactly(3), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), transfer::rpoplpush)
        .group(Group::List)
        .denyoom()
        .since("1.2.0")
        .complexity("O(1)")
        .summary("Takes the last element of a list, puts it in front of another one and returns it.")
        .replaced_by("6.2.0", "`LMOVE` with the `RIGHT` and `LEFT` arguments"),
    write("rpush", Arity::AtLeast(3), Keys::at(1, INSERT), rpush)
        .hint(ElementHint::BehindLast)
        .group(Group::List)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity(PUSH_COST)
        .summary("Adds elements at the right end of a list, which is created if need be."),
    write("rpushx", Arity::AtLeast(3), Keys::at(1, INSERT), rpushx)
        .hint(ElementHint::BehindLast)
        .group(Group::List)
        .denyoom()
        .fast()
        .since("2.2.0")
        .complexity(PUSH_COST)
        .summary("Adds elements at the right end of a list that exists."),
];

fn lpush(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    push(cx, args, End::Left)
}

fn rpush(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    push(cx, args, End::Right)
}

fn push(cx: &mut WriteCx<'_>, mut args: Args<'_>, end: End) -> Result<Reply> {
    let mut list = List::open_or_create(cx, args.key()?)?;
    push_to(cx, &mut list, args, end)
}

fn lpushx(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    push_existing(cx, args, End::Left)
}

fn rpushx(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    push_existing(cx, args, End::Right)
}

fn push_existing(cx: &mut WriteCx<'_>, mut args: Args<'_>, end: End) -> Result<Reply> {
    match List::open(cx, args.key()?)? {
        None => Ok(Reply::Integer(0)),
        Some(mut list) => push_to(cx, &mut list, args, end),
    }
}

fn push_to(cx: &mut WriteCx<'_>, list: &mut List<'_>, args: Args<'_>, end: End) -> Result<Reply> {
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    cx.env.move_if_heavy(args.words().bytes(), Env::IO_THREAD_MAX_BYTES)?;
    for value in args.rest() {
        list.push(cx, end, value)?;
    }
    let (len, key) = (list.len(), list.key());
    list.save(cx)?;
    cx.notify(pushed(end), key);
    Ok(Reply::Integer(len as i64))
}

fn pushed(end: End) -> Event {
    match end {
        End::Left => Event::LPUSH,
        End::Right => Event::RPUSH,
    }
}

fn popped(end: End) -> Event {
    match end {
        End::Left => Event::LPOP,
        End::Right => Event::RPOP,
    }
}

fn lpop(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop(cx, args, End::Left, "lpop")
}

fn rpop(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    pop(cx, args, End::Right, "rpop")
}

fn pop(cx: &mut WriteCx<'_>, mut args: Args<'_>, end: End, command: &'static str) -> Result<Reply> {
    let key = args.key()?;
    if args.left() > 1 {
        return Err(Error::Arity(command.into()).into());
    }
    let Some(word) = args.peek() else {
        let Some(mut list) = List::open(cx, key)? else { return Ok(Reply::Nil) };
        let value = list.pop(cx, end)?;
        list.save(cx)?;
        cx.notify(popped(end), key);
        return Ok(value.map_or(Reply::Nil, Reply::span));
    };
    let count = at_least(word, 0, "ERR value is out of range, must be positive")?;
    let Some(list) = List::open(cx, key)? else { return Ok(Reply::NilArray) };
    take(cx, list, end, count)
}

/// Elements from an end, in the order in which they go.
fn take(cx: &mut WriteCx<'_>, list: List<'_>, end: End, count: u64) -> Result<Reply> {
    let mut packer = Packer::begin(cx.arena());
    let key = list.key();
    list.take(cx, end, count, &mut |value| packer.push(value))?;
    if count > 0 {
        cx.notify(popped(end), key);
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}

/// An integer that must not be less than `least`.
fn at_least(word: &[u8], least: i64, refusal: &'static str) -> Result<u64> {
    let number = number::parse_i64(word).filter(|number| *number >= least);
    number.map(i64::unsigned_abs).ok_or_else(|| Error::reply(refusal).into())
}

/// LEFT or RIGHT.
fn end(args: &mut Args<'_>) -> Result<End> {
    if args.keyword("LEFT") {
        Ok(End::Left)
    } else if args.keyword("RIGHT") {
        Ok(End::Right)
    } else {
        Err(Error::Syntax.into())
    }
}

fn llen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let list = List::find(cx, args.key()?)?;
    Ok(Reply::Integer(list.map_or(0, |list| list.len() as i64)))
}

fn lindex(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let Some(mut list) = List::find(cx, args.key()?)? else { return Ok(Reply::Nil) };
    match list.place(args.int()?) {
        None => Ok(Reply::Nil),
        Some(place) => Ok(Reply::span(list.get(cx, place)?)),
    }
}

fn lrange(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, first, last) = (args.key()?, args.int()?, args.int()?);
    let found = List::find(cx, key)?;
    let mut packer = Packer::begin(cx.arena());
    if let Some(list) = found {
        let places = list.places(first, last);
        list.light(&cx.env, &places)?;
        list.each(cx, places, End::Left, &mut |_, value| {
            packer.push(value);
            ControlFlow::Continue(())
        })?;
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}

fn lset(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let mut list = List::open(cx, key)?.ok_or(Error::NoSuchKey)?;
    let place = list.place(args.int()?).ok_or(Error::IndexOutOfRange)?;
    list.set(cx, place, args.next()?)?;
    cx.notify(Event::LSET, key);
    Ok(Reply::OK)
}

fn linsert(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let side = if args.keyword("AFTER") {
        Side::After
    } else if args.keyword("BEFORE") {
        Side::Before
    } else {
        return Err(Error::Syntax.into());
    };
    let (pivot, value) = (args.next()?, args.next()?);
    let Some(list) = List::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let len = list.insert(cx, side, pivot, value)?;
    if len.is_some() {
        cx.notify(Event::LINSERT, key);
    }
    Ok(Reply::Integer(len.map_or(-1, |len| len as i64)))
}

fn lrem(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, count, value) = (args.key()?, args.int()?, args.next()?);
    let Some(list) = List::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let end = if count < 0 { End::Right } else { End::Left };
    let most = if count == 0 { u64::MAX } else { count.unsigned_abs() };
    let removed = list.remove(cx, value, end, most)?;
    if removed > 0 {
        cx.notify(Event::LREM, key);
    }
    Ok(Reply::Integer(removed as i64))
}

fn ltrim(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, first, last) = (args.key()?, args.int()?, args.int()?);
    if let Some(list) = List::open(cx, key)? {
        let kept = list.places(first, last);
        list.keep(cx, kept)?;
        cx.notify(Event::LTRIM, key);
    }
    Ok(Reply::OK)
}
