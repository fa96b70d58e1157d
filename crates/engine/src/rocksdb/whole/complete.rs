//! Small groups whose every row is written back by one unit are kept in memory from then on: nothing of them is in the
//! sorted data yet, so that nothing need be read. One copy of them takes less memory than a clean row for each of
//! theirs, and their first scan finds them in order.

use std::ops::Range;

use super::super::Inner;
use super::super::hash::{SHARDS, shard_of};
use super::super::ordered::Ordered;
use super::super::sorted::{Sorted, SortedRows};
use super::{SMALL_BYTES, TINY_ROWS};
use crate::{Groups, Space};

/// A single row is better remembered as a clean one.
const LEAST_ROWS: usize = 2;

/// A group of which the sorted data holds nothing but what the unit brings.
struct Group {
    space: Space,
    hash: u64,
    /// Its rows among those of the space.
    rows: Range<usize>,
}

/// Such groups of a unit, by shard.
pub struct Complete {
    shards: Vec<Vec<Group>>,
}

impl Inner {
    /// To be asked before the unit's rows are in the sorted data.
    pub(in super::super) fn complete_groups(&self, sorted: &SortedRows<'_>) -> Complete {
        let mut complete = Complete { shards: (0..SHARDS).map(|_| Vec::new()).collect() };
        for ((space, def), rows) in (0..).map(Space).zip(self.spaces).zip(&sorted.spaces) {
            if def.groups != Groups::Kept || rows.is_empty() {
                continue;
            }
            let Ok(mut holder) = self.store.holder(space) else { continue };
            let mut start = 0;
            for run in rows.chunk_by(Sorted::is_beside) {
                let rows = start..start + run.len();
                start = rows.end;
                if !(LEAST_ROWS..=TINY_ROWS).contains(&run.len()) {
                    continue;
                }
                let Some(group) = sorted.group_of(run) else { continue };
                if !holder.may_hold(group) {
                    let hash = self.hasher.group(space, group);
                    if let Some(groups) = complete.shards.get_mut(shard_of(hash)) {
                        groups.push(Group { space, hash, rows });
                    }
                }
            }
        }
        complete
    }

    /// Keeps them. The unit's rows are in the sorted data, and its tables still in the shards.
    pub(in super::super) fn keep_complete(&self, complete: Complete, sorted: &SortedRows<'_>, unit: u64) {
        for (index, groups) in complete.shards.into_iter().enumerate() {
            for Group { space, hash, rows } in groups {
                let run = sorted.spaces.get(usize::from(space.0)).and_then(|all| all.get(rows));
                let Some(run) = run else { continue };
                let Some(group) = sorted.group_of(run) else { continue };
                let mut kept = Ordered::with_room();
                for row in run.iter().map(|row| sorted.row(row)) {
                    if let (Some(key), Some(value)) = (row.key.get(group.len()..), row.value) {
                        kept.push_last(key, value);
                    }
                }
                kept.shrink_to_fit();
                if kept.len() < LEAST_ROWS || kept.bytes() > SMALL_BYTES {
                    continue;
                }
                let Ok(mut shard) = self.shards.write(index) else { return };
                shard.wholes.rest((hash, space.0, group), kept, unit, &self.shards.budget);
                drop(shard);
                self.shards.evict();
            }
        }
    }
}
