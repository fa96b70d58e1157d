//! Types of options that are more than a number, a word or a text.

use std::fmt;
use std::num::NonZeroU64;

/// A number where zero means "find it out from the machine".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Auto(pub u64);

impl Auto {
    pub fn set(self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.0)
    }
}

/// A number of bytes, or a part of another option's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    Bytes(u64),
    Percent(u8),
}

impl Default for Share {
    fn default() -> Self {
        Self::Bytes(0)
    }
}

impl Share {
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => percent_of(whole, percent),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Rounds down and cannot overflow.
pub(super) fn percent_of(whole: u64, percent: u8) -> u64 {
    (u128::from(whole) * u128::from(percent) / 100) as u64
}

/// When a client that does not read its replies is cut off. Zero switches a limit off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputLimit {
    pub hard_bytes: u64,
    /// May be passed for at most `soft_secs`.
    pub soft_bytes: u64,
    pub soft_secs: u64,
}

/// [`OutputLimit`] by class of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputLimits {
    pub normal: OutputLimit,
    pub replica: OutputLimit,
    pub pubsub: OutputLimit,
}

impl OutputLimits {
    pub(super) fn classes(&self) -> [(&'static str, &OutputLimit); 3] {
        [("normal", &self.normal), ("slave", &self.replica), ("pubsub", &self.pubsub)]
    }

    pub(super) fn class_mut(&mut self, name: &str) -> Option<&mut OutputLimit> {
        match name {
            "normal" => Some(&mut self.normal),
            "slave" | "replica" => Some(&mut self.replica),
            "pubsub" => Some(&mut self.pubsub),
            _ => None,
        }
    }
}

impl fmt::Display for OutputLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.hard_bytes, self.soft_bytes, self.soft_secs)
    }
}

impl fmt::Display for OutputLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.classes().map(|(name, limit)| format!("{name} {limit}"));
        write!(f, "{a} {b} {c}")
    }
}

/// Which keyspace events are published, as a set of Redis's event classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Events(u32);

impl Events {
    pub const KEYSPACE: Self = Self(1 << 0);
    pub const KEYEVENT: Self = Self(1 << 1);
    pub const GENERIC: Self = Self(1 << 2);
    pub const STRING: Self = Self(1 << 3);
    pub const LIST: Self = Self(1 << 4);
    pub const SET: Self = Self(1 << 5);
    pub const HASH: Self = Self(1 << 6);
    pub const ZSET: Self = Self(1 << 7);
    pub const EXPIRED: Self = Self(1 << 8);
    pub const EVICTED: Self = Self(1 << 9);
    pub const STREAM: Self = Self(1 << 10);
    pub const KEY_MISS: Self = Self(1 << 11);
    pub const MODULE: Self = Self(1 << 13);
    pub const NEW: Self = Self(1 << 14);
    pub const OVERWRITTEN: Self = Self(1 << 15);
    pub const SUBKEYSPACE: Self = Self(1 << 16);
    pub const SUBKEYEVENT: Self = Self(1 << 17);
    pub const SUBKEYSPACEITEM: Self = Self(1 << 18);
    pub const SUBKEYSPACEEVENT: Self = Self(1 << 19);
    pub const TYPE_CHANGED: Self = Self(1 << 20);
    /// Not an option: somebody subscribes to something.
    pub const SUBSCRIBED: Self = Self(1 << 31);

    /// What is told of a key that is overwritten.
    pub const REPLACED: Self = Self(Self::OVERWRITTEN.0 | Self::TYPE_CHANGED.0);
    /// The letters that say where the fields of an event are told.
    pub const SUBKEY_CHANNELS: Self =
        Self(Self::SUBKEYSPACE.0 | Self::SUBKEYEVENT.0 | Self::SUBKEYSPACEITEM.0 | Self::SUBKEYSPACEEVENT.0);
    /// The letters that say where events are told. Without one of them, none is.
    const ANY_CHANNEL: Self = Self(Self::KEYSPACE.0 | Self::KEYEVENT.0 | Self::SUBKEY_CHANNELS.0);

    /// What the letter `A` stands for: every class of events but misses, new and overwritten keys and changed types.
    const ALL: Self = Self(
        Self::GENERIC.0
            | Self::STRING.0
            | Self::LIST.0
            | Self::SET.0
            | Self::HASH.0
            | Self::ZSET.0
            | Self::EXPIRED.0
            | Self::EVICTED.0
            | Self::STREAM.0
            | Self::MODULE.0,
    );

    /// In the order in which CONFIG GET lists the letters that `A` covers.
    const CLASSES: [(u8, Self); 13] = [
        (b'g', Self::GENERIC),
        (b'$', Self::STRING),
        (b'l', Self::LIST),
        (b's', Self::SET),
        (b'h', Self::HASH),
        (b'z', Self::ZSET),
        (b'x', Self::EXPIRED),
        (b'e', Self::EVICTED),
        (b't', Self::STREAM),
        (b'd', Self::MODULE),
        (b'n', Self::NEW),
        (b'o', Self::OVERWRITTEN),
        (b'c', Self::TYPE_CHANGED),
    ];
    const CHANNELS: [(u8, Self); 7] = [
        (b'K', Self::KEYSPACE),
        (b'E', Self::KEYEVENT),
        (b'm', Self::KEY_MISS),
        (b'S', Self::SUBKEYSPACE),
        (b'T', Self::SUBKEYEVENT),
        (b'I', Self::SUBKEYSPACEITEM),
        (b'V', Self::SUBKEYSPACEEVENT),
    ];

    /// None when a letter is unknown.
    pub fn parse(letters: &[u8]) -> Option<Self> {
        letters.iter().try_fold(Self::default(), |events, letter| {
            if *letter == b'A' {
                return Some(Self(events.0 | Self::ALL.0));
            }
            let mut known = Self::CLASSES.iter().chain(&Self::CHANNELS);
            known.find(|(name, _)| name == letter).map(|(_, class)| Self(events.0 | class.0))
        })
    }

    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What commands have to note, given that somebody subscribes.
    pub fn to_note(self) -> Self {
        let told = if self.intersects(Self::ANY_CHANNEL) { self.0 } else { 0 };
        Self(told | Self::SUBSCRIBED.0)
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, known: &[(u8, Self)]| {
            known
                .iter()
                .filter(|(_, class)| self.contains(*class))
                .try_for_each(|(letter, _)| f.write_str(char::from(*letter).encode_utf8(&mut [0; 4])))
        };
        // Redis does not list `n` beside `A`.
        if self.contains(Self::ALL) {
            f.write_str("A")?
        } else {
            write(f, &Self::CLASSES)?
        }
        write(f, &Self::CHANNELS)
    }
}

/// Percentiles of command latency that INFO shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Percentiles(pub Vec<f64>);

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&texts.join(" "))
    }
}

/// How much likelier than others the kernel ends this process when memory is short: `oom-score-adj-values`. Redis has one for
/// a master, one for a replica and one for its child processes; there is only the first here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OomScores(pub [i32; 3]);

impl OomScores {
    pub const MOST: i32 = 2_000;
}

impl fmt::Display for OomScores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.0;
        write!(f, "{a} {b} {c}")
    }
}

/// `save <seconds> <changes>` of a redis.conf. Kept and shown; data is durable without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavePoint {
    pub secs: u64,
    pub changes: u64,
}

impl fmt::Display for SavePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.secs, self.changes)
    }
}
