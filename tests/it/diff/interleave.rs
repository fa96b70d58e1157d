//! Blocking commands of several clients, in every order of their steps: who is served, by what, and when.
//!
//! A case is a short program for each of up to three clients. Its steps are played one at a time, in every order that keeps each program's
//! own. redis-server goes first and says which replies come behind which step; Tarn has to send the same, and to have as many
//! clients waiting.

use std::collections::BTreeMap;

use super::play::Args;
use super::{Setup, env_number, explored, play};
use crate::conn::Conn;
use crate::harness::{Options, Program, Server, eventually, pool};
use crate::rng::Rng;
use crate::value::Value;

/// What `cargo test` plays; `TARN_DIFF_INTERLEAVINGS` sets another number.
const DEFAULT_INTERLEAVINGS: usize = 400;
/// Of one case; where there are more, these many are picked.
const MAX_OF_CASE: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Commands that are sent together, parted by ` | `. `{1}` is the id of that client.
    Send(&'static str),
    Close,
}

struct Case {
    /// Run before it.
    setup: &'static str,
    programs: Vec<Vec<Turn>>,
}

/// Clients that wait.
const WAITS: &[&str] = &[
    "BLPOP l 0",
    "BLPOP l m 0",
    "BRPOP m l 0",
    "BRPOP l 0",
    "BLMOVE l m LEFT RIGHT 0",
    "BLMOVE m l RIGHT LEFT 0",
    "BLMOVE l l LEFT RIGHT 0",
    "BRPOPLPUSH m l 0",
    "BLMPOP 0 1 l LEFT COUNT 2",
    "BLMPOP 0 2 m l RIGHT",
    "BZPOPMIN z 0",
    "BZPOPMAX z y 0",
    "BZMPOP 0 1 z MIN COUNT 2",
    "XREAD BLOCK 0 STREAMS x $",
    "XREAD BLOCK 0 STREAMS x 0",
    "XREAD COUNT 1 BLOCK 0 STREAMS x 1-1",
    "XREADGROUP GROUP g c BLOCK 0 STREAMS x >",
    "XREADGROUP GROUP g d COUNT 1 BLOCK 0 STREAMS x >",
];

/// What the others do meanwhile.
const STEPS: &[&str] = &[
    "RPUSH l a",
    "RPUSH l b c",
    "LPUSH m d",
    "LPUSH l e",
    "RPUSH m f g h",
    "LPOP l",
    "RPOP m",
    "LMOVE l m LEFT LEFT",
    "LTRIM l 1 -1",
    "LINSERT l BEFORE a i",
    "ZADD z 1 a",
    "ZADD z 2 b 1 c",
    "ZINCRBY z 5 d",
    "ZADD y 1 a",
    "ZPOPMAX z",
    "ZUNIONSTORE z 1 y",
    "XADD x 1-1 f v",
    "XADD x 2-1 f v",
    "XADD x 3-1 f v | XADD x 3-2 f w",
    "XDEL x 1-1",
    "XGROUP DESTROY x g",
    "XGROUP CREATE x g $ MKSTREAM",
    "DEL l",
    "DEL l m z",
    "DEL x",
    "SET l v",
    "SET x v",
    "SET m v",
    "RENAME m l",
    "RENAME l m",
    "RENAME z y",
    "RENAME y z",
    "RENAME m x",
    "COPY m l",
    "SORT m ALPHA STORE l",
    "SWAPDB 0 1",
    "MOVE l 1",
    "SELECT 1",
    "SELECT 0",
    "FLUSHDB ASYNC",
    "FLUSHALL ASYNC",
    "MULTI | RPUSH l a | EXEC",
    "MULTI | RPUSH l a b | LPUSH m c | EXEC",
    "MULTI | RPUSH l a | DEL l | EXEC",
    "MULTI | RPUSH l a | LPOP l | RPUSH m b | EXEC",
    "MULTI | SET l v | DEL l | RPUSH l a | EXEC",
    "MULTI | BLPOP l 0 | RPUSH l q | BLPOP l m 0 | EXEC",
    "MULTI | ZADD z 1 a | ZADD z 2 b | EXEC",
    "MULTI | ZADD z 1 a | DEL z | RPUSH z a | EXEC",
    "MULTI | XADD x 4-1 f v | RPUSH l a | EXEC",
    "MULTI | RENAME m l | RPUSH m z | EXEC",
    "MULTI | SWAPDB 0 1 | RPUSH l s | EXEC",
    "EVAL \"redis.call('RPUSH', 'l', 'a') redis.call('RPUSH', 'm', 'b')\" 2 l m",
    "EVAL \"redis.call('RPUSH', 'l', 'a') redis.call('DEL', 'l')\" 1 l",
    "EVAL \"redis.call('RPUSH', 'l', 'a', 'b') return redis.call('LPOP', 'l')\" 0",
    "EVAL \"redis.call('ZADD', 'z', 1, 'a') redis.call('XADD', 'x', '5-1', 'f', 'v')\" 0",
    "EVAL \"redis.call('DEL', 'l') redis.call('SET', 'l', 'v')\" 0",
    "EVAL \"redis.call('RENAME', 'm', 'l')\" 0",
    "CLIENT UNBLOCK {0}",
    "CLIENT UNBLOCK {0} ERROR",
    "CLIENT UNBLOCK {1} TIMEOUT",
    "CLIENT UNBLOCK {2} ERROR",
    "WATCH l",
    "MULTI",
    "EXEC",
    "DISCARD",
    "LRANGE l 0 -1",
];

/// What is there at the beginning.
const SETUPS: &[&str] = &[
    "",
    "",
    "RPUSH m x",
    "RPUSH m x y | ZADD y 1 a 2 b",
    "XGROUP CREATE x g $ MKSTREAM",
    "XADD x 1-0 f v | XGROUP CREATE x g 0",
    "SELECT 1 | RPUSH l other | ZADD z 9 other | SELECT 0",
    "SET l v",
];

fn pick(rng: &mut Rng, lines: &'static [&'static str]) -> &'static str {
    lines[rng.below(lines.len())]
}

impl Case {
    fn new(rng: &mut Rng) -> Case {
        let clients = if rng.percent(25) { 2 } else { 3 };
        let mut programs: Vec<Vec<Turn>> = Vec::new();
        for client in 0..clients {
            let mut program = Vec::new();
            // At least one waits, and at least one does something.
            let waits = client == 0 || client < clients - 1 && rng.percent(60);
            if waits {
                if rng.percent(15) {
                    program.push(Turn::Send(pick(rng, STEPS)));
                }
                program.push(Turn::Send(pick(rng, WAITS)));
                match rng.below(10) {
                    0 => program.push(Turn::Close),
                    1..4 => program.push(Turn::Send(pick(rng, WAITS))),
                    4 => program.push(Turn::Send(pick(rng, STEPS))),
                    _ => {}
                }
            } else {
                let steps = 1 + rng.below(3);
                program.extend((0..steps).map(|_| Turn::Send(pick(rng, STEPS))));
            }
            programs.push(program);
        }
        Case { setup: pick(rng, SETUPS), programs }
    }

    /// Whose turn it is, step by step: every order, or some of them.
    fn orders(&self, rng: &mut Rng) -> Vec<Vec<usize>> {
        let mut orders = vec![Vec::new()];
        let left = |order: &[usize], client: usize| {
            self.programs[client].len() - order.iter().filter(|turn| **turn == client).count()
        };
        for _ in 0..self.programs.iter().map(Vec::len).sum() {
            let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
                let clients = (0..self.programs.len()).filter(|client| left(order, *client) > 0);
                clients.map(|client| [&order[..], &[client]].concat()).collect()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        while orders.len() > MAX_OF_CASE {
            orders.swap_remove(rng.below(orders.len()));
        }
        orders
    }
}

/// What came of a step.
struct Step {
    client: usize,
    turn: Turn,
    /// Of each client, in the order in which they came.
    replies: Vec<Vec<Value>>,
    /// How many clients wait behind it.
    blocked: usize,
}

/// The connections of a case to one server.
struct Side<'s> {
    server: &'s Server,
    control: Conn,
    /// With their ids.
    clients: Vec<(Conn, i64)>,
    resp3: bool,
}

impl<'s> Side<'s> {
    fn open(server: &'s Server, case: &Case, resp3: bool) -> Side<'s> {
        let mut control = server.conn();
        // Those of the case before are gone.
        eventually("nobody waits", || blocked(&mut control) == 0);
        control.call(&["FLUSHALL"]);
        for line in case.setup.split(" | ").filter(|line| !line.is_empty()) {
            control.call(&line.split(' ').collect::<Vec<_>>());
        }
        let mut side = Side { server, control, clients: Vec::new(), resp3 };
        side.clients = case.programs.iter().map(|_| side.connect()).collect();
        side
    }

    fn connect(&self) -> (Conn, i64) {
        let mut conn = if self.resp3 { self.server.conn3() } else { self.server.conn() };
        let id = conn.call(&["CLIENT", "ID"]).int().expect("an id");
        (conn, id)
    }

    /// How many replies there will be.
    fn take(&mut self, client: usize, turn: Turn) -> usize {
        let Turn::Send(lines) = turn else {
            let id = self.clients[client].1.to_string();
            self.clients[client] = self.connect();
            let control = &mut self.control;
            eventually("the client is gone", || {
                control.call(&["CLIENT", "LIST", "ID", &id]).bytes().is_some_and(<[u8]>::is_empty)
            });
            return 0;
        };
        let mut bytes = Vec::new();
        for line in lines.split(" | ") {
            bytes.extend(crate::conn::encode(&self.words(line)));
        }
        self.clients[client].0.send_raw(&bytes);
        lines.split(" | ").count()
    }

    fn words(&self, line: &str) -> Args {
        let quoted = |part: &str| vec![part.as_bytes().to_vec()];
        let plain = |part: &str| -> Args {
            let word = |word: &str| match word.strip_prefix('{').and_then(|word| word.strip_suffix('}')) {
                Some(client) => {
                    let (_, id) = &self.clients[client.parse::<usize>().unwrap() % self.clients.len()];
                    id.to_string().into_bytes()
                }
                None => word.as_bytes().to_vec(),
            };
            part.split_ascii_whitespace().map(word).collect()
        };
        line.split('"')
            .enumerate()
            .flat_map(|(at, part)| if at % 2 == 1 { quoted(part) } else { plain(part) })
            .collect()
    }

    /// Whatever has come, of a server that does one thing after the other.
    fn settle(&mut self) -> (Vec<Vec<Value>>, usize) {
        // The second answer comes from the round of its loop behind the one that served the step.
        self.control.call(&["PING"]);
        let blocked = blocked(&mut self.control);
        let all = |(conn, _): &mut (Conn, i64)| {
            std::iter::from_fn(|| conn.try_recv_ready().expect("the server answers")).collect()
        };
        (self.clients.iter_mut().map(all).collect(), blocked)
    }
}

fn blocked(control: &mut Conn) -> usize {
    let info = control.call(&["INFO", "clients"]);
    let text = String::from_utf8_lossy(info.bytes().unwrap_or_default()).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("blocked_clients:")).expect("the line");
    line.trim().parse().expect("a number")
}

/// Plays the steps in this order to redis-server.
fn ask(server: &Server, case: &Case, order: &[usize], resp3: bool) -> Vec<Step> {
    let mut side = Side::open(server, case, resp3);
    let mut at = vec![0; case.programs.len()];
    let mut owed = vec![0; case.programs.len()];
    let mut steps = Vec::new();
    for &client in order {
        let turn = case.programs[client][at[client]];
        at[client] += 1;
        // What is sent while it waits is done once it does not: of one client only, since nobody says which of two goes on first.
        if owed[client] > 0 && client > 0 && turn != Turn::Close {
            continue;
        }
        if turn == Turn::Close {
            owed[client] = 0;
        }
        owed[client] += side.take(client, turn);
        let (replies, blocked) = side.settle();
        owed.iter_mut().zip(&replies).for_each(|(owed, replies)| *owed -= replies.len());
        steps.push(Step { client, turn, replies, blocked });
    }
    steps
}

/// Plays the same steps to Tarn; what differs.
fn follow(server: &Server, case: &Case, steps: &[Step], resp3: bool) -> Result<(), String> {
    let mut side = Side::open(server, case, resp3);
    for (number, step) in steps.iter().enumerate() {
        side.take(step.client, step.turn);
        for (client, (replies, (conn, _))) in step.replies.iter().zip(&mut side.clients).enumerate() {
            for reply in replies {
                match conn.try_recv() {
                    Ok(found) if found == *reply => {}
                    Ok(found) => {
                        return Err(format!("step {number}, client {client}: {found} instead of {reply}"));
                    }
                    Err(why) => {
                        return Err(format!("step {number}, client {client}: {why} instead of {reply}"));
                    }
                }
            }
        }
        // Until whoever has nothing waits, or does not any more.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        loop {
            let found = blocked(&mut side.control);
            if found == step.blocked {
                break;
            }
            if std::time::Instant::now() > deadline {
                return Err(format!("step {number}: {found} clients wait instead of {}", step.blocked));
            }
        }
        for (client, (conn, _)) in side.clients.iter_mut().enumerate() {
            if let Ok(Some(reply)) = conn.try_recv_ready() {
                return Err(format!("step {number}, client {client}: {reply} instead of nothing"));
            }
        }
    }
    Ok(())
}

/// Whether it may be what Redis 7.2 has changed: since then a command that waited is run anew, as here. It takes the first of its keys
/// that has something, not the one that was pushed to first; a key of another type before that one refuses it; and what it says of a
/// stream or a group that is gone it says as any other command.
fn is_newer(why: &str, steps: &[Step]) -> bool {
    let lines = || {
        steps.iter().filter_map(|step| match step.turn {
            Turn::Send(line) => Some(line),
            Turn::Close => None,
        })
    };
    let waits_for_two = |line: &str| line.starts_with('B') && line.contains('l') && line.contains('m');
    let brings_two = |line: &str| {
        let is_one = line.starts_with("MULTI |") || line.starts_with("EVAL") || line.starts_with("SWAPDB");
        is_one && (line.contains("SWAPDB") || line.contains('l') && line.contains('m'))
    };
    why.contains("UNBLOCKED the stream key no longer exists")
        || why.contains("NOGROUP the consumer group this client was blocked on no longer exists")
        || why.contains(": -WRONGTYPE ") && lines().any(waits_for_two)
        || lines().any(waits_for_two) && lines().any(brings_two)
}

fn describe(case: &Case, steps: &[Step]) -> String {
    let mut lines = vec![format!("setup: {}", case.setup)];
    for (number, step) in steps.iter().enumerate() {
        let what = match step.turn {
            Turn::Send(line) => line,
            Turn::Close => "(closes)",
        };
        let replies = |(client, replies): (usize, &Vec<Value>)| -> Vec<String> {
            replies.iter().map(|reply| format!("{client}: {reply}")).collect()
        };
        let replies: Vec<String> = step.replies.iter().enumerate().flat_map(replies).collect();
        lines.push(format!(
            "{number}. client {}: {what} => {}; {} wait",
            step.client,
            replies.join(", "),
            step.blocked
        ));
    }
    lines.join("\n    ")
}

#[test]
fn differential_interleavings() {
    let wanted = env_number("TARN_DIFF_INTERLEAVINGS").map_or(DEFAULT_INTERLEAVINGS, |n| n as usize);
    let base = env_number("TARN_DIFF_SEED").or(explored(20_000_000)).unwrap_or_else(Rng::fresh_seed);
    println!("differential interleavings: {wanted} from seed {base}");
    let (mut played, mut wrong) = (0, Vec::new());
    let redis = pool::take_on_time(Program::Redis);
    let redis_is_old = {
        let info = redis.server.conn().call(&["INFO", "server"]);
        String::from_utf8_lossy(info.bytes().unwrap_or_default()).contains("redis_version:7.0.")
    };
    let mut servers: BTreeMap<Program, Server> = BTreeMap::new();
    // One worker: what is sent first is looked at first, also where a look takes a worker.
    let start = |program| match program {
        Program::Redis => Server::start(Options::new(program)),
        tarn => Server::start(Options::new(tarn).with("worker-threads", "1")),
    };
    for seed in base.. {
        if played >= wanted {
            break;
        }
        let rng = &mut Rng::new(seed);
        let case = Case::new(rng);
        let Setup { program, resp3 } = Setup::of(seed);
        let tarn = servers.entry(program).or_insert_with(|| start(program));
        let orders = case.orders(rng);
        played += orders.len();
        for order in orders {
            let steps = ask(&redis.server, &case, &order, resp3);
            let followed = follow(tarn, &case, &steps, resp3)
                .and_then(|()| play::same_data(tarn, &redis.server).map_err(|data| data.to_string()));
            if let Err(why) = followed
                && !(redis_is_old && is_newer(&why, &steps))
            {
                wrong.push(format!(
                    "{}, RESP{}, seed {seed}: {why}\n    {}",
                    program.name(),
                    if resp3 { 3 } else { 2 },
                    describe(&case, &steps)
                ));
                // One of a case is enough.
                break;
            }
        }
        assert!(wrong.len() < 40, "{}", wrong.join("\n\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    println!("differential interleavings: {played} played, no difference");
}
