//! Deleting entries that groups may still refer to.

use super::{Group, Id, Stream};
use crate::encoding::stream::GroupState;
use crate::error::Result;
use crate::keyspace::{Env, View, WriteCx};

/// What becomes of pending entries when the entries themselves go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refs {
    /// They stay pending.
    #[default]
    Keep,
    /// They go with them.
    Delete,
    /// Only entries go that every group was given and none has pending.
    Acked,
}

/// What was done with an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// There was nothing of that id.
    Missing,
    Gone,
    /// Some group refers to it.
    Kept,
}

/// The names and states of all groups, for who works on all of them.
pub type Groups = Vec<(Vec<u8>, GroupState)>;

impl Stream<'_> {
    /// All groups, where these matter.
    pub fn groups_for(&self, cx: &impl View, refs: Refs) -> Result<Groups> {
        if refs == Refs::Keep || self.state.groups == 0 { Ok(Vec::new()) } else { self.groups(cx) }
    }

    pub fn open_groups<'n>(&self, groups: &'n Groups) -> Vec<Group<'n>> {
        groups.iter().map(|(name, state)| self.open_group(name, *state)).collect()
    }

    /// Deletes an entry as far as its references allow. The stream and the groups are to be saved.
    pub fn delete_with(
        &mut self,
        cx: &mut WriteCx<'_>,
        groups: &mut [Group<'_>],
        id: Id,
        refs: Refs,
    ) -> Result<Deleted> {
        match refs {
            Refs::Keep => {}
            Refs::Delete => {
                for group in groups {
                    if let Some(pending) = group.pending(cx, id)? {
                        group.release(cx, id, pending)?;
                    }
                }
            }
            Refs::Acked => {
                if !self.has(cx, id)? {
                    return Ok(Deleted::Missing);
                }
                for group in groups.iter() {
                    if group.state.last < id || group.pending(cx, id)?.is_some() {
                        return Ok(Deleted::Kept);
                    }
                }
            }
        }
        Ok(if self.delete_one(cx, id)? { Deleted::Gone } else { Deleted::Missing })
    }

    pub fn save_groups(&self, cx: &mut WriteCx<'_>, groups: &mut [Group<'_>]) {
        groups.iter_mut().for_each(|group| self.save_group(cx, group));
    }

    /// Removes entries from the front whose references allow it, as long as they are wanted: `wanted` is told how many are gone, and the
    /// next id. How many went. The stream and the groups are to be saved.
    pub(super) fn remove_first_with(
        &mut self,
        cx: &mut WriteCx<'_>,
        groups: &mut [Group<'_>],
        wanted: &mut dyn FnMut(u64, Id) -> bool,
        refs: Refs,
    ) -> Result<u64> {
        let all = super::Ids { first: Id::MIN, last: Id::MAX };
        let Some(mut walk) = self.walk(all, super::Direction::Forward) else { return Ok(0) };
        let (mut removed, mut rows) = (0, 0);
        while let Some(element) = walk.next(cx)? {
            let id = Id::decode(element.sub)?;
            if !wanted(removed, id) {
                break;
            }
            rows += 1 + groups.len();
            cx.env.move_if_heavy(rows, Env::IO_THREAD_MAX_ROWS)?;
            let before = self.state.max_deleted;
            if self.delete_with(cx, groups, id, refs)? == Deleted::Gone {
                removed += 1;
            }
            // What is trimmed leaves no gap.
            self.state.max_deleted = before;
        }
        Ok(removed)
    }
}
