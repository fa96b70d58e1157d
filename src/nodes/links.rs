//! The thread of the links: makes one to each other node, takes theirs, sends what waits and hands on what comes.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest as Readiness, Poll, Token, Waker};

use super::conversation::{Conversation, Event};
use super::interest::Interest;
use super::link::{Ended, Link, Listening, Side};
use super::message::{Message, Messages};
use super::receive::Received;
use super::secret::{NONCE_LEN, Nonce, Secret};
use super::{Id, Shown};
use crate::node::Node;

const WAKER: Token = Token(usize::MAX);
/// Doors come behind everything else that has a token.
const DOORS: usize = usize::MAX / 2;
/// Time between two looks at what is due.
const TICK: Duration = Duration::from_millis(250);
/// How long two nodes may take to prove who they are.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// A link says something at least so often.
const SPEAKS: Duration = Duration::from_secs(1);
/// A link from which nothing came for so long is broken.
const SILENCE: Duration = Duration::from_secs(5);
/// Before a node that could not be reached is tried again.
const DIAL_AGAIN: Duration = Duration::from_millis(500);
/// Who waited or cached a moment ago may do so again: the others are not told of each time.
const LINGERS: Duration = Duration::from_secs(2);
/// How often who caches is told to drop everything while a node cannot tell of its changes.
const UNCOVERED: Duration = Duration::from_secs(1);
/// Connections of which nobody knows yet who they are; one more closes the oldest.
const MAX_UNPROVEN: usize = 64;
/// Bytes read at a time, and how often one link is read from before it is another one's turn.
const READ_LEN: usize = 64 * 1024;
const READS: usize = 16;
/// How long the end of the process waits for what is to be sent.
const FAREWELL: Duration = Duration::from_millis(500);

pub struct Links {
    node: Arc<Node>,
    own: Id,
    poll: Poll,
    doors: Vec<TcpListener>,
    links: Vec<Option<Box<Link>>>,
    /// Links that may have more to read.
    unread: Vec<usize>,
    /// When a node may be tried again.
    dial_at: HashMap<Id, Instant>,
    /// Until when it counts that somebody waits or caches.
    waiters_until: Option<Instant>,
    trackers_until: Option<Instant>,
    flushed: Instant,
    looked: Instant,
    buffer: Vec<u8>,
    stop: Arc<AtomicBool>,
}

impl Links {
    pub fn new(
        node: Arc<Node>,
        own: Id,
        mut doors: Vec<TcpListener>,
        stop: Arc<AtomicBool>,
    ) -> io::Result<(Links, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        for (place, door) in doors.iter_mut().enumerate() {
            poll.registry().register(door, Token(DOORS + place), Readiness::READABLE)?;
        }
        let now = Instant::now();
        let links = Links {
            node,
            own,
            poll,
            doors,
            links: Vec::new(),
            unread: Vec::new(),
            dial_at: HashMap::new(),
            waiters_until: None,
            trackers_until: None,
            flushed: now,
            looked: now,
            buffer: vec![0; READ_LEN],
            stop,
        };
        Ok((links, waker))
    }

    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        while !self.stop.load(Ordering::Acquire) {
            self.round(&mut events, TICK)?;
        }
        // What the last commands had to tell.
        let until = Instant::now() + FAREWELL;
        while self.has_to_send() && Instant::now() < until {
            self.round(&mut events, Duration::from_millis(10))?;
        }
        Ok(())
    }

    fn round(&mut self, events: &mut Events, wait: Duration) -> io::Result<()> {
        let wait = if self.unread.is_empty() { wait } else { Duration::ZERO };
        match self.poll.poll(events, Some(wait)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        // Before it is looked: what comes from now on rings again.
        self.node.nodes.bell.answer();
        let mut ready = std::mem::take(&mut self.unread);
        for event in events.iter() {
            match event.token() {
                WAKER => {}
                Token(door) if door >= DOORS => self.accept(door - DOORS),
                Token(place) if ready.contains(&place) => {}
                Token(place) => ready.push(place),
            }
        }
        for place in ready {
            self.serve(place);
        }
        if self.node.nodes.wants_anew.swap(false, Ordering::AcqRel) {
            self.tell_interest();
        }
        for place in 0..self.links.len() {
            self.send_waiting(place);
        }
        if self.looked.elapsed() >= TICK {
            self.looked = Instant::now();
            self.look();
        }
        Ok(())
    }

    fn has_to_send(&self) -> bool {
        self.links.iter().flatten().any(|link| {
            let waits = matches!(&link.side, Side::To(peer) if peer.outbox.lock().bytes() > 0);
            link.talk.is_open() && (waits || !link.talk.output.is_empty())
        })
    }

    fn accept(&mut self, door: usize) {
        while let Some(Ok((socket, _))) = self.doors.get(door).map(TcpListener::accept) {
            // Nobody can prove anything before the cluster has been read.
            let (Some(_), Some(nonce)) = (self.node.nodes.secret(), nonce()) else { continue };
            let unproven = |(place, link): (usize, &Option<Box<Link>>)| {
                let link = link.as_ref().filter(|link| link.proven().is_none())?;
                matches!(link.side, Side::From(_)).then_some((link.began, place))
            };
            let unproven: Vec<_> = self.links.iter().enumerate().filter_map(unproven).collect();
            if unproven.len() >= MAX_UNPROVEN
                && let Some((_, oldest)) = unproven.into_iter().min()
            {
                self.close(oldest, &Ended::Silent);
            }
            let talk = Conversation::expect(self.own, nonce);
            self.add(Link::new(socket, talk, Side::From(Listening::default())));
        }
    }

    /// Connects to the nodes that have no link.
    fn dial(&mut self) {
        let members = self.node.nodes.members();
        for peer in self.node.nodes.peers().iter() {
            let is_linked = |link: &Link| matches!(&link.side, Side::To(to) if to.id == peer.id);
            let is_due = self.dial_at.get(&peer.id).is_none_or(|at| *at <= Instant::now());
            if !is_due || self.links.iter().flatten().any(|link| is_linked(link)) {
                continue;
            }
            let address = members.iter().find(|member| member.id == peer.id).and_then(|member| member.link);
            let (Some(address), Some(nonce)) = (address, nonce()) else { continue };
            self.dial_at.insert(peer.id, Instant::now() + DIAL_AGAIN);
            match TcpStream::connect(address) {
                Ok(socket) => {
                    let talk = Conversation::begin(self.own, peer.id, nonce);
                    self.add(Link::new(socket, talk, Side::To(Arc::clone(peer))));
                }
                Err(error) => tracing::debug!(%error, %address, "another node cannot be reached"),
            }
        }
        self.dial_at.retain(|_, at| at.elapsed() < SILENCE);
    }

    fn add(&mut self, mut link: Link) {
        let place = self.links.iter().position(Option::is_none).unwrap_or(self.links.len());
        let readiness = Readiness::READABLE | Readiness::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut link.socket, Token(place), readiness) {
            tracing::warn!(%error, "a link cannot be waited for");
            return;
        }
        match self.links.get_mut(place) {
            Some(free) => *free = Some(Box::new(link)),
            None => self.links.push(Some(Box::new(link))),
        }
    }

    /// Reads and writes as far as that goes.
    fn serve(&mut self, place: usize) {
        let Some(mut link) = self.links.get_mut(place).and_then(Option::take) else { return };
        let ended = self.go_on(&mut link, place);
        if let Some(free) = self.links.get_mut(place) {
            *free = Some(link);
        }
        if let Err(ended) = ended {
            self.close(place, &ended);
        }
    }

    fn go_on(&mut self, link: &mut Link, place: usize) -> Result<(), Ended> {
        if !link.connected()? {
            return Ok(());
        }
        let node = Arc::clone(&self.node);
        let Some(secret) = node.nodes.secret() else { return Ok(()) };
        let mut received = Received::new(&node);
        let mut read = || -> Result<bool, Ended> {
            for _ in 0..READS {
                if !link.read(&mut self.buffer)? {
                    return Ok(false);
                }
                Links::take(&mut self.links, &node, link, &secret, &mut received)?;
            }
            Ok(true)
        };
        let has_more = read();
        // What came before it broke counts.
        received.finish();
        if has_more? {
            self.unread.push(place);
        }
        if matches!(&link.side, Side::From(listening) if listening.number == 0) {
            let interest = self.interest();
            tell(link, &interest);
        }
        link.write()?;
        Ok(())
    }

    /// What has come over a link.
    fn take(
        links: &mut [Option<Box<Link>>],
        node: &Node,
        link: &mut Link,
        secret: &Secret,
        received: &mut Received<'_>,
    ) -> Result<(), Ended> {
        while let Some(event) = link.talk.next(secret)? {
            let frame = match event {
                Event::Open(id) => {
                    opened(links, node, link, id);
                    continue;
                }
                Event::Frame(frame) => frame,
            };
            for message in Messages(&frame) {
                let message = message.map_err(Ended::Malformed)?;
                match &mut link.side {
                    Side::From(listening) => match &message {
                        Message::Heard { number } => {
                            if listening.asked.is_some_and(|asked| asked <= *number) {
                                listening.asked = None;
                                listening.covers = true;
                                // What was read before may have been changed before the other side knew that somebody cares.
                                received.flush();
                            }
                        }
                        Message::Alive => {}
                        message if received.take(message) => {
                            node.nodes.counters.received.fetch_add(1, Ordering::Relaxed);
                        }
                        _ => return Err(Ended::Misplaced),
                    },
                    Side::To(peer) => match message {
                        Message::Interest { number, interest } => {
                            *peer.interest.write() = interest;
                            node.nodes.gather();
                            node.follow_interest();
                            link.say(&Message::Heard { number }.encoded());
                        }
                        Message::Alive => {}
                        _ => return Err(Ended::Misplaced),
                    },
                }
            }
        }
        Ok(())
    }

    /// What this node wants to be told of.
    fn interest(&mut self) -> Interest {
        let (patterns, channels) = self.node.pubsub.interest();
        let lingers = |is_there: bool, until: &mut Option<Instant>| {
            if is_there {
                *until = Some(Instant::now() + LINGERS);
            }
            until.is_some_and(|until| Instant::now() < until)
        };
        let waiters = lingers(self.node.waiters.any(), &mut self.waiters_until);
        let trackers = lingers(self.node.tracking.any(), &mut self.trackers_until);
        Interest { patterns, waiters, trackers, channels }
    }

    /// Tells the others what this node wants, as far as that has changed.
    fn tell_interest(&mut self) {
        let interest = self.interest();
        for link in self.links.iter_mut().flatten() {
            tell(link, &interest);
        }
    }

    /// Sends what waits for the node of a link.
    fn send_waiting(&mut self, place: usize) {
        let Some(link) = self.links.get_mut(place).and_then(Option::as_mut) else { return };
        if link.is_connecting {
            return;
        }
        let counters = &self.node.nodes.counters;
        let sent = loop {
            match link.write() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            let Side::To(peer) = &link.side else { break Ok(()) };
            if !link.talk.is_open() {
                break Ok(());
            }
            let frame = peer.outbox.lock().pop();
            let Some(frame) = frame else { break Ok(()) };
            counters.sent.fetch_add(frame.messages, Ordering::Relaxed);
            link.say(&frame.bytes);
        };
        if let Err(error) = sent {
            self.close(place, &error.into());
        }
    }

    /// What is due from time to time.
    fn look(&mut self) {
        let peers = self.node.nodes.peers();
        for place in 0..self.links.len() {
            let Some(link) = self.links.get_mut(place).and_then(Option::as_mut) else { continue };
            let is_open = link.talk.is_open();
            let late =
                if is_open { link.heard.elapsed() > SILENCE } else { link.began.elapsed() > HANDSHAKE };
            let has_left =
                matches!(&link.side, Side::To(to) if !peers.iter().any(|peer| Arc::ptr_eq(peer, to)));
            if late || has_left {
                self.close(place, if late { &Ended::Silent } else { &Ended::Left });
            } else if is_open && link.spoke.elapsed() >= SPEAKS {
                link.say(&Message::Alive.encoded());
                self.send_waiting(place);
            }
        }
        self.dial();
        self.tell_interest();
        self.flush_uncovered();
    }

    /// While a node cannot tell of its changes, nobody is to use for long what it has cached.
    fn flush_uncovered(&mut self) {
        if !self.node.tracking.any() || self.flushed.elapsed() < UNCOVERED {
            return;
        }
        let covers = |id: &Id| {
            let links = self.links.iter().flatten();
            links.into_iter().any(|link| match &link.side {
                Side::From(listening) => listening.covers && listening.id.as_ref() == Some(id),
                Side::To(_) => false,
            })
        };
        if !self.node.nodes.peers().iter().all(|peer| covers(&peer.id)) {
            self.flushed = Instant::now();
            flush(&self.node);
        }
    }

    fn close(&mut self, place: usize, why: &Ended) {
        let Some(mut link) = self.links.get_mut(place).and_then(Option::take) else { return };
        // It is closed either way.
        let _ = self.poll.registry().deregister(&mut link.socket);
        self.unread.retain(|unread| *unread != place);
        let nodes = &self.node.nodes;
        let name = link.proven().map(|id| id.escape_ascii().to_string()).unwrap_or_default();
        match &link.side {
            Side::To(peer) => {
                *peer.interest.write() = Interest::default();
                nodes.counters.dropped.fetch_add(peer.outbox.lock().clear(), Ordering::Relaxed);
                nodes.gather();
                self.node.follow_interest();
                self.dial_at.insert(peer.id, Instant::now() + DIAL_AGAIN);
            }
            // What it would have told of is not known.
            Side::From(listening) if listening.id.is_some() => flush(&self.node),
            Side::From(_) => {}
        }
        if link.proven().is_some() {
            tracing::info!(node = name, "a link to another node has ended: {why}");
        } else {
            tracing::debug!("a link was not made: {why}");
        }
        self.show();
    }

    /// For those who ask which links there are.
    fn show(&self) {
        show(&self.node, self.links.iter().flatten().map(|link| &**link));
    }
}

/// Tells the node of a link what this one wants, unless it knows.
fn tell(link: &mut Link, interest: &Interest) {
    let Side::From(listening) = &mut link.side else { return };
    if !link.talk.is_open() || listening.number != 0 && listening.told == *interest {
        return;
    }
    listening.number += 1;
    if interest.trackers && !listening.told.trackers {
        listening.asked = Some(listening.number);
    }
    listening.covers &= interest.trackers;
    listening.told = interest.clone();
    let message = Message::Interest { number: listening.number, interest: interest.clone() };
    link.say(&message.encoded());
}

/// Who is at the other side is proven.
fn opened(links: &mut [Option<Box<Link>>], node: &Node, link: &mut Link, id: Id) {
    if let Side::From(listening) = &mut link.side {
        listening.id = Some(id);
        // The other side knows best that its last one is of no use any more.
        for other in links.iter_mut() {
            if other
                .as_ref()
                .is_some_and(|other| matches!(other.side, Side::From(_)) && other.proven() == Some(id))
            {
                *other = None;
                flush(node);
            }
        }
    }
    tracing::info!(node = %id.escape_ascii(), "a link to another node is open");
    show(node, links.iter().flatten().map(|link| &**link).chain(std::iter::once(&*link)));
}

fn show<'l>(node: &Node, links: impl Iterator<Item = &'l Link>) {
    let now_ms = node.clock.now_ms();
    let shown = links.filter_map(|link| {
        let since_ms = now_ms.saturating_sub(link.began.elapsed().as_millis() as u64);
        Some(Shown { id: link.proven()?, is_own: matches!(link.side, Side::To(_)), since_ms })
    });
    let mut shown: Vec<Shown> = shown.collect();
    shown.sort_by_key(|shown| (shown.id, !shown.is_own));
    *node.nodes.shown.lock() = shown;
}

fn flush(node: &Node) {
    let mut received = Received::new(node);
    received.flush();
    received.finish();
}

fn nonce() -> Option<Nonce> {
    let mut nonce = [0; NONCE_LEN];
    match getrandom::fill(&mut nonce) {
        Ok(()) => Some(nonce),
        Err(error) => {
            tracing::error!(%error, "there are no random numbers");
            None
        }
    }
}

impl Node {
    /// What other nodes want has changed.
    fn follow_interest(&self) {
        self.pubsub.set_elsewhere(self.nodes.in_messages.load(Ordering::SeqCst));
    }
}
