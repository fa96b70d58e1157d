//! Producers that tell their messages apart by words of their own, so that what they send twice is added once.
//!
//! A record of each message is kept for a while, and the last ones of each producer only. Records have rows under a version of their
//! own, which the stream owns as it owns those of its groups. Records whose time has passed are removed by the next ones, a few at
//! a time, so that there are never many of them.

use tarn_engine::Direction;

use super::Stream;
use super::group::read;
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::stream::producers::{
    self as rows, Hash, Producers, Record, Retention, hash, of_producer, producer_row, read_count, word_row,
};
use crate::encoding::stream::{GROUPS, ID_LEN, Id, owner_row};
use crate::error::Result;
use crate::keyspace::garbage::Dead;
use crate::keyspace::{Effect, Env, View, WriteCx, entry};
use crate::types::collection::Walk;

/// Records whose time has passed that a new one removes.
const PRUNED: usize = 4;

/// A message as its producer names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    producer: Hash,
    word: Hash,
}

impl Sent {
    pub fn new(env: &Env<'_>, producer: &[u8], word: &[u8]) -> Sent {
        let seed = env.keyspace.seed();
        Sent { producer: hash(seed, producer), word: hash(seed, word) }
    }

    /// A message that is told from others by its fields and values, in whatever order they come.
    pub fn by_content<'a>(env: &Env<'_>, producer: &[u8], strings: impl Iterator<Item = &'a [u8]>) -> Sent {
        let seed = env.keyspace.seed();
        let (mut sum, mut pair, mut strings) = (0_u128, Vec::new(), strings);
        while let (Some(field), Some(value)) = (strings.next(), strings.next()) {
            pair.clear();
            pair.extend_from_slice(&(field.len() as u64).to_be_bytes());
            pair.extend_from_slice(field);
            pair.extend_from_slice(value);
            sum = sum.wrapping_add(u128::from_be_bytes(hash(seed, &pair)));
        }
        Sent { producer: hash(seed, producer), word: sum.to_be_bytes() }
    }
}

impl Stream<'_> {
    /// What is kept of producers: as this stream was told, or as the configuration says.
    pub fn retention(&self, env: &Env<'_>) -> Retention {
        match self.producers {
            Some(known) => Retention { duration_s: known.duration_s, limit: known.limit },
            None => env.limits.stream_records,
        }
    }

    /// Sets it. Where it is another one all records are forgotten. The stream is to be saved.
    pub fn set_retention(&mut self, cx: &mut WriteCx<'_>, retention: Retention) {
        if self.retention(&cx.env) != retention {
            self.forget_records(cx);
        }
        let Retention { duration_s, limit } = retention;
        let known = self.known_producers(&cx.env);
        self.producers = Some(Producers { duration_s, limit, ..known });
    }

    fn forget_records(&mut self, cx: &mut WriteCx<'_>) {
        let Some(known) = &mut self.producers else { return };
        if known.version != 0 {
            let rows = known.records.saturating_mul(3).saturating_add(known.producers);
            cx.delete(GROUPS, &owner_row(self.rows.prefix(), known.version));
            let dead = Dead::of_owned(&cx.env, &self.rows.entry, known.version, rows);
            cx.effects.list.push(Effect::Dead(dead));
        }
        (known.version, known.producers, known.records) = (0, 0, 0);
    }

    /// What is known of producers, or what a stream without any begins with.
    pub fn known_producers(&self, env: &Env<'_>) -> Producers {
        self.producers.unwrap_or_else(|| {
            let Retention { duration_s, limit } = env.limits.stream_records;
            Producers { version: 0, duration_s, limit, producers: 0, records: 0, added: 0, duplicates: 0 }
        })
    }

    /// What the rows of records begin with, where there are some.
    fn records_prefix(&self) -> Option<RowKey> {
        let known = self.producers.filter(|known| known.version != 0)?;
        Some(entry::element_prefix(&self.rows.entry, known.version))
    }

    /// The entry that this message has become, if it is known.
    pub fn find_sent(&self, cx: &mut impl View, sent: &Sent) -> Result<Option<Id>> {
        let (Some(prefix), Some(known)) = (self.records_prefix(), self.producers) else { return Ok(None) };
        let found = read(cx, &word_row(&prefix, &sent.producer, &sent.word), Id::decode)?;
        Ok(found.filter(|id| !is_over(*id, known.duration_s, cx.env().now_ms)))
    }

    /// A message was sent again. The stream is to be saved.
    pub fn count_duplicate(&mut self) {
        if let Some(known) = &mut self.producers {
            known.duplicates += 1;
        }
    }

    /// Remembers that a message, which is not known, has become an entry. The stream is to be saved.
    pub fn record(&mut self, cx: &mut WriteCx<'_>, sent: &Sent, id: Id) -> Result<()> {
        let mut known = self.known_producers(&cx.env);
        if known.version == 0 {
            known.version = cx.new_version()?;
            cx.put(GROUPS, &owner_row(self.rows.prefix(), known.version), &[]);
        }
        let prefix = entry::element_prefix(&self.rows.entry, known.version);
        prune(cx, &prefix, &mut known)?;
        let new = Record { producer: sent.producer, word: sent.word, id };
        if let Some(id) = read(cx, &word_row(&prefix, &sent.producer, &sent.word), Id::decode)? {
            // Its time has passed, and it was not met yet.
            remove(cx, &prefix, &mut known, &Record { id, ..new })?;
        }
        let count = read(cx, &producer_row(&prefix, &sent.producer), read_count)?.unwrap_or(0);
        if count == 0 {
            known.producers += 1;
        }
        let [by_word, by_producer, by_id] = new.rows(&prefix);
        cx.put(GROUPS, &by_word, &[&id.encode()]);
        cx.put(GROUPS, &by_producer, &[]);
        cx.put(GROUPS, &by_id, &[]);
        let count = count + 1;
        cx.put(GROUPS, &producer_row(&prefix, &sent.producer), &[&count.to_be_bytes()]);
        known.records += 1;
        known.added += 1;
        if count > u64::from(known.limit) {
            let start = of_producer(&prefix, &sent.producer);
            let mut walk = Walk::over(GROUPS, start.len(), start.clone(), behind(&start), Direction::Forward);
            let oldest = walk.next(cx)?.map(|element| Record::read_of_producer(sent.producer, element.sub));
            if let Some(oldest) = oldest.transpose()? {
                remove(cx, &prefix, &mut known, &oldest)?;
            }
        }
        self.producers = Some(known);
        Ok(())
    }

    /// All rows of records, with what they begin with, where there are some.
    pub(super) fn walk_records(&self) -> Option<Walk> {
        let prefix = self.records_prefix()?;
        Some(Walk::over(GROUPS, prefix.len(), prefix.clone(), collection_end(&prefix), Direction::Forward))
    }
}

/// The least key behind all that begin with an id, or with a hash, behind this.
fn behind(start: &RowKey) -> RowKey {
    let mut end = start.clone();
    end.extend_from_slice(&[0xff; ID_LEN + 1]);
    end
}

/// Whether the time of a record has passed; its entry's id tells when it was made.
fn is_over(id: Id, duration_s: u32, now_ms: u64) -> bool {
    id.ms.saturating_add(u64::from(duration_s) * 1_000) <= now_ms
}

/// Removes the oldest records whose time has passed.
fn prune(cx: &mut WriteCx<'_>, prefix: &RowKey, known: &mut Producers) -> Result<()> {
    let start = rows::by_id(prefix);
    let mut old = Vec::new();
    let mut walk = Walk::over(GROUPS, start.len(), start.clone(), behind(&start), Direction::Forward);
    while old.len() < PRUNED
        && let Some(element) = walk.next(cx)?
    {
        let record = Record::read_by_id(element.sub)?;
        if !is_over(record.id, known.duration_s, cx.env.now_ms) {
            break;
        }
        old.push(record);
    }
    old.iter().try_for_each(|record| remove(cx, prefix, known, record))
}

fn remove(cx: &mut WriteCx<'_>, prefix: &RowKey, known: &mut Producers, record: &Record) -> Result<()> {
    for row in record.rows(prefix) {
        cx.delete(GROUPS, &row);
    }
    known.records = known.records.saturating_sub(1);
    let of_producer = producer_row(prefix, &record.producer);
    match read(cx, &of_producer, read_count)?.unwrap_or(0) {
        0 | 1 => {
            cx.delete(GROUPS, &of_producer);
            known.producers = known.producers.saturating_sub(1);
        }
        count => cx.put(GROUPS, &of_producer, &[&(count - 1).to_be_bytes()]),
    }
    Ok(())
}
