//! The same numbers as INFO, in the text form that Prometheus reads.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::info::key_counts;
use super::{CommandTotals, process};
use crate::acl::Reason;
use crate::clients::flag;
use crate::config::Choice as _;
use crate::dispatch::registry::registry;
use crate::error::Result;
use crate::keyspace::local::pressure;
use crate::node::Node;

/// Upper ends of the latency buckets that are shown, as powers of two of a microsecond: 1 us to about 17 s.
const SHOWN_BUCKETS: [usize; 13] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24];

/// Waits for rows that are not in memory.
pub fn text(node: &Arc<Node>) -> Result<String> {
    let mut page = Page(String::new());
    about_server(node, &mut page);
    about_memory(node, &mut page);
    about_traffic(node, &mut page);
    about_commands(node, &mut page);
    about_engine(node, &mut page);
    about_cluster(node, &mut page);
    let counts = key_counts(node)?;
    page.family("tarn_db_keys", Kind::Gauge, "Keys per database.");
    for (db, counts) in &counts {
        page.labelled("tarn_db_keys", &[("db", &db.to_string())], counts.keys);
    }
    page.family("tarn_db_keys_expiring", Kind::Gauge, "Keys per database that have a time to live.");
    for (db, counts) in &counts {
        page.labelled("tarn_db_keys_expiring", &[("db", &db.to_string())], counts.expiring);
    }
    Ok(page.0)
}

/// The traffic with the cluster, where the data is on one.
fn about_cluster(node: &Node, page: &mut Page) {
    let Some(stats) = node.engine.stats().remote else { return };
    page.gauge("tarn_tikv_up", "Whether the cluster answers.", u8::from(stats.trouble.is_none()));
    let held = u8::from(node.keyspace.ready().is_ok());
    page.gauge("tarn_tikv_lease_held", "Whether this node may rely on what it knows of the data.", held);
    for (name, help, value) in [
        ("tarn_tikv_commits_total", "Transactions that were committed.", stats.commits),
        ("tarn_tikv_conflicts_total", "Commits that another transaction won.", stats.conflicts),
        ("tarn_tikv_unknown_outcomes_total", "Commits of which nobody knows.", stats.unknown_outcomes),
        ("tarn_tikv_retries_total", "Commits that were sent again.", stats.retries),
        ("tarn_tikv_region_errors_total", "Answers that rows have moved.", stats.region_errors),
        ("tarn_tikv_lock_waits_total", "Requests that met a lock for too long.", stats.lock_waits),
        ("tarn_tikv_transport_errors_total", "Requests that were lost.", stats.transport_errors),
    ] {
        page.counter(name, help, value);
    }
    about_nodes(node, page);
    page.family("tarn_tikv_calls_total", Kind::Counter, "Requests to the cluster, by kind.");
    for call in &stats.calls {
        page.labelled("tarn_tikv_calls_total", &[("kind", call.name)], call.count);
    }
    page.family("tarn_tikv_call_seconds_total", Kind::Counter, "Time that these took together.");
    for call in &stats.calls {
        page.labelled("tarn_tikv_call_seconds_total", &[("kind", call.name)], call.nanos as f64 / 1e9);
    }
}

/// The other nodes on the same data.
fn about_nodes(node: &Node, page: &mut Page) {
    let (others, links) = (&node.nodes, node.nodes.shown());
    page.gauge("tarn_tikv_nodes", "Nodes that are there, this one included.", others.members().len());
    page.family("tarn_tikv_links", Kind::Gauge, "Open links to and from other nodes.");
    for (direction, is_own) in [("to", true), ("from", false)] {
        let open = links.iter().filter(|link| link.is_own == is_own).count();
        page.labelled("tarn_tikv_links", &[("direction", direction)], open);
    }
    let counters = &others.counters;
    for (name, help, counter) in [
        ("tarn_tikv_messages_sent_total", "Messages sent to other nodes.", &counters.sent),
        ("tarn_tikv_messages_received_total", "Messages from other nodes.", &counters.received),
        ("tarn_tikv_messages_dropped_total", "Messages to other nodes that were lost.", &counters.dropped),
    ] {
        page.counter(name, help, counter.load(Ordering::Relaxed));
    }
}

fn about_server(node: &Node, page: &mut Page) {
    let config = node.config.current();
    page.family("tarn_info", Kind::Gauge, "What runs; always 1.");
    page.labelled(
        "tarn_info",
        &[("version", env!("CARGO_PKG_VERSION")), ("engine", config.engine.name()), ("run_id", &node.run_id)],
        1,
    );
    page.gauge("tarn_uptime_seconds", "Seconds since the start.", node.started.elapsed().as_secs());
    let cpu = process::cpu(process::Whose::Process);
    page.family("tarn_cpu_seconds_total", Kind::Counter, "Processor time.");
    page.labelled("tarn_cpu_seconds_total", &[("mode", "user")], cpu.user_secs);
    page.labelled("tarn_cpu_seconds_total", &[("mode", "system")], cpu.system_secs);
    let blocked = node.clients.list().iter().filter(|client| client.has(flag::BLOCKED)).count();
    page.gauge("tarn_connected_clients", "Clients that are connected.", node.clients.connected());
    page.gauge("tarn_blocked_clients", "Clients that wait for a command's time to pass.", blocked);
    page.gauge("tarn_max_clients", "Clients that may be connected.", config.maxclients);
}

fn about_memory(node: &Node, page: &mut Page) {
    let heap = process::allocator();
    page.gauge("tarn_memory_allocated_bytes", "Memory in use by the program.", heap.allocated_bytes);
    page.gauge("tarn_memory_resident_bytes", "Physical memory of the process.", process::rss_bytes());
    page.gauge("tarn_memory_max_bytes", "The budget, maxmemory.", node.config.current().memory().total_bytes);
}

fn about_traffic(node: &Node, page: &mut Page) {
    let metrics = &node.metrics;
    page.counter("tarn_connections_total", "Connections accepted.", metrics.sum(|t| t.connections.get()));
    page.counter(
        "tarn_rejected_connections_total",
        "Connections refused because of maxclients.",
        metrics.sum(|t| t.rejected_connections.get()),
    );
    page.family("tarn_acl_access_denied_total", Kind::Counter, "What users were refused, by what they lack.");
    for reason in Reason::ALL {
        let count = node.acl.log.count(reason);
        page.labelled("tarn_acl_access_denied_total", &[("reason", reason.name())], count);
    }
    let handshakes = &node.tls.handshakes;
    page.family("tarn_tls_handshakes_total", Kind::Counter, "Handshakes of TLS, by how they ended.");
    for (outcome, counter) in [
        ("completed", &handshakes.completed),
        ("failed", &handshakes.failed),
        ("timed_out", &handshakes.timed_out),
        ("displaced", &handshakes.displaced),
    ] {
        page.labelled("tarn_tls_handshakes_total", &[("outcome", outcome)], counter.load(Ordering::Relaxed));
    }
    page.counter("tarn_net_input_bytes_total", "Bytes read.", metrics.sum(|t| t.net_in_bytes.get()));
    page.counter("tarn_net_output_bytes_total", "Bytes written.", metrics.sum(|t| t.net_out_bytes.get()));
    page.counter(
        "tarn_keyspace_hits_total",
        "Keys that were looked up and found.",
        metrics.sum(|t| t.hits.get()),
    );
    page.counter(
        "tarn_keyspace_misses_total",
        "Keys that were looked up and not found.",
        metrics.sum(|t| t.misses.get()),
    );
    page.counter(
        "tarn_expired_keys_total",
        "Keys removed because they expired.",
        metrics.sum(|t| t.expired.get()),
    );
    page.counter(
        "tarn_offloaded_commands_total",
        "Commands that a worker ran.",
        metrics.sum(|t| t.offloaded.get()),
    );
    page.counter(
        "tarn_write_transactions_total",
        "Commands that wrote, and commits of the server's own.",
        metrics.sum(|t| t.writes.get()),
    );
    page.family("tarn_errors_total", Kind::Counter, "Error replies by their code.");
    for (code, count) in metrics.errors() {
        page.labelled("tarn_errors_total", &[("code", &code)], count);
    }
}

fn about_commands(node: &Node, page: &mut Page) {
    let totals = node.metrics.commands();
    let seen: Vec<(&str, &CommandTotals)> = registry()
        .all()
        .zip(&totals)
        .filter(|(_, totals)| totals.calls + totals.rejected + totals.failed > 0)
        .map(|(command, totals)| (command.full_name.as_str(), totals))
        .collect();
    let single: [(&str, &str, fn(&CommandTotals) -> u64); 3] = [
        ("tarn_commands_total", "Commands that ran.", |totals| totals.calls),
        ("tarn_commands_rejected_total", "Commands refused before they ran.", |totals| totals.rejected),
        ("tarn_commands_failed_total", "Commands that answered an error.", |totals| totals.failed),
    ];
    for (name, help, number) in single {
        page.family(name, Kind::Counter, help);
        for (command, totals) in &seen {
            page.labelled(name, &[("command", command)], number(totals));
        }
    }
    page.family("tarn_command_duration_seconds", Kind::Histogram, "Time that commands took.");
    for (command, totals) in &seen {
        page.histogram("tarn_command_duration_seconds", command, totals);
    }
}

fn about_engine(node: &Node, page: &mut Page) {
    let stats = node.engine.stats();
    page.gauge(
        "tarn_engine_pressure",
        "How full the budget of dirty rows is, from 0 to 1.",
        pressure(&node.engine),
    );
    page.gauge("tarn_engine_dirty_bytes", "Rows that are not in the sorted data yet.", stats.dirty_bytes);
    page.gauge("tarn_engine_dirty_rows", "How many these are.", stats.dirty_rows);
    page.gauge("tarn_engine_frozen_tables", "Tables that wait to be written back.", stats.frozen_tables);
    page.gauge("tarn_engine_row_cache_bytes", "Clean rows in memory.", stats.row_cache_bytes);
    page.counter("tarn_engine_row_cache_hits_total", "Rows found in the row cache.", stats.row_cache_hits);
    page.counter(
        "tarn_engine_row_cache_misses_total",
        "Rows not found in the row cache.",
        stats.row_cache_misses,
    );
    page.gauge(
        "tarn_engine_block_cache_bytes",
        "Blocks of the sorted data in memory.",
        stats.block_cache_bytes,
    );
    page.gauge("tarn_engine_table_reader_bytes", "Memory of open files.", stats.table_reader_bytes);
    page.gauge("tarn_engine_memtable_bytes", "Memory of the engine's own tables.", stats.memtable_bytes);
    page.gauge("tarn_engine_log_bytes", "Size of the log.", stats.log_bytes);
    page.gauge("tarn_engine_log_segments", "Files of the log.", stats.log_segments);
    page.gauge("tarn_engine_sorted_bytes", "Size of the sorted data.", stats.sorted_bytes);
    let dead_bytes = node.keyspace.garbage.dead_bytes();
    page.gauge("tarn_disk_bytes", "Log and sorted data.", stats.sorted_bytes + stats.log_bytes);
    page.gauge("tarn_dead_bytes_estimate", "Sorted data that is of nobody, about.", dead_bytes);
    page.gauge(
        "tarn_live_bytes_estimate",
        "Sorted data that is not, about.",
        stats.sorted_bytes.saturating_sub(dead_bytes),
    );
    page.counter("tarn_engine_write_backs_total", "Tables written back.", stats.write_backs);
    page.gauge(
        "tarn_engine_compaction_pending_bytes",
        "Bytes that compaction has to rewrite.",
        stats.compaction_pending_bytes,
    );
    page.counter("tarn_engine_syncs_total", "Times the log was synced.", stats.syncs);
    page.gauge(
        "tarn_engine_last_sync_seconds",
        "Time the last sync took.",
        stats.last_sync_micros as f64 / 1e6,
    );
    page.gauge(
        "tarn_engine_writes_stopped",
        "1 while writes are refused with an error.",
        u8::from(stats.write_error.is_some()),
    );
    page.gauge(
        "tarn_engine_damaged_files",
        "Files of the sorted data in which something could not be read since the start.",
        stats.damaged_files,
    );
    page.gauge(
        "tarn_disk_full",
        "1 while the disk is full and only what frees something is taken.",
        u8::from(stats.disk_full),
    );
    page.gauge(
        "tarn_disk_free_bytes",
        "Free on the file system of the data directory.",
        stats.disk_free_bytes,
    );
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing into a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn labelled(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, of)| format!("{label}=\"{}\"", escaped(of))).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, Kind::Counter, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Kind::Gauge, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn histogram(&mut self, name: &str, command: &str, totals: &CommandTotals) {
        let bucket = format!("{name}_bucket");
        for end in SHOWN_BUCKETS {
            let below: u64 = totals.latency.iter().take(end + 1).sum();
            let le = (1u64 << end) as f64 / 1e6;
            self.labelled(&bucket, &[("command", command), ("le", &le.to_string())], below);
        }
        let all: u64 = totals.latency.iter().sum();
        self.labelled(&bucket, &[("command", command), ("le", "+Inf")], all);
        self.labelled(&format!("{name}_sum"), &[("command", command)], totals.nanos as f64 / 1e9);
        self.labelled(&format!("{name}_count"), &[("command", command)], all);
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::testkit::Kit;

    /// Name, labels and value of a sample line.
    fn sample(line: &str) -> (&str, &str, f64) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        (name, labels.strip_suffix('}').expect("labels end"), value.parse().expect("a number"))
    }

    #[test]
    fn the_page_parses() {
        let mut kit = Kit::new();
        kit.executor.counters.command(registry().find(b"echo").unwrap().id).unwrap().took(3_000);
        kit.run("NOSUCH");
        let page = text(&kit.node).unwrap();
        let (mut families, mut series) = (HashSet::new(), HashSet::new());
        for line in page.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                assert!(families.insert(name), "{name} twice");
            } else if !line.starts_with("# HELP ") {
                let (name, labels, value) = sample(line);
                let family = ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| name.strip_suffix(end))
                    .unwrap_or(name);
                assert!(families.contains(family) && name.starts_with("tarn_"), "{line}");
                assert!(series.insert((name, labels)), "{line} twice");
                assert!(value >= 0.0, "{line}");
            }
        }
        assert!(page.contains("tarn_commands_total{command=\"echo\"} 1\n"), "{page}");
        assert!(
            page.contains("tarn_command_duration_seconds_bucket{command=\"echo\",le=\"0.000001\"} 0\n"),
            "{page}"
        );
        assert!(page.contains("tarn_command_duration_seconds_bucket{command=\"echo\",le=\"0.000004\"} 1\n"));
        assert!(page.contains("tarn_errors_total{code=\"ERR\"} 1\n"));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
