//! What is newer than 7.0, for the servers that have it: times of hash fields and what else came until Redis 8.0, and what only Valkey
//! has.

use super::{Family, Filling};
use crate::rng::Rng;

/// Compared with Redis 8.0.
pub const FIELDS: Family = Family {
    name: "fields",
    templates: &[
        (14, "HSET {key} {field} {value} {field_pair*}"),
        (1, "HSET {key} {many_fields}"),
        (8, "HEXPIRE {key} {ttl_s} {fields}"),
        (6, "HPEXPIRE {key} {ttl_ms} {fields}"),
        (6, "HEXPIREAT {key} {at_s} {fields}"),
        (6, "HPEXPIREAT {key} {at_ms} {fields}"),
        (10, "HEXPIRE {key} {ttl_s} {expire_flag*} {fields}"),
        (6, "HPEXPIREAT {key} {at_ms} {expire_flag*} {fields}"),
        (6, "HTTL {key} {fields}"),
        (6, "HPTTL {key} {fields}"),
        (6, "HEXPIRETIME {key} {fields}"),
        (6, "HPEXPIRETIME {key} {fields}"),
        (6, "HPERSIST {key} {fields}"),
        (12, "HGETEX {key} {hgetex_option*} {fields}"),
        (14, "HSETEX {key} {hsetex_option*} {fields_set}"),
        (8, "HGETDEL {key} {fields}"),
        (4, "HINCRBY {key} {field} {number}"),
        (3, "HSETNX {key} {field} {value}"),
        (6, "HDEL {key} {field} {field*}"),
        (5, "HGETALL {key}"),
        (3, "HLEN {key}"),
        (3, "HMGET {key} {field} {field*}"),
        (4, "!walk HSCAN {key} {hscan_option*}"),
        (4, "!walk HSCAN {key} NOVALUES {hscan_option*}"),
        (3, "COPY {key} {key} {copy_option*}"),
        (3, "RENAME {key} {key}"),
        (2, "!dumped {key} {key} 0 REPLACE"),
        (3, "OBJECT ENCODING {key}"),
        (2, "EXPIRE {key} {ttl_s}"),
        (2, "PTTL {key}"),
        (2, "DEL {key}"),
        (2, "SET {key} {value}"),
        (6, "ZADD {key} {score} {zmember} {scored*}"),
        (4, "ZRANK {key} {zmember} WITHSCORE"),
        (4, "ZREVRANK {key} {zmember} {rank_option*}"),
    ],
    holes,
};

/// Compared with Redis 8.0, which answers otherwise than 7.0.
pub const STREAM_8: Family = Family {
    name: "stream 8",
    templates: &[
        (20, "XADD {key} {xadd_option*} {xid_new} f {xvalue}"),
        (6, "XDEL {key} {xid} {xid*}"),
        (4, "XTRIM {key} {xtrim} {xtrim_more*}"),
        (6, "XREAD {xread_option*} STREAMS {key} +"),
        (3, "XREAD STREAMS {key} {key} + {xid_last}"),
        (2, "XSETID {key} {xid_high} {xsetid_option*}"),
        (8, "XGROUP CREATE {key} {xgroup} {xid_last} {xgroup_option*}"),
        (4, "XGROUP SETID {key} {xgroup} {xid_last} {xsetid_group*}"),
        (2, "XGROUP DESTROY {key} {xgroup}"),
        (3, "XGROUP CREATECONSUMER {key} {xgroup} {xconsumer}"),
        (3, "XGROUP DELCONSUMER {key} {xgroup} {xconsumer}"),
        (20, "XREADGROUP GROUP {xgroup} {xconsumer} {xread_option*} STREAMS {key} >"),
        (6, "XREADGROUP GROUP {xgroup} {xconsumer} {xread_option*} STREAMS {key} {xid}"),
        (4, "XREADGROUP GROUP {xgroup} {xconsumer} NOACK STREAMS {key} >"),
        (8, "XACK {key} {xgroup} {xid} {xid*}"),
        (12, "XINFO GROUPS {key}"),
        (8, "XPENDING {key} {xgroup}"),
        (6, "XCLAIM {key} {xgroup} {xconsumer} {xidle} {xid} {xid*} {xclaim_option*}"),
        (6, "XAUTOCLAIM {key} {xgroup} {xconsumer} {xidle} {xid_from} {xautoclaim_option*}"),
        (3, "COPY {key} {key} {copy_option*}"),
        (3, "!dumped {key} {key} 0 REPLACE"),
        (2, "DEL {key}"),
        (1, "SET {key} {value}"),
    ],
    holes,
};

/// Compared with Valkey 9.1.
pub const VALKEY: Family = Family {
    name: "valkey",
    templates: &[
        (8, "SET {key} {few}"),
        (12, "SET {key} {few} IFEQ {few}"),
        (10, "SET {key} {few} IFEQ {few} {set_option*}"),
        (4, "SET {key} {few} {set_option*} IFEQ {few}"),
        (8, "DELIFEQ {key} {few}"),
        (10, "MSETEX {msetex} {msetex_option*}"),
        (4, "MGET {key} {key*}"),
        (3, "PTTL {key}"),
        (6, "HSETEX {key} {hsetex_key} {hsetex_times} FIELDS 1 {field} {value}"),
        (3, "HSETEX {key} {hsetex_key} FIELDS 2 {field} {value} {field} {value}"),
        (4, "HGETALL {key}"),
        (4, "ZADD {key} {small} {zmember} {small} {zmember}"),
        (6, "!walk ZSCAN {key} NOSCORES {zscan_option*}"),
        (6, "BITCOUNT {key} {index}"),
        (10, "GEOADD {geo} {place} {place} {place*}"),
        (3, "GEOADD {geo} {places}"),
        (20, "GEOSEARCH {geo} BYPOLYGON {polygon} {geo_option*}"),
        (4, "GEOSEARCH {geo} {geo_option*} BYPOLYGON {polygon} {geo_option*}"),
        (3, "GEOSEARCH {geo} FROMLONLAT {lon} {lat} BYPOLYGON {polygon}"),
        (6, "GEOSEARCHSTORE {geo_target} {geo} BYPOLYGON {polygon} {geo_store_option*}"),
        (4, "ZRANGE {geo_target} 0 -1 WITHSCORES"),
        (2, "DEL {key}"),
        (1, "RPUSH {key} a"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    let words = |words: Vec<String>| Filling::Args(words.into_iter().map(String::into_bytes).collect());
    Some(match hole {
        "fields" => Filling::one_of(
            rng,
            &[
                (12, "FIELDS 1 {field}"),
                (8, "FIELDS 2 {field} {field}"),
                (4, "FIELDS 3 {field} {field} {field}"),
                (1, "FIELDS 2 {field}"),
                (1, "FIELDS 1 {field} {field}"),
                (1, "FIELDS {number} {field}"),
                (1, "FIELDS 0"),
                (1, "FIELDS 1"),
                (1, "fields 1 {field}"),
                (1, "{word} 1 {field}"),
            ],
        ),
        "fields_set" => Filling::one_of(
            rng,
            &[
                (12, "FIELDS 1 {field} {value}"),
                (8, "FIELDS 2 {field} {value} {field} {value}"),
                (4, "FIELDS 3 {field} {value} {field} {value} {field} {value}"),
                (1, "FIELDS 2 {field} {value}"),
                (1, "FIELDS 1 {field} {value} {field}"),
                (1, "FIELDS {number} {field} {value}"),
                (1, "FIELDS 1 {field}"),
                (1, "{odd_word} 1 {field} {value}"),
            ],
        ),
        "hgetex_option" => Filling::one_of(
            rng,
            &[
                (4, "PERSIST"),
                (4, "EX {ttl_s}"),
                (4, "PX {ttl_ms}"),
                (3, "EXAT {at_s}"),
                (3, "PXAT {at_ms}"),
                (1, "{word}"),
                (1, "PX"),
            ],
        ),
        "hsetex_option" => Filling::one_of(
            rng,
            &[
                (4, "FNX"),
                (4, "FXX"),
                (4, "KEEPTTL"),
                (4, "EX {ttl_s}"),
                (4, "PX {ttl_ms}"),
                (3, "EXAT {at_s}"),
                (3, "PXAT {at_ms}"),
                // Not a word of Valkey's.
                (1, "{odd_word}"),
                (1, "EX"),
            ],
        ),
        "hsetex_key" => Filling::one_of(rng, &[(5, "NX"), (5, "XX"), (1, "nx"), (1, "xx")]),
        "hsetex_times" => Filling::one_of(rng, &[(4, "EX 100000"), (4, "PX 100000000"), (3, "KEEPTTL")]),
        "rank_option" => Filling::one_of(rng, &[(10, "WITHSCORE"), (1, "withscore"), (1, "WITHSCORES")]),
        "xsetid_group" => Filling::one_of(
            rng,
            &[(8, "ENTRIESREAD {small}"), (2, "ENTRIESREAD -1"), (1, "ENTRIESREAD x"), (1, "{word}")],
        ),
        "few" => words(vec![(*rng.pick(&["a", "a", "b", "1", "10", "", "\u{e4}"])).to_owned()]),
        "msetex" => Filling::one_of(
            rng,
            &[
                (10, "1 {key} {few}"),
                (10, "2 {key} {few} {key} {few}"),
                (5, "3 {key} {few} {key} {few} {key} {few}"),
                (1, "2 {key} {few}"),
                (1, "1 {key}"),
                (1, "0 {key} {few}"),
                (1, "{number} {key} {few}"),
            ],
        ),
        "msetex_option" => Filling::one_of(
            rng,
            &[
                (5, "NX"),
                (5, "XX"),
                (4, "KEEPTTL"),
                (4, "EX {ttl_s}"),
                (4, "PX {ttl_ms}"),
                (3, "EXAT {at_s}"),
                (3, "PXAT {at_ms}"),
                (1, "{word}"),
            ],
        ),
        "polygon" => words(polygon(rng)),
        _ => return None,
    })
}

/// The number of its corners and where they are: three to eight around a place near those that were added.
fn polygon(rng: &mut Rng) -> Vec<String> {
    if rng.percent(6) {
        let odd: &[&str] =
            &["2 1 1 2 2", "3 1 1 2 2", "x 1 1 2 2 3 3", "3 1 1 2 2 3 x", "0", "", "-1", "3 181 0 1 1 2 2"];
        return rng.pick(odd).split(' ').map(str::to_owned).collect();
    }
    let share = |rng: &mut Rng| rng.between(-1_000_000, 1_000_000) as f64 / 1e6;
    let spread = *rng.pick(&[0.02, 0.1, 1.0, 20.0]);
    let (lon, lat) = (10.0 + share(rng) * spread, 10.0 + share(rng) * spread);
    let corners = 3 + rng.below(6);
    let mut words = vec![corners.to_string()];
    for _ in 0..corners {
        words.push(format!("{:.6}", lon + share(rng) * spread));
        words.push(format!("{:.6}", lat + share(rng) * spread));
    }
    words
}
