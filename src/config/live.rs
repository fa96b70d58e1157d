//! The configuration of a running server: read by many, changed by CONFIG SET.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::option::{Change, Opt};
use super::parse::{self, Source};
use super::{Config, appendonly, table, words};
use crate::glob;

/// Called with the old and the new configuration, in the order of the changes, before CONFIG SET is answered.
pub type Hook = Box<dyn Fn(&Config, &Config) + Send + Sync>;

/// What is done once the new configuration is the current one. It cannot fail.
pub type Install = Box<dyn FnOnce() + Send>;

/// Asked before a change whether the process can follow it: there is a file, a descriptor, a port. The reason why not is the words
/// of the refusal.
pub struct Preparation {
    /// The options it is about; the first of them in CONFIG SET is named in the refusal.
    pub concerns: fn(&Opt) -> bool,
    pub prepare: Box<dyn Fn(&Config, &Config) -> Result<Option<Install>, String> + Send + Sync>,
}

#[derive(Default)]
pub(super) struct Followers {
    preparations: Vec<Preparation>,
    hooks: Vec<Hook>,
}

pub struct Live {
    current: RwLock<Arc<Config>>,
    generation: AtomicU64,
    /// Locked while the configuration changes or is written, so that changes and their hooks happen one after the other.
    pub(super) changes: Mutex<Followers>,
}

/// Why nothing was changed. Displayed as the words behind `ERR `.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetError {
    Unknown { name: Vec<u8> },
    Refused { name: Vec<u8>, reason: String },
}

impl SetError {
    /// The reply without `-ERR ` and line end. Names are as the client wrote them, so they may be any bytes.
    pub fn message(&self) -> Vec<u8> {
        match self {
            Self::Unknown { name } => {
                [b"Unknown option or number of arguments for CONFIG SET - '", name.as_slice(), b"'"].concat()
            }
            Self::Refused { name, reason } => [
                b"CONFIG SET failed (possibly related to argument '",
                name.as_slice(),
                b"') - ",
                reason.as_bytes(),
            ]
            .concat(),
        }
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words::printable(&self.message()))
    }
}

impl std::error::Error for SetError {}

impl Live {
    pub fn new(config: Config) -> Self {
        Self {
            current: RwLock::new(Arc::new(config)),
            generation: AtomicU64::new(0),
            changes: Mutex::default(),
        }
    }

    pub fn current(&self) -> Arc<Config> {
        Arc::clone(&self.current.read())
    }

    /// Grows with every change. Whoever keeps an [`Arc<Config>`] compares this and asks for the current one when it has
    /// grown; the snapshot seen after that is at least as new as the generation.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Hooks must not call [`Live::set`].
    pub fn on_change(&self, hook: Hook) {
        self.changes.lock().hooks.push(hook);
    }

    /// Preparations must not call [`Live::set`] either.
    pub fn before_change(&self, preparation: Preparation) {
        self.changes.lock().preparations.push(preparation);
    }

    /// Sets all of the pairs or none. `local` says that the client is on this machine.
    pub fn set(&self, pairs: &[(&[u8], &[u8])], local: bool) -> Result<Arc<Config>, SetError> {
        let followers = self.changes.lock();
        let old = self.current();
        let options = admit(&old, pairs, local)?;
        let mut new = Config::clone(&old);
        new.appendonly_wanted = None;
        for (option, (name, value)) in options.iter().copied().zip(pairs) {
            parse::apply(&mut new, option, &[value], Source::Set)
                .map_err(|reason| SetError::Refused { name: name.to_vec(), reason })?;
        }
        new.complete().map_err(|(name, reason)| SetError::Refused { name: name.into(), reason })?;
        appendonly::check(&new)
            .map_err(|reason| SetError::Refused { name: b"appendonly".to_vec(), reason: reason.into() })?;
        let mut installs = Vec::new();
        for Preparation { concerns, prepare } in &followers.preparations {
            let mut named = options.iter().zip(pairs).filter(|(option, _)| concerns(option));
            let Some((_, (name, _))) = named.next() else { continue };
            let install = prepare(&old, &new);
            installs.extend(install.map_err(|reason| SetError::Refused { name: name.to_vec(), reason })?);
        }
        let new = Arc::new(new);
        *self.current.write() = Arc::clone(&new);
        self.generation.fetch_add(1, Ordering::Release);
        installs.into_iter().for_each(|install| install());
        for hook in &followers.hooks {
            hook(&old, &new);
        }
        Ok(new)
    }

    /// Name and value of every option that one of the patterns matches, each once, older names included. A name that
    /// is no pattern comes back as it was written.
    pub fn get(&self, patterns: &[&[u8]]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let config = self.current();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for pattern in patterns {
            let named = !glob::is_pattern(pattern);
            for (name, option) in table::names() {
                let matched = match named {
                    true => name.as_bytes().eq_ignore_ascii_case(pattern),
                    false => glob::matches(pattern, name.as_bytes(), true),
                };
                if matched && seen.insert(name) {
                    let shown = if named { pattern.to_vec() } else { name.as_bytes().to_vec() };
                    found.push((shown, option.text(&config)));
                }
            }
        }
        found
    }
}

/// Finds the options and refuses, before any value is looked at, what may not be set. An unknown name anywhere wins over
/// nothing but an earlier refusal, as in Redis.
fn admit(config: &Config, pairs: &[(&[u8], &[u8])], local: bool) -> Result<Vec<&'static Opt>, SetError> {
    let mut seen = HashSet::new();
    let mut options = Vec::with_capacity(pairs.len());
    for (name, _) in pairs {
        let refused = |reason: &str| SetError::Refused { name: name.to_vec(), reason: reason.into() };
        let option = table::find(name).ok_or_else(|| SetError::Unknown { name: name.to_vec() })?;
        match option.change {
            Change::Start => return Err(refused("can't set immutable config")),
            Change::Protected if !config.enable_protected_configs.allows(local) => {
                return Err(refused("can't set protected config"));
            }
            Change::Live | Change::Protected => {}
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(refused("duplicate parameter"));
        }
        options.push(option);
    }
    Ok(options)
}
