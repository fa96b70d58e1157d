//! The choice of engine as one enum.
//!
//! Each call is a `match` over the variants, so that the layers above name no engine and carry no type parameter,
//! and the compiler still sees through to the engine's own code.

use std::ops::ControlFlow;
use std::path::Path;

use crate::memory::{MemoryEngine, MemoryRead, MemorySnapshot, MemoryWrite};
use crate::rocksdb::{RocksEngine, RocksRead, RocksSnapshot, RocksWrite};
use crate::{
    Direction, Durability, Engine, Expected, MemoryBudget, Notify, Part, Position, Range, Ranked, Read,
    Result, Savepoint, Space, Stats, Wait, Write,
};

/// One of the engines.
pub enum AnyEngine {
    Memory(MemoryEngine),
    RocksDb(RocksEngine),
}

/// A reading transaction of one of the engines.
pub enum AnyRead<'e> {
    Memory(MemoryRead<'e>),
    RocksDb(RocksRead<'e>),
}

/// A writing transaction of one of the engines.
pub enum AnyWrite<'e> {
    Memory(MemoryWrite<'e>),
    RocksDb(RocksWrite<'e>),
}

/// A snapshot of one of the engines.
pub enum AnySnapshot {
    Memory(MemorySnapshot),
    RocksDb(RocksSnapshot),
}

/// Runs the same expression on whichever variant there is. An engine is added here and in the four enums.
macro_rules! each {
    ($kind:ident, $this:expr, $inner:ident => $call:expr) => {
        match $this {
            $kind::Memory($inner) => $call,
            $kind::RocksDb($inner) => $call,
        }
    };
    ($kind:ident, $this:expr, $inner:ident => $call:expr, into $out:ident) => {
        match $this {
            $kind::Memory($inner) => $out::Memory($call),
            $kind::RocksDb($inner) => $out::RocksDb($call),
        }
    };
    ($kind:ident, $this:expr, $inner:ident => $call:expr, into result $out:ident) => {
        match $this {
            $kind::Memory($inner) => $call.map($out::Memory),
            $kind::RocksDb($inner) => $call.map($out::RocksDb),
        }
    };
}

/// The verbs of [`Engine`], with its contract.
impl AnyEngine {
    #[inline]
    pub fn begin_read(&self, wait: Wait) -> AnyRead<'_> {
        each!(AnyEngine, self, e => e.begin_read(wait), into AnyRead)
    }

    #[inline]
    pub fn begin_write(&self, wait: Wait) -> AnyWrite<'_> {
        each!(AnyEngine, self, e => e.begin_write(wait), into AnyWrite)
    }

    #[inline]
    pub fn snapshot(&self) -> Result<AnySnapshot> {
        each!(AnyEngine, self, e => e.snapshot(), into result AnySnapshot)
    }

    #[inline]
    pub fn flush(&self) -> Result<Position> {
        each!(AnyEngine, self, e => e.flush())
    }

    #[inline]
    pub fn durable(&self) -> Position {
        each!(AnyEngine, self, e => e.durable())
    }

    pub fn notify_durable(&self, notify: Notify) {
        each!(AnyEngine, self, e => e.notify_durable(notify))
    }

    pub fn set_durability(&self, durability: Durability) {
        each!(AnyEngine, self, e => e.set_durability(durability))
    }

    pub fn set_memory(&self, budget: MemoryBudget) {
        each!(AnyEngine, self, e => e.set_memory(budget))
    }

    #[inline]
    pub fn pressure(&self) -> f32 {
        each!(AnyEngine, self, e => e.pressure())
    }

    pub fn delete_range(&self, space: Space, range: Range<'_>) -> Result<()> {
        each!(AnyEngine, self, e => e.delete_range(space, range))
    }

    pub fn abandon(&self, space: Space, group: &[u8]) -> Result<bool> {
        each!(AnyEngine, self, e => e.abandon(space, group))
    }

    #[inline]
    pub fn expect(&self, space: Space, key: &[u8]) -> Expected {
        each!(AnyEngine, self, e => e.expect(space, key))
    }

    #[inline]
    pub fn expect_group(&self, space: Space, group: &[u8]) -> Expected {
        each!(AnyEngine, self, e => e.expect_group(space, group))
    }

    #[inline]
    pub fn prefetch(&self, what: &[Expected]) {
        each!(AnyEngine, self, e => e.prefetch(what))
    }

    pub fn suggest_compaction(&self, space: Space, range: Range<'_>) {
        each!(AnyEngine, self, e => e.suggest_compaction(space, range))
    }

    pub fn parts(&self, space: Space) -> Result<Vec<Part>> {
        each!(AnyEngine, self, e => e.parts(space))
    }

    pub fn compact(&self, space: Space, range: Range<'_>) -> Result<()> {
        each!(AnyEngine, self, e => e.compact(space, range))
    }

    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        each!(AnyEngine, self, e => e.checkpoint(path))
    }

    pub fn sync(&self) -> Result<()> {
        each!(AnyEngine, self, e => e.sync())
    }

    pub fn stats(&self) -> Stats {
        each!(AnyEngine, self, e => e.stats())
    }

    pub fn close(&self) -> Result<()> {
        each!(AnyEngine, self, e => e.close())
    }
}

impl From<MemoryEngine> for AnyEngine {
    fn from(engine: MemoryEngine) -> Self {
        AnyEngine::Memory(engine)
    }
}

impl From<RocksEngine> for AnyEngine {
    fn from(engine: RocksEngine) -> Self {
        AnyEngine::RocksDb(engine)
    }
}

macro_rules! any_read {
    ($kind:ident $(<$life:lifetime>)?) => {
        impl $(<$life>)? Read for $kind $(<$life>)? {
            #[inline]
            fn get(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
                each!($kind, self, r => r.get(space, key, out))
            }

            #[inline]
            fn get_many(
                &self,
                space: Space,
                keys: &[&[u8]],
                each: &mut dyn FnMut(usize, Option<&[u8]>),
            ) -> Result<()> {
                each!($kind, self, r => r.get_many(space, keys, each))
            }

            #[inline]
            fn scan(
                &self,
                space: Space,
                range: Range<'_>,
                direction: Direction,
                limit: usize,
                each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
            ) -> Result<()> {
                each!($kind, self, r => r.scan(space, range, direction, limit, each))
            }

            #[inline]
            fn nth(
                &self,
                space: Space,
                range: Range<'_>,
                rank: usize,
                show: &mut dyn FnMut(&[u8], &[u8]),
            ) -> Result<Option<usize>> {
                each!($kind, self, r => r.nth(space, range, rank, show))
            }

            #[inline]
            fn nth_at_once(
                &self,
                space: Space,
                range: Range<'_>,
                rank: usize,
                show: &mut dyn FnMut(&[u8], &[u8]),
            ) -> Result<Ranked> {
                each!($kind, self, r => r.nth_at_once(space, range, rank, show))
            }

            #[inline]
            fn pick(
                &self,
                space: Space,
                group: &[u8],
                draw: &mut dyn FnMut() -> u64,
                show: &mut dyn FnMut(&[u8], &[u8]),
            ) -> Result<bool> {
                each!($kind, self, r => r.pick(space, group, draw, show))
            }
        }
    };
}

any_read!(AnyRead<'e>);
any_read!(AnyWrite<'e>);
any_read!(AnySnapshot);

impl Write for AnyWrite<'_> {
    #[inline]
    fn put(&mut self, space: Space, key: &[u8], value: &[&[u8]]) {
        each!(AnyWrite, self, w => w.put(space, key, value))
    }

    #[inline]
    fn delete(&mut self, space: Space, key: &[u8]) {
        each!(AnyWrite, self, w => w.delete(space, key))
    }

    #[inline]
    fn get_own(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        each!(AnyWrite, self, w => w.get_own(space, key, out))
    }

    #[inline]
    fn changes(&self) -> usize {
        each!(AnyWrite, self, w => w.changes())
    }

    #[inline]
    fn savepoint(&mut self) -> Savepoint {
        each!(AnyWrite, self, w => w.savepoint())
    }

    #[inline]
    fn rollback_to(&mut self, to: Savepoint) {
        each!(AnyWrite, self, w => w.rollback_to(to))
    }

    #[inline]
    fn lock(&mut self, space: Space, key: &[u8]) {
        each!(AnyWrite, self, w => w.lock(space, key))
    }

    #[inline]
    fn commit(self) -> Result<Position> {
        each!(AnyWrite, self, w => w.commit())
    }

    #[inline]
    fn rollback(self) {
        each!(AnyWrite, self, w => w.rollback())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Error;
    use crate::conformance::{PLAIN, SPACES};
    use crate::rocksdb::OpenOptions;

    const ALL: Range<'static> = Range { start: b"", end: b"\xff" };

    fn rows(read: &impl Read) -> usize {
        let mut rows = 0;
        read.scan(PLAIN, ALL, Direction::Forward, usize::MAX, &mut |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        rows
    }

    /// Each verb must reach the verb of the same name.
    fn check(engine: AnyEngine, has_disk: bool, checkpoint: &Path) {
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        engine.notify_durable(Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        }));
        engine.set_durability(Durability::Always);
        engine.set_memory(MemoryBudget {
            dirty_bytes: 64 << 20,
            row_cache_bytes: 1 << 20,
            block_cache_bytes: 8 << 20,
        });
        let mut write = engine.begin_write(Wait::Allowed);
        assert!(!write.is_dirty());
        write.put(PLAIN, b"a", &[b"1"]);
        write.put(PLAIN, b"b", &[b"1"]);
        write.delete(PLAIN, b"b");
        assert!(write.is_dirty());
        assert_eq!(rows(&write), 1);
        let position = write.commit().unwrap();
        let mut write = engine.begin_write(Wait::Never);
        write.lock(PLAIN, b"c");
        let before = write.savepoint();
        write.put(PLAIN, b"c", &[b"1"]);
        write.rollback_to(before);
        assert!(!write.is_dirty());
        write.put(PLAIN, b"c", &[b"1"]);
        write.rollback();
        assert!(engine.flush().unwrap() >= position);
        engine.sync().unwrap();
        assert!(engine.durable() >= position);
        while told.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        let snapshot = engine.snapshot().unwrap();
        engine.suggest_compaction(PLAIN, ALL);
        engine.delete_range(PLAIN, ALL).unwrap();
        assert_eq!(rows(&engine.begin_read(Wait::Allowed)), 0);
        assert_eq!(rows(&snapshot), 1);
        let mut found = Vec::new();
        snapshot
            .get_many(PLAIN, &[b"a", b"b"], &mut |index, value| found.push((index, value.is_some())))
            .unwrap();
        assert_eq!(found, [(0, true), (1, false)]);
        assert!(snapshot.get(PLAIN, b"a", &mut Vec::new()).unwrap());
        assert!(engine.pressure() < 0.5);
        assert!(engine.stats().write_error.is_none());
        assert_eq!(engine.checkpoint(checkpoint).is_ok(), has_disk);
        assert_eq!(checkpoint.exists(), has_disk);
        drop(snapshot);
        engine.close().unwrap();
        assert!(matches!(engine.flush(), Err(Error::Unavailable(_))));
    }

    #[test]
    fn every_verb_reaches_the_memory_engine() {
        let dir = tempfile::tempdir().unwrap();
        check(MemoryEngine::new(SPACES).into(), false, &dir.path().join("copy"));
    }

    #[test]
    fn every_verb_reaches_the_embedded_engine() {
        let dir = tempfile::tempdir().unwrap();
        let memory =
            MemoryBudget { dirty_bytes: 64 << 20, row_cache_bytes: 1 << 20, block_cache_bytes: 8 << 20 };
        let engine = RocksEngine::open(OpenOptions {
            dir: dir.path().join("data"),
            spaces: SPACES,
            durability: Durability::Os,
            memory,
            filter: None,
            truncate_damaged_log: false,
        });
        check(AnyEngine::RocksDb(engine.unwrap()), true, &dir.path().join("copy"));
    }
}
