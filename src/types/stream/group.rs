//! Consumer groups: who was given which entries.
//!
//! A group has rows under a version of its own: its consumers, and its pending entries three times, by their ids, by the
//! consumers that have them and by the times of their delivery. It ends when the row that names that version goes, whatever it holds.

use std::collections::BTreeMap;

use tarn_engine::Direction;

use super::Stream;
use crate::encoding::rows::{RowKey, collection_end};
use crate::encoding::stream::{
    self as rows, ConsumerState, GROUPS, GroupState, Id, Pending, consumer_row, delivered_row, group_row,
    name_row, owned_row, owner_row, pending_row, read_number,
};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::garbage::Dead;
use crate::keyspace::{Effect, Env, View, WriteCx, entry};
use crate::types::collection::Walk;

/// Pending entries of a consumer whose rows are deleted in one commit, which is held in memory. If there are more, the group is
/// written anew without them, in batches.
pub const MAX_DELETED: u64 = 50_000;

/// A consumer group of a stream that was opened.
#[derive(Debug)]
pub struct Group<'n> {
    name: &'n [u8],
    pub state: GroupState,
    stored: Option<GroupState>,
    /// What its rows begin with.
    prefix: RowKey,
    /// Consumers that were looked at, by their numbers.
    consumers: BTreeMap<u64, Consumer>,
}

#[derive(Debug, Clone)]
pub struct Consumer {
    pub name: Box<[u8]>,
    pub state: ConsumerState,
    changed: bool,
}

/// The groups of a stream.
impl Stream<'_> {
    pub fn group<'n>(&self, cx: &mut impl View, name: &'n [u8]) -> Result<Option<Group<'n>>> {
        if self.state.groups == 0 {
            return Ok(None);
        }
        let row = group_row(self.rows.prefix(), name);
        let Some(state) = read(cx, &row, GroupState::decode)? else { return Ok(None) };
        Ok(Some(self.group_of(name, state)))
    }

    fn group_of<'n>(&self, name: &'n [u8], state: GroupState) -> Group<'n> {
        let prefix = entry::element_prefix(&self.rows.entry, state.version);
        Group { name, state, stored: Some(state), prefix, consumers: BTreeMap::new() }
    }

    /// All of them, by their names.
    pub fn groups(&self, cx: &impl View) -> Result<Vec<(Vec<u8>, GroupState)>> {
        let (start, end) = rows::groups(self.rows.prefix());
        let mut walk = Walk::over(GROUPS, start.len(), start, end, Direction::Forward);
        let mut groups = Vec::new();
        while let Some(element) = walk.next(cx)? {
            groups.push((element.sub.to_vec(), GroupState::decode(element.value)?));
        }
        Ok(groups)
    }

    /// A group that [`Stream::groups`] has shown.
    pub fn open_group<'n>(&self, name: &'n [u8], state: GroupState) -> Group<'n> {
        self.group_of(name, state)
    }

    /// Makes a group; false where there is one of that name. The stream is to be saved.
    pub fn create_group(
        &mut self,
        cx: &mut WriteCx<'_>,
        name: &[u8],
        last: Id,
        read: Option<u64>,
    ) -> Result<bool> {
        if self.group(cx, name)?.is_some() {
            return Ok(false);
        }
        let version = cx.new_version()?;
        let state = GroupState { version, last, read, ..GroupState::default() };
        cx.put(GROUPS, &group_row(self.rows.prefix(), name), &[&state.encode()]);
        cx.put(GROUPS, &owner_row(self.rows.prefix(), version), &[]);
        self.state.groups += 1;
        Ok(true)
    }

    /// Removes a group; false where there is none of that name. The stream is to be saved.
    pub fn destroy_group(&mut self, cx: &mut WriteCx<'_>, name: &[u8]) -> Result<bool> {
        let Some(group) = self.group(cx, name)? else { return Ok(false) };
        cx.delete(GROUPS, &group_row(self.rows.prefix(), name));
        self.disown(cx, &group.state);
        self.state.groups = self.state.groups.saturating_sub(1);
        Ok(true)
    }

    /// The rows of a group are garbage.
    fn disown(&self, cx: &mut WriteCx<'_>, state: &GroupState) {
        cx.delete(GROUPS, &owner_row(self.rows.prefix(), state.version));
        let rows = state.pending.saturating_mul(3).saturating_add(state.consumers.saturating_mul(2));
        let dead = Dead::of_owned(&cx.env, &self.rows.entry, state.version, rows);
        cx.effects.list.push(Effect::Dead(dead));
    }

    /// Puts what has changed of a group.
    pub fn save_group(&self, cx: &mut WriteCx<'_>, group: &mut Group<'_>) {
        for (number, consumer) in group.consumers.iter_mut().filter(|(_, consumer)| consumer.changed) {
            consumer.changed = false;
            let row = consumer_row(&group.prefix, *number);
            cx.put(GROUPS, &row, &[&consumer.state.encode(), &consumer.name]);
        }
        if group.stored != Some(group.state) {
            cx.put(GROUPS, &group_row(self.rows.prefix(), group.name), &[&group.state.encode()]);
            group.stored = Some(group.state);
        }
    }

    /// Removes a consumer and what it has pending; how much that was. The group is to be saved.
    pub fn delete_consumer(
        &self,
        cx: &mut WriteCx<'_>,
        group: &mut Group<'_>,
        name: &[u8],
    ) -> Result<Option<u64>> {
        let Some(number) = group.find_consumer(cx, name)? else { return Ok(None) };
        let pending = group.consumer(cx, number)?.state.pending;
        cx.env.move_if_heavy(usize::try_from(pending).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
        group.consumers.remove(&number);
        if pending > MAX_DELETED {
            self.rebuild_without(cx, group, number, name)?;
        } else {
            let mut walk = group.owned(number, Id::MIN, Id::MAX);
            while let Some(element) = walk.next(cx)? {
                let id = Id::decode(element.sub)?;
                let pending = group.pending(cx, id)?.ok_or(MISSING)?;
                cx.delete(GROUPS, &pending_row(&group.prefix, id));
                cx.delete(GROUPS, &owned_row(&group.prefix, number, id));
                cx.delete(GROUPS, &delivered_row(&group.prefix, pending.delivered_ms, id));
            }
            cx.delete(GROUPS, &name_row(&group.prefix, name));
            cx.delete(GROUPS, &consumer_row(&group.prefix, number));
        }
        group.state.pending = group.state.pending.saturating_sub(pending);
        group.state.consumers = group.state.consumers.saturating_sub(1);
        Ok(Some(pending))
    }

    /// Puts all rows of a group but those of a consumer into a new version.
    fn rebuild_without(
        &self,
        cx: &mut WriteCx<'_>,
        group: &mut Group<'_>,
        number: u64,
        name: &[u8],
    ) -> Result<()> {
        let mut build = Builder::begin(&cx.env, group.state.pending.saturating_mul(3))?;
        let version = cx.new_version()?;
        let prefix = entry::element_prefix(&self.rows.entry, version);
        let behind = |row: RowKey| row.get(group.prefix.len()..).unwrap_or_default().to_vec();
        let (its_name, its_row) =
            (behind(name_row(&group.prefix, name)), behind(consumer_row(&group.prefix, number)));
        let its_entries = behind(rows::owned_prefix(&group.prefix, number));
        let pending = behind(rows::pending_prefix(&group.prefix));
        let delivered = behind(rows::delivered_prefix(&group.prefix));
        let mut row = prefix.clone();
        let mut walk = group.all_rows().whole();
        while let Some(element) = walk.next(cx)? {
            // What is by time is written with what is by id.
            if element.sub == its_name
                || element.sub == its_row
                || element.sub.starts_with(&its_entries)
                || element.sub.starts_with(&delivered)
            {
                continue;
            }
            if let Some(id) = element.sub.strip_prefix(pending.as_slice()) {
                let entry = Pending::decode(element.value)?;
                if entry.consumer == number {
                    continue;
                }
                let by_time = delivered_row(&prefix, entry.delivered_ms, Id::decode(id)?);
                build.put(cx, GROUPS, &by_time, &[])?;
            }
            row.truncate(prefix.len());
            row.extend_from_slice(element.sub);
            build.put(cx, GROUPS, &row, &[element.value])?;
        }
        build.finish(cx)?;
        self.disown(cx, &group.state);
        cx.put(GROUPS, &owner_row(self.rows.prefix(), version), &[]);
        group.state.version = version;
        group.prefix = prefix;
        Ok(())
    }
}

/// Consumers.
impl Group<'_> {
    /// The number of a consumer.
    pub fn find_consumer(&self, cx: &mut impl View, name: &[u8]) -> Result<Option<u64>> {
        read(cx, &name_row(&self.prefix, name), read_number)
    }

    /// The name of the consumer that has a pending entry; an empty one where none has.
    pub fn owner(&mut self, cx: &mut impl View, pending: &Pending) -> Result<&[u8]> {
        if pending.consumer == NOBODY { Ok(&[]) } else { Ok(&self.consumer(cx, pending.consumer)?.name) }
    }

    /// What is known of a consumer by its number.
    pub fn consumer(&mut self, cx: &mut impl View, number: u64) -> Result<&mut Consumer> {
        if !self.consumers.contains_key(&number) {
            let row = consumer_row(&self.prefix, number);
            let found = read(cx, &row, |value| {
                let (state, name) = ConsumerState::decode(value)?;
                Ok(Consumer { name: name.into(), state, changed: false })
            })?;
            self.consumers.insert(number, found.ok_or(MISSING)?);
        }
        self.consumers.get_mut(&number).ok_or_else(|| MISSING.into())
    }

    /// Makes a consumer that is not there; its number. The group is to be saved.
    pub fn create_consumer(&mut self, cx: &mut WriteCx<'_>, name: &[u8]) -> u64 {
        self.state.last_consumer += 1;
        self.state.consumers += 1;
        let number = self.state.last_consumer;
        cx.put(GROUPS, &name_row(&self.prefix, name), &[&number.to_be_bytes()]);
        let state = ConsumerState { seen_ms: cx.env.now_ms, ..ConsumerState::default() };
        self.consumers.insert(number, Consumer { name: name.into(), state, changed: true });
        number
    }

    /// Numbers of all consumers, by their names.
    pub fn numbers(&self, cx: &impl View) -> Result<Vec<u64>> {
        let (start, end) = rows::names(&self.prefix);
        let mut walk = Walk::over(GROUPS, start.len(), start, end, Direction::Forward);
        let mut numbers = Vec::new();
        while let Some(element) = walk.next(cx)? {
            numbers.push(read_number(element.value)?);
        }
        Ok(numbers)
    }
}

impl Consumer {
    /// It has asked for something.
    pub fn see(&mut self, now_ms: u64) {
        self.changed |= self.state.seen_ms != now_ms;
        self.state.seen_ms = now_ms;
    }

    /// It was given something.
    pub fn activate(&mut self, now_ms: u64) {
        self.changed |= self.state.active_ms != now_ms;
        self.state.active_ms = now_ms;
    }
}

/// Pending entries.
impl Group<'_> {
    pub fn pending(&self, cx: &mut impl View, id: Id) -> Result<Option<Pending>> {
        // What is new is not looked for.
        if self.state.pending == 0 || id > self.state.greatest {
            return Ok(None);
        }
        read(cx, &pending_row(&self.prefix, id), Pending::decode)
    }

    /// Pending entries from one id to another, both included, in steps: ids and [`Pending`] values.
    pub fn walk_pending(&self, first: Id, last: Id) -> Walk {
        self.walk(rows::pending_prefix(&self.prefix), first, last)
    }

    /// As [`Group::walk_pending`], of one consumer: ids only.
    pub fn owned(&self, number: u64, first: Id, last: Id) -> Walk {
        self.walk(rows::owned_prefix(&self.prefix, number), first, last)
    }

    fn walk(&self, prefix: RowKey, first: Id, last: Id) -> Walk {
        let (mut start, mut end) = (prefix.clone(), prefix.clone());
        start.extend_from_slice(&first.encode());
        end.extend_from_slice(&last.encode());
        // The least key behind the last one.
        end.push(0);
        Walk::over(GROUPS, prefix.len(), start, end, Direction::Forward)
    }

    /// Pending entries that were delivered last at this time or before, the earliest first: what
    /// [`crate::encoding::stream::read_delivered`] reads.
    pub fn walk_delivered(&self, last_ms: u64) -> Walk {
        let start = rows::delivered_prefix(&self.prefix);
        let mut end = delivered_row(&self.prefix, last_ms, Id::MAX);
        // The least key behind the last one.
        end.push(0);
        Walk::over(GROUPS, start.len(), start, end, Direction::Forward)
    }

    /// When the entry was delivered that was pending longest.
    pub fn first_delivered_ms(&self, cx: &impl View) -> Result<Option<u64>> {
        let mut walk = self.walk_delivered(u64::MAX);
        let first = walk.next(cx)?.map(|element| rows::read_delivered(element.sub)).transpose()?;
        Ok(first.map(|(delivered_ms, _)| delivered_ms))
    }

    /// The first and the last pending entry.
    pub fn pending_ends(&self, cx: &impl View) -> Result<Option<(Id, Id)>> {
        let prefix = rows::pending_prefix(&self.prefix);
        let mut end = prefix.clone();
        end.extend_from_slice(&Id::MAX.encode());
        end.push(0);
        let edge = |direction| {
            let mut walk = Walk::over(GROUPS, prefix.len(), prefix.clone(), end.clone(), direction);
            walk.next(cx)?.map(|element| Id::decode(element.sub)).transpose().map_err(Into::into)
        };
        let first: Result<Option<Id>> = edge(Direction::Forward);
        Ok(first?.zip(edge(Direction::Backward)?))
    }

    fn all_rows(&self) -> Walk {
        let (start, end) = (self.prefix.clone(), collection_end(&self.prefix));
        Walk::over(GROUPS, start.len(), start, end, Direction::Forward)
    }

    /// An entry is pending as `after` says. The group is to be saved.
    pub fn assign(
        &mut self,
        cx: &mut WriteCx<'_>,
        id: Id,
        before: Option<Pending>,
        after: Pending,
    ) -> Result<()> {
        cx.put(GROUPS, &pending_row(&self.prefix, id), &[&after.encode()]);
        if before.is_none_or(|before| before.delivered_ms != after.delivered_ms) {
            cx.put(GROUPS, &delivered_row(&self.prefix, after.delivered_ms, id), &[]);
        }
        match before {
            None => {
                self.state.pending += 1;
                self.state.greatest = self.state.greatest.max(id);
            }
            Some(before) => {
                if before.delivered_ms != after.delivered_ms {
                    cx.delete(GROUPS, &delivered_row(&self.prefix, before.delivered_ms, id));
                }
                if before.consumer == after.consumer {
                    return Ok(());
                }
                self.take_from(cx, id, before.consumer)?;
            }
        }
        if after.consumer != NOBODY {
            cx.put(GROUPS, &owned_row(&self.prefix, after.consumer, id), &[]);
            let consumer = self.consumer(cx, after.consumer)?;
            consumer.state.pending += 1;
            consumer.changed = true;
        }
        Ok(())
    }

    /// An entry is not pending any more. The group is to be saved.
    pub fn release(&mut self, cx: &mut WriteCx<'_>, id: Id, pending: Pending) -> Result<()> {
        cx.delete(GROUPS, &pending_row(&self.prefix, id));
        cx.delete(GROUPS, &delivered_row(&self.prefix, pending.delivered_ms, id));
        self.state.pending = self.state.pending.saturating_sub(1);
        self.take_from(cx, id, pending.consumer)
    }

    fn take_from(&mut self, cx: &mut WriteCx<'_>, id: Id, number: u64) -> Result<()> {
        if number == NOBODY {
            return Ok(());
        }
        cx.delete(GROUPS, &owned_row(&self.prefix, number, id));
        let consumer = self.consumer(cx, number)?;
        consumer.state.pending = consumer.state.pending.saturating_sub(1);
        consumer.changed = true;
        Ok(())
    }
}

/// In place of the number of a consumer, where none has a pending entry.
pub const NOBODY: u64 = 0;

const MISSING: Error = Error::Damaged("a consumer of a group");

/// Reads a row of a group.
pub(super) fn read<T>(
    cx: &mut impl View,
    row: &[u8],
    decode: impl FnOnce(&[u8]) -> Result<T, crate::encoding::Malformed>,
) -> Result<Option<T>> {
    let mark = cx.arena().len();
    let found = cx.get(GROUPS, row)?;
    let decoded = found.map(|span| decode(cx.bytes(span))).transpose()?;
    cx.arena().truncate(mark);
    Ok(decoded)
}
