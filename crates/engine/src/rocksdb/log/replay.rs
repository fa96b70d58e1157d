//! Reading the log back: which records count, where it ends, and what is damage.
//!
//! Records that follow the applied lsn must be dense. The log may end early in one way only: a loss of power (or a
//! full disk) took a part of it that was never known to be on the device. What was is told by the marks and by each
//! record; a hole at or below that place is damage. Above it, a hole is what the file system left: zeroes, or the end
//! of the file. Bytes that are neither whole nor a hole are damage wherever they are, and so is a segment that is
//! missing, or its header: both were on the device before the first record.
//!
//! Damage refuses to start, unless the operator says otherwise. Nothing that may be wanted is deleted: what the log is
//! cut off from moves to a folder `set-aside-N` in it.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::field::u64_at;
use super::super::files::{Files, io_error};
use super::super::open::Progress;
use super::marks::{Marks, MarksFile};
use super::record::{self, RECORD_HEADER, RecordHeader, Row, SEGMENT_HEADER};
use super::segment::{self, Segment};
use crate::{Error, Result};

const READ_BUFFER_BYTES: usize = 1 << 20;
/// How far ahead of the expected lsn a record behind a broken one is still believed to be one.
const LSN_HORIZON: u64 = 1 << 24;
/// What a device writes or loses as a whole, at least.
const SECTOR: usize = 512;
/// Fewer zeroes may stand in any record.
const HOLE_BYTES: usize = 24;
pub const OVERRIDE: &str = "start once with --recover-truncate-log yes";

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

/// How the log is read.
pub struct Replay<'r> {
    pub files: &'r dyn Files,
    pub dir: &'r Path,
    pub applied: End,
    /// What the database was left with; a format without marks has none.
    pub left: Option<Marks>,
    pub marks: &'r MarksFile,
    /// Damage is cut off, not refused.
    pub start_anyway: bool,
    pub progress: &'r Progress,
}

struct Found {
    sequence: u64,
    path: PathBuf,
    len: u64,
    header: Header,
}

enum Header {
    /// No record of the segment is below this lsn.
    Whole(u64),
    Bad,
    /// The marks know of the segment, and it is not there.
    Missing,
}

/// Where the dense run of records ends before the files do.
struct Tear {
    segment: usize,
    /// Bytes of that segment which are good.
    offset: u64,
    kind: Kind,
    reason: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The file ends, or the next one begins too late.
    End,
    /// Zeroes, where a record should be.
    Hole,
    /// Something that no loss of power leaves.
    Damage,
}

impl Replay<'_> {
    pub fn run(&self, sink: &mut dyn Sink) -> Result<Replayed> {
        let mut position = self.applied.position;
        let found = self.find_segments()?;
        self.progress.begin(found.iter().map(|file| file.len).sum());
        let last = found.iter().map(|file| file.sequence).max().unwrap_or(0);
        let next_sequence = last.max(self.left.map_or(0, |left| left.last)) + 1;
        let mut expected = self.applied.lsn + 1;
        let mut synced_lsn = self.left.map_or(0, |left| left.synced_lsn);
        let mut removable = Vec::new();
        let mut tear = None;
        for (index, file) in found.iter().enumerate() {
            let before = expected;
            let broken = self.read_segment(file, &mut expected, &mut synced_lsn, &mut position, sink)?;
            if let Some((offset, kind, reason)) = broken
                && !self.goes_on(&found, index, expected)?
            {
                tear = Some(Tear { segment: index, offset, kind, reason });
                break;
            }
            if expected == before {
                removable.push(file.path.clone());
                continue;
            }
            // It grows no more: what was set aside for it is free again.
            self.files
                .truncate(&file.path, file.len)
                .map_err(|error| io_error("syncing", &file.path, &error))?;
            let segment = Segment::replayed(file.sequence, file.path.clone(), file.len);
            sink.segment(segment, End { lsn: expected - 1, position })?;
        }
        let end = End { lsn: expected - 1, position };
        if tear.is_none() && synced_lsn > end.lsn {
            // The files end, and in order; but records that were there are not.
            let reason = "the log ends before what was synced";
            tear = Some(Tear { segment: found.len(), offset: 0, kind: Kind::Damage, reason });
        }
        let is_damage = match &tear {
            Some(tear) => self.judge(&found, tear, end, synced_lsn)?,
            None => false,
        };
        // The segments that are there from now on are judged by their records alone. A start that is cut off here finds the
        // same end again.
        self.marks.update(|marks| {
            marks.applied_lsn = self.applied.lsn;
            marks.synced_lsn = marks.synced_lsn.min(end.lsn);
            (marks.first, marks.last) = (next_sequence, next_sequence - 1);
        })?;
        if let Some(tear) = &tear {
            self.cut(&found, tear, is_damage, end, sink)?;
        }
        removable.retain(|path| path.exists());
        for path in &removable {
            self.files.remove(path).map_err(|error| io_error("removing", path, &error))?;
        }
        if tear.is_some() || !removable.is_empty() {
            // A segment that is gone must not come back: its lsns are given out again.
            self.files.sync_dir(self.dir).map_err(|error| io_error("syncing", self.dir, &error))?;
        }
        Ok(Replayed { end, next_sequence })
    }

    /// In the order of their records.
    fn find_segments(&self) -> Result<Vec<Found>> {
        let names = self.files.list(self.dir).map_err(|error| io_error("listing", self.dir, &error))?;
        let mut found = Vec::new();
        for name in names {
            let Some(sequence) = segment::parse_file_name(&name) else { continue };
            let path = self.dir.join(&name);
            let unreadable = |error| io_error("reading", &path, &error);
            let len = self.files.len(&path).map_err(unreadable)?;
            let mut header = Vec::new();
            let reader = self.files.open(&path).map_err(unreadable)?;
            reader.take(SEGMENT_HEADER as u64).read_to_end(&mut header).map_err(unreadable)?;
            let header = match record::parse_segment_header(&header) {
                Some((inside, lsn)) if inside == sequence => Header::Whole(lsn),
                _ => Header::Bad,
            };
            found.push(Found { sequence, path, len, header });
        }
        for sequence in self.left.into_iter().flat_map(|left| left.first..=left.last) {
            if found.iter().all(|file| file.sequence != sequence) {
                let path = self.dir.join(segment::file_name(sequence));
                found.push(Found { sequence, path, len: 0, header: Header::Missing });
            }
        }
        found.sort_by_key(|file| file.sequence);
        // An older version could give a later number to an earlier segment. One without a header stays behind its neighbour.
        let mut lsn = 0;
        let mut keyed: Vec<(u64, Found)> = Vec::new();
        for file in found {
            if let Header::Whole(first) = file.header {
                lsn = first;
            }
            keyed.push((lsn, file));
        }
        keyed.sort_by_key(|(lsn, _)| *lsn);
        Ok(keyed.into_iter().map(|(_, file)| file).collect())
    }

    /// Feeds the segment's records to the sink. Returns where and why it broke off, if it did.
    fn read_segment(
        &self,
        file: &Found,
        expected: &mut u64,
        synced_lsn: &mut u64,
        position: &mut u64,
        sink: &mut dyn Sink,
    ) -> Result<Option<(u64, Kind, &'static str)>> {
        let is_marked = self.left.is_some_and(|left| (left.first..=left.last).contains(&file.sequence));
        match file.header {
            Header::Missing => return Ok(Some((0, Kind::Damage, "the segment is missing"))),
            Header::Bad if is_marked => {
                return Ok(Some((0, Kind::Damage, "the segment's header is damaged")));
            }
            // Its preparation was cut off.
            Header::Bad if file.len <= SEGMENT_HEADER as u64 => return Ok(None),
            Header::Bad => return Ok(Some((0, Kind::End, "the segment has no whole header"))),
            Header::Whole(_) => {}
        }
        let mut records = Records::open(self.files, file)?;
        let mut counted = 0;
        loop {
            let offset = records.offset;
            self.progress.add(offset.saturating_sub(std::mem::replace(&mut counted, offset)));
            let header = match records.next(&file.path)? {
                Next::End => return Ok(None),
                Next::Bad(kind, reason) => return Ok(Some((offset, kind, reason))),
                Next::Record(header) => header,
            };
            *synced_lsn = (*synced_lsn).max(header.synced_lsn);
            if header.lsn <= self.applied.lsn {
                continue;
            }
            if header.lsn > *expected && offset == SEGMENT_HEADER as u64 {
                return Ok(Some((offset, Kind::Hole, "records are missing before the segment")));
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

    /// Whether a later segment has the next record: then nothing is missing in this one.
    fn goes_on(&self, found: &[Found], index: usize, expected: u64) -> Result<bool> {
        for file in found.get(index + 1..).unwrap_or_default() {
            if matches!(file.header, Header::Whole(_))
                && let Next::Record(header) = Records::open(self.files, file)?.next(&file.path)?
            {
                return Ok(header.lsn <= expected);
            }
        }
        Ok(false)
    }

    /// Is this an end that a loss of power may leave behind? Refuses what is not, or says whether it is damage.
    fn judge(&self, found: &[Found], tear: &Tear, end: End, mut synced_lsn: u64) -> Result<bool> {
        let expected = end.lsn + 1;
        let mut has_whole_behind = false;
        for (index, file) in found.iter().enumerate().skip(tear.segment) {
            let from = if index == tear.segment { tear.offset } else { 0 };
            for header in self.records_behind(file, from, expected)? {
                synced_lsn = synced_lsn.max(header.synced_lsn);
                has_whole_behind |= index == tear.segment && header.lsn >= expected;
            }
        }
        let is_damage = synced_lsn >= expected
            || match tear.kind {
                Kind::Damage => true,
                Kind::Hole => false,
                Kind::End => has_whole_behind,
            };
        let path = found.get(tear.segment).map_or(self.dir, |file| &*file.path);
        if is_damage && !self.start_anyway {
            return Err(corrupt(path, tear.offset, tear.reason));
        }
        if is_damage {
            tracing::error!(
                file = %path.display(), offset = tear.offset, reason = tear.reason, first_lost = expected,
                synced = synced_lsn,
                "the log is damaged. It ends here, as the operator asked: what was written later is lost, and set aside"
            );
        } else {
            tracing::warn!(
                file = %path.display(), offset = tear.offset, lsn = expected, reason = tear.reason,
                "the log ends in what was not written whole; it ends before that now, and the rest is set aside"
            );
        }
        Ok(is_damage)
    }

    /// Ends the log at the tear. What the torn segment holds before it stays.
    fn cut(
        &self,
        found: &[Found],
        tear: &Tear,
        is_damage: bool,
        end: End,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let aside = free_name(self.dir, "set-aside");
        self.files.create_dir(&aside).map_err(|error| io_error("creating", &aside, &error))?;
        for (index, file) in found.iter().enumerate().skip(tear.segment) {
            let name = segment::file_name(file.sequence);
            let is_front_good = index == tear.segment && tear.offset > SEGMENT_HEADER as u64;
            if matches!(file.header, Header::Missing) {
                continue;
            }
            if is_front_good && end.lsn > self.applied.lsn {
                let copied =
                    self.copy_tail(file, tear.offset, &aside.join(format!("{name}-from-{}", tear.offset)));
                match copied {
                    // A full disk tears records too, and has no room for a copy.
                    Err(error) if !is_damage => tracing::warn!(%error, "the torn end of the log is not kept"),
                    other => other?,
                }
                self.files
                    .truncate(&file.path, tear.offset)
                    .map_err(|error| io_error("truncating", &file.path, &error))?;
                sink.segment(Segment::replayed(file.sequence, file.path.clone(), tear.offset), end)?;
            } else if matches!(file.header, Header::Whole(_)) && file.len <= SEGMENT_HEADER as u64 {
                // Prepared, and never used.
                self.files.remove(&file.path).map_err(|error| io_error("removing", &file.path, &error))?;
            } else {
                self.files
                    .rename(&file.path, &aside.join(name))
                    .map_err(|error| io_error("setting aside", &file.path, &error))?;
            }
        }
        self.files.sync_dir(&aside).map_err(|error| io_error("syncing", &aside, &error))
    }

    fn copy_tail(&self, file: &Found, offset: u64, to: &Path) -> Result<()> {
        let copy = || {
            let mut bytes = Vec::new();
            let mut reader = self.files.open(&file.path)?;
            std::io::copy(&mut (&mut reader).take(offset), &mut std::io::sink())?;
            reader.read_to_end(&mut bytes)?;
            let copy = self.files.create(to)?;
            copy.append(&bytes)?;
            copy.sync()
        };
        copy().map_err(|error| io_error("writing", to, &error))
    }

    /// The headers of whole records anywhere behind a place.
    fn records_behind(&self, file: &Found, offset: u64, expected: u64) -> Result<Vec<RecordHeader>> {
        let mut headers = Vec::new();
        let mut bytes = Vec::new();
        if file.len > 0 {
            self.files
                .open(&file.path)
                .and_then(|mut reader| reader.read_to_end(&mut bytes))
                .map_err(|error| io_error("reading", &file.path, &error))?;
        }
        let mut at = offset as usize;
        while let Some(candidate) = bytes.get(at..).filter(|left| left.len() > RECORD_HEADER) {
            at += 1;
            let is_plausible = u64_at(candidate, 8).is_some_and(|lsn| lsn.abs_diff(expected) < LSN_HORIZON);
            if is_plausible
                && let Some(header) = record::parse_record_header(candidate)
                && let Some(rows) = candidate.get(RECORD_HEADER..RECORD_HEADER + header.rows_len)
                && record::is_whole(candidate, rows, header.crc)
            {
                at += RECORD_HEADER + header.rows_len - 1;
                headers.push(header);
            }
        }
        Ok(headers)
    }
}

/// `prefix-N` with the lowest number that is free.
pub fn free_name(dir: &Path, prefix: &str) -> PathBuf {
    (1..)
        .map(|number: u64| dir.join(format!("{prefix}-{number}")))
        .find(|path| !path.exists())
        .unwrap_or_default()
}

enum Next {
    Record(RecordHeader),
    Bad(Kind, &'static str),
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
            return Ok(Next::Bad(Kind::End, "a record is cut off"));
        }
        let mut front = [0; RECORD_HEADER];
        self.reader.read_exact(&mut front).map_err(unreadable)?;
        let header = record::parse_record_header(&front);
        let rest = left - RECORD_HEADER as u64;
        // Of a length that cannot be, two sectors tell whether it was lost or damaged.
        let wanted = header.map_or(2 * SECTOR, |header| header.rows_len) as u64;
        self.rows.resize(wanted.min(rest) as usize, 0);
        self.reader.read_exact(&mut self.rows).map_err(unreadable)?;
        let is_whole = header.is_some_and(|header| record::is_whole(&front, &self.rows, header.crc));
        Ok(match header {
            Some(header) if is_whole && wanted <= rest => {
                self.offset += RECORD_HEADER as u64 + wanted;
                Next::Record(header)
            }
            Some(_) if is_whole => Next::Bad(Kind::Damage, "a record has a damaged length"),
            Some(_) if wanted > rest => Next::Bad(Kind::End, "a record is cut off"),
            _ if self.is_hole(&front) => Next::Bad(Kind::Hole, "a record is missing"),
            Some(_) => Next::Bad(Kind::Damage, "a record does not match its checksum"),
            None => Next::Bad(Kind::Damage, "a record has an impossible length"),
        })
    }

    /// Whether the record begins with zeroes, or has them all over a sector, or over its part of one.
    fn is_hole(&self, front: &[u8]) -> bool {
        let is_zero = |part: &[u8]| part.iter().all(|byte| *byte == 0);
        if is_zero(front) {
            return true;
        }
        let record = [front, &self.rows].concat();
        let first = SECTOR - self.offset as usize % SECTOR;
        let (first, others) = record.split_at(first.min(record.len()));
        std::iter::once(first)
            .chain(others.chunks(SECTOR))
            .any(|part| part.len() >= HOLE_BYTES && is_zero(part))
    }
}

fn corrupt(path: &Path, offset: u64, reason: &str) -> Error {
    Error::Corrupt {
        file: path.to_path_buf(),
        reason: format!(
            "{reason} (at byte {offset}). Restore a backup, or {OVERRIDE}: this record and everything written after it \
             is set aside then"
        ),
    }
}
