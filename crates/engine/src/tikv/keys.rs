//! Keys as the cluster has them: prefix, space, row. And how long they may be.

use crate::{Error, Result, Space};

/// What TiKV takes of a key, in its own encoding.
pub const MAX_ENCODED_KEY_BYTES: usize = 8 * 1024;
/// Of a row's value: the log of a region takes entries of 8 MiB, and there is more in one than the value.
pub const MAX_VALUE_BYTES: usize = 6 << 20;
/// Of a transaction: larger ones take so long that others would break their locks.
pub const MAX_TRANSACTION_ROWS: usize = 50_000;
pub const MAX_TRANSACTION_BYTES: usize = 64 << 20;
/// What may be said before the rows of one database of many on a cluster.
pub const MAX_PREFIX_BYTES: usize = 64;

/// TiKV writes keys in groups of eight bytes, each with a byte behind it.
pub(super) fn encoded_len(raw_len: usize) -> usize {
    (raw_len / 8 + 1) * 9
}

pub(super) struct Keys {
    prefix: Vec<u8>,
}

impl Keys {
    /// Prefixes are made of characters that are greater than every space, so that none reaches into another.
    pub(super) fn new(prefix: &str) -> Result<Keys> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
        if prefix.is_empty() || prefix.len() > MAX_PREFIX_BYTES || !prefix.bytes().all(is_plain) {
            return Err(Error::Unavailable(format!(
                "the prefix '{prefix}' must have 1 to {MAX_PREFIX_BYTES} letters, digits or -_.:/"
            )));
        }
        Ok(Keys { prefix: prefix.as_bytes().to_vec() })
    }

    /// The key of a row, which may be written.
    pub(super) fn row(&self, space: Space, row: &[u8]) -> Result<Vec<u8>> {
        let key = self.bound(space, row);
        let encoded = encoded_len(key.len());
        if encoded > MAX_ENCODED_KEY_BYTES {
            return Err(Error::TooLarge(format!(
                "the key takes {encoded} bytes in TiKV, which takes {MAX_ENCODED_KEY_BYTES}"
            )));
        }
        Ok(key)
    }

    /// The same for an end of a range.
    pub(super) fn bound(&self, space: Space, row: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + 1 + row.len());
        key.extend_from_slice(&self.prefix);
        key.push(space.0);
        key.extend_from_slice(row);
        key
    }

    /// The row of a key.
    pub(super) fn strip<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        key.get(self.prefix.len() + 1..).unwrap_or_default()
    }

    /// The space of a key.
    pub(super) fn space(&self, key: &[u8]) -> Option<Space> {
        key.get(self.prefix.len()).map(|space| Space(*space))
    }

    /// The longest row.
    #[cfg(test)]
    pub(super) fn max_row_len(&self) -> usize {
        let groups = MAX_ENCODED_KEY_BYTES / 9;
        groups * 8 - 1 - self.prefix.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_key_is_taken_and_one_longer_is_not() {
        let keys = Keys::new("tarn").unwrap();
        let longest = vec![b'k'; keys.max_row_len()];
        let key = keys.row(Space(3), &longest).unwrap();
        assert!(encoded_len(key.len()) <= MAX_ENCODED_KEY_BYTES);
        assert_eq!(keys.strip(&key), longest);
        let refused = keys.row(Space(3), &[&*longest, b"k"].concat());
        assert!(matches!(&refused, Err(Error::TooLarge(why)) if why.contains("takes 8192")), "{refused:?}");
    }

    #[test]
    fn prefixes_are_plain() {
        for good in ["a", "tarn", "a/b:c-d_e.9", &"x".repeat(MAX_PREFIX_BYTES)] {
            assert!(Keys::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a\0", "ä", &"x".repeat(MAX_PREFIX_BYTES + 1)] {
            assert!(Keys::new(bad).is_err(), "{bad}");
        }
    }
}
