//! Hashes of rows: one for the group, which chooses the shard, and one for the whole key.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_micro_inline};

pub use crate::hint::RowHash;
use crate::{Space, SpaceDef};

pub const SHARDS: usize = 256;

impl RowHash {
    #[inline]
    pub fn shard(&self) -> usize {
        shard_of(self.group)
    }
}

/// Names a group: its hash, its space, and the bytes that its keys begin with.
#[derive(Clone, Copy)]
pub struct GroupId<'a> {
    pub hash: u64,
    pub space: u8,
    pub name: &'a [u8],
}

impl<'a> GroupId<'a> {
    /// The group of a row, and the rest of the key.
    #[inline]
    pub fn of_row(space: u8, key: &'a [u8], hash: &RowHash) -> Option<(GroupId<'a>, &'a [u8])> {
        let (name, suffix) = key.split_at_checked(hash.group_len)?;
        Some((GroupId { hash: hash.group, space, name }, suffix))
    }

    #[inline]
    pub fn shard(&self) -> usize {
        shard_of(self.hash)
    }
}

/// The hash for tables of groups within one shard. All groups there have the upper bits of their hashes in common, and hash tables
/// tell entries apart by just these before they look at them.
#[inline]
pub fn within_shard(group_hash: u64) -> u64 {
    group_hash ^ (group_hash << 24)
}

#[inline]
pub fn shard_of(group_hash: u64) -> usize {
    (group_hash >> 56) as usize % SHARDS
}

/// Seeded anew for each opening: nothing on disk depends on it, and clients cannot aim at it.
#[derive(Clone)]
pub struct Hasher {
    secrets: RapidSecrets,
}

impl Hasher {
    pub fn new() -> Hasher {
        Hasher { secrets: RapidSecrets::random() }
    }

    #[inline]
    pub fn group(&self, space: Space, group: &[u8]) -> u64 {
        let hash = rapidhash_v3_micro_inline::<true, false>(group, &self.secrets);
        fold(hash ^ u64::from(space.0), 0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    pub fn group_id<'a>(&self, space: Space, name: &'a [u8]) -> GroupId<'a> {
        GroupId { hash: self.group(space, name), space: space.0, name }
    }

    #[inline]
    pub fn row(&self, def: &SpaceDef, space: Space, key: &[u8]) -> RowHash {
        let (group, suffix) = key.split_at_checked((def.group_len)(key)).unwrap_or((key, &[]));
        let group_hash = self.group(space, group);
        let suffix_hash = rapidhash_v3_micro_inline::<true, false>(suffix, &self.secrets);
        RowHash {
            group: group_hash,
            key: fold(group_hash ^ suffix_hash, 0xd6e8_feb8_6659_fd93),
            group_len: group.len(),
            groups: def.groups,
        }
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Prefetches a cache line.
#[inline(always)]
pub fn prefetch_line<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and cannot fault, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// As [`prefetch_line`] for a row: more often than not it is longer than a cache line, so the next one is prefetched too.
#[inline(always)]
pub fn prefetch_row(bytes: &[u8]) {
    prefetch_line(bytes.as_ptr());
    prefetch_line(bytes.as_ptr().wrapping_add(64));
}
