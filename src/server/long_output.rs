//! A long reply on its way to a client: chunks that go one by one as they are sent, and the room that is set aside for them.

use std::collections::VecDeque;
use std::io;

use tarn_engine::Position;

use super::transport::Transport;
use crate::client_memory::Reserved;
use crate::dispatch::executor::LongReply;
use crate::reply::Chunks;

#[derive(Default)]
pub struct LongOutput {
    chunks: VecDeque<Vec<u8>>,
    /// How much of the first one is sent.
    sent: usize,
    /// Bytes of all that are to be sent.
    unsent: usize,
    room: Reserved,
    /// No round has ended since it came.
    is_new: bool,
    /// What it tells must be durable up to here.
    hold: Option<Position>,
}

impl LongOutput {
    /// `before` comes first, of which so much is sent already.
    pub fn new(before: Vec<u8>, sent: usize, head: Vec<u8>, long: LongReply) -> LongOutput {
        let mut chunks: VecDeque<Vec<u8>> = [before, head].into();
        chunks.extend(long.chunks);
        let unsent = chunks.iter().map(Vec::len).sum::<usize>() - sent;
        let mut output =
            LongOutput { chunks, sent, unsent, room: long.reserved, is_new: true, ..LongOutput::default() };
        output.drop_sent();
        output
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub fn unsent(&self) -> usize {
        self.unsent
    }

    /// It waits until this is durable, unless it has waited for a round's end before.
    pub fn hold(&mut self, position: Position) {
        if std::mem::take(&mut self.is_new) && !self.is_empty() {
            self.hold = Some(position);
        }
    }

    /// Nothing more will be durable.
    pub fn release(&mut self) {
        self.hold = None;
    }

    /// Whether it has to wait.
    pub fn is_held(&mut self, durable: Position) -> bool {
        self.is_new = false;
        self.hold = self.hold.filter(|position| *position > durable);
        self.hold.is_some()
    }

    pub fn waits(&self) -> bool {
        self.hold.is_some()
    }

    /// Sends up to so many bytes of the first chunk with one call; how many it were.
    pub fn send(&mut self, transport: &mut Transport, most: usize) -> io::Result<usize> {
        let Some(rest) = self.chunks.front().and_then(|chunk| chunk.get(self.sent..)) else { return Ok(0) };
        let sent = transport.write(rest.get(..most).unwrap_or(rest))?;
        self.sent += sent;
        self.unsent -= sent;
        self.drop_sent();
        Ok(sent)
    }

    /// A chunk that is sent goes, and its room with it.
    fn drop_sent(&mut self) {
        while self.chunks.front().is_some_and(|chunk| chunk.len() <= self.sent) {
            self.sent -= self.chunks.pop_front().map_or(0, |chunk| chunk.len());
            self.room.shrink_to(self.unsent);
        }
        if self.is_empty() {
            *self = LongOutput::default();
        }
    }

    /// What is left, for whoever frees it.
    pub fn take(&mut self) -> Chunks {
        std::mem::take(self).chunks.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn chunks_go_as_they_are_sent() {
        let (ours, mut theirs) = mio::net::UnixStream::pair().unwrap();
        let mut transport = Transport::Unix(ours);
        let chunks = vec![b"12345".to_vec(), Vec::new(), b"678".to_vec()];
        let long = LongReply { chunks, ..LongReply::default() };
        let mut output = LongOutput::new(b"before".to_vec(), 4, b"$8".to_vec(), long);
        assert_eq!(output.unsent(), 2 + 2 + 8);
        let (mut seen, mut calls) = (Vec::new(), 0);
        while !output.is_empty() {
            assert!(output.send(&mut transport, 3).unwrap() <= 3);
            calls += 1;
        }
        let mut bytes = [0; 64];
        let n = theirs.read(&mut bytes).unwrap();
        seen.extend_from_slice(&bytes[..n]);
        assert_eq!(seen, b"re$812345678");
        assert_eq!((calls, output.unsent()), (5, 0));
    }

    #[test]
    fn it_waits_for_the_round_that_it_came_in() {
        let long = || LongReply { chunks: vec![b"x".to_vec()], ..LongReply::default() };
        let mut output = LongOutput::new(Vec::new(), 0, Vec::new(), long());
        output.hold(Position(5));
        output.hold(Position(9));
        assert!(output.is_held(Position(4)) && output.waits());
        assert!(!output.is_held(Position(5)));
        let mut output = LongOutput::new(Vec::new(), 0, Vec::new(), long());
        assert!(!output.is_held(Position(0)), "nothing was written in its round");
        output.hold(Position(9));
        assert!(!output.is_held(Position(0)));
    }
}
