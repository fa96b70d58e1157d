//! Rows of a string that is too long for its metadata row.
//!
//! The metadata's size is the length in bytes; the value is cut into pieces of [`PIECE_LEN`]:
//!
//! ```text
//! key:   db u32 | slot u16 | key length u32 | key | version u64 | piece number u32
//! value: the piece's bytes
//! ```
//!
//! A piece that has no row, and what a short row leaves out of its piece, are zeros.

use super::Malformed;
use super::rows::RowKey;

/// Longest string that lives in its metadata row, bytes.
pub const INLINE_MAX: usize = 4096;
/// Bytes of a piece. No longer than [`INLINE_MAX`], so that changing one byte of a long string costs no more than
/// changing one of a short one.
pub const PIECE_LEN: usize = 4096;

/// The row of a piece; `collection` is what every row of this version begins with.
pub fn piece(collection: &RowKey, number: u32) -> RowKey {
    let mut row = collection.clone();
    row.extend_from_slice(&number.to_be_bytes());
    row
}

/// Which piece a row holds.
pub fn piece_number(row: &[u8]) -> Result<u32, Malformed> {
    row.last_chunk().map(|number| u32::from_be_bytes(*number)).ok_or(Malformed("number of a piece"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rows::collection;

    #[test]
    fn golden_bytes() {
        let row = piece(&collection(1, 0x1234, b"key", 7), 0x0102);
        assert_eq!(row[..], *b"\0\0\0\x01\x12\x34\0\0\0\x03key\0\0\0\0\0\0\0\x07\0\0\x01\x02");
        assert_eq!(piece_number(&row), Ok(0x0102));
        assert_eq!((INLINE_MAX, PIECE_LEN), (4096, 4096));
        assert!(piece_number(b"abc").is_err());
    }
}
