//! What is counted: per command and per process. Each thread writes counters of its own, so that counting costs no
//! shared cache line; readers add them up.

pub mod http;
pub mod info;
pub mod latency;
pub mod memory;
pub mod process;
pub mod prometheus;
pub mod rates;
pub mod slowlog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// A number with one writer and any number of readers.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Only the owning thread may add.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Latencies by powers of two of a microsecond: bucket n counts what took less than 2^n us.
pub const LATENCY_BUCKETS: usize = 31;

#[derive(Debug)]
pub struct CommandCounters {
    pub calls: Counter,
    pub nanos: Counter,
    pub rejected: Counter,
    pub failed: Counter,
    pub latency: [Counter; LATENCY_BUCKETS],
}

impl Default for CommandCounters {
    fn default() -> CommandCounters {
        CommandCounters {
            calls: Counter::default(),
            nanos: Counter::default(),
            rejected: Counter::default(),
            failed: Counter::default(),
            latency: std::array::from_fn(|_| Counter::default()),
        }
    }
}

impl CommandCounters {
    pub fn took(&self, nanos: u64) {
        self.calls.add(1);
        self.nanos.add(nanos);
        let bucket = (u64::BITS - (nanos / 1000).leading_zeros()) as usize;
        if let Some(bucket) = self.latency.get(bucket.min(LATENCY_BUCKETS - 1)) {
            bucket.add(1);
        }
    }
}

/// The counters of one thread. The default counts no commands.
#[derive(Debug, Default)]
pub struct ThreadCounters {
    pub commands: Vec<CommandCounters>,
    pub hits: Counter,
    pub misses: Counter,
    pub expired: Counter,
    pub net_in_bytes: Counter,
    pub net_out_bytes: Counter,
    pub connections: Counter,
    pub rejected_connections: Counter,
    pub offloaded: Counter,
    pub writes: Counter,
    /// Runs that began again because another transaction won.
    pub conflicts: Counter,
    pub error_replies: Counter,
    /// Clients closed because their query was too long.
    pub closed_for_query: Counter,
    /// And because too many replies waited for them.
    pub closed_for_output: Counter,
    /// What the buffers of its clients hold now.
    pub client_bytes: AtomicU64,
}

impl ThreadCounters {
    fn new(commands: usize) -> ThreadCounters {
        ThreadCounters {
            commands: (0..commands).map(|_| CommandCounters::default()).collect(),
            ..ThreadCounters::default()
        }
    }

    pub fn command(&self, id: usize) -> Option<&CommandCounters> {
        self.commands.get(id)
    }
}

/// All threads' counters, and the numbers that are rare enough to share.
#[derive(Debug, Default)]
pub struct Metrics {
    threads: Mutex<Vec<Arc<ThreadCounters>>>,
    /// Error replies by their first word.
    errors: Mutex<std::collections::BTreeMap<Box<str>, u64>>,
    pub slowlog: slowlog::Slowlog,
    pub large_requests: slowlog::Slowlog,
    pub large_replies: slowlog::Slowlog,
    pub rates: rates::Rates,
    pub spikes: latency::Spikes,
    /// Clients closed because all together held too much.
    pub evicted_clients: AtomicU64,
    /// What had been allocated when the server began to serve, and is in no other part of the memory.
    startup_bytes: AtomicU64,
}

impl Metrics {
    pub fn startup_bytes(&self) -> u64 {
        self.startup_bytes.load(Ordering::Relaxed)
    }

    pub fn set_startup_bytes(&self, bytes: u64) {
        self.startup_bytes.store(bytes, Ordering::Relaxed);
    }
}

/// One command's numbers over all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandTotals {
    pub calls: u64,
    pub nanos: u64,
    pub rejected: u64,
    pub failed: u64,
    pub latency: [u64; LATENCY_BUCKETS],
}

impl CommandTotals {
    /// The latency that this share of the calls stayed under, in microseconds: the upper end of its bucket.
    pub fn percentile(&self, percent: f64) -> u64 {
        let total: u64 = self.latency.iter().sum();
        let rank = ((percent / 100.0 * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        for (bucket, count) in self.latency.iter().enumerate() {
            below += count;
            if below >= rank {
                return 1 << bucket;
            }
        }
        0
    }
}

/// Distinct error codes that are told apart; the rest is counted together.
const MAX_ERROR_CODES: usize = 128;

impl Metrics {
    /// Counters for a new thread.
    pub fn register(&self, commands: usize) -> Arc<ThreadCounters> {
        let counters = Arc::new(ThreadCounters::new(commands));
        self.threads.lock().push(Arc::clone(&counters));
        counters
    }

    /// The sum of one number over all threads.
    pub fn sum(&self, of: impl Fn(&ThreadCounters) -> u64) -> u64 {
        self.threads.lock().iter().map(|counters| of(counters)).sum()
    }

    /// Every command's numbers, by its place in the registry.
    pub fn commands(&self) -> Vec<CommandTotals> {
        let mut totals = Vec::new();
        for thread in self.threads.lock().iter() {
            totals.resize(totals.len().max(thread.commands.len()), CommandTotals::default());
            for (total, counters) in totals.iter_mut().zip(&thread.commands) {
                total.calls += counters.calls.get();
                total.nanos += counters.nanos.get();
                total.rejected += counters.rejected.get();
                total.failed += counters.failed.get();
                for (sum, bucket) in total.latency.iter_mut().zip(&counters.latency) {
                    *sum += bucket.get();
                }
            }
        }
        totals
    }

    /// Commands that ran.
    pub fn calls(&self) -> u64 {
        self.sum(|thread| thread.commands.iter().map(|command| command.calls.get()).sum())
    }

    pub fn count_error(&self, code: &str) {
        let mut errors = self.errors.lock();
        if let Some(count) = errors.get_mut(code) {
            *count += 1;
        } else {
            let code = if errors.len() < MAX_ERROR_CODES { code } else { "OTHER" };
            *errors.entry(code.into()).or_default() += 1;
        }
    }

    pub fn errors(&self) -> Vec<(Box<str>, u64)> {
        self.errors.lock().iter().map(|(code, count)| (code.clone(), *count)).collect()
    }

    /// CONFIG RESETSTAT. Races with the owners lose at most a few counts.
    pub fn reset(&self) {
        self.errors.lock().clear();
        for t in self.threads.lock().iter() {
            for command in &t.commands {
                for counter in [&command.calls, &command.nanos, &command.rejected, &command.failed] {
                    counter.reset();
                }
                command.latency.iter().for_each(Counter::reset);
            }
            for counter in [
                &t.hits,
                &t.misses,
                &t.expired,
                &t.net_in_bytes,
                &t.net_out_bytes,
                &t.connections,
                &t.rejected_connections,
                &t.offloaded,
                &t.writes,
                &t.conflicts,
                &t.error_replies,
                &t.closed_for_query,
                &t.closed_for_output,
            ] {
                counter.reset();
            }
        }
    }
}
