//! WATCH: who wants to know that a key was changed. Kept in memory and changed under the locks of the keys; it costs one
//! look at a counter while nobody watches. Where several nodes share the data, the cluster is asked what the others have changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hashbrown::{Equivalent, HashMap};
use parking_lot::Mutex;
use rapidhash::fast::RandomState;
use tarn_engine::{AnyWrite, Read, Space, Witness, Write as _};

use crate::clients::{Client, flag};
use crate::encoding::META;
use crate::encoding::rows::{self, RowKey};
use crate::error::Result;
use crate::keyspace::kind::ELEMENT_SPACES;
use crate::keyspace::shared::Shared;
use crate::keyspace::{Db, Effects, View, Was, entry};

/// A key, by its logical database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchedKey {
    pub db: u16,
    pub key: Box<[u8]>,
}

/// The same where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyRef<'a> {
    pub db: u16,
    pub key: &'a [u8],
}

impl Equivalent<WatchedKey> for KeyRef<'_> {
    fn equivalent(&self, other: &WatchedKey) -> bool {
        self.db == other.db && *self.key == *other.key
    }
}

impl From<&KeyRef<'_>> for WatchedKey {
    fn from(&KeyRef { db, key }: &KeyRef<'_>) -> WatchedKey {
        WatchedKey { db, key: key.into() }
    }
}

/// What one connection watches, or something of the server's own.
#[derive(Debug, Default)]
pub struct Watch {
    client: Option<Arc<Client>>,
    changed: AtomicBool,
    /// And how each was.
    keys: Mutex<Vec<(WatchedKey, Was)>>,
    /// Who will tell what other nodes have changed, where there can be some.
    witnesses: Mutex<Vec<Arc<KeyWitness>>>,
}

/// Who will tell whether a key was changed by another node since its watch began.
#[derive(Debug)]
pub struct KeyWitness {
    pub key: WatchedKey,
    /// As it was then.
    pub db: Db,
    /// Of its metadata.
    pub row: RowKey,
    pub witness: Witness,
}

/// What a unit has to do with WATCH.
#[derive(Debug, Clone, Default)]
pub enum Watching {
    #[default]
    No,
    /// WATCH: its keys are added.
    Begin(Arc<Watch>),
    /// EXEC: nothing runs if one of the keys was changed.
    Check(Arc<Watch>),
}

#[derive(Debug, Default)]
pub struct Watches {
    /// Connections that watch anything.
    count: AtomicUsize,
    by_key: Mutex<HashMap<WatchedKey, Vec<Watcher>, RandomState>>,
}

#[derive(Debug)]
struct Watcher {
    watch: Arc<Watch>,
    was: Was,
}

/// A key that a transaction changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub key: WatchedKey,
    /// It is on record no more.
    pub is_gone: bool,
    /// Which of the keys that the transaction has stored it is, as far as that was noted.
    place: usize,
}

impl Watch {
    pub fn new(client: &Arc<Client>) -> Watch {
        Watch { client: Some(Arc::clone(client)), ..Watch::default() }
    }

    fn set_changed(&self) {
        self.changed.store(true, Ordering::Release);
        self.show(0, true);
    }

    /// What CLIENT LIST tells of it.
    fn show(&self, watched: usize, is_changed: bool) {
        if let Some(client) = &self.client {
            client.set_watched(watched);
            client.set_flag(flag::WATCH_CHANGED, is_changed);
        }
    }

    pub fn keys(&self) -> Vec<(WatchedKey, Was)> {
        self.keys.lock().clone()
    }

    /// Keeps those of the keys that are watched now. That a key whose time has come is removed is no change, so nobody tells of that.
    pub fn keep(&self, witnesses: Vec<KeyWitness>) {
        let keys = self.keys.lock();
        let wanted =
            |witness: &KeyWitness| keys.iter().any(|(key, was)| *key == witness.key && *was != Was::Expired);
        self.witnesses.lock().extend(witnesses.into_iter().filter(wanted).map(Arc::new));
    }

    /// Whether no other node has changed a key. `read` reads at one moment: what is committed behind the answer is refused to whoever
    /// commits by that.
    pub fn is_confirmed(&self, shared: &Shared, read: &impl Read) -> Result<bool> {
        // Whoever ends the watch meanwhile does not wait for the cluster.
        let witnesses = self.witnesses.lock().clone();
        // A database that was exchanged was told of.
        let asked = || witnesses.iter().filter(|asked| shared.database(asked.db.logical) == Some(asked.db));
        let rows: Vec<(Space, &[u8])> = asked().map(|asked| (META, asked.row.as_slice())).collect();
        read.fetch(&rows)?;
        for asked in asked() {
            if !asked.witness.is_unchanged()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a key was changed, or its time has come. Asked under the locks of the keys.
    pub fn is_changed(&self, cx: &mut impl View) -> Result<bool> {
        if self.changed.load(Ordering::Acquire) {
            return Ok(true);
        }
        for (WatchedKey { db, key }, was) in self.keys() {
            let Some(db) = cx.env().database(i64::from(db)) else { return Ok(true) };
            let found = entry::find_stored(cx, db, &key)?;
            if found.exists() != (was == Was::There) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Watches {
    /// Whether anybody watches anything.
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// How many connections watch something, and how many keys are watched.
    pub fn totals(&self) -> (usize, usize) {
        (self.count.load(Ordering::Acquire), self.by_key.lock().len())
    }

    /// Adds a key to what a connection watches, under the key's lock.
    pub fn add(&self, watch: &Arc<Watch>, key: WatchedKey, was: Was) {
        let mut keys = watch.keys.lock();
        if keys.iter().any(|(watched, _)| *watched == key) {
            return;
        }
        if keys.is_empty() {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
        keys.push((key.clone(), was));
        if !watch.changed.load(Ordering::Acquire) {
            watch.show(keys.len(), false);
        }
        let watcher = Watcher { watch: Arc::clone(watch), was };
        self.by_key.lock().entry(key).or_default().push(watcher);
    }

    /// The connection watches nothing any more.
    pub fn remove(&self, watch: &Arc<Watch>) {
        let keys = std::mem::take(&mut *watch.keys.lock());
        watch.witnesses.lock().clear();
        watch.changed.store(false, Ordering::Release);
        watch.show(0, false);
        if keys.is_empty() {
            return;
        }
        let mut by_key = self.by_key.lock();
        for (key, _) in &keys {
            if let Some(watchers) = by_key.get_mut(key) {
                watchers.retain(|watcher| !Arc::ptr_eq(&watcher.watch, watch));
                if watchers.is_empty() {
                    by_key.remove(key);
                }
            }
        }
        self.count.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn is_watched(&self, key: &WatchedKey) -> bool {
        self.by_key.lock().contains_key(key)
    }

    /// Tells who watches these keys, under the locks of the keys.
    pub fn tell(&self, changed: &[Changed]) {
        let mut by_key = self.by_key.lock();
        for Changed { key, is_gone, .. } in changed {
            for watcher in by_key.get_mut(key).into_iter().flatten() {
                match watcher.was {
                    Was::Expired if *is_gone => watcher.was = Was::Missing,
                    _ => watcher.watch.set_changed(),
                }
            }
        }
    }

    /// Everything in a database was exchanged, under all locks. Who watches a key that was not there is none the wiser.
    pub fn tell_database(&self, db: u16) {
        if self.any() {
            let by_key = self.by_key.lock();
            let of_db = by_key.iter().filter(|(key, _)| key.db == db).flat_map(|(_, watchers)| watchers);
            of_db.filter(|watcher| watcher.was == Was::There).for_each(|watcher| watcher.watch.set_changed());
        }
    }
}

/// The keys whose rows a transaction has put or deleted, of those that somebody asks for, in the order in which they were stored.
pub fn changed_keys(
    txn: &AnyWrite<'_>,
    effects: &Effects,
    shared: &Shared,
    is_asked_for: &dyn Fn(&WatchedKey) -> bool,
) -> Vec<Changed> {
    let mut changed: Vec<Changed> = Vec::new();
    let mut value = Vec::new();
    txn.each_change(&mut |space, row| {
        let Some((db, key)) = key_of(space, row) else { return };
        let Some(db) = effects.owner(db).or_else(|| shared.owner(db)) else { return };
        // Rows of one key mostly follow each other.
        let is_last = |last: &Changed| last.key.db == db.logical && *last.key.key == *key;
        if !changed.last().is_some_and(is_last) {
            let key = WatchedKey { db: db.logical, key: key.into() };
            if !is_asked_for(&key) {
                return;
            }
            // It becomes the last.
            let known = changed.iter().position(|changed| changed.key == key);
            let known = known.map(|known| changed.swap_remove(known));
            changed.push(known.unwrap_or(Changed { key, is_gone: false, place: usize::MAX }));
        }
        if space == META
            && let Some(last) = changed.last_mut()
        {
            last.is_gone = txn.get_own(META, row, &mut value).is_ok_and(|is_put| !is_put);
            last.place = effects.stored.iter().position(|stored| **stored == *row).unwrap_or(usize::MAX);
        }
    });
    changed.sort_by_key(|changed| changed.place);
    changed
}

/// The key that a row belongs to.
fn key_of(space: Space, row: &[u8]) -> Option<(u32, &[u8])> {
    if space == META {
        return rows::read_meta(row).ok().map(|row| (row.db, row.key));
    }
    if ELEMENT_SPACES.contains(&space) {
        return rows::read_element(row).ok().map(|row| (row.db, row.key));
    }
    None
}

#[cfg(test)]
mod tests {
    use tarn_engine::AnyEngine;
    use tarn_engine::memory::{Call, Fault, Faults};

    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn what_may_have_been_made_counts_as_a_change() {
        for (fault, words, is_changed) in [
            (Fault::Unavailable, "-CLUSTERDOWN", false),
            (Fault::UnknownLost, "-UNKNOWNOUTCOME", true),
            (Fault::UnknownApplied, "-UNKNOWNOUTCOME", true),
            (Fault::Conflict, "+OK", true),
        ] {
            let mut kit = Kit::new();
            let watch = Arc::new(Watch::default());
            kit.node.watches.add(&watch, WatchedKey { db: 0, key: b"k".as_slice().into() }, Was::Missing);
            let AnyEngine::Memory(engine) = &kit.node.engine else { panic!("the engine in memory") };
            engine.set_faults(Faults::none().then(Call::Commit, 0, fault));
            let reply = kit.run("SET k v");
            assert_eq!(reply.split(' ').next(), Some(words));
            assert_eq!(watch.changed.load(Ordering::Acquire), is_changed, "{fault:?}");
        }
    }
}
