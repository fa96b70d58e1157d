//! Timestamps for reads. Those who ask while one is being fetched share the next one: it is newer than all of their questions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{Condvar, Mutex};

use super::client::Cluster;
use super::counters::Counters;
use crate::{Error, Result};

pub(super) struct Timestamps {
    state: Mutex<State>,
    /// Who waits for a fetch with an even number, and who for one with an odd number.
    even: Condvar,
    odd: Condvar,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct State {
    /// Fetches that were begun, and those that have ended.
    begun: u64,
    ended: u64,
    last: Option<Result<u64>>,
}

impl Timestamps {
    pub(super) fn new(counters: Arc<Counters>) -> Timestamps {
        Timestamps { state: Mutex::default(), even: Condvar::new(), odd: Condvar::new(), counters }
    }

    fn waiting(&self, fetch: u64) -> &Condvar {
        if fetch.is_multiple_of(2) { &self.even } else { &self.odd }
    }

    /// One that is newer than every commit which was complete before the call.
    pub(super) fn fresh(&self, cluster: &Cluster) -> Result<u64> {
        self.fresh_from(|| cluster.timestamp())
    }

    fn fresh_from(&self, fetch: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let mut state = self.state.lock();
        // One that is under way may be older than what was committed meanwhile.
        let wanted = state.begun + 1;
        while state.ended < wanted {
            if state.begun == state.ended {
                state.begun += 1;
                drop(state);
                let fetched = fetch();
                let mut state = self.state.lock();
                state.ended = state.begun;
                state.last = Some(fetched.clone());
                // Those who share it, and one of those who came meanwhile, to fetch the next.
                self.waiting(wanted).notify_all();
                self.waiting(wanted + 1).notify_one();
                return fetched;
            }
            self.waiting(wanted).wait(&mut state);
        }
        self.counters.shared_timestamps.fetch_add(1, Ordering::Relaxed);
        state.last.clone().unwrap_or_else(|| Err(Error::Unavailable("no timestamp was fetched".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize};

    use super::*;

    #[test]
    fn a_timestamp_is_newer_than_the_question() {
        let clock = AtomicU64::new(0);
        let fetches = AtomicUsize::new(0);
        let timestamps = Timestamps::new(Arc::default());
        let fetch = || {
            fetches.fetch_add(1, Ordering::SeqCst);
            std::thread::yield_now();
            Ok(clock.fetch_add(1, Ordering::SeqCst) + 1)
        };
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..500 {
                        let before = clock.load(Ordering::SeqCst);
                        assert!(timestamps.fresh_from(fetch).unwrap() > before);
                    }
                });
            }
        });
        let shared = timestamps.counters.shared_timestamps.load(Ordering::SeqCst) as usize;
        assert_eq!(fetches.load(Ordering::SeqCst) + shared, 8 * 500);
    }

    #[test]
    fn a_failure_is_told_and_the_next_one_asks_again() {
        let timestamps = Timestamps::new(Arc::default());
        let failed = timestamps.fresh_from(|| Err(Error::Unavailable("away".to_owned())));
        assert!(matches!(failed, Err(Error::Unavailable(_))));
        assert_eq!(timestamps.fresh_from(|| Ok(7)).unwrap(), 7);
    }
}
