//! What happens once, before the first command: the rows that describe the database are read, or written for the
//! first time.

use std::sync::atomic::Ordering;

use tarn_engine::{AnyEngine, Read as _, Wait, Write as _};

use super::Keyspace;
use super::garbage::DeadRows;
use super::local;
use super::parts::Parts;
use crate::encoding::system::FieldIndex;
use crate::encoding::{SYSTEM, system};
use crate::error::{Error, Result};

/// Conflicts with others that start at the same time before the start is given up.
const MAX_CONFLICTS: u32 = 64;

/// The keyspace of an engine, and the floor of its clock in milliseconds. `types` are those whose parts expire.
pub fn open(
    engine: &AnyEngine,
    types: &'static [Parts],
    databases: u16,
    fresh_seed: u64,
) -> Result<(Keyspace, u64)> {
    let keyspace = Keyspace::waiting(engine, types, databases);
    let floor_ms = complete(&keyspace, engine, fresh_seed)?;
    Ok((keyspace, floor_ms))
}

/// Reads what is on record into a keyspace that waits for it. Returns the floor of the clock in milliseconds.
pub fn complete(keyspace: &Keyspace, engine: &AnyEngine, fresh_seed: u64) -> Result<u64> {
    let mut conflicts = 0;
    loop {
        match complete_once(keyspace, engine, fresh_seed) {
            Err(stop) if stop.is_conflict() && conflicts < MAX_CONFLICTS => conflicts += 1,
            opened => return opened,
        }
    }
}

fn complete_once(keyspace: &Keyspace, engine: &AnyEngine, fresh_seed: u64) -> Result<u64> {
    let mut txn = engine.begin_write(Wait::Allowed);
    let number = |key: &[u8]| -> Result<Option<u64>> {
        let mut value = Vec::new();
        Ok(if txn.get(SYSTEM, key, &mut value)? { Some(system::read_u64(&value)?) } else { None })
    };
    let format = number(&system::format())?;
    if let Some(found) = format.filter(|found| *found > system::FORMAT_VERSION) {
        return Err(Error::reply(format!(
            "the data was written by a newer version (row format {found}, this one knows {})",
            system::FORMAT_VERSION
        ))
        .into());
    }
    let seed = number(&system::hash_seed())?;
    let floor_ms = number(&system::clock())?.unwrap_or(0);
    let field_index = FieldIndex::of(number(&system::field_index())?);
    let dead_rows = DeadRows::load(&txn)?;
    let record = keyspace.shared.read(&mut txn)?;
    let seed = seed.unwrap_or(fresh_seed);
    txn.put(SYSTEM, &system::format(), &[&system::FORMAT_VERSION.to_be_bytes()]);
    txn.put(SYSTEM, &system::hash_seed(), &[&seed.to_be_bytes()]);
    // A start on a full disk serves reads.
    txn.frees();
    txn.commit()?;
    engine.flush()?;
    local::sync(engine)?;
    keyspace.seed.store(seed, Ordering::Relaxed);
    keyspace.garbage.rows.set(dead_rows);
    keyspace.parts.set_index(field_index);
    keyspace.parts.set_sorts(field_index == FieldIndex::Whole);
    keyspace.shared.opened(record);
    keyspace.is_open.store(true, Ordering::Release);
    Ok(floor_ms)
}

#[cfg(test)]
mod tests {
    use tarn_engine::memory::{Call, Fault, Faults, MemoryEngine};

    use super::*;
    use crate::encoding::SPACES;

    #[test]
    fn a_start_that_meets_a_conflict_begins_anew() {
        let memory = MemoryEngine::new(SPACES);
        let twice =
            Faults::none().then(Call::Commit, 0, Fault::Conflict).then(Call::Commit, 0, Fault::Conflict);
        memory.set_faults(twice);
        let engine = AnyEngine::Memory(memory);
        let (first, _) = open(&engine, &[], 16, 7).unwrap();
        let (second, _) = open(&engine, &[], 16, 8).unwrap();
        assert_eq!((first.seed(), second.seed()), (7, 7), "what the first start has written counts");
    }
}
