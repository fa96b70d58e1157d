//! One budget for everything that grows: `maxmemory`, or a part of what the machine or its cgroup has.
//!
//! | part | of the total | for |
//! |---|---|---|
//! | dirty rows | `memory-dirty-percent`, at most [`MAX_DIRTY_BYTES`] | logged, not yet in the sorted data |
//! | row cache | `memory-row-cache-percent`, and what the cap above leaves | clean hot rows |
//! | block cache | `memory-block-cache-percent` | blocks, indexes and filters |
//! | clients | `maxmemory-clients` | query and output buffers |
//! | reserve | the rest, at least [`MIN_RESERVE_PERCENT`] | the engine's own buffers, the allocator's slack, the program |

use std::path::Path;

use tarn_engine::MemoryBudget;

use super::Config;
use super::types::{Share, percent_of};
use crate::client_memory::ClientBudget;

const MIB: u64 = 1 << 20;
/// Of the machine's memory when `maxmemory` is 0: the page cache and other programs need the rest.
pub const AUTO_PERCENT: u8 = 60;
/// When the machine does not tell what it has.
pub const UNKNOWN_MACHINE_BYTES: u64 = 1024 * MIB;
/// A smaller `maxmemory` counts as this much: the program itself needs about as much.
pub const MIN_TOTAL_BYTES: u64 = 32 * MIB;
/// More dirty rows only make a restart slower.
pub const MAX_DIRTY_BYTES: u64 = 1536 * MIB;
pub const MIN_RESERVE_PERCENT: u8 = 5;
/// Kept for clients where `maxmemory-clients 0` sets no limit for them.
const UNLIMITED_CLIENTS: Share = Share::Percent(10);

/// What one command may take of the total while there is no other long one. A value is in memory up to seven times on its way: as it was
/// read, as words of a worker, in the transaction, in the log's buffer, as a dirty row, and twice while it is written back.
const LONGEST_QUERY_PERCENT: u8 = 12;

/// The same of one reply.
const LONGEST_REPLY_PERCENT: u8 = 25;

/// The budget and its parts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySplit {
    pub total_bytes: u64,
    pub engine: MemoryBudget,
    /// None: no common limit.
    pub clients_bytes: Option<u64>,
    /// For long commands of which a part has come.
    pub queries: ClientBudget,
    /// For long replies that are not sent yet.
    pub replies: ClientBudget,
}

impl Config {
    pub fn memory(&self) -> MemorySplit {
        match self.maxmemory.set() {
            Some(bytes) => self.split_memory(bytes.get()),
            None => self.split_memory(percent_of(machine_bytes(Path::new("/")), AUTO_PERCENT)),
        }
    }

    pub(super) fn split_memory(&self, total: u64) -> MemorySplit {
        let total = total.max(MIN_TOTAL_BYTES);
        let limited =
            self.maxmemory_clients != Share::Bytes(0) && self.maxmemory_clients != Share::Percent(0);
        let clients = if limited { self.maxmemory_clients } else { UNLIMITED_CLIENTS };
        // A limit in bytes may be larger than everything; the engine must still be able to work.
        let clients = clients.of(total).min(total / 2);
        let part = |percent| percent_of(total, percent);
        let dirty_share = part(self.memory_dirty_percent);
        let dirty = dirty_share.min(MAX_DIRTY_BYTES).min(total / 2);
        let mut left = total - clients - dirty - part(MIN_RESERVE_PERCENT).min(total - clients - dirty);
        let block_cache = part(self.memory_block_cache_percent).min(left);
        left -= block_cache;
        let row_cache = (part(self.memory_row_cache_percent) + (dirty_share - dirty)).min(left);
        let engine = MemoryBudget {
            dirty_bytes: dirty as usize,
            row_cache_bytes: row_cache as usize,
            block_cache_bytes: block_cache as usize,
        };
        let queries = ClientBudget {
            together_bytes: clients as usize,
            alone_bytes: percent_of(total, LONGEST_QUERY_PERCENT) as usize,
        };
        let replies = ClientBudget {
            together_bytes: clients as usize,
            alone_bytes: percent_of(total, LONGEST_REPLY_PERCENT) as usize,
        };
        MemorySplit {
            total_bytes: total,
            engine,
            clients_bytes: limited.then_some(clients),
            queries,
            replies,
        }
    }

    pub(super) fn check_memory(&self) -> Result<(), (&'static str, String)> {
        let sum = u32::from(self.memory_dirty_percent)
            + u32::from(self.memory_row_cache_percent)
            + u32::from(self.memory_block_cache_percent);
        if sum <= u32::from(100 - MIN_RESERVE_PERCENT) {
            return Ok(());
        }
        Err((
            "memory-row-cache-percent",
            format!("the memory-*-percent options add up to {sum}, more than 95"),
        ))
    }
}

/// What this process may use: the machine's memory or, if less, the smallest limit of its cgroup and those above it.
/// `root` is `/` but in tests.
pub fn machine_bytes(root: &Path) -> u64 {
    let machine = read(&root.join("proc/meminfo")).and_then(|text| mem_total(&text));
    let cgroup = read(&root.join("proc/self/cgroup")).and_then(|text| cgroup_limit(root, &text));
    machine.into_iter().chain(cgroup).min().unwrap_or(UNKNOWN_MACHINE_BYTES)
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Lines are `hierarchy:controllers:path`; version 2 has an empty list of controllers.
fn cgroup_limit(root: &Path, memberships: &str) -> Option<u64> {
    let limits = memberships.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        if controllers.is_empty() {
            smallest_up_to(&root.join("sys/fs/cgroup"), path, "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            smallest_up_to(&root.join("sys/fs/cgroup/memory"), path, "memory.limit_in_bytes")
        } else {
            None
        }
    });
    limits.min()
}

/// In a container the path may be that of the host while the mount shows only the container's part, so files that are
/// missing on the way up are passed over. `max` of version 2 and the huge number of version 1 are no limit.
fn smallest_up_to(mount: &Path, path: &str, file: &str) -> Option<u64> {
    let relative = Path::new(path.trim_start_matches('/'));
    let limits =
        relative.ancestors().filter_map(|group| read(&mount.join(group).join(file))?.trim().parse().ok());
    limits.min()
}
