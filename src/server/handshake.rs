//! Handshakes of TLS, on threads of their own: a signature takes up to milliseconds, and I/O threads have none to spare. A
//! connection comes here from the listener and goes to its I/O thread when its handshake is done.
//!
//! Who begins a handshake and does not go on is closed after `tls-handshake-timeout`. Beyond `tls-max-handshakes`, the one that
//! has taken longest makes room: an honest client needs a moment, so a flood of silent ones does not keep it out.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;

use super::listener::{self, Peer};
use super::mailbox::Mailboxes;
use super::transport::Transport;
use crate::metrics::ThreadCounters;
use crate::node::Node;
use crate::tls::Handshakes as Counted;
use crate::tls::stream::{Progress, TlsStream};

const WAKER: Token = Token(usize::MAX);
/// With more threads than this, clients would come in faster than they are served.
const MAX_THREADS: usize = 4;
/// Longest time between two looks at deadlines and files.
const ROUND: Duration = Duration::from_millis(500);
/// Handshakes that fail are logged once in this time; the line says how many it stands for.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// The way to the threads.
pub struct Handshakes {
    queues: Vec<Arc<Queue>>,
    next: AtomicUsize,
}

struct Queue {
    arrived: Mutex<Vec<(TcpStream, Peer)>>,
    waker: Waker,
    stop: AtomicBool,
}

impl Queue {
    fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "a thread for handshakes cannot be woken");
        }
    }
}

impl Handshakes {
    /// Begins a handshake. The connection has been counted among the clients.
    pub fn begin(&self, stream: TcpStream, peer: Peer) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.queues.len().max(1);
        if let Some(queue) = self.queues.get(turn) {
            queue.arrived.lock().push((stream, peer));
            queue.wake();
        }
    }

    /// Ends the threads; handshakes under way end with them.
    pub fn stop(&self) {
        for queue in &self.queues {
            queue.stop.store(true, Ordering::Release);
            queue.wake();
        }
    }
}

/// Starts the threads; none if nothing here speaks TLS.
pub fn start(node: &Arc<Node>, mailboxes: &Arc<Mailboxes>) -> io::Result<(Handshakes, Vec<JoinHandle<()>>)> {
    let config = node.config.current();
    let count =
        if config.uses_tls() { config.io_thread_count().div_ceil(2).clamp(1, MAX_THREADS) } else { 0 };
    let (mut queues, mut threads) = (Vec::new(), Vec::new());
    for index in 0..count {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let queue = Arc::new(Queue { arrived: Mutex::default(), waker, stop: AtomicBool::new(false) });
        let desk = Desk {
            node: Arc::clone(node),
            mailboxes: Arc::clone(mailboxes),
            counters: node.metrics.register(0),
            poll,
            queue: Arc::clone(&queue),
            share: count,
            places: Vec::new(),
            free: Vec::new(),
            order: VecDeque::new(),
            count: 0,
            next_id: 0,
            unlogged: 0,
            logged: None,
        };
        let name = format!("handshake-{index}");
        threads.push(std::thread::Builder::new().name(name).spawn(move || {
            if let Err(error) = desk.run(index == 0) {
                crate::fatal::end(&format!("a thread for handshakes ended: {error}"));
            }
        })?);
        queues.push(queue);
    }
    Ok((Handshakes { queues, next: AtomicUsize::new(0) }, threads))
}

/// A handshake under way.
struct Pending {
    id: u64,
    tls: Box<TlsStream>,
    peer: Peer,
}

/// One thread.
struct Desk {
    node: Arc<Node>,
    mailboxes: Arc<Mailboxes>,
    counters: Arc<ThreadCounters>,
    poll: Poll,
    queue: Arc<Queue>,
    /// How many threads share `tls-max-handshakes`.
    share: usize,
    places: Vec<Option<Pending>>,
    free: Vec<usize>,
    /// When each began, oldest first, with its place and id; also those that are done.
    order: VecDeque<(Instant, usize, u64)>,
    count: usize,
    next_id: u64,
    /// Failures since the last line of the log, and when that was.
    unlogged: u64,
    logged: Option<Instant>,
}

impl Desk {
    fn run(mut self, follows_files: bool) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        let mut looked = Instant::now();
        while !self.queue.stop.load(Ordering::Acquire) {
            match self.poll.poll(&mut events, Some(ROUND)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for event in &events {
                if event.token() != WAKER {
                    self.go_on(event.token().0);
                }
            }
            let arrived = std::mem::take(&mut *self.queue.arrived.lock());
            for (stream, peer) in arrived {
                self.welcome(stream, peer);
            }
            self.close_late();
            let interval = self.node.config.current().tls_auto_reload_interval_secs;
            if follows_files && interval > 0 && looked.elapsed() >= Duration::from_secs(interval.into()) {
                looked = Instant::now();
                self.node.tls.follow_files(&self.node.config);
            }
        }
        Ok(())
    }

    fn welcome(&mut self, stream: TcpStream, peer: Peer) {
        tarn_engine::failpoint::reach("handshake");
        let config = self.node.config.current();
        while self.count >= (config.tls_max_handshakes / self.share).max(1) {
            let Some((_, place, id)) = self.order.pop_front() else { break };
            if let Some(pending) = self.take(place, id) {
                Counted::count(&self.node.tls.handshakes.displaced);
                self.give_up(pending, "too many handshakes are under way");
            }
        }
        let Some(tls) = self.node.tls.current() else { return self.node.clients.give_back() };
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        let made = TlsStream::new(stream, tls).map_err(io::Error::other).and_then(|mut tls| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(tls.socket_mut(), Token(place), interest)?;
            Ok(Box::new(tls))
        });
        let tls = match made {
            Ok(tls) => tls,
            Err(error) => {
                tracing::warn!(%error, "a handshake could not begin");
                self.free.push(place);
                return self.node.clients.give_back();
            }
        };
        self.next_id += 1;
        self.count += 1;
        self.order.push_back((Instant::now(), place, self.next_id));
        if let Some(free) = self.places.get_mut(place) {
            *free = Some(Pending { id: self.next_id, tls, peer });
        }
        self.go_on(place);
    }

    /// The connection at a place, which is free afterwards.
    fn take(&mut self, place: usize, id: u64) -> Option<Pending> {
        let pending = self.places.get_mut(place)?.take_if(|pending| pending.id == id)?;
        self.free.push(place);
        self.count -= 1;
        Some(pending)
    }

    fn go_on(&mut self, place: usize) {
        let Some(Some(pending)) = self.places.get_mut(place) else { return };
        let id = pending.id;
        match pending.tls.handshake() {
            Ok(Progress::Waiting) => {}
            Ok(Progress::Done) => {
                if let Some(pending) = self.take(place, id) {
                    Counted::count(&self.node.tls.handshakes.completed);
                    self.hand_on(pending);
                }
            }
            Err(error) => {
                if let Some(pending) = self.take(place, id) {
                    Counted::count(&self.node.tls.handshakes.failed);
                    self.give_up(pending, &error.to_string());
                }
            }
        }
    }

    fn hand_on(&mut self, mut pending: Pending) {
        // The descriptor goes to another poll; an error here changes nothing.
        let _ = self.poll.registry().deregister(pending.tls.socket_mut());
        let identity = pending.tls.identity();
        let transport = Transport::Tls(pending.tls);
        listener::welcome(&self.node, &self.mailboxes, &self.counters, transport, pending.peer, identity);
    }

    fn give_up(&mut self, mut pending: Pending, reason: &str) {
        let _ = self.poll.registry().deregister(pending.tls.socket_mut());
        self.node.clients.give_back();
        self.unlogged += 1;
        if self.logged.is_none_or(|then| then.elapsed() >= BETWEEN_LINES) {
            let (addr, failures) = (pending.peer.address(), std::mem::take(&mut self.unlogged));
            tracing::warn!(addr, failures, "Error accepting a client connection: {reason}");
            self.logged = Some(Instant::now());
        }
    }

    /// Closes those whose time is over.
    fn close_late(&mut self) {
        let time = Duration::from_secs(self.node.config.current().tls_handshake_timeout_secs.into());
        while let Some((since, place, id)) = self.order.front().copied() {
            let is_under_way = matches!(self.places.get(place), Some(Some(pending)) if pending.id == id);
            if is_under_way && since.elapsed() < time {
                break;
            }
            self.order.pop_front();
            if let Some(pending) = self.take(place, id) {
                Counted::count(&self.node.tls.handshakes.timed_out);
                self.give_up(pending, "the handshake took too long");
            }
        }
    }
}
