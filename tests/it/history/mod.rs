//! Histories: clients do single commands, transactions, scripts and blocking commands on the same few keys at the same time, on both
//! engines, with conflicts, refusals and unknown outcomes injected, and while the server is killed. What they saw must be
//! linearizable: there is an order of all operations that explains every reply, and in which whatever was answered comes before
//! whatever was called later.
//!
//! `TARN_HISTORY_OPS` sets how many operations all tests together do, `TARN_HISTORY_SEED` where they begin.

mod broken;
mod clients;
mod linear;
mod model;
#[cfg(feature = "tikv")]
mod nodes;
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
/// Between two lines of progress.
const PROGRESS_OPS: usize = 2_000;

fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn ops() -> usize {
    env_number("TARN_HISTORY_OPS").map_or(DEFAULT_OPS, |n| n as usize)
}

/// Plays and checks rounds until there were so many operations.
fn play(what: &str, target: &dyn Target, ops: usize, clients: usize) {
    play_and(what, target, ops, clients, |_| {});
}

/// The same; `amend` may take back what a history says.
fn play_and(
    what: &str,
    target: &dyn Target,
    ops: usize,
    clients: usize,
    amend: impl Fn(&mut Vec<linear::Op>),
) {
    play_from(seed(), what, target, ops, clients, amend);
}

/// Where the rounds of a test begin.
fn seed() -> u64 {
    env_number("TARN_HISTORY_SEED").unwrap_or_else(Rng::fresh_seed)
}

/// What was played.
#[derive(Debug, Default)]
struct Played {
    ops: usize,
    unknown: usize,
    longest_ms: u64,
}

/// Rounds from this seed on.
fn play_from(
    base: u64,
    what: &str,
    target: &dyn Target,
    ops: usize,
    clients: usize,
    amend: impl Fn(&mut Vec<linear::Op>),
) -> Played {
    println!("history {what}: {ops} operations from seed {base}");
    let (mut played, mut longest) = (Played::default(), String::new());
    for seed in base.. {
        if played.ops >= ops {
            break;
        }
        let mut history = Round::new(target, seed, clients, ROUND_OPS).play();
        amend(&mut history);
        played.ops += history.len();
        played.unknown += history.iter().filter(|op| op.reply.is_none()).count();
        // What a killed server left unanswered ended with it, maybe before it was sent.
        for op in history.iter().filter(|op| op.reply.is_some() && op.returned != linear::NEVER) {
            let took_ms = (op.returned - op.called) / 1_000_000;
            if took_ms > played.longest_ms {
                (played.longest_ms, longest) = (took_ms, op.to_string());
            }
        }
        if let Err(violation) = linear::check(&history, &name(seed)) {
            panic!("{what}, seed {seed}: {violation}");
        }
        // Long runs may be cut off.
        let Played { ops, unknown, longest_ms } = played;
        if ops / PROGRESS_OPS > (ops - history.len()) / PROGRESS_OPS {
            println!("history {what}: {ops} operations so far, {unknown} of them with an unknown outcome");
            println!("history {what}: the longest so far took {longest_ms} ms: {longest}");
        }
    }
    let Played { ops, unknown, .. } = played;
    println!("history {what}: {ops} operations, {unknown} of them with an unknown outcome, no violation");
    played
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
    play("one_node", &Nodes(&[server]), ops() / 2, CLIENTS);
}
