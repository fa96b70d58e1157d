use std::fs;
use std::path::Path;

use crate::config::memory::{MAX_DIRTY_BYTES, MIN_TOTAL_BYTES, UNKNOWN_MACHINE_BYTES, machine_bytes};
use crate::config::{Auto, Config, MemorySplit, Share};

const MIB: u64 = 1 << 20;

fn split(total: u64) -> MemorySplit {
    Config { maxmemory: Auto(total), ..Config::default() }.memory()
}

fn parts(split: &MemorySplit) -> [u64; 3] {
    [split.engine.dirty_bytes, split.engine.row_cache_bytes, split.engine.block_cache_bytes]
        .map(|bytes| bytes as u64)
}

#[test]
fn a_small_budget_is_split_by_the_percentages() {
    let split = split(64 * MIB);
    assert_eq!(split.total_bytes, 64 * MIB);
    assert_eq!(parts(&split), [16 * MIB, 16 * MIB, 64 * MIB / 5]);
    assert_eq!(split.clients_bytes, None, "no common limit unless one is set");
}

#[test]
fn in_a_large_budget_the_row_cache_gets_what_dirty_rows_may_not_have() {
    let total = 64 * 1024 * MIB;
    let split = split(total);
    assert_eq!(parts(&split), [MAX_DIRTY_BYTES, total / 4 + total / 4 - MAX_DIRTY_BYTES, total / 5]);
}

#[test]
fn the_parts_never_pass_the_whole() {
    for total in [1, MIN_TOTAL_BYTES, 64 * MIB, 256 * MIB, 2048 * MIB, 1 << 40, i64::MAX as u64] {
        for clients in [
            Share::Percent(0),
            Share::Percent(10),
            Share::Percent(100),
            Share::Bytes(u64::MAX),
            Share::Bytes(0),
        ] {
            for (dirty, rows, blocks) in [(25, 25, 20), (90, 4, 1), (1, 1, 90), (1, 90, 1)] {
                let config = Config {
                    maxmemory: Auto(total),
                    maxmemory_clients: clients,
                    memory_dirty_percent: dirty,
                    memory_row_cache_percent: rows,
                    memory_block_cache_percent: blocks,
                    ..Config::default()
                };
                let split = config.memory();
                let used = parts(&split).iter().sum::<u64>() + split.clients_bytes.unwrap_or_default();
                assert!(used <= split.total_bytes, "{config:?} {split:?}");
                assert!(split.engine.dirty_bytes > 0);
            }
        }
    }
}

#[test]
fn a_budget_too_small_to_work_with_counts_as_the_smallest() {
    assert_eq!(split(1), split(MIN_TOTAL_BYTES));
    assert_ne!(split(MIN_TOTAL_BYTES + MIB), split(MIN_TOTAL_BYTES));
}

#[test]
fn clients_without_a_limit_still_have_room() {
    let config =
        Config { maxmemory: Auto(100 * MIB), maxmemory_clients: Share::Bytes(0), ..Config::default() };
    let unlimited = config.memory();
    assert_eq!(unlimited.clients_bytes, None);
    assert_eq!(unlimited.engine, split(100 * MIB).engine);
}

#[test]
fn zero_takes_a_part_of_this_machine() {
    let machine = machine_bytes(Path::new("/"));
    assert_eq!(
        Config::default().memory().total_bytes,
        (machine / 10 * 6 + machine % 10 * 6 / 10).max(MIN_TOTAL_BYTES)
    );
}

/// A root with the given files, as (path, text).
fn machine(files: &[(&str, &str)]) -> u64 {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    machine_bytes(root.path())
}

const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:  1 kB\n");

#[test]
fn the_machine_without_cgroups() {
    assert_eq!(machine(&[]), UNKNOWN_MACHINE_BYTES);
    assert_eq!(machine(&[MEMINFO]), 8192 * MIB);
    assert_eq!(machine(&[("proc/meminfo", "nonsense")]), UNKNOWN_MACHINE_BYTES);
}

#[test]
fn cgroup_v2_and_its_parents() {
    let membership = ("proc/self/cgroup", "0::/a/b\n");
    assert_eq!(machine(&[MEMINFO, membership, ("sys/fs/cgroup/a/b/memory.max", "1048576\n")]), MIB);
    assert_eq!(
        machine(&[
            MEMINFO,
            membership,
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "2097152\n")
        ]),
        2 * MIB
    );
    assert_eq!(machine(&[MEMINFO, membership, ("sys/fs/cgroup/a/b/memory.max", "max\n")]), 8192 * MIB);
    // In a container the root of the mount is the container's own group.
    assert_eq!(
        machine(&[MEMINFO, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "3145728\n")]),
        3 * MIB
    );
    assert_eq!(machine(&[MEMINFO, membership, ("sys/fs/cgroup/memory.max", "3145728\n")]), 3 * MIB);
}

#[test]
fn cgroup_v1() {
    let membership = ("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/1\n");
    let limit = "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes";
    assert_eq!(machine(&[MEMINFO, membership, (limit, "4194304\n")]), 4 * MIB);
    assert_eq!(machine(&[MEMINFO, membership, (limit, "9223372036854771712\n")]), 8192 * MIB);
    assert_eq!(
        machine(&[MEMINFO, membership, ("sys/fs/cgroup/memory/memory.limit_in_bytes", "5242880")]),
        5 * MIB
    );
}
