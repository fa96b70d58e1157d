//! A ziplist: what Redis before 7 kept small collections in.
//!
//! ```text
//! bytes in all u32 | offset of the last item u32 | items u16, 65535 for many | item ... | 11111111
//! item: length of the item before, u8 or 11111110 u32 | head | string or number
//!
//! 00nnnnnn | 01nnnnnn nnnnnnnn | 10...... u32 big-endian          string of n bytes
//! 11000000 i16 | 11010000 i32 | 11100000 i64 | 11110000 i24 | 11111110 i8 | 1111nnnn the number n - 1, n is 1 to 13
//! ```

use super::Item;
use crate::rdb::Bad;
use crate::rdb::read::Reader;

const HEADER_LEN: usize = 10;
const END: u8 = 0xff;
const LONG: u8 = 0xfe;
const MANY: u16 = u16::MAX;

#[derive(Debug, Clone)]
pub struct Items<'a> {
    left: Reader<'a>,
    promised: Option<u64>,
    /// Where the last item should begin.
    tail: usize,
    /// Where the item that was read last begins, and where the next one does.
    last: usize,
    at: usize,
    seen: u64,
    ended: bool,
}

impl<'a> Items<'a> {
    pub fn of(blob: &'a [u8]) -> Result<Items<'a>, Bad> {
        let mut left = Reader::new(blob, blob.len());
        if left.u32()? as usize != blob.len() {
            return Err(Bad);
        }
        let tail = left.u32()? as usize;
        let promised = Some(left.u16()?).filter(|count| *count != MANY).map(u64::from);
        Ok(Items { left, promised, tail, last: HEADER_LEN, at: HEADER_LEN, seen: 0, ended: false })
    }

    pub fn next_item(&mut self) -> Result<Option<Item<'a>>, Bad> {
        if self.ended {
            return Ok(None);
        }
        let (before, before_len) = match self.left.u8()? {
            END => {
                self.ended = true;
                let is_whole = self.promised.is_none_or(|promised| promised == self.seen);
                return if is_whole && self.tail == self.last {
                    self.left.end().map(|()| None)
                } else {
                    Err(Bad)
                };
            }
            LONG => (self.left.u32()? as usize, 5),
            short => (usize::from(short), 1),
        };
        // The first one has none before it.
        if before != self.at - self.last {
            return Err(Bad);
        }
        let (item, len) = self.item()?;
        self.last = self.at;
        self.at += before_len + len;
        self.seen += 1;
        Ok(Some(item))
    }

    fn item(&mut self) -> Result<(Item<'a>, usize), Bad> {
        let left = &mut self.left;
        let head = left.u8()?;
        let (head_len, len) = match head {
            0..=0x3f => (1, usize::from(head)),
            0x40..=0x7f => (2, usize::from(head & 0x3f) << 8 | usize::from(left.u8()?)),
            0x80..=0xbf => (5, u32::from_be_bytes(left.array()?) as usize),
            0xc0 => return Ok((Item::Number(i64::from(left.u16()?.cast_signed())), 3)),
            0xd0 => return Ok((Item::Number(i64::from(left.u32()?.cast_signed())), 5)),
            0xe0 => return Ok((Item::Number(left.u64()?.cast_signed()), 9)),
            0xf0 => {
                let [low, middle, high] = left.array()?;
                let number = i32::from_be_bytes([high, middle, low, 0]) >> 8;
                return Ok((Item::Number(i64::from(number)), 4));
            }
            0xfe => return Ok((Item::Number(i64::from(left.u8()?.cast_signed())), 2)),
            0xf1..=0xfd => return Ok((Item::Number(i64::from(head & 0x0f) - 1), 1)),
            _ => return Err(Bad),
        };
        Ok((Item::Bytes(left.bytes(len)?), head_len + len))
    }
}

#[cfg(test)]
pub(in crate::rdb) mod tests {
    use super::*;

    fn read(blob: &[u8]) -> Result<Vec<Item<'_>>, Bad> {
        let (mut items, mut found) = (Items::of(blob)?, Vec::new());
        while let Some(item) = items.next_item()? {
            found.push(item);
        }
        Ok(found)
    }

    /// Puts items with their heads into a ziplist.
    pub(in crate::rdb) fn ziplist(items: &[&[u8]]) -> Vec<u8> {
        let little = |number: usize, width: usize| (0..width).map(move |byte| (number >> (8 * byte)) as u8);
        let (mut body, mut before, mut last) = (Vec::new(), 0, HEADER_LEN);
        for item in items {
            last = HEADER_LEN + body.len();
            match u8::try_from(before) {
                Ok(short @ ..LONG) => body.push(short),
                _ => {
                    body.push(LONG);
                    body.extend(little(before, 4));
                }
            }
            body.extend_from_slice(item);
            before = HEADER_LEN + body.len() - last;
        }
        let all = HEADER_LEN + body.len() + 1;
        little(all, 4).chain(little(last, 4)).chain(little(items.len(), 2)).chain(body).chain([END]).collect()
    }

    #[test]
    fn every_form_of_an_item_is_read() {
        let long = [&b"\x41\x00"[..], &[b'y'; 256]].concat();
        let longer = [&b"\x80\x00\x00\x01\x00"[..], &[b'z'; 256]].concat();
        let blob = ziplist(&[
            b"\x02ab",
            &long,
            &longer,
            b"\xc0\xfe\xff",
            b"\xd0\x00\x00\x00\x80",
            b"\xe0\xff\xff\xff\xff\xff\xff\xff\x7f",
            b"\xf0\x00\x00\x80",
            b"\xfe\x80",
            b"\xf1",
            b"\xfd",
            b"\x00",
        ]);
        let numbers = [-2, i64::from(i32::MIN), i64::MAX, -8_388_608, -128, 0, 12].map(Item::Number);
        let expected: Vec<Item<'_>> = [&b"ab"[..], &[b'y'; 256], &[b'z'; 256]]
            .map(Item::Bytes)
            .into_iter()
            .chain(numbers)
            .chain([Item::Bytes(b"")])
            .collect();
        assert_eq!(read(&blob).unwrap(), expected);
        assert_eq!(read(&ziplist(&[])).unwrap(), []);
        for len in 0..blob.len() {
            assert!(read(&blob[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn a_ziplist_that_contradicts_itself_is_refused() {
        let good = ziplist(&[b"\x02ab", b"\xf2", b"\x01c"]);
        assert_eq!(read(&good).unwrap().len(), 3);
        for (at, byte) in
            [(0, 0), (4, 0), (8, 2), (10, 1), (11, 3), (14, 3), (15, 0xff), (16, 1), (good.len() - 1, 0)]
        {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(read(&bad), Err(Bad), "{at}: {byte}");
        }
    }
}
