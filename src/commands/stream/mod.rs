//! Streams: the table, and what is asked of a stream as a whole.

mod add;
mod delete;
mod group;
mod ids;
mod info;
mod nack;
mod pending;
mod producers;
mod range;
mod read;
mod readgroup;

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, Flags, Group, KeyFlags, Keys, Spec, container, read as reads, write};
use crate::error::{Error, Result, shown};
use crate::keyspace::{Event, ReadCx, WriteCx};
use crate::reply::{Packer, Reply};
use crate::types::stream::{Id, Stream, Strings};

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
const DELETE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);

const VARIES: &[&str] = &["nondeterministic_output"];
const RETURNED: &str =
    "O(log(N)+M) where N is the number of entries and M the number of those that are returned.";

pub const COMMANDS: &[Spec] = &[
    write("xack", Arity::AtLeast(4), Keys::at(1, UPDATE), group::xack)
        .group(Group::Stream)
        .fast()
        .since("5.0.0")
        .complexity("O(log(N)) for each ID.")
        .summary("Acknowledges entries that a group has pending; replies with how many there were."),
    write(
        "xadd",
        Arity::AtLeast(5),
        Keys::at(1, UPDATE).note("UPDATE instead of INSERT because of the optional trimming feature"),
        add::xadd,
    )
    .group(Group::Stream)
    .denyoom()
    .fast()
    .tips(VARIES)
    .since("5.0.0")
    .complexity("O(log(N)), and O(M) where M is the number of entries that are trimmed.")
    .summary("Adds an entry to a stream, which is created if need be; replies with its ID."),
    write("xackdel", Arity::AtLeast(6), Keys::at(1, DELETE), delete::xackdel)
        .group(Group::Stream)
        .fast()
        .since("8.2.0")
        .complexity("O(log(N)) for each ID and, unless with KEEPREF, each group.")
        .summary("Acknowledges entries that a group has pending, and deletes them as far as other groups allow."),
    write("xautoclaim", Arity::AtLeast(6), Keys::at(1, DELETE), pending::xautoclaim)
        .group(Group::Stream)
        .fast()
        .tips(VARIES)
        .since("6.2.0")
        .complexity("O(N) where N is the number of pending entries that are looked at.")
        .summary("Gives entries that were pending for long to another consumer."),
    write("xcfgset", Arity::AtLeast(2), Keys::at(1, UPDATE), producers::xcfgset)
        .group(Group::Stream)
        .fast()
        .since("8.6.0")
        .complexity("O(1)")
        .summary("Sets how long a stream remembers what producers have added, and how much of it."),
    write("xclaim", Arity::AtLeast(6), Keys::at(1, UPDATE), pending::xclaim)
        .group(Group::Stream)
        .fast()
        .tips(VARIES)
        .since("5.0.0")
        .complexity("O(log(N)) for each ID.")
        .summary("Gives pending entries to another consumer."),
    write("xdel", Arity::AtLeast(3), Keys::at(1, DELETE), delete::xdel)
        .group(Group::Stream)
        .fast()
        .since("5.0.0")
        .complexity("O(log(N)) for each ID.")
        .summary("Deletes entries of a stream; replies with how many there were."),
    write("xdelex", Arity::AtLeast(5), Keys::at(1, DELETE), delete::xdelex)
        .group(Group::Stream)
        .fast()
        .since("8.2.0")
        .complexity("O(log(N)) for each ID and, unless with KEEPREF, each group.")
        .summary("Deletes entries of a stream as far as groups that refer to them allow."),
    container("xgroup", Arity::AtLeast(2), group::SUBCOMMANDS)
        .group(Group::Stream)
        .since("5.0.0")
        .complexity("Depends on subcommand.")
        .summary("Manages consumer groups."),
    write("xidmprecord", Arity::Exactly(5), Keys::at(1, UPDATE), producers::xidmprecord)
        .group(Group::Stream)
        .denyoom()
        .fast()
        .since("8.6.2")
        .complexity("O(log(N))")
        .summary("Notes that an entry of a stream is what a producer has sent under a name of its own."),
    container("xinfo", Arity::AtLeast(2), info::SUBCOMMANDS)
        .group(Group::Stream)
        .since("5.0.0")
        .complexity("Depends on subcommand.")
        .summary("Tells about a stream."),
    reads("xlen", Arity::Exactly(2), Keys::at(1, KeyFlags::RO), xlen)
        .group(Group::Stream)
        .fast()
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Counts the entries of a stream."),
    write("xnack", Arity::AtLeast(7), Keys::at(1, UPDATE), nack::xnack)
        .group(Group::Stream)
        .fast()
        .since("8.8.0")
        .complexity("O(log(N)) for each ID.")
        .summary("Gives pending entries back, so that other consumers may claim them at once."),
    reads("xpending", Arity::AtLeast(3), Keys::at(1, READ), pending::xpending)
        .group(Group::Stream)
        .tips(VARIES)
        .since("5.0.0")
        .complexity("O(N) where N is the number of entries, or of consumers, that are looked at.")
        .summary("Lists the entries that a group has pending, or sums them up."),
    reads("xrange", Arity::AtLeast(4), Keys::at(1, READ), range::xrange)
        .group(Group::Stream)
        .since("5.0.0")
        .complexity(RETURNED)
        .summary("Returns the entries from one ID to another."),
    reads("xread", Arity::AtLeast(4), Keys::half_behind("STREAMS", 1, READ), read::xread)
        .group(Group::Stream)
        .flags(Flags::BLOCKING)
        .since("5.0.0")
        .complexity(RETURNED)
        .summary("Returns entries behind given IDs of several streams; waits for some if told to."),
    write("xreadgroup", Arity::AtLeast(7), Keys::half_behind("STREAMS", 4, READ), readgroup::xreadgroup)
        .group(Group::Stream)
        .flags(Flags::BLOCKING)
        .ends_with_key()
        .since("5.0.0")
        .complexity(RETURNED)
        .summary("Returns entries to a consumer of a group, new ones or those it has pending; waits for some if told to."),
    reads("xrevrange", Arity::AtLeast(4), Keys::at(1, READ), range::xrevrange)
        .group(Group::Stream)
        .since("5.0.0")
        .complexity(RETURNED)
        .summary("Returns the entries from one ID to another, the last one first."),
    write("xsetid", Arity::AtLeast(3), Keys::at(1, UPDATE), xsetid)
        .group(Group::Stream)
        .denyoom()
        .fast()
        .since("5.0.0")
        .complexity("O(1)")
        .summary("Sets what a stream knows of the last ID and of the entries that were added and deleted."),
    write("xtrim", Arity::AtLeast(4), Keys::at(1, DELETE), add::xtrim)
        .group(Group::Stream)
        .tips(VARIES)
        .since("5.0.0")
        .complexity("O(N) where N is the number of entries that are removed, or of those that stay if that is less.")
        .summary("Removes the oldest entries of a stream; replies with how many."),
];

/// Adds an entry to a reply.
fn push_entry(packer: &mut Packer, id: Id, strings: Strings<'_>) {
    packer.push_array(2);
    packer.push(&ids::shown(id));
    packer.push_array(strings.len());
    strings.for_each(|string| packer.push(string));
}

/// As [`push_entry`], of one that is not there any more.
fn push_gone(packer: &mut Packer, id: Id) {
    packer.push_array(2);
    packer.push(&ids::shown(id));
    packer.push_nil_array();
}

fn no_group_of_key(group: &[u8], key: &[u8]) -> Error {
    Error::reply(format!("NOGROUP No such consumer group '{}' for key name '{}'", shown(group), shown(key)))
}

/// As [`push_entry`], with how long ago it was delivered last, and how often.
fn push_claimed(packer: &mut Packer, id: Id, strings: Strings<'_>, idle_ms: i64, deliveries: u64) {
    packer.push_array(4);
    packer.push(&ids::shown(id));
    packer.push_array(strings.len());
    strings.for_each(|string| packer.push(string));
    packer.push_integer(idle_ms);
    packer.push_integer(deliveries as i64);
}

/// A bulk reply with an id.
fn id_reply(id: Id) -> Reply {
    Reply::bulk(&*ids::shown(id))
}

fn xlen(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let stream = Stream::find(cx, args.key()?)?;
    Ok(Reply::Integer(stream.map_or(0, |stream| stream.len() as i64)))
}

fn xsetid(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, last) = (args.key()?, ids::id(args.next()?, 0)?);
    let (mut added, mut max_deleted) = (None, Id::MIN);
    while !args.is_empty() {
        let has_value = args.left() > 1;
        if has_value && args.keyword("ENTRIESADDED") {
            let number = u64::try_from(args.int()?);
            added = Some(number.map_err(|_| Error::reply("ERR entries_added must be positive"))?);
        } else if has_value && args.keyword("MAXDELETEDID") {
            max_deleted = ids::id(args.next()?, 0)?;
            if last < max_deleted {
                return Err(Error::reply(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                )
                .into());
            }
        } else {
            return Err(Error::Syntax.into());
        }
    }
    let mut stream = Stream::open(cx, key)?.ok_or(Error::NoSuchKey)?;
    if last < stream.state.max_deleted {
        return Err(Error::reply(
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        )
        .into());
    }
    if stream.last_entry(cx)?.is_some_and(|entry| last < entry) {
        return Err(Error::reply(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        )
        .into());
    }
    if !stream.is_empty() && added.is_some_and(|added| stream.len() > added) {
        return Err(Error::reply(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        )
        .into());
    }
    stream.state.last = last;
    stream.state.added = added.unwrap_or(stream.state.added);
    if max_deleted != Id::MIN {
        stream.state.max_deleted = max_deleted;
    }
    stream.save(cx)?;
    cx.notify(Event::XSETID, key);
    Ok(Reply::OK)
}
