//! The row of a hash's field.
//!
//! ```text
//! key:   db u32 | slot u16 | key length u32 | key | version u64 | hash64(field) u64 | field
//! value: flags u8 | [expire_at_ms u64 if EXPIRES] | [version u64 if VERSIONED] | the field's value
//! ```

use super::{Cursor, Malformed};

const EXPIRES: u8 = 1;
const VERSIONED: u8 = 2;
const KNOWN_FLAGS: u8 = EXPIRES | VERSIONED;

/// What most fields begin with: no expiry, no version of their own.
pub const PLAIN: &[u8] = &[0];

/// Longest head: flags, expiry, version.
pub const MAX_HEAD_LEN: usize = 1 + 8 + 8;

/// What a field row says besides the value. Zero is "none" for both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    pub expire_at_ms: u64,
    pub version: u64,
}

impl Head {
    pub fn encode(&self) -> smallvec::SmallVec<[u8; MAX_HEAD_LEN]> {
        let mut out = smallvec::SmallVec::new();
        let flag = |number: u64, flag: u8| if number == 0 { 0 } else { flag };
        out.push(flag(self.expire_at_ms, EXPIRES) | flag(self.version, VERSIONED));
        for number in [self.expire_at_ms, self.version].into_iter().filter(|number| *number != 0) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out
    }

    /// The head and how many bytes it took; the value follows.
    #[inline]
    pub fn decode(row: &[u8]) -> Result<(Head, usize), Malformed> {
        if row.first() == Some(&0) {
            return Ok((Head::default(), 1));
        }
        let mut cursor = Cursor(row);
        let flags = cursor.u8("flags of a field")?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Malformed("flags of a field"));
        }
        let expire_at_ms = if flags & EXPIRES != 0 { cursor.u64("expiry of a field")? } else { 0 };
        let version = if flags & VERSIONED != 0 { cursor.u64("version of a field")? } else { 0 };
        Ok((Head { expire_at_ms, version }, row.len() - cursor.0.len()))
    }
}

/// The value of a field row without its head.
#[inline]
pub fn value(row: &[u8]) -> Result<&[u8], Malformed> {
    let (_, len) = Head::decode(row)?;
    row.get(len..).ok_or(Malformed("value of a field"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let heads: [(Head, &[u8]); 4] = [
            (Head::default(), b"\0"),
            (Head { expire_at_ms: 0x0102, version: 0 }, b"\x01\0\0\0\0\0\0\x01\x02"),
            (Head { expire_at_ms: 0, version: 9 }, b"\x02\0\0\0\0\0\0\0\x09"),
            (Head { expire_at_ms: 0x0102, version: 9 }, b"\x03\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x09"),
        ];
        for (head, bytes) in heads {
            assert_eq!(head.encode()[..], *bytes);
            let row = [bytes, b"value"].concat();
            assert_eq!(Head::decode(&row), Ok((head, bytes.len())));
            assert_eq!(value(&row), Ok(&b"value"[..]));
            assert_eq!(value(bytes), Ok(&b""[..]));
        }
        assert_eq!(heads[0].0.encode()[..], *PLAIN);
        assert_eq!(heads[3].1.len(), MAX_HEAD_LEN);
    }

    #[test]
    fn what_is_not_a_field_is_refused() {
        for bad in [&b""[..], b"\x04x", b"\x01\0\0", b"\x03\0\0\0\0\0\0\0\x01\0"] {
            assert!(Head::decode(bad).is_err() && value(bad).is_err(), "{bad:?}");
        }
    }
}
