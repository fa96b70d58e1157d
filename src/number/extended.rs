//! Floating point with the 64 significant bits of x87's extended format, which is what INCRBYFLOAT of redis-server
//! computes with. Reading, adding and printing round exactly as the C library and the processor do there: to the
//! nearest, halves to even.

use super::big::Big;

/// Longest text that is read as a number.
pub const MAX_TEXT_LEN: usize = 5 * 1024 - 1;

/// The exponent of the lowest bit of the smallest number.
const MIN_EXPONENT: i32 = -16_445;
/// The exponent of the lowest bit of the largest numbers.
const MAX_EXPONENT: i32 = 16_320;
/// Decimal exponents beyond these give infinity and zero, whatever the digits.
const MAX_DECIMAL: i64 = 4_940;
const MIN_DECIMAL: i64 = -4_970;
/// Digits behind the point that are printed.
const DECIMALS: usize = 17;

/// A number. What is not a number never arises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extended {
    Finite(Finite),
    Infinite,
}

/// `mantissa * 2^exponent`, the mantissa's top bit set unless it is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finite {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

/// A sum that is no number or not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFinite;

impl Finite {
    const ZERO: Finite = Finite { negative: false, mantissa: 0, exponent: 0 };

    /// `bits * 2^exponent`, and a little more if `sticky`, rounded; None when it is too large.
    fn rounded(negative: bool, bits: u128, exponent: i32, sticky: bool) -> Option<Finite> {
        let length = 128 - bits.leading_zeros() as i32;
        // Bits that do not fit: beyond 64, or below the smallest number's.
        let excess = (length - 64).max(MIN_EXPONENT - exponent).clamp(0, 128) as u32;
        let kept = bits.checked_shr(excess).unwrap_or(0);
        let below = bits ^ kept.checked_shl(excess).unwrap_or(0);
        let half = if excess == 0 { 0 } else { 1u128 << (excess - 1) };
        let up = excess > 0 && (below > half || (below == half && (sticky || kept & 1 == 1)));
        Finite::normal(negative, kept + u128::from(up), exponent + excess as i32)
    }

    /// The same number with the mantissa's top bit set. `mantissa` is at most 2^64.
    fn normal(negative: bool, mantissa: u128, exponent: i32) -> Option<Finite> {
        if mantissa == 0 {
            return Some(Finite { negative, ..Finite::ZERO });
        }
        let shift = mantissa.leading_zeros() as i32 - 64;
        let mantissa = if shift < 0 { mantissa >> 1 } else { mantissa << shift };
        let exponent = exponent - shift;
        (exponent <= MAX_EXPONENT).then_some(Finite { negative, mantissa: mantissa as u64, exponent })
    }

    /// The sum, rounded; None when it is too large.
    fn plus(self, other: Finite) -> Option<Finite> {
        match (self.mantissa, other.mantissa) {
            (0, 0) => return Some(Finite { negative: self.negative && other.negative, ..Finite::ZERO }),
            (0, _) => return Some(other),
            (_, 0) => return Some(self),
            _ => {}
        }
        let size = |number: Finite| (number.exponent, number.mantissa);
        let (large, small) = if size(self) >= size(other) { (self, other) } else { (other, self) };
        // Room below the larger one: what falls out of it only decides on which side of a half the sum is.
        const ROOM: u32 = 62;
        let distance = large.exponent.abs_diff(small.exponent);
        let exact = u128::from(small.mantissa) << ROOM;
        let shifted = exact.checked_shr(distance).unwrap_or(0);
        let lost = shifted.checked_shl(distance).unwrap_or(0) != exact;
        let larger = u128::from(large.mantissa) << ROOM;
        let sum = match large.negative == small.negative {
            true => larger + shifted,
            false => larger - shifted - u128::from(lost),
        };
        if sum == 0 {
            return Some(Finite::ZERO);
        }
        Finite::rounded(large.negative, sum, large.exponent - ROOM as i32, lost)
    }
}

impl Extended {
    pub const ZERO: Extended = Extended::Finite(Finite::ZERO);
    pub const MAX: Extended =
        Extended::Finite(Finite { negative: false, mantissa: u64::MAX, exponent: MAX_EXPONENT });

    /// Reads a number as C's `strtold` does, the whole text and nothing else. What is too large or, not being zero,
    /// too small is no number.
    pub fn parse(text: &[u8]) -> Option<Extended> {
        if text.len() > MAX_TEXT_LEN {
            return None;
        }
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") {
            return Some(Extended::Infinite);
        }
        let finite = match text {
            [b'0', b'x' | b'X', rest @ ..] => parse_hex(negative, rest),
            rest => parse_decimal(negative, rest),
        };
        finite.map(Extended::Finite)
    }

    /// The sum, rounded.
    pub fn plus(self, other: Extended) -> Result<Extended, NotFinite> {
        match (self, other) {
            (Extended::Finite(a), Extended::Finite(b)) => a.plus(b).map(Extended::Finite).ok_or(NotFinite),
            _ => Err(NotFinite),
        }
    }

    /// The same with the other sign.
    pub fn negated(self) -> Extended {
        match self {
            Extended::Finite(number) => Extended::Finite(Finite { negative: !number.negative, ..number }),
            Extended::Infinite => Extended::Infinite,
        }
    }

    /// Whether it is less than the other; false where either is not finite.
    pub fn is_less(self, other: Extended) -> bool {
        let (Extended::Finite(a), Extended::Finite(b)) = (self, other) else { return false };
        let size = |number: Finite| match number.mantissa {
            0 => (i32::MIN, 0),
            mantissa => (number.exponent, mantissa),
        };
        let negative = |number: Finite| number.negative && number.mantissa != 0;
        match (negative(a), negative(b)) {
            (false, false) => size(a) < size(b),
            (true, true) => size(b) < size(a),
            (a_negative, _) => a_negative,
        }
    }

    /// As C's `%.17Lf` prints it, without trailing zeros; minus zero is zero.
    pub fn print(self) -> Vec<u8> {
        let Extended::Finite(Finite { negative, mantissa, exponent }) = self else { return b"inf".to_vec() };
        let mut number = Big::from(mantissa);
        let decimals = match usize::try_from(exponent) {
            Ok(exponent) => {
                number.shift_left(exponent);
                0
            }
            Err(_) => {
                number.multiply_by_ten_to(DECIMALS);
                number.shift_right_rounded(exponent.unsigned_abs() as usize);
                DECIMALS
            }
        };
        let mut digits = number.digits();
        if digits.is_empty() {
            return b"0".to_vec();
        }
        // At least one digit in front of the point.
        if digits.len() <= decimals {
            digits.splice(0..0, std::iter::repeat_n(b'0', decimals + 1 - digits.len()));
        }
        let behind = digits.split_off(digits.len() - decimals);
        let behind = without_trailing_zeros(&behind);
        let mut out = Vec::with_capacity(digits.len() + behind.len() + 2);
        if negative {
            out.push(b'-');
        }
        out.extend_from_slice(&digits);
        if !behind.is_empty() {
            out.push(b'.');
            out.extend_from_slice(behind);
        }
        out
    }
}

fn without_trailing_zeros(digits: &[u8]) -> &[u8] {
    let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    digits.get(..kept).unwrap_or(&[])
}

/// Digits around a point, and the exponent behind the marker.
struct Spelling {
    digits: Vec<u8>,
    /// How many of the digits stand behind the point.
    behind_point: i64,
    exponent: i64,
}

/// Takes text apart: digits, at most one point among them, then maybe the marker and a signed decimal exponent.
fn spelling(text: &[u8], marker: u8, value: fn(u8) -> Option<u8>) -> Option<Spelling> {
    let mut digits = Vec::new();
    let mut point = None;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if let Some(digit) = value(byte) {
            digits.push(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(digits.len());
        } else {
            break;
        }
        at += 1;
    }
    if digits.is_empty() {
        return None;
    }
    let behind_point = point.map_or(0, |point| (digits.len() - point) as i64);
    let exponent = match text.get(at..)? {
        [] => 0,
        [byte, rest @ ..] if byte.eq_ignore_ascii_case(&marker) => {
            let (sign, rest) = match rest {
                [b'-', rest @ ..] => (-1, rest),
                [b'+', rest @ ..] => (1, rest),
                rest => (1, rest),
            };
            if rest.is_empty() || !rest.iter().all(u8::is_ascii_digit) {
                return None;
            }
            // Beyond any number that can be met by digits of this length.
            rest.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1_000_000_000)) * sign
        }
        _ => return None,
    };
    Some(Spelling { digits, behind_point, exponent })
}

fn parse_decimal(negative: bool, text: &[u8]) -> Option<Finite> {
    let Spelling { digits, behind_point, exponent } =
        spelling(text, b'e', |byte| byte.is_ascii_digit().then(|| byte - b'0'))?;
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let significant = digits.get(zeros..)?;
    if significant.is_empty() {
        return Some(Finite { negative, ..Finite::ZERO });
    }
    let power = exponent - behind_point;
    let magnitude = significant.len() as i64 + power;
    if !(MIN_DECIMAL..=MAX_DECIMAL).contains(&magnitude) {
        return None;
    }
    let mut number = Big::default();
    for part in significant.chunks(9) {
        let value = part.iter().fold(0u32, |n, digit| n * 10 + u32::from(*digit));
        number.multiply_add(10u32.pow(part.len() as u32), value);
    }
    let parsed = match usize::try_from(power) {
        Ok(power) => {
            number.multiply_by_ten_to(power);
            from_big(negative, &number, 0)
        }
        Err(_) => {
            let mut divisor = Big::from(1);
            divisor.multiply_by_ten_to(power.unsigned_abs() as usize);
            // Enough bits for a quotient of at least 66.
            let shift = (divisor.bits() + 67).saturating_sub(number.bits());
            number.shift_left(shift);
            if number.bits() > divisor.bits() + 120 {
                divide_large(negative, number, &divisor, shift)
            } else {
                let (quotient, rest) = number.divide(&divisor);
                Finite::rounded(negative, quotient, -(shift as i32), rest)
            }
        }
    };
    not_vanished(parsed)
}

/// A quotient above 128 bits: the divisor grows until the quotient fits, with the bits below as the rest.
fn divide_large(negative: bool, number: Big, divisor: &Big, shift: usize) -> Option<Finite> {
    let more = number.bits() - divisor.bits() - 100;
    let mut divisor = divisor.clone();
    divisor.shift_left(more);
    let (quotient, rest) = number.divide(&divisor);
    Finite::rounded(negative, quotient, more as i32 - shift as i32, rest)
}

fn parse_hex(negative: bool, text: &[u8]) -> Option<Finite> {
    let Spelling { digits, behind_point, exponent } =
        spelling(text, b'p', |byte| char::from(byte).to_digit(16).map(|digit| digit as u8))?;
    let mut number = Big::default();
    for digit in digits {
        number.multiply_add(16, u32::from(digit));
    }
    if number.is_zero() {
        return Some(Finite { negative, ..Finite::ZERO });
    }
    let exponent = exponent - 4 * behind_point;
    let top = exponent + number.bits() as i64;
    if top > i64::from(MAX_EXPONENT) + 64 || top < i64::from(MIN_EXPONENT) - 64 {
        return None;
    }
    not_vanished(from_big(negative, &number, i32::try_from(exponent).ok()?))
}

fn from_big(negative: bool, number: &Big, exponent: i32) -> Option<Finite> {
    let cut = number.bits().saturating_sub(100);
    Finite::rounded(negative, number.window(cut), exponent + cut as i32, number.any_below(cut))
}

/// Something that has become zero by rounding is refused.
fn not_vanished(parsed: Option<Finite>) -> Option<Finite> {
    parsed.filter(|number| number.mantissa != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> String {
        let parse = |text: &str| Extended::parse(text.as_bytes()).unwrap();
        String::from_utf8(parse(a).plus(parse(b)).unwrap().print()).unwrap()
    }

    /// What redis-server answers.
    #[test]
    fn numbers_are_in_order() {
        let numbers: Vec<Extended> = ["-1e30", "-2", "-1.5", "-0.1", "0", "1e-30", "0.1", "1.5", "2", "1e30"]
            .iter()
            .map(|text| Extended::parse(text.as_bytes()).unwrap())
            .collect();
        for (i, a) in numbers.iter().enumerate() {
            for (j, b) in numbers.iter().enumerate() {
                assert_eq!(a.is_less(*b), i < j, "{i} {j}");
            }
        }
        let zero = Extended::parse(b"-0").unwrap();
        assert!(!zero.is_less(Extended::ZERO) && !Extended::ZERO.is_less(zero));
        assert!(!Extended::Infinite.is_less(Extended::ZERO) && !Extended::ZERO.is_less(Extended::Infinite));
    }

    #[test]
    fn sums_of_the_real_server() {
        assert_eq!(sum("10.50", "0.1"), "10.6");
        assert_eq!(sum("0.1", "0.2"), "0.3");
        assert_eq!(sum("1", "0.00000000000000001"), "1.00000000000000001");
        assert_eq!(sum("0", "1e-18"), "0");
        assert_eq!(sum("0", "-1e-18"), "0");
        assert_eq!(sum("1e18", "0.5"), "1000000000000000000.5");
        assert_eq!(sum("0", "1e30"), "1000000000000000000024696061952");
        assert_eq!(sum("0", "36893488147419103231"), "36893488147419103232");
        assert_eq!(sum("0", "1234567890.123456789"), "1234567890.12345678894780576");
        assert_eq!(sum("0", "123456789012345.678901234"), "123456789012345.67890167236328125");
        assert_eq!(sum("0", "0x1p3"), "8");
        assert_eq!(sum("0", "0x.8"), "0.5");
        assert_eq!(sum("-1.5", "1.5"), "0");
        assert_eq!(sum("1e19", "-1"), "9999999999999999999");
        assert_eq!(sum("1e20", "-1"), "100000000000000000000");
        assert_eq!(sum("4.9e-324", "0"), "0");
    }

    #[test]
    fn only_numbers_are_read() {
        for bad in [
            "",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "1e+",
            " 1",
            "1 ",
            "1,5",
            "nan",
            "abc",
            "1.2.3",
            "0x",
            "0xg",
            "0x1p",
            "1e4933",
            "1e-4970",
            "1e99999999999999999999",
            "--1",
            "infinit",
            "1_0",
            "0x1p16384",
            "0x1p-16447",
        ] {
            assert_eq!(Extended::parse(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(Extended::parse(&[b'1'; MAX_TEXT_LEN + 1]), None);
        assert!(Extended::parse(&[b'0'; MAX_TEXT_LEN]).is_some());
        for good in
            ["1.", ".5", "+1", "0e99999999999", "0x1P+3", "1E5", "InF", "-infinity", "3.7e-4951", "1.18e4932"]
        {
            assert!(Extended::parse(good.as_bytes()).is_some(), "{good:?}");
        }
    }

    #[test]
    fn what_is_not_finite() {
        let parse = |text: &str| Extended::parse(text.as_bytes()).unwrap();
        assert_eq!(parse("inf").plus(parse("1")), Err(NotFinite));
        assert_eq!(parse("inf").plus(parse("-inf")), Err(NotFinite));
        assert_eq!(parse("1.18e4932").plus(parse("1.18e4932")), Err(NotFinite));
    }
}
