//! What happens once, before the first command: the rows that describe the database are read, or written for the
//! first time.

use tarn_engine::{AnyEngine, Read as _, Wait, Write as _};

use super::Keyspace;
use super::garbage::{DeadRows, Garbage};
use super::local;
use super::parts::{ExpiringParts, Parts};
use super::shared::Shared;
use crate::encoding::system::FieldIndex;
use crate::encoding::{SYSTEM, system};
use crate::error::{Error, Result};

/// The keyspace of an engine, and the floor of its clock in milliseconds. `types` are those whose parts expire.
pub fn open(
    engine: &AnyEngine,
    types: &'static [Parts],
    databases: u16,
    fresh_seed: u64,
) -> Result<(Keyspace, u64)> {
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
    let shared = Shared::open(&mut txn, databases)?;
    let seed = seed.unwrap_or(fresh_seed);
    txn.put(SYSTEM, &system::format(), &[&system::FORMAT_VERSION.to_be_bytes()]);
    txn.put(SYSTEM, &system::hash_seed(), &[&seed.to_be_bytes()]);
    txn.commit()?;
    engine.flush()?;
    local::sync(engine)?;
    let keyspace = Keyspace {
        garbage: Garbage::new(dead_rows),
        parts: ExpiringParts::new(types, usize::from(databases), field_index),
        seed,
        shared,
    };
    Ok((keyspace, floor_ms))
}
