//! Lua scripts: the machines that run them, what they may see, and which are known.
//!
//! A script reaches the server only through [`Host`]. What it calls becomes part of a transaction, and nothing of it is visible
//! before the commit; so a run can be stopped at any moment and begun again.

pub mod functions;
pub mod library;
pub mod pace;
pub mod running;
pub mod scripts;
pub mod shebang;

mod api;
mod current;
mod entry;
mod random;
mod reply;
mod sha1;
pub mod stack;
mod vm;

use tarn_resp::{Args as Words, Protocol};

pub use functions::Functions;
pub use running::Running;
pub use scripts::Scripts;
pub use vm::{Code, Program, Run, memory_bytes, run};

/// What a script is given by whoever runs it.
pub trait Host {
    /// Runs a command. Its reply, an error too, is appended to `reply` as bytes of this protocol. False where the script must end:
    /// the host knows why.
    fn call(&mut self, words: Words<'_>, protocol: Protocol, reply: &mut Vec<u8>) -> bool;

    /// Whether the script may go on. Asked now and then while it computes.
    fn may_go_on(&mut self) -> bool;

    /// Whether its caller may run a command; None where there is no such command.
    fn may_call(&mut self, words: Words<'_>) -> Option<bool>;

    /// A line for the server's log.
    fn log(&mut self, level: Level, text: &[u8]);
}

/// What the process has one of.
#[derive(Debug, Default)]
pub struct Scripting {
    pub scripts: Scripts,
    pub functions: Functions,
    pub running: Running,
}

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Verbose,
    Notice,
    Warning,
}

/// A run that ended before the script did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The line that it had come to.
    pub line: Option<usize>,
}
