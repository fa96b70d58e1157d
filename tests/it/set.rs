//! Sets.

use crate::check::{check, check_long, check_with, check3, tarn_only};

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/// A line about a set, with the reply in any order; `members` are what is between the brackets.
#[track_caller]
fn check_set(line: &str, before: &str, members: &str) {
    let joined = |reply: String| if before.is_empty() { reply } else { format!("{before} | {reply}") };
    check3(line, &joined(format!("~[{members}]")), &joined(format!("#{{{members}}}")));
}

#[track_caller]
fn wrong_arity(line: &str, name: &str) {
    check(line, &format!("-ERR wrong number of arguments for '{name}' command"));
}

#[test]
fn sadd() {
    check("SADD s a", ":1");
    check("SADD s a b a | SADD s a c | SCARD s", ":2 | :1 | :3");
    check(
        r#"SADD s "" "\x00\xff\r\n" "" | SCARD s | SISMEMBER s "" | SISMEMBER s "\x00\xff\r\n""#,
        ":2 | :2 | :1 | :1",
    );
    check(r#"SADD "" a | SADD "\x00" a | DBSIZE | TYPE """#, ":1 | :1 | :2 | +set");
    check("SADD s 1 01 +1 1.0 | SCARD s", ":4 | :4");
    check("SADD s a | EXPIRE s 100 | SADD s b | TTL s", ":1 | :1 | :1 | :100");
    check(
        "SADD s a | PEXPIRE s 50 | !time 60 | SADD s b | TTL s | SCARD s",
        ":1 | :1 | none | :1 | :-1 | :1",
    );
    check("SET s x | SADD s a | GET s", &format!("+OK | {WRONG} | \"x\""));
    check(
        "SADD s a | GET s | APPEND s x | INCR s | SETBIT s 0 1",
        &format!(":1 | {WRONG} | {WRONG} | {WRONG} | {WRONG}"),
    );
    check("SADD s a | SET s x | GET s", ":1 | +OK | \"x\"");
    check_long(
        r#"SADD s "m"*65000 | SCARD s | SISMEMBER s "m"*65000 | SISMEMBER s "m"*64999"#,
        ":1 | :1 | :1 | :0",
    );
    wrong_arity("SADD s", "sadd");
    wrong_arity("SADD", "sadd");
}

#[test]
fn srem() {
    check("SADD s a b c | SREM s a x a | SCARD s | SREM s a", ":3 | :1 | :2 | :0");
    check("SADD s a b | SREM s a b | EXISTS s | DBSIZE | SADD s c | SCARD s", ":2 | :2 | :0 | :0 | :1 | :1");
    check("SADD s a | SREM s a a x | EXISTS s", ":1 | :1 | :0");
    check("SREM missing a b", ":0");
    check("SADD s a b | EXPIRE s 100 | SREM s a | TTL s", ":2 | :1 | :1 | :100");
    check("SADD s a | PEXPIRE s 50 | !time 60 | SREM s a", ":1 | :1 | none | :0");
    check(r#"SADD s "" "\x00" | SREM s "" | SISMEMBER s "" | SISMEMBER s "\x00""#, ":2 | :1 | :0 | :1");
    check("SET s x | SREM s a", &format!("+OK | {WRONG}"));
    wrong_arity("SREM s", "srem");
}

#[test]
fn smembers() {
    check_set("SADD s a b c | SMEMBERS s", ":3", r#""a" "b" "c""#);
    check_set("SMEMBERS missing", "", "");
    check_set(r#"SADD s "" "\x00\xff" "a b" | SMEMBERS s"#, ":3", r#""" "\x00\xff" "a b""#);
    check_set("SADD s 3 1 2 | SMEMBERS s", ":3", r#""1" "2" "3""#);
    check_set("SADD s a | PEXPIRE s 50 | !time 60 | SMEMBERS s", ":1 | :1 | none", "");
    check("SET s x | SMEMBERS s", &format!("+OK | {WRONG}"));
    wrong_arity("SMEMBERS", "smembers");
    wrong_arity("SMEMBERS s t", "smembers");
}

#[test]
fn membership() {
    check("SADD s a b | SISMEMBER s a | SISMEMBER s c | SISMEMBER missing a", ":2 | :1 | :0 | :0");
    check("SADD s a b | SMISMEMBER s a x b a | SMISMEMBER missing a b", ":2 | [:1 :0 :1 :1] | [:0 :0]");
    check(r#"SADD s "" | SMISMEMBER s "" "\x00""#, ":1 | [:1 :0]");
    check(
        "SADD s a | PEXPIRE s 50 | !time 60 | SISMEMBER s a | SMISMEMBER s a",
        ":1 | :1 | none | :0 | [:0]",
    );
    check("SADD s 1 | SISMEMBER s 1 | SISMEMBER s 01 | SISMEMBER s -1", ":1 | :1 | :0 | :0");
    check("SET s x | SISMEMBER s a | SMISMEMBER s a", &format!("+OK | {WRONG} | {WRONG}"));
    wrong_arity("SISMEMBER s", "sismember");
    wrong_arity("SISMEMBER s a b", "sismember");
    wrong_arity("SMISMEMBER s", "smismember");
}

#[test]
fn scard() {
    check("SCARD missing | SADD s a b | SCARD s", ":0 | :2 | :2");
    check("SADD s a | PEXPIRE s 50 | !time 60 | SCARD s", ":1 | :1 | none | :0");
    check("SET s x | SCARD s", &format!("+OK | {WRONG}"));
    wrong_arity("SCARD", "scard");
    wrong_arity("SCARD s t", "scard");
}

#[test]
fn smove() {
    check_set("SADD a 1 2 | SADD b 3 | SMOVE a b 1 | SMEMBERS b", ":2 | :1 | :1", r#""1" "3""#);
    check("SADD a 1 2 | SMOVE a b 1 | SCARD a | SCARD b", ":2 | :1 | :1 | :1");
    check("SADD a 1 | SMOVE a b 1 | EXISTS a b | SISMEMBER b 1", ":1 | :1 | :1 | :1");
    check("SADD a 1 | SADD b 1 | SMOVE a b 1 | EXISTS a | SCARD b", ":1 | :1 | :1 | :0 | :1");
    check("SADD a 1 | SMOVE a b 9 | EXISTS b | SMOVE missing b 1 | EXISTS b", ":1 | :0 | :0 | :0 | :0");
    check("SADD a 1 | SMOVE a a 1 | SMOVE a a 9 | SCARD a", ":1 | :1 | :0 | :1");
    check(
        "SADD a 1 2 | SADD b 3 | EXPIRE a 100 | EXPIRE b 200 | SMOVE a b 1 | TTL a | TTL b",
        ":2 | :1 | :1 | :1 | :1 | :100 | :200",
    );
    check(
        "SADD a 1 | SADD b 2 | PEXPIRE b 50 | !time 60 | SMOVE a b 1 | SCARD b | TTL b",
        ":1 | :1 | :1 | none | :1 | :1 | :-1",
    );
    check("SADD a 1 | PEXPIRE a 50 | !time 60 | SMOVE a b 1 | EXISTS b", ":1 | :1 | none | :0 | :0");
    check(
        "SET s x | SADD a 1 | SMOVE a s 1 | SMOVE a s 9 | SMOVE s a 1 | SMOVE s s 1 | SCARD a",
        &format!("+OK | :1 | {WRONG} | {WRONG} | {WRONG} | {WRONG} | :1"),
    );
    check("SET s x | SMOVE missing s 1", "+OK | :0");
    check(r#"SADD a "" | SMOVE a b "" | SISMEMBER b """#, ":1 | :1 | :1");
    wrong_arity("SMOVE a b", "smove");
    wrong_arity("SMOVE a b c d", "smove");
}

#[test]
fn spop() {
    check("SADD s a | SPOP s | EXISTS s | SPOP s", ":1 | \"a\" | :0 | nil");
    check("SADD s a b c | SPOP s | SCARD s", ":3 | %\"...\" | :2");
    check_set("SADD s a b c | SPOP s 3", ":3", r#""a" "b" "c""#);
    check_set(
        "SADD s a b c | EXPIRE s 100 | SPOP s 2 | TTL s | SCARD s | SPOP s 100",
        ":3 | :1 | ... | :100 | :1",
        "...",
    );
    check_set("SADD s a b c | SPOP s 0", ":3", "");
    check_set("SPOP missing 0", "", "");
    check_set("SPOP missing 5", "", "");
    check("SPOP missing", "nil");
    check("SADD s a b c | SPOP s 9223372036854775807 | EXISTS s", ":3 | ... | :0");
    check(r#"SADD s "" | SPOP s | SADD s "\x00\xff" | SPOP s"#, r#":1 | "" | :1 | "\x00\xff""#);
    check("SADD s a | PEXPIRE s 50 | !time 60 | SPOP s", ":1 | :1 | none | nil");
    let positive = "-ERR value is out of range, must be positive";
    check(
        "SADD s a | SPOP s -1 | SPOP s x | SPOP s 9223372036854775808 | SPOP missing -1 | SCARD s",
        &format!(":1 | {positive} | {positive} | {positive} | {positive} | :1"),
    );
    check("SADD s a | SPOP s 1 1 | SPOP s x y", ":1 | -ERR syntax error | -ERR syntax error");
    check(
        "SET s x | SPOP s | SPOP s 0 | SPOP s 1 | SPOP s -1",
        &format!("+OK | {WRONG} | {WRONG} | {WRONG} | {positive}"),
    );
    wrong_arity("SPOP", "spop");
}

#[test]
fn srandmember() {
    check(
        "SADD s a | SRANDMEMBER s | SRANDMEMBER s 5 | SRANDMEMBER s -3 | SCARD s",
        r#":1 | "a" | ["a"] | ["a" "a" "a"] | :1"#,
    );
    check("SADD s a b c | SRANDMEMBER s 3 | SRANDMEMBER s 10", r#":3 | ~["a" "b" "c"] | ~["a" "b" "c"]"#);
    check(
        "SADD s a b c | SRANDMEMBER s | SRANDMEMBER s 2 | SRANDMEMBER s -4",
        r#":3 | %"..." | [... ...] | [... ... ... ...]"#,
    );
    check(
        "SADD s a | SRANDMEMBER s 0 | SRANDMEMBER missing 3 | SRANDMEMBER missing -3 | SRANDMEMBER missing",
        ":1 | [] | [] | [] | nil",
    );
    check("SADD s a b | SRANDMEMBER s 9223372036854775807", r#":2 | ~["a" "b"]"#);
    check(r#"SADD s "" | SRANDMEMBER s | SRANDMEMBER s 1"#, r#":1 | "" | [""]"#);
    check(
        "SADD s a | PEXPIRE s 50 | !time 60 | SRANDMEMBER s | SRANDMEMBER s 1",
        ":1 | :1 | none | nil | []",
    );
    check(
        "SRANDMEMBER s -9223372036854775808",
        "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
    );
    check(
        "SRANDMEMBER s x | SRANDMEMBER s 1 1",
        "-ERR value is not an integer or out of range | -ERR syntax error",
    );
    check("SRANDMEMBER s 9223372036854775808", "-ERR value is not an integer or out of range");
    check(
        "SET s x | SRANDMEMBER s | SRANDMEMBER s 0 | SRANDMEMBER s 1",
        &format!("+OK | {WRONG} | {WRONG} | {WRONG}"),
    );
    tarn_only("SADD s a | SRANDMEMBER s -10000001", ":1 | -ERR value is out of range");
    wrong_arity("SRANDMEMBER", "srandmember");
}

#[test]
fn sscan() {
    check("SADD s a b c | SSCAN s 0", r#":3 | ["0" ~["a" "b" "c"]]"#);
    check(
        "SADD s 1 2 3 | SSCAN s 0 COUNT 1 | SSCAN s 99",
        r#":3 | ["0" ~["1" "2" "3"]] | ["0" ~["1" "2" "3"]]"#,
    );
    check("SSCAN missing 0 | SSCAN missing 7", r#"["0" []] | ["0" []]"#);
    check("SADD s aa ab b | SSCAN s 0 MATCH a*", r#":3 | ["0" ~["aa" "ab"]]"#);
    check("SADD s a b | SSCAN s 0 COUNT 100 MATCH x", r#":2 | ["0" []]"#);
    check(r#"SADD s "" "\x00" | SSCAN s 0"#, r#":2 | ["0" ~["" "\x00"]]"#);
    check("SADD s a | PEXPIRE s 50 | !time 60 | SSCAN s 0", r#":1 | :1 | none | ["0" []]"#);
    check(
        "SSCAN s a | SSCAN missing 0 foo | SSCAN missing 0 COUNT 0",
        r#"-ERR invalid cursor | ["0" []] | ["0" []]"#,
    );
    check(
        "SADD s a | SSCAN s 0 COUNT 0 | SSCAN s 0 MATCH | SSCAN s 0 TYPE set | SSCAN s 0 NOVALUES",
        ":1 | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error",
    );
    check("SADD s a | SSCAN s 0 COUNT x", ":1 | -ERR value is not an integer or out of range");
    check("SET s x | SSCAN s 0 | SSCAN s x", &format!("+OK | {WRONG} | -ERR invalid cursor"));
    wrong_arity("SSCAN s", "sscan");
}

#[test]
fn encoding() {
    check(
        "SADD s 1 2 3 | OBJECT ENCODING s | SADD s x | OBJECT ENCODING s | SREM s x | OBJECT ENCODING s",
        ":3 | \"intset\" | :1 | \"hashtable\" | :1 | \"hashtable\"",
    );
    check(
        "SADD s x | OBJECT ENCODING s | SADD t 1 x | OBJECT ENCODING t",
        ":1 | \"hashtable\" | :2 | \"hashtable\"",
    );
    check("SADD s 9223372036854775807 -9223372036854775808 | OBJECT ENCODING s", ":2 | \"intset\"");
    check("SADD s 9223372036854775808 | OBJECT ENCODING s", ":1 | \"hashtable\"");
    check(
        "SADD s 01 | OBJECT ENCODING s | SADD t -0 | OBJECT ENCODING t",
        ":1 | \"hashtable\" | :1 | \"hashtable\"",
    );
    check(
        "SADD a 1 2 x | SADD b 1 2 y | SINTERSTORE c a b | OBJECT ENCODING c | SUNIONSTORE c a | OBJECT ENCODING c",
        ":3 | :3 | :2 | \"intset\" | :3 | \"hashtable\"",
    );
    check(
        "SADD a 1 x | SMOVE a b 1 | OBJECT ENCODING b | SMOVE a b x | OBJECT ENCODING b",
        ":2 | :1 | \"intset\" | :1 | \"hashtable\"",
    );
    // A few that stay are a set of their own.
    check("SADD s 1 2 3 4 5 6 x | SREM s x | SPOP s 5 | OBJECT ENCODING s", ":7 | :1 | ... | \"intset\"");
    check("SADD s 1 2 3 4 5 6 x | SREM s x | SPOP s 4 | OBJECT ENCODING s", ":7 | :1 | ... | \"hashtable\"");
    let options = [("set-max-intset-entries", "3")];
    check_with(
        &options,
        "SADD s 1 2 3 | OBJECT ENCODING s | SADD s 4 | OBJECT ENCODING s | SREM s 4 | OBJECT ENCODING s",
        ":3 | \"intset\" | :1 | \"hashtable\" | :1 | \"hashtable\"",
    );
    check_with(
        &options,
        "SADD s 1 2 | SADD t 3 4 | SUNIONSTORE d s t | OBJECT ENCODING d | SUNIONSTORE d s | OBJECT ENCODING d",
        ":2 | :2 | :4 | \"hashtable\" | :2 | \"intset\"",
    );
}

#[test]
fn whole_sets_move_and_are_copied() {
    check_set(
        "SADD s a 1 | EXPIRE s 100 | RENAME s t | TTL t | EXISTS s | SMEMBERS t",
        ":2 | :1 | +OK | :100 | :0",
        r#""a" "1""#,
    );
    check_set(
        "SADD s a 1 | SET t x | COPY s t | COPY s t REPLACE | SADD t b | SCARD s | SMEMBERS t",
        ":2 | +OK | :0 | :1 | :1 | :2",
        r#""a" "1" "b""#,
    );
    check_set(
        "SADD s 1 2 | COPY s t DB 1 | MOVE s 2 | EXISTS s | SELECT 2 | SMEMBERS s",
        ":2 | :1 | :1 | :0 | +OK",
        r#""1" "2""#,
    );
    check(
        "SADD s 1 2 | COPY s t | OBJECT ENCODING t | SADD s x | COPY s t REPLACE | OBJECT ENCODING t",
        ":2 | :1 | \"intset\" | :1 | :1 | \"hashtable\"",
    );
    check(
        "SADD s a | RENAMENX s t | SADD s b | RENAMENX s t | SCARD t | TYPE t",
        ":1 | :1 | :1 | :0 | :1 | +set",
    );
    check("SADD s a | DEL s | SADD s b | SCARD s | UNLINK s | DBSIZE", ":1 | :1 | :1 | :1 | :1 | :0");
}
