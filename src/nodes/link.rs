//! One connection between two nodes: a socket that never blocks, and what is said over it.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;

use super::conversation::{Broken, Conversation};
use super::interest::Interest;
use super::{Id, Peer};
use crate::encoding::Malformed;

/// Room that is given back once all has been sent.
const KEEP_BYTES: usize = 1 << 20;

pub struct Link {
    pub socket: TcpStream,
    pub talk: Conversation,
    pub side: Side,
    /// The socket is not connected yet.
    pub is_connecting: bool,
    /// How much of the output is in the socket.
    sent: usize,
    pub began: Instant,
    /// When something came last, and when something was last said.
    pub heard: Instant,
    pub spoke: Instant,
}

/// Which of the two nodes has made the link.
pub enum Side {
    /// This one: it tells.
    To(Arc<Peer>),
    /// The other one: it is listened to.
    From(Listening),
}

/// What is known of a node that is listened to.
#[derive(Default)]
pub struct Listening {
    /// Who it is, once that is proven.
    pub id: Option<Id>,
    /// What it was last told that this node wants, and how often it was told.
    pub told: Interest,
    pub number: u64,
    /// It was told that somebody caches; what was read before it knows of that may be old.
    pub asked: Option<u64>,
    /// It tells of all changes.
    pub covers: bool,
}

/// Why a link is ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Broken(#[from] Broken),
    #[error("a message cannot be read: {}", .0.0)]
    Malformed(Malformed),
    #[error("a message that does not belong here")]
    Misplaced,
    #[error("the other side has closed it")]
    Closed,
    #[error("the other side is silent")]
    Silent,
    #[error("the node has left")]
    Left,
}

impl Link {
    pub fn new(socket: TcpStream, talk: Conversation, side: Side) -> Link {
        let now = Instant::now();
        let is_connecting = matches!(side, Side::To(_));
        // Small frames are not to wait for each other; where that cannot be had they do.
        let _ = socket.set_nodelay(true);
        Link { socket, talk, side, is_connecting, sent: 0, began: now, heard: now, spoke: now }
    }

    /// Whether the socket is connected by now.
    pub fn connected(&mut self) -> io::Result<bool> {
        if !self.is_connecting {
            return Ok(true);
        }
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        match self.socket.peer_addr() {
            Ok(_) => self.is_connecting = false,
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
            Err(error) => return Err(error),
        }
        Ok(!self.is_connecting)
    }

    /// Reads a piece. False where there is nothing for now.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<bool, Ended> {
        loop {
            match self.socket.read(buffer) {
                Ok(0) => return Err(Ended::Closed),
                Ok(len) => {
                    self.heard = Instant::now();
                    self.talk.feed(buffer.get(..len).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends what there is. Whether all of it is in the socket.
    pub fn write(&mut self) -> io::Result<bool> {
        while let Some(left) = self.talk.output.get(self.sent..).filter(|left| !left.is_empty()) {
            match self.socket.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => self.sent += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sent = 0;
        self.talk.output.clear();
        if self.talk.output.capacity() > KEEP_BYTES {
            self.talk.output = Vec::new();
        }
        Ok(true)
    }

    /// Says something. Whether the other side is known by now.
    pub fn say(&mut self, messages: &[u8]) -> bool {
        self.spoke = Instant::now();
        self.talk.send(messages)
    }

    /// Who is at the other side, once that is proven.
    pub fn proven(&self) -> Option<Id> {
        match &self.side {
            Side::To(peer) => self.talk.is_open().then_some(peer.id),
            Side::From(listening) => listening.id,
        }
    }
}
