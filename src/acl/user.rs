//! A user: who may come in with which password, and what it may do. Never changed once it is made: a change makes another
//! one.

use sha2::{Digest as _, Sha256};

use super::rule::{Defaults, Rule, RuleError};
use super::selector::Selector;

/// A user from its creation to its deletion. Never given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub u64);

impl UserId {
    /// The user that connections have before they say who they are. There always is one.
    pub const DEFAULT: UserId = UserId(0);
}

pub const DEFAULT_NAME: &[u8] = b"default";

/// SHA-256 of a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    pub fn of(password: &[u8]) -> Hash {
        Hash(Sha256::digest(password).into())
    }

    /// 64 hexadecimal digits, the letters small.
    fn parse(text: &[u8]) -> Option<Hash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut hash = [0; 32];
        if text.len() != 2 * hash.len() {
            return None;
        }
        for (to, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *to = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Hash(hash))
    }

    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Takes as long for a nearly right one as for any other.
    fn is(&self, other: &Hash) -> bool {
        let differing = self.0.iter().zip(other.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub name: Box<[u8]>,
    /// It can be logged in as.
    pub enabled: bool,
    /// Any password is right.
    pub nopass: bool,
    /// Kept and shown: what RESTORE is given is always checked.
    pub skips_sanitizing: bool,
    pub passwords: Vec<Hash>,
    /// What the rules outside of parentheses say.
    pub root: Selector,
    pub selectors: Vec<Selector>,
    /// Nothing has to be checked for it.
    unrestricted: bool,
}

impl User {
    /// A new one that cannot be logged in as, and may do nothing.
    pub fn new(id: UserId, name: &[u8], defaults: Defaults) -> User {
        User {
            id,
            name: name.into(),
            enabled: false,
            nopass: false,
            skips_sanitizing: false,
            passwords: Vec::new(),
            root: Selector::new(defaults),
            selectors: Vec::new(),
            unrestricted: false,
        }
    }

    /// As it is before anybody says otherwise: everything is allowed, without a password.
    pub fn default_user() -> User {
        let mut user = User::new(UserId::DEFAULT, DEFAULT_NAME, Defaults::default());
        for rule in [Rule::AllCommands, Rule::AllKeys, Rule::AllChannels, Rule::On, Rule::NoPassword] {
            // None of these can be refused.
            let _ = user.apply_one(rule, Defaults::default());
        }
        user.settled()
    }

    /// With further rules: all of them, or the place of the one that is refused.
    pub fn with(&self, rules: &[Vec<u8>], defaults: Defaults) -> Result<User, (usize, RuleError)> {
        let mut user = self.clone();
        for (at, rule) in rules.iter().enumerate() {
            user.apply(rule, defaults).map_err(|error| (at, error))?;
        }
        Ok(user.settled())
    }

    /// One rule; [`User::settled`] ends a series of them.
    pub fn apply(&mut self, rule: &[u8], defaults: Defaults) -> Result<(), RuleError> {
        if rule.is_empty() { Ok(()) } else { self.apply_one(Rule::parse(rule), defaults) }
    }

    pub fn settled(mut self) -> User {
        self.unrestricted =
            self.root.is_unrestricted() || self.selectors.iter().any(Selector::is_unrestricted);
        self
    }

    fn apply_one(&mut self, rule: Rule<'_>, defaults: Defaults) -> Result<(), RuleError> {
        match rule {
            Rule::On => self.enabled = true,
            Rule::Off => self.enabled = false,
            Rule::SkipSanitizing => self.skips_sanitizing = true,
            Rule::Sanitize => self.skips_sanitizing = false,
            Rule::NoPassword => self.set_passwords(None, true),
            Rule::ResetPasswords => self.set_passwords(None, false),
            Rule::AddPassword(password) => self.add_password(Hash::of(password)),
            Rule::AddHash(hash) => self.add_password(Hash::parse(hash).ok_or(RuleError::BadHash)?),
            Rule::RemovePassword(password) => self.remove_password(Hash::of(password))?,
            Rule::RemoveHash(hash) => self.remove_password(Hash::parse(hash).ok_or(RuleError::BadHash)?)?,
            Rule::Selector(inner) => self.selectors.push(Selector::parse(inner, defaults)?),
            Rule::ClearSelectors => self.selectors.clear(),
            Rule::Reset => *self = User::new(self.id, &self.name, defaults),
            other => self.root.apply(other)?,
        }
        Ok(())
    }

    fn set_passwords(&mut self, password: Option<Hash>, nopass: bool) {
        self.passwords = password.into_iter().collect();
        self.nopass = nopass;
    }

    fn add_password(&mut self, hash: Hash) {
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
        self.nopass = false;
    }

    fn remove_password(&mut self, hash: Hash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| *known == hash).ok_or(RuleError::NoSuchPassword)?;
        self.passwords.remove(at);
        Ok(())
    }

    /// As `requirepass` says: this password and no other, or none at all.
    pub fn with_password(&self, password: &[u8]) -> User {
        let mut user = self.clone();
        user.set_passwords((!password.is_empty()).then(|| Hash::of(password)), password.is_empty());
        user
    }

    /// Whether it can be logged in as with this password.
    pub fn admits(&self, password: &[u8]) -> bool {
        if !self.enabled {
            return false;
        }
        // Hashed in any case: how long it takes does not tell which users have a password.
        let hash = Hash::of(password);
        self.nopass || self.passwords.iter().fold(false, |found, known| found | known.is(&hash))
    }

    /// Nobody has to say anything to be this user.
    pub fn is_open(&self) -> bool {
        self.enabled && self.nopass
    }

    #[inline]
    pub fn is_unrestricted(&self) -> bool {
        self.unrestricted
    }

    /// Its own permissions first.
    pub fn all_selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.selectors)
    }

    /// Words of GETUSER and LIST.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        let state = if self.enabled { "on" } else { "off" };
        let nopass = self.nopass.then_some("nopass");
        let skips = self.skips_sanitizing.then_some("skip-sanitize-payload");
        std::iter::once(state).chain(nopass).chain(skips)
    }

    /// All rules in one line, as they can be given again; without its name.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for flag in self.flags() {
            text.extend_from_slice(flag.as_bytes());
            text.push(b' ');
        }
        for password in &self.passwords {
            text.push(b'#');
            text.extend_from_slice(password.hex().as_bytes());
            text.push(b' ');
        }
        text.extend_from_slice(&self.root.text());
        for selector in &self.selectors {
            text.extend_from_slice(b" (");
            text.extend_from_slice(&selector.inner_text());
            text.push(b')');
        }
        text
    }

    /// As a line of the ACL file.
    pub fn line(&self) -> Vec<u8> {
        [b"user ", &*self.name, b" ", &self.text()].concat()
    }
}
