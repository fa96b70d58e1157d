//! Who may do what: users, their passwords and their permissions.
//!
//! All users together are a snapshot that never changes; a change makes another one and raises the generation. A
//! connection keeps its user ([`Login`]) and looks again when the generation has grown, so that the gate takes no lock, and
//! a user that may do everything costs one comparison.

pub mod category;
pub mod check;
pub mod file;
pub mod log;
pub mod login;
pub mod rule;
pub mod selector;
#[cfg(test)]
mod tests;
pub mod user;

use std::collections::BTreeMap;
use std::hash::RandomState;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

pub use category::Categories;
pub use check::{AtDatabase, Denied, Reason, allows, check, check_patterns, may_hear};
pub use log::{Context, Log, Refused};
pub use login::Login;
pub use rule::{Defaults, RuleError};
pub use user::{DEFAULT_NAME, User, UserId};

use crate::config::Config;
use crate::error::{Error, shown};
use rule::{has_spaces, merge_selectors};

/// All users at one moment, by name. The default user is always among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users {
    by_name: BTreeMap<Box<[u8]>, Arc<User>>,
    by_id: HashMap<UserId, Arc<User>, RandomState>,
}

impl Default for Users {
    fn default() -> Users {
        let mut users = Users { by_name: BTreeMap::new(), by_id: HashMap::default() };
        users.put(User::default_user());
        users
    }
}

impl Users {
    pub fn get(&self, name: &[u8]) -> Option<&Arc<User>> {
        self.by_name.get(name)
    }

    pub fn by_id(&self, id: UserId) -> Option<&Arc<User>> {
        self.by_id.get(&id)
    }

    fn put(&mut self, user: User) {
        let user = Arc::new(user);
        self.by_id.insert(user.id, Arc::clone(&user));
        self.by_name.insert(user.name.clone(), user);
    }

    fn remove(&mut self, name: &[u8]) -> Option<UserId> {
        let user = self.by_name.remove(name)?;
        self.by_id.remove(&user.id);
        Some(user.id)
    }

    pub fn default_user(&self) -> Arc<User> {
        self.get(DEFAULT_NAME).cloned().unwrap_or_else(|| Arc::new(User::default_user()))
    }

    /// By name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.by_name.values()
    }
}

#[derive(Debug)]
pub struct Acl {
    /// With its generation.
    users: RwLock<(Arc<Users>, u64)>,
    /// Read for every call: nothing that is written more often is beside it.
    generation: CachePadded<AtomicU64>,
    /// Held while users change, and the next id.
    changing: Mutex<u64>,
    pub log: Log,
}

impl Default for Acl {
    fn default() -> Acl {
        Acl {
            users: RwLock::new((Arc::new(Users::default()), 1)),
            generation: CachePadded::new(AtomicU64::new(1)),
            changing: Mutex::new(1),
            log: Log::default(),
        }
    }
}

impl Acl {
    /// Grows with every change; never 0.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The users, and since which generation they are so.
    pub fn users(&self) -> (Arc<Users>, u64) {
        let users = self.users.read();
        (Arc::clone(&users.0), users.1)
    }

    /// The user of a caller, unless nothing has to be checked for it. One that was deleted meanwhile may do nothing.
    pub fn restricted(&self, id: UserId) -> Option<Arc<User>> {
        let (users, _) = self.users();
        match users.by_id(id) {
            Some(user) if user.is_unrestricted() => None,
            Some(user) => Some(Arc::clone(user)),
            None => Some(Arc::new(User::new(id, b"", Defaults::default()))),
        }
    }

    fn replace(&self, users: Users) {
        let mut current = self.users.write();
        current.1 += 1;
        current.0 = Arc::new(users);
        self.generation.store(current.1, Ordering::Release);
    }

    /// Creates a user or changes one: all rules are taken, or none.
    pub fn set_user<'r>(
        &self,
        name: &[u8],
        rules: impl IntoIterator<Item = &'r [u8]>,
        defaults: Defaults,
    ) -> Result<(), Error> {
        if has_spaces(name) {
            return Err(Error::reply("ERR Usernames can't contain spaces or null characters"));
        }
        let rules: Vec<&[u8]> = rules.into_iter().collect();
        let merged = merge_selectors(rules.iter().copied()).map_err(|at| {
            let word = shown(rules.get(at).copied().unwrap_or_default());
            Error::reply(format!("ERR Unmatched parenthesis in acl selector starting at '{word}'."))
        })?;
        let mut next_id = self.changing.lock();
        let (users, _) = self.users();
        let before = match users.get(name) {
            Some(user) => User::clone(user),
            None => User::new(UserId(*next_id), name, defaults),
        };
        let user = before.with(&merged, defaults).map_err(|(at, error)| {
            let rule = shown(merged.get(at).map(Vec::as_slice).unwrap_or_default());
            Error::reply(format!("ERR Error in ACL SETUSER modifier '{rule}': {error}"))
        })?;
        *next_id += u64::from(user.id == UserId(*next_id));
        let mut users = Users::clone(&users);
        users.put(user);
        self.replace(users);
        Ok(())
    }

    /// Deletes those that there are; who they were.
    pub fn delete<'n>(&self, names: impl IntoIterator<Item = &'n [u8]>) -> Vec<UserId> {
        let _changing = self.changing.lock();
        let mut users = Users::clone(&self.users().0);
        let gone: Vec<UserId> = names
            .into_iter()
            .filter(|name| *name != DEFAULT_NAME)
            .filter_map(|name| users.remove(name))
            .collect();
        if !gone.is_empty() {
            self.replace(users);
        }
        gone
    }

    /// What `requirepass` says is the default user's password.
    pub fn set_default_password(&self, password: &[u8]) {
        let _changing = self.changing.lock();
        let mut users = Users::clone(&self.users().0);
        let user = users.default_user().with_password(password);
        users.put(user);
        self.replace(users);
    }

    /// The users of a start: those of the configuration, or of the ACL file. What is wrong is for the operator.
    pub fn open(&self, config: &Config) -> Result<(), String> {
        self.set_default_password(&config.requirepass);
        self.set_configured(&config.users, config.user_defaults())?;
        let Some(path) = config.acl_path() else { return Ok(()) };
        self.load(&path, config.user_defaults())?;
        if !config.requirepass.is_empty() {
            tracing::warn!(
                "requirepass has no effect: the ACL file says what the default user's password is"
            );
        }
        Ok(())
    }

    /// The users of `user` lines in the configuration.
    pub fn set_configured(&self, lines: &[Vec<Vec<u8>>], defaults: Defaults) -> Result<(), String> {
        let mut next_id = self.changing.lock();
        let mut users = Users::clone(&self.users().0);
        for line in lines {
            let (name, rules) = line.split_first().ok_or("a user line without a name")?;
            let id = if name == DEFAULT_NAME { UserId::DEFAULT } else { UserId(*next_id) };
            *next_id += 1;
            let user = User::new(id, name, defaults).with(rules, defaults).map_err(|(at, error)| {
                let rule = shown(rules.get(at).map(Vec::as_slice).unwrap_or_default());
                format!("Error loading ACL rule '{rule}' for the user named '{}': {error}", shown(name))
            })?;
            if !user.enabled {
                let name = crate::config::words::printable(name);
                tracing::info!(
                    "The user '{name}' is disabled (there is no 'on' modifier in the user description)."
                );
            }
            users.put(user);
        }
        self.replace(users);
        Ok(())
    }

    /// The lines of users for the configuration file: none where they are in a file of their own.
    pub fn lines_for(&self, config: &Config) -> Vec<Vec<u8>> {
        if config.acl_path().is_some() {
            return Vec::new();
        }
        let (users, _) = self.users();
        // `requirepass` says as much.
        let plain = User::default_user().with_password(&config.requirepass);
        users.iter().filter(|user| ***user != plain).map(|user| user.line()).collect()
    }

    /// Takes the users of the ACL file instead of those that there are, or says what is wrong with it.
    pub fn load(&self, path: &Path, defaults: Defaults) -> Result<(), String> {
        let mut next_id = self.changing.lock();
        let (before, _) = self.users();
        let loaded = file::load(path, defaults, &mut |name| match before.get(name) {
            Some(known) => known.id,
            None => {
                *next_id += 1;
                UserId(*next_id - 1)
            }
        })?;
        self.replace(loaded);
        Ok(())
    }
}
