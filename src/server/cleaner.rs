//! Removes what flushed databases and big dead collections left behind, on a thread of its own: a range delete waits
//! for a write-back.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use tarn_engine::Range;

use crate::dispatch::execute::Lane;
use crate::dispatch::locks::StripeSet;
use crate::encoding::rows::EXPIRE_BUCKETS;
use crate::error::Result;
use crate::keyspace::{View as _, drop};
use crate::node::Node;

/// Time between two looks. Databases that are flushed within it are removed together.
const TURN: Duration = Duration::from_secs(1);
/// Expiries walked in one transaction.
const BATCH: usize = 256;

/// Runs until `stop` is closed.
pub fn run(node: &Arc<Node>, stop: &Receiver<()>) {
    let mut lane = Lane::aside(node);
    loop {
        match stop.recv_timeout(TURN) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Err(error) = clean(&mut lane, stop) {
            tracing::warn!(%error, "a flushed database could not be removed; it is tried again");
        }
        if let Err(error) = bury(&mut lane, stop) {
            tracing::warn!(%error, "a dead collection is left to compaction");
        }
    }
}

fn ends(stop: &Receiver<()>) -> bool {
    stop.try_recv() != Err(crossbeam_channel::TryRecvError::Empty)
}

/// Removes the rows of big collections that died.
fn bury(lane: &mut Lane, stop: &Receiver<()>) -> Result<()> {
    for dead in lane.node.keyspace.garbage.take() {
        for doomed in dead.ranges() {
            if ends(stop) {
                return Ok(());
            }
            remove(lane, &doomed)?;
        }
    }
    Ok(())
}

/// Removes a range that nobody writes to, if anything is there.
fn remove(lane: &mut Lane, doomed: &drop::Doomed) -> Result<()> {
    let range = Range { start: &doomed.start, end: &doomed.end };
    let mut is_empty = true;
    lane.look(0, |cx| {
        cx.scan_each(doomed.space, range.start, range.end, 1, &mut |_, _| {
            is_empty = false;
            ControlFlow::Break(())
        })
    })?;
    if !is_empty {
        lane.node.engine.delete_range(doomed.space, range)?;
    }
    Ok(())
}

fn clean(lane: &mut Lane, stop: &Receiver<()>) -> Result<()> {
    let numbers = lane.look(0, |cx| drop::dropped(cx))?;
    if numbers.is_empty() {
        return Ok(());
    }
    for doomed in numbers.iter().flat_map(|number| drop::ranges(*number)) {
        if ends(stop) {
            return Ok(());
        }
        remove(lane, &doomed)?;
    }
    for bucket in 0..EXPIRE_BUCKETS {
        let mut place = Some(drop::Place::bucket(bucket));
        while let Some(from) = place {
            place = lane.transact(&StripeSet::default(), 0, |cx| {
                drop::expiries(cx, &numbers, bucket, &from, BATCH)
            })?;
        }
    }
    for number in numbers {
        lane.transact(&StripeSet::default(), 0, |cx| {
            drop::finish(cx, number);
            Ok(())
        })?;
    }
    lane.node.engine.flush()?;
    Ok(())
}
