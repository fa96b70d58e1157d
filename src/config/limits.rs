//! Bounds of options, for the table and for those who size things by them.

/// Addresses in `bind`.
pub const MAX_BIND_ADDRESSES: usize = 16;
pub const MAX_IO_THREADS: i128 = 128;
/// Microseconds a thread may look for events before it sleeps.
pub const MAX_IO_BUSY_POLL: i128 = 1_000;
pub const MAX_WORKER_THREADS: i128 = 1024;
/// A database's number is 16 bits wide.
pub const MAX_DATABASES: i128 = u16::MAX as i128;
/// Seconds and records for which a stream may remember what a producer has added.
pub const MAX_RECORDS_SECS: u32 = 86_400;
pub const MAX_RECORDS: u32 = 10_000;
/// Redis adds this to a node's port for the cluster's own traffic.
pub const BUS_PORT_OFFSET: u16 = 10_000;
pub const MIN_HZ: u32 = 1;
pub const MAX_HZ: u32 = 500;
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// Files that include each other, so that a circle ends in a message.
pub const MAX_INCLUDE_DEPTH: usize = 16;
/// A cluster that needs less is not there yet.
pub const MIN_TIKV_TIMEOUT_MILLIS: i128 = 100;
/// Locks that a transaction takes on the cluster last for 20 seconds.
pub const MAX_TIKV_TIMEOUT_MILLIS: i128 = 15_000;
/// A week.
pub const MAX_TIKV_GC_SECONDS: i128 = 7 * 24 * 3_600;
