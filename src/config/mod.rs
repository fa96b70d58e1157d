//! What can be set, by file, by flag and by CONFIG SET.
//!
//! [`table`] says once what the options are. [`Config`] is a typed snapshot of all of them: cheap to read, never changed
//! after it was made. [`Live`] holds the current snapshot and swaps it for a new one when CONFIG SET succeeds.

mod appendonly;
pub mod args;
pub mod choice;
mod completion;
mod docs;
pub mod limits;
mod live;
pub mod load;
mod man;
pub mod memory;
mod notes;
pub mod option;
pub mod parse;
mod rewrite;
mod sample;
pub mod table;
pub mod types;
pub mod units;
pub mod value;
pub mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use choice::{
    ActiveExpireMode, AppendFsync, AuthClients, CertificateUser, Choice, CrossSlot, DumpVersion, EngineKind,
    EvictionPolicy, Guard, LogLevel, OomScoreAdj, PubsubDefault, Supervised, Victim,
};
pub use completion::{bash, fish, zsh};
pub use docs::{docs, section_title, values};
pub use live::{Hook, Install, Live, Preparation, SetError};
pub use man::man;
pub use memory::MemorySplit;
pub use rewrite::RewriteError;
pub use sample::sample;
pub use types::{Auto, Events, OomScores, OutputLimit, OutputLimits, Percentiles, SavePoint, Share};
use value::Value;

use crate::acl::Defaults;
use crate::encoding::stream::producers::Retention;
use crate::keyspace::Limits;

/// Declares the struct and a value of it that only the table's defaults make useful.
macro_rules! config {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)+) => {
        /// All options, typed. The default is the table's; the table's help says what each is for.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            $($(#[$doc])* pub $field: $type,)+
            /// Values of options that have no effect here.
            pub(in crate::config) kept: BTreeMap<&'static str, Value>,
            pub(in crate::config) appendonly_wanted: Option<bool>,
        }

        impl Config {
            fn blank() -> Self {
                Self { $($field: Default::default(),)+ kept: BTreeMap::new(), appendonly_wanted: None }
            }
        }
    };
}

config! {
    port: u16,
    bind: Vec<String>,
    /// Empty for none.
    unixsocket: PathBuf,
    /// Zero leaves it to the umask.
    unixsocketperm: u32,
    tcp_backlog: u32,
    tcp_keepalive_secs: u32,
    timeout_secs: u32,
    io_threads: Auto,
    io_busy_poll_micros: u32,
    worker_threads: Auto,
    daemonize: bool,
    supervised: Supervised,
    oom_score_adj: OomScoreAdj,
    oom_score_adj_values: OomScores,

    /// Zero for none.
    tls_port: u16,
    tls_cert_file: PathBuf,
    tls_key_file: PathBuf,
    tls_ca_cert_file: PathBuf,
    tls_ca_cert_dir: PathBuf,
    tls_auth_clients: AuthClients,
    tls_auth_clients_user: CertificateUser,
    tls_protocols: String,
    tls_ciphers: String,
    tls_ciphersuites: String,
    tls_prefer_server_ciphers: bool,
    tls_session_caching: bool,
    tls_session_cache_size: usize,
    tls_session_cache_timeout_secs: u32,
    /// Zero is never.
    tls_auto_reload_interval_secs: u32,
    tls_handshake_timeout_secs: u32,
    tls_max_handshakes: usize,

    dir: PathBuf,
    require_data: bool,
    engine: EngineKind,
    /// Empty for none.
    memory_engine_faults: String,
    tikv_pd_addresses: Vec<String>,
    tikv_prefix: String,
    tikv_timeout_millis: u64,
    tikv_gc_seconds: u64,
    tikv_workers: usize,
    appendfsync: AppendFsync,
    recover_truncate_log: bool,
    dbfilename: String,

    maxmemory: Auto,
    /// Zero is no limit.
    maxdisk: u64,
    maxmemory_policy: EvictionPolicy,
    memory_dirty_percent: u8,
    memory_row_cache_percent: u8,
    memory_block_cache_percent: u8,
    maxmemory_clients: Share,

    maxclients: u32,
    proto_max_bulk_len: usize,
    client_query_buffer_limit: usize,
    client_output_buffer_limit: OutputLimits,

    /// Empty for none.
    requirepass: Vec<u8>,
    /// Empty for none.
    aclfile: PathBuf,
    acl_pubsub_default: PubsubDefault,
    acllog_max_len: usize,
    protected_mode: bool,
    enable_protected_configs: Guard,
    enable_debug_command: Guard,

    databases: u32,
    hz: u32,
    active_expire_effort: u32,
    active_expire_mode: ActiveExpireMode,
    notify_keyspace_events: Events,
    hash_max_listpack_entries: usize,
    hash_max_listpack_value: usize,
    set_max_intset_entries: usize,
    zset_max_listpack_entries: usize,
    zset_max_listpack_value: usize,
    list_max_listpack_size: i64,
    hll_sparse_max_bytes: usize,
    stream_node_max_entries: usize,
    dump_rdb_version: DumpVersion,
    stream_idmp_duration_secs: u32,
    stream_idmp_maxsize: u32,

    loglevel: LogLevel,
    /// Empty is the standard output.
    logfile: PathBuf,
    /// Empty for none.
    pidfile: PathBuf,
    /// Zero is off.
    metrics_port: u16,
    metrics_bind: Vec<String>,
    metrics_tls: bool,
    /// Empty for none.
    metrics_password: Vec<u8>,
    /// Zero is off.
    console_port: u16,
    console_bind: Vec<String>,
    /// -1 is off.
    slowlog_log_slower_than_micros: i64,
    slowlog_max_len: usize,
    /// -1 is off.
    commandlog_request_larger_than: i64,
    commandlog_large_request_max_len: usize,
    commandlog_reply_larger_than: i64,
    commandlog_large_reply_max_len: usize,
    /// Zero is off.
    latency_monitor_threshold_millis: u64,
    latency_tracking: bool,
    latency_tracking_info_percentiles: Percentiles,

    /// Zero is no limit.
    tracking_table_max_keys: usize,
    /// Zero is never.
    busy_reply_threshold_millis: u64,

    cluster_enabled: bool,
    cluster_cross_slot: CrossSlot,
    /// Empty is the address that the client came in by.
    cluster_announce_ip: String,
    /// Zero is `port`.
    cluster_announce_port: u16,
    /// Zero is `tls-port`.
    cluster_announce_tls_port: u16,
    cluster_announce_hostname: String,
    /// Zero is 10000 above `port`.
    cluster_port: u16,
    /// Zero is `cluster-port`.
    cluster_announce_bus_port: u16,

    /// Names of commands and what they are called instead, in the order of the lines; not an option.
    renamed_commands: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where CONFIG REWRITE writes; not an option.
    config_file: Option<PathBuf>,
    /// Users of `user` lines, each with its rules; not an option.
    users: Vec<Vec<Vec<u8>>>,
}

impl Default for Config {
    fn default() -> Self {
        let mut config = Self::blank();
        for option in table::options() {
            let applied = parse::apply(&mut config, option, &[option.default.as_bytes()], parse::Source::Set);
            debug_assert_eq!(applied, Ok(()), "default of {}", option.name);
        }
        config.appendonly_wanted = None;
        config
    }
}

impl Config {
    /// One per core unless set.
    pub fn io_thread_count(&self) -> usize {
        self.io_threads
            .set()
            .map_or_else(cores, |count| count.get() as usize)
            .min(limits::MAX_IO_THREADS as usize)
    }

    /// Waiting for a disk is most of a worker's time, so there are more of them than cores unless set.
    pub fn worker_thread_count(&self) -> usize {
        if self.engine == EngineKind::Tikv {
            return self.tikv_workers;
        }
        self.worker_threads.set().map_or_else(|| (cores() * 2).clamp(4, 64), |count| count.get() as usize)
    }

    /// What new users have.
    pub fn user_defaults(&self) -> Defaults {
        Defaults { all_channels: self.acl_pubsub_default == PubsubDefault::AllChannels }
    }

    /// Where the ACL file is, if there is one.
    pub fn acl_path(&self) -> Option<PathBuf> {
        (!self.aclfile.as_os_str().is_empty()).then(|| self.dir.join(&self.aclfile))
    }

    /// Whether anything here speaks TLS.
    pub fn uses_tls(&self) -> bool {
        self.tls_port != 0 || (self.metrics_tls && self.metrics_port != 0)
    }

    /// Where other nodes on the same data connect to; zero is any port that is free.
    pub fn link_port(&self) -> u16 {
        let port = if self.port == 0 { self.tls_port } else { self.port };
        match (self.cluster_port, port) {
            (0, 0) => 0,
            (0, port) => port.checked_add(limits::BUS_PORT_OFFSET).unwrap_or(0),
            (set, _) => set,
        }
    }

    /// The sizes that commands ask for.
    pub fn limits(&self) -> Limits {
        Limits {
            max_string_len: self.proto_max_bulk_len,
            hash_entries: self.hash_max_listpack_entries,
            hash_value_len: self.hash_max_listpack_value,
            set_ints: self.set_max_intset_entries,
            zset_entries: self.zset_max_listpack_entries,
            zset_value_len: self.zset_max_listpack_value,
            hll_sparse_bytes: self.hll_sparse_max_bytes,
            stream_node_entries: self.stream_node_max_entries,
            dump_version: self.dump_rdb_version.number(),
            stream_records: Retention {
                duration_s: self.stream_idmp_duration_secs,
                limit: self.stream_idmp_maxsize,
            },
        }
    }

    /// Brings what only hints at a value inside its range, and refuses options that contradict each other.
    fn complete(&mut self) -> Result<(), (&'static str, String)> {
        self.hz = self.hz.clamp(limits::MIN_HZ, limits::MAX_HZ);
        self.check_memory()?;
        if !self.users.is_empty() && !self.aclfile.as_os_str().is_empty() {
            let reason = "there are users in the configuration as well: define them there or in the ACL file, not in both";
            return Err(("aclfile", reason.to_owned()));
        }
        Ok(())
    }

    /// A server that nobody can reach is a mistake.
    fn check_ways_in(&self) -> Result<(), (&'static str, String)> {
        if self.port == 0 && self.tls_port == 0 && self.unixsocket.as_os_str().is_empty() {
            let reason = "it is 0, and there is neither 'tls-port' nor 'unixsocket': no client could connect";
            return Err(("port", reason.into()));
        }
        Ok(())
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
pub(crate) mod tests;
