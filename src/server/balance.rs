//! How many threads a load deserves. Connections begin on the first thread and stay together while it keeps up, so that
//! one wait serves many of them; a thread that cannot keep up hands half of its connections on, and a thread that has
//! little to do gives its own back.

use std::time::Duration;

use super::io_thread::IoThread;
use super::mailbox::Mailboxes;
use crate::node::Node;

/// From here on a thread cannot keep up, in thousandths of its time.
const OVERLOADED: u32 = 850;
/// A thread that takes connections over must have been below this.
const HAS_ROOM: u32 = 700;
/// Below this, on two threads, one would do.
const UNDERUSED: u32 = 350;

/// The thread for a new connection.
pub fn choose(mailboxes: &Mailboxes, node: &Node) -> usize {
    let keeps_up = mailboxes.threads.iter().position(|thread| thread.busy() < OVERLOADED);
    let fewest = || (0..mailboxes.threads.len()).min_by_key(|thread| node.clients.on_thread(*thread));
    keeps_up.or_else(fewest).unwrap_or(0)
}

impl IoThread {
    /// Looks back on a turn of the loop, of which `idle` was spent waiting.
    pub(super) fn balance(&mut self, turn: Duration, idle: Duration) {
        let busy = turn.saturating_sub(idle).as_micros() * 1000 / turn.as_micros().max(1);
        let busy = u32::try_from(busy).unwrap_or(1000).min(1000);
        self.mailbox.set_busy(busy);
        let own = self.node.clients.on_thread(self.index);
        if busy >= OVERLOADED && own > 1 {
            if let Some(thread) = self.thread_with_room(own) {
                self.hand_on(thread, own / 2);
            }
        } else if busy < UNDERUSED && self.index > 0 && own > 0 {
            let first = self.index - 1;
            if self.mailboxes.threads.get(first).is_some_and(|thread| thread.busy() < UNDERUSED) {
                self.hand_on(first, own);
            }
        }
    }

    fn thread_with_room(&self, own: usize) -> Option<usize> {
        let others = self.mailboxes.threads.iter().enumerate();
        others
            .filter(|(thread, mailbox)| {
                *thread != self.index
                    && mailbox.busy() < HAS_ROOM
                    && self.node.clients.on_thread(*thread) < own
            })
            .min_by_key(|(_, mailbox)| mailbox.busy())
            .map(|(thread, _)| thread)
    }
}
