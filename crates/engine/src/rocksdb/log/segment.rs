//! One file of the log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::files::{AppendFile, Files, io_error};
use super::record::{SEGMENT_HEADER, segment_header};
use crate::{Error, Result, failpoint};

const PREFIX: &str = "log-";

pub fn file_name(sequence: u64) -> String {
    format!("{PREFIX}{sequence:016}")
}

pub fn parse_file_name(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?;
    (digits.len() == 16).then(|| digits.parse().ok())?
}

/// A segment of the running log, or one that was replayed (then without an open file, and synced).
pub struct Segment {
    pub sequence: u64,
    pub path: PathBuf,
    file: Option<Arc<dyn AppendFile>>,
    bytes: AtomicU64,
    /// The file's length up to which no write fails for want of room.
    reserved: AtomicU64,
    synced: AtomicBool,
}

/// Where the file system promises no room.
const UNLIMITED: u64 = u64::MAX / 2;

impl Segment {
    /// Creates the file and makes its name and header durable: a start may rely on both. Slow: never on the way of a commit.
    /// Of the room that is wanted it takes what it gets.
    pub fn prepare(
        files: &dyn Files,
        dir: &Path,
        sequence: u64,
        next_lsn: u64,
        wanted: &[u64],
    ) -> Result<Arc<Segment>> {
        let path = dir.join(file_name(sequence));
        // A try before this one may have failed half-way; nobody else has the number.
        let _absent = files.remove(&path);
        let file = files.create(&path).map_err(|error| io_error("creating", &path, &error))?;
        file.append(&segment_header(sequence, next_lsn))
            .and_then(|()| file.sync())
            .map_err(|error| io_error("writing", &path, &error))?;
        files.sync_dir(dir).map_err(|error| io_error("syncing", dir, &error))?;
        let segment = Arc::new(Segment {
            sequence,
            path,
            file: Some(file),
            bytes: AtomicU64::new(SEGMENT_HEADER as u64),
            reserved: AtomicU64::new(SEGMENT_HEADER as u64),
            synced: AtomicBool::new(false),
        });
        let _less = wanted.iter().find(|len| segment.reserve(**len).is_ok());
        Ok(segment)
    }

    pub fn replayed(sequence: u64, path: PathBuf, bytes: u64) -> Arc<Segment> {
        Arc::new(Segment {
            sequence,
            path,
            file: None,
            bytes: AtomicU64::new(bytes),
            reserved: AtomicU64::new(bytes),
            synced: AtomicBool::new(true),
        })
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What can be appended without a failure for want of room.
    pub fn room(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed).saturating_sub(self.bytes())
    }

    /// Sets room aside up to this length of the file. Returns how much that is more than before.
    pub fn reserve(&self, len: u64) -> Result<u64> {
        let before = self.reserved.load(Ordering::Relaxed);
        let Some(file) = self.file.as_ref().filter(|_| before < len) else { return Ok(0) };
        let is_promised =
            file.reserve(len).map_err(|error| io_error("reserving room in", &self.path, &error))?;
        let now = if is_promised { len } else { UNLIMITED };
        self.reserved.store(now, Ordering::Relaxed);
        Ok(now - before)
    }

    /// The segment grows no more: what was set aside for it is free again.
    pub fn give_back(&self) {
        let Some(file) = &self.file else { return };
        if let Err(error) = file.give_back() {
            tracing::warn!(file = %self.path.display(), %error, "cannot give back room");
        }
    }

    /// No record was appended yet.
    pub fn is_empty(&self) -> bool {
        self.bytes() <= SEGMENT_HEADER as u64
    }

    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        let Some(file) = &self.file else {
            return Err(Error::Io(format!("{} is closed", self.path.display())));
        };
        told_to_fail("log-write")
            .and_then(|()| file.append(bytes))
            .map_err(|error| io_error("writing", &self.path, &error))?;
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Makes everything that was appended before the call durable.
    pub fn sync(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        failpoint::wait_while("log-sync-waits");
        told_to_fail("log-sync")
            .and_then(|()| file.sync())
            .map_err(|error| io_error("syncing", &self.path, &error))
    }

    /// Syncs a segment that no longer grows, once.
    pub fn sync_closed(&self) -> Result<()> {
        if !self.synced.load(Ordering::Acquire) {
            self.sync()?;
            self.synced.store(true, Ordering::Release);
        }
        Ok(())
    }
}

fn told_to_fail(call: &str) -> io::Result<()> {
    if failpoint::fails(call) { Err(io::Error::other("told to fail")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_their_numbers_and_parse_back() {
        assert_eq!(parse_file_name(&file_name(42)), Some(42));
        assert!(file_name(9) < file_name(10));
        for other in ["log-1", "log-000000000000000x", "LOG", "log-00000000000000001", "FORMAT"] {
            assert_eq!(parse_file_name(other), None, "{other}");
        }
    }
}
