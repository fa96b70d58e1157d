//! A listpack.
//!
//! ```text
//! bytes in all u32 | items u16, 65535 for many | item ... | 11111111
//! item: head | string or number | length of both, backwards
//!
//! 0nnnnnnn                   number of 7 bits             10nnnnnn             string of n bytes
//! 110nnnnn nnnnnnnn          signed number of 13 bits     1110nnnn nnnnnnnn    string of n bytes
//! 11110001 ... 11110100      i16, i24, i32, i64           11110000 u32         string
//! ```

use super::Item;
use crate::rdb::Bad;
use crate::rdb::read::{Reader, put_u16, put_u32};

const HEADER_LEN: usize = 6;
const END: u8 = 0xff;
/// In place of a number of items that does not fit.
const MANY: u16 = u16::MAX;

/// The items of a listpack, each checked when it is come to.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    left: Reader<'a>,
    /// How many there should be, where that is told.
    promised: Option<u64>,
    seen: u64,
    ended: bool,
}

impl<'a> Items<'a> {
    pub fn of(blob: &'a [u8]) -> Result<Items<'a>, Bad> {
        let mut left = Reader::new(blob, blob.len());
        if left.u32()? as usize != blob.len() {
            return Err(Bad);
        }
        let promised = Some(left.u16()?).filter(|count| *count != MANY).map(u64::from);
        Ok(Items { left, promised, seen: 0, ended: false })
    }

    /// The next item, or that there is none.
    pub fn next_item(&mut self) -> Result<Option<Item<'a>>, Bad> {
        if self.ended {
            return Ok(None);
        }
        let head = self.left.u8()?;
        if head == END {
            self.ended = true;
            let is_whole = self.promised.is_none_or(|promised| promised == self.seen);
            return if is_whole { self.left.end().map(|()| None) } else { Err(Bad) };
        }
        let (item, len) = self.item(head)?;
        for byte in back_len(len) {
            if self.left.u8()? != byte {
                return Err(Bad);
            }
        }
        self.seen += 1;
        Ok(Some(item))
    }

    /// An item and how many bytes it takes, by its first byte.
    fn item(&mut self, head: u8) -> Result<(Item<'a>, usize), Bad> {
        let left = &mut self.left;
        let (head_len, len) = match head {
            0..=0x7f => return Ok((Item::Number(i64::from(head)), 1)),
            0x80..=0xbf => (1, usize::from(head & 0x3f)),
            0xc0..=0xdf => {
                let number = u16::from(head & 0x1f) << 8 | u16::from(left.u8()?);
                // Shifted up and down again, so that its sign is that of all bits.
                return Ok((Item::Number(i64::from((number << 3).cast_signed() >> 3)), 2));
            }
            0xe0..=0xef => (2, usize::from(head & 0x0f) << 8 | usize::from(left.u8()?)),
            0xf0 => (5, left.u32()? as usize),
            0xf1 => return Ok((Item::Number(i64::from(left.u16()?.cast_signed())), 3)),
            0xf2 => {
                let [low, middle, high] = left.array()?;
                let number = i32::from_be_bytes([high, middle, low, 0]) >> 8;
                return Ok((Item::Number(i64::from(number)), 4));
            }
            0xf3 => return Ok((Item::Number(i64::from(left.u32()?.cast_signed())), 5)),
            0xf4 => return Ok((Item::Number(left.u64()?.cast_signed()), 9)),
            _ => return Err(Bad),
        };
        Ok((Item::Bytes(left.bytes(len)?), head_len + len))
    }

    /// The next item, which must be there and a number.
    pub fn number(&mut self) -> Result<i64, Bad> {
        match self.next_item()? {
            Some(Item::Number(number)) => Ok(number),
            _ => Err(Bad),
        }
    }

    pub fn item_there(&mut self) -> Result<Item<'a>, Bad> {
        self.next_item()?.ok_or(Bad)
    }
}

/// The length of an item behind it, so that it can be read from its end on: seven bits a byte, the lowest last.
fn back_len(len: usize) -> impl Iterator<Item = u8> {
    // The bounds are those of Redis, which does not use the greatest number of each width.
    let bytes = match len {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    (0..bytes).rev().map(move |byte| {
        let follows = if byte + 1 == bytes { 0 } else { 0x80 };
        (len >> (7 * byte)) as u8 & 0x7f | follows
    })
}

/// A listpack that is being made.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    items: usize,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { bytes: vec![0; HEADER_LEN], items: 0 }
    }
}

impl Writer {
    /// How long it is by now, in bytes.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    pub fn push(&mut self, string: &[u8]) {
        if let Some(number) = crate::number::parse_i64(string) {
            return self.push_number(number);
        }
        let (begin, len) = (self.bytes.len(), string.len());
        match len {
            0..64 => self.bytes.push(0x80 | len as u8),
            64..4096 => self.bytes.extend_from_slice(&[0xe0 | (len >> 8) as u8, len as u8]),
            _ => {
                self.bytes.push(0xf0);
                put_u32(&mut self.bytes, len as u32);
            }
        }
        self.bytes.extend_from_slice(string);
        self.close(begin);
    }

    pub fn push_number(&mut self, number: i64) {
        let begin = self.bytes.len();
        let low = number.cast_unsigned();
        match number {
            0..=127 => self.bytes.push(low as u8),
            -4096..4096 => self.bytes.extend_from_slice(&[0xc0 | (low >> 8) as u8 & 0x1f, low as u8]),
            _ => {
                let (head, width) = match number {
                    -0x8000..0x8000 => (0xf1, 2),
                    -0x80_0000..0x80_0000 => (0xf2, 3),
                    -0x8000_0000..0x8000_0000 => (0xf3, 4),
                    _ => (0xf4, 8),
                };
                self.bytes.push(head);
                self.bytes.extend((0..width).map(|byte| (low >> (8 * byte)) as u8));
            }
        }
        self.close(begin);
    }

    fn close(&mut self, begin: usize) {
        let len = self.bytes.len() - begin;
        self.bytes.extend(back_len(len));
        self.items += 1;
    }

    /// The whole listpack.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(END);
        let mut header = Vec::with_capacity(HEADER_LEN);
        put_u32(&mut header, self.bytes.len() as u32);
        put_u16(&mut header, u16::try_from(self.items).unwrap_or(MANY));
        for (room, byte) in self.bytes.iter_mut().zip(header) {
            *room = byte;
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blob: &[u8]) -> Result<Vec<Vec<u8>>, Bad> {
        let (mut items, mut found) = (Items::of(blob)?, Vec::new());
        while let Some(item) = items.next_item()? {
            found.push(item.bytes(&mut itoa::Buffer::new()).to_vec());
        }
        Ok(found)
    }

    #[test]
    fn strings_and_numbers_of_every_width_come_back() {
        let numbers = [
            0,
            1,
            63,
            64,
            127,
            128,
            4095,
            4096,
            32767,
            32768,
            8388607,
            8388608,
            2147483647,
            2147483648,
            i64::MAX,
        ];
        let numbers = numbers.into_iter().flat_map(|n: i64| [n, -n, -n - 1]);
        let mut strings: Vec<Vec<u8>> = numbers.map(|n| n.to_string().into_bytes()).collect();
        strings.extend(
            [0, 1, 63, 64, 120, 130, 4095, 4096, 16_380, 16_381, 16_382, 70_000, 2_100_000]
                .map(|n| vec![b'x'; n]),
        );
        let mut writer = Writer::default();
        strings.iter().for_each(|string| writer.push(string));
        let blob = writer.finish();
        assert_eq!(read(&blob).unwrap(), strings);
        for len in 0..200 {
            assert!(read(&blob[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn known_bytes() {
        let mut writer = Writer::default();
        for string in [&b"a"[..], b"1", b"b", b"-2"] {
            writer.push(string);
        }
        assert_eq!(writer.finish(), b"\x12\0\0\0\x04\0\x81a\x02\x01\x01\x81b\x02\xdf\xfe\x02\xff");
        assert_eq!(Writer::default().finish(), b"\x07\0\0\0\0\0\xff");
    }

    #[test]
    fn a_listpack_that_contradicts_itself_is_refused() {
        let good = b"\x0b\0\0\0\x02\0\x81a\x02\x01\x01\xff";
        assert_eq!(read(b"\x0c\0\0\0\x02\0\x81a\x02\x01\x01\xff").unwrap().len(), 2);
        for bad in [
            &good[..],
            b"\x0c\0\0\0\x03\0\x81a\x02\x01\x01\xff",
            b"\x0c\0\0\0\x02\0\x81a\x03\x01\x01\xff",
            b"\x0c\0\0\0\x02\0\x82a\x02\x01\x01\xff",
            b"\x0c\0\0\0\x02\0\x81a\x02\xf5\x01\xff",
            b"\x0c\0\0\0\x01\0\x81a\x02\xff\x01\xff",
            b"\x0c\0\0\0\x02\0\x81a\x02\x01\x01\x01",
            b"\x0f\0\0\0\x01\0\xf0\xff\xff\xff\xff\x05\xff\xff\xff",
        ] {
            assert_eq!(read(bad), Err(Bad), "{bad:?}");
        }
    }
}
