//! The names of scripts: SHA-1 of their bytes.

use sha1::{Digest as _, Sha1};

pub type Sha = [u8; 20];

pub fn of(bytes: &[u8]) -> Sha {
    Sha1::digest(bytes).into()
}

/// 40 hex digits, as clients spell it.
pub fn hex(sha: &Sha) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * sha.len());
    for byte in sha {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// From hex digits in either case.
pub fn parse(text: &[u8]) -> Option<Sha> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    let mut sha = Sha::default();
    if pairs.len() != sha.len() {
        return None;
    }
    for (byte, [high, low]) in sha.iter_mut().zip(pairs) {
        let digit = |digit: &u8| char::from(*digit).to_digit(16);
        *byte = (digit(high)? << 4 | digit(low)?) as u8;
    }
    Some(sha)
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
