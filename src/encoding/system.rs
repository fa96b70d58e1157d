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
    pub const REMAP: u8 = b'r';
    pub const LIBRARY_STAMP: u8 = b'u';
    pub const GARBAGE: u8 = b'q';
    pub const MEMBER: u8 = b'm';
    pub const LINK_SECRET: u8 = b's';
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

/// -> who is about to change the map of databases: [`Remap`]. Only where several could.
pub fn remap() -> SystemKey {
    one(tag::REMAP)
}

/// A node that is about to change the map of databases, once all others have let go of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remap {
    /// Tells one change from another.
    pub number: u64,
    pub node: Box<[u8]>,
}

impl Remap {
    /// The number, u64, then the name.
    pub fn encode(&self) -> Vec<u8> {
        [&self.number.to_be_bytes(), &*self.node].concat()
    }

    pub fn decode(value: &[u8]) -> Result<Remap, Malformed> {
        let mut cursor = Cursor(value);
        Ok(Remap { number: cursor.u64("number of a change of the map")?, node: cursor.0.into() })
    }
}

/// -> another number with each change of the libraries, u64. Only where several nodes could have them.
pub fn library_stamp() -> SystemKey {
    one(tag::LIBRARY_STAMP)
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

/// The same for one node of several, by its seat.
pub fn key_count_of(db: u32, stripe: u16, seat: u16) -> SystemKey {
    let mut key = key_count(db, stripe);
    key.extend_from_slice(&seat.to_be_bytes());
    key
}

/// How many keys there are. What one node of several has counted may be negative: another has made what it removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub keys: i64,
    /// Those of them that have a time to live.
    pub expiring: i64,
}

impl Counts {
    /// Both as i64, keys first.
    pub fn encode(self) -> [u8; 16] {
        (u128::from(self.keys as u64) << 64 | u128::from(self.expiring as u64)).to_be_bytes()
    }

    pub fn decode(value: &[u8]) -> Result<Counts, Malformed> {
        let mut cursor = Cursor(value);
        let (keys, expiring) = (cursor.u64("counter of keys")?, cursor.u64("counter of expiring keys")?);
        Ok(Counts { keys: keys as i64, expiring: expiring as i64 })
    }

    pub fn add(&mut self, other: Counts) {
        self.keys = self.keys.saturating_add(other.keys);
        self.expiring = self.expiring.saturating_add(other.expiring);
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

/// -> what nodes prove to each other that they read the same data, random bytes. Only where several could.
pub fn link_secret() -> SystemKey {
    one(tag::LINK_SECRET)
}

/// A node, by its name -> how it is reached: [`Member`]. Only where several could.
pub fn member(id: &[u8]) -> SystemKey {
    let mut key = one(tag::MEMBER);
    key.extend_from_slice(id);
    key
}

/// First and past-the-last key of the rows of nodes.
pub fn all_members() -> (SystemKey, SystemKey) {
    (one(tag::MEMBER), one(tag::MEMBER + 1))
}

/// The name of a node's row.
pub fn read_member(row: &[u8]) -> Result<&[u8], Malformed> {
    row.strip_prefix(&[tag::MEMBER]).ok_or(Malformed("tag of a node"))
}

/// A node, as the others know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Member {
    /// By the cluster's clock. Who has not been heard of until then is gone.
    pub until_ms: u64,
    pub started_ms: u64,
    /// What clients are told. A port is zero for none, a name empty.
    pub port: u16,
    pub tls_port: u16,
    pub host: String,
    pub hostname: String,
    /// Where other nodes connect to.
    pub link_port: u16,
    pub link_host: String,
    /// Which counters are its own: [`key_count_of`].
    pub seat: u16,
    /// The first of its versions.
    pub first_version: u64,
    /// The change of the map that it has let go for: [`Remap::number`].
    pub let_go: u64,
}

impl Member {
    /// Two times, u64; three ports, u16; three texts, each behind its length, u8; seat, u16; first version and what it has let go for, u64.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = [self.until_ms.to_be_bytes(), self.started_ms.to_be_bytes()].concat();
        for port in [self.port, self.tls_port, self.link_port] {
            out.extend_from_slice(&port.to_be_bytes());
        }
        for text in [&self.host, &self.hostname, &self.link_host] {
            let bytes = text.as_bytes().get(..usize::from(u8::MAX)).unwrap_or(text.as_bytes());
            out.push(bytes.len() as u8);
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(&self.seat.to_be_bytes());
        out.extend_from_slice(&self.first_version.to_be_bytes());
        out.extend_from_slice(&self.let_go.to_be_bytes());
        out
    }

    /// What follows is of a later version.
    pub fn decode(value: &[u8]) -> Result<Member, Malformed> {
        let mut cursor = Cursor(value);
        let (until_ms, started_ms) = (cursor.u64("time of a node")?, cursor.u64("start of a node")?);
        let mut port = || cursor.u16("port of a node");
        let (plain, tls_port, link_port) = (port()?, port()?, port()?);
        let mut text = || -> Result<String, Malformed> {
            let len = usize::from(cursor.u8("length of a node's name")?);
            let (bytes, rest) = cursor.0.split_at_checked(len).ok_or(Malformed("name of a node"))?;
            cursor.0 = rest;
            String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("name of a node"))
        };
        let (host, hostname, link_host) = (text()?, text()?, text()?);
        let seat = cursor.u16("seat of a node")?;
        let (first_version, let_go) = (cursor.u64("versions of a node")?, cursor.u64("what a node let go")?);
        Ok(Member {
            until_ms,
            started_ms,
            port: plain,
            tls_port,
            host,
            hostname,
            link_port,
            link_host,
            seat,
            first_version,
            let_go,
        })
    }
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
        let less = Counts { keys: -1, expiring: 0 };
        assert_eq!(Counts::decode(&less.encode()), Ok(less));
        assert_eq!(key_count_of(2, 255, 7)[..], *b"k\0\0\0\x02\0\xff\0\x07");
        assert_eq!(read_key_count(&key_count_of(2, 255, 7)), Ok(255));
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
        let remap = Remap { number: 258, node: b"node"[..].into() };
        assert_eq!(remap.encode(), *b"\0\0\0\0\0\0\x01\x02node");
        assert_eq!(Remap::decode(&remap.encode()), Ok(remap));
        assert!(Remap::decode(b"short").is_err());
        let member = Member {
            until_ms: 258,
            started_ms: 3,
            port: 6379,
            tls_port: 0,
            host: "10.0.0.1".to_owned(),
            hostname: "db".to_owned(),
            link_port: 16379,
            link_host: "h".to_owned(),
            seat: 7,
            first_version: 9,
            let_go: 10,
        };
        let bytes = b"\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03\x18\xeb\0\0\x3f\xfb\x0810.0.0.1\x02db\x01h\
            \0\x07\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x0a";
        assert_eq!(member.encode(), bytes);
        assert_eq!(Member::decode(&[&bytes[..], b"later"].concat()), Ok(member));
        for len in 0..bytes.len() {
            assert!(Member::decode(&bytes[..len]).is_err(), "{len}");
        }
        assert_eq!(read_member(&super::member(b"id")), Ok(&b"id"[..]));
        assert_eq!(link_secret()[..], *b"s");
        let (start, end) = all_databases();
        assert!(start < database(0) && database(u16::MAX) < end);
    }
}
