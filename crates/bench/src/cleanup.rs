//! Servers and folders do not outlive the benchmark: not after Ctrl-C, not after a panic, not after kill -9.
//!
//! A normal end and a panic run the destructors; a signal is caught here; for the rest the kernel kills the children
//! (see `process::spawn`).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::Result;

static CHILDREN: Mutex<Vec<u32>> = Mutex::new(Vec::new());
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub fn install() -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for child in lock(&CHILDREN).iter() {
                // SAFETY: a plain system call; the pid is a child that has not been waited for.
                unsafe { libc::kill(*child as libc::pid_t, libc::SIGKILL) };
            }
            for folder in lock(&FOLDERS).iter() {
                let _ = std::fs::remove_dir_all(folder);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

pub fn child_started(pid: u32) {
    lock(&CHILDREN).push(pid);
}

pub fn child_ended(pid: u32) {
    lock(&CHILDREN).retain(|child| *child != pid);
}

/// A temporary folder that is removed when dropped, and on a signal.
pub struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub fn new(parent: &Path) -> Result<Folder> {
        std::fs::create_dir_all(parent)?;
        let dir = tempfile::Builder::new().prefix("tarn-bench-").tempdir_in(parent)?;
        lock(&FOLDERS).push(dir.path().to_owned());
        Ok(Folder { dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        lock(&FOLDERS).retain(|folder| folder != self.dir.path());
    }
}
