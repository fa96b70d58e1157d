//! Strings: SET to SETRANGE.

use crate::check::{check, check_long};

#[test]
fn set_and_get() {
    check("SET k v | GET k", r#"+OK | "v""#);
    check("SET k v1 | SET k v2 | GET k", r#"+OK | +OK | "v2""#);
    check(r#"SET k "" | GET k | STRLEN k | EXISTS k"#, r#"+OK | "" | :0 | :1"#);
    check(r#"SET "" empty-key | GET "" | EXISTS "" | DEL """#, r#"+OK | "empty-key" | :1 | :1"#);
    check(
        r#"SET "k\x00\r\n\xff" "v\x00\r\n\xff" | GET "k\x00\r\n\xff" | KEYS *"#,
        r#"+OK | "v\x00\r\n\xff" | ["k\x00\r\n\xff"]"#,
    );
    check(r#"SET k "\xe2\x82\xac" | GET k | STRLEN k"#, r#"+OK | "\xe2\x82\xac" | :3"#);
    check(
        "SET k 123 | GET k | SET k -0 | GET k | SET k 007 | GET k",
        r#"+OK | "123" | +OK | "-0" | +OK | "007""#,
    );
    check("GET missing", "nil");
    check("get k | SeT k v | gEt k", r#"nil | +OK | "v""#);
    check("SET k v | @b GET k | @b SET k w | GET k", r#"+OK | "v" | +OK | "w""#);
}

#[test]
fn set_and_get_arity() {
    check("GET", "-ERR wrong number of arguments for 'get' command");
    check("GET a b", "-ERR wrong number of arguments for 'get' command");
    check("SET", "-ERR wrong number of arguments for 'set' command");
    check("SET k", "-ERR wrong number of arguments for 'set' command");
    check("GETSET k", "-ERR wrong number of arguments for 'getset' command");
    check("GETSET k v w", "-ERR wrong number of arguments for 'getset' command");
    check("GETDEL", "-ERR wrong number of arguments for 'getdel' command");
    check("GETDEL a b", "-ERR wrong number of arguments for 'getdel' command");
    check("GETEX", "-ERR wrong number of arguments for 'getex' command");
    check("MGET", "-ERR wrong number of arguments for 'mget' command");
    check("MSET", "-ERR wrong number of arguments for 'mset' command");
    check("MSET a", "-ERR wrong number of arguments for 'mset' command");
    check("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command");
    check("MSETNX", "-ERR wrong number of arguments for 'msetnx' command");
    check("MSETNX a", "-ERR wrong number of arguments for 'msetnx' command");
    check("MSETNX a 1 b", "-ERR wrong number of arguments for 'msetnx' command");
    check("SETNX a", "-ERR wrong number of arguments for 'setnx' command");
    check("SETNX a b c", "-ERR wrong number of arguments for 'setnx' command");
    check("SETEX a 1", "-ERR wrong number of arguments for 'setex' command");
    check("SETEX a 1 b c", "-ERR wrong number of arguments for 'setex' command");
    check("PSETEX a 1", "-ERR wrong number of arguments for 'psetex' command");
    check("PSETEX a 1 b c", "-ERR wrong number of arguments for 'psetex' command");
    check("APPEND a", "-ERR wrong number of arguments for 'append' command");
    check("APPEND a b c", "-ERR wrong number of arguments for 'append' command");
    check("STRLEN", "-ERR wrong number of arguments for 'strlen' command");
    check("STRLEN a b", "-ERR wrong number of arguments for 'strlen' command");
    check("GETRANGE a", "-ERR wrong number of arguments for 'getrange' command");
    check("GETRANGE a 0", "-ERR wrong number of arguments for 'getrange' command");
    check("GETRANGE a 0 1 2", "-ERR wrong number of arguments for 'getrange' command");
    check("SUBSTR a 0", "-ERR wrong number of arguments for 'substr' command");
    check("SETRANGE a 0", "-ERR wrong number of arguments for 'setrange' command");
    check("SETRANGE a 0 b c", "-ERR wrong number of arguments for 'setrange' command");
    check("INCR", "-ERR wrong number of arguments for 'incr' command");
    check("INCR a b", "-ERR wrong number of arguments for 'incr' command");
    check("DECR", "-ERR wrong number of arguments for 'decr' command");
    check("DECR a b", "-ERR wrong number of arguments for 'decr' command");
    check("INCRBY a", "-ERR wrong number of arguments for 'incrby' command");
    check("INCRBY a 1 2", "-ERR wrong number of arguments for 'incrby' command");
    check("DECRBY a", "-ERR wrong number of arguments for 'decrby' command");
    check("DECRBY a 1 2", "-ERR wrong number of arguments for 'decrby' command");
    check("INCRBYFLOAT a", "-ERR wrong number of arguments for 'incrbyfloat' command");
    check("INCRBYFLOAT a 1 2", "-ERR wrong number of arguments for 'incrbyfloat' command");
    check("LCS", "-ERR wrong number of arguments for 'lcs' command");
    check("LCS a", "-ERR wrong number of arguments for 'lcs' command");
}

#[test]
fn values_of_every_size() {
    check(
        r#"SET k "x"*63 | STRLEN k | GET k | GETRANGE k 60 -1"#,
        r#"+OK | :63 | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" | "xxx""#,
    );
    check(
        r#"SET k "x"*64 | STRLEN k | GET k | GETRANGE k 60 -1"#,
        r#"+OK | :64 | "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" | "xxxx""#,
    );
    check(r#"SET k "x"*1023 | STRLEN k | GET k"#, r#"+OK | :1023 | "x"*1023"#);
    check(r#"SET k "x"*1024 | STRLEN k | GET k"#, r#"+OK | :1024 | "x"*1024"#);
    check(r#"SET k "x"*1025 | STRLEN k | GET k"#, r#"+OK | :1025 | "x"*1025"#);
    check(
        r#"SET k "x"*4095 | STRLEN k | GET k | GETRANGE k 4090 5000"#,
        r#"+OK | :4095 | "x"*4095 | "xxxxx""#,
    );
    check(
        r#"SET k "x"*4096 | STRLEN k | GET k | GETRANGE k 4090 5000"#,
        r#"+OK | :4096 | "x"*4096 | "xxxxxx""#,
    );
    check(
        r#"SET k "x"*4097 | STRLEN k | GET k | GETRANGE k 4090 5000"#,
        r#"+OK | :4097 | "x"*4097 | "xxxxxxx""#,
    );
    check(r#"SET k "x"*8191 | STRLEN k | GET k | GETRANGE k 8190 9000"#, r#"+OK | :8191 | "x"*8191 | "x""#);
    check(r#"SET k "x"*8192 | STRLEN k | GET k | GETRANGE k 8190 9000"#, r#"+OK | :8192 | "x"*8192 | "xx""#);
    check(r#"SET k "x"*8193 | STRLEN k | GET k | GETRANGE k 8190 9000"#, r#"+OK | :8193 | "x"*8193 | "xxx""#);
    check(
        r#"SET k "x"*65535 | STRLEN k | GET k | GETRANGE k 65530 70000"#,
        r#"+OK | :65535 | "x"*65535 | "xxxxx""#,
    );
    check(
        r#"SET k "x"*65536 | STRLEN k | GET k | GETRANGE k 65530 70000"#,
        r#"+OK | :65536 | "x"*65536 | "xxxxxx""#,
    );
    check(
        r#"SET k "x"*65537 | STRLEN k | GET k | GETRANGE k 65530 70000"#,
        r#"+OK | :65537 | "x"*65537 | "xxxxxxx""#,
    );
    check(
        r#"SET k "x"*1048577 | STRLEN k | GET k | GETRANGE k -3 -1"#,
        r#"+OK | :1048577 | "x"*1048577 | "xxx""#,
    );
    check(r#"SET k "x"*100000 | SET k small | GET k | STRLEN k"#, r#"+OK | +OK | "small" | :5"#);
    check(r#"SET k small | SET k "y"*100000 | GET k | STRLEN k"#, r#"+OK | +OK | "y"*100000 | :100000"#);
    check(r#"SET k "x"*100000 | SET k "y"*70000 | GET k"#, r#"+OK | +OK | "y"*70000"#);
    check(
        r#"SET k "x"*100000 | DEL k | GET k | SET k "z"*66000 | GET k"#,
        r#"+OK | :1 | nil | +OK | "z"*66000"#,
    );
    check(r#"SET "k"*5000 v | GET "k"*5000 | EXISTS "k"*4999"#, r#"+OK | "v" | :0"#);
    check_long(r#"SET "k"*65000 v | GET "k"*65000 | DEL "k"*65000 | DBSIZE"#, r#"+OK | "v" | :1 | :0"#);
}

#[test]
fn set_nx_xx() {
    check("SET k v NX | SET k w NX | GET k", r#"+OK | nil | "v""#);
    check("SET k v XX | GET k | SET k v | SET k w XX | GET k", r#"nil | nil | +OK | +OK | "w""#);
    check("SET k v nx | SET k w xX | GET k", r#"+OK | +OK | "w""#);
    check("SET k v NX XX", "-ERR syntax error");
    check("SET k v XX NX", "-ERR syntax error");
    check("SET k v NX NX | SET k w XX XX | GET k", r#"+OK | +OK | "w""#);
}

#[test]
fn set_get() {
    check("SET k v GET | SET k w GET | GET k", r#"nil | "v" | "w""#);
    check("SET k v NX GET | GET k | SET k w NX GET | GET k", r#"nil | "v" | "v" | "v""#);
    check("SET k v XX GET | EXISTS k | SET k v | SET k w XX GET | GET k", r#"nil | :0 | +OK | "v" | "w""#);
    check("SET k v GET GET | GET k", r#"nil | "v""#);
    check("SET k v GET EX 100 | TTL k | SET k w GET | TTL k", r#"nil | :91..100 | "v" | :-1"#);
    check(r#"SET k "" | SET k v GET"#, r#"+OK | """#);
}

#[test]
fn set_expiry() {
    check("SET k v EX 100 | TTL k | GET k", r#"+OK | :91..100 | "v""#);
    check("SET k v PX 100000 | TTL k | GET k", r#"+OK | :91..100 | "v""#);
    check("SET k v EXAT 33177117420 | EXPIRETIME k | PEXPIRETIME k", "+OK | :33177117420 | :33177117420000");
    check(
        "SET k v PXAT 33177117420000 | PEXPIRETIME k | EXPIRETIME k",
        "+OK | :33177117420000 | :33177117420",
    );
    check("SET k v ex 100 | TTL k", "+OK | :91..100");
    check("SET k v EX 100 | SET k w | TTL k", "+OK | +OK | :-1");
    check("SET k v EX 100 | SET k w KEEPTTL | TTL k | GET k", r#"+OK | +OK | :91..100 | "w""#);
    check("SET k v KEEPTTL | TTL k", "+OK | :-1");
    check("SET k v EX 100 | SET k w KEEPTTL GET | TTL k | GET k", r#"+OK | "v" | :91..100 | "w""#);
    check("SET k v EX 100 | SET k w XX KEEPTTL | TTL k", "+OK | +OK | :91..100");
    check("SET k v EXAT 1 | EXISTS k | GET k | DBSIZE", "+OK | :0 | nil | :0");
    check("SET k v | SET k w PXAT 1 | EXISTS k | DBSIZE", "+OK | +OK | :0 | :0");
    check("SET k v PXAT 1 GET | SET k w | SET k v EXAT 1 GET | EXISTS k", r#"nil | +OK | "w" | :0"#);
    check("SET k v EX 0", "-ERR invalid expire time in 'set' command");
    check("SET k v EX -1", "-ERR invalid expire time in 'set' command");
    check("SET k v PX 0", "-ERR invalid expire time in 'set' command");
    check("SET k v PX -5", "-ERR invalid expire time in 'set' command");
    check("SET k v EXAT 0", "-ERR invalid expire time in 'set' command");
    check("SET k v PXAT 0", "-ERR invalid expire time in 'set' command");
    check("SET k v EXAT -1", "-ERR invalid expire time in 'set' command");
    check("SET k v EX abc", "-ERR value is not an integer or out of range");
    check("SET k v EX 1.5", "-ERR value is not an integer or out of range");
    check(r#"SET k v EX """#, "-ERR value is not an integer or out of range");
    check(r#"SET k v EX " 1""#, "-ERR value is not an integer or out of range");
    check("SET k v EX +1", "-ERR value is not an integer or out of range");
    check("SET k v EX 01", "-ERR value is not an integer or out of range");
    check("SET k v EX 9223372036854775807", "-ERR invalid expire time in 'set' command");
    check("SET k v EX 9223372036854775", "-ERR invalid expire time in 'set' command");
    check("SET k v EX 9223372036854774", "-ERR invalid expire time in 'set' command");
    check("SET k v EX 9223372036854775808", "-ERR value is not an integer or out of range");
    check("SET k v PX 9223372036854775807", "-ERR invalid expire time in 'set' command");
    check("SET k v PX 9223372036854775807 | EXISTS k", "-ERR invalid expire time in 'set' command | :0");
    check("SET k v EXAT 9223372036854775807", "-ERR invalid expire time in 'set' command");
    check("SET k v EXAT 9223372036854775 | PEXPIRETIME k", "+OK | :9223372036854775000");
    check("SET k v EXAT 9223372036854776", "-ERR invalid expire time in 'set' command");
    check(
        "SET k v PXAT 9223372036854775807 | PEXPIRETIME k | EXPIRETIME k",
        "+OK | :9223372036854775807 | :9223372036854776",
    );
    check("SET k v EX", "-ERR syntax error");
    check("SET k v PX", "-ERR syntax error");
    check("SET k v EXAT", "-ERR syntax error");
    check("SET k v EX 10 PX 10", "-ERR syntax error");
    check("SET k v EX 10 EX 10", "+OK");
    check("SET k v EX 10 KEEPTTL", "-ERR syntax error");
    check("SET k v KEEPTTL EX 10", "-ERR syntax error");
    check("SET k v KEEPTTL KEEPTTL", "+OK");
    check("SET k v EXAT 10 PXAT 10", "-ERR syntax error");
    check("SET k v EX NX", "-ERR value is not an integer or out of range");
    check("SET k v NX EX 100 | TTL k | SET k w NX EX 200 | TTL k", "+OK | :91..100 | nil | :91..100");
    check("SET k v EX 100 NX | TTL k", "+OK | :91..100");
}

#[test]
fn set_syntax() {
    check("SET k v FOO", "-ERR syntax error");
    check(r#"SET k v """#, "-ERR syntax error");
    check("SET k v NX FOO", "-ERR syntax error");
    check("SET k v PERSIST", "-ERR syntax error");
    check("SET k v EX 10 PERSIST", "-ERR syntax error");
    check("SET k v w x y z", "-ERR syntax error");
    check("SET k v NXX", "-ERR syntax error");
}

#[test]
fn setnx_setex_psetex() {
    check("SETNX k v | SETNX k w | GET k", r#":1 | :0 | "v""#);
    check("SETNX k v | DEL k | SETNX k w | GET k", r#":1 | :1 | :1 | "w""#);
    check("SET k v PXAT 1 | SETNX k w | GET k", r#"+OK | :1 | "w""#);
    check("SETEX k 100 v | TTL k | GET k", r#"+OK | :91..100 | "v""#);
    check("SETEX k 100 v | SETEX k 200 w | TTL k | GET k", r#"+OK | +OK | :191..200 | "w""#);
    check("SETEX k 0 v | EXISTS k", "-ERR invalid expire time in 'setex' command | :0");
    check("SETEX k -1 v", "-ERR invalid expire time in 'setex' command");
    check("SETEX k abc v", "-ERR value is not an integer or out of range");
    check("SETEX k 1.0 v", "-ERR value is not an integer or out of range");
    check("SETEX k 9223372036854775807 v", "-ERR invalid expire time in 'setex' command");
    check("SETEX k 9223372036854775808 v", "-ERR value is not an integer or out of range");
    check("PSETEX k 100000 v | TTL k | GET k", r#"+OK | :91..100 | "v""#);
    check("PSETEX k 0 v | EXISTS k", "-ERR invalid expire time in 'psetex' command | :0");
    check("PSETEX k -1 v", "-ERR invalid expire time in 'psetex' command");
    check("PSETEX k abc v", "-ERR value is not an integer or out of range");
    check("PSETEX k 9223372036854775807 v", "-ERR invalid expire time in 'psetex' command");
    check("SET k v | SETEX k 0 w | GET k", r#"+OK | -ERR invalid expire time in 'setex' command | "v""#);
}

#[test]
fn getset_getdel() {
    check("GETSET k v | GETSET k w | GET k", r#"nil | "v" | "w""#);
    check("SET k v EX 100 | GETSET k w | TTL k", r#"+OK | "v" | :-1"#);
    check("GETDEL k | SET k v | GETDEL k | EXISTS k | DBSIZE", r#"nil | +OK | "v" | :0 | :0"#);
    check(r#"SET k "x"*5000 | GETDEL k | GET k"#, r#"+OK | "x"*5000 | nil"#);
    check(r#"SET k "" | GETDEL k | EXISTS k"#, r#"+OK | "" | :0"#);
}

#[test]
fn getex() {
    check("GETEX k | SET k v | GETEX k | TTL k", r#"nil | +OK | "v" | :-1"#);
    check("SET k v | GETEX k EX 100 | TTL k", r#"+OK | "v" | :91..100"#);
    check("SET k v | GETEX k PX 100000 | TTL k", r#"+OK | "v" | :91..100"#);
    check("SET k v | GETEX k EXAT 33177117420 | EXPIRETIME k", r#"+OK | "v" | :33177117420"#);
    check("SET k v | GETEX k PXAT 33177117420000 | PEXPIRETIME k", r#"+OK | "v" | :33177117420000"#);
    check("SET k v EX 100 | GETEX k | TTL k", r#"+OK | "v" | :91..100"#);
    check("SET k v EX 100 | GETEX k PERSIST | TTL k", r#"+OK | "v" | :-1"#);
    check("SET k v | GETEX k PERSIST | TTL k", r#"+OK | "v" | :-1"#);
    check("SET k v EX 100 | GETEX k persist | TTL k", r#"+OK | "v" | :-1"#);
    check("SET k v | GETEX k EXAT 1 | EXISTS k | DBSIZE", r#"+OK | "v" | :0 | :0"#);
    check("SET k v | GETEX k PXAT 1 | EXISTS k | DBSIZE", r#"+OK | "v" | :0 | :0"#);
    check("GETEX missing EX 10 | EXISTS missing", "nil | :0");
    check("GETEX missing EX 0", "nil");
    check("GETEX missing FOO", "-ERR syntax error");
    check("GETEX k EX", "-ERR syntax error");
    check("GETEX k EX abc", "nil");
    check(
        "SET k v | GETEX k EX 0 | GETEX k EX -1 | GETEX k PX 0 | GETEX k EXAT 0 | GETEX k PXAT -1 | TTL k",
        "+OK | -ERR invalid expire time in 'getex' command | -ERR invalid expire time in 'getex' command | -ERR invalid expire time in 'getex' command | -ERR invalid expire time in 'getex' command | -ERR invalid expire time in 'getex' command | :-1",
    );
    check(
        r#"SET k v | GETEX k EX abc | GETEX k PX 1.5 | GETEX k EXAT "" | TTL k"#,
        "+OK | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | :-1",
    );
    check("GETEX k EX 10 PX 10", "-ERR syntax error");
    check("GETEX k EX 10 PERSIST", "-ERR syntax error");
    check("GETEX k PERSIST EX 10", "-ERR syntax error");
    check("GETEX k PERSIST PERSIST", "nil");
    check("GETEX k KEEPTTL", "-ERR syntax error");
    check("GETEX k NX", "-ERR syntax error");
    check("GETEX k GET", "-ERR syntax error");
    check(
        "SET k v | GETEX k EX 9223372036854775807 | GETEX k PX 9223372036854775807 | TTL k",
        "+OK | -ERR invalid expire time in 'getex' command | -ERR invalid expire time in 'getex' command | :-1",
    );
}

#[test]
fn mget_mset() {
    check("MSET a 1 b 2 | MGET a b c a", r#"+OK | ["1" "2" nil "1"]"#);
    check("MSET a 1 a 2 a 3 | GET a", r#"+OK | "3""#);
    check(r#"MSET a 1 b "" | MGET a b"#, r#"+OK | ["1" ""]"#);
    check("MGET missing", "[nil]");
    check("MGET a a a", "[nil nil nil]");
    check("MSET a 1 | SET a 1 EX 100 | MSET a 2 | TTL a", "+OK | +OK | +OK | :-1");
    check(r#"MSET "a\x00" "\x00" | MGET "a\x00""#, r#"+OK | ["\x00"]"#);
    check(
        r#"MSET a "x"*5000 b "y"*70000 c z | STRLEN a | STRLEN b | MGET c"#,
        r#"+OK | :5000 | :70000 | ["z"]"#,
    );
    check("MSETNX a 1 b 2 | MSETNX b 3 c 4 | MGET a b c", r#":1 | :0 | ["1" "2" nil]"#);
    check("MSETNX a 1 a 2 | GET a", r#":1 | "2""#);
    check("SET a 1 EX 100 | MSETNX b 2 a 3 | EXISTS b | TTL a", "+OK | :0 | :0 | :91..100");
    check("SET a 1 PXAT 1 | MSETNX a 2 b 3 | MGET a b", r#"+OK | :1 | ["2" "3"]"#);
    check("MSET {t}a 1 {t}b 2 {u}c 3 | MGET {t}a {t}b {u}c", r#"+OK | ["1" "2" "3"]"#);
}

#[test]
fn append_strlen() {
    check("APPEND k a | APPEND k bc | GET k", r#":1 | :3 | "abc""#);
    check(r#"APPEND k "" | EXISTS k | GET k | STRLEN k"#, r#":0 | :1 | "" | :0"#);
    check(r#"SET k v | APPEND k "" | GET k"#, r#"+OK | :1 | "v""#);
    check("SET k 10 | APPEND k 5 | GET k | INCR k", r#"+OK | :3 | "105" | :106"#);
    check("SET k v EX 100 | APPEND k w | TTL k | GET k", r#"+OK | :2 | :91..100 | "vw""#);
    check(r#"APPEND k "\x00\xff" | GET k | STRLEN k"#, r#":2 | "\x00\xff" | :2"#);
    check(
        r#"SET k "x"*4095 | APPEND k a | APPEND k b | STRLEN k | GETRANGE k 4090 -1"#,
        r#"+OK | :4096 | :4097 | :4097 | "xxxxxab""#,
    );
    check(
        r#"SET k "x"*8191 | APPEND k a | APPEND k b | STRLEN k | GETRANGE k 8188 -1"#,
        r#"+OK | :8192 | :8193 | :8193 | "xxxab""#,
    );
    check(
        r#"SET k "x"*65535 | APPEND k a | APPEND k b | STRLEN k | GETRANGE k 65530 -1"#,
        r#"+OK | :65536 | :65537 | :65537 | "xxxxxab""#,
    );
    check(
        r#"APPEND k "x"*3000 | APPEND k "x"*3000 | APPEND k "x"*3000 | APPEND k "x"*60000 | GET k"#,
        r#":3000 | :6000 | :9000 | :69000 | "x"*69000"#,
    );
    check(
        r#"SET k "x"*4096 | APPEND k "x"*4096 | APPEND k "y" | STRLEN k | GETRANGE k 8190 -1"#,
        r#"+OK | :8192 | :8193 | :8193 | "xxy""#,
    );
    check("STRLEN missing", ":0");
    check("SET k 12345 | STRLEN k", "+OK | :5");
    check("SET k -9223372036854775808 | STRLEN k", "+OK | :20");
    check("SET k v PXAT 1 | APPEND k new | GET k | TTL k", r#"+OK | :3 | "new" | :-1"#);
}

#[test]
fn getrange() {
    check(
        r#"SET k "Hello World" | GETRANGE k 0 4 | GETRANGE k -5 -1 | GETRANGE k 0 -1 | GETRANGE k 3 3"#,
        r#"+OK | "Hello" | "World" | "Hello World" | "l""#,
    );
    check(
        r#"SET k "Hello World" | GETRANGE k 5 3 | GETRANGE k -1 -5 | GETRANGE k 20 30 | GETRANGE k 0 100 | GETRANGE k -100 2"#,
        r#"+OK | "" | "" | "" | "Hello World" | "Hel""#,
    );
    check(
        r#"SET k "Hello World" | GETRANGE k -100 -50 | GETRANGE k -100 -11 | GETRANGE k -100 -12 | GETRANGE k 10 10 | GETRANGE k 11 11"#,
        r#"+OK | "H" | "H" | "H" | "d" | """#,
    );
    check(
        "SET k abc | GETRANGE k 0 0 | GETRANGE k 0 -3 | GETRANGE k 0 -4 | GETRANGE k 2 -1 | GETRANGE k 3 -1",
        r#"+OK | "a" | "a" | "a" | "c" | """#,
    );
    check(
        "SET k abc | GETRANGE k 9223372036854775807 9223372036854775807 | GETRANGE k -9223372036854775808 9223372036854775807 | GETRANGE k 0 -9223372036854775808",
        r#"+OK | "" | "abc" | "a""#,
    );
    check("GETRANGE missing 0 -1", r#""""#);
    check(r#"SET k "" | GETRANGE k 0 -1 | GETRANGE k 0 0 | GETRANGE k -1 0"#, r#"+OK | "" | "" | """#);
    check("GETRANGE k a 1", "-ERR value is not an integer or out of range");
    check("GETRANGE k 0 b", "-ERR value is not an integer or out of range");
    check("GETRANGE k 0 1.5", "-ERR value is not an integer or out of range");
    check("GETRANGE k 0 9223372036854775808", "-ERR value is not an integer or out of range");
    check(
        r#"SET k abc | GETRANGE k a 1 | GETRANGE k 0 "" | GETRANGE k " 0" 1"#,
        "+OK | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range",
    );
    check("SET k 123456 | GETRANGE k 1 3", r#"+OK | "234""#);
    check(
        r#"SUBSTR missing 0 -1 | SET k "Hello" | SUBSTR k 1 3 | SUBSTR k -2 -1 | SUBSTR k a b"#,
        r#""" | +OK | "ell" | "lo" | -ERR value is not an integer or out of range"#,
    );
    check(
        r#"SET k "x"*9000 | SETRANGE k 4094 abcdef | GETRANGE k 4092 4101 | GETRANGE k 4095 4096 | GETRANGE k 8191 8193"#,
        r#"+OK | :9000 | "xxabcdefxx" | "bc" | "xxx""#,
    );
}

#[test]
fn setrange() {
    check("SETRANGE k 0 Hello | GET k", r#":5 | "Hello""#);
    check(r#"SET k "Hello World" | SETRANGE k 6 Redis | GET k"#, r#"+OK | :11 | "Hello Redis""#);
    check("SETRANGE k 5 abc | GET k | STRLEN k", r#":8 | "\x00\x00\x00\x00\x00abc" | :8"#);
    check("SET k abc | SETRANGE k 5 x | GET k", r#"+OK | :6 | "abc\x00\x00x""#);
    check("SET k abc | SETRANGE k 3 def | GET k", r#"+OK | :6 | "abcdef""#);
    check(r#"SET k abc | SETRANGE k 1 "" | GET k"#, r#"+OK | :3 | "abc""#);
    check(r#"SETRANGE k 0 "" | EXISTS k"#, ":0 | :0");
    check(r#"SETRANGE k 10 "" | EXISTS k"#, ":0 | :0");
    check(r#"SET k abc | SETRANGE k 100 "" | STRLEN k"#, "+OK | :3 | :3");
    check("SETRANGE k -1 a", "-ERR offset is out of range");
    check("SET k abc | SETRANGE k -1 a | GET k", r#"+OK | -ERR offset is out of range | "abc""#);
    check("SETRANGE k a b", "-ERR value is not an integer or out of range");
    check("SETRANGE k 1.5 b", "-ERR value is not an integer or out of range");
    check("SETRANGE k 536870912 a", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    check("SETRANGE k 536870911 ab", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    check(
        "SETRANGE k 4611686018427387904 a",
        "-ERR string exceeds maximum allowed size (proto-max-bulk-len)",
    );
    check(
        "SETRANGE k 9223372036854775807 a",
        "-ERR string exceeds maximum allowed size (proto-max-bulk-len)",
    );
    check(r#"SETRANGE k 9223372036854775807 """#, ":0");
    check("SET k abc EX 100 | SETRANGE k 0 X | TTL k | GET k", r#"+OK | :3 | :91..100 | "Xbc""#);
    check("SET k 12345 | SETRANGE k 1 99 | GET k | INCR k", r#"+OK | :5 | "19945" | :19946"#);
    check("SETRANGE k 4095 ab | STRLEN k | GETRANGE k 4093 -1", r#":4097 | :4097 | "\x00\x00ab""#);
    check("SETRANGE k 4096 a | STRLEN k | GETRANGE k 4094 -1", r#":4097 | :4097 | "\x00\x00a""#);
    check("SETRANGE k 8191 ab | STRLEN k | GETRANGE k 8189 -1", r#":8193 | :8193 | "\x00\x00ab""#);
    check("SETRANGE k 65535 ab | STRLEN k | GETRANGE k 65533 -1", r#":65537 | :65537 | "\x00\x00ab""#);
    check(
        "SETRANGE k 100000 a | STRLEN k | GETRANGE k 0 3 | GETRANGE k 99998 -1",
        r#":100001 | :100001 | "\x00\x00\x00\x00" | "\x00\x00a""#,
    );
    check(
        r#"SET k "x"*20000 | SETRANGE k 100 "y"*10000 | GETRANGE k 98 101 | GETRANGE k 10098 10101 | STRLEN k"#,
        r#"+OK | :20000 | "xxyy" | "yyxx" | :20000"#,
    );
    check(
        "SET k abc | SETRANGE k 70000 z | GETRANGE k 0 4 | STRLEN k | GETRANGE k 69998 70001",
        r#"+OK | :70001 | "abc\x00\x00" | :70001 | "\x00\x00z""#,
    );
    check("SET k v PXAT 1 | SETRANGE k 1 z | GET k", r#"+OK | :2 | "\x00z""#);
}

#[test]
fn keys_with_hash_tags() {
    check(
        r#"SET {a}b 1 | SET {}b 2 | SET a{ 3 | SET "a}{b}" 4 | MGET {a}b {}b a{ "a}{b}" | DBSIZE"#,
        r#"+OK | +OK | +OK | +OK | ["1" "2" "3" "4"] | :4"#,
    );
}
