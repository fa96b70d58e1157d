//! Playing one script to two servers side by side.

use std::time::{Duration, Instant};

use super::compare::{self, Mismatch};
use crate::conn::{Conn, RecvError, encode};
use crate::harness::Server;
use crate::value::{Value, quote};

/// More than [`Step::Expiring`] gives to live.
const EXPIRING_MS: u64 = 10;

/// As many as both servers have by default.
pub const DATABASES: usize = 16;

pub type Args = Vec<Vec<u8>>;

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Command(Args),
    /// A whole iteration with these options; the keys found, as a set.
    ScanAll(Args),
    /// A whole iteration over a collection: the command, the key and the options; what was found, as a set.
    Walk(Args),
    /// Random elements: the command, the key and more; how many came, how many differ, and how many there are.
    Pick(Args),
    /// As [`Step::Pick`] where elements are taken out; the key is deleted behind it, because what stays is left to chance.
    Pop(Args),
    /// RANDOMKEY: nil, or some key that exists.
    RandomKey,
    /// How many keys there are, once what has expired is gone: KEYS and DBSIZE must come to agree.
    Count,
    /// Commands in a transaction; all replies, that of EXEC last.
    Multi(Vec<Args>),
    /// Commands in a Lua script, which returns all replies.
    Eval(Vec<Args>),
    /// DUMP of one key, RESTORE as another: both, and options.
    Dumped(Args),
    /// A command that gives a key a few milliseconds, and the time for them to pass.
    Expiring(Args),
}

#[derive(Debug, Clone)]
pub struct Script {
    pub steps: Vec<Step>,
    /// How many commands at most go in one write, in turn.
    pub groups: Vec<usize>,
}

impl Step {
    /// As in a wire line.
    pub fn to_line(&self) -> String {
        let words = |args: &[Vec<u8>]| args.iter().map(|a| word(a)).collect::<Vec<_>>().join(" ");
        match self {
            Step::Command(args) => words(args),
            Step::ScanAll(options) => format!("SCAN 0 COUNT 100000 {}", words(options)).trim_end().to_owned(),
            Step::Walk(args) => {
                let (command, options) = args.split_at(2);
                format!("{} 0 {}", words(command), words(options)).trim_end().to_owned()
            }
            Step::Pick(args) => words(args),
            Step::Pop(args) => format!("{} | DEL {}", words(args), word(&args[1])),
            Step::RandomKey => "RANDOMKEY".into(),
            Step::Count => "KEYS * | DBSIZE".into(),
            Step::Multi(commands) => {
                let lines: Vec<String> = commands.iter().map(|args| words(args)).collect();
                format!("MULTI | {} | EXEC", lines.join(" | "))
            }
            Step::Eval(commands) => words(&eval_args(commands)),
            Step::Dumped(args) => {
                format!("DUMP {} | RESTORE {} ... {}", word(&args[0]), word(&args[1]), words(&args[2..]))
            }
            Step::Expiring(args) => format!("{} | !time {EXPIRING_MS}", words(args)),
        }
    }
}

fn word(arg: &[u8]) -> String {
    let plain = !arg.is_empty()
        && arg.iter().all(|b| b.is_ascii_graphic() && !b"\"'\\|".contains(b))
        && !b"@!".contains(&arg[0]);
    if plain && arg.len() < 100 { String::from_utf8(arg.to_vec()).unwrap() } else { quote(arg) }
}

/// What one step gave on one server.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Reply(Value),
    Broken(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Reply(value) => value.fmt(f),
            Outcome::Broken(why) => write!(f, "({why})"),
        }
    }
}

impl From<Result<Value, RecvError>> for Outcome {
    fn from(reply: Result<Value, RecvError>) -> Outcome {
        match reply {
            Ok(value) => Outcome::Reply(value),
            Err(why) => Outcome::Broken(why.to_string()),
        }
    }
}

/// The first difference, if there is one.
pub fn compare(tarn: &mut Server, redis: &mut Server, resp3: bool, script: &Script) -> Option<Mismatch> {
    let mut sides = [open(tarn, resp3), open(redis, resp3)];
    let mut at = 0;
    let mut group = 0;
    while at < script.steps.len() {
        let size = script.groups[group % script.groups.len()];
        group += 1;
        let batch: Vec<&Args> = script.steps[at..]
            .iter()
            .take(size)
            .map_while(|step| match step {
                Step::Command(args) => Some(args),
                _ => None,
            })
            .collect();
        if batch.is_empty() {
            let step = &script.steps[at];
            let outcomes = sides.each_mut().map(|conn| special(conn, step));
            if let Some(mismatch) = compare::step(at, step, outcomes) {
                return Some(mismatch);
            }
            at += 1;
            continue;
        }
        let bytes: Vec<u8> = batch.iter().flat_map(|args| encode(args)).collect();
        // To both before reading from either, so that their clocks are as close as can be.
        for conn in &mut sides {
            // A failure shows as the missing reply.
            let _ = conn.try_send_raw(&bytes);
        }
        for i in 0..batch.len() {
            let outcomes = sides.each_mut().map(|conn| Outcome::from(conn.try_recv()));
            if let Some(mismatch) = compare::step(at + i, &script.steps[at + i], outcomes) {
                return Some(mismatch);
            }
        }
        at += batch.len();
    }
    difference(tarn, redis, script.steps.len())
}

/// How the data of two servers differ, after so many steps.
pub fn difference(tarn: &Server, redis: &Server, steps: usize) -> Option<Mismatch> {
    compare::data(steps, &dump(tarn), &dump(redis))
}

/// What differs in the data of both, if anything does.
pub fn same_data(tarn: &Server, redis: &Server) -> Result<(), Mismatch> {
    compare::data(0, &dump(tarn), &dump(redis)).map_or(Ok(()), Err)
}

fn open(server: &Server, resp3: bool) -> Conn {
    let mut conn = server.conn();
    let reply = conn.call(&["FLUSHALL"]);
    assert_eq!(reply, Value::ok(), "FLUSHALL");
    if resp3 {
        conn.hello3();
    }
    conn
}

pub fn special(conn: &mut Conn, step: &Step) -> Outcome {
    match step {
        Step::Command(args) => conn.try_call(args).into(),
        Step::ScanAll(options) => scan_all(conn, options),
        Step::Walk(args) => walk(conn, args),
        Step::Pick(args) => pick(conn, args),
        Step::Pop(args) => pop(conn, args),
        Step::RandomKey => match conn.try_call(&["RANDOMKEY"]) {
            Ok(Value::Bulk(key)) => conn.try_call(&[b"EXISTS".to_vec(), key]).into(),
            other => other.into(),
        },
        Step::Count => count(conn),
        Step::Multi(commands) => multi(conn, commands),
        Step::Eval(commands) => conn.try_call(&eval_args(commands)).into(),
        Step::Dumped(args) => match conn.try_call(&[b"DUMP".to_vec(), args[0].clone()]) {
            Ok(Value::Bulk(payload)) => {
                let restore = [b"RESTORE".to_vec(), args[1].clone(), args[2].clone(), payload];
                conn.try_call(&[&restore, &args[3..]].concat()).into()
            }
            other => other.into(),
        },
        Step::Expiring(args) => {
            let reply = conn.try_call(args);
            std::thread::sleep(Duration::from_millis(EXPIRING_MS));
            reply.into()
        }
    }
}

/// Calls one command after the other. Each stands in ARGV behind the number of its words.
const CALL_EACH: &str = "local out, at = {}, 1 \
    while at <= #ARGV do \
        local words = {} \
        for i = 1, ARGV[at] do words[i] = ARGV[at + i] end \
        out[#out + 1] = redis.pcall(unpack(words)) \
        at = at + #words + 1 \
    end \
    return out";

fn eval_args(commands: &[Args]) -> Args {
    let mut args = vec![b"EVAL".to_vec(), CALL_EACH.into(), b"0".to_vec()];
    for command in commands {
        args.push(command.len().to_string().into_bytes());
        args.extend_from_slice(command);
    }
    args
}

fn multi(conn: &mut Conn, commands: &[Args]) -> Outcome {
    let mut all = vec![vec![b"MULTI".to_vec()]];
    all.extend_from_slice(commands);
    all.push(vec![b"EXEC".to_vec()]);
    let bytes: Vec<u8> = all.iter().flat_map(|args| encode(args)).collect();
    // A failure shows as the missing reply.
    let _ = conn.try_send_raw(&bytes);
    let replies: Result<Vec<Value>, RecvError> = all.iter().map(|_| conn.try_recv()).collect();
    replies.map(Value::Array).into()
}

fn scan_all(conn: &mut Conn, options: &[Vec<u8>]) -> Outcome {
    let mut found = Vec::new();
    let mut cursor = b"0".to_vec();
    for _ in 0..100_000 {
        let mut args = vec![b"SCAN".to_vec(), cursor];
        args.extend_from_slice(options);
        let reply = match conn.try_call(&args) {
            Ok(reply) => reply,
            Err(why) => return Err(why).into(),
        };
        let [Value::Bulk(next), Value::Array(keys)] = reply.items().unwrap_or(&[]) else {
            return Outcome::Reply(reply);
        };
        found.extend_from_slice(keys);
        if next == b"0" {
            found.sort();
            found.dedup();
            return Outcome::Reply(Value::Array(found));
        }
        cursor = next.clone();
    }
    Outcome::Broken("SCAN does not come to an end".into())
}

fn walk(conn: &mut Conn, args: &[Vec<u8>]) -> Outcome {
    let (command, options) = args.split_at(2);
    // Names only, or names with what belongs to them.
    let names_only = options.iter().any(|word| word == b"NOVALUES" || word == b"NOSCORES");
    let unit = if command[0] == b"SSCAN" || names_only { 1 } else { 2 };
    let mut found = Vec::new();
    let mut cursor = b"0".to_vec();
    for _ in 0..100_000 {
        let reply = match conn.try_call(&[command, &[cursor], options].concat()) {
            Ok(reply) => reply,
            Err(why) => return Err(why).into(),
        };
        let [Value::Bulk(next), Value::Array(page)] = reply.items().unwrap_or(&[]) else {
            return Outcome::Reply(reply);
        };
        found.extend(page.chunks(unit).map(|element| Value::Array(element.to_vec())));
        if next == b"0" {
            found.sort();
            found.dedup();
            return Outcome::Reply(Value::Array(found));
        }
        cursor = next.clone();
    }
    Outcome::Broken("the iteration does not come to an end".into())
}

/// How to ask whether elements are there.
const ASK: &[(&[u8], &[u8])] = &[
    (b"HRANDFIELD", b"HMGET"),
    (b"ZRANDMEMBER", b"ZMSCORE"),
    (b"SRANDMEMBER", b"SMISMEMBER"),
    (b"SPOP", b"SMISMEMBER"),
];

fn pick(conn: &mut Conn, args: &[Vec<u8>]) -> Outcome {
    let reply = match conn.try_call(args) {
        Ok(reply) => reply,
        Err(why) => return Err(why).into(),
    };
    let with_values = args.get(3).is_some_and(|word| word == b"WITHVALUES" || word == b"WITHSCORES");
    let names: Vec<Vec<u8>> = match &reply {
        Value::Bulk(name) => vec![name.clone()],
        Value::Array(items) | Value::Set(items) => {
            let flat = items.iter().flat_map(|item| item.items().unwrap_or(std::slice::from_ref(item)));
            let names = flat.step_by(if with_values { 2 } else { 1 });
            names.filter_map(|name| name.bytes().map(<[u8]>::to_vec)).collect()
        }
        _ => return Outcome::Reply(reply),
    };
    let mut different = names.clone();
    different.sort();
    different.dedup();
    // How many are the same of those that may be is left to chance.
    let different =
        if args.get(2).is_some_and(|count| count.starts_with(b"-")) { 0 } else { different.len() };
    let ask = ASK.iter().find(|(command, _)| *command == args[0]).expect("a command of the table").1;
    let mut there = 0;
    if !names.is_empty() {
        let question = [&[ask.to_vec(), args[1].clone()], names.as_slice()].concat();
        let reply = match conn.try_call(&question) {
            Ok(reply) => reply,
            Err(why) => return Err(why).into(),
        };
        let is_there =
            |item: &&Value| item.bytes().is_some() || matches!(item, Value::Int(1) | Value::Double(_));
        there = reply.items().unwrap_or(&[]).iter().filter(is_there).count();
    }
    Outcome::Reply(Value::Array([names.len(), different, there].map(|n| Value::Int(n as i64)).to_vec()))
}

fn pop(conn: &mut Conn, args: &[Vec<u8>]) -> Outcome {
    let Outcome::Reply(picked) = pick(conn, args) else { return Outcome::Broken("no picks".into()) };
    let questions = ["TYPE", "SCARD", "PERSIST", "DEL"].map(|command| [command.as_bytes(), &args[1]]);
    let rest = match conn.try_call_all(&questions) {
        Ok(replies) => replies,
        Err(why) => return Err(why).into(),
    };
    Outcome::Reply(Value::Array([vec![picked], rest].concat()))
}

fn count(conn: &mut Conn) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let replies = conn.try_call_all(&[&["KEYS", "*"][..], &["DBSIZE"]]);
        let Ok([Value::Array(keys), Value::Int(size)]) = replies.as_deref() else {
            return Outcome::Broken(format!("{replies:?}"));
        };
        if keys.len() as i64 == *size {
            return Outcome::Reply(Value::Int(*size));
        }
        if Instant::now() > deadline {
            return Outcome::Broken(format!("{} keys, but DBSIZE says {size}", keys.len()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The command that shows what a key of this type holds.
pub fn content(kind: &Value, key: &[u8]) -> Args {
    let words: &[&str] = match kind {
        Value::Simple(kind) => match kind.as_slice() {
            b"hash" => &["HGETALL"],
            b"set" => &["SMEMBERS"],
            b"list" => &["LRANGE", "0", "-1"],
            b"zset" => &["ZRANGE", "0", "-1", "WITHSCORES"],
            b"stream" => &["XRANGE", "-", "+"],
            _ => &["GET"],
        },
        other => panic!("TYPE answered {other}"),
    };
    let (name, rest) = words.split_first().expect("a name");
    let rest = rest.iter().map(|word| word.as_bytes().to_vec());
    [name.as_bytes().to_vec(), key.to_vec()].into_iter().chain(rest).collect()
}

/// What a key holds, in an order of its own where Redis promises none.
pub fn in_order(kind: &Value, content: &Value) -> Value {
    match kind {
        Value::Simple(kind) if kind == b"hash" => compare::pairs(content),
        Value::Simple(kind) if kind == b"set" => compare::sorted(content),
        _ => content.clone(),
    }
}

/// Every key of every database: database, key, value, expiry. Asked for in few round trips: this is done for each script.
fn dump(server: &Server) -> Vec<(usize, Vec<u8>, Value, Value)> {
    let mut conn = server.conn();
    let mut rows = Vec::new();
    let select = |db: usize| vec![b"SELECT".to_vec(), db.to_string().into_bytes()];
    let all: Vec<Args> =
        (0..DATABASES).flat_map(|db| [select(db), vec![b"KEYS".to_vec(), b"*".to_vec()]]).collect();
    let names = conn.call_all(&all);
    for (db, pair) in names.chunks(2).enumerate() {
        let keys: Vec<Vec<u8>> =
            pair[1].items().unwrap_or(&[]).iter().map(|key| key.bytes().unwrap().to_vec()).collect();
        if keys.is_empty() {
            continue;
        }
        conn.call(&select(db));
        let questions: Vec<Args> = keys
            .iter()
            .flat_map(|key| ["TYPE", "PEXPIRETIME"].map(|name| vec![name.as_bytes().to_vec(), key.clone()]))
            .collect();
        let facts = conn.call_all(&questions);
        let facts: Vec<(&Value, &Value)> = facts.chunks(2).map(|fact| (&fact[0], &fact[1])).collect();
        let questions: Vec<Args> =
            keys.iter().zip(&facts).map(|(key, (kind, _))| content(kind, key)).collect();
        let contents = conn.call_all(&questions);
        for ((key, (kind, expiry)), content) in keys.into_iter().zip(facts).zip(contents) {
            rows.push((db, key, in_order(kind, &content), expiry.clone()));
        }
    }
    rows.sort();
    rows
}
