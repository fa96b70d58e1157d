//! Inline commands: a line of words, as typed into telnet, with the quoting of redis-cli.

use memchr::memchr2;

use super::{Parsed, Parser};
use crate::args::Arg;
use crate::error::ProtocolError;
use crate::limits::Limits;

impl Parser {
    pub(super) fn inline(&mut self, buf: &[u8], limits: &Limits) -> Result<Parsed, ProtocolError> {
        let seen = self.scanned as usize;
        let found = memchr2(b'\n', 0, buf.get(seen..).unwrap_or_default()).map(|at| seen + at);
        let Some(end) = found.filter(|&at| buf.get(at) == Some(&b'\n')) else {
            // Nothing yet, or a NUL byte, beyond which Redis does not look.
            if buf.len() > limits.line() {
                return Err(ProtocolError::TooBigInline);
            }
            self.scanned = found.unwrap_or(buf.len()) as u32;
            return Ok(Parsed::Incomplete { need: 1 });
        };
        if end > limits.line() {
            return Err(ProtocolError::TooBigInline);
        }
        let line = buf.get(..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if memchr2(b'"', b'\'', line).is_none() {
            self.plain_words(line);
        } else {
            let unescaped = &mut self.unescaped.get_or_insert_default().0;
            quoted_words(line, unescaped, &mut self.args).ok_or(ProtocolError::UnbalancedQuotes)?;
        }
        let consumed = end + 1;
        Ok(if self.args.is_empty() { Parsed::Empty { consumed } } else { Parsed::Command { consumed } })
    }

    /// Words without quotes stay where they are.
    fn plain_words(&mut self, line: &[u8]) {
        let mut pos = 0;
        while let Some(start) = word_start(line, pos) {
            let rest = line.get(start..).unwrap_or_default();
            let len = rest.iter().position(|&byte| ends_word(byte)).unwrap_or(rest.len());
            self.args.push(Arg { start, len });
            pos = start + len;
        }
    }
}

/// C's `isspace`, which separates words.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// What ends a word without quotes; Redis forgets the vertical tab and the form feed here.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn word_start(line: &[u8], pos: usize) -> Option<usize> {
    let rest = line.get(pos..)?;
    rest.iter().position(|&byte| !is_space(byte)).map(|skipped| pos + skipped)
}

/// Splits `line` into words, unescaped into `out`. `None` if quotes do not balance.
fn quoted_words(line: &[u8], out: &mut Vec<u8>, args: &mut Vec<Arg>) -> Option<()> {
    let mut pos = 0;
    while let Some(at) = word_start(line, pos) {
        let start = out.len();
        pos = quoted_word(line, at, out)?;
        args.push(Arg { start, len: out.len() - start });
    }
    Some(())
}

/// Unescapes the word at `pos`; returns where it ends. A quote may open anywhere in a word, and
/// closing it ends the word.
fn quoted_word(line: &[u8], mut pos: usize, out: &mut Vec<u8>) -> Option<usize> {
    loop {
        match line.get(pos) {
            None => return Some(pos),
            Some(b'"') => return double_quoted(line, pos + 1, out),
            Some(b'\'') => return single_quoted(line, pos + 1, out),
            Some(&byte) if ends_word(byte) => return Some(pos),
            Some(&byte) => out.push(byte),
        }
        pos += 1;
    }
}

fn double_quoted(line: &[u8], mut pos: usize, out: &mut Vec<u8>) -> Option<usize> {
    loop {
        let (byte, len) = match line.get(pos..)? {
            [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (hex(*high) << 4 | hex(*low), 4)
            }
            [b'\\', escaped, ..] => (unescape(*escaped), 2),
            [b'"', rest @ ..] => return closed(rest, pos),
            [byte, ..] => (*byte, 1),
            [] => return None,
        };
        out.push(byte);
        pos += len;
    }
}

fn single_quoted(line: &[u8], mut pos: usize, out: &mut Vec<u8>) -> Option<usize> {
    loop {
        let (byte, len) = match line.get(pos..)? {
            [b'\\', b'\'', ..] => (b'\'', 2),
            [b'\'', rest @ ..] => return closed(rest, pos),
            [byte, ..] => (*byte, 1),
            [] => return None,
        };
        out.push(byte);
        pos += len;
    }
}

/// A closing quote at `pos` must be the end of its word.
fn closed(rest: &[u8], pos: usize) -> Option<usize> {
    rest.first().is_none_or(|&byte| is_space(byte)).then_some(pos + 1)
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn unescape(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}
