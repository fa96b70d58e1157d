//! Many strings in one: the compact forms in which Redis keeps, or once kept, small collections, and serializes them as they are.

pub mod intset;
pub mod listpack;
pub mod ziplist;
pub mod zipmap;

/// One string of them, which may be kept as the number that it spells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    Bytes(&'a [u8]),
    Number(i64),
}

impl<'a> Item<'a> {
    /// The string; a number's digits are put into the buffer.
    pub fn bytes<'b>(&self, buffer: &'b mut itoa::Buffer) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Item::Bytes(bytes) => bytes,
            Item::Number(number) => buffer.format(*number).as_bytes(),
        }
    }

    /// The number it is; a string that spells one counts too.
    pub fn number(&self) -> Option<i64> {
        match self {
            Item::Number(number) => Some(*number),
            Item::Bytes(bytes) => crate::number::parse_i64(bytes),
        }
    }
}
