//! Histories over several nodes of one database, while their cluster has faults and nodes are killed. `TARN_HISTORY_CLIENTS` sets how many
//! clients there are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use tikv_double::{Double, Options as DoubleOptions, Rates};

use super::clients::Target;
use super::linear::Op;
use super::model::{Action, Client};
use super::{env_number, ops, play_and};
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
/// How many answers there are between two kills.
const LIFE_OPS: (i64, i64) = (150, 600);

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
        // Each takes the whole time that a request may take: in long runs only.
        timeout_after: if env_number("TARN_HISTORY_OPS").is_some() { 0.0002 } else { 0.0 },
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
    play_and("three_nodes", &Alive(&servers), ops() / 12, clients(CLIENTS), allow_aborts);
    assert!(double.faults_struck() > 0);
}

/// Nodes of which one after the other is killed and started again.
struct Mortals {
    servers: Vec<RwLock<Server>>,
    answered: AtomicUsize,
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

    fn answered(&self, count: usize) {
        self.answered.fetch_add(count, Ordering::Relaxed);
    }
}

#[test]
fn nodes_are_killed() {
    let double = double();
    let servers = (0..NODES).map(|_| RwLock::new(Server::start(options(&double)))).collect();
    let target = Mortals { servers, answered: AtomicUsize::new(0), kills: Mutex::new(0) };
    double.set_rates(faults());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let (target, is_over) = (&target, &is_over);
        threads.spawn(move || {
            let mut rng = Rng::new(Rng::fresh_seed());
            while !is_over.load(Ordering::Relaxed) {
                let life_ops = rng.between(LIFE_OPS.0, LIFE_OPS.1) as usize;
                target.answered.store(0, Ordering::Relaxed);
                while target.answered.load(Ordering::Relaxed) < life_ops && !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let mut kills = target.kills.lock().unwrap();
                let mut server = target.servers[*kills % NODES].write().unwrap();
                server.kill();
                server.restart();
                *kills += 1;
            }
        });
        let _stop = StopOnDrop(is_over);
        play_and("nodes_are_killed", target, ops() / 24, clients(MORTAL_CLIENTS), allow_aborts);
    });
    println!("history nodes_are_killed: {} kills", target.kills.lock().unwrap());
}
