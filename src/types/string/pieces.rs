//! The pieces of a long string: reading any part of it without the rest.

use std::ops::{ControlFlow, Range};

use smallvec::SmallVec;

use crate::encoding::DATA;
use crate::encoding::rows::RowKey;
use crate::encoding::string::{PIECE_LEN, piece, piece_number};
use crate::error::{Error, Result};
use crate::keyspace::{Entry, Env, View, entry};

/// Up to this many pieces are read by their keys, more by a scan.
const POINT_READS: u64 = (Env::IO_THREAD_MAX_BYTES / PIECE_LEN) as u64;

const PIECE: u64 = PIECE_LEN as u64;

#[derive(Debug, Clone)]
pub struct Pieces {
    collection: RowKey,
    pub version: u64,
    /// Length of the string in bytes.
    pub len: u64,
}

/// The piece that a byte lies in.
pub fn number(at: u64) -> Result<u32> {
    u32::try_from(at / PIECE).map_err(|_| Error::StringTooLong.into())
}

impl Pieces {
    pub fn new(key: &Entry<'_>, version: u64, len: u64) -> Pieces {
        Pieces { collection: entry::element_prefix(key, version), version, len }
    }

    /// The same pieces as those of a longer string.
    pub fn with_len(self, len: u64) -> Pieces {
        Pieces { len, ..self }
    }

    pub fn row(&self, number: u32) -> RowKey {
        piece(&self.collection, number)
    }

    /// Shows the bytes that are on record in the range, in ascending order, each run with its offset in the string;
    /// what lies between the runs is zeros.
    pub fn each(
        &self,
        cx: &impl View,
        range: Range<u64>,
        visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return Ok(()) };
        let (first, last) = (number(range.start)?, number(last)?);
        let mut clip = |number: u32, bytes: &[u8]| {
            let at = u64::from(number) * PIECE;
            let from = range.start.saturating_sub(at) as usize;
            let to = bytes.len().min(range.end.saturating_sub(at) as usize);
            match bytes.get(from..to) {
                Some(part) if !part.is_empty() => visit(at + from as u64, part),
                _ => ControlFlow::Continue(()),
            }
        };
        if u64::from(last - first) < POINT_READS {
            let rows: SmallVec<[RowKey; 2]> = (first..=last).map(|number| self.row(number)).collect();
            let keys: SmallVec<[&[u8]; 8]> = rows.iter().map(|row| row.as_slice()).collect();
            let mut flow = ControlFlow::Continue(());
            return cx.get_each(DATA, &keys, &mut |i, value| {
                if let (Some(bytes), ControlFlow::Continue(())) = (value, flow) {
                    flow = clip(first + i as u32, bytes);
                }
            });
        }
        let end = match last.checked_add(1) {
            Some(next) => self.row(next),
            None => return Err(Error::StringTooLong.into()),
        };
        let mut malformed = None;
        cx.scan_each(DATA, &self.row(first), &end, usize::MAX, &mut |row, bytes| match piece_number(row) {
            Ok(number) => clip(number, bytes),
            Err(bad) => {
                malformed = Some(bad);
                ControlFlow::Break(())
            }
        })?;
        malformed.map_or(Ok(()), |bad| Err(bad.into()))
    }

    /// Copies the bytes from `at` on into `out`, which is zeros before: as many as there is room for, and few.
    pub fn fill(&self, cx: &impl View, at: u64, out: &mut [u8]) -> Result<()> {
        let (mut at, mut left) = (at, out);
        while !left.is_empty() {
            let begin = (at % PIECE) as usize;
            let (part, behind) = left.split_at_mut(left.len().min(PIECE_LEN - begin));
            cx.rows().get_part(DATA, &self.row(number(at)?), begin, part)?;
            at += part.len() as u64;
            left = behind;
        }
        Ok(())
    }

    /// Appends the bytes of the range, which must lie inside the string, to `out`.
    pub fn read_into(&self, cx: &impl View, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let len = range.end.saturating_sub(range.start) as usize;
        let first = number(range.start)?;
        if len > 0 && number(range.end - 1)? == first {
            out.resize(start + len, 0);
            return self.fill(cx, range.start, out.get_mut(start..).unwrap_or_default());
        }
        out.reserve(len);
        self.each(cx, range.clone(), &mut |at, bytes| {
            out.resize(start + (at - range.start) as usize, 0);
            out.extend_from_slice(bytes);
            ControlFlow::Continue(())
        })?;
        out.resize(start + len, 0);
        Ok(())
    }
}
