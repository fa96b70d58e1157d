//! What comes from another node goes to those who subscribe, wait or cache here.

use tarn_engine::Position;

use super::message::Message;
use crate::dispatch::watches::WatchedKey;
use crate::node::Node;

/// It needs no commit of this node.
const AT_ONCE: Position = Position(0);

/// Messages that came together.
pub struct Received<'n> {
    node: &'n Node,
    /// Keys that somebody here waits for, and whether they may be gone.
    ready: Vec<(WatchedKey, bool)>,
    has_some: bool,
}

impl<'n> Received<'n> {
    pub fn new(node: &'n Node) -> Received<'n> {
        Received { node, ready: Vec::new(), has_some: false }
    }

    /// Whether it was something that is told of here.
    pub fn take(&mut self, message: &Message<'_>) -> bool {
        let node = self.node;
        match message {
            Message::Published { kind, channel, message } => {
                node.pubsub.publish(*kind, channel, message, AT_ONCE);
            }
            Message::Changed { db, may_be_gone, key } => {
                if node.tracking.any() {
                    // By no client of this node.
                    node.tracking.tell(&node.clients, std::iter::once(*key), 0);
                }
                self.wake(WatchedKey { db: *db, key: (*key).into() }, *may_be_gone);
            }
            Message::Database { db } => {
                self.flush();
                let keys = if node.waiters.any() { node.waiters.keys_of(*db) } else { Vec::new() };
                keys.into_iter().for_each(|key| self.wake(key, true));
            }
            Message::Anything => self.flush(),
            Message::Look => node.nodes.look(),
            Message::Interest { .. } | Message::Heard { .. } | Message::Alive => return false,
        }
        self.has_some = true;
        true
    }

    fn wake(&mut self, key: WatchedKey, may_be_gone: bool) {
        let node = self.node;
        if node.waiters.any() && node.waiters.is_awaited(&key) {
            let is_last = |(last, _): &(WatchedKey, bool)| *last == key;
            if !self.ready.last().is_some_and(is_last) {
                self.ready.push((key, may_be_gone));
            }
        }
    }

    /// Who caches is told that any key may have been changed.
    pub fn flush(&mut self) {
        if self.node.tracking.any() {
            self.node.tracking.tell_all(&self.node.clients);
            self.has_some = true;
        }
    }

    /// Wakes the threads that have something for their clients.
    pub fn finish(self) {
        if !self.has_some {
            return;
        }
        self.node.deliver();
        if let Some(post) = self.node.post().filter(|_| !self.ready.is_empty()) {
            post.ready(self.ready);
        }
    }
}
