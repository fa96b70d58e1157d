//! What a connection is to commands: its database, protocol, name and flags. Never a socket.

use std::sync::Arc;
use std::time::Duration;

use tarn_resp::Protocol;

use crate::clients::Client;
use crate::error::Result;
use crate::node::Node;
use crate::reply::Reply;

/// Whether replies are sent, as CLIENT REPLY asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyMode {
    #[default]
    On,
    Off,
    /// This command's reply and the next one's are left out.
    SkipNext,
    /// This one's is.
    Skip,
}

#[derive(Debug)]
pub struct Session {
    pub client: Arc<Client>,
    pub db: u16,
    pub protocol: Protocol,
    pub authenticated: bool,
    pub reply_mode: ReplyMode,
    /// Gets a copy of every command.
    pub is_monitor: bool,
    pub no_touch: bool,
    /// The connection ends when what was answered has been sent.
    pub closing: bool,
}

impl Session {
    pub fn new(client: Arc<Client>, authenticated: bool) -> Session {
        Session {
            client,
            db: 0,
            protocol: Protocol::Resp2,
            authenticated,
            reply_mode: ReplyMode::On,
            is_monitor: false,
            no_touch: false,
            closing: false,
        }
    }

    pub fn select(&mut self, db: u16) {
        self.db = db;
        self.client.set_db(db);
    }
}

/// What a command about the connection or the server works on.
pub struct SessionCx<'a> {
    pub node: &'a Arc<Node>,
    pub session: &'a mut Session,
    pub now_ms: u64,
}

/// Work for a worker thread; only this client waits for it.
pub type Job = Box<dyn FnOnce(&Arc<Node>) -> Result<Reply> + Send>;

/// What a session command answers.
pub enum Answer {
    Reply(Reply),
    /// The reply comes from a worker.
    Worker(Job),
    /// The reply comes when this time has passed; only this client waits.
    After(Duration, Reply),
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Answer {
        Answer::Reply(reply)
    }
}
