//! What only an engine with files of its own on this machine does, and what the others do in its place. Nothing above names
//! that contract.

use std::path::Path;

use tarn_engine::{
    AnyEngine, Direction, Durability, Error, MemoryBudget, Part, Range, Read as _, Result, Space, Wait,
    Write as _,
};

/// Rows that one transaction removes where a range cannot be removed as such.
const ROWS_PER_STEP: usize = 1024;

pub fn set_durability(engine: &AnyEngine, durability: Durability) {
    engine.local().into_iter().for_each(|local| local.set_durability(durability));
}

pub fn set_memory(engine: &AnyEngine, budget: MemoryBudget) {
    engine.local().into_iter().for_each(|local| local.set_memory(budget));
}

/// How full the room for rows is that are to be written back, from 0.0 on; writers slow down where it is high.
pub fn pressure(engine: &AnyEngine) -> f32 {
    engine.local().map_or(0.0, |local| local.pressure())
}

/// Makes every commit as durable as it can be, whatever the setting.
pub fn sync(engine: &AnyEngine) -> Result<()> {
    match engine.local() {
        Some(local) => local.sync(),
        None => engine.flush().map(|_| ()),
    }
}

/// Removes the rows of a group that nobody will read or write again when that costs little; false where nothing comes of it.
pub fn abandon(engine: &AnyEngine, space: Space, group: &[u8]) -> Result<bool> {
    engine.local().map_or(Ok(false), |local| local.abandon(space, group))
}

/// Removes ranges that nobody writes to.
pub fn delete_ranges(engine: &AnyEngine, ranges: &[(Space, Range<'_>)]) -> Result<()> {
    match engine.local() {
        Some(local) => local.delete_ranges(ranges),
        None => ranges.iter().try_for_each(|(space, range)| delete_rows(engine, *space, *range)),
    }
}

fn delete_rows(engine: &AnyEngine, space: Space, range: Range<'_>) -> Result<()> {
    let mut start = range.start.to_vec();
    loop {
        let mut txn = engine.begin_write(Wait::Allowed);
        let mut doomed: Vec<Vec<u8>> = Vec::new();
        let rest = Range { start: &start, end: range.end };
        txn.scan(space, rest, Direction::Forward, ROWS_PER_STEP, &mut |key, _| {
            doomed.push(key.to_vec());
            std::ops::ControlFlow::Continue(())
        })?;
        doomed.iter().for_each(|key| txn.delete(space, key));
        txn.frees();
        match (txn.commit(), doomed.pop()) {
            (Err(Error::Conflict), _) => {}
            (Err(error), _) => return Err(error),
            (Ok(_), Some(last)) => start = last,
            (Ok(_), None) => return Ok(()),
        }
    }
}

/// Brings all commits into the sorted data, so that the log is short.
pub fn write_back(engine: &AnyEngine) -> Result<()> {
    engine.local().map_or(Ok(()), |local| local.write_back())
}

/// What a space consists of on disk.
pub fn parts(engine: &AnyEngine, space: Space) -> Result<Vec<Part>> {
    engine.local().map_or(Ok(Vec::new()), |local| local.parts(space))
}

/// Rewrites what the disk holds of a range, so that garbage goes.
pub fn compact(engine: &AnyEngine, space: Space, range: Range<'_>) -> Result<()> {
    engine.local().map_or(Ok(()), |local| local.compact(space, range))
}

/// Writes a consistent copy that opens as a database of its own into `path`, which must not exist.
pub fn checkpoint(engine: &AnyEngine, path: &Path) -> Result<()> {
    match engine.local() {
        Some(local) => local.checkpoint(path),
        None => Err(Error::Unavailable("this engine has no files that could be copied".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use tarn_engine::memory::{Call, Fault, Faults, MemoryEngine};

    use super::*;
    use crate::encoding::{DATA, META, SPACES};

    fn rows(engine: &AnyEngine, space: Space) -> Vec<Vec<u8>> {
        let mut rows = Vec::new();
        let all = Range { start: b"", end: b"\xff\xff" };
        engine
            .begin_read(Wait::Allowed)
            .scan(space, all, Direction::Forward, usize::MAX, &mut |key, _| {
                rows.push(key.to_vec());
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        rows
    }

    #[test]
    fn a_range_is_removed_in_steps_also_where_steps_conflict() {
        for count in [0, 1, ROWS_PER_STEP - 1, ROWS_PER_STEP, ROWS_PER_STEP + 1, 5000] {
            let memory = MemoryEngine::new(SPACES);
            memory.set_faults(Faults::none().then(Call::Commit, 1, Fault::Conflict));
            let engine = AnyEngine::Memory(memory);
            let mut txn = engine.begin_write(Wait::Allowed);
            for row in 0..count as u32 {
                txn.put(DATA, &row.to_be_bytes(), &[b"v"]);
            }
            txn.put(DATA, b"\xff", &[b"kept"]);
            txn.put(META, b"\0", &[b"kept"]);
            txn.commit().unwrap();
            delete_ranges(&engine, &[(DATA, Range { start: b"", end: b"\xff" })]).unwrap();
            assert_eq!((rows(&engine, DATA), rows(&engine, META)), (vec![vec![255]], vec![vec![0]]));
        }
    }

    #[test]
    fn an_engine_without_files_is_not_copied() {
        let engine = AnyEngine::Memory(MemoryEngine::new(SPACES));
        let copied = checkpoint(&engine, &std::env::temp_dir().join("never-written"));
        assert!(matches!(copied, Err(Error::Unavailable(_))), "{copied:?}");
        assert!(pressure(&engine) == 0.0 && sync(&engine).is_ok());
    }
}
