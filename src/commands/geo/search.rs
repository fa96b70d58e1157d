//! GEOSEARCH, and GEORADIUS, which came before it.

use super::options::{Form, Request, With, parse};
use super::{push_position, spell_distance};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Event, ReadCx, View, WriteCx};
use crate::reply::{Packer, Reply, Shape};
use crate::types::geo::{Area, Finder, Order, Point, Points};
use crate::types::zset::store::Store;
use crate::types::zset::{Scored, SortedSet};

const AROUND_PLACE: Form = Form::Radius { from_member: false, may_store: true };
const AROUND_MEMBER: Form = Form::Radius { from_member: true, may_store: true };

pub fn georadius(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, AROUND_PLACE)
}

pub fn georadius_ro(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, Form::Radius { from_member: false, may_store: false })
}

pub fn georadiusbymember(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, AROUND_MEMBER)
}

pub fn georadiusbymember_ro(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, Form::Radius { from_member: true, may_store: false })
}

pub fn geosearch(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    returned(cx, args, Form::Search { stores: false })
}

pub fn georadius_and_store(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let from = args.key()?;
    stored(cx, None, from, args, AROUND_PLACE, Event::GEORADIUSSTORE)
}

pub fn georadiusbymember_and_store(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let from = args.key()?;
    stored(cx, None, from, args, AROUND_MEMBER, Event::GEORADIUSSTORE)
}

pub fn geosearchstore(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (to, from) = (args.key()?, args.key()?);
    stored(cx, Some(to), from, args, Form::Search { stores: true }, Event::GEOSEARCHSTORE)
}

/// How the members of an area are found: in which order, how many, and how many are looked for.
struct Plan {
    order: Option<Order>,
    wanted: usize,
    sought: usize,
}

impl Plan {
    fn of(request: &Request<'_>) -> Plan {
        let all = if request.count == 0 { u64::MAX } else { request.count };
        let wanted = usize::try_from(all).unwrap_or(usize::MAX);
        // The first ones are the nearest, unless any will do.
        let chooses = request.count != 0 && !request.any;
        let order = request.order.or(chooses.then_some(Order::Ascending));
        Plan { order, wanted, sought: if request.any { wanted } else { usize::MAX } }
    }

    /// Shows the members as they are found.
    fn each(
        &self,
        cx: &impl View,
        set: &SortedSet<'_>,
        area: &Area,
        show: &mut dyn FnMut(Point<'_>),
    ) -> Result<()> {
        let mut finder = Finder::new(area);
        let mut left = self.sought;
        while left > 0
            && let Some(point) = finder.next(cx, set)?
        {
            show(point);
            left -= 1;
        }
        Ok(())
    }

    fn sorted(&self, cx: &impl View, set: &SortedSet<'_>, area: &Area) -> Result<Points> {
        let mut points = Points::new(self.wanted, self.order);
        self.each(cx, set, area, &mut |point| points.add(point))?;
        points.sort();
        Ok(points)
    }
}

fn returned(cx: &mut ReadCx<'_>, mut args: Args<'_>, form: Form) -> Result<Reply> {
    let mut set = SortedSet::find(cx, args.key()?)?;
    let request = parse(cx, set.as_mut(), args, form)?;
    let (Some(set), Some(area)) = (set, &request.area) else { return Ok(Reply::Array(Vec::new())) };
    let plan = Plan::of(&request);
    let mut packer = Packer::begin(cx.arena());
    let mut push = |point: Point<'_>| push_point(&mut packer, request.with, area.unit_m, point);
    match plan.order {
        None => plan.each(cx, &set, area, &mut push)?,
        Some(_) => plan.sorted(cx, &set, area)?.iter().for_each(push),
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}

fn push_point(packer: &mut Packer, with: With, unit_m: f64, point: Point<'_>) {
    if with.count() > 0 {
        packer.push_array(1 + with.count());
    }
    packer.push(point.member);
    if with.distance {
        packer.push(&spell_distance(point.distance_m / unit_m));
    }
    if with.hash {
        packer.push_integer(point.score as i64);
    }
    if with.position {
        push_position(packer, point.position);
    }
}

fn stored(
    cx: &mut WriteCx<'_>,
    to: Option<&[u8]>,
    from: &[u8],
    args: Args<'_>,
    form: Form,
    event: Event,
) -> Result<Reply> {
    let mut set = SortedSet::find(&mut cx.sources(), from)?;
    let request = parse(&mut cx.sources(), set.as_mut(), args, form)?;
    let to = to.or(request.store).ok_or(Error::Syntax)?;
    let mut store = Store::begin(cx, to)?;
    if let (Some(set), Some(area)) = (set, &request.area) {
        let scored = |point: Point<'_>| {
            let distance = point.distance_m / area.unit_m;
            if request.stores_distance { distance } else { point.score }
        };
        let plan = Plan::of(&request);
        if plan.order.is_some() {
            let points = plan.sorted(&cx.sources(), &set, area)?;
            for point in points.iter() {
                store.add(cx, Scored { member: point.member, score: scored(point) })?;
            }
        } else {
            // Without an order they are stored as they are found: they need not be in memory together.
            let (mut finder, mut left) = (Finder::new(area), plan.sought);
            while left > 0
                && let Some(point) = finder.next(&cx.sources(), &set)?
            {
                store.add(cx, Scored { member: point.member, score: scored(point) })?;
                left -= 1;
            }
        }
    }
    let size = store.finish(cx)?;
    if size > 0 {
        cx.notify(event, to);
    }
    Ok(Reply::Integer(size as i64))
}
