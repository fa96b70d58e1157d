//! What the process has one of, shared by every thread.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tarn_engine::AnyEngine;

use crate::acl::Acl;
use crate::client_memory::ClientMemory;
use crate::clients::Clients;
use crate::clock::Clock;
use crate::config::Live;
use crate::dispatch::effects::Backlog;
use crate::dispatch::locks::Locks;
use crate::dispatch::unit::Why;
use crate::dispatch::waiters::{Waiter, Waiters};
use crate::dispatch::watches::{WatchedKey, Watches};
use crate::hotkeys::Hotkeys;
use crate::keyspace::Keyspace;
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::pubsub::PubSub;
use crate::scripting::Scripting;
use crate::tls::Tls;
use crate::tracking::Tracking;

pub struct Node {
    pub config: Live,
    pub engine: AnyEngine,
    pub keyspace: Arc<Keyspace>,
    pub locks: Locks,
    pub clock: Clock,
    pub clients: Clients,
    /// Who may do what.
    pub acl: Acl,
    pub metrics: Metrics,
    pub pubsub: PubSub,
    /// What commits have to tell, until it is their turn.
    pub backlog: Backlog,
    /// Who wants to know that a key was changed.
    pub watches: Watches,
    /// Who waits for keys in blocking commands.
    pub waiters: Waiters,
    pub scripting: Scripting,
    /// Who caches which keys.
    pub tracking: Tracking,
    /// Certificates in use.
    pub tls: Arc<Tls>,
    /// Which keys cost most.
    pub hotkeys: Hotkeys,
    /// What `maxdisk` has made of writes and keys.
    pub eviction: Eviction,
    pub pause: Pause,
    /// For long commands of which a part has come.
    pub query_memory: Arc<ClientMemory>,
    /// For long replies that are not sent yet.
    pub reply_memory: Arc<ClientMemory>,
    pub saves: Saves,
    /// Made anew at each start, 40 hex digits; also the node's name in CLUSTER replies.
    pub run_id: String,
    /// Other nodes on the same data, where there can be some.
    pub nodes: Nodes,
    /// `cluster-enabled`, which does not change while the process runs.
    pub cluster_enabled: bool,
    pub started: Instant,
    pub started_ms: u64,
    /// DEBUG SET-ACTIVE-EXPIRE.
    pub active_expire: AtomicBool,
    stop: OnceLock<Stop>,
    post: OnceLock<Arc<dyn Post>>,
}

/// How to reach other threads. The server's part, given once the threads exist.
pub trait Post: Send + Sync {
    /// Makes a thread look at its clients (one was killed, or the pause ended).
    fn wake(&self, thread: usize);
    fn wake_all(&self);
    /// Delivers a line to every monitor on a thread.
    fn feed_monitors(&self, thread: usize, line: Arc<[u8]>);
    /// Makes a thread look at what waits for its subscribers.
    fn deliver(&self, thread: usize);
    /// Gives a client that waited its reply.
    fn served(&self, waiter: &Waiter, reply: Vec<u8>);
    /// Has a waiter's command run again at a time, though none of its keys has changed.
    fn look_again(&self, waiter: &Waiter);
    /// Has a waiter's command run on a worker.
    fn serve_on_worker(&self, waiter: Arc<Waiter>, why: Why);
    /// Has those served who wait for keys that another node has changed, which may be gone.
    fn ready(&self, keys: Vec<(WatchedKey, bool)>);
    /// A script has taken a worker for long: another one stands in for it until it is back.
    fn worker_taken(&self);
    fn worker_back(&self);
    /// Starts the orderly end of the process.
    fn stop(&self);
}

/// Where data may take only so much of the disk.
#[derive(Debug, Default)]
pub struct Eviction {
    refuses: AtomicBool,
    is_tight: AtomicBool,
    keys: AtomicU64,
}

impl Eviction {
    /// Whether writes that may grow the data are refused.
    #[inline]
    pub fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    pub fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Whether more is on the disk than may be, so that garbage is to go soon.
    pub fn is_tight(&self) -> bool {
        self.is_tight.load(Ordering::Relaxed)
    }

    pub fn set_tight(&self, is_tight: bool) {
        self.is_tight.store(is_tight, Ordering::Relaxed);
    }

    pub fn count(&self) {
        self.keys.fetch_add(1, Ordering::Relaxed);
    }

    /// Keys that were evicted since the start.
    pub fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }
}

/// The reason the process ends, once it is asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Signal,
    /// SHUTDOWN; without a last copy of the data if `nosave`.
    Command {
        nosave: bool,
    },
}

impl Node {
    pub fn new(
        config: Live,
        engine: AnyEngine,
        keyspace: impl Into<Arc<Keyspace>>,
        clock: Clock,
        run_id: String,
    ) -> Node {
        let started_ms = clock.now_ms();
        let now = config.current();
        let cluster_enabled = now.cluster_enabled;
        let pubsub = PubSub::new(now.io_thread_count(), now.notify_keyspace_events);
        Node {
            config,
            engine,
            keyspace: keyspace.into(),
            locks: Locks::default(),
            clock,
            clients: Clients::default(),
            acl: Acl::default(),
            metrics: Metrics::default(),
            pubsub,
            backlog: Backlog::default(),
            watches: Watches::default(),
            waiters: Waiters::default(),
            scripting: Scripting::default(),
            tracking: Tracking::new(now.io_thread_count()),
            tls: Arc::default(),
            hotkeys: Hotkeys::default(),
            eviction: Eviction::default(),
            pause: Pause::default(),
            query_memory: Arc::default(),
            reply_memory: Arc::default(),
            saves: Saves::new(started_ms),
            run_id,
            nodes: Nodes::default(),
            cluster_enabled,
            started: Instant::now(),
            started_ms,
            active_expire: AtomicBool::new(true),
            stop: OnceLock::new(),
            post: OnceLock::new(),
        }
    }

    pub fn connect(&self, post: Arc<dyn Post>) {
        // A second server on one node would be a mistake of the caller; the first stays.
        let _ = self.post.set(post);
    }

    pub fn post(&self) -> Option<&Arc<dyn Post>> {
        self.post.get()
    }

    /// Wakes the threads for whose subscribers something waits. Called when commits were handed on, and what they are told of
    /// may go out.
    pub fn deliver(&self) {
        for thread in self.tracking.waiting().chain(self.pubsub.waiting()) {
            if let Some(post) = self.post() {
                post.deliver(thread);
            }
        }
    }

    pub fn request_stop(&self, stop: Stop) {
        if self.stop.set(stop).is_ok()
            && let Some(post) = self.post()
        {
            post.stop();
        }
    }

    pub fn stopping(&self) -> Option<Stop> {
        self.stop.get().copied()
    }
}

/// CLIENT PAUSE.
#[derive(Debug, Default)]
pub struct Pause {
    until_ms: AtomicU64,
    mode: AtomicU8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseMode {
    Writes,
    All,
}

impl Pause {
    /// A pause is never shortened or weakened by a second one.
    pub fn until(&self, until_ms: u64, mode: PauseMode) {
        self.mode.fetch_max(mode as u8, Ordering::AcqRel);
        self.until_ms.fetch_max(until_ms, Ordering::AcqRel);
    }

    pub fn end(&self) {
        self.until_ms.store(0, Ordering::Release);
        self.mode.store(0, Ordering::Release);
    }

    /// When the pause that concerns such a command ends, if it still lasts.
    pub fn holds(&self, is_write: bool, now_ms: u64) -> Option<u64> {
        let until = self.until_ms.load(Ordering::Relaxed);
        if until == 0 {
            return None;
        }
        if until <= now_ms {
            self.end();
            return None;
        }
        let all = self.mode.load(Ordering::Acquire) == PauseMode::All as u8;
        (all || is_write).then_some(until)
    }
}

/// What SAVE and BGSAVE did.
#[derive(Debug)]
pub struct Saves {
    pub last_ms: AtomicU64,
    pub running: AtomicBool,
    pub last_ok: AtomicBool,
    /// Seconds the last one took; -1 before the first.
    pub last_secs: AtomicI64,
    /// How many were completed.
    pub count: AtomicU64,
    /// Commits before the last one.
    pub writes_before: AtomicU64,
}

impl Saves {
    fn new(now_ms: u64) -> Saves {
        Saves {
            last_ms: AtomicU64::new(now_ms),
            running: AtomicBool::new(false),
            last_ok: AtomicBool::new(true),
            last_secs: AtomicI64::new(-1),
            count: AtomicU64::new(0),
            writes_before: AtomicU64::new(0),
        }
    }
}
