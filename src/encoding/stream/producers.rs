//! What producers have added to a stream, so that what they send twice is added once.
//!
//! ```text
//! own part of the metadata, behind what every stream has, once producers are known:
//!        version u64 | duration_s u32 | limit u32 | producers u64 | records u64 | added u64 | duplicates u64
//! and under that version, which the stream owns, in the space of the groups:
//!        prefix | 1 | producer | word              =>  id
//!        prefix | 2 | producer | id | word         =>  empty
//!        prefix | 3 | producer                     =>  records u64
//!        prefix | 4 | id | producer | word         =>  empty
//! ```
//!
//! Producers and the words that tell their messages apart stand there as hashes of 16 bytes. The version is 0 while there is no record.

use super::super::rows::RowKey;
use super::super::{Cursor, Malformed};
use super::{ID_LEN, Id, row};

/// Bytes of a hash.
pub const HASH_LEN: usize = 16;

pub type Hash = [u8; HASH_LEN];

pub fn hash(seed: u64, bytes: &[u8]) -> Hash {
    xxhash_rust::xxh3::xxh3_128_with_seed(bytes, seed).to_be_bytes()
}

/// How long records are kept, and how many of each producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub duration_s: u32,
    pub limit: u32,
}

/// What the metadata knows of the producers of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producers {
    /// Of the records' rows; 0 where there are none.
    pub version: u64,
    /// How long a record is believed.
    pub duration_s: u32,
    /// Records that each producer has at most.
    pub limit: u32,
    /// Producers that have records.
    pub producers: u64,
    pub records: u64,
    /// Records that were ever made.
    pub added: u64,
    /// How often something was sent again.
    pub duplicates: u64,
}

/// Bytes of it.
pub const PRODUCERS_LEN: usize = 8 + 2 * 4 + 4 * 8;

const PRODUCERS: &str = "producers of a stream";

impl Producers {
    pub fn encode(&self) -> [u8; PRODUCERS_LEN] {
        let mut bytes = [0; PRODUCERS_LEN];
        let sizes = u64::from(self.duration_s) << 32 | u64::from(self.limit);
        let parts = [self.version, sizes, self.producers, self.records, self.added, self.duplicates];
        for (room, number) in bytes.chunks_exact_mut(8).zip(parts) {
            room.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Producers, Malformed> {
        let mut cursor = Cursor(bytes);
        Ok(Producers {
            version: cursor.u64(PRODUCERS)?,
            duration_s: cursor.u32(PRODUCERS)?,
            limit: cursor.u32(PRODUCERS)?,
            producers: cursor.u64(PRODUCERS)?,
            records: cursor.u64(PRODUCERS)?,
            added: cursor.u64(PRODUCERS)?,
            duplicates: cursor.u64(PRODUCERS)?,
        })
    }
}

/// A message of a producer that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub producer: Hash,
    pub word: Hash,
    /// Of the entry.
    pub id: Id,
}

const BY_WORD: u8 = 1;
const BY_PRODUCER: u8 = 2;
const PRODUCER: u8 = 3;
const BY_ID: u8 = 4;

/// The row that is looked for; its value is the id.
pub fn word_row(prefix: &[u8], producer: &Hash, word: &Hash) -> RowKey {
    row(prefix, BY_WORD, &[producer, word])
}

/// What the rows of one producer's records by id begin with.
pub fn of_producer(prefix: &[u8], producer: &Hash) -> RowKey {
    row(prefix, BY_PRODUCER, &[producer])
}

/// What the rows of all records by id begin with.
pub fn by_id(prefix: &[u8]) -> RowKey {
    row(prefix, BY_ID, &[])
}

/// How many records a producer has.
pub fn producer_row(prefix: &[u8], producer: &Hash) -> RowKey {
    row(prefix, PRODUCER, &[producer])
}

impl Record {
    /// Its rows: by its word, by its producer, by its id.
    pub fn rows(&self, prefix: &[u8]) -> [RowKey; 3] {
        let id = self.id.encode();
        [
            word_row(prefix, &self.producer, &self.word),
            row(prefix, BY_PRODUCER, &[&self.producer, &id, &self.word]),
            row(prefix, BY_ID, &[&id, &self.producer, &self.word]),
        ]
    }

    /// From what follows [`by_id`] in a row's key.
    pub fn read_by_id(sub: &[u8]) -> Result<Record, Malformed> {
        let (id, producer, word) = cut(sub, ID_LEN, HASH_LEN)?;
        Ok(Record { id: Id::decode(id)?, producer: fixed(producer)?, word: fixed(word)? })
    }

    /// From what follows [`of_producer`] in a row's key.
    pub fn read_of_producer(producer: Hash, sub: &[u8]) -> Result<Record, Malformed> {
        let (id, word, _) = cut(sub, ID_LEN, HASH_LEN)?;
        Ok(Record { id: Id::decode(id)?, producer, word: fixed(word)? })
    }
}

const RECORD: Malformed = Malformed("record of a producer");

fn cut(bytes: &[u8], first: usize, second: usize) -> Result<(&[u8], &[u8], &[u8]), Malformed> {
    let (one, rest) = bytes.split_at_checked(first).ok_or(RECORD)?;
    let (two, three) = rest.split_at_checked(second).ok_or(RECORD)?;
    Ok((one, two, three))
}

fn fixed(bytes: &[u8]) -> Result<Hash, Malformed> {
    bytes.try_into().map_err(|_| RECORD)
}

/// The value of a [`producer_row`].
pub fn read_count(value: &[u8]) -> Result<u64, Malformed> {
    Cursor(value).u64(PRODUCERS)
}
