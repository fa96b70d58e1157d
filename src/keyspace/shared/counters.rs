//! How many keys there are: a row per database and stripe, which changes with the keys, under the stripe's lock. Where several nodes share
//! the data each has rows of its own, so that they do not meet there: one may have counted keys that another has removed.

use std::ops::ControlFlow;

use crate::encoding::SYSTEM;
use crate::encoding::system::{self, Counts};
use crate::error::{Error, Result};
use crate::keyspace::{Db, View, WriteCx};

/// Changes how many keys the slot's stripe has, and how many of them expire.
#[inline]
pub fn count(cx: &mut WriteCx<'_>, db: Db, slot: u16, keys: i64, expiring: i64) -> Result<()> {
    if (keys, expiring) == (0, 0) {
        return Ok(());
    }
    let row = cx.env.keyspace.shared.count_row(db.physical, slot);
    let before = match cx.get(SYSTEM, &row)? {
        Some(span) => Counts::decode(cx.bytes(span))?,
        None => Counts::default(),
    };
    let is_alone = cx.env.keyspace.shared.seat().is_none();
    let changed = |count: i64, change: i64| {
        let after = count.checked_add(change).filter(|after| *after >= 0 || !is_alone);
        after.ok_or(Error::Damaged("the counter of keys"))
    };
    let after = Counts { keys: changed(before.keys, keys)?, expiring: changed(before.expiring, expiring)? };
    cx.put(SYSTEM, &row, &[&after.encode()]);
    Ok(())
}

/// Exact number of keys, as of the rows this view sees: a bounded sum of counters.
pub fn key_count(cx: &mut impl View, db: Db) -> Result<u64> {
    Ok(counts(cx, db)?.keys.max(0) as u64)
}

/// As [`key_count`], with the number of keys that expire.
pub fn counts(cx: &mut impl View, db: Db) -> Result<Counts> {
    let mut total = Counts::default();
    for (_, counts) in stripe_counts(cx, db)? {
        total.add(counts);
    }
    Ok(total)
}

/// Keys per stripe, in the order of stripes; stripes without keys are absent.
pub fn key_counts(cx: &mut impl View, db: Db) -> Result<Vec<(u16, u64)>> {
    let stripes = stripe_counts(cx, db)?.into_iter();
    Ok(stripes.map(|(stripe, counts)| (stripe, counts.keys.max(0) as u64)).collect())
}

fn stripe_counts(cx: &mut impl View, db: Db) -> Result<Vec<(u16, Counts)>> {
    let (start, end) = system::key_counts(db.physical);
    let mut found: Vec<(u16, Counts)> = Vec::new();
    let mut malformed = None;
    cx.scan_each(SYSTEM, &start, &end, usize::MAX, &mut |row, value| {
        match (system::read_key_count(row), Counts::decode(value)) {
            (Ok(stripe), Ok(counts)) => match found.last_mut().filter(|last| last.0 == stripe) {
                // Of another node.
                Some((_, sum)) => sum.add(counts),
                None => found.push((stripe, counts)),
            },
            (Err(bad), _) | (_, Err(bad)) => malformed = Some(bad),
        }
        ControlFlow::Continue(())
    })?;
    found.retain(|(_, counts)| counts.keys > 0);
    malformed.map_or(Ok(found), |bad| Err(bad.into()))
}
