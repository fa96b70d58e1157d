//! The words of searches.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::View;
use crate::number::{self, double};
use crate::types::geo::{Area, Order, Position, Shape};
use crate::types::zset::SortedSet;

/// Which of the commands it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// GEORADIUS and GEORADIUSBYMEMBER: place and radius stand in front, STORE and STOREDIST name a key.
    Radius { from_member: bool, may_store: bool },
    /// GEOSEARCH and GEOSEARCHSTORE: everything is an option, the key to store to is another word.
    Search { stores: bool },
}

#[derive(Debug)]
pub struct Request<'a> {
    /// None where there is no such key.
    pub area: Option<Area>,
    pub order: Option<Order>,
    /// How many are wanted; 0 is all.
    pub count: u64,
    /// Any of them will do.
    pub any: bool,
    pub with: With,
    /// Where GEORADIUS stores to.
    pub store: Option<&'a [u8]>,
    /// Distances are stored, not places.
    pub stores_distance: bool,
}

/// What is told of each member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct With {
    pub distance: bool,
    pub hash: bool,
    pub position: bool,
}

impl With {
    pub fn count(self) -> usize {
        usize::from(self.distance) + usize::from(self.hash) + usize::from(self.position)
    }
}

/// Longitude and latitude.
pub fn position(args: &mut Args<'_>) -> Result<Position> {
    let mut number = || double::parse(args.next()?).ok_or_else(|| Error::NotFloat.into());
    let (lon, lat) = match (number(), number()) {
        (Ok(lon), Ok(lat)) => (lon, lat),
        (Err(stop), _) | (_, Err(stop)) => return Err(stop),
    };
    let position = Position { lon, lat };
    if !position.is_valid() {
        return Err(Error::reply(format!("ERR invalid longitude,latitude pair {lon:.6},{lat:.6}")).into());
    }
    Ok(position)
}

/// Metres in a unit.
pub fn unit(word: &[u8]) -> Result<f64> {
    const UNITS: [(&str, f64); 4] = [("m", 1.0), ("km", 1_000.0), ("ft", 0.3048), ("mi", 1_609.34)];
    let found = UNITS.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    let unknown = Error::reply("ERR unsupported unit provided. please use M, KM, FT, MI");
    found.map(|(_, metres)| metres).ok_or_else(|| unknown.into())
}

fn length(word: &[u8], what: &'static str) -> Result<f64> {
    double::parse(word).ok_or_else(|| Error::reply(what).into())
}

fn circle(args: &mut Args<'_>) -> Result<(Shape, f64)> {
    let radius = length(args.next()?, "ERR need numeric radius")?;
    if radius < 0.0 {
        return Err(Error::reply("ERR radius cannot be negative").into());
    }
    Ok((Shape::Circle { radius }, unit(args.next()?)?))
}

fn rectangle(args: &mut Args<'_>) -> Result<(Shape, f64)> {
    let width = length(args.next()?, "ERR need numeric width")?;
    let height = length(args.next()?, "ERR need numeric height")?;
    if height < 0.0 || width < 0.0 {
        return Err(Error::reply("ERR height or width cannot be negative").into());
    }
    Ok((Shape::Box { width, height }, unit(args.next()?)?))
}

/// Vertices of a polygon, and how many they are.
fn polygon(args: &mut Args<'_>) -> Result<Area> {
    let count = number::parse_i64(args.next()?).and_then(|count| i32::try_from(count).ok());
    let count = count.ok_or_else(|| Error::reply("ERR invalid number of vertices"))?;
    let room = args.left() / 2;
    let count = usize::try_from(count).ok().filter(|count| (3..=room).contains(count));
    let count = count.ok_or_else(|| Error::reply("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices"))?;
    let vertices = (0..count).map(|_| position(args)).collect::<Result<_>>()?;
    Ok(Area::polygon(vertices))
}

/// Where a member is; None where there is no key to ask.
fn member(cx: &mut impl View, set: Option<&mut SortedSet<'_>>, member: &[u8]) -> Result<Option<Position>> {
    let Some(set) = set else { return Ok(None) };
    let unknown = Error::reply("ERR could not decode requested zset member");
    Ok(Some(Position::of_score(set.score(cx, member)?.ok_or(unknown)?)))
}

/// What follows the keys.
pub fn parse<'a>(
    cx: &mut impl View,
    mut set: Option<&mut SortedSet<'_>>,
    mut args: Args<'a>,
    form: Form,
) -> Result<Request<'a>> {
    // A member of a key that does not exist is nowhere, and said nevertheless.
    let (mut center, mut by_member, mut by_place) = (None, false, false);
    let (mut circle_given, mut box_given, mut polygon_given) = (None, None, None);
    if let Form::Radius { from_member, .. } = form {
        if !from_member {
            center = Some(position(&mut args)?);
            circle_given = Some(circle(&mut args)?);
        } else {
            center = member(cx, set.as_deref_mut(), args.next()?)?;
            // Nobody asks how far from nowhere.
            match center {
                Some(_) => circle_given = Some(circle(&mut args)?),
                None => (_, _) = (args.next()?, args.next()?),
            }
        }
    }
    let mut request = Request {
        area: None,
        order: None,
        count: 0,
        any: false,
        with: With::default(),
        store: None,
        stores_distance: false,
    };
    let searches = matches!(form, Form::Search { .. });
    let may_name_store = matches!(form, Form::Radius { may_store: true, .. });
    while !args.is_empty() {
        let behind = args.left() - 1;
        let may_be_around = searches && polygon_given.is_none();
        if args.keyword("withdist") {
            request.with.distance = true;
        } else if args.keyword("withhash") {
            request.with.hash = true;
        } else if args.keyword("withcoord") {
            request.with.position = true;
        } else if args.keyword("any") {
            request.any = true;
        } else if args.keyword("asc") {
            request.order = Some(Order::Ascending);
        } else if args.keyword("desc") {
            request.order = Some(Order::Descending);
        } else if behind >= 1 && args.keyword("count") {
            request.count = u64::try_from(args.int()?).unwrap_or(0);
            if request.count == 0 {
                return Err(Error::reply("ERR COUNT must be > 0").into());
            }
        } else if behind >= 1 && may_name_store && args.keyword("store") {
            (request.store, request.stores_distance) = (Some(args.next()?), false);
        } else if behind >= 1 && may_name_store && args.keyword("storedist") {
            (request.store, request.stores_distance) = (Some(args.next()?), true);
        } else if form == (Form::Search { stores: true }) && args.keyword("storedist") {
            request.stores_distance = true;
        } else if behind >= 1 && may_be_around && !by_place && args.keyword("frommember") {
            center = member(cx, set.as_deref_mut(), args.next()?)?;
            by_member = true;
        } else if behind >= 2 && may_be_around && !by_member && args.keyword("fromlonlat") {
            center = Some(position(&mut args)?);
            by_place = true;
        } else if behind >= 2 && may_be_around && box_given.is_none() && args.keyword("byradius") {
            circle_given = Some(circle(&mut args)?);
        } else if behind >= 3 && may_be_around && circle_given.is_none() && args.keyword("bybox") {
            box_given = Some(rectangle(&mut args)?);
        } else if behind >= 2
            && searches
            && !(by_member || by_place)
            && circle_given.is_none()
            && box_given.is_none()
            && args.keyword("bypolygon")
        {
            polygon_given = Some(polygon(&mut args)?);
        } else {
            return Err(Error::Syntax.into());
        }
    }
    let stores = request.store.is_some() || form == (Form::Search { stores: true });
    if stores && request.with.count() > 0 {
        let command = if searches { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
        return Err(Error::reply(format!(
            "ERR {command} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
        ))
        .into());
    }
    let given = circle_given.or(box_given);
    let name = args.words().get(0).unwrap_or_default();
    if searches && !(by_member || by_place || polygon_given.is_some()) {
        let words = "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for ";
        return Err(Error::about(words, name, "").into());
    }
    if searches && given.is_none() && polygon_given.is_none() {
        let words = "ERR exactly one of BYRADIUS and BYBOX can be specified for ";
        return Err(Error::about(words, name, "").into());
    }
    if request.any && request.count == 0 {
        return Err(Error::reply("ERR the ANY argument requires COUNT argument").into());
    }
    let around = center.zip(given).map(|(center, (shape, unit_m))| Area { center, shape, unit_m });
    request.area = polygon_given.or(around);
    Ok(request)
}
