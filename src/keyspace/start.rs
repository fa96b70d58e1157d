//! What happens once, before the first command: the rows that describe the database are read, or written for the
//! first time.

use tarn_engine::{AnyEngine, Read as _, Wait, Write as _};

use super::Keyspace;
use super::databases::Databases;
use super::versions::{RESERVE, Versions};
use crate::encoding::{SYSTEM, system};
use crate::error::{Error, Result};

/// The keyspace of an engine, and the floor of its clock in milliseconds.
pub fn open(engine: &AnyEngine, databases: u16, fresh_seed: u64) -> Result<(Keyspace, u64)> {
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
        )));
    }
    let seed = number(&system::hash_seed())?;
    let first = number(&system::version_limit())?.unwrap_or(1);
    let floor_ms = number(&system::clock())?.unwrap_or(0);
    let mut physical = Vec::new();
    for logical in 0..databases {
        let mapped = number(&system::database(logical))?.unwrap_or(u64::from(logical));
        physical.push(u32::try_from(mapped).map_err(|_| Error::Damaged("number of a database"))?);
    }
    let limit = first.saturating_add(RESERVE);
    let seed = seed.unwrap_or(fresh_seed);
    txn.put(SYSTEM, &system::format(), &[&system::FORMAT_VERSION.to_be_bytes()]);
    txn.put(SYSTEM, &system::hash_seed(), &[&seed.to_be_bytes()]);
    txn.put(SYSTEM, &system::version_limit(), &[&limit.to_be_bytes()]);
    txn.commit()?;
    engine.flush()?;
    engine.sync()?;
    let keyspace =
        Keyspace { seed, databases: Databases::new(physical), versions: Versions::reserved(first, limit) };
    Ok((keyspace, floor_ms))
}
