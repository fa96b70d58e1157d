//! SLOWLOG and COMMANDLOG: the slowest and the largest commands of late.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Longest argument kept, in bytes, and most arguments kept, as Redis does.
const MAX_ARG_LEN: usize = 128;
const MAX_ARGS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slow {
    pub id: u64,
    pub at_secs: u64,
    /// Microseconds, or bytes.
    pub amount: u64,
    pub args: Vec<Vec<u8>>,
    pub addr: String,
    pub name: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct Slowlog {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next_id: u64,
    entries: VecDeque<Slow>,
}

impl Slowlog {
    pub fn push(&self, mut slow: Slow, max_len: usize) {
        let mut inner = self.inner.lock();
        slow.id = inner.next_id;
        inner.next_id += 1;
        inner.entries.push_front(slow);
        inner.entries.truncate(max_len);
    }

    /// Newest first.
    pub fn newest(&self, count: usize) -> Vec<Slow> {
        self.inner.lock().entries.iter().take(count).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.inner.lock().entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn clear(&self) {
        self.inner.lock().entries.clear();
    }
}

/// The arguments as the log keeps them: long ones and long lists are cut with a note of what is missing.
pub fn shorten(words: tarn_resp::Args<'_>) -> Vec<Vec<u8>> {
    let total = words.len();
    let kept = if total > MAX_ARGS { MAX_ARGS - 1 } else { total };
    let mut args: Vec<Vec<u8>> = (0..kept)
        .map(|i| {
            let word = words.get(i).unwrap_or(&[]);
            match word.get(..MAX_ARG_LEN) {
                Some(head) if word.len() > MAX_ARG_LEN => {
                    let mut cut = head.to_vec();
                    cut.extend_from_slice(
                        format!("... ({} more bytes)", word.len() - MAX_ARG_LEN).as_bytes(),
                    );
                    cut
                }
                _ => word.to_vec(),
            }
        })
        .collect();
    if total > kept {
        args.push(format!("... ({} more arguments)", total - kept).into_bytes());
    }
    args
}
