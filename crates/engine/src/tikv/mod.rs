//! The engine on a TiKV cluster: rows live there, and this process keeps none of them.
//!
//! * A [`TikvRead`] is a snapshot of when its first row was asked for; timestamps are shared by those who ask together.
//! * A [`TikvWrite`] reads a snapshot of when it began. Its commit is optimistic, in one phase where its rows are in one region and few,
//!   in two otherwise. It is refused where a row that it wrote or locked, *and has read*, was committed since: two writes of a row that
//!   neither has read may both succeed, as if one had come before the other.
//! * A [`TikvWrite`] that writes anything also locks the rows that it has read in [`Options::relied`]: what is decided on their word is
//!   refused where they were changed.
//! * [`Witness`] tells whether rows were changed since it was made, whoever did it.
//! * A commit of which nobody knows whether it was made can be kept from being made later: [`Engine::settle`].
//! * After some conflicts ([`HOLD_AFTER`]) the next run holds the rows at which it met them from its beginning.
//! * Nothing is resident: what may not wait is refused. No call is made where [`Wait::Never`] was said.
//! * A commit is durable when it returns.
//!
//! Limits are in [`keys`](MAX_VALUE_BYTES): of a key, a value and a transaction.

mod client;
mod counters;
mod keys;
mod read;
#[cfg(test)]
mod tests;
mod timestamps;
mod transaction;
mod witness;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use self::client::Cluster;
use self::counters::Counters;
use self::keys::Keys;
use self::timestamps::Timestamps;
use crate::{Contended, Engine, Error, Notify, Position, Result, Space, Stats, Wait};

pub use self::keys::{
    MAX_ENCODED_KEY_BYTES, MAX_PREFIX_BYTES, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_ROWS, MAX_VALUE_BYTES,
};
pub use self::transaction::{HOLD_AFTER, TikvRead, TikvSnapshot, TikvWrite};
pub use self::witness::Witness;

/// The oldest moment that may be read: whoever drops old versions keeps those of longer.
pub const MAX_READ_AGE: Duration = Duration::from_secs(540);
/// Bits of a timestamp below the milliseconds.
const LOGICAL_BITS: u32 = 18;

/// Commits are told of this often.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// How to reach a cluster, and what is ours there.
#[derive(Debug, Clone)]
pub struct Options {
    /// Of the placement drivers, `host:port`.
    pub pd_addresses: Vec<String>,
    /// What all keys begin with.
    pub prefix: String,
    /// The longest that a request may take.
    pub timeout: Duration,
    /// Spaces whose rows others rely on: a write that reads one of them by its key, and writes anything, is refused where it was
    /// changed meanwhile.
    pub relied: Vec<Space>,
}

pub struct TikvEngine {
    shared: Arc<Shared>,
}

struct Shared {
    cluster: Cluster,
    keys: Keys,
    relied: Vec<Space>,
    timestamps: Timestamps,
    counters: Arc<Counters>,
    is_closed: AtomicBool,
    /// Of the newest commit that was made here.
    position: AtomicU64,
    notifies: RwLock<Vec<Notify>>,
}

impl TikvEngine {
    /// Does not wait for the cluster: calls are refused until it answers.
    pub fn open(options: &Options) -> Result<TikvEngine> {
        let counters = Arc::new(Counters::default());
        let shared = Arc::new(Shared {
            keys: Keys::new(&options.prefix)?,
            relied: options.relied.clone(),
            cluster: Cluster::open(options, Arc::clone(&counters))?,
            timestamps: Timestamps::new(Arc::clone(&counters)),
            counters,
            is_closed: AtomicBool::new(false),
            position: AtomicU64::new(0),
            notifies: RwLock::default(),
        });
        let weak = Arc::downgrade(&shared);
        let told = std::thread::Builder::new().name("tikv-notify".to_owned()).spawn(move || {
            let mut told = 0;
            loop {
                std::thread::sleep(TELL_EVERY);
                let Some(shared) = weak.upgrade() else { return };
                let position = shared.position.load(Ordering::Acquire);
                if position != std::mem::replace(&mut told, position) {
                    shared.notifies.read().iter().for_each(|notify| notify());
                }
            }
        });
        told.map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(TikvEngine { shared })
    }

    /// Whether the cluster does not answer for now.
    pub fn is_away(&self) -> bool {
        self.shared.cluster.is_away()
    }

    /// Waits until the cluster has answered, but not longer than a request may take.
    pub fn wait_connected(&self) -> Result<()> {
        self.shared.cluster.wait_connected()
    }
}

impl Shared {
    fn check_open(&self) -> Result<()> {
        match self.is_closed.load(Ordering::Acquire) {
            true => Err(Error::Unavailable("the engine is closed".to_owned())),
            false => Ok(()),
        }
    }

    /// Places are timestamps, but for commits that have the same one.
    fn committed(&self, at: u64) -> Position {
        let later = |last: u64| Some((last + 1).max(at));
        let last = self.position.fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
        Position(last.map_or(at, |last| (last + 1).max(at)))
    }
}

impl Engine for TikvEngine {
    type Read<'e> = TikvRead<'e>;
    type Write<'e> = TikvWrite<'e>;
    type Snapshot = TikvSnapshot;

    fn begin_read(&self, wait: Wait) -> TikvRead<'_> {
        TikvRead::new(&self.shared, wait)
    }

    fn begin_write(&self, wait: Wait) -> TikvWrite<'_> {
        TikvWrite::new(&self.shared, wait, &Contended::default())
    }

    fn begin_again(&self, wait: Wait, contended: &Contended) -> TikvWrite<'_> {
        TikvWrite::new(&self.shared, wait, contended)
    }

    fn snapshot(&self) -> Result<TikvSnapshot> {
        TikvSnapshot::new(&self.shared)
    }

    fn keeps_resident(&self) -> bool {
        false
    }

    fn locks_may_follow(&self) -> bool {
        false
    }

    fn timestamp(&self) -> Option<Result<u64>> {
        Some(self.shared.check_open().and_then(|()| self.shared.cluster.timestamp()))
    }

    fn witness(&self, rows: &[(Space, &[u8])]) -> Result<Option<Witness>> {
        Witness::new(&self.shared, rows).map(Some)
    }

    fn settle(&self) -> Result<()> {
        self.shared.check_open()?;
        self.shared.cluster.settle()
    }

    fn drop_old_versions(&self, age: Duration) -> Result<()> {
        self.shared.check_open()?;
        self.shared.cluster.drop_old_versions(age)
    }

    fn flush(&self) -> Result<Position> {
        self.shared.check_open()?;
        Ok(self.durable())
    }

    fn durable(&self) -> Position {
        Position(self.shared.position.load(Ordering::Acquire))
    }

    fn notify_durable(&self, notify: Notify) {
        self.shared.notifies.write().push(notify);
    }

    fn stats(&self) -> Stats {
        let remote = Some(self.shared.counters.stats(self.shared.cluster.trouble()));
        Stats { remote, ..Stats::default() }
    }

    fn close(&self) -> Result<()> {
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.cluster.close();
        Ok(())
    }
}
