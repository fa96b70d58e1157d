//! WATCH: who wants to know that a key was changed. Kept in memory and changed under the locks of the keys; it costs one
//! look at a counter while nobody watches.

use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tarn_engine::{AnyWrite, Space, Write as _};

use crate::encoding::{META, rows};
use crate::error::Result;
use crate::keyspace::kind::ELEMENT_SPACES;
use crate::keyspace::shared::Shared;
use crate::keyspace::{Effects, View, entry};

/// A key, by its logical database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchedKey {
    pub db: u16,
    pub key: Box<[u8]>,
}

/// What one connection watches.
#[derive(Debug, Default)]
pub struct Watch {
    changed: AtomicBool,
    /// And whether each was there.
    keys: Mutex<Vec<(WatchedKey, bool)>>,
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
    existed: bool,
}

impl Watch {
    pub fn keys(&self) -> Vec<(WatchedKey, bool)> {
        self.keys.lock().clone()
    }

    /// Whether a key was changed, or its time has come. Asked under the locks of the keys.
    pub fn is_changed(&self, cx: &mut impl View) -> Result<bool> {
        if self.changed.load(Ordering::Acquire) {
            return Ok(true);
        }
        for (WatchedKey { db, key }, existed) in self.keys() {
            let Some(db) = cx.env().database(i64::from(db)) else { return Ok(true) };
            let found = entry::find_stored(cx, db, &key)?;
            if found.exists() != existed {
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

    /// Adds a key to what a connection watches, under the key's lock.
    pub fn add(&self, watch: &Arc<Watch>, key: WatchedKey, existed: bool) {
        let mut keys = watch.keys.lock();
        if keys.iter().any(|(watched, _)| *watched == key) {
            return;
        }
        if keys.is_empty() {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
        keys.push((key.clone(), existed));
        let watcher = Watcher { watch: Arc::clone(watch), existed };
        self.by_key.lock().entry(key).or_default().push(watcher);
    }

    /// The connection watches nothing any more.
    pub fn remove(&self, watch: &Arc<Watch>) {
        let keys = std::mem::take(&mut *watch.keys.lock());
        watch.changed.store(false, Ordering::Release);
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
    pub fn tell(&self, changed: &[WatchedKey]) {
        let by_key = self.by_key.lock();
        for watcher in changed.iter().filter_map(|key| by_key.get(key)).flatten() {
            watcher.watch.changed.store(true, Ordering::Release);
        }
    }

    /// Everything in a database was exchanged, under all locks. Who watches a key that was not there is none the wiser.
    pub fn tell_database(&self, db: u16) {
        if self.any() {
            let by_key = self.by_key.lock();
            let of_db = by_key.iter().filter(|(key, _)| key.db == db).flat_map(|(_, watchers)| watchers);
            of_db
                .filter(|watcher| watcher.existed)
                .for_each(|w| w.watch.changed.store(true, Ordering::Release));
        }
    }
}

/// The keys whose rows a transaction has put or deleted, of those that somebody asks for.
pub fn changed_keys(
    txn: &AnyWrite<'_>,
    effects: &Effects,
    shared: &Shared,
    is_asked_for: &dyn Fn(&WatchedKey) -> bool,
) -> Vec<WatchedKey> {
    let mut changed: Vec<WatchedKey> = Vec::new();
    txn.each_change(&mut |space, row| {
        let Some((db, key)) = key_of(space, row) else { return };
        let Some(db) = effects.owner(db).or_else(|| shared.owner(db)) else { return };
        // Rows of one key mostly follow each other.
        if changed.last().is_some_and(|last| last.db == db.logical && *last.key == *key) {
            return;
        }
        let key = WatchedKey { db: db.logical, key: key.into() };
        if is_asked_for(&key) && !changed.contains(&key) {
            changed.push(key);
        }
    });
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
