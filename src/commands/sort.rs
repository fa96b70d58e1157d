//! SORT and SORT_RO.

use crate::dispatch::args::Args;
use crate::dispatch::spec::{Arity, KeyFlags, KeyOption, Keys, Spec, read, write};
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, ReadCx, View, WriteCx, entry};
use crate::number;
use crate::reply::{Packer, Reply, Shape};
use crate::types::list::Draft;
use crate::types::sort::{self, By, Pattern, Request};
use crate::types::strings::Strings;

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);

const STORE: KeyOption =
    KeyOption { word: "STORE", others: &[("LIMIT", 2), ("GET", 1), ("BY", 1)], is_shown: false };

/// The notes are Redis's: clients compare them.
const SORTED: Keys = Keys::at(1, READ).and(Keys::unknown(READ).note(
    "For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key \
     we sort",
));
const STORED: Keys = Keys::behind(&STORE, 2, OVERWRITE).note(
    "For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the argument \
     array",
);

const ACL: &[&str] = &["set", "sortedset", "list", "dangerous"];
const COST: &str = "O(N*log(M)) where N is the number of elements and M the number of those that are returned, O(N) if they are not sorted.";

pub const COMMANDS: &[Spec] = &[
    write("sort", Arity::AtLeast(2), SORTED.and(STORED), sort_and_store)
        .read_only(sort)
        .reads_sources()
        .denyoom()
        .acl(ACL)
        .since("1.0.0")
        .complexity(COST)
        .summary("Sorts the elements of a list, set or sorted set, by themselves or by other keys, and returns or stores them."),
    read("sort_ro", Arity::AtLeast(2), SORTED, sort_ro)
        .acl(ACL)
        .since("7.0.0")
        .complexity(COST)
        .summary("Sorts the elements of a list, set or sorted set, by themselves or by other keys, and returns them."),
];

struct Options<'a> {
    request: Request<'a>,
    gets: Vec<Pattern<'a>>,
    store: Option<&'a [u8]>,
}

fn options<'a>(env: &Env<'_>, mut args: Args<'a>, may_store: bool) -> Result<Options<'a>> {
    let request =
        Request { by: By::Element, alpha: false, descending: false, offset: 0, count: -1, is_stored: false };
    let mut options = Options { request, gets: Vec::new(), store: None };
    let request = &mut options.request;
    // Which keys they lead to shows only later, so no node of a cluster can say that it has them.
    let denied = |option: &str| match env.cluster_enabled {
        true => Err(Error::reply(format!("ERR {option} option of SORT denied in Cluster mode."))),
        false => Ok(()),
    };
    while !args.is_empty() {
        let behind = args.left() - 1;
        if args.keyword("ASC") {
            request.descending = false;
        } else if args.keyword("DESC") {
            request.descending = true;
        } else if args.keyword("ALPHA") {
            request.alpha = true;
        } else if behind >= 2 && args.keyword("LIMIT") {
            request.offset = number::parse_i64(args.next()?).ok_or(Error::NotInteger)?;
            request.count = number::parse_i64(args.next()?).ok_or(Error::NotInteger)?;
        } else if behind >= 1 && may_store && args.keyword("STORE") {
            options.store = Some(args.next()?);
            request.is_stored = true;
        } else if behind >= 1 && args.keyword("BY") {
            request.by = match Pattern::parse(args.next()?) {
                pattern @ Pattern::Key { .. } => {
                    denied("BY")?;
                    // What is not to be sorted stays so.
                    if request.by == By::Nothing { By::Nothing } else { By::Pattern(pattern) }
                }
                Pattern::Element | Pattern::Nothing => By::Nothing,
            };
        } else if behind >= 1 && args.keyword("GET") {
            denied("GET")?;
            options.gets.push(Pattern::parse(args.next()?));
        } else {
            return Err(Error::Syntax.into());
        }
    }
    Ok(options)
}

fn sort_ro(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, false)
}

/// SORT that stores nothing.
fn sort(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, true)
}

fn returned(cx: &mut ReadCx<'_>, mut args: Args<'_>, may_store: bool) -> Result<Reply> {
    let key = args.key()?;
    let Options { request, gets, .. } = options(&cx.env, args, may_store)?;
    let elements = sort::sort(cx, key, &request, gets.len())?;
    let mut packer = Packer::begin(cx.arena());
    for step in sort::steps(&elements) {
        sort::each_value(cx, &elements, step, &gets, &mut |value| match value {
            Some(value) => packer.push(value),
            None => packer.push_nil(),
        })?;
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}

fn sort_and_store(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let Options { request, gets, store } = options(&cx.env, args, true)?;
    let target = store.ok_or(Error::Syntax)?;
    let elements = sort::sort(&mut cx.unlocked_sources(), key, &request, gets.len())?;
    let found = entry::find(cx, target)?;
    let mut draft = Draft::begin(cx, found, (elements.len() * gets.len().max(1)) as u64)?;
    let mut values = Strings::default();
    for step in sort::steps(&elements) {
        values.clear();
        let keep = &mut |value: Option<&[u8]>| values.push(value.unwrap_or_default());
        sort::each_value(&mut cx.unlocked_sources(), &elements, step, &gets, keep)?;
        values.iter().try_for_each(|value| draft.push(cx, value))?;
    }
    let len = draft.finish(cx, 0)?;
    if len > 0 {
        cx.notify(Event::SORTSTORE, target);
    }
    Ok(Reply::Integer(len as i64))
}
