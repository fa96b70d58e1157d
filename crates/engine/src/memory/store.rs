//! The rows: one ordered map per space, from key to versions.

use std::collections::{BTreeMap, VecDeque, btree_map};

use super::active::Readers;
use crate::{Error, Result, Space};

/// What the map costs for a row beside its bytes: key and value handles, position, link, allocator rounding.
const ROW_OVERHEAD_BYTES: u64 = 96;

/// Rows of one transaction: a value, or none for a delete.
pub(super) type Rows = BTreeMap<Box<[u8]>, Option<Box<[u8]>>>;

/// A version of a row and, behind it, the older ones that somebody may still read.
pub(super) struct Version {
    at: u64,
    value: Option<Box<[u8]>>,
    older: Option<Box<Version>>,
}

impl Version {
    /// The value at a position; none when the row did not exist there.
    pub(super) fn value_at(&self, at: u64) -> Option<&[u8]> {
        let mut version = self;
        while version.at > at {
            version = version.older.as_deref()?;
        }
        version.value.as_deref()
    }

    /// Links the version that this one supersedes, as far as somebody can read it; how many bytes that freed.
    fn put_before(&mut self, mut before: Version, readers: Option<Readers>) -> u64 {
        let Some(readers) = readers else {
            return before.forget_before(u64::MAX) + value_bytes(&before.value);
        };
        let mut freed = 0;
        if before.at <= readers.newest {
            self.older = Some(Box::new(before));
        } else {
            freed += value_bytes(&before.value);
            self.older = before.older.take();
        }
        freed + self.forget_before(readers.oldest)
    }

    /// Drops what is behind the version that a reader at `oldest` sees; how many bytes that freed.
    fn forget_before(&mut self, oldest: u64) -> u64 {
        let mut version = self;
        while version.at > oldest {
            match version.older {
                Some(ref mut older) => version = older,
                None => return 0,
            }
        }
        let mut freed = 0;
        let mut behind = version.older.take();
        // By hand: a chain of many versions must not be dropped by recursion.
        while let Some(mut version) = behind {
            freed += value_bytes(&version.value);
            behind = version.older.take();
        }
        freed
    }
}

/// A row that was written while somebody read at an older position.
struct Superseded {
    at: u64,
    space: Space,
    key: Box<[u8]>,
}

pub(super) struct Store {
    spaces: Vec<BTreeMap<Box<[u8]>, Version>>,
    /// Every row written since the oldest open transaction began, in the order of commits. Tells what a commit must
    /// check its scans against, and which versions to reclaim.
    superseded: VecDeque<Superseded>,
    bytes: u64,
    /// Rows written or deleted since this was last taken.
    written: u64,
}

impl Store {
    pub(super) fn new(spaces: usize) -> Store {
        Store {
            spaces: std::iter::repeat_with(BTreeMap::new).take(spaces).collect(),
            superseded: VecDeque::new(),
            bytes: 0,
            written: 0,
        }
    }

    pub(super) fn space(&self, space: Space) -> Result<&BTreeMap<Box<[u8]>, Version>> {
        self.spaces.get(usize::from(space.0)).ok_or_else(|| {
            Error::Unavailable(format!("the engine was opened without a space of number {}", space.0))
        })
    }

    pub(super) fn get(&self, space: Space, key: &[u8], at: u64) -> Result<Option<&[u8]>> {
        Ok(self.space(space)?.get(key).and_then(|row| row.value_at(at)))
    }

    /// Whether somebody has written the row since.
    pub(super) fn changed(&self, space: Space, key: &[u8], since: u64) -> bool {
        self.space(space).is_ok_and(|rows| rows.get(key).is_some_and(|row| row.at > since))
    }

    /// The rows that were written since, of those that a transaction which began then must know of.
    pub(super) fn written_since(&self, since: u64) -> impl Iterator<Item = (Space, &[u8])> {
        let first = self.superseded.partition_point(|row| row.at <= since);
        self.superseded.range(first..).map(|row| (row.space, &*row.key))
    }

    /// Writes the rows of a commit at `at`, which is newer than everything in the store.
    pub(super) fn apply(&mut self, at: u64, space: Space, rows: Rows, readers: Option<Readers>) {
        let Some(map) = self.spaces.get(usize::from(space.0)) else { return };
        let exists = |key: &[u8]| map.get(key).is_some_and(|row| row.value.is_some());
        // Of a delete of what is not there nobody can tell the difference.
        let rows: Vec<_> = rows.into_iter().filter(|(key, value)| value.is_some() || exists(key)).collect();
        rows.into_iter().for_each(|(key, value)| self.write(at, space, key, value, readers));
    }

    /// Writes a row as it is, there or not, unless the commit at `at` has written it: whoever began before will conflict.
    pub(super) fn touch(&mut self, at: u64, space: Space, key: Box<[u8]>, readers: Option<Readers>) {
        let row = self.spaces.get(usize::from(space.0)).and_then(|map| map.get(&key));
        if readers.is_some() && row.is_none_or(|row| row.at < at) {
            let value = row.and_then(|row| row.value.clone());
            self.write(at, space, key, value, readers);
        }
    }

    fn write(
        &mut self,
        at: u64,
        space: Space,
        key: Box<[u8]>,
        value: Option<Box<[u8]>>,
        readers: Option<Readers>,
    ) {
        let Some(map) = self.spaces.get_mut(usize::from(space.0)) else { return };
        if readers.is_some() {
            self.superseded.push_back(Superseded { at, space, key: key.clone() });
        }
        self.written += 1;
        self.bytes += value_bytes(&value);
        match map.entry(key) {
            btree_map::Entry::Vacant(entry) => {
                self.bytes += key_bytes(entry.key());
                entry.insert(Version { at, value, older: None });
            }
            btree_map::Entry::Occupied(mut entry) => {
                let row = entry.get_mut();
                let before = std::mem::replace(row, Version { at, value, older: None });
                self.bytes -= row.put_before(before, readers);
                if readers.is_none() && row.value.is_none() {
                    self.bytes -= key_bytes(entry.key());
                    entry.remove();
                }
            }
        }
    }

    /// Drops versions that no reader at `oldest` or later can see, at most `limit`; whether some may be left.
    pub(super) fn reclaim(&mut self, oldest: u64, limit: usize) -> bool {
        for _ in 0..limit {
            match self.superseded.front() {
                Some(row) if row.at <= oldest => {}
                _ => return false,
            }
            let Some(Superseded { space, key, .. }) = self.superseded.pop_front() else { return false };
            let Some(rows) = self.spaces.get_mut(usize::from(space.0)) else { continue };
            let btree_map::Entry::Occupied(mut entry) = rows.entry(key) else { continue };
            self.bytes -= entry.get_mut().forget_before(oldest);
            if entry.get().value.is_none() && entry.get().at <= oldest {
                self.bytes -= key_bytes(entry.key());
                entry.remove();
            }
        }
        !self.superseded.is_empty()
    }

    /// From which oldest reader on there is something to reclaim.
    pub(super) fn reclaimable_at(&self) -> u64 {
        self.superseded.front().map_or(u64::MAX, |row| row.at)
    }

    pub(super) fn superseded_len(&self) -> usize {
        self.superseded.len()
    }

    pub(super) fn spaces(&self) -> usize {
        self.spaces.len()
    }

    pub(super) fn last_key(&self, space: Space) -> Option<Vec<u8>> {
        self.space(space).ok()?.last_key_value().map(|(key, _)| key.to_vec())
    }

    pub(super) fn len(&self) -> usize {
        self.spaces.iter().map(BTreeMap::len).sum()
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn reset_written(&mut self) {
        self.written = 0;
    }

    /// Memory of the rows, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn key_bytes(key: &[u8]) -> u64 {
    key.len() as u64 + ROW_OVERHEAD_BYTES
}

fn value_bytes(value: &Option<Box<[u8]>>) -> u64 {
    value.as_ref().map_or(0, |value| value.len() as u64)
}
