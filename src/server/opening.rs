//! Data that other processes can reach too: the server starts whether the cluster is there or not, and reads what is on record as soon as
//! it can. What it may rely on from then on is the matter of [`crate::nodes`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::error::Result;
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
    let floor_ms = start::complete(&node.keyspace, &node.engine, seed)?;
    node.clock.raise_floor_ms(floor_ms);
    node.nodes.look();
    Ok(())
}

/// Runs until the data is read, or `stop` is closed.
pub fn run(node: &Arc<Node>, seed: u64, stop: &Receiver<()>) {
    let mut last_error = String::new();
    while !node.keyspace.is_open() {
        match stop.recv_timeout(TRY_EVERY) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Err(error) = open(node, seed) {
            let words = error.to_string();
            if words != last_error {
                tracing::warn!(%error, "the cluster does not serve; it is tried again");
                last_error = words;
            }
        }
    }
}
