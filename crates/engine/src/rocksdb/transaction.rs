//! A write transaction's rows, in the bytes of the log, so that a commit copies them once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hashbrown::HashTable;

use super::hash::RowHash;
use super::log::record::{self, ROW_HEADER};
use super::table::rows::Rows;
use crate::{Direction, Error, MAX_KEY_BYTES, Range, Savepoint, too_long};

/// From this many rows on, own rows are found by hash.
const INDEX_FROM_ROWS: usize = 16;
/// From this many rows on, those of a range are found by order: a walk over fewer takes no longer than a scan's beginning.
const ORDER_FROM_ROWS: usize = 64;
/// A buffer that grew beyond this is not kept for the next transaction.
const KEPT_BYTES: usize = 1 << 20;
const KEPT_ROWS: usize = 1 << 14;
/// Transactions open at a time on one thread, usually one.
const KEPT_BUFFERS: usize = 4;

thread_local! {
    #[allow(clippy::vec_box)] // What is taken out is handed on in its box.
    static BUFFERS: RefCell<Vec<Box<TxBuffer>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
pub struct TxRow {
    at: usize,
    pub hash: RowHash,
}

#[derive(Default)]
pub struct TxBuffer {
    /// Rows as they will stand in the log.
    pub bytes: Vec<u8>,
    pub rows: Vec<TxRow>,
    /// How often a row was set.
    pub changes: usize,
    /// A row was put whose key is too long; it may have been undone since.
    has_long_key: bool,
    index: HashTable<u32>,
    /// Space and key of the first rows, as many as it has, with their positions: it is brought up to date by who needs it.
    order: RefCell<BTreeMap<Vec<u8>, u32>>,
    /// A group, and how many of the first rows are known to put nothing into it.
    no_puts: Cell<(u64, usize)>,
    /// Rows that begin before this place are of before the latest savepoint; zero while there is none.
    protected: usize,
    undo: Vec<Undo>,
    /// Values that [`Undo::Changed`] brings back.
    saved: Vec<u8>,
}

/// What is done to a row of before a savepoint is noted, so that it can be undone.
enum Undo {
    /// The row at this position of `rows` stood there in the bytes.
    Moved { position: usize, at: usize },
    /// The value there in the bytes was the last of `saved`, from this place on.
    Changed { at: usize, saved: usize },
}

impl TxBuffer {
    /// In a box: a transaction is handed on several times.
    pub fn take() -> Box<TxBuffer> {
        BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    pub fn give_back(mut self: Box<Self>) {
        let bytes = self.bytes.capacity().max(self.saved.capacity());
        if bytes > KEPT_BYTES || self.rows.capacity().max(self.undo.capacity()) > KEPT_ROWS {
            return;
        }
        self.bytes.clear();
        self.rows.clear();
        self.changes = 0;
        self.has_long_key = false;
        self.index.clear();
        // Seldom there, and dear to clear all the same.
        if !self.order.get_mut().is_empty() {
            self.order.get_mut().clear();
        }
        self.no_puts.take();
        self.protected = 0;
        self.undo.clear();
        self.saved.clear();
        BUFFERS.with_borrow_mut(|buffers| {
            if buffers.len() < KEPT_BUFFERS {
                buffers.push(self);
            }
        });
    }

    #[inline]
    pub fn row(&self, row: &TxRow) -> Option<record::Row<'_>> {
        record::split_row(&mut self.bytes.get(row.at..)?)
    }

    fn is(&self, row: &TxRow, space: u8, key: &[u8], hash: &RowHash) -> bool {
        row.hash.key == hash.key && self.row(row).is_some_and(|row| row.key == key && row.space == space)
    }

    #[inline]
    fn position(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<usize> {
        if self.index.is_empty() {
            return self.rows.iter().rposition(|row| self.is(row, space, key, hash));
        }
        self.index
            .find(hash.key, |at| {
                self.rows.get(*at as usize).is_some_and(|row| self.is(row, space, key, hash))
            })
            .map(|at| *at as usize)
    }

    /// Some(None) is a row that this transaction deleted.
    #[inline]
    pub fn get(&self, space: u8, key: &[u8], hash: &RowHash) -> Option<Option<&[u8]>> {
        let row = self.rows.get(self.position(space, key, hash)?)?;
        Some(self.row(row)?.value)
    }

    /// Sets a row; a later one of the same key takes an earlier one's place.
    #[inline]
    pub fn set(&mut self, space: u8, key: &[u8], hash: RowHash, value: Option<&[&[u8]]>) {
        self.changes += 1;
        self.has_long_key |= key.len() > MAX_KEY_BYTES && value.is_some();
        let position = self.position(space, key, &hash);
        if let Some(position) = position
            && self.overwrite(position, key.len(), value)
        {
            return;
        }
        let row = TxRow { at: self.bytes.len(), hash };
        record::push_row(&mut self.bytes, space, key, value);
        if let Some(place) = position.and_then(|position| self.rows.get_mut(position)) {
            if self.no_puts.get().0 == hash.group {
                self.no_puts.take();
            }
            // The older row stays in the bytes, where it comes first.
            if place.at < self.protected {
                self.undo.extend(position.map(|position| Undo::Moved { position, at: place.at }));
            }
            *place = row;
            return;
        }
        self.rows.push(row);
        if !self.index.is_empty() {
            let rows = &self.rows;
            self.index.insert_unique(hash.key, (rows.len() - 1) as u32, |at| hash_at(rows, *at));
        } else if self.rows.len() == INDEX_FROM_ROWS {
            self.build_index();
        }
    }

    fn build_index(&mut self) {
        let TxBuffer { rows, index, .. } = self;
        for (at, row) in rows.iter().enumerate() {
            index.insert_unique(row.hash.key, at as u32, |at| hash_at(rows, *at));
        }
    }

    /// A value of the same length is changed where it stands.
    fn overwrite(&mut self, position: usize, key_len: usize, value: Option<&[&[u8]]>) -> bool {
        let (Some(row), Some(parts)) = (self.rows.get(position), value) else { return false };
        let new_len: usize = parts.iter().map(|part| part.len()).sum();
        let fits = self.row(row).and_then(|row| row.value).is_some_and(|old| old.len() == new_len);
        if !fits {
            return false;
        }
        let mut at = row.at + ROW_HEADER + key_len;
        if row.at < self.protected {
            self.undo.push(Undo::Changed { at, saved: self.saved.len() });
            self.saved.extend_from_slice(self.bytes.get(at..at + new_len).unwrap_or_default());
        }
        for part in parts {
            if let Some(place) = self.bytes.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
            at += part.len();
        }
        true
    }

    /// See [`crate::Write::refusal`].
    #[inline]
    pub fn refusal(&self) -> Option<Error> {
        if self.has_long_key { self.find_long_key() } else { None }
    }

    #[cold]
    fn find_long_key(&self) -> Option<Error> {
        let puts = self.rows.iter().filter_map(|row| self.row(row)).filter(|row| row.value.is_some());
        puts.map(|row| row.key.len()).max().and_then(too_long)
    }

    pub fn savepoint(&mut self) -> Savepoint {
        self.protected = self.bytes.len();
        let (rows, undo) = (self.rows.len(), self.undo.len());
        Savepoint { bytes: self.bytes.len(), rows, undo, changes: self.changes }
    }

    pub fn rollback_to(&mut self, to: Savepoint) {
        for undo in self.undo.drain(to.undo.min(self.undo.len())..).rev() {
            match undo {
                Undo::Moved { position, at } => {
                    self.rows.get_mut(position).into_iter().for_each(|row| row.at = at);
                }
                Undo::Changed { at, saved } => {
                    let old = self.saved.get(saved..).unwrap_or_default();
                    if let Some(place) = self.bytes.get_mut(at..at + old.len()) {
                        place.copy_from_slice(old);
                    }
                    self.saved.truncate(saved);
                }
            }
        }
        if !self.index.is_empty() {
            for (at, row) in self.rows.iter().enumerate().skip(to.rows) {
                if let Ok(entry) = self.index.find_entry(row.hash.key, |other| *other as usize == at) {
                    entry.remove();
                }
            }
        }
        let mut order = std::mem::take(self.order.get_mut());
        for row in self.rows.get(to.rows..order.len()).unwrap_or_default() {
            self.row(row).and_then(|row| order.remove(&in_space(row.space, row.key)));
        }
        self.order.replace(order);
        self.no_puts.take();
        self.rows.truncate(to.rows);
        self.bytes.truncate(to.bytes);
        self.changes = to.changes;
        self.protected = to.bytes;
    }

    /// Whether a row of the group is put, not deleted.
    pub fn puts_in(&self, group: u64) -> bool {
        let (known, looked_at) = self.no_puts.get();
        let rows = self.rows.get(if known == group { looked_at } else { 0 }..).unwrap_or_default();
        let mut of_group = rows.iter().filter(|row| row.hash.group == group);
        let is_put = of_group.any(|row| self.row(row).is_some_and(|row| row.value.is_some()));
        if !is_put {
            self.no_puts.set((group, self.rows.len()));
        }
        is_put
    }

    /// Shows the transaction's own rows of a range until it breaks: in the scan's order where there are many, in the order in
    /// which they were set where there are few.
    fn of_range<'a>(
        &'a self,
        space: u8,
        range: Range<'_>,
        direction: Direction,
        show: &mut dyn FnMut(record::Row<'a>) -> ControlFlow<()>,
    ) {
        if range.start >= range.end {
            return;
        }
        if self.rows.len() < ORDER_FROM_ROWS {
            let mut rows = self.rows.iter().filter_map(|row| self.row(row));
            let within =
                |row: &record::Row<'_>| row.space == space && row.key >= range.start && row.key < range.end;
            let _end =
                rows.try_for_each(|row| if within(&row) { show(row) } else { ControlFlow::Continue(()) });
            return;
        }
        let mut order = self.order.borrow_mut();
        for (at, row) in self.rows.iter().enumerate().skip(order.len()) {
            self.row(row).and_then(|row| order.insert(in_space(row.space, row.key), at as u32));
        }
        let mut found = order.range(in_space(space, range.start)..in_space(space, range.end));
        let next = || match direction {
            Direction::Forward => found.next(),
            Direction::Backward => found.next_back(),
        };
        let mut rows = std::iter::from_fn(next)
            .filter_map(|(_, at)| self.rows.get(*at as usize))
            .filter_map(|row| self.row(row));
        let _end = rows.try_for_each(show);
    }

    /// Whether it has put or deleted a row of a range.
    pub fn has_in(&self, space: u8, range: Range<'_>) -> bool {
        let mut is_there = false;
        self.of_range(space, range, Direction::Forward, &mut |_| {
            is_there = true;
            ControlFlow::Break(())
        });
        is_there
    }

    /// The transaction's own rows of a range, in a scan's order, and whether that is all of them: it may stop once it has put
    /// so many of them.
    pub fn collect(&self, space: u8, range: Range<'_>, direction: Direction, puts: usize) -> (Rows, bool) {
        let (mut out, mut left) = (Rows::default(), puts);
        let is_ordered = self.rows.len() >= ORDER_FROM_ROWS;
        self.of_range(space, range, direction, &mut |row| {
            out.push(row.key, row.value, 0);
            left = left.saturating_sub(usize::from(is_ordered && row.value.is_some()));
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if !is_ordered {
            out.sort_and_dedup(direction);
        }
        (out, left > 0)
    }
}

fn in_space(space: u8, key: &[u8]) -> Vec<u8> {
    [&[space], key].concat()
}

fn hash_at(rows: &[TxRow], at: u32) -> u64 {
    rows.get(at as usize).map_or(0, |row| row.hash.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocksdb::hash::Hasher;
    use crate::{Groups, Space, SpaceDef};

    const DEF: SpaceDef = SpaceDef { name: "s", group_len: |_| 0, queue_like: false, groups: Groups::Plain };

    #[test]
    fn the_last_write_of_a_key_counts_below_and_above_the_index() {
        let hasher = Hasher::new();
        for count in [INDEX_FROM_ROWS as u32 - 1, INDEX_FROM_ROWS as u32, 1000] {
            let mut buffer = TxBuffer::default();
            let set = |buffer: &mut TxBuffer, number: u32, value: Option<&[u8]>| {
                let key = number.to_be_bytes();
                let hash = hasher.row(&DEF, Space(1), &key);
                buffer.set(
                    1,
                    &key,
                    hash,
                    value.map(|value| [&value[..1], &value[1..]]).as_ref().map(|v| &v[..]),
                );
            };
            for number in 0..count {
                set(&mut buffer, number, Some(b"first"));
            }
            for number in 0..count {
                match number % 4 {
                    0 => set(&mut buffer, number, Some(b"other")),
                    1 => set(&mut buffer, number, Some(b"a longer one")),
                    2 => set(&mut buffer, number, None),
                    _ => {}
                }
            }
            assert_eq!(buffer.rows.len(), count as usize, "one row for each key");
            for number in 0..count {
                let want: Option<&[u8]> = match number % 4 {
                    0 => Some(b"other"),
                    1 => Some(b"a longer one"),
                    2 => None,
                    _ => Some(b"first"),
                };
                let key = number.to_be_bytes();
                let hash = hasher.row(&DEF, Space(1), &key);
                assert_eq!(buffer.get(1, &key, &hash), Some(want), "{number} of {count}");
                assert_eq!(buffer.get(2, &key, &hash), None);
            }
            // Read back as the log will be: later rows over earlier ones.
            let mut bytes = &*buffer.bytes;
            let mut last = std::collections::HashMap::new();
            while let Some(row) = record::split_row(&mut bytes) {
                last.insert(row.key, row.value);
            }
            assert_eq!(bytes, b"");
            assert_eq!(last.len(), count as usize);
            if count > 2 {
                assert_eq!(last[&2_u32.to_be_bytes()[..]], None);
                assert_eq!(last[&1_u32.to_be_bytes()[..]], Some(&b"a longer one"[..]));
            }
        }
    }
}
