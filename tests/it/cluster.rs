//! Slots and CLUSTER on a single node.

use crate::check::{check, check_with};

#[test]
fn readonly() {
    check("READONLY", "-ERR This instance has cluster support disabled");
    check("READWRITE", "-ERR This instance has cluster support disabled");
    check("ASKING", "-ERR This instance has cluster support disabled");
    check("READONLY x", "-ERR wrong number of arguments for 'readonly' command");
    check_with(&[("cluster-enabled", "yes")], "READONLY | READWRITE | ASKING", "+OK | +OK | +OK");
}

#[test]
fn cluster_disabled() {
    check("CLUSTER KEYSLOT foo", "-ERR This instance has cluster support disabled");
    check("CLUSTER INFO", "-ERR This instance has cluster support disabled");
    check("CLUSTER SLOTS", "-ERR This instance has cluster support disabled");
    check("CLUSTER FOO", "-ERR unknown subcommand 'FOO'. Try CLUSTER HELP.");
    check("CLUSTER", "-ERR wrong number of arguments for 'cluster' command");
}

#[test]
fn cluster_keyslot() {
    check_with(
        &[("cluster-enabled", "yes")],
        r#"CLUSTER KEYSLOT foo | CLUSTER KEYSLOT {foo}bar | CLUSTER KEYSLOT "" | CLUSTER KEYSLOT 123456789 | CLUSTER KEYSLOT {} | CLUSTER KEYSLOT {}foo | CLUSTER KEYSLOT foo{}{bar} | CLUSTER KEYSLOT foo{{bar}}zap | CLUSTER KEYSLOT foo{bar}{zap} | CLUSTER KEYSLOT {bar | CLUSTER KEYSLOT "{\x00\xff}" | CLUSTER KEYSLOT a}b{c}"#,
        ":12182 | :12182 | :0 | :12739 | :15257 | :9500 | :8363 | :4015 | :5061 | :4015 | :7920 | :7365",
    );
    check_with(
        &[("cluster-enabled", "yes")],
        "CLUSTER KEYSLOT | CLUSTER KEYSLOT a b | CLUSTER COUNTKEYSINSLOT 16384 | CLUSTER COUNTKEYSINSLOT -1 | CLUSTER COUNTKEYSINSLOT abc | CLUSTER COUNTKEYSINSLOT 0 | CLUSTER GETKEYSINSLOT 0 10 | CLUSTER GETKEYSINSLOT 0 -1 | CLUSTER GETKEYSINSLOT 16384 1 | CLUSTER GETKEYSINSLOT a b | CLUSTER FOO",
        "-ERR wrong number of arguments for 'cluster|keyslot' command | -ERR wrong number of arguments for 'cluster|keyslot' command | -ERR Invalid slot | -ERR Invalid slot | -ERR value is not an integer or out of range | :0 | [] | -ERR Invalid slot or number of keys | -ERR Invalid slot or number of keys | -ERR value is not an integer or out of range | -ERR unknown subcommand 'FOO'. Try CLUSTER HELP.",
    );
    check_with(
        &[("cluster-enabled", "yes")],
        "SELECT 1 | SELECT 0",
        "-ERR SELECT is not allowed in cluster mode | +OK",
    );
}
