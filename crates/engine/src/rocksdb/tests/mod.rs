//! Tests of the whole engine.

mod abandoned;
mod basic;
mod conformance;
mod damage;
mod faults;
mod faulty;
mod filter;
mod full;
mod groups;
mod long;
mod model;
mod moving;
pub mod random;
mod recovery;
mod replay;
mod tombstones;

use std::path::Path;

use super::*;
use crate::Groups;

/// Two bytes of group.
pub const FIXED: Space = Space(0);
/// A length byte, that many bytes of group.
pub const CHOSEN: Space = Space(1);
/// All in one group, queue-like.
pub const QUEUE: Space = Space(2);

pub static SPACES: [SpaceDef; 3] = [
    SpaceDef { name: "fixed", group_len: |key| key.len().min(2), queue_like: false, groups: Groups::Kept },
    SpaceDef {
        name: "chosen",
        group_len: |key| key.first().map_or(0, |len| (1 + usize::from(*len)).min(key.len())),
        queue_like: false,
        groups: Groups::Kept,
    },
    SpaceDef { name: "queue", group_len: |_| 0, queue_like: true, groups: Groups::Ordered },
];

pub const BUDGET: MemoryBudget =
    MemoryBudget { dirty_bytes: 64 << 20, row_cache_bytes: 4 << 20, block_cache_bytes: 8 << 20 };

pub fn options(dir: &Path) -> OpenOptions {
    OpenOptions {
        dir: dir.to_path_buf(),
        spaces: &SPACES,
        durability: Durability::EverySecond,
        memory: BUDGET,
        filter: None,
        truncate_damaged_log: false,
    }
}

pub fn open(dir: &Path) -> RocksEngine {
    RocksEngine::open(options(dir)).unwrap()
}

pub fn put(engine: &RocksEngine, space: Space, key: &[u8], value: &[u8]) -> Position {
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.put(space, key, &[value]);
    tx.commit().unwrap()
}

pub fn get(engine: &RocksEngine, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    get_from(&engine.begin_read(Wait::Allowed), space, key)
}

pub fn get_from(read: &impl Read, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    read.get(space, key, &mut out).unwrap().then_some(out)
}

pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

pub fn scan_from(
    read: &impl Read,
    space: Space,
    start: &[u8],
    end: &[u8],
    direction: Direction,
    limit: usize,
) -> Pairs {
    let mut pairs = Vec::new();
    read.scan(space, Range { start, end }, direction, limit, &mut |key, value| {
        pairs.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    pairs
}

impl RocksEngine {
    /// Everything committed goes into the sorted data.
    pub fn write_back_now(&self) {
        let number = self.inner.freeze().unwrap();
        self.inner.wait_for_unit(number).unwrap();
    }

    /// Leaves the directory as the end of the process would: nothing more is written or synced.
    pub fn crash(self) {
        self.inner.is_closed.store(true, Ordering::SeqCst);
        self.inner.end_threads();
    }
}
