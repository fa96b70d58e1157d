use super::MemoryEngine;
use crate::conformance::{Harness, SPACES};

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
