//! Lines of a file or of the command line to a [`Config`]. The first mistake stops the start.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::limits::{MAX_FILE_BYTES, MAX_INCLUDE_DEPTH};
use super::option::Opt;
use super::parse::{self, Source};
use super::{Config, appendonly, notes, table, words};
use crate::acl::rule::{has_spaces, merge_selectors};
use crate::acl::{Defaults, RuleError, User, UserId};
use crate::glob;

/// Where a line is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    File { path: PathBuf, line: usize },
    Stdin { line: usize },
    CommandLine,
}

#[derive(Debug)]
pub enum LoadError {
    Line {
        place: Place,
        text: Vec<u8>,
        reason: String,
    },
    Read {
        path: PathBuf,
        error: io::Error,
    },
    /// Every line is right, but not together, or not on this machine.
    Refused {
        name: &'static str,
        reason: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Read { path, error } = self {
            return write!(f, "Fatal error, can't open config file '{}': {error}", path.display());
        }
        writeln!(f, "*** FATAL CONFIG FILE ERROR (Tarn {}) ***", env!("CARGO_PKG_VERSION"))?;
        match self {
            Self::Line { place, text, reason } => {
                match place {
                    Place::File { path, line } => {
                        writeln!(f, "Reading the configuration file '{}', at line {line}", path.display())
                    }
                    Place::Stdin { line } => {
                        writeln!(f, "Reading the configuration from the standard input, at line {line}")
                    }
                    Place::CommandLine => writeln!(f, "Reading the command line"),
                }?;
                write!(f, ">>> '{}'\n{reason}", words::printable(text))
            }
            Self::Refused { name, reason } => write!(f, "Checking option '{name}'\n{reason}"),
            Self::Read { .. } => Ok(()),
        }
    }
}

impl std::error::Error for LoadError {}

/// Gathers options until all sources are read.
#[derive(Default)]
pub struct Loader {
    config: Config,
    given: BTreeSet<&'static str>,
}

impl Loader {
    /// The file that CONFIG REWRITE will rewrite.
    pub fn main_file(&mut self, path: &Path) -> Result<(), LoadError> {
        let path = std::path::absolute(path).map_err(|error| LoadError::Read { path: path.into(), error })?;
        self.file(&path, 0)?;
        self.config.config_file = Some(path);
        Ok(())
    }

    pub fn stdin(&mut self, input: impl Read) -> Result<(), LoadError> {
        let read = |error| LoadError::Read { path: "-".into(), error };
        let text = read_bounded(input).map_err(read)?;
        self.text(&text, 0, &|line| Place::Stdin { line })
    }

    /// One option with its values, as the shell split them.
    pub fn flag(&mut self, words: &[Vec<u8>]) -> Result<(), LoadError> {
        self.directive(words, 0).map_err(|reason| {
            let shown: Vec<Vec<u8>> = match words.split_first() {
                Some((name, values)) => std::iter::once(name.clone())
                    .chain(values.iter().map(|value| words::quote(value).into_bytes()))
                    .collect(),
                None => Vec::new(),
            };
            reason.at(Place::CommandLine, &shown.join(&b' '))
        })
    }

    /// Checks the options against each other, and lists what was set without having an effect.
    pub fn finish(mut self) -> Result<Loaded, LoadError> {
        self.config.dir = usable_dir(&self.config.dir).map_err(|reason| LoadError::Refused {
            name: "dir",
            reason: format!("can't use the directory: {reason}"),
        })?;
        self.config.complete().map_err(|(name, reason)| LoadError::Refused { name, reason })?;
        appendonly::check_at_start(&self.config)
            .map_err(|reason| LoadError::Refused { name: "appendonly", reason: reason.into() })?;
        self.config.check_ways_in().map_err(|(name, reason)| LoadError::Refused { name, reason })?;
        let without_effect =
            |name: &&'static str| table::find(name.as_bytes()).is_some_and(Opt::is_without_effect);
        let without_effect = self.given.into_iter().filter(without_effect).collect();
        let notes = notes::notes(&self.config);
        Ok(Loaded { config: self.config, without_effect, notes })
    }

    fn file(&mut self, path: &Path, depth: usize) -> Result<(), LoadError> {
        let text = std::fs::File::open(path).and_then(read_bounded);
        let text = text.map_err(|error| LoadError::Read { path: path.into(), error })?;
        self.text(&text, depth, &|line| Place::File { path: path.into(), line })
    }

    fn text(&mut self, text: &[u8], depth: usize, place: &dyn Fn(usize) -> Place) -> Result<(), LoadError> {
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let split = words::split(line)
                .ok_or_else(|| Mistake::Line("Unbalanced quotes in configuration line".into()));
            split
                .and_then(|words| self.directive(&words, depth))
                .map_err(|mistake| mistake.at(place(index + 1), line))?;
        }
        Ok(())
    }

    fn directive(&mut self, words: &[Vec<u8>], depth: usize) -> Result<(), Mistake> {
        let Some((name, values)) = words.split_first() else { return Err(Mistake::Line(bad_directive(b""))) };
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        if name.eq_ignore_ascii_case(b"include") {
            let [path] = values.as_slice() else { return Err(Mistake::Line(parse::WRONG_NUMBER.into())) };
            return self.include(Path::new(OsStr::from_bytes(path)), depth + 1);
        }
        if name.eq_ignore_ascii_case(b"user") {
            return self.user(&values).map_err(Mistake::Line);
        }
        if name.eq_ignore_ascii_case(b"rename-command") {
            let [old, new] = values.as_slice() else { return Err(Mistake::Line(bad_directive(b""))) };
            self.config.renamed_commands.push((old.to_vec(), new.to_vec()));
            return Ok(());
        }
        let option = table::find(name).ok_or_else(|| Mistake::Line(bad_directive(name)))?;
        let first = !self.given.contains(option.name);
        parse::apply(&mut self.config, option, &values, Source::Lines { first }).map_err(Mistake::Line)?;
        self.given.insert(option.name);
        Ok(())
    }

    /// A user with its rules. What is wrong with them is told now; they take effect once the server starts.
    fn user(&mut self, values: &[&[u8]]) -> Result<(), String> {
        let declaration = |word: &[u8], reason: &dyn std::fmt::Display| {
            format!("Error in user declaration '{}': {reason}", words::printable(word))
        };
        let Some((name, rules)) = values.split_first() else { return Err(parse::WRONG_NUMBER.into()) };
        if self.config.users.iter().any(|user| user.first().is_some_and(|known| known == name)) {
            return Err(declaration(name, &RuleError::DuplicateUser));
        }
        if has_spaces(name) {
            return Err("Spaces not allowed in ACL usernames".into());
        }
        let merged = merge_selectors(rules.iter().copied()).map_err(|at| {
            let begin = rules.get(at).copied().unwrap_or_default();
            declaration(begin, &"Unmatched parenthesis in acl selector")
        })?;
        let checked =
            User::new(UserId::DEFAULT, name, Defaults::default()).with(&merged, Defaults::default());
        if let Err((at, error)) = checked {
            return Err(declaration(merged.get(at).map(Vec::as_slice).unwrap_or_default(), &error));
        }
        self.config.users.push(std::iter::once(name.to_vec()).chain(merged).collect());
        Ok(())
    }

    fn include(&mut self, path: &Path, depth: usize) -> Result<(), Mistake> {
        if depth > MAX_INCLUDE_DEPTH {
            return Err(Mistake::Line(format!("more than {MAX_INCLUDE_DEPTH} files include each other")));
        }
        for file in
            expand(path).map_err(|error| Mistake::Nested(LoadError::Read { path: path.into(), error }))?
        {
            self.file(&file, depth).map_err(Mistake::Nested)?;
        }
        Ok(())
    }
}

/// What a start needs.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// Options that were given although they do nothing here, for a line in the log.
    pub without_effect: Vec<&'static str>,
    /// What was asked for and is different here, a line each.
    pub notes: Vec<String>,
}

/// A mistake whose place is not known yet, unless it is in an included file.
enum Mistake {
    Line(String),
    Nested(LoadError),
}

impl Mistake {
    fn at(self, place: Place, text: &[u8]) -> LoadError {
        match self {
            Self::Line(reason) => LoadError::Line { place, text: text.to_vec(), reason },
            Self::Nested(error) => error,
        }
    }
}

fn bad_directive(name: &[u8]) -> String {
    const BAD: &str = "Bad directive or wrong number of arguments";
    if let Some(reason) = table::reason_unsupported(name) {
        return format!("not supported: {reason}");
    }
    match table::nearest(name) {
        Some(known) => format!("{BAD} (did you mean '{known}'?)"),
        None => BAD.to_string(),
    }
}

/// A directory that does not exist yet is made at the start; what is in its way is known now.
fn usable_dir(dir: &Path) -> io::Result<PathBuf> {
    let dir = std::path::absolute(dir)?;
    match std::fs::metadata(&dir) {
        Ok(found) if found.is_dir() => Ok(dir),
        Ok(_) => Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(dir),
        Err(error) => Err(error),
    }
}

fn read_bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    input.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("larger than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}

/// The files that an `include` names: with a pattern in the last part of the path, all that match, by name.
fn expand(path: &Path) -> io::Result<Vec<PathBuf>> {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    if !glob::is_pattern(name) {
        return Ok(vec![path.to_path_buf()]);
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        // A pattern may find nothing, as where a package brings no folder for it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        other => other?,
    };
    for entry in entries {
        let entry = entry?.file_name();
        // As in a shell, a pattern does not find hidden files.
        if !entry.as_bytes().starts_with(b".") && glob::matches(name, entry.as_bytes(), false) {
            files.push(folder.join(entry));
        }
    }
    files.sort();
    Ok(files)
}
