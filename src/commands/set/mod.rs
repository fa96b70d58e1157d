//! Sets.

mod algebra;
mod random;

#[cfg(test)]
mod tests;

use crate::commands::scan::{cursor, elements};
use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, ElementHint, Group, KeyFlags, Keys, Spec, read, write};
use crate::error::Result;
use crate::keyspace::{ReadCx, View as _, WriteCx};
use crate::reply::{Packer, Reply, Shape};
use crate::types::collection::page;
use crate::types::set;

const LOOK: KeyFlags = KeyFlags::RO;
const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const INSERT: KeyFlags = KeyFlags::RW.or(KeyFlags::INSERT);
const REMOVE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);
const TAKE: KeyFlags = REMOVE.or(KeyFlags::ACCESS);
const UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);

const ALL: Keys = Keys::range(1, -1, 1, READ);
const COUNTED: Keys = Keys::counted(1, READ);
const SOURCES: Keys = Keys::range(2, -1, 1, READ);

const ANY_ORDER: &[&str] = &["nondeterministic_output_order"];
const RANDOM: &[&str] = &["nondeterministic_output"];
const NAMED: &str = "O(N) where N is the number of members that are named.";
const SMALLEST: &str = "O(N*M) at worst, where N is the size of the smallest set and M the number of sets.";
const TOTAL: &str = "O(N) at worst, where N is the number of members of all sets.";

pub const COMMANDS: &[Spec] = &[
    write("sadd", Arity::AtLeast(3), Keys::at(1, INSERT), sadd)
        .element_at(2)
        .group(Group::Set)
        .element_at(2)
        .denyoom()
        .fast()
        .since("1.0.0")
        .complexity(NAMED)
        .summary("Adds members to a set; replies with how many are new."),
    read("scard", Arity::Exactly(2), Keys::at(1, LOOK), scard)
        .group(Group::Set)
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Counts the members of a set."),
    read("sdiff", Arity::AtLeast(2), ALL, algebra::sdiff)
        .group(Group::Set)
        .tips(ANY_ORDER)
        .since("1.0.0")
        .complexity(TOTAL)
        .summary("Returns what the first set has and none of the others."),
    read("sdiffcard", Arity::AtLeast(3), COUNTED, algebra::sdiffcard)
        .group(Group::Set)
        .since("8.10.0")
        .complexity(TOTAL)
        .summary("Counts what the first set has and none of the others, up to a limit."),
    write("sdiffstore", Arity::AtLeast(3), Keys::at(1, OVERWRITE).and(SOURCES), algebra::sdiffstore)
        .group(Group::Set)
        .denyoom()
        .reads_sources()
        .since("1.0.0")
        .complexity(TOTAL)
        .summary("Stores what the first set has and none of the others; replies with the number of members."),
    read("sinter", Arity::AtLeast(2), ALL, algebra::sinter)
        .group(Group::Set)
        .tips(ANY_ORDER)
        .since("1.0.0")
        .complexity(SMALLEST)
        .summary("Returns what all the sets have."),
    read("sintercard", Arity::AtLeast(3), COUNTED, algebra::sintercard)
        .group(Group::Set)
        .since("7.0.0")
        .complexity(SMALLEST)
        .summary("Counts what all the sets have, up to a limit."),
    write("sinterstore", Arity::AtLeast(3), Keys::at(1, UPDATE).and(SOURCES), algebra::sinterstore)
        .group(Group::Set)
        .denyoom()
        .reads_sources()
        .since("1.0.0")
        .complexity(SMALLEST)
        .summary("Stores what all the sets have; replies with the number of members."),
    read("sismember", Arity::Exactly(3), Keys::at(1, LOOK), sismember)
        .element_at(2)
        .group(Group::Set)
        .element_at(2)
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Tells whether a set has a member."),
    read("smembers", Arity::Exactly(2), Keys::at(1, READ), smembers)
        .hint(ElementHint::Any)
        .group(Group::Set)
        .tips(ANY_ORDER)
        .since("1.0.0")
        .complexity("O(N) where N is the number of members.")
        .summary("Returns all members of a set, as of one moment."),
    read("smismember", Arity::AtLeast(3), Keys::at(1, READ), smismember)
        .group(Group::Set)
        .element_at(2)
        .fast()
        .since("6.2.0")
        .complexity(NAMED)
        .summary("Tells of several members whether a set has them."),
    write("smove", Arity::Exactly(4), Keys::at(1, TAKE).and(Keys::at(2, INSERT)), smove)
        .group(Group::Set)
        .fast()
        .since("1.0.0")
        .complexity("O(1)")
        .summary("Moves a member from one set to another."),
    write("spop", Arity::AtLeast(2), Keys::at(1, TAKE), random::spop)
        .hint(ElementHint::Any)
        .group(Group::Set)
        .fast()
        .tips(RANDOM)
        .since("1.0.0")
        .complexity("O(N) where N is the number of members that are returned, whatever the size of the set.")
        .summary("Takes members out of a set at random and returns them."),
    read("srandmember", Arity::AtLeast(2), Keys::at(1, READ), random::srandmember)
        .hint(ElementHint::Any)
        .group(Group::Set)
        .tips(RANDOM)
        .since("1.0.0")
        .complexity("O(N) where N is the number of members that are returned, whatever the size of the set.")
        .summary("Picks members of a set at random."),
    write("srem", Arity::AtLeast(3), Keys::at(1, REMOVE), srem)
        .element_at(2)
        .group(Group::Set)
        .element_at(2)
        .fast()
        .since("1.0.0")
        .complexity(NAMED)
        .summary(
            "Removes members of a set; replies with how many there were. The key goes with its last member.",
        ),
    read("sscan", Arity::AtLeast(3), Keys::at(1, READ), sscan)
        .group(Group::Set)
        .tips(RANDOM)
        .since("2.8.0")
        .complexity("O(1) for every call, O(N) for a walk over all N members.")
        .summary("Walks the members of a set in steps; what is there throughout is returned."),
    read("sunion", Arity::AtLeast(2), ALL, algebra::sunion)
        .group(Group::Set)
        .tips(ANY_ORDER)
        .since("1.0.0")
        .complexity(TOTAL)
        .summary("Returns what at least one of the sets has."),
    read("sunioncard", Arity::AtLeast(3), COUNTED, algebra::sunioncard)
        .group(Group::Set)
        .since("8.10.0")
        .complexity(TOTAL)
        .summary("Counts what at least one of the sets has, up to a limit."),
    write("sunionstore", Arity::AtLeast(3), Keys::at(1, OVERWRITE).and(SOURCES), algebra::sunionstore)
        .group(Group::Set)
        .denyoom()
        .reads_sources()
        .since("1.0.0")
        .complexity(TOTAL)
        .summary("Stores what at least one of the sets has; replies with the number of members."),
];

fn sadd(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    Ok(Reply::Integer(set::add(cx, key, args.rest())? as i64))
}

fn srem(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    Ok(Reply::Integer(set::remove(cx, key, args.rest())? as i64))
}

fn smove(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (from, to, member) = (args.key()?, args.key()?, args.next()?);
    set::move_member(cx, from, to, member).map(Reply::flag)
}

fn scard(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    Ok(Reply::Integer(set::len(cx, args.key()?)? as i64))
}

fn sismember(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, member) = (args.key()?, args.next()?);
    set::has(cx, key, member).map(Reply::flag)
}

fn smismember(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let mut found = Vec::with_capacity(args.left());
    set::has_each(cx, key, args.rest(), &mut |has| found.push(Reply::flag(has)))?;
    Ok(Reply::Array(found))
}

fn smembers(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let found = set::find(cx, args.key()?)?;
    let mut packer = Packer::begin(cx.arena());
    let done = found.map_or(Ok(()), |all| set::each(cx, &all, &mut |member| packer.push(member)));
    let reply = packer.finish(cx.arena(), Shape::Set);
    done.map(|()| reply)
}

fn sscan(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let cursor = cursor(args.next()?)?;
    let Some(all) = set::find(cx, key)? else { return Ok(elements::nothing()) };
    let options = elements::Options::parse(args, None)?;
    elements::reply(cx, |cx, packer| {
        page::page(cx, &all, cursor, options.count, &mut |element| {
            if options.admit(element.member()) {
                packer.push(element.member());
            }
        })
    })
}
