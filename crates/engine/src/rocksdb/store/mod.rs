//! RocksDB: the sorted data. One column family per space; the default one holds the engine's own state.
//!
//! Its write-ahead log is off everywhere: what is not in its files is in our log.

pub mod damage;
pub mod filter;
mod options;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rust_rocksdb::checkpoint::Checkpoint;
use rust_rocksdb::{
    BottommostLevelCompaction, Cache, ColumnFamily, ColumnFamilyDescriptor, CompactOptions, DB,
    DBPinnableSlice, DBRawIterator, ErrorKind, IngestExternalFileOptions, LiveFile, Options, ReadOptions,
    ReadTier, SstFileWriter, WriteBatch, WriteOptions,
};

use self::damage::Damage;
use self::filter::FilterContext;
use super::field::u64_at;
use super::log::replay::End;
use super::scan::group::padded_group_len;
use crate::{Error, Part, Range, Result, Space, SpaceDef, Wait};

const STATE_FAMILY: &str = "default";
/// The last lsn whose rows are in the files, and the position of the last commit among them.
const APPLIED: &[u8] = b"applied";
/// Deleted rows that are passed over while a group's first one is looked for.
const HELD_SKIPS: u64 = 256;

pub struct Store {
    db: Arc<DB>,
    dir: PathBuf,
    spaces: &'static [SpaceDef],
    /// How files of each space that are to be ingested are written.
    writers: Vec<Options>,
    block_cache: Cache,
    read_waiting: ReadOptions,
    read_resident: ReadOptions,
    write: WriteOptions,
    filter: Arc<FilterContext>,
    /// Of each space: whether it may have rows. True before the first of them is written.
    filled: Box<[AtomicBool]>,
    damage: Arc<Damage>,
    /// Spaces that have a file which compactions cannot read.
    set_aside: Mutex<BTreeSet<Space>>,
    compacts_at_open: bool,
}

impl Store {
    pub fn open(
        dir: &Path,
        spaces: &'static [SpaceDef],
        block_cache_bytes: usize,
        create: bool,
        filter: Arc<FilterContext>,
        compacts: bool,
    ) -> Result<Store> {
        // Readers take no lock in it, and its shards are long enough for every block of a small budget. 0: it finds
        // out itself how long entries are.
        let block_cache = Cache::new_hyper_clock_cache(block_cache_bytes, 0);
        let damage = Arc::new(Damage::default());
        let database = options::database(create, &damage);
        let families: Vec<Options> = spaces
            .iter()
            .enumerate()
            .map(|(index, def)| options::family(def, Space(index as u8), &block_cache, &filter, compacts))
            .collect();
        if !create {
            check_families(&database, dir, spaces)?;
        }
        let descriptors = spaces
            .iter()
            .zip(&families)
            .map(|(def, options)| ColumnFamilyDescriptor::new(def.name, options.clone()))
            .chain([ColumnFamilyDescriptor::new(STATE_FAMILY, options::state(&block_cache))]);
        let db =
            DB::open_cf_descriptors(&database, dir, descriptors).map_err(|error| store_error(dir, &error))?;
        let db = Arc::new(db);
        filter.attach(&db);
        let writers = families.into_iter().map(options::ingested).collect();
        let files = db.live_files().map_err(|error| store_error(dir, &error))?;
        let has_files = |def: &SpaceDef| files.iter().any(|file| file.column_family_name == def.name);
        let filled = spaces.iter().map(|def| AtomicBool::new(has_files(def))).collect();

        let read_waiting = ReadOptions::default();
        let mut read_resident = ReadOptions::default();
        read_resident.set_read_tier(ReadTier::BlockCache);
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        Ok(Store {
            db,
            dir: dir.to_path_buf(),
            spaces,
            writers,
            block_cache,
            read_waiting,
            read_resident,
            write,
            filter,
            filled,
            damage,
            set_aside: Mutex::new(BTreeSet::new()),
            compacts_at_open: compacts,
        })
    }

    /// Whether RocksDB's own compactions were on from the beginning.
    pub fn compacts_at_open(&self) -> bool {
        self.compacts_at_open
    }

    pub fn db(&self) -> &Arc<DB> {
        &self.db
    }

    pub fn error(&self, error: &rust_rocksdb::Error) -> Error {
        match self.damage.note(error) {
            Some(file) => Error::Corrupt { file, reason: error.as_ref().to_owned() },
            None => store_error(&self.dir, error),
        }
    }

    pub fn family(&self, space: Space) -> Result<&ColumnFamily> {
        let name = self.spaces.get(usize::from(space.0)).map_or("", |def| def.name);
        self.db.cf_handle(name).ok_or_else(|| Error::Io(format!("there is no space {}", space.0)))
    }

    /// Whether a space may have rows. False is certain for every row that has left the tables, or never was there: a database
    /// that has not been written back yet asks nobody.
    #[inline]
    pub fn may_have(&self, space: Space) -> bool {
        self.filled.get(usize::from(space.0)).is_none_or(|filled| filled.load(Ordering::Acquire))
    }

    /// As [`Store::family`], for whoever brings rows there.
    pub fn family_to_fill(&self, space: Space) -> Result<&ColumnFamily> {
        if let Some(filled) = self.filled.get(usize::from(space.0)) {
            filled.store(true, Ordering::Release);
        }
        self.family(space)
    }

    fn state(&self) -> Result<&ColumnFamily> {
        self.db.cf_handle(STATE_FAMILY).ok_or_else(|| Error::Io("there is no state column family".to_owned()))
    }

    pub fn read_options(&self, wait: Wait) -> &ReadOptions {
        match wait {
            Wait::Allowed => &self.read_waiting,
            Wait::Never => &self.read_resident,
        }
    }

    pub fn get(
        &self,
        space: Space,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>> {
        self.db.get_pinned_cf_opt(self.family(space)?, key, options).map_err(|error| self.error(&error))
    }

    /// Tells which groups of a space have rows in the sorted data.
    pub fn holder(&self, space: Space) -> Result<Holder<'_>> {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        options.set_max_skippable_internal_keys(HELD_SKIPS);
        let iterator = self.db.raw_iterator_cf_opt(self.family(space)?, options);
        Ok(Holder { def: self.spaces.get(usize::from(space.0)), iterator })
    }

    pub fn get_many(
        &self,
        space: Space,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>> {
        self.db
            .batched_multi_get_cf_opt(self.family(space)?, keys.iter().copied(), false, options)
            .into_iter()
            .map(|outcome| outcome.map_err(|error| self.error(&error)))
            .collect()
    }

    pub fn applied(&self) -> Result<End> {
        applied_of(&self.db, &self.dir)
    }

    /// What [`Store::applied`] would tell, without a change to the directory: opening it removes files that it does not know.
    pub fn applied_in(dir: &Path) -> Result<End> {
        let db = DB::open_for_read_only(&Options::default(), dir, false)
            .map_err(|error| store_error(dir, &error))?;
        applied_of(&db, dir)
    }

    /// Everything up to `end` is in the files. The caller has seen to that.
    pub fn set_applied(&self, end: End) -> Result<()> {
        let state = self.state()?;
        let row = [end.lsn.to_be_bytes(), end.position.to_be_bytes()].concat();
        self.db
            .put_cf_opt(state, APPLIED, row, &self.write)
            .and_then(|()| self.db.flush_cf(state))
            .map_err(|error| self.error(&error))
    }

    pub fn write_batch(&self, batch: &WriteBatch) -> Result<()> {
        self.db.write_opt(batch, &self.write).map_err(|error| self.error(&error))
    }

    pub fn flush(&self, space: Space) -> Result<()> {
        self.db.flush_cf(self.family(space)?).map_err(|error| self.error(&error))
    }

    pub fn file_writer(&self, space: Space, path: &Path) -> Result<SstFileWriter<'_>> {
        let options = self
            .writers
            .get(usize::from(space.0))
            .ok_or_else(|| Error::Io(format!("there is no space {}", space.0)))?;
        let mut writer = SstFileWriter::create(options);
        writer.open(path).map_err(|error| self.error(&error))?;
        Ok(writer)
    }

    /// Takes the file over; it is durable when this returns.
    pub fn ingest(&self, space: Space, path: &Path) -> Result<()> {
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        self.db
            .ingest_external_file_cf_opts(self.family_to_fill(space)?, &options, vec![path])
            .map_err(|error| self.error(&error))
    }

    /// Removes the rows of a range. Whole files go at once where no snapshot may still want them.
    pub fn delete_range(&self, space: Space, range: Range<'_>, may_drop_files: bool) -> Result<()> {
        let family = self.family(space)?;
        let inside = below(range.end);
        if may_drop_files && range.start < &*inside {
            self.db
                .delete_file_in_range_cf(family, range.start, &inside)
                .map_err(|error| self.error(&error))?;
        }
        self.db
            .delete_range_cf_opt(family, range.start, range.end, &self.write)
            .and_then(|()| self.db.flush_cf(family))
            .map_err(|error| self.error(&error))?;
        if may_drop_files {
            self.note_files_left(space, range)?;
        }
        Ok(())
    }

    pub fn suggest_compaction(&self, space: Space, range: Range<'_>) -> Result<()> {
        self.db
            .suggest_compact_range_cf(self.family(space)?, Some(range.start), Some(range.end))
            .map_err(|error| self.error(&error))
    }

    /// Rewrites the files of a range, those of the lowest level too: garbage there is met by nothing else.
    pub fn compact(&self, space: Space, range: Range<'_>) -> Result<()> {
        let mut options = CompactOptions::default();
        options.set_exclusive_manual_compaction(false);
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        self.db.compact_range_cf_opt(
            self.family(space)?,
            Some(range.start),
            Some(below(range.end)),
            &options,
        );
        Ok(())
    }

    pub fn parts(&self, space: Space) -> Result<Vec<Part>> {
        let name = self.spaces.get(usize::from(space.0)).map_or("", |def| def.name);
        let files = self.db.live_files().map_err(|error| self.error(&error))?;
        let part = |file: LiveFile| Part {
            first: file.start_key.unwrap_or_default(),
            last: file.end_key.unwrap_or_default(),
            bytes: file.size as u64,
            rows: file.num_entries,
            deletions: file.num_deletions,
        };
        Ok(files.into_iter().filter(|file| file.column_family_name == name).map(part).collect())
    }

    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        Checkpoint::new(&self.db)
            .and_then(|checkpoint| checkpoint.create_checkpoint(path))
            .map_err(|error| self.error(&error))
    }

    /// After a full disk or a failed write RocksDB takes nothing in until it is told to try again.
    pub fn resume(&self) {
        if let Err(error) = self.db.resume() {
            tracing::warn!(%error, "the sorted data cannot be written yet");
        }
    }

    pub fn set_block_cache(&self, bytes: usize) {
        self.block_cache.clone().set_capacity(bytes);
    }

    pub fn block_cache_bytes(&self) -> u64 {
        self.block_cache.get_usage() as u64
    }

    /// A number that RocksDB keeps per column family, summed.
    pub fn property(&self, name: &str) -> u64 {
        (0..self.spaces.len())
            .filter_map(|index| self.family(Space(index as u8)).ok())
            .chain(self.state().ok())
            .filter_map(|family| self.db.property_int_value_cf(family, name).ok().flatten())
            .sum()
    }

    /// Whether so many files wait for compaction that RocksDB would stop writes.
    pub fn is_write_stopped(&self) -> bool {
        matches!(self.db.property_int_value("rocksdb.is-write-stopped"), Ok(Some(1)))
    }

    /// From now on the filter may drop rows.
    pub fn enable_filter(&self) {
        self.filter.enable();
    }

    pub fn filter(&self) -> &Arc<FilterContext> {
        &self.filter
    }

    /// Ends compactions and flushes. Without this the last reference might go in a compaction's own thread.
    pub fn close(&self) {
        self.filter.disable();
        self.db.cancel_all_background_work(true);
    }
}

/// See [`Store::holder`].
pub struct Holder<'s> {
    def: Option<&'static SpaceDef>,
    iterator: DBRawIterator<'s>,
}

impl Holder<'_> {
    /// Whether rows of a group may be there. False is certain.
    pub fn may_hold(&mut self, group: &[u8]) -> bool {
        let is_group = self.def.is_some_and(|def| padded_group_len(def, group) == group.len());
        if group.is_empty() || !is_group {
            return true;
        }
        self.iterator.seek(group);
        match self.iterator.key() {
            Some(key) => key.starts_with(group),
            None => self.iterator.status().is_err(),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

fn applied_of(db: &DB, dir: &Path) -> Result<End> {
    let Some(row) = db.get_pinned(APPLIED).map_err(|error| store_error(dir, &error))? else {
        return Ok(End { lsn: 0, position: 0 });
    };
    match (u64_at(&row, 0), u64_at(&row, 8)) {
        (Some(lsn), Some(position)) => Ok(End { lsn, position }),
        _ => Err(Error::Corrupt {
            file: dir.to_path_buf(),
            reason: "the applied lsn is not a number".to_owned(),
        }),
    }
}

fn check_families(database: &Options, dir: &Path, spaces: &[SpaceDef]) -> Result<()> {
    let names = DB::list_cf(database, dir).map_err(|error| store_error(dir, &error))?;
    for name in names {
        if name != STATE_FAMILY && spaces.iter().all(|def| def.name != name) {
            return Err(Error::Corrupt {
                file: dir.to_path_buf(),
                reason: format!("it holds a space {name} that this version does not know"),
            });
        }
    }
    Ok(())
}

/// A key below `end` with next to nothing in between: files are dropped up to and including a key.
fn below(end: &[u8]) -> Vec<u8> {
    let mut key = end.to_vec();
    match key.pop() {
        Some(0) | None => {}
        Some(last) => {
            key.push(last - 1);
            key.extend_from_slice(&[0xff; 32]);
        }
    }
    key
}

fn is_no_room(error: &rust_rocksdb::Error) -> bool {
    error.as_ref().contains("No space left")
}

fn store_error(dir: &Path, error: &rust_rocksdb::Error) -> Error {
    let text = error.as_ref().to_owned();
    match error.kind() {
        ErrorKind::Incomplete => Error::NotResident,
        ErrorKind::Corruption => Error::Corrupt { file: dir.to_path_buf(), reason: text },
        ErrorKind::ShutdownInProgress => Error::Unavailable(text),
        ErrorKind::IOError if is_no_room(error) => Error::Full(text),
        _ => Error::Io(text),
    }
}
