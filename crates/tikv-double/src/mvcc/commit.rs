//! The second phase of a commit, and rolling back.

use super::row::{Lock, Record};
use super::{Error, Mvcc};
use crate::clock;

impl Mvcc {
    /// Commits all keys, or none. What has been committed already stays as it is.
    pub fn commit(&mut self, keys: &[Vec<u8>], start_ts: u64, commit_ts: u64) -> Result<(), Error> {
        if commit_ts <= start_ts {
            return Err(Error::abort(format!(
                "InvalidTxnTso {{ start_ts: {start_ts}, commit_ts: {commit_ts} }}"
            )));
        }
        for key in keys {
            self.check_commit(key, start_ts, commit_ts)?;
        }
        for key in keys {
            let Some(row) = self.rows.get_mut(key) else { continue };
            if let Some(lock) = row.lock.take_if(|lock| lock.start_ts == start_ts) {
                row.put(lock.into_write(commit_ts));
            }
        }
        Ok(())
    }

    fn check_commit(&self, key: &[u8], start_ts: u64, commit_ts: u64) -> Result<(), Error> {
        match self.lock_of(key, start_ts) {
            Some(lock) if commit_ts < lock.min_commit_ts => {
                Err(Error::commit_ts_expired(start_ts, commit_ts, key, lock.min_commit_ts))
            }
            Some(_) => Ok(()),
            None => match self.record(key, start_ts) {
                Record::Committed { .. } => Ok(()),
                Record::RolledBack | Record::Missing { .. } => {
                    Err(Error::lock_not_found(start_ts, commit_ts, key))
                }
            },
        }
    }

    /// Rolls the transaction back on all keys, or on none. Where it has not come yet, it is kept from coming.
    pub fn batch_rollback(&mut self, keys: &[Vec<u8>], start_ts: u64) -> Result<(), Error> {
        for key in keys {
            self.check_rollback(key, start_ts)?;
        }
        for key in keys {
            self.roll_back_key(key, start_ts, false);
        }
        Ok(())
    }

    /// Rolls one key back if its lock has expired. With a time of zero it counts as expired.
    pub fn cleanup(&mut self, key: &[u8], start_ts: u64, current_ts: u64) -> Result<(), Error> {
        match self.lock_of(key, start_ts) {
            Some(lock) if current_ts != 0 && !expired(lock, current_ts) => {
                return Err(Error::locked(lock, key));
            }
            Some(_) => {}
            None => self.check_rollback(key, start_ts)?,
        }
        self.roll_back_key(key, start_ts, true);
        Ok(())
    }

    fn check_rollback(&self, key: &[u8], start_ts: u64) -> Result<(), Error> {
        match self.record(key, start_ts) {
            Record::Committed { commit_ts } if self.lock_of(key, start_ts).is_none() => {
                Err(Error::Committed { start_ts, commit_ts, key: key.to_vec() })
            }
            _ => Ok(()),
        }
    }

    /// Removes the lock if there is one, and records the rollback.
    pub(super) fn roll_back_key(&mut self, key: &[u8], start_ts: u64, protect: bool) {
        let row = self.row_mut(key);
        let protected = match row.lock.take_if(|lock| lock.start_ts == start_ts) {
            // A retried request must not lock the primary again: its record is what others believe.
            Some(lock) => lock.is_of_pessimistic() && lock.primary == key,
            None if matches!(row.record(start_ts), Record::RolledBack) => return,
            None => {
                if let Some(lock) = &mut row.lock {
                    mark_rollback(lock, start_ts, protect);
                }
                protect
            }
        };
        if !protected {
            row.collapse_rollback_before(start_ts);
        }
        row.put_rollback(start_ts, protected);
    }
}

/// A lock whose commit timestamp is computed could be committed over the record of a rollback: it must remember it.
pub(super) fn mark_rollback(lock: &mut Lock, start_ts: u64, protected: bool) {
    if protected && lock.async_commit && start_ts >= lock.min_commit_ts {
        lock.rollback_ts.push(start_ts);
    }
}

/// A lock in its last millisecond still holds.
pub(super) fn expired(lock: &Lock, current_ts: u64) -> bool {
    clock::physical(lock.start_ts) + lock.ttl_ms < clock::physical(current_ts)
}
