//! Directives of a redis.conf that are refused with the reason: ignoring them would change what the user asked for.

const NOT_PINNED: &str = "Tarn does not pin its threads; use taskset or the service manager";

/// Names, or beginnings of names that end in `*`.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("replicaof", "Tarn does not replicate"),
    ("slaveof", "Tarn does not replicate"),
    ("loadmodule", "Tarn loads no modules; what is built in is in docs/commands.md"),
    ("bind-source-addr", "Tarn opens no connections of its own"),
    ("server_cpulist", NOT_PINNED),
    ("server-cpulist", NOT_PINNED),
    ("bio_cpulist", NOT_PINNED),
    ("bio-cpulist", NOT_PINNED),
    ("aof_rewrite_cpulist", NOT_PINNED),
    ("aof-rewrite-cpulist", NOT_PINNED),
    ("bgsave_cpulist", NOT_PINNED),
    ("bgsave-cpulist", NOT_PINNED),
    ("rdma-*", "Tarn does not listen on RDMA"),
    ("sentinel", "Tarn has no Sentinel mode"),
];

/// Why an option of Redis is not taken; None if it is no option of Redis that is refused.
pub fn reason_unsupported(name: &[u8]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let matching = |known: &str| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == known.as_bytes(),
    };
    UNSUPPORTED.iter().find(|(known, _)| matching(known)).map(|(_, reason)| *reason)
}
