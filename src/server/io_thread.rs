//! The loop of one I/O thread: wait; read each ready connection and run everything complete; take what workers
//! finished; hand on one group of commits; write once per connection that has replies.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use super::balance::CoreTime;
use super::connection::{Connection, Sent, State};
use super::mailbox::{ConnectionId, Mailbox, Mailboxes, Message};
use super::subscriptions::output_limit;
use super::waiting::Waiting;
use super::workers::Workers;
use crate::config::Config;
use crate::dispatch::caller::User;
use crate::dispatch::executor::{Contention, Executor, write_error};
use crate::dispatch::lookahead::Lookahead;
use crate::dispatch::registry::registry;
use crate::dispatch::session::Session;
use crate::error::Error;
use crate::node::Node;
use crate::pubsub::{Queue, Subscribers};

pub const WAKER: Token = Token(usize::MAX);
/// Read at once from a connection; a full one is read again in the next round, after the others.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Time between two looks at idle times, limits and kills.
const ROUND: Duration = Duration::from_millis(100);
const EVENTS: usize = 1024;

pub struct IoThread {
    pub(super) index: usize,
    pub(super) node: Arc<Node>,
    pub(super) executor: Executor,
    pub(super) config: Arc<Config>,
    config_generation: u64,
    poll: Poll,
    pub(super) mailboxes: Arc<Mailboxes>,
    pub(super) mailbox: Arc<Mailbox>,
    waiting: Waiting,
    pub(super) workers: Workers,
    pub(super) connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    /// Connections to read from in this round.
    ready: Vec<usize>,
    /// Connections that have something to send at the end of this round.
    pub(super) to_send: Vec<usize>,
    /// Which connections listen to what.
    pub(super) subscribers: Subscribers,
    /// Messages on their way from the inbox to connections; empty in between.
    pub(super) received: Queue,
    /// Connections whose replies wait for durability.
    held: Vec<usize>,
    timers: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    pub(super) scratch: Vec<u8>,
    /// When the round began, and what the clock showed then.
    round: (Instant, u64),
    /// When the commands that run were read: what they judge expiry by.
    pub(super) now_ms: u64,
    pub(super) last: Instant,
    /// Something was committed in this round.
    pub(super) wrote: bool,
    /// And by the command that runs.
    pub(super) command_wrote: bool,
    /// The command that runs changed what its client listens to.
    pub(super) confirmed: bool,
    pub(super) lookahead: Lookahead,
    /// Of the machine, when this thread was last seen to be overloaded.
    pub(super) core_time: Option<CoreTime>,
    /// At the last look.
    pub(super) contention: Contention,
    last_round: Instant,
    stopping: bool,
}

impl IoThread {
    pub fn new(
        index: usize,
        node: Arc<Node>,
        poll: Poll,
        mailboxes: Arc<Mailboxes>,
        mailbox: Arc<Mailbox>,
        workers: Workers,
    ) -> IoThread {
        let counters = node.metrics.register(registry().total());
        // The generation first: a change between the two is then seen in the first round.
        let config_generation = node.config.generation();
        let config = node.config.current();
        IoThread {
            index,
            executor: Executor::new(Arc::clone(&node), counters),
            config,
            config_generation,
            poll,
            mailboxes,
            mailbox,
            waiting: Waiting::default(),
            workers,
            connections: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            to_send: Vec::new(),
            subscribers: Subscribers::default(),
            received: Queue::default(),
            held: Vec::new(),
            timers: BinaryHeap::new(),
            scratch: vec![0; READ_BYTES],
            round: (Instant::now(), node.clock.now_us()),
            now_ms: node.clock.now_ms(),
            last: Instant::now(),
            wrote: false,
            command_wrote: false,
            confirmed: false,
            lookahead: Lookahead::default(),
            core_time: None,
            contention: Contention::default(),
            last_round: Instant::now(),
            stopping: false,
            node,
        }
    }

    /// Until the server stops.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut messages = Vec::new();
        while !self.stopping {
            let timeout = self.time_to_wait();
            let busy = Duration::from_micros(self.config.io_busy_poll_micros.into());
            let polled = self.waiting.wait(&mut self.poll, &mut events, timeout, busy);
            match polled {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.begin_round();
            for event in &events {
                if event.token() != WAKER {
                    self.note(
                        event.token().0,
                        event.is_readable(),
                        event.is_writable(),
                        event.is_read_closed(),
                    );
                }
            }
            self.mailbox.drain(&mut messages);
            for message in messages.drain(..) {
                self.receive(message);
            }
            self.fire_timers();
            self.run_ready();
            self.finish_round();
            let turn = self.last_round.elapsed();
            if turn >= ROUND {
                self.last_round = Instant::now();
                self.look_after_all();
                let idle = self.waiting.take_idle();
                self.balance(turn, idle);
            }
        }
        self.say_goodbye();
        Ok(())
    }

    fn time_to_wait(&self) -> Duration {
        if !self.ready.is_empty() || !self.to_send.is_empty() {
            return Duration::ZERO;
        }
        match self.timers.peek() {
            Some(Reverse((at, ..))) => at.saturating_duration_since(Instant::now()).min(ROUND),
            None => ROUND,
        }
    }

    fn begin_round(&mut self) {
        self.last = Instant::now();
        self.round = (self.last, self.node.clock.now_us());
        self.now_ms = self.round.1 / 1_000;
        let generation = self.node.config.generation();
        if generation != self.config_generation {
            self.config_generation = generation;
            self.config = self.node.config.current();
        }
    }

    /// Takes the time, once the commands that run next have been read. Some may have come since the round began, and what
    /// they give a time to live counts from when they were sent.
    pub(super) fn take_time(&mut self) {
        let (began, clock_us) = self.round;
        self.last = Instant::now();
        self.now_ms = (clock_us + self.last.duration_since(began).as_micros() as u64) / 1_000;
    }

    fn note(&mut self, place: usize, readable: bool, writable: bool, hung_up: bool) {
        let Some(connection) = self.connections.get_mut(place).and_then(Option::as_mut) else { return };
        if writable && !connection.writable {
            connection.writable = true;
            self.to_send.push(place);
        }
        connection.hung_up |= hung_up;
        if readable || hung_up {
            connection.readable = true;
            enqueue(&mut self.ready, connection, place);
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Connected(transport, client) => {
                self.executor.counters.connections.add(1);
                let session = Session::new(client, User::at_connect(&self.config));
                self.adopt(Box::new(Connection::new(transport, session)));
            }
            Message::HandedOn(connection) => {
                self.adopt(connection);
            }
            Message::Completed { connection: id, reply, wrote } => {
                let listens = |c: &mut Connection| !c.session.subscriptions.is_empty();
                if self.connection(id.place, id.client).is_some_and(listens) {
                    // What the command told its own client comes before its reply.
                    self.deliver(None);
                }
                let Some(connection) = self.connection(id.place, id.client) else { return };
                connection.state = State::Open;
                let before = connection.output.len();
                if before == 0 {
                    // A long reply is not kept twice.
                    connection.output = reply;
                } else {
                    connection.output.extend_from_slice(&reply);
                }
                super::pipeline::apply_reply_mode(connection, before);
                if let Some(position) = wrote {
                    connection.hold(position);
                    self.slow_down_at(id.place);
                }
                enqueue_id(self, id.place);
                self.to_send.push(id.place);
            }
            Message::Monitored(line) => {
                for (place, connection) in self.connections.iter_mut().enumerate() {
                    if let Some(connection) = connection.as_mut().filter(|c| c.session.is_monitor) {
                        connection.output.extend_from_slice(&line);
                        self.to_send.push(place);
                    }
                }
            }
            Message::Look => self.look_after_all(),
            Message::Durable => self.to_send.append(&mut self.held),
            Message::Stop => self.stopping = true,
        }
    }

    fn connection(&mut self, place: usize, client: u64) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(place)?.as_deref_mut()?;
        (connection.session.client.id == client).then_some(connection)
    }

    /// Its place, if it can be watched.
    pub(super) fn adopt(&mut self, mut connection: Box<Connection>) -> Option<usize> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        if let Err(error) = connection.transport.register(self.poll.registry(), Token(place)) {
            tracing::warn!(%error, "a connection cannot be watched");
            self.free.push(place);
            self.node.clients.remove(&connection.session.client);
            return None;
        }
        // Bytes may have come while it was on its way.
        connection.readable = true;
        connection.queued = false;
        enqueue(&mut self.ready, &mut connection, place);
        if connection.unsent() > 0 {
            self.to_send.push(place);
        }
        if let Some(slot) = self.connections.get_mut(place) {
            *slot = Some(connection);
        }
        Some(place)
    }

    /// Hands up to `count` connections that have nothing under way to another thread.
    pub(super) fn hand_on(&mut self, thread: usize, count: usize) {
        let mut left = count;
        for place in 0..self.connections.len() {
            if left == 0 {
                break;
            }
            let Some(connection) = self.connections.get(place).and_then(Option::as_ref) else { continue };
            if !connection.can_move() {
                continue;
            }
            left -= 1;
            if !connection.session.subscriptions.is_empty() {
                self.hand_over(place, thread);
            } else if let Some(connection) = self.release(place, thread) {
                self.mailboxes.send(thread, Message::HandedOn(connection));
            }
        }
        self.node.deliver();
    }

    /// Lets go of a connection that another thread will have.
    pub(super) fn release(&mut self, place: usize, thread: usize) -> Option<Box<Connection>> {
        let mut connection = self.connections.get_mut(place)?.take()?;
        connection.transport.deregister(self.poll.registry());
        self.free.push(place);
        self.node.clients.hand_on(&connection.session.client, thread);
        Some(connection)
    }

    /// Runs the commands of every connection that has some.
    fn run_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for place in ready.drain(..) {
            let Some(mut connection) = self.connections.get_mut(place).and_then(Option::take) else {
                continue;
            };
            connection.queued = false;
            self.serve(&mut connection, place);
            if connection.dead && connection.unsent() == 0 {
                // At once: a command that runs next in this round must not find a client that is gone.
                self.end(connection, place);
                continue;
            }
            if connection.unsent() > 0 || connection.dead || connection.session.closing {
                self.to_send.push(place);
            }
            if connection.readable && connection.takes_commands() {
                enqueue(&mut self.ready, &mut connection, place);
            }
            if let Some(slot) = self.connections.get_mut(place) {
                *slot = Some(connection);
            }
        }
        // Connections enqueued meanwhile are in `self.ready`; keep the larger buffer for them.
        if self.ready.is_empty() {
            self.ready = ready;
        }
    }

    /// Commits are handed on, then replies are sent.
    fn finish_round(&mut self) {
        self.deliver(None);
        let mut hold = None;
        if self.wrote {
            self.wrote = false;
            match self.node.engine.flush() {
                Ok(position) => hold = Some(position),
                Err(error) => self.refuse_writes(&Error::Engine(error)),
            }
        }
        self.node.deliver();
        let durable = self.node.engine.durable();
        let hold = hold.filter(|position| *position > durable);
        let mut to_send = std::mem::take(&mut self.to_send);
        for place in to_send.drain(..) {
            self.send(place, durable, hold);
        }
        // Those whose turn was over have come meanwhile.
        to_send.append(&mut self.to_send);
        self.to_send = to_send;
    }

    fn send(&mut self, place: usize, durable: tarn_engine::Position, hold: Option<tarn_engine::Position>) {
        let Some(connection) = self.connections.get_mut(place).and_then(Option::as_mut) else { return };
        connection.write_replies.clear();
        if let Some(position) = hold {
            connection.hold(position);
        }
        let was_full = connection.unsent() >= super::connection::OUTPUT_HIGH_BYTES;
        let sent = connection.send(durable);
        let done = match sent {
            Sent::Broken => true,
            Sent::Everything(n) | Sent::Partly(n) | Sent::Turn(n) => {
                if matches!(sent, Sent::Turn(_)) {
                    self.to_send.push(place);
                }
                self.executor.counters.net_out_bytes.add(n as u64);
                let everything = connection.unsent() == 0;
                if !everything && !connection.holds.is_empty() {
                    self.held.push(place);
                }
                (everything && connection.session.closing) || connection.dead
            }
        };
        if done {
            self.close(place);
            return;
        }
        connection.shrink();
        let over = connection.over_limit(output_limit(&self.config, connection), self.last);
        if over && connection.unsent() > 0 {
            tracing::warn!(
                client = connection.session.client.id,
                "a client was closed: too many replies wait for it"
            );
            self.close(place);
        } else if was_full
            && (connection.readable || !connection.input.is_empty())
            && connection.takes_commands()
        {
            enqueue(&mut self.ready, connection, place);
        }
    }

    /// The log took none of this round's commits: every reply that says otherwise becomes the error.
    fn refuse_writes(&mut self, error: &Error) {
        let mut words = Vec::new();
        write_error(&self.node, &self.executor.counters, error, &mut words);
        for connection in self.connections.iter_mut().flatten() {
            connection.replace_write_replies(&words);
        }
    }

    pub(super) fn close(&mut self, place: usize) {
        if let Some(connection) = self.connections.get_mut(place).and_then(Option::take) {
            self.end(connection, place);
        }
    }

    fn end(&mut self, mut connection: Box<Connection>, place: usize) {
        connection.transport.deregister(self.poll.registry());
        connection.session.monitor(&self.node, false);
        self.end_subscriptions(&mut connection, place);
        self.node.clients.remove(&connection.session.client);
        self.free.push(place);
    }

    pub(super) fn wake_at(&mut self, at: Instant, place: usize, client: u64) {
        self.timers.push(Reverse((at, place, client)));
    }

    fn fire_timers(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let now = Instant::now();
        while self.timers.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, place, client))) = self.timers.pop() else { return };
            let now_ms = self.now_ms;
            let pause = self.node.pause.holds(false, now_ms).or(self.node.pause.holds(true, now_ms));
            let Some(connection) = self.connection(place, client) else { continue };
            match std::mem::replace(&mut connection.state, State::Open) {
                State::Until(at, reply) if at <= now => {
                    let before = connection.output.len();
                    reply.write(connection.session.protocol, &[], &mut connection.output);
                    super::pipeline::apply_reply_mode(connection, before);
                    self.to_send.push(place);
                    enqueue_id(self, place);
                }
                State::Paused if pause.is_none() => enqueue_id(self, place),
                State::Throttled => {
                    if self.may_go_on(place, client, now) {
                        enqueue_id(self, place);
                    } else if let Some(connection) = self.connection(place, client) {
                        connection.state = State::Throttled;
                    }
                }
                other => connection.state = other,
            }
        }
    }

    /// What need not happen at once: idle clients, kills, limits, pauses that ended.
    fn look_after_all(&mut self) {
        let now = Instant::now();
        let now_ms = self.node.clock.now_ms();
        let timeout_ms = u64::from(self.config.timeout_secs) * 1000;
        let paused =
            self.node.pause.holds(false, now_ms).is_some() || self.node.pause.holds(true, now_ms).is_some();
        let mut to_close = Vec::new();
        let mut held = 0;
        for (place, connection) in self.connections.iter_mut().enumerate() {
            let Some(connection) = connection else { continue };
            let client = &connection.session.client;
            held += connection.input.len() + connection.unsent();
            let idle_ms = now_ms.saturating_sub(client.last_active_ms());
            let waits = !matches!(connection.state, State::Open);
            client.set_buffers(connection.input.len(), connection.unsent());
            let listens = connection.session.is_monitor || !connection.session.subscriptions.is_empty();
            if timeout_ms != 0 && idle_ms > timeout_ms && !waits && !listens {
                to_close.push(place);
            } else if client.is_killed() {
                // Replies that were promised before the kill still go out, as far as the socket takes them.
                to_close.push(place);
            } else if connection.over_limit(output_limit(&self.config, connection), now) {
                to_close.push(place);
            } else if matches!(connection.state, State::Paused) && !paused {
                connection.state = State::Open;
                enqueue(&mut self.ready, connection, place);
            } else if idle_ms > 1_000 && !waits && connection.unsent() == 0 {
                connection.rest();
            }
        }
        for place in to_close {
            self.close(place);
        }
        self.executor.counters.client_bytes.store(held as u64, Ordering::Relaxed);
        if held > 0 {
            super::eviction::evict(&self.node);
        }
    }

    fn say_goodbye(&mut self) {
        // Whatever is committed was handed on; what the sockets take at once is sent.
        if let Err(error) = self.node.engine.flush() {
            tracing::error!(%error, "the last commits could not be written");
        }
        let durable = self.node.engine.durable();
        for connection in self.connections.iter_mut().flatten() {
            while let Sent::Turn(_) = connection.send(durable) {}
        }
        for place in 0..self.connections.len() {
            self.close(place);
        }
    }

    pub(super) fn connection_id(&self, connection: &Connection, place: usize) -> ConnectionId {
        ConnectionId { thread: self.index, place, client: connection.session.client.id }
    }
}

fn enqueue(ready: &mut Vec<usize>, connection: &mut Connection, place: usize) {
    if !connection.queued {
        connection.queued = true;
        ready.push(place);
    }
}

/// Puts a connection that may go on with commands it already has on the list.
fn enqueue_id(thread: &mut IoThread, place: usize) {
    if let Some(connection) = thread.connections.get_mut(place).and_then(Option::as_mut) {
        enqueue(&mut thread.ready, connection, place);
    }
}
