//! A file layer that fails where it is told to, and forgets what was not synced when the power goes.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::rocksdb::files::{AppendFile, Files, OsFiles, Space};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The write fails and leaves nothing.
    Refuse(io::ErrorKind),
    /// The write fails after half of its bytes.
    Tear,
    /// The sync fails.
    Sync,
}

#[derive(Default)]
struct State {
    /// How long each file was when it was last synced.
    synced: HashMap<PathBuf, u64>,
    written: HashMap<PathBuf, u64>,
    synced_dirs: Vec<PathBuf>,
    /// Lengths up to which files have room.
    reserved: HashMap<PathBuf, u64>,
    /// Of the whole disk, if it has an end.
    capacity: Option<u64>,
    /// What somebody else has of it.
    occupied: u64,
    writes: usize,
    syncs: usize,
    fault: Option<(usize, Fault)>,
    /// Every call after the fault fails, too, until it is healed.
    is_dead: bool,
    stays: bool,
}

impl State {
    fn used(&self) -> u64 {
        let of =
            |(path, written): (&PathBuf, &u64)| self.reserved.get(path).copied().unwrap_or(0).max(*written);
        self.written.iter().map(of).sum()
    }

    fn space(&self) -> Space {
        let total = self.capacity.unwrap_or(1 << 40);
        Space { total, free: total.saturating_sub(self.used() + self.occupied) }
    }

    /// Takes room for a file up to this length.
    fn take(&self, path: &Path, len: u64) -> io::Result<()> {
        let held = self.reserved.get(path).copied().unwrap_or(0);
        let held = held.max(self.written.get(path).copied().unwrap_or(0));
        let fits = len.saturating_sub(held) <= self.space().free;
        if fits { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    /// Whether the fault is due at this write (or sync) of a segment.
    fn due(&mut self, path: &Path, is_sync: bool) -> Option<Fault> {
        if !path.file_name()?.to_str()?.starts_with("log-") {
            return None;
        }
        let count = if is_sync { &mut self.syncs } else { &mut self.writes };
        *count += 1;
        let now = *count;
        let (at, fault) = self.fault?;
        let is_due = now == at && (fault == Fault::Sync) == is_sync;
        let fails = is_due || (self.is_dead && (fault == Fault::Sync) == is_sync);
        self.is_dead |= is_due && self.stays;
        fails.then_some(fault)
    }
}

#[derive(Clone, Default)]
pub struct FaultyFiles {
    state: Arc<Mutex<State>>,
}

impl FaultyFiles {
    /// The `at`-th write (or sync) from now on fails, once.
    pub fn fail(&self, at: usize, fault: Fault) {
        let mut state = self.state.lock();
        state.writes = 0;
        state.syncs = 0;
        state.fault = Some((at, fault));
        state.stays = false;
    }

    /// As [`FaultyFiles::fail`], and every one after it, until [`FaultyFiles::heal`].
    pub fn fail_from(&self, at: usize, fault: Fault) {
        self.fail(at, fault);
        self.state.lock().stays = true;
    }

    /// The log, the reserve and the small files beside them have this much room from now on.
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().capacity = Some(bytes);
    }

    /// Somebody else has this much of it.
    pub fn occupy(&self, bytes: u64) {
        self.state.lock().occupied = bytes;
    }

    pub fn free(&self) -> u64 {
        self.state.lock().space().free
    }

    /// Whether the names in this directory were made durable.
    pub fn has_synced_dir(&self, dir: &Path) -> bool {
        self.state.lock().synced_dirs.iter().any(|synced| synced == dir)
    }

    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.fault = None;
        state.is_dead = false;
    }

    /// The power goes: each file keeps what was synced, and of the rest as much as `keep` says.
    pub fn lose_power(&self, mut keep: impl FnMut(u64) -> u64) {
        let mut state = self.state.lock();
        let mut paths: Vec<_> = state.written.clone().into_iter().collect();
        paths.sort();
        for (path, written) in paths {
            if !path.exists() {
                continue;
            }
            let synced = state.synced.get(&path).copied().unwrap_or(0);
            let len = synced + keep(written - synced).min(written - synced);
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(len).unwrap();
            // What has come through this is on the device.
            state.written.insert(path.clone(), len);
            state.synced.insert(path, len);
        }
    }
}

struct FaultyFile {
    path: PathBuf,
    inner: Arc<dyn AppendFile>,
    state: Arc<Mutex<State>>,
}

impl AppendFile for FaultyFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let fault = state.due(&self.path, false);
        let whole = match fault {
            Some(Fault::Refuse(kind)) => return Err(kind.into()),
            Some(_) => &bytes[..bytes.len() / 2],
            None => bytes,
        };
        let len = state.written.get(&self.path).copied().unwrap_or(0) + whole.len() as u64;
        state.take(&self.path, len)?;
        self.inner.append(whole)?;
        *state.written.entry(self.path.clone()).or_default() += whole.len() as u64;
        if fault.is_some() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.due(&self.path, true).is_some() {
            return Err(io::Error::other("the device failed"));
        }
        let written = state.written.get(&self.path).copied().unwrap_or(0);
        state.synced.insert(self.path.clone(), written);
        Ok(())
    }

    fn reserve(&self, len: u64) -> io::Result<bool> {
        let mut state = self.state.lock();
        state.take(&self.path, len)?;
        state.reserved.insert(self.path.clone(), len);
        Ok(true)
    }

    fn give_back(&self) -> io::Result<()> {
        self.state.lock().reserved.remove(&self.path);
        Ok(())
    }
}

impl Files for FaultyFiles {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn AppendFile>> {
        let inner = OsFiles.create(path)?;
        let mut state = self.state.lock();
        state.written.insert(path.to_path_buf(), 0);
        state.synced.insert(path.to_path_buf(), 0);
        Ok(Arc::new(FaultyFile { path: path.to_path_buf(), inner, state: self.state.clone() }))
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

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        OsFiles.create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsFiles.rename(from, to)?;
        let mut state = self.state.lock();
        let State { synced, written, .. } = &mut *state;
        for lengths in [synced, written] {
            if let Some(len) = lengths.remove(from) {
                lengths.insert(to.to_path_buf(), len);
            }
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.written.remove(path);
        state.synced.remove(path);
        state.reserved.remove(path);
        OsFiles.remove(path)
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.written.insert(path.to_path_buf(), len);
        state.synced.insert(path.to_path_buf(), len);
        state.reserved.remove(path);
        OsFiles.truncate(path, len)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.state.lock().synced_dirs.push(dir.to_path_buf());
        Ok(())
    }

    fn space(&self, _dir: &Path) -> io::Result<Space> {
        Ok(self.state.lock().space())
    }
}
