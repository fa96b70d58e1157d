//! XREAD: what is new in several streams.

use std::ops::ControlFlow;

use super::{ids, push_entry};
use crate::commands::timeout_ms;
use crate::dispatch::args::Args;
use crate::error::{Error, Park, Result, Stop};
use crate::keyspace::{ReadCx, Sourced, View};
use crate::number::parse_i64;
use crate::reply::{Packer, Reply, Shape};
use crate::types::stream::{Direction, Id, Ids, Stream};

/// What XREAD and XREADGROUP ask for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Of each stream; None is all.
    count: Option<u64>,
    /// Of all streams together, in entries and in bytes of the reply.
    most: Option<u64>,
    most_bytes: Option<u64>,
    /// How long to wait if there is nothing; 0 is for ever.
    pub block_ms: Option<u64>,
    streams: Args<'a>,
    /// How many streams there are, and where the first of the ids stands among all words.
    pub len: usize,
    ids_at: usize,
}

impl<'a> Request<'a> {
    /// The common options, and what `other` takes of the rest: None where it is no option, and else whether it was taken.
    pub fn parse(
        mut args: Args<'a>,
        unbalanced: &'static str,
        other: &mut dyn FnMut(&mut Args<'a>) -> Result<bool>,
    ) -> Result<Request<'a>> {
        let (mut count, mut block_ms, mut most, mut most_bytes) = (None, None, None, None);
        while !args.is_empty() {
            let has_value = args.left() > 1;
            if has_value && args.keyword("BLOCK") {
                block_ms = Some(timeout_ms(args.next()?)?);
            } else if has_value && args.keyword("COUNT") {
                count = u64::try_from(args.int()?).ok().filter(|count| *count > 0);
            } else if has_value && args.keyword("MAXCOUNT") {
                most = Some(positive(args.next()?, "ERR MAXCOUNT must be a positive integer")?);
            } else if has_value && args.keyword("MAXSIZE") {
                most_bytes = Some(positive(args.next()?, "ERR MAXSIZE must be a positive integer")?);
            } else if has_value && args.keyword("STREAMS") {
                let words = args.left();
                if !words.is_multiple_of(2) {
                    return Err(Error::reply(unbalanced).into());
                }
                let len = words / 2;
                let ids_at = args.words().len() - len;
                return Ok(Request { count, most, most_bytes, block_ms, streams: args, len, ids_at });
            } else if !other(&mut args)? {
                return Err(Error::Syntax.into());
            }
        }
        Err(Error::Syntax.into())
    }

    /// Keys with the words for their ids.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        let (streams, len) = (self.streams, self.len);
        (0..len).map(move |n| {
            (streams.peek_at(n).unwrap_or_default(), streams.peek_at(len + n).unwrap_or_default())
        })
    }

    /// Nothing was found. `resolved` are the ids that words stood for, by their numbers.
    pub fn wait(&self, resolved: impl Iterator<Item = (usize, Id)>) -> Result<Reply> {
        let Some(timeout_ms) = self.block_ms else { return Ok(Reply::NilArray) };
        let words = resolved.map(|(n, id)| (self.ids_at + n, Box::from(&*ids::shown(id)))).collect();
        Err(Stop::Park(Box::new(Park { words, ..Park::new(timeout_ms, true) })))
    }
}

fn positive(word: &[u8], refusal: &'static str) -> Result<u64> {
    let number = parse_i64(word).filter(|number| *number > 0);
    number.map(i64::unsigned_abs).ok_or_else(|| Error::reply(refusal).into())
}

/// What a reply may still hold.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    count: u64,
    entries: u64,
    bytes: u64,
    is_begun: bool,
}

impl Budget {
    pub fn of(request: &Request<'_>) -> Budget {
        Budget {
            count: request.count.unwrap_or(u64::MAX),
            entries: request.most.unwrap_or(u64::MAX),
            bytes: request.most_bytes.unwrap_or(u64::MAX),
            is_begun: false,
        }
    }

    /// Entries that the next stream may give.
    pub fn of_stream(&self) -> u64 {
        self.count.min(self.entries)
    }

    /// Whether there is room for an entry behind so many bytes of this stream's. There is always room for the first of all.
    pub fn has_room(&self, bytes: usize) -> bool {
        (bytes as u64) < self.bytes || bytes == 0 && !self.is_begun
    }

    /// A stream has given so much.
    pub fn spend(&mut self, entries: usize, bytes: usize) {
        self.entries = self.entries.saturating_sub(entries as u64);
        self.bytes = self.bytes.saturating_sub(bytes as u64);
        self.is_begun |= entries > 0;
    }
}

const UNBALANCED: &str =
    "ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified.";

pub fn xread(cx: &mut ReadCx<'_>, args: Args<'_>) -> Result<Reply> {
    let request = Request::parse(args, UNBALANCED, &mut |args| {
        if args.left() > 2 && args.keyword("GROUP") {
            return Err(Error::reply(
                "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
            )
            .into());
        }
        if args.left() > 1 && args.keyword("CLAIM") {
            return Err(Error::reply(
                "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.",
            )
            .into());
        }
        if args.keyword("NOACK") {
            return Err(Error::reply(
                "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
            )
            .into());
        }
        Ok(false)
    })?;
    let mut found = Vec::with_capacity(request.len);
    let mut resolved = Vec::new();
    let mut sources = Sourced::default();
    for (n, (key, word)) in request.streams().enumerate() {
        let looked_up = Stream::find(cx, key);
        let stream = sources.look(cx, looked_up)?;
        let last = stream.as_ref().map_or(Id::MIN, |stream| stream.state.last);
        let behind = match word {
            b"$" => {
                resolved.push((n, last));
                last
            }
            b"+" => match &stream {
                Some(stream) => stream.last_entry(cx)?.and_then(Id::prev).unwrap_or(last),
                None => Id::MIN,
            },
            b">" => {
                return Err(Error::reply(
                    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
                )
                .into());
            }
            word => ids::id(word, 0)?,
        };
        found.push((key, stream, behind));
    }
    let mut replies = Vec::new();
    let mut budget = Budget::of(&request);
    for (key, stream, behind) in found {
        let (Some(stream), Some(first)) = (stream, behind.next()) else { continue };
        let limit = budget.of_stream();
        if limit == 0 || !budget.has_room(0) {
            break;
        }
        let mut packer = Packer::begin(cx.arena());
        let ids = Ids { first, last: Id::MAX };
        stream.each(cx, ids, Direction::Forward, limit, &mut |id, strings| {
            if !budget.has_room(packer.bytes()) {
                return ControlFlow::Break(());
            }
            push_entry(&mut packer, id, strings);
            ControlFlow::Continue(())
        })?;
        let is_empty = packer.count() == 0;
        budget.spend(packer.count(), packer.bytes());
        let entries = packer.finish(cx.arena(), Shape::Array);
        if !is_empty {
            replies.push((Reply::bulk(key), entries));
        }
    }
    if replies.is_empty() {
        return request.wait(resolved.into_iter());
    }
    sources.found()?;
    Ok(Reply::Pairs(replies))
}
