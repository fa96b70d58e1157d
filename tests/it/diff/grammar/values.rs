//! What the holes of any family are filled with.

use crate::rng::Rng;

pub const KEY_NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"d",
    b"e",
    b"f",
    b"g",
    b"key:1",
    b"key:2",
    b"{t}x",
    b"{t}y",
    b"{u}x",
    b"",
    b"\x00\xff\r\n",
    b"*[a]",
];

pub fn key(rng: &mut Rng) -> Vec<u8> {
    match rng.below(100) {
        0 => b"long".repeat(1 + rng.below(300)),
        _ => rng.pick(KEY_NAMES).to_vec(),
    }
}

/// Not numbers, at least not to everybody.
pub const JUNK: &[&[u8]] = &[
    b"",
    b"abc",
    b"1.5",
    b" 1",
    b"1 ",
    b"+1",
    b"01",
    b"-0",
    b"1e3",
    b"9223372036854775808",
    b"\xff",
    b"0x10",
    b"nan",
];

pub const LIMITS: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775806",
    "-9223372036854775807",
    "9223372036854775",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "536870911",
    "536870912",
    "18446744073709551615",
];

pub const WORDS: &[&str] = &[
    "NX", "XX", "GET", "EX", "PX", "KEEPTTL", "PERSIST", "REPLACE", "DB", "MATCH", "COUNT", "TYPE", "GT",
    "LT", "BIT", "BYTE", "LEN", "IDX", "FOO", "foo", "HELP1", "default", "INFOX", "NXX", "E", "\u{e4}",
    "a b", "x", "0", "1", "-1", "LIMIT", "ASYNC", "normal", "master", "yes", "no",
];

pub fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0 => Vec::new(),
        1..=4 => number(rng),
        5 => rng.pick(JUNK).to_vec(),
        6 => (0..rng.below(40)).map(|_| rng.next() as u8).collect(),
        7 => float(rng),
        8 => {
            let border = *rng.pick(&[44, 64, 255, 1024, 4096, 8192]);
            sized(rng, border)
        }
        9 if rng.percent(20) => {
            // Two of them are as long as a key and a member may be here.
            let border = *rng.pick(&[16_384, 32_768]);
            sized(rng, border)
        }
        _ => text(rng),
    }
}

/// About as long as a border, with contents that show a piece out of place.
pub fn sized(rng: &mut Rng, border: usize) -> Vec<u8> {
    let len = border + rng.below(5) - 2;
    let start = rng.below(251);
    (0..len).map(|i| ((i + start) % 251) as u8).collect()
}

pub fn text(rng: &mut Rng) -> Vec<u8> {
    (0..rng.below(12)).map(|_| *rng.pick(b"abcdefgh 0123\"'\\")).collect()
}

pub fn number(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0 => rng.pick(LIMITS).as_bytes().to_vec(),
        1 => rng.pick(JUNK).to_vec(),
        2 => (rng.next() as i64).to_string().into_bytes(),
        _ => rng.between(-100, 1000).to_string().into_bytes(),
    }
}

pub fn float(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0 => rng
            .pick(&[
                "inf", "-inf", "nan", "1e400", "1e-400", "1e18", "0x10", ".5", "5.", "-0.0", "1e17", "3.0e3",
            ])
            .as_bytes()
            .to_vec(),
        1 => number(rng),
        2 => rng.pick(JUNK).to_vec(),
        3 => format!("{}e{}", rng.between(-999, 999), rng.between(-20, 20)).into_bytes(),
        _ => format!("{}.{}", rng.between(-1000, 1000), rng.below(100_000)).into_bytes(),
    }
}

/// A place in a string, counted from either end.
pub fn index(rng: &mut Rng) -> Vec<u8> {
    match rng.below(12) {
        0 => rng.pick(LIMITS).as_bytes().to_vec(),
        1 if rng.percent(30) => rng.pick(JUNK).to_vec(),
        2 => (rng.pick(&[4096_i64, 8192, 65536, -4096, -8192, -65536]) + rng.between(-2, 2))
            .to_string()
            .into_bytes(),
        3 => rng.between(-70_000, 70_000).to_string().into_bytes(),
        _ => rng.between(-20, 40).to_string().into_bytes(),
    }
}

/// A place to write at: far ones only where they are refused, or every script would hold half a gigabyte.
pub fn offset(rng: &mut Rng, far: i64, refused: &[&str]) -> Vec<u8> {
    match rng.below(12) {
        0 => rng.pick(refused).as_bytes().to_vec(),
        1 if rng.percent(30) => rng.pick(JUNK).to_vec(),
        2 => (rng.pick(&[4096_i64, 8192, 65536]) + rng.between(-2, 2)).to_string().into_bytes(),
        3 => rng.between(0, far).to_string().into_bytes(),
        _ => rng.between(0, 60).to_string().into_bytes(),
    }
}

/// A time to live, in `unit`s per second. Long ones are spread so widely that two never come close to each other: which is
/// later must not depend on how fast a script was played.
pub fn ttl(rng: &mut Rng, unit: i64) -> Vec<u8> {
    match rng.below(20) {
        0 => b"0".to_vec(),
        1 => b"-1".to_vec(),
        2 => rng.pick(LIMITS).as_bytes().to_vec(),
        3 if rng.percent(50) => rng.pick(JUNK).to_vec(),
        _ => (rng.between(100_000, 1_000_000_000) * unit).to_string().into_bytes(),
    }
}

pub fn at(rng: &mut Rng, unit: i64) -> Vec<u8> {
    match rng.below(20) {
        0 => b"0".to_vec(),
        1 => b"-1".to_vec(),
        2 => b"1".to_vec(),
        3 => rng
            .pick(&["9223372036854775807", "9223372036854775", "9223372036854776", "18446744073709551615"])
            .as_bytes()
            .to_vec(),
        4 if rng.percent(50) => rng.pick(JUNK).to_vec(),
        _ => {
            let past_the_point = if unit == 1 { 0 } else { rng.between(0, 999) };
            (rng.between(3_000_000_000, 30_000_000_000) * unit + past_the_point).to_string().into_bytes()
        }
    }
}

pub fn field_type(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0 => rng.pick(&["u64", "i65", "u0", "i0", "x8", "8", "u", "", "u8x", "u-1"]).as_bytes().to_vec(),
        1..=5 => rng.pick(&["u8", "i8", "u16", "i16", "i64", "u63", "u1", "i1"]).as_bytes().to_vec(),
        n if n % 2 == 0 => format!("u{}", rng.between(1, 63)).into_bytes(),
        _ => format!("i{}", rng.between(1, 64)).into_bytes(),
    }
}

pub fn field_offset(rng: &mut Rng) -> Vec<u8> {
    let refused = ["-1", "4294967296", "9223372036854775807", "#9223372036854775807", "#-1", "#a", "#"];
    if rng.percent(40) {
        format!("#{}", rng.between(0, 20)).into_bytes()
    } else {
        offset(rng, 80_000, &refused)
    }
}

pub const KNOWN_COMMANDS: &[&str] = &[
    "GET k",
    "SET k v",
    "SET k v GET",
    "MSET a 1 b 2",
    "MGET a b c",
    "DEL a b",
    "BITOP AND d a b",
    "RENAME a b",
    "COPY a b",
    "LCS a b",
    "OBJECT ENCODING k",
    "PING",
    "NOSUCH x",
    "GET",
    "MSET a 1 b",
    "EXISTS a b",
    "BITFIELD k GET u8 0",
    "BITFIELD k SET u8 0 1",
    "SCAN 0",
    "EXPIRE k 1",
    "GETEX k",
    "SETEX k 1 v",
    "BITCOUNT k",
    "SETBIT k 1 1",
    "MOVE k 1",
    "TOUCH a b",
    "UNLINK a",
    "STRLEN k",
];
