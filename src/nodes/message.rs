//! What nodes say to each other, as bytes. A frame holds some messages, one behind the other.

use super::interest::Interest;
use crate::encoding::{Cursor, Malformed};
use crate::pubsub::{CHANNELS_LEN, Channels, Kind};

/// Longest message that is sent to another node. A longer one is for the subscribers of its own node only.
pub const MAX_MESSAGE_LEN: usize = 16 << 20;

/// First bytes of messages. A part of the protocol; never reused.
mod tag {
    pub const PUBLISHED: u8 = 1;
    pub const CHANGED: u8 = 2;
    pub const DATABASE: u8 = 3;
    pub const ANYTHING: u8 = 4;
    pub const INTEREST: u8 = 5;
    pub const HEARD: u8 = 6;
    pub const ALIVE: u8 = 7;
    pub const LOOK: u8 = 8;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// For who subscribes.
    Published { kind: Kind, channel: &'a [u8], message: &'a [u8] },
    /// A key was changed; whether it may be gone.
    Changed { db: u16, may_be_gone: bool, key: &'a [u8] },
    /// Everything in a database was exchanged.
    Database { db: u16 },
    /// Some changes could not be told: any key may have been changed.
    Anything,
    /// What the sender has somebody for, by a number that grows.
    Interest { number: u64, interest: Interest },
    /// The interest of this number counts from now on.
    Heard { number: u64 },
    /// Nothing, so that the other side knows that somebody is there.
    Alive,
    /// Something stands in the rows of the nodes that should be seen soon.
    Look,
}

impl Message<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Published { kind, channel, message } => {
                out.extend_from_slice(&[tag::PUBLISHED, u8::from(*kind == Kind::Shard)]);
                push(out, channel);
                push(out, message);
            }
            Message::Changed { db, may_be_gone, key } => {
                out.extend_from_slice(&[tag::CHANGED, u8::from(*may_be_gone)]);
                out.extend_from_slice(&db.to_be_bytes());
                push(out, key);
            }
            Message::Database { db } => {
                out.push(tag::DATABASE);
                out.extend_from_slice(&db.to_be_bytes());
            }
            Message::Anything => out.push(tag::ANYTHING),
            Message::Interest { number, interest } => {
                out.push(tag::INTEREST);
                out.extend_from_slice(&number.to_be_bytes());
                out.push(interest.flags());
                interest.channels.encode(out);
            }
            Message::Heard { number } => {
                out.push(tag::HEARD);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Message::Alive => out.push(tag::ALIVE),
            Message::Look => out.push(tag::LOOK),
        }
    }

    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    // What does not fit was refused before.
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// The messages of a frame. The first that does not read ends it.
pub struct Messages<'a>(pub &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut cursor = Cursor(self.0);
        let read = read(&mut cursor);
        self.0 = if read.is_ok() { cursor.0 } else { &[] };
        Some(read)
    }
}

fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Message<'a>, Malformed> {
    Ok(match cursor.u8("kind of a message")? {
        tag::PUBLISHED => {
            let kind = if flag(cursor)? { Kind::Shard } else { Kind::Channel };
            Message::Published { kind, channel: bytes(cursor)?, message: bytes(cursor)? }
        }
        tag::CHANGED => {
            let may_be_gone = flag(cursor)?;
            Message::Changed { may_be_gone, db: cursor.u16("database of a change")?, key: bytes(cursor)? }
        }
        tag::DATABASE => Message::Database { db: cursor.u16("number of a database")? },
        tag::ANYTHING => Message::Anything,
        tag::INTEREST => {
            let (number, flags) = (cursor.u64("number of an interest")?, cursor.u8("flags of an interest")?);
            let channels = Channels::decode(&cursor.array::<CHANNELS_LEN>("channels of an interest")?);
            Message::Interest { number, interest: Interest::of(flags, channels) }
        }
        tag::HEARD => Message::Heard { number: cursor.u64("number of an interest")? },
        tag::ALIVE => Message::Alive,
        tag::LOOK => Message::Look,
        _ => return Err(Malformed("a kind of message that this version does not know")),
    })
}

fn flag(cursor: &mut Cursor<'_>) -> Result<bool, Malformed> {
    match cursor.u8("flag of a message")? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed("flag of a message")),
    }
}

fn bytes<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Malformed> {
    let len = cursor.u32("length in a message")? as usize;
    let (bytes, rest) = cursor.0.split_at_checked(len).ok_or(Malformed("length in a message"))?;
    cursor.0 = rest;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<Message<'_>>, Malformed> {
        Messages(bytes).collect()
    }

    #[test]
    fn golden_bytes() {
        let message = Message::Published { kind: Kind::Shard, channel: b"c", message: b"hi" };
        assert_eq!(message.encoded(), b"\x01\x01\0\0\0\x01c\0\0\0\x02hi");
        let message = Message::Changed { db: 3, may_be_gone: true, key: b"k" };
        assert_eq!(message.encoded(), b"\x02\x01\0\x03\0\0\0\x01k");
        assert_eq!(Message::Heard { number: 258 }.encoded(), b"\x06\0\0\0\0\0\0\x01\x02");
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_refused() {
        let mut channels = Channels::default();
        channels.set(9, true);
        let interest = Interest { trackers: true, channels, ..Interest::default() };
        let messages = [
            Message::Published { kind: Kind::Channel, channel: b"c", message: b"" },
            Message::Changed { db: 1, may_be_gone: false, key: b"key" },
            Message::Database { db: 9 },
            Message::Anything,
            Message::Interest { number: 7, interest },
            Message::Heard { number: 7 },
            Message::Alive,
            Message::Look,
        ];
        let mut frame = Vec::new();
        messages.iter().for_each(|message| message.encode(&mut frame));
        assert_eq!(all(&frame).unwrap(), messages);
        for message in &messages {
            let bytes = message.encoded();
            for len in 1..bytes.len() {
                assert!(all(&bytes[..len]).is_err(), "{message:?} cut off at {len}");
            }
        }
        for wrong in
            [&b"\0"[..], b"\x09", b"\xff", b"\x01\x02\0\0\0\0\0\0\0\0", b"\x02\0\0\0\xff\xff\xff\xff"]
        {
            assert!(all(wrong).is_err(), "{wrong:?}");
        }
        // What came before it counts.
        let mut frame = Messages(b"\x04\x09\x04");
        assert_eq!(frame.next(), Some(Ok(Message::Anything)));
        assert!(frame.next().is_some_and(|second| second.is_err()));
        assert_eq!(frame.next(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
            let mut written = Vec::new();
            for message in Messages(&bytes) {
                match message {
                    Ok(message) => message.encode(&mut written),
                    Err(_) => break,
                }
            }
            // What was read is what is written, but for flags of later versions.
            prop_assert!(written.len() <= bytes.len());
        }

        #[test]
        fn messages_are_read_back(
            db: u16,
            gone: bool,
            key in proptest::collection::vec(any::<u8>(), 0..99),
            message in proptest::collection::vec(any::<u8>(), 0..99),
        ) {
            let kind = if gone { Kind::Shard } else { Kind::Channel };
            let said = [
                Message::Changed { db, may_be_gone: gone, key: &key },
                Message::Published { kind, channel: &key, message: &message },
            ];
            let mut frame = Vec::new();
            said.iter().for_each(|message| message.encode(&mut frame));
            prop_assert_eq!(all(&frame).unwrap(), said);
        }
    }
}
