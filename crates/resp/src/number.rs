//! Decimal integers as Redis accepts them in count lines.

/// Reads a whole slice as an `i64`. Only the one canonical spelling is a number: no `+`, no
/// leading zeros, no `-0`, no blanks.
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [] => return None,
        [b'0'] => return (!negative).then_some(0),
        [b'0', ..] => return None,
        _ => {}
    }
    digits.iter().try_fold(0i64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        let sum = sum.checked_mul(10)?;
        // Summed on the negative side, where i64::MIN fits.
        if negative { sum.checked_sub(i64::from(digit)) } else { sum.checked_add(i64::from(digit)) }
    })
}

#[cfg(test)]
mod tests {
    use super::parse_i64;

    #[test]
    fn takes_canonical_numbers_only() {
        for number in [0, 1, -1, 9, 10, -10, 1234567890, i64::MAX, i64::MIN] {
            assert_eq!(parse_i64(number.to_string().as_bytes()), Some(number));
        }
        for text in [
            "",
            "-",
            "+1",
            "-0",
            "00",
            "01",
            "-01",
            " 1",
            "1 ",
            "1a",
            "a",
            "9223372036854775808",
            "-9223372036854775809",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
        }
    }
}
