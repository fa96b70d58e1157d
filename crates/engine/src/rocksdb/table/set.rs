//! The tables of all shards, sealed at one moment.

use std::sync::Arc;

use super::Table;

/// Immutable. Its tables are shared by the shards, the set by the unit that will be written back and by snapshots.
pub struct TableSet {
    /// By shard; None where nothing was dirty.
    tables: Box<[Option<Arc<Table>>]>,
    pub bytes: usize,
    pub rows: usize,
}

impl TableSet {
    pub fn new(tables: Vec<Option<Arc<Table>>>) -> TableSet {
        let bytes = tables.iter().flatten().map(|table| table.bytes()).sum();
        let rows = tables.iter().flatten().map(|table| table.len()).sum();
        TableSet { tables: tables.into(), bytes, rows }
    }

    pub fn table(&self, shard: usize) -> Option<&Arc<Table>> {
        self.tables.get(shard)?.as_ref()
    }

    pub fn tables(&self) -> impl Iterator<Item = (usize, &Arc<Table>)> {
        self.tables.iter().enumerate().filter_map(|(shard, table)| Some((shard, table.as_ref()?)))
    }
}
