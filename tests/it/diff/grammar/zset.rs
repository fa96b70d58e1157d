//! Sorted sets, and the sets that they are combined with. Ranges of names are asked of keys whose members have the same score: of others redis-server answers with
//! what the random levels of its skiplist make of them, once it has one.

use super::values::{JUNK, LIMITS, float, key, number, text};
use super::{Family, Filling};
use crate::rng::Rng;

pub const ZSET: Family = Family {
    name: "zset",
    templates: &[
        (30, "ZADD {key} {score} {zmember}"),
        (20, "ZADD {key} {zadd_option*} {score} {zmember} {scored*}"),
        (3, "ZADD {key} {zadd_option*} {many_scored}"),
        (10, "ZADD {lex_key} 0 {zmember} 0 {zmember}"),
        (8, "ZINCRBY {key} {score} {zmember}"),
        (8, "ZSCORE {key} {zmember}"),
        (4, "ZMSCORE {key} {zmember} {zmember*}"),
        (4, "ZCARD {key}"),
        (10, "ZREM {key} {zmember} {zmember*}"),
        (6, "ZRANK {key} {zmember}"),
        (6, "ZREVRANK {key} {zmember}"),
        (8, "ZCOUNT {key} {zbound} {zbound}"),
        (6, "ZLEXCOUNT {lex_key} {lex_bound} {lex_bound}"),
        (14, "ZRANGE {key} {zindex} {zindex} {range_option*}"),
        (12, "ZRANGE {key} {zbound} {zbound} BYSCORE {range_option*}"),
        (8, "ZRANGE {lex_key} {lex_bound} {lex_bound} BYLEX {lex_option*}"),
        (6, "ZREVRANGE {key} {zindex} {zindex} {score_option*}"),
        (8, "ZRANGEBYSCORE {key} {zbound} {zbound} {score_option*}"),
        (8, "ZREVRANGEBYSCORE {key} {zbound} {zbound} {score_option*}"),
        (6, "ZRANGEBYLEX {lex_key} {lex_bound} {lex_bound} {lex_option*}"),
        (6, "ZREVRANGEBYLEX {lex_key} {lex_bound} {lex_bound} {lex_option*}"),
        (5, "ZRANGESTORE {key} {key} {zindex} {zindex} {range_option*}"),
        (5, "ZRANGESTORE {key} {key} {zbound} {zbound} BYSCORE {range_option*}"),
        (3, "ZRANGESTORE {lex_key} {lex_key} {lex_bound} {lex_bound} BYLEX {lex_option*}"),
        (4, "ZREMRANGEBYRANK {key} {zindex} {zindex}"),
        (4, "ZREMRANGEBYSCORE {key} {zbound} {zbound}"),
        (4, "ZREMRANGEBYLEX {lex_key} {lex_bound} {lex_bound}"),
        (4, "ZPOPMIN {key}"),
        (4, "ZPOPMAX {key}"),
        (4, "ZPOPMIN {key} {zcount}"),
        (4, "ZPOPMAX {key} {zcount}"),
        (6, "ZMPOP {zkeys} {zend} {mpop_option*}"),
        (3, "!pick ZRANDMEMBER {key}"),
        (4, "!pick ZRANDMEMBER {key} {pick_count}"),
        (4, "!pick ZRANDMEMBER {key} {pick_count} WITHSCORES"),
        (6, "!walk ZSCAN {key} {zscan_option*}"),
        (1, "ZSCAN {key} {bad_cursor} {zscan_option*}"),
        (10, "ZUNION {zkeys} {algebra_option*}"),
        (10, "ZINTER {zkeys} {algebra_option*}"),
        (6, "ZDIFF {zkeys} {diff_option*}"),
        (6, "ZINTERCARD {zkeys} {card_option*}"),
        (8, "ZUNIONSTORE {key} {zkeys} {algebra_option*}"),
        (8, "ZINTERSTORE {key} {zkeys} {algebra_option*}"),
        (5, "ZDIFFSTORE {key} {zkeys} {diff_option*}"),
        (8, "SADD {key} {zmember} {zmember*}"),
        (2, "SREM {key} {zmember}"),
        (2, "SMEMBERS {key}"),
        (3, "RENAME {key} {key}"),
        (3, "COPY {key} {key} {copy_option*}"),
        (3, "OBJECT ENCODING {key}"),
        (3, "DEL {key}"),
        (2, "SET {key} {value}"),
        (2, "EXPIRE {key} {ttl_s}"),
        (2, "PTTL {key}"),
        (1, "MOVE {key} {db}"),
    ],
    holes,
};

const MEMBERS: &[&[u8]] = &[
    b"a", b"b", b"c", b"d", b"e", b"aa", b"ab", b"", b"\x00", b"\xff", b"1", b"10", b"a\x00", b"m:1", b"m:2",
];

fn member(rng: &mut Rng) -> Vec<u8> {
    match rng.below(40) {
        0 => vec![b'x'; 63 + rng.below(4)],
        1..=3 => text(rng),
        _ => rng.pick(MEMBERS).to_vec(),
    }
}

const SCORES: &[&str] = &[
    "0",
    "-0",
    "0.0",
    "1",
    "1",
    "2",
    "2.5",
    "-1",
    "1e3",
    "inf",
    "-inf",
    "+inf",
    "Infinity",
    "0x10",
    "1e17",
    "1e-7",
    "0.1",
    "0.2",
    "0.30000000000000004",
    "9007199254740993",
    "1e400",
    "4.9e-324",
];

fn score(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0..=5 => rng.pick(SCORES).as_bytes().to_vec(),
        6 => float(rng),
        7 => number(rng),
        _ => rng.between(-5, 10).to_string().into_bytes(),
    }
}

fn bound(rng: &mut Rng) -> Vec<u8> {
    let number = match rng.below(10) {
        0 | 1 => rng.pick(&["-inf", "+inf", "inf"]).as_bytes().to_vec(),
        _ => score(rng),
    };
    if rng.percent(25) { [b"(".to_vec(), number].concat() } else { number }
}

fn lex_bound(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0..=4 => b"-".to_vec(),
        5..=9 => b"+".to_vec(),
        10 => member(rng),
        n if n % 2 == 0 => [b"[".to_vec(), member(rng)].concat(),
        _ => [b"(".to_vec(), member(rng)].concat(),
    }
}

fn index(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0 => rng.pick(LIMITS).as_bytes().to_vec(),
        1 => rng.pick(JUNK).to_vec(),
        2 => rng.between(-200, 200).to_string().into_bytes(),
        3..=6 => b"0".to_vec(),
        7..=10 => b"-1".to_vec(),
        _ => rng.between(-8, 8).to_string().into_bytes(),
    }
}

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    let one = match hole {
        "score" => score(rng),
        "zmember" => member(rng),
        "zbound" => bound(rng),
        "zindex" => index(rng),
        "zcount" => match rng.below(10) {
            0 => rng.pick(JUNK).to_vec(),
            _ => rng.between(-1, 6).to_string().into_bytes(),
        },
        "lex_key" => rng.pick(&["lex:1", "lex:2", "lex:3"]).as_bytes().to_vec(),
        "lex_bound" => lex_bound(rng),
        "zend" => rng.weighted(&[(10, "MIN"), (10, "MAX"), (1, "min"), (1, "FOO")]).as_bytes().to_vec(),
        // About as many as make redis-server leave its compact form.
        "many_scored" => {
            let pairs = (0..120 + rng.below(20)).flat_map(|n| {
                let score = if rng.percent(5) { "-0".to_owned() } else { (n % 7).to_string() };
                [score, format!("m:{n}")]
            });
            return Some(Filling::Args(pairs.map(String::into_bytes).collect()));
        }
        "zkeys" => {
            let count = 1 + rng.below(4);
            let word = if rng.percent(3) { number(rng) } else { count.to_string().into_bytes() };
            let keys = (0..count).map(|_| key(rng));
            return Some(Filling::Args(std::iter::once(word).chain(keys).collect()));
        }
        "scored" => return Some(Filling::Template("{score} {zmember}")),
        _ => {
            let (_, templates) = OPTIONS.iter().find(|(name, _)| *name == hole)?;
            return Some(Filling::one_of(rng, templates));
        }
    };
    Some(Filling::Args(vec![one]))
}

type Weighted = &'static [(u32, &'static str)];

const OPTIONS: &[(&str, Weighted)] = &[
    (
        "zadd_option",
        &[(5, "NX"), (5, "XX"), (5, "GT"), (5, "LT"), (8, "CH"), (5, "INCR"), (1, "ch"), (1, "{word}")],
    ),
    (
        "range_option",
        &[(10, "WITHSCORES"), (10, "REV"), (8, "LIMIT {zindex} {zindex}"), (1, "BYSCORE"), (1, "{word}")],
    ),
    ("score_option", &[(10, "WITHSCORES"), (10, "LIMIT {zindex} {zindex}"), (1, "REV"), (1, "LIMIT 1")]),
    ("lex_option", &[(10, "LIMIT {zindex} {zindex}"), (8, "REV"), (1, "WITHSCORES"), (1, "{word}")]),
    ("mpop_option", &[(10, "COUNT {zcount}"), (1, "COUNT"), (1, "{word}")]),
    (
        "algebra_option",
        &[
            (10, "WITHSCORES"),
            (8, "WEIGHTS {score}"),
            (8, "WEIGHTS {score} {score}"),
            (6, "WEIGHTS {score} {score} {score}"),
            (5, "AGGREGATE SUM"),
            (8, "AGGREGATE MIN"),
            (8, "AGGREGATE MAX"),
            (1, "AGGREGATE {odd_word}"),
            (1, "{word}"),
        ],
    ),
    ("diff_option", &[(10, "WITHSCORES"), (1, "AGGREGATE MAX"), (1, "{word}")]),
    ("card_option", &[(10, "LIMIT {zcount}"), (1, "WITHSCORES"), (1, "LIMIT")]),
    (
        "zscan_option",
        &[
            (8, "COUNT {small}"),
            (5, "COUNT 100"),
            (8, "MATCH {pattern}"),
            (1, "{word}"),
            (1, "COUNT {number}"),
        ],
    ),
];
