//! Keys, whatever they hold: DEL to OBJECT, databases, SCAN.

use crate::check::{check, tarn_only};

#[test]
fn arity() {
    check("DEL", "-ERR wrong number of arguments for 'del' command");
    check("UNLINK", "-ERR wrong number of arguments for 'unlink' command");
    check("EXISTS", "-ERR wrong number of arguments for 'exists' command");
    check("TYPE", "-ERR wrong number of arguments for 'type' command");
    check("TYPE a b", "-ERR wrong number of arguments for 'type' command");
    check("TOUCH", "-ERR wrong number of arguments for 'touch' command");
    check("RENAME a", "-ERR wrong number of arguments for 'rename' command");
    check("RENAME a b c", "-ERR wrong number of arguments for 'rename' command");
    check("RENAMENX a", "-ERR wrong number of arguments for 'renamenx' command");
    check("RENAMENX a b c", "-ERR wrong number of arguments for 'renamenx' command");
    check("COPY a", "-ERR wrong number of arguments for 'copy' command");
    check("KEYS", "-ERR wrong number of arguments for 'keys' command");
    check("KEYS a b", "-ERR wrong number of arguments for 'keys' command");
    check("SCAN", "-ERR wrong number of arguments for 'scan' command");
    check("RANDOMKEY a", "-ERR wrong number of arguments for 'randomkey' command");
    check("DBSIZE a", "-ERR wrong number of arguments for 'dbsize' command");
    check("MOVE a", "-ERR wrong number of arguments for 'move' command");
    check("MOVE a 1 2", "-ERR wrong number of arguments for 'move' command");
    check("SWAPDB 0", "-ERR wrong number of arguments for 'swapdb' command");
    check("SWAPDB 0 1 2", "-ERR wrong number of arguments for 'swapdb' command");
    check("SELECT", "-ERR wrong number of arguments for 'select' command");
    check("SELECT 1 2", "-ERR wrong number of arguments for 'select' command");
    check("FLUSHDB a b", "-ERR syntax error");
    check("FLUSHALL a b", "-ERR syntax error");
    check("OBJECT", "-ERR wrong number of arguments for 'object' command");
    check("EXPIRE a", "-ERR wrong number of arguments for 'expire' command");
    check("TTL", "-ERR wrong number of arguments for 'ttl' command");
    check("TTL a b", "-ERR wrong number of arguments for 'ttl' command");
    check("PERSIST", "-ERR wrong number of arguments for 'persist' command");
    check("PERSIST a b", "-ERR wrong number of arguments for 'persist' command");
}

#[test]
fn del_exists_touch() {
    check("DEL missing | SET a 1 | DEL a | DEL a | DBSIZE", ":0 | +OK | :1 | :0 | :0");
    check("MSET a 1 b 2 c 3 | DEL a b missing a | EXISTS a b c | DBSIZE", "+OK | :2 | :1 | :1");
    check("MSET a 1 b 2 c 3 | UNLINK a b missing a | EXISTS a b c | DBSIZE", "+OK | :2 | :1 | :1");
    check("SET a 1 | EXISTS a a a | EXISTS missing | EXISTS a missing a", "+OK | :3 | :0 | :2");
    check("SET a 1 | TOUCH a a missing | TOUCH missing", "+OK | :2 | :0");
    check(r#"SET a "x"*100000 | DEL a | EXISTS a | SET a "y" | GET a"#, r#"+OK | :1 | :0 | +OK | "y""#);
    check(r#"SET a "x"*100000 | UNLINK a | EXISTS a"#, "+OK | :1 | :0");
    check(
        "SET a 1 PXAT 1 | DEL a | UNLINK a | EXISTS a | TOUCH a | TYPE a",
        "+OK | :0 | :0 | :0 | :0 | +none",
    );
}

#[test]
fn type_of_a_key() {
    check(r#"TYPE missing | SET a 1 | TYPE a | SET b "" | TYPE b"#, "+none | +OK | +string | +OK | +string");
}

#[test]
fn rename() {
    check("SET a 1 | RENAME a b | GET b | EXISTS a | DBSIZE", r#"+OK | +OK | "1" | :0 | :1"#);
    check("MSET a 1 b 2 | RENAME a b | GET b | DBSIZE", r#"+OK | +OK | "1" | :1"#);
    check("RENAME missing b", "-ERR no such key");
    check("SET b 1 | RENAME missing b | GET b", r#"+OK | -ERR no such key | "1""#);
    check("SET a 1 | RENAME a a | GET a", r#"+OK | +OK | "1""#);
    check("RENAME missing missing", "-ERR no such key");
    check("SET a 1 EX 100 | RENAME a b | TTL b | TTL a", "+OK | +OK | :91..100 | :-2");
    check("SET a 1 | SET b 2 EX 100 | RENAME a b | TTL b", "+OK | +OK | +OK | :-1");
    check(r#"SET a "x"*70000 | RENAME a b | GET b | EXISTS a"#, r#"+OK | +OK | "x"*70000 | :0"#);
    check(
        r#"MSET a "x"*70000 b "y"*9000 | RENAME a b | GET b | RENAME b a | GET a | DBSIZE"#,
        r#"+OK | +OK | "x"*70000 | +OK | "x"*70000 | :1"#,
    );
    check("SET a 1 PXAT 1 | RENAME a b", "+OK | -ERR no such key");
    check(r#"SET a 1 | RENAME a "\x00\xff" | GET "\x00\xff""#, r#"+OK | +OK | "1""#);
    check(r#"SET a 1 | RENAME a "" | GET """#, r#"+OK | +OK | "1""#);
    check("SET {x}a 1 | RENAME {x}a {y}b | GET {y}b | DBSIZE", r#"+OK | +OK | "1" | :1"#);
}

#[test]
fn renamenx() {
    check("SET a 1 | RENAMENX a b | GET b | EXISTS a", r#"+OK | :1 | "1" | :0"#);
    check("MSET a 1 b 2 | RENAMENX a b | MGET a b", r#"+OK | :0 | ["1" "2"]"#);
    check("RENAMENX missing b", "-ERR no such key");
    check("SET b 1 | RENAMENX missing b", "+OK | -ERR no such key");
    check("SET a 1 | RENAMENX a a | GET a", r#"+OK | :0 | "1""#);
    check("RENAMENX missing missing", "-ERR no such key");
    check("SET a 1 EX 100 | RENAMENX a b | TTL b", "+OK | :1 | :91..100");
    check("SET a 1 | SET b 2 PXAT 1 | RENAMENX a b | MGET a b", r#"+OK | +OK | :1 | [nil "1"]"#);
}

#[test]
fn copy() {
    check("SET a 1 | COPY a b | MGET a b | DBSIZE", r#"+OK | :1 | ["1" "1"] | :2"#);
    check("MSET a 1 b 2 | COPY a b | GET b | COPY a b REPLACE | GET b", r#"+OK | :0 | "2" | :1 | "1""#);
    check("COPY missing b | SET b 1 | COPY missing b REPLACE | GET b", r#":0 | +OK | :0 | "1""#);
    check("SET a 1 | COPY a a", "+OK | -ERR source and destination objects are the same");
    check("SET a 1 | COPY a a REPLACE", "+OK | -ERR source and destination objects are the same");
    check("SET a 1 | COPY a a DB 0", "+OK | -ERR source and destination objects are the same");
    check("SET a 1 | COPY a a DB 1 | SELECT 1 | GET a", r#"+OK | :1 | +OK | "1""#);
    check(
        "SET a 1 | COPY a b DB 1 | EXISTS b | SELECT 1 | GET b | DBSIZE",
        r#"+OK | :1 | :0 | +OK | "1" | :1"#,
    );
    check(
        "SET a 1 | COPY a b DB 1 | COPY a b DB 1 | COPY a b DB 1 REPLACE | COPY a b REPLACE DB 2",
        "+OK | :1 | :0 | :1 | :1",
    );
    check("SET a 1 EX 100 | COPY a b | TTL b | TTL a", "+OK | :1 | :91..100 | :91..100");
    check("SET a 1 | SET b 2 EX 100 | COPY a b REPLACE | TTL b", "+OK | +OK | :1 | :-1");
    check(
        r#"SET a "x"*70000 | COPY a b | APPEND a y | STRLEN a | STRLEN b | GET b"#,
        r#"+OK | :1 | :70001 | :70001 | :70000 | "x"*70000"#,
    );
    check("SET a 10 | COPY a b | INCR a | MGET a b", r#"+OK | :1 | :11 | ["11" "10"]"#);
    check("SET a 1 PXAT 1 | COPY a b | EXISTS b", "+OK | :0 | :0");
    check("SET a 1 | SET b 2 PXAT 1 | COPY a b | GET b", r#"+OK | +OK | :1 | "1""#);
    check("COPY a b DB", "-ERR syntax error");
    check("COPY a b DB 16", "-ERR DB index is out of range");
    check("COPY a b DB -1", "-ERR DB index is out of range");
    check("COPY a b DB abc", "-ERR value is not an integer or out of range");
    check("COPY a b FOO", "-ERR syntax error");
    check("COPY a b REPLACE FOO", "-ERR syntax error");
    check("COPY a b replace db 1", ":0");
    check("SET a 1 | COPY a b REPLACE REPLACE", "+OK | :1");
    check("SET a 1 | COPY a b DB 1 DB 2 | SELECT 2 | GET b", r#"+OK | :1 | +OK | "1""#);
    check("SET a 1 | COPY a b DB 99999999999999999999", "+OK | -ERR value is not an integer or out of range");
}

#[test]
fn keys_patterns() {
    check("KEYS *", "[]");
    check(
        "MSET hello 1 hallo 2 hxllo 3 hllo 4 heeello 5 | KEYS h?llo | KEYS h*llo | KEYS h[ae]llo | KEYS h[^e]llo | KEYS h[a-b]llo | KEYS nope",
        r#"+OK | ~["hello" "hxllo" "hallo"] | ~["hllo" "hello" "hxllo" "hallo" "heeello"] | ~["hello" "hallo"] | ~["hxllo" "hallo"] | ["hallo"] | []"#,
    );
    check(
        "MSET a 1 b 2 | KEYS a | KEYS [ab] | KEYS [b-a] | KEYS ? | KEYS ?? | KEYS a* | KEYS *a | KEYS **",
        r#"+OK | ["a"] | ~["b" "a"] | ~["b" "a"] | ~["b" "a"] | [] | ["a"] | ["a"] | ~["b" "a"]"#,
    );
    check(
        r#"SET "a*b" 1 | SET axb 2 | KEYS a\*b | KEYS "a[*]b" | KEYS a\xb"#,
        r#"+OK | +OK | ["a*b"] | ["a*b"] | ["axb"]"#,
    );
    check(r#"SET "[" 1 | KEYS [ | KEYS \[ | KEYS "[[]""#, r#"+OK | [] | ["["] | ["["]"#);
    check(r#"SET "a]" 1 | KEYS "a]" | KEYS "a[]]""#, r#"+OK | ["a]"] | []"#);
    check(r#"SET "a\\" 1 | KEYS "a\\\\" | KEYS "a\\""#, r#"+OK | ["a\\"] | ["a\\"]"#);
    check(r#"SET "\x00a" 1 | KEYS "\x00*" | KEYS "*\x00*""#, r#"+OK | ["\x00a"] | ["\x00a"]"#);
    check(r#"SET "" 1 | KEYS * | KEYS """#, r#"+OK | [""] | [""]"#);
    check("SET a 1 PXAT 1 | KEYS *", "+OK | []");
    check("SET A 1 | KEYS a | KEYS [a-z] | KEYS [A-Z]", r#"+OK | [] | [] | ["A"]"#);
    check(
        "SET k1 1 | KEYS k[^1] | KEYS k[!1] | KEYS k[1-] | KEYS k[ | KEYS k[1",
        r#"+OK | [] | ["k1"] | ["k1"] | [] | ["k1"]"#,
    );
    check("SET a 1 | SELECT 1 | KEYS * | SET b 2 | KEYS *", r#"+OK | +OK | [] | +OK | ["b"]"#);
}

#[test]
fn scan() {
    check("SCAN 0", r#"["0" []]"#);
    check(
        "MSET a 1 b 2 c 3 | SCAN 0 COUNT 100 | SCAN 0 COUNT 100 MATCH a* | SCAN 0 MATCH nope COUNT 100",
        r#"+OK | ["0" ~["c" "b" "a"]] | ["0" ["a"]] | ["0" []]"#,
    );
    check(
        "MSET a 1 b 2 | SCAN 0 TYPE string COUNT 100 | SCAN 0 TYPE hash COUNT 100 | SCAN 0 TYPE STRING COUNT 100 | SCAN 0 TYPE nope COUNT 100",
        r#"+OK | ["0" ~["b" "a"]] | ["0" []] | ["0" ~["b" "a"]] | ["0" []]"#,
    );
    check("MSET a 1 b 2 | SCAN 0 count 100 match [a] type string", r#"+OK | ["0" ["a"]]"#);
    check("MSET a 1 b 2 | SCAN 0 COUNT 100 MATCH a MATCH b", r#"+OK | ["0" ["b"]]"#);
    check("MSET a 1 b 2 | SCAN 0 COUNT 1 COUNT 100", r#"+OK | ["0" ~["b" "a"]]"#);
    check("SET a 1 PXAT 1 | SCAN 0", r#"+OK | ["0" []]"#);
    check("SET a 1 | SELECT 1 | SCAN 0", r#"+OK | +OK | ["0" []]"#);
    check("SCAN a", "-ERR invalid cursor");
    check("SCAN -1", r#"["0" []]"#);
    check(r#"SCAN """#, r#"["0" []]"#);
    check("SCAN 1.5", "-ERR invalid cursor");
    check(r#"SCAN " 0""#, "-ERR invalid cursor");
    check("SCAN 18446744073709551616", "-ERR invalid cursor");
    check("SCAN 0 COUNT", "-ERR syntax error");
    check("SCAN 0 COUNT 0", "-ERR syntax error");
    check("SCAN 0 COUNT -1", "-ERR syntax error");
    check("SCAN 0 COUNT abc", "-ERR value is not an integer or out of range");
    check("SCAN 0 COUNT 9223372036854775808", "-ERR value is not an integer or out of range");
    check("SCAN 0 MATCH", "-ERR syntax error");
    check("SCAN 0 TYPE", "-ERR syntax error");
    check("SCAN 0 FOO", "-ERR syntax error");
    check("SCAN 0 FOO BAR", "-ERR syntax error");
    check("SCAN 0 COUNT 10 FOO", "-ERR syntax error");
    check("SCAN 0 NOVALUES", "-ERR syntax error");
}

#[test]
fn randomkey_dbsize() {
    check("RANDOMKEY | SET a 1 | RANDOMKEY | DBSIZE", r#"nil | +OK | "a" | :1"#);
    check(
        "DBSIZE | MSET a 1 b 2 | DBSIZE | SET a 3 | DBSIZE | DEL a | DBSIZE | SELECT 1 | DBSIZE",
        ":0 | +OK | :2 | +OK | :2 | :1 | :1 | +OK | :0",
    );
    check(
        "SET a 1 | RENAME a b | DBSIZE | COPY b c | DBSIZE | GETDEL b | DBSIZE | APPEND d x | DBSIZE | SETRANGE e 0 x | SETBIT f 0 0 | INCR g | DBSIZE",
        r#"+OK | +OK | :1 | :1 | :2 | "1" | :1 | :1 | :2 | :1 | :0 | :1 | :5"#,
    );
    check(
        "SET a 1 | BITOP OR b a | DBSIZE | BITOP OR b missing | DBSIZE | EXPIRE a -1 | DBSIZE",
        "+OK | :1 | :2 | :0 | :1 | :1 | :0",
    );
}

#[test]
fn select_move_swapdb() {
    check(
        "SET k 0 | SELECT 1 | GET k | SET k 1 | SELECT 0 | GET k | SELECT 15 | GET k",
        r#"+OK | +OK | nil | +OK | +OK | "0" | +OK | nil"#,
    );
    check("SELECT 16", "-ERR DB index is out of range");
    check("SELECT -1", "-ERR DB index is out of range");
    check("SELECT abc", "-ERR value is not an integer or out of range");
    check(r#"SELECT """#, "-ERR value is not an integer or out of range");
    check("SELECT 1.0", "-ERR value is not an integer or out of range");
    check("SELECT 99999999999999999999", "-ERR value is not an integer or out of range");
    check("SELECT 01", "-ERR value is not an integer or out of range");
    check("SELECT 2 | SET k 2 | @b GET k | @b SELECT 2 | @b GET k", r#"+OK | +OK | nil | +OK | "2""#);
    check("SET k v | MOVE k 1 | EXISTS k | SELECT 1 | GET k | DBSIZE", r#"+OK | :1 | :0 | +OK | "v" | :1"#);
    check("MOVE missing 1", ":0");
    check("SET k v | MOVE k 0", "+OK | -ERR source and destination objects are the same");
    check("MOVE missing 0", "-ERR source and destination objects are the same");
    check("SET k v | MOVE k 16", "+OK | -ERR DB index is out of range");
    check("SET k v | MOVE k -1", "+OK | -ERR DB index is out of range");
    check("SET k v | MOVE k abc", "+OK | -ERR value is not an integer or out of range");
    check(
        "SET k 0 | SELECT 1 | SET k 1 | MOVE k 0 | GET k | SELECT 0 | GET k",
        r#"+OK | +OK | +OK | :0 | "1" | +OK | "0""#,
    );
    check("SET k v EX 100 | MOVE k 1 | SELECT 1 | TTL k", "+OK | :1 | +OK | :91..100");
    check(r#"SET k "x"*70000 | MOVE k 3 | SELECT 3 | GET k"#, r#"+OK | :1 | +OK | "x"*70000"#);
    check(
        "SET k 0 | SELECT 1 | SET k 1 PXAT 1 | SELECT 0 | MOVE k 1 | SELECT 1 | GET k",
        r#"+OK | +OK | +OK | +OK | :1 | +OK | "0""#,
    );
    check(
        "SET k 0 | SELECT 1 | SET k 1 | SWAPDB 0 1 | GET k | SELECT 0 | GET k | DBSIZE",
        r#"+OK | +OK | +OK | +OK | "0" | +OK | "1" | :1"#,
    );
    check(
        "SET k 0 | SWAPDB 0 1 | GET k | DBSIZE | SELECT 1 | GET k | DBSIZE",
        r#"+OK | +OK | nil | :0 | +OK | "0" | :1"#,
    );
    check("SET k 0 | SWAPDB 0 0 | GET k", r#"+OK | +OK | "0""#);
    check(
        "SET k 0 | @b SELECT 1 | @b SET k 1 | SWAPDB 0 1 | GET k | @b GET k | @b SET k 2 | GET k",
        r#"+OK | +OK | +OK | +OK | "1" | "0" | +OK | "1""#,
    );
    check(
        "SET k 0 | SWAPDB 0 1 | SWAPDB 1 2 | SELECT 2 | GET k | SWAPDB 2 0 | SELECT 0 | GET k",
        r#"+OK | +OK | +OK | +OK | "0" | +OK | +OK | "0""#,
    );
    check("SWAPDB a 1", "-ERR invalid first DB index");
    check("SWAPDB 0 b", "-ERR invalid second DB index");
    check("SWAPDB 0 16", "-ERR DB index is out of range");
    check("SWAPDB 16 0", "-ERR DB index is out of range");
    check("SWAPDB -1 0", "-ERR DB index is out of range");
    check("SWAPDB 0 -1", "-ERR DB index is out of range");
    check("SWAPDB 0 99999999999999999999", "-ERR invalid second DB index");
    check("SET k 0 EX 100 | SWAPDB 0 5 | SELECT 5 | TTL k", "+OK | +OK | +OK | :91..100");
}

#[test]
fn flush() {
    check(
        "MSET a 1 b 2 | SELECT 1 | SET c 3 | FLUSHDB | DBSIZE | SELECT 0 | DBSIZE | GET a",
        r#"+OK | +OK | +OK | +OK | :0 | +OK | :2 | "1""#,
    );
    check(
        "MSET a 1 b 2 | SELECT 1 | SET c 3 | FLUSHALL | DBSIZE | SELECT 0 | DBSIZE | GET a | KEYS *",
        "+OK | +OK | +OK | +OK | :0 | +OK | :0 | nil | []",
    );
    check(
        "SET a 1 | FLUSHDB ASYNC | DBSIZE | SET a 2 | FLUSHDB SYNC | DBSIZE | SET a 3 | FLUSHALL async | DBSIZE | SET a 4 | FLUSHALL sync | DBSIZE",
        "+OK | +OK | :0 | +OK | +OK | :0 | +OK | +OK | :0 | +OK | +OK | :0",
    );
    check("FLUSHDB FOO", "-ERR syntax error");
    check("FLUSHALL FOO", "-ERR syntax error");
    check("FLUSHALL SYNC ASYNC", "-ERR syntax error");
    check(
        "SET a old EX 100 | FLUSHALL | SET a new | GET a | TTL a | DBSIZE",
        r#"+OK | +OK | +OK | "new" | :-1 | :1"#,
    );
    check(r#"SET a "x"*70000 | FLUSHDB | GET a | APPEND a y | GET a"#, r#"+OK | +OK | nil | :1 | "y""#);
    check(
        "MSET a 1 b 2 | FLUSHDB | SCAN 0 | RANDOMKEY | SET b 3 | KEYS * | DBSIZE",
        r#"+OK | +OK | ["0" []] | nil | +OK | ["b"] | :1"#,
    );
    check(
        "SET k 0 | SWAPDB 0 1 | FLUSHDB | SELECT 1 | GET k | FLUSHDB | GET k",
        r#"+OK | +OK | +OK | +OK | "0" | +OK | nil"#,
    );
}

#[test]
fn object() {
    check(
        "OBJECT ENCODING missing | OBJECT FREQ missing | OBJECT IDLETIME missing | OBJECT REFCOUNT missing",
        "nil | nil | nil | nil",
    );
    check(
        r#"SET a 1 | OBJECT ENCODING a | SET a abc | OBJECT ENCODING a | SET a "x"*44 | OBJECT ENCODING a | SET a "x"*45 | OBJECT ENCODING a"#,
        r#"+OK | "int" | +OK | "embstr" | +OK | "embstr" | +OK | "raw""#,
    );
    check(
        r#"SET a "" | OBJECT ENCODING a | SET a 9223372036854775807 | OBJECT ENCODING a | SET a 9223372036854775808 | OBJECT ENCODING a"#,
        r#"+OK | "embstr" | +OK | "int" | +OK | "embstr""#,
    );
    check(
        r#"SET a -9223372036854775808 | OBJECT ENCODING a | SET a 01 | OBJECT ENCODING a | SET a 1.5 | OBJECT ENCODING a | SET a " 1" | OBJECT ENCODING a"#,
        r#"+OK | "int" | +OK | "embstr" | +OK | "embstr" | +OK | "embstr""#,
    );
    check("SET a abc | OBJECT REFCOUNT a | OBJECT IDLETIME a", "+OK | :1 | :0");
    check(
        "SET a abc | OBJECT FREQ a",
        "+OK | -ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
    );
    check("OBJECT encoding missing", "nil");
    check("OBJECT ENCODING", "-ERR wrong number of arguments for 'object|encoding' command");
    check("OBJECT ENCODING a b", "-ERR wrong number of arguments for 'object|encoding' command");
    check("OBJECT FREQ", "-ERR wrong number of arguments for 'object|freq' command");
    check("OBJECT FOO a", "-ERR unknown subcommand 'FOO'. Try OBJECT HELP.");
    check("OBJECT FOO", "-ERR unknown subcommand 'FOO'. Try OBJECT HELP.");
    check("OBJECT HELP", r#"[+"OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" ...]"#);
    check("INCR a | OBJECT ENCODING a", r#":1 | "int""#);
    // The name follows from the value alone, not from how it came about.
    tarn_only("SET a abc | APPEND a d | OBJECT ENCODING a", r#"+OK | :4 | "embstr""#);
    check("SET a 10000 | OBJECT REFCOUNT a", "+OK | :1");
}

#[test]
fn cluster_keyslot() {
    check("CLUSTER KEYSLOT foo", "-ERR This instance has cluster support disabled");
    check("CLUSTER KEYSLOT {foo}bar", "-ERR This instance has cluster support disabled");
}
