//! XRANGE and XREVRANGE.

use std::ops::ControlFlow;

use super::{ids, push_entry};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View as _};
use crate::reply::{Packer, Reply, Shape};
use crate::types::stream::{Direction, Ids, Stream};

pub fn xrange(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Direction::Forward)
}

pub fn xrevrange(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    range(cx, args, Direction::Backward)
}

fn range(cx: &mut ReadCx<'_>, mut args: Args<'_>, direction: Direction) -> Result<Reply> {
    let (key, first, second) = (args.key()?, args.next()?, args.next()?);
    let (start, end) = match direction {
        Direction::Forward => (first, second),
        Direction::Backward => (second, first),
    };
    let ids = Ids { first: ids::start(start)?, last: ids::end(end)? };
    let mut count = None;
    while !args.is_empty() {
        if args.left() < 2 || !args.keyword("COUNT") {
            return Err(Error::Syntax.into());
        }
        count = Some(u64::try_from(args.int()?).unwrap_or(0));
    }
    let found = Stream::find(cx, key)?;
    if found.is_some() && count == Some(0) {
        return Ok(Reply::NilArray);
    }
    let mut packer = Packer::begin(cx.arena());
    if let Some(stream) = found {
        let limit = count.unwrap_or(u64::MAX);
        stream.each(cx, ids, direction, limit, &mut |id, strings| {
            push_entry(&mut packer, id, strings);
            ControlFlow::Continue(())
        })?;
    }
    Ok(packer.finish(cx.arena(), Shape::Array))
}
