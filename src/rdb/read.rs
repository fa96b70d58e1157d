//! The smallest parts of a payload: numbers, lengths, strings.
//!
//! ```text
//! length:  00nnnnnn | 01nnnnnn nnnnnnnn | 10000000 u32 | 10000001 u64                  big-endian
//! string:  length | bytes
//!          11000000 i8 | 11000001 i16 | 11000010 i32                                   little-endian, its decimal digits
//!          11000011 | length compressed | length | LZF
//! ```

use std::borrow::Cow;

use super::{Bad, lzf};

pub(super) const LEN_14: u8 = 0b01 << 6;
pub(super) const LEN_32: u8 = 0x80;
pub(super) const LEN_64: u8 = 0x81;
pub(super) const ENCODED: u8 = 0b11 << 6;
pub(super) const INT_8: u8 = 0;
pub(super) const INT_16: u8 = 1;
pub(super) const INT_32: u8 = 2;
pub(super) const LZF: u8 = 3;

/// Reads a payload from its beginning to its end.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    left: &'a [u8],
    /// The longest string that is taken.
    max_len: usize,
}

/// A length, or what stands in its place.
enum Length {
    Plain(u64),
    Encoded(u8),
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], max_len: usize) -> Reader<'a> {
        Reader { left: bytes, max_len }
    }

    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), Bad> {
        if self.is_empty() { Ok(()) } else { Err(Bad) }
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Bad> {
        let (taken, rest) = self.left.split_at_checked(count).ok_or(Bad)?;
        self.left = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let (taken, rest) = self.left.split_first_chunk().ok_or(Bad)?;
        self.left = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, Bad> {
        self.array().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Bad> {
        self.array().map(u16_of)
    }

    pub fn u32(&mut self) -> Result<u32, Bad> {
        self.array().map(u32_of)
    }

    pub fn u64(&mut self) -> Result<u64, Bad> {
        self.array().map(u64_of)
    }

    pub fn f64(&mut self) -> Result<f64, Bad> {
        self.u64().map(f64::from_bits)
    }

    pub fn len(&mut self) -> Result<u64, Bad> {
        match self.length()? {
            Length::Plain(len) => Ok(len),
            Length::Encoded(_) => Err(Bad),
        }
    }

    fn length(&mut self) -> Result<Length, Bad> {
        let first = self.u8()?;
        Ok(match (first, first & ENCODED) {
            (LEN_32, _) => Length::Plain(u64::from(u32::from_be_bytes(self.array()?))),
            (LEN_64, _) => Length::Plain(u64::from_be_bytes(self.array()?)),
            (_, 0) => Length::Plain(u64::from(first)),
            (_, LEN_14) => Length::Plain(u64::from(first & !ENCODED) << 8 | u64::from(self.u8()?)),
            (_, ENCODED) => Length::Encoded(first & !ENCODED),
            _ => return Err(Bad),
        })
    }

    pub fn string(&mut self) -> Result<Cow<'a, [u8]>, Bad> {
        let number = match self.length()? {
            Length::Plain(len) => {
                let len = self.string_len(len)?;
                return self.bytes(len).map(Cow::Borrowed);
            }
            Length::Encoded(INT_8) => i64::from(self.u8()?.cast_signed()),
            Length::Encoded(INT_16) => i64::from(self.u16()?.cast_signed()),
            Length::Encoded(INT_32) => i64::from(self.u32()?.cast_signed()),
            Length::Encoded(LZF) => {
                let (small, len) = (self.len()?, self.len()?);
                let (small, len) = (self.string_len(small)?, self.string_len(len)?);
                return lzf::decompress(self.bytes(small)?, len).map(Cow::Owned);
            }
            Length::Encoded(_) => return Err(Bad),
        };
        Ok(Cow::Owned(itoa::Buffer::new().format(number).as_bytes().to_vec()))
    }

    fn string_len(&self, len: u64) -> Result<usize, Bad> {
        usize::try_from(len).ok().filter(|len| *len <= self.max_len).ok_or(Bad)
    }
}

/// Payloads are little-endian.
#[allow(clippy::disallowed_methods, reason = "the format of another program")]
mod order {
    pub fn u16_of(bytes: [u8; 2]) -> u16 {
        u16::from_le_bytes(bytes)
    }

    pub fn u32_of(bytes: [u8; 4]) -> u32 {
        u32::from_le_bytes(bytes)
    }

    pub fn u64_of(bytes: [u8; 8]) -> u64 {
        u64::from_le_bytes(bytes)
    }

    pub fn put_u16(out: &mut Vec<u8>, number: u16) {
        out.extend_from_slice(&number.to_le_bytes());
    }

    pub fn put_u32(out: &mut Vec<u8>, number: u32) {
        out.extend_from_slice(&number.to_le_bytes());
    }

    pub fn put_u64(out: &mut Vec<u8>, number: u64) {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

pub(super) use order::{put_u16, put_u32, put_u64, u16_of, u32_of, u64_of};
