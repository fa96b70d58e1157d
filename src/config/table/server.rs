//! Options that do something.

use super::{at, count, int, memory, small_count};
use crate::config::appendonly;
use crate::config::choice::{
    ActiveExpireMode, AppendFsync, Choice, CrossSlot, DumpVersion, EngineKind, EvictionPolicy, Guard,
    LogLevel, OomScoreAdj, PubsubDefault, Supervised,
};
use crate::config::limits::{
    MAX_BIND_ADDRESSES, MAX_DATABASES, MAX_IO_BUSY_POLL, MAX_IO_THREADS, MAX_RECORDS, MAX_RECORDS_SECS,
    MAX_TIKV_GC_SECONDS, MAX_TIKV_TIMEOUT_MILLIS, MAX_WORKER_THREADS, MIN_TIKV_TIMEOUT_MILLIS,
};
use crate::config::option::Section::{
    Clients, Cluster, Keyspace, Memory, Network, Observability, Scripts, Security, Storage,
};
use crate::config::option::{Kind, Opt};

const PORT: Kind = int(0, u16::MAX as i128);
const PERCENT: Kind = int(1, 90);
const GUARD: Kind = Kind::Choice(Guard::NAMES);

pub const OPTIONS: &[Opt] = &[
    Opt::new(Network, "port", PORT, "6379").field(at!(port)).at_start().help("TCP port; 0 listens on no TCP port, which needs a `unixsocket`."),
    Opt::new(Network, "bind", Kind::Words { max: MAX_BIND_ADDRESSES }, "* -::*")
        .field(at!(bind))
        .at_start()
        .help("Addresses to listen on; one that begins with `-` may be missing on the machine. A name such as `localhost` stands for its IPv4 address. `*` is every IPv4 address, `::*` every IPv6 address; the default is both. `protected-mode` says who is served there."),
    Opt::new(Network, "unixsocket", Kind::Text, "")
        .field(at!(unixsocket))
        .at_start()
        .help("Path of a unix socket to listen on as well; empty for none."),
    Opt::new(Network, "unixsocketperm", Kind::Octal { max: 0o777 }, "0")
        .field(at!(unixsocketperm))
        .at_start()
        .help("Permissions of the unix socket, in octal; 0 leaves them to the umask."),
    Opt::new(Network, "tcp-backlog", small_count(), "511")
        .field(at!(tcp_backlog))
        .at_start()
        .help("Connections that may wait to be accepted."),
    Opt::new(Network, "tcp-keepalive", small_count(), "300")
        .field(at!(tcp_keepalive_secs))
        .help("Seconds between probes on idle TCP connections; 0 sends none."),
    Opt::new(Network, "timeout", small_count(), "0")
        .field(at!(timeout_secs))
        .help("Closes a client that was idle for this many seconds; 0 never does."),
    Opt::new(Network, "io-threads", int(0, MAX_IO_THREADS), "0")
        .field(at!(io_threads))
        .at_start()
        .help("Threads that read, run and answer commands; 0 is one per core."),
    Opt::new(Network, "io-busy-poll", int(0, MAX_IO_BUSY_POLL), "50")
        .field(at!(io_busy_poll_micros))
        .help("Microseconds for which an I/O thread whose events follow each other closely polls for the next one before it sleeps; 0 always sleeps."),
    Opt::new(Network, "worker-threads", int(0, MAX_WORKER_THREADS), "0")
        .field(at!(worker_threads))
        .at_start()
        .help("Threads for work that may wait for the disk or take long; 0 derives it from the cores."),
    Opt::new(Network, "daemonize", Kind::Bool, "no")
        .field(at!(daemonize))
        .at_start()
        .help("Goes into the background once it serves; the command ends then, with exit code 1 if the start failed. Not with `supervised`. Without a `logfile` there is no log."),
    Opt::new(Network, "supervised", Kind::Choice(Supervised::NAMES), "no")
        .field(at!(supervised))
        .at_start()
        .help("`systemd` tells systemd when the server is ready and when it stops (`Type=notify`); `auto` does so where systemd asks for it."),
    Opt::new(Network, "oom-score-adj", Kind::Choice(OomScoreAdj::NAMES), "no")
        .field(at!(oom_score_adj))
        .help("Whether `oom-score-adj-values` tells the kernel how readily to end this process when memory is short: `relative` (or `yes`) to the score it was started with, or `absolute`. A lower score than that needs privileges."),
    Opt::new(Network, "oom-score-adj-values", Kind::OomScores, "0 200 800")
        .field(at!(oom_score_adj_values))
        .help("Scores for `oom-score-adj`. The first counts; the others are Redis's for replicas and child processes, which Tarn does not have."),
    Opt::new(Storage, "dir", Kind::Text, "./")
        .field(at!(dir))
        .at_start()
        .help("Directory of the data; one server at a time. Relative paths count from where the server was started. It is made if only its last part is missing, unless a database is close by under another name."),
    Opt::new(Storage, "require-data", Kind::Bool, "no")
        .field(at!(require_data))
        .at_start()
        .help("`yes` refuses to start where `dir` holds no database, instead of making a new one: for a server that has data, so that a wrong path or a file system that is not mounted is noticed."),
    Opt::new(Storage, "engine", Kind::Choice(EngineKind::NAMES), "rocksdb")
        .field(at!(engine))
        .at_start()
        .help("`rocksdb` keeps the data on disk; `memory` forgets it when the server stops; `tikv` keeps it on a TiKV cluster, if the server was built with it."),
    Opt::new(Storage, "memory-engine-faults", Kind::Text, "")
        .field(at!(memory_engine_faults))
        .at_start()
        .help("For tests: how often calls of engine `memory` fail, of a million, as in `conflict=10000 not-resident=1000000 seed=7`. It has snapshot isolation then, as a distributed engine does."),
    Opt::new(Storage, "tikv-pd-addresses", Kind::Words { max: MAX_BIND_ADDRESSES }, "127.0.0.1:2379")
        .field(at!(tikv_pd_addresses))
        .at_start()
        .help("Where the cluster's placement drivers (PD) listen, `host:port`, for engine `tikv`."),
    Opt::new(Storage, "tikv-prefix", Kind::Text, "tarn")
        .field(at!(tikv_prefix))
        .at_start()
        .help("What every key on the cluster begins with: 1 to 64 letters, digits or `-_.:/`. Databases with different prefixes share a cluster."),
    Opt::new(Storage, "tikv-timeout", int(MIN_TIKV_TIMEOUT_MILLIS, MAX_TIKV_TIMEOUT_MILLIS), "5000")
        .field(at!(tikv_timeout_millis))
        .at_start()
        .help("Milliseconds that a request to the cluster may take, with everything that is tried again; then the command fails."),
    Opt::new(Storage, "tikv-gc-life-time", int(0, MAX_TIKV_GC_SECONDS), "600")
        .field(at!(tikv_gc_seconds))
        .help("Seconds for which the cluster keeps versions of rows that were replaced; one of the nodes moves its safe point. 0 where somebody else does, such as TiDB; otherwise at least 600 count."),
    Opt::new(Storage, "tikv-workers", int(1, MAX_WORKER_THREADS), "64")
        .field(at!(tikv_workers))
        .at_start()
        .help("Threads that wait for the cluster with engine `tikv`: as many requests are under way at a time. They take the place of `worker-threads`."),
    Opt::new(Storage, "appendfsync", Kind::Choice(AppendFsync::NAMES), "everysec")
        .field(at!(appendfsync))
        .help("When an acknowledged write is safe from a loss of power: `always` before the reply, `everysec` within about a second, `no` when the operating system sees fit. A crash of the process alone loses nothing in any of them."),
    Opt::new(Storage, "appendonly", Kind::Bool, "yes")
        .field((appendonly::load, appendonly::store))
        .help("Whether writes are kept: always `yes` with engine rocksdb and `no` with engine memory. `no` in a file is taken with engine rocksdb too, and the log says that writes are kept all the same; `engine memory` is what forgets them. CONFIG SET refuses the other value."),
    Opt::new(Storage, "recover-truncate-log", Kind::Bool, "no")
        .field(at!(recover_truncate_log))
        .at_start()
        .help("Starts although the log or the marks are damaged or missing, or the sorted data went back in time; sets aside what follows the damage. For one start, after a backup."),
    Opt::new(Storage, "dbfilename", Kind::FileName, "backup")
        .field(at!(dbfilename))
        .shown_only()
        .protected()
        .help("Kept and shown. SAVE and BGSAVE name their copies by the time, in `backups/` of `dir`."),
    Opt::new(Memory, "maxmemory", memory(0), "0")
        .field(at!(maxmemory))
        .help("Bytes of memory for everything: unsaved rows, caches, client buffers. 0 takes 60 % of the machine's or cgroup's memory. Data beyond it is on disk."),
    Opt::new(Memory, "maxdisk", memory(0), "0")
        .field(at!(maxdisk))
        .help("Bytes on the disk that data and log may take; 0 is no limit. What happens there, `maxmemory-policy` says."),
    Opt::new(Memory, "maxmemory-policy", Kind::Choice(EvictionPolicy::NAMES), "noeviction")
        .field(at!(maxmemory_policy))
        .help("What happens at `maxdisk`: writes are refused (`noeviction`), or keys are evicted. Without `maxdisk` nothing is evicted, whatever it says, since what does not fit in memory is on disk."),
    Opt::new(Memory, "memory-dirty-percent", PERCENT, "25")
        .field(at!(memory_dirty_percent))
        .help("Part of `maxmemory` for rows that are logged but not yet in the sorted data (at most 1.5gb)."),
    Opt::new(Memory, "memory-row-cache-percent", PERCENT, "25")
        .field(at!(memory_row_cache_percent))
        .help("Part of `maxmemory` for hot rows; what a cap leaves over from the other parts is added."),
    Opt::new(Memory, "memory-block-cache-percent", PERCENT, "20")
        .field(at!(memory_block_cache_percent))
        .help("Part of `maxmemory` for blocks, indexes and filters of the sorted data."),
    Opt::new(Memory, "maxmemory-clients", Kind::MemoryOrPercent, "0")
        .field(at!(maxmemory_clients))
        .help("Part of `maxmemory`, or bytes, for the buffers of all clients together: beyond it the largest are closed. 0 closes nobody. Long commands that have not come as a whole may take as much (with 0: a tenth), or are refused."),
    Opt::new(Clients, "maxclients", int(1, u32::MAX as i128), "10000")
        .field(at!(maxclients))
        .help("Clients connected at a time. Lowered at the start, and refused by CONFIG SET, where the limit of open files leaves fewer beside those that the data needs."),
    Opt::new(Clients, "proto-max-bulk-len", memory(1 << 20), "512mb")
        .field(at!(proto_max_bulk_len))
        .help("Longest argument of a command, and longest string."),
    Opt::new(Clients, "client-query-buffer-limit", memory(1 << 20), "1gb")
        .field(at!(client_query_buffer_limit))
        .help("Bytes a client may have sent of a command that is not complete."),
    Opt::new(Clients, "client-output-buffer-limit", Kind::OutputLimits, "normal 0 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60")
        .field(at!(client_output_buffer_limit))
        .help("By class of client (`normal`, `replica`, `pubsub`): unread replies that close it at once, and those that close it after so many seconds. 0 is no limit."),
    Opt::new(Security, "requirepass", Kind::Text, "")
        .field(at!(requirepass))
        .sensitive()
        .help("Password of the default user, which clients must AUTH with; empty for none. A `user default` line and the ACL file count instead of it."),
    Opt::new(Security, "aclfile", Kind::Text, "")
        .field(at!(aclfile))
        .at_start()
        .help("File of users, a line each, that is read at the start and by ACL LOAD and written by ACL SAVE; empty for none. Relative paths count from `dir`. Users can be in the configuration instead, in lines that begin with `user`."),
    Opt::new(Security, "acl-pubsub-default", Kind::Choice(PubsubDefault::NAMES), "resetchannels")
        .field(at!(acl_pubsub_default))
        .help("Which channels new users may use: all, or none until a rule says so."),
    Opt::new(Security, "acllog-max-len", count(), "128")
        .field(at!(acllog_max_len))
        .help("Entries that ACL LOG keeps."),
    Opt::new(Security, "protected-mode", Kind::Bool, "yes")
        .field(at!(protected_mode))
        .help("While there is no password, serves only clients that come over the unix socket or from a loopback address (127.0.0.0/8, ::1), whatever `bind` says; others are told why and closed."),
    Opt::new(Security, "enable-protected-configs", GUARD, "no")
        .field(at!(enable_protected_configs))
        .at_start()
        .help("Whether CONFIG SET may change options that are marked protected; `local` for clients on this machine."),
    Opt::new(Security, "enable-debug-command", GUARD, "no")
        .field(at!(enable_debug_command))
        .at_start()
        .help("Whether DEBUG is available; `local` for clients on this machine."),
    Opt::new(Keyspace, "databases", int(1, MAX_DATABASES), "16")
        .field(at!(databases))
        .at_start()
        .help("Number of databases that SELECT can choose from."),
    Opt::new(Keyspace, "hz", small_count(), "10")
        .field(at!(hz))
        .shown_only()
        .help("Kept and shown, 1 to 500; values outside are brought inside. Background work has its own pace here: ten turns a second, more where much is due."),
    Opt::new(Keyspace, "active-expire-effort", int(1, 10), "1")
        .field(at!(active_expire_effort))
        .shown_only()
        .help("Kept and shown. Expiry takes as many turns as what is due asks for, a few milliseconds each."),
    Opt::new(Keyspace, "active-expire-mode", Kind::Choice(ActiveExpireMode::NAMES), "sort")
        .field(at!(active_expire_mode))
        .help("How expired hash fields are found: `sort` by an index, `scan` by walking the keyspace (cheaper writes, later removal). A change on a running server builds or drops the index in the background."),
    Opt::new(Keyspace, "notify-keyspace-events", Kind::Events, "")
        .field(at!(notify_keyspace_events))
        .help("Classes of events to publish, in Redis's letters; empty for none."),
    Opt::new(Keyspace, "hash-max-listpack-entries", count(), "512")
        .alias(&["hash-max-ziplist-entries"])
        .field(at!(hash_max_listpack_entries))
        .help("Fields up to which OBJECT ENCODING calls a hash a listpack."),
    Opt::new(Keyspace, "hash-max-listpack-value", memory(0), "64")
        .alias(&["hash-max-ziplist-value"])
        .field(at!(hash_max_listpack_value))
        .help("Bytes of a field or value up to which OBJECT ENCODING calls a hash a listpack."),
    Opt::new(Keyspace, "set-max-intset-entries", count(), "512")
        .field(at!(set_max_intset_entries))
        .help("Members up to which OBJECT ENCODING calls a set of integers an intset."),
    Opt::new(Keyspace, "zset-max-listpack-entries", count(), "128")
        .alias(&["zset-max-ziplist-entries"])
        .field(at!(zset_max_listpack_entries))
        .help("Members up to which OBJECT ENCODING calls a sorted set a listpack."),
    Opt::new(Keyspace, "zset-max-listpack-value", memory(0), "64")
        .alias(&["zset-max-ziplist-value"])
        .field(at!(zset_max_listpack_value))
        .help("Bytes of a member up to which OBJECT ENCODING calls a sorted set a listpack."),
    Opt::new(Keyspace, "list-max-listpack-size", int(i32::MIN as i128, i32::MAX as i128), "-2")
        .alias(&["list-max-ziplist-size"])
        .field(at!(list_max_listpack_size))
        .shown_only()
        .help("Kept for clients that set it: OBJECT ENCODING calls every list a quicklist, as Redis 7.0 does."),
    Opt::new(Keyspace, "hll-sparse-max-bytes", memory(0), "3000")
        .field(at!(hll_sparse_max_bytes))
        .help("Bytes up to which a HyperLogLog is kept in its sparse form."),
    Opt::new(Keyspace, "stream-node-max-entries", count(), "100")
        .field(at!(stream_node_max_entries))
        .help("Entries of a stream that XADD and XTRIM remove together where `~` asks for about as many."),
    Opt::new(Keyspace, "dump-rdb-version", Kind::Choice(DumpVersion::NAMES), "11")
        .field(at!(dump_rdb_version))
        .help(
            "The version of RDB in which DUMP, MIGRATE and FUNCTION DUMP write, newer where a value needs it. Redis reads its own \
             and older ones: 6 is 2.6, 9 is 5.0, 10 is 7.0, 11 is 7.2, 12 is 7.4. 80 is Valkey 9, which also reads up to 11.",
        ),
    Opt::new(Keyspace, "stream-idmp-duration", int(1, MAX_RECORDS_SECS as i128), "100")
        .field(at!(stream_idmp_duration_secs))
        .help("Seconds for which a stream remembers what was added with IDMP or IDMPAUTO, unless XCFGSET says otherwise."),
    Opt::new(Keyspace, "stream-idmp-maxsize", int(1, MAX_RECORDS as i128), "100")
        .field(at!(stream_idmp_maxsize))
        .help("How many of those it remembers of each producer."),
    Opt::new(Observability, "loglevel", Kind::Choice(LogLevel::NAMES), "notice")
        .field(at!(loglevel))
        .help("How much is logged."),
    Opt::new(Observability, "logfile", Kind::Text, "")
        .field(at!(logfile))
        .at_start()
        .help("File that the log is appended to; empty is the standard output. It may be renamed at any time."),
    Opt::new(Observability, "pidfile", Kind::Text, "")
        .field(at!(pidfile))
        .at_start()
        .help("File that holds the process id while the server runs; empty for none."),
    Opt::new(Observability, "metrics-port", PORT, "0")
        .field(at!(metrics_port))
        .at_start()
        .help("Port that serves `/metrics` over HTTP for Prometheus; 0 is off."),
    Opt::new(Observability, "metrics-bind", Kind::Words { max: MAX_BIND_ADDRESSES }, "127.0.0.1 -::1")
        .field(at!(metrics_bind))
        .at_start()
        .help("Addresses for `metrics-port`."),
    Opt::new(Observability, "metrics-tls", Kind::Bool, "no")
        .field(at!(metrics_tls))
        .at_start()
        .help("Serves `metrics-port` over TLS, with the certificate of the TLS options; `tls-auth-clients` counts there too."),
    Opt::new(Observability, "metrics-password", Kind::Text, "")
        .field(at!(metrics_password))
        .sensitive()
        .help("Password of `/metrics`, as a bearer token or with any user name in basic authentication; empty for none."),
    Opt::new(Observability, "console-port", PORT, "0")
        .field(at!(console_port))
        .at_start()
        .help("Port of the web console; 0 is off. It asks for the password, and without one it serves only this machine (protected mode)."),
    Opt::new(Observability, "console-bind", Kind::Words { max: MAX_BIND_ADDRESSES }, "127.0.0.1 -::1")
        .field(at!(console_bind))
        .at_start()
        .help("Addresses for `console-port`. It speaks plain HTTP: let others reach it through a proxy with TLS only."),
    Opt::new(Observability, "slowlog-log-slower-than", int(-1, i64::MAX as i128), "10000")
        .alias(&["commandlog-execution-slower-than"])
        .field(at!(slowlog_log_slower_than_micros))
        .help("Microseconds from which a command is put in SLOWLOG; -1 is off, 0 logs all."),
    Opt::new(Observability, "slowlog-max-len", count(), "128")
        .alias(&["commandlog-slow-execution-max-len"])
        .field(at!(slowlog_max_len))
        .help("Entries that SLOWLOG keeps."),
    Opt::new(Observability, "commandlog-request-larger-than", int(-1, i64::MAX as i128), "1048576")
        .field(at!(commandlog_request_larger_than))
        .help("Bytes from which a command is put in COMMANDLOG as a large request; -1 is off."),
    Opt::new(Observability, "commandlog-large-request-max-len", count(), "128")
        .field(at!(commandlog_large_request_max_len))
        .help("Large requests that COMMANDLOG keeps."),
    Opt::new(Observability, "commandlog-reply-larger-than", int(-1, i64::MAX as i128), "1048576")
        .field(at!(commandlog_reply_larger_than))
        .help("Bytes of a reply from which its command is put in COMMANDLOG; -1 is off."),
    Opt::new(Observability, "commandlog-large-reply-max-len", count(), "128")
        .field(at!(commandlog_large_reply_max_len))
        .help("Large replies that COMMANDLOG keeps."),
    Opt::new(Observability, "latency-monitor-threshold", count(), "0")
        .field(at!(latency_monitor_threshold_millis))
        .help("Milliseconds from which LATENCY records an event; 0 is off."),
    Opt::new(Observability, "latency-tracking", Kind::Bool, "yes")
        .field(at!(latency_tracking))
        .help("Keeps a latency histogram per command, for INFO latencystats and LATENCY HISTOGRAM."),
    Opt::new(Observability, "latency-tracking-info-percentiles", Kind::Percentiles, "50 99 99.9")
        .field(at!(latency_tracking_info_percentiles))
        .help("Percentiles in INFO latencystats."),
    Opt::new(Clients, "tracking-table-max-keys", count(), "1000000")
        .field(at!(tracking_table_max_keys))
        .help("Keys that are remembered for clients that cache; beyond that, some are told to be invalid. 0 is no limit."),
    Opt::new(Scripts, "busy-reply-threshold", count(), "5000")
        .field(at!(busy_reply_threshold_millis))
        .alias(&["lua-time-limit"])
        .help("Milliseconds that a script may run before clients that want its keys are answered BUSY; 0: they wait."),
    Opt::new(Cluster, "cluster-enabled", Kind::Bool, "no")
        .field(at!(cluster_enabled))
        .at_start()
        .help("Answers CLUSTER as a cluster: of one node that owns all slots, or with engine `tikv` of all nodes that are there, with the slots divided among them."),
    Opt::new(Cluster, "cluster-cross-slot", Kind::Choice(CrossSlot::NAMES), "allow")
        .field(at!(cluster_cross_slot))
        .help("Commands whose keys are in several slots: `allow` runs them (they are atomic here), `deny` answers CROSSSLOT as Redis Cluster does."),
    Opt::new(Cluster, "cluster-announce-ip", Kind::Text, "")
        .field(at!(cluster_announce_ip))
        .help("Address that CLUSTER tells clients; empty is the one they came in by."),
    Opt::new(Cluster, "cluster-announce-port", PORT, "0")
        .field(at!(cluster_announce_port))
        .help("Port that CLUSTER tells clients; 0 is `port`."),
    Opt::new(Cluster, "cluster-announce-tls-port", PORT, "0")
        .field(at!(cluster_announce_tls_port))
        .help("Port that CLUSTER tells clients that came over TLS; 0 is `tls-port`."),
    Opt::new(Cluster, "cluster-announce-hostname", Kind::Text, "")
        .field(at!(cluster_announce_hostname))
        .help("Host name that CLUSTER tells clients; empty for none."),
    Opt::new(Cluster, "cluster-port", PORT, "0")
        .field(at!(cluster_port))
        .at_start()
        .help("With engine `tikv`: where the other nodes on the same data connect to, on the addresses of `bind`; 0 is 10000 above `port`, or any port that is free where there is no such port. The other engines open none."),
    Opt::new(Cluster, "cluster-announce-bus-port", PORT, "0")
        .field(at!(cluster_announce_bus_port))
        .help("With engine `tikv`: the port that other nodes are told to connect to, at the address of `cluster-announce-ip`; 0 is `cluster-port`."),
];
