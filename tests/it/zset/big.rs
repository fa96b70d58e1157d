//! Ranks and counts deep inside a big sorted set, asked again and again, so that it comes to be kept in memory in order; the
//! answers are redis-server's before, meanwhile and after.

use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Program, Server};
use crate::rng::Rng;

const MEMBERS: usize = 4_000;
/// Different ones, so that many members share one.
const SCORES: usize = 1_500;
const ROUNDS: usize = 4;
const QUESTIONS: usize = 60;

fn member(rng: &mut Rng) -> String {
    format!("member:{}", rng.below(MEMBERS))
}

fn fill(rng: &mut Rng) -> String {
    let pairs: Vec<String> =
        (0..MEMBERS).map(|number| format!("{} member:{number}", rng.below(SCORES))).collect();
    format!("ZADD z {}", pairs.join(" "))
}

fn change(rng: &mut Rng) -> String {
    let rank = rng.below(MEMBERS / 2);
    match rng.below(5) {
        0 => format!("ZADD z {} {}", rng.below(SCORES), member(rng)),
        1 => format!("ZREM z {}", member(rng)),
        2 => format!("ZINCRBY z {} {}", rng.between(-50, 50), member(rng)),
        3 => format!("ZREMRANGEBYRANK z {rank} {}", rank + rng.below(3)),
        _ => format!("ZRANGESTORE stored z {rank} {}", rank + rng.below(200)),
    }
}

fn question(rng: &mut Rng) -> String {
    let (low, high) = (rng.below(SCORES), rng.below(SCORES));
    let (low, high) = (low.min(high), low.max(high));
    // Beyond the last one too.
    let rank = rng.below(MEMBERS + 100);
    let more = rank + rng.below(5);
    let skip = rng.below(MEMBERS);
    match rng.below(10) {
        0 => format!("ZRANK z {}", member(rng)),
        1 => format!("ZREVRANK z {}", member(rng)),
        2 => format!("ZCOUNT z {low} {high}"),
        3 => format!("ZCOUNT z ({low} ({high}"),
        4 => format!("ZRANGE z {rank} {more} WITHSCORES"),
        5 => format!("ZREVRANGE z {rank} {more} WITHSCORES"),
        6 => format!("ZRANGE z -{more} -{rank}"),
        7 => format!("ZRANGEBYSCORE z {low} {high} LIMIT {skip} 3"),
        8 => format!("ZREVRANGEBYSCORE z {high} {low} LIMIT {skip} 3"),
        _ => format!("ZREVRANGEBYSCORE z +inf -inf WITHSCORES LIMIT {skip} -1"),
    }
}

fn ask(conn: &mut Conn, line: &str) -> String {
    conn.call(&line.split(' ').collect::<Vec<_>>()).to_string()
}

#[test]
fn ranks_are_those_of_redis() {
    for engine in ENGINES {
        let servers = [engine, Program::Redis].map(|program| Server::start(Options::new(program)));
        let mut conns = servers.each_ref().map(Server::conn);
        let mut rng = Rng::new(17);
        let mut play = |line: &str| {
            let [tarn, redis] = conns.each_mut().map(|conn| ask(conn, line));
            assert_eq!(tarn, redis, "{} answers {line}", engine.name());
        };
        play(&fill(&mut rng));
        for _ in 0..ROUNDS {
            (0..QUESTIONS).for_each(|_| play(&question(&mut rng)));
            (0..QUESTIONS / 4).for_each(|_| {
                play(&change(&mut rng));
                play(&question(&mut rng));
            });
            play("ZRANGE stored 0 -1 WITHSCORES");
        }
        play("ZRANGE z 0 -1 WITHSCORES");
    }
}
