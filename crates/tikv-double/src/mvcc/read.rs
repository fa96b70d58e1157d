//! Reads at a timestamp.

use super::row::{LockKind, Row};
use super::{Error, Mvcc, Range};
use crate::proto::kvrpcpb::{KvPair, LockInfo};

/// At which timestamp, and past whose locks.
pub struct View<'a> {
    pub ts: u64,
    /// Transactions that the client knows to be of no matter to it.
    pub resolved: &'a [u64],
}

impl View<'_> {
    /// Fails if a transaction holds the key that may commit at or below the timestamp.
    fn check(&self, key: &[u8], row: &Row) -> Result<(), Error> {
        let Some(lock) = &row.lock else { return Ok(()) };
        let harmless = lock.start_ts > self.ts
            || matches!(lock.kind, LockKind::Lock | LockKind::Pessimistic)
            || lock.min_commit_ts > self.ts
            || self.resolved.contains(&lock.start_ts)
            // Whoever reads the latest value of a primary key may read the one before the lock.
            || (self.ts == u64::MAX && lock.primary == key && !lock.async_commit);
        if harmless { Ok(()) } else { Err(Error::locked(lock, key)) }
    }

    fn value<'a>(&self, key: &[u8], row: &'a Row) -> Result<Option<&'a [u8]>, Error> {
        self.check(key, row)?;
        Ok(row.value(self.ts))
    }
}

impl Mvcc {
    pub fn get(&self, key: &[u8], view: &View<'_>) -> Result<Option<Vec<u8>>, Error> {
        let Some(row) = self.row(key) else { return Ok(None) };
        Ok(view.value(key, row)?.map(<[u8]>::to_vec))
    }

    /// The keys that exist, and those that are locked, in the order of the request.
    pub fn batch_get(&self, keys: &[Vec<u8>], view: &View<'_>) -> Vec<KvPair> {
        let pairs = keys.iter().filter_map(|key| pair(key, self.row(key)?, view, false));
        pairs.collect()
    }

    /// Up to `limit` keys of the range that exist or are locked.
    pub fn scan(
        &self,
        range: &Range,
        limit: usize,
        key_only: bool,
        reverse: bool,
        view: &View<'_>,
    ) -> Vec<KvPair> {
        let rows = self.rows(range);
        let pair_of = |(key, row): (&Vec<u8>, &Row)| pair(key, row, view, key_only);
        if reverse {
            rows.rev().filter_map(pair_of).take(limit).collect()
        } else {
            rows.filter_map(pair_of).take(limit).collect()
        }
    }

    /// Locks of transactions that started at or before `max_ts`.
    pub fn scan_lock(&self, range: &Range, max_ts: u64, limit: usize) -> Vec<LockInfo> {
        let locks = self.rows(range).filter_map(|(key, row)| {
            let lock = row.lock.as_ref().filter(|lock| lock.start_ts <= max_ts)?;
            Some(lock.to_info(key))
        });
        // No limit is meant by a limit of zero.
        locks.take(if limit == 0 { usize::MAX } else { limit }).collect()
    }
}

fn pair(key: &[u8], row: &Row, view: &View<'_>, key_only: bool) -> Option<KvPair> {
    match view.value(key, row) {
        Ok(value) => {
            let value = value.map(|value| if key_only { Vec::new() } else { value.to_vec() })?;
            Some(KvPair { error: None, key: key.to_vec(), value })
        }
        Err(error) => Some(KvPair { error: Some(error.into()), key: key.to_vec(), value: Vec::new() }),
    }
}
