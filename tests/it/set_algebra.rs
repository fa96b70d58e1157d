//! Sets made of sets.

use crate::check::{check, check3, tarn_only};

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const THREE: &str = "SADD a 1 2 3 4 | SADD b 2 3 x | SADD c 3 x y";
const ADDED: &str = ":4 | :3 | :3";

/// A command over three sets, with its reply in any order.
#[track_caller]
fn check_of_three(command: &str, members: &str) {
    let line = format!("{THREE} | {command}");
    check3(&line, &format!("{ADDED} | ~[{members}]"), &format!("{ADDED} | #{{{members}}}"));
}

#[track_caller]
fn check_after_three(line: &str, replies: &str) {
    check(&format!("{THREE} | {line}"), &format!("{ADDED} | {replies}"));
}

#[track_caller]
fn wrong_arity(line: &str, name: &str) {
    check(line, &format!("-ERR wrong number of arguments for '{name}' command"));
}

#[test]
fn sinter() {
    check_of_three("SINTER a b", r#""2" "3""#);
    check_of_three("SINTER a b c", r#""3""#);
    check_of_three("SINTER c b a", r#""3""#);
    check_of_three("SINTER a", r#""1" "2" "3" "4""#);
    check_of_three("SINTER b b b", r#""2" "3" "x""#);
    check_of_three("SINTER a missing", "");
    check_of_three("SINTER missing a", "");
    check_of_three("SINTER missing", "");
    check_after_three(
        "SET s v | SINTER a s | SINTER missing s | SINTER s",
        &format!("+OK | {WRONG} | {WRONG} | {WRONG}"),
    );
    wrong_arity("SINTER", "sinter");
}

#[test]
fn sunion() {
    check_of_three("SUNION a b c", r#""1" "2" "3" "4" "x" "y""#);
    check_of_three("SUNION c a missing a", r#""1" "2" "3" "4" "x" "y""#);
    check_of_three("SUNION b", r#""2" "3" "x""#);
    check_of_three("SUNION missing", "");
    check_after_three("SET s v | SUNION a s | SUNION missing s", &format!("+OK | {WRONG} | {WRONG}"));
    wrong_arity("SUNION", "sunion");
}

#[test]
fn sdiff() {
    check_of_three("SDIFF a b", r#""1" "4""#);
    check_of_three("SDIFF a b c", r#""1" "4""#);
    check_of_three("SDIFF c a", r#""x" "y""#);
    check_of_three("SDIFF c a b", r#""y""#);
    check_of_three("SDIFF a", r#""1" "2" "3" "4""#);
    check_of_three("SDIFF a a", "");
    check_of_three("SDIFF a missing", r#""1" "2" "3" "4""#);
    check_of_three("SDIFF missing a", "");
    check_after_three(
        "SET s v | SDIFF a s | SDIFF missing s | SDIFF a a s",
        &format!("+OK | {WRONG} | {WRONG} | {WRONG}"),
    );
    wrong_arity("SDIFF", "sdiff");
}

#[test]
fn members_of_any_bytes() {
    check3(
        r#"SADD a "" "\x00" "\xff\r\n" | SADD b "" "\xff\r\n" | SINTER a b"#,
        r#":3 | :2 | ~["" "\xff\r\n"]"#,
        r#":3 | :2 | #{"" "\xff\r\n"}"#,
    );
    check(
        r#"SADD a "" | SADD b "" "\x00" | SDIFF b a | SUNIONSTORE "" a b | SCARD """#,
        r#":1 | :2 | ... | :2 | :2"#,
    );
}

#[test]
fn expired_sets_are_empty() {
    check3(
        "SADD a 1 | SADD b 1 2 | PEXPIRE a 50 | !time 60 | SINTER a b | SDIFF a b | SINTERCARD 2 a b",
        ":1 | :2 | :1 | none | [] | [] | :0",
        ":1 | :2 | :1 | none | #{} | #{} | :0",
    );
    check(
        "SADD a 1 | SADD b 1 2 | PEXPIRE a 50 | !time 60 | SUNIONSTORE a a b | TTL a | SINTERSTORE b missing b | EXISTS b",
        ":1 | :2 | :1 | none | :2 | :-1 | :0 | :0",
    );
}

#[test]
fn stored_results() {
    check_after_three("SINTERSTORE d a b | SMISMEMBER d 1 2 3 4 | SCARD d", ":2 | [:0 :1 :1 :0] | :2");
    check_after_three("SUNIONSTORE d a b c | SCARD d | SMISMEMBER d 1 y z", ":6 | :6 | [:1 :1 :0]");
    check_after_three("SDIFFSTORE d a b | SMISMEMBER d 1 2 3 4", ":2 | [:1 :0 :0 :1]");
    check_after_three("SINTERSTORE a a b | SMISMEMBER a 1 2 3 4", ":2 | [:0 :1 :1 :0]");
    check_after_three("SDIFFSTORE b a b | SMISMEMBER b 1 2 3 4 x", ":2 | [:1 :0 :0 :1 :0]");
    check_after_three("SUNIONSTORE c a b c | SCARD c | SUNIONSTORE c c c | SCARD c", ":6 | :6 | :6 | :6");
    check_after_three("SDIFFSTORE a a a | EXISTS a", ":0 | :0");
    check_after_three("EXPIRE a 100 | SINTERSTORE a a b | TTL a", ":1 | :2 | :-1");
    check_after_three(
        "SET d x | EXPIRE d 100 | SUNIONSTORE d a | TTL d | TYPE d",
        "+OK | :1 | :4 | :-1 | +set",
    );
    check_after_three("SET d x | SINTERSTORE d a missing | EXISTS d | DBSIZE", "+OK | :0 | :0 | :3");
    check_after_three("SET d x | SDIFFSTORE d missing a | EXISTS d", "+OK | :0 | :0");
    check_after_three("SET d x | SUNIONSTORE d missing | EXISTS d", "+OK | :0 | :0");
    check_after_three(
        "SET s x | SUNIONSTORE d a s | EXISTS d | SUNIONSTORE s a | TYPE s",
        &format!("+OK | {WRONG} | :0 | :4 | +set"),
    );
    check_after_three(
        "SET s x | SINTERSTORE d missing s | SDIFFSTORE d missing s | EXISTS d",
        &format!("+OK | {WRONG} | {WRONG} | :0"),
    );
    for name in ["sinterstore", "sunionstore", "sdiffstore"] {
        wrong_arity(name, name);
        wrong_arity(&format!("{name} d"), name);
    }
}

#[test]
fn sintercard() {
    check_after_three(
        "SINTERCARD 2 a b | SINTERCARD 3 a b c | SINTERCARD 1 a | SINTERCARD 2 a missing",
        ":2 | :1 | :4 | :0",
    );
    check_after_three(
        "SINTERCARD 2 a b LIMIT 1 | SINTERCARD 2 a b LIMIT 0 | SINTERCARD 1 a LIMIT 3 | SINTERCARD 2 a b limit 9",
        ":1 | :2 | :3 | :2",
    );
    check_after_three("SINTERCARD 1 a LIMIT 1 LIMIT 2", ":2");
    counted("SINTERCARD", check);
    wrong_arity("SINTERCARD", "sintercard");
    wrong_arity("SINTERCARD 1", "sintercard");
}

/// What the three commands that count refuse.
fn counted(name: &str, check: fn(&str, &str)) {
    let few = "-ERR numkeys should be greater than 0";
    let line = format!("{name} 0 a | {name} x a | {name} -1 a | {name} 9223372036854775808 a");
    check(&line, &format!("{few} | {few} | {few} | {few}"));
    let many = "-ERR Number of keys can't be greater than number of args";
    check(&format!("{name} 2 a | {name} 9223372036854775807 a"), &format!("{many} | {many}"));
    let line = format!(
        "{name} 1 a LIMIT | {name} 1 a x | {name} 1 a LIMIT 1 x | {name} 1 a b | {name} 1 a LIMIT 1 LIMIT"
    );
    check(&line, &["-ERR syntax error"; 5].join(" | "));
    let negative = "-ERR LIMIT can't be negative";
    let line =
        format!("SET s v | {name} 1 s LIMIT -1 | {name} 1 a LIMIT x | {name} 1 a LIMIT 9223372036854775808");
    check(&line, &format!("+OK | {negative} | {negative} | {negative}"));
    let line = format!("SET s v | SADD a 1 | {name} 1 s | {name} 2 missing s | {name} 2 a s LIMIT 1");
    check(&line, &format!("+OK | :1 | {WRONG} | {WRONG} | {WRONG}"));
}

/// Redis has these two from 8.10 on.
#[test]
fn sunioncard_and_sdiffcard() {
    let after_three = |line: &str, replies: &str| {
        tarn_only(&format!("{THREE} | {line}"), &format!("{ADDED} | {replies}"));
    };
    after_three(
        "SUNIONCARD 2 a b | SUNIONCARD 3 a b c | SUNIONCARD 1 missing | SUNIONCARD 2 a a",
        ":5 | :6 | :0 | :4",
    );
    after_three(
        "SUNIONCARD 2 a b LIMIT 3 | SUNIONCARD 3 a b c LIMIT 5 | SUNIONCARD 2 a b LIMIT 0",
        ":3 | :5 | :5",
    );
    after_three(
        "SUNIONCARD 2 a b APPROX | SUNIONCARD 2 a b approx LIMIT 3 | SUNIONCARD 2 a b LIMIT 3 APPROX | SUNIONCARD 1 missing APPROX",
        ":5 | :3 | :3 | :0",
    );
    let syntax = "-ERR syntax error";
    after_three(
        "SUNIONCARD 2 a b APPROX x | SUNIONCARD 2 a b LIMIT APPROX | SUNIONCARD 2 a b APPROX LIMIT",
        &format!("{syntax} | -ERR LIMIT can't be negative | {syntax}"),
    );
    after_three("SADD APPROX z | SUNIONCARD 2 a APPROX", ":1 | :5");
    after_three("SDIFFCARD 2 a b APPROX | SINTERCARD 2 a b APPROX", &format!("{syntax} | {syntax}"));
    after_three(
        "SDIFFCARD 2 a b | SDIFFCARD 3 c b a | SDIFFCARD 1 c | SDIFFCARD 2 missing a | SDIFFCARD 2 a a",
        ":2 | :1 | :3 | :0 | :0",
    );
    after_three(
        "SDIFFCARD 2 a b LIMIT 1 | SDIFFCARD 2 a b LIMIT 9 | SDIFFCARD 2 a missing LIMIT 3",
        ":1 | :2 | :3",
    );
    for name in ["SUNIONCARD", "SDIFFCARD"] {
        counted(name, tarn_only);
        tarn_only(
            &format!("{name} 1"),
            &format!("-ERR wrong number of arguments for '{}' command", name.to_lowercase()),
        );
    }
}
