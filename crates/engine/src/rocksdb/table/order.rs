//! Order among the rows of one group, made for scans.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::Table;
use super::arena::{Row, RowAt};
use super::rows::{Rows, ordered};
use crate::rocksdb::field::u32_at;
use crate::rocksdb::hash::{GroupId, RowHash, prefetch_row, within_shard};
use crate::rocksdb::ordered::{Ordered, head_of};
use crate::{Direction, Wait};

/// A group with a longer chain gets an ordered index when it is scanned.
pub const CHAIN_LIMIT: usize = 256;
/// Rows read under one hold of a shard's lock while a long chain is being ordered.
const WALK_STEP: usize = 1024;
/// How many rows ahead are prefetched.
const PREFETCH_AHEAD: usize = 8;

/// The rows of a group as a walk along its chain found them.
#[derive(Default)]
pub struct GroupRows {
    /// Their keys without the group, one behind the other.
    keys: Vec<u8>,
    rows: Vec<FoundRow>,
}

#[derive(Clone, Copy)]
struct FoundRow {
    /// Most keys differ in their first bytes, and numbers are compared without a look at the rows.
    head: u64,
    start: usize,
    len: u32,
    at: RowAt,
}

impl GroupRows {
    fn push(&mut self, suffix: &[u8], at: RowAt) {
        let (start, len) = (self.keys.len(), suffix.len() as u32);
        self.keys.extend_from_slice(suffix);
        self.rows.push(FoundRow { head: head_of(suffix), start, len, at });
    }

    pub fn in_order(mut self) -> Ordered {
        let keys = &self.keys;
        let suffix = |row: &FoundRow| keys.get(row.start..row.start + row.len as usize).unwrap_or_default();
        self.rows.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| suffix(a).cmp(suffix(b))));
        let mut ordered = Ordered::default();
        for (place, row) in self.rows.iter().enumerate() {
            if let Some(later) = self.rows.get(place + PREFETCH_AHEAD) {
                prefetch_row(suffix(later));
            }
            ordered.push_last(suffix(row), &row.at.0.to_be_bytes());
        }
        ordered
    }
}

struct Order {
    hash: u64,
    space: u8,
    name: Box<[u8]>,
    /// Addresses, by the part of the key behind the group.
    rows: Ordered,
}

impl Order {
    fn is(&self, id: GroupId<'_>) -> bool {
        self.hash == id.hash && self.space == id.space && *self.name == *id.name
    }
}

/// The ordered indexes of an active table.
#[derive(Default)]
pub struct Orders {
    groups: HashTable<Order>,
}

impl Orders {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    fn find(&self, id: GroupId<'_>) -> Option<&Order> {
        self.groups.find(within_shard(id.hash), |order| order.is(id))
    }

    /// The bytes by which the indexes grew.
    pub fn insert(&mut self, space: u8, key: &[u8], hash: &RowHash, at: RowAt) -> usize {
        let Some((id, suffix)) = GroupId::of_row(space, key, hash) else { return 0 };
        let Some(order) = self.groups.find_mut(within_shard(id.hash), |order| order.is(id)) else { return 0 };
        let before = order.rows.bytes();
        order.rows.set(suffix, Some(&at.0.to_be_bytes()));
        // A leaf that is split may free more than the row takes.
        order.rows.bytes().saturating_sub(before)
    }
}

/// A part of one group's range that a scan wants.
#[derive(Clone, Copy)]
pub struct Want<'a> {
    pub id: GroupId<'a>,
    pub start: &'a [u8],
    pub end: &'a [u8],
    pub direction: Direction,
    pub max_rows: usize,
    pub max_bytes: usize,
    pub wait: Wait,
}

impl Want<'_> {
    #[inline]
    fn holds(&self, key: &[u8]) -> bool {
        key >= self.start && key < self.end
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collected {
    /// Every row of the range.
    All,
    /// As many as were asked for; the last one pushed is the bound.
    Some,
    /// The chain is long: order the group, then ask again.
    NeedsOrder,
}

impl Table {
    /// Copies the wanted rows out.
    pub fn collect(&self, want: &Want<'_>, age: u16, out: &mut Rows) -> Collected {
        if self.is_empty() {
            return Collected::All;
        }
        if let Some(order) = self.orders.find(want.id) {
            return self.collect_ordered(want, order, age, out);
        }
        if let Some(sorted) = self.sorted_group(want.id) {
            return self.collect_sorted(want, &sorted, age, out);
        }
        let mut found: SmallVec<[(RowAt, Row<'_>); 16]> = SmallVec::new();
        let chain = self.chain(want.id);
        for (visited, (at, row)) in chain.enumerate() {
            if visited >= CHAIN_LIMIT {
                return Collected::NeedsOrder;
            }
            if want.holds(row.key) {
                found.push((at, row));
            }
        }
        found.sort_unstable_by(|a, b| ordered(a.1.key, b.1.key, want.direction));
        self.push_some(found.iter().map(|(at, _)| *at), want, age, out)
    }

    fn collect_sorted(&self, want: &Want<'_>, sorted: &[RowAt], age: u16, out: &mut Rows) -> Collected {
        let from = sorted.partition_point(|at| self.row(*at).key < want.start);
        let to = sorted.partition_point(|at| self.row(*at).key < want.end);
        let range = sorted.get(from..to).unwrap_or_default();
        match want.direction {
            Direction::Forward => self.push_some(range.iter().copied(), want, age, out),
            Direction::Backward => self.push_some(range.iter().rev().copied(), want, age, out),
        }
    }

    fn collect_ordered(&self, want: &Want<'_>, order: &Order, age: u16, out: &mut Rows) -> Collected {
        let start = want.start.strip_prefix(want.id.name).unwrap_or_default();
        let end = want.end.strip_prefix(want.id.name);
        // One more than is wanted tells that there are more.
        let most = want.max_rows.saturating_add(1);
        let mut found: SmallVec<[RowAt; 32]> = SmallVec::new();
        order.rows.walk(start, end, want.direction, &mut |_, at| {
            found.extend(u32_at(at, 0).map(RowAt));
            found.len() < most
        });
        self.push_some(found.into_iter(), want, age, out)
    }

    /// Gives a group of few rows an ordered index; the bytes by which the table grew.
    #[cold]
    pub fn order_group(&mut self, id: GroupId<'_>) -> usize {
        let head = self.head(id);
        let (mut at, mut found) = (head, GroupRows::default());
        while at != RowAt::NONE {
            at = self.walk_group(id, at, &mut found);
        }
        self.adopt_order(id, found.in_order(), head)
    }

    /// Reads a part of the group's chain into `found`, from `at` on; where to go on.
    pub fn walk_group(&self, id: GroupId<'_>, mut at: RowAt, found: &mut GroupRows) -> RowAt {
        for _ in 0..WALK_STEP {
            if at == RowAt::NONE {
                break;
            }
            let row = self.row(at);
            if !row.is_dead && row.is_in(id.space, id.name) {
                found.push(row.key.get(id.name.len()..).unwrap_or_default(), at);
            }
            at = row.next;
        }
        at
    }

    /// Gives the group an ordered index; inserts maintain it from now on. `rows` was read from `head` on, which was
    /// the newest row then; what is newer is added here. The bytes by which the table grew.
    pub fn adopt_order(&mut self, id: GroupId<'_>, mut rows: Ordered, head: RowAt) -> usize {
        if self.is_ordered(id) {
            return 0;
        }
        let newer = self.chain(id).take_while(|(at, _)| *at != head);
        for (at, row) in newer {
            rows.set(row.key.get(id.name.len()..).unwrap_or_default(), Some(&at.0.to_be_bytes()));
        }
        let grown = rows.bytes();
        self.bytes += grown;
        let order = Order { hash: id.hash, space: id.space, name: id.name.into(), rows };
        self.orders.groups.insert_unique(within_shard(id.hash), order, |order| within_shard(order.hash));
        grown
    }

    pub fn is_ordered(&self, id: GroupId<'_>) -> bool {
        self.orders.find(id).is_some()
    }

    /// Takes the ordered index of a group away, if it has one, and the bytes by which the table shrank: whoever scans the
    /// group finds its rows elsewhere.
    pub fn take_order(&mut self, id: GroupId<'_>) -> (Option<impl Sized + use<>>, usize) {
        let found = self.orders.groups.find_entry(within_shard(id.hash), |order| order.is(id));
        let Ok(found) = found else { return (None, 0) };
        let (order, _) = found.remove();
        let bytes = order.rows.bytes();
        self.bytes -= bytes;
        (Some(order), bytes)
    }

    fn sorted_group(&self, id: GroupId<'_>) -> Option<Arc<[RowAt]>> {
        if !self.has_sorted.load(Ordering::Acquire) {
            return None;
        }
        self.sorted.lock().get(&(id.space, id.name.into())).cloned()
    }

    /// Sorts a group of a table that no longer changes.
    pub fn sort_group(&self, id: GroupId<'_>) {
        // Another scan may have sorted it meanwhile.
        let _turn = self.sorting.lock();
        if self.sorted.lock().contains_key(&(id.space, id.name.into())) {
            return;
        }
        let chain = self.chain(id);
        let mut rows: Vec<(u64, RowAt)> =
            chain.map(|(at, row)| (head_of(row.key.get(id.name.len()..).unwrap_or_default()), at)).collect();
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.row(a.1).key.cmp(self.row(b.1).key)));
        let rows = rows.into_iter().map(|(_, at)| at).collect();
        self.sorted.lock().insert((id.space, id.name.into()), rows);
        self.has_sorted.store(true, Ordering::Release);
    }
}

impl Table {
    fn push_some(
        &self,
        rows: impl Iterator<Item = RowAt> + Clone,
        want: &Want<'_>,
        age: u16,
        out: &mut Rows,
    ) -> Collected {
        let full = out.bytes() + want.max_bytes;
        let mut pushed = 0;
        let mut ahead = rows.clone().skip(PREFETCH_AHEAD);
        let mut rows = rows.peekable();
        while let Some(at) = rows.next() {
            // In the order of keys each row is far from the last one.
            if let Some(later) = ahead.next() {
                self.arena.prefetch(later);
            }
            let row = self.row(at);
            out.push(row.key, row.value, age);
            pushed += 1;
            if (pushed >= want.max_rows || out.bytes() >= full) && rows.peek().is_some() {
                return Collected::Some;
            }
        }
        Collected::All
    }
}
