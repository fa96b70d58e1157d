//! Directives of a redis.conf that are refused with the reason: ignoring them would change what the user asked for.

/// Names, or beginnings of names that end in `*`.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("replicaof", "Tarn does not replicate"),
    ("slaveof", "Tarn does not replicate"),
    ("loadmodule", "Tarn loads no modules"),
    ("rename-command", "Tarn does not rename commands"),
    ("bind-source-addr", "Tarn opens no connections of its own"),
    ("oom-score-adj-values", "Tarn does not change its OOM score; set it in the service manager"),
    ("server_cpulist", "Tarn does not pin its threads; use taskset or the service manager"),
    ("bio_cpulist", "Tarn does not pin its threads; use taskset or the service manager"),
    ("aof_rewrite_cpulist", "Tarn does not pin its threads; use taskset or the service manager"),
    ("bgsave_cpulist", "Tarn does not pin its threads; use taskset or the service manager"),
    ("syslog-*", "Tarn does not write to syslog; its log goes to 'logfile' or the standard output"),
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
