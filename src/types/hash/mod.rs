//! What a hash is: fields with values, each in a row of its own, with a version and perhaps an expiry.
//!
//! One stored type serves two vocabularies: H* and EXH*. Reading hides fields whose time has come ([`read`]); writing
//! goes through [`struct@Hash`], which keeps the index of expiries and the numbers in the metadata in step with the rows.
//!
//! Invariants: a field has a row in `field-expire` exactly if its own row has an expiry, at that time; the metadata
//! counts these rows, and none of them is due before the time it names.

mod due;
mod dump;
mod expire;
mod pick;
mod read;
mod version;
mod write;

#[cfg(test)]
mod tests;

use crate::encoding::meta::Kind;

pub use due::{PARTS, PER_WRITE};
pub use dump::DUMP;
pub use expire::{Condition, Expiry, MAX_EXPIRE_MS, persist, set_expiry, set_expiry_checked};
pub use pick::{Pick, pick};
pub use read::{Field, Visit, each, field, find, get, get_each, len, page, value};
pub use version::Check;
pub use write::{
    Hash, Maker, Old, Text, Ttl, delete, increment, increment_float, read_float, set, set_new, spelt, update,
};

pub const KIND: Kind = Kind::Hash;
