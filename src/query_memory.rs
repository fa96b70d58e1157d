//! Memory for long commands of which only a part has come. It is set aside as soon as a command says how long it will be, before it is
//! taken: a command that does not fit is refused, and its bytes are passed over as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shorter commands are not counted: `maxclients` bounds them.
pub const LONG_BYTES: usize = 256 * 1024;

/// What long commands may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryBudget {
    /// All of them.
    pub together_bytes: usize,
    /// One, while there is no other.
    pub alone_bytes: usize,
}

/// What is set aside for all clients.
#[derive(Debug, Default)]
pub struct QueryMemory(AtomicUsize);

impl QueryMemory {
    pub fn used(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is set aside for the command of one client. Given back when it is dropped.
#[derive(Debug, Default)]
pub struct Reserved {
    of: Option<Arc<QueryMemory>>,
    bytes: usize,
}

impl Reserved {
    /// Whether so many bytes are set aside now. If not, nothing has changed.
    pub fn grow(&mut self, bytes: usize, memory: &Arc<QueryMemory>, budget: QueryBudget) -> bool {
        if bytes <= self.bytes.max(LONG_BYTES) {
            return true;
        }
        // In steps, so that a command of many short words does not ask for each.
        let wanted = bytes.next_multiple_of(LONG_BYTES);
        let mine = self.bytes;
        let fits = |used: usize| {
            let after = used - mine + wanted;
            let is_alone = used == mine;
            (after <= budget.together_bytes || is_alone && after <= budget.alone_bytes).then_some(after)
        };
        if memory.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return false;
        }
        self.of = Some(Arc::clone(memory));
        self.bytes = wanted;
        true
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(memory) = &self.of {
            memory.0.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: QueryBudget = QueryBudget { together_bytes: 4 * LONG_BYTES, alone_bytes: 8 * LONG_BYTES };

    #[test]
    fn commands_fit_together_up_to_the_budget() {
        let memory = Arc::new(QueryMemory::default());
        let (mut first, mut second) = (Reserved::default(), Reserved::default());
        assert!(first.grow(3 * LONG_BYTES, &memory, BUDGET));
        assert!(first.grow(3 * LONG_BYTES, &memory, BUDGET), "nothing more than it has");
        assert!(!second.grow(LONG_BYTES + 1, &memory, BUDGET), "two steps more than there are");
        assert!(second.grow(LONG_BYTES, &memory, BUDGET), "short ones are not counted");
        assert_eq!(memory.used(), 3 * LONG_BYTES);
        drop(first);
        assert_eq!(memory.used(), 0);
        assert!(second.grow(4 * LONG_BYTES, &memory, BUDGET));
    }

    #[test]
    fn one_alone_may_be_longer_but_not_beyond_its_limit() {
        let memory = Arc::new(QueryMemory::default());
        let (mut first, mut second) = (Reserved::default(), Reserved::default());
        assert!(!first.grow(8 * LONG_BYTES + 1, &memory, BUDGET));
        assert!(first.grow(8 * LONG_BYTES, &memory, BUDGET));
        assert!(!second.grow(2 * LONG_BYTES, &memory, BUDGET));
        drop(first);
        assert!(second.grow(2 * LONG_BYTES, &memory, BUDGET));
        assert!(second.grow(5 * LONG_BYTES, &memory, BUDGET), "alone again");
    }
}
