//! Compaction asks what is garbage, and is told by more than one.

use super::*;
use crate::{Filter, Probe, Verdict};

/// A row of [`CHOSEN`] is garbage when the row of [`FIXED`] with the same key does not exist.
#[derive(Default)]
struct Orphans {
    judged: AtomicUsize,
    frozen: AtomicU64,
    written_back: AtomicU64,
}

impl Filter for Orphans {
    fn judge(&self, probe: &dyn Probe, space: Space, key: &[u8], _value: &[u8]) -> Verdict {
        self.judged.fetch_add(1, Ordering::SeqCst);
        if space != CHOSEN || probe.get(FIXED, key, &mut Vec::new()).unwrap_or(true) {
            return Verdict::Keep;
        }
        Verdict::Drop
    }

    fn before_write_back(&self) -> u64 {
        self.frozen.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn written_back(&self, mark: u64) {
        self.written_back.fetch_max(mark, Ordering::SeqCst);
    }
}

fn compact(engine: &RocksEngine) {
    let store = &engine.inner.store;
    let mut options = rust_rocksdb::CompactOptions::default();
    options.set_bottommost_level_compaction(rust_rocksdb::BottommostLevelCompaction::Force);
    store.db().compact_range_cf_opt(store.family(CHOSEN).unwrap(), None::<&[u8]>, None::<&[u8]>, &options);
    engine.inner.shards.forget_clean();
}

#[test]
fn garbage_goes_when_no_snapshot_sees_it_alive() {
    let dir = tempfile::tempdir().unwrap();
    let filter = Arc::new(Orphans::default());
    let given: Arc<dyn Filter> = filter.clone();
    let engine = RocksEngine::open(OpenOptions { filter: Some(given), ..options(dir.path()) }).unwrap();
    for key in [b"\x01a", b"\x01b"] {
        put(&engine, FIXED, key, b"alive");
        put(&engine, CHOSEN, key, b"part");
    }
    engine.write_back_now();
    compact(&engine);
    assert!(filter.judged.load(Ordering::SeqCst) >= 2);
    assert_eq!(get(&engine, CHOSEN, b"\x01a").unwrap(), b"part");

    let snapshot = engine.snapshot().unwrap();
    let mut tx = engine.begin_write(Wait::Allowed);
    tx.delete(FIXED, b"\x01a");
    tx.commit().unwrap();
    compact(&engine);
    assert_eq!(
        get(&engine, CHOSEN, b"\x01a").unwrap(),
        b"part",
        "a dirty row may still be lost: it does not count"
    );
    engine.write_back_now();
    compact(&engine);
    assert_eq!(get_from(&snapshot, CHOSEN, b"\x01a").unwrap(), b"part");
    assert_eq!(get(&engine, CHOSEN, b"\x01a").unwrap(), b"part", "a snapshot sees it alive");
    drop(snapshot);
    compact(&engine);
    assert_eq!(get(&engine, CHOSEN, b"\x01a"), None);
    assert_eq!(get(&engine, CHOSEN, b"\x01b").unwrap(), b"part");
    assert_eq!(filter.written_back.load(Ordering::SeqCst), filter.frozen.load(Ordering::SeqCst));
}
