//! How long this process may rely on what it knows of shared data: which rows the databases have.
//!
//! Where several nodes share the data, one that changes the map of databases first has all others let go of it: each pauses, says so, and
//! reads the map anew behind the change. One that does not answer is waited for until its lease has run out. So nobody commits, or reads,
//! by a map that is not true any more.
//!
//! A run notes the epoch of the map when it begins. It commits only within the lease and within that epoch: otherwise it begins again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// How long a lease lasts that is not renewed.
pub const LASTS: Duration = Duration::from_secs(5);
/// The clocks of two machines do not run alike.
const MARGIN: Duration = Duration::from_millis(500);

/// For ever: nobody else can come.
const FOR_EVER: u64 = u64::MAX;

#[derive(Debug)]
pub struct Lease {
    started: Instant,
    /// Until when it is held, in milliseconds since then.
    until_ms: AtomicU64,
    /// Grows when a pause begins and when it ends, and where what is known may be wrong.
    epoch: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pauses: usize,
    /// Commits that are being made.
    committing: usize,
}

/// A commit that is being made, by a map that is true meanwhile.
#[derive(Debug)]
#[must_use]
pub struct Committing<'l>(Option<&'l Lease>);

/// Nobody commits or begins while it is kept.
#[derive(Debug)]
#[must_use]
pub struct Pause<'l>(&'l Lease);

impl Lease {
    /// For data that no other process can reach.
    pub fn not_needed() -> Lease {
        Lease {
            started: Instant::now(),
            until_ms: AtomicU64::new(FOR_EVER),
            epoch: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// To be had.
    pub fn wanted() -> Lease {
        Lease { until_ms: AtomicU64::new(0), ..Lease::not_needed() }
    }

    #[inline]
    pub fn is_held(&self) -> bool {
        let until_ms = self.until_ms.load(Ordering::Acquire);
        until_ms == FOR_EVER || self.started.elapsed().as_millis() < u128::from(until_ms)
    }

    /// Whether others can come.
    pub fn is_needed(&self) -> bool {
        self.until_ms.load(Ordering::Acquire) != FOR_EVER
    }

    /// It will be had in a moment: it was never held, or what is known is being read again.
    pub fn is_wanted(&self) -> bool {
        self.until_ms.load(Ordering::Acquire) == 0
    }

    /// It was put on record by a transaction that began at this moment, and what it is for was read behind that, and behind the mark.
    /// False where it may be wrong by now.
    pub fn held_since(&self, began: Instant, mark: u64, own: usize) -> bool {
        let until_ms = self.end_ms(began);
        let is_held = self.change(mark, own, || self.until_ms.store(until_ms, Ordering::Release));
        self.changed.notify_all();
        is_held
    }

    /// It was put on record anew before it had run out: nobody else can have changed what it is for. False where it has.
    pub fn extend(&self, began: Instant) -> bool {
        let _state = self.state.lock();
        let is_held = self.is_held();
        if is_held && self.is_needed() {
            self.until_ms.store(self.end_ms(began), Ordering::Release);
        }
        is_held
    }

    fn end_ms(&self, began: Instant) -> u64 {
        let until = began.saturating_duration_since(self.started) + LASTS.saturating_sub(MARGIN);
        // Zero is for one that is wanted.
        (until.as_millis() as u64).max(1)
    }

    /// What is known may be wrong: it is not relied on until it was read again.
    pub fn lapse(&self) {
        if self.is_needed() {
            let _state = self.state.lock();
            self.until_ms.store(0, Ordering::Release);
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// To be noted before the map is looked at.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether what was looked at since the epoch is true: to be asked behind a read.
    pub fn is_still(&self, epoch: u64) -> bool {
        self.is_held() && self.state.lock().pauses == 0 && self.epoch() == epoch
    }

    /// Whether it has run out, and not only for a moment.
    pub fn has_run_out(&self) -> bool {
        !self.is_held() && !self.is_wanted() && self.state.lock().pauses == 0
    }

    /// Waits until the map may be looked at, as long as that is only a moment.
    pub fn wait_open(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.state.lock();
        while (state.pauses > 0 || self.is_wanted())
            && !self.changed.wait_until(&mut state, until).timed_out()
        {}
    }

    /// A commit by a map of this epoch may be made while what is returned is kept. None: the run is to begin again.
    pub fn begin_commit(&self, epoch: u64) -> Option<Committing<'_>> {
        if !self.is_needed() {
            return Some(Committing(None));
        }
        let mut state = self.state.lock();
        if state.pauses > 0 || self.epoch() != epoch || !self.is_held() {
            return None;
        }
        state.committing += 1;
        Some(Committing(Some(self)))
    }

    /// Waits for the commits that are being made; nobody begins another one by what is known so far.
    pub fn pause(&self) -> Pause<'_> {
        self.pause_in(self.state.lock())
    }

    /// The same for whoever has looked at the map in this epoch. None where it may be another one by now.
    pub fn pause_at(&self, epoch: u64) -> Option<Pause<'_>> {
        let state = self.state.lock();
        let is_still = state.pauses == 0 && self.epoch() == epoch && self.is_held();
        is_still.then(|| self.pause_in(state))
    }

    fn pause_in(&self, mut state: MutexGuard<'_, State>) -> Pause<'_> {
        state.pauses += 1;
        self.epoch.fetch_add(1, Ordering::AcqRel);
        while state.committing > 0 {
            self.changed.wait(&mut state);
        }
        Pause(self)
    }

    /// The epoch, unless there are other pauses than the caller's own: to be noted before what is on record is read.
    pub fn mark(&self, own: usize) -> Option<u64> {
        let state = self.state.lock();
        (state.pauses == own).then(|| self.epoch())
    }

    /// Changes the map to what was read since the mark. False where another pause began since: its map is newer than what was read.
    pub fn change(&self, mark: u64, own: usize, change: impl FnOnce()) -> bool {
        let state = self.state.lock();
        let is_latest = state.pauses == own && self.epoch() == mark;
        if is_latest {
            change();
        }
        is_latest
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.pauses -= 1;
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
        self.0.changed.notify_all();
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.0 {
            lease.state.lock().committing -= 1;
            lease.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(lease: &Lease, since: Instant) {
        let mark = lease.mark(0).unwrap();
        assert!(lease.held_since(since, mark, 0));
    }

    #[test]
    fn a_lease_runs_out_unless_it_is_not_needed() {
        let never = Lease::not_needed();
        assert!(never.is_held() && !never.is_wanted() && never.is_still(0));
        never.lapse();
        assert!(never.is_held() && never.begin_commit(7).is_some());
        let lease = Lease::wanted();
        assert!(!lease.is_held() && lease.is_wanted() && !lease.has_run_out());
        hold(&lease, Instant::now());
        assert!(lease.is_held() && !lease.is_wanted());
        hold(&lease, lease.started);
        let until_ms = lease.until_ms.load(Ordering::Acquire);
        assert_eq!(until_ms, (LASTS - MARGIN).as_millis() as u64, "counted from before it was written");
        lease.until_ms.store(1, Ordering::Release);
        std::thread::sleep(Duration::from_millis(2));
        assert!(!lease.is_held() && lease.has_run_out());
        lease.lapse();
        assert!(!lease.is_held() && !lease.has_run_out() && lease.is_wanted());
    }

    #[test]
    fn a_run_of_before_a_pause_does_not_commit() {
        let lease = Lease::wanted();
        hold(&lease, Instant::now());
        let before = lease.epoch();
        assert!(lease.is_still(before));
        drop(lease.begin_commit(before).unwrap());
        let pause = lease.pause();
        let meanwhile = lease.epoch();
        assert!(lease.begin_commit(before).is_none() && lease.begin_commit(meanwhile).is_none());
        assert!(!lease.is_still(before) && !lease.is_still(meanwhile));
        drop(pause);
        assert!(lease.begin_commit(before).is_none(), "the map may have changed since");
        assert!(lease.begin_commit(meanwhile).is_none(), "it may have seen the map half-way");
        assert!(lease.begin_commit(lease.epoch()).is_some());
        lease.lapse();
        assert!(lease.begin_commit(lease.epoch()).is_none(), "the lease has run out");
    }

    #[test]
    fn a_pause_waits_for_commits() {
        let lease = Lease::wanted();
        hold(&lease, Instant::now());
        let committing = lease.begin_commit(lease.epoch()).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let _pause = lease.pause();
                assert!(is_over.load(Ordering::SeqCst));
            });
            while lease.state.lock().pauses == 0 {
                std::thread::yield_now();
            }
            is_over.store(true, Ordering::SeqCst);
            drop(committing);
        });
        assert!(lease.is_still(lease.epoch()));
    }

    #[test]
    fn a_lease_is_extended_only_while_it_is_held() {
        let lease = Lease::wanted();
        assert!(!lease.extend(Instant::now()));
        hold(&lease, lease.started);
        let pause = lease.pause();
        assert!(
            lease.extend(lease.started + Duration::from_secs(1)),
            "whoever changes the map here meanwhile"
        );
        let until_ms = lease.until_ms.load(Ordering::Acquire);
        assert_eq!(until_ms, (Duration::from_secs(1) + LASTS - MARGIN).as_millis() as u64);
        lease.lapse();
        assert!(!lease.extend(Instant::now()));
        drop(pause);
        lease.until_ms.store(1, Ordering::Release);
        std::thread::sleep(Duration::from_millis(2));
        assert!(!lease.extend(Instant::now()));
    }

    #[test]
    fn who_changes_the_map_knows_the_one_that_counts() {
        let lease = Lease::wanted();
        assert!(lease.pause_at(0).is_none(), "it is not held");
        hold(&lease, Instant::now());
        let seen = lease.epoch();
        drop(lease.pause());
        assert!(lease.pause_at(seen).is_none(), "somebody else may have changed it");
        let seen = lease.epoch();
        let pause = lease.pause_at(seen).unwrap();
        assert!(lease.pause_at(lease.epoch()).is_none(), "somebody is about to");
        assert_eq!(lease.mark(1), Some(seen + 1));
        drop(pause);
        assert_eq!(lease.mark(1), None);
    }

    #[test]
    fn what_was_read_before_a_change_is_not_taken_over_behind_it() {
        let lease = Lease::wanted();
        let mut map = "old";
        let mark = lease.mark(0).unwrap();
        let pause = lease.pause();
        assert_eq!(lease.mark(0), None, "it is about to be changed");
        assert!(!lease.change(mark, 0, || map = "read while it was changed"));
        drop(pause);
        assert!(!lease.change(mark, 0, || map = "read before it was changed"));
        let mark = lease.mark(0).unwrap();
        let own = lease.pause();
        assert!(lease.change(mark + 1, 1, || map = "new"));
        drop(own);
        assert_eq!(map, "new");
    }
}
