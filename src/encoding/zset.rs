//! The two rows of a sorted set's member: its score by its name, and its name by its score.
//!
//! ```text
//! data   db u32 | slot u16 | key length u32 | key | version u64 | hash64(member) u64 | member  =>  score f64
//! score  db u32 | slot u16 | key length u32 | key | version u64 | ordered score u64 | member   =>  empty, or the sign of -0
//! ```
//!
//! The ordered score sorts as the number does: the bits of the double with the sign flipped, and all of them flipped
//! below zero. Minus zero equals zero there, as it does to Redis, so its sign is in the value.

use super::rows::RowKey;
use super::{Cursor, Malformed};

/// Bytes of an ordered score in front of a member.
pub const SCORE_LEN: usize = 8;

const SIGN: u64 = 1 << 63;
/// The value of a row whose score is minus zero.
const MINUS: &[u8] = b"-";

/// Eight bytes that sort as the number, which is not NaN.
#[inline]
pub fn ordered(score: f64) -> u64 {
    // Minus zero becomes zero.
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Appends what follows the prefix in the key of a score row.
#[inline]
pub fn push_score(row: &mut RowKey, score: f64, member: &[u8]) {
    row.extend_from_slice(&ordered(score).to_be_bytes());
    row.extend_from_slice(member);
}

/// The value of a score row.
#[inline]
pub fn sign(score: f64) -> &'static [u8] {
    if score == 0.0 && score.is_sign_negative() { MINUS } else { b"" }
}

/// Score and member of a score row, of which the key without its prefix and the value are given.
#[inline]
pub fn read_score<'a>(sub: &'a [u8], value: &[u8]) -> Result<(f64, &'a [u8]), Malformed> {
    let mut cursor = Cursor(sub);
    let ordered = cursor.u64("score of a member")?;
    let bits = if ordered & SIGN != 0 { ordered & !SIGN } else { !ordered };
    let score = match value {
        b"" => f64::from_bits(bits),
        MINUS => -f64::from_bits(bits),
        _ => return Err(Malformed("sign of a score")),
    };
    Ok((score, cursor.0))
}

/// The value of a member's row.
#[inline]
pub fn value(score: f64) -> [u8; 8] {
    score.to_bits().to_be_bytes()
}

/// The score in a member's row.
#[inline]
pub fn read_value(value: &[u8]) -> Result<f64, Malformed> {
    let bytes: [u8; 8] = value.try_into().map_err(|_| Malformed("score of a member"))?;
    Ok(f64::from_bits(u64::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SORTED: &[f64] = &[
        f64::NEG_INFINITY,
        f64::MIN,
        -1e17,
        -2.0,
        -1.5,
        -f64::MIN_POSITIVE,
        -5e-324,
        0.0,
        5e-324,
        f64::MIN_POSITIVE,
        1.0,
        1.0000000000000002,
        3e5,
        f64::MAX,
        f64::INFINITY,
    ];

    #[test]
    fn golden_bytes() {
        assert_eq!(ordered(1.5).to_be_bytes(), *b"\xbf\xf8\0\0\0\0\0\0");
        assert_eq!(ordered(-1.5).to_be_bytes(), *b"\x40\x07\xff\xff\xff\xff\xff\xff");
        assert_eq!(value(1.5), *b"\x3f\xf8\0\0\0\0\0\0");
        let mut row = RowKey::new();
        push_score(&mut row, 1.5, b"m");
        assert_eq!(row[..], *b"\xbf\xf8\0\0\0\0\0\0m");
    }

    #[test]
    fn scores_sort_as_numbers_and_read_back() {
        assert!(SORTED.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        for score in SORTED.iter().copied().chain([-0.0]) {
            let mut row = RowKey::new();
            push_score(&mut row, score, b"m\0");
            let (read, member) = read_score(&row, sign(score)).unwrap();
            assert_eq!((read.to_bits(), member), (score.to_bits(), &b"m\0"[..]), "{score}");
            assert_eq!(read_value(&value(score)).unwrap().to_bits(), score.to_bits());
        }
        assert_eq!(ordered(-0.0), ordered(0.0));
        assert_eq!((sign(-0.0), sign(0.0), sign(-1.0)), (&b"-"[..], &b""[..], &b""[..]));
    }

    #[test]
    fn what_is_no_score_is_refused() {
        assert!(read_score(b"1234567", b"").is_err());
        assert!(read_score(b"12345678", b"+").is_err());
        assert!(read_value(b"1234567").is_err() && read_value(b"123456789").is_err());
    }
}
