//! The bytes of the log: segment headers, records, rows. All numbers are big-endian.
//!
//! ```text
//! segment  magic 8 | sequence 8 | first lsn 8 | crc32c of those 4 | record ...
//! record   length of the rows 4 | crc32c of all that follows 4 | lsn 8 | synced lsn 8 | position 8 | row ...
//! row      space, high bit set for a tombstone 1 | key length 4 | value length 4 | key | value
//! ```
//!
//! `synced lsn` is the last record that was known to be on the device when this one was written. It tells recovery
//! which records a loss of power may have taken, and which can only be missing because the device lost them.
//! A segment's first lsn is the one that was next when it was prepared: no record in it is below.
//! `position` is at least that of the record's last commit, so that positions go on growing after a restart.

use super::super::field::{u32_at, u64_at};

pub const MAGIC: [u8; 8] = *b"TARNLOG1";
pub const SEGMENT_HEADER: usize = 28;
pub const RECORD_HEADER: usize = 32;
pub const ROW_HEADER: usize = 9;
/// Rows of one record; also the most that one commit may hold.
pub const MAX_RECORD_BYTES: usize = 1 << 30;

const TOMBSTONE: u8 = 0x80;

pub fn segment_header(sequence: u64, first_lsn: u64) -> [u8; SEGMENT_HEADER] {
    let mut header = [0; SEGMENT_HEADER];
    let (body, crc) = header.split_at_mut(24);
    for (to, from) in body.chunks_exact_mut(8).zip([MAGIC, sequence.to_be_bytes(), first_lsn.to_be_bytes()]) {
        to.copy_from_slice(&from);
    }
    crc.copy_from_slice(&crc32c::crc32c(body).to_be_bytes());
    header
}

/// The sequence and first lsn of a segment, if the header is whole.
pub fn parse_segment_header(header: &[u8]) -> Option<(u64, u64)> {
    let body = header.get(..24)?;
    let whole = body.starts_with(&MAGIC) && crc32c::crc32c(body) == u32_at(header, 24)?;
    whole.then_some(())?;
    Some((u64_at(header, 8)?, u64_at(header, 16)?))
}

/// Fills in the header that was left free at the front of a record.
pub fn seal_record(record: &mut [u8], lsn: u64, synced_lsn: u64, position: u64) {
    let rows = record.len().saturating_sub(RECORD_HEADER) as u32;
    let Some((header, _)) = record.split_at_mut_checked(RECORD_HEADER) else { return };
    let (front, back) = header.split_at_mut(8);
    for (to, from) in back.chunks_exact_mut(8).zip([lsn, synced_lsn, position]) {
        to.copy_from_slice(&from.to_be_bytes());
    }
    let (length_bytes, crc_bytes) = front.split_at_mut(4);
    length_bytes.copy_from_slice(&rows.to_be_bytes());
    crc_bytes.fill(0);
    let crc = crc32c::crc32c(record.get(8..).unwrap_or_default());
    if let Some(place) = record.get_mut(4..8) {
        place.copy_from_slice(&crc.to_be_bytes());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    pub rows_len: usize,
    pub crc: u32,
    pub lsn: u64,
    pub synced_lsn: u64,
    pub position: u64,
}

pub fn parse_record_header(header: &[u8]) -> Option<RecordHeader> {
    let rows_len = u32_at(header, 0)? as usize;
    if rows_len == 0 || rows_len > MAX_RECORD_BYTES {
        return None;
    }
    Some(RecordHeader {
        rows_len,
        crc: u32_at(header, 4)?,
        lsn: u64_at(header, 8)?,
        synced_lsn: u64_at(header, 16)?,
        position: u64_at(header, 24)?,
    })
}

/// Whether header and rows are the ones that were written.
pub fn is_whole(header: &[u8], rows: &[u8], crc: u32) -> bool {
    let Some(covered) = header.get(8..RECORD_HEADER) else { return false };
    crc32c::crc32c_append(crc32c::crc32c(covered), rows) == crc
}

/// A row as it stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    pub space: u8,
    pub key: &'a [u8],
    /// None is a tombstone.
    pub value: Option<&'a [u8]>,
}

/// Appends a row; the value comes in parts.
#[inline]
pub fn push_row(out: &mut Vec<u8>, space: u8, key: &[u8], value: Option<&[&[u8]]>) {
    let (tag, value, value_len) = match value {
        Some(parts) => (space, parts, parts.iter().map(|part| part.len()).sum::<usize>()),
        None => (space | TOMBSTONE, &[][..], 0),
    };
    out.reserve(ROW_HEADER + key.len() + value_len);
    let mut header = [tag; ROW_HEADER];
    header[1..5].copy_from_slice(&(key.len() as u32).to_be_bytes());
    header[5..9].copy_from_slice(&(value_len as u32).to_be_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(key);
    for part in value {
        out.extend_from_slice(part);
    }
}

/// Takes the first row off `rows`; None when the bytes are not a row.
#[inline]
pub fn split_row<'a>(rows: &mut &'a [u8]) -> Option<Row<'a>> {
    let (header, rest) = rows.split_first_chunk::<ROW_HEADER>()?;
    let (key, rest) = rest.split_at_checked(u32_at(header, 1)? as usize)?;
    let (value, rest) = rest.split_at_checked(u32_at(header, 5)? as usize)?;
    *rows = rest;
    let is_tombstone = header[0] & TOMBSTONE != 0;
    if is_tombstone && !value.is_empty() {
        return None;
    }
    Some(Row { space: header[0] & !TOMBSTONE, key, value: (!is_tombstone).then_some(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes_of_a_record() {
        let mut record = vec![0; RECORD_HEADER];
        push_row(&mut record, 2, b"key", Some(&[b"va", b"lue"]));
        push_row(&mut record, 3, b"gone", None);
        seal_record(&mut record, 7, 5, 9);
        let document = include_str!("../../../../../docs/on-disk-format.md");
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!(" {byte:02x}")).collect::<String>();
        let segment = segment_header(3, 7);
        for line in [format!("\nsegment {}\n", hex(&segment)), format!("\nrecord  {}\n", hex(&record))] {
            assert!(document.contains(&line), "the document does not hold {line}");
        }

        let header = parse_record_header(&record).unwrap();
        assert_eq!((header.rows_len, header.lsn, header.synced_lsn, header.position), (30, 7, 5, 9));
        let (head, mut rows) = record.split_at(RECORD_HEADER);
        assert!(is_whole(head, rows, header.crc));
        assert_eq!(split_row(&mut rows), Some(Row { space: 2, key: b"key", value: Some(b"value") }));
        assert_eq!(split_row(&mut rows), Some(Row { space: 3, key: b"gone", value: None }));
        assert_eq!(rows, b"");
        assert_eq!(split_row(&mut rows), None);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut record = vec![0; RECORD_HEADER];
        push_row(&mut record, 1, b"k", Some(&[b"v"]));
        seal_record(&mut record, 1, 0, 1);
        for bit in 0..record.len() * 8 {
            let mut bad = record.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let whole = parse_record_header(&bad).is_some_and(|header| {
                let end = RECORD_HEADER + header.rows_len;
                end == bad.len() && is_whole(&bad[..RECORD_HEADER], &bad[RECORD_HEADER..], header.crc)
            });
            assert!(!whole, "bit {bit}");
        }
        let header = segment_header(3, 9);
        assert_eq!(parse_segment_header(&header), Some((3, 9)));
        for bit in 0..header.len() * 8 {
            let mut bad = header;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_segment_header(&bad), None, "bit {bit}");
        }
    }

    #[test]
    fn lengths_beyond_the_bytes_are_not_a_row() {
        let mut bytes = Vec::new();
        push_row(&mut bytes, 1, b"key", Some(&[b"value"]));
        for cut in 0..bytes.len() {
            assert_eq!(split_row(&mut &bytes[..cut]), None);
        }
        assert_eq!(parse_record_header(&[0; RECORD_HEADER]), None, "zeroes are not a record");
    }
}
