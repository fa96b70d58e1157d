//! The ACL file: a line per user, in the form of ACL LIST.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::Users;
use super::rule::{Defaults, RuleError, has_spaces, merge_selectors};
use super::user::{User, UserId};
use crate::config::words::printable;

/// A file above this size is not one of users.
const MAX_BYTES: u64 = 64 << 20;
const NOTHING_CHANGED: &str =
    "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";

/// The users of the file, or all that is wrong with it in one line.
pub fn load(
    path: &Path,
    defaults: Defaults,
    id_of: &mut dyn FnMut(&[u8]) -> UserId,
) -> Result<Users, String> {
    let name = path.display().to_string();
    let text = read(path).map_err(|error| {
        let text = error.to_string();
        let words = text.split(" (os error").next().unwrap_or_default();
        format!("Error loading ACLs, opening file '{name}': {words}")
    })?;
    let (users, errors) = parse(&text, &name, defaults, id_of);
    if errors.is_empty() { Ok(users) } else { Err(format!("{errors}{NOTHING_CHANGED}")) }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.len() > MAX_BYTES {
        return Err(io::Error::other(format!("larger than {MAX_BYTES} bytes")));
    }
    fs::read(path)
}

/// The users, and what is wrong with the lines that are.
pub fn parse(
    text: &[u8],
    name: &str,
    defaults: Defaults,
    id_of: &mut dyn FnMut(&[u8]) -> UserId,
) -> (Users, String) {
    // Without a line of its own the default user is as it is at first.
    let mut users = Users::default();
    let mut names = BTreeSet::new();
    let mut errors = String::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = trimmed(line, b" \t\r\n");
        if line.is_empty() {
            continue;
        }
        match parse_line(line, &format!("{name}:{}", index + 1), index + 1, &mut names, defaults, id_of) {
            Ok(user) => users.put(user),
            Err(error) => errors.push_str(&error),
        }
    }
    (users, errors)
}

fn parse_line(
    line: &[u8],
    place: &str,
    number: usize,
    known: &mut BTreeSet<Vec<u8>>,
    defaults: Defaults,
    id_of: &mut dyn FnMut(&[u8]) -> UserId,
) -> Result<User, String> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [b"user", name, rules @ ..] = words.as_slice() else {
        return Err(format!("{place} should start with user keyword followed by the username. "));
    };
    if has_spaces(name) {
        return Err(format!("'{place}: username '{}' contains invalid characters. ", printable(name)));
    }
    if !known.insert(name.to_vec()) {
        return Err(format!("WARNING: Duplicate user '{}' found on line {number}. ", printable(name)));
    }
    let rules = merge_selectors(rules.iter().copied())
        .map_err(|_| format!("{place}: Unmatched parenthesis in selector definition."))?;
    let mut user = User::new(id_of(name), name, defaults);
    let (mut errors, mut has_other) = (String::new(), false);
    for rule in &rules {
        let rule = trimmed(rule, b"\t\r\n");
        match user.apply(rule, defaults) {
            Ok(()) => {}
            Err(error @ RuleError::Unknown) => {
                let rule = printable(rule);
                errors.push_str(&format!("{place}: Error in applying operation '{rule}': {error}. "));
            }
            // Rules may hold secrets; and what follows the first mistake may be its consequence.
            Err(error) if !has_other => {
                has_other = true;
                errors.push_str(&format!("{place}: {error}. "));
            }
            Err(_) => {}
        }
    }
    if errors.is_empty() { Ok(user.settled()) } else { Err(errors) }
}

fn trimmed<'t>(text: &'t [u8], what: &[u8]) -> &'t [u8] {
    let is_other = |byte: &u8| !what.contains(byte);
    let begin = text.iter().position(is_other).unwrap_or(text.len());
    let end = text.iter().rposition(is_other).map_or(begin, |last| last + 1);
    text.get(begin..end).unwrap_or_default()
}

/// Replaces the file in one step: a crash leaves the old one or the new one. Only its owner may read a new one.
pub fn save(path: &Path, users: &Users) -> io::Result<()> {
    let (path, mode) = match fs::canonicalize(path) {
        Ok(path) => {
            let permissions = fs::metadata(&path)?.permissions();
            (path, Some(permissions))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_path_buf(), None),
        Err(error) => return Err(error),
    };
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".tmp-{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        if let Some(permissions) = mode {
            file.set_permissions(permissions)?;
        }
        for user in users.iter() {
            file.write_all(&user.line())?;
            file.write_all(b"\n")?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    };
    let written = write();
    if written.is_err() {
        // Nothing more can be done about a leftover than to say why saving failed.
        let _ = fs::remove_file(&temporary);
    }
    written
}
