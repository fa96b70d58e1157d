//! Room on the disk. It is set aside for the log before a commit enters the order, so that no commit in the order fails for want
//! of it, and none that is refused was ever seen.
//!
//! ```text
//! the segment that is written to   its bytes | what commits have claimed | free for any commit | kept for what frees
//! RESERVE                          a file of nothing, given up when the disk is full
//! ```
//!
//! When room cannot be set aside any more, the disk counts as full: commits are refused, but for those that free something. The
//! reserve is given up then, so that write-back and compaction have room to work in. Once there is enough for all of this again,
//! the reserve is made anew and commits go on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::super::files::{Files, io_error};
use super::segment;
use crate::{Error, Result};

const MIB: u64 = 1 << 20;

/// How much is set aside, by the size of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// At a time, in the segment that is written to and in the next one.
    pub chunk: u64,
    /// The part of a chunk that only commits which free something may use.
    pub kept: u64,
    /// The same while the disk is full: for as long as a compaction has the rest.
    pub kept_when_full: u64,
    /// What is given up when the disk is full: a unit of write-back, and what a compaction leaves of the data, should fit into it.
    pub reserve: u64,
    /// What is left of it then, for a start on a disk that is full.
    pub start: u64,
}

impl Sizes {
    pub fn of_disk(total: u64) -> Sizes {
        let chunk = (total / 64).clamp(MIB / 16, 16 * MIB);
        let reserve = (total / 5).clamp(MIB / 4, 256 * MIB);
        let start = (reserve / 8).min(4 * MIB);
        Sizes { chunk, kept: chunk / 4, kept_when_full: reserve / 4, reserve, start }
    }
}

pub struct Room {
    files: Arc<dyn Files>,
    dir: PathBuf,
    pub sizes: Sizes,
    is_full: AtomicBool,
    /// The reserve is there as a whole.
    has_reserve: AtomicBool,
    /// Write-back found no room, whatever the file system says of it: there may be a quota.
    pub is_refused_to_write_back: AtomicBool,
    /// Why it is full.
    reason: Mutex<Option<Error>>,
    /// As it was when it was last looked at.
    free: AtomicU64,
}

fn path(dir: &Path) -> PathBuf {
    dir.join("RESERVE")
}

/// A start needs a little room before anything can be served: where there is none, the reserve is given up, and what the last
/// run had set aside in segments.
/// Whether there is so little that compactions should not take of it meanwhile: one of them may need as much as there is data.
pub fn make_room_for_start(files: &dyn Files, dir: &Path, log_dir: &Path) -> bool {
    let Ok(space) = files.space(dir) else { return false };
    let sizes = Sizes::of_disk(space.total);
    if space.free >= sizes.start {
        return space.free < space.total / 4;
    }
    let path = path(dir);
    if path.exists()
        && let Err(error) = files.remove(&path)
    {
        tracing::warn!(file = %path.display(), %error, "cannot give up the reserve");
    }
    for name in files.list(log_dir).unwrap_or_default() {
        let path = log_dir.join(&name);
        if segment::parse_file_name(&name).is_some()
            && let Err(error) = files.len(&path).and_then(|len| files.truncate(&path, len))
        {
            tracing::warn!(file = %path.display(), %error, "cannot give back room");
        }
    }
    true
}

impl Room {
    /// `dir` is the directory of the database.
    pub fn new(files: Arc<dyn Files>, dir: &Path) -> Room {
        let space = files.space(dir).ok();
        Room {
            sizes: Sizes::of_disk(space.map_or(u64::MAX, |space| space.total)),
            is_full: AtomicBool::new(false),
            has_reserve: AtomicBool::new(false),
            is_refused_to_write_back: AtomicBool::new(false),
            reason: Mutex::new(None),
            free: AtomicU64::new(space.map_or(u64::MAX, |space| space.free)),
            files,
            dir: dir.to_path_buf(),
        }
    }

    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    pub fn reason(&self) -> Option<Error> {
        self.reason.lock().clone()
    }

    pub fn free(&self) -> u64 {
        self.free.load(Ordering::Relaxed)
    }

    /// Looks how much is free. Where that cannot be told, it is not what is wanting.
    pub fn measure(&self) -> u64 {
        let free = self.files.space(&self.dir).map_or(u64::MAX, |space| space.free);
        self.free.store(free, Ordering::Relaxed);
        free
    }

    /// The reserve is there when this returns.
    pub fn make_reserve(&self) -> Result<()> {
        self.resize(self.sizes.reserve)?;
        self.has_reserve.store(true, Ordering::Release);
        Ok(())
    }

    /// Not even a start needs more than write-back does now.
    pub fn give_up_all(&self) {
        let _absent = self.files.remove(&path(&self.dir));
    }

    fn resize(&self, len: u64) -> Result<()> {
        let path = path(&self.dir);
        // One that is there may be too small, and is of no other use.
        let _absent = self.files.remove(&path);
        let made = self.files.create(&path).and_then(|file| file.reserve(len));
        made.map(|_| ()).map_err(|error| {
            let _absent = self.files.remove(&path);
            io_error("reserving room in", &path, &error)
        })
    }

    /// The disk is full from now on. False if it was before.
    pub fn begin(&self, error: Error) -> bool {
        {
            let mut reason = self.reason.lock();
            if reason.is_some() {
                return false;
            }
            tracing::error!(%error, "the disk is full: writes are refused until there is room, reads and deletes go on");
            *reason = Some(error);
            self.is_full.store(true, Ordering::Release);
        }
        if self.has_reserve.swap(false, Ordering::AcqRel) {
            // What is left may be taken by somebody else meanwhile. Then there is nothing to keep.
            let _none = self.resize(self.sizes.start);
        }
        true
    }

    /// There is room again, and the reserve is made.
    pub fn end(&self) {
        let mut reason = self.reason.lock();
        if reason.take().is_some() {
            tracing::info!(free = self.free(), "there is room on the disk again: writes go on");
            self.is_full.store(false, Ordering::Release);
        }
    }

    /// What a commit is refused with.
    pub fn error(&self) -> Error {
        match self.reason() {
            Some(Error::Full(text)) => Error::Full(text),
            Some(other) => Error::Full(other.to_string()),
            None => Error::Full("there is no room for the log".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_follows_the_size_of_the_disk() {
        let large = Sizes {
            chunk: 16 * MIB,
            kept: 4 * MIB,
            kept_when_full: 64 * MIB,
            reserve: 256 * MIB,
            start: 4 * MIB,
        };
        assert_eq!(Sizes::of_disk(u64::MAX), large);
        assert_eq!(Sizes::of_disk(2048 * MIB), Sizes { ..large });
        let small = Sizes::of_disk(200 * MIB);
        assert_eq!((small.chunk, small.reserve, small.start), (200 * MIB / 64, 40 * MIB, 4 * MIB));
        let least = Sizes {
            chunk: MIB / 16,
            kept: MIB / 64,
            kept_when_full: MIB / 16,
            reserve: MIB / 4,
            start: MIB / 32,
        };
        assert_eq!(Sizes::of_disk(0), least);
    }
}
