//! HyperLogLog: counting different elements in little memory.

use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, Group, KeyFlags, Keys, Spec, session, write};
use crate::error::{Error, Result};
use crate::keyspace::{Entry, View as _, WriteCx, entry};
use crate::reply::{Packer, Reply, Shape};
use crate::types::hyperloglog::{self, Form, Sketch, selftest};

pub const COMMANDS: &[Spec] = &[
    write("pfadd", Arity::AtLeast(2), Keys::at(1, KeyFlags::RW.or(KeyFlags::INSERT)), pfadd)
        .group(Group::HyperLogLog)
        .fast()
        .denyoom()
        .since("2.8.9")
        .complexity("O(1) to add every element.")
        .summary("Adds elements to a HyperLogLog, which is created if there is none."),
    write("pfcount", Arity::AtLeast(2), Keys::range(1, -1, 1, KeyFlags::RW.or(KeyFlags::ACCESS)), pfcount)
        .set_flags(Flags::READONLY)
        .batches_alone()
        .key_note(
            "RW because it may change the internal representation of the key, and propagate to replicas",
        )
        .group(Group::HyperLogLog)
        .since("2.8.9")
        .complexity(
            "O(1) with a single key that has not changed since it was last counted; O(N) with N keys.",
        )
        .summary("Estimates how many different elements were added to HyperLogLogs, all together."),
    write("pfdebug", Arity::Exactly(3), Keys::at(2, KeyFlags::RW.or(KeyFlags::ACCESS)), pfdebug)
        .group(Group::HyperLogLog)
        .flags(Flags::ADMIN)
        .denyoom()
        .internal()
        .since("2.8.9")
        .complexity("O(1)")
        .summary("Shows or changes the form in which a HyperLogLog is stored."),
    write(
        "pfmerge",
        Arity::AtLeast(2),
        Keys::at(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::INSERT)).and(Keys::range(
            2,
            -1,
            1,
            KeyFlags::RO.or(KeyFlags::ACCESS),
        )),
        pfmerge,
    )
    .group(Group::HyperLogLog)
    .denyoom()
    .since("2.8.9")
    .complexity("O(N) to merge N HyperLogLogs.")
    .summary("Merges HyperLogLogs into one."),
    session("pfselftest", Arity::Exactly(1), pfselftest)
        .group(Group::HyperLogLog)
        .flags(Flags::ADMIN)
        .internal()
        .since("2.8.9")
        .complexity("O(1)")
        .summary("Tests that HyperLogLogs count as they should."),
];

fn pfadd(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    Ok(Reply::flag(hyperloglog::add(cx, key, args.rest())?))
}

fn pfcount(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let count = if args.left() == 1 {
        hyperloglog::count(cx, args.key()?)?
    } else {
        hyperloglog::count_union(cx, args.rest())?
    };
    Ok(Reply::Integer(count as i64))
}

fn pfmerge(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let to = args.key()?;
    hyperloglog::merge(cx, to, args.rest())?;
    Ok(Reply::OK)
}

fn pfdebug(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (subcommand, key) = (args.next()?, args.key()?);
    let found = entry::find(cx, key)?;
    let sketch = hyperloglog::read(cx, &found)?;
    let mut sketch = sketch.ok_or_else(|| Error::reply("ERR The specified key does not exist"))?;
    if subcommand.eq_ignore_ascii_case(b"getreg") {
        make_dense(cx, &found, &mut sketch)?;
        let mut packer = Packer::begin(cx.arena());
        sketch.ranks().for_each(|rank| packer.push_integer(i64::from(rank)));
        Ok(packer.finish(cx.arena(), Shape::Array))
    } else if subcommand.eq_ignore_ascii_case(b"decode") {
        let spelt = sketch.spell()?.ok_or_else(|| Error::reply("ERR HLL encoding is not sparse"))?;
        Ok(Reply::bulk(spelt))
    } else if subcommand.eq_ignore_ascii_case(b"encoding") {
        Ok(Reply::Simple(match sketch.form() {
            Form::Dense => "dense",
            Form::Sparse => "sparse",
        }))
    } else if subcommand.eq_ignore_ascii_case(b"todense") {
        Ok(Reply::flag(make_dense(cx, &found, &mut sketch)?))
    } else {
        Err(Error::about("ERR Unknown PFDEBUG subcommand '", subcommand, "'").into())
    }
}

/// Whether it was not before.
fn make_dense(cx: &mut WriteCx<'_>, found: &Entry<'_>, sketch: &mut Sketch) -> Result<bool> {
    let changed = sketch.make_dense()?;
    if changed {
        hyperloglog::replace(cx, found, sketch)?;
    }
    Ok(changed)
}

fn pfselftest(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let random = cx.now_ms;
    Ok(Answer::Worker(Box::new(move |_| match selftest::run(random) {
        Ok(()) => Ok(Reply::OK),
        Err(why) => Err(Error::reply(why).into()),
    })))
}
