//! The differential tester: random scripts, played to Tarn and to redis-server, must be answered alike.
//!
//! A script is a list of [`Step`]s, grown from a [`grammar`] by a seed. Both servers start empty, get the same pipelines over
//! the same protocol, and every reply is [compared](compare); at the end the data itself is. A difference is [shrunk](shrink)
//! to the fewest and shortest commands that show it and printed as wire lines with the seed that finds it again.
//!
//! Script number `i` of a test has the seed `base + i`, which also decides the engine and the protocol, so a reported seed used
//! as `TARN_DIFF_SEED` is the first script of its test. `TARN_DIFF_COMMANDS` sets how many commands all tests together play,
//! two thirds of them of collections.

mod acl;
mod compare;
mod events;
mod exchange;
mod grammar;
mod interleave;
mod lua;
mod play;
mod raw;
mod shrink;

use crate::harness::pool;
use crate::harness::{ENGINES, Options, Program, Server};
use crate::rng::Rng;
use compare::Mismatch;
use grammar::Family;
use play::{Script, Step};

/// What `cargo test` plays in all.
const DEFAULT_COMMANDS: usize = 300_000;
const SCRIPT_STEPS: usize = 200;

fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn commands() -> usize {
    env_number("TARN_DIFF_COMMANDS").map_or(DEFAULT_COMMANDS, |n| n as usize)
}

/// How a script is played: decided by its seed, so that the seed alone repeats it.
#[derive(Debug, Clone, Copy)]
struct Setup {
    program: Program,
    resp3: bool,
}

impl Setup {
    fn of(seed: u64) -> Setup {
        let program = match std::env::var("TARN_CHECK_AGAINST") {
            // The tester itself is tested by comparing redis-server with redis-server.
            Ok(_) => Program::Redis,
            Err(_) => ENGINES[(seed % 2) as usize],
        };
        Setup { program, resp3: seed / 2 % 2 == 1 }
    }
}

/// What a test is a share of: a third of all commands is of strings and keys, the rest of collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Keys,
    Collections,
}

impl Part {
    fn commands(self) -> usize {
        match self {
            Part::Keys => commands() / 3,
            Part::Collections => commands() - commands() / 3,
        }
    }
}

/// Plays `share` percent of a part of all commands, in scripts over these families.
fn differential(name: &str, base: Option<u64>, families: &[&Family], part: Part, share: usize) {
    let base = env_number("TARN_DIFF_SEED").or(base).unwrap_or_else(Rng::fresh_seed);
    // Whole scripts: a seed stands for one.
    let scripts = (part.commands() * share / 100).div_ceil(SCRIPT_STEPS).max(1) as u64;
    let names: Vec<&str> = families.iter().map(|family| family.name).collect();
    println!("differential {name}: {} commands of {names:?} from seed {base}", scripts * SCRIPT_STEPS as u64);
    for seed in base..base + scripts {
        run_one(name, seed, grammar::script(&mut Rng::new(seed), families, SCRIPT_STEPS));
    }
}

fn run_one(name: &str, seed: u64, script: Script) {
    let setup = Setup::of(seed);
    let mut tarn = pool::take_on_time(setup.program);
    let mut redis = pool::take_on_time(Program::Redis);
    let mut play = |script: &Script| play::compare(&mut tarn.server, &mut redis.server, setup.resp3, script);
    let Some(first) = play(&script) else { return };
    let (script, mismatch) = shrink::shrink(script, first, &mut play);
    report(name, seed, setup, &script, &mismatch);
}

fn report(name: &str, seed: u64, setup: Setup, script: &Script, mismatch: &Mismatch) -> ! {
    let lines: Vec<String> = script.steps.iter().map(Step::to_line).collect();
    panic!(
        "{} and redis-server differ over RESP{}, seed {seed}, shrunk to {} commands, in groups of {:?}:\n\
         \n    {}\n\n{mismatch}\n\nagain: TARN_DIFF_SEED={seed} TARN_DIFF_COMMANDS=1 cargo test --test it \
         diff::differential_{name} -- --nocapture",
        setup.program.name(),
        if setup.resp3 { 3 } else { 2 },
        script.steps.len(),
        script.groups,
        lines.join(" | "),
    );
}

#[test]
fn differential_string() {
    differential("string", Some(1_000_000), &[&grammar::STRING], Part::Keys, 18);
}

#[test]
fn differential_bits() {
    differential("bits", Some(2_000_000), &[&grammar::BITS], Part::Keys, 12);
}

#[test]
fn differential_hyperloglog() {
    differential("hyperloglog", Some(16_000_000), &[&grammar::HYPERLOGLOG], Part::Keys, 5);
}

#[test]
fn differential_geo() {
    differential("geo", Some(18_000_000), &[&grammar::GEO], Part::Collections, 6);
}

#[test]
fn differential_hash() {
    differential("hash", Some(9_000_000), &[&grammar::HASH], Part::Collections, 20);
}

#[test]
fn differential_list() {
    differential("list", Some(10_000_000), &[&grammar::LIST], Part::Collections, 20);
}

#[test]
fn differential_set() {
    differential("set", Some(11_000_000), &[&grammar::SET], Part::Collections, 21);
}

#[test]
fn differential_sort() {
    differential("sort", Some(13_000_000), &[&grammar::SORT], Part::Collections, 12);
}

#[test]
fn differential_keys() {
    differential("keys", Some(3_000_000), &[&grammar::KEYS], Part::Keys, 20);
}

#[test]
fn differential_stream() {
    differential("stream", Some(14_000_000), &[&grammar::STREAM], Part::Collections, 24);
}

#[test]
fn differential_zset() {
    differential("zset", Some(12_000_000), &[&grammar::ZSET], Part::Collections, 21);
}

#[test]
fn differential_connection() {
    differential("connection", Some(4_000_000), &[&grammar::CONNECTION], Part::Keys, 5);
}

#[test]
fn differential_mixed() {
    differential("mixed", Some(5_000_000), grammar::MIXED, Part::Keys, 20);
}

/// A longer run (`make diff`) begins at a new seed, which it prints; `make test` plays the same scripts each time.
fn explored(usual: u64) -> Option<u64> {
    env_number("TARN_DIFF_COMMANDS").is_none().then_some(usual)
}

#[test]
fn differential_new() {
    differential("new", explored(7_000_000), grammar::MIXED, Part::Keys, 20);
}

/// What is newer than 7.0, where the server to compare with has it: times of hash fields, streams and the rest against Redis 8.0,
/// conditions, polygons and the like against Valkey 9.1.
#[test]
fn differential_newer() {
    let families: &[&Family] = match peer() {
        Peer::Redis8 => &[&grammar::FIELDS, &grammar::STREAM_8],
        Peer::Valkey9 => &[&grammar::VALKEY],
        Peer::Older => return println!("differential newer: not played, redis-server has none of it"),
    };
    for family in families {
        differential("newer", explored(22_000_000), &[family], Part::Keys, 50);
    }
}

/// What TARN_REDIS_SERVER is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Older,
    Redis8,
    Valkey9,
}

fn peer() -> Peer {
    let server = Server::start(Options::new(Program::Redis));
    let info = server.conn().call(&["INFO", "server"]);
    let info = String::from_utf8_lossy(info.bytes().unwrap()).into_owned();
    match info.lines().find_map(|line| line.strip_prefix("valkey_version:")) {
        Some(version) if version.starts_with("9.") => Peer::Valkey9,
        None if info.contains("redis_version:8.") => Peer::Redis8,
        _ => Peer::Older,
    }
}

/// Values of every type, dumped here and restored in redis-server, and the other way round.
#[test]
fn differential_exchange() {
    let base = env_number("TARN_DIFF_SEED").or(explored(21_000_000)).unwrap_or_else(Rng::fresh_seed);
    let scripts = (commands() / 50 / SCRIPT_STEPS).max(1) as u64;
    println!("differential exchange: {scripts} scripts from seed {base}");
    // What is read there; a hash whose fields expire needs a newer one than that of 7.0, and Valkey's own for Valkey.
    let (version, exchanged) = match peer() {
        Peer::Older => ("10", grammar::EXCHANGED.to_vec()),
        Peer::Redis8 => ("11", [grammar::EXCHANGED, &[&grammar::FIELDS]].concat()),
        Peer::Valkey9 => ("80", [grammar::EXCHANGED, &[&grammar::FIELDS]].concat()),
    };
    let pairs = ENGINES.map(|program| exchange::Pair::start(program, version));
    let mut count = 0;
    for seed in base..base + scripts {
        // One script of all families, then one of each of the collections'.
        let alone = (seed % (exchanged.len() as u64 + 1)) as usize;
        let families = exchanged.get(alone..=alone).unwrap_or(&exchanged);
        count += pairs[(seed % 2) as usize].run(seed, families, SCRIPT_STEPS);
    }
    println!("differential exchange: {count} values");
}

/// Every family inside of MULTI and EXEC.
#[test]
fn differential_transactions() {
    let base = env_number("TARN_DIFF_SEED").or(explored(15_000_000)).unwrap_or_else(Rng::fresh_seed);
    let scripts = (commands() / 5 / SCRIPT_STEPS).max(1) as u64;
    println!("differential transactions: {scripts} scripts from seed {base}");
    for seed in base..base + scripts {
        let script = grammar::transactions(&mut Rng::new(seed), grammar::EVENTFUL, SCRIPT_STEPS);
        run_one("transactions", seed, script);
    }
}

/// Every family called by Lua scripts.
#[test]
fn differential_scripts() {
    let base = env_number("TARN_DIFF_SEED").or(explored(16_000_000)).unwrap_or_else(Rng::fresh_seed);
    let scripts = (commands() / 5 / SCRIPT_STEPS).max(1) as u64;
    println!("differential scripts: {scripts} scripts from seed {base}");
    for seed in base..base + scripts {
        let script = grammar::evals(&mut Rng::new(seed), grammar::EVENTFUL, SCRIPT_STEPS);
        run_one("scripts", seed, script);
    }
}

/// Events of every family, each in scripts of its own and all of them together.
#[test]
fn differential_events() {
    let base = env_number("TARN_DIFF_SEED").or(explored(14_000_000)).unwrap_or_else(Rng::fresh_seed);
    let scripts = (commands() / 5 / SCRIPT_STEPS).max(1) as u64;
    println!("differential events: {scripts} scripts from seed {base}");
    for seed in base..base + scripts {
        let families = match (seed % 16) as usize {
            alone if alone < grammar::EVENTFUL.len() => &grammar::EVENTFUL[alone..=alone],
            _ => grammar::EVENTFUL,
        };
        events::run_one("events", seed, families, SCRIPT_STEPS);
    }
}

#[test]
fn differential_raw() {
    let base = env_number("TARN_DIFF_SEED").unwrap_or(6_000_000);
    let cases = (commands() / 300).max(1) as u64;
    println!("differential raw: {cases} byte streams from seed {base}");
    for seed in base..base + cases {
        raw::run_one(seed, Setup::of(seed).program);
    }
}

#[test]
fn differential_raw_new() {
    let base = env_number("TARN_DIFF_SEED").or(explored(8_000_000)).unwrap_or_else(Rng::fresh_seed);
    let cases = (commands() / 600).max(1) as u64;
    println!("differential raw_new: {cases} byte streams from seed {base}");
    for seed in base..base + cases {
        raw::run_one(seed, Setup::of(seed).program);
    }
}

/// Keys full of braces: the slot follows the hash tag exactly as the cluster specification has it.
#[test]
fn differential_slots() {
    let seed = env_number("TARN_DIFF_SEED").unwrap_or_else(Rng::fresh_seed);
    println!("differential slots: TARN_DIFF_SEED={seed}");
    let mut rng = Rng::new(seed);
    let start = |program| Server::start(Options::new(program).with("cluster-enabled", "yes"));
    let mut conns = [Setup::of(seed).program, Program::Redis].map(|program| {
        let server = start(program);
        (server.conn(), server)
    });
    let pieces: &[&[u8]] = &[b"{", b"}", b"{}", b"a", b"foo", b"\x00", b"\xff", b" ", b"0123456789"];
    for _ in 0..commands() / 150 {
        let key: Vec<u8> = (0..rng.below(8)).flat_map(|_| rng.pick(pieces).to_vec()).collect();
        let command = [b"CLUSTER".to_vec(), b"KEYSLOT".to_vec(), key.clone()];
        let [tarn, redis] = conns.each_mut().map(|(conn, _)| conn.call(&command));
        assert_eq!(tarn, redis, "CLUSTER KEYSLOT {}", crate::value::quote(&key));
    }
}
