//! Reading at a timestamp, with a transaction's own rows on top.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, ControlFlow};

use super::Shared;
use super::client::Row;
use crate::{Direction, Error, Range, Read, Result, Space, Wait};

/// Rows of a scan's first request. Later ones ask for as many as are about [`BATCH_BYTES`].
const FIRST_ROWS: usize = 32;
const MAX_ROWS: usize = 4096;
const BATCH_BYTES: usize = 1 << 20;
/// Rows of one request for single rows.
const GET_MANY_ROWS: usize = 512;
/// What a transaction remembers of rows that it has read, so that they are not asked for again.
const MAX_REMEMBERED_BYTES: usize = 4 << 20;

/// A transaction's own rows of one space; none is a delete.
pub(super) type Own = BTreeMap<Box<[u8]>, Option<Box<[u8]>>>;
pub(super) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Rows that were read at one timestamp.
#[derive(Default)]
pub(super) struct Seen {
    rows: RefCell<HashMap<Vec<u8>, Option<Vec<u8>>>>,
    bytes: Cell<usize>,
    /// Keys of those that were too much to be kept.
    others: RefCell<HashSet<Vec<u8>>>,
}

impl Seen {
    fn get(&self, key: &[u8]) -> Option<Option<Vec<u8>>> {
        self.rows.borrow().get(key).cloned()
    }

    /// Whether it was asked for by its key.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.rows.borrow().contains_key(key) || self.others.borrow().contains(key)
    }

    /// Every key that was asked for.
    pub(super) fn each(&self, each: &mut dyn FnMut(&[u8])) {
        self.rows.borrow().keys().for_each(|key| each(key));
        self.others.borrow().iter().for_each(|key| each(key));
    }

    fn keeps(&self, key: &[u8]) -> bool {
        self.rows.borrow().contains_key(key)
    }

    fn add(&self, key: Vec<u8>, value: Option<Vec<u8>>) {
        let bytes = self.bytes.get() + key.len() + value.as_ref().map_or(0, Vec::len);
        if bytes <= MAX_REMEMBERED_BYTES {
            self.bytes.set(bytes);
            self.rows.borrow_mut().insert(key, value);
        } else {
            self.others.borrow_mut().insert(key);
        }
    }
}

/// The rows at a timestamp, under those of a transaction.
pub(super) struct View<'a> {
    pub(super) shared: &'a Shared,
    pub(super) wait: Wait,
    /// What it reads at, asked for with the first read.
    pub(super) at: &'a dyn Fn() -> Result<u64>,
    pub(super) own: Option<&'a [Own]>,
    pub(super) seen: &'a Seen,
}

impl View<'_> {
    fn admit(&self) -> Result<u64> {
        self.shared.check_open()?;
        match self.wait {
            Wait::Never => Err(Error::NotResident),
            Wait::Allowed => {
                let at = (self.at)()?;
                if self.shared.cluster.is_too_old(at) {
                    return Err(Error::Unavailable(format!(
                        "a read takes at most {} s",
                        super::MAX_READ_AGE.as_secs()
                    )));
                }
                Ok(at)
            }
        }
    }

    fn own(&self, space: Space) -> Option<&Own> {
        self.own?.get(usize::from(space.0)).filter(|rows| !rows.is_empty())
    }
}

impl Read for View<'_> {
    fn get(&self, space: Space, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let at = self.admit()?;
        if let Some(value) = self.own(space).and_then(|own| own.get(row)) {
            value.iter().for_each(|value| out.extend_from_slice(value));
            return Ok(value.is_some());
        }
        let key = self.shared.keys.row(space, row)?;
        let value = match self.seen.get(&key) {
            Some(value) => value,
            None => {
                let value = self.shared.cluster.get(at, key.clone())?;
                self.seen.add(key, value.clone());
                value
            }
        };
        value.iter().for_each(|value| out.extend_from_slice(value));
        Ok(value.is_some())
    }

    fn get_many(
        &self,
        space: Space,
        rows: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let at = self.admit()?;
        for (part, rows) in rows.chunks(GET_MANY_ROWS).enumerate() {
            let own = |row: &[u8]| self.own(space).and_then(|own| own.get(row));
            let keys: Vec<Vec<u8>> =
                rows.iter().map(|row| self.shared.keys.row(space, row)).collect::<Result<_>>()?;
            let fetched = self.fetch_keys(at, keys.iter().zip(rows).filter(|(_, row)| own(row).is_none()))?;
            for (index, (key, row)) in keys.iter().zip(rows).enumerate() {
                let index = part * GET_MANY_ROWS + index;
                match (own(row), fetched.get(key)) {
                    (Some(value), _) => each(index, value.as_deref()),
                    (None, Some(value)) => each(index, Some(value)),
                    (None, None) => each(index, self.seen.get(key).flatten().as_deref()),
                }
            }
        }
        Ok(())
    }

    fn fetch(&self, rows: &[(Space, &[u8])]) -> Result<()> {
        let at = self.admit()?;
        // A key that is too long is told of where it is asked for by itself.
        let keys: Vec<Vec<u8>> =
            rows.iter().filter_map(|(space, row)| self.shared.keys.row(*space, row).ok()).collect();
        let none: &[u8] = &[];
        for keys in keys.chunks(GET_MANY_ROWS) {
            self.fetch_keys(at, keys.iter().map(|key| (key, &none)))?;
        }
        Ok(())
    }

    /// Rows of the cluster are fetched in parts; those of the transaction's own are merged in up to where a part ends.
    fn scan(
        &self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        limit: usize,
        each: &mut Visit<'_>,
    ) -> Result<()> {
        let at = self.admit()?;
        if range.start >= range.end || limit == 0 {
            return Ok(());
        }
        let keys = &self.shared.keys;
        let (mut start, mut end) = (keys.bound(space, range.start), keys.bound(space, range.end));
        let (mut left, mut rows) = (limit, FIRST_ROWS);
        loop {
            let asked = rows.min(left).max(1);
            let part = self.shared.cluster.scan(at, (&start, &end), direction, asked as u32)?;
            let bytes: usize = part.iter().map(|(key, value)| key.len() + value.len()).sum();
            // Between `start` and `end` there may be more behind the last row of a full part.
            let last = part.last().filter(|_| part.len() >= asked).map(|(key, _)| key.clone());
            let (covered, next) = match (last, direction) {
                (None, _) => ((start, end), None),
                (Some(last), Direction::Forward) => {
                    let behind = behind(&last);
                    ((start, behind.clone()), Some((behind, end)))
                }
                (Some(last), Direction::Backward) => ((last.clone(), end), Some((start, last))),
            };
            let flow = self.merge(space, &part, &covered, direction, &mut left, each);
            match next.filter(|(start, end)| start < end) {
                Some(next) if flow.is_continue() && left > 0 => (start, end) = next,
                _ => return Ok(()),
            }
            rows = (BATCH_BYTES * part.len() / bytes.max(1)).clamp(FIRST_ROWS, rows * 4).min(MAX_ROWS);
        }
    }
}

impl View<'_> {
    /// Fetches those of the keys that were not read yet, with one request per region.
    fn fetch_keys<'k>(
        &self,
        at: u64,
        keys: impl Iterator<Item = (&'k Vec<u8>, &'k &'k [u8])>,
    ) -> Result<HashMap<Vec<u8>, Vec<u8>>> {
        let mut unseen: Vec<Vec<u8>> =
            keys.map(|(key, _)| key).filter(|key| !self.seen.keeps(key)).cloned().collect();
        // In order, so that those of one region are beside each other.
        unseen.sort_unstable();
        unseen.dedup();
        if unseen.is_empty() {
            return Ok(HashMap::new());
        }
        let fetched: HashMap<_, _> = match unseen.as_slice() {
            [only] => {
                let value = self.shared.cluster.get(at, only.clone())?;
                value.map(|value| (only.clone(), value)).into_iter().collect()
            }
            _ => self.shared.cluster.get_many(at, unseen.clone())?.into_iter().collect(),
        };
        for key in unseen {
            let value = fetched.get(&key).cloned();
            self.seen.add(key, value);
        }
        Ok(fetched)
    }

    /// Shows the rows of a part, which is all that the cluster has between the bounds.
    fn merge(
        &self,
        space: Space,
        part: &[Row],
        (start, end): &(Vec<u8>, Vec<u8>),
        direction: Direction,
        left: &mut usize,
        each: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let keys = &self.shared.keys;
        let mut theirs = part.iter().map(|(key, value)| (keys.strip(key), value.as_slice())).peekable();
        let none = Own::new();
        let own = self.own(space).unwrap_or(&none);
        let (start, end) = (keys.strip(start), keys.strip(end));
        let bounds = (Bound::Included(start), Bound::Excluded(end));
        let mut rows = own.range::<[u8], _>(bounds);
        let mut next_own = || match direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let mut mine = next_own();
        while *left > 0 {
            // Deletes of its own hide rows of the cluster; those of the next part make up for them.
            let takes_own = match (&mine, theirs.peek()) {
                (None, None) => break,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some((own, _)), Some((key, _))) => match direction {
                    Direction::Forward => &***own <= *key,
                    Direction::Backward => &***own >= *key,
                },
            };
            let (key, value): (&[u8], Option<&[u8]>) = if takes_own {
                let Some((key, value)) = mine else { break };
                if theirs.peek().is_some_and(|(theirs, _)| **theirs == **key) {
                    theirs.next();
                }
                mine = next_own();
                (key, value.as_deref())
            } else {
                let Some((key, value)) = theirs.next() else { break };
                (key, Some(value))
            };
            if let Some(value) = value {
                *left -= 1;
                each(key, value)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// The least key greater than this one.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
