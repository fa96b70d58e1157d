//! Strings as bits: SETBIT to BITFIELD_RO.

use crate::check::{check, tarn_only};

#[test]
fn arity() {
    check("SETBIT", "-ERR wrong number of arguments for 'setbit' command");
    check("SETBIT k 1", "-ERR wrong number of arguments for 'setbit' command");
    check("SETBIT k 1 1 1", "-ERR wrong number of arguments for 'setbit' command");
    check("GETBIT", "-ERR wrong number of arguments for 'getbit' command");
    check("GETBIT k", "-ERR wrong number of arguments for 'getbit' command");
    check("GETBIT k 1 1", "-ERR wrong number of arguments for 'getbit' command");
    check("BITCOUNT", "-ERR wrong number of arguments for 'bitcount' command");
    check("BITPOS", "-ERR wrong number of arguments for 'bitpos' command");
    check("BITPOS k", "-ERR wrong number of arguments for 'bitpos' command");
    check("BITOP", "-ERR wrong number of arguments for 'bitop' command");
    check("BITOP AND", "-ERR wrong number of arguments for 'bitop' command");
    check("BITOP AND d", "-ERR wrong number of arguments for 'bitop' command");
    check("BITFIELD", "-ERR wrong number of arguments for 'bitfield' command");
    check("BITFIELD_RO", "-ERR wrong number of arguments for 'bitfield_ro' command");
}

#[test]
fn setbit_getbit() {
    check("SETBIT k 0 1 | GET k | SETBIT k 0 0 | GET k", r#":0 | "\x80" | :1 | "\x00""#);
    check(
        "SETBIT k 7 1 | GET k | GETBIT k 7 | GETBIT k 6 | GETBIT k 8 | GETBIT k 100000",
        r#":0 | "\x01" | :1 | :0 | :0 | :0"#,
    );
    check("SETBIT k 7 0 | EXISTS k | GET k", r#":0 | :1 | "\x00""#);
    check("SETBIT k 8 1 | GET k | STRLEN k", r#":0 | "\x00\x80" | :2"#);
    check("SETBIT k 100 0 | STRLEN k", ":0 | :13");
    check("GETBIT missing 0", ":0");
    check("SET k a | GETBIT k 1 | GETBIT k 2 | GETBIT k 7", "+OK | :1 | :1 | :1");
    check("SET k a | SETBIT k 6 1 | SETBIT k 7 0 | GET k", r#"+OK | :0 | :1 | "b""#);
    check("SET k 1 | SETBIT k 6 1 | GET k | INCR k", r#"+OK | :0 | "3" | :4"#);
    check("SET k v EX 100 | SETBIT k 1 1 | TTL k", "+OK | :1 | :91..100");
    check("SETBIT k 0 2", "-ERR bit is not an integer or out of range");
    check("SETBIT k 0 -1", "-ERR bit is not an integer or out of range");
    check("SETBIT k 0 a", "-ERR bit is not an integer or out of range");
    check(r#"SETBIT k 0 """#, "-ERR bit is not an integer or out of range");
    check("SETBIT k -1 1", "-ERR bit offset is not an integer or out of range");
    check("SETBIT k a 1", "-ERR bit offset is not an integer or out of range");
    check("SETBIT k 1.5 1", "-ERR bit offset is not an integer or out of range");
    check("SETBIT k 4294967296 1", "-ERR bit offset is not an integer or out of range");
    check("SETBIT k 4294967295 x", "-ERR bit is not an integer or out of range");
    check("SETBIT k 9223372036854775808 1", "-ERR bit offset is not an integer or out of range");
    check(r#"SETBIT k " 1" 1"#, "-ERR bit offset is not an integer or out of range");
    check("GETBIT k -1", "-ERR bit offset is not an integer or out of range");
    check("GETBIT k a", "-ERR bit offset is not an integer or out of range");
    check("GETBIT k 4294967296", "-ERR bit offset is not an integer or out of range");
    check("GETBIT k 4294967295", ":0");
    check(
        "SETBIT k 32767 1 | STRLEN k | SETBIT k 32768 1 | STRLEN k | BITCOUNT k",
        ":0 | :4096 | :0 | :4097 | :2",
    );
    check(
        "SETBIT k 65535 1 | STRLEN k | SETBIT k 65536 1 | STRLEN k | GETBIT k 65535 | GETBIT k 65536 | GETBIT k 65537 | BITCOUNT k",
        ":0 | :8192 | :0 | :8193 | :1 | :1 | :0 | :2",
    );
    check(
        "SETBIT k 524287 1 | SETBIT k 524288 1 | STRLEN k | BITCOUNT k | BITPOS k 1 | BITPOS k 0",
        ":0 | :0 | :65537 | :2 | :524287 | :0",
    );
    check(
        "SETBIT k 8388607 1 | STRLEN k | BITCOUNT k | BITPOS k 1 | GETBIT k 8388607",
        ":0 | :1048576 | :1 | :8388607 | :1",
    );
    check("SET k v PXAT 1 | SETBIT k 1 1 | GET k", r#"+OK | :0 | "@""#);
}

#[test]
fn bitcount() {
    check("BITCOUNT missing | BITCOUNT missing 0 -1 | BITCOUNT missing 0 -1 BIT", ":0 | :0 | :0");
    check(
        "SET k foobar | BITCOUNT k | BITCOUNT k 0 0 | BITCOUNT k 1 1 | BITCOUNT k 0 -1 | BITCOUNT k -2 -1",
        "+OK | :26 | :4 | :6 | :26 | :7",
    );
    check(
        "SET k foobar | BITCOUNT k 1 1 BYTE | BITCOUNT k 5 30 BIT | BITCOUNT k 0 0 BIT | BITCOUNT k 1 1 BIT | BITCOUNT k -8 -1 BIT",
        "+OK | :6 | :17 | :0 | :1 | :4",
    );
    check(
        "SET k foobar | BITCOUNT k 5 3 | BITCOUNT k -1 -3 | BITCOUNT k 100 200 | BITCOUNT k -100 -50 | BITCOUNT k -100 100",
        "+OK | :0 | :0 | :0 | :4 | :26",
    );
    check(
        "SET k foobar | BITCOUNT k 0 -7 | BITCOUNT k 0 -6 | BITCOUNT k -6 0 | BITCOUNT k -7 0 | BITCOUNT k 6 6",
        "+OK | :4 | :4 | :4 | :4 | :0",
    );
    check(
        "SET k foobar | BITCOUNT k 0 1000 BIT | BITCOUNT k 47 47 BIT | BITCOUNT k 48 48 BIT | BITCOUNT k 40 3 BIT | BITCOUNT k -1000 -49 BIT",
        "+OK | :26 | :0 | :0 | :0 | :0",
    );
    check(
        r#"SET k "\xff\xf0\x00" | BITCOUNT k 0 11 BIT | BITCOUNT k 4 11 BIT | BITCOUNT k 4 12 bit | BITCOUNT k 3 18 BIT"#,
        "+OK | :12 | :8 | :8 | :9",
    );
    check(r#"SET k "" | BITCOUNT k | BITCOUNT k 0 -1"#, "+OK | :0 | :0");
    tarn_only(
        "SET k foobar | BITCOUNT k 0 | BITCOUNT k 1 | BITCOUNT k -1 | BITCOUNT k 6 | BITCOUNT k BIT",
        "+OK | :26 | :22 | :4 | :0 | -ERR value is not an integer or out of range",
    );
    check("SET k foobar | BITCOUNT k 0 a", "+OK | -ERR value is not an integer or out of range");
    check("SET k foobar | BITCOUNT k a 0", "+OK | -ERR value is not an integer or out of range");
    check("SET k foobar | BITCOUNT k 0 1 FOO", "+OK | -ERR syntax error");
    check("SET k foobar | BITCOUNT k 0 1 BIT BIT", "+OK | -ERR syntax error");
    check("SET k foobar | BITCOUNT k 0 1 1", "+OK | -ERR syntax error");
    check("BITCOUNT missing 0", ":0");
    check("BITCOUNT missing a b", ":0");
    check("BITCOUNT missing 0 1 FOO", ":0");
    check(
        "SET k foobar | BITCOUNT k 9223372036854775807 9223372036854775807 | BITCOUNT k -9223372036854775808 -9223372036854775808 | BITCOUNT k -9223372036854775808 9223372036854775807 BIT",
        "+OK | :0 | :4 | :26",
    );
    check(
        r#"SET k "\xff"*5000 | BITCOUNT k | BITCOUNT k 4095 4096 | BITCOUNT k 4090 4100 | BITCOUNT k 32767 32768 BIT"#,
        "+OK | :40000 | :16 | :88 | :2",
    );
    check(
        r#"SET k "\x01"*70000 | BITCOUNT k | BITCOUNT k 1 -2 | BITCOUNT k 65535 65536"#,
        "+OK | :70000 | :69998 | :2",
    );
}

#[test]
fn bitpos() {
    check(
        r#"SET k "\xff\xf0\x00" | BITPOS k 0 | BITPOS k 1 | BITPOS k 0 1 | BITPOS k 1 1 | BITPOS k 1 2 | BITPOS k 0 2"#,
        "+OK | :12 | :0 | :12 | :8 | :-1 | :16",
    );
    check(
        r#"SET k "\x00\xff\xf0" | BITPOS k 1 0 | BITPOS k 1 2 | BITPOS k 1 2 -1 | BITPOS k 0 1 1 | BITPOS k 0 1"#,
        "+OK | :8 | :16 | :16 | :-1 | :20",
    );
    check(r#"SET k "\x00\x00\x00" | BITPOS k 1 | BITPOS k 1 0 -1 | BITPOS k 0"#, "+OK | :-1 | :-1 | :0");
    check(
        r#"SET k "\xff\xff\xff" | BITPOS k 0 | BITPOS k 0 0 | BITPOS k 0 0 -1 | BITPOS k 0 0 100 | BITPOS k 0 1 | BITPOS k 1 | BITPOS k 0 3 | BITPOS k 0 5"#,
        "+OK | :24 | :24 | :-1 | :-1 | :24 | :0 | :-1 | :-1",
    );
    check(
        r#"SET k "\xff\xff\xff" | BITPOS k 0 0 -1 BIT | BITPOS k 0 3 10 BIT | BITPOS k 1 3 10 BIT | BITPOS k 1 23 -1 BIT | BITPOS k 1 24 -1 BIT"#,
        "+OK | :-1 | :-1 | :3 | :23 | :-1",
    );
    check(
        r#"SET k "\x00\xff\xf0" | BITPOS k 1 7 15 BIT | BITPOS k 1 0 7 BIT | BITPOS k 0 8 15 BIT | BITPOS k 0 8 20 bit | BITPOS k 1 -20 -1 BIT | BITPOS k 1 -16 -1 byte"#,
        "+OK | :8 | :-1 | :-1 | :20 | :8 | :8",
    );
    check(
        "BITPOS missing 0 | BITPOS missing 1 | BITPOS missing 0 5 | BITPOS missing 1 5 | BITPOS missing 0 0 -1 | BITPOS missing 1 0 -1 BIT",
        ":0 | :-1 | :0 | :-1 | :0 | :-1",
    );
    check(
        r#"SET k "" | BITPOS k 0 | BITPOS k 1 | BITPOS k 0 0 | BITPOS k 0 0 -1"#,
        "+OK | :-1 | :-1 | :-1 | :-1",
    );
    check(
        r#"SET k "\xff" | BITPOS k 0 5 2 | BITPOS k 1 5 2 | BITPOS k 1 -1 -5 | BITPOS k 1 10 20"#,
        "+OK | :-1 | :-1 | :0 | :-1",
    );
    check("BITPOS k 2", "-ERR The bit argument must be 1 or 0.");
    check("BITPOS k -1", "-ERR The bit argument must be 1 or 0.");
    check("BITPOS k a", "-ERR value is not an integer or out of range");
    check(r#"BITPOS k """#, "-ERR value is not an integer or out of range");
    check(
        "SET k a | BITPOS k 2 | BITPOS k 1 a | BITPOS k 1 0 a | BITPOS k 1 0 1 FOO | BITPOS k 1 0 1 BIT x",
        "+OK | -ERR The bit argument must be 1 or 0. | -ERR value is not an integer or out of range | -ERR value is not an integer or out of range | -ERR syntax error | -ERR syntax error",
    );
    check("SET k a | BITPOS k 1 0 BIT", "+OK | -ERR value is not an integer or out of range");
    check("BITPOS missing 1 a", ":-1");
    check("BITPOS missing 1 0 1 FOO", ":-1");
    check(
        r#"SET k "\x00"*5000 | SETBIT k 39999 1 | BITPOS k 1 | BITPOS k 1 4096 | BITPOS k 1 0 4096 | BITPOS k 1 32768 -1 BIT"#,
        "+OK | :0 | :39999 | :39999 | :-1 | :39999",
    );
    check(
        r#"SET k "\xff"*70000 | BITPOS k 0 | SETBIT k 524288 0 | BITPOS k 0 | BITPOS k 0 65537 | BITPOS k 0 65537 -1"#,
        "+OK | :560000 | :1 | :524288 | :560000 | :-1",
    );
}

#[test]
fn bitop() {
    check("MSET a foof b foobar | BITOP AND d a b | GET d", r#"+OK | :6 | "foob\x00\x00""#);
    check("MSET a foof b foobar | BITOP OR d a b | GET d", r#"+OK | :6 | "foofar""#);
    check("MSET a foof b foobar | BITOP XOR d a b | GET d", r#"+OK | :6 | "\x00\x00\x00\x04ar""#);
    check(r#"SET a "\x00\xff\x0f" | BITOP NOT d a | GET d"#, r#"+OK | :3 | "\xff\x00\xf0""#);
    check(
        r#"MSET a "\xff\x0f" b "\x0f" | BITOP AND d a b missing | GET d | BITOP OR d a missing b | GET d | BITOP XOR d a b a | GET d"#,
        r#"+OK | :2 | "\x00\x00" | :2 | "\xff\x0f" | :2 | "\x0f\x00""#,
    );
    check("BITOP AND d a b | EXISTS d", ":0 | :0");
    check("SET d old | BITOP OR d missing | EXISTS d", "+OK | :0 | :0");
    check("SET d old | BITOP NOT d missing | EXISTS d", "+OK | :0 | :0");
    check("SET d old EX 100 | SET a x | BITOP OR d a | GET d | TTL d", r#"+OK | +OK | :1 | "x" | :-1"#);
    check(
        "SET a abc | BITOP OR a a | GET a | BITOP NOT a a | GET a | BITOP XOR a a a | GET a",
        r#"+OK | :3 | "abc" | :3 | "\x9e\x9d\x9c" | :3 | "\x00\x00\x00""#,
    );
    check("SET a abc | BITOP AND d a | BITOP XOR e a | MGET d e", r#"+OK | :3 | :3 | ["abc" "abc"]"#);
    check(r#"SET a "" | SET b "" | SET d old | BITOP OR d a b | EXISTS d"#, "+OK | +OK | +OK | :0 | :0");
    check(r#"SET a "" | SET b x | BITOP AND d a b | GET d"#, r#"+OK | +OK | :1 | "\x00""#);
    check("BITOP NOT d a b", "-ERR BITOP NOT must be called with a single source key.");
    check("SET a x | BITOP NOT d a a", "+OK | -ERR BITOP NOT must be called with a single source key.");
    check("BITOP FOO d a", "-ERR syntax error");
    check(r#"BITOP "" d a"#, "-ERR syntax error");
    check(
        "SET a abc | BITOP and d a | BITOP Or d a | BITOP nOT d a | GET d",
        r#"+OK | :3 | :3 | :3 | "\x9e\x9d\x9c""#,
    );
    check(
        r#"SET a "\xf0"*5000 | SET b "\x0f"*4096 | BITOP OR d a b | STRLEN d | BITCOUNT d | GETRANGE d 4094 4098"#,
        r#"+OK | +OK | :5000 | :5000 | :36384 | "\xff\xff\xf0\xf0\xf0""#,
    );
    check(
        r#"SET a "\xf0"*5000 | SET b "\x0f"*70000 | BITOP XOR d a b | STRLEN d | BITCOUNT d | BITOP AND d a b | BITCOUNT d | STRLEN d"#,
        "+OK | +OK | :70000 | :70000 | :300000 | :70000 | :0 | :70000",
    );
    check(
        r#"SET a "\xf0"*70000 | BITOP NOT d a | STRLEN d | BITCOUNT d | GETRANGE d 65535 65536"#,
        r#"+OK | :70000 | :70000 | :280000 | "\x0f\x0f""#,
    );
    check(
        "MSET a 1 b 2 c 3 d 4 e 5 | BITOP OR r a b c d e | GET r | BITOP AND r a b c d e | GET r | BITOP XOR r a b c d e | GET r",
        r#"+OK | :1 | "7" | :1 | "0" | :1 | "1""#,
    );
    check("SET a 123 | BITOP NOT d a | BITOP NOT d d | GET d", r#"+OK | :3 | :3 | "123""#);
}

#[test]
fn bitfield() {
    check("BITFIELD k SET u8 0 255 GET u8 0 GET i8 0", "[:0 :255 :-1]");
    check("BITFIELD k INCRBY i5 100 1 GET u4 0", "[:1 :0]");
    check("BITFIELD k GET u8 0 | EXISTS k", "[:0] | :0");
    check("BITFIELD k | EXISTS k", "[] | :0");
    check("BITFIELD k SET u8 0 1 | GET k | BITFIELD k SET u8 0 2", r#"[:0] | "\x01" | [:1]"#);
    check("BITFIELD k SET u8 #0 1 SET u8 #1 2 SET u8 #2 3 | GET k", r#"[:0 :0 :0] | "\x01\x02\x03""#);
    check("BITFIELD k SET u4 #1 15 | GET k | BITFIELD k GET u4 #0 GET u4 #1", r#"[:0] | "\x0f" | [:0 :15]"#);
    check(
        "BITFIELD k SET i64 0 -1 GET i64 0 GET u63 0 GET u63 1",
        "[:0 :-1 :9223372036854775807 :9223372036854775807]",
    );
    check("BITFIELD k SET i64 3 9223372036854775807 GET i64 3 | STRLEN k", "[:0 :9223372036854775807] | :9");
    check("BITFIELD k SET i64 0 9223372036854775807 INCRBY i64 0 1", "[:0 :-9223372036854775808]");
    check(
        "BITFIELD k SET i64 0 9223372036854775807 OVERFLOW SAT INCRBY i64 0 1 OVERFLOW FAIL INCRBY i64 0 1",
        "[:0 :9223372036854775807 nil]",
    );
    check("BITFIELD k SET u63 0 9223372036854775807 INCRBY u63 0 1", "[:0 :0]");
    check(
        "BITFIELD k SET u63 0 9223372036854775807 OVERFLOW SAT INCRBY u63 0 1",
        "[:0 :9223372036854775807]",
    );
    check("BITFIELD k SET u8 0 256 GET u8 0", "[:0 :0]");
    check("BITFIELD k SET u8 0 -1 GET u8 0", "[:0 :255]");
    check("BITFIELD k SET i8 0 128 GET i8 0", "[:0 :-128]");
    check("BITFIELD k SET i8 0 -129 GET i8 0", "[:0 :127]");
    check("BITFIELD k OVERFLOW SAT SET u8 0 256 GET u8 0 SET u8 0 -1 GET u8 0", "[:0 :255 :255 :255]");
    check("BITFIELD k OVERFLOW SAT SET i8 0 128 GET i8 0 SET i8 0 -129 GET i8 0", "[:0 :127 :127 :-128]");
    check("BITFIELD k OVERFLOW FAIL SET u8 0 256 GET u8 0", "[nil :0]");
    check("BITFIELD k OVERFLOW FAIL SET u8 100 256 | EXISTS k", "[nil] | :1");
    check("BITFIELD k OVERFLOW FAIL INCRBY u8 100 256 | EXISTS k", "[nil] | :1");
    check("BITFIELD k INCRBY u8 0 255 INCRBY u8 0 1 INCRBY u8 0 -1 INCRBY u8 0 -256", "[:255 :0 :255 :255]");
    check("BITFIELD k OVERFLOW SAT INCRBY u8 0 300 INCRBY u8 0 -10 INCRBY u8 0 -300", "[:255 :245 :0]");
    check(
        "BITFIELD k OVERFLOW FAIL INCRBY u8 0 255 INCRBY u8 0 1 INCRBY u8 0 -256 GET u8 0",
        "[:255 nil nil :255]",
    );
    check("BITFIELD k INCRBY i8 0 127 INCRBY i8 0 1 INCRBY i8 0 -1", "[:127 :-128 :127]");
    check("BITFIELD k OVERFLOW SAT INCRBY i8 0 200 INCRBY i8 0 -400", "[:127 :-128]");
    check("BITFIELD k OVERFLOW FAIL INCRBY i8 0 127 INCRBY i8 0 1 GET i8 0", "[:127 nil :127]");
    check(
        "BITFIELD k OVERFLOW WRAP INCRBY u2 0 3 OVERFLOW SAT INCRBY u2 0 1 OVERFLOW FAIL INCRBY u2 0 1 OVERFLOW WRAP INCRBY u2 0 1",
        "[:3 :3 nil :0]",
    );
    check(
        "BITFIELD k overflow wrap incrby U8 0 5 get I8 0 set u8 0 7",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check("BITFIELD k INCRBY u1 0 1 INCRBY u1 0 1 INCRBY i1 1 1 GET i1 1", "[:1 :0 :-1 :-1]");
    check(
        "BITFIELD k SET u8 7 255 | GET k | BITFIELD k GET u8 7 GET u8 0 GET u8 8 GET u16 0",
        r#"[:0] | "\x01\xfe" | [:255 :1 :254 :510]"#,
    );
    check(
        "BITFIELD k INCRBY i64 0 -9223372036854775808 INCRBY i64 0 -1",
        "[:-9223372036854775808 :9223372036854775807]",
    );
    check(
        "BITFIELD k OVERFLOW SAT INCRBY i64 0 -9223372036854775808 INCRBY i64 0 -1",
        "[:-9223372036854775808 :-9223372036854775808]",
    );
    check("SET k abc EX 100 | BITFIELD k SET u8 0 65 | TTL k | GET k", r#"+OK | [:97] | :91..100 | "Abc""#);
    check(
        "SET k abc | BITFIELD k GET u8 0 GET u8 8 GET u8 16 GET u8 24 GET u16 16 GET i32 0",
        "+OK | [:97 :98 :99 :0 :25344 :1633837824]",
    );
    check("SET k abc | BITFIELD k GET u8 1000 GET i8 20", "+OK | [:0 :48]");
    check("BITFIELD k GET u8 0 SET u8 0 1 GET u8 0 FOO", "-ERR syntax error");
    check("BITFIELD k FOO", "-ERR syntax error");
    check("BITFIELD k GET", "-ERR syntax error");
    check("BITFIELD k GET u8", "-ERR syntax error");
    check("BITFIELD k SET u8 0", "-ERR syntax error");
    check("BITFIELD k INCRBY u8 0", "-ERR syntax error");
    check("BITFIELD k OVERFLOW", "-ERR syntax error");
    check("BITFIELD k OVERFLOW FOO", "-ERR Invalid OVERFLOW type specified");
    check("BITFIELD k OVERFLOW FOO GET u8 0", "-ERR Invalid OVERFLOW type specified");
    check(
        "BITFIELD k GET u64 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET u0 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET i65 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET i0 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET x8 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET 8 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET u 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET u8x 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        "BITFIELD k GET u-8 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check(
        r#"BITFIELD k GET "" 0"#,
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check("BITFIELD k GET u8 -1", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 a", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 #a", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 #-1", "-ERR bit offset is not an integer or out of range");
    check(r#"BITFIELD k GET u8 """#, "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 #", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 4294967295", "[:0]");
    check("BITFIELD k GET u8 4294967296", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 #536870911", "[:0]");
    check("BITFIELD k GET u8 #536870912", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 9223372036854775807", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k GET u8 #9223372036854775807", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k SET u8 4294967296 1", "-ERR bit offset is not an integer or out of range");
    check("BITFIELD k SET u8 0 abc", "-ERR value is not an integer or out of range");
    check("BITFIELD k SET u8 0 9223372036854775808", "-ERR value is not an integer or out of range");
    check("BITFIELD k INCRBY u8 0 1.5", "-ERR value is not an integer or out of range");
    check(
        "BITFIELD k SET u8 0 1 SET u8 0 abc | EXISTS k",
        "-ERR value is not an integer or out of range | :0",
    );
    check(
        "BITFIELD k SET u8 32760 255 SET u8 32764 255 SET u8 32768 1 | STRLEN k | BITCOUNT k | BITFIELD k GET u16 32760",
        "[:0 :240 :240] | :4097 | :9 | [:65281]",
    );
    check(
        "BITFIELD k SET u16 65528 65535 | STRLEN k | BITFIELD k GET u8 65528 GET u8 65536",
        "[:0] | :8193 | [:255 :255]",
    );
    check("BITFIELD k SET u16 524280 65535 | STRLEN k | BITCOUNT k", "[:0] | :65537 | :16");
    check("SET k v PXAT 1 | BITFIELD k GET u8 0 SET u8 0 65 | GET k", r#"+OK | [:0 :0] | "A""#);
    check("SET k 100 | BITFIELD k INCRBY u8 0 1 | GET k", r#"+OK | [:50] | "200""#);
}

#[test]
fn operations_of_redis_8_2() {
    tarn_only(
        r#"MSET a "\xf0\xff" b "\xcc" c "\xaa\x01" | BITOP DIFF d a b c | GET d | BITOP DIFF1 d a b c | GET d | BITOP ANDOR d a b c | GET d | BITOP ONE d a b c | GET d"#,
        r#"+OK | :2 | "\x10\xfe" | :2 | "\x0e\x00" | :2 | "\xe0\x01" | :2 | "\x16\xfe""#,
    );
    tarn_only(
        r#"SET a "\xf0" | BITOP diff d a none | GET d | BITOP DIFF1 d none a | GET d | BITOP ANDOR d a none | GET d | BITOP ONE d a | GET d | BITOP ONE d a a | GET d | BITOP ONE d none | EXISTS d"#,
        r#"+OK | :1 | "\xf0" | :1 | "\xf0" | :1 | "\x00" | :1 | "\xf0" | :1 | "\x00" | :0 | :0"#,
    );
    for name in ["DIFF", "DIFF1", "ANDOR"] {
        tarn_only(
            &format!("SET a x | BITOP {name} d a | EXISTS d"),
            &format!("+OK | -ERR BITOP {name} must be called with at least two source keys. | :0"),
        );
    }
    tarn_only(
        r#"SET a "\xff"*300000 | SETRANGE b 299999 "\xff" | BITOP DIFF d a b | BITCOUNT d | BITOP ONE d a b b | BITCOUNT d"#,
        "+OK | :300000 | :300000 | :2399992 | :300000 | :2399992",
    );
}

#[test]
fn a_field_far_beyond_every_string() {
    tarn_only("BITFIELD k GET u8 #2305843009213693952", "-ERR bit offset is not an integer or out of range");
    tarn_only(
        "BITFIELD k SET u16 #1152921504606846976 1 | EXISTS k",
        "-ERR bit offset is not an integer or out of range | :0",
    );
}

#[test]
fn bitfield_ro() {
    check("BITFIELD_RO k GET u8 0", "[:0]");
    check("SET k abc | BITFIELD_RO k GET u8 0 GET u8 #1 GET i16 4", "+OK | [:97 :98 :5670]");
    check("BITFIELD_RO k", "[]");
    check("BITFIELD_RO k SET u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand");
    check("BITFIELD_RO k INCRBY u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand");
    check("BITFIELD_RO k GET u8 0 SET u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand");
    check("BITFIELD_RO k OVERFLOW SAT GET u8 0", "[:0]");
    check("BITFIELD_RO k OVERFLOW SAT", "[]");
    check(
        "BITFIELD_RO k GET u64 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    check("BITFIELD_RO k GET u8", "-ERR syntax error");
    check("BITFIELD_RO k FOO", "-ERR syntax error");
    check("BITFIELD_RO k GET u8 -1", "-ERR bit offset is not an integer or out of range");
}
