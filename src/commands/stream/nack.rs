//! XNACK: pending entries that a consumer gives back.

use super::ids;
use super::pending::no_group;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, WriteCx};
use crate::number::parse_i64;
use crate::reply::Reply;
use crate::types::stream::{Id, NOBODY, Pending, Stream};

/// What it means for the number of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The last one did not count.
    Silent,
    Fail,
    /// There were enough of them.
    Fatal,
}

/// More deliveries than anybody asks for.
const MOST_DELIVERIES: u64 = i64::MAX as u64;

struct Request {
    mode: Mode,
    ids: Vec<Id>,
    deliveries: Option<u64>,
    force: bool,
}

impl Request {
    fn parse(mut args: Args<'_>) -> Result<Request> {
        let modes = [("SILENT", Mode::Silent), ("FAIL", Mode::Fail), ("FATAL", Mode::Fatal)];
        let mode = modes.into_iter().find(|(word, _)| args.keyword(word)).map(|(_, mode)| mode);
        let mode = mode.ok_or_else(|| Error::reply("ERR mode must be SILENT, FAIL, or FATAL"))?;
        let (mut ids, mut deliveries, mut force) = (None, None, false);
        while !args.is_empty() {
            let has_value = args.left() > 1;
            if args.keyword("FORCE") {
                force = true;
            } else if has_value && args.keyword("RETRYCOUNT") {
                let count = u64::try_from(args.int()?);
                deliveries =
                    Some(count.map_err(|_| Error::reply("ERR Invalid RETRYCOUNT value, must be >= 0"))?);
            } else if has_value && ids.is_none() && args.keyword("IDS") {
                ids = Some(numbered_ids(&mut args)?);
            } else {
                let word = args.peek().unwrap_or_default();
                return Err(Error::about("ERR Unrecognized XNACK option '", word, "'").into());
            }
        }
        let ids = ids.ok_or_else(|| Error::reply("ERR syntax error, expected IDS keyword"))?;
        Ok(Request { mode, ids, deliveries, force })
    }

    /// How often an entry was delivered, once it is given back.
    fn deliveries(&self, before: Option<Pending>) -> u64 {
        match (self.deliveries, self.mode) {
            (Some(count), _) => count,
            (None, Mode::Fatal) => MOST_DELIVERIES,
            (None, Mode::Silent) => before.map_or(0, |before| before.deliveries.saturating_sub(1)),
            (None, Mode::Fail) => before.map_or(0, |before| before.deliveries),
        }
    }
}

fn numbered_ids(args: &mut Args<'_>) -> Result<Vec<Id>> {
    let count = parse_i64(args.next()?).filter(|count| *count > 0);
    let count = count.ok_or_else(|| Error::reply("ERR numids must be a positive integer"))?;
    let count = usize::try_from(count).ok().filter(|count| *count <= args.left());
    let count = count.ok_or_else(|| Error::reply("ERR number of IDs doesn't match numids"))?;
    (0..count).map(|_| ids::id(args.next()?, 0)).collect()
}

pub fn xnack(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, name) = (args.key()?, args.next()?);
    let found = Stream::open(cx, key)?;
    let group = found.as_ref().map_or(Ok(None), |stream| stream.group(cx, name))?;
    let (Some(mut stream), Some(mut group)) = (found, group) else { return Err(no_group(key, name).into()) };
    let request = Request::parse(args)?;
    cx.env.move_if_heavy(request.ids.len(), Env::IO_THREAD_MAX_ROWS)?;
    let mut given_back = 0;
    for id in &request.ids {
        let before = group.pending(cx, *id)?;
        if before.is_none() && !(request.force && stream.has(cx, *id)?) {
            continue;
        }
        let deliveries = request.deliveries(before);
        group.assign(cx, *id, before, Pending { consumer: NOBODY, delivered_ms: 0, deliveries })?;
        given_back += 1;
    }
    stream.save_group(cx, &mut group);
    Ok(Reply::Integer(given_back))
}
