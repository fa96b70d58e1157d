//! What removes data for good.

use super::{Mvcc, Range};

impl Mvcc {
    /// Forgets what nobody who reads at or above the safe point can see.
    pub fn collect_garbage(&mut self, range: &Range, safe_point: u64) {
        self.rows.retain(|key, row| !range.contains(key) || !row.collect_garbage(safe_point));
    }

    /// Removes keys with all their history and locks, past all transactions.
    pub fn destroy(&mut self, range: &Range) {
        self.rows.retain(|key, _| !range.contains(key));
    }
}
