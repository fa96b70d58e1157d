//! Client-side caching: who has read which keys, and is told when they change. It costs one look at a counter while nobody tracks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::hash::RandomState;

use crate::clients::{Client, Clients};

/// What CLIENT TRACKING ON was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Tells of every key with one of the prefixes, whoever has read it. Those of one prefix are one message.
    pub bcast: bool,
    /// In order.
    pub prefixes: Vec<Box<[u8]>>,
    pub optin: bool,
    pub optout: bool,
    /// Not of what the client has changed itself.
    pub noloop: bool,
    /// The client that is told instead.
    pub redirect: Option<u64>,
}

/// A client that tracks.
#[derive(Debug)]
pub struct Tracker {
    pub client: Arc<Client>,
    pub options: Options,
    /// The client that it redirects to is gone.
    broken: AtomicBool,
}

impl Tracker {
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

/// What a client is told.
#[derive(Debug, Clone)]
pub enum News {
    Changed(Arc<[Box<[u8]>]>),
    /// Every key.
    Flushed,
    /// The client of this number, which it redirects to, is gone.
    RedirectBroken(u64),
}

/// News on the way to a client.
#[derive(Debug, Clone)]
pub struct Item {
    pub client: Arc<Client>,
    /// On behalf of another client.
    pub redirected: bool,
    pub news: News,
}

/// News for the clients of one I/O thread.
#[derive(Debug, Default)]
struct Inbox {
    has_some: AtomicBool,
    items: Mutex<Vec<Item>>,
}

#[derive(Debug, Default)]
struct Table {
    trackers: HashMap<u64, Arc<Tracker>, RandomState>,
    /// Who has read a key since it was last told of, by number.
    readers: HashMap<Box<[u8]>, SmallVec<[u64; 2]>, RandomState>,
    /// Trackers of prefixes.
    broadcasts: Vec<Arc<Tracker>>,
}

/// How much is tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub clients: usize,
    pub keys: usize,
    /// Clients that have read a key, over all keys.
    pub items: usize,
    pub prefixes: usize,
}

#[derive(Debug)]
pub struct Tracking {
    count: AtomicUsize,
    table: Mutex<Table>,
    inboxes: Vec<Inbox>,
}

impl Tracking {
    pub fn new(threads: usize) -> Tracking {
        let inboxes = (0..threads.max(1)).map(|_| Inbox::default()).collect();
        Tracking { count: AtomicUsize::new(0), table: Mutex::default(), inboxes }
    }

    /// Whether anybody tracks.
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// How many clients track, keys that somebody has read, and prefixes.
    pub fn totals(&self) -> Totals {
        let table = self.table.lock();
        Totals {
            clients: table.trackers.len(),
            keys: table.readers.len(),
            items: table.readers.values().map(SmallVec::len).sum(),
            prefixes: table.broadcasts.iter().map(|tracker| tracker.options.prefixes.len()).sum(),
        }
    }

    /// A client tracks from now on, or otherwise than before.
    pub fn begin(&self, client: &Arc<Client>, options: Options) -> Arc<Tracker> {
        let tracker =
            Arc::new(Tracker { client: Arc::clone(client), options, broken: AtomicBool::new(false) });
        let mut table = self.table.lock();
        table.broadcasts.retain(|other| other.client.id != client.id);
        if tracker.options.bcast {
            table.broadcasts.push(Arc::clone(&tracker));
        }
        table.trackers.insert(client.id, Arc::clone(&tracker));
        self.count.store(table.trackers.len(), Ordering::Release);
        tracker
    }

    /// A client tracks nothing any more. What it has read is forgotten when it changes.
    pub fn end(&self, client: u64) {
        let mut table = self.table.lock();
        table.broadcasts.retain(|other| other.client.id != client);
        table.trackers.remove(&client);
        if table.trackers.is_empty() {
            table.readers = HashMap::default();
        }
        self.count.store(table.trackers.len(), Ordering::Release);
    }

    /// A client reads a key, under the key's lock. Where more than `limit` keys are known, others make room: their readers are told.
    pub fn remember(&self, clients: &Clients, client: u64, key: &[u8], limit: usize) {
        let mut table = self.table.lock();
        match table.readers.get_mut(key) {
            Some(readers) if readers.contains(&client) => return,
            Some(readers) => readers.push(client),
            None => {
                table.readers.insert(key.into(), SmallVec::from_slice(&[client]));
            }
        }
        self.evict(&mut table, clients, limit, Some(key));
    }

    /// The limit may have become another one.
    pub fn trim(&self, clients: &Clients, limit: usize) {
        self.evict(&mut self.table.lock(), clients, limit, None);
    }

    /// Lets go of keys above the limit, but for one; 0 is no limit.
    fn evict(&self, table: &mut Table, clients: &Clients, limit: usize, kept: Option<&[u8]>) {
        let above = if limit == 0 { 0 } else { table.readers.len().saturating_sub(limit) };
        if above > 0 {
            let others = table.readers.keys().filter(|other| kept != Some(&***other));
            let evicted: Vec<_> = others.take(above).cloned().collect();
            evicted.into_iter().for_each(|key| self.tell_readers(table, clients, key, None));
        }
    }

    /// Whether anybody is to be told of a change of this key.
    pub fn is_tracked(&self, key: &[u8]) -> bool {
        let table = self.table.lock();
        table.readers.contains_key(key) || table.broadcasts.iter().any(|tracker| has_prefix(tracker, key))
    }

    /// Tells of keys that were changed, under their locks; `by` is who has changed them.
    pub fn tell<'k>(&self, clients: &Clients, keys: impl Iterator<Item = &'k [u8]> + Clone, by: u64) {
        let mut table = self.table.lock();
        for key in keys.clone() {
            if table.readers.contains_key(key) {
                self.tell_readers(&mut table, clients, key.into(), Some(by));
            }
        }
        for tracker in table.broadcasts.iter().filter(|tracker| !is_own(tracker, Some(by))) {
            for prefix in &tracker.options.prefixes {
                let mut theirs: Vec<Box<[u8]>> =
                    keys.clone().filter(|key| key.starts_with(prefix)).map(Into::into).collect();
                if !theirs.is_empty() {
                    theirs.sort_unstable();
                    theirs.dedup();
                    self.post(clients, tracker, News::Changed(theirs.into()));
                }
            }
        }
    }

    /// Tells everybody that every key may have changed.
    pub fn tell_all(&self, clients: &Clients) {
        let mut table = self.table.lock();
        table.readers.clear();
        for tracker in table.trackers.values() {
            self.post(clients, tracker, News::Flushed);
        }
    }

    fn tell_readers(&self, table: &mut Table, clients: &Clients, key: Box<[u8]>, by: Option<u64>) {
        let Some(readers) = table.readers.remove(&key) else { return };
        let keys: Arc<[Box<[u8]>]> = Arc::new([key]);
        for reader in readers {
            if let Some(tracker) = table.trackers.get(&reader)
                && !tracker.options.bcast
                && !is_own(tracker, by)
            {
                self.post(clients, tracker, News::Changed(Arc::clone(&keys)));
            }
        }
    }

    fn post(&self, clients: &Clients, tracker: &Tracker, news: News) {
        let item = match tracker.options.redirect {
            None => Item { client: Arc::clone(&tracker.client), redirected: false, news },
            Some(other) => match clients.get(other) {
                Some(client) => Item { client, redirected: true, news },
                None => {
                    tracker.broken.store(true, Ordering::Relaxed);
                    let news = News::RedirectBroken(other);
                    Item { client: Arc::clone(&tracker.client), redirected: false, news }
                }
            },
        };
        self.put(item);
    }

    /// To the thread that the client is on.
    pub fn put(&self, item: Item) {
        if let Some(inbox) = self.inboxes.get(item.client.thread()) {
            inbox.items.lock().push(item);
            inbox.has_some.store(true, Ordering::Release);
        }
    }

    /// The threads for whose clients there is something.
    pub fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let has_some = |(_, inbox): &(usize, &Inbox)| inbox.has_some.load(Ordering::Acquire);
        self.inboxes.iter().enumerate().filter(has_some).map(|(thread, _)| thread)
    }

    #[inline]
    pub fn has_some(&self, thread: usize) -> bool {
        self.inboxes.get(thread).is_some_and(|inbox| inbox.has_some.load(Ordering::Acquire))
    }

    pub fn take(&self, thread: usize) -> Vec<Item> {
        let Some(inbox) = self.inboxes.get(thread) else { return Vec::new() };
        inbox.has_some.store(false, Ordering::Release);
        std::mem::take(&mut *inbox.items.lock())
    }
}

fn has_prefix(tracker: &Tracker, key: &[u8]) -> bool {
    tracker.options.prefixes.iter().any(|prefix| key.starts_with(prefix))
}

fn is_own(tracker: &Tracker, by: Option<u64>) -> bool {
    tracker.options.noloop && by == Some(tracker.client.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(clients: &Clients, id: u64) -> Arc<Client> {
        let client = Arc::new(Client::new(id, 0, -1, String::new(), String::new(), 0));
        clients.add(&client);
        client
    }

    fn told(tracking: &Tracking) -> Vec<(u64, String)> {
        let show = |item: Item| {
            let text = match item.news {
                News::Changed(keys) => {
                    keys.iter().map(|key| key.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
                }
                News::Flushed => "all".to_owned(),
                News::RedirectBroken(other) => format!("no {other}"),
            };
            (item.client.id, text)
        };
        tracking.take(0).into_iter().map(show).collect()
    }

    #[test]
    fn readers_are_told_once_and_broadcasts_always() {
        let (tracking, clients) = (Tracking::new(1), Clients::default());
        let [a, b, c] = [1, 2, 3].map(|id| client(&clients, id));
        assert!(!tracking.any());
        tracking.begin(&a, Options::default());
        tracking.begin(&b, Options { noloop: true, ..Options::default() });
        let prefixes = vec![b"k"[..].into()];
        tracking.begin(&c, Options { bcast: true, prefixes, ..Options::default() });
        for reader in [1, 2] {
            tracking.remember(&clients, reader, b"k1", 10);
        }
        let change = |key: &'static [u8], by| tracking.tell(&clients, std::iter::once(key), by);
        assert!(tracking.is_tracked(b"k2") && !tracking.is_tracked(b"x"));
        change(b"k1", 2);
        assert_eq!(told(&tracking), [(1, "k1".into()), (3, "k1".into())]);
        change(b"k1", 9);
        assert_eq!(told(&tracking), [(3, "k1".into())]);
        tracking.end(3);
        tracking.tell_all(&clients);
        assert_eq!(told(&tracking).len(), 2);
    }

    #[test]
    fn the_table_has_a_limit_and_redirects_may_break() {
        let (tracking, clients) = (Tracking::new(1), Clients::default());
        let a = client(&clients, 1);
        tracking.begin(&a, Options { redirect: Some(7), ..Options::default() });
        for key in [&b"a"[..], b"b", b"c"] {
            tracking.remember(&clients, 1, key, 2);
        }
        assert_eq!(tracking.totals(), Totals { clients: 1, keys: 2, items: 2, prefixes: 0 });
        assert_eq!(told(&tracking), [(1, "no 7".into())]);
        tracking.trim(&clients, 1);
        assert_eq!(tracking.totals(), Totals { clients: 1, keys: 1, items: 1, prefixes: 0 });
        tracking.trim(&clients, 0);
        assert_eq!(tracking.totals().keys, 1, "no limit");
    }
}
