//! Whose calls they are. What gate and handlers see of a client; never a socket.

use tarn_resp::Protocol;

use crate::config::Config;

/// Who is known to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Nobody has given a password yet.
    Unknown,
    Default,
}

impl User {
    /// Of a connection that has not said anything yet.
    pub fn at_connect(config: &Config) -> User {
        if config.requirepass.is_empty() { User::Default } else { User::Unknown }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub user: User,
    pub db: u16,
    pub protocol: Protocol,
    /// CLIENT ID.
    pub client: u64,
    /// The keys it reads are remembered for it.
    pub tracks: bool,
}
