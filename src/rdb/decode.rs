//! From a payload to the elements of its value.

use std::borrow::Cow;

use super::packed::{Item, intset, listpack, ziplist, zipmap};
use super::{Bad, Reader, VALKEY, module};
use crate::number;
use crate::types::strings::Strings;

/// What kind of value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
}

/// In which of its forms the value is serialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// How many elements, and then their strings. A string is only itself.
    Plain,
    /// As plain, each member with its score: as text, or as a double.
    TextScores,
    Scores,
    /// One string of each of the packed forms.
    Zipmap,
    Intset,
    Ziplist,
    Listpack,
    /// How many ziplists, and then these.
    Ziplists,
    /// How many nodes, each one string or a listpack.
    Nodes,
    /// Fields with the times of their expiry in front, counted from the earliest of them where that is told.
    Expiring {
        from_earliest: bool,
    },
    /// Fields with the times behind, as Valkey writes them.
    ExpiringBehind,
    /// A listpack of fields, values and times; where it is told, the earliest one is in front.
    ExpiringListpack {
        with_earliest: bool,
    },
    /// The names of the fields apart from the values, which are a listpack or plain.
    TemplateListpack,
    TemplatePlain,
    /// As the module TairHash writes its hashes.
    Tair,
    /// With what has been added to streams over the years.
    Stream(u8),
}

/// A value that is read as often as it is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    pub shape: Shape,
    form: Form,
    body: Reader<'a>,
}

/// A field of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    /// In milliseconds since 1970; 0 is never.
    pub expire_at_ms: u64,
    /// 1 where versions are not told.
    pub version: u64,
}

impl<'a> Field<'a> {
    fn plain(name: &'a [u8], value: &'a [u8]) -> Field<'a> {
        Field { name, value, expire_at_ms: 0, version: 1 }
    }
}

/// Shows a string.
type Each<'e, E> = &'e mut dyn FnMut(&[u8]) -> Result<(), E>;

fn form(number: u8, version: u16) -> Option<(Shape, Form)> {
    Some(match number {
        0 => (Shape::String, Form::Plain),
        1 => (Shape::List, Form::Plain),
        2 => (Shape::Set, Form::Plain),
        3 => (Shape::SortedSet, Form::TextScores),
        4 => (Shape::Hash, Form::Plain),
        5 => (Shape::SortedSet, Form::Scores),
        9 => (Shape::Hash, Form::Zipmap),
        10 => (Shape::List, Form::Ziplist),
        11 => (Shape::Set, Form::Intset),
        12 => (Shape::SortedSet, Form::Ziplist),
        13 => (Shape::Hash, Form::Ziplist),
        14 => (Shape::List, Form::Ziplists),
        15 => (Shape::Stream, Form::Stream(1)),
        16 => (Shape::Hash, Form::Listpack),
        17 => (Shape::SortedSet, Form::Listpack),
        18 => (Shape::List, Form::Nodes),
        19 => (Shape::Stream, Form::Stream(2)),
        20 => (Shape::Set, Form::Listpack),
        21 => (Shape::Stream, Form::Stream(3)),
        // The one number that two servers gave to two forms.
        22 if version >= VALKEY => (Shape::Hash, Form::ExpiringBehind),
        22 => (Shape::Hash, Form::Expiring { from_earliest: false }),
        23 => (Shape::Hash, Form::ExpiringListpack { with_earliest: false }),
        24 => (Shape::Hash, Form::Expiring { from_earliest: true }),
        25 => (Shape::Hash, Form::ExpiringListpack { with_earliest: true }),
        26 => (Shape::Stream, Form::Stream(4)),
        27 => (Shape::Stream, Form::Stream(5)),
        29 => (Shape::Hash, Form::TemplateListpack),
        31 => (Shape::Hash, Form::TemplatePlain),
        _ => return None,
    })
}

impl<'a> Payload<'a> {
    /// `content` and `version` come from [`super::open`]. No string may be longer than `max_len`.
    pub fn of(content: &'a [u8], version: u16, max_len: usize) -> Result<Payload<'a>, Bad> {
        let mut body = Reader::new(content, max_len);
        let number = body.u8()?;
        let (shape, form) = if number == module::VALUE {
            if body.len()? != module::TAIR_HASH {
                return Err(Bad);
            }
            (Shape::Hash, Form::Tair)
        } else {
            form(number, version).ok_or(Bad)?
        };
        Ok(Payload { shape, form, body })
    }

    /// Whether it is a hash of the module TairHash.
    pub fn is_tair(&self) -> bool {
        self.form == Form::Tair
    }

    /// The string that it is.
    pub fn string(&self) -> Result<Cow<'a, [u8]>, Bad> {
        let mut body = self.body;
        let string = body.string()?;
        body.end()?;
        Ok(string)
    }

    /// Which additions a stream has, and its bytes.
    pub(super) fn stream_parts(&self) -> Result<(u8, Reader<'a>), Bad> {
        match self.form {
            Form::Stream(age) => Ok((age, self.body)),
            _ => Err(Bad),
        }
    }

    /// The elements of a list or the members of a set, in their order.
    pub fn strings<E: From<Bad>>(&self, each: Each<'_, E>) -> Result<(), E> {
        self.flat(1, &mut |item| each(item.bytes(&mut itoa::Buffer::new())))
    }

    /// The members of a sorted set with their scores, none of which is NaN.
    pub fn scores<E: From<Bad>>(&self, each: &mut dyn FnMut(&[u8], f64) -> Result<(), E>) -> Result<(), E> {
        let mut show =
            |member: &[u8], score: f64| if score.is_nan() { Err(Bad.into()) } else { each(member, score) };
        if !matches!(self.form, Form::TextScores | Form::Scores) {
            return self.tuples(2, &mut |strings| show(strings.get(0), read_score(strings.get(1))?));
        }
        let mut body = self.body;
        for _ in 0..body.len()? {
            let member = body.string()?;
            let score = match self.form {
                Form::Scores => body.f64()?,
                _ => text_score(&mut body)?,
            };
            show(&member, score)?;
        }
        Ok(body.end()?)
    }

    /// The fields of a hash.
    pub fn fields<E: From<Bad>>(&self, each: &mut dyn FnMut(Field<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut body = self.body;
        match self.form {
            Form::Expiring { from_earliest } => {
                let earliest = if from_earliest { body.u64()? } else { 1 };
                for _ in 0..body.len()? {
                    // 0 is never; what is counted from the earliest is counted from 1.
                    let time = body.len()?;
                    let expire_at_ms = match time.checked_sub(1) {
                        None => 0,
                        Some(behind) => earliest.checked_add(behind).ok_or(Bad)?,
                    };
                    let (name, value) = (body.string()?, body.string()?);
                    let expire_at_ms = checked(expire_at_ms)?;
                    each(Field { expire_at_ms, ..Field::plain(&name, &value) })?;
                }
                Ok(body.end()?)
            }
            Form::ExpiringBehind => {
                for _ in 0..body.len()? {
                    let (name, value) = (body.string()?, body.string()?);
                    // Minus one is never.
                    let time = body.u64()?;
                    let expire_at_ms = if time == u64::MAX { 0 } else { checked(time)? };
                    each(Field { expire_at_ms, ..Field::plain(&name, &value) })?;
                }
                Ok(body.end()?)
            }
            Form::ExpiringListpack { .. } => self.tuples(3, &mut |strings| {
                let time =
                    number::parse_i64(strings.get(2)).and_then(|time| u64::try_from(time).ok()).ok_or(Bad)?;
                each(Field { expire_at_ms: time, ..Field::plain(strings.get(0), strings.get(1)) })
            }),
            Form::Tair => tair_fields(body, each),
            Form::TemplateListpack | Form::TemplatePlain => self.template(each),
            _ => self.tuples(2, &mut |strings| each(Field::plain(strings.get(0), strings.get(1)))),
        }
    }

    /// The names of all fields come first, then their values in the same order.
    fn template<E: From<Bad>>(&self, each: &mut dyn FnMut(Field<'_>) -> Result<(), E>) -> Result<(), E> {
        let (mut body, mut names) = (self.body, Strings::default());
        match body.len()? {
            0 => {
                let blob = body.string()?;
                let mut items = listpack::Items::of(&blob)?;
                while let Some(item) = items.next_item()? {
                    names.push(item.bytes(&mut itoa::Buffer::new()));
                }
            }
            1 => {
                for _ in 0..body.len()? {
                    names.push(&body.string()?);
                }
            }
            _ => return Err(Bad.into()),
        }
        if self.form == Form::TemplatePlain {
            for name in names.iter() {
                each(Field::plain(name, &body.string()?))?;
            }
            return Ok(body.end()?);
        }
        let blob = body.string()?;
        body.end()?;
        let mut items = listpack::Items::of(&blob)?;
        // The number that the template had where it comes from.
        items.number()?;
        for name in names.iter() {
            let value = items.item_there()?;
            each(Field::plain(name, value.bytes(&mut itoa::Buffer::new())))?;
        }
        if items.next_item()?.is_some() { Err(Bad.into()) } else { Ok(()) }
    }

    /// The strings in groups of so many.
    fn tuples<E: From<Bad>>(
        &self,
        per: usize,
        each: &mut dyn FnMut(&Strings) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut strings = Strings::default();
        self.flat(per as u64, &mut |item| {
            strings.push(item.bytes(&mut itoa::Buffer::new()));
            if strings.len() < per {
                return Ok(());
            }
            let shown = each(&strings);
            strings.clear();
            shown
        })?;
        if strings.is_empty() { Ok(()) } else { Err(Bad.into()) }
    }

    /// All strings one after the other; `per` of them are counted as one.
    fn flat<E: From<Bad>>(&self, per: u64, each: &mut dyn FnMut(Item<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut body = self.body;
        match self.form {
            Form::Plain => {
                for _ in 0..body.len()?.checked_mul(per).ok_or(Bad)? {
                    each(Item::Bytes(&body.string()?))?;
                }
            }
            Form::Ziplists => {
                for _ in 0..body.len()? {
                    each_of_ziplist(&body.string()?, each)?;
                }
            }
            Form::Nodes => {
                /// What a node is.
                const STRING: u64 = 1;
                const LISTPACK: u64 = 2;
                for _ in 0..body.len()? {
                    match (body.len()?, body.string()?) {
                        (STRING, string) if !string.is_empty() => each(Item::Bytes(&string))?,
                        (LISTPACK, blob) => each_of_listpack(&blob, each)?,
                        _ => return Err(Bad.into()),
                    }
                }
            }
            Form::Ziplist => each_of_ziplist(&body.string()?, each)?,
            Form::Listpack | Form::ExpiringListpack { with_earliest: false } => {
                each_of_listpack(&body.string()?, each)?;
            }
            Form::ExpiringListpack { with_earliest: true } => {
                body.u64()?;
                each_of_listpack(&body.string()?, each)?;
            }
            Form::Intset => {
                let blob = body.string()?;
                let mut items = intset::Items::of(&blob)?;
                while let Some(item) = items.next_item()? {
                    each(item)?;
                }
            }
            Form::Zipmap => {
                let blob = body.string()?;
                let mut pairs = zipmap::Pairs::of(&blob)?;
                while let Some((field, value)) = pairs.next_item()? {
                    each(Item::Bytes(field))?;
                    each(Item::Bytes(value))?;
                }
            }
            Form::TextScores
            | Form::Scores
            | Form::Expiring { .. }
            | Form::ExpiringBehind
            | Form::TemplateListpack
            | Form::TemplatePlain
            | Form::Tair
            | Form::Stream(_) => return Err(Bad.into()),
        }
        Ok(body.end()?)
    }
}

fn tair_fields<E: From<Bad>>(
    mut body: Reader<'_>,
    each: &mut dyn FnMut(Field<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let count = module::number(&mut body)?;
    // The name that the key had.
    module::string(&mut body)?;
    // Older versions tell the database, too.
    let mut behind = body;
    if module::number(&mut behind).is_ok() {
        body = behind;
    }
    for _ in 0..count {
        let name = module::string(&mut body)?;
        let (version, expire_at_ms) =
            (checked(module::number(&mut body)?)?, checked(module::number(&mut body)?)?);
        let value = module::string(&mut body)?;
        each(Field { name: &name, value: &value, expire_at_ms, version })?;
    }
    module::end(&mut body)?;
    Ok(body.end()?)
}

fn each_of_listpack<E: From<Bad>>(
    blob: &[u8],
    each: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = listpack::Items::of(blob)?;
    while let Some(item) = items.next_item()? {
        each(item)?;
    }
    Ok(())
}

fn each_of_ziplist<E: From<Bad>>(
    blob: &[u8],
    each: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut items = ziplist::Items::of(blob)?;
    while let Some(item) = items.next_item()? {
        each(item)?;
    }
    Ok(())
}

/// A time that can be told as a signed number.
fn checked(at_ms: u64) -> Result<u64, Bad> {
    if at_ms <= i64::MAX.cast_unsigned() { Ok(at_ms) } else { Err(Bad) }
}

/// A score among the strings of a packed form.
fn read_score(text: &[u8]) -> Result<f64, Bad> {
    if text.is_empty() { Err(Bad) } else { number::double::parse_bound(text).ok_or(Bad) }
}

/// A score as Redis wrote it before version 8: its length and its digits, or a length that stands for what has no digits.
fn text_score(body: &mut Reader<'_>) -> Result<f64, Bad> {
    match body.u8()? {
        253 => Err(Bad),
        254 => Ok(f64::INFINITY),
        255 => Ok(f64::NEG_INFINITY),
        len => read_score(body.bytes(usize::from(len))?),
    }
}
