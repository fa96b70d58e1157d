//! ACL LOG: the last refusals, the newest first. What happens again within a minute is counted, not listed again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::check::Reason;

/// Refusals farther apart are listed apart.
const GROUP_MS: u64 = 60_000;
/// Entries that are looked at for the same refusal.
const LOOK_BACK: usize = 10;

/// Where a call came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    TopLevel,
    Multi,
    Lua,
}

impl Context {
    pub fn name(self) -> &'static str {
        match self {
            Context::TopLevel => "toplevel",
            Context::Multi => "multi",
            Context::Lua => "lua",
        }
    }
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub reason: Reason,
    pub context: Context,
    pub object: Box<[u8]>,
    pub user: Box<[u8]>,
    /// The client as CLIENT LIST shows it.
    pub client: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: u64,
    pub count: u64,
    pub refused: Refused,
    pub created_ms: u64,
    pub updated_ms: u64,
}

#[derive(Debug, Default)]
pub struct Log {
    entries: Mutex<(VecDeque<Entry>, u64)>,
    /// By [`Reason`], since the start: CONFIG RESETSTAT leaves them, as in Redis.
    counts: [AtomicU64; Reason::ALL.len()],
}

impl Log {
    /// `max_len` is `acllog-max-len`.
    pub fn add(&self, now_ms: u64, max_len: usize, refused: Refused) {
        if let Some(count) = self.counts.get(refused.reason as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let mut entries = self.entries.lock();
        let (list, next_id) = &mut *entries;
        let is_same = |entry: &Entry| {
            entry.refused.reason == refused.reason
                && entry.refused.context == refused.context
                && now_ms.abs_diff(entry.updated_ms) <= GROUP_MS
                && entry.refused.object == refused.object
                && entry.refused.user == refused.user
        };
        let same = list.iter().take(LOOK_BACK).position(is_same);
        if max_len > 0 {
            let entry = match same.and_then(|at| list.remove(at)) {
                Some(known) => Entry { count: known.count + 1, updated_ms: now_ms, refused, ..known },
                None => {
                    *next_id += 1;
                    Entry { id: *next_id - 1, count: 1, refused, created_ms: now_ms, updated_ms: now_ms }
                }
            };
            list.push_front(entry);
        }
        list.truncate(max_len);
    }

    /// The newest first.
    pub fn newest(&self, count: usize) -> Vec<Entry> {
        self.entries.lock().0.iter().take(count).cloned().collect()
    }

    pub fn clear(&self) {
        self.entries.lock().0.clear();
    }

    pub fn count(&self, reason: Reason) -> u64 {
        self.counts.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: Reason, object: &str) -> Refused {
        let (object, client) = (object.as_bytes().into(), b"id=1".to_vec());
        Refused { reason, context: Context::TopLevel, object, user: b"bob".as_slice().into(), client }
    }

    fn shown(log: &Log) -> Vec<String> {
        let entries = log.newest(usize::MAX);
        entries
            .iter()
            .map(|entry| {
                format!("{}:{}x{}", entry.id, crate::error::shown(&entry.refused.object), entry.count)
            })
            .collect()
    }

    #[test]
    fn the_same_refusal_is_counted_for_a_minute() {
        let log = Log::default();
        log.add(1_000, 128, refused(Reason::Key, "a"));
        log.add(1_000, 128, refused(Reason::Key, "b"));
        log.add(61_000, 128, refused(Reason::Key, "a"));
        assert_eq!(shown(&log), ["0:ax2", "1:bx1"]);
        log.add(121_001, 128, refused(Reason::Key, "a"));
        log.add(121_001, 128, refused(Reason::Command, "a"));
        assert_eq!(shown(&log), ["3:ax1", "2:ax1", "0:ax2", "1:bx1"]);
        assert_eq!((log.count(Reason::Key), log.count(Reason::Command), log.count(Reason::Auth)), (4, 1, 0));
    }

    #[test]
    fn only_the_newest_ten_are_looked_at_and_the_oldest_are_dropped() {
        let log = Log::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "a"] {
            log.add(1, 128, refused(Reason::Key, name));
        }
        assert_eq!(shown(&log).len(), 12);
        log.add(1, 3, refused(Reason::Key, "l"));
        assert_eq!(shown(&log), ["12:lx1", "11:ax1", "10:kx1"]);
        log.add(1, 0, refused(Reason::Key, "m"));
        assert!(shown(&log).is_empty());
        log.add(1, 3, refused(Reason::Key, "n"));
        log.clear();
        assert!(shown(&log).is_empty() && log.count(Reason::Key) == 15);
    }
}
