//! What a write transaction has read, so that its commit can tell whether that has changed.

use super::store::Store;
use crate::{Direction, Range, Space};

#[derive(Default)]
pub(super) struct ReadSet {
    points: Vec<(Space, Box<[u8]>)>,
    ranges: Vec<ReadRange>,
}

/// `start` inclusive; `end` exclusive, or inclusive where a forward scan stopped at it.
struct ReadRange {
    space: Space,
    start: Box<[u8]>,
    end: Box<[u8]>,
    end_included: bool,
}

impl ReadSet {
    pub(super) fn add_point(&mut self, space: Space, key: &[u8]) {
        self.points.push((space, key.into()));
    }

    /// Adds the part of a range that a scan has seen: all of it, or up to the row at which it stopped.
    pub(super) fn add_range(
        &mut self,
        space: Space,
        range: Range<'_>,
        direction: Direction,
        stopped_at: Option<Box<[u8]>>,
    ) {
        let (start, end, end_included) = match (stopped_at, direction) {
            (None, _) => (range.start.into(), range.end.into(), false),
            (Some(key), Direction::Forward) => (range.start.into(), key, true),
            (Some(key), Direction::Backward) => (key, range.end.into(), false),
        };
        self.ranges.push(ReadRange { space, start, end, end_included });
    }

    /// Whether anything that was read has been written since.
    pub(super) fn changed(&self, store: &Store, since: u64) -> bool {
        self.points.iter().any(|(space, key)| store.changed(*space, key, since))
            || (!self.ranges.is_empty()
                && store
                    .written_since(since)
                    .any(|(space, key)| self.ranges.iter().any(|range| range.contains(space, key))))
    }
}

impl ReadRange {
    fn contains(&self, space: Space, key: &[u8]) -> bool {
        self.space == space
            && *self.start <= *key
            && (*key < *self.end || (self.end_included && *key == *self.end))
    }
}
