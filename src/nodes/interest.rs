//! What a node has somebody for: others send it nothing else.

use crate::pubsub::{Channels, Kind};

/// What a node wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interest {
    /// A pattern is subscribed to: every message to a channel is wanted.
    pub patterns: bool,
    /// Somebody waits in a blocking command.
    pub waiters: bool,
    /// Somebody caches what it has read.
    pub trackers: bool,
    /// Channels that are subscribed to, coarsely.
    pub channels: Channels,
}

const PATTERNS: u8 = 1;
const WAITERS: u8 = 2;
const TRACKERS: u8 = 4;

impl Interest {
    /// Whether changes of keys are wanted.
    pub fn in_changes(&self) -> bool {
        self.waiters || self.trackers
    }

    /// Whether messages are wanted at all.
    pub fn in_messages(&self) -> bool {
        self.patterns || !self.channels.is_empty()
    }

    /// Whether a message to a channel is wanted; `place` is that of the channel.
    pub fn in_channel(&self, kind: Kind, place: usize) -> bool {
        self.patterns && kind == Kind::Channel || self.channels.contains(place)
    }

    pub fn flags(&self) -> u8 {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        flag(self.patterns, PATTERNS) | flag(self.waiters, WAITERS) | flag(self.trackers, TRACKERS)
    }

    /// Flags that are not known are of a later version.
    pub fn of(flags: u8, channels: Channels) -> Interest {
        let has = |flag: u8| flags & flag != 0;
        Interest { patterns: has(PATTERNS), waiters: has(WAITERS), trackers: has(TRACKERS), channels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_known_and_sent() {
        let nothing = Interest::default();
        assert!(!nothing.in_changes() && !nothing.in_messages());
        let mut channels = Channels::default();
        let (news, other) = (Channels::place(Kind::Channel, b"news"), Channels::place(Kind::Channel, b"x"));
        channels.set(news, true);
        let some = Interest { waiters: true, channels, ..nothing.clone() };
        assert!(some.in_changes() && some.in_messages());
        assert!(some.in_channel(Kind::Channel, news) && !some.in_channel(Kind::Channel, other));
        let all = Interest { patterns: true, ..nothing };
        assert!(all.in_channel(Kind::Channel, other) && !all.in_channel(Kind::Shard, other));
        for interest in [some, all] {
            assert_eq!(Interest::of(interest.flags(), interest.channels.clone()), interest);
        }
    }
}
