//! How far a group has read, as far as that can be told without counting entries.

use super::{Id, Stream};
use crate::encoding::stream::GroupState;

impl Stream<'_> {
    /// Whether entries may be missing between an id and the last one.
    fn has_gaps_from(&self, id: Id) -> bool {
        let was_deleted =
            !self.is_empty() && self.state.max_deleted != Id::MIN && id <= self.state.max_deleted;
        was_deleted || id < self.state.first
    }

    /// How many entries were ever added up to an id; None where that is not known.
    pub(super) fn added_up_to(&self, id: Id) -> Option<u64> {
        let state = &self.state;
        if state.added == 0 {
            return Some(0);
        }
        if self.is_empty() && id <= state.last {
            return Some(state.added);
        }
        if id != Id::MIN && id < state.max_deleted || id > state.last {
            return None;
        }
        if id == state.last {
            return Some(state.added);
        }
        let has_no_gaps = state.max_deleted == Id::MIN || state.max_deleted < state.first;
        match id.cmp(&state.first) {
            _ if !has_no_gaps => None,
            std::cmp::Ordering::Less => Some(state.added.wrapping_sub(self.len())),
            std::cmp::Ordering::Equal => Some(state.added.wrapping_sub(self.len()).wrapping_add(1)),
            std::cmp::Ordering::Greater => None,
        }
    }

    /// The entries that a group has not read yet; None where that is not known.
    pub fn lag(&self, group: &GroupState) -> Option<i64> {
        let state = &self.state;
        if state.added == 0 || self.is_empty() {
            return Some(0);
        }
        if group.last < state.first && state.max_deleted < state.first {
            return Some(self.len() as i64);
        }
        let read = group.read.filter(|_| !self.has_gaps_from(group.last));
        let read = read.or_else(|| self.added_up_to(group.last))?;
        Some((state.added as i64).wrapping_sub(read as i64))
    }

    /// A group is given the entry with this id, the next one that there is.
    pub fn advance(&self, group: &mut GroupState, id: Id) {
        match group.read {
            Some(read) if !self.has_gaps_from(group.last) => group.read = Some(read.wrapping_add(1)),
            _ if self.state.added != 0 => group.read = self.added_up_to(id),
            _ => {}
        }
        group.last = id;
    }
}
