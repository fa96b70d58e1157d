//! The rows of a hash.
//!
//! ```text
//! own part of the metadata, behind the flags, if fields expire ([`super::collection::Expiring`]): fields u64 | earliest_ms u64
//!
//! a field, in `data`:
//! key:   db u32 | slot u16 | key length u32 | key | version u64 | hash64(field) u64 | field
//! value: flags u8 | [expire_at_ms u64 if EXPIRES] | [indexed_ms u64 if AHEAD] | [version u64 if VERSIONED] | the field's value
//!
//! its place among those that expire, in `field-expire`, if it has an expiry:
//! key:   db u32 | slot u16 | key length u32 | key | version u64 | indexed_ms u64 | field
//! value: empty
//! ```
//!
//! A field without a version in its row has the version 1: that of a field that was set once. Without an indexed_ms it
//! is the expiry itself; it is earlier where the expiry was put off, which moves nothing until that time has come.

use super::rows::{RowKey, collection_end};
use super::{Cursor, Malformed};

const EXPIRES: u8 = 1;
const VERSIONED: u8 = 2;
const AHEAD: u8 = 4;
const KNOWN_FLAGS: u8 = EXPIRES | VERSIONED | AHEAD;

/// Longest head: flags, expiry, place in the index, version.
pub const MAX_HEAD_LEN: usize = 1 + 8 + 8 + 8;

/// The greatest version of a field: clients read it as a signed number.
pub const MAX_VERSION: u64 = i64::MAX as u64;

/// What a field row says besides the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// 0 is never.
    pub expire_at_ms: u64,
    /// Where the index has the field: at its expiry or before. 0 if it does not expire.
    pub indexed_ms: u64,
    pub version: u64,
}

/// An encoded head on the stack.
#[derive(Debug, Clone, Copy)]
pub struct HeadBytes {
    bytes: [u8; MAX_HEAD_LEN],
    len: usize,
}

impl HeadBytes {
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    fn push(&mut self, number: u64) {
        // MAX_HEAD_LEN is the sum of all parts.
        if let Some(room) = self.bytes.get_mut(self.len..self.len + 8) {
            room.copy_from_slice(&number.to_be_bytes());
            self.len += 8;
        }
    }
}

impl Head {
    /// What most fields begin with: no expiry, set once.
    pub const PLAIN: Head = Head { expire_at_ms: 0, indexed_ms: 0, version: 1 };

    #[inline]
    pub fn encode(&self) -> HeadBytes {
        let mut out = HeadBytes { bytes: [0; MAX_HEAD_LEN], len: 1 };
        if *self == Head::PLAIN {
            return out;
        }
        let mut flags = 0;
        if self.expire_at_ms != 0 {
            flags |= EXPIRES;
            out.push(self.expire_at_ms);
        }
        if self.indexed_ms != self.expire_at_ms {
            flags |= AHEAD;
            out.push(self.indexed_ms);
        }
        if self.version != 1 {
            flags |= VERSIONED;
            out.push(self.version);
        }
        if let Some(first) = out.bytes.first_mut() {
            *first = flags;
        }
        out
    }

    /// The head and how many bytes it took; the value follows.
    #[inline]
    pub fn decode(row: &[u8]) -> Result<(Head, usize), Malformed> {
        if row.first() == Some(&0) {
            return Ok((Head::PLAIN, 1));
        }
        let mut cursor = Cursor(row);
        let flags = cursor.u8("flags of a field")?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Malformed("flags of a field"));
        }
        let expire_at_ms = if flags & EXPIRES != 0 { cursor.u64("expiry of a field")? } else { 0 };
        let indexed_ms =
            if flags & AHEAD != 0 { cursor.u64("place of a field in the index")? } else { expire_at_ms };
        let version = if flags & VERSIONED != 0 { cursor.u64("version of a field")? } else { 1 };
        Ok((Head { expire_at_ms, indexed_ms, version }, row.len() - cursor.0.len()))
    }

    #[inline]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expire_at_ms != 0 && self.expire_at_ms <= now_ms
    }
}

/// Head and value of a field row.
#[inline]
pub fn read_field(row: &[u8]) -> Result<(Head, &[u8]), Malformed> {
    let (head, len) = Head::decode(row)?;
    Ok((head, row.get(len..).ok_or(Malformed("value of a field"))?))
}

/// The row of a field's expiry; `prefix` is what every row of the hash begins with.
pub fn due(prefix: &[u8], at_ms: u64, field: &[u8]) -> RowKey {
    let mut row = due_position(prefix, at_ms);
    row.extend_from_slice(field);
    row
}

/// Before everything of the hash that is due at `at_ms` or later.
pub fn due_position(prefix: &[u8], at_ms: u64) -> RowKey {
    let mut row = RowKey::from_slice(prefix);
    row.extend_from_slice(&at_ms.to_be_bytes());
    row
}

/// Behind every expiry of the hash.
pub fn due_end(prefix: &[u8]) -> RowKey {
    collection_end(prefix)
}

/// Time and field of an expiry row, from what follows the prefix.
pub fn read_due(sub: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut cursor = Cursor(sub);
    let at_ms = cursor.u64("time of a field's expiry")?;
    Ok((at_ms, cursor.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rows::collection;

    #[test]
    fn golden_bytes() {
        let head = |expire_at_ms, indexed_ms, version| Head { expire_at_ms, indexed_ms, version };
        let heads: [(Head, &[u8]); 6] = [
            (Head::PLAIN, b"\0"),
            (head(0x0102, 0x0102, 1), b"\x01\0\0\0\0\0\0\x01\x02"),
            (head(0, 0, 9), b"\x02\0\0\0\0\0\0\0\x09"),
            (head(0, 0, 0), b"\x02\0\0\0\0\0\0\0\0"),
            (head(0x0102, 0x0102, 9), b"\x03\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x09"),
            (head(0x0102, 0x0101, 9), b"\x07\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0\x09"),
        ];
        for (head, bytes) in heads {
            assert_eq!(head.encode().as_slice(), bytes);
            let row = [bytes, b"value"].concat();
            assert_eq!(Head::decode(&row), Ok((head, bytes.len())));
            assert_eq!(read_field(&row), Ok((head, &b"value"[..])));
            assert_eq!(read_field(bytes), Ok((head, &b""[..])));
        }
        assert_eq!(heads[5].1.len(), MAX_HEAD_LEN);
    }

    #[test]
    fn what_is_not_a_field_is_refused() {
        for bad in [&b""[..], b"\x08x", b"\x01\0\0", b"\x03\0\0\0\0\0\0\0\x01\0"] {
            assert!(Head::decode(bad).is_err() && read_field(bad).is_err(), "{bad:?}");
        }
        assert!(read_due(&[0; 7]).is_err());
    }

    #[test]
    fn golden_expiries() {
        let prefix = collection(1, 0x1234, b"key", 7);
        let row = due(&prefix, 0x0102, b"f");
        assert_eq!(row[..], *b"\0\0\0\x01\x12\x34\0\0\0\x03key\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x01\x02f");
        assert_eq!(read_due(&row[prefix.len()..]), Ok((0x0102, &b"f"[..])));
        assert!(due_position(&prefix, 0x0102) < row && row < due_position(&prefix, 0x0103));
        assert!(due(&prefix, u64::MAX, b"\xff") < due_end(&prefix));
    }

    #[test]
    fn a_field_is_expired_from_its_time_on() {
        let head = Head { expire_at_ms: 5, indexed_ms: 5, version: 1 };
        assert_eq!([4, 5, 6].map(|now| head.is_expired(now)), [false, true, true]);
        assert!(!Head::PLAIN.is_expired(u64::MAX));
    }
}
