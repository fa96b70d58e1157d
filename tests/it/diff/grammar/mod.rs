//! What scripts are made of: for each family weighted templates, and generators for what they leave open.
//!
//! A template is a command with `{holes}`; `{hole*}` is filled none to three times, and a hole may give several arguments (an
//! option with its value). Templates that begin with `!` are steps of their own kind. Keys are few, so that commands meet
//! each other's traces; values lean to the borders: empty, binary, the ends of the integer range, lengths around the
//! sizes at which storage changes its form.

mod families;
mod geo;
mod hash;
mod hyperloglog;
mod list;
mod newer;
mod set;
mod sort;
mod stream;
mod values;
mod zset;

use super::compare;
use super::play::{Args, Script, Step};
use crate::rng::Rng;
pub use families::{BITS, CONNECTION, KEYS, STRING};
pub use geo::GEO;
pub use hash::HASH;
pub use hyperloglog::HYPERLOGLOG;
pub use list::LIST;
pub use newer::{FIELDS, STREAM_8, VALKEY};
pub use set::SET;
pub use sort::SORT;
pub use stream::STREAM;
use values::*;
pub use zset::ZSET;

pub struct Family {
    pub name: &'static str,
    templates: &'static [(u32, &'static str)],
    /// What fills the holes that only this family has: a template again, or nothing for a hole it does not know.
    holes: fn(&mut Rng, &str) -> Option<Filling>,
}

/// What a family fills a hole with.
pub enum Filling {
    Template(&'static str),
    Args(Args),
}

impl Filling {
    fn one_of(rng: &mut Rng, templates: &[(u32, &'static str)]) -> Filling {
        let template = rng.weighted(templates);
        Filling::Template(template)
    }
}

/// For families without holes of their own.
fn no_holes(_: &mut Rng, _: &str) -> Option<Filling> {
    None
}

pub const ALL: &[&Family] = &[
    &STRING,
    &BITS,
    &HASH,
    &LIST,
    &SET,
    &SORT,
    &STREAM,
    &KEYS,
    &CONNECTION,
    &ZSET,
    &HYPERLOGLOG,
    &GEO,
    &FIELDS,
];
/// Those that may meet in one script: not SORT, see there.
pub const MIXED: &[&Family] =
    &[&STRING, &BITS, &HASH, &LIST, &SET, &STREAM, &KEYS, &CONNECTION, &ZSET, &HYPERLOGLOG, &GEO];

/// Those whose commands are told of.
pub const EVENTFUL: &[&Family] = &[&STRING, &BITS, &HASH, &LIST, &SET, &KEYS, &ZSET, &HYPERLOGLOG, &GEO];

/// Those whose values are exchanged.
pub const EXCHANGED: &[&Family] = &[&STRING, &HASH, &LIST, &SET, &STREAM, &ZSET, &HYPERLOGLOG];

/// So many of a hundred commands are made wrong in some way.
const DAMAGED_PERCENT: usize = 5;
/// After so many of a hundred, a script stays with a key.
const STAYING_PERCENT: usize = 10;
/// By commands of which Tarn commits several together where a pipeline stays with a key.
const STAYING: &[&[u8]] = &[
    b"HSET",
    b"HDEL",
    b"HSETNX",
    b"HINCRBY",
    b"HINCRBYFLOAT",
    b"SADD",
    b"SREM",
    b"LPUSH",
    b"RPUSH",
    b"LPUSHX",
    b"RPUSHX",
    b"LPOP",
    b"RPOP",
    b"ZADD",
    b"ZREM",
    b"ZINCRBY",
    b"INCR",
    b"INCRBY",
    b"DECR",
    b"XADD",
    b"XACK",
    b"XDEL",
    b"APPEND",
    b"SETNX",
    b"EXPIRE",
    b"PEXPIRE",
    b"PERSIST",
];
/// Not these: what is still right of them may answer with what differs from server to server.
const KEPT_WHOLE: &[&[u8]] = &[
    b"SCAN",
    b"HSCAN",
    b"SSCAN",
    b"SPOP",
    b"SORT",
    b"SORT_RO",
    b"ZSCAN",
    b"CLIENT",
    b"CONFIG",
    b"SLOWLOG",
    b"MEMORY",
    b"LATENCY",
    b"COMMAND",
    b"XREAD",
    b"XREADGROUP",
    b"XSETID",
    // Redis and Valkey refuse it in other words.
    b"HSETEX",
];

pub fn is_kept_whole(args: &Args) -> bool {
    // Of a HyperLogLog that was cut off Redis reads more than there is.
    KEPT_WHOLE.contains(&args[0].as_slice()) || args.iter().any(|arg| arg.starts_with(b"HYLL"))
}

pub fn script(rng: &mut Rng, families: &[&Family], steps: usize) -> Script {
    let groups = (0..8).map(|_| if rng.percent(30) { 1 } else { 1 + rng.below(40) }).collect();
    let mut script = Vec::new();
    while script.len() < steps {
        let family = *rng.pick(families);
        let template = *rng.weighted(family.templates);
        script.push(step(rng, template));
        if rng.percent(STAYING_PERCENT) {
            stay(rng, family, &mut script);
        }
    }
    // What one takes and the other refuses shows in all that follows.
    script.retain(|step| compare::takes_hexadecimal() || !is_hexadecimal(step));
    Script { steps: script, groups }
}

/// Whether it names a number to the base of 16 among its words.
fn is_hexadecimal(step: &Step) -> bool {
    let has = |word: &Vec<u8>| word.to_ascii_lowercase().windows(2).any(|two| two == b"0x");
    matches!(step, Step::Command(args) if args.iter().any(has))
}

/// As [`script`], with runs of commands in transactions.
pub fn transactions(rng: &mut Rng, families: &[&Family], steps: usize) -> Script {
    runs_of(rng, families, steps, Step::Multi, may_be_queued)
}

/// As [`script`], with runs of commands in Lua scripts.
pub fn evals(rng: &mut Rng, families: &[&Family], steps: usize) -> Script {
    runs_of(rng, families, steps, Step::Eval, may_be_called)
}

fn runs_of(
    rng: &mut Rng,
    families: &[&Family],
    steps: usize,
    run: fn(Vec<Args>) -> Step,
    may_be_in: fn(&Args) -> bool,
) -> Script {
    let Script { steps, groups } = script(rng, families, steps);
    let mut grouped = Vec::new();
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        let args = match step {
            Step::Command(args) if may_be_in(&args) => args,
            step => {
                grouped.push(step);
                continue;
            }
        };
        let mut commands = vec![args];
        let most = rng.below(12);
        while commands.len() < most
            && let Some(Step::Command(args)) =
                steps.next_if(|step| matches!(step, Step::Command(args) if may_be_in(args)))
        {
            commands.push(args);
        }
        match commands.pop() {
            Some(args) if commands.is_empty() => grouped.push(Step::Command(args)),
            last => {
                commands.extend(last);
                grouped.push(run(commands));
            }
        }
    }
    Script { steps: grouped, groups }
}

/// Not what one of the servers refuses while it queues, and the other does not: it would abort there, and run here.
fn may_be_queued(args: &Args) -> bool {
    let has_new_option = |name: &[u8]| args[0].eq_ignore_ascii_case(name) && args.len() > 3;
    // What Redis has queued refers to the value, and is counted.
    let counts_references = args.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"REFCOUNT"));
    !has_new_option(b"ZRANK") && !has_new_option(b"ZREVRANK") && !counts_references
}

/// Not what only one of the servers lets scripts call, and no reply that is of one protocol only.
fn may_be_called(args: &Args) -> bool {
    const NOT_ALIKE: &[&[u8]] =
        &[b"SELECT", b"RESET", b"HELLO", b"CLIENT", b"CONFIG", b"SLOWLOG", b"LATENCY", b"MEMORY"];
    !NOT_ALIKE.iter().any(|name| args[0].eq_ignore_ascii_case(name)) && may_be_queued(args)
}

/// Some more commands on the key of the last one.
fn stay(rng: &mut Rng, family: &Family, script: &mut Vec<Step>) {
    let Some(Step::Command(last)) = script.last().filter(|step| stays(step)) else { return };
    let key = last[1].clone();
    // These sorted sets have one score only.
    if key.starts_with(b"lex:") {
        return;
    }
    for _ in 0..rng.below(60) {
        let template = *rng.weighted(family.templates);
        let mut next = step(rng, template);
        if stays(&next)
            && let Step::Command(args) = &mut next
        {
            args[1].clone_from(&key);
            script.push(next);
        }
    }
}

fn stays(step: &Step) -> bool {
    matches!(step, Step::Command(args) if args.len() > 1 && STAYING.contains(&args[0].as_slice()))
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
        b"!walk" => Step::Walk(args.split_off(1)),
        b"!pick" => Step::Pick(args.split_off(1)),
        b"!pop" => Step::Pop(args.split_off(1)),
        b"!random" => Step::RandomKey,
        b"!count" => Step::Count,
        b"!dumped" => Step::Dumped(args.split_off(1)),
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
        other => match ALL.iter().find_map(|family| (family.holes)(rng, other)) {
            Some(Filling::Template(template)) => template,
            Some(Filling::Args(more)) => return args.extend(more),
            None => panic!("a template has an unknown hole: {other}"),
        },
    };
    for word in template.split(' ').filter(|word| !word.is_empty()) {
        match word.strip_prefix('{').and_then(|hole| hole.strip_suffix('}')) {
            Some(hole) => fill(rng, hole, args),
            None => args.push(word.as_bytes().to_vec()),
        }
    }
}
