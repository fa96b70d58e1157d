//! `tarn salvage DIR NEW`: what can be read is written into a new directory, key by key.
//!
//! A key is copied if all of it can be read. One whose elements stand each on their own is copied without those that are lost. Every
//! other key is left out. What was left out is reported, by name where the name can be read.

use std::path::Path;

use tarn_engine::rocksdb::{OpenOptions, RocksEngine};
use tarn_engine::{AnyEngine, Durability, MemoryBudget, Space, Wait, Write as _};

use super::Outcome;
use super::survey::{Counted, END, Key, Survey, rows_of};
use crate::encoding::meta::{Body, Header};
use crate::encoding::rows::{self, ExpireKind};
use crate::encoding::{EXPIRE, META, SPACES, SYSTEM, system};
use crate::keyspace::local;

/// Rows that are committed together.
const BATCH_BYTES: usize = 4 << 20;
const BUDGET: MemoryBudget =
    MemoryBudget { dirty_bytes: 256 << 20, row_cache_bytes: 16 << 20, block_cache_bytes: 16 << 20 };

/// Writes it, and says what is left out. Whether nothing is.
pub fn salvage(dir: &Path, new: &Path, say: &mut dyn FnMut(&str)) -> Outcome {
    if new.exists() {
        return Err(format!("{} exists already", new.display()));
    }
    let survey = Survey::open(dir)?;
    let mut copy = Copy::open(new)?;
    copy.describe(&survey)?;
    let (mut counted, mut left_out) = (Counted::default(), 0_u64);
    let mut failed = None;
    let is_whole = survey.keys(&mut |key| {
        let outcome = match (&failed, key) {
            (Some(_), _) => return,
            (None, Ok(key)) => copy.key(&survey, &key).map(|lost| {
                if lost != Lost::Key {
                    counted.add(&key);
                }
                match lost {
                    Lost::Nothing => None,
                    Lost::Rows { left, of } => {
                        Some(format!("{}: {left} of {of} elements are left", key.shown()))
                    }
                    Lost::Key => Some(format!("{}: left out", key.shown())),
                }
            }),
            (None, Err(why)) => Ok(Some(why)),
        };
        match outcome {
            Ok(Some(why)) => {
                left_out += 1;
                say(&format!("lost: {why}"));
            }
            Ok(None) => {}
            Err(why) => failed = Some(why),
        }
    });
    if let Some(why) = failed {
        return Err(why);
    }
    copy.counters(&counted)?;
    copy.close()?;
    let damage = survey.damage();
    for finding in &damage {
        say(&format!("damaged: {}: {}", finding.file.display(), finding.reason));
    }
    if !is_whole {
        say("lost: keys whose names cannot be read");
    }
    say(&format!("{} keys were written to {}; {left_out} lost something", counted.keys(), new.display()));
    Ok(is_whole && left_out == 0 && damage.is_empty())
}

/// The range of a key's rows, widened to those of every version where it may own several. What it does not own is garbage there too.
fn all_rows_of(key: &Key<'_>, start: Vec<u8>, end: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    if !key.info().owns_versions {
        return (start, end);
    }
    let mut named = start;
    named.truncate(named.len().saturating_sub(size_of::<u64>()));
    let end = rows::collection_end(&named).as_slice().to_vec();
    (named, end)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Nothing,
    Rows { left: u64, of: u64 },
    Key,
}

/// The new directory.
struct Copy {
    engine: AnyEngine,
    rows: Vec<(Space, Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

impl Copy {
    fn open(dir: &Path) -> Result<Copy, String> {
        let engine = RocksEngine::open(OpenOptions {
            dir: dir.to_owned(),
            spaces: SPACES,
            durability: Durability::Os,
            memory: BUDGET,
            filter: None,
            truncate_damaged_log: false,
        });
        let engine = engine.map_err(|error| error.to_string())?.into();
        Ok(Copy { engine, rows: Vec::new(), bytes: 0 })
    }

    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) {
        self.bytes += key.len() + value.len();
        self.rows.push((space, key.to_vec(), value.to_vec()));
    }

    /// Commits what was put, if it is that much.
    fn commit(&mut self, least_bytes: usize) -> Result<(), String> {
        if self.bytes < least_bytes || self.rows.is_empty() {
            return Ok(());
        }
        // Write-back decides how fast it goes.
        while local::pressure(&self.engine) >= 1.0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut txn = self.engine.begin_write(Wait::Allowed);
        self.rows.iter().for_each(|(space, key, value)| txn.put(*space, key, &[value]));
        txn.commit().and_then(|_| self.engine.flush()).map_err(|error| error.to_string())?;
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }

    /// The rows that describe the database. Without them no other can be understood.
    fn describe(&mut self, survey: &Survey) -> Result<(), String> {
        let single = [
            system::format(),
            system::hash_seed(),
            system::version_limit(),
            system::next_physical(),
            system::clock(),
            system::field_index(),
        ];
        for key in single {
            if let Some(value) = survey.get(SYSTEM, &key)? {
                self.put(SYSTEM, &key, &value);
            }
        }
        let (start, end) = system::all_databases();
        let is_whole = survey.walk(SYSTEM, &start, &end, &mut |key, value| self.put(SYSTEM, key, value));
        if !is_whole {
            return Err("the rows that number the databases cannot be read: restore a backup".to_owned());
        }
        // Times at which parts of keys expire. One of a key that is left out finds nothing.
        survey.walk(EXPIRE, &[], &END, &mut |key, value| {
            if rows::read_expire(key).is_ok_and(|row| row.kind == ExpireKind::Parts) {
                self.put(EXPIRE, key, value);
            }
        });
        self.commit(0)
    }

    fn key(&mut self, survey: &Survey, key: &Key<'_>) -> Result<Lost, String> {
        let mut lost = Lost::Nothing;
        let mut header = key.header;
        if let Some((start, end, version, size)) = rows_of(key) {
            let mut left = size;
            let mut is_whole = true;
            // Twice: what is left decides whether anything of it is copied.
            for rows in key.info().rows {
                let mut found = 0;
                let is_read = survey.walk(rows.space, &start, &end, &mut |_, _| found += 1);
                if !is_read || rows.of(size).is_some_and(|expected| expected != found) {
                    is_whole = false;
                    left = found;
                }
            }
            if key.info().owns_versions {
                let (start, end) = all_rows_of(key, start.clone(), end.clone());
                let mut spaces = key.info().rows.iter().map(|rows| rows.space);
                is_whole &= spaces.all(|space| survey.walk(space, &start, &end, &mut |_, _| {}));
            }
            if !is_whole {
                if !key.may_lose_elements() || left == 0 {
                    return Ok(Lost::Key);
                }
                lost = Lost::Rows { left, of: size };
                header = Header { body: Body::Rows { version, size: left }, ..header };
            }
            let (start, end) = all_rows_of(key, start, end);
            for rows in key.info().rows {
                let mut failed = None;
                survey.walk(rows.space, &start, &end, &mut |row, value| {
                    self.put(rows.space, row, value);
                    // Nobody reads it meanwhile: a key need not be in one commit.
                    failed = failed.take().or(self.commit(BATCH_BYTES).err());
                });
                failed.map_or(Ok(()), Err)?;
            }
        }
        self.put(META, key.row, &[header.encode().as_slice(), key.rest].concat());
        if header.expire_at_ms != 0 {
            let row = rows::expire(header.expire_at_ms, ExpireKind::Key, key.db, key.slot, key.name);
            self.put(EXPIRE, row.as_slice(), &[]);
        }
        self.commit(BATCH_BYTES)?;
        Ok(lost)
    }

    fn counters(&mut self, counted: &Counted) -> Result<(), String> {
        for (db, stripe, counts) in counted.iter() {
            self.put(SYSTEM, &system::key_count(db, stripe), &counts.encode());
        }
        self.commit(0)
    }

    fn close(&self) -> Result<(), String> {
        self.engine.close().map_err(|error| error.to_string())
    }
}
