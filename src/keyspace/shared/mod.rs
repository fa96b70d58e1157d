//! What all who work on one set of data share, behind one door: which rows the databases have, the versions of
//! collections, how many keys there are, and who does the work in the background.
//!
//! Where one process owns its data the answers are numbers in its memory and rows that it alone writes. Where several nodes share the
//! data, the same questions have other answers: the map of databases counts under a [`Lease`], each start takes versions of its own,
//! counts are kept by node and summed when asked, and duties are divided among those who are there. Nobody outside names the parts.
//!
//! What needs no transaction is a method of [`Shared`]; what reads or writes rows is a function of the context.

mod counters;
mod databases;
pub mod lease;
mod ownership;
mod versions;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use tarn_engine::AnyWrite;

use self::databases::Databases;
use self::lease::Lease;
use self::ownership::Ownership;
use self::versions::Versions;
use super::context::Db;
use super::stripe_of;
use crate::encoding::system::{self, SystemKey};
use crate::error::Result;

pub use self::counters::{count, counts, key_count, key_counts};
pub use self::databases::{flush, mapped, swap};
pub use self::ownership::Duty;
pub use self::versions::{Building, record_reserve, versions_beside};

#[derive(Debug)]
pub struct Shared {
    databases: Databases,
    versions: Versions,
    ownership: Ownership,
    /// Which of the counters are those of this process, where several have some; [`NO_SEAT`] elsewhere.
    seat: AtomicU32,
    /// How long the map of databases counts.
    pub lease: Lease,
}

/// The counters are nobody else's.
const NO_SEAT: u32 = u32::MAX;

/// What [`Shared::read`] found, for [`Shared::opened`].
pub struct Record {
    databases: Vec<u32>,
    versions: Range<u64>,
}

impl Shared {
    /// Of data of which nothing is known yet, and that other processes may share. Clients will be able to use `databases` of the databases.
    pub fn waiting(databases: u16, is_shared: bool) -> Shared {
        Shared {
            databases: Databases::waiting(usize::from(databases)),
            versions: Versions::reserved(0, 0),
            ownership: if is_shared { Ownership::none() } else { Ownership::alone() },
            seat: AtomicU32::new(NO_SEAT),
            lease: if is_shared { Lease::wanted() } else { Lease::not_needed() },
        }
    }

    /// Reads what is on record, and reserves versions with the same transaction.
    pub fn read(&self, txn: &mut AnyWrite<'_>) -> Result<Record> {
        let databases = databases::mapped(txn, self.databases.count() as u16)?;
        Ok(Record { databases, versions: Versions::reserve(txn, !self.lease.is_needed())? })
    }

    /// The transaction is durable.
    pub fn opened(&self, record: Record) {
        self.databases.set(record.databases);
        self.versions.set(record.versions);
    }

    /// With versions from 1 on.
    #[cfg(test)]
    pub fn fresh(databases: u16) -> Shared {
        Shared {
            databases: Databases::new((0..databases).map(u32::from), usize::from(databases)),
            versions: Versions::reserved(1, 1 << 40),
            ..Shared::waiting(databases, false)
        }
    }
}

/// The map of databases: true while the caller holds a stripe lock, since whoever changes it holds all of them.
impl Shared {
    /// How many databases clients may use.
    pub fn database_count(&self) -> usize {
        self.databases.count()
    }

    /// A database that clients may use.
    #[inline]
    pub fn database(&self, logical: u16) -> Option<Db> {
        self.databases.get(logical)
    }

    /// All that clients may use.
    pub fn databases(&self) -> impl Iterator<Item = Db> + '_ {
        self.databases.iter()
    }

    /// The logical database that has this number now. None is a number that was dropped.
    pub fn owner(&self, physical: u32) -> Option<Db> {
        self.databases.owner(physical)
    }

    /// Those whose numbers are others by now, as they are on record.
    pub fn changed(&self, numbers: &[u32]) -> Vec<Db> {
        let now = (0..=u16::MAX).zip(numbers).map(|(logical, physical)| Db { logical, physical: *physical });
        now.filter(|db| self.databases.recorded(db.logical).is_some_and(|known| known != *db)).collect()
    }

    /// Databases have other numbers, by a commit that was just made.
    pub fn remapped(&self, changes: &[Db]) {
        self.databases.apply(changes);
    }
}

/// Versions of collections.
impl Shared {
    /// A version that no collection ever had.
    #[inline]
    pub fn new_version(&self) -> Result<Building<'_>> {
        self.versions.begin()
    }

    /// Every version below this one is live, or was, or never will be: its last commit has been made.
    pub fn low_watermark(&self) -> u64 {
        self.versions.low_watermark()
    }

    /// Those below were given out by processes before this one.
    pub fn first_version(&self) -> u64 {
        self.versions.first()
    }

    /// The reserve to put on record ([`record_reserve`]) when more than half of it is used.
    pub fn wanted_reserve(&self) -> Option<u64> {
        self.versions.wanted_limit()
    }

    /// The reserve is on record and durable.
    pub fn reserved(&self, limit: u64) {
        self.versions.extend(limit);
    }
}

/// Work in the background.
impl Shared {
    /// Whether this process does such work now: to be asked before each step of it.
    #[inline]
    pub fn owns(&self, duty: Duty) -> bool {
        self.ownership.owns(duty)
    }

    /// Which of those who are there this process is.
    pub fn set_place(&self, place: u32, count: u32) {
        self.ownership.set(place, count);
    }
}

/// Counters of keys.
impl Shared {
    /// The row that this process counts the keys of a slot's stripe in.
    #[inline]
    pub fn count_row(&self, db: u32, slot: u16) -> SystemKey {
        match self.seat() {
            None => system::key_count(db, stripe_of(slot)),
            Some(seat) => system::key_count_of(db, stripe_of(slot), seat),
        }
    }

    /// Which counters are those of this process; none where they are nobody else's.
    #[inline]
    pub fn seat(&self) -> Option<u16> {
        u16::try_from(self.seat.load(Ordering::Relaxed)).ok()
    }

    pub fn set_seat(&self, seat: u16) {
        self.seat.store(u32::from(seat), Ordering::Relaxed);
    }
}
