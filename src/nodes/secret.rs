//! How two nodes prove to each other that they read the same data, and how what they say is told from what anybody else says.
//!
//! Both know a secret that is kept on the cluster. Each chooses a random number for the connection and answers the other's: an HMAC over
//! both numbers, both names and its own part in it, so that no answer serves a second time, for another pair or in the other direction.
//! Keys for the connection are made the same way. Each frame has a tag by them that counts frames: none can be changed, left out, added
//! or repeated. Nothing is encrypted.

use ring::hmac::{self, HMAC_SHA256, Key};
use subtle::ConstantTimeEq as _;

use super::Id;

pub const SECRET_LEN: usize = 32;
pub const NONCE_LEN: usize = 32;
pub const PROOF_LEN: usize = 32;
/// Bytes of an HMAC that a frame carries.
pub const TAG_LEN: usize = 16;

pub type Nonce = [u8; NONCE_LEN];
pub type Proof = [u8; PROOF_LEN];

pub struct Secret(Key);

/// What both sides of a connection know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Who has connected, and to whom.
    pub from: Id,
    pub to: Id,
    pub from_nonce: Nonce,
    pub to_nonce: Nonce,
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Who has connected.
    From,
    To,
}

impl End {
    pub fn other(self) -> End {
        match self {
            End::From => End::To,
            End::To => End::From,
        }
    }
}

impl Secret {
    pub fn new(bytes: &[u8; SECRET_LEN]) -> Secret {
        Secret(Key::new(HMAC_SHA256, bytes))
    }

    fn of(&self, purpose: &str, end: End, terms: &Terms) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(purpose.as_bytes());
        context.update(&[end as u8]);
        for part in [&terms.from[..], &terms.to, &terms.from_nonce, &terms.to_nonce] {
            context.update(part);
        }
        context.sign()
    }

    /// What only who knows the secret can say at this end of this connection.
    pub fn prove(&self, end: End, terms: &Terms) -> Proof {
        let mut proof = [0; PROOF_LEN];
        proof.copy_from_slice(self.of("tarn link proof 1", end, terms).as_ref());
        proof
    }

    pub fn is_proven(&self, end: End, terms: &Terms, proof: &Proof) -> bool {
        let right = self.of("tarn link proof 1", end, terms);
        right.as_ref().ct_eq(proof).into()
    }

    /// What frames from one end are sealed with.
    pub fn seals(&self, end: End, terms: &Terms) -> Seals {
        let key = self.of("tarn link frames 1", end, terms);
        Seals { key: Key::new(HMAC_SHA256, key.as_ref()), count: 0 }
    }
}

/// Tags of frames in one direction, one after the other.
pub struct Seals {
    key: Key,
    count: u64,
}

impl Seals {
    /// The tag of the next frame.
    pub fn next(&mut self, frame: &[u8]) -> [u8; TAG_LEN] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&self.count.to_be_bytes());
        context.update(frame);
        self.count += 1;
        let (mut tag, whole) = ([0; TAG_LEN], context.sign());
        tag.iter_mut().zip(whole.as_ref()).for_each(|(byte, whole)| *byte = *whole);
        tag
    }

    /// Whether this is the next frame.
    pub fn is_next(&mut self, frame: &[u8], tag: &[u8]) -> bool {
        self.next(frame).ct_eq(tag).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms { from: [b'a'; 40], to: [b'b'; 40], from_nonce: [1; NONCE_LEN], to_nonce: [2; NONCE_LEN] }
    }

    #[test]
    fn a_proof_is_good_for_one_end_of_one_connection() {
        let (secret, other) = (Secret::new(&[7; SECRET_LEN]), Secret::new(&[8; SECRET_LEN]));
        let proof = secret.prove(End::From, &terms());
        assert!(secret.is_proven(End::From, &terms(), &proof));
        assert!(!secret.is_proven(End::To, &terms(), &proof));
        assert!(!other.is_proven(End::From, &terms(), &proof));
        let changed: [fn(&mut Terms); 4] = [
            |terms| terms.from = [b'c'; 40],
            |terms| terms.to = [b'c'; 40],
            |terms| terms.from_nonce = [3; NONCE_LEN],
            |terms| terms.to_nonce = [3; NONCE_LEN],
        ];
        for change in changed {
            let mut terms = terms();
            change(&mut terms);
            assert!(!secret.is_proven(End::From, &terms, &proof), "{terms:?}");
        }
    }

    #[test]
    fn frames_cannot_be_changed_repeated_left_out_or_turned_round() {
        let secret = Secret::new(&[7; SECRET_LEN]);
        let seals = |end| secret.seals(end, &terms());
        let (mut sent, mut back) = (seals(End::From), seals(End::To));
        let (first, second) = (sent.next(b"one"), sent.next(b"two"));
        let mut received = seals(End::From);
        assert!(received.is_next(b"one", &first) && received.is_next(b"two", &second));
        assert!(!received.is_next(b"two", &second), "repeated");
        assert!(!seals(End::From).is_next(b"two", &second), "one left out");
        assert!(!seals(End::From).is_next(b"One", &first), "changed");
        assert!(!back.is_next(b"one", &first), "sent back");
        assert!(!seals(End::From).is_next(b"one", &first[..15]), "cut off");
        assert!(!seals(End::From).is_next(b"one", b""));
    }
}
