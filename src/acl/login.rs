//! Who a connection is.

use std::sync::Arc;

use super::Acl;
use super::user::{User, UserId};

/// The user of a connection, as it was when the connection looked last. It looks again when users have changed.
#[derive(Debug, Clone)]
pub struct Login {
    user: Arc<User>,
    /// A password was given, or none was asked for.
    authenticated: bool,
    /// [`Acl::generation`] then.
    seen: u64,
    /// The same where nothing has to be checked; 0 otherwise. So one comparison lets a call pass.
    free_at: u64,
}

impl Login {
    /// Of a connection that has not said anything yet.
    pub fn at_connect(acl: &Acl) -> Login {
        let (users, seen) = acl.users();
        let user = users.default_user();
        let authenticated = user.is_open();
        Login::of(user, authenticated, seen)
    }

    /// Of a client whose certificate names a user that can be logged in as.
    pub fn by_certificate<'n>(acl: &Acl, names: impl IntoIterator<Item = &'n [u8]>) -> Option<Login> {
        let (users, seen) = acl.users();
        let user = names.into_iter().filter_map(|name| users.get(name)).find(|user| user.enabled)?;
        Some(Login::of(Arc::clone(user), true, seen))
    }

    /// After AUTH.
    pub fn of(user: Arc<User>, authenticated: bool, seen: u64) -> Login {
        let mut login = Login { user, authenticated, seen, free_at: 0 };
        if login.is_authenticated() && login.user.is_unrestricted() {
            login.free_at = seen;
        }
        login
    }

    pub fn user(&self) -> &Arc<User> {
        &self.user
    }

    pub fn id(&self) -> UserId {
        self.user.id
    }

    /// Where nobody has to give a password, also who came while one was needed is let in.
    pub fn is_authenticated(&self) -> bool {
        self.authenticated || self.user.is_open()
    }

    /// Whatever it calls may pass.
    #[inline]
    pub fn is_free(&self, acl: &Acl) -> bool {
        self.free_at == acl.generation()
    }

    #[inline]
    pub fn is_current(&self, acl: &Acl) -> bool {
        self.seen == acl.generation()
    }

    /// See [`crate::dispatch::caller::Caller::free_at`].
    pub fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Looks at the users again, if they have changed. Whether its own is still there.
    pub fn follow(&mut self, acl: &Acl) -> bool {
        if self.is_current(acl) {
            return true;
        }
        let (users, seen) = acl.users();
        match users.get(&self.user.name).filter(|user| user.id == self.user.id) {
            Some(user) => {
                *self = Login::of(Arc::clone(user), self.authenticated, seen);
                true
            }
            None => {
                *self = Login::of(users.default_user(), false, seen);
                false
            }
        }
    }
}
