//! Fields of hashes that expire: reaping in bounded steps, and what `active-expire-mode` asks for besides.
//!
//! | mode | what is done |
//! |---|---|
//! | `sort` | hashes are taken from the expire space when they are due |
//! | `sort`, until the expire space has all of them | the metadata is walked as well: what is due is reaped, the rest is put there |
//! | `scan` | the metadata is walked, again and again; what the expire space has of hashes is dropped once |

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::config::ActiveExpireMode;
use crate::dispatch::executor::Executor;
use crate::dispatch::locks::StripeSet;
use crate::encoding::rows::EXPIRE_BUCKETS;
use crate::encoding::system::FieldIndex;
use crate::error::Result;
use crate::keyspace::parts::{ExpiringParts, PER_STEP};
use crate::keyspace::reap::Reaped;
use crate::keyspace::{Db, drop, entry, reap, scan, shared, stripe_of};

/// Metadata rows looked at in one step of a walk, and expiries looked at in one step of dropping.
const WALK_ROWS: usize = 1_000;
const DROP_ROWS: usize = 256;

/// A hash that was met on a walk.
struct Met {
    db: u32,
    slot: u16,
    key: Vec<u8>,
    is_due: bool,
}

/// A walk over the metadata of all databases.
#[derive(Default)]
struct Walk {
    /// What is left of it: databases, and stripes of the first of them.
    databases: Vec<Db>,
    stripes: Vec<u16>,
    cursor: Option<u64>,
    /// The databases' numbers when it began. Others mean that something may have been missed.
    began_with: Vec<Db>,
}

#[derive(Default)]
pub struct FieldSweep {
    walk: Option<Walk>,
    /// Where dropping the index goes on.
    dropping: Option<(u8, drop::Place)>,
}

/// Takes the due fields of one hash, step by step, until none is left or the time is up. When its next field is due, if
/// that has come already.
pub fn reap_hash(
    executor: &mut Executor,
    (db, slot, key): (u32, u16, &[u8]),
    row: Option<(&[u8], u64)>,
    until: Instant,
) -> Result<Option<u64>> {
    let mut stripes = StripeSet::default();
    stripes.insert(stripe_of(slot));
    let mut row = row;
    loop {
        let reaped = executor.transact(&stripes, 0, |cx| reap::reap_parts(cx, (db, key), row, PER_STEP))?;
        row = None;
        note(executor, &reaped);
        let is_due = reaped.places == PER_STEP as u64 && reaped.next_ms <= executor.node.clock.now_ms();
        if !is_due {
            return Ok(None);
        }
        if Instant::now() >= until {
            return Ok(Some(reaped.next_ms));
        }
    }
}

fn note(executor: &Executor, reaped: &Reaped) {
    if reaped.parts == 0 {
        return;
    }
    let parts = &executor.node.keyspace.parts;
    parts.expired_actively(reaped.db, reaped.parts);
    let lag_ms = executor.node.clock.now_ms().saturating_sub(reaped.oldest_ms);
    parts.reaper.lag_ms.fetch_max(lag_ms, Relaxed);
}

impl FieldSweep {
    /// Follows the configuration.
    pub fn follow(&mut self, executor: &mut Executor) -> Result<()> {
        let wants_sort = executor.node.config.current().active_expire_mode == ActiveExpireMode::Sort;
        let sorts = executor.node.keyspace.parts.sorts();
        if wants_sort == sorts {
            return Ok(());
        }
        (self.walk, self.dropping) = (None, None);
        if wants_sort {
            executor.node.keyspace.parts.set_sorts(true);
        } else {
            // On record before the first command leaves the index alone.
            record(executor, FieldIndex::Part)?;
            executor.node.keyspace.parts.set_sorts(false);
        }
        Ok(())
    }

    /// One step of whatever the mode asks for besides reaping by the index. Whether something is left to be done soon.
    pub fn step(&mut self, executor: &mut Executor, until: Instant) -> Result<bool> {
        let (sorts, index) = (executor.node.keyspace.parts.sorts(), executor.node.keyspace.parts.index());
        match (sorts, index) {
            (true, FieldIndex::Whole) => Ok(false),
            (true, _) => {
                let ended = self.walk(executor, until, true)?;
                if ended == Some(true) {
                    record(executor, FieldIndex::Whole)?;
                }
                Ok(true)
            }
            (false, FieldIndex::None) => self.walk(executor, until, false).map(|_| false),
            (false, _) => {
                if self.drop_index(executor, until)? {
                    record(executor, FieldIndex::None)?;
                }
                self.walk(executor, until, false).map(|_| false)
            }
        }
    }

    /// Goes on walking until the time is up. None before the end; then whether nothing can have been missed.
    fn walk(&mut self, executor: &mut Executor, until: Instant, builds: bool) -> Result<Option<bool>> {
        let walk = self.walk.get_or_insert_with(|| Walk::begin(executor));
        loop {
            if !walk.step(executor, until, builds)? {
                let missed_nothing = walk.began_with == numbers(executor);
                self.walk = None;
                return Ok(Some(missed_nothing));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// Whether nothing of hashes is left in the expire space.
    fn drop_index(&mut self, executor: &mut Executor, until: Instant) -> Result<bool> {
        loop {
            let (bucket, place) = self.dropping.take().unwrap_or((0, drop::Place::bucket(0)));
            let next = executor
                .transact(&StripeSet::default(), 0, |cx| reap::drop_index(cx, bucket, &place, DROP_ROWS))?;
            match next {
                Some(place) => self.dropping = Some((bucket, place)),
                None if bucket + 1 == EXPIRE_BUCKETS => return Ok(true),
                None => self.dropping = Some((bucket + 1, drop::Place::bucket(bucket + 1))),
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    }
}

fn record(executor: &mut Executor, index: FieldIndex) -> Result<()> {
    executor.transact(&StripeSet::default(), 0, |cx| {
        ExpiringParts::record_index(cx, index);
        Ok(())
    })?;
    executor.node.engine.flush()?;
    crate::keyspace::local::sync(&executor.node.engine)?;
    executor.node.keyspace.parts.set_index(index);
    Ok(())
}

fn numbers(executor: &Executor) -> Vec<Db> {
    executor.node.keyspace.shared.databases().collect()
}

impl Walk {
    fn begin(executor: &Executor) -> Walk {
        let databases = numbers(executor);
        Walk { began_with: databases.clone(), databases, ..Walk::default() }
    }

    /// Looks at the next rows. False at the end.
    fn step(&mut self, executor: &mut Executor, until: Instant, builds: bool) -> Result<bool> {
        let Some(db) = self.databases.last().copied() else { return Ok(false) };
        let Some(stripe) = self.stripes.last().copied() else {
            let stripes = executor.look(0, |cx| shared::key_counts(cx, db))?;
            self.stripes = stripes.into_iter().map(|(stripe, _)| stripe).collect();
            if self.stripes.is_empty() {
                self.databases.pop();
            }
            return Ok(true);
        };
        let now_ms = executor.node.clock.now_ms();
        let mut met = Vec::new();
        let cursor = self.cursor;
        let next = executor.look(0, |cx| {
            scan::with_expiring_parts(cx, db, stripe, cursor, WALK_ROWS, &mut |row, earliest_ms| {
                let (db, slot, key) = (row.db, row.slot, row.key.to_vec());
                met.push(Met { db, slot, key, is_due: earliest_ms <= now_ms });
            })
        })?;
        executor.node.keyspace.parts.reaper.walked.fetch_add(met.len() as u64, Relaxed);
        for hash in met {
            hash.treat(executor, until, builds)?;
        }
        self.cursor = next;
        if next.is_none() {
            self.stripes.pop();
            if self.stripes.is_empty() {
                self.databases.pop();
            }
        }
        Ok(true)
    }
}

impl Met {
    fn treat(&self, executor: &mut Executor, until: Instant, builds: bool) -> Result<()> {
        if builds {
            let mut stripes = StripeSet::default();
            stripes.insert(stripe_of(self.slot));
            executor.transact(&stripes, 0, |cx| {
                if let Some(db) = cx.env.keyspace.shared.owner(self.db) {
                    let found = entry::find_in(cx, db, &self.key)?;
                    entry::index_parts(cx, &found);
                }
                Ok(())
            })?;
        }
        if self.is_due {
            reap_hash(executor, (self.db, self.slot, &self.key), None, until)?;
        }
        Ok(())
    }
}
