//! The transactions and snapshots of the engine on TiKV.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::client::{Begun, Changes};
use super::keys::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_ROWS, MAX_VALUE_BYTES};
use super::read::{Own, Seen, View};
use crate::{Contended, Error, Position, Result, Savepoint, Space, Wait, Write};

/// Conflicts after which a run holds its rows from the beginning: the last resort. Such locks last for 20 seconds where their node is lost, or where
/// an answer about them is; those of a commit last for 3. With holding after two or after eight, histories of three nodes with faults stood
/// still for more than 10 seconds. Before that runs begin again with growing pauses.
pub const HOLD_AFTER: u32 = 48;

/// Reads what was committed when its first row was asked for.
pub struct TikvRead<'e> {
    shared: &'e Shared,
    wait: Wait,
    at: OnceCell<Result<u64>>,
    seen: Seen,
}

/// Reads what was committed when it was taken.
pub struct TikvSnapshot {
    shared: Arc<Shared>,
    at: u64,
    seen: Seen,
}

/// Reads what was committed when it began, under its own rows.
pub struct TikvWrite<'e> {
    shared: &'e Shared,
    wait: Wait,
    /// None where it may not wait.
    begun: Option<Result<Begun>>,
    /// Rows that it has held from its beginning; then it relies on no others.
    held: Option<HashSet<Vec<u8>>>,
    /// By space, as far as there are rows.
    own: Vec<Own>,
    changes: usize,
    /// What each row that was set since the first savepoint was before, once there is one.
    undo: Option<Vec<Undo>>,
    locked: Vec<(Space, Box<[u8]>)>,
    seen: Seen,
}

/// A row of a transaction's own as it was; none where it had not been set.
struct Undo {
    space: Space,
    key: Box<[u8]>,
    before: Option<Option<Box<[u8]>>>,
}

macro_rules! viewed {
    ($this:expr, $view:ident => $call:expr) => {{
        let at = || $this.at();
        let own = $this.own();
        let (wait, shared) = ($this.wait(), $this.shared());
        let $view = View { shared, wait, at: &at, own, seen: &$this.seen };
        $call
    }};
}

read_through!(['e] TikvRead<'e>, viewed);
read_through!([] TikvSnapshot, viewed);
read_through!(['e] TikvWrite<'e>, viewed);

impl<'e> TikvRead<'e> {
    pub(super) fn new(shared: &'e Shared, wait: Wait) -> Self {
        TikvRead { shared, wait, at: OnceCell::new(), seen: Seen::default() }
    }

    fn at(&self) -> Result<u64> {
        self.at.get_or_init(|| self.shared.timestamps.fresh(&self.shared.cluster)).clone()
    }

    fn own(&self) -> Option<&[Own]> {
        None
    }

    fn wait(&self) -> Wait {
        self.wait
    }

    fn shared(&self) -> &Shared {
        self.shared
    }
}

impl TikvSnapshot {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self> {
        shared.check_open()?;
        let at = shared.timestamps.fresh(&shared.cluster)?;
        Ok(TikvSnapshot { shared: Arc::clone(shared), at, seen: Seen::default() })
    }

    fn at(&self) -> Result<u64> {
        Ok(self.at)
    }

    fn own(&self) -> Option<&[Own]> {
        None
    }

    fn wait(&self) -> Wait {
        Wait::Allowed
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl<'e> TikvWrite<'e> {
    /// After [`HOLD_AFTER`] conflicts it holds the rows at which it met them from its beginning, so that
    /// nobody comes between.
    pub(super) fn new(shared: &'e Shared, wait: Wait, contended: &Contended) -> Self {
        let mut held = None;
        let begun = match (wait, shared.check_open()) {
            (Wait::Never, _) => None,
            (Wait::Allowed, Err(error)) => Some(Err(error)),
            (Wait::Allowed, Ok(())) if contended.conflicts < HOLD_AFTER || contended.rows.is_empty() => {
                Some(shared.cluster.begin())
            }
            (Wait::Allowed, Ok(())) => {
                let keys = contended.rows.iter().filter_map(|(space, row)| shared.keys.row(*space, row).ok());
                let mut keys: Vec<Vec<u8>> = keys.collect();
                // In order, so that nobody waits in a circle.
                keys.sort_unstable();
                keys.dedup();
                let begun = shared.cluster.begin_holding(&keys);
                held = Some(keys.into_iter().collect());
                Some(begun)
            }
        };
        TikvWrite {
            shared,
            wait,
            begun,
            held,
            own: Vec::new(),
            changes: 0,
            undo: None,
            locked: Vec::new(),
            seen: Seen::default(),
        }
    }

    fn at(&self) -> Result<u64> {
        match &self.begun {
            None => Err(Error::NotResident),
            Some(Ok(begun)) => Ok(begun.at),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    fn own(&self) -> Option<&[Own]> {
        Some(&self.own)
    }

    fn wait(&self) -> Wait {
        self.wait
    }

    fn shared(&self) -> &Shared {
        self.shared
    }

    fn set(&mut self, space: Space, key: &[u8], value: Option<Box<[u8]>>) {
        self.changes += 1;
        let index = usize::from(space.0);
        if self.own.len() <= index {
            self.own.resize_with(index + 1, Own::new);
        }
        if let Some(rows) = self.own.get_mut(index) {
            let before = rows.insert(key.into(), value);
            if let Some(undo) = &mut self.undo {
                undo.push(Undo { space, key: key.into(), before });
            }
        }
    }

    /// Calls `each` for the keys of rows that it has read and relies on.
    fn each_relied_key(&self, each: &mut dyn FnMut(&[u8])) {
        let relied = &self.shared.relied;
        self.seen.each(&mut |key| {
            if self.shared.keys.space(key).is_some_and(|space| relied.contains(&space)) {
                each(key);
            }
        });
    }

    /// What is to be sent. Refused where the cluster could not take it.
    fn gather(&mut self) -> Result<Changes> {
        let mut changes = Changes::default();
        let mut locks = HashSet::new();
        for (space, row) in &self.locked {
            locks.insert(self.shared.keys.row(*space, row)?);
        }
        self.each_relied_key(&mut |key| {
            locks.insert(key.to_vec());
        });
        for (space, rows) in (0..).map(Space).zip(std::mem::take(&mut self.own)) {
            for (row, value) in rows {
                let key = self.shared.keys.row(space, &row)?;
                let len = value.as_ref().map_or(0, |value| value.len());
                if len > MAX_VALUE_BYTES {
                    return Err(Error::TooLarge(format!(
                        "a value takes {len} bytes in TiKV, which takes {MAX_VALUE_BYTES}"
                    )));
                }
                changes.bytes += key.len() + len;
                match value {
                    Some(value) => changes.puts.push((key, value.into_vec())),
                    None => changes.deletes.push(key),
                }
            }
        }
        // What is written is locked by that.
        changes.puts.iter().map(|row| &row.0).chain(&changes.deletes).for_each(|key| {
            locks.remove(key);
        });
        changes.locks.extend(locks);
        changes.locks.sort_unstable();
        let rows = changes.puts.len() + changes.deletes.len() + changes.locks.len();
        if rows > MAX_TRANSACTION_ROWS || changes.bytes > MAX_TRANSACTION_BYTES {
            return Err(Error::TooLarge(format!(
                "the transaction has {rows} rows and {} bytes; TiKV takes {MAX_TRANSACTION_ROWS} and \
                 {MAX_TRANSACTION_BYTES}",
                changes.bytes
            )));
        }
        Ok(changes)
    }

    /// Whether it holds every row that it relies on. What it has not read it may write whatever others did.
    fn holds(&self, changes: &Changes) -> bool {
        let Some(held) = &self.held else { return true };
        let changed = changes.puts.iter().map(|row| &row.0).chain(&changes.deletes);
        changed.filter(|key| self.seen.has(key)).chain(&changes.locks).all(|key| held.contains(key))
    }
}

impl Write for TikvWrite<'_> {
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

    fn each_change(&self, each: &mut dyn FnMut(Space, &[u8])) {
        for (space, rows) in (0..).map(Space).zip(&self.own) {
            rows.keys().for_each(|key| each(space, key));
        }
    }

    fn each_relied(&self, each: &mut dyn FnMut(Space, &[u8])) {
        self.locked.iter().for_each(|(space, key)| each(*space, key));
        for (space, rows) in (0..).map(Space).zip(&self.own) {
            let was_read = |row: &[u8]| self.shared.keys.row(space, row).is_ok_and(|key| self.seen.has(&key));
            rows.keys().filter(|row| was_read(row)).for_each(|row| each(space, row));
        }
        let keys = &self.shared.keys;
        self.each_relied_key(&mut |key| {
            if let Some(space) = keys.space(key) {
                each(space, keys.strip(key));
            }
        });
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
        self.shared.check_open()?;
        if self.own.iter().all(Own::is_empty) && self.locked.is_empty() {
            return Ok(Position(self.shared.position.load(Ordering::Acquire)));
        }
        let changes = self.gather()?;
        if !self.holds(&changes) {
            return Err(Error::Conflict);
        }
        let begun = match self.begun.take() {
            None => return Err(Error::NotResident),
            Some(begun) => begun?,
        };
        let at = self.shared.cluster.commit(begun, changes)?;
        Ok(self.shared.committed(at))
    }

    fn rollback(self) {}
}
