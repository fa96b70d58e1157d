//! LCS.

use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{ReadCx, View as _, entry};
use crate::reply::Reply;
use crate::types::string::{self, lcs as algorithm};

/// Bytes that redis-server needs per pair of bytes; its limit is in these.
const BYTES_PER_CELL: u128 = 4;
/// Pairs of bytes that may be compared on an I/O thread.
const IO_THREAD_MAX_CELLS: usize = 64 * 1024;

#[derive(Default)]
struct Options {
    len: bool,
    idx: bool,
    with_match_len: bool,
    min_match_len: i64,
}

fn options(mut args: Args<'_>) -> Result<Options> {
    let mut options = Options::default();
    while !args.is_empty() {
        if args.keyword("IDX") {
            options.idx = true;
        } else if args.keyword("LEN") {
            options.len = true;
        } else if args.keyword("WITHMATCHLEN") {
            options.with_match_len = true;
        } else if args.keyword("MINMATCHLEN") {
            options.min_match_len = args.int()?;
        } else {
            return Err(Error::Syntax.into());
        }
    }
    if options.len && options.idx {
        return Err(Error::reply("ERR If you want both the length and indexes, please just use IDX.").into());
    }
    Ok(options)
}

pub fn lcs(cx: &mut ReadCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let a = entry::find_counted(cx, args.key()?)?;
    let b = entry::find_counted(cx, args.key()?)?;
    let (Ok(a), Ok(b)) = (string::value(&a), string::value(&b)) else {
        return Err(Error::reply("ERR The specified keys must contain string values").into());
    };
    let options = options(args)?;
    let len = |value: &Option<string::Value>| value.as_ref().map_or(0, string::Value::len);
    let bytes = (u128::from(len(&a)) + 1) * (u128::from(len(&b)) + 1) * BYTES_PER_CELL;
    if bytes > cx.env.limits.max_string_len as u128 {
        return Err(Error::reply(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        )
        .into());
    }
    cx.env.move_if_heavy((bytes / BYTES_PER_CELL) as usize, IO_THREAD_MAX_CELLS)?;
    let a = a.map(|a| a.read(cx)).transpose()?.unwrap_or_default();
    let b = b.map(|b| b.read(cx)).transpose()?.unwrap_or_default();
    let (a, b) = (cx.bytes(a), cx.bytes(b));
    if options.len {
        return Ok(Reply::Integer(i64::from(algorithm::length(a, b))));
    }
    let runs = algorithm::runs(a, b);
    if !options.idx {
        let parts = runs.iter().rev().filter_map(|run| a.get(run.a_start..run.a_start + run.len));
        return Ok(Reply::bulk(parts.collect::<Vec<_>>().concat()));
    }
    let total: usize = runs.iter().map(|run| run.len).sum();
    let place = |start: usize, len: usize| {
        Reply::Array(vec![Reply::Integer(start as i64), Reply::Integer((start + len - 1) as i64)])
    };
    let matches = runs.iter().filter(|run| run.len as i64 >= options.min_match_len).map(|run| {
        let mut reply = vec![place(run.a_start, run.len), place(run.b_start, run.len)];
        if options.with_match_len {
            reply.push(Reply::Integer(run.len as i64));
        }
        Reply::Array(reply)
    });
    Ok(Reply::Map(vec![
        (Reply::text("matches"), Reply::Array(matches.collect())),
        (Reply::text("len"), Reply::Integer(total as i64)),
    ]))
}
