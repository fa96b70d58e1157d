//! What an element does to the registers.

/// Bits of the hash that choose the register; the rest makes the rank.
pub const INDEX_BITS: u32 = 14;
/// Bits that make the rank. The highest one is as if it were set, so a rank is at most one more.
pub const RANK_BITS: u32 = 64 - INDEX_BITS;
/// As Redis seeds it: registers of both must agree.
const SEED: u64 = 0xadc8_3b19;

/// A register, and the rank that an element raises it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub register: usize,
    pub rank: u8,
}

impl Place {
    pub fn of(element: &[u8]) -> Place {
        let hash = murmur64a(element, SEED);
        let register = (hash & ((1 << INDEX_BITS) - 1)) as usize;
        let rest = hash >> INDEX_BITS | 1 << RANK_BITS;
        Place { register, rank: rest.trailing_zeros() as u8 + 1 }
    }
}

/// MurmurHash64A by Austin Appleby (public domain), as it is on little-endian machines.
fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_be_bytes(*word).swap_bytes().wrapping_mul(FACTOR);
        word ^= word >> SHIFT;
        hash = (hash ^ word.wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(FACTOR);
    hash ^ hash >> SHIFT
}
