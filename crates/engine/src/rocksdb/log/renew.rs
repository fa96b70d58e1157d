//! The way back after a failed write or sync. What was to be written or synced is not on the device, whatever a later sync says. But
//! every row that is not in the sorted data is in memory: all of them are written into a new segment, and once that is synced the
//! segments before it are of no use. Then commits go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::record::{self, RECORD_HEADER, Row, SEGMENT_HEADER};
use super::segment::Segment;
use super::{Log, RECORD_SPLIT_BYTES};
use crate::Result;

/// A log that holds all that it has to, in one segment.
pub struct Renewed {
    pub segment: Arc<Segment>,
    /// Records up to this one are not needed any more.
    pub before_lsn: u64,
    pub last_lsn: u64,
    pub position: u64,
    /// What is to be removed once that is on record.
    pub old: Vec<Arc<Segment>>,
}

impl Log {
    /// Writes the rows, which are all that the sorted data does not have, to a new segment; it is on the device when this returns.
    /// The log is stopped, and no commit is under way.
    pub fn rewrite<'r>(&self, rows: impl Iterator<Item = Row<'r>>) -> Result<Renewed> {
        let mut writer = self.writer.lock();
        while writer.is_preparing {
            self.prepared.wait(&mut writer);
        }
        // All of it is among the rows.
        let position = {
            let mut pending = self.pending.lock();
            pending.bytes = Vec::new();
            pending.starts.clear();
            pending.room = 0;
            pending.position
        };
        let left = [writer.current.take(), writer.next.take()];
        writer.distrusted.extend(left.into_iter().flatten());
        let (unit, unsynced) = (std::mem::take(&mut writer.unit), std::mem::take(&mut writer.unsynced));
        writer.distrusted.extend(unit.into_iter().chain(unsynced));

        let before_lsn = writer.next_lsn - 1;
        let (sequence, synced_lsn) = (writer.next_sequence, self.synced_lsn.load(Ordering::Acquire));
        let segment = Segment::prepare(&*self.files, &self.dir, sequence, writer.next_lsn, &[])?;
        writer.next_sequence += 1;
        // A try that fails leaves a segment that a start has to find, and a later try removes.
        writer.distrusted.push(segment.clone());
        self.marks.update(|marks| marks.last = sequence)?;
        let mut bytes = vec![0; RECORD_HEADER];
        let mut write = |bytes: &mut Vec<u8>| {
            record::seal_record(bytes, writer.next_lsn, synced_lsn, position);
            writer.next_lsn += 1;
            segment.append(bytes)?;
            bytes.truncate(RECORD_HEADER);
            Ok(())
        };
        for row in rows {
            let value = row.value.as_ref().map(std::slice::from_ref);
            record::push_row(&mut bytes, row.space, row.key, value);
            if bytes.len() > RECORD_SPLIT_BYTES {
                write(&mut bytes)?;
            }
        }
        if bytes.len() > RECORD_HEADER {
            write(&mut bytes)?;
        }
        segment.sync_closed()?;
        let mut old = std::mem::take(&mut writer.distrusted);
        old.retain(|other| other.sequence != sequence);
        Ok(Renewed { segment, before_lsn, last_lsn: writer.next_lsn - 1, position, old })
    }

    /// Commits go on behind the new segment. What they need is made first.
    pub fn go_on(&self, renewed: &Renewed, queued: &[Arc<Segment>]) -> Result<()> {
        self.prepare_segment()?;
        for segment in renewed.old.iter().chain(queued) {
            // One that stays behind is recognised by its lsns at the next start.
            if segment.path.exists()
                && let Err(error) = self.files.remove(&segment.path)
            {
                tracing::warn!(file = %segment.path.display(), %error, "cannot remove a log segment");
            }
        }
        self.live_segments.store(1, Ordering::Relaxed);
        self.live_bytes.store(renewed.segment.bytes().max(SEGMENT_HEADER as u64), Ordering::Relaxed);
        self.unit_bytes.store(0, Ordering::Relaxed);
        self.written.store(renewed.position, Ordering::Release);
        self.synced.store(renewed.position, Ordering::Release);
        self.synced_lsn.store(renewed.last_lsn, Ordering::Release);
        {
            let mut reason = self.reason.lock();
            *reason = None;
            self.stopped.store(false, Ordering::SeqCst);
        }
        tracing::info!("the log was written anew: writes go on");
        self.tell();
        Ok(())
    }
}
