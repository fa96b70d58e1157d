//! The value of a metadata row: type, expiry and either a small string itself or what is known of a bigger thing.
//!
//! ```text
//! kind u8 | flags u8 | [expire_at_ms u64 if EXPIRES] | body
//! body of an inline string: its bytes
//! body of everything else:  version u64 | size u64 | the type's own part
//! ```

use super::{Cursor, Malformed};

/// The type of a key. Written to disk; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    String = 1,
    Hash = 2,
    Set = 3,
    List = 4,
    SortedSet = 5,
    Stream = 6,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::String, Kind::Hash, Kind::Set, Kind::List, Kind::SortedSet, Kind::Stream];

    fn from_disk(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::String,
            2 => Kind::Hash,
            3 => Kind::Set,
            4 => Kind::List,
            5 => Kind::SortedSet,
            6 => Kind::Stream,
            _ => return None,
        })
    }
}

const EXPIRES: u8 = 1;
const INLINE: u8 = 2;
const KNOWN_FLAGS: u8 = EXPIRES | INLINE;

/// Longest header: kind, flags, expiry, version, size.
pub const MAX_HEADER_LEN: usize = 2 + 8 + 8 + 8;

/// A row's header. `expire_at_ms` 0 is "never".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    pub expire_at_ms: u64,
    pub body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// A small string: the rest of the row is its value.
    Inline,
    /// Elements live in rows of this version; `size` counts them (bytes for a long string).
    Rows { version: u64, size: u64 },
}

/// Encoded header on the stack.
#[derive(Debug, Clone, Copy)]
pub struct HeaderBytes {
    bytes: [u8; MAX_HEADER_LEN],
    len: usize,
}

impl HeaderBytes {
    fn push(&mut self, part: &[u8]) {
        // MAX_HEADER_LEN is the sum of all parts.
        if let Some(room) = self.bytes.get_mut(self.len..self.len + part.len()) {
            room.copy_from_slice(part);
            self.len += part.len();
        }
    }

    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

impl Header {
    /// Whether the key's own time has come.
    #[inline]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expire_at_ms != 0 && self.expire_at_ms <= now_ms
    }

    pub fn encode(&self) -> HeaderBytes {
        let mut out = HeaderBytes { bytes: [0; MAX_HEADER_LEN], len: 0 };
        let inline = if self.body == Body::Inline { INLINE } else { 0 };
        let expires = if self.expire_at_ms == 0 { 0 } else { EXPIRES };
        out.push(&[self.kind as u8, inline | expires]);
        if self.expire_at_ms != 0 {
            out.push(&self.expire_at_ms.to_be_bytes());
        }
        if let Body::Rows { version, size } = self.body {
            out.push(&version.to_be_bytes());
            out.push(&size.to_be_bytes());
        }
        out
    }

    /// The header and how many bytes it took; what follows is the inline value or the type's own part.
    pub fn decode(row: &[u8]) -> Result<(Header, usize), Malformed> {
        let mut cursor = Cursor(row);
        let kind = Kind::from_disk(cursor.u8("type of a key")?).ok_or(Malformed("type of a key"))?;
        let flags = cursor.u8("flags of a key")?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Malformed("flags of a key"));
        }
        let expire_at_ms = if flags & EXPIRES != 0 { cursor.u64("expiry of a key")? } else { 0 };
        let body = if flags & INLINE != 0 {
            Body::Inline
        } else {
            Body::Rows { version: cursor.u64("version of a key")?, size: cursor.u64("size of a key")? }
        };
        Ok((Header { kind, expire_at_ms, body }, row.len() - cursor.0.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let inline = Header { kind: Kind::String, expire_at_ms: 0, body: Body::Inline };
        assert_eq!(inline.encode().as_slice(), b"\x01\x02");
        let expiring = Header { kind: Kind::String, expire_at_ms: 0x0102, body: Body::Inline };
        assert_eq!(expiring.encode().as_slice(), b"\x01\x03\0\0\0\0\0\0\x01\x02");
        let rows = Header { kind: Kind::Hash, expire_at_ms: 0, body: Body::Rows { version: 7, size: 2 } };
        assert_eq!(rows.encode().as_slice(), b"\x02\x00\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x02");
        let all = Header { kind: Kind::List, expire_at_ms: 1, body: Body::Rows { version: 7, size: 2 } };
        assert_eq!(all.encode().as_slice().len(), MAX_HEADER_LEN);
        for header in [inline, expiring, rows, all] {
            let bytes = header.encode();
            assert_eq!(Header::decode(bytes.as_slice()), Ok((header, bytes.as_slice().len())));
        }
    }

    #[test]
    fn what_is_not_a_header_is_refused() {
        assert!(Header::decode(b"").is_err());
        assert!(Header::decode(b"\x09\x02").is_err());
        assert!(Header::decode(b"\x01\x82").is_err());
        assert!(Header::decode(b"\x01\x01\0\0").is_err());
    }
}
