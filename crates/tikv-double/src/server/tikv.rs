//! Each command of TiKV: which keys it names, and what it does to the rows.

use std::collections::HashMap;
use std::time::Duration;

use super::kv::{Command, Outcome};
use crate::cluster::Cluster;
use crate::counts::Call;
use crate::mvcc::{Blocker, Error, Range, View};
use crate::proto::errorpb;
use crate::proto::kvrpcpb::*;

/// What all commands of regions have in common.
macro_rules! of_region {
    ($call:ident, $response:ident) => {
        type Response = $response;
        const CALL: Call = Call::$call;

        fn context(&self) -> Option<&Context> {
            // Without one the region is not known, which is an error of its own.
            static NOWHERE: Context =
                Context { region_id: 0, region_epoch: None, peer: None, resolved_locks: Vec::new() };
            Some(self.context.as_ref().unwrap_or(&NOWHERE))
        }

        fn refuse(error: errorpb::Error) -> $response {
            $response { region_error: Some(error), ..$response::default() }
        }
    };
}

fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

fn view(context: Option<&Context>, ts: u64) -> View<'_> {
    View { ts, resolved: context.map_or(&[], |context| &context.resolved_locks) }
}

impl Command for GetRequest {
    of_region!(Get, GetResponse);

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.key]
    }

    fn ts(&self) -> u64 {
        self.version
    }

    fn run(&self, cluster: &mut Cluster, store: u64, _: &Range) -> Outcome<GetResponse> {
        cluster.note_read(store, self.version);
        Outcome::Done(match cluster.mvcc.get(&self.key, &view(self.context.as_ref(), self.version)) {
            Ok(Some(value)) => GetResponse { value, ..GetResponse::default() },
            Ok(None) => GetResponse { not_found: true, ..GetResponse::default() },
            Err(error) => GetResponse { error: Some(error.into()), ..GetResponse::default() },
        })
    }
}

impl Command for BatchGetRequest {
    of_region!(BatchGet, BatchGetResponse);

    fn keys(&self) -> Vec<&[u8]> {
        slices(&self.keys)
    }

    fn ts(&self) -> u64 {
        self.version
    }

    fn run(&self, cluster: &mut Cluster, store: u64, _: &Range) -> Outcome<BatchGetResponse> {
        cluster.note_read(store, self.version);
        let pairs = cluster.mvcc.batch_get(&self.keys, &view(self.context.as_ref(), self.version));
        Outcome::Done(BatchGetResponse { pairs, ..BatchGetResponse::default() })
    }
}

impl Command for ScanRequest {
    of_region!(Scan, ScanResponse);

    /// The end of a backward scan is its first key and may be the end of the region.
    fn keys(&self) -> Vec<&[u8]> {
        vec![if self.reverse { &self.end_key } else { &self.start_key }]
    }

    fn ts(&self) -> u64 {
        self.version
    }

    fn run(&self, cluster: &mut Cluster, store: u64, region: &Range) -> Outcome<ScanResponse> {
        cluster.note_read(store, self.version);
        let range = if self.reverse {
            region.and(&self.end_key, &self.start_key)
        } else {
            region.and(&self.start_key, &self.end_key)
        };
        let view = view(self.context.as_ref(), self.version);
        let pairs = cluster.mvcc.scan(&range, self.limit as usize, self.key_only, self.reverse, &view);
        Outcome::Done(ScanResponse { pairs, ..ScanResponse::default() })
    }
}

impl Command for PrewriteRequest {
    of_region!(Prewrite, PrewriteResponse);

    fn keys(&self) -> Vec<&[u8]> {
        self.mutations.iter().map(|mutation| mutation.key.as_slice()).collect()
    }

    fn ts(&self) -> u64 {
        self.start_version
    }

    fn may_conflict(&self) -> bool {
        self.mutations.iter().any(|mutation| mutation.key == self.primary_lock)
    }

    fn bytes(&self) -> usize {
        self.mutations.iter().map(|mutation| mutation.key.len() + mutation.value.len()).sum()
    }

    fn run(&self, cluster: &mut Cluster, store: u64, _: &Range) -> Outcome<PrewriteResponse> {
        let (mvcc, max_ts) = cluster.access(store);
        Outcome::Done(mvcc.prewrite(self, max_ts))
    }
}

impl Command for CommitRequest {
    of_region!(Commit, CommitResponse);

    fn keys(&self) -> Vec<&[u8]> {
        slices(&self.keys)
    }

    fn run(&self, cluster: &mut Cluster, _: u64, _: &Range) -> Outcome<CommitResponse> {
        let done = cluster.mvcc.commit(&self.keys, self.start_version, self.commit_version);
        Outcome::Done(match done {
            Ok(()) => CommitResponse { commit_version: self.commit_version, ..CommitResponse::default() },
            Err(error) => CommitResponse { error: Some(error.into()), ..CommitResponse::default() },
        })
    }
}

impl Command for BatchRollbackRequest {
    of_region!(BatchRollback, BatchRollbackResponse);

    fn keys(&self) -> Vec<&[u8]> {
        slices(&self.keys)
    }

    fn run(&self, cluster: &mut Cluster, _: u64, _: &Range) -> Outcome<BatchRollbackResponse> {
        let done = cluster.mvcc.batch_rollback(&self.keys, self.start_version);
        let error = done.err().map(Into::into);
        Outcome::Done(BatchRollbackResponse { error, ..BatchRollbackResponse::default() })
    }
}

impl Command for CleanupRequest {
    of_region!(Cleanup, CleanupResponse);

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.key]
    }

    fn run(&self, cluster: &mut Cluster, _: u64, _: &Range) -> Outcome<CleanupResponse> {
        let mut response = CleanupResponse::default();
        match cluster.mvcc.cleanup(&self.key, self.start_version, self.current_ts) {
            Ok(()) => {}
            Err(Error::Committed { commit_ts, .. }) => response.commit_version = commit_ts,
            Err(error) => response.error = Some(error.into()),
        }
        Outcome::Done(response)
    }
}

impl Command for PessimisticLockRequest {
    of_region!(PessimisticLock, PessimisticLockResponse);

    fn keys(&self) -> Vec<&[u8]> {
        self.mutations.iter().map(|mutation| mutation.key.as_slice()).collect()
    }

    fn ts(&self) -> u64 {
        self.for_update_ts
    }

    fn run(&self, cluster: &mut Cluster, store: u64, _: &Range) -> Outcome<PessimisticLockResponse> {
        let (mvcc, max_ts) = cluster.access(store);
        match mvcc.pessimistic_lock(self, max_ts) {
            Ok(values) => {
                let mut response = PessimisticLockResponse::default();
                if self.return_values || self.check_existence {
                    response.not_founds = values.iter().map(Option::is_none).collect();
                }
                if self.return_values {
                    response.values = values.into_iter().map(Option::unwrap_or_default).collect();
                }
                Outcome::Done(response)
            }
            Err(Error::Locked(lock)) if self.wait_timeout >= 0 => {
                let blocker = Blocker { key: lock.key.clone(), lock_ts: lock.lock_version };
                Outcome::Blocked { blocker, error: Error::Locked(lock) }
            }
            Err(error) => Outcome::Done(failed(error)),
        }
    }

    fn give_up(&self, error: Error) -> Option<PessimisticLockResponse> {
        Some(failed(error))
    }

    fn released(&self, cluster: &Cluster, blocker: &Blocker) -> Option<Error> {
        cluster.mvcc.released(self, blocker)
    }

    fn wait(&self, longest: Duration) -> (u64, Duration) {
        let asked = match u64::try_from(self.wait_timeout) {
            Ok(0) | Err(_) => longest,
            Ok(ms) => Duration::from_millis(ms),
        };
        (self.start_version, asked.min(longest))
    }
}

fn failed(error: Error) -> PessimisticLockResponse {
    PessimisticLockResponse { errors: vec![error.into()], ..PessimisticLockResponse::default() }
}

impl Command for PessimisticRollbackRequest {
    of_region!(PessimisticRollback, PessimisticRollbackResponse);

    fn keys(&self) -> Vec<&[u8]> {
        slices(&self.keys)
    }

    fn run(&self, cluster: &mut Cluster, _: u64, _: &Range) -> Outcome<PessimisticRollbackResponse> {
        cluster.mvcc.pessimistic_rollback(&self.keys, self.start_version, self.for_update_ts);
        Outcome::Done(PessimisticRollbackResponse::default())
    }
}

impl Command for TxnHeartBeatRequest {
    of_region!(TxnHeartBeat, TxnHeartBeatResponse);

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.primary_lock]
    }

    fn run(&self, cluster: &mut Cluster, _: u64, _: &Range) -> Outcome<TxnHeartBeatResponse> {
        let beat = cluster.mvcc.heart_beat(&self.primary_lock, self.start_version, self.advise_lock_ttl);
        Outcome::Done(match beat {
            Ok(lock_ttl) => TxnHeartBeatResponse { lock_ttl, ..TxnHeartBeatResponse::default() },
            Err(error) => {
                TxnHeartBeatResponse { error: Some(error.into()), ..TxnHeartBeatResponse::default() }
            }
        })
    }
}

impl Command for CheckTxnStatusRequest {
    of_region!(CheckTxnStatus, CheckTxnStatusResponse);

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.primary_key]
    }

    fn run(&self, cluster: &mut Cluster, store: u64, _: &Range) -> Outcome<CheckTxnStatusResponse> {
        let (mvcc, max_ts) = cluster.access(store);
        Outcome::Done(mvcc.check_txn_status(self, max_ts).unwrap_or_else(|error| CheckTxnStatusResponse {
            error: Some(error.into()),
            ..CheckTxnStatusResponse::default()
        }))
    }
}

impl Command for CheckSecondaryLocksRequest {
    of_region!(CheckSecondaryLocks, CheckSecondaryLocksResponse);

    fn keys(&self) -> Vec<&[u8]> {
        slices(&self.keys)
    }

    fn run(&self, cluster: &mut Cluster, store: u64, _: &Range) -> Outcome<CheckSecondaryLocksResponse> {
        let (mvcc, max_ts) = cluster.access(store);
        Outcome::Done(mvcc.check_secondary_locks(&self.keys, self.start_version, max_ts))
    }
}

impl Command for ScanLockRequest {
    of_region!(ScanLock, ScanLockResponse);

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.start_key]
    }

    fn run(&self, cluster: &mut Cluster, store: u64, region: &Range) -> Outcome<ScanLockResponse> {
        cluster.note_read(store, self.max_version);
        let range = region.and(&self.start_key, &self.end_key);
        let locks = cluster.mvcc.scan_lock(&range, self.max_version, self.limit as usize);
        Outcome::Done(ScanLockResponse { locks, ..ScanLockResponse::default() })
    }
}

impl Command for ResolveLockRequest {
    of_region!(ResolveLock, ResolveLockResponse);

    fn keys(&self) -> Vec<&[u8]> {
        slices(&self.keys)
    }

    fn run(&self, cluster: &mut Cluster, _: u64, region: &Range) -> Outcome<ResolveLockResponse> {
        let outcomes: HashMap<u64, u64> = if self.txn_infos.is_empty() {
            HashMap::from([(self.start_version, self.commit_version)])
        } else {
            self.txn_infos.iter().map(|info| (info.txn, info.status)).collect()
        };
        let done = cluster.mvcc.resolve_locks(&outcomes, region, &self.keys);
        let error = done.err().map(Into::into);
        Outcome::Done(ResolveLockResponse { error, ..ResolveLockResponse::default() })
    }
}

impl Command for GcRequest {
    of_region!(Gc, GcResponse);

    fn keys(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn run(&self, cluster: &mut Cluster, _: u64, region: &Range) -> Outcome<GcResponse> {
        cluster.mvcc.collect_garbage(region, self.safe_point);
        Outcome::Done(GcResponse::default())
    }
}

impl Command for DeleteRangeRequest {
    of_region!(DeleteRange, DeleteRangeResponse);

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.start_key]
    }

    fn run(&self, cluster: &mut Cluster, _: u64, region: &Range) -> Outcome<DeleteRangeResponse> {
        if !self.notify_only {
            cluster.mvcc.destroy(&region.and(&self.start_key, &self.end_key));
        }
        Outcome::Done(DeleteRangeResponse::default())
    }
}

impl Command for UnsafeDestroyRangeRequest {
    type Response = UnsafeDestroyRangeResponse;
    const CALL: Call = Call::UnsafeDestroyRange;

    fn context(&self) -> Option<&Context> {
        None
    }

    fn keys(&self) -> Vec<&[u8]> {
        vec![&self.start_key]
    }

    fn refuse(error: errorpb::Error) -> UnsafeDestroyRangeResponse {
        UnsafeDestroyRangeResponse { region_error: Some(error), ..UnsafeDestroyRangeResponse::default() }
    }

    /// Every store is asked to remove what it has; here the first removes all, since they share it.
    fn run(&self, cluster: &mut Cluster, _: u64, _: &Range) -> Outcome<UnsafeDestroyRangeResponse> {
        cluster.mvcc.destroy(&Range { start: self.start_key.clone(), end: self.end_key.clone() });
        Outcome::Done(UnsafeDestroyRangeResponse::default())
    }
}
