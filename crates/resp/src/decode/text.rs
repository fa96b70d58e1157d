//! Replies as one line of text, the `Display` of [`Value`]. Tests are written in it.
//!
//! | reply | text |
//! |---|---|
//! | simple string | `+OK` |
//! | error | `-ERR syntax error` |
//! | integer | `:2` |
//! | string | `"foo"`, with the escapes of redis-cli: `\\` `\"` `\n` `\r` `\t` `\a` `\b` `\xHH` |
//! | `$-1` and `_` | `nil` ([`Value::fits`] tells whether it was the right one) |
//! | `*-1` | `nil-array` |
//! | array | `["a" :1 nil]`, empty `[]` |
//! | map | `{"a" :1 "b" :2}` |
//! | set | `~["a" "b"]` |
//! | push | `>["message" "c" "m"]` |
//! | double | `,1.5` |
//! | boolean | `#t` `#f` |
//! | big number | `(123` |
//! | verbatim string | `=txt:"foo"` |
//! | error of any bytes | `!"ERR foo"` |
//! | attributes and their value | `\|{"ttl" :3} "foo"` |
//!
//! Elements are parted by one blank. Simple strings and errors are printed as they are but for
//! bytes that do not print and backslashes, which are escaped as in strings.

use std::fmt::{self, Display, Formatter, Write};

use super::Value;

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(text) => write!(f, "+{}", Escaped(text)),
            Self::Error(text) => write!(f, "-{}", Escaped(text)),
            Self::BulkError(text) => write!(f, "!{}", Quoted(text)),
            Self::Integer(value) => write!(f, ":{value}"),
            Self::Bulk(bytes) => write!(f, "{}", Quoted(bytes)),
            Self::NilBulk | Self::Null => f.write_str("nil"),
            Self::NilArray => f.write_str("nil-array"),
            Self::Array(items) => list(f, "[", items, ']'),
            Self::Set(items) => list(f, "~[", items, ']'),
            Self::Push(items) => list(f, ">[", items, ']'),
            Self::Map(pairs) => list(f, "{", pairs.iter().flat_map(|(k, v)| [k, v]), '}'),
            Self::Double(text) => write!(f, ",{}", Escaped(text)),
            Self::Boolean(value) => f.write_str(if *value { "#t" } else { "#f" }),
            Self::BigNumber(digits) => write!(f, "({}", Escaped(digits)),
            Self::Verbatim { format, text } => write!(f, "={}:{}", Escaped(format), Quoted(text)),
            Self::Attributed { attributes, value } => {
                list(f, "|{", attributes.iter().flat_map(|(k, v)| [k, v]), '}')?;
                write!(f, " {value}")
            }
        }
    }
}

fn list<'a>(
    f: &mut Formatter<'_>,
    open: &str,
    items: impl IntoIterator<Item = &'a Value>,
    close: char,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_char(' ')?;
        }
        write!(f, "{item}")?;
    }
    f.write_char(close)
}

/// Bytes in double quotes, as redis-cli prints strings.
pub struct Quoted<'a>(pub &'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for &byte in self.0 {
            if byte == b'"' { f.write_str("\\\"")? } else { escape(f, byte)? }
        }
        f.write_char('"')
    }
}

/// Bytes without quotes around them, on one line.
struct Escaped<'a>(&'a [u8]);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&byte| escape(f, byte))
    }
}

fn escape(f: &mut Formatter<'_>, byte: u8) -> fmt::Result {
    match byte {
        b'\\' => f.write_str("\\\\"),
        b'\n' => f.write_str("\\n"),
        b'\r' => f.write_str("\\r"),
        b'\t' => f.write_str("\\t"),
        0x07 => f.write_str("\\a"),
        0x08 => f.write_str("\\b"),
        b' '..=b'~' => f.write_char(char::from(byte)),
        _ => write!(f, "\\x{byte:02x}"),
    }
}
