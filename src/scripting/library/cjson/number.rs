//! Numbers as the C library writes and reads them.

use std::ffi::c_int;

use crate::scripting::library::buffer::Buffer;

/// Enough for 14 digits, a sign, a point and an exponent.
const TEXT_BYTES: usize = 32;
/// Digits that a double holds exactly, whatever they are.
const EXACT_DIGITS: usize = 15;

/// Appends a number with so many digits: `%.14g`.
pub fn write(json: &mut Buffer<'_>, number: f64, precision: c_int) {
    let whole = number as i64;
    if whole as f64 == number && number.abs() < 10_f64.powi(precision) && !is_negative_zero(number) {
        json.extend(itoa::Buffer::new().format(whole).as_bytes());
        return;
    }
    let mut text = [0_u8; TEXT_BYTES];
    // SAFETY: at most so many bytes are written, and the values are those that the format names.
    let len =
        unsafe { libc::snprintf(text.as_mut_ptr().cast(), TEXT_BYTES, c"%.*g".as_ptr(), precision, number) };
    json.extend(text.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default());
}

fn is_negative_zero(number: f64) -> bool {
    number == 0.0 && number.is_sign_negative()
}

/// Reads a number from the start of `text` and says how many bytes it has; `None` if there is none. It takes what C takes:
/// also hexadecimal, infinity and NaN. `text` must end with a zero.
pub fn read(text: &[u8]) -> Option<(f64, usize)> {
    if text.last() != Some(&0) {
        return None;
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = text.get(digits).copied().unwrap_or(0);
    if (1..=EXACT_DIGITS).contains(&digits) && !matches!(behind, b'.' | b'e' | b'E' | b'x' | b'X') {
        let value = text.iter().take(digits).fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Some((value as f64, digits));
    }
    let start = text.as_ptr().cast();
    let mut end = std::ptr::null_mut();
    // SAFETY: there is a zero, so the text ends for C too; what comes back points into it.
    let (value, len) = unsafe {
        let value = libc::strtod(start, &raw mut end);
        (value, end.cast_const().offset_from(start))
    };
    usize::try_from(len).ok().filter(|len| *len > 0).map(|len| (value, len))
}
