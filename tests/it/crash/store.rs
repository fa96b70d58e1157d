//! A result that is stored in many commits, and a kill at any moment of it: the destination is as it was, or complete.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{env_number, options};
use crate::conn::{Conn, encode};
use crate::harness::Server;
use crate::rng::Rng;
use crate::value::Value;

/// Kills in `cargo test`; a tenth of `TARN_CRASH_KILLS` otherwise.
const DEFAULT_KILLS: u64 = 8;
/// Members of each source; half of them are in both. Ten times as many in a long run.
const DEFAULT_MEMBERS: u64 = 12_000;
const BATCH: u64 = 1_000;

fn member(n: u64) -> Vec<u8> {
    format!("member:{n:08}").into_bytes()
}

fn fill(conn: &mut Conn, command: &str, key: &str, range: std::ops::Range<u64>) {
    for from in range.clone().step_by(BATCH as usize) {
        let mut args = vec![command.as_bytes().to_vec(), key.as_bytes().to_vec()];
        for n in from..range.end.min(from + BATCH) {
            args.extend((command == "ZADD").then(|| n.to_string().into_bytes()));
            args.push(member(n));
        }
        assert!(conn.call(&args).int().is_some_and(|added| added > 0), "{command} {key}");
    }
}

/// What the destination holds; its size must agree.
fn stored(conn: &mut Conn) -> BTreeSet<Vec<u8>> {
    let kind = conn.call(&["TYPE", "stored"]);
    let (read, size): (&[&str], _) = match kind.bytes().unwrap() {
        b"set" => (&["SMEMBERS", "stored"], "SCARD"),
        b"zset" => (&["ZRANGE", "stored", "0", "-1"], "ZCARD"),
        _ => return BTreeSet::new(),
    };
    let members = conn.call(read);
    let members = members.items().unwrap();
    let size = conn.call(&[size, "stored"]).int().unwrap();
    assert_eq!(size, members.len() as i64, "the size and the members of what was stored");
    members.iter().map(|member| member.bytes().unwrap().to_vec()).collect()
}

struct Command {
    line: &'static [&'static str],
    result: std::ops::Range<u64>,
}

fn crash_while_storing(kind: &str, command: &str, commands: [Command; 2]) {
    let kills = env_number("TARN_CRASH_KILLS").map_or(DEFAULT_KILLS, |kills| kills.div_ceil(10));
    let members =
        if env_number("TARN_CRASH_KILLS").is_some() { DEFAULT_MEMBERS * 10 } else { DEFAULT_MEMBERS };
    let seed = env_number("TARN_CRASH_SEED").unwrap_or_else(Rng::fresh_seed);
    println!("crash while storing a {kind}: {kills} kills, {members} members, TARN_CRASH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut server = Server::start(options("everysec"));
    let mut conn = server.conn();
    let half = members / 2;
    fill(&mut conn, command, "a", 0..members);
    fill(&mut conn, command, "b", half..half + members);
    let results = commands.each_ref().map(|command| {
        let numbers = command.result.start * half..command.result.end * half;
        numbers.map(member).collect::<BTreeSet<_>>()
    });
    // How long the longer one takes.
    let began = Instant::now();
    let reply = conn.call(commands[0].line);
    let mut took = began.elapsed();
    assert_eq!(reply, Value::Int(results[0].len() as i64));
    let (mut holds, mut half_way) = (0, 0);
    for _ in 0..kills {
        let next = 1 - holds;
        conn.send_raw(&encode(commands[next].line));
        let moment = took.mul_f64(rng.below(1_200) as f64 / 1_000.0);
        std::thread::sleep(moment.max(Duration::from_micros(100)));
        server.kill();
        let answered = conn.try_recv().is_ok();
        server.restart();
        conn = server.conn();
        let found = stored(&mut conn);
        match results.iter().position(|result| *result == found) {
            Some(which) if which == next || !answered => holds = which,
            Some(_) => panic!("an acknowledged {:?} is gone", commands[next].line),
            None => panic!("{:?} left {} members behind", commands[next].line, found.len()),
        }
        half_way += u64::from(!answered);
        // The next may take less or more time than the first: it depends on what else the machine does.
        took = if answered { took / 2 } else { took.mul_f64(1.5) };
    }
    println!("crash while storing a {kind}: {half_way} of {kills} kills came before the answer");
    assert!(half_way > 0, "every kill came too late");
}

/// The results of both are told in halves of a source: the first three of them, or the first one.
#[test]
fn crash_while_storing_a_set() {
    crash_while_storing(
        "set",
        "SADD",
        [
            Command { line: &["SUNIONSTORE", "stored", "a", "b"], result: 0..3 },
            Command { line: &["SDIFFSTORE", "stored", "a", "b"], result: 0..1 },
        ],
    );
}

#[test]
fn crash_while_storing_a_sorted_set() {
    crash_while_storing(
        "sorted set",
        "ZADD",
        [
            Command { line: &["ZUNIONSTORE", "stored", "2", "a", "b"], result: 0..3 },
            Command { line: &["ZINTERSTORE", "stored", "2", "a", "b"], result: 1..2 },
        ],
    );
}
