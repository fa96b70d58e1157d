//! Active expiry: taking the due heads of the expire space. The sweep itself (pace, locks, commits) is the server's.

use std::ops::ControlFlow;

use super::context::{Db, View, WriteCx};
use super::entry;
use crate::encoding::EXPIRE;
use crate::encoding::rows::{self, ExpireKind};
use crate::error::Result;

/// A key whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub row: Vec<u8>,
    pub at_ms: u64,
    pub db: u32,
    pub slot: u16,
    pub key: Vec<u8>,
}

/// Up to `limit` keys of a bucket that are due now, oldest first, from `from_ms` on (the low-water mark that spares
/// the walk over tombstones of what was reaped before).
pub fn due(cx: &mut impl View, bucket: u8, from_ms: u64, limit: usize) -> Result<Vec<Due>> {
    let start = rows::expire_position(bucket, from_ms);
    let end = rows::expire_position(bucket, cx.env().now_ms.saturating_add(1));
    let mut found = Vec::new();
    let mut malformed = None;
    cx.scan_each(EXPIRE, &start, &end, limit, &mut |row, _| match rows::read_expire(row) {
        Ok(due) => {
            if due.kind == ExpireKind::Key {
                let key = due.key.to_vec();
                found.push(Due { row: row.to_vec(), at_ms: due.at_ms, db: due.db, slot: due.slot, key });
            }
            ControlFlow::Continue(())
        }
        Err(bad) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(found), |bad| Err(bad.into()))
}

/// Removes the key if it is still the one that is due, and the row that announced it in any case.
/// Whether a key was removed.
pub fn reap(cx: &mut WriteCx<'_>, due: &Due) -> Result<bool> {
    let Some(db) = cx.env.keyspace.databases.owner(due.db) else {
        cx.delete(EXPIRE, &due.row);
        return Ok(false);
    };
    let found = entry::find_stored(cx, db, &due.key)?;
    let now_ms = cx.env.now_ms;
    let is_due = found.stored_expiry() == due.at_ms && due.at_ms <= now_ms;
    if is_due {
        entry::remove(cx, &found)?;
    } else {
        cx.delete(EXPIRE, &due.row);
    }
    Ok(is_due)
}

/// Removes a key that somebody met, if its time has come. Whether it had.
pub fn reap_met(cx: &mut WriteCx<'_>, db: Db, key: &[u8]) -> Result<bool> {
    // The database may have got another number meanwhile.
    let Some(db) = cx.env.keyspace.databases.get(db.logical).filter(|now| *now == db) else {
        return Ok(false);
    };
    let before = cx.tally().expired;
    entry::find_in(cx, db, key)?;
    Ok(cx.tally().expired > before)
}

#[cfg(test)]
mod tests;
