//! The log: a total order of commits, written in records of whole commits to a run of segments.
//!
//! Commits append their rows to one pending buffer. Whoever writes takes the whole buffer, seals it as a record and
//! hands it to the operating system in one call. With [`Durability::Always`] only the sync thread writes, so that
//! no other thread ever waits behind a sync of the file it writes to; otherwise a segment is left before it is synced.

pub mod marks;
pub mod record;
pub mod renew;
pub mod replay;
pub mod room;
pub mod segment;
mod sync;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::Thread;

use crossbeam_utils::CachePadded;
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use smallvec::SmallVec;

use self::marks::MarksFile;
use self::record::{MAX_RECORD_BYTES, RECORD_HEADER};
use self::room::Room;
use self::segment::Segment;
use super::files::Files;
use crate::{Durability, Error, Notify, Position, Result};

/// A record is closed and the next one begun when it has grown to this; both still go out in one write.
const RECORD_SPLIT_BYTES: usize = 16 << 20;
/// A pending buffer that grew beyond this is given back to the allocator after it was written.
const KEPT_BUFFER_BYTES: usize = 4 << 20;
/// A commit that finds this much waiting writes it out itself instead of leaving it to the tick.
pub const PENDING_LIMIT_BYTES: usize = 8 << 20;

pub struct Log {
    files: Arc<dyn Files>,
    dir: PathBuf,
    durability: AtomicU8,
    pending: CachePadded<Mutex<Pending>>,
    /// Position of the last commit in the order.
    last: CachePadded<AtomicU64>,
    /// The operating system has the commits up to here.
    written: CachePadded<AtomicU64>,
    /// The device has the commits up to here.
    synced: AtomicU64,
    /// The device has the records up to here.
    synced_lsn: AtomicU64,
    writer: Mutex<Writer>,
    /// One sync round at a time.
    round: Mutex<()>,
    /// A segment has been prepared, or could not be.
    prepared: Condvar,
    marks: Arc<MarksFile>,
    room: Room,
    stopped: AtomicBool,
    /// What was durable when the log stopped: nothing more will be, whatever setting follows.
    durable_at_stop: AtomicU64,
    reason: Mutex<Option<Error>>,
    notify: RwLock<Vec<Notify>>,
    sync_thread: OnceLock<Thread>,
    sync_wanted: AtomicBool,
    closing: AtomicBool,
    syncs: AtomicU64,
    last_sync_micros: AtomicU64,
    unit_bytes: AtomicU64,
    live_segments: AtomicU64,
    live_bytes: AtomicU64,
}

#[derive(Default)]
struct Pending {
    /// Records with room for their headers.
    bytes: Vec<u8>,
    /// Where records begin in `bytes`.
    starts: SmallVec<[usize; 4]>,
    position: u64,
    /// Bytes that are set aside in the current segment and that no commit has claimed.
    room: u64,
    /// How many of them are for commits which free something; all of them while the disk is full.
    kept: u64,
}

struct Writer {
    current: Option<Arc<Segment>>,
    next: Option<Arc<Segment>>,
    /// Closed segments of the unit that is being filled, oldest first.
    unit: Vec<Arc<Segment>>,
    /// Closed segments that no sync round has covered yet, oldest first.
    unsynced: Vec<Arc<Segment>>,
    /// Segments that a write or a sync has failed in, or that came before one.
    distrusted: Vec<Arc<Segment>>,
    next_lsn: u64,
    next_sequence: u64,
    /// Somebody is making the segment of that number.
    is_preparing: bool,
    spare: Vec<u8>,
}

/// What one freeze cut off: exactly the commits in these segments.
pub struct Cut {
    pub segments: Vec<Arc<Segment>>,
    pub last_lsn: u64,
    pub position: u64,
}

/// What recovery hands over to the running log.
pub struct Resume {
    pub position: u64,
    pub next_lsn: u64,
    pub next_sequence: u64,
    pub marks: Arc<MarksFile>,
    pub room: Room,
    /// Replayed segments whose rows are in the tables and not yet written back.
    pub unit: Vec<Arc<Segment>>,
    /// Those of older units, which wait to be written back.
    pub queued: Vec<Arc<Segment>>,
}

impl Log {
    pub fn new(files: Arc<dyn Files>, dir: &Path, durability: Durability, resume: Resume) -> Log {
        let bytes_of =
            |segments: &[Arc<Segment>]| segments.iter().map(|segment| segment.bytes()).sum::<u64>();
        let unit_bytes = bytes_of(&resume.unit);
        let live_bytes = unit_bytes + bytes_of(&resume.queued);
        let live_segments = (resume.unit.len() + resume.queued.len()) as u64;
        Log {
            files,
            dir: dir.to_path_buf(),
            durability: AtomicU8::new(encode(durability)),
            pending: CachePadded::new(Mutex::new(Pending {
                position: resume.position,
                kept: resume.room.sizes.kept,
                ..Pending::default()
            })),
            last: CachePadded::new(AtomicU64::new(resume.position)),
            written: CachePadded::new(AtomicU64::new(resume.position)),
            synced: AtomicU64::new(resume.position),
            synced_lsn: AtomicU64::new(resume.next_lsn.saturating_sub(1)),
            writer: Mutex::new(Writer {
                current: None,
                next: None,
                unit: resume.unit,
                unsynced: Vec::new(),
                distrusted: Vec::new(),
                next_lsn: resume.next_lsn,
                next_sequence: resume.next_sequence,
                is_preparing: false,
                spare: Vec::new(),
            }),
            round: Mutex::new(()),
            prepared: Condvar::new(),
            marks: resume.marks,
            room: resume.room,
            stopped: AtomicBool::new(false),
            durable_at_stop: AtomicU64::new(0),
            reason: Mutex::new(None),
            notify: RwLock::new(Vec::new()),
            sync_thread: OnceLock::new(),
            sync_wanted: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            syncs: AtomicU64::new(0),
            last_sync_micros: AtomicU64::new(0),
            unit_bytes: AtomicU64::new(unit_bytes),
            live_segments: AtomicU64::new(live_segments),
            live_bytes: AtomicU64::new(live_bytes),
        }
    }

    pub fn durability(&self) -> Durability {
        decode(self.durability.load(Ordering::Relaxed))
    }

    pub fn set_durability(&self, durability: Durability) {
        self.durability.store(encode(durability), Ordering::SeqCst);
        self.wake_sync_thread();
        // A weaker setting may satisfy commits that were waiting for a stronger one.
        self.tell();
    }

    pub fn add_notify(&self, notify: Notify) {
        self.notify.write().push(notify);
    }

    fn tell(&self) {
        for notify in self.notify.read().iter() {
            notify();
        }
    }

    /// Appends one commit's rows; the order of these calls is the order of commits. One that frees something may use the room
    /// that is kept for this.
    #[inline]
    pub fn append(&self, rows: &[u8], frees: bool) -> Result<(Position, usize)> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(self.stop_reason());
        }
        if rows.len() > MAX_RECORD_BYTES - RECORD_SPLIT_BYTES {
            return Err(Error::Unavailable(format!(
                "a transaction of {} bytes is larger than the log takes",
                rows.len()
            )));
        }
        let needed = (rows.len() + RECORD_HEADER) as u64;
        let mut pending = self.pending.lock();
        while pending.room < needed.saturating_add(if frees { 0 } else { pending.kept }) {
            drop(pending);
            self.make_room(needed, frees)?;
            pending = self.pending.lock();
        }
        let Pending { bytes, starts, position, room, .. } = &mut *pending;
        let before = bytes.len();
        if starts.last().is_none_or(|start| bytes.len() - start > RECORD_SPLIT_BYTES) {
            starts.push(bytes.len());
            bytes.extend_from_slice(&[0; RECORD_HEADER]);
        }
        bytes.extend_from_slice(rows);
        *room -= (bytes.len() - before) as u64;
        *position += 1;
        self.last.store(*position, Ordering::Release);
        Ok((Position(*position), bytes.len()))
    }

    pub fn last(&self) -> Position {
        Position(self.last.load(Ordering::Acquire))
    }

    pub fn durable(&self) -> Position {
        let durable = match self.durability() {
            Durability::Always => self.synced.load(Ordering::Acquire),
            Durability::EverySecond | Durability::Os => self.written.load(Ordering::Acquire),
        };
        // Last: a setting that came after the stop is not asked.
        Position(match self.stopped.load(Ordering::SeqCst) {
            true => self.durable_at_stop.load(Ordering::Acquire),
            false => durable,
        })
    }

    /// See [`Engine::flush`](crate::Engine::flush).
    pub fn flush(&self) -> Result<Position> {
        let last = self.last.load(Ordering::Acquire);
        if self.stopped.load(Ordering::Acquire) {
            return Err(self.stop_reason());
        }
        match self.durability() {
            Durability::Always => {
                if self.synced.load(Ordering::Acquire) < last {
                    self.wake_sync_thread();
                }
            }
            Durability::EverySecond | Durability::Os => {
                if self.written.load(Ordering::Acquire) < last {
                    self.write_pending(&mut self.writer.lock())?;
                }
            }
        }
        Ok(Position(last))
    }

    /// Writes what is pending, as one call, to the current segment.
    fn write_pending(&self, writer: &mut MutexGuard<'_, Writer>) -> Result<()> {
        if self.pending.lock().starts.is_empty() {
            return if self.stopped.load(Ordering::Acquire) { Err(self.stop_reason()) } else { Ok(()) };
        }
        // Before anything is taken: others may write while a segment is made.
        let current = self.current_segment(writer).inspect_err(|error| self.stop(error.clone()))?;
        if self.stopped.load(Ordering::Acquire) {
            return Err(self.stop_reason());
        }
        let mut bytes = std::mem::take(&mut writer.spare);
        let (starts, position) = {
            let mut pending = self.pending.lock();
            std::mem::swap(&mut bytes, &mut pending.bytes);
            (std::mem::take(&mut pending.starts), pending.position)
        };
        let outcome = if starts.is_empty() {
            Ok(())
        } else {
            self.write_records(writer, &current, &mut bytes, &starts, position)
        };
        if let Err(error) = outcome {
            self.stop(error.clone());
            return Err(error);
        }
        self.written.store(position, Ordering::Release);
        bytes.clear();
        bytes.shrink_to(KEPT_BUFFER_BYTES);
        writer.spare = bytes;
        if current.room() < self.room.sizes.chunk / 2 && !self.room.is_full() {
            self.top_up(&current);
        }
        Ok(())
    }

    fn write_records(
        &self,
        writer: &mut Writer,
        current: &Segment,
        bytes: &mut [u8],
        starts: &[usize],
        position: u64,
    ) -> Result<()> {
        let synced_lsn = self.synced_lsn.load(Ordering::Acquire);
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(bytes.len());
            if let Some(record) = bytes.get_mut(*start..end) {
                record::seal_record(record, writer.next_lsn, synced_lsn, position);
            }
            writer.next_lsn += 1;
        }
        let mut written = bytes.len() as u64;
        if current.is_empty() {
            written += record::SEGMENT_HEADER as u64;
            self.live_segments.fetch_add(1, Ordering::Relaxed);
        }
        current.append(bytes)?;
        self.unit_bytes.fetch_add(written, Ordering::Relaxed);
        self.live_bytes.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }

    /// The segment to write to. It was prepared beforehand, unless that failed.
    fn current_segment(&self, writer: &mut MutexGuard<'_, Writer>) -> Result<Arc<Segment>> {
        loop {
            match &writer.current {
                Some(current) => return Ok(current.clone()),
                None => self.make_segment(writer)?,
            }
        }
    }

    /// Sees to a current and a next segment, so that leaving the current one costs nothing later.
    pub fn prepare_segment(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        while writer.current.is_none() || writer.next.is_none() {
            self.make_segment(&mut writer)?;
        }
        Ok(())
    }

    /// Makes one segment, or waits for whoever does: they come into their places in the order of their numbers, without a gap.
    fn make_segment(&self, writer: &mut MutexGuard<'_, Writer>) -> Result<()> {
        if writer.is_preparing {
            self.prepared.wait(writer);
            return Ok(());
        }
        writer.is_preparing = true;
        let (sequence, next_lsn) = (writer.next_sequence, writer.next_lsn);
        let made = MutexGuard::unlocked(writer, || {
            let room::Sizes { chunk, kept, .. } = self.room.sizes;
            let segment = Segment::prepare(&*self.files, &self.dir, sequence, next_lsn, &[chunk, kept])?;
            let synced_lsn = self.synced_lsn.load(Ordering::Acquire);
            self.marks.update(|marks| {
                marks.synced_lsn = marks.synced_lsn.max(synced_lsn);
                marks.last = sequence;
            })?;
            Ok(segment)
        });
        writer.is_preparing = false;
        self.prepared.notify_all();
        let segment = made?;
        writer.next_sequence += 1;
        if writer.current.is_none() {
            let mut pending = self.pending.lock();
            pending.room = segment.room().saturating_sub(pending.bytes.len() as u64);
            writer.current = Some(segment);
        } else {
            writer.next = Some(segment);
        }
        Ok(())
    }

    /// The marks know all that was synced, so that a start misses it if it is not there.
    pub fn mark_synced(&self) -> Result<()> {
        let synced_lsn = self.synced_lsn.load(Ordering::Acquire);
        self.marks.update(|marks| marks.synced_lsn = marks.synced_lsn.max(synced_lsn))
    }

    pub fn marks(&self) -> &MarksFile {
        &self.marks
    }

    /// Closes the current segment, if it holds anything and the next one has room for what is claimed.
    fn leave_segment(&self, writer: &mut Writer) {
        let Some(current) = writer.current.as_ref().filter(|current| !current.is_empty()).cloned() else {
            return;
        };
        {
            let mut pending = self.pending.lock();
            let claimed = pending.bytes.len() as u64;
            let Some(next) = writer.next.take_if(|next| next.room() >= claimed) else { return };
            pending.room = next.room() - claimed;
            writer.current = Some(next);
        }
        current.give_back();
        writer.unsynced.push(current.clone());
        writer.unit.push(current);
    }

    /// Ends the unit that is being filled: what was committed until now is in the returned segments, what is
    /// committed after the call is not. The caller holds off commits, and has called [`Log::prepare_segment`].
    pub fn cut(&self) -> Result<Cut> {
        let mut writer = self.writer.lock();
        self.write_pending(&mut writer)?;
        if writer.current.as_ref().is_some_and(|current| !current.is_empty()) {
            // A sync may have taken the one that was prepared.
            while writer.next.is_none() {
                self.make_segment(&mut writer)?;
            }
            self.leave_segment(&mut writer);
        }
        self.unit_bytes.store(0, Ordering::Relaxed);
        Ok(Cut {
            segments: std::mem::take(&mut writer.unit),
            last_lsn: writer.next_lsn - 1,
            position: self.written.load(Ordering::Acquire),
        })
    }

    /// More room in the segment that is written to, before it is needed.
    fn top_up(&self, current: &Segment) {
        self.room.measure();
        match current.reserve(current.bytes() + self.room.sizes.chunk) {
            Ok(more) => self.pending.lock().room += more,
            Err(error) => self.begin_full(error),
        }
    }

    /// For a commit of this length, or for all: room is set aside, or the disk is full.
    #[cold]
    fn make_room(&self, needed: u64, frees: bool) -> Result<()> {
        if self.room.is_full() && !frees {
            return Err(self.room.error());
        }
        let mut writer = self.writer.lock();
        let current =
            self.current_segment(&mut writer).inspect_err(|error| self.begin_full(error.clone()))?;
        let (claimed, has_enough) = {
            let pending = self.pending.lock();
            let kept = if frees { 0 } else { pending.kept };
            (pending.bytes.len() as u64, pending.room >= needed.saturating_add(kept))
        };
        if has_enough {
            // Somebody else has seen to it.
            return Ok(());
        }
        let room::Sizes { chunk, kept, .. } = self.room.sizes;
        let least = current.bytes() + claimed + needed;
        let mut outcome = current.reserve(least + kept + chunk).or_else(|_| current.reserve(least + kept));
        if let Err(error) = &outcome {
            if needed > chunk && !frees {
                // Others may be small enough.
                return Err(error.clone());
            }
            self.begin_full(error.clone());
            if frees {
                outcome = current
                    .reserve(least + self.room.sizes.kept_when_full)
                    .or_else(|_| current.reserve(least));
            }
        }
        self.pending.lock().room += outcome?;
        if self.room.is_full() && !frees { Err(self.room.error()) } else { Ok(()) }
    }

    /// No room could be set aside, or write-back found none.
    pub fn begin_full(&self, error: Error) {
        if !matches!(error, Error::Full(_)) {
            self.stop(error);
        } else if self.room.begin(error) {
            self.pending.lock().kept = u64::MAX;
            self.wake_sync_thread();
        }
    }

    /// Ends the time in which the disk counts as full, once there is room for all that is set aside, and for what the log
    /// holds, which is to be written back.
    pub fn tend_room(&self) {
        let free = self.room.measure();
        let sizes = self.room.sizes;
        let wanted = (sizes.reserve + 2 * sizes.chunk).saturating_add(self.live().1);
        if !self.room.is_full() || self.is_stopped() {
            return;
        }
        if free < wanted || self.room.is_refused_to_write_back.load(Ordering::Relaxed) {
            // Not what write-back needs.
            self.keep_more(free.saturating_sub(sizes.start));
            return;
        }
        let has_room = self.room.make_reserve().is_ok() && self.prepare_segment().is_ok() && {
            let writer = self.writer.lock();
            writer.current.as_ref().is_some_and(|current| {
                let more = current.reserve(current.bytes() + sizes.chunk);
                let mut pending = self.pending.lock();
                pending.room += more.as_ref().copied().unwrap_or(0);
                more.is_ok()
            })
        };
        if has_room {
            self.pending.lock().kept = sizes.kept;
            self.room.end();
        }
    }

    /// Before compactions take all that the reserve left, the log takes its part of it, for what frees something.
    fn keep_more(&self, at_most: u64) {
        let mut writer = self.writer.lock();
        if let Ok(current) = self.current_segment(&mut writer) {
            let (claimed, room) = {
                let pending = self.pending.lock();
                (pending.bytes.len() as u64, pending.room)
            };
            let wanted = self.room.sizes.kept_when_full.saturating_sub(room).min(at_most);
            // Where there is less, the next look may find more.
            let more = current.reserve(current.bytes() + claimed + room + wanted).unwrap_or(0);
            self.pending.lock().room += more;
        }
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Removes segments whose rows are in the sorted data.
    pub fn remove(&self, segments: &[Arc<Segment>]) {
        // Where nothing is synced by the second, nobody else lets go of them, and of their open files.
        self.writer
            .lock()
            .unsynced
            .retain(|other| segments.iter().all(|gone| gone.sequence != other.sequence));
        for segment in segments {
            // One that stays behind is recognised by its lsns at the next start.
            if let Err(error) = self.files.remove(&segment.path) {
                tracing::warn!(file = %segment.path.display(), %error, "cannot remove a log segment");
            }
            self.live_segments.fetch_sub(1, Ordering::Relaxed);
            self.live_bytes.fetch_sub(segment.bytes(), Ordering::Relaxed);
        }
    }

    /// Stops writes: what follows a torn record could not be found again. [`renew`] is the way back.
    pub fn stop(&self, error: Error) {
        {
            let mut reason = self.reason.lock();
            if reason.is_none() {
                tracing::error!(%error, "writes have stopped");
                *reason = Some(error);
                self.durable_at_stop.store(self.durable().0, Ordering::Release);
                self.stopped.store(true, Ordering::SeqCst);
            }
        }
        self.tell();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub fn stop_reason(&self) -> Error {
        self.reason.lock().clone().unwrap_or_else(|| Error::Unavailable("the engine is closed".to_owned()))
    }

    pub fn write_error(&self) -> Option<Error> {
        self.reason.lock().clone()
    }

    /// Bytes of log since the last cut.
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes.load(Ordering::Relaxed)
    }

    pub fn live(&self) -> (u64, u64) {
        (self.live_segments.load(Ordering::Relaxed), self.live_bytes.load(Ordering::Relaxed))
    }

    pub fn sync_counts(&self) -> (u64, u64) {
        (self.syncs.load(Ordering::Relaxed), self.last_sync_micros.load(Ordering::Relaxed))
    }
}

fn encode(durability: Durability) -> u8 {
    match durability {
        Durability::Always => 0,
        Durability::EverySecond => 1,
        Durability::Os => 2,
    }
}

fn decode(durability: u8) -> Durability {
    match durability {
        0 => Durability::Always,
        1 => Durability::EverySecond,
        _ => Durability::Os,
    }
}

#[cfg(test)]
mod tests {
    use super::marks::Marks;
    use super::record::Row;
    use super::replay::{End, Replay, Replayed, Sink};
    use super::*;
    use crate::rocksdb::files::OsFiles;
    use crate::rocksdb::open::Progress;

    #[derive(Default)]
    struct Seen {
        rows: usize,
        ends: Vec<End>,
    }

    impl Sink for Seen {
        fn row(&mut self, _row: Row<'_>) -> Result<()> {
            self.rows += 1;
            Ok(())
        }

        fn segment(&mut self, _segment: Arc<Segment>, end: End) -> Result<()> {
            self.ends.push(end);
            Ok(())
        }
    }

    fn marks(dir: &Path) -> MarksFile {
        MarksFile::new(Arc::new(OsFiles), dir, Marks::without_log(0))
    }

    fn replay(dir: &Path, applied: End, seen: &mut Seen) -> Result<Replayed> {
        let left = Some(Marks::read(&OsFiles, dir)?);
        let marks = marks(dir);
        let progress = &Progress::default();
        Replay { files: &OsFiles, dir, applied, left, marks: &marks, start_anyway: false, progress }.run(seen)
    }

    fn log(dir: &Path) -> Log {
        let resume = Resume {
            position: 0,
            next_lsn: 1,
            next_sequence: 1,
            marks: Arc::new(marks(dir)),
            room: Room::new(Arc::new(OsFiles), dir),
            unit: Vec::new(),
            queued: Vec::new(),
        };
        Log::new(Arc::new(OsFiles), dir, Durability::Always, resume)
    }

    #[test]
    fn what_piles_up_is_split_into_records_of_whole_commits() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        let mut row = Vec::new();
        record::push_row(&mut row, 0, b"key", Some(&[&vec![7; 1 << 20]]));
        let commits = 2 * RECORD_SPLIT_BYTES / row.len() + 5;
        for number in 1..=commits {
            let (position, _) = log.append(&row, false).unwrap();
            assert_eq!(position, Position(number as u64));
        }
        assert_eq!(log.durable(), Position(0));
        log.sync_round().unwrap();
        assert_eq!(log.durable(), Position(commits as u64));

        let mut seen = Seen::default();
        let from = End { lsn: 0, position: 0 };
        let replayed = replay(dir.path(), from, &mut seen).unwrap();
        assert_eq!(replayed.end, End { lsn: 3, position: commits as u64 });
        assert_eq!(seen.rows, commits);
        assert_eq!(seen.ends, [replayed.end]);
    }

    #[test]
    fn segments_end_where_they_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        let mut row = Vec::new();
        record::push_row(&mut row, 0, b"key", None);
        for _ in 0..3 {
            log.append(&row, false).unwrap();
            log.prepare_segment().unwrap();
            assert_eq!(log.cut().unwrap().segments.len(), 1);
            assert_eq!(log.cut().unwrap().segments.len(), 0, "nothing was committed since");
        }
        let mut seen = Seen::default();
        replay(dir.path(), End { lsn: 1, position: 1 }, &mut seen).unwrap();
        assert_eq!(seen.ends, [End { lsn: 2, position: 2 }, End { lsn: 3, position: 3 }]);
        // The applied one is gone, and so are those that were never used.
        assert_eq!(OsFiles.list(dir.path()).unwrap().len(), 3, "two segments and the marks");
    }

    #[test]
    fn a_segment_that_nobody_prepared_follows_without_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        let mut row = Vec::new();
        record::push_row(&mut row, 0, b"key", None);
        let numbers = std::thread::scope(|scope| {
            // Segments are prepared all the while, and always too late.
            let preparing = scope.spawn(|| (0..50).try_for_each(|_| log.prepare_segment()));
            let mut numbers = Vec::new();
            for _ in 0..50 {
                log.append(&row, false).unwrap();
                numbers.extend(log.cut().unwrap().segments.iter().map(|segment| segment.sequence));
            }
            preparing.join().unwrap().unwrap();
            numbers
        });
        assert_eq!(numbers, (1..=50).collect::<Vec<u64>>());
        let mut seen = Seen::default();
        replay(dir.path(), End { lsn: 0, position: 0 }, &mut seen).unwrap();
        assert_eq!((seen.rows, seen.ends.len()), (50, 50));
    }

    #[test]
    fn segments_are_read_in_the_order_of_their_records() {
        let dir = tempfile::tempdir().unwrap();
        // As an older version could number them.
        for (number, lsn) in [(2, 1), (1, 2), (3, 3)] {
            let mut record = vec![0; RECORD_HEADER];
            record::push_row(&mut record, 0, b"key", None);
            record::seal_record(&mut record, lsn, 0, lsn);
            let segment = Segment::prepare(&OsFiles, dir.path(), number, lsn, &[]).unwrap();
            segment.append(&record).unwrap();
        }
        Marks::without_log(0).write(&OsFiles, dir.path()).unwrap();
        let mut seen = Seen::default();
        replay(dir.path(), End { lsn: 0, position: 0 }, &mut seen).unwrap();
        assert_eq!(seen.ends.iter().map(|end| end.lsn).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
