//! What a command is, written once, in the table of its family. Everything else derives from it: the arity gate, key
//! extraction and locks, COMMAND and COMMAND DOCS, ACL categories, metrics labels, docs/commands.md.

use super::args::Args;
use super::script::ScriptCall;
use super::session::{Answer, SessionCx};
use crate::error::Result;
use crate::keyspace::{ReadCx, WriteCx};
use crate::reply::Reply;
use crate::scripting::Scripting;

pub type ReadFn = fn(&mut ReadCx<'_>, Args<'_>) -> Result<Reply>;
pub type WriteFn = fn(&mut WriteCx<'_>, Args<'_>) -> Result<Reply>;
pub type SessionFn = fn(&mut SessionCx<'_>, Args<'_>) -> Result<Answer>;
pub type ScriptFn = for<'a> fn(&Scripting, Args<'a>) -> Result<ScriptCall<'a>>;

/// What runs a command, and so what it may do.
#[derive(Clone, Copy)]
pub enum Run {
    Read(ReadFn),
    Write(WriteFn),
    /// Concerns the connection or the server, not keys.
    Session(SessionFn),
    /// Runs a script, which makes calls of its own: this finds it.
    Script(ScriptFn),
    /// Only has subcommands.
    Container,
}

/// Words in a command, its name included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    Exactly(u16),
    AtLeast(u16),
}

impl Arity {
    pub fn admits(self, words: usize) -> bool {
        match self {
            Arity::Exactly(n) => words == usize::from(n),
            Arity::AtLeast(n) => words >= usize::from(n),
        }
    }

    /// As COMMAND INFO shows it.
    pub fn number(self) -> i64 {
        match self {
            Arity::Exactly(n) => i64::from(n),
            Arity::AtLeast(n) => -i64::from(n),
        }
    }
}

/// A set of named bits.
macro_rules! bits {
    ($(#[$meta:meta])* $name:ident: $repr:ty { $($const:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name(pub $repr);

        impl $name {
            bits!(@consts $repr, 0, $($const,)+);
            /// Every bit with its word, in the order of replies. A bit without one is not shown.
            pub const WORDS: &[($name, &str)] = &[$(($name::$const, $word)),+];

            pub const fn or(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }

            pub const fn without(self, other: $name) -> $name {
                $name(self.0 & !other.0)
            }

            pub const fn has(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            pub fn words(self) -> impl Iterator<Item = &'static str> {
                let is_shown = move |(bit, word): &&($name, &str)| self.has(*bit) && !word.is_empty();
                Self::WORDS.iter().filter(is_shown).map(|(_, word)| *word)
            }
        }
    };
    (@consts $repr:ty, $n:expr, $const:ident, $($rest:ident,)*) => {
        pub const $const: Self = Self(1 << ($n));
        bits!(@consts $repr, $n + 1, $($rest,)*);
    };
    (@consts $repr:ty, $n:expr,) => {};
}

bits! {
    /// Command flags, with the words of COMMAND INFO.
    Flags: u32 {
        WRITE = "write",
        READONLY = "readonly",
        DENYOOM = "denyoom",
        ADMIN = "admin",
        PUBSUB = "pubsub",
        NOSCRIPT = "noscript",
        BLOCKING = "blocking",
        LOADING = "loading",
        STALE = "stale",
        SKIP_MONITOR = "skip_monitor",
        SKIP_SLOWLOG = "skip_slowlog",
        ASKING = "asking",
        FAST = "fast",
        NO_AUTH = "no_auth",
        // No write, but others are told of it. COMMAND INFO of Redis does not show it.
        MAY_REPLICATE = "",
        NO_MANDATORY_KEYS = "no_mandatory_keys",
        NO_ASYNC_LOADING = "no_async_loading",
        NO_MULTI = "no_multi",
        MOVABLE_KEYS = "movablekeys",
        ALLOW_BUSY = "allow_busy",
    }
}

bits! {
    /// How a command treats a key.
    KeyFlags: u16 {
        RO = "RO",
        RW = "RW",
        OW = "OW",
        RM = "RM",
        ACCESS = "access",
        UPDATE = "update",
        INSERT = "insert",
        DELETE = "delete",
        NOT_KEY = "not_key",
        INCOMPLETE = "incomplete",
        VARIABLE_FLAGS = "variable_flags",
    }
}

/// With which other commands of a pipeline a command is run in one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    None,
    /// Those that write one key as well, few different ones together.
    Writes,
    /// Those that only read.
    Reads,
}

/// Where a command's keys stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// From the first position to `last` (negative: counted from the end, -1 the last word), every `step` words.
    Range { last: i16, step: u16 },
    /// A count at the begin position, the keys right behind it, every `step` words.
    Counted { step: u16 },
    /// Behind an option that may stand anywhere from the begin position on; the last one counts.
    Behind(&'static KeyOption),
    /// Behind a word that stands somewhere from the begin position on: the first half of all that follows.
    HalfBehind(&'static str),
    /// The one key at the begin position, unless a list of keys takes its place.
    Unless(&'static KeyList),
    /// All words of that list.
    List(&'static KeyList),
    /// Nobody can tell before the command runs.
    Unknown,
}

/// A word behind which all that follows is keys, in place of the one key that stands elsewhere and is empty then.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyList {
    pub word: &'static str,
    /// Where the one key stands, and where options begin.
    pub instead_of: u16,
    pub options: u16,
    /// The other options that have words behind them, and how many.
    pub others: &'static [(&'static str, usize)],
}

impl KeyList {
    /// Where the keys begin, if there are any.
    pub fn begin(&self, words: tarn_resp::Args<'_>) -> Option<usize> {
        if !words.get(usize::from(self.instead_of))?.is_empty() {
            return None;
        }
        let mut at = usize::from(self.options);
        loop {
            let word = words.get(at)?;
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            if is(self.word) {
                return Some(at + 1);
            }
            at += 1 + self.others.iter().find(|(name, _)| is(name)).map_or(0, |(_, count)| *count);
        }
    }
}

/// An option that names a key.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyOption {
    pub word: &'static str,
    /// The other options that have words behind them, and how many.
    pub others: &'static [(&'static str, usize)],
    /// Whether Redis shows it as a keyword.
    pub is_shown: bool,
}

impl KeyOption {
    /// Where the key stands in a command whose options begin at `first`.
    fn find(&self, first: usize, words: tarn_resp::Args<'_>) -> Option<usize> {
        let mut found = None;
        let mut at = first;
        while let Some(word) = words.get(at) {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            if is(self.word) && at + 1 < words.len() {
                found = Some(at + 1);
                at += 1;
            } else if let Some((_, count)) = self.others.iter().find(|(name, _)| is(name)) {
                at += count;
            }
            at += 1;
        }
        found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpec {
    /// Position of the first key, or of the count.
    pub first: u16,
    pub find: Find,
    pub flags: KeyFlags,
    /// What the flags cannot say.
    pub note: &'static str,
}

/// The keys of a command: none, or up to three specs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    specs: [Option<KeySpec>; 3],
}

impl Keys {
    pub const NONE: Keys = Keys { specs: [None, None, None] };

    /// One key at a position.
    pub const fn at(first: u16, flags: KeyFlags) -> Keys {
        Keys::range(first, first as i16, 1, flags)
    }

    pub const fn range(first: u16, last: i16, step: u16, flags: KeyFlags) -> Keys {
        Keys::of(first, Find::Range { last, step }, flags)
    }

    pub const fn counted(at: u16, flags: KeyFlags) -> Keys {
        Keys::of(at, Find::Counted { step: 1 }, flags)
    }

    /// Keys and values by turns, behind their count.
    pub const fn counted_pairs(at: u16, flags: KeyFlags) -> Keys {
        Keys::of(at, Find::Counted { step: 2 }, flags)
    }

    /// The key behind an option, wherever it stands from a position on.
    pub const fn behind(option: &'static KeyOption, first: u16, flags: KeyFlags) -> Keys {
        Keys::of(first, Find::Behind(option), flags)
    }

    /// The first half of what follows a word, wherever it stands from a position on.
    pub const fn half_behind(word: &'static str, first: u16, flags: KeyFlags) -> Keys {
        Keys::of(first, Find::HalfBehind(word), flags)
    }

    /// One key, or a list of them that stands elsewhere.
    pub const fn one_or_list(list: &'static KeyList, flags: KeyFlags) -> Keys {
        let one = Keys::of(list.instead_of, Find::Unless(list), flags);
        one.and(Keys::of(list.options, Find::List(list), flags.or(KeyFlags::INCOMPLETE)))
    }

    /// Keys that show only when the command runs.
    pub const fn unknown(flags: KeyFlags) -> Keys {
        Keys::of(1, Find::Unknown, flags)
    }

    const fn of(first: u16, find: Find, flags: KeyFlags) -> Keys {
        Keys { specs: [Some(KeySpec { first, find, flags, note: "" }), None, None] }
    }

    /// With the first spec of others.
    pub const fn and(self, other: Keys) -> Keys {
        match self.specs {
            [first, None, _] => Keys { specs: [first, other.specs[0], None] },
            [first, second, _] => Keys { specs: [first, second, other.specs[0]] },
        }
    }

    /// Adds what the flags of the first spec cannot say.
    pub const fn note(mut self, note: &'static str) -> Keys {
        if let Some(spec) = &mut self.specs[0] {
            spec.note = note;
        }
        self
    }

    pub fn specs(&self) -> impl Iterator<Item = &KeySpec> {
        self.specs.iter().flatten()
    }

    pub fn is_none(&self) -> bool {
        self.specs == [None, None, None]
    }

    /// The position of the one key of a command with one key at a fixed place: the common case, decided quickly.
    pub fn single(&self) -> Option<usize> {
        match self.specs {
            [Some(KeySpec { first, find: Find::Range { last, .. }, .. }), None, None]
                if last == first as i16 =>
            {
                Some(usize::from(first))
            }
            _ => None,
        }
    }

    /// As [`Keys::single`], and the one key of a command that might have had several.
    #[inline]
    pub fn single_of(&self, words: tarn_resp::Args<'_>) -> Option<usize> {
        match self.specs {
            [Some(KeySpec { first, find: Find::Range { last, .. }, .. }), None, None] => {
                // Below zero it is counted from the end.
                let words_of_one = usize::from(first) + usize::from(last.unsigned_abs());
                let is_alone = last == first as i16 || last < 0 && words.len() == words_of_one;
                is_alone.then_some(usize::from(first))
            }
            [Some(KeySpec { first, find: Find::Counted { .. }, .. }), None, None] => {
                let (count, at) = (usize::from(first), usize::from(first) + 1);
                (at < words.len() && words.get(count) == Some(b"1")).then_some(at)
            }
            [Some(KeySpec { first, find: Find::HalfBehind(word), .. }), None, None] => {
                let is_word = |at: &usize| {
                    words.get(*at).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
                };
                let begin = (usize::from(first)..words.len()).find(is_word)? + 1;
                ((words.len() - begin) / 2 == 1).then_some(begin)
            }
            _ => None,
        }
    }

    /// Positions of all keys in a command of `words`, with their spec. Positions beyond the command's end are left
    /// out: the handler will report what is missing.
    pub fn positions(&self, words: tarn_resp::Args<'_>) -> impl Iterator<Item = (usize, &KeySpec)> {
        self.specs().flat_map(move |spec| {
            let first = usize::from(spec.first);
            let (first, end, step) = match spec.find {
                Find::Range { last, step } => {
                    let end = if last < 0 {
                        words.len().saturating_sub(usize::from(last.unsigned_abs()) - 1)
                    } else {
                        (last as usize + 1).min(words.len())
                    };
                    (first, end, usize::from(step))
                }
                Find::Counted { step } => {
                    let count = words.get(first).and_then(crate::number::parse_i64).unwrap_or(0);
                    let room = words.len().saturating_sub(first + 1);
                    let step = usize::from(step);
                    let wanted = usize::try_from(count).unwrap_or(0).saturating_mul(step);
                    (first + 1, first + 1 + wanted.min(room), step)
                }
                Find::Behind(option) => {
                    let found = option.find(first, words);
                    (found.unwrap_or(0), found.map_or(0, |at| at + 1), 1)
                }
                Find::HalfBehind(word) => {
                    let is_word = |at: &usize| {
                        words.get(*at).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
                    };
                    let begin = (first..words.len()).find(is_word).map_or(words.len(), |at| at + 1);
                    (begin, begin + (words.len() - begin) / 2, 1)
                }
                Find::Unless(list) => (first, if list.begin(words).is_some() { 0 } else { first + 1 }, 1),
                Find::List(list) => list.begin(words).map_or((0, 0, 1), |begin| (begin, words.len(), 1)),
                Find::Unknown => (0, 0, 1),
            };
            (first..end).step_by(step.max(1)).map(move |at| (at, spec))
        })
    }
}

/// Families, as COMMAND DOCS names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    String,
    Hash,
    Set,
    List,
    SortedSet,
    Bitmap,
    HyperLogLog,
    Geo,
    Generic,
    Connection,
    Server,
    Cluster,
    PubSub,
    Transactions,
    Scripting,
    Stream,
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Group::String => "string",
            Group::Hash => "hash",
            Group::Set => "set",
            Group::List => "list",
            Group::SortedSet => "sorted-set",
            Group::Bitmap => "bitmap",
            Group::HyperLogLog => "hyperloglog",
            Group::Geo => "geo",
            Group::Generic => "generic",
            Group::Connection => "connection",
            Group::Server => "server",
            Group::Cluster => "cluster",
            Group::PubSub => "pubsub",
            Group::Transactions => "transactions",
            Group::Scripting => "scripting",
            Group::Stream => "stream",
        }
    }
}

/// Which elements of its key a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementHint {
    /// The one that this word names.
    Named(u8),
    /// The first or the last one of a list.
    First,
    Last,
    /// The place before the first one of a list, or behind the last.
    BeforeFirst,
    BehindLast,
    /// Any of them, by their names or by their scores.
    Any,
    AnyScore,
}

/// What a command does with the channels that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// The first argument.
    Publish,
    /// All arguments.
    Subscribe,
    SubscribePatterns,
}

/// Which databases a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Databases {
    /// The connection's, if it is about keys at all.
    Own,
    /// Those that these words name.
    Words(&'static [u16]),
    OwnAndWords(&'static [u16]),
    /// And the one behind an option that may stand from a position on.
    OwnAndOption(&'static str, u16),
    Every,
}

#[derive(Clone, Copy)]
pub struct Spec {
    /// Lower case; a subcommand's own word only.
    pub name: &'static str,
    pub arity: Arity,
    pub keys: Keys,
    pub flags: Flags,
    /// Words of ACL categories that do not follow from flags and group.
    pub acl: &'static [&'static str],
    pub tips: &'static [&'static str],
    pub group: Group,
    pub since: &'static str,
    pub summary: &'static str,
    pub complexity: &'static str,
    /// The command to use instead, and since when, if this one is kept for old clients only.
    pub deprecated: Option<(&'static str, &'static str)>,
    /// Not meant for applications.
    pub internal: bool,
    pub run: Run,
    pub subcommands: &'static [Spec],
    /// What runs instead where no key is named that would be written: over a snapshot if it is much, without keeping
    /// others from the keys.
    pub read_only: Option<ReadFn>,
    /// Takes every stripe: changes which rows belong to which database, or must not see a commit half-way.
    pub locks_everything: bool,
    /// Walks much: always runs on a worker, over a snapshot.
    pub long: bool,
    /// Which elements of its key it reads, as far as that can be told before it runs: they are prefetched.
    pub hint: Option<ElementHint>,
    /// Reads the keys that it does not change through [`WriteCx::sources`] only: much work does not hold their locks.
    pub reads_sources: bool,
    /// Is as little work as a fast command while it has one key: see [`Spec::batch`].
    pub batches_alone: bool,
    /// Runs at once behind MULTI, too.
    pub not_queued: bool,
    /// What it waits for goes with its key: it is told when that is gone.
    pub ends_with_key: bool,
    /// It sends messages or asks for them.
    pub talks: Option<Channels>,
    pub databases: Databases,
    /// Gets the fields that the connection has prepared put in between its words before it runs.
    pub takes_fieldset: bool,
}

const fn spec(name: &'static str, arity: Arity, keys: Keys, run: Run, flags: Flags) -> Spec {
    Spec {
        name,
        arity,
        keys,
        flags,
        acl: &[],
        tips: &[],
        group: Group::Generic,
        since: "1.0.0",
        summary: "",
        complexity: "",
        deprecated: None,
        internal: false,
        run,
        subcommands: &[],
        read_only: None,
        locks_everything: false,
        long: false,
        hint: None,
        reads_sources: false,
        batches_alone: false,
        not_queued: false,
        ends_with_key: false,
        talks: None,
        databases: Databases::Own,
        takes_fieldset: false,
    }
}

/// A command that only reads keys.
pub const fn read(name: &'static str, arity: Arity, keys: Keys, run: ReadFn) -> Spec {
    spec(name, arity, keys, Run::Read(run), Flags::READONLY)
}

/// A command that changes keys.
pub const fn write(name: &'static str, arity: Arity, keys: Keys, run: WriteFn) -> Spec {
    spec(name, arity, keys, Run::Write(run), Flags::WRITE)
}

/// A command about the connection or the server.
pub const fn session(name: &'static str, arity: Arity, run: SessionFn) -> Spec {
    spec(name, arity, Keys::NONE, Run::Session(run), Flags(0))
}

/// A command that runs a script.
pub const fn script(name: &'static str, keys: Keys, run: ScriptFn) -> Spec {
    spec(name, Arity::AtLeast(3), keys, Run::Script(run), Flags(0))
}

/// A command that has only subcommands.
pub const fn container(name: &'static str, arity: Arity, subcommands: &'static [Spec]) -> Spec {
    let mut it = spec(name, arity, Keys::NONE, Run::Container, Flags(0));
    it.subcommands = subcommands;
    it
}

impl Spec {
    pub const fn group(mut self, group: Group) -> Spec {
        self.group = group;
        self
    }

    pub const fn since(mut self, since: &'static str) -> Spec {
        self.since = since;
        self
    }

    pub const fn summary(mut self, summary: &'static str) -> Spec {
        self.summary = summary;
        self
    }

    pub const fn complexity(mut self, complexity: &'static str) -> Spec {
        self.complexity = complexity;
        self
    }

    pub const fn flags(mut self, flags: Flags) -> Spec {
        self.flags = self.flags.or(flags);
        self
    }

    /// Exactly these flags, whatever was said before.
    pub const fn set_flags(mut self, flags: Flags) -> Spec {
        self.flags = flags;
        self
    }

    /// Runs at once behind MULTI, too.
    pub const fn not_queued(mut self) -> Spec {
        self.not_queued = true;
        self
    }

    /// Is told when a key that it waits for is gone.
    pub const fn ends_with_key(mut self) -> Spec {
        self.ends_with_key = true;
        self
    }

    /// Is given fields that the connection has prepared.
    pub const fn takes_fieldset(mut self) -> Spec {
        self.takes_fieldset = true;
        self
    }

    /// Where the keys of a command about the connection stand.
    pub const fn keys(mut self, keys: Keys) -> Spec {
        self.keys = keys;
        self
    }

    /// Names that stand where keys do and are none: they only choose a node.
    pub const fn channels(mut self, keys: Keys) -> Spec {
        self.keys = keys;
        self
    }

    /// The permission to use channels is needed.
    pub const fn talks(mut self, channels: Channels) -> Spec {
        self.talks = Some(channels);
        self
    }

    /// The permission to use these databases is needed.
    pub const fn databases(mut self, databases: Databases) -> Spec {
        self.databases = databases;
        self
    }

    pub const fn fast(self) -> Spec {
        self.flags(Flags::FAST)
    }

    /// Refused while the memory budget is exhausted, in Redis; kept for clients that read the flag.
    pub const fn denyoom(self) -> Spec {
        self.flags(Flags::DENYOOM)
    }

    pub const fn acl(mut self, categories: &'static [&'static str]) -> Spec {
        self.acl = categories;
        self
    }

    /// What the flags of its first key cannot say.
    pub const fn key_note(mut self, note: &'static str) -> Spec {
        self.keys = self.keys.note(note);
        self
    }

    pub const fn tips(mut self, tips: &'static [&'static str]) -> Spec {
        self.tips = tips;
        self
    }

    /// Kept for old clients.
    pub const fn replaced_by(mut self, since: &'static str, other: &'static str) -> Spec {
        self.deprecated = Some((since, other));
        self
    }

    pub const fn internal(mut self) -> Spec {
        self.internal = true;
        self
    }

    pub const fn read_only(mut self, run: ReadFn) -> Spec {
        self.read_only = Some(run);
        self
    }

    pub const fn locks_everything(mut self) -> Spec {
        self.locks_everything = true;
        self
    }

    /// The element that a word names.
    pub const fn element_at(self, word: u8) -> Spec {
        self.hint(ElementHint::Named(word))
    }

    pub const fn hint(mut self, what: ElementHint) -> Spec {
        self.hint = Some(what);
        self
    }

    pub const fn long(mut self) -> Spec {
        self.long = true;
        self
    }

    pub const fn reads_sources(mut self) -> Spec {
        self.reads_sources = true;
        self
    }

    pub const fn batches_alone(mut self) -> Spec {
        self.batches_alone = true;
        self
    }

    pub const fn with_subcommands(mut self, subcommands: &'static [Spec]) -> Spec {
        self.subcommands = subcommands;
        self
    }

    pub fn subcommand(&self, word: &[u8]) -> Option<&'static Spec> {
        self.subcommands.iter().find(|sub| word.eq_ignore_ascii_case(sub.name.as_bytes()))
    }

    /// What runs this very command.
    #[inline]
    pub fn run_of(&self, words: tarn_resp::Args<'_>) -> Run {
        match self.read_only {
            Some(read) if self.keys.positions(words).all(|(_, key)| key.flags.has(KeyFlags::RO)) => {
                Run::Read(read)
            }
            _ => self.run,
        }
    }

    /// With which others a pipeline runs it in one unit, if it has one key: with some only where it is little work.
    pub fn batch(&self) -> Batch {
        let is_fast = self.flags.has(Flags::FAST) && self.keys.single().is_some();
        let is_little = (is_fast || self.batches_alone)
            && !(self.long || self.locks_everything || self.reads_sources || self.read_only.is_some());
        match self.run {
            // It finds what it wants by name or at random.
            Run::Write(_) if is_little && self.hint != Some(ElementHint::AnyScore) => Batch::Writes,
            Run::Read(_) if is_little && !self.flags.has(Flags::BLOCKING) => Batch::Reads,
            _ => Batch::None,
        }
    }

    /// For CLIENT PAUSE WRITE and for scripts that only read, what others are told of is a write too.
    pub fn counts_as_write(&self) -> bool {
        self.is_write() || self.flags.has(Flags::MAY_REPLICATE)
    }

    pub fn is_write(&self) -> bool {
        match self.run {
            Run::Write(_) => true,
            Run::Script(_) => !self.flags.has(Flags::READONLY),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
