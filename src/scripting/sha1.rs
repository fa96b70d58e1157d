//! The names of scripts: SHA-1 of their bytes.

use std::hash::{BuildHasher, Hasher};

use sha1::{Digest as _, Sha1};

pub type Sha = [u8; 20];

pub fn of(bytes: &[u8]) -> Sha {
    Sha1::digest(bytes).into()
}

/// 40 hex digits, as clients spell it.
pub fn hex(sha: &Sha) -> String {
    // Every run of a script has its name: formatting each byte took a twentieth of the time of a short one.
    let digit = |digit: u8| char::from(if digit < 10 { b'0' + digit } else { b'a' - 10 + digit });
    sha.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// From hex digits in either case.
pub fn parse(text: &[u8]) -> Option<Sha> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    let mut sha = Sha::default();
    if pairs.len() != sha.len() {
        return None;
    }
    let mut seen = 0;
    for (byte, [high, low]) in sha.iter_mut().zip(pairs) {
        let (high, low) = (value(*high), value(*low));
        *byte = high << 4 | low;
        seen |= high | low;
    }
    (seen < 16).then_some(sha)
}

/// What bytes stand for as hex digits; [`NO_DIGIT`] if they are none.
static VALUES: [u8; 256] = values();
const NO_DIGIT: u8 = 0xff;

#[inline]
fn value(digit: u8) -> u8 {
    VALUES.get(usize::from(digit)).copied().unwrap_or(NO_DIGIT)
}

#[allow(clippy::indexing_slicing)] // when it is compiled
const fn values() -> [u8; 256] {
    let mut values = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
}

/// For maps by name. It is a hash already.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByFirstBytes;

/// The first bytes of a name.
#[derive(Debug)]
pub struct FirstBytes(u64);

impl BuildHasher for ByFirstBytes {
    type Hasher = FirstBytes;

    fn build_hasher(&self) -> FirstBytes {
        FirstBytes(0)
    }
}

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_be_bytes(*first);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_it_is_spelt() {
        let sha = of(b"return 1");
        assert_eq!(hex(&sha), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
        assert_eq!(parse(b"E0E1f9fabfc9d4800c877a703b823ac0578ff8db"), Some(sha));
        for wrong in [
            &b""[..],
            b"e0",
            b"g0e1f9fabfc9d4800c877a703b823ac0578ff8db",
            b"e0e1f9fabfc9d4800c877a703b823ac0578ff8dbe0",
        ] {
            assert_eq!(parse(wrong), None);
        }
    }
}
