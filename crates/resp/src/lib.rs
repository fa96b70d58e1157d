//! RESP2 and RESP3 on bytes: commands in, replies out. No I/O, no storage.
//!
//! - [`Parser`] finds the commands in what a client sent, without copying their arguments, and
//!   resumes where it stopped when the rest arrives. [`Args`] is the view of one command.
//! - [`encode`] appends replies to a buffer, in either protocol.
//! - [`decode`] reads replies back, for tests and tools, and defines the one-line text in which
//!   the tests write them.
//!
//! The reference for every byte and every word is redis-server 7.0.

mod args;
pub mod decode;
pub mod encode;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod number;
mod parse;

pub use args::{Arg, Args, ArgsIter, OwnedArgs};
pub use error::ProtocolError;
pub use limits::Limits;
pub use parse::{Parsed, Parser};

/// The version of the protocol a connection speaks; HELLO changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    #[default]
    Resp2,
    Resp3,
}
