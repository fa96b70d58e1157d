//! Options of Redis 8 and Valkey 9 that mean nothing here: their stock files start this server.

use super::{count, int, memory};
use crate::config::option::Section::Compatibility;
use crate::config::option::{Kind, Opt};

const PORT: Kind = int(0, u16::MAX as i128);

const fn yes_no(name: &'static str, default: &'static str) -> Opt {
    Opt::new(Compatibility, name, Kind::Bool, default)
}

const fn number(name: &'static str, kind: Kind, default: &'static str) -> Opt {
    Opt::new(Compatibility, name, kind, default)
}

const fn text(name: &'static str) -> Opt {
    Opt::new(Compatibility, name, Kind::Text, "")
}

const fn choice(name: &'static str, names: &'static [&'static str], default: &'static str) -> Opt {
    Opt::new(Compatibility, name, Kind::Choice(names), default)
}

pub const OPTIONS: &[Opt] = &[
    // The process and its log.
    yes_no("hide-user-data-from-log", "no").help("No effect: keys and values are never logged."),
    text("locale-collate").help("No effect: SORT ALPHA compares bytes."),
    choice("log-format", &["legacy", "logfmt", "json"], "legacy"),
    choice("log-timestamp-format", &["legacy", "iso8601", "milliseconds"], "legacy"),
    text("availability-zone"),
    text("hash-seed").at_start(),
    yes_no("extended-redis-compatibility", "no"),
    yes_no("import-mode", "no").only(&["no"], "Tarn has no import mode; use 'no'").help("Only `no`."),
    number("prefetch-batch-max-size", int(0, 128), "16"),
    number("active-defrag-cycle-us", int(0, 100_000), "500"),
    // Connections.
    number("max-new-connections-per-cycle", int(1, 1000), "10"),
    number("max-new-tls-connections-per-cycle", int(1, 1000), "1"),
    yes_no("mptcp", "no").at_start().only(&["no"], "Tarn does not speak MPTCP; use 'no'").help("Only `no`."),
    text("unixsocketgroup")
        .at_start()
        .only(&[""], "Tarn does not change the group of its socket; put it into a directory of that group")
        .help("Only empty: put the socket into a directory of that group."),
    // Encodings of Redis's memory.
    number("set-max-listpack-entries", count(), "128"),
    number("set-max-listpack-value", memory(0), "64"),
    // Snapshots and replication.
    choice("rdb-version-check", &["strict", "relaxed"], "strict"),
    yes_no("dual-channel-replication-enabled", "no"),
    yes_no("repl-mptcp", "no").at_start(),
    number("replica-full-sync-buffer-limit", memory(0), "0"),
    // A cluster of several nodes.
    text("cluster-announce-human-nodename"),
    text("cluster-announce-client-ipv4"),
    text("cluster-announce-client-ipv6"),
    number("cluster-announce-client-port", PORT, "0"),
    number("cluster-announce-client-tls-port", PORT, "0"),
    number("cluster-blacklist-ttl", count(), "60"),
    number("cluster-compatibility-sample-ratio", int(0, 100), "0"),
    choice("cluster-config-save-behavior", &["sync", "best-effort"], "sync"),
    number("cluster-databases", int(1, i32::MAX as i128), "1").at_start(),
    number("cluster-manual-failover-timeout", int(1, i32::MAX as i128), "5000"),
    number("cluster-slot-migration-log-max-len", count(), "1000"),
    yes_no("cluster-slot-stats-enabled", "no"),
    number("slot-migration-max-failover-repl-bytes", memory(0), "0"),
];
