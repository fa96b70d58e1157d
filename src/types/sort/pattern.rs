//! What SORT's BY and GET name: keys, or fields of hashes, that are found by putting an element in the place of a star.
//!
//! Redis looks for `#`, `*` and `->` as in C strings, up to a zero byte; what is around them may hold any bytes.

use crate::error::Result;
use crate::keyspace::{Entry, View, entry};
use crate::reply::Span;
use crate::types::collection::Collection;
use crate::types::strings::Strings;
use crate::types::{hash, string};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern<'a> {
    /// The element itself.
    Element,
    /// Without a star: there is never a value.
    Nothing,
    /// The string of a key or, with a field, a field of a hash.
    Key { before: &'a [u8], after: &'a [u8], field: Option<&'a [u8]> },
}

fn c_string(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

impl<'a> Pattern<'a> {
    pub fn parse(text: &'a [u8]) -> Pattern<'a> {
        let seen = c_string(text);
        if seen == b"#" {
            return Pattern::Element;
        }
        let Some(star) = seen.iter().position(|byte| *byte == b'*') else { return Pattern::Nothing };
        let (before, rest) = text.split_at(star);
        let rest = rest.get(1..).unwrap_or_default();
        let arrow = c_string(rest).windows(2).position(|pair| pair == b"->");
        // An arrow at the end of what is seen leads to no field.
        let arrow = arrow.filter(|at| c_string(rest).len() > at + 2);
        match arrow.and_then(|at| Some((rest.get(..at)?, rest.get(at + 2..)?))) {
            Some((after, field)) => Pattern::Key { before, after, field: Some(field) },
            None => Pattern::Key { before, after: rest, field: None },
        }
    }

    /// Shows the value for each element, or that there is none, in order. Keys are read together.
    pub fn look_up<'e>(
        &self,
        cx: &mut impl View,
        elements: impl ExactSizeIterator<Item = &'e [u8]>,
        show: &mut dyn FnMut(Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let Pattern::Key { before, after, field } = *self else {
            let is_element = *self == Pattern::Element;
            return elements.map(|element| is_element.then_some(element)).try_for_each(show);
        };
        let mut keys = Strings::default();
        elements.for_each(|element| keys.push_parts(&[before, element, after]));
        let mark = cx.arena().len();
        let found = entry::find_each(cx, keys.iter())?;
        let base = cx.arena().len();
        for mut entry in found {
            entry::meet(cx, &mut entry)?;
            let value = match field {
                Some(field) => field_of(cx, entry, field)?,
                None => string_of(cx, &entry)?,
            };
            show(value.map(|value| cx.bytes(value)))?;
            cx.arena().truncate(base);
        }
        cx.arena().truncate(mark);
        Ok(())
    }
}

/// The string of a key; none where it is something else.
fn string_of(cx: &mut impl View, found: &Entry<'_>) -> Result<Option<Span>> {
    match string::value(found) {
        Ok(Some(value)) => value.read(cx).map(Some),
        _ => Ok(None),
    }
}

/// The field of a key; none where it is no hash.
fn field_of(cx: &mut impl View, found: Entry<'_>, field: &[u8]) -> Result<Option<Span>> {
    if found.live().is_none_or(|meta| meta.header.kind != hash::KIND) {
        return Ok(None);
    }
    match Collection::of(cx, found, hash::KIND)? {
        Some(mut all) => hash::value(cx, &mut all, field),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_taken_apart_as_redis_does() {
        let key = |before, after, field| Pattern::Key { before, after, field };
        let cases: [(&[u8], Pattern<'_>); 14] = [
            (b"#", Pattern::Element),
            (b"#\0*", Pattern::Element),
            (b"##", Pattern::Nothing),
            (b"", Pattern::Nothing),
            (b"a->b", Pattern::Nothing),
            (b"a\0*", Pattern::Nothing),
            (b"*", key(b"", b"", None)),
            (b"a*b", key(b"a", b"b", None)),
            (b"a*b*", key(b"a", b"b*", None)),
            (b"a*->", key(b"a", b"->", None)),
            (b"a*->f", key(b"a", b"", Some(b"f"))),
            (b"a->*b->f->g", key(b"a->", b"b", Some(b"f->g"))),
            (b"*\0->f", key(b"", b"\0->f", None)),
            (b"*->f\0g", key(b"", b"", Some(b"f\0g"))),
        ];
        for (text, pattern) in cases {
            assert_eq!(Pattern::parse(text), pattern, "{text:?}");
        }
    }
}
