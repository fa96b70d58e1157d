//! Commits pass a gate; closing it leaves whole commits only on both sides.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// More than the threads that commit at a time on most machines; sharing one is right, only slower.
const LANES: usize = 64;

static NEXT_LANE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LANE: Cell<usize> = Cell::new(NEXT_LANE.fetch_add(1, Ordering::Relaxed) % LANES);
}

/// A reader-writer lock with a lane per thread: commits do not touch each other's cache lines.
pub struct Gate {
    lanes: Box<[CachePadded<RwLock<()>>]>,
}

impl Gate {
    pub fn new() -> Gate {
        Gate { lanes: (0..LANES).map(|_| CachePadded::new(RwLock::new(()))).collect() }
    }

    /// Held for the length of a commit.
    #[inline]
    pub fn pass(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.lanes.get(LANE.get()).map(|lane| lane.read())
    }

    /// Waits for the commits on their way and holds off new ones.
    pub fn close(&self) -> Vec<RwLockWriteGuard<'_, ()>> {
        self.lanes.iter().map(|lane| lane.write()).collect()
    }
}
