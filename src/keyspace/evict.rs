//! Which keys could go where data may take only so much of the disk, and taking them away. When and how many is the server's.

use std::ops::ControlFlow;

use tarn_engine::{Direction, Range};

use super::context::{Db, View, WriteCx, draws};
use super::entry;
use super::events::Event;
use crate::encoding::EXPIRE;
use crate::encoding::rows::{self, EXPIRE_BUCKETS, ExpireKind};
use crate::error::Result;

/// A key that could go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub db: Db,
    pub key: Vec<u8>,
    /// 0: never.
    pub expire_at_ms: u64,
}

/// Where among keys that expire it is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// At those whose time comes next.
    Soonest,
    Anywhere,
}

/// Up to `limit` keys that expire, of one part of them that is drawn. None where there are none at all.
pub fn expiring(cx: &mut impl View, at: Where, limit: usize) -> Result<Vec<Candidate>> {
    let mut random = draws(cx.env().random);
    let mut draw = move || random.next().unwrap_or_default();
    let first = (draw() % u64::from(EXPIRE_BUCKETS)) as u8;
    for bucket in (0..EXPIRE_BUCKETS).map(|n| (first + n) % EXPIRE_BUCKETS) {
        let Some(soonest_ms) = edge(cx, bucket, Direction::Forward)? else { continue };
        let from_ms = match at {
            Where::Soonest => soonest_ms,
            Where::Anywhere => {
                let last_ms = edge(cx, bucket, Direction::Backward)?.unwrap_or(soonest_ms);
                soonest_ms + draw() % (last_ms.saturating_sub(soonest_ms) + 1)
            }
        };
        let found = from(cx, bucket, from_ms, limit)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The first or the last time in a bucket.
fn edge(cx: &impl View, bucket: u8, direction: Direction) -> Result<Option<u64>> {
    let (start, end) = (rows::expire_position(bucket, 0), rows::expire_end(bucket));
    let mut found = None;
    cx.scan_with(EXPIRE, Range { start: &start, end: &end }, direction, 1, &mut |row, _| {
        found = Some(rows::read_expire(row).map(|row| row.at_ms));
        ControlFlow::Break(())
    })?;
    Ok(found.transpose()?)
}

fn from(cx: &impl View, bucket: u8, from_ms: u64, limit: usize) -> Result<Vec<Candidate>> {
    let (start, end) = (rows::expire_position(bucket, from_ms), rows::expire_end(bucket));
    let mut found = Vec::new();
    // Rows of parts are passed over; there are not many of them in a row.
    cx.scan_each(EXPIRE, &start, &end, 4 * limit, &mut |row, _| {
        if let Ok(row) = rows::read_expire(row)
            && row.kind == ExpireKind::Key
            && let Some(db) = cx.env().keyspace.shared.owner(row.db)
        {
            found.push(Candidate { db, key: row.key.to_vec(), expire_at_ms: row.at_ms });
        }
        if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(found)
}

/// Takes a key away to make room; whether it was there.
pub fn evict(cx: &mut WriteCx<'_>, candidate: &Candidate) -> Result<bool> {
    let found = entry::find_in(cx, candidate.db, &candidate.key)?;
    if !found.exists() {
        return Ok(false);
    }
    entry::take_away(cx, &found)?;
    cx.notify_in(candidate.db, Event::EVICTED, &candidate.key);
    Ok(true)
}
