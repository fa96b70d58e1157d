//! What a handler answers, before it becomes bytes of one protocol or the other.

use tarn_resp::{Protocol, encode};

use crate::error::Error;

/// A place in the command's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: usize,
    pub len: usize,
}

impl Span {
    pub fn of<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        arena.get(self.start..self.start + self.len).unwrap_or(&[])
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The part behind the first `skip` bytes.
    pub fn behind(&self, skip: usize) -> Span {
        let skip = skip.min(self.len);
        Span { start: self.start + skip, len: self.len - skip }
    }
}

/// Bytes of a reply: in the arena on the hot path, owned where they were made for the occasion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bytes {
    Span(Span),
    Static(&'static [u8]),
    Owned(Vec<u8>),
}

impl From<&'static str> for Bytes {
    fn from(text: &'static str) -> Bytes {
        Bytes::Static(text.as_bytes())
    }
}

#[derive(Debug, Clone)]
pub enum Reply {
    Simple(&'static str),
    /// A simple string that was made for the occasion: without line ends.
    Status(String),
    Integer(i64),
    Bulk(Bytes),
    Nil,
    NilArray,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
    Set(Vec<Reply>),
    Push(Vec<Reply>),
    Double(f64),
    Boolean(bool),
    BigNumber(&'static str),
    Verbatim(&'static [u8; 3], Vec<u8>),
    /// An error inside an array.
    Error(Error),
    /// Nothing is sent.
    Silent,
}

impl Reply {
    pub const OK: Reply = Reply::Simple("OK");

    pub fn bulk(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::Bulk(Bytes::Owned(bytes.into()))
    }

    pub fn text(bytes: &'static str) -> Reply {
        Reply::Bulk(Bytes::Static(bytes.as_bytes()))
    }

    pub fn span(span: Span) -> Reply {
        Reply::Bulk(Bytes::Span(span))
    }

    /// `:1` or `:0`, as Redis answers yes and no to RESP2 and RESP3 clients alike.
    pub fn flag(yes: bool) -> Reply {
        Reply::Integer(i64::from(yes))
    }

    pub fn bulks<T: Into<Vec<u8>>>(items: impl IntoIterator<Item = T>) -> Reply {
        Reply::Array(items.into_iter().map(Reply::bulk).collect())
    }

    pub fn write(&self, protocol: Protocol, arena: &[u8], out: &mut Vec<u8>) {
        match self {
            Reply::Simple(text) => encode::simple(out, text),
            Reply::Status(text) => encode::simple(out, text),
            Reply::Integer(n) => encode::integer(out, *n),
            Reply::Bulk(Bytes::Span(span)) => encode::bulk(out, span.of(arena)),
            Reply::Bulk(Bytes::Static(bytes)) => encode::bulk(out, bytes),
            Reply::Bulk(Bytes::Owned(bytes)) => encode::bulk(out, bytes),
            Reply::Nil => encode::null(out, protocol),
            Reply::NilArray => encode::null_array(out, protocol),
            Reply::Array(items) => {
                encode::array_len(out, items.len());
                write_all(items, protocol, arena, out);
            }
            Reply::Map(pairs) => {
                encode::map_len(out, protocol, pairs.len());
                for (name, value) in pairs {
                    name.write(protocol, arena, out);
                    value.write(protocol, arena, out);
                }
            }
            Reply::Set(items) => {
                encode::set_len(out, protocol, items.len());
                write_all(items, protocol, arena, out);
            }
            Reply::Push(items) => {
                encode::push_len(out, protocol, items.len());
                write_all(items, protocol, arena, out);
            }
            Reply::Double(x) => encode::double(out, protocol, *x),
            Reply::Boolean(yes) => encode::boolean(out, protocol, *yes),
            Reply::BigNumber(digits) => encode::big_number(out, protocol, digits),
            Reply::Verbatim(format, text) => encode::verbatim(out, protocol, format, text),
            Reply::Error(error) => encode::error_bytes(out, &error.wire()),
            Reply::Silent => {}
        }
    }
}

fn write_all(items: &[Reply], protocol: Protocol, arena: &[u8], out: &mut Vec<u8>) {
    for item in items {
        item.write(protocol, arena, out);
    }
}
