//! Compaction asks the layers above which rows are garbage.
//!
//! The filter sees rows of the sorted data only, and may read the sorted data only: what is in the tables may still
//! be lost with the power, and a row dropped on its word could not be brought back. A row that is garbage now may be
//! alive in a snapshot, so each live snapshot is asked as well.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use rust_rocksdb::compaction_filter::{CompactionFilter, Decision};
use rust_rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use rust_rocksdb::{ColumnFamily, DB};

use crate::{Error, Filter, Probe, Result, Space, SpaceDef, Verdict, failpoint};

/// With more snapshots than this a compaction drops nothing instead of asking them all.
const SNAPSHOTS_ASKED: usize = 16;

/// A view of rows that a snapshot holds, to be asked from a compaction's thread.
pub trait SnapshotProbe: Probe + Send + Sync {}

pub struct FilterContext {
    spaces: &'static [SpaceDef],
    filter: Option<Arc<dyn Filter>>,
    db: OnceLock<Weak<DB>>,
    enabled: AtomicBool,
    snapshots: Mutex<Vec<Weak<dyn SnapshotProbe>>>,
}

impl FilterContext {
    pub fn new(spaces: &'static [SpaceDef], filter: Option<Arc<dyn Filter>>) -> Arc<FilterContext> {
        Arc::new(FilterContext {
            spaces,
            filter,
            db: OnceLock::new(),
            enabled: AtomicBool::new(false),
            snapshots: Mutex::default(),
        })
    }

    pub fn is_given(&self) -> bool {
        self.filter.is_some()
    }

    pub fn given(&self) -> Option<&Arc<dyn Filter>> {
        self.filter.as_ref()
    }

    pub(super) fn attach(&self, db: &Arc<DB>) {
        let _first = self.db.set(Arc::downgrade(db));
    }

    pub(super) fn enable(&self) {
        self.enabled.store(true, Ordering::Release);
    }

    pub(super) fn disable(&self) {
        self.enabled.store(false, Ordering::Release);
    }

    pub fn add_snapshot(&self, snapshot: Weak<dyn SnapshotProbe>) {
        let mut snapshots = self.snapshots.lock();
        snapshots.retain(|snapshot| snapshot.strong_count() > 0);
        snapshots.push(snapshot);
    }

    pub fn has_snapshots(&self) -> bool {
        self.snapshots.lock().iter().any(|snapshot| snapshot.strong_count() > 0)
    }

    fn judge(&self, space: Space, key: &[u8], value: &[u8]) -> Verdict {
        let (Some(filter), true) = (&self.filter, self.enabled.load(Ordering::Acquire)) else {
            return Verdict::Keep;
        };
        let Some(db) = self.db.get().and_then(Weak::upgrade) else { return Verdict::Keep };
        let probe = StoreProbe { db: &db, spaces: self.spaces };
        if filter.judge(&probe, space, key, value) == Verdict::Keep {
            return Verdict::Keep;
        }
        // Snapshots taken from here on begin after the row has become garbage.
        let snapshots: Vec<_> = self.snapshots.lock().iter().filter_map(Weak::upgrade).collect();
        let garbage_for_all = snapshots.len() <= SNAPSHOTS_ASKED
            && snapshots.iter().all(|snapshot| filter.judge(&**snapshot, space, key, value) == Verdict::Drop);
        if !garbage_for_all {
            return Verdict::Keep;
        }
        filter.dropped(space, key);
        Verdict::Drop
    }

    fn dropped(&self, space: Space, key: &[u8]) {
        if let Some(filter) = &self.filter {
            filter.dropped(space, key);
        }
    }
}

struct StoreProbe<'a> {
    db: &'a DB,
    spaces: &'static [SpaceDef],
}

impl StoreProbe<'_> {
    fn family(&self, space: Space) -> Result<&ColumnFamily> {
        self.spaces
            .get(usize::from(space.0))
            .and_then(|def| self.db.cf_handle(def.name))
            .ok_or_else(|| Error::Io(format!("there is no space {}", space.0)))
    }
}

impl Probe for StoreProbe<'_> {
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let row = self.db.get_pinned_cf(self.family(space)?, key);
        match row.map_err(|error| Error::Io(error.into_string()))? {
            Some(value) => {
                out.extend_from_slice(&value);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

pub struct SpaceFilterFactory {
    context: Arc<FilterContext>,
    space: Space,
    name: CString,
}

impl SpaceFilterFactory {
    pub fn new(context: Arc<FilterContext>, space: Space) -> SpaceFilterFactory {
        SpaceFilterFactory { context, space, name: c"tarn.filter".to_owned() }
    }
}

impl CompactionFilterFactory for SpaceFilterFactory {
    type Filter = SpaceFilter;

    fn create(&mut self, _context: CompactionFilterContext) -> SpaceFilter {
        failpoint::reach("compaction");
        let groups = self.context.filter.as_ref().is_some_and(|filter| filter.judges_groups(self.space));
        let group_len = self.context.spaces.get(usize::from(self.space.0)).map(|def| def.group_len);
        SpaceFilter {
            context: self.context.clone(),
            space: self.space,
            group_len: group_len.filter(|_| groups),
            last: None,
        }
    }

    fn name(&self) -> &CStr {
        &self.name
    }
}

/// Made for one compaction, which brings the rows of a group one after the other.
pub struct SpaceFilter {
    context: Arc<FilterContext>,
    space: Space,
    /// Where one verdict serves a group.
    group_len: Option<fn(&[u8]) -> usize>,
    /// The group that was judged last.
    last: Option<(Vec<u8>, Verdict)>,
}

impl SpaceFilter {
    fn judge(&mut self, key: &[u8], value: &[u8]) -> Verdict {
        let Some(group) = self.group_len.and_then(|len| key.get(..len(key))) else {
            return self.context.judge(self.space, key, value);
        };
        if let Some((last, verdict)) = &self.last
            && last == group
        {
            if *verdict == Verdict::Drop {
                self.context.dropped(self.space, key);
            }
            return *verdict;
        }
        let verdict = self.context.judge(self.space, key, value);
        let mut last = self.last.take().map(|(last, _)| last).unwrap_or_default();
        last.clear();
        last.extend_from_slice(group);
        self.last = Some((last, verdict));
        verdict
    }
}

impl CompactionFilter for SpaceFilter {
    fn filter(&mut self, _level: u32, key: &[u8], value: &[u8]) -> Decision {
        match self.judge(key, value) {
            Verdict::Keep => Decision::Keep,
            Verdict::Drop => Decision::Remove,
        }
    }

    fn name(&self) -> &CStr {
        c"tarn.filter"
    }
}
