//! The pieces of a reply: a scalar, or the header of a collection.

use memchr::memchr;

use super::{DecodeError, Decoder, Kind, Value};
use crate::number::parse_i64;

pub(super) enum Token {
    Leaf(Value),
    /// A collection and its number of elements, keys and values counted apart.
    Open(Kind, usize),
}

/// Reads the token at the start of `buf`; `None` if it is not whole. `scanned` bytes are known to
/// hold no line end, and are counted on when there is none yet.
pub(super) fn read(buf: &[u8], scanned: &mut usize) -> Result<Option<(Token, usize)>, DecodeError> {
    let Some((&kind, _)) = buf.split_first() else { return Ok(None) };
    if !b"+-!:$*%~>,#(_=|".contains(&kind) {
        return Err(DecodeError::UnknownType(kind));
    }
    let Some((line, next)) = line(buf, scanned)? else { return Ok(None) };
    let token = match kind {
        b'+' => Token::Leaf(Value::Simple(line.to_vec())),
        b'-' => Token::Leaf(Value::Error(line.to_vec())),
        b':' => Token::Leaf(Value::Integer(integer(line)?)),
        b'_' if line.is_empty() => Token::Leaf(Value::Null),
        b'#' => Token::Leaf(Value::Boolean(match line {
            b"t" => true,
            b"f" => false,
            _ => return Err(DecodeError::BadValue),
        })),
        b',' if parse_f64(line).is_some() => Token::Leaf(Value::Double(line.to_vec())),
        b'(' if is_big_number(line) => Token::Leaf(Value::BigNumber(line.to_vec())),
        b'$' if line == b"-1" => Token::Leaf(Value::NilBulk),
        b'*' if line == b"-1" => Token::Leaf(Value::NilArray),
        b'$' | b'!' | b'=' => {
            let len = count(line, Decoder::MAX_BULK_LEN)?;
            let Some((bytes, end)) = blob(buf, next, len)? else { return Ok(None) };
            let value = match kind {
                b'$' => Value::Bulk(bytes.to_vec()),
                b'!' => Value::BulkError(bytes.to_vec()),
                _ => verbatim(bytes)?,
            };
            return Ok(Some((Token::Leaf(value), end)));
        }
        b'*' => Token::Open(Kind::Array, count(line, usize::MAX)?),
        b'~' => Token::Open(Kind::Set, count(line, usize::MAX)?),
        b'>' => Token::Open(Kind::Push, count(line, usize::MAX)?),
        b'%' => Token::Open(Kind::Map, elements(line)?),
        b'|' => Token::Open(Kind::Attribute, elements(line)?),
        _ => return Err(DecodeError::BadValue),
    };
    Ok(Some((token, next)))
}

/// What follows the type byte, and where the next line starts.
fn line<'a>(buf: &'a [u8], scanned: &mut usize) -> Result<Option<(&'a [u8], usize)>, DecodeError> {
    let seen = (*scanned).max(1);
    let Some(end) = buf.get(seen..).and_then(|fresh| memchr(b'\r', fresh)).map(|at| seen + at) else {
        *scanned = buf.len();
        return Ok(None);
    };
    *scanned = end;
    match buf.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some((buf.get(1..end).unwrap_or_default(), end + 2))),
        Some(_) => Err(DecodeError::BadLineEnd),
    }
}

/// `len` bytes from `start` and their line end, and where the next line starts.
fn blob(buf: &[u8], start: usize, len: usize) -> Result<Option<(&[u8], usize)>, DecodeError> {
    let end = start + len;
    let (Some(bytes), Some(tail)) = (buf.get(start..end), buf.get(end..)) else { return Ok(None) };
    match tail {
        [b'\r', b'\n', ..] => Ok(Some((bytes, end + 2))),
        [] | [b'\r'] => Ok(None),
        _ => Err(DecodeError::BadLineEnd),
    }
}

fn integer(line: &[u8]) -> Result<i64, DecodeError> {
    parse_i64(line).ok_or(DecodeError::BadNumber)
}

fn count(line: &[u8], max: usize) -> Result<usize, DecodeError> {
    usize::try_from(integer(line)?).ok().filter(|len| *len <= max).ok_or(DecodeError::BadLength)
}

fn elements(line: &[u8]) -> Result<usize, DecodeError> {
    count(line, usize::MAX)?.checked_mul(2).ok_or(DecodeError::BadLength)
}

fn verbatim(bytes: &[u8]) -> Result<Value, DecodeError> {
    match bytes {
        [a, b, c, b':', text @ ..] => Ok(Value::Verbatim { format: [*a, *b, *c], text: text.to_vec() }),
        _ => Err(DecodeError::BadValue),
    }
}

pub(super) fn parse_f64(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_big_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
