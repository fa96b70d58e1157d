//! The contract, on a directory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;

use tempfile::TempDir;

use super::*;
use crate::conformance::{self, Harness, Promise};

/// Each case has a directory of its own, in which each engine has one.
struct OnDisk {
    root: TempDir,
    opened: AtomicUsize,
    /// Where rows are moved to changes from call to call.
    moves: AtomicUsize,
    copies: Mutex<HashMap<PathBuf, usize>>,
}

impl OnDisk {
    fn new() -> OnDisk {
        OnDisk {
            root: tempfile::tempdir().unwrap(),
            opened: AtomicUsize::new(0),
            moves: AtomicUsize::new(0),
            copies: Mutex::default(),
        }
    }

    fn open_at(&self, dir: PathBuf) -> RocksEngine {
        RocksEngine::open(OpenOptions { spaces: conformance::SPACES, ..options(&dir) }).unwrap()
    }
}

impl Harness for OnDisk {
    type Engine = RocksEngine;

    fn open(&self) -> RocksEngine {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        self.open_at(self.root.path().join(number.to_string()))
    }

    fn promises(&self) -> &'static [Promise] {
        &[Promise::Lasting, Promise::Local, Promise::Fresh]
    }

    fn local<'e>(&self, engine: &'e RocksEngine) -> Option<&'e dyn LocalStore> {
        Some(engine)
    }

    fn reopen(&self, engine: RocksEngine) -> RocksEngine {
        let dir = engine.inner.dir.clone();
        drop(engine);
        self.open_at(dir)
    }

    fn open_copy(&self, engine: &RocksEngine) -> RocksEngine {
        let dir = engine.inner.dir.clone();
        let number = {
            let mut copies = self.copies.lock();
            let number = copies.entry(dir.clone()).or_default();
            *number += 1;
            *number
        };
        let copy = dir.with_extension(format!("copy{number}"));
        engine.checkpoint(&copy).unwrap();
        self.open_at(copy)
    }

    fn move_rows_down(&self, engine: &RocksEngine) {
        // Rows of one case end up in the sorted data, in frozen tables of a unit, and in sealed ones.
        match self.moves.fetch_add(1, Ordering::Relaxed) % 4 {
            0 => engine.write_back_now(),
            1 | 3 => drop(engine.snapshot().unwrap()),
            _ => drop(engine.inner.freeze().unwrap()),
        }
    }
}

crate::conformance_suite!(OnDisk::new(), promised: [Lasting, Local, Fresh], not_promised: [Conflicts, Blind, Serialisable]);
