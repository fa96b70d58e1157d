//! Histories: clients do single commands, transactions, scripts and blocking commands on the same few keys at the same time, on both
//! engines, with conflicts, refusals and unknown outcomes injected, and while the server is killed. What they saw must be
//! linearizable: there is an order of all operations that explains every reply, and in which whatever was answered comes before
//! whatever was called later.
//!
//! `TARN_HISTORY_OPS` sets how many operations all tests together do, `TARN_HISTORY_SEED` where they begin.

mod clients;
mod linear;
#[cfg(feature = "long-histories")]
mod long;
mod model;
mod wrong;

use std::time::Instant;

use crate::conn::Conn;
use crate::harness::{Options, Program, Server};
use crate::rng::Rng;
use clients::{Round, Target, name};
use model::Client;

/// What `cargo test` does in all.
const DEFAULT_OPS: usize = 36_000;
const CLIENTS: usize = 6;
/// Of one client in one history.
const ROUND_OPS: usize = 60;

fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn ops() -> usize {
    env_number("TARN_HISTORY_OPS").map_or(DEFAULT_OPS, |n| n as usize)
}

/// Plays and checks rounds until there were so many operations.
fn play(what: &str, target: &dyn Target, ops: usize, round_ops: usize) {
    let base = env_number("TARN_HISTORY_SEED").unwrap_or_else(Rng::fresh_seed);
    println!("history {what}: {ops} operations from seed {base}");
    let (mut done, mut unknown) = (0, 0);
    for seed in base.. {
        if done >= ops {
            break;
        }
        let history = Round::new(target, seed, CLIENTS, round_ops).play();
        done += history.len();
        unknown += history.iter().filter(|op| op.reply.is_none()).count();
        if let Err(violation) = linear::check(&history, &name(seed)) {
            panic!("{what}, seed {seed}: {violation}");
        }
    }
    println!("history {what}: {done} operations, {unknown} of them with an unknown outcome, no violation");
}

/// One server, or several of which each client has one.
struct Nodes<'s>(&'s [Server]);

impl Target for Nodes<'_> {
    fn connect(&self, client: Client) -> (Conn, usize) {
        (self.0[client % self.0.len()].conn(), 0)
    }

    fn dead_by(&self, _: usize) -> Option<Instant> {
        None
    }
}

#[test]
fn one_node() {
    let server = Server::start(Options::new(Program::Rocksdb).with("io-threads", "2"));
    play("one_node", &Nodes(&[server]), ops() / 3, ROUND_OPS);
}
