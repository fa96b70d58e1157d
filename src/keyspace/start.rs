//! What happens once, before the first command: the rows that describe the database are read, or written for the
//! first time.

use std::ops::ControlFlow;

use tarn_engine::{AnyEngine, AnyWrite, Direction, Range, Read as _, Wait, Write as _};

use super::Keyspace;
use super::databases::Databases;
use super::garbage::{DeadRows, Garbage};
use super::parts::{ExpiringParts, Parts};
use super::versions::{RESERVE, Versions};
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
        )));
    }
    let seed = number(&system::hash_seed())?;
    let first = number(&system::version_limit())?.unwrap_or(1);
    let floor_ms = number(&system::clock())?.unwrap_or(0);
    let field_index = FieldIndex::of(number(&system::field_index())?);
    let physical = mapped(&txn, databases)?;
    let dead_rows = DeadRows::load(&txn)?;
    let limit = first.saturating_add(RESERVE);
    let seed = seed.unwrap_or(fresh_seed);
    txn.put(SYSTEM, &system::format(), &[&system::FORMAT_VERSION.to_be_bytes()]);
    txn.put(SYSTEM, &system::hash_seed(), &[&seed.to_be_bytes()]);
    txn.put(SYSTEM, &system::version_limit(), &[&limit.to_be_bytes()]);
    txn.commit()?;
    engine.flush()?;
    engine.sync()?;
    let keyspace = Keyspace {
        garbage: Garbage::new(dead_rows),
        parts: ExpiringParts::new(types, usize::from(databases), field_index),
        seed,
        databases: Databases::new(physical, usize::from(databases)),
        versions: Versions::reserved(first, limit),
    };
    Ok((keyspace, floor_ms))
}

/// The numbers of all databases up to the last that is wanted or on record.
fn mapped(txn: &AnyWrite<'_>, databases: u16) -> Result<Vec<u32>> {
    let mut numbers: Vec<u32> = (0..databases).map(u32::from).collect();
    let mut malformed = None;
    let (start, end) = system::all_databases();
    let range = Range { start: &start, end: &end };
    txn.scan(SYSTEM, range, Direction::Forward, usize::MAX, &mut |row, value| match (
        system::read_database(row),
        system::read_physical(value),
    ) {
        (Ok(logical), Ok(number)) => {
            for own in numbers.len()..=usize::from(logical) {
                numbers.push(own as u32);
            }
            if let Some(place) = numbers.get_mut(usize::from(logical)) {
                *place = number;
            }
            ControlFlow::Continue(())
        }
        (Err(bad), _) | (_, Err(bad)) => {
            malformed = Some(bad);
            ControlFlow::Break(())
        }
    })?;
    malformed.map_or(Ok(numbers), |bad| Err(bad.into()))
}
