//! How many subscribers a name has, on which I/O threads.

use std::hash::RandomState;
use std::sync::Arc;

use hashbrown::HashMap;
use smallvec::SmallVec;
use tarn_resp::encode;

use super::channels::{Channels, Counted};
use crate::glob;

/// What a client subscribes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Channel,
    Pattern,
    /// A channel that belongs to a slot.
    Shard,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Channel, Kind::Pattern, Kind::Shard];
}

/// A channel or a pattern.
pub type Name = Arc<[u8]>;

/// Subscriptions per thread.
#[derive(Debug, Default)]
struct Audience {
    by_thread: SmallVec<[u32; 8]>,
    total: usize,
}

type Audiences = HashMap<Name, Audience, RandomState>;

#[derive(Debug, Default)]
pub struct Registry {
    channels: Audiences,
    patterns: Audiences,
    shards: Audiences,
    /// For other nodes, where there could be some.
    counted: Option<Box<Counted>>,
}

/// Takes one message for a thread: the subscribers of this name are to have these bytes.
pub type Put<'p> = &'p mut dyn FnMut(usize, Kind, &Name, &dyn Fn(&mut Vec<u8>));

impl Registry {
    fn of(&self, kind: Kind) -> &Audiences {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shards,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Audiences {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shards,
        }
    }

    pub fn is_empty(&self) -> bool {
        Kind::ALL.iter().all(|kind| self.of(*kind).is_empty())
    }

    /// From now on, before anybody subscribes, [`Registry::channels`] knows.
    pub(super) fn count_channels(&mut self) {
        self.counted = Some(Box::default());
    }

    /// The channels that somebody subscribes to, coarsely.
    pub(super) fn channels(&self) -> Channels {
        self.counted.as_ref().map(|counted| counted.channels.clone()).unwrap_or_default()
    }

    /// One more subscriber; the name as everybody spells it from now on.
    pub fn add(&mut self, kind: Kind, name: &[u8], thread: usize) -> Name {
        let audiences = self.of_mut(kind);
        let name =
            audiences.get_key_value(name).map_or_else(|| Name::from(name), |(name, _)| Arc::clone(name));
        let audience = audiences.entry(Arc::clone(&name)).or_default();
        if audience.by_thread.len() <= thread {
            audience.by_thread.resize(thread + 1, 0);
        }
        if let Some(count) = audience.by_thread.get_mut(thread) {
            *count += 1;
            audience.total += 1;
        }
        if audience.total == 1
            && let Some(counted) = &mut self.counted
        {
            counted.add(kind, &name);
        }
        name
    }

    pub fn remove(&mut self, kind: Kind, name: &Name, thread: usize) {
        let audiences = self.of_mut(kind);
        let Some(audience) = audiences.get_mut(name) else { return };
        if let Some(count) = audience.by_thread.get_mut(thread).filter(|count| **count > 0) {
            *count -= 1;
            audience.total -= 1;
        }
        if audience.total == 0 {
            audiences.remove(name);
            if let Some(counted) = &mut self.counted {
                counted.remove(kind, name);
            }
        }
    }

    /// Number of names somebody subscribes to.
    pub fn names(&self, kind: Kind) -> usize {
        self.of(kind).len()
    }

    /// Number of subscribers of a name.
    pub fn subscribers(&self, kind: Kind, name: &[u8]) -> usize {
        self.of(kind).get(name).map_or(0, |audience| audience.total)
    }

    /// The names somebody subscribes to.
    pub fn iter(&self, kind: Kind) -> impl Iterator<Item = &Name> {
        self.of(kind).keys()
    }

    /// Gives a message to each thread that has subscribers of its channel, or of a pattern that matches it, and returns
    /// how many there are in all.
    pub fn route(&self, kind: Kind, channel: &[u8], message: &[u8], put: Put<'_>) -> usize {
        let mut receivers = 0;
        if let Some((name, audience)) = self.of(kind).get_key_value(channel) {
            let word = if kind == Kind::Shard { "smessage" } else { "message" };
            receivers += audience.total;
            audience.each_thread(|thread| {
                put(thread, kind, name, &|out| push(out, &[word.as_bytes(), channel, message]));
            });
        }
        if kind == Kind::Channel {
            for (pattern, audience) in &self.patterns {
                if !glob::matches(pattern, channel, false) {
                    continue;
                }
                receivers += audience.total;
                audience.each_thread(|thread| {
                    put(thread, Kind::Pattern, pattern, &|out| {
                        push(out, &[b"pmessage", pattern, channel, message]);
                    });
                });
            }
        }
        receivers
    }
}

impl Audience {
    fn each_thread(&self, mut each: impl FnMut(usize)) {
        for (thread, count) in self.by_thread.iter().enumerate() {
            if *count > 0 {
                each(thread);
            }
        }
    }
}

/// A message as RESP2 has it. To RESP3 clients its first byte is another one, and nothing else.
fn push(out: &mut Vec<u8>, parts: &[&[u8]]) {
    out.reserve(parts.iter().map(|part| part.len() + 16).sum());
    encode::array_len(out, parts.len());
    parts.iter().for_each(|part| encode::bulk(out, part));
}
