//! What a hash is: fields with values, each in a row of its own.

use std::ops::ControlFlow;

use super::collection::{self, Collection, Element, page, random};
use crate::encoding::Malformed;
use crate::encoding::hash::{self, PLAIN};
use crate::encoding::meta::Kind;
use crate::error::{Error, Result};
use crate::keyspace::{Env, Event, View, WriteCx, draws};
use crate::number;
use crate::number::extended::{self, Extended};
use crate::reply::Span;

/// Shows a field and its value.
pub type Visit<'v> = &'v mut dyn FnMut(&[u8], &[u8]);

/// The hash that a key holds, for reading.
pub fn find<'k>(cx: &mut impl View, key: &'k [u8]) -> Result<Option<Collection<'k>>> {
    Collection::find(cx, key, Kind::Hash)
}

/// Sets fields and returns how many of them are new.
pub fn set<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    pairs: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<u64> {
    cx.env.light_or_offload(pairs.len(), Env::LIGHT_ROWS)?;
    let mut all = Collection::open_or_create(cx, key, Kind::Hash)?;
    let before = all.size();
    for (field, value) in pairs {
        put(cx, &mut all, field, value)?;
    }
    all.save(cx)?;
    Ok(all.size() - before)
}

/// Sets a field unless it is there; whether it was set.
pub fn set_new(cx: &mut WriteCx<'_>, key: &[u8], field: &[u8], value: &[u8]) -> Result<bool> {
    let mut all = Collection::open_or_create(cx, key, Kind::Hash)?;
    if all.has(cx, field)? {
        return Ok(false);
    }
    note_lengths(&cx.env, &mut all, field, value);
    all.put_known(cx, field, &[PLAIN, value], true);
    all.save(cx)?;
    Ok(true)
}

fn put(cx: &mut WriteCx<'_>, all: &mut Collection<'_>, field: &[u8], value: &[u8]) -> Result<bool> {
    note_lengths(&cx.env, all, field, value);
    all.put(cx, field, &[PLAIN, value])
}

/// Redis leaves its compact form for a long field or value.
fn note_lengths(env: &Env<'_>, all: &mut Collection<'_>, field: &[u8], value: &[u8]) {
    if field.len().max(value.len()) > env.limits.hash_value_len {
        all.grow();
    }
}

/// Deletes fields and returns how many were there.
pub fn delete<'a>(
    cx: &mut WriteCx<'_>,
    key: &[u8],
    fields: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Result<u64> {
    let mut deleted = Vec::new();
    let are_told = cx.tells_fields(Event::HDEL);
    let count = collection::delete_each(cx, key, Kind::Hash, fields, &mut |field| {
        if are_told {
            deleted.push(field);
        }
    })?;
    if count > 0 {
        cx.notify_fields(Event::HDEL, key, deleted);
    }
    Ok(count)
}

/// A field's value, in the arena.
pub fn get(cx: &mut impl View, key: &[u8], field: &[u8]) -> Result<Option<Span>> {
    let Some(mut all) = find(cx, key)? else { return Ok(None) };
    value(cx, &mut all, field)
}

/// A field's value, in the arena, of a hash that is open.
pub fn value(cx: &mut impl View, all: &mut Collection<'_>, field: &[u8]) -> Result<Option<Span>> {
    let Some(row) = all.get(cx, field)? else { return Ok(None) };
    let (_, head_len) = hash::Head::decode(cx.bytes(row))?;
    Ok(Some(row.behind(head_len)))
}

/// Shows the value of each field, or that there is none, in order.
pub fn get_each<'a>(
    cx: &mut impl View,
    key: &[u8],
    fields: impl ExactSizeIterator<Item = &'a [u8]>,
    each: &mut dyn FnMut(Option<&[u8]>),
) -> Result<()> {
    cx.env().light_or_offload(fields.len(), Env::LIGHT_ROWS)?;
    let Some(mut all) = find(cx, key)? else {
        fields.for_each(|_| each(None));
        return Ok(());
    };
    let mut malformed = None;
    all.get_each(cx, fields, &mut |row| match row.map(hash::value).transpose() {
        Ok(value) => each(value),
        Err(bad) => malformed = Some(bad),
    })?;
    malformed.map_or(Ok(()), |bad| Err(bad.into()))
}

pub fn len(cx: &mut impl View, key: &[u8]) -> Result<u64> {
    Ok(find(cx, key)?.map_or(0, |all| all.size()))
}

/// Adds to the number that a field spells and returns the sum.
pub fn increment(cx: &mut WriteCx<'_>, key: &[u8], field: &[u8], by: i64) -> Result<i64> {
    let mut all = Collection::open_or_create(cx, key, Kind::Hash)?;
    let found = value(cx, &mut all, field)?;
    let before = match found {
        None => 0,
        Some(span) => {
            number::parse_i64(cx.bytes(span)).ok_or(Error::reply("ERR hash value is not an integer"))?
        }
    };
    let after = before.checked_add(by).ok_or(Error::reply("ERR increment or decrement would overflow"))?;
    replace(cx, all, field, itoa::Buffer::new().format(after).as_bytes(), found.is_none())?;
    Ok(after)
}

/// Adds to the floating point number that a field spells and returns the sum as it is spelt then.
pub fn increment_float(cx: &mut WriteCx<'_>, key: &[u8], field: &[u8], by: Extended) -> Result<Vec<u8>> {
    let mut all = Collection::open_or_create(cx, key, Kind::Hash)?;
    let found = value(cx, &mut all, field)?;
    let before = match found {
        None => Some(Extended::ZERO),
        Some(span) if span.len <= extended::MAX_TEXT_LEN => Extended::parse(cx.bytes(span)),
        Some(_) => None,
    };
    let before = before.ok_or(Error::reply("ERR hash value is not a float"))?;
    let sum = before.plus(by).map_err(|_| Error::reply("ERR increment would produce NaN or Infinity"))?;
    let text = sum.print();
    replace(cx, all, field, &text, found.is_none())?;
    Ok(text)
}

/// Puts a field that was just read.
fn replace(
    cx: &mut WriteCx<'_>,
    mut all: Collection<'_>,
    field: &[u8],
    value: &[u8],
    is_new: bool,
) -> Result<()> {
    note_lengths(&cx.env, &mut all, field, value);
    all.put_known(cx, field, &[PLAIN, value], is_new);
    all.save(cx)
}

/// Takes elements apart for [`Visit`]; what cannot be read is an error in the end.
struct Fields<'v> {
    visit: Visit<'v>,
    malformed: Option<Malformed>,
}

impl<'v> Fields<'v> {
    fn new(visit: Visit<'v>) -> Fields<'v> {
        Fields { visit, malformed: None }
    }

    fn see(&mut self, element: Element<'_>) {
        match hash::value(element.value) {
            Ok(value) => (self.visit)(element.member(), value),
            Err(bad) => self.malformed = Some(bad),
        }
    }

    fn end(self) -> Result<()> {
        self.malformed.map_or(Ok(()), |bad| Err(bad.into()))
    }
}

/// Shows every field.
pub fn each(cx: &impl View, all: &Collection<'_>, visit: Visit<'_>) -> Result<()> {
    all.light(cx.env())?;
    let mut fields = Fields::new(visit);
    all.each(cx, &mut |element| {
        fields.see(element);
        ControlFlow::Continue(())
    })?;
    fields.end()
}

/// Shows about `count` fields from the cursor on and returns the next cursor.
pub fn page(
    cx: &impl View,
    all: &Collection<'_>,
    cursor: u64,
    count: usize,
    visit: Visit<'_>,
) -> Result<u64> {
    let mut fields = Fields::new(visit);
    let next = page::page(cx, all, cursor, count, &mut |element| fields.see(element))?;
    fields.end().map(|()| next)
}

/// How fields are picked at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    One,
    /// So many different ones, or all.
    Distinct(u64),
    /// So many, each from all.
    Repeated(u64),
}

/// Shows fields picked at random.
pub fn pick(cx: &impl View, all: &Collection<'_>, how: Pick, visit: Visit<'_>) -> Result<()> {
    let mut random = draws(cx.env().random);
    let mut fields = Fields::new(visit);
    let see = &mut |element: Element<'_>| fields.see(element);
    match how {
        Pick::One => random::one(cx, all, &mut random, see)?,
        Pick::Distinct(count) => random::distinct(cx, all, count, &mut random, see)?,
        Pick::Repeated(count) => random::repeated(cx, all, count, &mut random, see)?,
    }
    fields.end()
}
