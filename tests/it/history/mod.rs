//! Histories: clients do single commands, transactions, scripts and blocking commands on the same few keys at the same time, on both
//! engines, with conflicts, refusals and unknown outcomes injected, and while the server is killed. What they saw must be
//! linearizable: there is an order of all operations that explains every reply, and in which whatever was answered comes before
//! whatever was called later.
//!
//! `TARN_HISTORY_OPS` sets how many operations all tests together do, `TARN_HISTORY_SEED` where they begin.

mod clients;
mod linear;
mod model;
mod wrong;

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::conn::Conn;
use crate::harness::{Options, Program, Server, StopOnDrop};
use crate::rng::Rng;
use clients::{Round, Target, name};
use model::Client;

/// What `cargo test` does in all.
const DEFAULT_OPS: usize = 36_000;
const CLIENTS: usize = 6;
/// Of one client in one history.
const ROUND_OPS: usize = 60;
/// How long a server lives that is killed, in microseconds.
const LIFE_MICROS: (i64, i64) = (2_000, 60_000);

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

/// The engine in memory, which stands in for a distributed one, with what that may answer.
fn play_with_faults(what: &str, faults: &str) {
    let options = Options::new(Program::Memory).with("io-threads", "2").with("memory-engine-faults", faults);
    play(what, &Nodes(&[Server::start(options)]), ops() / 6, ROUND_OPS);
}

#[test]
fn with_faults() {
    let faults =
        "conflict=100000 unavailable=2000 unknown-applied=2000 unknown-lost=2000 not-resident=300000 seed=11";
    play_with_faults("with_faults", faults);
}

#[test]
fn far_away() {
    play_with_faults(
        "far_away",
        "conflict=20000 unknown-applied=1000 unknown-lost=1000 not-resident=1000000 seed=12",
    );
}

/// A server that is killed again and again.
struct Mortal {
    port: AtomicU16,
    /// Which life it is in; when each of those before ended.
    deaths: Mutex<Vec<Instant>>,
    is_up: Condvar,
    life: AtomicUsize,
}

impl Target for Mortal {
    fn connect(&self, _: Client) -> (Conn, usize) {
        loop {
            let deaths = self.deaths.lock().unwrap();
            let (deaths, _) = self
                .is_up
                .wait_timeout_while(deaths, Duration::from_secs(60), |deaths| {
                    deaths.len() > self.life.load(Ordering::Relaxed)
                })
                .unwrap();
            let life = deaths.len();
            drop(deaths);
            // It may be dead again.
            if let Ok(conn) = Conn::connect(self.port.load(Ordering::Relaxed)) {
                return (conn, life);
            }
            std::thread::yield_now();
        }
    }

    fn dead_by(&self, life: usize) -> Option<Instant> {
        self.deaths.lock().unwrap().get(life).copied()
    }
}

#[test]
fn across_kills() {
    let mut server = Server::start(Options::new(Program::Rocksdb).with("io-threads", "2"));
    let target = Mortal {
        port: AtomicU16::new(server.port()),
        deaths: Mutex::default(),
        is_up: Condvar::new(),
        life: AtomicUsize::new(0),
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let (target, is_over) = (&target, &is_over);
        threads.spawn(move || {
            let mut rng = Rng::new(Rng::fresh_seed());
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(rng.between(LIFE_MICROS.0, LIFE_MICROS.1) as u64));
                server.kill();
                target.deaths.lock().unwrap().push(Instant::now());
                server.restart();
                let _deaths = target.deaths.lock().unwrap();
                target.port.store(server.port(), Ordering::Relaxed);
                target.life.fetch_add(1, Ordering::Relaxed);
                target.is_up.notify_all();
            }
            println!("history across_kills: {} kills", target.life.load(Ordering::Relaxed));
        });
        let _stop = StopOnDrop(is_over);
        play("across_kills", target, ops() / 3, 4 * ROUND_OPS);
    });
}
