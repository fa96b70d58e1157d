//! The transactions and snapshots of the in-memory engine.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::faults::{Call, Fault};
use super::reads::ReadSet;
use super::scan::View;
use super::store::{Rows, Store};
use super::{RECLAIM_AFTER_WRITE_ROWS, RECLAIM_STEP_ROWS, Shared};
use crate::{Error, MAX_KEY_BYTES, Position, Result, Savepoint, Space, Wait, Write, too_long};

/// Reads what is committed at each call.
pub struct MemoryRead<'e> {
    shared: &'e Shared,
    wait: Wait,
}

/// Reads what was committed when it was taken.
pub struct MemorySnapshot {
    shared: Arc<Shared>,
    at: u64,
}

/// Reads what was committed when it began, under its own rows.
pub struct MemoryWrite<'e> {
    shared: &'e Shared,
    wait: Wait,
    began: u64,
    /// Whether versions are still kept for it.
    open: bool,
    committed_rows: usize,
    /// By space, as far as there are rows.
    own: Vec<Rows>,
    changes: usize,
    /// A row was put whose key is too long; it may have been undone since.
    has_long_key: bool,
    /// What each row that was set since the first savepoint was before, once there is one.
    undo: Option<Vec<Undo>>,
    /// Rows to be written as they are.
    locked: Vec<(Space, Box<[u8]>)>,
    reads: RefCell<ReadSet>,
}

/// A row of a transaction's own as it was; none where it had not been set.
struct Undo {
    space: Space,
    key: Box<[u8]>,
    before: Option<Option<Box<[u8]>>>,
}

impl<'e> MemoryRead<'e> {
    pub(super) fn new(shared: &'e Shared, wait: Wait) -> Self {
        MemoryRead { shared, wait }
    }

    fn view(&self) -> View<'_> {
        View::committed(self.shared, self.wait)
    }
}

macro_rules! viewed {
    ($this:expr, $view:ident => $call:expr) => {{
        let $view = $this.view();
        $call
    }};
}

read_through!(['e] MemoryRead<'e>, viewed);
read_through!([] MemorySnapshot, viewed);
read_through!(['e] MemoryWrite<'e>, viewed);

impl MemorySnapshot {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        let at = shared.active.lock().enter();
        MemorySnapshot { shared: Arc::clone(shared), at }
    }

    fn view(&self) -> View<'_> {
        View { shared: &self.shared, wait: Wait::Allowed, at: self.at, own: None, reads: None }
    }
}

impl Drop for MemorySnapshot {
    fn drop(&mut self) {
        self.shared.active.lock().leave(self.at);
        while self.shared.reclaim(RECLAIM_STEP_ROWS) {}
    }
}

impl<'e> MemoryWrite<'e> {
    pub(super) fn new(shared: &'e Shared, wait: Wait) -> Self {
        let began = shared.active.lock().enter();
        MemoryWrite {
            shared,
            wait,
            began,
            open: true,
            committed_rows: 0,
            own: Vec::new(),
            changes: 0,
            has_long_key: false,
            undo: None,
            locked: Vec::new(),
            reads: RefCell::default(),
        }
    }

    fn view(&self) -> View<'_> {
        let (own, reads) = (Some(&*self.own), Some(&self.reads));
        View { shared: self.shared, wait: self.wait, at: self.began, own, reads }
    }

    fn set(&mut self, space: Space, key: &[u8], value: Option<Box<[u8]>>) {
        self.changes += 1;
        self.has_long_key |= key.len() > MAX_KEY_BYTES && value.is_some();
        let index = usize::from(space.0);
        if self.own.len() <= index {
            self.own.resize_with(index + 1, Rows::new);
        }
        if let Some(rows) = self.own.get_mut(index) {
            let before = rows.insert(key.into(), value);
            if let Some(undo) = &mut self.undo {
                undo.push(Undo { space, key: key.into(), before });
            }
        }
    }

    /// Whether a row that this transaction has read or written was committed by another since it began.
    fn conflicts(&self, store: &Store, own: &[Rows]) -> bool {
        let mut spaces = own.iter().zip(0..);
        spaces.any(|(rows, space)| rows.keys().any(|key| store.changed(Space(space), key, self.began)))
            || self.locked.iter().any(|(space, key)| store.changed(*space, key, self.began))
            || (self.shared.validates_reads.load(Ordering::Acquire)
                && self.reads.borrow().changed(store, self.began))
    }

    fn apply(&mut self) -> Result<Position> {
        let own = std::mem::take(&mut self.own);
        let mut store = self.shared.store.write();
        // Again, now that nothing can come between: no commit slips in behind a close.
        self.shared.check_open()?;
        if let Some(last) = own.len().checked_sub(1) {
            store.space(Space(last as u8))?;
        }
        let mut active = self.shared.active.lock();
        if active.current() != self.began && self.conflicts(&store, &own) {
            return Err(Error::Conflict);
        }
        // What it read itself need not be kept for it any more.
        self.open = false;
        self.committed_rows = own.iter().map(Rows::len).sum();
        active.leave(self.began);
        Ok(self.shared.append(
            &mut store,
            active,
            own.into_iter().zip(0..).map(|(rows, space)| (Space(space), rows)),
            std::mem::take(&mut self.locked),
        ))
    }
}

impl Write for MemoryWrite<'_> {
    fn put(&mut self, space: Space, key: &[u8], value: &[&[u8]]) {
        self.set(space, key, Some(value.concat().into_boxed_slice()));
    }

    fn delete(&mut self, space: Space, key: &[u8]) {
        self.set(space, key, None);
    }

    fn get_own(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let row = self.own.get(usize::from(space.0)).and_then(|rows| rows.get(key));
        let value = row.and_then(|value| value.as_deref());
        out.extend_from_slice(value.unwrap_or_default());
        Ok(value.is_some())
    }

    fn changes(&self) -> usize {
        self.changes
    }

    fn refusal(&self) -> Option<Error> {
        if !self.has_long_key {
            return None;
        }
        let puts = self.own.iter().flatten().filter(|(_, value)| value.is_some());
        puts.map(|(key, _)| key.len()).max().and_then(too_long)
    }

    fn each_change(&self, each: &mut dyn FnMut(Space, &[u8])) {
        for (space, rows) in (0..).map(Space).zip(&self.own) {
            rows.keys().for_each(|key| each(space, key));
        }
    }

    fn savepoint(&mut self) -> Savepoint {
        let undo = self.undo.get_or_insert_default().len();
        Savepoint { bytes: 0, rows: 0, undo, changes: self.changes }
    }

    fn rollback_to(&mut self, to: Savepoint) {
        let Some(undo) = &mut self.undo else { return };
        for Undo { space, key, before } in undo.drain(to.undo.min(undo.len())..).rev() {
            let Some(rows) = self.own.get_mut(usize::from(space.0)) else { continue };
            match before {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
        self.changes = to.changes;
    }

    fn lock(&mut self, space: Space, key: &[u8]) {
        self.locked.push((space, key.into()));
    }

    fn commit(mut self) -> Result<Position> {
        if !self.is_dirty() && self.locked.is_empty() {
            // Nothing that could collide or get lost.
            self.shared.admit(Call::Other, self.wait)?;
            return Ok(Position(self.shared.position.load(Ordering::Acquire)));
        }
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let fault = self.shared.fault(Call::Commit, self.wait)?;
        match fault {
            None => self.apply(),
            Some(fault) => {
                if fault == Fault::UnknownApplied {
                    self.apply()?;
                }
                Err(fault.error())
            }
        }
    }

    fn rollback(self) {}
}

impl Drop for MemoryWrite<'_> {
    fn drop(&mut self) {
        if self.open {
            self.shared.active.lock().leave(self.began);
        }
        // Twice what it wrote, so that what waits cannot grow for ever.
        self.shared.reclaim(RECLAIM_AFTER_WRITE_ROWS.max(2 * self.committed_rows));
    }
}
