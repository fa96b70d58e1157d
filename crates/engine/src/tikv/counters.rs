//! What an operator wants to know of the traffic with the cluster.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::client::Met;
use crate::{RemoteCall, RemoteStats};

/// The requests that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Timestamp,
    Get,
    BatchGet,
    Scan,
    Lock,
    Commit,
}

const KINDS: [(Kind, &str); 6] = [
    (Kind::Timestamp, "timestamp"),
    (Kind::Get, "get"),
    (Kind::BatchGet, "batch_get"),
    (Kind::Scan, "scan"),
    (Kind::Lock, "lock"),
    (Kind::Commit, "commit"),
];

#[derive(Debug, Default)]
struct Calls {
    count: AtomicU64,
    nanos: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    calls: [Calls; KINDS.len()],
    pub(super) commits: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) unknown: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) shared_timestamps: AtomicU64,
    regions: AtomicU64,
    locks: AtomicU64,
    transport: AtomicU64,
}

impl Counters {
    pub(super) fn note(&self, kind: Kind, begun: Instant) {
        if let Some(calls) = self.calls.get(kind as usize) {
            calls.count.fetch_add(1, Ordering::Relaxed);
            calls.nanos.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn met(&self, met: Met) {
        match met {
            Met::Region => self.regions.fetch_add(1, Ordering::Relaxed),
            Met::Lock => self.locks.fetch_add(1, Ordering::Relaxed),
            Met::Transport => self.transport.fetch_add(1, Ordering::Relaxed),
            Met::Conflict | Met::Fatal => 0,
        };
    }

    pub(super) fn stats(&self, trouble: Option<String>) -> RemoteStats {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let calls = KINDS.iter().zip(&self.calls);
        RemoteStats {
            trouble,
            commits: number(&self.commits),
            conflicts: number(&self.conflicts),
            unknown_outcomes: number(&self.unknown),
            retries: number(&self.retries),
            shared_timestamps: number(&self.shared_timestamps),
            region_errors: number(&self.regions),
            lock_waits: number(&self.locks),
            transport_errors: number(&self.transport),
            calls: calls
                .map(|((_, name), calls)| RemoteCall {
                    name,
                    count: number(&calls.count),
                    nanos: number(&calls.nanos),
                })
                .collect(),
        }
    }
}
