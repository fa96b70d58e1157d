//! XREADGROUP: entries for a consumer of a group, new ones or those it has pending.

use super::pending::idle_ms;
use super::read::{Budget, Request};
use super::{ids, push_claimed, push_entry, push_gone};
use crate::dispatch::args::Args;
use crate::error::{Error, Result, Stop, shown};
use crate::keyspace::{Env, Event, View as _, WriteCx};
use crate::number::parse_i64;
use crate::reply::{Packer, Reply, Shape};
use crate::types::stream::{Direction, Group, Id, Ids, Pending, Stream, Strings, read_delivered};

const UNBALANCED: &str =
    "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified.";

/// What is wanted of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// What nobody was given yet.
    New,
    /// What the consumer has pending behind this id.
    Pending(Id),
}

fn meaningless(word: &str) -> Error {
    Error::reply(format!(
        "ERR The {word} ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by \
         specifying a proper ID, or use the > ID to get new messages. The {word} ID would just return an empty result set."
    ))
}

fn no_group(key: &[u8], group: &[u8]) -> Error {
    Error::reply(format!(
        "NOGROUP No such key '{}' or consumer group '{}' in XREADGROUP with GROUP option",
        shown(key),
        shown(group)
    ))
}

pub fn xreadgroup(cx: &mut WriteCx<'_>, args: Args<'_>) -> Result<Reply> {
    let (mut names, mut noack, mut claim_ms) = (None, false, None);
    let request = Request::parse(args, UNBALANCED, &mut |args| {
        if args.left() > 2 && args.keyword("GROUP") {
            names = Some((args.next()?, args.next()?));
            return Ok(true);
        }
        if args.left() > 1 && args.keyword("CLAIM") {
            let ms =
                parse_i64(args.next()?).ok_or_else(|| Error::reply("ERR min-idle-time is not an integer"))?;
            let ms = u64::try_from(ms);
            claim_ms = Some(ms.map_err(|_| Error::reply("ERR min-idle-time must be a positive integer"))?);
            return Ok(true);
        }
        let is_noack = args.keyword("NOACK");
        noack |= is_noack;
        Ok(is_noack)
    })?;
    let Some((group_name, consumer)) = names else {
        return Err(Error::reply("ERR Missing GROUP option for XREADGROUP").into());
    };
    let mut opened = Vec::with_capacity(request.len);
    for (key, word) in request.streams() {
        let stream = Stream::open(cx, key)?.ok_or_else(|| no_group(key, group_name))?;
        let group = stream.group(cx, group_name)?.ok_or_else(|| no_group(key, group_name))?;
        let wanted = match word {
            b"$" => return Err(meaningless("$").into()),
            b"+" => return Err(meaningless("+").into()),
            b">" => Wanted::New,
            word => Wanted::Pending(ids::id(word, 0)?),
        };
        opened.push((stream, group, wanted));
    }
    let mut delivery = Delivery { budget: Budget::of(&request), left: 0, noack, claim_ms, rows: 0 };
    let mut replies = Vec::new();
    // When what is pending will have been for long enough.
    let mut again_at_ms = None;
    for (mut stream, mut group, wanted) in opened {
        let number = meet(cx, &stream, &mut group, consumer)?;
        delivery.left = delivery.budget.of_stream();
        let mut packer = Packer::begin(cx.arena());
        match wanted {
            Wanted::New => {
                delivery.claim_idle(cx, &mut stream, &mut group, number, &mut packer)?;
                delivery.deliver_new(cx, &stream, &mut group, number, &mut packer)?;
            }
            Wanted::Pending(behind) => {
                delivery.deliver_pending(cx, &mut stream, &mut group, (number, behind), &mut packer)?;
            }
        }
        let is_empty = packer.count() == 0;
        delivery.budget.spend(packer.count(), packer.bytes());
        let entries = packer.finish(cx.arena(), Shape::Array);
        if !is_empty || wanted != Wanted::New {
            replies.push((Reply::bulk(stream.key()), entries));
        }
        if let (Some(claim_ms), true) = (claim_ms, is_empty && wanted == Wanted::New)
            && let Some(delivered_ms) = group.first_delivered_ms(cx)?
        {
            let due_ms = delivered_ms.saturating_add(claim_ms);
            again_at_ms = Some(again_at_ms.map_or(due_ms, |at_ms: u64| at_ms.min(due_ms)));
        }
        stream.save_group(cx, &mut group);
    }
    if !replies.is_empty() {
        return Ok(Reply::Pairs(replies));
    }
    request.wait(std::iter::empty()).map_err(|stop| match stop {
        // That the consumer was there is on record, whether it waits or not.
        Stop::Park(park) => Stop::Park(Box::new(park.keeping(!cx.env.woken).again_at(again_at_ms))),
        other => other,
    })
}

/// The consumer's number; it is made if need be, and it was seen.
pub fn meet(
    cx: &mut WriteCx<'_>,
    stream: &Stream<'_>,
    group: &mut Group<'_>,
    consumer: &[u8],
) -> Result<u64> {
    let number = match group.find_consumer(cx, consumer)? {
        Some(number) => number,
        None => {
            cx.notify(Event::XGROUP_CREATECONSUMER, stream.key());
            group.create_consumer(cx, consumer)
        }
    };
    let now_ms = cx.env.now_ms;
    // Who waits was seen when it began to.
    if !cx.env.woken {
        group.consumer(cx, number)?.see(now_ms);
    }
    Ok(number)
}

struct Delivery {
    budget: Budget,
    /// Entries that the stream at hand may still give.
    left: u64,
    noack: bool,
    /// How long what is claimed was pending at least.
    claim_ms: Option<u64>,
    /// Entries that were touched.
    rows: usize,
}

impl Delivery {
    fn touch(&mut self, env: &Env<'_>) -> Result<()> {
        self.rows += 1;
        env.move_if_heavy(self.rows, Env::IO_THREAD_MAX_ROWS)
    }

    /// Whether there is room for one more entry.
    fn has_room(&self, packer: &Packer) -> bool {
        self.left > 0 && self.budget.has_room(packer.bytes())
    }

    /// Gives the consumer what others have had pending for long, the longest first.
    fn claim_idle(
        &mut self,
        cx: &mut WriteCx<'_>,
        stream: &mut Stream<'_>,
        group: &mut Group<'_>,
        number: u64,
        packer: &mut Packer,
    ) -> Result<()> {
        let now_ms = cx.env.now_ms;
        let Some(last_ms) = self.claim_ms.and_then(|idle_ms| now_ms.checked_sub(idle_ms)) else {
            return Ok(());
        };
        let mut walk = group.walk_delivered(last_ms);
        while self.has_room(packer)
            && let Some(element) = walk.next(cx)?
        {
            self.touch(&cx.env)?;
            let (_, id) = read_delivered(element.sub)?;
            let pending = group.pending(cx, id)?.ok_or(Error::Damaged("a pending entry"))?;
            let mark = cx.arena().len();
            let Some(entry) = stream.get(cx, id)? else {
                // What is pending of an entry that is gone goes with it.
                group.release(cx, id, pending)?;
                continue;
            };
            self.left -= 1;
            let strings = Strings::of(cx.bytes(entry))?;
            push_claimed(packer, id, strings, idle_ms(now_ms, &pending).max(0), pending.deliveries);
            cx.arena().truncate(mark);
            let deliveries = pending.deliveries.saturating_add(1);
            let after = Pending { consumer: number, delivered_ms: now_ms, deliveries };
            group.assign(cx, id, Some(pending), after)?;
            group.consumer(cx, number)?.activate(now_ms);
        }
        Ok(())
    }

    fn deliver_new(
        &mut self,
        cx: &mut WriteCx<'_>,
        stream: &Stream<'_>,
        group: &mut Group<'_>,
        number: u64,
        packer: &mut Packer,
    ) -> Result<()> {
        let Some(first) = group.state.last.next() else { return Ok(()) };
        let ids = Ids { first, last: Id::MAX };
        let Some(mut walk) = stream.walk(ids, Direction::Forward) else { return Ok(()) };
        let now_ms = cx.env.now_ms;
        let mut is_given = false;
        while self.has_room(packer)
            && let Some(element) = walk.next(cx)?
        {
            self.left -= 1;
            is_given = true;
            self.touch(&cx.env)?;
            let (id, strings) = (Id::decode(element.sub)?, Strings::of(element.value)?);
            match self.claim_ms {
                Some(_) => push_claimed(packer, id, strings, 0, 0),
                None => push_entry(packer, id, strings),
            }
            stream.advance(&mut group.state, id);
            if !self.noack {
                // XGROUP SETID may have gone back to what is somebody else's.
                let before = group.pending(cx, id)?;
                group.assign(
                    cx,
                    id,
                    before,
                    Pending { consumer: number, delivered_ms: now_ms, deliveries: 1 },
                )?;
            }
        }
        if !self.noack && is_given {
            let consumer = group.consumer(cx, number)?;
            consumer.activate(now_ms);
            consumer.see(now_ms);
        }
        Ok(())
    }

    fn deliver_pending(
        &mut self,
        cx: &mut WriteCx<'_>,
        stream: &mut Stream<'_>,
        group: &mut Group<'_>,
        (number, behind): (u64, Id),
        packer: &mut Packer,
    ) -> Result<()> {
        let Some(first) = behind.next() else { return Ok(()) };
        let mut walk = group.owned(number, first, Id::MAX);
        while self.has_room(packer)
            && let Some(element) = walk.next(cx)?
        {
            self.left -= 1;
            self.touch(&cx.env)?;
            let id = Id::decode(element.sub)?;
            let mark = cx.arena().len();
            let Some(entry) = stream.get(cx, id)? else {
                push_gone(packer, id);
                continue;
            };
            push_entry(packer, id, Strings::of(cx.bytes(entry))?);
            cx.arena().truncate(mark);
            if let Some(pending) = group.pending(cx, id)? {
                let again = Pending {
                    delivered_ms: cx.env.now_ms,
                    deliveries: pending.deliveries.saturating_add(1),
                    ..pending
                };
                group.assign(cx, id, Some(pending), again)?;
            }
        }
        Ok(())
    }
}
