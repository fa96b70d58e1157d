//! How many threads a load deserves. Connections begin on the first thread and stay together while it keeps up, so that
//! one wait serves many of them; a thread that cannot keep up hands half of its connections on if a core has time for
//! them, and a thread that has little to do gives its own back. So does one whose commands keep waiting for those of the
//! others: where all clients want the same key, threads take turns at it, and the turns cost more than they bring.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::io_thread::IoThread;
use super::mailbox::Mailboxes;
use crate::dispatch::executor::Contention;
use crate::node::Node;

/// From here on a thread cannot keep up, in thousandths of its time.
const OVERLOADED: u32 = 850;
/// A thread that takes connections over must have been below this.
const HAS_ROOM: u32 = 700;
/// Below this, counted together, one of two threads would do.
const UNDERUSED: u32 = 800;

/// Idle cores, in thousandths of one, that make another thread worth its switches. Where the clients themselves keep
/// all cores busy, a second thread takes from them what it gives: measured with one client and two cores, 0.97 us of
/// CPU per GET became 1.26 us, and a third of the throughput went.
const WORTHWHILE: u64 = 600;

/// Share of the commands of one of two threads that may find their key's lock held by another before the
/// two are better one: each of two threads then holds it for a third of its time.
const CONTENDED_BY_ONE: f64 = 0.3;
const MOST_CONTENDED: f64 = 0.9;
/// Fewer commands than this say nothing.
const MIN_LOCKED: u64 = 100;
/// How long a load that contended stays together.
const CONTENDED_MS: u64 = 10_000;

/// What an I/O thread remembers of its last look at its own load.
#[derive(Default)]
pub(super) struct Balance {
    /// Of the machine, when this thread was last seen to be overloaded.
    core_time: Option<CoreTime>,
    contention: Contention,
}

/// Whether commands wait for each other so much that fewer threads would do better, of so many threads.
fn is_contended(before: Contention, after: Contention, threads: usize) -> bool {
    let locked = after.locked.saturating_sub(before.locked);
    let waited = after.waited.saturating_sub(before.waited);
    let others = i32::try_from(threads.saturating_sub(1)).unwrap_or(i32::MAX);
    let limit = (1.0 - (1.0 - CONTENDED_BY_ONE).powi(others)).min(MOST_CONTENDED);
    locked >= MIN_LOCKED && waited as f64 > locked as f64 * limit
}

/// The machine's processor time so far, in ticks of all cores together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreTime {
    idle: u64,
    total: u64,
    cores: u64,
}

impl CoreTime {
    /// None where the system does not tell.
    fn now() -> Option<CoreTime> {
        CoreTime::parse(&std::fs::read("/proc/stat").ok()?)
    }

    /// `cpu  user nice system idle iowait irq softirq steal ...`; what guests used is in the first two already.
    fn parse(stat: &[u8]) -> Option<CoreTime> {
        let mut lines = stat.split(|byte| *byte == b'\n');
        let line = lines.next()?;
        let cores = lines.take_while(|line| line.starts_with(b"cpu")).count() as u64;
        let line = std::str::from_utf8(line).ok()?.strip_prefix("cpu ")?;
        let ticks =
            line.split_ascii_whitespace().take(8).map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(CoreTime { idle, total: ticks.iter().sum(), cores })
    }

    /// Cores that were idle on average since an earlier time, in thousandths.
    fn idle_since(self, earlier: CoreTime) -> u64 {
        let idle = self.idle.saturating_sub(earlier.idle);
        let total = self.total.saturating_sub(earlier.total);
        (idle * 1000 * self.cores).checked_div(total).unwrap_or(0)
    }
}

/// Whether the load contended a short while ago. A clock that was set back does not make it long.
fn is_kept_together(mailboxes: &Mailboxes, now_ms: u64) -> bool {
    let left_ms = mailboxes.contended_until_ms.load(Ordering::Relaxed).saturating_sub(now_ms);
    (1..=CONTENDED_MS).contains(&left_ms)
}

/// The thread for a new connection.
pub fn choose(mailboxes: &Mailboxes, node: &Node) -> usize {
    if is_kept_together(mailboxes, node.clock.now_ms()) {
        return 0;
    }
    let keeps_up = mailboxes.threads.iter().position(|thread| thread.busy() < OVERLOADED);
    let fewest = || (0..mailboxes.threads.len()).min_by_key(|thread| node.clients.on_thread(*thread));
    keeps_up.or_else(fewest).unwrap_or(0)
}

impl IoThread {
    /// Looks back on a turn of the loop, of which `idle` was spent waiting.
    pub(super) fn balance(&mut self, turn: Duration, idle: Duration) {
        let busy = turn.saturating_sub(idle).as_micros() * 1000 / turn.as_micros().max(1);
        let busy = u32::try_from(busy).unwrap_or(1000).min(1000);
        self.mailbox.set_busy(busy);
        let own = self.node.clients.on_thread(self.index);
        if busy < OVERLOADED {
            self.balance.core_time = None;
        }
        let before = std::mem::replace(&mut self.balance.contention, self.pipeline.executor.contention);
        if self.index > 0 && own > 0 && is_contended(before, self.balance.contention, self.threads_in_use()) {
            self.mailboxes
                .contended_until_ms
                .store(self.pipeline.now_ms.saturating_add(CONTENDED_MS), Ordering::Relaxed);
            self.hand_on(self.index - 1, own);
        } else if busy >= OVERLOADED && own > 1 && !is_kept_together(&self.mailboxes, self.pipeline.now_ms) {
            let Some(thread) = self.thread_with_room(own) else { return };
            // Looked at only in need: on a machine with many cores it costs.
            let now = CoreTime::now();
            let earlier = std::mem::replace(&mut self.balance.core_time, now);
            let idle = match (now, earlier) {
                (Some(now), Some(earlier)) => now.idle_since(earlier),
                (Some(_), None) => 0,
                (None, _) => WORTHWHILE,
            };
            if idle >= WORTHWHILE {
                self.hand_on(thread, own / 2);
            }
        } else if self.index > 0 && own > 0 {
            let first = self.index - 1;
            if self.mailboxes.threads.get(first).is_some_and(|thread| thread.busy() + busy < UNDERUSED) {
                self.hand_on(first, own);
            }
        }
    }

    fn threads_in_use(&self) -> usize {
        (0..self.mailboxes.threads.len()).filter(|thread| self.node.clients.on_thread(*thread) > 0).count()
    }

    fn thread_with_room(&self, own: usize) -> Option<usize> {
        let others = self.mailboxes.threads.iter().enumerate();
        others
            .filter(|(thread, mailbox)| {
                *thread != self.index
                    && mailbox.busy() < HAS_ROOM
                    && self.node.clients.on_thread(*thread) < own
            })
            .min_by_key(|(_, mailbox)| mailbox.busy())
            .map(|(thread, _)| thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cores_are_counted_between_two_looks() {
        let before =
            CoreTime::parse(b"cpu  100 0 50 800 50 0 0 0 100 0\ncpu0 1 2\ncpu1 3 4\nintr 5\n").unwrap();
        assert_eq!(before, CoreTime { idle: 850, total: 1000, cores: 2 });
        let after = CoreTime::parse(b"cpu  105 0 55 804 50 1 2 3 100 0\ncpu0 1\ncpu1 2\nintr 5\n").unwrap();
        assert_eq!(after.idle_since(before), 400, "4 of 20 ticks on 2 cores");
        assert_eq!(before.idle_since(before), 0);
        assert_eq!(CoreTime::parse(b""), None);
        assert_eq!(CoreTime::parse(b"cpu  1 2 3 x 5\n"), None);
        assert_eq!(CoreTime::parse(b"cpu  1 2 3\n"), None);
    }

    #[test]
    fn threads_that_wait_for_each_other_contend() {
        let before = Contention { locked: 1_000, waited: 500 };
        let after = |waited: u64| Contention { locked: 2_000, waited: 500 + waited };
        assert!(is_contended(before, after(301), 2));
        assert!(!is_contended(before, after(299), 2));
        assert!(!is_contended(before, after(500), 3), "many threads wait more often");
        assert!(is_contended(before, after(520), 3));
        assert!(is_contended(before, after(910), 64));
        assert!(!is_contended(before, Contention { locked: 1_099, waited: 599 }, 2), "too few to tell");
        assert!(!is_contended(before, Contention { locked: 2_000, waited: 1_000 }, 4));
    }
}
