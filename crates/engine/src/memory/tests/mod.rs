//! The conformance suite on this engine, and what is its own.

mod faults;
mod serial;
mod sweep;
mod versions;

use super::{Isolation, MemoryEngine};
use crate::conformance::{Harness, PLAIN, Promise, SPACES};
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

struct Memory(Isolation);

impl Harness for Memory {
    type Engine = MemoryEngine;

    fn promises(&self) -> &'static [Promise] {
        match self.0 {
            Isolation::Snapshot => &[Promise::Conflicts, Promise::Blind, Promise::Fresh],
            Isolation::Serialisable => {
                &[Promise::Conflicts, Promise::Blind, Promise::Fresh, Promise::Serialisable]
            }
        }
    }

    fn open(&self) -> MemoryEngine {
        let engine = MemoryEngine::new(SPACES);
        engine.set_isolation(self.0);
        engine
    }
}

mod serialisable {
    use super::*;

    crate::conformance_suite!(
        Memory(Isolation::Serialisable),
        promised: [Conflicts, Blind, Fresh, Serialisable],
        not_promised: [Lasting, Local]
    );
}

mod snapshot_isolation {
    use super::*;

    crate::conformance_suite!(
        Memory(Isolation::Snapshot),
        promised: [Conflicts, Blind, Fresh],
        not_promised: [Lasting, Local, Serialisable]
    );
}
