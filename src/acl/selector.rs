//! A set of permissions: which commands, on which keys, channels and databases. A user has one of its own and may have more
//! beside it; a call is allowed if any of them allows all of it.

use super::category::Categories;
use super::rule::{Defaults, Rule, RuleError, has_spaces};
use crate::config::words;
use crate::dispatch::registry::{Registered, registry};
use crate::glob;
use crate::number;

/// Everything, or what is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach<T> {
    All,
    Only(Vec<T>),
}

impl<T> Reach<T> {
    const NONE: Reach<T> = Reach::Only(Vec::new());

    pub fn is_all(&self) -> bool {
        matches!(self, Reach::All)
    }
}

/// Which keys, and what may be done to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPattern {
    pub pattern: Box<[u8]>,
    pub access: Access,
    /// Bytes of plain text that the pattern begins with, and the first of them.
    text: usize,
    first: Option<u8>,
    /// It is that text and `*`, as most patterns are.
    is_beginning: bool,
}

impl KeyPattern {
    fn new(pattern: &[u8], access: Access) -> KeyPattern {
        let (text, rest) = glob::leading_text(pattern);
        let is_beginning = !text.is_empty() && rest == b"*";
        let first = text.first().copied();
        KeyPattern { pattern: pattern.into(), access, text: text.len(), first, is_beginning }
    }

    /// What stands before the pattern in what is read again: `~*` would be the rule for all keys, behind which no pattern may
    /// follow.
    fn prefix(&self) -> &'static [u8] {
        if self.access == Access::BOTH && *self.pattern == *b"*" { b"%RW~" } else { self.access.prefix() }
    }

    /// Whether the key matches. What does not mostly differs in its first byte.
    #[inline]
    pub fn matches(&self, key: &[u8]) -> bool {
        (self.first.is_none() || self.first == key.first().copied()) && self.matches_behind(key)
    }

    fn matches_behind(&self, key: &[u8]) -> bool {
        key.starts_with(self.pattern.get(..self.text).unwrap_or_default())
            && (self.is_beginning || glob::matches(&self.pattern, key, false))
    }
}

/// Reading, writing or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    pub reads: bool,
    pub writes: bool,
}

impl Access {
    pub const BOTH: Access = Access { reads: true, writes: true };

    pub fn covers(self, other: Access) -> bool {
        (self.reads || !other.reads) && (self.writes || !other.writes)
    }

    fn prefix(self) -> &'static [u8] {
        match self {
            Access { reads: true, writes: false } => b"%R~",
            Access { reads: false, writes: true } => b"%W~",
            _ => b"~",
        }
    }
}

/// A bit for each command and subcommand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSet(Box<[u64]>);

impl CommandSet {
    fn filled(with: bool) -> CommandSet {
        let word = if with { u64::MAX } else { 0 };
        CommandSet(vec![word; registry().total().div_ceil(64)].into())
    }

    #[inline]
    pub fn has(&self, id: usize) -> bool {
        self.0.get(id / 64).is_some_and(|word| word & 1 << (id % 64) != 0)
    }

    fn set(&mut self, id: usize, on: bool) {
        if let Some(word) = self.0.get_mut(id / 64) {
            let bit = 1 << (id % 64);
            *word = if on { *word | bit } else { *word & !bit };
        }
    }

    fn is_full(&self) -> bool {
        registry().all().all(|command| self.has(command.id))
    }
}

/// A rule about commands that is still of effect: what follows `+` or `-`, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommandRule {
    allows: bool,
    name: Box<[u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    pub commands: CommandSet,
    /// Words that allow a command by its first argument: the number of the command, and the word.
    pub first_args: Vec<(usize, Box<[u8]>)>,
    pub keys: Reach<KeyPattern>,
    pub channels: Reach<Box<[u8]>>,
    /// In ascending order.
    pub databases: Reach<u32>,
    /// The rules begin with all commands, not with none.
    begins_with_all: bool,
    /// In the order in which they were given.
    rules: Vec<CommandRule>,
}

impl Selector {
    /// Allows nothing.
    pub fn new(defaults: Defaults) -> Selector {
        Selector {
            commands: CommandSet::filled(false),
            first_args: Vec::new(),
            keys: Reach::NONE,
            channels: if defaults.all_channels { Reach::All } else { Reach::NONE },
            databases: Reach::All,
            begins_with_all: false,
            rules: Vec::new(),
        }
    }

    /// Between parentheses.
    pub fn parse(inner: &[u8], defaults: Defaults) -> Result<Selector, RuleError> {
        let mut selector = Selector::new(defaults);
        // Where the quotes do not match Redis finds no rules at all: nothing is allowed.
        for rule in words::split(inner).unwrap_or_default() {
            selector.apply(Rule::parse(&rule))?;
        }
        Ok(selector)
    }

    /// Allows everything.
    pub fn is_unrestricted(&self) -> bool {
        self.keys.is_all() && self.channels.is_all() && self.databases.is_all() && self.commands.is_full()
    }

    pub fn apply(&mut self, rule: Rule<'_>) -> Result<(), RuleError> {
        match rule {
            Rule::AllKeys => self.keys = Reach::All,
            Rule::ResetKeys => self.keys = Reach::NONE,
            Rule::AllChannels => self.channels = Reach::All,
            Rule::ResetChannels => self.channels = Reach::NONE,
            Rule::AllDatabases => self.databases = Reach::All,
            Rule::ResetDatabases => self.databases = Reach::NONE,
            Rule::AllCommands => self.begin_with(true),
            Rule::NoCommands => self.begin_with(false),
            Rule::Key(access, pattern) => self.add_key(access, pattern)?,
            Rule::Channel(pattern) => self.add_channel(pattern)?,
            Rule::Databases(list) => self.databases = Reach::Only(databases(list)?),
            Rule::Category { allows, name } => self.change_category(name, allows)?,
            Rule::Allow(name) => self.allow(name)?,
            Rule::Deny(name) => {
                let command = registry().named(name).ok_or(RuleError::Unknown)?;
                self.change(command, false);
                self.note(command.full_name.as_bytes(), false);
            }
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    fn begin_with(&mut self, all: bool) {
        self.commands = CommandSet::filled(all);
        self.begins_with_all = all;
        self.first_args.clear();
        self.rules.clear();
    }

    fn add_key(&mut self, access: Result<Access, RuleError>, pattern: &[u8]) -> Result<(), RuleError> {
        let Reach::Only(patterns) = &mut self.keys else { return Err(RuleError::AfterAllKeys) };
        let access = access?;
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        match patterns.iter_mut().find(|known| *known.pattern == *pattern) {
            Some(known) => {
                known.access.reads |= access.reads;
                known.access.writes |= access.writes;
            }
            None => patterns.push(KeyPattern::new(pattern, access)),
        }
        Ok(())
    }

    fn add_channel(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        let Reach::Only(patterns) = &mut self.channels else { return Err(RuleError::AfterAllChannels) };
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        if !patterns.iter().any(|known| **known == *pattern) {
            patterns.push(pattern.into());
        }
        Ok(())
    }

    fn change_category(&mut self, name: &[u8], allows: bool) -> Result<(), RuleError> {
        let category = Categories::named(name).ok_or(RuleError::Unknown)?;
        self.note(&[b"@", name].concat(), allows);
        for command in registry().all().filter(|command| command.categories.has(category)) {
            self.change(command, allows);
        }
        Ok(())
    }

    /// A command, a subcommand, or a command with this first argument.
    fn allow(&mut self, name: &[u8]) -> Result<(), RuleError> {
        let Some(bar) = name.iter().rposition(|byte| *byte == b'|') else {
            let command = registry().named(name).ok_or(RuleError::Unknown)?;
            self.change(command, true);
            self.note(name, true);
            return Ok(());
        };
        let (before, behind) = (name.get(..bar).unwrap_or_default(), name.get(bar + 1..).unwrap_or_default());
        let command = registry().named(before).ok_or(RuleError::Unknown)?;
        if before.contains(&b'|') {
            return Err(RuleError::FirstArgOfSubcommand);
        }
        // What has spaces could not be read back.
        if behind.is_empty() || has_spaces(behind) {
            return Err(RuleError::Syntax);
        }
        if command.subcommands.is_empty() {
            let first_arg = (command.id, behind.to_ascii_lowercase().into());
            // In the order of the rules, of which the later one stays.
            self.first_args.retain(|known| *known != first_arg);
            self.first_args.push(first_arg);
        } else {
            let command = command.subcommand(behind).ok_or(RuleError::Unknown)?;
            self.change(command, true);
        }
        self.note(name, true);
        Ok(())
    }

    /// With its subcommands.
    fn change(&mut self, command: &Registered, allows: bool) {
        self.commands.set(command.id, allows);
        self.first_args.retain(|(id, _)| *id != command.id);
        for sub in &command.subcommands {
            self.commands.set(sub.id, allows);
        }
    }

    /// Keeps a rule, instead of those that it replaces: the same one, and those about subcommands.
    fn note(&mut self, name: &[u8], allows: bool) {
        let name = name.to_ascii_lowercase();
        self.rules.retain(|rule| {
            !rule.name.strip_prefix(name.as_slice()).is_some_and(|rest| matches!(rest, [] | [b'|', ..]))
        });
        self.rules.push(CommandRule { allows, name: name.into() });
    }

    /// The rules about commands, as they can be given again.
    pub fn commands_text(&self) -> Vec<u8> {
        let mut text = if self.begins_with_all { b"+@all".to_vec() } else { b"-@all".to_vec() };
        for rule in &self.rules {
            text.extend_from_slice(if rule.allows { b" +" } else { b" -" });
            text.extend_from_slice(&rule.name);
        }
        text
    }

    pub fn keys_text(&self) -> Vec<u8> {
        self.keys_with(|key| key.access.prefix())
    }

    /// With what stands before each pattern.
    fn keys_with(&self, prefix: impl Fn(&KeyPattern) -> &'static [u8]) -> Vec<u8> {
        match &self.keys {
            Reach::All => b"~*".to_vec(),
            Reach::Only(patterns) => {
                let shown = patterns.iter().map(|key| [prefix(key), &key.pattern].concat());
                shown.collect::<Vec<_>>().join(&b' ')
            }
        }
    }

    pub fn channels_text(&self) -> Vec<u8> {
        match &self.channels {
            Reach::All => b"&*".to_vec(),
            Reach::Only(patterns) => {
                let shown = patterns.iter().map(|pattern| [b"&", &**pattern].concat());
                shown.collect::<Vec<_>>().join(&b' ')
            }
        }
    }

    pub fn databases_text(&self) -> String {
        match &self.databases {
            Reach::All => "alldbs".to_owned(),
            Reach::Only(numbers) if numbers.is_empty() => String::new(),
            Reach::Only(numbers) => {
                let shown: Vec<String> = numbers.iter().map(u32::to_string).collect();
                format!("db={}", shown.join(","))
            }
        }
    }

    /// As it stands between parentheses: there quotes count, and a parenthesis at the end of a word.
    pub fn inner_text(&self) -> Vec<u8> {
        let is_plain =
            |word: &[u8]| !word.ends_with(b")") && !word.iter().any(|byte| matches!(byte, b'"' | b'\''));
        let text = self.text();
        let quoted = text.split(|byte| *byte == b' ').map(|word| match is_plain(word) {
            true => word.to_vec(),
            false => words::quote(word).into_bytes(),
        });
        quoted.collect::<Vec<_>>().join(&b' ')
    }

    /// All of it in one line, as it can be given again.
    pub fn text(&self) -> Vec<u8> {
        let mut parts = vec![self.keys_with(KeyPattern::prefix)];
        if !self.channels.is_all() {
            parts.push(b"resetchannels".to_vec());
        }
        parts.push(self.channels_text());
        match &self.databases {
            Reach::All => {}
            Reach::Only(numbers) if numbers.is_empty() => parts.push(b"resetdbs".to_vec()),
            Reach::Only(_) => parts.push(self.databases_text().into_bytes()),
        }
        parts.push(self.commands_text());
        parts.retain(|part| !part.is_empty());
        parts.join(&b' ')
    }
}

/// Numbers parted by commas.
fn databases(list: &[u8]) -> Result<Vec<u32>, RuleError> {
    let mut numbers = Vec::new();
    for word in list.split(|byte| *byte == b',') {
        // Valkey reads numbers as C does: spaces and a plus in front are nothing.
        let word = word.trim_ascii_start();
        let word = word.strip_prefix(b"+").unwrap_or(word);
        let digits = word.strip_prefix(b"-").unwrap_or(word);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(RuleError::Syntax);
        }
        let first = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len() - 1);
        let number = number::parse_i64(digits.get(first..).unwrap_or_default());
        let number = number.filter(|number| word == digits || *number == 0);
        let number =
            number.and_then(|number| i32::try_from(number).ok()).ok_or(RuleError::DatabaseOutOfRange)?;
        numbers.push(number.unsigned_abs());
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_pattern_matches_as_any_pattern_does() {
        let patterns = [
            "*", "", "a", "a*", "ab*", "a*b", "a?", "[ab]*", "a[bc]*", "\\a*", "a\\*", "ab\\*c*", "**", "a**",
        ];
        let keys = ["", "a", "ab", "abc", "ac", "b", "a*", "ab*c", "xa"];
        for (pattern, key) in patterns.iter().flat_map(|pattern| keys.map(|key| (*pattern, key))) {
            let known = KeyPattern::new(pattern.as_bytes(), Access::BOTH);
            let expected = glob::matches(pattern.as_bytes(), key.as_bytes(), false);
            assert_eq!(known.matches(key.as_bytes()), expected, "{pattern} {key}");
        }
    }
}
