//! Replies, appended to a buffer.
//!
//! Each function writes one element. A collection is its header followed by its elements, written
//! by further calls; a map's header counts pairs. Types that RESP2 lacks go out as Redis 7.0 sends
//! them to clients of RESP2.

mod double;
#[cfg(test)]
mod tests;

use crate::Protocol;

pub use double::double_text;

/// `+OK`. The text is the server's own and holds no line ends.
pub fn simple(out: &mut Vec<u8>, text: &str) {
    line(out, b'+', text.as_bytes());
}

/// `-ERR no such thing`: `text` starts with the error's code. Line ends in it become blanks,
/// those at its end go.
pub fn error(out: &mut Vec<u8>, text: &str) {
    error_bytes(out, text.as_bytes());
}

/// [`error`] for a text that quotes a client's bytes.
pub fn error_bytes(out: &mut Vec<u8>, text: &[u8]) {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let len = text.iter().rposition(|byte| !is_line_end(byte)).map_or(0, |last| last + 1);
    out.push(b'-');
    out.extend(text.iter().take(len).map(|byte| if is_line_end(byte) { b' ' } else { *byte }));
    out.extend_from_slice(b"\r\n");
}

/// `:42`
#[inline]
pub fn integer(out: &mut Vec<u8>, value: i64) {
    match value {
        0 => out.extend_from_slice(b":0\r\n"),
        1 => out.extend_from_slice(b":1\r\n"),
        _ => number(out, b':', value),
    }
}

/// `$3`, `foo`
#[inline]
pub fn bulk(out: &mut Vec<u8>, value: &[u8]) {
    out.reserve(value.len() + HEADER_ROOM);
    count(out, b'$', value.len());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// What a string begins with: `$3`. Its bytes and a line's end come behind.
pub fn bulk_len(out: &mut Vec<u8>, len: usize) {
    count(out, b'$', len);
}

/// An integer as a string, as the commands that store numbers return it: `$2`, `42`.
#[inline]
pub fn bulk_integer(out: &mut Vec<u8>, value: i64) {
    bulk(out, itoa::Buffer::new().format(value).as_bytes());
}

/// No value: `$-1` or `_`.
#[inline]
pub fn null(out: &mut Vec<u8>, protocol: Protocol) {
    out.extend_from_slice(match protocol {
        Protocol::Resp2 => b"$-1\r\n",
        Protocol::Resp3 => b"_\r\n",
    });
}

/// No array: `*-1` or `_`.
#[inline]
pub fn null_array(out: &mut Vec<u8>, protocol: Protocol) {
    out.extend_from_slice(match protocol {
        Protocol::Resp2 => b"*-1\r\n",
        Protocol::Resp3 => b"_\r\n",
    });
}

/// Header of an array: `*2`.
#[inline]
pub fn array_len(out: &mut Vec<u8>, len: usize) {
    count(out, b'*', len);
}

/// Header of a map of `pairs` keys and values: `%2`, in RESP2 `*4`.
#[inline]
pub fn map_len(out: &mut Vec<u8>, protocol: Protocol, pairs: usize) {
    match protocol {
        Protocol::Resp2 => count(out, b'*', pairs * 2),
        Protocol::Resp3 => count(out, b'%', pairs),
    }
}

/// Header of a set: `~2`, in RESP2 `*2`.
#[inline]
pub fn set_len(out: &mut Vec<u8>, protocol: Protocol, len: usize) {
    count(out, if protocol == Protocol::Resp2 { b'*' } else { b'~' }, len);
}

/// Header of a message that answers no command: `>3`, in RESP2 `*3`.
#[inline]
pub fn push_len(out: &mut Vec<u8>, protocol: Protocol, len: usize) {
    count(out, if protocol == Protocol::Resp2 { b'*' } else { b'>' }, len);
}

/// `,1.5`, in RESP2 a string.
pub fn double(out: &mut Vec<u8>, protocol: Protocol, value: f64) {
    let mut text = double::Text::new();
    let text = text.format(value);
    match protocol {
        Protocol::Resp2 => bulk(out, text),
        Protocol::Resp3 => line(out, b',', text),
    }
}

/// As [`double()`] for a finite number, spelt without an exponent: up to 17 digits behind the point.
pub fn decimal(out: &mut Vec<u8>, protocol: Protocol, value: f64) {
    let long = format!("{value:.17}");
    let text = long.trim_end_matches('0').trim_end_matches('.');
    spelt(out, protocol, if text == "-0" { b"0" } else { text.as_bytes() });
}

/// As [`double()`] for a number that is spelt already.
pub fn spelt(out: &mut Vec<u8>, protocol: Protocol, text: &[u8]) {
    match protocol {
        Protocol::Resp2 => bulk(out, text),
        Protocol::Resp3 => line(out, b',', text),
    }
}

/// `(123`, in RESP2 a string. `digits` is a decimal integer of any size.
pub fn big_number(out: &mut Vec<u8>, protocol: Protocol, digits: &str) {
    match protocol {
        Protocol::Resp2 => bulk(out, digits.as_bytes()),
        Protocol::Resp3 => line(out, b'(', digits.as_bytes()),
    }
}

/// `#t`, in RESP2 `:1`.
pub fn boolean(out: &mut Vec<u8>, protocol: Protocol, value: bool) {
    out.extend_from_slice(match (protocol, value) {
        (Protocol::Resp2, false) => b":0\r\n",
        (Protocol::Resp2, true) => b":1\r\n",
        (Protocol::Resp3, false) => b"#f\r\n",
        (Protocol::Resp3, true) => b"#t\r\n",
    });
}

/// A text to be shown as it is, with its format (`txt`, `mkd`): `=7`, `txt:foo`; in RESP2 a string.
pub fn verbatim(out: &mut Vec<u8>, protocol: Protocol, format: &[u8; 3], text: &[u8]) {
    match protocol {
        Protocol::Resp2 => bulk(out, text),
        Protocol::Resp3 => {
            out.reserve(text.len() + HEADER_ROOM);
            count(out, b'=', text.len() + 4);
            out.extend_from_slice(format);
            out.push(b':');
            out.extend_from_slice(text);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// More than a type byte, a count, `txt:` and two line ends take.
const HEADER_ROOM: usize = 32;

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.reserve(text.len() + 3);
    out.push(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// A type byte and a count. Most counts have one digit or two.
#[inline]
fn count(out: &mut Vec<u8>, kind: u8, len: usize) {
    if len < 10 {
        out.extend_from_slice(&[kind, b'0' + len as u8, b'\r', b'\n']);
    } else if len < 100 {
        out.extend_from_slice(&[kind, b'0' + (len / 10) as u8, b'0' + (len % 10) as u8, b'\r', b'\n']);
    } else {
        number(out, kind, len as i64);
    }
}

fn number(out: &mut Vec<u8>, kind: u8, value: i64) {
    line(out, kind, itoa::Buffer::new().format(value).as_bytes());
}
