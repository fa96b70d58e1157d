//! Replies as they were on the wire, and the one-line notation that tests write them in.
//!
//! This reader is independent of the server's own RESP code, so that a mistake there cannot hide itself here.

use std::fmt;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Int(i64),
    Bulk(Vec<u8>),
    /// `$-1`, RESP2's missing string.
    NilBulk,
    /// `*-1`, RESP2's missing array.
    NilArray,
    /// `_`, RESP3's only nil.
    Null,
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Set(Vec<Value>),
    Push(Vec<Value>),
    Bool(bool),
    /// The number's text, since tests compare what was written.
    Double(Vec<u8>),
    BigNumber(Vec<u8>),
    /// The format (`txt`, `mkd`) and the text.
    Verbatim(Vec<u8>, Vec<u8>),
}

impl Value {
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Value {
        Value::Bulk(bytes.as_ref().to_vec())
    }

    pub fn ok() -> Value {
        Value::Simple(b"OK".to_vec())
    }

    pub fn is_nil(&self) -> bool {
        matches!(self, Value::NilBulk | Value::NilArray | Value::Null)
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error(_))
    }

    /// The bytes of a string of any kind.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Simple(b) | Value::Bulk(b) | Value::Verbatim(_, b) => Some(b),
            _ => None,
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The elements of an array, a set or a push message.
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::Array(v) | Value::Set(v) | Value::Push(v) => Some(v),
            _ => None,
        }
    }
}

/// Reads one value off the front: the value and the bytes it took, or `None` when it is not complete.
pub fn decode(buf: &[u8]) -> Result<Option<(Value, usize)>, String> {
    let mut reader = Reader { buf, at: 0 };
    Ok(reader.value()?.map(|value| (value, reader.at)))
}

struct Reader<'a> {
    buf: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.buf[self.at..];
        let end = rest.windows(2).position(|w| w == b"\r\n")?;
        self.at += end + 2;
        Some(&rest[..end])
    }

    fn number(line: &[u8]) -> Result<i64, String> {
        let text = std::str::from_utf8(line).map_err(|e| e.to_string())?;
        text.parse().map_err(|e| format!("{text:?}: {e}"))
    }

    fn bytes(&mut self, len: i64) -> Result<Option<Vec<u8>>, String> {
        let len = usize::try_from(len).map_err(|_| format!("length {len}"))?;
        let Some(body) = self.buf.get(self.at..self.at + len + 2) else { return Ok(None) };
        if &body[len..] != b"\r\n" {
            return Err("a string does not end in CRLF".into());
        }
        self.at += len + 2;
        Ok(Some(body[..len].to_vec()))
    }

    fn items(&mut self, count: i64) -> Result<Option<Vec<Value>>, String> {
        let mut items = Vec::new();
        for _ in 0..count {
            let Some(item) = self.value()? else { return Ok(None) };
            items.push(item);
        }
        Ok(Some(items))
    }

    fn value(&mut self) -> Result<Option<Value>, String> {
        let Some(line) = self.line() else { return Ok(None) };
        let (&kind, line) = line.split_first().ok_or("an empty line in place of a value")?;
        Ok(Some(match kind {
            b'+' => Value::Simple(line.to_vec()),
            b'-' => Value::Error(line.to_vec()),
            b':' => Value::Int(Self::number(line)?),
            b',' => Value::Double(line.to_vec()),
            b'(' => Value::BigNumber(line.to_vec()),
            b'_' => Value::Null,
            b'#' => Value::Bool(line == b"t"),
            b'$' | b'=' | b'!' => match Self::number(line)? {
                -1 if kind == b'$' => Value::NilBulk,
                len => {
                    let Some(body) = self.bytes(len)? else { return Ok(None) };
                    match kind {
                        b'$' => Value::Bulk(body),
                        b'!' => Value::Error(body),
                        _ if body.get(3) == Some(&b':') => {
                            Value::Verbatim(body[..3].to_vec(), body[4..].to_vec())
                        }
                        _ => return Err("a verbatim string without a format".into()),
                    }
                }
            },
            b'*' | b'~' | b'>' => match Self::number(line)? {
                -1 if kind == b'*' => Value::NilArray,
                count => {
                    let Some(items) = self.items(count)? else { return Ok(None) };
                    match kind {
                        b'*' => Value::Array(items),
                        b'~' => Value::Set(items),
                        _ => Value::Push(items),
                    }
                }
            },
            b'%' => {
                let Some(items) = self.items(Self::number(line)? * 2)? else { return Ok(None) };
                let mut items = items.into_iter();
                let mut pairs = Vec::new();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    pairs.push((key, value));
                }
                Value::Map(pairs)
            }
            other => return Err(format!("a value that starts with byte {other:#x}")),
        }))
    }
}

/// `"text"` with escapes; a long run of one byte is written `"x"*4096`.
pub fn quote(bytes: &[u8]) -> String {
    use fmt::Write;
    if bytes.len() > 64 && bytes.windows(2).all(|w| w[0] == w[1]) {
        return format!("{}*{}", quote(&bytes[..1]), bytes.len());
    }
    let mut out = String::from("\"");
    for &b in bytes {
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            0x20..=0x7e => out.push(b as char),
            _ => write!(out, "\\x{b:02x}").unwrap(),
        }
    }
    out.push('"');
    out
}

fn plain(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|b| b.is_ascii_graphic() && !b"]})\"".contains(b))
}

fn list(f: &mut fmt::Formatter<'_>, open: &str, items: &[Value], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(" ")?;
        }
        write!(f, "{item:#}")?;
    }
    f.write_str(close)
}

/// The notation. Inside a collection (`{:#}`) errors and status texts are quoted where they hold spaces.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Simple(b) | Value::Error(b) => {
                let sign = if matches!(self, Value::Error(_)) { '-' } else { '+' };
                if plain(b) {
                    write!(f, "{sign}{}", String::from_utf8_lossy(b))
                } else if f.alternate() || b != b.trim_ascii() || !b.iter().all(|b| (0x20..0x7f).contains(b))
                {
                    write!(f, "{sign}{}", quote(b))
                } else {
                    write!(f, "{sign}{}", String::from_utf8_lossy(b))
                }
            }
            Value::Int(n) => write!(f, ":{n}"),
            Value::Bulk(b) => f.write_str(&quote(b)),
            Value::NilBulk | Value::Null => f.write_str("nil"),
            Value::NilArray => f.write_str("nil[]"),
            Value::Bool(b) => f.write_str(if *b { "#t" } else { "#f" }),
            Value::Double(b) => write!(f, ",{}", String::from_utf8_lossy(b)),
            Value::BigNumber(b) => write!(f, "({}", String::from_utf8_lossy(b)),
            Value::Verbatim(kind, b) => write!(f, "={}:{}", String::from_utf8_lossy(kind), quote(b)),
            Value::Array(items) => list(f, "[", items, "]"),
            Value::Set(items) => list(f, "#{", items, "}"),
            Value::Push(items) => list(f, ">[", items, "]"),
            Value::Map(pairs) => {
                let flat: Vec<Value> =
                    pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
                list(f, "{", &flat, "}")
            }
        }
    }
}

/// As in the notation: failed assertions are read by people.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
