//! Snapshots: the sealed tables of one moment over RocksDB's snapshot of that moment.

use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use rust_rocksdb::{DB, ReadOptions, SnapshotWithThreadMode};

use super::Inner;
use super::hash::Hasher;
use super::scan::{self, IteratorPool, Request, View};
use super::store::Store;
use super::store::filter::SnapshotProbe;
use super::table::rows::Rows;
use super::table::set::TableSet;
use crate::{Direction, Error, Probe, Range, Read, Result, Space, SpaceDef, Wait};

/// Sealed sets at which the thread that joins them is woken.
const SEALED_BEFORE_WAKING: usize = 8;

/// Exactly the commits that were complete when it was taken.
pub struct RocksSnapshot {
    /// Before the database that its iterators read.
    iterators: IteratorPool,
    shared: Arc<Shared>,
}

struct Shared {
    sorted: SortedSnapshot,
    /// Newest first.
    sets: Vec<Arc<TableSet>>,
    hasher: Hasher,
    spaces: &'static [SpaceDef],
    options: ReadOptions,
}

/// RocksDB's snapshot together with the database that it borrows.
struct SortedSnapshot {
    snapshot: ManuallyDrop<SnapshotWithThreadMode<'static, DB>>,
    store: Arc<Store>,
}

impl SortedSnapshot {
    fn new(store: Arc<Store>) -> SortedSnapshot {
        let snapshot = store.db().snapshot();
        // SAFETY: the snapshot borrows the database behind `store`, which is heap-allocated and kept alive by the
        // field next to it; `drop` releases the snapshot first.
        let snapshot = unsafe {
            std::mem::transmute::<SnapshotWithThreadMode<'_, DB>, SnapshotWithThreadMode<'static, DB>>(
                snapshot,
            )
        };
        SortedSnapshot { snapshot: ManuallyDrop::new(snapshot), store }
    }
}

impl Drop for SortedSnapshot {
    fn drop(&mut self) {
        // SAFETY: dropped here once, and not used after.
        unsafe { ManuallyDrop::drop(&mut self.snapshot) };
    }
}

impl Inner {
    pub(super) fn snapshot(&self) -> Result<RocksSnapshot> {
        self.check_open()?;
        let shared = {
            let mut units = self.units.lock();
            let _blocked = self.barrier.block();
            if units.sealed_to != self.log.last().0 {
                self.seal(&mut units);
            }
            // A unit leaves the list only after its rows are in the sorted data.
            let sorted = SortedSnapshot::new(self.store.clone());
            if units.sealed.len() > SEALED_BEFORE_WAKING {
                self.background.want_freeze();
            }
            let mut sets: Vec<_> = units.sets().cloned().collect();
            sets.reverse();
            let mut options = ReadOptions::default();
            options.set_snapshot(&sorted.snapshot);
            let shared =
                Arc::new(Shared { sorted, sets, hasher: self.hasher.clone(), spaces: self.spaces, options });
            let weak: Weak<dyn SnapshotProbe> = Arc::downgrade(&(shared.clone() as Arc<dyn SnapshotProbe>));
            // While nothing is committed: a row that becomes garbage with the next commit is one that this snapshot reads.
            self.store.filter().add_snapshot(weak);
            shared
        };
        Ok(RocksSnapshot { iterators: IteratorPool::default(), shared })
    }
}

impl Shared {
    fn def(&self, space: Space) -> Result<&'static SpaceDef> {
        self.spaces
            .get(usize::from(space.0))
            .ok_or_else(|| Error::Unavailable(format!("there is no space {}", space.0)))
    }
}

impl Probe for Shared {
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let hash = self.hasher.row(self.def(space)?, space, key);
        let shard = hash.shard();
        let dirty = self.sets.iter().find_map(|set| set.table(shard)?.get(space.0, key, &hash));
        if let Some(row) = dirty {
            out.extend_from_slice(row.value.unwrap_or_default());
            return Ok(row.value.is_some());
        }
        let value = self.sorted.store.get(space, key, &self.options)?;
        out.extend_from_slice(value.as_deref().unwrap_or_default());
        Ok(value.is_some())
    }
}

impl SnapshotProbe for Shared {}

impl Read for RocksSnapshot {
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        Probe::get(&*self.shared, space, key, out)
    }

    fn get_many(
        &self,
        space: Space,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let mut value = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            value.clear();
            let is_there = self.get(space, key, &mut value)?;
            each(index, is_there.then_some(&*value));
        }
        Ok(())
    }

    fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let shared = &*self.shared;
        let view = View {
            def: shared.def(space)?,
            hasher: &shared.hasher,
            tables: &shared.sets,
            store: &shared.sorted.store,
            read_options: &|| {
                let mut options = ReadOptions::default();
                options.set_snapshot(&shared.sorted.snapshot);
                options
            },
            wait: Wait::Allowed,
            iterators: Some(&self.iterators),
        };
        scan::scan(&view, Request { space, range, direction, limit }, &Rows::default(), each)
    }
}
