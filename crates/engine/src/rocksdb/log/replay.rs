//! Reading the log back: which records count, where it ends, and what is damage.
//!
//! Records that follow the applied lsn must be dense. The log may end early in one way only: a loss of power (or a
//! full disk) took an end of it that was never known to be on the device. Each record tells up to where the log was
//! synced when it was written, so that a hole at or below that place is damage; so is a whole record behind a broken
//! one in the same file. Damage refuses to start, unless the operator says that the rest may be thrown away.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::field::u64_at;
use super::super::files::{Files, io_error};
use super::record::{self, RECORD_HEADER, RecordHeader, Row, SEGMENT_HEADER};
use super::segment::{self, Segment};
use crate::{Error, Result};

const READ_BUFFER_BYTES: usize = 1 << 20;
/// How far ahead of the expected lsn a record behind a broken one is still believed to be one.
const LSN_HORIZON: u64 = 1 << 24;

/// Takes what the log holds beyond the applied lsn, in order.
pub trait Sink {
    fn row(&mut self, row: Row<'_>) -> Result<()>;
    /// The rows since the last call are exactly those of this segment; `end` is where it ends.
    fn segment(&mut self, segment: Arc<Segment>, end: End) -> Result<()>;
}

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub lsn: u64,
    pub position: u64,
}

pub struct Replayed {
    pub end: End,
    pub next_sequence: u64,
}

struct Found {
    sequence: u64,
    path: PathBuf,
    len: u64,
    /// None when the file has no whole header.
    first_lsn: Option<u64>,
}

/// Where the dense run of records ends before the files do.
struct Tear {
    segment: usize,
    /// Bytes of that segment which are good.
    offset: u64,
    reason: &'static str,
}

pub fn replay(
    files: &dyn Files,
    dir: &Path,
    applied: End,
    truncate_damage: bool,
    sink: &mut dyn Sink,
) -> Result<Replayed> {
    let applied_lsn = applied.lsn;
    let mut position = applied.position;
    let found = find_segments(files, dir)?;
    let next_sequence = found.last().map_or(1, |last| last.sequence + 1);
    let mut expected = applied_lsn + 1;
    let mut synced_lsn = 0;
    let mut removable = Vec::new();
    let mut tear = None;

    // All records before a segment that begins at or below the next wanted lsn are applied already.
    let first =
        found.iter().rposition(|segment| segment.first_lsn.is_some_and(|lsn| lsn <= expected)).unwrap_or(0);
    for (index, file) in found.iter().enumerate() {
        if index < first || file.len == 0 {
            removable.push(file.path.clone());
            continue;
        }
        let before = expected;
        match read_segment(files, file, applied_lsn, &mut expected, &mut synced_lsn, &mut position, sink)? {
            None if expected == before => removable.push(file.path.clone()),
            None => {
                files.sync_file(&file.path).map_err(|error| io_error("syncing", &file.path, &error))?;
                let segment = Segment::replayed(file.sequence, file.path.clone(), file.len);
                sink.segment(segment, End { lsn: expected - 1, position })?;
            }
            Some((offset, reason)) => {
                tear = Some(Tear { segment: index, offset, reason });
                break;
            }
        }
    }
    if let Some(tear) = tear {
        judge_tear(files, &found, &tear, expected, synced_lsn, truncate_damage)?;
        cut_tear(
            files,
            &found,
            &tear,
            applied_lsn,
            End { lsn: expected - 1, position },
            sink,
            &mut removable,
        )?;
    }
    for path in &removable {
        files.remove(path).map_err(|error| io_error("removing", path, &error))?;
    }
    if !removable.is_empty() {
        // A removed segment must not come back: its lsns are given out again.
        files.sync_dir(dir).map_err(|error| io_error("syncing", dir, &error))?;
    }
    Ok(Replayed { end: End { lsn: expected - 1, position }, next_sequence })
}

fn find_segments(files: &dyn Files, dir: &Path) -> Result<Vec<Found>> {
    let names = files.list(dir).map_err(|error| io_error("listing", dir, &error))?;
    let mut found = Vec::new();
    for name in names {
        let Some(sequence) = segment::parse_file_name(&name) else { continue };
        let path = dir.join(&name);
        let unreadable = |error| io_error("reading", &path, &error);
        let len = files.len(&path).map_err(unreadable)?;
        let mut header = Vec::new();
        let reader = files.open(&path).map_err(unreadable)?;
        reader.take(SEGMENT_HEADER as u64).read_to_end(&mut header).map_err(unreadable)?;
        let first_lsn = record::parse_segment_header(&header)
            .and_then(|(inside, first_lsn)| (inside == sequence).then_some(first_lsn));
        found.push(Found { sequence, path, len, first_lsn });
    }
    found.sort_by_key(|segment| segment.sequence);
    Ok(found)
}

/// Feeds the segment's records to the sink. Returns where and why it broke off, if it did.
fn read_segment(
    files: &dyn Files,
    file: &Found,
    applied_lsn: u64,
    expected: &mut u64,
    synced_lsn: &mut u64,
    position: &mut u64,
    sink: &mut dyn Sink,
) -> Result<Option<(u64, &'static str)>> {
    match file.first_lsn {
        None => return Ok(Some((0, "the segment has no whole header"))),
        Some(first) if first > *expected => return Ok(Some((0, "records are missing before the segment"))),
        Some(_) => {}
    }
    let mut records = Records::open(files, file)?;
    loop {
        let offset = records.offset;
        let header = match records.next(&file.path)? {
            Next::End => return Ok(None),
            Next::Bad(reason) => return Ok(Some((offset, reason))),
            Next::Record(header) => header,
        };
        *synced_lsn = (*synced_lsn).max(header.synced_lsn);
        if header.lsn <= applied_lsn {
            continue;
        }
        if header.lsn != *expected {
            return Err(corrupt(&file.path, offset, "a record does not follow the one before it"));
        }
        let mut rows = &*records.rows;
        while !rows.is_empty() {
            let Some(row) = record::split_row(&mut rows) else {
                return Err(corrupt(&file.path, offset, "a record holds something else than rows"));
            };
            sink.row(row)?;
        }
        *expected += 1;
        *position = (*position).max(header.position);
    }
}

/// Is this an end that a loss of power may leave behind?
fn judge_tear(
    files: &dyn Files,
    found: &[Found],
    tear: &Tear,
    expected: u64,
    mut synced_lsn: u64,
    truncate_damage: bool,
) -> Result<()> {
    let Some(torn) = found.get(tear.segment) else { return Ok(()) };
    let mut damage = None;
    if torn.first_lsn.is_some_and(|first| first <= expected)
        && has_record_behind(files, torn, tear.offset, expected)?
    {
        damage = Some("a broken record stands before whole ones");
    }
    // A segment that begins too late is torn off at its front and a witness of what was synced all the same.
    for file in found.get(tear.segment..).unwrap_or_default() {
        if file.first_lsn.is_none() || (file.sequence == torn.sequence && tear.offset > 0) {
            continue;
        }
        let mut records = Records::open(files, file)?;
        while let Next::Record(header) = records.next(&file.path)? {
            synced_lsn = synced_lsn.max(header.synced_lsn);
        }
    }
    if synced_lsn >= expected {
        damage = Some(tear.reason);
    }
    match damage {
        None => {
            tracing::warn!(
                file = %torn.path.display(), offset = tear.offset, lsn = expected, reason = tear.reason,
                "the log ends in a record that was not written whole; it ends before it now"
            );
            Ok(())
        }
        Some(reason) if truncate_damage => {
            tracing::error!(
                file = %torn.path.display(), offset = tear.offset, lsn = expected, reason,
                "the log is damaged; everything from here on is thrown away, as the operator asked"
            );
            Ok(())
        }
        Some(reason) => Err(corrupt(&torn.path, tear.offset, reason)),
    }
}

/// Ends the log at the tear. What the torn segment holds before it stays.
fn cut_tear(
    files: &dyn Files,
    found: &[Found],
    tear: &Tear,
    applied_lsn: u64,
    end: End,
    sink: &mut dyn Sink,
    removable: &mut Vec<PathBuf>,
) -> Result<()> {
    let (Some(torn), Some(later)) = (found.get(tear.segment), found.get(tear.segment + 1..)) else {
        return Ok(());
    };
    let keeps_records =
        tear.offset > SEGMENT_HEADER as u64 && torn.first_lsn.is_some_and(|first| first <= end.lsn);
    if keeps_records && end.lsn > applied_lsn {
        files
            .truncate(&torn.path, tear.offset)
            .map_err(|error| io_error("truncating", &torn.path, &error))?;
        sink.segment(Segment::replayed(torn.sequence, torn.path.clone(), tear.offset), end)?;
    } else {
        removable.push(torn.path.clone());
    }
    removable.extend(later.iter().map(|file| file.path.clone()));
    Ok(())
}

/// Looks for a whole record anywhere behind a broken one.
fn has_record_behind(files: &dyn Files, file: &Found, offset: u64, expected: u64) -> Result<bool> {
    let mut bytes = Vec::new();
    files
        .open(&file.path)
        .and_then(|mut reader| reader.read_to_end(&mut bytes))
        .map_err(|error| io_error("reading", &file.path, &error))?;
    let Some(tail) = bytes.get(offset as usize..) else { return Ok(false) };
    for start in 1..tail.len().saturating_sub(RECORD_HEADER) {
        let Some(candidate) = tail.get(start..) else { break };
        let plausible =
            u64_at(candidate, 8).is_some_and(|lsn| lsn > expected && lsn - expected < LSN_HORIZON);
        if !plausible {
            continue;
        }
        if let Some(header) = record::parse_record_header(candidate)
            && let Some(rows) = candidate.get(RECORD_HEADER..RECORD_HEADER + header.rows_len)
            && record::is_whole(candidate, rows, header.crc)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

enum Next {
    Record(RecordHeader),
    Bad(&'static str),
    End,
}

struct Records {
    reader: BufReader<Box<dyn Read>>,
    offset: u64,
    len: u64,
    rows: Vec<u8>,
}

impl Records {
    fn open(files: &dyn Files, file: &Found) -> Result<Records> {
        let unreadable = |error| io_error("reading", &file.path, &error);
        let mut reader =
            BufReader::with_capacity(READ_BUFFER_BYTES, files.open(&file.path).map_err(unreadable)?);
        reader.read_exact(&mut [0; SEGMENT_HEADER]).map_err(unreadable)?;
        Ok(Records { reader, offset: SEGMENT_HEADER as u64, len: file.len, rows: Vec::new() })
    }

    fn next(&mut self, path: &Path) -> Result<Next> {
        let unreadable = |error| io_error("reading", path, &error);
        let left = self.len.saturating_sub(self.offset);
        if left == 0 {
            return Ok(Next::End);
        }
        if left < RECORD_HEADER as u64 {
            return Ok(Next::Bad("a record is cut off"));
        }
        let mut front = [0; RECORD_HEADER];
        self.reader.read_exact(&mut front).map_err(unreadable)?;
        let Some(header) = record::parse_record_header(&front) else {
            return Ok(Next::Bad("a record has an impossible length"));
        };
        if left < (RECORD_HEADER + header.rows_len) as u64 {
            return Ok(Next::Bad("a record is cut off"));
        }
        self.rows.resize(header.rows_len, 0);
        self.reader.read_exact(&mut self.rows).map_err(unreadable)?;
        if !record::is_whole(&front, &self.rows, header.crc) {
            return Ok(Next::Bad("a record does not match its checksum"));
        }
        self.offset += (RECORD_HEADER + header.rows_len) as u64;
        Ok(Next::Record(header))
    }
}

fn corrupt(path: &Path, offset: u64, reason: &str) -> Error {
    Error::Corrupt {
        file: path.to_path_buf(),
        reason: format!(
            "{reason} (at byte {offset}). Restore a backup, or start once with --recover-truncate-log yes to throw \
             away this record and everything written after it"
        ),
    }
}
