use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::MemoryEngine;
use super::{committed, get, put};
use crate::conformance::{PLAIN, QUEUE, SPACES};
use crate::{Engine, Filter, Probe, Range, Space, Verdict, Wait, Write};

/// Drops rows of the plain space whose key names no row of the queue space.
#[derive(Default)]
struct Orphans {
    judged: AtomicU64,
    marks: AtomicU64,
}

impl Filter for Orphans {
    fn judge(&self, probe: &dyn Probe, space: Space, key: &[u8], _value: &[u8]) -> Verdict {
        self.judged.fetch_add(1, Ordering::SeqCst);
        let owner = probe.get(QUEUE, &key[..1], &mut Vec::new()).unwrap();
        if space == PLAIN && !owner { Verdict::Drop } else { Verdict::Keep }
    }

    fn before_write_back(&self) -> u64 {
        42
    }

    fn written_back(&self, mark: u64) {
        self.marks.fetch_add(mark, Ordering::SeqCst);
    }
}

fn wait_until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::yield_now();
    }
}

fn owner(engine: &MemoryEngine, key: &[u8]) {
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(QUEUE, key, &[b""]);
    write.commit().unwrap();
}

#[test]
fn a_suggestion_sweeps_its_range() {
    let engine = MemoryEngine::new(SPACES);
    let filter = Arc::new(Orphans::default());
    engine.set_filter(filter.clone()).unwrap();
    owner(&engine, b"b");
    for key in [b"a1", b"a2", b"b1", b"c1"] {
        put(&engine, key, b"v");
    }
    let snapshot = engine.snapshot().unwrap();
    engine.suggest_sweep(PLAIN, Range { start: b"a", end: b"c" });
    wait_until(|| committed(&engine, b"a2").is_none());
    assert_eq!(committed(&engine, b"a1"), None);
    assert_eq!(committed(&engine, b"b1"), Some(b"v".to_vec()));
    assert_eq!(committed(&engine, b"c1"), Some(b"v".to_vec()), "outside of the range");
    assert_eq!(get(&snapshot, b"a1"), Some(b"v".to_vec()), "a snapshot keeps what it saw");
    assert_eq!(filter.judged.load(Ordering::SeqCst), 3);
    assert_eq!(filter.marks.load(Ordering::SeqCst), 42);
    engine.close().unwrap();
    assert_eq!(Arc::strong_count(&filter), 1, "the thread has ended");
}

#[test]
fn enough_writes_sweep_everything() {
    let engine = MemoryEngine::new(SPACES);
    let filter = Arc::new(Orphans::default());
    engine.set_filter(filter.clone()).unwrap();
    owner(&engine, b"k");
    put(&engine, b"kept", b"v");
    put(&engine, b"orphan", b"v");
    assert_eq!(filter.judged.load(Ordering::SeqCst), 0);
    for round in 0..super::super::sweep::SWEEP_AFTER_ROWS {
        put(&engine, b"k-hot", &round.to_be_bytes());
    }
    wait_until(|| committed(&engine, b"orphan").is_none());
    assert_eq!(committed(&engine, b"kept"), Some(b"v".to_vec()));
    // Dropping the engine ends the thread too.
    drop(engine);
    assert_eq!(Arc::strong_count(&filter), 1);
}
