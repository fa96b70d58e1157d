//! Checkpoints, compaction and deleting ranges: they begin by writing back everything committed.

use std::fs;
use std::path::Path;

use super::Inner;
use super::files::io_error;
use super::log::marks::Marks;
use super::open;
use crate::{Error, Range, Result, Space};

impl Inner {
    /// Everything committed so far is in the sorted data when this returns. Commits go on meanwhile.
    pub(super) fn write_back_all(&self) -> Result<()> {
        self.check_open()?;
        let number = self.freeze()?;
        self.wait_for_unit(number)
    }

    pub(super) fn checkpoint(&self, path: &Path) -> Result<()> {
        if path.exists() {
            return Err(Error::Io(format!("{} exists already", path.display())));
        }
        self.write_back_all()?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::Io(format!("{} is not a name for a checkpoint", path.display())));
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let mut hidden = name.to_owned();
        hidden.push(".unfinished");
        let unfinished = parent.join(hidden);
        remove_if_there(&unfinished)?;
        fs::create_dir(&unfinished).map_err(|error| io_error("creating", &unfinished, &error))?;
        let outcome = self.fill_checkpoint(&unfinished).and_then(|()| {
            fs::rename(&unfinished, path).map_err(|error| io_error("renaming", &unfinished, &error))?;
            open::sync_parent(&*self.files, path)?;
            // The caller may have made the folder of copies just before.
            open::sync_parent(&*self.files, parent)
        });
        if outcome.is_err() {
            let _leftover = remove_if_there(&unfinished);
        }
        outcome
    }

    fn fill_checkpoint(&self, dir: &Path) -> Result<()> {
        let applied = {
            // Between two units the sorted data alone is a state that was committed; within one it is not.
            let _turn = self.write_back_turn.lock();
            self.store.checkpoint(&open::sorted_dir(dir))?;
            self.store.applied()?
        };
        let log_dir = open::log_dir(dir);
        fs::create_dir(&log_dir).map_err(|error| io_error("creating", &log_dir, &error))?;
        Marks::without_log(applied.lsn).write(&*self.files, dir)?;
        open::write_format(&*self.files, dir)
    }

    pub(super) fn delete_ranges(&self, ranges: &[(Space, Range<'_>)]) -> Result<()> {
        let is_range = |(_, range): &&(Space, Range<'_>)| range.start < range.end;
        if !ranges.iter().any(|some| is_range(&some)) {
            return Ok(());
        }
        self.write_back_all()?;
        let outcome = ranges.iter().filter(is_range).try_for_each(|(space, range)| {
            let _turn = self.write_back_turn.lock();
            self.store.delete_range(*space, *range, !self.store.filter().has_snapshots())
        });
        // Also after a failure: part of them may be gone.
        self.shards.forget_ranges(ranges.iter().filter(is_range).copied());
        outcome
    }

    pub(super) fn compact(&self, space: Space, range: Range<'_>) -> Result<()> {
        if range.start >= range.end {
            return Ok(());
        }
        self.write_back_all()?;
        self.store.compact(space, range)
    }
}

fn remove_if_there(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("removing", dir, &error)),
        _ => Ok(()),
    }
}
