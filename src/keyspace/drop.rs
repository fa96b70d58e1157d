//! What a flushed database left behind: listing it, and removing it. FLUSHDB gives a database a new physical number
//! and names the old one in a system row; the server removes the old number's rows in the background.
//!
//! Rows that begin with the number go by range ([`ranges`]). Rows of the expire space begin with a time instead, so
//! they are walked ([`expiries`]). When both are done, [`finish`] takes the system row away.

use std::ops::ControlFlow;

use tarn_engine::Space;

use super::context::{View, WriteCx};
use super::kind::ELEMENT_SPACES;
use crate::encoding::rows::{self, RowKey};
use crate::encoding::system::{self, SystemKey};
use crate::encoding::{EXPIRE, META, SYSTEM};
use crate::error::Result;

/// Physical numbers whose rows wait for removal.
pub fn dropped(cx: &impl View) -> Result<Vec<u32>> {
    let (start, end) = system::all_dropped();
    let mut numbers = Vec::new();
    let mut malformed = None;
    cx.scan_each(SYSTEM, &start, &end, usize::MAX, &mut |row, _| match system::read_dropped(row) {
        Ok(number) => {
            numbers.push(number);
            ControlFlow::Continue(())
        }
        Err(bad) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(numbers), |bad| Err(bad.into()))
}

/// A range of rows: the first key, and the key behind the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doomed {
    pub space: Space,
    pub start: RowKey,
    pub end: RowKey,
}

/// Everything a physical database has but its expiries, to be deleted by range. Nobody writes there any more.
pub fn ranges(db: u32) -> Vec<Doomed> {
    let (start, end) = rows::database(db);
    let mut doomed: Vec<_> = std::iter::once(META)
        .chain(ELEMENT_SPACES)
        .map(|space| Doomed { space, start: start.clone(), end: end.clone() })
        .collect();
    let as_row = |key: SystemKey| RowKey::from_slice(&key);
    let (start, end) = system::key_counts(db);
    doomed.push(Doomed { space: SYSTEM, start: as_row(start), end: as_row(end) });
    doomed
}

/// Where a walk over the expire space goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(RowKey);

impl Place {
    /// The start of a bucket.
    pub fn bucket(bucket: u8) -> Place {
        Place(rows::expire_position(bucket, 0))
    }
}

/// Deletes the rows of dropped databases among the next `limit` expiries of a bucket. The place to go on from; None at
/// the bucket's end.
pub fn expiries(
    cx: &mut WriteCx<'_>,
    dropped: &[u32],
    bucket: u8,
    from: &Place,
    limit: usize,
) -> Result<Option<Place>> {
    among_expiries(cx, bucket, from, limit, &|row| dropped.contains(&row.db))
}

/// Deletes the rows that are meant among the next `limit` expiries of a bucket. The place to go on from; None at the
/// bucket's end.
pub fn among_expiries(
    cx: &mut WriteCx<'_>,
    bucket: u8,
    from: &Place,
    limit: usize,
    is_meant: &dyn Fn(&rows::ExpireRow<'_>) -> bool,
) -> Result<Option<Place>> {
    let end = rows::expire_end(bucket);
    let mut doomed: Vec<RowKey> = Vec::new();
    let mut last = None;
    let mut seen = 0;
    let mut malformed = None;
    cx.scan_each(EXPIRE, &from.0, &end, limit, &mut |row, _| {
        seen += 1;
        match rows::read_expire(row) {
            Ok(expiry) if is_meant(&expiry) => doomed.push(RowKey::from_slice(row)),
            Ok(_) => {}
            Err(bad) => {
                malformed = Some(bad);
                return ControlFlow::Break(());
            }
        }
        if seen == limit {
            last = Some(RowKey::from_slice(row));
        }
        ControlFlow::Continue(())
    })?;
    if let Some(bad) = malformed {
        return Err(bad.into());
    }
    for row in doomed {
        cx.delete(EXPIRE, &row);
    }
    Ok(last.map(|mut row| {
        // The least key greater than the last one seen.
        row.push(0);
        Place(row)
    }))
}

/// Nothing of the number is left.
pub fn finish(cx: &mut WriteCx<'_>, db: u32) {
    cx.delete(SYSTEM, &system::dropped(db));
}

#[cfg(test)]
mod tests;
