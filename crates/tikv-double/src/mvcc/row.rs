//! One key: who holds it, and what was written to it when.

use crate::proto::kvrpcpb::{LockInfo, Op};

#[derive(Default)]
pub struct Row {
    pub lock: Option<Lock>,
    /// By commit timestamp, ascending. No two have the same.
    writes: Vec<Write>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    Put,
    Delete,
    /// Nothing is written, but others that write conflict.
    Lock,
    Pessimistic,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub kind: LockKind,
    pub primary: Vec<u8>,
    pub start_ts: u64,
    pub ttl_ms: u64,
    pub value: Vec<u8>,
    /// Zero unless the transaction is pessimistic.
    pub for_update_ts: u64,
    pub txn_size: u64,
    /// Zero: others may not push it.
    pub min_commit_ts: u64,
    pub async_commit: bool,
    pub secondaries: Vec<Vec<u8>>,
    /// Transactions that were rolled back on this key while it was locked, if the commit could overwrite their record.
    pub rollback_ts: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    Put,
    Delete,
    Lock,
    Rollback,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub kind: WriteKind,
    /// Of a rollback: its start timestamp.
    pub commit_ts: u64,
    pub start_ts: u64,
    pub value: Vec<u8>,
    /// The transaction that started at `commit_ts` was rolled back here.
    pub overlapped_rollback: bool,
    /// Of a rollback: later ones do not replace it.
    pub protected: bool,
}

/// What a key knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Committed {
        commit_ts: u64,
    },
    RolledBack,
    /// `overlapped`: another transaction has committed at the timestamp at which this one started.
    Missing {
        overlapped: bool,
    },
}

impl Lock {
    pub fn is_of_pessimistic(&self) -> bool {
        self.for_update_ts != 0
    }

    pub fn to_info(&self, key: &[u8]) -> LockInfo {
        let op = match self.kind {
            LockKind::Put => Op::Put,
            LockKind::Delete => Op::Del,
            LockKind::Lock => Op::Lock,
            LockKind::Pessimistic => Op::PessimisticLock,
        };
        LockInfo {
            primary_lock: self.primary.clone(),
            lock_version: self.start_ts,
            key: key.to_vec(),
            lock_ttl: self.ttl_ms,
            txn_size: self.txn_size,
            lock_type: op.into(),
            lock_for_update_ts: self.for_update_ts,
            use_async_commit: self.async_commit,
            min_commit_ts: self.min_commit_ts,
            secondaries: self.secondaries.clone(),
        }
    }

    /// What stands in the history once the lock is committed. A pessimistic lock that was forgotten becomes a plain one.
    pub fn into_write(self, commit_ts: u64) -> Write {
        let kind = match self.kind {
            LockKind::Put => WriteKind::Put,
            LockKind::Delete => WriteKind::Delete,
            LockKind::Lock | LockKind::Pessimistic => WriteKind::Lock,
        };
        Write {
            kind,
            commit_ts,
            start_ts: self.start_ts,
            value: self.value,
            overlapped_rollback: self.rollback_ts.contains(&commit_ts),
            protected: false,
        }
    }
}

impl Write {
    pub fn rollback(start_ts: u64, protected: bool) -> Self {
        Self {
            kind: WriteKind::Rollback,
            commit_ts: start_ts,
            start_ts,
            value: Vec::new(),
            overlapped_rollback: false,
            protected,
        }
    }

    /// Whether it says what the key's value is.
    pub fn is_data(&self) -> bool {
        matches!(self.kind, WriteKind::Put | WriteKind::Delete)
    }
}

impl Row {
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    pub fn latest(&self) -> Option<&Write> {
        self.writes.last()
    }

    /// The writes at or below `ts`, newest first.
    pub fn below(&self, ts: u64) -> impl Iterator<Item = &Write> {
        let end = self.writes.partition_point(|write| write.commit_ts <= ts);
        self.writes.iter().take(end).rev()
    }

    /// The newest write at or below `ts` that put or deleted a value.
    pub fn data(&self, ts: u64) -> Option<&Write> {
        self.below(ts).find(|write| write.is_data())
    }

    pub fn value(&self, ts: u64) -> Option<&[u8]> {
        self.data(ts).filter(|write| write.kind == WriteKind::Put).map(|write| write.value.as_slice())
    }

    pub fn record(&self, start_ts: u64) -> Record {
        let from = self.writes.partition_point(|write| write.commit_ts < start_ts);
        let mut overlapped = false;
        for write in self.writes.iter().skip(from) {
            if write.start_ts == start_ts {
                return match write.kind {
                    WriteKind::Rollback => Record::RolledBack,
                    _ => Record::Committed { commit_ts: write.commit_ts },
                };
            }
            if write.commit_ts == start_ts {
                if write.overlapped_rollback {
                    return Record::RolledBack;
                }
                overlapped = true;
            }
        }
        Record::Missing { overlapped }
    }

    /// Writes a record. Where a rollback of another transaction stands at the same timestamp, it is remembered.
    pub fn put(&mut self, mut write: Write) {
        let at = self.writes.partition_point(|other| other.commit_ts < write.commit_ts);
        match self.writes.get_mut(at) {
            Some(other) if other.commit_ts == write.commit_ts => {
                if other.kind == WriteKind::Rollback && other.start_ts != write.start_ts {
                    write.overlapped_rollback = true;
                }
                *other = write;
            }
            _ => self.writes.insert(at, write),
        }
    }

    /// Records that the transaction was rolled back here.
    pub fn put_rollback(&mut self, start_ts: u64, protected: bool) {
        match self.record(start_ts) {
            // TiKV forgets the rollback here unless it is protected: an optimistic prewrite that comes twice could then be
            // committed after it was rolled back.
            Record::Missing { overlapped: true } => {
                if let Some(write) = self.writes.iter_mut().rfind(|write| write.commit_ts == start_ts) {
                    write.overlapped_rollback = true;
                }
            }
            _ => self.put(Write::rollback(start_ts, protected)),
        }
    }

    /// Removes the record of the rollback that comes before `start_ts`, if it may go: only the newest is of use.
    pub fn collapse_rollback_before(&mut self, start_ts: u64) {
        let before = self.writes.partition_point(|write| write.commit_ts < start_ts);
        let Some(at) = before.checked_sub(1) else { return };
        if self.writes.get(at).is_some_and(|write| write.kind == WriteKind::Rollback && !write.protected) {
            self.writes.remove(at);
        }
    }

    /// Forgets what no reader at or above the safe point can see. True if nothing is left of the row.
    pub fn collect_garbage(&mut self, safe_point: u64) -> bool {
        let end = self.writes.partition_point(|write| write.commit_ts <= safe_point);
        let kept = self.writes.iter().take(end).rposition(Write::is_data);
        let mut index = 0;
        self.writes.retain(|write| {
            let keep = index >= end || (Some(index) == kept && write.kind == WriteKind::Put);
            index += 1;
            keep
        });
        self.lock.is_none() && self.writes.is_empty()
    }
}
