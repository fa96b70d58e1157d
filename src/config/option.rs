//! What one option is. The table is made of these; nothing else knows an option by name.

use super::Config;
use super::value::Value;

/// How a value is written, which values there are, and what is said about a bad one.
#[derive(Clone, Copy)]
pub enum Kind {
    Bool,
    Int {
        min: i128,
        max: i128,
    },
    /// Bytes, with units.
    Memory {
        min: u64,
        max: u64,
    },
    MemoryOrPercent,
    /// File permissions.
    Octal {
        max: u32,
    },
    Choice(&'static [&'static str]),
    /// Some of these words, in their order.
    Choices(&'static [&'static str]),
    Text,
    /// A name that is no path.
    FileName,
    /// Several texts, at most this many.
    Words {
        max: usize,
    },
    OutputLimits,
    Events,
    Percentiles,
    SavePoints,
    /// Three scores for the kernel's choice of a process to end.
    OomScores,
}

/// When a value can be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// By CONFIG SET.
    Live,
    /// Only at the start.
    Start,
    /// By CONFIG SET if `enable-protected-configs` lets the client.
    Protected,
}

type Load = fn(&Config) -> Value;
type Store = fn(&mut Config, Value) -> bool;

/// What the option does.
#[derive(Clone, Copy)]
pub enum Effect {
    /// It sets a field of [`Config`].
    Field { load: Load, store: Store },
    /// Nothing: it is kept and shown for software that sets or reads it.
    Kept,
    /// Nothing, and only values that promise nothing are taken.
    Only { values: &'static [&'static str], reason: &'static str },
}

/// Headings of docs/config.md.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    Network,
    Tls,
    Storage,
    Memory,
    Clients,
    Observability,
    Scripts,
    Cluster,
    Keyspace,
    Security,
    Compatibility,
}

#[derive(Clone, Copy)]
pub struct Opt {
    pub name: &'static str,
    /// Older names: read, set and shown like options of their own.
    pub aliases: &'static [&'static str],
    pub section: Section,
    pub kind: Kind,
    /// As in a configuration file.
    pub default: &'static str,
    pub change: Change,
    pub effect: Effect,
    /// Never logged, never in SLOWLOG or MONITOR.
    pub sensitive: bool,
    /// It sets a field that is shown and does nothing else.
    pub shown_only: bool,
    pub help: &'static str,
}

impl Opt {
    /// An option that is kept and shown until it is given an effect.
    pub(super) const fn new(section: Section, name: &'static str, kind: Kind, default: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            section,
            kind,
            default,
            change: Change::Live,
            effect: Effect::Kept,
            sensitive: false,
            shown_only: false,
            help: "",
        }
    }

    pub(super) const fn field(mut self, (load, store): (Load, Store)) -> Self {
        self.effect = Effect::Field { load, store };
        self
    }

    pub(super) const fn only(mut self, values: &'static [&'static str], reason: &'static str) -> Self {
        self.effect = Effect::Only { values, reason };
        self
    }

    pub(super) const fn alias(mut self, names: &'static [&'static str]) -> Self {
        self.aliases = names;
        self
    }

    pub(super) const fn at_start(mut self) -> Self {
        self.change = Change::Start;
        self
    }

    pub(super) const fn protected(mut self) -> Self {
        self.change = Change::Protected;
        self
    }

    pub(super) const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    pub(super) const fn shown_only(mut self) -> Self {
        self.shown_only = true;
        self
    }

    pub(super) const fn help(mut self, text: &'static str) -> Self {
        self.help = text;
        self
    }

    /// CONFIG SET gives one text for what a file writes as several words.
    pub fn takes_several(&self) -> bool {
        matches!(
            self.kind,
            Kind::Words { .. }
                | Kind::Choices(_)
                | Kind::OutputLimits
                | Kind::Percentiles
                | Kind::SavePoints
                | Kind::OomScores
        )
    }

    /// Whether giving it changes nothing here. A value that promises nothing is not meant: it is heeded.
    pub fn is_without_effect(&self) -> bool {
        self.shown_only || matches!(self.effect, Effect::Kept)
    }

    pub fn load(&self, config: &Config) -> Value {
        match self.effect {
            Effect::Field { load, .. } => load(config),
            Effect::Kept | Effect::Only { .. } => {
                config.kept.get(self.name).cloned().unwrap_or(Value::Text(Vec::new()))
            }
        }
    }

    pub(super) fn store(&self, config: &mut Config, value: Value) -> bool {
        match self.effect {
            Effect::Field { store, .. } => store(config, value),
            Effect::Kept | Effect::Only { .. } => {
                config.kept.insert(self.name, value);
                true
            }
        }
    }

    /// As CONFIG GET shows it.
    pub fn text(&self, config: &Config) -> Vec<u8> {
        match (self.kind, self.load(config)) {
            (Kind::Octal { .. }, Value::Int(mode)) => format!("{mode:o}").into_bytes(),
            (_, value) => value.to_text(),
        }
    }
}
