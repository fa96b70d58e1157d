//! Rows copied out of a cached group, so that they can be shown without its lock.

use std::ops::ControlFlow;

use super::super::table::rows::Rows;
use super::few::Iter;

/// Keys are kept without the group that they all begin with. It is put before each key when the row is shown.
#[derive(Default)]
pub struct CopiedRows {
    /// Rows in the format of [`super::few`].
    pub(super) packed: Vec<u8>,
    pub(super) packed_rows: usize,
    /// Rows one by one.
    pub(super) rows: Rows,
    /// The group, and behind it the rest of the key that was shown last.
    key: Vec<u8>,
    group_len: usize,
}

impl CopiedRows {
    /// Clears it for rows of this group.
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

    /// The key that was shown last.
    pub fn last_key(&self) -> &[u8] {
        &self.key
    }

    pub fn for_each(&mut self, each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let CopiedRows { packed, rows, key, group_len, .. } = self;
        let mut show = |suffix: &[u8], value: &[u8]| {
            key.truncate(*group_len);
            key.extend_from_slice(suffix);
            each(key, value)
        };
        for (suffix, value) in Iter::over(packed) {
            show(suffix, value)?;
        }
        for row in 0..rows.len() {
            if let (Some(suffix), Some(Some(value))) = (rows.key(row), rows.value(row)) {
                show(suffix, value)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Shows the one row that was copied, if there is one.
    pub fn show(&mut self, show: &mut dyn FnMut(&[u8], &[u8])) {
        let _all = self.for_each(&mut |key, value| {
            show(key, value);
            ControlFlow::Break(())
        });
    }
}
