//! Elements of a key that expire by themselves, as far as they are the keyspace's: what the metadata says of them, and
//! the index by which the reaper finds their keys.
//!
//! The index has two levels. Level two is the type's own: the parts of one key, each at the time of its expiry or, where
//! that was put off, at an earlier one. Level one, in `expire`, has the keys by the earliest time in their metadata, which is
//! never later than that of any part and exact whenever something was taken out. Under `active-expire-mode scan` there is
//! no level one, and the keys are found by walking the metadata.
//!
//! What a part is, where level two has it and whether its time has come only its type knows: [`Parts`], which the types
//! hand in when the keyspace is opened.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use super::context::{View, WriteCx};
use super::entry::Entry;
use crate::encoding::SYSTEM;
use crate::encoding::meta::Kind;
use crate::encoding::system::{self, FieldIndex};
use crate::error::{Error, Result};

/// Parts that the reaper takes out of one key at a time.
pub const PER_STEP: usize = 256;
/// Milliseconds between two turns of the reaper when nothing is due.
pub const TURN_MS: u64 = 100;

/// What a type whose parts expire does with them. Nothing here is asked before something may be due.
#[derive(Debug)]
pub struct Parts {
    pub kind: Kind,
    /// Whether the time of every part has come, of a key whose parts all expire. The prefix is what its rows begin with;
    /// nothing is due before the time.
    pub are_gone: fn(&dyn View, &[u8], u64) -> Result<bool>,
    /// Looks at up to so many places of the index from one time up to, and at, another: see [`Taken`]. The metadata is the
    /// caller's to put.
    pub take_due: fn(&mut WriteCx<'_>, &Entry<'_>, &[u8], (u64, u64), usize) -> Result<Taken>,
    /// Whether the time of the part with this row's value has come.
    pub is_expired: fn(&[u8], u64) -> bool,
}

/// What [`Parts::take_due`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Parts that are gone.
    pub parts: u64,
    /// Places of the index that were looked at: those of parts that are gone, and of parts whose expiry was put off.
    pub places: u64,
    /// The next place of the index, now or later; 0 where no other part expires.
    pub next_ms: u64,
}

/// What the reaper and the commands share about parts that expire.
#[derive(Debug)]
pub struct ExpiringParts {
    types: &'static [Parts],
    sorts: AtomicBool,
    /// A [`FieldIndex`] on record.
    index: AtomicU8,
    expired: Vec<Expired>,
    pub reaper: Reaper,
}

/// Parts removed because their time had come, of one logical database.
#[derive(Debug, Default)]
struct Expired {
    actively: AtomicU64,
    passively: AtomicU64,
}

/// What the background work says of itself. Milliseconds.
#[derive(Debug, Default)]
pub struct Reaper {
    pub last_turn_ms: AtomicU64,
    pub max_turn_ms: AtomicU64,
    pub total_turn_ms: AtomicU64,
    pub turns: AtomicU64,
    /// Keys that were due when the last turn ended, as far as it looked.
    pub backlog: AtomicU64,
    /// How long ago the oldest part that the last turn removed was due.
    pub lag_ms: AtomicU64,
    /// Keys looked at by walking.
    pub walked: AtomicU64,
}

impl ExpiringParts {
    pub fn new(types: &'static [Parts], databases: usize, index: FieldIndex) -> ExpiringParts {
        ExpiringParts {
            types,
            sorts: AtomicBool::new(index == FieldIndex::Whole),
            index: AtomicU8::new(index as u8),
            expired: (0..databases).map(|_| Expired::default()).collect(),
            reaper: Reaper::default(),
        }
    }

    /// What the type does with its parts. The kind table says that they expire.
    pub fn of(&self, kind: Kind) -> Result<&'static Parts> {
        let mut types = self.types.iter();
        types
            .find(|parts| parts.kind == kind)
            .ok_or_else(|| Error::Damaged("parts of a type that has none").into())
    }

    /// Whether commands keep level one of the index.
    pub fn sorts(&self) -> bool {
        self.sorts.load(Ordering::Acquire)
    }

    /// Commands that lock their keys after this follow it.
    pub fn set_sorts(&self, sorts: bool) {
        self.sorts.store(sorts, Ordering::Release);
    }

    pub fn index(&self) -> FieldIndex {
        match self.index.load(Ordering::Acquire) {
            0 => FieldIndex::Whole,
            number => FieldIndex::of(Some(u64::from(number))),
        }
    }

    /// Puts on record how far level one is. Seen once the transaction is committed: [`ExpiringParts::set_index`].
    pub fn record_index(cx: &mut WriteCx<'_>, index: FieldIndex) {
        match index {
            FieldIndex::Whole => cx.delete(SYSTEM, &system::field_index()),
            other => cx.put(SYSTEM, &system::field_index(), &[&(other as u64).to_be_bytes()]),
        }
    }

    pub fn set_index(&self, index: FieldIndex) {
        self.index.store(index as u8, Ordering::Release);
    }

    pub fn expired_actively(&self, db: u16, parts: u64) {
        if let Some(db) = self.expired.get(usize::from(db)) {
            db.actively.fetch_add(parts, Ordering::Relaxed);
        }
    }

    pub fn expired_passively(&self, db: u16, parts: u64) {
        if let Some(db) = self.expired.get(usize::from(db)) {
            db.passively.fetch_add(parts, Ordering::Relaxed);
        }
    }

    /// Of every database: parts removed by the reaper, and by commands that met them.
    pub fn expired(&self) -> impl Iterator<Item = (u64, u64)> {
        self.expired
            .iter()
            .map(|db| (db.actively.load(Ordering::Relaxed), db.passively.load(Ordering::Relaxed)))
    }

    /// CONFIG RESETSTAT.
    pub fn reset(&self) {
        let Reaper { last_turn_ms, max_turn_ms, total_turn_ms, turns, backlog: _, lag_ms: _, walked } =
            &self.reaper;
        let of_databases = self.expired.iter().flat_map(|db| [&db.actively, &db.passively]);
        for number in of_databases.chain([last_turn_ms, max_turn_ms, total_turn_ms, turns, walked]) {
            number.store(0, Ordering::Relaxed);
        }
    }
}
