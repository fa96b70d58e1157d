//! How RocksDB is set up.

use std::ffi::CString;
use std::ffi::{c_char, c_uchar, c_void};
use std::slice;
use std::sync::Arc;

use rust_rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DataBlockIndexType, Env, Options, SliceTransform, ffi_raw,
};

use super::damage::{Damage, Listener};
use super::filter::{FilterContext, SpaceFilterFactory};
use crate::{Space, SpaceDef};

const BLOOM_BITS_PER_KEY: f64 = 10.0;
const BLOCK_BYTES: usize = 8 << 10;
/// Our tables take the memtables' place; what goes through them are small batches.
const MEMTABLE_BYTES: usize = 8 << 20;
const ALL_MEMTABLES_BYTES: usize = 32 << 20;
const FILE_BYTES: u64 = 32 << 20;
const LEVEL_BASE_BYTES: u64 = 256 << 20;
/// Below the number of descriptors that a process gets by default.
const OPEN_FILES: i32 = 512;
/// Compactions and flushes at a time: one per core, within these.
const BACKGROUND_JOBS: std::ops::RangeInclusive<usize> = 2..=8;
/// How far compaction steps back behind requests: about a thirtieth of a core that both want. At the lowest priority it
/// starves on a busy machine, and writes with it, which wait for it in the end.
const COMPACTION_NICE: i32 = 15;
/// Per input file of a compaction, and there are dozens of them when writes come fast: RocksDB's 2 MiB would be more
/// than a small budget has.
const COMPACTION_READAHEAD_BYTES: usize = 256 << 10;
/// A file is compacted soon when half of this many neighbours in it are tombstones.
const TOMBSTONE_WINDOW: usize = 4096;

/// Files at the top of a space at which they are compacted, at which writes are slowed, and at which they stop.
const TOP_FILES: [i32; 3] = [4, 24, 48];
/// Far more than there will be.
const UNLIMITED: i32 = 1 << 30;

/// What is set when RocksDB's own compactions of a space are turned on again.
pub fn compacting() -> Vec<(&'static str, String)> {
    let [_, slow, stop] = TOP_FILES;
    let (soft, hard) = (64_u64 << 30, 256_u64 << 30);
    vec![
        ("disable_auto_compactions", "false".to_owned()),
        ("level0_slowdown_writes_trigger", slow.to_string()),
        ("level0_stop_writes_trigger", stop.to_string()),
        ("soft_pending_compaction_bytes_limit", soft.to_string()),
        ("hard_pending_compaction_bytes_limit", hard.to_string()),
    ]
}

/// What is set when they are turned off.
pub fn not_compacting() -> Vec<(&'static str, String)> {
    vec![
        ("disable_auto_compactions", "true".to_owned()),
        ("level0_slowdown_writes_trigger", UNLIMITED.to_string()),
        ("level0_stop_writes_trigger", UNLIMITED.to_string()),
        ("soft_pending_compaction_bytes_limit", "0".to_owned()),
        ("hard_pending_compaction_bytes_limit", "0".to_owned()),
    ]
}

pub fn database(create: bool, damage: &Arc<Damage>) -> Options {
    let mut options = Options::default();
    options.add_event_listener(Listener(damage.clone()));
    options.create_if_missing(create);
    // A space that a newer version has added begins empty.
    options.create_missing_column_families(true);
    options.set_max_open_files(OPEN_FILES);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = cores.clamp(*BACKGROUND_JOBS.start(), *BACKGROUND_JOBS.end()) as i32;
    options.set_max_background_jobs(jobs);
    options.set_db_write_buffer_size(ALL_MEMTABLES_BYTES);
    options.set_bytes_per_sync(1 << 20);
    options.set_compaction_readahead_size(COMPACTION_READAHEAD_BYTES);
    // What is in a memtable is in our log too; closing need not wait for it.
    options.set_avoid_flush_during_shutdown(true);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(4 << 20);
    options.set_stats_dump_period_sec(0);
    if let Some(env) = compaction_threads(jobs) {
        options.set_env(&env);
    }
    options
}

/// Starts the threads that compact. They inherit the priority of the thread that starts them, so one is made for it.
fn compaction_threads(count: i32) -> Option<Env> {
    let start = move || {
        // Refused only where it is not wanted, as in a container with priorities of its own.
        let _ = rustix::process::nice(COMPACTION_NICE);
        let mut env = Env::new().ok()?;
        env.set_low_priority_background_threads(count);
        env.lower_thread_pool_io_priority();
        Some(env)
    };
    std::thread::Builder::new().name("tarn-compaction".to_owned()).spawn(start).ok()?.join().ok()?
}

/// The engine's own few rows.
pub fn state(cache: &Cache) -> Options {
    let mut options = Options::default();
    options.set_write_buffer_size(1 << 20);
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    options.set_block_based_table_factory(&blocks);
    options
}

pub fn family(
    def: &SpaceDef,
    space: Space,
    cache: &Cache,
    filter: &Arc<FilterContext>,
    compacts: bool,
) -> Options {
    let mut options = Options::default();
    options.set_disable_auto_compactions(!compacts);
    options.set_write_buffer_size(MEMTABLE_BYTES);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_target_file_size_base(FILE_BYTES);
    options.set_max_bytes_for_level_base(LEVEL_BASE_BYTES);
    // Only the write-back thread waits here, and the pressure it leaves behind slows clients smoothly.
    let [compact, slow, stop] = TOP_FILES;
    options.set_level_zero_file_num_compaction_trigger(compact);
    options.set_level_zero_slowdown_writes_trigger(slow);
    options.set_level_zero_stop_writes_trigger(stop);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);
    options.set_prefix_extractor(group_prefix(def));
    options.set_memtable_whole_key_filtering(true);

    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_block_size(BLOCK_BYTES);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_cache_index_and_filter_blocks_with_high_priority(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    // Whole indexes come and go with the files; they are not worth their decompression.
    blocks.set_enable_index_compression(false);
    blocks.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
    blocks.set_whole_key_filtering(true);
    blocks.set_optimize_filters_for_memory(true);
    blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    options.set_block_based_table_factory(&blocks);

    if def.queue_like {
        options.add_compact_on_deletion_collector_factory(TOMBSTONE_WINDOW, TOMBSTONE_WINDOW / 2, 0.5);
    }
    if filter.is_given() {
        options.set_compaction_filter_factory(SpaceFilterFactory::new(filter.clone(), space));
    }
    options
}

/// For files that are written to be ingested. RocksDB would compress them as it does those of the lowest level, with much
/// work; but they come to the top, and are soon rewritten.
pub fn ingested(mut family: Options) -> Options {
    family.set_bottommost_compression_type(DBCompressionType::Lz4);
    family
}

struct GroupPrefix {
    group_len: fn(&[u8]) -> usize,
    name: CString,
}

/// RocksDB's prefix is the row's group. The crate's own wrapper takes functions without state.
fn group_prefix(def: &SpaceDef) -> SliceTransform {
    let state = Box::new(GroupPrefix {
        group_len: def.group_len,
        name: CString::new(format!("tarn.group.{}", def.name)).unwrap_or_default(),
    });
    // SAFETY: the callbacks take the pointer back as what it is here; RocksDB calls `drop_prefix` once, last.
    let inner = unsafe {
        ffi_raw::rocksdb_slicetransform_create(
            Box::into_raw(state).cast::<c_void>(),
            Some(drop_prefix),
            Some(transform),
            Some(in_domain),
            Some(prefix_name),
        )
    };
    SliceTransform { inner }
}

unsafe extern "C" fn drop_prefix(state: *mut c_void) {
    // SAFETY: made by `Box::into_raw` in `group_prefix`, dropped once.
    drop(unsafe { Box::from_raw(state.cast::<GroupPrefix>()) });
}

unsafe extern "C" fn transform(
    state: *mut c_void,
    key: *const c_char,
    key_len: usize,
    prefix_len: *mut usize,
) -> *mut c_char {
    // SAFETY: RocksDB passes the state of `group_prefix`, a key of that length, and a place for the result.
    unsafe {
        let state = &*state.cast::<GroupPrefix>();
        let bytes = slice::from_raw_parts(key.cast::<u8>(), key_len);
        *prefix_len = (state.group_len)(bytes).min(key_len);
    }
    key.cast_mut()
}

unsafe extern "C" fn in_domain(_state: *mut c_void, _key: *const c_char, _key_len: usize) -> c_uchar {
    1
}

unsafe extern "C" fn prefix_name(state: *mut c_void) -> *const c_char {
    // SAFETY: the state of `group_prefix`, which outlives the transform.
    unsafe { (*state.cast::<GroupPrefix>()).name.as_ptr() }
}
