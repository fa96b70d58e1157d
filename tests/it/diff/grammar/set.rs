//! Sets.

use super::values::{JUNK, LIMITS, text, value};
use super::{Family, Filling};
use crate::rng::Rng;

pub const SET: Family = Family {
    name: "set",
    templates: &[
        (25, "SADD {key} {member} {member*}"),
        (12, "SADD {key} {integer} {integer*}"),
        (2, "SADD {key} {many_members}"),
        (15, "SREM {key} {member} {member*}"),
        (10, "SMEMBERS {key}"),
        (8, "SISMEMBER {key} {member}"),
        (6, "SMISMEMBER {key} {member} {member*}"),
        (8, "SCARD {key}"),
        (12, "SMOVE {key} {key} {member}"),
        (3, "!pick SRANDMEMBER {key}"),
        (6, "!pick SRANDMEMBER {key} {member_count}"),
        (1, "!pick SRANDMEMBER {key} {member_count} {word}"),
        (3, "!pop SPOP {key}"),
        (5, "!pop SPOP {key} {member_count}"),
        (3, "SPOP {key} 100000"),
        (1, "SPOP {key} 0 {word*}"),
        (8, "!walk SSCAN {key} {sscan_option*}"),
        (2, "SSCAN {key} {bad_cursor} {sscan_option*}"),
        (10, "SINTER {key} {key*}"),
        (10, "SUNION {key} {key*}"),
        (10, "SDIFF {key} {key*}"),
        (8, "SINTERSTORE {key} {key} {key*}"),
        (10, "SUNIONSTORE {key} {key} {key*}"),
        (8, "SDIFFSTORE {key} {key} {key*}"),
        (10, "SINTERCARD {counted_keys} {limit*}"),
        (5, "OBJECT ENCODING {key}"),
        (3, "TYPE {key}"),
        (4, "DEL {key}"),
        (4, "RENAME {key} {key}"),
        (4, "COPY {key} {key} {copy_option*}"),
        (2, "MOVE {key} {db}"),
        (1, "SELECT {db}"),
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
        "member" => Filling::Args(vec![member(rng)]),
        "integer" => Filling::Args(vec![integer(rng)]),
        // Around the size at which a set changes its form, and beyond a step of a walk.
        "many_members" => {
            let count = *rng.pick(&[100, 300, 511, 512, 513, 700]);
            let (from, prefix) = (rng.below(300), *rng.pick(&["", "", "m"]));
            Filling::Args((from..from + count).map(|n| format!("{prefix}{n}").into_bytes()).collect())
        }
        "member_count" => Filling::one_of(rng, COUNTS),
        "sscan_option" => Filling::one_of(rng, SSCAN_OPTIONS),
        "counted_keys" => Filling::one_of(rng, COUNTED_KEYS),
        "limit" => Filling::one_of(rng, LIMIT_OPTIONS),
        "member_pattern" => {
            let patterns = ["*", "m*", "?", "[a-c]", "1*", "*0", "[^m]*", "", "**", "["];
            Filling::Args(vec![rng.pick(&patterns).as_bytes().to_vec()])
        }
        _ => return None,
    })
}

const COUNTS: &[(u32, &str)] = &[
    (5, "{small}"),
    (3, "-3"),
    (3, "-1"),
    (3, "1000"),
    (2, "100"),
    (1, "0"),
    (1, "abc"),
    (1, "-9223372036854775808"),
    (1, "9223372036854775807"),
];

const SSCAN_OPTIONS: &[(u32, &str)] = &[
    (8, "COUNT {small}"),
    (5, "COUNT 100"),
    (8, "MATCH {member_pattern}"),
    (1, "{word}"),
    (1, "COUNT {number}"),
    (1, "MATCH"),
    (1, "TYPE set"),
];

const COUNTED_KEYS: &[(u32, &str)] = &[
    (5, "1 {key}"),
    (10, "2 {key} {key}"),
    (10, "3 {key} {key} {key}"),
    (1, "2 {key}"),
    (1, "1 {key} {key}"),
    (1, "{number} {key}"),
];

const LIMIT_OPTIONS: &[(u32, &str)] = &[
    (10, "LIMIT {small}"),
    (5, "LIMIT 100"),
    (1, "LIMIT {number}"),
    (1, "limit 1"),
    (1, "LIMIT"),
    (1, "{word}"),
];

const MEMBERS: &[&[u8]] =
    &[b"a", b"b", b"c", b"m1", b"m2", b"", b"\x00\xff", b"1", b"2", b"3", b"-7", b"0", b"250"];

fn member(rng: &mut Rng) -> Vec<u8> {
    match rng.below(30) {
        0 => text(rng),
        1 => value(rng),
        2 => rng.pick(JUNK).to_vec(),
        3 => integer(rng),
        _ => rng.pick(MEMBERS).to_vec(),
    }
}

fn integer(rng: &mut Rng) -> Vec<u8> {
    match rng.below(30) {
        0 => rng.pick(LIMITS).as_bytes().to_vec(),
        _ => rng.between(-5, 20).to_string().into_bytes(),
    }
}
