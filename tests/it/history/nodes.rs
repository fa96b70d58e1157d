//! Histories over several nodes of one database, while their cluster has faults and nodes are killed. `TARN_HISTORY_CLIENTS` sets how many
//! clients there are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use tikv_double::{Double, Options as DoubleOptions, Rates};

use super::clients::Target;
use super::linear::Op;
use super::model::{Action, Client};
use super::{Played, env_number, ops, play_from, seed};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server, StopOnDrop};
use crate::rng::Rng;
use crate::value::Value;

const NODES: usize = 3;
const CLIENTS: usize = 6;
/// Of nodes that are killed: what nobody has an answer to may take effect at any time later.
const MORTAL_CLIENTS: usize = 4;
/// How long a client waits for an answer. A lost answer may leave locks on the cluster, and whoever meets one after the other waits for
/// each: what counts here is the order of what was seen, not when.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it is between two kills.
const LIFE_MS: (i64, i64) = (1_000, 4_000);
/// More clients than this have keys apart: histories are checked by themselves, and searching long ones takes long.
const GROUP: usize = 8;
/// Between the seeds of two groups.
const GROUP_SEEDS: u64 = 1_000_000;

fn clients(default: usize) -> usize {
    env_number("TARN_HISTORY_CLIENTS").map_or(default, |n| n as usize)
}

fn options(double: &Double) -> Options {
    Options::new(Program::Tikv)
        .with("tikv-pd-addresses", &double.pd_address())
        .with("tikv-prefix", "test")
        .with("tikv-timeout", "4000")
}

fn double() -> Double {
    Double::start(DoubleOptions { seed: Rng::fresh_seed(), ..DoubleOptions::default() }).unwrap()
}

fn faults() -> Rates {
    Rates {
        region_error: 0.01,
        busy: 0.005,
        conflict: 0.01,
        split: 0.001,
        move_leader: 0.005,
        unavailable: 0.002,
        unavailable_after: 0.002,
        // Each takes the time that one request may take.
        timeout_after: 0.0002,
        ..Rates::default()
    }
}

/// Between nodes an EXEC may be refused although nobody has changed what it watches in the end: somebody has tried, or has relied on it.
/// What counts is that none is made that should have been refused.
fn allow_aborts(history: &mut Vec<Op>) {
    for op in history {
        if matches!(op.action, Action::Exec(_, true)) && op.reply == Some(Value::NilArray) {
            op.reply = Some(Value::Error(b"ABORTED".to_vec()));
        }
    }
}

/// Some of the clients, as if there were no others.
struct Part<'t>(&'t dyn Target, Client);

impl Target for Part<'_> {
    fn connect(&self, client: Client) -> (Conn, usize) {
        self.0.connect(self.1 + client)
    }

    fn dead_by(&self, life: usize) -> Option<Instant> {
        self.0.dead_by(life)
    }
}

/// Plays groups of clients at the same time.
fn play_groups(what: &str, target: &dyn Target, ops: usize, clients: usize) {
    let (groups, base) = (clients.div_ceil(GROUP), seed());
    let played: Vec<Played> = std::thread::scope(|threads| {
        let group = |group: usize| {
            let (first, end) = (clients * group / groups, clients * (group + 1) / groups);
            let (what, seed) = (format!("{what} {group}"), base + group as u64 * GROUP_SEEDS);
            let part = Part(target, first);
            play_from(seed, &what, &part, ops / groups, end - first, allow_aborts)
        };
        let threads: Vec<_> = (0..groups).map(|at| threads.spawn(move || group(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |of: fn(&Played) -> usize| played.iter().map(of).sum::<usize>();
    let longest_ms = played.iter().map(|played| played.longest_ms).max().unwrap_or_default();
    let (ops, unknown) = (sum(|played| played.ops), sum(|played| played.unknown));
    println!(
        "history {what}: in all {ops} operations, {unknown} unknown, the longest {longest_ms} ms, seed {base}"
    );
}

/// Nodes of which each client has one.
struct Alive<'s>(&'s [Server]);

impl Target for Alive<'_> {
    fn connect(&self, client: Client) -> (Conn, usize) {
        (Conn::connect_patient(self.0[client % self.0.len()].port(), PATIENCE).unwrap(), 0)
    }

    fn dead_by(&self, _: usize) -> Option<Instant> {
        None
    }
}

#[test]
fn three_nodes() {
    let double = double();
    let servers: Vec<Server> = (0..NODES).map(|_| Server::start(options(&double))).collect();
    double.set_rates(faults());
    play_groups("three_nodes", &Alive(&servers), ops() / 12, clients(CLIENTS));
    assert!(double.faults_struck() > 0);
}

/// Nodes of which one after the other is killed and started again.
struct Mortals {
    servers: Vec<RwLock<Server>>,
    kills: Mutex<usize>,
}

impl Target for Mortals {
    fn connect(&self, client: Client) -> (Conn, usize) {
        loop {
            if let Ok(server) = self.servers[client % NODES].try_read()
                && let Ok(conn) = Conn::connect_patient(server.port(), PATIENCE)
            {
                return (conn, 0);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What a node has sent is on its way, whether it is dead or not.
    fn dead_by(&self, _: usize) -> Option<Instant> {
        None
    }
}

#[test]
fn nodes_are_killed() {
    let double = double();
    let servers = (0..NODES).map(|_| RwLock::new(Server::start(options(&double)))).collect();
    let target = Mortals { servers, kills: Mutex::new(0) };
    double.set_rates(faults());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let (target, is_over) = (&target, &is_over);
        threads.spawn(move || {
            let mut rng = Rng::new(Rng::fresh_seed());
            while !is_over.load(Ordering::Relaxed) {
                let ends = Instant::now() + Duration::from_millis(rng.between(LIFE_MS.0, LIFE_MS.1) as u64);
                while Instant::now() < ends && !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                let mut kills = target.kills.lock().unwrap();
                let mut server = target.servers[*kills % NODES].write().unwrap();
                server.kill();
                server.restart();
                *kills += 1;
            }
        });
        let _stop = StopOnDrop(is_over);
        play_groups("nodes_are_killed", target, ops() / 24, clients(MORTAL_CLIENTS));
    });
    println!("history nodes_are_killed: {} kills", target.kills.lock().unwrap());
}
