//! Whose calls they are. What gate and handlers see of a client; never a socket.

use tarn_resp::Protocol;

use crate::acl::{Acl, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    /// As long as this is the generation of the users, it may do everything; 0 is never.
    pub free_at: u64,
    pub db: u16,
    pub protocol: Protocol,
    /// CLIENT ID.
    pub client: u64,
    /// The keys it reads are remembered for it.
    pub tracks: bool,
}

impl Caller {
    /// Whatever it calls may pass.
    #[inline]
    pub fn is_free(&self, acl: &Acl) -> bool {
        self.free_at == acl.generation()
    }
}
