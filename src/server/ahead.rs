//! A look ahead over a pipeline. Commands that came together are parsed together, and the rows of their keys are asked
//! for before the first of them runs: the waits for memory, which are most of what a small command costs, then overlap.

use tarn_engine::{Expected, Read as _, Wait};
use tarn_resp::{Args as Words, Limits, OwnedArgs, Parsed, Parser};

use crate::dispatch::gate;
use crate::dispatch::registry::Registered;
use crate::dispatch::spec::Touches;
use crate::encoding::collection::{hash64, push_member, read_own};
use crate::encoding::list::{push_index, read_head};
use crate::encoding::meta::{Body, Header, Kind};
use crate::encoding::rows::RowKey;
use crate::encoding::{DATA, META, SCORE, rows};
use crate::keyspace::Located;
use crate::node::Node;

/// Commands that are looked at together.
const COMMANDS: usize = 32;

/// A whole command of a pipeline.
#[derive(Clone, Copy)]
pub struct Foreseen {
    start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// None where it is to be refused.
    pub found: Option<(&'static Registered, usize)>,
    /// Its key, if it has one.
    pub located: Located,
    row: Option<Expected>,
    /// May run in one transaction with the one before it: both write the same key.
    joins: bool,
}

/// The commands that were looked at, in the order in which they came.
#[derive(Default)]
pub struct Ahead {
    /// The words of each; kept for the next time.
    parsers: Vec<Parser>,
    foreseen: Vec<Foreseen>,
    /// What is asked for ahead.
    elements: Vec<Expected>,
    value: Vec<u8>,
}

/// What is known of a key's elements.
#[derive(Default)]
struct Inside<'b> {
    key: &'b [u8],
    /// What their rows begin with, and what came last behind it.
    row: RowKey,
    prefix_len: usize,
    /// Of a list, as it will be after the commands that were looked at: the first index, and the one behind the last.
    first: u64,
    end: u64,
}

impl<'b> Inside<'b> {
    fn of(db: u32, slot: u16, key: &'b [u8], meta: &[u8]) -> Option<Inside<'b>> {
        let (header, len) = Header::decode(meta).ok()?;
        let Body::Rows { version, size } = header.body else { return None };
        let row = rows::collection(db, slot, key, version);
        let mut inside = Inside { key, prefix_len: row.len(), row, first: 0, end: 0 };
        if header.kind == Kind::List {
            let (_, own) = read_own(meta.get(len..)?).ok()?;
            inside.first = read_head(own).ok()?;
            inside.end = inside.first.wrapping_add(size);
        }
        Some(inside)
    }

    /// Says what a command will touch.
    fn touch(&mut self, node: &Node, touches: Touches, words: Words<'_>, elements: &mut Vec<Expected>) {
        let engine = &node.engine;
        self.row.truncate(self.prefix_len);
        let index = match touches {
            Touches::Named(word) => {
                let Some(member) = words.get(usize::from(word)) else { return };
                push_member(&mut self.row, hash64(node.keyspace.seed, member), member);
                elements.push(engine.expect(DATA, &self.row));
                return;
            }
            Touches::Any => return elements.push(engine.expect_group(DATA, &self.row)),
            Touches::AnyScore => return elements.push(engine.expect_group(SCORE, &self.row)),
            Touches::First => {
                self.first = self.first.wrapping_add(1);
                self.first.wrapping_sub(1)
            }
            Touches::BeforeFirst => {
                self.first = self.first.wrapping_sub(1);
                self.first
            }
            Touches::Last => {
                self.end = self.end.wrapping_sub(1);
                self.end
            }
            Touches::BehindLast => {
                self.end = self.end.wrapping_add(1);
                self.end.wrapping_sub(1)
            }
        };
        push_index(&mut self.row, index);
        let row = engine.expect(DATA, &self.row);
        // Where something is added there is no row yet.
        if matches!(touches, Touches::First | Touches::Last) {
            elements.push(row);
        }
    }
}

impl Ahead {
    /// Looks at the whole commands at the start of `bytes`. Anything out of the ordinary ends the look, and is left to
    /// be met when its turn comes.
    pub fn look(&mut self, node: &Node, db: u16, bytes: &[u8], limits: &Limits) {
        self.foreseen.clear();
        if self.parsers.is_empty() {
            self.parsers.resize_with(COMMANDS, Parser::new);
        }
        self.parse(node, db, bytes, limits);
        // A command that came alone runs at once.
        if self.foreseen.len() > 1 {
            self.elements.clear();
            self.elements.extend(self.foreseen.iter().filter_map(|foreseen| foreseen.row));
            node.engine.prefetch(&self.elements);
            self.look_into_keys(node, db, bytes);
        }
    }

    /// The same for elements: with the metadata at hand, the rows that commands will touch can be told.
    fn look_into_keys(&mut self, node: &Node, db: u16, bytes: &[u8]) {
        let Some(db) = node.keyspace.databases.get(db) else { return };
        let Ahead { parsers, foreseen, elements, value } = self;
        elements.clear();
        let read = node.engine.begin_read(Wait::Never);
        // The key looked into last: a pipeline often stays with one.
        let mut inside = Inside::default();
        for (foreseen, parser) in foreseen.iter().zip(parsers) {
            let Some(spec) = foreseen.found.map(|(command, _)| command.spec) else { continue };
            let (Some(at), Some(touches)) = (spec.keys.single(), spec.touches) else { continue };
            let words = parser.args(bytes.get(foreseen.start..).unwrap_or(&[]));
            let Some(key) = words.get(at) else { continue };
            if inside.prefix_len == 0 || inside.key != key {
                let Located { slot, hash48, .. } = foreseen.located;
                value.clear();
                let found = read.get(META, &rows::meta(db.physical, slot, hash48, key), value);
                let looked =
                    if matches!(found, Ok(true)) { Inside::of(db.physical, slot, key, value) } else { None };
                let Some(looked) = looked else { continue };
                inside = looked;
            }
            inside.touch(node, touches, words, elements);
        }
        node.engine.prefetch(elements);
    }

    fn parse(&mut self, node: &Node, db: u16, bytes: &[u8], limits: &Limits) {
        let seed = node.keyspace.seed;
        let Some(db) = node.keyspace.databases.get(db) else { return };
        let mut start = 0;
        let mut last: (&[u8], Located, bool) = (&[], Located::default(), false);
        for parser in &mut self.parsers {
            let rest = bytes.get(start..).unwrap_or(&[]);
            let Ok(Parsed::Command { consumed }) = parser.parse(rest, limits) else {
                // The next look begins a command.
                *parser = Parser::new();
                return;
            };
            let words = parser.args(rest);
            let found = gate::find(words).ok();
            let key = found.and_then(|(command, _)| words.get(command.spec.keys.single()?));
            let (located, row) = match key {
                None => (Located::default(), None),
                // What is expected of a key need not be said twice.
                Some(key) if !key.is_empty() && key == last.0 => (last.1.again(key), None),
                Some(key) => {
                    let located = Located::new(seed, key);
                    let row = (consumed < bytes.len()).then(|| {
                        node.engine.expect(META, &rows::meta(db.physical, located.slot, located.hash48, key))
                    });
                    (located, row)
                }
            };
            let may_join = found.is_some_and(|(command, _)| command.joins);
            let joins = may_join && last.2 && key == Some(last.0);
            last = (key.unwrap_or_default(), located, may_join);
            self.foreseen.push(Foreseen { start, end: start + consumed, found, located, row, joins });
            start += consumed;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.foreseen.is_empty()
    }

    /// One of them; `bytes` is what was looked at.
    pub fn get<'a>(&'a self, index: usize, bytes: &'a [u8]) -> Option<(Foreseen, Words<'a>)> {
        let foreseen = *self.foreseen.get(index)?;
        let words = self.parsers.get(index)?.args(bytes.get(foreseen.start..)?);
        Some((foreseen, words))
    }

    /// How many of them, from this one on, may run in one transaction.
    #[inline]
    pub fn together_from(&self, index: usize) -> usize {
        let behind = self.foreseen.get(index + 1..).unwrap_or_default();
        1 + behind.iter().take_while(|foreseen| foreseen.joins).count()
    }

    /// The keys of one of them and of what comes behind it.
    pub fn keys_from(&self, index: usize, bytes: &[u8]) -> OwnedArgs {
        let behind = (index..self.foreseen.len()).filter_map(|index| self.get(index, bytes));
        behind.filter_map(|(foreseen, words)| words.get(foreseen.found?.0.spec.keys.single()?)).collect()
    }
}
