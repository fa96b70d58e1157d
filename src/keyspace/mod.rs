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

use self::clocks::Clocks;
use crate::encoding::slot::SLOTS;

pub use context::{Db, Env, Limits, Located, Place, ReadCx, Source, Tally, View, WriteCx, draws, sourced};
pub use effects::{Effect, Effects};
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
    pub seed: u64,
    pub shared: Shared,
    pub garbage: Garbage,
    pub parts: ExpiringParts,
    /// When keys were used, while somebody asks.
    pub clocks: Clocks,
}
