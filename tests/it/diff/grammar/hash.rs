//! Hashes.

use super::values::{JUNK, sized, text, value};
use super::{Family, Filling};
use crate::rng::Rng;

pub const HASH: Family = Family {
    name: "hash",
    templates: &[
        (20, "HSET {key} {field} {value}"),
        (12, "HSET {key} {field} {value} {field_pair*}"),
        (2, "HSET {key} {many_fields}"),
        (5, "HMSET {key} {field} {value} {field_pair*}"),
        (6, "HSETNX {key} {field} {value}"),
        (15, "HGET {key} {field}"),
        (8, "HMGET {key} {field} {field*}"),
        (15, "HDEL {key} {field} {field*}"),
        (10, "HGETALL {key}"),
        (5, "HKEYS {key}"),
        (5, "HVALS {key}"),
        (8, "HLEN {key}"),
        (6, "HEXISTS {key} {field}"),
        (6, "HSTRLEN {key} {field}"),
        (5, "HSET {key} {field} {number}"),
        (10, "HINCRBY {key} {field} {number}"),
        (8, "HINCRBYFLOAT {key} {field} {float}"),
        (8, "!walk HSCAN {key} {hscan_option*}"),
        (2, "HSCAN {key} {bad_cursor} {hscan_option*}"),
        (3, "!pick HRANDFIELD {key}"),
        (6, "!pick HRANDFIELD {key} {pick_count}"),
        (5, "!pick HRANDFIELD {key} {pick_count} WITHVALUES"),
        (1, "!pick HRANDFIELD {key} {pick_count} {word}"),
        (5, "OBJECT ENCODING {key}"),
        (2, "OBJECT REFCOUNT {key}"),
        (3, "TYPE {key}"),
        (4, "DEL {key}"),
        (5, "RENAME {key} {key}"),
        (5, "COPY {key} {key} {copy_option*}"),
        (3, "MOVE {key} {db}"),
        (2, "SELECT {db}"),
        (3, "EXPIRE {key} {ttl_s}"),
        (2, "PERSIST {key}"),
        (2, "TTL {key}"),
        (2, "SET {key} {value}"),
        (1, "GET {key}"),
        (2, "!count"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    Some(match hole {
        "field" => Filling::Args(vec![field(rng)]),
        "field_pair" => Filling::Template("{field} {value}"),
        // Above the size at which a hash changes its form.
        "many_fields" => {
            let count = *rng.pick(&[100, 511, 512, 513, 700]);
            let pairs = (0..count).flat_map(|n| [format!("many:{n}"), n.to_string()]);
            Filling::Args(pairs.map(String::into_bytes).collect())
        }
        "pick_count" => Filling::one_of(rng, PICK_COUNTS),
        "hscan_option" => Filling::one_of(rng, HSCAN_OPTIONS),
        "field_pattern" => {
            let patterns = ["*", "f*", "?", "[a-c]", "f[12]", "many:*", "*0", "[^f]*", "", "**", "["];
            Filling::Args(vec![rng.pick(&patterns).as_bytes().to_vec()])
        }
        _ => return None,
    })
}

const PICK_COUNTS: &[(u32, &str)] = &[
    (5, "{small}"),
    (3, "-3"),
    (3, "-1"),
    (3, "1000"),
    (1, "0"),
    (1, "abc"),
    (1, "-9223372036854775808"),
    (1, "9223372036854775807"),
];

const HSCAN_OPTIONS: &[(u32, &str)] = &[
    (8, "COUNT {small}"),
    (5, "COUNT 100"),
    (8, "MATCH {field_pattern}"),
    (1, "{word}"),
    (1, "COUNT {number}"),
    (1, "MATCH"),
    (1, "TYPE hash"),
];

const FIELDS: &[&[u8]] = &[b"f1", b"f2", b"f3", b"a", b"b", b"c", b"n", b"", b"\x00\xff", b"12", b"-7", b"0"];

fn field(rng: &mut Rng) -> Vec<u8> {
    match rng.below(30) {
        0 => sized(rng, 64),
        1 => text(rng),
        2 => value(rng),
        3 => rng.pick(JUNK).to_vec(),
        _ => rng.pick(FIELDS).to_vec(),
    }
}
