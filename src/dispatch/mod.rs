//! From calls to a commit: what a command is, whether it may run, which keys it locks, which rows it will read, and how
//! a unit of calls becomes one transaction.

mod ahead;
pub mod args;
pub mod caller;
pub mod effects;
pub mod executor;
pub mod fieldsets;
pub mod gate;
pub mod hints;
pub mod locks;
pub mod lookahead;
pub mod monitor;
pub mod multi;
pub mod redact;
pub mod registry;
pub mod script;
pub mod session;
pub mod spec;
pub mod stats;
mod transaction;
pub mod unit;
pub mod waiters;
pub mod watches;
