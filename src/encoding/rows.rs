//! Keys of rows: which bytes lead to a key's metadata, its elements and its expiry.

pub use super::row_key::RowKey;
use super::slot::SLOTS;
use super::{Cursor, Malformed};

const DB_LEN: usize = 4;
const SLOT_LEN: usize = 2;
const HASH48_LEN: usize = 6;
const KEY_LEN_LEN: usize = 4;
const VERSION_LEN: usize = 8;
/// Bytes before the key in a metadata row.
pub const META_HEAD_LEN: usize = DB_LEN + SLOT_LEN + HASH48_LEN;
/// The low 48 bits are used.
pub const HASH48_MAX: u64 = (1 << 48) - 1;

/// hash48 of a key under the data directory's seed.
pub fn hash48(seed: u64, key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(key, seed) >> 16
}

/// `db, slot, hash48, key`
pub fn meta(db: u32, slot: u16, hash48: u64, key: &[u8]) -> RowKey {
    let mut row = meta_position(db, slot, hash48);
    row.extend_from_slice(key);
    row
}

/// The place of a SCAN cursor: before every key of that slot and hash.
pub fn meta_position(db: u32, slot: u16, hash48: u64) -> RowKey {
    let mut row = RowKey::new();
    row.extend_from_slice(&db.to_be_bytes());
    row.extend_from_slice(&slot.to_be_bytes());
    // The top two bytes of a 48-bit number are zero.
    row.extend_from_slice(hash48.to_be_bytes().split_at(2).1);
    row
}

/// First key of a physical database's rows and the key behind the last, in every space whose rows begin with it.
pub fn database(db: u32) -> (RowKey, RowKey) {
    slots(db, 0..SLOTS)
}

/// As [`database`], for some of its slots.
pub fn slots(db: u32, slots: std::ops::Range<u16>) -> (RowKey, RowKey) {
    let at = |slot: u16| {
        let mut row = RowKey::new();
        row.extend_from_slice(&db.to_be_bytes());
        row.extend_from_slice(&slot.to_be_bytes());
        row
    };
    (at(slots.start), at(slots.end))
}

/// Database and slot of a row in those spaces.
pub fn read_place(row: &[u8]) -> Result<(u32, u16), Malformed> {
    let mut cursor = Cursor(row);
    Ok((cursor.u32("db of a row")?, cursor.u16("slot of a row")?))
}

/// A metadata row's key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaRow<'a> {
    pub db: u32,
    pub slot: u16,
    pub hash48: u64,
    pub key: &'a [u8],
}

pub fn read_meta(row: &[u8]) -> Result<MetaRow<'_>, Malformed> {
    let mut cursor = Cursor(row);
    let db = cursor.u32("db of a metadata row")?;
    let slot = cursor.u16("slot of a metadata row")?;
    let [a, b, c, d, e, f] = cursor.array("hash of a metadata row")?;
    Ok(MetaRow { db, slot, hash48: u64::from_be_bytes([0, 0, a, b, c, d, e, f]), key: cursor.0 })
}

/// A metadata row's group is its database and slot.
pub fn meta_group_len(row: &[u8]) -> usize {
    row.len().min(DB_LEN + SLOT_LEN)
}

/// `db, slot, key length, key, version`: what every element row of one collection begins with.
pub fn collection(db: u32, slot: u16, key: &[u8], version: u64) -> RowKey {
    let mut row = RowKey::new();
    row.extend_from_slice(&db.to_be_bytes());
    row.extend_from_slice(&slot.to_be_bytes());
    row.extend_from_slice(&(key.len() as u32).to_be_bytes());
    row.extend_from_slice(key);
    row.extend_from_slice(&version.to_be_bytes());
    row
}

/// The least key behind all that begin with `prefix`, which ends with a version. It has no zeroes at its end: with them
/// keys of another group would lie before it, and the engine would look for these.
pub fn collection_end(prefix: &[u8]) -> RowKey {
    // Versions are given out from 1 on, one by one: not all of their bytes are the greatest.
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX).map_or(0, |last| last + 1);
    let mut end = RowKey::from_slice(prefix.get(..kept).unwrap_or_default());
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// An element row's key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementRow<'a> {
    pub db: u32,
    pub slot: u16,
    pub key: &'a [u8],
    pub version: u64,
    pub sub: &'a [u8],
}

pub fn read_element(row: &[u8]) -> Result<ElementRow<'_>, Malformed> {
    let mut cursor = Cursor(row);
    let db = cursor.u32("db of an element row")?;
    let slot = cursor.u16("slot of an element row")?;
    let len = cursor.u32("key length of an element row")? as usize;
    let (key, rest) = cursor.0.split_at_checked(len).ok_or(Malformed("key of an element row"))?;
    let mut cursor = Cursor(rest);
    let version = cursor.u64("version of an element row")?;
    Ok(ElementRow { db, slot, key, version, sub: cursor.0 })
}

/// A collection's group is everything before the sub-key.
pub fn collection_group_len(row: &[u8]) -> usize {
    let len_at = DB_LEN + SLOT_LEN;
    let Some(len) = row.get(len_at..len_at + KEY_LEN_LEN).and_then(|b| b.first_chunk::<4>()) else {
        return row.len();
    };
    let key_len = u32::from_be_bytes(*len) as usize;
    row.len().min(len_at.saturating_add(KEY_LEN_LEN).saturating_add(key_len).saturating_add(VERSION_LEN))
}

/// The expire space is kept in this many queues, so that no single one is hot.
pub const EXPIRE_BUCKETS: u8 = 64;

/// What an expiry row speaks of. Written to disk; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExpireKind {
    Key = 1,
    /// Elements of a key: fields of a hash.
    Parts = 2,
}

/// `bucket, at_ms, kind, db, slot, key`
pub fn expire(at_ms: u64, kind: ExpireKind, db: u32, slot: u16, key: &[u8]) -> RowKey {
    let mut row = expire_position(expire_bucket(slot), at_ms);
    row.push(kind as u8);
    row.extend_from_slice(&db.to_be_bytes());
    row.extend_from_slice(&slot.to_be_bytes());
    row.extend_from_slice(key);
    row
}

/// Before everything of that bucket that is due at `at_ms` or later.
pub fn expire_position(bucket: u8, at_ms: u64) -> RowKey {
    let mut row = RowKey::new();
    row.push(bucket);
    row.extend_from_slice(&at_ms.to_be_bytes());
    row
}

/// Behind everything of that bucket.
pub fn expire_end(bucket: u8) -> RowKey {
    RowKey::from_slice(&[bucket.saturating_add(1)])
}

pub fn expire_bucket(slot: u16) -> u8 {
    (slot >> 8) as u8
}

pub fn expire_group_len(row: &[u8]) -> usize {
    row.len().min(1)
}

/// An expiry row's key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpireRow<'a> {
    pub at_ms: u64,
    pub kind: ExpireKind,
    pub db: u32,
    pub slot: u16,
    pub key: &'a [u8],
}

pub fn read_expire(row: &[u8]) -> Result<ExpireRow<'_>, Malformed> {
    let mut cursor = Cursor(row);
    cursor.u8("bucket of an expiry row")?;
    let at_ms = cursor.u64("time of an expiry row")?;
    let kind = match cursor.u8("kind of an expiry row")? {
        1 => ExpireKind::Key,
        2 => ExpireKind::Parts,
        _ => return Err(Malformed("kind of an expiry row")),
    };
    let db = cursor.u32("db of an expiry row")?;
    let slot = cursor.u16("slot of an expiry row")?;
    Ok(ExpireRow { at_ms, kind, db, slot, key: cursor.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        assert_eq!(
            meta(1, 0x1234, 0x0102_0304_0506, b"k")[..],
            *b"\0\0\0\x01\x12\x34\x01\x02\x03\x04\x05\x06k"
        );
        assert_eq!(
            collection(1, 0x1234, b"key", 7)[..],
            *b"\0\0\0\x01\x12\x34\0\0\0\x03key\0\0\0\0\0\0\0\x07"
        );
        assert_eq!(
            expire(0x0102, ExpireKind::Key, 1, 0x1234, b"k")[..],
            *b"\x12\0\0\0\0\0\0\x01\x02\x01\0\0\0\x01\x12\x34k"
        );
    }

    #[test]
    fn the_rows_of_a_database_are_a_range() {
        for db in [0, 7, u32::MAX] {
            let (start, end) = database(db);
            let rows = [
                meta(db, 0, 0, b""),
                meta(db, SLOTS - 1, HASH48_MAX, b"\xff"),
                collection(db, 0, b"", 0),
                collection(db, SLOTS - 1, b"\xff", u64::MAX),
            ];
            assert!(rows.iter().all(|row| *row >= start && *row < end));
        }
        assert_eq!(read_place(&collection(7, 3, b"k", 1)), Ok((7, 3)));
        assert!(read_place(b"short").is_err());
        assert!(meta(7, SLOTS - 1, HASH48_MAX, b"") < database(8).0);
        assert!(meta(7, 0, 0, b"") >= database(6).1);
    }

    #[test]
    fn a_collection_ends_where_the_next_version_begins() {
        for version in [1, 0xff, u64::from(u32::MAX), u64::MAX - 1] {
            let prefix = collection(1, 2, b"key", version);
            let next = collection(1, 2, b"key", version + 1);
            let end = collection_end(&prefix);
            assert!(next.starts_with(&end) && next[end.len()..].iter().all(|byte| *byte == 0));
            assert_ne!(end.last(), Some(&0), "version {version}");
        }
    }

    #[test]
    fn rows_read_back() {
        let row = meta(9, 16383, HASH48_MAX, b"\0\xff");
        assert_eq!(read_meta(&row), Ok(MetaRow { db: 9, slot: 16383, hash48: HASH48_MAX, key: b"\0\xff" }));
        let mut row = collection(9, 3, b"", 1);
        row.extend_from_slice(b"sub");
        assert_eq!(read_element(&row), Ok(ElementRow { db: 9, slot: 3, key: b"", version: 1, sub: b"sub" }));
        assert_eq!(collection_group_len(&row), row.len() - 3);
        let row = expire(5, ExpireKind::Parts, 2, 700, b"h");
        let read = read_expire(&row);
        assert_eq!(read, Ok(ExpireRow { at_ms: 5, kind: ExpireKind::Parts, db: 2, slot: 700, key: b"h" }));
    }

    #[test]
    fn short_rows_are_malformed() {
        let row = collection(1, 2, b"key", 3);
        for len in 0..row.len() {
            assert!(read_element(&row[..len]).is_err(), "{len}");
        }
        assert!(read_expire(b"\0\0\0\0\0\0\0\0\x01\x09\0\0\0\0\0\0").is_err());
    }
}
