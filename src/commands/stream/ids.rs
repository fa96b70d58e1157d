//! Ids as clients write them, and ranges of them.

use crate::error::{Error, Result};
use crate::number;
use crate::types::stream::Id;

/// Longer words are no ids.
const MAX_LEN: usize = 127;

/// The id that XADD is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewId {
    /// `*`
    Auto,
    /// `ms-*`
    In(u64),
    Exact(Id),
}

fn invalid() -> Error {
    Error::reply("ERR Invalid stream ID specified as stream command argument")
}

/// An id of which the second part may be left out.
pub fn id(word: &[u8], missing_seq: u64) -> Result<Id> {
    parse(word, missing_seq).ok_or_else(|| invalid().into())
}

/// As [`id`], or `-` and `+` for the least and the greatest one.
pub fn open_id(word: &[u8], missing_seq: u64) -> Result<Id> {
    match text(word) {
        Some(b"-") => Ok(Id::MIN),
        Some(b"+") => Ok(Id::MAX),
        _ => id(word, missing_seq),
    }
}

/// An id that may have the least free number of its millisecond.
pub fn new_id(word: &[u8]) -> Result<NewId> {
    if text(word) == Some(b"*") {
        return Ok(NewId::Auto);
    }
    match text(word).and_then(|text| text.strip_suffix(b"-*")) {
        // What is in front of the first dash is the time.
        Some(ms) => unsigned(ms).map(NewId::In).ok_or_else(|| invalid().into()),
        None => id(word, 0).map(NewId::Exact),
    }
}

/// The least id of a range; `(` leaves it out.
pub fn start(word: &[u8]) -> Result<Id> {
    match word {
        [b'(', rest @ ..] if !rest.is_empty() => {
            id(rest, 0)?.next().ok_or_else(|| Error::reply("ERR invalid start ID for the interval").into())
        }
        _ => open_id(word, 0),
    }
}

/// The greatest id of a range; `(` leaves it out.
pub fn end(word: &[u8]) -> Result<Id> {
    match word {
        [b'(', rest @ ..] if !rest.is_empty() => id(rest, u64::MAX)?
            .prev()
            .ok_or_else(|| Error::reply("ERR invalid end ID for the interval").into()),
        _ => open_id(word, u64::MAX),
    }
}

pub fn parse(word: &[u8], missing_seq: u64) -> Option<Id> {
    let text = text(word)?;
    let Some(dash) = text.iter().position(|byte| *byte == b'-') else {
        return Some(Id::new(unsigned(text)?, missing_seq));
    };
    let (ms, seq) = text.split_at_checked(dash)?;
    Some(Id::new(unsigned(ms)?, unsigned(seq.get(1..)?)?))
}

/// A word up to its first zero byte, as Redis reads it; None where it is too long.
fn text(word: &[u8]) -> Option<&[u8]> {
    if word.len() > MAX_LEN {
        return None;
    }
    word.split(|byte| *byte == 0).next()
}

/// As C reads a number that is not negative: with spaces in front, a sign, and zeros.
fn unsigned(text: &[u8]) -> Option<u64> {
    if let Some(canonical) = number::parse_i64(text) {
        return u64::try_from(canonical).ok();
    }
    let text = text.get(text.iter().position(|byte| !matches!(byte, b' ' | b'\t'..=b'\r'))?..)?;
    let (digits, is_negated) = match text {
        [b'-', digits @ ..] => (digits, true),
        [b'+', digits @ ..] => (digits, false),
        digits => (digits, false),
    };
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    Some(if is_negated { value.wrapping_neg() } else { value })
}

/// As it is sent.
pub fn shown(id: Id) -> IdText {
    let mut text = IdText { bytes: [0; IdText::MAX], len: 0 };
    text.push(itoa::Buffer::new().format(id.ms).as_bytes());
    text.push(b"-");
    text.push(itoa::Buffer::new().format(id.seq).as_bytes());
    text
}

/// An id as text, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct IdText {
    bytes: [u8; IdText::MAX],
    len: usize,
}

impl IdText {
    /// Two numbers of 64 bits and a dash.
    const MAX: usize = 20 + 1 + 20;

    fn push(&mut self, part: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + part.len()) {
            room.copy_from_slice(part);
            self.len += part.len();
        }
    }
}

impl std::ops::Deref for IdText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_redis_reads_them() {
        for (word, expected) in [
            (&b"1-2"[..], Some(Id::new(1, 2))),
            (b"1", Some(Id::new(1, 7))),
            (b"01-002", Some(Id::new(1, 2))),
            (b" 1-+2", Some(Id::new(1, 2))),
            (b"1-\x002", None),
            (b"1-2\0x", Some(Id::new(1, 2))),
            (b"18446744073709551615-18446744073709551615", Some(Id::MAX)),
            (b"18446744073709551616-0", None),
            (b"-1-1", None),
            (b"1--1", None),
            (b"1-2-3", None),
            (b"", None),
            (b"-", None),
            (b"+", None),
            (b"1-", None),
            (b"a-1", None),
            (b"1 -1", None),
        ] {
            assert_eq!(parse(word, 7), expected, "{}", word.escape_ascii());
        }
        assert_eq!(parse(&[b'0'; 127], 7), Some(Id::new(0, 7)));
        assert_eq!(parse(&[b'0'; 128], 7), None);
    }

    #[test]
    fn new_ids_may_leave_something_open() {
        let new = |word: &str| new_id(word.as_bytes()).ok();
        assert_eq!(new("*"), Some(NewId::Auto));
        assert_eq!(new("5-*"), Some(NewId::In(5)));
        assert_eq!(new("5"), Some(NewId::Exact(Id::new(5, 0))));
        assert_eq!(new("5-6"), Some(NewId::Exact(Id::new(5, 6))));
        assert_eq!(["-*", "x-*", "1-2-*", "+", "-", "**"].map(new), [None; 6]);
    }

    #[test]
    fn ids_are_shown_whole() {
        assert_eq!(*shown(Id::new(0, 1)), *b"0-1");
        assert_eq!(*shown(Id::MAX), *b"18446744073709551615-18446744073709551615");
    }
}
