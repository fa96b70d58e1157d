//! The choice of engine as one enum.
//!
//! Each call is a `match` over the variants, so that the layers above name no engine and carry no type parameter,
//! and the compiler still sees through to the engine's own code.

use std::time::Duration;

use crate::memory::{MemoryEngine, MemoryRead, MemorySnapshot, MemoryWrite};
use crate::rocksdb::{RocksEngine, RocksRead, RocksSnapshot, RocksWrite};
#[cfg(feature = "tikv")]
use crate::tikv::{TikvEngine, TikvRead, TikvSnapshot, TikvWrite};
use crate::{
    Contended, Engine, Hint, LocalStore, Notify, Position, Result, Savepoint, Space, Stats, Wait, Witness,
    Write,
};

/// One of the engines.
pub enum AnyEngine {
    Memory(MemoryEngine),
    RocksDb(RocksEngine),
    #[cfg(feature = "tikv")]
    Tikv(TikvEngine),
}

/// A reading transaction of one of the engines.
pub enum AnyRead<'e> {
    Memory(MemoryRead<'e>),
    RocksDb(RocksRead<'e>),
    #[cfg(feature = "tikv")]
    Tikv(Box<TikvRead<'e>>),
}

/// A writing transaction of one of the engines.
pub enum AnyWrite<'e> {
    Memory(MemoryWrite<'e>),
    RocksDb(RocksWrite<'e>),
    #[cfg(feature = "tikv")]
    Tikv(Box<TikvWrite<'e>>),
}

/// A snapshot of one of the engines.
pub enum AnySnapshot {
    Memory(MemorySnapshot),
    RocksDb(RocksSnapshot),
    #[cfg(feature = "tikv")]
    Tikv(Box<TikvSnapshot>),
}

/// Runs the same expression on whichever variant there is. An engine is added here and in the four enums.
macro_rules! either {
    ($this:expr, $inner:ident => $call:expr) => {
        match $this {
            Self::Memory($inner) => $call,
            Self::RocksDb($inner) => $call,
            #[cfg(feature = "tikv")]
            Self::Tikv($inner) => $call,
        }
    };
    ($this:expr, $inner:ident => $call:expr, into $out:ident) => {
        match $this {
            Self::Memory($inner) => $out::Memory($call),
            Self::RocksDb($inner) => $out::RocksDb($call),
            #[cfg(feature = "tikv")]
            // In a box: the others are handed on often, and are not to be as large as this.
            Self::Tikv($inner) => $out::Tikv(Box::new($call)),
        }
    };
}

/// The verbs of [`Engine`], with its contract.
impl AnyEngine {
    #[inline]
    pub fn begin_read(&self, wait: Wait) -> AnyRead<'_> {
        either!(self, e => e.begin_read(wait), into AnyRead)
    }

    #[inline]
    pub fn begin_write(&self, wait: Wait) -> AnyWrite<'_> {
        either!(self, e => e.begin_write(wait), into AnyWrite)
    }

    #[inline]
    pub fn begin_again(&self, wait: Wait, contended: &Contended) -> AnyWrite<'_> {
        either!(self, e => e.begin_again(wait, contended), into AnyWrite)
    }

    pub fn timestamp(&self) -> Option<Result<u64>> {
        either!(self, e => e.timestamp())
    }

    pub fn witness(&self, rows: &[(Space, &[u8])]) -> Result<Option<Witness>> {
        either!(self, e => e.witness(rows))
    }

    pub fn settle(&self) -> Result<()> {
        either!(self, e => e.settle())
    }

    pub fn drop_old_versions(&self, age: Duration) -> Result<()> {
        either!(self, e => e.drop_old_versions(age))
    }

    #[inline]
    pub fn snapshot(&self) -> Result<AnySnapshot> {
        Ok(either!(self, e => e.snapshot()?, into AnySnapshot))
    }

    #[inline]
    pub fn flush(&self) -> Result<Position> {
        either!(self, e => e.flush())
    }

    #[inline]
    pub fn durable(&self) -> Position {
        either!(self, e => e.durable())
    }

    pub fn notify_durable(&self, notify: Notify) {
        either!(self, e => e.notify_durable(notify))
    }

    /// What it does as an engine with files of its own on this machine; none where it has none.
    #[inline]
    pub fn local(&self) -> Option<&dyn LocalStore> {
        match self {
            AnyEngine::Memory(_) => None,
            AnyEngine::RocksDb(engine) => Some(engine),
            #[cfg(feature = "tikv")]
            AnyEngine::Tikv(_) => None,
        }
    }

    /// Whether other processes may reach the same rows.
    pub fn is_shared(&self) -> bool {
        match self {
            AnyEngine::Memory(_) | AnyEngine::RocksDb(_) => false,
            #[cfg(feature = "tikv")]
            AnyEngine::Tikv(_) => true,
        }
    }

    /// Whether its rows are out of reach for now.
    #[inline]
    pub fn is_away(&self) -> bool {
        match self {
            AnyEngine::Memory(_) | AnyEngine::RocksDb(_) => false,
            #[cfg(feature = "tikv")]
            AnyEngine::Tikv(engine) => engine.is_away(),
        }
    }

    /// Whether a [`crate::Filter`] is shown the rows in their time.
    pub fn has_filter(&self) -> bool {
        !self.is_shared()
    }

    #[inline]
    pub fn keeps_resident(&self) -> bool {
        either!(self, e => e.keeps_resident())
    }

    #[inline]
    pub fn locks_may_follow(&self) -> bool {
        either!(self, e => e.locks_may_follow())
    }

    #[inline]
    pub fn hint_row(&self, space: Space, key: &[u8]) -> Hint {
        either!(self, e => e.hint_row(space, key))
    }

    #[inline]
    pub fn hint_group(&self, space: Space, group: &[u8]) -> Hint {
        either!(self, e => e.hint_group(space, group))
    }

    #[inline]
    pub fn prefetch(&self, hints: &[Hint]) {
        either!(self, e => e.prefetch(hints))
    }

    pub fn stats(&self) -> Stats {
        either!(self, e => e.stats())
    }

    pub fn close(&self) -> Result<()> {
        either!(self, e => e.close())
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

read_through!(['e] AnyRead<'e>, either);
read_through!(['e] AnyWrite<'e>, either);
read_through!([] AnySnapshot, either);

impl Write for AnyWrite<'_> {
    #[inline]
    fn put(&mut self, space: Space, key: &[u8], value: &[&[u8]]) {
        either!(self, w => w.put(space, key, value))
    }

    #[inline]
    fn delete(&mut self, space: Space, key: &[u8]) {
        either!(self, w => w.delete(space, key))
    }

    #[inline]
    fn get_own(&self, space: Space, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        either!(self, w => w.get_own(space, key, out))
    }

    #[inline]
    fn changes(&self) -> usize {
        either!(self, w => w.changes())
    }

    fn each_change(&self, each: &mut dyn FnMut(Space, &[u8])) {
        either!(self, w => w.each_change(each))
    }

    #[inline]
    fn savepoint(&mut self) -> Savepoint {
        either!(self, w => w.savepoint())
    }

    #[inline]
    fn rollback_to(&mut self, to: Savepoint) {
        either!(self, w => w.rollback_to(to))
    }

    #[inline]
    fn lock(&mut self, space: Space, key: &[u8]) {
        either!(self, w => w.lock(space, key))
    }

    #[inline]
    fn refusal(&self) -> Option<crate::Error> {
        either!(self, w => w.refusal())
    }

    fn each_relied(&self, each: &mut dyn FnMut(Space, &[u8])) {
        either!(self, w => w.each_relied(each))
    }

    #[inline]
    fn frees(&mut self) {
        either!(self, w => w.frees())
    }

    #[inline]
    fn commit(self) -> Result<Position> {
        either!(self, w => w.commit())
    }

    #[inline]
    fn rollback(self) {
        either!(self, w => w.rollback())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::conformance::{PLAIN, SPACES};
    use crate::rocksdb::OpenOptions;
    use crate::{Direction, Durability, Error, MemoryBudget, Range, Read};

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
        assert_eq!(engine.local().is_some(), has_disk);
        assert!(engine.keeps_resident());
        assert!(engine.locks_may_follow());
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        engine.notify_durable(Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        }));
        if let Some(local) = engine.local() {
            local.set_durability(Durability::Always);
        }
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
        if let Some(local) = engine.local() {
            local.sync().unwrap();
        }
        assert!(engine.durable() >= position);
        engine.prefetch(&[engine.hint_row(PLAIN, b"a"), engine.hint_group(PLAIN, b"a")]);
        while told.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        let snapshot = engine.snapshot().unwrap();
        let mut write = engine.begin_write(Wait::Allowed);
        write.delete(PLAIN, b"a");
        write.commit().unwrap();
        assert_eq!(rows(&engine.begin_read(Wait::Allowed)), 0);
        assert_eq!(rows(&snapshot), 1);
        let mut found = Vec::new();
        snapshot
            .get_many(PLAIN, &[b"a", b"b"], &mut |index, value| found.push((index, value.is_some())))
            .unwrap();
        assert_eq!(found, [(0, true), (1, false)]);
        assert!(snapshot.get(PLAIN, b"a", &mut Vec::new()).unwrap());
        assert!(engine.stats().write_error.is_none());
        if let Some(local) = engine.local() {
            local.checkpoint(checkpoint).unwrap();
        }
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
