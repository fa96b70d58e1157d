//! What a handler answers, before it becomes bytes of one protocol or the other.

mod arena;

use std::ops::Range;

use tarn_resp::{Protocol, encode};

pub use self::arena::{Arena, CHUNK_BYTES, Chunks};
use crate::error::{Error, Result};

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

/// Strings and numbers that stand one behind the other in the arena, as they are sent: a reply of any number of them without a
/// value for each. Made by [`Packer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    shape: Shape,
    count: usize,
    /// The chunks of the arena that they begin with.
    chunks: (usize, usize),
    at: Span,
    /// All of them are the same in every protocol.
    plain: bool,
}

/// In place of a string that is not there.
const NIL: u8 = b'_';
/// In place of a string: eight bytes of a double follow.
const DOUBLE: u8 = b',';
/// In place of a string: eight bytes of a double follow, which is spelt without an exponent.
const DECIMAL: u8 = b'.';
/// In place of an array that is not there.
const NIL_ARRAY: u8 = b'!';
/// Above this the arena becomes the reply, rather than being copied into it.
const HANDED_OVER_BYTES: usize = 64 * 1024;

/// What packed strings are to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Array,
    Set,
    /// Names and values by turns.
    Map,
    /// As [`Shape::Map`], but to RESP3 clients an array of pairs: names may come twice, or their order counts.
    Pairs,
    /// An array of pairs to every client.
    Nested,
    /// Just the one that there is.
    One,
}

/// Gathers strings for a reply. It has the arena meanwhile, so what is read for it goes elsewhere.
#[derive(Debug, Default)]
pub struct Packer {
    arena: Arena,
    start: usize,
    first_chunk: usize,
    count: usize,
    /// What is still to come of arrays that have begun.
    inside: usize,
    /// Something came that is not the same in every protocol.
    mixed: bool,
    /// It has a buffer of its own.
    is_beside: bool,
}

impl Packer {
    pub fn begin(arena: &mut Arena) -> Packer {
        let (start, arena) = (arena.len(), std::mem::take(arena));
        Packer { start, first_chunk: arena.chunk_count(), arena, ..Packer::default() }
    }

    /// As [`Packer::begin`], but what is in the arena stays at hand. For long replies.
    pub fn beside(arena: &mut Arena) -> Packer {
        let arena = arena.beside();
        Packer { first_chunk: arena.chunk_count(), arena, is_beside: true, ..Packer::default() }
    }

    /// One more was put.
    #[inline]
    fn counted(&mut self) {
        match self.inside {
            0 => self.count += 1,
            _ => self.inside -= 1,
        }
        if self.arena.len() - self.start > CHUNK_BYTES {
            self.arena.cut(self.start);
        }
    }

    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.len() > CHUNK_BYTES {
            return self.push_long(bytes);
        }
        encode::bulk(&mut self.arena, bytes);
        self.counted();
    }

    /// A chunk of its own, of the right size at once.
    #[cold]
    fn push_long(&mut self, bytes: &[u8]) {
        if self.arena.len() > self.start {
            self.arena.cut(self.start);
        }
        self.arena.reserve_exact(bytes.len() + 32);
        encode::bulk(&mut self.arena, bytes);
        self.counted();
    }

    /// Whether there is room for so much more.
    pub fn ask(&mut self, more: u64) -> Result<()> {
        self.arena.ask(usize::try_from(more).unwrap_or(usize::MAX))
    }

    /// A long string that `read` appends part by part.
    pub fn push_parts(
        &mut self,
        len: u64,
        mut read: impl FnMut(Range<u64>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let whole = usize::try_from(len).unwrap_or(usize::MAX);
        self.arena.ask(whole)?;
        encode::bulk_len(&mut self.arena, whole);
        let part = CHUNK_BYTES as u64;
        for start in (0..len).step_by(CHUNK_BYTES) {
            let range = start..(start + part).min(len);
            read(range, &mut self.arena)?;
            if self.arena.len() - self.start > CHUNK_BYTES {
                self.arena.cut(self.start);
            }
        }
        self.arena.extend_from_slice(b"\r\n");
        self.counted();
        Ok(())
    }

    /// A place without a string.
    pub fn push_nil(&mut self) {
        self.arena.push(NIL);
        self.mixed = true;
        self.counted();
    }

    /// A place without an array.
    pub fn push_nil_array(&mut self) {
        self.arena.push(NIL_ARRAY);
        self.mixed = true;
        self.counted();
    }

    /// A number in place of a string.
    pub fn push_double(&mut self, number: f64) {
        self.push_number(DOUBLE, number);
    }

    /// As [`Packer::push_double`], spelt with up to 17 digits behind the point and no exponent.
    pub fn push_decimal(&mut self, number: f64) {
        self.push_number(DECIMAL, number);
    }

    fn push_number(&mut self, mark: u8, number: f64) {
        self.arena.push(mark);
        self.arena.extend_from_slice(&number.to_be_bytes());
        self.mixed = true;
        self.counted();
    }

    /// An integer in place of a string.
    pub fn push_integer(&mut self, number: i64) {
        encode::integer(&mut self.arena, number);
        self.counted();
    }

    /// An array of what is pushed next, so many times.
    pub fn push_array(&mut self, len: usize) {
        encode::array_len(&mut self.arena, len);
        self.counted();
        self.inside += len;
    }

    /// An array of a string and an integer in place of a string.
    pub fn push_pair(&mut self, bytes: &[u8], number: i64) {
        self.push_array(2);
        self.push(bytes);
        self.push_integer(number);
    }

    /// Bytes that are there.
    pub fn bytes(&self) -> usize {
        let chunks = self.arena.chunks(self.first_chunk, self.arena.chunk_count());
        chunks.iter().map(Vec::len).sum::<usize>() + self.arena.len() - self.start
    }

    /// How many items there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Gives the arena back.
    pub fn finish(self, arena: &mut Arena, shape: Shape) -> Reply {
        let chunks = (self.first_chunk, self.arena.chunk_count());
        let (len, mut start) = (self.arena.len() - self.start, self.start);
        if self.is_beside {
            start = arena.join(self.arena);
        } else {
            *arena = self.arena;
        }
        let at = Span { start, len };
        Reply::Packed(Packed { shape, count: self.count, chunks, at, plain: !self.mixed })
    }
}

/// A place in packed items.
#[derive(Default)]
struct Within {
    /// The next one is the second of a pair.
    is_value: bool,
    /// Bytes that are still to come of the item before.
    item_left: usize,
}

impl Packed {
    fn write(&self, protocol: Protocol, arena: &Arena, out: &mut Vec<u8>) {
        self.write_len(protocol, out);
        let mut at = Within::default();
        for chunk in arena.chunks(self.chunks.0, self.chunks.1) {
            self.write_items(protocol, chunk, &mut at, out);
        }
        self.write_items(protocol, self.at.of(arena), &mut at, out);
    }

    /// The items of a chunk, the first and the last of which may be in others as well.
    fn write_items(&self, protocol: Protocol, items: &[u8], at: &mut Within, out: &mut Vec<u8>) {
        let in_pairs = self.is_nested(protocol);
        if self.plain && !in_pairs {
            out.extend_from_slice(items);
            return;
        }
        let (begun, mut rest) = items.split_at(at.item_left.min(items.len()));
        out.extend_from_slice(begun);
        at.item_left -= begun.len();
        while let Some(first) = rest.first() {
            if in_pairs && !at.is_value {
                encode::array_len(out, 2);
            }
            at.is_value = !at.is_value;
            rest = match *first {
                NIL => {
                    encode::null(out, protocol);
                    rest.get(1..).unwrap_or_default()
                }
                NIL_ARRAY => {
                    encode::null_array(out, protocol);
                    rest.get(1..).unwrap_or_default()
                }
                mark @ (DOUBLE | DECIMAL) => {
                    let behind = rest.get(1..).unwrap_or_default();
                    let (number, behind) = behind.split_first_chunk().unwrap_or((&[0; 8], &[]));
                    let number = f64::from_be_bytes(*number);
                    match mark {
                        DOUBLE => encode::double(out, protocol, number),
                        _ => encode::decimal(out, protocol, number),
                    }
                    behind
                }
                _ => {
                    let len = item_len(rest);
                    let (item, behind) = rest.split_at(len.min(rest.len()));
                    at.item_left = len - item.len();
                    out.extend_from_slice(item);
                    behind
                }
            };
        }
    }

    fn write_len(&self, protocol: Protocol, out: &mut Vec<u8>) {
        match self.shape {
            Shape::Array => encode::array_len(out, self.count),
            Shape::Set => encode::set_len(out, protocol, self.count),
            Shape::Map => encode::map_len(out, protocol, self.count / 2),
            _ if self.is_nested(protocol) => encode::array_len(out, self.count / 2),
            Shape::Pairs | Shape::Nested => encode::array_len(out, self.count),
            Shape::One => {}
        }
    }

    /// Makes the arena the reply, where it is long and nothing stands in front: it is never kept twice. Whether it was.
    fn hand_over(&self, protocol: Protocol, arena: &mut Arena, out: &mut Vec<u8>) -> bool {
        let is_whole = self.plain && !self.is_nested(protocol) && self.chunks.0 == self.chunks.1;
        if !out.is_empty() || !is_whole || self.at.len <= HANDED_OVER_BYTES {
            return false;
        }
        arena.truncate(self.at.start + self.at.len);
        self.write_len(protocol, out);
        arena.splice(..self.at.start, out.drain(..));
        std::mem::swap(&mut **arena, out);
        true
    }

    /// Leaves a long reply in the chunks that it was made in, behind what is written to `out`.
    fn hand_over_chunks(&self, protocol: Protocol, arena: &mut Arena, out: &mut Vec<u8>) -> Chunks {
        self.write_len(protocol, out);
        let mut chunks = arena.take_chunks();
        chunks.push(arena.take_bytes(self.at));
        if self.plain && !self.is_nested(protocol) {
            return chunks;
        }
        let mut at = Within::default();
        for chunk in &mut chunks {
            let mut spelt = Vec::with_capacity(chunk.len());
            self.write_items(protocol, chunk, &mut at, &mut spelt);
            *chunk = spelt;
        }
        chunks
    }

    /// Whether the client gets pairs as arrays of two.
    fn is_nested(&self, protocol: Protocol) -> bool {
        self.shape == Shape::Nested || self.shape == Shape::Pairs && protocol == Protocol::Resp3
    }
}

/// The length of what the bytes begin with, as it is on the wire: a bulk string with its length, or a line.
fn item_len(bytes: &[u8]) -> usize {
    let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    if bytes.first() != Some(&b'$') {
        return line;
    }
    let digits = bytes.iter().take(line).filter(|byte| byte.is_ascii_digit());
    let len =
        digits.fold(0_usize, |len, digit| len.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
    len.saturating_add(line + b"\r\n".len())
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
    Packed(Packed),
    Map(Vec<(Reply, Reply)>),
    /// A map to RESP3 clients, an array of pairs to others.
    Pairs(Vec<(Reply, Reply)>),
    Set(Vec<Reply>),
    Push(Vec<Reply>),
    Double(f64),
    /// A number that is spelt already.
    Number(Vec<u8>),
    Boolean(bool),
    BigNumber(&'static str),
    Verbatim(&'static [u8; 3], Vec<u8>),
    /// An error inside an array.
    Error(Error),
    /// A whole reply, in the protocol of the caller: what a script has returned.
    Encoded(Vec<u8>),
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

    /// Whether a client takes it for an error.
    #[inline]
    pub fn is_error(&self) -> bool {
        match self {
            Reply::Encoded(bytes) => bytes.first() == Some(&b'-'),
            Reply::Error(_) => true,
            _ => false,
        }
    }

    /// As [`Reply::write`] where the arena is not needed any more: a long reply takes its place over. If `chunks` are given, a very long
    /// one is handed over there, and is to be sent behind `out`.
    pub fn write_out(
        &self,
        protocol: Protocol,
        arena: &mut Arena,
        out: &mut Vec<u8>,
        chunks: Option<&mut Chunks>,
    ) {
        match (self, chunks) {
            (Reply::Packed(packed), Some(chunks)) if packed.chunks.0 < packed.chunks.1 => {
                *chunks = packed.hand_over_chunks(protocol, arena, out);
            }
            (Reply::Bulk(Bytes::Span(span)), Some(chunks)) if span.len > CHUNK_BYTES => {
                encode::bulk_len(out, span.len);
                *chunks = vec![arena.take_bytes(*span), b"\r\n".to_vec()];
            }
            (Reply::Packed(packed), _) if packed.hand_over(protocol, arena, out) => {}
            _ => self.write(protocol, arena, out),
        }
    }

    pub fn write(&self, protocol: Protocol, arena: &Arena, out: &mut Vec<u8>) {
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
            Reply::Packed(packed) => packed.write(protocol, arena, out),
            Reply::Map(pairs) => {
                encode::map_len(out, protocol, pairs.len());
                for (name, value) in pairs {
                    name.write(protocol, arena, out);
                    value.write(protocol, arena, out);
                }
            }
            Reply::Pairs(pairs) => {
                match protocol {
                    Protocol::Resp2 => encode::array_len(out, pairs.len()),
                    Protocol::Resp3 => encode::map_len(out, protocol, pairs.len()),
                }
                for (name, value) in pairs {
                    if protocol == Protocol::Resp2 {
                        encode::array_len(out, 2);
                    }
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
            Reply::Number(text) => encode::spelt(out, protocol, text),
            Reply::Boolean(yes) => encode::boolean(out, protocol, *yes),
            Reply::BigNumber(digits) => encode::big_number(out, protocol, digits),
            Reply::Verbatim(format, text) => encode::verbatim(out, protocol, format, text),
            Reply::Error(error) => encode::error_bytes(out, &error.wire()),
            Reply::Encoded(bytes) => out.extend_from_slice(bytes),
            Reply::Silent => {}
        }
    }
}

fn write_all(items: &[Reply], protocol: Protocol, arena: &Arena, out: &mut Vec<u8>) {
    for item in items {
        item.write(protocol, arena, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_strings_take_the_shape_of_the_protocol() {
        let mut arena = Arena::new();
        arena.extend_from_slice(b"before");
        let mut packer = Packer::begin(&mut arena);
        for bytes in [&b"a"[..], b"", b"b", b"\r\n"] {
            packer.push(bytes);
        }
        let reply = packer.finish(&mut arena, Shape::Array);
        let mut with_nil = Packer::begin(&mut arena);
        with_nil.push(b"a");
        with_nil.push_nil();
        let with_nil = with_nil.finish(&mut arena, Shape::Array);
        for (protocol, nil) in [(Protocol::Resp2, "$-1\r\n"), (Protocol::Resp3, "_\r\n")] {
            let mut out = Vec::new();
            with_nil.write(protocol, &arena, &mut out);
            assert_eq!(out, format!("*2\r\n$1\r\na\r\n{nil}").as_bytes());
        }
        let Reply::Packed(packed) = reply else { panic!("{reply:?}") };
        let strings = ["$1\r\na\r\n", "$0\r\n\r\n", "$1\r\nb\r\n", "$2\r\n\r\n\r\n"];
        let all = strings.concat();
        let (first, second) = (strings[..2].concat(), strings[2..].concat());
        for (shape, resp2, resp3) in [
            (Shape::Array, format!("*4\r\n{all}"), format!("*4\r\n{all}")),
            (Shape::Set, format!("*4\r\n{all}"), format!("~4\r\n{all}")),
            (Shape::Map, format!("*4\r\n{all}"), format!("%2\r\n{all}")),
            (Shape::Pairs, format!("*4\r\n{all}"), format!("*2\r\n*2\r\n{first}*2\r\n{second}")),
            (
                Shape::Nested,
                format!("*2\r\n*2\r\n{first}*2\r\n{second}"),
                format!("*2\r\n*2\r\n{first}*2\r\n{second}"),
            ),
        ] {
            for (protocol, want) in [(Protocol::Resp2, resp2), (Protocol::Resp3, resp3)] {
                let mut out = Vec::new();
                Reply::Packed(Packed { shape, ..packed }).write(protocol, &arena, &mut out);
                assert_eq!(out, want.as_bytes(), "{shape:?}");
            }
        }
    }

    #[test]
    fn packed_integers_stand_alone_or_in_pairs() {
        let mut arena = Arena::new();
        let mut packer = Packer::begin(&mut arena);
        packer.push(b"a");
        packer.push_integer(-7);
        packer.push_pair(b"b", 8);
        packer.push_nil();
        let reply = packer.finish(&mut arena, Shape::Array);
        let mut out = Vec::new();
        reply.write(Protocol::Resp2, &arena, &mut out);
        assert_eq!(out, b"*4\r\n$1\r\na\r\n:-7\r\n*2\r\n$1\r\nb\r\n:8\r\n$-1\r\n");
    }

    #[test]
    fn a_long_reply_is_handed_over() {
        for (len, begun) in [(HANDED_OVER_BYTES, false), (10, false), (HANDED_OVER_BYTES, true)] {
            for before in ["", "more than a length takes"] {
                let mut arena = Arena::new();
                arena.extend_from_slice(before.as_bytes());
                let mut packer = Packer::begin(&mut arena);
                packer.push(&vec![b'x'; len]);
                packer.push(b"");
                let reply = packer.finish(&mut arena, Shape::Set);
                let place = arena.as_ptr();
                let mut out = if begun { b"+OK\r\n".to_vec() } else { Vec::new() };
                let mut want = out.clone();
                reply.write(Protocol::Resp3, &arena, &mut want);
                reply.write_out(Protocol::Resp3, &mut arena, &mut out, None);
                assert!(out == want, "{len} {before}");
                if !before.is_empty() && len == HANDED_OVER_BYTES && !begun {
                    assert_eq!(out.as_ptr(), place, "nothing is copied");
                }
            }
        }
    }

    #[test]
    fn packed_arrays_hold_what_follows_them() {
        let mut arena = Arena::new();
        let mut packer = Packer::begin(&mut arena);
        packer.push_array(2);
        packer.push(b"a");
        packer.push_array(2);
        packer.push_decimal(1e-7);
        packer.push_decimal(-120.5);
        packer.push_nil_array();
        packer.push(b"b");
        let reply = packer.finish(&mut arena, Shape::Array);
        for (protocol, want) in [
            (
                Protocol::Resp2,
                "*3\r\n*2\r\n$1\r\na\r\n*2\r\n$9\r\n0.0000001\r\n$6\r\n-120.5\r\n*-1\r\n$1\r\nb\r\n",
            ),
            (Protocol::Resp3, "*3\r\n*2\r\n$1\r\na\r\n*2\r\n,0.0000001\r\n,-120.5\r\n_\r\n$1\r\nb\r\n"),
        ] {
            let mut out = Vec::new();
            reply.write(protocol, &arena, &mut out);
            assert_eq!(out.escape_ascii().to_string(), want.as_bytes().escape_ascii().to_string());
        }
    }

    #[test]
    fn packed_numbers_are_doubles_where_there_are_some() {
        let mut arena = Arena::new();
        let mut packer = Packer::begin(&mut arena);
        packer.push(b"a");
        packer.push_double(-1.5);
        packer.push(b"b");
        packer.push_double(f64::INFINITY);
        let reply = packer.finish(&mut arena, Shape::Pairs);
        for (protocol, want) in [
            (Protocol::Resp2, "*4\r\n$1\r\na\r\n$4\r\n-1.5\r\n$1\r\nb\r\n$3\r\ninf\r\n"),
            (Protocol::Resp3, "*2\r\n*2\r\n$1\r\na\r\n,-1.5\r\n*2\r\n$1\r\nb\r\n,inf\r\n"),
        ] {
            let mut out = Vec::new();
            reply.write(protocol, &arena, &mut out);
            assert_eq!(out, want.as_bytes());
        }
    }
}
