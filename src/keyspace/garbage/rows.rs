//! How many rows of dead collections there are, and where: counted when a collection dies, and again when compaction
//! drops them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use tarn_engine::{Direction, Range, Read, Space};

use crate::encoding::SYSTEM;
use crate::encoding::system::{self, SystemKey};
use crate::error::Result;
use crate::keyspace::kind::COUNTED_SPACES;
use crate::keyspace::{STRIPES, View as _, WriteCx, first_slot, stripe_of};

/// Rows per stripe.
type Stripes = Box<[AtomicU64]>;

/// Of one physical database, by the number of the space in [`COUNTED_SPACES`].
#[derive(Debug)]
struct Counts([Stripes; COUNTED_SPACES.len()]);

impl Default for Counts {
    fn default() -> Counts {
        Counts(std::array::from_fn(|_| (0..STRIPES).map(|_| AtomicU64::new(0)).collect()))
    }
}

impl Counts {
    fn of(&self, space: Space, slot: u16) -> Option<&AtomicU64> {
        let number = COUNTED_SPACES.iter().position(|counted| *counted == space)?;
        self.0.get(number)?.get(usize::from(stripe_of(slot)))
    }
}

/// An estimate: rows that are put twice into a collection that dies before compaction has seen them count once, what
/// removes whole ranges is told by [`DeadRows::forget`].
#[derive(Debug, Default)]
pub struct DeadRows(RwLock<BTreeMap<u32, Arc<Counts>>>);

impl DeadRows {
    fn database(&self, db: u32) -> Arc<Counts> {
        if let Some(counts) = self.0.read().get(&db) {
            return Arc::clone(counts);
        }
        Arc::clone(self.0.write().entry(db).or_default())
    }

    pub fn add(&self, space: Space, db: u32, slot: u16, rows: u64) {
        if let Some(count) = self.database(db).of(space, slot) {
            count.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Never below none.
    pub fn take(&self, space: Space, db: u32, slot: u16, rows: u64) {
        let databases = self.0.read();
        if let Some(count) = databases.get(&db).and_then(|counts| counts.of(space, slot)) {
            let less = |count: u64| Some(count.saturating_sub(rows));
            // It never refuses.
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// What was counted before.
    pub fn set(&self, counted: DeadRows) {
        *self.0.write() = counted.0.into_inner();
    }

    /// Reads what [`DeadRows::save`] has put.
    pub fn load(cx: &impl Read) -> Result<DeadRows> {
        let rows = DeadRows::default();
        let (start, end) = system::all_dead_rows();
        let range = Range { start: &start, end: &end };
        cx.scan(SYSTEM, range, Direction::Forward, usize::MAX, &mut |row, value| {
            // It is an estimate: what cannot be read is none.
            if let Ok((db, space)) = system::read_dead_rows(row) {
                for (stripe, count) in system::decode_dead_rows(value).take(STRIPES).enumerate() {
                    rows.add(space, db, first_slot(stripe as u16), count);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Puts the counts on record, and removes those of databases that are gone.
    pub fn save(&self, cx: &mut WriteCx<'_>) -> Result<()> {
        let (start, end) = system::all_dead_rows();
        let mut known: Vec<SystemKey> = Vec::new();
        cx.scan_each(SYSTEM, &start, &end, usize::MAX, &mut |row, _| {
            known.push(SystemKey::from_slice(row));
            ControlFlow::Continue(())
        })?;
        for space in COUNTED_SPACES {
            for (db, stripes) in self.of(space) {
                let row = system::dead_rows(db, space);
                known.retain(|known| *known != row);
                cx.put(SYSTEM, &row, &[&system::encode_dead_rows(&stripes)]);
            }
        }
        known.iter().for_each(|gone| cx.delete(SYSTEM, gone));
        Ok(())
    }

    /// A database is gone, with all its rows.
    pub fn forget(&self, db: u32) {
        self.0.write().remove(&db);
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        let databases = self.0.read();
        let counts = databases.values().flat_map(|counts| counts.0.iter().flatten());
        counts.map(|count| count.load(Ordering::Relaxed)).fold(0, u64::saturating_add)
    }

    /// Per stripe of each database.
    pub fn of(&self, space: Space) -> BTreeMap<u32, Vec<u64>> {
        let Some(number) = COUNTED_SPACES.iter().position(|counted| *counted == space) else {
            return BTreeMap::new();
        };
        let databases = self.0.read();
        let counts = databases.iter().filter_map(|(db, counts)| {
            let stripes = counts.0.get(number)?;
            Some((*db, stripes.iter().map(|count| count.load(Ordering::Relaxed)).collect()))
        });
        counts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::locks::StripeSet;
    use crate::encoding::{DATA, SCORE};
    use crate::testkit::Kit;

    #[test]
    fn rows_are_counted_where_they_are() {
        let rows = DeadRows::default();
        rows.add(DATA, 7, first_slot(3), 10);
        rows.add(DATA, 7, first_slot(4) - 1, 5);
        rows.add(SCORE, 7, 0, 1);
        rows.add(crate::encoding::META, 7, 0, 9);
        rows.take(DATA, 7, first_slot(3), 4);
        rows.take(SCORE, 7, 0, 4);
        rows.take(SCORE, 8, 0, 4);
        assert_eq!((rows.of(DATA)[&7][3], rows.count()), (11, 11));
        assert_eq!(rows.of(DATA)[&7].iter().sum::<u64>(), 11);
        assert_eq!(rows.of(SCORE)[&7].iter().sum::<u64>(), 0);
        assert!(rows.of(crate::encoding::META).is_empty());
        rows.forget(7);
        assert!(rows.of(DATA).is_empty());
    }

    #[test]
    fn counts_outlive_a_restart() {
        let mut kit = Kit::new();
        kit.run("HSET h a 1 b 2 | ZADD z 1 a | DEL h z | SELECT 1 | SADD s a | DEL s");
        let save = |kit: &mut Kit| {
            let node = Arc::clone(&kit.node);
            kit.executor
                .transact(&StripeSet::default(), 0, |cx| node.keyspace.garbage.rows.save(cx))
                .unwrap();
            DeadRows::load(&kit.node.engine.begin_read(tarn_engine::Wait::Allowed)).unwrap()
        };
        let loaded = save(&mut kit);
        for space in COUNTED_SPACES {
            assert_eq!(loaded.of(space), kit.node.keyspace.garbage.rows.of(space));
        }
        assert_eq!(loaded.count(), 5);
        kit.node.keyspace.garbage.rows.forget(0);
        assert_eq!(save(&mut kit).count(), 1, "a database that is gone is forgotten");
    }
}
