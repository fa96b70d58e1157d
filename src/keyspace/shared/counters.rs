//! How many keys there are: a row per database and stripe, which changes with the keys, under the stripe's lock.

use std::ops::ControlFlow;

use crate::encoding::SYSTEM;
use crate::encoding::system::{self, Counts};
use crate::error::{Error, Result};
use crate::keyspace::{Db, STRIPES, View, WriteCx, stripe_of};

/// Changes how many keys the slot's stripe has, and how many of them expire.
#[inline]
pub fn count(cx: &mut WriteCx<'_>, db: Db, slot: u16, keys: i64, expiring: i64) -> Result<()> {
    if (keys, expiring) == (0, 0) {
        return Ok(());
    }
    let row = system::key_count(db.physical, stripe_of(slot));
    let before = match cx.get(SYSTEM, &row)? {
        Some(span) => Counts::decode(cx.bytes(span))?,
        None => Counts::default(),
    };
    let changed = |count: u64, change: i64| {
        count.checked_add_signed(change).ok_or(Error::Damaged("the counter of keys"))
    };
    let after = Counts { keys: changed(before.keys, keys)?, expiring: changed(before.expiring, expiring)? };
    cx.put(SYSTEM, &row, &[&after.encode()]);
    Ok(())
}

/// Exact number of keys, as of the rows this view sees: a bounded sum of counters.
pub fn key_count(cx: &mut impl View, db: Db) -> Result<u64> {
    Ok(counts(cx, db)?.keys)
}

/// As [`key_count`], with the number of keys that expire.
pub fn counts(cx: &mut impl View, db: Db) -> Result<Counts> {
    let mut total = Counts::default();
    for (_, counts) in stripe_counts(cx, db)? {
        total.keys += counts.keys;
        total.expiring += counts.expiring;
    }
    Ok(total)
}

/// Keys per stripe, in the order of stripes; stripes without keys are absent.
pub fn key_counts(cx: &mut impl View, db: Db) -> Result<Vec<(u16, u64)>> {
    Ok(stripe_counts(cx, db)?.into_iter().map(|(stripe, counts)| (stripe, counts.keys)).collect())
}

fn stripe_counts(cx: &mut impl View, db: Db) -> Result<Vec<(u16, Counts)>> {
    let (start, end) = system::key_counts(db.physical);
    let mut found = Vec::new();
    let mut malformed = None;
    cx.scan_each(SYSTEM, &start, &end, STRIPES, &mut |row, value| {
        match (system::read_key_count(row), Counts::decode(value)) {
            (Ok(_), Ok(Counts { keys: 0, .. })) => {}
            (Ok(stripe), Ok(counts)) => found.push((stripe, counts)),
            (Err(bad), _) | (_, Err(bad)) => malformed = Some(bad),
        }
        ControlFlow::Continue(())
    })?;
    malformed.map_or(Ok(found), |bad| Err(bad.into()))
}
