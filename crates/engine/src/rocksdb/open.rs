//! Opening a directory: lock, format, sorted data, replay.
//!
//! ```text
//! LOCK      held by the process that has the database open
//! FORMAT    the version of everything below
//! MARKS     what log and sorted data are held to
//! RESERVE   room that is given up when the disk is full; it holds nothing
//! CREATING  there while a new database is being made, and only then
//! log/      segments
//! sorted/   RocksDB
//! ingest/   files on their way into RocksDB; nothing in here survives a start
//! ```

use std::collections::VecDeque;
use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::abandoned::Abandoned;
use super::barrier::Barrier;
use super::files::{Files, io_error};
use super::freeze::{Background, Unit, Units, freeze_at};
use super::groups::Loader;
use super::hash::Hasher;
use super::log::marks::{Marks, MarksFile, replace};
use super::log::record::Row;
use super::log::replay::{OVERRIDE, Replay};
use super::log::room::{Room, make_room_for_start};
use super::log::segment::Segment;
use super::log::{Log, Resume, replay};
use super::shard::Shards;
use super::sorted::SortedRows;
use super::store::Store;
use super::store::filter::FilterContext;
use super::write_back::{Steps, Way, write_unit};
use super::{Inner, OpenOptions, RocksEngine};
use crate::{Error, Groups, Result, Space, SpaceDef};

/// Of the whole directory. A newer one is refused.
const FORMAT_VERSION: u32 = 2;
/// The last one without marks.
pub const WITHOUT_MARKS: u32 = 1;
/// A damaged MANIFEST can make RocksDB spin. Reading a long one takes seconds.
pub const STORE_PATIENCE: Duration = Duration::from_secs(120);
const FORMAT_WORDS: &str = "tarn data format ";

pub fn log_dir(dir: &Path) -> PathBuf {
    dir.join("log")
}

pub fn sorted_dir(dir: &Path) -> PathBuf {
    dir.join("sorted")
}

pub fn ingest_dir(dir: &Path) -> PathBuf {
    dir.join("ingest")
}

fn format_file(dir: &Path) -> PathBuf {
    dir.join("FORMAT")
}

fn creating_file(dir: &Path) -> PathBuf {
    dir.join("CREATING")
}

/// How far the opening of a database is, for whoever waits for it.
#[derive(Debug, Default)]
pub struct Progress {
    total_bytes: AtomicU64,
    read_bytes: AtomicU64,
}

impl Progress {
    /// Bytes of the log that have been read, and all of them; (0, 0) before they are known.
    pub fn log_bytes(&self) -> (u64, u64) {
        let total = self.total_bytes.load(Ordering::Relaxed);
        (self.read_bytes.load(Ordering::Relaxed).min(total), total)
    }

    pub(super) fn begin(&self, total_bytes: u64) {
        self.total_bytes.store(total_bytes, Ordering::Relaxed);
    }

    pub(super) fn add(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Whether a database is in this directory, whole or not.
pub fn holds_database(dir: &Path) -> bool {
    let has_parts = log_dir(dir).is_dir() || sorted_dir(dir).is_dir();
    format_file(dir).exists() || (has_parts && !creating_file(dir).exists())
}

#[cfg(test)]
pub fn open(options: OpenOptions, files: Arc<dyn Files>, steps: Steps) -> Result<RocksEngine> {
    open_telling(options, files, steps, &Progress::default())
}

pub fn open_telling(
    options: OpenOptions,
    files: Arc<dyn Files>,
    steps: Steps,
    progress: &Progress,
) -> Result<RocksEngine> {
    let dir = options.dir.clone();
    create_dir(&*files, &dir)?;
    let lock = lock(&dir)?;
    let is_short_of_room = make_room_for_start(&*files, &dir, &log_dir(&dir));
    let format = check_format(&*files, &dir)?;
    let is_new = format.is_none();
    let anyway = options.truncate_damaged_log;
    if !is_new && !log_dir(&dir).exists() {
        refuse(anyway, &log_dir(&dir), "it is missing".to_owned())?;
    }
    let left = match format {
        None | Some(WITHOUT_MARKS) => None,
        Some(_) => match Marks::read(&*files, &dir) {
            Ok(marks) => Some(marks),
            Err(Error::Corrupt { file, reason }) => refuse(anyway, &file, reason).map(|()| None)?,
            Err(error) => return Err(error),
        },
    };
    for part in [log_dir(&dir), sorted_dir(&dir)] {
        fs::create_dir_all(&part).map_err(|error| io_error("creating", &part, &error))?;
    }
    empty_ingest_dir(&dir)?;
    let filter = FilterContext::new(options.spaces, options.filter);
    let (spaces, block_cache, sorted) = (options.spaces, options.memory.block_cache_bytes, sorted_dir(&dir));
    let store = within(STORE_PATIENCE, &sorted_dir(&dir), move || {
        if let Some(left) = left {
            check_sorted(&sorted, left, anyway)?;
        }
        Store::open(&sorted, spaces, block_cache, is_new, filter, !is_short_of_room)
    })?;
    let applied = store.applied()?;
    let marks = left.unwrap_or(Marks::without_log(applied.lsn));
    let marks = Arc::new(MarksFile::new(files.clone(), &dir, marks));
    let hasher = Hasher::new();
    let shards = Shards::new();
    shards.budget.set_limit(options.memory.row_cache_bytes);
    let mut recovery = Recovery {
        files: &*files,
        dir: &dir,
        store: &store,
        hasher: &hasher,
        shards: &shards,
        spaces: options.spaces,
        steps: &steps,
        marks: &marks,
        freeze_at: freeze_at(options.memory.dirty_bytes),
        queue_bytes: options.memory.dirty_bytes / 2,
        queue: VecDeque::new(),
        queued_bytes: 0,
        last_number: 0,
        segments: Vec::new(),
        bytes: 0,
    };
    let log_dir = log_dir(&dir);
    let start_anyway = anyway;
    let replay =
        Replay { files: &*files, dir: &log_dir, applied, left, marks: &marks, start_anyway, progress };
    let replayed = replay.run(&mut recovery)?;
    let Recovery { segments, bytes, queue, queued_bytes, last_number, .. } = recovery;
    let done_number = last_number - queue.len() as u64;
    let log = Log::new(
        files.clone(),
        &log_dir,
        options.durability,
        Resume {
            position: replayed.end.position,
            next_lsn: replayed.end.lsn + 1,
            next_sequence: replayed.next_sequence,
            marks,
            room: Room::new(files.clone(), &dir),
            unit: segments,
            queued: queue.iter().flat_map(|unit| &unit.segments).cloned().collect(),
        },
    );
    // The first commit finds its segment there. On a full disk reads are served all the same.
    for outcome in [log.room().make_reserve(), log.prepare_segment()] {
        match outcome {
            Err(error @ Error::Full(_)) => log.begin_full(error),
            other => other?,
        }
    }
    if format != Some(FORMAT_VERSION) {
        write_format(&*files, &dir)?;
    }
    if is_new {
        let marker = creating_file(&dir);
        files.remove(&marker).map_err(|error| io_error("removing", &marker, &error))?;
    }
    store.enable_filter();

    let inner = Arc::new(Inner {
        dir,
        files,
        spaces: options.spaces,
        hasher,
        shards,
        barrier: Barrier::new(),
        log,
        store: Arc::new(store),
        // Replayed rows are in the active tables: the first snapshot has something to seal.
        units: Mutex::new(Units { sealed_to: u64::MAX, done_number, queue, last_number, ..Units::default() }),
        unit_done: Condvar::new(),
        write_back_turn: Mutex::new(()),
        write_back_bytes: AtomicU64::new(0),
        active_bytes: AtomicUsize::new(bytes),
        ordering: Mutex::new(()),
        frozen_bytes: AtomicUsize::new(queued_bytes),
        dirty_limit: AtomicUsize::new(options.memory.dirty_bytes),
        freeze_at_bytes: AtomicUsize::new(freeze_at(options.memory.dirty_bytes)),
        retirements: AtomicU64::new(0),
        cache_misses: AtomicU64::new(0),
        write_backs: AtomicU64::new(0),
        is_stuck: AtomicBool::new(false),
        is_closed: AtomicBool::new(false),
        background: Background::default(),
        loader: Loader::default(),
        steps,
        _lock: lock,
    });
    let engine = RocksEngine { inner };
    Background::start(&engine.inner)?;
    Ok(engine)
}

/// Makes the directory and what is missing above it; their names are durable then.
fn create_dir(files: &dyn Files, dir: &Path) -> Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|part| !part.exists()).collect();
    fs::create_dir_all(dir).map_err(|error| io_error("creating", dir, &error))?;
    missing.iter().try_for_each(|part| sync_parent(files, part))
}

pub fn sync_parent(files: &dyn Files, path: &Path) -> Result<()> {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    files.sync_dir(parent).map_err(|error| io_error("syncing", parent, &error))
}

pub fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("LOCK");
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| io_error("opening", &path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Unavailable(format!("the directory {} is in use by another process", dir.display())))
        }
        Err(TryLockError::Error(error)) => Err(io_error("locking", &path, &error)),
    }
}

/// Damage, unless the operator said to start in spite of it.
fn refuse(anyway: bool, file: &Path, reason: String) -> Result<()> {
    if anyway {
        tracing::error!(file = %file.display(), reason, "damaged; the start goes on, as the operator asked");
        return Ok(());
    }
    let reason = format!("{reason}. Restore a backup, or {OVERRIDE} and lose what it held");
    Err(Error::Corrupt { file: file.to_path_buf(), reason })
}

/// Runs what may never end; then it is given up.
pub fn within<T: Send + 'static>(
    patience: Duration,
    dir: &Path,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (done, outcome) = std::sync::mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("tarn-open".to_owned())
        .spawn(move || done.send(work()))
        .map_err(|error| Error::Io(format!("starting a thread: {error}")))?;
    outcome.recv_timeout(patience).unwrap_or_else(|_| {
        let reason = format!("RocksDB does not open it within {} s; restore a backup", patience.as_secs());
        Err(Error::Corrupt { file: dir.to_path_buf(), reason })
    })
}

/// Sorted data that holds less than it did has lost a part of its MANIFEST.
fn check_sorted(sorted: &Path, left: Marks, anyway: bool) -> Result<()> {
    let applied = Store::applied_in(sorted)?;
    if applied.lsn >= left.applied_lsn {
        return Ok(());
    }
    let reason = format!(
        "it went back in time: it holds the log's records up to {}, and held them up to {}",
        applied.lsn, left.applied_lsn
    );
    refuse(anyway, sorted, reason)?;
    // Opening it removes files that it does not know any more.
    let Some(dir) = sorted.parent() else { return Ok(()) };
    let aside = replay::free_name(dir, "sorted-set-aside");
    let link = || {
        fs::create_dir(&aside)?;
        for entry in fs::read_dir(sorted)? {
            let entry = entry?;
            fs::hard_link(entry.path(), aside.join(entry.file_name()))?;
        }
        Ok::<_, std::io::Error>(())
    };
    link().map_err(|error| io_error("keeping the old files in", &aside, &error))
}

/// The format of the database, if there is one yet. Anything that is neither a database nor nothing is an error.
fn check_format(files: &dyn Files, dir: &Path) -> Result<Option<u32>> {
    let path = format_file(dir);
    if path.exists() {
        return read_format(files, dir).map(Some);
    }
    let marker = creating_file(dir);
    if !marker.exists() {
        let remains = [log_dir(dir), sorted_dir(dir)];
        if let Some(part) = remains.iter().find(|part| part.exists()) {
            return Err(Error::Corrupt {
                file: path,
                reason: format!("it is missing, but {} is there", part.display()),
            });
        }
        files
            .create(&marker)
            .and_then(|file| file.sync())
            .and_then(|()| files.sync_dir(dir))
            .map_err(|error| io_error("creating", &marker, &error))?;
    }
    Ok(None)
}

/// Of a database that is there.
pub fn read_format(files: &dyn Files, dir: &Path) -> Result<u32> {
    let path = format_file(dir);
    let mut text = String::new();
    files
        .open(&path)
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(|error| io_error("reading", &path, &error))?;
    let version: Option<u32> = text.strip_prefix(FORMAT_WORDS).and_then(|rest| rest.trim_end().parse().ok());
    match version {
        Some(version @ WITHOUT_MARKS..=FORMAT_VERSION) => Ok(version),
        Some(version) => Err(Error::Corrupt {
            file: path,
            reason: format!(
                "the data has format {version}, this version reads format {FORMAT_VERSION}; use a newer version"
            ),
        }),
        None => Err(Error::Corrupt { file: path, reason: "it does not name a format".to_owned() }),
    }
}

pub fn write_format(files: &dyn Files, dir: &Path) -> Result<()> {
    let words = format!("{FORMAT_WORDS}{FORMAT_VERSION}\n");
    replace(files, dir, &format_file(dir), words.as_bytes())
}

fn empty_ingest_dir(dir: &Path) -> Result<()> {
    let path = ingest_dir(dir);
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io_error("removing", &path, &error));
        }
        _ => {}
    }
    fs::create_dir(&path).map_err(|error| io_error("creating", &path, &error))
}

/// Takes the replayed rows into the tables, in units that are written back once the engine is open. When these become too
/// many, they are written back at once.
struct Recovery<'r> {
    files: &'r dyn Files,
    dir: &'r Path,
    store: &'r Store,
    hasher: &'r Hasher,
    shards: &'r Shards,
    spaces: &'static [SpaceDef],
    steps: &'r Steps,
    marks: &'r MarksFile,
    freeze_at: usize,
    /// What may wait for write-back.
    queue_bytes: usize,
    queue: VecDeque<Arc<Unit>>,
    queued_bytes: usize,
    last_number: u64,
    /// Segments whose rows are in the active tables.
    segments: Vec<Arc<Segment>>,
    bytes: usize,
}

impl replay::Sink for Recovery<'_> {
    fn row(&mut self, row: Row<'_>) -> Result<()> {
        let space = Space(row.space);
        let Some(def) = self.spaces.get(usize::from(row.space)) else {
            return Err(Error::Corrupt {
                file: log_dir(self.dir),
                reason: format!("a row belongs to a space {} that this version does not know", row.space),
            });
        };
        let hash = self.hasher.row(def, space, row.key);
        self.bytes += self.shards.write(hash.shard())?.active.set(row.space, row.key, &hash, row.value);
        Ok(())
    }

    fn segment(&mut self, segment: Arc<Segment>, end: replay::End) -> Result<()> {
        self.segments.push(segment);
        if self.bytes < self.freeze_at {
            return Ok(());
        }
        let segments = std::mem::take(&mut self.segments);
        let sets: Vec<_> = self.shards.seal().into_iter().collect();
        self.bytes = 0;
        self.queued_bytes += sets.iter().map(|set| set.bytes).sum::<usize>();
        self.last_number += 1;
        self.queue.push_back(Arc::new(Unit { number: self.last_number, sets, segments, end, mark: None }));
        while self.queued_bytes > self.queue_bytes
            && let Some(unit) = self.queue.pop_front()
        {
            match self.write_back(&unit) {
                Err(Error::Full(why)) => {
                    tracing::warn!(
                        why,
                        "there is no room to write back what the log holds: it stays in memory"
                    );
                    self.queue.push_front(unit);
                    self.queue_bytes = usize::MAX;
                }
                other => other?,
            }
        }
        Ok(())
    }
}

impl Recovery<'_> {
    fn write_back(&mut self, unit: &Unit) -> Result<()> {
        let sorted = SortedRows::of(&unit.sets, self.spaces.len(), self.store, &Abandoned::default());
        write_unit(self.store, &ingest_dir(self.dir), &sorted, unit, Way::BySize, self.steps)?;
        self.marks.applied(unit.end.lsn, unit.last_segment())?;
        self.shards.retire(&unit.sets, unit.number, &Abandoned::default(), &|space, key| match self
            .spaces
            .get(usize::from(space))
        {
            Some(def) => self.hasher.row(def, Space(space), key),
            None => self.hasher.row(&NO_SPACE, Space(space), key),
        });
        self.queued_bytes -= unit.sets.iter().map(|set| set.bytes).sum::<usize>();
        for segment in &unit.segments {
            self.files.remove(&segment.path).map_err(|error| io_error("removing", &segment.path, &error))?;
        }
        Ok(())
    }
}

const NO_SPACE: SpaceDef = SpaceDef { name: "", group_len: |_| 0, queue_like: false, groups: Groups::Plain };
