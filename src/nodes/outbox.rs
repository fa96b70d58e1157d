//! What waits to be sent to one node. It has a limit: whoever has something to tell never waits for a network.

use std::collections::VecDeque;

use super::message::{MAX_MESSAGE_LEN, Message};

/// Bytes that may wait for a node. What comes then is dropped.
pub const MAX_WAITING_BYTES: usize = 64 << 20;
/// Messages go together in frames of about this length.
const FRAME_LEN: usize = 64 * 1024;

#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<Frame>,
    bytes: usize,
    /// A change of a key was dropped: the other side has to be told that it does not know what.
    has_lost_changes: bool,
}

/// Messages that go together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub bytes: Vec<u8>,
    /// How many these are.
    pub messages: u64,
}

/// What becomes of a message that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing: it is delivered at most once.
    Harmless,
    /// Somebody might go on to use what it has cached.
    Told,
}

impl Outbox {
    /// Whether there was room.
    pub fn push(&mut self, message: &[u8], loss: Loss) -> bool {
        if message.len() > MAX_MESSAGE_LEN || self.bytes + message.len() > MAX_WAITING_BYTES {
            self.has_lost_changes |= loss == Loss::Told;
            return false;
        }
        self.bytes += message.len();
        match self.frames.back_mut() {
            Some(last) if last.bytes.len() + message.len() <= FRAME_LEN => {
                last.bytes.extend_from_slice(message);
                last.messages += 1;
            }
            _ => self.frames.push_back(Frame { bytes: message.to_vec(), messages: 1 }),
        }
        true
    }

    pub fn pop(&mut self) -> Option<Frame> {
        if std::mem::take(&mut self.has_lost_changes) {
            return Some(Frame { bytes: Message::Anything.encoded(), messages: 1 });
        }
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.bytes.len();
        Some(frame)
    }

    /// The link is broken: nothing of it will be sent. How many messages these were.
    pub fn clear(&mut self) -> u64 {
        let dropped = self.frames.iter().map(|frame| frame.messages).sum();
        *self = Outbox::default();
        dropped
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn popped(outbox: &mut Outbox) -> Vec<(usize, u64)> {
        std::iter::from_fn(|| outbox.pop()).map(|frame| (frame.bytes.len(), frame.messages)).collect()
    }

    #[test]
    fn small_messages_go_together_and_in_order() {
        let mut outbox = Outbox::default();
        for n in 0..3_u8 {
            assert!(outbox.push(&[n; 10], Loss::Harmless));
        }
        assert!(outbox.push(&vec![9; FRAME_LEN], Loss::Harmless));
        assert!(outbox.push(b"x", Loss::Harmless));
        assert_eq!(outbox.bytes(), 31 + FRAME_LEN);
        let first = outbox.pop().unwrap();
        assert_eq!(first.bytes, [[0; 10], [1; 10], [2; 10]].concat());
        assert_eq!(popped(&mut outbox), [(FRAME_LEN, 1), (1, 1)]);
        assert_eq!((outbox.bytes(), outbox.pop()), (0, None));
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_lost_changes_are_told() {
        let mut outbox = Outbox::default();
        let large = vec![1; MAX_MESSAGE_LEN];
        for _ in 0..MAX_WAITING_BYTES / MAX_MESSAGE_LEN {
            assert!(outbox.push(&large, Loss::Harmless));
        }
        assert!(!outbox.push(b"x", Loss::Harmless));
        assert_eq!(outbox.pop().unwrap().bytes.len(), MAX_MESSAGE_LEN);
        assert!(outbox.push(b"x", Loss::Harmless));
        assert!(!outbox.push(&large, Loss::Told));
        assert_eq!(outbox.pop().unwrap().bytes, Message::Anything.encoded());
        assert_eq!(popped(&mut outbox).len(), 4);
        assert!(!outbox.push(&vec![1; MAX_MESSAGE_LEN + 1], Loss::Harmless), "too long for a frame");
        assert!(outbox.push(b"x", Loss::Harmless) && outbox.push(b"y", Loss::Told));
        assert_eq!((outbox.clear(), outbox.pop()), (2, None));
    }
}
