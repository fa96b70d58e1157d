//! Which rows are garbage: what compaction asks.
//!
//! It is answered from rows of the sorted data alone. These may be older than the newest, and what is newer may still
//! be lost with the power, so a row is dropped only when no state after the sorted one can want it:
//!
//! * its database was dropped, and the row that says so is in the sorted data. Numbers of databases are not reused;
//! * it is an element of a version smaller than the one its key has. A key's version never gets smaller;
//! * it is an element of a version that had its last commit before the write-back that completed last was cut off,
//!   and that is not the one its key has. Both the element and the metadata of that time are then in the sorted data.
//!
//! Where a key may own further versions ([`super::kind::Info::owns_versions`]), the row that says so is looked for as well. It may
//! have come with the key's own version, so that too must have had its last commit before that write-back.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarn_engine::{Filter, Probe, Space, Verdict};

use super::Keyspace;
use super::kind::is_element_space;
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{self, ElementRow};
use crate::encoding::stream::{GROUPS, owner_row};
use crate::encoding::{EXPIRE, META, SYSTEM, system};

/// The engine is opened with the filter before the keyspace can be read from it, so the keyspace comes later. Until
/// then nothing is dropped.
#[derive(Default)]
pub struct Garbage {
    keyspace: std::sync::OnceLock<Arc<Keyspace>>,
    /// Versions below this had their last commit before the write-back that completed last was cut off.
    written_back: AtomicU64,
}

impl Garbage {
    /// Begins to judge.
    pub fn begin(&self, keyspace: Arc<Keyspace>) {
        // A second keyspace over one engine would be a mistake of the caller; the first stays.
        let _ = self.keyspace.set(keyspace);
    }

    fn is_garbage(&self, probe: &dyn Probe, space: Space, key: &[u8]) -> Option<bool> {
        let keyspace = self.keyspace.get()?;
        let (db, element) = match space {
            META => (rows::read_meta(key).ok()?.db, None),
            EXPIRE => (rows::read_expire(key).ok()?.db, None),
            _ if is_element_space(space) => {
                let element = rows::read_element(key).ok()?;
                (element.db, Some(element))
            }
            _ => return Some(false),
        };
        if is_dropped(probe, keyspace, db)? {
            return Some(true);
        }
        element.map_or(Some(false), |element| self.is_dead_version(probe, keyspace, &element))
    }

    fn is_dead_version(
        &self,
        probe: &dyn Probe,
        keyspace: &Keyspace,
        element: &ElementRow<'_>,
    ) -> Option<bool> {
        // Read before the metadata, which can only get newer meanwhile.
        let written_back = self.written_back.load(Ordering::Acquire);
        let live = live_version(probe, keyspace, element)?;
        Some(match live {
            Some(live) if live.version == element.version => false,
            Some(live) if live.owns_versions => {
                element.version < written_back
                    && live.version < written_back
                    && !is_owned(probe, element, live.version)?
            }
            Some(live) if element.version < live.version => true,
            _ => element.version < written_back,
        })
    }
}

impl Filter for Garbage {
    /// Whatever cannot be read or understood is kept.
    fn judge(&self, probe: &dyn Probe, space: Space, key: &[u8], _value: &[u8]) -> Verdict {
        match self.is_garbage(probe, space, key) {
            Some(true) => Verdict::Drop,
            Some(false) | None => Verdict::Keep,
        }
    }

    /// A version that is dead stays dead, and one that is kept for now may be dropped another time.
    fn judges_groups(&self, space: Space) -> bool {
        is_element_space(space)
    }

    fn before_write_back(&self) -> u64 {
        self.keyspace.get().map_or(0, |keyspace| keyspace.shared.low_watermark())
    }

    fn written_back(&self, mark: u64) {
        self.written_back.fetch_max(mark, Ordering::AcqRel);
    }

    fn dropped(&self, space: Space, key: &[u8]) {
        if let (Some(keyspace), Ok((db, slot))) = (self.keyspace.get(), rows::read_place(key)) {
            keyspace.garbage.rows.take(space, db, slot, 1);
        }
    }
}

thread_local! {
    static VALUE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads a row; the outer None is "cannot be told", the inner one "there is none".
fn read<T>(
    probe: &dyn Probe,
    space: Space,
    key: &[u8],
    of: impl FnOnce(&[u8]) -> Option<T>,
) -> Option<Option<T>> {
    VALUE.with_borrow_mut(|value| {
        value.clear();
        match probe.get(space, key, value) {
            Ok(true) => of(value).map(Some),
            Ok(false) => Some(None),
            Err(_) => None,
        }
    })
}

/// What a key has.
struct Live {
    version: u64,
    owns_versions: bool,
}

/// The version of the element's key, None where it has none (it is absent, or its value is in the metadata).
fn live_version(probe: &dyn Probe, keyspace: &Keyspace, element: &ElementRow<'_>) -> Option<Option<Live>> {
    let row = rows::meta(element.db, element.slot, rows::hash48(keyspace.seed(), element.key), element.key);
    let version = read(probe, META, &row, |value| Header::decode(value).ok())?;
    Some(version.and_then(|(header, _)| match header.body {
        Body::Rows { version, .. } => Some(Live { version, owns_versions: header.kind.info().owns_versions }),
        Body::Inline => None,
    }))
}

/// Whether the key, which has this version, says that the element's version is its own.
fn is_owned(probe: &dyn Probe, element: &ElementRow<'_>, live: u64) -> Option<bool> {
    let prefix = rows::collection(element.db, element.slot, element.key, live);
    read(probe, GROUPS, &owner_row(&prefix, element.version), |_| Some(())).map(|row| row.is_some())
}

fn is_dropped(probe: &dyn Probe, keyspace: &Keyspace, db: u32) -> Option<bool> {
    // A database in use is known without a read. One that only seems not to be (the map is being changed) is asked for.
    if keyspace.shared.owner(db).is_some() {
        return Some(false);
    }
    read(probe, SYSTEM, &system::dropped(db), |_| Some(())).map(|row| row.is_some())
}

#[cfg(test)]
mod tests;
