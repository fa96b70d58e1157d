//! Ends locks whose transaction has ended.

use std::collections::HashMap;

use super::{Error, Mvcc, Range};

impl Mvcc {
    /// Commits or rolls back every lock of these transactions in the range, or on the given keys. A commit timestamp of
    /// zero stands for a rollback.
    pub fn resolve_locks(
        &mut self,
        outcomes: &HashMap<u64, u64>,
        range: &Range,
        keys: &[Vec<u8>],
    ) -> Result<(), Error> {
        let found: Vec<(Vec<u8>, u64)> = if keys.is_empty() {
            self.rows(range)
                .filter_map(|(key, row)| {
                    let start_ts = row.lock.as_ref()?.start_ts;
                    outcomes.contains_key(&start_ts).then(|| (key.clone(), start_ts))
                })
                .collect()
        } else {
            let start_ts = outcomes.keys().copied().next().unwrap_or_default();
            keys.iter().map(|key| (key.clone(), start_ts)).collect()
        };
        for (key, start_ts) in found {
            match outcomes.get(&start_ts).copied().unwrap_or_default() {
                0 => self.batch_rollback(&[key], start_ts)?,
                commit_ts => self.commit(&[key], start_ts, commit_ts)?,
            }
        }
        Ok(())
    }
}
