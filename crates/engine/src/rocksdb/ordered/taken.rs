//! Rows copied out of a group that is whole, so that they can be told without its lock.

use std::ops::ControlFlow;

use super::super::table::rows::Rows;
use super::few::Iter;

/// Keys are kept without the group they all begin with: it is put before them when they are told.
#[derive(Default)]
pub struct Taken {
    /// As they stand in the buffer of a small group.
    pub(super) packed: Vec<u8>,
    pub(super) packed_rows: usize,
    /// Or one by one.
    pub(super) rows: Rows,
    /// The group, and behind it the key that was told last.
    key: Vec<u8>,
    group_len: usize,
}

impl Taken {
    /// Forgets what it holds; what comes next is of this group.
    pub fn begin(&mut self, group: &[u8]) {
        self.packed.clear();
        self.packed_rows = 0;
        self.rows.clear();
        self.key.clear();
        self.key.extend_from_slice(group);
        self.group_len = group.len();
    }

    pub fn len(&self) -> usize {
        self.packed_rows + self.rows.len()
    }

    /// The bytes of memory it has.
    pub fn capacity(&self) -> usize {
        self.packed.capacity() + self.rows.capacity() + self.key.capacity()
    }

    /// The whole key that was told last.
    pub fn last_key(&self) -> &[u8] {
        &self.key
    }

    pub fn tell(&mut self, each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let Taken { packed, rows, key, group_len, .. } = self;
        let mut tell = |rest: &[u8], value: &[u8]| {
            key.truncate(*group_len);
            key.extend_from_slice(rest);
            each(key, value)
        };
        for (rest, value) in Iter::over(packed) {
            tell(rest, value)?;
        }
        for row in 0..rows.len() {
            if let (Some(rest), Some(Some(value))) = (rows.key(row), rows.value(row)) {
                tell(rest, value)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Shows the one row that was taken, if there is one.
    pub fn show(&mut self, show: &mut dyn FnMut(&[u8], &[u8])) {
        let _all = self.tell(&mut |key, value| {
            show(key, value);
            ControlFlow::Break(())
        });
    }
}
