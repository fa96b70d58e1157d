//! The loop of one I/O thread: wait; read each ready connection and run everything complete; take what workers
//! finished; hand on one group of commits; write once per connection that has replies.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use tarn_engine::Position;

use super::balance::Balance;
use super::connection::{Connection, Sent, State, output_high};
use super::connections::Connections;
use super::mailbox::{ConnectionId, Mailbox, Mailboxes, Message};
use super::pipeline::{Flow, Pipeline};
use super::subscriptions::{Deliveries, output_limit, write_what_is_late};
use super::turns;
use super::waiting::Waiting;
use super::workers::Workers;
use crate::client_memory::ClientBudget;
use crate::config::{AppendFsync, Config};
use crate::dispatch::executor::{Executor, LongReply, write_error};
use crate::dispatch::multi::{Exec, Queued};
use crate::dispatch::registry::registry;
use crate::dispatch::session::{ReplyMode, Session};
use crate::dispatch::stats::Notable;
use crate::dispatch::unit::Outcome;
use crate::dispatch::waiters::Ending;
use crate::error::{Error, Park};
use crate::keyspace::Limits;
use crate::node::Node;
use crate::reply::Arena;

pub const WAKER: Token = Token(usize::MAX);
/// Time between two looks at idle times, limits and kills.
const ROUND: Duration = Duration::from_millis(100);
const EVENTS: usize = 1024;

pub struct IoThread {
    pub(super) index: usize,
    pub(super) node: Arc<Node>,
    pub(super) config: Arc<Config>,
    /// Of the configuration.
    pub(super) limits: Limits,
    pub(super) notable: Notable,
    pub(super) query_budget: ClientBudget,
    /// What a client may have unsent, now that there are so many.
    pub(super) output_high: usize,
    config_generation: u64,
    poll: Poll,
    pub(super) mailboxes: Arc<Mailboxes>,
    pub(super) mailbox: Arc<Mailbox>,
    waiting: Waiting,
    pub(super) workers: Workers,
    pub(super) connections: Connections,
    pub(super) pipeline: Pipeline,
    pub(super) deliveries: Deliveries,
    pub(super) balance: Balance,
    last_look: Instant,
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
        let (limits, notable) = (config.limits(), Notable::of(&config));
        let query_budget = config.memory().queries;
        IoThread {
            index,
            config,
            limits,
            notable,
            query_budget,
            output_high: 0,
            config_generation,
            poll,
            mailboxes,
            mailbox,
            waiting: Waiting::default(),
            workers,
            connections: Connections::default(),
            pipeline: Pipeline::new(Executor::on_io_thread(Arc::clone(&node), counters)),
            deliveries: Deliveries::default(),
            balance: Balance::default(),
            last_look: Instant::now(),
            stopping: false,
            node,
        }
    }

    /// Until the server stops.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut messages = Vec::new();
        self.mailbox.own();
        turns::take_short_turns();
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
            self.receive_all(&mut messages);
            self.fire_timers();
            self.run_ready();
            // Whom this round has served is answered in it.
            self.mailbox.take_served(&mut messages);
            self.receive_all(&mut messages);
            self.finish_round();
            let turn = self.last_look.elapsed();
            if turn >= ROUND {
                self.last_look = Instant::now();
                self.look_after_all();
                let idle = self.waiting.take_idle();
                self.balance(turn, idle);
            }
        }
        self.say_goodbye();
        Ok(())
    }

    fn receive_all(&mut self, messages: &mut Vec<Message>) {
        for message in messages.drain(..) {
            self.receive(message);
        }
    }

    fn time_to_wait(&self) -> Duration {
        if self.connections.has_work() || self.mailbox.is_rung() {
            return Duration::ZERO;
        }
        match self.connections.next_timer() {
            Some(at) => at.saturating_duration_since(Instant::now()).min(ROUND),
            None => ROUND,
        }
    }

    fn begin_round(&mut self) {
        self.pipeline.begin_round();
        let generation = self.node.config.generation();
        if generation != self.config_generation {
            self.config_generation = generation;
            self.config = self.node.config.current();
            self.limits = self.config.limits();
            self.notable = Notable::of(&self.config);
            self.query_budget = self.config.memory().queries;
            if self.index == 0 && self.node.tracking.any() {
                self.node.tracking.trim(&self.node.clients, self.config.tracking_table_max_keys);
                self.node.deliver();
            }
        }
        self.output_high = output_high(self.query_budget.together_bytes, self.node.clients.connected());
    }

    fn note(&mut self, place: usize, readable: bool, writable: bool, hung_up: bool) {
        let Some(connection) = self.connections.get_mut(place) else { return };
        let can_send = writable && !connection.writable;
        connection.writable |= writable;
        connection.hung_up |= hung_up;
        connection.readable |= readable || hung_up;
        let has_left =
            hung_up && matches!(connection.state, State::Blocked(..) | State::Until(..) | State::Paused);
        if can_send {
            self.connections.to_send.push(place);
        }
        if has_left {
            self.close(place);
        } else if readable || hung_up {
            self.connections.enqueue(place);
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Connected(transport, client) => {
                self.pipeline.executor.counters.connections.add(1);
                let session = Session::new(Arc::clone(&client), self.login_of(&client));
                self.adopt(Box::new(Connection::new(transport, session)));
            }
            Message::HandedOn(connection) => {
                self.adopt(connection);
            }
            Message::Served { place, client, reply } => self.end_wait(place, client, &reply, true),
            Message::LookAgain { place, client, at_ms } => self.look_again(place, client, at_ms),
            Message::Serve(waiter, why) => self.serve_on_worker(&waiter, why),
            Message::Ready(keys) => self.workers.ready(keys),
            Message::Completed { connection: id, reply, long, wrote, exec, parked } => {
                let Some(connection) = self.connections.of_client(id.place, id.client) else {
                    return self.workers.free(long.chunks);
                };
                let listens = !connection.session.subscriptions.is_empty();
                self.complete(id.place, (reply, *long), wrote, exec, parked);
                if listens {
                    // What the command told its own client comes before the reply of the next one.
                    self.deliver(None);
                }
            }
            Message::Monitored(line) => {
                let mut to_send = std::mem::take(&mut self.connections.to_send);
                for (place, connection) in self.connections.iter_mut().filter(|(_, c)| c.session.is_monitor) {
                    connection.output.extend_from_slice(&line);
                    to_send.push(place);
                }
                self.connections.to_send = to_send;
            }
            Message::Look => self.look_after_all(),
            Message::Durable => {
                self.fail_held_if_stopped();
                let held = std::mem::take(&mut self.connections.held);
                self.connections.to_send.extend(held);
            }
            Message::Stop => self.stopping = true,
        }
    }

    /// A worker is done with a command of a connection.
    fn complete(
        &mut self,
        place: usize,
        (reply, long): (Vec<u8>, LongReply),
        wrote: Option<Position>,
        exec: Option<(Box<Exec>, Outcome)>,
        parked: Option<Box<(Queued, Park)>>,
    ) {
        let Some(mut connection) = self.connections.take(place) else { return };
        connection.state = State::Open;
        let before = connection.output.len();
        let flow = match (exec, connection.exec.take()) {
            (Some((exec, outcome)), _) => {
                connection.room = long.reserved;
                self.end_unit(&mut connection, place, exec, outcome)
            }
            (None, Some(mut exec)) => {
                exec.out.extend_from_slice(&reply);
                self.resume_exec(&mut connection, place, exec)
            }
            (None, None) if parked.is_some() => match parked {
                Some(parked) => {
                    let (queued, park) = *parked;
                    self.park(&mut connection, place, queued, park)
                }
                None => Flow::Next,
            },
            (None, None) if connection.session.reply_mode == ReplyMode::On => {
                connection.take_reply(reply, long, wrote.is_some());
                Flow::Next
            }
            // It is taken back below.
            (None, None) => {
                connection.output.extend_from_slice(&reply);
                self.workers.free(long.chunks);
                Flow::Next
            }
        };
        if flow == Flow::Next {
            super::pipeline::apply_reply_mode(&mut connection, before);
        }
        if let Some(position) = wrote {
            let end = connection.output.len();
            if flow == Flow::Next && end > before {
                connection.write_replies.push((before, end));
            }
            connection.hold(position);
            self.slow_down(&mut connection, place);
        }
        let is_late = !connection.late_news.is_empty() || !connection.late_messages.is_empty();
        if is_late && !matches!(connection.state, State::Working) {
            write_what_is_late(&mut connection);
        }
        self.connections.put(place, connection);
        self.connections.enqueue(place);
        self.connections.to_send.push(place);
        // Whoever stopped the log may have told so before this reply came.
        if wrote.is_some_and(|position| self.node.engine.durable() < position) {
            self.fail_held_if_stopped();
        }
    }

    /// Its place, if it can be watched.
    pub(super) fn adopt(&mut self, mut connection: Box<Connection>) -> Option<usize> {
        let place = self.connections.reserve();
        if let Err(error) = connection.transport.register(self.poll.registry(), Token(place)) {
            tracing::warn!(%error, "a connection cannot be watched");
            self.connections.release(place);
            self.node.clients.remove(&connection.session.client);
            return None;
        }
        // Bytes may have come while it was on its way.
        connection.readable = true;
        connection.queued = false;
        if !connection.is_sent() {
            self.connections.to_send.push(place);
        }
        connection.session.client.set_place(place);
        self.connections.put(place, connection);
        self.connections.enqueue(place);
        Some(place)
    }

    /// Hands up to `count` connections that have nothing under way to another thread.
    pub(super) fn hand_on(&mut self, thread: usize, count: usize) {
        let mut left = count;
        for place in 0..self.connections.places() {
            if left == 0 {
                break;
            }
            let Some(connection) = self.connections.get(place) else { continue };
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
        let mut connection = self.connections.take(place)?;
        connection.transport.deregister(self.poll.registry());
        self.connections.release(place);
        self.node.clients.hand_on(&connection.session.client, thread);
        Some(connection)
    }

    /// Runs the commands of every connection that has some.
    fn run_ready(&mut self) {
        let mut ready = self.connections.take_ready();
        for place in ready.drain(..) {
            let Some(mut connection) = self.connections.take(place) else { continue };
            connection.queued = false;
            self.serve(&mut connection, place);
            if connection.dead && connection.unsent() == 0 {
                // At once: a command that runs next in this round must not find a client that is gone.
                self.end(connection, place);
                continue;
            }
            if !connection.is_sent() || connection.dead || connection.session.closing {
                self.connections.to_send.push(place);
            }
            if connection.readable && connection.takes_commands() {
                self.connections.enqueue_taken(&mut connection, place);
            }
            self.connections.put(place, connection);
        }
        self.connections.give_back_ready(ready);
    }

    /// Commits are handed on, then replies are sent.
    fn finish_round(&mut self) {
        self.deliver(None);
        let mut hold = None;
        let wrote = std::mem::take(&mut self.pipeline.wrote);
        // A reader may have met what others wrote. What it is told must not be lost either.
        let reads_wait =
            self.config.appendfsync == AppendFsync::Always && !self.connections.to_send.is_empty();
        if wrote || reads_wait {
            match self.node.engine.flush() {
                Ok(position) => hold = Some(position),
                Err(error) if wrote => self.refuse_writes(&Error::Engine(error)),
                // The log has stopped, and nothing more becomes durable: reads go on.
                Err(_) => {}
            }
        }
        self.node.deliver();
        let durable = self.node.engine.durable();
        let hold = hold.filter(|position| *position > durable);
        let mut to_send = std::mem::take(&mut self.connections.to_send);
        for place in to_send.drain(..) {
            self.send(place, durable, hold);
        }
        // Those whose turn was over have come meanwhile.
        to_send.append(&mut self.connections.to_send);
        self.connections.to_send = to_send;
    }

    fn send(&mut self, place: usize, durable: tarn_engine::Position, hold: Option<tarn_engine::Position>) {
        let Some(connection) = self.connections.get_mut(place) else { return };
        if let Some(position) = hold {
            connection.hold(position);
        }
        let was_full = connection.is_full();
        let (bytes, has_turns) = match connection.send(durable) {
            Sent::Broken => return self.close(place),
            Sent::Everything(bytes) | Sent::Partly(bytes) => (bytes, false),
            Sent::Turn(bytes) => (bytes, true),
        };
        let everything = connection.is_sent();
        let is_held = !everything && connection.is_held();
        let is_done = (everything && connection.session.closing) || connection.dead;
        connection.shrink();
        let over = connection.over_limit(output_limit(&self.config, connection), self.pipeline.last);
        let may_go_on =
            was_full && (connection.readable || !connection.input.is_empty()) && connection.takes_commands();
        let client = connection.session.client.id;
        self.pipeline.executor.counters.net_out_bytes.add(bytes as u64);
        if has_turns {
            self.connections.to_send.push(place);
        }
        if is_held {
            self.connections.held.push(place);
        }
        if is_done {
            self.close(place);
        } else if over && !everything {
            tracing::warn!(client, "a client was closed: too many replies wait for it");
            self.pipeline.executor.counters.closed_for_output.add(1);
            self.close(place);
        } else if may_go_on {
            self.connections.enqueue(place);
        }
    }

    /// What waits for a commit to be durable is told where none will be any more.
    fn fail_held_if_stopped(&mut self) {
        if let Err(error) = self.node.engine.flush() {
            self.refuse_writes(&Error::Engine(error));
        }
    }

    /// The log takes no commits any more: every reply that says otherwise becomes the error.
    fn refuse_writes(&mut self, error: &Error) {
        let mut words = Vec::new();
        write_error(&self.node, &self.pipeline.executor.counters, error, &mut words);
        let durable = self.node.engine.durable();
        for (_, connection) in self.connections.iter_mut() {
            connection.fail_held(durable, &words);
        }
    }

    pub(super) fn close(&mut self, place: usize) {
        if let Some(connection) = self.connections.take(place) {
            self.end(connection, place);
        }
    }

    fn end(&mut self, mut connection: Box<Connection>, place: usize) {
        connection.transport.deregister(self.poll.registry());
        connection.session.monitor(&self.node, false);
        connection.session.unwatch(&self.node);
        connection.session.untrack(&self.node);
        if let State::Blocked(_, waiter) = &connection.state {
            self.node.end_wait(waiter, Ending::Gone);
        }
        self.end_subscriptions(&mut connection, place);
        self.workers.free(connection.long.take());
        self.node.clients.remove(&connection.session.client);
        self.connections.release(place);
    }

    fn fire_timers(&mut self) {
        if self.connections.next_timer().is_none() {
            return;
        }
        let now = Instant::now();
        while let Some((place, client)) = self.connections.due(now) {
            let now_ms = self.pipeline.now_ms;
            let pause = self.node.pause.holds(false, now_ms).or(self.node.pause.holds(true, now_ms));
            let Some(connection) = self.connections.of_client(place, client) else { continue };
            match std::mem::replace(&mut connection.state, State::Open) {
                State::Until(at, reply) if at <= now => {
                    let before = connection.output.len();
                    reply.write(connection.session.protocol, &Arena::new(), &mut connection.output);
                    super::pipeline::apply_reply_mode(connection, before);
                    self.connections.to_send.push(place);
                    self.connections.enqueue(place);
                }
                State::Blocked(until, waiter) => {
                    let is_over = until.is_some_and(|until| until <= now);
                    connection.state = State::Blocked(until, Arc::clone(&waiter));
                    if is_over {
                        self.time_out(place, client, &waiter);
                    } else {
                        self.look_if_due(place, client, &waiter);
                    }
                }
                State::Paused if pause.is_none() => self.connections.enqueue(place),
                State::Throttled => {
                    if self.may_go_on(place, client, now) {
                        self.connections.enqueue(place);
                    } else if let Some(connection) = self.connections.of_client(place, client) {
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
        let (mut to_close, mut resumed) = (Vec::new(), Vec::new());
        let mut held = 0;
        for (place, connection) in self.connections.iter_mut() {
            let client = &connection.session.client;
            let queued = connection.session.multi.as_ref().map_or(0, |multi| multi.bytes);
            held += connection.input.len() + connection.unsent() + queued;
            let idle_ms = now_ms.saturating_sub(client.last_active_ms());
            let waits = !matches!(connection.state, State::Open);
            client.set_buffers(connection.input.len(), connection.unsent());
            client.set_queued_bytes(queued);
            let listens = connection.session.is_monitor || !connection.session.subscriptions.is_empty();
            if timeout_ms != 0 && idle_ms > timeout_ms && !waits && !listens {
                to_close.push(place);
            } else if client.is_killed()
                // It may be ACL LOAD that runs, which is answered first.
                || !matches!(connection.state, State::Working)
                    && !connection.session.follow_users(&self.node.acl)
            {
                // Replies that were promised before the kill still go out, as far as the socket takes them.
                to_close.push(place);
            } else if connection.over_limit(output_limit(&self.config, connection), now) {
                to_close.push(place);
            } else if matches!(connection.state, State::Paused) && !paused {
                connection.state = State::Open;
                resumed.push(place);
            } else if idle_ms > 1_000 && !waits && connection.unsent() == 0 {
                connection.release_buffers();
            }
        }
        resumed.into_iter().for_each(|place| self.connections.enqueue(place));
        for place in to_close {
            self.close(place);
        }
        self.pipeline.executor.counters.client_bytes.store(held as u64, Ordering::Relaxed);
        if held > 0 {
            super::eviction::evict(&self.node);
        }
        self.node.reply_memory.look(Some(now));
    }

    fn say_goodbye(&mut self) {
        // Whatever is committed was handed on; what the sockets take at once is sent.
        if let Err(error) = self.node.engine.flush() {
            tracing::error!(%error, "the last commits could not be written");
        }
        let durable = self.node.engine.durable();
        for (_, connection) in self.connections.iter_mut() {
            while let Sent::Turn(_) = connection.send(durable) {}
        }
        for place in 0..self.connections.places() {
            self.close(place);
        }
    }

    pub(super) fn connection_id(&self, connection: &Connection, place: usize) -> ConnectionId {
        ConnectionId { thread: self.index, place, client: connection.session.client.id }
    }
}
