//! Tarn: a durable, larger-than-memory database that speaks Redis.
//!
//! The way of a request, top to bottom, is the order of the modules:
//!
//! 1. [`server`]: a socket becomes commands; replies become bytes on it again.
//! 2. [`dispatch`]: a command's name becomes its handler; its keys become locks; its transaction is committed.
//! 3. [`commands`]: arguments in, reply out. One file per family.
//! 4. [`types`]: what a string (a hash, a set, ...) is: verbs over a key in a transaction.
//! 5. [`keyspace`]: what a key is: metadata, liveness, type, version, expiry, databases, scanning.
//! 6. [`encoding`]: bytes on disk and nothing else.
//! 7. the engine (crate `tarn-engine`): ordered transactional bytes.
//!
//! Beside the way stand what the process has one of ([`node`]), who is connected ([`clients`]) and who may do
//! what ([`acl`]), the options
//! ([`config`]), who hears of what ([`pubsub`]), other nodes on the same data ([`nodes`]), what is counted ([`metrics`]) and the words of errors and replies.

pub mod server;

pub mod dispatch;

pub mod commands;

pub mod types;

pub mod keyspace;

pub mod encoding;

pub mod acl;
pub mod backup;
pub mod client_memory;
pub mod clients;
pub mod clock;
pub mod config;
pub mod console;
pub mod error;
pub mod fatal;
pub mod glob;
pub mod hotkeys;
pub mod logging;
pub mod metrics;
pub mod migrate;
pub mod node;
pub mod nodes;
pub mod number;
pub mod offline;
pub mod oom_score;
pub mod pidfile;
pub mod ping;
pub mod pubsub;
pub mod rdb;
pub mod reply;
pub mod scripting;
pub mod supervision;
pub mod tls;
pub mod tracking;
pub mod version;

#[cfg(test)]
mod model;
#[cfg(test)]
mod testkit;
