//! What stands in each section. Fields of Redis that have no meaning here are left out, but for those that clients and
//! exporters rely on.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::Text;
use crate::acl::Reason;
use crate::clients::flag;
use crate::commands::connection::REDIS_VERSION;
use crate::config::{Choice as _, EngineKind};
use crate::dispatch::executor::Executor;
use crate::dispatch::registry::registry;
use crate::encoding::system::{Counts, FieldIndex};
use crate::error::Result;
use crate::keyspace::local::pressure;
use crate::keyspace::{entry, scan, shared};
use crate::metrics::memory::Parts;
use crate::metrics::process;
use crate::node::Node;
use crate::pubsub::Kind;
use crate::scripting;
use crate::supervision;

pub fn server(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let config = node.config.current();
    let uptime_secs = node.started.elapsed().as_secs();
    let shown =
        |path: Option<&std::path::Path>| path.map(|path| path.display().to_string()).unwrap_or_default();
    text.field("redis_version", REDIS_VERSION);
    text.field("server_name", "tarn");
    text.field("tarn_version", env!("CARGO_PKG_VERSION"));
    text.field("redis_git_sha1", "00000000");
    text.field("redis_git_dirty", 0);
    text.field("redis_build_id", env!("CARGO_PKG_VERSION"));
    text.field("redis_mode", if config.cluster_enabled { "cluster" } else { "standalone" });
    text.field("os", process::system());
    text.field("arch_bits", usize::BITS);
    text.field("multiplexing_api", "epoll");
    text.field("process_id", std::process::id());
    text.field("process_supervised", supervision::name(&config));
    text.field("run_id", &node.run_id);
    text.field("tcp_port", if config.port == 0 { config.tls_port } else { config.port });
    text.field("server_time_usec", node.clock.now_us());
    text.field("uptime_in_seconds", uptime_secs);
    text.field("uptime_in_days", uptime_secs / 86_400);
    text.field("hz", config.hz);
    text.field("configured_hz", config.hz);
    text.field("executable", shown(std::env::current_exe().ok().as_deref()));
    text.field("config_file", shown(config.config_file.as_deref()));
    text.field("io_threads_active", u8::from(config.io_thread_count() > 1));
    Ok(())
}

pub fn clients(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let all = node.clients.list();
    let most =
        |of: fn(&crate::clients::Client) -> usize| all.iter().map(|client| of(client)).max().unwrap_or(0);
    let count = |with: usize| all.iter().filter(|client| client.has(with)).count() as u64;
    let ((watching, watched), (awaited, awaited_gone)) = (node.watches.totals(), node.waiters.totals());
    text.fields([
        ("connected_clients", node.clients.connected() as u64),
        ("cluster_connections", 0),
        ("maxclients", u64::from(node.config.current().maxclients)),
        ("client_recent_max_input_buffer", most(crate::clients::Client::query_bytes) as u64),
        ("client_recent_max_output_buffer", most(crate::clients::Client::reply_bytes) as u64),
        ("blocked_clients", count(flag::BLOCKED)),
        ("tracking_clients", node.tracking.totals().clients as u64),
        ("pubsub_clients", count(flag::PUBSUB)),
        ("watching_clients", watching as u64),
        ("clients_in_timeout_table", 0),
        ("total_watched_keys", watched as u64),
        ("total_blocking_keys", awaited as u64),
        ("total_blocking_keys_on_nokey", awaited_gone as u64),
    ]);
    Ok(())
}

pub fn memory(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    node.metrics.sample(Instant::now());
    let (heap, rss, config) = (process::allocator(), process::rss_bytes(), node.config.current());
    let peak = node.metrics.peak_allocated_bytes().max(heap.allocated_bytes);
    let budget = config.memory();
    let ratio = |a: u64, b: u64| a as f64 / b.max(1) as f64;
    text.bytes("used_memory", heap.allocated_bytes);
    text.bytes("used_memory_rss", rss);
    text.bytes("used_memory_peak", peak);
    text.field("used_memory_peak_perc", format_args!("{:.2}%", 100.0 * ratio(heap.allocated_bytes, peak)));
    text.field("allocator_allocated", heap.allocated_bytes);
    text.field("allocator_active", heap.active_bytes);
    text.field("allocator_resident", heap.resident_bytes);
    text.bytes("total_system_memory", process::machine_bytes());
    let machines = scripting::memory_bytes() as u64;
    let (scripts, script_bytes) = node.scripting.scripts.totals();
    let (libraries, functions) = node.scripting.functions.totals();
    let code = (script_bytes + node.scripting.functions.bytes()) as u64;
    text.bytes("used_memory_lua", machines);
    // One machine runs both kinds.
    text.field("used_memory_vm_eval", machines);
    text.field("used_memory_vm_functions", 0);
    text.bytes("used_memory_vm_total", machines);
    text.field("used_memory_scripts_eval", script_bytes);
    text.field("used_memory_functions", node.scripting.functions.bytes());
    text.bytes("used_memory_scripts", code);
    text.field("number_of_cached_scripts", scripts);
    text.field("number_of_functions", functions);
    text.field("number_of_libraries", libraries);
    text.bytes("maxmemory", budget.total_bytes);
    text.field("maxmemory_policy", config.maxmemory_policy.name());
    text.field("allocator_frag_ratio", format_args!("{:.2}", ratio(heap.active_bytes, heap.allocated_bytes)));
    text.field("allocator_frag_bytes", heap.active_bytes.saturating_sub(heap.allocated_bytes));
    text.field("allocator_rss_ratio", format_args!("{:.2}", ratio(heap.resident_bytes, heap.active_bytes)));
    text.field("allocator_rss_bytes", heap.resident_bytes.saturating_sub(heap.active_bytes));
    text.field("mem_fragmentation_ratio", format_args!("{:.2}", ratio(rss, heap.allocated_bytes)));
    text.field("mem_fragmentation_bytes", rss.saturating_sub(heap.allocated_bytes));
    // What it is used for: together with what nobody counts that is `used_memory_rss`.
    let parts = Parts::of(node);
    for (name, bytes) in &parts.known {
        text.field(name, bytes);
    }
    text.field("mem_other", parts.other());
    text.field("mem_clients_slaves", 0);
    text.field("mem_allocator", "jemalloc-5.3.0");
    text.field("active_defrag_running", 0);
    text.field("lazyfree_pending_objects", 0);
    text.field("lazyfreed_objects", 0);
    Ok(())
}

pub fn persistence(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let saves = &node.saves;
    let word = |ok: bool| if ok { "ok" } else { "err" };
    let writes_go_on = node.engine.stats().write_error.is_none();
    text.field("loading", 0);
    text.field("async_loading", 0);
    let writes = node.metrics.sum(|thread| thread.writes.get());
    let saved = saves.writes_before.load(Ordering::Relaxed);
    text.field("rdb_changes_since_last_save", writes.saturating_sub(saved));
    text.field("rdb_bgsave_in_progress", u8::from(saves.running.load(Ordering::Relaxed)));
    text.field("rdb_last_save_time", saves.last_ms.load(Ordering::Relaxed) / 1000);
    text.field("rdb_last_bgsave_status", word(saves.last_ok.load(Ordering::Relaxed)));
    text.field("rdb_last_bgsave_time_sec", saves.last_secs.load(Ordering::Relaxed));
    text.field("rdb_current_bgsave_time_sec", -1);
    text.field("rdb_saves", saves.count.load(Ordering::Relaxed));
    text.field("aof_enabled", u8::from(node.config.current().engine == EngineKind::RocksDb));
    text.field("aof_rewrite_in_progress", 0);
    text.field("aof_rewrite_scheduled", 0);
    text.field("aof_last_rewrite_time_sec", -1);
    text.field("aof_current_rewrite_time_sec", -1);
    text.field("aof_last_bgrewrite_status", "ok");
    text.field("aof_last_write_status", word(writes_go_on));
    text.field("aof_current_size", node.engine.stats().log_bytes);
    Ok(())
}

pub fn stats(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let metrics = &node.metrics;
    metrics.sample(Instant::now());
    let rate = metrics.rate();
    let [channels, patterns, shards] = {
        let registry = node.pubsub.registry();
        Kind::ALL.map(|kind| registry.names(kind) as u64)
    };
    text.fields([
        ("total_connections_received", metrics.sum(|t| t.connections.get())),
        ("total_commands_processed", metrics.calls()),
        ("instantaneous_ops_per_sec", rate.calls_per_sec as u64),
        ("total_net_input_bytes", metrics.sum(|t| t.net_in_bytes.get())),
        ("total_net_output_bytes", metrics.sum(|t| t.net_out_bytes.get())),
    ]);
    text.field("instantaneous_input_kbps", format_args!("{:.2}", rate.in_bytes_per_sec / 1024.0));
    text.field("instantaneous_output_kbps", format_args!("{:.2}", rate.out_bytes_per_sec / 1024.0));
    let tracking = node.tracking.totals();
    text.fields([
        ("rejected_connections", metrics.sum(|t| t.rejected_connections.get())),
        ("sync_full", 0),
        ("sync_partial_ok", 0),
        ("sync_partial_err", 0),
        ("expired_keys", metrics.sum(|t| t.expired.get())),
        ("expired_subkeys", node.keyspace.parts.expired().map(|(a, b)| a + b).sum()),
        ("evicted_keys", node.eviction.keys()),
        ("evicted_clients", metrics.evicted_clients.load(Ordering::Relaxed)),
        ("keyspace_hits", metrics.sum(|t| t.hits.get())),
        ("keyspace_misses", metrics.sum(|t| t.misses.get())),
        ("pubsub_channels", channels),
        ("pubsub_patterns", patterns),
        ("pubsubshard_channels", shards),
        ("latest_fork_usec", 0),
        ("total_forks", 0),
        ("migrate_cached_sockets", 0),
        ("slave_expires_tracked_keys", 0),
        ("active_defrag_hits", 0),
        ("active_defrag_misses", 0),
        ("active_defrag_key_hits", 0),
        ("active_defrag_key_misses", 0),
        ("tracking_total_keys", tracking.keys as u64),
        ("tracking_total_items", tracking.items as u64),
        ("tracking_total_prefixes", tracking.prefixes as u64),
        ("unexpected_error_replies", 0),
        ("total_error_replies", metrics.sum(|t| t.error_replies.get())),
        ("client_query_buffer_limit_disconnections", metrics.sum(|t| t.closed_for_query.get())),
        ("client_output_buffer_limit_disconnections", metrics.sum(|t| t.closed_for_output.get())),
    ]);
    for reason in Reason::ALL {
        text.field(&format!("acl_access_denied_{}", reason.counter()), node.acl.log.count(reason));
    }
    Ok(())
}

pub fn replication(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    text.field("role", "master");
    text.field("connected_slaves", 0);
    text.field("master_failover_state", "no-failover");
    text.field("master_replid", &node.run_id);
    text.field("master_replid2", "0".repeat(40));
    text.field("master_repl_offset", 0);
    text.field("second_repl_offset", -1);
    text.field("repl_backlog_active", 0);
    text.field("repl_backlog_size", 0);
    text.field("repl_backlog_first_byte_offset", 0);
    text.field("repl_backlog_histlen", 0);
    Ok(())
}

pub fn cpu(_: &Arc<Node>, text: &mut Text) -> Result<()> {
    let (own, children) = (process::cpu(process::Whose::Process), process::cpu(process::Whose::Children));
    let secs = |secs: f64| format!("{secs:.6}");
    text.field("used_cpu_sys", secs(own.system_secs));
    text.field("used_cpu_user", secs(own.user_secs));
    text.field("used_cpu_sys_children", secs(children.system_secs));
    text.field("used_cpu_user_children", secs(children.user_secs));
    Ok(())
}

/// What is this server's own: the engine, and work that left the I/O threads.
pub fn tarn(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let (config, stats) = (node.config.current(), node.engine.stats());
    let dead_bytes = node.keyspace.garbage.dead_bytes();
    text.field("tarn_version", env!("CARGO_PKG_VERSION"));
    text.field("engine", config.engine.name());
    text.field("appendfsync", config.appendfsync.name());
    text.field("io_threads", config.io_thread_count());
    text.field("worker_threads", config.worker_thread_count());
    text.field("offloaded_commands", node.metrics.sum(|t| t.offloaded.get()));
    text.field("write_transactions", node.metrics.sum(|t| t.writes.get()));
    text.field("engine_pressure", format_args!("{:.3}", pressure(&node.engine)));
    text.fields([
        ("dirty_bytes", stats.dirty_bytes),
        ("dirty_rows", stats.dirty_rows),
        ("frozen_tables", stats.frozen_tables),
        ("row_cache_bytes", stats.row_cache_bytes),
        ("row_cache_hits", stats.row_cache_hits),
        ("row_cache_misses", stats.row_cache_misses),
        ("block_cache_bytes", stats.block_cache_bytes),
        ("table_reader_bytes", stats.table_reader_bytes),
        ("memtable_bytes", stats.memtable_bytes),
        ("log_bytes", stats.log_bytes),
        ("log_segments", stats.log_segments),
        ("sorted_bytes", stats.sorted_bytes),
        ("disk_bytes", stats.sorted_bytes + stats.log_bytes),
        ("maxdisk", node.config.current().maxdisk),
        ("dead_bytes_estimate", dead_bytes),
        ("live_bytes_estimate", stats.sorted_bytes.saturating_sub(dead_bytes)),
        ("write_backs", stats.write_backs),
        ("write_back_pending", u64::from(stats.write_back_pending)),
        ("compaction_pending_bytes", stats.compaction_pending_bytes),
        ("log_syncs", stats.syncs),
        ("log_last_sync_usec", stats.last_sync_micros),
        ("damaged_files", stats.damaged_files),
        ("disk_full", u64::from(stats.disk_full)),
        ("disk_free_bytes", stats.disk_free_bytes),
    ]);
    text.field("write_error", stats.write_error.unwrap_or_default().replace(['\r', '\n'], " "));
    Ok(())
}

/// The traffic with the cluster, where the data is on one.
pub fn tikv(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let Some(stats) = node.engine.stats().remote else { return Ok(()) };
    text.field("tikv_reachable", u8::from(stats.trouble.is_none()));
    text.field("tikv_trouble", stats.trouble.unwrap_or_default().replace(['\r', '\n'], " "));
    text.field("tikv_lease_held", u8::from(node.keyspace.ready().is_ok()));
    text.fields([
        ("tikv_commits", stats.commits),
        ("tikv_conflicts", stats.conflicts),
        ("tikv_runs_again", node.metrics.sum(|t| t.conflicts.get())),
        ("tikv_unknown_outcomes", stats.unknown_outcomes),
        ("tikv_retries", stats.retries),
        ("tikv_shared_timestamps", stats.shared_timestamps),
        ("tikv_region_errors", stats.region_errors),
        ("tikv_lock_waits", stats.lock_waits),
        ("tikv_transport_errors", stats.transport_errors),
    ]);
    let (others, links) = (&node.nodes, node.nodes.shown());
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    text.fields([
        ("tikv_nodes", others.members().len() as u64),
        ("tikv_links_to", links.iter().filter(|link| link.is_own).count() as u64),
        ("tikv_links_from", links.iter().filter(|link| !link.is_own).count() as u64),
        ("tikv_messages_sent", read(&others.counters.sent)),
        ("tikv_messages_received", read(&others.counters.received)),
        ("tikv_messages_dropped", read(&others.counters.dropped)),
    ]);
    for call in stats.calls {
        let usec = call.nanos / 1_000;
        text.field(
            &format!("tikv_call_{}", call.name),
            format_args!("calls={},usec={usec},usec_per_call={}", call.count, usec / call.count.max(1)),
        );
    }
    Ok(())
}

/// Fields of hashes that expire.
pub fn field_expiry(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let fields = &node.keyspace.parts;
    let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let (actively, passively) =
        fields.expired().fold((0, 0), |(a, b), (actively, passively)| (a + actively, b + passively));
    text.field("field_expiry_mode", node.config.current().active_expire_mode.name());
    text.field(
        "field_expiry_index",
        match fields.index() {
            FieldIndex::Whole => "whole",
            FieldIndex::Part if fields.sorts() => "building",
            FieldIndex::Part => "dropping",
            FieldIndex::None if fields.sorts() => "building",
            FieldIndex::None => "none",
        },
    );
    text.fields([
        ("field_expiry_reaped", actively),
        ("field_expiry_met", passively),
        ("field_expiry_backlog", read(&fields.reaper.backlog)),
        ("field_expiry_lag_ms", read(&fields.reaper.lag_ms)),
        ("field_expiry_last_turn_ms", read(&fields.reaper.last_turn_ms)),
        ("field_expiry_max_turn_ms", read(&fields.reaper.max_turn_ms)),
        ("field_expiry_walked_hashes", read(&fields.reaper.walked)),
    ]);
    Ok(())
}

pub fn command_stats(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    for (command, totals) in registry().all().zip(node.metrics.commands()) {
        if totals.calls + totals.rejected + totals.failed == 0 {
            continue;
        }
        let per_call = totals.nanos as f64 / 1e3 / totals.calls.max(1) as f64;
        text.field(
            &format!("cmdstat_{}", command.full_name),
            format_args!(
                "calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}",
                totals.calls,
                totals.nanos / 1_000,
                totals.rejected,
                totals.failed
            ),
        );
    }
    Ok(())
}

pub fn error_stats(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    for (code, count) in node.metrics.errors() {
        text.field(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
    Ok(())
}

pub fn latency_stats(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    let config = node.config.current();
    let percentiles = &config.latency_tracking_info_percentiles.0;
    for (command, totals) in registry().all().zip(node.metrics.commands()) {
        if totals.calls == 0 || !config.latency_tracking {
            continue;
        }
        let shown: Vec<String> =
            percentiles.iter().map(|p| format!("p{p}={:.3}", totals.percentile(*p) as f64)).collect();
        text.field(&format!("latency_percentiles_usec_{}", command.full_name), shown.join(","));
    }
    Ok(())
}

pub fn cluster(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    text.field("cluster_enabled", u8::from(node.config.current().cluster_enabled));
    Ok(())
}

/// Keys that are looked at for the average time that those of a database have left.
const TTL_SAMPLES: usize = 32;

/// Databases that hold keys.
pub fn keyspace(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    for (logical, counts) in key_counts(node)? {
        let Counts { keys, expiring } = counts;
        let avg_ttl = if expiring == 0 { 0 } else { average_ttl(node, logical)? };
        text.field(&format!("db{logical}"), format_args!("keys={keys},expires={expiring},avg_ttl={avg_ttl}"));
    }
    Ok(())
}

/// How long keys with an expiry have to live, in milliseconds: the average of some that are picked at random, 0 where none of them has
/// one. Where rows are elsewhere that would be many requests, and it is 0.
fn average_ttl(node: &Arc<Node>, logical: u16) -> Result<u64> {
    if node.engine.is_shared() {
        return Ok(0);
    }
    let mut executor = Executor::uncounted(node);
    let (mut sum_ms, mut count) = (0, 0);
    for _ in 0..TTL_SAMPLES {
        let left = executor.look(logical, |cx| {
            let mut picked = None;
            scan::pick(cx, &mut |key| picked = Some(key.to_vec()))?;
            let Some(key) = picked else { return Ok(None) };
            let (db, now_ms) = (cx.env.db, cx.env.now_ms);
            let at_ms = entry::find_stored(cx, db, &key)?.expire_at_ms();
            Ok((at_ms != 0).then(|| at_ms.saturating_sub(now_ms)))
        })?;
        sum_ms += left.unwrap_or(0);
        count += u64::from(left.is_some());
    }
    Ok(sum_ms / count.max(1))
}

/// Keys per database that has any.
///
/// None where the data is out of reach: the rest of the report is all the more wanted then.
pub fn key_counts(node: &Arc<Node>) -> Result<Vec<(u16, Counts)>> {
    let is_away = node.engine.stats().remote.is_some_and(|remote| remote.trouble.is_some());
    if is_away || node.keyspace.ready().is_err() {
        return Ok(Vec::new());
    }
    let mut executor = Executor::uncounted(node);
    let mut found = Vec::new();
    for db in node.keyspace.shared.databases() {
        let counts = executor.look(db.logical, |cx| shared::counts(cx, db))?;
        if counts.keys > 0 {
            found.push((db.logical, counts));
        }
    }
    Ok(found)
}

/// How many keys of each type have how many elements, or bytes, by powers of two.
pub fn key_sizes(node: &Arc<Node>, text: &mut Text) -> Result<()> {
    const TYPES: [(&str, &str); 5] = [
        ("string", "strings_sizes"),
        ("list", "lists_items"),
        ("set", "sets_items"),
        ("zset", "zsets_items"),
        ("hash", "hashes_items"),
    ];
    for (db, _) in key_counts(node)? {
        // A count for 0, and one for each power.
        let mut counts = [[0_u64; 65]; TYPES.len()];
        Executor::uncounted(node).look(db, |cx| {
            scan::every_key(cx, &mut |found| {
                let of_type = TYPES.iter().zip(&mut counts).find(|((name, _), _)| *name == found.type_name);
                let power = found.size.checked_ilog2().map_or(0, |power| power as usize + 1);
                if let Some(count) = of_type.and_then(|(_, counts)| counts.get_mut(power)) {
                    *count += 1;
                }
                ControlFlow::Continue(())
            })
        })?;
        for ((_, name), counts) in TYPES.iter().zip(&counts) {
            let shown: Vec<String> = (0..)
                .zip(counts)
                .filter(|(_, count)| **count > 0)
                .map(|(power, count)| format!("{}={count}", power_of_two(power)))
                .collect();
            if !shown.is_empty() {
                text.field(&format!("db{db}_distrib_{name}"), shown.join(","));
            }
        }
    }
    Ok(())
}

/// 0, 1, 2, 4, ... 512, 1K, ... as Redis writes them.
fn power_of_two(power: u32) -> String {
    const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];
    let Some(power) = power.checked_sub(1) else { return "0".to_owned() };
    let unit = UNITS.get(power as usize / 10).copied().unwrap_or_default();
    format!("{}{unit}", 1 << (power % 10))
}
