//! Data that other processes can reach too: the server starts whether the cluster is there or not, reads what is on record as soon as
//! it can, and keeps the lease by which it is the only one to serve it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::dispatch::session::open_libraries;
use crate::error::Result;
use crate::fatal;
use crate::keyspace::shared::lease;
use crate::keyspace::start;
use crate::node::Node;

/// Between two tries to read what is on record.
const TRY_EVERY: Duration = Duration::from_millis(200);

/// Tries for a while, so that a server whose cluster is there serves from its first client on. Then it starts all the same.
pub fn wait(node: &Arc<Node>, seed: u64) {
    let until = Instant::now() + Duration::from_millis(node.config.current().tikv_timeout_millis);
    loop {
        match open(node, seed) {
            Ok(()) => return,
            Err(error) if Instant::now() >= until => {
                tracing::warn!(%error, "the data cannot be read yet; commands are refused until it can");
                return;
            }
            Err(_) => std::thread::sleep(TRY_EVERY / 4),
        }
    }
}

fn open(node: &Arc<Node>, seed: u64) -> Result<()> {
    let floor_ms = start::complete(&node.keyspace, &node.engine, seed, &node.run_id)?;
    node.clock.raise_floor_ms(floor_ms);
    open_libraries(node)
}

/// Runs until `stop` is closed.
pub fn run(node: &Arc<Node>, seed: u64, stop: &Receiver<()>) {
    let mut last_error = String::new();
    loop {
        let pause = if node.keyspace.is_open() { lease::RENEWED } else { TRY_EVERY };
        match stop.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let kept = match node.keyspace.is_open() {
            true => node.keyspace.shared.lease.renew(&node.engine, &node.run_id),
            false => open(node, seed),
        };
        match kept {
            Ok(()) if node.keyspace.shared.lease.is_lost() => {
                fatal::end("another node serves this data by now: this one was out of reach for too long");
            }
            Ok(()) => last_error.clear(),
            Err(error) => {
                let words = error.to_string();
                if words != last_error {
                    tracing::warn!(%error, "the cluster does not serve; it is tried again");
                    last_error = words;
                }
            }
        }
    }
}

/// The next one need not wait.
pub fn end(node: &Node) {
    if node.keyspace.is_open()
        && let Err(error) = node.keyspace.shared.lease.give_up(&node.engine, &node.run_id)
    {
        tracing::warn!(%error, "the data could not be left to the next node, which has to wait for some seconds");
    }
}
