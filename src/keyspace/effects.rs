//! What must happen once a transaction is committed. A run notes it in order; what a failed or repeated run has noted is
//! dropped with it. [`crate::dispatch::effects`] carries it out, in the order of the commits.

use std::sync::Arc;

use super::context::Db;
use super::events::{Event, Note};
use super::garbage::Dead;

#[derive(Debug)]
pub enum Effect {
    /// Subscribers hear of it.
    Tell(Note),
    /// A database has a new physical number.
    Renumber(Db),
    /// The rows of a collection are garbage.
    Dead(Dead),
    /// Who monitors the server sees this line.
    Monitor(Arc<[u8]>),
    /// The caller watches a key from now on.
    Watch { db: u16, key: Box<[u8]>, was: Was },
}

/// How a key was when its watch began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Was {
    There,
    Missing,
    /// On record, but its time had come: that it is removed from there is no change.
    Expired,
}

/// Rows of which is noted in which order they were put.
const MAX_STORED: usize = 1_024;

#[derive(Debug, Default)]
pub struct Effects {
    /// In the order in which they were noted.
    pub list: Vec<Effect>,
    /// Keys that were read, or would have been, if their time had not come: to be removed by whoever may write.
    pub lapsed: Vec<(u16, Box<[u8]>)>,
    /// The first metadata rows that were put, in order: only while [`super::Env::notes_order`] asks for it.
    pub stored: Vec<Box<[u8]>>,
    /// Where those of the call that runs begin.
    pub(super) call: usize,
}

impl Effects {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.lapsed.is_empty()
    }

    #[cold]
    pub(super) fn note_stored(&mut self, row: &[u8]) {
        if self.stored.len() < MAX_STORED && self.stored.last().is_none_or(|last| **last != *row) {
            self.stored.push(row.into());
        }
    }

    /// Whether subscribers are to hear of anything.
    #[inline]
    pub fn tells(&self) -> bool {
        self.list.iter().any(|effect| matches!(effect, Effect::Tell(_)))
    }

    /// What has ended.
    pub fn dead(&self) -> impl Iterator<Item = &Dead> {
        self.list.iter().filter_map(|effect| match effect {
            Effect::Dead(dead) => Some(dead),
            _ => None,
        })
    }

    /// The number that this database has, as far as the transaction has changed it.
    pub fn renumbered(&self, logical: u16) -> Option<Db> {
        self.renumbers().rev().find(|db| db.logical == logical)
    }

    /// The database that has this number by the transaction's own doing.
    pub fn owner(&self, physical: u32) -> Option<Db> {
        self.renumbers().rev().find(|db| db.physical == physical)
    }

    /// Whether the transaction changes the map of databases.
    pub fn renumbers_any(&self) -> bool {
        self.renumbers().next().is_some()
    }

    fn renumbers(&self) -> impl DoubleEndedIterator<Item = Db> {
        self.list.iter().filter_map(|effect| match effect {
            Effect::Renumber(db) => Some(*db),
            _ => None,
        })
    }

    /// Another call begins.
    #[inline]
    pub(super) fn begin_call(&mut self) {
        self.call = self.list.len();
    }

    /// The call that noted them, from this place on, was refused in the end. What remains: keys that were looked for were
    /// not there, and those whose time had come are still to be removed.
    pub fn refuse_from(&mut self, first: usize) {
        let noted: Vec<Effect> = self.list.drain(first.min(self.list.len())..).collect();
        for effect in noted {
            match effect {
                Effect::Tell(Note::Key { event: Event::EXPIRED, db, key, .. }) => self.lapsed.push((db, key)),
                Effect::Tell(Note::Key { event: Event::KEY_MISS, .. }) => self.list.push(effect),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(event: Event, name: &[u8]) -> Effect {
        Effect::Tell(Note::Key { event, db: 0, key: name.into(), fields: Vec::new() })
    }

    #[test]
    fn of_a_refused_call_remains_what_it_met() {
        let mut effects = Effects::default();
        assert!(effects.is_empty() && !effects.tells());
        effects.list.push(Effect::Renumber(Db { logical: 1, physical: 2 }));
        assert!(!effects.is_empty() && !effects.tells());
        effects.list.push(key(Event::SET, b"before"));
        let first = effects.list.len();
        effects.list.extend([
            key(Event::EXPIRED, b"old"),
            key(Event::SET, b"new"),
            key(Event::KEY_MISS, b"gone"),
        ]);
        effects.refuse_from(first);
        assert_eq!(effects.lapsed, [(0, b"old"[..].into())]);
        let told = |effect: &Effect| match effect {
            Effect::Tell(Note::Key { event, key, .. }) => format!("{} {}", event.name, key.escape_ascii()),
            other => format!("{other:?}"),
        };
        let told: Vec<String> = effects.list.iter().skip(1).map(told).collect();
        assert_eq!(told, ["set before", "keymiss gone"]);
        assert!(effects.tells());
    }
}
