//! Nodes on the same data know each other and talk.
//!
//! [`members`] keeps a row for each node on the cluster, so that all know who is there. [`links`] is a thread that has one connection to
//! every other node, and one from each. What a node tells goes over its own connection: messages of PUBLISH, events, and
//! which keys were changed, for those who wait for them or cache them. Each node says what it has somebody for ([`interest`]), and is told of nothing
//! else. Delivery is at most once and in the order of the sender: what finds no room or no link is dropped. A client that waits looks again by itself,
//! and who caches is told to drop everything when a link is lost or made, so that a lost message only delays.
//!
//! None of it is there where nobody else can reach the data.

mod conversation;
pub mod interest;
mod link;
mod links;
mod members;
mod message;
mod outbox;
mod receive;
pub mod remap;
mod secret;
pub mod slots;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::Waker;
use mio::net::TcpListener;
use parking_lot::{Mutex, RwLock};

pub use members::Member;

use crate::node::Node;
use crate::pubsub::{Channels, Kind};
use interest::Interest;
use links::Links;
use message::Message;
use outbox::{Loss, Outbox};
use secret::Secret;

/// A node's name, 40 hex digits.
pub type Id = [u8; 40];

fn id_of(name: &str) -> Option<Id> {
    name.as_bytes().try_into().ok()
}

/// The other nodes, and what they want to be told. Empty where there can be none.
#[derive(Default)]
pub struct Nodes {
    /// Who is there, this node included, by name.
    members: RwLock<Arc<[Member]>>,
    peers: RwLock<Arc<[Arc<Peer>]>>,
    has_others: AtomicBool,
    /// Whether any of them wants messages, or changes of keys.
    in_messages: AtomicBool,
    in_changes: AtomicBool,
    secret: RwLock<Option<Arc<Secret>>>,
    bell: Bell,
    /// What this node wants may be something else by now.
    wants_anew: AtomicBool,
    shown: Mutex<Vec<Shown>>,
    /// Has the rows of the nodes looked at before it is time.
    look: RwLock<Option<(Sender<()>, Receiver<()>)>>,
    /// The change of the map of databases that this node is about to make; 0 is none.
    remapping: AtomicU64,
    pub counters: Counters,
}

/// Another node, and what waits for it.
pub struct Peer {
    id: Id,
    interest: RwLock<Interest>,
    outbox: Mutex<Outbox>,
}

/// Messages over links since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub sent: AtomicU64,
    pub received: AtomicU64,
    /// Those for which there was no room, or whose link broke.
    pub dropped: AtomicU64,
}

/// A link, for those who ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub id: Id,
    /// Whether this node has made it.
    pub is_own: bool,
    pub since_ms: u64,
}

/// Wakes the thread of the links, once until it has looked.
#[derive(Default)]
struct Bell {
    waker: Mutex<Option<Waker>>,
    rung: AtomicBool,
}

impl Bell {
    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel)
            && let Some(waker) = &*self.waker.lock()
            && let Err(error) = waker.wake()
        {
            tracing::error!(%error, "the thread of the links cannot be woken");
        }
    }

    fn answer(&self) {
        self.rung.store(false, Ordering::Release);
    }
}

impl Nodes {
    /// Whether there are other nodes.
    #[inline]
    pub fn any(&self) -> bool {
        self.has_others.load(Ordering::Relaxed)
    }

    /// Who is there, by name; this node too, once it is known to the others.
    pub fn members(&self) -> Arc<[Member]> {
        Arc::clone(&self.members.read())
    }

    /// Links that are open.
    pub fn shown(&self) -> Vec<Shown> {
        self.shown.lock().clone()
    }

    /// Bytes that wait for a node.
    pub fn waiting_bytes(&self, id: &Id) -> usize {
        let peers = self.peers();
        peers.iter().find(|peer| peer.id == *id).map_or(0, |peer| peer.outbox.lock().bytes())
    }

    fn peers(&self) -> Arc<[Arc<Peer>]> {
        Arc::clone(&self.peers.read())
    }

    fn secret(&self) -> Option<Arc<Secret>> {
        self.secret.read().clone()
    }

    /// Who is there by now, sorted by name. `own` is this node.
    fn know(&self, own: &Id, secret: Secret, members: Vec<Member>) {
        *self.secret.write() = Some(Arc::new(secret));
        let known = self.peers();
        let others = members.iter().map(|member| member.id).filter(|id| id != own);
        let peers: Arc<[Arc<Peer>]> = others
            .map(|id| {
                let known = known.iter().find(|peer| peer.id == id);
                known.map_or_else(|| Arc::new(Peer::new(id)), Arc::clone)
            })
            .collect();
        self.has_others.store(!peers.is_empty(), Ordering::Relaxed);
        *self.peers.write() = peers;
        *self.members.write() = members.into();
        self.gather();
        self.bell.ring();
    }

    /// Has this node look at the rows of the nodes, and at what they announce, now.
    pub fn look(&self) {
        if let Some((look, _)) = &*self.look.read() {
            // One that waits is enough.
            let _ = look.try_send(());
        }
    }

    fn looks(&self) -> Option<Receiver<()>> {
        self.look.read().as_ref().map(|(_, looks)| looks.clone())
    }

    /// Has all others look.
    fn tell_look(&self) {
        if self.any() {
            self.send(&|_| true, || Message::Look.encoded(), Loss::Harmless);
        }
    }

    fn set_remapping(&self, number: u64) {
        self.remapping.store(number, Ordering::Release);
    }

    fn is_remapping(&self, number: u64) -> bool {
        self.remapping.load(Ordering::Acquire) == number
    }

    /// Puts together what all others want.
    fn gather(&self) {
        let peers = self.peers();
        let any = |wants: fn(&Interest) -> bool| peers.iter().any(|peer| wants(&peer.interest.read()));
        // Whoever commits looks at it behind the commit, and who caches is told behind this.
        self.in_messages.store(any(Interest::in_messages), Ordering::SeqCst);
        self.in_changes.store(any(Interest::in_changes), Ordering::SeqCst);
    }

    /// What this node wants to be told of may be something else by now: somebody subscribes, waits or caches.
    #[inline]
    pub fn want_anew(&self) {
        if self.any() {
            self.wants_anew.store(true, Ordering::Release);
            self.bell.ring();
        }
    }

    /// PUBLISH, and what else is a message.
    #[inline]
    pub fn publish(&self, kind: Kind, channel: &[u8], message: &[u8]) {
        if self.in_messages.load(Ordering::Relaxed) {
            self.send_published(kind, channel, message);
        }
    }

    #[cold]
    fn send_published(&self, kind: Kind, channel: &[u8], message: &[u8]) {
        let place = Channels::place(kind, channel);
        let wants = |interest: &Interest| interest.in_channel(kind, place);
        let message = || Message::Published { kind, channel, message }.encoded();
        self.send(&wants, message, Loss::Harmless);
    }

    /// Keys that a commit has changed: database, name, and whether it may be gone.
    pub fn tell_changed<'k>(&self, keys: impl Iterator<Item = (u16, &'k [u8], bool)>) {
        if !self.in_changes.load(Ordering::SeqCst) {
            return;
        }
        for (db, key, may_be_gone) in keys {
            let message = || Message::Changed { db, may_be_gone, key }.encoded();
            self.send(&Interest::in_changes, message, Loss::Told);
        }
    }

    /// Everything in a database was exchanged.
    pub fn tell_database(&self, db: u16) {
        if self.in_changes.load(Ordering::SeqCst) {
            self.send(&Interest::in_changes, || Message::Database { db }.encoded(), Loss::Told);
        }
    }

    fn send(&self, wants: &dyn Fn(&Interest) -> bool, message: impl FnOnce() -> Vec<u8>, loss: Loss) {
        let peers = self.peers();
        let mut wanting = peers.iter().filter(|peer| wants(&peer.interest.read())).peekable();
        if wanting.peek().is_none() {
            return;
        }
        let message = message();
        for peer in wanting {
            if !peer.outbox.lock().push(&message, loss) {
                self.counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.bell.ring();
    }
}

impl Peer {
    fn new(id: Id) -> Peer {
        Peer { id, interest: RwLock::default(), outbox: Mutex::default() }
    }
}

/// The threads.
pub struct Running {
    leave: Sender<()>,
    members: JoinHandle<()>,
    links: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    node: Arc<Node>,
}

/// Starts the threads; the doors are where other nodes connect to.
pub fn start(node: &Arc<Node>, doors: Vec<TcpListener>) -> std::io::Result<Running> {
    let port = doors.first().map(TcpListener::local_addr).transpose()?.map_or(0, |address| address.port());
    let stop = Arc::new(AtomicBool::new(false));
    let own = id_of(&node.run_id).ok_or_else(|| std::io::Error::other("the node has no name"))?;
    let (links, waker) = Links::new(Arc::clone(node), own, doors, Arc::clone(&stop))?;
    *node.nodes.bell.waker.lock() = Some(waker);
    node.pubsub.count_channels();
    let (leave, left) = bounded(0);
    *node.nodes.look.write() = Some(bounded(1));
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let links = named("links").spawn(move || {
        if let Err(error) = links.run() {
            crate::fatal::end(&format!("the thread of the links ended: {error}"));
        }
    })?;
    let member = Arc::clone(node);
    let members = named("members").spawn(move || members::run(&member, &own, port, &left))?;
    Ok(Running { leave, members, links, stop, node: Arc::clone(node) })
}

impl Running {
    /// Tells the others that this node leaves. Links stay until [`Leaving::end`].
    pub fn leave(self) -> Leaving {
        drop(self.leave);
        join(self.members);
        Leaving { links: self.links, stop: self.stop, node: self.node }
    }
}

/// What is left once the others know.
pub struct Leaving {
    links: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    node: Arc<Node>,
}

impl Leaving {
    /// Sends what waits and closes the links.
    pub fn end(self) {
        self.stop.store(true, Ordering::Release);
        self.node.nodes.bell.ring();
        join(self.links);
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a thread ended by a panic");
    }
}

#[cfg(test)]
mod tests;
