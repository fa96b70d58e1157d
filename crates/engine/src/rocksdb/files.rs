//! The file layer below the log: what the engine asks of a directory, so that tests can put a failing one in its place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::{Errno, retry_on_intr};

use crate::Error;

/// A file that only grows.
pub trait AppendFile: Send + Sync {
    /// All of `bytes`, or an error after which the end of the file is undefined.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    /// Returns once the device has everything that was appended.
    fn sync(&self) -> io::Result<()>;
    /// Sets room aside for the file's bytes up to `len`, without a change to its length: no write within it fails for want of room.
    /// False where the file system cannot promise that.
    fn reserve(&self, len: u64) -> io::Result<bool>;
    /// Gives back what is reserved behind the file's end.
    fn give_back(&self) -> io::Result<()>;
}

/// Of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub total: u64,
    pub free: u64,
}

/// The operations on a directory of log segments and marker files.
pub trait Files: Send + Sync {
    /// A new, empty file; an existing one is an error.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn AppendFile>>;
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>>;
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// The names, not the paths, of the directory's files.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Cuts the file to `len` bytes and syncs it.
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Of the file system that the directory is on.
    fn space(&self, dir: &Path) -> io::Result<Space>;
}

/// The operating system's files.
pub struct OsFiles;

struct OsFile(File);

impl AppendFile for OsFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn reserve(&self, len: u64) -> io::Result<bool> {
        match retry_on_intr(|| fallocate(&self.0, FallocateFlags::KEEP_SIZE, 0, len)) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn give_back(&self) -> io::Result<()> {
        self.0.set_len(self.0.metadata()?.len())
    }
}

impl Files for OsFiles {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn AppendFile>> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Arc::new(OsFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(path)?))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // A name that is not text is not one of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn space(&self, dir: &Path) -> io::Result<Space> {
        let system = statvfs(dir)?;
        let block = system.f_frsize.max(1);
        Ok(Space { total: system.f_blocks * block, free: system.f_bavail * block })
    }
}

/// Sorts an error of the operating system by who has to react.
pub fn io_error(doing: &str, path: &Path, error: &io::Error) -> Error {
    let text = format!("{doing} {}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full(text),
        _ => Error::Io(text),
    }
}
