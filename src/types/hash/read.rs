//! Reading: what has expired is not there, whether it was removed or not.

use std::ops::ControlFlow;

use super::KIND;
use super::due::each_due;
use crate::encoding::Malformed;
use crate::encoding::collection::Expiring;
use crate::encoding::hash::{self, Head};
use crate::error::{Result, Stop, Why};
use crate::keyspace::{Env, Place, View};
use crate::reply::Span;
use crate::types::collection::{Collection, Element, page};

/// A field as it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    pub version: u64,
}

/// Shows a field.
pub type Visit<'v> = &'v mut dyn FnMut(Field<'_>);

/// The hash that a key holds, for reading.
pub fn find<'k>(cx: &mut impl View, key: &'k [u8]) -> Result<Option<Collection<'k>>> {
    Collection::find(cx, key, KIND)
}

/// A field's value, in the arena.
pub fn get(cx: &mut impl View, key: &[u8], field: &[u8]) -> Result<Option<Span>> {
    let Some(mut all) = find(cx, key)? else { return Ok(None) };
    value(cx, &mut all, field)
}

/// A field's value, in the arena, of a hash that is open.
pub fn value(cx: &mut impl View, all: &mut Collection<'_>, name: &[u8]) -> Result<Option<Span>> {
    Ok(field(cx, all, name)?.map(|(_, value)| value))
}

/// What is known of a field, and its value, in the arena.
#[inline]
pub fn field(cx: &mut impl View, all: &mut Collection<'_>, name: &[u8]) -> Result<Option<(Head, Span)>> {
    let Some(row) = all.get(cx, name)? else { return Ok(None) };
    let (head, len) = Head::decode(cx.bytes(row))?;
    Ok((!head.is_expired(cx.env().now_ms)).then(|| (head, row.behind(len))))
}

/// Shows each field, or that there is none, in order.
pub fn get_each<'a>(
    cx: &mut impl View,
    key: &[u8],
    fields: impl ExactSizeIterator<Item = &'a [u8]>,
    each: &mut dyn FnMut(Option<(Head, &[u8])>),
) -> Result<()> {
    cx.env().move_if_heavy(fields.len(), Env::IO_THREAD_MAX_ROWS)?;
    let Some(mut all) = find(cx, key)? else {
        fields.for_each(|_| each(None));
        return Ok(());
    };
    let now_ms = cx.env().now_ms;
    let mut malformed = None;
    all.get_each(cx, fields, &mut |row| match row.map(hash::read_field).transpose() {
        Ok(field) => each(field.filter(|(head, _)| !head.is_expired(now_ms))),
        Err(bad) => malformed = Some(bad),
    })?;
    malformed.map_or(Ok(()), |bad| Err(bad.into()))
}

/// Number of fields.
pub fn len(cx: &mut impl View, key: &[u8]) -> Result<u64> {
    match find(cx, key)? {
        Some(all) => live_size(cx, &all),
        None => Ok(0),
    }
}

/// Number of fields of an open hash: known at once while nothing is due, otherwise what is due is counted.
pub(super) fn live_size(cx: &impl View, all: &Collection<'_>) -> Result<u64> {
    Ok(all.size().saturating_sub(due(cx, all)?))
}

/// How many fields are there whose time has come.
fn due(cx: &impl View, all: &Collection<'_>) -> Result<u64> {
    let (env, expiring) = (cx.env(), Expiring::decode(all.own())?);
    if !expiring.may_be_due(env.now_ms) {
        return Ok(0);
    }
    let limit = if env.place == Place::IoThread { Env::IO_THREAD_MAX_ROWS + 1 } else { usize::MAX };
    let mut count = 0;
    let shown = each_due(cx, all.prefix(), expiring.earliest_ms, limit, &mut |is_expired| {
        count += u64::from(is_expired);
        ControlFlow::Continue(())
    })?;
    if shown == limit { Err(Stop::Move(Why::Heavy)) } else { Ok(count) }
}

/// Takes elements apart for [`Visit`]; what cannot be read is an error in the end.
pub(super) struct Fields<'v> {
    visit: Visit<'v>,
    now_ms: u64,
    malformed: Option<Malformed>,
}

impl<'v> Fields<'v> {
    pub fn new(cx: &impl View, visit: Visit<'v>) -> Fields<'v> {
        Fields { visit, now_ms: cx.env().now_ms, malformed: None }
    }

    /// Whether the field was shown.
    pub fn see(&mut self, element: Element<'_>) -> bool {
        match hash::read_field(element.value) {
            Ok((head, _)) if head.is_expired(self.now_ms) => return false,
            Ok((head, value)) => {
                (self.visit)(Field { name: element.member(), value, version: head.version });
            }
            Err(bad) => self.malformed = Some(bad),
        }
        true
    }

    pub fn end(self) -> Result<()> {
        self.malformed.map_or(Ok(()), |bad| Err(bad.into()))
    }
}

/// Shows every field.
pub fn each(cx: &impl View, all: &Collection<'_>, visit: Visit<'_>) -> Result<()> {
    all.light(cx.env())?;
    let mut fields = Fields::new(cx, visit);
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
    let mut fields = Fields::new(cx, visit);
    let next = page::page(cx, all, cursor, count, &mut |element| {
        fields.see(element);
    })?;
    fields.end().map(|()| next)
}
