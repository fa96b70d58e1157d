//! The rows of a list.
//!
//! ```text
//! own part of the metadata, behind the flags: head u64
//! key:   db u32 | slot u16 | key length u32 | key | version u64 | index u64
//! value: the element
//! ```
//!
//! The first element has the index `head`, the others follow without a gap; the size tells where they end.

use super::rows::RowKey;
use super::{Cursor, Malformed};

/// Where a list begins: as far from one end of the indexes as from the other.
pub const MIDDLE: u64 = 1 << 63;

/// Bytes of an index.
pub const INDEX_LEN: usize = 8;

/// Appends the sub-key of an index.
#[inline]
pub fn push_index(row: &mut RowKey, index: u64) {
    row.extend_from_slice(&index.to_be_bytes());
}

/// The index of a sub-key.
#[inline]
pub fn read_index(sub: &[u8]) -> Result<u64, Malformed> {
    match <[u8; INDEX_LEN]>::try_from(sub) {
        Ok(index) => Ok(u64::from_be_bytes(index)),
        Err(_) => Err(Malformed("index of a list")),
    }
}

/// The index of the first element, from the type's own part of the metadata.
pub fn read_head(own: &[u8]) -> Result<u64, Malformed> {
    let mut cursor = Cursor(own);
    cursor.u64("head of a list")
}

/// The key of the first element's row and the key behind the last, of a list with this own part and size.
pub fn bounds(prefix: &RowKey, own: &[u8], size: u64) -> Result<(RowKey, RowKey), Malformed> {
    let head = read_head(own)?;
    let mut bounds = (prefix.clone(), prefix.clone());
    push_index(&mut bounds.0, head);
    push_index(&mut bounds.1, head.saturating_add(size));
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rows::collection;

    #[test]
    fn golden_bytes() {
        let mut row = collection(1, 0x1234, b"key", 7);
        push_index(&mut row, MIDDLE - 1);
        assert_eq!(
            row[..],
            *b"\0\0\0\x01\x12\x34\0\0\0\x03key\0\0\0\0\0\0\0\x07\x7f\xff\xff\xff\xff\xff\xff\xff"
        );
        assert_eq!(read_index(&row[21..]), Ok(MIDDLE - 1));
        assert_eq!(read_head(&MIDDLE.to_be_bytes()), Ok(MIDDLE));
    }

    #[test]
    fn what_is_no_index_is_refused() {
        assert!(read_index(b"1234567").is_err() && read_index(b"123456789").is_err());
        assert!(read_head(b"1234567").is_err() && read_head(b"").is_err());
    }
}
