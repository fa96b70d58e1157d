//! The cluster as this engine sees it: timestamps, reads at a timestamp, commits. With `client/` the only place that names the client library,
//! so that a later one can take its place here.
//!
//! What the library must not be left alone with:
//!
//! * It tells transport errors of a commit from refusals only in part, and not at all where a commit timed out. Here every error of a
//!   commit that is no definite refusal is [`Error::OutcomeUnknown`].
//! * Conflicts come nested in lists of errors.
//! * A one-phase commit that the store could not make leaves locks; they are rolled back, and the run begins again in two phases.
//! * Busy stores are not asked again; it is done here, until the time is up.
//! * A commit that meets a lock would wait for it with locks of its own, and two of them for each other: it gives up soon.
//! * Locks whose transaction never reached the row that decides are waited for without end; they are ended in `client/orphans.rs`.
//! * Async commit is off: the recovery of its locks is not safe.

mod answers;
mod commit;
mod orphans;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tikv_client::transaction::HeartbeatOption;
use tikv_client::{
    Backoff, BoundRange, CheckLevel, Config, Key, RetryOptions, Snapshot, Timestamp, TimestampExt as _,
    Transaction, TransactionClient, TransactionOptions,
};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Notify;

pub(super) use self::answers::Met;
use self::answers::{Refusal, unchanged, words};
use self::commit::Committing;
use self::orphans::{Span, span_of, unknown_owner};
use super::counters::{Counters, Kind};
use super::{LOGICAL_BITS, MAX_READ_AGE, Options};
use crate::{Direction, Error, Result};

/// Longest answer that is taken; the library's own limit is below what a few long rows need.
const MAX_ANSWER_BYTES: usize = 1 << 30;
/// Threads that move bytes between sockets and those who wait.
const RUNTIME_THREADS: usize = 2;
/// Between two tries to reach a cluster that is away.
const RECONNECT_EVERY: Duration = Duration::from_millis(250);
/// How often a request may get no answer within the time that is given for all of it; between these bounds.
const TRIES: u32 = 4;
/// A store lets a request for a lock wait for a second before it answers.
const MIN_REQUEST: Duration = Duration::from_millis(1_500);
const MAX_REQUEST: Duration = Duration::from_secs(2);
/// The least time that is left to find out what became of a commit.
const MIN_DECIDING: Duration = Duration::from_millis(500);
/// So many transactions take two phases once a store could not commit in one.
const TWO_PHASES: u32 = 64;
/// Between two tries of the same request.
const RETRY_MS: u64 = 2;
const MAX_RETRY_MS: u64 = 100;
/// The library doubles its waits and loses the last bit after 64 times.
const MAX_RETRIES: u32 = 50;
/// How often a commit looks again at a lock that it has met: for 14 milliseconds in all.
const MAX_LOCK_RETRIES: u32 = 3;
/// Tries to roll a transaction back.
const MAX_ROLLBACKS: u32 = 10;

pub(super) type Row = (Vec<u8>, Vec<u8>);

/// What a commit consists of.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) puts: Vec<Row>,
    pub(super) deletes: Vec<Vec<u8>>,
    pub(super) locks: Vec<Vec<u8>>,
    pub(super) bytes: usize,
}

impl Changes {
    /// The row that is sent first, which decides on the whole.
    fn first(&self) -> Option<&Vec<u8>> {
        self.puts.first().map(|row| &row.0).or(self.deletes.first()).or(self.locks.first())
    }

    fn span(&self) -> Span {
        let puts = self.puts.iter().map(|row| &row.0);
        span_of(puts.chain(&self.deletes).chain(&self.locks))
    }

    fn rows(&self) -> usize {
        self.puts.len() + self.deletes.len() + self.locks.len()
    }
}

pub(super) struct Cluster {
    /// Taken when the engine is closed.
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    client: RwLock<Option<TransactionClient>>,
    /// Why nobody is let through at the moment.
    trouble: RwLock<Option<String>>,
    is_in_trouble: AtomicBool,
    reconnect: Notify,
    addresses: Vec<String>,
    timeout: Duration,
    counters: Arc<Counters>,
    /// The newest timestamp that was given out here.
    newest: AtomicU64,
    /// Transactions that are still to begin in two phases.
    two_phases: AtomicU32,
    /// A row of each commit that may still be made although nobody waits for it: the one that decides.
    unsettled: Mutex<Vec<Vec<u8>>>,
}

/// A transaction that will ask whether a row was changed since it began.
pub(super) struct Asking {
    transaction: tokio::sync::Mutex<Transaction>,
    key: Vec<u8>,
    at: u64,
}

/// A transaction that the cluster knows by its timestamp.
pub(super) struct Begun {
    transaction: Option<Transaction>,
    /// What it reads at.
    pub(super) at: u64,
    handle: Handle,
    pessimistic: bool,
    /// The row that decides, where it is known already.
    primary: Option<Vec<u8>>,
}

impl Cluster {
    /// Connects in the background: a cluster that is away is no reason not to start.
    pub(super) fn open(options: &Options, counters: Arc<Counters>) -> Result<Cluster> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(RUNTIME_THREADS)
            .thread_name("tikv-client")
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
        let waiting = format!("no answer yet from {}", options.pd_addresses.join(", "));
        let shared = Arc::new(Shared {
            client: RwLock::new(None),
            trouble: RwLock::new(Some(waiting)),
            is_in_trouble: AtomicBool::new(true),
            reconnect: Notify::new(),
            addresses: options.pd_addresses.clone(),
            timeout: options.timeout,
            counters,
            newest: AtomicU64::new(0),
            two_phases: AtomicU32::new(0),
            unsettled: Mutex::default(),
        });
        runtime.spawn(keep_connected(Arc::clone(&shared)));
        let handle = runtime.handle().clone();
        Ok(Cluster { runtime: Mutex::new(Some(runtime)), handle, shared })
    }

    /// Waits until the cluster has answered once, but not longer than a request may take.
    pub(super) fn wait_connected(&self) -> Result<()> {
        let until = Instant::now() + self.shared.timeout;
        while self.shared.is_in_trouble.load(Ordering::Acquire) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.shared.client().map(|_| ())
    }

    pub(super) fn close(&self) {
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }

    pub(super) fn timestamp(&self) -> Result<u64> {
        let begun = Instant::now();
        let stamp = self.handle.block_on(self.shared.timestamp());
        self.shared.counters.note(Kind::Timestamp, begun);
        let stamp = stamp?.version();
        self.shared.newest.fetch_max(stamp, Ordering::Relaxed);
        Ok(stamp)
    }

    pub(super) fn get(&self, at: u64, key: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let span = span_of([&key].into_iter());
        self.read(Kind::Get, at, span, async |mut snapshot| snapshot.get(key.clone()).await)
    }

    /// Those that are there, in any order.
    pub(super) fn get_many(&self, at: u64, keys: Vec<Vec<u8>>) -> Result<Vec<Row>> {
        let span = span_of(keys.iter());
        self.read(Kind::BatchGet, at, span, async |mut snapshot| {
            let pairs = snapshot.batch_get(keys.iter().cloned()).await?;
            Ok(pairs.map(|pair| (pair.0.into(), pair.1)).collect())
        })
    }

    pub(super) fn scan(
        &self,
        at: u64,
        (start, end): (&[u8], &[u8]),
        direction: Direction,
        limit: u32,
    ) -> Result<Vec<Row>> {
        let row = |pair: tikv_client::KvPair| (pair.0.into(), pair.1);
        self.read(Kind::Scan, at, (start.to_vec(), end.to_vec()), async |mut snapshot| {
            let range = BoundRange::from((Key::from(start.to_vec()), Key::from(end.to_vec())));
            Ok(match direction {
                Direction::Forward => snapshot.scan(range, limit).await?.map(row).collect(),
                Direction::Backward => snapshot.scan_reverse(range, limit).await?.map(row).collect(),
            })
        })
    }

    /// Reading changes nothing, so it is done again until the time is up.
    fn read<T>(
        &self,
        kind: Kind,
        at: u64,
        span: Span,
        ask: impl AsyncFn(Snapshot) -> tikv_client::Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let read = self.handle.block_on(async {
            let until = tokio::time::Instant::from_std(begun + self.shared.timeout);
            let mut wait_ms = RETRY_MS;
            loop {
                let snapshot = self.shared.client()?.snapshot(Timestamp::from_version(at), reading());
                match tokio::time::timeout_at(until, ask(snapshot)).await {
                    Ok(Ok(read)) => return Ok(read),
                    Ok(Err(error)) => {
                        let met = Met::of(&error);
                        self.shared.counters.met(met);
                        if met == Met::Fatal || tokio::time::Instant::now() >= until {
                            return Err(Error::Unavailable(words(&error)));
                        }
                        if let Some(owner) = unknown_owner(&error, at) {
                            self.shared.end_orphans(owner, &span).await;
                        }
                    }
                    Err(_) => return Err(self.shared.too_late()),
                }
                pause(&mut wait_ms).await;
            }
        });
        self.shared.counters.note(kind, begun);
        read
    }

    /// A transaction of its own timestamp.
    pub(super) fn begin(&self) -> Result<Begun> {
        self.begin_in(!self.shared.takes_two_phases())
    }

    fn begin_in(&self, one_phase: bool) -> Result<Begun> {
        let begun = Instant::now();
        let transaction = self.handle.block_on(async {
            let options = writing(TransactionOptions::new_optimistic());
            let options = if one_phase { options.try_one_pc() } else { options };
            self.shared.begin(options).await
        });
        self.shared.counters.note(Kind::Timestamp, begun);
        let transaction = transaction?;
        let at = transaction.start_timestamp().version();
        let handle = self.handle.clone();
        Ok(Begun { transaction: Some(transaction), at, handle, pessimistic: false, primary: None })
    }

    /// A transaction that holds these rows from its beginning, and reads what was committed when it had them.
    pub(super) fn begin_holding(&self, rows: &[Vec<u8>]) -> Result<Begun> {
        let shared = &self.shared;
        let started = Instant::now();
        let locked = self.handle.block_on(async {
            let until = tokio::time::Instant::from_std(started + shared.timeout);
            let mut wait_ms = RETRY_MS;
            loop {
                match shared.lock(rows, until).await {
                    // Whoever had them has committed: they are there for the next who asks.
                    Err(Error::Conflict) if tokio::time::Instant::now() < until => pause(&mut wait_ms).await,
                    locked => return locked,
                }
            }
        });
        shared.counters.note(Kind::Lock, started);
        let (transaction, at) = locked?;
        let handle = self.handle.clone();
        let primary = rows.first().cloned();
        Ok(Begun { transaction: Some(transaction), at, handle, pessimistic: true, primary })
    }

    pub(super) fn commit(&self, mut begun: Begun, changes: Changes) -> Result<u64> {
        let Some(transaction) = begun.transaction.take() else {
            return Err(Error::Unavailable("the transaction has ended".to_owned()));
        };
        let started = Instant::now();
        let primary = begun.primary.take().or_else(|| changes.first().cloned());
        // Large ones take longer, and nobody else is held up by that.
        let timeout = self.shared.timeout + Duration::from_secs(changes.rows() as u64 / 5_000);
        let committing = Committing {
            shared: &self.shared,
            holds_rows: begun.pessimistic,
            until: tokio::time::Instant::from_std(started + timeout),
        };
        let committed = self.handle.block_on(committing.run(transaction, changes));
        self.shared.counters.note(Kind::Commit, started);
        match &committed {
            Ok(_) => self.shared.counters.commits.fetch_add(1, Ordering::Relaxed),
            Err(Error::Conflict) => self.shared.counters.conflicts.fetch_add(1, Ordering::Relaxed),
            Err(Error::OutcomeUnknown(_)) => {
                self.shared.unsettled.lock().extend(primary);
                self.shared.counters.unknown.fetch_add(1, Ordering::Relaxed)
            }
            Err(_) => 0,
        };
        committed
    }

    /// Transactions that will ask for a row each.
    pub(super) fn begin_asking(&self, keys: Vec<Vec<u8>>) -> Result<Vec<Asking>> {
        self.handle.block_on(async {
            let mut all = Vec::with_capacity(keys.len());
            for key in keys {
                let mut transaction =
                    self.shared.begin(writing(TransactionOptions::new_optimistic())).await?;
                // What would be put and is deleted again is checked not to be there.
                let checks = async {
                    transaction.insert(key.clone(), Vec::new()).await?;
                    transaction.delete(key.clone()).await
                };
                checks.await.map_err(|error| Error::Unavailable(words(&error)))?;
                let at = transaction.start_timestamp().version();
                all.push(Asking { transaction: tokio::sync::Mutex::new(transaction), key, at });
            }
            Ok(all)
        })
    }

    /// Whether the row was not changed since.
    pub(super) fn ask(&self, asking: &Asking) -> Result<bool> {
        // What was changed may be forgotten by now.
        if self.is_too_old(asking.at) {
            return Ok(false);
        }
        let begun = Instant::now();
        let answer = self.handle.block_on(async {
            let until = tokio::time::Instant::from_std(begun + self.shared.timeout);
            let mut transaction = asking.transaction.lock().await;
            let mut wait_ms = RETRY_MS;
            loop {
                self.shared.client()?;
                let error = match tokio::time::timeout_at(until, transaction.commit()).await {
                    Ok(Ok(_)) => return Ok(true),
                    Ok(Err(error)) => error,
                    Err(_) => return Err(self.shared.too_late()),
                };
                match unknown_owner(&error, asking.at) {
                    // Its lock hides what was committed before it.
                    Some(owner) => self.shared.end_orphans(owner, &span_of([&asking.key].into_iter())).await,
                    None => {
                        if let Some(is_unchanged) = unchanged(&error) {
                            return Ok(is_unchanged);
                        }
                    }
                }
                self.shared.counters.met(Met::of(&error));
                if tokio::time::Instant::now() >= until {
                    return Err(Error::Unavailable(words(&error)));
                }
                pause(&mut wait_ms).await;
            }
        });
        self.shared.counters.note(Kind::Lock, begun);
        answer
    }

    /// Keeps commits that nobody waits for from being made from now on. A lock on the row that decides, committed behind them, has
    /// them refused; where they were half-way the lock waits until it is decided.
    pub(super) fn settle(&self) -> Result<()> {
        let unsettled = self.shared.unsettled.lock().clone();
        for key in unsettled {
            let until = Instant::now() + self.shared.timeout;
            loop {
                let locks = Changes { locks: vec![key.clone()], ..Changes::default() };
                match self.begin_in(false).and_then(|begun| self.commit(begun, locks)) {
                    Ok(_) => break,
                    Err(error) if Instant::now() >= until => return Err(error),
                    Err(_) => {}
                }
            }
            self.shared.unsettled.lock().retain(|other| *other != key);
        }
        Ok(())
    }

    /// Moves the safe point of the cluster, behind which old versions of rows are dropped. Locks from before it are resolved first.
    pub(super) fn drop_old_versions(&self, age: Duration) -> Result<()> {
        let now = self.timestamp()?;
        let age = (age.as_millis() as u64) << LOGICAL_BITS;
        let safe_point = Timestamp::from_version(now.saturating_sub(age));
        self.handle.block_on(async {
            let client = self.shared.client()?;
            let moved = client.gc(safe_point).await;
            // Somebody else may have moved it further.
            moved.map(|_| ()).map_err(|error| Error::Unavailable(words(&error)))
        })
    }

    /// Whether a moment is too long ago to be read.
    pub(super) fn is_too_old(&self, at: u64) -> bool {
        let newest = self.shared.newest.load(Ordering::Relaxed);
        newest.saturating_sub(at) >> LOGICAL_BITS > MAX_READ_AGE.as_millis() as u64
    }

    pub(super) fn is_away(&self) -> bool {
        self.shared.is_in_trouble.load(Ordering::Acquire)
    }

    /// Why the cluster does not serve at the moment.
    pub(super) fn trouble(&self) -> Option<String> {
        self.shared.trouble.read().clone()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.close();
    }
}

/// Locks that it holds are given back. Others find them out otherwise, but only after seconds.
impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take()
            && self.pessimistic
        {
            self.handle.spawn(roll_back(transaction));
        }
    }
}

impl Shared {
    fn client(&self) -> Result<TransactionClient> {
        if self.is_in_trouble.load(Ordering::Acquire) {
            let why = self.trouble.read().clone().unwrap_or_default();
            return Err(Error::Unavailable(format!("TiKV cannot be reached: {why}")));
        }
        let away = || Error::Unavailable("TiKV cannot be reached".to_owned());
        self.client.read().clone().ok_or_else(away)
    }

    /// Whether the next transaction does not try to commit in one phase, because a store could not.
    fn takes_two_phases(&self) -> bool {
        let fewer = |left: u32| left.checked_sub(1);
        self.two_phases.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
    }

    fn too_late(&self) -> Error {
        Error::Unavailable(format!("TiKV gave no answer within {} ms", self.timeout.as_millis()))
    }

    async fn timestamp(&self) -> Result<Timestamp> {
        let client = self.client()?;
        self.of_pd(client.current_timestamp()).await
    }

    async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        let client = self.client()?;
        self.of_pd(client.begin_with_options(options)).await
    }

    /// Locks rows; the transaction that holds them, and what it may read at.
    async fn lock(&self, rows: &[Vec<u8>], until: tokio::time::Instant) -> Result<(Transaction, u64)> {
        let mut transaction = self.begin(writing(TransactionOptions::new_pessimistic())).await?;
        let locking = transaction.lock_keys(rows.iter().cloned());
        let failed = match tokio::time::timeout_at(until, locking).await {
            Ok(Ok(())) => match self.timestamp().await {
                Ok(at) => return Ok((transaction, at.version())),
                Err(error) => error,
            },
            Ok(Err(error)) => {
                if let Some(owner) = unknown_owner(&error, transaction.start_timestamp().version()) {
                    self.end_orphans(owner, &span_of(rows.iter())).await;
                }
                match Refusal::of(&error).unwrap_or(Refusal::Unclear).error(&error) {
                    // Nothing was to be written yet.
                    Error::OutcomeUnknown(why) => Error::Unavailable(why),
                    other => other,
                }
            }
            Err(_) => self.too_late(),
        };
        tokio::spawn(roll_back(transaction));
        Err(failed)
    }

    /// Whoever gives timestamps is needed by everybody: where it gives none, nobody is let through until it does again.
    async fn of_pd<T>(&self, asked: impl Future<Output = tikv_client::Result<T>>) -> Result<T> {
        let why = match tokio::time::timeout(self.timeout, asked).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => words(&error),
            Err(_) => format!("no timestamp within {} ms", self.timeout.as_millis()),
        };
        self.in_trouble(&why);
        Err(Error::Unavailable(format!("TiKV cannot be reached: {why}")))
    }

    fn in_trouble(&self, why: &str) {
        *self.trouble.write() = Some(why.to_owned());
        if !self.is_in_trouble.swap(true, Ordering::AcqRel) {
            tracing::warn!("the cluster cannot be reached: {why}");
            self.reconnect.notify_one();
        }
    }

    async fn connect(&self) -> tikv_client::Result<TransactionClient> {
        let config = Config::default()
            .with_timeout(request_timeout(self.timeout))
            .with_grpc_max_decoding_message_size(MAX_ANSWER_BYTES);
        let client = TransactionClient::new_with_config(self.addresses.clone(), config).await?;
        client.current_timestamp().await?;
        Ok(client)
    }
}

/// How long one request may take. An answer that is lost costs this, and is asked for again within the time of the whole.
fn request_timeout(timeout: Duration) -> Duration {
    (timeout / TRIES).clamp(MIN_REQUEST, MAX_REQUEST).min(timeout)
}

/// A new client takes the place of one that does not get through: what it knew of the cluster may be wrong by now.
async fn keep_connected(shared: Arc<Shared>) {
    loop {
        if !shared.is_in_trouble.load(Ordering::Acquire) {
            shared.reconnect.notified().await;
            continue;
        }
        let limit = shared.timeout.min(Duration::from_secs(2));
        match tokio::time::timeout(limit, shared.connect()).await {
            Ok(Ok(client)) => {
                *shared.client.write() = Some(client);
                *shared.trouble.write() = None;
                shared.is_in_trouble.store(false, Ordering::Release);
                tracing::info!("connected to the cluster at {}", shared.addresses.join(", "));
            }
            Ok(Err(error)) => *shared.trouble.write() = Some(words(&error)),
            Err(_) => {
                *shared.trouble.write() = Some(format!("no answer from {}", shared.addresses.join(", ")));
            }
        }
        tokio::time::sleep(RECONNECT_EVERY).await;
    }
}

/// Tried again where the store was busy: whoever meets a lock that stays waits until its time is up.
async fn roll_back(mut transaction: Transaction) {
    let mut wait_ms = RETRY_MS;
    for _ in 0..MAX_ROLLBACKS {
        let Err(error) = transaction.rollback().await else { return };
        if matches!(Met::of(&error), Met::Fatal | Met::Conflict) {
            return;
        }
        tracing::debug!(%error, "a transaction could not be rolled back");
        pause(&mut wait_ms).await;
    }
}

async fn pause(wait_ms: &mut u64) {
    tokio::time::sleep(Duration::from_millis(*wait_ms)).await;
    *wait_ms = (*wait_ms * 2).min(MAX_RETRY_MS);
}

/// The library sends again by itself what a store has not taken, or not answered. That does no harm: stores know again what they have
/// prewritten or committed. Without it a lost answer behind the row that decides would leave locks on the others, and whoever meets one
/// waits until its time is up.
const PATIENT: Backoff = Backoff::no_jitter_backoff(RETRY_MS, MAX_RETRY_MS, MAX_RETRIES);

/// A commit that meets a lock gives up soon. It holds rows itself, so that two could wait for each other until their locks run out; and whoever it
/// waits for has changed what it relies on, more often than not. It runs again, and reads wait while they hold nothing.
const HASTY: Backoff = Backoff::no_jitter_backoff(RETRY_MS, MAX_RETRY_MS, MAX_LOCK_RETRIES);

fn reading() -> TransactionOptions {
    let retry = RetryOptions { region_backoff: PATIENT, lock_backoff: PATIENT };
    TransactionOptions::new_optimistic().retry_options(retry).drop_check(CheckLevel::None)
}

/// Without a task that keeps its locks alive: it is over before these run out.
fn writing(options: TransactionOptions) -> TransactionOptions {
    options
        .retry_options(RetryOptions { region_backoff: PATIENT, lock_backoff: HASTY })
        .drop_check(CheckLevel::None)
        .heartbeat_option(HeartbeatOption::NoHeartbeat)
}
