//! Rows that describe the database itself. The first byte of the key says which.

use smallvec::SmallVec;
use tarn_engine::Space;

use super::{Cursor, Malformed};

pub type SystemKey = SmallVec<[u8; 16]>;

/// Leading bytes of system keys. Written to disk; never reused.
mod tag {
    pub const FORMAT: u8 = b'f';
    pub const HASH_SEED: u8 = b'h';
    pub const VERSION_LIMIT: u8 = b'v';
    pub const DATABASE: u8 = b'd';
    pub const NEXT_PHYSICAL: u8 = b'n';
    pub const KEY_COUNT: u8 = b'k';
    pub const DROPPED: u8 = b'x';
    pub const CLOCK: u8 = b't';
    pub const FIELD_INDEX: u8 = b'i';
    pub const DEAD_ROWS: u8 = b'g';
    pub const LIBRARY: u8 = b'l';
    pub const OWNER: u8 = b'o';
    pub const GARBAGE: u8 = b'q';
}

/// What the rows of this build look like. A directory with a larger number is refused.
pub const FORMAT_VERSION: u64 = 1;

fn one(tag: u8) -> SystemKey {
    SystemKey::from_slice(&[tag])
}

/// -> the version of the rows' layout, u64.
pub fn format() -> SystemKey {
    one(tag::FORMAT)
}

/// -> the seed of hash48 and hash64, u64.
pub fn hash_seed() -> SystemKey {
    one(tag::HASH_SEED)
}

/// -> no version at or above this was ever given out, u64.
pub fn version_limit() -> SystemKey {
    one(tag::VERSION_LIMIT)
}

/// -> the next physical database number that was never used, u64.
pub fn next_physical() -> SystemKey {
    one(tag::NEXT_PHYSICAL)
}

/// -> the latest time that expiry was judged by, ms, u64.
pub fn clock() -> SystemKey {
    one(tag::CLOCK)
}

/// -> what the expire space has of hashes with fields that expire, u64: [`FieldIndex`].
pub fn field_index() -> SystemKey {
    one(tag::FIELD_INDEX)
}

/// How far the expire space knows the hashes with fields that expire. Written to disk; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldIndex {
    /// It has all of them. There is no such row.
    Whole = 0,
    /// It has some of them.
    Part = 1,
    /// It has none.
    None = 2,
}

impl FieldIndex {
    pub fn of(row: Option<u64>) -> FieldIndex {
        match row {
            None => FieldIndex::Whole,
            Some(2) => FieldIndex::None,
            Some(_) => FieldIndex::Part,
        }
    }
}

/// -> which process serves the data: [`Owner`]. Only where several could.
pub fn owner() -> SystemKey {
    one(tag::OWNER)
}

/// A process that serves the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// By the cluster's clock.
    pub until_ms: u64,
    pub node: Box<[u8]>,
}

impl Owner {
    /// The time, u64, then the name.
    pub fn encode(&self) -> Vec<u8> {
        [&self.until_ms.to_be_bytes(), &*self.node].concat()
    }

    pub fn decode(value: &[u8]) -> Result<Owner, Malformed> {
        let mut cursor = Cursor(value);
        Ok(Owner { until_ms: cursor.u64("time of an owner")?, node: cursor.0.into() })
    }
}

/// A version of a key that may be garbage, where no compaction finds it: to be looked at.
pub fn garbage(version: u64, db: u32, slot: u16, key: &[u8]) -> SystemKey {
    let mut row = one(tag::GARBAGE);
    row.extend_from_slice(&version.to_be_bytes());
    row.extend_from_slice(&db.to_be_bytes());
    row.extend_from_slice(&slot.to_be_bytes());
    row.extend_from_slice(key);
    row
}

/// Version, database, slot and key.
pub fn read_garbage(row: &[u8]) -> Result<(u64, u32, u16, &[u8]), Malformed> {
    let mut cursor = Cursor(row);
    cursor.u8("tag of garbage")?;
    let version = cursor.u64("version of garbage")?;
    let db = cursor.u32("db of garbage")?;
    let slot = cursor.u16("slot of garbage")?;
    Ok((version, db, slot, cursor.0))
}

/// The name of a library of functions -> its code.
pub fn library(name: &str) -> SystemKey {
    let mut key = one(tag::LIBRARY);
    key.extend_from_slice(name.as_bytes());
    key
}

/// First and past-the-last key of the rows of libraries.
pub fn all_libraries() -> (SystemKey, SystemKey) {
    (one(tag::LIBRARY), one(tag::LIBRARY + 1))
}

/// Logical database -> its physical number, u64.
pub fn database(logical: u16) -> SystemKey {
    let mut key = one(tag::DATABASE);
    key.extend_from_slice(&logical.to_be_bytes());
    key
}

/// First and past-the-last key of the rows that map databases.
pub fn all_databases() -> (SystemKey, SystemKey) {
    (one(tag::DATABASE), one(tag::DATABASE + 1))
}

/// The logical number of a row that maps one.
pub fn read_database(row: &[u8]) -> Result<u16, Malformed> {
    let mut cursor = Cursor(row);
    cursor.u8("tag of a database")?;
    cursor.u16("number of a database")
}

/// The physical number that a row maps one to.
pub fn read_physical(value: &[u8]) -> Result<u32, Malformed> {
    u32::try_from(read_u64(value)?).map_err(|_| Malformed("physical number of a database"))
}

/// Keys of a physical database in one stripe: [`Counts`].
pub fn key_count(db: u32, stripe: u16) -> SystemKey {
    let mut key = one(tag::KEY_COUNT);
    key.extend_from_slice(&db.to_be_bytes());
    key.extend_from_slice(&stripe.to_be_bytes());
    key
}

/// How many keys there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub keys: u64,
    /// Those of them that have a time to live.
    pub expiring: u64,
}

impl Counts {
    /// Both as u64, keys first.
    pub fn encode(self) -> [u8; 16] {
        (u128::from(self.keys) << 64 | u128::from(self.expiring)).to_be_bytes()
    }

    pub fn decode(value: &[u8]) -> Result<Counts, Malformed> {
        let mut cursor = Cursor(value);
        Ok(Counts { keys: cursor.u64("counter of keys")?, expiring: cursor.u64("counter of expiring keys")? })
    }
}

/// First and past-the-last key of a physical database's counters.
pub fn key_counts(db: u32) -> (SystemKey, SystemKey) {
    (key_count(db, 0), key_count(db, u16::MAX))
}

/// The stripe of a counter row.
pub fn read_key_count(row: &[u8]) -> Result<u16, Malformed> {
    let mut cursor = Cursor(row);
    cursor.u8("tag of a counter row")?;
    cursor.u32("db of a counter row")?;
    cursor.u16("stripe of a counter row")
}

/// A physical number whose rows wait for removal.
pub fn dropped(db: u32) -> SystemKey {
    let mut key = one(tag::DROPPED);
    key.extend_from_slice(&db.to_be_bytes());
    key
}

/// First and past-the-last key of the rows that name dropped databases.
pub fn all_dropped() -> (SystemKey, SystemKey) {
    (one(tag::DROPPED), one(tag::DROPPED + 1))
}

pub fn read_dropped(row: &[u8]) -> Result<u32, Malformed> {
    let mut cursor = Cursor(row);
    cursor.u8("tag of a dropped database")?;
    cursor.u32("number of a dropped database")
}

/// Rows of dead collections of a physical database in one space -> their number in each stripe, u32 each.
pub fn dead_rows(db: u32, space: Space) -> SystemKey {
    let mut key = one(tag::DEAD_ROWS);
    key.extend_from_slice(&db.to_be_bytes());
    key.push(space.0);
    key
}

/// First and past-the-last key of the rows that count dead rows.
pub fn all_dead_rows() -> (SystemKey, SystemKey) {
    (one(tag::DEAD_ROWS), one(tag::DEAD_ROWS + 1))
}

pub fn read_dead_rows(row: &[u8]) -> Result<(u32, Space), Malformed> {
    let mut cursor = Cursor(row);
    cursor.u8("tag of a count of dead rows")?;
    Ok((cursor.u32("db of a count of dead rows")?, Space(cursor.u8("space of a count of dead rows")?)))
}

pub fn encode_dead_rows(stripes: &[u64]) -> Vec<u8> {
    stripes.iter().flat_map(|rows| u32::try_from(*rows).unwrap_or(u32::MAX).to_be_bytes()).collect()
}

pub fn decode_dead_rows(value: &[u8]) -> impl Iterator<Item = u64> + '_ {
    value.as_chunks().0.iter().map(|rows| u64::from(u32::from_be_bytes(*rows)))
}

pub fn read_u64(value: &[u8]) -> Result<u64, Malformed> {
    Cursor(value).u64("number of a system row")
}

/// Counters of one database are scanned together; every other row stands alone.
pub fn group_len(row: &[u8]) -> usize {
    match row.first() {
        Some(&tag::KEY_COUNT) => row.len().min(5),
        Some(&(tag::DROPPED | tag::DATABASE | tag::DEAD_ROWS | tag::GARBAGE)) => 1,
        _ => row.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        assert_eq!(key_count(2, 255)[..], *b"k\0\0\0\x02\0\xff");
        assert_eq!(database(15)[..], *b"d\0\x0f");
        assert_eq!(dropped(3)[..], *b"x\0\0\0\x03");
        assert_eq!(read_key_count(&key_count(2, 255)), Ok(255));
        let counts = Counts { keys: 258, expiring: 3 };
        assert_eq!(counts.encode(), *b"\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03");
        assert_eq!(Counts::decode(&counts.encode()), Ok(counts));
        assert!(Counts::decode(&[0; 15]).is_err());
        assert_eq!(dead_rows(2, Space(1))[..], *b"g\0\0\0\x02\x01");
        assert_eq!(read_dead_rows(&dead_rows(2, Space(1))), Ok((2, Space(1))));
        assert_eq!(encode_dead_rows(&[258, u64::MAX]), *b"\0\0\x01\x02\xff\xff\xff\xff");
        assert_eq!(decode_dead_rows(b"\0\0\x01\x02\0").collect::<Vec<_>>(), [258]);
        assert_eq!(read_dropped(&dropped(3)), Ok(3));
        assert_eq!(read_database(&database(15)), Ok(15));
        assert_eq!(read_physical(&7u64.to_be_bytes()), Ok(7));
        assert!(read_physical(&u64::MAX.to_be_bytes()).is_err());
        assert_eq!(garbage(258, 2, 3, b"key")[..], *b"q\0\0\0\0\0\0\x01\x02\0\0\0\x02\0\x03key");
        assert_eq!(read_garbage(&garbage(258, 2, 3, b"key")), Ok((258, 2, 3, &b"key"[..])));
        let owner = Owner { until_ms: 258, node: b"node"[..].into() };
        assert_eq!(owner.encode(), *b"\0\0\0\0\0\0\x01\x02node");
        assert_eq!(Owner::decode(&owner.encode()), Ok(owner));
        assert!(Owner::decode(b"short").is_err());
        let (start, end) = all_databases();
        assert!(start < database(0) && database(u16::MAX) < end);
    }
}
