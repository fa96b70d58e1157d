//! A sorted set as a payload.

use super::store::Store;
use super::{Direction, KIND, Scored};
use crate::encoding::SCORE;
use crate::encoding::zset::read_score;
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Env, ReadCx, WriteCx};
use crate::rdb::{Payload, Shape, Writer};
use crate::types::collection::{Collection, Walk};
use crate::types::dump::{Checked, Dump, distinct_names, room};

pub const DUMP: Dump = Dump { kind: KIND, shape: Shape::SortedSet, dump, check, restore };

/// From the greatest score to the least, which is how Redis puts them in order with least work.
fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>, out: &mut Writer) -> Result<()> {
    let all = Collection::of(cx, found.clone(), KIND)?.ok_or(Error::NoSuchKey)?;
    all.light(&cx.env)?;
    out.sorted_set();
    out.number(all.size());
    let (start, end) = all.bounds();
    let mut walk = Walk::over(SCORE, start.len(), start, end, Direction::Backward).whole();
    while let Some(element) = walk.next(cx)? {
        let (score, member) = read_score(element.sub, element.value)?;
        out.string(member);
        out.score(score);
        room(&cx.env, out.len())?;
    }
    Ok(())
}

fn check(env: &Env<'_>, payload: &Payload<'_>) -> Result<u64> {
    distinct_names(env, |each| payload.scores(&mut |member, _| each(member)))
}

fn restore<'a>(cx: &mut WriteCx<'a>, to: &Entry<'_>, from: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    let mut store: Store<'a, '_> = Store::in_place_of(cx, to.clone(), from.elements)?;
    from.payload.scores(&mut |member, score| store.add(cx, Scored { member, score }))?;
    store.finish_with_expiry(cx, expire_at_ms)?;
    Ok(())
}
