//! Places on the earth: the table, and the commands over members by their names.

mod options;
mod search;

#[cfg(test)]
mod tests;

use crate::commands::zset;
use crate::dispatch::args::Args;
use crate::dispatch::spec::{
    Arity, ElementHint, Group, KeyFlags, KeyOption, Keys, ReadFn, Spec, read, write,
};
use crate::encoding::zset::read_value;
use crate::error::{Error, Result};
use crate::keyspace::{Env, ReadCx, View as _, WriteCx};
use crate::reply::{Packer, Reply, Shape};
use crate::types::geo::{Position, distance_m};
use crate::types::zset::{Rule, SortedSet};

const READ: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
const OVERWRITE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);

const STORE: KeyOption =
    KeyOption { word: "STORE", others: &[("COUNT", 1), ("STOREDIST", 1)], is_shown: true };
const STOREDIST: KeyOption =
    KeyOption { word: "STOREDIST", others: &[("COUNT", 1), ("STORE", 1)], is_shown: true };

const SEARCH_COST: &str = "O(N+log(M)) where N is the number of members in the cells that the area lies in and M the size of \
                           the sorted set.";
const MEMBER_COST: &str = "O(1) for each member.";

const fn looks(name: &'static str, arity: Arity, run: ReadFn) -> Spec {
    read(name, arity, Keys::at(1, READ), run).group(Group::Geo)
}

/// A command that may store what it finds, with options from this word on.
const fn keys_from(options: u16) -> Keys {
    Keys::at(1, READ)
        .and(Keys::behind(&STORE, options, OVERWRITE))
        .and(Keys::behind(&STOREDIST, options, OVERWRITE))
}

pub const COMMANDS: &[Spec] = &[
    write("geoadd", Arity::AtLeast(5), Keys::at(1, KeyFlags::RW.or(KeyFlags::UPDATE)), geoadd)
        .group(Group::Geo)
        .element_at(4)
        .denyoom()
        .since("3.2.0")
        .complexity("O(log(N)) for each member, where N is the size of the sorted set.")
        .summary("Adds members with their longitudes and latitudes, or moves them."),
    looks("geodist", Arity::AtLeast(4), geodist)
        .element_at(2)
        .since("3.2.0")
        .complexity("O(1)")
        .summary("Returns the distance between two members."),
    looks("geohash", Arity::AtLeast(2), geohash)
        .element_at(2)
        .since("3.2.0")
        .complexity(MEMBER_COST)
        .summary("Returns the places of members as geohash strings."),
    looks("geopos", Arity::AtLeast(2), geopos)
        .element_at(2)
        .since("3.2.0")
        .complexity(MEMBER_COST)
        .summary("Returns the longitudes and latitudes of members."),
    write("georadius", Arity::AtLeast(6), keys_from(6), search::georadius_and_store)
        .group(Group::Geo)
        .read_only(search::georadius)
        .reads_sources()
        .denyoom()
        .since("3.2.0")
        .replaced_by("6.2.0", "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument")
        .complexity(SEARCH_COST)
        .summary("Returns or stores the members within a distance of a place."),
    write("georadiusbymember", Arity::AtLeast(5), keys_from(5), search::georadiusbymember_and_store)
        .group(Group::Geo)
        .read_only(search::georadiusbymember)
        .reads_sources()
        .denyoom()
        .since("3.2.0")
        .replaced_by(
            "6.2.0",
            "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
        )
        .complexity(SEARCH_COST)
        .summary("Returns or stores the members within a distance of another."),
    looks("georadiusbymember_ro", Arity::AtLeast(5), search::georadiusbymember_ro)
        .since("3.2.10")
        .replaced_by("6.2.0", "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments")
        .complexity(SEARCH_COST)
        .summary("Returns the members within a distance of another."),
    looks("georadius_ro", Arity::AtLeast(6), search::georadius_ro)
        .hint(ElementHint::AnyScore)
        .since("3.2.10")
        .replaced_by("6.2.0", "`GEOSEARCH` with the `BYRADIUS` argument")
        .complexity(SEARCH_COST)
        .summary("Returns the members within a distance of a place."),
    looks("geosearch", Arity::AtLeast(7), search::geosearch)
        .hint(ElementHint::AnyScore)
        .since("6.2.0")
        .complexity(SEARCH_COST)
        .summary("Returns the members in a circle, a box or a polygon."),
    write(
        "geosearchstore",
        Arity::AtLeast(8),
        Keys::at(1, OVERWRITE).and(Keys::at(2, READ)),
        search::geosearchstore,
    )
    .group(Group::Geo)
    .reads_sources()
    .denyoom()
    .since("6.2.0")
    .complexity(SEARCH_COST)
    .summary("Stores the members in a circle, a box or a polygon."),
];

fn geoadd(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let (mut rule, mut counts_changed) = (Rule::default(), false);
    loop {
        if args.keyword("nx") {
            rule.if_absent = true;
        } else if args.keyword("xx") {
            rule.if_present = true;
        } else if args.keyword("ch") {
            counts_changed = true;
        } else {
            break;
        }
    }
    let count = args.left() / 3;
    if !args.left().is_multiple_of(3) || rule.if_absent && rule.if_present || count == 0 {
        return Err(Error::Syntax.into());
    }
    let mut places = Vec::with_capacity(count);
    while !args.is_empty() {
        places.push((options::position(&mut args)?.score(), args.next()?));
    }
    zset::add(cx, key, rule, counts_changed, places.into_iter())
}

fn geodist(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, one, other) = (args.key()?, args.next()?, args.next()?);
    let unit_m = match args.left() {
        0 => 1.0,
        1 => options::unit(args.next()?)?,
        _ => return Err(Error::Syntax.into()),
    };
    let Some(mut set) = SortedSet::find(cx, key)? else { return Ok(Reply::Nil) };
    let (Some(one), Some(other)) = (set.score(cx, one)?, set.score(cx, other)?) else {
        return Ok(Reply::Nil);
    };
    let distance_m = distance_m(Position::of_score(one), Position::of_score(other));
    Ok(cx.bulk(&spell_distance(distance_m / unit_m)))
}

/// With four digits behind the point; what is too large for that is Redis's least integer.
fn spell_distance(distance: f64) -> Vec<u8> {
    const TOO_LARGE: f64 = (1_u64 << 63) as f64;
    let scaled = (distance * 10_000.0).round_ties_even();
    let scaled = if scaled.abs() < TOO_LARGE { scaled as i64 } else { i64::MIN };
    let (sign, number) = (if scaled < 0 { "-" } else { "" }, scaled.unsigned_abs());
    format!("{sign}{}.{:04}", number / 10_000, number % 10_000).into_bytes()
}

/// Shows the places of the members that the words name, in order.
fn each_place(
    cx: &mut ReadCx<'_>,
    mut args: Args<'_>,
    show: &mut dyn FnMut(&mut Packer, Option<Position>),
) -> Result<Reply> {
    let key = args.key()?;
    cx.env.move_if_heavy(args.left(), Env::IO_THREAD_MAX_ROWS)?;
    let set = SortedSet::find(cx, key)?;
    let mut places = Packer::begin(cx.arena());
    let mut damage = Ok(());
    match set {
        None => args.rest().for_each(|_| show(&mut places, None)),
        Some(mut set) => {
            set.rows.get_each(cx, args.rest(), &mut |value| match value.map(read_value) {
                Some(Ok(score)) => show(&mut places, Some(Position::of_score(score))),
                Some(Err(error)) => damage = Err(error),
                None => show(&mut places, None),
            })?;
        }
    }
    damage?;
    Ok(places.finish(cx.arena(), Shape::Array))
}

fn geohash(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    each_place(cx, args, &mut |packer, place| match place {
        Some(place) => packer.push(&place.geohash()),
        None => packer.push_nil(),
    })
}

fn geopos(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    each_place(cx, args, &mut |packer, place| match place {
        Some(place) => push_position(packer, place),
        None => packer.push_nil_array(),
    })
}

fn push_position(packer: &mut Packer, Position { lon, lat }: Position) {
    packer.push_array(2);
    packer.push_decimal(lon);
    packer.push_decimal(lat);
}
