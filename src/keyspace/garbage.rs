//! What dead collections leave behind, and how its space comes back unasked.
//!
//! A big one's rows are abandoned, and the engine removes them in its time. Of small ones it is counted where they are
//! ([`DeadRows`]): to remember each would cost more than their space. Where they have become too much, the range is compacted
//! ([`share`]), and compaction drops dead rows wherever it comes by.

pub mod queue;
mod rows;
pub mod share;

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tarn_engine::Space;

pub use self::rows::DeadRows;
use super::context::Env;
use super::drop::Doomed;
use super::entry::{Entry, Meta};
use super::kind::{Elements, Per, Rows};
use crate::encoding::meta::Body;
use crate::encoding::rows::{collection, collection_end};
use crate::encoding::stream::GROUPS;

/// Elements from which on a dead collection is abandoned as such.
pub const BIG_ELEMENTS: u64 = 50_000;
/// More than this many wait for compaction instead.
const MAX_WAITING: usize = 1024;

/// The rows of a version that a key owns.
const OWNED_ROWS: &[Rows] = &[Rows { space: GROUPS, per: Per::Element }];

/// One life of a key that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    db: u32,
    slot: u16,
    rows: &'static [Rows],
    size: u64,
    /// Worth a range.
    is_big: bool,
    /// The key and its version, where it is big or nothing else would find it.
    named: Option<(Box<[u8]>, u64)>,
}

impl Dead {
    /// What ends when the key's metadata goes, or becomes that of another version; None where it has no rows.
    pub fn of(env: &Env<'_>, entry: &Entry<'_>, stored: &Meta, next_version: Option<u64>) -> Option<Dead> {
        let Body::Rows { version, size } = stored.header.body else { return None };
        if next_version == Some(version) {
            return None;
        }
        let info = stored.header.kind.info();
        let is_big = info.elements != Elements::Bytes && size >= BIG_ELEMENTS;
        let named = (is_big || env.keyspace.queues_garbage).then(|| (entry.key.into(), version));
        Some(Dead { db: entry.db.physical, slot: entry.slot, rows: info.rows, size, is_big, named })
    }

    /// A version that a live key owned, with so many rows.
    pub fn of_owned(env: &Env<'_>, entry: &Entry<'_>, version: u64, rows: u64) -> Dead {
        let is_big = rows >= BIG_ELEMENTS;
        let named = (is_big || env.keyspace.queues_garbage).then(|| (entry.key.into(), version));
        Dead { db: entry.db.physical, slot: entry.slot, rows: OWNED_ROWS, size: rows, is_big, named }
    }

    /// The rows of a big one. Nobody reads or writes them any more, but for snapshots.
    pub fn ranges(&self) -> impl Iterator<Item = Doomed> {
        let range = self.named.as_ref().map(|(key, version)| {
            let start = collection(self.db, self.slot, key, *version);
            let end = collection_end(&start);
            (start, end)
        });
        let doomed = move |space: Space| {
            range.as_ref().map(|(start, end)| Doomed { space, start: start.clone(), end: end.clone() })
        };
        self.rows.iter().filter_map(move |rows| doomed(rows.space))
    }
}

/// What waits is kept in memory alone, what is counted is put on record now and then: what a crash forgets, compaction
/// drops in its time.
#[derive(Debug, Default)]
pub struct Garbage {
    /// Big ones that wait to be removed.
    waiting: Mutex<Vec<Dead>>,
    /// Of all others.
    pub rows: DeadRows,
    /// What these take on disk, as estimated last.
    dead_bytes: AtomicU64,
}

impl Garbage {
    pub fn add(&self, dead: impl IntoIterator<Item = Dead>) {
        for dead in dead {
            if dead.is_big {
                let mut waiting = self.waiting.lock();
                if waiting.len() < MAX_WAITING {
                    waiting.push(dead);
                    continue;
                }
            }
            for rows in dead.rows {
                if let Some(count) = rows.of(dead.size) {
                    self.rows.add(rows.space, dead.db, dead.slot, count);
                }
            }
        }
    }

    pub fn take(&self) -> Vec<Dead> {
        std::mem::take(&mut *self.waiting.lock())
    }

    /// Bytes on disk that are of nobody, about.
    pub fn dead_bytes(&self) -> u64 {
        self.dead_bytes.load(Ordering::Relaxed)
    }

    pub fn estimate(&self, dead_bytes: u64) {
        self.dead_bytes.store(dead_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::meta::Kind;
    use crate::encoding::string::PIECE_LEN;
    use crate::encoding::{DATA, FIELD_EXPIRE, SCORE};
    use crate::testkit::Kit;

    fn fill(kit: &mut Kit, key: &str, elements: u64) {
        for from in (0..elements).step_by(1000) {
            let mut words = vec!["HSET".to_owned(), key.to_owned()];
            for number in from..elements.min(from + 1000) {
                words.extend([number.to_string(), "v".to_owned()]);
            }
            kit.words(words);
        }
    }

    #[test]
    fn big_collections_are_told_of_once_they_are_dead_and_small_ones_are_not() {
        let mut kit = Kit::new();
        fill(&mut kit, "big", BIG_ELEMENTS);
        fill(&mut kit, "small", BIG_ELEMENTS - 1);
        assert_eq!(kit.node.keyspace.garbage.take(), [], "nothing is dead yet");
        assert_eq!(kit.run("HSET big 1 w | EXPIRE big 100 | DEL small"), ":0 | :1 | :1");
        assert_eq!(kit.node.keyspace.garbage.take(), []);
        assert_eq!(kit.run("DEL big"), ":1");
        let dead = kit.node.keyspace.garbage.take();
        assert_eq!(dead.len(), 1);
        assert_eq!(dead[0].named.as_ref().map(|(key, _)| &**key), Some(&b"big"[..]));
        assert_eq!(dead[0].ranges().map(|doomed| doomed.space).collect::<Vec<_>>(), [DATA, FIELD_EXPIRE]);
        assert_eq!(kit.node.keyspace.garbage.take(), []);
    }

    #[test]
    fn overwriting_ends_a_life_and_reaping_too() {
        let mut kit = Kit::new();
        fill(&mut kit, "a", BIG_ELEMENTS);
        assert_eq!(kit.run("SET a x"), "+OK");
        assert_eq!(kit.node.keyspace.garbage.take().len(), 1);
        fill(&mut kit, "b", BIG_ELEMENTS);
        assert_eq!(kit.run("PEXPIRE b 10"), ":1");
        kit.pass_ms(11);
        assert_eq!(kit.run("HSET b f v | HLEN b"), ":1 | :1");
        assert_eq!(kit.node.keyspace.garbage.take().len(), 1);
    }

    #[test]
    fn what_waits_is_bounded() {
        let garbage = Garbage::default();
        let named = Some((Box::from(&b"k"[..]), 3));
        let rows = Kind::Hash.info().rows;
        let dead = Dead { db: 1, slot: 2, rows, size: BIG_ELEMENTS, is_big: true, named };
        garbage.add(vec![dead.clone(); MAX_WAITING + 1]);
        garbage.add([dead]);
        assert_eq!(garbage.take().len(), MAX_WAITING);
        assert_eq!(garbage.rows.of(DATA)[&1][0], 2 * BIG_ELEMENTS, "the others are counted");
    }

    fn dead_rows(kit: &Kit) -> (u64, u64) {
        let sum = |space| kit.node.keyspace.garbage.rows.of(space).values().flatten().sum::<u64>();
        (sum(DATA), sum(SCORE))
    }

    #[test]
    fn rows_of_small_ones_are_counted_when_they_die() {
        let mut kit = Kit::new();
        kit.run("HSET h a 1 b 2 | RPUSH l a b c | ZADD z 1 a 2 b | SADD s a | SET string x");
        kit.run("HSET h a 2 | LPOP l | EXPIRE z 100 | SREM s nosuch | SET string y | DEL string");
        assert_eq!(dead_rows(&kit), (0, 0), "nothing is dead yet");
        assert_eq!(kit.run("DEL h"), ":1");
        assert_eq!(dead_rows(&kit), (2, 0));
        assert_eq!(kit.run("SET l x"), "+OK");
        assert_eq!(dead_rows(&kit), (4, 0));
        assert_eq!(kit.run("SUNIONSTORE z s"), ":1");
        assert_eq!(dead_rows(&kit), (6, 2));
        assert_eq!(kit.run("PEXPIRE s 10"), ":1");
        kit.pass_ms(11);
        assert_eq!(kit.run("SADD s b"), ":1");
        assert_eq!(dead_rows(&kit), (7, 2));
        kit.words([b"SET".to_vec(), b"long".to_vec(), vec![b'x'; 3 * PIECE_LEN + 1]]);
        assert_eq!(kit.run("DEL long"), ":1");
        assert_eq!(dead_rows(&kit), (11, 2), "a row for each piece");
    }
}
