//! Big collections that died: their rows are removed by range, soon and unasked. Small ones are left to compaction,
//! which drops dead rows wherever it comes by; a barrier for each would cost more than their space.

use parking_lot::Mutex;
use tarn_engine::Space;

use super::drop::Doomed;
use super::entry::{Entry, Meta};
use crate::encoding::meta::{Body, Kind};
use crate::encoding::rows::{collection, collection_end};
use crate::encoding::{DATA, FIELD_EXPIRE, SCORE};

/// Elements from which on a dead collection is removed by range.
pub const BIG_ELEMENTS: u64 = 50_000;
/// More than this many wait for compaction instead.
const MAX_WAITING: usize = 1024;

/// One life of a key that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    db: u32,
    slot: u16,
    key: Box<[u8]>,
    version: u64,
}

impl Dead {
    /// What ends when the key's metadata goes, or becomes that of another version; None where it is not worth a range.
    pub fn of(entry: &Entry<'_>, stored: &Meta, next_version: Option<u64>) -> Option<Dead> {
        let Body::Rows { version, size } = stored.header.body else { return None };
        // The size of a string counts bytes.
        if stored.header.kind == Kind::String || size < BIG_ELEMENTS || next_version == Some(version) {
            return None;
        }
        Some(Dead { db: entry.db.physical, slot: entry.slot, key: entry.key.into(), version })
    }

    /// Its rows. Nobody reads or writes them any more, but for snapshots.
    pub fn ranges(&self) -> impl Iterator<Item = Doomed> {
        let start = collection(self.db, self.slot, &self.key, self.version);
        let end = collection_end(&start);
        let doomed = move |space: Space| Doomed { space, start: start.clone(), end: end.clone() };
        [DATA, SCORE, FIELD_EXPIRE].into_iter().map(doomed)
    }
}

/// What waits to be removed. Kept in memory alone: what a restart forgets, compaction drops in its time.
#[derive(Debug, Default)]
pub struct Garbage(Mutex<Vec<Dead>>);

impl Garbage {
    pub fn add(&self, dead: impl IntoIterator<Item = Dead>) {
        let mut waiting = self.0.lock();
        let room = MAX_WAITING - waiting.len();
        waiting.extend(dead.into_iter().take(room));
    }

    pub fn take(&self) -> Vec<Dead> {
        std::mem::take(&mut *self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(&*dead[0].key, b"big");
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
        let dead = Dead { db: 1, slot: 2, key: Box::from(&b"k"[..]), version: 3 };
        garbage.add(vec![dead.clone(); MAX_WAITING + 1]);
        garbage.add([dead]);
        assert_eq!(garbage.take().len(), MAX_WAITING);
    }
}
