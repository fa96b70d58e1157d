//! What the rows of hashes, sets, lists and sorted sets have in common.
//!
//! The metadata of each goes on, behind version and size, with a byte of flags and then the type's own part:
//!
//! ```text
//! flags u8 | the type's own part
//! ```
//!
//! Elements that are found by their name (fields of hashes, members of sets and sorted sets) have the key
//!
//! ```text
//! db u32 | slot u16 | key length u32 | key | version u64 | hash64(member) u64 | member
//! ```
//!
//! so that they are in the order of their hashes: an order that no client can choose, that is the same for all
//! collections of a data directory, and in which a cursor is a number.

use super::rows::RowKey;
use super::{Cursor, Malformed};

/// Flag of a collection that was once too big for the compact form of Redis. It never goes back there, nor here.
pub const GROWN: u8 = 1;
/// Flag of a hash that an EXH* command made: TYPE tells it from others.
pub const TAIR: u8 = 2;
const KNOWN_FLAGS: u8 = GROWN | TAIR;

/// Bytes of a hash in front of a member.
pub const HASH_LEN: usize = 8;

/// hash64 of a member under the data directory's seed.
#[inline]
pub fn hash64(seed: u64, member: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(member, seed)
}

/// Appends the sub-key of a member.
#[inline]
pub fn push_member(row: &mut RowKey, hash64: u64, member: &[u8]) {
    row.extend_from_slice(&hash64.to_be_bytes());
    row.extend_from_slice(member);
}

/// Hash and member of a sub-key.
pub fn read_member(sub: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut cursor = Cursor(sub);
    let hash = cursor.u64("hash of a member")?;
    Ok((hash, cursor.0))
}

/// Flags and the type's own part of what follows the header in a collection's metadata.
pub fn read_own(rest: &[u8]) -> Result<(u8, &[u8]), Malformed> {
    let mut cursor = Cursor(rest);
    let flags = cursor.u8("flags of a collection")?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Malformed("flags of a collection"));
    }
    Ok((flags, cursor.0))
}

/// What the metadata of a type whose elements have a time to live of their own knows of those that have one: its own part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expiring {
    /// How many have an expiry, those included whose time has come but which are not removed yet.
    pub parts: u64,
    /// None of them is in the index before this. 0 is never.
    pub earliest_ms: u64,
}

impl Expiring {
    /// Where no element expires there is no own part.
    pub fn encode(&self) -> [u8; 16] {
        (u128::from(self.parts) << 64 | u128::from(self.earliest_ms)).to_be_bytes()
    }

    #[inline]
    pub fn decode(own: &[u8]) -> Result<Expiring, Malformed> {
        if own.is_empty() {
            return Ok(Expiring::default());
        }
        let mut cursor = Cursor(own);
        let parts = cursor.u64("number of expiring parts")?;
        let earliest_ms = cursor.u64("earliest expiry of a part")?;
        Ok(Expiring { parts, earliest_ms })
    }

    /// Whether there may be some whose time has come.
    #[inline]
    pub fn may_be_due(&self, now_ms: u64) -> bool {
        self.earliest_ms != 0 && self.earliest_ms <= now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rows::collection;

    #[test]
    fn golden_bytes() {
        let mut row = collection(1, 0x1234, b"key", 7);
        push_member(&mut row, 0x0102_0304_0506_0708, b"f");
        assert_eq!(
            row[..],
            *b"\0\0\0\x01\x12\x34\0\0\0\x03key\0\0\0\0\0\0\0\x07\x01\x02\x03\x04\x05\x06\x07\x08f"
        );
        assert_eq!(read_member(&row[21..]), Ok((0x0102_0304_0506_0708, &b"f"[..])));
        assert_eq!(hash64(7, b"f"), 2_993_377_503_861_784_204, "never changes");
        assert_ne!(hash64(7, b"f"), hash64(8, b"f"));
    }

    #[test]
    fn own_parts_begin_with_known_flags() {
        assert_eq!(read_own(b"\0"), Ok((0, &b""[..])));
        assert_eq!(read_own(b"\x01abc"), Ok((GROWN, &b"abc"[..])));
        assert_eq!(read_own(b"\x03"), Ok((GROWN | TAIR, &b""[..])));
        assert!(read_own(b"").is_err());
        assert!(read_own(b"\x80").is_err());
        assert!(read_member(b"1234567").is_err());
    }

    #[test]
    fn golden_expiries() {
        let expiring = Expiring { parts: 3, earliest_ms: 0x0102 };
        assert_eq!(expiring.encode(), *b"\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\x01\x02");
        assert_eq!(Expiring::decode(&expiring.encode()), Ok(expiring));
        assert_eq!(Expiring::decode(b""), Ok(Expiring::default()));
        assert!(Expiring::decode(b"\0").is_err() && Expiring::decode(&[0; 15]).is_err());
    }

    #[test]
    fn something_may_be_due_from_the_earliest_time_on() {
        let expiring = Expiring { parts: 1, earliest_ms: 5 };
        assert_eq!([4, 5, 6].map(|now| expiring.may_be_due(now)), [false, true, true]);
        assert!(!Expiring::default().may_be_due(u64::MAX));
    }
}
