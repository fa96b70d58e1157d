//! Groups that nobody will read or write again. Their cached rows are forgotten at once. Their dirty rows are not written back, and
//! their rows in the sorted data are deleted by range. Both happen with the unit that was being filled when they were abandoned:
//! by then the commits that ended them are in the sorted data, or in a part of the log that is synced.

use std::time::{Duration, Instant};

use rapidhash::RapidHashSet;

use super::Inner;
use super::scan::group::{padded_group_len, successor};
use super::table::arena::Row;
use crate::{Error, Range, Result, Space};

/// More are left to whoever abandons them.
const MAX_GROUPS: usize = 4096;
/// Time after which the unit is written back for their sake: their space is wanted back, but not at once.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Those that wait for units.
#[derive(Default)]
pub struct Waiting {
    /// With the unit's number, in its order.
    groups: Vec<(u64, Space, Box<[u8]>)>,
    /// Since when the unit that is being filled has some.
    since: Option<Instant>,
}

impl Waiting {
    fn add(&mut self, unit: u64, space: Space, group: &[u8]) -> bool {
        if self.groups.len() >= MAX_GROUPS {
            return false;
        }
        self.groups.push((unit, space, group.into()));
        self.since.get_or_insert_with(Instant::now);
        true
    }

    /// The unit that is being filled is another one from now on.
    pub fn unit_is_cut(&mut self) {
        self.since = None;
    }

    /// Whether the unit that is being filled has some.
    pub fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// Whether they have waited long enough.
    pub fn is_overdue(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= LONGEST_WAIT)
    }

    /// Those of units up to this one.
    pub fn of_unit(&self, unit: u64) -> Abandoned {
        let mut spaces: Vec<RapidHashSet<Box<[u8]>>> = Vec::new();
        for (_, space, group) in self.groups.iter().take_while(|(number, ..)| *number <= unit) {
            let index = usize::from(space.0);
            if spaces.len() <= index {
                spaces.resize_with(index + 1, RapidHashSet::default);
            }
            if let Some(groups) = spaces.get_mut(index) {
                groups.insert(group.clone());
            }
        }
        Abandoned { spaces }
    }

    pub fn forget_unit(&mut self, unit: u64) {
        self.groups.retain(|(number, ..)| *number > unit);
    }
}

/// Those of one unit.
#[derive(Default)]
pub struct Abandoned {
    /// By the number of the space.
    spaces: Vec<RapidHashSet<Box<[u8]>>>,
}

impl Abandoned {
    /// Whether a row is of one of them.
    #[inline]
    pub fn has(&self, row: &Row<'_>) -> bool {
        let groups = self.spaces.get(usize::from(row.space)).filter(|groups| !groups.is_empty());
        groups.is_some_and(|groups| row.key.get(..row.group_len).is_some_and(|group| groups.contains(group)))
    }
}

impl Inner {
    /// False where too many wait already.
    pub(super) fn abandon(&self, space: Space, group: &[u8]) -> Result<bool> {
        self.check_open()?;
        let def = self.def(space)?;
        if group.is_empty() || padded_group_len(def, group) != group.len() {
            return Err(Error::Unavailable("what is abandoned must be a group".to_owned()));
        }
        {
            let mut units = self.units.lock();
            let unit = units.last_number + 1;
            if !units.abandoned.add(unit, space, group) {
                return Ok(false);
            }
        }
        self.forget_group(space, group);
        Ok(true)
    }

    /// The unit is in the sorted data: deletes what older units have written there of them, and forgets what is in memory.
    pub(super) fn remove_abandoned(&self, abandoned: &Abandoned) -> Result<()> {
        for (space, groups) in (0..).map(Space).zip(&abandoned.spaces) {
            if groups.is_empty() {
                continue;
            }
            let mut holder = self.store.holder(space)?;
            let held: Vec<_> = groups.iter().filter(|group| holder.may_hold(group)).collect();
            drop(holder);
            for group in held {
                let Some(end) = successor(group) else { continue };
                let range = Range { start: group, end: &end };
                self.store.delete_range(space, range, !self.store.filter().has_snapshots())?;
                self.store.suggest_compaction(space, range)?;
                self.forget_group(space, group);
            }
        }
        Ok(())
    }
}
