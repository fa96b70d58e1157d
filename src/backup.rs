//! SAVE and BGSAVE: a copy of the data that opens as a data directory of its own, one at a time.
//!
//! Copies stand in `backups/` of the data directory, named by the time they were begun at. They share unchanged files
//! with it (hard links), so they have to be on the same file system and cost little until the data changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::config::EngineKind;
use crate::error::{Error, Result};
use crate::node::Node;

/// Folder of the data directory that holds the copies.
pub const FOLDER: &str = "backups";
/// Copies begun within one second that are told apart.
const MAX_SAME_SECOND: u32 = 1_000;

/// The right to write a copy; nobody else has it meanwhile.
pub struct Save {
    node: Arc<Node>,
}

/// Takes the right, unless somebody has it.
pub fn begin(node: &Arc<Node>) -> Result<Save> {
    if node.config.current().engine == EngineKind::Memory {
        return Err(Error::reply("ERR the engine keeps nothing on disk, so there is nothing to save").into());
    }
    if node.config.current().engine == EngineKind::Tikv {
        return Err(
            Error::reply("ERR the data is on the TiKV cluster: its tool BR makes copies of it").into()
        );
    }
    if node.saves.running.swap(true, Ordering::AcqRel) {
        return Err(Error::reply("ERR Background save already in progress").into());
    }
    Ok(Save { node: Arc::clone(node) })
}

impl Save {
    /// Writes the copy and waits for it.
    pub fn run(self) -> Result<PathBuf> {
        let saves = &self.node.saves;
        let begun = Instant::now();
        let begun_ms = self.node.clock.now_ms();
        let writes = self.node.metrics.sum(|thread| thread.writes.get());
        let outcome = self.write(begun_ms / 1000);
        saves.last_ok.store(outcome.is_ok(), Ordering::Relaxed);
        saves.last_secs.store(begun.elapsed().as_secs() as i64, Ordering::Relaxed);
        match &outcome {
            Ok(path) => {
                saves.count.fetch_add(1, Ordering::Relaxed);
                saves.writes_before.store(writes, Ordering::Relaxed);
                saves.last_ms.store(self.node.clock.now_ms(), Ordering::Relaxed);
                tracing::info!(path = %path.display(), "a copy of the data is complete");
            }
            Err(error) => tracing::error!(%error, "a copy of the data could not be written"),
        }
        outcome
    }

    pub fn run_in_background(self) -> Result<()> {
        let spawned = std::thread::Builder::new().name("bgsave".to_owned()).spawn(move || {
            tarn_engine::failpoint::reach("bgsave");
            // Logged, and shown by INFO.
            let _ = self.run();
        });
        spawned
            .map(|_| ())
            .map_err(|error| Error::reply(format!("ERR could not start the background save: {error}")).into())
    }

    fn write(&self, now_secs: u64) -> Result<PathBuf> {
        let folder = self.node.config.current().dir.join(FOLDER);
        let failed = |error: std::io::Error| {
            Error::reply(format!("ERR could not save into {}: {error}", folder.display()))
        };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let path = (0..MAX_SAME_SECOND)
            .map(|n| folder.join(name(now_secs, n)))
            .find(|path| !path.exists())
            .ok_or_else(|| Error::reply("ERR too many copies were begun within one second"))?;
        crate::keyspace::local::checkpoint(&self.node.engine, &path)?;
        Ok(path)
    }
}

impl Drop for Save {
    fn drop(&mut self) {
        self.node.saves.running.store(false, Ordering::Release);
    }
}

/// `20261115T224307Z`, with a number behind it for further ones of the same second.
fn name(secs: u64, n: u32) -> String {
    let (days, second) = (secs / 86_400, secs % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut name = format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z");
    if n > 0 {
        name.push_str(&format!("-{n}"));
    }
    name
}

/// Year, month and day, `days` after 1970-01-01. Years are counted from March, so that the leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_named_by_their_time() {
        assert_eq!(name(0, 0), "19700101T000000Z");
        assert_eq!(name(951_782_400, 0), "20000229T000000Z");
        assert_eq!(name(1_709_251_199, 0), "20240229T235959Z");
        assert_eq!(name(1_794_782_587, 2), "20261115T224307Z-2");
        assert_eq!(name(4_102_444_800, 0), "21000101T000000Z");
    }
}
