//! Who is connected, as CLIENT LIST shows and CLIENT KILL finds them. Connections live on their I/O threads; this is
//! what others may see of them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::acl::UserId;
use crate::tls::certificate::Identity;

/// The words a client chose for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    pub name: Vec<u8>,
    pub lib_name: Vec<u8>,
    pub lib_ver: Vec<u8>,
}

/// Bits of [`Client::flags`].
pub mod flag {
    pub const MONITOR: usize = 1;
    pub const UNIX_SOCKET: usize = 2;
    pub const NO_EVICT: usize = 4;
    pub const NO_TOUCH: usize = 8;
    pub const BLOCKED: usize = 16;
    pub const READONLY: usize = 32;
    pub const CLOSE_AFTER_REPLY: usize = 64;
    pub const RESP3: usize = 128;
    pub const PUBSUB: usize = 256;
    pub const MULTI: usize = 512;
    pub const FOLLOWS_REDIRECTS: usize = 1024;
    pub const TRACKING: usize = 2048;
    pub const BCAST: usize = 4096;
    pub const TLS: usize = 8192;
    pub const WATCH_CHANGED: usize = 16384;
}

/// One connection, seen from outside. Written by its own I/O thread, read by all.
#[derive(Debug)]
pub struct Client {
    pub id: u64,
    pub addr: Box<str>,
    pub local_addr: Box<str>,
    pub fd: i32,
    /// The I/O thread that has the connection; it may be handed on.
    thread: AtomicUsize,
    /// Its place on that thread.
    place: AtomicUsize,
    pub created_ms: u64,
    last_active_ms: AtomicU64,
    db: AtomicU16,
    command: AtomicUsize,
    /// [`UserId`].
    user: AtomicU64,
    flags: AtomicUsize,
    /// Bytes of queries that wait, and of replies that wait.
    query_bytes: AtomicUsize,
    reply_bytes: AtomicUsize,
    /// Calls that wait for EXEC; -1 outside of MULTI.
    queued: AtomicI64,
    queued_bytes: AtomicUsize,
    /// Keys that it watches.
    watched: AtomicU32,
    /// Who is told of what it caches: 0 is itself, -1 is nobody.
    redirect: AtomicI64,
    /// Channels, patterns and channels of slots it listens to.
    subscriptions: [AtomicU32; 3],
    kill: AtomicBool,
    /// Whom its certificate names, if it showed one.
    pub certificate: Option<Box<Identity>>,
    labels: Mutex<Option<Box<Labels>>>,
}

/// No command has run yet.
pub const NO_COMMAND: usize = usize::MAX;

impl Client {
    pub fn new(id: u64, thread: usize, fd: i32, addr: String, local_addr: String, now_ms: u64) -> Client {
        Client {
            id,
            addr: addr.into(),
            local_addr: local_addr.into(),
            fd,
            thread: AtomicUsize::new(thread),
            place: AtomicUsize::new(usize::MAX),
            created_ms: now_ms,
            last_active_ms: AtomicU64::new(now_ms),
            db: AtomicU16::new(0),
            command: AtomicUsize::new(NO_COMMAND),
            user: AtomicU64::new(UserId::DEFAULT.0),
            flags: AtomicUsize::new(0),
            query_bytes: AtomicUsize::new(0),
            reply_bytes: AtomicUsize::new(0),
            queued: AtomicI64::new(-1),
            queued_bytes: AtomicUsize::new(0),
            watched: AtomicU32::new(0),
            redirect: AtomicI64::new(-1),
            subscriptions: Default::default(),
            kill: AtomicBool::new(false),
            certificate: None,
            labels: Mutex::new(None),
        }
    }

    pub fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }

    pub fn set_place(&self, place: usize) {
        self.place.store(place, Ordering::Relaxed);
    }

    pub fn thread(&self) -> usize {
        self.thread.load(Ordering::Relaxed)
    }

    /// Notes the command that runs now.
    pub fn ran(&self, command: usize, now_ms: u64) {
        self.command.store(command, Ordering::Relaxed);
        self.last_active_ms.store(now_ms, Ordering::Relaxed);
    }

    pub fn command(&self) -> usize {
        self.command.load(Ordering::Relaxed)
    }

    pub fn last_active_ms(&self) -> u64 {
        self.last_active_ms.load(Ordering::Relaxed)
    }

    pub fn set_db(&self, db: u16) {
        self.db.store(db, Ordering::Relaxed);
    }

    pub fn db(&self) -> u16 {
        self.db.load(Ordering::Relaxed)
    }

    pub fn set_user(&self, user: UserId) {
        self.user.store(user.0, Ordering::Relaxed);
    }

    pub fn user(&self) -> UserId {
        UserId(self.user.load(Ordering::Relaxed))
    }

    pub fn set_flag(&self, flag: usize, on: bool) {
        if on {
            self.flags.fetch_or(flag, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!flag, Ordering::Relaxed);
        }
    }

    pub fn has(&self, flag: usize) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    pub fn set_buffers(&self, query_bytes: usize, reply_bytes: usize) {
        self.query_bytes.store(query_bytes, Ordering::Relaxed);
        self.reply_bytes.store(reply_bytes, Ordering::Relaxed);
    }

    /// Of the calls that wait for EXEC.
    pub fn set_queued_bytes(&self, bytes: usize) {
        self.queued_bytes.store(bytes, Ordering::Relaxed);
    }

    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes.load(Ordering::Relaxed)
    }

    /// How many calls wait for EXEC; None outside of MULTI.
    pub fn set_queued(&self, count: Option<usize>) {
        self.set_flag(flag::MULTI, count.is_some());
        let count = count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX));
        self.queued.store(count, Ordering::Relaxed);
        if count < 0 {
            self.set_queued_bytes(0);
        }
    }

    pub fn set_watched(&self, count: usize) {
        self.watched.store(u32::try_from(count).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    pub fn watched(&self) -> u32 {
        self.watched.load(Ordering::Relaxed)
    }

    pub fn set_redirect(&self, to: i64) {
        self.redirect.store(to, Ordering::Relaxed);
    }

    pub fn redirect(&self) -> i64 {
        self.redirect.load(Ordering::Relaxed)
    }

    pub fn queued(&self) -> i64 {
        self.queued.load(Ordering::Relaxed)
    }

    pub fn query_bytes(&self) -> usize {
        self.query_bytes.load(Ordering::Relaxed)
    }

    pub fn reply_bytes(&self) -> usize {
        self.reply_bytes.load(Ordering::Relaxed)
    }

    /// In the order of [`crate::pubsub::Kind::ALL`].
    pub fn set_subscriptions(&self, counts: [usize; 3]) {
        for (place, count) in self.subscriptions.iter().zip(counts) {
            place.store(u32::try_from(count).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
        self.set_flag(flag::PUBSUB, counts.iter().any(|count| *count > 0));
    }

    pub fn subscriptions(&self) -> [u32; 3] {
        self.subscriptions.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    pub fn labels(&self) -> Labels {
        self.labels.lock().as_deref().cloned().unwrap_or_default()
    }

    pub fn set_labels(&self, change: impl FnOnce(&mut Labels)) {
        let mut labels = self.labels.lock();
        let mut changed = labels.as_deref().cloned().unwrap_or_default();
        change(&mut changed);
        *labels = (changed != Labels::default()).then(|| Box::new(changed));
    }

    /// Connected over a unix socket or from a loopback address.
    pub fn is_local(&self) -> bool {
        self.has(flag::UNIX_SOCKET) || self.addr.parse().is_ok_and(|addr: SocketAddr| is_loopback(addr.ip()))
    }

    /// Asks the connection's thread to end it. The caller wakes that thread.
    pub fn kill(&self) {
        self.kill.store(true, Ordering::Release);
    }

    pub fn is_killed(&self) -> bool {
        self.kill.load(Ordering::Acquire)
    }
}

/// Whether an address is one of this machine alone: what protected mode and the options that say `local` go by.
pub fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

#[derive(Debug, Default)]
pub struct Clients {
    by_id: Mutex<HashMap<u64, Arc<Client>, std::hash::RandomState>>,
    next_id: AtomicU64,
    connected: AtomicUsize,
    /// Connections per thread.
    by_thread: Mutex<Vec<usize>>,
    monitors: AtomicUsize,
}

impl Clients {
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn add(&self, client: &Arc<Client>) {
        self.count_thread(client.thread(), true);
        self.by_id.lock().insert(client.id, Arc::clone(client));
    }

    pub fn remove(&self, client: &Client) {
        if self.by_id.lock().remove(&client.id).is_some() {
            self.connected.fetch_sub(1, Ordering::AcqRel);
            self.count_thread(client.thread(), false);
        }
    }

    /// The connection is another thread's from now on.
    pub fn hand_on(&self, client: &Client, thread: usize) {
        self.count_thread(client.thread(), false);
        client.thread.store(thread, Ordering::Relaxed);
        self.count_thread(thread, true);
    }

    fn count_thread(&self, thread: usize, one_more: bool) {
        let mut by_thread = self.by_thread.lock();
        if by_thread.len() <= thread {
            by_thread.resize(thread + 1, 0);
        }
        if let Some(count) = by_thread.get_mut(thread) {
            *count = if one_more { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// How many connections a thread has.
    pub fn on_thread(&self, thread: usize) -> usize {
        self.by_thread.lock().get(thread).copied().unwrap_or(0)
    }

    /// Takes a place among the connected; false when all are taken. [`Clients::remove`] gives it back.
    pub fn admit(&self, max: usize) -> bool {
        let place =
            self.connected.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < max).then_some(n + 1));
        place.is_ok()
    }

    /// A place was taken, but no client came of it.
    pub fn give_back(&self) {
        self.connected.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::Acquire)
    }

    pub fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.by_id.lock().get(&id).cloned()
    }

    /// Everybody, by id.
    pub fn list(&self) -> Vec<Arc<Client>> {
        let mut all: Vec<_> = self.by_id.lock().values().cloned().collect();
        all.sort_unstable_by_key(|client| client.id);
        all
    }

    pub fn count_monitors(&self, change: isize) {
        if change > 0 {
            self.monitors.fetch_add(1, Ordering::AcqRel);
        } else {
            self.monitors.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub fn monitors(&self) -> usize {
        self.monitors.load(Ordering::Relaxed)
    }

    /// Threads that hold a monitor.
    pub fn monitor_threads(&self) -> SmallVec<[usize; 4]> {
        let mut threads: SmallVec<[usize; 4]> =
            self.by_id.lock().values().filter(|c| c.has(flag::MONITOR)).map(|c| c.thread()).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_is_who_comes_from_a_loopback_address() {
        let is_local = |addr: &str| Client::new(1, 0, 0, addr.to_owned(), String::new(), 0).is_local();
        for addr in ["127.0.0.1:5", "127.1.2.3:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
            assert!(is_local(addr), "{addr}");
        }
        for addr in ["10.0.0.1:5", "[2001:db8::1]:5", "[::ffff:10.0.0.1]:5", "/tmp/socket:0", "127.0.0.1", ""]
        {
            assert!(!is_local(addr), "{addr}");
        }
        let client = Client::new(1, 0, 0, "/tmp/socket:0".to_owned(), String::new(), 0);
        client.set_flag(flag::UNIX_SOCKET, true);
        assert!(client.is_local());
    }
}
