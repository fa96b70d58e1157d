//! Values as Redis serializes them: bytes to elements, elements to bytes, and nothing else. DUMP and RESTORE speak it, and
//! so does MIGRATE.
//!
//! ```text
//! payload:  type u8 | value | version u16 | crc64 of all before u64        both little-endian
//! ```
//!
//! Of what Redis has written since 2.6, and Valkey since 7, every form of a value is read ([`decode`], [`stream`]; the packed forms
//! are in [`packed`]; libraries of [`functions`] are no value, but come in such payloads, too). What is written ([`encode`]) is the plain form that every version reads, unless the value needs another.
//!
//! Nothing in a payload is believed: each length is held against the bytes that are there, so that memory is taken for what
//! was sent and not for what was claimed. What does not fit is [`Bad`].

mod crc64;
pub mod decode;
pub mod encode;
pub mod functions;
mod lzf;
mod module;
pub mod packed;
mod read;
pub mod stream;

#[cfg(test)]
mod tests;

pub use decode::{Field, Payload, Shape};
pub use encode::Writer;
pub use read::Reader;

/// The bytes are no such value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad;

/// Numbers of versions from here on are Valkey's, below they are those of Redis.
pub const VALKEY: u16 = 80;
/// The newest versions whose values are read: Redis 8.10 and Valkey 9.
pub const NEWEST: u16 = 16;
pub const NEWEST_OF_VALKEY: u16 = 80;

/// Version and checksum.
const FOOTER_LEN: usize = 2 + 8;

/// What the footer is about, and the version it names; None where that is not known or the checksum is wrong.
pub fn open(payload: &[u8]) -> Option<(&[u8], u16)> {
    let (content, footer) = payload.split_at_checked(payload.len().checked_sub(FOOTER_LEN)?)?;
    let mut footer = Reader::new(footer, FOOTER_LEN);
    let (version, sum) = (footer.u16().ok()?, footer.u64().ok()?);
    let is_known = version <= NEWEST || (VALKEY..=NEWEST_OF_VALKEY).contains(&version);
    let summed = payload.get(..payload.len() - 8)?;
    (is_known && crc64::crc64(summed) == sum).then_some((content, version))
}

/// Puts the footer.
pub fn seal(payload: &mut Vec<u8>, version: u16) {
    read::put_u16(payload, version);
    let sum = crc64::crc64(payload);
    read::put_u64(payload, sum);
}
