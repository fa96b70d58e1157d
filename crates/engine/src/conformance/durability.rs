//! What is told about durability, and what is there afterwards.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::{
    ALL, GROUPED, Harness, PLAIN, QUEUE, all, assert_unavailable, committed, delete, get, local, owned, put,
};
use crate::{Durability, Engine, MemoryBudget, Position, Read, Wait, Write};

/// Waits on an engine's notifications until a position is durable.
struct Herald {
    told: Arc<(Mutex<u64>, Condvar)>,
}

impl Herald {
    fn new(engine: &impl Engine) -> Herald {
        let told = Arc::new((Mutex::new(0), Condvar::new()));
        let notify = Arc::clone(&told);
        engine.notify_durable(Arc::new(move || {
            *notify.0.lock().unwrap() += 1;
            notify.1.notify_all();
        }));
        Herald { told }
    }

    fn wait(&self, engine: &impl Engine, position: Position) {
        let mut told = self.told.0.lock().unwrap();
        while engine.durable() < position {
            told = self.told.1.wait(told).unwrap();
        }
    }
}

pub fn flush_covers_every_commit(harness: &impl Harness) {
    let engine = harness.open();
    assert_eq!(engine.flush().unwrap(), Position(0));
    let herald = Herald::new(&engine);
    for index in 0..10 {
        let position = put(&engine, PLAIN, [(format!("{index}"), "v")]);
        let flushed = engine.flush().unwrap();
        assert!(flushed >= position, "{flushed:?} does not cover {position:?}");
        herald.wait(&engine, position);
        assert!(engine.durable() >= position);
    }
    let before = engine.flush().unwrap();
    assert_eq!(engine.flush().unwrap(), before, "nothing was committed between");
}

pub fn durability_is_told(harness: &impl Harness) {
    let engine = harness.open();
    let counts = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    for count in &counts {
        let count = Arc::clone(count);
        engine.notify_durable(Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        }));
    }
    // Registered last, and so told last by an engine that tells in order; the others have to be told as well.
    let herald = Herald::new(&engine);
    let position = put(&engine, PLAIN, [("a", "1")]);
    engine.flush().unwrap();
    herald.wait(&engine, position);
    while counts.iter().any(|count| count.load(Ordering::SeqCst) == 0) {
        std::thread::yield_now();
    }
}

pub fn every_durability_setting_gets_there(harness: &impl Harness) {
    let engine = harness.open();
    let herald = Herald::new(&engine);
    for (round, durability) in
        [Durability::Always, Durability::EverySecond, Durability::Os, Durability::Always]
            .into_iter()
            .enumerate()
    {
        local(harness, &engine).set_durability(durability);
        let position = put(&engine, PLAIN, [("a", round.to_string())]);
        engine.flush().unwrap();
        herald.wait(&engine, position);
        assert_eq!(committed(&engine, PLAIN, "a"), Some(round.to_string().into_bytes()));
        local(harness, &engine).sync().unwrap();
    }
}

/// Writes rows into every space over a few layers and returns what they must be.
fn fill<H: Harness>(harness: &H, engine: &H::Engine) -> Vec<Vec<super::Row>> {
    for layer in 0..3 {
        for space in [PLAIN, GROUPED, QUEUE] {
            let rows = (layer * 50..layer * 50 + 100)
                .map(|index| (format!("{index:03}"), format!("{layer}/{index}")));
            put(engine, space, rows);
            delete(engine, space, [format!("{:03}", layer * 50 + 7)]);
        }
        if layer < 2 {
            harness.move_rows_down(engine);
        }
    }
    [PLAIN, GROUPED, QUEUE].map(|space| all(&engine.begin_read(Wait::Allowed), space)).to_vec()
}

fn check(engine: &impl Engine, expected: &[Vec<super::Row>]) {
    for (space, rows) in [PLAIN, GROUPED, QUEUE].into_iter().zip(expected) {
        assert_eq!(rows.len(), 197);
        assert_eq!(&all(&engine.begin_read(Wait::Allowed), space), rows);
        assert_eq!(committed(engine, space, "057"), None);
        assert_eq!(committed(engine, space, "058"), Some(b"1/58".to_vec()));
    }
}

pub fn flushed_rows_are_there_after_reopening(harness: &impl Harness) {
    let engine = harness.open();
    let expected = fill(harness, &engine);
    let before = engine.flush().unwrap();
    let engine = harness.reopen(engine);
    check(&engine, &expected);
    let after = put(&engine, PLAIN, [("later", "1")]);
    assert!(after > before, "positions go on after {before:?}, but the next was {after:?}");
    engine.flush().unwrap();
    let engine = harness.reopen(engine);
    let engine = harness.reopen(engine);
    assert_eq!(committed(&engine, PLAIN, "later"), Some(b"1".to_vec()));
    delete(&engine, PLAIN, ["later"]);
    check(&engine, &expected);
}

pub fn closed_and_reopened_nothing_is_missing(harness: &impl Harness) {
    let engine = harness.open();
    let expected = fill(harness, &engine);
    // Without a flush: closing syncs.
    engine.close().unwrap();
    let engine = harness.reopen(engine);
    check(&engine, &expected);
}

pub fn a_deleted_range_stays_deleted(harness: &impl Harness) {
    let engine = harness.open();
    let expected = fill(harness, &engine);
    engine.close().unwrap();
    let engine = harness.reopen(engine);
    local(harness, &engine).delete_range(PLAIN, ALL).unwrap();
    engine.close().unwrap();
    let engine = harness.reopen(engine);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), PLAIN), []);
    assert_eq!(all(&engine.begin_read(Wait::Allowed), QUEUE), expected[2]);
}

pub fn a_checkpoint_is_a_database(harness: &impl Harness) {
    let engine = harness.open();
    let expected = fill(harness, &engine);
    let copy = harness.open_copy(&engine);
    check(&copy, &expected);
    // From here on they are apart.
    put(&engine, PLAIN, [("only here", "1")]);
    delete(&copy, QUEUE, ["058"]);
    check(&copy, &expected[..2]);
    assert_eq!(committed(&copy, PLAIN, "only here"), None);
    assert_eq!(committed(&engine, QUEUE, "058"), Some(b"1/58".to_vec()));
}

pub fn a_closed_engine_is_unavailable(harness: &impl Harness) {
    let engine = harness.open();
    put(&engine, PLAIN, [("a", "1")]);
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"b", &[b"1"]);
    engine.close().unwrap();
    assert_unavailable("commit of a write that was open", write.commit());
    assert_unavailable("get", engine.begin_read(Wait::Allowed).get(PLAIN, b"a", &mut Vec::new()));
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, b"c", &[b"1"]);
    assert_unavailable("commit", write.commit());
    assert_unavailable("snapshot", engine.snapshot());
    assert_unavailable("flush", engine.flush());
}

pub fn a_closed_store_is_unavailable(harness: &impl Harness) {
    let engine = harness.open();
    engine.close().unwrap();
    let local = local(harness, &engine);
    assert_unavailable("sync", local.sync());
    assert_unavailable("delete_range", local.delete_range(PLAIN, ALL));
    assert_unavailable("checkpoint", local.checkpoint(&std::env::temp_dir().join("never-written")));
}

pub fn housekeeping_may_be_called_at_any_time(harness: &impl Harness) {
    let engine = harness.open();
    for round in 0..3_u8 {
        local(harness, &engine).suggest_compaction(PLAIN, ALL);
        assert!(local(harness, &engine).pressure() >= 0.0);
        assert!(engine.stats().write_error.is_none());
        local(harness, &engine).set_memory(MemoryBudget {
            dirty_bytes: (16 << 20) << round,
            row_cache_bytes: (1 << 20) << round,
            block_cache_bytes: (8 << 20) >> round,
        });
        put(&engine, PLAIN, [([round], "v")]);
        harness.move_rows_down(&engine);
    }
    let snapshot = engine.snapshot().unwrap();
    local(harness, &engine).suggest_compaction(PLAIN, ALL);
    assert_eq!(all(&snapshot, PLAIN), owned([([0], "v"), ([1], "v"), ([2], "v")]));
    assert_eq!(get(&snapshot, PLAIN, [1]), Some(b"v".to_vec()));
}
