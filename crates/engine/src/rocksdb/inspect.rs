//! A database that nobody has open, read without a change to it and as far as it can be read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rust_rocksdb::{ColumnFamily, DB, Options, ReadOptions};

use super::files::{AppendFile, Files, OsFiles, Space as DiskSpace};
use super::log::marks::{Marks, MarksFile};
use super::log::record::Row;
use super::log::replay::{End, Replay, Sink};
use super::log::segment::Segment;
use super::open;
use super::store::{Store, damage};
use crate::{Error, Range, Result, Space, SpaceDef};

/// Bytes of two keys behind what they have in common that are halved between them.
const HALVED_BYTES: usize = 15;
/// Steps in which the end of a damaged part is looked for: more than any key has bits.
const MAX_STEPS: usize = 4096;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub file: PathBuf,
    pub reason: String,
}

impl Finding {
    fn of(error: Error, dir: &Path) -> Finding {
        match error {
            Error::Corrupt { file, reason } => Finding { file, reason },
            other => Finding { file: dir.to_owned(), reason: other.to_string() },
        }
    }
}

/// What a walk over rows meets.
pub enum Met<'a> {
    Row(&'a [u8], &'a [u8]),
    /// What stands behind the one key and before the other cannot be read, but for rows of the log.
    Lost {
        after: &'a [u8],
        before: &'a [u8],
        finding: Finding,
    },
}

/// An open directory. Nobody else can open it meanwhile.
pub struct Inspection {
    dir: PathBuf,
    spaces: &'static [SpaceDef],
    db: DB,
    /// What the log has beyond the sorted data, by space. None is deleted.
    log: Vec<Rows>,
    findings: Vec<Finding>,
    _lock: File,
}

type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

struct FromLog(Vec<Rows>);

impl Sink for FromLog {
    fn row(&mut self, row: Row<'_>) -> Result<()> {
        if let Some(rows) = self.0.get_mut(usize::from(row.space)) {
            rows.insert(row.key.to_vec(), row.value.map(<[u8]>::to_vec));
        }
        Ok(())
    }

    fn segment(&mut self, _segment: Arc<Segment>, _end: End) -> Result<()> {
        Ok(())
    }
}

impl Inspection {
    /// Refuses only where the sorted data cannot be opened at all. The rows of the log are in memory then.
    pub fn open(dir: &Path, spaces: &'static [SpaceDef]) -> Result<Inspection> {
        let lock = open::lock(dir)?;
        let format = open::read_format(&OsFiles, dir)?;
        let (sorted, log_dir) = (open::sorted_dir(dir), open::log_dir(dir));
        let mut findings = Vec::new();
        let left = match format {
            open::WITHOUT_MARKS => None,
            _ => Marks::read(&OsFiles, dir).map_err(|error| findings.push(Finding::of(error, dir))).ok(),
        };
        let names: Vec<&str> = spaces.iter().map(|def| def.name).chain(["default"]).collect();
        let path = sorted.clone();
        let known = open::within(open::STORE_PATIENCE, &sorted, move || {
            let here = DB::list_cf(&Options::default(), &path).map_err(|error| unreadable(&path, &error))?;
            let names = names.into_iter().filter(|name| here.iter().any(|other| other == name));
            let db = DB::open_cf_for_read_only(&Options::default(), &path, names, false)
                .map_err(|error| unreadable(&path, &error))?;
            let applied = Store::applied_in(&path)?;
            Ok((db, applied))
        });
        let (db, applied) = known?;
        if left.is_some_and(|left| left.applied_lsn > applied.lsn) {
            let reason = "it went back in time: its MANIFEST has lost its end".to_owned();
            findings.push(Finding { file: sorted, reason });
        }
        let mut rows = FromLog(vec![Rows::new(); spaces.len()]);
        if log_dir.exists() {
            let marks =
                MarksFile::new(Arc::new(Untouched), dir, left.unwrap_or(Marks::without_log(applied.lsn)));
            let replay = |start_anyway, sink: &mut FromLog| {
                let dir = &log_dir;
                let progress = &super::open::Progress::default();
                Replay { files: &Untouched, dir, applied, left, marks: &marks, start_anyway, progress }
                    .run(sink)
            };
            if let Err(error) = replay(false, &mut rows) {
                findings.push(Finding::of(error, &log_dir));
                rows = FromLog(vec![Rows::new(); spaces.len()]);
                // What it holds before the damage; that there is some has been found.
                let _damaged = replay(true, &mut rows);
            }
        } else {
            findings.push(Finding { file: log_dir, reason: "it is missing".to_owned() });
        }
        Ok(Inspection { dir: dir.to_owned(), spaces, db, log: rows.0, findings, _lock: lock })
    }

    /// What is wrong with the log and with the files beside it.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether every block of every file is what was written.
    pub fn verify_blocks(&self) -> Result<(), Finding> {
        self.db.verify_checksum().map_err(|error| self.finding(&error))
    }

    /// Rows of a range, in order, as they would be after a start. What cannot be read is told in its place.
    pub fn walk(&self, space: Space, range: Range<'_>, each: &mut dyn FnMut(Met<'_>)) {
        let empty = Rows::new();
        let rows = self.log.get(usize::from(space.0)).unwrap_or(&empty);
        let mut newer = rows.range(range.start.to_vec()..range.end.to_vec()).peekable();
        self.walk_sorted(space, range, &mut |met| match met {
            Met::Row(key, value) => {
                while let Some((newer_key, newer_value)) = newer.next_if(|(newer, _)| newer.as_slice() < key)
                {
                    if let Some(newer_value) = newer_value {
                        each(Met::Row(newer_key, newer_value));
                    }
                }
                match newer.next_if(|(newer, _)| newer.as_slice() == key) {
                    Some((_, Some(newer_value))) => each(Met::Row(key, newer_value)),
                    Some((_, None)) => {}
                    None => each(Met::Row(key, value)),
                }
            }
            lost => each(lost),
        });
        for (key, value) in newer {
            if let Some(value) = value {
                each(Met::Row(key, value));
            }
        }
    }

    /// A row, as it would be after a start.
    pub fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Finding> {
        if let Some(value) = self.log.get(usize::from(space.0)).and_then(|rows| rows.get(key)) {
            return Ok(value.clone());
        }
        let Some(family) = self.family(space) else { return Ok(None) };
        self.db.get_cf(family, key).map_err(|error| self.finding(&error))
    }

    /// None of a space that this database does not have yet.
    fn family(&self, space: Space) -> Option<&ColumnFamily> {
        self.db.cf_handle(self.spaces.get(usize::from(space.0))?.name)
    }

    fn walk_sorted(&self, space: Space, range: Range<'_>, each: &mut dyn FnMut(Met<'_>)) {
        let Some(family) = self.family(space) else { return };
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        options.set_total_order_seek(true);
        options.set_iterate_upper_bound(range.end);
        let mut rows = self.db.raw_iterator_cf_opt(family, options);
        let mut last = range.start.to_vec();
        rows.seek(&last);
        loop {
            while let Some((key, value)) = rows.item() {
                each(Met::Row(key, value));
                last.clear();
                last.extend_from_slice(key);
                rows.next();
            }
            let Err(error) = rows.status() else { return };
            let next = next_readable(&last, range.end, |key| {
                rows.seek(key);
                rows.status().is_ok()
            });
            each(Met::Lost { after: &last, before: &next, finding: self.finding(&error) });
            if next.as_slice() >= range.end {
                return;
            }
            rows.seek(&next);
            last = next;
        }
    }

    fn finding(&self, error: &rust_rocksdb::Error) -> Finding {
        let file = damage::file_in(error.as_ref()).unwrap_or_else(|| open::sorted_dir(&self.dir));
        Finding { file, reason: error.as_ref().to_owned() }
    }
}

fn unreadable(dir: &Path, error: &rust_rocksdb::Error) -> Error {
    Error::Corrupt { file: dir.to_owned(), reason: error.as_ref().to_owned() }
}

/// The least key above `last` from which on rows can be read; `end` if there is none. Where several parts are damaged it may be a
/// later one.
fn next_readable(last: &[u8], end: &[u8], mut can_read: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let (mut bad, mut good) = (last.to_vec(), end.to_vec());
    for _ in 0..MAX_STEPS {
        let common = bad.iter().zip(&good).take_while(|(bad, good)| bad == good).count();
        let number = |key: &[u8]| {
            let bytes = (common..common + HALVED_BYTES).map(|at| key.get(at).copied().unwrap_or(0));
            bytes.fold(0_u128, |number, byte| number << 8 | u128::from(byte))
        };
        let (low, high) = (number(&bad), number(&good));
        if high.saturating_sub(low) <= 1 {
            break;
        }
        let middle = low + (high - low) / 2;
        let mut key = bad.get(..common).unwrap_or_default().to_vec();
        key.extend_from_slice(middle.to_be_bytes().split_at(16 - HALVED_BYTES).1);
        if can_read(&key) {
            good = key;
        } else {
            bad = key;
        }
    }
    good
}

/// Files that are read and never changed.
struct Untouched;

struct Nowhere;

impl AppendFile for Nowhere {
    fn append(&self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn reserve(&self, _len: u64) -> io::Result<bool> {
        Ok(true)
    }

    fn give_back(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Files for Untouched {
    fn create(&self, _path: &Path) -> io::Result<Arc<dyn AppendFile>> {
        Ok(Arc::new(Nowhere))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        OsFiles.open(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        OsFiles.len(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        OsFiles.list(dir)
    }

    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, _path: &Path, _len: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn space(&self, dir: &Path) -> io::Result<DiskSpace> {
        OsFiles.space(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_damaged_part_is_found() {
        for (from, to) in [(b"kb".as_slice(), b"kd".as_slice()), (b"key-0001", b"key-0002"), (b"a", b"y")] {
            let found = next_readable(from, b"\xff\xff", |key| key >= to);
            assert!(
                found.as_slice() >= to && found.as_slice() < [to, b"\0\x01"].concat().as_slice(),
                "{found:?}"
            );
        }
        assert_eq!(next_readable(b"a", b"\xff\xff", |_| false), b"\xff\xff");
    }
}
