//! The tables of all shards, sealed at one moment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::Table;

/// Immutable. Its tables are shared by the shards, the set by the unit that will be written back and by snapshots.
pub struct TableSet {
    /// By shard; None where nothing was dirty.
    tables: Box<[Option<Arc<Table>>]>,
    pub bytes: usize,
    pub rows: usize,
    /// Where it is counted when it is no longer dirty.
    held: OnceLock<Arc<AtomicUsize>>,
}

impl TableSet {
    pub fn new(tables: Vec<Option<Arc<Table>>>) -> TableSet {
        let bytes = tables.iter().flatten().map(|table| table.bytes()).sum();
        let rows = tables.iter().flatten().map(|table| table.len()).sum();
        TableSet { tables: tables.into(), bytes, rows, held: OnceLock::new() }
    }

    /// It is not counted as dirty any more: while somebody holds it, it is counted there.
    pub fn count_as_held(&self, held: &Arc<AtomicUsize>) {
        if self.held.set(held.clone()).is_ok() {
            held.fetch_add(self.bytes, Ordering::Relaxed);
        }
    }

    pub fn table(&self, shard: usize) -> Option<&Arc<Table>> {
        self.tables.get(shard)?.as_ref()
    }

    pub fn tables(&self) -> impl Iterator<Item = (usize, &Arc<Table>)> {
        self.tables.iter().enumerate().filter_map(|(shard, table)| Some((shard, table.as_ref()?)))
    }
}

impl Drop for TableSet {
    fn drop(&mut self) {
        if let Some(held) = self.held.get() {
            held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
