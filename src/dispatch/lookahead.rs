//! The look-ahead over a pipeline. Commands that came together are parsed together, and the rows that they will read are
//! prefetched before the first of them runs: the waits for memory, which are most of what a small command costs, then
//! overlap.

use std::ops::Range;

use tarn_engine::{Hint, Read as _, Wait};
use tarn_resp::{Args as Words, Limits, OwnedArgs, Parsed, Parser};

use super::gate;
use super::hints::{Elements, Target};
use super::registry::Registered;
use super::spec::Batch;
use super::unit::Call;
use crate::encoding::{META, rows};
use crate::keyspace::Located;
use crate::node::Node;

/// Commands that are parsed together.
const COMMANDS: usize = 32;

/// Different keys that are written by one unit: it holds their locks alone until the last of them is written.
pub const MAX_WRITTEN_KEYS: usize = 4;

/// A whole command of a pipeline.
#[derive(Clone, Copy)]
struct Upcoming {
    start: usize,
    /// Behind its last byte.
    end: usize,
    /// None where it is to be refused.
    found: Option<(&'static Registered, usize)>,
    /// Its key, if it has one.
    located: Located,
    row: Option<Hint>,
    joins: Joins,
}

/// Whether a command may be in one unit with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joins {
    No,
    /// It is about the same key.
    SameKey,
    OtherKey,
}

/// The commands that were parsed, in the order in which they came.
#[derive(Default)]
pub struct Lookahead {
    /// The words of each; kept for the next time.
    parsers: Vec<Parser>,
    upcoming: Vec<Upcoming>,
    /// What is prefetched.
    rows: Vec<Hint>,
    value: Vec<u8>,
}

impl Lookahead {
    /// Parses the whole commands at the start of `bytes`. Anything out of the ordinary ends the look, and is left to
    /// be met when its turn comes.
    pub fn look(&mut self, node: &Node, db: u16, bytes: &[u8], limits: &Limits) {
        self.upcoming.clear();
        if self.parsers.is_empty() {
            self.parsers.resize_with(COMMANDS, Parser::new);
        }
        self.parse(node, db, bytes, limits);
        // A command that came alone runs at once.
        if self.upcoming.len() > 1 {
            self.rows.clear();
            self.rows.extend(self.upcoming.iter().filter_map(|upcoming| upcoming.row));
            node.engine.prefetch(&self.rows);
            self.look_into_keys(node, db, bytes);
        }
    }

    /// The same for elements: with the metadata at hand, the rows that commands will read can be told.
    fn look_into_keys(&mut self, node: &Node, db: u16, bytes: &[u8]) {
        let Some(db) = node.keyspace.shared.database(db) else { return };
        let Lookahead { parsers, upcoming, rows: wanted, value } = self;
        wanted.clear();
        let read = node.engine.begin_read(Wait::Never);
        // The key looked into last: a pipeline often stays with one.
        let mut elements = Elements::default();
        for (upcoming, parser) in upcoming.iter().zip(parsers) {
            let Some(spec) = upcoming.found.map(|(command, _)| command.spec) else { continue };
            let (Some(at), Some(hint)) = (spec.keys.single(), spec.hint) else { continue };
            let words = parser.args(bytes.get(upcoming.start..).unwrap_or(&[]));
            let Some(key) = words.get(at) else { continue };
            if !elements.are_of(key) {
                let Located { slot, hash48, .. } = upcoming.located;
                value.clear();
                let found = read.get(META, &rows::meta(db.physical, slot, hash48, key), value);
                if !matches!(found, Ok(true)) {
                    continue;
                }
                let Some(found) = Elements::of(db.physical, slot, key, value) else { continue };
                elements = found;
            }
            match elements.target(node.keyspace.seed(), hint, words) {
                Some(Target::Row(space, row)) => wanted.push(node.engine.hint_row(space, row)),
                Some(Target::Group(space, group)) => wanted.push(node.engine.hint_group(space, group)),
                Some(Target::NewRow(space, row)) => {
                    node.engine.hint_row(space, row);
                }
                None => {}
            }
        }
        node.engine.prefetch(wanted);
    }

    fn parse(&mut self, node: &Node, db: u16, bytes: &[u8], limits: &Limits) {
        let seed = node.keyspace.seed();
        let Some(db) = node.keyspace.shared.database(db) else { return };
        let mut start = 0;
        let mut last: (&[u8], Located, Batch) = (&[], Located::default(), Batch::None);
        let mut written_keys = 0;
        for parser in &mut self.parsers {
            let rest = bytes.get(start..).unwrap_or(&[]);
            let Ok(Parsed::Command { consumed }) = parser.parse(rest, limits) else {
                // The next look begins a command.
                *parser = Parser::new();
                return;
            };
            let words = parser.args(rest);
            let found = gate::find(words).ok();
            let key = found.and_then(|(command, _)| words.get(command.spec.keys.single_of(words)?));
            let (located, row) = match key {
                None => (Located::default(), None),
                // A key is prefetched once.
                Some(key) if !key.is_empty() && key == last.0 => (last.1.again(key), None),
                Some(key) => {
                    let located = Located::new(seed, key);
                    let row = (consumed < bytes.len()).then(|| {
                        node.engine
                            .hint_row(META, &rows::meta(db.physical, located.slot, located.hash48, key))
                    });
                    (located, row)
                }
            };
            let batch = match (found, key) {
                (Some((command, _)), Some(_)) => command.batch,
                _ => Batch::None,
            };
            let joins = match batch {
                Batch::Writes if last.2 == batch && key == Some(last.0) => Joins::SameKey,
                Batch::Writes if last.2 == batch && written_keys < MAX_WRITTEN_KEYS => Joins::OtherKey,
                Batch::Reads if last.2 == batch => Joins::OtherKey,
                _ => Joins::No,
            };
            written_keys = match joins {
                Joins::No => 1,
                Joins::SameKey => written_keys,
                Joins::OtherKey => written_keys + 1,
            };
            last = (key.unwrap_or_default(), located, batch);
            self.upcoming.push(Upcoming { start, end: start + consumed, found, located, row, joins });
            start += consumed;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.upcoming.is_empty()
    }

    /// The words of one of them; `bytes` is what was parsed.
    #[inline]
    pub fn words<'a>(&'a self, index: usize, bytes: &'a [u8]) -> Option<Words<'a>> {
        let upcoming = self.upcoming.get(index)?;
        Some(self.parsers.get(index)?.args(bytes.get(upcoming.start..)?))
    }

    /// One of them as a call; None where it is to be refused.
    #[inline]
    pub fn call<'a>(&'a self, index: usize, db: u16, bytes: &'a [u8]) -> Option<Call<'a>> {
        let Upcoming { found, located, .. } = *self.upcoming.get(index)?;
        let (command, named) = found?;
        Some(Call { command, named, words: self.words(index, bytes)?, db, located })
    }

    /// Where the bytes of one of them end.
    pub fn end(&self, index: usize) -> usize {
        self.upcoming.get(index).map_or(0, |upcoming| upcoming.end)
    }

    /// Those, from this one on, that may be in one unit, and whether all of them are about one key.
    #[inline]
    pub fn batch_from(&self, index: usize) -> (Range<usize>, bool) {
        let behind = self.upcoming.get(index + 1..).unwrap_or_default().iter();
        let (mut end, mut one_key) = (index + 1, true);
        for upcoming in behind.take_while(|upcoming| upcoming.joins != Joins::No) {
            one_key &= upcoming.joins == Joins::SameKey;
            end += 1;
        }
        (index..end, one_key)
    }

    /// The keys of one of them and of what comes behind it.
    pub fn keys_from(&self, index: usize, bytes: &[u8]) -> OwnedArgs {
        let behind = (index..self.upcoming.len()).filter_map(|index| self.call(index, 0, bytes));
        behind.filter_map(|call| call.words.get(call.command.spec.keys.single()?)).collect()
    }
}
