//! The commit barrier: whoever blocks it finds every commit complete or not begun.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// More than the threads that commit at a time on most machines. Threads that share a lock are only slower.
const LOCKS: usize = 64;

static NEXT_LOCK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LOCK: Cell<usize> = Cell::new(NEXT_LOCK.fetch_add(1, Ordering::Relaxed) % LOCKS);
}

/// A reader-writer lock in which each thread reads through a lock of its own: commits do not touch each other's cache lines.
pub struct Barrier {
    locks: Box<[CachePadded<RwLock<()>>]>,
}

impl Barrier {
    pub fn new() -> Barrier {
        Barrier { locks: (0..LOCKS).map(|_| CachePadded::new(RwLock::new(()))).collect() }
    }

    /// Held for the length of a commit.
    #[inline]
    pub fn enter(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.locks.get(LOCK.get()).map(|lock| lock.read())
    }

    /// Waits for the commits that have entered, and holds off others while the result is held.
    pub fn block(&self) -> Vec<RwLockWriteGuard<'_, ()>> {
        self.locks.iter().map(|lock| lock.write()).collect()
    }
}
