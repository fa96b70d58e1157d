//! Strings that are set or deleted only if they are what a client believes: SET with IFEQ and its like, DELEX, DELIFEQ, DIGEST;
//! and MSETEX. All of it is newer than redis-server 7.0; what Valkey 9.1 has (SET IFEQ, DELIFEQ, MSETEX) was compared with it.

use crate::check::{check, tarn_only};

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn arity() {
    tarn_only("DELEX", "-ERR wrong number of arguments for 'delex' command");
    tarn_only("DELIFEQ k", "-ERR wrong number of arguments for 'delifeq' command");
    tarn_only("DELIFEQ k a b", "-ERR wrong number of arguments for 'delifeq' command");
    tarn_only("DIGEST", "-ERR wrong number of arguments for 'digest' command");
    tarn_only("DIGEST a b", "-ERR wrong number of arguments for 'digest' command");
    tarn_only("MSETEX 1 a", "-ERR wrong number of arguments for 'msetex' command");
}

#[test]
fn set_if_equal() {
    tarn_only(
        "SET k a | SET k b IFEQ a | SET k c IFEQ a | GET k | SET n c IFEQ b | EXISTS n",
        r#"+OK | +OK | nil | "b" | nil | :0"#,
    );
    tarn_only(
        "SET k b | SET k c IFEQ b GET | SET k d IFEQ x GET | GET k | SET n c IFEQ b GET",
        r#"+OK | "b" | "c" | "c" | nil"#,
    );
    tarn_only(
        "SET k a | SET k b IFEQ a EX 100 | TTL k | SET k c ifeq b KEEPTTL | TTL k | SET k d IFEQ c | TTL k",
        "+OK | +OK | :91..100 | +OK | :91..100 | +OK | :-1",
    );
    tarn_only(
        "SET k a | SET k b IFNE a | GET k | SET k b IFNE x | GET k | SET n v IFNE x | GET n",
        r#"+OK | nil | "a" | +OK | "b" | +OK | "v""#,
    );
    tarn_only(
        "LPUSH l a | SET l a IFEQ b | SET l a IFNE b | SET l a IFEQ a GET",
        &format!(":1 | {WRONG} | {WRONG} | {WRONG}"),
    );
    for options in [
        "IFEQ c NX",
        "IFEQ c XX",
        "NX IFEQ c",
        "XX IFNE c",
        "IFEQ",
        "IFEQ c IFEQ d",
        "IFEQ c IFNE d",
        "IFDEQ",
    ] {
        check(&format!("SET k c {options} | EXISTS k"), "-ERR syntax error | :0");
    }
    tarn_only("SET c 10 | INCR c | SET c 12 IFEQ 11 | GET c", r#"+OK | :11 | +OK | "12""#);
    tarn_only("SET k 0123 | SET k x IFEQ 123 | SET k x IFEQ 0123", "+OK | nil | +OK");
    tarn_only(r#"SET k "" | SET k x IFEQ "" | GET k"#, r#"+OK | +OK | "x""#);
}

#[test]
fn long_values_are_compared() {
    tarn_only(
        r#"SET k "a"*300000 | SET k x IFEQ "a"*299999 | SET k x IFNE "a"*300000 | DELIFEQ k "a"*300000 | EXISTS k"#,
        "+OK | nil | nil | :1 | :0",
    );
    tarn_only(
        r#"SETRANGE k 300000 x | SET l "\x00"*300000 | APPEND l x | DIGEST k | DIGEST l"#,
        r#":300001 | +OK | :300001 | "82e6086ace539526" | "82e6086ace539526""#,
    );
}

#[test]
fn digests() {
    tarn_only(
        r#"SET k hello | DIGEST k | SET k "" | DIGEST k | SET k 123 | DIGEST k | SET k v8 | DIGEST k | DIGEST missing"#,
        r#"+OK | "9555e8555c62dcfd" | +OK | "2d06800538d394c2" | +OK | "404a763b3f4c8c9a" | +OK | "0cc76dbb41381419" | nil"#,
    );
    tarn_only("LPUSH l a | DIGEST l", &format!(":1 | {WRONG}"));
    tarn_only(
        "SET k hello | SET k a IFDEQ 0000000000000000 | SET k a IFDEQ 9555E8555C62DCFD | GET k",
        r#"+OK | nil | +OK | "a""#,
    );
    tarn_only(
        "SET k hello | SET k a IFDNE 9555e8555c62dcfd | SET k a IFDNE 0000000000000000 | SET n x IFDNE 0000000000000000 | SET m x IFDEQ 0000000000000000",
        "+OK | nil | +OK | +OK | nil",
    );
    tarn_only(
        "SET k hello | SET k a IFDEQ abc | SET k a IFDNE 9555e8555c62dcfd0",
        "+OK | -ERR must be exactly 16 hexadecimal characters | -ERR must be exactly 16 hexadecimal characters",
    );
}

#[test]
fn delex_and_delifeq() {
    tarn_only(
        "DELEX k | SET k v | DELEX k | EXISTS k | LPUSH l a | DELEX l | EXISTS l",
        ":0 | +OK | :1 | :0 | :1 | :1 | :0",
    );
    tarn_only(
        "SET k hello | DELEX k IFEQ other | DELEX k ifeq hello | SET k hello | DELEX k IFNE hello | DELEX k IfNe other | EXISTS k",
        "+OK | :0 | :1 | +OK | :0 | :1 | :0",
    );
    tarn_only(
        "SET k hello | DELEX k IFDEQ 0000000000000000 | DELEX k IFDNE 9555e8555c62dcfd | DELEX k IFDEQ 9555E8555c62dcfd | EXISTS k",
        "+OK | :0 | :0 | :1 | :0",
    );
    tarn_only(
        "SET k hello | DELEX k IFDEQ zzzzzzzzzzzzzzzz | DELEX k IFDNE zzzzzzzzzzzzzzzz",
        "+OK | :0 | :1",
    );
    tarn_only(
        "SET k hello | DELEX k IFDEQ 0123 | DELEX k FOO hello | DELEX k IFEQ | DELEX k IFEQ hello x | DELEX missing IFEQ | DELEX missing FOO x | DELEX missing IFDEQ 1",
        "+OK | -ERR must be exactly 16 hexadecimal characters | -ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE | -ERR wrong number of arguments for 'delex' command | -ERR wrong number of arguments for 'delex' command | -ERR wrong number of arguments for 'delex' command | :0 | :0",
    );
    tarn_only(
        "LPUSH l a | DELEX l IFEQ a | DELEX l FOO a | EXISTS l",
        ":1 | -ERR Key should be of string type if conditions are specified | -ERR Key should be of string type if conditions are specified | :1",
    );
    tarn_only(
        "SET k d | DELIFEQ k x | DELIFEQ k d | DELIFEQ k d | LPUSH l d | DELIFEQ l d",
        &format!("+OK | :0 | :1 | :0 | :1 | {WRONG}"),
    );
    tarn_only("SET k v PXAT 1 | DELIFEQ k v | DELEX k IFNE x", "+OK | :0 | :0");
}

#[test]
fn msetex() {
    tarn_only(
        "MSETEX 2 a 1 b 2 | MGET a b | MSETEX 2 a 1 b 2 EX 100 | TTL a | TTL b",
        r#":1 | ["1" "2"] | :1 | :91..100 | :91..100"#,
    );
    tarn_only(
        "SET a 0 | MSETEX 2 a 1 z 2 NX | MSETEX 2 a 1 z 2 XX | EXISTS z | MSETEX 2 y 1 z 2 nx | MSETEX 2 y 3 z 4 xx | MGET a y z",
        r#"+OK | :0 | :0 | :0 | :1 | :1 | ["0" "3" "4"]"#,
    );
    tarn_only(
        "MSETEX 2 a 1 b 2 PX 100000 | MSETEX 2 a 3 b 3 XX KEEPTTL | TTL a | MSETEX 1 a 4 | TTL a | MSETEX 1 a 1 EX 10 EX 2000 | TTL a",
        ":1 | :1 | :91..100 | :1 | :-1 | :1 | :1991..2000",
    );
    tarn_only(
        "MSETEX 2 a 1 a 2 | GET a | LPUSH l x | MSETEX 1 l 1 | TYPE l",
        r#":1 | "2" | :1 | :1 | +string"#,
    );
    tarn_only(
        "MSETEX 1 a 1 PXAT 1 | EXISTS a | SET b 1 | MSETEX 1 b 1 EXAT 1 | EXISTS b",
        ":1 | :0 | +OK | :1 | :0",
    );
    for words in ["0 a 1", "-1 a 1", "x a 1", "2147483648 a 1"] {
        tarn_only(&format!("MSETEX {words}"), "-ERR invalid numkeys value or out of range");
    }
    for words in [
        "3 a 1 b 2",
        "2 a 1 b",
        "1 a 1 b 2",
        "1 a 1 EX",
        "1 a 1 FOO",
        "1 a 1 GET",
        "1 a 1 PERSIST",
        "1 a 1 KEEPTTL EX 10",
        "2 a 1 b 2 NX XX",
        "2 a 1 b 2 EX 10 PX 10",
    ] {
        tarn_only(&format!("MSETEX {words} | EXISTS a"), "-ERR syntax error | :0");
    }
    tarn_only(
        "MSETEX 1 a 1 EX 0 | MSETEX 1 a 1 EX x",
        "-ERR invalid expire time in 'msetex' command | -ERR value is not an integer or out of range",
    );
    tarn_only("COMMAND GETKEYS MSETEX 2 a 1 b 2 EX 10", r#"["a" "b"]"#);
}
