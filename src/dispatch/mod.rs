//! From a command's words to its handler and back: what the command is, whether it may run, which keys it locks, and
//! how its transaction is committed.

pub mod args;
pub mod execute;
pub mod gate;
pub mod locks;
pub mod monitor;
pub mod redact;
pub mod registry;
pub mod session;
pub mod spec;
pub mod together;
pub mod warm;
pub mod watch;
