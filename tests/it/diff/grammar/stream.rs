//! Streams. Ids are given, since those that are made differ; and so does what tells of times.
//!
//! Left out is what Redis answers otherwise from 7.2 on (the lag of groups, consumers that found nothing), and `~` where it depends on
//! how Redis has filled its nodes.

use super::values::JUNK;
use super::{Family, Filling};
use crate::rng::Rng;

pub const STREAM: Family = Family {
    name: "stream",
    templates: &[
        (30, "XADD {key} {xadd_option*} {xid_new} f {xvalue}"),
        (6, "XADD {key} {xid_new} f {xvalue} {xvalue} {xvalue}"),
        (2, "XADD {key} {xid_new} {xvalue*}"),
        (6, "XLEN {key}"),
        (12, "XRANGE {key} {xid_from} {xid_to} {xcount*}"),
        (8, "XREVRANGE {key} {xid_to} {xid_from} {xcount*}"),
        (4, "XRANGE {key} - +"),
        (8, "XDEL {key} {xid} {xid*}"),
        (6, "XTRIM {key} {xtrim} {xtrim_more*}"),
        (8, "XREAD {xread_option*} STREAMS {key} {xid_last}"),
        (5, "XREAD {xread_option*} STREAMS {key} {key} {xid_last} {xid_last}"),
        (1, "XSETID {key} {xid_high} {xsetid_option*}"),
        (10, "XGROUP CREATE {key} {xgroup} {xid_last} {xgroup_option*}"),
        (3, "XGROUP SETID {key} {xgroup} {xid_last}"),
        (2, "XGROUP DESTROY {key} {xgroup}"),
        (3, "XGROUP CREATECONSUMER {key} {xgroup} idle"),
        (3, "XGROUP DELCONSUMER {key} {xgroup} {xconsumer}"),
        (30, "XREADGROUP GROUP {xgroup} {xconsumer} {xread_option*} STREAMS {key} >"),
        (10, "XREADGROUP GROUP {xgroup} {xconsumer} {xread_option*} STREAMS {key} {xid}"),
        (4, "XREADGROUP GROUP {xgroup} {xconsumer} NOACK STREAMS {key} >"),
        (4, "XREADGROUP GROUP {xgroup} {xconsumer} STREAMS {key} {key} > 0"),
        (14, "XACK {key} {xgroup} {xid} {xid*}"),
        (8, "XPENDING {key} {xgroup}"),
        (2, "XPENDING {key} {xgroup} IDLE 9999999 {xid_from} {xid_to} {small} {xconsumer}"),
        (10, "XCLAIM {key} {xgroup} {xconsumer} {xidle} {xid} {xid*} {xclaim_option*}"),
        (10, "XAUTOCLAIM {key} {xgroup} {xconsumer} {xidle} {xid_from} {xautoclaim_option*}"),
        (3, "TYPE {key}"),
        (2, "OBJECT ENCODING {key}"),
        (2, "DEL {key}"),
        (4, "RENAME {key} {key}"),
        (6, "COPY {key} {key} {copy_option*}"),
        (2, "MOVE {key} {db}"),
        (2, "SELECT {db}"),
        (2, "EXPIRE {key} {ttl_s}"),
        (2, "PERSIST {key}"),
        (2, "TTL {key}"),
        (1, "SET {key} {value}"),
        (1, "GET {key}"),
        (1, "RPUSH {key} a"),
        (1, "!short"),
        (2, "!count"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    let word = |word: String| Filling::Args(vec![word.into_bytes()]);
    Some(match hole {
        "xid_new" => word(match rng.below(12) {
            0 => id(rng),
            1 => format!("{}", ms(rng)),
            2 => rng.pick(&["0-0", "0-1", "-", "+", "$", "1-1-1", "x", "01-02"]).to_string(),
            3 => format!("{}-{}", ms(rng), rng.below(40)),
            _ => format!("{}-*", ms(rng)),
        }),
        "xid" => word(match rng.below(20) {
            0 => format!("{}", ms(rng)),
            1 => return Some(Filling::Args(vec![rng.pick(JUNK).to_vec()])),
            _ => id(rng),
        }),
        "xid_from" => word(bound(rng, "-")),
        "xid_to" => word(bound(rng, "+")),
        "xid_last" => word(match rng.below(8) {
            0..=2 => "0".to_owned(),
            3 => "$".to_owned(),
            _ => id(rng),
        }),
        "xid_high" => word(format!("{}-0", 900 + rng.below(3))),
        "xvalue" => word(rng.pick(&["v", "1", "", "\r\n", "value"]).to_string()),
        "xcount" => Filling::one_of(rng, &[(10, "COUNT {small}"), (2, "COUNT {number}"), (1, "COUNT")]),
        "xgroup" => word(rng.pick(&["g", "g", "g", "h"]).to_string()),
        "xconsumer" => word(rng.pick(&["c", "d", "e"]).to_string()),
        "xidle" => word(rng.weighted::<&str>(&[(10, "0"), (3, "9999999"), (1, "-1"), (1, "x")]).to_string()),
        "xadd_option" => Filling::one_of(
            rng,
            &[
                (6, "MAXLEN {small}"),
                (6, "MAXLEN = 30"),
                (2, "MAXLEN ~ 5000"),
                (4, "MINID {xid}"),
                (4, "NOMKSTREAM"),
                (1, "LIMIT {small}"),
                (1, "MAXLEN {number}"),
                (1, "{word}"),
            ],
        ),
        "xtrim" => Filling::one_of(
            rng,
            &[
                (10, "MAXLEN {small}"),
                (6, "MINID {xid}"),
                (4, "MINID = {xid}"),
                (2, "MAXLEN ~ 0"),
                (2, "MINID ~ 99999"),
                (2, "MAXLEN ~ 5000"),
                (1, "{word} {small}"),
            ],
        ),
        "xtrim_more" => {
            Filling::one_of(rng, &[(2, "LIMIT 0"), (1, "LIMIT {number}"), (1, "MAXLEN 1"), (1, "{word}")])
        }
        "xread_option" => Filling::one_of(rng, &[(10, "COUNT {small}"), (1, "COUNT x"), (1, "{word}")]),
        "xsetid_option" => {
            Filling::one_of(rng, &[(4, "ENTRIESADDED 100000"), (1, "{word}"), (1, "ENTRIESADDED -1")])
        }
        "xgroup_option" => Filling::one_of(
            rng,
            &[(10, "MKSTREAM"), (3, "ENTRIESREAD {small}"), (1, "ENTRIESREAD x"), (1, "{word}")],
        ),
        "xclaim_option" => Filling::one_of(
            rng,
            &[
                (8, "JUSTID"),
                (8, "FORCE"),
                (3, "RETRYCOUNT {small}"),
                (3, "IDLE {small}"),
                (2, "LASTID {xid}"),
                (1, "{word}"),
                (1, "TIME x"),
            ],
        ),
        "xautoclaim_option" => {
            Filling::one_of(rng, &[(8, "JUSTID"), (8, "COUNT {small}"), (1, "COUNT x"), (1, "{word}")])
        }
        _ => return None,
    })
}

/// Small ones mostly, so that streams grow for long.
fn ms(rng: &mut Rng) -> u64 {
    *rng.weighted::<u64>(&[(60, 1), (12, 2), (8, 3), (4, 5), (2, 20), (1, 100)])
}

fn id(rng: &mut Rng) -> String {
    format!("{}-{}", ms(rng), rng.below(30))
}

/// An end of a range.
fn bound(rng: &mut Rng, open: &str) -> String {
    match rng.below(10) {
        0..=3 => open.to_owned(),
        4..=5 => format!("({}", id(rng)),
        6 => format!("{}", ms(rng)),
        7 => rng.pick(&["(", "x", "(-", "(0-0", "18446744073709551615-18446744073709551615"]).to_string(),
        _ => id(rng),
    }
}
