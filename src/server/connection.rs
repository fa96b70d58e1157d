//! One client's connection: what was read and not yet run, what was answered and not yet sent.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use tarn_engine::Position;
use tarn_resp::Parser;

use super::long_output::LongOutput;
use super::transport::Transport;
use crate::client_memory::Reserved;
use crate::config::OutputLimit;
use crate::dispatch::executor::LongReply;
use crate::dispatch::multi::Exec;
use crate::dispatch::session::Session;
use crate::dispatch::waiters::Waiter;
use crate::reply::Reply;
use crate::tracking::Item;

/// Bounds of [`Connection::output_high`]: all clients share the room for replies.
const OUTPUT_HIGH_BYTES: usize = 4 << 20;
const OUTPUT_LOW_BYTES: usize = 128 * 1024;
/// Buffers above this are given back once they are empty.
const KEEP_BYTES: usize = 16 * 1024;
/// What one connection may send before it is the turn of the others. A socket may take megabytes at once, for a
/// millisecond.
const TURN_BYTES: usize = 128 * 1024;
/// Sent bytes stay in front of others up to here, and while they are fewer than so many times those: these are moved, which must not
/// take long.
const FORGET_BYTES: usize = 256 * 1024;
const FORGET_TIMES: usize = 8;

/// What one of so many clients may have unsent before it has to read.
pub fn output_high(budget_bytes: usize, clients: usize) -> usize {
    (budget_bytes / clients.max(1)).clamp(OUTPUT_LOW_BYTES, OUTPUT_HIGH_BYTES)
}

/// Why no further command of a connection is run at the moment.
pub enum State {
    Open,
    /// A worker has its command.
    Working,
    /// A reply comes at this time.
    Until(Instant, Reply),
    /// It waits for keys, at most until this time.
    Blocked(Option<Instant>, Arc<Waiter>),
    /// CLIENT PAUSE.
    Paused,
    /// Writes come faster than they can be written back.
    Throttled,
}

pub struct Connection {
    pub transport: Transport,
    pub session: Session,
    pub parser: Parser,
    pub input: Vec<u8>,
    /// For the command of which a part has come, of which so many bytes are still to come.
    pub reserved: Reserved,
    pub need: usize,
    /// There was no room for that command: the rest of it is passed over.
    pub refuses: bool,
    /// In front of `output`.
    pub long: LongOutput,
    /// For a long reply in `output`.
    pub room: Reserved,
    pub output: Vec<u8>,
    /// Unsent replies above this stop the reading of further commands until they are sent.
    pub output_high: usize,
    /// How much of `output` is sent.
    pub sent: usize,
    /// Where in `output` replies of writes stand that are not yet as durable as asked for.
    pub write_replies: Vec<(usize, usize)>,
    /// `output` up to a place may be sent once commits up to a position are durable.
    pub holds: VecDeque<(Position, usize)>,
    /// While something is held: the place up to which `output` is free to go.
    released: usize,
    pub state: State,
    /// EXEC that waits for a worker's answer.
    pub exec: Option<Box<Exec>>,
    /// What it is to be told of keys that it caches, behind the reply that a worker has.
    pub late_news: Vec<Item>,
    /// Messages that came meanwhile.
    pub late_messages: Vec<u8>,
    /// The socket may have more to read / took less than was offered.
    pub readable: bool,
    pub writable: bool,
    /// The other side sends nothing more. It was said together with the last bytes, and is not said again: what is there is to
    /// be read to the end.
    pub hung_up: bool,
    /// Is on the thread's list of connections to look at.
    pub queued: bool,
    pub over_soft_limit_since: Option<Instant>,
    /// The other side is gone, or has to go.
    pub dead: bool,
}

/// What sending came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Everything(usize),
    /// The socket is full, or the rest waits for durability.
    Partly(usize),
    /// It is the turn of the others; the rest goes in the next round.
    Turn(usize),
    Broken,
}

impl Connection {
    pub fn new(transport: Transport, session: Session) -> Connection {
        Connection {
            transport,
            session,
            parser: Parser::new(),
            input: Vec::new(),
            reserved: Reserved::default(),
            need: 0,
            refuses: false,
            long: LongOutput::default(),
            room: Reserved::default(),
            output: Vec::new(),
            output_high: OUTPUT_HIGH_BYTES,
            sent: 0,
            write_replies: Vec::new(),
            holds: VecDeque::new(),
            released: 0,
            state: State::Open,
            exec: None,
            late_news: Vec::new(),
            late_messages: Vec::new(),
            readable: false,
            writable: true,
            hung_up: false,
            queued: false,
            over_soft_limit_since: None,
            dead: false,
        }
    }

    pub fn unsent(&self) -> usize {
        self.long.unsent() + self.output.len() - self.sent
    }

    /// Whether it has to read replies before it may send commands.
    pub fn is_full(&self) -> bool {
        !self.long.is_empty() || self.unsent() >= self.output_high
    }

    /// Something waits until it is durable.
    pub fn is_held(&self) -> bool {
        !self.holds.is_empty() || self.long.waits()
    }

    /// Takes over a reply that a worker has made. A long one stays in its chunks where nothing else is under way.
    pub fn take_reply(&mut self, reply: Vec<u8>, long: LongReply, wrote: bool) {
        if long.chunks.is_empty() || wrote || !self.holds.is_empty() || !self.long.is_empty() {
            if self.output.is_empty() && long.chunks.is_empty() {
                // It is not kept twice.
                self.output = reply;
            } else {
                self.output.extend_from_slice(&reply);
                long.chunks.into_iter().for_each(|chunk| self.output.extend_from_slice(&chunk));
            }
            self.room = long.reserved;
            return;
        }
        let before = std::mem::take(&mut self.output);
        self.long = LongOutput::new(before, std::mem::take(&mut self.sent), reply, long);
        self.released = 0;
        self.write_replies.clear();
    }

    /// Whether everything that was answered is in the socket.
    pub fn is_sent(&self) -> bool {
        self.unsent() == 0 && !self.transport.wants_write()
    }

    /// Whether commands may be read and run.
    pub fn takes_commands(&self) -> bool {
        matches!(self.state, State::Open) && !self.session.closing && !self.dead && !self.is_full()
    }

    /// Whether another thread may have it: nothing is under way that knows this thread.
    pub fn can_move(&self) -> bool {
        self.takes_commands()
            && self.is_sent()
            && self.holds.is_empty()
            && !self.session.is_monitor
            && self.session.tracking.is_none()
    }

    /// Everything answered so far waits for this position.
    pub fn hold(&mut self, position: Position) {
        self.long.hold(position);
        let end = self.output.len();
        match self.holds.back() {
            None if end > self.sent => self.released = self.sent,
            Some((_, held)) if end > *held => {}
            // Nothing new was answered.
            _ => return,
        }
        self.holds.push_back((position, end));
    }

    /// What waits for commits up to this position may go.
    fn release(&mut self, durable: Position) {
        while let Some((_, end)) = self.holds.front().copied().filter(|(position, _)| *position <= durable) {
            self.released = end;
            self.holds.pop_front();
        }
        let released = self.released;
        self.write_replies.retain(|(_, end)| *end > released);
    }

    /// Sends what may be sent.
    pub fn send(&mut self, durable: Position) -> Sent {
        let mut total = 0;
        if !self.long.is_empty() {
            match self.send_long(durable) {
                Ok(sent) => total = sent,
                Err(_) => return Sent::Broken,
            }
            if !self.long.is_empty() {
                let is_turn = self.writable && !self.long.waits();
                return if is_turn { Sent::Turn(total) } else { Sent::Partly(total) };
            }
        }
        if !self.holds.is_empty() {
            self.release(durable);
        }
        if self.holds.is_empty() {
            self.write_replies.clear();
        }
        let limit = if self.holds.is_empty() { self.output.len() } else { self.released };
        while (self.sent < limit || self.transport.wants_write()) && self.writable && total < TURN_BYTES {
            let end = limit.min(self.sent + TURN_BYTES - total);
            let Some(bytes) = self.output.get(self.sent..end) else { break };
            match self.transport.write(bytes) {
                Ok(0) if !bytes.is_empty() => return Sent::Broken,
                Ok(n) => {
                    self.sent += n;
                    total += n;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Sent::Broken,
            }
        }
        let is_waiting = self.transport.wants_write();
        let is_turn = (self.sent < limit || is_waiting) && self.writable;
        if self.sent < self.output.len() {
            self.forget_sent();
        } else {
            self.output.clear();
            self.sent = 0;
            self.released = 0;
            self.holds.clear();
            self.room = Reserved::default();
            if !is_waiting {
                return Sent::Everything(total);
            }
        }
        if is_turn { Sent::Turn(total) } else { Sent::Partly(total) }
    }

    /// Sends of the long reply what is one turn's.
    fn send_long(&mut self, durable: Position) -> io::Result<usize> {
        let mut total = 0;
        if self.long.is_held(durable) {
            return Ok(0);
        }
        while !self.long.is_empty() && self.writable && total < TURN_BYTES {
            match self.long.send(&mut self.transport, TURN_BYTES - total) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => total += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    /// Gives back what is sent of an output that may never be empty: a subscriber's may always have more.
    fn forget_sent(&mut self) {
        if self.sent < FORGET_BYTES || self.sent / FORGET_TIMES < self.unsent() {
            return;
        }
        let gone = std::mem::take(&mut self.sent);
        self.output.drain(..gone);
        self.released = self.released.saturating_sub(gone);
        self.holds.iter_mut().for_each(|(_, end)| *end -= gone.min(*end));
        for (start, end) in &mut self.write_replies {
            (*start, *end) = (start.saturating_sub(gone), end.saturating_sub(gone));
        }
    }

    /// Gives back what an idle connection need not keep.
    pub fn shrink(&mut self) {
        if self.output.is_empty() && self.output.capacity() > KEEP_BYTES {
            self.output = Vec::new();
        }
        if self.input.is_empty() {
            self.input = Vec::new();
            self.parser.shrink();
        }
        if self.write_replies.is_empty() && self.write_replies.capacity() > 64 {
            self.write_replies = Vec::new();
        }
    }

    /// Gives back everything: the connection has nothing under way.
    pub fn release_buffers(&mut self) {
        if self.output.is_empty() {
            self.output = Vec::new();
        }
        self.write_replies = Vec::new();
        self.holds = VecDeque::new();
        self.shrink();
    }

    /// No commit behind this position will be durable: the error takes the place of the replies that wait for one.
    pub fn fail_held(&mut self, durable: Position, error: &[u8]) {
        if !self.holds.is_empty() {
            self.release(durable);
        }
        self.replace_write_replies(error);
        self.holds.clear();
        self.long.release();
    }

    /// Puts the same error in the place of every reply to a write that did not reach the log.
    fn replace_write_replies(&mut self, error: &[u8]) {
        let marks = std::mem::take(&mut self.write_replies);
        let Some((first, _)) = marks.first().copied() else { return };
        let old = self.output.split_off(first.min(self.output.len()));
        let mut at = first;
        for (start, end) in marks {
            self.output.extend_from_slice(old.get(at - first..start - first).unwrap_or(&[]));
            self.output.extend_from_slice(error);
            at = end;
        }
        self.output.extend_from_slice(old.get(at - first..).unwrap_or(&[]));
    }

    /// Whether this limit is to be acted on at once.
    pub fn is_over(&self, limit: &OutputLimit) -> bool {
        limit.hard_bytes != 0 && (self.unsent() + self.late_messages.len()) as u64 >= limit.hard_bytes
    }

    /// Whether the replies that wait are more than this client may have.
    pub fn over_limit(&mut self, limit: &OutputLimit, now: Instant) -> bool {
        let waiting = self.unsent() as u64;
        if self.is_over(limit) {
            return true;
        }
        if limit.soft_bytes == 0 || waiting < limit.soft_bytes {
            self.over_soft_limit_since = None;
            return false;
        }
        let since = *self.over_soft_limit_since.get_or_insert(now);
        now.duration_since(since).as_secs() > limit.soft_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::{Acl, Login};
    use crate::clients::Client;
    use std::io::Read as _;

    fn pair() -> (Connection, std::os::unix::net::UnixStream) {
        let (ours, theirs) = mio::net::UnixStream::pair().unwrap();
        let theirs = std::os::unix::net::UnixStream::from(std::os::fd::OwnedFd::from(theirs));
        theirs.set_nonblocking(true).unwrap();
        let client = Arc::new(Client::new(1, 0, 0, String::new(), String::new(), 0));
        (
            Connection::new(Transport::Unix(ours), Session::new(client, Login::at_connect(&Acl::default()))),
            theirs,
        )
    }

    fn received(theirs: &mut std::os::unix::net::UnixStream) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        match theirs.read(&mut bytes) {
            Ok(n) => bytes.truncate(n),
            Err(_) => bytes.clear(),
        }
        bytes
    }

    #[test]
    fn replies_wait_for_their_own_position_only() {
        let (mut connection, mut theirs) = pair();
        connection.output.extend_from_slice(b"a");
        connection.hold(Position(5));
        connection.output.extend_from_slice(b"b");
        connection.hold(Position(7));
        // Nothing new: the hold of an earlier reply is not prolonged.
        connection.hold(Position(9));
        assert_eq!(connection.send(Position(4)), Sent::Partly(0));
        assert_eq!(received(&mut theirs), b"");
        assert_eq!(connection.send(Position(5)), Sent::Partly(1));
        assert_eq!(received(&mut theirs), b"a");
        connection.output.extend_from_slice(b"c");
        assert_eq!(connection.send(Position(7)), Sent::Everything(2));
        assert_eq!(received(&mut theirs), b"bc");
        assert!(connection.output.is_empty() && connection.holds.is_empty());
    }

    #[test]
    fn a_long_reply_goes_in_turns() {
        let (mut connection, mut theirs) = pair();
        let words: Vec<u8> = (0..20 * TURN_BYTES + 7).map(|n| (n % 251) as u8).collect();
        connection.output.clone_from(&words);
        let (mut seen, mut turns) = (Vec::new(), 0);
        while seen.len() < words.len() {
            match connection.send(Position(0)) {
                Sent::Turn(n) => {
                    assert_eq!(n, TURN_BYTES);
                    turns += 1;
                }
                Sent::Partly(n) => assert!(n < TURN_BYTES),
                Sent::Everything(_) => assert_eq!(connection.unsent(), 0),
                Sent::Broken => panic!("nobody has hung up"),
            }
            let mut bytes = received(&mut theirs);
            while !bytes.is_empty() {
                seen.append(&mut bytes);
                bytes = received(&mut theirs);
            }
            // As the operating system says when there is room again.
            connection.writable = true;
        }
        assert!(seen == words, "what came is what was to be sent");
        assert!(turns > 0);
    }

    #[test]
    fn replies_of_lost_writes_become_errors() {
        let (mut connection, _theirs) = pair();
        connection.output.extend_from_slice(b"+A\r\n:1\r\n+B\r\n:2\r\n+C\r\n");
        connection.write_replies = vec![(4, 8), (12, 16)];
        connection.replace_write_replies(b"-E\r\n");
        assert_eq!(connection.output, b"+A\r\n-E\r\n+B\r\n-E\r\n+C\r\n");
        assert!(connection.write_replies.is_empty());
    }

    #[test]
    fn replies_that_wait_for_a_sync_that_failed_become_errors() {
        let (mut connection, mut theirs) = pair();
        for (position, reply) in [(5, b"+A\r\n"), (7, b"+B\r\n"), (9, b"+C\r\n")] {
            let begin = connection.output.len();
            connection.output.extend_from_slice(reply);
            connection.write_replies.push((begin, connection.output.len()));
            connection.hold(Position(position));
            assert_eq!(connection.send(Position(4)), Sent::Partly(0));
            connection.shrink();
        }
        // The first one is durable and was not sent yet.
        connection.fail_held(Position(5), b"-E\r\n");
        assert_eq!(connection.send(Position(5)), Sent::Everything(12));
        assert_eq!(received(&mut theirs), b"+A\r\n-E\r\n-E\r\n");
    }

    #[test]
    fn limits_cut_off_at_once_or_after_a_while() {
        let (mut connection, _theirs) = pair();
        let limit = OutputLimit { hard_bytes: 10, soft_bytes: 5, soft_secs: 2 };
        let now = Instant::now();
        connection.output = vec![0; 4];
        assert!(!connection.over_limit(&limit, now));
        connection.output = vec![0; 9];
        assert!(!connection.over_limit(&limit, now));
        assert!(!connection.over_limit(&limit, now + std::time::Duration::from_secs(2)));
        assert!(connection.over_limit(&limit, now + std::time::Duration::from_secs(3)));
        connection.output = vec![0; 10];
        assert!(connection.over_limit(&limit, now));
    }
}
