//! An intset: members that are numbers, sorted, all of one width.
//!
//! ```text
//! width in bytes u32: 2, 4 or 8 | numbers u32 | number ...                                   little-endian
//! ```

use super::Item;
use crate::rdb::Bad;
use crate::rdb::read::Reader;

#[derive(Debug, Clone)]
pub struct Items<'a> {
    left: Reader<'a>,
    width: u32,
    last: Option<i64>,
}

impl<'a> Items<'a> {
    pub fn of(blob: &'a [u8]) -> Result<Items<'a>, Bad> {
        let mut left = Reader::new(blob, blob.len());
        let (width, count) = (left.u32()?, left.u32()?);
        let len = u64::from(width) * u64::from(count) + 8;
        if !matches!(width, 2 | 4 | 8) || len != blob.len() as u64 {
            return Err(Bad);
        }
        Ok(Items { left, width, last: None })
    }

    pub fn next_item(&mut self) -> Result<Option<Item<'a>>, Bad> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let number = match self.width {
            2 => i64::from(self.left.u16()?.cast_signed()),
            4 => i64::from(self.left.u32()?.cast_signed()),
            _ => self.left.u64()?.cast_signed(),
        };
        if self.last.is_some_and(|last| last >= number) {
            return Err(Bad);
        }
        self.last = Some(number);
        Ok(Some(Item::Number(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blob: &[u8]) -> Result<Vec<Item<'_>>, Bad> {
        let (mut items, mut found) = (Items::of(blob)?, Vec::new());
        while let Some(item) = items.next_item()? {
            found.push(item);
        }
        Ok(found)
    }

    #[test]
    fn numbers_of_every_width_are_read() {
        assert_eq!(read(b"\x02\0\0\0\x02\0\0\0\xff\xff\x05\0").unwrap(), [-1, 5].map(Item::Number));
        assert_eq!(read(b"\x04\0\0\0\x01\0\0\0\0\0\0\x80").unwrap(), [Item::Number(i64::from(i32::MIN))]);
        assert_eq!(
            read(b"\x08\0\0\0\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f").unwrap(),
            [Item::Number(i64::MAX)]
        );
        for bad in [
            &b""[..],
            b"\x03\0\0\0\x01\0\0\0\0\0\0",
            b"\x02\0\0\0\x02\0\0\0\x05\0",
            b"\x02\0\0\0\x02\0\0\0\x05\0\x05\0",
            b"\x02\0\0\0\x02\0\0\0\x05\0\x04\0",
            b"\x02\0\0\0\xff\xff\xff\xff\x05\0",
        ] {
            assert_eq!(read(bad), Err(Bad), "{bad:?}");
        }
    }
}
