//! From elements to a payload.

use super::packed::listpack;
use super::read::{ENCODED, INT_8, INT_16, INT_32, LEN_14, LEN_32, LEN_64, LZF, put_u16, put_u32, put_u64};
use super::{VALKEY, lzf, module, seal};
use crate::number;

/// The forms that are written, by the numbers of their types.
pub const STRING: u8 = 0;
pub const LIST: u8 = 1;
pub const SET: u8 = 2;
const SORTED_SET_AS_TEXT: u8 = 3;
pub const HASH: u8 = 4;
const SORTED_SET: u8 = 5;
const EXPIRING_HASH_OF_VALKEY: u8 = 22;
const EXPIRING_HASH: u8 = 24;

/// The first versions that have them.
const WITH_BINARY_SCORES: u16 = 8;
const WITH_EXPIRING_FIELDS: u16 = 12;

/// Strings longer than this are compressed.
const SHORT: usize = 20;
/// Digits of the longest number that has a form of its own, its sign included.
const MAX_NUMBER_LEN: usize = 11;

/// A payload that is being made. First the type is written, then the value.
pub struct Writer {
    out: Vec<u8>,
    /// The version that was asked for, and the one that the value needs.
    version: u16,
    table: Option<lzf::Table>,
}

/// Room for a number that is known later.
#[derive(Debug, Clone, Copy)]
pub struct Place(usize);

/// How fields that expire are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// In front, counted from this moment on.
    From(u64),
    Behind,
}

impl Writer {
    pub fn new(version: u16) -> Writer {
        Writer { out: Vec::new(), version, table: None }
    }

    pub fn version(&self) -> u16 {
        self.version
    }

    /// How long it is by now.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The value cannot be told in an older version than this one.
    pub fn need(&mut self, version: u16) {
        self.version = self.version.max(version);
    }

    /// The value can be told in this version only.
    pub fn replace_version(&mut self, version: u16) {
        self.version = if self.version < VALKEY { self.version.max(version) } else { version };
    }

    /// The payload, with its footer.
    pub fn finish(mut self) -> Vec<u8> {
        seal(&mut self.out, self.version);
        self.out
    }

    pub fn u8(&mut self, number: u8) {
        self.out.push(number);
    }

    pub fn u64(&mut self, number: u64) {
        put_u64(&mut self.out, number);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub fn number(&mut self, number: u64) {
        match number {
            0..64 => self.out.push(number as u8),
            64..16_384 => self.out.extend_from_slice(&[LEN_14 | (number >> 8) as u8, number as u8]),
            _ => match u32::try_from(number) {
                Ok(number) => {
                    self.out.push(LEN_32);
                    self.out.extend_from_slice(&number.to_be_bytes());
                }
                Err(_) => {
                    self.out.push(LEN_64);
                    self.out.extend_from_slice(&number.to_be_bytes());
                }
            },
        }
    }

    /// Leaves room for a number.
    pub fn place(&mut self) -> Place {
        let place = Place(self.out.len());
        self.out.push(LEN_64);
        self.out.extend_from_slice(&[0; 8]);
        place
    }

    /// Puts the number into its room.
    pub fn fill(&mut self, place: Place, number: u64) {
        let room = self.out.get_mut(place.0 + 1..).and_then(|rest| rest.first_chunk_mut());
        if let Some(room) = room {
            *room = number.to_be_bytes();
        }
    }

    pub fn string(&mut self, string: &[u8]) {
        if string.len() <= MAX_NUMBER_LEN
            && let Some(number) = number::parse_i64(string).and_then(|number| i32::try_from(number).ok())
        {
            return self.small_number(number);
        }
        if string.len() > SHORT
            && let Some(small) = lzf::compress(self.table.get_or_insert_default(), string)
        {
            self.out.push(ENCODED | LZF);
            self.number(small.len() as u64);
            self.number(string.len() as u64);
            self.out.extend_from_slice(&small);
            return;
        }
        self.number(string.len() as u64);
        self.out.extend_from_slice(string);
    }

    fn small_number(&mut self, number: i32) {
        if let Ok(number) = i8::try_from(number) {
            self.out.extend_from_slice(&[ENCODED | INT_8, number.cast_unsigned()]);
        } else if let Ok(number) = i16::try_from(number) {
            self.out.push(ENCODED | INT_16);
            put_u16(&mut self.out, number.cast_unsigned());
        } else {
            self.out.push(ENCODED | INT_32);
            put_u32(&mut self.out, number.cast_unsigned());
        }
    }

    /// A listpack, as a string.
    pub fn listpack(&mut self, items: listpack::Writer) {
        self.string(&items.finish());
    }

    /// The type of a sorted set; [`Writer::score`] follows each member.
    pub fn sorted_set(&mut self) {
        let number = if self.version < WITH_BINARY_SCORES { SORTED_SET_AS_TEXT } else { SORTED_SET };
        self.u8(number);
    }

    pub fn score(&mut self, score: f64) {
        if self.version >= WITH_BINARY_SCORES {
            return self.u64(score.to_bits());
        }
        if score.is_infinite() {
            return self.u8(if score > 0.0 { 254 } else { 255 });
        }
        // The shortest digits that give the number back: never more than 24.
        let digits = format!("{score:e}");
        self.u8(digits.len() as u8);
        self.bytes(digits.as_bytes());
    }

    /// The type of a hash whose fields expire, none before this moment. How [`Writer::field`] writes them.
    pub fn expiring_hash(&mut self, earliest_ms: u64) -> Times {
        if self.version >= VALKEY {
            self.u8(EXPIRING_HASH_OF_VALKEY);
            return Times::Behind;
        }
        self.need(WITH_EXPIRING_FIELDS);
        self.u8(EXPIRING_HASH);
        self.u64(earliest_ms);
        Times::From(earliest_ms)
    }

    /// A hash of the module TairHash, of a key with this name. The number of its fields goes into the place that is left for it;
    /// [`Writer::tair_field`] and [`Writer::end_tair_hash`] follow.
    pub fn tair_hash(&mut self, key: &[u8]) -> Place {
        self.u8(module::VALUE);
        self.number(module::TAIR_HASH);
        self.number(module::NUMBER);
        let place = self.place();
        self.module_string(key);
        place
    }

    pub fn tair_field(&mut self, (name, value): (&[u8], &[u8]), version: u64, expire_at_ms: u64) {
        self.module_string(name);
        for number in [version, expire_at_ms] {
            self.number(module::NUMBER);
            self.number(number);
        }
        self.module_string(value);
    }

    pub fn end_tair_hash(&mut self) {
        self.number(module::END);
    }

    fn module_string(&mut self, string: &[u8]) {
        self.number(module::STRING);
        self.string(string);
    }

    /// A field with the time of its expiry, 0 for never.
    pub fn field(&mut self, times: Times, (name, value): (&[u8], &[u8]), expire_at_ms: u64) {
        if let Times::From(earliest_ms) = times {
            let behind = if expire_at_ms == 0 { 0 } else { expire_at_ms.saturating_sub(earliest_ms) + 1 };
            self.number(behind);
        }
        self.string(name);
        self.string(value);
        if times == Times::Behind {
            self.u64(if expire_at_ms == 0 { u64::MAX } else { expire_at_ms });
        }
    }
}
