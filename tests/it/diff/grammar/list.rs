//! Lists.

use super::values::{JUNK, value};
use super::{Family, Filling};
use crate::rng::Rng;

pub const LIST: Family = Family {
    name: "list",
    templates: &[
        (14, "LPUSH {key} {element} {element*}"),
        (14, "RPUSH {key} {element} {element*}"),
        (3, "RPUSH {key} {many_elements}"),
        (4, "LPUSHX {key} {element} {element*}"),
        (4, "RPUSHX {key} {element} {element*}"),
        (8, "LPOP {key}"),
        (8, "RPOP {key}"),
        (5, "LPOP {key} {list_count}"),
        (5, "RPOP {key} {list_count}"),
        (6, "LLEN {key}"),
        (8, "LINDEX {key} {place}"),
        (14, "LRANGE {key} {place} {place}"),
        (6, "LRANGE {key} 0 -1"),
        (8, "LSET {key} {place} {element}"),
        (12, "LINSERT {key} {side} {element} {element}"),
        (12, "LREM {key} {place} {element}"),
        (8, "LTRIM {key} {place} {place}"),
        (5, "LPOS {key} {element}"),
        (10, "LPOS {key} {element} {lpos_option} {lpos_option*}"),
        (10, "LMOVE {key} {key} {end} {end}"),
        (4, "LMOVE a a {end} {end}"),
        (5, "RPOPLPUSH {key} {key}"),
        (8, "LMPOP {keys_counted} {end}"),
        (6, "LMPOP {keys_counted} {end} COUNT {list_count}"),
        (2, "LMPOP {small} {key} {key*} {end} {word*}"),
        (3, "OBJECT ENCODING {key}"),
        (2, "TYPE {key}"),
        (2, "DEL {key}"),
        (4, "RENAME {key} {key}"),
        (5, "COPY {key} {key} {copy_option*}"),
        (2, "MOVE {key} {db}"),
        (2, "SELECT {db}"),
        (3, "EXPIRE {key} {ttl_s}"),
        (2, "PERSIST {key}"),
        (2, "TTL {key}"),
        (2, "SET {key} {value}"),
        (1, "GET {key}"),
        (1, "HSET {key} {field} {value}"),
        (1, "!short"),
        (2, "!count"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    let word = |word: &str| Filling::Args(vec![word.as_bytes().to_vec()]);
    Some(match hole {
        "element" => Filling::Args(vec![element(rng)]),
        // Up to more than one step of reading, and more than an I/O thread takes.
        "many_elements" => {
            let count = *rng.pick(&[15, 16, 17, 80, 300, 999, 1_000, 1_001, 1_300]);
            let distinct = 1 + rng.below(count);
            Filling::Args((0..count).map(|n| (n % distinct).to_string().into_bytes()).collect())
        }
        "place" => Filling::Args(vec![place(rng)]),
        "list_count" => Filling::Args(vec![match rng.below(12) {
            0 => rng.pick(JUNK).to_vec(),
            1 => b"9223372036854775807".to_vec(),
            2 => rng.between(-2, 1_200).to_string().into_bytes(),
            _ => rng.between(0, 6).to_string().into_bytes(),
        }]),
        "side" => word(rng.weighted::<&str>(&[(10, "BEFORE"), (10, "AFTER"), (1, "after"), (1, "NEAR")])),
        "end" => word(rng.weighted::<&str>(&[(10, "LEFT"), (10, "RIGHT"), (1, "left"), (1, "UP")])),
        "keys_counted" => {
            Filling::Template(rng.pick::<&str>(&["1 {key}", "2 {key} {key}", "3 {key} {key} {key}"]))
        }
        "lpos_option" => Filling::Template(rng.weighted::<&str>(&[
            (8, "RANK {rank}"),
            (8, "COUNT {list_count}"),
            (6, "MAXLEN {list_count}"),
            (1, "{word}"),
            (1, "RANK"),
        ])),
        // Not the least integer: Redis overflows there.
        "rank" => Filling::Args(vec![match rng.below(10) {
            0 => rng.pick(JUNK).to_vec(),
            1 => b"-9223372036854775807".to_vec(),
            _ => rng.between(-4, 4).to_string().into_bytes(),
        }]),
        _ => return None,
    })
}

/// Few, so that some are found.
fn element(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0 => value(rng),
        1 => rng.pick(&[&b""[..], b"\x00", b"\xff\r\n", b"01", b"-1"]).to_vec(),
        2..=4 => rng.below(1_300).to_string().into_bytes(),
        _ => rng.pick(&[b"a", b"b", b"c", b"1", b"2"]).to_vec(),
    }
}

/// Near either end, mostly.
fn place(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0 => rng.pick(JUNK).to_vec(),
        1 => rng.pick(&["9223372036854775807", "-9223372036854775808"]).as_bytes().to_vec(),
        2..=4 => rng.between(-1_300, 1_300).to_string().into_bytes(),
        _ => rng.between(-6, 6).to_string().into_bytes(),
    }
}
