//! Which transactions and snapshots are open, by the position they read at.

use std::collections::VecDeque;

/// Positions that somebody reads at, ascending, with how many do. Few at a time: one per thread and a few snapshots.
#[derive(Default)]
pub(super) struct Active {
    /// The newest commit in order. A commit raises it before its rows are in the store, and holds the store's lock
    /// meanwhile, so that who enters here reads the rows too.
    current: u64,
    open: VecDeque<(u64, usize)>,
}

impl Active {
    /// Opens a reader at the current position.
    pub(super) fn enter(&mut self) -> u64 {
        match self.open.back_mut() {
            Some((at, count)) if *at == self.current => *count += 1,
            _ => self.open.push_back((self.current, 1)),
        }
        self.current
    }

    pub(super) fn leave(&mut self, at: u64) {
        let Ok(index) = self.open.binary_search_by_key(&at, |entry| entry.0) else { return };
        if let Some((_, count)) = self.open.get_mut(index) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(index);
            }
        }
    }

    /// The next position; from now on the current one.
    pub(super) fn advance(&mut self) -> u64 {
        self.current += 1;
        self.current
    }

    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// The oldest position that is or can still be read at.
    pub(super) fn oldest(&self) -> u64 {
        self.open.front().map_or(self.current, |entry| entry.0)
    }

    pub(super) fn readers(&self) -> Option<Readers> {
        Some(Readers { oldest: self.open.front()?.0, newest: self.open.back()?.0 })
    }
}

/// Between which positions somebody reads.
#[derive(Clone, Copy)]
pub(super) struct Readers {
    pub(super) oldest: u64,
    pub(super) newest: u64,
}
