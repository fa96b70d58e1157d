//! A stream as a payload, with its groups and what these have pending.

use std::collections::BTreeMap;

use tarn_engine::Direction;

use super::{Group, Id, Ids, KIND, NOBODY, Stream};
use crate::encoding::DATA;
use crate::encoding::rows::RowKey;
use crate::encoding::stream::{
    self as rows, ConsumerState, GROUPS, GroupState, Pending, State, Strings, encode_entry,
};
use crate::error::{Error, Result};
use crate::keyspace::build::Builder;
use crate::keyspace::{Entry, Env, ReadCx, WriteCx, entry};
use crate::rdb::{Payload, Shape, Writer, stream as rdb};
use crate::types::collection::Collection;
use crate::types::dump::{Checked, Dump, room};

pub const DUMP: Dump = Dump { kind: KIND, shape: Shape::Stream, dump, check, restore };

/// What a pending entry is in a payload, about.
const PENDING_LEN: u64 = 48;

fn dump(cx: &mut ReadCx<'_>, found: &Entry<'_>, out: &mut Writer) -> Result<()> {
    let stream = Stream::of_entry(cx, found.clone())?.ok_or(Error::NoSuchKey)?;
    let groups = stream.groups(cx)?;
    let pending = groups.iter().map(|(_, group)| group.pending).fold(0, u64::saturating_add);
    let elements = stream.len().saturating_add(pending);
    cx.env.move_if_heavy(usize::try_from(elements).unwrap_or(usize::MAX), Env::IO_THREAD_MAX_ROWS)?;
    room(&cx.env, usize::try_from(pending.saturating_mul(PENDING_LEN)).unwrap_or(usize::MAX))?;
    let state = &stream.state;
    let mut tail = rdb::Tail {
        len: stream.len(),
        last: pair(state.last),
        first: pair(state.first),
        max_deleted: pair(state.max_deleted),
        added: state.added,
        groups: Vec::new(),
    };
    for (name, state) in &groups {
        tail.groups.push(read_group(cx, stream.open_group(name, *state), name)?);
    }
    let mut entries = rdb::Entries::begin(out, &tail);
    if let Some(walk) = stream.walk(Ids { first: Id::MIN, last: Id::MAX }, Direction::Forward) {
        let mut walk = walk.whole();
        while let Some(element) = walk.next(cx)? {
            entries.push(pair(Id::decode(element.sub)?), Strings::of(element.value)?);
            room(&cx.env, entries.len())?;
        }
    }
    entries.finish(&tail);
    room(&cx.env, out.len())
}

fn read_group(cx: &mut ReadCx<'_>, mut group: Group<'_>, name: &[u8]) -> Result<rdb::Group> {
    let mut found = rdb::Group {
        name: name.to_vec(),
        last: pair(group.state.last),
        read: group.state.read,
        ..rdb::Group::default()
    };
    let mut places = BTreeMap::new();
    for number in group.numbers(cx)? {
        let consumer = group.consumer(cx, number)?;
        let ConsumerState { seen_ms, active_ms, .. } = consumer.state;
        places.insert(number, found.consumers.len());
        found.consumers.push(rdb::Consumer {
            name: consumer.name.to_vec(),
            seen_ms,
            active_ms: (active_ms != 0).then_some(active_ms),
        });
    }
    let mut walk = group.walk_pending(Id::MIN, Id::MAX).whole();
    while let Some(element) = walk.next(cx)? {
        let Pending { consumer, delivered_ms, deliveries } = Pending::decode(element.value)?;
        let place = match consumer {
            NOBODY => None,
            number => Some(*places.get(&number).ok_or(Error::Damaged("a consumer of a group"))?),
        };
        let id = pair(Id::decode(element.sub)?);
        found.pending.push(rdb::Pending { id, delivered_ms, deliveries, consumer: place });
    }
    Ok(found)
}

fn check(env: &Env<'_>, payload: &Payload<'_>) -> Result<u64> {
    let mut bytes = 0;
    let tail = payload.stream(&mut |_, strings| {
        bytes += strings.bytes();
        env.move_if_heavy(bytes, Env::IO_THREAD_MAX_BYTES)
    })?;
    let pending = tail.groups.iter().map(|group| group.pending.len() as u64 * 3);
    Ok(pending.fold(tail.len, u64::saturating_add))
}

fn restore<'a>(cx: &mut WriteCx<'a>, to: &Entry<'_>, from: &Checked<'_>, expire_at_ms: u64) -> Result<()> {
    let mut build: Builder<'a> = Builder::begin(&cx.env, from.elements)?;
    let mut all = Collection::create(cx, to.clone(), KIND)?;
    let tail = from.payload.stream(&mut |id, strings| {
        let value = encode_entry(strings.iter());
        build.put(cx, DATA, all.sub_row(&id_of(id).encode()), &[&value])
    })?;
    let state = State {
        last: id_of(tail.last),
        max_deleted: id_of(tail.max_deleted),
        first: id_of(tail.first),
        added: tail.added,
        groups: tail.groups.len() as u64,
    };
    all.resize(tail.len);
    all.set_own(&state.encode());
    let stream = Stream { rows: all, state, producers: None, first_is_gone: false };
    for group in &tail.groups {
        put_group(cx, &mut build, &stream, group)?;
    }
    build.finish(cx)?;
    let mut all = stream.rows;
    all.save_with_expiry(cx, expire_at_ms)
}

fn put_group<'a>(
    cx: &mut WriteCx<'a>,
    build: &mut Builder<'a>,
    stream: &Stream<'_>,
    group: &rdb::Group,
) -> Result<()> {
    let version = cx.new_version()?;
    let prefix: RowKey = entry::element_prefix(&stream.rows.entry, version);
    // Consumers are numbered from 1 on.
    let number_of = |place: usize| place as u64 + 1;
    let mut owned = vec![0; group.consumers.len()];
    for pending in &group.pending {
        let id = id_of(pending.id);
        let consumer = match pending.consumer {
            Some(place) => {
                owned.get_mut(place).into_iter().for_each(|count| *count += 1);
                build.put(cx, GROUPS, &rows::owned_row(&prefix, number_of(place), id), &[])?;
                number_of(place)
            }
            None => NOBODY,
        };
        let rdb::Pending { delivered_ms, deliveries, .. } = *pending;
        let row = Pending { consumer, delivered_ms, deliveries };
        build.put(cx, GROUPS, &rows::pending_row(&prefix, id), &[&row.encode()])?;
        build.put(cx, GROUPS, &rows::delivered_row(&prefix, delivered_ms, id), &[])?;
    }
    for (place, (consumer, pending)) in group.consumers.iter().zip(owned).enumerate() {
        let number = number_of(place);
        build.put(cx, GROUPS, &rows::name_row(&prefix, &consumer.name), &[&number.to_be_bytes()])?;
        let state =
            ConsumerState { seen_ms: consumer.seen_ms, active_ms: consumer.active_ms.unwrap_or(0), pending };
        build.put(cx, GROUPS, &rows::consumer_row(&prefix, number), &[&state.encode(), &consumer.name])?;
    }
    let last = id_of(group.last);
    let state = GroupState {
        version,
        last,
        read: if group.read_is_told { group.read } else { stream.added_up_to(last) },
        pending: group.pending.len() as u64,
        consumers: group.consumers.len() as u64,
        last_consumer: group.consumers.len() as u64,
        greatest: group.pending.last().map_or(Id::MIN, |pending| id_of(pending.id)),
    };
    build.put(cx, GROUPS, &rows::group_row(stream.rows.prefix(), &group.name), &[&state.encode()])?;
    build.put(cx, GROUPS, &rows::owner_row(stream.rows.prefix(), version), &[])
}

fn pair(id: Id) -> rdb::Id {
    (id.ms, id.seq)
}

fn id_of((ms, seq): rdb::Id) -> Id {
    Id::new(ms, seq)
}
