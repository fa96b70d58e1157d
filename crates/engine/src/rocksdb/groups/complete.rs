//! Small groups whose every row one unit writes back are cached as lagging. The sorted data had nothing of them before, so that
//! nothing need be read. One buffer takes less memory than a row in the row cache for each of theirs, and the first scan finds them
//! in order.

use std::ops::Range;

use super::super::Inner;
use super::super::ordered::Ordered;
use super::super::sorted::{Sorted, SortedRows};
use super::{SMALL_BYTES, SMALL_ROWS};
use crate::{Groups, Space};

/// A single row is smaller in the row cache: 88 bytes of overhead instead of 150.
const MIN_ROWS: usize = 2;

/// Groups of which the sorted data holds nothing but what a unit writes: their spaces, and their rows among those of the space.
pub struct CompleteGroups(Vec<(Space, Range<usize>)>);

impl Inner {
    /// To be called before the unit's rows are in the sorted data.
    pub(in super::super) fn complete_groups(&self, sorted: &SortedRows<'_>) -> CompleteGroups {
        let mut complete = Vec::new();
        for ((space, def), rows) in (0..).map(Space).zip(self.spaces).zip(&sorted.spaces) {
            if def.groups != Groups::Kept || rows.is_empty() {
                continue;
            }
            let Ok(mut holder) = self.store.holder(space) else { continue };
            let mut start = 0;
            for run in rows.chunk_by(Sorted::is_beside) {
                let rows = start..start + run.len();
                start = rows.end;
                if (MIN_ROWS..=SMALL_ROWS).contains(&run.len())
                    && sorted.group_of(run).is_some_and(|group| !holder.may_hold(group))
                {
                    complete.push((space, rows));
                }
            }
        }
        CompleteGroups(complete)
    }

    /// Caches them. The unit's rows are in the sorted data, and its tables still in the shards.
    pub(in super::super) fn keep_complete(
        &self,
        complete: CompleteGroups,
        sorted: &SortedRows<'_>,
        unit: u64,
    ) {
        for (space, rows) in complete.0 {
            let run = sorted.spaces.get(usize::from(space.0)).and_then(|all| all.get(rows));
            let Some((run, name)) = run.and_then(|run| Some((run, sorted.group_of(run)?))) else { continue };
            let mut rows = Ordered::with_room();
            for row in run.iter().map(|row| sorted.row(row)) {
                if let (Some(suffix), Some(value)) = (row.key.get(name.len()..), row.value) {
                    rows.push_last(suffix, value);
                }
            }
            rows.shrink_to_fit();
            if rows.len() < MIN_ROWS || rows.bytes() > SMALL_BYTES {
                continue;
            }
            let id = self.hasher.group_id(space, name);
            let Ok(mut shard) = self.shards.write(id.shard()) else { return };
            shard.groups.insert_lagging(id, rows, unit, &self.shards.budget);
            drop(shard);
            self.shards.evict();
        }
    }
}
