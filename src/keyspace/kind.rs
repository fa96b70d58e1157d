//! The kind table: what is to be known of each type beyond its own files.
//!
//! Whoever treats keys of every type alike (copying, counting garbage, compaction, TYPE, OBJECT, DEBUG) asks it. A new
//! type is an entry here, a number in [`crate::encoding::meta`] and a file per layer.

use tarn_engine::Space;

use super::context::Limits;
use crate::encoding::collection::TAIR;
use crate::encoding::meta::Kind;
use crate::encoding::stream::GROUPS;
use crate::encoding::string::PIECE_LEN;
use crate::encoding::{DATA, FIELD_EXPIRE, SCORE};

/// One entry of the table.
#[derive(Debug)]
pub struct Info {
    /// The word TYPE answers and SCAN's TYPE option takes.
    pub name: &'static str,
    /// What else it may be called.
    pub guises: &'static [Guise],
    /// Where its rows are, beginning with those that the metadata's size counts.
    pub rows: &'static [Rows],
    /// The space whose order is the one that clients see.
    pub walked: Space,
    pub elements: Elements,
    /// Whether a key without elements exists. Keys of other types go with their last element.
    pub may_be_empty: bool,
    /// Whether elements have a time to live of their own. The type's own part of the metadata is then
    /// [`crate::encoding::collection::Expiring`], and the type is among those that [`super::parts::Parts`] are given of.
    pub parts_expire: bool,
    /// Whether it has rows of further versions, each of which a row of its own names:
    /// [`crate::encoding::stream::owner_row`].
    pub owns_versions: bool,
    pub encoding: Encoding,
}

/// Keys of a type whose metadata has this flag are of another type to clients.
#[derive(Debug)]
pub struct Guise {
    pub flag: u8,
    /// For TYPE.
    pub name: &'static str,
    /// For OBJECT ENCODING.
    pub encoding: &'static str,
}

/// Rows of a type in one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    pub space: Space,
    pub per: Per,
}

/// What there is a row of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// Each element.
    Element,
    /// So many bytes of the value, which are what the size counts.
    Bytes(u64),
    /// Some elements, or something that is no element: the size does not tell how many there are.
    Some,
}

/// What the elements are, and how their rows are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// Bytes of one value.
    Bytes,
    /// They have names. Their order means nothing to clients: `hash64(name), name`.
    Named,
    /// They are numbered without a gap, from the head in the metadata on: [`crate::encoding::list`].
    Numbered,
    /// The type's own sub-keys, in an order that clients see.
    Ordered,
}

/// What OBJECT ENCODING answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Of a string: by what it holds.
    Text,
    /// Always this.
    Only(&'static str),
    /// One name until the collection has grown, another from then on.
    Compact { up_to: Size, compact: &'static str, grown: &'static str },
}

/// The limit of a compact form, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    HashEntries,
    SetInts,
    ZsetEntries,
}

impl Limits {
    #[inline]
    pub fn size(&self, size: Size) -> usize {
        match size {
            Size::HashEntries => self.hash_entries,
            Size::SetInts => self.set_ints,
            Size::ZsetEntries => self.zset_entries,
        }
    }
}

/// The table itself. A match, so that no kind is without an entry.
const fn table(kind: Kind) -> &'static Info {
    match kind {
        Kind::String => &Info {
            name: "string",
            guises: &[],
            rows: &[Rows { space: DATA, per: Per::Bytes(PIECE_LEN as u64) }],
            walked: DATA,
            elements: Elements::Bytes,
            // Its existence is not a matter of rows: an empty string is in its metadata.
            may_be_empty: true,
            parts_expire: false,
            owns_versions: false,
            encoding: Encoding::Text,
        },
        Kind::Hash => &Info {
            name: "hash",
            guises: &[Guise { flag: TAIR, name: "tairhash-", encoding: "raw" }],
            rows: &[Rows { space: DATA, per: Per::Element }, Rows { space: FIELD_EXPIRE, per: Per::Some }],
            walked: DATA,
            elements: Elements::Named,
            may_be_empty: false,
            parts_expire: true,
            owns_versions: false,
            encoding: Encoding::Compact { up_to: Size::HashEntries, compact: "listpack", grown: "hashtable" },
        },
        Kind::Set => &Info {
            name: "set",
            guises: &[],
            rows: &[Rows { space: DATA, per: Per::Element }],
            walked: DATA,
            elements: Elements::Named,
            may_be_empty: false,
            parts_expire: false,
            owns_versions: false,
            encoding: Encoding::Compact { up_to: Size::SetInts, compact: "intset", grown: "hashtable" },
        },
        Kind::List => &Info {
            name: "list",
            guises: &[],
            rows: &[Rows { space: DATA, per: Per::Element }],
            walked: DATA,
            elements: Elements::Numbered,
            may_be_empty: false,
            parts_expire: false,
            owns_versions: false,
            encoding: Encoding::Only("quicklist"),
        },
        Kind::SortedSet => &Info {
            name: "zset",
            guises: &[],
            rows: &[Rows { space: DATA, per: Per::Element }, Rows { space: SCORE, per: Per::Element }],
            walked: SCORE,
            elements: Elements::Named,
            may_be_empty: false,
            parts_expire: false,
            owns_versions: false,
            encoding: Encoding::Compact { up_to: Size::ZsetEntries, compact: "listpack", grown: "skiplist" },
        },
        Kind::Stream => &Info {
            name: "stream",
            guises: &[],
            rows: &[Rows { space: DATA, per: Per::Element }, Rows { space: GROUPS, per: Per::Some }],
            walked: DATA,
            elements: Elements::Ordered,
            may_be_empty: true,
            parts_expire: false,
            owns_versions: true,
            encoding: Encoding::Only("stream"),
        },
    }
}

impl Kind {
    /// What the table says of the type.
    #[inline]
    pub const fn info(self) -> &'static Info {
        table(self)
    }

    /// Whether it is made of elements, and not one text.
    pub fn has_elements(self) -> bool {
        !matches!(self.info().encoding, Encoding::Text)
    }

    /// [`Info::parts_expire`], for those who ask with every key.
    #[inline]
    pub const fn parts_expire(self) -> bool {
        PARTS_EXPIRE & (1 << self as u8) != 0
    }
}

impl Info {
    /// What a key with these flags in its metadata passes for, if it is not the type itself.
    pub fn guise(&self, flags: u8) -> Option<&'static Guise> {
        self.guises.iter().find(|guise| flags & guise.flag != 0)
    }

    /// How many rows a key of this size has in the space that the size is about.
    pub fn main_rows(&self, size: u64) -> u64 {
        self.rows.first().and_then(|rows| rows.of(size)).unwrap_or(0)
    }
}

impl Rows {
    /// How many there are of a key of this size; None where that is not known.
    pub const fn of(&self, size: u64) -> Option<u64> {
        match self.per {
            Per::Element => Some(size),
            Per::Bytes(bytes) => Some(size.div_ceil(bytes)),
            Per::Some => None,
        }
    }
}

/// By the numbers of kinds.
const PARTS_EXPIRE: u32 = {
    let (mut kinds, mut left) = (0, Kind::ALL.as_slice());
    while let [kind, rest @ ..] = left {
        if table(*kind).parts_expire {
            kinds |= 1 << *kind as u8;
        }
        left = rest;
    }
    kinds
};

/// A set of spaces, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spaces(u32);

impl Spaces {
    /// Those in which any type has rows; only those of which it is known how many there are, if that is asked for.
    const fn of_rows(counted: bool) -> Spaces {
        let (mut spaces, mut kinds) = (0, Kind::ALL.as_slice());
        while let [kind, other_kinds @ ..] = kinds {
            let mut rows = table(*kind).rows;
            while let [of_space, other_rows @ ..] = rows {
                if !counted || of_space.of(0).is_some() {
                    spaces |= 1 << of_space.space.0;
                }
                rows = other_rows;
            }
            kinds = other_kinds;
        }
        Spaces(spaces)
    }

    const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    const fn has(self, space: Space) -> bool {
        self.0 >> space.0 & 1 != 0
    }

    /// Ascending.
    const fn list<const N: usize>(self) -> [Space; N] {
        let mut list = [Space(0); N];
        let (mut number, mut left) = (0, list.as_mut_slice());
        while let [next, rest @ ..] = left {
            while !self.has(Space(number)) {
                number += 1;
            }
            *next = Space(number);
            number += 1;
            left = rest;
        }
        list
    }
}

const WITH_ROWS: Spaces = Spaces::of_rows(false);
const COUNTED_ROWS: Spaces = Spaces::of_rows(true);

/// Spaces that hold rows of keys besides their metadata: all of them begin with database, slot, key and version.
pub const ELEMENT_SPACES: [Space; WITH_ROWS.len()] = WITH_ROWS.list();
/// Those of them in which it is known how many rows a key has.
pub const COUNTED_SPACES: [Space; COUNTED_ROWS.len()] = COUNTED_ROWS.list();

/// Whether the space is one of [`ELEMENT_SPACES`].
#[inline]
pub const fn is_element_space(space: Space) -> bool {
    WITH_ROWS.has(space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{META, SPACES};

    #[test]
    fn spaces_follow_from_the_table() {
        assert_eq!(ELEMENT_SPACES, [DATA, SCORE, FIELD_EXPIRE]);
        assert_eq!(COUNTED_SPACES, [DATA, SCORE]);
        for number in 0..SPACES.len() as u8 {
            assert_eq!(is_element_space(Space(number)), ELEMENT_SPACES.contains(&Space(number)));
        }
        assert!(!is_element_space(META));
    }

    #[test]
    fn entries_do_not_contradict_themselves() {
        for kind in Kind::ALL {
            let info = kind.info();
            assert_eq!(kind.parts_expire(), info.parts_expire, "{kind:?}");
            assert!(info.rows.iter().any(|rows| rows.space == info.walked), "{kind:?}");
            assert!(info.rows[0].of(1).is_some(), "{kind:?}: what the size counts comes first");
            let is_bytes = matches!(info.rows[0].per, Per::Bytes(_));
            assert_eq!(is_bytes, info.elements == Elements::Bytes, "{kind:?}");
            let same_name = Kind::ALL.iter().filter(|other| other.info().name == info.name);
            assert_eq!(same_name.count(), 1, "{kind:?}");
        }
    }

    #[test]
    fn rows_are_told_by_the_size() {
        assert_eq!([0, 1, 4096, 4097].map(|size| Kind::String.info().main_rows(size)), [0, 1, 1, 2]);
        assert_eq!(
            Kind::SortedSet.info().rows.iter().map(|rows| rows.of(7)).collect::<Vec<_>>(),
            [Some(7); 2]
        );
        assert_eq!(Kind::Hash.info().rows.iter().map(|rows| rows.of(7)).collect::<Vec<_>>(), [Some(7), None]);
    }

    #[test]
    fn flags_give_a_key_another_name() {
        assert_eq!(Kind::Hash.info().guise(TAIR).map(|guise| guise.name), Some("tairhash-"));
        assert!(Kind::Hash.info().guise(!TAIR).is_none());
        assert!(Kind::Set.info().guise(u8::MAX).is_none());
    }
}
