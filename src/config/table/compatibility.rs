//! Options of Redis that mean nothing here. Software sets and reads them, so they are checked, kept and shown.
//!
//! An option whose value would promise something Tarn does not do takes only the value that promises nothing.

use super::{count, int, memory, small_count};
use crate::config::choice::{Choice, Guard};
use crate::config::option::Section::Compatibility;
use crate::config::option::{Kind, Opt};

const SHUTDOWN: Kind = Kind::Choices(&["default", "save", "nosave", "now", "force"]);

const fn yes_no(name: &'static str, default: &'static str) -> Opt {
    Opt::new(Compatibility, name, Kind::Bool, default)
}

const fn number(name: &'static str, kind: Kind, default: &'static str) -> Opt {
    Opt::new(Compatibility, name, kind, default)
}

const fn text(name: &'static str, default: &'static str) -> Opt {
    Opt::new(Compatibility, name, Kind::Text, default)
}

const fn choice(name: &'static str, names: &'static [&'static str], default: &'static str) -> Opt {
    Opt::new(Compatibility, name, Kind::Choice(names), default)
}

pub const OPTIONS: &[Opt] = &[
    // The process.
    yes_no("syslog-enabled", "no")
        .at_start()
        .only(&["no"], "Tarn does not write to syslog; its log goes to 'logfile' or the standard output")
        .help("Only `no`: the log goes to `logfile` or the standard output."),
    text("syslog-ident", "redis").at_start(),
    text("syslog-facility", "local0").at_start(),
    yes_no("set-proc-title", "yes").at_start(),
    text("proc-title-template", "{title} {listen-addr} {server-mode}"),
    yes_no("always-show-logo", "no").at_start(),
    yes_no("crash-log-enabled", "yes"),
    yes_no("crash-memcheck-enabled", "yes"),
    yes_no("disable-thp", "yes").at_start(),
    yes_no("jemalloc-bg-thread", "yes"),
    yes_no("io-threads-do-reads", "no").at_start(),
    Opt::new(Compatibility, "shutdown-on-sigterm", SHUTDOWN, "default"),
    Opt::new(Compatibility, "shutdown-on-sigint", SHUTDOWN, "default"),
    number("shutdown-timeout", small_count(), "10"),
    text("ignore-warnings", ""),
    number("socket-mark-id", int(0, u32::MAX as i128), "0")
        .at_start()
        .only(&["0"], "Tarn does not mark its sockets; use 0")
        .help("Only 0."),
    // Snapshots and append-only files: data is durable without them.
    Opt::new(Compatibility, "save", Kind::SavePoints, "").help(
        "Points at which Redis would write a snapshot. Kept and shown; every write is durable without it.",
    ),
    yes_no("stop-writes-on-bgsave-error", "yes"),
    yes_no("rdbcompression", "yes"),
    yes_no("rdbchecksum", "yes").at_start(),
    yes_no("rdb-del-sync-files", "no"),
    yes_no("rdb-save-incremental-fsync", "yes"),
    choice("sanitize-dump-payload", &["no", "yes", "clients"], "no"),
    Opt::new(Compatibility, "appendfilename", Kind::FileName, "appendonly.aof").at_start(),
    Opt::new(Compatibility, "appenddirname", Kind::FileName, "appendonlydir").at_start(),
    yes_no("no-appendfsync-on-rewrite", "no"),
    number("auto-aof-rewrite-percentage", small_count(), "100"),
    number("auto-aof-rewrite-min-size", memory(0), "64mb"),
    yes_no("aof-load-truncated", "yes"),
    yes_no("aof-use-rdb-preamble", "yes"),
    yes_no("aof-timestamp-enabled", "no"),
    yes_no("aof-rewrite-incremental-fsync", "yes"),
    yes_no("aof-disable-auto-gc", "no"),
    // Eviction and defragmentation: a few keys are drawn, with these numbers as Redis has them by default.
    number("maxmemory-samples", int(1, i32::MAX as i128), "5"),
    number("maxmemory-eviction-tenacity", int(0, 100), "10"),
    number("lfu-log-factor", small_count(), "10"),
    number("lfu-decay-time", small_count(), "1"),
    yes_no("activedefrag", "no"),
    number("active-defrag-cycle-min", int(1, 99), "1"),
    number("active-defrag-cycle-max", int(1, 99), "25"),
    number("active-defrag-threshold-lower", int(0, 1000), "10"),
    number("active-defrag-threshold-upper", int(0, 1000), "100"),
    number("active-defrag-max-scan-fields", int(1, i64::MAX as i128), "1000"),
    number("active-defrag-ignore-bytes", memory(1), "100mb"),
    yes_no("activerehashing", "yes"),
    yes_no("dynamic-hz", "yes"),
    // Deleting is one small write however big the key is, so there is nothing to put off.
    yes_no("lazyfree-lazy-eviction", "no"),
    yes_no("lazyfree-lazy-expire", "no"),
    yes_no("lazyfree-lazy-server-del", "no"),
    yes_no("lazyfree-lazy-user-del", "no"),
    yes_no("lazyfree-lazy-user-flush", "no"),
    // Encodings of Redis's memory.
    number("list-compress-depth", small_count(), "0"),
    number("stream-node-max-bytes", memory(0), "4kb"),
    // Families of commands that have no use for them yet.
    choice("enable-module-command", Guard::NAMES, "no").at_start(),
    choice("propagation-error-behavior", &["ignore", "panic", "panic-on-replicas"], "ignore"),
    // Replication.
    number("min-replicas-to-write", small_count(), "0")
        .alias(&["min-slaves-to-write"])
        .only(&["0"], "Tarn has no replicas to wait for; use 0")
        .help("Only 0: there are no replicas to wait for."),
    number("min-replicas-max-lag", small_count(), "10").alias(&["min-slaves-max-lag"]),
    text("masteruser", "").alias(&["primaryuser"]),
    text("masterauth", "").alias(&["primaryauth"]).sensitive(),
    number("repl-backlog-size", memory(1), "1mb"),
    number("repl-backlog-ttl", count(), "3600"),
    number("repl-timeout", int(1, i32::MAX as i128), "60"),
    number("repl-ping-replica-period", int(1, i32::MAX as i128), "10").alias(&["repl-ping-slave-period"]),
    yes_no("repl-disable-tcp-nodelay", "no"),
    yes_no("repl-diskless-sync", "yes"),
    number("repl-diskless-sync-delay", small_count(), "5"),
    number("repl-diskless-sync-max-replicas", small_count(), "0"),
    choice("repl-diskless-load", &["disabled", "on-empty-db", "swapdb"], "disabled"),
    yes_no("replica-serve-stale-data", "yes").alias(&["slave-serve-stale-data"]),
    yes_no("replica-read-only", "yes").alias(&["slave-read-only"]),
    yes_no("replica-ignore-maxmemory", "yes").alias(&["slave-ignore-maxmemory"]),
    yes_no("replica-ignore-disk-write-errors", "no"),
    yes_no("replica-lazy-flush", "no").alias(&["slave-lazy-flush"]),
    number("replica-priority", small_count(), "100").alias(&["slave-priority"]),
    text("replica-announce-ip", "").alias(&["slave-announce-ip"]),
    number("replica-announce-port", int(0, u16::MAX as i128), "0").alias(&["slave-announce-port"]),
    yes_no("replica-announced", "yes"),
    // A cluster of several nodes.
    text("cluster-config-file", "nodes.conf").at_start(),
    number("cluster-node-timeout", count(), "15000"),
    choice("cluster-preferred-endpoint-type", &["ip", "hostname", "unknown-endpoint"], "ip"),
    yes_no("cluster-require-full-coverage", "yes"),
    yes_no("cluster-allow-reads-when-down", "no"),
    yes_no("cluster-allow-pubsubshard-when-down", "yes"),
    yes_no("cluster-allow-replica-migration", "yes"),
    number("cluster-migration-barrier", small_count(), "1"),
    number("cluster-replica-validity-factor", small_count(), "10").alias(&["cluster-slave-validity-factor"]),
    yes_no("cluster-replica-no-failover", "no").alias(&["cluster-slave-no-failover"]),
    number("cluster-link-sendbuf-limit", memory(0), "0"),
];
