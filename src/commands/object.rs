//! OBJECT: what is known of a value besides the value.

use super::help::help;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx};
use crate::dispatch::spec::{Arity, Flags, KeyFlags, Keys, ReadFn, Spec, container, read, session};
use crate::encoding::collection::{GROWN, read_own};
use crate::encoding::meta::Body;
use crate::error::{Error, Result};
use crate::keyspace::clocks::place_of;
use crate::keyspace::kind::Encoding;
use crate::keyspace::{Entry, Meta, ReadCx, View, entry};
use crate::number;
use crate::reply::Reply;

/// The longest string that Redis keeps in one piece with its header, in bytes.
const EMBEDDED_MAX_LEN: usize = 44;
/// Redis keeps one object for each integer below this, and says so in place of a count.
const SHARED_INTEGERS: i64 = 10_000;
const SHARED: i64 = i32::MAX as i64;

const fn about_key(name: &'static str, run: ReadFn) -> Spec {
    read(name, Arity::Exactly(3), Keys::at(2, KeyFlags::RO), run)
        .acl(&["keyspace"])
        .tips(&["nondeterministic_output"])
        .complexity("O(1)")
}

pub const COMMANDS: &[Spec] = &[container("object", Arity::AtLeast(2), SUBCOMMANDS)
    .since("2.2.3")
    .complexity("Depends on subcommand.")
    .summary("Tells about the value of a key.")];

const SUBCOMMANDS: &[Spec] = &[
    about_key("encoding", encoding)
        .since("2.2.3")
        .summary("Names the encoding Redis would keep the value in."),
    about_key("freq", freq)
        .since("4.0.0")
        .summary("Would tell how often the key is used; that is not tracked."),
    about_key("idletime", idletime)
        .since("2.2.3")
        .summary("Would tell the seconds since the key was used; that is not tracked, the answer is 0."),
    about_key("refcount", refcount)
        .since("2.2.3")
        .summary("Counts the references to the value, as Redis would."),
    session("help", Arity::Exactly(2), help_text)
        .flags(Flags::LOADING.or(Flags::STALE))
        .acl(&["keyspace"])
        .since("6.2.0")
        .complexity("O(1)")
        .summary("Describes the subcommands."),
];

/// Nil for a key that does not exist.
fn of_live(
    cx: &mut ReadCx<'_>,
    mut args: Args<'_>,
    answer: impl FnOnce(&ReadCx<'_>, &Meta) -> Result<Reply>,
) -> Result<Reply> {
    let found: Entry<'_> = entry::find_aside(cx, args.key()?)?;
    found.live().map_or(Ok(Reply::Nil), |meta| answer(cx, meta))
}

fn encoding(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    of_live(cx, args, |cx, meta| Ok(Reply::text(encoding_name(cx, meta))))
}

/// The encoding Redis would keep the value in.
pub(super) fn encoding_name(cx: &impl View, meta: &Meta) -> &'static str {
    let info = meta.header.kind.info();
    if info.encoding == Encoding::Text {
        return match meta.header.body {
            Body::Inline if integer(cx, meta).is_some() => "int",
            Body::Inline if meta.rest.len <= EMBEDDED_MAX_LEN => "embstr",
            Body::Inline | Body::Rows { .. } => "raw",
        };
    }
    // What cannot be read is called as the most of its type are.
    let flags = read_own(cx.bytes(meta.rest)).map_or(GROWN, |(flags, _)| flags);
    match (info.guise(flags), info.encoding) {
        (Some(guise), _) => guise.encoding,
        (None, Encoding::Compact { compact, .. }) if flags & GROWN == 0 => compact,
        (None, Encoding::Compact { grown: name, .. } | Encoding::Only(name)) => name,
        (None, Encoding::Text) => "raw",
    }
}

fn freq(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    let key = args.peek().unwrap_or_default();
    let place = place_of(cx.env.keyspace.seed(), cx.env.db.logical, key);
    of_live(cx, args, |cx, _| {
        if let Some(count) = cx.env.keyspace.clocks.frequency(place, cx.env.now_ms) {
            return Ok(Reply::Integer(count.into()));
        }
        Err(Error::reply(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when \
             switching between policies at runtime LRU and LFU data will take some time to adjust.",
        ).into())
    })
}

fn idletime(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    let key = args.peek().unwrap_or_default();
    let place = place_of(cx.env.keyspace.seed(), cx.env.db.logical, key);
    of_live(cx, args, |cx, _| {
        let clocks = &cx.env.keyspace.clocks;
        if clocks.frequency(place, cx.env.now_ms).is_some() {
            return Err(Error::reply(
                "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching \
                 between policies at runtime LRU and LFU data will take some time to adjust.",
            )
            .into());
        }
        let idle_ms = clocks.idle_ms(place, cx.env.now_ms).unwrap_or(0);
        Ok(Reply::Integer((idle_ms / 1_000) as i64))
    })
}

fn refcount(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    of_live(cx, args, |cx, meta| {
        let shared = integer(cx, meta).is_some_and(|n| (0..SHARED_INTEGERS).contains(&n));
        Ok(Reply::Integer(if shared { SHARED } else { 1 }))
    })
}

/// The number that a string spells, if it does so in the one canonical way.
fn integer(cx: &impl View, meta: &Meta) -> Option<i64> {
    let is_small = meta.header.body == Body::Inline;
    is_small.then(|| number::parse_i64(cx.bytes(meta.rest))).flatten()
}

fn help_text(_: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(help(
        "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        &[
            "ENCODING <key>",
            "    Names the encoding in which Redis would keep the value.",
            "FREQ <key>",
            "    How often the key is used, where maxdisk is set with an LFU policy; otherwise an error.",
            "IDLETIME <key>",
            "    Seconds since the key was used, where maxdisk is set with an LRU policy; otherwise 0.",
            "REFCOUNT <key>",
            "    Counts the references to the value.",
        ],
    ))
}

#[cfg(test)]
mod tests;
