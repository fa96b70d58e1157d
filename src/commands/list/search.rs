//! LPOS.

use std::ops::ControlFlow;

use super::at_least;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::ReadCx;
use crate::reply::Reply;
use crate::types::list::{End, List};

struct Options {
    /// The match to begin with, from 1 on.
    rank: u64,
    from: End,
    /// How many to return, 0 for all; without it one, and not as an array.
    count: Option<u64>,
    /// How many elements to look at, 0 for all.
    max_len: u64,
}

fn options(args: &mut Args<'_>) -> Result<Options> {
    let mut options = Options { rank: 1, from: End::Left, count: None, max_len: 0 };
    while !args.is_empty() {
        if args.left() < 2 {
            return Err(Error::Syntax.into());
        }
        if args.keyword("RANK") {
            let rank = args.int()?;
            if rank == i64::MIN {
                // It has no counterpart above zero.
                let words = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
                return Err(Error::reply(words).into());
            }
            if rank == 0 {
                return Err(Error::reply(
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                     negative to start from the end of the list",
                ).into());
            }
            options.rank = rank.unsigned_abs();
            options.from = if rank < 0 { End::Right } else { End::Left };
        } else if args.keyword("COUNT") {
            options.count = Some(at_least(args.next()?, 0, "ERR COUNT can't be negative")?);
        } else if args.keyword("MAXLEN") {
            options.max_len = at_least(args.next()?, 0, "ERR MAXLEN can't be negative")?;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    Ok(options)
}

pub fn lpos(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, wanted) = (args.key()?, args.next()?);
    let Options { rank, from, count, max_len } = options(&mut args)?;
    let none = if count.is_some() { Reply::Array(Vec::new()) } else { Reply::Nil };
    let Some(list) = List::find(cx, key)? else { return Ok(none) };
    let len = list.len();
    let looked_at = if max_len == 0 { len } else { len.min(max_len) };
    let places = match from {
        End::Left => 0..looked_at,
        End::Right => len - looked_at..len,
    };
    let most = match count {
        None => 1,
        Some(0) => u64::MAX,
        Some(count) => count,
    };
    let mut matches = 0;
    let mut found = Vec::new();
    list.each(cx, places, from, &mut |place, value| {
        if value == wanted {
            matches += 1;
            if matches >= rank {
                found.push(Reply::Integer(place as i64));
            }
        }
        if found.len() as u64 == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(match count {
        Some(_) => Reply::Array(found),
        None => found.pop().unwrap_or(none),
    })
}
