//! Replies, read back: for tests, the differential tester and tools.
//!
//! [`Value`] keeps what was on the wire, so that two values are equal only if their bytes were (but
//! for the spelling of counts). Its one-line text form is described in [`mod@text`].

#[cfg(test)]
mod tests;
pub mod text;
mod token;

use crate::Protocol;
use token::Token;

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `+OK`
    Simple(Vec<u8>),
    /// `-ERR ...`
    Error(Vec<u8>),
    /// `!21`, an error that may hold any bytes (RESP3).
    BulkError(Vec<u8>),
    /// `:1`
    Integer(i64),
    /// `$3`
    Bulk(Vec<u8>),
    /// `$-1` (RESP2)
    NilBulk,
    /// `*-1` (RESP2)
    NilArray,
    /// `_` (RESP3)
    Null,
    /// `*2`
    Array(Vec<Value>),
    /// `%2` (RESP3)
    Map(Vec<(Value, Value)>),
    /// `~2` (RESP3)
    Set(Vec<Value>),
    /// `>2` (RESP3)
    Push(Vec<Value>),
    /// `,1.5` (RESP3), as it was spelt.
    Double(Vec<u8>),
    /// `#t` (RESP3)
    Boolean(bool),
    /// `(123` (RESP3)
    BigNumber(Vec<u8>),
    /// `=7`, `txt:foo` (RESP3)
    Verbatim { format: [u8; 3], text: Vec<u8> },
    /// `|1` and pairs, then the value they are about (RESP3).
    Attributed { attributes: Vec<(Value, Value)>, value: Box<Value> },
}

impl Value {
    /// Whether a server may send this, with all that is in it, to a client of `protocol`.
    ///
    /// The text form writes `$-1` and `_` alike; this tells a wrong one apart.
    pub fn fits(&self, protocol: Protocol) -> bool {
        let both = |pairs: &[(Value, Value)]| pairs.iter().all(|(k, v)| k.fits(protocol) && v.fits(protocol));
        match self {
            Self::Simple(_) | Self::Error(_) | Self::Integer(_) | Self::Bulk(_) => true,
            Self::NilBulk | Self::NilArray => protocol == Protocol::Resp2,
            Self::Array(items) => items.iter().all(|item| item.fits(protocol)),
            Self::Set(items) | Self::Push(items) => {
                protocol == Protocol::Resp3 && items.iter().all(|item| item.fits(protocol))
            }
            Self::Map(pairs) => protocol == Protocol::Resp3 && both(pairs),
            Self::Attributed { attributes, value } => {
                protocol == Protocol::Resp3 && both(attributes) && value.fits(protocol)
            }
            Self::BulkError(_)
            | Self::Null
            | Self::Double(_)
            | Self::Boolean(_)
            | Self::BigNumber(_)
            | Self::Verbatim { .. } => protocol == Protocol::Resp3,
        }
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_) | Self::BulkError(_))
    }

    /// The number that a [`Value::Double`] spells.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Double(text) => token::parse_f64(text),
            _ => None,
        }
    }
}

/// Bytes that are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("unknown type byte {:?}", char::from(*.0))]
    UnknownType(u8),
    #[error("a line does not end in CR LF")]
    BadLineEnd,
    #[error("a count or an integer is not a number")]
    BadNumber,
    #[error("a count is negative or too large")]
    BadLength,
    #[error("a double, big number, boolean, null or verbatim string is malformed")]
    BadValue,
    #[error("collections are nested more than {} deep", Decoder::MAX_DEPTH)]
    TooDeep,
}

/// Reads replies from a stream that arrives in pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The collections that are open, outermost first.
    open: Vec<Collection>,
    /// How much of the token at the start of the buffer is known not to hold its line's end.
    scanned: usize,
}

#[derive(Debug)]
struct Collection {
    kind: Kind,
    /// Elements still to come; keys and values count apart.
    missing: usize,
    items: Vec<Value>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Array,
    Map,
    Set,
    Push,
    /// The pairs of an attribute.
    Attribute,
    /// Attributes have been read into `items`; the value they are about is missing.
    Attributed,
}

/// What one call of [`Decoder::decode`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes that are done with; the next call is given what follows them.
    pub consumed: usize,
    /// A whole reply, if one was completed.
    pub value: Option<Value>,
}

impl Decoder {
    /// How deep collections may be nested.
    pub const MAX_DEPTH: usize = 64;
    /// The longest string that is read, in bytes.
    pub const MAX_BULK_LEN: usize = 512 << 20;
    /// Elements for which room is made on a count's word alone.
    const MAX_RESERVED: usize = 64;

    pub fn new() -> Self {
        Self::default()
    }

    /// Reads on, up to the end of one reply. Give the bytes after `consumed` again, with more.
    pub fn decode(&mut self, buf: &[u8]) -> Result<Decoded, DecodeError> {
        let mut consumed = 0;
        loop {
            let rest = buf.get(consumed..).unwrap_or_default();
            let Some((token, len)) = token::read(rest, &mut self.scanned)? else {
                return Ok(Decoded { consumed, value: None });
            };
            self.scanned = 0;
            consumed += len;
            let value = match token {
                Token::Leaf(value) => Some(value),
                Token::Open(kind, missing) => self.open(kind, missing)?,
            };
            if let Some(value) = value.and_then(|value| self.close(value)) {
                return Ok(Decoded { consumed, value: Some(value) });
            }
        }
    }

    /// Starts a collection; one without elements is a value already.
    fn open(&mut self, kind: Kind, missing: usize) -> Result<Option<Value>, DecodeError> {
        if self.open.len() >= Self::MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        let kind = if missing == 0 && matches!(kind, Kind::Attribute) { Kind::Attributed } else { kind };
        let missing = if matches!(kind, Kind::Attributed) { 1 } else { missing };
        let collection =
            Collection { kind, missing, items: Vec::with_capacity(missing.min(Self::MAX_RESERVED)) };
        if missing == 0 {
            return Ok(Some(collection.finish()));
        }
        self.open.push(collection);
        Ok(None)
    }

    /// Puts a finished value where it belongs, and closes what that finishes. Returns a whole reply.
    fn close(&mut self, mut value: Value) -> Option<Value> {
        while let Some(mut collection) = self.open.pop() {
            collection.items.push(value);
            collection.missing -= 1;
            if collection.missing == 0 && matches!(collection.kind, Kind::Attribute) {
                collection.kind = Kind::Attributed;
                collection.missing = 1;
            }
            if collection.missing > 0 {
                self.open.push(collection);
                return None;
            }
            value = collection.finish();
        }
        Some(value)
    }
}

impl Collection {
    fn finish(self) -> Value {
        match self.kind {
            Kind::Array => Value::Array(self.items),
            Kind::Set => Value::Set(self.items),
            Kind::Push => Value::Push(self.items),
            Kind::Map => Value::Map(pairs(self.items)),
            Kind::Attribute | Kind::Attributed => {
                let mut items = self.items;
                let value = Box::new(items.pop().unwrap_or(Value::Null));
                Value::Attributed { attributes: pairs(items), value }
            }
        }
    }
}

fn pairs(items: Vec<Value>) -> Vec<(Value, Value)> {
    let mut items = items.into_iter();
    std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
}

/// The first reply in `buf` and its length, if it is whole.
pub fn one(buf: &[u8]) -> Result<Option<(Value, usize)>, DecodeError> {
    let decoded = Decoder::new().decode(buf)?;
    Ok(decoded.value.map(|value| (value, decoded.consumed)))
}

/// All whole replies in `buf`, and the length of what they take.
pub fn all(buf: &[u8]) -> Result<(Vec<Value>, usize), DecodeError> {
    let (mut values, mut end) = (Vec::new(), 0);
    while let Some((value, len)) = one(buf.get(end..).unwrap_or_default())? {
        values.push(value);
        end += len;
    }
    Ok((values, end))
}
