//! Files of the sorted data that cannot be read, and how compaction steps around them.
//!
//! A block that does not match its checksum, or that the device does not give out, is an error for whoever reads it. To RocksDB it is
//! the end of all writes as soon as a compaction meets it. Here that compaction fails and nothing else: the file stays where it is,
//! RocksDB's own compactions of its space are turned off, and the files above it are compacted by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rust_rocksdb::event_listener::{
    BackgroundErrorStatus, DBBackgroundErrorReason, EventListener, MutableStatus,
};
use rust_rocksdb::{BottommostLevelCompaction, CompactOptions, CompactionOptions, ErrorKind, LiveFile};

use super::{Store, options};
use crate::{Range, Result, Space};

/// Files at the top of a space from which on those above a damaged one are put together.
const FILES_BEFORE_COMPACTION: usize = 8;
/// Deleted ranges that are remembered because files of theirs were left. Beyond that the oldest is forgotten: its file stays until the
/// range is deleted again.
const RANGES_REMEMBERED: usize = 64;

/// What is known to be damaged.
#[derive(Default)]
pub struct Damage {
    /// By the file's name, with what is wrong in it.
    files: Mutex<BTreeMap<PathBuf, String>>,
    /// A compaction has met one that is not set aside yet.
    is_met: AtomicBool,
    /// A compaction found no room on the disk.
    has_no_room: AtomicBool,
    /// Deleted ranges of which files are left: a compaction had them in its hands when they were to be dropped. If it fails because
    /// such a file is damaged, no other compaction takes the file away.
    left: Mutex<Vec<Left>>,
}

/// A range that was deleted, and the number of the last write that the deletion covers.
struct Left {
    space: Space,
    start: Vec<u8>,
    end: Vec<u8>,
    sequence: u64,
}

impl Left {
    /// Whether everything in the file is deleted.
    fn covers(&self, file: &LiveFile) -> bool {
        let (start, end) = (file.start_key.as_deref(), file.end_key.as_deref());
        file.largest_seqno <= self.sequence
            && start.is_some_and(|start| start >= &*self.start)
            && end.is_some_and(|end| end < &*self.end)
    }
}

impl Damage {
    /// Whether the error tells of a file that cannot be read: then its name. Logged once for each file.
    pub fn note(&self, error: &rust_rocksdb::Error) -> Option<PathBuf> {
        let text = error.as_ref();
        let is_damage = match error.kind() {
            ErrorKind::Corruption => true,
            ErrorKind::IOError => text.contains("pread") || text.contains("While open a file"),
            _ => false,
        };
        let file = file_in(text).filter(|_| is_damage)?;
        let mut files = self.files.lock();
        if !files.contains_key(&file) {
            tracing::error!(
                file = %file.display(), error = text,
                "a file of the sorted data is damaged. What stands in the damaged part is answered with an error; the rest goes on. \
                 Restore a backup, or stop and run `tarn salvage`"
            );
            files.insert(file.clone(), text.to_owned());
        }
        Some(file)
    }

    /// As if a compaction had met what is known to be damaged.
    #[cfg(test)]
    pub fn meet(&self) {
        self.is_met.store(true, Ordering::Release);
    }

    pub fn count(&self) -> u64 {
        self.files.lock().len() as u64
    }

    /// Whether a compaction found no room since this was last asked.
    pub fn take_no_room(&self) -> bool {
        self.has_no_room.load(Ordering::Relaxed) && self.has_no_room.swap(false, Ordering::AcqRel)
    }

    fn is_damaged(&self, file: &LiveFile) -> bool {
        let name = file.name.trim_start_matches('/');
        self.files.lock().keys().any(|path| path.file_name().is_some_and(|known| known == name))
    }
}

/// The first word of a text that names a file of the sorted data.
pub fn file_in(text: &str) -> Option<PathBuf> {
    let words = text.split_whitespace().map(|word| word.trim_end_matches([':', ',', ';']));
    words
        .into_iter()
        .find(|word| Path::new(word).extension().is_some_and(|end| end == "sst"))
        .map(PathBuf::from)
}

/// Keeps a compaction that fails from ending all writes.
pub struct Listener(pub Arc<Damage>);

impl EventListener for Listener {
    fn on_background_error(&self, reason: DBBackgroundErrorReason, status: MutableStatus) {
        if reason != DBBackgroundErrorReason::KCompaction {
            return;
        }
        if let Err(error) = status.result() {
            if super::is_no_room(error) {
                self.0.has_no_room.store(true, Ordering::Release);
            } else if self.0.note(error).is_some() {
                self.0.is_met.store(true, Ordering::Release);
            } else {
                tracing::error!(%error, "a compaction failed; it is tried again");
            }
        }
        status.reset();
    }

    /// Write-back resumes it, when there is room for what that takes.
    fn on_error_recovery_begin(
        &self,
        _reason: DBBackgroundErrorReason,
        _status: &BackgroundErrorStatus,
        is_automatic: &mut bool,
    ) {
        *is_automatic = false;
    }
}

impl Store {
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Keeps compactions off the files that they cannot read. What comes to the top is put together above these.
    pub fn step_around_damage(&self) -> Result<()> {
        let is_new = self.damage.is_met.swap(false, Ordering::AcqRel);
        let mut aside = self.set_aside.lock();
        if !is_new && aside.is_empty() {
            return Ok(());
        }
        let files = self.db.live_files().map_err(|error| self.error(&error))?;
        for (index, def) in self.spaces.iter().enumerate() {
            let space = Space(index as u8);
            let of_space: Vec<&LiveFile> =
                files.iter().filter(|file| file.column_family_name == def.name).collect();
            let damaged: Vec<&LiveFile> =
                of_space.iter().copied().filter(|file| self.damage.is_damaged(file)).collect();
            let Some(top) = damaged.iter().map(|file| file.level).min() else {
                if aside.remove(&space) {
                    self.set_automatic(space, true)?;
                }
                continue;
            };
            if aside.insert(space) {
                self.set_automatic(space, false)?;
            }
            for file in &damaged {
                self.drop_if_deleted(space, file, &of_space)?;
            }
            let above: Vec<&LiveFile> = of_space.into_iter().filter(|file| file.level < top).collect();
            let at_top = above.iter().filter(|file| file.level == 0).count();
            if top >= 2 && at_top >= FILES_BEFORE_COMPACTION {
                let names = above.iter().map(|file| file.name.trim_start_matches('/'));
                self.db
                    .compact_files_cf(self.family(space)?, &CompactionOptions::default(), names, top - 1)
                    .map_err(|error| self.error(&error))?;
            }
        }
        Ok(())
    }

    /// Remembers a deleted range if files are left that have nothing else.
    pub fn note_files_left(&self, space: Space, range: Range<'_>) -> Result<()> {
        let sequence = self.db.latest_sequence_number();
        let new = Left { space, start: range.start.to_vec(), end: range.end.to_vec(), sequence };
        let files = self.db.live_files().map_err(|error| self.error(&error))?;
        let has_files = |left: &Left| {
            let name = self.spaces.get(usize::from(left.space.0)).map_or("", |def| def.name);
            files.iter().any(|file| file.level > 0 && file.column_family_name == name && left.covers(file))
        };
        let mut left = self.damage.left.lock();
        left.push(new);
        left.retain(has_files);
        if left.len() > RANGES_REMEMBERED {
            left.remove(0);
        }
        Ok(())
    }

    /// Drops a damaged file in which everything is deleted, unless a file in its range has something newer.
    fn drop_if_deleted(&self, space: Space, file: &LiveFile, of_space: &[&LiveFile]) -> Result<()> {
        let left = self.damage.left.lock();
        let Some(left) = left.iter().find(|left| left.space == space && left.covers(file)) else {
            return Ok(());
        };
        let (Some(start), Some(end)) = (&file.start_key, &file.end_key) else { return Ok(()) };
        let is_inside = |other: &&&LiveFile| {
            other.level > 0 && other.start_key.as_ref() >= Some(start) && other.end_key.as_ref() <= Some(end)
        };
        if of_space.iter().filter(is_inside).all(|other| left.covers(other)) {
            self.db
                .delete_file_in_range_cf(self.family(space)?, start, end)
                .map_err(|error| self.error(&error))?;
        }
        Ok(())
    }

    /// Turns RocksDB's own compactions on or off, but for spaces that have a damaged file.
    pub fn set_compactions(&self, is_on: bool) -> Result<()> {
        let aside = self.set_aside.lock();
        let spaces = (0..self.spaces.len()).map(|index| Space(index as u8));
        spaces.filter(|space| !aside.contains(space)).try_for_each(|space| self.set_automatic(space, is_on))
    }

    /// Has RocksDB's own compactions look at everything soon.
    pub fn suggest_compactions(&self) {
        for space in (0..self.spaces.len()).map(|index| Space(index as u8)) {
            if let Err(error) = self.suggest_compaction(space, Range { start: &[], end: &[0xff; 64] }) {
                tracing::warn!(%error, "cannot suggest a compaction");
            }
        }
    }

    /// The most files that any space has at its top.
    pub fn files_at_top(&self) -> usize {
        let count = |family| self.db.property_value_cf(family, "rocksdb.num-files-at-level0");
        let spaces = (0..self.spaces.len()).filter_map(|index| self.family(Space(index as u8)).ok());
        spaces.filter_map(|family| count(family).ok().flatten()?.parse().ok()).max().unwrap_or(0)
    }

    pub fn sorted_bytes(&self) -> u64 {
        self.property("rocksdb.total-sst-files-size")
    }

    /// Brings what is at the top down to the rows that it deletes or overwrites. One that finds no room changes nothing.
    pub fn compact_from_top(&self) {
        let aside = self.set_aside.lock().clone();
        let spaces = (0..self.spaces.len()).map(|index| Space(index as u8));
        for family in
            spaces.filter(|space| !aside.contains(space)).filter_map(|space| self.family(space).ok())
        {
            let mut options = CompactOptions::default();
            options.set_exclusive_manual_compaction(false);
            options.set_bottommost_level_compaction(BottommostLevelCompaction::Skip);
            self.db.compact_range_cf_opt(family, None::<&[u8]>, None::<&[u8]>, &options);
        }
    }

    /// Turns RocksDB's own compactions of a space on or off. While they are off, writes do not wait for them.
    fn set_automatic(&self, space: Space, is_on: bool) -> Result<()> {
        let settings = if is_on { options::compacting() } else { options::not_compacting() };
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        match self.db.set_options_cf(self.family(space)?, &settings) {
            // They are in force. What could not be written is a file that says so, which nobody reads.
            Err(error) if super::is_no_room(&error) => Ok(()),
            other => other.map_err(|error| self.error(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_found_in_what_rocksdb_says() {
        let said = "Corruption: block checksum mismatch: stored = 1, computed = 2, type = 4  in /d/sorted/000012.sst offset 7 size 9";
        assert_eq!(file_in(said), Some(PathBuf::from("/d/sorted/000012.sst")));
        let said = "IO error: While pread offset 0 len 53: /d/sorted/000012.sst: Input/output error";
        assert_eq!(file_in(said), Some(PathBuf::from("/d/sorted/000012.sst")));
        assert_eq!(file_in("IO error: nothing.ssto"), None);
    }
}
