//! The conformance suite on this engine, and what is its own.

mod faults;
mod serial;
mod sweep;
mod versions;

use super::MemoryEngine;
use crate::conformance::{Harness, PLAIN, SPACES};
use crate::{Engine, Position, Read, Result, Wait, Write};

fn try_put(engine: &MemoryEngine, key: &[u8], value: &[u8]) -> Result<Position> {
    let mut write = engine.begin_write(Wait::Allowed);
    write.put(PLAIN, key, &[value]);
    write.commit()
}

fn put(engine: &MemoryEngine, key: &[u8], value: &[u8]) {
    try_put(engine, key, value).unwrap();
}

fn delete(engine: &MemoryEngine, key: &[u8]) {
    let mut write = engine.begin_write(Wait::Allowed);
    write.delete(PLAIN, key);
    write.commit().unwrap();
}

fn get(read: &impl Read, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    read.get(PLAIN, key, &mut out).unwrap().then_some(out)
}

fn committed(engine: &MemoryEngine, key: &[u8]) -> Option<Vec<u8>> {
    get(&engine.begin_read(Wait::Allowed), key)
}

struct Memory;

impl Harness for Memory {
    type Engine = MemoryEngine;

    fn open(&self) -> MemoryEngine {
        MemoryEngine::new(SPACES)
    }

    fn has_disk(&self) -> bool {
        false
    }

    fn reopen(&self, engine: MemoryEngine) -> MemoryEngine {
        engine
    }

    fn open_copy(&self, _engine: &MemoryEngine) -> Option<MemoryEngine> {
        None
    }

    fn detects_conflicts(&self) -> bool {
        true
    }

    fn settle(&self, _engine: &MemoryEngine) {}
}

crate::conformance_suite!(Memory);
