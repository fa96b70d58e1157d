//! Hashes: HSET to HSCAN.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::check::{check, check_long, check_with, check3, tarn_only};
use crate::conn::Conn;
use crate::harness::{ENGINES, Options, Server};
use crate::value::Value;

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn set_and_get() {
    check("HSET h a 1 | HGET h a | HGET h b | HLEN h", r#":1 | "1" | nil | :1"#);
    check("HSET h a 1 b 2 a 3 | HGET h a | HGET h b | HLEN h", r#":2 | "3" | "2" | :2"#);
    check("HSET h a 1 | HSET h a 2 b 3 | HGET h a", r#":1 | :1 | "2""#);
    check(r#"HSET h "" "" | HGET h "" | HLEN h | HSTRLEN h """#, r#":1 | "" | :1 | :0"#);
    check(r#"HSET "" f v | HGET "" f | TYPE """#, r#":1 | "v" | +hash"#);
    check(
        r#"HSET "k\x00\xff" "f\r\n\x00" "v\x00\xff" | HGET "k\x00\xff" "f\r\n\x00" | HGETALL "k\x00\xff" | KEYS *"#,
        r#":1 | "v\x00\xff" | ... | ["k\x00\xff"]"#,
    );
    check("HGET missing f", "nil");
    check("hset H f v | hGet H f", r#":1 | "v""#);
    check("HSET h f v | @b HGET h f | @b HSET h f w | HGET h f", r#":1 | "v" | :0 | "w""#);
    check(
        r#"HSET h f "x"*65 g "y"*4097 | HSTRLEN h f | HSTRLEN h g | HGET h f"#,
        r#":2 | :65 | :4097 | "x"*65"#,
    );
    check_long(r#"HSET h "f"*10000 v | HGET h "f"*10000 | HKEYS h"#, r#":1 | "v" | ["f"*10000]"#);
}

#[test]
fn arity() {
    check("HSET", "-ERR wrong number of arguments for 'hset' command");
    check("HSET h a", "-ERR wrong number of arguments for 'hset' command");
    check("HSET h a 1 b | EXISTS h", "-ERR wrong number of arguments for 'hset' command | :0");
    check("HMSET h a", "-ERR wrong number of arguments for 'hmset' command");
    check("HMSET h a 1 b | EXISTS h", "-ERR wrong number of arguments for 'hmset' command | :0");
    check("HGET h", "-ERR wrong number of arguments for 'hget' command");
    check("HGET h a b", "-ERR wrong number of arguments for 'hget' command");
    check("HMGET h", "-ERR wrong number of arguments for 'hmget' command");
    check("HDEL h", "-ERR wrong number of arguments for 'hdel' command");
    check("HGETALL", "-ERR wrong number of arguments for 'hgetall' command");
    check("HGETALL h a", "-ERR wrong number of arguments for 'hgetall' command");
    check("HKEYS", "-ERR wrong number of arguments for 'hkeys' command");
    check("HKEYS h a", "-ERR wrong number of arguments for 'hkeys' command");
    check("HVALS", "-ERR wrong number of arguments for 'hvals' command");
    check("HVALS h a", "-ERR wrong number of arguments for 'hvals' command");
    check("HLEN", "-ERR wrong number of arguments for 'hlen' command");
    check("HLEN h a", "-ERR wrong number of arguments for 'hlen' command");
    check("HEXISTS h", "-ERR wrong number of arguments for 'hexists' command");
    check("HEXISTS h a b", "-ERR wrong number of arguments for 'hexists' command");
    check("HSETNX h a", "-ERR wrong number of arguments for 'hsetnx' command");
    check("HSETNX h a b c", "-ERR wrong number of arguments for 'hsetnx' command");
    check("HSTRLEN h", "-ERR wrong number of arguments for 'hstrlen' command");
    check("HSTRLEN h a b", "-ERR wrong number of arguments for 'hstrlen' command");
    check("HINCRBY h a", "-ERR wrong number of arguments for 'hincrby' command");
    check("HINCRBY h a 1 2", "-ERR wrong number of arguments for 'hincrby' command");
    check("HINCRBYFLOAT h a", "-ERR wrong number of arguments for 'hincrbyfloat' command");
    check("HINCRBYFLOAT h a 1 2", "-ERR wrong number of arguments for 'hincrbyfloat' command");
    check("HRANDFIELD", "-ERR wrong number of arguments for 'hrandfield' command");
    check("HSCAN h", "-ERR wrong number of arguments for 'hscan' command");
}

#[test]
fn another_type_is_refused_and_kept() {
    for command in [
        "HSET s a 1",
        "HMSET s a 1",
        "HGET s a",
        "HMGET s a b",
        "HDEL s a",
        "HGETALL s",
        "HKEYS s",
        "HVALS s",
        "HLEN s",
        "HEXISTS s a",
        "HSETNX s a 1",
        "HSTRLEN s a",
        "HINCRBY s a 1",
        "HINCRBYFLOAT s a 1",
        "HRANDFIELD s",
        "HRANDFIELD s 0",
        "HRANDFIELD s 1 WITHVALUES",
        "HSCAN s 0",
        "HSCAN s 0 foo",
    ] {
        check(&format!("SET s x | {command} | GET s"), &format!("+OK | {WRONG} | \"x\""));
    }
    for command in ["GET h", "APPEND h x", "INCR h", "GETRANGE h 0 1", "SETBIT h 0 1", "STRLEN h"] {
        check(&format!("HSET h a 1 | {command} | HGET h a"), &format!(":1 | {WRONG} | \"1\""));
    }
    check("HSET h a 1 | MGET h | SET h x | GET h", r#":1 | [nil] | +OK | "x""#);
    check(
        "HSET h a 1 | SET h x NX | SET h y GET | SET h z XX | TYPE h",
        &format!(":1 | nil | {WRONG} | +OK | +string"),
    );
}

#[test]
fn missing_keys_are_empty() {
    check(
        "HMGET m a b | HDEL m a | HKEYS m | HVALS m | HLEN m | HEXISTS m a | HSTRLEN m a | EXISTS m",
        "[nil nil] | :0 | [] | [] | :0 | :0 | :0 | :0",
    );
    check3("HGETALL m", "[]", "{}");
    check("HRANDFIELD m | HRANDFIELD m 3 | HRANDFIELD m -3 WITHVALUES", "nil | [] | []");
    check(r#"HSCAN m 0 | HSCAN m 77 | HSCAN m 0 foo"#, r#"["0" []] | ["0" []] | ["0" []]"#);
}

#[test]
fn expired_keys_are_absent() {
    check(
        "HSET h a 1 | PEXPIRE h 1 | !time 20 | HGET h a | HLEN h | HEXISTS h a | HKEYS h | HDEL h a",
        ":1 | :1 | none | nil | :0 | :0 | [] | :0",
    );
    check(
        "HSET h a 1 b 2 | PEXPIRE h 1 | !time 20 | HSET h b 3 | HLEN h | HGET h a | TTL h",
        ":2 | :1 | none | :1 | :1 | nil | :-1",
    );
    check("HSET h a 1 | PEXPIRE h 1 | !time 20 | HSETNX h a 2 | HGET h a", r#":1 | :1 | none | :1 | "2""#);
    check("HSET h a 1 | PEXPIRE h 1 | !time 20 | HINCRBY h a 5 | TTL h", ":1 | :1 | none | :5 | :-1");
}

#[test]
fn writing_fields_keeps_the_expiry() {
    check(
        "HSET h a 1 | EXPIRE h 100 | HSET h a 2 | HSET h b 3 | HINCRBY h a 1 | HDEL h b | TTL h",
        ":1 | :1 | :0 | :1 | :3 | :1 | :99..100",
    );
    check(
        "HSET h a 1 | EXPIRE h 100 | HDEL h a | EXISTS h | HSET h a 1 | TTL h",
        ":1 | :1 | :1 | :0 | :1 | :-1",
    );
    check("HSET h a 1 | EXPIRE h 100 | PERSIST h | TTL h | HGETALL h", ":1 | :1 | :1 | :-1 | ...");
}

#[test]
fn hmset_is_hset_for_older_clients() {
    check("HMSET h a 1 b 2 a 3 | HMGET h a b c a", r#"+OK | ["3" "2" nil "3"]"#);
}

#[test]
fn hmget_of_many() {
    let fields: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
    let want: Vec<String> =
        (0..300).map(|n| if n % 3 == 0 { "nil".into() } else { format!("\"v{n}\"") }).collect();
    let pairs: Vec<String> = (0..300).filter(|n| n % 3 != 0).map(|n| format!("f{n} v{n}")).collect();
    check(
        &format!("HSET h {} | HMGET h {}", pairs.join(" "), fields.join(" ")),
        &format!(":200 | [{}]", want.join(" ")),
    );
}

#[test]
fn hdel_removes_fields_and_the_key_with_the_last() {
    check("HSET h a 1 b 2 c 3 | HDEL h a x a | HLEN h | HGET h a", ":3 | :1 | :2 | nil");
    check("HSET h a 1 b 2 | HDEL h b a c | EXISTS h | TYPE h | DBSIZE", ":2 | :2 | :0 | +none | :0");
    check("HSET h a 1 | HDEL h a a | HSET h b 2 | HKEYS h", r#":1 | :1 | :1 | ["b"]"#);
    check(r#"HSET h "" v | HDEL h "" | EXISTS h"#, ":1 | :1 | :0");
}

#[test]
fn whole_hashes() {
    check3("HSET h a 1 | HGETALL h", r#":1 | ["a" "1"]"#, r#":1 | {"a" "1"}"#);
    check3(
        "HSET h a 1 b 2 c 3 | HGETALL h",
        r#":3 | ~["a" "1" "b" "2" "c" "3"]"#,
        r#":3 | ~{"a" "1" "b" "2" "c" "3"}"#,
    );
    check("HSET h a 1 b 2 c 1 | HKEYS h | HVALS h", r#":3 | ~["a" "b" "c"] | ~["1" "2" "1"]"#);
}

#[test]
fn hexists_hstrlen_hsetnx() {
    check("HSET h a 1 | HEXISTS h a | HEXISTS h b | HSTRLEN h a | HSTRLEN h b", ":1 | :1 | :0 | :1 | :0");
    check("HSETNX h a 1 | HSETNX h a 2 | HGET h a | HSETNX h b 3 | HLEN h", r#":1 | :0 | "1" | :1 | :2"#);
    check(r#"HSET h n -12345 | HSTRLEN h n | HSETNX h "" "" | HSTRLEN h """#, ":1 | :6 | :1 | :0");
}

#[test]
fn hincrby() {
    check("HINCRBY h n 5 | HINCRBY h n -7 | HGET h n | HLEN h", r#":5 | :-2 | "-2" | :1"#);
    check(
        "HSET h n 9223372036854775806 | HINCRBY h n 1 | HINCRBY h n 1 | HGET h n",
        r#":1 | :9223372036854775807 | -ERR increment or decrement would overflow | "9223372036854775807""#,
    );
    check(
        "HINCRBY h n -9223372036854775808 | HINCRBY h n -1",
        ":-9223372036854775808 | -ERR increment or decrement would overflow",
    );
    check("HINCRBY h n x | EXISTS h", "-ERR value is not an integer or out of range | :0");
    check("SET s x | HINCRBY s n x", "+OK | -ERR value is not an integer or out of range");
    for value in ["x", r#""""#, r#"" 5""#, "1.5", "9223372036854775808", "007"] {
        check(
            &format!("HSET h n {value} | HINCRBY h n 1 | HSTRLEN h n"),
            ":1 | -ERR hash value is not an integer | ...",
        );
    }
}

#[test]
fn hincrbyfloat() {
    check(
        r#"HINCRBYFLOAT h n 5.0e3 | HINCRBYFLOAT h n 0.1 | HINCRBYFLOAT h n -5000.1 | HGET h n"#,
        r#""5000" | "5000.10000000000000009" | "0" | "0""#,
    );
    check("HINCRBYFLOAT h n abc | EXISTS h", "-ERR value is not a valid float | :0");
    check("SET s x | HINCRBYFLOAT s n abc", "+OK | -ERR value is not a valid float");
    check(
        "HINCRBYFLOAT h n inf | HINCRBYFLOAT h n -inf",
        "-ERR value is NaN or Infinity | -ERR value is NaN or Infinity",
    );
    check("HINCRBYFLOAT h n nan", "-ERR value is not a valid float");
    check("SET s x | HINCRBYFLOAT s n inf", "+OK | -ERR value is NaN or Infinity");
    for value in ["x", r#""""#, r#"" 5""#] {
        check(&format!("HSET h n {value} | HINCRBYFLOAT h n 1"), ":1 | -ERR hash value is not a float");
    }
    check("HSET h n 1e4932 | HINCRBYFLOAT h n 1e4932", ":1 | -ERR increment would produce NaN or Infinity");
    check(r#"HSET h n 3.0e3 | HINCRBYFLOAT h n 200 | HINCRBY h n 1"#, r#":1 | "3200" | :3201"#);
}

#[test]
fn hrandfield() {
    check("HSET h a 1 | HRANDFIELD h | HRANDFIELD h 5 | HRANDFIELD h 0", r#":1 | "a" | ["a"] | []"#);
    check("HSET h a 1 | HRANDFIELD h -3 | HRANDFIELD h 1", r#":1 | ["a" "a" "a"] | ["a"]"#);
    check3(
        "HSET h a 1 | HRANDFIELD h 5 WITHVALUES | HRANDFIELD h -2 withvalues",
        r#":1 | ["a" "1"] | ["a" "1" "a" "1"]"#,
        r#":1 | [["a" "1"]] | [["a" "1"] ["a" "1"]]"#,
    );
    check("HSET h a 1 b 2 c 3 | HRANDFIELD h 3 | HRANDFIELD h 9", r#":3 | ~["a" "b" "c"] | ~["a" "b" "c"]"#);
    check("HSET h a 1 | HRANDFIELD h 0 WITHVALUES | HRANDFIELD h 9223372036854775807", r#":1 | [] | ["a"]"#);
    check(
        "HSET h a 1 | HRANDFIELD h x | HRANDFIELD m x",
        ":1 | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range",
    );
    check(
        "HRANDFIELD h 1 foo | HRANDFIELD h 1 WITHVALUES x | HRANDFIELD h WITHVALUES",
        "-ERR syntax error | -ERR syntax error | -ERR value is not an integer or out of range",
    );
    check(
        "SET s x | HRANDFIELD s 1 foo | HRANDFIELD s x",
        "+OK | -ERR syntax error | -ERR value is not an integer or out of range",
    );
    check(
        "HRANDFIELD h -9223372036854775808",
        "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
    );
    check(
        "HRANDFIELD h -4611686018427387904 WITHVALUES | HRANDFIELD h 9223372036854775807 WITHVALUES | HRANDFIELD h 4611686018427387903 WITHVALUES",
        "-ERR value is out of range | -ERR value is out of range | []",
    );
    tarn_only("HSET h a 1 | HRANDFIELD h -10000001", ":1 | -ERR value is out of range");
}

#[test]
fn hscan_of_a_small_hash() {
    check("HSET h a 1 | HSCAN h 0 | HSCAN h 99 COUNT 1", r#":1 | ["0" ["a" "1"]] | ["0" ["a" "1"]]"#);
    check(
        "HSET h a1 1 a2 2 b 3 | HSCAN h 0 MATCH a* COUNT 1 | HSCAN h 0 MATCH x | HSCAN h 0 match B",
        r#":3 | ["0" ~["a1" "1" "a2" "2"]] | ["0" []] | ["0" []]"#,
    );
    check("HSET h a 1 | HSCAN h x | HSCAN m x", ":1 | -ERR invalid cursor | -ERR invalid cursor");
    check("SET s x | HSCAN s x", "+OK | -ERR invalid cursor");
    check(
        "HSET h a 1 | HSCAN h 0 foo | HSCAN h 0 COUNT | HSCAN h 0 COUNT 0 | HSCAN h 0 COUNT x | HSCAN h 0 MATCH",
        ":1 | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR value is not an integer or out of range | -ERR syntax error",
    );
    check("HSET h a 1 | HSCAN h 0 TYPE hash", ":1 | -ERR syntax error");
    tarn_only(
        "HSET h a 1 | HSCAN h 0 NOVALUES | HSCAN h 0 novalues MATCH b*",
        r#":1 | ["0" ["a"]] | ["0" []]"#,
    );
}

#[test]
fn types_and_encodings() {
    check(
        "HSET h a 1 | TYPE h | SCAN 0 TYPE hash | SCAN 0 TYPE string",
        r#":1 | +hash | ["0" ["h"]] | ["0" []]"#,
    );
    check(
        "HSET h a 1 | OBJECT ENCODING h | OBJECT REFCOUNT h | OBJECT IDLETIME h",
        r#":1 | "listpack" | :1 | :0..1"#,
    );
    check(r#"HSET h a "x"*64 | OBJECT ENCODING h"#, r#":1 | "listpack""#);
    check(r#"HSET h a "x"*65 | OBJECT ENCODING h"#, r#":1 | "hashtable""#);
    check(
        r#"HSET h "x"*65 a | HDEL h "x"*65 | HSET h a 1 | OBJECT ENCODING h"#,
        r#":1 | :1 | :1 | "listpack""#,
    );
    check(
        r#"HSET h a 1 | HSET h a "x"*65 | HSET h a 1 | OBJECT ENCODING h"#,
        r#":1 | :0 | :0 | "hashtable""#,
    );
    check(r#"HSET h a 1 | HSETNX h b "x"*65 | OBJECT ENCODING h"#, r#":1 | :1 | "hashtable""#);
    let pairs: Vec<String> = (0..512).map(|n| format!("f{n} {n}")).collect();
    check(
        &format!(
            "HSET h {} | OBJECT ENCODING h | HSET h one more | OBJECT ENCODING h | HDEL h one f1 f2 | OBJECT ENCODING h | COPY h c | OBJECT ENCODING c",
            pairs.join(" ")
        ),
        r#":512 | "listpack" | :1 | "hashtable" | :3 | "hashtable" | :1 | "hashtable""#,
    );
    check_with(
        &[("hash-max-listpack-entries", "2"), ("hash-max-listpack-value", "3")],
        "HSET h a 1 b 2 | OBJECT ENCODING h | HSET h c 3 | OBJECT ENCODING h | HSET g a 1234 | OBJECT ENCODING g",
        r#":2 | "listpack" | :1 | "hashtable" | :1 | "hashtable""#,
    );
    check(
        "HSET h a 1 b 2 | MEMORY USAGE h | MEMORY USAGE h SAMPLES 0 | MEMORY USAGE m",
        ":2 | :1..500 | :1..500 | nil",
    );
}

#[test]
fn rename_copy_and_move() {
    check(
        "HSET h a 1 b 2 | EXPIRE h 100 | RENAME h g | EXISTS h | HLEN g | HGET g b | TTL g",
        r#":2 | :1 | +OK | :0 | :2 | "2" | :99..100"#,
    );
    check(
        "HSET h a 1 | SET g x | RENAMENX h g | RENAME h g | HGET g a | DBSIZE",
        r#":1 | +OK | :0 | +OK | "1" | :1"#,
    );
    check("HSET h a 1 | COPY h g | HSET g a 2 | HGET h a | HGET g a", r#":1 | :1 | :0 | "1" | "2""#);
    check(
        "HSET h a 1 | HSET g z 9 | COPY h g | COPY h g REPLACE | HKEYS g | HLEN g",
        r#":1 | :1 | :0 | :1 | ["a"] | :1"#,
    );
    check("HSET h a 1 | MOVE h 3 | EXISTS h | SELECT 3 | HGET h a", r#":1 | :1 | :0 | +OK | "1""#);
    check("HSET h a 1 | RENAME h h | HGET h a", r#":1 | +OK | "1""#);
}

#[test]
fn a_key_that_comes_back_has_none_of_its_old_fields() {
    for gone in [
        "DEL h",
        "UNLINK h",
        "RENAME h x",
        "MOVE h 1",
        "FLUSHDB",
        "HDEL h a b",
        "EXPIRE h -1",
        "GETDEL h | SET h x | DEL h",
    ] {
        let commands = gone.split(" | ").count();
        let any = vec!["..."; commands].join(" | ");
        check(
            &format!("HSET h a 1 b 2 | {gone} | HSET h c 3 | HLEN h | HKEYS h | HGET h a"),
            &format!(":2 | {any} | :1 | :1 | [\"c\"] | nil"),
        );
    }
    check("HSET h a 1 | SET h x | DEL h | HSET h b 2 | HKEYS h", r#":1 | +OK | :1 | :1 | ["b"]"#);
}

/// Many fields in a few commands.
fn load(conn: &mut Conn, key: &str, count: usize) {
    for from in (0..count).step_by(5_000) {
        let mut args = vec!["HSET".to_owned(), key.to_owned()];
        for n in from..count.min(from + 5_000) {
            args.extend([format!("field:{n}"), format!("value:{n}")]);
        }
        assert_eq!(conn.call(&args), Value::Int((count.min(from + 5_000) - from) as i64));
    }
}

fn pairs(reply: &Value) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let flat: Vec<&[u8]> = reply.items().unwrap().iter().map(|item| item.bytes().unwrap()).collect();
    let pairs: BTreeMap<_, _> = flat.chunks(2).map(|pair| (pair[0].to_vec(), pair[1].to_vec())).collect();
    assert_eq!(pairs.len() * 2, flat.len(), "no field twice");
    pairs
}

#[test]
fn big_hashes_are_read_renamed_and_picked_from_whole() {
    const FIELDS: usize = 40_000;
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        // What is copied is written in many commits, each of which waits for a cluster.
        let mut conn = Conn::connect_patient(server.port(), Duration::from_secs(60)).unwrap();
        load(&mut conn, "big", FIELDS);
        let all = pairs(&conn.call(&["HGETALL", "big"]));
        assert_eq!(all.len(), FIELDS);
        assert!(
            all.iter().all(|(field, value)| field.split_first().is_some() && value.ends_with(&field[6..]))
        );
        assert_eq!(conn.call(&["RENAME", "big", "other"]), Value::ok());
        assert_eq!(conn.call(&["COPY", "other", "third"]), Value::Int(1));
        assert_eq!(conn.call(&["HLEN", "big"]), Value::Int(0));
        assert_eq!(pairs(&conn.call(&["HGETALL", "other"])), all);
        assert_eq!(conn.call(&["DEL", "other"]), Value::Int(1));
        assert_eq!(pairs(&conn.call(&["HGETALL", "third"])), all);

        let mut cursor = "0".to_owned();
        let mut walked = BTreeMap::new();
        let mut calls = 0;
        loop {
            let reply = conn.call(&["HSCAN", "third", &cursor, "COUNT", "1000"]);
            let [next, page] = reply.items().unwrap() else { panic!("{reply}") };
            for (field, value) in pairs(page) {
                assert!(walked.insert(field, value).is_none(), "nothing comes twice");
            }
            cursor = String::from_utf8(next.bytes().unwrap().to_vec()).unwrap();
            calls += 1;
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(walked, all);
        assert_eq!(calls, FIELDS / 1000, "{}", engine.name());

        for count in ["10", "-10", "3000", "-3000"] {
            let reply = conn.call(&["HRANDFIELD", "third", count]);
            let picked: Vec<&[u8]> =
                reply.items().unwrap().iter().map(|item| item.bytes().unwrap()).collect();
            assert_eq!(picked.len(), count.trim_start_matches('-').parse::<usize>().unwrap());
            assert!(picked.iter().all(|field| all.contains_key(*field)));
            let different: HashSet<&[u8]> = picked.iter().copied().collect();
            if !count.starts_with('-') {
                assert_eq!(different.len(), picked.len());
            }
            assert!(different.len() > picked.len() / 2);
        }
    }
}

/// What is there from the start of an iteration to its end is returned, whatever else happens meanwhile.
#[test]
fn hscan_returns_what_stays() {
    for engine in ENGINES {
        let server = Server::start(Options::new(engine));
        let (mut conn, mut other) = (server.conn(), server.conn());
        load(&mut conn, "h", 3_000);
        let mut found = HashSet::new();
        let mut cursor = "0".to_owned();
        let mut round = 0;
        loop {
            let reply = conn.call(&["HSCAN", "h", &cursor, "COUNT", "50"]);
            let [next, page] = reply.items().unwrap() else { panic!("{reply}") };
            found.extend(pairs(page).into_keys());
            cursor = String::from_utf8(next.bytes().unwrap().to_vec()).unwrap();
            if cursor == "0" {
                break;
            }
            for n in round * 20..round * 20 + 20 {
                other.call(&["HSET", "h", &format!("new:{n}"), "x"]);
                other.call(&["HDEL", "h", &format!("new:{}", n / 2)]);
                other.call(&["HSET", "h", &format!("field:{n}"), "changed"]);
            }
            round += 1;
        }
        assert!((0..3_000).all(|n| found.contains(format!("field:{n}").as_bytes())));
    }
}

#[test]
fn long_values_are_whole() {
    check(
        r#"HSET h f "x"*3000000 g "y"*100000 | HSTRLEN h f | HGET h g | COPY h c | HSTRLEN c f | RENAME c d | HGET d g"#,
        r#":2 | :3000000 | "y"*100000 | :1 | :3000000 | +OK | "y"*100000"#,
    );
}

#[test]
fn hashes_are_imported_by_their_values() {
    tarn_only(
        "HIMPORT PREPARE u a b | HIMPORT SET k u 1 2 | HMGET k a b c | HIMPORT SET k u 3 4 | HGET k b | HIMPORT PREPARE v c | HIMPORT SET k v 5 | HMGET k a b c | HIMPORT PREPARE u d | HIMPORT SET l u 6 | HMGET l a d | HIMPORT DISCARD v | HIMPORT DISCARD v | HIMPORT SET k v 1 | HIMPORT DISCARDALL | HIMPORT DISCARDALL | HIMPORT SET k u 1",
        r#"+OK | +OK | ["1" "2" nil] | +OK | "4" | +OK | +OK | [nil nil "5"] | +OK | +OK | [nil "6"] | :1 | :0 | -ERR no such fieldset | :1 | :0 | -ERR no such fieldset"#,
    );
    tarn_only(
        "HIMPORT PREPARE u a b a | HIMPORT SET k u 1 2 3 | HIMPORT PREPARE u a b | HIMPORT SET k u 1 | HIMPORT SET k u 1 2 3 | EXISTS k | SET s x | HIMPORT SET s u 1 2 | GET s | HIMPORT PREPARE u | HIMPORT SET k u | HIMPORT FOO | @other HIMPORT SET k u 1 2",
        "-ERR duplicate field name in fieldset | -ERR no such fieldset | +OK | -ERR value count does not match the number of fields in fieldset | -ERR value count does not match the number of fields in fieldset | :0 | +OK | -WRONGTYPE Operation against a key holding the wrong kind of value | \"x\" | -ERR wrong number of arguments for 'himport|prepare' command | -ERR wrong number of arguments for 'himport|set' command | -ERR unknown subcommand 'FOO'. Try HIMPORT HELP. | -ERR no such fieldset",
    );
    tarn_only(
        "HIMPORT PREPARE u a | HSET k z 1 | EXPIRE k 100 | HIMPORT SET k u 1 | TTL k | HMGET k a z | MULTI | HIMPORT SET k u 2 | HIMPORT SET k nosuch 2 | EXEC | HGET k a | EVAL \"return redis.call('himport', 'set', 'k', 'u', '1')\" 1 k | RESET | HIMPORT SET k u 1",
        r#"+OK | :1 | :1 | +OK | :-1 | ["1" nil] | +OK | +QUEUED | +QUEUED | [+OK -"ERR no such fieldset"] | "2" | -ERR no such fieldset... | +RESET | -ERR no such fieldset"#,
    );
}

#[test]
fn hsetex_minds_the_key() {
    tarn_only(
        "HSETEX k XX FIELDS 1 a 1 | EXISTS k | HSETEX k NX EX 100 FIELDS 1 a 1 | HSETEX k NX FIELDS 1 a 2 | HSETEX k XX FXX FIELDS 1 a 3 | HSETEX k XX FNX FIELDS 1 a 4 | HGET k a | HSETEX k NX XX FIELDS 1 a 1 | HSETEX k NX NX FIELDS 1 a 1 | SET s v | HSETEX s NX FIELDS 1 a 1",
        r#":0 | :0 | :1 | :0 | :1 | :0 | "3" | -ERR syntax error | :0 | +OK | -WRONGTYPE Operation against a key holding the wrong kind of value"#,
    );
}
