//! All commands, found by name.

use std::sync::{LazyLock, OnceLock};

use hashbrown::HashTable;

use super::spec::{Batch, Flags, KeyFlags, KeySpec, Spec};
use crate::acl::Categories;
use crate::commands;

/// Longest command name; anything longer is unknown.
const MAX_NAME_LEN: usize = 32;
/// Words of eight bytes in it.
const NAME_WORDS: usize = MAX_NAME_LEN / 8;

/// A command as registered: its place in the table names it in counters.
pub struct Registered {
    pub id: usize,
    pub spec: &'static Spec,
    /// `client|kill` for a subcommand.
    pub full_name: String,
    /// [`Spec::batch`]
    pub batch: Batch,
    pub categories: Categories,
    /// It is about keys, and so about the database of the connection.
    pub is_for_database: bool,
    /// Where its key is, if it has one at a fixed place.
    single: Option<(usize, &'static KeySpec)>,
    /// Subcommands, in the order of the table.
    pub subcommands: Vec<Registered>,
}

pub struct Registry {
    commands: Vec<Registered>,
    by_name: HashTable<(Name, usize)>,
    total: usize,
    renamed: OnceLock<Renamed>,
}

/// `rename-command`: what commands of the tables are called instead; nothing where they cannot be called.
#[derive(Debug, Default)]
struct Renamed(Vec<(&'static str, Vec<u8>)>);

/// A name in small letters, as words: every command of a client is looked up by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Name {
    words: [u64; NAME_WORDS],
    len: usize,
}

impl Name {
    /// None if it is too long.
    #[inline]
    fn new(name: &[u8]) -> Option<Name> {
        let mut words = [0; NAME_WORDS];
        for (word, bytes) in words.iter_mut().zip(name.chunks(8)) {
            let bytes = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            *word = lower(bytes);
        }
        (name.len() <= MAX_NAME_LEN).then_some(Name { words, len: name.len() })
    }

    /// Commands are few and their names short: one multiply per word does.
    #[inline]
    fn hash(&self) -> u64 {
        let mix = |hash: u64, word: &u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = self.words.iter().fold(0, mix);
        hash ^ hash >> 29
    }
}

/// The bytes of a word with small letters instead of capital ones.
#[inline]
fn lower(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low_bits = word & (0x7f * EACH);
    // The top bit of a byte is set where it is at least `A`, and where it is above `Z`.
    let from_a = low_bits + (0x80 - u64::from(b'A')) * EACH;
    let above_z = low_bits + (0x7f - u64::from(b'Z')) * EACH;
    let is_capital = from_a & !above_z & !word & (0x80 * EACH);
    word | is_capital >> 2
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(commands::FAMILIES));

/// The registry of this build.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

impl Registry {
    fn new(families: &[&'static [Spec]]) -> Registry {
        let mut total = 0;
        let commands: Vec<_> = families
            .iter()
            .flat_map(|family| family.iter())
            .map(|spec| register(spec, "", &mut total))
            .collect();
        let mut by_name = HashTable::with_capacity(commands.len() * 2);
        for (at, command) in commands.iter().enumerate() {
            if let Some(name) = Name::new(command.spec.name.as_bytes()) {
                by_name.insert_unique(name.hash(), (name, at), |(name, _)| name.hash());
            }
        }
        Registry { commands, by_name, total, renamed: OnceLock::new() }
    }

    /// Finds a command by its name in the tables, in any case.
    pub fn find(&self, name: &[u8]) -> Option<&Registered> {
        let name = Name::new(name)?;
        let (_, at) = self.by_name.find(name.hash(), |(known, _)| *known == name)?;
        self.commands.get(*at)
    }

    /// Finds a command by what clients call it.
    #[inline]
    pub fn called(&self, name: &[u8]) -> Option<&Registered> {
        match self.renamed.get() {
            None => self.find(name),
            Some(renamed) => self.find(renamed.name_of(name)?),
        }
    }

    /// Gives commands other names, or none (empty), one line after the other. Once, before clients call any. The words of a
    /// refusal are Redis's.
    pub fn rename(&self, lines: &[(Vec<u8>, Vec<u8>)]) -> Result<(), &'static str> {
        let renamed = self.renaming(lines)?;
        if !renamed.0.is_empty() {
            // Whoever came first stays: a second configuration would be a mistake of the caller.
            let _ = self.renamed.set(renamed);
        }
        Ok(())
    }

    fn renaming(&self, lines: &[(Vec<u8>, Vec<u8>)]) -> Result<Renamed, &'static str> {
        let mut renamed = Renamed::default();
        for (old, new) in lines {
            let (old, new) = (old.to_ascii_lowercase(), new.to_ascii_lowercase());
            let called = |name: &[u8]| renamed.name_of(name).and_then(|name| self.find(name));
            let name = called(&old).ok_or("No such command in rename-command")?.spec.name;
            if new != old && called(&new).is_some() {
                return Err("Target command name already exists");
            }
            renamed.0.retain(|(known, _)| *known != name);
            renamed.0.push((name, new));
        }
        Ok(renamed)
    }

    /// Commands that can be called.
    pub fn callable(&self) -> impl Iterator<Item = &Registered> {
        let is_gone = |command: &Registered| {
            self.renamed.get().is_some_and(|renamed| renamed.is_gone(command.spec.name))
        };
        self.commands.iter().filter(move |command| !is_gone(command))
    }

    /// A command by its name in the tables, a subcommand by `container|name`: rules about commands outlive other names.
    pub fn named(&self, name: &[u8]) -> Option<&Registered> {
        part_of(name, |command| self.find(command))
    }

    /// As [`Registry::named`], by what clients call it.
    pub fn named_as_called(&self, name: &[u8]) -> Option<&Registered> {
        part_of(name, |command| self.called(command))
    }

    /// The command or the subcommand that these words call, however many there are. A container alone is a command, too.
    pub fn lookup(&self, words: tarn_resp::Args<'_>) -> Option<&Registered> {
        let command = self.find(words.get(0)?)?;
        match words.get(1) {
            Some(word) if !command.subcommands.is_empty() => command.subcommand(word),
            _ => Some(command),
        }
    }

    pub fn commands(&self) -> &[Registered] {
        &self.commands
    }

    /// Commands and subcommands together: the size of a table indexed by [`Registered::id`].
    pub fn total(&self) -> usize {
        self.total
    }

    /// Commands and their subcommands.
    pub fn all(&self) -> impl Iterator<Item = &Registered> {
        self.commands.iter().flat_map(|c| std::iter::once(c).chain(c.subcommands.iter()))
    }
}

fn part_of<'r>(name: &[u8], find: impl Fn(&[u8]) -> Option<&'r Registered>) -> Option<&'r Registered> {
    let mut parts = name.splitn(2, |byte| *byte == b'|');
    let command = find(parts.next()?)?;
    match parts.next() {
        None => Some(command),
        Some(word) => command.subcommand(word),
    }
}

impl Renamed {
    /// Which command of the tables a client means, if it can call it by this name.
    fn name_of<'a>(&'a self, called: &'a [u8]) -> Option<&'a [u8]> {
        if let Some((name, _)) =
            self.0.iter().find(|(_, new)| !new.is_empty() && new.eq_ignore_ascii_case(called))
        {
            return Some(name.as_bytes());
        }
        let is_old = self.0.iter().any(|(name, _)| name.as_bytes().eq_ignore_ascii_case(called));
        (!is_old).then_some(called)
    }

    fn is_gone(&self, name: &str) -> bool {
        self.0.iter().any(|(known, new)| *known == name && new.is_empty())
    }
}

impl Registered {
    /// Where the keys of a call stand, and what is done to each.
    pub fn keys(&self, words: tarn_resp::Args<'_>) -> impl Iterator<Item = (usize, KeyFlags)> {
        let positions = self.spec.keys.positions(words);
        let keys = positions.filter(|(_, spec)| !spec.flags.has(KeyFlags::NOT_KEY));
        keys.map(move |(at, spec)| (at, self.key_flags(spec, words)))
    }

    /// As [`Registered::keys`], for a command with one key at a fixed place.
    #[inline]
    pub fn single_key(&self, words: tarn_resp::Args<'_>) -> Option<(usize, KeyFlags)> {
        let (at, spec) = self.single.filter(|(at, _)| *at < words.len())?;
        Some((at, self.key_flags(spec, words)))
    }

    /// For a few commands it depends on their options.
    #[inline]
    pub fn key_flags(&self, spec: &KeySpec, words: tarn_resp::Args<'_>) -> KeyFlags {
        if !spec.flags.has(KeyFlags::VARIABLE_FLAGS) {
            // That is said of where keys are looked for, not of a key that was found.
            return spec.flags.without(KeyFlags::INCOMPLETE);
        }
        self.variable_flags(words)
    }

    fn variable_flags(&self, words: tarn_resp::Args<'_>) -> KeyFlags {
        let has = |first: usize, options: &[&str]| {
            let mut rest = words.iter().skip(first);
            rest.any(|word| options.iter().any(|option| word.eq_ignore_ascii_case(option.as_bytes())))
        };
        let full = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
        match self.spec.name {
            "set" if !has(3, &["get"]) => KeyFlags::OW.or(KeyFlags::UPDATE),
            "bitfield" if !has(2, &["set", "incrby"]) => KeyFlags::RO.or(KeyFlags::ACCESS),
            _ => full,
        }
    }

    pub fn subcommand(&self, word: &[u8]) -> Option<&Registered> {
        self.subcommands.iter().find(|sub| word.eq_ignore_ascii_case(sub.spec.name.as_bytes()))
    }
}

fn register(spec: &'static Spec, parent: &str, total: &mut usize) -> Registered {
    let id = *total;
    *total += 1;
    let full_name = if parent.is_empty() { spec.name.to_owned() } else { format!("{parent}|{}", spec.name) };
    let subcommands = spec.subcommands.iter().map(|sub| register(sub, spec.name, total)).collect();
    let (batch, categories) = (spec.batch(), Categories::of(spec));
    let is_for_database = is_for_database(spec);
    let key = spec.keys.specs().next().filter(|key| !key.flags.has(KeyFlags::NOT_KEY));
    let single = spec.keys.single().zip(key);
    Registered { id, spec, full_name, batch, categories, is_for_database, single, subcommands }
}

fn is_for_database(spec: &Spec) -> bool {
    let has_keys = spec.keys.specs().any(|key| !key.flags.has(KeyFlags::NOT_KEY));
    let names_others = matches!(spec.databases, super::spec::Databases::Words(_));
    !names_others && (has_keys || spec.flags.has(Flags::READONLY) || spec.flags.has(Flags::WRITE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_capital_letters_are_lowered() {
        for byte in 0..=u8::MAX {
            let word = u64::from_be_bytes([byte, b'A', byte, 0, 0xff, byte, b'Z', byte]);
            let each = word.to_be_bytes().map(|byte| byte.to_ascii_lowercase());
            assert_eq!(lower(word), u64::from_be_bytes(each), "{byte}");
        }
        assert!(registry().find(b"get\0").is_none());
        assert!(registry().find(b"").is_none());
    }

    #[test]
    fn names_are_found_in_any_case_and_only_once() {
        let registry = registry();
        for command in registry.commands() {
            let name = command.spec.name;
            assert_eq!(registry.find(name.to_uppercase().as_bytes()).map(|c| c.id), Some(command.id));
            assert_eq!(registry.commands().iter().filter(|c| c.spec.name == name).count(), 1, "{name}");
            assert!(name.len() <= MAX_NAME_LEN && name == name.to_lowercase());
        }
        assert!(registry.find(b"nosuchcommand").is_none());
        assert!(registry.find(&[b'x'; MAX_NAME_LEN + 1]).is_none());
    }

    #[test]
    fn commands_take_other_names_one_after_the_other() {
        let registry = Registry::new(commands::FAMILIES);
        let long = "x".repeat(MAX_NAME_LEN + 1);
        let lines = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(old, new)| (old.as_bytes().to_vec(), new.as_bytes().to_vec()))
                .collect::<Vec<_>>()
        };
        let fine = [
            ("get", "fetch"),
            ("SET", "Get"),
            ("fetch", "take"),
            ("flushall", ""),
            ("config", &long),
            ("del", "del"),
        ];
        for gone in ["set", "fetch", "flushall", "nosuch", "config|get", ""] {
            let more = lines(&[&fine[..], &[(gone, "x")]].concat());
            assert_eq!(registry.rename(&more), Err("No such command in rename-command"), "{gone}");
        }
        let more = lines(&[&fine[..], &[("take", "DEL")]].concat());
        assert_eq!(registry.rename(&more), Err("Target command name already exists"));
        assert_eq!(registry.rename(&lines(&fine)), Ok(()));
        let called = |name: &str| registry.called(name.as_bytes()).map(|command| command.spec.name);
        assert_eq!((called("TAKE"), called("get"), called("set")), (Some("get"), Some("set"), None));
        assert_eq!(
            (called("fetch"), called("FlushAll"), called("config"), called("")),
            (None, None, None, None)
        );
        assert_eq!((called(&long), called("del")), (Some("config"), Some("del")));
        let found = registry.named_as_called(format!("{long}|get").as_bytes());
        assert_eq!(found.map(|command| command.full_name.as_str()), Some("config|get"));
        assert_eq!(
            registry.named(b"config|get").map(|command| command.full_name.as_str()),
            Some("config|get")
        );
        assert_eq!(registry.find(b"flushall").map(|command| command.spec.name), Some("flushall"));
        assert_eq!(registry.callable().count(), registry.commands().len() - 1);
    }

    #[test]
    fn the_tables_are_complete() {
        for command in registry().all() {
            let spec = command.spec;
            assert!(!spec.summary.is_empty(), "{} has no summary", command.full_name);
            assert!(spec.summary.ends_with('.'), "{}: the summary is a sentence", command.full_name);
            for key in spec.keys.specs() {
                assert!(key.first > 0, "{}", command.full_name);
            }
        }
    }
}
