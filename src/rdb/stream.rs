//! Streams: entries in listpacks, and consumer groups behind them.
//!
//! ```text
//! listpacks | (id of the first entry, 16 bytes | listpack) ...
//! entries | last id | [first id | greatest deleted id | entries ever added]
//! groups | (name | last id | [entries read] | pending | (id, 16 bytes | delivered_ms u64 | deliveries) ...
//!           | consumers | (name | seen_ms u64 | [active_ms u64] | pending | id ...) ...
//!           | [pending of nobody | id ...]) ...
//! [what is known of producers]
//!
//! listpack:  entries | deleted | fields | field ... | 0          these fields are what most entries have
//!            | (flags | ms | seq | [fields | field | value ...] or [value ...] | items) ...
//! ```
//!
//! What is in brackets was added over the years: the second form has all but active times, the third these, the fourth
//! producers, the fifth what nobody has. The ids of entries in a listpack are counted from that of its first one.

use super::encode::Place;
use super::packed::{Item, listpack};
use super::{Bad, Payload, Reader, Writer};
use crate::types::strings::Strings;

/// An id: milliseconds, and a number within them.
pub type Id = (u64, u64);

const DELETED: i64 = 1;
const SAME_FIELDS: i64 = 2;
/// In place of a number of entries that is not known, and of a time that never was.
const UNKNOWN: u64 = u64::MAX;

/// The forms by the numbers of their types, each with the first version that has it.
const OLDEST: (u8, u16) = (15, 9);
const FORMS: [(u8, u16); 3] = [OLDEST, (19, 10), (21, 11)];
const WITH_PENDING_OF_NOBODY: (u8, u16) = (27, 14);

/// Redis begins another listpack above these sizes.
const NODE_BYTES: usize = 4096;
const NODE_ENTRIES: usize = 100;
/// Fields that entries have in common stand in a listpack once. So many times as long as it is may the entries be together: a node of
/// Redis is nowhere near, and nobody makes much of little.
const MAX_GROWTH: usize = 256;
/// What Redis remembers of producers where nobody has said otherwise: for so many seconds, so many messages of each.
const PRODUCER_LIMITS: [u64; 2] = [100, 100];

/// What a stream has beside its entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    pub len: u64,
    pub last: Id,
    /// Of the first entry there is; 0 where there is none.
    pub first: Id,
    pub max_deleted: Id,
    pub added: u64,
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    pub name: Vec<u8>,
    pub last: Id,
    /// None where that is not known.
    pub read: Option<u64>,
    /// Whether older payloads leave [`Group::read`] to be found out.
    pub read_is_told: bool,
    /// By id.
    pub pending: Vec<Pending>,
    pub consumers: Vec<Consumer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    pub id: Id,
    pub delivered_ms: u64,
    pub deliveries: u64,
    /// Its place among the consumers; None: nobody has it.
    pub consumer: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consumer {
    pub name: Vec<u8>,
    pub seen_ms: u64,
    /// None: it was never given anything.
    pub active_ms: Option<u64>,
}

impl Payload<'_> {
    /// Shows the entries of a stream, each with its fields and values by turns, in the order of their ids. Then comes the rest.
    pub fn stream<E: From<Bad>>(
        &self,
        each: &mut dyn FnMut(Id, &Strings) -> Result<(), E>,
    ) -> Result<Tail, E> {
        let (age, mut body) = self.stream_parts()?;
        let (mut first_seen, mut before, mut count) = (None, None, 0u64);
        for _ in 0..body.len()? {
            let first = read_id(&body.string()?)?;
            let blob = body.string()?;
            each_entry(first, &blob, &mut |id, strings| {
                if before.is_some_and(|before| before >= id) {
                    return Err(Bad.into());
                }
                first_seen.get_or_insert(id);
                before = Some(id);
                count += 1;
                each(id, strings)
            })?;
        }
        let tail = read_tail(age, &mut body, count, before)?;
        Ok(Tail { first: first_seen.unwrap_or_default(), ..tail })
    }
}

fn read_id(bytes: &[u8]) -> Result<Id, Bad> {
    let mut bytes = Reader::new(bytes, bytes.len());
    let id = raw_id(&mut bytes)?;
    bytes.end()?;
    Ok(id)
}

fn raw_id(body: &mut Reader<'_>) -> Result<Id, Bad> {
    Ok((u64::from_be_bytes(body.array()?), u64::from_be_bytes(body.array()?)))
}

fn id(body: &mut Reader<'_>) -> Result<Id, Bad> {
    Ok((body.len()?, body.len()?))
}

/// The entries of one listpack.
fn each_entry<E: From<Bad>>(
    (ms, seq): Id,
    blob: &[u8],
    each: &mut dyn FnMut(Id, &Strings) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = listpack::Items::of(blob)?;
    let (live, deleted, fields) = (items.number()?, items.number()?, items.number()?);
    let mut common = Strings::default();
    for _ in 0..fields {
        push(&mut common, items.item_there()?);
    }
    if fields < 0 || items.number()? != 0 {
        return Err(Bad.into());
    }
    let mut strings = Strings::default();
    let (mut seen_live, mut seen_deleted, mut bytes) = (0, 0, 0);
    while let Some(flags) = items.next_item()? {
        let flags = flags.number().filter(|flags| flags & !(DELETED | SAME_FIELDS) == 0).ok_or(Bad)?;
        let (later_ms, later_seq) = (items.number()?, items.number()?);
        let id = (ms.wrapping_add_signed(later_ms), seq.wrapping_add_signed(later_seq));
        strings.clear();
        let mut used = 3;
        if flags & SAME_FIELDS != 0 {
            for field in common.iter() {
                strings.push(field);
                push(&mut strings, items.item_there()?);
                used += 1;
            }
        } else {
            let pairs = items.number()?;
            if pairs < 0 {
                return Err(Bad.into());
            }
            used += 1;
            for _ in 0..pairs {
                push(&mut strings, items.item_there()?);
                push(&mut strings, items.item_there()?);
                used += 2;
            }
        }
        bytes += strings.bytes();
        let fits = bytes <= blob.len().saturating_mul(MAX_GROWTH);
        if items.number()? != used || strings.is_empty() || !fits {
            return Err(Bad.into());
        }
        if flags & DELETED != 0 {
            seen_deleted += 1;
        } else {
            seen_live += 1;
            each(id, &strings)?;
        }
    }
    if (live, deleted) == (seen_live, seen_deleted) { Ok(()) } else { Err(Bad.into()) }
}

fn push(strings: &mut Strings, item: Item<'_>) {
    strings.push(item.bytes(&mut itoa::Buffer::new()));
}

/// What follows the entries, of which there were so many up to this one.
fn read_tail(age: u8, body: &mut Reader<'_>, count: u64, greatest: Option<Id>) -> Result<Tail, Bad> {
    let (len, last) = (body.len()?, id(body)?);
    let (max_deleted, added) = if age >= 2 {
        // Where the first entry is was seen.
        id(body)?;
        (id(body)?, body.len()?)
    } else {
        ((0, 0), len)
    };
    if len != count || greatest.is_some_and(|greatest| greatest > last) {
        return Err(Bad);
    }
    let mut groups: Vec<Group> = Vec::new();
    for _ in 0..body.len()? {
        groups.push(read_group(age, body)?);
    }
    let mut names: Vec<&[u8]> = groups.iter().map(|group| group.name.as_slice()).collect();
    distinct(&mut names)?;
    if age >= 4 {
        skip_producers(body)?;
    }
    body.end()?;
    Ok(Tail { len, last, first: Id::default(), max_deleted, added, groups })
}

fn read_group(age: u8, body: &mut Reader<'_>) -> Result<Group, Bad> {
    let (name, last) = (body.string()?.into_owned(), id(body)?);
    let read = if age >= 2 { Some(body.len()?).filter(|read| *read != UNKNOWN) } else { None };
    let mut pending = Vec::new();
    for _ in 0..body.len()? {
        let (id, delivered_ms, deliveries) = (raw_id(body)?, body.u64()?, body.len()?);
        pending.push(Pending {
            id,
            delivered_ms: time(delivered_ms).unwrap_or(0),
            deliveries,
            consumer: None,
        });
    }
    pending.sort_unstable_by_key(|pending| pending.id);
    if pending.is_sorted_by(|a, b| a.id < b.id) {
        let mut group = Group { name, last, read, read_is_told: age >= 2, pending, consumers: Vec::new() };
        read_consumers(age, body, &mut group)?;
        return Ok(group);
    }
    Err(Bad)
}

fn read_consumers(age: u8, body: &mut Reader<'_>, group: &mut Group) -> Result<(), Bad> {
    let mut owned = 0;
    for number in 0..body.len()? {
        let (name, seen_ms) = (body.string()?.into_owned(), time(body.u64()?).unwrap_or(0));
        let active_ms = if age >= 3 { time(body.u64()?) } else { Some(seen_ms) };
        group.consumers.push(Consumer { name, seen_ms, active_ms });
        for _ in 0..body.len()? {
            let entry = find(group, raw_id(body)?)?;
            if entry.consumer.replace(number as usize).is_some() {
                return Err(Bad);
            }
            owned += 1;
        }
    }
    let mut names: Vec<&[u8]> = group.consumers.iter().map(|consumer| consumer.name.as_slice()).collect();
    distinct(&mut names)?;
    let mut of_nobody = Vec::new();
    if age >= 5 {
        for _ in 0..body.len()? {
            let id = raw_id(body)?;
            if find(group, id)?.consumer.is_some() {
                return Err(Bad);
            }
            of_nobody.push(id);
        }
        distinct(&mut of_nobody)?;
    }
    // Somebody has each of them, or it is said that nobody has.
    if owned + of_nobody.len() == group.pending.len() { Ok(()) } else { Err(Bad) }
}

fn find(group: &mut Group, id: Id) -> Result<&mut Pending, Bad> {
    let place = group.pending.binary_search_by_key(&id, |pending| pending.id).map_err(|_| Bad)?;
    group.pending.get_mut(place).ok_or(Bad)
}

/// None where it never was.
fn time(ms: u64) -> Option<u64> {
    (ms <= i64::MAX.cast_unsigned()).then_some(ms)
}

fn distinct<T: Ord>(names: &mut [T]) -> Result<(), Bad> {
    names.sort_unstable();
    if names.is_sorted_by(|a, b| a < b) { Ok(()) } else { Err(Bad) }
}

/// Which messages producers have sent is not kept here.
fn skip_producers(body: &mut Reader<'_>) -> Result<(), Bad> {
    let (_, _) = (body.len()?, body.len()?);
    for _ in 0..body.len()? {
        body.string()?;
        for _ in 0..body.len()? {
            body.string()?;
            id(body)?;
        }
    }
    let (_, _) = (body.len()?, body.len()?);
    Ok(())
}

/// Entries on their way into listpacks. The type is written with the first of them, so what is behind them is known before.
pub struct Entries<'w> {
    out: &'w mut Writer,
    age: u8,
    place: Place,
    listpacks: u64,
    /// What the next listpack is made of: ids with the number of their strings, and these.
    ids: Vec<(Id, usize)>,
    strings: Strings,
}

impl<'w> Entries<'w> {
    pub fn begin(out: &'w mut Writer, tail: &Tail) -> Entries<'w> {
        let mut all_pending = tail.groups.iter().flat_map(|group| &group.pending);
        let age = if all_pending.any(|pending| pending.consumer.is_none()) {
            let (number, version) = WITH_PENDING_OF_NOBODY;
            out.replace_version(version);
            out.u8(number);
            5
        } else {
            let known = FORMS.iter().rposition(|(_, version)| *version <= out.version()).unwrap_or(0);
            let (number, version) = FORMS.get(known).copied().unwrap_or(OLDEST);
            out.need(version);
            out.u8(number);
            known as u8 + 1
        };
        let place = out.place();
        Entries { out, age, place, listpacks: 0, ids: Vec::new(), strings: Strings::default() }
    }

    /// How long the payload is by now.
    pub fn len(&self) -> usize {
        self.out.len() + self.strings.bytes()
    }

    pub fn is_empty(&self) -> bool {
        self.listpacks == 0 && self.ids.is_empty()
    }

    /// Adds an entry with its fields and values by turns. Its id is greater than the last one's.
    pub fn push<'a>(&mut self, id: Id, strings: impl ExactSizeIterator<Item = &'a [u8]>) {
        if self.ids.len() >= NODE_ENTRIES || self.strings.bytes() >= NODE_BYTES {
            self.flush();
        }
        self.ids.push((id, strings.len()));
        strings.for_each(|string| self.strings.push(string));
    }

    fn flush(&mut self) {
        let Some(((ms, seq), first_len)) = self.ids.first().copied() else { return };
        let mut items = listpack::Writer::default();
        items.push_number(self.ids.len() as i64);
        items.push_number(0);
        items.push_number(first_len as i64 / 2);
        let fields =
            |begin: usize, len: usize| (begin..begin + len).step_by(2).map(|at| self.strings.get(at));
        fields(0, first_len).for_each(|field| items.push(field));
        items.push_number(0);
        let mut begin = 0;
        for ((entry_ms, entry_seq), len) in &self.ids {
            let is_same = *len == first_len && fields(begin, *len).eq(fields(0, first_len));
            items.push_number(if is_same { SAME_FIELDS } else { 0 });
            items.push_number(entry_ms.wrapping_sub(ms).cast_signed());
            items.push_number(entry_seq.wrapping_sub(seq).cast_signed());
            if is_same {
                (begin..begin + len).skip(1).step_by(2).for_each(|at| items.push(self.strings.get(at)));
                items.push_number(*len as i64 / 2 + 3);
            } else {
                items.push_number(*len as i64 / 2);
                (begin..begin + len).for_each(|at| items.push(self.strings.get(at)));
                items.push_number(*len as i64 + 4);
            }
            begin += len;
        }
        self.out.string(&[ms.to_be_bytes(), seq.to_be_bytes()].concat());
        self.out.listpack(items);
        self.listpacks += 1;
        self.ids.clear();
        self.strings.clear();
    }

    /// Puts what is behind the entries.
    pub fn finish(mut self, tail: &Tail) {
        self.flush();
        let Entries { out, age, place, listpacks, .. } = self;
        out.fill(place, listpacks);
        out.number(tail.len);
        put_id(out, tail.last);
        if age >= 2 {
            put_id(out, tail.first);
            put_id(out, tail.max_deleted);
            out.number(tail.added);
        }
        out.number(tail.groups.len() as u64);
        tail.groups.iter().for_each(|group| put_group(out, age, group));
        if age >= 4 {
            PRODUCER_LIMITS.into_iter().chain([0, 0, 0]).for_each(|number| out.number(number));
        }
    }
}

fn put_id(out: &mut Writer, (ms, seq): Id) {
    out.number(ms);
    out.number(seq);
}

fn put_raw_id(out: &mut Writer, (ms, seq): Id) {
    out.bytes(&ms.to_be_bytes());
    out.bytes(&seq.to_be_bytes());
}

fn put_group(out: &mut Writer, age: u8, group: &Group) {
    out.string(&group.name);
    put_id(out, group.last);
    if age >= 2 {
        out.number(group.read.unwrap_or(UNKNOWN));
    }
    out.number(group.pending.len() as u64);
    // What nobody has comes behind what consumers have.
    let mut owned: Vec<Vec<Id>> = vec![Vec::new(); group.consumers.len() + 1];
    for pending in &group.pending {
        put_raw_id(out, pending.id);
        out.u64(pending.delivered_ms);
        out.number(pending.deliveries);
        if let Some(ids) = owned.get_mut(pending.consumer.unwrap_or(group.consumers.len())) {
            ids.push(pending.id);
        }
    }
    let of_nobody = owned.pop().unwrap_or_default();
    let put_ids = |out: &mut Writer, ids: &[Id]| {
        out.number(ids.len() as u64);
        ids.iter().for_each(|id| put_raw_id(out, *id));
    };
    out.number(group.consumers.len() as u64);
    for (consumer, ids) in group.consumers.iter().zip(owned) {
        out.string(&consumer.name);
        out.u64(consumer.seen_ms);
        if age >= 3 {
            out.u64(consumer.active_ms.unwrap_or(UNKNOWN));
        }
        put_ids(out, &ids);
    }
    if age >= 5 {
        put_ids(out, &of_nobody);
    }
}
