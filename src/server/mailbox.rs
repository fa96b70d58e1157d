//! What other threads tell an I/O thread.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use mio::Waker;
use parking_lot::Mutex;
use tarn_engine::Position;

use super::connection::Connection;
use super::stand_ins::StandIns;
use super::transport::Transport;
use crate::clients::Client;
use crate::dispatch::executor::LongReply;
use crate::dispatch::multi::{Exec, Queued};
use crate::dispatch::unit::{Outcome, Why};
use crate::dispatch::waiters::Waiter;
use crate::dispatch::watches::WatchedKey;
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
        long: Box<LongReply>,
        wrote: Option<Position>,
        /// What was queued has run.
        exec: Option<(Box<Exec>, Outcome)>,
        /// It found nothing and is to wait.
        parked: Option<Box<(Queued, Park)>>,
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
    /// Keys were changed elsewhere, and may be gone: who waits for them is to be served.
    Ready(Vec<(WatchedKey, bool)>),
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
    /// The I/O thread itself. What it tells itself wakes nobody: it looks before it waits.
    owner: OnceLock<ThreadId>,
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
            owner: OnceLock::new(),
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

    /// The thread that calls this is the one that drains it from now on.
    pub fn own(&self) {
        let _ = self.owner.set(thread::current().id());
    }

    /// Whether there is something to drain.
    pub fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel)
            && self.owner.get() != Some(&thread::current().id())
            && let Err(error) = self.waker.wake()
        {
            tracing::error!(%error, "an I/O thread cannot be woken");
        }
    }

    /// Everything that was sent; `into` is emptied first and keeps its room.
    pub fn drain(&self, into: &mut Vec<Message>) {
        into.clear();
        if !self.is_rung() || !self.rung.swap(false, Ordering::AcqRel) {
            return;
        }
        std::mem::swap(&mut *self.queue.lock(), into);
        if self.durable.swap(false, Ordering::AcqRel) {
            into.push(Message::Durable);
        }
    }

    /// Adds to `into` who was served. What else was sent stays, to be drained: a client that was killed has its last reply first.
    pub fn take_served(&self, into: &mut Vec<Message>) {
        if self.is_rung() {
            into.extend(
                self.queue.lock().extract_if(.., |message| matches!(message, Message::Served { .. })),
            );
        }
    }
}

/// All threads' mailboxes.
pub struct Mailboxes {
    pub threads: Vec<Arc<Mailbox>>,
    /// Until then the load is not spread: its commands met at the same keys. By the node's clock.
    pub contended_until_ms: AtomicU64,
    pub stand_ins: StandIns,
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
    fn worker_taken(&self) {
        self.stand_ins.taken();
    }

    fn worker_back(&self) {
        self.stand_ins.back();
    }

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

    fn ready(&self, keys: Vec<(WatchedKey, bool)>) {
        // Any thread can hand it on to a worker.
        self.send(0, Message::Ready(keys));
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
