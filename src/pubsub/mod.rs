//! Messages and events on their way to subscribers.
//!
//! Who subscribes to what is known twice: the [`Registry`] counts the subscribers of every name per I/O thread, for those
//! who publish, and each thread knows which of its own connections they are ([`Subscribers`]). To publish is to put a
//! message into the [`Inbox`] of every thread that has somebody to hear it; the thread hands it to its connections at the
//! end of its round. Threads without subscribers are not touched.
//!
//! One lock is held while a message is put into all inboxes, and while a subscription changes, so that everybody sees
//! messages in one order, and who subscribed before a message gets it. Nobody else ever waits for it. Events come here in the
//! order of their commits ([`crate::dispatch::effects`]).

mod channels;
mod inbox;
mod registry;
mod subscribers;

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tarn_engine::Position;

pub use channels::{CHANNELS_LEN, Channels};
pub use inbox::{Inbox, Item, Queue, Run};
pub use registry::{Kind, Name, Registry};
pub use subscribers::{Change, Changed, Subscribers, Subscriptions};

use crate::config::Events;

#[derive(Debug)]
pub struct PubSub {
    registry: Mutex<Registry>,
    inboxes: Vec<Inbox>,
    /// `notify-keyspace-events`.
    classes: AtomicU32,
    /// What commands have to note: nothing while nobody subscribes.
    to_note: AtomicU32,
    /// Inboxes that hold something.
    waiting: AtomicUsize,
    /// Whether somebody subscribes on another node.
    elsewhere: AtomicBool,
}

impl PubSub {
    pub fn new(threads: usize, classes: Events) -> PubSub {
        PubSub {
            registry: Mutex::default(),
            inboxes: (0..threads.max(1)).map(|_| Inbox::default()).collect(),
            classes: AtomicU32::new(classes.bits()),
            to_note: AtomicU32::new(0),
            waiting: AtomicUsize::new(0),
            elsewhere: AtomicBool::new(false),
        }
    }

    /// There may be other nodes: [`PubSub::interest`] is to know which channels are subscribed to.
    pub fn count_channels(&self) {
        self.registry.lock().count_channels();
    }

    /// Whether a pattern is subscribed to, and which channels are.
    pub fn interest(&self) -> (bool, Channels) {
        let registry = self.registry.lock();
        (registry.names(Kind::Pattern) > 0, registry.channels())
    }

    /// Whether somebody subscribes on another node.
    pub fn set_elsewhere(&self, elsewhere: bool) {
        if self.elsewhere.swap(elsewhere, Ordering::Relaxed) != elsewhere {
            self.follow_subscriptions(&self.registry.lock());
        }
    }

    /// What a command that begins now has to note.
    #[inline]
    pub fn to_note(&self) -> Events {
        Events::from_bits(self.to_note.load(Ordering::Relaxed))
    }

    pub fn set_classes(&self, classes: Events) {
        self.classes.store(classes.bits(), Ordering::Relaxed);
        self.follow_subscriptions(&self.registry.lock());
    }

    /// Nothing is to be noted while nobody subscribes.
    fn follow_subscriptions(&self, registry: &Registry) {
        let classes = Events::from_bits(self.classes.load(Ordering::Relaxed));
        let is_heard = !registry.is_empty() || self.elsewhere.load(Ordering::Relaxed);
        let to_note = if is_heard { classes.to_note() } else { Events::default() };
        self.to_note.store(to_note.bits(), Ordering::Relaxed);
    }

    /// Sends a message that tells of a commit at this position, and returns how many subscriptions it reaches.
    pub fn publish(&self, kind: Kind, channel: &[u8], message: &[u8], at: Position) -> usize {
        self.registry.lock().route(kind, channel, message, &mut |thread, kind, name, encode| {
            self.put(thread, kind, name, at, encode);
        })
    }

    /// How many subscriptions a message would reach.
    pub fn reach(&self, kind: Kind, channel: &[u8]) -> usize {
        self.registry.lock().route(kind, channel, b"", &mut |_, _, _, _| {})
    }

    fn put(&self, thread: usize, kind: Kind, name: &Name, at: Position, encode: &dyn Fn(&mut Vec<u8>)) {
        if let Some(inbox) = self.inboxes.get(thread)
            && inbox.push(kind, name, at, encode)
        {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn has_some(&self, thread: usize) -> bool {
        self.inboxes.get(thread).is_some_and(Inbox::has_some)
    }

    /// Threads for which something waits. To be woken once the commits it tells of are handed on.
    pub fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let any = self.waiting.load(Ordering::Relaxed) != 0;
        (0..self.inboxes.len()).filter(move |thread| any && self.has_some(*thread))
    }

    /// Takes everything that waits for a thread; `into` is empty and gives its room.
    pub fn take(&self, thread: usize, into: &mut Queue) {
        if let Some(inbox) = self.inboxes.get(thread)
            && inbox.take(into)
        {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Changes subscriptions of a thread's connections. What was published before is taken from its inbox at the same moment:
    /// it is for those who listened until then.
    pub fn change<T>(&self, thread: usize, into: &mut Queue, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut registry = self.registry.lock();
        self.take(thread, into);
        let done = change(&mut registry);
        self.follow_subscriptions(&registry);
        done
    }

    /// Moves a connection with its subscriptions from one thread to another. `hand_out` gives it what its old thread had
    /// for it; from then on it is in the inbox of the other one.
    pub fn hand_over(
        &self,
        (from, to): (usize, usize),
        subscribed: &[(Kind, Name)],
        hand_out: impl FnOnce(&mut Queue) -> Option<Box<dyn Any + Send>>,
        into: &mut Queue,
    ) {
        let mut registry = self.registry.lock();
        self.take(from, into);
        let (Some(connection), Some(inbox)) = (hand_out(into), self.inboxes.get(to)) else { return };
        for (kind, name) in subscribed {
            // The other one first: a name that nobody subscribes to is forgotten.
            registry.add(*kind, name, to);
            registry.remove(*kind, name, from);
        }
        if inbox.arrive(connection) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Who subscribes, for those who ask.
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }
}

#[cfg(test)]
mod tests;
