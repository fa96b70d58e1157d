//! Histories while something breaks: commits that are refused or of unknown outcome, and servers that are killed.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use super::clients::Target;
use super::model::Client;
use super::{CLIENTS, Nodes, ops, play};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server, StopOnDrop};
use crate::rng::Rng;

/// Of a server that is killed. Each may leave a pipeline of commands of which nobody knows how far it came: with many of them there are
/// too many ways to go through.
const MORTAL_CLIENTS: usize = 4;
/// How many operations a server answers before it is killed. What nobody has looked at yet when it dies stays unknown in the next life, so
/// that a few very short lives would leave too many ways, too.
const LIFE_OPS: (i64, i64) = (30, 600);

/// The engine in memory, which stands in for a distributed one, with what that may answer.
fn play_with_faults(what: &str, faults: &str) {
    let options = Options::new(Program::Memory).with("io-threads", "2").with("memory-engine-faults", faults);
    play(what, &Nodes(&[Server::start(options)]), ops() / 6, CLIENTS);
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
    answered: AtomicUsize,
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

    fn answered(&self, count: usize) {
        self.answered.fetch_add(count, Ordering::Relaxed);
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
        answered: AtomicUsize::new(0),
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let (target, is_over) = (&target, &is_over);
        threads.spawn(move || {
            let mut rng = Rng::new(Rng::fresh_seed());
            while !is_over.load(Ordering::Relaxed) {
                let life_ops = rng.between(LIFE_OPS.0, LIFE_OPS.1) as usize;
                target.answered.store(0, Ordering::Relaxed);
                while target.answered.load(Ordering::Relaxed) < life_ops && !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_micros(100));
                }
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
        play("across_kills", target, ops() / 6, MORTAL_CLIENTS);
    });
}
