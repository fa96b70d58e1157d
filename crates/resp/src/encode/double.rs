//! Doubles as Redis 7.0 prints them in replies: C's `%.17g`.

use std::fmt::{self, Write};

use crate::number::parse_i64;

/// Significant digits: enough that every double reads back as itself.
const DIGITS: usize = 17;

/// Longest text: sign, digit, point, 16 digits, `e-308`.
const MAX_LEN: usize = 24;

/// Appends `value` as Redis 7.0 prints it: 17 significant digits, no trailing zeros; `inf`, `-inf`, `nan`.
pub fn double_text(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(Text::new().format(value));
}

/// Room for one printed double.
pub(super) struct Text {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl Text {
    pub(super) fn new() -> Self {
        Self { bytes: [0; MAX_LEN], len: 0 }
    }

    pub(super) fn format(&mut self, value: f64) -> &[u8] {
        self.len = 0;
        if value.is_nan() {
            // Never `-nan`, which the protocol does not know (and Redis 7.0 may send).
            self.put(b"nan");
        } else if value.is_infinite() {
            self.put(if value > 0.0 { b"inf" } else { b"-inf" });
        } else if value.trunc() == value && value.abs() < 1e17 && !(value == 0.0 && value.is_sign_negative())
        {
            self.put(itoa::Buffer::new().format(value as i64).as_bytes());
        } else {
            self.general(value);
        }
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// `%.17g`: the exponent decides between plain and scientific, trailing zeros go.
    fn general(&mut self, value: f64) {
        // d.dddddddddddddddde[-]x, correctly rounded, as C does it.
        let mut scientific = Text::new();
        let _ = write!(scientific, "{:.*e}", DIGITS - 1, value.abs());
        let (mantissa, exponent) = scientific.split_exponent();
        // Without the point; as long as any of the shapes below can need.
        let mut digits = [b'0'; DIGITS];
        for (digit, byte) in digits.iter_mut().zip(mantissa.iter().filter(|byte| **byte != b'.')) {
            *digit = *byte;
        }
        let significant = digits.iter().rposition(|byte| *byte != b'0').map_or(1, |last| last + 1);

        if value.is_sign_negative() {
            self.put(b"-");
        }
        if (-4..0).contains(&exponent) {
            self.put(b"0.");
            self.put(b"000".get(..(-1 - exponent) as usize).unwrap_or_default());
            self.put(digits.get(..significant).unwrap_or_default());
        } else if (0..DIGITS as i32).contains(&exponent) {
            let whole = exponent as usize + 1;
            self.put_pointed(digits.get(..significant.max(whole)).unwrap_or_default(), whole);
        } else {
            self.put_pointed(digits.get(..significant).unwrap_or_default(), 1);
            self.put(if exponent < 0 { b"e-" } else { b"e+" });
            if exponent.abs() < 10 {
                self.put(b"0");
            }
            self.put(itoa::Buffer::new().format(exponent.abs()).as_bytes());
        }
    }

    fn split_exponent(&self) -> (&[u8], i32) {
        let text = self.bytes.get(..self.len).unwrap_or_default();
        let at = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
        let (mantissa, exponent) = text.split_at_checked(at).unwrap_or((text, &[]));
        let exponent = exponent.get(1..).and_then(parse_i64).unwrap_or_default();
        (mantissa, exponent as i32)
    }

    fn put_pointed(&mut self, digits: &[u8], whole: usize) {
        let (whole, fraction) = digits.split_at_checked(whole).unwrap_or((digits, &[]));
        self.put(whole);
        if !fraction.is_empty() {
            self.put(b".");
            self.put(fraction);
        }
    }

    fn put(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(text);
            self.len = end;
        }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}
