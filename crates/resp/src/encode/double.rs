//! Doubles as Redis 7.0 prints them in replies: C's `%.17g`.

/// Significant digits: enough that every double reads back as itself.
const DIGITS: i32 = 17;

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
            self.put(if value.is_sign_negative() { b"-nan" } else { b"nan" });
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
        // d.dddddddddddddddde[-]x, correctly rounded.
        let scientific = format!("{:.*e}", (DIGITS - 1) as usize, value.abs());
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let mut digits = mantissa.bytes().filter(|byte| *byte != b'.').collect::<Vec<u8>>();
        let significant = digits.iter().rposition(|byte| *byte != b'0').map_or(1, |last| last + 1);
        digits.truncate(significant);

        if value.is_sign_negative() {
            self.put(b"-");
        }
        if (-4..0).contains(&exponent) {
            self.put(b"0.");
            self.put(b"000".get(..(-1 - exponent) as usize).unwrap_or_default());
            self.put(&digits);
        } else if (0..DIGITS).contains(&exponent) {
            let whole = exponent as usize + 1;
            if digits.len() < whole {
                digits.resize(whole, b'0');
            }
            self.put_pointed(&digits, whole);
        } else {
            self.put_pointed(&digits, 1);
            self.put(if exponent < 0 { b"e-" } else { b"e+" });
            if exponent.abs() < 10 {
                self.put(b"0");
            }
            self.put(itoa::Buffer::new().format(exponent.abs()).as_bytes());
        }
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
