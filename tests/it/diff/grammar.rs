//! What scripts are made of: for each family weighted templates, and generators for what they leave open.
//!
//! A template is a command with `{holes}`; `{hole*}` is filled none to three times, and a hole may give several arguments (an
//! option with its value). Templates that begin with `!` are steps of their own kind. Keys are few, so that commands meet
//! each other's traces; values lean to the borders: empty, binary, the ends of the integer range, lengths around the
//! sizes at which storage changes its form.

use super::play::{Args, Script, Step};
use crate::rng::Rng;

pub struct Family {
    pub name: &'static str,
    templates: &'static [(u32, &'static str)],
}

pub const ALL: &[&Family] = &[&STRING, &BITS, &KEYS, &CONNECTION];

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
    ],
};

pub const CONNECTION: Family = Family {
    name: "connection",
    templates: &[
        (5, "PING"),
        (5, "PING {value}"),
        (5, "ECHO {value}"),
        (4, "SELECT {db}"),
        (3, "HELLO {hello_option*}"),
        (4, "HELLO {protocol} {hello_option*}"),
        (2, "RESET"),
        (3, "AUTH {word} {word*}"),
        (4, "CLIENT SETNAME {word}"),
        (4, "CLIENT GETNAME"),
        (2, "CLIENT NO-EVICT {on_off}"),
        (2, "CLIENT REPLY {word}"),
        (2, "CLIENT KILL ID {number}"),
        (1, "CLIENT KILL {word} {word}"),
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
};

/// So many of a hundred commands are made wrong in some way.
const DAMAGED_PERCENT: usize = 5;
/// Not these: what is still right of them may answer with what differs from server to server.
const KEPT_WHOLE: &[&[u8]] = &[b"SCAN", b"CLIENT", b"CONFIG", b"SLOWLOG", b"MEMORY", b"LATENCY", b"COMMAND"];

pub fn is_kept_whole(args: &Args) -> bool {
    KEPT_WHOLE.contains(&args[0].as_slice())
}

pub fn script(rng: &mut Rng, families: &[&Family], steps: usize) -> Script {
    let groups = (0..8).map(|_| if rng.percent(30) { 1 } else { 1 + rng.below(40) }).collect();
    let steps = (0..steps)
        .map(|_| {
            let family = *rng.pick(families);
            let template = *rng.weighted(family.templates);
            step(rng, template)
        })
        .collect();
    Script { steps, groups }
}

fn step(rng: &mut Rng, template: &str) -> Step {
    let mut args = Args::new();
    for word in template.split(' ') {
        match word.strip_prefix('{').and_then(|hole| hole.strip_suffix('}')) {
            None => args.push(word.as_bytes().to_vec()),
            Some(hole) => match hole.strip_suffix('*') {
                None => fill(rng, hole, &mut args),
                Some(hole) => (0..rng.below(4)).for_each(|_| fill(rng, hole, &mut args)),
            },
        }
    }
    match args[0].as_slice() {
        b"!scan" => Step::ScanAll(args.split_off(1)),
        b"!random" => Step::RandomKey,
        b"!count" => Step::Count,
        b"!short" => Step::Expiring(vec![
            b"SET".to_vec(),
            key(rng),
            value(rng),
            b"PX".to_vec(),
            vec![b'1' + rng.below(3) as u8],
        ]),
        _ => {
            if rng.percent(DAMAGED_PERCENT) && !is_kept_whole(&args) {
                damage(rng, &mut args);
            }
            Step::Command(args)
        }
    }
}

fn damage(rng: &mut Rng, args: &mut Args) {
    let at = rng.below(args.len());
    match rng.below(5) {
        0 => {
            args.pop();
            if args.is_empty() {
                args.push(b"NOSUCH".to_vec());
            }
        }
        1 => args.push(rng.pick(WORDS).as_bytes().to_vec()),
        2 => args[0] = args[0].to_ascii_lowercase(),
        3 if at > 0 => args[at] = rng.pick(JUNK).to_vec(),
        // A misspelt word; an emptied argument would be another key, which is fine too.
        _ if at > 0 => {
            args[at].pop();
        }
        _ => {}
    }
}

const KEY_NAMES: &[&[u8]] = &[
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

fn key(rng: &mut Rng) -> Vec<u8> {
    match rng.below(100) {
        0 => b"long".repeat(1 + rng.below(300)),
        _ => rng.pick(KEY_NAMES).to_vec(),
    }
}

/// Not numbers, at least not to everybody.
const JUNK: &[&[u8]] = &[
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

const LIMITS: &[&str] = &[
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

const WORDS: &[&str] = &[
    "NX", "XX", "GET", "EX", "PX", "KEEPTTL", "PERSIST", "REPLACE", "DB", "MATCH", "COUNT", "TYPE", "GT",
    "LT", "BIT", "BYTE", "LEN", "IDX", "FOO", "foo", "HELP1", "default", "INFOX", "NXX", "E", "\u{e4}",
    "a b", "x", "0", "1", "-1", "LIMIT", "ASYNC", "normal", "master", "yes", "no",
];

fn value(rng: &mut Rng) -> Vec<u8> {
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
            let border = *rng.pick(&[16384, 65536, 131_072]);
            sized(rng, border)
        }
        _ => text(rng),
    }
}

/// About as long as a border, with contents that show a piece out of place.
fn sized(rng: &mut Rng, border: usize) -> Vec<u8> {
    let len = border + rng.below(5) - 2;
    let start = rng.below(251);
    (0..len).map(|i| ((i + start) % 251) as u8).collect()
}

fn text(rng: &mut Rng) -> Vec<u8> {
    (0..rng.below(12)).map(|_| *rng.pick(b"abcdefgh 0123\"'\\")).collect()
}

fn number(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0 => rng.pick(LIMITS).as_bytes().to_vec(),
        1 => rng.pick(JUNK).to_vec(),
        2 => (rng.next() as i64).to_string().into_bytes(),
        _ => rng.between(-100, 1000).to_string().into_bytes(),
    }
}

fn float(rng: &mut Rng) -> Vec<u8> {
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
fn index(rng: &mut Rng) -> Vec<u8> {
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
fn offset(rng: &mut Rng, far: i64, refused: &[&str]) -> Vec<u8> {
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
fn ttl(rng: &mut Rng, unit: i64) -> Vec<u8> {
    match rng.below(20) {
        0 => b"0".to_vec(),
        1 => b"-1".to_vec(),
        2 => rng.pick(LIMITS).as_bytes().to_vec(),
        3 if rng.percent(50) => rng.pick(JUNK).to_vec(),
        _ => (rng.between(100_000, 1_000_000_000) * unit).to_string().into_bytes(),
    }
}

fn at(rng: &mut Rng, unit: i64) -> Vec<u8> {
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

fn field_type(rng: &mut Rng) -> Vec<u8> {
    match rng.below(20) {
        0 => rng.pick(&["u64", "i65", "u0", "i0", "x8", "8", "u", "", "u8x", "u-1"]).as_bytes().to_vec(),
        1..=5 => rng.pick(&["u8", "i8", "u16", "i16", "i64", "u63", "u1", "i1"]).as_bytes().to_vec(),
        n if n % 2 == 0 => format!("u{}", rng.between(1, 63)).into_bytes(),
        _ => format!("i{}", rng.between(1, 64)).into_bytes(),
    }
}

fn field_offset(rng: &mut Rng) -> Vec<u8> {
    let refused = ["-1", "4294967296", "9223372036854775807", "#9223372036854775807", "#-1", "#a", "#"];
    if rng.percent(40) {
        format!("#{}", rng.between(0, 20)).into_bytes()
    } else {
        offset(rng, 80_000, &refused)
    }
}

const KNOWN_COMMANDS: &[&str] = &[
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

/// Appends what fills the hole.
fn fill(rng: &mut Rng, hole: &str, args: &mut Args) {
    let one: Vec<u8> = match hole {
        "key" => key(rng),
        "value" => value(rng),
        "number" => number(rng),
        "float" => float(rng),
        "index" => index(rng),
        "offset" => offset(
            rng,
            70_000,
            &["-1", "536870912", "4611686018427387904", "9223372036854775807", "-9223372036854775808"],
        ),
        "bit_offset" => {
            offset(rng, 80_000, &["-1", "4294967296", "9223372036854775807", "9223372036854775808"])
        }
        "bit" => rng
            .weighted(&[(45, "0"), (45, "1"), (1, "2"), (1, "-1"), (1, "a"), (1, ""), (1, "01")])
            .as_bytes()
            .to_vec(),
        "bit_operation" => rng
            .weighted(&[(10, "AND"), (10, "OR"), (10, "XOR"), (10, "NOT"), (1, "NAND"), (2, "or")])
            .as_bytes()
            .to_vec(),
        "ttl_s" => ttl(rng, 1),
        "ttl_ms" => ttl(rng, 1000),
        "at_s" => at(rng, 1),
        "at_ms" => at(rng, 1000),
        "db" => rng
            .weighted(&[(20, "0"), (10, "1"), (6, "2"), (3, "15"), (1, "16"), (1, "-1"), (1, "x"), (1, "")])
            .as_bytes()
            .to_vec(),
        "small" => rng.between(0, 5).to_string().into_bytes(),
        "word" => rng.pick(WORDS).as_bytes().to_vec(),
        "client_type" => rng.pick(&["master", "pubsub", "replica", "nosuch"]).as_bytes().to_vec(),
        // No subcommand of anything.
        "odd_word" => rng.pick(&["FOO", "foo", "NXX", "E", "\u{e4}", "a b", "", "-1"]).as_bytes().to_vec(),
        "on_off" => rng.pick(&["ON", "OFF", "on", "maybe"]).as_bytes().to_vec(),
        "protocol" => rng.pick(&["2", "3", "3", "1", "4", "x", ""]).as_bytes().to_vec(),
        "bad_cursor" => rng.pick(&["a", "1.5", " 0", "18446744073709551616", "0x1"]).as_bytes().to_vec(),
        "text_key" => rng.pick(&["text:1", "text:2", "text:3"]).as_bytes().to_vec(),
        "text" => (0..rng.below(60)).map(|_| *rng.pick(b"abcd")).collect(),
        "object_subcommand" => rng.pick(&["FREQ", "IDLETIME", "NOSUCH", "encoding"]).as_bytes().to_vec(),
        "flush_option" => rng.weighted(&[(10, "SYNC"), (10, "ASYNC"), (1, "NOW")]).as_bytes().to_vec(),
        "expire_flag" => rng
            .weighted(&[(10, "NX"), (10, "XX"), (10, "GT"), (10, "LT"), (1, "gt"), (1, "ZZ")])
            .as_bytes()
            .to_vec(),
        "pattern" => rng
            .pick(&[
                "*", "a", "?", "[a-d]", "key:*", "{t}*", "*x", "[^a]", "\\*[[]a]", "**", "k*[12]", "[",
                "a\\", "*\r*",
            ])
            .as_bytes()
            .to_vec(),
        _ => return fill_several(rng, hole, args),
    };
    args.push(one);
}

/// Holes that take an option and its value, or none at all.
fn fill_several(rng: &mut Rng, hole: &str, args: &mut Args) {
    let template = match hole {
        "pair" => "{key} {value}",
        "set_option" => rng.weighted(&[
            (4, "NX"),
            (4, "XX"),
            (5, "GET"),
            (4, "KEEPTTL"),
            (5, "EX {ttl_s}"),
            (4, "PX {ttl_ms}"),
            (3, "EXAT {at_s}"),
            (3, "PXAT {at_ms}"),
            (1, "{word}"),
            (1, "EX"),
            (1, "get"),
        ]),
        "getex_option" => rng.weighted(&[
            (4, "PERSIST"),
            (4, "EX {ttl_s}"),
            (4, "PX {ttl_ms}"),
            (3, "EXAT {at_s}"),
            (3, "PXAT {at_ms}"),
            (1, "{word}"),
            (1, "PX"),
        ]),
        "copy_option" => rng.weighted(&[(10, "REPLACE"), (8, "DB {db}"), (1, "{word}"), (1, "DB")]),
        "scan_option" => rng.weighted(&[
            (10, "COUNT {small}"),
            (5, "COUNT 100"),
            (10, "MATCH {pattern}"),
            (5, "TYPE string"),
            (2, "TYPE hash"),
            (1, "{word}"),
            (1, "COUNT {number}"),
            (1, "MATCH"),
        ]),
        "lcs_option" => rng.weighted(&[
            (5, "LEN"),
            (8, "IDX"),
            (5, "MINMATCHLEN {small}"),
            (5, "WITHMATCHLEN"),
            (1, "MINMATCHLEN {number}"),
            (1, "{word}"),
        ]),
        "bit_unit" => rng.weighted(&[(10, ""), (8, "BYTE"), (12, "BIT"), (1, "bit"), (1, "{word}")]),
        "field_get" => "GET {field_type} {field_offset}",
        "field_operation" => rng.weighted(&[
            (10, "GET {field_type} {field_offset}"),
            (10, "SET {field_type} {field_offset} {number}"),
            (12, "INCRBY {field_type} {field_offset} {number}"),
            (3, "OVERFLOW WRAP"),
            (3, "OVERFLOW SAT"),
            (3, "OVERFLOW FAIL"),
            (1, "OVERFLOW {word}"),
            (1, "{word}"),
            (1, "GET {field_type}"),
        ]),
        "hello_option" => rng.weighted(&[
            (5, "SETNAME {word}"),
            (3, "AUTH default {word}"),
            (1, "AUTH {word} {word}"),
            (1, "{word}"),
        ]),
        "known_command" => rng.pick(KNOWN_COMMANDS),
        "field_type" => return args.push(field_type(rng)),
        "field_offset" => return args.push(field_offset(rng)),
        other => panic!("a template has an unknown hole: {other}"),
    };
    for word in template.split(' ').filter(|word| !word.is_empty()) {
        match word.strip_prefix('{').and_then(|hole| hole.strip_suffix('}')) {
            Some(hole) => fill(rng, hole, args),
            None => args.push(word.as_bytes().to_vec()),
        }
    }
}
