//! What one client subscribes to, and which connections of one I/O thread subscribe to a name.

use std::hash::RandomState;

use hashbrown::{HashMap, HashSet};
use tarn_resp::{Args as Words, Protocol, encode};

use super::registry::{Kind, Name, Registry};

/// The connections of a thread that subscribe to a name, by their places. Known to that thread alone.
#[derive(Debug, Default)]
pub struct Subscribers {
    by_name: HashMap<(Kind, Name), Places, RandomState>,
}

type Places = HashSet<usize, RandomState>;

impl Subscribers {
    pub fn add(&mut self, kind: Kind, name: &Name, place: usize) {
        self.by_name.entry((kind, Name::clone(name))).or_default().insert(place);
    }

    pub fn remove(&mut self, kind: Kind, name: &Name, place: usize) {
        let key = (kind, Name::clone(name));
        if let Some(places) = self.by_name.get_mut(&key) {
            places.remove(&place);
            if places.is_empty() {
                self.by_name.remove(&key);
            }
        }
    }

    pub fn of(&self, kind: Kind, name: &Name) -> impl Iterator<Item = usize> + '_ {
        self.by_name.get(&(kind, Name::clone(name))).into_iter().flatten().copied()
    }
}

/// What one client subscribes to. Most subscribe to nothing, and keep nothing for it.
#[derive(Debug, Default)]
pub struct Subscriptions(Option<Box<Names>>);

#[derive(Debug, Default)]
struct Names {
    channels: HashSet<Name, RandomState>,
    patterns: HashSet<Name, RandomState>,
    shards: HashSet<Name, RandomState>,
}

/// A change that clients ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub kind: Kind,
    pub subscribes: bool,
}

/// What became of one name.
#[derive(Debug)]
pub struct Changed {
    pub kind: Kind,
    pub name: Name,
}

impl Subscriptions {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn count(&self, kind: Kind) -> usize {
        self.0.as_ref().map_or(0, |names| names.of(kind).len())
    }

    /// Subscribes to the names, or ends subscriptions to them; to all if none is named. A confirmation for each goes to `out`;
    /// what has changed for the thread is returned.
    pub fn change(
        &mut self,
        registry: &mut Registry,
        thread: usize,
        change: Change,
        names: Words<'_>,
        (protocol, out): (Protocol, &mut Vec<u8>),
    ) -> Vec<Changed> {
        let Change { kind, subscribes } = change;
        let mut changed = Vec::new();
        let mut confirm = |name: Option<&[u8]>, subscriptions: &Subscriptions| {
            encode::push_len(out, protocol, 3);
            encode::bulk(out, change.word().as_bytes());
            match name {
                Some(name) => encode::bulk(out, name),
                None => encode::null(out, protocol),
            }
            encode::integer(out, subscriptions.shown(kind) as i64);
        };
        if !subscribes && names.is_empty() {
            let all: Vec<Name> = self.names(kind).cloned().collect();
            if all.is_empty() {
                confirm(None, self);
            }
            for name in all {
                self.end(registry, thread, kind, &name);
                confirm(Some(&name), self);
                changed.push(Changed { kind, name });
            }
            return changed;
        }
        for name in names.iter() {
            let known = self.names_mut(kind).get(name).cloned();
            match known {
                None if subscribes => {
                    let name = registry.add(kind, name, thread);
                    self.names_mut(kind).insert(Name::clone(&name));
                    changed.push(Changed { kind, name });
                }
                Some(name) if !subscribes => {
                    self.end(registry, thread, kind, &name);
                    changed.push(Changed { kind, name });
                }
                _ => {}
            }
            confirm(Some(name), self);
        }
        self.tidy();
        changed
    }

    /// Ends every subscription, without a word to the client.
    pub fn clear(&mut self, registry: &mut Registry, thread: usize) -> Vec<Changed> {
        let mut changed = Vec::new();
        for kind in Kind::ALL {
            let all: Vec<Name> = self.names(kind).cloned().collect();
            for name in all {
                self.end(registry, thread, kind, &name);
                changed.push(Changed { kind, name });
            }
        }
        changed
    }

    fn end(&mut self, registry: &mut Registry, thread: usize, kind: Kind, name: &Name) {
        registry.remove(kind, name, thread);
        self.names_mut(kind).remove(name);
        self.tidy();
    }

    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(move |names| names.of(kind))
    }

    fn names_mut(&mut self, kind: Kind) -> &mut HashSet<Name, RandomState> {
        let names = self.0.get_or_insert_default();
        match kind {
            Kind::Channel => &mut names.channels,
            Kind::Pattern => &mut names.patterns,
            Kind::Shard => &mut names.shards,
        }
    }

    fn tidy(&mut self) {
        if Kind::ALL.iter().all(|kind| self.count(*kind) == 0) {
            self.0 = None;
        }
    }

    /// The number in a confirmation: channels and patterns are counted together.
    fn shown(&self, kind: Kind) -> usize {
        match kind {
            Kind::Shard => self.count(Kind::Shard),
            Kind::Channel | Kind::Pattern => self.count(Kind::Channel) + self.count(Kind::Pattern),
        }
    }
}

impl Names {
    fn of(&self, kind: Kind) -> &HashSet<Name, RandomState> {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shards,
        }
    }
}

impl Change {
    /// What a confirmation begins with.
    fn word(self) -> &'static str {
        match (self.kind, self.subscribes) {
            (Kind::Channel, true) => "subscribe",
            (Kind::Channel, false) => "unsubscribe",
            (Kind::Pattern, true) => "psubscribe",
            (Kind::Pattern, false) => "punsubscribe",
            (Kind::Shard, true) => "ssubscribe",
            (Kind::Shard, false) => "sunsubscribe",
        }
    }
}
