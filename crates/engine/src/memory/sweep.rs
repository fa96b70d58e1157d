//! What compaction is to an engine with a disk: a walk over the rows that drops those which a [`Filter`] judges to be
//! garbage. It runs on a thread of its own, when enough was written since the last walk or when somebody asks.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;

use super::Shared;
use super::scan::View;
use super::store::{Rows, Store};
use crate::{Direction, Error, Filter, Probe, Range, Result, Space, Verdict, Wait};

/// A walk begins after as many writes as half the rows, but not below this.
pub(super) const SWEEP_AFTER_ROWS: u64 = 16 * 1024;
/// Rows that are judged before those to be dropped are dropped.
const SWEEP_STEP_ROWS: usize = 1024;
/// Requests that wait; what is asked beyond is left to the next walk over everything.
const REQUESTS: usize = 64;

/// The engine's end of the thread.
#[derive(Default)]
pub(super) struct Sweeper {
    running: AtomicBool,
    thread: Mutex<Option<(Sender<Request>, JoinHandle<()>)>>,
}

/// What to walk: a range, or everything.
struct Request(Option<(Space, Box<[u8]>, Box<[u8]>)>);

impl Sweeper {
    /// Called after each commit, under the store's lock.
    #[inline]
    pub(super) fn wake_if_due(&self, store: &mut Store) {
        if self.running.load(Ordering::Acquire)
            && store.written() >= SWEEP_AFTER_ROWS.max(store.len() as u64 / 2)
        {
            store.reset_written();
            self.send(Request(None));
        }
    }

    pub(super) fn ask(&self, space: Space, range: Range<'_>) {
        if self.running.load(Ordering::Acquire) {
            self.send(Request(Some((space, range.start.into(), range.end.into()))));
        }
    }

    fn send(&self, request: Request) {
        if let Some((requests, _)) = &*self.thread.lock() {
            match requests.try_send(request) {
                // Full: it walks already, and again after as many writes.
                Ok(()) | Err(TrySendError::Full(_)) => {}
                Err(TrySendError::Disconnected(_)) => self.running.store(false, Ordering::Release),
            }
        }
    }

    /// Ends the thread and waits for it.
    pub(super) fn stop(&self) {
        self.running.store(false, Ordering::Release);
        let thread = self.thread.lock().take();
        if let Some((requests, thread)) = thread {
            drop(requests);
            // It has no result, and a panic of the filter's was told where it happened.
            let _ = thread.join();
        }
    }
}

pub(super) fn start(shared: &Arc<Shared>, filter: Arc<dyn Filter>) -> Result<()> {
    let mut thread = shared.sweeper.thread.lock();
    if thread.is_some() {
        return Ok(());
    }
    let (sender, requests) = bounded(REQUESTS);
    let weak = Arc::downgrade(shared);
    let handle = std::thread::Builder::new()
        .name("tarn-sweep".to_owned())
        .spawn(move || run(&weak, &*filter, &requests))
        .map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
    *thread = Some((sender, handle));
    shared.sweeper.running.store(true, Ordering::Release);
    Ok(())
}

/// Until the engine is closed or gone.
fn run(shared: &Weak<Shared>, filter: &dyn Filter, requests: &Receiver<Request>) {
    while let Ok(Request(range)) = requests.recv() {
        let Some(shared) = shared.upgrade() else { return };
        // Whatever is committed is where the filter looks: a write-back that is over as soon as it begins.
        filter.written_back(filter.before_write_back());
        let swept = match range {
            Some((space, start, end)) => sweep(&shared, filter, space, Range { start: &start, end: &end }),
            None => sweep_all(&shared, filter),
        };
        // Only a closed engine refuses, and that is the end.
        if swept.is_err() {
            return;
        }
    }
}

fn sweep_all(shared: &Shared, filter: &dyn Filter) -> Result<()> {
    let spaces = shared.store.read().spaces();
    for space in 0..spaces {
        let space = Space(space as u8);
        let Some(mut end) = shared.store.read().last_key(space) else { continue };
        end.push(0);
        sweep(shared, filter, space, Range { start: b"", end: &end })?;
    }
    Ok(())
}

/// Walks a range in steps: judges rows without a lock, then drops those that have not changed meanwhile.
fn sweep(shared: &Shared, filter: &dyn Filter, space: Space, range: Range<'_>) -> Result<()> {
    let mut start = Box::from(range.start);
    loop {
        if !shared.sweeper.running.load(Ordering::Acquire) {
            return Ok(());
        }
        let until = shared.position.load(Ordering::Acquire);
        let mut garbage = Vec::new();
        let view = View::committed(shared, Wait::Allowed);
        let rest = Range { start: &start, end: range.end };
        let stopped_at =
            view.scan_batches(space, rest, Direction::Forward, SWEEP_STEP_ROWS, &mut |key, value| {
                if filter.judge(&Latest(shared), space, key, value) == Verdict::Drop {
                    garbage.push(Box::from(key));
                }
                ControlFlow::Continue(())
            })?;
        drop_unchanged(shared, space, garbage, until)?;
        match stopped_at {
            Some(last) => start = [&*last, &[0]].concat().into_boxed_slice(),
            None => return Ok(()),
        }
    }
}

/// As an ordinary commit, so that snapshots keep what they see.
fn drop_unchanged(shared: &Shared, space: Space, keys: Vec<Box<[u8]>>, until: u64) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut store = shared.store.write();
    shared.check_open()?;
    let unchanged = keys.into_iter().filter(|key| !store.changed(space, key, until));
    let rows: Rows = unchanged.map(|key| (key, None)).collect();
    if !rows.is_empty() {
        let active = shared.active.lock();
        shared.append(&mut store, active, [(space, rows)].into_iter(), Vec::new());
    }
    Ok(())
}

/// What is committed at each call.
struct Latest<'a>(&'a Shared);

impl Probe for Latest<'_> {
    fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        View::committed(self.0, Wait::Allowed).get_row(space, key, out)
    }
}
