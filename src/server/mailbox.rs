//! What other threads tell an I/O thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use mio::Waker;
use parking_lot::Mutex;
use tarn_engine::Position;

use super::connection::Connection;
use super::transport::Transport;
use crate::clients::Client;
use crate::dispatch::multi::{Exec, Queued};
use crate::dispatch::unit::{Outcome, Why};
use crate::dispatch::waiters::Waiter;
use crate::error::Park;
use crate::node::Post;

pub enum Message {
    /// A connection that is this thread's from now on.
    Connected(Transport, Arc<Client>),
    /// A connection that another thread had.
    HandedOn(Box<Connection>),
    /// A worker is done with a client's command.
    Completed {
        connection: ConnectionId,
        reply: Vec<u8>,
        wrote: Option<Position>,
        /// What was queued has run.
        exec: Option<(Box<Exec>, Outcome)>,
        /// It found nothing and is to wait.
        parked: Option<(Queued, Park)>,
    },
    /// A client that waited has its reply.
    Served {
        place: usize,
        client: u64,
        reply: Vec<u8>,
    },
    /// A client that waits is to look again at the time that its waiter tells.
    LookAgain {
        place: usize,
        client: u64,
        at_ms: u64,
    },
    /// The command of a client that waits is to run on a worker.
    Serve(Arc<Waiter>, Why),
    /// A line for every monitor of this thread.
    Monitored(Arc<[u8]>),
    /// Somebody was killed, or something else about clients changed.
    Look,
    /// More commits are durable, or none will be any more.
    Durable,
    Stop,
}

/// A connection's place on its thread, and whose it was when the message was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionId {
    pub thread: usize,
    pub place: usize,
    pub client: u64,
}

pub struct Mailbox {
    queue: Mutex<Vec<Message>>,
    waker: Waker,
    /// Set by the first message after a drain, so that a wake-up costs one system call per drain at most.
    rung: AtomicBool,
    durable: AtomicBool,
    /// How much of the last turn the thread was busy, in thousandths.
    busy: AtomicU32,
}

impl Mailbox {
    pub fn new(waker: Waker) -> Mailbox {
        Mailbox {
            queue: Mutex::default(),
            waker,
            rung: AtomicBool::new(false),
            durable: AtomicBool::new(false),
            busy: AtomicU32::new(0),
        }
    }

    pub fn set_busy(&self, thousandths: u32) {
        self.busy.store(thousandths, Ordering::Relaxed);
    }

    pub fn busy(&self) -> u32 {
        self.busy.load(Ordering::Relaxed)
    }

    pub fn send(&self, message: Message) {
        self.queue.lock().push(message);
        self.ring();
    }

    /// [`Message::Durable`] without a queue entry: it may come thousands of times a second.
    pub fn durable(&self) {
        if !self.durable.swap(true, Ordering::AcqRel) {
            self.ring();
        }
    }

    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel)
            && let Err(error) = self.waker.wake()
        {
            tracing::error!(%error, "an I/O thread cannot be woken");
        }
    }

    /// Everything that was sent; `into` is emptied first and keeps its room.
    pub fn drain(&self, into: &mut Vec<Message>) {
        into.clear();
        if !self.rung.load(Ordering::Relaxed) || !self.rung.swap(false, Ordering::AcqRel) {
            return;
        }
        std::mem::swap(&mut *self.queue.lock(), into);
        if self.durable.swap(false, Ordering::AcqRel) {
            into.push(Message::Durable);
        }
    }
}

/// All threads' mailboxes.
pub struct Mailboxes {
    pub threads: Vec<Arc<Mailbox>>,
    /// Until then the load is not spread: its commands met at the same keys. By the node's clock.
    pub contended_until_ms: AtomicU64,
    pub on_stop: Box<dyn Fn() + Send + Sync>,
}

impl Mailboxes {
    pub fn send(&self, thread: usize, message: Message) {
        if let Some(mailbox) = self.threads.get(thread) {
            mailbox.send(message);
        }
    }
}

impl Post for Mailboxes {
    fn wake(&self, thread: usize) {
        self.send(thread, Message::Look);
    }

    fn wake_all(&self) {
        for mailbox in &self.threads {
            mailbox.send(Message::Look);
        }
    }

    fn feed_monitors(&self, thread: usize, line: Arc<[u8]>) {
        self.send(thread, Message::Monitored(line));
    }

    fn served(&self, waiter: &Waiter, reply: Vec<u8>) {
        let (place, client) = (waiter.place, waiter.caller.client);
        self.send(waiter.thread, Message::Served { place, client, reply });
    }

    fn look_again(&self, waiter: &Waiter) {
        if let Some(at_ms) = waiter.again_at_ms() {
            let (place, client) = (waiter.place, waiter.caller.client);
            self.send(waiter.thread, Message::LookAgain { place, client, at_ms });
        }
    }

    fn serve_on_worker(&self, waiter: Arc<Waiter>, why: Why) {
        self.send(waiter.thread, Message::Serve(waiter, why));
    }

    fn deliver(&self, thread: usize) {
        if let Some(mailbox) = self.threads.get(thread) {
            mailbox.ring();
        }
    }

    fn stop(&self) {
        (self.on_stop)();
    }
}
