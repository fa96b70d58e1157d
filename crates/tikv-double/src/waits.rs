//! Who waits for whose lock, and whether they wait in a circle.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::mvcc::{Blocker, Error};

#[derive(Default)]
pub struct Waits {
    edges: Vec<Edge>,
    next_id: u64,
}

struct Edge {
    id: u64,
    /// The start timestamp of the transaction that waits.
    waiter: u64,
    blocker: Blocker,
}

impl Waits {
    /// The number of the new wait, or an error if the holder waits for the waiter.
    pub fn begin(&mut self, waiter: u64, blocker: &Blocker) -> Result<u64, Error> {
        if let Some(closing) = self.path(blocker.lock_ts, waiter) {
            return Err(Error::deadlock(blocker.lock_ts, &blocker.key, hash(&closing)));
        }
        self.next_id += 1;
        self.edges.push(Edge { id: self.next_id, waiter, blocker: blocker.clone() });
        Ok(self.next_id)
    }

    pub fn end(&mut self, id: u64) {
        self.edges.retain(|edge| edge.id != id);
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// The key for which the last of a chain from one transaction to the other waits.
    fn path(&self, from: u64, to: u64) -> Option<Vec<u8>> {
        let mut open = vec![from];
        let mut seen = Vec::new();
        while let Some(waiter) = open.pop() {
            if seen.contains(&waiter) {
                continue;
            }
            seen.push(waiter);
            for edge in self.edges.iter().filter(|edge| edge.waiter == waiter) {
                if edge.blocker.lock_ts == to {
                    return Some(edge.blocker.key.clone());
                }
                open.push(edge.blocker.lock_ts);
            }
        }
        None
    }
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocker(key: &[u8], lock_ts: u64) -> Blocker {
        Blocker { key: key.to_vec(), lock_ts }
    }

    #[test]
    fn a_circle_is_refused_and_a_chain_is_not() {
        let mut waits = Waits::default();
        waits.begin(1, &blocker(b"b", 2)).unwrap();
        let second = waits.begin(2, &blocker(b"c", 3)).unwrap();
        assert!(waits.begin(3, &blocker(b"a", 1)).is_err());
        waits.end(second);
        waits.begin(3, &blocker(b"a", 1)).unwrap();
        assert_eq!(waits.len(), 2);
    }
}
