//! Whether a user may make a call.

use std::borrow::Cow;

use tarn_resp::Args as Words;

use super::selector::{Access, Reach, Selector};
use super::user::User;
use crate::dispatch::registry::Registered;
use crate::dispatch::spec::{Channels, Databases, Flags, KeyFlags};
use crate::error::{Error, shown};
use crate::glob;
use crate::number;

/// What a user has no permission for. What is checked later is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Database,
    Command,
    Key,
    Channel,
    /// To be who it says it is.
    Auth,
    /// To be who its certificate names.
    TlsCertificate,
}

impl Reason {
    /// In the order of INFO.
    pub const ALL: [Reason; 6] = [
        Reason::Auth,
        Reason::Command,
        Reason::Key,
        Reason::Channel,
        Reason::TlsCertificate,
        Reason::Database,
    ];

    /// In ACL LOG.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Auth => "auth",
            Reason::Command => "command",
            Reason::Key => "key",
            Reason::Channel => "channel",
            Reason::Database => "database",
            Reason::TlsCertificate => "tls-cert",
        }
    }

    /// In INFO, behind `acl_access_denied_`.
    pub fn counter(self) -> &'static str {
        match self {
            Reason::Auth => "auth",
            Reason::Command => "cmd",
            Reason::Key => "key",
            Reason::Channel => "channel",
            Reason::Database => "db",
            Reason::TlsCertificate => "tls_cert",
        }
    }
}

/// A call that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    pub reason: Reason,
    pub user: Box<[u8]>,
    pub command: &'static str,
    /// The word that it is about; 0 for the command itself.
    pub at: usize,
    /// The key, the channel, the database or the command.
    pub object: Box<[u8]>,
}

impl Denied {
    /// What a client hears, without the code.
    fn words(&self) -> Cow<'static, str> {
        match self.reason {
            Reason::Command => {
                format!("User {} has no permissions to run the '{}' command", shown(&self.user), self.command)
                    .into()
            }
            Reason::Key => "No permissions to access a key".into(),
            Reason::Channel => "No permissions to access a channel".into(),
            Reason::Database => "No permissions to access database".into(),
            Reason::Auth | Reason::TlsCertificate => {
                "invalid username-password pair or user is disabled.".into()
            }
        }
    }

    pub fn error(&self) -> Error {
        Error::reply(format!("NOPERM {}", self.words()))
    }

    /// What a script hears.
    pub fn script_error(&self) -> Error {
        Error::reply(format!("ERR ACL failure in script: {}", self.words()))
    }

    /// What EXEC answers for a call that was allowed when it was queued.
    pub fn exec_error(&self) -> Error {
        let reason = match self.reason {
            Reason::Command => "no permission to execute the command or subcommand",
            Reason::Key => "no permission to touch the specified keys",
            Reason::Channel => "no permission to access one of the channels used as arguments",
            Reason::Database => "no permission to access the database",
            Reason::Auth | Reason::TlsCertificate => "no permission",
        };
        Error::reply(format!(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
             command is no longer allowed for the following reason: {reason}"
        ))
    }

    /// What ACL DRYRUN answers, with the word as it was given.
    pub fn dry_run(&self, words: Words<'_>) -> Vec<u8> {
        let word = words.get(self.at).unwrap_or(&[]);
        let user: &[u8] = &self.user;
        match self.reason {
            Reason::Command => {
                let command = self.command.as_bytes();
                [b"User ", user, b" has no permissions to run the '", command, b"' command"].concat()
            }
            Reason::Key => [b"User ", user, b" has no permissions to access the '", word, b"' key"].concat(),
            Reason::Channel => {
                [b"User ", user, b" has no permissions to access the '", word, b"' channel"].concat()
            }
            Reason::Database | Reason::Auth | Reason::TlsCertificate => {
                [b"User ", user, b" has no permissions to access database ", word].concat()
            }
        }
    }
}

/// The databases that there are, and the one that a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtDatabase {
    pub current: u16,
    pub count: usize,
}

/// Whether the user may make this call.
#[inline]
pub fn allows(user: &User, command: &'static Registered, words: Words<'_>, at: AtDatabase) -> bool {
    user.is_unrestricted() || user.all_selectors().any(|selector| selector.check(command, words, at).is_ok())
}

/// As [`allows`]. Of several selectors that refuse it, the one that came farthest says why.
pub fn check(
    user: &User,
    command: &'static Registered,
    words: Words<'_>,
    at: AtDatabase,
) -> Result<(), Denied> {
    if user.is_unrestricted() {
        return Ok(());
    }
    let mut farthest = (Reason::Database, 0);
    for selector in user.all_selectors() {
        match selector.check(command, words, at) {
            Ok(()) => return Ok(()),
            Err(refused) => farthest = farthest.max(refused),
        }
    }
    let (reason, at) = farthest;
    let object = match words.get(at) {
        Some(word) if at > 0 => word.into(),
        _ => command.full_name.as_bytes().into(),
    };
    Err(Denied { reason, user: user.name.clone(), command: &command.full_name, at, object })
}

/// SORT reads keys that nobody can tell before it runs: with BY and GET only who may read all keys may run it.
pub fn check_patterns(
    user: &User,
    command: &'static Registered,
    words: Words<'_>,
    at: AtDatabase,
) -> Result<(), Error> {
    if user.is_unrestricted() {
        return Ok(());
    }
    let Some(option) = sort_pattern(command, words) else { return Ok(()) };
    let reads_all = |selector: &Selector| {
        selector.check(command, words, at).is_ok()
            && selector.reaches_all_keys(Access { reads: true, writes: false })
    };
    if user.all_selectors().any(reads_all) {
        return Ok(());
    }
    Err(Error::reply(format!("ERR {option} option of SORT denied due to insufficient ACL permissions.")))
}

/// The first option of SORT that reads other keys.
fn sort_pattern(command: &Registered, words: Words<'_>) -> Option<&'static str> {
    if !matches!(command.spec.name, "sort" | "sort_ro") {
        return None;
    }
    let mut at = 2;
    while let Some(word) = words.get(at) {
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let next = words.get(at + 1);
        at += match next {
            Some(pattern) if is("by") && pattern.contains(&b'*') => return Some("BY"),
            Some(_) if is("get") => return Some("GET"),
            Some(_) if is("by") || is("store") => 2,
            Some(_) if is("limit") => 3,
            _ => 1,
        };
    }
    None
}

/// Whether a user may hear a channel, or whatever matches a pattern.
pub fn may_hear(user: &User, name: &[u8], is_pattern: bool) -> bool {
    user.all_selectors().any(|selector| selector.reaches_channel(name, is_pattern))
}

impl Selector {
    /// What is refused first, and the word that it is about.
    fn check(&self, command: &Registered, words: Words<'_>, at: AtDatabase) -> Result<(), (Reason, usize)> {
        if let Reach::Only(allowed) = &self.databases {
            check_databases(allowed, command, words, at).map_err(|at| (Reason::Database, at))?;
        }
        if !self.commands.has(command.id) && !self.allows_otherwise(command, words) {
            return Err((Reason::Command, 0));
        }
        if let Reach::Only(patterns) = &self.keys {
            let check = |(at, flags): (usize, KeyFlags)| {
                let key = words.get(at).unwrap_or(&[]);
                let wanted = access(flags);
                let is_known = patterns.iter().any(|known| known.matches(key) && known.access.covers(wanted));
                if is_known { Ok(()) } else { Err((Reason::Key, at)) }
            };
            match command.single_key(words) {
                Some(key) => check(key)?,
                None => command.keys(words).try_for_each(check)?,
            }
        }
        if let Some(channels) = command.spec.talks
            && !self.channels.is_all()
        {
            let end = if channels == Channels::Publish { words.len().min(2) } else { words.len() };
            let is_pattern = channels == Channels::SubscribePatterns;
            for at in 1..end {
                if !self.reaches_channel(words.get(at).unwrap_or(&[]), is_pattern) {
                    return Err((Reason::Channel, at));
                }
            }
        }
        Ok(())
    }

    /// Before AUTH everybody may say who they are. And a command may be allowed with some first arguments only.
    fn allows_otherwise(&self, command: &Registered, words: Words<'_>) -> bool {
        let word = words.get(1);
        let is_allowed = |(id, allowed): &(usize, Box<[u8]>)| {
            *id == command.id && word.is_some_and(|word| word.eq_ignore_ascii_case(allowed))
        };
        command.spec.flags.has(Flags::NO_AUTH) || self.first_args.iter().any(is_allowed)
    }

    fn reaches_all_keys(&self, wanted: Access) -> bool {
        match &self.keys {
            Reach::All => true,
            Reach::Only(patterns) => {
                patterns.iter().any(|known| known.access.covers(wanted) && *known.pattern == *b"*")
            }
        }
    }

    /// A pattern is allowed only as it is.
    fn reaches_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        match &self.channels {
            Reach::All => true,
            Reach::Only(known) if is_pattern => known.iter().any(|pattern| **pattern == *name),
            Reach::Only(known) => known.iter().any(|pattern| matches(pattern, name)),
        }
    }
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    glob::matches(pattern, name, false)
}

#[inline]
fn access(flags: KeyFlags) -> Access {
    let changes = KeyFlags::INSERT.or(KeyFlags::DELETE).or(KeyFlags::UPDATE);
    Access { reads: flags.has(KeyFlags::ACCESS), writes: flags.0 & changes.0 != 0 }
}

/// The first word that names a database which is not among those allowed; 0 for the one that the call is for. A command
/// that names a database which does not exist is left to say so itself.
fn check_databases(
    allowed: &[u32],
    command: &Registered,
    words: Words<'_>,
    at: AtDatabase,
) -> Result<(), usize> {
    let is_allowed = |number: u32| allowed.binary_search(&number).is_ok();
    let own = is_allowed(at.current.into()) || !command.is_for_database;
    let named: Vec<usize> = match command.spec.databases {
        Databases::Own => Vec::new(),
        Databases::Every => {
            let all = (0..at.count).all(|number| u32::try_from(number).is_ok_and(is_allowed));
            return if all { Ok(()) } else { Err(0) };
        }
        Databases::Words(places) | Databases::OwnAndWords(places) => {
            places.iter().map(|place| usize::from(*place)).collect()
        }
        Databases::OwnAndOption(option, first) => (usize::from(first) + 1..words.len())
            .filter(|at| words.get(at - 1).is_some_and(|word| word.eq_ignore_ascii_case(option.as_bytes())))
            .collect(),
    };
    let numbers: Option<Vec<u32>> = named
        .iter()
        .map(|at| words.get(*at).and_then(number::parse_i64).and_then(|number| u32::try_from(number).ok()))
        .collect();
    let numbers = numbers.filter(|numbers| numbers.iter().all(|number| (*number as usize) < at.count));
    if let Some(numbers) = numbers {
        let refused = named.iter().zip(numbers).find(|(_, number)| !is_allowed(*number));
        if let Some((at, _)) = refused {
            return Err(*at);
        }
    }
    if own { Ok(()) } else { Err(0) }
}
