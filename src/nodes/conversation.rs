//! One link as bytes in and bytes out, without a socket: first both sides prove who they are, then frames go both ways.
//!
//! ```text
//! who connects                                   who is connected to
//! "tarnlink" version, both names, a nonce   ->
//!                                           <-   a nonce, a proof
//! a proof                                   ->
//! frames                                   <->   frames
//! ```
//!
//! A frame is the length of its messages (u32), the messages, and a tag ([`super::secret`]). Nothing is read of who has proven nothing
//! but what has a fixed length.

use super::Id;
use super::message::MAX_MESSAGE_LEN;
use super::secret::{End, NONCE_LEN, Nonce, PROOF_LEN, Proof, Seals, Secret, TAG_LEN, Terms};

/// What a link begins with: what it is, and the version of what follows.
const GREETING: [u8; 9] = *b"tarnlink\x01";
const ID_LEN: usize = size_of::<Id>();
const HELLO_LEN: usize = GREETING.len() + 2 * ID_LEN + NONCE_LEN;
const CHALLENGE_LEN: usize = NONCE_LEN + PROOF_LEN;
const LEN_LEN: usize = size_of::<u32>();
/// Longest frame: a message of the greatest length with what stands around it.
pub const MAX_FRAME_LEN: usize = MAX_MESSAGE_LEN + 64;
/// What has been read is moved away from the front from here on.
const COMPACT_FROM: usize = 64 * 1024;

pub struct Conversation {
    own: Id,
    stage: Stage,
    input: Vec<u8>,
    /// How much of the input has been read.
    read: usize,
    /// What is to be sent.
    pub output: Vec<u8>,
}

enum Stage {
    /// Has said hello; waits for the challenge.
    Greeted {
        to: Id,
        nonce: Nonce,
    },
    /// Waits for a hello.
    Expecting {
        nonce: Nonce,
    },
    /// Has sent a challenge; waits for the proof.
    Challenged(Box<Terms>),
    Open {
        sending: Box<Seals>,
        receiving: Box<Seals>,
    },
}

/// Something has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Who is at the other side has been proven.
    Open(Id),
    /// The messages of a frame.
    Frame(Vec<u8>),
}

/// Why a link is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("it does not speak this protocol")]
    Greeting,
    #[error("it looks for another node")]
    WrongNode,
    #[error("it does not know the secret of this data")]
    Proof,
    #[error("a frame is too long")]
    TooLong,
    #[error("a frame was changed on its way")]
    Tag,
}

impl Conversation {
    /// With a node that was connected to.
    pub fn begin(own: Id, to: Id, nonce: Nonce) -> Conversation {
        let output = [&GREETING[..], &own, &to, &nonce].concat();
        Conversation { own, stage: Stage::Greeted { to, nonce }, input: Vec::new(), read: 0, output }
    }

    /// With whoever has connected.
    pub fn expect(own: Id, nonce: Nonce) -> Conversation {
        let (stage, input, output) = (Stage::Expecting { nonce }, Vec::new(), Vec::new());
        Conversation { own, stage, input, read: 0, output }
    }

    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open { .. })
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// What has come, one after the other; None where more has to come first.
    pub fn next(&mut self, secret: &Secret) -> Result<Option<Event>, Broken> {
        let waiting = self.input.get(self.read..).unwrap_or_default();
        let (used, event) = match &mut self.stage {
            Stage::Open { receiving, .. } => {
                let Some((used, frame)) = take_frame(waiting, receiving)? else { return Ok(None) };
                (used, Some(Event::Frame(frame.to_vec())))
            }
            Stage::Expecting { nonce } => {
                // Whoever speaks something else is told apart by its first bytes.
                if waiting.iter().zip(&GREETING).any(|(came, wanted)| came != wanted) {
                    return Err(Broken::Greeting);
                }
                let Some(hello) = waiting.first_chunk::<HELLO_LEN>() else { return Ok(None) };
                let terms = read_hello(hello, *nonce).ok_or(Broken::Greeting)?;
                if terms.to != self.own {
                    return Err(Broken::WrongNode);
                }
                self.output.extend_from_slice(nonce);
                self.output.extend_from_slice(&secret.prove(End::To, &terms));
                self.stage = Stage::Challenged(Box::new(terms));
                (HELLO_LEN, None)
            }
            Stage::Greeted { to, nonce } => {
                let Some(challenge) = waiting.first_chunk::<CHALLENGE_LEN>() else { return Ok(None) };
                let (to_nonce, proof) = read_challenge(challenge).ok_or(Broken::Greeting)?;
                let terms = Terms { from: self.own, to: *to, from_nonce: *nonce, to_nonce };
                if !secret.is_proven(End::To, &terms, &proof) {
                    return Err(Broken::Proof);
                }
                self.output.extend_from_slice(&secret.prove(End::From, &terms));
                self.stage = open(secret, End::From, &terms);
                (CHALLENGE_LEN, Some(Event::Open(terms.to)))
            }
            Stage::Challenged(terms) => {
                let Some(proof) = waiting.first_chunk::<PROOF_LEN>() else { return Ok(None) };
                if !secret.is_proven(End::From, terms, proof) {
                    return Err(Broken::Proof);
                }
                let from = terms.from;
                self.stage = open(secret, End::To, terms);
                (PROOF_LEN, Some(Event::Open(from)))
            }
        };
        self.read += used;
        if self.read == self.input.len() || self.read >= COMPACT_FROM {
            self.input.drain(..self.read);
            self.read = 0;
        }
        match event {
            Some(event) => Ok(Some(event)),
            // The next part may be there already.
            None => self.next(secret),
        }
    }

    /// Sends messages. False before the other side has proven who it is.
    pub fn send(&mut self, messages: &[u8]) -> bool {
        let Stage::Open { sending, .. } = &mut self.stage else { return false };
        self.output.extend_from_slice(&(messages.len() as u32).to_be_bytes());
        self.output.extend_from_slice(messages);
        self.output.extend_from_slice(&sending.next(messages));
        true
    }
}

fn open(secret: &Secret, own: End, terms: &Terms) -> Stage {
    Stage::Open {
        sending: Box::new(secret.seals(own, terms)),
        receiving: Box::new(secret.seals(own.other(), terms)),
    }
}

fn take_frame<'a>(waiting: &'a [u8], seals: &mut Seals) -> Result<Option<(usize, &'a [u8])>, Broken> {
    let Some((len, rest)) = waiting.split_first_chunk::<LEN_LEN>() else { return Ok(None) };
    let len = u32::from_be_bytes(*len) as usize;
    if len > MAX_FRAME_LEN {
        return Err(Broken::TooLong);
    }
    let Some((frame, rest)) = rest.split_at_checked(len) else { return Ok(None) };
    let Some(tag) = rest.get(..TAG_LEN) else { return Ok(None) };
    if !seals.is_next(frame, tag) {
        return Err(Broken::Tag);
    }
    Ok(Some((LEN_LEN + len + TAG_LEN, frame)))
}

fn read_hello(hello: &[u8; HELLO_LEN], to_nonce: Nonce) -> Option<Terms> {
    let rest = hello.strip_prefix(&GREETING)?;
    let (from, rest) = rest.split_first_chunk::<ID_LEN>()?;
    let (to, rest) = rest.split_first_chunk::<ID_LEN>()?;
    let from_nonce = rest.first_chunk::<NONCE_LEN>()?;
    Some(Terms { from: *from, to: *to, from_nonce: *from_nonce, to_nonce })
}

fn read_challenge(challenge: &[u8; CHALLENGE_LEN]) -> Option<(Nonce, Proof)> {
    let (nonce, rest) = challenge.split_first_chunk::<NONCE_LEN>()?;
    Some((*nonce, *rest.first_chunk::<PROOF_LEN>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::nodes::secret::SECRET_LEN;

    const A: Id = [b'a'; 40];
    const B: Id = [b'b'; 40];

    fn secret(byte: u8) -> Secret {
        Secret::new(&[byte; SECRET_LEN])
    }

    /// Carries what one has to say to the other, in pieces.
    fn carry(from: &mut Conversation, to: &mut Conversation, secret: &Secret, piece: usize) -> Vec<Event> {
        let bytes = std::mem::take(&mut from.output);
        let mut events = Vec::new();
        for piece in bytes.chunks(piece) {
            to.feed(piece);
            while let Some(event) = to.next(secret).unwrap() {
                events.push(event);
            }
        }
        events
    }

    fn opened(secret: &Secret, piece: usize) -> (Conversation, Conversation) {
        let mut from = Conversation::begin(A, B, [1; NONCE_LEN]);
        let mut to = Conversation::expect(B, [2; NONCE_LEN]);
        assert!(carry(&mut from, &mut to, secret, piece).is_empty());
        assert!(!to.send(b"too early") && !from.send(b"too early"));
        assert_eq!(carry(&mut to, &mut from, secret, piece), [Event::Open(B)]);
        // Who was connected to is proven; it may be talked to at once.
        assert!(from.send(b"first"));
        let events = carry(&mut from, &mut to, secret, piece);
        assert_eq!(events, [Event::Open(A), Event::Frame(b"first".to_vec())]);
        assert!(from.is_open() && to.is_open());
        (from, to)
    }

    #[test]
    fn two_nodes_open_a_link_and_talk_both_ways() {
        for piece in [1, 7, 4_096] {
            let secret = secret(7);
            let (mut from, mut to) = opened(&secret, piece);
            let long = vec![b'x'; 200_000];
            assert!(from.send(&long) && from.send(b"") && to.send(b"back"));
            let events = carry(&mut from, &mut to, &secret, piece);
            assert_eq!(events, [Event::Frame(long), Event::Frame(Vec::new())]);
            assert_eq!(carry(&mut to, &mut from, &secret, piece), [Event::Frame(b"back".to_vec())]);
        }
    }

    #[test]
    fn who_does_not_know_the_secret_is_found_out_on_either_side() {
        let (right, wrong) = (secret(7), secret(8));
        let mut from = Conversation::begin(A, B, [1; NONCE_LEN]);
        let mut to = Conversation::expect(B, [2; NONCE_LEN]);
        carry(&mut from, &mut to, &wrong, 99);
        from.feed(&to.output);
        assert_eq!(from.next(&right), Err(Broken::Proof));
        let mut from = Conversation::begin(A, B, [1; NONCE_LEN]);
        let mut to = Conversation::expect(B, [2; NONCE_LEN]);
        carry(&mut from, &mut to, &right, 99);
        to.feed(&[0; PROOF_LEN]);
        assert_eq!(to.next(&right), Err(Broken::Proof));
        // What was heard once serves nobody again.
        let mut from = Conversation::begin(A, B, [1; NONCE_LEN]);
        let heard_hello = from.output.clone();
        let mut to = Conversation::expect(B, [2; NONCE_LEN]);
        carry(&mut from, &mut to, &right, 99);
        carry(&mut to, &mut from, &right, 99);
        let heard_proof = from.output.clone();
        let mut again = Conversation::expect(B, [3; NONCE_LEN]);
        again.feed(&heard_hello);
        assert_eq!(again.next(&right), Ok(None));
        again.feed(&heard_proof);
        assert_eq!(again.next(&right), Err(Broken::Proof));
    }

    #[test]
    fn strangers_are_told_apart_by_their_first_bytes() {
        let mut to = Conversation::expect(B, [2; NONCE_LEN]);
        to.feed(b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(to.next(&secret(7)), Err(Broken::Greeting));
        let mut to = Conversation::expect(A, [2; NONCE_LEN]);
        to.feed(&Conversation::begin(A, B, [1; NONCE_LEN]).output);
        assert_eq!(to.next(&secret(7)), Err(Broken::WrongNode));
    }

    #[test]
    fn frames_are_limited_and_cannot_be_changed() {
        let secret = secret(7);
        let (mut from, mut to) = opened(&secret, 4_096);
        let longest = vec![b'x'; MAX_FRAME_LEN];
        assert!(from.send(&longest));
        assert_eq!(carry(&mut from, &mut to, &secret, 1 << 20), [Event::Frame(longest)]);
        to.feed(&(MAX_FRAME_LEN as u32 + 1).to_be_bytes());
        assert_eq!(to.next(&secret), Err(Broken::TooLong));
        let (mut from, mut to) = opened(&secret, 4_096);
        from.send(b"message");
        from.output[5] ^= 1;
        to.feed(&from.output);
        assert_eq!(to.next(&secret), Err(Broken::Tag));
    }

    proptest! {
        /// Whatever comes, nothing panics, and nothing opens.
        #[test]
        fn any_bytes_are_refused_or_waited_for(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            greets: bool,
            is_asked: bool,
        ) {
            let secret = secret(7);
            let mut link = match is_asked {
                true => Conversation::expect(B, [2; NONCE_LEN]),
                false => Conversation::begin(A, B, [1; NONCE_LEN]),
            };
            if greets && is_asked {
                link.feed(&GREETING);
            }
            link.feed(&bytes);
            prop_assert!(!matches!(link.next(&secret), Ok(Some(_))));
            prop_assert!(!link.is_open());
        }

        #[test]
        fn any_frame_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let secret = secret(7);
            let (_, mut to) = opened(&secret, 4_096);
            to.feed(&bytes);
            prop_assert!(!matches!(to.next(&secret), Ok(Some(_))));
        }
    }
}
