//! Numbers as Redis's configuration writes them.

/// A decimal integer in its only spelling: no plus sign, no leading zeros, no spaces; at most 64 bits.
pub fn integer(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    match digits {
        b"0" => return (!negative).then_some(0),
        [] | [b'0', ..] => return None,
        _ => {}
    }
    let magnitude = decimal(digits)?;
    let number = if negative { -magnitude } else { magnitude };
    i64::try_from(number).is_ok().then_some(number)
}

/// Bytes: digits and an optional unit, `k` `m` `g` in powers of 1000, `kb` `mb` `gb` of 1024, in either case.
/// What is too large saturates, so that the caller's bounds refuse it with the bounds in the message.
pub fn memory(text: &[u8]) -> Option<u64> {
    let split = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let scale: i128 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1000 * 1000,
        b"mb" => 1 << 20,
        b"g" => 1000 * 1000 * 1000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    if digits.is_empty() {
        return None;
    }
    Some(u64::try_from(decimal(digits)?.saturating_mul(scale)).unwrap_or(u64::MAX))
}

/// File permissions.
pub fn octal(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u32, |number, byte| match byte {
        b'0'..=b'7' => Some(number.saturating_mul(8).saturating_add(u32::from(byte - b'0'))),
        _ => None,
    })
}

/// The shortest exact spelling of a number of bytes, as CONFIG REWRITE writes it.
pub fn format_memory(bytes: u64) -> String {
    for (scale, unit) in [(1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")] {
        if bytes != 0 && u64::is_multiple_of(bytes, scale) {
            return format!("{}{unit}", bytes / scale);
        }
    }
    bytes.to_string()
}

fn decimal(digits: &[u8]) -> Option<i128> {
    digits.iter().try_fold(0i128, |number, byte| {
        byte.is_ascii_digit().then(|| number.saturating_mul(10).saturating_add(i128::from(byte - b'0')))
    })
}
