//! Memory for what clients make long: commands of which only a part has come, and replies that are not sent yet. It is set aside before
//! it is taken. A command that does not fit is refused, and its bytes are passed over as they come. A reply that does not fit waits until
//! others are sent, with nothing in memory; one that never fits is refused.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

/// Shorter ones are not counted: `maxclients` bounds them.
pub const LONG_BYTES: usize = 256 * 1024;

/// What long ones may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientBudget {
    /// All of them.
    pub together_bytes: usize,
    /// One, while there is no other.
    pub alone_bytes: usize,
}

impl ClientBudget {
    /// Whether there is room for so much beside what others use.
    fn admits(&self, others: usize, wanted: usize) -> bool {
        others.saturating_add(wanted) <= self.together_bytes || others == 0 && wanted <= self.alone_bytes
    }

    /// The most that one can ever have.
    pub fn most(&self) -> usize {
        self.together_bytes.max(self.alone_bytes)
    }
}

/// What is set aside for all clients, and who waits for some of it.
#[derive(Default)]
pub struct ClientMemory {
    used: AtomicUsize,
    is_awaited: AtomicBool,
    waiting: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    bytes: usize,
    budget: ClientBudget,
    until: Instant,
    go_on: Box<dyn FnOnce() + Send>,
}

impl ClientMemory {
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Calls `go_on` once there is room for so many bytes, in the order in which they came, and at the latest with the first
    /// [`ClientMemory::look`] after `until`. What it then finds may be gone again.
    pub fn wait(&self, bytes: usize, budget: ClientBudget, until: Instant, go_on: Box<dyn FnOnce() + Send>) {
        {
            let mut waiting = self.waiting.lock();
            waiting.push_back(Waiting { bytes: bytes.min(budget.most()), budget, until, go_on });
            // Before the use is looked at: whoever gives something back after that sees that somebody waits.
            self.is_awaited.store(true, Ordering::SeqCst);
        }
        self.look(None);
    }

    /// Has those go on who have room, and those who have waited for long enough.
    pub fn look(&self, now: Option<Instant>) {
        if !self.is_awaited.load(Ordering::SeqCst) {
            return;
        }
        let mut ready = Vec::new();
        {
            let mut waiting = self.waiting.lock();
            let mut others = self.used.load(Ordering::SeqCst);
            while let Some(first) = waiting.front() {
                let is_over = now.is_some_and(|now| now >= first.until);
                if !is_over && !first.budget.admits(others, first.bytes) {
                    break;
                }
                others = others.saturating_add(first.bytes);
                ready.extend(waiting.pop_front().map(|first| first.go_on));
            }
            self.is_awaited.store(!waiting.is_empty(), Ordering::SeqCst);
        }
        ready.into_iter().for_each(|go_on| go_on());
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        self.look(None);
    }
}

impl std::fmt::Debug for ClientMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientMemory").field("used", &self.used()).finish_non_exhaustive()
    }
}

/// What is set aside for the command or the reply of one client. Given back when it is dropped.
#[derive(Debug, Default)]
pub struct Reserved {
    of: Option<Arc<ClientMemory>>,
    bytes: usize,
}

impl Reserved {
    /// Whether so many bytes are set aside now. If not, nothing has changed.
    pub fn grow(&mut self, bytes: usize, memory: &Arc<ClientMemory>, budget: ClientBudget) -> bool {
        if bytes <= self.bytes.max(LONG_BYTES) {
            return true;
        }
        // In steps, so that a command of many short words does not ask for each.
        let wanted = bytes.next_multiple_of(LONG_BYTES);
        let mine = self.bytes;
        let fits = |used: usize| budget.admits(used - mine, wanted).then_some(used - mine + wanted);
        if memory.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).is_err() {
            return false;
        }
        self.of = Some(Arc::clone(memory));
        self.bytes = wanted;
        true
    }

    /// Gives back what is more than this.
    pub fn shrink_to(&mut self, bytes: usize) {
        let kept = bytes.next_multiple_of(LONG_BYTES);
        if let Some(memory) = &self.of
            && kept < self.bytes
        {
            memory.give_back(self.bytes - kept);
            self.bytes = kept;
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(memory) = &self.of {
            memory.give_back(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const BUDGET: ClientBudget = ClientBudget { together_bytes: 4 * LONG_BYTES, alone_bytes: 8 * LONG_BYTES };

    #[test]
    fn commands_fit_together_up_to_the_budget() {
        let memory = Arc::new(ClientMemory::default());
        let (mut first, mut second) = (Reserved::default(), Reserved::default());
        assert!(first.grow(3 * LONG_BYTES, &memory, BUDGET));
        assert!(first.grow(3 * LONG_BYTES, &memory, BUDGET), "nothing more than it has");
        assert!(!second.grow(LONG_BYTES + 1, &memory, BUDGET), "two steps more than there are");
        assert!(second.grow(LONG_BYTES, &memory, BUDGET), "short ones are not counted");
        assert_eq!(memory.used(), 3 * LONG_BYTES);
        drop(first);
        assert_eq!(memory.used(), 0);
        assert!(second.grow(4 * LONG_BYTES, &memory, BUDGET));
        second.shrink_to(2 * LONG_BYTES - 1);
        assert_eq!(memory.used(), 2 * LONG_BYTES);
        second.shrink_to(3 * LONG_BYTES);
        assert_eq!(memory.used(), 2 * LONG_BYTES, "it does not grow by that");
    }

    #[test]
    fn one_alone_may_be_longer_but_not_beyond_its_limit() {
        let memory = Arc::new(ClientMemory::default());
        let (mut first, mut second) = (Reserved::default(), Reserved::default());
        assert!(!first.grow(8 * LONG_BYTES + 1, &memory, BUDGET));
        assert!(first.grow(8 * LONG_BYTES, &memory, BUDGET));
        assert!(!second.grow(2 * LONG_BYTES, &memory, BUDGET));
        drop(first);
        assert!(second.grow(2 * LONG_BYTES, &memory, BUDGET));
        assert!(second.grow(5 * LONG_BYTES, &memory, BUDGET), "alone again");
    }

    #[test]
    fn who_waits_goes_on_when_there_is_room_or_when_its_time_is_over() {
        let memory = Arc::new(ClientMemory::default());
        let (told, hear) = std::sync::mpsc::channel();
        let now = Instant::now();
        let wait = |name: &'static str, bytes: usize, secs: u64| {
            let told = told.clone();
            let go_on = Box::new(move || told.send(name).unwrap());
            memory.wait(bytes, BUDGET, now + Duration::from_secs(secs), go_on);
        };
        let heard = || hear.try_iter().collect::<Vec<_>>();
        wait("at once", LONG_BYTES, 9);
        assert_eq!(heard(), ["at once"]);
        let mut used = Reserved::default();
        assert!(used.grow(4 * LONG_BYTES, &memory, BUDGET));
        wait("first", 3 * LONG_BYTES, 5);
        wait("second", 2 * LONG_BYTES, 9);
        used.shrink_to(2 * LONG_BYTES);
        assert!(heard().is_empty(), "nobody overtakes");
        used.shrink_to(LONG_BYTES);
        assert_eq!(heard(), ["first"], "there is no room for both");
        assert!(used.grow(4 * LONG_BYTES, &memory, BUDGET));
        memory.look(Some(now + Duration::from_secs(8)));
        assert!(heard().is_empty());
        memory.look(Some(now + Duration::from_secs(9)));
        assert_eq!(heard(), ["second"]);
        // More than ever fits goes on when all is free.
        wait("large", 99 * LONG_BYTES, 9);
        assert!(heard().is_empty());
        drop(used);
        assert_eq!(heard(), ["large"]);
    }
}
