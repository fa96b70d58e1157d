//! Registers of six bits each, the first in the lowest bits of the first byte.

use super::REGISTERS;

pub const BITS: usize = 6;
/// Bytes of all registers.
pub const LEN: usize = REGISTERS * BITS / 8;
const MASK: u16 = (1 << BITS) - 1;

/// The byte in which a register begins.
pub fn byte_of(register: usize) -> usize {
    register * BITS / 8
}

/// How many bytes a register lies in.
pub fn touched(register: usize) -> usize {
    if shift(register) as usize + BITS > 8 { 2 } else { 1 }
}

fn shift(register: usize) -> u32 {
    (register * BITS % 8) as u32
}

/// The rank of a register, from the byte in which it begins and the next one.
pub fn get_at(pair: [u8; 2], register: usize) -> u8 {
    let word = u16::from(pair[1]) << 8 | u16::from(pair[0]);
    (word >> shift(register) & MASK) as u8
}

/// These two bytes with another rank.
pub fn set_at(pair: [u8; 2], register: usize, rank: u8) -> [u8; 2] {
    let word = u16::from(pair[1]) << 8 | u16::from(pair[0]);
    let word = word & !(MASK << shift(register)) | (u16::from(rank) & MASK) << shift(register);
    [word as u8, (word >> 8) as u8]
}

/// Raises a register. Whether it was lower.
pub fn raise(bytes: &mut [u8], register: usize, rank: u8) -> bool {
    let Some(place) = bytes.get_mut(byte_of(register)..) else { return false };
    let pair = [place.first().copied().unwrap_or(0), place.get(1).copied().unwrap_or(0)];
    if get_at(pair, register) >= rank {
        return false;
    }
    let count = touched(register);
    place.iter_mut().zip(set_at(pair, register, rank)).take(count).for_each(|(to, byte)| *to = byte);
    true
}

/// Every register's rank, in order.
pub fn ranks(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let (groups, _) = bytes.as_chunks::<3>();
    groups.iter().flat_map(|[a, b, c]| [a & 63, (a >> 6 | b << 2) & 63, (b >> 4 | c << 4) & 63, c >> 2])
}
