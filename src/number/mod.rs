//! Numbers as Redis reads and writes them.

mod big;
pub mod double;
pub mod extended;

/// A decimal i64 in its one canonical spelling: no spaces, no plus, no leading zeros.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude: u64 = 0;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(value))?;
    }
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Decimal digits and nothing else; at least one, leading zeros allowed.
pub fn parse_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, digit| {
        let value = digit.wrapping_sub(b'0');
        if value > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(value)) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling() {
        for n in [0, 1, -1, 10, i64::MAX, i64::MIN, i64::MIN + 1] {
            assert_eq!(parse_i64(n.to_string().as_bytes()), Some(n));
        }
        for bad in
            ["", "-", "-0", "+1", "01", " 1", "1 ", "1.0", "9223372036854775808", "-9223372036854775809", "a"]
        {
            assert_eq!(parse_i64(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn digits_up_to_the_largest() {
        assert_eq!(parse_digits(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_digits(b"18446744073709551616"), None);
        assert_eq!(parse_digits(b"007"), Some(7));
        assert_eq!(parse_digits(b""), None);
        assert_eq!(parse_digits(b"1a"), None);
        assert_eq!(parse_digits(b"-1"), None);
    }
}
