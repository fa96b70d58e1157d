//! HyperLogLogs, compared byte by byte. `HYLL:bad` has too many registers; one element at a time is added to it, since Redis
//! keeps what it added before it met the fault.

use super::{Args, Family, Filling, Rng};

pub const HYPERLOGLOG: Family = Family {
    name: "hyperloglog",
    templates: &[
        (20, "PFADD {hll} {hll_element*}"),
        (20, "PFADD {hll} {hll_elements}"),
        (12, "PFCOUNT {hll}"),
        (8, "PFCOUNT {hll} {hll} {hll*}"),
        (12, "PFMERGE {hll} {hll*}"),
        (20, "GET {hll}"),
        (4, "STRLEN {hll}"),
        (3, "PFDEBUG {pfdebug} {hll}"),
        (1, "PFDEBUG GETREG {hll}"),
        (4, "SET {hll} {hll_value}"),
        (1, "PFADD {key} {value}"),
        (1, "PFCOUNT {key} {key*}"),
        (1, "PFMERGE {key} {key*}"),
        (1, "SET {hll} {value}"),
        (1, "SET HYLL:bad {bad_hll_value}"),
        (2, "PFADD HYLL:bad {hll_element}"),
        (2, "PFCOUNT HYLL:bad"),
        (1, "PFCOUNT HYLL:bad {hll}"),
        (1, "PFMERGE {hll} HYLL:bad"),
        (1, "PFMERGE HYLL:bad {hll}"),
        (4, "DEL {hll}"),
        (1, "EXPIRE {hll} {ttl_s}"),
        (1, "COPY {hll} {hll}"),
    ],
    holes,
};

fn holes(rng: &mut Rng, hole: &str) -> Option<Filling> {
    let one = |word: Vec<u8>| Filling::Args(vec![word]);
    Some(match hole {
        "hll" => one(rng.pick(&["hll:1", "hll:2", "hll:3", "hll:4", "hll:5"]).as_bytes().to_vec()),
        "hll_element" => one(element(rng)),
        "hll_elements" => Filling::Args(elements(rng)),
        "hll_value" => one(value(rng, 0)),
        "bad_hll_value" => {
            let excess = rng.between(1, 40);
            one(value(rng, excess))
        }
        "pfdebug" => Filling::one_of(
            rng,
            &[(10, "DECODE"), (6, "ENCODING"), (2, "TODENSE"), (1, "todense"), (1, "{word}")],
        ),
        _ => return None,
    })
}

fn element(rng: &mut Rng) -> Vec<u8> {
    match rng.below(4) {
        0 => (0..rng.below(30)).map(|_| rng.next() as u8).collect(),
        1 => rng.below(100).to_string().into_bytes(),
        _ => rng.next().to_string().into_bytes(),
    }
}

/// Some, or so many that a value leaves its sparse form.
fn elements(rng: &mut Rng) -> Args {
    let most = *rng.pick(&[20, 200, 200, 1_000, 4_000]);
    (0..=rng.below(most)).map(|_| element(rng)).collect()
}

/// Runs of as many registers as a HyperLogLog has, and some more.
fn value(rng: &mut Rng, excess: i64) -> Vec<u8> {
    let mut value = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80".to_vec();
    let mut left = 16_384 + excess;
    while left > 0 {
        let most = *rng.pick(&[4, 64, 4_000, 16_384]);
        let registers = rng.between(1, most).min(left);
        left -= registers;
        let number = registers - 1;
        if registers <= 4 {
            value.push(0x80 | (rng.below(32) as u8) << 2 | number as u8);
        } else if registers <= 64 {
            value.push(number as u8);
        } else {
            value.extend([0x40 | (number >> 8) as u8, number as u8]);
        }
    }
    value
}
