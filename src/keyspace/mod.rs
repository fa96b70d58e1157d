//! What a key is: its metadata, whether it is alive, its type, version and expiry; databases, counting and scanning.
//!
//! Verbs that only read take `&mut impl View`; verbs that write take `&mut WriteCx`. Nothing here locks, commits or
//! asks for the time: the context brings a transaction and the moment the command runs at.

pub mod build;
pub mod clocks;
pub mod context;
pub mod drop;
pub mod effects;
pub mod entry;
pub mod events;
pub mod evict;
pub mod filter;
pub mod garbage;
pub mod kind;
pub mod libraries;
pub mod local;
pub mod parts;
pub mod reap;
pub mod scan;
pub mod shared;
pub mod start;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tarn_engine::AnyEngine;

use self::clocks::Clocks;
use crate::encoding::slot::SLOTS;
use crate::encoding::system::FieldIndex;
use crate::error::Result;

pub use context::{Db, Env, Limits, Located, Place, ReadCx, Source, Sourced, Tally, View, WriteCx, draws};
pub use effects::{Effect, Effects, Was};
pub use entry::{Entry, Meta};
pub use events::{Event, Note};
pub use garbage::Garbage;
pub use parts::ExpiringParts;
pub use shared::Shared;

/// Keys are locked and counted by stripe: 64 neighbouring slots.
pub const STRIPES: usize = 256;
const SLOTS_PER_STRIPE: u16 = SLOTS / STRIPES as u16;

pub fn stripe_of(slot: u16) -> u16 {
    slot / SLOTS_PER_STRIPE
}

/// First slot of a stripe.
pub fn first_slot(stripe: u16) -> u16 {
    stripe * SLOTS_PER_STRIPE
}

/// What all transactions on one data directory share.
#[derive(Debug)]
pub struct Keyspace {
    /// Seed of hash48 and hash64, made once per data directory.
    seed: AtomicU64,
    /// What is on record is known.
    is_open: AtomicBool,
    /// No compaction drops what is dead: whoever makes garbage says so in a row.
    pub queues_garbage: bool,
    pub shared: Shared,
    pub garbage: Garbage,
    pub parts: ExpiringParts,
    /// When keys were used, while somebody asks.
    pub clocks: Clocks,
}

impl Keyspace {
    /// Of an engine that has not been read yet. `types` are those whose parts expire.
    pub fn waiting(engine: &AnyEngine, types: &'static [parts::Parts], databases: u16) -> Keyspace {
        Keyspace {
            seed: AtomicU64::new(0),
            is_open: AtomicBool::new(false),
            queues_garbage: !engine.has_filter(),
            shared: Shared::waiting(databases, engine.is_shared()),
            garbage: Garbage::default(),
            parts: ExpiringParts::new(types, usize::from(databases), FieldIndex::Whole),
            clocks: Clocks::default(),
        }
    }

    #[cfg(test)]
    pub fn with_seed(seed: u64, shared: Shared) -> Keyspace {
        Keyspace {
            seed: AtomicU64::new(seed),
            is_open: AtomicBool::new(true),
            queues_garbage: false,
            shared,
            garbage: Garbage::default(),
            parts: ExpiringParts::new(&[], 1, FieldIndex::Whole),
            clocks: Clocks::default(),
        }
    }

    #[inline]
    pub fn seed(&self) -> u64 {
        self.seed.load(Ordering::Relaxed)
    }

    /// Refused while nothing can be served: what is on record is not known yet, or may not be relied on any more.
    #[inline]
    pub fn ready(&self) -> Result<()> {
        if self.is_open() && self.shared.lease.is_held() { Ok(()) } else { self.not_ready() }
    }

    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    #[cold]
    fn not_ready(&self) -> Result<()> {
        let why = match self.is_open() {
            false => "the cluster has not been reached yet",
            true => "the cluster was out of reach for too long",
        };
        Err(tarn_engine::Error::Unavailable(why.to_owned()).into())
    }
}
