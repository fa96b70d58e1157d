//! What is played of each family that is not a collection.

use super::{Family, Filling, no_holes};
use crate::rng::Rng;

pub const STRING: Family = Family {
    name: "string",
    templates: &[
        (20, "SET {key} {value}"),
        (20, "SET {key} {value} {set_option*}"),
        (20, "GET {key}"),
        (8, "GETEX {key} {getex_option*}"),
        (5, "GETDEL {key}"),
        (5, "GETSET {key} {value}"),
        (6, "MGET {key} {key} {key*}"),
        (5, "MSET {key} {value} {pair*}"),
        (4, "MSETNX {key} {value} {pair*}"),
        (4, "SETNX {key} {value}"),
        (4, "SETEX {key} {ttl_s} {value}"),
        (4, "PSETEX {key} {ttl_ms} {value}"),
        (12, "APPEND {key} {value}"),
        (8, "STRLEN {key}"),
        (12, "GETRANGE {key} {index} {index}"),
        (2, "SUBSTR {key} {index} {index}"),
        (12, "SETRANGE {key} {offset} {value}"),
        (8, "SET {key} {number}"),
        (8, "INCR {key}"),
        (5, "DECR {key}"),
        (8, "INCRBY {key} {number}"),
        (5, "DECRBY {key} {number}"),
        (6, "INCRBYFLOAT {key} {float}"),
        (3, "SET {text_key} {text}"),
        (6, "LCS {text_key} {text_key} {lcs_option*}"),
        (2, "DEL {key}"),
        (2, "TTL {key}"),
        (1, "!short"),
    ],
    holes: no_holes,
};

pub const BITS: Family = Family {
    name: "bits",
    templates: &[
        (15, "SETBIT {key} {bit_offset} {bit}"),
        (10, "GETBIT {key} {bit_offset}"),
        (10, "BITCOUNT {key}"),
        (14, "BITCOUNT {key} {index} {index} {bit_unit}"),
        (5, "BITPOS {key} {bit}"),
        (5, "BITPOS {key} {bit} {index}"),
        (14, "BITPOS {key} {bit} {index} {index} {bit_unit}"),
        (14, "BITOP {bit_operation} {key} {key} {key*}"),
        (25, "BITFIELD {key} {field_operation} {field_operation*}"),
        (6, "BITFIELD_RO {key} {field_get} {field_get*}"),
        (2, "BITFIELD_RO {key} {field_operation*}"),
        (12, "SET {key} {value}"),
        (8, "GET {key}"),
        (4, "STRLEN {key}"),
        (3, "SET {key} {number}"),
        (2, "INCR {key}"),
        (3, "DEL {key}"),
        (2, "SETRANGE {key} {offset} {value}"),
        (2, "EXPIRE {key} {ttl_s}"),
    ],
    holes: no_holes,
};

pub const KEYS: Family = Family {
    name: "keys",
    templates: &[
        (25, "SET {key} {value}"),
        (8, "SET {key} {value} {set_option*}"),
        (6, "MSET {key} {value} {pair*}"),
        (8, "GET {key}"),
        (8, "DEL {key} {key*}"),
        (4, "UNLINK {key} {key*}"),
        (6, "EXISTS {key} {key*}"),
        (4, "TYPE {key}"),
        (3, "TOUCH {key} {key*}"),
        (10, "RENAME {key} {key}"),
        (8, "RENAMENX {key} {key}"),
        (10, "COPY {key} {key} {copy_option*}"),
        (6, "KEYS {pattern}"),
        (5, "!scan {scan_option*}"),
        (2, "SCAN {bad_cursor} {scan_option*}"),
        (4, "!random"),
        (4, "!count"),
        (12, "EXPIRE {key} {ttl_s} {expire_flag*}"),
        (8, "PEXPIRE {key} {ttl_ms} {expire_flag*}"),
        (8, "EXPIREAT {key} {at_s} {expire_flag*}"),
        (8, "PEXPIREAT {key} {at_ms} {expire_flag*}"),
        (5, "TTL {key}"),
        (5, "PTTL {key}"),
        (4, "EXPIRETIME {key}"),
        (4, "PEXPIRETIME {key}"),
        (6, "PERSIST {key}"),
        (5, "OBJECT ENCODING {key}"),
        (2, "OBJECT {object_subcommand} {key}"),
        (6, "MOVE {key} {db}"),
        (5, "SELECT {db}"),
        (3, "SWAPDB {db} {db}"),
        (1, "FLUSHDB {flush_option*}"),
        (1, "FLUSHALL {flush_option*}"),
        (4, "APPEND {key} {value}"),
        (3, "INCR {key}"),
        (1, "!short"),
        (6, "!dumped {key} {key} {ttl_ms} {restore_option*}"),
        (6, "RESTORE {key} {ttl_ms} {payload} {restore_option*}"),
    ],
    holes: dumped,
};

/// Payloads that redis-server 7.0 has written, of every type that this family meets.
fn dumped(rng: &mut Rng, hole: &str) -> Option<Filling> {
    match hole {
        "payload" => {
            let lines = include_str!("../../../fixtures/dump/redis-7.0.txt").lines();
            // A HyperLogLog is not to be changed by commands of strings: see `is_kept_whole`.
            let lines: Vec<&str> = lines.filter(|line| !line.starts_with("PFADD")).collect();
            let (_, payload) = rng.pick(&lines).split_once('\t')?;
            let mut payload: Vec<u8> = (0..payload.len() / 2)
                .map(|at| u8::from_str_radix(&payload[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            if rng.percent(10) {
                // With another byte the checksum is wrong.
                let at = rng.below(payload.len());
                payload[at] ^= 1;
            }
            Some(Filling::Args(vec![payload]))
        }
        "restore_option" => Some(Filling::one_of(
            rng,
            &[(6, "REPLACE"), (2, "ABSTTL"), (1, "IDLETIME {small}"), (1, "FREQ {small}"), (1, "{word}")],
        )),
        _ => None,
    }
}

pub const CONNECTION: Family = Family {
    name: "connection",
    templates: &[
        (5, "PING"),
        (5, "PING {value}"),
        (5, "ECHO {value}"),
        (4, "SELECT {db}"),
        (3, "HELLO {hello_option*}"),
        (2, "HELLO {protocol}"),
        // Of several, 7.0 takes each as it comes.
        (2, "HELLO {protocol} {hello_option}"),
        (2, "RESET"),
        (3, "AUTH {word} {word*}"),
        (4, "CLIENT SETNAME {word}"),
        (4, "CLIENT GETNAME"),
        (2, "CLIENT NO-EVICT {on_off}"),
        (2, "CLIENT REPLY {word}"),
        (2, "CLIENT KILL ID {number}"),
        (1, "CLIENT KILL {odd_word} {word}"),
        (2, "CLIENT LIST ID 999999999"),
        (2, "CLIENT LIST TYPE {client_type}"),
        (1, "CLIENT UNPAUSE"),
        (2, "CLIENT {odd_word} {word*}"),
        (8, "COMMAND GETKEYS {known_command}"),
        (6, "COMMAND GETKEYSANDFLAGS {known_command}"),
        (3, "COMMAND {odd_word} {word*}"),
        (2, "CLUSTER KEYSLOT {key}"),
        (2, "CLUSTER {odd_word} {word*}"),
        (2, "WAIT 0 {small}"),
        (2, "CONFIG {odd_word} {word*}"),
        (1, "OBJECT {odd_word} {word*}"),
        (1, "SLOWLOG {odd_word} {word*}"),
        (1, "MEMORY {odd_word} {word*}"),
        (1, "LATENCY {odd_word} {word*}"),
        (4, "{word} {word*}"),
        (4, "SET {key} {value}"),
        (4, "GET {key}"),
    ],
    holes: no_holes,
};
