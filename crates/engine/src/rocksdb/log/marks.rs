//! What is known of the log and of the sorted data, kept outside of both: a start holds them to it.
//!
//! ```text
//! MARKS  magic 8 | applied lsn 8 | synced lsn 8 | first segment 8 | last segment 8 | crc32c of those 4
//! ```
//!
//! The file is replaced as a whole and is on the device before anything relies on it: a segment takes its first record, and
//! one whose rows are in the sorted data is removed, after the marks tell.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::field::{u32_at, u64_at};
use super::super::files::{Files, io_error};
use crate::{Error, Result};

const MAGIC: [u8; 8] = *b"TARNMRK1";
const LEN: usize = 44;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Rows up to this lsn are in the sorted data.
    pub applied_lsn: u64,
    /// Records up to this lsn are on the device, unless they were applied and are gone.
    pub synced_lsn: u64,
    /// The segments from this number on to `last` are there, with their headers; none where `last` is below.
    pub first: u64,
    pub last: u64,
}

impl Marks {
    /// Of a database without segments.
    pub fn without_log(lsn: u64) -> Marks {
        Marks { applied_lsn: lsn, synced_lsn: lsn, first: 1, last: 0 }
    }

    fn bytes(&self) -> Vec<u8> {
        let numbers = [self.applied_lsn, self.synced_lsn, self.first, self.last];
        let mut bytes = MAGIC.to_vec();
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_be_bytes()));
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_be_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Marks> {
        let body = bytes.get(..LEN - 4).filter(|body| body.starts_with(&MAGIC))?;
        (bytes.len() == LEN && u32_at(bytes, LEN - 4)? == crc32c::crc32c(body)).then_some(())?;
        let [applied_lsn, synced_lsn, first, last] =
            [u64_at(body, 8)?, u64_at(body, 16)?, u64_at(body, 24)?, u64_at(body, 32)?];
        Some(Marks { applied_lsn, synced_lsn, first, last })
    }

    pub fn read(files: &dyn Files, dir: &Path) -> Result<Marks> {
        let path = path(dir);
        let mut bytes = Vec::new();
        files
            .open(&path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| Error::Corrupt { file: path.clone(), reason: error.to_string() })?;
        let damaged = || Error::Corrupt { file: path, reason: "it does not match its checksum".to_owned() };
        Marks::parse(&bytes).ok_or_else(damaged)
    }

    pub fn write(&self, files: &dyn Files, dir: &Path) -> Result<()> {
        replace(files, dir, &path(dir), &self.bytes())
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("MARKS")
}

/// Puts a file in the place of another, or of none, so that a crash leaves the one or the other.
pub fn replace(files: &dyn Files, dir: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension("unfinished");
    let write = || {
        if unfinished.exists() {
            files.remove(&unfinished)?;
        }
        let file = files.create(&unfinished)?;
        file.append(bytes)?;
        file.sync()?;
        files.rename(&unfinished, path)?;
        files.sync_dir(dir)
    };
    write().map_err(|error| io_error("writing", path, &error))
}

/// The marks of the open database.
pub struct MarksFile {
    files: Arc<dyn Files>,
    dir: PathBuf,
    marks: Mutex<Marks>,
}

impl MarksFile {
    pub fn new(files: Arc<dyn Files>, dir: &Path, marks: Marks) -> MarksFile {
        MarksFile { files, dir: dir.to_path_buf(), marks: Mutex::new(marks) }
    }

    /// The change is on the device when this returns.
    pub fn update(&self, change: impl FnOnce(&mut Marks)) -> Result<()> {
        let mut marks = self.marks.lock();
        let mut changed = *marks;
        change(&mut changed);
        if changed != *marks {
            changed.write(&*self.files, &self.dir)?;
            *marks = changed;
        }
        Ok(())
    }

    /// Rows up to `lsn` are in the sorted data; the segments up to this number may go.
    pub fn applied(&self, lsn: u64, last: Option<u64>) -> Result<()> {
        self.update(|marks| {
            marks.applied_lsn = marks.applied_lsn.max(lsn);
            marks.first = marks.first.max(last.map_or(0, |last| last + 1));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes_of_the_marks() {
        let marks = Marks { applied_lsn: 6, synced_lsn: 8, first: 3, last: 5 };
        let hex: String = marks.bytes().iter().map(|byte| format!(" {byte:02x}")).collect();
        let document = include_str!("../../../../../docs/on-disk-format.md");
        assert!(document.contains(&format!("\nmarks   {hex}\n")), "the document does not hold {hex}");
        assert_eq!(Marks::parse(&marks.bytes()), Some(marks));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = Marks::without_log(7).bytes();
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Marks::parse(&bad), None, "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_eq!(Marks::parse(&bytes[..len]), None);
        }
    }
}
