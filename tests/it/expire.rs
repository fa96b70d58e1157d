//! Expiry: EXPIRE and its kin, TTL, PERSIST, and what happens when time passes.

use crate::check::{check, tarn_only};
use crate::harness::{ENGINES, Options, Server, eventually};
use crate::value::Value;

#[test]
fn arity() {
    check("EXPIRE k", "-ERR wrong number of arguments for 'expire' command");
    check("PEXPIRE k", "-ERR wrong number of arguments for 'pexpire' command");
    check("EXPIREAT k", "-ERR wrong number of arguments for 'expireat' command");
    check("PEXPIREAT k", "-ERR wrong number of arguments for 'pexpireat' command");
    check("TTL", "-ERR wrong number of arguments for 'ttl' command");
    check("PTTL", "-ERR wrong number of arguments for 'pttl' command");
    check("EXPIRETIME", "-ERR wrong number of arguments for 'expiretime' command");
    check("PEXPIRETIME", "-ERR wrong number of arguments for 'pexpiretime' command");
    check("PERSIST", "-ERR wrong number of arguments for 'persist' command");
    check("PTTL a b", "-ERR wrong number of arguments for 'pttl' command");
    check("EXPIRETIME a b", "-ERR wrong number of arguments for 'expiretime' command");
    check("PEXPIRETIME a b", "-ERR wrong number of arguments for 'pexpiretime' command");
}

#[test]
fn expire() {
    check("SET k v | EXPIRE k 100 | TTL k | PTTL k", "+OK | :1 | :91..100 | :91000..100000");
    check("SET k v | PEXPIRE k 100000 | TTL k | PTTL k", "+OK | :1 | :91..100 | :91000..100000");
    check(
        "SET k v | EXPIREAT k 33177117420 | EXPIRETIME k | PEXPIRETIME k",
        "+OK | :1 | :33177117420 | :33177117420000",
    );
    check(
        "SET k v | PEXPIREAT k 33177117420123 | EXPIRETIME k | PEXPIRETIME k",
        "+OK | :1 | :33177117420 | :33177117420123",
    );
    check("SET k v | PEXPIREAT k 33177117420999 | EXPIRETIME k", "+OK | :1 | :33177117421");
    check("SET k v | PEXPIREAT k 33177117420499 | EXPIRETIME k", "+OK | :1 | :33177117420");
    check("SET k v | PEXPIREAT k 33177117420500 | EXPIRETIME k", "+OK | :1 | :33177117421");
    check(
        "EXPIRE missing 100 | PEXPIRE missing 100 | EXPIREAT missing 33177117420 | PEXPIREAT missing 33177117420000",
        ":0 | :0 | :0 | :0",
    );
    check("SET k v | EXPIRE k 100 | EXPIRE k 200 | TTL k", "+OK | :1 | :1 | :191..200");
    check("SET k v | EXPIRE k 0 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | EXPIRE k -1 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | PEXPIRE k 0 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | PEXPIRE k -100 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | EXPIREAT k 0 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | EXPIREAT k 1 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | EXPIREAT k -1 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | PEXPIREAT k 0 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | PEXPIREAT k 1 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check("SET k v | PEXPIREAT k -1 | EXISTS k | DBSIZE", "+OK | :1 | :0 | :0");
    check(
        "SET k v | EXPIRE k -9223372036854775808 | EXISTS k",
        "+OK | -ERR invalid expire time in 'expire' command | :1",
    );
    check("SET k v | EXPIRE k -9223372036854775 | EXISTS k", "+OK | :1 | :0");
    check(
        "SET k v | EXPIRE k -9223372036854776 | EXISTS k",
        "+OK | -ERR invalid expire time in 'expire' command | :1",
    );
    check("SET k v | PEXPIRE k -9223372036854775808 | EXISTS k", "+OK | :1 | :0");
    check(
        "SET k v | EXPIRE k 9223372036854775807 | TTL k",
        "+OK | -ERR invalid expire time in 'expire' command | :-1",
    );
    check(
        "SET k v | EXPIRE k 9223372036854775 | TTL k",
        "+OK | -ERR invalid expire time in 'expire' command | :-1",
    );
    check(
        "SET k v | EXPIRE k 9223372036854776 | TTL k",
        "+OK | -ERR invalid expire time in 'expire' command | :-1",
    );
    check(
        "SET k v | EXPIRE k 9223370399119966 | EXISTS k",
        "+OK | -ERR invalid expire time in 'expire' command | :1",
    );
    check(
        "SET k v | PEXPIRE k 9223372036854775807 | TTL k",
        "+OK | -ERR invalid expire time in 'pexpire' command | :-1",
    );
    check(
        "SET k v | PEXPIRE k 9223370399119966000 | EXISTS k",
        "+OK | -ERR invalid expire time in 'pexpire' command | :1",
    );
    check(
        "SET k v | EXPIREAT k 9223372036854775807 | TTL k",
        "+OK | -ERR invalid expire time in 'expireat' command | :-1",
    );
    check(
        "SET k v | EXPIREAT k 9223372036854775 | EXPIRETIME k | PEXPIRETIME k",
        "+OK | :1 | :9223372036854775 | :9223372036854775000",
    );
    check(
        "SET k v | EXPIREAT k 9223372036854776 | TTL k",
        "+OK | -ERR invalid expire time in 'expireat' command | :-1",
    );
    check(
        "SET k v | PEXPIREAT k 9223372036854775807 | PEXPIRETIME k | EXPIRETIME k",
        "+OK | :1 | :9223372036854775807 | :9223372036854776",
    );
    check("SET k v | EXPIRE k abc", "+OK | -ERR value is not an integer or out of range");
    check(r#"SET k v | EXPIRE k """#, "+OK | -ERR value is not an integer or out of range");
    check("SET k v | EXPIRE k 1.5", "+OK | -ERR value is not an integer or out of range");
    check(r#"SET k v | EXPIRE k " 1""#, "+OK | -ERR value is not an integer or out of range");
    check("SET k v | EXPIRE k +1", "+OK | -ERR value is not an integer or out of range");
    check("SET k v | EXPIRE k 9223372036854775808", "+OK | -ERR value is not an integer or out of range");
    check("EXPIRE missing abc", "-ERR value is not an integer or out of range");
    check("EXPIRE missing 9223372036854775807", "-ERR invalid expire time in 'expire' command");
    check("PEXPIRE k abc", "-ERR value is not an integer or out of range");
    check("EXPIREAT k abc", "-ERR value is not an integer or out of range");
    check("PEXPIREAT k abc", "-ERR value is not an integer or out of range");
}

#[test]
fn expire_flags() {
    check(
        "SET k v | EXPIRE k 100 NX | TTL k | EXPIRE k 200 NX | TTL k",
        "+OK | :1 | :91..100 | :0 | :91..100",
    );
    check(
        "SET k v | EXPIRE k 100 XX | TTL k | EXPIRE k 100 | EXPIRE k 200 XX | TTL k",
        "+OK | :0 | :-1 | :1 | :1 | :191..200",
    );
    check(
        "SET k v | EXPIRE k 100 GT | TTL k | EXPIRE k 100 | EXPIRE k 50 GT | TTL k | EXPIRE k 200 GT | TTL k",
        "+OK | :0 | :-1 | :1 | :0 | :91..100 | :1 | :191..200",
    );
    check(
        "SET k v | EXPIRE k 100 LT | TTL k | EXPIRE k 200 LT | TTL k | EXPIRE k 50 LT | TTL k",
        "+OK | :1 | :91..100 | :0 | :91..100 | :1 | :41..50",
    );
    check(
        "SET k v | EXPIREAT k 33177117420 | EXPIREAT k 33177117420 GT | EXPIREAT k 33177117420 LT | EXPIREAT k 33177117421 GT | EXPIREAT k 33177117420 LT",
        "+OK | :1 | :0 | :0 | :1 | :1",
    );
    check(
        "SET k v | PEXPIREAT k 33177117420000 | PEXPIREAT k 33177117420000 GT | PEXPIREAT k 33177117420001 GT | PEXPIREAT k 33177117420000 LT | PEXPIRETIME k",
        "+OK | :1 | :0 | :1 | :1 | :33177117420000",
    );
    check(
        "SET k v | PEXPIRE k 100000 nx | PEXPIRE k 200000 xx | PEXPIRE k 300000 gt | PEXPIRE k 100000 lt | TTL k",
        "+OK | :1 | :1 | :1 | :1 | :91..100",
    );
    check(
        "SET k v | EXPIRE k 100 XX GT | EXPIRE k 100 XX LT | TTL k | EXPIRE k 100 | EXPIRE k 200 XX GT | EXPIRE k 50 LT XX | TTL k",
        "+OK | :0 | :0 | :-1 | :1 | :1 | :1 | :41..50",
    );
    check(
        "SET k v | EXPIRE k 100 NX XX",
        "+OK | -ERR NX and XX, GT or LT options at the same time are not compatible",
    );
    check(
        "SET k v | EXPIRE k 100 NX GT",
        "+OK | -ERR NX and XX, GT or LT options at the same time are not compatible",
    );
    check(
        "SET k v | EXPIRE k 100 NX LT",
        "+OK | -ERR NX and XX, GT or LT options at the same time are not compatible",
    );
    check("SET k v | EXPIRE k 100 GT LT", "+OK | -ERR GT and LT options at the same time are not compatible");
    check(
        "SET k v | EXPIRE k 100 GT NX",
        "+OK | -ERR NX and XX, GT or LT options at the same time are not compatible",
    );
    check("SET k v | EXPIRE k 100 LT GT", "+OK | -ERR GT and LT options at the same time are not compatible");
    check("SET k v | EXPIRE k 100 NX NX | TTL k", "+OK | :1 | :91..100");
    check("SET k v | EXPIRE k 100 FOO", "+OK | -ERR Unsupported option FOO");
    check("SET k v | EXPIRE k 100 NX FOO", "+OK | -ERR Unsupported option FOO");
    check(r#"SET k v | EXPIRE k 100 """#, "+OK | -\"ERR Unsupported option \"");
    check("EXPIRE missing 100 FOO", "-ERR Unsupported option FOO");
    check("EXPIRE missing 100 NX XX", "-ERR NX and XX, GT or LT options at the same time are not compatible");
    check("EXPIRE missing 100 XX", ":0");
    check("EXPIRE missing abc FOO", "-ERR Unsupported option FOO");
    check("SET k v | EXPIRE k -1 NX | EXISTS k", "+OK | :1 | :0");
    check("SET k v | EXPIRE k -1 XX | EXISTS k", "+OK | :0 | :1");
    check("SET k v | EXPIRE k -1 GT | EXISTS k", "+OK | :0 | :1");
    check("SET k v | EXPIRE k -1 LT | EXISTS k", "+OK | :1 | :0");
    check(
        "SET k v EX 100 | EXPIRE k -1 NX | EXISTS k | EXPIRE k 0 GT | EXISTS k | EXPIRE k 0 LT | EXISTS k",
        "+OK | :0 | :1 | :0 | :1 | :1 | :0",
    );
}

#[test]
fn ttl() {
    check("TTL missing | PTTL missing | EXPIRETIME missing | PEXPIRETIME missing", ":-2 | :-2 | :-2 | :-2");
    check("SET k v | TTL k | PTTL k | EXPIRETIME k | PEXPIRETIME k", "+OK | :-1 | :-1 | :-1 | :-1");
    check("SET k v PXAT 1 | TTL k | PTTL k | EXPIRETIME k | PEXPIRETIME k", "+OK | :-2 | :-2 | :-2 | :-2");
    check("SET k v PX 100400 | TTL k", "+OK | :91..100");
}

#[test]
fn persist() {
    check(
        "PERSIST missing | SET k v | PERSIST k | EXPIRE k 100 | PERSIST k | TTL k | PERSIST k",
        ":0 | +OK | :0 | :1 | :1 | :-1 | :0",
    );
    check("SET k v PXAT 1 | PERSIST k | EXISTS k", "+OK | :0 | :0");
    check(
        "SET k v EX 100 | PERSIST k | GET k | EXPIRE k 200 NX | TTL k",
        r#"+OK | :1 | "v" | :1 | :191..200"#,
    );
}

#[test]
fn what_keeps_and_what_clears_a_ttl() {
    check(
        "SET k 1 EX 100 | INCR k | INCRBY k 2 | DECR k | DECRBY k 1 | INCRBYFLOAT k 1 | TTL k",
        r#"+OK | :2 | :4 | :3 | :2 | "3" | :91..100"#,
    );
    check(
        "SET k 1 EX 100 | APPEND k 2 | SETRANGE k 0 3 | SETBIT k 1 1 | BITFIELD k SET u8 0 49 | TTL k",
        "+OK | :2 | :2 | :0 | [:115] | :91..100",
    );
    check(
        "SET k 1 EX 100 | SET k 2 | TTL k | SET k 3 EX 100 | GETSET k 4 | TTL k",
        r#"+OK | +OK | :-1 | +OK | "3" | :-1"#,
    );
    check(
        "SET k 1 EX 100 | MSET k 2 | TTL k | SET k 3 EX 100 | BITOP NOT k k | TTL k",
        "+OK | +OK | :-1 | +OK | :1 | :-1",
    );
    check("SET k 1 EX 100 | GETDEL k | SET k 2 | TTL k", r#"+OK | "1" | +OK | :-1"#);
    check("SET k 1 EX 100 | DEL k | SETNX k 2 | TTL k", "+OK | :1 | :1 | :-1");
    check("SET k 1 EX 100 | FLUSHDB | SET k 2 | TTL k", "+OK | +OK | +OK | :-1");
    check(
        r#"SET k "x"*70000 EX 100 | APPEND k y | TTL k | EXPIRE k 200 | STRLEN k | PERSIST k | STRLEN k | GETRANGE k -2 -1"#,
        r#"+OK | :70001 | :91..100 | :1 | :70001 | :1 | :70001 | "xy""#,
    );
}

#[test]
fn expired_keys_are_absent() {
    check(
        "SET k v PX 1000 | GET k | !time 1001 | GET k | EXISTS k | TTL k | TYPE k",
        r#"+OK | "v" | none | nil | :0 | :-2 | +none"#,
    );
    check(
        "SET k v PX 1000 | SET l w | !time 1001 | KEYS * | SCAN 0 | RANDOMKEY | EXISTS k l",
        r#"+OK | +OK | none | ["l"] | ["0" ["l"]] | "l" | :1"#,
    );
    check("SET k v PX 1000 | !time 1001 | SET k w KEEPTTL | TTL k", "+OK | none | +OK | :-1");
    check(
        "SET k v PX 1000 | !time 1001 | SET k w XX | SET k w NX | GET k",
        r#"+OK | none | nil | +OK | "w""#,
    );
    check("SET k v PX 1000 | !time 1001 | SETNX k w | GET k | TTL k", r#"+OK | none | :1 | "w" | :-1"#);
    check("SET k 5 PX 1000 | !time 1001 | INCR k | TTL k", "+OK | none | :1 | :-1");
    check("SET k abc PX 1000 | !time 1001 | APPEND k d | GET k | TTL k", r#"+OK | none | :1 | "d" | :-1"#);
    check("SET k v PX 1000 | !time 1001 | GETDEL k | GETSET k w | TTL k", "+OK | none | nil | nil | :-1");
    check(
        "SET k v PX 1000 | !time 1001 | GETEX k PERSIST | PERSIST k | EXPIRE k 100 | EXISTS k",
        "+OK | none | nil | :0 | :0 | :0",
    );
    check("SET k v PX 1000 | !time 1001 | DEL k", "+OK | none | :0");
    check("SET k v PX 1000 | !time 1001 | UNLINK k", "+OK | none | :0");
}

#[test]
fn expired_keys_are_not_in_the_way() {
    check("SET k v PX 1000 | !time 1001 | TOUCH k", "+OK | none | :0");
    check("SET k v PX 1000 | !time 1001 | RENAME k l", "+OK | none | -ERR no such key");
    check(
        "SET k v PX 1000 | SET l w | !time 1001 | RENAME l k | GET k | TTL k",
        r#"+OK | +OK | none | +OK | "w" | :-1"#,
    );
    check(
        "SET k v PX 1000 | SET l w | !time 1001 | RENAMENX l k | GET k | TTL k",
        r#"+OK | +OK | none | :1 | "w" | :-1"#,
    );
    check(
        "SET k v PX 1000 | !time 1001 | COPY k l | SET l w | COPY l k | GET k | TTL k",
        r#"+OK | none | :0 | +OK | :1 | "w" | :-1"#,
    );
    check("SET k v PX 1000 | !time 1001 | MOVE k 1", "+OK | none | :0");
    check(
        "SET k v | SELECT 1 | SET k w PX 1000 | !time 1001 | SELECT 0 | MOVE k 1 | SELECT 1 | GET k | TTL k",
        r#"+OK | +OK | +OK | none | +OK | :1 | +OK | "v" | :-1"#,
    );
    check(
        "SET k v PX 1000 | SET l w | !time 1001 | MSETNX k 1 m 2 | MGET k m l",
        r#"+OK | +OK | none | :1 | ["1" "2" "w"]"#,
    );
    check(
        "SET k v PX 1000 | SET l w | !time 1001 | BITOP OR d k l | GET d | BITOP OR d k | EXISTS d",
        r#"+OK | +OK | none | :1 | "w" | :0 | :0"#,
    );
    check(
        r#"SET k "\xff" PX 1000 | !time 1001 | BITCOUNT k | BITPOS k 0 | GETBIT k 0 | SETBIT k 7 1 | GET k | TTL k"#,
        r#"+OK | none | :0 | :0 | :0 | :0 | "\x01" | :-1"#,
    );
    check(
        "SET k v PX 1000 | !time 1001 | STRLEN k | GETRANGE k 0 -1 | SETRANGE k 1 x | GET k | TTL k",
        r#"+OK | none | :0 | "" | :2 | "\x00x" | :-1"#,
    );
}

#[test]
fn expired_values_are_not_read() {
    check(
        "SET k v PX 1000 | SET l v | !time 1001 | LCS k l | MGET k l",
        r#"+OK | +OK | none | "" | [nil "v"]"#,
    );
    check("SET k v PX 1000 | !time 1001 | OBJECT ENCODING k", "+OK | none | nil");
    check("SET k v PX 100000 | !time 1001 | GET k | TTL k", r#"+OK | none | "v" | :90..99"#);
    check(
        r#"SET k "x"*70000 PX 1000 | !time 1001 | GET k | STRLEN k | SET k new | GET k"#,
        r#"+OK | none | nil | :0 | +OK | "new""#,
    );
    check("SET k v | PEXPIRE k 1000 | !time 1001 | GET k", "+OK | :1 | none | nil");
    check("SET k v | GETEX k PX 1000 | !time 1001 | GET k", r#"+OK | "v" | none | nil"#);
    check("SET k v PX 1000 | PERSIST k | !time 1001 | GET k", r#"+OK | :1 | none | "v""#);
    check("SET k v PX 1000 | EXPIRE k 100 | !time 1001 | GET k", r#"+OK | :1 | none | "v""#);
    check("SET k v PX 1000 | SET k w | !time 1001 | GET k", r#"+OK | +OK | none | "w""#);
    check("SET k v PX 1000 | SET k w KEEPTTL | !time 1001 | GET k", "+OK | +OK | none | nil");
    check("SET k v PX 1000 | RENAME k l | !time 1001 | GET l", "+OK | +OK | none | nil");
}

#[test]
fn expiry_follows_the_key() {
    check("SET k v PX 1000 | COPY k l | !time 1001 | GET l | GET k", "+OK | :1 | none | nil | nil");
    check("SET k v PX 1000 | MOVE k 1 | SELECT 1 | !time 1001 | GET k", "+OK | :1 | +OK | none | nil");
    check("SET k v PX 1000 | SWAPDB 0 1 | !time 1001 | SELECT 1 | GET k", "+OK | +OK | none | +OK | nil");
    check("SET k v PX 1000 | FLUSHALL | SET k w | !time 1001 | GET k", r#"+OK | +OK | +OK | none | "w""#);
    check("SET k v PX 1000 | DEL k | SET k w | !time 1001 | GET k", r#"+OK | :1 | +OK | none | "w""#);
    check("PSETEX k 1000 v | !time 1001 | GET k", "+OK | none | nil");
    check("SET k 1 PX 1000 | INCR k | !time 1001 | GET k", "+OK | :2 | none | nil");
}

/// Reads never write, so a key that has expired is counted until it is reaped.
#[test]
fn active_expiry_can_be_turned_off() {
    check(
        "DEBUG SET-ACTIVE-EXPIRE 0 | SET k v PX 1000 | !time 1001 | DBSIZE | DEBUG SET-ACTIVE-EXPIRE 1",
        "+OK | +OK | none | :1 | +OK",
    );
    tarn_only(
        "DEBUG SET-ACTIVE-EXPIRE 0 | SET k v PX 1000 | !time 1001 | GET k | DBSIZE | DEBUG SET-ACTIVE-EXPIRE 1",
        "+OK | +OK | none | nil | :1 | +OK",
    );
}

/// Nobody asks for them, and still they go.
#[test]
fn expired_keys_are_reaped() {
    for program in ENGINES {
        let server = Server::start(Options::new(program));
        let mut conn = server.conn();
        for i in 0..1000 {
            let db = (i % 16).to_string();
            assert_eq!(conn.call(&["SELECT", &db]), Value::ok());
            let (soon, later) = (format!("soon:{i}"), format!("later:{i}"));
            assert_eq!(conn.call(&["SET", &soon, &"v".repeat(i * 10), "PX", "10000"]), Value::ok());
            assert_eq!(conn.call(&["SET", &later, "v", "EX", "10000"]), Value::ok());
        }
        assert_eq!(conn.call(&["DEBUG", "TIME-OFFSET", "20000"]), Value::ok());
        for db in 0..16 {
            assert_eq!(conn.call(&["SELECT".to_owned(), db.to_string()]), Value::ok());
            let left = (0..1000).filter(|i| i % 16 == db).count() as i64;
            eventually("only the later keys are left", || conn.call(&["DBSIZE"]) == Value::Int(left));
        }
    }
}
