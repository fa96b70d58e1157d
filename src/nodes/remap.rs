//! Changing the map of databases where several nodes share the data: FLUSHDB, FLUSHALL and SWAPDB.
//!
//! A row on the cluster says that a node is about to change it ([`Remap::begin`]). Every other node that finds it pauses: what it is committing
//! ends, what it has lost sight of is settled, and it writes into its own row that it has let go ([`let_go`]). The map is changed, and the row
//! removed, by one transaction once all have let go, or are gone for so long that nothing of theirs can be on its way. Then they read the map anew.
//!
//! If the node that wanted to change it is lost meanwhile, whoever finds out removes the row: what may still come of it is refused by that.

use std::time::{Duration, Instant};

use tarn_engine::{AnyWrite, Read, Wait, Write as _};

use super::members::{self, millis, rows};
use super::{Id, id_of};
use crate::encoding::SYSTEM;
use crate::encoding::system::{self, Remap as Row};
use crate::error::{Error, Result};
use crate::keyspace::shared;
use crate::keyspace::shared::lease::{LASTS, Pause};
use crate::node::Node;

/// Between two looks whether the others have let go, or whether the change is made.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Conflicts with others before it is given up for now.
const MAX_CONFLICTS: u32 = 16;

/// The map is about to be changed by this node, and nobody relies on it.
pub struct Remap<'n> {
    node: &'n Node,
    id: Id,
    number: u64,
    is_made: bool,
    _pause: Pause<'n>,
}

impl<'n> Remap<'n> {
    /// Has everybody let go of the map as it was in this epoch. None where another node is about to change it, or may have changed it.
    pub fn begin(node: &'n Node, epoch: u64) -> Result<Option<Remap<'n>>> {
        let (Some(number), Some(id)) = (node.engine.timestamp(), id_of(&node.run_id)) else {
            return Err(Error::reply("ERR the node has no name").into());
        };
        let (number, lease) = (number?, &node.keyspace.shared.lease);
        let Some(pause) = lease.pause_at(epoch) else { return Ok(None) };
        node.nodes.set_remapping(number);
        // Whatever fails from now on, the row is removed again.
        let remap = Remap { node, id, number, is_made: false, _pause: pause };
        // Whom this node has let go for before the announcement may have changed the map.
        if !remap.announce()? || lease.mark(1) != Some(epoch + 1) {
            return Ok(None);
        }
        node.nodes.tell_look();
        remap.wait()?;
        Ok(Some(remap))
    }

    /// Puts the row, unless another node's is there.
    fn announce(&self) -> Result<bool> {
        for _ in 0..MAX_CONFLICTS {
            let mut txn = self.node.engine.begin_write(Wait::Allowed);
            if announced(&txn)?.is_some() {
                return Ok(false);
            }
            txn.put(
                SYSTEM,
                &system::remap(),
                &[&Row { number: self.number, node: self.id[..].into() }.encode()],
            );
            match txn.commit() {
                Ok(_) => return Ok(true),
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Waits until all others have let go. Of one that was lost, until nothing of it can be on its way.
    fn wait(&self) -> Result<()> {
        let timeout = Duration::from_millis(self.node.config.current().tikv_timeout_millis);
        let until = Instant::now() + 2 * (LASTS + timeout);
        loop {
            let now_ms = millis(&self.node.engine)?;
            let snapshot = self.node.engine.snapshot()?;
            let others = rows(&snapshot)?.into_iter().filter(|(id, _)| *id != self.id);
            let relies = |row: &system::Member| {
                row.let_go != self.number && row.until_ms + timeout.as_millis() as u64 > now_ms
            };
            if !others.into_iter().any(|(_, row)| relies(&row)) {
                return Ok(());
            }
            if Instant::now() >= until {
                let words = "another node does not let go of the databases".to_owned();
                return Err(tarn_engine::Error::Unavailable(words).into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Has the transaction that changes the map end the announcement. False where somebody else has ended it already.
    pub fn join(&self, txn: &mut AnyWrite<'_>) -> Result<bool> {
        let is_own = announced(txn)?.is_some_and(|row| row.number == self.number);
        txn.delete(SYSTEM, &system::remap());
        Ok(is_own)
    }

    /// The change is made, and known here.
    pub fn made(mut self) {
        self.is_made = true;
    }
}

impl Drop for Remap<'_> {
    fn drop(&mut self) {
        self.node.nodes.set_remapping(0);
        if self.is_made {
            self.node.nodes.tell_look();
            return;
        }
        // It may have been made all the same. The row is removed, which has what is on its way refused, and the map is read again.
        self.node.keyspace.shared.lease.lapse();
        self.node.nodes.look();
    }
}

/// Who is about to change the map.
pub fn announced(read: &impl Read) -> Result<Option<Row>> {
    let mut value = Vec::new();
    Ok(if read.get(SYSTEM, &system::remap(), &mut value)? { Some(Row::decode(&value)?) } else { None })
}

/// Removes an announcement whose node is gone, or that was given up.
pub fn withdraw(node: &Node, number: u64) -> Result<()> {
    let mut txn = node.engine.begin_write(Wait::Allowed);
    if announced(&txn)?.is_some_and(|row| row.number == number) {
        txn.delete(SYSTEM, &system::remap());
        txn.commit()?;
    }
    Ok(())
}

/// Lets go of the map for another node, and reads it again once it was changed. `write_row` puts this node's own row with the number given.
pub fn let_go(node: &Node, remap: &Row, write_row: &dyn Fn(u64) -> Result<()>) -> Result<()> {
    let lease = &node.keyspace.shared.lease;
    let _pause = lease.pause();
    node.engine.settle()?;
    // Whatever happens from now on: what is known counts no more.
    lease.lapse();
    let mut written = Instant::now();
    write_row(remap.number)?;
    loop {
        std::thread::sleep(LOOK_EVERY);
        let mark = lease.mark(1);
        let snapshot = node.engine.snapshot()?;
        match (announced(&snapshot)?, mark) {
            (Some(row), _) if row.number == remap.number => {}
            (_, mark) => {
                let followed = mark.map(|mark| follow(node, &snapshot, mark, 1)).transpose()?.flatten();
                // By the row that says that it has let go, which counts for every other change.
                if followed.is_some_and(|mark| lease.held_since(written, mark, 1)) {
                    return Ok(());
                }
                // Otherwise this node itself is about to change it, and ends before long.
            }
        }
        let now_ms = millis(&node.engine)?;
        let mut others = rows(&snapshot)?.into_iter();
        if !others.any(|(id, row)| id[..] == *remap.node && row.until_ms > now_ms) {
            withdraw(node, remap.number)?;
        }
        if written.elapsed() >= members::BEAT {
            written = Instant::now();
            write_row(remap.number)?;
        }
    }
}

/// Takes over the map as it is on record; the caller has so many pauses, and has noted the mark before it read. The mark of what is known
/// then; none where this node has changed the map meanwhile, since what was read may be older.
pub fn follow(node: &Node, read: &impl Read, mark: u64, own: usize) -> Result<Option<u64>> {
    let shared = &node.keyspace.shared;
    let numbers = shared::mapped(read, shared.database_count() as u16)?;
    let changed = shared.changed(&numbers);
    if changed.is_empty() {
        return Ok(Some(mark));
    }
    let pause = shared.lease.pause();
    if !shared.lease.change(mark + 1, own + 1, || shared.remapped(&changed)) {
        return Ok(None);
    }
    let mut awaited = Vec::new();
    for db in changed {
        node.watches.tell_database(db.logical);
        awaited.extend(node.waiters.keys_of(db.logical).into_iter().map(|key| (key, true)));
    }
    if node.tracking.any() {
        node.tracking.tell_all(&node.clients);
    }
    node.deliver();
    if let Some(post) = node.post().filter(|_| !awaited.is_empty()) {
        post.ready(awaited);
    }
    drop(pause);
    // It has begun and ended.
    Ok(Some(mark + 2))
}
