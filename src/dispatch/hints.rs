//! Which rows a call will read, as far as its words and its key's metadata tell. The look-ahead over a pipeline prefetches
//! them into the processor's cache; a worker reads those of cold keys from the disk.

use std::ops::ControlFlow;

use smallvec::SmallVec;
use tarn_engine::{Direction, Hint, Range, Read as _, Space, Wait};
use tarn_resp::Args as Words;

use super::spec::{ElementHint, Spec};
use super::unit::Calls;
use crate::encoding::collection::{hash64, push_member, read_own};
use crate::encoding::list::{push_index, read_head};
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::RowKey;
use crate::encoding::{DATA, META, SCORE, rows, slot};
use crate::keyspace::{Located, kind};
use crate::node::Node;

/// A collection with no more elements than these is read into memory with its key.
const SMALL_SIZE: u64 = 64;

/// Keys of one unit that are prefetched. With it an MSET of ten keys takes 8.1 us of CPU instead of 9.8 at pipeline 16, and 20.4
/// instead of 21.4 alone.
const MAX_PREFETCHED_KEYS: usize = 32;

/// What is known of a key's elements.
#[derive(Default)]
pub struct Elements<'k> {
    key: &'k [u8],
    /// What their rows begin with, and what came last behind it.
    row: RowKey,
    prefix_len: usize,
    size: u64,
    /// Where they are read in the order that clients see.
    walked: Option<Space>,
    /// Of a list, as it will be after the calls that were asked for: the first index, and the one behind the last.
    first: u64,
    end: u64,
}

/// The next row that a call reads.
pub enum Target<'r> {
    Row(Space, &'r [u8]),
    /// Where something is added there is no row yet.
    NewRow(Space, &'r [u8]),
    /// Rows of the key's group.
    Group(Space, &'r [u8]),
}

impl<'k> Elements<'k> {
    /// None where the key has no elements in rows of their own.
    pub fn of(db: u32, slot: u16, key: &'k [u8], meta: &[u8]) -> Option<Elements<'k>> {
        let (header, len) = Header::decode(meta).ok()?;
        let Body::Rows { version, size } = header.body else { return None };
        let row = rows::collection(db, slot, key, version);
        let info = header.kind.info();
        let walked = Some(info.walked);
        let mut elements = Elements { key, prefix_len: row.len(), row, size, walked, first: 0, end: 0 };
        if info.elements == kind::Elements::Numbered {
            let (_, own) = read_own(meta.get(len..)?).ok()?;
            elements.first = read_head(own).ok()?;
            elements.end = elements.first.wrapping_add(size);
        }
        Some(elements)
    }

    /// Whether these are the elements of this key.
    pub fn are_of(&self, key: &[u8]) -> bool {
        self.prefix_len != 0 && self.key == key
    }

    /// What a call with this hint reads of them.
    pub fn target(&mut self, seed: u64, hint: ElementHint, words: Words<'_>) -> Option<Target<'_>> {
        self.row.truncate(self.prefix_len);
        let (index, is_new) = match hint {
            ElementHint::Named(word) => {
                let member = words.get(usize::from(word))?;
                push_member(&mut self.row, hash64(seed, member), member);
                return Some(Target::Row(DATA, &self.row));
            }
            ElementHint::Any => return Some(Target::Group(DATA, &self.row)),
            ElementHint::AnyScore => return Some(Target::Group(SCORE, &self.row)),
            ElementHint::First => {
                self.first = self.first.wrapping_add(1);
                (self.first.wrapping_sub(1), false)
            }
            ElementHint::BeforeFirst => {
                self.first = self.first.wrapping_sub(1);
                (self.first, true)
            }
            ElementHint::Last => {
                self.end = self.end.wrapping_sub(1);
                (self.end, false)
            }
            ElementHint::BehindLast => {
                self.end = self.end.wrapping_add(1);
                (self.end.wrapping_sub(1), true)
            }
        };
        push_index(&mut self.row, index);
        Some(if is_new { Target::NewRow(DATA, &self.row) } else { Target::Row(DATA, &self.row) })
    }

    /// All of them, where they are few.
    fn group_if_small(&mut self) -> Option<(Space, RowKey)> {
        self.row.truncate(self.prefix_len);
        let walked = self.walked.filter(|_| self.size <= SMALL_SIZE)?;
        Some((walked, self.row.clone()))
    }
}

/// Prefetches the metadata of the keys of calls that are about to run: the waits for memory, one for each key, then overlap.
pub fn prefetch_keys<'c>(node: &Node, calls: impl Calls<'c>) {
    let seed = node.keyspace.seed();
    let mut hints: SmallVec<[Hint; MAX_PREFETCHED_KEYS]> = SmallVec::new();
    for call in calls {
        let Some(db) = node.keyspace.shared.database(call.db) else { continue };
        for (at, _) in call.command.spec.keys.positions(call.words) {
            if hints.len() == MAX_PREFETCHED_KEYS {
                return node.engine.prefetch(&hints);
            }
            let key = call.words.get(at).unwrap_or(&[]);
            let Located { slot, hash48, .. } =
                if call.located.is(key) { call.located } else { Located::new(seed, key) };
            hints.push(node.engine.hint_row(META, &rows::meta(db.physical, slot, hash48, key)));
        }
    }
    node.engine.prefetch(&hints);
}

/// Reads keys that will be asked for soon into memory, in one go and without locks: the metadata, and for a command that
/// does not name the element it wants, small collections too. `keys` are those of one call and of what came behind it.
pub fn load_keys(node: &Node, spec: &Spec, db: u16, keys: Words<'_>) {
    let Some(db) = node.keyspace.shared.database(db).filter(|_| !keys.is_empty()) else { return };
    let seed = node.keyspace.seed();
    let meta: Vec<_> =
        keys.iter().map(|key| rows::meta(db.physical, slot::of(key), rows::hash48(seed, key), key)).collect();
    let meta: Vec<&[u8]> = meta.iter().map(|row| row.as_slice()).collect();
    let names_element = matches!(spec.hint, Some(ElementHint::Named(_)));
    let mut small = Vec::new();
    let read = node.engine.begin_read(Wait::Allowed);
    // What fails here fails again where it is asked for, and is reported there.
    let _ = read.get_many(META, &meta, &mut |n, row| {
        if let (Some(row), Some(key)) = (row, keys.get(n))
            && !names_element
            && let Some(mut elements) = Elements::of(db.physical, slot::of(key), key, row)
        {
            small.extend(elements.group_if_small());
        }
    });
    for (space, start) in small {
        let end = rows::collection_end(&start);
        let range = Range { start: &start, end: &end };
        let _ = read.scan(space, range, Direction::Forward, 1, &mut |_, _| ControlFlow::Break(()));
    }
}
