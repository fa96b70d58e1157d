//! Fields that expire, in the words of Redis 7.4 to 8: HEXPIRE, HTTL, HPERSIST, HGETEX, HSETEX, HGETDEL.
//!
//! redis-server 7.0 does not know these commands; their replies follow the sources of later versions.

use crate::check::{tarn_only as check, tarn_only_with};
use crate::harness::{ENGINES, Options, Server, eventually};
use crate::value::Value;

const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NO_FIELDS: &str = "-ERR Mandatory argument FIELDS is missing or not at the right position";
const MISMATCH: &str = "-ERR The `numfields` parameter must match the number of arguments";

#[test]
fn arity() {
    for (line, name) in [
        ("HEXPIRE h 10 FIELDS 1", "hexpire"),
        ("HPEXPIRE h 10 FIELDS 1", "hpexpire"),
        ("HEXPIREAT h 10 FIELDS 1", "hexpireat"),
        ("HPEXPIREAT h 10 FIELDS 1", "hpexpireat"),
        ("HTTL h FIELDS 1", "httl"),
        ("HPTTL h FIELDS 1", "hpttl"),
        ("HEXPIRETIME h FIELDS 1", "hexpiretime"),
        ("HPEXPIRETIME h FIELDS 1", "hpexpiretime"),
        ("HPERSIST h FIELDS 1", "hpersist"),
        ("HGETEX h FIELDS 1", "hgetex"),
        ("HSETEX h FIELDS 1 f", "hsetex"),
        ("HGETDEL h FIELDS 1", "hgetdel"),
    ] {
        check(line, &format!("-ERR wrong number of arguments for '{name}' command"));
    }
    // What follows a time is counted once the time is known to be one.
    for line in ["HGETEX h PX 1 x", "HGETEX h EX 1 FIELDS", "HGETEX h PXAT 1 PERSIST"] {
        check(line, "-ERR wrong number of arguments for 'hgetex' command");
    }
    check("HGETEX h PX x y", "-ERR value is not an integer or out of range");
    check("SET s x | HGETEX s PX 1 x", &format!("+OK | {WRONG}"));
    check("HGETEX h PX 1 x y", NO_FIELDS);
    check("HGETEX h PX 1 FIELDS y", "-ERR Number of fields must be a positive integer");
    check("HGETEX h PX 1 FIELDS 1", MISMATCH);
    check("HGETEX h PERSIST FIELDS 1", MISMATCH);
}

#[test]
fn expire() {
    check(
        "HSET h a 1 b 2 | HEXPIRE h 100 FIELDS 3 a b c | HTTL h FIELDS 3 a b c",
        ":2 | [:1 :1 :-2] | [:100 :100 :-2]",
    );
    check(
        "HSET h a 1 | HPEXPIRE h 100500 FIELDS 1 a | HTTL h FIELDS 1 a | HPTTL h FIELDS 1 a",
        ":1 | [:1] | [:101] | [:90000..100500]",
    );
    check(
        "HSET h a 1 | HEXPIREAT h 33177117420 FIELDS 1 a | HEXPIRETIME h FIELDS 1 a | HPEXPIRETIME h FIELDS 1 a",
        ":1 | [:1] | [:33177117420] | [:33177117420000]",
    );
    check(
        "HSET h a 1 | HPEXPIREAT h 33177117420001 FIELDS 1 a | HEXPIRETIME h FIELDS 1 a",
        ":1 | [:1] | [:33177117421]",
    );
    check("HEXPIRE missing 10 FIELDS 2 a b | EXISTS missing", "[:-2 :-2] | :0");
    check("HTTL missing FIELDS 2 a b | HSET h a 1 | HTTL h FIELDS 1 a", "[:-2 :-2] | :1 | [:-1]");
    // A time that has passed deletes, and the key goes with its last field.
    check("HSET h a 1 b 2 | HEXPIRE h 0 FIELDS 1 a | HGET h a | HLEN h", ":2 | [:2] | nil | :1");
    check("HSET h a 1 | HPEXPIREAT h 1 FIELDS 1 a | EXISTS h | TYPE h", ":1 | [:2] | :0 | +none");
    // A field that is named twice is treated twice.
    check(
        "HSET h a 1 b 2 | HEXPIRE h 100 FIELDS 2 a a | HEXPIRE h 0 FIELDS 2 a a | HLEN h",
        ":2 | [:1 :1] | [:2 :-2] | :1",
    );
    check(
        r#"HSET h "" 1 "\x00" 2 | HEXPIRE h 9 FIELDS 2 "" "\x00" | HTTL h FIELDS 2 "\x00" """#,
        ":2 | [:1 :1] | [:9 :9]",
    );
}

#[test]
fn conditions() {
    check(
        "HSET h a 1 | HEXPIRE h 100 XX FIELDS 1 a | HEXPIRE h 100 NX FIELDS 1 a | HEXPIRE h 200 NX FIELDS 1 a",
        ":1 | [:0] | [:1] | [:0]",
    );
    check(
        "HSET h a 1 | HEXPIRE h 100 GT FIELDS 1 a | HEXPIRE h 100 LT FIELDS 1 a | HTTL h FIELDS 1 a",
        ":1 | [:0] | [:1] | [:100]",
    );
    check(
        "HSET h a 1 | HEXPIRE h 100 FIELDS 1 a | HEXPIRE h 50 GT FIELDS 1 a | HEXPIRE h 200 gt FIELDS 1 a | \
         HEXPIRE h 300 LT FIELDS 1 a | HEXPIRE h 10 lt FIELDS 1 a | HEXPIRE h 5 XX FIELDS 1 a | HTTL h FIELDS 1 a",
        ":1 | [:1] | [:0] | [:1] | [:0] | [:1] | [:1] | [:5]",
    );
    // They are asked before a time that has passed deletes.
    check(
        "HSET h a 1 b 2 | HEXPIRE h 100 FIELDS 1 a | HPEXPIREAT h 1 NX FIELDS 2 a b | HKEYS h",
        r#":2 | [:1] | [:0 :2] | ["a"]"#,
    );
}

#[test]
fn order_of_checks() {
    check("SET s x | HEXPIRE s bad NOFIELDS 0 a", &format!("+OK | {WRONG}"));
    check("HEXPIRE h bad NOFIELDS 0 a", "-ERR value is not an integer or out of range");
    check("HEXPIRE h -1 NOFIELDS 0 a", "-ERR invalid expire time, must be >= 0");
    check("HEXPIRE h 70368744177664 NOFIELDS 0 a", "-ERR invalid expire time in 'hexpire' command");
    check("HPEXPIREAT h 70368744177664 NOFIELDS 0 a", "-ERR invalid expire time in 'hpexpireat' command");
    check("HSET h a 1 | HPEXPIREAT h 70368744177663 FIELDS 1 a", ":1 | [:1]");
    check("HPEXPIRE h 70368744177663 FIELDS 1 a", "-ERR invalid expire time in 'hpexpire' command");
    check("HEXPIREAT h 9223372036854775807 FIELDS 1 a", "-ERR invalid expire time in 'hexpireat' command");
    check("HEXPIRE h 10 NOFIELDS 0 a", NO_FIELDS);
    check("HEXPIRE h 10 NX XX FIELDS 1 a", NO_FIELDS);
    check("HEXPIRE h 10 FIELDS 0 a", "-ERR Parameter `numFields` should be greater than 0");
    check("HEXPIRE h 10 FIELDS x a", "-ERR Parameter `numFields` should be greater than 0");
    check("HEXPIRE h 10 FIELDS 2 a", MISMATCH);
    check("HEXPIRE h 10 FIELDS 1 a b", MISMATCH);
    check("SET s x | HTTL s NOFIELDS 0 a | HPERSIST s NOFIELDS 0 a", &format!("+OK | {WRONG} | {WRONG}"));
    for name in ["HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME", "HPERSIST", "HGETEX", "HGETDEL"] {
        check(&format!("{name} h NOFIELDS 0 a"), NO_FIELDS);
        check(&format!("{name} h FIELDS 0 a"), "-ERR Number of fields must be a positive integer");
        check(&format!("{name} h FIELDS x a"), "-ERR Number of fields must be a positive integer");
        check(&format!("{name} h FIELDS 2 a"), MISMATCH);
        check(&format!("SET s x | {name} s FIELDS 1 a"), &format!("+OK | {WRONG}"));
    }
}

#[test]
fn persist() {
    check(
        "HSET h a 1 b 2 | HEXPIRE h 100 FIELDS 1 a | HPERSIST h FIELDS 3 a b c | HTTL h FIELDS 1 a | HPERSIST h FIELDS 1 a",
        ":2 | [:1] | [:1 :-1 :-2] | [:-1] | [:-1]",
    );
    check("HPERSIST missing FIELDS 1 a", "[:-2]");
    check(
        "HSETEX h PX 100 FIELDS 1 a 1 | HPERSIST h FIELDS 1 a | !time 101 | HGET h a",
        r#":1 | [:1] | none | "1""#,
    );
}

#[test]
fn get_and_expire() {
    check("HSET h a 1 b 2 | HGETEX h FIELDS 3 a b c | HTTL h FIELDS 1 a", r#":2 | ["1" "2" nil] | [:-1]"#);
    check("HSET h a 1 | HGETEX h EX 100 FIELDS 2 a c | HTTL h FIELDS 1 a", r#":1 | ["1" nil] | [:100]"#);
    check("HSET h a 1 | HGETEX h PX 100500 FIELDS 1 a | HTTL h FIELDS 1 a", r#":1 | ["1"] | [:101]"#);
    check(
        "HSET h a 1 | HGETEX h EXAT 33177117420 FIELDS 1 a | HEXPIRETIME h FIELDS 1 a",
        r#":1 | ["1"] | [:33177117420]"#,
    );
    check(
        "HSET h a 1 | HGETEX h PXAT 33177117420000 FIELDS 1 a | HEXPIRETIME h FIELDS 1 a",
        r#":1 | ["1"] | [:33177117420]"#,
    );
    check(
        "HSETEX h EX 100 FIELDS 1 a 1 | HGETEX h PERSIST FIELDS 1 a | HTTL h FIELDS 1 a",
        r#":1 | ["1"] | [:-1]"#,
    );
    check("HSET h a 1 | HGETEX h EX 0 FIELDS 1 a | EXISTS h", r#":1 | ["1"] | :0"#);
    check("HGETEX missing FIELDS 2 a b | EXISTS missing", "[nil nil] | :0");
    check("HGETEX h EX -1 FIELDS 1 a", "-ERR invalid expire time, must be >= 0");
    check("HGETEX h EX x FIELDS 1 a", "-ERR value is not an integer or out of range");
    check("HGETEX h EX 70368744177664 FIELDS 1 a", "-ERR invalid expire time in 'hgetex' command");
    check("HGETEX h EX 10 PX 10 FIELDS 1 a", NO_FIELDS);
}

#[test]
fn get_and_delete() {
    check(
        "HSET h a 1 b 2 | HGETDEL h FIELDS 2 a c | HLEN h | HGETDEL h FIELDS 1 b | EXISTS h",
        r#":2 | ["1" nil] | :1 | ["2"] | :0"#,
    );
    check("HSET h a 1 | HGETDEL h FIELDS 2 a a | EXISTS h", r#":1 | ["1" nil] | :0"#);
    check("HGETDEL missing FIELDS 2 a b", "[nil nil]");
    check(
        "HSETEX h EX 10 FIELDS 1 a 1 | HSET h b 2 | !time 10001 | HGETDEL h FIELDS 2 a b | EXISTS h",
        r#":1 | :1 | none | [nil "2"] | :0"#,
    );
}

#[test]
fn set_and_expire() {
    check("HSETEX h EX 100 FIELDS 2 a 1 b 2 | HGETALL h | HTTL h FIELDS 2 a b", ":1 | ... | [:100 :100]");
    check("HSETEX h FIELDS 1 a 1 | HTTL h FIELDS 1 a | TYPE h", ":1 | [:-1] | +hash");
    check(
        "HSETEX h EX 100 FIELDS 1 a 1 | HSETEX h KEEPTTL FIELDS 1 a 2 | HTTL h FIELDS 1 a | HGET h a",
        r#":1 | :1 | [:100] | "2""#,
    );
    check("HSETEX h EX 100 FIELDS 1 a 1 | HSETEX h FIELDS 1 a 2 | HTTL h FIELDS 1 a", ":1 | :1 | [:-1]");
    check(
        "HSETEX h FXX EX 100 FIELDS 1 a 1 | EXISTS h | HSETEX h FNX FIELDS 1 a 1 | HSETEX h FNX FIELDS 2 b 1 a 2 | HGETALL h",
        r#":0 | :0 | :1 | :0 | ..."#,
    );
    check(
        "HSET h a 1 | HSETEX h FXX FIELDS 2 a 2 b 2 | HGET h a | HSETEX h FXX FIELDS 1 a 3 | HGET h a",
        r#":1 | :0 | "1" | :1 | "3""#,
    );
    check("HSET h a 1 | HSETEX h EX 0 FIELDS 2 a 2 b 3 | EXISTS h", ":1 | :1 | :0");
    check("HSETEX h PXAT 1 FIELDS 1 a 2 | EXISTS h", ":1 | :0");
    check(
        "HSETEX h PX 100 EXAT 3 FIELDS 1 a 1",
        "-ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
    );
    check(
        "HSETEX h KEEPTTL EX 3 FIELDS 1 a 1",
        "-ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
    );
    check("HSETEX h FXX FNX FIELDS 1 a 1", "-ERR Only one of FXX or FNX arguments can be specified");
    check("HSETEX h FXX FXX FIELDS 1 a 1", "-ERR Only one of FXX or FNX arguments can be specified");
    check("HSETEX h NOSUCH FIELDS 1 a 1", "-ERR unknown argument: NOSUCH");
    check("HSETEX h FXX KEEPTTL a EX", "-ERR unknown argument: a");
    check("HSETEX h FIELDS 0 a 1 b 2", "-ERR invalid number of fields");
    check("HSETEX h FIELDS x a 1 b 2", "-ERR invalid number of fields");
    check("HSETEX h FIELDS 2147483648 a 1 b 2", "-ERR invalid number of fields");
    check("HSETEX h FIELDS 2 a 1 b", "-ERR wrong number of arguments for 'hsetex' command");
    check("HSETEX h FIELDS 1 a 1 b 2", "-ERR wrong number of arguments for 'hsetex' command");
    check("HSETEX h EX 10 FIELDS 1 a", "-ERR wrong number of arguments for 'hsetex' command");
    check("HSETEX h FNX a b PX", "-ERR unknown argument: a");
    check("HSETEX h FNX KEEPTTL FIELDS 1", "-ERR wrong number of arguments for 'hsetex' command");
    // Words are read before the key is looked at.
    check(
        "SET s x | HSETEX s NOSUCH FIELDS 1 a 1 | HSETEX s FIELDS 1 a 1",
        &format!("+OK | -ERR unknown argument: NOSUCH | {WRONG}"),
    );
}

#[test]
fn other_commands_keep_or_clear_an_expiry() {
    check("HSETEX h EX 100 FIELDS 1 a 1 | HSET h a 2 | HTTL h FIELDS 1 a", ":1 | :0 | [:-1]");
    check("HSETEX h EX 100 FIELDS 1 a 1 | HMSET h a 2 | HTTL h FIELDS 1 a", ":1 | +OK | [:-1]");
    check(
        "HSETEX h EX 100 FIELDS 1 a 1 | HINCRBY h a 2 | HINCRBYFLOAT h a 1 | HTTL h FIELDS 1 a",
        r#":1 | :3 | "4" | [:100]"#,
    );
    check("HSETEX h EX 100 FIELDS 1 a 1 | HSETNX h a 2 | HTTL h FIELDS 1 a", ":1 | :0 | [:100]");
    check(
        "HSETEX h EX 10 FIELDS 1 a 5 | HSET h b 1 | !time 10001 | HINCRBY h a 2 | HTTL h FIELDS 1 a",
        ":1 | :1 | none | :2 | [:-1]",
    );
    check(
        "HSETEX h EX 10 FIELDS 1 a 5 | HSET h b 1 | !time 10001 | HSETNX h a 2 | HTTL h FIELDS 1 a",
        ":1 | :1 | none | :1 | [:-1]",
    );
    check(
        "HSETEX h EX 10 FIELDS 1 a 5 | HSET h b 1 | !time 10001 | HSET h a 2 | HLEN h",
        ":1 | :1 | none | :1 | :2",
    );
    check(
        "HSETEX h EX 10 FIELDS 1 a 5 | HSET h b 1 | !time 10001 | HDEL h a | HLEN h",
        ":1 | :1 | none | :0 | :1",
    );
}

#[test]
fn what_has_expired_is_hidden() {
    check(
        "HSETEX h PX 100 FIELDS 1 a 1 | HSET h b 2 | !time 101 | HGET h a | HMGET h a b | HEXISTS h a | HSTRLEN h a | \
         HKEYS h | HVALS h | HGETALL h | HLEN h | HSCAN h 0 | HRANDFIELD h | HRANDFIELD h 5 | HRANDFIELD h -2 | \
         HTTL h FIELDS 2 a b",
        r#":1 | :1 | none | nil | [nil "2"] | :0 | :0 | ["b"] | ["2"] | ... | :1 | ["0" ["b" "2"]] | "b" | ["b"] | ["b" "b"] | [:-2 :-1]"#,
    );
    check(
        "SADD s 1 2 | HSETEX w_1 PX 100 FIELDS 1 f 9 | HSET w_2 f 1 | !time 101 | SORT s BY nosort GET w_*->f",
        r#":2 | :1 | :1 | none | ~[nil "1"]"#,
    );
}

/// A hash whose last field has expired is gone for every command.
#[test]
fn nothing_is_left_of_a_hash_without_fields() {
    let faded = "HSETEX h PX 50000 FIELDS 2 a 1 b 2 | EXPIRE h 1000 | !time 50001";
    for (line, expected) in [
        ("EXISTS h", ":0"),
        ("TYPE h", "+none"),
        ("TTL h", ":-2"),
        ("PERSIST h", ":0"),
        ("EXPIRE h 10", ":0"),
        ("HLEN h", ":0"),
        ("HGETALL h | HGET h a", "... | nil"),
        ("KEYS *", "[]"),
        ("KEYS h", "[]"),
        ("SCAN 0", r#"["0" []]"#),
        ("RANDOMKEY", "nil"),
        ("DEL h", ":0"),
        ("UNLINK h", ":0"),
        ("TOUCH h", ":0"),
        ("RENAME h g", "-ERR no such key"),
        ("COPY h g", ":0"),
        ("MOVE h 1", ":0"),
        ("OBJECT ENCODING h", "nil"),
        ("GET h", "nil"),
        ("MGET h", "[nil]"),
        ("SADD h x | TYPE h", ":1 | +set"),
        ("LPUSH h x | TTL h", ":1 | :-1"),
        ("SET h x | GET h", r#"+OK | "x""#),
        ("HSET h a 3 | HGETALL h | TTL h | HTTL h FIELDS 1 a | EXHVER h a", ":1 | ... | :-1 | [:-1] | :1"),
        ("HSETNX h c 3 | HKEYS h", r#":1 | ["c"]"#),
        ("EXHSET h c 3 | TYPE h | HLEN h", ":1 | +tairhash- | :1"),
        ("HINCRBY h a 4 | HLEN h", ":4 | :1"),
        ("HDEL h a b | HSET h b 1 | HLEN h", ":0 | :1 | :1"),
        ("HEXPIRE h 10 FIELDS 1 a", "[:-2]"),
        ("SET g x | RENAME g h | TYPE h", "+OK | +OK | +string"),
        ("SET g x | COPY g h | TYPE h", "+OK | :1 | +string"),
        ("SET g x | RENAMENX g h | TYPE h", "+OK | :1 | +string"),
    ] {
        check(&format!("{faded} | {line}"), &format!(":1 | :1 | none | {expected}"));
        // The same while nothing is reaped.
        tarn_only_with(
            &[("enable-debug-command", "yes")],
            &format!("DEBUG SET-ACTIVE-EXPIRE 0 | {faded} | {line}"),
            &format!("+OK | :1 | :1 | none | {expected}"),
        );
    }
}

/// The reaper removes fields in both modes, and a switch between them loses none.
#[test]
fn fields_are_reaped_in_both_modes() {
    for program in ENGINES {
        let server = Server::start(Options::new(program).with("enable-debug-command", "yes"));
        let mut conn = server.conn();
        let mut passed_ms = 0;
        let set = |conn: &mut crate::conn::Conn, key: &str, ms: &str| {
            for n in 0..300 {
                let field = format!("f{n}");
                assert_eq!(conn.call(&["HSETEX", key, "PX", ms, "FIELDS", "1", &field, "v"]), Value::Int(1));
            }
        };
        let reaped = |conn: &mut crate::conn::Conn| -> u64 {
            let Value::Bulk(info) = conn.call(&["INFO", "fieldexpiry"]) else { panic!("INFO") };
            let info = String::from_utf8(info).unwrap();
            let line = info.lines().find_map(|line| line.strip_prefix("field_expiry_reaped:")).unwrap();
            line.parse().unwrap()
        };
        let index = |conn: &mut crate::conn::Conn, wanted: &str| {
            eventually(&format!("the index is {wanted}"), || {
                let Value::Bulk(info) = conn.call(&["INFO", "fieldexpiry"]) else { panic!("INFO") };
                String::from_utf8(info).unwrap().contains(&format!("field_expiry_index:{wanted}\r\n"))
            });
        };
        for (round, (before, after)) in
            [("sort", "sort"), ("sort", "scan"), ("scan", "scan"), ("scan", "sort")].into_iter().enumerate()
        {
            let mode = |conn: &mut crate::conn::Conn, mode: &str| {
                assert_eq!(conn.call(&["CONFIG", "SET", "active-expire-mode", mode]), Value::ok());
            };
            mode(&mut conn, before);
            index(&mut conn, if before == "sort" { "whole" } else { "none" });
            set(&mut conn, "h", "50000");
            set(&mut conn, "g", "90000000");
            mode(&mut conn, after);
            index(&mut conn, if after == "sort" { "whole" } else { "none" });
            passed_ms += 50_001;
            assert_eq!(conn.call(&["DEBUG", "TIME-OFFSET", &passed_ms.to_string()]), Value::ok());
            let wanted = 300 * (round as u64 + 1);
            eventually("every due field is reaped", || reaped(&mut conn) == wanted);
            assert_eq!(conn.call(&["DBSIZE"]), Value::Int(1), "{before} to {after}");
            assert_eq!(conn.call(&["HLEN", "g"]), Value::Int(300));
            assert_eq!(conn.call(&["DEL", "g"]), Value::Int(1));
        }
    }
}
