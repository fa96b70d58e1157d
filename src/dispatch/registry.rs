//! All commands, found by name.

use std::hash::{BuildHasher, Hasher};
use std::sync::{LazyLock, OnceLock};

use hashbrown::HashTable;

use super::spec::{Flags, KeyFlags, KeySpec, Spec};
use crate::acl::Categories;
use crate::commands;

/// Longest command name; anything longer is unknown.
const MAX_NAME_LEN: usize = 32;

/// A command as registered: its place in the table names it in counters.
pub struct Registered {
    pub id: usize,
    pub spec: &'static Spec,
    /// `client|kill` for a subcommand.
    pub full_name: String,
    /// [`Spec::batches`]
    pub batches: bool,
    pub categories: Categories,
    /// It is about keys, and so about the database of the connection.
    pub is_for_database: bool,
    /// Subcommands, in the order of the table.
    pub subcommands: Vec<Registered>,
}

pub struct Registry {
    commands: Vec<Registered>,
    by_name: HashTable<usize>,
    hasher: NameHasher,
    total: usize,
    renamed: OnceLock<Renamed>,
}

/// `rename-command`: what commands of the tables are called instead; nothing where they cannot be called.
#[derive(Debug, Default)]
struct Renamed(Vec<(&'static str, Vec<u8>)>);

/// Commands and subcommands are few and their names short: one multiply per eight bytes does.
#[derive(Default, Clone, Copy)]
struct NameHasher;

struct NameState(u64);

impl BuildHasher for NameHasher {
    type Hasher = NameState;
    fn build_hasher(&self) -> NameState {
        NameState(0)
    }
}

impl Hasher for NameState {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
            self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

impl NameHasher {
    fn hash(self, lower: &[u8]) -> u64 {
        self.hash_one(lower)
    }
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
        let hasher = NameHasher;
        let mut by_name = HashTable::with_capacity(commands.len() * 2);
        let hash_at = |at: &usize| commands.get(*at).map_or(0, |c| hasher.hash(c.spec.name.as_bytes()));
        for at in 0..commands.len() {
            by_name.insert_unique(hash_at(&at), at, hash_at);
        }
        Registry { commands, by_name, hasher, total, renamed: OnceLock::new() }
    }

    /// Finds a command by its name in the tables, in any case.
    pub fn find(&self, name: &[u8]) -> Option<&Registered> {
        let mut lower = [0u8; MAX_NAME_LEN];
        let lower = lower.get_mut(..name.len())?;
        for (to, from) in lower.iter_mut().zip(name) {
            *to = from.to_ascii_lowercase();
        }
        let lower = &*lower;
        let at = self.by_name.find(self.hasher.hash(lower), |at| {
            self.commands.get(*at).is_some_and(|c| c.spec.name.as_bytes() == lower)
        })?;
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

    /// For a few commands it depends on their options.
    pub fn key_flags(&self, spec: &KeySpec, words: tarn_resp::Args<'_>) -> KeyFlags {
        if !spec.flags.has(KeyFlags::VARIABLE_FLAGS) {
            // That is said of where keys are looked for, not of a key that was found.
            return spec.flags.without(KeyFlags::INCOMPLETE);
        }
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
    let (batches, categories) = (spec.batches(), Categories::of(spec));
    let is_for_database = is_for_database(spec);
    Registered { id, spec, full_name, batches, categories, is_for_database, subcommands }
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
