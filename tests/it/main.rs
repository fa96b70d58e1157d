//! All integration tests, one binary.
//!
//! * [`harness`] starts servers as child processes; [`conn`] is the client, [`value`] what it reads.
//! * [`check`] runs wire lines: commands and the exact replies to them, over every engine and both protocols.
//!   With `TARN_CHECK_AGAINST=redis` the same lines run against redis-server, which is how they are verified.
//!   With `TARN_CHECK_TLS=yes` every connection to Tarn is one over TLS.
//! * One file per command family holds its lines.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod acl;
mod backup;
mod bits;
mod blocking;
mod certs;
mod check;
mod churn;
mod cluster;
mod command;
mod conditional;
mod configs;
mod conn;
mod connection;
mod counter;
mod crash;
mod damage;
mod diff;
mod dump;
mod eviction;
mod exhash;
mod expire;
mod failing;
mod format;
mod full;
mod function;
mod geo;
mod harness;
mod hash;
mod hash_expire;
mod history;
mod hyperloglog;
mod increx;
mod keys;
mod lcs;
mod limits;
#[cfg(feature = "tikv")]
mod links;
mod list;
mod loading;
mod memory;
mod migrate;
#[cfg(feature = "tikv")]
mod nodes;
mod notify;
mod offline;
mod panics;
mod pattern;
mod pipeline;
mod protocol;
mod pubsub;
mod rng;
mod scan;
mod scripting;
mod server;
mod set;
mod set_algebra;
mod sort;
mod startup;
mod stream;
mod string;
mod tables;
mod tidy;
#[cfg(feature = "tikv")]
mod tikv;
mod tls;
mod tracking;
mod transaction;
mod value;
mod zset;
