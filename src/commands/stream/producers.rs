//! What producers say of their messages, so that none is added twice: IDMP and IDMPAUTO of XADD, XCFGSET and XIDMPRECORD.

use super::ids;
use crate::config::limits::{MAX_RECORDS, MAX_RECORDS_SECS};
use crate::dispatch::args::Args;
use crate::error::{Error, Result};
use crate::keyspace::{Env, WriteCx};
use crate::reply::Reply;
use crate::types::stream::{Sent, Stream};

/// A message as XADD is told of it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    producer: &'a [u8],
    /// None where its fields and values tell it from others.
    word: Option<&'a [u8]>,
}

impl<'a> Named<'a> {
    /// What follows IDMP or IDMPAUTO.
    pub fn take(args: &mut Args<'a>, has_word: bool) -> Result<Named<'a>> {
        let option = if has_word { "IDMP" } else { "IDMPAUTO" };
        let empty = |what| Error::reply(format!("ERR {option} requires a non-empty {what} ID"));
        let producer = args.next()?;
        if producer.is_empty() {
            return Err(empty("producer").into());
        }
        let word = if has_word { Some(args.next()?) } else { None };
        if word.is_some_and(<[u8]>::is_empty) {
            return Err(empty("idempotent").into());
        }
        Ok(Named { producer, word })
    }

    pub fn sent(&self, env: &Env<'_>, strings: impl Iterator<Item = &'a [u8]>) -> Sent {
        match self.word {
            Some(word) => Sent::new(env, self.producer, word),
            None => Sent::by_content(env, self.producer, strings),
        }
    }
}

fn between(args: &mut Args<'_>, name: &str, most: u32, unit: &str) -> Result<u32> {
    let number = u32::try_from(args.int()?).ok().filter(|number| (1..=most).contains(number));
    let refused = || Error::reply(format!("ERR {name} must be between 1 and {most} {unit}"));
    Ok(number.ok_or_else(refused)?)
}

pub fn xcfgset(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let key = args.key()?;
    let (mut duration_s, mut limit) = (None, None);
    if args.is_empty() {
        return Err(Error::reply("ERR At least one parameter must be specified").into());
    }
    while !args.is_empty() {
        let has_value = args.left() > 1;
        if has_value && args.keyword("IDMP-DURATION") {
            duration_s = Some(between(&mut args, "IDMP-DURATION", MAX_RECORDS_SECS, "seconds")?);
        } else if has_value && args.keyword("IDMP-MAXSIZE") {
            limit = Some(between(&mut args, "IDMP-MAXSIZE", MAX_RECORDS, "entries")?);
        } else {
            return Err(Error::Syntax.into());
        }
    }
    let mut stream = Stream::open(cx, key)?.ok_or(Error::NoSuchKey)?;
    let mut retention = stream.retention(&cx.env);
    retention.duration_s = duration_s.unwrap_or(retention.duration_s);
    retention.limit = limit.unwrap_or(retention.limit);
    stream.set_retention(cx, retention);
    stream.save(cx)?;
    Ok(Reply::OK)
}

pub fn xidmprecord(cx: &mut WriteCx<'_>, mut args: Args<'_>) -> Result<Reply> {
    let (key, producer, word) = (args.key()?, args.next()?, args.next()?);
    let id = ids::id(args.next()?, 0)?;
    for (part, what) in [(producer, "producer"), (word, "idempotent")] {
        if part.is_empty() {
            return Err(Error::reply(format!("ERR XIDMPRECORD requires a non-empty {what} ID")).into());
        }
    }
    let mut stream = Stream::open(cx, key)?.ok_or(Error::NoSuchKey)?;
    if !stream.has(cx, id)? {
        return Err(Error::reply("ERR The specified stream ID was deleted or doesn't exist").into());
    }
    let sent = Sent::new(&cx.env, producer, word);
    match stream.find_sent(cx, &sent)? {
        Some(found) if found == id => {}
        Some(_) => {
            return Err(Error::reply(
                "ERR The specified IDMP producer-id/idempotent-id pair maps to a different stream ID",
            )
            .into());
        }
        None => {
            stream.record(cx, &sent, id)?;
            stream.save(cx)?;
        }
    }
    Ok(Reply::OK)
}
