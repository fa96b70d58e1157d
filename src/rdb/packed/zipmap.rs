//! A zipmap: what Redis before 2.6 kept small hashes in.
//!
//! ```text
//! pairs u8, from 254 on for many | (length | field | length | unused u8 | value | unused bytes) ... | 11111111
//! length: u8 below 254, or 11111110 u32
//! ```

use crate::rdb::Bad;
use crate::rdb::read::Reader;

const END: u8 = 0xff;
const LONG: u8 = 0xfe;

#[derive(Debug, Clone)]
pub struct Pairs<'a> {
    left: Reader<'a>,
    promised: Option<u64>,
    seen: u64,
    ended: bool,
}

impl<'a> Pairs<'a> {
    pub fn of(blob: &'a [u8]) -> Result<Pairs<'a>, Bad> {
        let mut left = Reader::new(blob, blob.len());
        let promised = Some(left.u8()?).filter(|count| *count < LONG).map(u64::from);
        Ok(Pairs { left, promised, seen: 0, ended: false })
    }

    pub fn next_item(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>, Bad> {
        if self.ended {
            return Ok(None);
        }
        let Some(len) = self.len()? else {
            self.ended = true;
            let is_whole = self.promised.is_none_or(|promised| promised == self.seen);
            return if is_whole { self.left.end().map(|()| None) } else { Err(Bad) };
        };
        let field = self.left.bytes(len)?;
        let len = self.len()?.ok_or(Bad)?;
        let unused = usize::from(self.left.u8()?);
        let value = self.left.bytes(len)?;
        self.left.bytes(unused)?;
        self.seen += 1;
        Ok(Some((field, value)))
    }

    /// None at the end.
    fn len(&mut self) -> Result<Option<usize>, Bad> {
        Ok(match self.left.u8()? {
            END => None,
            LONG => Some(self.left.u32()? as usize),
            short => Some(usize::from(short)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blob: &[u8]) -> Result<Vec<(&[u8], &[u8])>, Bad> {
        let (mut pairs, mut found) = (Pairs::of(blob)?, Vec::new());
        while let Some(pair) = pairs.next_item()? {
            found.push(pair);
        }
        Ok(found)
    }

    #[test]
    fn pairs_are_read() {
        assert_eq!(
            read(b"\x02\x03foo\x03\0bar\x05hello\x05\x02world..\xff").unwrap(),
            [(&b"foo"[..], &b"bar"[..]), (b"hello", b"world")]
        );
        assert_eq!(read(b"\xfe\x01a\xfe\x02\0\0\0\0xy\xff").unwrap(), [(&b"a"[..], &b"xy"[..])]);
        for bad in [
            &b""[..],
            b"\x01\xff",
            b"\x01\x01a\x01\0b",
            b"\x01\x01a\xff",
            b"\x01\x01a\x01\x05b\xff",
            b"\x01\x01a\x01\0b\xff\xff",
        ] {
            assert_eq!(read(bad), Err(Bad), "{bad:?}");
        }
    }
}
