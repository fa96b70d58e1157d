//! When two replies count as the same, and the table of differences that are meant.

use std::fmt;
use std::sync::LazyLock;

use super::play::{Outcome, Script, Step};
use crate::value::Value;

/// The servers run the same command at moments that a busy machine may set apart. Times in scripts are spread far wider.
const TOLERANCE_MS: i64 = 30_000;

/// A difference that is meant. Each is described in docs/differences.md, under the heading named here.
struct Difference {
    /// The heading in docs/differences.md.
    documented: &'static str,
    applies: fn(args: &[Vec<u8>], tarn: &Value, redis: &Value) -> bool,
}

const EXPECTED_DIFFERENCES: &[Difference] = &[
    Difference {
        documented: "OBJECT ENCODING",
        // Redis keeps `raw` for a string that was once changed in place, and `embstr` for the sum of floats.
        applies: |args, tarn, redis| {
            is_subcommand(args, b"ENCODING")
                && [Value::bulk("int"), Value::bulk("embstr")].contains(tarn)
                && [Value::bulk("raw"), Value::bulk("embstr")].contains(redis)
        },
    },
    Difference {
        documented: "the names of 7.0",
        applies: |args, tarn, redis| {
            is_subcommand(args, b"ENCODING")
                && ["quicklist", "hashtable", "listpack"].map(Value::bulk).contains(tarn)
                && ["listpack", "listpackex"].map(Value::bulk).contains(redis)
        },
    },
    Difference {
        documented: "`ZRANK`, `ZREVRANK` | `WITHSCORE`",
        applies: |args, _, redis| {
            let name = args[0].to_ascii_uppercase();
            (name == b"ZRANK" || name == b"ZREVRANK") && args.len() == 4 && redis.is_error()
        },
    },
    Difference {
        documented: "`hashtable` for what SDIFFSTORE left",
        applies: |args, tarn, redis| {
            is_subcommand(args, b"ENCODING")
                && *tarn == Value::bulk("intset")
                && *redis == Value::bulk("hashtable")
        },
    },
    Difference {
        documented: "`BITCOUNT`, where it has a start",
        applies: |args, _, redis| {
            args[0].eq_ignore_ascii_case(b"BITCOUNT") && args.len() == 3 && redis.is_error()
        },
    },
    Difference {
        documented: "`BITCOUNT`, `BITPOS` of a key that is missing or no string",
        applies: |args, tarn, redis| {
            let name = args[0].to_ascii_uppercase();
            let is_one = name == b"BITCOUNT" || name == b"BITPOS";
            let looked_no_further =
                matches!(tarn, Value::Int(0 | -1)) || tarn.to_string().starts_with("-WRONGTYPE");
            *IS_LATER && is_one && looked_no_further && redis.is_error()
        },
    },
    Difference {
        documented: "with as few digits as tell it apart",
        applies: |args, tarn, redis| {
            let name = args[0].to_ascii_uppercase();
            (name.starts_with(b"Z") || name.starts_with(b"GEO")) && alike(tarn, redis)
        },
    },
    Difference {
        documented: "OBJECT IDLETIME",
        applies: |args, tarn, redis| {
            is_subcommand(args, b"IDLETIME") && *tarn == Value::Int(0) && matches!(redis, Value::Int(1..))
        },
    },
    Difference {
        documented: "OBJECT REFCOUNT",
        // As its encoding: the same number, but no shared object.
        applies: |args, tarn, redis| {
            is_subcommand(args, b"REFCOUNT")
                && *tarn == Value::Int(i32::MAX.into())
                && *redis == Value::Int(1)
        },
    },
];

/// Whether the server is later than 7.0: numbers are spelt otherwise, some are not read, and some arguments are looked at earlier.
static IS_LATER: LazyLock<bool> = LazyLock::new(|| super::peer() != super::Peer::Older);

/// Whether numbers are read as 7.0 reads them. Valkey refuses those to the base of 16, Redis 8.0 some: docs/differences.md.
pub fn takes_hexadecimal() -> bool {
    !*IS_LATER
}

/// Whether two values are the same but for how numbers are spelt, where that differs.
pub fn alike(one: &Value, other: &Value) -> bool {
    one == other || *IS_LATER && same_numbers(one, other)
}

fn same_numbers(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| same_numbers(a, b))
        }
        (Value::Bulk(ours), Value::Bulk(theirs)) | (Value::Double(ours), Value::Double(theirs)) => {
            let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
            // Of places 7.0 tells 17 digits behind the point.
            let close = |ours: f64, theirs: f64| ours == theirs || (ours - theirs).abs() < 1e-16;
            ours == theirs || number(ours).zip(number(theirs)).is_some_and(|(a, b)| close(a, b))
        }
        _ => one == other,
    }
}

fn is_subcommand(args: &[Vec<u8>], name: &[u8]) -> bool {
    args[0].eq_ignore_ascii_case(b"OBJECT") && args.get(1).is_some_and(|word| word.eq_ignore_ascii_case(name))
}

#[derive(Debug, Clone)]
pub struct Mismatch {
    /// Which step; the number of steps where the data at the end differs.
    pub at: usize,
    command: String,
    tarn: String,
    redis: String,
}

impl Mismatch {
    /// Of all that the script gave.
    pub fn of_script(script: &Script, command: String, tarn: String, redis: String) -> Mismatch {
        Mismatch { at: script.steps.len(), command, tarn, redis }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    tarn:  {}\n    redis: {}", self.command, self.tarn, self.redis)
    }
}

pub fn step(at: usize, step: &Step, [tarn, redis]: [Outcome; 2]) -> Option<Mismatch> {
    let same = match (&tarn, &redis) {
        (Outcome::Reply(tarn), Outcome::Reply(redis)) => same(step, tarn, redis),
        // A server that stopped answering is a finding, also when both did.
        _ => false,
    };
    let mismatch =
        || Mismatch { at, command: step.to_line(), tarn: tarn.to_string(), redis: redis.to_string() };
    (!same).then(mismatch)
}

fn same(step: &Step, tarn: &Value, redis: &Value) -> bool {
    let args = match step {
        Step::Command(args) => args,
        Step::Multi(commands) => return same_transaction(commands, tarn, redis),
        Step::Eval(commands) => return same_calls(commands, tarn, redis),
        _ => return tarn == redis,
    };
    let name = args.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
    let alike = match name.as_slice() {
        b"KEYS" | b"HKEYS" | b"HVALS" | b"SMEMBERS" | b"SINTER" | b"SUNION" | b"SDIFF" | b"SPOP" => {
            sorted(tarn) == sorted(redis)
        }
        b"SORT" | b"SORT_RO" if comes_in_any_order(args) => sorted(tarn) == sorted(redis),
        b"HGETALL" => pairs(tarn) == pairs(redis),
        b"TTL" | b"EXPIRETIME" => close(tarn, redis, TOLERANCE_MS / 1000),
        b"PTTL" | b"PEXPIRETIME" => close(tarn, redis, TOLERANCE_MS),
        b"HTTL" | b"HEXPIRETIME" => each_close(tarn, redis, TOLERANCE_MS / 1000),
        b"HPTTL" | b"HPEXPIRETIME" => each_close(tarn, redis, TOLERANCE_MS),
        b"HELLO" => without_identity(tarn) == without_identity(redis),
        _ => tarn == redis,
    };
    alike || EXPECTED_DIFFERENCES.iter().any(|difference| (difference.applies)(args, tarn, redis))
}

/// What was said while queueing, and each reply of EXEC by the rules of its command.
fn same_transaction(commands: &[Vec<Vec<u8>>], tarn: &Value, redis: &Value) -> bool {
    let (Value::Array(tarn), Value::Array(redis)) = (tarn, redis) else { return false };
    match (tarn.split_last(), redis.split_last()) {
        (Some((Value::Array(ours), queued)), Some((Value::Array(theirs), also_queued))) => {
            queued == also_queued && each_is_same(commands, ours, theirs)
        }
        _ => tarn == redis,
    }
}

/// Each reply of a script's calls by the rules of its command.
fn same_calls(commands: &[Vec<Vec<u8>>], tarn: &Value, redis: &Value) -> bool {
    match (tarn, redis) {
        (Value::Array(ours), Value::Array(theirs)) => each_is_same(commands, ours, theirs),
        _ => tarn == redis,
    }
}

fn each_is_same(commands: &[Vec<Vec<u8>>], ours: &[Value], theirs: &[Value]) -> bool {
    let alike = |(args, (tarn, redis)): (&Vec<Vec<u8>>, _)| same(&Step::Command(args.clone()), tarn, redis);
    ours.len() == theirs.len() && commands.iter().zip(ours.iter().zip(theirs)).all(alike)
}

/// Elements of a set that are not sorted, and what is sorted by texts that may be alike.
fn comes_in_any_order(args: &[Vec<u8>]) -> bool {
    let key_is = |start: &[u8]| args.get(1).is_some_and(|key| key.starts_with(start));
    let unsorted = args.windows(2).any(|pair| pair[0] == b"BY" && !pair[1].contains(&b'*'));
    let by = args.iter().any(|word| word == b"BY");
    key_is(b"sort:") && (unsorted || by && args.iter().any(|word| word == b"ALPHA"))
}

pub fn sorted(value: &Value) -> Value {
    let in_order = |items: &[Value]| {
        let mut items = items.to_vec();
        items.sort();
        items
    };
    match value {
        Value::Array(items) => Value::Array(in_order(items)),
        Value::Set(items) => Value::Set(in_order(items)),
        other => other.clone(),
    }
}

/// Names with their values, in order of the names; from either protocol's shape.
pub fn pairs(value: &Value) -> Value {
    let mut pairs: Vec<Value> = match value {
        Value::Array(items) => items.chunks(2).map(|pair| Value::Array(pair.to_vec())).collect(),
        Value::Map(pairs) => {
            pairs.iter().map(|(name, value)| Value::Array(vec![name.clone(), value.clone()])).collect()
        }
        other => return other.clone(),
    };
    pairs.sort();
    if matches!(value, Value::Map(_)) { Value::Push(pairs) } else { Value::Array(pairs) }
}

/// Equal, or both a time (none and missing are below zero) and near each other.
fn close(tarn: &Value, redis: &Value, tolerance: i64) -> bool {
    match (tarn, redis) {
        (Value::Int(a), Value::Int(b)) if *a >= 0 && *b >= 0 => a.abs_diff(*b) <= tolerance as u64,
        _ => tarn == redis,
    }
}

fn each_close(tarn: &Value, redis: &Value, tolerance: i64) -> bool {
    match (tarn, redis) {
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| close(a, b, tolerance))
        }
        _ => tarn == redis,
    }
}

/// HELLO's reply without the connection's number and the server's version.
fn without_identity(value: &Value) -> Value {
    let flat: Vec<Value> = match value {
        Value::Array(items) => items.clone(),
        Value::Map(pairs) => pairs.iter().flat_map(|(k, v)| [k.clone(), v.clone()]).collect(),
        other => return other.clone(),
    };
    let kept = flat
        .chunks(2)
        .filter(|pair| !matches!(pair[0].bytes(), Some(b"id" | b"version")))
        .flat_map(<[Value]>::to_vec)
        .collect();
    if matches!(value, Value::Map(_)) { Value::Push(kept) } else { Value::Array(kept) }
}

/// The whole data after a script.
pub fn data(
    at: usize,
    tarn: &[(usize, Vec<u8>, Value, Value)],
    redis: &[(usize, Vec<u8>, Value, Value)],
) -> Option<Mismatch> {
    let row_same = |(a, b): (&(usize, Vec<u8>, Value, Value), &(usize, Vec<u8>, Value, Value))| {
        (a.0, &a.1) == (b.0, &b.1) && alike(&a.2, &b.2) && close(&a.3, &b.3, TOLERANCE_MS)
    };
    if tarn.len() == redis.len() && tarn.iter().zip(redis).all(row_same) {
        return None;
    }
    let show = |mine: &[(usize, Vec<u8>, Value, Value)], other: &[(usize, Vec<u8>, Value, Value)]| {
        let rows: Vec<String> = mine
            .iter()
            .filter(|row| !other.iter().any(|o| row_same((row, o))))
            .map(|(db, key, value, at)| {
                format!("db {db} {} = {value} expires {at}", crate::value::quote(key))
            })
            .collect();
        rows.join("; ")
    };
    Some(Mismatch {
        at,
        command: "the data at the end".into(),
        tarn: show(tarn, redis),
        redis: show(redis, tarn),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expected_difference_is_documented() {
        for difference in EXPECTED_DIFFERENCES {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/differences.md");
            let docs = std::fs::read_to_string(path).unwrap();
            assert!(
                docs.contains(difference.documented),
                "docs/differences.md lacks: {}",
                difference.documented
            );
        }
    }

    fn reply(line: &str, tarn: Value, redis: Value) -> Option<Mismatch> {
        let args = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        step(0, &Step::Command(args), [Outcome::Reply(tarn), Outcome::Reply(redis)])
    }

    #[test]
    fn order_and_time_are_compared_as_they_are_promised() {
        let array = |keys: &[&str]| Value::Array(keys.iter().map(Value::bulk).collect());
        assert!(reply("KEYS *", array(&["a", "b"]), array(&["b", "a"])).is_none());
        assert!(reply("KEYS *", array(&["a"]), array(&["b"])).is_some());
        assert!(reply("MGET a b", array(&["a", "b"]), array(&["b", "a"])).is_some());
        assert!(reply("PTTL k", Value::Int(100_000), Value::Int(100_300)).is_none());
        assert!(reply("PTTL k", Value::Int(100_000), Value::Int(200_000)).is_some());
        assert!(reply("PTTL k", Value::Int(-1), Value::Int(-2)).is_some());
        assert!(reply("PTTL k", Value::Int(-1), Value::Int(1)).is_some());
        assert!(reply("GET k", Value::NilBulk, Value::Null).is_some());
    }

    #[test]
    fn a_number_is_the_same_however_it_is_spelt() {
        let array = |words: &[&str]| Value::Array(words.iter().map(Value::bulk).collect());
        assert!(same_numbers(&array(&["a", "0.10000000000000001"]), &array(&["a", "0.1"])));
        assert!(same_numbers(
            &Value::Double(b"1e+17".to_vec()),
            &Value::Double(b"100000000000000000".to_vec())
        ));
        assert!(!same_numbers(&array(&["a", "0.1"]), &array(&["a", "0.2"])));
        assert!(!same_numbers(&array(&["a", "0.1"]), &array(&["b", "0.1"])));
        assert!(!same_numbers(&array(&["0.1"]), &array(&["0.1", "0.1"])));
    }

    #[test]
    fn the_data_at_the_end_counts() {
        let row = |value: &str, at: i64| vec![(0, b"k".to_vec(), Value::bulk(value), Value::Int(at))];
        assert!(data(0, &row("v", -1), &row("v", -1)).is_none());
        assert!(data(0, &row("v", -1), &row("w", -1)).is_some());
        assert!(data(0, &row("v", -1), &row("v", 50)).is_some());
        assert!(data(0, &[], &row("v", -1)).is_some());
    }
}
