//! Doubles as C's `strtod` reads them: decimal and hexadecimal, infinity, leading blanks.

/// The beginning of a text as a number.
struct Prefix {
    value: f64,
    /// Bytes that belong to it; 0 where there is no number.
    len: usize,
    /// Too big for a double, or too small and not zero.
    out_of_range: bool,
}

impl Prefix {
    const NONE: Prefix = Prefix { value: 0.0, len: 0, out_of_range: false };
}

/// A score or a weight: the whole text, no blanks, within range, a number.
pub fn parse(text: &[u8]) -> Option<f64> {
    if let Some(whole) = super::parse_i64(text).filter(|n| n.unsigned_abs() < 1 << 53) {
        return Some(whole as f64);
    }
    if text.is_empty() || text.first().is_some_and(is_blank) {
        return None;
    }
    let read = prefix(text);
    (read.len == text.len() && !read.out_of_range && !read.value.is_nan()).then_some(read.value)
}

/// The end of a range: up to a zero byte, as in a C string. Nothing is 0, what is out of range is infinite or 0.
pub fn parse_bound(text: &[u8]) -> Option<f64> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let read = prefix(text);
    (read.len == text.len() && !read.value.is_nan()).then_some(read.value)
}

/// What elements are sorted by: as a bound, but nothing that is out of range or loses digits next to zero.
pub fn parse_weight(text: &[u8]) -> Option<f64> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let read = prefix(text);
    let is_exact = !read.value.is_subnormal() || text.iter().any(|byte| matches!(byte, b'x' | b'X'));
    let is_whole = read.len == text.len();
    (is_whole && is_exact && !read.out_of_range && !read.value.is_nan()).then_some(read.value)
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn count(text: &[u8], is: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| is(byte)).count()
}

fn begins(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn behind(text: &[u8], len: usize) -> &[u8] {
    text.get(len..).unwrap_or_default()
}

fn prefix(text: &[u8]) -> Prefix {
    let blanks = count(text, is_blank);
    let rest = behind(text, blanks);
    let (negative, signs) = match rest.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let rest = behind(rest, signs);
    let found = if begins(rest, b"infinity") {
        Prefix { value: f64::INFINITY, len: 8, out_of_range: false }
    } else if begins(rest, b"inf") {
        Prefix { value: f64::INFINITY, len: 3, out_of_range: false }
    } else if begins(rest, b"nan") {
        Prefix { value: f64::NAN, len: 3, out_of_range: false }
    } else if begins(rest, b"0x") {
        hexadecimal(rest)
    } else {
        decimal(rest)
    };
    if found.len == 0 {
        return Prefix::NONE;
    }
    let value = if negative { -found.value } else { found.value };
    Prefix { value, len: blanks + signs + found.len, ..found }
}

/// Digits with a point among them or not: how many bytes they take, and whether there is one.
fn digits(text: &[u8], is: impl Fn(&u8) -> bool) -> (usize, bool) {
    let whole = count(text, &is);
    let fraction = match behind(text, whole) {
        [b'.', rest @ ..] => Some(count(rest, &is)),
        _ => None,
    };
    (whole + fraction.map_or(0, |len| len + 1), whole + fraction.unwrap_or_default() > 0)
}

/// Length of an exponent, its letter included; 0 where there is none.
fn exponent_len(text: &[u8], letter: u8) -> usize {
    let [first, rest @ ..] = text else { return 0 };
    if !first.eq_ignore_ascii_case(&letter) {
        return 0;
    }
    let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
    match count(behind(rest, sign), u8::is_ascii_digit) {
        0 => 0,
        len => 1 + sign + len,
    }
}

fn decimal(text: &[u8]) -> Prefix {
    let (mantissa, some) = digits(text, u8::is_ascii_digit);
    if !some {
        return Prefix::NONE;
    }
    let len = mantissa + exponent_len(behind(text, mantissa), b'e');
    let number = text.get(..len).unwrap_or_default();
    let Some(value) = std::str::from_utf8(number).ok().and_then(|number| number.parse::<f64>().ok()) else {
        return Prefix::NONE;
    };
    let is_zero = number.iter().take(mantissa).all(|byte| matches!(byte, b'0' | b'.'));
    Prefix { value, len, out_of_range: value.is_infinite() || value == 0.0 && !is_zero }
}

/// Bits of a significand that are kept apart from the one that says whether anything lies below them.
const KEPT_BITS: u32 = 60;

fn hexadecimal(text: &[u8]) -> Prefix {
    let rest = behind(text, 2);
    let (mantissa, some) = digits(rest, u8::is_ascii_hexdigit);
    if !some {
        // Only the zero of "0x" is a number.
        return Prefix { value: 0.0, len: 1, out_of_range: false };
    }
    let (mut bits, mut exponent, mut in_fraction) = (0_u64, 0_i64, false);
    for byte in rest.iter().take(mantissa) {
        let Some(digit) = (*byte as char).to_digit(16) else {
            in_fraction = true;
            continue;
        };
        if bits >> (KEPT_BITS - 4) == 0 {
            bits = bits << 4 | u64::from(digit);
            exponent -= if in_fraction { 4 } else { 0 };
        } else {
            bits |= u64::from(digit != 0);
            exponent += if in_fraction { 0 } else { 4 };
        }
    }
    let tail = behind(rest, mantissa);
    let power_len = exponent_len(tail, b'p');
    if let Some(power) = tail.get(1..power_len) {
        exponent = exponent.saturating_add(power_of(power));
    }
    let value = scaled(bits, exponent);
    let out_of_range = value.is_infinite() || value == 0.0 && bits != 0;
    Prefix { value, len: 2 + mantissa + power_len, out_of_range }
}

/// A signed decimal number, cut off where no double reaches.
fn power_of(text: &[u8]) -> i64 {
    const FAR: i64 = 1 << 40;
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let power = digits.iter().fold(0, |n: i64, digit| (n * 10 + i64::from(digit - b'0')).min(FAR));
    if negative { -power } else { power }
}

/// `bits` times two to the `exponent`, rounded to nearest, halves to even.
fn scaled(bits: u64, exponent: i64) -> f64 {
    const LEAST: i64 = -1074;
    const GREATEST: i64 = 1023;
    if bits == 0 {
        return 0.0;
    }
    let len = i64::from(64 - bits.leading_zeros());
    if exponent + len - 1 > GREATEST {
        return f64::INFINITY;
    }
    // Bits that have no room: beyond 53, or below the least number.
    let surplus = (len - 53).max(LEAST - exponent).max(0);
    if surplus > 64 {
        return 0.0;
    }
    let (wide, half) = (u128::from(bits), 1_u128 << surplus >> 1);
    let (mut kept, cut) = (wide >> surplus, wide & ((1 << surplus) - 1));
    if cut > half || cut == half && half != 0 && kept & 1 == 1 {
        kept += 1;
    }
    let power = exponent + surplus;
    // In two steps, each of which is exact: no power of two alone reaches everywhere.
    kept as f64 * two_to(power / 2) * two_to(power - power / 2)
}

fn two_to(power: i64) -> f64 {
    f64::from_bits(((1023 + power.clamp(-1022, 1023)) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What redis-server 7.0.15 made of each as a score and as the end of a range.
    const READ: &[(&str, Option<f64>, Option<f64>)] = &[
        ("inf", Some(f64::INFINITY), Some(f64::INFINITY)),
        ("-INF", Some(f64::NEG_INFINITY), Some(f64::NEG_INFINITY)),
        ("+Infinity", Some(f64::INFINITY), Some(f64::INFINITY)),
        ("infinit", None, None),
        ("nan", None, None),
        ("nan(12)", None, None),
        ("0x10", Some(16.0), Some(16.0)),
        ("0x1p4", Some(16.0), Some(16.0)),
        ("0x", None, None),
        ("0x.8", Some(0.5), Some(0.5)),
        ("0x1.fffffffffffff8p0", Some(2.0), Some(2.0)),
        ("0X1P-1100", None, Some(0.0)),
        ("1e400", None, Some(f64::INFINITY)),
        ("-1e400", None, Some(f64::NEG_INFINITY)),
        ("1e-400", None, Some(0.0)),
        ("0e-400", Some(0.0), Some(0.0)),
        ("", None, Some(0.0)),
        (" 1", None, Some(1.0)),
        (" ", None, None),
        ("1 ", None, None),
        ("1.5e", None, None),
        ("+5", Some(5.0), Some(5.0)),
        ("1e+5", Some(1e5), Some(1e5)),
        (".5", Some(0.5), Some(0.5)),
        ("5.", Some(5.0), Some(5.0)),
        (".", None, None),
        ("-", None, None),
        ("1_000", None, None),
        ("4.9e-324", Some(5e-324), Some(5e-324)),
        ("1e-310", Some(1e-310), Some(1e-310)),
        ("1\0x", None, Some(1.0)),
        ("9007199254740993", Some(9007199254740992.0), Some(9007199254740992.0)),
    ];

    #[test]
    fn numbers_are_read_as_redis_reads_them() {
        for (text, score, bound) in READ {
            assert_eq!(parse(text.as_bytes()), *score, "{text:?}");
            assert_eq!(parse_bound(text.as_bytes()), *bound, "{text:?}");
        }
        assert!(parse(b"-0").is_some_and(f64::is_sign_negative));
        assert!(parse(b"-0x0").is_some_and(f64::is_sign_negative));
    }

    #[test]
    fn weights_are_within_range() {
        for text in ["", "1\0x", " 1", "0x1p-1074", "-inf", "2.2250738585072014e-308"] {
            assert!(parse_weight(text.as_bytes()).is_some(), "{text:?}");
        }
        for text in [" ", "1 ", "nan", "1e400", "-1e400", "1e-400", "1e-310", "0x1p-1075", "a"] {
            assert_eq!(parse_weight(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn hexadecimal_rounds_to_nearest_even() {
        for (text, value) in [
            ("0x1.00000000000008p0", 1.0),
            ("0x1.00000000000018p0", 1.0000000000000004),
            ("0x1.000000000000080000000000000000001p0", 1.0000000000000002),
            ("0x0.0000000000001p-1022", 5e-324),
            ("0x1p-1074", 5e-324),
            ("0x1.8p-1074", 1e-323),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x123456789abcdef0123456789", 90144042682896311822508713865.0),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["0x1p1024", "0x1.fffffffffffff8p1023", "0x1p-1075", "0x1p99999999999999999999"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
