//! Building a version over many commits.
//!
//! Rows of a version that is not live are seen by nobody. So the rows of a big collection are committed in batches as
//! they are made, and the command's own commit, which puts the metadata, makes all of them visible at once: readers see
//! all or nothing, and memory holds a batch. A command that fails, runs again or is killed half-way leaves rows of a
//! version that never becomes live, which compaction drops.
//!
//! The version comes from [`WriteCx::new_version`], which keeps it registered until the command's commit, and the
//! command's lock on the key is held throughout: see [`super::shared::Building`].

use std::time::Duration;

use tarn_engine::{AnyEngine, AnyWrite, Error as EngineError, Space, Wait, Write as _};

use super::context::{Env, Place, WriteCx};
use super::garbage::queue;
use crate::encoding::SYSTEM;
use crate::error::{Result, Stop, Why};

/// Bytes of rows that are committed at a time.
pub const BATCH_BYTES: usize = 1 << 20;
/// The same where rows are elsewhere: each batch is sent in parts, of which one may be refused.
const REMOTE_BATCH_BYTES: usize = 256 * 1024;
/// Times a batch is put again.
const MAX_CONFLICTS: usize = 64;
/// What a row costs a batch beyond its own bytes, about.
const ROW_BYTES: usize = 64;

/// How full the engine's room for rows on their way may be before a builder waits for it to be emptied.
const HIGH_PRESSURE: f32 = 0.6;
const PAUSE: Duration = Duration::from_millis(2);
/// Pauses for one batch: where the room does not empty in so long, going on is no worse than waiting.
const MAX_PAUSES: usize = 500;

/// Puts the rows of a version that is not live yet. Few rows go with the command's own commit, many in batches.
#[derive(Default)]
pub struct Builder<'a> {
    batch: Option<AnyWrite<'a>>,
    bytes: usize,
    /// Rows are committed apart from the command's own.
    apart: bool,
    /// It is on record that the version is being built.
    is_noted: bool,
    /// The rows of the batch, where it may meet a conflict.
    rows: Vec<(Space, Box<[u8]>, Box<[u8]>)>,
}

impl<'a> Builder<'a> {
    /// `rows` is how many there will be, about. Many of them are work for a worker.
    pub fn begin(env: &Env<'_>, rows: u64) -> Result<Builder<'a>> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        env.move_if_heavy(rows, Env::IO_THREAD_MAX_ROWS)?;
        Ok(Builder { apart: rows > Env::IO_THREAD_MAX_ROWS, ..Builder::default() })
    }

    pub fn put(&mut self, cx: &mut WriteCx<'a>, space: Space, row: &[u8], value: &[&[u8]]) -> Result<()> {
        let len = ROW_BYTES + row.len() + value.iter().map(|part| part.len()).sum::<usize>();
        if !self.apart && self.bytes + len > BATCH_BYTES {
            if cx.env.place == Place::IoThread {
                return Err(Stop::Move(Why::Heavy));
            }
            self.apart = true;
            self.bytes = 0;
        }
        self.bytes += len;
        if !self.apart {
            cx.put(space, row, value);
            return Ok(());
        }
        // Where the handler runs for its reads alone nothing may be committed.
        let Some(engine) = cx.engine else { return Ok(()) };
        self.batch.get_or_insert_with(|| engine.begin_write(Wait::Allowed)).put(space, row, value);
        let mut limit = BATCH_BYTES;
        if cx.env.keyspace.queues_garbage {
            self.keep(space, row, value);
            limit = REMOTE_BATCH_BYTES;
        }
        if self.bytes >= limit { self.commit(engine) } else { Ok(()) }
    }

    /// Keeps a copy for the case that the batch meets a conflict, and says with the first row that the version is being built.
    fn keep(&mut self, space: Space, row: &[u8], value: &[&[u8]]) {
        if !std::mem::replace(&mut self.is_noted, true)
            && let (Some(batch), Some(noted)) = (&mut self.batch, queue::row_of_built(row))
        {
            batch.put(SYSTEM, &noted, &[]);
            self.rows.push((SYSTEM, noted[..].into(), Box::default()));
        }
        self.rows.push((space, row.into(), value.concat().into()));
    }

    /// Every row is on its way; the metadata may be put.
    pub fn finish(mut self, cx: &WriteCx<'a>) -> Result<()> {
        cx.engine.map_or(Ok(()), |engine| self.commit(engine))
    }

    fn commit(&mut self, engine: &AnyEngine) -> Result<()> {
        self.bytes = 0;
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let rows = std::mem::take(&mut self.rows);
        let mut committed = batch.commit();
        // Nobody else writes these rows, so that they can be put again as they are.
        for _ in 0..MAX_CONFLICTS {
            if rows.is_empty() || !matches!(committed, Err(EngineError::Conflict)) {
                break;
            }
            let mut again = engine.begin_write(Wait::Allowed);
            rows.iter().for_each(|(space, row, value)| again.put(*space, row, &[&**value]));
            committed = again.commit();
        }
        committed?;
        engine.flush()?;
        for _ in 0..MAX_PAUSES {
            if super::local::pressure(engine) < HIGH_PRESSURE {
                break;
            }
            std::thread::sleep(PAUSE);
            // Fails once writes have stopped for good.
            engine.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
