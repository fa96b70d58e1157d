//! XADD and XTRIM: adding entries, and removing the oldest.

use super::delete::take_refs;
use super::id_reply;
use super::ids::{self, NewId};
use super::producers::Named;
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, WriteCx};
use crate::reply::Reply;
use crate::types::stream::{Bound, Id, Refs, Stream, Trim};

/// Nodes that are trimmed at most where `~` stands without LIMIT.
const DEFAULT_NODES: u64 = 100;
/// Entries for the same, where a node has no limit, and at most.
const DEFAULT_LIMIT: u64 = 10_000;
const MAX_LIMIT: u64 = 1_000_000;

/// What stands between the key and the id.
#[derive(Debug, Default)]
struct Options<'a> {
    no_create: bool,
    bound: Option<Bound>,
    is_about: bool,
    limit: Option<u64>,
    refs: Option<Refs>,
    producer: Option<Named<'a>>,
}

impl<'a> Options<'a> {
    /// Takes one option; false where there is none.
    fn take(&mut self, args: &mut Args<'a>, adds: bool) -> Result<bool> {
        let has_value = args.left() > 1;
        if has_value && args.keyword("MAXLEN") {
            self.begin_bound(args)?;
            let len = u64::try_from(args.int()?);
            self.bound =
                Some(Bound::Len(len.map_err(|_| Error::reply("ERR The MAXLEN argument must be >= 0."))?));
        } else if has_value && args.keyword("MINID") {
            self.begin_bound(args)?;
            self.bound = Some(Bound::From(ids::id(args.next()?, 0)?));
        } else if has_value && args.keyword("LIMIT") {
            let limit = u64::try_from(args.int()?);
            self.limit = Some(limit.map_err(|_| Error::reply("ERR The LIMIT argument must be >= 0."))?);
        } else if adds && args.keyword("NOMKSTREAM") {
            self.no_create = true;
        } else if adds && args.left() > 2 && args.keyword("IDMP") {
            self.set_producer(Named::take(args, true)?)?;
        } else if adds && has_value && args.keyword("IDMPAUTO") {
            self.set_producer(Named::take(args, false)?)?;
        } else if let Some(refs) = take_refs(args) {
            if self.refs.replace(refs).is_some() {
                return Err(Error::Syntax.into());
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn set_producer(&mut self, named: Named<'a>) -> Result<()> {
        match self.producer.replace(named) {
            None => Ok(()),
            Some(_) => Err(Error::reply("ERR IDMP/IDMPAUTO specified multiple times").into()),
        }
    }

    /// What follows MAXLEN or MINID up to its value.
    fn begin_bound(&mut self, args: &mut Args<'a>) -> Result<()> {
        if self.bound.is_some() {
            return Err(Error::reply(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            )
            .into());
        }
        let has_more = args.left() > 1;
        self.is_about = has_more && args.keyword("~");
        if !self.is_about && has_more {
            args.keyword("=");
        }
        Ok(())
    }

    fn trim(&self, env: &Env<'_>) -> Result<Option<Trim>> {
        let refused = match (self.bound, self.limit) {
            (None, Some(1..)) => {
                Some("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
            }
            (_, Some(_)) if !self.is_about => {
                Some("ERR syntax error, LIMIT cannot be used without the special ~ option")
            }
            _ => None,
        };
        if let Some(words) = refused {
            return Err(Error::reply(words).into());
        }
        let limit = match self.limit {
            Some(0) => u64::MAX,
            Some(limit) => limit,
            None => match DEFAULT_NODES.saturating_mul(env.limits.stream_node_entries as u64) {
                0 => DEFAULT_LIMIT,
                limit => limit.min(MAX_LIMIT),
            },
        };
        let (about, refs) = (self.is_about.then_some(limit), self.refs.unwrap_or_default());
        Ok(self.bound.map(|bound| Trim { bound, about, refs }))
    }
}

pub fn xadd(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let mut options = Options::default();
    let mut new = None;
    while let Some(word) = args.peek() {
        if word == b"*" || !options.take(&mut args, true)? {
            new = Some(ids::new_id(args.next()?)?);
            break;
        }
    }
    let trim = options.trim(&cx.env)?;
    let Some(new) = new.filter(|_| args.left() >= 2 && args.left().is_multiple_of(2)) else {
        return Err(Error::Arity("xadd".into()).into());
    };
    if new == NewId::Exact(Id::MIN) {
        return Err(Error::reply("ERR The ID specified in XADD must be greater than 0-0").into());
    }
    if options.producer.is_some() && new != NewId::Auto {
        return Err(Error::reply("ERR IDMP/IDMPAUTO can be used only with auto-generated IDs").into());
    }
    cx.env.move_if_heavy(args.words().bytes(), Env::IO_THREAD_MAX_BYTES)?;
    let mut stream = if options.no_create {
        match Stream::open(cx, key)? {
            None => return Ok(Reply::Nil),
            Some(stream) => stream,
        }
    } else {
        Stream::open_or_create(cx, key)?
    };
    let sent = options.producer.map(|named| named.sent(&cx.env, args.rest()));
    if let Some(sent) = &sent
        && let Some(id) = stream.find_sent(cx, sent)?
    {
        stream.count_duplicate();
        stream.save(cx)?;
        return Ok(id_reply(id));
    }
    let exhausted =
        || Error::reply("ERR The stream has exhausted the last possible ID, unable to add more items");
    if stream.state.last == Id::MAX {
        return Err(exhausted().into());
    }
    let id = match new {
        NewId::Auto => Some(stream.next_id(cx.env.now_ms).ok_or_else(exhausted)?),
        NewId::In(ms) => stream.next_id_in(ms),
        NewId::Exact(id) => Some(id).filter(|id| *id > stream.state.last),
    };
    let id = id.ok_or_else(|| {
        Error::reply("ERR The ID specified in XADD is equal or smaller than the target stream top item")
    })?;
    stream.add(cx, id, args.rest());
    if let Some(sent) = &sent {
        stream.record(cx, sent, id)?;
    }
    let trimmed = trim.map_or(Ok(0), |trim| stream.trim(cx, trim))?;
    stream.save(cx)?;
    cx.notify(Event::XADD, key);
    if trimmed > 0 {
        cx.notify(Event::XTRIM, key);
    }
    Ok(id_reply(id))
}

pub fn xtrim(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let mut options = Options::default();
    while !args.is_empty() {
        if !options.take(&mut args, false)? {
            return Err(Error::Syntax.into());
        }
    }
    let no_bound = Error::reply("ERR syntax error, XTRIM must be called with a trimming strategy");
    if options.bound.is_none() && options.limit.is_none_or(|limit| limit == 0) {
        return Err(no_bound.into());
    }
    let trim = options.trim(&cx.env)?.ok_or(no_bound)?;
    let Some(mut stream) = Stream::open(cx, key)? else { return Ok(Reply::Integer(0)) };
    let trimmed = stream.trim(cx, trim)?;
    if trimmed > 0 {
        stream.save(cx)?;
        cx.notify(Event::XTRIM, key);
    }
    Ok(Reply::Integer(trimmed as i64))
}
