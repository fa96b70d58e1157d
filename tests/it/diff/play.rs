//! Playing one script to two servers side by side.

use std::time::{Duration, Instant};

use super::compare::{self, Mismatch};
use crate::conn::{Conn, RecvError, encode};
use crate::harness::Server;
use crate::value::{Value, quote};

/// More than [`Step::Expiring`] gives to live.
const EXPIRING_MS: u64 = 10;

pub type Args = Vec<Vec<u8>>;

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Command(Args),
    /// A whole iteration with these options; the keys found, as a set.
    ScanAll(Args),
    /// RANDOMKEY: nil, or some key that exists.
    RandomKey,
    /// How many keys there are, once what has expired is gone: KEYS and DBSIZE must come to agree.
    Count,
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
            Step::RandomKey => "RANDOMKEY".into(),
            Step::Count => "KEYS * | DBSIZE".into(),
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
    let dumps = [dump(tarn), dump(redis)];
    compare::data(script.steps.len(), &dumps[0], &dumps[1])
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

fn special(conn: &mut Conn, step: &Step) -> Outcome {
    match step {
        Step::Command(args) => conn.try_call(args).into(),
        Step::ScanAll(options) => scan_all(conn, options),
        Step::RandomKey => match conn.try_call(&["RANDOMKEY"]) {
            Ok(Value::Bulk(key)) => conn.try_call(&[b"EXISTS".to_vec(), key]).into(),
            other => other.into(),
        },
        Step::Count => count(conn),
        Step::Expiring(args) => {
            let reply = conn.try_call(args);
            std::thread::sleep(Duration::from_millis(EXPIRING_MS));
            reply.into()
        }
    }
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

fn count(conn: &mut Conn) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let replies = (conn.try_call(&["KEYS", "*"]), conn.try_call(&["DBSIZE"]));
        let (Ok(Value::Array(keys)), Ok(Value::Int(size))) = &replies else {
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

/// Every key of every database: database, key, value, expiry.
fn dump(server: &Server) -> Vec<(usize, Vec<u8>, Value, Value)> {
    let mut conn = server.conn();
    let mut rows = Vec::new();
    for db in 0..16 {
        conn.call(&["SELECT".to_owned(), db.to_string()]);
        let keys = conn.call(&["KEYS", "*"]);
        for key in keys.items().unwrap_or(&[]) {
            let key = key.bytes().unwrap().to_vec();
            let value = conn.call(&[b"GET".to_vec(), key.clone()]);
            let expiry = conn.call(&[b"PEXPIRETIME".to_vec(), key.clone()]);
            rows.push((db, key, value, expiry));
        }
    }
    rows.sort();
    rows
}
