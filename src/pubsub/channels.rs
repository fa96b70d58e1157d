//! Which channels somebody listens to, coarsely: for other nodes, which need not send what nobody hears.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::registry::Kind;

/// One bit for all channels of the same place. Nodes send it to each other, so the number and the hash are part of their protocol.
const PLACES: usize = 4_096;
const WORDS: usize = PLACES / 64;
pub const CHANNELS_LEN: usize = PLACES / 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channels(Box<[u64; WORDS]>);

impl Default for Channels {
    fn default() -> Channels {
        Channels(Box::new([0; WORDS]))
    }
}

impl Channels {
    /// Where a channel is. Those of slots are others than those of the same name that are not.
    pub fn place(kind: Kind, name: &[u8]) -> usize {
        let seed = u64::from(kind == Kind::Shard);
        (xxh3_64_with_seed(name, seed) % PLACES as u64) as usize
    }

    pub fn contains(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 != 0)
    }

    pub fn set(&mut self, place: usize, is_set: bool) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word = *word & !(1 << (place % 64)) | u64::from(is_set) << (place % 64);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
    }

    pub fn decode(bytes: &[u8; CHANNELS_LEN]) -> Channels {
        let mut channels = Channels::default();
        for (word, bytes) in channels.0.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        channels
    }
}

/// The channels that are subscribed to, and how many of them are at each place.
#[derive(Debug)]
pub struct Counted {
    pub channels: Channels,
    counts: Vec<u32>,
}

impl Default for Counted {
    fn default() -> Counted {
        Counted { channels: Channels::default(), counts: vec![0; PLACES] }
    }
}

impl Counted {
    /// A channel that nobody listened to before.
    pub fn add(&mut self, kind: Kind, name: &[u8]) {
        self.change(kind, name, |count| count.saturating_add(1));
    }

    /// A channel that nobody listens to any more.
    pub fn remove(&mut self, kind: Kind, name: &[u8]) {
        self.change(kind, name, |count| count.saturating_sub(1));
    }

    fn change(&mut self, kind: Kind, name: &[u8], change: impl FnOnce(u32) -> u32) {
        if kind == Kind::Pattern {
            return;
        }
        let place = Channels::place(kind, name);
        if let Some(count) = self.counts.get_mut(place) {
            *count = change(*count);
            self.channels.set(place, *count != 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_never_change() {
        // Two versions of the program must agree.
        assert_eq!(Channels::place(Kind::Channel, b"news"), PLACE_OF_NEWS);
        let names: Vec<String> = (0..10_000).map(|n| format!("channel:{n}")).collect();
        let mut counted = Counted::default();
        let all = || names.iter().map(|name| name.as_bytes());
        all().for_each(|name| counted.add(Kind::Channel, name));
        counted.add(Kind::Pattern, b"*");
        for name in all() {
            assert!(counted.channels.contains(Channels::place(Kind::Channel, name)));
        }
        all().skip(1).for_each(|name| counted.remove(Kind::Channel, name));
        let left: Vec<usize> = (0..PLACES).filter(|place| counted.channels.contains(*place)).collect();
        assert_eq!(left, [Channels::place(Kind::Channel, b"channel:0")]);
        let mut bytes = Vec::new();
        counted.channels.encode(&mut bytes);
        assert_eq!(Channels::decode(&bytes.try_into().unwrap()), counted.channels);
        counted.remove(Kind::Channel, b"channel:0");
        assert!(counted.channels.is_empty());
        assert_ne!(Channels::place(Kind::Shard, b"news"), PLACE_OF_NEWS);
    }

    const PLACE_OF_NEWS: usize = 292;
}
