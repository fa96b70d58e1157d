//! HyperLogLog: PFADD to PFSELFTEST. `diff` compares the bytes of random ones with redis-server's.

use crate::check::{check, check_with, tarn_only};
use crate::harness::{ENGINES, pool};

#[test]
fn arity() {
    check("PFADD", "-ERR wrong number of arguments for 'pfadd' command");
    check("PFCOUNT", "-ERR wrong number of arguments for 'pfcount' command");
    check("PFMERGE", "-ERR wrong number of arguments for 'pfmerge' command");
    check("PFDEBUG DECODE", "-ERR wrong number of arguments for 'pfdebug' command");
    check("PFDEBUG DECODE a b", "-ERR wrong number of arguments for 'pfdebug' command");
    check("PFSELFTEST x", "-ERR wrong number of arguments for 'pfselftest' command");
}

#[test]
fn pfadd_and_pfcount() {
    check(
        "PFADD k a b c d e f g | PFCOUNT k | PFADD k a b | PFADD k h | PFCOUNT k | TYPE k",
        ":1 | :7 | :0 | :1 | :8 | +string",
    );
    check(
        "PFADD k | PFADD k | EXISTS k | PFCOUNT k | PFCOUNT missing | EXISTS missing",
        ":1 | :0 | :1 | :0 | :0 | :0",
    );
    check(r#"PFADD k "" | PFADD k "\x00" | PFADD k "\x00\xff" | PFCOUNT k"#, ":1 | :1 | :1 | :3");
    check("PFADD k a a a | PFCOUNT k", ":1 | :1");
    check("SET k v EX 100 | DEL k | PFADD k a | TTL k", "+OK | :1 | :1 | :-1");
    check("PFADD k a | EXPIRE k 100 | PFADD k b | PFCOUNT k | TTL k", ":1 | :1 | :1 | :2 | :91..100");
    check("SET k v PXAT 1 | PFADD k a | PFCOUNT k", "+OK | :1 | :1");
}

#[test]
fn bytes_are_those_of_redis() {
    check(
        "PFADD k | GET k | PFCOUNT k | GET k",
        r#":1 | "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff" | :0 | "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff""#,
    );
    check(
        "PFADD k a | GET k | PFCOUNT k | GET k | PFADD k a | GET k",
        r#":1 | "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80q\xa6\x84NW" | :1 | "HYLL\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00q\xa6\x84NW" | :0 | "HYLL\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00q\xa6\x84NW""#,
    );
    check(
        r#"SET k "HYLL\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x7f\xff" | PFCOUNT k | PFCOUNT k k | PFADD k a | PFCOUNT k"#,
        "+OK | :7 | :0 | :1 | :1",
    );
}

#[test]
fn pfcount_of_several_keys() {
    check(
        "PFADD a 1 2 3 | PFADD b 3 4 5 | PFCOUNT a b | PFCOUNT a b missing | PFCOUNT missing other | PFCOUNT a a",
        ":1 | :1 | :5 | :5 | :0 | :3",
    );
    check(
        "PFADD a 1 2 3 | PFADD b 4 | PFDEBUG TODENSE b | PFCOUNT a b | PFDEBUG ENCODING a",
        ":1 | :1 | :1 | :4 | +sparse",
    );
}

#[test]
fn pfmerge() {
    check(
        "PFADD a 1 2 3 | PFADD b 3 4 5 | PFMERGE c a b | PFCOUNT c | PFMERGE c | PFMERGE a b missing | PFCOUNT a",
        ":1 | :1 | +OK | :5 | +OK | +OK | :5",
    );
    check("PFMERGE c | EXISTS c | PFCOUNT c", "+OK | :1 | :0");
    check("PFMERGE c missing | EXISTS c missing", "+OK | :1");
    check(
        "PFADD a 1 | PFADD b 2 | PFDEBUG TODENSE b | PFMERGE a b | PFDEBUG ENCODING a | PFCOUNT a | STRLEN a",
        ":1 | :1 | :1 | +OK | +dense | :2 | :12304",
    );
    check("PFADD a 1 | EXPIRE a 100 | PFADD b 2 | PFMERGE a b | TTL a", ":1 | :1 | :1 | +OK | :91..100");
    check(
        "PFADD a x | PFCOUNT a | PFMERGE a | GET a",
        r#":1 | :1 | +OK | "HYLL\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x80\x7f\xf5\x84\x08""#,
    );
}

#[test]
fn other_values_are_refused() {
    const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    const INVALID: &str = "-WRONGTYPE Key is not a valid HyperLogLog string value.";
    const CALLS: &str = "PFADD k a | PFCOUNT k | PFCOUNT k x | PFMERGE x k | PFMERGE k | PFDEBUG DECODE k";
    check(&format!("LPUSH k a | {CALLS}"), &format!(":1{}", format!(" | {WRONG}").repeat(6)));
    for value in [
        "12345678901234567890",
        "foo",
        "\"\"",
        r#""HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00""#,
        r#""HYLL\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff""#,
        r#""HYLL\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff""#,
        r#""HYLX\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff""#,
        r#""HYLL"*3076"#,
    ] {
        check(&format!("SET k {value} | {CALLS}"), &format!("+OK{}", format!(" | {INVALID}").repeat(6)));
    }
}

#[test]
fn registers_that_do_not_add_up_are_refused() {
    const CORRUPT: &str = "-INVALIDOBJ Corrupted HLL object detected";
    for runs in ["", r"\x7f\xfe", r"\x7f\xff\x00", r"\x7f\xff\x80", r"\x7f\xff\x40\x01"] {
        let value = format!(r#""HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80{runs}""#);
        check(
            &format!(
                "SET k {value} | PFCOUNT k | PFCOUNT k x | PFMERGE x k | PFMERGE k | PFDEBUG TODENSE k | PFDEBUG GETREG k | EXISTS x"
            ),
            &format!("+OK{} | :0", format!(" | {CORRUPT}").repeat(6)),
        );
    }
    check(
        r#"SET k "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x3f" | PFADD k a | PFDEBUG DECODE k"#,
        &format!(r#"+OK | {CORRUPT} | "z:64""#),
    );
    // A long run that is cut off: Redis takes what follows its string for the second byte.
    tarn_only(
        r#"SET k "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f" | PFADD k a | PFCOUNT k | PFDEBUG DECODE k"#,
        &format!("+OK | {CORRUPT} | {CORRUPT} | {CORRUPT}"),
    );
    // No sparse one is that long, so it is not read.
    tarn_only(
        r#"SET k "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80" | SETRANGE k 100000 x | PFCOUNT k | PFADD k a"#,
        &format!("+OK | :100001 | {CORRUPT} | {CORRUPT}"),
    );
    // Every register above what an element can reach.
    check(
        r#"PFADD k a | PFDEBUG TODENSE k | SETRANGE k 16 "\xff"*12288 | PFCOUNT k"#,
        ":1 | :1 | :12304 | :-9223372036854775808",
    );
}

#[test]
fn pfdebug_and_pfselftest() {
    check(
        "PFADD k a b | PFDEBUG DECODE k | PFDEBUG ENCODING k | PFDEBUG todense k | PFDEBUG TODENSE k | PFDEBUG Encoding k | PFDEBUG DECODE k | PFCOUNT k",
        r#":1 | "Z:12711 v:2,1 Z:3068 v:1,1 Z:603" | +sparse | :1 | :0 | +dense | -ERR HLL encoding is not sparse | :2"#,
    );
    check(
        "PFDEBUG DECODE missing | PFDEBUG FOO missing | PFADD k | PFDEBUG FOO k",
        "-ERR The specified key does not exist | -ERR The specified key does not exist | :1 | -ERR Unknown PFDEBUG subcommand 'FOO'",
    );
    check("PFSELFTEST", "+OK");
    for program in ENGINES {
        let shared = pool::take(program);
        let mut conn = shared.server.conn();
        conn.call(&["PFADD", "registers", "a"]);
        let reply = conn.call(&["PFDEBUG", "GETREG", "registers"]);
        let registers = reply.items().unwrap();
        assert_eq!(registers.len(), 16_384);
        let set: Vec<usize> = (0..registers.len()).filter(|at| registers[*at].to_string() != ":0").collect();
        assert_eq!((set, registers[12_711].to_string()), (vec![12_711], ":2".to_owned()));
        assert_eq!(conn.call(&["PFDEBUG", "ENCODING", "registers"]).to_string(), "+dense");
        conn.call(&["DEL", "registers"]);
    }
}

#[test]
fn the_sparse_form_has_a_limit() {
    check_with(
        &[("hll-sparse-max-bytes", "20")],
        "PFADD k | STRLEN k | PFADD k a | STRLEN k | PFDEBUG ENCODING k | CONFIG SET hll-sparse-max-bytes 21 | PFADD l a | STRLEN l | PFADD l b | STRLEN l",
        ":1 | :18 | :1 | :12304 | +dense | +OK | :1 | :21 | :1 | :12304",
    );
}
