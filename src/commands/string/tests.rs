//! Handlers over the in-memory engine; the wire lines are in tests/it.

use crate::testkit::Kit;

#[test]
fn set_and_its_options() {
    let mut kit = Kit::new();
    assert_eq!(
        kit.run("SET k v | GET k | SET k w NX | SET k w XX GET | GET k"),
        r#"+OK | "v" | nil | "v" | "w""#
    );
    assert_eq!(
        kit.run("SET k v XX NX | SET k v NX XX GET | SET k v XX NX GET"),
        "-ERR syntax error | -ERR syntax error | -ERR syntax error"
    );
    assert_eq!(kit.run("SET k v EX 10 | SET k w KEEPTTL | GET k"), r#"+OK | +OK | "w""#);
    kit.pass_ms(9_999);
    assert_eq!(kit.run("GET k"), r#""w""#);
    kit.pass_ms(1);
    assert_eq!(kit.run("GET k | SETNX k x | SETNX k y"), "nil | :1 | :0");
    assert_eq!(kit.run("SET k v PXAT 1 GET | GET k"), r#""x" | nil"#);
    assert_eq!(kit.run("SET k v EX 9223372036854775"), "-ERR invalid expire time in 'set' command");
    assert_eq!(
        kit.run("SET k v EXAT 9223372036854775 | GETEX k PERSIST | GETEX k EX nan"),
        r#"+OK | "v" | -ERR value is not an integer or out of range"#
    );
}

#[test]
fn many_keys() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("MSET a 1 b 2 a 3 | MGET a b c a"), r#"+OK | ["3" "2" nil "3"]"#);
    assert_eq!(kit.run("MSETNX c 1 b 2 | MSETNX c 1 c 2 | MGET c"), r#":0 | :1 | ["2"]"#);
    assert_eq!(kit.run("MSET a 1 b"), "-ERR wrong number of arguments for 'mset' command");
}

#[test]
fn numbers() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("INCR n | INCRBY n 41 | DECRBY n 2 | DECR n"), ":1 | :42 | :40 | :39");
    assert_eq!(
        kit.run("SET n 9223372036854775807 | INCR n"),
        "+OK | -ERR increment or decrement would overflow"
    );
    assert_eq!(kit.run("DECRBY n -9223372036854775808"), "-ERR decrement would overflow");
    assert_eq!(
        kit.run("SET n 0.1 | INCRBYFLOAT n 0.2 | INCRBYFLOAT n inf"),
        r#"+OK | "0.3" | -ERR increment would produce NaN or Infinity"#
    );
    // A sum that does not fit its metadata row.
    let long = kit.run("SET n 0 | INCRBYFLOAT n 1e4932 | STRLEN n | GETRANGE n 0 9");
    assert!(
        long.ends_with(r#" | :4933 | "1000000000""#) || long.ends_with(r#" | :4932 | "9999999999""#),
        "{long}"
    );
}

#[test]
fn getdel_and_getset() {
    let mut kit = Kit::new();
    assert_eq!(kit.run("GETSET k a | GETSET k b | GETDEL k | GETDEL k"), r#"nil | "a" | "b" | nil"#);
}

#[test]
fn lcs_works_on_a_worker_when_long() {
    let mut kit = Kit::new();
    let a = "ab".repeat(500);
    kit.words(["MSET", "a", &a, "b", &a]);
    assert_eq!(kit.run("LCS a b LEN"), ":1000");
    assert!(kit.moved);
    assert_eq!(kit.run("LCS a b IDX"), r#"["matches" [[[:0 :999] [:0 :999]]] "len" :1000]"#);
    let mut kit = Kit::with(&[("proto-max-bulk-len", "1mb")]);
    // (255 + 1) * (1023 + 1) * 4 is one mebibyte.
    kit.words(["MSET", "a", &"x".repeat(255), "b", &"x".repeat(1023), "c", &"x".repeat(1024)]);
    assert_eq!(kit.run("LCS a b LEN"), ":255");
    assert_eq!(
        kit.run("LCS a c LEN"),
        "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
    );
}
