//! Slots and CLUSTER on a single node.

use crate::check::{check, check_with, tarn_only, tarn_only_with};

const CLUSTER: &[(&str, &str)] = &[("cluster-enabled", "yes")];

#[test]
fn readonly() {
    check("READONLY", "-ERR This instance has cluster support disabled");
    check("READWRITE", "-ERR This instance has cluster support disabled");
    check("ASKING", "-ERR This instance has cluster support disabled");
    check("READONLY x", "-ERR wrong number of arguments for 'readonly' command");
    check_with(CLUSTER, "READONLY | READWRITE | ASKING", "+OK | +OK | +OK");
}

#[test]
fn the_shard_has_a_name() {
    tarn_only("CLUSTER MYSHARDID", "-ERR This instance has cluster support disabled");
    tarn_only_with(
        CLUSTER,
        "CLUSTER MYSHARDID | CLUSTER MYSHARDID x",
        r#"%"..." | -ERR wrong number of arguments for 'cluster|myshardid' command"#,
    );
}

#[test]
fn cluster_disabled() {
    for line in [
        "CLUSTER ADDSLOTS 1",
        "CLUSTER ADDSLOTSRANGE 1 2",
        "CLUSTER BUMPEPOCH",
        "CLUSTER COUNT-FAILURE-REPORTS id",
        "CLUSTER COUNTKEYSINSLOT 99999",
        "CLUSTER DELSLOTS 1",
        "CLUSTER DELSLOTSRANGE 1 2",
        "CLUSTER FAILOVER",
        "CLUSTER FLUSHSLOTS",
        "CLUSTER FORGET id",
        "CLUSTER GETKEYSINSLOT 0 1",
        "CLUSTER HELP",
        "CLUSTER INFO",
        "CLUSTER KEYSLOT foo",
        "CLUSTER LINKS",
        "CLUSTER MEET 127.0.0.1 1",
        "CLUSTER MYID",
        "CLUSTER NODES",
        "CLUSTER REPLICAS id",
        "CLUSTER REPLICATE id",
        "CLUSTER RESET",
        "CLUSTER SAVECONFIG",
        "CLUSTER SET-CONFIG-EPOCH 1",
        "CLUSTER SETSLOT 1 STABLE",
        "CLUSTER SHARDS",
        "CLUSTER SLAVES id",
        "CLUSTER SLOTS",
    ] {
        check(line, "-ERR This instance has cluster support disabled");
    }
    check("CLUSTER FOO", "-ERR unknown subcommand 'FOO'. Try CLUSTER HELP.");
    check("CLUSTER", "-ERR wrong number of arguments for 'cluster' command");
    check("CLUSTER MYID a", "-ERR wrong number of arguments for 'cluster|myid' command");
    check("CLUSTER SETSLOT 1", "-ERR wrong number of arguments for 'cluster|setslot' command");
}

#[test]
fn one_node_owns_every_slot() {
    tarn_only_with(
        CLUSTER,
        "CLUSTER SLOTS | CLUSTER SHARDS | CLUSTER NODES | CLUSTER INFO | CLUSTER MYID | CLUSTER LINKS",
        r#"[[:0 :16383 ["" :1..65535 ...]]] | [...] | %"... myself,master - 0 0 1 connected 0-16383\n" | %"cluster_state:ok\r\n..." | ... | []"#,
    );
    tarn_only_with(
        CLUSTER,
        "SET {x}a 1 | SET {x}b 2 | MGET {x}a {x}b | CLUSTER COUNTKEYSINSLOT 16287 | CLUSTER GETKEYSINSLOT 16287 1 | CLUSTER GETKEYSINSLOT 16287 0 | FLUSHALL | CLUSTER COUNTKEYSINSLOT 16287",
        r#"+OK | +OK | ["1" "2"] | :2 | [...] | [] | +OK | :0"#,
    );
    tarn_only_with(
        CLUSTER,
        "CLUSTER FLUSHSLOTS | CLUSTER ADDSLOTS 1 | CLUSTER RESET | SET a 1 | MOVE a 1 | COPY a {a}b DB 1 | COPY a {a}b",
        "-ERR This node serves every slot, its cluster cannot be changed | -ERR This node serves every slot, its cluster cannot be changed | -ERR This node serves every slot, its cluster cannot be changed | +OK | -ERR MOVE is not allowed in cluster mode | -ERR Copying to another database is not allowed in cluster mode | :1",
    );
    check_with(
        CLUSTER,
        "CLUSTER REPLICAS abc | CLUSTER SLAVES abc | CLUSTER COUNT-FAILURE-REPORTS abc | CLUSTER SAVECONFIG | SWAPDB 0 0",
        "-ERR Unknown node abc | -ERR Unknown node abc | -ERR Unknown node abc | +OK | -ERR SWAPDB is not allowed in cluster mode",
    );
}

#[test]
fn slots_may_be_kept_apart() {
    let options = &[("cluster-enabled", "yes"), ("cluster-cross-slot", "deny")];
    tarn_only_with(
        options,
        "MSET {x}a 1 {x}b 2 | MSET a 1 b 2 | DEL {x}a {x}b | DEL a b | RENAME a b",
        "+OK | -CROSSSLOT Keys in request don't hash to the same slot | :2 | -CROSSSLOT Keys in request don't hash to the same slot | -CROSSSLOT Keys in request don't hash to the same slot",
    );
    tarn_only_with(CLUSTER, "MSET a 1 b 2 | MGET a b | DEL a b", r#"+OK | ["1" "2"] | :2"#);
}

#[test]
fn cluster_keyslot() {
    check_with(
        CLUSTER,
        r#"CLUSTER KEYSLOT foo | CLUSTER KEYSLOT {foo}bar | CLUSTER KEYSLOT "" | CLUSTER KEYSLOT 123456789 | CLUSTER KEYSLOT {} | CLUSTER KEYSLOT {}foo | CLUSTER KEYSLOT foo{}{bar} | CLUSTER KEYSLOT foo{{bar}}zap | CLUSTER KEYSLOT foo{bar}{zap} | CLUSTER KEYSLOT {bar | CLUSTER KEYSLOT "{\x00\xff}" | CLUSTER KEYSLOT a}b{c}"#,
        ":12182 | :12182 | :0 | :12739 | :15257 | :9500 | :8363 | :4015 | :5061 | :4015 | :7920 | :7365",
    );
    check_with(
        CLUSTER,
        "CLUSTER KEYSLOT | CLUSTER KEYSLOT a b | CLUSTER COUNTKEYSINSLOT 16384 | CLUSTER COUNTKEYSINSLOT -1 | CLUSTER COUNTKEYSINSLOT abc | CLUSTER COUNTKEYSINSLOT 0 | CLUSTER GETKEYSINSLOT 0 10 | CLUSTER GETKEYSINSLOT 0 -1 | CLUSTER GETKEYSINSLOT 16384 1 | CLUSTER GETKEYSINSLOT a b | CLUSTER FOO",
        "-ERR wrong number of arguments for 'cluster|keyslot' command | -ERR wrong number of arguments for 'cluster|keyslot' command | -ERR Invalid slot | -ERR Invalid slot | -ERR value is not an integer or out of range | :0 | [] | -ERR Invalid slot or number of keys | -ERR Invalid slot or number of keys | -ERR value is not an integer or out of range | -ERR unknown subcommand 'FOO'. Try CLUSTER HELP.",
    );
    check_with(CLUSTER, "SELECT 1 | SELECT 0", "-ERR SELECT is not allowed in cluster mode | +OK");
}

#[test]
fn keys_of_slots() {
    let off = "-ERR This instance has cluster support disabled";
    for line in [
        "CLUSTER SLOT-STATS SLOTSRANGE 0 1",
        "CLUSTER FLUSHSLOT 0",
        "CLUSTER CANCELSLOTMIGRATIONS",
        "CLUSTER GETSLOTMIGRATIONS",
        "CLUSTER MIGRATESLOTS SLOTSRANGE 0",
        "CLUSTER MIGRATION STATUS ALL",
        "CLUSTER SYNCSLOTS x",
        "CLUSTERSCAN 0",
        "SFLUSH 0 1",
    ] {
        tarn_only(line, off);
    }
    let refused = "-ERR This node serves every slot, its cluster cannot be changed";
    tarn_only_with(
        CLUSTER,
        "CLUSTER CANCELSLOTMIGRATIONS | CLUSTER GETSLOTMIGRATIONS | CLUSTER MIGRATESLOTS SLOTSRANGE 0 1 NODE x | CLUSTER MIGRATION STATUS ALL | CLUSTER SYNCSLOTS x",
        &format!("{refused} | [] | {refused} | {refused} | {refused}"),
    );
    tarn_only_with(
        CLUSTER,
        "SET a 1 | SET b 1 | CLUSTERSCAN 0 SLOT 3300 | CLUSTERSCAN 0-{b}-0 SLOT 3300 | CLUSTERSCAN 0-{b}-0 MATCH a | CLUSTERSCAN x | CLUSTER FLUSHSLOT 3300 | CLUSTER FLUSHSLOT 16384 | KEYS * | SFLUSH 15495 15495 | DBSIZE | SFLUSH 1",
        r#"+OK | +OK | [%"0-{...}-0" []] | ["0" ["b"]] | ["0" ["a"]] | -ERR Invalid cursor | +OK | -ERR Invalid or out of range slot | ["a"] | [[:15495 :15495]] | :0 | -ERR wrong number of arguments for 'sflush' command"#,
    );
    tarn_only_with(
        CLUSTER,
        "SET a 1 | CLUSTER SLOT-STATS ORDERBY key-count LIMIT 1 | CLUSTER SLOT-STATS SLOTSRANGE 5 1 | CLUSTER SLOT-STATS foo 1",
        "+OK | ... | -ERR Start slot number 5 is greater than end slot number 1 | -ERR unknown subcommand or wrong number of arguments for 'SLOT-STATS'. Try CLUSTER HELP.",
    );
}
