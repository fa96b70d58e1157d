# Generated from the table of options in src/config/table/; a test compares it.
_tarn() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
    case $previous in
    --daemonize) words="yes no" ;;
    --supervised) words="no systemd auto" ;;
    --oom-score-adj) words="no yes relative absolute" ;;
    --require-data) words="yes no" ;;
    --engine) words="rocksdb memory tikv" ;;
    --appendfsync) words="everysec always no" ;;
    --appendonly) words="yes no" ;;
    --recover-truncate-log) words="yes no" ;;
    --maxmemory-policy) words="volatile-lru volatile-lfu volatile-random volatile-ttl volatile-lrm allkeys-lru allkeys-lfu allkeys-random allkeys-lrm noeviction" ;;
    --acl-pubsub-default) words="allchannels resetchannels" ;;
    --protected-mode) words="yes no" ;;
    --enable-protected-configs) words="no yes local" ;;
    --enable-debug-command) words="no yes local" ;;
    --active-expire-mode) words="sort scan" ;;
    --dump-rdb-version) words="6 7 8 9 10 11 12 80" ;;
    --loglevel) words="debug verbose notice warning nothing" ;;
    --metrics-tls) words="yes no" ;;
    --latency-tracking) words="yes no" ;;
    --cluster-enabled) words="yes no" ;;
    --cluster-cross-slot) words="allow deny" ;;
    --tls-auth-clients) words="no yes optional" ;;
    --tls-auth-clients-user) words="CN URI off" ;;
    --tls-prefer-server-ciphers) words="yes no" ;;
    --tls-session-caching) words="yes no" ;;
    --tls-key-file-pass) words="" ;;
    --tls-replication) words="yes no" ;;
    --tls-cluster) words="yes no" ;;
    --syslog-enabled) words="no" ;;
    --set-proc-title) words="yes no" ;;
    --always-show-logo) words="yes no" ;;
    --crash-log-enabled) words="yes no" ;;
    --crash-memcheck-enabled) words="yes no" ;;
    --disable-thp) words="yes no" ;;
    --jemalloc-bg-thread) words="yes no" ;;
    --io-threads-do-reads) words="yes no" ;;
    --shutdown-on-sigterm) words="default save nosave now force" ;;
    --shutdown-on-sigint) words="default save nosave now force" ;;
    --socket-mark-id) words="0" ;;
    --stop-writes-on-bgsave-error) words="yes no" ;;
    --rdbcompression) words="yes no" ;;
    --rdbchecksum) words="yes no" ;;
    --rdb-del-sync-files) words="yes no" ;;
    --rdb-save-incremental-fsync) words="yes no" ;;
    --sanitize-dump-payload) words="no yes clients" ;;
    --no-appendfsync-on-rewrite) words="yes no" ;;
    --aof-load-truncated) words="yes no" ;;
    --aof-use-rdb-preamble) words="yes no" ;;
    --aof-timestamp-enabled) words="yes no" ;;
    --aof-rewrite-incremental-fsync) words="yes no" ;;
    --aof-disable-auto-gc) words="yes no" ;;
    --activedefrag) words="yes no" ;;
    --activerehashing) words="yes no" ;;
    --dynamic-hz) words="yes no" ;;
    --lazyfree-lazy-eviction) words="yes no" ;;
    --lazyfree-lazy-expire) words="yes no" ;;
    --lazyfree-lazy-server-del) words="yes no" ;;
    --lazyfree-lazy-user-del) words="yes no" ;;
    --lazyfree-lazy-user-flush) words="yes no" ;;
    --enable-module-command) words="no yes local" ;;
    --propagation-error-behavior) words="ignore panic panic-on-replicas" ;;
    --min-replicas-to-write) words="0" ;;
    --repl-disable-tcp-nodelay) words="yes no" ;;
    --repl-diskless-sync) words="yes no" ;;
    --repl-diskless-load) words="disabled on-empty-db swapdb" ;;
    --replica-serve-stale-data) words="yes no" ;;
    --replica-read-only) words="yes no" ;;
    --replica-ignore-maxmemory) words="yes no" ;;
    --replica-ignore-disk-write-errors) words="yes no" ;;
    --replica-lazy-flush) words="yes no" ;;
    --replica-announced) words="yes no" ;;
    --cluster-preferred-endpoint-type) words="ip hostname unknown-endpoint" ;;
    --cluster-require-full-coverage) words="yes no" ;;
    --cluster-allow-reads-when-down) words="yes no" ;;
    --cluster-allow-pubsubshard-when-down) words="yes no" ;;
    --cluster-allow-replica-migration) words="yes no" ;;
    --cluster-replica-no-failover) words="yes no" ;;
    --hide-user-data-from-log) words="yes no" ;;
    --log-format) words="legacy logfmt json" ;;
    --log-timestamp-format) words="legacy iso8601 milliseconds" ;;
    --extended-redis-compatibility) words="yes no" ;;
    --import-mode) words="no" ;;
    --mptcp) words="no" ;;
    --unixsocketgroup) words="" ;;
    --rdb-version-check) words="strict relaxed" ;;
    --dual-channel-replication-enabled) words="yes no" ;;
    --repl-mptcp) words="yes no" ;;
    --cluster-config-save-behavior) words="sync best-effort" ;;
    --cluster-slot-stats-enabled) words="yes no" ;;
    --*) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    esac
    if [ -z "$words" ]; then
        case $current in
        -*) words="--help --version --port --bind --unixsocket --unixsocketperm --tcp-backlog --tcp-keepalive --timeout --io-threads --io-busy-poll --worker-threads --daemonize --supervised --oom-score-adj --oom-score-adj-values --dir --require-data --engine --memory-engine-faults --tikv-pd-addresses --tikv-prefix --tikv-timeout --tikv-gc-life-time --tikv-workers --appendfsync --appendonly --recover-truncate-log --dbfilename --maxmemory --maxdisk --maxmemory-policy --memory-dirty-percent --memory-row-cache-percent --memory-block-cache-percent --maxmemory-clients --maxclients --proto-max-bulk-len --client-query-buffer-limit --client-output-buffer-limit --requirepass --aclfile --acl-pubsub-default --acllog-max-len --protected-mode --enable-protected-configs --enable-debug-command --databases --hz --active-expire-effort --active-expire-mode --notify-keyspace-events --hash-max-listpack-entries --hash-max-listpack-value --set-max-intset-entries --zset-max-listpack-entries --zset-max-listpack-value --list-max-listpack-size --hll-sparse-max-bytes --stream-node-max-entries --dump-rdb-version --stream-idmp-duration --stream-idmp-maxsize --loglevel --logfile --pidfile --metrics-port --metrics-bind --metrics-tls --metrics-password --console-port --console-bind --slowlog-log-slower-than --slowlog-max-len --commandlog-request-larger-than --commandlog-large-request-max-len --commandlog-reply-larger-than --commandlog-large-reply-max-len --latency-monitor-threshold --latency-tracking --latency-tracking-info-percentiles --tracking-table-max-keys --busy-reply-threshold --cluster-enabled --cluster-cross-slot --cluster-announce-ip --cluster-announce-port --cluster-announce-tls-port --cluster-announce-hostname --cluster-port --cluster-announce-bus-port --tls-port --tls-cert-file --tls-key-file --tls-ca-cert-file --tls-ca-cert-dir --tls-auth-clients --tls-auth-clients-user --tls-protocols --tls-ciphers --tls-ciphersuites --tls-prefer-server-ciphers --tls-session-caching --tls-session-cache-size --tls-session-cache-timeout --tls-auto-reload-interval --tls-handshake-timeout --tls-max-handshakes --tls-key-file-pass --tls-client-cert-file --tls-client-key-file --tls-client-key-file-pass --tls-dh-params-file --tls-replication --tls-cluster --syslog-enabled --syslog-ident --syslog-facility --set-proc-title --proc-title-template --always-show-logo --crash-log-enabled --crash-memcheck-enabled --disable-thp --jemalloc-bg-thread --io-threads-do-reads --shutdown-on-sigterm --shutdown-on-sigint --shutdown-timeout --ignore-warnings --socket-mark-id --save --stop-writes-on-bgsave-error --rdbcompression --rdbchecksum --rdb-del-sync-files --rdb-save-incremental-fsync --sanitize-dump-payload --appendfilename --appenddirname --no-appendfsync-on-rewrite --auto-aof-rewrite-percentage --auto-aof-rewrite-min-size --aof-load-truncated --aof-use-rdb-preamble --aof-timestamp-enabled --aof-rewrite-incremental-fsync --aof-disable-auto-gc --maxmemory-samples --maxmemory-eviction-tenacity --lfu-log-factor --lfu-decay-time --activedefrag --active-defrag-cycle-min --active-defrag-cycle-max --active-defrag-threshold-lower --active-defrag-threshold-upper --active-defrag-max-scan-fields --active-defrag-ignore-bytes --activerehashing --dynamic-hz --lazyfree-lazy-eviction --lazyfree-lazy-expire --lazyfree-lazy-server-del --lazyfree-lazy-user-del --lazyfree-lazy-user-flush --list-compress-depth --stream-node-max-bytes --enable-module-command --propagation-error-behavior --min-replicas-to-write --min-replicas-max-lag --masteruser --masterauth --repl-backlog-size --repl-backlog-ttl --repl-timeout --repl-ping-replica-period --repl-disable-tcp-nodelay --repl-diskless-sync --repl-diskless-sync-delay --repl-diskless-sync-max-replicas --repl-diskless-load --replica-serve-stale-data --replica-read-only --replica-ignore-maxmemory --replica-ignore-disk-write-errors --replica-lazy-flush --replica-priority --replica-announce-ip --replica-announce-port --replica-announced --cluster-config-file --cluster-node-timeout --cluster-preferred-endpoint-type --cluster-require-full-coverage --cluster-allow-reads-when-down --cluster-allow-pubsubshard-when-down --cluster-allow-replica-migration --cluster-migration-barrier --cluster-replica-validity-factor --cluster-replica-no-failover --cluster-link-sendbuf-limit --hide-user-data-from-log --locale-collate --log-format --log-timestamp-format --availability-zone --hash-seed --extended-redis-compatibility --import-mode --prefetch-batch-max-size --active-defrag-cycle-us --max-new-connections-per-cycle --max-new-tls-connections-per-cycle --mptcp --unixsocketgroup --set-max-listpack-entries --set-max-listpack-value --rdb-version-check --dual-channel-replication-enabled --repl-mptcp --replica-full-sync-buffer-limit --cluster-announce-human-nodename --cluster-announce-client-ipv4 --cluster-announce-client-ipv6 --cluster-announce-client-port --cluster-announce-client-tls-port --cluster-blacklist-ttl --cluster-compatibility-sample-ratio --cluster-config-save-behavior --cluster-databases --cluster-manual-failover-timeout --cluster-slot-migration-log-max-len --cluster-slot-stats-enabled --slot-migration-max-failover-repl-bytes" ;;
        *) mapfile -t COMPREPLY < <(compgen -W "check salvage ping" -f -- "$current"); return ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _tarn tarn
