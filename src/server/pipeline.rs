//! From bytes of a connection to units that have run: the hot path of an I/O thread.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tarn_resp::{Args as Words, Limits, OwnedArgs, Parsed, Parser, ProtocolError};

use super::batch::may_batch;
use super::connection::{Connection, State};
use super::io_thread::IoThread;
use super::workers::{Task, Work};
use crate::client_memory::Reserved;
use crate::clients::flag;
use crate::dispatch::executor::{Executor, On, write_error};
use crate::dispatch::fieldsets;
use crate::dispatch::gate;
use crate::dispatch::lookahead::Lookahead;
use crate::dispatch::monitor;
use crate::dispatch::registry::Registered;
use crate::dispatch::session::{Answer, ReplyMode, SessionCx};
use crate::dispatch::spec::{Flags, Run, SessionFn};
use crate::dispatch::stats::{self, Ended};
use crate::dispatch::unit::{Atomic, Call, Outcome, Unit, Waits, Why};
use crate::dispatch::watches::Watching;
use crate::error::Error;
use crate::keyspace::Located;
use crate::node::Node;
use crate::reply::{Arena, Reply};

/// Read at once from a connection; a full one is read again in the next round, after the others.
const READ_BYTES: usize = 64 * 1024;
/// A client that speaks HTTP is logged once in this time, as in Redis.
const BETWEEN_HTTP_LINES: Duration = Duration::from_secs(60);
/// Most that is read for one long argument at a time.
const MAX_READ_BYTES: usize = 1 << 20;

/// Calls that the queue of a transaction has room for at first.
const FIRST_QUEUED: usize = 16;

/// What an I/O thread keeps between the bytes of its connections and the units that they become.
pub(super) struct Pipeline {
    pub(super) executor: Executor,
    lookahead: Lookahead,
    scratch: Vec<u8>,
    /// When the round began, and what the clock showed then.
    round: (Instant, u64),
    /// When the commands that run were read: what they judge expiry by.
    pub(super) now_ms: u64,
    /// When the last command ended.
    pub(super) last: Instant,
    /// Something was committed in this round.
    pub(super) wrote: bool,
    /// And by the command that runs.
    command_wrote: bool,
    /// The command that runs changed what its client listens to.
    confirmed: bool,
    /// When the log last told of a client that speaks HTTP.
    http_noted: Option<Instant>,
}

impl Pipeline {
    pub(super) fn new(executor: Executor) -> Pipeline {
        let now = Instant::now();
        let clock_us = executor.node.clock.now_us();
        Pipeline {
            executor,
            lookahead: Lookahead::default(),
            scratch: vec![0; READ_BYTES],
            round: (now, clock_us),
            now_ms: clock_us / 1_000,
            last: now,
            wrote: false,
            command_wrote: false,
            confirmed: false,
            http_noted: None,
        }
    }

    pub(super) fn begin_round(&mut self) {
        self.last = Instant::now();
        self.round = (self.last, self.executor.node.clock.now_us());
        self.now_ms = self.round.1 / 1_000;
    }

    /// Whether the command that runs has written.
    pub(super) fn set_wrote(&mut self, wrote: bool) {
        self.command_wrote |= wrote;
    }

    /// Takes the time, once the commands that run next have been read. Some may have come since the round began, and what
    /// they give a time to live counts from when they were sent.
    fn take_time(&mut self) {
        let (began, clock_us) = self.round;
        self.last = Instant::now();
        self.now_ms = (clock_us + self.last.duration_since(began).as_micros() as u64) / 1_000;
    }
}

/// The commands that came with a call, and its place among them.
type Among<'a> = Option<(&'a Lookahead, usize, &'a [u8])>;

/// Whether the next command of the connection may follow at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// This command has to be run again from the start, later.
    Again,
    /// This command is taken care of; the next one has to wait.
    Stop,
}

impl IoThread {
    /// Reads what is there and runs what is complete.
    pub(super) fn serve(&mut self, connection: &mut Connection, place: usize) {
        connection.output_high = self.output_high;
        // Bytes that waited (for a worker, a pause, a full output) come first.
        if !connection.input.is_empty() && connection.takes_commands() {
            self.pipeline.take_time();
            let input = std::mem::take(&mut connection.input);
            let used = self.run_all(connection, place, &input);
            connection.input = keep_rest(input, used);
        }
        if !connection.readable || !connection.takes_commands() {
            return;
        }
        if connection.input.is_empty() {
            self.read_through_scratch(connection, place);
        } else {
            self.read_behind_input(connection, place);
        }
        if connection.input.len() > self.config.client_query_buffer_limit {
            tracing::warn!(
                client = connection.session.client.id,
                "a client was closed: its query is too long"
            );
            self.pipeline.executor.counters.closed_for_query.add(1);
            connection.dead = true;
        }
    }

    /// The common case: nothing is left over, so commands run right out of the thread's buffer.
    fn read_through_scratch(&mut self, connection: &mut Connection, place: usize) {
        let mut scratch = std::mem::take(&mut self.pipeline.scratch);
        match connection.transport.read(&mut scratch) {
            // What was asked is still answered: the other side may have closed only its half.
            Ok(0) => connection.session.closing = true,
            Ok(n) => {
                connection.readable =
                    n == scratch.len() || connection.hung_up || connection.transport.has_buffered();
                self.pipeline.executor.counters.net_in_bytes.add(n as u64);
                let bytes = scratch.get(..n).unwrap_or(&[]);
                self.pipeline.take_time();
                let used = self.run_all(connection, place, bytes);
                let rest = bytes.get(used..).unwrap_or(&[]);
                make_room(&mut connection.input, rest.len() + connection.need);
                connection.input.extend_from_slice(rest);
            }
            Err(error) => on_read_error(connection, &error),
        }
        self.pipeline.scratch = scratch;
    }

    /// A command came in pieces: its bytes gather in the connection's own buffer.
    fn read_behind_input(&mut self, connection: &mut Connection, place: usize) {
        let mut input = std::mem::take(&mut connection.input);
        let start = input.len();
        make_room(&mut input, connection.need);
        let room = (input.capacity() - start).clamp(READ_BYTES, MAX_READ_BYTES);
        input.resize(start + room, 0);
        let read = connection.transport.read(input.get_mut(start..).unwrap_or(&mut []));
        match read {
            Ok(0) => {
                input.truncate(start);
                connection.session.closing = true;
            }
            Ok(n) => {
                connection.readable = n == room || connection.hung_up || connection.transport.has_buffered();
                self.pipeline.executor.counters.net_in_bytes.add(n as u64);
                input.truncate(start + n);
                self.pipeline.take_time();
                let used = self.run_all(connection, place, &input);
                input = keep_rest(input, used);
            }
            Err(error) => {
                input.truncate(start);
                on_read_error(connection, &error);
            }
        }
        connection.input = input;
    }

    /// Runs every complete command; how many bytes they were.
    fn run_all(&mut self, connection: &mut Connection, place: usize, bytes: &[u8]) -> usize {
        let mut used = 0;
        connection.need = 0;
        let mut parser = std::mem::take(&mut connection.parser);
        let earlier = std::mem::take(&mut self.pipeline.wrote);
        while connection.takes_commands() {
            let rest = bytes.get(used..).unwrap_or(&[]);
            if rest.is_empty() {
                break;
            }
            let limits = Limits {
                max_bulk_len: self.config.proto_max_bulk_len,
                authenticated: connection.session.is_authenticated(),
                ..Limits::default()
            };
            if parser.is_idle() && connection.session.is_authenticated() {
                let flow = self.run_upcoming(connection, place, rest, &limits, &mut used);
                match flow {
                    Some(Flow::Next) => continue,
                    Some(_) => break,
                    None => {}
                }
            }
            if connection.refuses {
                match self.pass_over(connection, &mut parser, rest, &limits) {
                    Ok(passed) => used += passed,
                    Err(error) => used = refuse_protocol(connection, &error, bytes),
                }
                if connection.refuses {
                    break;
                }
                continue;
            }
            match parser.parse(rest, &limits) {
                Ok(Parsed::Incomplete { need }) => {
                    let (memory, budget) = (&self.node.query_memory, self.query_budget);
                    if !parser.is_idle() && !connection.reserved.grow(rest.len() + need, memory, budget) {
                        connection.refuses = true;
                        continue;
                    }
                    connection.need = need;
                    break;
                }
                Ok(Parsed::Empty { consumed }) => used += consumed,
                Ok(Parsed::Command { consumed }) => {
                    let flow = self.run_one(connection, place, parser.args(rest));
                    if flow != Flow::Again {
                        connection.reserved = Reserved::default();
                        used += consumed;
                    }
                    if flow != Flow::Next {
                        break;
                    }
                }
                Err(error) => used = refuse_protocol(connection, &error, bytes),
            }
        }
        connection.parser = parser;
        if self.pipeline.wrote {
            self.slow_down(connection, place);
        }
        self.pipeline.wrote |= earlier;
        used
    }

    /// Passes over what has come of a command that there is no room for; how many bytes. At its end it is refused.
    #[cold]
    fn pass_over(
        &mut self,
        connection: &mut Connection,
        parser: &mut Parser,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<usize, ProtocolError> {
        let (passed, is_done) = parser.skip(bytes, limits)?;
        if is_done {
            connection.refuses = false;
            connection.reserved = Reserved::default();
            self.reject(connection, None, &Error::OutOfMemory);
        }
        Ok(passed)
    }

    /// Runs the commands that can be parsed together, and counts their bytes; None where there is no whole one.
    fn run_upcoming(
        &mut self,
        connection: &mut Connection,
        place: usize,
        bytes: &[u8],
        limits: &Limits,
        used: &mut usize,
    ) -> Option<Flow> {
        let mut lookahead = std::mem::take(&mut self.pipeline.lookahead);
        lookahead.look(&self.node, connection.session.db, bytes, limits);
        let (mut flow, mut index, begin) = (Flow::Next, 0, *used);
        // Those before this one run by themselves: a batch with them did not go.
        let mut alone = 0;
        while flow == Flow::Next && connection.takes_commands() {
            let Some(call) = lookahead.call(index, connection.session.db, bytes) else {
                let Some(words) = lookahead.words(index, bytes) else { break };
                flow = self.run_one(connection, place, words);
                *used = begin + lookahead.end(index);
                index += 1;
                continue;
            };
            if !self.node.engine.keeps_resident() {
                let ran = self.submit_together(connection, place, &lookahead, (index, bytes));
                if ran > 0 {
                    *used = begin + lookahead.end(index + ran - 1);
                    flow = Flow::Stop;
                    break;
                }
            }
            let (batch, one_key) = lookahead.batch_from(index);
            let ran = if batch.len() > 1 && index >= alone && may_batch(connection, &self.node) {
                let (db, end) = (connection.session.db, batch.end);
                let calls = batch.filter_map(|index| lookahead.call(index, db, bytes));
                let atomic = if one_key { Atomic::OneKey } else { Atomic::No };
                let ran = self.run_batch(connection, (call.command.spec.is_write(), atomic), calls);
                alone = if ran.is_none() { end } else { alone };
                ran
            } else {
                None
            };
            let ran = ran.unwrap_or_else(|| {
                flow = self.execute(connection, place, call, Some((&lookahead, index, bytes)));
                usize::from(flow != Flow::Again)
            });
            if ran > 0 {
                *used = begin + lookahead.end(index + ran - 1);
                index += ran;
            }
        }
        let any = !lookahead.is_empty();
        // Long commands need long lists of words; a thread that once met one need not keep them.
        self.pipeline.lookahead = if bytes.len() > READ_BYTES { Lookahead::default() } else { lookahead };
        any.then_some(flow)
    }

    /// Finds a command and runs it by itself.
    fn run_one(&mut self, connection: &mut Connection, place: usize, words: Words<'_>) -> Flow {
        match gate::find(words) {
            Ok((command, named)) => {
                let db = connection.session.db;
                let call = Call { command, named, words, db, located: Located::default() };
                self.execute(connection, place, call, None)
            }
            Err(_) if gate::is_http(words) => {
                self.note_http(connection);
                connection.session.closing = true;
                Flow::Next
            }
            Err(error) => {
                let error = if is_exec(words) { exec_aborted(connection, &self.node, &error) } else { error };
                self.reject(connection, gate::rejected(words), &error)
            }
        }
    }

    /// Says that somebody may be attacking, seldom enough not to fill the disk.
    fn note_http(&mut self, connection: &Connection) {
        let now = self.pipeline.last;
        if self.pipeline.http_noted.is_none_or(|then| now.duration_since(then) >= BETWEEN_HTTP_LINES) {
            self.pipeline.http_noted = Some(now);
            let client = &*connection.session.client.addr;
            tracing::warn!(
                client,
                "Possible SECURITY ATTACK detected: somebody sends POST or Host: lines, as a browser does that was tricked into \
                 talking to this port. The connection was closed; further ones in the next minute are closed without a line here"
            );
        }
    }

    /// Runs one call.
    fn execute(
        &mut self,
        connection: &mut Connection,
        place: usize,
        call: Call<'_>,
        among: Among<'_>,
    ) -> Flow {
        if call.command.spec.takes_fieldset {
            let words = fieldsets::expand(connection.session.fieldsets.as_deref(), call.words);
            return self.execute_with(connection, place, Call { words: words.view(), ..call }, None);
        }
        self.execute_with(connection, place, call, among)
    }

    /// As [`IoThread::execute`], with the words that the command runs with.
    #[inline]
    fn execute_with(
        &mut self,
        connection: &mut Connection,
        place: usize,
        call: Call<'_>,
        among: Among<'_>,
    ) -> Flow {
        let Call { command, words, .. } = call;
        let before = connection.output.len();
        self.pipeline.command_wrote = false;
        self.pipeline.confirmed = false;
        if let Err(refusal) = gate::admit(&call, &mut connection.session.login, &self.node, &self.config) {
            return self.refuse(connection, command, refusal);
        }
        if connection.session.only_listens()
            && let Err(error) = gate::admit_listening(command)
        {
            return self.reject(connection, Some(command), &error);
        }
        if self.is_not_for_multi(connection, command) {
            let error = Error::reply("ERR Command not allowed inside a transaction");
            return self.reject(connection, Some(command), &error);
        }
        let is_exec = command.spec.name == "exec";
        let writes = match &connection.session.multi {
            Some(multi) => is_exec && multi.writes(),
            None => command.spec.counts_as_write(),
        };
        if let Some(until_ms) = self.node.pause.holds(writes, self.pipeline.now_ms) {
            connection.state = State::Paused;
            connection.session.client.set_flag(flag::BLOCKED, true);
            let wait = Duration::from_millis(until_ms.saturating_sub(self.pipeline.now_ms) + 1);
            self.connections.wake_at(Instant::now() + wait, place, connection.session.client.id);
            return Flow::Again;
        }
        if connection.session.multi.is_some() && !command.spec.not_queued {
            return self.queue(connection, call);
        }
        if let Err(error) = self.permit_patterns(connection, &call) {
            return self.reject(connection, Some(command), &error);
        }
        // EXEC comes behind what it runs.
        if self.node.clients.monitors() > 0 && !is_exec {
            self.feed_monitors(connection, command, words);
        }
        connection.session.client.ran(command.id, self.pipeline.now_ms);
        let flow = match command.spec.run {
            Run::Session(handler) => self.run_on_session(connection, place, call, handler),
            _ => self.run_on_keys(connection, place, call, among, Watching::No),
        };
        if flow == Flow::Next {
            // Who asks for messages hears so, whatever CLIENT REPLY says.
            let spoken = self.pipeline.confirmed.then_some(connection.output.len());
            apply_reply_mode(connection, spoken.unwrap_or(before));
            if self.pipeline.command_wrote && connection.output.len() > before {
                connection.write_replies.push((before, connection.output.len()));
            }
        }
        self.pipeline.wrote |= self.pipeline.command_wrote;
        if connection.session.tracking.is_some() {
            self.track(connection, place, command);
        }
        self.clock_out(connection, command, words, flow, before);
        // What a command told its own client comes behind its reply, as since Redis 7.2.
        if !connection.session.subscriptions.is_empty() {
            self.deliver(Some((connection, place)));
        }
        flow
    }

    /// What is behind a command of a client that tracks: it is told of what was changed meanwhile, and CLIENT CACHING has had
    /// its say.
    fn track(&mut self, connection: &mut Connection, place: usize, command: &Registered) {
        if self.node.tracking.has_some(self.index) {
            self.invalidate(Some((connection, place)));
        }
        let is_queueing = connection.session.multi.is_some();
        if let Some(tracking) = &mut connection.session.tracking
            && command.full_name != "client|caching"
            && !is_queueing
        {
            tracking.caching = None;
        }
    }

    fn run_on_keys(
        &mut self,
        connection: &mut Connection,
        place: usize,
        call: Call<'_>,
        among: Among<'_>,
        watching: Watching,
    ) -> Flow {
        let unit = Unit {
            caller: connection.session.caller(),
            calls: std::iter::once(call),
            atomic: Atomic::Yes,
            watching,
            waits: Waits::As { thread: self.index, place },
            now_ms: self.pipeline.now_ms,
            limits: &self.limits,
        };
        match self.pipeline.executor.run(&unit, On::IoThread, &mut connection.output) {
            Outcome::Replied { wrote } => {
                self.pipeline.command_wrote = wrote;
                Flow::Next
            }
            // Nothing is checked here.
            Outcome::Aborted => Flow::Next,
            Outcome::Park(park) => self.wait(connection, place, &park),
            Outcome::Move(why) => {
                self.pipeline.executor.counters.offloaded.add(1);
                // What comes behind a command whose row is on the disk is probably there as well.
                let load = match among {
                    Some((lookahead, index, bytes)) if why == Why::Cold => lookahead.keys_from(index, bytes),
                    _ => OwnedArgs::default(),
                };
                let watching = unit.watching;
                let limits = self.limits;
                let work = Work::Keys { named: call.named, limits, why, load, watching };
                self.submit(connection, place, call.command, call.words, work);
                Flow::Stop
            }
        }
    }

    fn run_on_session(
        &mut self,
        connection: &mut Connection,
        place: usize,
        call: Call<'_>,
        handler: SessionFn,
    ) -> Flow {
        let mut cx =
            SessionCx { node: &self.node, session: &mut connection.session, now_ms: self.pipeline.now_ms };
        let answer = handler(&mut cx, call.args());
        match answer {
            Ok(Answer::OnKeys) => {
                let watch = connection.session.watch().clone();
                self.run_on_keys(connection, place, call, None, Watching::Begin(watch))
            }
            Ok(Answer::Exec(multi)) => self.begin_exec(connection, place, &call, *multi),
            answer => {
                // EXEC comes behind what it runs, also where that is nothing.
                if self.node.clients.monitors() > 0 && call.command.spec.name == "exec" {
                    self.feed_monitors(connection, call.command, call.words);
                }
                self.take_answer(connection, place, call.command, call.words, answer)
            }
        }
    }

    /// Keeps a call for EXEC.
    fn queue(&mut self, connection: &mut Connection, call: Call<'_>) -> Flow {
        let before = connection.output.len();
        if let Some(multi) = &mut connection.session.multi {
            // What is queued is a part of the query that waits.
            let bytes = multi.bytes + call.words.bytes();
            if !multi.reserved.grow(bytes, &self.node.query_memory, self.query_budget) {
                return self.reject(connection, Some(call.command), &Error::OutOfMemory);
            }
            if multi.queue.is_empty() {
                multi.queue.reserve(FIRST_QUEUED);
            }
            multi.queue.push(call.to_queued());
            multi.bytes = bytes;
            if bytes > self.config.client_query_buffer_limit {
                let client = connection.session.client.id;
                tracing::warn!(client, "a client was closed: its transaction is too long");
                self.pipeline.executor.counters.closed_for_query.add(1);
                connection.dead = true;
                return Flow::Stop;
            }
            connection.session.client.set_queued(Some(multi.queue.len()));
        }
        connection.session.client.ran(call.command.id, self.pipeline.now_ms);
        Reply::Simple("QUEUED").write(connection.session.protocol, &Arena::new(), &mut connection.output);
        apply_reply_mode(connection, before);
        Flow::Next
    }

    fn is_not_for_multi(&self, connection: &Connection, command: &Registered) -> bool {
        connection.session.multi.is_some() && command.spec.flags.has(Flags::NO_MULTI)
    }

    fn take_answer(
        &mut self,
        connection: &mut Connection,
        place: usize,
        command: &'static Registered,
        words: Words<'_>,
        answer: crate::error::Result<Answer>,
    ) -> Flow {
        match answer {
            Ok(Answer::Reply(reply)) => {
                reply.write(connection.session.protocol, &Arena::new(), &mut connection.output);
                Flow::Next
            }
            Ok(Answer::Subscriptions(change)) => {
                self.change_subscriptions(connection, place, change, words.skip(1));
                self.pipeline.confirmed = true;
                Flow::Next
            }
            Ok(Answer::Unsubscribed(reply)) => {
                self.end_subscriptions(connection, place);
                reply.write(connection.session.protocol, &Arena::new(), &mut connection.output);
                Flow::Next
            }
            // Taken care of already.
            Ok(Answer::OnKeys | Answer::Exec(_)) => Flow::Next,
            Ok(Answer::Worker(job)) => {
                self.submit(connection, place, command, words, Work::Job(job));
                Flow::Stop
            }
            Ok(Answer::Network(job)) => {
                self.submit(connection, place, command, words, Work::Network(job));
                Flow::Stop
            }
            Ok(Answer::After(wait, reply)) => {
                let at = Instant::now() + wait;
                connection.state = State::Until(at, reply);
                connection.session.client.set_flag(flag::BLOCKED, true);
                self.connections.wake_at(at, place, connection.session.client.id);
                Flow::Stop
            }
            Err(stop) => {
                if let Some(counters) = self.pipeline.executor.counters.command(command.id) {
                    counters.failed.add(1);
                }
                let error = stop.into_error();
                write_error(&self.node, &self.pipeline.executor.counters, &error, &mut connection.output);
                Flow::Next
            }
        }
    }

    pub(super) fn submit(
        &mut self,
        connection: &mut Connection,
        place: usize,
        command: &'static Registered,
        words: Words<'_>,
        work: Work,
    ) {
        connection.state = State::Working;
        self.workers.submit(Task {
            connection: self.connection_id(connection, place),
            client: Arc::clone(&connection.session.client),
            caller: connection.session.caller(),
            command,
            words: words.to_owned_args(),
            work,
            reserved: std::mem::take(&mut connection.reserved),
            room_until: None,
        });
    }

    pub(super) fn reject(
        &mut self,
        connection: &mut Connection,
        command: Option<&Registered>,
        error: &Error,
    ) -> Flow {
        let before = connection.output.len();
        connection.session.abort_multi();
        if let Some(counters) = command.and_then(|c| self.pipeline.executor.counters.command(c.id)) {
            counters.rejected.add(1);
        }
        write_error(&self.node, &self.pipeline.executor.counters, error, &mut connection.output);
        apply_reply_mode(connection, before);
        Flow::Next
    }

    /// Counts the command and notes it if it was slow; a worker does that for what it runs. One look at the clock serves
    /// this command's end and the next one's beginning.
    fn clock_out(
        &mut self,
        connection: &Connection,
        command: &Registered,
        words: Words<'_>,
        flow: Flow,
        before: usize,
    ) {
        let end = Instant::now();
        let nanos = end.duration_since(self.pipeline.last).as_nanos() as u64;
        self.pipeline.last = end;
        if flow == Flow::Stop && matches!(connection.state, State::Working) {
            return;
        }
        let (client, now_ms) = (&*connection.session.client, self.pipeline.now_ms);
        let reply_len = connection.output.len().saturating_sub(before);
        let ended = Ended { command, words, client, now_ms, nanos, reply_len };
        stats::note(&self.node, &self.config, &self.notable, &self.pipeline.executor.counters, &ended);
    }

    pub(super) fn feed_monitors(&self, connection: &Connection, command: &Registered, words: Words<'_>) {
        monitor::feed(&self.node, &connection.session.client, connection.session.db, command, words);
    }
}

/// EXEC with words behind it.
fn is_exec(words: Words<'_>) -> bool {
    words.get(0).is_some_and(|name| name.eq_ignore_ascii_case(b"exec"))
}

/// It ends the transaction all the same.
fn exec_aborted(connection: &mut Connection, node: &Node, error: &Error) -> Error {
    connection.session.end_multi();
    connection.session.unwatch(node);
    let words = error.to_string();
    let words = words.strip_prefix("ERR ").unwrap_or(&words);
    Error::reply(format!("EXECABORT Transaction discarded because of: {words}"))
}

/// CLIENT REPLY: takes back what this client does not want to hear.
pub(super) fn apply_reply_mode(connection: &mut Connection, before: usize) {
    let client = &connection.session.client;
    if client.has(flag::BLOCKED) {
        client.set_flag(flag::BLOCKED, false);
    }
    match connection.session.reply_mode {
        ReplyMode::On => {}
        ReplyMode::Off => connection.output.truncate(before),
        ReplyMode::SkipNext => {
            connection.output.truncate(before);
            connection.session.reply_mode = ReplyMode::Skip;
        }
        ReplyMode::Skip => {
            connection.output.truncate(before);
            connection.session.reply_mode = ReplyMode::On;
        }
    }
}

/// What is not the protocol ends the connection. All bytes are used.
fn refuse_protocol(connection: &mut Connection, error: &ProtocolError, bytes: &[u8]) -> usize {
    error.encode(&mut connection.output);
    connection.session.closing = true;
    connection.refuses = false;
    bytes.len()
}

/// Room for a long argument is made in few steps, not by doubling.
fn make_room(input: &mut Vec<u8>, need: usize) {
    if need > READ_BYTES && input.capacity() - input.len() < READ_BYTES {
        input.reserve_exact(need.min(16 * MAX_READ_BYTES));
    }
}

fn keep_rest(mut input: Vec<u8>, used: usize) -> Vec<u8> {
    if used >= input.len() && input.capacity() > MAX_READ_BYTES {
        // A worker may have a copy for long.
        input = Vec::new();
    } else if used >= input.len() {
        input.clear();
    } else if used > 0 {
        input.drain(..used);
    }
    input
}

fn on_read_error(connection: &mut Connection, error: &io::Error) {
    match error.kind() {
        io::ErrorKind::WouldBlock => connection.readable = false,
        io::ErrorKind::Interrupted => {}
        _ => connection.dead = true,
    }
}
