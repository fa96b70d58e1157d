//! TiKV's calls: faults, checks of the region, then the command.

use std::future::pending;
use std::time::Duration;

use http::{Request, Response};
use hyper::Body;
use prost::Message;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::Status;
use tonic::body::BoxBody;
use tonic::server::UnaryService;

use super::{Answer, unary};
use crate::cluster::{Cluster, Shared};
use crate::counts::Call;
use crate::faults::Fault;
use crate::mvcc::{Blocker, Error, Range};
use crate::proto::errorpb::{self, MaxTimestampNotSynced, RaftEntryTooLarge, ServerIsBusy, StaleCommand};
use crate::proto::kvrpcpb::*;
use crate::region::{epoch_not_match, region_not_found};

/// The size of a command above which raft refuses it.
const MAX_ENTRY_BYTES: usize = 8 << 20;

/// With so many regions the fault of a split becomes one of a merge, so that runs can be long.
const MANY_REGIONS: usize = 32;

/// A request to TiKV.
pub trait Command: Message + Default + Send + Sync + 'static {
    type Response: Message + Send + 'static;
    const CALL: Call;

    /// `None`: the request is for the store, not for a region.
    fn context(&self) -> Option<&Context>;

    /// The keys that must be in the region.
    fn keys(&self) -> Vec<&[u8]>;

    /// The timestamp that the request reads or writes at.
    fn ts(&self) -> u64 {
        0
    }

    /// Whether chance may have it meet a conflict. Of the requests of one commit only that of the row that decides may, so that large commits
    /// meet no more of them than small ones.
    fn may_conflict(&self) -> bool {
        true
    }

    /// How much it writes.
    fn bytes(&self) -> usize {
        0
    }

    fn refuse(error: errorpb::Error) -> Self::Response;

    fn run(&self, cluster: &mut Cluster, store: u64, region: &Range) -> Outcome<Self::Response>;

    /// The answer to a request that has waited in vain, or need not wait any more.
    fn give_up(&self, error: Error) -> Option<Self::Response> {
        let _ = error;
        None
    }

    /// Whether the lock that the request waits for is gone, and what it is told then.
    fn released(&self, cluster: &Cluster, blocker: &Blocker) -> Option<Error> {
        let (_, _) = (cluster, blocker);
        None
    }

    /// The transaction that waits, and how long it does.
    fn wait(&self, longest: Duration) -> (u64, Duration) {
        (0, longest)
    }
}

/// What a command comes to.
pub enum Outcome<T> {
    Done(T),
    /// Somebody holds a key. The error is the answer once it has waited long enough.
    Blocked {
        blocker: Blocker,
        error: Error,
    },
}

pub async fn route(call: Call, store: u64, shared: Shared, request: Request<Body>) -> Response<BoxBody> {
    match call {
        Call::Get => answer::<GetRequest>(store, shared, request).await,
        Call::BatchGet => answer::<BatchGetRequest>(store, shared, request).await,
        Call::Scan => answer::<ScanRequest>(store, shared, request).await,
        Call::Prewrite => answer::<PrewriteRequest>(store, shared, request).await,
        Call::Commit => answer::<CommitRequest>(store, shared, request).await,
        Call::BatchRollback => answer::<BatchRollbackRequest>(store, shared, request).await,
        Call::Cleanup => answer::<CleanupRequest>(store, shared, request).await,
        Call::PessimisticLock => answer::<PessimisticLockRequest>(store, shared, request).await,
        Call::PessimisticRollback => answer::<PessimisticRollbackRequest>(store, shared, request).await,
        Call::TxnHeartBeat => answer::<TxnHeartBeatRequest>(store, shared, request).await,
        Call::CheckTxnStatus => answer::<CheckTxnStatusRequest>(store, shared, request).await,
        Call::CheckSecondaryLocks => answer::<CheckSecondaryLocksRequest>(store, shared, request).await,
        Call::ScanLock => answer::<ScanLockRequest>(store, shared, request).await,
        Call::ResolveLock => answer::<ResolveLockRequest>(store, shared, request).await,
        Call::Gc => answer::<GcRequest>(store, shared, request).await,
        Call::DeleteRange => answer::<DeleteRangeRequest>(store, shared, request).await,
        Call::UnsafeDestroyRange => answer::<UnsafeDestroyRangeRequest>(store, shared, request).await,
        _ => Status::unimplemented(call.path()).to_http(),
    }
}

async fn answer<C: Command>(store: u64, shared: Shared, request: Request<Body>) -> Response<BoxBody> {
    unary::<C, _>(request, Store { id: store, shared }).await
}

/// One store, about to answer a request.
struct Store {
    id: u64,
    shared: Shared,
}

impl<C: Command> UnaryService<C> for Store {
    type Response = C::Response;
    type Future = Answer<C::Response>;

    fn call(&mut self, request: tonic::Request<C>) -> Self::Future {
        let (id, shared) = (self.id, self.shared.clone());
        Box::pin(async move { serve(id, shared, request.into_inner()).await.map(tonic::Response::new) })
    }
}

/// Answers one request, if nothing goes wrong on purpose.
async fn serve<C: Command>(store: u64, shared: Shared, command: C) -> Result<C::Response, Status> {
    let fault = {
        let mut cluster = shared.lock();
        cluster.counts.add(C::CALL);
        cluster.faults.decide(C::CALL, &command.keys(), command.may_conflict())
    };
    match &fault {
        Some(Fault::Unavailable) => return Err(Status::unavailable("the double is told to be unavailable")),
        Some(Fault::TimeoutBefore) => return pending().await,
        Some(Fault::Delay(delay)) => sleep(*delay).await,
        Some(Fault::Late(delay)) => {
            let delay = *delay;
            shared.lock().late += 1;
            tokio::spawn(async move {
                sleep(delay).await;
                carry_out(store, &shared, &command, None).await;
                shared.lock().late -= 1;
            });
            return pending().await;
        }
        _ => {}
    }
    let response = carry_out(store, &shared, &command, fault.as_ref()).await;
    match fault {
        Some(Fault::UnavailableAfter) => {
            Err(Status::unavailable("the double is told to be unavailable from now on"))
        }
        Some(Fault::TimeoutAfter) => pending().await,
        _ => Ok(response),
    }
}

async fn carry_out<C: Command>(
    store: u64,
    shared: &Shared,
    command: &C,
    fault: Option<&Fault>,
) -> C::Response {
    let blocked = {
        let mut cluster = shared.lock();
        if let Some(fault) = fault {
            prepare(&mut cluster, command, fault);
        }
        match attempt(&mut cluster, store, command, fault) {
            Err(error) => return C::refuse(error),
            Ok(Outcome::Done(response)) => {
                shared.released.notify_waiters();
                return response;
            }
            Ok(Outcome::Blocked { blocker, error }) => (blocker, error),
        }
    };
    wait(shared, command, blocked).await
}

/// Lets happen to the cluster what is to happen to it before the command.
fn prepare<C: Command>(cluster: &mut Cluster, command: &C, fault: &Fault) {
    let Some(key) = command.keys().first().map(|key| key.to_vec()) else { return };
    match fault {
        Fault::MoveLeader => cluster.move_leader_on(&key),
        Fault::Split if cluster.regions.len() >= MANY_REGIONS => {
            cluster.merge(&key);
        }
        Fault::Split => {
            cluster.regions.split(&key);
        }
        Fault::Conflict => cluster.roll_somebody_back(&key),
        Fault::AbandonedLock => {
            cluster.abandon_lock(&key, command.ts());
        }
        _ => {}
    }
}

/// Checks the region and runs the command.
fn attempt<C: Command>(
    cluster: &mut Cluster,
    store: u64,
    command: &C,
    fault: Option<&Fault>,
) -> Result<Outcome<C::Response>, errorpb::Error> {
    let Some(context) = command.context() else {
        let everything = Range { start: Vec::new(), end: Vec::new() };
        return Ok(command.run(cluster, store, &everything));
    };
    let region = cluster.regions.check(store, Some(context))?;
    match fault {
        Some(Fault::NotLeader { hint }) => return Err(region.not_leader(*hint)),
        Some(Fault::EpochNotMatch) => return Err(epoch_not_match(vec![region.to_meta()])),
        Some(Fault::RegionNotFound) => return Err(region_not_found(region.id)),
        Some(Fault::KeyNotInRegion) => return Err(region.key_not_in_region(b"")),
        Some(Fault::ServerIsBusy) => return Err(busy()),
        Some(Fault::StaleCommand) => return Err(stale()),
        Some(Fault::MaxTimestampNotSynced) => return Err(not_synced()),
        _ => {}
    }
    if let Some(outside) = command.keys().iter().find(|key| !region.range.contains(key)) {
        return Err(region.key_not_in_region(outside));
    }
    let size = command.bytes();
    if size > MAX_ENTRY_BYTES {
        return Err(errorpb::Error {
            message: format!("raft entry is too large, region {}, entry size {size}", region.id),
            raft_entry_too_large: Some(RaftEntryTooLarge { region_id: region.id, entry_size: size as u64 }),
            ..errorpb::Error::default()
        });
    }
    let range = region.range.clone();
    let outcome = command.run(cluster, store, &range);
    if C::CALL == Call::Prewrite {
        cluster.split_if_large(&range);
    }
    Ok(outcome)
}

/// Waits until the lock is gone or it has taken too long.
async fn wait<C: Command>(shared: &Shared, command: &C, (blocker, error): (Blocker, Error)) -> C::Response {
    let give_up = |error: Error| command.give_up(error).unwrap_or_else(|| C::refuse(stale()));
    let (waiter, longest) = command.wait(shared.lock().options.lock_wait);
    let began = shared.lock().waits.begin(waiter, &blocker);
    let _wait = match began {
        Ok(id) => Wait { shared, id },
        Err(deadlock) => return give_up(deadlock),
    };
    let end = Instant::now() + longest;
    loop {
        let mut changed = std::pin::pin!(shared.released.notified());
        changed.as_mut().enable();
        let released = command.released(&shared.lock(), &blocker);
        if let Some(conflict) = released {
            return give_up(conflict);
        }
        if timeout_at(end, changed).await.is_err() {
            return give_up(error);
        }
    }
}

/// A wait that ends when its client goes away, too.
struct Wait<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.shared.lock().waits.end(self.id);
    }
}

fn busy() -> errorpb::Error {
    errorpb::Error {
        message: "server is busy".to_owned(),
        server_is_busy: Some(ServerIsBusy { reason: "scheduler is busy".to_owned(), backoff_ms: 0 }),
        ..errorpb::Error::default()
    }
}

fn stale() -> errorpb::Error {
    errorpb::Error {
        message: "stale command".to_owned(),
        stale_command: Some(StaleCommand {}),
        ..errorpb::Error::default()
    }
}

fn not_synced() -> errorpb::Error {
    errorpb::Error {
        message: "max timestamp is not synced".to_owned(),
        max_timestamp_not_synced: Some(MaxTimestampNotSynced {}),
        ..errorpb::Error::default()
    }
}
