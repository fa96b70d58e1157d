//! Values of modules, of which one is known: the hashes of TairHash.
//!
//! ```text
//! module u64: nine letters of six bits, and a version of ten | (opcode | number or string) ... | 0
//! TairHash: fields | key | [database] | (field | version | expire_at_ms | value) ...
//! ```

use std::borrow::Cow;

use super::{Bad, Reader};

/// The number of the type.
pub const VALUE: u8 = 7;

pub const END: u64 = 0;
pub const NUMBER: u64 = 2;
pub const STRING: u64 = 5;

pub const TAIR_HASH: u64 = number_of(b"tairhash-");

/// What a module is called by, in its first version.
const fn number_of(name: &[u8; 9]) -> u64 {
    let (mut number, mut left) = (0, name.as_slice());
    while let [letter, rest @ ..] = left {
        let place = match *letter {
            letter @ b'A'..=b'Z' => letter - b'A',
            letter @ b'a'..=b'z' => letter - b'a' + 26,
            letter @ b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            _ => 63,
        };
        number = number << 6 | place as u64;
        left = rest;
    }
    number << 10
}

pub fn number(body: &mut Reader<'_>) -> Result<u64, Bad> {
    if body.len()? == NUMBER { body.len() } else { Err(Bad) }
}

pub fn string<'a>(body: &mut Reader<'a>) -> Result<Cow<'a, [u8]>, Bad> {
    if body.len()? == STRING { body.string() } else { Err(Bad) }
}

pub fn end(body: &mut Reader<'_>) -> Result<(), Bad> {
    if body.len()? == END { Ok(()) } else { Err(Bad) }
}
